package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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
	"github.com/fastio-go/fastio/oauth"
)

// want asks for a token and compares it; "" stands for [oauth.ErrSignInAgain].
func want(t *testing.T, source *oauth.Source, token string) {
	t.Helper()
	got, err := source.Token(t.Context())
	switch {
	case token == "" && !errors.Is(err, oauth.ErrSignInAgain):
		t.Errorf("got %q and %v, want %v", got.AccessToken.Reveal(), err, oauth.ErrSignInAgain)
	case token != "" && (err != nil || got.AccessToken.Reveal() != token):
		t.Errorf("got %q and %v, want %q", got.AccessToken.Reveal(), err, token)
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
	waiting        atomic.Int64 // updates under way
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
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
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
		record.Refresh.Rotates = true
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

// A refresh fails once. What follows depends on what the failure says about the
// refresh token, and on what earlier refreshes have shown of the server.
func TestTokenSourceAfterAFailedRefresh(t *testing.T) {
	t.Parallel()
	const (
		notUsed = "not used" // the server has not used the refresh token
		lost    = "lost"     // it may have
		spent   = "spent"    // it has answered with a status of success
	)
	faults := map[string]struct {
		fault, says string
		consumed    bool // the server did use the refresh token
	}{
		"there is no connection":             {fault: faultDial, says: notUsed},
		"the request is malformed":           {fault: "400", says: notUsed},
		"the server is too slow to read":     {fault: "408", says: notUsed},
		"there were too many requests":       {fault: "429", says: notUsed},
		"the server is down for maintenance": {fault: "503", says: notUsed},
		"the platform reports a failure":     {fault: faultPlatform, says: notUsed},
		"a gateway finds no server":          {fault: faultGateway, says: lost},
		"the server breaks down":             {fault: "500", says: lost},
		"a gateway breaks down":              {fault: "502", says: lost},
		"a gateway times out":                {fault: "504", says: lost},
		"the server redirects":               {fault: faultRedirect, says: lost},
		"a proxy answers with a page":        {fault: faultPage, says: spent},
		"no answer comes":                    {fault: faultHang, says: lost},
		"the answer is lost":                 {fault: faultLost, says: lost, consumed: true},
		"the answer is cut short":            {fault: faultCut, says: spent, consumed: true},
		"the answer holds no token":          {fault: faultNoToken, says: spent, consumed: true},
	}
	for name, f := range faults {
		for _, keeps := range []bool{true, false} {
			for _, known := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, keeps %v, known %v", name, keeps, known), func(t *testing.T) {
					t.Parallel()
					heals := f.says == notUsed || known && keeps || !known && f.says == lost && (keeps || !f.consumed)
					posts, reused := 1, 0
					if heals || !known && f.says == lost {
						posts = 2
					}
					if !heals && posts == 2 {
						reused = 1
					}
					pending := f.says == lost || f.says == spent && known && keeps
					synctest.Test(t, func(t *testing.T) {
						s := authServer{keeps: keeps}
						store := new(oauth.MemoryStore)
						s.login(t, store, s.config())
						source := oauth.TokenSource(store, s.config())
						if known {
							time.Sleep(55 * time.Minute)
							want(t, source, "at-2")
						}
						before := peek(t, store)
						earlier, _ := s.count()

						time.Sleep(55 * time.Minute)
						s.fail(f.fault)
						want(t, source, before.Token.AccessToken) // which is good for five more minutes
						after := peek(t, store)
						if diff := cmp.Diff(before.Token, after.Token); diff != "" {
							t.Errorf("the stored token changed (-want +got):\n%s", diff)
						}
						history := before.Refresh
						history.Pending, history.Spent = pending, f.says == spent && !pending
						if after.Refresh != history {
							t.Errorf("the store says %+v, want %+v", after.Refresh, history)
						}
						time.Sleep(4 * time.Minute)
						if heals {
							if token, err := source.Token(t.Context()); err != nil || token.AccessToken.Reveal() == before.Token.AccessToken {
								t.Errorf("after the outage: %q, %v", token.AccessToken.Reveal(), err)
							}
						} else {
							want(t, source, before.Token.AccessToken)
							other := oauth.TokenSource(store, s.config()) // as after a restart
							want(t, other, before.Token.AccessToken)
							time.Sleep(time.Minute)
							want(t, source, "")
							want(t, other, "")
							s.login(t, store, s.config())
							want(t, source, accessToken(s.n))
						}
						if n, r := s.count(); n-earlier != posts || r != reused {
							t.Errorf("%d requests came to the token endpoint, %d with a used token; want %d and %d", n-earlier, r, posts, reused)
						}
					})
				})
			}
		}
	}
}

// One lost answer allows one further send, whichever process makes it.
func TestTokenSourcesSendALostRefreshOnceMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := authServer{keeps: true}
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		time.Sleep(time.Hour)
		s.fail("502", faultHang, "502", "502")
		var wg sync.WaitGroup
		for range 8 {
			source := oauth.TokenSource(store, s.config())
			wg.Go(func() {
				for err := error(nil); !errors.Is(err, oauth.ErrSignInAgain); time.Sleep(time.Second) {
					if _, err = source.Token(t.Context()); err == nil {
						t.Error("a token was returned")
						return
					}
				}
			})
		}
		wg.Wait()
		wantPosts(t, &s, 2)
	})
}

// What a server does with refresh tokens decides how often a lost answer is asked
// for. One that has rotated may do so again.
func TestTokenSourceAfterManyLostRefreshes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		keeps []bool // at the refreshes before
		token string // after the outage
		posts int    // since it began
	}{
		"of a server that returns the token": {[]bool{true}, "at-3", 6},
		"of a server that rotates":           {[]bool{false}, "", 1},
		"of a server that has rotated once":  {[]bool{false, true}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s authServer
				store := new(oauth.MemoryStore)
				s.login(t, store, s.config())
				source := oauth.TokenSource(store, s.config())
				for n, keeps := range tc.keeps {
					s.set(func() { s.keeps = keeps })
					time.Sleep(time.Hour)
					want(t, source, accessToken(n+2))
				}
				s.fail("502", "502", faultHang, "502", "502")
				time.Sleep(time.Hour)
				for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
					_, _ = source.Token(t.Context())
				}
				want(t, source, tc.token)
				wantPosts(t, &s, len(tc.keeps)+tc.posts)
			})
		})
	}
}

// An outage that loses an answer may last. While the access token does, the one
// further send waits, whichever process makes it.
func TestTokenSourcesPauseAfterALostRefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := authServer{keeps: true}
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		time.Sleep(55 * time.Minute)
		s.fail("502")
		source, other := oauth.TokenSource(store, s.config()), oauth.TokenSource(store, s.config())
		want(t, source, "at-1")
		time.Sleep(30*time.Second - time.Nanosecond)
		want(t, source, "at-1")
		want(t, other, "at-1")
		wantPosts(t, &s, 1)
		time.Sleep(30 * time.Second) // the longest pause between two attempts
		want(t, source, "at-2")
		wantPosts(t, &s, 2)
	})
}

// An answer in a form this version does not know has used up the refresh token all
// the same.
func TestTokenSourceReadsUnknownScopes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		c := s.config()
		c.HTTPClient.Transport = transportFunc(func(req *http.Request) (*http.Response, error) {
			resp, err := s.RoundTrip(req)
			if err != nil {
				return nil, err
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body = io.NopCloser(strings.NewReader(strings.Replace(string(body), `["org:`, `["esign",{"id":1},"org:`, 1)))
			return resp, err
		})
		for n := range 3 {
			time.Sleep(time.Hour)
			want(t, oauth.TokenSource(store, c), accessToken(n+2))
		}
		wantPosts(t, &s, 3)
		if diff := cmp.Diff([]string{"esign", `{"id":1}`, "org:1234567890123456789:r"}, peek(t, store).Token.Scopes); diff != "" {
			t.Errorf("the stored scopes (-want +got):\n%s", diff)
		}
	})
}

// A server that has forgotten the program wants it registered anew.
func TestTokenSourceWhenTheProgramIsForgotten(t *testing.T) {
	t.Parallel()
	for _, code := range []string{oauth.CodeInvalidClient, oauth.CodeUnauthorizedClient} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s authServer
				store := new(oauth.MemoryStore)
				s.login(t, store, s.config())
				poke(t, store, func(record map[string]any) { record["client"] = map[string]any{"id": "client"} })
				c, network := s.config(), &answering{status: 401, body: `{"error":"` + code + `"}`}
				c.HTTPClient = &http.Client{Transport: network}
				source := oauth.TokenSource(store, c)
				time.Sleep(time.Hour)
				want(t, source, "")
				time.Sleep(time.Hour)
				want(t, source, "")
				if k := peek(t, store); k.Client.ID != "" || len(network.requests) != 1 {
					t.Errorf("after %d requests the store holds the registration %q", len(network.requests), k.Client.ID)
				}
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
		for i, seconds := range []int{1, 2, 4, 8, 16, 30, 30, 30} {
			most := time.Duration(seconds) * time.Second
			const tick = 10 * time.Millisecond
			if pause := s.times[i+1].Sub(s.times[i]); pause < time.Second || pause > most+tick {
				t.Errorf("pause %d was %v, want 1s to %v", i+1, pause, most)
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

// otherStores are the kinds of store that a source treats differently, and how long
// it takes to notice that another process has changed one.
func otherStores(t *testing.T) map[time.Duration]oauth.Store {
	t.Helper()
	return map[time.Duration]oauth.Store{
		time.Second:      new(oauth.MemoryStore),
		time.Second + 1:  fileStore(t), // a key of its own
		10 * time.Second: &countingStore{Store: new(oauth.MemoryStore)},
	}
}

func TestTokenSourceNoticesSignInsOfItsProcess(t *testing.T) {
	t.Parallel()
	for _, store := range otherStores(t) {
		t.Run(fmt.Sprintf("%T", store), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s authServer
				source := oauth.TokenSource(store, s.config())
				want(t, source, "")
				for _, token := range []string{"at-1", "at-2"} {
					s.login(t, store, s.config())
					want(t, source, token)
				}
				if err := oauth.SignOut(t.Context(), store, s.config()); err != nil {
					t.Error(err)
				}
				want(t, source, "")
				s.login(t, store, s.config())
				want(t, source, "at-3")
				wantPosts(t, &s, 0)
			})
		})
	}
}

func TestTokenSourceNoticesSignInsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	for within, store := range otherStores(t) {
		t.Run(fmt.Sprintf("%T", store), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s authServer
				s.login(t, store, s.config())
				source := oauth.TokenSource(store, s.config())
				want(t, source, "at-1")
				poke(t, store, func(record map[string]any) { record["token"].(map[string]any)["access_token"] = "at-other" })
				time.Sleep(within)
				want(t, source, "at-other")
				var token any
				poke(t, store, func(record map[string]any) {
					token = record["token"]
					delete(record, "token")
				})
				time.Sleep(within)
				want(t, source, "")
				poke(t, store, func(record map[string]any) { record["token"] = token })
				if within == 10*time.Second {
					time.Sleep(time.Second)
				} // any other store is asked at once
				want(t, source, "at-other")
				wantPosts(t, &s, 0)
			})
		})
	}
}

// Sign-ins are counted as long as there is a source to notice them.
func TestTokenSourcesLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // it runs the garbage collector
	type notComparable struct {
		oauth.Store

		_ []int
	}
	file := fileStore(t)
	memory, other := new(oauth.MemoryStore), oauth.FileStore{Path: file.Path, Keys: oauth.StaticKey(make([]byte, 32))}
	for _, pair := range [][2]oauth.Store{
		{memory, memory}, {file, other}, {notComparable{Store: file}, notComparable{Store: other}},
	} {
		first := oauth.TokenSource(pair[0], oauth.Config{})
		second := oauth.TokenSource(pair[1], oauth.Config{})
		if !oauth.HasSources(pair[0], profile) {
			t.Errorf("%T: a source is not known", pair[0])
		}
		runtime.KeepAlive(first)
		for range 3 { // more than the collector takes
			runtime.GC()
		}
		if !oauth.HasSources(pair[0], profile) {
			t.Errorf("%T: with the first source the second is forgotten", pair[0])
		}
		runtime.KeepAlive(second)
		for oauth.HasSources(pair[0], profile) {
			runtime.GC()
		}
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
		var s authServer
		store := fileStore(t)
		keys := &countingKeys{KeyStore: store.Keys}
		store.Keys = keys
		s.login(t, store, s.config())
		if err := oauth.SignOut(t.Context(), store, s.config()); err != nil {
			t.Fatal(err)
		}
		before := keys.loads.Load()
		source := oauth.TokenSource(store, s.config())
		other := &countingStore{Store: store}
		sourceOfOther := oauth.TokenSource(other, s.config())
		for range 100 {
			want(t, source, "")
			want(t, sourceOfOther, "")
			time.Sleep(10 * time.Millisecond)
		}
		if n, m := other.loads.Load(), keys.loads.Load()-before; m != n+1 || n > 2 {
			t.Errorf("in a second the key was asked for %d times, %d of them by a store of another package", m, n)
		}
	})
}

func TestTokenSourceWithoutARefreshToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		for _, ends := range []bool{false, true} {
			token := &oauth.Token{AccessToken: api.NewSecret("session")}
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
			if _, err := source.Refresh(t.Context(), api.Token{AccessToken: api.NewSecret("session")}); !errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %v, want %v", err, oauth.ErrSignInAgain)
			}
			want(t, source, "")
			if err := oauth.Save(t.Context(), store, s.config(), &oauth.Token{AccessToken: api.NewSecret("new")}); err != nil {
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
		refused := api.Token{AccessToken: api.NewSecret("at-1")}
		var wg sync.WaitGroup
		for _, source := range []*oauth.Source{source, other} {
			for range 50 {
				wg.Go(func() {
					token, err := source.Refresh(t.Context(), refused)
					if err != nil || token.AccessToken != api.NewSecret("at-2") {
						t.Errorf("got %q, %v", token.AccessToken.Reveal(), err)
					}
				})
			}
		}
		wg.Wait()
		wantPosts(t, &s, 1)
		want(t, source, "at-2")

		// The news is old by then.
		loads := store.loads.Load()
		if token, err := source.Refresh(t.Context(), refused); err != nil || token.AccessToken != api.NewSecret("at-2") {
			t.Errorf("got %q, %v", token.AccessToken.Reveal(), err)
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
				token, err := source.Refresh(t.Context(), api.Token{AccessToken: api.NewSecret("at-1")})
				if err != nil || token.AccessToken != api.NewSecret("at-2") {
					t.Errorf("got %q, %v", token.AccessToken.Reveal(), err)
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
		if _, err := source.Refresh(t.Context(), api.Token{AccessToken: api.NewSecret("at-1")}); !errors.Is(err, api.ErrUnavailable) {
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
			if token, err := source.Refresh(t.Context(), api.Token{AccessToken: api.NewSecret("at-1")}); err == nil || errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %q, %v", token.AccessToken.Reveal(), err)
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
				if _, err := source.Refresh(ctx, api.Token{AccessToken: api.NewSecret("at-1")}); !errors.Is(err, context.Canceled) {
					t.Errorf("with an ended context: %v", err)
				}
				release()
				time.Sleep(time.Minute)
				want(t, source, "at-2") // the flight did not go down with the callers
			})
		})
	}
}

// hold keeps other processes from editing the store until edit returns.
func hold(t *testing.T, store oauth.Store, edit func(record string) string) {
	t.Helper()
	go store.Update(t.Context(), profile, func(record []byte, save func([]byte) error) error {
		return save([]byte(edit(string(record))))
	})
	synctest.Wait()
}

// A refresh of another process takes as long as it takes.
func TestTokenSourceWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		time.Sleep(time.Hour)
		hold(t, store, func(record string) string {
			time.Sleep(29 * time.Second)
			next := time.Now().Add(time.Hour).Format(time.RFC3339)
			return regexp.MustCompile(`"expiry":"[^"]*"`).ReplaceAllString(strings.ReplaceAll(record, "at-1", "at-other"), `"expiry":"`+next+`"`)
		})
		want(t, oauth.TokenSource(store, s.config()), "at-other")
		wantPosts(t, &s, 0)
	})
}

// A process that holds the store and hangs holds callers up for ten seconds while
// the old token is good, and else as long as their contexts allow.
func TestTokenSourceWhenAnotherProcessHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := new(oauth.MemoryStore)
		s.login(t, store, s.config())
		time.Sleep(58 * time.Minute)
		release := make(chan struct{})
		hold(t, store, func(record string) string { <-release; return record })
		source := oauth.TokenSource(store, s.config())
		start := time.Now()
		want(t, source, "at-1")
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("a good token took %v", took)
		}
		time.Sleep(2*time.Minute - time.Since(start))
		for _, bound := range []time.Duration{time.Minute, 5 * time.Minute} {
			start = time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			_, err := source.Token(ctx)
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != min(bound, 2*time.Minute) {
				t.Errorf("after %v: %v", took, err)
			}
			cancel()
		}
		close(release)
		time.Sleep(30 * time.Second)
		want(t, source, "at-2")
		wantPosts(t, &s, 1)
	})
}

func TestTokenSourceStopsWaitingWithItsCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := &countingStore{Store: new(oauth.MemoryStore)}
		s.login(t, store, s.config())
		time.Sleep(time.Hour)
		release := make(chan struct{})
		hold(t, store, func(record string) string { <-release; return record })
		ctx, cancel := context.WithCancel(t.Context())
		go oauth.TokenSource(store, s.config()).Token(ctx)
		synctest.Wait()
		if n := store.waiting.Load(); n != 2 {
			t.Errorf("%d goroutines edit the store or wait for it, want 2", n)
		}
		cancel()
		synctest.Wait()
		if n := store.waiting.Load(); n != 1 {
			t.Errorf("%d goroutines edit the store or wait for it, want 1", n)
		}
		close(release)
	})
}

// A caller that joins a refresh the others have just left does not get their
// context's error.
func TestTokenSourceCallersDoNotShareACancellation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s authServer
		store := &countingStore{Store: new(oauth.MemoryStore)}
		s.login(t, store, s.config())
		time.Sleep(time.Hour)
		store.slowLoad = time.Second
		source := oauth.TokenSource(store, s.config())
		ctx, cancel := context.WithCancel(t.Context())
		go source.Token(ctx)
		synctest.Wait()
		cancel()
		synctest.Wait()
		want(t, source, "at-2")
		wantPosts(t, &s, 1)
	})
}

// A refresh does not end with its callers: its answer would be lost.
func TestTokenSourceCallersMayLeaveARefresh(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]bool{"the first": true, "all": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s authServer
				store := new(oauth.MemoryStore)
				s.login(t, store, s.config())
				time.Sleep(time.Hour)
				c := s.config()
				c.HTTPClient.Transport = transportFunc(func(req *http.Request) (*http.Response, error) {
					resp, err := s.RoundTrip(req)
					select {
					case <-time.After(time.Second):
						return resp, err
					case <-req.Context().Done():
						return nil, req.Context().Err()
					}
				})
				source := oauth.TokenSource(store, c)
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				go source.Token(ctx)
				synctest.Wait()
				if !stays {
					time.Sleep(time.Minute)
				}
				want(t, source, "at-2")
				wantPosts(t, &s, 1)
			})
		})
	}
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
			if _, err := source.Refresh(t.Context(), api.Token{AccessToken: api.NewSecret("at-1")}); err == nil {
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
		if token, err := source.Refresh(t.Context(), api.Token{AccessToken: api.NewSecret("at-1")}); !errors.Is(err, full) {
			t.Errorf("got %q, %v", token.AccessToken.Reveal(), err)
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
	for name, store := range map[string]oauth.Store{"memory": new(oauth.MemoryStore), "file": fileStore(b), "other": &countingStore{Store: new(oauth.MemoryStore)}} {
		for _, signedIn := range []bool{true, false} {
			c := oauth.Config{ClientID: "client", Profile: strconv.FormatBool(signedIn)}
			if signedIn {
				token := &oauth.Token{AccessToken: api.NewSecret("at"), RefreshToken: api.NewSecret("rt"), Expiry: time.Now().Add(24 * time.Hour)}
				if err := oauth.Save(b.Context(), store, c, token); err != nil {
					b.Fatal(err)
				}
			}
			b.Run(fmt.Sprintf("store=%s/signed-in=%v", name, signedIn), func(b *testing.B) {
				source := oauth.TokenSource(store, c)
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
