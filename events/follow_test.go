package events_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

type inbox struct {
	mu  sync.Mutex
	got []api.OpaqueID
}

func (b *inbox) handle(_ context.Context, e *events.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, e.ID)
	return nil
}

func (b *inbox) all() []api.OpaqueID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

type handler = func(context.Context, *events.Event) error

type following struct {
	stop context.CancelFunc
	done <-chan error
}

func (w *world) follow(handle handler, o *events.FollowOptions) *following {
	return followAs(w.log, w.query(), handle, o)
}

func followAs(log *events.Service, q events.Query, handle handler, o *events.FollowOptions) *following {
	ctx, stop := context.WithCancel(context.Background())
	return &following{stop, begin(ctx, log, q, handle, o)}
}

// followFor follows for some time, as another program.
func (w *world) followFor(t *testing.T, d time.Duration, q events.Query, handle handler, o *events.FollowOptions) {
	t.Helper()
	f := followAs(logOf(w.Server), q, handle, o)
	time.Sleep(d)
	f.end(t)
}

func begin(
	ctx context.Context, log *events.Service, q events.Query, handle handler, o *events.FollowOptions,
) <-chan error {
	done := make(chan error, 1)
	go func() { done <- log.Follow(ctx, q, handle, o) }()
	return done
}

// end stops a Follow and fails the test if it has ended before.
func (f *following) end(t *testing.T) {
	t.Helper()
	f.stop()
	if err := <-f.done; !errors.Is(err, context.Canceled) {
		t.Fatalf("Follow ended with %v", err)
	}
}

func into(gaps *[]events.Gap) func(context.Context, events.Gap) error {
	return func(_ context.Context, g events.Gap) error {
		*gaps = append(*gaps, g)
		return nil
	}
}

func noGap(t *testing.T) func(context.Context, events.Gap) error {
	t.Helper()
	return func(_ context.Context, g events.Gap) error {
		t.Errorf("a gap: %+v", g)
		return nil
	}
}

// strictly are the options of a Follow that must find no gap.
func strictly(t *testing.T) *events.FollowOptions {
	t.Helper()
	return &events.FollowOptions{Store: new(events.MemoryStore), OnGap: noGap(t)}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		want := w.fill(600)
		var box inbox
		store := new(events.MemoryStore)
		o := &events.FollowOptions{Store: store, OnGap: noGap(t)}
		f := w.follow(box.handle, o)
		for i := range 30 {
			time.Sleep(7 * time.Second)
			want = append(want, w.add(time.Now(), time.Duration(i%12)*10*time.Second))
		}
		time.Sleep(3 * time.Minute)
		sameSet(t, want, box.all())
		f.end(t)

		// A restart continues without duplicates.
		f = followAs(logOf(w.Server), w.query(), box.handle, o)
		want = append(want, w.add(time.Now(), 0))
		time.Sleep(time.Minute)
		f.end(t)
		sameSet(t, want, box.all())

		// Without a store, each Follow starts from the beginning.
		var again inbox
		w.followFor(t, time.Minute, w.query(), again.handle, nil)
		sameSet(t, want, again.all())

		// CreatedMin excludes older events.
		time.Sleep(700 * time.Millisecond) // times of the server are whole seconds
		q := w.query()
		q.CreatedMin = time.Now()
		var fresh inbox
		f = followAs(w.log, q, fresh.handle, nil)
		time.Sleep(30 * time.Second)
		last := w.add(time.Now(), 0)
		time.Sleep(30 * time.Second)
		f.end(t)
		sameSet(t, []api.OpaqueID{last}, fresh.all())
	})
}

// No event is delivered twice, however long a program runs and pauses.
func TestFollowDeliversOnceAcrossRestarts(t *testing.T) {
	t.Parallel()
	spread := func(n int, step time.Duration, seconds int) func(w *world) []api.OpaqueID {
		return func(w *world) (all []api.OpaqueID) {
			for i := range n {
				all = append(all, w.add(time.Now().Add(-time.Duration(i%seconds)*step), 0))
			}
			return all
		}
	}
	type row struct {
		events    func(w *world) []api.OpaqueID // before the first run
		limit     int
		interval  time.Duration
		lives     int
		life      time.Duration
		between   func(w *world, life int) []api.OpaqueID
		unordered bool // the one order of a log
	}
	table.Each(t, map[string]row{
		// What was delivered before is found again, in a log that starts with the
		// newest event behind many new ones.
		"longer than the lookback apart": {
			func(w *world) []api.OpaqueID { return w.fill(300) }, 0, time.Minute, 3, 5 * time.Minute,
			func(w *world, _ int) []api.OpaqueID {
				time.Sleep(24 * time.Hour)
				return w.fill(700)
			}, false,
		},
		// The end of a poll is saved even if nothing was handled since the last
		// checkpoint, which holds a cursor into the backlog.
		"apart from cursors": {
			spread(250, time.Minute, 250), 20, 0, 2, 5 * time.Minute,
			func(w *world, _ int) []api.OpaqueID {
				w.InvalidateCursors()
				return nil
			}, false,
		},
		// A program that never runs long enough for a whole poll still reaches its end.
		"shorter than a poll": {
			func(w *world) []api.OpaqueID { return w.fill(100) }, 5, 0, 40, 20 * time.Second,
			func(w *world, life int) []api.OpaqueID {
				if life != 15 {
					return nil
				}
				return []api.OpaqueID{w.add(time.Now(), 0)}
			}, false,
		},
		"with 10,000 events of the overlap": {spread(10_000, time.Second, 100), 0, time.Hour, 2, 5 * time.Minute, nil, true},
		"with more that a rescan would find": {
			spread(11_000, time.Second, 1000), 0, time.Hour, 2, 5 * time.Minute, nil, true,
		},
	}, func(t *testing.T, tt row) {
		test := func(t *testing.T, w *world) { //nolint:thelper // it is a test
			want := tt.events(w)
			box, o := new(inbox), strictly(t)
			o.Interval = tt.interval
			for life := range tt.lives {
				if life > 0 && tt.between != nil {
					want = append(want, tt.between(w, life)...)
				}
				w.followFor(t, tt.life, w.paged(tt.limit), box.handle, o)
				if tt.life > time.Minute {
					sameSet(t, want, box.all())
				}
			}
			sameSet(t, want, box.all())
		}
		if tt.unordered {
			table.Large(t)
			synctest.Test(t, func(t *testing.T) { test(t, newWorld(ordered(seed.Unordered))) })
			return
		}
		eachOrder(t, test)
	})
}

// What was created since the poll that is resumed does not wait for the next one.
func TestFollowReachesTheEndAfterAResumedPoll(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(100)
		o := strictly(t)
		ctx, stop := context.WithCancel(t.Context())
		handled := 0
		ended := begin(ctx, w.log, w.paged(50), func(context.Context, *events.Event) error {
			handled++
			if handled == 60 {
				stop()
			}
			return nil
		}, o)
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		last := w.add(time.Now(), 0)
		time.Sleep(time.Second)
		var box inbox
		w.followFor(t, 5*time.Second, w.paged(50), box.handle, o)
		if got := box.all(); len(got) != 41 || got[40] != last {
			t.Errorf("%d events are delivered, want 41", len(got))
		}
	})
}

func TestFollowForADay(t *testing.T) {
	t.Parallel()
	type row struct {
		kind  seed.WindowKind
		order seed.Order
		hours int
	}
	day := table.Rounds(3, 24)
	table.Bubbles(t, map[string]row{
		"with fixed windows":        {seed.FixedFromFirst, seed.Unordered, table.Rounds(24, 24)},
		"with windows by the clock": {seed.FixedToClock, seed.NewestFirst, day},
		"with sliding windows":      {seed.Sliding, seed.OldestFirst, day},
	}, func(t *testing.T, kind row) {
		w := newWorld(ordered(kind.order), func(o *seed.Options) { o.Limits.Windows = kind.kind })
		var box inbox
		store := new(events.MemoryStore)
		f := w.follow(box.handle, &events.FollowOptions{OnGap: noGap(t), Store: store, Name: "mine"})
		dice := rand.New(rand.NewPCG(1, 2))
		var want []api.OpaqueID
		for end := time.Now().Add(time.Duration(kind.hours) * time.Hour); time.Now().Before(end); {
			time.Sleep(time.Duration(dice.IntN(100)) * time.Second)
			for range dice.IntN(4) { // up to 2 minutes late
				want = append(want, w.add(time.Now(), time.Duration(dice.IntN(120))*time.Second))
			}
		}
		time.Sleep(3 * time.Minute)
		f.end(t)
		sameSet(t, want, box.all())
		if w.Refusals() > 0 {
			t.Errorf("%d searches were refused", w.Refusals())
		}
		if c, err := store.Load(t.Context(), "mine"); err != nil || len(c.Data) == 0 || len(c.Data) > 10_000 {
			t.Errorf("a checkpoint of %d bytes, %v: it holds what no poll will find again", len(c.Data), err)
		}
	})
}

func TestFollowQuietLog(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(10)
		var box inbox
		f := w.follow(box.handle, &events.FollowOptions{Store: new(events.MemoryStore)})
		time.Sleep(time.Hour)
		f.end(t)
		if n := w.count(search); n > 217 || n < 210 || w.Refusals() > 0 {
			t.Errorf("%d searches in an hour of silence, %d refused", n, w.Refusals())
		}
		if n := w.count("system.Ping"); n > 7 {
			t.Errorf("%d pings in an hour of silence", n)
		}
	})
}

// Events later than the overlap are found by a rescan, whenever that begins, and a
// gap is reported.
func TestFollowReportsLateEvents(t *testing.T) {
	t.Parallel()
	type row struct {
		steps     int
		step      time.Duration
		events    int // a step
		late      func(step int) bool
		by        time.Duration
		gaps      int  // at most
		unordered bool // the one order of a log
	}
	long := table.Rounds(400, 400)
	table.Each(t, map[string]row{
		"of a log at work": {
			200, 10 * time.Second, 1, func(i int) bool { return i == 100 || i == 103 }, 5 * time.Minute, 2, false,
		},
		// The running program remembers more events than fit in a checkpoint: 10,000
		// happen in 14 of the 15 minutes.
		"of a busy log": {900, time.Second, 12, func(i int) bool { return i == 300 }, 8 * time.Minute, 1, true},
		"by ten overlaps, for hours": {
			long, time.Minute, 1, func(i int) bool { return i < long-40 && i%7 == 0 }, 19*time.Minute + 50*time.Second, 52,
			false,
		},
	}, func(t *testing.T, tt row) {
		test := func(t *testing.T, w *world) { //nolint:thelper // it is a test
			var box inbox
			var gaps []events.Gap
			o := &events.FollowOptions{Store: new(events.MemoryStore), OnGap: into(&gaps)}
			if tt.events > 1 {
				o.Interval = time.Minute
			}
			f := w.follow(box.handle, o)
			var want []api.OpaqueID
			var late []time.Time
			for i := range tt.steps {
				time.Sleep(tt.step)
				for range tt.events {
					want = append(want, w.add(time.Now(), 0))
				}
				if tt.late(i) {
					late = append(late, time.Now().UTC().Truncate(time.Second))
					want = append(want, w.add(time.Now(), tt.by))
				}
			}
			time.Sleep(12 * time.Minute)
			f.end(t)
			sameSet(t, want, box.all())
			first, last, n := late[0], late[len(late)-1], len(gaps)
			for _, g := range gaps {
				if g.Reason != events.GapReasonLate || g.From.Before(first) || g.To.After(last) {
					t.Errorf("got %+v, want it within %v and %v", g, first, last)
				}
			}
			if n == 0 || n > tt.gaps || !gaps[0].From.Equal(first) || !gaps[n-1].To.Equal(last) ||
				w.Refusals() > 0 {
				t.Errorf("got %+v, want %v to %v; %d searches refused", gaps, first, last, w.Refusals())
			}
		}
		if tt.unordered {
			table.Large(t)
			synctest.Test(t, func(t *testing.T) { test(t, newWorld(ordered(seed.Unordered))) })
			return
		}
		eachOrder(t, test)
	})
}

func TestFollowLogsAGapWithoutAHook(t *testing.T) {
	t.Parallel()
	type wrapper struct{ api.Client }
	table.Bubbles(t, map[string]func(s *fastiotest.Server, l *slog.Logger) *events.Service{
		"of a client": func(s *fastiotest.Server, l *slog.Logger) *events.Service {
			return logOf(s, fastio.WithLogger(l))
		},
		"of a client that is wrapped": func(s *fastiotest.Server, l *slog.Logger) *events.Service {
			c, err := fastio.New(s.ClientOptions()...)
			if err != nil {
				panic(err)
			}
			return events.New(wrapper{c}, &events.Options{Logger: l})
		},
	}, func(t *testing.T, of func(s *fastiotest.Server, l *slog.Logger) *events.Service) {
		w := newWorld()
		var box inbox
		var log bytes.Buffer
		service := of(w.Server, slog.New(slog.NewTextHandler(&log, nil)))
		f := followAs(service, w.query(), box.handle, &events.FollowOptions{Events: []events.Name{fileAdded}})
		want := []api.OpaqueID{w.add(time.Now(), 5*time.Minute)}
		for range 100 {
			want = append(want, w.add(time.Now(), 0))
			time.Sleep(10 * time.Second)
		}
		time.Sleep(time.Minute)
		f.end(t)
		sameSet(t, want, box.all())
		line := `level=WARN msg="events of the log may have been missed" op=events.Follow reason=late workspace=` +
			string(w.query().Profile.ID) + ` cause="events of the log came more than 2m0s late" value=` + fileAdded +
			` from=2000-01-01T00:00:00.000Z`
		if got := log.String(); !strings.Contains(got, line) || !strings.Contains(got, "events.Service.Walk") {
			t.Errorf("the log is %s", got)
		}
	})
}

// A search in a log that the caller cannot see finds nothing, without an error. The refusal of its
// changes is logged, at the beginning and after the end of a membership.
func TestFollowLogsThatItMaySeeNothing(t *testing.T) {
	t.Parallel()
	type row struct {
		member  bool   // at first
		profile api.ID // "" means that of the workspace
	}
	table.Bubbles(t, map[string]row{
		"not a member":       {},
		"a member no longer": {member: true},
		"no such workspace":  {profile: "4012345678901234567"},
	}, func(t *testing.T, test row) {
		w := newWorld()
		bo := w.AddUser(seed.User{FirstName: "Bo"})
		if test.member {
			w.SetMember(w.room.ID, bo.ID, seed.Member)
		}
		q := w.query()
		if test.profile != "" {
			q.Profile.ID = test.profile
		}
		var box inbox
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		key := w.AddKey(seed.Key{User: bo.ID}).Token
		f := followAs(logOf(w.Server, fastio.WithToken(key), fastio.WithLogger(logger)), q, box.handle, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		const line = `level=WARN msg="the platform refuses to report changes of the log" op=events.Follow workspace=`
		if strings.Contains(log.String(), line) == test.member {
			t.Errorf("at first the log is %q", &log)
		}
		w.SetMember(w.room.ID, bo.ID, "")
		w.DropSockets("")
		time.Sleep(10 * time.Minute)
		f.end(t)
		synctest.Wait()
		if n := strings.Count(log.String(), line+string(q.Profile.ID)); n != 1 {
			t.Errorf("%d warnings: %q", n, &log)
		}
	})
}

// The events of 150 pages in a row are hidden from the caller. An iteration ends after
// 100 of them; a Walk can be resumed behind them, and Follow goes on.
func TestManyPagesOfHiddenEvents(t *testing.T) {
	t.Parallel()
	const hidden = 150
	searches := 0
	s := events.New(callerFunc(func(r *api.Request) string {
		if r.Op != search {
			return `{}`
		}
		searches++
		n, _ := strconv.Atoi(r.Query.Get("cursor"))
		if n < hidden {
			return fmt.Sprintf(`{"events":[],"pagination":{"has_more":true,"next_cursor":"%d"}}`, n+1)
		}
		return `{"events":[{"event_id":"a"}],"pagination":{"has_more":false}}`
	}), nil)
	q := events.Query{Profile: api.Workspace(roomID)}
	synctest.Test(t, func(t *testing.T) {
		if _, err := stub.All(s.All(t.Context(), q)); !errors.Is(err, api.ErrNoProgress) || searches != 100 {
			t.Errorf("All ended with %v after %d searches", err, searches)
		}
		walk := s.Walk(q, "")
		if got, err := stub.All(walk.Events(t.Context())); !errors.Is(err, api.ErrNoProgress) || len(got) > 0 {
			t.Errorf("Walk ended with %v after %d events", err, len(got))
		}
		if got, err := stub.All(s.Walk(q, walk.Cursor()).Events(t.Context())); len(got) != 1 || err != nil || searches != 251 {
			t.Errorf("the resumed Walk ended with %v after %d events and %d searches in all", err, len(got), searches)
		}
		searches = 0
		var box inbox
		var failures []error
		err := s.Follow(t.Context(), q, box.handle, &events.FollowOptions{
			Until:   time.Now().Add(-time.Minute),
			OnRetry: func(_ context.Context, e api.RetryEvent) { failures = append(failures, e.Err) },
		})
		if err != nil || len(box.all()) != 1 || searches != hidden+1 || len(failures) != 1 ||
			!errors.Is(failures[0], api.ErrNoProgress) {
			t.Errorf("Follow: %v, %d events after %d searches and %v", err, len(box.all()), searches, failures)
		}
	})
}

// A poll that has read many pages of hidden events has searched their time: neither later
// polls nor those of the next Follow read them again. If it is ended between them, the next
// Follow goes on there.
func TestFollowReadsHiddenEventsOnce(t *testing.T) {
	t.Parallel()
	const hidden = 250 // pages
	fromStart, isVisible := 0, false
	s := events.New(callerFunc(func(r *api.Request) string {
		if r.Op != search {
			return `{}`
		}
		n, _ := strconv.Atoi(r.Query.Get("cursor"))
		hasHidden := r.Query.Get("created-min") == "" // later searches begin behind them
		if hasHidden {
			fromStart++
		}
		if hasHidden && n < hidden {
			return fmt.Sprintf(`{"events":[],"pagination":{"has_more":true,"next_cursor":"%d"}}`, n+1)
		}
		if isVisible {
			return `{"events":[{"event_id":"a"}],"pagination":{"has_more":false}}`
		}
		return `{"events":[],"pagination":{"has_more":false}}`
	}), nil)
	synctest.Test(t, func(t *testing.T) {
		var box inbox
		o := &events.FollowOptions{Store: new(events.MemoryStore)}
		followFor := func(d time.Duration) {
			f := followAs(s, events.Query{Profile: api.Workspace(roomID)}, box.handle, o)
			time.Sleep(d)
			f.end(t)
		}
		followFor(time.Minute)
		if fromStart >= hidden {
			t.Fatalf("the first Follow has ended after %d searches", fromStart)
		}
		followFor(3 * time.Hour)
		isVisible = true
		followFor(3 * time.Hour)
		if got := box.all(); len(got) != 1 || fromStart > hidden+3 {
			t.Errorf("%d events, %d searches from the beginning of the log", len(got), fromStart)
		}
	})
}

// An empty page that ends a search may be wrong, also behind pages of hidden events: it is
// requested once more.
func TestFollowVerifiesAnEmptyEnd(t *testing.T) {
	t.Parallel()
	ends := 0
	s := events.New(callerFunc(func(r *api.Request) string {
		const empty = `{"events":[],"pagination":{"has_more":false}}`
		isFromStart := r.Query.Get("created-min") == ""
		switch cursor := r.Query.Get("cursor"); {
		case r.Op != search:
			return `{}`
		case !isFromStart:
			return empty
		case cursor == "":
			return `{"events":[],"pagination":{"has_more":true,"next_cursor":"1"}}`
		}
		ends++
		if ends == 1 {
			return empty
		}
		return `{"events":[{"event_id":"a","created":"1999-12-31 12:00:00 UTC"}],"pagination":{"has_more":false}}`
	}), nil)
	synctest.Test(t, func(t *testing.T) {
		var box inbox
		f := followAs(s, events.Query{Profile: api.Workspace(roomID)}, box.handle, nil)
		time.Sleep(time.Hour)
		f.end(t)
		if got := box.all(); len(got) != 1 {
			t.Errorf("%d events", len(got))
		}
	})
}

// A handler that panics ends its Follow: the others do not search more rarely for it.
func TestFollowThatPanicsLeavesItsTurns(t *testing.T) {
	t.Parallel()
	s := events.New(callerFunc(func(r *api.Request) string {
		return `{"events":[{"event_id":"a"}],"pagination":{"has_more":false}}`
	}), nil)
	synctest.Test(t, func(t *testing.T) {
		want := s.FollowInterval()
		for range 3 {
			func() {
				defer func() { _ = recover() }()
				_ = s.Follow(t.Context(), events.Query{Profile: api.Workspace(roomID)}, func(context.Context, *events.Event) error {
					panic("of the handler")
				}, nil)
			}()
		}
		if got := s.FollowInterval(); got != want {
			t.Errorf("the interval is %s, want %s", got, want)
		}
	})
}

// A job that runs every night gets each event once.
func TestFollowUntil(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		o, sets := strictly(t), *strictly(t)
		sets.Categories = []events.Category{events.CategoryOrg, events.CategoryWorkspace}
		var box, both inbox
		var want []api.OpaqueID
		for range 4 {
			want = append(want, w.fill(300)...)
			want = append(want, w.add(time.Now().Add(-100*time.Second), 90*time.Second))
			late := w.add(time.Now(), time.Minute)
			for handle, o := range map[*inbox]*events.FollowOptions{&box: o, &both: &sets} {
				o.Until = time.Now()
				err := logOf(w.Server).Follow(t.Context(), w.query(), handle.handle, o)
				if err != nil || time.Since(o.Until) > 2*time.Minute {
					t.Fatalf("after %s: %v", time.Since(o.Until), err)
				}
				sameSet(t, want, handle.all())
			}
			want = append(want, late)
			time.Sleep(5 * time.Hour)
		}
	})
}

// Until is a time of the server's clock: with a slow server, one of the local clock is reached
// that much later.
func TestFollowUntilIsOfTheServer(t *testing.T) {
	t.Parallel()
	const slow = 2 * time.Hour
	for _, early := range []time.Duration{0, slow} { // how much earlier than the local time Until is
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(func(o *seed.Options) { o.Clock = func() time.Time { return time.Now().Add(-slow) } })
			began := time.Now()
			want := []api.OpaqueID{w.add(began.Add(-slow-time.Minute), 0)}
			var box inbox
			o := &events.FollowOptions{Until: began.Add(-early)}
			if err := w.log.Follow(t.Context(), w.query(), box.handle, o); err != nil {
				t.Fatal(err)
			}
			sameSet(t, want, box.all())
			if took := time.Since(began) - slow + early; took < 0 || took > time.Minute {
				t.Errorf("it ended %v after the server's clock has reached Until, want 0 to 1m", took)
			}
		})
	}
}

// Events with one of several values are delivered once, also across a restart.
func TestFollowSets(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		var want []api.OpaqueID
		names := []events.Name{"comment_created", "workspace_storage_file_added", "workspace_storage_file_updated"}
		add := func() {
			for i, name := range names {
				e := w.AddEvent(seed.Event{Name: string(name), Workspace: w.room.ID, Created: time.Now()})
				if i < 2 {
					want = append(want, api.OpaqueID(e.ID))
				}
			}
		}
		o := strictly(t)
		o.Events, o.Name = names[:2], "mine"
		var box inbox
		for range 3 {
			add()
			w.followFor(t, 30*time.Second, w.query(), box.handle, o)
			sameSet(t, want, box.all())
		}
		w.Fail(seed.Fault{Op: search, Status: http.StatusServiceUnavailable, Skip: 1, Count: 1})
		f := w.follow(func(context.Context, *events.Event) error { return errCrash }, o)
		time.Sleep(time.Minute)
		add()
		if err := <-f.done; !errors.Is(err, errCrash) {
			t.Errorf("Follow ended with %v", err)
		}
		w.followFor(t, 30*time.Second, w.query(), box.handle, o)
		sameSet(t, want, box.all())
	})
}

func TestFollowReportsAGapAfterACrash(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		var box inbox
		store := &unreliable{}
		var gaps []events.Gap
		o := &events.FollowOptions{Store: store, OnGap: into(&gaps)}
		want := w.fill(1)
		w.followFor(t, time.Minute, w.query(), box.handle, o)
		late := time.Now().UTC().Truncate(time.Second)
		want = append(want, w.add(late, 8*time.Minute))
		time.Sleep(7 * time.Minute)
		want = append(want, w.add(time.Now(), 0))
		w.followFor(t, 30*time.Second, w.query(), box.handle, o)
		time.Sleep(time.Minute)
		for range 300 {
			want = append(want, w.add(time.Now(), 0))
		}

		n := 0
		err := w.log.Follow(t.Context(), w.query(), func(ctx context.Context, e *events.Event) error {
			n++
			if n == 280 { // after the checkpoint at 250, before the end of the poll
				store.die()
				return errCrash
			}
			return box.handle(ctx, e)
		}, o)
		if !errors.Is(err, errCrash) || len(gaps) != 0 {
			t.Fatalf("%v, gaps %v", err, gaps)
		}
		store.revive()
		w.followFor(t, time.Minute, w.query(), box.handle, o)
		if diff := cmp.Diff([]events.Gap{{Reason: events.GapReasonLate, From: late, To: late}}, gaps); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
		checkAll(t, want, box.all())
	})
}

func TestFollowSavesNotMoreOftenThanSaveInterval(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		var box inbox
		store := &unreliable{}
		saves := 0
		store.wrote = func() { saves++ }
		want := w.fill(1250)
		o := &events.FollowOptions{Store: store, SaveInterval: time.Hour}
		w.followFor(t, 30*time.Minute, w.query(), box.handle, o)
		checkAll(t, want, box.all())
		if saves > 4 { // the first 250 events, the end of the search and of Follow
			t.Errorf("%d checkpoints were saved", saves)
		}
	})
}

func TestFollowReportsGapAgainAfterError(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(3)
		var box inbox
		o := &events.FollowOptions{Store: new(events.MemoryStore), Name: "mine"}
		w.followFor(t, time.Minute, w.query(), box.handle, o)
		q := w.query()
		q.Category = events.CategoryWorkspace
		reports := 0
		o.OnGap = func(context.Context, events.Gap) error {
			reports++
			if reports == 1 {
				return errCrash
			}
			return nil
		}
		if err := w.log.Follow(t.Context(), q, box.handle, o); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		w.followFor(t, time.Minute, q, box.handle, o)
		if reports != 2 {
			t.Errorf("reported %d times", reports)
		}
	})
}

func TestFollowAnotherQuery(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		start := time.Now().UTC().Truncate(time.Second)
		// The first query excludes events of ten minutes, which a rescan would find.
		for i := range 20 {
			at := start.Add(time.Duration(i*30) * time.Second)
			w.AddEvent(seed.Event{Name: "comment_created", Workspace: w.room.ID, Created: at})
		}
		time.Sleep(10 * time.Minute)
		last := time.Now().UTC().Truncate(time.Second)
		files := []api.OpaqueID{w.add(start, 0), w.add(last, 0)}
		q := w.query()
		q.CreatedMin = start
		q.Event = fileAdded
		var box inbox
		o := &events.FollowOptions{Store: new(events.MemoryStore), Name: "mine"}
		w.followFor(t, time.Minute, q, box.handle, o)
		sameSet(t, files, box.all())

		q.Event = ""
		var gaps []events.Gap
		o.OnGap = into(&gaps)
		w.followFor(t, 5*time.Second, q, box.handle, o)
		if diff := cmp.Diff([]events.Gap{{Reason: events.GapReasonQuery, From: start, To: last}}, gaps); diff != "" {
			t.Fatalf("gaps (-want +got):\n%s", diff)
		}
		o.OnGap = noGap(t) // reported once; older events are not late
		f := followAs(w.log, q, box.handle, o)
		time.Sleep(15 * time.Minute)
		fresh := w.add(time.Now(), 0)
		time.Sleep(15 * time.Minute)
		f.end(t)
		checkOnce(t, "in the end", append(files, fresh), box.all(), box.all())

		// Without a name, another query has another checkpoint.
		other := q
		other.Event = fileAdded
		var second inbox
		o.Name = ""
		w.followFor(t, time.Minute, other, second.handle, o)
		sameSet(t, append(files, fresh), second.all())
	})
}

// After a handler error, its event is the first to be delivered again.
func TestFollowHandlerError(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		want := w.fill(40)
		box, o := new(inbox), strictly(t)
		follow := func(handle handler) error { return logOf(w.Server).Follow(t.Context(), w.paged(6), handle, o) }
		for i := range 40 { // each event fails once
			var failed api.OpaqueID
			err := follow(func(ctx context.Context, e *events.Event) error {
				if failed != "" {
					t.Errorf("%s was delivered after the failure", e.ID)
				}
				if len(box.got) == i {
					failed = e.ID
					return errCrash
				}
				return box.handle(ctx, e)
			})
			if !errors.Is(err, errCrash) || !strings.HasPrefix(err.Error(), "fastio: events.Follow: ") {
				t.Fatal(err)
			}
			// An event is delivered again also if the handler failed after its work.
			for range 2 {
				err = follow(func(_ context.Context, e *events.Event) error {
					if e.ID != failed {
						t.Errorf("%s was delivered again, want %s", e.ID, failed)
					}
					return errStop
				})
				if !errors.Is(err, errStop) {
					t.Fatal(err)
				}
			}
			if i == 39 {
				w.followFor(t, time.Minute, w.paged(6), box.handle, o)
				break
			}
			err = follow(func(ctx context.Context, e *events.Event) error {
				if len(box.got) > i {
					return errStop
				}
				return box.handle(ctx, e)
			})
			if !errors.Is(err, errStop) {
				t.Fatal(err)
			}
		}
		sameSet(t, want, box.all())
	})
}

func TestFollowStopsImmediately(t *testing.T) {
	t.Parallel()
	fails := func(f seed.Fault) func(w *world) {
		return func(w *world) {
			if f.Op == "" {
				f.Op, f.Skip = search, 1
			}
			w.Fail(f)
		}
	}
	retryAfter := http.Header{"Retry-After": {"3600"}}
	type row struct {
		prepare func(w *world)
		handle  handler // nil handles everything
		after   time.Duration
		want    int // events handled, and saved
	}
	table.Bubbles(t, map[string]row{
		"between two polls":               {after: 5 * time.Second, want: 10},
		"during a search":                 {prepare: fails(seed.Fault{Delay: time.Hour}), after: time.Second, want: 4},
		"while the rate limit is used up": {prepare: func(w *world) { w.fill(400) }, after: 4 * time.Second, want: 40},
		"during Retry-After": {
			prepare: fails(seed.Fault{Status: http.StatusTooManyRequests, Header: retryAfter}),
			after:   time.Minute, want: 4,
		},
		"between two attempts": {
			prepare: fails(seed.Fault{Status: http.StatusServiceUnavailable}), after: time.Minute, want: 4,
		},
		"before the time is known": {
			prepare: fails(seed.Fault{Op: "system.Ping", Delay: time.Hour}), after: time.Minute,
		},
		"during the work on an event": {handle: func(ctx context.Context, _ *events.Event) error {
			<-ctx.Done()
			return ctx.Err()
		}, after: time.Second},
		"within a page, with a handler that ignores ctx": {handle: func(context.Context, *events.Event) error {
			time.Sleep(45 * time.Millisecond)
			return nil
		}, after: 100 * time.Millisecond, want: 3},
	}, func(t *testing.T, tt row) {
		w := newWorld()
		all := w.fill(10)
		if tt.prepare != nil {
			tt.prepare(w)
		}
		var box inbox
		o := &events.FollowOptions{Store: new(events.MemoryStore), Interval: time.Hour}
		f := followAs(w.log, w.paged(4), func(ctx context.Context, e *events.Event) error {
			if tt.handle != nil {
				if err := tt.handle(ctx, e); err != nil {
					return err
				}
			}
			return box.handle(ctx, e)
		}, o)
		time.Sleep(tt.after)
		start := time.Now()
		f.end(t)
		if took := time.Since(start); took > 50*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if n := len(box.all()); n != tt.want {
			t.Errorf("%d events were handled, want %d", n, tt.want)
		}
		// The checkpoint was saved: no event is delivered again.
		if tt.prepare != nil {
			return
		}
		w.followFor(t, time.Minute, w.paged(4), box.handle, o)
		sameSet(t, all, box.all())
	})
}

func TestFollowEndsWithAPermanentError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for status, kind := range map[int]error{
			http.StatusNotAcceptable: api.ErrInvalid, http.StatusUnauthorized: api.ErrUnauthenticated,
			http.StatusForbidden: api.ErrForbidden, http.StatusNotFound: api.ErrNotFound,
			http.StatusPaymentRequired: api.ErrPaymentRequired, http.StatusMethodNotAllowed: api.ErrUnsupported,
		} {
			w := newWorld()
			w.fill(10)
			q, want := w.paged(4), 4
			if status == http.StatusNotAcceptable { // of a first page: it may refuse the cursor of a later one
				q.Limit, want = 0, 10
			}
			w.Fail(seed.Fault{Op: search, Skip: 1, Count: 1, Status: status, Code: 10011})
			var box inbox
			retry := func(_ context.Context, e api.RetryEvent) { t.Errorf("status %d: retried after %v", status, e.Err) }
			o := &events.FollowOptions{Store: new(events.MemoryStore), OnRetry: retry}
			if err := w.log.Follow(t.Context(), q, box.handle, o); !errors.Is(err, kind) || len(box.all()) != want {
				t.Errorf("status %d: %v after %d events", status, err, len(box.all()))
			}
		}
	})
}

func TestFollowRetries(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		want := w.fill(50)
		for i, f := range []seed.Fault{
			{Status: http.StatusServiceUnavailable, Count: 40},
			{Status: http.StatusInternalServerError, Count: 5},
			{Cut: 40, Count: 5},
			{Reset: seed.BeforeHeader, Count: 5},
			{Truncate: 30, Count: 5},
			{Status: http.StatusTooManyRequests, Count: 5},
			{Status: http.StatusTooManyRequests, Count: 2, Header: http.Header{"Retry-After": {"600"}}},
			{Status: http.StatusBadGateway, Body: "<html>bad gateway</html>", Count: 5},
		} {
			f.Op, f.Skip = search, 2*i+1
			w.Fail(f)
		}
		w.Fail(seed.Fault{Op: "system.Ping", Reset: seed.BeforeHeader, Count: 5})
		retries := 0
		var box inbox
		o := &events.FollowOptions{OnGap: noGap(t), OnRetry: func(_ context.Context, e api.RetryEvent) {
			retries++
			if e.Op != "events.Follow" || e.Attempt < 1 || e.Err == nil || e.Wait <= 0 || e.Wait > 30*time.Second+1 {
				t.Errorf("the hook got %+v", e)
			}
		}}
		w.followFor(t, 2*time.Hour, w.paged(4), box.handle, o)
		sameSet(t, want, box.all())
		if retries == 0 {
			t.Error("nothing was retried")
		}
	})
}

func TestFollowRejectsSharedName(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		all := w.fill(600)
		for _, store := range []events.CheckpointStore{new(events.MemoryStore), events.FileStore(t.TempDir())} {
			var box inbox
			o := &events.FollowOptions{Store: store}
			one := followAs(logOf(w.Server), w.query(), box.handle, o)
			two := followAs(logOf(w.Server), w.query(), box.handle, o)
			var winner *following
			var err error
			select {
			case err = <-one.done:
				winner = two
			case err = <-two.done:
				winner = one
			}
			if !errors.Is(err, events.ErrCheckpointTaken) || !errors.Is(err, api.ErrConflict) {
				t.Errorf("%T: the loser has %v", store, err)
			}
			if n := strings.Count(err.Error(), events.ErrCheckpointTaken.Error()); n != 1 {
				t.Errorf("%T: the error says %d times why: %v", store, n, err)
			}
			time.Sleep(time.Minute)
			winner.end(t)
			checkAll(t, all, box.all())
		}
	})
}

func TestFollowRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	room := events.Query{Profile: api.Workspace(roomID)}
	take := func(context.Context, *events.Event) error { return nil }
	refused := func(q events.Query, o *events.FollowOptions) error {
		return unreachable().Follow(t.Context(), q, take, o)
	}
	stub.Refused(t, map[string][]error{
		"handle": {unreachable().Follow(t.Context(), room, nil, nil)},
		"FollowOptions": {
			refused(room, &events.FollowOptions{Interval: -1}), refused(room, &events.FollowOptions{Overlap: -1}),
			refused(room, &events.FollowOptions{Sweep: -1}),
		},
		"FollowOptions.Name": {
			refused(events.Query{Profile: api.User(api.Me)}, &events.FollowOptions{Store: new(events.MemoryStore)}),
		},
		"created-max": {refused(with(room, func(q *query) { q.CreatedMax = noon }), nil)},
		"cursor": {
			refused(with(room, func(q *query) { q.Cursor = "c" }), nil),
		},
		"offset": {
			refused(with(room, func(q *query) { q.Offset = 1 }), nil),
		},
		"parent_event_id": {refused(events.Query{ParentEventID: "e1"}, nil)},
		"limit":           {refused(with(room, func(q *query) { q.Limit = 251 }), nil)},
		"FollowOptions.Events": {
			refused(room, &events.FollowOptions{Events: []events.Name{"b", "b"}}),
			refused(room, &events.FollowOptions{Events: []events.Name{"b", ""}}),
			refused(with(room, func(q *query) { q.Event = "a" }), &events.FollowOptions{Events: []events.Name{"b"}}),
		},
		"FollowOptions.Categories": {refused(room, &events.FollowOptions{Events: []events.Name{"b"}, Categories: []events.Category{"c"}})},
		"event": {
			refused(room, &events.FollowOptions{Events: []events.Name{"b", events.Name(strings.Repeat("n", 101))}}),
		},
		"Query.Profile": {refused(events.Query{}, nil)},
	})
}

func TestFollowRejectsInvalidCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for name, data := range map[string]string{
		"damaged": `{"v":1,`, "empty": ``, "of a version to come": `{"v":3,"query":"x"}`, "of another program": `7`,
	} {
		store := new(events.MemoryStore)
		if _, err := store.Save(t.Context(), "mine", events.Checkpoint{Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
		o := &events.FollowOptions{Store: store, Name: "mine"}
		err := w.log.Follow(t.Context(), w.query(), new(inbox).handle, o)
		if err == nil || !strings.Contains(err.Error(), `checkpoint "mine"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.count(search) > 0 {
		t.Error("a search was made")
	}
	o := &events.FollowOptions{Store: &unreliable{dead: true}}
	err := w.log.Follow(t.Context(), w.query(), new(inbox).handle, o)
	if !errors.Is(err, errCrash) {
		t.Errorf("a store that is down: %v", err)
	}
}

// While saves fail, no more than a page is delivered without a checkpoint.
func TestFollowStopsDeliveringWhileItCannotSave(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		all := w.fill(700)
		store := &unreliable{}
		store.roll = func() fate { return refuse }
		var box inbox
		f := w.follow(box.handle, &events.FollowOptions{Store: store})
		time.Sleep(time.Hour)
		if n := len(box.all()); n != 250 {
			t.Errorf("%d events were handled without a checkpoint", n)
		}
		store.revive()
		time.Sleep(time.Minute)
		f.end(t)
		sameSet(t, all, box.all())
	})
}

func TestFollowRecognizesItsOwnCheckpoint(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		want := w.fill(600)
		store := &unreliable{}
		fates := []fate{loseAnswers, failLoad, refuse, accept, loseAnswers, loseAnswers, refuse, loseAnswer}
		store.roll = func() fate {
			if len(fates) == 0 {
				return accept
			}
			f := fates[0]
			fates = fates[1:]
			return f
		}
		var box inbox
		o := &events.FollowOptions{Store: store}
		f := w.follow(box.handle, o)
		for range 20 {
			time.Sleep(time.Minute)
			want = append(want, w.add(time.Now(), 0))
		}
		time.Sleep(time.Minute)
		f.end(t)
		w.followFor(t, time.Minute, w.query(), box.handle, o)
		sameSet(t, want, box.all())
	})
}

func TestFollowDeduplicatesSpellingsOfAnID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spellings, calls := []string{"e1abc-defgh", "E1ABC-DEFGH", "e1abcdefgh"}, 0
		c := callerFunc(func(r *api.Request) string {
			if r.Op != search {
				return `{}`
			}
			calls++
			row := fmt.Sprintf(`{"event_id":%q,"created":"1999-12-31 23:59:00 UTC"}`, spellings[calls%3])
			return `{"events":[` + row + `],"pagination":{"has_more":false}}`
		})
		var box inbox
		f := followAs(events.New(c, nil), events.Query{Profile: api.Workspace(roomID)}, box.handle, nil)
		time.Sleep(time.Hour)
		f.end(t)
		if n := len(box.all()); n != 1 {
			t.Errorf("delivered %d times in %d polls", n, calls)
		}
	})
}

// checkAll fails the test unless got holds every event. Duplicates are allowed.
func checkAll(t *testing.T, must, got []api.OpaqueID) {
	t.Helper()
	once := slices.Compact(slices.Sorted(slices.Values(got)))
	sameSet(t, must, once)
}

// It is not documented whether the bounds of a search are inclusive.
func TestExclusiveBounds(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		want := w.fill(700)
		time.Sleep(2 * time.Second) // a pass may omit the second it starts in
		sameSet(t, want, collect(t, w.log.Walk(w.query(), "")))

		var box inbox
		f := w.follow(box.handle, &events.FollowOptions{Store: new(events.MemoryStore)})
		for i := range 300 {
			time.Sleep(time.Second)
			want = append(want, w.add(time.Now(), time.Duration(i%2)*time.Minute))
		}
		time.Sleep(3 * time.Minute)
		f.end(t)
		sameSet(t, want, box.all())
	}, func(o *seed.Options) { o.Events.ExclusiveBounds = true })
}

// smallLog is a log of one page. Every page also has the odd events, whatever
// times are requested.
type smallLog struct {
	stub.NotOpened

	odd  []api.OpaqueID
	skew time.Duration // of the clock that dates events

	mu   sync.Mutex
	date time.Duration // how far the Dates are ahead of that clock
	rows map[api.OpaqueID]time.Time
}

const future = "2099-01-01 00:00:00"

func (l *smallLog) Call(_ context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if raw := api.Resolve(opts).Response; raw != nil {
		raw.Header = http.Header{"Date": {l.now().Add(l.date).Format(http.TimeFormat)}}
	}
	var rows []string
	for _, id := range l.odd {
		rows = append(rows, fmt.Sprintf(`{"event_id":%q,"created":"%s UTC"}`, id, future))
	}
	for id, at := range l.rows {
		created := at.Format(time.DateTime)
		if created >= r.Query.Get("created-min") && created <= r.Query.Get("created-max") {
			rows = append(rows, fmt.Sprintf(`{"event_id":%q,"created":"%s UTC"}`, id, created))
		}
	}
	return json.Unmarshal([]byte(`{"events":[`+strings.Join(rows, ",")+`],"pagination":{"has_more":false}}`), out)
}

func (l *smallLog) now() time.Time { return time.Now().Add(l.skew).UTC() }

func (l *smallLog) add() api.OpaqueID { return l.addAt(l.now()) }

func (l *smallLog) addAt(created time.Time) api.OpaqueID {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows == nil {
		l.rows = map[api.OpaqueID]time.Time{}
	}
	id := api.OpaqueID(fmt.Sprint("e", len(l.rows)))
	l.rows[id] = created
	return id
}

// An event created in the future is delivered once, however often the server sends
// it, and later events are delivered as well. It is reported as a gap, but does not
// end a Follow without a gap handler.
func TestFollowContinuesAfterAnEventInTheFuture(t *testing.T) {
	t.Parallel()
	room := events.Query{Profile: api.Workspace(roomID)}
	table.Bubbles(t, map[string]bool{"with a gap handler": true, "without": false}, func(t *testing.T, handler bool) {
		l := &smallLog{odd: []api.OpaqueID{"eodd1", "eodd2"}}
		var gaps []events.Gap
		o := &events.FollowOptions{Store: events.FileStore(t.TempDir())}
		if handler {
			o.OnGap = into(&gaps)
		}
		var box inbox
		want := append([]api.OpaqueID{}, l.odd...)
		for range 3 { // a restart each
			f := followAs(events.New(l, nil), room, box.handle, o)
			for range 20 {
				want = append(want, l.add())
				time.Sleep(3 * time.Minute)
			}
			time.Sleep(time.Hour)
			f.end(t)
		}
		sameSet(t, want, box.all())
		at, err := time.Parse(time.DateTime, future)
		if err != nil {
			t.Fatal(err)
		}
		reported := []events.Gap{{Reason: events.GapReasonClock, From: at, To: at}}
		if diff := cmp.Diff(reported, gaps); handler && diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	})
}

// unreliableLog is a log whose searches fail first, and then once have no events.
type unreliableLog struct {
	*smallLog
	isDown  bool
	isEmpty bool
}

func (l *unreliableLog) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	isSearch := r.Op == search
	switch {
	case isSearch && l.isDown:
		return io.ErrUnexpectedEOF
	case isSearch && l.isEmpty:
		l.isEmpty = false
		return (&smallLog{}).Call(ctx, r, out, opts...)
	}
	return l.smallLog.Call(ctx, r, out, opts...)
}

// A poll is resumed after a restart only if it has found events: else an empty response,
// which may be wrong, would end it, and no later poll would search its time.
func TestFollowRepeatsAPollWithoutEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &unreliableLog{smallLog: &smallLog{}}
		var box inbox
		var gaps []events.Gap
		o := &events.FollowOptions{Store: new(events.MemoryStore), Name: "mine", OnGap: into(&gaps)}
		follow := func(q events.Query) {
			f := followAs(events.New(l, nil), q, box.handle, o)
			time.Sleep(10 * time.Minute)
			f.end(t)
		}
		q := events.Query{Profile: api.Workspace(roomID)}
		first := l.add()
		follow(events.Query{Profile: q.Profile, Event: fileAdded})

		time.Sleep(2 * time.Hour)
		second := l.add()
		time.Sleep(2 * time.Hour)
		l.isDown = true
		follow(q) // it saves a checkpoint because it reports the gap before the checkpoint of another query
		if len(gaps) != 1 {
			t.Fatalf("gaps: %+v", gaps)
		}
		l.isDown, l.isEmpty = false, true
		follow(q)
		sameSet(t, []api.OpaqueID{first, second}, box.all())
	})
}

// If the last poll has ended in the future, as after a wrong clock of the server, Follow
// continues from the latest remembered event, or from its start if there is none.
func TestFollowResetsAnEndInTheFuture(t *testing.T) {
	t.Parallel()
	room := events.Query{Profile: api.Workspace(roomID)}
	type row struct {
		damage func(checkpoint map[string]any)
		again  bool // all events are delivered again
	}
	table.Bubbles(t, map[string]row{
		"the end":    {damage: func(c map[string]any) { c["searched"] = "2099-01-01T00:00:00Z" }},
		"the newest": {damage: func(c map[string]any) { c["newest"] = "2099-01-01T00:00:00Z" }},
		"both": {damage: func(c map[string]any) {
			c["searched"], c["newest"] = "2099-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
		}},
		"both, and no remembered events": {again: true, damage: func(c map[string]any) {
			c["searched"], c["newest"] = "2099-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
			c["complete"], c["recent"] = "2098-12-31T23:00:00Z", nil
		}},
	}, func(t *testing.T, tt row) {
		l, store, box := &smallLog{}, new(events.MemoryStore), new(inbox)
		o := &events.FollowOptions{Store: store, Name: "mine", OnGap: noGap(t)}
		follow := func() (added []api.OpaqueID) {
			f := followAs(events.New(l, nil), room, box.handle, o)
			for range 20 {
				added = append(added, l.add())
				time.Sleep(20 * time.Second)
			}
			f.end(t)
			return added
		}
		before := follow()
		c, err := store.Load(t.Context(), "mine")
		if err != nil {
			t.Fatal(err)
		}
		var data map[string]any
		if err := json.Unmarshal(c.Data, &data); err != nil {
			t.Fatal(err)
		}
		tt.damage(data)
		c.Data, err = json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		save(t, store, "mine", c)
		time.Sleep(time.Minute)
		want := append(append([]api.OpaqueID{}, before...), l.add())
		time.Sleep(time.Minute)
		want = append(want, follow()...)
		if tt.again {
			want = append(want, before...)
		}
		sameSet(t, want, box.all())
	})
}

// While the Dates of the server are an hour off, whatever the local clock, Follow misses no
// event, and delivers no more than those of an overlap again.
func TestFollowOutlivesWrongDates(t *testing.T) {
	t.Parallel()
	type row struct{ date, local time.Duration }
	table.Bubbles(t, map[string]row{
		"ahead":                         {date: time.Hour},
		"ahead, and the local clock":    {time.Hour, 2 * time.Hour},
		"ahead, the local clock behind": {time.Hour, -2 * time.Hour},
		"behind":                        {date: -time.Hour},
		"behind, the local clock ahead": {-time.Hour, 2 * time.Hour},
	}, func(t *testing.T, tt row) {
		l, box := &smallLog{skew: -tt.local}, new(inbox)
		var all []api.OpaqueID
		for i := range 300 {
			all = append(all, l.addAt(l.now().Add(-time.Duration(i+1)*time.Hour)))
		}
		o := &events.FollowOptions{Store: new(events.MemoryStore), OnGap: noGap(t)}
		f := followAs(events.New(l, nil), events.Query{Profile: api.Workspace(roomID)}, box.handle, o)
		for minute := range 120 {
			l.mu.Lock()
			l.date = 0
			if minute == 20 || minute == 21 {
				l.date = tt.date
			}
			l.mu.Unlock()
			for range 3 {
				all = append(all, l.add())
				time.Sleep(20 * time.Second)
			}
		}
		time.Sleep(time.Minute)
		f.end(t)
		got := box.all()
		again := len(got) - len(all)
		slices.Sort(got)
		sameSet(t, all, slices.Compact(got))
		const overlap = 2 * 3 // events
		if again < 0 || again > overlap+1 {
			t.Errorf("%d events are delivered again", again)
		}
	})
}

// A page of changes without a cursor is an error: the next call would start at
// the end of the feed.
func TestChangePagesNeedACursor(t *testing.T) {
	t.Parallel()
	row := `{"changes":[{"event_id":"e1"}],"cursor":"","has_more":true}`
	for _, odd := range []string{`{}`, `{"changes":[]}`, row} {
		s := events.New(callerFunc(func(*api.Request) string { return odd }), nil)
		for p, err := range s.ChangePages(t.Context(), "4000000000000000002", &events.ChangeOptions{Cursor: "c1"}) {
			if err == nil {
				t.Errorf("%s: %+v", odd, p)
			}
		}
	}
}

// OnGap may search the log, as often as it takes: no search of Follow is reserved
// meanwhile, for which those of others would wait.
func TestOnGapMaySearch(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(200)
		store := new(events.MemoryStore)
		w.followFor(t, time.Minute, w.query(), new(inbox).handle, &events.FollowOptions{Store: store, Name: "mine"})
		walked := 0
		o := &events.FollowOptions{Store: store, Name: "mine", OnGap: func(ctx context.Context, _ events.Gap) error {
			for _, err := range w.log.Walk(w.paged(10), "").Events(ctx) {
				if err != nil {
					return err
				}
				walked++
			}
			return nil
		}}
		other := w.query() // for which older events are a gap
		other.Event = fileAdded
		f := followAs(w.log, other, new(inbox).handle, o)
		time.Sleep(time.Hour)
		f.end(t)
		if walked != 200 {
			t.Errorf("OnGap has walked over %d of 200 events", walked)
		}
	})
}
