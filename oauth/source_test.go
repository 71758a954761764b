package oauth_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

// want asks for a token and compares it; "" stands for [oauth.ErrSignInAgain].
func want(t *testing.T, source *oauth.Source, token string) {
	t.Helper()
	got, err := source.Token(t.Context())
	switch {
	case token == "" && !errors.Is(err, oauth.ErrSignInAgain):
		t.Errorf("got %q and %v, want %v", string(got.AccessToken), err, oauth.ErrSignInAgain)
	case token != "" && (err != nil || string(got.AccessToken) != token):
		t.Errorf("got %q and %v, want %q", string(got.AccessToken), err, token)
	}
}

func wantPosts(t *testing.T, s *authServer, want int) {
	t.Helper()
	posts, reused := s.count()
	if posts != want || reused != 0 {
		t.Errorf("%d requests came to the token endpoint, %d with a used token; want %d and 0", posts, reused, want)
	}
}

// countingStore counts what goes through it, and may fail.
type countingStore struct {
	oauth.Store

	loads, updates atomic.Int64
	failLoad       atomic.Pointer[error]
	slowLoad       time.Duration
	failSave       func(save int) error // of an update, from 1; may be nil
}

func (s *countingStore) Load(ctx context.Context, profile string) ([]byte, error) {
	s.loads.Add(1)
	time.Sleep(s.slowLoad)
	if err := s.failLoad.Load(); err != nil {
		return nil, *err
	}
	return s.Store.Load(ctx, profile)
}

func (s *countingStore) Update(ctx context.Context, profile string, edit func([]byte, func([]byte) error) error) error {
	s.updates.Add(1)
	saves := 0
	return s.Store.Update(ctx, profile, func(record []byte, save func([]byte) error) error {
		return edit(record, func(record []byte) error {
			if saves++; s.failSave != nil {
				if err := s.failSave(saves); err != nil {
					return err
				}
			}
			return save(record)
		})
	})
}

func TestTokenSourceAnswersFromMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := &countingStore{Store: new(oauth.MemoryStore)}
		s.login(t, store, s.config())
		source := oauth.TokenSource(store, s.config())
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() { want(t, source, "at-1") })
		}
		wg.Wait()
		if n := store.loads.Load(); n != 1 {
			t.Errorf("1000 callers read the store %d times", n)
		}
		wantPosts(t, &s, 0)
	})
}

func TestTokenSourceAllocatesNothing(t *testing.T) { //nolint:paralleltest // it counts allocations of the whole process
	var s authServer
	store := new(oauth.MemoryStore)
	s.login(t, store, s.config())
	source := oauth.TokenSource(store, s.config())
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _, _ = source.Token(ctx) }); n != 0 {
		t.Errorf("a token from memory costs %v allocations", n)
	}
}

func TestTokenSourceRefreshesFiveMinutesEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		source := oauth.TokenSource(store, s.config())
		time.Sleep(55*time.Minute - time.Nanosecond)
		want(t, source, "at-1")
		time.Sleep(time.Nanosecond)
		want(t, source, "at-2")

		form := url.Values{
			"grant_type": {"refresh_token"}, "client_id": {"client"}, "refresh_token": {"rt-1"}, "resource": {"https://reader.test/"},
		}
		if diff := cmp.Diff([]url.Values{form}, s.posts); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		record := kept{Address: authAddress, Token: &keptToken{
			AccessToken: "at-2", RefreshToken: "rt-2", Scope: "org", Scopes: []string{"org:1234567890123456789:r"},
			Expiry: time.Now().Add(time.Hour), ClientID: "client", Resource: "https://reader.test/",
		}}
		if diff := cmp.Diff(record, peek(t, store)); diff != "" {
			t.Errorf("the store holds (-want +got):\n%s", diff)
		}
	})
}

func TestTokenSourceKeepsWhatTheAnswerLeavesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := authServer{silent: true, keeps: true}
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		before := peek(t, store)
		expire(t, store)
		want(t, oauth.TokenSource(store, s.config()), "at-2")

		before.Token.AccessToken = "at-2"
		before.Refresh.Keeps = true
		if diff := cmp.Diff(before, peek(t, store)); diff != "" {
			t.Errorf("the store holds (-want +got):\n%s", diff)
		}
	})
}

// A lifetime below ten minutes does not make every call a refresh.
func TestTokenSourceWithShortLifetimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := authServer{lifetime: 60}
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		expire(t, store)
		source, other := oauth.TokenSource(store, s.config()), oauth.TokenSource(store, s.config())
		want(t, source, "at-2")
		want(t, other, "at-2")
		time.Sleep(29 * time.Second)
		want(t, source, "at-2")
		time.Sleep(time.Second)
		want(t, source, "at-3")
		want(t, other, "at-3")
		wantPosts(t, &s, 2)
	})
}

// As many sources as there could be processes, over a day.
func TestTokenSourceRefreshesOnceAnExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		var sources []*oauth.Source
		for range 8 {
			sources = append(sources, oauth.TokenSource(store, s.config()))
		}
		for expiry := range 24 {
			time.Sleep(time.Hour)
			var wg sync.WaitGroup
			for _, source := range sources {
				for range 100 {
					wg.Go(func() { want(t, source, accessToken(expiry+2)) })
				}
			}
			wg.Wait()
			wantPosts(t, &s, expiry+1)
		}
	})
}

func TestTokenSourceAfterAFailedRefresh(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault   string
		pending bool // the refresh token may have been used up
		keeps   bool // the server has shown that it gives refresh tokens back
	}{
		"there is no connection":                      {fault: faultDial},
		"the server knows no such client":             {fault: "401"},
		"the request is malformed":                    {fault: "400"},
		"the server is too slow to read":              {fault: "408"},
		"there were too many requests":                {fault: "429"},
		"the server is down for maintenance":          {fault: "503"},
		"a gateway finds nobody":                      {fault: faultGateway, pending: true},
		"the server breaks down":                      {fault: "500", pending: true},
		"a gateway breaks down":                       {fault: "502", pending: true},
		"a gateway loses patience":                    {fault: "504", pending: true},
		"the server redirects":                        {fault: faultRedirect, pending: true},
		"the answer is lost":                          {fault: faultLost, pending: true},
		"the answer is cut short":                     {fault: faultCut, pending: true},
		"the answer holds no token":                   {fault: faultNoToken, pending: true},
		"no answer comes":                             {fault: faultHang, pending: true},
		"a server that keeps is down for maintenance": {fault: "503", keeps: true},
		"a server that keeps breaks down":             {fault: "500", keeps: true, pending: true},
		"the answer of a server that keeps is lost":   {fault: faultLost, keeps: true, pending: true},
		"no answer comes from a server that keeps":    {fault: faultHang, keeps: true, pending: true},
		"a server that keeps gives no token":          {fault: faultNoToken, keeps: true, pending: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := authServer{keeps: tt.keeps}
				store := new(oauth.MemoryStore)
				s.login(t, store, s.config())
				source := oauth.TokenSource(store, s.config())
				if tt.keeps {
					time.Sleep(55 * time.Minute)
					want(t, source, "at-2")
				}
				before := peek(t, store).Token
				posts, _ := s.count()

				time.Sleep(55 * time.Minute)
				s.fail(tt.fault)
				want(t, source, before.AccessToken) // which is good for five more minutes
				after := peek(t, store)
				if diff := cmp.Diff(before, after.Token); diff != "" {
					t.Errorf("the stored token changed (-want +got):\n%s", diff)
				}
				if after.Refresh.Pending != tt.pending || after.Refresh.Keeps != tt.keeps || after.Refresh.Dead {
					t.Errorf("the store says %+v", after.Refresh)
				}
				time.Sleep(4 * time.Minute)
				if !tt.pending || tt.keeps {
					token, err := source.Token(t.Context())
					if err != nil || string(token.AccessToken) == before.AccessToken {
						t.Errorf("after the outage: %q, %v", string(token.AccessToken), err)
					}
					wantPosts(t, &s, posts+2)
					if peek(t, store).Refresh.Pending {
						t.Error("the answer came and is still awaited")
					}
					return
				}
				want(t, source, before.AccessToken)
				other := oauth.TokenSource(store, s.config()) // as after a restart
				want(t, other, before.AccessToken)
				time.Sleep(time.Minute)
				want(t, source, "")
				want(t, other, "")
				wantPosts(t, &s, posts+1)
				s.login(t, store, s.config())
				time.Sleep(time.Second)
				want(t, source, accessToken(s.n))
			})
		})
	}
}

// A network that swallows packets holds the dial until the flight ends. That no
// connection came about is known, so the refresh token is unspent.
func TestTokenSourceOnADeadNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		time.Sleep(time.Hour)
		c := s.config()
		dead := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(time.Minute)
			return nil, errors.New("timeout")
		}}
		c.HTTPClient = &http.Client{Transport: dead}
		start := time.Now()
		if _, err := oauth.TokenSource(store, c).Token(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("the flight took %v", took)
		}
		if peek(t, store).Refresh.Pending {
			t.Error("the refresh token counts as sent")
		}
		time.Sleep(time.Minute)
		want(t, oauth.TokenSource(store, s.config()), "at-2")
	})
}

func TestTokenSourceSharesAFailureAndBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		time.Sleep(time.Hour)
		source := oauth.TokenSource(store, s.config())
		s.fail("503", "503", "503", "503", "503", "503", "503", "503")
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := source.Token(t.Context()); !errors.Is(err, api.ErrUnavailable) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		wantPosts(t, &s, 1)
		for start := time.Now(); time.Since(start) < 3*time.Minute; time.Sleep(10 * time.Millisecond) {
			asked := time.Now()
			if _, err := source.Token(t.Context()); err == nil {
				break
			}
			if took := time.Since(asked); took != 0 {
				t.Errorf("a caller waited %v", took)
			}
		}
		want(t, source, "at-2")
		wantPosts(t, &s, 9)
		for i, seconds := range []int{1, 2, 4, 8, 16, 20, 20, 20} {
			least := time.Duration(seconds) * time.Second
			const tick = 10 * time.Millisecond
			if pause := s.times[i+1].Sub(s.times[i]); pause < least || pause > least*3/2+tick {
				t.Errorf("pause %d was %v, want %v and up to half as much more", i+1, pause, least)
			}
		}
	})
}

func TestTokenSourceHeedsRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		time.Sleep(56 * time.Minute)
		c := s.config()
		var refusals int
		c.HTTPClient.Transport = transportFunc(func(req *http.Request) (*http.Response, error) {
			resp, err := s.RoundTrip(req)
			if err == nil && resp.StatusCode == http.StatusTooManyRequests {
				refusals++
				resp.Header.Set("Retry-After", "40")
			}
			return resp, err
		})
		s.fail("429")
		source := oauth.TokenSource(store, c)
		want(t, source, "at-1")
		time.Sleep(39 * time.Second)
		want(t, source, "at-1")
		time.Sleep(2 * time.Second)
		want(t, source, "at-2")
		if refusals != 1 {
			t.Errorf("%d refusals", refusals)
		}
	})
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestTokenSourceWhenTheServerEndsTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		before := peek(t, store).Token
		source := oauth.TokenSource(store, s.config())
		s.ended = true
		time.Sleep(56 * time.Minute)
		want(t, source, "at-1") // it may live on
		k := peek(t, store)
		if diff := cmp.Diff(before, k.Token); diff != "" || !k.Refresh.Dead || k.Refresh.Pending {
			t.Errorf("refresh %+v, token (-want +got):\n%s", k.Refresh, diff)
		}
		time.Sleep(4 * time.Minute)
		for range 100 {
			want(t, source, "")
			time.Sleep(100 * time.Millisecond)
		}
		wantPosts(t, &s, 1)

		s.login(t, store, s.config())
		want(t, source, "at-2") // at once
	})
}

// The refusal says why, and keeps the server's words.
func TestTokenSourceTellsTheRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		s.ended = true
		time.Sleep(time.Hour)
		_, err := oauth.TokenSource(store, s.config()).Token(t.Context())
		refusal, ok := errors.AsType[*oauth.Error](err)
		if !ok || refusal.Code != oauth.CodeInvalidGrant || !errors.Is(err, oauth.ErrSignInAgain) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTokenSourceWithoutAToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		source := oauth.TokenSource(store, s.config())
		want(t, source, "")
		s.login(t, store, s.config())
		time.Sleep(time.Second)
		want(t, source, "at-1")
		wantPosts(t, &s, 0)
	})
}

func TestTokenSourceWithoutARefreshToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		for _, ends := range []bool{false, true} {
			token := &oauth.Token{AccessToken: "session"}
			if ends {
				token.Expiry = time.Now().Add(time.Hour)
			}
			if err := oauth.Save(t.Context(), store, s.config(), token); err != nil {
				t.Fatal(err)
			}
			source := oauth.TokenSource(store, s.config())
			want(t, source, "session")
			time.Sleep(time.Hour - time.Nanosecond)
			want(t, source, "session")
			time.Sleep(time.Nanosecond)
			if ends {
				want(t, source, "")
				continue
			}
			want(t, source, "session") // until it is refused
			if _, err := source.Refresh(t.Context(), api.Token{AccessToken: "session"}); !errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %v, want %v", err, oauth.ErrSignInAgain)
			}
			want(t, source, "")
			if err := oauth.Save(t.Context(), store, s.config(), &oauth.Token{AccessToken: "new"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			want(t, source, "new")
		}
		wantPosts(t, &s, 0)
	})
}

func TestRefreshReplacesTheRefusedToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := &countingStore{Store: new(oauth.MemoryStore)}
		s.login(t, store, s.config())
		source, other := oauth.TokenSource(store, s.config()), oauth.TokenSource(store, s.config())
		want(t, source, "at-1")
		want(t, other, "at-1")
		refused := api.Token{AccessToken: "at-1"}
		var wg sync.WaitGroup
		for _, source := range []*oauth.Source{source, other} {
			for range 50 {
				wg.Go(func() {
					token, err := source.Refresh(t.Context(), refused)
					if err != nil || token.AccessToken != "at-2" {
						t.Errorf("got %q, %v", string(token.AccessToken), err)
					}
				})
			}
		}
		wg.Wait()
		wantPosts(t, &s, 1)
		want(t, source, "at-2")

		// The news is old by then.
		loads := store.loads.Load()
		if token, err := source.Refresh(t.Context(), refused); err != nil || token.AccessToken != "at-2" {
			t.Errorf("got %q, %v", string(token.AccessToken), err)
		}
		if n := store.loads.Load(); n != loads {
			t.Errorf("the store was read %d times for a token that is no longer in use", n-loads)
		}
		wantPosts(t, &s, 1)
	})
}

// A flight that left before the refusal brings the refused token home. Who was
// refused it waits for the next.
func TestRefreshDuringAFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := &countingStore{Store: new(oauth.MemoryStore)}
		s.login(t, store, s.config())
		store.slowLoad = time.Second
		source := oauth.TokenSource(store, s.config())
		var wg sync.WaitGroup
		wg.Go(func() { want(t, source, "at-1") })
		synctest.Wait()
		for range 10 {
			wg.Go(func() {
				token, err := source.Refresh(t.Context(), api.Token{AccessToken: "at-1"})
				if err != nil || token.AccessToken != "at-2" {
					t.Errorf("got %q, %v", string(token.AccessToken), err)
				}
			})
		}
		wg.Wait()
		want(t, source, "at-2")
		wantPosts(t, &s, 1)
		if n := store.loads.Load(); n != 2 {
			t.Errorf("the store was read %d times", n)
		}
	})
}

// A token the server has refused is not handed out again, however long it would
// have lasted.
func TestRefusedTokensAreNotHandedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		source := oauth.TokenSource(store, s.config())
		s.fail("503")
		if _, err := source.Refresh(t.Context(), api.Token{AccessToken: "at-1"}); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		if _, err := source.Token(t.Context()); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		time.Sleep(1500 * time.Millisecond)
		want(t, source, "at-2")
		wantPosts(t, &s, 2)
	})
}

// A server that issues the same token again does not make a loop.
func TestRefreshWithTheSameTokenOnceMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		c := s.config()
		c.HTTPClient.Transport = transportFunc(func(req *http.Request) (*http.Response, error) {
			s.set(func() { s.n = 0 })
			return s.RoundTrip(req)
		})
		source := oauth.TokenSource(store, c)
		for range 10 {
			if token, err := source.Refresh(t.Context(), api.Token{AccessToken: "at-1"}); err == nil || errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %q, %v", string(token.AccessToken), err)
			}
		}
		wantPosts(t, &s, 1)
	})
}

func TestTokenSourceTakesWhatAnotherProcessRefreshed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		time.Sleep(time.Hour)
		source, other := oauth.TokenSource(store, s.config()), oauth.TokenSource(store, s.config())
		s.fail("503")
		if _, err := source.Token(t.Context()); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		want(t, other, "at-2")
		time.Sleep(time.Second)
		want(t, source, "at-2")
		wantPosts(t, &s, 2)
	})
}

func TestTokenSourceWaitsEndWithTheContext(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, s *authServer, store oauth.Store) (release func()){
		"while another process refreshes": func(t *testing.T, _ *authServer, store oauth.Store) func() {
			t.Helper()
			done := make(chan struct{})
			go store.Update(t.Context(), profile, func([]byte, func([]byte) error) error { <-done; return nil })
			return func() { close(done) }
		},
		"while the request is under way": func(_ *testing.T, s *authServer, _ oauth.Store) func() {
			s.fail(faultHang)
			return func() {}
		},
	}
	for name, hinder := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := authServer{keeps: true}
				store := new(oauth.MemoryStore)
				s.login(t, store, s.config())
				poke(t, store, func(record map[string]any) { record["refresh"] = map[string]any{"keeps": true} })
				time.Sleep(time.Hour)
				release := hinder(t, &s, store)
				synctest.Wait()
				source := oauth.TokenSource(store, s.config())
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for range 1000 {
					wg.Go(func() {
						start := time.Now()
						if _, err := source.Token(ctx); !errors.Is(err, context.Canceled) {
							t.Errorf("got %v", err)
						}
						if took := time.Since(start); took != time.Second {
							t.Errorf("left after %v", took)
						}
					})
				}
				time.Sleep(time.Second)
				cancel()
				wg.Wait()
				if _, err := source.Token(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("with an ended context: %v", err)
				}
				if _, err := source.Refresh(ctx, api.Token{AccessToken: "at-1"}); !errors.Is(err, context.Canceled) {
					t.Errorf("with an ended context: %v", err)
				}
				release()
				time.Sleep(time.Minute)
				want(t, source, "at-2") // the flight did not go down with the callers
			})
		})
	}
}

// Another process that holds the store, and does not let go, holds callers up for
// ten seconds at most.
func TestTokenSourceWhenAnotherProcessHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		time.Sleep(59 * time.Minute)
		release := make(chan struct{})
		go store.Update(t.Context(), profile, func([]byte, func([]byte) error) error { <-release; return nil })
		synctest.Wait()
		source := oauth.TokenSource(store, s.config())
		start := time.Now()
		want(t, source, "at-1")
		time.Sleep(time.Minute - time.Since(start))
		start = time.Now()
		_, err := source.Token(t.Context())
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 10*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		close(release)
		time.Sleep(30 * time.Second)
		want(t, source, "at-2")
		wantPosts(t, &s, 1)
	})
}

// The first caller may leave; the refresh it began is for all the others.
func TestTheFirstCallerMayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		time.Sleep(time.Hour)
		c := s.config()
		c.HTTPClient.Transport = transportFunc(func(req *http.Request) (*http.Response, error) {
			select {
			case <-time.After(time.Second):
				return s.RoundTrip(req)
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
		})
		source := oauth.TokenSource(store, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		go source.Token(ctx)
		synctest.Wait()
		want(t, source, "at-2")
		wantPosts(t, &s, 1)
	})
}

func TestTokenSourceSendsNothingElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		before := peek(t, store)
		time.Sleep(2 * time.Hour)
		for _, address := range []string{"https://api.other.test", "http://api.fast.test", "https://api.fast.test:8443"} {
			c := s.config()
			c.BaseURL = address
			source := oauth.TokenSource(store, c)
			if _, err := source.Token(t.Context()); err == nil || errors.Is(err, oauth.ErrSignInAgain) || !strings.Contains(err.Error(), authAddress) {
				t.Errorf("%s: got %v", address, err)
			}
			if _, err := source.Refresh(t.Context(), api.Token{AccessToken: "at-1"}); err == nil {
				t.Errorf("%s: a refresh was made", address)
			}
			if err := oauth.SignOut(t.Context(), store, c); err == nil {
				t.Errorf("%s: signed out", address)
			}
		}
		wantPosts(t, &s, 0)
		if diff := cmp.Diff(before, peek(t, store)); diff != "" || s.calls != nil {
			t.Errorf("calls %q; the record changed (-want +got):\n%s", s.calls, diff)
		}
	})
}

func TestTokensGoToTheServerThatIssuedThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		expire(t, store)
		const issuer, revoke = "https://login.other.test/v2/oauth/token/?tenant=7", "https://login.other.test/v2/revoke/"
		poke(t, store, func(record map[string]any) { record["server"] = map[string]any{"token": issuer, "revoke": revoke} })
		c := s.config()
		var sent []string
		c.HTTPClient.Transport = transportFunc(func(req *http.Request) (*http.Response, error) {
			sent = append(sent, req.URL.String())
			return s.RoundTrip(req)
		})
		want(t, oauth.TokenSource(store, c), "at-2")
		if err := oauth.SignOut(t.Context(), store, c); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{issuer, revoke, authAddress + "/current/user/auth/sign-out/"}, sent); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// A renewed token that cannot be written is given to nobody, and written as soon
// as that is possible.
func TestTokenSourceOnAFailingDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		full := errors.New("the disk is full")
		store := &countingStore{Store: new(oauth.MemoryStore)}
		s.login(t, store, s.config())
		time.Sleep(56 * time.Minute)
		failures := 3
		store.failSave = func(save int) error {
			if posts, _ := s.count(); posts > 0 && save <= 2 && failures > 0 {
				failures--
				return full
			}
			return nil
		}
		source := oauth.TokenSource(store, s.config())
		want(t, source, "at-1")
		if k := peek(t, store); k.Token.AccessToken != "at-1" || !k.Refresh.Pending {
			t.Errorf("the store holds %+v, %+v", k.Token, k.Refresh)
		}
		if token, err := source.Refresh(t.Context(), api.Token{AccessToken: "at-1"}); !errors.Is(err, full) {
			t.Errorf("got %q, %v", string(token.AccessToken), err)
		}
		time.Sleep(time.Minute)
		if _, err := source.Token(t.Context()); !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := source.Token(t.Context()); !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute)
		want(t, source, "at-2")
		wantPosts(t, &s, 1)
		if k := peek(t, store); k.Token.RefreshToken != "rt-2" || k.Refresh.Pending {
			t.Errorf("the store holds %+v, %+v", k.Token, k.Refresh)
		}
		time.Sleep(time.Hour)
		want(t, source, "at-3")
	})
}

// What was got but never written does not replace a later sign-in.
func TestASignInBeatsAnUnwrittenRefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := &countingStore{Store: new(oauth.MemoryStore)}
		s.login(t, store, s.config())
		time.Sleep(time.Hour)
		source := oauth.TokenSource(store, s.config())
		store.failSave = func(save int) error {
			if save == 2 {
				return errors.New("the disk is full")
			}
			return nil
		}
		if _, err := source.Token(t.Context()); err == nil {
			t.Error("an unwritten token was handed out")
		}
		s.login(t, store, s.config())
		store.failSave = nil
		time.Sleep(2 * time.Second)
		want(t, source, "at-3")
		time.Sleep(time.Hour)
		want(t, source, "at-4")
		wantPosts(t, &s, 2)
	})
}

// Nothing is sent that is not noted first.
func TestTokenSourceNotesBeforeItSends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := &countingStore{Store: new(oauth.MemoryStore)}
		s.login(t, store, s.config())
		time.Sleep(time.Hour)
		full := errors.New("the disk is full")
		store.failSave = func(int) error { return full }
		if _, err := oauth.TokenSource(store, s.config()).Token(t.Context()); !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
		wantPosts(t, &s, 0)
	})
}

// A store that cannot be read for a while takes no good token away.
func TestTokenSourceWhenTheStoreCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := &countingStore{Store: new(oauth.MemoryStore)}
		s.login(t, store, s.config())
		source := oauth.TokenSource(store, s.config())
		want(t, source, "at-1")
		broken := errors.New("the disk is gone")
		store.failLoad.Store(&broken)
		time.Sleep(time.Hour - time.Second)
		want(t, source, "at-1")
		time.Sleep(time.Second)
		if _, err := source.Token(t.Context()); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
		store.failLoad.Store(nil)
		time.Sleep(time.Second)
		want(t, source, "at-2")
	})
}

func TestTokenSourceRefusesARecordItCannotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		for _, record := range []string{"", "{", `{"version":2}`, `{"version":1,"token":7}`, "null"} {
			if err := store.Update(t.Context(), profile, func(_ []byte, save func([]byte) error) error {
				return save([]byte(record))
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := oauth.TokenSource(store, s.config()).Token(t.Context()); err == nil {
				t.Errorf("%q gave a token", record)
			}
			if got, err := store.Load(t.Context(), profile); string(got) != record || err != nil {
				t.Errorf("%q became %q, %v", record, got, err)
			}
		}
		for _, source := range []*oauth.Source{
			oauth.TokenSource(nil, s.config()), oauth.TokenSource(store, oauth.Config{BaseURL: "ftp://x", HTTPClient: s.config().HTTPClient}),
		} {
			if _, err := source.Token(t.Context()); err == nil {
				t.Error("a source without a store or platform gave a token")
			}
		}
	})
}

func BenchmarkToken(b *testing.B) {
	store := new(oauth.MemoryStore)
	c := oauth.Config{ClientID: "client"}
	token := &oauth.Token{AccessToken: "at", RefreshToken: "rt", Expiry: time.Now().Add(24 * time.Hour)}
	if err := oauth.Save(b.Context(), store, c, token); err != nil {
		b.Fatal(err)
	}
	source := oauth.TokenSource(store, c)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := source.Token(b.Context()); err != nil {
				b.Error(err)
			}
		}
	})
}
