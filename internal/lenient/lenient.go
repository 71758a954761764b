// Package lenient decodes JSON of the platform whose form is not documented.
package lenient

import (
	"encoding/json"
	"reflect"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Options returns the options for values that are not part of a response:
// duplicate names and invalid UTF-8 are accepted.
func Options() jsonv2.Options {
	return jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Members are the members of a JSON object.
type Members map[string]json.RawMessage

// Take moves the first of the named members whose value fits the type of to. A
// number may be quoted. Other members are kept.
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

var fixes sync.Map //nolint:gochecknoglobals // a registry of func(any) by reflect.Type

// Fix registers a function to complete each decoded T from its Extra, for what
// no tag can describe. It must be called in the declaration of a package
// variable, before any response is decoded.
func Fix[T any](fix func(*T)) struct{} {
	fixes.Store(reflect.TypeFor[T](), func(pointer any) {
		if v, ok := pointer.(*T); ok {
			fix(v)
		}
	})
	return struct{}{}
}

// FixOf returns the function registered for a type, nil if there is none.
func FixOf(t reflect.Type) func(pointer any) {
	fix, _ := fixes.Load(t)
	f, _ := fix.(func(any))
	return f
}
