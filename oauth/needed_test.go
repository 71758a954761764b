package oauth_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// run is a run of a program. It requires the number of logins, and a token if
// wanted is nil.
func (s *scene) run(t *testing.T, logins int, wanted error) *oauth.Source {
	t.Helper()
	synctest.Wait() // for the browser of the run before
	s.again()
	before := len(s.started())
	source, err := s.loginIfNeeded(t.Context())
	if n := len(s.started()) - before; n != logins || !errors.Is(err, wanted) || (source == nil) != (err != nil) {
		t.Errorf("got %v, %v after %d logins, want %v and %d", source, err, n, wanted, logins)
	}
	if wanted == nil && err == nil {
		if _, err := source.Token(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return source
}

//nolint:thelper // its rows are tests
func TestLoginIfNeeded(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	table.Bubbles(t, map[string]func(t *testing.T, s *scene){
		"in every run but the first": func(t *testing.T, s *scene) {
			s.run(t, 0, nil)
			time.Sleep(24 * time.Hour)
			s.run(t, 0, nil)
			if n := len(s.tokenForms()); n != 2 {
				t.Errorf("%d requests for tokens, want the exchange and a refresh", n)
			}
		},
		"after a sign-out": func(t *testing.T, s *scene) {
			if err := oauth.SignOut(t.Context(), s.config); err != nil {
				t.Error(err)
			}
			s.run(t, 1, nil)
		},
		"for another profile": func(t *testing.T, s *scene) {
			s.config.Profile = "work"
			s.run(t, 1, nil)
		},
		"after the end of the session": func(t *testing.T, s *scene) {
			source := s.run(t, 0, nil)
			old := stored[kept](t, s.config.Store).Token
			client := s.Client(t)
			if err := client.OAuth.Revoke(t.Context(), api.NewSecret(old.RefreshToken)); err != nil {
				t.Error(err)
			}
			s.run(t, 0, nil) // which has not heard of it
			if _, err := source.Refresh(t.Context(), apiToken(old.AccessToken)); !errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %v", err)
			}
			s.run(t, 1, nil)
			if token, err := source.Token(t.Context()); err != nil || token == apiToken(old.AccessToken) {
				t.Errorf("the source of the run before has %v, %v", token, err)
			}
		},
		"after the refusal of a token that cannot be refreshed": func(t *testing.T, s *scene) {
			save(t, s.config.Store, s.config, &oauth.Token{AccessToken: api.NewSecret("at")})
			source := s.run(t, 0, nil)
			for range 2 {
				if _, err := source.Refresh(t.Context(), apiToken("at")); !errors.Is(err, oauth.ErrSignInAgain) {
					t.Errorf("got %v", err)
				}
			}
			s.run(t, 1, nil)
		},
		"not in an outage": func(t *testing.T, s *scene) {
			time.Sleep(2 * time.Hour)
			meets(fastiotest.Fault{Op: "oauth.Token", Status: http.StatusBadGateway})(s)
			s.run(t, 0, api.ErrUnavailable)
		},
		"not with a store that fails": func(t *testing.T, s *scene) {
			s.config.Store = &hookedStore{Store: s.config.Store, onLoad: func() error { return broken }}
			s.run(t, 0, broken)
		},
		"not without a store": func(t *testing.T, s *scene) {
			s.config.Store = nil
			s.run(t, 0, api.ErrInvalid)
		},
	}, func(t *testing.T, test func(*testing.T, *scene)) {
		s := newScene()
		s.run(t, 1, nil)
		test(t, s)
	})
}

func TestUserStore(t *testing.T) { //nolint:paralleltest // it changes the environment
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	update(t, oauth.UserStore("acme-sync"), profile, put("a record"))
	holds(t, oauth.UserStore("acme-sync"), profile, "a record")
	for _, pattern := range []string{"tokens", "key"} {
		found, _ := filepath.Glob(filepath.Join(dir, "*", pattern)) // on macOS it is deeper
		deeper, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*", pattern))
		if found = append(found, deeper...); len(found) != 1 {
			t.Errorf("found %q", found)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "/a", "../a", "a/"} {
		_, err := oauth.UserStore(name).Load(t.Context(), profile)
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "program" {
			t.Errorf("%q: got %v", name, err)
		}
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		os.Unsetenv(name)
	}
	store := oauth.UserStore("acme-sync")
	_, err := store.Load(t.Context(), profile)
	for _, err := range []error{err, store.Update(t.Context(), profile, put("x")), store.Reset(t.Context())} {
		if err == nil || !strings.HasPrefix(err.Error(), "fastio: oauth.UserStore: ") {
			t.Errorf("without a home: %v", err)
		}
	}
}

// A fixed port is the one of the redirect and of the registration. It is free again
// after each login.
func TestRedirectPort(t *testing.T) { //nolint:paralleltest // another test could take the port
	blocker, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := fastiotest.New()
	c := oauth.Config{
		BaseURL: origin, Store: new(oauth.MemoryStore), HTTPClient: &http.Client{Transport: s},
		RedirectPort: blocker.Addr().(*net.TCPAddr).Port,
		OpenBrowser:  func(ctx context.Context, address string) error { return approve(ctx, s, address) },
	}
	_, err = oauth.Login(t.Context(), c)
	busy, ok := errors.AsType[*oauth.PortError](err)
	if !ok || busy.Port != c.RedirectPort || !errors.Is(err, syscall.EADDRINUSE) || len(s.Requests()) > 0 {
		t.Errorf("got %v after %v", err, s.Requests())
	}
	blocker.Close()
	for range 2 {
		if _, err := oauth.Login(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	var redirects []string
	for _, q := range sent(s, "oauth.StartAuthorization") {
		redirects = append(redirects, q.Get("redirect_uri"))
	}
	want := "http://" + blocker.Addr().String() + "/callback"
	if len(redirects) != 2 || redirects[0] != want || redirects[1] != want {
		t.Errorf("the redirects are %q, want %s", redirects, want)
	}
	if client := clientOf(t, c.Store); client["redirect_uri"] != want || len(sent(s, "oauth.Register")) != 1 {
		t.Errorf("registered as %v", client)
	}
}
