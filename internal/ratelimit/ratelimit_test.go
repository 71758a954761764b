package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	forever = time.Duration(-1) // no limit on the wait that the server requires
	minute  = time.Minute
	late    = minute + minute/1000 // when a slot of a window of a minute is free again
)

// kind is the alignment of the server's windows, which is not documented.
type kind string

const (
	fromFirst kind = "from the first call"
	toClock   kind = "to the clock"
	sliding   kind = "sliding"
)

func kinds() []kind { return []kind{fromFirst, toClock, sliding} }

// server counts calls in windows, independently of the tested code.
type server struct {
	mu      sync.Mutex
	kind    kind
	counts  bool // rejected calls too, in the windows that are full
	windows []api.RateWindow
	calls   [][]time.Time // per window, those that count
	starts  []time.Time   // per window, of the current one
	refused int
	served  int
}

func newServer(k kind, windows ...api.RateWindow) *server {
	return &server{
		kind: k, windows: windows, calls: make([][]time.Time, len(windows)),
		starts: make([]time.Time, len(windows)),
	}
}

// call makes a call with the given latencies and passes the announcement of
// window i to g.
func (s *server) call(t *testing.T, g *ratelimit.Group, there, back time.Duration, i int) {
	t.Helper()
	n := acquire(t, g)
	time.Sleep(there)
	s.mu.Lock()
	s.take()
	limit, remaining, reset := s.announce(i)
	s.mu.Unlock()
	time.Sleep(back)
	g.Release(n)
	g.Observe(n, limit, remaining, reset)
}

// take counts a call that arrives now, and rejects it if a window is full.
func (s *server) take() bool {
	now := time.Now()
	full := false
	for i := range s.windows {
		s.advance(i, now)
		full = full || len(s.calls[i]) >= s.windows[i].Max
	}
	for i := range s.windows {
		if !full || s.counts && len(s.calls[i]) >= s.windows[i].Max {
			s.calls[i] = append(s.calls[i], now)
		}
	}
	if full {
		s.refused++
		return false
	}
	s.served++
	return true
}

// advance drops the calls that no longer count in window i.
func (s *server) advance(i int, now time.Time) {
	size := s.windows[i].Size
	switch s.kind {
	case sliding:
		for len(s.calls[i]) > 0 && now.Sub(s.calls[i][0]) >= size {
			s.calls[i] = s.calls[i][1:]
		}
	case toClock:
		if start := now.Truncate(size); !start.Equal(s.starts[i]) {
			s.starts[i], s.calls[i] = start, nil
		}
	case fromFirst:
		if len(s.calls[i]) == 0 || now.Sub(s.starts[i]) >= size {
			s.starts[i], s.calls[i] = now, nil
		}
	}
}

// announce returns the headers of a response about window i.
func (s *server) announce(i int) (limit, remaining int, reset time.Time) {
	w := s.windows[i]
	reset = s.starts[i].Add(w.Size)
	if s.kind == sliding && len(s.calls[i]) > 0 {
		reset = s.calls[i][max(0, len(s.calls[i])-w.Max)].Add(w.Size)
	}
	return w.Max, max(0, w.Max-len(s.calls[i])), reset
}

func acquire(t *testing.T, g *ratelimit.Group) ratelimit.Call {
	t.Helper()
	n, err := g.Acquire(t.Context(), forever, nil)
	if err != nil {
		t.Error(err)
	}
	return n
}

// leaves requires that the next call starts after want.
func leaves(t *testing.T, g *ratelimit.Group, want time.Duration) {
	t.Helper()
	start := time.Now()
	g.Release(acquire(t, g))
	if waited := time.Since(start); waited != want {
		t.Errorf("the next call left after %s, want %s", waited, want)
	}
}

// burst returns how many calls start at once, and after which time the next one does.
func burst(t *testing.T, g *ratelimit.Group) (calls int, next time.Duration) {
	t.Helper()
	for start := time.Now(); ; calls++ {
		g.Release(acquire(t, g))
		next = time.Since(start)
		if next > 0 {
			return calls, next
		}
	}
}

func TestPublishedRates(t *testing.T) {
	t.Parallel()
	for name, hourly := range map[string]int{"events.search": 720, "activity.poll": 1000, "another": 0} {
		var least int
		for _, w := range api.RateWindows(name) {
			if n := w.Max * int(time.Hour/w.Size); least == 0 || n < least {
				least = n
			}
		}
		if least != hourly {
			t.Errorf("%s: %d calls an hour, want %d", name, least, hourly)
		}
	}
}

// Sixty searches take at least 96 s: four batches of 15, 30 s apart, each of
// three bursts of 5, 3 s apart.
func TestWorkersFinishOnTime(t *testing.T) {
	t.Parallel()
	const (
		calls, workers = 60, 8
		latency        = 50 * time.Millisecond
		ideal          = 96*time.Second + latency
	)
	type row struct {
		kind   kind
		offset time.Duration
	}
	rows := map[string]row{}
	for _, k := range kinds() {
		for _, offset := range []time.Duration{
			0, time.Second, 2999 * time.Millisecond, 17 * time.Second, 599 * time.Second,
		} {
			rows[fmt.Sprintf("windows %s, begun %s into one", k, offset)] = row{k, offset}
		}
	}
	table.Bubbles(t, rows, func(t *testing.T, test row) {
		time.Sleep(test.offset)
		windows := api.RateWindows("events.search")
		g, s := ratelimit.New(windows...), newServer(test.kind, windows...)
		var left atomic.Int64
		left.Store(calls)
		start := time.Now()
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					s.call(t, g, latency/2, latency/2, 0)
				}
			})
		}
		wg.Wait()
		if s.refused > 0 || s.served != calls {
			t.Errorf("%d calls were served and %d refused, want %d and none", s.served, s.refused, calls)
		}
		if took := time.Since(start); took > ideal*101/100 {
			t.Errorf("took %s, at best it is %s", took, ideal)
		}
	})
}

// No call is rejected, whatever the windows, latencies and number of callers.
func TestNoScheduleOverfillsAWindow(t *testing.T) {
	t.Parallel()
	const rounds = 300
	for seed := range uint64(rounds) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			windows := make([]api.RateWindow, 1+dice.IntN(3))
			for i := range windows {
				windows[i] = api.RateWindow{
					Max:  1 + dice.IntN(12) + 20*i,
					Size: time.Duration(1+dice.IntN(40)) * time.Second,
				}
			}
			k := kinds()[dice.IntN(3)]
			time.Sleep(time.Duration(dice.IntN(60_000)) * time.Millisecond)
			g, s := ratelimit.New(windows...), newServer(k, windows...)
			var wg sync.WaitGroup
			for range 1 + dice.IntN(10) {
				mine := rand.New(rand.NewPCG(dice.Uint64(), 2))
				wg.Go(func() {
					for range 10 {
						there, back := mine.IntN(4000), mine.IntN(4000)
						s.call(t, g, time.Duration(there)*time.Millisecond, time.Duration(back)*time.Millisecond,
							mine.IntN(len(windows)))
					}
				})
			}
			wg.Wait()
			if s.refused > 0 {
				t.Fatalf("seed %d: %d of %d calls refused by %v %s", seed, s.refused, s.refused+s.served, windows, k)
			}
		})
	}
}

func TestFiftyCallersGetEqualShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindow{Max: 20, Size: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Second)
		defer cancel()
		counts := make([]int, 50)
		var wg sync.WaitGroup
		for i := range counts {
			dice := rand.New(rand.NewPCG(uint64(i), 3))
			wg.Go(func() {
				for {
					n, err := g.Acquire(ctx, forever, nil)
					if err != nil {
						return
					}
					time.Sleep(time.Duration(10+dice.IntN(50)) * time.Millisecond)
					g.Release(n)
					counts[i]++
				}
			})
		}
		wg.Wait()
		least, most := slices.Min(counts), slices.Max(counts)
		if float64(most) > 1.2*float64(least) {
			t.Errorf("one caller left %d times, another %d times", most, least)
		}
		t.Logf("each left %d to %d times", least, most)
	})
}

// A Group without published windows learns them from headers.
func TestUnknownWindowsAreLearned(t *testing.T) {
	t.Parallel()
	rows := map[string]kind{}
	for _, k := range kinds() {
		rows[string(k)] = k
	}
	table.Bubbles(t, rows, func(t *testing.T, k kind) {
		time.Sleep(13 * time.Second) // shortens the first window that is learned, as it is aligned to the clock
		window := api.RateWindow{Max: 50, Size: 10 * time.Second}
		g, s := ratelimit.New(), newServer(k, window)
		start := time.Now()
		const calls = 1000
		for range calls {
			s.call(t, g, 80*time.Millisecond, 0, 0)
		}
		if s.refused > 0 {
			t.Errorf("%d calls were refused", s.refused)
		}
		ideal := time.Duration(calls/window.Max-1) * window.Size
		if took := time.Since(start); took > ideal*106/100 {
			t.Errorf("took %s, at best it is %s", took, ideal)
		}
	})
}

// Clients with one credential cannot count each other's calls, but the headers
// report how much of a window is used.
func TestClientsSharingACredential(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		window := api.RateWindow{Max: 10, Size: 10 * time.Second}
		g, s := ratelimit.New(window), newServer(fromFirst, window)
		for range 8 {
			s.take()
		}
		reset := time.Now().Add(window.Size)
		for range 3 {
			s.call(t, g, 0, 0, 0)
		}
		if time.Now().Before(reset) {
			t.Error("a call left while the others had used up the window")
		}
		if s.refused > 0 {
			t.Error("the call was refused")
		}
	})
}

// An announcement of more room does not widen a known window.
func TestAnnouncementDoesNotWidenAKnownWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindow{Max: 5, Size: 3 * time.Second})
		start := time.Now()
		for range 6 {
			n := acquire(t, g)
			g.Release(n)
			g.Observe(n, 1000, 999, time.Now().Add(time.Hour))
		}
		if waited := time.Since(start); waited < 3*time.Second {
			t.Errorf("six calls left within %s", waited)
		}
	})
}

// Callers start in order, except for those that are cancelled.
func TestCancelledCallersLeaveTheQueue(t *testing.T) {
	t.Parallel()
	const callers = 30
	table.Bubbles(t, map[string]int{
		"the first in line": 0, "one in the middle": callers / 2, "the last in line": callers - 1,
	}, func(t *testing.T, who int) {
		g := ratelimit.New(api.RateWindow{Max: 1, Size: minute})
		g.Release(acquire(t, g))
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		left := make([]time.Duration, callers)
		var wg sync.WaitGroup
		for i := range left {
			wg.Go(func() {
				own := context.WithoutCancel(ctx)
				if i == who {
					own = ctx
				}
				n, err := g.Acquire(own, forever, nil)
				left[i] = time.Since(start)
				if err == nil {
					g.Release(n)
				}
				if (err != nil) != (i == who) || i == who && !errors.Is(err, context.Canceled) {
					t.Errorf("caller %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
		var want []time.Duration
		for n := range callers - 1 {
			want = append(want, time.Duration(n+1)*late)
		}
		if diff := cmp.Diff(slices.Insert(want, who, time.Second), left); diff != "" {
			t.Errorf("left after (-want +got)\n%s", diff)
		}
	})
}

// A call that is already cancelled uses no slot.
func TestCancelledCallTakesNoSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindow{Max: 1, Size: minute})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 { // select chooses at random if both are ready
			if _, err := g.Acquire(ctx, forever, nil); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
		}
		leaves(t, g, 0)
	})
}

// A wait that is too long fails at once with its cause. Any other is reported
// once, with its length and cause.
func TestWaitLimits(t *testing.T) {
	t.Parallel()
	type row struct {
		close   time.Duration // by a Retry-After; 0 means only the window delays
		maxWait time.Duration
		timeout time.Duration // of the caller; 0 means none
		want    error         // returned at once; nil after took
		took    time.Duration
	}
	table.Bubbles(t, map[string]row{
		"longer than the caller will wait":         {2 * minute, minute, 0, ratelimit.ErrClosed, 0},
		"longer than the caller's time":            {2 * minute, forever, minute, context.DeadlineExceeded, 0},
		"longer than the caller's time, its cause": {2 * minute, forever, minute, ratelimit.ErrClosed, 0},
		"longer than both":                         {2 * minute, minute, minute, context.DeadlineExceeded, 0},
		"a window that ends after the time":        {0, 0, time.Second, context.DeadlineExceeded, 0},
		"any when the caller will not wait":        {time.Nanosecond, 0, 0, ratelimit.ErrClosed, 0},
		"exactly the limit of the caller":          {2 * minute, 2 * minute, 0, nil, 2 * minute},
		"any with a negative limit":                {time.Hour, forever, 0, nil, time.Hour},
		"a window, with any limit":                 {0, time.Nanosecond, 0, nil, late},
		"a window that takes longer":               {time.Second, forever, 0, nil, late},
	}, func(t *testing.T, test row) {
		g := ratelimit.New(api.RateWindow{Max: 1, Size: minute})
		g.Release(acquire(t, g))
		start := time.Now()
		if test.close > 0 {
			g.Close(start.Add(test.close), 1) // others do not use the window: without a random delay
		}
		if test.timeout == 0 {
			test.timeout = 24 * time.Hour
		}
		ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
		defer cancel()
		reports := 0
		time.AfterFunc(time.Millisecond, func() { g.Close(start, 0) }) // wakes the waiting caller without a change
		n, err := g.Acquire(ctx, test.maxWait, func(wait time.Duration, ordered bool) {
			reports++
			if wait != test.took || ordered != (test.took == test.close) {
				t.Errorf("a wait of %s, ordered: %t", wait, ordered)
			}
			time.Sleep(10 * time.Second) // a slow callback delays no call
		})
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || time.Since(start) != test.took {
			t.Errorf("got %v after %s, want %v after %s", err, time.Since(start), test.want, test.took)
		}
		if (reports == 1) != (err == nil) {
			t.Errorf("reported %d times", reports)
		}
		if err == nil {
			g.Release(n)
		}
	})
}

// Each of several callers that wait is reported once, at once if the start of the first one is known,
// with the length of its wait: also those that never are the first in the queue.
func TestEveryWaitIsReported(t *testing.T) {
	t.Parallel()
	known := []api.RateWindow{{Max: 5, Size: 3 * time.Second}, {Max: 15, Size: 30 * time.Second}}
	type row struct {
		takes time.Duration // a call
		close time.Duration // by a Retry-After; 0 means none
	}
	table.Bubbles(t, map[string]row{
		"calls without latency":  {},
		"calls with latency":     {takes: 10 * time.Millisecond},
		"after a Retry-After":    {close: 20 * time.Second},
		"with both of the above": {takes: 10 * time.Millisecond, close: 20 * time.Second},
	}, func(t *testing.T, test row) {
		const calls = 40
		g := ratelimit.New(known...)
		if test.close > 0 {
			g.Close(time.Now().Add(test.close), 0)
		}
		var waited, reported atomic.Int64
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				start, reports, expected := time.Now(), 0, time.Time{}
				c, err := g.Acquire(t.Context(), forever, func(wait time.Duration, _ bool) {
					reports, expected = reports+1, time.Now().Add(wait)
				})
				if err != nil {
					t.Error(err)
					return
				}
				now := time.Now()
				if now.After(start) {
					waited.Add(1)
				}
				reported.Add(int64(reports))
				differs := now.Sub(expected).Abs() > time.Duration(calls)*test.takes
				if reports > 1 || reports == 1 && differs {
					t.Errorf("reported %d times, started %s after the expected time", reports, now.Sub(expected))
				}
				time.Sleep(test.takes)
				g.Release(c)
			})
		}
		wg.Wait()
		want := int64(calls - known[0].Max)
		if test.close > 0 {
			want = calls
		}
		if waited.Load() != want || reported.Load() != want {
			t.Errorf("%d calls waited and %d were reported, want %d", waited.Load(), reported.Load(), want)
		}
	})
}

// A callback that panics, before or after its call has started, keeps no slot.
func TestPanicLeavesTheLine(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]time.Duration{
		"at once": 0, "after the wait": 2 * late,
	}, func(t *testing.T, slow time.Duration) {
		g := ratelimit.New(api.RateWindow{Max: 1, Size: minute})
		g.Release(acquire(t, g))
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not reach the caller")
				}
			}()
			_, _ = g.Acquire(t.Context(), forever, func(time.Duration, bool) {
				time.Sleep(slow)
				panic("a logger")
			})
		}()
		leaves(t, g, late)
	})
}

// A caller that accepts a long wait does not delay the errors of the others.
func TestLongWaitDoesNotDelayOtherCallers(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]bool{ // whether the group is closed first
		"who come while the group is closed": true, "who stood in line when it closed": false,
	}, func(t *testing.T, closed bool) {
		g := ratelimit.New(api.RateWindow{Max: 1, Size: minute})
		if closed {
			g.Close(time.Now().Add(time.Hour), 0)
		} else {
			g.Release(acquire(t, g))
		}
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { leaves(t, g, time.Hour) })
		synctest.Wait()
		for timeout, want := range map[time.Duration]error{
			time.Hour * 2: ratelimit.ErrClosed, 2 * minute: context.DeadlineExceeded,
		} {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				if _, err := g.Acquire(ctx, minute, nil); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
				if waited := time.Since(start); waited > 0 {
					t.Errorf("the other caller failed after %s", waited)
				}
			})
		}
		synctest.Wait()
		if !closed {
			g.Close(start.Add(time.Hour), 0)
		}
		wg.Wait()
	})
}

// An announcement that others have used up a window reaches callers in the
// queue. As it may be wrong, it delays callers by a minute at most.
func TestAnnouncementReachesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindow{Max: 1, Size: 10 * time.Second})
		g.Release(acquire(t, g))
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { leaves(t, g, minute) })
		synctest.Wait()
		wg.Go(func() {
			if _, err := g.Acquire(t.Context(), minute, nil); !errors.Is(err, ratelimit.ErrClosed) ||
				time.Since(start) > 0 {
				t.Errorf("got %v after %s", err, time.Since(start))
			}
		})
		synctest.Wait()
		g.Observe(ratelimit.Call{}, 5, 0, start.Add(time.Hour))
		if limit, until := g.Full(); limit != 5 || !until.Equal(start.Add(time.Hour)) {
			t.Errorf("limit %d until %s", limit, until)
		}
		wg.Wait()
	})
}

// Later announcements correct the size of a learned window, also for callers
// that wait.
func TestLearnedWindowsAreCorrected(t *testing.T) {
	t.Parallel()
	type row struct { // in seconds
		size int      // as first announced
		ends [][2]int // when another end is announced, and that end
		want int      // the final size
	}
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	table.Bubbles(t, map[string]row{
		"the same end, announced two seconds earlier": {3600, [][2]int{{600, 3598}}, 3600},
		"the same end, announced two seconds later":   {3600, [][2]int{{600, 3602}}, 3600},
		"an earlier end of a long window":             {3600, [][2]int{{600, 3597}}, 2997},
		"the next end of a long window":               {3600, [][2]int{{600, 3603}}, 3003},
		"the next end of a window of a minute":        {60, [][2]int{{10, 63}}, 60},
		"the next end of one longer by a second":      {61, [][2]int{{10, 64}}, 54},
		"a later end, in a whole window":              {60, [][2]int{{10, 70}, {11, 12}, {14, 58}}, 60},
		"a later end, in more than a window":          {60, [][2]int{{10, 71}}, 61},
		"an earlier end of a window of a minute":      {60, [][2]int{{5, 20}}, 60},
		"an earlier end of one longer by one":         {61, [][2]int{{5, 20}}, 15},
		"earlier ends until one has passed":           {60, [][2]int{{5, 7}, {8, 40}}, 60},
		"earlier ends after one has passed":           {60, [][2]int{{5, 7}, {9, 40}}, 31},
		"an earlier end that has passed again":        {60, [][2]int{{5, 7}, {9, 8}}, 0},
		"an earlier end, and the first again":         {60, [][2]int{{5, 7}, {6, 58}, {9, 40}}, 60},
		"an earlier end, and then the next later":     {60, [][2]int{{5, 7}, {6, 63}}, 57},
	}, func(t *testing.T, test row) {
		g, start := ratelimit.New(), time.Now()
		g.Release(acquire(t, g))
		g.Observe(ratelimit.Call{}, 1, 1, start.Add(seconds(test.size)))
		want := seconds(test.want) * 1001 / 1000
		for _, end := range test.ends {
			at := seconds(end[0])
			time.AfterFunc(at, func() { g.Observe(ratelimit.Call{}, 1, 1, start.Add(seconds(end[1]))) })
			if test.want == 0 {
				want = at
			}
		}
		leaves(t, g, want)
	})
}

// Calls before an announcement count in its window, as many as it says. Calls that maxWait
// releases verify it. Invalid announcements are ignored.
func TestLearnedWindows(t *testing.T) {
	t.Parallel()
	type announced struct {
		limit, remaining int
		in               time.Duration
	}
	type row struct {
		before  int
		windows []announced
		free    int // calls that start at once
		maxWait time.Duration
		want    time.Duration // of the next call
	}
	one := announced{1, 1, minute}
	table.Bubbles(t, map[string]row{
		"no call before":             {0, []announced{{5, 5, minute}}, 5, forever, late},
		"fewer calls before":         {2, []announced{{5, 3, minute}}, 3, forever, late},
		"more calls before":          {7, []announced{{5, 0, minute}}, 0, forever, late},
		"calls that do not count":    {7, []announced{{5, 3, minute}}, 3, forever, late},
		"one that counts at least":   {7, []announced{{5, 5, minute}}, 4, forever, late},
		"the largest window":         {4096, []announced{{4096, 0, minute}}, 0, forever, late},
		"a larger one":               {4097, []announced{{4097, 4097, minute}}, 0, forever, 0},
		"another limit":              {1, []announced{one, {2, 2, minute}}, 1, forever, late},
		"another that has ended":     {1, []announced{one, {2, 2, 0}}, 0, forever, late},
		"a full one that has ended":  {0, []announced{{10, 0, -time.Second}}, 0, forever, 0},
		"more left than the limit":   {0, []announced{{10, 99, minute}}, 10, forever, late},
		"no limit":                   {0, []announced{{0, 0, minute}}, 0, forever, 0},
		"a negative limit":           {0, []announced{{-1, 0, minute}}, 0, forever, 0},
		"a call that does not wait":  {1, []announced{one}, 0, 0, 0},
		"a call that waits for less": {1, []announced{one}, 0, minute, minute},
		"a call that waits for more": {1, []announced{one}, 0, 2 * minute, late},
	}, func(t *testing.T, test row) {
		g := ratelimit.New()
		for range test.before {
			g.Release(acquire(t, g))
		}
		for _, w := range test.windows {
			g.Observe(ratelimit.Call{}, w.limit, w.remaining, time.Now().Add(w.in))
		}
		for range test.free {
			leaves(t, g, 0)
		}
		start := time.Now()
		if _, err := g.Acquire(t.Context(), test.maxWait, nil); err != nil || time.Since(start) != test.want {
			t.Errorf("the next call left after %s, want %s: %v", time.Since(start), test.want, err)
		}
	})
}

// A program that has made many calls is not stopped by the announcement of a window with
// room, as of an hour next to a minute: the server counts few of these calls in it.
func TestOldCallsDoNotFillALearnedWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New()
		for range 1000 { // a call every minute, for most of a day
			g.Release(acquire(t, g))
			time.Sleep(minute)
		}
		for _, w := range []api.RateWindow{{Max: 60, Size: minute}, {Max: 600, Size: time.Hour}, {Max: 60, Size: minute}} {
			c := acquire(t, g)
			g.Release(c)
			g.Observe(c, w.Max, w.Max-10, time.Now().Add(w.Size))
			for range w.Max - 10 {
				leaves(t, g, 0)
			}
		}
	})
}

// A single odd announcement delays calls for a minute or so, also if no other response ever
// announces a window.
func TestUnannouncedWindowsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindow{Max: 30, Size: time.Second})
		g.Observe(acquired(t, g), 5, 4, time.Now().Add(2*time.Hour))
		start := time.Now()
		const calls = 60
		for range calls {
			c, err := g.Acquire(t.Context(), minute, nil)
			if err != nil {
				t.Fatal(err)
			}
			g.Release(c)
			g.Unannounced()
			time.Sleep(time.Second)
		}
		if took := time.Since(start); took > 2*minute+calls*time.Second || g.HasLearned.Load() {
			t.Errorf("%d calls took %s", calls, took)
		}
	})
}

// A window that responses announce again and again stays, also while others do not.
func TestAnnouncedWindowsAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New()
		end := time.Now().Add(time.Hour)
		for i := range 10 {
			g.Observe(acquired(t, g), 10, 9-i, end)
			time.Sleep(minute - 1)
			g.Unannounced()
		}
		start := time.Now()
		g.Release(acquire(t, g))
		if took := time.Since(start); took < time.Hour/2 {
			t.Errorf("the call after the last of the window started after %s", took)
		}
	})
}

// acquired makes a call that ends at once.
func acquired(t *testing.T, g *ratelimit.Group) ratelimit.Call {
	t.Helper()
	c := acquire(t, g)
	g.Release(c)
	return c
}

// Calls that run while a window is learned count in it, too.
func TestRunningCallsCountInALearnedWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New()
		g.Release(acquire(t, g)) // long ago
		c, first, second := acquire(t, g), acquire(t, g), acquire(t, g)
		g.Release(c)
		g.Observe(c, 5, 4, time.Now().Add(minute))
		g.Release(first)
		g.Release(second)
		leaves(t, g, 0)
		leaves(t, g, 0)
		leaves(t, g, late)
	})
}

// A client that learns of the calls of others in another way learns the window only.
func TestLearnedWithoutTheCallsOfOthers(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]time.Duration{1: late, 0: 0, -1: 0} {
		synctest.Test(t, func(t *testing.T) {
			g := ratelimit.New()
			g.Learn(limit, limit, time.Now().Add(minute))
			leaves(t, g, 0)
			leaves(t, g, want)
		})
	}
}

// A window is full if other clients have used more than all own calls,
// including those in progress.
func TestWindowFilledByOthers(t *testing.T) {
	t.Parallel()
	type row struct {
		answered  []time.Duration // when own calls ended, at most ten seconds before the announcement
		underway  int
		remaining int
		full      bool
	}
	table.Bubbles(t, map[string]row{
		"without a call":                {nil, 0, 0, true},
		"beside calls under way":        {nil, 2, 0, true},
		"not by calls under way":        {nil, 3, 0, false},
		"not by calls in the window":    {[]time.Duration{1, 1, 1}, 0, 0, false},
		"beside calls before it":        {[]time.Duration{0, 1, 1}, 0, 0, true},
		"not while there is room":       {[]time.Duration{1}, 0, 1, false},
		"not by calls of both kinds":    {[]time.Duration{1, 1}, 1, 1, false},
		"up to the calls under way":     {nil, 1, 1, true},
		"not with more room than those": {nil, 1, 2, false},
	}, func(t *testing.T, test row) {
		g := ratelimit.New(api.RateWindow{Max: 3, Size: 10 * time.Second})
		for _, at := range test.answered {
			n := acquire(t, g)
			time.AfterFunc(at, func() { g.Release(n) })
		}
		for range test.underway {
			acquire(t, g)
		}
		time.Sleep(10 * time.Second)
		g.Observe(ratelimit.Call{Started: time.Now()}, 3, test.remaining, time.Now().Add(minute))
		if limit, _ := g.Full(); (limit == 3) != test.full {
			t.Errorf("announced with %d left: full is %t", test.remaining, !test.full)
		}
	})
}

// Of two full windows, the one with the later end counts.
func TestLongerClaimWins(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for next, want := range map[[2]int][2]int{ // limit, minutes; after 5, 60
		{5, 30}: {5, 30}, {7, 30}: {5, 60}, {7, 60}: {5, 60}, {7, 61}: {7, 61},
	} {
		g := ratelimit.New()
		g.Observe(ratelimit.Call{}, 5, 0, start.Add(time.Hour))
		g.Observe(ratelimit.Call{}, next[0], 0, start.Add(time.Duration(next[1])*minute))
		limit, until := g.Full()
		if got := [2]int{limit, int(until.Sub(start) / minute)}; got != want {
			t.Errorf("after %v: got %v, want %v", next, got, want)
		}
	}
}

func TestCloseNeverShortensAClosure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New()
		start := time.Now()
		g.Close(start.Add(minute), 0)
		g.Close(start.Add(time.Second), 0)
		g.Close(start.Add(-time.Hour), 0)
		leaves(t, g, minute)
	})
}

// A call in progress holds its slot until it ends.
func TestCallInProgressHoldsItsSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindow{Max: 1, Size: time.Second})
		n := acquire(t, g)
		time.AfterFunc(time.Hour, func() { g.Release(n) })
		leaves(t, g, time.Hour+time.Second+time.Millisecond)
	})
}

// A call that does not wait for a learned window starts after those of the program that do,
// also if a loop waits.
func TestImpatientCallKeepsItsPlace(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]ratelimit.Class{
		"beside a loop that was woken": ratelimit.Woken, "beside a loop at rest": ratelimit.Rest,
	}, func(t *testing.T, class ratelimit.Class) {
		g := ratelimit.New()
		g.Observe(ratelimit.Call{}, 1, 1, time.Now().Add(minute))
		g.Release(acquire(t, g))
		var others sync.WaitGroup
		for _, c := range []ratelimit.Class{ratelimit.Program, class} {
			others.Go(func() {
				if err := g.Wait(ratelimit.With(t.Context(), newLoop(c))); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		start := time.Now()
		n, err := g.Acquire(t.Context(), 0, nil)
		if err != nil || time.Since(start) != late {
			t.Errorf("started after %s, want %s: %v", time.Since(start), late, err)
		}
		g.Release(n)
		others.Wait()
	})
}

// roomy returns a function that makes a call without a wait.
func roomy(tb testing.TB) func() {
	tb.Helper()
	g := ratelimit.New(api.RateWindow{Max: 4000, Size: time.Nanosecond},
		api.RateWindow{Max: 2000, Size: time.Nanosecond})
	ctx, cancel := context.WithCancel(tb.Context())
	tb.Cleanup(cancel)
	reset := time.Now().Add(minute)
	return func() {
		n, err := g.Acquire(ctx, minute, nil)
		if err != nil {
			tb.Fatal(err)
		}
		g.Release(n)
		g.Observe(ratelimit.Call{}, 4000, 3000, reset)
	}
}

//nolint:paralleltest // AllocsPerRun counts allocations of the whole process
func TestCallWithoutWaitDoesNotAllocate(t *testing.T) {
	if allocs := testing.AllocsPerRun(1000, roomy(t)); allocs > 0 {
		t.Errorf("%v allocations a call", allocs)
	}
}

// BenchmarkQueue reports the time of a caller that begins to wait and is canceled. It must not be dozens of
// times longer with a hundred times as many callers, all of which hold the lock of the group.
func BenchmarkQueue(b *testing.B) {
	for _, callers := range []int{100, 10_000} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			for b.Loop() {
				g := ratelimit.New(api.RateWindow{Max: 5, Size: minute}, api.RateWindow{Max: 50, Size: 2 * minute})
				ctx, cancel := context.WithCancel(b.Context())
				var begun, ended sync.WaitGroup
				begun.Add(callers)
				for range callers {
					ended.Go(func() {
						c, err := g.Acquire(ctx, forever, func(time.Duration, bool) { begun.Done() })
						if err == nil { // one of the first five, which do not wait
							begun.Done()
							g.Release(c)
						}
					})
				}
				begun.Wait()
				cancel()
				ended.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*callers), "ns/caller")
		})
	}
}

func BenchmarkGroup(b *testing.B) {
	call := roomy(b)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}
