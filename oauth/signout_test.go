package oauth_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

const (
	revokeCall  = "POST api.fast.test/current/oauth/revoke/ token=rt-1"
	signOutCall = "POST api.fast.test/current/user/auth/sign-out/ at-1"
)

func TestSignOut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		faults []string
		calls  []string
		want   error
	}{
		"all is well":                          {nil, []string{revokeCall, signOutCall}, nil},
		"revoking has killed the access token": {[]string{"", "401"}, []string{revokeCall, signOutCall}, nil},
		"the token may only read":              {[]string{"", "403"}, []string{revokeCall, signOutCall}, nil},
		"the server refuses to revoke":         {[]string{"400"}, []string{revokeCall, signOutCall}, api.ErrInvalid},
		"the server cannot be signed out of":   {[]string{"", "404"}, []string{revokeCall, signOutCall}, api.ErrNotFound},
		"the server breaks down for a moment":  {[]string{"503", ""}, []string{revokeCall, revokeCall, signOutCall}, nil},
		"the server breaks down for good": {
			[]string{"503", "503", "503", "500", "500", "500"},
			[]string{revokeCall, revokeCall, revokeCall, signOutCall, signOutCall, signOutCall},
			api.ErrUnavailable,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s authServer
				store := new(oauth.MemoryStore)
				s.login(t, store, s.config())
				poke(t, store, func(record map[string]any) {
					record["client"] = map[string]any{"id": "registered"}
					record["refresh"] = map[string]any{"keeps": true, "pending": true}
				})
				s.fail(tt.faults...)
				if err := oauth.SignOut(t.Context(), store, s.config()); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if diff := cmp.Diff(tt.calls, s.calls); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				left := kept{Address: authAddress}
				left.Client.ID, left.Refresh.Keeps = "registered", true // which is true of the server
				if diff := cmp.Diff(left, peek(t, store)); diff != "" {
					t.Errorf("the store holds (-want +got):\n%s", diff)
				}
				if err := oauth.SignOut(t.Context(), store, s.config()); err != nil {
					t.Errorf("once more: %v", err)
				}
				if len(s.calls) != len(tt.calls) {
					t.Errorf("requests of nobody: %q", s.calls)
				}
				want(t, oauth.TokenSource(store, s.config()), "")
			})
		})
	}
}

// Another server than the platform wants to know whose token it is.
func TestSignOutOfAnotherServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		poke(t, store, func(record map[string]any) {
			record["server"] = map[string]any{"revoke": "https://login.fast.test/revoke"}
		})
		if err := oauth.SignOut(t.Context(), store, s.config()); err != nil {
			t.Error(err)
		}
		calls := []string{"POST login.fast.test/revoke client_id=client&token=rt-1", signOutCall}
		if diff := cmp.Diff(calls, s.calls); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

func TestSignOutWithAnEndedContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := oauth.SignOut(ctx, store, s.config()); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if k := peek(t, store); k.Token != nil || s.calls != nil {
			t.Errorf("the store holds %+v; requests %q", k, s.calls)
		}
	})
}

func TestSignOutWithAnEndedContextDoesNotWaitForARefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		go store.Update(t.Context(), profile, func([]byte, func([]byte) error) error {
			time.Sleep(time.Minute)
			return nil
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		err := oauth.SignOut(ctx, store, s.config())
		if took := time.Since(start); took != 6*time.Second || !errors.Is(err, context.DeadlineExceeded) || len(s.calls) > 0 {
			t.Errorf("got %v after %v and requests %q", err, took, s.calls)
		}
		if !strings.Contains(err.Error(), "the token was not removed from the store") {
			t.Errorf("the error does not say that the token is still there: %v", err)
		}
		time.Sleep(time.Minute)
	})
}

// A store that cannot be written does not keep a session alive.
func TestSignOutRevokesWithoutWriting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := &failingStore{Store: new(oauth.MemoryStore), after: 1, err: syscall.EROFS}
		s.login(t, store, s.config())
		err := oauth.SignOut(t.Context(), store, s.config())
		if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "the token was not removed from the store") {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff([]string{revokeCall, signOutCall}, s.calls); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if err := oauth.SignOut(t.Context(), &failingStore{Store: new(oauth.MemoryStore), err: syscall.EROFS}, s.config()); err != nil {
			t.Errorf("without a token: %v", err)
		}
	})
}

// A refresh under way ends before the sign-out begins, and what it got goes too.
func TestSignOutWaitsForARefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		go store.Update(t.Context(), profile, func(record []byte, save func([]byte) error) error {
			time.Sleep(time.Second)
			return save([]byte(strings.ReplaceAll(string(record), "t-1", "t-2")))
		})
		synctest.Wait()
		if err := oauth.SignOut(t.Context(), store, s.config()); err != nil {
			t.Error(err)
		}
		calls := []string{strings.ReplaceAll(revokeCall, "t-1", "t-2"), strings.ReplaceAll(signOutCall, "t-1", "t-2")}
		if diff := cmp.Diff(calls, s.calls); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if k := peek(t, store); k.Token != nil {
			t.Errorf("the store holds %+v", k.Token)
		}
	})
}

func TestSignOutWithoutARefreshToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		if err := oauth.Save(t.Context(), store, s.config(), &oauth.Token{AccessToken: api.NewSecret("at-1")}); err != nil {
			t.Fatal(err)
		}
		if err := oauth.SignOut(t.Context(), store, s.config()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{signOutCall}, s.calls); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if err := oauth.SignOut(t.Context(), nil, s.config()); !isInput(err) {
			t.Errorf("without a store: %v", err)
		}
	})
}

func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	good := oauth.Token{AccessToken: api.NewSecret("at"), RefreshToken: api.NewSecret("rt")}
	limited := oauth.Token{AccessToken: api.NewSecret("at"), TwoFactor: true}
	store := new(oauth.MemoryStore)
	tests := map[string]struct {
		store  oauth.Store
		config oauth.Config
		token  *oauth.Token
		field  string
	}{
		"no store":                           {nil, oauth.Config{ClientID: "c"}, &good, "store"},
		"no token":                           {store, oauth.Config{ClientID: "c"}, nil, "access_token"},
		"an empty token":                     {store, oauth.Config{ClientID: "c"}, &oauth.Token{RefreshToken: api.NewSecret("rt")}, "access_token"},
		"a token that waits for a code":      {store, oauth.Config{ClientID: "c"}, &limited, "access_token"},
		"a refresh token of no program":      {store, oauth.Config{}, &good, "client_id"},
		"a resource that is no absolute URL": {store, oauth.Config{ClientID: "c", Resource: "reader"}, &good, "resource"},
		"a profile without a name":           {store, oauth.Config{ClientID: "c", Profile: " "}, &good, "profile"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := oauth.Save(t.Context(), tt.store, tt.config, tt.token)
			if refused, ok := errors.AsType[*api.InputError](err); !ok || refused.Field != tt.field {
				t.Errorf("got %v, want a refusal of %s", err, tt.field)
			}
		})
	}
	if err := oauth.Save(t.Context(), store, oauth.Config{ClientID: "c", BaseURL: "ftp://x"}, &good); err == nil {
		t.Error("saved a token of no platform")
	}
}

// Profiles do not see one another, and a registration outlives the tokens.
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
	work.Profile, work.BaseURL = "work", "https://api.work.test"
	if err := oauth.Save(t.Context(), store, work, &oauth.Token{AccessToken: api.NewSecret("at-work")}); err != nil {
		t.Fatal(err)
	}
	s.login(t, store, s.config())
	k := peek(t, store)
	if k.Client.ID != "registered" || k.Refresh.Dead || k.Token.AccessToken != "at-2" {
		t.Errorf("the store holds %+v, %+v", k, k.Token)
	}
	want(t, oauth.TokenSource(store, s.config()), "at-2")
	want(t, oauth.TokenSource(store, work), "at-work")
}
