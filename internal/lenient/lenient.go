// Package lenient reads JSON as the platform writes it, where its form is not
// published.
package lenient

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Options returns the options for values that are not decoded as an answer:
// duplicate names and invalid UTF-8 are accepted.
func Options() jsonv2.Options {
	return jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Members are those of a JSON object.
type Members map[string]json.RawMessage

// Take moves the first of the named members that has the type of to. A number may
// be quoted. Members of another type are kept.
func Take[T any](m Members, to *T, names ...string) bool {
	for _, name := range names {
		raw, ok := m[name]
		for _, quoted := range []bool{false, true} {
			var v T
			if ok && jsonv2.Unmarshal(raw, &v, Options(), jsonv2.StringifyNumbers(quoted)) == nil {
				*to = v
				delete(m, name)
				return true
			}
		}
	}
	return false
}

// Rest returns the remaining members, nil if there are none.
func (m Members) Rest() map[string]json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	return m
}
