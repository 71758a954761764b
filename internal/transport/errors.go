package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	envelope "github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/redact"
	"github.com/fastio-go/fastio/internal/wait"
)

// callError adds the operation to an error and wraps it.
type callError struct {
	op   string
	err  error
	last error // error of the attempt before; may be nil
}

func (e *callError) Error() string {
	s := "fastio: " + e.op + ": " + envelope.Within(e.op, e.err)
	if e.last != nil {
		s += " (after " + envelope.Within(e.op, e.last) + ")"
	}
	return s
}

// Unwrap returns the error and that of the attempt before.
func (e *callError) Unwrap() []error {
	if e.last == nil {
		return []error{e.err}
	}
	return []error{e.err, e.last}
}

// unsentError is a failure of the pipeline itself: nothing was sent, and a retry
// would fail as well.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// refuse ends a request with err before it is sent.
func refuse(req *http.Request, err error) error {
	closeBody(req)
	return &unsentError{err}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// lostError is an error of the transport, with what the sender knows of the request.
type lostError struct {
	err    error
	unsent bool // no byte of it was sent
	stale  bool // the connection was reused
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

var (
	errClosed = errors.New("the connection was closed before a response arrived")
	errEnded  = errors.New("the server ended the stream without a response")
)

// lostBy returns the error of the sender that http.Client returns as err, nil if
// middleware has returned another one.
func lostBy(err error) *lostError {
	if wrapped, ok := err.(*url.Error); ok { //nolint:errorlint // http.Client does not wrap it
		err = wrapped.Err
	}
	lost, _ := err.(*lostError) //nolint:errorlint // as above
	return lost
}

// hopError does not print the address, which its cause may contain.
type hopError struct {
	op  string
	err error
}

// Error returns the operation, and the cause if it is the end of the context.
func (e *hopError) Error() string {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.err, end) {
			return "fastio: " + e.op + ": " + end.Error()
		}
	}
	return "fastio: " + e.op + ": no response to the request after the redirect"
}

// Unwrap returns the cause.
func (e *hopError) Unwrap() error { return e.err }

// refusal returns the response as an error.
func (x *exchange) refusal() *api.Error {
	secrets := x.secrets()
	secrets.Cut = len(x.body) >= maxError
	body := secrets.JSON(x.body[:min(len(x.body), maxError)])
	e := parseError(x.response.Header.Get("Content-Type"), body)
	ordered := e.Rate.RetryAfter
	e.Op, e.Status, e.Attempts, e.Rate = x.request.Op, x.response.StatusCode, x.attempt, x.rate
	e.RequestID = secrets.Text(x.response.Header.Get("X-Request-Id"))
	e.Body = bytes.Clone(body[:min(len(body), maxError)]) // masks may be longer
	if e.Status < http.StatusMultipleChoices && e.Text == "" && e.Name == "" {
		e.Text = envelope.FailedResult(body)
	}
	if e.Status == http.StatusUnauthorized && !e.Is(api.ErrUnavailable) {
		none := x.token.AccessToken.IsZero() && x.request.Credential.IsZero()
		e.Unauthenticated = none || proves(e) || x.token.Expired()
	}
	e.Rate.RetryAfter = ordered
	if ordered == 0 { // the body has precedence
		e.Rate.RetryAfter = retryAfter(x.response, &x.client.clock)
	}
	if e.Status == http.StatusTooManyRequests {
		limit := x.rate
		if wait.Windowed(e.Code) && e.Rate.RetryAfter > 0 {
			limit.RetryAfter = e.Rate.RetryAfter
			if x.client.cfg.Limiter == nil {
				x.group.Refused(x.slot, x.rate.Limit, x.rate.Reset)
			}
			x.group.close(e)
		}
		x.client.share(x.group, limit)
	}
	return e
}

// fail adds the operation to an error, and the error of the last
// attempt.
func (x *exchange) fail(err error) error {
	err = redact.Cause(err)
	if e, ok := errors.AsType[*api.InputError](err); ok && e.Op == "" {
		named := *e
		named.Op = x.request.Op
		return &named
	}
	last := x.failure
	if errors.Is(err, ratelimit.ErrClosed) {
		refusal := x.group.refused(x.request.Op, x.sent)
		if !errors.Is(err, context.DeadlineExceeded) {
			return refusal
		}
		err, last = context.DeadlineExceeded, refusal
	}
	if errors.Is(last, err) { // the response was being read
		last = nil
	}
	return &callError{op: x.request.Op, err: err, last: last}
}

// secrets returns the secrets that are masked in the response: the credentials, and
// the values of secret fields in the request.
func (x *exchange) secrets() *redact.Words {
	r := x.request
	w := new(redact.Words)
	w.AddHeader(http.Header{headerAuthorization: {r.Credential.Reveal()}, headerPassword: {linkSecret(&x.options).Reveal()}})
	w.Add(x.token.AccessToken.Reveal())
	w.AddValues(r.Query)
	path, _ := r.Path.Split()
	w.AddPath(path)
	if r.Body != nil && redact.Searches(r.Body.ContentType()) {
		if contentType, content, err := api.Encode(r.Body); err == nil {
			w.AddBody(contentType, content)
		}
	}
	return w
}

// proves reports whether a 401 proves that the token is invalid.
func proves(e *api.Error) bool { return e.Code == codes.BadToken || e.Code == codes.DeadToken }

// TokenInvalid reports whether the body of a 401 proves that the token is invalid.
func TokenInvalid(contentType string, body []byte) bool { return proves(parseError(contentType, body)) }

// parseError parses an error in any known format: that of the platform, its older
// flat one, OAuth, Markdown. For any other body the fields are empty, and only the
// status is known.
func parseError(contentType string, body []byte) *api.Error {
	e := new(api.Error)
	text := bytes.TrimSpace(body)
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		parseJSONError(e, text)
	case strings.HasPrefix(contentType, "text/markdown") || failedMarkdown(text):
		parseMarkdownError(e, string(text))
	}
	return e
}

// errorHeading is the heading of an error in Markdown.
const errorHeading = "# Error"

// failedMarkdown reports whether the first line of a text is that of a failure in
// Markdown.
func failedMarkdown(text []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	first = bytes.TrimSpace(first)
	return string(first) == "**Result:** failure" || string(first) == errorHeading
}

// fault has the members of all known error responses. Each is decoded by itself, so
// that one of an unknown type does not affect the others.
type fault struct {
	Code             jsontext.Value `json:"code"`
	Text             jsontext.Value `json:"text"`
	Message          jsontext.Value `json:"message"`
	ErrorCode        jsontext.Value `json:"error_code"`
	DocumentationURL jsontext.Value `json:"documentation_url"`
	Resource         jsontext.Value `json:"resource"`
	Params           jsontext.Value `json:"params"`
	Reason           jsontext.Value `json:"reason"`
}

// parseJSONError parses an error at the root of a response, or in its member response.
func parseJSONError(e *api.Error, body []byte) {
	if response := parseFault(e, body); response.Kind() == '{' && e.Code == 0 && e.Text == "" {
		parseFault(e, response)
	}
}

// parseFault parses an error. Without one it returns the member response.
func parseFault(e *api.Error, body []byte) (response jsontext.Value) {
	var a struct {
		Error            jsontext.Value `json:"error"`
		ErrorDescription jsontext.Value `json:"error_description"` // of RFC 6749
		ErrorMessage     jsontext.Value `json:"error_message"`     // of the flat form
		ErrorID          jsontext.Value `json:"error_id"`
		Message          jsontext.Value `json:"message"`
		Response         jsontext.Value `json:"response"`
	}
	_ = envelope.DecodePlain(body, &a, func() {}) // partial results are kept
	flat := firstOf(word(a.ErrorMessage), word(a.Message))
	switch a.Error.Kind() {
	case '"':
		e.Name, e.Text = word(a.Error), firstOf(word(a.ErrorDescription), flat)
	case '{':
		var f fault
		_ = envelope.DecodePlain(a.Error, &f, func() {})
		e.Code, e.Name = number(f.Code), word(f.ErrorCode)
		if e.Code == 0 {
			e.Code = number(f.ErrorCode)
		}
		e.Text = firstOf(word(f.Text), word(f.Message), flat)
		e.DocumentationURL, e.Resource = word(f.DocumentationURL), word(f.Resource)
		e.Reason = word(f.Reason)
		parseParams(e, f.Params)
	default:
		e.Code, e.Text = number(a.ErrorID), flat
		return a.Response
	}
	return nil
}

// parseParams parses params: a list of refused fields after a failed validation, an
// object of reasons otherwise.
func parseParams(e *api.Error, params jsontext.Value) {
	switch params.Kind() {
	case '[':
		var rows []jsontext.Value
		_ = envelope.DecodePlain(params, &rows, func() {})
		for _, row := range rows {
			var p api.ParamError
			switch row.Kind() {
			case '{':
				_ = envelope.DecodePlain(row, &p, func() { p = api.ParamError{} })
			case '"':
				p.Message = word(row)
			default:
			}
			if p != (api.ParamError{}) {
				e.Params = append(e.Params, p)
			}
		}
	case '{':
		var p struct {
			Reason     jsontext.Value `json:"reason"`
			Feature    jsontext.Value `json:"feature"`
			RetryAfter jsontext.Value `json:"retry_after_seconds"`
		}
		_ = envelope.DecodePlain(params, &p, func() {})
		e.Details = json.RawMessage(params)
		e.Rate.RetryAfter = wait.ParseSeconds(string(p.RetryAfter))
		e.Reason, e.Feature = firstOf(word(p.Reason), e.Reason), word(p.Feature)
	default:
	}
}

// number parses an integer, also from a string with blanks; 0 if it is not
// one.
func number(v jsontext.Value) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(strings.Trim(string(v), `"`)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// word parses a string; "" if it is not one.
func word(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// parseMarkdownError parses the bullets and the params table of an error in
// Markdown. Params are indented or below a heading of their own.
func parseMarkdownError(e *api.Error, text string) {
	var columns []string // of the current table
	var params bool      // in the section of the params
	var other bool       // in the section of another member of the response
	for line := range strings.Lines(text) {
		param := params || strings.HasPrefix(line, " ")
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			columns = nil
		}
		switch {
		case strings.HasPrefix(line, "# "):
			other = line != errorHeading
		case other:
		case strings.HasPrefix(line, "##"):
			params = true
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "):
			name, value, _ := strings.Cut(line[2:], ":")
			name = strings.ToLower(strings.Trim(name, " *`"))
			setMarkdown(e, name, plainText(strings.TrimLeft(value, "* ")), param)
		case strings.HasPrefix(line, "|"):
			cells := splitCells(line)
			if columns == nil {
				columns = cells
			} else if p := markdownParam(columns, cells); p != (api.ParamError{}) {
				e.Params = append(e.Params, p)
			}
		}
	}
}

// setMarkdown sets a bullet of the error, or of its params.
func setMarkdown(e *api.Error, name, value string, param bool) {
	switch name {
	case "reason":
		e.Reason = value
	case "feature":
		e.Feature = value
	case "retry_after_seconds":
		e.Rate.RetryAfter = wait.ParseSeconds(value)
	}
	if param { // a param may have the name of a member of the error
		return
	}
	switch name {
	case "code":
		e.Code = number(jsontext.Value(value))
	case "error_code":
		e.Name = value
	case "text", "message":
		e.Text = value
	case "resource":
		e.Resource = value
	case "documentation_url":
		e.DocumentationURL = value
	}
}

// splitCells returns the cells of a table row. A bar, a backslash and a backtick are
// escaped in a cell; an escaped bar is no separator.
func splitCells(line string) []string {
	const backslash, bar, backtick = "\x00", "\x01", "\x02" // do not occur in text
	line = strings.NewReplacer(`\\`, backslash, `\|`, bar, "\\`", backtick).Replace(line)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	cells := strings.Split(line, "|")
	for i, c := range cells {
		cells[i] = strings.NewReplacer(backslash, `\`, bar, "|", backtick, "`").Replace(plainText(c))
	}
	return cells
}

// plainText returns the text of a value: "" for a dash, which is null, and the content
// of one that is code as a whole.
func plainText(s string) string {
	s = strings.TrimSpace(s)
	if s == "\u2014" {
		return ""
	}
	fence := s[:len(s)-len(strings.TrimLeft(s, "`"))]
	code, ok := strings.CutSuffix(strings.TrimPrefix(s, fence), fence)
	if fence == "" || !ok || strings.Contains(code, fence) {
		return s
	}
	return strings.TrimSpace(code)
}

// markdownParam parses a row by the names of its columns.
func markdownParam(columns, cells []string) (p api.ParamError) {
	if strings.Trim(strings.Join(cells, ""), "-: ") == "" { // the separator below the names
		return p
	}
	for i, cell := range cells[:min(len(cells), len(columns))] {
		switch columns[i] {
		case "name":
			p.Name = cell
		case "kind":
			p.Kind = api.ParamKind(cell)
		case "message":
			p.Message = cell
		case "code":
			p.Code = number(jsontext.Value(cell))
		case "expected_type":
			p.ExpectedType = cell
		case "received_alias":
			p.ReceivedAlias = cell
		}
	}
	return p
}

// decodeError returns the error of a decoder without content of the response.
func (x *exchange) decodeError(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch e := e.(type) { //nolint:errorlint // it walks the chain itself
		case *jsonv2.SemanticError:
			e.JSONValue, e.JSONPointer = nil, plainPointer(e.JSONPointer)
		case *jsontext.SyntacticError:
			e.JSONPointer = plainPointer(e.JSONPointer)
		}
	}
	return &callError{op: x.request.Op, err: x.secrets().Error(err)}
}

// plainPointer masks the names in p that are not like the member names of the
// platform: they are content of the response.
func plainPointer(p jsontext.Pointer) jsontext.Pointer {
	const most = 40
	var plain jsontext.Pointer
	for name := range p.Tokens() {
		if len(name) > most || strings.ContainsFunc(name, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
		}) {
			name = "*"
		}
		plain = plain.AppendToken(name)
	}
	return plain
}
