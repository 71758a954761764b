package transport_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
)

// everything is a call that gives each hook something to report: a refresh, a pause
// and a wait that the server orders.
func everything() *script { return answers(failed(401, 10011), status(503), limited("5"), ok()) }

// Hooks report a call in full, once and in order.
func TestHooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen record
		network := everything()
		succeed(t, newClient(t, network, seen.hooks(), tokens(renewed())), of("group"))
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
		diff := cmp.Diff(retries, seen.retries, cmpopts.EquateErrors()) + cmp.Diff(waits, seen.waits) +
			cmp.Diff(refreshes, seen.refreshes)
		if diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// On a network that takes no time, a call takes as long as its hooks were told
// it would wait, and every attempt but the last is reported as failed.
func TestHooksReportEveryWaitAndAttempt(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(11, 1))
	for range 500 {
		var list []*answer
		for range 6 {
			list = append(list, []*answer{
				ok(), status(503), status(500), status(404), limited(""), limited("3"), limited("90"), broken(io.EOF),
				broken(dialError()),
				status(503, "Retry-After", "4"), failed(401, 10011),
			}[dice.IntN(11)])
		}
		r := []*api.Request{get(), post()}[dice.IntN(2)]
		r.Options.Attempts = 1 + dice.IntN(6)
		synctest.Test(t, func(t *testing.T) {
			var seen record
			network := answers(list...)
			client := newClient(t, network, seen.hooks(), tokens(renewed()))
			var raw api.Answer
			r.Options.Raw = &raw
			start := time.Now()
			_ = client.Call(t.Context(), r, nil)
			var waited time.Duration
			for _, w := range seen.waits {
				waited += w.Wait
			}
			if took := time.Since(start); took != waited {
				t.Errorf("the call took %s, reported were %s", took, waited)
			}
			var reported, want []int
			for _, retry := range seen.retries {
				reported = append(reported, retry.Attempt)
			}
			for i := range network.sent() - 1 {
				want = append(want, i+1)
			}
			if !slices.Equal(reported, want) || raw.Attempts != network.sent() {
				t.Errorf("%d requests were sent, %d counted, and attempts %v reported", network.sent(), raw.Attempts,
					reported)
			}
			if n := network.sent(); n > r.Options.Attempts+len(seen.refreshes) || len(seen.refreshes) > 1 {
				t.Errorf("%d requests and %d refreshes for %d attempts", n, len(seen.refreshes), r.Options.Attempts)
			}
		})
	}
}

// A call must not fail because somebody watches it, nor wait longer than it has
// to.
func TestHooksCannotBreakACall(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(){
		"when they panic":                   func() { panic("hook") },
		"when they panic with nothing":      func() { panic(nil) }, //nolint:govet // it is the point
		"when they panic with their error":  func() { panic(http.ErrAbortHandler) },
		"when they are slow":                func() { time.Sleep(10 * time.Second) },
		"when they are slow and then panic": func() { time.Sleep(10 * time.Second); panic("hook") },
	}, func(t *testing.T, hook func()) {
		network := everything()
		var runs atomic.Int64
		run := func() { runs.Add(1); hook() }
		client := newClient(t, network, tokens(renewed()), hooks(api.Hooks{
			Retry:   func(context.Context, api.Retry) { run() },
			Wait:    func(context.Context, api.Wait) { run() },
			Refresh: func(context.Context, api.Refresh) { run() },
		}))
		succeed(t, client, of("group"))
		if runs.Load() < 5 || network.sent() != 4 {
			t.Errorf("hooks ran %d times, %d requests", runs.Load(), network.sent())
		}
		start := time.Now()
		if succeed(t, client, of("group")); time.Since(start) > 0 {
			t.Errorf("the next call took %s", time.Since(start))
		}
	})
}

// A hook that takes longer than the wait it reports is not waited for twice.
func TestSlowHookCountsAsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := answers(limited("5"), ok())
		succeed(t, newClient(t, network,
			hooks(api.Hooks{Wait: func(context.Context, api.Wait) { time.Sleep(10 * time.Second) }})), get())
		if at := network.times()[1]; at != 10*time.Second {
			t.Errorf("the retry was sent after %s", at)
		}
	})
}

// A hook gets the context of the call it reports.
func TestHooksGetTheContextOfTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var seen []any
		hook := func(ctx context.Context) {
			info, _ := transport.InfoOf(ctx)
			seen = append(seen, ctx.Value(key{}), info.Op, info.Route)
		}
		client := newClient(t, everything(), tokens(renewed()), hooks(api.Hooks{
			Retry:   func(ctx context.Context, _ api.Retry) { hook(ctx) },
			Wait:    func(ctx context.Context, _ api.Wait) { hook(ctx) },
			Refresh: func(ctx context.Context, _ api.Refresh) { hook(ctx) },
		}))
		if err := client.Call(context.WithValue(t.Context(), key{}, 1), get(), nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Repeat([]any{1, "things.Get", "/current/things/{thing_id}/"}, 6), seen); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// A token is exchanged when an answer proves it dead, once a call, and never
// for any other refusal.
func TestRefresh(t *testing.T) {
	t.Parallel()
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble begins
	none := api.ErrUnauthenticated
	type row struct {
		list      []*answer
		refreshes int
		requests  int
		want      error
		change    func(r *api.Request)
		first     api.Token // by default one of unknown expiry
		empty     bool
		failure   error
	}
	expiring := func(at time.Time) api.Token { return api.Token{AccessToken: api.NewSecret("first-token"), Expiry: at} }
	dead := []*answer{failed(401, 10011), ok()}
	asText := reply(401, `{"result":false,"error":{"code":"10011"}}`)
	table.Bubbles(t, map[string]row{
		"a token that is unknown":         {list: dead, refreshes: 1, requests: 2},
		"a token that cannot be read":     {list: []*answer{failed(401, 10001), ok()}, refreshes: 1, requests: 2},
		"a code written as text":          {list: []*answer{asText, ok()}, refreshes: 1, requests: 2},
		"a new token that is refused too": {list: dead[:1], refreshes: 1, requests: 2, want: none},
		"a refusal for another reason": {
			list: []*answer{failed(401, 10012), ok()}, requests: 1,
			want: api.ErrForbidden,
		},
		"a refusal without a reason": {
			list: []*answer{status(401), ok()}, requests: 1,
			want: api.ErrForbidden,
		},
		"any refusal of an expired token": {
			list: []*answer{status(401), ok()}, first: expiring(now), refreshes: 1,
			requests: 2,
		},
		"a refusal of a token not yet expired": {
			list: []*answer{status(401)}, first: expiring(now.Add(time.Second)),
			requests: 1, want: api.ErrForbidden,
		},
		"another status": {
			list: []*answer{failed(403, 10011), ok()}, requests: 1,
			want: api.ErrForbidden,
		},
		"a call without a token": {list: dead, empty: true, requests: 1, want: none},
		"a call that never carries one": {
			list: dead, change: func(r *api.Request) { r.Auth = api.AuthNone },
			requests: 1, want: none,
		},
		"a call with a credential of its own": {
			list: dead, change: func(r *api.Request) { r.Credential = api.NewSecret("Basic abcdefghijkl") },
			requests: 1, want: none,
		},
		"a call that is sent once": {
			list: dead, change: func(r *api.Request) { *r = *post() }, refreshes: 1,
			requests: 2,
		},
		"a call with a single attempt": {
			list: dead, change: func(r *api.Request) { r.Options.Attempts = 1 },
			refreshes: 1, requests: 2,
		},
		"a refresh before failures": {
			list: []*answer{dead[0], status(503)}, refreshes: 1, requests: 4,
			want: api.ErrUnavailable,
		},
		"a refresh after failures": {
			list: []*answer{status(503), status(503), dead[0], ok()}, refreshes: 1,
			requests: 4,
		},
		"a refresh that fails": {
			list: dead, failure: errors.New("revoked"), refreshes: 1, requests: 1,
			want: none,
		},
	}, func(t *testing.T, test row) {
		if test.first.AccessToken.IsZero() && !test.empty {
			test.first = token("first-token")
		}
		current, refusedTokens := test.first, []api.Token(nil)
		var seen record
		network := answers(test.list...)
		client := newClient(t, network, seen.hooks(), tokens(&refresher{
			token: func() api.Token { return current },
			refresh: func(t api.Token) (api.Token, error) {
				refusedTokens = append(refusedTokens, t)
				if test.failure == nil {
					current = token("second-token")
				}
				return current, test.failure
			},
		}))
		r := get()
		if test.change != nil {
			test.change(r)
		}
		err := client.Call(t.Context(), r, nil)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || test.failure != nil &&
			!errors.Is(err, test.failure) {
			t.Errorf("got %v, want %v and %v", err, test.want, test.failure)
		}
		diff := cmp.Diff(slices.Repeat([]api.Token{test.first}, test.refreshes), refusedTokens, cmpopts.EquateEmpty())
		want := slices.Repeat([]api.Refresh{{Op: r.Op, Err: test.failure}}, test.refreshes)
		diff += cmp.Diff(want, seen.refreshes, cmpopts.EquateErrors(), cmpopts.EquateEmpty())
		if n := network.sent(); diff != "" || n != test.requests {
			t.Fatalf("%d requests, want %d; refused tokens and reports (-want +got)\n%s", n, test.requests, diff)
		}
		last := network.requests()[test.requests-1].Header.Get("Authorization")
		if test.refreshes > 0 && test.failure == nil && last != "Bearer second-token" {
			t.Errorf("the last request was signed with %q", last)
		}
	})
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
	network := answers(failed(401, 10011))
	err := clientOf(t, network).Call(t.Context(), get(), nil)
	if !errors.Is(err, api.ErrUnauthenticated) || network.sent() != 1 {
		t.Errorf("got %v after %d requests", err, network.sent())
	}
}
