package oauth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/oauth"
)

// From the registration to the sign-out, whichever step fails and however it
// does, no log, hook, error, dump or recording tells a secret that went over the
// wire.
func TestAWholeLifeTellsNoSecret(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"register", "authorize", "exchange", "scopes", "update", "details", "refresh", "revoke", "sign-out"} {
		for ending, fault := range faultyEndings() {
			t.Run(step+" ends in "+ending, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { newLife(t, step, fault).lead(t) })
			})
		}
	}
}

// faultyEndings are the ways in which a request can fail, given the network it
// would have succeeded on.
func faultyEndings() map[string]func(next http.RoundTripper) http.RoundTripper {
	constant := func(network http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
		return func(http.RoundTripper) http.RoundTripper { return network }
	}
	changed := func(change func(body string) string) func(http.RoundTripper) http.RoundTripper {
		return func(next http.RoundTripper) http.RoundTripper {
			return transportFunc(func(r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err != nil {
					return nil, err
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(change(string(body)))), -1
				resp.Header.Del("Content-Length")
				return resp, err
			})
		}
	}
	return map[string]func(http.RoundTripper) http.RoundTripper{
		"an echo":                      constant(echo{status: 406}),
		"an echo of a dead credential": constant(echo{status: 401}),
		"a bare echo":                  constant(echo{status: 400, bare: true}),
		"an echo with success":         constant(echo{status: 200}),
		"a bare echo with success":     constant(echo{status: 200, bare: true}),
		"a redirect to an echo":        constant(transportFunc(redirectToEcho)),
		"a broken line":                constant(transportFunc(breakLoudly)),
		"an answer cut short":          changed(func(body string) string { return body[:len(body)-1] }),
		"an answer in a list":          changed(func(body string) string { return "[" + body + "]" }),
		"an answer of lists": changed(func(body string) string {
			return strings.NewReplacer(`":"`, `":["`, `",`, `"],`, `"}`, `"]}`).Replace(body)
		}),
	}
}

func redirectToEcho(r *http.Request) (*http.Response, error) {
	resp, err := echo{status: http.StatusTemporaryRedirect}.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.Header.Set("Location", "https://elsewhere.test/?said="+url.QueryEscape(string(body)))
	return resp, err
}

func breakLoudly(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: io.ErrUnexpectedEOF}
}

// life is a program's, from its registration to its sign-out, at a server that
// fails at one step.
type life struct {
	*emulated

	step     string
	fault    func(next http.RoundTripper) http.RoundTripper
	out      bytes.Buffer // all that it tells
	recorded string       // a directory

	mu      sync.Mutex
	whole   bool                // the server does not fail for now
	secrets map[string][]string // that went over the wire, by the names they bear there
}

// newLife must be called inside a bubble.
func newLife(t *testing.T, step string, fault func(http.RoundTripper) http.RoundTripper) *life {
	t.Helper()
	l := &life{
		emulated: newEmulated(platformAddress, approve(fastiotest.Decision{})), step: step, fault: fault,
		recorded: t.TempDir(), secrets: map[string][]string{},
	}
	l.pages = make(chan page, 2) // of two sign-ins
	l.config.HTTPClient = &http.Client{Transport: fastiotest.Record(l.recorded, l)}
	l.config.AccessMode = oauth.AccessModeAdmin // so that the scopes are asked for
	l.config.Logger = slog.New(slog.NewJSONHandler(&l.out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return l
}

func (l *life) lead(t *testing.T) {
	t.Helper()
	g, err := l.login(t.Context())
	l.tell(g, err)
	if err != nil {
		l.heal(true)
		l.place = newPlace(nil)
		g, err = l.login(t.Context())
		l.tell(g, err)
		if err != nil {
			t.Fatal(err)
		}
		l.heal(false)
	}
	source := oauth.TokenSource(l.config.Store, l.config)
	c, err := fastio.New(
		fastio.WithBaseURL(platformAddress), fastio.WithHTTPClient(l.config.HTTPClient), fastio.WithTokenSource(source),
		fastio.WithLogger(l.config.Logger), fastio.WithHooks(l.hooks()),
	)
	if err != nil {
		t.Fatal(err)
	}
	token := api.NewSecret(load(t, l.config.Store)["client"].(map[string]any)["registration_token"].(string))
	r, err := c.OAuth.UpdateRegistration(t.Context(), token, oauth.UpdateRegistrationRequest{ClientID: g.ClientID, ClientName: "Acme"})
	l.tell(r, err)
	me, err := c.Account.Me(t.Context())
	l.tell(me, err)
	fresh, err := source.Refresh(t.Context(), g.Token.API())
	l.tell(fresh, err)
	l.tell(source, oauth.SignOut(t.Context(), l.config.Store, l.config))
	l.tell(l.config, nil)
	l.check(t)
}

func (l *life) hooks() api.Hooks {
	return api.Hooks{
		Retry:   func(_ context.Context, r api.Retry) { l.tell(r, r.Err) },
		Wait:    func(_ context.Context, w api.Wait) { l.tell(w, nil) },
		Refresh: func(_ context.Context, r api.Refresh) { l.tell(r, r.Err) },
	}
}

// tell prints all there is to print of a result.
func (l *life) tell(v any, err error) {
	l.print(v)
	for ; err != nil; err = errors.Unwrap(err) {
		l.print(err)
		if refusal, ok := errors.AsType[*api.Error](err); ok {
			l.print(*refusal)
			l.out.Write(refusal.Body)
		}
	}
}

func (l *life) print(v any) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%x", "%d"} {
		fmt.Fprintf(&l.out, verb+"\n", v)
	}
	if b, err := json.Marshal(v); err == nil { // what cannot be marshalled shows nothing
		l.out.Write(b)
	}
	l.config.Logger.Error("log", slog.Any("v", v))
}

func (l *life) heal(whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = whole
}

// check makes sure that every secret was there to be told, and none was.
func (l *life) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	recordings, err := filepath.Glob(filepath.Join(l.recorded, "*"))
	if err != nil || len(recordings) == 0 {
		t.Errorf("nothing was recorded: %v", err)
	}
	for _, name := range recordings {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		l.out.Write(b)
	}
	out := l.out.String()
	for _, name := range secretNames {
		if len(l.secrets[name]) == 0 {
			t.Errorf("no %s went over the wire", name)
		}
		for _, secret := range l.secrets[name] {
			for _, form := range []string{secret, url.QueryEscape(secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%d", []byte(secret))} {
				if at := strings.Index(out, form); at >= 0 {
					t.Errorf("the %s shows in %s", name, out[max(0, at-200):at+len(form)])
				}
			}
		}
	}
}

var secretNames = []string{"access_token", "refresh_token", "registration_access_token", "code", "code_verifier", "state"}

// RoundTrip listens to what goes over the wire.
func (l *life) RoundTrip(r *http.Request) (*http.Response, error) {
	var form url.Values
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		form, _ = url.ParseQuery(string(body)) // which JSON is not
	}
	l.overhear(form)
	l.overhear(r.URL.Query())
	heard := transportFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := l.Server.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(bytes.NewReader(body))
		var answer map[string]any
		if json.Unmarshal(body, &answer) == nil {
			for name, v := range answer {
				l.overhear(url.Values{name: {fmt.Sprint(v)}})
			}
		}
		return resp, err
	})
	l.mu.Lock()
	whole := l.whole
	l.mu.Unlock()
	if whole || stepOf(r, form) != l.step {
		return heard(r)
	}
	return l.fault(heard).RoundTrip(r)
}

func (l *life) overhear(values url.Values) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, vs := range values {
		if slices.Contains(secretNames, name) {
			l.secrets[name] = append(l.secrets[name], vs...)
		}
	}
}

// stepOf is the step of a life that a request belongs to.
func stepOf(r *http.Request, form url.Values) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch name := parts[len(parts)-1]; {
	case name == "register" && r.Method == http.MethodPut:
		return "update"
	case name == "token" && form.Get("grant_type") == "refresh_token":
		return "refresh"
	case name == "token":
		return "exchange"
	default:
		return name
	}
}
