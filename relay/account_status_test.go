package relay_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

// refuseWrites makes NATS refuse all writes to the bucket until the returned function is called.
func (p *product) refuseWrites(t *testing.T) (accept func()) {
	t.Helper()
	const bucket = "KV_fastio-relay"
	stream, err := p.js.Stream(t.Context(), bucket)
	must(t, err)
	set := func(size int32) {
		config := stream.CachedInfo().Config
		config.MaxMsgSize = size
		_, err := p.js.UpdateStream(t.Context(), config)
		must(t, err)
	}
	set(1)
	return func() { set(-1) }
}

// A state that could not be written is written later, although nothing wakes the account.
func TestStateOfAnAccountIsWrittenAfterAFailure(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		c := p.customer("c")
		failed := make(chan struct{}, 100)
		p.start(t, func(f *relay.AccountFollower) {
			f.OnError = func(_ context.Context, _ string, _ api.Profile, err error) {
				if strings.Contains(err.Error(), "writing the status") {
					failed <- struct{}{}
				}
			}
		})
		must(t, p.Add(t.Context(), c.account("c")))
		p.waitForState(t, "c", relay.AccountFollowing)
		accept := p.refuseWrites(t)
		p.AddKey(seed.Key{Token: c.key, User: c.user.ID, Revoked: true})
		<-failed
		accept()
		time.Sleep(2 * time.Minute)
		if s, err := p.Status(t.Context(), "c"); err != nil || s.State != relay.AccountNeedsSignIn {
			t.Errorf("the status is %+v, %v", s, err)
		}
	})
}

// A state that a replica has sent before it lost an account, and that arrives late, does not replace that of the
// next replica.
func TestLateStateDoesNotReplaceThatOfTheNextReplica(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		start := func(name string) accountReplica {
			return p.start(t, func(f *relay.AccountFollower) {
				f.Lease, f.Name = 15*time.Second, name
				f.OnError = func(_ context.Context, account string, _ api.Profile, err error) { t.Log(name, account, err) }
			})
		}
		first := start("first")
		all := make([]customer, 20)
		for i := range all {
			name := "c" + strconv.Itoa(i)
			all[i] = p.customer(name)
			must(t, p.Add(t.Context(), all[i].account(name)))
			p.log(all[i], 5)
		}
		for i := range all {
			p.waitFor(t, "c"+strconv.Itoa(i), 5)
		}
		time.Sleep(10 * time.Second)
		release := first.link.Hold()
		for _, c := range all { // so that the lost lease fails the searches
			p.log(c, 5)
		}
		time.Sleep(9 * time.Second)
		start("second") // the first tries to write that it has come, until its lease is lost
		for i := range all {
			p.waitFor(t, "c"+strconv.Itoa(i), 10)
		}
		if !first.link.HoldsMatch(`account-status[^"]*\r\n.*"state":"failing"`) {
			t.Error("no state is late")
		}
		release()
		time.Sleep(time.Minute)
		for i := range all {
			p.waitForState(t, "c"+strconv.Itoa(i), relay.AccountFollowing)
		}
	})
}
