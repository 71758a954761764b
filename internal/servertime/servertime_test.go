package servertime_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/internal/servertime"
)

// One Date that is off moves neither bound beyond the truth; two in a row are
// believed.
func TestClockEarliestIsOfTwoDates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c servertime.Clock
		start := time.Now().UTC()
		if _, known := c.Age(); known || !c.Earliest().Equal(start) ||
			!c.Latest(time.Second).Equal(start.Add(24*time.Hour)) {
			t.Errorf("without a Date: %s, %s", c.Earliest(), c.Latest(time.Second))
		}
		const ahead = 10 * time.Minute // of the local clock
		for i, step := range []struct{ date, earliest time.Duration }{
			{0, 0}, {time.Hour, 0}, {time.Hour, time.Hour}, {0, 0}, {-time.Hour, -time.Hour}, {0, -time.Hour}, {0, 0},
		} {
			time.Sleep(7 * time.Second)
			now := time.Now().UTC().Add(ahead)
			c.Observe(http.Header{"Date": {now.Add(step.date).Format(http.TimeFormat)}})
			c.Observe(http.Header{"Date": {"soon"}})
			c.Observe(nil)
			time.Sleep(3 * time.Second)
			now = now.Add(3 * time.Second)
			if age, known := c.Age(); !known || age != 3*time.Second {
				t.Errorf("step %d: the latest Date is %s old", i, age)
			}
			if want := now.Add(step.earliest); !c.Earliest().Equal(want) ||
				!c.Latest(time.Minute).Equal(want.Add(time.Minute)) {
				t.Errorf("step %d: got %s, want %s", i, c.Earliest(), want)
			}
		}
	})
}

// A time that a response announces is measured by its Date, or by those of others
// where one of them is off.
func TestClockUntilIsOfDatesThatAgree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ahead, left = 10 * time.Minute, 20 * time.Second
		for name, test := range map[string]struct {
			before []time.Duration // what earlier Dates are wrong by
			date   time.Duration
			want   time.Duration
		}{
			"alone":                    {nil, 0, left},
			"alone and off":            {nil, -time.Hour, left + time.Hour},
			"like the others":          {[]time.Duration{0, 0}, 0, left},
			"a little off":             {[]time.Duration{0, 0}, -2 * time.Second, left + 2*time.Second},
			"of a cache":               {[]time.Duration{0, 0}, -time.Hour, left},
			"of a clock that is fast":  {[]time.Duration{0, 0}, time.Hour, left},
			"after one of a cache":     {[]time.Duration{0, -time.Hour}, 0, left},
			"after one that was fast":  {[]time.Duration{0, time.Hour}, 0, left},
			"of the same cache again":  {[]time.Duration{0, -time.Hour}, -time.Hour, left},
			"after two of a slow node": {[]time.Duration{-time.Hour, -time.Hour}, 0, left},
		} {
			var c servertime.Clock
			header := func(off time.Duration) http.Header {
				return http.Header{"Date": {time.Now().UTC().Add(ahead + off).Format(http.TimeFormat)}}
			}
			for _, off := range test.before {
				c.Observe(header(off))
				time.Sleep(3 * time.Second)
			}
			if got := c.Until(time.Now().Add(ahead+left), header(test.date)); got != test.want {
				t.Errorf("a Date %s: %s until then, want %s", name, got, test.want)
			}
			if got := c.Until(time.Now().Add(ahead+left), nil); len(test.before) == 0 && got != ahead+left {
				t.Errorf("no Date: %s until then", got)
			}
		}
	})
}
