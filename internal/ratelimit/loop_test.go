package ratelimit_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/table"
)

func newLoop(c ratelimit.Class) *ratelimit.Loop {
	t := new(ratelimit.Loop)
	t.SetClass(c)
	return t
}

// Callers start in the order of their classes, but at most three pass a class that waits, and
// a loop at rest starts before those that were woken more than [ratelimit.Patience] later.
func TestClassesStartInOrder(t *testing.T) {
	t.Parallel()
	names := map[rune]ratelimit.Class{'p': ratelimit.Program, 'w': ratelimit.Woken, 'r': ratelimit.Rest}
	for asked, want := range map[string]string{ // in this order, | is until all have started, _ is Patience
		"rwp":       "pwr",
		"rrrwwwppp": "ppprwwwrr",
		"rwpppppp":  "ppprwppp",
		"rwwwww":    "wwwrww",
		"pppp|rwp":  "pppppwr",
		"wwww|rw":   "wwwwwr",
		"r_w":       "rw",
		"r_wp":      "rpw",
	} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := ratelimit.New(api.RateWindow{Max: 1, Size: 10 * minute})
				g.Release(acquire(t, g))
				started := ""
				var all sync.WaitGroup
				for _, name := range asked {
					switch name {
					case '|':
						all.Wait()
						continue
					case '_':
						time.Sleep(ratelimit.Patience)
						continue
					}
					all.Go(func() {
						c, err := g.Acquire(ratelimit.With(t.Context(), newLoop(names[name])), forever, nil)
						if err != nil {
							t.Error(err)
						}
						started += string(name) // one at a time
						g.Release(c)
					})
					time.Sleep(time.Millisecond)
				}
				all.Wait()
				if started != want {
					t.Errorf("started in the order %s, want %s", started, want)
				}
			})
		})
	}
}

// Two calls of loops run at a time, unless they take long. Others of the program start at
// once.
func TestTwoLoopsRunAtATime(t *testing.T) {
	t.Parallel()
	type row struct{ calls, started []int } // in seconds: how long each runs, and when it starts
	table.Bubbles(t, map[string]row{
		"for a while": {[]int{10, 25, 10, 10, 10, 10}, []int{0, 0, 10, 20, 25, 30}},
		"for long":    {[]int{90, 90, 90, 90, 90}, []int{0, 0, 60, 60, 120}},
	}, func(t *testing.T, test row) {
		g := ratelimit.New(api.RateWindow{Max: 100, Size: time.Second})
		var started []int
		begun := time.Now()
		for _, seconds := range test.calls {
			c, err := g.Acquire(ratelimit.With(t.Context(), newLoop(ratelimit.Rest)), forever, nil)
			if err != nil {
				t.Fatal(err)
			}
			started = append(started, int(time.Since(begun)/time.Second))
			time.AfterFunc(time.Duration(seconds)*time.Second, func() { g.Release(c) })
			leaves(t, g, 0)
		}
		if !slices.Equal(started, test.started) {
			t.Errorf("the loops started after %v s, want %v", started, test.started)
		}
		time.Sleep(3 * time.Minute)
	})
}

// A canceled loop leaves the queue at once, whatever it waits for, and delays no other (P8).
func TestCanceledLoopsLeaveTheLine(t *testing.T) {
	t.Parallel()
	windows := map[string]api.RateWindow{
		"for others":     {Max: 100, Size: time.Second},
		"for the window": {Max: 2, Size: time.Minute},
		"for its part":   {Max: 100, Size: time.Hour},
	}
	table.Bubbles(t, windows, func(t *testing.T, w api.RateWindow) {
		g := ratelimit.New(w)
		var all sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		calls := make(chan ratelimit.Call, 50)
		for range cap(calls) {
			all.Go(func() {
				c, err := g.Acquire(ratelimit.With(ctx, newLoop(ratelimit.Rest)), forever, nil)
				if err == nil {
					calls <- c
				} else if !errors.Is(err, context.DeadlineExceeded) || time.Since(deadline(ctx)) > 0 {
					t.Errorf("got %v %s after the deadline", err, time.Since(deadline(ctx)))
				}
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
		close(calls)
		for c := range calls {
			g.Release(c)
		}
		start := time.Now()
		c, err := g.Acquire(ratelimit.With(t.Context(), newLoop(ratelimit.Rest)), forever, nil)
		if took := time.Since(start); err != nil || took > w.Size+time.Second {
			t.Errorf("the next loop started after %s, %v", took, err)
		}
		g.Release(c)
	})
}

// A loop whose wait has failed does not wait any longer.
func TestFailedWaitIsOver(t *testing.T) {
	t.Parallel()
	contexts := map[string]time.Duration{"canceled while it waits": time.Second, "canceled before": 0}
	table.Bubbles(t, contexts, func(t *testing.T, after time.Duration) {
		g, loop := ratelimit.New(api.RateWindow{Max: 1, Size: time.Minute}), newLoop(ratelimit.Rest)
		g.Release(acquire(t, g))
		ctx, cancel := context.WithCancel(ratelimit.With(t.Context(), loop))
		if after == 0 {
			cancel()
		}
		time.AfterFunc(after, cancel)
		if _, err := g.Acquire(ctx, forever, nil); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if waited := loop.State().Waited; waited > 0 {
			t.Errorf("the loop waits for %s", waited)
		}
	})
}

func deadline(ctx context.Context) time.Time {
	at, _ := ctx.Deadline()
	return at
}

// A loop that has reserved a call starts it at once. One that makes none gives it up.
func TestReservedCallStartsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(api.RateWindow{Max: 1, Size: time.Minute})
		g.Release(acquire(t, g))
		loop := newLoop(ratelimit.Rest)
		start := time.Now()
		if err := loop.Reserve(t.Context(), g); err != nil || time.Since(start) != late {
			t.Fatalf("reserved after %s, %v", time.Since(start), err)
		}
		c, err := g.Acquire(ratelimit.With(t.Context(), loop), forever, nil)
		if err != nil || time.Since(start) != late || !loop.State().Running {
			t.Errorf("started after %s, %v", time.Since(start), err)
		}
		g.Release(c)
		if loop.State().Running {
			t.Error("the call runs after its end")
		}
		if err := loop.Reserve(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		loop.Cancel(g)
		loop.Cancel(g)
		leaves(t, g, late)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if err := loop.Reserve(ctx, g); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("the reservation failed after %s, %v", time.Since(start), err)
		}
		if err := loop.Reserve(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
}

// A loop waits for as long as the server requires.
func TestLoopWaitsForAClosedGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, start := ratelimit.New(), time.Now()
		g.Close(start.Add(time.Hour), 0)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		if err := g.Wait(ctx); err != nil || time.Since(start) != time.Hour {
			t.Errorf("waited for %s: %v", time.Since(start), err)
		}
	})
}

// Loops share the calls of an hour: none of them waits for long, those of Woken have three
// quarters, and what a class does not need goes to the other one, and to the program.
func TestLoopsShareTheCallsOfAnHour(t *testing.T) {
	t.Parallel()
	const hour, size = 1000, time.Hour
	type row struct {
		woken, rest, program int           // callers, and calls of the program in an hour
		calls                int           // of a loop of Woken in the third hour, at least
		gap                  time.Duration // between two of its calls, at most
		resting              int           // calls of a loop of Rest, at least
	}
	table.Bubbles(t, map[string]row{
		"a loop that is woken":   {1, 0, 0, 950, 5 * time.Second, 0},
		"ten that are woken":     {10, 0, 0, 95, 45 * time.Second, 0},
		"ten at rest":            {0, 10, 0, 0, 0, 95},
		"both":                   {1, 14, 0, 700, 8 * time.Second, 16},
		"many of both":           {50, 50, 0, 9, 9 * time.Minute, 7},
		"one at rest, ten woken": {10, 1, 0, 70, time.Minute, 190}, // it asks again after the next start
		"beside the program":     {10, 0, 300, 65, 80 * time.Second, 0},
		"beside a busy program":  {2, 0, 600, 150, 2 * time.Minute, 0},
	}, func(t *testing.T, test row) {
		g := ratelimit.New(api.RateWindow{Max: 200, Size: time.Minute}, api.RateWindow{Max: hour, Size: size})
		ctx, cancel := context.WithTimeout(t.Context(), 3*size)
		defer cancel()
		var mu sync.Mutex
		all := 0
		call := func(loop *ratelimit.Loop) (started time.Time) {
			c, err := g.Acquire(ratelimit.With(ctx, loop), forever, nil)
			if err != nil {
				return time.Time{}
			}
			time.Sleep(30 * time.Millisecond)
			g.Release(c)
			mu.Lock()
			defer mu.Unlock()
			if c.Started.After(deadline(ctx).Add(-size)) {
				all++
			}
			return c.Started
		}
		var working sync.WaitGroup
		follow := func(class ratelimit.Class, least int, longest time.Duration) {
			working.Go(func() {
				n, gap, last, loop := 0, time.Duration(0), time.Now(), newLoop(class)
				for at := call(loop); !at.IsZero(); at = call(loop) {
					gap, last = max(gap, at.Sub(last)), at
					if at.After(deadline(ctx).Add(-size)) {
						n++
					}
				}
				if n < least || longest > 0 && gap > longest {
					t.Errorf("class %d: %d calls in an hour, up to %s apart", class, n, gap)
				}
			})
		}
		for range test.woken {
			follow(ratelimit.Woken, test.calls, test.gap)
		}
		for range test.rest {
			follow(ratelimit.Rest, test.resting, 0)
		}
		for test.program > 0 && ctx.Err() == nil {
			start := time.Now()
			call(nil)
			if took := time.Since(start); took > 30*time.Second && ctx.Err() == nil {
				t.Errorf("a call of the program took %s", took)
			}
			time.Sleep(time.Until(start.Add(size / time.Duration(test.program))))
		}
		working.Wait()
		if all > hour || all < hour*95/100 {
			t.Errorf("%d calls in an hour", all)
		}
	})
}
