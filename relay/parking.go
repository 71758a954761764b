package relay

import (
	"context"
	"net/http"
	"slices"

	"github.com/fastio-go/fastio/api"
)

// A task whose request waits for a rate limit gives its place in the schedule to others, and takes
// one again before the request is sent. So accounts that have reached their limits do not delay
// others. In its lane it keeps its place.

// taskKey is the key of the task in the context of its requests.
type taskKey struct{}

// parkable returns a context for the requests of the task, with which those that wait for a rate limit
// park the task.
func (t *task) parkable(ctx context.Context) context.Context {
	return context.WithValue(ctx, taskKey{}, t)
}

// parkWaits are the hooks of a client whose tasks give their places to others while they wait.
func parkWaits() api.Hooks {
	return api.Hooks{OnWait: func(ctx context.Context, _ api.WaitEvent) {
		if t, ok := ctx.Value(taskKey{}).(*task); ok {
			t.park()
		}
	}}
}

// parkingClient returns an HTTP client whose requests wait for a place of their task, if it has
// none.
func parkingClient(c *http.Client) *http.Client {
	parking := *c
	if c.Transport == nil {
		parking.Transport = http.DefaultTransport
	}
	parking.Transport = parkingTransport{parking.Transport}
	return &parking
}

type parkingTransport struct{ http.RoundTripper }

func (p parkingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t, ok := r.Context().Value(taskKey{}).(*task); ok {
		if err := t.resume(r.Context()); err != nil {
			return nil, err
		}
	}
	return p.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections closes those of the transport.
func (p parkingTransport) CloseIdleConnections() {
	if c, ok := p.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// park gives the place of a task that runs to others.
func (t *task) park() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.parked {
		t.parked = true
		t.width.running[t.kind]--
		t.advance()
	}
}

// parked is a task that waits for a place.
type parked struct {
	*task

	resumed chan struct{} // closed when it has one
}

// resume waits until a task that was parked has a place again. It returns the error of ctx if that
// is done first.
func (t *task) resume(ctx context.Context) error {
	t.mu.Lock()
	if !t.parked {
		t.mu.Unlock()
		return nil
	}
	p := parked{t, make(chan struct{})}
	t.resuming = append(t.resuming, p)
	t.advance()
	t.mu.Unlock()
	select {
	case <-p.resumed:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resuming = slices.DeleteFunc(t.resuming, func(o parked) bool { return o == p })
	return ctx.Err()
}

// resumeParked gives the places that are free to tasks that have waited. The caller holds s.mu.
func (s *schedule) resumeParked() {
	s.resuming = slices.DeleteFunc(s.resuming, func(p parked) bool {
		if !s.width.admits(p.kind) {
			return false
		}
		p.parked = false
		s.width.running[p.kind]++
		close(p.resumed)
		return true
	})
}
