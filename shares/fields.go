package shares

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
)

// fields is the form of a call. A setter that finds its value invalid records the error,
// which Err or UpdateErr returns, and sets the field all the same.
type fields struct{ form.Fields }

func newFields(args input.Args) *fields { return &fields{form.New(args)} }

// optional leaves a field of an update out, clears it, or sets it.
func optional[T any](f *fields, field string, o api.Opt[T], set func(field string, value T)) {
	form.Optional(&f.Fields, field, form.Null, o, set)
}

// word sets a field to one of a set of values. "" leaves the field out.
func word[T ~string](f *fields, field string, value T) { form.Word(&f.Fields, field, value) }

// text returns a setter for a text of least to most characters, counted with and without
// leading and trailing blanks, since no document says which of the two the server counts.
// The word null is refused, because the server would clear the field.
func (f *fields) text(least, most int) func(field, value string) {
	line := f.Line(least, most)
	return func(field, value string) {
		f.NotNull(field, value)
		line(field, strings.TrimSpace(value)) // only for its check: the next line replaces the value
		line(field, value)
	}
}

// name checks a custom name and sets the field.
func (f *fields) name(field, value string) {
	f.text(minName, maxName)(field, value)
	if strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		f.Refuse(field, "must hold only letters and digits", strconv.Quote(value))
	}
}

// password checks the password of a link and sets the field. Errors, those of
// Text too, do not contain it.
func (f *fields) password(field string, value api.Secret) {
	if strings.EqualFold(strings.TrimSpace(value.Reveal()), form.Null) {
		f.Refuse(field, "must not be the reserved word null", "")
	}
	f.Text(minPassword, maxPassword)(field, value.Reveal())
}

// image sets the number of a background image. The server checks its range,
// which is not documented.
func (f *fields) image(field string, value int) {
	if value < 0 {
		f.Refuse(field, "must not be negative", strconv.Itoa(value))
	}
	f.Set(field, strconv.Itoa(value))
}

// The limits of a share.
const (
	minTitle, maxTitle             = 2, 80
	minDescription, maxDescription = 10, 500
	minName, maxName               = 4, 80
	minURL, maxURL                 = 10, 100
	minPassword, maxPassword       = 4, 128
	minFolder, maxFolder           = 1, 255
)
