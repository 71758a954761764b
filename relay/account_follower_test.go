package relay_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// product is a product with customers, each of whom has a key and a workspace.
type product struct {
	*fastiotest.Server
	ns   *server.Server
	keys oauth.KeyStore
	js   jetstream.JetStream
	relay.Accounts

	mu    sync.Mutex
	added int
	sent  map[string]int                                         // requests by credential
	block func(r *http.Request, credential string) (error, bool) // may be nil
}

type customer struct {
	user seed.User
	key  string
	room seed.Workspace
}

func newProduct(t *testing.T) *product {
	t.Helper()
	return newProductWith(t, func(o *seed.Options) {
		o.Limits.Rules = []seed.Limit{}
		o.Limits.NoHeaders = true
	})
}

// newProductWith returns a product whose platform has some options.
func newProductWith(t *testing.T, change func(o *seed.Options)) *product {
	t.Helper()
	p := &product{Server: fastiotest.New(change), ns: startServer(t), keys: newKeys(), sent: map[string]int{}}
	p.Accounts, _ = directory(t, p.ns, p.keys)
	p.js = p.Stream.JetStream
	return p
}

// RoundTrip counts the requests of each credential.
func (p *product) RoundTrip(r *http.Request) (*http.Response, error) {
	credential := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	p.sent[credential]++
	block := p.block
	p.mu.Unlock()
	if block != nil {
		if err, blocked := block(r, credential); blocked {
			return nil, err
		}
	}
	return p.Server.RoundTrip(r)
}

// requests returns the number of requests with a credential.
func (p *product) requests(credential string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent[credential]
}

// customer adds a user with a workspace in an organization of its own.
func (p *product) customer(name string) customer {
	user := p.AddUser(seed.User{FirstName: name, Email: name + "@example.test"})
	org := p.AddOrg(seed.Org{Domain: strings.ToLower(name), Name: name, Owner: user.ID})
	return customer{
		user, p.AddKey(seed.Key{User: user.ID, Memo: name}).Token, p.AddWorkspace(seed.Workspace{Org: org.ID, Name: name}),
	}
}

func (c customer) profile() api.Profile { return api.Workspace(api.ID(c.room.ID)) }

// account returns the account of a customer that follows its workspace.
func (c customer) account(name string) relay.Account {
	return relay.Account{Name: name, APIKey: api.NewSecret(c.key), Profiles: []api.Profile{c.profile()}}
}

// log adds events to the workspace of a customer.
func (p *product) log(c customer, n int) {
	for range n {
		p.mu.Lock()
		p.added++
		name := fmt.Sprintf("event%07d", p.added)
		p.mu.Unlock()
		p.AddEvent(seed.Event{
			Name: "workspace_storage_file_added", Workspace: c.room.ID, CallingUser: c.user.ID, ObjectName: name,
			Created: time.Now().Add(-time.Second),
		})
	}
}

// accountReplica is a replica that runs.
type accountReplica struct {
	*relay.AccountFollower

	link *link
	stop func() // and wait
}

// start starts a replica.
func (p *product) start(t *testing.T, change func(f *relay.AccountFollower)) accountReplica {
	t.Helper()
	js, l := connect(t, p.ns)
	f := &relay.AccountFollower{
		Accounts: relay.Accounts{Stream: relay.Stream{JetStream: js}, Keys: p.keys}, Lease: time.Minute,
		HTTPClient: &http.Client{Transport: p}, Options: []fastio.Option{fastio.WithBaseURL("http://fastio.localhost")},
		Follow: events.FollowOptions{Interval: 100 * time.Millisecond},
		OnError: func(_ context.Context, account string, profile api.Profile, err error) {
			t.Log(account, profile, err)
			if errors.Is(err, context.Canceled) || err != nil && strings.Contains(err.Error(), "was removed") {
				t.Error("an orderly stop is reported:", err)
			}
		},
	}
	f.ShortLease()
	if change != nil {
		change(f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
	t.Cleanup(stop)
	return accountReplica{f, l, stop}
}

// stored returns the IDs of the messages of an account, and fails the test if an event is
// stored twice.
func (p *product) stored(t *testing.T, account string) (ids []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range p.messages(t, account) {
		id := m.Header.Get("Nats-Msg-Id")
		if seen[id] {
			t.Errorf("%s is stored twice", id)
		}
		seen[id] = true
		ids = append(ids, id)
	}
	return ids
}

// messages returns the messages of an account.
func (p *product) messages(t *testing.T, account string) (all []*jetstream.RawStreamMsg) {
	t.Helper()
	stream, err := p.js.Stream(t.Context(), "FASTIO")
	must(t, err)
	for next := uint64(1); ; {
		m, err := stream.GetMsg(t.Context(), next, jetstream.WithGetMsgSubject(p.Subject(account)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return all
		}
		must(t, err)
		all, next = append(all, m), m.Sequence+1
	}
}

// waitFor waits until so many events of an account are stored.
func (p *product) waitFor(t *testing.T, account string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d events of %s", n, account), func() bool { return p.count(t, account) >= n })
	if got := len(p.stored(t, account)); got != n {
		t.Errorf("%d events of %s, want %d", got, account, n)
	}
}

func (p *product) count(t *testing.T, account string) (n int) {
	t.Helper()
	stream, err := p.js.Stream(t.Context(), "FASTIO")
	must(t, err)
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(p.Subject(account)))
	must(t, err)
	for _, messages := range info.State.Subjects {
		n += int(messages)
	}
	return n
}

func (p *product) waitForState(t *testing.T, account string, state relay.AccountState) *relay.AccountStatus {
	t.Helper()
	var status *relay.AccountStatus
	eventually(t, account+" is "+string(state), func() bool {
		var err error
		status, err = p.Status(t.Context(), account)
		must(t, err)
		return status.State == state
	})
	return status
}

// Each account is followed with its own credential. Two that see one profile have two copies
// of its events.
func TestAccountFollowerKeepsCustomersApart(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	ctx := t.Context()
	acme, other := p.customer("Acme"), p.customer("Other")
	p.SetMember(acme.room.ID, other.user.ID, "member")
	p.log(acme, 10)
	p.log(other, 5)
	p.start(t, nil)
	must(t, p.Add(ctx, acme.account("acme")))
	both := other.account("other")
	both.Profiles = append(both.Profiles, acme.profile())
	must(t, p.Add(ctx, both))
	must(t, p.Add(ctx, relay.Account{Name: "all", APIKey: api.NewSecret(acme.key)}))
	p.waitFor(t, "acme", 10)
	p.waitFor(t, "other", 15)
	eventually(t, "the events of a workspace that was found", func() bool { return p.count(t, "all") >= 10 })
	status := p.waitForState(t, "all", relay.AccountFollowing)
	if status.Profiles < 2 || status.Replica == "" || status.Since.IsZero() {
		t.Errorf("the status is %+v", status)
	}
	all := map[string]bool{}
	for _, account := range []string{"acme", "other", "all"} {
		for _, id := range p.stored(t, account) {
			if all[id] {
				t.Errorf("two accounts have the message %s", id)
			}
			all[id] = true
		}
	}
	want := fmt.Sprintf("fastio.events.acme.workspace.%s.workspace", acme.room.ID)
	if got := p.messages(t, "acme")[0].Subject; got != want {
		t.Errorf("the subject is %s, want %s", got, want)
	}
}

// A paused account is not followed, and goes on from its checkpoint.
func TestAccountFollowerGoesOnAfterAPause(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	c := p.customer("Acme")
	p.log(c, 10)
	p.start(t, nil)
	must(t, p.Add(t.Context(), c.account("acme")))
	p.waitFor(t, "acme", 10)
	p.waitForState(t, "acme", relay.AccountFollowing)
	must(t, p.Pause(t.Context(), "acme"))
	time.Sleep(time.Second)
	sent := p.requests(c.key)
	p.log(c, 10)
	time.Sleep(time.Second)
	if more := p.requests(c.key) - sent; more > 0 {
		t.Errorf("%d requests of a paused account", more)
	}
	must(t, p.Resume(t.Context(), "acme"))
	p.waitFor(t, "acme", 20)
}

// An account whose credential is revoked sends no request until it has a new one, also if
// another replica takes over, and then goes on from its checkpoint.
func TestRevokedAccountNeedsSignIn(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	ctx := t.Context()
	c, other := p.customer("Acme"), p.customer("Other")
	p.log(c, 10)
	first := p.start(t, nil)
	must(t, p.Add(ctx, c.account("acme")))
	must(t, p.Add(ctx, other.account("other")))
	p.waitFor(t, "acme", 10)
	eventually(t, "the numbers of two accounts that are followed", func() bool {
		s := first.Stats()
		return s.Accounts[relay.AccountFollowing] == 2 && s.Profiles == 2 && s.Published == 10 && s.Slots == relay.Slots &&
			!s.Confirmed.IsZero()
	})
	p.AddKey(seed.Key{Token: c.key, User: c.user.ID, Revoked: true})
	status := p.waitForState(t, "acme", relay.AccountNeedsSignIn)
	if status.Reason == "" || strings.Contains(status.Reason, c.key) {
		t.Errorf("the status is %+v", status)
	}
	if s := first.Stats(); s.Accounts[relay.AccountNeedsSignIn] != 1 {
		t.Errorf("the numbers are %+v", s)
	}
	sent := p.requests(c.key)
	first.stop()
	p.start(t, nil)
	p.log(c, 10)
	p.log(other, 3)
	p.waitFor(t, "other", 3)
	must(t, p.Update(ctx, relay.Account{Name: "acme", Profiles: []api.Profile{c.profile()}})) // keeps the credential
	time.Sleep(time.Second)
	if more := p.requests(c.key) - sent; more > 0 {
		t.Errorf("%d requests after the refusal", more)
	}
	fresh := c
	fresh.key = p.AddKey(seed.Key{User: c.user.ID, Memo: "fresh"}).Token
	must(t, p.Update(ctx, fresh.account("acme")))
	p.waitFor(t, "acme", 20)
	p.waitForState(t, "acme", relay.AccountFollowing)
}

// The busiest profile has a socket, by which its events are found before the next search.
func TestBusiestProfileHasASocket(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	busy, quiet := p.customer("Busy"), p.customer("Quiet")
	web := httptest.NewServer(p.Server)
	t.Cleanup(web.Close)
	p.log(busy, 20)
	p.log(quiet, 1)
	f := p.start(t, func(f *relay.AccountFollower) {
		f.Sockets, f.Lease, f.Follow.Interval = 1, 2*time.Second, time.Hour
		f.HTTPClient, f.Options = nil, []fastio.Option{fastio.WithBaseURL(web.URL)}
	})
	must(t, p.Add(t.Context(), busy.account("busy")))
	must(t, p.Add(t.Context(), quiet.account("quiet")))
	p.waitFor(t, "busy", 20)
	p.waitFor(t, "quiet", 1)
	eventually(t, "a socket", func() bool { return p.Sockets() == 1 })
	client := p.Client(t, fastio.WithToken(busy.key))
	_, err := client.Storage.CreateFolder(t.Context(), busy.profile(), api.Root, "folder", nil)
	must(t, err)
	eventually(t, "an event of the busy profile", func() bool { return p.count(t, "busy") > 20 })
	f.stop()
	eventually(t, "no socket", func() bool { return p.Sockets() == 0 })
}

// One long poll an account reports changes of its busiest profile, within the polls of an hour.
func TestBusiestAccountHasALongPoll(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	busy, quiet := p.customer("Busy"), p.customer("Quiet")
	var mu sync.Mutex
	polls := map[string]int{}
	p.block = func(r *http.Request, credential string) (error, bool) {
		if strings.Contains(r.URL.Path, "/activity/poll/") {
			mu.Lock()
			defer mu.Unlock()
			polls[credential]++
		}
		return nil, false
	}
	p.log(busy, 20)
	p.log(quiet, 1)
	p.start(t, func(f *relay.AccountFollower) { f.Polls, f.Lease, f.Follow.Interval = 1, 2*time.Second, time.Hour })
	must(t, p.Add(t.Context(), busy.account("busy")))
	must(t, p.Add(t.Context(), quiet.account("quiet")))
	p.waitFor(t, "busy", 20)
	p.waitFor(t, "quiet", 1)
	eventually(t, "a poll", func() bool { mu.Lock(); defer mu.Unlock(); return polls[busy.key] > 0 })
	client := p.Client(t, fastio.WithToken(busy.key))
	_, err := client.Storage.CreateFolder(t.Context(), busy.profile(), api.Root, "folder", nil)
	must(t, err)
	eventually(t, "an event of the busy profile", func() bool { return p.count(t, "busy") > 20 })
	mu.Lock()
	defer mu.Unlock()
	if polls[busy.key] > 100 || p.Sockets() > 0 {
		t.Errorf("the polls are %v, with %d sockets", polls, p.Sockets())
	}
}

// An account without an API key uses the sign-in of its name. One that is over is refused
// without an end of requests, and a new one is found without a change of the account.
func TestAccountUsesTheSignInOfItsName(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	ctx := t.Context()
	config, token, _ := signInAt(t, p.Server)
	c := customer{p.User(), "", p.AddWorkspace(seed.Workspace{Org: p.Org().ID})}
	p.log(c, 5)
	config.Store, config.Account = relay.Tokens{Stream: p.Stream, Keys: p.keys}, "acme"
	over := *token
	over.AccessToken, over.RefreshToken = api.NewSecret("over"), api.NewSecret("over")
	must(t, oauth.Save(ctx, config, &over))
	p.start(t, func(f *relay.AccountFollower) { f.SignIn = config })
	must(t, p.Add(ctx, relay.Account{Name: "acme", Profiles: []api.Profile{c.profile()}}))
	p.waitForState(t, "acme", relay.AccountNeedsSignIn)
	time.Sleep(time.Second)
	sent := len(p.Requests())
	time.Sleep(2 * time.Second)
	if more := len(p.Requests()) - sent; more > 0 {
		t.Errorf("%d requests without a sign-in", more)
	}
	must(t, oauth.Save(ctx, config, token))
	p.waitFor(t, "acme", 5)
	p.waitForState(t, "acme", relay.AccountFollowing)
}

// Changes of the profiles while events arrive lose and repeat none.
func TestAccountChangesWhileEventsArrive(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	c := p.customer("Acme")
	second := p.AddWorkspace(seed.Workspace{Org: c.room.Org, Name: "Second"})
	one := c.account("acme")
	one.APIKey = api.Secret{}
	both := one
	both.Profiles = append([]api.Profile{api.Workspace(api.ID(second.ID))}, one.Profiles...)
	p.log(c, 3000)
	p.start(t, nil)
	must(t, p.Add(t.Context(), c.account("acme")))
	for i := 0; p.count(t, "acme") < 3000 && i < 1000; i++ {
		must(t, p.Update(t.Context(), both))
		must(t, p.Update(t.Context(), one))
		must(t, p.Pause(t.Context(), "acme"))
		must(t, p.Resume(t.Context(), "acme"))
		time.Sleep(time.Duration(i) * time.Millisecond)
	}
	p.waitFor(t, "acme", 3000)
}

// refuseAll makes dead letters of all events, with an ordered group.
func (p *product) refuseAll(t *testing.T, n int) {
	t.Helper()
	var c consumed
	o := relay.ConsumeOptions{Stream: p.Stream, Name: "refusing", Account: relay.AllAccounts, Ordered: true, Tries: 1}
	stop := c.consume(t, o, func(relay.Message[events.Event]) error { return errors.New("no") })
	eventually(t, "dead letters", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.dead) == n })
	stop()
}

// Delete stops at once, and deletes what is kept of an account. One of the same name begins
// anew.
func TestRemovedAccountLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	ctx := t.Context()
	c := p.customer("Acme")
	p.log(c, 10)
	p.start(t, nil)
	must(t, p.Add(ctx, c.account("acme")))
	p.waitFor(t, "acme", 10)
	p.waitForState(t, "acme", relay.AccountFollowing)
	publishAs(t, p.js, "other", 1)
	p.refuseAll(t, 11)
	must(t, p.Delete(ctx, "acme", &relay.DeleteOptions{Purge: true}))
	for name, filter := range map[string]string{"FASTIO": p.Subject("acme"), "FASTIO-ORDERED": "fastio.events-ordered.*.acme.>"} {
		stream, err := p.js.Stream(ctx, name)
		must(t, err)
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
		must(t, err)
		if n := len(info.State.Subjects); n > 0 {
			t.Errorf("%d subjects are left in %s", n, name)
		}
	}
	dead, err := p.js.Stream(ctx, "FASTIO-DEAD")
	must(t, err)
	if n := dead.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("%d dead letters are left, want that of the other account", n)
	}
	time.Sleep(time.Second)
	sent := p.requests(c.key)
	kv, err := p.js.KeyValue(ctx, "fastio-relay")
	must(t, err)
	keys, err := kv.Keys(ctx)
	must(t, err)
	for _, key := range keys {
		if strings.Contains(key, "acme") {
			t.Errorf("the key %s is left", key)
		}
	}
	p.log(c, 10)
	time.Sleep(time.Second)
	if more := p.requests(c.key) - sent; more > 0 {
		t.Errorf("%d requests of a removed account", more)
	}
	must(t, p.Add(ctx, c.account("acme")))
	p.waitFor(t, "acme", 20)
}

// A replica that was cut off while an account was removed and added again stores no event of
// the account that was removed.
func TestCutOffReplicaIsFencedFromANewAccount(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	ctx := t.Context()
	c := p.customer("Acme")
	p.log(c, 10)
	lease := func(f *relay.AccountFollower) { f.Lease = 2 * time.Second }
	old := p.start(t, lease)
	must(t, p.Add(ctx, c.account("acme")))
	p.waitFor(t, "acme", 10)
	before, total := p.stored(t, "acme")[0], 10
	var release func()
	eventually(t, "events that are not sent", func() bool {
		release = old.link.Hold() // what it sends arrives late
		for range 50 {            // the log is searched all the time
			p.log(c, 1)
			total++
			time.Sleep(10 * time.Millisecond)
			if old.link.Holds("fastio.events.acme.workspace") {
				return true
			}
		}
		release() // a checkpoint was held before them
		return false
	})
	must(t, p.Delete(ctx, "acme", &relay.DeleteOptions{Purge: true}))
	must(t, p.Add(ctx, c.account("acme")))
	p.start(t, lease)
	release()
	p.waitFor(t, "acme", total)
	time.Sleep(time.Second)
	p.waitFor(t, "acme", total)
	life := before[:strings.LastIndex(before, "-workspace-")]
	for _, id := range p.stored(t, "acme") {
		if strings.HasPrefix(id, life) {
			t.Errorf("the removed account has stored %s", id)
		}
	}
}

// Replicas divide the accounts, and take over those of a lost one.
func TestAccountFollowersTakeOver(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	const n = 20
	all := make([]customer, n)
	for i := range all {
		all[i] = p.customer(fmt.Sprint("Customer", i))
		p.log(all[i], 2)
		must(t, p.Add(t.Context(), all[i].account(fmt.Sprint("customer", i))))
	}
	lease := func(name string) func(f *relay.AccountFollower) {
		return func(f *relay.AccountFollower) {
			f.Lease, f.Name = 2*time.Second, name
			f.OnError = func(_ context.Context, account string, _ api.Profile, err error) { t.Log(account, err) } // it may expire
		}
	}
	first := p.start(t, lease("first"))
	p.start(t, lease("second"))
	for i := range all {
		p.waitFor(t, fmt.Sprint("customer", i), 2)
	}
	replicas := map[string]int{}
	for i := range all {
		replicas[p.waitForState(t, fmt.Sprint("customer", i), relay.AccountFollowing).Replica]++
	}
	if len(replicas) != 2 {
		t.Errorf("the replicas have %v", replicas)
	}
	first.link.Cut()
	for _, c := range all {
		p.log(c, 2)
	}
	for i := range all {
		p.waitFor(t, fmt.Sprint("customer", i), 4)
	}
	first.link.Restore()
}

// An account that hangs, one that fails, one that is refused and one with many events do not
// delay others.
func TestBadAccountsDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	hangs, fails, revoked, floods := p.customer("Hangs"), p.customer("Fails"), p.customer("Revoked"), p.customer("Floods")
	p.AddKey(seed.Key{Token: revoked.key, User: revoked.user.ID, Revoked: true})
	p.log(floods, 20_000)
	var waiting atomic.Int64
	p.block = func(r *http.Request, credential string) (error, bool) {
		switch credential {
		case hangs.key:
			waiting.Add(1)
			defer waiting.Add(-1)
			<-r.Context().Done()
			return r.Context().Err(), true
		case fails.key:
			return errors.New("no connection"), true
		}
		return nil, false
	}
	for i := range 50 {
		bad := hangs.account(fmt.Sprint("hangs", i))
		for j := range 20 {
			bad.Profiles = append(bad.Profiles, api.Workspace(api.ID(fmt.Sprintf("40123456789%08d", i*100+j))))
		}
		must(t, p.Add(t.Context(), bad))
	}
	for name, c := range map[string]customer{"fails": fails, "revoked": revoked, "floods": floods} {
		must(t, p.Add(t.Context(), c.account(name)))
	}
	p.start(t, nil)
	const n = 20
	for i := range n {
		c := p.customer(fmt.Sprint("Good", i))
		p.log(c, 3)
		must(t, p.Add(t.Context(), c.account(fmt.Sprint("good", i))))
	}
	begun := time.Now()
	for i := range n {
		p.waitFor(t, fmt.Sprint("good", i), 3)
	}
	t.Logf("%d accounts took %s beside %d requests that hang", n, time.Since(begun), waiting.Load())
	p.waitForState(t, "revoked", relay.AccountNeedsSignIn)
	if most := waiting.Load(); most == 0 || most > 50*4 {
		t.Errorf("%d requests hang", most)
	}
}

func TestAccountFollowerRefusesInvalidFields(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	for field, f := range map[string]*relay.AccountFollower{
		"AccountFollower.Accounts.Keys": {Accounts: relay.Accounts{Stream: p.Stream}},
		"AccountFollower.Lease":         {Accounts: p.Accounts, Lease: time.Second},
		"AccountFollower.Follow":        {Accounts: p.Accounts, Follow: events.FollowOptions{Name: "x"}},
	} {
		e, ok := errors.AsType[*api.InputError](f.Run(t.Context()))
		if !ok || e.Field != field {
			t.Errorf("%s: got %v", field, e)
		}
	}
}

// The end of an account that was removed is not reported, also if an event was written before the
// replica heard of the removal.
func TestRemovalIsNotReported(t *testing.T) {
	t.Parallel()
	removed := fmt.Errorf("publishing: %w", relay.RemovedError("acme"))
	if !errors.Is(removed, relay.ErrLost) {
		t.Error("a removal does not end the lease of the account")
	}
	for name, try := range map[string]struct {
		isListed bool
		err      error
		want     int
	}{
		"a lost lease of an account":            {true, relay.ErrLost, 1},
		"a lost lease of a removed account":     {false, relay.ErrLost, 0},
		"a removal that is not in the list":     {true, removed, 0},
		"a removal that is in the list as well": {false, removed, 0},
	} {
		reports := 0
		f := &relay.AccountFollower{OnError: func(context.Context, string, api.Profile, error) { reports++ }}
		relay.ReportAccountError(t.Context(), f, "acme", try.isListed, try.err)
		if reports != try.want {
			t.Errorf("%s: %d reports, want %d", name, reports, try.want)
		}
	}
}

func TestProfileThatCannotStartIsTriedAgain(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	c := p.customer("acme")
	must(t, p.Add(t.Context(), c.account("acme")))
	var failures atomic.Int32
	p.start(t, func(f *relay.AccountFollower) {
		f.Follow.Interval = -1
		f.OnError = func(_ context.Context, _ string, profile api.Profile, err error) {
			if _, ok := errors.AsType[*api.InputError](err); ok && profile == c.profile() {
				failures.Add(1)
			}
		}
	})
	eventually(t, "another try", func() bool { return failures.Load() > 1 })
}
