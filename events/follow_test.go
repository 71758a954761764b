package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
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
)

// inbox is a program that takes events in.
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

// following is a Follow under way.
type following struct {
	stop context.CancelFunc
	done <-chan error
}

// follow starts to follow the whole log of w.
func (w *world) follow(handle func(context.Context, *events.Event) error, o *events.FollowOptions) *following {
	return followAs(w.log, w.query(), handle, o)
}

func followAs(log *events.Service, q events.Query, handle func(context.Context, *events.Event) error, o *events.FollowOptions) *following {
	ctx, stop := context.WithCancel(context.Background())
	return &following{stop, begin(ctx, log, q, handle, o)}
}

// begin follows in a goroutine and returns where its error will come.
func begin(ctx context.Context, log *events.Service, q events.Query, handle func(context.Context, *events.Event) error, o *events.FollowOptions) <-chan error {
	done := make(chan error, 1)
	go func() { done <- log.Follow(ctx, q, handle, o) }()
	return done
}

// end stops a Follow that must have had no other reason to.
func (f *following) end(t *testing.T) {
	t.Helper()
	f.stop()
	if err := <-f.done; !errors.Is(err, context.Canceled) {
		t.Fatalf("Follow ended with %v", err)
	}
}

// noGap fails the test at a gap.
func noGap(t *testing.T) func(context.Context, events.Gap) error {
	t.Helper()
	return func(_ context.Context, g events.Gap) error {
		t.Errorf("a gap: %+v", g)
		return nil
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				want := w.fill(600)
				var box inbox
				store := new(events.MemoryStore)
				o := &events.FollowOptions{Store: store, Gap: noGap(t)}
				f := w.follow(box.handle, o)
				for i := range 30 {
					time.Sleep(7 * time.Second)
					want = append(want, w.add(time.Now(), time.Duration(i%12)*10*time.Second))
				}
				time.Sleep(3 * time.Minute)
				sameSet(t, want, box.all())
				f.end(t)

				// A restart repeats nothing, and goes on.
				f = followAs(logOf(w.Server), w.query(), box.handle, o)
				want = append(want, w.add(time.Now(), 0))
				time.Sleep(time.Minute)
				f.end(t)
				sameSet(t, want, box.all())

				// Without a store, each Follow starts from the beginning.
				var again inbox
				f = w.follow(again.handle, nil)
				time.Sleep(time.Minute)
				f.end(t)
				sameSet(t, want, again.all())
			})
		})
	}
}

func TestFollowFromNowOn(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				w.add(time.Now().Add(-time.Minute), 0)
				time.Sleep(700 * time.Millisecond) // the server tells whole seconds
				q := w.query()
				q.CreatedMin = time.Now()
				var box inbox
				f := followAs(w.log, q, box.handle, nil)
				time.Sleep(30 * time.Second)
				want := w.add(time.Now(), 0)
				time.Sleep(30 * time.Second)
				f.end(t)
				if diff := cmp.Diff([]api.OpaqueID{want}, box.all()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// After a pause longer than any look goes back, what was handed over before it
// is still met, in a log that starts with the newest after much that is new.
func TestFollowAfterALongPause(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				want := w.fill(300)
				var box inbox
				o := &events.FollowOptions{Store: new(events.MemoryStore), Gap: noGap(t), Interval: time.Minute}
				for range 3 {
					f := followAs(logOf(w.Server), w.query(), box.handle, o)
					time.Sleep(5 * time.Minute)
					f.end(t)
					sameSet(t, want, box.all())
					time.Sleep(24 * time.Hour)
					want = append(want, w.fill(700)...)
				}
			})
		})
	}
}

func TestFollowManyEventsOfOneSecond(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				var box inbox
				o := &events.FollowOptions{Store: new(events.MemoryStore), Gap: noGap(t)}
				f := followAs(w.log, w.paged(20), box.handle, o)
				var want []api.OpaqueID
				second := time.Now().Add(30 * time.Second)
				for i := range 90 { // some show up between two looks, some only after the next
					want = append(want, w.add(second, time.Duration(i)*time.Second))
				}
				time.Sleep(5 * time.Minute)
				f.end(t)
				sameSet(t, want, box.all())
			})
		})
	}
}

func TestFollowForADay(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name  string
		kind  fastiotest.WindowKind
		order fastiotest.Order
		hours int
	}{
		{"with fixed windows", fastiotest.FixedFromFirst, fastiotest.Unordered, 24},
		{"with windows by the clock", fastiotest.FixedToClock, fastiotest.NewestFirst, shortDay},
		{"with sliding windows", fastiotest.Sliding, fastiotest.OldestFirst, shortDay},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(kind.order), func(o *fastiotest.Options) { o.Limits.Windows = kind.kind })
				var box inbox
				store := new(events.MemoryStore)
				f := followAs(w.log, w.query(), box.handle, &events.FollowOptions{Gap: noGap(t), Store: store, Name: "mine"})
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
				if sameSet(t, want, box.all()); w.Refusals() > 0 {
					t.Errorf("%d searches were refused", w.Refusals())
				}
				if c, err := store.Load(t.Context(), "mine"); err != nil || len(c.Data) == 0 || len(c.Data) > 10_000 {
					t.Errorf("a checkpoint of %d bytes, %v: what no look will meet again is to be forgotten", len(c.Data), err)
				}
			})
		})
	}
}

func TestFollowAQuietLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fill(10)
		var box inbox
		f := w.follow(box.handle, &events.FollowOptions{Store: new(events.MemoryStore)})
		time.Sleep(time.Hour)
		f.end(t)
		if n := w.count(search); n > 361 || n < 350 || w.Refusals() > 0 {
			t.Errorf("%d searches in an hour of silence, %d refused", n, w.Refusals())
		}
		if n := w.count("system.Ping"); n > 7 {
			t.Errorf("%d pings in an hour of silence", n)
		}
	})
}

// Events later than the overlap are found by a sweep, and a gap is reported.
func TestFollowReportsLateEvents(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				var box inbox
				var gaps []events.Gap
				o := &events.FollowOptions{Store: new(events.MemoryStore), Gap: func(_ context.Context, g events.Gap) error {
					gaps = append(gaps, g)
					return nil
				}}
				f := w.follow(box.handle, o)
				var want []api.OpaqueID
				var first, last time.Time
				for i := range 200 { // so that the watermark moves
					time.Sleep(10 * time.Second)
					want = append(want, w.add(time.Now(), 0))
					if i == 100 || i == 103 {
						last = time.Now().UTC().Truncate(time.Second)
						if first.IsZero() {
							first = last
						}
						want = append(want, w.add(time.Now(), 5*time.Minute))
					}
				}
				time.Sleep(time.Minute)
				f.end(t)
				sameSet(t, want, box.all())
				if len(gaps) == 0 {
					t.Fatal("no gap was reported")
				}
				for _, g := range gaps {
					if g.Reason != events.GapReasonLate || g.From.Before(first) || g.To.After(last) {
						t.Errorf("got %+v, want it within %v and %v", g, first, last)
					}
				}
				if !gaps[0].From.Equal(first) || !gaps[len(gaps)-1].To.Equal(last) || len(gaps) > 2 {
					t.Errorf("got %+v, want %v to %v", gaps, first, last)
				}
			})
		})
	}
}

// However busy the log: what a checkpoint has no room for, the running program
// still knows.
func TestFollowReportsLateEventsOfABusyLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(ordered(fastiotest.Unordered))
		var box inbox
		var gaps int
		f := w.follow(box.handle, &events.FollowOptions{
			Store: new(events.MemoryStore), Interval: time.Minute,
			Gap: func(context.Context, events.Gap) error {
				gaps++
				return nil
			},
		})
		var want []api.OpaqueID
		for second := range 1200 {
			time.Sleep(time.Second)
			for range 12 { // of which 10,000 happen in 14 minutes
				want = append(want, w.add(time.Now(), 0))
			}
			if second == 300 {
				want = append(want, w.add(time.Now(), 8*time.Minute))
			}
		}
		time.Sleep(12 * time.Minute)
		f.end(t)
		if sameSet(t, want, box.all()); gaps == 0 || w.Refusals() > 0 {
			t.Errorf("%d gaps, %d searches refused", gaps, w.Refusals())
		}
	})
}

func TestFollowEndsAtAGapNobodyAccepts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var box inbox
		o := &events.FollowOptions{Store: new(events.MemoryStore)}
		f := w.follow(box.handle, o)
		var want []api.OpaqueID
		want = append(want, w.add(time.Now(), 5*time.Minute))
		go func() {
			for range 100 {
				want = append(want, w.add(time.Now(), 0))
				time.Sleep(10 * time.Second)
			}
		}()
		err := <-f.done
		gap, ok := errors.AsType[*events.GapError](err)
		if !ok || gap.Gap.Reason != events.GapReasonLate || gap.Gap.From.IsZero() || !strings.Contains(err.Error(), "may have been missed") {
			t.Fatalf("Follow ended with %v", err)
		}
		// It was told, so the next Follow goes on.
		time.Sleep(20 * time.Minute)
		o.Gap = noGap(t)
		f = w.follow(box.handle, o)
		time.Sleep(20 * time.Minute)
		f.end(t)
		sameSet(t, want, box.all())
	})
}

// A gap that is known but not yet told of survives a crash.
func TestFollowKeepsAGapUntold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var box inbox
		store := &unreliable{}
		var told []events.Gap
		o := &events.FollowOptions{Store: store, Gap: func(_ context.Context, g events.Gap) error {
			told = append(told, g)
			return nil
		}}
		want := w.fill(1)
		f := w.follow(box.handle, o)
		time.Sleep(time.Minute)
		f.end(t)
		late := time.Now().UTC().Truncate(time.Second)
		want = append(want, w.add(late, 8*time.Minute))
		time.Sleep(7 * time.Minute)
		want = append(want, w.add(time.Now(), 0))
		f = w.follow(box.handle, o)
		time.Sleep(30 * time.Second)
		f.end(t)
		time.Sleep(time.Minute)
		for range 300 {
			want = append(want, w.add(time.Now(), 0))
		}

		n := 0
		f = w.follow(func(ctx context.Context, e *events.Event) error {
			if n++; n == 280 { // behind the checkpoint at 250, before the end of the look
				store.die()
				return errCrash
			}
			return box.handle(ctx, e)
		}, o)
		if err := <-f.done; !errors.Is(err, errCrash) || len(told) != 0 {
			t.Fatalf("%v, told %v", err, told)
		}
		store.revive()
		f = w.follow(box.handle, o)
		time.Sleep(time.Minute)
		f.end(t)
		if diff := cmp.Diff([]events.Gap{{Reason: events.GapReasonLate, From: late, To: late}}, told); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
		checkAll(t, want, box.all())
	})
}

func TestFollowTellsOfAGapAgainThatWasNotAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fill(3)
		var box inbox
		o := &events.FollowOptions{Store: new(events.MemoryStore), Name: "mine"}
		f := w.follow(box.handle, o)
		time.Sleep(time.Minute)
		f.end(t)
		q := w.query()
		q.Category = events.CategoryWorkspace
		told := 0
		o.Gap = func(context.Context, events.Gap) error {
			if told++; told == 1 {
				return errCrash
			}
			return nil
		}
		if err := w.log.Follow(t.Context(), q, box.handle, o); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		f = followAs(w.log, q, box.handle, o)
		time.Sleep(time.Minute)
		f.end(t)
		if told != 2 {
			t.Errorf("told %d times", told)
		}
	})
}

func TestFollowAnotherQuery(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				start := time.Now().UTC().Truncate(time.Second)
				// Ten minutes that the first query leaves out, and a sweep would find.
				for i := range 20 {
					w.AddEvent(fastiotest.Event{Name: "comment_created", Workspace: w.room.ID, Created: start.Add(time.Duration(i*30) * time.Second)})
				}
				time.Sleep(10 * time.Minute)
				last := time.Now().UTC().Truncate(time.Second)
				files := []api.OpaqueID{w.add(start, 0), w.add(last, 0)}
				q := w.query()
				q.CreatedMin = start
				q.Event = fileAdded
				var box inbox
				o := &events.FollowOptions{Store: new(events.MemoryStore), Name: "mine"}
				f := followAs(w.log, q, box.handle, o)
				time.Sleep(time.Minute)
				f.end(t)
				sameSet(t, files, box.all())

				q.Event = ""
				err := w.log.Follow(t.Context(), q, box.handle, o)
				gap, ok := errors.AsType[*events.GapError](err)
				want := events.Gap{Reason: events.GapReasonQuery, From: start, To: last}
				if !ok || !cmp.Equal(want, gap.Gap) {
					t.Fatalf("got %v, want %+v", err, want)
				}
				o.Gap = noGap(t) // told once; and what is older now is not taken for late
				f = followAs(w.log, q, box.handle, o)
				time.Sleep(15 * time.Minute)
				fresh := w.add(time.Now(), 0)
				time.Sleep(15 * time.Minute)
				f.end(t)
				if got := box.all(); !slices.Contains(got, fresh) {
					t.Error("what came after the change is lost")
				}
				checkOnce(t, "in the end", append(files, fresh), box.all(), box.all())

				// Without a name, another query has another checkpoint.
				other := q
				other.Event = fileAdded
				var second inbox
				o.Name = ""
				f = followAs(w.log, other, second.handle, o)
				time.Sleep(time.Minute)
				f.end(t)
				sameSet(t, append(files, fresh), second.all())
			})
		})
	}
}

// The size of a page and the start are no part of what a query finds.
func TestFollowInOtherPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		want := w.fill(50)
		var box inbox
		o := &events.FollowOptions{Store: new(events.MemoryStore), Gap: noGap(t)}
		n := 0
		f := followAs(w.log, w.paged(7), func(ctx context.Context, e *events.Event) error {
			if n++; n == 20 {
				return errCrash
			}
			return box.handle(ctx, e)
		}, o)
		if err := <-f.done; !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		q := w.paged(9)
		q.CreatedMin = time.Now()
		f = followAs(w.log, q, box.handle, o)
		time.Sleep(time.Minute)
		f.end(t)
		sameSet(t, want, box.all())
	})
}

func TestFollowRemembersTenThousandEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		events, seconds int
	}{
		{"all of them within the overlap", 10_000, 100},
		{"of more that a sweep would find", 11_000, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(fastiotest.Unordered))
				want := make([]api.OpaqueID, tt.events)
				for i := range want {
					want[i] = w.add(time.Now().Add(-time.Duration(i%tt.seconds)*time.Second), 0)
				}
				var box inbox
				o := &events.FollowOptions{Store: new(events.MemoryStore), Gap: noGap(t), Interval: time.Hour}
				for range 2 {
					f := followAs(logOf(w.Server), w.query(), box.handle, o)
					time.Sleep(5 * time.Minute)
					f.end(t)
					sameSet(t, want, box.all())
				}
			})
		})
	}
}

func TestFollowHandlerError(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				want := w.fill(40)
				o := &events.FollowOptions{Store: new(events.MemoryStore), Gap: noGap(t)}
				var box inbox
				for i := range 40 { // each event fails once
					failed := false
					var which api.OpaqueID
					err := logOf(w.Server).Follow(t.Context(), w.paged(6), func(ctx context.Context, e *events.Event) error {
						if failed {
							t.Errorf("%s was handed over after the failure", e.ID)
						}
						if failed = len(box.got) == i; failed {
							which = e.ID
							return errCrash
						}
						return box.handle(ctx, e)
					}, o)
					if !errors.Is(err, errCrash) || !strings.HasPrefix(err.Error(), "fastio: events.Follow: ") {
						t.Fatal(err)
					}
					f := followAs(w.log, w.paged(6), func(ctx context.Context, e *events.Event) error {
						if e.ID != which {
							t.Errorf("%s came again, want %s", e.ID, which)
						}
						if err := box.handle(ctx, e); err != nil {
							return err
						}
						return errStop
					}, o)
					if err := <-f.done; !errors.Is(err, errStop) {
						t.Fatal(err)
					}
					if got := box.all(); got[len(got)-1] != which {
						t.Fatalf("got %s, want %s", got[len(got)-1], which)
					}
					// The program says it failed, although it took the event in: so it comes again.
					box.got = box.got[:len(box.got)-1]
					f = followAs(w.log, w.paged(6), func(ctx context.Context, e *events.Event) error {
						if len(box.got) > i {
							return errStop
						}
						return box.handle(ctx, e)
					}, o)
					if i == 39 {
						time.Sleep(time.Minute)
						f.end(t)
					} else if err := <-f.done; !errors.Is(err, errStop) {
						t.Fatal(err)
					}
				}
				sameSet(t, want, box.all())
			})
		})
	}
}

func TestFollowStopsAtOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(w *world)
		handle  func(ctx context.Context, e *events.Event) error // nil takes everything
		after   time.Duration
		want    int // events taken, and saved
	}{
		{name: "between two looks", after: 5 * time.Second, want: 10},
		{name: "during a search", prepare: func(w *world) { w.Fail(fastiotest.Fault{Op: search, Skip: 1, Delay: time.Hour}) }, after: time.Second, want: 4},
		{name: "while the pace has no room", prepare: func(w *world) { w.fill(400) }, after: 4 * time.Second, want: 40},
		{name: "while the server wants to be left alone", prepare: func(w *world) {
			w.Fail(fastiotest.Fault{Op: search, Skip: 1, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3600"}}})
		}, after: time.Minute, want: 4},
		{name: "between two tries", prepare: func(w *world) {
			w.Fail(fastiotest.Fault{Op: search, Skip: 1, Status: http.StatusServiceUnavailable})
		}, after: time.Minute, want: 4},
		{name: "before the time is known", prepare: func(w *world) { w.Fail(fastiotest.Fault{Op: "system.Ping", Delay: time.Hour}) }, after: time.Minute},
		{name: "during the work on an event", handle: func(ctx context.Context, _ *events.Event) error {
			<-ctx.Done()
			return ctx.Err()
		}, after: time.Second},
		{name: "within a page, though the program does not ask", handle: func(context.Context, *events.Event) error {
			time.Sleep(45 * time.Millisecond)
			return nil
		}, after: 100 * time.Millisecond, want: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
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
					t.Errorf("%d events were taken, want %d", n, tt.want)
				}
				// The checkpoint was saved: nothing comes again.
				if tt.prepare != nil {
					return
				}
				f = followAs(logOf(w.Server), w.paged(4), box.handle, o)
				time.Sleep(time.Minute)
				f.end(t)
				sameSet(t, all, box.all())
			})
		})
	}
}

func TestFollowEndsForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for status, kind := range map[int]error{
			http.StatusNotAcceptable: api.ErrInvalid, http.StatusUnauthorized: api.ErrUnauthenticated,
			http.StatusForbidden: api.ErrForbidden, http.StatusNotFound: api.ErrNotFound,
			http.StatusPaymentRequired: api.ErrPaymentRequired, http.StatusMethodNotAllowed: api.ErrUnsupported,
		} {
			w := newWorld()
			w.fill(10)
			w.Fail(fastiotest.Fault{Op: search, Skip: 1, Count: 1, Status: status, Code: 10011})
			var box inbox
			o := &events.FollowOptions{Store: new(events.MemoryStore), Retry: func(_ context.Context, err error, _ time.Duration) {
				t.Errorf("status %d: tried again after %v", status, err)
			}}
			q := w.paged(4)
			if status == http.StatusNotAcceptable { // of the first page: later it may be the cursor's fault
				q.Limit = 0
				w.fill(1)
				f := followAs(w.log, q, box.handle, o)
				if err := <-f.done; !errors.Is(err, kind) || len(box.all()) != 11 {
					t.Errorf("status %d: %v after %d events", status, err, len(box.all()))
				}
				continue
			}
			if err := w.log.Follow(t.Context(), q, box.handle, o); !errors.Is(err, kind) || len(box.all()) != 4 {
				t.Errorf("status %d: %v after %d events", status, err, len(box.all()))
			}
		}
	})
}

func TestFollowTriesAgain(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				want := w.fill(50)
				for i, f := range []fastiotest.Fault{
					{Status: http.StatusServiceUnavailable, Count: 40},
					{Status: http.StatusInternalServerError, Count: 5},
					{Cut: 40, Count: 5},
					{Reset: fastiotest.BeforeHeader, Count: 5},
					{Truncate: 30, Count: 5},
					{Status: http.StatusTooManyRequests, Count: 5},
					{Status: http.StatusTooManyRequests, Count: 2, Header: http.Header{"Retry-After": {"600"}}},
					{Status: http.StatusBadGateway, Body: "<html>bad gateway</html>", Count: 5},
				} {
					f.Op, f.Skip = search, 2*i+1
					w.Fail(f)
				}
				w.Fail(fastiotest.Fault{Op: "system.Ping", Reset: fastiotest.BeforeHeader, Count: 5})
				retries := 0
				var box inbox
				o := &events.FollowOptions{Gap: noGap(t), Retry: func(_ context.Context, err error, wait time.Duration) {
					if retries++; err == nil || wait <= 0 || wait > 30*time.Second+1 {
						t.Errorf("told of %v and a wait of %v", err, wait)
					}
				}}
				f := followAs(w.log, w.paged(4), box.handle, o)
				time.Sleep(2 * time.Hour)
				f.end(t)
				if sameSet(t, want, box.all()); retries == 0 {
					t.Error("nothing was tried again")
				}
			})
		})
	}
}

func TestFollowTwiceUnderOneName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
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
			time.Sleep(time.Minute)
			winner.end(t)
			checkAll(t, all, box.all())
		}
	})
}

func TestFollowRefused(t *testing.T) {
	t.Parallel()
	room := events.Query{Profile: api.Workspace(roomID)}
	take := func(context.Context, *events.Event) error { return nil }
	with := func(change func(q *events.Query)) events.Query {
		q := room
		change(&q)
		return q
	}
	tests := []struct {
		name    string
		query   events.Query
		handle  func(context.Context, *events.Event) error
		options *events.FollowOptions
		field   string
	}{
		{"nobody to hand events to", room, nil, nil, "handle"},
		{"an interval below 0", room, take, &events.FollowOptions{Interval: -1}, "options"},
		{"an overlap below 0", room, take, &events.FollowOptions{Overlap: -1}, "options"},
		{"a sweep below 0", room, take, &events.FollowOptions{Sweep: -1}, "options"},
		{"an end", with(func(q *events.Query) { q.CreatedMax = noon }), take, nil, "created-max"},
		{"a cursor", with(func(q *events.Query) { q.Cursor = "c" }), take, nil, "cursor"},
		{"an offset", with(func(q *events.Query) { q.Offset = 1 }), take, nil, "cursor"},
		{"a parent event", events.Query{ParentEventID: "e1"}, take, nil, "parent_event_id"},
		{"a limit of 251", with(func(q *events.Query) { q.Limit = 251 }), take, nil, "limit"},
		{"no profile", events.Query{}, take, nil, "profile"},
	}
	for _, tt := range tests {
		err := events.New(unreachable{}).Follow(t.Context(), tt.query, tt.handle, tt.options)
		if got := refusedField(err); got != tt.field {
			t.Errorf("%s blames %q, want %q", tt.name, got, tt.field)
		}
	}
	var text string
	if err := events.New(unreachable{}).Follow(t.Context(), room, take, nil, api.Markdown(&text)); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("in Markdown: %v", err)
	}
}

func TestFollowACheckpointItCannotRead(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for name, data := range map[string]string{
		"damaged": `{"v":1,`, "empty": ``, "of a version to come": `{"v":2,"query":"x"}`, "of another program": `7`,
	} {
		store := new(events.MemoryStore)
		if _, err := store.Save(t.Context(), "mine", events.Checkpoint{Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
		err := w.log.Follow(t.Context(), w.query(), new(inbox).handle, &events.FollowOptions{Store: store, Name: "mine"})
		if err == nil || !strings.Contains(err.Error(), `checkpoint "mine"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.count(search) > 0 {
		t.Error("a search was made")
	}
	err := w.log.Follow(t.Context(), w.query(), new(inbox).handle, &events.FollowOptions{Store: &unreliable{dead: true}})
	if !errors.Is(err, errCrash) {
		t.Errorf("a store that is down: %v", err)
	}
}

// A store that takes nothing stops the follower before more could come again
// than a page.
func TestFollowWaitsForItsStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
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

// When the answer to a save is lost, and the question what became of it too, the
// write of one's own must not pass for somebody else's.
func TestFollowKnowsItsOwnCheckpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		want := w.fill(600)
		store := &unreliable{}
		fates := []fate{loseAnswers, refuse, accept, loseAnswers, loseAnswers, refuse, loseAnswer}
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
		f = w.follow(box.handle, o)
		time.Sleep(time.Minute)
		f.end(t)
		sameSet(t, want, box.all())
	})
}

func TestFollowWhoseCursorsAreRefused(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				var box inbox
				o := &events.FollowOptions{Store: new(events.MemoryStore), Gap: noGap(t)}
				var want []api.OpaqueID
				for round := range 12 {
					for range 25 {
						want = append(want, w.add(time.Now(), time.Duration(round)*5*time.Second))
					}
					f := followAs(logOf(w.Server), w.paged(7), func(ctx context.Context, e *events.Event) error {
						if len(box.all())%11 == 10 {
							w.InvalidateCursors()
						}
						return box.handle(ctx, e)
					}, o)
					time.Sleep(20 * time.Second)
					f.end(t)
				}
				f := w.follow(box.handle, o)
				time.Sleep(10 * time.Minute)
				f.end(t)
				sameSet(t, want, box.all())
			})
		})
	}
}

// Two writings of one id are one event.
func TestFollowKnowsAnIDInAnySpelling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spellings, calls := []string{"e1abc-defgh", "E1ABC-DEFGH", "e1abcdefgh"}, 0
		c := callerFunc(func(r *api.Request) string {
			if r.Op != search {
				return `{}`
			}
			calls++
			return fmt.Sprintf(`{"events":[{"event_id":%q,"created":"1999-12-31 23:59:00 UTC"}],"pagination":{"has_more":false}}`, spellings[calls%3])
		})
		var box inbox
		f := followAs(events.New(c), events.Query{Profile: api.Workspace(roomID)}, box.handle, nil)
		time.Sleep(time.Hour)
		f.end(t)
		if n := len(box.all()); n != 1 {
			t.Errorf("it came %d times in %d looks", n, calls)
		}
	})
}

// The end of a look is saved even if nothing was handled since the last
// checkpoint: a cursor into the backlog must not be what is left.
func TestFollowSavesTheEndOfALook(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				want := make([]api.OpaqueID, 250)
				for i := range want {
					want[i] = w.add(time.Now().Add(-time.Duration(i)*time.Minute), 0)
				}
				var box inbox
				o := &events.FollowOptions{Store: new(events.MemoryStore), Gap: noGap(t)}
				for range 2 {
					f := followAs(logOf(w.Server), w.paged(20), box.handle, o)
					time.Sleep(5 * time.Minute)
					f.end(t)
					sameSet(t, want, box.all())
					w.InvalidateCursors()
				}
			})
		})
	}
}

// A program that never lives long enough for a whole look still gets to its end.
func TestFollowOfAShortLife(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				want := w.fill(100)
				var box inbox
				o := &events.FollowOptions{Store: new(events.MemoryStore), Gap: noGap(t)}
				for round := range 40 {
					if round == 15 {
						want = append(want, w.add(time.Now(), 0))
					}
					f := followAs(logOf(w.Server), w.paged(5), box.handle, o)
					time.Sleep(20 * time.Second)
					f.end(t)
				}
				sameSet(t, want, box.all())
			})
		})
	}
}

func TestFollowSeesWhatItsTokenSees(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fill(5)
		stranger := w.AddUser(fastiotest.User{FirstName: "Eve"})
		eve := logOf(w.Server, fastio.WithToken(w.AddKey(fastiotest.Key{User: stranger.ID, Scopes: []string{"org:" + string(w.Org().ID) + ":r"}}).Token))
		var box inbox
		f := followAs(eve, w.query(), box.handle, nil)
		time.Sleep(time.Minute)
		f.end(t)
		if n := len(box.all()); n != 0 {
			t.Errorf("%d events", n)
		}
	})
}

// checkAll fails the test unless got holds every event that must come; some may
// come twice.
func checkAll(t *testing.T, must, got []api.OpaqueID) {
	t.Helper()
	once := slices.Compact(slices.Sorted(slices.Values(got)))
	sameSet(t, must, once)
}
