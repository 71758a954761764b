package realtime_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/realtime"
)

// No frame ends the stream.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"response":"activity","activity":["storage:2abc","preview:2abc"]}`,
		`{"response":"activity","activity":{"storage:2abc":"2026-03-02 09:30:00.000001 UTC"}}`,
		`{"response":"activity","activity":"members"}`,
		`{"response":"activity","activity":[{}]}`,
		`{"response":"event","time":"2026-03-02 09:30:00.5","timestamp":"1772443800.123456",` +
			`"event":"comment_created","activity_field":"comments:2a","data":[]}`,
		`{"response":"event","timestamp":"never","data":{"a":[1,2,{"b":null}]}}`,
		`{"response":{"activity":[]}}`,
		`{"response":"presence"}`, `{`, `[]`, `""`, "\xff", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			c := begin(t, p, func(o *realtime.Options) { o.Coalesce = -1 })
			time.Sleep(time.Second)
			p.frame(text)
			p.frame(`{"response":"activity","activity":["the next"]}`)
			time.Sleep(time.Second)
			if got := c.told(); len(got) == 0 || got[len(got)-1] != "the next" {
				t.Errorf("reported %v", got)
			}
			if err := c.stop(t); err != nil {
				t.Error(err)
			}
			for _, change := range c.all() {
				are := []bool{change.Field != "", change.Resync != nil, change.Entry != nil, change.Frame != nil}
				kinds := len(slices.DeleteFunc(are, func(is bool) bool { return !is }))
				if kinds > 1 || kinds == 0 && len(change.Events) == 0 && !strings.Contains(text, `""`) {
					t.Errorf("a change is %+v", change)
				}
			}
		})
	})
}
