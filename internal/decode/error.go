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

// neverReset is the reset of [Plain] for values with fields of type jsontext.Value only. Any
// JSON value fits such a field, so Plain does not decode them a second time.
func neverReset() {}

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

// parseFault sets the fields of e from the error in a body, in any of its forms: the
// object of the platform, the name and description of OAuth, the older flat members. In
// the last case the member "response", which may hold an error object, is returned.
func parseFault(e *api.Error, body []byte) (response jsontext.Value) {
	var a struct {
		Error            jsontext.Value `json:"error"`
		ErrorDescription jsontext.Value `json:"error_description"` // of RFC 6749
		ErrorMessage     jsontext.Value `json:"error_message"`     // of the flat form
		ErrorID          jsontext.Value `json:"error_id"`
		Message          jsontext.Value `json:"message"`
		Response         jsontext.Value `json:"response"`
	}
	_ = Plain(body, &a, neverReset)
	flat := firstNonEmpty(parseWord(a.ErrorMessage), parseWord(a.Message))
	switch a.Error.Kind() {
	case '"':
		e.Name, e.Text = parseWord(a.Error), firstNonEmpty(parseWord(a.ErrorDescription), flat)
	case '{':
		var f fault
		_ = Plain(a.Error, &f, neverReset)
		e.Code, e.Name = parseNumber(f.Code), parseWord(f.ErrorCode)
		if e.Code == 0 {
			e.Code = parseNumber(f.ErrorCode)
		}
		e.Text = firstNonEmpty(parseWord(f.Text), parseWord(f.Message), flat)
		e.DocumentationURL, e.Resource = parseWord(f.DocumentationURL), parseWord(f.Resource)
		e.Reason = parseWord(f.Reason)
		parseParams(e, f.Params)
	default:
		e.Code, e.Text = parseNumber(a.ErrorID), flat
		return a.Response
	}
	return nil
}

// parseParams parses the member "params" of an error: a list of refused fields
// after a failed validation, otherwise an object with reasons.
func parseParams(e *api.Error, params jsontext.Value) {
	switch params.Kind() {
	case '[':
		var rows []jsontext.Value // so that a row which cannot be decoded does not hide the others
		_ = Plain(params, &rows, neverReset)
		for _, row := range rows {
			var p api.ParamError
			switch row.Kind() {
			case '{':
				_ = Plain(row, &p, func() { p = api.ParamError{} })
			case '"':
				p.Message = parseWord(row)
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
		_ = Plain(params, &p, neverReset)
		e.Details = json.RawMessage(params)
		e.Rate.RetryAfter = wait.ParseSeconds(string(p.RetryAfter))
		e.Reason, e.Feature = firstNonEmpty(parseWord(p.Reason), e.Reason), parseWord(p.Feature)
	default:
	}
}

// parseNumber parses an integer, quoted or not; 0 if it is not one.
func parseNumber(v jsontext.Value) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(strings.Trim(string(v), `"`)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// parseWord returns the text of a JSON string; "" for any other value.
func parseWord(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}

// firstNonEmpty returns the first text that is not empty, "" if all are.
func firstNonEmpty(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// parseMarkdownError parses the bullets and the params table of an error in Markdown.
// Bullets that are indented or below a heading of their own are of the params. Sections
// of other members of the response are skipped.
func parseMarkdownError(e *api.Error, text string) {
	var columns []string // of the current table
	var inParams bool    // in the section of the params
	var inOther bool     // in the section of another member of the response
	for line := range strings.Lines(text) {
		isParam := inParams || strings.HasPrefix(line, " ")
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			columns = nil
		}
		switch {
		case strings.HasPrefix(line, "# "):
			inOther = line != errorHeading
		case inOther:
		case strings.HasPrefix(line, "##"):
			inParams = true
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "):
			name, value, _ := strings.Cut(line[2:], ":")
			name = strings.ToLower(strings.Trim(name, " *`"))
			setMarkdown(e, name, cellText(strings.TrimLeft(value, "* ")), isParam)
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

// setMarkdown sets the field of e for a bullet "name: value". A bullet that describes a
// param (isParam) sets only Reason, Feature and Retry-After. Its other members, such as
// text, are of the param, although members of the error have the same names.
func setMarkdown(e *api.Error, name, value string, isParam bool) {
	switch name {
	case "reason":
		e.Reason = value
	case "feature":
		e.Feature = value
	case "retry_after_seconds":
		e.Rate.RetryAfter = wait.ParseSeconds(value)
	}
	if isParam {
		return
	}
	switch name {
	case "code":
		e.Code = parseNumber(jsontext.Value(value))
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

// splitCells returns the cells of a row of a Markdown table. A bar, a backslash and a
// backtick in a cell are escaped by a backslash; control characters, which do not occur
// in text, stand for them until the row is split.
func splitCells(line string) []string {
	const backslash, bar, backtick = "\x00", "\x01", "\x02"
	line = strings.NewReplacer(`\\`, backslash, `\|`, bar, "\\`", backtick).Replace(line)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	cells := strings.Split(line, "|")
	for i, c := range cells {
		cells[i] = strings.NewReplacer(backslash, `\`, bar, "|", backtick, "`").Replace(cellText(c))
	}
	return cells
}

// cellText returns the text of a Markdown value: "" for a dash, which stands for null,
// and the content of a value that is quoted as code as a whole.
func cellText(s string) string {
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

// markdownParam returns the refused parameter in a row of a table whose columns have
// the given names, a zero one for the separator line below the names.
func markdownParam(columns, cells []string) (p api.ParamError) {
	if strings.Trim(strings.Join(cells, ""), "-: ") == "" {
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
			p.Code = parseNumber(jsontext.Value(cell))
		case "expected_type":
			p.ExpectedType = cell
		case "received_alias":
			p.ReceivedAlias = cell
		}
	}
	return p
}

// Masked changes an error of a decoder, so that it has no content of the response: it
// removes the value, and masks the names in the pointer that are not like those of a
// member. A truncated body is io.ErrUnexpectedEOF.
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
