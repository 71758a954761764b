package emulator

import (
	"cmp"
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

// Values of an answer: nil, string, bool, int, int64, profileID, object, []object, []any, []string and
// map[string]any. An object keeps the order of its members, which the Markdown form shows.
type (
	object    []member
	profileID string
	member    struct {
		key   string
		value any
	}
)

// answer is what a handler says: a payload or a failure, or something that is neither.
type answer struct {
	payload object
	status  int // of a payload, 0 is 200; from 400 on it is no success
	failure *failure
	text    string // a Markdown document, no envelope
	raw     *reply // goes out as it is
}

// failure is the error member of the envelope.
type failure struct {
	status int
	code   int64
	text   string
	params any           // []object on validation, object on reasoned refusals, nil
	retry  time.Duration // until the refusing window has room
	allow  string        // methods, on 405
}

func ok(payload ...member) answer { return answer{payload: payload} }

// accepted is a success that goes on after the answer.
func accepted(payload ...member) answer {
	return answer{payload: payload, status: http.StatusAccepted}
}

func refuse(status int, code int64, text string) answer {
	return answer{failure: &failure{status: status, code: code, text: text}}
}

// because is a refusal that carries a reason to branch on.
func because(status int, code int64, reason, text string, more ...member) answer {
	a := refuse(status, code, text)
	a.failure.params = append(object{{"reason", reason}}, more...)
	return a
}

// level is how much of a record the caller wants.
type level int

const (
	full level = iota
	standard
	terse
)

// row builds a record and leaves out what lies above the level asked for.
type row struct {
	level  level
	fields object
}

// put adds a field that belongs to the levels from full down to lowest.
func (r *row) put(lowest level, key string, value any) {
	if r.level <= lowest {
		r.fields = append(r.fields, member{key, value})
	}
}

// output is the parsed output parameter.
type output struct {
	level    level
	markdown bool
	twice    bool // two detail levels
}

func parseOutput(value string) output {
	var o output
	named := false
	for token := range strings.SplitSeq(value, ",") {
		var l level
		switch strings.TrimSpace(token) {
		case "terse":
			l = terse
		case "standard":
			l = standard
		case "full":
			l = full
		case "markdown":
			o.markdown = true
			continue
		default:
			continue
		}
		o.twice = o.twice || named && l != o.level
		o.level, named = l, true
	}
	return o
}

// reply is an answer on its way out.
type reply struct {
	status int
	header http.Header
	body   []byte
	stream func(ctx context.Context, write func(string) bool) // a body that is written as it comes about

	content io.Reader // a body that is too long to be held
	length  int64     // of content
}

// render wraps an answer in the envelope, as JSON or as Markdown.
func (s *Server) render(a answer, c *call) reply {
	if a.raw != nil {
		return *a.raw
	}
	r := reply{status: cmp.Or(a.status, http.StatusOK), header: http.Header{}}
	if a.failure != nil {
		r.status = a.failure.status
		s.refusalHeaders(a.failure, r.header)
	}
	switch {
	case a.text != "":
		r.header.Set("Content-Type", markdownType)
		r.body = []byte(a.text)
	case c.out.markdown:
		r.header.Set("Content-Type", markdownType)
		r.body = markdown(a, s.resource(c))
	default:
		r.header.Set("Content-Type", "application/json")
		r.body = appendValue(nil, s.envelope(a, c), s.o.NumericIDs)
	}
	return r
}

const (
	apiVersion = "1.0"
	serverDate = "server_date"
)

func (s *Server) envelope(a answer, c *call) object {
	success := a.failure == nil && a.status < http.StatusBadRequest
	var result any = success
	if s.o.Wrapped {
		result = map[bool]string{true: "yes", false: "no"}[success]
	}
	books := object{{"current_api_version", apiVersion}}
	if _, found := a.payload.get(serverDate); s.o.ServerDate && !found {
		// Just before the call: whoever polls from there on misses nothing that the call did not show.
		books = append(books, member{serverDate, microStamp(c.now.UnixMicro() - 1)})
	}
	switch {
	case a.failure != nil:
		return append(object{{"result", result}, {"error", errorObject(a.failure, s.resource(c))}}, books...)
	case s.o.Wrapped:
		return append(object{{"result", result}, {"response", a.payload}}, books...)
	default:
		status := object{{"status", "ok"}}
		if _, found := a.payload.get("status"); found || !success {
			status = nil
		}
		return slices.Concat(object{{"result", result}}, status, books, a.payload)
	}
}

func errorObject(f *failure, resource string) object {
	o := object{
		{"code", f.code},
		{"text", f.text},
		{"documentation_url", nil},
		{"resource", resource},
	}
	if f.params != nil {
		o = append(o, member{"params", f.params})
	}
	return o
}

func (s *Server) resource(c *call) string { return c.r.Method + " " + c.r.URL.Path }

func (s *Server) refusalHeaders(f *failure, h http.Header) {
	if f.allow != "" {
		h.Set("Allow", f.allow)
	}
	if f.status != http.StatusTooManyRequests || f.retry <= 0 {
		return
	}
	seconds := int64((f.retry + time.Second - 1) / time.Second)
	if s.o.Limits.RetryAfter {
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if s.o.Limits.BodyRetryAfter {
		f.params = object{{"retry_after_seconds", seconds}}
	}
}

// appendValue writes a value as the platform's encoder does: a map without members is an empty array.
func appendValue(b []byte, v any, numeric bool) []byte {
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
	case profileID:
		if numeric && isProfile(string(v)) {
			return append(b, v...)
		}
		return appendString(b, string(v))
	case object:
		return appendObject(b, v, numeric)
	case []object:
		return appendList(b, v, numeric)
	case []any:
		return appendList(b, v, numeric)
	case []string:
		return appendList(b, v, numeric)
	case map[string]any:
		return appendObject(b, fromMap(v), numeric)
	default:
		return appendForeign(b, v)
	}
}

func appendObject(b []byte, o object, numeric bool) []byte {
	if len(o) == 0 {
		return append(b, "[]"...)
	}
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, m.key)
		b = append(b, ':')
		b = appendValue(b, m.value, numeric)
	}
	return append(b, '}')
}

func appendList[T any](b []byte, list []T, numeric bool) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, v, numeric)
	}
	return append(b, ']')
}

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

// appendForeign is for what a caller of the package put in, such as promoted fields.
func appendForeign(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}

func fromMap(m map[string]any) object {
	o := make(object, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		o = append(o, member{key, m[key]})
	}
	return o
}

// optional turns an empty string into null.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// optionalProfile turns an empty profile id into null.
func optionalProfile(id string) any {
	if id == "" {
		return nil
	}
	return profileID(id)
}

// stamp is the default wire form of a time.
func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04:05 UTC") }
