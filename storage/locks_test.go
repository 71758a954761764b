package storage_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/storage"
)

// withLock runs do for 5 minutes, or until its context ends, with a lock of 2 minutes.
// It returns also the cause of the end, and when that was.
func (s *shelf) withLock(
	ctx context.Context, do func(ctx context.Context) error,
) (cause error, ended time.Duration, err error) {
	start := time.Now()
	o := &storage.WithLockOptions{LockOptions: storage.LockOptions{Duration: 2 * time.Minute}}
	err = s.client.Storage.WithLock(ctx, s.room, s.id, o, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(5*time.Minute - time.Second):
		}
		cause, ended = context.Cause(ctx), time.Since(start)
		if do != nil {
			return do(ctx)
		}
		return nil
	})
	return cause, ended, err
}

// sentAt returns the times of the requests of an operation, from start on.
func (s *shelf) sentAt(op seed.Op, start time.Time) (at []time.Duration) {
	for _, r := range s.Requests() {
		if r.Op == string(op) {
			at = append(at, r.At.Sub(start))
		}
	}
	return at
}

func (s *shelf) acquire(ctx context.Context) error {
	return stub.Err(s.client.Storage.Locks.Acquire(ctx, s.room, s.id, nil))
}

// released requires that the file can be locked.
func (s *shelf) released(t *testing.T) {
	t.Helper()
	if err := s.acquire(t.Context()); err != nil {
		t.Errorf("the file is still locked: %v", err)
	}
}

const (
	opHeartbeat = op.StorageLocksHeartbeat
	opRelease   = op.StorageLocksRelease
)

func TestWithLockRenewsAfterHalfOfTheDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, start := newShelf(t, seed.Node{}), time.Now()
		failed := errors.New("failed")
		cause, _, err := s.withLock(t.Context(), func(context.Context) error { return failed })
		if err == nil || !errors.Is(err, failed) || errors.Is(err, storage.ErrLockLost) || cause != nil {
			t.Errorf("got %v, %v", err, cause)
		}
		want := []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute}
		if diff := cmp.Diff(want, s.sentAt(opHeartbeat, start)); diff != "" {
			t.Error(diff)
		}
		s.released(t)
	})
}

// A renewal that fails is retried, and the lock ends when it could not be renewed.
func TestWithLockNoticesALostLock(t *testing.T) {
	t.Parallel()
	type row struct {
		fault    seed.Fault
		lost     bool
		ended    time.Duration
		releases int
	}
	const whole = 5*time.Minute - time.Second
	table.Bubbles(t, map[string]row{
		"a renewal fails twice":    {seed.Fault{Status: 503, Count: 2}, false, whole, 1},
		"a renewal hangs once":     {seed.Fault{Delay: time.Hour, Count: 1}, false, whole, 1},
		"a lost response":          {seed.Fault{Reset: seed.AfterHeader, Count: 1}, false, whole, 1},
		"locked":                   {seed.Fault{Status: http.StatusLocked, Code: 7}, true, time.Minute, 0},
		"conflict":                 {seed.Fault{Status: http.StatusConflict, Code: 7}, true, time.Minute, 0},
		"not found":                {seed.Fault{Status: http.StatusNotFound, Code: 7}, true, time.Minute, 0},
		"no right to renew":        {seed.Fault{Status: http.StatusForbidden, Code: 7}, true, time.Minute, 0},
		"every renewal fails":      {seed.Fault{Status: 502}, true, 2*time.Minute - 10*time.Second, 1},
		"the server hangs":         {seed.Fault{Delay: time.Hour}, true, 2*time.Minute - 10*time.Second, 1},
		"the second renewal fails": {seed.Fault{Status: 500, Skip: 1}, true, 3*time.Minute - 10*time.Second, 1},
	}, func(t *testing.T, test row) {
		s, start := newShelf(t, seed.Node{}), time.Now()
		test.fault.Op = opHeartbeat
		s.Fail(test.fault)
		cause, ended, err := s.withLock(t.Context(), nil)
		if errors.Is(err, storage.ErrLockLost) != test.lost || (err != nil) != test.lost {
			t.Errorf("got %v", err)
		}
		if errors.Is(cause, storage.ErrLockLost) != test.lost || ended != test.ended {
			t.Errorf("ended after %s: %v", ended, cause)
		}
		if n := len(s.sentAt(opRelease, start)); n != test.releases || n > 0 && errors.Is(err, api.ErrNotFound) {
			t.Errorf("%d releases: %v", n, err)
		}
	})
}

// The context of the caller ends neither the lock before the function has returned, nor
// the release.
func TestWithLockOutlivesItsContext(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"before the end of the lock": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(t, seed.Node{})
				ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second) // renewed after 60
				defer cancel()
				cause, _, err := s.withLock(ctx, func(ctx context.Context) error {
					time.Sleep(time.Minute)
					if err := s.acquire(context.WithoutCancel(ctx)); !errors.Is(err, api.ErrLocked) {
						t.Errorf("the file is not locked any more: %v", err)
					}
					if late {
						time.Sleep(time.Minute)
					}
					return ctx.Err()
				})
				if !errors.Is(cause, context.DeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) ||
					errors.Is(err, storage.ErrLockLost) != late {
					t.Errorf("got %v, %v", err, cause)
				}
				s.released(t)
			})
		})
	}
}

func TestWithLockReleasesAfterPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, seed.Node{})
		defer func() {
			if p := recover(); p != "broken" {
				t.Errorf("recovered %v", p)
			}
			s.released(t)
		}()
		_, _, _ = s.withLock(t.Context(), func(context.Context) error { panic("broken") })
	})
}

func TestWithLockReturnsTheErrorOfTheRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, start := newShelf(t, seed.Node{}), time.Now()
		s.Fail(seed.Fault{Op: opRelease, Delay: time.Hour})
		failed := errors.New("failed")
		_, ended, err := s.withLock(t.Context(), func(context.Context) error { return failed })
		if !errors.Is(err, failed) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > ended+time.Minute {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

func TestWithLockWaits(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]int{"423": 0, "409": http.StatusConflict}, func(t *testing.T, status int) {
		s := newShelf(t, seed.Node{}, func(o *seed.Options) { o.Storage.LockedStatus = status })
		if err := s.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		locked := func(o *storage.WithLockOptions, opts ...api.CallOption) error {
			do := func(context.Context) error { return nil }
			return s.client.Storage.WithLock(t.Context(), s.room, s.id, o, do, opts...)
		}
		wait := &storage.WithLockOptions{Wait: true}
		if err := locked(nil); !errors.Is(err, api.ErrLocked) {
			t.Errorf("got %v", err)
		}
		err := locked(wait, api.WithTimeout(time.Minute))
		if !errors.Is(err, api.ErrLocked) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := locked(wait); err != nil { // when the lock has ended
			t.Errorf("got %v", err)
		}
	})
}

func TestLocksRejectInvalidInput(t *testing.T) {
	t.Parallel()
	s, room := storage.New(stub.Answer(`{}`)), api.Workspace(roomID)
	acquire := func(d time.Duration) error {
		return stub.Err(s.Locks.Acquire(t.Context(), room, nodeID, &storage.LockOptions{Duration: d}))
	}
	stub.Refused(t, map[string][]error{
		"duration": {acquire(time.Second), acquire(time.Hour + time.Second), acquire(time.Minute + 1), acquire(-1)},
		"lock_token": {
			s.Locks.Heartbeat(t.Context(), room, nodeID, api.Secret{}),
			s.Locks.Release(t.Context(), room, nodeID, api.Secret{}),
		},
		"version_id": {s.Versions.Restore(t.Context(), room, nodeID, "-")},
		"do":         {s.WithLock(t.Context(), room, nodeID, nil, nil)},
	})
	if _, err := s.Locks.Acquire(t.Context(), room, nodeID, nil); err == nil {
		t.Error("a response without a token is not an error")
	}
}
