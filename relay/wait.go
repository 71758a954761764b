package relay

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is the pause after consecutive failures. It has full jitter, so that replicas
// that fail together do not try again together.
type backoff struct {
	first   time.Duration // upper bound after one failure; doubles with each further one
	longest time.Duration // limit of the bound
}

// bound returns the upper bound of the pause after that many failures in a row: the first
// pause, doubled after each failure, up to the longest.
func (b backoff) bound(failures int) time.Duration {
	d := b.first
	for range failures - 1 {
		if d > b.longest/2 {
			return b.longest
		}
		d *= 2
	}
	return min(d, b.longest)
}

// pause returns a random pause below the bound after that many failures in a row.
func (b backoff) pause(failures int) time.Duration {
	return rand.N(max(b.bound(failures), 1)) //nolint:gosec // jitter needs no secure randomness
}

// sleep waits for d. It returns the error of ctx if that is done first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
