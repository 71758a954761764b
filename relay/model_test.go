package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/relay"
)

// The models of NATS have only the methods that the relay uses: those of a [relay.Ledger], which
// members use, and those of a [relay.LimitsBucket].
var (
	_ relay.Ledger       = (*connection)(nil)
	_ relay.LimitsBucket = (*simulatedLink)(nil)
)

// limitsLedger has the answers of a bucket of limits, in the form of those of a ledger.
type limitsLedger struct{ relay.LimitsBucket }

func (l limitsLedger) Put(
	ctx context.Context, key string, value []byte, after uint64, _ time.Duration,
) (uint64, error) {
	if after == 0 {
		return l.Create(ctx, key, value)
	}
	return l.Update(ctx, key, value, after)
}

func (l limitsLedger) Get(ctx context.Context, key string) (relay.LedgerEntry, error) {
	e, err := l.LimitsBucket.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return relay.LedgerEntry{}, nil
	}
	if err != nil {
		return relay.LedgerEntry{}, err
	}
	return relay.NewLedgerEntry(key, e.Value(), e.Revision()), nil
}

func (l limitsLedger) Watch(ctx context.Context, keys []string, changed func(e *relay.LedgerEntry)) error {
	w, err := l.LimitsBucket.Watch(ctx, keys[0])
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-w.Updates():
			if e == nil {
				changed(nil)
				continue
			}
			changed(new(relay.NewLedgerEntry(e.Key(), e.Value(), e.Revision())))
		}
	}
}

// script is a sequence of requests to a model and to a NATS server, whose answers it compares.
type script struct {
	answers  [2]relay.Ledger // of the model, and of the server
	keys     []string
	pattern  string
	removes  bool                           // keys are removed, and expire
	latest   [2]map[string]uint64           // revisions by key
	earlier  [2][]uint64                    // all revisions, in the same order
	watched  [2]map[int][]relay.LedgerEntry // what each watch has delivered
	complete [2]map[int]int                 // how many of these before all were known
	mu       sync.Mutex                     // guards watched and complete
	watching sync.WaitGroup
	log      []string
}

// run runs a number of random requests, and returns how the answers differ.
func (s *script) run(requests int) error {
	ctx, stop := context.WithCancel(context.Background())
	defer s.watching.Wait()
	defer stop()
	for i := range 2 {
		s.latest[i], s.watched[i], s.complete[i] = map[string]uint64{}, map[int][]relay.LedgerEntry{}, map[int]int{}
	}
	watches := 0
	for n := range requests {
		var err error
		key := s.keys[rand.IntN(len(s.keys))]
		switch kind := rand.IntN(10); {
		case kind < 5 || kind == 5 && !s.removes:
			err = s.put(ctx, key, fmt.Append(nil, "value", n))
		case kind == 5:
			err = s.put(ctx, key, nil)
		case kind < 8:
			err = s.get(ctx, key)
		case kind == 8:
			wait := waitOfScript
			if rand.IntN(3) == 0 {
				wait *= 9
			}
			s.logf("wait %s", wait)
			time.Sleep(wait)
		case watches < 3:
			s.watch(ctx, watches)
			watches++
			time.Sleep(100 * time.Millisecond)
		}
		if err != nil {
			return fmt.Errorf("%w, after %s", err, strings.Join(s.log, ", "))
		}
	}
	time.Sleep(100 * time.Millisecond) // for what the watches deliver
	if err := s.compareWatches(); err != nil {
		return fmt.Errorf("%w, after %s", err, strings.Join(s.log, ", "))
	}
	return nil
}

// Times of scripts: no wait ends within a second or two of an expiry, or of the end of the
// entry that says so, which the server keeps for a minute.
const (
	waitOfScript = 7 * time.Second
	ttlOfScript  = 11 * time.Second
)

func (s *script) logf(format string, a ...any) { s.log = append(s.log, fmt.Sprintf(format, a...)) }

// put writes a key, or removes it for a nil value, on the condition of a revision: the latest,
// none, or an earlier one of any key.
func (s *script) put(ctx context.Context, key string, value []byte) error {
	after := [2]uint64{s.latest[0][key], s.latest[1][key]}
	switch n := len(s.earlier[0]); {
	case rand.IntN(4) == 0:
		after = [2]uint64{}
	case n > 0 && rand.IntN(4) == 0:
		at := rand.IntN(n)
		after = [2]uint64{s.earlier[0][at], s.earlier[1][at]}
	}
	var ttl time.Duration
	if s.removes && value != nil && rand.IntN(2) == 0 {
		ttl = ttlOfScript
	}
	var refused [2]bool
	var revisions [2]uint64
	for i, l := range s.answers {
		var err error
		revisions[i], err = l.Put(ctx, key, value, after[i], ttl)
		refused[i] = relay.Conflicts(err)
		if err != nil && !refused[i] {
			return err
		}
	}
	s.logf("put %s %q after %d ttl %s: refused %t", key, value, after[0], ttl, refused[0])
	if refused[0] != refused[1] {
		return fmt.Errorf("the model refuses: %t, the server: %t", refused[0], refused[1])
	}
	if !refused[0] {
		s.record(key, revisions)
	}
	return nil
}

// record records the revisions of a write.
func (s *script) record(key string, revisions [2]uint64) {
	for i, revision := range revisions {
		s.latest[i][key] = revision
		s.earlier[i] = append(s.earlier[i], revision)
	}
}

// get reads a key. An entry that has expired has a revision that no write has returned.
func (s *script) get(ctx context.Context, key string) error {
	var got [2]relay.LedgerEntry
	var revisions [2]uint64
	for i, l := range s.answers {
		var err error
		got[i], err = l.Get(ctx, key)
		if err != nil {
			return err
		}
		revisions[i] = relay.RevisionOf(got[i])
	}
	s.logf("get %s: %q", key, relay.ValueOf(got[0]))
	has := [2]bool{revisions[0] != 0, revisions[1] != 0}
	same := [2]bool{revisions[0] == s.latest[0][key], revisions[1] == s.latest[1][key]}
	if has[0] != has[1] || same[0] != same[1] || !equalValues(got[0], got[1]) {
		return fmt.Errorf("the model has %q at %d, the server %q at %d, the latest are %d and %d", relay.ValueOf(got[0]),
			revisions[0], relay.ValueOf(got[1]), revisions[1], s.latest[0][key], s.latest[1][key])
	}
	s.record(key, revisions)
	return nil
}

// equalValues reports whether two entries have the same value, or both none.
func equalValues(a, b relay.LedgerEntry) bool {
	return (relay.ValueOf(a) == nil) == (relay.ValueOf(b) == nil) && bytes.Equal(relay.ValueOf(a), relay.ValueOf(b))
}

// watch begins to watch the keys.
func (s *script) watch(ctx context.Context, number int) {
	s.logf("watch")
	for i, l := range s.answers {
		s.watching.Go(func() {
			_ = l.Watch(ctx, []string{s.pattern}, func(e *relay.LedgerEntry) { // the error of ctx
				s.mu.Lock()
				defer s.mu.Unlock()
				if e == nil {
					s.complete[i][number] = len(s.watched[i][number])
					return
				}
				s.watched[i][number] = append(s.watched[i][number], *e)
			})
		})
	}
}

// compareWatches compares what the watches have delivered. A watch may leave out an entry that
// a later one of the key has replaced.
func (s *script) compareWatches() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for number, want := range s.watched[1] {
		got := s.watched[0][number]
		if s.complete[0][number] != s.complete[1][number] {
			return fmt.Errorf("watch %d delivers %d entries at first, that of the server %d", number, s.complete[0][number],
				s.complete[1][number])
		}
		if len(got) != len(want) {
			return fmt.Errorf("watch %d delivers %s, that of the server %s", number, listed(got), listed(want))
		}
		for i := range want {
			if relay.KeyOf(got[i]) != relay.KeyOf(want[i]) || !equalValues(got[i], want[i]) {
				return fmt.Errorf("watch %d delivers %s, that of the server %s", number, listed(got), listed(want))
			}
		}
	}
	return nil
}

func listed(all []relay.LedgerEntry) string {
	var parts []string
	for _, e := range all {
		parts = append(parts, fmt.Sprintf("%s=%q", relay.KeyOf(e), relay.ValueOf(e)))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// The models of the bucket answer as a NATS server does. The long tests run 10,000 scripts.
func TestModelsAnswerLikeNATS(t *testing.T) {
	t.Parallel()
	virtual(t, func(t *testing.T) { //nolint:thelper // it is the test
		js, _ := connect(t, startServer(t))
		bucket, err := relay.BucketLedger(t.Context(), relay.Stream{JetStream: js})
		must(t, err)
		kv, err := js.KeyValue(t.Context(), "fastio-relay")
		must(t, err)
		var wg sync.WaitGroup
		free := make(chan struct{}, 50)
		for n := range modelScripts {
			free <- struct{}{}
			wg.Go(func() {
				defer func() { <-free }()
				prefix := fmt.Sprintf("replica.%d.", n)
				gate := make(chan struct{})
				close(gate)
				s := &script{
					keys: []string{prefix + "a", prefix + "b", prefix + "c"}, pattern: prefix + "*", removes: n%2 == 0,
					answers: [2]relay.Ledger{&connection{newSimulatedLedger(), time.Millisecond, gate}, bucket},
				}
				if !s.removes {
					link := &simulatedLink{simulatedBucket: newSimulatedBucket(time.Millisecond), delay: time.Millisecond}
					s.answers = [2]relay.Ledger{limitsLedger{link}, limitsLedger{kv}}
				}
				if err := s.run(30); err != nil {
					t.Errorf("script %d: %v", n, err)
				}
			})
		}
		wg.Wait()
	})
}
