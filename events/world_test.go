package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

const (
	fileAdded = "workspace_storage_file_added"
	search    = "events.Search"
)

// world is an emulator with a workspace and its log.
type world struct {
	*fastiotest.Server
	room seed.Workspace
	log  *events.Service
}

// newWorld must be called inside a bubble if the test searches more than a few
// times: the client waits for the published rate limits.
func newWorld(change ...func(o *seed.Options)) *world {
	s := fastiotest.New(change...)
	return &world{Server: s, room: s.AddWorkspace(seed.Workspace{Name: "Design"}), log: logOf(s)}
}

func logOf(s *fastiotest.Server, opts ...fastio.Option) *events.Service {
	c, err := fastio.New(append(s.ClientOptions(), opts...)...)
	if err != nil {
		panic(err)
	}
	return c.Events
}

func (w *world) query() events.Query { return events.Query{Profile: api.Workspace(api.ID(w.room.ID))} }

// paged returns the query for all events, with the given page size.
func (w *world) paged(limit int) events.Query {
	q := w.query()
	q.Limit = limit
	return q
}

// add writes an event that becomes visible after a delay.
func (w *world) add(created time.Time, late time.Duration) api.OpaqueID {
	return api.OpaqueID(w.AddEvent(seed.Event{
		Name: fileAdded, Workspace: w.room.ID, CallingUser: w.User().ID, Created: created, VisibleAt: created.Add(late),
	}).ID)
}

// fill writes n events, some of which share a second, up to now.
func (w *world) fill(n int) []api.OpaqueID {
	all := make([]api.OpaqueID, n)
	for i := range all {
		all[i] = w.add(time.Now().Add(time.Duration(i/3-n)*time.Second), 0)
	}
	return all
}

func ordered(order seed.Order) func(o *seed.Options) {
	return func(o *seed.Options) { o.Events.Order = order }
}

// orders are those a log may have.
var orders = map[string]seed.Order{
	"oldest first": seed.OldestFirst, "newest first": seed.NewestFirst, "in no order": seed.Unordered,
}

// eachOrder runs a test in a bubble for each order of a log. Walk and Follow make
// the same guarantees in every order, and have the same goroutines.
func eachOrder(t *testing.T, test func(t *testing.T, w *world), change ...func(o *seed.Options)) {
	t.Helper()
	table.Bubbles(t, orders, func(t *testing.T, order seed.Order) {
		if order != seed.Unordered {
			table.Large(t)
		}
		test(t, newWorld(append(change, ordered(order))...))
	})
}

// alone runs a test in a bubble with its own world.
func alone(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld()) })
}

func collect(t *testing.T, walk *events.Walk) []api.OpaqueID {
	t.Helper()
	return some(t, walk, math.MaxInt)
}

func some(t *testing.T, walk *events.Walk, n int) []api.OpaqueID {
	t.Helper()
	return taken(t, walk.Events(t.Context()), n)
}

func ids(t *testing.T, s *events.Service, q events.Query) []api.OpaqueID {
	t.Helper()
	return taken(t, s.All(t.Context(), q), math.MaxInt)
}

func taken(t *testing.T, all iter.Seq2[*events.Event, error], n int) (got []api.OpaqueID) {
	t.Helper()
	if n == 0 {
		return nil
	}
	for e, err := range all {
		if err != nil {
			t.Fatalf("after %d events: %v", len(got), err)
		}
		got = append(got, e.ID)
		if len(got) == n {
			break
		}
	}
	return got
}

// sameSet requires that both hold the same IDs, each equally often.
func sameSet(t *testing.T, want, got []api.OpaqueID) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
}

func (w *world) count(op string) int {
	n := 0
	for _, r := range w.Requests() {
		if r.Op == op {
			n++
		}
	}
	return n
}

// callerFunc returns a client whose calls return the JSON text of f.
func callerFunc(f func(r *api.Request) string) stub.Caller {
	return func(_ context.Context, r *api.Request, out any) error { return json.Unmarshal([]byte(f(r)), out) }
}

var errReached = errors.New("the call was sent")

// unreachable returns a Service for which every call is an error: invalid input
// must be rejected before.
func unreachable() *events.Service { return events.New(stub.Fail(errReached), nil) }

// refusedField returns the argument of an input error, as on the wire or else in Go, or
// the error.
func refusedField(err error) string {
	if e, ok := errors.AsType[*api.InputError](err); ok && errors.Is(err, api.ErrInvalid) {
		if e.Wire != "" {
			return e.Wire
		}
		return e.Field
	}
	return fmt.Sprintf("%v", err)
}
