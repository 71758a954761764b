package api

import (
	"context"
	"net/http"
	"time"
)

// Hooks observe the calls, retries, waits and token refreshes of a client. Each may be
// nil.
//
// They run in the goroutine of the call, which blocks until they return, even after
// its deadline. They may run concurrently. Their panics are recovered. OnWait
// must not call the same rate group; that deadlocks.
type Hooks struct {
	// OnCall is called when a call begins, before its first attempt. The call uses the
	// context that it returns, also for its attempts and other hooks; it must be derived
	// from ctx, and nil means ctx. The function that it returns, unless nil, is called once
	// with the result: when the call has ended or, if the response is read as a stream,
	// when its body has ended or is closed.
	OnCall func(ctx context.Context, e CallEvent) (context.Context, func(err error))

	OnRetry   func(ctx context.Context, e RetryEvent)   // before a retry
	OnWait    func(ctx context.Context, e WaitEvent)    // before a call waits
	OnRefresh func(ctx context.Context, e RefreshEvent) // after a refused token was replaced
}

// CallEvent describes a call that begins. Its values are few, fit for metrics and spans.
type CallEvent struct {
	Op     string
	Method string
	Route  string // the path with its placeholders: "/current/event/{event_id}/details/"
	Stream bool   // the response is read as a stream
}

// RetryEvent describes a retry that is about to be made, of a request or of an
// operation that goes on for long, such as events.Follow.
type RetryEvent struct {
	Op      string
	Attempt int           // the one that failed, from 1; of an operation, failures in a row
	Wait    time.Duration // delay of the next; 0 if none or if the rate limit applies
	Err     error         // error of the attempt
}

// WaitEvent describes a wait that is about to start.
type WaitEvent struct {
	Op     string
	Group  string // rate group of the call
	Reason WaitReason
	Wait   time.Duration // expected duration
}

// WaitReason is the reason of a wait.
type WaitReason string

// Reasons to wait.
const (
	WaitReasonPace    WaitReason = "pace"    // the rate limit is reached
	WaitReasonServer  WaitReason = "server"  // requested by the server, for example by Retry-After
	WaitReasonBackoff WaitReason = "backoff" // before a retry
)

// RefreshEvent is the result of replacing a refused token.
type RefreshEvent struct {
	Op  string
	Err error // nil on success
}

// MessageHooks are functions that observe the way of a message over a broker: the search that
// finds it, its publication and its handler, which may be in another program. The headers of
// the message carry what connects them, such as the trace context of W3C. Fields may be nil.
//
// Each function that they return, unless nil, is called once with the result. They may run
// concurrently, and must return soon.
type MessageHooks struct {
	// OnSearch is called before a search for messages. The search uses the context that it
	// returns, which must be derived from ctx, also for its calls and for the messages that it
	// finds.
	OnSearch func(ctx context.Context, e MessageEvent) (context.Context, func(err error))

	// OnPublish is called when a message begins to be published, with the context of its
	// search. It may add to the header of e. The message has ended when it is stored.
	OnPublish func(ctx context.Context, e MessageEvent) func(err error)

	// OnHandle is called before a handler, with the headers of its messages, and the handler
	// uses the context that it returns, which must be derived from ctx.
	OnHandle func(ctx context.Context, e MessageEvent) (context.Context, func(err error))
}

// MessageEvent describes a search, a publication or a call of a handler. Its texts are few, fit
// for metrics and spans.
type MessageEvent struct {
	Op      string        // such as "relay.Publish"
	Stream  string        // where messages are stored
	Group   string        // of the handler
	Headers []http.Header // of the messages: one of OnPublish, those of the call of OnHandle, and none of OnSearch
}

// DriftEvent is what a response has and this version of the SDK does not know: see
// fastio.WithDrift. It has names only, no values of the response.
type DriftEvent struct {
	Op     string
	Type   string // the Go type that has no such member: "comments.Comment"; "" is the envelope
	Member string // its name; "links[]" and "options{}" are the elements of a list and a map; "*" may be no name
	Kind   DriftKind

	// Want and Got are the JSON kinds of a [DriftKindShape]: "string", "number", "integer",
	// "bool", "list", "object" or "time". Of a [DriftKindValue], Got is the value if it looks
	// like one of an enumeration: 2 to 32 of a-z, 0-9, and "_.:-", the first one a letter, without
	// five digits in a row; else it is "".
	Want, Got string
}

// DriftKind is the kind of a [DriftEvent].
type DriftKind string

// Kinds of what is not known.
const (
	DriftKindUnknown DriftKind = "unknown" // a member without a field
	DriftKindValue   DriftKind = "value"   // a value of an enumeration without a constant
	DriftKindShape   DriftKind = "shape"   // a JSON value of another kind
)

// A Limiter shares rate limits between clients, for example all processes with one
// credential: see fastio.WithLimiter. It must be safe for concurrent use.
type Limiter interface {
	// Acquire waits until a request of a rate group may be sent. Its error ends the call.
	Acquire(ctx context.Context, group string) error
	// Observe is called once after each request that Acquire admitted, with the rate
	// limit of its response: zero without one. A RetryAfter above 0 means that the
	// request was refused because of a rate limit.
	Observe(group string, limit RateLimit)
}

// A RateWindow admits Max requests in any Size.
type RateWindow struct {
	Max  int
	Size time.Duration
}

// RateWindows returns the published windows of a rate group, nil if there are
// none.
func RateWindows(group string) []RateWindow {
	switch group {
	case "events.search":
		return []RateWindow{{5, 3 * time.Second}, {15, 30 * time.Second}, {120, 10 * time.Minute}}
	case "activity.poll":
		return []RateWindow{{200, time.Minute}, {1000, time.Hour}}
	}
	return nil
}
