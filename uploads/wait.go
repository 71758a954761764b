package uploads

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/wait"
)

// changeWatch waits for the changes of all uploads of a Service with one long poll.
type changeWatch struct {
	polls *activity.Service

	mu        sync.Mutex
	waiting   map[api.OpaqueID]chan struct{} // signaled after a change
	pollLoop  *ratelimit.Loop                // of the poll; nil without one
	stop      context.CancelFunc             // the same
	recompute chan struct{}                  // closed by the next response: nextRead may return another time
}

const (
	quick     = 2 * time.Second  // most uploads have ended until then: others are worth a poll
	lookAgain = 30 * time.Second // without a report of a change, while the server holds the poll
)

// newChangeWatch returns a changeWatch without waiting uploads.
func newChangeWatch(polls *activity.Service) *changeWatch {
	return &changeWatch{polls: polls, waiting: map[api.OpaqueID]chan struct{}{}, recompute: make(chan struct{})}
}

// subscribe returns a channel that receives a value when one of the uploads may have
// changed, and a function that removes the uploads again. When the last upload is removed,
// the poll for activity ends.
func (e *changeWatch) subscribe(uploads []api.OpaqueID) (changed <-chan struct{}, remove func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	signal := make(chan struct{}, 1)
	for _, id := range uploads {
		e.waiting[api.OpaqueID(id.Plain())] = signal
	}
	return signal, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, id := range uploads {
			delete(e.waiting, api.OpaqueID(id.Plain()))
		}
		if len(e.waiting) == 0 && e.pollLoop != nil {
			e.stop()
			e.pollLoop = nil
		}
	}
}

// pollActivity polls for changes of uploads until ctx is done, which is when the last
// upload is removed, or until the poll is refused.
func (e *changeWatch) pollActivity(ctx context.Context) {
	mayHaveMissed := true // changes before the first response
	for r, err := range e.polls.Watch(ctx, api.User(api.Me), nil) {
		if err != nil {
			return
		}
		e.signalChanges(mayHaveMissed, r.Activity)
		mayHaveMissed = false
	}
}

// signalChanges signals the uploads that have changed according to the fields of
// activity, or all of them. A field without an ID concerns every upload.
func (e *changeWatch) signalChanges(all bool, fields api.Map[api.Time]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.recompute) // awaitChange calls nextRead again: reads are rarer now, because the poll for activity works
	e.recompute = make(chan struct{})
	for id, signal := range e.waiting {
		changed := all
		for name := range fields {
			f := activity.Field(name)
			ofUpload := f.Name() == activity.NameUpload && (f.ID() == "" || api.OpaqueID(f.ID()).Equal(id))
			changed = changed || ofUpload
		}
		if changed {
			select {
			case signal <- struct{}{}:
			default:
			}
		}
	}
}

// nextRead returns when to read an upload again. The wait for it has started at waitStart.
// When recompute is closed, nextRead may return another time.
//
// A wait that is longer than quick starts a poll for activity, with the lowest priority.
// While the poll runs, reads are rare (lookAgain), because it reports changes; otherwise a
// pause is an eighth of the time waited, 0.5 to 10 s.
func (e *changeWatch) nextRead(waitStart, lastRead time.Time) (at time.Time, recompute <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pollLoop == nil && time.Since(waitStart) >= quick {
		var ctx context.Context
		ctx, e.stop = context.WithCancel(context.Background())
		e.pollLoop = new(ratelimit.Loop)
		e.pollLoop.SetClass(ratelimit.Rest)
		go e.pollActivity(ratelimit.With(ctx, e.pollLoop))
	}
	pause := lookAgain
	pollRuns := e.pollLoop.State().Running // false for a nil loop
	if !pollRuns {
		const least, most, part = 500 * time.Millisecond, 10 * time.Second, 8
		pause = min(max(lastRead.Sub(waitStart)/part, least), most)
	}
	return lastRead.Add(pause), e.recompute
}

// awaitChange waits until an upload must be read again: after a change, at the time that
// nextRead returns, or when ctx is done.
func (e *changeWatch) awaitChange(ctx context.Context, waitStart time.Time, changed <-chan struct{}) {
	lastRead := time.Now() // by the caller
	for {
		at, recompute := e.nextRead(waitStart, lastRead) //nolint:contextcheck // all uploads share the poll
		select {
		case <-recompute:
			continue
		case <-changed:
		case <-ctx.Done():
		case <-time.After(time.Until(at)):
		}
		return
	}
}

// mostLooks is how often an upload is read that may not have been completed.
const mostLooks = 5

// wasCompleted reports whether the upload was completed, so that it accepts no more content,
// by a call whose response was lost. It reads the upload until that is so, but no more than
// mostLooks times: the server may still be at work on the call. The error is that of the
// last read.
func (f *file) wasCompleted(ctx context.Context) (bool, error) {
	var interval wait.Interval
	reads := 0
	err := wait.Poll{Final: call.Final}.Run(ctx, func() (bool, time.Duration, error) {
		err := f.readState(ctx)
		if err == nil {
			reads++
		}
		return !f.acceptsContent() || reads == mostLooks, interval.Next(), err
	})
	return err == nil && !f.acceptsContent(), err
}

// readState reads the state of the upload from the platform.
func (f *file) readState(ctx context.Context) error {
	u, err := f.s.Get(ctx, f.ID, f.opts...)
	if err != nil {
		return err
	}
	u.ID = f.ID // which each later call needs, also if the response has none
	f.state = *u
	return nil
}

// acceptsContent reports whether the upload accepts content.
func (f *file) acceptsContent() bool {
	return f.state.Status == StatusReady || f.state.Status == StatusUploading
}

// unknownResult returns the error of an upload of which is not known whether it has
// ended successfully.
func (f *file) unknownResult(causes ...error) error {
	return &Error{Op: f.op, Upload: f.state, Err: errors.Join(causes...)}
}

// awaitEnd waits until the upload is stored, has failed or, without a target, is
// assembled ([StatusComplete]). It returns an error if the upload has failed: a lostError,
// after which the upload starts over, if the server has received other bytes.
func (f *file) awaitEnd(ctx context.Context) error {
	if f.ID == "" {
		return f.unknownResult(errors.New("the response has no upload"))
	}
	if !f.hasEnded() {
		if err := f.await(ctx); err != nil {
			if errors.Is(err, api.ErrNotFound) { // another process may have removed it
				if found, _ := f.targetHasFile(ctx); found {
					return nil
				}
			}
			return f.unknownResult(err)
		}
	}
	// After the end, Cancel only removes the upload from the list of uploads. An error is ignored:
	// another program may have removed it. An assembled upload stays, because it is still to be used.
	isAssembled := f.state.Status == StatusComplete
	if !isAssembled {
		_ = f.s.Cancel(ctx, f.ID, f.opts...)
	}
	if !f.state.Status.Failed() {
		return nil
	}
	failure := &Error{Op: f.op, Upload: f.state}
	otherBytesArrived := f.state.Integrity.Computed != "" // the checksum of what has arrived, only given if it differs
	if otherBytesArrived {
		return &lostError{err: failure}
	}
	if current := f.state.Conflict(); current != "" {
		return &api.VersionConflictError{Op: f.op, Current: current, Err: failure}
	}
	return failure
}

// longestOpen is for how long an upload that was completed may accept content.
const longestOpen = time.Minute

// await reads the state of the upload until it has ended. It returns errOpen if an upload in
// chunks still accepts content after longestOpen: it is not going to end.
func (f *file) await(ctx context.Context) error {
	var openSince time.Time // zero unless the last read found that it accepts content
	staysOpen := false
	err := f.s.await(ctx, []api.OpaqueID{f.ID}, func() (bool, error) {
		err := f.readState(ctx)
		inChunks := f.ChunkSize != 0
		switch {
		case err != nil:
			return false, err
		case !inChunks || !f.acceptsContent():
			openSince = time.Time{}
		case openSince.IsZero():
			openSince = time.Now()
		default:
			staysOpen = time.Since(openSince) >= longestOpen
		}
		return staysOpen || f.hasEnded(), nil
	})
	if err == nil && staysOpen {
		return errOpen
	}
	return err
}

// await calls read until it returns true or a final error: at once, after a change of
// one of the uploads, and after pauses that grow with the time since the start.
func (s *Service) await(ctx context.Context, uploads []api.OpaqueID, read func() (bool, error)) error {
	changed, remove := s.changes.subscribe(uploads)
	defer remove()
	start := time.Now()
	const noPause = 0 // awaitChange waits instead
	return wait.Poll{Final: call.Final}.Run(ctx, func() (bool, time.Duration, error) {
		done, err := read()
		if !done && err == nil {
			s.changes.awaitChange(ctx, start, changed)
		}
		return done, noPause, err
	})
}

// hasEnded reports whether the upload has ended: with a target it must be stored.
func (f *file) hasEnded() bool {
	return f.state.hasEnded() || f.state.Status == StatusComplete && f.request().Target == Target{}
}

// hasEnded reports whether an upload with a target has ended.
func (u *Upload) hasEnded() bool { return u.Status == StatusStored || u.Status.Failed() }
