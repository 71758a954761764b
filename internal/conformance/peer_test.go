package conformance_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// missing ends a test for want of a program: on a developer's machine it is
// skipped, but CI installs what is needed.
func missing(t *testing.T, sentence string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(sentence)
	}
	t.Skip(sentence)
}

// startPeer runs the other authorization server until the test ends and returns
// its address.
func startPeer(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node(t), filepath.Join("peer", "server.mjs"))
	var log bytes.Buffer
	cmd.Stderr = &log
	_, noInput := cmd.StdinPipe() // which ends with us, however we end
	stdout, noOutput := cmd.StdoutPipe()
	if err := cmp.Or(noInput, noOutput, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the context has killed it
		cmd.Wait()
		if t.Failed() {
			t.Logf("the other server said:\n%s", &log)
		}
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the other server does not start: %v", err)
	}
	return strings.TrimSpace(address)
}

// node returns the Node.js that came with the server, whose version it is made
// for, or else that of the system.
func node(t *testing.T) (path string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join("peer", "node_modules", "oidc-provider")); err != nil {
		missing(t, "This test needs another authorization server: run make conformance on a machine with npm.")
	}
	own, err := filepath.Glob(filepath.Join("peer", "node_modules", "node-*", "bin", "node"))
	if err == nil && len(own) > 0 {
		path, err = filepath.Abs(own[0])
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	path, err = exec.LookPath("node")
	if err != nil {
		missing(t, "This test needs Node.js.")
	}
	return path
}

// visitor is a person with a browser that follows every redirect.
type visitor struct {
	jar    http.CookieJar
	meet   func(callback *url.URL) // is called on the way back to the program; may be nil
	landed chan string             // the page at the end
}

func newVisitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{jar: jar, landed: make(chan string, 2)}
}

// refuse makes the visitor say no at a server.
func (v *visitor) refuse(server string) {
	u, err := url.Parse(server)
	if err != nil {
		panic(err)
	}
	v.jar.SetCookies(u, []*http.Cookie{{Name: "answer", Value: "deny"}})
}

// open is an oauth.Config.OpenBrowser.
func (v *visitor) open(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: v.jar, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: v.follow}
	a, err := browser.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	page, err := io.ReadAll(a.Body)
	v.landed <- string(page)
	return err
}

func (v *visitor) follow(r *http.Request, _ []*http.Request) error {
	if v.meet != nil && r.URL.Path == "/callback" {
		v.meet(r.URL)
	}
	return nil
}

// wire is the network, with an ear. It is an http.RoundTripper.
type wire struct {
	meddle    func(path string, form url.Values) // changes what is sent; may be nil
	transport http.Transport

	mu   sync.Mutex
	sent map[string][]url.Values
}

func newWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{sent: map[string][]url.Values{}}
	t.Cleanup(w.transport.CloseIdleConnections)
	return w
}

// RoundTrip sends r on.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return w.transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	path := r.URL.Path
	var form url.Values
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err = url.ParseQuery(string(body))
		if err != nil {
			return nil, err
		}
		if w.meddle != nil {
			w.meddle(path, form)
			body = []byte(form.Encode())
		}
	}
	if r.Header.Get("Authorization") != "" && !strings.Contains(path, "/current/") {
		return nil, errors.New("credentials go to " + path)
	}
	w.mu.Lock()
	w.sent[path] = append(w.sent[path], form)
	w.mu.Unlock()
	on := r.Clone(r.Context())
	on.Body, on.ContentLength, on.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return w.transport.RoundTrip(on)
}

// forms returns what was posted to a path, oldest first; a body that is no form
// is nil.
func (w *wire) forms(path string) []url.Values {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent[path])
}

// byHand returns a Service whose calls all go to one path of a server.
func byHand(t *testing.T, server, path string) *oauth.Service {
	t.Helper()
	client, err := fastio.New(fastio.WithBaseURL(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return oauth.New(detour{client, api.Path(path)})
}

type detour struct {
	api.Client

	path api.Route
}

// Call sends r down the path.
func (d detour) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	moved := *r
	moved.Path = d.path
	return d.Client.Call(ctx, &moved, out, opts...)
}
