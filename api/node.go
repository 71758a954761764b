package api

import (
	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/internal/lenient"
)

// NodeType says what a [Node] is.
type NodeType string

// The types of node. Another one is newer than this package.
const (
	NodeTypeFile   NodeType = "file"
	NodeTypeFolder NodeType = "folder"
	NodeTypeNote   NodeType = "note"
	NodeTypeLink   NodeType = "link"
)

// AIState says how far the platform's AI has come with a node.
type AIState string

// The states. Another one is newer than this package and counts as not ready;
// "" means that the answer did not tell.
const (
	AIStateDisabled   AIState = "disabled"
	AIStatePending    AIState = "pending"
	AIStateInProgress AIState = "in_progress"
	AIStateReady      AIState = "ready"
	AIStateIndexed    AIState = "indexed"
	AIStateFailed     AIState = "failed"
)

// Usable reports whether a chat can work with the node.
func (s AIState) Usable() bool { return s == AIStateReady || s == AIStateIndexed }

// Searchable reports whether semantic search finds the node.
func (s AIState) Searchable() bool { return s == AIStateIndexed }

// UnmarshalJSON reads a state in either spelling of [AIStateInProgress].
func (s *AIState) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"ready"`: // the common ones cost no allocation
		*s = AIStateReady
	case `"indexed"`:
		*s = AIStateIndexed
	case `"pending"`:
		*s = AIStatePending
	case `"disabled"`:
		*s = AIStateDisabled
	case `"failed"`:
		*s = AIStateFailed
	case `"in_progress"`, `"inprogress"`:
		*s = AIStateInProgress
	default:
		return json.Unmarshal(b, (*string)(s), lenient.Options())
	}
	return nil
}

// UnmarshalJSONFrom does the same as UnmarshalJSON.
func (s *AIState) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		*s = ""
		return json.UnmarshalDecode(dec, (*string)(s))
	}
	b, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return s.UnmarshalJSON(b)
}

// NodeAI is what the platform's AI made of a node.
type NodeAI struct {
	State   AIState `json:"state,omitzero"`   // from standard output up
	Attach  bool    `json:"attach,omitzero"`  // may be attached to a chat; at full output
	Summary bool    `json:"summary,omitzero"` // there is a summary, see [Node]; at full output

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
}

// NodeSummary is what the platform's AI says about the content of a node.
type NodeSummary struct {
	Title string `json:"title,omitzero"`
	Short string `json:"short,omitzero"` // at full output
	Long  string `json:"long,omitzero"`  // at full output

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
}

type plainSummary NodeSummary

// UnmarshalJSON reads an object, or the long text alone.
func (s *NodeSummary) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, s, lenient.Options()) }

// UnmarshalJSONFrom does the same as UnmarshalJSON, with the decoder's options.
func (s *NodeSummary) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*s = NodeSummary{}
	switch dec.PeekKind() {
	case '{':
		return json.UnmarshalDecode(dec, (*plainSummary)(s))
	case '"':
		return json.UnmarshalDecode(dec, &s.Long)
	default:
		return dec.SkipValue()
	}
}

// PreviewState says whether a preview can be fetched.
type PreviewState string

// The states. Another one is newer than this package.
const (
	PreviewStateUnknown      PreviewState = "unknown"
	PreviewStateNotPossible  PreviewState = "not possible"
	PreviewStateNotGenerated PreviewState = "not generated"
	PreviewStateError        PreviewState = "error"
	PreviewStateInProgress   PreviewState = "in progress"
	PreviewStateReady        PreviewState = "ready"
)

// Preview is one picture or rendering of a node.
type Preview struct {
	State PreviewState `json:"state,omitzero"` // "" at terse output if it is not ready
	Ready bool         `json:"ready,omitzero"` // it can be fetched; at every level of output

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
}

type plainPreview Preview

// MarshalJSON writes an object with the state and Extra.
func (p Preview) MarshalJSON() ([]byte, error) {
	return json.Marshal((*plainPreview)(&p), lenient.Options())
}

// MarshalJSONTo does the same as MarshalJSON, with the encoder's options.
func (p Preview) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, (*plainPreview)(&p))
}

// UnmarshalJSON reads an object or the state alone.
func (p *Preview) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, p, lenient.Options()) }

// UnmarshalJSONFrom does the same as UnmarshalJSON, with the decoder's options.
func (p *Preview) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*p = Preview{}
	var err error
	if dec.PeekKind() == '"' {
		err = json.UnmarshalDecode(dec, &p.State)
	} else {
		err = json.UnmarshalDecode(dec, (*plainPreview)(p))
	}
	switch {
	case p.State != "":
		p.Ready = p.State == PreviewStateReady
	case p.Ready:
		p.State = PreviewStateReady
	}
	return err
}

// Node is a file, folder, note or link in the storage of a workspace or share.
//
// How much of it an answer holds depends on the output level of the call; a
// field the answer left out is zero. Use it as a named field: it reads its own
// JSON, which embedding would pass on to the struct around it.
type Node struct {
	ID       OpaqueID `json:"id,omitzero"`
	Name     string   `json:"name,omitzero"`
	Type     NodeType `json:"type,omitzero"`
	ParentID OpaqueID `json:"parent_id,omitzero"` // the folder, [Root] or [Trash]
	Size     int64    `json:"size,omitzero"`      // in bytes
	MIMEType string   `json:"mimetype,omitzero"`
	Version  OpaqueID `json:"version,omitzero"` // the current one
	Created  Time     `json:"created,omitzero"`
	Updated  Time     `json:"updated,omitzero"`

	Previews Map[Preview] `json:"previews,omitzero"`       // by type of preview
	AI       NodeAI       `json:"ai,omitzero"`             // not at terse output
	Summary  *NodeSummary `json:"summary,omitzero"`        // nil if there is none, or the answer left it out
	Facts    *Facts       `json:"metadata_facts,omitzero"` // nil if the answer left them out

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
}

type plainNode Node

// nodeWire is a Node with the keys that some answers write in place of its own.
type nodeWire struct {
	Node     *plainNode `json:",embed,inline"`
	Parent   OpaqueID   `json:"parent"`
	Modified Time       `json:"modified"`
	AIState  AIState    `json:"ai_state"`
	AI       nodeAIWire `json:"ai"`
}

type nodeAIWire struct {
	AI      *NodeAI  `json:",embed,inline"`
	Summary presence `json:"summary"`
}

// presence is a boolean that is true of a text, too.
type presence bool

func (p *presence) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	var b Bool
	*p = presence(b.UnmarshalJSON(v) != nil && v.Kind() == '"') || presence(b)
	return err
}

// MarshalJSON writes the Node with its Extra.
func (n Node) MarshalJSON() ([]byte, error) { return json.Marshal((*plainNode)(&n), lenient.Options()) }

// MarshalJSONTo does the same as MarshalJSON, with the encoder's options.
func (n Node) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, (*plainNode)(&n))
}

// UnmarshalJSON reads ParentID from parent_id, else parent, Updated from updated,
// else modified, and the state of the AI from its block, else ai_state.
func (n *Node) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, n, lenient.Options()) }

// UnmarshalJSONFrom does the same as UnmarshalJSON, with the decoder's options.
func (n *Node) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == 'n' {
		*n = Node{}
		return dec.SkipValue()
	}
	w := nodeWire{Node: (*plainNode)(n), AI: nodeAIWire{AI: &n.AI}}
	err := json.UnmarshalDecode(dec, &w)
	if n.ParentID == "" {
		n.ParentID = w.Parent
	}
	if n.AI.State == "" {
		n.AI.State = w.AIState
	}
	n.AI.Summary = bool(w.AI.Summary)
	if n.Updated.IsZero() {
		n.Updated = w.Modified
	}
	return err
}
