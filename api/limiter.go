package api

import (
	"context"
	"time"
)

// A Limiter shares rate limits beyond one client, such as among all processes that use
// one credential: see fastio.WithLimiter. It is safe for concurrent use.
type Limiter interface {
	// Acquire waits until a request of a rate group may be sent. Its error ends the call.
	Acquire(ctx context.Context, group string) error
	// Observe is called once after each request that Acquire admitted, with the rate limit
	// that its response announces: zero without a response or an announcement. A RetryAfter
	// above 0 means that the request was refused for a rate limit.
	Observe(group string, limit RateLimit)
}

// A RateWindow admits Max requests in any Size.
type RateWindow struct {
	Max  int
	Size time.Duration
}

// RateWindows returns the windows that the platform publishes for a rate group, nil if
// it publishes none.
func RateWindows(group string) []RateWindow {
	switch group {
	case "events.search":
		return []RateWindow{{5, 3 * time.Second}, {15, 30 * time.Second}, {120, 10 * time.Minute}}
	case "activity.poll":
		return []RateWindow{{200, time.Minute}, {1000, time.Hour}}
	}
	return nil
}
