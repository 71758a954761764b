package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

const (
	revokeCall  = "POST api.fast.test/current/oauth/revoke/ token=rt-1"
	signOutCall = "POST api.fast.test/current/user/auth/sign-out/ at-1"
)

// signOut signs out and requires the calls that it makes.
func (s *session) signOut(ctx context.Context, t *testing.T, calls ...string) error {
	t.Helper()
	return s.endBy(ctx, t, oauth.SignOut, calls...)
}

func (s *session) endBy(
	ctx context.Context, t *testing.T, end func(context.Context, oauth.Config) error, calls ...string,
) error {
	t.Helper()
	err := end(ctx, storing(s.store, s.config()))
	if diff := cmp.Diff(calls, s.calls); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	return err
}

//nolint:thelper // its rows are tests
func TestSignOut(t *testing.T) {
	t.Parallel()
	one, both := []string{revokeCall}, []string{revokeCall, signOutCall}
	for name, tt := range map[string]struct {
		everywhere bool
		faults     []string
		calls      []string
		want       error
	}{
		"of this program":                      {false, nil, one, nil},
		"the server refuses to revoke":         {false, []string{"400"}, one, api.ErrInvalid},
		"the server is unavailable for a time": {false, []string{"503", ""}, []string{revokeCall, revokeCall}, nil},
		"everywhere":                           {true, nil, both, nil},
		"revoking has ended the access token":  {true, []string{"", "401"}, both, nil},
		"the token may only read":              {true, []string{"", "403"}, both, nil},
		"the server refuses everywhere":        {true, []string{"400"}, both, api.ErrInvalid},
		"the server cannot be signed out of":   {true, []string{"", "404"}, both, api.ErrNotFound},
		"the server is unavailable": {
			true,
			[]string{"503", "503", "503", "500", "500", "500"},
			[]string{revokeCall, revokeCall, revokeCall, signOutCall, signOutCall, signOutCall},
			api.ErrUnavailable,
		},
	} {
		inSessions(t, sessionTests{name: func(t *testing.T, s *session) {
			poke(t, s.store, func(record members) {
				record["client"] = members{"id": "registered"}
				record["refresh"] = members{"keeps": true, "pending": true}
			})
			s.fail(tt.faults...)
			end := oauth.SignOut
			if tt.everywhere {
				end = oauth.SignOutEverywhere
			}
			if err := s.endBy(t.Context(), t, end, tt.calls...); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			left := kept{Address: authAddress}
			left.Client.ID, left.Refresh.Keeps = "registered", true // which is true of the server
			s.holds(t, left)
			if err := s.endBy(t.Context(), t, end, tt.calls...); err != nil { // with no more calls
				t.Errorf("once more: %v", err)
			}
			want(t, s.source, "")
		}})
	}
}

//nolint:thelper // its rows are tests
func TestSignOutInOtherStates(t *testing.T) {
	t.Parallel()
	const notRemoved = "the token was not removed from the store"
	inSessions(t, sessionTests{
		"another server than the platform requires the client id": func(t *testing.T, s *session) {
			poke(t, s.store, func(record members) {
				record["server"] = members{"revoke": "https://login.fast.test/revoke"}
			})
			err := s.signOut(t.Context(), t, "POST login.fast.test/revoke client_id=client&token=rt-1")
			if err != nil {
				t.Error(err)
			}
		},
		"an ended context": func(t *testing.T, s *session) {
			release := lock(t, s.store, defaultAccount).Unlock
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			var err error
			d := took(func() { err = s.signOut(ctx, t) })
			if d < 5*time.Second || d > 5050*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), notRemoved) {
				t.Errorf("while the store is locked: %v after %v", err, d)
			}
			canceled, stop := context.WithCancel(t.Context())
			stop()
			err = s.signOut(canceled, t)
			if err == nil || strings.Count(err.Error(), "context canceled") != 1 {
				t.Errorf("while the store is locked, canceled: %v", err)
			}
			release()
			err = s.signOut(ctx, t)
			if k := stored[kept](t, s.store); !errors.Is(err, context.DeadlineExceeded) || k.Token != nil {
				t.Errorf("got %v, and the store holds %+v", err, k.Token)
			}
		},
		"a store that ignores its context": func(t *testing.T, s *session) {
			for name, block := range map[string]func(store *hookedStore){
				"before the lock": func(store *hookedStore) {
					store.onLock = func() error { time.Sleep(time.Minute); return nil }
				},
				"with the lock": func(store *hookedStore) { store.onLocked = func() { time.Sleep(time.Minute) } },
			} {
				store := &hookedStore{Store: s.store}
				block(store)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				token := &oauth.Token{AccessToken: api.NewSecret("late")}
				for op, call := range map[string]func(c oauth.Config) error{
					"SignOut": func(c oauth.Config) error { return oauth.SignOut(ctx, c) },
					"Save":    func(c oauth.Config) error { return oauth.Save(ctx, c, token) },
				} {
					var err error
					d := took(func() { err = call(storing(store, s.config())) })
					if d > time.Second+50*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s, %s: %v after %v", op, name, err, d)
					}
				}
				time.Sleep(5 * time.Minute)
				want(t, s.source, "at-1") // what was abandoned has no effect later
			}
		},
		"a store that cannot be written does not keep the session alive": func(t *testing.T, s *session) {
			s.hook().failAfter(0, syscall.EROFS)
			err := s.signOut(t.Context(), t, revokeCall)
			if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), notRemoved) {
				t.Errorf("got %v", err)
			}
			want(t, s.source, "") // at once
			s.store = newHookedStore().failAfter(0, syscall.EROFS)
			if err := s.signOut(t.Context(), t, revokeCall); err != nil {
				t.Errorf("without a token: %v", err)
			}
		},
		"a token that cannot be removed is not used": func(t *testing.T, s *session) {
			store := s.hook()
			want(t, s.source, "at-1")
			store.onSave = func(int, func() error) error { return syscall.ENOSPC }
			if err := s.signOut(t.Context(), t, revokeCall); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v", err)
			}
			want(t, s.source, "")
			store.onLoad = func() error { return syscall.EIO }
			time.Sleep(time.Minute)
			s.fails(t, syscall.EIO)
			store.onLoad, store.onSave = nil, nil
			time.Sleep(time.Minute)
			if stored[kept](t, s.store).Token == nil {
				t.Error("the token was removed")
			}
			want(t, s.source, "")
			s.signIn(t)
			want(t, s.source, "at-2")
			s.wantPosts(t, 0)
		},
		"a token that cannot be removed is not used by a later source": func(t *testing.T, s *session) {
			full := &hookedStore{Store: s.store, onSave: func(int, func() error) error { return syscall.ENOSPC }}
			s.store = full
			if err := s.signOut(t.Context(), t, revokeCall); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v", err)
			}
			want(t, s.another(), "")
			full.onSave = nil
			s.signIn(t)
			want(t, s.another(), "at-2")
		},
		"a token that is saved again is used again": func(t *testing.T, s *session) {
			token := &oauth.Token{AccessToken: api.NewSecret("at")}
			for range 2 {
				save(t, s.store, s.config(), token)
				want(t, s.source, "at")
				if err := s.signOut(t.Context(), t); err != nil {
					t.Error(err)
				}
				want(t, s.source, "")
			}
			save(t, &hookedStore{Store: s.store}, s.config(), token) // by another process
			want(t, s.source, "at")
		},
		"the refresh of another process is waited for, and its token revoked": func(t *testing.T, s *session) {
			renewed := strings.NewReplacer("t-1", "t-2")
			hold(s.store, func(record string) string { time.Sleep(time.Second); return renewed.Replace(record) })
			if err := s.signOut(t.Context(), t, renewed.Replace(revokeCall)); err != nil {
				t.Error(err)
			}
			if k := stored[kept](t, s.store); k.Token != nil {
				t.Errorf("the store holds %+v", k.Token)
			}
		},
		"a token of another platform is revoked there": func(t *testing.T, s *session) {
			poke(t, s.store, func(record members) { record["address"] = "https://go.other.test/team/api" })
			if err := s.signOut(t.Context(), t, "POST go.other.test/team/api/current/oauth/revoke/ token=rt-1"); err != nil {
				t.Error(err)
			}
			want(t, s.source, "")
		},
		"no refresh token": func(t *testing.T, s *session) {
			password := &oauth.Token{AccessToken: api.NewSecret("at-1")}
			save(t, s.store, s.config(), password)
			if err := s.signOut(t.Context(), t); err != nil {
				t.Error(err)
			}
			want(t, s.source, "")
			save(t, s.store, s.config(), password)
			if err := s.endBy(t.Context(), t, oauth.SignOutEverywhere, signOutCall); err != nil {
				t.Error(err)
			}
		},
		"no store": func(t *testing.T, s *session) {
			if err := oauth.SignOut(t.Context(), s.config()); !isInput(err) {
				t.Errorf("got %v", err)
			}
		},
	})
}

func TestSaveRejects(t *testing.T) {
	t.Parallel()
	good := &oauth.Token{AccessToken: api.NewSecret("at"), RefreshToken: api.NewSecret("rt")}
	limited := &oauth.Token{AccessToken: api.NewSecret("at"), TwoFactor: true}
	store := new(oauth.MemoryStore)
	type config = oauth.Config
	for name, tt := range map[string]struct {
		config oauth.Config
		token  *oauth.Token
		field  string
	}{
		"no store":                           {config{ClientID: "c"}, good, "Config.Store"},
		"no token":                           {config{Store: store, ClientID: "c"}, nil, "Token.AccessToken"},
		"an empty token":                     {config{Store: store, ClientID: "c"}, new(oauth.Token), "Token.AccessToken"},
		"a token that waits for a code":      {config{Store: store, ClientID: "c"}, limited, "Token.TwoFactor"},
		"a refresh token of no program":      {config{Store: store}, good, "Config.ClientID"},
		"a resource that is no absolute URL": {config{Store: store, ClientID: "c", Resource: "reader"}, good, "resource"},
		"an account without a name":          {config{Store: store, ClientID: "c", Account: " "}, good, "account"},
	} {
		err := oauth.Save(t.Context(), tt.config, tt.token)
		if !stub.Named(err, tt.field) {
			t.Errorf("%s: got %v, want an error about %s", name, err, tt.field)
		}
	}
	if err := oauth.Save(t.Context(), config{Store: store, ClientID: "c", BaseURL: "ftp://x"}, good); err == nil {
		t.Error("saved a token of no platform")
	}
}

// Accounts do not see one another, and a registration outlives the tokens.
func TestSave(t *testing.T) {
	t.Parallel()
	var s authServer
	store := fileStore(t)
	s.login(t, store, s.config())
	poke(t, store, func(record map[string]any) {
		record["client"] = map[string]any{"id": "registered"}
		record["refresh"] = map[string]any{"dead": true}
		record["server"] = map[string]any{"token": "https://elsewhere.test/"}
	})
	work := s.config()
	work.Account, work.BaseURL = "work", "https://api.work.test"
	save(t, store, work, &oauth.Token{AccessToken: api.NewSecret("at-work")})
	s.login(t, store, s.config())
	k := stored[kept](t, store)
	if k.Client.ID != "registered" || k.Refresh.Dead || k.Token.AccessToken != "at-2" {
		t.Errorf("the store holds %+v, %+v", k, k.Token)
	}
	want(t, oauth.TokenSource(storing(store, s.config())), "at-2")
	want(t, oauth.TokenSource(storing(store, work)), "at-work")
}

// The client sends the token to the platform only, and replaces one that a response
// proves invalid.
func TestHTTPClient(t *testing.T) {
	t.Parallel()
	const dead, member = `{"result":false,"error":{"code":"10011"}}`, `{"result":false,"error":{"code":10545}}`
	type row struct {
		url     string
		body    io.Reader         // of a POST; nil is a GET
		answers map[string]string // 401 by the token that is refused; "to" is a redirect instead
		status  int
		want    []string // what is sent: host, token and body
	}
	type answers = map[string]string
	const here, host = authAddress + "/x", "api.fast.test"
	sized, once := strings.NewReader("body"), io.MultiReader(strings.NewReader("body"))
	table.Bubbles(t, map[string]row{
		"to the platform":   {here, nil, nil, 200, []string{host + " at-1 "}},
		"to another host":   {authAddress + ".evil.test/", nil, nil, 200, []string{host + ".evil.test  "}},
		"without TLS":       {"http://api.fast.test/", nil, nil, 200, []string{host + "  "}},
		"to another port":   {authAddress + ":8443/", nil, nil, 200, []string{host + ":8443  "}},
		"redirected":        {here, nil, answers{"at-1": "to"}, 200, []string{host + " at-1 ", "evil.test  "}},
		"with a dead token": {here, sized, answers{"at-1": dead}, 200, []string{host + " at-1 body", host + " at-2 body"}},
		"with dead tokens": {
			here, nil, answers{"at-1": dead, "at-2": dead}, 401, []string{host + " at-1 ", host + " at-2 "},
		},
		"with a body that is sent once":       {here, once, answers{"at-1": dead}, 401, []string{host + " at-1 body"}},
		"not as a member":                     {here, nil, answers{"at-1": member}, 401, []string{host + " at-1 "}},
		"with a dead token of a dead session": {here, nil, answers{"at-1": dead}, 0, []string{host + " at-1 "}},
	}, func(t *testing.T, tc row) {
		s := newSession(t, new(oauth.MemoryStore))
		s.ended = tc.status == 0
		var sent []string
		last := ""
		s.via(stub.Network(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, tokenPath) {
				return s.RoundTrip(r)
			}
			token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			sent = append(sent, fmt.Sprint(r.URL.Host, " ", token, " ", bodyOf(r)))
			last = tc.answers[token]
			switch last {
			case "":
				return response(r, http.StatusOK, "{}"), nil
			case "to":
				resp := response(r, http.StatusFound, "")
				resp.Header.Set("Location", "https://evil.test/")
				return resp, nil
			}
			return response(r, http.StatusUnauthorized, last), nil
		}))
		method := http.MethodGet
		if tc.body != nil {
			method = http.MethodPost
		}
		req := httptest.NewRequestWithContext(t.Context(), method, tc.url, tc.body)
		req.RequestURI = ""
		if tc.body != nil && tc.status == http.StatusOK {
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("body")), nil }
		}
		resp, err := s.source.HTTPClient().Do(req)
		if tc.status == 0 {
			_, refused := errors.AsType[*api.Error](err)
			if !refused || !errors.Is(err, oauth.ErrSignInAgain) || fmt.Sprint(sent) != fmt.Sprint(tc.want) {
				t.Errorf("got %v after %q", err, sent)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != tc.status || fmt.Sprint(sent) != fmt.Sprint(tc.want) || err != nil ||
			tc.status != http.StatusOK && string(body) != last {
			t.Errorf("got status %d and %s, %v after %q", resp.StatusCode, body, err, sent)
		}
		if resp.Request.Header.Get("Authorization") != "" || req.Header.Get("Authorization") != "" {
			t.Error("the request shows the token")
		}
	})
}

func TestHTTPClientWithoutAToken(t *testing.T) {
	t.Parallel()
	for _, c := range []oauth.Config{{Store: new(oauth.MemoryStore)}, {BaseURL: "ftp://x"}} {
		body := &closer{Reader: strings.NewReader("body")}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.fast.io/", body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := oauth.TokenSource(c).HTTPClient().Do(r)
		if err == nil {
			resp.Body.Close()
		}
		if err == nil || c.BaseURL == "" && !errors.Is(err, oauth.ErrSignInAgain) || !body.closed {
			t.Errorf("got %v; the body was closed: %v", err, body.closed)
		}
	}
}

type closer struct {
	io.Reader

	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }
