package transport_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
)

// What an answer tells of its window is told by the local clock, in whichever
// form and under whichever name it comes, and nonsense tells nothing.
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
			"both names": {window(epoch(in7), availOld, "1", mostOld, "50", expiresOld,
				epoch(now.Add(time.Hour))), whole},
			"blanks around": {
				[]string{avail, " 3 ", most, " 5 ", expires, " " + epoch(in7) + " "},
				whole,
			},
			"no expiry":                     {[]string{avail, "3", most, "5"}, partial},
			"an expiry that has passed":     {window(epoch(now.Add(-time.Second))), partial},
			"an expiry beyond every window": {window(epoch(now.Add(3 * time.Hour))), partial},
			"an expiry beyond all numbers":  {window("9223372036854775807"), partial},
			"an expiry in words":            {window("soon"), partial},
			"a debt":                        {[]string{avail, "-2", most, "5"}, api.RateLimit{Limit: 5}},
			"no calls left told":            {[]string{most, "5"}, api.RateLimit{}},
			"no cap":                        {[]string{avail, "3"}, api.RateLimit{}},
			"a cap of none":                 {[]string{avail, "3", most, "0"}, api.RateLimit{}},
			"a cap in words":                {[]string{avail, "3", most, "many"}, api.RateLimit{}},
		} {
			var raw api.Answer
			if err := clientOf(t, answering(200, `{"result":true}`, tc.header...)).Call(t.Context(), get(api.Raw(&raw)),
				nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if diff := cmp.Diff(tc.want, raw.Rate); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// Of a refusal that is no 429 the body and Retry-After count, but not the window.
func TestWaitOfAnotherRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		expires := epoch(time.Now().Add(20 * time.Second))
		for params, want := range map[string]time.Duration{
			`{"retry_after_seconds":0.25}`: 250 * time.Millisecond,
			`[]`:                           0,
		} {
			body := `{"result":false,"error":{"code":10368,"params":` + params + `}}`
			err := clientOf(t, answering(503, body, "x-ve-limit-expires", expires)).Call(t.Context(), get(), nil)
			if e := refused(err); e.Status != 503 || e.Rate.RetryAfter != want {
				t.Errorf("%s: %v, want a wait of %s", params, err, want)
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
			var raw api.Answer
			err := c.Call(t.Context(), get(api.Raw(&raw)), nil)
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
