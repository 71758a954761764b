package emulator_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// A client that always waits for what the headers say meets each of the three windows in turn.
func TestWiderWindowsRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(seed.Options{Clock: time.Now})
		begin := time.Now()
		served, refused := 0, 0
		for time.Since(begin) < 10*time.Minute {
			got := w.search(t, w.ada, "org_id", w.org.ID)
			if got.Status == http.StatusOK {
				served++
				continue
			}
			refused++
			expires, _ := strconv.ParseInt(got.Header.Get("x-ve-limit-expires"), 10, 64)
			time.Sleep(time.Until(time.Unix(expires, 0)))
		}
		if served != 120 || w.Refusals() != refused {
			t.Errorf("%d calls served in ten minutes, %d of %d refusals counted", served, w.Refusals(), refused)
		}
		if got := w.search(t, w.ada, "org_id", w.org.ID); got.Status != http.StatusOK {
			t.Errorf("after ten minutes: %d", got.Status)
		}
	})
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
		"fixed from the first call": {
			seed.FixedFromFirst,
			[]int{4, 9, 11, 14, 15, 16},
			[]int{200, 200, 429, 200, 200, 429},
			[]int{14, 14, 14, 24, 24, 24},
		},
		"fixed to the clock": {
			seed.FixedToClock,
			[]int{4, 9, 9, 10, 11, 12},
			[]int{200, 200, 429, 200, 200, 429},
			[]int{10, 10, 10, 20, 20, 20},
		},
		"sliding": {
			seed.Sliding,
			[]int{4, 9, 13, 14, 15, 19},
			[]int{200, 200, 429, 200, 429, 200},
			[]int{14, 14, 14, 19, 19, 24},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rules := []seed.Limit{{Ops: []seed.Op{"events.Search"}, Max: 2, Size: 10 * time.Second}}
				w := newWorld(seed.Options{
					Clock: time.Now, Limits: seed.LimitOptions{Windows: test.kind, Rules: rules},
				})
				begin := time.Now()
				for i, second := range test.at {
					time.Sleep(time.Until(begin.Add(time.Duration(second) * time.Second)))
					got := w.search(t, w.ada, "org_id", w.org.ID)
					want := unix(begin.Add(time.Duration(test.expires[i]) * time.Second))
					expires, status := got.Header.Get("x-ve-limit-expires"), test.status[i]
					if got.Status != status || expires != want {
						t.Errorf("at %d s: %d, expires %s, want %d, %s", second, got.Status, expires, status, want)
					}
				}
			})
		})
	}
}
