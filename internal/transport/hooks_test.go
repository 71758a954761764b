package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
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

// Hooks report a call in full, once and in order, with the context of the call.
func TestHooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []any
		type key struct{}
		see := func(ctx context.Context, _ string, v any) {
			if info, _ := transport.InfoOf(ctx); ctx.Value(key{}) != 1 || info.Op != "things.Get" ||
				info.Route != "/current/things/{thing_id}/" {
				t.Errorf("%v is reported with the context of %+v", v, info)
			}
			seen = append(seen, v)
		}
		network := everything()
		client := newClient(t, network, tokens(renewed()), allHooks(see))
		if err := client.Call(context.WithValue(t.Context(), key{}, 1), of("group"), nil); err != nil {
			t.Fatal(err)
		}
		at := network.times()
		if len(at) != 4 {
			t.Fatalf("%d requests", len(at))
		}
		pause, wait := at[2]-at[1], at[3]-at[2]
		const op = "things.Get"
		want := []any{
			api.RefreshEvent{Op: op},
			api.RetryEvent{Op: op, Attempt: 1, Err: api.ErrUnauthenticated},
			api.RetryEvent{Op: op, Attempt: 2, Wait: pause, Err: api.ErrUnavailable},
			api.WaitEvent{Op: op, Group: "group", Reason: api.WaitReasonBackoff, Wait: pause},
			api.RetryEvent{Op: op, Attempt: 3, Wait: wait, Err: api.ErrRateLimited},
			api.WaitEvent{Op: op, Group: "group", Reason: api.WaitReasonServer, Wait: wait},
		}
		if diff := cmp.Diff(want, seen, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

type callNote struct{}

// noteCalls returns hooks that record calls and retries, and put their name into the
// context.
func noteCalls(name string, log *[]string) api.Hooks {
	return api.Hooks{
		OnCall: func(ctx context.Context, e api.CallEvent) (context.Context, func(error)) {
			*log = append(*log, fmt.Sprintf("%s begins %+v in %v", name, e, ctx.Value(callNote{})))
			return context.WithValue(ctx, callNote{}, name), func(err error) {
				*log = append(*log, fmt.Sprintf("%s ends %v", name, err))
			}
		},
		OnRetry: func(ctx context.Context, e api.RetryEvent) {
			*log = append(*log, fmt.Sprintf("%s retries %d in %v", name, e.Attempt, ctx.Value(callNote{})))
		},
	}
}

// The hooks of a call surround its attempts, in the context that they return.
func TestOnCall(t *testing.T) {
	t.Parallel()
	const event = "begins {Op:things.Get Method:GET Route:/current/things/{thing_id}/ Stream:false} in "
	begins := []string{"a " + event + "<nil>", "b " + event + "a"}
	failed := errors.New("no network")
	type row struct {
		list []*answer
		r    *api.Request
		out  any
		want []string
	}
	refused := "fastio: things.Get: Not Found (status 404)"
	table.Bubbles(t, map[string]row{
		"a success": {[]*answer{ok()}, get(), nil, []string{"attempt in b", "b ends <nil>", "a ends <nil>"}},
		"a retry": {[]*answer{status(503), ok()}, get(), nil, []string{
			"attempt in b", "a retries 1 in b", "b retries 1 in b", "attempt in b", "b ends <nil>", "a ends <nil>",
		}},
		"a refusal": {[]*answer{status(404)}, get(), nil, []string{"attempt in b", "b ends " + refused, "a ends " + refused}},
		"a failure": {[]*answer{broken(failed)}, request(http.MethodGet, api.ReplayOnce), nil, []string{
			"attempt in b", "b ends fastio: things.Get: no network", "a ends fastio: things.Get: no network",
		}},
		"a response that cannot be decoded": {[]*answer{reply(200, `"text"`)}, get(), new(thing), nil},
	}, func(t *testing.T, test row) {
		var log []string
		client := newClient(t, answers(test.list...), hooks(noteCalls("a", &log)), hooks(api.Hooks{}),
			hooks(noteCalls("b", &log)), wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				log = append(log, fmt.Sprintf("attempt in %v", r.Context().Value(callNote{})))
				return next.RoundTrip(r)
			}))
		err := client.Call(t.Context(), test.r, test.out)
		if test.want == nil {
			test.want = []string{"attempt in b", fmt.Sprint("b ends ", err), fmt.Sprint("a ends ", err)}
		}
		if diff := cmp.Diff(append(slices.Clone(begins), test.want...), log); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// A call whose response is a stream ends with the stream: at its end, or when it fails
// or is closed before.
func TestOnCallOfAStream(t *testing.T) {
	t.Parallel()
	lost := errors.New("the connection was lost")
	type row struct {
		status int
		body   io.Reader
		read   func(body io.Reader)
		want   string // reported before the body is closed
		end    string
	}
	all := func(body io.Reader) { _, _ = io.Copy(io.Discard, body) }
	table.Each(t, map[string]row{
		"read to the end": {200, strings.NewReader("ab"), all, "<nil>", "<nil>"},
		"closed before":   {200, strings.NewReader("ab"), func(r io.Reader) { _, _ = r.Read(make([]byte, 1)) }, "", "<nil>"},
		"that fails":      {200, iotest.ErrReader(lost), all, lost.Error(), lost.Error()},
		"that is refused": {404, strings.NewReader(""), nil, "", "fastio: things.Get: Not Found (status 404)"},
	}, func(t *testing.T, test row) {
		var ends []string
		network := roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := status(test.status).response(r)
			resp.Body, resp.ContentLength = io.NopCloser(test.body), -1
			return resp, err
		})
		client := clientOf(t, network, hooks(api.Hooks{
			OnCall: func(_ context.Context, e api.CallEvent) (context.Context, func(error)) {
				if !e.Stream {
					t.Error("the response is no stream")
				}
				return nil, func(err error) { ends = append(ends, fmt.Sprint(err)) }
			},
		}))
		resp, err := client.Open(t.Context(), get())
		if err == nil {
			test.read(resp.Body)
			if strings.Join(ends, " ") != test.want {
				t.Errorf("before Close: %q", ends)
			}
			for range 2 {
				_ = resp.Body.Close()
			}
		}
		if diff := cmp.Diff([]string{test.end}, ends); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestOnCallCannotBreakACall(t *testing.T) {
	t.Parallel()
	ends := 0
	client := clientOf(t, answers(ok()),
		hooks(api.Hooks{OnCall: func(ctx context.Context, _ api.CallEvent) (context.Context, func(error)) {
			return ctx, func(error) { ends++ }
		}}),
		hooks(api.Hooks{OnCall: func(context.Context, api.CallEvent) (context.Context, func(error)) { panic("hook") }}),
		hooks(api.Hooks{OnCall: func(context.Context, api.CallEvent) (context.Context, func(error)) {
			return nil, func(error) { panic("hook") }
		}}))
	succeed(t, client, get())
	if ends != 1 {
		t.Errorf("the end is reported %d times", ends)
	}
}

func TestOnCallReportsAPanicOfTheTransport(t *testing.T) {
	t.Parallel()
	var ends []string
	client := clientOf(t, roundTrip(func(*http.Request) (*http.Response, error) { panic("transport") }), hooks(api.Hooks{
		OnCall: func(ctx context.Context, _ api.CallEvent) (context.Context, func(error)) {
			return ctx, func(err error) { ends = append(ends, fmt.Sprint(err)) }
		},
	}))
	for _, send := range []func(){
		func() { _ = client.Call(t.Context(), get(), nil) },
		func() { _, _ = client.Open(t.Context(), get()) }, //nolint:bodyclose // there is none
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is recovered")
				}
			}()
			send()
		}()
	}
	if diff := cmp.Diff(slices.Repeat([]string{"fastio: the call panicked"}, 2), ends); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHooksReportEveryWaitAndAttempt(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(11, 1))
	full := []*answer{limited("3"), limited("90")} // which cost no attempt
	for range 500 {
		var list []*answer
		for range 6 {
			list = append(list, []*answer{
				ok(), status(503), status(500), status(404), limited(""), full[0], full[1], broken(io.EOF),
				broken(dialError()), status(503, "Retry-After", "4"), failed(401, 10011),
			}[dice.IntN(11)])
		}
		list = append(list, ok())
		r := []*api.Request{get(), post()}[dice.IntN(2)]
		most := 1 + dice.IntN(6)
		synctest.Test(t, func(t *testing.T) {
			var seen record
			network := answers(list...)
			client := newClient(t, network, seen.hooks(), tokens(renewed()))
			var raw api.Response
			start := time.Now()
			_ = client.Call(t.Context(), r, nil, api.WithAttempts(most), api.WithResponse(&raw))
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
				t.Errorf("%d requests were sent, %d counted, and attempts %v reported", network.sent(), raw.Attempts, reported)
			}
			n, refusals := network.sent(), 0
			for _, a := range list[:n] {
				if slices.Contains(full, a) {
					refusals++
				}
			}
			if n > most+len(seen.refreshes)+refusals || len(seen.refreshes) > 1 {
				t.Errorf("%d requests, %d refusals and %d refreshes for %d attempts",
					n, refusals, len(seen.refreshes), most)
			}
		})
	}
}

func TestLoggerReportsWaitsAndFailuresWithoutHooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		client := newClient(t, answers(status(404), ok()), func(c *config) { c.Logger = logger })
		for range 6 {
			_ = client.Call(t.Context(), of("events.search"), nil)
		}
		for part, want := range map[string]int{"fastio call": 6, "fastio wait": 1, " err.status=": 1} {
			if n := strings.Count(log.String(), part); n != want {
				t.Errorf("%q is logged %d times, want %d:\n%s", part, n, want, log.String())
			}
		}
	})
}

// An attempt without a response is logged with the status 0, also after one with a response.
func TestLoggerShowsTheStatusOfEachAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		network := answers(status(503), broken(dialError()), ok())
		succeed(t, newClient(t, network, attempts(3), func(c *config) { c.Logger = logger }), get())
		for _, want := range []string{"attempt=1 status=503", "attempt=2 status=0", "attempt=3 status=200"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s is not logged:\n%s", want, log.String())
			}
		}
	})
}

// A wait of 2 seconds is logged at info level, a shorter one at debug level. The time in
// the queue behind other calls counts.
func TestLoggerShowsLongWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		client := newClient(t, answers(ok()), func(c *config) { c.Logger = logger })
		for range 5 { // the published window has room for 5 in 3 s
			succeed(t, client, of("events.search"))
			time.Sleep(400 * time.Millisecond)
		}
		var queue sync.WaitGroup
		for range 4 {
			queue.Go(func() { succeed(t, client, of("events.search")) })
			synctest.Wait()
		}
		queue.Wait()
		var got []string
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "fastio wait") {
				_, wait, _ := strings.Cut(strings.TrimSpace(line), "wait=")
				got = append(got, strings.Fields(line)[1]+" "+wait)
			}
		}
		want := []string{"level=DEBUG 1.003s", "level=DEBUG 1.403s", "level=DEBUG 1.803s", "level=INFO 2.203s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// A wait for the limiter of other clients is logged when it has taken 2 seconds.
func TestLoggerShowsLongWaitsForALimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, nil))
		limiter := &slowLimiter{wait: time.Second}
		client := newClient(t, answers(ok()), func(c *config) { c.Logger, c.Limiter = logger, limiter })
		succeed(t, client, of("things"))
		if log.Len() > 0 {
			t.Errorf("a short wait is logged: %s", log.String())
		}
		limiter.wait = 10 * time.Second
		succeed(t, client, of("things"))
		synctest.Wait()
		const want = "time=2000-01-01T00:00:03.000Z level=INFO msg=\"fastio wait\" op=things.Get group=things " +
			"reason=limiter wait=2s\n"
		if log.String() != want {
			t.Errorf("got %q, want %q", log.String(), want)
		}
	})
}

type slowLimiter struct{ wait time.Duration }

func (l *slowLimiter) Acquire(ctx context.Context, _ string) error {
	time.Sleep(l.wait)
	return ctx.Err()
}

func (l *slowLimiter) Observe(string, api.RateLimit) {}

// A hook must not make a call fail, nor delay it needlessly: if a hook takes longer
// than the wait it reports, there is no additional wait.
func TestHooksCannotBreakACall(t *testing.T) {
	t.Parallel()
	const second = time.Second
	slow := func(name string) {
		time.Sleep(second)
		if name == "Wait" {
			time.Sleep(9 * second)
		}
	}
	table.Bubbles(t, map[string]func(name string){
		"when they panic":                   func(string) { panic("hook") },
		"when they panic with nothing":      func(string) { panic(nil) }, //nolint:govet // it is the point
		"when they panic with their error":  func(string) { panic(http.ErrAbortHandler) },
		"when they are slow":                slow,
		"when they are slow and then panic": func(name string) { slow(name); panic("hook") },
	}, func(t *testing.T, hook func(name string)) {
		network := everything()
		runs := 0
		run := func(_ context.Context, name string, _ any) { runs++; hook(name) }
		client := newClient(t, network, tokens(renewed()), allHooks(run))
		succeed(t, client, of("group"))
		at := network.times()
		if took := at[3] - at[2]; took > 5*second+spread && took != 11*second {
			t.Errorf("a retry that has to wait for 5 s was sent after %s", took)
		}
		if runs < 5 || network.sent() != 4 {
			t.Errorf("hooks ran %d times, %d requests", runs, network.sent())
		}
		start := time.Now()
		succeed(t, client, of("group"))
		if time.Since(start) > 0 {
			t.Errorf("the next call took %s", time.Since(start))
		}
	})
}

// A token is exchanged when an answer proves it dead, once a call, and never
// for any other refusal.
func TestRefresh(t *testing.T) {
	t.Parallel()
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble begins
	revoked := errors.New("revoked")
	none, forbidden, gone := api.ErrUnauthenticated, api.ErrForbidden, api.ErrUnavailable
	expiring := func(at time.Time) api.Token { return api.Token{AccessToken: api.NewSecret("first-token"), Expiry: at} }
	unknown, expired, valid := token("first-token"), expiring(now), expiring(now.Add(time.Second))
	dead, asText := failed(401, 10011), reply(401, `{"result":false,"error":{"code":"10011"}}`)
	unreadable, another, bare, down := failed(401, 10001), failed(401, 10012), status(401), status(503)
	anonymous, own, single := get(), get(), get()
	opts := map[*api.Request][]api.CallOption{single: with(api.WithAttempts(1))}
	anonymous.Auth, own.Credential = api.AuthNone, api.NewSecret("Basic abcdefghijkl")
	type row struct {
		list      []*answer // before a success
		first     api.Token
		r         *api.Request
		refreshes int
		requests  int
		want      error
	}
	table.Bubbles(t, map[string]row{
		"a token that is unknown":              {[]*answer{dead}, unknown, get(), 1, 2, nil},
		"a token that cannot be read":          {[]*answer{unreadable}, unknown, get(), 1, 2, nil},
		"a code written as text":               {[]*answer{asText}, unknown, get(), 1, 2, nil},
		"a new token that is refused too":      {[]*answer{dead, dead}, unknown, get(), 1, 2, none},
		"a refusal for another reason":         {[]*answer{another}, unknown, get(), 0, 1, forbidden},
		"a refusal without a reason":           {[]*answer{bare}, unknown, get(), 0, 1, forbidden},
		"any refusal of an expired token":      {[]*answer{bare}, expired, get(), 1, 2, nil},
		"a refusal of a token not yet expired": {[]*answer{bare}, valid, get(), 0, 1, forbidden},
		"another status":                       {[]*answer{failed(403, 10011)}, unknown, get(), 0, 1, forbidden},
		"a call without a token":               {[]*answer{dead}, api.Token{}, get(), 0, 1, none},
		"a call that never carries one":        {[]*answer{dead}, unknown, anonymous, 0, 1, none},
		"a call with a credential of its own":  {[]*answer{dead}, unknown, own, 0, 1, none},
		"a call that is sent once":             {[]*answer{dead}, unknown, post(), 1, 2, nil},
		"a call with a single attempt":         {[]*answer{dead}, unknown, single, 1, 2, nil},
		"a refresh before failures":            {[]*answer{dead, down, down, down}, unknown, get(), 1, 4, gone},
		"a refresh after failures":             {[]*answer{down, down, dead}, unknown, get(), 1, 4, nil},
		"a refresh that fails":                 {[]*answer{dead}, unknown, get(), 1, 1, revoked},
	}, func(t *testing.T, test row) {
		current, given, failure := test.first, []api.Token(nil), error(nil)
		if test.want == revoked { //nolint:errorlint // it is this one
			failure = revoked
		}
		var seen record
		network := answers(append(test.list, ok())...)
		client := newClient(t, network, seen.hooks(), tokens(&source{
			token: func(context.Context) (api.Token, error) { return current, nil },
			refresh: func(_ context.Context, t api.Token) (api.Token, error) {
				given = append(given, t)
				if failure == nil {
					current = token("second-token")
				}
				return current, failure
			},
		}))
		err := client.Call(t.Context(), test.r, nil, opts[test.r]...)
		if !errors.Is(err, test.want) || failure != nil && !errors.Is(err, none) {
			t.Errorf("got %v, want %v", err, test.want)
		}
		diff := cmp.Diff(slices.Repeat([]api.Token{test.first}, test.refreshes), given, cmpopts.EquateEmpty())
		want := slices.Repeat([]api.RefreshEvent{{Op: test.r.Op, Err: failure}}, test.refreshes)
		diff += cmp.Diff(want, seen.refreshes, cmpopts.EquateErrors(), cmpopts.EquateEmpty())
		if n := network.sent(); diff != "" || n != test.requests {
			t.Fatalf("%d requests, want %d; refused tokens and reports (-want +got)\n%s", n, test.requests, diff)
		}
		last := network.requests()[test.requests-1].Header.Get("Authorization")
		if test.refreshes > 0 && failure == nil && last != "Bearer second-token" {
			t.Errorf("the last request was signed with %q", last)
		}
	})
}
