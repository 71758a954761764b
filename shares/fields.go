package shares

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/form"
)

type fields struct{ form.Fields }

func newFields(op string) *fields { return &fields{form.New(op)} }

// null clears a field. It is rejected as the text of one.
const null = "null"

// optional sends the change that an update makes to a field.
func optional[T any](f *fields, field string, o api.Opt[T], set func(field string, value T)) {
	form.Optional(&f.Fields, field, null, o, set)
}

// word sends one of a set of values. "" leaves the field out.
func word[T ~string](f *fields, field string, value T) {
	switch text := string(value); {
	case text == "":
	case strings.TrimSpace(text) == "" || strings.EqualFold(text, null):
		f.Refuse(field, "must not be blank or null", strconv.Quote(text))
	default:
		f.Set(field, text)
	}
}

// text returns a function that sends a text of least to most characters, with
// and without the blanks at its ends. The server would take an empty text, or
// the word null, as clearing the field.
func (f *fields) text(least, most int) func(field, value string) {
	line := f.Line(least, most)
	return func(field, value string) {
		trimmed := strings.TrimSpace(value)
		if strings.EqualFold(trimmed, null) {
			f.Refuse(field, "must not be the word that clears it", strconv.Quote(value))
		}
		line(field, trimmed)
		line(field, value)
	}
}

// name sends a custom name.
func (f *fields) name(field, value string) {
	f.text(minName, maxName)(field, value)
	if strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		f.Refuse(field, "must hold letters and digits alone", strconv.Quote(value))
	}
}

// future sends a time that must not have passed by the local clock.
func (f *fields) future(field string, value time.Time) {
	if !value.After(time.Now()) {
		f.Refuse(field, "must be in the future", value.UTC().Format(form.Zone))
	}
	f.Time(form.Zone)(field, value)
}

// message sends a text that may have several lines. Its length is left to the
// server: the documents print no limit.
func (f *fields) message(field, value string) {
	f.text(0, math.MaxInt)(field, strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(value))
	f.Set(field, value)
}

// password sends the password of a link. No error holds any of it.
func (f *fields) password(field string, value api.Secret) {
	if strings.EqualFold(strings.TrimSpace(value.Reveal()), null) {
		f.Refuse(field, "must not be the word that clears it", "")
	}
	f.Text(minPassword, maxPassword)(field, value.Reveal())
}

// image sends the number of a background image. Its range is left to the server:
// the documents do not print it.
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
