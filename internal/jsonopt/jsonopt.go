// Package jsonopt has the options for JSON of the platform.
package jsonopt

import (
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Lenient returns the options for values that are not part of a response: duplicate
// names and invalid UTF-8 are accepted.
func Lenient() jsonv2.Options {
	return jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
