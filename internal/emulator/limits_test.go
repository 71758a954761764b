package emulator_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// A client that always waits for what the headers say meets each of the three windows in turn.
func TestWiderWindowsRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "", func(o *seed.Options) { o.Limits.Rules, o.Clock = nil, time.Now })
		begin := time.Now()
		served, refused := 0, 0
		for time.Since(begin) < 10*time.Minute {
			got := p.reply(t, "ada GET /events/search/?org_id={acme}")
			if got.status == http.StatusOK {
				served++
				continue
			}
			refused++
			expires, _ := strconv.ParseInt(got.header.Get("x-ve-limit-expires"), 10, 64)
			time.Sleep(time.Until(time.Unix(expires, 0)))
		}
		if served != 120 || p.Refusals() != refused {
			t.Errorf("%d calls served in ten minutes, %d of %d refusals counted", served, p.Refusals(), refused)
		}
		p.must(t, "ada GET /events/search/?org_id={acme} -> 200")
	})
}
