package fastiotest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/internal/redact"
)

// Record returns a round tripper that sends requests through next and records every
// request and response as a file in dir, for [Replay]. Next may be a transport to the
// real platform, a [Server] or other; nil is a transport like
// [http.DefaultTransport]. Use it as the transport of a client, where credentials are
// known, and not as middleware:
//
//	fastio.WithHTTPClient(&http.Client{Transport: fastiotest.Record("testdata/app", nil)})
//
// A file is named after the operation: events.Search.json, then
// events.Search-2.json. A response equal to the previous one of the same request is
// not recorded again. Files of an earlier run are replaced but not removed, so dir
// should be empty.
//
// Files contain no secrets: the host and headers with credentials are omitted, and
// secrets are masked as in logs of the client, as is every repetition of a known
// credential. Names, addresses and file names are recorded: use a test account. The
// response itself is not changed.
//
// A response is read completely before it is returned. A truncated response is not
// recorded. A file that cannot be written fails the request.
func Record(dir string, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
		if t, ok := next.(*http.Transport); ok {
			next = t.Clone()
		}
	}
	return &recorder{dir: dir, next: next, names: map[string]int{}, last: map[string]string{}}
}

// recorder is safe for concurrent use. Files are in the order of the responses.
type recorder struct {
	dir  string
	next http.RoundTripper

	mu      sync.Mutex
	names   map[string]int    // files written, by name without number
	last    map[string]string // the latest file's content, by request
	secrets redact.Words
}

// RoundTrip sends a request, reads the whole response, and records both. The
// response of an exchange that breaks off is returned as far as it was
// received, and not recorded.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readRequest(req)
	if err != nil {
		return nil, err
	}
	sent := req
	if len(body) > 0 {
		sent = req.Clone(req.Context())
		sent.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := r.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(answer), failing{err}))
		return resp, nil //nolint:nilerr // returned by the body after the received part
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	if err := r.writeFixture(req, body, resp, answer); err != nil {
		return nil, fmt.Errorf("fastiotest: an exchange could not be recorded: %w", err)
	}
	return resp, nil
}

// CloseIdleConnections closes the idle connections of the transport through
// which requests are sent, if it has that method.
func (r *recorder) CloseIdleConnections() {
	if c, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// readRequest reads the body of a request and closes it.
func readRequest(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	return body, errors.Join(err, req.Body.Close())
}

// failing is the end of a truncated body.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// writeFixture writes a fixture of a request and its response, without secrets, unless
// it is the same as the last one of this request.
func (r *recorder) writeFixture(req *http.Request, body []byte, resp *http.Response, answer []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.maskedFixture(req, body, resp, answer)
	text, err := f.encode()
	if err != nil {
		return err
	}
	key := f.Request.compareKey()
	if r.last[key] == string(text) {
		return nil
	}
	name := fileName(f)
	n := r.names[name] + 1
	if err := r.writeFile(numbered(name, n), text); err != nil {
		return err
	}
	r.names[name], r.last[key] = n, string(text)
	return nil
}

// maskedFixture returns a fixture in which the secrets of the request and those of the
// response are masked in both. Its steps depend on their order:
//  1. The secrets of the headers and of the request are collected.
//  2. The response is masked, which collects the secrets of its body, too.
//  3. The request is masked, now that all secrets are known.
func (r *recorder) maskedFixture(req *http.Request, body []byte, resp *http.Response, answer []byte) *fixture {
	r.secrets.AddHeader(req.Header)
	r.secrets.AddHeader(resp.Header)
	if signed := resp.Request; signed != nil {
		r.secrets.AddHeader(signed.Header) // has the credentials that a transport below has added
	}
	_ = requestOf(req, body, &r.secrets) // only collects

	info, _ := fastio.CallFromContext(req.Context())
	f := &fixture{Op: info.Op}
	r.secrets.All = redact.Confidential(req.URL.Path) // every value in the body of the response is a secret
	f.Response = answered{
		Status:  resp.StatusCode,
		Content: contentOf(resp.Header.Get("Content-Type"), answer, &r.secrets),
	}
	r.secrets.All = false
	f.Response.Header = relevant(resp.Header, &r.secrets)

	f.Request = requestOf(req, body, &r.secrets)
	return f
}

// writeFile writes a file in the directory of the recorder, which it creates if it
// is missing. A name cannot lead out of the directory.
func (r *recorder) writeFile(name string, text []byte) error {
	const directory, file = 0o755, 0o644
	if err := os.MkdirAll(r.dir, directory); err != nil {
		return err
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return err
	}
	return errors.Join(root.WriteFile(name, text, file), root.Close())
}

// relevant returns the response headers that a fixture stores: those that a
// client uses.
func relevant(h http.Header, s *redact.Words) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		switch {
		case redact.Header(name): // a secret
		case name == "Content-Type", name == "Date", name == "Retry-After", name == "Allow",
			strings.HasPrefix(name, "X-Ve-Limit-"), strings.HasPrefix(name, "X-Rate-Limit-"):
			out[name] = s.Text(strings.Join(values, ", "))
		}
	}
	return out
}

// fileName returns the file name of a fixture without number and extension.
func fileName(f *fixture) string {
	name := f.Op
	if name == "" {
		name = f.Request.Method + f.Request.Path
	}
	name = strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, name)
	return strings.Trim(name, "-.")
}

// numbered returns the file name of exchange n with a name: "NAME.json", from
// the second one on "NAME-N.json".
func numbered(name string, n int) string {
	if n > 1 {
		name += "-" + strconv.Itoa(n)
	}
	return name + ".json"
}
