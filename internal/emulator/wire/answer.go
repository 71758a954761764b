package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Object is the payload of a response. Its members keep their order. Values are nil, string, bool, int, int64, ProfileID, Object,
// []Object, []any, []string and map[string]any.
type Object []Member

// Member is a member of an object.
type Member = struct {
	Key   string
	Value any
}

// ProfileID is an id that responses may write as a number.
type ProfileID string

// Accepted responds with 202: the work continues after the response.
func (c *Call) Accepted(payload Object) (Object, error) {
	c.Status = http.StatusAccepted
	return payload, nil
}

// Send responds without an envelope.
func (c *Call) Send(r *Reply) (Object, error) {
	c.Reply = r
	return nil, nil
}

// Markdown responds with a document.
func (c *Call) Markdown(text string) (Object, error) {
	return c.Send(NewReply(http.StatusOK, MarkdownType, []byte(text)))
}

// PlainJSON responds without an envelope.
func (c *Call) PlainJSON(status int, body Object) (Object, error) {
	return c.Send(PlainJSON(status, body))
}

// Level is the output level.
type Level int

// Levels, the most detailed first.
const (
	Full Level = iota
	Standard
	Terse
)

// With adds a member if the condition holds.
func (o Object) With(condition bool, key string, value any) Object {
	if !condition {
		return o
	}
	return append(o, Member{key, value})
}

// Row builds a record without the fields above the requested level.
type Row struct {
	Level  Level
	Fields Object
}

// Put adds a field that belongs to the levels from full down to lowest.
func (r *Row) Put(lowest Level, key string, value any) {
	if r.Level <= lowest { // Full is the first level
		r.Fields = append(r.Fields, Member{key, value})
	}
}

// PutIf adds a field that belongs to the levels from full down to lowest, if the
// condition holds.
func (r *Row) PutIf(condition bool, lowest Level, key string, value any) {
	if condition {
		r.Put(lowest, key, value)
	}
}

// Output is the parsed output parameter.
type Output struct {
	Level    Level
	Markdown bool
	Twice    bool // two detail levels
}

// ParseOutput returns the parsed parameter output, a list separated by commas of a level
// of detail and "markdown". Two different levels set Twice. Unknown words have no effect.
func ParseOutput(value string) Output {
	var o Output
	named := false
	for token := range strings.SplitSeq(value, ",") {
		token = strings.TrimSpace(token)
		o.Markdown = o.Markdown || token == "markdown"
		l, isLevel := map[string]Level{"terse": Terse, "standard": Standard, "full": Full}[token]
		if isLevel {
			o.Twice = o.Twice || named && l != o.Level
			o.Level, named = l, true
		}
	}
	return o
}

// Reply is a response to be written.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
	Stream func(ctx context.Context, write func(string) bool) // a body that is written as it comes about

	Content io.Reader // a body that is too long to be held
	Length  int64     // of content

	Markdown bool // the body is JSON, and sent as Markdown
}

// NewReply returns a response with a body of a media type.
func NewReply(status int, contentType string, body []byte) *Reply {
	return &Reply{Status: status, Header: http.Header{"Content-Type": {contentType}}, Body: body}
}

// Open returns the body of a response, and its length.
func (p *Reply) Open() (io.Reader, int64) {
	if p.Content != nil {
		return p.Content, p.Length
	}
	return bytes.NewReader(p.Body), int64(len(p.Body))
}

// Encode returns the JSON of a value. An empty map is written as [].
func Encode(v any) []byte { return AppendValue(nil, v, false) }

// AppendValue appends the JSON of a value as Encode does. If numeric is true, the ids of
// profiles are numbers.
func AppendValue(b []byte, v any, numeric bool) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case ProfileID:
		if numeric && IsProfile(string(v)) {
			return append(b, v...)
		}
		return appendString(b, string(v))
	case Object:
		return appendObject(b, v, numeric)
	case []Object:
		return appendList(b, v, numeric)
	case []any:
		return appendList(b, v, numeric)
	case []string:
		return appendList(b, v, numeric)
	case map[string]any:
		return appendObject(b, FromMap(v), numeric)
	default:
		return appendForeign(b, v)
	}
}

// appendObject appends an object with its members in their order. An empty one is [], as
// the platform writes it.
func appendObject(b []byte, o Object, numeric bool) []byte {
	if len(o) == 0 {
		return append(b, "[]"...)
	}
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, m.Key)
		b = append(b, ':')
		b = AppendValue(b, m.Value, numeric)
	}
	return append(b, '}')
}

// appendList appends a list.
func appendList[T any](b []byte, list []T, numeric bool) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendValue(b, v, numeric)
	}
	return append(b, ']')
}

// appendString appends a string with quotes. It copies a string of which no character needs
// an escape; few other strings occur.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendForeign(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendForeign appends the JSON of a value of any other type, such as one that a test has
// set, and null for one that cannot be encoded.
func appendForeign(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}

// FromMap returns a map as an object, sorted by name.
func FromMap(m map[string]any) Object {
	o := make(Object, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		o = append(o, Member{key, m[key]})
	}
	return o
}

// TextOrNull turns an empty string into null.
func TextOrNull(s string) any { return orNull(s) }

// orNull returns a text, and nil for an empty one.
func orNull[T ~string](s T) any {
	if s == "" {
		return nil
	}
	return s
}

// ProfileOrNull turns an empty profile id into null.
func ProfileOrNull(id string) any { return orNull(ProfileID(id)) }

// Stamp returns the default wire form of a time.
func Stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04:05 UTC") }

// MicroStamp returns the wire form of an activity time.
func MicroStamp(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.000000 UTC")
}

// StampOrNull returns the wire form of a time, null for none.
func StampOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return Stamp(t.Unix())
}

// Kinds of profiles.
const (
	KindUser      = "user"
	KindOrg       = "org"
	KindWorkspace = "workspace"
	KindShare     = "share"
	KindFileShare = "fileshare"
)

// Get returns the value of the first member with a key, and false if there is none.
func (o Object) Get(key string) (any, bool) {
	for _, m := range o {
		if m.Key == key {
			return m.Value, true
		}
	}
	return nil, false
}
