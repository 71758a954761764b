package emulator_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func limitHeaders(p reply) [3]string {
	return [3]string{p.Header.Get("x-ve-limit-avail"), p.Header.Get("x-ve-limit-max"), p.Header.Get("x-ve-limit-expires")}
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

func TestPublishedLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(emulator.Options{Clock: time.Now})
		begin := time.Now()
		for i := range 5 {
			got := w.search(t, w.ada, "org_id", w.org.ID)
			want := [3]string{strconv.Itoa(4 - i), "5", unix(begin.Add(3 * time.Second))}
			if diff := cmp.Diff(want, limitHeaders(got)); diff != "" || got.Status != http.StatusOK {
				t.Errorf("call %d: %d (-want +got):\n%s", i, got.Status, diff)
			}
		}
		got := w.as(t, w.ada, http.MethodGet, "/events/search/summarize/", "org_id", w.org.ID) // the same budget
		want := [3]string{"0", "5", unix(begin.Add(3 * time.Second))}
		if diff := cmp.Diff(want, limitHeaders(got)); diff != "" || got.Status != http.StatusTooManyRequests || got.code() != 10368 {
			t.Errorf("the sixth: %d %s (-want +got):\n%s", got.Status, got.Body, diff)
		}
		if got.Header.Get("Retry-After") != "" || got.get("error.params") != nil {
			t.Errorf("an unasked wait: %v %s", got.Header, got.Body)
		}
		if got := w.search(t, w.ben, "org_id", w.org.ID); got.Status != http.StatusOK {
			t.Errorf("another user: %d", got.Status)
		}
		if got := w.as(t, w.ada, http.MethodGet, "/user/me/details/"); got.Status != http.StatusOK || got.Header.Get("x-ve-limit-max") != "" {
			t.Errorf("an endpoint without a limit: %d %v", got.Status, got.Header)
		}
		if w.Refusals() != 1 {
			t.Errorf("%d refusals", w.Refusals())
		}
		time.Sleep(3 * time.Second)
		if got := w.search(t, w.ada, "org_id", w.org.ID); got.Status != http.StatusOK {
			t.Errorf("the next window: %d", got.Status)
		}
	})
}

// A client that always waits for what the headers say meets each of the three windows in turn.
func TestWiderWindowsRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(emulator.Options{Clock: time.Now})
		begin := time.Now()
		served := 0
		for time.Since(begin) < 10*time.Minute {
			got := w.search(t, w.ada, "org_id", w.org.ID)
			if got.Status == http.StatusOK {
				served++
				continue
			}
			expires, _ := strconv.ParseInt(got.Header.Get("x-ve-limit-expires"), 10, 64)
			time.Sleep(time.Until(time.Unix(expires, 0)))
		}
		if served != 120 {
			t.Errorf("%d calls served in ten minutes", served)
		}
		if got := w.search(t, w.ada, "org_id", w.org.ID); got.Status != http.StatusOK {
			t.Errorf("after ten minutes: %d", got.Status)
		}
	})
}

// Of two exhausted windows the headers tell of the one that lasts longer, whatever their order.
func TestTheLongerWaitIsAnnounced(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][2]time.Duration{{10 * time.Second, time.Minute}, {time.Minute, 10 * time.Second}} {
		ops := []string{"account.Me"}
		w := newWorld(emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{{Ops: ops, Max: 1, Size: sizes[0]}, {Ops: ops, Max: 1, Size: sizes[1]}}}})
		got := w.as(t, w.ada, http.MethodGet, "/user/me/details/")
		if diff := cmp.Diff([3]string{"0", "1", unix(epoch.Add(time.Minute))}, limitHeaders(got)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", sizes, diff)
		}
	}
}

func TestKeysOfAUserShareABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{})
	second := w.AddKey(emulator.Key{User: w.ada.ID}).Token
	for i := range 6 {
		token := w.keys[w.ada.ID]
		if i%2 == 1 {
			token = second
		}
		got := w.with(t, token, http.MethodGet, "/events/search/", "org_id", w.org.ID)
		if refused := got.Status == http.StatusTooManyRequests; refused != (i == 5) {
			t.Errorf("call %d: %d", i, got.Status)
		}
	}
}

func TestWindowKinds(t *testing.T) {
	t.Parallel()
	// Two calls per ten seconds; one at 4 s, then as listed.
	tests := map[string]struct {
		kind    seed.WindowKind
		at      []int // seconds since the start of the clock's window
		status  []int
		expires []int
	}{
		"fixed from the first call": {seed.FixedFromFirst, []int{4, 9, 11, 14, 15, 16}, []int{200, 200, 429, 200, 200, 429}, []int{14, 14, 14, 24, 24, 24}},
		"fixed to the clock":        {seed.FixedToClock, []int{4, 9, 9, 10, 11, 12}, []int{200, 200, 429, 200, 200, 429}, []int{10, 10, 10, 20, 20, 20}},
		"sliding":                   {seed.Sliding, []int{4, 9, 13, 14, 15, 19}, []int{200, 200, 429, 200, 429, 200}, []int{14, 14, 14, 19, 19, 24}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(emulator.Options{
					Clock:  time.Now,
					Limits: seed.LimitOptions{Windows: test.kind, Rules: []emulator.Limit{{Ops: []string{"events.Search"}, Max: 2, Size: 10 * time.Second}}},
				})
				begin := time.Now()
				for i, second := range test.at {
					time.Sleep(time.Until(begin.Add(time.Duration(second) * time.Second)))
					got := w.search(t, w.ada, "org_id", w.org.ID)
					want := unix(begin.Add(time.Duration(test.expires[i]) * time.Second))
					if got.Status != test.status[i] || got.Header.Get("x-ve-limit-expires") != want {
						t.Errorf("at %d s: %d, expires %s, want %d, %s", second, got.Status, got.Header.Get("x-ve-limit-expires"), test.status[i], want)
					}
				}
			})
		})
	}
}

// An expiry within a second is announced as the next whole one, never as one that has passed.
func TestExpiryRoundsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(emulator.Options{Clock: time.Now})
		time.Sleep(300 * time.Millisecond)
		got := w.search(t, w.ada, "org_id", w.org.ID)
		if want := unix(time.Now().Truncate(time.Second).Add(4 * time.Second)); got.Header.Get("x-ve-limit-expires") != want {
			t.Errorf("expires %s, want %s", got.Header.Get("x-ve-limit-expires"), want)
		}
	})
}

func TestRefusalSwitches(t *testing.T) {
	t.Parallel()
	one := []emulator.Limit{{Ops: []string{"account.Me"}, Max: 1, Size: 90 * time.Second}}
	end := epoch.Add(90 * time.Second)
	tests := map[string]struct {
		options emulator.Options
		want    map[string]string
		retry   any
	}{
		"default":       {emulator.Options{}, map[string]string{"X-Ve-Limit-Expires": unix(end), "Date": "Mon, 02 Mar 2026 10:00:00 GMT"}, nil},
		"legacy names":  {emulator.Options{Limits: seed.LimitOptions{LegacyHeaders: true}}, map[string]string{"X-Rate-Limit-Available": "0", "X-Rate-Limit-Max": "1", "X-Rate-Limit-Expiry": unix(end), "X-Ve-Limit-Max": ""}, nil},
		"no headers":    {emulator.Options{Limits: seed.LimitOptions{NoHeaders: true}}, map[string]string{"X-Ve-Limit-Max": "", "X-Ve-Limit-Expires": ""}, nil},
		"a date string": {emulator.Options{Limits: seed.LimitOptions{DateExpires: true}}, map[string]string{"X-Ve-Limit-Expires": "2026-03-02 10:01:30 UTC"}, nil},
		"retry-after":   {emulator.Options{Limits: seed.LimitOptions{RetryAfter: true}}, map[string]string{"Retry-After": "90"}, nil},
		"in the body":   {emulator.Options{Limits: seed.LimitOptions{BodyRetryAfter: true}}, map[string]string{"Retry-After": ""}, 90.0},
		"a skewed clock": {
			emulator.Options{ClockSkew: -10 * time.Minute},
			map[string]string{"X-Ve-Limit-Expires": unix(end.Add(-10 * time.Minute)), "Date": "Mon, 02 Mar 2026 09:50:00 GMT"},
			nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.options.Limits.Rules = one
			w := newWorld(test.options)
			w.as(t, w.ada, http.MethodGet, "/user/me/details/")
			got := w.as(t, w.ada, http.MethodGet, "/user/me/details/")
			if got.Status != http.StatusTooManyRequests {
				t.Fatalf("status %d", got.Status)
			}
			for header, want := range test.want {
				if got.Header.Get(header) != want {
					t.Errorf("%s: %q, want %q", header, got.Header.Get(header), want)
				}
			}
			if retry := got.get("error.params.retry_after_seconds"); retry != test.retry {
				t.Errorf("retry_after_seconds %v, want %v", retry, test.retry)
			}
		})
	}
}
