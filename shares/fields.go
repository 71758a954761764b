package shares

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/form"
)

// fields are those of a share, a member or an invitation.
type fields struct{ form.Fields }

func newFields(op string) *fields { return &fields{form.New(op)} }

// null is what clears a field. No text may be it by accident.
const null = "null"

// optional sends what an update does with a field.
func optional[T any](f *fields, field string, o api.Opt[T], set func(field string, value T)) {
	form.Optional(&f.Fields, field, null, o, set)
}

// word sends one of a set of words. "" leaves the field out.
func word[T ~string](f *fields, field string, value T) {
	switch text := string(value); {
	case text == "":
	case strings.TrimSpace(text) == "" || strings.EqualFold(text, null):
		f.Refuse(field, "must not be blank or null", strconv.Quote(text))
	default:
		f.Set(field, text)
	}
}

// text returns what sends a text of so many characters, whether blanks at its ends
// count or not. The server would take an empty one, or the word null, for a field to be
// cleared.
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

// message sends a text that may have lines.
func (f *fields) message(field, value string) {
	f.text(minMessage, maxMessage)(field, strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(value))
	f.Set(field, value)
}

// password sends the password of a link. No error tells anything of it.
func (f *fields) password(field string, value api.Secret) {
	if strings.EqualFold(strings.TrimSpace(string(value)), null) {
		f.Refuse(field, "must not be the word that clears it", "")
	}
	f.Text(minPassword, maxPassword)(field, string(value))
}

// json sends a JSON value as text.
func (f *fields) json(field string, value json.RawMessage) {
	v := jsontext.Value(value)
	if v.Kind() == 'n' || !v.IsValid() {
		f.Refuse(field, "must be JSON, and not null", "")
	}
	f.Set(field, string(value))
}

// image sends the number of a background.
func (f *fields) image(field string, value int) {
	if value < 0 || value > maxImage {
		f.Refuse(field, "must be 0 to 128", strconv.Itoa(value))
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
	maxImage                       = 128
	minMessage, maxMessage         = 10, 255
)
