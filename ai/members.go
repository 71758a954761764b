package ai

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// members are those of a JSON object whose form is not published.
type members map[string]json.RawMessage

// take moves the first of the named members that has the type of to. A number
// may be quoted. Members of another type are kept.
func take[T any](m members, to *T, names ...string) bool {
	for _, name := range names {
		raw, ok := m[name]
		for _, quoted := range []bool{false, true} {
			var v T
			if ok && jsonv2.Unmarshal(raw, &v, tolerant(), jsonv2.StringifyNumbers(quoted)) == nil {
				*to = v
				delete(m, name)
				return true
			}
		}
	}
	return false
}

// rest returns the remaining members, nil if there are none.
func (m members) rest() map[string]json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	return m
}

// tolerant returns the options for values that are decoded outside of an
// answer.
func tolerant() jsonv2.Options {
	return jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
