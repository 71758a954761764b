package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/wait"
)

// Error parses an error in any known format: that of the platform, its older
// flat one, OAuth, Markdown. For any other body the fields are empty, and only the
// status is known.
func Error(contentType string, body []byte) *api.Error {
	e := new(api.Error)
	text := bytes.TrimSpace(body)
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		parseJSONError(e, text)
	case strings.HasPrefix(contentType, "text/markdown") || FailedMarkdown(text):
		parseMarkdownError(e, string(text))
	}
	return e
}

// errorHeading is the heading of an error in Markdown.
const errorHeading = "# Error"

// FailedMarkdown reports whether the first line of a text is that of a failure in
// Markdown.
func FailedMarkdown(text []byte) bool {
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

// parseJSONError sets the fields of e from an error at the root of a response,
// or in its member "response".
func parseJSONError(e *api.Error, body []byte) {
	if response := parseFault(e, body); response.Kind() == '{' && e.Code == 0 && e.Text == "" {
		parseFault(e, response)
	}
}

// parseFault sets the fields of e from the error in a body, in any of its
// forms. If the body has no error object, it returns the member "response",
// which may hold one.
func parseFault(e *api.Error, body []byte) (response jsontext.Value) {
	var a struct {
		Error            jsontext.Value `json:"error"`
		ErrorDescription jsontext.Value `json:"error_description"` // of RFC 6749
		ErrorMessage     jsontext.Value `json:"error_message"`     // of the flat form
		ErrorID          jsontext.Value `json:"error_id"`
		Message          jsontext.Value `json:"message"`
		Response         jsontext.Value `json:"response"`
	}
	_ = Plain(body, &a, func() {}) // partial results are kept
	flat := firstOf(word(a.ErrorMessage), word(a.Message))
	switch a.Error.Kind() {
	case '"':
		e.Name, e.Text = word(a.Error), firstOf(word(a.ErrorDescription), flat)
	case '{':
		var f fault
		_ = Plain(a.Error, &f, func() {})
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

// parseParams parses the member "params" of an error: a list of refused fields
// after a failed validation, otherwise an object with reasons.
func parseParams(e *api.Error, params jsontext.Value) {
	switch params.Kind() {
	case '[':
		var rows []jsontext.Value
		_ = Plain(params, &rows, func() {})
		for _, row := range rows {
			var p api.ParamError
			switch row.Kind() {
			case '{':
				_ = Plain(row, &p, func() { p = api.ParamError{} })
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
		_ = Plain(params, &p, func() {})
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

// firstOf returns the first word that is not empty, "" if all are.
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

// setMarkdown sets the field of e for a bullet "name: value". If param is true,
// the bullet belongs to the params of the error.
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

// splitCells returns the cells of a row of a Markdown table. A bar, a backslash
// and a backtick in a cell are escaped by a backslash.
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

// plainText returns the text of a Markdown value: "" for a dash, which stands
// for null, and the content of a value that is code as a whole.
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

// markdownParam returns the param in a row of a table whose columns have the
// given names. The line below the names has none.
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

// Masked returns an error of a decoder without content of the response.
func Masked(err error) error {
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
	return err
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
