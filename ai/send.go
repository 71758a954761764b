package ai

import (
	"context"
	"errors"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/wait"
)

// ErrConversationTooLarge is returned if the thread has no room for the
// question: ask in another thread. It is an [api.ErrConflict].
var ErrConversationTooLarge = errors.New("the conversation is too large")

// tooLarge reports whether code says so, for the first and for further
// questions, in workspaces and shares.
func tooLarge(code int64) bool {
	switch code {
	case 168116, 153795, 148135, 144657:
		return true
	}
	return false
}

// SendError is returned if a question failed after it may have been sent. It is
// safe to ask it again with the same key: if the first request arrived, that
// returns its turn.
type SendError struct {
	IdempotencyKey string
	Err            error // usually an [*api.Error]
}

// Error returns the text of Err. The key is not a credential.
func (e *SendError) Error() string {
	if errors.Is(e, ErrConversationTooLarge) {
		return e.Err.Error() + ": " + ErrConversationTooLarge.Error()
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *SendError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrConversationTooLarge] or [api.ErrConflict]
// and the code of Err says that the conversation is too large, whatever the
// status.
func (e *SendError) Is(target error) bool {
	refusal, ok := errors.AsType[*api.Error](e.Err)
	return (target == ErrConversationTooLarge || target == api.ErrConflict) && ok && tooLarge(refusal.Code)
}

// gone reports whether a retried deletion found nothing to delete.
func gone(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Attempts > 1 && (e.Is(api.ErrNotFound) || e.Is(api.ErrInvalid)) && !e.Is(api.ErrUnsupported)
}

// sent is the answer to a question: a turn beside its thread, or at the root.
type sent struct {
	Thread *Thread `json:"thread"`
	Turn   *Turn   `json:"turn"`
	Flat   Turn    `json:",embed,inline"`
}

// turn returns the turn, with the key of its question.
func (s *sent) turn(op, key string) (*Turn, error) {
	t := s.Turn
	if t == nil && s.Flat.ID != "" {
		t, s.Flat.Extra = &s.Flat, nil // which includes the members of the envelope
	}
	t, err := call.Found(op, "turn", t)
	if err != nil {
		return nil, &SendError{key, err}
	}
	t.IdempotencyKey = key
	return t, nil
}

const conflictAttempts = 6 // whose pauses add up to 9.5 s

// keyed sends a question with its key until the server accepts it. A conflict
// usually means that the thread is still being committed, which takes less than
// a second: a retry with the same key then finds the turn.
func keyed(ctx context.Context, c Client, r *api.Request, key string, opts []api.CallOption) (*sent, error) {
	r.Options = api.Resolve(opts)
	if r.Options.Timeout > 0 { // of all attempts together
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Options.Timeout)
		defer cancel()
	}
	most := conflictAttempts
	if r.Options.Attempts > 0 {
		most = min(most, r.Options.Attempts)
	}
	conflict := wait.Backoff{Base: 500 * time.Millisecond, Cap: 3 * time.Second}
	for attempt := 1; ; attempt++ {
		a, err := call.One[sent](ctx, c, r, "", nil)
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
		pause := conflict.Longest(attempt)
		if at, ok := ctx.Deadline(); ok && time.Until(at) < pause { // the pause would exceed the deadline
			return nil, &SendError{key, joined(context.DeadlineExceeded, err)}
		}
		if ended := wait.Sleep(ctx, pause); ended != nil {
			return nil, &SendError{key, joined(ended, err)}
		}
	}
}

// joined returns err with the error of the last attempt.
func joined(err, last error) error {
	if last == nil || errors.Is(last, err) {
		return err
	}
	return &endedError{err, last}
}

type endedError struct{ err, last error }

func (e *endedError) Error() string   { return e.err.Error() + " (after " + e.last.Error() + ")" }
func (e *endedError) Unwrap() []error { return []error{e.err, e.last} }
