package pace

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff returns a random pause before the next try after so many failures in
// a row, 1 being the first: below a second, then below twice that with each
// further one, never above half a minute.
func Backoff(failures int) time.Duration {
	const (
		base    = time.Second
		most    = 30 * time.Second
		doubled = 5 // times, until most is reached
	)
	limit := min(most, base<<min(max(failures-1, 0), doubled))
	return rand.N(limit) //nolint:gosec // spreading load needs no secrecy
}

// MaxOrdered is how long an order of the server to wait is followed at a time
// where nothing else bounds it: the longest rate window. A wrong order must not
// silence a program for good.
const MaxOrdered = time.Hour

// Wait returns the pause before the next try after so many failures in a row: a
// [Backoff], or what the server orders up to [MaxOrdered] if that is longer. With
// 0 failures there is no backoff.
func Wait(failures int, ordered time.Duration) time.Duration {
	ordered = min(ordered, MaxOrdered)
	if failures == 0 {
		return max(0, ordered)
	}
	return max(Backoff(failures), ordered)
}

// Sleep waits for so long, and returns the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
