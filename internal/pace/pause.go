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
