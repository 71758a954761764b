package comments

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/jsonopt"
)

// AnchorType is the kind of content that a comment is anchored in. Unknown
// values are kept.
type AnchorType string

// Types of anchors.
const (
	AnchorTypeVideo    AnchorType = "video"
	AnchorTypeImage    AnchorType = "image"
	AnchorTypeDocument AnchorType = "document" // pages and text
	AnchorTypeGeneral  AnchorType = "general"
	AnchorTypeAudio    AnchorType = "audio"
)

// Anchor ties a comment to a place in a file. [ImageAnchor], [VideoAnchor],
// [AudioAnchor], [PageAnchor] and [TextAnchor] create one. Its type decides
// which fields are set. Unknown members and members of another type are kept in
// Extra and sent unchanged.
type Anchor struct {
	Type AnchorType `json:"type,omitzero"` // required

	Region    *Region        `json:"region,omitzero"` // of an image or a frame; nil means all of it
	Timestamp *time.Duration `json:"-"`               // from the start of a video or audio; nil means none

	Page        int    `json:"page,omitzero"`         // of a document, from 1; 0 means none
	TextSnippet string `json:"text_snippet,omitzero"` // the text selected on the page

	Exact       string `json:"exact,omitzero"`        // the selected text in a note or text file, at most 500 characters
	Prefix      string `json:"prefix,omitzero"`       // the text before it, at most 100 characters
	Suffix      string `json:"suffix,omitzero"`       // the text after it, at most 100 characters
	StartOffset *int   `json:"start_offset,omitzero"` // characters before the selection; may be outdated by edits
	EndOffset   *int   `json:"end_offset,omitzero"`   // characters before its end

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Region is a rectangle in fractions of the width and height.
type Region struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Quote is a passage of a text. 30 to 50 characters of Prefix and Suffix help
// to find it after an edit.
type Quote struct {
	Exact          string // the passage, unchanged; at most 500 characters
	Prefix, Suffix string // the text before and after it, at most 100 characters each; may be ""
	Start, End     int    // its position in characters; both 0 means unknown
}

// ImageAnchor returns an anchor to a part of an image.
func ImageAnchor(part Region) *Anchor {
	return &Anchor{Type: AnchorTypeImage, Region: &part}
}

// VideoAnchor returns an anchor to a time in a video and a part of the frame;
// nil means all of it.
func VideoAnchor(at time.Duration, part *Region) *Anchor {
	return &Anchor{Type: AnchorTypeVideo, Timestamp: &at, Region: part}
}

// AudioAnchor returns an anchor to a time in an audio file.
func AudioAnchor(at time.Duration) *Anchor {
	return &Anchor{Type: AnchorTypeAudio, Timestamp: &at}
}

// PageAnchor returns an anchor to a page, from 1, of a document such as a PDF,
// and to the selected text on it; "" means none.
func PageAnchor(page int, snippet string) *Anchor {
	return &Anchor{Type: AnchorTypeDocument, Page: page, TextSnippet: snippet}
}

// TextAnchor returns an anchor to a passage of a note or a text file.
func TextAnchor(q Quote) *Anchor {
	a := &Anchor{Type: AnchorTypeDocument, Exact: q.Exact, Prefix: q.Prefix, Suffix: q.Suffix}
	if q.Start != 0 || q.End != 0 {
		a.StartOffset, a.EndOffset = &q.Start, &q.End
	}
	return a
}

// MaxAnchorSize is the largest [Anchor.Size], in bytes.
const MaxAnchorSize = 2048

// Size returns the size of the anchor's JSON as the platform counts it: 6 bytes
// for a character outside of ASCII, 12 outside of the Basic Multilingual Plane.
// The server rejects an anchor over [MaxAnchorSize]. Size is 0 if the anchor
// cannot be encoded.
func (a Anchor) Size() int {
	const escape = len(`\u0000`)
	text, err := a.MarshalJSON()
	if err != nil {
		return 0
	}
	n := 0
	for _, r := range string(text) {
		switch {
		case r < utf8.RuneSelf:
			n++
		case r <= 0xFFFF:
			n += escape
		default:
			n += 2 * escape
		}
	}
	return n
}

const (
	maxExact   = 500
	maxContext = 100
)

// checkAnchor checks an anchor; nil is valid.
func checkAnchor(args input.Args, a *Anchor) error {
	if a == nil {
		return nil
	}
	refuse := func(field, rule, got string) error {
		return args.Refuse("reference."+field, rule, got)
	}
	if a.Type == "" {
		return refuse("type", "must be video, image, document, general or audio", "")
	}
	if r := a.Region; r != nil {
		for _, f := range []float64{r.X, r.Y, r.Width, r.Height} {
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return refuse("region", "must hold finite numbers", strconv.FormatFloat(f, 'g', -1, 64))
			}
		}
	}
	if a.Timestamp != nil && *a.Timestamp < 0 {
		return refuse("timestamp", "must be 0 or more", a.Timestamp.String())
	}
	if a.Page < 0 {
		return refuse("page", "must be 1 or more", strconv.Itoa(a.Page))
	}
	for _, t := range []struct {
		name, text string
		most       int
	}{
		{"text_snippet", a.TextSnippet, math.MaxInt},
		{"exact", a.Exact, maxExact},
		{"prefix", a.Prefix, maxContext},
		{"suffix", a.Suffix, maxContext},
	} {
		if n := utf8.RuneCountInString(t.text); n > t.most {
			return refuse(t.name, "must be at most "+strconv.Itoa(t.most)+" characters", strconv.Itoa(n)+" characters")
		}
		if !utf8.ValidString(t.text) {
			return refuse(t.name, "must be UTF-8", "")
		}
	}
	return nil
}

type plainAnchor Anchor

// anchorWire is the wire form of an Anchor, with its timestamp in seconds.
type anchorWire struct {
	Anchor  *plainAnchor `json:",embed,inline"`
	Seconds *float64     `json:"timestamp,omitzero"`
}

// MarshalJSON encodes the anchor with its Extra.
func (a Anchor) MarshalJSON() ([]byte, error) {
	w := anchorWire{Anchor: (*plainAnchor)(&a)}
	if a.Timestamp != nil {
		w.Seconds = new(a.Timestamp.Seconds())
	}
	return jsonv2.Marshal(&w, jsonv2.Deterministic(true))
}

// UnmarshalJSON decodes an object.
func (a *Anchor) UnmarshalJSON(b []byte) error {
	*a = Anchor{}
	var m decode.Members
	if err := jsonv2.Unmarshal(b, &m, jsonopt.Lenient()); err != nil {
		return err
	}
	decode.Take(m, &a.Type, "type")
	decode.Take(m, &a.Region, "region")
	decode.Take(m, &a.Page, "page")
	decode.Take(m, &a.TextSnippet, "text_snippet")
	decode.Take(m, &a.Exact, "exact")
	decode.Take(m, &a.Prefix, "prefix")
	decode.Take(m, &a.Suffix, "suffix")
	decode.Take(m, &a.StartOffset, "start_offset")
	decode.Take(m, &a.EndOffset, "end_offset")
	a.Timestamp = takeDuration(m, "timestamp")
	if len(m) > 0 {
		a.Extra = m
	}
	return nil
}

// takeDuration moves a member of m that is a number of seconds into a Duration,
// nil if there is none. A number out of range stays in m.
func takeDuration(m decode.Members, name string) *time.Duration {
	var seconds *float64
	raw := m[name]
	if !decode.Take(m, &seconds, name) || seconds == nil {
		return nil
	}
	nanos := math.Round(*seconds * float64(time.Second))
	if math.Abs(nanos) >= math.MaxInt64 {
		m[name] = raw
		return nil
	}
	return new(time.Duration(nanos))
}
