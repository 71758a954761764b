package transport_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
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
		body = `{"result":false,"error":{"code":1671,"text":"Too many calls.","params":{"retry_after_seconds":` +
			seconds + `}}}`
	}
	return &answer{status: 429, body: body, header: header}
}

// The sources of the delay of a refusal, in the order of their precedence.
func TestWaitsTheServerOrders(t *testing.T) {
	t.Parallel()
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble begins
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	in50 := epoch(at(50))
	const after, end, most, left = "Retry-After", "X-Ve-Limit-Expires", "X-Ve-Limit-Max", "X-Ve-Limit-Avail"
	const none = -1
	type row struct {
		refusal *answer
		want    int // seconds; none is plain back-off
	}
	table.Bubbles(t, map[string]row{
		"the body":                                 {limited("7", after, "30", end, in50), 7},
		"the body, as text":                        {limited(`"7"`), 7},
		"the body, a fraction":                     {limited("7.0"), 7},
		"the body, against a longer window":        {limited("7", end, epoch(at(3000)), most, "120", left, "0"), 7},
		"Retry-After in seconds":                   {limited("", after, "30", end, in50), 30},
		"Retry-After as a date":                    {limited("", after, date(at(30)), end, in50), 30},
		"a date by the server's clock":             {limited("", after, date(at(630)), "Date", date(at(600))), 30},
		"the end of the window":                    {limited("", end, in50), 50},
		"the end by the server's clock":            {limited("", end, epoch(at(-550)), "Date", date(at(-600))), 50},
		"the end as a date":                        {limited("", end, stamp(at(50))), 50},
		"the end by its former name":               {limited("", "X-Rate-Limit-Expiry", in50), 50},
		"the end, though others call too":          {limited("", end, in50, most, "120", left, "0"), 50},
		"what is left when the body is garbage":    {limited(`"soon"`, after, "30"), 30},
		"what is left when the body says no time":  {limited("0", after, "30"), 30},
		"what is left when Retry-After is garbage": {limited("", after, "soon", end, in50), 50},
		"what is left when Retry-After is NaN":     {limited("", after, "NaN", end, in50), 50},
		"what is left when Retry-After has passed": {limited("", after, date(at(-5)), end, in50), 50},
		"what is left when Retry-After is huge":    {limited("", after, "1e300", end, in50), 50},
		"the local clock when there is no Date":    {limited("", end, in50, "Date", ""), 50},
		"the local clock when Date is garbage":     {limited("", end, in50, "Date", "today"), 50},
		"nothing":                                  {limited(""), none},
		"nothing when the window has ended":        {limited("", end, epoch(at(-5))), none},
		"nothing when the end is garbage":          {limited("", end, "soon"), none},
		"nothing when the end is out of sight":     {limited("", end, "99999999999999"), none},
		"nothing when the end is over a year away": {limited("", end, epoch(at(366*24*3600))), none},
		"nothing when all are garbage":             {limited(`[]`, after, "-5", end, "-1"), none},
	}, func(t *testing.T, test row) {
		network := answers(test.refusal, ok())
		var seen record
		succeed(t, newClient(t, network, seen.hooks()), get())
		waited := network.times()[1]
		least, most, reason := time.Duration(test.want)*time.Second, spread, api.WaitReasonServer
		if test.want == none {
			least, most, reason = 0, 500*time.Millisecond, api.WaitReasonBackoff
		}
		if waited < least || waited > least+most {
			t.Errorf("waited %s, want %s and at most %s more", waited, least, most)
		}
		if len(seen.waits) != 1 || seen.waits[0].Reason != reason || seen.waits[0].Wait != waited {
			t.Errorf("waited %s, hooks got %v", waited, seen.waits)
		}
		if reset := refused(seen.retries[0].Err).Rate.Reset; reset.IsZero() != (test.want == none) {
			t.Errorf("the group is closed until %s", reset)
		}
	})
}

// After a thousand refusals in different formats, by a server with a wrong clock, no
// request of the group is sent too early.
func TestNoRequestBeforeRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dice := rand.New(rand.NewPCG(3, 1))
		for i := range 1000 {
			wait := time.Duration(1+dice.IntN(60)) * time.Second
			skew := time.Duration(dice.IntN(1201)-600) * time.Second
			refusal := spell(dice, wait, skew)
			network := answers(refusal, ok())
			client := newClient(t, network)
			var wg sync.WaitGroup
			call := func(after time.Duration) {
				wg.Go(func() {
					time.Sleep(after)
					if err := client.Call(t.Context(), of("group"), nil); err != nil {
						t.Errorf("run %d, %v: %v", i, refusal, err)
					}
				})
				synctest.Wait()
			}
			call(0)
			for range 3 { // others of the group come at any time
				call(time.Duration(dice.Int64N(int64(wait))))
			}
			wg.Wait()
			at := network.times()
			for _, waited := range at[1:] {
				if waited < wait || waited > wait+spread {
					t.Errorf("run %d, %v, clock off by %s: left after %s, want %s", i, refusal, skew, waited, wait)
				}
			}
			if len(at) != 5 {
				t.Errorf("run %d, %v: %d requests", i, refusal, len(at))
			}
		}
	})
}

// spell returns a refusal that orders a wait in one of the ways there are, with
// nonsense in those believed before it.
func spell(dice *rand.Rand, wait, skew time.Duration) *answer {
	now := time.Now().Truncate(time.Second).Add(skew)
	end, seconds := now.Add(wait), strconv.Itoa(int(wait/time.Second))
	nonsense := []string{"", "soon", "0", "-1", "NaN", "1e99", "[]"}
	junk := func() string { return nonsense[dice.IntN(len(nonsense))] }
	const after, ends = "Retry-After", "X-Ve-Limit-Expires"
	way := dice.IntN(5)
	header := append([]string{"Date", date(now)}, [][]string{
		{after, junk(), ends, junk()},
		{after, seconds, ends, junk()},
		{after, date(end), ends, junk()},
		{after, junk(), ends, epoch(end)},
		{after, junk(), "X-Rate-Limit-Expiry", stamp(end)},
	}[way]...)
	if dice.IntN(2) == 0 {
		header = append(header, "X-Ve-Limit-Max", "120", "X-Ve-Limit-Avail", "0")
	}
	if way > 0 {
		seconds = ""
	}
	return limited(seconds, header...)
}

// A wait that is too long is refused at once, and so is every further call of
// the group until it opens.
func TestWaitsThatAreTooLong(t *testing.T) {
	t.Parallel()
	type row struct {
		group              string
		refusal            *answer
		client, call, want time.Duration
	}
	table.Bubbles(t, map[string]row{
		"by the client's bound":        {"", limited("70"), time.Minute, 0, 70 * time.Second},
		"by a bound of zero":           {"", limited("10"), 0, 0, 10 * time.Second},
		"by the call's bound":          {"", limited("10"), time.Minute, 5 * time.Second, 10 * time.Second},
		"though the client would wait": {"group", limited("10"), forever, 5 * time.Second, 10 * time.Second},
		"by any bound":                 {"group", limited("", "Retry-After", "86400"), time.Minute, 0, 24 * time.Hour},
	}, func(t *testing.T, test row) {
		network := answers(test.refusal, ok())
		var seen record
		client := newClient(t, network, seen.hooks(), maxWait(test.client))
		start := time.Now()
		call := of(test.group) // without a group it has one of its own
		err := client.Call(t.Context(), call, nil, api.WithMaxWait(test.call))
		e := refused(err)
		if !errors.Is(err, api.ErrRateLimited) || e.Rate.RetryAfter != test.want || e.Attempts != 1 {
			t.Fatalf("got %#v", err)
		}
		time.Sleep(time.Second)
		err = client.Call(t.Context(), call, nil, api.WithMaxWait(test.call))
		again := refused(err)
		left := min(test.want, time.Hour) - time.Second
		if !errors.Is(err, api.ErrRateLimited) || left > again.Rate.RetryAfter || left+spread < again.Rate.RetryAfter {
			t.Errorf("got %v for a call of the closed group, which is to wait %s, want %s", err, again.Rate.RetryAfter, left)
		}
		if again.Attempts != 0 || again.Code != 1671 || again.Text != e.Text || again.Op != "things.Get" {
			t.Errorf("got %+v", again)
		}
		if network.sent() != 1 || len(seen.waits)+len(seen.retries) > 0 {
			t.Errorf("%d requests, reported were %v and %v", network.sent(), seen.waits, seen.retries)
		}
		succeed(t, client, of("another"))
		succeed(t, client, post())
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %s", took)
		}
		time.Sleep(left)
		succeed(t, client, call) // the spread is waited for within any bound
	})
}

func TestWaitsThatAreNotTooLong(t *testing.T) {
	t.Parallel()
	type row struct {
		seconds            string
		client, call, want time.Duration
	}
	table.Bubbles(t, map[string]row{
		"of exactly the bound":                {"60", time.Minute, 0, time.Minute},
		"when the call's bound is greater":    {"120", time.Minute, 2 * time.Minute, 2 * time.Minute},
		"when the client's bound is negative": {"3600", forever, 0, time.Hour},
		"when the call's bound is negative":   {"3600", time.Minute, forever, time.Hour},
	}, func(t *testing.T, test row) {
		seen := map[time.Duration]bool{}
		for range 20 { // the spread is drawn anew each time
			network := answers(limited(test.seconds), ok())
			succeed(t, newClient(t, network, maxWait(test.client)), get(), api.WithMaxWait(test.call))
			waited := network.times()[1]
			seen[waited] = true
			if waited < test.want || waited > test.want+spread {
				t.Fatalf("waited %s, want %s", waited, test.want)
			}
		}
		if len(seen) < 2 {
			t.Error("the retries of many clients would all be sent at once")
		}
	})
}

// Refusals until a known time cost no attempts. The bound is for all of them.
func TestRefusalsCostNoAttempts(t *testing.T) {
	t.Parallel()
	type row struct {
		bound time.Duration
		sent  int
		want  error
	}
	table.Bubbles(t, map[string]row{
		"without a bound": {forever, 11, nil},
		"with one":        {10 * time.Second, 4, api.ErrRateLimited}, // after three waits of 3 s
	}, func(t *testing.T, test row) {
		list := slices.Repeat([]*answer{limited("3")}, 10)
		network := answers(append(list, ok())...)
		err := newClient(t, network, attempts(2), maxWait(test.bound)).Call(t.Context(), of("group"), nil)
		if !errors.Is(err, test.want) || network.sent() != test.sent {
			t.Errorf("got %v after %d requests, want %v after %d", err, network.sent(), test.want, test.sent)
		}
	})
}

// Of several refusals the longest closes a group, whichever came last. A call that
// waited for a shorter one learns of the longer, and counts what was sent.
func TestTheLongestRefusalCloses(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string][2]string{ // of a call, and of one that was sent before and is answered a second later
		"that came first": {"600", "1"}, "that came last": {"10", "600"},
	}, func(t *testing.T, waits [2]string) {
		n := 0
		client := newClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			n++
			if n == 1 {
				time.Sleep(time.Second)
				return limited(waits[1]).response(r)
			}
			return limited(waits[0]).response(r)
		}))
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { _ = client.Call(t.Context(), of("group"), nil, api.WithAttempts(1)) })
		synctest.Wait()
		var answer api.Response
		err := client.Call(t.Context(), of("group"), nil, api.WithResponse(&answer))
		if e := refused(err); e.Attempts != 1 || answer.Attempts != 1 || e.Rate.RetryAfter < 600*time.Second ||
			time.Since(start) > time.Second {
			t.Errorf("got %v after %d attempts and %s", err, answer.Attempts, time.Since(start))
		}
		wg.Wait()
		time.Sleep(99 * time.Second)
		left := refused(client.Call(t.Context(), of("group"), nil)).Rate.RetryAfter
		if left < 500*time.Second || left > 501*time.Second+spread || n != 2 {
			t.Errorf("%s are left after %d requests", left, n)
		}
	})
}

// Some waits are no business of the rate windows: a retry gains nothing, and
// others need not wait.
func TestRefusalsThatAreNotOfTheWindows(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{"a call in progress": "145858", "a locked account": "10760"} {
		synctest.Test(t, func(t *testing.T) {
			body := `{"result":false,"error":{"code":` + code + `,"text":"No.","params":{"retry_after_seconds":5}}}`
			network := answers(reply(429, body, "Retry-After", "5"), ok())
			client := newClient(t, network)
			start := time.Now()
			err := client.Call(t.Context(), of("group"), nil)
			if !errors.Is(err, api.ErrRateLimited) || refused(err).Rate.RetryAfter != 5*time.Second ||
				network.sent() != 1 {
				t.Errorf("%s: got %v after %d requests", name, err, network.sent())
			}
			succeed(t, client, of("group"))
			if took := time.Since(start); took > 0 {
				t.Errorf("%s: took %s", name, took)
			}
		})
	}
}

// A service that is down may say when it will be back.
func TestRetryAfterOfAServiceThatIsDown(t *testing.T) {
	t.Parallel()
	const none = 0
	for header, want := range map[string]time.Duration{"20": 20 * time.Second, "60": time.Minute, "61": none} {
		synctest.Test(t, func(t *testing.T) {
			network := answers(status(503, "Retry-After", header), ok())
			var seen record
			err := newClient(t, network, seen.hooks()).Call(t.Context(), get(), nil)
			if want == none {
				if !errors.Is(err, api.ErrUnavailable) || network.sent() != 1 {
					t.Errorf("got %v after %d requests", err, network.sent())
				}
				return
			}
			if err != nil || network.times()[1] != want {
				t.Errorf("got %v after %v", err, network.times())
			}
			waits := []api.WaitEvent{{Op: "things.Get", Group: "things.Get", Reason: api.WaitReasonServer, Wait: want}}
			if diff := cmp.Diff(waits, seen.waits); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
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
			epoch(time.Now().Add(-time.Hour)), epoch(time.Now().Add(100 * 365 * 24 * time.Hour)),
			stamp(time.Now().Add(-time.Hour)), "2000-13-45 99:99:99 UTC",
		}
		pick := func() string { return values[dice.IntN(len(values))] }
		start := time.Now()
		for range 2000 {
			avail, most, expires, now := pick(), pick(), pick(), pick()
			client := newClient(t, answering(200, `{"result":true}`,
				"X-Ve-Limit-Avail", avail, "X-Ve-Limit-Max", most, "X-Ve-Limit-Expires", expires, "Date", now))
			for range 3 {
				succeed(t, client, get())
			}
			if waited := time.Since(start); waited > 0 {
				t.Fatalf("waited %s for %s of %s until %s at %s", waited, avail, most, expires, now)
			}
		}
	})
}

// The timeout of the user's client is for the network: a wait for the rate limit
// is no failure of it.
func TestHTTPClientTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		succeed(t, newClient(t, answers(limited("50"), ok()), timeout(30*time.Second)), get())
		client := newClient(t, answers(ok()), timeout(2*time.Second))
		for range 20 {
			succeed(t, client, of("events.search"))
		}
	})
}

// An attempt may take as long as the user's client says. A call that the server is
// asked to hold brings a bound of its own, shorter or longer than that.
func TestAttemptTimeout(t *testing.T) {
	t.Parallel()
	type row struct {
		client, call time.Duration
		attempts     int
		want         time.Duration
	}
	table.Each(t, map[string]http.HandlerFunc{"the header": stall, "the body": drip},
		func(t *testing.T, handler http.HandlerFunc) {
			table.Bubbles(t, map[string]row{
				"of the client":                 {5 * time.Second, 0, 1, 5 * time.Second},
				"of the client, three times":    {5 * time.Second, 0, 3, 15*time.Second + 2},
				"of the call":                   {0, time.Minute, 1, time.Minute},
				"of the call, which is longer":  {5 * time.Second, time.Minute, 1, time.Minute},
				"of the call, which is shorter": {time.Hour, time.Minute, 1, time.Minute},
			}, func(t *testing.T, test row) {
				var users *http.Client
				client := newClient(t, serve(t, handler), timeout(test.client), hasty(test.attempts),
					func(c *config) { users = c.HTTPClient })
				r := get()
				r.Attempt = test.call
				start := time.Now()
				err := client.Call(t.Context(), r, nil)
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > test.want ||
					took < test.want-2 {
					t.Errorf("got %v after %s", err, took)
				}
				if users.Timeout != test.client {
					t.Error("the user's client was changed")
				}
			})
		})
}

// The timeout of the client is for a call with all its attempts, unless they have their own.
func TestTimeoutOfTheClient(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]time.Duration{
		"of the client": 0, "of the attempts": time.Minute,
	}, func(t *testing.T, attempt time.Duration) {
		network := roundTrip(func(r *http.Request) (*http.Response, error) {
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(10 * time.Second):
				return ok().response(r)
			}
		})
		r := get()
		r.Attempt = attempt
		err := newClient(t, network, func(c *config) { c.Timeout = 5 * time.Second }).Call(t.Context(), r, nil)
		if errors.Is(err, context.DeadlineExceeded) != (attempt == 0) {
			t.Errorf("got %v", err)
		}
	})
}
