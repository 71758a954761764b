package ratelimit_test

import (
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
			ctx := ratelimit.With(t.Context(), turn(ratelimit.Woken))
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

// The calls of loops are spread over what the program leaves if it goes on as before. Many
// of its calls at a time are not a habit.
func TestLoopsLeaveRoomForTheProgram(t *testing.T) {
	t.Parallel()
	type row struct {
		calls int // of the program
		apart time.Duration
		every time.Duration // between two calls of loops
	}
	table.Bubbles(t, map[string]row{
		"that makes none":          {0, 0, 3600 * time.Millisecond},
		"after a burst":            {300, time.Millisecond, 5200 * time.Millisecond},
		"that makes them steadily": {600, 6 * time.Second, 8400 * time.Millisecond},
	}, func(t *testing.T, test row) {
		g, loop := ratelimit.New(api.RateWindow{Max: 1000, Size: time.Hour}), turn(ratelimit.Woken)
		for range test.calls {
			leaves(t, g, 0)
			time.Sleep(test.apart)
		}
		c, err := g.Acquire(ratelimit.With(t.Context(), loop), forever, nil)
		if every := loop.State().Every.Round(time.Second / 10); err != nil || every != test.every {
			t.Errorf("one every %s, want %s: %v", every, test.every, err)
		}
		g.Release(c)
	})
}
