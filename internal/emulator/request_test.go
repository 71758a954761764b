package emulator_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// asked is a request of a scenario; testdata/README.md explains the notation.
type asked struct {
	who, password     string
	method, path      string
	query             url.Values
	header            http.Header
	contentType, body string
	form              url.Values
}

var isRequest = regexp.MustCompile(`^\S+ [A-Z]+ (/|\{|http)\S*`)

// parse reads a request.
func (p *scripted) parse(text string) (*asked, error) {
	parts := append(strings.SplitN(text, " ", 4), "")
	r := &asked{method: parts[1], header: http.Header{}}
	var err error
	expand := func(text string, quote func(string) string) string {
		expanded, failed := p.expand(text, quote)
		if failed != nil {
			err = failed
		}
		return expanded
	}
	fields := func(text string) url.Values {
		values, failed := url.ParseQuery(text)
		if failed != nil {
			err = failed
		}
		expanded := url.Values{}
		for name, list := range values {
			for _, value := range list {
				name := expand(name, nil)
				expanded[name] = append(expanded[name], expand(value, nil))
			}
		}
		return expanded
	}
	r.who = expand(parts[0], nil)
	if strings.Contains(r.who, ":") {
		pair := base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(r.who, "+", " ")))
		r.who = "anon"
		r.header.Set("Authorization", "Basic "+pair)
	}
	r.who, r.password, _ = strings.Cut(r.who, "+")
	path, query, _ := strings.Cut(parts[2], "?")
	r.path = expand(path, url.PathEscape)
	if strings.HasPrefix(path, "{") { // a whole link
		r.path = expand(path, nil)
	}
	r.query = fields(query)
	body := parts[3]
	for strings.HasPrefix(body, "@") {
		var header string
		header, body, _ = strings.Cut(body, " ")
		name, value, _ := strings.Cut(header[1:], "=")
		r.header.Set(name, expand(strings.ReplaceAll(value, "+", " "), nil))
	}
	multi, isMulti := strings.CutPrefix(body, "multipart ")
	switch {
	case r.header.Get("Content-Type") != "":
		r.contentType, r.body = r.header.Get("Content-Type"), expand(body, nil)
	case isMulti:
		r.body, r.contentType = multipartOf(fields(multi))
	case strings.HasPrefix(body, "{\"") || body == "{}" || strings.HasPrefix(body, "["):
		r.contentType, r.body = "application/json", expand(body, jsonQuoted)
	case body != "":
		r.form = fields(strings.TrimPrefix(body, "form"))
		r.contentType, r.body = "application/x-www-form-urlencoded", r.form.Encode()
	}
	return r, err
}

// multipartOf returns a multipart form. The field chunk is a file.
func multipartOf(fields url.Values) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, values := range fields {
		if name == "chunk" {
			continue
		}
		_ = w.WriteField(name, values[0])
	}
	if chunk, ok := fields["chunk"]; ok {
		part, err := w.CreateFormFile("chunk", "blob")
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(part, chunk[0])
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

// exchange sends a request and checks the response.
func (p *scripted) exchange(text string) error {
	text, want, ok := strings.Cut(text, " -> ")
	if !ok {
		return errors.New(`a request needs " -> " and a status`)
	}
	r, err := p.parse(text)
	if err != nil {
		return err
	}
	a, err := p.send(r)
	if err != nil {
		return err
	}
	return p.checkStatus(a, want)
}

func (p *scripted) send(r *asked) (answer, error) {
	request, err := p.request(r)
	if err != nil {
		return answer{}, err
	}
	began := time.Now()
	response, err := p.client.RoundTrip(request)
	if err != nil {
		return answer{err: err, took: time.Since(began)}, nil
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.status != http.StatusSwitchingProtocols {
		a.body, a.err = io.ReadAll(response.Body)
	}
	a.took = time.Since(began)
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		a.json = a.body
	}
	return a, nil
}

func (p *scripted) request(r *asked) (*http.Request, error) {
	address := r.path
	switch {
	case strings.HasPrefix(r.path, "/api/"):
		address = "http://emulator.test" + r.path
	case strings.HasPrefix(r.path, "/"):
		address = "http://emulator.test/api/current" + strings.TrimPrefix(r.path, "/current")
	}
	if len(r.query) > 0 {
		address += "?" + strings.TrimSuffix(r.query.Encode(), "=") // the token of a socket has no name
	}
	request, err := http.NewRequestWithContext(p.ctx, r.method, address, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	request.Header = r.header
	token, known := p.keys[r.who]
	switch {
	case len(r.who) > 20: // a token
		token = r.who
	case r.who == "anon":
	case !known:
		return nil, fmt.Errorf("%q is unknown", r.who)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "X-Ve-Password": r.password, "Content-Type": r.contentType,
	} {
		if value != "" && value != "Bearer " && r.header.Get(name) == "" {
			request.Header.Set(name, value)
		}
	}
	if r.contentType == "none" {
		request.Header.Del("Content-Type")
	}
	return request, nil
}
