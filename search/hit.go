package search

import (
	"encoding/json"
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/storage"
)

// MatchSource is the method that found a hit. Unknown values are kept.
type MatchSource string

// Sources of a match.
const (
	MatchSourceKeyword  MatchSource = "keyword"
	MatchSourceSemantic MatchSource = "semantic"
	MatchSourceBoth     MatchSource = "both"
)

// ScoreSource is the measure of a RawScore. Unknown values are kept.
type ScoreSource string

// Sources of a score.
const (
	ScoreSourceKeyword  ScoreSource = "keyword"
	ScoreSourceSemantic ScoreSource = "semantic"
	ScoreSourceFilename ScoreSource = "filename"
)

// Hit is a file, folder or note that a search found. A field that is not in the
// response is zero: hits by name have no scores, MIME type, page or media segment.
type Hit struct {
	ID       api.OpaqueID     `json:"node_id" also:"id"`
	Name     string           `json:"name"`
	ParentID api.OpaqueID     `json:"parent_id"` // the folder, [api.Root] or [api.Trash]
	Type     storage.NodeType `json:"type"`
	MIMEType string           `json:"mimetype"`
	Updated  api.Time         `json:"updated"`

	Score       *float64    `json:"relevance_score"`        // from 0 to 1, which is the best; comparable within one response only
	RawScore    *float64    `json:"raw_score" also:"score"` // before normalization; of Files only
	ScoreSource ScoreSource `json:"score_source"`
	MatchSource MatchSource `json:"match_source"`

	// Snippet is the passage that matches, "" for a keyword hit: whole at [api.Full],
	// the default, else cut to about 600 bytes at [api.Standard] and 200 at [api.Terse].
	Snippet      string        `json:"content_snippet" also:"content"`
	BestChunk    *Chunk        `json:"best_chunk"`    // of Files; nil if not in the response
	Page         *PageRange    `json:"page"`          // in a document
	MediaSegment *MediaSegment `json:"media_segment"` // in audio or video

	Node  *storage.Node  `json:"node"`           // with Query.Details
	Facts *storage.Facts `json:"metadata_facts"` // with UnifiedQuery.Facts, of a workspace

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Chunk is the chunk of the extracted text of a file that matches a query best.
//
// To quote a hit, read the chunks around it with [storage.Texts.Get], in the
// [storage.ChunkRange] from Position-1 (at least 0) to Position+1, and compare the
// Version of the [storage.Text]: if it is another one, the file has been replaced,
// and Position means nothing in its text.
type Chunk struct {
	Position  *int         `json:"position"`           // in the text, from 0; nil if the hit has no chunk
	Version   api.OpaqueID `json:"indexed_version_id"` // of the file; "" if unknown
	IsSnippet bool         `json:"same_as_snippet"`    // it is the passage of Hit.Snippet
	Text      string       `json:"text"`               // "" if IsSnippet, unless at [api.Full]

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// PageRange is the position of a passage in a document, in pages from 1.
type PageRange struct {
	Start int `json:"start_page"`
	End   int `json:"end_page"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// MediaSegment is the position of a passage in audio or video.
type MediaSegment struct {
	Start float64 `json:"start_seconds"` // in seconds from the beginning
	End   float64 `json:"end_seconds"`   // as Start

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

var _ = decode.Fix(func(h *Hit) {
	if h.Node != nil {
		h.completeFrom(h.Node)
	}
})

// completeFrom sets the fields that the hit lacks to those of the node.
func (h *Hit) completeFrom(n *storage.Node) {
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

// hits are the hits of a response in order of rank. The JSON is an object whose members
// are named by the node IDs, or an array.
type hits []*Hit

// UnmarshalJSONFrom reads a list, or an object that has the hits by their IDs;
// the order is that of the text.
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

// JSONType implements [decode.Variant], so that members without a field are reported. It
// returns the type of an object with the hits by their IDs, or that of a list of hits.
func (*hits) JSONType(kind jsontext.Kind) reflect.Type {
	if kind == '{' {
		return reflect.TypeFor[map[string]*Hit]()
	}
	return reflect.TypeFor[[]*Hit]()
}
