package api

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is text that prints as a placeholder wherever it is formatted, logged
// or encoded. Convert it to a string to use it.
//
// Only [fmt] can be made to print one: in an unexported field, about which it asks
// nobody, and behind a pointer inside of another value, by a verb such as %s that
// suits no pointer. A type that holds secrets like that should be a
// [fmt.Formatter].
type Secret string

const placeholder = "[redacted]"

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return placeholder
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// Format hides the text from every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the text from structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
