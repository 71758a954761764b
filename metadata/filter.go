package metadata

import (
	"encoding/json"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/filters"
)

// Operator is the comparison of a [Filter].
type Operator string

// Documented operators of a [Filter]; a server may support more. Those without a comment
// take a value of the type of the field.
const (
	OperatorEqual             Operator = "="
	OperatorNotEqual          Operator = "!="
	OperatorLess              Operator = "<"
	OperatorLessOrEqual       Operator = "<="
	OperatorGreater           Operator = ">"
	OperatorGreaterOrEqual    Operator = ">="
	OperatorIn                Operator = "in"             // takes a list of values (assumed)
	OperatorExists            Operator = "exists"         // takes no value
	OperatorNotExists         Operator = "not_exists"     // takes no value
	OperatorConfidenceAtLeast Operator = "confidence_gte" // takes a [storage.FactConfidence] (assumed)
)

// Filter is a condition on a metadata field of a file or note. Several conditions
// are combined with AND. Only files and notes with metadata are candidates: one
// without any fact matches no condition, not even [NotExists].
type Filter struct {
	Field    string          `json:"field"` // the name of a merged field means its target
	Operator Operator        `json:"operator"`
	Value    json.RawMessage `json:"value,omitzero"` // nil means none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Where returns the condition that a field compares to a value by an operator; nil
// means no value. A value that JSON cannot encode is rejected when the Filter is
// sent.
func Where(field string, operator Operator, value any) Filter {
	if value == nil {
		return Filter{Field: field, Operator: operator}
	}
	b, err := jsonv2.Marshal(value, jsonv2.Deterministic(true))
	if err != nil {
		b = []byte("?") // invalid JSON
	}
	return Filter{Field: field, Operator: operator, Value: b}
}

// Equals returns the condition that a field has a value, as [Where].
func Equals(field string, value any) Filter { return Where(field, OperatorEqual, value) }

// Exists returns the condition that a field has any value.
func Exists(field string) Filter { return Filter{Field: field, Operator: OperatorExists} }

// NotExists returns the condition that a field has no value.
func NotExists(field string) Filter { return Filter{Field: field, Operator: OperatorNotExists} }

var _ = decode.Fix(func(f *Filter) {
	if string(f.Value) == "null" {
		f.Value = nil
	}
})

// condition returns f in the form in which it is checked.
func condition(f Filter) filters.Condition {
	return filters.Condition{Field: f.Field, Operator: string(f.Operator), Value: f.Value}
}

// Category is a value of the metadata field "category".
type Category string

// Categories of files. A response may have an older one.
const (
	CategoryLegal       Category = "Legal"
	CategoryFinance     Category = "Finance"
	CategorySales       Category = "Sales"
	CategoryMarketing   Category = "Marketing"
	CategoryEngineering Category = "Engineering"
	CategoryProduct     Category = "Product"
	CategoryOperations  Category = "Operations"
	CategoryPeople      Category = "People"
	CategoryResearch    Category = "Research"
	CategoryMedia       Category = "Media"
	CategoryPersonal    Category = "Personal"
	CategoryOther       Category = "Other"
)

// ErrUnfiltered reports that the server ignored the filters of a call.
var ErrUnfiltered = errors.New("the server did not apply the metadata filter")

// FilterReport reports that a metadata filter was applied. A response without
// one was not filtered.
type FilterReport struct {
	Applied     json.RawMessage `json:"applied,omitzero"`   // undocumented, as received
	Matched     *int            `json:"matched,omitzero"`   // files in the whole workspace; nil means unknown
	IsTruncated bool            `json:"truncated,omitzero"` // more than 1,000 match, and the others were not examined

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Ran reports whether the filter was applied; false for nil.
func (r *FilterReport) Ran() bool { return r != nil && string(r.Applied) != "false" }
