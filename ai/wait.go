package ai

import (
	"context"
	"errors"
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/wait"
)

// TurnError is returned if a turn ended without an answer or a clarification,
// or if the wait for its end failed. In the second case the turn may continue:
// [Turns.Wait] or [Service.Resume] wait for it again.
type TurnError struct {
	Op       string
	ThreadID api.OpaqueID
	TurnID   api.OpaqueID
	Turn     *Turn // its last known state; nil if unknown
	Err      error // nil if the turn itself failed
}

// Error returns the status of the turn, or why the wait failed.
func (e *TurnError) Error() string {
	s := "fastio: " + e.Op + ": "
	if e.Err != nil {
		return s + "waiting for the turn: " + call.Within(e.Op, e.Err)
	}
	s += "the turn ended as " + string(e.Turn.Status)
	if e.Turn.Failure != nil && e.Turn.Failure.Message != "" {
		s += ": " + e.Turn.Failure.Message
	}
	return s
}

// Unwrap returns Err.
func (e *TurnError) Unwrap() error { return e.Err }

// Status returns the last known status of the turn; "" if unknown.
func (e *TurnError) Status() TurnStatus {
	if e.Turn == nil {
		return ""
	}
	return e.Turn.Status
}

// Wait waits until a turn has ended and returns it, with its answer or
// clarification. Transient failures are retried.
//
// Errors: [*TurnError] if the turn failed, ctx or [api.WithTimeout] ended the wait,
// or the server refused it permanently.
func (t *Turns) Wait(
	ctx context.Context, in api.Profile, thread, turn api.OpaqueID, opts ...api.CallOption,
) (*Turn, error) {
	const op = "ai.Turns.Wait"
	ctx, stop, err := call.Bounded(ctx, t.c, op, opts)
	if err != nil {
		return nil, err
	}
	defer stop()
	w := waiting{turns: t, op: op, in: in, thread: thread, turn: turn, opts: opts}
	return w.awaitEnd(ctx)
}

type waiting struct {
	turns        *Turns
	op           string
	in           api.Profile
	thread, turn api.OpaqueID
	opts         []api.CallOption

	last       *Turn           // its last known state
	cursor     activity.Cursor // of the activity of the scope
	noActivity bool            // the activity cannot be polled
}

const (
	heldPoll     = 20 * time.Second
	longestPoll  = 30 * time.Second // with the wait for the rate limit, which many others may use up
	failurePause = 2 * time.Second  // after a poll of the activity that failed

	busyInterval = 3600 * time.Millisecond // of the polls for a thread that always changes: the hourly rate limit
)

// awaitEnd waits for the end of the turn. It reads the turn first, and again each time
// the activity of the workspace or share reports a change of the thread. Without activity
// reports the reads become rarer. While changes follow each other at once, the reads become
// rarer too, up to busyInterval. An error that ends the wait, such as that of ctx, includes
// the error of the last step.
func (w *waiting) awaitEnd(ctx context.Context) (*Turn, error) {
	var interval wait.Interval // between two reads
	var stepErr error          // of the last step
	err := wait.Poll{Final: call.Final}.Run(ctx, func() (ended bool, pause time.Duration, err error) {
		ended, readErr := w.readTurn(ctx)
		stepErr = readErr
		if ended || readErr != nil {
			return ended, 0, readErr
		}
		read := time.Now()
		changed, activityErr := w.awaitActivity(ctx)
		if activityErr != nil {
			stepErr = activityErr
			return false, max(failurePause, interval.Next()), nil //nolint:nilerr // the turn can still be read
		}
		took := time.Since(read)
		if changed && took >= busyInterval {
			interval = wait.Interval{} // begin again with the shortest
		}
		pause = interval.Next()
		if changed {
			pause = min(pause, busyInterval)
		}
		return false, pause - took, nil // so that the reads are a pause apart
	})
	if err != nil {
		return nil, w.turnError(withLast(w.op, err, stepErr))
	}
	if w.last.Status.Failed() {
		return nil, w.turnError(nil) // the Status of the turn says why
	}
	return w.last, nil
}

// awaitActivity waits for a change of the thread and reports whether the thread may have
// changed. The first call does not wait, but gets the cursor from which the later calls wait,
// so that no change between two reads is missed. It returns true, because the thread may have
// changed since the last read. Without access to the activity, awaitActivity returns at once.
func (w *waiting) awaitActivity(ctx context.Context) (changed bool, err error) {
	if w.noActivity {
		return false, nil
	}
	first := w.cursor == ""
	o := &activity.PollOptions{
		Fields: []activity.Field{activity.FieldOf(activity.NameAIThread, w.thread.Plain())}, Cursor: w.cursor,
	}
	if !first {
		o.Wait, o.Updated = heldPoll, true // wait for changes since the cursor
	}
	r, err := w.turns.changes.PollProfile(ctx, w.in, o, api.WithTimeout(longestPoll))
	if err != nil {
		w.noActivity = call.Final(err) // such as in a share whose guests do not see each other
		if w.noActivity {
			err = nil
		}
		return false, err
	}
	w.cursor = w.cursor.Later(r.Cursor)
	w.noActivity = w.cursor == "" // without a cursor a poll cannot wait for changes
	return first || len(r.Activity) > 0, nil
}

// readTurn gets the turn once, keeps it as the last one known, and reports whether
// it has ended.
func (w *waiting) readTurn(ctx context.Context) (ended bool, err error) {
	t, err := w.turns.Get(ctx, w.in, w.thread, w.turn, w.opts...)
	if err != nil {
		return false, err
	}
	w.last = t
	return t.Status.Ended(), nil
}

// turnError returns a [*TurnError] with err and the last state of the turn. An error
// of the input is returned as it is.
func (w *waiting) turnError(err error) error {
	if _, bad := errors.AsType[*api.InputError](err); bad {
		return err
	}
	return &TurnError{Op: w.op, ThreadID: w.thread, TurnID: w.turn, Turn: w.last, Err: err}
}
