package relay

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
)

// Pause returns a pause after consecutive failures, and its upper bound.
func Pause(first, longest time.Duration, failures int) (pause, bound time.Duration) {
	b := backoff{first, longest}
	return b.pause(failures), b.bound(failures)
}

// Sleep waits.
func Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }

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

// NewLimitsIn returns Limits with other windows, in a bucket that may be simulated.
func NewLimitsIn(
	ctx context.Context, kv jetstream.KeyValue, began time.Time,
	published func(group string) []api.RateWindow, o LimitsOptions,
) (*Limits, error) {
	return newLimits(ctx, kv, began, published, o)
}

// Schedule, Lane and Task are those of sessions.
type (
	Schedule = schedule
	Lane     = lane
	Task     = task
)

// NewSchedule returns a schedule that runs at most so many tasks at a time.
func NewSchedule(most int) *Schedule { return newSchedule(most) }

// NewLane returns a lane of which at most so many tasks run at a time.
func NewLane(most int) *Lane { return newLane(most) }

// NewTask returns a task that runs when it is woken first.
func NewTask(s *Schedule, l *Lane, run func() time.Time) *Task { return s.newTask(l, run) }

// Wake makes the task due now.
func (t *task) Wake() { t.wake() }

// StartAt makes the task due at a time.
func (t *task) StartAt(at time.Time) { t.startAt(at) }

// Stop ends the task, and waits until it does not run.
func (t *task) Stop() { t.stop() }

// ShortLease allows leases below the minimum.
func (f *AccountFollower) ShortLease() { f.shortLease = true }
