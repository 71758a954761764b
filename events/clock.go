package events

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// clock tells the server's time. It asks now and then, and counts in between.
type clock struct {
	mu     sync.Mutex
	server time.Time // what the server said
	local  time.Time // when it said so
}

const askAgain = 10 * time.Minute

// now returns the server's time, or ours if the server does not tell.
func (s *Service) now(ctx context.Context, o api.CallOptions) (time.Time, error) {
	if now, ok := s.clock.read(); ok {
		return now, nil
	}
	server, err := s.ask(ctx, o)
	if err != nil {
		return time.Time{}, err
	}
	s.clock.set(server)
	return server, nil
}

// read returns the server's time unless it is too long ago that it was asked.
func (c *clock) read() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	elapsed := c.elapsed()
	return c.server.Add(elapsed), !c.server.IsZero() && elapsed < askAgain
}

func (c *clock) set(server time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server, c.local = server, time.Now()
}

// elapsed returns the time since the server was asked, by the wall clock if that
// tells more: the other one stands still while a machine sleeps.
func (c *clock) elapsed() time.Duration {
	now := time.Now()
	return max(now.Sub(c.local), now.Round(0).Sub(c.local.Round(0)))
}

// ask reads the Date of the lightest answer there is.
func (s *Service) ask(ctx context.Context, o api.CallOptions) (time.Time, error) {
	var a api.Answer
	_, err := call.DoAs[struct{}](ctx, s.c, &api.Request{
		Op: "system.Ping", Method: http.MethodGet, Path: api.Path("/current/ping/"), Replay: api.ReplaySafe, Auth: api.AuthNone,
		Options: api.CallOptions{Raw: &a, Header: o.Header, Timeout: o.Timeout, Attempts: o.Attempts, MaxWait: o.MaxWait},
	})
	if _, refused := errors.AsType[*api.Error](err); err != nil && !refused {
		return time.Time{}, err
	}
	server, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		server = time.Now()
	}
	return server.UTC(), nil
}
