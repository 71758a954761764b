package api

import (
	stdjson "encoding/json"
)

// FactType is the type of a metadata value.
type FactType string

// The types of a value. Another one is newer than this package.
const (
	FactTypeString   FactType = "string"
	FactTypeBool     FactType = "bool"
	FactTypeInt      FactType = "int"
	FactTypeFloat    FactType = "float"
	FactTypeJSON     FactType = "json"
	FactTypeURL      FactType = "url"
	FactTypeDatetime FactType = "datetime"
)

// FactSource says where a value comes from.
type FactSource string

// The sources of a value. Another one is newer than this package.
const (
	FactSourceAI              FactSource = "ai"
	FactSourceUser            FactSource = "user" // outranks the others and survives a new extraction
	FactSourceEXIF            FactSource = "exif"
	FactSourceMediaInfo       FactSource = "mediainfo"
	FactSourceValidatedServer FactSource = "validated_server"
)

// FactConfidence says how sure the source is of a value.
type FactConfidence string

// The degrees of confidence; "" is none stated.
const (
	FactConfidenceLow     FactConfidence = "low"
	FactConfidenceMedium  FactConfidence = "medium"
	FactConfidenceHigh    FactConfidence = "high"
	FactConfidenceCertain FactConfidence = "certain"
)

// Facts are the metadata values of one node.
//
// Items come typed values first, then names of identifiers, then the rest, by
// name within each group. Only an answer at full output has them whole.
type Facts struct {
	Count       int64  `json:"count,omitzero"`        // values in Items
	Total       int64  `json:"total,omitzero"`        // values the node has, never below Count
	IsTruncated bool   `json:"is_truncated,omitzero"` // Items are not all
	Items       []Fact `json:"items,omitzero"`
	Fields      string `json:"fields,omitzero"` // the values in one line, in place of Items at terse output

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
}

// Fact is one metadata value of a node.
//
// A field that a user cleared is a Fact with an empty Value and the source
// user; one that was never extracted is no Fact at all.
type Fact struct {
	Name         string             `json:"name" also:"field"`      // of the field
	Value        stdjson.RawMessage `json:"value,omitzero"`         // as it arrived; nil when the answer left it out
	DeclaredType FactType           `json:"declared_type,omitzero"` // what the field claims; Value need not fit
	StoredType   FactType           `json:"stored_type,omitzero"`   // what is stored
	Source       FactSource         `json:"source,omitzero"`
	Confidence   FactConfidence     `json:"confidence,omitzero"`
	Rationale    string             `json:"rationale,omitzero"` // why the source chose the value
	Updated      Time               `json:"updated,omitzero"`

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members newer than this package
}
