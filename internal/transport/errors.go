package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	envelope "github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/redact"
	"github.com/fastio-go/fastio/internal/wait"
)

// callError names the call a failure belongs to. The failure keeps its type.
type callError struct {
	op   string
	err  error
	last error // what the last attempt before it ended with; may be nil
}

func (e *callError) Error() string {
	s := "fastio: " + e.op + ": " + strings.TrimPrefix(e.err.Error(), "fastio: ")
	if e.last != nil {
		s += " (after " + strings.TrimPrefix(e.last.Error(), "fastio: "+e.op+": ") + ")"
	}
	return s
}

// Unwrap returns the failure and what came before it.
func (e *callError) Unwrap() []error {
	if e.last == nil {
		return []error{e.err}
	}
	return []error{e.err, e.last}
}

// refusal returns the answer at hand as an error.
func (x *exchange) refusal() *api.Error {
	secrets := x.secrets()
	secrets.Cut = len(x.body) >= maxError
	body := secrets.JSON(x.body)
	e := parseError(x.response.Header.Get("Content-Type"), body)
	ordered := e.Rate.RetryAfter
	e.Op, e.Status, e.Attempts, e.Rate = x.request.Op, x.response.StatusCode, x.attempt, x.rate
	e.RequestID = secrets.Text(x.response.Header.Get("X-Request-Id"))
	e.Body = bytes.Clone(body[:min(len(body), maxError)]) // the rest need not be kept for it
	if e.Status == http.StatusUnauthorized {
		none := x.token.AccessToken.IsZero() && x.request.Credential.IsZero()
		dead := e.Code == codeUnparseable || e.Code == codeDead
		e.Unauthenticated = none || dead || x.token.Expired()
	}
	if e.Rate.RetryAfter = ordered; ordered == 0 { // the body knows best
		e.Rate.RetryAfter = retryAfter(x.response, &x.client.clock)
	}
	if e.Status == http.StatusTooManyRequests {
		limit := x.rate
		if ofWindows(e.Code) && e.Rate.RetryAfter > 0 {
			limit.RetryAfter = e.Rate.RetryAfter
			x.group.close(e)
		}
		x.client.share(x.group, limit)
	}
	return e
}

// fail names the call an error belongs to, and keeps what its last attempt
// ended with.
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
	if errors.Is(last, err) { // reading the answer was what it ended
		last = nil
	}
	return &callError{op: x.request.Op, err: err, last: last}
}

// secrets are what an answer to the call must not show, should it repeat it: the
// credentials, and what the request holds under the name of a secret.
func (x *exchange) secrets() *redact.Words {
	r := x.request
	w := new(redact.Words)
	w.AddHeader(http.Header{headerAuthorization: {r.Credential.Reveal()}, headerPassword: {linkSecret(r).Reveal()}})
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

// parseError reads an error in any of the forms that occur: the platform's, its
// older flat one, OAuth's bare one, Markdown. Anything else leaves the fields
// empty; the status then has to say it all.
func parseError(contentType string, body []byte) *api.Error {
	e := new(api.Error)
	text := bytes.TrimSpace(body)
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		parseJSONError(e, text)
	case strings.HasPrefix(contentType, "text/markdown") || bytes.HasPrefix(text, []byte(errorHeading)):
		parseMarkdownError(e, string(text))
	}
	return e
}

// errorHeading begins an error in Markdown.
const errorHeading = "# Error"

// fault is every member an error answer has been seen with. Each is read by
// itself, so that one of an unheard-of form does not hide the others.
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

// parseJSONError reads an error at the root of an answer, or under its response.
func parseJSONError(e *api.Error, body []byte) {
	if response := parseFault(e, body); response.Kind() == '{' && e.Code == 0 && e.Text == "" {
		parseFault(e, response)
	}
}

// parseFault reads an error, and returns the response beside it if there is none.
func parseFault(e *api.Error, body []byte) (response jsontext.Value) {
	var a struct {
		Error            jsontext.Value `json:"error"`
		ErrorDescription jsontext.Value `json:"error_description"` // of RFC 6749
		ErrorMessage     jsontext.Value `json:"error_message"`     // of the flat form
		ErrorID          jsontext.Value `json:"error_id"`
		Message          jsontext.Value `json:"message"`
		Response         jsontext.Value `json:"response"`
	}
	_ = envelope.DecodePlain(body, &a, func() {}) // as far as it can be read
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

// parseParams reads what is a list of refused fields on a failed validation and
// an object of reasons on any other refusal.
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

// number reads an integer that may be written as text, padded even; 0 if it is
// none.
func number(v jsontext.Value) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(strings.Trim(string(v), `"`)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// word reads a string; "" if it is none.
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

// parseMarkdownError reads the bullets and the params table of an error that
// was asked for as text.
func parseMarkdownError(e *api.Error, text string) {
	var columns []string // of the table under way
	params := false      // whether the section of the params has begun
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			columns = nil
		}
		switch {
		case strings.HasPrefix(line, "##"):
			params = true
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "):
			name, value, _ := strings.Cut(line[2:], ":")
			name = strings.ToLower(strings.Trim(name, " *`"))
			setMarkdown(e, name, uncell(strings.TrimLeft(value, "* ")), params)
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

// setMarkdown takes in a bullet of the error, or of its params.
func setMarkdown(e *api.Error, name, value string, param bool) {
	switch name {
	case "reason":
		e.Reason = value
	case "feature":
		e.Feature = value
	case "retry_after_seconds":
		e.Rate.RetryAfter = wait.ParseSeconds(value)
	}
	if param { // a param may be called as a member of the error is
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

// splitCells returns the cells of a table's row. An escaped bar ends none.
func splitCells(line string) []string {
	const bar = "\x00" // stands in no text
	line = strings.ReplaceAll(line, `\|`, bar)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	cells := strings.Split(line, "|")
	for i, c := range cells {
		cells[i] = uncell(strings.ReplaceAll(c, bar, "|"))
	}
	return cells
}

// uncell takes back what keeps a text in one line and one cell.
func uncell(s string) string {
	s = strings.NewReplacer(`\|`, "|", "<br>", "\n").Replace(strings.TrimSpace(s))
	if code, ok := strings.CutPrefix(s, "`"); ok && strings.Count(s, "`") == 2 {
		if code, ok = strings.CutSuffix(code, "`"); ok {
			return code
		}
	}
	return s
}

// markdownParam reads a row by the names of its columns.
func markdownParam(columns, cells []string) (p api.ParamError) {
	if strings.Trim(strings.Join(cells, ""), "-: ") == "" { // the line below the names
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
