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
	"net/http"
	"net/url"

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
