package fastio_test

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
)

// undeclared is a name that no endpoint has.
const undeclared = "undeclared_field"

// withUndeclared adds a field that no endpoint has to the form, multipart body
// or JSON object of a request, and to the query of one without such a body.
func withUndeclared(r fastiotest.Request) fastiotest.Request {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	body := string(r.Body)
	switch kind {
	case "application/x-www-form-urlencoded":
		body = undeclared + "=1&" + body
	case "multipart/form-data":
		body = "--" + params["boundary"] + "\r\nContent-Disposition: form-data; name=\"" + undeclared + "\"\r\n\r\n1\r\n" + body
	case "application/json":
		body = strings.Replace(`{"`+undeclared+`":1,`+strings.TrimPrefix(body, "{"), ",}", "}", 1)
	default:
		r.Query += "&" + undeclared + "=1"
	}
	r.Body = []byte(body)
	return r
}

// Every endpoint refuses a field it does not have, and ignores it with
// DropUndeclared.
func TestUndeclaredFields(t *testing.T) {
	t.Parallel()
	drop := func(o *fastiotest.Options) { o.DropUndeclared = true }
	for _, d := range drivers() {
		t.Run(d.operation, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := d.world(t)
				before := len(w.server.Requests())
				if _, err := d.call(t.Context(), w.server.Client(t, fastio.WithToken(w.token)), w); err != nil {
					t.Fatal(err)
				}
				r := w.server.Requests()[before]
				if r.Method == http.MethodOptions { // describes an endpoint, and takes nothing
					return
				}
				strict := d.world(t).server
				status, body := answerOf(t, strict, withUndeclared(r))
				if status != http.StatusNotAcceptable || !strings.Contains(body, `"name":"`+undeclared+`"`) {
					t.Errorf("the default answers %d %s", status, body)
				}
				want, wantBody := answerOf(t, strict, r) // the refusal had no effect
				status, body = answerOf(t, d.world(t, drop).server, withUndeclared(r))
				if diff := cmp.Diff(wantBody, body); diff != "" || status != want {
					t.Errorf("DropUndeclared answers %d, want %d (-want +got):\n%s", status, want, diff)
				}
			})
		})
	}
}

// world is a platform on which the driver's call can be made.
func (d *driver) world(t *testing.T, change ...func(o *fastiotest.Options)) *coverWorld {
	t.Helper()
	w := newCoverWorld(t, change...)
	if d.prepare != nil {
		if err := d.prepare(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// randomKey is what the SDK chooses at random when the platform is prepared.
var randomKey = regexp.MustCompile(`"idempotency_key":"[^"]*"|&state=\w*`)

// answerOf is what a platform answers to a recorded request.
func answerOf(t *testing.T, s *fastiotest.Server, r fastiotest.Request) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, "http://fastio.test"+r.Path+"?"+r.Query, bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = r.Header
	resp, err := s.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, randomKey.ReplaceAllString(string(text), "")
}
