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

// parkable returns a context for the requests of the task: a request that waits for a rate limit parks
// the task.
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

// parkingClient returns an HTTP client for the requests of tasks. A request whose task was parked is
// sent when the task has a place in the schedule again.
func parkingClient(c *http.Client) *http.Client {
	parking := *c
	if c.Transport == nil {
		parking.Transport = http.DefaultTransport
	}
	parking.Transport = parkingTransport{parking.Transport}
	return &parking
}

type parkingTransport struct{ http.RoundTripper }

// RoundTrip sends a request. If its task was parked, because the request had to wait for a rate limit,
// RoundTrip first waits until the task has a place in the schedule again.
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

// park gives the place of a task in the schedule to others, until resume, because its request waits for a rate
// limit. A running task needs two places: one in the schedule, which limits the tasks that run, and one in its
// lane, which limits those of its account. The task keeps the one in its lane.
func (t *task) park() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.parked {
		t.parked = true
		t.places.running[t.kind]--
		t.advance() // starts other tasks
	}
}

// resumption is a parked task that waits for a place.
type resumption struct {
	task *task
	done chan struct{} // closed when it has a place
}

// resume waits until a task that was parked has a place again. It returns the error of ctx if that
// is done first.
func (t *task) resume(ctx context.Context) error {
	t.mu.Lock()
	if !t.parked {
		t.mu.Unlock()
		return nil
	}
	r := resumption{t, make(chan struct{})}
	s := t.schedule // t embeds it, so t.mu is its mutex
	s.resuming = append(s.resuming, r)
	s.advance() // gives places, and closes done of those that get one
	t.mu.Unlock()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// A task that got its place just now keeps it: runTask gives it back when the task has run.
	s.resuming = slices.DeleteFunc(s.resuming, func(o resumption) bool { return o == r })
	return ctx.Err()
}

// resumeParked gives the places that are free to parked tasks that wait for one. The caller holds s.mu.
func (s *schedule) resumeParked() {
	waiting := s.resuming[:0]
	for _, r := range s.resuming {
		if !s.places.admits(r.task.kind) {
			waiting = append(waiting, r)
			continue
		}
		r.task.parked = false
		s.places.running[r.task.kind]++
		close(r.done)
	}
	clear(s.resuming[len(waiting):]) // frees the tasks
	s.resuming = waiting
}
