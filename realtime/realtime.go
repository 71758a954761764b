// Package realtime reports changes over a WebSocket, or by polling without one.
//
//	sub, err := client.Realtime.Subscribe(ctx, workspace, nil)
//	if err != nil {
//		return err
//	}
//	defer sub.Close()
//	list() // later changes are reported
//	for change, err := range sub.Changes() {
//		switch {
//		case err != nil:
//			return err
//		case change.Resync != nil: // changes may have been missed
//			list()
//		default:
//			refresh(change.Field)
//		}
//	}
//
// It also creates tokens for sockets, rooms and notes.
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
	"github.com/fastio-go/fastio/internal/call"
)

// Service creates tokens and opens subscriptions. It is the Realtime field of a
// fastio.Client, and safe for concurrent use.
type Service struct {
	c     api.Client
	polls *activity.Service
	log   *events.Service
	net   *Network
	*shared
}

// Network is what [Service.Subscribe] opens sockets with. A fastio.Client provides its
// own.
type Network struct {
	Origin *url.URL     // of the platform; its path is ignored
	Client *http.Client // must have no credentials and no timeout, and follow no redirect
}

// New returns a Service that sends its requests through c. Its subscriptions poll if n
// is nil, unless [SubscribeOptions] have a Dialer and an Address.
func New(c api.Client, n *Network) *Service {
	return &Service{c: c, polls: activity.New(c), log: events.New(c, nil), net: n, shared: newShared()}
}

// Change is one of these:
//
//   - Field is set: it changed at least once. Events holds what the socket sent.
//   - Resync is set: anything may have changed. List everything again.
//   - Entry is set: an event of the log from a time without a connection. Requires
//     [SubscribeOptions.CatchUp].
//   - Frame is set: the socket sent an unknown frame.
//   - Only Events is set: the socket sent an event without a field.
type Change struct {
	Field  activity.Field  // spelled as in the latest report of it
	At     api.Time        // when Field changed last; zero if unknown, as over a socket
	Events []*Event        // in order of arrival; may be incomplete
	Resync *Resync         // why all must be listed again
	Entry  *events.Event   // delivered once
	Frame  json.RawMessage // a JSON object
}

// Resync reports that changes may have been missed. That a poll was late, such as after
// a long [Status.Interval], is no reason: it finds all changes since the one before.
type Resync struct {
	Reason ResyncReason
	Err    error // why the log could not be read, for ResyncReasonLog
}

// ResyncReason says why changes may have been missed.
type ResyncReason string

// Reasons to list everything again.
const (
	ResyncReasonOverflow ResyncReason = "overflow" // the queue for the loop over Changes was full
	ResyncReasonAbsence  ResyncReason = "absence"  // no response for longer than the platform may keep changes
	ResyncReasonBacklog  ResyncReason = "backlog"  // the log has too many unread events
	ResyncReasonLog      ResyncReason = "log"      // the log could not be read
)

// RefusedError ends a subscription that the platform refuses. It wraps the
// [api.ErrForbidden] or [api.ErrInvalid] of the endpoint that refused.
type RefusedError struct {
	Profile api.Profile
	Err     error
}

// Error names the profile and the refusal.
func (e *RefusedError) Error() string {
	why := call.Within(opSubscribe, e.Err)
	return fmt.Sprintf("fastio: %s: the platform refuses the changes of %s: %s", opSubscribe, e.Profile, why)
}

// Unwrap returns the refusal.
func (e *RefusedError) Unwrap() error { return e.Err }

// Mode is how changes arrive.
type Mode string

// Modes of a subscription.
const (
	ModePoll   Mode = "poll"   // changes arrive after about a second
	ModeSocket Mode = "socket" // changes arrive immediately
)

// Status is the state of a subscription.
type Status struct {
	Mode      Mode
	Since     time.Time     // start of Mode
	Sockets   int           // opened so far
	Failures  int           // consecutive ones of sockets or polls
	Err       error         // the latest failure; nil after a success of the same kind
	Retry     time.Duration // delay of the next attempt after Err
	Lag       time.Duration // delay of the latest dated change by the server's clock, to a second
	Discarded int           // invalid messages

	// Interval is the time between two polls. With a socket it is [SubscribeOptions.Sweep], or 16
	// seconds for each subscription of the client if that is more, 40 while more than 20 have
	// no socket, and the first poll may take three times as long.
	//
	// Without a socket it is the time between two polls under the present load: all loops of
	// the client share a poll every 4 seconds, more rarely while the program polls as well.
	// Those whose last polls had changes get three quarters of them, or what the others leave.
	// It is 0 while each poll follows the one before, without a change after 96 seconds.
	Interval time.Duration

	polling bool // Err is of a poll
}

// What the Err of a Status is of.
const (
	ofPoll   = true
	ofSocket = false
)

// setError records the error of a poll or a socket, and the pause before the next one.
func (s *Status) setError(polling bool, failures int, err error, wait time.Duration) {
	s.polling, s.Failures, s.Err, s.Retry = polling, failures, err, wait
}

// clearError clears the current error if it comes from the same transport: polls
// (polling) or sockets.
func (s *Status) clearError(polling bool) {
	if polling == s.polling {
		s.Failures, s.Err, s.Retry = 0, nil, 0
	}
}
