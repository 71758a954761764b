// Package realtime reports what changes, over a socket or, without one, by polls.
//
//	sub, err := client.Realtime.Subscribe(ctx, api.Workspace(id), nil)
//	if err != nil {
//		return err
//	}
//	defer sub.Close()
//	list(everything) // later changes are reported
//	for change, err := range sub.Changes() {
//		if err != nil {
//			return err
//		}
//		if change.Resync != nil {
//			list(everything)
//			continue
//		}
//		refresh(change.Field)
//	}
//
// It also creates the tokens of sockets, rooms and notes.
package realtime

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// Service mints tokens and opens subscriptions. Get one from the Realtime field
// of a fastio.Client. It is safe for concurrent use.
type Service struct {
	c     api.Caller
	polls *activity.Service
	log   *events.Service
}

// network is what a Caller needs for sockets. A fastio.Client has it; subscriptions of
// any other Caller poll.
type network interface {
	Network() (origin *url.URL, client *http.Client)
}

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service {
	return &Service{c: c, polls: activity.New(c), log: events.New(c)}
}

// Change is one of these:
//
//   - Field is set: it changed, once or many times. Events holds what the socket sent.
//   - Resync is set: anything may have changed. List everything again.
//   - Entry is set: an event of the log from a time without a connection, where
//     [Options.CatchUp] asks for them.
//   - Frame is set: the socket sent an unknown frame.
//   - Only Events is set: the socket sent an event without a field.
type Change struct {
	Field  activity.Field  // as it was spelled last
	At     api.Time        // when Field changed last, if that is known: a socket does not tell
	Events []*Event        // in the order in which they came; may not be all
	Resync *Resync         //
	Entry  *events.Event   // each comes once
	Frame  json.RawMessage // a JSON object
}

// Resync tells that changes may have been missed.
type Resync struct {
	Reason ResyncReason
	Err    error // what kept the log from being read, for ResyncReasonLog
}

// ResyncReason says why changes may have been missed.
type ResyncReason string

// Reasons to list everything again.
const (
	ResyncReasonOverflow ResyncReason = "overflow" // more arrived than may wait for the loop over Changes
	ResyncReasonAbsence  ResyncReason = "absence"  // nothing was heard for so long that the platform may have forgotten
	ResyncReasonBacklog  ResyncReason = "backlog"  // more happened than is worth reading from the log
	ResyncReasonLog      ResyncReason = "log"      // the log could not be read
)

// RefusedError ends a subscription that the platform refuses. It wraps an
// [api.ErrForbidden] or an [api.ErrInvalid], as the endpoint that refused has it.
type RefusedError struct {
	Profile api.Profile
	Err     error
}

// Error names the profile and the refusal.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("fastio: %s: the platform refuses the changes of %s: %v", opSubscribe, e.Profile, e.Err)
}

// Unwrap returns the refusal.
func (e *RefusedError) Unwrap() error { return e.Err }

// Mode says how changes arrive.
type Mode string

// Modes of a subscription.
const (
	ModePoll   Mode = "poll"   // a change takes a second or so
	ModeSocket Mode = "socket" // a change takes the way from the server
)

// Status is how a subscription is doing.
type Status struct {
	Mode      Mode
	Since     time.Time     // when it came to be so
	Sockets   int           // opened so far
	Failures  int           // in a row, to open or keep a socket, or to poll
	Err       error         // the latest failure; nil after a success of the same kind
	Retry     time.Duration // from Err until the next try
	Lag       time.Duration // from the latest dated change to its arrival, by the server's clock, to a second
	Discarded int           // messages that were no frames

	polling bool // Err is of a poll
}

func (s *Status) fail(polling bool, failures int, err error, wait time.Duration) {
	s.polling, s.Failures, s.Err, s.Retry = polling, failures, err, wait
}

func (s *Status) mend(polling bool) {
	if polling == s.polling {
		s.Failures, s.Err, s.Retry = 0, nil, 0
	}
}
