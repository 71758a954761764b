package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

// logs are many followed logs of one client.
type logs struct {
	*fastiotest.Server
	client *fastio.Client
	rooms  []api.ID

	mu     sync.Mutex
	made   map[api.OpaqueID]time.Time
	delays []time.Duration
}

func newLogs(t *testing.T, n int, change ...func(o *seed.Options)) *logs {
	t.Helper()
	l := &logs{Server: fastiotest.New(change...), made: map[api.OpaqueID]time.Time{}}
	l.client = l.Client(t, fastio.WithHTTPClient(l.StartInMemory(t)))
	for i := range n {
		l.rooms = append(l.rooms, api.ID(l.AddWorkspace(seed.Workspace{Name: fmt.Sprint("Design ", i)}).ID))
	}
	return l
}

// follow follows all logs until the test ends.
func (l *logs) follow(t *testing.T, q events.Query, o events.FollowOptions) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for _, room := range l.rooms {
		following.Go(func() {
			q, o := q, o
			q.Profile = api.Workspace(room)
			err := l.client.Events.Follow(ctx, q, l.handle, &o)
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		following.Wait()
	})
}

func (l *logs) handle(_ context.Context, e *events.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ours := l.made[e.ID]; ours {
		l.delays = append(l.delays, time.Since(at))
		delete(l.made, e.ID)
	}
	return nil
}

// add writes an event to a workspace that becomes visible after a delay.
func (l *logs) add(room api.ID, late time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := seed.Event{Name: fileAdded, Workspace: string(room), CallingUser: l.User().ID, VisibleAt: time.Now().Add(late)}
	l.made[api.OpaqueID(l.AddEvent(e).ID)] = time.Now()
}

// waited returns a quantile of the delays.
func (l *logs) waited(q float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.made) > 0 {
		return time.Hour
	}
	slices.Sort(l.delays)
	return l.delays[int(q*float64(len(l.delays)-1))]
}

// searches returns the number of searches since a time.
func (l *logs) searches(since time.Time) (n int) {
	for _, r := range l.Requests() {
		if r.Op == search && !r.At.Before(since) {
			n++
		}
	}
	return n
}

// Followers of 100 logs are woken by sockets. At rest they leave most searches to others.
func TestFollowManyLogs(t *testing.T) {
	t.Parallel()
	type row struct {
		kind         seed.WindowKind
		late         time.Duration // until events are visible
		median, most time.Duration // of the delays, and at the 99th percentile
	}
	table.Bubbles(t, map[string]row{
		"fixed windows":        {seed.FixedFromFirst, 0, 2 * time.Second, 10 * time.Second},
		"windows by the clock": {seed.FixedToClock, 0, 2 * time.Second, 10 * time.Second},
		"sliding windows":      {seed.Sliding, 0, 2 * time.Second, 10 * time.Second},
		"events that are late": {seed.FixedFromFirst, 4 * time.Second, 8 * time.Second, 90 * time.Second},
	}, func(t *testing.T, row row) {
		if row.kind != seed.FixedFromFirst {
			table.Large(t)
		}
		n := table.Rounds(40, 100)
		l := newLogs(t, n, func(o *seed.Options) { o.Limits.Windows = row.kind })
		l.Fail(seed.Fault{Op: search, Delay: 80 * time.Millisecond})
		l.follow(t, events.Query{}, events.FollowOptions{})
		time.Sleep(time.Hour)
		rest := time.Now()
		time.Sleep(10 * time.Minute)
		if found := l.searches(rest); found > 36 {
			t.Errorf("%d searches at rest in ten minutes", found)
		}
		got, want := l.client.Events.FollowInterval(), time.Duration(n)*10*time.Minute/36
		if (got - want).Abs() > time.Second {
			t.Errorf("the interval is %s, want %s", got, want)
		}
		dice := rand.New(rand.NewPCG(1, 2))
		for end := time.Now().Add(time.Duration(table.Rounds(1, 24)) * time.Hour); time.Now().Before(end); {
			time.Sleep(time.Duration(dice.ExpFloat64() * float64(12*time.Second)))
			l.add(l.rooms[dice.IntN(len(l.rooms))], row.late)
		}
		time.Sleep(want)
		median, most := l.waited(.5), l.waited(.99)
		t.Logf("events were handed over after %s at the median, %s at the 99th percentile, %s at most",
			median, most, l.waited(1))
		if median > row.median || most > row.most || l.waited(1) > 3*time.Minute { // less than an interval at rest
			t.Error("that is late")
		}
	})
}

// Without sockets polls wake 13 followers; the others look at intervals. The polls leave room
// for those of the program.
func TestFollowManyLogsWithoutSockets(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]time.Duration{
		"at rest": 0, "with changes": time.Second,
	}, func(t *testing.T, each time.Duration) {
		n, hours := table.Rounds(60, 100), table.Rounds(2, 3)
		l := newLogs(t, n)
		l.Fail(seed.Fault{Op: op.RealtimeSocket, Status: http.StatusNotFound})
		l.follow(t, events.Query{}, events.FollowOptions{})
		time.Sleep(time.Hour)
		start := time.Now()
		end := start.Add(time.Duration(hours) * time.Hour)
		for each > 0 && time.Now().Before(end) {
			time.Sleep(each)
			l.add(l.rooms[rand.IntN(len(l.rooms))], 0)
			if asked := time.Now(); asked.Sub(start)%time.Minute < each {
				_, err := l.client.Activity.Poll(t.Context(), nil)
				if took := time.Since(asked); err != nil || took > time.Second {
					t.Errorf("a poll of the program took %s: %v", took, err)
				}
			}
		}
		time.Sleep(time.Until(end))
		polled := map[string]bool{}
		var at []time.Time
		for _, r := range l.Requests() {
			if r.Op == "activity.PollProfile" && r.At.After(start) {
				polled[r.Path] = true
				at = append(at, r.At)
			}
		}
		if most := map[bool]int{false: 500, true: 1000 - 60}[each > 0]; len(polled) != 13 || len(at) > hours*most {
			t.Errorf("%d polls of %d profiles in %d hours", len(at), len(polled), hours)
		}
		if each > 0 {
			return
		}
		for _, room := range l.rooms {
			l.add(room, 0)
		}
		time.Sleep(30 * time.Second)
		l.mu.Lock()
		if soon := len(l.delays); soon < 13 {
			t.Errorf("%d events were handed over soon", soon)
		}
		l.mu.Unlock()
		longest := time.Duration(n) * 17 * time.Second
		time.Sleep(longest + time.Minute)
		if most := l.waited(1); most > longest {
			t.Errorf("an event was handed over after %s", most)
		}
	})
}

// Followers with many events to read leave about a third of the searches to the program.
func TestFollowersLeaveSearches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLogs(t, 20)
		l.Fail(seed.Fault{Op: search, Delay: 80 * time.Millisecond})
		for _, room := range l.rooms {
			for range 500 {
				l.add(room, 0)
			}
		}
		l.follow(t, events.Query{Limit: 10}, events.FollowOptions{})
		time.Sleep(10 * time.Minute)
		n, longest := 0, time.Duration(0)
		for start := time.Now(); time.Since(start) < 30*time.Minute; n++ {
			asked := time.Now()
			if _, err := l.client.Events.Search(t.Context(), events.Query{Profile: api.Workspace(l.rooms[0])}); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, time.Since(asked))
		}
		t.Logf("%d searches of the program in half an hour, the longest took %s", n, longest)
		if n < 105 {
			t.Errorf("%d searches of 360", n)
		}
	})
}

// Two events of a quiet log are handed over within 5 seconds of their creation, however
// long after the first one the second comes.
func TestFollowPairsOfEvents(t *testing.T) {
	t.Parallel()
	many := table.Rounds(100, 100)
	table.Bubbles(t, map[string]int{"1 log": 1, "20 logs": 20, "many logs": many}, func(t *testing.T, n int) {
		l := newLogs(t, n)
		l.Fail(seed.Fault{Op: search, Delay: 80 * time.Millisecond})
		l.follow(t, events.Query{}, events.FollowOptions{})
		time.Sleep(40 * time.Minute)
		dice := rand.New(rand.NewPCG(5, 5))
		step := time.Second / time.Duration(table.Rounds(8, 40))
		for apart := time.Duration(0); apart <= 3*time.Second; apart += step {
			room := l.rooms[dice.IntN(n)]
			l.add(room, 0)
			time.Sleep(apart)
			l.add(room, 0)
			time.Sleep(2*time.Minute + time.Duration(dice.IntN(20_000))*time.Millisecond)
			if most := l.waited(1); most > 5*time.Second {
				t.Fatalf("of two events %s apart one was handed over after %s", apart, most)
			}
			l.delays = l.delays[:0]
		}
	})
}

// A log that changes all the time is searched every 5 seconds, which is the rate limit (P7).
func TestFollowBusyLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLogs(t, 1)
		l.follow(t, events.Query{}, events.FollowOptions{})
		time.Sleep(time.Hour)
		long := time.Duration(table.Rounds(60, 60)) * time.Minute
		for start := time.Now(); time.Since(start) < long; time.Sleep(1300 * time.Millisecond) {
			l.add(l.rooms[0], 0)
		}
		time.Sleep(time.Minute)
		var at []time.Time
		for _, r := range l.Requests() {
			if r.Op == search {
				at = append(at, r.At)
			}
		}
		for i := range at {
			if i >= 120 && at[i].Sub(at[i-120]) < 10*time.Minute {
				t.Fatalf("121 searches in %s", at[i].Sub(at[i-120]))
			}
		}
		if most := l.waited(.9); most > 10*time.Second || l.Refusals() > 0 {
			t.Errorf("events were handed over after %s, %d searches were refused", most, l.Refusals())
		}
	})
}
