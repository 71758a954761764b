package oauth_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// want asks for a token and compares it; "" stands for [oauth.ErrSignInAgain].
func want(t *testing.T, source *oauth.Source, token string) {
	t.Helper()
	got, err := source.Token(t.Context())
	wantToken(t, got, err, token)
}

func wantToken(t *testing.T, got api.Token, err error, token string) {
	t.Helper()
	switch {
	case token == "" && !errors.Is(err, oauth.ErrSignInAgain):
		t.Errorf("got %q and %v, want %v", got.AccessToken.Reveal(), err, oauth.ErrSignInAgain)
	case token == "" && strings.Count(err.Error(), "fastio: ") != 1:
		t.Errorf("the error names the module not once: %v", err)
	case token != "" && (err != nil || got.AccessToken.Reveal() != token):
		t.Errorf("got %q and %v, want %q", got.AccessToken.Reveal(), err, token)
	}
}

// wantRefreshed has a token replaced and compares the next.
func wantRefreshed(t *testing.T, source *oauth.Source, refused, token string) {
	t.Helper()
	got, err := source.Refresh(t.Context(), apiToken(refused))
	wantToken(t, got, err, token)
}

func apiToken(text string) api.Token { return api.Token{AccessToken: api.NewSecret(text)} }

func (s *session) holds(t *testing.T, want kept) {
	t.Helper()
	if diff := cmp.Diff(want, stored[kept](t, s.store)); diff != "" {
		t.Errorf("the store holds (-want +got):\n%s", diff)
	}
}

func together(n int, call func()) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(call)
	}
	wg.Wait()
}

func took(call func()) time.Duration {
	start := time.Now()
	call()
	return time.Since(start)
}

//nolint:thelper // its rows are tests
func TestTokenSource(t *testing.T) {
	t.Parallel()
	inSessions(t, sessionTests{
		"answers from memory": func(t *testing.T, s *session) {
			store := s.hook()
			together(1000, func() { want(t, s.source, "at-1") })
			if n := store.loads.Load(); n != 1 {
				t.Errorf("1000 callers read the store %d times", n)
			}
			s.wantPosts(t, 0)
		},
		"refreshes five minutes early": func(t *testing.T, s *session) {
			s.wantAfter(t, 55*time.Minute-time.Nanosecond, "at-1")
			s.wantAfter(t, time.Nanosecond, "at-2")
			form := url.Values{
				"grant_type": {"refresh_token"}, "client_id": {"client"}, "refresh_token": {"rt-1"},
				"resource": {"https://reader.test/"},
			}
			if diff := cmp.Diff([]url.Values{form}, s.posts); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			record := kept{Address: authAddress, Token: &keptToken{
				AccessToken: "at-2", RefreshToken: "rt-2", Scope: "org", Scopes: []string{"org:1234567890123456789:r"},
				Expiry: time.Now().Add(time.Hour), ClientID: "client", Resource: "https://reader.test/",
			}}
			record.Refresh.Rotates = true
			s.holds(t, record)
		},
		"keeps what the answer leaves out": func(t *testing.T, s *session) {
			s.silent, s.keeps = true, true
			record := stored[kept](t, s.store)
			expire(t, s.store)
			want(t, s.another(), "at-2")
			record.Token.AccessToken, record.Refresh.Keeps = "at-2", true
			s.holds(t, record)
		},
		"does not refresh with every call if tokens live for less than ten minutes": func(t *testing.T, s *session) {
			s.lifetime = 60
			expire(t, s.store)
			other := s.another()
			want(t, s.source, "at-2")
			want(t, other, "at-2")
			s.wantAfter(t, 29*time.Second, "at-2")
			s.wantAfter(t, time.Second, "at-3")
			want(t, other, "at-3")
			s.wantPosts(t, 2)
		},
		"returns a token without a refresh token until it ends": func(t *testing.T, s *session) {
			session := &oauth.Token{AccessToken: api.NewSecret("session"), Expiry: time.Now().Add(time.Hour)}
			save(t, s.store, s.config(), session)
			s.wantAfter(t, time.Hour-time.Nanosecond, "session")
			s.wantAfter(t, time.Nanosecond, "")
			save(t, s.store, s.config(), &oauth.Token{AccessToken: api.NewSecret("endless")})
			s.wantAfter(t, time.Hour, "endless") // until it is refused
			wantRefreshed(t, s.source, "endless", "")
			want(t, s.source, "")
			s.wantPosts(t, 0)
		},
		"stores scopes of an unknown form": func(t *testing.T, s *session) { // the refresh token is used up all the same
			s.via(rewriting(s, strings.NewReplacer(`["org:`, `["esign",{"id":1},"org:`).Replace))
			s.wantAfter(t, time.Hour, "at-2")
			s.wantAfter(t, time.Hour, "at-3")
			s.wantPosts(t, 2)
			scopes := []string{"esign", `{"id":1}`, "org:1234567890123456789:r"}
			if diff := cmp.Diff(scopes, stored[kept](t, s.store).Token.Scopes); diff != "" {
				t.Errorf("the stored scopes (-want +got):\n%s", diff)
			}
		},
		"reports the end of the session": func(t *testing.T, s *session) {
			record := stored[kept](t, s.store)
			s.ended = true
			s.wantAfter(t, 56*time.Minute, "at-1") // it may live on
			record.Refresh.Dead = true
			s.holds(t, record)
			time.Sleep(4 * time.Minute)
			for range 100 {
				s.wantAfter(t, 100*time.Millisecond, "")
			}
			s.wantPosts(t, 1)
			s.signIn(t)
			want(t, s.source, "at-2") // at once
			s.ended = true
			time.Sleep(time.Hour)
			if err := s.fails(t, oauth.ErrSignInAgain); codeOf(err) != oauth.CodeInvalidGrant {
				t.Errorf("the refusal is lost: %v", err)
			}
		},
		"rejects a record that it cannot read": func(t *testing.T, s *session) {
			for _, record := range []string{"", "{", `{"version":2}`, `{"version":1,"token":7}`, "null"} {
				put(t, s.store, defaultAccount, record)
				if _, err := s.another().Token(t.Context()); err == nil {
					t.Errorf("%q gave a token", record)
				}
				if got, err := s.store.Load(t.Context(), defaultAccount); string(got) != record || err != nil {
					t.Errorf("%q became %q, %v", record, got, err)
				}
			}
			for _, source := range []*oauth.Source{
				oauth.TokenSource(s.config()), oauth.TokenSource(oauth.Config{Store: s.store, BaseURL: "ftp://x"}),
			} {
				if _, err := source.Token(t.Context()); err == nil {
					t.Error("a source without a store or platform gave a token")
				}
			}
		},
		"sends nothing to another platform": func(t *testing.T, s *session) {
			record := stored[kept](t, s.store)
			time.Sleep(2 * time.Hour)
			for _, address := range []string{"https://api.other.test", "http://api.fast.test", "https://api.fast.test:8443"} {
				c := s.config()
				c.BaseURL = address
				source := oauth.TokenSource(storing(s.store, c))
				for _, err := range []error{
					stub.Err(source.Token(t.Context())), stub.Err(source.Refresh(t.Context(), apiToken("at-1"))),
				} {
					e, ok := errors.AsType[*oauth.PlatformError](err)
					if !ok || *e != (oauth.PlatformError{Account: defaultAccount, Stored: authAddress, Configured: address}) {
						t.Errorf("%s: got %v", address, err)
					}
				}
				want(t, source, "")
				if s.calls != nil {
					t.Errorf("calls %q", s.calls)
				}
			}
			s.wantPosts(t, 0)
			s.holds(t, record)
		},
		"keeps the token of another platform, which came in between": func(t *testing.T, s *session) {
			store := s.hook()
			want(t, s.source, "at-1")
			store.onLock = func() error {
				poke(t, store.Store, func(record members) { record["address"] = "https://api.other.test" })
				return nil
			}
			_, err := s.source.Refresh(t.Context(), apiToken("at-1"))
			if _, ok := errors.AsType[*oauth.PlatformError](err); !ok {
				t.Errorf("got %v", err)
			}
			s.wantPosts(t, 0)
		},
		"sends tokens to the server that issued them": func(t *testing.T, s *session) {
			expire(t, s.store)
			const issuer, revoke = "https://login.other.test/v2/oauth/token/?tenant=7", "https://login.other.test/v2/revoke/"
			poke(t, s.store, func(record members) { record["server"] = members{"token": issuer, "revoke": revoke} })
			var sent []string
			c := s.via(stub.Network(func(req *http.Request) (*http.Response, error) {
				sent = append(sent, req.URL.String())
				return s.RoundTrip(req)
			}))
			want(t, s.source, "at-2")
			if err := oauth.SignOut(t.Context(), storing(s.store, c)); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{issuer, revoke}, sent); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		},
		"requires a sign-in if the server that issued them has no TLS": func(t *testing.T, s *session) {
			expire(t, s.store)
			poke(t, s.store, func(record members) { record["server"] = members{"token": "http://login.other.test/token"} })
			want(t, s.source, "")
			want(t, s.source, "")
			s.wantPosts(t, 0)
			s.signIn(t)
			want(t, s.source, "at-2")
		},
	})
}

// A token of a platform without TLS is neither stored nor sent, unless the program says so.
func TestStoredTokenRequiresTLS(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		inBubble(t, strconv.FormatBool(allowed), func(t *testing.T) {
			var sent []string
			c := oauth.Config{
				BaseURL: "http://platform.test", AllowPlainHTTP: true, Store: new(oauth.MemoryStore), ClientID: "client",
				HTTPClient: &http.Client{Transport: stub.Network(func(r *http.Request) (*http.Response, error) {
					sent = append(sent, r.URL.Path)
					return response(r, http.StatusOK, `{"access_token":"at-2","expires_in":3600}`), nil
				})},
			}
			token := &oauth.Token{AccessToken: api.NewSecret("at-1"), RefreshToken: api.NewSecret("rt-1")}
			if err := oauth.Save(t.Context(), c, token); err != nil {
				t.Fatal(err)
			}
			c.AllowPlainHTTP = allowed // as in the next version of the program
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://platform.test/x", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			source := oauth.TokenSource(c)
			get := func() error {
				resp, err := source.HTTPClient().Do(request)
				if err == nil {
					err = resp.Body.Close()
				}
				return err
			}
			for what, err := range map[string]error{
				"the client": get(), "a refresh": stub.Err(source.Refresh(t.Context(), apiToken("at-1"))),
				"a save": oauth.Save(t.Context(), c, token), "the end": oauth.SignOutEverywhere(t.Context(), c),
			} {
				if e, refused := errors.AsType[*api.InputError](err); refused == allowed || refused && e.Field != "Config.BaseURL" {
					t.Errorf("%s: got %v", what, err)
				}
			}
			if allowed == (sent == nil) {
				t.Errorf("sent to %q", sent)
			}
		})
	}
}

func TestTokenSourceAllocatesNothing(t *testing.T) { //nolint:paralleltest // it counts allocations of the whole process
	var s authServer
	store := new(oauth.MemoryStore)
	s.login(t, store, s.config())
	source := oauth.TokenSource(storing(store, s.config()))
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _, _ = source.Token(ctx) }); n != 0 {
		t.Errorf("a token from memory costs %v allocations", n)
	}
}

// A refresh fails once. What follows depends on what the failure says about the
// refresh token, and on what earlier refreshes have shown of the server.
func TestTokenSourceAfterAFailedRefresh(t *testing.T) {
	t.Parallel()
	const (
		notUsed = "not used" // the server has not used the refresh token
		lost    = "lost"     // it may have
		replied = "replied"  // it has, and the response holds the one to use from then on
	)
	faults := map[string]struct {
		fault, says string
		consumed    bool // the server did use the refresh token
	}{
		"there is no connection":                   {fault: faultDial, says: notUsed},
		"the request is malformed":                 {fault: "400", says: notUsed},
		"the server is too slow to read":           {fault: "408", says: notUsed},
		"there were too many requests":             {fault: "429", says: notUsed},
		"a proxy refuses with a page":              {fault: "403 <html>", says: notUsed},
		"the server is down for maintenance":       {fault: "503", says: notUsed},
		"the server breaks down, by its own word":  {fault: `500 {"error":"server_error"}`, says: notUsed},
		"the platform reports a failure":           {fault: `500 {"result":false,"error":{"code":10022}}`, says: notUsed},
		"the platform reports one without a code":  {fault: `502 {"result":"no"}`, says: notUsed},
		"an OAuth error has a status of success":   {fault: `200 {"error":"slow_down"}`, says: notUsed},
		"a failure has a status of success":        {fault: `200 {"result":false,"error":{"code":10368}}`, says: notUsed},
		"a failure has another status of success":  {fault: `202 {"result":"no","error":{"text":"wait"}}`, says: notUsed},
		"a gateway finds no server":                {fault: "503 <html>", says: lost},
		"the server breaks down":                   {fault: "500 \n", says: lost},
		"the framework of the server breaks down":  {fault: `500 {"error":"Internal Server Error"}`, says: lost},
		"a gateway breaks down":                    {fault: faultGateway, says: lost},
		"the edge rejects the answer":              {fault: `404 {"result":false,"error":{"code":90211}}`, says: lost},
		"the edge rejects the answer by name":      {fault: `200 {"result":false,"error":{"error_code":"errNoVeHeader"}}`, says: lost},
		"a gateway times out":                      {fault: `504 {"message":"timeout"}`, says: lost},
		"the server redirects":                     {fault: "307 \n", says: lost},
		"no answer comes":                          {fault: faultHang, says: lost},
		"the answer is lost":                       {fault: faultLost, says: lost, consumed: true},
		"the answer is cut short":                  {fault: faultCut, says: lost, consumed: true},
		"a proxy answers with a page":              {fault: "200 \n<!DOCTYPE html>", says: lost},
		"the answer is empty":                      {fault: "200 \n", says: lost},
		"the answer has no content":                {fault: "204 \n", says: lost},
		"the answer is a list":                     {fault: "200 []", says: lost},
		"the answer is null":                       {fault: "200 null", says: lost},
		"the answer holds neither token nor error": {fault: `200 {"error":false}`, says: lost},
		"the response holds no token":              {fault: faultNoToken, says: lost, consumed: true},
		"the token is of no use":                   {fault: faultOdd, says: replied, consumed: true},
	}
	for name, f := range faults {
		for _, keeps := range []bool{true, false} {
			for _, known := range []bool{true, false} {
				inBubble(t, fmt.Sprintf("%s, keeps %v, known %v", name, keeps, known), func(t *testing.T) {
					heals := f.says != lost || keeps || !f.consumed
					posts, reused := 1, 0
					if heals || f.says == lost {
						posts = 2
					}
					if !heals && posts == 2 {
						reused = 1
					}
					s := newSession(t, new(oauth.MemoryStore))
					s.keeps = keeps
					if known {
						s.wantAfter(t, 55*time.Minute, "at-2")
					}
					before := stored[kept](t, s.store)
					earlier, _ := s.count()
					time.Sleep(55 * time.Minute)
					s.fail(f.fault)
					want(t, s.source, before.Token.AccessToken) // which is good for five more minutes
					expected := before
					expected.Refresh.Pending = f.says == lost
					if f.says == replied {
						expected.Token.RefreshToken = refreshToken(s.valid)
						expected.Refresh.Keeps, expected.Refresh.Rotates = keeps, !keeps
					}
					if diff := cmp.Diff(expected, stored[kept](t, s.store)); diff != "" {
						t.Errorf("the store holds (-want +got):\n%s", diff)
					}
					time.Sleep(4 * time.Minute)
					if heals {
						want(t, s.source, accessToken(s.n+1))
					} else {
						want(t, s.source, before.Token.AccessToken)
						other := s.another() // as after a restart
						want(t, other, before.Token.AccessToken)
						s.wantAfter(t, time.Minute, "")
						want(t, other, "")
						s.signIn(t)
						want(t, s.source, accessToken(s.n))
					}
					if n, r := s.count(); n-earlier != posts || r != reused {
						t.Errorf("%d requests, %d with a used token; want %d and %d", n-earlier, r, posts, reused)
					}
				})
			}
		}
	}
}

//nolint:thelper // its rows are tests
func TestTokenSourceAfterFailures(t *testing.T) {
	t.Parallel()
	inSessions(t, sessionTests{
		"a refusal of the further send does not use it up": func(t *testing.T, s *session) {
			time.Sleep(time.Hour)
			s.fail(faultGateway, "429", faultDial)
			for range 3 {
				if _, err := s.source.Token(t.Context()); err == nil || errors.Is(err, oauth.ErrSignInAgain) {
					t.Errorf("got %v", err)
				}
				time.Sleep(time.Minute)
			}
			want(t, s.source, "at-2")
			s.wantPosts(t, 4)
		},
		"a response without a usable token and refresh token leaves that of the request": func(t *testing.T, s *session) {
			s.keeps, s.silent = true, true
			time.Sleep(time.Hour)
			s.fail(faultOdd)
			_, err := s.source.Token(t.Context())
			if err == nil || errors.Is(err, oauth.ErrSignInAgain) || !strings.Contains(err.Error(), "cannot be used") {
				t.Errorf("got %v", err)
			}
			s.wantAfter(t, time.Minute, "at-3")
			s.wantPosts(t, 2)
		},
		// An outage that loses an answer may last.
		"the further send waits while the access token is good": func(t *testing.T, s *session) {
			s.keeps = true
			time.Sleep(55 * time.Minute)
			s.fail(faultGateway)
			other := s.another()
			want(t, s.source, "at-1")
			s.wantAfter(t, 30*time.Second-time.Nanosecond, "at-1")
			want(t, other, "at-1")
			s.wantPosts(t, 1)
			time.Sleep(30 * time.Second) // the longest pause between two attempts
			want(t, s.source, "at-2")
			s.wantPosts(t, 2)
		},
		// A network that swallows packets holds the dial until the call ends.
		"without a connection the refresh token is unused": func(t *testing.T, s *session) {
			time.Sleep(time.Hour)
			s.via(&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				time.Sleep(time.Minute)
				return nil, errors.New("timeout")
			}})
			d := took(func() { s.fails(t, context.DeadlineExceeded) })
			if d != 30*time.Second || stored[kept](t, s.store).Refresh.Pending {
				t.Errorf("the call took %v, and the store holds %+v", d, stored[kept](t, s.store))
			}
			time.Sleep(time.Minute)
			want(t, s.another(), "at-2")
		},
		"callers share a failure, and the source backs off": func(t *testing.T, s *session) {
			time.Sleep(time.Hour)
			s.fail("503", "503", "503", "503", "503", "503", "503", "503")
			together(50, func() { s.fails(t, api.ErrUnavailable) })
			s.wantPosts(t, 1)
			const tick = 10 * time.Millisecond
			end := time.Now().Add(3 * time.Minute)
			for err := api.ErrUnavailable; err != nil && time.Now().Before(end); time.Sleep(tick) {
				if d := took(func() { _, err = s.source.Token(t.Context()) }); d != 0 {
					t.Errorf("a caller waited %v", d)
				}
			}
			want(t, s.source, "at-2")
			s.wantPosts(t, 9)
			for i, most := range []float64{1, 2, 4, 8, 16, 30, 30, 30} {
				if pause := s.times[i+1].Sub(s.times[i]); pause < time.Second || (pause-tick).Seconds() > most {
					t.Errorf("pause %d was %v, want 1s to %vs", i+1, pause, most)
				}
			}
		},
		"Retry-After is the shortest pause": func(t *testing.T, s *session) {
			time.Sleep(56 * time.Minute)
			s.via(stub.Network(func(req *http.Request) (*http.Response, error) {
				resp, err := s.RoundTrip(req)
				if err == nil && resp.StatusCode == http.StatusTooManyRequests {
					resp.Header.Set("Retry-After", "40")
				}
				return resp, err
			}))
			s.fail("429")
			want(t, s.source, "at-1")
			s.wantAfter(t, 39*time.Second, "at-1")
			s.wantPosts(t, 1)
			s.wantAfter(t, 2*time.Second, "at-2")
		},
		"what another process has refreshed ends the pause": func(t *testing.T, s *session) {
			time.Sleep(time.Hour)
			s.fail("503")
			s.fails(t, api.ErrUnavailable)
			want(t, s.another(), "at-2")
			s.wantAfter(t, time.Second, "at-2")
			s.wantPosts(t, 2)
		},
		"a refused token is not returned, however long it would last": func(t *testing.T, s *session) {
			s.fail("503")
			if _, err := s.source.Refresh(t.Context(), apiToken("at-1")); !errors.Is(err, api.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
			s.fails(t, api.ErrUnavailable)
			s.wantAfter(t, 1500*time.Millisecond, "at-2")
			s.wantPosts(t, 2)
		},
		"a server that issues the refused token again causes no loop": func(t *testing.T, s *session) {
			s.set(func() { s.n = 0 })
			for range 10 {
				_, err := s.source.Refresh(t.Context(), apiToken("at-1"))
				if err == nil || errors.Is(err, oauth.ErrSignInAgain) {
					t.Errorf("got %v", err)
				}
			}
			s.wantPosts(t, 1)
		},
	})
	// What a server does with refresh tokens decides how often a lost answer is asked
	// for. One that has rotated may do so again.
	for name, tc := range map[string]struct {
		keeps []bool // at the refreshes before
		token string // after the outage
		posts int    // since it began
	}{
		"a server that returns the token": {[]bool{true}, "at-3", 6},
		"a server that rotates":           {[]bool{false}, "", 2},
		"a server that has rotated once":  {[]bool{false, true}, "", 2},
		"an unknown server":               {nil, "", 2},
	} {
		inSessions(t, sessionTests{"many lost answers of " + name: func(t *testing.T, s *session) {
			for n, keeps := range tc.keeps {
				s.set(func() { s.keeps = keeps })
				s.wantAfter(t, time.Hour, accessToken(n+2))
			}
			s.fail(faultGateway, faultGateway, faultHang, faultGateway, faultGateway)
			time.Sleep(time.Hour)
			together(8, func() { // processes
				source := s.another()
				for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
					_, _ = source.Token(t.Context())
				}
				want(t, source, tc.token)
			})
			s.wantPosts(t, len(tc.keeps)+tc.posts)
		}})
	}
	for _, code := range []string{oauth.CodeInvalidClient, oauth.CodeUnauthorizedClient} {
		inSessions(t, sessionTests{"the next Login registers anew after " + code: func(t *testing.T, s *session) {
			poke(t, s.store, func(record members) { record["client"] = members{"id": "client"} })
			network := &answering{status: 401, body: `{"error":"` + code + `"}`}
			s.via(network)
			s.wantAfter(t, time.Hour, "")
			s.wantAfter(t, time.Hour, "")
			if k := stored[kept](t, s.store); k.Client.ID != "" || len(network.requests) != 1 {
				t.Errorf("after %d requests the store holds the registration %q", len(network.requests), k.Client.ID)
			}
		}})
	}
}

// sleeper is a connection to a machine that has slept: what was open before is dead,
// without a reset.
type sleeper struct {
	net.Conn

	dead, closed *atomic.Bool
}

func (c sleeper) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c sleeper) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

func TestRefreshHasAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, here := &session{store: new(oauth.MemoryStore)}, newPlace(nil)
		_, _ = here.listen(t.Context(), 0)
		server := &http.Server{Handler: &httputil.ReverseProxy{Transport: s, Rewrite: func(*httputil.ProxyRequest) {}}}
		go server.Serve(here)
		defer server.Close()
		var conns []sleeper
		network := &http.Transport{DialContext: func(ctx context.Context, kind, address string) (net.Conn, error) {
			conn, err := here.dial(ctx, kind, address)
			conns = append(conns, sleeper{conn, new(atomic.Bool), new(atomic.Bool)})
			return conns[len(conns)-1], err
		}}
		defer network.CloseIdleConnections()
		c := s.via(network)
		c.BaseURL = "http://" + receiverHost
		s.login(t, s.store, c)
		source := oauth.TokenSource(storing(s.store, c))
		resp, err := c.HTTPClient.Get(c.BaseURL)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		time.Sleep(time.Hour)
		conns[0].dead.Store(true)
		if d := took(func() { want(t, source, "at-2") }); d != 0 {
			t.Errorf("a refresh took %v", d)
		}
		s.wantPosts(t, 1)
		if len(conns) != 2 || !conns[1].closed.Load() || conns[0].closed.Load() {
			t.Errorf("the program has %d connections after the refresh", len(conns))
		}
	})
}

// The functions of a transport that was configured for HTTP/2 use its connections.
func TestRefreshSharesNoHTTP2Connection(t *testing.T) {
	t.Parallel()
	var s session
	var proto string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto = r.Proto
		(&httputil.ReverseProxy{Transport: &s, Rewrite: func(*httputil.ProxyRequest) {}}).ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	network := server.Client().Transport.(*http.Transport).Clone()
	network.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{
		"h2": func(string, *tls.Conn) http.RoundTripper {
			return stub.Network(func(*http.Request) (*http.Response, error) { return nil, errors.New("a dead connection") })
		},
	}
	s.store = new(oauth.MemoryStore)
	c := s.via(network)
	c.BaseURL = server.URL
	s.login(t, s.store, c)
	wantRefreshed(t, oauth.TokenSource(storing(s.store, c)), "at-1", "at-2")
	if proto != "HTTP/2.0" {
		t.Errorf("the refresh was sent with %s", proto)
	}
}

// What a transport of others does with connections is its own affair.
func TestRefreshThroughAnotherTransport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, new(oauth.MemoryStore))
		s.via(stub.Network(func(req *http.Request) (*http.Response, error) {
			if !req.Close {
				t.Error("the connection is kept")
			}
			return s.RoundTrip(req)
		}))
		wantRefreshed(t, s.source, "at-1", "at-2")
	})
}

//nolint:thelper // its rows are tests
func TestRefreshOfARefusedToken(t *testing.T) {
	t.Parallel()
	inSessions(t, sessionTests{
		"is made once": func(t *testing.T, s *session) {
			store := s.hook()
			other := s.another()
			want(t, s.source, "at-1")
			want(t, other, "at-1")
			together(50, func() {
				var wg sync.WaitGroup
				wg.Go(func() { wantRefreshed(t, s.source, "at-1", "at-2") })
				wantRefreshed(t, other, "at-1", "at-2")
				wg.Wait()
			})
			want(t, s.source, "at-2")
			loads := store.loads.Load()
			wantRefreshed(t, s.source, "at-1", "at-2") // the news is old by then
			if n := store.loads.Load(); n != loads {
				t.Errorf("the store was read %d times for a token that is no longer in use", n-loads)
			}
			s.wantPosts(t, 1)
		},
		// A call that began before the refusal returns the refused token. The callers that
		// were refused it wait for the next.
		"follows a call that began before": func(t *testing.T, s *session) {
			store := s.hook()
			store.onLoad = func() error { time.Sleep(time.Second); return nil }
			var wg sync.WaitGroup
			wg.Go(func() { want(t, s.source, "at-1") })
			synctest.Wait()
			together(10, func() { wantRefreshed(t, s.source, "at-1", "at-2") })
			wg.Wait()
			want(t, s.source, "at-2")
			s.wantPosts(t, 1)
			if n := store.loads.Load(); n != 2 {
				t.Errorf("the store was read %d times", n)
			}
		},
	})
}

// Sources treat the kinds of store differently.
func TestTokenSourceNoticesSignIns(t *testing.T) {
	t.Parallel()
	for within, store := range map[time.Duration]oauth.Store{ // it takes to notice what another process changes
		time.Second:      new(oauth.MemoryStore),
		time.Second + 1:  fileStore(t), // a key of its own
		10 * time.Second: newHookedStore(),
	} {
		table.Bubbles(t, map[string]oauth.Store{fmt.Sprintf("%T", store): store}, func(t *testing.T, store oauth.Store) {
			s := &session{store: store}
			s.source = s.another()
			for _, token := range []string{"at-1", "at-2", "at-3"} {
				want(t, s.source, "")
				s.signIn(t)
				want(t, s.source, token)
				if err := oauth.SignOut(t.Context(), storing(store, s.config())); err != nil {
					t.Error(err)
				}
			}
			for _, token := range []string{"at-4", "at-5"} {
				s.signIn(t)
				want(t, s.source, token)
			}
			var token any
			poke(t, store, func(record members) {
				token = record["token"]
				token.(members)["access_token"] = "at-other"
			})
			s.wantAfter(t, within, "at-other")
			poke(t, store, func(record members) { delete(record, "token") })
			s.wantAfter(t, within, "")
			poke(t, store, func(record members) { record["token"] = token })
			if within == 10*time.Second { // any other store is asked at once
				time.Sleep(time.Second)
			}
			want(t, s.source, "at-other")
			s.wantPosts(t, 0)
		})
	}
}

// Sign-ins are counted as long as there is a source to notice them.
func TestTokenSourcesLeakNothing(t *testing.T) { //nolint:paralleltest // it runs the garbage collector
	type notComparable struct {
		oauth.Store

		_ []int
	}
	file := fileStore(t)
	memory, other := new(oauth.MemoryStore), oauth.FileStore{Path: file.Path, Keys: oauth.StaticKey(make([]byte, 32))}
	for _, pair := range [][2]oauth.Store{
		{memory, memory}, {file, other}, {notComparable{Store: file}, notComparable{Store: other}},
	} {
		first := oauth.TokenSource(oauth.Config{Store: pair[0]})
		second := oauth.TokenSource(oauth.Config{Store: pair[1]})
		if !oauth.HasSources(pair[0], defaultAccount) {
			t.Errorf("%T: a source is not known", pair[0])
		}
		runtime.KeepAlive(first)
		for range 3 { // more than the collector takes
			runtime.GC()
		}
		if !oauth.HasSources(pair[0], defaultAccount) {
			t.Errorf("%T: with the first source the second is forgotten", pair[0])
		}
		runtime.KeepAlive(second)
		for oauth.HasSources(pair[0], defaultAccount) {
			runtime.GC()
		}
	}
	c := oauth.Config{Store: memory}
	save(t, memory, c, &oauth.Token{AccessToken: api.NewSecret("at")})
	if err := oauth.SignOut(t.Context(), c); err != nil || oauth.HasSources(memory, defaultAccount) {
		t.Errorf("a sign-out without a source ends with %v, and is remembered: %t", err, oauth.HasSources(memory, defaultAccount))
	}
}

type countingKeys struct {
	oauth.KeyStore

	loads atomic.Int64
}

func (k *countingKeys) LoadKey(ctx context.Context) ([]byte, error) {
	k.loads.Add(1)
	return k.KeyStore.LoadKey(ctx)
}

// A store that has not changed is not read again, least of all its key, which may
// be a question to a keyring.
func TestTokenSourceWithoutATokenAsksNoKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := fileStore(t)
		keys := &countingKeys{KeyStore: store.Keys}
		store.Keys = keys
		s := newSession(t, store)
		if err := oauth.SignOut(t.Context(), storing(store, s.config())); err != nil {
			t.Fatal(err)
		}
		before := keys.loads.Load()
		source := s.source
		other := s.hook()
		for range 100 {
			s.wantAfter(t, 10*time.Millisecond, "")
			want(t, source, "")
		}
		if n, m := other.loads.Load(), keys.loads.Load()-before; m != n+1 || n > 2 {
			t.Errorf("in a second the key was read %d times, %d of them by a store of another package", m, n)
		}
	})
}

//nolint:thelper // its rows are tests
func TestTokenSourceWaits(t *testing.T) {
	t.Parallel()
	inSessions(t, sessionTests{
		"as long as another process takes": func(t *testing.T, s *session) {
			time.Sleep(time.Hour)
			hold(s.store, func(record string) string {
				time.Sleep(29 * time.Second)
				next := time.Now().Add(time.Hour).Format(time.RFC3339)
				record = strings.ReplaceAll(record, "at-1", "at-other")
				return regexp.MustCompile(`"expiry":"[^"]*"`).ReplaceAllString(record, `"expiry":"`+next+`"`)
			})
			want(t, s.source, "at-other")
			s.wantPosts(t, 0)
		},
		// A process that holds the store and hangs holds callers up for ten seconds while
		// the old token is good, and else as long as their contexts allow.
		"for a process that hangs": func(t *testing.T, s *session) {
			time.Sleep(58 * time.Minute)
			release := lock(t, s.store, defaultAccount).Unlock
			if d := took(func() { want(t, s.source, "at-1") }); d != 10*time.Second {
				t.Errorf("a good token took %v", d)
			}
			time.Sleep(110 * time.Second)
			for _, bound := range []time.Duration{time.Minute, 5 * time.Minute} {
				ctx, cancel := context.WithTimeout(t.Context(), bound)
				defer cancel()
				var err error
				d := took(func() { _, err = s.source.Token(ctx) })
				if !errors.Is(err, context.DeadlineExceeded) || d != min(bound, 2*time.Minute) {
					t.Errorf("after %v: %v", d, err)
				}
			}
			release()
			s.wantAfter(t, 30*time.Second, "at-2")
			s.wantPosts(t, 1)
		},
		"no longer than its callers": func(t *testing.T, s *session) {
			store := s.hook()
			time.Sleep(time.Hour)
			release := lock(t, store, defaultAccount).Unlock
			s.abandoned(t, func() {
				if n := store.waiting.Load(); n != 2 {
					t.Errorf("%d goroutines edit the store or wait for it, want 2", n)
				}
			})
			if n := store.waiting.Load(); n != 1 {
				t.Errorf("without a caller, %d goroutines edit the store or wait for it, want 1", n)
			}
			release()
		},
		// A caller that joins a refresh the others have just left does not get their
		// context's error.
		"for a caller that comes when others leave": func(t *testing.T, s *session) {
			store := s.hook()
			time.Sleep(time.Hour)
			store.onLoad = func() error { time.Sleep(time.Second); return nil }
			s.abandoned(t, func() {})
			want(t, s.source, "at-2")
			s.wantPosts(t, 1)
		},
	})
	for name, hinder := range map[string]func(t *testing.T, s *session) (release func()){
		"another process refreshes": func(t *testing.T, s *session) func() { return lock(t, s.store, defaultAccount).Unlock },
		"the request is under way":  func(_ *testing.T, s *session) func() { s.fail(faultHang); return func() {} },
	} {
		inSessions(t, sessionTests{"no longer than the context while " + name: func(t *testing.T, s *session) {
			s.keeps = true
			poke(t, s.store, func(record members) { record["refresh"] = members{"keeps": true} })
			time.Sleep(time.Hour)
			release := hinder(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			together(1000, func() {
				var err error
				d := took(func() { _, err = s.source.Token(ctx) })
				if !errors.Is(err, context.Canceled) || d != time.Second {
					t.Errorf("got %v after %v", err, d)
				}
			})
			for _, err := range []error{
				stub.Err(s.source.Token(ctx)), stub.Err(s.source.Refresh(ctx, apiToken("at-1"))),
			} {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("with an ended context: %v", err)
				}
			}
			release()
			s.wantAfter(t, time.Minute, "at-2") // the refresh did not end with the callers
		}})
	}
	// A refresh does not end with its callers: its answer would be lost.
	for name, pause := range map[string]time.Duration{"the first caller leaves": 0, "all callers leave": time.Minute} {
		inSessions(t, sessionTests{"for the answer when " + name: func(t *testing.T, s *session) {
			time.Sleep(time.Hour)
			s.via(stub.Network(func(req *http.Request) (*http.Response, error) {
				resp, err := s.RoundTrip(req)
				select {
				case <-time.After(time.Second):
					return resp, err
				case <-req.Context().Done():
					return nil, req.Context().Err()
				}
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			go s.source.Token(ctx)
			synctest.Wait()
			time.Sleep(pause)
			want(t, s.source, "at-2")
			s.wantPosts(t, 1)
		}})
	}
}

// abandoned is a call whose context ends once it waits.
func (s *session) abandoned(t *testing.T, waits func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go s.source.Token(ctx)
	synctest.Wait()
	waits()
	cancel()
	synctest.Wait()
}

// hold locks the record as another process does, until edit returns what it saves.
func hold(store oauth.Store, edit func(record string) string) {
	ctx := context.Background()
	r, err := store.Lock(ctx, defaultAccount)
	if err != nil {
		panic(err)
	}
	go func() {
		defer r.Unlock()
		if err := r.Save(ctx, []byte(edit(string(r.Data())))); err != nil {
			panic(err)
		}
	}()
}

//nolint:thelper // its rows are tests
func TestTokenSourceWithAFailingStore(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	inSessions(t, sessionTests{
		"returns a renewed token once it is written": func(t *testing.T, s *session) {
			time.Sleep(56 * time.Minute)
			failures := 3
			s.hook().onSave = func(_ int, write func() error) error {
				if posts, _ := s.count(); posts > 0 && failures > 0 {
					failures--
					return full
				}
				return write()
			}
			want(t, s.source, "at-1")
			if k := stored[kept](t, s.store); k.Token.AccessToken != "at-1" || !k.Refresh.Pending {
				t.Errorf("the store holds %+v, %+v", k.Token, k.Refresh)
			}
			if _, err := s.source.Refresh(t.Context(), apiToken("at-1")); !errors.Is(err, full) {
				t.Errorf("got %v", err)
			}
			for range 2 {
				time.Sleep(time.Minute)
				s.fails(t, full)
			}
			s.wantAfter(t, time.Minute, "at-2")
			s.wantPosts(t, 1)
			if k := stored[kept](t, s.store); k.Token.RefreshToken != "rt-2" || k.Refresh.Pending {
				t.Errorf("the store holds %+v, %+v", k.Token, k.Refresh)
			}
			s.wantAfter(t, time.Hour, "at-3")
		},
		"forgets a token that was not written before a sign-in": func(t *testing.T, s *session) {
			store := s.hook()
			time.Sleep(time.Hour)
			store.onSave = func(save int, write func() error) error {
				if save == 2 {
					return full
				}
				return write()
			}
			s.fails(t, full)
			s.signIn(t)
			store.onSave = nil
			s.wantAfter(t, 2*time.Second, "at-3")
			s.wantAfter(t, time.Hour, "at-4")
			s.wantPosts(t, 2)
		},
		"sends nothing that is not noted first": func(t *testing.T, s *session) {
			time.Sleep(time.Hour)
			s.hook().onSave = func(int, func() error) error { return full }
			s.fails(t, full)
			s.wantPosts(t, 0)
		},
		"returns a good token if the store cannot be read": func(t *testing.T, s *session) {
			store := s.hook()
			want(t, s.source, "at-1")
			store.onLoad = func() error { return full }
			s.wantAfter(t, time.Hour-time.Second, "at-1")
			time.Sleep(time.Second)
			s.fails(t, full)
			store.onLoad = nil
			s.wantAfter(t, time.Second, "at-2")
		},
	})
}

func BenchmarkToken(b *testing.B) {
	for name, store := range map[string]oauth.Store{
		"memory": new(oauth.MemoryStore), "file": fileStore(b), "other": newHookedStore(),
	} {
		for _, signedIn := range []bool{true, false} {
			c := oauth.Config{ClientID: "client", Account: strconv.FormatBool(signedIn)}
			if signedIn {
				token := &oauth.Token{
					AccessToken: api.NewSecret("at"), RefreshToken: api.NewSecret("rt"), Expiry: time.Now().Add(24 * time.Hour),
				}
				save(b, store, c, token)
			}
			b.Run(fmt.Sprintf("store=%s/signed-in=%v", name, signedIn), func(b *testing.B) {
				source := oauth.TokenSource(storing(store, c))
				b.ReportAllocs()
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						if _, err := source.Token(b.Context()); (err == nil) != signedIn {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}
