package ai

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// members are those of a JSON object whose shape nobody has published.
type members map[string]json.RawMessage

// take moves a member into to, if it has the shape for it: a number may be
// quoted. What has not the shape stays.
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

// rest returns what is left, nil if that is nothing.
func (m members) rest() map[string]json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	return m
}

// tolerant returns the options for a value that is read outside of an answer.
func tolerant() jsonv2.Options {
	return jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
