package shares

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
)

// fields are those of a form, and what is wrong with the first that cannot be sent.
type fields struct {
	op   string
	form api.Form
	err  error
}

func newFields(op string) *fields { return &fields{op: op, form: api.Form{}} }

// null is what clears a field. No text may be it by accident.
const null = "null"

func (f *fields) refuse(field, rule, got string) {
	if f.err == nil {
		f.err = &api.InputError{Op: f.op, Field: field, Rule: rule, Got: got}
	}
}

func (f *fields) set(field, value string) { f.form[field] = []string{value} }

// changed returns what is wrong with the form of an update.
func (f *fields) changed() error {
	if len(f.form) == 0 {
		f.refuse("fields", "must not all be left out", "")
	}
	return f.err
}

// optional sends what an update does with a field.
func optional[T any](f *fields, field string, o api.Opt[T], set func(field string, value T)) {
	if o.IsNull() {
		f.set(field, null)
	} else if value, ok := o.Get(); ok {
		set(field, value)
	}
}

// given sends a field unless it is zero.
func given[T comparable](field string, value T, set func(field string, value T)) {
	if value != *new(T) {
		set(field, value)
	}
}

// word sends one of a set of words. "" leaves the field out.
func word[T ~string](f *fields, field string, value T) {
	switch text := string(value); {
	case text == "":
	case strings.TrimSpace(text) == "" || strings.EqualFold(text, null):
		f.refuse(field, "must not be blank or null", strconv.Quote(text))
	default:
		f.set(field, text)
	}
}

// flag sends a boolean unless it is nil.
func (f *fields) flag(field string, value *bool) {
	if value != nil {
		f.set(field, strconv.FormatBool(*value))
	}
}

// text returns what sends a text of so many characters, none of them a control
// character. The server would take an empty one, or the word null, for a field to be
// cleared.
func (f *fields) text(least, most int) func(field, value string) {
	return func(field, value string) {
		n := utf8.RuneCountInString(value)
		rule := "must be " + strconv.Itoa(least) + " to " + strconv.Itoa(most) + " characters"
		switch {
		case !utf8.ValidString(value):
			f.refuse(field, "must be UTF-8", "")
		case strings.EqualFold(strings.TrimSpace(value), null):
			f.refuse(field, "must not be the word that clears it", strconv.Quote(value))
		case utf8.RuneCountInString(strings.TrimSpace(value)) < least || n > most:
			f.refuse(field, rule, strconv.Itoa(n))
		case strings.ContainsFunc(value, unicode.IsControl):
			f.refuse(field, "must not hold control characters", "")
		}
		f.set(field, value)
	}
}

// name sends a custom name.
func (f *fields) name(field, value string) {
	f.text(minName, maxName)(field, value)
	if strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		f.refuse(field, "must hold letters and digits alone", strconv.Quote(value))
	}
}

// message sends a text that may have lines.
func (f *fields) message(field, value string) {
	f.text(minMessage, maxMessage)(field, strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(value))
	f.set(field, value)
}

// password sends the password of a link. No error tells anything of it.
func (f *fields) password(field string, value api.Secret) {
	n := utf8.RuneCountInString(string(value))
	switch {
	case !utf8.ValidString(string(value)):
		f.refuse(field, "must be UTF-8", "")
	case n < minPassword || n > maxPassword:
		f.refuse(field, "must be 4 to 128 characters", "")
	case strings.EqualFold(strings.TrimSpace(string(value)), null):
		f.refuse(field, "must not be the word that clears it", "")
	}
	f.set(field, string(value))
}

// json sends a JSON value as text.
func (f *fields) json(field string, value json.RawMessage) {
	v := jsontext.Value(value)
	if v.Kind() == 'n' || !v.IsValid() {
		f.refuse(field, "must be JSON, and not null", "")
	}
	f.set(field, string(value))
}

// image sends the number of a background.
func (f *fields) image(field string, value int) {
	if value < 0 || value > maxImage {
		f.refuse(field, "must be 0 to 128", strconv.Itoa(value))
	}
	f.set(field, strconv.Itoa(value))
}

// moment returns what sends a time by the second. The endpoints want it with and
// without the zone, which is always UTC.
func (f *fields) moment(layout string) func(field string, value time.Time) {
	return func(field string, value time.Time) {
		utc := value.UTC()
		if value.IsZero() || utc.Year() < 0 || utc.Year() > 9999 {
			f.refuse(field, "must be a time with a year of four digits", "")
		}
		f.set(field, utc.Format(layout))
	}
}

const (
	layoutBare = "2006-01-02 15:04:05"     // of shares
	layoutZone = "2006-01-02 15:04:05 UTC" // of members and invitations
)

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
