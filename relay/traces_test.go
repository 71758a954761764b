package relay_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

// way records the way of messages.
type way struct {
	mu        sync.Mutex
	searches  int
	published map[string]string // search by message
	handled   map[string]string
	open      int // searches, publications and handlers that have not ended
	failed    int
}

const traceHeader = "trace-test"

type searchKey struct{}

// begin counts something that ends with the returned function.
func (w *way) begin() func(error) {
	w.open++
	once := false
	return func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if once {
			panic("it has ended twice")
		}
		once = true
		w.open--
		if err != nil {
			w.failed++
		}
	}
}

func (w *way) hooks() api.MessageHooks {
	w.published, w.handled = map[string]string{}, map[string]string{}
	return api.MessageHooks{
		OnSearch: func(ctx context.Context, e api.MessageEvent) (context.Context, func(error)) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.searches++
			return context.WithValue(ctx, searchKey{}, fmt.Sprint(e.Op, " ", w.searches)), w.begin()
		},
		OnPublish: func(ctx context.Context, e api.MessageEvent) func(error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			search, _ := ctx.Value(searchKey{}).(string)
			id := fmt.Sprint(e.Op, " ", len(w.published))
			w.published[id] = search
			e.Headers[0][traceHeader] = []string{id}
			return w.begin()
		},
		OnHandle: func(ctx context.Context, e api.MessageEvent) (context.Context, func(error)) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, header := range e.Headers {
				w.handled[first(header)] = e.Op + " " + e.Group + " " + e.Stream
			}
			return context.WithValue(ctx, searchKey{}, first(e.Headers[0])), w.begin()
		},
	}
}

// first returns the value of traceHeader, whose case NATS does not change.
func first(h map[string][]string) string {
	if len(h[traceHeader]) == 0 {
		return ""
	}
	return h[traceHeader][0]
}

// arrived reports whether so many messages have arrived, each from a search, and all has ended.
func (w *way) arrived(t *testing.T, n int) bool {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, search := range w.published {
		if search == "" {
			t.Errorf("%s is of no search", id)
		}
	}
	for id, handler := range w.handled {
		if w.published[id] == "" || handler != "relay.Consume check FASTIO" {
			t.Errorf("%q was handled by %q", id, handler)
		}
	}
	return len(w.published) == n && len(w.handled) == n && w.failed == 0 && w.open <= 1 // a search that finds nothing
}

// Hooks see an event in its search, its publication and its handler, and its headers connect them,
// with profiles and with accounts, one copy of the stream and batches of handlers.
func TestHooksFollowEventsToHandlers(t *testing.T) {
	t.Parallel()
	const n = 300
	consume := func(t *testing.T, js jetstream.JetStream, account string, w *way, hooks api.MessageHooks) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		o := relay.ConsumeOptions{Stream: relay.Stream{JetStream: js}, Name: "check", Account: account, Hooks: hooks}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = relay.ConsumeBatches(ctx, o, func(ctx context.Context, batch []relay.Message[events.Event]) error {
				if ctx.Value(searchKey{}) == nil || len(batch) == 0 {
					t.Error("the handler has another context")
				}
				return nil
			})
		}()
		eventually(t, "all events are handled", func() bool { return w.arrived(t, n) })
		cancel()
		<-done
	}
	t.Run("profiles", func(t *testing.T) {
		t.Parallel()
		p, ns, w := newPlatform(1), startServer(t), &way{}
		hooks := w.hooks()
		p.add(p.profiles[0], n)
		f := p.start(t, ns, func(f *relay.Follower) { f.Hooks = hooks })
		consume(t, f.js, "", w, hooks)
	})
	t.Run("accounts", func(t *testing.T) {
		t.Parallel()
		p, w := newProduct(t), &way{}
		hooks, c := w.hooks(), p.customer("Acme")
		p.log(c, n)
		p.start(t, func(f *relay.AccountFollower) { f.Hooks = hooks })
		must(t, p.Add(t.Context(), c.account("acme")))
		consume(t, p.js, "acme", w, hooks)
	})
}

// What is not stored when a replica stops has ended with an error, once.
func TestHooksEndWithTheReplica(t *testing.T) {
	t.Parallel()
	p, ns, w := newPlatform(1), startServer(t), &way{}
	hooks := w.hooks()
	p.add(p.profiles[0], 1000)
	f := p.start(t, ns, func(f *relay.Follower) {
		f.Hooks = hooks
		f.Stream.MaxMsgs = 100
	})
	eventually(t, "the stream is full", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.published) > 150 // the stream has room for 100 messages
	})
	f.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open != 0 || w.failed == 0 {
		t.Errorf("%d have not ended, %d have failed", w.open, w.failed)
	}
}

// Without hooks, nothing is allocated for them.
func TestHooksCostNothingWhenOff(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts those of all goroutines
	if n := relay.AllocsWithoutHooks(t.Context()); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
