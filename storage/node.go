package storage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/jsonopt"
)

// NodeType is the type of a [Node].
type NodeType string

// Types of nodes. Unknown values are kept.
const (
	NodeTypeFile   NodeType = "file"
	NodeTypeFolder NodeType = "folder"
	NodeTypeNote   NodeType = "note"
	NodeTypeLink   NodeType = "link"
)

// AIState is the state of the AI processing of a node.
type AIState string

// States of AI processing. Unknown values are kept and mean not ready; "" means
// unknown.
const (
	AIStateDisabled   AIState = "disabled"
	AIStatePending    AIState = "pending"
	AIStateInProgress AIState = "in_progress"
	AIStateReady      AIState = "ready"
	AIStateIndexed    AIState = "indexed"
	AIStateFailed     AIState = "failed"
)

// Usable reports whether the agent can use the node.
func (s AIState) Usable() bool { return s == AIStateReady || s == AIStateIndexed }

// Searchable reports whether semantic search finds the node.
func (s AIState) Searchable() bool { return s == AIStateIndexed }

// UnmarshalJSON decodes a state, with both spellings of [AIStateInProgress].
func (s *AIState) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"ready"`: // the common states need no allocation
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
		return jsonv2.Unmarshal(b, (*string)(s), jsonopt.Lenient())
	}
	return nil
}

// NodeAI is the result of the AI processing of a node.
type NodeAI struct {
	State   AIState `json:"state,omitzero"`   // at standard and full output
	Attach  bool    `json:"attach,omitzero"`  // may be attached to a question to the agent; at full output
	Summary bool    `json:"summary,omitzero"` // [Node].Summary exists; at full output

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// NodeSummary is an AI summary of the content of a node.
type NodeSummary struct {
	Title string `json:"title,omitzero"`
	Short string `json:"short,omitzero"`              // at full output
	Long  string `json:"long,omitzero" scalar:"true"` // at full output

	Category string `json:"category,omitzero"` // of a note; at full output

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// NodeMetadata are the texts that [Service.Update] gives to a node.
type NodeMetadata struct {
	Title string `json:"title,omitzero"`
	Short string `json:"short,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// PreviewState is the state of a preview.
type PreviewState string

// States of previews. Unknown values are kept.
const (
	PreviewStateUnknown      PreviewState = "unknown"
	PreviewStateNotPossible  PreviewState = "not possible"
	PreviewStateNotGenerated PreviewState = "not generated"
	PreviewStateError        PreviewState = "error"
	PreviewStateInProgress   PreviewState = "in progress"
	PreviewStateReady        PreviewState = "ready"
)

// PreviewType is the type of a preview of a file, as in [Node].Previews.
type PreviewType string

// Types of previews. Unknown values are kept.
const (
	PreviewTypeBin         PreviewType = "bin"
	PreviewTypeThumbnail   PreviewType = "thumbnail"
	PreviewTypeImage       PreviewType = "image"
	PreviewTypeHLS         PreviewType = "hlsstream" // several files; the first one is fetched
	PreviewTypePDF         PreviewType = "pdf"
	PreviewTypeSpreadsheet PreviewType = "spreadsheet"
	PreviewTypeAudio       PreviewType = "audio"
	PreviewTypeMP4         PreviewType = "mp4"
)

// Preview is an image or rendering of a node.
type Preview struct {
	State PreviewState `json:"state,omitzero" scalar:"true"` // "" at terse output if it is not ready
	Ready bool         `json:"ready,omitzero"`               // can be fetched; at every output level

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

var _ = decode.Fix(func(p *Preview) {
	switch {
	case p.State != "":
		p.Ready = p.State == PreviewStateReady
	case p.Ready:
		p.State = PreviewStateReady
	}
})

// Node is a file, folder, note or link in the storage of a workspace or share.
//
// The fields of a response depend on the output level of the call; missing fields
// are zero.
type Node struct {
	ID       api.OpaqueID `json:"id,omitzero" scalar:"true"` // a response may hold it instead of the node
	Name     string       `json:"name,omitzero"`
	Type     NodeType     `json:"type,omitzero"`
	ParentID api.OpaqueID `json:"parent_id,omitzero" also:"parent"` // the folder, [api.Root] or [api.Trash]
	Size     int64        `json:"size,omitzero"`                    // in bytes
	MIMEType string       `json:"mimetype,omitzero"`
	Version  api.OpaqueID `json:"version,omitzero"`   // the current one; not at terse output
	Hash     string       `json:"hash,omitzero"`      // of the content, in hexadecimal; at full output, as the next
	HashAlgo string       `json:"hash_algo,omitzero"` // its algorithm, such as sha256
	Created  api.Time     `json:"created,omitzero"`   // not at terse output
	Updated  api.Time     `json:"updated,omitzero" also:"modified"`

	IsShareRoot bool            `json:"is_share_root,omitzero"` // the folder is that of a share
	ShareID     api.ID          `json:"share_id,omitzero"`      // of a folder: its share
	Children    json.RawMessage `json:"nodes,omitzero"`         // of a folder, undecoded: no document shows the form

	// At standard and full output.
	MIMECategory string       `json:"mimecategory,omitzero"` // such as image
	Origin       *Origin      `json:"origin,omitzero"`
	Restricted   bool         `json:"restricted,omitzero"`
	DMCA         bool         `json:"dmca,omitzero"`         // taken down after a claim of copyright
	Locked       bool         `json:"locked,omitzero"`       // by a client or by the platform
	IsImported   bool         `json:"is_imported,omitzero"`  // from the storage of another provider
	ImportState  *ImportState `json:"import_state,omitzero"` // of an imported node

	Deleted     api.Time     `json:"deleted,omitzero"`      // when it was moved to the trash, as the next
	DeletedFrom api.OpaqueID `json:"deleted_from,omitzero"` // the folder to which it is restored
	TargetType  string       `json:"target_type,omitzero"`  // of a link, such as share
	TargetID    api.ID       `json:"target_id,omitzero"`    // of a link: the share

	Previews api.Map[Preview] `json:"previews,omitzero"`       // by type of preview
	AI       NodeAI           `json:"ai,omitzero"`             // not at terse output
	Summary  *NodeSummary     `json:"summary,omitzero"`        // nil if none, or missing
	Facts    *Facts           `json:"metadata_facts,omitzero"` // nil if missing
	Metadata *NodeMetadata    `json:"metadata,omitzero"`       // nil if missing

	// At full output.
	LockInfo       *LockInfo       `json:"lock_info,omitzero"` // nil if not locked
	Virus          *Virus          `json:"virus,omitzero"`
	FileAttributes *FileAttributes `json:"file_attributes,omitzero"`
	ImportMetadata json.RawMessage `json:"import_metadata,omitzero"` // undecoded: no document shows the form

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// String returns the node on one line: its type, its name in quotes and its ID.
func (n *Node) String() string {
	if n == nil {
		return "<nil>"
	}
	return fmt.Sprintf("%s %q %s", cmp.Or(n.Type, "node"), n.Name, n.ID)
}

// The AI state may be next to its object, and a summary may be text instead of
// a boolean.
var (
	_ = decode.Fix(func(n *Node) {
		var state AIState
		if decode.Take(n.Extra, &state, "ai_state") && n.AI.State == "" {
			n.AI.State = state
		}
	})
	_ = decode.Fix(func(ai *NodeAI) {
		var text string
		ai.Summary = ai.Summary || decode.Take(ai.Extra, &text, "summary")
	}, decode.Takes[string]("summary"))
)

// NodeError is the error of one node in a call for several nodes. It matches
// [api.ErrInvalid], [api.ErrNotFound] or [api.ErrUnavailable] with [errors.Is].
type NodeError struct {
	NodeID  api.OpaqueID `json:"node_id"`
	Code    int64        `json:"code"`
	Message string       `json:"message"` // text of the server

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Codes of errors of one node: of storage details, then of metadata details. Missing
// includes nodes of another workspace or share.
const (
	codeNodeID      = 191878 // not an ID
	codeNodeMissing = 133123
	codeNodeBusy    = 146256 // transient
	codeNodeEmpty   = 146950 // no content

	codeMetadataID      = 147196 // not an ID
	codeMetadataRoot    = 196136 // the alias root
	codeMetadataMissing = 191049
	codeNoMetadata      = 150183 // neither file nor note
	codeMetadataBusy    = 190770 // transient
	codeFactsBusy       = 157684 // transient
)

// Error returns the node and the error.
func (e *NodeError) Error() string {
	s := "fastio: node " + string(e.NodeID) + ": "
	if e.Message == "" {
		s += "refused"
	} else {
		s += fmt.Sprintf("%.400s", e.Message)
	}
	if e.Code != 0 {
		s += " (code " + strconv.FormatInt(e.Code, 10) + ")"
	}
	return s
}

// Is reports whether target is the Err value of package api for e.
func (e *NodeError) Is(target error) bool {
	switch e.Code {
	case codeNodeID, codeMetadataID, codeMetadataRoot, codeNoMetadata:
		return target == api.ErrInvalid
	case codeNodeMissing, codeNodeEmpty, codeMetadataMissing:
		return target == api.ErrNotFound
	case codeNodeBusy, codeMetadataBusy, codeFactsBusy:
		return target == api.ErrUnavailable
	}
	return false
}
