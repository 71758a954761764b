package api

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Opt is a field of an update with three states on the wire: omitted, cleared and set.
// The zero Opt is omitted if its JSON tag has omitzero.
type Opt[T any] struct {
	value T
	state optState
}

type optState uint8

const (
	optUnset optState = iota
	optNull
	optSet
)

// Set returns an Opt that sets the field to v, also when v is zero.
func Set[T any](v T) Opt[T] { return Opt[T]{value: v, state: optSet} }

// Null returns an Opt that clears the field.
func Null[T any]() Opt[T] { return Opt[T]{state: optNull} }

// Get returns the value and true if the field is set, else the zero value and
// false.
func (o Opt[T]) Get() (v T, ok bool) { return o.value, o.state == optSet }

// IsNull reports whether the field is cleared.
func (o Opt[T]) IsNull() bool { return o.state == optNull }

// IsZero reports whether the field is omitted.
func (o Opt[T]) IsZero() bool { return o.state == optUnset }

// String returns the printed value, "null" or "unset".
func (o Opt[T]) String() string {
	switch o.state {
	case optSet:
		return fmt.Sprint(o.value)
	case optNull:
		return "null"
	default:
		return "unset"
	}
}

// MarshalJSON returns the encoded value, or null if there is none.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.state != optSet {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON decodes a value, or null for a cleared field.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	if jsontext.Value(b).Kind() == 'n' {
		*o = Null[T]()
		return nil
	}
	*o = Opt[T]{state: optSet}
	return json.Unmarshal(b, &o.value)
}
