package relay_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// badKey sends a wrong API key while it is set, for a profile or for all.
type badKey struct {
	atomic.Bool

	platform *platform
	profile  string // "" for all
}

func (b *badKey) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.Load() && strings.Contains(r.URL.RawQuery, b.profile) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer unknown")
	}
	return b.platform.RoundTrip(r)
}

// use makes a replica use the key.
func (b *badKey) use(t *testing.T, f *relay.Follower) {
	t.Helper()
	client := b.platform.Client(t, fastio.WithHTTPClient(&http.Client{Transport: b}))
	f.Events = events.New(unlimited{client}, &events.Options{Waker: b.platform})
}

// errorLog are the errors of a replica.
type errorLog struct {
	mu  sync.Mutex
	all []string
}

func (l *errorLog) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, err.Error())
}

func (l *errorLog) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(strings.Join(l.all, "\n"), text)
}

func TestReplicaWithABadKeyTakesNoShareUntilItIsRepaired(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(9), startServer(t)
	key := &badKey{platform: p}
	var log errorLog
	key.Store(true)
	bad := p.start(t, ns, func(f *relay.Follower) {
		key.use(t, f)
		f.OnError = func(_ context.Context, profile api.Profile, err error) {
			if profile == (api.Profile{}) {
				log.add(err)
			}
		}
	})
	const reason = "the platform refuses the credential of the replica"
	refused := func() bool {
		s := bad.Stats()
		return s.Err != nil && strings.Contains(s.Err.Error(), reason) && len(s.Held) == 0 && log.has(reason)
	}
	eventually(t, "the reason in the state and the log", refused)
	good := []*follower{p.start(t, ns, nil), p.start(t, ns, nil)}
	for _, w := range p.profiles {
		p.add(w, 5)
	}
	eventually(t, "45 events", func() bool { return count(t, good[0].js) == 45 })
	if !refused() || len(good[0].Stats().Held)+len(good[1].Stats().Held) != 9 {
		t.Errorf("the replica with the bad key: %+v", bad.Stats())
	}
	key.Store(false)
	eventually(t, "a share for each", func() bool {
		return len(bad.Stats().Held) == 3 && len(good[0].Stats().Held) == 3 && len(good[1].Stats().Held) == 3
	})
	key.Store(true) // revoked while it follows
	for _, w := range p.profiles {
		p.add(w, 5)
	}
	eventually(t, "90 events", func() bool { return count(t, good[0].js) == 90 })
	eventually(t, "the reason again", refused)
}

// A platform that refuses a request for one profile has not refused the credential.
func TestReplicaKeepsItsShareWhenOneProfileIsRefused(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(3), startServer(t)
	key := &badKey{platform: p, profile: string(p.profiles[0].ID)}
	key.Store(true)
	f := p.start(t, ns, func(f *relay.Follower) { key.use(t, f) })
	for _, w := range p.profiles[1:] {
		p.add(w, 5)
	}
	eventually(t, "10 events", func() bool { return count(t, f.js) == 10 })
	eventually(t, "the failure of the profile", func() bool { return f.Status()[0].Failures > 1 })
	if s := f.Stats(); s.Err != nil {
		t.Errorf("the state of the replica is %v", s.Err)
	}
}

// changingKey is a key that an operator replaces.
type changingKey struct{ atomic.Pointer[oauth.KeyStore] }

func (k *changingKey) LoadKey(ctx context.Context) ([]byte, error) { return (*k.Load()).LoadKey(ctx) }

func (k *changingKey) SaveKey(context.Context, []byte) error { return errors.New("there is a key") }

func newChangingKey(key oauth.KeyStore) *changingKey {
	k := &changingKey{}
	k.Store(&key)
	return k
}

func randomKey() oauth.KeyStore {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // which never fails
	return oauth.StaticKey(key)
}

func TestReplicaWithoutTheKeyOfTheAccountsTakesNoSlots(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	var customers []customer
	for i := range 9 {
		name := "c" + strconv.Itoa(i)
		customers = append(customers, p.customer(name))
		must(t, p.Add(t.Context(), customers[i].account(name)))
	}
	keys := newChangingKey(randomKey())
	var log errorLog
	bad := p.start(t, func(f *relay.AccountFollower) {
		f.Accounts.Keys = keys
		f.OnError = func(_ context.Context, account string, _ api.Profile, err error) {
			log.add(errors.New(account + ": " + err.Error()))
		}
	})
	const reason = ": the Keys do not decrypt the credentials of the accounts"
	eventually(t, "the reason", func() bool { return log.has(reason) && bad.Stats().Err != nil })
	good := []accountReplica{p.start(t, nil), p.start(t, nil)}
	for _, c := range customers {
		p.log(c, 5)
	}
	for i := range customers {
		p.waitFor(t, "c"+strconv.Itoa(i), 5)
	}
	if s := bad.Stats(); s.Slots != 0 || good[0].Stats().Slots+good[1].Stats().Slots != relay.Slots {
		t.Errorf("the replica with the wrong key: %+v", s)
	}
	keys.Store(&p.keys)
	eventually(t, "slots of the repaired replica", func() bool { return bad.Stats().Slots > 1000 && bad.Stats().Err == nil })
}

// A replica that was forgotten when the key was replaced leaves the accounts to others.
func TestReplicaWithTheOldKeyLeavesItsSlots(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	old := p.keys
	c := p.customer("c")
	must(t, p.Add(t.Context(), c.account("c")))
	forgotten := p.start(t, nil)
	p.log(c, 5)
	p.waitFor(t, "c", 5)
	p.keys = randomKey()
	p.Accounts.Keys, p.OtherKeys = p.keys, []oauth.KeyStore{old}
	next := p.start(t, func(f *relay.AccountFollower) { f.Accounts.OtherKeys = p.OtherKeys })
	changed := func() bool { n, err := p.Reseal(t.Context()); return err == nil && n == 0 }
	eventually(t, "the new key", changed)
	for i := range 20 { // some of them belong to slots of either replica
		name := "d" + strconv.Itoa(i)
		must(t, p.Add(t.Context(), c.account(name)))
	}
	for i := range 20 {
		p.waitFor(t, "d"+strconv.Itoa(i), 5)
	}
	eventually(t, "all slots", func() bool { return next.Stats().Slots == relay.Slots && forgotten.Stats().Slots == 0 })
	if s := forgotten.Stats(); s.Err == nil || time.Since(s.Since) < 0 {
		t.Errorf("the state is %+v", s)
	}
}

// heldKey is a key of which some loads wait until it is released.
type heldKey struct {
	oauth.KeyStore

	holds    func(load int64) bool
	loads    atomic.Int64
	released chan struct{}
}

func (k *heldKey) LoadKey(ctx context.Context) ([]byte, error) {
	if k.holds(k.loads.Add(1)) {
		select {
		case <-k.released:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return k.KeyStore.LoadKey(ctx)
}

// A replica that was forgotten leaves its accounts to others also while these still encrypt credentials again:
// that it decrypts one of the old ones does not make its key that of the others.
func TestReplicaWithTheOldKeyLeavesItsSlotsDuringReseal(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	isOfAccount := func(load int64) bool { return load > 1 } // the first one is for the record of the keys
	old := &heldKey{KeyStore: p.keys, holds: isOfAccount, released: make(chan struct{})}
	c := p.customer("c")
	must(t, p.Add(t.Context(), c.account("c")))
	forgotten := p.start(t, nil)
	p.log(c, 5)
	p.waitFor(t, "c", 5)
	p.keys = randomKey()
	p.Accounts.Keys = p.keys
	next := p.start(t, func(f *relay.AccountFollower) { f.Accounts.OtherKeys = []oauth.KeyStore{old} })
	eventually(t, "slots of the next replica", func() bool { return next.Stats().Slots > 0 })
	for i := range 20 { // some of them belong to slots of either replica
		must(t, p.Add(t.Context(), c.account("d"+strconv.Itoa(i))))
	}
	eventually(t, "all slots", func() bool { return next.Stats().Slots == relay.Slots && forgotten.Stats().Slots == 0 })
	close(old.released)
	for i := range 20 {
		p.waitFor(t, "d"+strconv.Itoa(i), 5)
	}
}

// A replica whose first check of the keys ends without a result checks them again before it joins: until it
// has written the record of the new key, a forgotten replica keeps accounts that it cannot follow.
func TestReplicaChecksItsKeysUntilTheResultIsKnown(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	c := p.customer("c")
	must(t, p.Add(t.Context(), c.account("c")))
	forgotten := p.start(t, nil)
	p.log(c, 5)
	p.waitFor(t, "c", 5)
	isFirst := func(load int64) bool { return load == 1 }
	old := &heldKey{KeyStore: p.keys, holds: isFirst} // until the request for the check has timed out
	p.keys = randomKey()
	p.Accounts.Keys = p.keys
	next := p.start(t, func(f *relay.AccountFollower) { f.Accounts.OtherKeys = []oauth.KeyStore{old} })
	for i := range 20 { // some of them belong to slots of either replica
		must(t, p.Add(t.Context(), c.account("d"+strconv.Itoa(i))))
	}
	eventually(t, "all slots", func() bool { return next.Stats().Slots == relay.Slots && forgotten.Stats().Slots == 0 })
}

// A key that was lost takes the credentials with it, and nothing else: an account with a new credential is
// followed.
func TestAccountsAreFollowedAfterTheLossOfTheKey(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	c, other := p.customer("c"), p.customer("other")
	must(t, p.Add(t.Context(), c.account("c")))
	must(t, p.Add(t.Context(), other.account("other")))
	before := p.start(t, nil)
	p.log(c, 5)
	p.waitFor(t, "c", 5)
	before.stop()
	p.keys = randomKey()
	p.Accounts.Keys = p.keys
	after := p.start(t, nil)
	eventually(t, "the reason", func() bool { return after.Stats().Err != nil })
	must(t, p.Update(t.Context(), c.account("c")))
	p.log(c, 5)
	p.waitFor(t, "c", 10)
	if s := p.waitForState(t, "other", relay.AccountFailing); !strings.Contains(s.Reason, "sealed with another key") {
		t.Errorf("the status of the account without a new credential is %+v", s)
	}
}

// A replica that had a wrong key when there were no accounts does not keep the others from following them.
func TestWrongKeyBeforeTheFirstAccountHarmsNoOther(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	bad := p.start(t, func(f *relay.AccountFollower) { f.Accounts.Keys = randomKey() })
	eventually(t, "slots of the replica with the wrong key", func() bool { return bad.Stats().Slots == relay.Slots })
	good := p.start(t, nil)
	for i := range 9 {
		name := "c" + strconv.Itoa(i)
		c := p.customer(name)
		must(t, p.Add(t.Context(), c.account(name)))
		p.log(c, 5)
	}
	for i := range 9 {
		p.waitFor(t, "c"+strconv.Itoa(i), 5)
	}
	eventually(t, "all slots", func() bool { return good.Stats().Slots == relay.Slots && bad.Stats().Slots == 0 })
}

// A replica that has left its group ends when the connection is closed, as one in the group does.
func TestReplicaOutsideItsGroupEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		must(t, p.Add(t.Context(), p.customer("c").account("c")))
		js, _ := connect(t, p.ns)
		s := relay.Stream{JetStream: js}
		accounts := &relay.AccountFollower{Accounts: relay.Accounts{Stream: s, Keys: randomKey()}}
		platform := newPlatform(2)
		key := &badKey{platform: platform}
		key.Store(true)
		profiles := &relay.Follower{Stream: s, Profiles: platform.profiles}
		key.use(t, profiles)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		ended := make(chan error)
		go func() { ended <- accounts.Run(ctx) }()
		go func() { ended <- profiles.Run(ctx) }()
		time.Sleep(time.Minute)
		if accounts.Stats().Err == nil || profiles.Stats().Err == nil {
			t.Error("a replica is in its group")
		}
		js.Conn().Close()
		for range 2 {
			if err := <-ended; !errors.Is(err, nats.ErrConnectionClosed) {
				t.Errorf("Run returned %v", err)
			}
		}
	})
}

// While a key hangs, accounts that are followed do not wait for those that begin, and the reason is reported.
func TestKeyThatHangsDelaysNoOtherAccount(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		c := p.customer("c")
		must(t, p.Add(t.Context(), c.account("c")))
		var hangs atomic.Bool
		keys := &heldKey{KeyStore: p.keys, holds: func(int64) bool { return hangs.Load() }}
		var log errorLog
		p.start(t, func(f *relay.AccountFollower) {
			f.Accounts.Keys = keys
			f.OnError = func(_ context.Context, _ string, _ api.Profile, err error) { log.add(err) }
		})
		p.log(c, 5)
		p.waitFor(t, "c", 5)
		hangs.Store(true)
		for i := range relay.AccountSteps {
			must(t, p.Add(t.Context(), c.account("d"+strconv.Itoa(i))))
		}
		time.Sleep(time.Minute)
		p.log(c, 5)
		p.waitFor(t, "c", 10)
		if !log.has("the key that encrypts credentials cannot be loaded") {
			t.Error("the reason is not reported")
		}
	})
}

// A replica with another key than the one that was lost finds the only new sign-in of many, also if NATS is far
// away.
func TestNewSignInIsFoundAmongMany(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProduct(t)
		config, token, _ := signInAt(t, p.Server)
		c := customer{p.User(), "", p.AddWorkspace(seed.Workspace{Org: p.Org().ID})}
		p.log(c, 5)
		const last = "a99"
		save := func(name string) {
			config.Store, config.Account = relay.Tokens{Stream: p.Stream, Keys: p.keys}, name
			must(t, oauth.Save(t.Context(), config, token))
		}
		for i := range 100 {
			name := "a" + strconv.Itoa(i)
			save(name)
			must(t, p.Add(t.Context(), relay.Account{Name: name, Profiles: []api.Profile{c.profile()}, Paused: name != last}))
		}
		before := p.start(t, func(f *relay.AccountFollower) { f.SignIn = config })
		p.waitFor(t, last, 5)
		before.stop()
		kv, err := p.js.KeyValue(t.Context(), "fastio-relay")
		must(t, err)
		must(t, kv.Purge(t.Context(), "token."+last))
		p.keys = randomKey()
		p.Accounts.Keys = p.keys
		save(last)
		after := p.start(t, func(f *relay.AccountFollower) { f.SignIn = config })
		after.link.delay.Store(int64(100 * time.Millisecond))
		p.log(c, 5)
		p.waitFor(t, last, 10)
	})
}
