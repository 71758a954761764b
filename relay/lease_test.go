package relay_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/relay"
)

func TestCanceledAcquireLeavesNoLease(t *testing.T) {
	t.Parallel()
	js, l := connect(t, startServer(t))
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "leases", LimitMarkerTTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var late sync.WaitGroup
	send, ended := l.Hold(), make(chan error, 1)
	go func() { ended <- relay.Acquire(ctx, js, kv, "lease.test", time.Minute, &late) }()
	eventually(t, "a request", func() bool { return l.Holds("$KV.leases.lease.test") })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) { // the request is not yet sent
		t.Errorf("got %v", err)
	}
	send()
	late.Wait()
	if _, err := kv.Get(t.Context(), "lease.test"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("the lease is left: %v", err)
	}
	stream, err := js.Stream(t.Context(), "KV_leases")
	if err != nil || stream.CachedInfo().State.LastSeq != 2 { // created and deleted
		t.Error(stream.CachedInfo().State, err)
	}
}

// leaseBucket is the bucket of a lease in a synctest bubble.
type leaseBucket struct {
	jetstream.KeyValue

	simulated *simulatedBucket
}

func (b leaseBucket) Bucket() string { return b.simulated.Bucket() }

func (b leaseBucket) Create(
	ctx context.Context, key string, value []byte, o ...jetstream.KVCreateOpt,
) (uint64, error) {
	return b.simulated.Create(ctx, key, value, o...)
}

func (b leaseBucket) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	return b.simulated.Get(ctx, key)
}

// leaseWrites stores the renewals of a lease. The response to the first one is lost, so that the
// second one has the revision before, and is refused.
type leaseWrites struct {
	jetstream.JetStream

	bucket *simulatedBucket
	writes int
}

func (w *leaseWrites) PublishMsg(ctx context.Context, msg *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	w.writes++
	if w.writes == 2 {
		return nil, jetstream.ErrKeyExists
	}
	w.bucket.mu.Lock()
	latest := w.bucket.revision
	w.bucket.mu.Unlock()
	revision, err := w.bucket.Update(ctx, "lease.test", msg.Data, latest)
	if w.writes == 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &jetstream.PubAck{Sequence: revision}, err
}

func TestLeaseOutlivesALostResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl = 15 * time.Second
		bucket := newSimulatedBucket(time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		var lost error
		stop, err := relay.HoldLease(ctx, &leaseWrites{bucket: bucket}, leaseBucket{simulated: bucket}, "lease.test", ttl,
			func(cause error) { lost = cause })
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * ttl)
		cancel()
		stop()
		if lost != nil {
			t.Error(lost)
		}
	})
}
