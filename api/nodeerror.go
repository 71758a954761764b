package api

import (
	stdjson "encoding/json"
	"strconv"
)

// NodeError says why a call for several nodes has no answer for one of them.
type NodeError struct {
	NodeID  OpaqueID `json:"node_id"`
	Code    int64    `json:"code"`
	Message string   `json:"message"` // the server's words, for people

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
}

const (
	codeNodeID      = 191878 // it is not an ID
	codeNodeMissing = 133123 // it is not there, or in another workspace
	codeNodeBusy    = 146256
	codeNodeEmpty   = 146950 // its content is gone
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
	case codeNodeID:
		return target == ErrInvalid
	case codeNodeMissing, codeNodeEmpty:
		return target == ErrNotFound
	case codeNodeBusy:
		return target == ErrUnavailable
	}
	return false
}
