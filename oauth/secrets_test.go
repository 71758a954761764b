package oauth_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/oauth"
)

const (
	canary    = "canary-0123456789"
	canaryKey = "canary-key-of-32-bytes-012345678"
)

type output struct {
	bytes.Buffer

	everyVerb bool // of fmt, also those that mean nothing to it
}

func (o *output) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(o, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// print writes values in every way a program might, and what is in errors.
func (o *output) print(values ...any) {
	for _, v := range values {
		for verb := 'A'; verb <= 'z'; verb++ {
			for _, flags := range []string{"", "+", "#", "20", ".3"} {
				if o.everyVerb || strings.ContainsRune("vqsxd", verb) {
					fmt.Fprintf(o, "%"+flags+string(verb)+"\n", v)
				}
			}
		}
		if o.everyVerb {
			_ = gob.NewEncoder(o).Encode(v) // which may reject it
		}
		if b, err := json.Marshal(v); err == nil { // what cannot be marshalled shows nothing
			o.Write(b)
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(o, nil), slog.NewJSONHandler(o, nil)} {
			slog.New(h).Error("log", slog.Any("v", v))
		}
		err, _ := v.(error)
		if refusal, ok := errors.AsType[*api.Error](err); ok {
			o.Write(refusal.Body)
			fmt.Fprintf(o, "%+v", *refusal)
		}
		if err := errors.Unwrap(err); err != nil {
			o.print(err)
		}
	}
}

// shows reports a secret that was printed, as text or as numbers.
func (o *output) shows(t *testing.T, name, secret string) {
	t.Helper()
	out := o.String()
	for _, form := range []string{
		secret, url.QueryEscape(secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret),
		strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"), base64.StdEncoding.EncodeToString([]byte(secret)),
	} {
		if at := strings.Index(out, form); at >= 0 {
			t.Errorf("the %s shows: %s", name, out[max(0, at-200):at+len(form)])
		}
	}
}

// echo refuses by repeating all that it was sent.
type echo struct {
	status int
	bare   bool
}

func (e echo) says(r *http.Request) string {
	body := bodyOf(r)
	_, password, _ := r.BasicAuth()
	said := fmt.Sprint("You sent ", r.Method, " ", r.URL, " with ", r.Header["Authorization"], ", ", password, ", ", body)
	var answer any = map[string]any{"result": false, "error": map[string]any{
		"code": 10022, "text": said, "resource": r.Method + " " + r.URL.Path,
		"params": []any{map[string]any{"message": said}},
	}}
	if e.bare {
		answer = map[string]any{"error": "invalid_grant", "error_description": said, "error_uri": "https://a.test/?" + body}
	}
	b, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (e echo) RoundTrip(r *http.Request) (*http.Response, error) {
	return response(r, max(e.status, http.StatusOK), e.says(r)), nil
}

func TestNothingPrintsAToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := output{everyVerb: true}
		dir := t.TempDir()
		file := oauth.FileStore{Path: filepath.Join(dir, "tokens"), Keys: oauth.StaticKey([]byte(canaryKey))}
		c := oauth.Config{
			ClientID: "client", Logger: out.logger(), HTTPClient: &http.Client{Transport: echo{status: 400, bare: true}},
		}
		for _, store := range []oauth.Store{new(oauth.MemoryStore), file} {
			c.Store = store
			token := &oauth.Token{
				AccessToken: api.NewSecret(canary), RefreshToken: api.NewSecret("refresh-" + canary),
				Expiry: time.Now().Add(time.Hour),
			}
			save(t, store, c, token)
			source := oauth.TokenSource(storing(store, c))
			type holder struct {
				Source *oauth.Source
				Config oauth.Config
				inner  any
				store  oauth.Store
				source *oauth.Source
				config *oauth.Config
			}
			show := func() {
				synctest.Wait() // fmt reads a mutex without locking it
				h := holder{source, c, source, store, source, &c}
				out.print(store, &store, source, c, &c, h, &h, []any{h}, map[string]any{"h": h}, token, *token)
			}
			show()
			want(t, source, canary)
			show()
			for range 3 { // with the refusal, and with what is remembered of it
				_, err := source.Refresh(t.Context(), apiToken(canary))
				if !errors.Is(err, oauth.ErrSignInAgain) {
					t.Errorf("got %v", err)
				}
				out.print(err)
				show()
				time.Sleep(time.Minute)
			}
			out.print(oauth.SignOutEverywhere(t.Context(), storing(store, c)))
			show()
		}
		static := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: canary, RefreshToken: canary})
		s := api.NewSecret(canary)
		pkce := oauth.PKCE{Verifier: s, State: s}
		out.print(
			pkce, oauth.AuthorizationRequest{PKCE: pkce}, oauth.CompletedAuthorization{RedirectURI: s, Code: s},
			oauth.ExchangeRequest{Code: s, CodeVerifier: s}, oauth.RefreshRequest{RefreshToken: s}, apiToken(canary),
			oauth.Registration{AccessToken: s}, oauth.Key{Secret: s}, oauth.CreateKeyRequest{Code: s},
			oauth.UpdateKeyRequest{Code: s}, oauth.DeleteKeyOptions{Code: s}, oauth.TwoFactorSetup{BindingURI: s},
			map[any]int{apiToken(canary): 1, pkce: 2}, file.Keys, &file, oauth.KeyFile(filepath.Join(dir, "key")),
			over(t, echo{}), oauth.FromOAuth2(static), oauth.ToOAuth2(t.Context(), api.StaticToken(api.NewSecret(canary))),
		)
		if !strings.Contains(out.String(), "invalid_grant") || !strings.Contains(out.String(), "oauth.Refresh") {
			t.Error("nothing was printed")
		}
		out.shows(t, "token", canary)
		out.shows(t, "key", canaryKey)
	})
}

// No failure shows the secrets that were sent, also if the server repeats them.
// TestLifeOfAProgramShowsNoSecret has the calls of a sign-in.
func TestFailuresShowNoSecret(t *testing.T) {
	t.Parallel()
	const code = "12345678"
	limited, secret, typed := api.NewSecret("limited-"+canary), api.NewSecret(canary), api.NewSecret(code)
	for ending, network := range map[string]http.RoundTripper{
		"an echo": echo{status: 406}, "a bare echo": echo{status: 400, bare: true},
		"an echo of success": echo{status: 200}, "a bare echo of success": echo{status: 200, bare: true},
		"a broken connection": stub.Network(breakLoudly),
		"a wrong form":        &answering{body: `{"auth_token":{"a":"` + canary + `"},"id":["` + canary + `"]}`},
	} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			var out output
			s := over(t, network, fastio.WithLogger(out.logger()), fastio.WithRetry(fastio.RetryPolicy{Attempts: 1}))
			ctx := t.Context()
			out.print(
				fail(s.TwoFactor.Complete(ctx, limited, typed)), s.TwoFactor.VerifySetup(ctx, typed),
				s.TwoFactor.Disable(ctx, typed), s.TwoFactor.Send(ctx, limited, oauth.ChannelSMS),
				fail(s.SignIn(ctx, "ada@example.test", secret)), fail(s.Keys.Create(ctx, oauth.CreateKeyRequest{Code: typed})),
				s.Keys.Delete(ctx, "k", &oauth.DeleteKeyOptions{Code: typed}),
			)
			for _, secret := range []string{canary, code, "YWRhQGV4YW1wbGUudGVzdDpjYW5hcnk"} {
				out.shows(t, "secret", secret)
			}
			if !strings.Contains(out.String(), "oauth.Keys.Delete") {
				t.Error("nothing was logged")
			}
		})
	}
}

// From the registration to the sign-out, whichever step fails and however it does,
// no log, hook, error, dump or recording shows a secret that was sent or received.
func TestLifeOfAProgramShowsNoSecret(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		"register", "authorize", "exchange", "scopes", "update", "details", "refresh", "revoke", "sign-out",
	} {
		for ending, fault := range faultyEndings() {
			inBubble(t, step+" ends in "+ending, func(t *testing.T) { newLife(t, step, fault).lead(t) })
		}
	}
}

// faultyEndings are the ways in which a request can fail, given the network on
// which it would have succeeded.
func faultyEndings() map[string]func(next http.RoundTripper) http.RoundTripper {
	constant := func(network http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
		return func(http.RoundTripper) http.RoundTripper { return network }
	}
	changed := func(change func(body string) string) func(http.RoundTripper) http.RoundTripper {
		return func(next http.RoundTripper) http.RoundTripper { return rewriting(next, change) }
	}
	return map[string]func(http.RoundTripper) http.RoundTripper{
		"an echo":                      constant(echo{status: 406}),
		"an echo of a dead credential": constant(echo{status: 401}),
		"a bare echo":                  constant(echo{status: 400, bare: true}),
		"an echo with success":         constant(echo{status: 200}),
		"a bare echo with success":     constant(echo{status: 200, bare: true}),
		"a redirect to an echo":        constant(stub.Network(redirectToEcho)),
		"a broken connection":          constant(stub.Network(breakLoudly)),
		"no answer":                    constant(stub.Network(answerNothing)),
		"an answer cut short":          changed(func(body string) string { return body[:len(body)-1] }),
		"an answer in a list":          changed(func(body string) string { return "[" + body + "]" }),
		"an answer of lists": changed(
			strings.NewReplacer(`":"`, `":["`, `",`, `"],`, `"}`, `"]}`).Replace,
		),
	}
}

func redirectToEcho(r *http.Request) (*http.Response, error) {
	said := echo{}.says(r)
	resp := response(r, http.StatusTemporaryRedirect, said)
	resp.Header.Set("Location", "https://elsewhere.test/?said="+url.QueryEscape(said))
	return resp, nil
}

func answerNothing(r *http.Request) (*http.Response, error) {
	bodyOf(r)
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(2 * time.Hour): // the contexts of some calls do not end
		return nil, io.ErrUnexpectedEOF
	}
}

func breakLoudly(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: io.ErrUnexpectedEOF}
}

// life is a program from its registration to its sign-out, at a server that fails
// at one step.
type life struct {
	*scene

	step     string
	fault    func(next http.RoundTripper) http.RoundTripper
	out      output
	recorded string // a directory

	whole   atomic.Bool // the server does not fail for now
	mu      sync.Mutex
	secrets map[string][]string // that were sent or received, by their names there
}

// newLife must be called inside a bubble.
func newLife(t *testing.T, step string, fault func(http.RoundTripper) http.RoundTripper) *life {
	t.Helper()
	l := &life{scene: newScene(), step: step, fault: fault, recorded: t.TempDir(), secrets: map[string][]string{}}
	l.config.HTTPClient = &http.Client{Transport: fastiotest.Record(l.recorded, l)}
	l.config.AccessMode = oauth.AccessModeAdmin // so that the scopes are requested
	l.config.Logger = l.out.logger()
	return l
}

func (l *life) lead(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	g, err := l.login(ctx)
	if l.out.Len() == 0 {
		t.Error("nothing was logged")
	}
	l.out.print(g, err)
	if err != nil {
		l.whole.Store(true)
		l.place = newPlace(stub.Network(l.answer))
		g, err = l.login(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.out.print(g)
		l.whole.Store(false)
	}
	source := oauth.TokenSource(l.config)
	c, err := fastio.New(
		fastio.WithBaseURL(origin), fastio.WithHTTPClient(l.config.HTTPClient), fastio.WithTokenSource(source),
		fastio.WithLogger(l.config.Logger), fastio.WithHooks(api.Hooks{
			OnRetry:   func(_ context.Context, r api.RetryEvent) { l.out.print(r, r.Err) },
			OnWait:    func(_ context.Context, w api.WaitEvent) { l.out.print(w) },
			OnRefresh: func(_ context.Context, r api.RefreshEvent) { l.out.print(r, r.Err) },
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	token := api.NewSecret(clientOf(t, l.config.Store)["registration_token"].(string))
	update := oauth.UpdateRegistrationRequest{ClientID: g.ClientID, ClientName: "Acme"}
	r, err := c.OAuth.UpdateRegistration(t.Context(), token, update)
	l.out.print(r, err)
	me, err := c.Account.Me(t.Context())
	l.out.print(me, err)
	fresh, err := source.Refresh(t.Context(), g.Token.API())
	l.out.print(fresh, err)
	l.out.print(oauth.SignOutEverywhere(t.Context(), l.config), l.config)
	synctest.Wait() // fmt reads a mutex without locking it
	l.out.print(source)
	l.check(t)
}

// check requires that every secret was sent or received, and none is in the output.
func (l *life) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.shows(t, "port", "http://"+receiverHost)
	for _, id := range l.secrets["auth_request_id"] {
		l.out.shows(t, "login URL", id)
	}
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
	for _, name := range secretNames {
		if len(l.secrets[name]) == 0 {
			t.Errorf("no %s was sent or received", name)
		}
		for _, secret := range l.secrets[name] {
			l.out.shows(t, name, secret)
		}
	}
}

var secretNames = []string{
	"access_token", "refresh_token", "registration_access_token", "code", "code_verifier", "state",
}

// RoundTrip collects the secrets that pass.
func (l *life) RoundTrip(r *http.Request) (*http.Response, error) {
	body := bodyOf(r)
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(strings.NewReader(body))
	form, _ := url.ParseQuery(body) // which JSON is not
	l.collect(form)
	l.collect(r.URL.Query())
	collecting := rewriting(l.Server, func(body string) string {
		var answer map[string]any
		if json.Unmarshal([]byte(body), &answer) == nil {
			for name, v := range answer {
				l.collect(url.Values{name: {fmt.Sprint(v)}})
			}
		}
		return body
	})
	if l.whole.Load() || stepOf(r, form) != l.step {
		return collecting.RoundTrip(r)
	}
	return l.fault(collecting).RoundTrip(r)
}

func (l *life) collect(values url.Values) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, vs := range values {
		l.secrets[name] = append(l.secrets[name], vs...)
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
