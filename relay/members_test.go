package relay_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/relay"
)

// simulatedLedger is a ledger in a synctest bubble. Requests and watches have latencies.
type simulatedLedger struct {
	mu       sync.Mutex
	entries  map[string]relay.LedgerEntry
	expiries map[string]*time.Timer
	revision uint64
	writes   map[string]int // by the first part of the key
	bytes    int            // of the largest heartbeat
	watches  map[*simulatedReader]bool
}

// simulatedReader is a watch.
type simulatedReader struct {
	prefixes []string
	keys     []string // in the order of their changes: of those that changed again, the latest is delivered
	pending  map[string]relay.LedgerEntry
	more     chan struct{}
}

func newSimulatedLedger() *simulatedLedger {
	return &simulatedLedger{
		entries: map[string]relay.LedgerEntry{}, expiries: map[string]*time.Timer{}, writes: map[string]int{},
		watches: map[*simulatedReader]bool{},
	}
}

// write stores an entry. The caller holds l.mu.
func (l *simulatedLedger) write(key string, value []byte, ttl time.Duration) uint64 {
	l.revision++
	kind, _, _ := strings.Cut(key, ".")
	if value != nil {
		l.writes[kind]++
	}
	if kind == "replica" {
		l.bytes = max(l.bytes, len(value))
	}
	e := relay.NewLedgerEntry(key, value, l.revision)
	l.entries[key] = e
	if timer := l.expiries[key]; timer != nil {
		timer.Stop()
	}
	if value == nil {
		ttl = markerTTL
	}
	if ttl > 0 {
		l.expiries[key] = time.AfterFunc(ttl, func() { l.expire(key, e) })
	}
	for w := range l.watches {
		w.add(key, e)
	}
	return l.revision
}

// markerTTL is how long the bucket keeps the information that a key was removed or has expired.
const markerTTL = time.Minute

// expire ends an entry, unless it was replaced.
func (l *simulatedLedger) expire(key string, e relay.LedgerEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case relay.RevisionOf(l.entries[key]) != relay.RevisionOf(e):
	case relay.ValueOf(e) == nil:
		delete(l.entries, key)
	default:
		l.write(key, nil, 0)
	}
}

// add queues an entry.
func (w *simulatedReader) add(key string, e relay.LedgerEntry) {
	if !slices.ContainsFunc(w.prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
		return
	}
	w.keys = append(w.keys, key)
	w.pending[key] = e
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func byRevision(a, b relay.LedgerEntry) int {
	return cmp.Compare(relay.RevisionOf(a), relay.RevisionOf(b))
}

// connection is the ledger as one replica reaches it.
type connection struct {
	*simulatedLedger

	latency time.Duration // of a request, its response, or a watch

	gate chan struct{} // closed while the replica reaches the ledger
}

// pass waits for the latency, and until the replica reaches the ledger.
func (c *connection) pass(ctx context.Context) error {
	time.Sleep(c.latency)
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Cut separates the replica from the ledger until the returned function is called.
func (c *connection) Cut() (restore func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gate := make(chan struct{})
	c.gate = gate
	return func() { close(gate) }
}

func (c *connection) Put(
	ctx context.Context, key string, value []byte, after uint64, ttl time.Duration,
) (uint64, error) {
	if err := c.pass(ctx); err != nil {
		return 0, err
	}
	c.mu.Lock()
	if relay.RevisionOf(c.entries[key]) != after {
		c.mu.Unlock()
		return 0, cmp.Or(c.pass(ctx), error(jetstream.ErrKeyExists))
	}
	revision := c.write(key, value, ttl)
	c.mu.Unlock()
	return revision, c.pass(ctx)
}

func (c *connection) Get(ctx context.Context, key string) (relay.LedgerEntry, error) {
	if err := c.pass(ctx); err != nil {
		return relay.LedgerEntry{}, err
	}
	c.mu.Lock()
	e := c.entries[key]
	c.mu.Unlock()
	return e, c.pass(ctx)
}

func (c *connection) Watch(ctx context.Context, keys []string, changed func(e *relay.LedgerEntry)) error {
	w := &simulatedReader{pending: map[string]relay.LedgerEntry{}, more: make(chan struct{}, 1)}
	for _, key := range keys {
		w.prefixes = append(w.prefixes, strings.TrimSuffix(key, "*"))
	}
	c.mu.Lock()
	for _, e := range slices.SortedFunc(maps.Values(c.entries), byRevision) {
		w.add(relay.KeyOf(e), e)
	}
	c.watches[w] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.watches, w)
		c.mu.Unlock()
	}()
	for first := true; ; first = false {
		if err := c.pass(ctx); err != nil {
			return err
		}
		c.mu.Lock()
		keys, pending := w.keys, w.pending
		w.keys, w.pending = nil, map[string]relay.LedgerEntry{}
		c.mu.Unlock()
		for _, key := range keys {
			if e, ok := pending[key]; ok {
				delete(pending, key)
				changed(&e)
			}
		}
		if first {
			changed(nil)
		}
		select {
		case <-w.more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// holders counts who holds which slot.
type holders struct {
	mu     sync.Mutex
	of     []string      // by slot
	since  []time.Time   // when the slot was given back
	moved  int           // slots that have another holder than before
	gap    time.Duration // the longest without a holder, after the first
	last   []string
	failed []string
	shares map[uint64][]int // by number of the view: all replicas compute the same
}

func newHolders() *holders {
	return &holders{
		of: make([]string, relay.Slots), since: make([]time.Time, relay.Slots), last: make([]string, relay.Slots),
		shares: map[uint64][]int{},
	}
}

// share is what a replica holds.
type share struct {
	*holders

	name string
	slow time.Duration // to stop
	mine map[int]func() bool
}

// divide returns the slots of the replica in a view.
func (s *share) divide(v relay.View) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, known := s.shares[v.Number()]
	if !known {
		all = v.Divide()
		s.shares[v.Number()] = all
	}
	var slots []int
	for slot, member := range all {
		if v.Name(member) == s.name {
			slots = append(slots, slot)
		}
	}
	return slots
}

// give ends the holding of a slot.
func (s *share) give(slot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[slot] == s.name {
		s.of[slot], s.since[slot] = "", time.Now()
	}
}

func (s *share) Release(v *relay.View) {
	stays := map[int]bool{}
	if v != nil {
		for _, slot := range s.divide(*v) {
			stays[slot] = true
		}
	}
	stopped := false
	for slot, stop := range s.mine {
		if stays[slot] {
			continue
		}
		if !stopped && s.slow > 0 {
			time.Sleep(s.slow) // checkpoints are saved
			stopped = true
		}
		delete(s.mine, slot)
		if stop() {
			s.give(slot)
		}
	}
}

func (s *share) Hold(alive context.Context, v relay.View) {
	for _, slot := range s.divide(v) {
		if s.mine[slot] != nil {
			continue
		}
		s.mu.Lock()
		if other := s.of[slot]; other != "" && alive.Err() == nil {
			s.failed = append(s.failed, fmt.Sprintf("%s and %s hold slot %d", other, s.name, slot))
		}
		s.of[slot] = s.name
		if s.last[slot] != "" {
			s.gap = max(s.gap, time.Since(s.since[slot]))
		}
		if s.last[slot] != "" && s.last[slot] != s.name {
			s.moved++
		}
		s.last[slot] = s.name
		s.mu.Unlock()
		s.mine[slot] = context.AfterFunc(alive, func() { s.give(slot) })
	}
}

// held returns the number of slots with a holder, and the most that one replica holds.
func (h *holders) held() (all, most int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	load := map[string]int{}
	for _, name := range h.of {
		if name != "" {
			all++
			load[name]++
			most = max(most, load[name])
		}
	}
	return all, most
}

// fleet is replicas in virtual time.
type fleet struct {
	*simulatedLedger
	*holders

	lease   time.Duration
	running map[string]*fleetReplica
	wg      sync.WaitGroup
}

type fleetReplica struct {
	*connection
	stop context.CancelFunc
}

func newFleet() *fleet {
	return &fleet{
		simulatedLedger: newSimulatedLedger(), holders: newHolders(), lease: 15 * time.Second,
		running: map[string]*fleetReplica{},
	}
}

// start starts a replica.
func (f *fleet) start(name string) {
	gate := make(chan struct{})
	close(gate)
	c := &connection{f.simulatedLedger, time.Duration(1+len(f.running)%20) * time.Millisecond, gate}
	ctx, stop := context.WithCancel(context.Background())
	f.running[name] = &fleetReplica{connection: c, stop: stop}
	s := &share{holders: f.holders, name: name, slow: 200 * time.Millisecond, mine: map[int]func() bool{}}
	f.wg.Go(func() { relay.RunMember(ctx, c, name, f.lease, s) })
}

// stop stops a replica, which gives its slots back.
func (f *fleet) stop(name string) {
	f.running[name].stop()
	delete(f.running, name)
}

// lose cuts a replica off for good: it ends when its test does.
func (f *fleet) lose(name string) (restore func()) { return f.running[name].Cut() }

// check fails the test unless all slots are held, by no more than one replica each.
func (f *fleet) check(t *testing.T, when string) {
	t.Helper()
	f.holders.mu.Lock()
	for _, text := range f.failed[:min(len(f.failed), 10)] {
		t.Errorf("%s: %s", when, text)
	}
	f.holders.mu.Unlock()
	held, most := f.held()
	share := (relay.Slots + len(f.running) - 1) / len(f.running)
	t.Logf("%s: %d of %d slots are held by %d replicas, at most %d by one", when, held, relay.Slots, len(f.running), most)
	if held != relay.Slots || most > share {
		t.Errorf("%s: %d slots are held, at most %d by one of %d replicas", when, held, most, len(f.running))
	}
}

// At each time a slot has one holder, while replicas start, are replaced in turn, and a third
// of them is lost, and later is back. The long tests have 200.
func TestSlotsHaveOneHolder(t *testing.T) {
	t.Parallel()
	const replicas, step = fleetSize, fleetStep
	synctest.Test(t, func(t *testing.T) {
		f := newFleet()
		for i := range replicas {
			f.start(fmt.Sprint("replica", i))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		f.check(t, "after the start")
		for i := 0; i < replicas; i += step { // a rolling upgrade
			for j := i; j < i+step; j++ {
				f.stop(fmt.Sprint("replica", j))
				f.start(fmt.Sprint("upgraded", j))
			}
			time.Sleep(3 * time.Second)
		}
		f.check(t, "after the upgrade")
		f.gap = 0
		var restores []func()
		lost := map[string]*fleetReplica{}
		for i := range replicas / 3 {
			name := fmt.Sprint("upgraded", i)
			restores = append(restores, f.lose(name))
			lost[name] = f.running[name]
			delete(f.running, name)
		}
		time.Sleep(30 * time.Second)
		f.check(t, "after the loss of a third")
		if f.gap > 15*time.Second || f.gap < 3*time.Second {
			t.Errorf("after a loss, a slot had no holder for %s", f.gap)
		}
		for _, restore := range restores {
			restore()
		}
		maps.Copy(f.running, lost)
		time.Sleep(30 * time.Second)
		f.check(t, "after the lost ones are back")
		for name := range f.running {
			f.stop(name)
		}
		f.wg.Wait()
		if f.bytes > 200 {
			t.Errorf("a heartbeat has %d bytes", f.bytes)
		}
	})
}

// The writes at rest are those of the replicas.
func TestWritesAtRestGrowWithReplicas(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 10, 40} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet()
			for i := range replicas {
				f.start(fmt.Sprint("replica", i))
			}
			time.Sleep(time.Minute)
			f.check(t, "at rest")
			f.simulatedLedger.mu.Lock()
			clear(f.writes)
			f.simulatedLedger.mu.Unlock()
			time.Sleep(time.Hour)
			f.simulatedLedger.mu.Lock()
			writes := fmt.Sprint(f.writes)
			beats := f.writes["replica"]
			f.simulatedLedger.mu.Unlock()
			t.Logf("%d replicas: %.2f writes a second, for any number of profiles", replicas, float64(beats)/3600)
			if want := 720 * replicas; beats > want || beats < want*95/100 || writes != fmt.Sprintf("map[replica:%d]", beats) {
				t.Errorf("%d replicas write %s in an hour", replicas, writes)
			}
			for name := range f.running {
				f.stop(name)
			}
			f.wg.Wait()
		})
	}
}

// lateWatch is a ledger whose watches end a minute after their contexts.
type lateWatch struct{ *connection }

func (l lateWatch) Watch(ctx context.Context, keys []string, changed func(e *relay.LedgerEntry)) error {
	err := l.connection.Watch(ctx, keys, changed)
	time.Sleep(time.Minute)
	return err
}

func TestHeartbeatIsDeletedBeforeTheWatchHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		close(gate)
		c := &connection{newSimulatedLedger(), time.Millisecond, gate}
		s := &share{holders: newHolders(), name: "a", mine: map[int]func() bool{}}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { relay.RunMember(ctx, lateWatch{c}, "a", 15*time.Second, s) })
		defer running.Wait()
		beats := func() (n int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for key, e := range c.entries {
				if strings.HasPrefix(key, "replica.") && relay.ValueOf(e) != nil {
					n++
				}
			}
			return n
		}
		time.Sleep(time.Second)
		began := beats()
		stop()
		time.Sleep(time.Second)
		if left := beats(); began != 1 || left != 0 {
			t.Errorf("%d heartbeats, and %d after the stop", began, left)
		}
	})
}
