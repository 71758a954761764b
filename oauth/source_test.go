package oauth_test

import (
	"context"
	"errors"
	"fmt"
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
	wantToken(t, got, err, token)
}

func wantToken(t *testing.T, got api.Token, err error, token string) {
	t.Helper()
	switch {
	case token == "" && !errors.Is(err, oauth.ErrSignInAgain):
		t.Errorf("got %q and %v, want %v", got.AccessToken.Reveal(), err, oauth.ErrSignInAgain)
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

// took measures a call.
func took(call func()) time.Duration {
	start := time.Now()
	call()
	return time.Since(start)
}

func TestTokenSourceAnswersFromMemory(t *testing.T) {
	t.Parallel()
	inCountedSession(t, func(t *testing.T, s *session, store *hookedStore) {
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() { want(t, s.source, "at-1") })
		}
		wg.Wait()
		if n := store.loads.Load(); n != 1 {
			t.Errorf("1000 callers read the store %d times", n)
		}
		s.wantPosts(t, 0)
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
	inSession(t, func(t *testing.T, s *session) {
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
		if diff := cmp.Diff(record, stored[kept](t, s.store)); diff != "" {
			t.Errorf("the store holds (-want +got):\n%s", diff)
		}
	})
}

func TestTokenSourceKeepsWhatTheAnswerLeavesOut(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		s.silent, s.keeps = true, true
		before := stored[kept](t, s.store)
		expire(t, s.store)
		want(t, s.another(), "at-2")

		before.Token.AccessToken = "at-2"
		before.Refresh.Keeps = true
		if diff := cmp.Diff(before, stored[kept](t, s.store)); diff != "" {
			t.Errorf("the store holds (-want +got):\n%s", diff)
		}
	})
}

// A lifetime below ten minutes does not make every call a refresh.
func TestTokenSourceWithShortLifetimes(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		s.lifetime = 60
		expire(t, s.store)
		other := s.another()
		want(t, s.source, "at-2")
		want(t, other, "at-2")
		s.wantAfter(t, 29*time.Second, "at-2")
		s.wantAfter(t, time.Second, "at-3")
		want(t, other, "at-3")
		s.wantPosts(t, 2)
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
		"the server redirects":               {fault: "307", says: lost},
		"a proxy answers with a page":        {fault: faultPage, says: spent},
		"no answer comes":                    {fault: faultHang, says: lost},
		"the answer is lost":                 {fault: faultLost, says: lost, consumed: true},
		"the answer is cut short":            {fault: faultCut, says: spent, consumed: true},
		"the answer holds no token":          {fault: faultNoToken, says: spent, consumed: true},
	}
	for name, f := range faults {
		for _, keeps := range []bool{true, false} {
			for _, known := range []bool{true, false} {
				inBubble(t, fmt.Sprintf("%s, keeps %v, known %v", name, keeps, known), func(t *testing.T) {
					heals := f.says == notUsed || known && keeps || !known && f.says == lost && (keeps || !f.consumed)
					posts, reused := 1, 0
					if heals || !known && f.says == lost {
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
					expected.Refresh.Pending = f.says == lost || f.says == spent && known && keeps
					expected.Refresh.Spent = f.says == spent && !expected.Refresh.Pending
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

// One lost answer allows one further send, whichever process makes it.
func TestTokenSourcesSendALostRefreshOnceMore(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		s.keeps = true
		time.Sleep(time.Hour)
		s.fail("502", faultHang, "502", "502")
		var wg sync.WaitGroup
		for range 8 {
			source := s.another()
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
		s.wantPosts(t, 2)
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
		inBubble(t, name, func(t *testing.T) {
			s := newSession(t, new(oauth.MemoryStore))
			for n, keeps := range tc.keeps {
				s.set(func() { s.keeps = keeps })
				s.wantAfter(t, time.Hour, accessToken(n+2))
			}
			s.fail("502", "502", faultHang, "502", "502")
			time.Sleep(time.Hour)
			for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
				_, _ = s.source.Token(t.Context())
			}
			want(t, s.source, tc.token)
			s.wantPosts(t, len(tc.keeps)+tc.posts)
		})
	}
}

// An outage that loses an answer may last. While the access token does, the one
// further send waits, whichever process makes it.
func TestTokenSourcesPauseAfterALostRefresh(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		s.keeps = true
		time.Sleep(55 * time.Minute)
		s.fail("502")
		other := s.another()
		want(t, s.source, "at-1")
		s.wantAfter(t, 30*time.Second-time.Nanosecond, "at-1")
		want(t, other, "at-1")
		s.wantPosts(t, 1)
		time.Sleep(30 * time.Second) // the longest pause between two attempts
		want(t, s.source, "at-2")
		s.wantPosts(t, 2)
	})
}

// An answer in an unknown form has used up the refresh token all the same.
func TestTokenSourceReadsUnknownScopes(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		s.via(rewriting(s, strings.NewReplacer(`["org:`, `["esign",{"id":1},"org:`).Replace))
		s.wantAfter(t, time.Hour, "at-2")
		s.wantAfter(t, time.Hour, "at-3")
		s.wantPosts(t, 2)
		want := []string{"esign", `{"id":1}`, "org:1234567890123456789:r"}
		if diff := cmp.Diff(want, stored[kept](t, s.store).Token.Scopes); diff != "" {
			t.Errorf("the stored scopes (-want +got):\n%s", diff)
		}
	})
}

// A server that has forgotten the program wants it registered anew.
func TestTokenSourceWhenTheProgramIsForgotten(t *testing.T) {
	t.Parallel()
	for _, code := range []string{oauth.CodeInvalidClient, oauth.CodeUnauthorizedClient} {
		inBubble(t, code, func(t *testing.T) {
			s := newSession(t, new(oauth.MemoryStore))
			poke(t, s.store, func(record map[string]any) { record["client"] = map[string]any{"id": "client"} })
			network := &answering{status: 401, body: `{"error":"` + code + `"}`}
			s.via(network)
			s.wantAfter(t, time.Hour, "")
			s.wantAfter(t, time.Hour, "")
			if k := stored[kept](t, s.store); k.Client.ID != "" || len(network.requests) != 1 {
				t.Errorf("after %d requests the store holds the registration %q", len(network.requests), k.Client.ID)
			}
		})
	}
}

// A network that swallows packets holds the dial until the call ends. That there
// was no connection is known, so the refresh token is unused.
func TestTokenSourceOnADeadNetwork(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
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
	})
}

func TestTokenSourceSharesAFailureAndBacksOff(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		time.Sleep(time.Hour)
		s.fail("503", "503", "503", "503", "503", "503", "503", "503")
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { s.fails(t, api.ErrUnavailable) })
		}
		wg.Wait()
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
	})
}

func TestTokenSourceHeedsRetryAfter(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		time.Sleep(56 * time.Minute)
		s.via(transportFunc(func(req *http.Request) (*http.Response, error) {
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
	})
}

func TestTokenSourceWhenTheServerEndsTheSession(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		before := stored[kept](t, s.store).Token
		s.ended = true
		s.wantAfter(t, 56*time.Minute, "at-1") // it may live on
		k := stored[kept](t, s.store)
		if diff := cmp.Diff(before, k.Token); diff != "" || !k.Refresh.Dead || k.Refresh.Pending {
			t.Errorf("refresh %+v, token (-want +got):\n%s", k.Refresh, diff)
		}
		time.Sleep(4 * time.Minute)
		for range 100 {
			s.wantAfter(t, 100*time.Millisecond, "")
		}
		s.wantPosts(t, 1)
		s.signIn(t)
		want(t, s.source, "at-2") // at once

		s.ended = true
		time.Sleep(time.Hour)
		_, err := s.source.Token(t.Context())
		if codeOf(err) != oauth.CodeInvalidGrant || !errors.Is(err, oauth.ErrSignInAgain) {
			t.Errorf("the refusal is lost: %v", err)
		}
	})
}

// otherStores are the kinds of store that a source treats differently, and how long
// it takes to notice that another process has changed one.
func otherStores(t *testing.T) map[time.Duration]oauth.Store {
	t.Helper()
	return map[time.Duration]oauth.Store{
		time.Second:      new(oauth.MemoryStore),
		time.Second + 1:  fileStore(t), // a key of its own
		10 * time.Second: newHookedStore(),
	}
}

func TestTokenSourceNoticesSignInsOfItsProcess(t *testing.T) {
	t.Parallel()
	for _, store := range otherStores(t) {
		inBubble(t, fmt.Sprintf("%T", store), func(t *testing.T) {
			s := &session{store: store}
			s.source = s.another()
			for _, token := range []string{"at-1", "at-2", "at-3"} {
				want(t, s.source, "")
				s.signIn(t)
				want(t, s.source, token)
				if err := oauth.SignOut(t.Context(), store, s.config()); err != nil {
					t.Error(err)
				}
			}
			s.signIn(t)
			want(t, s.source, "at-4")
			s.signIn(t)
			want(t, s.source, "at-5")
			s.wantPosts(t, 0)
		})
	}
}

func TestTokenSourceNoticesSignInsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	for within, store := range otherStores(t) {
		inBubble(t, fmt.Sprintf("%T", store), func(t *testing.T) {
			s := newSession(t, store)
			want(t, s.source, "at-1")
			var token any
			poke(t, store, func(record map[string]any) {
				token = record["token"]
				token.(map[string]any)["access_token"] = "at-other"
			})
			s.wantAfter(t, within, "at-other")
			poke(t, store, func(record map[string]any) { delete(record, "token") })
			s.wantAfter(t, within, "")
			poke(t, store, func(record map[string]any) { record["token"] = token })
			if within == 10*time.Second { // any other store is asked at once
				time.Sleep(time.Second)
			}
			want(t, s.source, "at-other")
			s.wantPosts(t, 0)
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
		store := fileStore(t)
		keys := &countingKeys{KeyStore: store.Keys}
		store.Keys = keys
		s := newSession(t, store)
		if err := oauth.SignOut(t.Context(), store, s.config()); err != nil {
			t.Fatal(err)
		}
		before := keys.loads.Load()
		other := &hookedStore{Store: store}
		sourceOfOther := oauth.TokenSource(other, s.config())
		for range 100 {
			s.wantAfter(t, 10*time.Millisecond, "")
			want(t, sourceOfOther, "")
		}
		if n, m := other.loads.Load(), keys.loads.Load()-before; m != n+1 || n > 2 {
			t.Errorf("in a second the key was read %d times, %d of them by a store of another package", m, n)
		}
	})
}

func TestTokenSourceWithoutARefreshToken(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		session := &oauth.Token{AccessToken: api.NewSecret("session"), Expiry: time.Now().Add(time.Hour)}
		save(t, s.store, s.config(), session)
		s.wantAfter(t, time.Hour-time.Nanosecond, "session")
		s.wantAfter(t, time.Nanosecond, "")
		save(t, s.store, s.config(), &oauth.Token{AccessToken: api.NewSecret("endless")})
		s.wantAfter(t, time.Hour, "endless") // until it is refused
		wantRefreshed(t, s.source, "endless", "")
		want(t, s.source, "")
		s.wantPosts(t, 0)
	})
}

func TestRefreshReplacesTheRefusedToken(t *testing.T) {
	t.Parallel()
	inCountedSession(t, func(t *testing.T, s *session, store *hookedStore) {
		other := oauth.TokenSource(store, s.config())
		want(t, s.source, "at-1")
		want(t, other, "at-1")
		var wg sync.WaitGroup
		for _, source := range []*oauth.Source{s.source, other} {
			for range 50 {
				wg.Go(func() { wantRefreshed(t, source, "at-1", "at-2") })
			}
		}
		wg.Wait()
		s.wantPosts(t, 1)
		want(t, s.source, "at-2")

		// The news is old by then.
		loads := store.loads.Load()
		wantRefreshed(t, s.source, "at-1", "at-2")
		if n := store.loads.Load(); n != loads {
			t.Errorf("the store was read %d times for a token that is no longer in use", n-loads)
		}
		s.wantPosts(t, 1)
	})
}

// A call that began before the refusal returns the refused token. The callers that
// were refused it wait for the next.
func TestRefreshDuringACall(t *testing.T) {
	t.Parallel()
	inCountedSession(t, func(t *testing.T, s *session, store *hookedStore) {
		store.onLoad = func() error { time.Sleep(time.Second); return nil }
		var wg sync.WaitGroup
		wg.Go(func() { want(t, s.source, "at-1") })
		synctest.Wait()
		for range 10 {
			wg.Go(func() { wantRefreshed(t, s.source, "at-1", "at-2") })
		}
		wg.Wait()
		want(t, s.source, "at-2")
		s.wantPosts(t, 1)
		if n := store.loads.Load(); n != 2 {
			t.Errorf("the store was read %d times", n)
		}
	})
}

// A token the server has refused is not handed out again, however long it would
// have lasted.
func TestRefusedTokensAreNotHandedOut(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		s.fail("503")
		if _, err := s.source.Refresh(t.Context(), apiToken("at-1")); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		s.fails(t, api.ErrUnavailable)
		s.wantAfter(t, 1500*time.Millisecond, "at-2")
		s.wantPosts(t, 2)
	})
}

// A server that issues the same token again does not make a loop.
func TestRefreshWithTheSameTokenOnceMore(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		s.set(func() { s.n = 0 })
		for range 10 {
			_, err := s.source.Refresh(t.Context(), apiToken("at-1"))
			if err == nil || errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %v", err)
			}
		}
		s.wantPosts(t, 1)
	})
}

func TestTokenSourceTakesWhatAnotherProcessRefreshed(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		time.Sleep(time.Hour)
		other := s.another()
		s.fail("503")
		s.fails(t, api.ErrUnavailable)
		want(t, other, "at-2")
		s.wantAfter(t, time.Second, "at-2")
		s.wantPosts(t, 2)
	})
}

func TestTokenSourceWaitsEndWithTheContext(t *testing.T) {
	t.Parallel()
	for name, hinder := range map[string]func(s *session, release chan struct{}){
		"while another process refreshes": func(s *session, release chan struct{}) {
			hold(s.store, func(record string) string { <-release; return record })
		},
		"while the request is under way": func(s *session, _ chan struct{}) { s.fail(faultHang) },
	} {
		inBubble(t, name, func(t *testing.T) {
			s := newSession(t, new(oauth.MemoryStore))
			s.keeps = true
			poke(t, s.store, func(record map[string]any) { record["refresh"] = map[string]any{"keeps": true} })
			time.Sleep(time.Hour)
			release := make(chan struct{})
			hinder(s, release)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range 1000 {
				wg.Go(func() {
					var err error
					d := took(func() { _, err = s.source.Token(ctx) })
					if !errors.Is(err, context.Canceled) || d != time.Second {
						t.Errorf("got %v after %v", err, d)
					}
				})
			}
			time.Sleep(time.Second)
			cancel()
			wg.Wait()
			if _, err := s.source.Token(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("with an ended context: %v", err)
			}
			if _, err := s.source.Refresh(ctx, apiToken("at-1")); !errors.Is(err, context.Canceled) {
				t.Errorf("with an ended context: %v", err)
			}
			close(release)
			s.wantAfter(t, time.Minute, "at-2") // the refresh did not end with the callers
		})
	}
}

// hold keeps other processes from editing the store until edit returns.
func hold(store oauth.Store, edit func(record string) string) {
	go store.Update(context.Background(), profile, func(record []byte, save func([]byte) error) error {
		return save([]byte(edit(string(record))))
	})
	synctest.Wait()
}

// A refresh of another process takes as long as it takes.
func TestTokenSourceWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		time.Sleep(time.Hour)
		hold(s.store, func(record string) string {
			time.Sleep(29 * time.Second)
			next := time.Now().Add(time.Hour).Format(time.RFC3339)
			record = strings.ReplaceAll(record, "at-1", "at-other")
			return regexp.MustCompile(`"expiry":"[^"]*"`).ReplaceAllString(record, `"expiry":"`+next+`"`)
		})
		want(t, s.source, "at-other")
		s.wantPosts(t, 0)
	})
}

// A process that holds the store and hangs holds callers up for ten seconds while
// the old token is good, and else as long as their contexts allow.
func TestTokenSourceWhenAnotherProcessHangs(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		time.Sleep(58 * time.Minute)
		release := make(chan struct{})
		hold(s.store, func(record string) string { <-release; return record })
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
		close(release)
		s.wantAfter(t, 30*time.Second, "at-2")
		s.wantPosts(t, 1)
	})
}

func TestTokenSourceStopsWaitingWithItsCallers(t *testing.T) {
	t.Parallel()
	inCountedSession(t, func(t *testing.T, s *session, store *hookedStore) {
		time.Sleep(time.Hour)
		release := make(chan struct{})
		hold(store, func(record string) string { <-release; return record })
		ctx, cancel := context.WithCancel(t.Context())
		go s.source.Token(ctx)
		synctest.Wait()
		before := store.waiting.Load()
		cancel()
		synctest.Wait()
		if after := store.waiting.Load(); before != 2 || after != 1 {
			t.Errorf("%d goroutines edit the store or wait for it, then %d; want 2 and 1", before, after)
		}
		close(release)
	})
}

// A caller that joins a refresh the others have just left does not get their
// context's error.
func TestTokenSourceCallersDoNotShareACancellation(t *testing.T) {
	t.Parallel()
	inCountedSession(t, func(t *testing.T, s *session, store *hookedStore) {
		time.Sleep(time.Hour)
		store.onLoad = func() error { time.Sleep(time.Second); return nil }
		ctx, cancel := context.WithCancel(t.Context())
		go s.source.Token(ctx)
		synctest.Wait()
		cancel()
		synctest.Wait()
		want(t, s.source, "at-2")
		s.wantPosts(t, 1)
	})
}

// A refresh does not end with its callers: its answer would be lost.
func TestTokenSourceCallersMayLeaveARefresh(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]bool{"the first": true, "all": false} {
		inBubble(t, name, func(t *testing.T) {
			s := newSession(t, new(oauth.MemoryStore))
			time.Sleep(time.Hour)
			s.via(transportFunc(func(req *http.Request) (*http.Response, error) {
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
			if !stays {
				time.Sleep(time.Minute)
			}
			want(t, s.source, "at-2")
			s.wantPosts(t, 1)
		})
	}
}

func TestTokenSourceSendsNothingElsewhere(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		before := stored[kept](t, s.store)
		time.Sleep(2 * time.Hour)
		for _, address := range []string{"https://api.other.test", "http://api.fast.test", "https://api.fast.test:8443"} {
			c := s.config()
			c.BaseURL = address
			s.source = oauth.TokenSource(s.store, c)
			_, err := s.source.Token(t.Context())
			if err == nil || errors.Is(err, oauth.ErrSignInAgain) || !strings.Contains(err.Error(), authAddress) {
				t.Errorf("%s: got %v", address, err)
			}
			if _, err := s.source.Refresh(t.Context(), apiToken("at-1")); err == nil {
				t.Errorf("%s: a refresh was made", address)
			}
			if err := oauth.SignOut(t.Context(), s.store, c); err == nil {
				t.Errorf("%s: signed out", address)
			}
		}
		s.wantPosts(t, 0)
		if diff := cmp.Diff(before, stored[kept](t, s.store)); diff != "" || s.calls != nil {
			t.Errorf("calls %q; the record changed (-want +got):\n%s", s.calls, diff)
		}
	})
}

func TestTokensGoToTheServerThatIssuedThem(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		expire(t, s.store)
		const issuer, revoke = "https://login.other.test/v2/oauth/token/?tenant=7", "https://login.other.test/v2/revoke/"
		poke(t, s.store, func(record map[string]any) {
			record["server"] = map[string]any{"token": issuer, "revoke": revoke}
		})
		var sent []string
		c := s.via(transportFunc(func(req *http.Request) (*http.Response, error) {
			sent = append(sent, req.URL.String())
			return s.RoundTrip(req)
		}))
		want(t, s.source, "at-2")
		if err := oauth.SignOut(t.Context(), s.store, c); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{issuer, revoke, authAddress + "/current/user/auth/sign-out/"}, sent); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// A renewed token that cannot be written is given to no caller, and written as
// soon as that is possible.
func TestTokenSourceOnAFailingDisk(t *testing.T) {
	t.Parallel()
	inCountedSession(t, func(t *testing.T, s *session, store *hookedStore) {
		full := errors.New("the disk is full")
		time.Sleep(56 * time.Minute)
		failures := 3
		store.onSave = func(_ int, write func() error) error {
			if posts, _ := s.count(); posts > 0 && failures > 0 {
				failures--
				return full
			}
			return write()
		}
		want(t, s.source, "at-1")
		if k := stored[kept](t, store); k.Token.AccessToken != "at-1" || !k.Refresh.Pending {
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
		if k := stored[kept](t, store); k.Token.RefreshToken != "rt-2" || k.Refresh.Pending {
			t.Errorf("the store holds %+v, %+v", k.Token, k.Refresh)
		}
		s.wantAfter(t, time.Hour, "at-3")
	})
}

// What was got but never written does not replace a later sign-in.
func TestASignInBeatsAnUnwrittenRefresh(t *testing.T) {
	t.Parallel()
	inCountedSession(t, func(t *testing.T, s *session, store *hookedStore) {
		time.Sleep(time.Hour)
		store.onSave = func(save int, write func() error) error {
			if save == 2 {
				return errors.New("the disk is full")
			}
			return write()
		}
		if _, err := s.source.Token(t.Context()); err == nil {
			t.Error("an unwritten token was handed out")
		}
		s.signIn(t)
		store.onSave = nil
		s.wantAfter(t, 2*time.Second, "at-3")
		s.wantAfter(t, time.Hour, "at-4")
		s.wantPosts(t, 2)
	})
}

// Nothing is sent that is not noted first.
func TestTokenSourceNotesBeforeItSends(t *testing.T) {
	t.Parallel()
	inCountedSession(t, func(t *testing.T, s *session, store *hookedStore) {
		time.Sleep(time.Hour)
		full := errors.New("the disk is full")
		store.onSave = func(int, func() error) error { return full }
		s.fails(t, full)
		s.wantPosts(t, 0)
	})
}

// A store that cannot be read for a while takes no good token away.
func TestTokenSourceWhenTheStoreCannotBeRead(t *testing.T) {
	t.Parallel()
	inCountedSession(t, func(t *testing.T, s *session, store *hookedStore) {
		want(t, s.source, "at-1")
		broken := errors.New("the disk is gone")
		store.onLoad = func() error { return broken }
		s.wantAfter(t, time.Hour-time.Second, "at-1")
		time.Sleep(time.Second)
		s.fails(t, broken)
		store.onLoad = nil
		s.wantAfter(t, time.Second, "at-2")
	})
}

func TestTokenSourceRejectsARecordItCannotRead(t *testing.T) {
	t.Parallel()
	inSession(t, func(t *testing.T, s *session) {
		for _, record := range []string{"", "{", `{"version":2}`, `{"version":1,"token":7}`, "null"} {
			update(t, s.store, profile, put(record))
			if _, err := s.another().Token(t.Context()); err == nil {
				t.Errorf("%q gave a token", record)
			}
			if got, err := s.store.Load(t.Context(), profile); string(got) != record || err != nil {
				t.Errorf("%q became %q, %v", record, got, err)
			}
		}
		for _, source := range []*oauth.Source{
			oauth.TokenSource(nil, s.config()), oauth.TokenSource(s.store, oauth.Config{BaseURL: "ftp://x"}),
		} {
			if _, err := source.Token(t.Context()); err == nil {
				t.Error("a source without a store or platform gave a token")
			}
		}
	})
}

func BenchmarkToken(b *testing.B) {
	for name, store := range map[string]oauth.Store{
		"memory": new(oauth.MemoryStore), "file": fileStore(b), "other": newHookedStore(),
	} {
		for _, signedIn := range []bool{true, false} {
			c := oauth.Config{ClientID: "client", Profile: strconv.FormatBool(signedIn)}
			if signedIn {
				token := &oauth.Token{
					AccessToken: api.NewSecret("at"), RefreshToken: api.NewSecret("rt"), Expiry: time.Now().Add(24 * time.Hour),
				}
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
