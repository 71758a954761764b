package relay_test

import (
	"testing"
	"time"

	"github.com/fastio-go/fastio/relay"
)

// A replica that was cut off while an account was removed sends no request for it afterwards, also if it
// was cut off for longer than NATS keeps the mark of the removal.
func TestAccountThatWasRemovedDuringACutIsFollowedNoMore(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]struct{ lease, time time.Duration }{
		"the lease was kept": {lease: 10 * time.Minute, time: 3 * time.Minute},
		"the lease was lost": {lease: 15 * time.Second, time: 61 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
				p := newProduct(t)
				c := p.customer("c")
				must(t, p.Add(t.Context(), c.account("c")))
				f := p.start(t, func(f *relay.AccountFollower) { f.Lease, f.Follow.Interval = cut.lease, 5*time.Second })
				p.log(c, 5)
				p.waitFor(t, "c", 5)
				f.link.Cut()
				must(t, p.Delete(t.Context(), "c", nil))
				time.Sleep(cut.time)
				sent := p.requests(c.key)
				f.link.Restore()
				time.Sleep(10 * time.Minute)
				if more := p.requests(c.key) - sent; more > 1 {
					t.Errorf("%d requests for an account that was removed", more)
				}
				if n := f.Stats().Accounts; len(n) > 0 {
					t.Errorf("the accounts are %v", n)
				}
			})
		})
	}
}
