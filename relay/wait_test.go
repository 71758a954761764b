package relay_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/relay"
)

// Pauses are distributed evenly below a bound that doubles, so that replicas that fail
// together do not try again together.
func TestBackoffHasFullJitter(t *testing.T) {
	t.Parallel()
	const first, longest = 20 * time.Millisecond, 2 * time.Second
	for failures, want := range map[int]time.Duration{
		1: first, 2: 2 * first, 3: 4 * first, 7: 64 * first, 8: longest, 9: longest, 64: longest, math.MaxInt: longest,
	} {
		const draws = 10_000
		var quarters [4]int
		for range draws {
			pause, bound := relay.Pause(first, longest, failures)
			if bound != want || pause < 0 || pause >= bound {
				t.Fatalf("after %d failures: %s of at most %s, want at most %s", failures, pause, bound, want)
			}
			quarters[4*pause/bound]++
		}
		for _, n := range quarters {
			if n < draws/4-400 || n > draws/4+400 { // nine standard deviations
				t.Errorf("after %d failures: the quarters got %v", failures, quarters)
			}
		}
	}
	for _, b := range [][2]time.Duration{
		{math.MaxInt64, math.MaxInt64}, {1, math.MaxInt64}, {math.MaxInt64/2 + 1, math.MaxInt64}, {time.Hour, time.Second}, {0, 0},
	} {
		for failures := 1; failures < 200; failures++ {
			if pause, bound := relay.Pause(b[0], b[1], failures); pause < 0 || bound < 0 || bound > b[1] {
				t.Errorf("%v after %d failures: %s of %s", b, failures, pause, bound)
			}
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := relay.Sleep(ctx, time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		if err := relay.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(start) != time.Minute {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}
