package transport_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

func windowKinds() map[string]fastiotest.WindowKind {
	return map[string]fastiotest.WindowKind{
		"windows from the first call": fastiotest.FixedFromFirst,
		"windows by the clock":        fastiotest.FixedToClock,
		"sliding windows":             fastiotest.Sliding,
	}
}

// pollLimits are the windows of a long poll, for an endpoint that is not held.
func pollLimits() []fastiotest.Limit {
	ops := []string{"account.Me"}
	return []fastiotest.Limit{{Ops: ops, Max: 200, Size: time.Minute}, {Ops: ops, Max: 1000, Size: time.Hour}}
}

func poll(t *testing.T, client *fastio.Client) error {
	t.Helper()
	return client.Call(t.Context(), &api.Request{
		Op: "activity.Poll", Method: http.MethodGet, Path: api.Path("/current/user/me/details/"),
		Replay: api.ReplaySafe, Group: "activity.poll",
	}, nil)
}

// A program that calls without a pause for hours is never refused and uses the
// rate it has.
func TestHoursWithoutARefusal(t *testing.T) {
	t.Parallel()
	for name, kind := range windowKinds() {
		for _, loop := range []struct {
			name   string
			limits []fastiotest.Limit
			rate   float64 // calls an hour
			call   func(t *testing.T, client *fastio.Client, s *fastiotest.Server) error
		}{
			{"searching", nil, 720, func(t *testing.T, client *fastio.Client, s *fastiotest.Server) error {
				t.Helper()
				_, err := client.Events.Search(t.Context(), events.Query{Profile: api.Org(s.Org().ID)})
				return err
			}},
			{"polling", pollLimits(), 1000, func(t *testing.T, client *fastio.Client, _ *fastiotest.Server) error {
				t.Helper()
				return poll(t, client)
			}},
		} {
			t.Run(loop.name+" against "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := fastiotest.New(func(o *fastiotest.Options) { o.Limits.Windows, o.Limits.Rules = kind, loop.limits })
					s.Fail(fastiotest.Fault{Delay: 80 * time.Millisecond})
					time.Sleep(1234567 * time.Microsecond)
					client := s.Client(t)
					calls := 0
					for start := time.Now(); time.Since(start) < walkHours*time.Hour; calls++ {
						if err := loop.call(t, client, s); err != nil {
							t.Fatal(err)
						}
					}
					if n := s.Refusals(); n > 0 {
						t.Errorf("%d calls were refused", n)
					}
					share := float64(calls) / (walkHours * loop.rate)
					if share < 0.95 {
						t.Errorf("%d calls, %.1f %% of the rate", calls, 100*share)
					}
					t.Logf("%d calls, %.2f %% of the rate", calls, 100*share)
				})
			})
		}
	}
}

// Many goroutines share one rate. Sixty searches take 96 s at best.
func TestWorkersShareTheRate(t *testing.T) {
	t.Parallel()
	const (
		calls, workers = 60, 8
		latency        = 50 * time.Millisecond
		ideal          = 96*time.Second + latency
	)
	for name, kind := range windowKinds() {
		for _, offset := range []time.Duration{0, 1500 * time.Millisecond, 29 * time.Second, 599 * time.Second} {
			t.Run(fmt.Sprintf("%s, %s after one began", name, offset), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := fastiotest.New(func(o *fastiotest.Options) { o.Limits.Windows = kind })
					s.Fail(fastiotest.Fault{Delay: latency})
					time.Sleep(offset)
					client := s.Client(t)
					start := time.Now()
					var left atomic.Int64
					left.Store(calls)
					var wg sync.WaitGroup
					for range workers {
						wg.Go(func() {
							for left.Add(-1) >= 0 {
								if _, err := client.Events.Search(t.Context(), events.Query{Profile: api.Org(s.Org().ID)}); err != nil {
									t.Error(err)
								}
							}
						})
					}
					wg.Wait()
					took := time.Since(start)
					if took > ideal*101/100 || s.Refusals() > 0 {
						t.Errorf("took %s, at best it is %s; %d refusals", took, ideal, s.Refusals())
					}
					t.Logf("took %.4f of the ideal", float64(took)/float64(ideal))
				})
			})
		}
	}
}

// Summaries count against the windows of searches.
func TestSummariesShareTheRateOfSearches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		client := s.Client(t)
		for range 20 {
			if _, err := client.Events.Search(t.Context(), events.Query{Profile: api.Org(s.Org().ID)}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Events.Summarize(t.Context(), events.Query{Profile: api.Org(s.Org().ID)}, ""); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.Refusals(); n > 0 {
			t.Errorf("%d calls were refused", n)
		}
	})
}

// A group nobody has told the client about is paced by its headers.
func TestHeadersTeachTheRate(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*fastiotest.Options){
		"in seconds":                          func(*fastiotest.Options) {},
		"as a date":                           func(o *fastiotest.Options) { o.Limits.DateExpires = true },
		"by its former names":                 func(o *fastiotest.Options) { o.Limits.LegacyHeaders = true },
		"by a clock that is ten minutes fast": func(o *fastiotest.Options) { o.ClockSkew = 10 * time.Minute },
		"by a clock that is ten minutes slow": func(o *fastiotest.Options) { o.ClockSkew = -10 * time.Minute },
	}
	for how, change := range changes {
		for name, kind := range windowKinds() {
			t.Run(how+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					const most, size, calls = 10, 10 * time.Second, 100
					s := fastiotest.New(change, func(o *fastiotest.Options) {
						o.Limits.Windows, o.Limits.Rules = kind, []fastiotest.Limit{{Ops: []string{"account.Me"}, Max: most, Size: size}}
					})
					time.Sleep(3 * time.Second)
					client := s.Client(t)
					start := time.Now()
					for range calls {
						if _, err := client.Account.Me(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					if n := s.Refusals(); n > 0 {
						t.Errorf("%d calls were refused", n)
					}
					// The end of a window is told in whole seconds.
					ideal := (calls/most - 1) * size
					if took := time.Since(start); took > ideal+ideal/5 {
						t.Errorf("took %s, at best it is %s", took, ideal)
					}
				})
			})
		}
	}
}

// Two programs with one key cannot know of each other. What one is refused for
// the other's sake it waits out, and tries as often as it is allowed to; now and
// then the other one is quicker each time.
func TestTwoClientsWithOneCredential(t *testing.T) {
	t.Parallel()
	for name, kind := range windowKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := fastiotest.New(func(o *fastiotest.Options) { o.Limits.Windows, o.Limits.BodyRetryAfter = kind, true })
				s.Fail(fastiotest.Fault{Delay: 50 * time.Millisecond})
				const calls = 100
				start := time.Now()
				var wg sync.WaitGroup
				var unlucky atomic.Int64
				for range 2 {
					client := s.Client(t, fastio.WithMaxWait(-1), fastio.WithRetry(fastio.Retry{Attempts: 20}))
					wg.Go(func() {
						for range calls {
							_, err := client.Events.Search(t.Context(), events.Query{Profile: api.Org(s.Org().ID)})
							if errors.Is(err, api.ErrRateLimited) {
								unlucky.Add(1)
							} else if err != nil {
								t.Error(err)
							}
						}
					})
				}
				wg.Wait()
				if n := unlucky.Load(); n > calls/20 {
					t.Errorf("%d calls gave up", n)
				}
				t.Logf("%d calls in %s, %d refusals", 2*calls, time.Since(start), s.Refusals())
				if n := s.Refusals(); n > calls/2 {
					t.Errorf("%d refusals for %d calls", n, 2*calls)
				}
			})
		})
	}
}

// The rate of one group is no other's.
func TestGroupsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		road := newRoad(t, through(answers(ok())))
		start := time.Now()
		for range 5 {
			if err := road.Call(t.Context(), of("events.search"), nil); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 100 {
			if err := road.Call(t.Context(), of(fmt.Sprint("group ", i%10)), nil); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("waited %s", waited)
		}
		if err := road.Call(t.Context(), of("events.search"), nil); err != nil || time.Since(start) < 3*time.Second {
			t.Errorf("the sixth search left after %s: %v", time.Since(start), err)
		}
	})
}

// A call without a group has one of its own.
func TestCallsWithoutAGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		road := newRoad(t, through(answers(limited("600"), ok())))
		if err := road.Call(t.Context(), get(), nil); !errors.Is(err, api.ErrRateLimited) {
			t.Fatal(err)
		}
		if err := road.Call(t.Context(), get(), nil); !errors.Is(err, api.ErrRateLimited) {
			t.Errorf("the same call: %v", err)
		}
		if err := road.Call(t.Context(), post(), nil); err != nil {
			t.Errorf("another call: %v", err)
		}
	})
}
