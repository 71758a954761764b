// Package form collects the fields of a form and the first error in them.
package form

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/input"
)

// Fields are the form fields of one call.
type Fields struct {
	Form api.Form

	args input.Args
	err  error
}

// New returns the empty form of a call with the given arguments.
func New(args input.Args) Fields { return Fields{Form: api.Form{}, args: args} }

// Err returns the error of the first invalid field.
func (f *Fields) Err() error { return f.err }

// UpdateErr returns the error of the form of an update: that of the first invalid field,
// or that there is no field at all.
func (f *Fields) UpdateErr() error {
	if len(f.Form) == 0 {
		f.Refuse("", "must have a field", "")
	}
	return f.err
}

// Refuse records that a field is invalid. Only the first call counts, for Err.
func (f *Fields) Refuse(field, rule, got string) {
	if f.err == nil {
		f.err = f.args.Refuse(field, rule, got)
	}
}

// Set sets a field without a check.
func (f *Fields) Set(field, value string) { f.Form[field] = []string{value} }

// Flag sets a boolean unless it is nil.
func (f *Fields) Flag(field string, value *bool) {
	if value != nil {
		f.Set(field, strconv.FormatBool(*value))
	}
}

// Bool sets a boolean.
func (f *Fields) Bool(field string, value bool) { f.Flag(field, &value) }

// Text returns a setter for text of a limited length, in characters. Errors do
// not hold the text.
func (f *Fields) Text(least, most int) func(field, value string) {
	return func(field, value string) {
		switch n := utf8.RuneCountInString(value); {
		case !utf8.ValidString(value):
			f.Refuse(field, "must be UTF-8", "")
		case n < least || n > most:
			f.Refuse(field, "must be "+strconv.Itoa(least)+" to "+strconv.Itoa(most)+" characters", strconv.Itoa(n))
		}
		f.Set(field, value)
	}
}

// Line returns a setter for text of a limited length, in characters, without control
// characters such as line ends.
func (f *Fields) Line(least, most int) func(field, value string) {
	return func(field, value string) {
		f.Text(least, most)(field, value)
		if strings.ContainsFunc(value, unicode.IsControl) {
			f.Refuse(field, "must not hold control characters", "")
		}
	}
}

// Name returns a setter for a name: a line of a limited length, in characters, but not
// the word null.
func (f *Fields) Name(least, most int) func(field, value string) {
	return func(field, value string) {
		f.NotNull(field, value)
		f.Line(least, most)(field, value)
	}
}

// Null clears a field, so it is rejected as a text.
const Null = "null"

// NotNull refuses the word null, with which the server would clear the field.
func (f *Fields) NotNull(field, value string) {
	if strings.EqualFold(strings.TrimSpace(value), Null) {
		f.Refuse(field, "must not be the reserved word null", strconv.Quote(value))
	}
}

// Word sets a field to one of a set of values. "" leaves the field out.
func Word[T ~string](f *Fields, field string, value T) {
	switch text := string(value); {
	case text == "":
	case strings.TrimSpace(text) == "" || strings.EqualFold(text, Null):
		f.Refuse(field, "must not be blank or null", strconv.Quote(text))
	default:
		f.Set(field, text)
	}
}

// Future sets a time, which must be in the future by the local clock.
func (f *Fields) Future(field string, value time.Time) {
	if !value.After(time.Now()) {
		f.Refuse(field, "must be in the future", value.UTC().Format(Zone))
	}
	f.Time(Zone)(field, value)
}

// JSON sets a field to a JSON value. Null is rejected: the server would clear
// the field.
func (f *Fields) JSON(field string, value json.RawMessage) {
	v := jsontext.Value(value)
	if v.Kind() == 'n' || !v.IsValid() {
		f.Refuse(field, "must be JSON, and not null", "")
	}
	f.Set(field, string(value))
}

// GivenJSON checks a JSON value and sets the field, unless value is nil.
func (f *Fields) GivenJSON(field string, value json.RawMessage) {
	if value != nil {
		f.JSON(field, value)
	}
}

// Layouts of times in UTC. Endpoints differ in whether they accept a zone.
const (
	Bare = "2006-01-02 15:04:05"
	Zone = "2006-01-02 15:04:05 UTC"
)

// Time returns a setter for times, with a precision of a second.
func (f *Fields) Time(layout string) func(field string, value time.Time) {
	return func(field string, value time.Time) {
		utc := value.UTC()
		if value.IsZero() || utc.Year() < 0 || utc.Year() > 9999 {
			f.Refuse(field, "must be a time with a year of four digits", "")
		}
		f.Set(field, utc.Format(layout))
	}
}

// Given calls set for a field unless the value is zero.
func Given[T comparable](field string, value T, set func(field string, value T)) {
	if value != *new(T) {
		set(field, value)
	}
}

// Optional sets the field of an update according to o: it leaves the field out, calls set
// with the value, or for null sets it to cleared, the text with which the server clears it.
func Optional[T any](f *Fields, field, cleared string, o api.Opt[T], set func(field string, value T)) {
	if o.IsNull() {
		f.Set(field, cleared)
	} else if value, ok := o.Get(); ok {
		set(field, value)
	}
}

// Change sets a field that an update cannot clear.
func Change[T any](f *Fields, field string, o api.Opt[T], set func(field string, value T)) {
	if o.IsNull() {
		f.Refuse(field, "must not be cleared", "null")
	} else {
		const cleared = "" // not used: o is not null
		Optional(f, field, cleared, o, set)
	}
}

// Clearable sets a field that null clears.
func Clearable[T any](f *Fields, field string, o api.Opt[T], set func(field string, value T)) {
	Optional(f, field, Null, o, set)
}
