package relay_test

import (
	"context"
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
