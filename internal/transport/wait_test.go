package transport_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// spread is what a client adds to a wait the server orders, at most.
const spread = 250 * time.Millisecond

func date(t time.Time) string  { return t.UTC().Format(http.TimeFormat) }
func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// limited is a refusal that names a wait in the body; "" names none.
func limited(seconds string, header ...string) *answer {
	body := `{"result":false,"error":{"code":1671,"text":"Too many calls."}}`
	if seconds != "" {
		body = `{"result":false,"error":{"code":1671,"text":"Too many calls.","params":{"retry_after_seconds":` + seconds + `}}}`
	}
	return &answer{status: 429, body: body, header: header}
}

// What a refusal tells of the wait, in the order in which it is believed.
func TestWaitsTheServerOrders(t *testing.T) {
	t.Parallel()
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble begins
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	const none = -1
	tests := map[string]struct {
		refusal *answer
		want    int // seconds; none is plain back-off
	}{
		"the body":                        {limited("7", "Retry-After", "30", "X-Ve-Limit-Expires", epoch(at(50))), 7},
		"the body, as text":               {limited(`"7"`), 7},
		"the body, a fraction":            {limited("7.0"), 7},
		"Retry-After in seconds":          {limited("", "Retry-After", "30", "X-Ve-Limit-Expires", epoch(at(50))), 30},
		"Retry-After as a date":           {limited("", "Retry-After", date(at(30)), "X-Ve-Limit-Expires", epoch(at(50))), 30},
		"a date by the server's clock":    {limited("", "Retry-After", date(at(630)), "Date", date(at(600))), 30},
		"the end of the window":           {limited("", "X-Ve-Limit-Expires", epoch(at(50))), 50},
		"the end by the server's clock":   {limited("", "X-Ve-Limit-Expires", epoch(at(-550)), "Date", date(at(-600))), 50},
		"the end as a date":               {limited("", "X-Ve-Limit-Expires", stamp(at(50))), 50},
		"the end by its former name":      {limited("", "X-Rate-Limit-Expiry", epoch(at(50))), 50},
		"the end, though others call too": {limited("", "X-Ve-Limit-Expires", epoch(at(50)), "X-Ve-Limit-Max", "120", "X-Ve-Limit-Avail", "0"), 50},
		"the body, against a longer window": {
			limited("7", "X-Ve-Limit-Expires", epoch(at(3000)), "X-Ve-Limit-Max", "120", "X-Ve-Limit-Avail", "0"), 7,
		},
		"what is left when the body is garbage":    {limited(`"soon"`, "Retry-After", "30"), 30},
		"what is left when the body says no time":  {limited("0", "Retry-After", "30"), 30},
		"what is left when Retry-After is garbage": {limited("", "Retry-After", "soon", "X-Ve-Limit-Expires", epoch(at(50))), 50},
		"what is left when Retry-After is NaN":     {limited("", "Retry-After", "NaN", "X-Ve-Limit-Expires", epoch(at(50))), 50},
		"what is left when Retry-After has passed": {limited("", "Retry-After", date(at(-5)), "X-Ve-Limit-Expires", epoch(at(50))), 50},
		"what is left when Retry-After is huge":    {limited("", "Retry-After", "1e300", "X-Ve-Limit-Expires", epoch(at(50))), 50},
		"the local clock when there is no Date":    {limited("", "X-Ve-Limit-Expires", epoch(at(50)), "Date", ""), 50},
		"the local clock when Date is garbage":     {limited("", "X-Ve-Limit-Expires", epoch(at(50)), "Date", "today"), 50},
		"nothing":                                  {limited(""), none},
		"nothing when the window has ended":        {limited("", "X-Ve-Limit-Expires", epoch(at(-5))), none},
		"nothing when the end is garbage":          {limited("", "X-Ve-Limit-Expires", "soon"), none},
		"nothing when the end is out of sight":     {limited("", "X-Ve-Limit-Expires", "99999999999999"), none},
		"nothing when all are garbage":             {limited(`[]`, "Retry-After", "-5", "X-Ve-Limit-Expires", "-1"), none},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := answers(test.refusal, ok())
				var told record
				road := newRoad(t, through(network), hooks(told.hooks()))
				if err := road.Call(t.Context(), get(), nil); err != nil {
					t.Fatal(err)
				}
				waited := network.times()[1]
				if test.want == none {
					if waited > 500*time.Millisecond || told.waits[0].Reason != api.WaitReasonBackoff {
						t.Errorf("waited %s, told %v", waited, told.waits)
					}
					return
				}
				if want := time.Duration(test.want) * time.Second; waited < want || waited > want+spread {
					t.Errorf("waited %s, want %s and at most %s more", waited, want, spread)
				}
				if len(told.waits) != 1 || told.waits[0].Reason != api.WaitReasonServer || told.waits[0].Wait != waited {
					t.Errorf("waited %s, told %v", waited, told.waits)
				}
			})
		})
	}
}

// A thousand refusals, each told in another way by a server whose clock is
// wrong: nothing of the group leaves too early.
func TestNothingLeavesBeforeItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dice := rand.New(rand.NewPCG(3, 1))
		for i := range 1000 {
			wait := time.Duration(1+dice.IntN(60)) * time.Second
			skew := time.Duration(dice.IntN(1201)-600) * time.Second
			refusal, how := spell(dice, wait, skew)
			var mu sync.Mutex
			var at []time.Time
			road := newRoad(t, through(roundTrip(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				if at = append(at, time.Now()); len(at) == 1 {
					return refusal.response(r), nil
				}
				return ok().response(r), nil
			})))
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := road.Call(t.Context(), of("group"), nil); err != nil {
					t.Errorf("run %d, %s: %v", i, how, err)
				}
			})
			synctest.Wait()
			for range 3 { // others of the group come at any time
				wg.Go(func() {
					time.Sleep(time.Duration(dice.Int64N(int64(wait))))
					if err := road.Call(t.Context(), of("group"), nil); err != nil {
						t.Errorf("run %d, %s: %v", i, how, err)
					}
				})
				synctest.Wait()
			}
			wg.Wait()
			for _, later := range at[1:] {
				if waited := later.Sub(at[0]); waited < wait || waited > wait+spread {
					t.Errorf("run %d, %s, clock off by %s: a call left after %s, want %s", i, how, skew, waited, wait)
				}
			}
			if len(at) != 5 {
				t.Errorf("run %d, %s: %d requests", i, how, len(at))
			}
		}
	})
}

// spell returns a refusal that orders a wait in one of the ways there are, with
// nonsense in those believed before it.
func spell(dice *rand.Rand, wait, skew time.Duration) (a *answer, how string) {
	now := time.Now().Truncate(time.Second).Add(skew)
	end := now.Add(wait)
	seconds := strconv.Itoa(int(wait / time.Second))
	header := []string{"Date", date(now)}
	body, nonsense := "", []string{"", "soon", "0", "-1", "NaN", "1e99", "[]"}
	junk := func() string { return nonsense[dice.IntN(len(nonsense))] }
	switch dice.IntN(5) {
	case 0:
		body, how = seconds, "in the body"
		header = append(header, "Retry-After", junk(), "X-Ve-Limit-Expires", junk())
	case 1:
		how = "Retry-After in seconds"
		header = append(header, "Retry-After", seconds, "X-Ve-Limit-Expires", junk())
	case 2:
		how = "Retry-After as a date"
		header = append(header, "Retry-After", date(end), "X-Ve-Limit-Expires", junk())
	case 3:
		how = "the window's end in seconds"
		header = append(header, "Retry-After", junk(), "X-Ve-Limit-Expires", epoch(end))
	case 4:
		how = "the window's end as a date, by its former name"
		header = append(header, "Retry-After", junk(), "X-Rate-Limit-Expiry", stamp(end))
	}
	if dice.IntN(2) == 0 {
		header = append(header, "X-Ve-Limit-Max", "120", "X-Ve-Limit-Avail", "0")
	}
	return limited(body, header...), how
}

// A wait that is too long is refused at once, and so is every further call of
// the group until it opens.
func TestWaitsThatAreTooLong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		refusal *answer
		bound   time.Duration
		opts    []api.CallOption
		want    time.Duration
	}{
		"by the client's bound":        {limited("70"), time.Minute, nil, 70 * time.Second},
		"by the call's bound":          {limited("10"), time.Minute, []api.CallOption{api.MaxWait(5 * time.Second)}, 10 * time.Second},
		"though the client is patient": {limited("10"), forever, []api.CallOption{api.MaxWait(5 * time.Second)}, 10 * time.Second},
		"by any bound":                 {limited("", "Retry-After", "86400"), time.Minute, nil, 24 * time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := answers(test.refusal, ok())
				var told record
				road := newRoad(t, through(network), hooks(told.hooks()), maxWait(test.bound))
				start := time.Now()
				err := road.Call(t.Context(), of("group", test.opts...), nil)
				e, found := errors.AsType[*api.Error](err)
				if !found || !errors.Is(err, api.ErrRateLimited) || e.Rate.RetryAfter != test.want || e.Attempts != 1 {
					t.Fatalf("got %#v", err)
				}
				time.Sleep(time.Second)
				err = road.Call(t.Context(), of("group", test.opts...), nil)
				again, found := errors.AsType[*api.Error](err)
				if !found || !errors.Is(err, api.ErrRateLimited) {
					t.Fatalf("got %v for a call of the closed group", err)
				}
				left := min(test.want, time.Hour) - time.Second
				if left > again.Rate.RetryAfter || left+spread < again.Rate.RetryAfter {
					t.Errorf("told to wait %s, want %s", again.Rate.RetryAfter, left)
				}
				if again.Attempts != 0 || again.Code != 1671 || again.Text != e.Text || again.Op != "things.Get" {
					t.Errorf("got %+v", again)
				}
				if took := time.Since(start); took != time.Second || len(network.requests()) != 1 {
					t.Errorf("took %s and %d requests", took, len(network.requests()))
				}
				if err := road.Call(t.Context(), of("another"), nil); err != nil || time.Since(start) != time.Second {
					t.Errorf("a call of another group: %v after %s", err, time.Since(start))
				}
				if len(told.waits) > 0 || len(told.retries) > 0 {
					t.Errorf("told of %v and %v", told.waits, told.retries)
				}
				time.Sleep(left + spread)
				if err := road.Call(t.Context(), of("group", test.opts...), nil); err != nil {
					t.Errorf("after the group has opened: %v", err)
				}
			})
		})
	}
}

func TestWaitsThatAreNotTooLong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		refusal *answer
		bound   time.Duration
		opts    []api.CallOption
		want    time.Duration
	}{
		"of exactly the bound":                {limited("60"), time.Minute, nil, time.Minute},
		"when the call's bound is greater":    {limited("120"), time.Minute, []api.CallOption{api.MaxWait(2 * time.Minute)}, 2 * time.Minute},
		"when the client's bound is negative": {limited("3600"), forever, nil, time.Hour},
		"when the call's bound is negative":   {limited("3600"), time.Minute, []api.CallOption{api.MaxWait(forever)}, time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				seen := map[time.Duration]bool{}
				for range 20 { // the spread is drawn anew each time
					network := answers(test.refusal, ok())
					road := newRoad(t, through(network), maxWait(test.bound))
					if err := road.Call(t.Context(), get(test.opts...), nil); err != nil {
						t.Fatal(err)
					}
					if waited := network.times()[1]; waited < test.want || waited > test.want+spread {
						t.Fatalf("waited %s, want %s", waited, test.want)
					}
					seen[network.times()[1]] = true
				}
				if len(seen) < 2 {
					t.Error("the repeats of many clients would all leave at once")
				}
			})
		})
	}
}

// Of several refusals the longest closes a group, whichever came last.
func TestTheLongestRefusalIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		road := newRoad(t, through(roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("slow") != "" { // sent before the group was closed
				time.Sleep(time.Second)
				return limited("1").response(r), nil
			}
			return limited("600").response(r), nil
		})))
		var wg sync.WaitGroup
		slow := of("group", api.Attempts(1))
		slow.Query = map[string][]string{"slow": {"yes"}}
		wg.Go(func() { _ = road.Call(t.Context(), slow, nil) })
		synctest.Wait()
		wg.Go(func() { _ = road.Call(t.Context(), of("group"), nil) })
		wg.Wait()
		time.Sleep(99 * time.Second)
		err := road.Call(t.Context(), of("group"), nil)
		e, found := errors.AsType[*api.Error](err)
		if !found || e.Rate.RetryAfter < 500*time.Second || e.Rate.RetryAfter > 500*time.Second+spread {
			t.Errorf("got %v, %+v", err, e)
		}
	})
}

// The group may have been closed for longer by others while the call waited.
func TestARepeatThatIsNotSentCountsWhatWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		road := newRoad(t, through(roundTrip(func(r *http.Request) (*http.Response, error) {
			if n++; n == 1 {
				time.Sleep(time.Second)
				return limited("600").response(r), nil
			}
			return limited("10").response(r), nil
		})))
		var wg sync.WaitGroup
		wg.Go(func() { _ = road.Call(t.Context(), of("group"), nil) })
		synctest.Wait()
		var answer api.Answer
		start := time.Now()
		err := road.Call(t.Context(), of("group", api.Raw(&answer)), nil)
		e, found := errors.AsType[*api.Error](err)
		if !found || e.Attempts != 1 || answer.Attempts != 1 || e.Rate.RetryAfter < 600*time.Second {
			t.Errorf("got %#v, %+v after %d attempts", err, e, answer.Attempts)
		}
		if took := time.Since(start); took != time.Second || n != 2 {
			t.Errorf("took %s and %d requests", took, n)
		}
		wg.Wait()
	})
}

// Without a wait to keep, a refusal is one failure among others.
func TestARefusalWithoutAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := answers(limited(""))
		road := newRoad(t, through(network))
		start := time.Now()
		err := road.Call(t.Context(), post(), nil)
		e, found := errors.AsType[*api.Error](err)
		if !found || !errors.Is(err, api.ErrRateLimited) || e.Attempts != 3 || len(network.requests()) != 3 {
			t.Errorf("got %#v after %d requests", err, len(network.requests()))
		}
		if took := time.Since(start); took > 1500*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

// Some waits are no business of the rate windows: whoever tries again gains
// nothing, and others need not wait.
func TestRefusalsThatAreNotOfTheWindows(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{"a call in progress": "145858", "a locked account": "10760"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := answers(&answer{
					status: 429, body: `{"result":false,"error":{"code":` + code + `,"text":"No.","params":{"retry_after_seconds":5}}}`,
					header: []string{"Retry-After", "5"},
				}, ok())
				road := newRoad(t, through(network))
				start := time.Now()
				err := road.Call(t.Context(), of("group"), nil)
				e, refused := errors.AsType[*api.Error](err)
				if !refused || !errors.Is(err, api.ErrRateLimited) || e.Rate.RetryAfter != 5*time.Second {
					t.Errorf("got %v", err)
				}
				if time.Since(start) > 0 || len(network.requests()) != 1 {
					t.Errorf("took %s and %d requests", time.Since(start), len(network.requests()))
				}
				if err := road.Call(t.Context(), of("group"), nil); err != nil || time.Since(start) > 0 {
					t.Errorf("the group was closed: %v", err)
				}
			})
		})
	}
}

// A service that is down may say when it will be back.
func TestRetryAfterOfAServiceThatIsDown(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header string
		want   time.Duration // 0 is refused
	}{
		"is kept":               {"20", 20 * time.Second},
		"is refused when long":  {"61", 0},
		"is kept when at bound": {"60", time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := answers(status(503, "Retry-After", test.header), ok())
				var told record
				road := newRoad(t, through(network), hooks(told.hooks()))
				err := road.Call(t.Context(), get(), nil)
				if test.want == 0 {
					if !errors.Is(err, api.ErrUnavailable) || len(network.requests()) != 1 {
						t.Errorf("got %v after %d requests", err, len(network.requests()))
					}
					return
				}
				if err != nil || network.times()[1] != test.want {
					t.Errorf("got %v after %v", err, network.times())
				}
				want := []api.Wait{{Op: "things.Get", Group: "things.Get", Reason: api.WaitReasonServer, Wait: test.want}}
				if diff := cmp.Diff(want, told.waits); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

// Headers no window can have must not stop anybody.
func TestNonsenseInRateHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dice := rand.New(rand.NewPCG(5, 5))
		values := []string{
			"", "0", "-1", "1", "100", "soon", "99999999999999999999", "1e9", "NaN", "0x10", epoch(time.Now()),
			epoch(time.Now().Add(-time.Hour)), epoch(time.Now().Add(100 * 365 * 24 * time.Hour)), stamp(time.Now().Add(-time.Hour)), "2000-13-45 99:99:99 UTC",
		}
		pick := func() string { return values[dice.IntN(len(values))] }
		start := time.Now()
		for range 2000 {
			avail, most, expires, now := pick(), pick(), pick(), pick()
			network := answers(&answer{status: 200, body: `{"result":true}`, header: []string{
				"X-Ve-Limit-Avail", avail, "X-Ve-Limit-Max", most, "X-Ve-Limit-Expires", expires, "Date", now,
			}})
			road := newRoad(t, through(network))
			for range 3 {
				if err := road.Call(t.Context(), get(), nil); err != nil {
					t.Fatal(err)
				}
			}
			if waited := time.Since(start); waited > 0 {
				t.Fatalf("waited %s for %s of %s until %s at %s", waited, avail, most, expires, now)
			}
		}
	})
}

// The timeout of the user's client is for the network: a wait for one's turn is
// no failure of it.
func TestTheTimeoutOfTheHTTPClient(t *testing.T) {
	t.Parallel()
	t.Run("does not end a wait", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			network := through(answers(limited("50"), ok()))
			network.Timeout = 30 * time.Second
			if err := newRoad(t, network).Call(t.Context(), get(), nil); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("does not end pacing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			network := through(answers(ok()))
			network.Timeout = 2 * time.Second
			road := newRoad(t, network)
			for range 20 {
				if err := road.Call(t.Context(), of("events.search"), nil); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
	stalling := map[string]http.HandlerFunc{"ends a wait for the header": stall, "ends a wait for the body": drip}
	for name, handler := range stalling {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := serve(t, handler)
				network.Timeout = 5 * time.Second
				start := time.Now()
				err := newRoad(t, network, attempts(1)).Call(t.Context(), get(), nil)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
					t.Errorf("got %v after %s", err, time.Since(start))
				}
				if network.Timeout != 5*time.Second {
					t.Error("the user's client was changed")
				}
			})
		})
	}
	t.Run("is of each attempt", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			network := serve(t, stall)
			network.Timeout = 5 * time.Second
			var told record
			road := newRoad(t, network, hooks(told.hooks()), retry(transport.Retry{Attempts: 3, Base: 1, Cap: 1}))
			start := time.Now()
			err := road.Call(t.Context(), get(), nil)
			if took := time.Since(start).Round(time.Second); err == nil || took != 15*time.Second || len(told.retries) != 2 {
				t.Errorf("got %v after %s and %d retries", err, took, len(told.retries))
			}
		})
	})
}

// A call that the server is asked to hold brings a bound of its own, shorter or
// longer than that of the user's client.
func TestTheBoundOfAnAttempt(t *testing.T) {
	t.Parallel()
	for _, client := range []time.Duration{0, 5 * time.Second, time.Hour} {
		for name, handler := range map[string]http.HandlerFunc{"the header": stall, "the body": drip} {
			t.Run(name+" under "+client.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					network := serve(t, handler)
					network.Timeout = client
					r := get()
					r.Attempt = time.Minute
					start := time.Now()
					err := newRoad(t, network, attempts(1)).Call(t.Context(), r, nil)
					if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
						t.Errorf("got %v after %s", err, time.Since(start))
					}
				})
			})
		}
	}
}
