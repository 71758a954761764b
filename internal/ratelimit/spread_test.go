package ratelimit_test

import (
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/table"
)

// In a window of half an hour or longer, thirty calls of loops start nearly at once after a
// quiet time, and the others are spread.
func TestLoopsOfALongWindowAreSpread(t *testing.T) {
	t.Parallel()
	const half = 30 * time.Minute
	for window, want := range map[api.RateWindow]int{
		{Max: 1000, Size: time.Hour}:          30,
		{Max: 1000, Size: half}:               30,
		{Max: 1000, Size: half - time.Second}: 1000,
	} {
		synctest.Test(t, func(t *testing.T) {
			g, start, calls := ratelimit.New(window), time.Now(), 0
			ctx := ratelimit.With(t.Context(), newLoop(ratelimit.Woken))
			for ; ; calls++ {
				c, err := g.Acquire(ctx, forever, nil)
				g.Release(c)
				if err != nil || time.Since(start) >= window.Size/time.Duration(window.Max) {
					break
				}
			}
			if calls != want {
				t.Errorf("%v: %d calls started at once, want %d", window, calls, want)
			}
		})
	}
}

// In a long window, a call counts from its end, or from ten seconds after its start if it
// takes longer: it has reached the server by then.
func TestLongCallCountsFromItsArrival(t *testing.T) {
	t.Parallel()
	const free = time.Hour + time.Hour/1000
	table.Bubbles(t, map[string][2]time.Duration{ // how long it runs, and when the next one starts
		"a call":     {4 * time.Second, 4*time.Second + free},
		"a long one": {90 * time.Second, 10*time.Second + free},
	}, func(t *testing.T, test [2]time.Duration) {
		g := ratelimit.New(api.RateWindow{Max: 1, Size: time.Hour})
		c := acquire(t, g)
		time.AfterFunc(test[0], func() { g.Release(c) })
		leaves(t, g, test[1])
	})
}

// The calls of loops are spread over what the program leaves if it goes on as before. Many
// of its calls at a time are not a habit.
func TestLoopsLeaveRoomForTheProgram(t *testing.T) {
	t.Parallel()
	type row struct {
		calls        int // of the program
		apart, quiet time.Duration
		every        time.Duration // between two calls of loops
	}
	table.Bubbles(t, map[string]row{
		"that makes no call":                {0, 0, 0, 3618 * time.Millisecond},
		"after a burst":                     {300, time.Millisecond, 0, 5204 * time.Millisecond},
		"that makes calls steadily":         {600, 6 * time.Second, 0, 8445 * time.Millisecond},
		"until what it has used comes back": {995, 0, 59 * time.Minute, 30039 * time.Millisecond},
	}, func(t *testing.T, test row) {
		g, loop := ratelimit.New(api.RateWindow{Max: 1000, Size: time.Hour}), newLoop(ratelimit.Woken)
		for range test.calls {
			leaves(t, g, 0)
			time.Sleep(test.apart)
		}
		time.Sleep(test.quiet)
		c, err := g.Acquire(ratelimit.With(t.Context(), loop), forever, nil)
		every := loop.State().Every.Round(time.Millisecond)
		if err != nil || every != test.every {
			t.Errorf("one every %s, want %s: %v", every, test.every, err)
		}
		g.Release(c)
	})
}

// A loop at rest that starts before one that was woken does not delay it. The next four
// starts are later by a quarter each.
func TestStartAtRestIsPaidLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindow{Max: 1000, Size: time.Hour})
		var mu sync.Mutex
		var started []time.Time
		call := func(class ratelimit.Class) {
			c, err := g.Acquire(ratelimit.With(t.Context(), newLoop(class)), forever, nil)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			started = append(started, c.Started)
			g.Release(c)
		}
		for range 31 { // all that start at once
			call(ratelimit.Woken)
		}
		var loops sync.WaitGroup
		for range 10 {
			loops.Go(func() { call(ratelimit.Woken) })
			synctest.Wait()
		}
		loops.Go(func() { call(ratelimit.Rest) })
		loops.Wait()
		var quarters []int
		for i := range started[31:] {
			quarters = append(quarters, int(math.Round(started[31+i].Sub(started[30+i]).Seconds()/0.9)))
		}
		if want := []int{4, 4, 4, 4, 0, 5, 5, 5, 5, 4, 4}; !slices.Equal(quarters, want) {
			t.Errorf("quarters of the usual time between two starts: %v, want %v", quarters, want)
		}
	})
}
