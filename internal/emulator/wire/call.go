// Package wire has the requests that handlers get, the checks of their input,
// and the responses and refusals that handlers return.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/blob"
)

// Call is a request.
type Call struct {
	Route   *Route
	Request *http.Request // below the prefix, with path values
	Query   url.Values
	Body    []byte     // at most what the route takes
	Content *blob.Blob // the body for a route that is Kept, nil if it broke off
	Form    url.Values // the fields of a body that is a form
	JSON    Members    // of a body that is JSON
	Key     *Credential
	Stream  *seed.StreamStyle // of the stream of a turn, nil is that of the options
	Out     Output
	Check   Check
	Now     time.Time

	Status  int      // of a success, 0 is 200
	Reply   *Reply   // goes out instead of the envelope
	Refused *Refusal // what was sent, nil if the call was not refused
}

// Value returns the last value of a query parameter, as the platform does.
func (c *Call) Value(name string) string {
	values := c.Query[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// Segment returns the value of a path parameter, "" if its segment of the path is empty.
func (c *Call) Segment(name string) string {
	if v := c.Request.PathValue(name); v != emptySegment {
		return v
	}
	return ""
}

// Segments returns the comma-separated values of a path parameter. It splits the path before
// it unescapes the values, because an escaped comma belongs to a value.
func (c *Call) Segments(name string) []string {
	at := slices.Index(strings.Split(c.Route.Pattern, "/"), "{"+name+"}")
	list := strings.Split(strings.Split(c.Request.URL.EscapedPath(), "/")[at], ",")
	for i, escaped := range list {
		value, err := url.PathUnescape(escaped)
		if err != nil || value == emptySegment {
			value = ""
		}
		list[i] = value
	}
	return list
}

// Resource returns the name of the endpoint in errors, such as "GET Org [param] Events
// Changes". The documents show few such names. It is assumed that all segments are written
// as in these, and that the name of an unknown path is made of its segments, too.
func (c *Call) Resource() string {
	path := c.Request.URL.Path
	if c.Route != nil {
		path = c.Route.Pattern
	}
	words := strings.FieldsFunc(strings.TrimPrefix(path, "/current"), isSlash)
	for i, segment := range words {
		if strings.HasPrefix(segment, "{") {
			segment = "[param]"
		}
		first, size := utf8.DecodeRuneInString(segment)
		words[i] = string(unicode.ToUpper(first)) + segment[size:]
	}
	return c.Request.Method + " " + strings.Join(words, " ")
}

// isSlash reports whether a rune ends a segment of a path.
func isSlash(r rune) bool { return r == '/' || string(r) == emptySegment }

// emptySegment stands for an empty segment of a path, which the mux would remove.
const emptySegment = "\x00"

// UserID returns the id of the calling user, "" without a credential.
func (c *Call) UserID() string {
	if c.Key == nil {
		return ""
	}
	return c.Key.User
}

// ProfileSegment returns the id of a profile in the path.
func (c *Call) ProfileSegment(name string) string {
	id := c.Segment(name)
	switch {
	case id == "":
		c.Check.Missing(name, "Name a profile.")
	case !IsProfile(id):
		c.Check.Mistyped(name, "profile_id")
	}
	return id
}

// OpaqueSegment reads the id of an object from the path, in its plain form.
func (c *Call) OpaqueSegment(name string) string {
	id := Plain(c.Segment(name))
	c.Check.MistypedIf(!IsOpaque(id), name, "opaque_id")
	return id
}

// RequiredSegment reads the id of an object from the path, as OpaqueSegment does. If the id
// is empty, the call is refused with the text of ifEmpty.
func (c *Call) RequiredSegment(name, ifEmpty string) string {
	if Plain(c.Segment(name)) == "" {
		c.Check.Missing(name, ifEmpty)
		return ""
	}
	return c.OpaqueSegment(name)
}

// Bearer returns the token of an Authorization header, "" if there is none or the header
// has another scheme.
func Bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

// ReadForm reads a body that must be a form, empty or not.
func (c *Call) ReadForm() error {
	var err error
	if MediaType(c.Request.Header) == FormType {
		c.Form, err = url.ParseQuery(string(c.Body))
		if err == nil {
			return nil
		}
	}
	return Refuse(http.StatusNotAcceptable, codeNoForm, "The body must be a form, be it empty.")
}

// readBlankForm reads the form of a call that needs no fields. The vendor's client sends
// {} as JSON instead.
func (c *Call) readBlankForm() error {
	if MediaType(c.Request.Header) == JSONType && string(bytes.TrimSpace(c.Body)) == "{}" {
		c.Form = url.Values{}
		return nil
	}
	return c.ReadForm()
}

// readOptionalForm reads a form as readBlankForm does. A call without a body is accepted.
func (c *Call) readOptionalForm() error {
	err := c.readBlankForm()
	if len(c.Body) > 0 {
		return err
	}
	return nil
}

// readMembers reads the JSON body into c.JSON.
func (c *Call) readMembers() (err error) {
	c.JSON, err = c.ReadJSON()
	return err
}

// CheckWrite returns a refusal if the credential is read-only, or a parameter is not
// valid.
func (c *Call) CheckWrite() error {
	if err := c.Key.RefuseReadOnly(); err != nil {
		return err
	}
	return c.Check.Err()
}

// Field returns the last value of a form field, as the platform does, and false if the
// form does not have it.
func (c *Call) Field(name string) (value string, given bool) {
	values := c.Form[name]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// Channel returns the channel in the path, which must be a known one.
func (c *Call) Channel(known ...string) string {
	name := c.Segment("channel")
	c.Check.InvalidIf(!slices.Contains(known, name), "channel", "One of "+strings.Join(known, ", ")+".")
	return name
}

// OneTimeCode returns the one-time code in the path.
func (c *Call) OneTimeCode() string {
	code := c.Segment("token")
	c.Check.MissingIf(code == "", "token", "Send the one-time code.")
	return code
}

// RFCError returns a refusal in the form of the OAuth RFCs, without an envelope.
func RFCError(status int, code, description string) *Refusal {
	return &Refusal{
		Status: status, Text: code + ": " + description,
		Reply: PlainJSON(status, Object{{"error", code}, {"error_description", description}}),
	}
}

// PageArea is the area of the HTML pages, which are not part of the API.
const PageArea = "connect"

// Issuer returns the scheme and host to which a request was sent, such as
// "https://api.fast.test". Headers of proxies are ignored.
func Issuer(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Media types of bodies.
const (
	FormType = "application/x-www-form-urlencoded"
	JSONType = "application/json"
)

// MediaType returns the media type of a body, without its parameters; "" if missing or malformed.
func MediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// PlainJSON returns a response without the envelope.
func PlainJSON(status int, body Object) *Reply {
	return NewReply(status, JSONType, Encode(body))
}

// Past reports whether a moment has been reached.
func Past(moment, now time.Time) bool { return !now.Before(moment) }

// Seconds returns the seconds from now until a moment.
func Seconds(moment, now time.Time) int64 { return int64(moment.Sub(now) / time.Second) }

// RefuseUndeclared returns a refusal of query parameters and body fields that the route
// does not declare. The platform ignores them, so that a misspelled name has no effect;
// the emulator does so by the option DropUndeclared.
func (c *Call) RefuseUndeclared() error {
	known := append(strings.Fields(c.Route.query), "output") // which every route has
	for _, p := range c.Route.Params {
		if p.Source == "query" {
			known = append(known, p.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Query)) {
		c.Check.InvalidIf(!slices.Contains(known, name), name,
			"Undeclared: "+c.Route.Op+" has no query parameter of this name.")
	}
	known = strings.Fields(c.Route.fields)
	for _, name := range c.fieldNames() {
		c.Check.InvalidIf(!slices.Contains(known, name), name, "Undeclared: "+c.Route.Op+" has no body field of this name.")
	}
	if len(c.Check.Failed) == 0 {
		return nil
	}
	r := RefusalOf(c.Check.Err())
	r.Rule = RuleUndeclared
	return r
}

// fieldNames returns the field names of a body: of a form, a multipart body or
// the root of a JSON object. It returns none for a body that cannot be read;
// its handler rejects that.
func (c *Call) fieldNames() []string {
	kind, params, _ := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	switch kind {
	case FormType:
		form, _ := url.ParseQuery(string(c.Body))
		return slices.Sorted(maps.Keys(form))
	case "multipart/form-data":
		var names []string
		parts := multipart.NewReader(bytes.NewReader(c.Body), params["boundary"])
		for {
			p, err := parts.NextPart()
			if err != nil { // the end, or a part that cannot be read
				return names
			}
			names = append(names, p.FormName())
		}
	case JSONType, "": // JSON is the default
		var object map[string]json.RawMessage
		if json.Unmarshal(c.Body, &object) == nil {
			return slices.Sorted(maps.Keys(object))
		}
	}
	return nil
}

// Members are the members of a JSON body. Numbers are json.Number.
type Members map[string]any

// ReadJSON reads the body of a call, a JSON object. A body of another type, such as a
// form, is rejected.
func (c *Call) ReadJSON() (Members, error) {
	if c.Request.Header.Get("Content-Type") != "" && MediaType(c.Request.Header) != JSONType {
		return nil, notJSON("The body must be JSON.")
	}
	var f Members
	if err := Decode(c.Body, &f); err != nil || f == nil {
		return nil, notJSON("The body is not a JSON object.")
	}
	return f, nil
}

// Decode reads one JSON value and keeps numbers as json.Number. It returns an error if
// more follows.
func Decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// notJSON returns the refusal of a body that is not JSON.
func notJSON(text string) error {
	return Refuse(http.StatusNotAcceptable, codeNotJSON, text)
}

// Has reports whether a member is present and not null.
func (m Members) Has(name string) bool { return m[name] != nil }

// Text reads a string member, "" when it is absent or null.
func (m Members) Text(c *Call, name string) string {
	text, isText := m[name].(string)
	c.Check.MistypedIf(m.Has(name) && !isText, name, "string")
	return text
}

// Opaque reads the id of an object in its plain form.
func (m Members) Opaque(c *Call, name string) string {
	id := Plain(m.Text(c, name))
	c.Check.MistypedIf(id != "" && !IsOpaque(id), name, "opaque_id")
	return id
}

// Texts returns a member that is a list of 1 to most strings. Anything else is an error of
// the call.
func (m Members) Texts(c *Call, name string, most int) []string {
	list, isList := m[name].([]any)
	if !isList {
		c.Check.Mistyped(name, "array")
		return nil
	}
	texts := make([]string, 0, len(list))
	for _, v := range list {
		text, isText := v.(string)
		if !isText {
			c.Check.Mistyped(name, "array of string")
			return nil
		}
		texts = append(texts, text)
	}
	c.Check.InvalidIf(len(texts) == 0 || len(texts) > most, name, "1 to "+strconv.Itoa(most)+".")
	return texts
}

// Object returns a member that is an object, nil without one. An empty list is an empty
// object, as on the platform. Anything else is an error of the call.
func (m Members) Object(c *Call, name string) map[string]any {
	switch v := m[name].(type) {
	case nil:
		return nil
	case map[string]any:
		return v
	case []any:
		if len(v) == 0 {
			return map[string]any{}
		}
	}
	c.Check.Mistyped(name, "object")
	return nil
}

// Null is the text that clears a field.
const Null = "null"

// Cleared reports whether a value clears a field.
func Cleared(value string) bool { return value == "" || value == Null }

// Parsed returns a JSON text as a value that is encoded as it is, nil for "".
func Parsed(text seed.JSON) any {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
