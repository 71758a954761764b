//go:build soak && linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// crowd is a cluster of four replicas that follow accounts, which are added, removed, paused
// and resumed all the time.
type crowd struct {
	*long
	relay.Accounts
	customers int // so far

	state     sync.Mutex
	live      map[string]*account
	removed   []*account
	requests  map[string]time.Time // the latest by credential
	behaves   map[string]func(w http.ResponseWriter, r *http.Request) (done bool)
	disturbed []span
}

// account is a customer with its workspaces.
type account struct {
	name, key  string
	user       string
	workspaces []string
	removed    time.Time // when Delete has returned
	purged     bool
}

// span is a time in which something is disturbed. It lasts until the end is set.
type span struct{ begin, end time.Time }

const workspacesOfAccount = 5

// newCrowd returns a crowd with nodes, replicas and a consumer, and without accounts.
func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{long: newLong(), live: map[string]*account{}, requests: map[string]time.Time{}}
	c.behaves = map[string]func(w http.ResponseWriter, r *http.Request) bool{}
	c.cluster = newCluster(t, 0)
	c.accounts = true
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		c.state.Lock()
		c.requests[key] = time.Now()
		behave := c.behaves[key]
		c.state.Unlock()
		if behave == nil || !behave(w, r) {
			c.platform.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		web.CloseClientConnections() // of requests that hang
		web.Close()
	})
	c.startNodes(t)
	c.Accounts = relay.Accounts{Stream: relay.Stream{JetStream: c.js, Replicas: len(c.nodes)}, Keys: oauth.StaticKey(accountsKey)}
	for i := range 4 {
		p := &process{
			name: fmt.Sprintf("replica-%d", i+1), program: "accounts",
			args: []string{fmt.Sprintf("replica-%d", i+1), c.newLinks(t), strconv.Itoa(len(c.nodes)), web.URL},
		}
		c.replicas = append(c.replicas, p)
		c.start(p)
	}
	c.startConsumer(addresses(c.ports))
	return c
}

// persist calls a function until it has no error, as a program does that changes accounts.
func persist(t *testing.T, call func() error) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		err := call()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Error(err)
			return
		}
	}
}

// newAccount returns a customer that is not in the directory yet, and what is to be added to it.
func (c *crowd) newAccount(name string) (*account, relay.Account) {
	user := c.platform.AddUser(seed.User{FirstName: name, Email: name + "@example.test"})
	org := c.platform.AddOrg(seed.Org{Domain: name, Name: name, Owner: user.ID})
	a := &account{name: name, user: user.ID, key: c.platform.AddKey(seed.Key{User: user.ID, Memo: name}).Token}
	entry := relay.Account{Name: name, APIKey: api.NewSecret(a.key)}
	for range workspacesOfAccount {
		id := c.platform.AddWorkspace(seed.Workspace{Org: org.ID}).ID
		a.workspaces = append(a.workspaces, id)
		entry.Profiles = append(entry.Profiles, api.Workspace(api.ID(id)))
	}
	return a, entry
}

// addAccount adds a customer with some events.
func (c *crowd) addAccount(t *testing.T) {
	t.Helper()
	c.customers++
	name := fmt.Sprintf("customer%d", c.customers)
	a, entry := c.newAccount(name)
	c.mu.Lock()
	c.profiles = append(c.profiles, entry.Profiles...)
	for i, id := range a.workspaces {
		for range 20 {
			c.addTo(id, i, time.Now().Add(-time.Minute))
		}
	}
	c.mu.Unlock()
	persist(t, func() error {
		err := c.Add(t.Context(), entry)
		if errors.Is(err, api.ErrConflict) { // a try without a response has done it
			return nil
		}
		return err
	})
	c.state.Lock()
	c.live[name] = a
	c.state.Unlock()
}

// choose returns an account that is followed, chosen at random.
func (c *crowd) choose() *account {
	c.state.Lock()
	defer c.state.Unlock()
	names := slices.Collect(maps.Keys(c.live))
	return c.live[names[rand.IntN(len(names))]]
}

// removeAccount removes an account, whose logs go on.
func (c *crowd) removeAccount(t *testing.T) {
	t.Helper()
	a := c.choose()
	c.mu.Lock()
	for _, id := range a.workspaces {
		c.gone[id] = true
		delete(c.added, id)
	}
	c.profiles = slices.DeleteFunc(c.profiles, func(p api.Profile) bool { return c.gone[string(p.ID)] })
	c.mu.Unlock()
	a.purged = rand.IntN(2) == 0
	persist(t, func() error { return c.Delete(t.Context(), a.name, &relay.DeleteOptions{Purge: a.purged}) })
	a.removed = time.Now()
	c.state.Lock()
	defer c.state.Unlock()
	delete(c.live, a.name)
	c.removed = append(c.removed, a)
}

// pauseAccount pauses an account for some seconds.
func (c *crowd) pauseAccount(t *testing.T, end <-chan struct{}) {
	t.Helper()
	a := c.choose()
	setIdle := func(idle bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, id := range a.workspaces {
			c.idle[id] = idle
		}
	}
	setIdle(true)
	persist(t, func() error { return c.Pause(t.Context(), a.name) })
	select {
	case <-end:
	case <-time.After(rand.N(5 * time.Second)):
	}
	persist(t, func() error { return c.Resume(t.Context(), a.name) })
	setIdle(false)
}

// change changes accounts until end is closed. The logs of those that were removed go on.
func (c *crowd) change(t *testing.T, end <-chan struct{}) {
	t.Helper()
	for {
		select {
		case <-end:
			return
		default:
		}
		c.addAccount(t)
		c.removeAccount(t)
		c.pauseAccount(t, end)
		c.mu.Lock()
		for _, a := range c.removed[max(0, len(c.removed)-10):] {
			c.addTo(a.workspaces[0], 0, time.Now())
			delete(c.added, a.workspaces[0])
		}
		c.mu.Unlock()
	}
}

// addToSome adds some events to one log of each account, in each round to another: the rate
// limits admit 12 searches a minute of an account.
func (c *crowd) addToSome(round, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := round % workspacesOfAccount; i < len(c.profiles); i += workspacesOfAccount {
		for j := range n {
			c.addTo(string(c.profiles[i].ID), j, time.Now())
		}
	}
}

// disturbs records that something is disturbed until the returned function is called.
func (c *crowd) disturbs() (end func()) {
	c.state.Lock()
	defer c.state.Unlock()
	c.disturbed = append(c.disturbed, span{begin: time.Now()})
	i := len(c.disturbed) - 1
	return func() {
		c.state.Lock()
		defer c.state.Unlock()
		c.disturbed[i].end = time.Now()
	}
}

// disturbances of which there are two at a time.
var disturbances = [][2]string{
	{"replica", "consumer"},
	{"stream leader", "replica stalled"},
	{"replica cut off", "replica delayed"},
	{"stop of a replica", "replica"},
	{"node", "replica cut off"},
	{"bucket leader", "replica"},
	{"stop of a node", "replica delayed"},
	{"meta leader", "stop of a replica"},
	{"node delayed", "replica"},
	{"node cut off", "replica stalled"},
}

// disturbTwice kills, cuts off or stops two processes, and measures how long the events of a
// fifth of the profiles take afterwards.
func (c *crowd) disturbTwice(t *testing.T, round int) {
	t.Helper()
	pair := disturbances[round%len(disturbances)]
	end := c.disturbs()
	c.addToSome(round, 3)
	restores := []func(){c.disturb1(t, pair[0]), c.disturb1(t, pair[1])}
	time.Sleep(testLease/2 + rand.N(testLease/2))
	for _, restore := range restores {
		restore()
	}
	began := time.Now()
	c.addToSome(round, 1)
	c.await(t, pair[0]+" and "+pair[1], began, limitOfNode)
	end()
}

// disturb1 disturbs one process, until the returned function is called.
func (c *crowd) disturb1(t *testing.T, kind string) (restore func()) {
	t.Helper()
	switch kind {
	case "stop of a replica", "stop of a node":
		all := c.replicas
		if kind == "stop of a node" {
			all = c.nodes
		}
		for restore == nil {
			restore = all[rand.IntN(len(all))].stop()
		}
		c.counts[kind]++
		return restore
	}
	names := []string{"replica cut off", "replica stalled", "replica delayed", "node cut off", "node stalled", "node delayed"}
	if i := slices.Index(names, kind); i >= 0 {
		_, restore = c.disturb(i)
		return restore
	}
	c.kill(t, kind)
	return func() {}
}

// silence returns how long after its removal the credential of an account was used, and
// whether something was disturbed meanwhile, or before the five seconds that a change may take
// had passed.
func (c *crowd) silence(a *account) (used time.Duration, disturbed bool) {
	used = c.requests[a.key].Sub(a.removed)
	until := a.removed.Add(max(used, changeTime))
	for _, s := range c.disturbed {
		disturbed = disturbed || s.begin.Before(until) && s.end.After(a.removed.Add(-changeTime))
	}
	return used, disturbed
}

const changeTime = 5 * time.Second // of a change of the accounts, on replicas that reach NATS

// requireSilence requires that removed accounts are followed no more: no request has their
// credentials, and none of their events is stored. The times are those of real clocks, so
// that the limits are generous; the figures are printed.
func (c *crowd) requireSilence(t *testing.T) {
	t.Helper()
	stored := map[string]time.Time{} // the latest event, by account
	for msg := range c.stored(t) {
		if meta, err := msg.Metadata(); err == nil {
			stored[strings.Split(msg.Subject(), ".")[2]] = meta.Timestamp
		}
	}
	c.state.Lock()
	defer c.state.Unlock()
	var worst [2]time.Duration // not disturbed, and disturbed
	var late, purged [2]int
	for _, a := range c.removed {
		used, disturbed := c.silence(a)
		if at, ok := stored[a.name]; ok {
			used = max(used, at.Sub(a.removed))
			if a.purged && at.After(a.removed) {
				t.Errorf("an event of %s is stored %v after its end and that of its events", a.name, at.Sub(a.removed))
			}
		}
		kind := 0
		if disturbed {
			kind = 1
		}
		worst[kind] = max(worst[kind], used)
		if used > changeTime {
			late[kind]++
		}
		purged[kind]++
		if used > 2*testLease+changeTime {
			t.Errorf("%s is followed %v after its removal", a.name, used)
		}
	}
	t.Logf("%d accounts removed without a disturbance: followed for at most %v, %d for more than %v",
		purged[0], worst[0].Round(time.Millisecond), late[0], changeTime)
	t.Logf("%d accounts removed beside one: followed for at most %v, %d for more than %v",
		purged[1], worst[1].Round(time.Millisecond), late[1], changeTime)
}

// delays prints how long events took from the platform to the handler.
func (c *crowd) delays(t *testing.T) {
	t.Helper()
	c.handled.mu.Lock()
	defer c.handled.mu.Unlock()
	var calm, beside []time.Duration
	for _, ids := range c.added {
		for _, id := range ids {
			took := c.handled.first[id].Sub(c.addedAt[id])
			disturbed := slices.ContainsFunc(c.disturbed, func(s span) bool {
				return s.begin.Before(c.handled.first[id]) && s.end.After(c.addedAt[id])
			})
			if disturbed {
				beside = append(beside, took)
			} else {
				calm = append(calm, took)
			}
		}
	}
	for kind, all := range map[string][]time.Duration{"beside a disturbance": beside, "without one": calm} {
		if len(all) > 0 {
			slices.Sort(all)
			t.Logf("%d events %s: handled after %v (half), %v (99 %%), %v (all)", len(all), kind,
				all[len(all)/2].Round(time.Millisecond), all[len(all)*99/100].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond))
		}
	}
}

// Replicas that follow accounts, NATS nodes and consumers are killed, cut off, stalled, delayed
// and stopped, while accounts are added, removed, paused and resumed. No event is lost or
// stored twice, and nothing is done for an account that was removed.
func TestDisturbedAccountsLoseNoEvent(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	accounts, rounds := 300, 50
	if testing.Short() {
		accounts, rounds = 40, 10
	}
	began := time.Now()
	for range accounts {
		c.addAccount(t)
	}
	if _, ok := c.drain(t.Context(), began, 10*time.Minute); !ok {
		t.Fatal("the accounts are not followed after 10 minutes")
	}
	t.Logf("%d accounts with %d profiles are followed after %v", accounts, len(c.profiles), time.Since(began).Round(time.Second))
	end := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() { c.change(t, end) })
	for round := range rounds {
		c.settle(t)
		if round%10 == 0 {
			time.Sleep(2 * changeTime) // accounts are changed without a disturbance
			began := time.Now()
			c.addToSome(round+1, 1)
			c.await(t, "no disturbance", began, limitOfNode)
		}
		c.disturbTwice(t, round)
		c.platform.Forget()
	}
	close(end)
	changes.Wait()
	time.Sleep(2 * changeTime)
	for range 20 { // without a disturbance
		c.addAccount(t)
		c.removeAccount(t)
	}
	c.measure(t, "the end", time.Now(), limitOfNode)
	time.Sleep(3 * changeTime) // for requests of accounts that were removed
	c.report(t, time.Since(began))
	for _, late := range c.late {
		t.Log("late: " + late)
	}
	c.verify(t)
	c.requireSilence(t)
	c.delays(t)
	t.Logf("%d accounts added, %d removed", c.customers, len(c.removed))
}
