package relay_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
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

// A replica that finds the profiles of an account while that is removed leaves no state of it.
func TestAccountThatWasRemovedWhileItBeginsLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	c := p.customer("c")
	asked, removed := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(asked) })
	p.block = func(r *http.Request, _ string) (error, bool) {
		if strings.Contains(r.URL.Path, "/orgs/") {
			first()
			<-removed
		}
		return nil, false
	}
	f := p.start(t, nil)
	must(t, p.Add(t.Context(), relay.Account{Name: "acme", APIKey: api.NewSecret(c.key)}))
	<-asked
	must(t, p.Delete(t.Context(), "acme", nil))
	close(removed)
	time.Sleep(time.Second)
	f.stop()
	kv, err := p.js.KeyValue(t.Context(), "fastio-relay")
	must(t, err)
	keys, err := kv.Keys(t.Context())
	must(t, err)
	for _, key := range keys {
		if strings.Contains(key, "acme") {
			t.Errorf("the key %s is left", key)
		}
	}
}
