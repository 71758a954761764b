// Package realtime tells a program what changes while it runs, over a socket
// where there can be one and by polls where there cannot.
//
//	sub, err := client.Realtime.Subscribe(ctx, api.Workspace(id), nil)
//	if err != nil {
//		return err
//	}
//	defer sub.Close()
//	list(everything) // what changes from here on is told
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
// It also mints the tokens of sockets, and those of the rooms and notes in which
// people work together.
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

// network is what a Caller needs beside Call for sockets: where the platform
// answers, and a client that reaches it. A fastio.Client has it. Subscriptions
// of any other Caller poll.
type network interface {
	Network() (origin *url.URL, client *http.Client)
}

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service {
	return &Service{c: c, polls: activity.New(c), log: events.New(c)}
}
