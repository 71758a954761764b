package pace_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/internal/pace"
)

// Pauses fill what they may take evenly, so that many clients that fail together
// come back apart.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for failures, limit := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 5: 16 * time.Second,
		6: 30 * time.Second, 7: 30 * time.Second, 10_000: 30 * time.Second, math.MaxInt: 30 * time.Second,
	} {
		const draws = 10_000
		var quarters [4]int
		for range draws {
			d := pace.Backoff(failures)
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

// An order to wait is followed, but not for longer than an hour.
func TestWaitFollowsOrdersForAnHour(t *testing.T) {
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
		if got := pace.Wait(tt.failures, tt.ordered); got < tt.least || got > tt.most {
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
		if err := pace.Sleep(ctx, time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		if err := pace.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		if err := pace.Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v of a context that has ended", err)
		}
		if err := pace.Sleep(t.Context(), -1); err != nil {
			t.Errorf("got %v", err)
		}
	})
}
