package events_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/table"
)

// tally counts how often each event is handled.
type tally map[int]int

func (c tally) handle(_ context.Context, e *events.Event) error {
	i, err := strconv.Atoi(string(e.ID[1:]))
	c[i]++
	return err
}

// missing returns the first event that was not handled, or -1.
func (c tally) missing(all []logged) int {
	i := slices.IndexFunc(all, func(e logged) bool { return c[e.id] == 0 })
	if i < 0 {
		return -1
	}
	return all[i].id
}

// until follows the log, up to now.
func (l *longLog) until(t *testing.T, c tally, o events.FollowOptions) error {
	t.Helper()
	o.Until = time.Now()
	q := l.query()
	q.CreatedMax = time.Time{}
	return l.service().Follow(t.Context(), q, c.handle, &o)
}

// Whatever the order of a log, the cursors that the server refuses and how late events
// become visible, up to ten overlaps, Follow handles all of them and does not end.
func TestFollowMissesNothingAfterRefusedCursors(t *testing.T) {
	t.Parallel()
	table.Large(t)
	n := table.Rounds(4_000, 50_000)
	for name, order := range logOrders {
		for what, refused := range refusals {
			t.Run(fmt.Sprintf("%s/%s refused", name, what), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := newLongLog(n, 1, func(all []logged) {
						for i := range all { // the last ones appear while Follow runs
							all[i].seen += 1100 * (i % 89) / 88
						}
						order(all)
					})
					l.refused = refused
					end := l.query().CreatedMax
					time.Sleep(time.Until(end) - time.Duration(n/2)*time.Second)
					ctx, cancel := context.WithDeadline(t.Context(), end.Add(time.Hour))
					defer cancel()
					got, q := tally{}, l.query()
					q.CreatedMax = time.Time{}
					o := &events.FollowOptions{Store: new(events.MemoryStore), Interval: time.Minute, OnGap: func(_ context.Context, g events.Gap) error {
						if g.Reason == events.GapReasonCursor {
							t.Errorf("gap %+v", g)
						}
						return nil
					}}
					err := l.service().Follow(ctx, q, got.handle, o)
					if missing := got.missing(l.events); !errors.Is(err, context.DeadlineExceeded) || missing >= 0 {
						t.Errorf("%v, %d events handled, %d is missing", err, len(got), missing)
					}
				})
			})
		}
	}
}

// While the server refuses every cursor, as during a deployment, Follow waits, reports it,
// and misses nothing; nor does one that ends at Until.
func TestFollowOutlivesRefusedCursors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLongLog(5_000, 5, logOrders["newest first"])
		time.Sleep(time.Until(l.query().CreatedMax))
		began := time.Now()
		l.refused = func(int, int) bool { return time.Since(began) < 2*time.Second }
		got, retries := tally{}, 0
		o := events.FollowOptions{OnRetry: func(_ context.Context, e api.RetryEvent) {
			retries++
			if !errors.Is(e.Err, api.ErrInvalid) {
				t.Errorf("retry %+v", e)
			}
		}}
		err := l.until(t, got, o)
		if missing := got.missing(l.events); err != nil || missing >= 0 || retries == 0 {
			t.Errorf("%v, %d retries, %d is missing", err, retries, missing)
		}
	})
}

// The events of a second that the server never sends to the end are reported as a gap, and
// all others are handled.
func TestFollowReportsAGapIfTheEventsOfASecondCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const burst = 100 // the second of it
		l := newLongLog(2_000, 5, func(all []logged) {
			for i := range all {
				if i >= 5*burst && i < 5*burst+400 {
					all[i].second, all[i].seen = burst, burst
				}
			}
		})
		l.exclusive = true
		l.refused = func(int, int) bool { return true }
		time.Sleep(time.Until(l.query().CreatedMax))
		var gaps []events.Gap
		got := tally{}
		err := l.until(t, got, events.FollowOptions{OnGap: into(&gaps)})
		at := l.start.Add(burst * time.Second)
		want := events.Gap{Reason: events.GapReasonCursor, From: at, To: at}
		others := slices.DeleteFunc(slices.Clone(l.events), func(e logged) bool { return e.second == burst })
		if missing := got.missing(others); err != nil || len(gaps) != 1 || gaps[0] != want || missing >= 0 {
			t.Errorf("%v, gaps %v, want %v; %d is missing", err, gaps, want, missing)
		}
	})
}

// A run that follows a clean end handles no event again, whatever the number of events
// before it, if at most 50,000 of them were created within the look-back.
func TestFollowRepeatsNothingAfterABurst(t *testing.T) {
	t.Parallel()
	table.Large(t)
	type row struct {
		burst  int           // events of a minute
		pause  time.Duration // after them
		repeat int           // at most
	}
	table.Bubbles(t, map[string]row{
		"within the look-back":               {table.Rounds(5_000, 50_000), 4 * time.Minute, 0},
		"more than are remembered":           {51_000, 30 * time.Second, 2_000},
		"more, earlier than the look-back":   {table.Rounds(5_000, 120_000), 2 * time.Hour, 0},
		"the newest event is in the overlap": {2_000, 0, 0},
	}, func(t *testing.T, test row) {
		l := newLongLog(test.burst, max(test.burst/60, 1), logOrders["in no order"])
		got, store := tally{}, new(events.MemoryStore)
		time.Sleep(time.Until(l.query().CreatedMax) + test.pause)
		for range 3 {
			if err := l.until(t, got, events.FollowOptions{Store: store, Name: "nightly", OnGap: noGap(t)}); err != nil {
				t.Fatal(err)
			}
			c, err := store.Load(t.Context(), "nightly")
			if err != nil || len(c.Data) > 700_000 {
				t.Errorf("the checkpoint has %d bytes, %v", len(c.Data), err)
			}
			time.Sleep(time.Minute)
		}
		total := 0
		for _, n := range got {
			total += n
		}
		if again := total - len(l.events); len(got) != len(l.events) || again > 2*test.repeat {
			t.Errorf("%d events, %d of them again, want at most %d", len(got), again, 2*test.repeat)
		}
	})
}
