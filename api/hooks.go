package api

import (
	"context"
	"time"
)

// Hooks observe what a client does beside sending requests. Each may be nil.
//
// They run in the goroutine of the call, which continues when they return, also
// after its deadline; several may run at once. A hook that panics is ignored. A
// Wait hook must not make a call of the same rate group, which would wait for it.
type Hooks struct {
	Retry   func(ctx context.Context, r RetryEvent) // before a request is sent again
	Wait    func(ctx context.Context, w Wait)       // before a call waits
	Refresh func(ctx context.Context, r Refresh)    // after a refused token was exchanged for another
}

// RetryEvent describes a retry that is about to be sent.
type RetryEvent struct {
	Op      string
	Attempt int           // the one that failed, from 1
	Wait    time.Duration // until the next; 0 if it is sent at once or the rate limit decides
	Err     error         // what the attempt ended with
}

// Wait describes a wait that is about to begin.
type Wait struct {
	Op     string
	Group  string // the rate windows the call counts against
	Reason WaitReason
	Wait   time.Duration // as known when it starts
}

// WaitReason names what a call waits for.
type WaitReason string

// Reasons to wait.
const (
	WaitReasonPace    WaitReason = "pace"    // the rate windows have no room
	WaitReasonServer  WaitReason = "server"  // the server ordered it, such as by Retry-After
	WaitReasonBackoff WaitReason = "backoff" // a failed attempt is repeated after a pause
)

// Refresh is the result of replacing a refused token.
type Refresh struct {
	Op  string
	Err error // nil when there is a new token
}

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
