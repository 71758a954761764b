package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
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

// bare takes away what net/http wraps around an error: it holds the address,
// whose query may hold a secret.
func bare(err error) error {
	for {
		wrapped, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = wrapped.Err
	}
}

// refusal returns the answer at hand as an error.
func (k *call) refusal() *api.Error {
	body := k.scrub(k.body)
	e := parseError(k.header.Get("Content-Type"), body)
	ordered := e.Rate.RetryAfter
	e.Op, e.Status, e.Attempts, e.Rate = k.request.Op, k.status, k.attempt, k.rate
	e.Body = RedactJSON(body[:min(len(body), maxError)])
	if e.Status == http.StatusUnauthorized && k.request.Credential == "" {
		dead := e.Code == codeUnparseable || e.Code == codeDead
		e.Unauthenticated = k.token.AccessToken == "" || dead || k.token.Expired()
	}
	if e.Rate.RetryAfter = ordered; ordered == 0 { // the body knows best
		e.Rate.RetryAfter = retryAfter(k.header, k.status, time.Now())
	}
	if e.Status == http.StatusTooManyRequests && e.Rate.RetryAfter > 0 && e.Code != codeInProgress {
		k.group.close(e)
	}
	return e
}

// scrub masks the credentials of this very call, should the answer repeat them.
func (k *call) scrub(b []byte) []byte {
	for _, secret := range []string{
		string(k.token.AccessToken), string(k.request.Password),
		string(k.request.Credential), afterSpace(string(k.request.Credential)),
	} {
		if len(secret) >= shortestSecret && bytes.Contains(b, []byte(secret)) {
			b = bytes.ReplaceAll(b, []byte(secret), []byte(masked))
		}
	}
	return b
}

func afterSpace(s string) string {
	_, s, _ = strings.Cut(s, " ")
	return s
}

const (
	maxClosed = time.Hour // a server's slip must not silence a group for a day
	jitter    = 250 * time.Millisecond
)

// close keeps the group's calls at home for as long as the refusal asks.
func (g *group) close(e *api.Error) {
	spread := rand.N(jitter) //nolint:gosec // spreading load needs no secrecy
	until := time.Now().Add(min(e.Rate.RetryAfter, maxClosed) + spread)
	e.Rate.Reset = until
	g.mu.Lock()
	g.refusal = e
	g.mu.Unlock()
	g.Close(until)
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
	case strings.HasPrefix(contentType, "text/markdown") || bytes.HasPrefix(text, []byte("# Error")):
		parseMarkdownError(e, string(text))
	}
	return e
}

// fault is every member an error answer has been seen with.
type fault struct {
	Code             jsontext.Value `json:"code"`
	Text             string         `json:"text"`
	Message          string         `json:"message"`
	ErrorCode        jsontext.Value `json:"error_code"`
	DocumentationURL string         `json:"documentation_url"`
	Resource         string         `json:"resource"`
	Params           jsontext.Value `json:"params"`
	Reason           jsontext.Value `json:"reason"`
}

func parseJSONError(e *api.Error, body []byte) {
	var a struct {
		Error            jsontext.Value `json:"error"`
		ErrorDescription string         `json:"error_description"` // of RFC 6749
		ErrorMessage     string         `json:"error_message"`     // of the flat form
		ErrorID          jsontext.Value `json:"error_id"`
		Message          string         `json:"message"`
		Response         jsontext.Value `json:"response"`
	}
	d := newDecoding()
	_ = d.into(body, &a, func() {}) // as far as it can be read
	switch a.Error.Kind() {
	case '"':
		e.Name, e.Text = word(a.Error), a.ErrorDescription
	case '{':
		var f fault
		_ = d.into(a.Error, &f, func() {})
		e.Code, e.Name = number(f.Code), word(f.ErrorCode)
		e.Text = firstOf(f.Text, f.Message)
		e.DocumentationURL, e.Resource = f.DocumentationURL, MaskPath(f.Resource)
		e.Reason = word(f.Reason)
		parseParams(e, d, f.Params)
	default:
		e.Code, e.Text = number(a.ErrorID), firstOf(a.ErrorMessage, a.Message)
		if a.Response.Kind() == '{' && e.Code == 0 && e.Text == "" {
			parseJSONError(e, a.Response)
		}
	}
}

// parseParams reads what is a list of refused fields on a failed validation and
// an object of reasons on any other refusal.
func parseParams(e *api.Error, d decoding, params jsontext.Value) {
	switch params.Kind() {
	case '[':
		if d.into(params, &e.Params, func() { e.Params = nil }) != nil {
			e.Params = nil
		}
	case '{':
		e.Details = json.RawMessage(RedactJSON(params))
		var p struct {
			Reason     string  `json:"reason"`
			Feature    string  `json:"feature"`
			RetryAfter float64 `json:"retry_after_seconds"`
		}
		_ = d.into(params, &p, func() {})
		e.Rate.RetryAfter = seconds(p.RetryAfter)
		e.Reason, e.Feature = firstOf(p.Reason, e.Reason), p.Feature
	}
}

// number reads an integer that may be written as text, padded even; 0 if it is
// none.
func number(v jsontext.Value) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(strings.Trim(string(v), `"`)), 10, 64)
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
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "):
			name, value, _ := strings.Cut(line[2:], ":")
			value = strings.Trim(value, " *`")
			switch strings.ToLower(strings.Trim(name, " *`")) {
			case "code":
				e.Code, _ = strconv.ParseInt(value, 10, 64)
			case "text", "message":
				e.Text = value
			case "resource":
				e.Resource = MaskPath(value)
			case "reason":
				e.Reason = value
			case "feature":
				e.Feature = value
			}
		case strings.HasPrefix(line, "|"):
			parseMarkdownParam(e, line)
		}
	}
}

// parseMarkdownParam reads one row: name, kind, message, code, expected type.
func parseMarkdownParam(e *api.Error, line string) {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	const columns = 4
	if len(cells) < columns {
		return
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if cells[0] == "name" || strings.HasPrefix(cells[0], "-") || strings.HasPrefix(cells[0], ":") {
		return
	}
	p := api.ParamError{Name: cells[0], Kind: api.ParamKind(cells[1]), Message: cells[2]}
	p.Code, _ = strconv.ParseInt(cells[3], 10, 64)
	if len(cells) > columns {
		p.ExpectedType = cells[columns]
	}
	e.Params = append(e.Params, p)
}
