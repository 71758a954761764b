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

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/table"
)

func windowKinds() map[string]fastiotest.WindowKind {
	return map[string]fastiotest.WindowKind{
		"windows from the first call": fastiotest.FixedFromFirst,
		"windows by the clock":        fastiotest.FixedToClock,
		"sliding windows":             fastiotest.Sliding,
	}
}

func search(t *testing.T, client *fastio.Client, s *fastiotest.Server) error {
	t.Helper()
	_, err := client.Events.Search(t.Context(), events.Query{Profile: api.Org(s.Org().ID)})
	return err
}

// A program that calls without a pause for hours is never refused and uses the
// rate it has.
func TestHoursWithoutARefusal(t *testing.T) {
	t.Parallel()
	me := []string{"account.Me"} // an endpoint that is not held, with the windows of a long poll
	type loop struct {
		limits []fastiotest.Limit
		rate   float64 // calls an hour
		call   func(t *testing.T, client *fastio.Client, s *fastiotest.Server) error
	}
	table.Each(t, windowKinds(), func(t *testing.T, kind fastiotest.WindowKind) {
		table.Bubbles(t, map[string]loop{
			"searching": {nil, 720, search},
			"polling": {
				[]fastiotest.Limit{{Ops: me, Max: 200, Size: time.Minute}, {Ops: me, Max: 1000, Size: time.Hour}},
				1000,
				func(t *testing.T, client *fastio.Client, _ *fastiotest.Server) error {
					t.Helper()
					return client.Call(t.Context(), &api.Request{
						Op: "activity.Poll", Method: http.MethodGet, Path: api.Path("/current/user/me/details/"),
						Replay: api.ReplaySafe, Group: "activity.poll",
					}, nil)
				},
			},
		}, func(t *testing.T, loop loop) {
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
			if share := float64(calls) / (walkHours * loop.rate); share < 0.95 || s.Refusals() > 0 {
				t.Errorf("%d calls, %.1f %% of the rate; %d were refused", calls, 100*share, s.Refusals())
			}
		})
	})
}

// Summaries count against the windows of searches.
func TestSummariesShareTheRateOfSearches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		client := s.Client(t)
		for range 20 {
			_, err := client.Events.Summarize(t.Context(), events.Query{Profile: api.Org(s.Org().ID)}, "")
			if err := errors.Join(search(t, client, s), err); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.Refusals(); n > 0 {
			t.Errorf("%d calls were refused", n)
		}
	})
}

// A group of unknown windows is paced by its headers.
func TestHeadersTeachTheRate(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string]func(*fastiotest.Options){
		"in seconds":                          func(*fastiotest.Options) {},
		"as a date":                           func(o *fastiotest.Options) { o.Limits.DateExpires = true },
		"by its former names":                 func(o *fastiotest.Options) { o.Limits.LegacyHeaders = true },
		"by a clock that is ten minutes fast": func(o *fastiotest.Options) { o.ClockSkew = 10 * time.Minute },
		"by a clock that is ten minutes slow": func(o *fastiotest.Options) { o.ClockSkew = -10 * time.Minute },
	}, func(t *testing.T, change func(*fastiotest.Options)) {
		table.Bubbles(t, windowKinds(), func(t *testing.T, kind fastiotest.WindowKind) {
			const most, size, calls = 10, 10 * time.Second, 100
			s := fastiotest.New(change, func(o *fastiotest.Options) {
				o.Limits.Windows, o.Limits.Rules = kind, []fastiotest.Limit{{
					Ops: []string{"account.Me"}, Max: most,
					Size: size,
				}}
			})
			time.Sleep(3 * time.Second)
			client := s.Client(t)
			start := time.Now()
			for range calls {
				if _, err := client.Account.Me(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			// The end of a window is reported in whole seconds.
			ideal := (calls/most - 1) * size
			if took := time.Since(start); took > ideal+ideal/5 || s.Refusals() > 0 {
				t.Errorf("took %s, at best it is %s; %d were refused", took, ideal, s.Refusals())
			}
		})
	})
}

// Two programs with one key cannot know of each other. What one is refused for
// the other's sake it waits out, and tries as often as it is allowed to; now and
// then the other one is quicker each time.
func TestTwoClientsWithOneCredential(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, windowKinds(), func(t *testing.T, kind fastiotest.WindowKind) {
		s := fastiotest.New(func(o *fastiotest.Options) { o.Limits.Windows, o.Limits.BodyRetryAfter = kind, true })
		s.Fail(fastiotest.Fault{Delay: 50 * time.Millisecond})
		const calls = 100
		var wg sync.WaitGroup
		var unlucky atomic.Int64
		for range 2 {
			client := s.Client(t, fastio.WithMaxWait(-1), fastio.WithRetry(fastio.Retry{Attempts: 20}))
			wg.Go(func() {
				for range calls {
					if err := search(t, client, s); errors.Is(err, api.ErrRateLimited) {
						unlucky.Add(1)
					} else if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n := unlucky.Load(); n > calls/20 || s.Refusals() > calls/2 {
			t.Errorf("%d of %d calls gave up, with %d refusals", n, 2*calls, s.Refusals())
		}
	})
}

// The rate of one group is no other's. The sixth search waits, and a hook is told.
func TestGroupsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen record
		client := newClient(t, answers(ok()), seen.hooks())
		for range 5 {
			succeed(t, client, of("events.search"))
		}
		for i := range 100 {
			succeed(t, client, of(fmt.Sprint("group ", i%10)))
		}
		start := time.Now()
		succeed(t, client, of("events.search"))
		const wait = 3003 * time.Millisecond
		want := []api.Wait{{Op: "things.Get", Group: "events.search", Reason: api.WaitReasonPace, Wait: wait}}
		if diff := cmp.Diff(want, seen.waits); diff != "" || time.Since(start) != wait {
			t.Errorf("waited %s (-want +got)\n%s", time.Since(start), diff)
		}
	})
}

// A call without a group has one of its own.
func TestCallsWithoutAGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, answers(limited("600"), ok()))
		for range 2 {
			if err := client.Call(t.Context(), get(), nil); !errors.Is(err, api.ErrRateLimited) {
				t.Fatal(err)
			}
		}
		succeed(t, client, post())
	})
}
