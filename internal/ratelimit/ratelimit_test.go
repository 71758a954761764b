package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/table"
)

const (
	forever = time.Duration(-1) // a caller who waits however long the server wishes
	minute  = time.Minute
)

func TestPublishedRates(t *testing.T) {
	t.Parallel()
	for name, hourly := range map[string]int{"events.search": 720, "activity.poll": 1000, "another": 0} {
		var least int
		for _, w := range ratelimit.Known(name) {
			if n := w.Max * int(time.Hour/w.Size); least == 0 || n < least {
				least = n
			}
		}
		if least != hourly {
			t.Errorf("%s: %d calls an hour, want %d", name, least, hourly)
		}
	}
}

// Sixty searches take 96 s at best: four batches of 15, 30 s apart, and each
// batch in three bursts of 5, 3 s apart.
func TestWorkersFinishOnTime(t *testing.T) {
	t.Parallel()
	const (
		calls, workers = 60, 8
		latency        = 50 * time.Millisecond
		ideal          = 96*time.Second + latency
	)
	for _, k := range kinds() {
		for _, offset := range []time.Duration{
			0, time.Second, 2999 * time.Millisecond, 17 * time.Second,
			599 * time.Second,
		} {
			t.Run(fmt.Sprintf("windows %s, begun %s into one", k, offset), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(offset)
					g, s := ratelimit.New(ratelimit.Known("events.search")...), newServer(k,
						ratelimit.Known("events.search")...)
					var mu sync.Mutex
					var left atomic.Int64
					left.Store(calls)
					start := time.Now()
					var wg sync.WaitGroup
					for range workers {
						wg.Go(func() {
							for left.Add(-1) >= 0 {
								n := acquire(t, g)
								time.Sleep(latency / 2)
								mu.Lock()
								s.take()
								mu.Unlock()
								time.Sleep(latency / 2)
								g.Release(n)
							}
						})
					}
					wg.Wait()
					if s.refused > 0 || s.served != calls {
						t.Errorf("%d calls were served and %d refused, want %d and none", s.served, s.refused, calls)
					}
					if took := time.Since(start); took > ideal*101/100 {
						t.Errorf("took %s, at best it is %s", took, ideal)
					}
				})
			})
		}
	}
}

// Whatever the windows, the latencies and the number of callers: no refusal.
func TestNoScheduleOverfillsAWindow(t *testing.T) {
	t.Parallel()
	const rounds = 300
	for seed := range uint64(rounds) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			windows := make([]ratelimit.Window, 1+dice.IntN(3))
			for i := range windows {
				windows[i] = ratelimit.Window{
					Max:  1 + dice.IntN(12) + 20*i,
					Size: time.Duration(1+dice.IntN(40)) * time.Second,
				}
			}
			k := kinds()[dice.IntN(3)]
			time.Sleep(time.Duration(dice.IntN(60_000)) * time.Millisecond)
			g, s := ratelimit.New(windows...), newServer(k, windows...)
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range 1 + dice.IntN(10) {
				mine := rand.New(rand.NewPCG(dice.Uint64(), 2))
				wg.Go(func() {
					for range 10 {
						n := acquire(t, g)
						time.Sleep(time.Duration(mine.IntN(4000)) * time.Millisecond)
						mu.Lock()
						s.take()
						limit, remaining, reset := s.announce(mine.IntN(len(windows)))
						mu.Unlock()
						time.Sleep(time.Duration(mine.IntN(4000)) * time.Millisecond)
						g.Release(n)
						g.Observe(limit, remaining, reset)
					}
				})
			}
			wg.Wait()
			if s.refused > 0 {
				t.Fatalf("seed %d: %d of %d calls refused by %v %s", seed, s.refused, s.refused+s.served, windows, k)
			}
		})
	}
}

func TestFiftyCallersGetEqualShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(ratelimit.Window{Max: 20, Size: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Second)
		defer cancel()
		counts := make([]int, 50)
		var wg sync.WaitGroup
		for i := range counts {
			dice := rand.New(rand.NewPCG(uint64(i), 3))
			wg.Go(func() {
				for {
					n, err := g.Acquire(ctx, forever, nil)
					if err != nil {
						return
					}
					time.Sleep(time.Duration(10+dice.IntN(50)) * time.Millisecond)
					g.Release(n)
					counts[i]++
				}
			})
		}
		wg.Wait()
		least, most := slices.Min(counts), slices.Max(counts)
		if float64(most) > 1.2*float64(least) {
			t.Errorf("one caller left %d times, another %d times", most, least)
		}
		t.Logf("each left %d to %d times", least, most)
	})
}

func TestCallersLeaveInTheOrderTheyCame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(ratelimit.Window{Max: 1, Size: time.Second})
		var mu sync.Mutex
		var left []int
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				n := acquire(t, g)
				defer g.Release(n)
				mu.Lock()
				defer mu.Unlock()
				left = append(left, i)
			})
			synctest.Wait()
		}
		wg.Wait()
		if !slices.IsSorted(left) {
			t.Errorf("left in the order %v", left)
		}
	})
}

// A group nobody has published windows of is held to what the headers tell.
func TestUnknownWindowsAreLearned(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(13 * time.Second) // a window of the clock's is known by its rest at first
				window := ratelimit.Window{Max: 50, Size: 10 * time.Second}
				g, s := ratelimit.New(), newServer(k, window)
				start := time.Now()
				const calls = 1000
				for range calls {
					n := acquire(t, g)
					time.Sleep(80 * time.Millisecond)
					s.take()
					g.Release(n)
					g.Observe(s.announce(0))
				}
				if s.refused > 0 {
					t.Errorf("%d calls were refused", s.refused)
				}
				ideal := time.Duration(calls/window.Max-1) * window.Size
				if took := time.Since(start); took > ideal*106/100 {
					t.Errorf("took %s, at best it is %s", took, ideal)
				}
			})
		})
	}
}

// Two clients with one credential cannot count each other's calls, but the
// headers tell how much of a window is gone.
func TestOthersWithTheSameCredential(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		window := ratelimit.Window{Max: 10, Size: 10 * time.Second}
		g, s := ratelimit.New(window), newServer(fromFirst, window)
		for range 8 {
			s.take()
		}
		reset := time.Now().Add(window.Size)
		for range 2 {
			n := acquire(t, g)
			s.take()
			g.Release(n)
			g.Observe(s.announce(0))
		}
		n := acquire(t, g)
		if time.Now().Before(reset) {
			t.Error("a call left while the others had used up the window")
		}
		if !s.take() {
			t.Error("the call was refused")
		}
		g.Release(n)
	})
}

func TestAnOutdatedAnnouncementIsHarmless(t *testing.T) {
	t.Parallel()
	type row struct {
		limit, remaining int
		in               time.Duration
	}
	table.Bubbles(t, map[string]row{
		"no limit":                      {0, 0, minute},
		"a negative limit":              {-1, 0, minute},
		"a window that has ended":       {10, 0, -time.Second},
		"more left than the limit":      {10, 99, minute},
		"a limit too large to remember": {1 << 30, 1 << 29, minute},
	}, func(t *testing.T, test row) {
		g := ratelimit.New()
		start := time.Now()
		g.Observe(test.limit, test.remaining, start.Add(test.in))
		g.Release(acquire(t, g))
		if waited := time.Since(start); waited > 0 {
			t.Errorf("the next call waited %s", waited)
		}
	})
}

// The windows outlive any announcement that claims more room than they have.
func TestKnownWindowsAreNotTalkedAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(ratelimit.Window{Max: 5, Size: 3 * time.Second})
		start := time.Now()
		for range 6 {
			g.Release(acquire(t, g))
			g.Observe(1000, 999, time.Now().Add(time.Hour))
		}
		if waited := time.Since(start); waited < 3*time.Second {
			t.Errorf("six calls left within %s", waited)
		}
	})
}

func TestCancelledCallersLeaveTheQueue(t *testing.T) {
	t.Parallel()
	tests := map[string]int{"the first in line": 0, "one in the middle": 2, "the last in line": 4}
	for name, who := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := ratelimit.New(ratelimit.Window{Max: 1, Size: minute})
				g.Release(acquire(t, g))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				start := time.Now()
				left := make([]time.Duration, 5)
				var wg sync.WaitGroup
				for i := range left {
					wg.Go(func() {
						own := ctx
						if i != who {
							own = context.WithoutCancel(ctx)
						}
						n, err := g.Acquire(own, forever, nil)
						left[i] = time.Since(start)
						if i == who {
							if !errors.Is(err, context.Canceled) {
								t.Errorf("caller %d: %v", i, err)
							}
							return
						}
						if err != nil {
							t.Errorf("caller %d: %v", i, err)
							return
						}
						g.Release(n)
					})
					synctest.Wait()
				}
				time.Sleep(time.Second)
				cancel()
				wg.Wait()
				if left[who] != time.Second {
					t.Errorf("the cancelled caller left after %s", left[who])
				}
				turn := 0
				for i, at := range left {
					if i == who {
						continue
					}
					turn++
					if want := time.Duration(turn) * (minute + minute/1000); at != want {
						t.Errorf("caller %d left after %s, want %s", i, at, want)
					}
				}
			})
		})
	}
}

// A place must not be spent on a call that cannot go on anyway.
func TestACancelledCallTakesNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(ratelimit.Window{Max: 1, Size: minute})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 { // a select that finds both ready takes either
			if _, err := g.Acquire(ctx, forever, nil); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
		}
		start := time.Now()
		g.Release(acquire(t, g))
		if waited := time.Since(start); waited > 0 {
			t.Errorf("a live call waited %s", waited)
		}
	})
}

// A wait that is too long is not begun, and its cause is known.
func TestWaits(t *testing.T) {
	t.Parallel()
	type row struct {
		close   time.Duration // by the server; 0 leaves the group to its window
		maxWait time.Duration
		timeout time.Duration // of the caller; 0 is none
		want    error         // at once, or nil after took
		took    time.Duration
	}
	const late = minute + minute/1000
	table.Bubbles(t, map[string]row{
		"longer than the caller will wait":         {2 * minute, minute, 0, ratelimit.ErrClosed, 0},
		"longer than the caller's time":            {2 * minute, forever, minute, context.DeadlineExceeded, 0},
		"longer than the caller's time, its cause": {2 * minute, forever, minute, ratelimit.ErrClosed, 0},
		"longer than both":                         {2 * minute, minute, minute, context.DeadlineExceeded, 0},
		"a window that ends after the time":        {0, 0, time.Second, context.DeadlineExceeded, 0},
		"exactly what the caller will wait":        {2 * minute, 2 * minute, 0, nil, 2 * minute},
		"any when the bound is negative":           {time.Hour, forever, 0, nil, time.Hour},
		"a window, whatever the bound":             {0, time.Nanosecond, 0, nil, late},
	}, func(t *testing.T, test row) {
		g := ratelimit.New(ratelimit.Window{Max: 1, Size: minute})
		g.Release(acquire(t, g))
		if test.close > 0 {
			g.Close(time.Now().Add(test.close))
		}
		ctx := t.Context()
		if test.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, test.timeout)
			defer cancel()
		}
		start := time.Now()
		n, err := g.Acquire(ctx, test.maxWait, nil)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || time.Since(start) != test.took {
			t.Errorf("got %v after %s, want %v after %s", err, time.Since(start), test.want, test.took)
		}
		if err == nil {
			g.Release(n)
		}
	})
}

// One caller may be ready to wait for an hour. The others must hear at once
// that it takes as long.
func TestAPatientCallerDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, g *ratelimit.Group){
		"who come while the group is closed": func(*testing.T, *ratelimit.Group) {},
		"who stood in line when it closed": func(t *testing.T, g *ratelimit.Group) {
			t.Helper()
			synctest.Wait()
			g.Close(time.Now().Add(time.Hour))
		},
	}
	for name, then := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := ratelimit.New(ratelimit.Window{Max: 1, Size: minute})
				if name == "who come while the group is closed" {
					g.Close(time.Now().Add(time.Hour))
				} else {
					g.Release(acquire(t, g))
				}
				start := time.Now()
				var wg sync.WaitGroup
				wg.Go(func() {
					n, err := g.Acquire(t.Context(), forever, nil)
					if err != nil {
						t.Error(err)
						return
					}
					g.Release(n)
					if waited := time.Since(start); waited != time.Hour {
						t.Errorf("the patient caller left after %s", waited)
					}
				})
				synctest.Wait()
				for _, timeout := range []time.Duration{0, 2 * minute} {
					wg.Go(func() {
						ctx := t.Context()
						want := ratelimit.ErrClosed
						if timeout > 0 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, timeout)
							defer cancel()
							want = context.DeadlineExceeded
						}
						if _, err := g.Acquire(ctx, minute, nil); !errors.Is(err, want) {
							t.Errorf("got %v, want %v", err, want)
						}
						if waited := time.Since(start); waited > 0 {
							t.Errorf("an impatient caller was told after %s", waited)
						}
					})
				}
				then(t, g)
				wg.Wait()
			})
		})
	}
}

// An announcement that others have used up a window reaches callers in the queue.
// Who is ready to wait for long does so for a minute: it may be wrong.
func TestAnnouncementReachesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(ratelimit.Window{Max: 1, Size: 10 * time.Second})
		g.Release(acquire(t, g))
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			g.Release(acquire(t, g))
			if waited := time.Since(start); waited != minute {
				t.Errorf("the patient caller left after %s", waited)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if _, err := g.Acquire(t.Context(), minute, nil); !errors.Is(err, ratelimit.ErrClosed) ||
				time.Since(start) > 0 {
				t.Errorf("got %v after %s", err, time.Since(start))
			}
		})
		synctest.Wait()
		g.Observe(5, 0, start.Add(time.Hour))
		if limit, until := g.Full(); limit != 5 || !until.Equal(start.Add(time.Hour)) {
			t.Errorf("limit %d until %s", limit, until)
		}
		wg.Wait()
	})
}

func TestCloseNeverShortensAClosure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New()
		start := time.Now()
		g.Close(start.Add(minute))
		g.Close(start.Add(time.Second))
		g.Close(start.Add(-time.Hour))
		g.Release(acquire(t, g))
		if waited := time.Since(start); waited != minute {
			t.Errorf("waited %s, want a minute", waited)
		}
	})
}

// Who waits is told once, how long and for whom.
func TestWaiting(t *testing.T) {
	t.Parallel()
	type told struct {
		Wait    time.Duration
		Ordered bool
	}
	type row struct {
		close time.Duration
		want  []told
	}
	table.Bubbles(t, map[string]row{
		"the pace":               {0, []told{{minute + minute/1000, false}}},
		"the server":             {2 * minute, []told{{2 * minute, true}}},
		"whichever takes longer": {time.Second, []told{{minute + minute/1000, false}}},
	}, func(t *testing.T, test row) {
		g := ratelimit.New(ratelimit.Window{Max: 1, Size: minute})
		start := time.Now()
		g.Release(acquire(t, g))
		if test.close > 0 {
			g.Close(start.Add(test.close))
		}
		var got []told
		n, err := g.Acquire(t.Context(), forever, func(wait time.Duration, ordered bool) {
			got = append(got, told{wait, ordered})
			time.Sleep(10 * time.Second) // a slow listener delays nobody
		})
		if err != nil {
			t.Fatal(err)
		}
		g.Release(n)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if waited := time.Since(start); waited != test.want[0].Wait {
			t.Errorf("waited %s, want %s", waited, test.want[0].Wait)
		}
	})
}

// A call under way holds its place until it is answered, however long it takes.
func TestACallUnderWayHoldsItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := ratelimit.New(ratelimit.Window{Max: 1, Size: time.Second})
		n := acquire(t, g)
		start := time.Now()
		time.AfterFunc(time.Hour, func() { g.Release(n) })
		g.Release(acquire(t, g))
		if waited, want := time.Since(start), time.Hour+time.Second+time.Millisecond; waited != want {
			t.Errorf("the next call left after %s, want %s", waited, want)
		}
	})
}

//nolint:paralleltest // AllocsPerRun counts what the whole process allocates
func TestRoomCostsNoMemory(t *testing.T) {
	g := ratelimit.New(ratelimit.Window{Max: 4000, Size: time.Nanosecond},
		ratelimit.Window{Max: 2000, Size: time.Nanosecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reset := time.Now().Add(minute)
	allocs := testing.AllocsPerRun(1000, func() {
		n, err := g.Acquire(ctx, minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		g.Release(n)
		g.Observe(4000, 3000, reset)
	})
	if allocs > 0 {
		t.Errorf("%v allocations a call", allocs)
	}
}

func BenchmarkGroup(b *testing.B) {
	g := ratelimit.New(ratelimit.Window{Max: 4000, Size: time.Nanosecond})
	ctx := b.Context()
	reset := time.Now().Add(minute)
	b.ReportAllocs()
	for b.Loop() {
		n, err := g.Acquire(ctx, minute, nil)
		if err != nil {
			b.Fatal(err)
		}
		g.Release(n)
		g.Observe(4000, 3000, reset)
	}
}

func acquire(t *testing.T, g *ratelimit.Group) uint64 {
	t.Helper()
	n, err := g.Acquire(t.Context(), forever, nil)
	if err != nil {
		t.Error(err)
	}
	return n
}
