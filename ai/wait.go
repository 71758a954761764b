package ai

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
)

// TurnError is how a turn ended that brought neither an answer nor a question, or
// what kept a program from seeing its end: the turn may then go on, and
// [Turns.Wait] or [Service.Resume] take it up again.
type TurnError struct {
	Op       string
	ThreadID api.OpaqueID
	TurnID   api.OpaqueID
	Turn     *Turn // as last seen; nil if it never was
	Err      error // nil when the turn itself has failed
}

// Error says what became of the turn.
func (e *TurnError) Error() string {
	s := "fastio: " + e.Op + ": "
	if e.Err != nil {
		return s + "waiting for the turn: " + e.Err.Error()
	}
	s += "the turn ended as " + string(e.Turn.Status)
	if e.Turn.Failure != nil && e.Turn.Failure.Message != "" {
		s += ": " + e.Turn.Failure.Message
	}
	return s
}

// Unwrap returns Err.
func (e *TurnError) Unwrap() error { return e.Err }

// Status returns how the turn stood when it was last seen, "" if it never was.
func (e *TurnError) Status() TurnStatus {
	if e.Turn == nil {
		return ""
	}
	return e.Turn.Status
}

// Wait returns a turn once it has ended, with its answer, or with what the agent
// asks back. A turn that ended otherwise is a [*TurnError], and so is what ends the
// wait before: ctx, or a server that refuses for good. All other failures are
// waited out.
func (t *Turns) Wait(ctx context.Context, scope api.Profile, thread, turn api.OpaqueID, opts ...api.CallOption) (*Turn, error) {
	w := waiting{turns: t, op: "ai.Turns.Wait", scope: scope, thread: thread, turn: turn, opts: opts}
	return w.end(ctx)
}

// waiting is a turn that is waited for.
type waiting struct {
	turns        *Turns
	op           string
	scope        api.Profile
	thread, turn api.OpaqueID
	opts         []api.CallOption

	last *Turn // as last seen
}

const (
	shortestPause = 500 * time.Millisecond
	longestPause  = 10 * time.Second
	failurePause  = 2 * time.Second
)

// end waits for the end of the turn. The first look may find it; from then on looks
// become rarer.
func (w *waiting) end(ctx context.Context) (*Turn, error) {
	pause := shortestPause
	for {
		ended, err := w.look(ctx)
		if ended {
			return w.outcome()
		}
		wait := pause
		if err != nil {
			if final(err) || ctx.Err() != nil {
				return nil, w.fail(err)
			}
			wait = failurePause
			if e, ok := errors.AsType[*api.Error](err); ok {
				wait = max(wait, e.Rate.RetryAfter)
			}
		}
		if ended := sleep(ctx, wait); ended != nil {
			return nil, w.fail(joined(ended, err))
		}
		pause = min(pause+pause/2, longestPause)
	}
}

// look reads the turn and reports whether it has ended.
func (w *waiting) look(ctx context.Context) (ended bool, err error) {
	t, err := w.turns.Get(ctx, w.scope, w.thread, w.turn, w.opts...)
	if err != nil {
		return false, err
	}
	w.last = t
	return t.Status.Ended(), nil
}

// outcome returns an ended turn.
func (w *waiting) outcome() (*Turn, error) {
	if w.last.Status.Failed() {
		return nil, w.fail(nil)
	}
	return w.last, nil
}

// fail names the turn that an error belongs to. Bad arguments are as they are.
func (w *waiting) fail(err error) error {
	if _, bad := errors.AsType[*api.InputError](err); bad {
		return err
	}
	return &TurnError{Op: w.op, ThreadID: w.thread, TurnID: w.turn, Turn: w.last, Err: err}
}

// final reports whether a call that failed with err would fail again and again.
func final(err error) bool {
	if _, ok := errors.AsType[*json.SemanticError](err); ok { // an answer that nobody can read
		return true
	}
	for _, kind := range []error{
		api.ErrInvalid, api.ErrUnauthenticated, api.ErrForbidden, api.ErrNotFound, api.ErrPaymentRequired, api.ErrUnsupported,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
