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

// add returns a channel that is signaled after changes of an upload, until it is removed.
func (e *ended) add(upload api.OpaqueID) (changed <-chan struct{}, remove func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := api.OpaqueID(upload.Plain())
	signal := make(chan struct{}, 1)
	e.waiting[key] = signal
	if e.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		e.stop, e.refused = stop, false
		go e.watch(ctx)
	}
	return signal, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.waiting, key)
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

// end waits until the upload has ended, and removes it. Cause is why it may not have been
// completed.
func (f *file) end(ctx context.Context, cause error) error {
	if f.ID == "" {
		return &Error{Op: opFile, Upload: f.state, Err: errors.New("the response has no upload")}
	}
	if !f.over() {
		if err := f.await(ctx, cause); err != nil {
			return &Error{Op: opFile, Upload: f.state, Err: err}
		}
	}
	if f.state.Status != StatusComplete {
		_ = f.s.Cancel(ctx, f.ID, f.opts...) // it has ended; another program may have removed it
	}
	if !f.state.Status.Failed() {
		return nil
	}
	failure := &Error{Op: opFile, Upload: f.state}
	if f.state.Integrity.Computed != "" {
		return &mismatchError{err: failure}
	}
	if current := f.state.Conflict(); current != "" {
		return &api.VersionConflict{Op: opFile, Current: current, Err: failure}
	}
	return failure
}

// await reads the state of the upload until it has ended. It returns cause if the upload
// was not completed.
func (f *file) await(ctx context.Context, cause error) error {
	changed, remove := f.s.ended.add(f.ID) //nolint:contextcheck // all uploads share its poll
	defer remove()
	var interval wait.Interval
	looks := 0
	err := wait.Poll{Final: call.Final}.Run(ctx, func() (bool, time.Duration, error) {
		u, err := f.s.Get(ctx, f.ID, f.opts...)
		if err != nil {
			return false, 0, err
		}
		u.ID = f.ID
		f.state = *u
		if u.Status != StatusReady && u.Status != StatusUploading {
			cause = nil // it was completed
		}
		if looks++; f.over() || cause != nil && looks >= mostLooks {
			return true, 0, nil
		}
		pause := f.s.ended.pause(&interval)
		if cause != nil {
			pause = interval.Next()
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-time.After(pause):
		}
		return false, 0, nil
	})
	return errors.Join(cause, err)
}

// over reports whether the upload has ended: with a target it must be stored.
func (f *file) over() bool {
	s := f.state.Status
	return s == StatusStored || s.Failed() || s == StatusComplete && f.request().Target == Target{}
}
