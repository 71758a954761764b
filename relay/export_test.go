package relay

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ShortLease allows leases below the minimum.
func (f *Follower) ShortLease() { f.shortLease = true }

// Assign is the division of profiles.
func Assign(replicas map[string][]string) map[string]string { return assign(replicas) }

// Acquire acquires a lease.
func Acquire(
	ctx context.Context, js jetstream.JetStream, kv jetstream.KeyValue, key string, ttl time.Duration, late *sync.WaitGroup,
) error {
	return (&lease{js: js, kv: kv, key: key, value: newRecord("test", nil), ttl: ttl}).acquire(ctx, late)
}
