package wait_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/servertime"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Delays are distributed evenly, so that clients that fail together do not
// retry together.
func TestDefaultIsDistributedEvenly(t *testing.T) {
	t.Parallel()
	for failures, limit := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 5: 16 * time.Second,
		6: 30 * time.Second, 7: 30 * time.Second, 10_000: 30 * time.Second, math.MaxInt: 30 * time.Second,
	} {
		const draws = 10_000
		var quarters [4]int
		for range draws {
			d := wait.Default().Pause(failures)
			if d < 0 || d >= limit {
				t.Fatalf("%d failures: %s, want less than %s", failures, d, limit)
			}
			quarters[4*d/limit]++
		}
		for _, n := range quarters {
			if n < draws/4-400 || n > draws/4+400 { // nine standard deviations
				t.Errorf("%d failures: the quarters got %v", failures, quarters)
			}
		}
	}
}

// A Retry-After is followed, but for an hour at most.
func TestRetryAfterIsLimitedToAnHour(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		failures             int
		ordered, least, most time.Duration
	}{
		{0, 0, 0, 0},
		{0, -1, 0, 0},
		{0, time.Minute, time.Minute, time.Minute},
		{9, 0, 0, 30 * time.Second},
		{9, time.Minute, time.Minute, time.Minute},
		{9, 365 * 24 * time.Hour, time.Hour, time.Hour},
	} {
		if got := wait.For(tt.failures, tt.ordered); got < tt.least || got > tt.most {
			t.Errorf("%d failures, ordered %s: got %s", tt.failures, tt.ordered, got)
		}
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := wait.Sleep(ctx, time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		if err := wait.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(start) != time.Minute {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		if err := wait.Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v of a context that has ended", err)
		}
		if err := wait.Sleep(t.Context(), -1); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestCallReturnsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		failed := errors.New("failed")
		if n, err := wait.Call(ctx, func() (int, error) { return 7, failed }); n != 7 || !errors.Is(err, failed) {
			t.Errorf("got %d, %v", n, err)
		}
		start := time.Now()
		_, err := wait.Call(ctx, func() (int, error) { return 7, wait.Sleep(t.Context(), time.Hour) })
		if took := time.Since(start); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("returned after %s: %v", took, err)
		}
		defer func() {
			if recover() != "a panic" {
				t.Error("the panic is lost")
			}
		}()
		_, _ = wait.Call(t.Context(), func() (int, error) { panic("a panic") })
	})
}

func TestBackoffDoublesUpToItsCap(t *testing.T) {
	t.Parallel()
	const half, most = 500 * time.Millisecond, 8 * time.Second
	for attempt, want := range map[int]time.Duration{
		1: half, 2: 2 * half, 3: 4 * half, 4: 8 * half, 5: most, 6: most, 63: most, 64: most, 65: most, 10_000: most,
		math.MaxInt32: most,
	} {
		if got := (wait.Backoff{Base: half, Cap: most}).Longest(attempt); got != want {
			t.Errorf("after attempt %d: %s, want %s", attempt, got, want)
		}
	}
	for _, r := range []wait.Backoff{
		{Base: math.MaxInt64, Cap: math.MaxInt64},
		{Base: 1, Cap: math.MaxInt64},
		{Base: math.MaxInt64 / 3, Cap: math.MaxInt64},
		{Base: time.Hour, Cap: time.Second},
	} {
		for attempt := 1; attempt < 200; attempt++ {
			if got := r.Longest(attempt); got <= 0 || got > r.Cap {
				t.Errorf("%v after attempt %d: %s", r, attempt, got)
			}
		}
	}
}

// A poll pauses as its step returns, backs off after failures, and ends when
// the step is done or fails finally, or when ctx is done.
func TestPoll(t *testing.T) {
	t.Parallel()
	final, passing := errors.New("final"), &api.Error{Status: 503, Rate: api.RateLimit{RetryAfter: time.Minute}}
	type step struct {
		done bool
		err  error
	}
	type row struct {
		steps  []step
		want   error
		failed int
		took   time.Duration
	}
	table.Bubbles(t, map[string]row{
		"done at once":    {[]step{{true, nil}}, nil, 0, 0},
		"done later":      {[]step{{}, {}, {true, nil}}, nil, 0, 500*time.Millisecond + 750*time.Millisecond},
		"after failures":  {[]step{{false, passing}, {true, passing}, {true, nil}}, nil, 2, 2 * time.Minute},
		"a final failure": {[]step{{}, {false, final}}, final, 0, 500 * time.Millisecond},
		"the context ended": {
			slices.Repeat([]step{{false, passing}}, 9), context.DeadlineExceeded, 5,
			4*time.Minute + 30*time.Second,
		},
	}, func(t *testing.T, test row) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+30*time.Second)
		defer cancel()
		var interval wait.Interval
		start, n, failed := time.Now(), 0, 0
		err := wait.Poll{
			Final:  func(err error) bool { return errors.Is(err, final) },
			Failed: func(failures int, _ error, _ time.Duration) { failed = failures },
		}.Run(ctx, func() (bool, time.Duration, error) {
			n++
			return test.steps[n-1].done, interval.Next(), test.steps[n-1].err
		})
		if !errors.Is(err, test.want) || failed != test.failed || time.Since(start) != test.took {
			t.Errorf("%v after %d failures and %s", err, failed, time.Since(start))
		}
	})
}

// A Retry-After is a number of seconds, or a date by the server's clock. An
// invalid one is ignored.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := time.Now().Add(-time.Hour) // with a slow clock
		date := func(d time.Duration) string { return server.Add(d).UTC().Format(http.TimeFormat) }
		for v, want := range map[string]time.Duration{
			"9": 9 * time.Second, " 0.25 ": 250 * time.Millisecond, date(9 * time.Second): 9 * time.Second,
			"": 0, "0": 0, "-9": 0, "soon": 0, "NaN": 0, "Inf": 0, "1e300": 0, "99999999999": 0, date(-time.Second): 0,
		} {
			h := http.Header{"Date": {date(0)}, "Retry-After": {v}}
			if got := wait.RetryAfter(h, new(servertime.Clock)); got != want {
				t.Errorf("%q: got %s, want %s", v, got, want)
			}
		}
		for v, want := range map[string]time.Duration{
			`4`: 4 * time.Second, `" 4 "`: 4 * time.Second, `"soon"`: 0,
			`-4`: 0, `1e300`: 0, `[]`: 0, ``: 0,
		} {
			if got := wait.ParseSeconds(v); got != want {
				t.Errorf("%s: got %s, want %s", v, got, want)
			}
		}
	})
}

// wakerFunc is a Waker.
type wakerFunc func(ctx context.Context, changed func(bool)) error

func (f wakerFunc) Wake(ctx context.Context, _ api.Profile, changed func(bool), _ ...api.CallOption) error {
	return f(ctx, changed)
}

// A Waker that was refused is tried again, so that one wrong refusal does not silence it for
// as long as the program runs.
func TestWatchTriesAgainAfterARefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls, reports atomic.Int64
		w := wakerFunc(func(ctx context.Context, changed func(bool)) error {
			if calls.Add(1) == 1 {
				return api.ErrForbidden
			}
			changed(true)
			<-ctx.Done()
			return ctx.Err()
		})
		changed := func(watched bool) {
			if watched {
				reports.Add(1)
			}
		}
		isRefusal := func(err error) bool { return errors.Is(err, api.ErrForbidden) }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			wait.Watch(ctx, w, api.Profile{}, changed, isRefusal, nil)
		}()
		time.Sleep(59 * time.Minute)
		if n := calls.Load(); n != 1 {
			t.Errorf("%d calls within an hour", n)
		}
		time.Sleep(2 * time.Minute)
		if calls.Load() != 2 || reports.Load() != 1 {
			t.Errorf("%d calls and %d reports after an hour", calls.Load(), reports.Load())
		}
		cancel()
		<-ended
	})
}
