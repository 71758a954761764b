package api

import (
	"bytes"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/internal/jsonopt"
)

// Map is a map[string]V that the platform encodes as [] if it is empty. It decodes
// [] and null as nil, and encodes as an object. A Map[bool] leaves out elements that are
// null.
//
// Decoding replaces the content of the map.
type Map[V any] map[string]V

var errNotMap = errors.New("fastio: expected an object, got an array that is not empty")

// MarshalJSON returns an object.
func (m Map[V]) MarshalJSON() ([]byte, error) {
	if len(m) == 0 {
		return []byte("{}"), nil
	}
	return jsonv2.Marshal(map[string]V(m), jsonv2.Deterministic(true), jsonopt.Lenient())
}

// UnmarshalJSON decodes an object. null and an empty array, which the platform may send
// for an empty object, give a nil map.
func (m *Map[V]) UnmarshalJSON(b []byte) error {
	*m = nil
	switch jsontext.Value(b).Kind() {
	case 'n':
		return nil
	case '[':
		if rest, ok := bytes.CutSuffix(b[1:], []byte("]")); !ok || len(bytes.TrimSpace(rest)) > 0 {
			return errNotMap
		}
		return nil
	default:
		err := jsonv2.Unmarshal(b, (*map[string]V)(m), jsonopt.Lenient())
		flags, isOfBools := any(m).(*Map[bool])
		mayHaveNull := isOfBools && bytes.Contains(b, []byte("null")) // null means unknown, but was decoded as false
		if err == nil && mayHaveNull {
			return dropNull(*flags, b)
		}
		return err
	}
}

// dropNull removes from m the members that are null in b, the JSON object from which m was
// decoded. They were decoded as false, but null does not mean that.
func dropNull(m Map[bool], b []byte) error {
	var members map[string]jsontext.Value
	err := jsonv2.Unmarshal(b, &members, jsonopt.Lenient())
	for name, value := range members {
		if value.Kind() == 'n' {
			delete(m, name)
		}
	}
	return err
}

// Bool is a boolean that the platform may also encode as "yes" or "no", as "true" or
// "false", in any letter case, or as 1 or 0, with or without quotes. null and "" are
// false. It encodes as true or false.
type Bool bool

// UnmarshalJSON decodes any of the forms that the comment of Bool lists, and fails for
// others.
func (b *Bool) UnmarshalJSON(text []byte) error {
	switch v := jsontext.Value(text); v.Kind() {
	case 'n':
		*b = false
		return nil
	case '"':
		unquoted, err := jsontext.AppendUnquote(make([]byte, 0, 8), v)
		if err != nil {
			return err
		}
		text = unquoted
	default:
	}
	switch {
	case len(text) == 1 && text[0] == '1', foldsTo(text, "true"), foldsTo(text, "yes"):
		*b = true
	case len(text) == 0, len(text) == 1 && text[0] == '0', foldsTo(text, "false"), foldsTo(text, "no"):
		*b = false
	default:
		return fmt.Errorf("fastio: %.40q is neither yes nor no", text)
	}
	return nil
}

// foldsTo reports whether text is word, which is in lower case, in any letter
// case.
func foldsTo(text []byte, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i, c := range text {
		if lowerASCII(c) != word[i] {
			return false
		}
	}
	return true
}
