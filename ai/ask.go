package ai

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/input"
)

// AskOptions are the options of [Service.Ask] and [Service.Resume]. Nil means
// no options: a new thread, and only the final turn.
type AskOptions struct {
	Thread api.OpaqueID // the thread of the question; "" creates one
	Name   string       // of a new thread; default: chosen by the server
	Kind   ThreadKind   // of a new thread; default: [ThreadKindUser]

	// Text receives the answer while it is generated. If the server restarts it,
	// which is rare, an empty line and the answer from its start follow. A failed write
	// ends the call with a [*TurnError], and the turn continues.
	Text io.Writer
	// OnEvent is called with the events of [Turns.Stream], except the last.
	OnEvent func(ctx context.Context, e *StreamEvent)
	// OnTurn is called with the turn as soon as it exists. Its ID and ThreadID are
	// the arguments of [Service.Resume] after a restart.
	OnTurn func(ctx context.Context, t *Turn)

	// CancelTurn cancels the turn on the server when ctx ends, for which the call
	// may take 15 seconds more. Otherwise the turn continues, and is billed.
	CancelTurn bool
}

const (
	maxLost    = 2 // turns that are sent again
	cancelTime = 15 * time.Second
)

// Ask asks a question, waits until the turn ends, and returns it: with its
// Answer and Citations, or with its Clarification if its Status is
// [TurnStatusNeedsInput]. To answer that, ask again in the same thread.
//
// The time is limited by the deadline of ctx or [api.WithTimeout] only. Broken
// streams and transient failures are retried. If the server has lost the turn, Ask
// sends the question again, up to twice. Each new turn has a key derived from the
// first, so that a later Ask with the first key finds it.
//
// Errors: those of [Threads.Create] and [Turns.Send]; [*SendError] if the
// question may have been sent and no turn is known; [*TurnError] if the turn
// failed, or if the wait for it did, with the IDs that [Service.Resume] needs.
func (s *Service) Ask(
	ctx context.Context, in api.Profile, q Question, o *AskOptions, opts ...api.CallOption,
) (*Turn, error) {
	if o == nil {
		o = &AskOptions{}
	}
	ctx, stop, err := call.Bounded(ctx, s.c, "ai.Ask", opts)
	if err != nil {
		return nil, err
	}
	defer stop()
	turn, sendErr := s.askFirst(ctx, in, q, o, opts)
	for lostTurns := 0; sendErr == nil; lostTurns++ {
		if o.OnTurn != nil {
			o.OnTurn(ctx, turn)
		}
		ended, err := s.Resume(ctx, in, turn.ThreadID, turn.ID, o, opts...)
		failed, isLost := lostTurn(err)
		if !isLost || lostTurns == maxLost {
			return ended, err
		}
		q.IdempotencyKey = successor(turn.IdempotencyKey)
		turn, sendErr = s.askAgain(ctx, in, q, failed, opts)
	}
	// If only the response to the question is missing, there may be a turn.
	if o.CancelTurn && callerEnded(ctx, sendErr) {
		return s.cancelUnanswered(ctx, in, sendErr)
	}
	return nil, sendErr
}

// lostTurn returns the error of a turn that the server has lost, and reports whether err is
// one. With an Err the wait for the turn has failed, not the turn.
func lostTurn(err error) (*TurnError, bool) {
	failed, ok := errors.AsType[*TurnError](err)
	return failed, ok && failed.Err == nil && failed.Status() == TurnStatusLost
}

// askAgain sends a question again, whose turn was lost, in the same thread. If that fails,
// it returns the error of the lost turn, with this failure as its Err.
func (s *Service) askAgain(
	ctx context.Context, in api.Profile, q Question, lost *TurnError, opts []api.CallOption,
) (*Turn, error) {
	turn, err := s.Turns.Send(ctx, in, lost.ThreadID, q, opts...)
	if err != nil {
		lost.Op, lost.Err = "ai.Ask", err
		return nil, lost
	}
	return turn, nil
}

// successor returns the key for a question whose turn was lost: the same key
// would find that turn. It is derived, so that a restart does not ask twice.
func successor(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// askFirst sends the question, in the thread of the options or else in a new one,
// and returns its turn.
func (s *Service) askFirst(
	ctx context.Context, in api.Profile, q Question, o *AskOptions, opts []api.CallOption,
) (*Turn, error) {
	if o.Thread != "" {
		return s.Turns.Send(ctx, in, o.Thread, q, opts...)
	}
	r := CreateThreadRequest{Question: q, Name: o.Name, Kind: o.Kind}
	if err := r.check(input.Fields[AskOptions]("ai.Ask")); err != nil {
		return nil, err
	}
	c, err := s.Threads.Create(ctx, in, r, opts...)
	if err != nil {
		return nil, err
	}
	return c.Turns[0], nil // the turn of the question
}

// Resume waits for a turn that was asked before, by this program or another, as
// [Service.Ask] does. A turn that was lost is not asked again.
func (s *Service) Resume(
	ctx context.Context, in api.Profile, thread, turn api.OpaqueID, o *AskOptions, opts ...api.CallOption,
) (*Turn, error) {
	if o == nil {
		o = &AskOptions{}
	}
	ctx, stop, err := call.Bounded(ctx, s.c, "ai.Resume", opts)
	if err != nil {
		return nil, err
	}
	defer stop()
	var t *Turn
	if o.Text == nil && o.OnEvent == nil {
		t, err = s.Turns.Wait(ctx, in, thread, turn, opts...)
	} else {
		t, err = s.streamTurn(ctx, in, thread, turn, o, opts)
	}
	if err != nil && o.CancelTurn && callerEnded(ctx, err) {
		return s.cancel(ctx, in, thread, turn, err)
	}
	return t, err
}

// streamTurn streams a turn: it reports the events and writes the text, and returns the
// turn as it has ended.
func (s *Service) streamTurn(
	ctx context.Context, in api.Profile, thread, turn api.OpaqueID, o *AskOptions, opts []api.CallOption,
) (*Turn, error) {
	var last *Turn
	for e, err := range s.Turns.Stream(ctx, in, thread, turn, nil, opts...) {
		if err != nil {
			return nil, err
		}
		if e.Kind == StreamEventKindEnd {
			last = e.Turn
			break
		}
		if o.OnEvent != nil {
			o.OnEvent(ctx, e)
		}
		if err := write(o.Text, e); err != nil {
			return nil, &TurnError{Op: "ai.Ask", ThreadID: thread, TurnID: turn, Err: err}
		}
	}
	return last, nil
}

// write writes the text of an event to w, if w is not nil. A text that replaces
// the earlier ones starts after an empty line.
func write(w io.Writer, e *StreamEvent) error {
	if w == nil || e.Text == "" {
		return nil
	}
	text := e.Text
	if e.Kind == StreamEventKindReset {
		text = "\n\n" + text
	}
	_, err := io.WriteString(w, text)
	return err
}

// callerEnded reports whether a call failed with err because ctx ended, or would end
// during the next pause.
func callerEnded(ctx context.Context, err error) bool {
	_, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && errors.Is(err, context.DeadlineExceeded)
}

// cancelUnanswered cancels the turn of a question whose response was lost: why is a
// [*SendError]. It finds the turn by the idempotency key of the question. It
// returns the turn if that has ended in time, else why.
func (s *Service) cancelUnanswered(ctx context.Context, in api.Profile, why error) (*Turn, error) {
	unanswered, ok := errors.AsType[*SendError](why)
	if !ok {
		return nil, why
	}
	search, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	p, err := s.Threads.List(search, in, &ThreadListOptions{Kind: ThreadKindAll})
	if err != nil {
		return nil, errors.Join(why, err)
	}
	for _, thread := range p.Threads {
		if t := thread.LatestTurn; t != nil && t.IdempotencyKey == unanswered.IdempotencyKey {
			return s.cancel(ctx, in, thread.ID, t.ID, why)
		}
	}
	return nil, why
}

// cancel cancels a turn on the server, because of the error why. If the turn has ended
// with an answer before that, it returns the turn, else why, with the state of the
// cancelled turn if that is known.
func (s *Service) cancel(ctx context.Context, in api.Profile, thread, turn api.OpaqueID, why error) (*Turn, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	if err := s.Turns.Cancel(ctx, in, thread); err != nil {
		return nil, errors.Join(why, err)
	}
	t, err := s.Turns.Wait(ctx, in, thread, turn)
	if err == nil {
		return t, nil
	}
	after, ok := errors.AsType[*TurnError](err)
	if !ok || after.Turn == nil {
		return nil, why
	}
	cause := why
	if before, ok := errors.AsType[*TurnError](why); ok && before.Err != nil {
		cause = before.Err // without its Turn, which is from before the cancellation
	}
	return nil, &TurnError{Op: "ai.Ask", ThreadID: thread, TurnID: turn, Turn: after.Turn, Err: cause}
}
