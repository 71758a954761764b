package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/fastio-go/fastio/relay"
)

// The ledger of the tests in virtual time does what a bucket of NATS does.
func TestSimulatedLedgerIsLikeABucket(t *testing.T) {
	t.Parallel()
	js, _ := connect(t, startServer(t))
	bucket, err := relay.BucketLedger(t.Context(), relay.Stream{JetStream: js})
	must(t, err)
	gate := make(chan struct{})
	close(gate)
	model := &connection{newSimulatedLedger(), 0, gate}
	random := rand.New(rand.NewPCG(1, 2))
	steps := 5000
	if testing.Short() {
		steps = 500
	}
	for i := range steps {
		key := fmt.Sprint("replica.test.", random.IntN(5))
		want, err := model.Get(t.Context(), key)
		must(t, err)
		got, err := bucket.Get(t.Context(), key)
		must(t, err)
		if a, b := relay.RevisionOf(want), relay.RevisionOf(got); a != b || string(relay.ValueOf(want)) != string(relay.ValueOf(got)) {
			t.Fatalf("step %d: %s has revision %d, want %d", i, key, b, a)
		}
		after := relay.RevisionOf(want)
		if random.IntN(4) == 0 {
			after = random.Uint64N(after + 2)
		}
		value := []byte(strconv.Itoa(i))
		if random.IntN(3) == 0 {
			value = nil
		}
		_, wantErr := model.Put(t.Context(), key, value, after, 0)
		_, err = bucket.Put(t.Context(), key, value, after, 0)
		if relay.Conflicts(wantErr) != relay.Conflicts(err) || (wantErr == nil) != (err == nil) {
			t.Fatalf("step %d: a write of %s after %d returns %v, want %v", i, key, after, err, wantErr)
		}
	}
	latest := func(l relay.Ledger) (text string) {
		ctx, cancel := context.WithCancel(t.Context())
		entries := map[uint64]string{}
		err := l.Watch(ctx, []string{"replica.test.*"}, func(e *relay.LedgerEntry) {
			if e == nil {
				cancel()
				return
			}
			entries[relay.RevisionOf(*e)] = string(relay.ValueOf(*e))
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		return fmt.Sprint(entries)
	}
	if got, want := latest(bucket), latest(model); got != want {
		t.Errorf("a watch delivers %s, want %s", got, want)
	}
}
