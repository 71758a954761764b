package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server/ats"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

// aloneEnv makes the test binary run one test in virtual time.
const aloneEnv = "FASTIO_RELAY_TEST_ALONE"

// virtual runs a test with a NATS server in virtual time, in a process of its own: the
// packages of NATS have pools of timers, which a bubble must not share with other tests.
func virtual(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	if os.Getenv(aloneEnv) == "" {
		args := []string{"-test.v", "-test.run=^" + t.Name() + "$", "-test.timeout=1h"}
		cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
		cmd.Env = append(os.Environ(), aloneEnv+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v: %s", err, out)
			return
		}
		t.Logf("%s", out)
		return
	}
	ats.Register() // outside of the bubble: its goroutine waits for a channel of its package
	defer ats.Unregister()
	synctest.Test(t, run)
}

// busyProduct is a product in virtual time, whose customers come and go, and whose replicas
// are killed, restarted and cut off.
type busyProduct struct {
	*product
	replicas []*hourReplica
	names    atomic.Int64 // of customers so far
	wg       sync.WaitGroup

	state     sync.Mutex
	customers map[string]*hourCustomer // by name; those that were removed stay
	byKey     map[string]*hourCustomer
	revoked   map[string]time.Time // when a key was used first after it was revoked
	disturbed time.Time            // when a replica was last disturbed, or was so until
	late      []string
}

// hourCustomer is a customer with its workspaces.
type hourCustomer struct {
	customer
	rooms   []seed.Workspace
	name    string
	want    []string // IDs of events
	taken   bool     // a goroutine changes it
	live    bool     // it is in the directory, and not paused
	known   bool     // it is in the directory
	changed time.Time
	used    time.Time // the latest request since it was changed; zero before the first
}

// hourReplica is a replica and its way to the platform.
type hourReplica struct {
	accountReplica
	b    *busyProduct
	dead atomic.Bool
}

var errDead = errors.New("the replica was killed")

// RoundTrip sends a request, unless the replica was killed.
func (r *hourReplica) RoundTrip(request *http.Request) (*http.Response, error) {
	if r.dead.Load() {
		return nil, errDead
	}
	credential := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
	r.b.state.Lock()
	if c := r.b.byKey[credential]; c != nil {
		r.b.record(c, credential)
	}
	r.b.state.Unlock()
	return r.b.Server.RoundTrip(request)
}

const changeTime = 5 * time.Second // of a change of the accounts, on replicas that reach NATS

// record records a request of a customer. Changes must have taken effect in time, and a key that
// was refused is used no more. Of replicas that did not reach NATS meanwhile, one has stopped
// after its lease, and another has begun. The caller holds b.state.
func (b *busyProduct) record(c *hourCustomer, key string) {
	now, first := time.Now(), c.used.IsZero()
	c.used = now
	limit := changeTime
	if c.changed.Sub(b.disturbed) < 2*hourLease {
		limit = 4 * hourLease
	}
	if took := now.Sub(c.changed); took > limit && (first || !c.live) {
		b.late = append(b.late, fmt.Sprintf("%s: a request %v after a change, followed: %t", c.name, took, c.live))
	}
	at, revoked := b.revoked[key]
	switch {
	case !revoked:
	case at.IsZero():
		b.revoked[key] = now
	case now.Sub(at) > changeTime && at.Sub(b.disturbed) > 2*hourLease: // otherwise another replica may not know of it
		b.late = append(b.late, fmt.Sprintf("%s: a request %v after its key was refused", c.name, now.Sub(at)))
	}
}

const hourLease = 15 * time.Second // the default

// startReplica starts a replica, which reaches NATS with a latency.
func (b *busyProduct) startReplica(t *testing.T) *hourReplica {
	t.Helper()
	r := &hourReplica{b: b}
	r.accountReplica = b.start(t, func(f *relay.AccountFollower) {
		f.HTTPClient = &http.Client{Transport: r}
		f.Lease, f.Follow.Interval = 0, 0
		f.OnError = func(_ context.Context, account string, _ api.Profile, err error) {
			if !r.dead.Load() && !errors.Is(err, context.Canceled) {
				t.Log(account, err)
			}
		}
	})
	r.link.delay.Store(int64(rand.N(5 * time.Millisecond)))
	return r
}

// disturb kills a replica, stops one, or cuts one off for a time, which others start or
// replace.
func (b *busyProduct) disturb(t *testing.T) {
	t.Helper()
	i := rand.IntN(len(b.replicas))
	r := b.replicas[i]
	b.state.Lock()
	b.disturbed = time.Now()
	b.state.Unlock()
	switch rand.IntN(3) {
	case 0: // killed, and started again later
		r.dead.Store(true)
		r.link.Cut()
		b.wg.Go(r.stop)
		time.Sleep(rand.N(time.Minute))
		b.replicas[i] = b.startReplica(t)
	case 1:
		r.stop()
		b.replicas[i] = b.startReplica(t)
	default:
		r.link.Cut()
		time.Sleep(rand.N(time.Minute))
		r.link.Restore()
	}
	b.state.Lock()
	b.disturbed = time.Now()
	b.state.Unlock()
}

// addCustomer adds a customer with some workspaces to the platform and the directory.
func (b *busyProduct) addCustomer(t *testing.T) {
	t.Helper()
	name := fmt.Sprint("customer", b.names.Add(1))
	c := &hourCustomer{customer: b.customer(name), name: name, live: true, known: true, taken: true, changed: time.Now()}
	c.rooms = []seed.Workspace{c.room}
	account := c.account(name)
	for range hourProfiles - 1 {
		room := b.AddWorkspace(seed.Workspace{Org: c.room.Org})
		c.rooms = append(c.rooms, room)
		account.Profiles = append(account.Profiles, api.Workspace(api.ID(room.ID)))
	}
	b.state.Lock()
	b.customers[name], b.byKey[c.key] = c, c
	b.state.Unlock()
	must(t, b.Add(t.Context(), account))
	b.giveBack(c)
}

// choose returns a customer at random that is followed, or one that is paused, and that no
// other goroutine changes until it is given back. It returns nil if there is none.
func (b *busyProduct) choose(live bool) *hourCustomer {
	b.state.Lock()
	defer b.state.Unlock()
	for _, c := range b.customers { // in random order
		if c.known && c.live == live && !c.taken {
			c.taken = true
			return c
		}
	}
	return nil
}

// giveBack ends the changes of a customer.
func (b *busyProduct) giveBack(c *hourCustomer) {
	b.state.Lock()
	defer b.state.Unlock()
	c.taken = false
}

// set records what the directory says of a customer from now on.
func (b *busyProduct) set(c *hourCustomer, known, live bool) {
	b.state.Lock()
	defer b.state.Unlock()
	c.known, c.live, c.changed, c.used = known, live, time.Now(), time.Time{}
}

// change changes a customer: it is added, removed, paused, resumed, or gets another key after
// the first was revoked.
func (b *busyProduct) change(t *testing.T) {
	t.Helper()
	kind := rand.IntN(4)
	c := b.choose(kind != 0)
	if c == nil {
		return
	}
	defer b.giveBack(c)
	switch kind {
	case 0:
		b.set(c, true, true)
		must(t, b.Resume(t.Context(), c.name))
	case 1:
		must(t, b.Pause(t.Context(), c.name))
		b.set(c, true, false)
	case 2:
		b.addCustomer(t)
		must(t, b.Delete(t.Context(), c.name, &relay.DeleteOptions{Purge: true}))
		b.set(c, false, false)
	default:
		b.replaceKey(t, c)
	}
}

// replaceKey revokes the key of a customer, and some time later gives the account another.
func (b *busyProduct) replaceKey(t *testing.T, c *hourCustomer) {
	t.Helper()
	b.AddKey(seed.Key{Token: c.key, User: c.user.ID, Revoked: true})
	b.state.Lock()
	b.revoked[c.key] = time.Time{}
	b.state.Unlock()
	time.Sleep(rand.N(5 * time.Minute))
	b.state.Lock()
	c.key = b.AddKey(seed.Key{User: c.user.ID}).Token
	b.byKey[c.key] = c
	b.state.Unlock()
	account := c.account(c.name)
	for _, room := range c.rooms[1:] {
		account.Profiles = append(account.Profiles, api.Workspace(api.ID(room.ID)))
	}
	must(t, b.Update(t.Context(), account))
}

// log adds an event to the log of a customer, also of one that was paused or removed.
func (b *busyProduct) log() {
	b.state.Lock()
	defer b.state.Unlock()
	for _, c := range b.customers { // in random order
		room := c.rooms[rand.IntN(len(c.rooms))]
		e := b.AddEvent(seed.Event{
			Name: "workspace_storage_file_added", Workspace: room.ID, CallingUser: c.user.ID, ObjectName: "plan.txt",
			Created: time.Now(),
		})
		c.want = append(c.want, "workspace-"+room.ID+"-"+api.OpaqueID(e.ID).Plain())
		return
	}
}

// storedIDs returns the IDs of all messages with events, by the name of the account and
// without the beginning that the life of the account has.
func (b *busyProduct) storedIDs(t *testing.T) map[string][]string {
	t.Helper()
	stream, err := b.js.Stream(t.Context(), "FASTIO")
	must(t, err)
	consumer, err := stream.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	must(t, err)
	all := map[string][]string{}
	for last := uint64(0); last < stream.CachedInfo().State.LastSeq; {
		batch, err := consumer.FetchNoWait(1000)
		must(t, err)
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			must(t, err)
			last = meta.Sequence.Stream
			account := strings.Split(m.Subject(), ".")[2]
			if account == "epoch" {
				continue
			}
			id := m.Headers().Get(jetstream.MsgIDHeader)
			all[account] = append(all[account], id[strings.Index(id, "workspace-"):])
		}
		must(t, batch.Error())
	}
	return all
}

// verify requires that the stream has each event of the customers once, and nothing of those
// that were removed.
func (b *busyProduct) verify(t *testing.T) {
	t.Helper()
	b.state.Lock()
	defer b.state.Unlock()
	all := b.storedIDs(t)
	total, lost, twice, removed := 0, 0, 0, 0
	for name, c := range b.customers {
		has := slices.Sorted(slices.Values(all[name]))
		twice += len(has) - len(slices.Compact(slices.Clone(has)))
		if !c.known {
			removed++
			if len(has) > 0 {
				t.Errorf("%s was removed, and has %d events", name, len(has))
			}
			continue
		}
		total += len(c.want)
		for _, id := range c.want {
			if _, ok := slices.BinarySearch(has, id); !ok {
				lost++
			}
		}
	}
	t.Logf("%d customers, %d of them removed: of %d events %d lost, %d twice", len(b.customers), removed, total, lost, twice)
	if lost+twice > 0 || total == 0 || removed == 0 {
		t.Errorf("of %d events %d are lost and %d stored twice", total, lost, twice)
	}
	for _, late := range b.late {
		t.Error(late)
	}
}

// Everything is real but the time: replicas, their connections, the NATS server and the
// emulated platform with its rate limits. Replicas are killed, started, and cut off, while
// events arrive and customers are added, removed, paused, resumed and refused. No event is lost
// or stored twice, and changes take effect in time. The long tests have an hour with 20 replicas
// and 5,000 profiles.
func TestCustomersForAnHour(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		p := newProductWith(t, func(*seed.Options) {})
		b := &busyProduct{product: p, customers: map[string]*hourCustomer{}, byKey: map[string]*hourCustomer{}}
		b.revoked = map[string]time.Time{}
		for range hourReplicas {
			b.replicas = append(b.replicas, b.startReplica(t))
		}
		for range hourCustomers {
			b.addCustomer(t)
		}
		ctx, cancel := context.WithTimeout(t.Context(), hourTime)
		defer cancel()
		every := func(pause time.Duration, do func()) {
			b.wg.Go(func() {
				for relay.Sleep(ctx, pause) == nil {
					do()
				}
			})
		}
		events := 0
		every(hourTime/hourEvents, func() { b.log(); events++ })
		every(70*time.Second, func() { b.disturb(t) })
		for range 4 {
			every(8*time.Second, func() { b.change(t) })
		}
		b.wg.Wait()
		for c := b.choose(false); c != nil; c = b.choose(false) {
			b.set(c, true, true)
			must(t, b.Resume(t.Context(), c.name))
		}
		time.Sleep(15 * time.Minute) // until all profiles were searched, at rest
		for _, r := range b.replicas {
			r.stop()
		}
		b.verify(t)
		t.Logf("%d replicas, %d events in %v", len(b.replicas), events, hourTime)
	})
}
