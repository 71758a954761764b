package relay_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

const searches = "events.search"

// alignment is how a server places its windows, which is not documented.
type alignment string

const (
	fromFirst alignment = "from the first call"
	toClock   alignment = "to the clock"
	sliding   alignment = "sliding"
)

// windowServer counts calls in windows.
type windowServer struct {
	alignment alignment
	windows   []api.RateWindow

	mu      sync.Mutex
	calls   [][]time.Time // per window, those that count
	starts  []time.Time   // per window, of the current one
	served  int
	refused int
}

func newWindowServer(a alignment, windows ...api.RateWindow) *windowServer {
	n := len(windows)
	return &windowServer{alignment: a, windows: windows, calls: make([][]time.Time, n), starts: make([]time.Time, n)}
}

// take counts a call that arrives now, or refuses it. It returns the announcement of the
// window with the fewest calls left.
func (s *windowServer) take() api.RateLimit {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	full := false
	for i, w := range s.windows {
		s.advance(i, now)
		full = full || len(s.calls[i]) >= w.Max
	}
	if full {
		s.refused++
	} else {
		s.served++
		for i := range s.windows {
			s.calls[i] = append(s.calls[i], now)
		}
	}
	limit := api.RateLimit{Remaining: 1 << 30}
	for i, w := range s.windows {
		if left := w.Max - len(s.calls[i]); left < limit.Remaining {
			limit = api.RateLimit{Limit: w.Max, Remaining: left, Reset: s.starts[i].Add(w.Size)}
			if s.alignment == sliding && len(s.calls[i]) > 0 {
				limit.Reset = s.calls[i][0].Add(w.Size)
			}
		}
	}
	if full {
		limit.RetryAfter = max(time.Millisecond, time.Until(limit.Reset))
	}
	return limit
}

// advance drops the calls that count no more in window i.
func (s *windowServer) advance(i int, now time.Time) {
	size := s.windows[i].Size
	switch s.alignment {
	case sliding:
		for len(s.calls[i]) > 0 && now.Sub(s.calls[i][0]) >= size {
			s.calls[i] = s.calls[i][1:]
		}
	case toClock:
		if start := now.Truncate(size); !start.Equal(s.starts[i]) {
			s.starts[i], s.calls[i] = start, nil
		}
	case fromFirst:
		if len(s.calls[i]) == 0 || now.Sub(s.starts[i]) >= size {
			s.starts[i], s.calls[i] = now, nil
		}
	}
}

// count returns the number of calls that were accepted.
func (s *windowServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// call makes a call with two latencies of at most slowest each.
func (s *windowServer) call(ctx context.Context, l api.Limiter, group string, slowest time.Duration) error {
	if err := l.Acquire(ctx, group); err != nil {
		return err
	}
	time.Sleep(rand.N(slowest))
	limit := s.take()
	time.Sleep(rand.N(slowest))
	l.Observe(group, limit)
	return nil
}

// simulatedBucket is a bucket in a synctest bubble. Requests and watches have latencies.
type simulatedBucket struct {
	slowest time.Duration

	mu       sync.Mutex
	entries  map[string]simulatedEntry
	revision uint64
	writes   int
	watches  map[*simulatedWatch]bool
}

type simulatedEntry struct {
	jetstream.KeyValueEntry

	key      string
	value    []byte
	revision uint64
	created  time.Time
}

func (e simulatedEntry) Key() string                     { return e.key }
func (e simulatedEntry) Value() []byte                   { return e.value }
func (e simulatedEntry) Revision() uint64                { return e.revision }
func (e simulatedEntry) Created() time.Time              { return e.created }
func (e simulatedEntry) Operation() jetstream.KeyValueOp { return jetstream.KeyValuePut }

type simulatedWatch struct {
	queue   chan simulatedEntry
	updates chan jetstream.KeyValueEntry
	stop    func() error
}

func (w *simulatedWatch) Updates() <-chan jetstream.KeyValueEntry { return w.updates }
func (w *simulatedWatch) Stop() error                             { return w.stop() }
func (w *simulatedWatch) Error() <-chan error                     { return nil }

func newSimulatedBucket(slowest time.Duration) *simulatedBucket {
	return &simulatedBucket{
		slowest: slowest, entries: map[string]simulatedEntry{}, watches: map[*simulatedWatch]bool{},
	}
}

func (b *simulatedBucket) Bucket() string { return "simulated" }

func (b *simulatedBucket) Create(
	ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt,
) (uint64, error) {
	return b.Update(ctx, key, value, 0)
}

func (b *simulatedBucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	time.Sleep(rand.N(b.slowest))
	defer func() { time.Sleep(rand.N(b.slowest)) }()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries[key].revision != revision {
		return 0, jetstream.ErrKeyExists
	}
	b.revision++
	b.writes++
	e := simulatedEntry{key: key, value: value, revision: b.revision, created: time.Now()}
	b.entries[key] = e
	for w := range b.watches {
		w.queue <- e
	}
	return e.revision, ctx.Err()
}

func (b *simulatedBucket) Get(_ context.Context, key string) (jetstream.KeyValueEntry, error) {
	time.Sleep(rand.N(b.slowest))
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.entries[key]
	if !ok {
		return nil, jetstream.ErrKeyNotFound
	}
	return e, nil
}

func (b *simulatedBucket) watch(
	ctx context.Context, keys string, up func(context.Context) error,
) (jetstream.KeyWatcher, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &simulatedWatch{queue: make(chan simulatedEntry, 10_000), updates: make(chan jetstream.KeyValueEntry, 256)}
	b.mu.Lock()
	defer b.mu.Unlock()
	w.stop = func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watches, w)
		cancel()
		return nil
	}
	prefix := strings.TrimRight(keys, "*>")
	known := slices.SortedFunc(maps.Values(b.entries), func(a, b simulatedEntry) int { return cmp.Compare(a.revision, b.revision) })
	for _, e := range known {
		if strings.HasPrefix(e.key, prefix) {
			w.updates <- e
		}
	}
	w.updates <- nil
	b.watches[w] = true
	go func() {
		defer close(w.updates)
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-w.queue:
				select {
				case <-ctx.Done():
				case <-time.After(time.Until(e.created.Add(rand.N(b.slowest)))):
				}
				if up(ctx) != nil || ctx.Err() != nil {
					return
				}
				w.updates <- e
			}
		}
	}()
	return w, nil
}

// simulatedLink is the connection of a process to a simulated bucket.
type simulatedLink struct {
	*simulatedBucket

	delay     time.Duration                      // each way
	confirmed atomic.Pointer[context.CancelFunc] // called before a response to a write, unless nil

	mu   sync.Mutex
	down chan struct{} // closed when the link works again; nil while it does
}

// Cut stops requests and updates until Mend is called.
func (l *simulatedLink) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = make(chan struct{})
}

func (l *simulatedLink) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.down)
	l.down = nil
}

// wait returns when the link works.
func (l *simulatedLink) wait(ctx context.Context) error {
	l.mu.Lock()
	down := l.down
	l.mu.Unlock()
	select {
	case <-time.After(l.delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	if down == nil {
		return nil
	}
	select {
	case <-down:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *simulatedLink) Create(
	ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt,
) (uint64, error) {
	return l.Update(ctx, key, value, 0)
}

func (l *simulatedLink) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := l.wait(ctx); err != nil {
		return 0, err
	}
	if f := l.confirmed.Load(); f != nil {
		defer (*f)()
	}
	defer time.Sleep(l.delay)
	return l.simulatedBucket.Update(ctx, key, value, revision)
}

func (l *simulatedLink) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	return l.simulatedBucket.Get(ctx, key)
}

func (l *simulatedLink) Watch(
	ctx context.Context, keys string, _ ...jetstream.WatchOpt,
) (jetstream.KeyWatcher, error) {
	return l.watch(ctx, keys, l.wait)
}

// replica is a process in a synctest bubble.
type replica struct {
	*relay.Limits
	*simulatedLink

	failures atomic.Int64 // reports to OnError
}

func (b *simulatedBucket) replica(t *testing.T, delay time.Duration) *replica {
	t.Helper()
	r := &replica{simulatedLink: &simulatedLink{simulatedBucket: b, delay: delay}}
	var err error
	r.Limits, err = relay.NewLimitsIn(t.Context(), r.simulatedLink, time.Now(), api.RateWindows, relay.LimitsOptions{
		Name: "test", OnError: func(context.Context, error) { r.failures.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// simulate returns replicas that end with the test.
func simulate(t *testing.T, n int) (*simulatedBucket, []*replica) {
	t.Helper()
	b := newSimulatedBucket(20 * time.Millisecond)
	var all []*replica
	for range n {
		r := b.replica(t, 0)
		t.Cleanup(r.Close)
		all = append(all, r)
	}
	return b, all
}

// acquire makes a call start, and returns how long that took.
func (r *replica) acquire(t *testing.T, group string) time.Duration {
	t.Helper()
	began := time.Now()
	if err := r.Acquire(t.Context(), group); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// idealTime returns how long a number of searches takes a client that knows the windows of
// the server: bursts of 120 within 10 minutes, of 15 within 30 s, and of 5 within 3 s.
func idealTime(calls int) time.Duration {
	n := calls - 1
	return time.Duration(n/120*600+n%120/15*30+n%15/5*3) * time.Second
}

// Replicas on connections of their own to one server of NATS, in real time with small
// windows, meet no refusal.
func TestLimitsShareTheRateOverConnections(t *testing.T) {
	t.Parallel()
	const calls, ideal = 45, 2*3*time.Second + 2*300*time.Millisecond
	windows := []api.RateWindow{{Max: 5, Size: 300 * time.Millisecond}, {Max: 15, Size: 3 * time.Second}}
	for _, replicas := range []int{1, 2, 4, 8, 16} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) {
			t.Parallel()
			s, ns := newWindowServer(sliding, windows...), startServer(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var wg sync.WaitGroup
			var began time.Time
			for i := range replicas {
				js, _ := connect(t, ns)
				if err := (relay.Stream{JetStream: js}).Create(t.Context()); err != nil {
					t.Fatal(err)
				}
				kv, err := js.KeyValue(t.Context(), "fastio-relay")
				if err != nil {
					t.Fatal(err)
				}
				l, err := relay.NewLimitsIn(t.Context(), kv, time.Time{},
					func(string) []api.RateWindow { return windows }, relay.LimitsOptions{Name: "test"})
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					began = time.Now()
				}
				wg.Go(func() {
					defer l.Close()
					for s.call(ctx, l, searches, 10*time.Millisecond) == nil {
					}
				})
			}
			eventually(t, "all calls", func() bool { return s.count() >= calls })
			took := time.Since(began)
			cancel()
			wg.Wait()
			t.Logf("%d calls, %d refused, %.1f %% of the rate", s.served, s.refused, 100*float64(ideal)/float64(took))
			if s.refused > 0 {
				t.Errorf("%d of %d calls were refused", s.refused, s.served)
			}
		})
	}
}

// Calls that start while NATS cannot be reached are counted when it is back.
func TestLimitsRecordCallsOfAnOutage(t *testing.T) {
	t.Parallel()
	ns := startServer(t)
	failures := make(chan error, 10)
	start := func() (*relay.Limits, *link) {
		js, link := connect(t, ns)
		l, err := relay.NewLimits(t.Context(), relay.LimitsOptions{
			Stream: relay.Stream{JetStream: js}, Name: "the key of the indexer",
			OnError: func(_ context.Context, err error) { failures <- err },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l, link
	}
	a, link := start()
	b, _ := start()
	link.Cut()
	for range 5 {
		if err := a.Acquire(t.Context(), searches); err != nil {
			t.Fatal(err)
		}
	}
	<-failures // which follows the start of the first call
	link.Restore()
	eventually(t, "the calls to be known", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if b.Acquire(ctx, searches) != nil {
			return true
		}
		b.Observe(searches, api.RateLimit{})
		return false
	})
	for range 5 {
		a.Observe(searches, api.RateLimit{})
	}
	if err := b.Acquire(t.Context(), searches); err != nil {
		t.Error(err)
	}
	if n := len(failures); n != 0 {
		t.Errorf("%d more failures are reported", n)
	}
}

func TestLimitsNeedAName(t *testing.T) {
	t.Parallel()
	_, err := relay.NewLimits(t.Context(), relay.LimitsOptions{})
	if input, ok := errors.AsType[*api.InputError](err); !ok || input.Field != "LimitsOptions.Name" {
		t.Errorf("got %v", err)
	}
}

// sharing is a test of replicas with one credential.
type sharing struct {
	alignment alignment
	replicas  int
	callers   int // of each replica
	slowest   time.Duration
	lost      time.Duration // time between two losses; 0 means none
	far       time.Duration // delay of the connection of the first replica, each way
}

// Any number of replicas with one credential meet no refusal and use the rate, in hours of
// virtual time with the published windows of searches. NATS and the server are slow, or
// replicas are lost while a call runs, and replaced.
func TestLimitsShareTheRateOfACredential(t *testing.T) {
	t.Parallel()
	rows := map[string]sharing{}
	for _, a := range []alignment{fromFirst, toClock, sliding} {
		for _, replicas := range []int{1, 2, 4, 8, 16} {
			rows[fmt.Sprintf("windows %s, %2d replicas", a, replicas)] = sharing{a, replicas, 1, 20 * time.Millisecond, 0, 0}
		}
		rows[fmt.Sprintf("windows %s, slow", a)] = sharing{a, 4, 1, 400 * time.Millisecond, 0, 0}
		rows[fmt.Sprintf("windows %s, one is far", a)] = sharing{a, 4, 1, 20 * time.Millisecond, 0, 300 * time.Millisecond}
		rows[fmt.Sprintf("windows %s, replicas are lost", a)] = sharing{a, 4, 1, 50 * time.Millisecond, 4 * time.Minute, 0}
		rows[fmt.Sprintf("windows %s, many callers", a)] = sharing{a, 3, 7, 20 * time.Millisecond, 0, 0}
	}
	for name, test := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test.run(t) })
		})
	}
}

func (test sharing) run(t *testing.T) {
	t.Helper()
	const calls = 840
	time.Sleep(rand.N(10 * time.Minute))
	s, b := newWindowServer(test.alignment, api.RateWindows(searches)...), newSimulatedBucket(test.slowest)
	var made []*atomic.Int64
	var wg sync.WaitGroup
	start := func(delay time.Duration) *replica {
		r, n := b.replica(t, delay), len(made)
		made = append(made, new(atomic.Int64))
		for range test.callers {
			wg.Go(func() {
				time.Sleep(rand.N(time.Second))
				for s.call(t.Context(), r, searches, test.slowest) == nil {
					made[n].Add(1)
				}
			})
		}
		return r
	}
	var running []*replica
	for i := range test.replicas {
		running = append(running, start(test.far*time.Duration(max(0, 1-i))))
	}
	began, losses := time.Now(), 0
	for s.count() < calls {
		time.Sleep(100 * time.Millisecond)
		if test.lost > 0 && time.Since(began)/test.lost > time.Duration(losses) {
			r := running[losses%test.replicas]
			r.Cut()
			wg.Go(r.Close) // a call that runs reaches the server, but not the budget
			running[losses%test.replicas] = start(0)
			losses++
		}
	}
	took := time.Since(began)
	for _, r := range running {
		r.Close()
	}
	wg.Wait()
	share := float64(idealTime(calls)) / float64(took)
	var counts []int
	for _, n := range made {
		counts = append(counts, int(n.Load()))
	}
	t.Logf("%d calls, %d refused, %.1f %% of the rate, %d to %d by a replica, %.1f writes each",
		s.served, s.refused, 100*share, slices.Min(counts), slices.Max(counts), float64(b.writes)/float64(s.served))
	if s.refused > 0 || share < 0.95 {
		t.Errorf("%d of %d calls were refused, %.1f %% of the rate", s.refused, s.served, 100*share)
	}
	least := s.served / test.replicas * 3 / 4
	if test.far > 0 {
		least /= 5
	}
	if test.lost == 0 && slices.Min(counts) < least {
		t.Errorf("a replica made %d calls, want at least %d", slices.Min(counts), least)
	}
}

const second = time.Second

// within fails the test if a duration is not in a range.
func within(t *testing.T, what string, took, least, most time.Duration) {
	t.Helper()
	if took < least || took > most {
		t.Errorf("%s took %s, want %s to %s", what, took, least, most)
	}
}

func TestLimitsPauseAllReplicasAfterRefusal(t *testing.T) {
	t.Parallel()
	reset := func(in time.Duration) time.Time { return time.Now().Add(in) }
	for name, limit := range map[string]func() api.RateLimit{
		"a refusal": func() api.RateLimit { return api.RateLimit{RetryAfter: 20 * second} },
		"a window that others have used up": func() api.RateLimit {
			return api.RateLimit{Limit: 15, Remaining: 0, Reset: reset(20 * second)}
		},
		"a window that is too large to count": func() api.RateLimit {
			return api.RateLimit{Limit: 1001, Remaining: 0, Reset: reset(20 * second)}
		},
	} {
		for _, group := range []string{searches, "another"} {
			t.Run(name+" of "+group, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					_, r := simulate(t, 3)
					r[0].acquire(t, group)
					r[0].Observe(group, limit())
					time.Sleep(second)
					within(t, "a call", r[1].acquire(t, group), 18*second, 20*second)
					within(t, "a call after it", r[2].acquire(t, group), 0, second)
				})
			})
		}
	}
}

// A window that a response announces holds for all replicas, also later ones.
func TestLimitsLearnWindows(t *testing.T) {
	t.Parallel()
	for _, a := range []alignment{fromFirst, toClock, sliding} {
		t.Run(string(a), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, all := simulate(t, 4)
				const most, size, calls = 20, 10 * second, 400
				s := newWindowServer(a, api.RateWindow{Max: most, Size: size})
				ctx, cancel := context.WithCancel(t.Context())
				if err := s.call(ctx, all[0], "things", second/10); err != nil {
					t.Error(err)
				}
				time.Sleep(second)
				all = append(all, b.replica(t, 0))
				defer all[4].Close()
				began := time.Now()
				var wg sync.WaitGroup
				for _, r := range all {
					wg.Go(func() {
						for s.call(ctx, r, "things", second/10) == nil {
						}
					})
				}
				for s.count() < calls {
					time.Sleep(second / 10)
				}
				took := time.Since(began)
				cancel()
				wg.Wait()
				within(t, "all calls", took, 0, (calls/most+1)*size*105/100)
				if s.refused > 0 {
					t.Errorf("%d of %d calls were refused", s.refused, s.served)
				}
			})
		})
	}
}

// A wrong announcement does not stop a group: a call verifies it after a minute.
func TestLimitsVerifyLearnedWindows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, r := simulate(t, 2)
		r[0].acquire(t, "things")
		r[0].Observe("things", api.RateLimit{Limit: 1, Remaining: 0, Reset: time.Now().Add(time.Hour)})
		time.Sleep(second)
		within(t, "the verifying call", r[1].acquire(t, "things"), 50*second, 65*second)
		r[1].Observe("things", api.RateLimit{Limit: 1, Remaining: 0, Reset: time.Now().Add(5 * second)})
		within(t, "a call after it", r[0].acquire(t, "things"), 4*second, 7*second)
	})
}

func TestLimitsEndCallsOfLostReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, r := simulate(t, 3)
		for range 5 {
			r[0].acquire(t, searches)
		}
		r[0].Cut()
		within(t, "a call after the loss", r[1].acquire(t, searches), 32*second, 34*second)
		r[1].Observe(searches, api.RateLimit{})
		// A replica that is not lost keeps its calls, however long they run.
		for range 4 {
			r[2].acquire(t, searches)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		for range 2 {
			if err := r[1].Acquire(ctx, searches); err == nil {
				r[1].Observe(searches, api.RateLimit{})
			}
		}
		calls := 0
		for r[1].Acquire(ctx, searches) == nil {
			r[1].Observe(searches, api.RateLimit{})
			calls++
		}
		if calls > 180/3+5 {
			t.Errorf("%d calls in three minutes beside four that run", calls)
		}
	})
}

func TestLimitsWithoutNATS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, r := simulate(t, 2)
		r[0].acquire(t, searches)
		r[0].Observe(searches, api.RateLimit{})
		r[0].Cut()
		within(t, "the first call", r[0].acquire(t, searches), 5*second, 8*second)
		synctest.Wait() // the report follows the start of the call
		if n := r[0].failures.Load(); n != 1 {
			t.Errorf("%d reports", n)
		}
		r[0].Observe(searches, api.RateLimit{})
		for range 13 { // as far as the limits of its client allow
			within(t, "a further call", r[0].acquire(t, searches), 0, 0)
			r[0].Observe(searches, api.RateLimit{})
		}
		time.Sleep(10 * second)
		r[0].Mend()
		time.Sleep(3 * second)
		within(t, "a call of another replica", r[1].acquire(t, searches), 10*second, 30*second)
		within(t, "a call after the outage", r[0].acquire(t, searches), 0, 30*second)
		if n := r[0].failures.Load(); n != 1 {
			t.Errorf("%d reports of one outage", n)
		}
	})
}

// A call that is canceled before it has started does not count, also at the moment when
// NATS confirms that it may start.
func TestLimitsForgetCanceledCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, r := simulate(t, 2)
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), 5*second)
			r[0].confirmed.Store(&cancel)
			if err := r[0].Acquire(ctx, searches); err == nil {
				r[0].Observe(searches, api.RateLimit{})
				time.Sleep(10 * time.Minute)
			} else if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			cancel()
			time.Sleep(second)
		}
		none := context.CancelFunc(func() {})
		r[0].confirmed.Store(&none)
		for range 5 {
			within(t, "a call", r[1].acquire(t, searches), 0, second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*second)
		defer cancel()
		began := time.Now()
		if err := r[0].Acquire(ctx, searches); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a sixth call: %v", err)
		}
		within(t, "a canceled call", time.Since(began), 2*second, 2*second)
	})
}

func TestLimitsTellWhichCallsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, all := simulate(t, 1)
		l := all[0]
		for range 5 {
			l.acquire(t, searches)
			l.Observe(searches, api.RateLimit{})
		}
		if waits := l.Waits(); len(waits) != 0 {
			t.Errorf("the waits are %+v", waits)
		}
		began := time.Now()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				l.acquire(t, searches)
				l.Observe(searches, api.RateLimit{})
			})
		}
		synctest.Wait()
		waits := l.Waits()
		if len(waits) != 1 || waits[0].Group != searches || waits[0].Calls != 2 || !waits[0].Since.Equal(began) ||
			waits[0].Until.Sub(began).Round(time.Second) != 3*time.Second {
			t.Errorf("the waits are %+v", waits)
		}
		wg.Wait()
		if waits := l.Waits(); len(waits) != 0 {
			t.Errorf("the waits are %+v", waits)
		}
	})
}

func TestClosedLimitsAdmitNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := simulate(t, 2)
		for range 5 {
			r[0].acquire(t, searches)
		}
		failed := make(chan error, 1)
		go func() { failed <- r[0].Acquire(t.Context(), searches) }()
		time.Sleep(second)
		for range 5 {
			r[0].Observe(searches, api.RateLimit{})
		}
		r[0].Close()
		if err := <-failed; err == nil || r[0].Acquire(t.Context(), searches) == nil || r[0].Acquire(t.Context(), "x") == nil {
			t.Errorf("the call that waits returns %v, or a later one nil", err)
		}
		r[0].Observe(searches, api.RateLimit{})
		within(t, "a call of another replica", r[1].acquire(t, searches), 2*second, 4*second)
		r[1].Observe(searches, api.RateLimit{})
		r[1].Close()
		time.Sleep(time.Hour) // which is known by the clock of the server of NATS
		later := b.replica(t, 0)
		defer later.Close()
		for range 5 {
			within(t, "a call an hour later", later.acquire(t, searches), 0, second/10)
		}
	})
}

// The limits of the client itself do not reduce the rate.
func TestLimitsOfClients(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]seed.WindowKind{
		"from the first call": seed.FixedFromFirst, "to the clock": seed.FixedToClock, "sliding": seed.Sliding,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, all := simulate(t, 4)
				const calls = 240
				s := fastiotest.New(func(o *seed.Options) { o.Limits.Windows = kind })
				s.Fail(seed.Fault{Delay: 50 * time.Millisecond})
				time.Sleep(rand.N(10 * time.Minute))
				began := time.Now()
				var wg sync.WaitGroup
				for _, r := range all {
					client := s.Client(t, fastio.WithLimiter(r))
					wg.Go(func() {
						for range calls / len(all) {
							if _, err := client.Events.Search(t.Context(), events.Query{Profile: api.Org(api.ID(s.Org().ID))}); err != nil {
								t.Error(err)
							}
						}
					})
				}
				wg.Wait()
				within(t, "all calls", time.Since(began), 0, idealTime(calls)*105/100)
				if n := s.Refusals(); n > 0 {
					t.Errorf("%d of %d calls were refused", n, calls)
				}
			})
		})
	}
}

func TestCallsThatNoWindowCountsAreNotWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, replicas := simulate(t, 1)
		for range 5 {
			replicas[0].acquire(t, "test")
			replicas[0].Observe("test", api.RateLimit{Limit: 5000, Remaining: 4000, Reset: time.Now().Add(time.Minute)})
			time.Sleep(2 * time.Second)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.writes != 0 {
			t.Errorf("%d writes", b.writes)
		}
	})
}
