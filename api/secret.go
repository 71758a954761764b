package api

import (
	"log/slog"
	"unique"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// Secret is a token, password or key that is never printed, logged or encoded. Create
// it with [NewSecret]; Reveal returns its text. Two secrets of the same text are
// equal. The zero Secret is empty.
//
// No verb of [fmt], no handler of [log/slog], no encoder and no printer of values for
// tests, such as go-cmp, shows the text, even in an unexported field, behind a pointer
// or as the key of a map. JSON encodes a Secret as null.
type Secret struct {
	// text is a handle, of which a printer that follows pointers shows the address only:
	// one of type unique.Handle leads it to the text. A func would hide the text as
	// well, but is not comparable.
	text unsafe.Pointer
}

type handle = unique.Handle[string]

var _ [unsafe.Sizeof(uintptr(0))]struct{} = [unsafe.Sizeof(handle{})]struct{}{} // it is one pointer

// NewSecret returns a Secret of text. It keeps the text behind an opaque pointer, which
// no printer follows. Secrets of one text have the same pointer, so that they are equal.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	h := unique.Make(text)
	return Secret{*(*unsafe.Pointer)(unsafe.Pointer(&h))} //nolint:gosec // the one use of unsafe: see Secret
}

// Reveal returns the text, which is behind the opaque pointer of [NewSecret].
func (s Secret) Reveal() string {
	if s.IsZero() {
		return ""
	}
	// The field holds the handle itself, not the address of one, so the address of the field is that of a handle.
	return (*handle)(unsafe.Pointer(&s.text)).Value() //nolint:gosec // NewSecret has stored a handle as the pointer
}

// Equal reports whether two secrets have the same text.
func (s Secret) Equal(other Secret) bool { return s == other }

// IsZero reports whether the Secret is empty.
func (s Secret) IsZero() bool { return s == Secret{} }

const placeholder = "[redacted]"

// String returns a placeholder, "" for an empty Secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return placeholder
}

// GoString returns a placeholder for %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue returns a placeholder for structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON returns null.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// UnmarshalJSON decodes a string or a number. Any other value is an empty
// Secret.
func (s *Secret) UnmarshalJSON(b []byte) error {
	*s = Secret{}
	switch v := jsontext.Value(b); v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		*s = NewSecret(string(text))
		return err
	case '0':
		*s = NewSecret(string(v))
	default:
	}
	return nil
}
