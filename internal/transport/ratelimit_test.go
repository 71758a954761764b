package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
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
	"github.com/fastio-go/fastio/internal/table"
)

func windowKinds() map[string]seed.WindowKind {
	return map[string]seed.WindowKind{
		"windows from the first call": seed.FixedFromFirst,
		"windows by the clock":        seed.FixedToClock,
		"sliding windows":             seed.Sliding,
	}
}

func search(t *testing.T, client *fastio.Client, s *fastiotest.Server) error {
	t.Helper()
	_, err := client.Events.Search(t.Context(), events.Query{Profile: api.Org(api.ID(s.Org().ID))})
	return err
}

// A program that calls without a pause for hours is never refused and uses the
// rate it has.
func TestHoursWithoutARefusal(t *testing.T) {
	t.Parallel()
	me := []seed.Op{"account.Me"} // an endpoint that is not held, with the windows of a long poll
	type loop struct {
		limits []seed.Limit
		rate   float64 // calls an hour
		call   func(t *testing.T, client *fastio.Client, s *fastiotest.Server) error
	}
	table.Each(t, windowKinds(), func(t *testing.T, kind seed.WindowKind) {
		table.Bubbles(t, map[string]loop{
			"searching": {nil, 720, search},
			"polling": {
				[]seed.Limit{{Ops: me, Max: 200, Size: time.Minute}, {Ops: me, Max: 1000, Size: time.Hour}},
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
			s := fastiotest.New(func(o *seed.Options) { o.Limits.Windows, o.Limits.Rules = kind, loop.limits })
			s.Fail(seed.Fault{Delay: 80 * time.Millisecond})
			time.Sleep(1234567 * time.Microsecond)
			client := s.Client(t)
			calls := 0
			hours := table.Rounds(3, 7*24)
			for start := time.Now(); time.Since(start) < time.Duration(hours)*time.Hour; calls++ {
				if err := loop.call(t, client, s); err != nil {
					t.Fatal(err)
				}
			}
			if share := float64(calls) / (float64(hours) * loop.rate); share < 0.95 || s.Refusals() > 0 {
				t.Errorf("%d calls, %.1f %% of the rate; %d were refused", calls, 100*share, s.Refusals())
			}
		})
	})
}

func TestSummariesShareTheRateOfSearches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		client := s.Client(t)
		for range 20 {
			_, err := client.Events.Summarize(t.Context(), events.Query{Profile: api.Org(api.ID(s.Org().ID))}, "")
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
	table.Each(t, map[string]func(*seed.Options){
		"in seconds":                          func(*seed.Options) {},
		"as a date":                           func(o *seed.Options) { o.Limits.DateExpires = true },
		"by its former names":                 func(o *seed.Options) { o.Limits.LegacyHeaders = true },
		"by a clock that is ten minutes fast": func(o *seed.Options) { o.ClockSkew = 10 * time.Minute },
		"by a clock that is ten minutes slow": func(o *seed.Options) { o.ClockSkew = -10 * time.Minute },
	}, func(t *testing.T, change func(*seed.Options)) {
		table.Bubbles(t, windowKinds(), func(t *testing.T, kind seed.WindowKind) {
			const most, size, calls = 10, 10 * time.Second, 100
			s := fastiotest.New(change, func(o *seed.Options) {
				o.Limits.Windows = kind
				o.Limits.Rules = []seed.Limit{{Ops: []seed.Op{"account.Me"}, Max: most, Size: size}}
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

// Several programs with one key cannot know of each other. Those that wait for as long as
// the server requires lose no call, however often they are refused.
func TestSeveralClientsWithOneCredential(t *testing.T) {
	t.Parallel()
	for _, clients := range []int{2, 8} {
		table.Bubbles(t, windowKinds(), func(t *testing.T, kind seed.WindowKind) {
			s := fastiotest.New(func(o *seed.Options) {
				o.Limits.Windows, o.Limits.BodyRetryAfter, o.Limits.CountRefused = kind, true, clients == 8
			})
			s.Fail(seed.Fault{Delay: 50 * time.Millisecond})
			var wg sync.WaitGroup
			for range clients {
				client := s.Client(t, fastio.WithMaxWait(api.NoLimit))
				wg.Go(func() {
					for range 200 / clients {
						if err := search(t, client, s); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if n := s.Refusals(); n < clients || n > 200 {
				t.Errorf("%d refusals", n)
			}
		})
	}
}

// Rate groups are independent. The sixth search waits, and a hook is called.
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
		want := []api.WaitEvent{{Op: "things.Get", Group: "events.search", Reason: api.WaitReasonPace, Wait: wait}}
		if diff := cmp.Diff(want, seen.waits); diff != "" || time.Since(start) != wait {
			t.Errorf("waited %s (-want +got)\n%s", time.Since(start), diff)
		}
	})
}

// windowed is a server of a fixed window whose answer number odd, counted from 1,
// has a Date of the past or the future.
type windowed struct {
	most, used, answers, refusals, odd int
	size, slip                         time.Duration
	began                              time.Time
}

func (s *windowed) RoundTrip(r *http.Request) (*http.Response, error) {
	now := time.Now()
	if now.Sub(s.began) >= s.size {
		s.began, s.used = now, 0
	}
	a, shown := ok(), now
	s.used++
	if s.used > s.most {
		s.refusals++
		a = status(429)
	}
	s.answers++
	if s.answers == s.odd {
		shown = now.Add(s.slip)
	}
	a.header = []string{
		"X-Ve-Limit-Max", strconv.Itoa(s.most), "X-Ve-Limit-Avail", strconv.Itoa(max(0, s.most-s.used)),
		"X-Ve-Limit-Expires", epoch(s.began.Add(s.size).Add(time.Second - 1)), "Date", date(shown),
	}
	time.Sleep(10 * time.Millisecond)
	return a.response(r)
}

// One answer with a wrong Date does not slow down its group for longer than a
// call is ready to wait, and costs no calls but the one that it refuses.
func TestOneWrongDateDoesNotThrottle(t *testing.T) {
	t.Parallel()
	for most, slips := range map[int][]time.Duration{
		5: {-time.Hour, -time.Minute, -20 * time.Second, time.Hour},
		1: {-time.Hour, -time.Minute, time.Hour}, // a slightly longer one is indistinguishable
	} {
		for _, slip := range slips {
			for odd := range 9 { // 0 is none
				synctest.Test(t, func(t *testing.T) {
					s := &windowed{most: most, size: 5 * time.Second, odd: odd, slip: slip}
					client := newClient(t, s)
					const calls = 300
					start := time.Now()
					for range calls {
						succeed(t, client, get())
					}
					ideal := calls / time.Duration(most) * s.size
					if took := time.Since(start); took > ideal*125/100+time.Minute || s.refusals > 1 {
						t.Errorf("limit %d, Date of answer %d is wrong by %s: took %s, at best %s; %d were refused",
							most, odd, slip, took, ideal, s.refusals)
					}
				})
			}
		}
	}
}

func TestRefusalWithAWrongDate(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]time.Duration{"past": -time.Hour, "future": time.Hour},
		func(t *testing.T, slip time.Duration) {
			now := time.Now()
			window := []string{
				"X-Ve-Limit-Max", "5", "X-Ve-Limit-Avail", "1", "X-Ve-Limit-Expires", epoch(now.Add(20 * time.Second)),
			}
			wrong := append([]string{"Date", date(now.Add(slip))}, window...)
			client := newClient(t, answers(reply(200, `{"result":true}`, window...), status(429, wrong...), ok()))
			succeed(t, client, get())
			succeed(t, client, get())
			if waited := time.Since(now); waited < 20*time.Second || waited > 21*time.Second {
				t.Errorf("waited %s", waited)
			}
		})
}

// An answer that leaves no calls and a long time until there are more is no reason
// to wait in silence: a call that may not wait for so long fails at once. It may
// also be wrong: after a minute a call is sent to see.
func TestUsedUpWindowIsAnError(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string]int{"success": 200, "failure": 503}, func(t *testing.T, code int) {
		table.Bubbles(t, map[string]time.Duration{
			"a minute": time.Minute + 2*time.Second, "an hour": time.Hour, "two hours": 2 * time.Hour,
		}, func(t *testing.T, far time.Duration) {
			start := time.Now()
			client := newClient(t, answers(status(code, "X-Ve-Limit-Max", "5", "X-Ve-Limit-Avail", "0",
				"X-Ve-Limit-Expires", epoch(start.Add(far))), ok()))
			_ = client.Call(t.Context(), get(), nil, api.WithAttempts(1))
			err := client.Call(t.Context(), get(), nil)
			e := refused(err)
			if !errors.Is(err, api.ErrRateLimited) || e.Attempts != 0 || e.Rate.RetryAfter != far ||
				e.Op != "things.Get" || time.Since(start) > 0 {
				t.Fatalf("got %#v after %s", err, time.Since(start))
			}
			time.Sleep(time.Minute)
			succeed(t, client, get())
			if time.Since(start) > time.Minute {
				t.Errorf("a call was sent after %s", time.Since(start))
			}
		})
	})
}

// Announced windows are converted to the local clock, in every format and under every
// name. Invalid values are ignored.
func TestRateHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now() // midnight of the first of January 2000
		skewed := now.Add(5 * time.Minute)
		in7 := now.Add(7 * time.Second)
		fast := skewed.Add(7 * time.Second)
		whole := api.RateLimit{Limit: 5, Remaining: 3, Reset: in7}
		partial := api.RateLimit{Limit: 5, Remaining: 3}
		const avail, most, expires = "x-ve-limit-avail", "x-ve-limit-max", "x-ve-limit-expires"
		const availOld, mostOld, expiresOld = "X-Rate-Limit-Available", "X-Rate-Limit-Max", "X-Rate-Limit-Expiry"
		window := func(end string, more ...string) []string {
			return append([]string{avail, "3", most, "5", expires, end}, more...)
		}
		for name, tc := range map[string]struct {
			header []string
			want   api.RateLimit
		}{
			"nothing":                {nil, api.RateLimit{}},
			"all three":              {window(epoch(in7)), whole},
			"a clock that runs fast": {window(epoch(fast), "Date", date(skewed)), whole},
			"a date for an expiry":   {window(stamp(fast), "Date", date(skewed)), whole},
			"the old names":          {[]string{availOld, "3", mostOld, "5", expiresOld, epoch(in7)}, whole},
			"both names": {
				window(epoch(in7), availOld, "1", mostOld, "50", expiresOld, epoch(now.Add(time.Hour))), whole,
			},
			"blanks around":                 {[]string{avail, " 3 ", most, " 5 ", expires, " " + epoch(in7) + " "}, whole},
			"no expiry":                     {[]string{avail, "3", most, "5"}, partial},
			"an expiry at this moment":      {window(epoch(now)), partial},
			"an expiry that has passed":     {window(epoch(now.Add(-time.Second))), partial},
			"an expiry beyond every window": {window(epoch(now.Add(3 * time.Hour))), partial},
			"an expiry beyond all numbers":  {window("9223372036854775807"), partial},
			"an expiry in words":            {window("soon"), partial},
			"a debt":                        {[]string{avail, "-2", most, "5"}, api.RateLimit{Limit: 5}},
			"no number of calls left":       {[]string{most, "5"}, api.RateLimit{}},
			"no cap":                        {[]string{avail, "3"}, api.RateLimit{}},
			"a cap of none":                 {[]string{avail, "3", most, "0"}, api.RateLimit{}},
			"a cap in words":                {[]string{avail, "3", most, "many"}, api.RateLimit{}},
		} {
			var raw api.Response
			if err := clientOf(t, answering(200, `{"result":true}`, tc.header...)).Call(t.Context(), get(),
				nil, api.WithResponse(&raw)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if diff := cmp.Diff(tc.want, raw.Rate); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// Headers are hints: none can break a call or ask for a wait beyond reason.
func FuzzHeaders(f *testing.F) {
	f.Add("3", "5", "1767607203", "9", "Mon, 05 Jan 2026 10:00:00 GMT")
	f.Add("-1", "99999999999999999999", "2026-01-05 10:00:07 UTC", "Mon, 05 Jan 2026 10:00:00 GMT", "yesterday")
	f.Add("", "4097", "-9223372036854775808", "1e308", "")
	f.Fuzz(func(t *testing.T, avail, most, expires, after, date string) {
		header := http.Header{
			"X-Ve-Limit-Avail": {avail}, "X-Ve-Limit-Max": {most}, "X-Ve-Limit-Expires": {expires},
			"Retry-After": {after}, "Date": {date},
		}
		for _, status := range []int{200, 429, 503} {
			c := clientOf(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				resp, err := reply(status, `{"result":true}`).response(r)
				resp.Header = header.Clone()
				return resp, err
			}))
			var raw api.Response
			err := c.Call(t.Context(), get(), nil, api.WithResponse(&raw))
			if e := refused(err); (e.Status == status) != (status != 200) || e.Rate.RetryAfter < 0 ||
				e.Rate.RetryAfter > 367*24*time.Hour {
				t.Errorf("%d ends with %v, %+v", status, err, e)
			}
			if r := raw.Rate; r.Limit < 0 || r.Remaining < 0 || time.Until(r.Reset) > 2*time.Hour {
				t.Errorf("the window is %+v", r)
			}
		}
	})
}

func TestPanicReleasesTheRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots = 5
		left := slots
		client := newClient(t, answers(ok()), tokens(&source{token: func(context.Context) (api.Token, error) {
			left--
			if left >= 0 {
				panic("out of tokens")
			}
			return token("fine"), nil
		}}))
		search := func() (err error) {
			defer func() { _ = recover() }()
			return client.Call(t.Context(), of("events.search"), nil, api.WithTimeout(time.Minute))
		}
		for range slots {
			_ = search()
		}
		if err := search(); err != nil || left >= 0 {
			t.Errorf("%v, %d panics left", err, left)
		}
	})
}

func TestRetryAfterOutlivesLaterHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		full := reply(200, `{"result":true}`, "X-Ve-Limit-Max", "60", "X-Ve-Limit-Avail", "0",
			"X-Ve-Limit-Expires", epoch(time.Now().Add(33*time.Second)))
		client := newClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			n++
			if n == 1 { // arrives after the refusal
				time.Sleep(time.Second)
				return full.response(r)
			}
			return status(429, "Retry-After", "30").response(r)
		}), maxWait(5*time.Second))
		var slow sync.WaitGroup
		slow.Go(func() { _ = client.Call(t.Context(), get(), nil) })
		synctest.Wait()
		_ = client.Call(t.Context(), get(), nil)
		slow.Wait()
		start := time.Now()
		err := client.Call(t.Context(), get(), nil)
		if took := time.Since(start); !errors.Is(err, api.ErrRateLimited) || took > 0 {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// A refusal costs the pace of a group, and ends a call, unless it names a time from which
// on calls are accepted.
func TestRefusalsWithoutATimeArePaced(t *testing.T) {
	t.Parallel()
	type row struct {
		code   int
		header []string
		most   int // requests in ten minutes, one call after the other
	}
	table.Bubbles(t, map[string]row{
		"without a time":        {1671, []string{"X-Ve-Limit-Max", "120", "X-Ve-Limit-Avail", "100"}, 125},
		"of a call in progress": {145858, []string{"X-Ve-Limit-Max", "120", "X-Ve-Limit-Avail", "100"}, 125},
		"for a millisecond":     {1671, []string{"Retry-After", "0.001"}, 125},
	}, func(t *testing.T, test row) {
		n := 0
		client := newClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			n++
			return failed(http.StatusTooManyRequests, test.code, test.header...).response(r)
		}))
		for start := time.Now(); time.Since(start) < 10*time.Minute; {
			err := client.Call(t.Context(), of("events.search"), nil, api.WithMaxWait(api.NoLimit))
			if !errors.Is(err, api.ErrRateLimited) {
				t.Fatal(err)
			}
			if n > 2*test.most {
				break
			}
		}
		if n > test.most {
			t.Errorf("%d requests", n)
		}
	})
}

// MaxWait limits the sum of the waits that the server orders, for this call or for others
// before it.
func TestMaxWaitLimitsTheSumOfWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		client := newClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			n++
			if n <= 2 {
				return limited("50").response(r)
			}
			return ok().response(r)
		}))
		_ = client.Call(t.Context(), of("group"), nil, api.WithAttempts(1))
		start := time.Now()
		err := client.Call(t.Context(), of("group"), nil)
		if !errors.Is(err, api.ErrRateLimited) || time.Since(start) > time.Minute {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

// A call waits for as long as MaxWait says: the random delays after the waits that the
// server orders do not count.
func TestMaxWaitIsWithoutRandomDelays(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string][]string{"one wait": {"50"}, "the wait of another call and its own": {"25", "25"}},
		func(t *testing.T, waits []string) {
			for range 20 {
				var list []*answer
				for _, seconds := range waits {
					list = append(list, limited(seconds))
				}
				client := newClient(t, answers(append(list, ok())...), maxWait(50*time.Second))
				for range len(waits) - 1 {
					_ = client.Call(t.Context(), of("group"), nil, api.WithAttempts(1))
				}
				succeed(t, client, of("group"))
			}
		})
}

// unlimited is a limiter that admits every request.
type unlimited struct{}

func (unlimited) Acquire(context.Context, string) error { return nil }
func (unlimited) Observe(string, api.RateLimit)         {}

// admissions is a limiter that counts its requests.
type admissions struct {
	admitted int
	ended    []time.Duration // their Retry-After
}

func (a *admissions) Acquire(context.Context, string) error { a.admitted++; return nil }

func (a *admissions) Observe(_ string, limit api.RateLimit) {
	a.ended = append(a.ended, limit.RetryAfter)
}

// A limiter learns of the end of each request that it has admitted, whatever middleware does
// with a 429: else the request would hold its place for all clients.
func TestLimiterLearnsOfEachRequest(t *testing.T) {
	t.Parallel()
	type way = func(r *http.Request, next http.RoundTripper) (*http.Response, error)
	afterRefusal := func(then way) way {
		return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err != nil || resp.StatusCode != http.StatusTooManyRequests {
				return resp, err
			}
			resp.Body.Close()
			return then(r, next)
		}
	}
	type row struct {
		then  way
		ended []time.Duration
	}
	table.Bubbles(t, map[string]row{
		"that the call sends again": {
			func(r *http.Request, next http.RoundTripper) (*http.Response, error) { return next.RoundTrip(r) },
			[]time.Duration{7 * time.Second, 0},
		},
		"that is sent again": {
			afterRefusal(func(r *http.Request, next http.RoundTripper) (*http.Response, error) { return next.RoundTrip(r) }),
			[]time.Duration{0, 0},
		},
		"that becomes an error": {
			afterRefusal(func(*http.Request, http.RoundTripper) (*http.Response, error) { return nil, errors.New("too busy") }),
			[]time.Duration{0, 0},
		},
		"that becomes a success": {
			afterRefusal(func(r *http.Request, _ http.RoundTripper) (*http.Response, error) { return ok().response(r) }),
			[]time.Duration{0},
		},
		"at which it panics": {
			afterRefusal(func(*http.Request, http.RoundTripper) (*http.Response, error) { panic("middleware") }),
			[]time.Duration{0},
		},
		"of its own": {
			func(r *http.Request, _ http.RoundTripper) (*http.Response, error) { return limited("7").response(r) }, nil,
		},
	}, func(t *testing.T, test row) {
		limiter := new(admissions)
		client := newClient(t, answers(limited("7"), ok()), wrap(test.then), func(c *config) { c.Limiter = limiter })
		func() {
			defer func() { _ = recover() }()
			_ = client.Call(t.Context(), get(), nil)
		}()
		if diff := cmp.Diff(test.ended, limiter.ended); diff != "" || limiter.admitted != len(test.ended) {
			t.Errorf("of %d requests (-want +got):\n%s", limiter.admitted, diff)
		}
	})
}

// A window that one response has announced delays calls for a minute or so if no other one
// announces a window; responses of a proxy prove nothing.
func TestOddWindowIsForgotten(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 404, 503} {
		synctest.Test(t, func(t *testing.T) {
			odd := reply(200, `{"result":true}`, "X-Ve-Limit-Max", "2", "X-Ve-Limit-Avail", "1",
				"X-Ve-Limit-Expires", epoch(time.Now().Add(time.Hour)))
			network := answers(odd, reply(status, `{"result":true}`))
			client := clientOf(t, network, maxWait(time.Minute))
			for start := time.Now(); time.Since(start) < 10*time.Minute; {
				_ = client.Call(t.Context(), get(), nil)
				time.Sleep(time.Second)
			}
			isForgotten := network.sent() > 500
			if isForgotten != (status == 200) {
				t.Errorf("%d requests with status %d", network.sent(), status)
			}
		})
	}
}

// An announced end that is not trusted any more does not hide a Retry-After: what follows
// would wait for it.
func TestRefusalOutlivesAnUntrustedEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := reply(200, `{"result":true}`, "X-Ve-Limit-Max", "60", "X-Ve-Limit-Avail", "0",
			"X-Ve-Limit-Expires", epoch(time.Now().Add(time.Hour)))
		client := newClient(t, answers(full, limited("90")))
		succeed(t, client, get())
		if e := refused(client.Call(t.Context(), get(), nil)); e.Rate.RetryAfter < 59*time.Minute {
			t.Errorf("a full window: the wait is %s", e.Rate.RetryAfter)
		}
		time.Sleep(time.Minute)
		for range 2 { // of the refusal, and of the group that it has closed
			e := refused(client.Call(t.Context(), get(), nil))
			if wait := e.Rate.RetryAfter.Round(time.Second); wait != 90*time.Second || e.Code != 1671 {
				t.Errorf("the wait is %s: %v", wait, e)
			}
		}
	})
}

// With a limiter, which knows the calls of other clients, a client does not leave them a
// share of the windows. It counts its own calls, also in a window that it learns.
func TestClientsWithALimiterLeaveTheSharesToIt(t *testing.T) {
	t.Parallel()
	type row struct {
		group    string
		wait     time.Duration // in all
		headers  []string
		refusals int
	}
	table.Bubbles(t, map[string]row{
		"a window that others have filled": {"events.search", 0, []string{"15", "0", "20"}, 0},
		"a refusal":                        {"events.search", 20 * time.Second, []string{"15", "0", "20"}, 1},
		"an unknown window":                {"things", 20*time.Second + 20*time.Millisecond, []string{"4", "1", "20"}, 0},
	}, func(t *testing.T, test row) {
		header := []string{
			"X-Ve-Limit-Max", test.headers[0], "X-Ve-Limit-Avail", test.headers[1],
			"X-Ve-Limit-Expires", epoch(time.Now().Add(20 * time.Second)), "Date", date(time.Now()),
		}
		list := []*answer{reply(200, `{"result":true}`, header...)}
		if test.refusals > 0 {
			list = append(list, status(429, header...))
		}
		client := newClient(t, answers(append(list, ok())...), func(c *config) { c.Limiter = unlimited{} })
		start := time.Now()
		for range 5 - test.refusals {
			succeed(t, client, of(test.group))
		}
		if took := time.Since(start); took < test.wait || took > test.wait+time.Second {
			t.Errorf("took %s, want %s", took, test.wait)
		}
	})
}
