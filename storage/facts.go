package storage

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fastio-go/fastio/api"
)

// FactType is the type of a metadata value.
type FactType string

// Types of a value. Unknown values are kept.
const (
	FactTypeString   FactType = "string"
	FactTypeBool     FactType = "bool"
	FactTypeInt      FactType = "int"
	FactTypeFloat    FactType = "float"
	FactTypeJSON     FactType = "json"
	FactTypeURL      FactType = "url"
	FactTypeDatetime FactType = "datetime"
)

// FactSource is the source of a value.
type FactSource string

// Sources of a value. Unknown values are kept.
const (
	FactSourceAI              FactSource = "ai"
	FactSourceUser            FactSource = "user" // has precedence and is kept by a new extraction
	FactSourceEXIF            FactSource = "exif"
	FactSourceMediaInfo       FactSource = "mediainfo"
	FactSourceValidatedServer FactSource = "validated_server"
)

// FactConfidence is the confidence of the source in a value.
type FactConfidence string

// Degrees of confidence; "" means unknown.
const (
	FactConfidenceLow     FactConfidence = "low"
	FactConfidenceMedium  FactConfidence = "medium"
	FactConfidenceHigh    FactConfidence = "high"
	FactConfidenceCertain FactConfidence = "certain"
)

// Facts are the metadata values of one node.
//
// Items are sorted: typed values, then names of identifiers, then the rest, by name
// within each group. They are only complete at full output.
type Facts struct {
	Count       int64  `json:"count,omitzero"`        // values in Items
	Total       int64  `json:"total,omitzero"`        // values of the node, at least Count
	IsTruncated bool   `json:"is_truncated,omitzero"` // Items are incomplete
	Items       []Fact `json:"items,omitzero"`
	Fields      string `json:"fields,omitzero"` // the values in one line, instead of Items at terse output

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Fact is one metadata value of a node.
//
// A field that a user cleared is a Fact with an empty Value and the source user. A
// field that was never extracted has no Fact.
type Fact struct {
	Name         string          `json:"name" also:"field"`      // of the field
	Value        json.RawMessage `json:"value,omitzero"`         // undecoded; nil if missing
	DeclaredType FactType        `json:"declared_type,omitzero"` // of the field; Value may differ
	StoredType   FactType        `json:"stored_type,omitzero"`   // of the stored value
	Source       FactSource      `json:"source,omitzero"`
	Confidence   FactConfidence  `json:"confidence,omitzero"`
	Rationale    string          `json:"rationale,omitzero"` // why the source chose the value
	Updated      api.Time        `json:"updated,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// String returns the value on one line: the name of the field, the value as in the response,
// its type and its source.
func (f Fact) String() string { //nolint:gocritic // values of Facts.Items are printed as well
	text := fmt.Sprintf("fact %q", f.Name)
	if f.Value != nil {
		text += " = " + string(f.Value)
	}
	if typeAndSource := strings.TrimSpace(string(f.DeclaredType) + " " + string(f.Source)); typeAndSource != "" {
		text += " (" + typeAndSource + ")"
	}
	return text
}
