package fastiotest

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/internal/jsonopt"
	"github.com/fastio-go/fastio/internal/redact"
)

// fixture is the content of a file: one request and its response.
type fixture struct {
	Op       string   `json:"op,omitzero"` // "events.Search"; "" if the request is not of a fastio.Client
	Request  asked    `json:"request"`
	Response answered `json:"response"`

	name string // of the file
}

// asked is a request without host, prefix and headers, so that it does not depend on
// the environment.
type asked struct {
	Method  string   `json:"method"`
	Path    string   `json:"path"`           // from /current or /.well-known, escaped
	Query   []string `json:"query,omitzero"` // one parameter per line, escaped and sorted
	Content content  `json:",embed,inline"`
}

// answered is a response with the relevant headers.
type answered struct {
	Status  int               `json:"status"`
	Header  map[string]string `json:"header,omitzero"`
	Content content           `json:",embed,inline"`
}

// content is a body in the most readable form. At most one member is set.
type content struct {
	JSON   jsontext.Value `json:"body,omitzero"` // an object or array
	Form   []string       `json:"form,omitzero"` // one field per line, escaped and sorted
	Text   []string       `json:"text,omitzero"` // lines with their line ends
	Base64 []byte         `json:"base64,omitzero"`
}

// encode returns the text of the file.
func (f *fixture) encode() ([]byte, error) {
	b, err := jsonv2.Marshal(f, jsonopt.Lenient(), jsonv2.Deterministic(true), jsontext.WithIndent("  "))
	return append(b, '\n'), err
}

// parseFixture decodes the file of a fixture. The file may be written by hand: unknown
// members are rejected, and parameters and form fields are sorted and escaped.
func parseFixture(name string, b []byte) (*fixture, error) {
	f := &fixture{name: name}
	err := jsonv2.Unmarshal(b, f, jsonopt.Lenient(), jsonv2.RejectUnknownMembers(true))
	if err == nil {
		f.Request.Query, err = normalLines(f.Request.Query)
	}
	if err == nil {
		f.Request.Content.Form, err = normalLines(f.Request.Content.Form)
	}
	return f, err
}

// normalLines sorts and escapes the parameters of a query or form.
func normalLines(lines []string) ([]string, error) {
	values, err := url.ParseQuery(strings.Join(lines, "&"))
	return linesOf(values), err
}

// linesOf returns the parameters one by one, nil if there are none.
func linesOf(values url.Values) []string {
	if len(values) == 0 {
		return nil
	}
	return strings.Split(values.Encode(), "&")
}

// requestOf returns a request in the form in which a fixture stores it. It adds
// the secrets of the request to s, so that they are masked in the response,
// too.
func requestOf(r *http.Request, body []byte, s *redact.Words) asked {
	path, query := platformPath(r.URL.EscapedPath()), r.URL.Query()
	s.AddPath(path)
	s.AddValues(query)
	return asked{
		Method: r.Method, Path: s.Text(path), Query: linesOf(s.Values(query)),
		Content: contentOf(r.Header.Get("Content-Type"), body, s),
	}
}

// ignoreQuery removes the query parameters with the given names, which are escaped
// as in a URL, so that they are not compared.
func (a *asked) ignoreQuery(names map[string]bool) {
	a.Query = slices.DeleteFunc(a.Query, func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		return names[name]
	})
}

// platformPath removes the prefix of a path, such as /api, which depends on the
// host. A path that is not one of the platform is returned as it is.
func platformPath(path string) string {
	for _, root := range [...]string{"/current/", "/.well-known/"} {
		if i := strings.Index(path, root); i >= 0 {
			return path[i:]
		}
	}
	return path
}

// contentOf returns a body in the form in which a fixture stores it, by its
// content type and without secrets: as the values of a form, as JSON, or else as
// text or base64. A malformed form and truncated JSON are stored as text. It adds
// the secrets of the body to s.
func contentOf(contentType string, body []byte, s *redact.Words) content {
	media, params, _ := mime.ParseMediaType(contentType)
	if boundary := params["boundary"]; boundary != "" { // it differs in each request
		body = bytes.ReplaceAll(body, []byte(boundary), []byte("boundary"))
	}
	switch {
	case len(body) == 0:
		return content{}
	case media == "application/x-www-form-urlencoded":
		if form, err := url.ParseQuery(string(body)); err == nil {
			s.AddValues(form)
			return content{Form: linesOf(s.Values(form))}
		}
	case jsonShaped(body) && jsontext.Value(body).IsValid(jsonopt.Lenient()):
		s.AddJSON(body)
		return content{JSON: s.JSON(body)}
	case jsonShaped(body) && strings.Contains(media, "json"): // truncated, perhaps inside a secret
		body = bytes.TrimRight(redact.JSON(body), "]}") // masked, without the ends that redact.JSON has added
	}
	text := s.Text(string(body))
	if !utf8.ValidString(text) {
		return content{Base64: []byte(text)}
	}
	return content{Text: slices.Collect(strings.Lines(text))}
}

// jsonShaped reports whether a body may be an object or an array.
func jsonShaped(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && (b[0] == '{' || b[0] == '[')
}

// bytes returns the body that the fixture stores.
func (c *content) bytes() []byte {
	switch {
	case c.JSON != nil:
		v := c.JSON.Clone()
		_ = v.Compact(jsonopt.Lenient()) // valid JSON
		return v
	case c.Form != nil:
		return []byte(strings.Join(c.Form, "&"))
	case c.Text != nil:
		return []byte(strings.Join(c.Text, ""))
	}
	return c.Base64
}

// compareKey returns a text that is equal for equal requests, in any order of
// parameters and members.
func (a *asked) compareKey() string {
	body := string(a.Content.bytes())
	if a.Content.JSON != nil {
		v := a.Content.JSON.Clone()
		_ = v.Format(jsonopt.Lenient(), jsontext.ReorderRawObjects(true))
		body = string(v)
	}
	return a.String() + "\n" + body
}

// pattern returns an expression that matches the keys of requests that differ
// from this one only in masked values.
func (a *asked) pattern() *regexp.Regexp {
	p := regexp.QuoteMeta(a.compareKey())
	for _, masked := range [...]string{redact.Mask, url.QueryEscape(redact.Mask)} {
		p = strings.ReplaceAll(p, regexp.QuoteMeta(masked), `[^/&"\n]*`)
	}
	return regexp.MustCompile("^" + p + "$")
}

// String returns the request without its body, for messages.
func (a *asked) String() string {
	s := a.Method + " " + a.Path
	if len(a.Query) > 0 {
		s += "?" + strings.Join(a.Query, "&")
	}
	return s
}
