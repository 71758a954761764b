package transport_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// everything is a call that gives each hook something to tell.
func everything() *script {
	return answers(
		refusal(401, `{"result":false,"error":{"code":10011}}`), // refresh
		status(503),  // back-off
		limited("5"), // the server's wait
		ok(),
	)
}

// The story of a call is told in full, once and in order.
func TestHooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told record
		network := everything()
		road := newRoad(t, through(network), hooks(told.hooks()), tokens(renewed()))
		if err := road.Call(t.Context(), of("group"), nil); err != nil {
			t.Fatal(err)
		}
		at := network.times()
		if len(at) != 4 {
			t.Fatalf("%d requests", len(at))
		}
		pause, wait := at[2]-at[1], at[3]-at[2]
		retries := []api.Retry{
			{Op: "things.Get", Attempt: 1, Err: api.ErrUnauthenticated},
			{Op: "things.Get", Attempt: 2, Wait: pause, Err: api.ErrUnavailable},
			{Op: "things.Get", Attempt: 3, Wait: wait, Err: api.ErrRateLimited},
		}
		waits := []api.Wait{
			{Op: "things.Get", Group: "group", Reason: api.WaitReasonBackoff, Wait: pause},
			{Op: "things.Get", Group: "group", Reason: api.WaitReasonServer, Wait: wait},
		}
		refreshes := []api.Refresh{{Op: "things.Get"}}
		for _, d := range []string{
			cmp.Diff(retries, told.retries, cmpopts.EquateErrors()), cmp.Diff(waits, told.waits), cmp.Diff(refreshes, told.refreshes),
		} {
			if d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		}
	})
}

func TestHooksTellOfThePace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told record
		road := newRoad(t, through(answers(ok())), hooks(told.hooks()))
		for range 6 {
			if err := road.Call(t.Context(), of("events.search"), nil); err != nil {
				t.Fatal(err)
			}
		}
		want := []api.Wait{{Op: "things.Get", Group: "events.search", Reason: api.WaitReasonPace, Wait: 3003 * time.Millisecond}}
		if diff := cmp.Diff(want, told.waits); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// On a network that takes no time, a call takes as long as its hooks were told
// it would wait, and every attempt but the last is told as failed.
func TestHooksTellTheWholeTruth(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(11, 1))
	for range 500 {
		var list []*answer
		for range 6 {
			list = append(list, []*answer{
				ok(), status(503), status(500), status(404), limited(""), limited("3"), limited("90"), broken(io.EOF), broken(dialError()),
				status(503, "Retry-After", "4"), refusal(401, `{"result":false,"error":{"code":10011}}`),
			}[dice.IntN(11)])
		}
		r := []*api.Request{get(), post()}[dice.IntN(2)]
		r.Options.Attempts = 1 + dice.IntN(6)
		synctest.Test(t, func(t *testing.T) {
			var told record
			network := answers(list...)
			road := newRoad(t, through(network), hooks(told.hooks()), tokens(renewed()))
			var raw api.Answer
			r.Options.Raw = &raw
			start := time.Now()
			_ = road.Call(t.Context(), r, nil)
			var waited time.Duration
			for _, w := range told.waits {
				waited += w.Wait
			}
			if took := time.Since(start); took != waited {
				t.Errorf("the call took %s, told were %s", took, waited)
			}
			sent := len(network.requests())
			var seen []int
			for _, retry := range told.retries {
				seen = append(seen, retry.Attempt)
			}
			for i := range sent - 1 {
				if !slices.Contains(seen, i+1) {
					t.Errorf("attempt %d of %d was not told of: %v", i+1, sent, seen)
				}
			}
			if len(seen) != sent-1 || raw.Attempts != sent {
				t.Errorf("%d requests were sent, %d counted, and attempts %v told", sent, raw.Attempts, seen)
			}
			if most := r.Options.Attempts + len(told.refreshes); sent > most || len(told.refreshes) > 1 {
				t.Errorf("%d requests and %d refreshes for %d attempts", sent, len(told.refreshes), r.Options.Attempts)
			}
		})
	}
}

// A call must not fail because somebody watches it, nor wait longer than it has
// to.
func TestHooksCannotBreakACall(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ hook func() }{
		"when they panic":                   {func() { panic("hook") }},
		"when they panic with nothing":      {func() { panic(nil) }}, //nolint:govet // it is the point
		"when they panic with their error":  {func() { panic(http.ErrAbortHandler) }},
		"when they are slow":                {func() { time.Sleep(10 * time.Second) }},
		"when they are slow and then panic": {func() { time.Sleep(10 * time.Second); panic("hook") }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := everything()
				var runs atomic.Int64
				hook := func() { runs.Add(1); test.hook() }
				road := newRoad(t, through(network), tokens(renewed()), hooks(api.Hooks{
					Retry:   func(context.Context, api.Retry) { hook() },
					Wait:    func(context.Context, api.Wait) { hook() },
					Refresh: func(context.Context, api.Refresh) { hook() },
				}))
				if err := road.Call(t.Context(), of("group"), nil); err != nil {
					t.Fatal(err)
				}
				if runs.Load() < 5 || len(network.requests()) != 4 {
					t.Errorf("hooks ran %d times, %d requests", runs.Load(), len(network.requests()))
				}
				start := time.Now()
				if err := road.Call(t.Context(), of("group"), nil); err != nil || time.Since(start) > 0 {
					t.Errorf("the next call: %v after %s", err, time.Since(start))
				}
			})
		})
	}
}

// A hook that takes longer than the wait it is told of is not waited for twice.
func TestASlowHookCountsAsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := answers(limited("5"), ok())
		road := newRoad(t, through(network), hooks(api.Hooks{Wait: func(context.Context, api.Wait) { time.Sleep(10 * time.Second) }}))
		if err := road.Call(t.Context(), get(), nil); err != nil {
			t.Fatal(err)
		}
		if at := network.times()[1]; at != 10*time.Second {
			t.Errorf("the repeat left after %s", at)
		}
	})
}

// A hook hears the context of the call it tells of.
func TestHooksGetTheContextOfTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var seen []any
		hook := func(ctx context.Context) {
			info, _ := transport.InfoOf(ctx)
			seen = append(seen, ctx.Value(key{}), info.Op, info.Route)
		}
		road := newRoad(t, through(everything()), tokens(renewed()), hooks(api.Hooks{
			Retry:   func(ctx context.Context, _ api.Retry) { hook(ctx) },
			Wait:    func(ctx context.Context, _ api.Wait) { hook(ctx) },
			Refresh: func(ctx context.Context, _ api.Refresh) { hook(ctx) },
		}))
		if err := road.Call(context.WithValue(t.Context(), key{}, 1), get(), nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Repeat([]any{1, "things.Get", "/current/things/"}, 6), seen); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// A token is exchanged when an answer proves it dead, once a call, and never
// for any other refusal.
func TestRefresh(t *testing.T) {
	t.Parallel()
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble begins
	dead := func(code string) *answer { return refusal(401, `{"result":false,"error":{"code":`+code+`}}`) }
	tests := map[string]struct {
		list      []*answer
		expiry    time.Time
		change    func(r *api.Request)
		empty     bool
		failure   error
		refreshes int
		requests  int
		want      error
	}{
		"a token that is unknown":              {list: []*answer{dead("10011"), ok()}, refreshes: 1, requests: 2},
		"a token that cannot be read":          {list: []*answer{dead("10001"), ok()}, refreshes: 1, requests: 2},
		"a code written as text":               {list: []*answer{dead(`"10011"`), ok()}, refreshes: 1, requests: 2},
		"a new token that is refused too":      {list: []*answer{dead("10011")}, refreshes: 1, requests: 2, want: api.ErrUnauthenticated},
		"a refusal for another reason":         {list: []*answer{dead("10012"), ok()}, requests: 1, want: api.ErrForbidden},
		"a refusal without a reason":           {list: []*answer{status(401), ok()}, requests: 1, want: api.ErrForbidden},
		"any refusal of an expired token":      {list: []*answer{status(401), ok()}, expiry: now, refreshes: 1, requests: 2},
		"a refusal of a token not yet expired": {list: []*answer{status(401), ok()}, expiry: now.Add(time.Second), requests: 1, want: api.ErrForbidden},
		"another status":                       {list: []*answer{refusal(403, `{"result":false,"error":{"code":10011}}`), ok()}, requests: 1, want: api.ErrForbidden},
		"a call without a token":               {list: []*answer{dead("10011"), ok()}, empty: true, requests: 1, want: api.ErrUnauthenticated},
		"a call that never carries one": {
			list: []*answer{dead("10011"), ok()}, change: func(r *api.Request) { r.Auth = api.AuthNone }, requests: 1, want: api.ErrUnauthenticated,
		},
		"a call with a credential of its own": {
			list: []*answer{dead("10011"), ok()}, change: func(r *api.Request) { r.Credential = api.NewSecret("Basic abcdefghijkl") }, requests: 1, want: api.ErrUnauthenticated,
		},
		"a call that is sent once":     {list: []*answer{dead("10011"), ok()}, change: func(r *api.Request) { *r = *post() }, refreshes: 1, requests: 2},
		"a call with a single attempt": {list: []*answer{dead("10011"), ok()}, change: func(r *api.Request) { r.Options.Attempts = 1 }, refreshes: 1, requests: 2},
		"a refresh before failures":    {list: []*answer{dead("10011"), status(503)}, refreshes: 1, requests: 4, want: api.ErrUnavailable},
		"a refresh after failures":     {list: []*answer{status(503), status(503), dead("10011"), ok()}, refreshes: 1, requests: 4},
		"a refresh that fails":         {list: []*answer{dead("10011"), ok()}, failure: errors.New("revoked"), refreshes: 1, requests: 1, want: api.ErrUnauthenticated},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				first := api.Token{AccessToken: api.NewSecret("first-token"), Expiry: test.expiry}
				if test.empty {
					first = api.Token{}
				}
				current, refused := first, []api.Token(nil)
				source := &refresher{
					token: func() api.Token { return current },
					refresh: func(t api.Token) (api.Token, error) {
						refused = append(refused, t)
						if test.failure == nil {
							current = api.Token{AccessToken: api.NewSecret("second-token")}
						}
						return current, test.failure
					},
				}
				var told record
				network := answers(test.list...)
				road := newRoad(t, through(network), tokens(source), hooks(told.hooks()))
				r := get()
				if test.change != nil {
					test.change(r)
				}
				err := road.Call(t.Context(), r, nil)
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if test.failure != nil && !errors.Is(err, test.failure) {
					t.Errorf("got %v, want %v in the chain", err, test.failure)
				}
				if diff := cmp.Diff(slices.Repeat([]api.Token{first}, test.refreshes), refused, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("refused tokens (-want +got)\n%s", diff)
				}
				want := slices.Repeat([]api.Refresh{{Op: r.Op, Err: test.failure}}, test.refreshes)
				if diff := cmp.Diff(want, told.refreshes, cmpopts.EquateErrors(), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("told (-want +got)\n%s", diff)
				}
				requests := network.requests()
				if len(requests) != test.requests {
					t.Errorf("%d requests, want %d", len(requests), test.requests)
				}
				if test.refreshes > 0 && test.failure == nil {
					if got := requests[len(requests)-1].Header.Get("Authorization"); got != "Bearer second-token" {
						t.Errorf("the last request was signed with %q", got)
					}
				}
			})
		})
	}
}

type refresher struct {
	token   func() api.Token
	refresh func(api.Token) (api.Token, error)
}

func (r *refresher) Token(context.Context) (api.Token, error) { return r.token(), nil }

func (r *refresher) Refresh(_ context.Context, refused api.Token) (api.Token, error) {
	return r.refresh(refused)
}

// A token that never changes is not exchanged.
func TestAStaticTokenIsNotRefreshed(t *testing.T) {
	t.Parallel()
	network := answers(refusal(401, `{"result":false,"error":{"code":10011}}`), ok())
	err := newRoad(t, through(network), tokens(api.StaticToken(api.NewSecret("only-token")))).Call(t.Context(), get(), nil)
	if !errors.Is(err, api.ErrUnauthenticated) || len(network.requests()) != 1 {
		t.Errorf("got %v after %d requests", err, len(network.requests()))
	}
}

// Who has signed out between two attempts is signed out.
func TestATokenIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		source := &source{token: func(context.Context) (api.Token, error) {
			if n++; n > 1 {
				return api.Token{}, nil
			}
			return api.Token{AccessToken: api.NewSecret("first-token")}, nil
		}}
		network := answers(status(503), ok())
		if err := newRoad(t, through(network), tokens(source)).Call(t.Context(), get(), nil); err != nil {
			t.Fatal(err)
		}
		if got := network.requests()[1].Header.Get("Authorization"); got != "" {
			t.Errorf("the second attempt was signed with %q", got)
		}
	})
}

// Every attempt asks for a token of its own: a wait may outlive one.
func TestEachAttemptIsSignedAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		source := &source{token: func(context.Context) (api.Token, error) {
			n++
			return api.Token{AccessToken: api.NewSecret("token-" + strconv.Itoa(n))}, nil
		}}
		network := answers(status(503), limited("30"), ok())
		var seen []http.Header
		watch := middleware(func(next http.RoundTripper) http.RoundTripper {
			return roundTripFunc(func(r *http.Request) (*http.Response, error) {
				r.Header.Add("X-Seen", "yes")
				seen = append(seen, r.Header)
				return next.RoundTrip(r)
			})
		})
		if err := newRoad(t, through(network), tokens(source), watch).Call(t.Context(), get(), nil); err != nil {
			t.Fatal(err)
		}
		for i, r := range network.requests() {
			if got, want := r.Header.Get("Authorization"), "Bearer token-"+strconv.Itoa(i+1); got != want {
				t.Errorf("attempt %d was signed with %q, want %q", i+1, got, want)
			}
		}
		for i, h := range seen {
			if h.Get("Authorization") != "" {
				t.Errorf("middleware saw the token of attempt %d: %v", i+1, slices.Sorted(maps.Keys(h)))
			}
			if n := len(h.Values("X-Seen")); n != 1 {
				t.Errorf("attempt %d carries the marks of %d", i+1, n)
			}
		}
	})
}
