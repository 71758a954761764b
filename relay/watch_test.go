package relay_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// endWatches ends the watches of keys with a prefix in the bucket: NATS deletes their consumers, and
// refuses to create any others until the returned function is called.
func (p *product) endWatches(t *testing.T, prefix string) (accept func()) {
	t.Helper()
	setLimit := func(consumers int) {
		const unlimited = -1
		limits := server.JetStreamAccountLimits{
			MaxMemory: unlimited, MaxStore: unlimited, MaxStreams: unlimited, MaxConsumers: consumers, MaxAckPending: unlimited,
		}
		must(t, p.ns.GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": limits}))
	}
	bucket, err := p.js.Stream(t.Context(), "KV_fastio-relay")
	must(t, err)
	_, err = bucket.CreateConsumer(t.Context(), jetstream.ConsumerConfig{})
	must(t, err)
	setLimit(1) // which is reached
	ended := 0
	for c := range bucket.ListConsumers(t.Context()).Info() {
		if strings.HasPrefix(c.Config.FilterSubject, "$KV.fastio-relay."+prefix) {
			must(t, bucket.DeleteConsumer(t.Context(), c.Name))
			ended++
		}
	}
	if ended == 0 {
		t.Fatal("there is no watch")
	}
	time.Sleep(time.Minute) // the library notices it
	return func() { setLimit(-1) }
}

// A sign-in while the replica has no watch is found by its next watch.
func TestSignInWithoutAWatchIsFound(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		config, token, _ := signInAt(t, p.Server)
		c := customer{p.User(), "", p.AddWorkspace(seed.Workspace{Org: p.Org().ID})}
		p.log(c, 5)
		config.Store, config.Account = relay.Tokens{Stream: p.Stream, Keys: p.keys}, "acme"
		over := *token
		over.AccessToken, over.RefreshToken = api.NewSecret("over"), api.NewSecret("over")
		must(t, oauth.Save(t.Context(), config, &over))
		p.start(t, func(f *relay.AccountFollower) { f.SignIn = config })
		must(t, p.Add(t.Context(), relay.Account{Name: "acme", Profiles: []api.Profile{c.profile()}}))
		p.waitForState(t, "acme", relay.AccountNeedsSignIn)
		accept := p.endWatches(t, "token.")
		must(t, oauth.Save(t.Context(), config, token))
		time.Sleep(10 * time.Second)
		accept()
		p.waitFor(t, "acme", 5)
	})
}

// Processes hear of a pause that the platform orders also after the watch of the limits has ended, and in
// a new bucket.
func TestLimitsAreSharedAfterTheEndOfAWatch(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		var all [2]*relay.Limits
		for i := range all {
			js, _ := connect(t, p.ns)
			l, err := relay.NewLimits(t.Context(), relay.LimitsOptions{Stream: relay.Stream{JetStream: js}, Name: "user"})
			must(t, err)
			t.Cleanup(l.Close)
			all[i] = l
		}
		requirePause := func(when string) {
			const group, pause = "a group without published limits", 5 * time.Minute
			must(t, all[0].Acquire(t.Context(), group))
			all[0].Observe(group, api.RateLimit{RetryAfter: pause})
			ordered := time.Now()
			time.Sleep(5 * time.Second)
			must(t, all[1].Acquire(t.Context(), group))
			if after := time.Since(ordered); after < pause {
				t.Errorf("%s another process sends a request after %v", when, after)
			}
			all[1].Observe(group, api.RateLimit{})
		}
		requirePause("with the first watch")
		p.endWatches(t, "limit.")()
		time.Sleep(time.Minute)
		requirePause("with the second watch")
		must(t, p.js.DeleteKeyValue(t.Context(), "fastio-relay"))
		time.Sleep(time.Minute)
		must(t, p.Stream.Create(t.Context()))
		time.Sleep(time.Minute)
		requirePause("in a new bucket")
	})
}

// Accounts that are added to a new bucket, after the one before was deleted, are followed.
func TestAccountsOfANewBucketAreFollowed(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		config, token, _ := signInAt(t, p.Server)
		config.Store, config.Account = relay.Tokens{Stream: p.Stream, Keys: p.keys}, "signed-in"
		signedIn := customer{p.User(), "", p.AddWorkspace(seed.Workspace{Org: p.Org().ID})}
		p.log(signedIn, 5)
		c := p.customer("c")
		p.log(c, 5)
		p.start(t, func(f *relay.AccountFollower) { f.SignIn, f.Lease = config, 15*time.Second })
		must(t, p.Add(t.Context(), c.account("c")))
		p.waitFor(t, "c", 5)
		for range 100 { // so that the new bucket has lower revisions
			must(t, p.Update(t.Context(), c.account("c")))
			must(t, oauth.Save(t.Context(), config, token))
		}
		time.Sleep(time.Minute)
		must(t, p.js.DeleteKeyValue(t.Context(), "fastio-relay"))
		time.Sleep(time.Minute) // a replica has created it again
		must(t, p.Add(t.Context(), c.account("new")))
		must(t, p.Add(t.Context(), relay.Account{Name: "signed-in", Profiles: []api.Profile{signedIn.profile()}}))
		p.waitFor(t, "new", 5)
		p.waitForState(t, "signed-in", relay.AccountNeedsSignIn)
		must(t, oauth.Save(t.Context(), config, token))
		p.waitFor(t, "signed-in", 5)
	})
}

// countingContext is a context that counts those that wait for its end.
type countingContext struct {
	context.Context

	waiting int
}

func (c *countingContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *countingContext) AfterFunc(func()) (stop func() bool) {
	c.waiting++
	return func() bool {
		c.waiting--
		return true
	}
}

// Watches that have ended, one after the other while NATS is away, are not kept in memory.
func TestEndedWatchesAreNotKept(t *testing.T) {
	t.Parallel()
	c := &countingContext{Context: t.Context()}
	relay.EndWatches(t.Context(), c, 10)
	if c.waiting != 0 {
		t.Errorf("%d watches are kept", c.waiting)
	}
}
