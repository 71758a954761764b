package api

import (
	stdjson "encoding/json"
	"strconv"
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
