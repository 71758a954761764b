package ai

import (
	"context"
	"errors"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/pace"
)

// ErrConversationTooLarge is what a question ends with that the thread has no room
// for: only another thread can go on. It is an [api.ErrConflict].
var ErrConversationTooLarge = errors.New("the conversation is too large")

// tooLarge are the codes that say so, for questions and first questions in
// workspaces and shares.
func tooLarge(code int64) bool {
	switch code {
	case 168116, 153795, 148135, 144657:
		return true
	}
	return false
}

// SendError is what a question ends with that may have been sent. To ask it again
// with the same key is safe: if it had arrived, that finds the turn it made.
type SendError struct {
	IdempotencyKey string
	Err            error // mostly an [*api.Error]
}

// Error says what the sending ended with. The key can be used to read nothing, so
// it may be logged.
func (e *SendError) Error() string {
	if errors.Is(e, ErrConversationTooLarge) {
		return e.Err.Error() + ": " + ErrConversationTooLarge.Error()
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *SendError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrConversationTooLarge], or the [api.ErrConflict]
// that it is, and the server says so, with whatever status.
func (e *SendError) Is(target error) bool {
	refusal, ok := errors.AsType[*api.Error](e.Err)
	return (target == ErrConversationTooLarge || target == api.ErrConflict) && ok && tooLarge(refusal.Code)
}

// gone reports whether a repeated deletion found nothing left to do.
func gone(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Attempts > 1 && (e.Is(api.ErrNotFound) || e.Is(api.ErrInvalid)) && !e.Is(api.ErrUnsupported)
}

// sent is the answer to a question: a turn at the root, or beside its thread.
type sent struct {
	Thread *Thread     `json:"thread"`
	Turn   *Turn       `json:"turn"`
	Flat   turnMembers `json:",embed,inline"`
}

// turn returns the turn, with the key that it was sent with.
func (s *sent) turn(op, key string, opts []api.CallOption) (*Turn, error) {
	t := s.Turn
	if flat := s.Flat.turn(); t == nil && flat.ID != "" {
		flat.Extra, t = nil, flat // the envelope's are among them
	}
	t, err := call.Found(op, "turn", t, opts)
	if err != nil {
		return nil, &SendError{key, err}
	}
	t.IdempotencyKey = key
	return t, nil
}

const (
	conflictAttempts = 6
	conflictPause    = 500 * time.Millisecond
	conflictMost     = 3 * time.Second // the pauses come to 9.5 s
)

// keyed sends a question until the server has it. A conflict usually says that
// the thread is still being made, for less than a second: the same request, with
// its key, then finds what it is to find.
func keyed(ctx context.Context, c Client, r *api.Request, key string, opts []api.CallOption) (*sent, error) {
	r.Options = api.Resolve(opts)
	if r.Options.Timeout > 0 { // of all of it, not of each part
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Options.Timeout)
		defer cancel()
	}
	most := conflictAttempts
	if r.Options.Attempts > 0 {
		most = min(most, r.Options.Attempts)
	}
	pause := conflictPause
	for attempt := 1; ; attempt++ {
		a, err := call.DoAs[sent](ctx, c, r)
		if err == nil {
			return a, nil
		}
		e, refused := errors.AsType[*api.Error](err)
		if _, bad := errors.AsType[*api.InputError](err); bad {
			return nil, err
		}
		if !refused || !e.Is(api.ErrConflict) || tooLarge(e.Code) || attempt == most {
			return nil, &SendError{key, err}
		}
		if at, ok := ctx.Deadline(); ok && time.Until(at) < pause { // the wait need not be begun
			return nil, &SendError{key, joined(context.DeadlineExceeded, err)}
		}
		if ended := pace.Sleep(ctx, pause); ended != nil {
			return nil, &SendError{key, joined(ended, err)}
		}
		pause = min(2*pause, conflictMost)
	}
}

// joined returns why a call was given up, with what its last attempt ended with.
func joined(err, last error) error {
	if last == nil || errors.Is(last, err) {
		return err
	}
	return &endedError{err, last}
}

type endedError struct{ err, last error }

func (e *endedError) Error() string   { return e.err.Error() + " (after " + e.last.Error() + ")" }
func (e *endedError) Unwrap() []error { return []error{e.err, e.last} }
