package transport_test

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
)

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
	if s.used++; s.used > s.most {
		s.refusals++
		a = status(429)
	}
	if s.answers++; s.answers == s.odd {
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
		1: {
			-time.Hour, -time.Minute,
			time.Hour,
		}, // a window of one call that looks a little longer cannot be told from one that is
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

// A refusal with a wrong Date closes its group for as long as the others say.
func TestRefusalWithAWrongDate(t *testing.T) {
	t.Parallel()
	for _, slip := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			now := time.Now()
			window := []string{
				"X-Ve-Limit-Max", "5", "X-Ve-Limit-Avail", "1", "X-Ve-Limit-Expires",
				epoch(now.Add(20 * time.Second)),
			}
			wrong := append([]string{"Date", date(now.Add(slip))}, window...)
			client := newClient(t, answers(reply(200, `{"result":true}`, window...), status(429, wrong...), ok()))
			succeed(t, client, get())
			succeed(t, client, get())
			if waited := time.Since(now); waited < 20*time.Second || waited > 21*time.Second {
				t.Errorf("waited %s for a clock that is wrong by %s", waited, slip)
			}
		})
	}
}

// An answer that leaves no calls and a long time until there are more is no reason
// to wait in silence: a call that may not wait for so long fails at once. It may
// also be wrong: after a minute a call is sent to see.
func TestUsedUpWindowIsAnError(t *testing.T) {
	t.Parallel()
	for _, code := range []int{200, 503} {
		for _, far := range []time.Duration{time.Minute + 2*time.Second, time.Hour, 2 * time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				full := status(code, "X-Ve-Limit-Max", "5", "X-Ve-Limit-Avail", "0", "X-Ve-Limit-Expires",
					epoch(start.Add(far)))
				client := newClient(t, answers(full, ok()))
				_ = client.Call(t.Context(), get(api.Attempts(1)), nil)
				err := client.Call(t.Context(), get(), nil)
				e := refused(err)
				if !errors.Is(err, api.ErrRateLimited) || e.Attempts != 0 || e.Rate.RetryAfter != far ||
					e.Op != "things.Get" {
					t.Fatalf("after %d, for %s: got %#v", code, far, err)
				}
				if waited := time.Since(start); waited > 0 {
					t.Errorf("after %d, for %s: waited %s", code, far, waited)
				}
				time.Sleep(time.Minute)
				succeed(t, client, get())
				if waited := time.Since(start); waited > time.Minute {
					t.Errorf("after %d, for %s: a call was sent after %s", code, far, waited)
				}
			})
		}
	}
}
