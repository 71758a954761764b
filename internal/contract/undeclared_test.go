package contract_test

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

// undeclared is a name that no endpoint accepts.
const undeclared = "undeclared_field"

// A fieldAdder adds an undeclared field to the request of a call.
type fieldAdder struct {
	t       *testing.T
	next    http.RoundTripper
	server  *fastiotest.Server
	call    string          // the next call; "" after its first request
	succeed map[string]bool // calls that succeed
	drops   bool            // the emulator must ignore such fields; else it must reject them without an effect
}

func (m *fieldAdder) RoundTrip(r *http.Request) (*http.Response, error) {
	call := m.call
	m.call = ""
	if !m.succeed[call] || r.Method == http.MethodOptions { // describes an endpoint and has no fields
		return m.next.RoundTrip(r)
	}
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	resp, err := m.next.RoundTrip(withUndeclared(r, body))
	if m.drops || err != nil {
		return resp, err
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotAcceptable || !bytes.Contains(text, []byte(undeclared)) {
		m.t.Errorf("%s with a field that no endpoint has: status %d %s", call, resp.StatusCode, text)
	}
	m.server.Forget()
	return m.next.RoundTrip(withBody(r, body))
}

// withUndeclared adds the field to the form, multipart body or JSON object of a
// request, and to the query of one without such a body.
func withUndeclared(r *http.Request, body []byte) *http.Request {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	text := string(body)
	query := r.URL.RawQuery
	switch kind {
	case "application/x-www-form-urlencoded":
		text = undeclared + "=1&" + text
	case "multipart/form-data":
		part := "Content-Disposition: form-data; name=\"" + undeclared + "\"\r\n\r\n1\r\n"
		text = "--" + params["boundary"] + "\r\n" + part + text
	case "application/json":
		text = strings.Replace(`{"`+undeclared+`":1,`+strings.TrimPrefix(text, "{"), ",}", "}", 1)
	default:
		query += "&" + undeclared + "=1"
	}
	r = withBody(r, []byte(text))
	r.URL.RawQuery = query
	return r
}

func withBody(r *http.Request, body []byte) *http.Request {
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		delete(r.Header, "content-length") // an empty form
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return r
}

// Every endpoint rejects an unknown field without an effect, and ignores it
// with DropUndeclared.
func TestUndeclaredFields(t *testing.T) {
	t.Parallel()
	table.Large(t)
	for area, calls := range live(t) {
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			succeed := map[string]bool{}
			for _, e := range calls {
				succeed[e.name] = e.answer.status < http.StatusMultipleChoices
			}
			made := map[bool]map[string]string{}
			for _, drops := range []bool{false, true} {
				made[drops] = map[string]string{}
				synctest.Test(t, func(t *testing.T) {
					m := &fieldAdder{t: t, drops: drops, succeed: succeed}
					for _, e := range runScript(t, scripts()[area], m, func(o *seed.Options) {
						o.DropUndeclared = drops
						o.Limits.Rules = []seed.Limit{}
					}) {
						made[drops][e.name] = string(e.answer.body)
					}
				})
			}
			if diff := cmp.Diff(made[false], made[true]); diff != "" {
				t.Errorf("(-without +with the field):\n%s", diff)
			}
		})
	}
}
