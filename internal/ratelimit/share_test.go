package ratelimit_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/table"
)

// Clients that share nothing but the credential share its windows: no call fails, few are
// refused, and together they are nearly as fast as one client that knows every call. The
// server announces the tightest window, in whole seconds.
func TestClientsShareTheWindowsOfACredential(t *testing.T) {
	t.Parallel()
	type row struct {
		kind    kind
		counts  bool // rejected calls
		clients int
	}
	type limit struct{ refusals, slowness, slowest float64 }
	rows := map[string]row{}
	for _, k := range kinds() {
		for _, counts := range []bool{false, true} {
			for _, clients := range []int{1, 2, 3, 8} {
				name := fmt.Sprintf("%d clients, windows %s, rejected calls count: %t", clients, k, counts)
				rows[name] = row{k, counts, clients}
			}
		}
	}
	table.Each(t, rows, func(t *testing.T, test row) {
		most := map[int]limit{
			1: {0, 1.01, 1.01}, 2: {0.15, 1.03, 1.1}, 3: {0.22, 1.03, 1.1}, 8: {0.6, 1.04, 1.1},
		}[test.clients]
		switch { // a few seeds can miss the end of a window by seconds, which costs the next minutes
		case test.kind == sliding && test.clients > 1: // the first client leaves no room for the others at once
			most.slowness, most.slowest = 1.35, 1.6
		case test.kind == toClock && test.clients == 1: // which does not know where windows begin
			most.slowness, most.slowest = 1.25, 1.3
		case test.kind == toClock:
			most.slowness, most.slowest = 1.06, 1.3
		}
		var refusals, slowness, slowest float64
		seeds := table.Rounds(40, 200)
		for seed := range seeds {
			r, s := shareWindows(t, test.kind, test.counts, test.clients, uint64(seed))
			refusals, slowness, slowest = refusals+r, slowness+s, max(slowest, s)
		}
		refusals, slowness = refusals/float64(seeds), slowness/float64(seeds)
		result := fmt.Sprintf("%.3f refusals a call, %.3f of the fastest schedule, at most %.3f", refusals, slowness, slowest)
		t.Log(result)
		if refusals > most.refusals || slowness > most.slowness || slowest > most.slowest {
			t.Errorf("%s; want at most %v", result, most)
		}
	})
}

// shareWindows makes 400 calls and returns the refusals for each and the time, relative to
// the fastest schedule that a client with knowledge of the server can have.
func shareWindows(t *testing.T, k kind, counts bool, clients int, seed uint64) (refusals, slowness float64) {
	t.Helper()
	const calls = 400
	windows := api.RateWindows("events.search")
	synctest.Test(t, func(t *testing.T) {
		dice := rand.New(rand.NewPCG(seed, 14))
		time.Sleep(time.Duration(dice.IntN(600_000)) * time.Millisecond)
		s, start := newServer(k, windows...), time.Now()
		s.counts = counts
		var left atomic.Int64
		left.Store(calls)
		var wg sync.WaitGroup
		for i := range clients {
			g, later := ratelimit.New(windows...), time.Duration(i*dice.IntN(1000))*time.Millisecond
			wg.Go(func() {
				time.Sleep(later)
				for left.Add(-1) >= 0 {
					for !s.attempt(t, g) {
					}
				}
			})
		}
		wg.Wait()
		refusals, slowness = float64(s.refused)/calls, float64(time.Since(start))
		time.Sleep(10*time.Minute - time.Since(start)%(10*time.Minute)) // the same phase of the clock
		slowness /= float64(newServer(k, windows...).fastest(calls))
	})
	return refusals, slowness
}

// A refused client makes three quarters of the calls that it made in a window, or of those
// that it may make if none was its own. In the longest of several windows it makes as many
// as before.
func TestRefusedClientMakesFewerCalls(t *testing.T) {
	t.Parallel()
	brief, window, long := api.RateWindow{Max: 100, Size: time.Second}, api.RateWindow{Max: 20, Size: minute},
		api.RateWindow{Max: 100, Size: 20 * minute}
	type row struct {
		windows []api.RateWindow
		own     int           // calls before the first refusal
		refused []int         // calls under way that are refused together
		end     time.Duration // of the window, after a refusal
		calls   int           // that start at once after that
		next    time.Duration // until one more starts
		learned int           // limit of another window that was announced; 0 means none
	}
	one := []api.RateWindow{window}
	table.Bubbles(t, map[string]row{
		"without a call":         {one, 0, []int{1}, minute, 15, late, 0},
		"after half of them":     {one, 10, []int{1}, minute, 7, late * 70 / 75, 0},
		"after three at a time":  {one, 10, []int{3}, minute, 9, late, 0},
		"twice":                  {one, 10, []int{1, 1}, minute, 5, 53387 * time.Millisecond, 0},
		"again and again":        {one, 1, []int{1, 1, 1, 1}, minute, 1, late * 2, 0},
		"by the longest window":  {[]api.RateWindow{brief, window}, 19, []int{1}, 10 * time.Second, 20, late, 0},
		"by the shortest window": {[]api.RateWindow{window, long}, 10, []int{1}, minute, 7, late * 70 / 75, 0},

		"by the only known window":          {one, 10, []int{1}, minute, 7, late * 70 / 75, 500},
		"by the longest one that was known": {[]api.RateWindow{brief, window}, 19, []int{1}, 10 * time.Second, 20, late, 500},
	}, func(t *testing.T, test row) {
		g := ratelimit.New(test.windows...)
		g.Learn(test.learned, test.learned, time.Now().Add(minute))
		for range test.own {
			g.Release(acquire(t, g))
		}
		for _, n := range test.refused {
			calls := make([]ratelimit.Call, n)
			for i := range calls {
				calls[i] = acquire(t, g)
			}
			for _, c := range calls {
				g.Release(c)
				g.Refused(c, window.Max, time.Now().Add(test.end))
			}
			time.Sleep(test.end + minute/100)
		}
		calls, next := burst(t, g)
		if calls != test.calls || next.Round(time.Millisecond) != test.next {
			t.Errorf("%d calls started at once and the next one after %s, want %d and %s", calls, next, test.calls, test.next)
		}
	})
}

// Clients of a full window start apart: each within the time between two of its calls, but of
// a minute at most.
func TestClientsStartApartAfterAFullWindow(t *testing.T) {
	t.Parallel()
	for window, most := range map[api.RateWindow]time.Duration{
		{Max: 20, Size: minute}:     4 * time.Second, // 15 are left
		{Max: 2, Size: 20 * minute}: minute,
	} {
		latest := time.Duration(0)
		for range 50 {
			synctest.Test(t, func(t *testing.T) {
				g, end := ratelimit.New(window), time.Now().Add(minute)
				c := acquire(t, g)
				g.Release(c)
				g.Refused(c, window.Max, end)
				g.Close(end, window.Max)
				g.Release(acquire(t, g))
				after := time.Since(end)
				if after < 0 || after > most {
					t.Errorf("%v: started %s after the end, want at most %s", window, after, most)
				}
				latest = max(latest, after)
			})
		}
		if latest < most/2 {
			t.Errorf("%v: fifty clients started within %s, want up to %s", window, latest, most)
		}
	}
}

// Each accepted call lets a refused client make a little more of them, and one more after
// more than 1.3 windows without a report that one is full.
func TestAcceptedCallsRestoreTheShare(t *testing.T) {
	t.Parallel()
	type row struct {
		after    time.Duration // the refusal
		accepted int
		calls    int // that start at once after that, 15 after the refusal
	}
	table.Bubbles(t, map[string]row{
		"slowly":                {0, 150, 15},
		"slowly, by one":        {0, 160, 16},
		"slowly for 1.3 Sizes":  {78 * time.Second, 150, 15},
		"soon after that":       {78*time.Second + 1, 1, 16},
		"up to the whole share": {78*time.Second + 1, 6, 20},
	}, func(t *testing.T, test row) {
		g := ratelimit.New(api.RateWindow{Max: 20, Size: minute})
		c, end := acquire(t, g), time.Now().Add(minute)
		g.Release(c)
		g.Refused(c, 20, end)
		time.Sleep(test.after)
		for range test.accepted {
			g.Observe(ratelimit.Call{}, 20, 20, end)
		}
		if calls, next := burst(t, g); calls != test.calls {
			t.Errorf("%d calls started at once and the next one after %s, want %d", calls, next, test.calls)
		}
	})
}

// A call does not count after the announced end of its window.
func TestCallsCountUntilTheEndOfTheirWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindow{Max: 100, Size: time.Second}, api.RateWindow{Max: 20, Size: minute})
		c, end := acquire(t, g), time.Now().Add(minute)
		g.Release(c)
		g.Refused(c, 20, end)
		time.Sleep(minute + minute/2)
		for range 20 {
			leaves(t, g, 0)
		}
		g.Observe(ratelimit.Call{}, 20, 20, end.Add(minute))
		time.Sleep(minute/2 + 1)
		if calls, next := burst(t, g); calls != 20 || next != late {
			t.Errorf("%d calls started at once and the next one after %s, want 20 and %s", calls, next, late)
		}
	})
}

// A window whose end is announced again before a Size has passed slides: of the longest one,
// a client then has what it had when the window was full, or a twentieth. Times are whole
// seconds, so that two seconds prove nothing.
func TestEarlyEndShowsASlidingWindow(t *testing.T) {
	t.Parallel()
	type row struct {
		own, more int           // calls before the first and the second refusal
		again     time.Duration // between the two
		end       time.Duration // announced after the one before
		calls     int           // that start at once after that
	}
	const fixed = 100
	table.Bubbles(t, map[string]row{
		"two seconds later":                {10, 0, 0, 2 * time.Second, fixed},
		"more than two seconds later":      {10, 0, 0, 2*time.Second + 1, 10},
		"less than two seconds too early":  {10, 0, 0, 58 * time.Second, fixed},
		"more than two seconds too early":  {10, 0, 0, 58*time.Second - 1, 10},
		"with few own calls":               {3, 0, 0, 30 * time.Second, 5},
		"with more at the second refusal":  {10, 5, 0, 30 * time.Second, 15},
		"with fewer, half a Size later":    {10, 0, 30 * time.Second, 30 * time.Second, 10},
		"with fewer, after more than that": {10, 0, 30*time.Second + 1, 30 * time.Second, 5},
	}, func(t *testing.T, test row) {
		g := ratelimit.New(api.RateWindow{Max: 1000, Size: time.Second}, api.RateWindow{Max: 100, Size: minute})
		for range test.own {
			g.Release(acquire(t, g))
		}
		time.Sleep(40 * time.Second)
		end := time.Now().Add(minute)
		refuse := func(own int) {
			for range own {
				g.Release(acquire(t, g))
			}
			c := acquire(t, g)
			g.Release(c)
			g.Refused(c, 100, end)
		}
		refuse(0)
		time.Sleep(test.again)
		refuse(test.more)
		g.Observe(ratelimit.Call{}, 100, 50, end.Add(test.end))
		time.Sleep(time.Hour)
		if calls, _ := burst(t, g); calls != test.calls {
			t.Errorf("%d calls started at once, want %d", calls, test.calls)
		}
	})
}

const oneWay = 40 * time.Millisecond

// attempt makes a call as [internal/transport] does and reports whether it was accepted.
func (s *server) attempt(t *testing.T, g *ratelimit.Group) bool {
	t.Helper()
	c := acquire(t, g)
	time.Sleep(oneWay)
	s.mu.Lock()
	accepted := s.take()
	limit, remaining, reset := s.announce(0)
	for i := range s.windows {
		if l, r, at := s.announce(i); r < remaining || r == remaining && at.After(reset) {
			limit, remaining, reset = l, r, at
		}
	}
	date := time.Now().Truncate(time.Second)
	s.mu.Unlock()
	time.Sleep(oneWay)
	left := reset.Add(time.Second - 1).Truncate(time.Second).Sub(date)
	g.Release(c)
	if !accepted {
		g.Refused(c, limit, time.Now().Add(left))
		g.Close(time.Now().Add(left+rand.N(250*time.Millisecond)), limit)
		return false
	}
	g.Observe(c, limit, remaining, time.Now().Add(left))
	return true
}

// fastest returns the time of calls that leave as soon as the server accepts them.
func (s *server) fastest(calls int) time.Duration {
	start := time.Now()
	time.Sleep(oneWay)
	for range calls {
		for !s.take() {
			opens := time.Now()
			for i := range s.windows {
				if _, remaining, reset := s.announce(i); remaining == 0 && reset.After(opens) {
					opens = reset
				}
			}
			time.Sleep(time.Until(opens))
		}
	}
	return time.Since(start) + oneWay
}

// A caller that may not wait as long as the server requires fails at once, also if the slot
// of its call is in use.
func TestClosedGroupFailsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindow{Max: 2, Size: 3 * time.Second})
		slow := acquire(t, g)
		g.Release(acquire(t, g))
		time.AfterFunc(100*time.Second, func() { g.Release(slow) })
		g.Close(time.Now().Add(time.Hour), 2)
		start := time.Now()
		_, err := g.Acquire(t.Context(), time.Minute, nil)
		if !errors.Is(err, ratelimit.ErrClosed) || time.Since(start) > 0 {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

// Refusals with a wrong end of an hourly window do not stop its calls for long.
func TestWrongEndsDoNotStopAGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindows("activity.poll")...)
		for range 2 {
			c := acquire(t, g)
			g.Release(c)
			g.Refused(c, 1000, time.Now().Add(time.Second))
			g.Close(time.Now().Add(time.Second), 1000)
			time.Sleep(3 * time.Second)
		}
		start := time.Now()
		for range 10 {
			g.Release(acquire(t, g))
		}
		if took := time.Since(start); took > 10*time.Minute {
			t.Errorf("ten calls took %s", took)
		}
	})
}

// In a short sliding window the only client is refused at its start at most.
func TestShortSlidingWindow(t *testing.T) {
	t.Parallel()
	for size := 2 * time.Second; size <= 6*time.Second; size += time.Second {
		synctest.Test(t, func(t *testing.T) {
			w := api.RateWindow{Max: 5, Size: size}
			g, s := ratelimit.New(w), newServer(sliding, w)
			for range w.Max { // of an earlier process
				s.take()
			}
			dice := rand.New(rand.NewPCG(1, 77))
			for range 1000 {
				time.Sleep(time.Duration(dice.ExpFloat64() * float64(w.Size) / 6))
				for !s.attempt(t, g) {
				}
			}
			if s.refused > 10 {
				t.Errorf("%s: %d of 1000 calls were refused", size, s.refused)
			}
		})
	}
}
