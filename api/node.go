package api

import (
	stdjson "encoding/json"
	"strconv"

	"github.com/go-json-experiment/json"

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
	Short string `json:"short,omitzero"`              // at full output
	Long  string `json:"long,omitzero" scalar:"true"` // at full output

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
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
	State PreviewState `json:"state,omitzero" scalar:"true"` // "" at terse output if it is not ready
	Ready bool         `json:"ready,omitzero"`               // it can be fetched; at every level of output

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
}

var _ = lenient.Fix(func(p *Preview) {
	switch {
	case p.State != "":
		p.Ready = p.State == PreviewStateReady
	case p.Ready:
		p.State = PreviewStateReady
	}
})

// Node is a file, folder, note or link in the storage of a workspace or share.
//
// How much of it an answer holds depends on the output level of the call; a
// field the answer left out is zero.
type Node struct {
	ID       OpaqueID `json:"id,omitzero" scalar:"true"` // an answer may hold it in place of the node
	Name     string   `json:"name,omitzero"`
	Type     NodeType `json:"type,omitzero"`
	ParentID OpaqueID `json:"parent_id,omitzero" also:"parent"` // the folder, [Root] or [Trash]
	Size     int64    `json:"size,omitzero"`                    // in bytes
	MIMEType string   `json:"mimetype,omitzero"`
	Version  OpaqueID `json:"version,omitzero"` // the current one
	Created  Time     `json:"created,omitzero"`
	Updated  Time     `json:"updated,omitzero" also:"modified"`

	Previews Map[Preview] `json:"previews,omitzero"`       // by type of preview
	AI       NodeAI       `json:"ai,omitzero"`             // not at terse output
	Summary  *NodeSummary `json:"summary,omitzero"`        // nil if there is none, or the answer left it out
	Facts    *Facts       `json:"metadata_facts,omitzero"` // nil if the answer left them out

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
}

// The state of the AI may stand beside its block, and a text in place of a summary's
// flag.
var (
	_ = lenient.Fix(func(n *Node) {
		var state AIState
		if lenient.Take(n.Extra, &state, "ai_state") && n.AI.State == "" {
			n.AI.State = state
		}
	})
	_ = lenient.Fix(func(ai *NodeAI) {
		var text string
		ai.Summary = ai.Summary || lenient.Take(ai.Extra, &text, "summary")
	})
)

// NodeError says why a call for several nodes has no answer for one of them. Errors
// that [errors.Is] reports: [ErrInvalid], [ErrNotFound] or [ErrUnavailable].
type NodeError struct {
	NodeID  OpaqueID `json:"node_id"`
	Code    int64    `json:"code"`
	Message string   `json:"message"` // the server's words, for people

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
}

// Codes of errors about one node of several: those of storage details, then those of
// metadata details. Missing includes nodes of another workspace or share.
const (
	codeNodeID      = 191878 // not an ID
	codeNodeMissing = 133123
	codeNodeBusy    = 146256 // transient
	codeNodeEmpty   = 146950 // its content is gone

	codeMetadataID      = 147196 // not an ID
	codeMetadataRoot    = 196136 // the alias root
	codeMetadataMissing = 191049
	codeNoMetadata      = 150183 // neither file nor note
	codeMetadataBusy    = 190770 // transient
	codeFactsBusy       = 157684 // transient
)

// Error says which node it is about and what happened to it.
func (e *NodeError) Error() string {
	s := "fastio: node " + string(e.NodeID) + ": " + cut(e.Message, shownParamRunes)
	if e.Message == "" {
		s += "refused"
	}
	if e.Code != 0 {
		s += " (code " + strconv.FormatInt(e.Code, 10) + ")"
	}
	return s
}

// Is reports whether target is the one of this package's Err values that is
// known to describe e.
func (e *NodeError) Is(target error) bool {
	switch e.Code {
	case codeNodeID, codeMetadataID, codeMetadataRoot, codeNoMetadata:
		return target == ErrInvalid
	case codeNodeMissing, codeNodeEmpty, codeMetadataMissing:
		return target == ErrNotFound
	case codeNodeBusy, codeMetadataBusy, codeFactsBusy:
		return target == ErrUnavailable
	}
	return false
}
