package comments

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/lenient"
)

// AnchorType is what a comment is anchored in. Unknown ones are sent as they are.
type AnchorType string

// Types of anchors.
const (
	AnchorTypeVideo    AnchorType = "video"
	AnchorTypeImage    AnchorType = "image"
	AnchorTypeDocument AnchorType = "document" // pages and text alike
	AnchorTypeGeneral  AnchorType = "general"
	AnchorTypeAudio    AnchorType = "audio"
)

// Anchor ties a comment to a place in a file. [ImageAnchor], [VideoAnchor],
// [AudioAnchor], [PageAnchor] and [TextAnchor] make one. Its type decides which
// fields are set. Unknown members, and those of another type, are kept in Extra and
// sent as they came.
type Anchor struct {
	Type AnchorType `json:"type,omitzero"` // required

	Region    *Region        `json:"region,omitzero"` // of an image or a frame; nil for all of it
	Timestamp *time.Duration `json:"-"`               // in a video or a sound, from its start; nil for none

	Page        int    `json:"page,omitzero"`         // of a document, from 1; 0 for none
	TextSnippet string `json:"text_snippet,omitzero"` // the text selected on the page

	Exact       string `json:"exact,omitzero"`        // the text selected in a note or a text file, at most 500 characters
	Prefix      string `json:"prefix,omitzero"`       // what stands before it, at most 100 characters
	Suffix      string `json:"suffix,omitzero"`       // what stands after it, at most 100 characters
	StartOffset *int   `json:"start_offset,omitzero"` // characters before the selection; edits make it wrong
	EndOffset   *int   `json:"end_offset,omitzero"`   // likewise, before its end

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Region is a rectangle. Its numbers are fractions of the whole width and height.
type Region struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Quote is a piece of a text. 30 to 50 characters before and after it help to find it
// again after an edit.
type Quote struct {
	Exact          string // the piece, unaltered; at most 500 characters
	Prefix, Suffix string // what stands before and after it, at most 100 characters each; may be ""
	Start, End     int    // where it is, in characters of the text; both 0 to leave them out
}

// ImageAnchor returns an anchor to a part of an image.
func ImageAnchor(part Region) *Anchor {
	return &Anchor{Type: AnchorTypeImage, Region: &part}
}

// VideoAnchor returns an anchor to a moment of a video and a part of its frame,
// nil for all of it.
func VideoAnchor(at time.Duration, part *Region) *Anchor {
	return &Anchor{Type: AnchorTypeVideo, Timestamp: &at, Region: part}
}

// AudioAnchor returns an anchor to a moment of a sound.
func AudioAnchor(at time.Duration) *Anchor {
	return &Anchor{Type: AnchorTypeAudio, Timestamp: &at}
}

// PageAnchor returns an anchor to a page, the first being 1, of a document such as
// a PDF, and to the text selected on it, "" for none.
func PageAnchor(page int, snippet string) *Anchor {
	return &Anchor{Type: AnchorTypeDocument, Page: page, TextSnippet: snippet}
}

// TextAnchor returns an anchor to a piece of a note or a text file.
func TextAnchor(q Quote) *Anchor {
	a := &Anchor{Type: AnchorTypeDocument, Exact: q.Exact, Prefix: q.Prefix, Suffix: q.Suffix}
	if q.Start != 0 || q.End != 0 {
		a.StartOffset, a.EndOffset = &q.Start, &q.End
	}
	return a
}

// MaxAnchorSize is what the Size of an anchor may be.
const MaxAnchorSize = 2048

// Size returns the size of the anchor's JSON as the platform counts it: 6 bytes for a
// character outside of ASCII, 12 outside of the first plane of Unicode. The server
// rejects an anchor over [MaxAnchorSize]. Size is 0 if the anchor cannot be sent.
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

// checkAnchor checks an anchor, which may be nil.
func checkAnchor(op string, a *Anchor) error {
	if a == nil {
		return nil
	}
	refuse := func(field, rule, got string) error {
		return &api.InputError{Op: op, Field: "reference." + field, Rule: rule, Got: got}
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

// anchorWire is an Anchor with its timestamp as it is sent, in seconds.
type anchorWire struct {
	Anchor  *plainAnchor `json:",embed,inline"`
	Seconds *float64     `json:"timestamp,omitzero"`
}

// MarshalJSON writes the anchor with its Extra.
func (a Anchor) MarshalJSON() ([]byte, error) {
	w := anchorWire{Anchor: (*plainAnchor)(&a)}
	if a.Timestamp != nil {
		w.Seconds = new(a.Timestamp.Seconds())
	}
	return jsonv2.Marshal(&w, jsonv2.Deterministic(true))
}

var errNotAnchor = errors.New("fastio: a list with members stands where an anchor was expected")

// UnmarshalJSON reads an object, or the empty list that stands for an empty one.
func (a *Anchor) UnmarshalJSON(b []byte) error {
	*a = Anchor{}
	var m lenient.Members
	if jsontext.Value(b).Kind() == '[' {
		var none []struct{}
		if err := jsonv2.Unmarshal(b, &none, lenient.Options()); err != nil || len(none) > 0 {
			return errNotAnchor
		}
		return nil
	}
	if err := jsonv2.Unmarshal(b, &m, lenient.Options()); err != nil {
		return err
	}
	lenient.Take(m, &a.Type, "type")
	lenient.Take(m, &a.Region, "region")
	lenient.Take(m, &a.Page, "page")
	lenient.Take(m, &a.TextSnippet, "text_snippet")
	lenient.Take(m, &a.Exact, "exact")
	lenient.Take(m, &a.Prefix, "prefix")
	lenient.Take(m, &a.Suffix, "suffix")
	lenient.Take(m, &a.StartOffset, "start_offset")
	lenient.Take(m, &a.EndOffset, "end_offset")
	a.Timestamp = takeDuration(m, "timestamp")
	if len(m) > 0 {
		a.Extra = m
	}
	return nil
}

// takeDuration reads a number of seconds. One too great for a Duration stays.
func takeDuration(m lenient.Members, name string) *time.Duration {
	var seconds *float64
	raw := m[name]
	if !lenient.Take(m, &seconds, name) || seconds == nil {
		return nil
	}
	nanos := math.Round(*seconds * float64(time.Second))
	if math.Abs(nanos) >= math.MaxInt64 {
		m[name] = raw
		return nil
	}
	return new(time.Duration(nanos))
}
