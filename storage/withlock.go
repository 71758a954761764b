package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/wait"
)

// ErrLockLost is the cause of the end of a context of [Service.WithLock]: another
// user may have locked the file, and nothing more may be written.
var ErrLockLost = errors.New("fastio: storage.WithLock: the lock is lost")

// WithLockOptions are the options of [Service.WithLock]. Nil means the defaults.
type WithLockOptions struct {
	LockOptions

	Wait bool // while the file is locked, until ctx ends; default: return [api.ErrLocked]
}

// releaseTime bounds the release of a lock, also after the context has ended.
const releaseTime = 10 * time.Second

// WithLock locks a file of a workspace or share, calls do, and releases the lock
// when do has returned or panicked. It renews the lock after each half of its
// duration, and retries failed renewals. WithLock returns when do has returned: do must
// end with its context. If ctx ends, the lock is not renewed any more.
//
// The context of do ends with the cause [ErrLockLost] if the lock is lost. If no renewal
// succeeds, it ends a tenth of the duration before the lock does, at most 10 seconds, so
// that a write that is under way does not arrive after the lock.
//
// Errors: those of [Locks.Acquire]; the error of do, joined with [ErrLockLost] if
// the lock was lost while do ran, and with that of [Locks.Release].
func (s *Service) WithLock(
	ctx context.Context, in api.Profile, node api.OpaqueID, o *WithLockOptions,
	do func(ctx context.Context) error, opts ...api.CallOption,
) error {
	const op = "storage.WithLock"
	ctx, stop, err := call.Bounded(ctx, s.c, op, opts)
	if err != nil {
		return err
	}
	defer stop()
	if do == nil {
		return &api.InputError{Op: op, Field: "do", Rule: "must not be nil"}
	}
	if o == nil {
		o = &WithLockOptions{}
	}
	l := &heldLock{locks: s.Locks, in: in, node: node, opts: opts}
	if err := l.acquire(ctx, *o); err != nil {
		return err
	}
	return l.holdWhile(ctx, do)
}

// heldLock is a lock that is renewed.
type heldLock struct {
	locks *Locks
	in    api.Profile
	node  api.OpaqueID
	opts  []api.CallOption

	token  api.Secret
	length time.Duration
	since  time.Time // start of the request that acquired or renewed it last
}

// acquire gets the lock. While another user holds the lock, acquire waits if o.Wait is
// set, and fails otherwise.
func (l *heldLock) acquire(ctx context.Context, o WithLockOptions) error {
	o.Duration = cmp.Or(o.Duration, defaultLock)
	l.length = o.Duration
	var interval wait.Interval
	var held error
	// Any error ends the poll. To wait for the lock of another user, the function returns no error.
	anyError := func(error) bool { return true }
	err := wait.Poll{Final: anyError}.Run(ctx, func() (done bool, pause time.Duration, err error) {
		l.since = time.Now()
		lock, err := l.locks.Acquire(ctx, l.in, l.node, &o.LockOptions, l.opts...)
		if o.Wait && errors.Is(err, api.ErrLocked) {
			held = err
			return false, max(interval.Next(), wait.RetryAfterOf(err)), nil
		}
		if err == nil {
			l.token = lock.Token
		}
		return err == nil, 0, err
	})
	if err != nil && ctx.Err() != nil && held != nil {
		return fmt.Errorf("%w: %w", err, held)
	}
	return err
}

// holdWhile calls do while a goroutine renews the lock, and then releases it. If the
// lock is lost, the context of do is canceled and the result includes [ErrLockLost].
func (l *heldLock) holdWhile(ctx context.Context, do func(ctx context.Context) error) (err error) {
	inner, cancel := context.WithCancelCause(ctx)
	renewing := make(chan error, 1)
	go func() {
		lost := l.renew(inner)
		cancel(lost)
		renewing <- lost
	}()
	defer func() { // also if do panics
		cancel(nil)
		lost := <-renewing
		if lost == nil && !time.Now().Before(l.ends()) { // not renewed, because ctx has ended
			lost = ErrLockLost
		}
		if lost != nil && !errors.Is(err, ErrLockLost) {
			err = errors.Join(err, lost)
		}
		err = errors.Join(err, l.release(ctx, lost))
	}()
	return do(inner)
}

func (l *heldLock) ends() time.Time { return l.since.Add(l.length) }

// margin is how long before the end of the lock nothing more is written.
func (l *heldLock) margin() time.Duration { return min(l.length/10, 10*time.Second) }

// renew renews the lock until ctx ends, which is no error, or the lock is lost.
func (l *heldLock) renew(ctx context.Context) error {
	for wait.Sleep(ctx, time.Until(l.since.Add(l.length/2))) == nil {
		if err := l.extend(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%w: %w", ErrLockLost, err)
		}
	}
	return nil
}

// extend renews the lock once. An attempt may take an eighth of the duration of
// the lock. The last one ends margin() before the lock does.
func (l *heldLock) extend(ctx context.Context) error {
	ctx, stop := context.WithDeadline(ctx, l.ends().Add(-l.margin()))
	defer stop()
	var last error
	err := wait.Poll{Final: refusedLock}.Run(ctx, func() (done bool, pause time.Duration, err error) {
		attempt, stop := context.WithTimeout(ctx, l.length/8)
		defer stop()
		start := time.Now()
		last = l.locks.Heartbeat(attempt, l.in, l.node, l.token, l.opts...)
		if last == nil {
			l.since = start
		}
		return last == nil, 0, last
	})
	if err != nil {
		return cmp.Or(last, err) // why the last attempt has failed says more than that the time is over
	}
	return nil
}

// refusedLock reports whether the server has refused to renew or release a lock.
func refusedLock(err error) bool { return errors.Is(err, api.ErrLocked) || call.Final(err) }

// release releases the lock unless the server has refused to renew it. It does not
// need ctx, which may have ended. A lost lock that cannot be released is not an error.
func (l *heldLock) release(ctx context.Context, lost error) error {
	if refusedLock(lost) {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer stop()
	err := l.locks.Release(ctx, l.in, l.node, l.token, l.opts...)
	if lost != nil && refusedLock(err) {
		return nil
	}
	return err
}
