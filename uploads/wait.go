package uploads

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/wait"
)

// ended waits for the changes of all uploads of a Service with one long poll.
type ended struct {
	polls *activity.Service

	mu      sync.Mutex
	waiting map[api.OpaqueID]chan struct{} // signaled after a change
	stop    context.CancelFunc             // of the poll; nil without one
	refused bool                           // the poll has failed for good
}

// lookAgain is after which time an upload is read again without a report of a change.
const lookAgain = 30 * time.Second

func newEnded(polls *activity.Service) *ended {
	return &ended{polls: polls, waiting: map[api.OpaqueID]chan struct{}{}}
}

// add returns a channel that is signaled after changes of the uploads, until they are
// removed.
func (e *ended) add(uploads []api.OpaqueID) (changed <-chan struct{}, remove func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	signal := make(chan struct{}, 1)
	for _, id := range uploads {
		e.waiting[api.OpaqueID(id.Plain())] = signal
	}
	if e.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		e.stop, e.refused = stop, false
		go e.watch(ctx)
	}
	return signal, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, id := range uploads {
			delete(e.waiting, api.OpaqueID(id.Plain()))
		}
		if len(e.waiting) == 0 && e.stop != nil {
			e.stop()
			e.stop = nil
		}
	}
}

// watch polls until the last upload is removed. Without permission the uploads are read at
// intervals only.
func (e *ended) watch(ctx context.Context) {
	begun := false
	for r, err := range e.polls.Watch(ctx, api.User(api.Me), nil) {
		if err != nil {
			e.refuse(ctx)
			return
		}
		e.report(!begun, r.Activity)
		begun = true
	}
}

// refuse makes the uploads be read at short intervals, unless the poll was stopped.
func (e *ended) refuse(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = ctx.Err() == nil
}

// report signals the uploads that have changed, all of them when the poll begins.
func (e *ended) report(all bool, fields api.Map[api.Time]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, signal := range e.waiting {
		changed := all
		for name := range fields {
			f := activity.Field(name)
			changed = changed || f.Name() == activity.NameUpload && (f.ID() == "" || api.OpaqueID(f.ID()).Equal(id))
		}
		if changed {
			select {
			case signal <- struct{}{}:
			default:
			}
		}
	}
}

// pause returns how long to wait for a report.
func (e *ended) pause(interval *wait.Interval) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused {
		return interval.Next()
	}
	return lookAgain
}

// mostLooks is how often an upload is read that may not have been completed.
const mostLooks = 5

// completed reads the upload some times, and reports whether its content is complete. The
// error is that of the last read.
func (f *file) completed(ctx context.Context) (bool, error) {
	var interval wait.Interval
	looks := 0
	err := wait.Poll{Final: call.Final}.Run(ctx, func() (bool, time.Duration, error) {
		err := f.look(ctx)
		if err == nil {
			looks++
		}
		return !f.open() || looks == mostLooks, interval.Next(), err
	})
	return err == nil && !f.open(), err
}

// look reads the state of the upload.
func (f *file) look(ctx context.Context) error {
	u, err := f.s.Get(ctx, f.ID, f.opts...)
	if err != nil {
		return err
	}
	u.ID = f.ID
	f.state = *u
	return nil
}

// open reports whether the upload accepts content.
func (f *file) open() bool {
	return f.state.Status == StatusReady || f.state.Status == StatusUploading
}

// unknown returns the error of an upload whose result is unknown.
func (f *file) unknown(causes ...error) error {
	return &Error{Op: f.op, Upload: f.state, Err: errors.Join(causes...)}
}

// end waits until the upload has ended, and removes it.
func (f *file) end(ctx context.Context) error {
	if f.ID == "" {
		return f.unknown(errors.New("the response has no upload"))
	}
	if !f.over() {
		if err := f.await(ctx); err != nil {
			if errors.Is(err, api.ErrNotFound) { // another process may have removed it
				if found, _ := f.there(ctx); found {
					return nil
				}
			}
			return f.unknown(err)
		}
	}
	if f.state.Status != StatusComplete {
		_ = f.s.Cancel(ctx, f.ID, f.opts...) // it has ended; another program may have removed it
	}
	if !f.state.Status.Failed() {
		return nil
	}
	failure := &Error{Op: f.op, Upload: f.state}
	if f.state.Integrity.Computed != "" {
		return &lostError{err: failure}
	}
	if current := f.state.Conflict(); current != "" {
		return &api.VersionConflictError{Op: f.op, Current: current, Err: failure}
	}
	return failure
}

// await reads the state of the upload until it has ended.
func (f *file) await(ctx context.Context) error {
	return f.s.await(ctx, []api.OpaqueID{f.ID}, func() (bool, error) {
		err := f.look(ctx)
		return err == nil && f.over(), err
	})
}

// await calls read until it returns true or an error that is final: at once, after a change
// of one of the uploads, and at intervals.
func (s *Service) await(ctx context.Context, uploads []api.OpaqueID, read func() (bool, error)) error {
	changed, remove := s.ended.add(uploads) //nolint:contextcheck // all uploads share its poll
	defer remove()
	var interval wait.Interval
	return wait.Poll{Final: call.Final}.Run(ctx, func() (bool, time.Duration, error) {
		done, err := read()
		if done || err != nil {
			return done, 0, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-time.After(s.ended.pause(&interval)):
		}
		return false, 0, nil
	})
}

// over reports whether the upload has ended: with a target it must be stored.
func (f *file) over() bool {
	return f.state.stored() || f.state.Status == StatusComplete && f.request().Target == Target{}
}

// stored reports whether an upload with a target has ended.
func (u *Upload) stored() bool { return u.Status == StatusStored || u.Status.Failed() }
