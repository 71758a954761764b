package relay_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

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

// behind is a connection to servers of NATS one of which does not know a new key yet.
type behind struct {
	jetstream.JetStream

	key   string
	reads *atomic.Int64
}

func (b behind) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	kv, err := b.JetStream.KeyValue(ctx, bucket)
	return behindBucket{kv, b}, err
}

type behindBucket struct {
	jetstream.KeyValue
	behind
}

func (b behindBucket) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if isFirst := key == b.key && b.reads.Add(1) == 1; isFirst {
		return nil, jetstream.ErrKeyNotFound
	}
	return b.KeyValue.Get(ctx, key)
}

// An account that a server of NATS does not know yet, when the replica reads it, is not lost.
func TestAccountThatAServerDoesNotKnowYetIsFollowed(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		c := p.customer("c")
		var reads atomic.Int64
		p.start(t, func(f *relay.AccountFollower) {
			f.Accounts.Stream.JetStream = behind{f.Accounts.Stream.JetStream, "account.c", &reads}
		})
		p.log(c, 5)
		must(t, p.Add(t.Context(), c.account("c")))
		time.Sleep(5 * time.Minute)
		p.waitFor(t, "c", 5)
		if reads.Load() < 2 {
			t.Error("the account was not read again")
		}
	})
}
