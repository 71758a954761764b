package events_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// stepper returns a Stepper for the log of the world, and what is sent to when it notifies.
func (w *world) stepper(t *testing.T, handle handler, o *events.FollowOptions) (*events.Stepper, <-chan struct{}) {
	t.Helper()
	s, err := w.log.Stepper(w.query(), handle, o)
	if err != nil {
		t.Fatal(err)
	}
	notified := make(chan struct{}, 1000)
	s.Notify(func() { notified <- struct{}{} })
	return s, notified
}

// step steps, and fails the test after an error.
func step(t *testing.T, s *events.Stepper) time.Time {
	t.Helper()
	next, err := s.Step(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// stepUntil steps whenever it is due, until a time.
func stepUntil(t *testing.T, s *events.Stepper, end time.Time) {
	t.Helper()
	for next := step(t, s); ; next = step(t, s) {
		if next.IsZero() || next.After(end) {
			time.Sleep(time.Until(end))
			return
		}
		time.Sleep(time.Until(next))
	}
}

func TestStepperDeliversEachEventOnce(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		want := w.fill(700)
		store := new(events.MemoryStore)
		var got inbox
		for range 5 {
			s, _ := w.stepper(t, got.handle, &events.FollowOptions{Store: store, OnGap: noGap(t), PollOnly: true})
			for range 10 {
				stepUntil(t, s, time.Now().Add(time.Minute))
				want = append(want, w.add(time.Now(), 0))
			}
			stepUntil(t, s, time.Now().Add(time.Minute))
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sameSet(t, want, got.all())
	})
}

// A step delivers at most two pages, and the next one is due at once. A change that is
// reported meanwhile is found.
func TestStepEndsAfterTwoPages(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		want := w.fill(2600)
		var got inbox
		s, _ := w.stepper(t, got.handle, &events.FollowOptions{OnGap: noGap(t), Store: new(events.MemoryStore)})
		steps := 0
		for next := step(t, s); !next.After(time.Now()); next = step(t, s) {
			steps++
			if n := len(got.all()); n > 500*steps {
				t.Fatalf("%d events after %d steps", n, steps)
			}
			if steps == 2 {
				want = append(want, w.add(time.Now(), 0))
				s.Wake()
			}
		}
		stepUntil(t, s, time.Now().Add(time.Minute))
		if steps < 5 {
			t.Errorf("the log took %d steps", steps)
		}
		sameSet(t, want, got.all())
	})
}

// stepUntil steps through the log, for a day at most, until all events are handled.
func (l *longLog) stepUntil(t *testing.T, c tally, o events.FollowOptions) {
	t.Helper()
	q := l.query()
	q.CreatedMax = time.Time{}
	s, err := l.service().Stepper(q, c.handle, &o)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(24 * time.Hour); time.Now().Before(end) && len(c) < len(l.events); {
		const rateLimit = 5 * time.Second // a search, which this log does not require
		time.Sleep(max(rateLimit, time.Until(step(t, s))))
	}
	if missing := c.missing(l.events); missing >= 0 {
		t.Errorf("%d of %d events handled, %d is missing", len(c), len(l.events), missing)
	}
}

// A step that ends between two pages does not hide from the next one what these have shown:
// refused cursors and cursors that repeat are followed by smaller searches, as in Follow.
func TestStepperMissesNothingAfterRefusedCursors(t *testing.T) {
	t.Parallel()
	logs := map[string]func(l *longLog){"a cycle of two cursors": func(l *longLog) { l.cycle = 2 }}
	logs["a cycle of seven cursors"] = func(l *longLog) { l.cycle = 7 }
	for most := range 5 {
		logs[fmt.Sprintf("refused after page %d", most+1)] = func(l *longLog) {
			l.refused = func(_, depth int) bool { return depth > most+1 }
		}
	}
	for name, change := range logs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLongLog(4_000, 5, logOrders["newest first"])
				change(l)
				time.Sleep(time.Until(l.query().CreatedMax))
				l.stepUntil(t, tally{}, events.FollowOptions{Store: new(events.MemoryStore)})
			})
		})
	}
}

// A step that ends with a slice of time does not take the cursors of the next slice for repeated ones.
func TestStepperTakesNoCursorOfAnotherSliceForARepeatedOne(t *testing.T) {
	t.Parallel()
	for most := range 7 {
		t.Run(fmt.Sprintf("refused after page %d", most+1), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLongLog(6_000, 5, logOrders["newest first"])
				l.numbered = true
				l.refused = func(_, depth int) bool { return depth > most+1 }
				time.Sleep(time.Until(l.query().CreatedMax))
				onRetry := func(_ context.Context, e api.RetryEvent) {
					if errors.Is(e.Err, api.ErrNoProgress) {
						t.Errorf("after %d searches: %v", l.searches, e.Err)
					}
				}
				l.stepUntil(t, tally{}, events.FollowOptions{Store: new(events.MemoryStore), OnRetry: onRetry})
			})
		})
	}
}

// A step requests no page that it does not deliver, however long the handler takes.
func TestStepRequestsOnlyThePagesItDelivers(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(2000)
		handled := 0
		slow := func(context.Context, *events.Event) error {
			time.Sleep(40 * time.Millisecond) // ten seconds a page
			handled++
			return nil
		}
		s, _ := w.stepper(t, slow, &events.FollowOptions{OnGap: noGap(t), Store: new(events.MemoryStore)})
		for next := step(t, s); !next.After(time.Now()); next = step(t, s) {
		}
		if n := w.count("events.Search"); handled != 2000 || n > 9 { // eight pages, and the poll after the first one
			t.Errorf("%d events handled in %d searches", handled, n)
		}
	})
}

// Between two steps, a Stepper costs no call, no goroutine and no timer.
func TestStepBeforeItIsDueCallsNothing(t *testing.T) { //nolint:paralleltest // it counts goroutines
	alone(t, func(t *testing.T, w *world) {
		var got inbox
		s, _ := w.stepper(t, got.handle, nil)
		next := step(t, s)
		sent, goroutines := len(w.Requests()), runtime.NumGoroutine()
		time.Sleep(time.Until(next) / 2)
		if again := step(t, s); !again.Equal(next) || len(w.Requests()) != sent {
			t.Errorf("the next step is due at %s, then at %s; %d calls", next, again, len(w.Requests())-sent)
		}
		if n := runtime.NumGoroutine(); n > goroutines {
			t.Errorf("%d more goroutines", n-goroutines)
		}
		time.Sleep(time.Until(next))
		step(t, s)
		if len(w.Requests()) == sent {
			t.Error("the step that was due has searched nothing")
		}
	})
}

// A change is found 1.5 seconds after it was reported, and reports that follow do not delay
// that.
func TestWakeMakesTheNextStepDue(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		var got inbox
		s, notified := w.stepper(t, got.handle, nil)
		step(t, s)
		time.Sleep(11 * time.Second)
		w.add(time.Now(), 0)
		start := time.Now()
		for range 3 {
			s.Wake()
			time.Sleep(100 * time.Millisecond)
		}
		<-notified
		next := step(t, s)
		if due := next.Sub(start); due != 1500*time.Millisecond {
			t.Errorf("the next step is due %s after the change", due)
		}
		time.Sleep(time.Until(next))
		step(t, s)
		if len(got.all()) != 1 {
			t.Error("the event was not delivered")
		}
	})
}

// A failure is reported with its pause, and ends nothing unless it is permanent. A step
// whose context is done does not end the Stepper either.
func TestStepSurvivesFailures(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.add(time.Now(), 0)
		var got inbox
		var pause time.Duration
		s, _ := w.stepper(t, got.handle, &events.FollowOptions{
			OnRetry: func(_ context.Context, e api.RetryEvent) { pause = e.Wait },
		})
		w.Fail(seed.Fault{Op: search, Status: http.StatusBadGateway})
		next := step(t, s)
		if pause <= 0 || time.Until(next) != pause {
			t.Errorf("the next try is due in %s, and was announced in %s", time.Until(next), pause)
		}
		w.Heal()
		w.Fail(seed.Fault{Op: search, Delay: time.Hour})
		time.Sleep(time.Until(next))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for err := error(nil); !errors.Is(err, context.DeadlineExceeded); _, err = s.Step(ctx) {
			time.Sleep(time.Second)
		}
		w.Heal()
		stepUntil(t, s, time.Now().Add(time.Minute))
		if len(got.all()) != 1 {
			t.Errorf("%d events", len(got.all()))
		}
		w.Fail(seed.Fault{Op: search, Status: http.StatusForbidden})
		s.Wake()
		time.Sleep(2 * time.Second)
		if _, err := s.Step(t.Context()); !errors.Is(err, api.ErrForbidden) {
			t.Errorf("got %v", err)
		}
	})
}

// The event that comes when the context of a step is done, or whose handler fails, is
// delivered by the next step, also if it is too old for another poll.
func TestStepGoesOnAtTheEventThatItHasNotDelivered(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"context": false, "handler": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alone(t, func(t *testing.T, w *world) {
				want := w.fill(300)
				time.Sleep(24 * time.Hour)
				var got inbox
				hasFailed := false
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s, _ := w.stepper(t, func(ctx context.Context, e *events.Event) error {
					switch n := len(got.all()); {
					case n == 20 && fails && !hasFailed:
						hasFailed = true
						return context.Canceled
					case n == 19 && !fails:
						cancel()
					}
					return got.handle(ctx, e)
				}, &events.FollowOptions{PollOnly: true, OnGap: noGap(t)})
				if _, err := s.Step(ctx); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				stepUntil(t, s, time.Now().Add(time.Hour))
				sameSet(t, want, got.all())
			})
		})
	}
}

// Logs at rest take turns in the order in which they are due. One that is closed, or woken,
// gives its turn to the next.
func TestSteppersTakeTurnsAtRest(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		type log struct {
			*events.Stepper
			notified <-chan struct{}
		}
		var got inbox
		var all []log
		for range 4 {
			s, notified := w.stepper(t, got.handle, nil)
			all = append(all, log{s, notified})
			step(t, s)
		}
		every := w.log.FollowInterval() / 4
		time.Sleep(time.Hour) // all are due
		start := time.Now()
		if next := step(t, all[0].Stepper); next.Sub(start) < 4*every { // it has searched
			t.Errorf("the first is due again in %s", next.Sub(start))
		}
		for i, s := range all[1:] {
			next := step(t, s.Stepper)
			if want := start.Add(time.Duration(i+1) * every); next.Sub(want).Abs() > time.Millisecond {
				t.Errorf("turn %d is %s after the first, want %s", i+1, next.Sub(start), want.Sub(start))
			}
		}
		if err := all[1].Close(t.Context()); err != nil {
			t.Error(err)
		}
		<-all[2].notified
		if next := step(t, all[2].Stepper); next.Sub(start) != every {
			t.Errorf("the next in the line is due %s after the first, want %s", next.Sub(start), every)
		}
		all[2].Wake()
		<-all[3].notified
		if next := step(t, all[3].Stepper); next.Sub(start) != every {
			t.Errorf("the last is due %s after the first, want %s", next.Sub(start), every)
		}
	})
}

func TestStepperRefusesWhatFollowRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld()
	q := w.query()
	q.Cursor = "x"
	if _, err := w.log.Stepper(q, new(inbox).handle, nil); refusedField(err) != "cursor" {
		t.Errorf("got %v", err)
	}
	if _, err := w.log.Stepper(w.query(), nil, nil); refusedField(err) != "handle" {
		t.Errorf("got %v", err)
	}
}

// A log at rest takes 4 KiB at most, and no goroutine, also after some rounds.
func TestMemoryOfLogsAtRest(t *testing.T) { //nolint:paralleltest // it measures the heap
	n := int64(10_000)
	if testing.Short() {
		n = 2500
	}
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	synctest.Test(t, func(t *testing.T) {
		page := func(r *api.Request) string {
			event := fmt.Sprintf(`{"event_id": "e%s", "created": "2000-01-01 00:00:00 UTC"}`, r.Query.Get("workspace_id"))
			return `{"events": [` + event + `], "pagination": {"has_more": false}}`
		}
		delivered := int64(0)
		handle := func(context.Context, *events.Event) error { delivered++; return nil }
		before, goroutines := live(), runtime.NumGoroutine()
		all := make([]*events.Stepper, n)
		for i := range all {
			log := events.New(callerFunc(page), nil) // each of an account of its own
			var err error
			all[i], err = log.Stepper(events.Query{Profile: api.Workspace(api.ID(fmt.Sprintf("%019d", i)))}, handle, nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			for _, s := range all {
				step(t, s)
			}
			time.Sleep(time.Minute)
		}
		each, more := (live()-before)/n, runtime.NumGoroutine()-goroutines
		t.Logf("%d bytes a log", each)
		if each > 4<<10 || more != 0 || delivered != n {
			t.Errorf("%d bytes a log, %d goroutines, %d events", each, more, delivered)
		}
		runtime.KeepAlive(slices.Clip(all))
	})
}
