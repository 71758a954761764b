package relay

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var errHeld = errors.New("another process holds the lease")

// lease is a key of the bucket that expires unless it is renewed: the lock of a record.
type lease struct {
	js     jetstream.JetStream
	kv     jetstream.KeyValue
	key    string
	value  []byte // differs from that of any other lease
	ttl    time.Duration
	latest uint64 // revision, of the goroutine that renews
	until  atomic.Pointer[time.Time]
}

// record is the value of a lease.
type record struct {
	Version int    `json:"v"`
	Token   string `json:"token"`
}

// newRecord returns the value of a new lease. A random token makes it differ from that of
// any other lease.
func newRecord() []byte {
	value, err := jsonv2.Marshal(record{Version: 1, Token: rand.Text()})
	if err != nil {
		panic("fastio: relay: " + err.Error()) // impossible
	}
	return value
}

// acquire creates the key. It returns errHeld if another process has the lease. A goroutine of the WaitGroup
// late sends the request, and does not end with ctx. If acquire returns an error other than errHeld, the key
// may have been created all the same: the goroutine then deletes it, unless it is the key of another process.
func (l *lease) acquire(ctx context.Context, late *sync.WaitGroup) error {
	created := make(chan error)
	late.Go(func() {
		err := l.create(context.WithoutCancel(ctx))
		isAbandoned := false
		select {
		case created <- err:
		case <-ctx.Done(): // acquire has returned the error of ctx
			isAbandoned = true
		}
		isUnknown := err != nil && !errors.Is(err, errHeld) // the response was lost
		if isAbandoned || isUnknown {
			_ = l.release(context.WithoutCancel(ctx)) // after an error, the key expires
		}
	})
	select {
	case err := <-created:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// create creates the key, and waits requestTimeout for the response. It returns errHeld if
// another process has the lease.
func (l *lease) create(ctx context.Context) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	revision, err := l.kv.Create(ctx, l.key, l.value, jetstream.KeyTTL(l.ttl))
	if err != nil {
		var missing error // the key may be ours: the library may have sent the request twice
		revision, missing = l.find(ctx)
		if missing != nil {
			if conflicts(err) {
				return errHeld
			}
			return fmt.Errorf("acquiring %s: %w", l.key, err)
		}
	}
	l.latest = revision
	l.extend(began)
	return nil
}

// put writes the key, with a new expiry, if it still has the given revision. It returns the new revision.
func (l *lease) put(ctx context.Context, revision uint64) (uint64, error) {
	msg := &nats.Msg{Subject: "$KV." + l.kv.Bucket() + "." + l.key, Header: nats.Header{}, Data: l.value}
	ack, err := l.js.PublishMsg(ctx, msg,
		jetstream.WithExpectLastSequencePerSubject(revision), jetstream.WithMsgTTL(l.ttl))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// find returns the revision of the key if it has our value, and otherwise errLost.
func (l *lease) find(ctx context.Context) (uint64, error) {
	entry, err := l.kv.Get(ctx, l.key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, errLost
	}
	if err != nil {
		return 0, err
	}
	if !bytes.Equal(entry.Value(), l.value) {
		return 0, errLost
	}
	return entry.Revision(), nil
}

// extend records that the lease is valid for its time after began.
func (l *lease) extend(began time.Time) {
	until := began.Add(l.ttl)
	l.until.Store(&until)
}

// valid reports whether the lease has not expired by the local clock.
func (l *lease) valid() bool { return time.Now().Before(*l.until.Load()) }

// renew extends the lease. It returns errLost if the lease is not ours any more. If the write conflicts,
// although the key is still ours, it returns nil without extending the lease.
func (l *lease) renew(ctx context.Context) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, l.ttl/renewals)
	defer cancel()
	revision, err := l.put(ctx, l.latest)
	if err == nil {
		l.latest = revision
		l.extend(began)
		return nil
	}
	if !conflicts(err) {
		return err
	}
	// A renewal whose response was lost has changed the revision, which the next renewal needs.
	revision, err = l.find(ctx)
	if err == nil {
		l.latest = revision
	}
	return err
}

// renewing is a lease that timers renew.
type renewing struct {
	*lease
	ctx  context.Context //nolint:containedctx // of the renewals
	lost func(cause error)

	mu              sync.Mutex
	ended           bool
	renewal, expiry *time.Timer
	running         sync.WaitGroup
}

// hold renews the lease until stop is called. Stop waits for a renewal that runs: the caller must first
// cancel ctx, which ends the renewal. If the lease is lost, or has expired by the local clock, hold calls
// lost with errLost. Between two renewals no goroutine runs.
func (l *lease) hold(ctx context.Context, lost func(cause error)) (stop func()) {
	h := &renewing{lease: l, ctx: ctx, lost: lost}
	h.mu.Lock() // the functions of the timers wait until both timers are set
	defer h.mu.Unlock()
	h.renewal = time.AfterFunc(l.ttl/renewals, h.renewOnce)
	h.expiry = time.AfterFunc(time.Until(*l.until.Load()), h.expire) // also while a renewal is blocked
	return func() {
		h.end()
		h.running.Wait()
	}
}

// end stops the timers. It returns false if that was done before.
func (h *renewing) end() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	h.ended = true
	h.renewal.Stop()
	h.expiry.Stop()
	return true
}

// resetUnlessEnded sets one of the timers, unless the lease is not held any more. It takes the
// address of the timer's field, which it reads while it holds h.mu.
func (h *renewing) resetUnlessEnded(timer **time.Timer, after time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		(*timer).Reset(after)
	}
}

// lose ends the holding because the lease is lost.
func (h *renewing) lose() {
	if h.end() {
		h.lost(errLost)
	}
}

// renewOnce renews the lease, and sets the timer of the next renewal, which follows sooner if the lease
// was not extended.
func (h *renewing) renewOnce() {
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return
	}
	h.running.Add(1)
	h.mu.Unlock()
	defer h.running.Done()
	before, pause := h.until.Load(), h.ttl/renewals
	err := h.renew(h.ctx)
	if h.ctx.Err() != nil {
		return
	}
	if errors.Is(err, errLost) || err != nil && !h.valid() {
		h.lose()
		return
	}
	isExtended := h.until.Load() != before
	if !isExtended {
		pause /= 10
	}
	h.resetUnlessEnded(&h.renewal, pause)
}

// expire ends the holding if its lease has expired by the local clock. If a renewal has
// moved the deadline, it sets the timer again.
func (h *renewing) expire() {
	if !h.valid() {
		h.lose()
		return
	}
	h.resetUnlessEnded(&h.expiry, time.Until(*h.until.Load()))
}

// release deletes the key if it is ours. It returns nil if the lease was lost before. If the key does
// not have the latest known revision, a write whose response was lost has changed it: release finds
// the revision, and tries again.
func (l *lease) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	purge := func() error {
		return l.kv.Purge(ctx, l.key, jetstream.LastRevision(l.latest), jetstream.PurgeTTL(markerTTL))
	}
	isKnown := l.latest != 0 // a purge with the revision 0 would delete the key of another process, too
	if isKnown && purge() == nil {
		return nil
	}
	var err error
	l.latest, err = l.find(ctx)
	if err == nil {
		err = purge()
	}
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}
