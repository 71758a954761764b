package relay_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

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
