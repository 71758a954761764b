package wire

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Refusal is the error of a handler, sent as a failed response.
type Refusal struct { //nolint:errname // the word for it everywhere here
	Status int
	Code   int64
	Text   string
	Params any           // []object on validation, object on reasoned refusals, nil
	Retry  time.Duration // until the refusing window has room
	Header http.Header   // more headers of the answer

	Reply *Reply // goes out instead of the envelope

	Rule   string // that refused, for the record of requests; "" means what [Refusal.RuleName] finds
	Detail string // of the record of requests; "" means Text and the parameters
}

func (r *Refusal) Error() string { return "emulator: " + r.Text }

// RefusalOf returns the Refusal that an error is or wraps. For another error, which is a
// fault of the emulator, it returns one with status 500.
func RefusalOf(err error) *Refusal {
	if r, found := errors.AsType[*Refusal](err); found {
		return r
	}
	return Refuse(http.StatusInternalServerError, codeInternal, err.Error())
}

// Refuse returns a refusal with a status, a code and a text.
func Refuse(status int, code int64, text string) *Refusal {
	return &Refusal{Status: status, Code: code, Text: text}
}

// RefuseWithReason returns a refusal with a machine-readable reason, and more members,
// in its parameters.
func RefuseWithReason(status int, code int64, reason, text string, more ...Member) *Refusal {
	r := Refuse(status, code, text)
	r.Params = append(Object{{"reason", reason}}, more...)
	return r
}

// BadCredential returns the error of a caller whose credential is missing or invalid.
func BadCredential() error {
	return Refuse(http.StatusUnauthorized, CodeCredential, "Your credentials were not supplied or invalid.")
}

// Denied returns the error of a caller without permission.
func Denied(text string) error {
	return Refuse(http.StatusUnauthorized, codeDenied, "Access Denied: "+text)
}

// NoSuch returns the error of a path to an unknown object.
func NoSuch(code int64, what string) error {
	return Refuse(http.StatusNotFound, code, "There is no such "+what+".")
}

// NotMember returns the error of a caller who is not a member of a profile.
func NotMember() error {
	return Refuse(http.StatusUnauthorized, CodeEntity, "You are not a member of this profile.")
}

// NoProfile returns the error of a path to an unknown profile.
func NoProfile() error {
	return Refuse(http.StatusNotFound, CodeNotFound, "There is no such profile.")
}

// UnknownRoute returns the error of an unknown path or method.
func UnknownRoute() error {
	return Refuse(http.StatusNotFound, codeRoute, "There is no such endpoint.")
}

// Codes of all areas. In this package and the others, codes from 199001 to 199999 are
// invented, because that of the refusal is not known; the others are in a document or
// were measured. The labels 16xx and 17xx of the documents' table of errors are classes
// of refusals, and no codes.
const (
	codeRoute      = 9992
	CodeMalformed  = 10001
	CodeMethod     = 10003
	CodeCredential = 10011
	CodeInvalid    = 10022
	codeType       = 10023
	CodeThrottled  = 10368
	CodeEntity     = 10545 // 401: not a member; 403: outside the credential
	CodeScope      = 10754
	CodeScopeAdmin = 10767
	codeScopeWrite = 10770

	codeInternal = 199001
	CodeNotFound = 199002
	CodeGeo      = 199005
	CodePolicy   = 199007
	codeMissing  = 199008
	codeNoForm   = 199101
	codeDenied   = 199311
	codeNotJSON  = 199313
)

// Check collects the failed parameters of a call for one response.
type Check struct {
	Failed       []Object
	code         int64
	LevelsStatus int // status when two detail levels are the only failure
	Status       int // of the refusal, 0 is 406
}

// Add records a failed parameter. The code of the first one is that of the refusal.
func (k *Check) Add(name, kind, message string, code int64, more ...Member) {
	k.code = cmp.Or(k.code, code)
	k.Failed = append(k.Failed, append(Object{
		{"name", name},
		{"kind", kind},
		{"message", message},
		{"code", code},
	}, more...))
}

// Missing records a missing parameter.
func (k *Check) Missing(name, message string) { k.Add(name, "missing", message, codeMissing) }

// Invalid records an invalid value.
func (k *Check) Invalid(name, message string) { k.Add(name, "invalid", message, CodeInvalid) }

// Mistyped records a value of the wrong type.
func (k *Check) Mistyped(name, expected string) {
	k.Add(name, "type_mismatch", "The value cannot be read.", codeType, Member{"expected_type", expected})
}

// MissingIf records a missing parameter if the condition holds.
func (k *Check) MissingIf(condition bool, name, message string) {
	if condition {
		k.Missing(name, message)
	}
}

// InvalidIf records an invalid value if the condition holds.
func (k *Check) InvalidIf(condition bool, name, message string) {
	if condition {
		k.Invalid(name, message)
	}
}

// MistypedIf records a value of the wrong type if the condition holds.
func (k *Check) MistypedIf(condition bool, name, expected string) {
	if condition {
		k.Mistyped(name, expected)
	}
}

// Err returns the error of the failed parameters, nil if there are none. Its status is
// Status, by default 406. LevelsStatus, if set, replaces it when the level of detail (the
// parameter output) is the only one that failed.
func (k *Check) Err() error {
	if len(k.Failed) == 0 {
		return nil
	}
	status := cmp.Or(k.Status, http.StatusNotAcceptable)
	first, _ := k.Failed[0].Get("name")
	isOnlyLevel := len(k.Failed) == 1 && first == "output"
	if isOnlyLevel {
		status = cmp.Or(k.LevelsStatus, status)
	}
	refusal := Refuse(status, k.code, "One or more parameters are not acceptable.")
	refusal.Params = k.Failed
	return refusal
}

// Integer returns an integer parameter from least to most, and fallback if it is
// missing or not valid.
func (c *Call) Integer(name string, fallback, least, most int) int {
	value := c.Value(name)
	if value == "" {
		return fallback
	}
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		c.Check.Mistyped(name, "integer")
	case n < least || n > most:
		c.Check.Invalid(name, "Between "+strconv.Itoa(least)+" and "+strconv.Itoa(most)+".")
	default:
		return n
	}
	return fallback
}

// Page is the requested part of a list.
type Page struct{ Limit, Offset int }

// Page returns the parameters limit and offset. The fallback is the default limit,
// most the greatest one.
func (c *Call) Page(fallback, most int) Page {
	return Page{c.Integer("limit", fallback, 1, most), c.Integer("offset", 0, 0, math.MaxInt32)}
}

// Pagination renders the pagination of a list with total rows.
func (p Page) Pagination(total int) Object {
	return Object{{"total", total}, {"limit", p.Limit}, {"offset", p.Offset}, {"has_more", p.Limit < total-p.Offset}}
}

// PageOf returns the rows of a page.
func PageOf[T any](rows []T, p Page) []T {
	first := min(p.Offset, len(rows))
	return rows[first:min(first+p.Limit, len(rows))]
}

// Rows renders each element of a list. An empty list is [], not null.
func Rows[T any](list []T, render func(T) Object) []Object {
	rows := make([]Object, 0, len(list))
	for _, it := range list {
		rows = append(rows, render(it))
	}
	return rows
}

// Filter returns the elements for which a condition holds.
func Filter[T any](list []T, holds func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(it T) bool { return !holds(it) })
}

// ReadAtLeast returns the integer in value, the text of the parameter name. An integer below
// least, or a text that is not an integer, is an error of the parameter.
func (c *Call) ReadAtLeast(name, value string, least int) int {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		c.Check.Mistyped(name, "integer")
	case n < least:
		c.Check.Invalid(name, strconv.Itoa(least)+" or more.")
	}
	return n
}

// Moment reads a time in any accepted layout; without a zone it is UTC.
func (c *Call) Moment(name string) time.Time { return c.ReadMoment(name, c.Value(name)) }

// ReadMoment reads a time in any layout that the platform accepts; without a zone it is
// UTC. It returns the zero time for "", and for an invalid value, which is an error of the
// parameter.
func (c *Call) ReadMoment(name, value string) time.Time {
	if value == "" {
		return time.Time{}
	}
	layouts := [...]string{
		time.DateTime, "2006-01-02 15:04:05 UTC", time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700",
		time.DateOnly,
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, value); err == nil {
			return t.UTC()
		}
	}
	c.Check.Invalid(name, "Not a date and time.")
	return time.Time{}
}

// DateTime reads a query parameter as [Call.ReadDateTime] does.
func (c *Call) DateTime(name string) time.Time { return c.ReadDateTime(name, c.Value(name)) }

// ReadDateTime returns the time in value, the text of the parameter name: a UTC time
// "2006-01-02 15:04:05", with or without " UTC". ISO 8601 is an error of the parameter, as
// some endpoints do not take it. "" is the zero time.
func (c *Call) ReadDateTime(name, value string) time.Time {
	if value == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.DateTime, strings.TrimSuffix(value, " UTC"))
	c.Check.InvalidIf(err != nil, name, "YYYY-MM-DD HH:MM:SS UTC.")
	return t
}

// Rows of a page of profiles.
const (
	ListLimit   = 500
	ListDefault = 100
)

// Text reports whether a required text is valid: it must have least to most characters and
// no control characters. If not, Text records the parameter as missing or invalid.
func (k *Check) Text(name, value string, least, most int) bool {
	switch n := utf8.RuneCountInString(value); {
	case value == "":
		k.Missing(name, "Must be given.")
	case n < least || n > most:
		k.Invalid(name, strconv.Itoa(least)+" to "+strconv.Itoa(most)+" characters.")
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		k.Invalid(name, "No control characters.")
	default:
		return true
	}
	return false
}

// Boolean returns a flag of the query, false without it.
func (c *Call) Boolean(name string) bool {
	switch c.Value(name) {
	case "true", "1":
		return true
	case "", "false", "0":
	default:
		c.Check.Mistyped(name, "boolean")
	}
	return false
}

// ReadBoolean returns the value of a boolean form field: true for true, 1, yes and on. A
// text other than a boolean counts as false and is an error of the field.
func (k *Check) ReadBoolean(name, text string) bool {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on":
		return true
	case "false", "0", "no", "off":
		return false
	}
	k.Mistyped(name, "boolean")
	return false
}

// InWords splits a text into lower-case words.
func InWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// LabelLimit is the greatest length of a user-defined name, in characters.
const LabelLimit = 128

// IsEmail reports whether a text is an e-mail address and nothing else.
func IsEmail(text string) bool {
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text
}
