package search

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
)

// MatchSource says how a hit was found.
type MatchSource string

// The ways. Another one is newer than this package.
const (
	MatchSourceKeyword  MatchSource = "keyword"
	MatchSourceSemantic MatchSource = "semantic"
	MatchSourceBoth     MatchSource = "both"
)

// ScoreSource says what a RawScore measures.
type ScoreSource string

// The sources. Another one is newer than this package.
const (
	ScoreSourceKeyword  ScoreSource = "keyword"
	ScoreSourceSemantic ScoreSource = "semantic"
	ScoreSourceFilename ScoreSource = "filename"
)

// Hit is a file, folder or note that a search found. What an answer leaves out is
// zero: hits by name alone have no scores, type of file or place in it.
type Hit struct {
	ID       api.OpaqueID `json:"node_id"`
	Name     string       `json:"name"`
	ParentID api.OpaqueID `json:"parent_id"` // the folder, [api.Root] or [api.Trash]
	Type     api.NodeType `json:"type"`
	MIMEType string       `json:"mimetype"`
	Updated  api.Time     `json:"updated"`

	Score       *float64    `json:"relevance_score"` // up to 1, of the best; compares within one answer only
	RawScore    *float64    `json:"raw_score"`       // before the scores were brought together; not from every search
	ScoreSource ScoreSource `json:"score_source"`
	MatchSource MatchSource `json:"match_source"`

	Snippet      string        `json:"content_snippet"` // about 200 bytes at terse output, 600 at standard; "" for a hit by words
	Page         *PageRange    `json:"page"`            // of a document
	MediaSegment *MediaSegment `json:"media_segment"`   // of a sound or a video

	Node  *api.Node  `json:"node"`           // where it was asked for
	Facts *api.Facts `json:"metadata_facts"` // likewise; of Unified alone, and of workspaces alone

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// PageRange is where in a document a passage stands, pages counted from 1.
type PageRange struct {
	Start int `json:"start_page"`
	End   int `json:"end_page"`
}

// MediaSegment is where in a sound or a video a passage is heard.
type MediaSegment struct {
	Start float64 `json:"start_seconds"`
	End   float64 `json:"end_seconds"`
}

type plainHit Hit

// hitWire is a Hit with the keys that some answers write in place of its own.
type hitWire struct {
	Hit     *plainHit    `json:",embed,inline"`
	ID      api.OpaqueID `json:"id"`
	Score   *float64     `json:"score"`
	Content string       `json:"content"`
}

// UnmarshalJSONFrom reads a hit in any of its forms.
func (h *Hit) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*h = Hit{}
	w := hitWire{Hit: (*plainHit)(h)}
	if err := jsonv2.UnmarshalDecode(dec, &w); err != nil {
		return err
	}
	if h.ID == "" {
		h.ID = w.ID
	}
	if h.RawScore == nil {
		h.RawScore = w.Score
	}
	if h.Snippet == "" {
		h.Snippet = w.Content
	}
	if n := h.Node; n != nil {
		h.fill(n)
	}
	return nil
}

// fill takes from the node what the hit itself leaves out.
func (h *Hit) fill(n *api.Node) {
	if h.ID == "" {
		h.ID = n.ID
	}
	if h.Name == "" {
		h.Name = n.Name
	}
	if h.Type == "" {
		h.Type = n.Type
	}
	if h.ParentID == "" {
		h.ParentID = n.ParentID
	}
	if h.MIMEType == "" {
		h.MIMEType = n.MIMEType
	}
	if h.Updated.IsZero() {
		h.Updated = n.Updated
	}
	if h.Facts == nil {
		h.Facts = n.Facts
	}
}

// hits come as an object by the ID of the node, whose order is the rank, or as a
// list.
type hits []*Hit

func (h *hits) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*h = nil
	if dec.PeekKind() != '{' {
		return jsonv2.UnmarshalDecode(dec, (*[]*Hit)(h))
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() == '"' {
		key, err := dec.ReadToken()
		if err != nil {
			return err
		}
		id := api.OpaqueID(key.String()) // before the token is overwritten
		hit := new(Hit)
		if err := jsonv2.UnmarshalDecode(dec, hit); err != nil {
			return err
		}
		hit.ID = id
		*h = append(*h, hit)
	}
	_, err := dec.ReadToken()
	return err
}
