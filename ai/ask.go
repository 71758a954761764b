package ai

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"time"

	"github.com/fastio-go/fastio/api"
)

// AskOptions changes how [Service.Ask] and [Service.Resume] work. Nil begins a new
// thread and returns when there is an answer.
type AskOptions struct {
	Thread api.OpaqueID // where the question belongs; "" begins a thread
	Name   string       // of the thread that is begun; "" has the server make one
	Kind   ThreadKind   // likewise, in a workspace; "" is [ThreadKindUser]

	// Text gets the answer while it is written. If the server begins anew, which is
	// rare, an empty line follows what came so far, and the answer from its start.
	Text io.Writer
	// Event is told what [Turns.Stream] yields, but for the end.
	Event func(e *StreamEvent)
	// Begun is told the turn as soon as there is one: its ID and that of its thread
	// are what [Service.Resume] needs after a restart.
	Begun func(t *Turn)

	// CancelTurn has the turn cancelled on the server when ctx ends, which may take
	// 15 seconds more. Otherwise it goes on, and costs, without anybody waiting.
	CancelTurn bool
}

const (
	maxLost    = 2
	cancelTime = 15 * time.Second
)

// Ask asks a question, waits for the turn to end and returns it: with its Answer
// and Citations, or with its Clarification if its Status is
// [TurnStatusNeedsInput]. To answer that, ask on in its thread.
//
// How long an answer takes is up to the agent: a deadline of ctx bounds it, or
// [api.Timeout]. Dropped
// streams and failures that may pass are dealt with; a turn that the server has
// lost is asked once more, and then again, as a new turn, with keys that follow from
// the first: to ask again with that finds these turns as well. A question that may
// have been sent without a turn to show for it is a [*SendError]; from then on
// errors are [*TurnError], with what it takes to go on.
func (s *Service) Ask(ctx context.Context, scope api.Profile, q Question, o *AskOptions, opts ...api.CallOption) (*Turn, error) {
	if o == nil {
		o = &AskOptions{}
	}
	ctx, stop, err := bounded(ctx, "ai.Ask", opts)
	if err != nil {
		return nil, err
	}
	defer stop()
	t, err := s.begin(ctx, scope, q, o, opts)
	for lost := 0; ; lost++ {
		if err != nil {
			if o.CancelTurn && over(ctx, err) {
				return s.withdraw(ctx, scope, err)
			}
			return nil, err
		}
		if o.Begun != nil {
			o.Begun(t)
		}
		ended, ending := s.Resume(ctx, scope, t.ThreadID, t.ID, o, opts...)
		failed, ok := errors.AsType[*TurnError](ending)
		if !ok || failed.Err != nil || failed.Status() != TurnStatusLost || lost == maxLost {
			return ended, ending
		}
		q.IdempotencyKey = successor(t.IdempotencyKey)
		if t, err = s.Turns.Send(ctx, scope, failed.ThreadID, q, opts...); err != nil {
			err = &TurnError{Op: "ai.Ask", ThreadID: failed.ThreadID, TurnID: failed.TurnID, Turn: failed.Turn, Err: err}
		}
	}
}

// successor returns the key for a question whose turn was lost: the old one would
// find that turn. It is the same after a restart, so that nothing is asked twice.
func successor(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// begin asks the question, in a thread of its own if there is none.
func (s *Service) begin(ctx context.Context, scope api.Profile, q Question, o *AskOptions, opts []api.CallOption) (*Turn, error) {
	if o.Thread != "" {
		return s.Turns.Send(ctx, scope, o.Thread, q, opts...)
	}
	c, err := s.Threads.Create(ctx, scope, CreateThreadRequest{Question: q, Name: o.Name, Kind: o.Kind}, opts...)
	if err != nil {
		return nil, err
	}
	return c.Turns[0], nil
}

// Resume waits for a turn that was asked before, by this program or another, as
// [Service.Ask] does. A turn that was lost is not asked again.
func (s *Service) Resume(ctx context.Context, scope api.Profile, thread, turn api.OpaqueID, o *AskOptions, opts ...api.CallOption) (*Turn, error) {
	if o == nil {
		o = &AskOptions{}
	}
	ctx, stop, err := bounded(ctx, "ai.Resume", opts)
	if err != nil {
		return nil, err
	}
	defer stop()
	var t *Turn
	if o.Text == nil && o.Event == nil {
		t, err = s.Turns.Wait(ctx, scope, thread, turn, opts...)
	} else {
		t, err = s.show(ctx, scope, thread, turn, o, opts)
	}
	if err != nil && o.CancelTurn && over(ctx, err) {
		return s.cancel(ctx, scope, thread, turn, err)
	}
	return t, err
}

// show follows the turn and tells of it what there is to tell.
func (s *Service) show(ctx context.Context, scope api.Profile, thread, turn api.OpaqueID, o *AskOptions, opts []api.CallOption) (*Turn, error) {
	var last *Turn
	for e, err := range s.Turns.Stream(ctx, scope, thread, turn, nil, opts...) {
		if err != nil {
			return nil, err
		}
		if e.Kind == StreamEventKindEnd {
			last = e.Turn
			break
		}
		if o.Event != nil {
			o.Event(e)
		}
		if err := write(o.Text, e); err != nil {
			return nil, &TurnError{Op: "ai.Ask", ThreadID: thread, TurnID: turn, Err: err}
		}
	}
	return last, nil
}

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

// over reports whether a call ended with err because of ctx. A pause that would
// outlast it is not begun, so it may still be about to end.
func over(ctx context.Context, err error) bool {
	_, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && errors.Is(err, context.DeadlineExceeded)
}

// withdraw cancels the turn that a question has made, if it has: the answer that
// would have told is not waited for any more. Its key finds it.
func (s *Service) withdraw(ctx context.Context, scope api.Profile, why error) (*Turn, error) {
	unanswered, ok := errors.AsType[*SendError](why)
	if !ok {
		return nil, why
	}
	search, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	p, err := s.Threads.List(search, scope, &ThreadListOptions{Kind: ThreadKindAll})
	if err != nil {
		return nil, errors.Join(why, err)
	}
	for _, thread := range p.Threads {
		if t := thread.LatestMessage; t != nil && t.IdempotencyKey == unanswered.IdempotencyKey {
			return s.cancel(ctx, scope, thread.ID, t.ID, why)
		}
	}
	return nil, why
}

// cancel ends the turn on the server, since nobody waits for it any more. It may
// have ended by itself first; its answer is then as good as any.
func (s *Service) cancel(ctx context.Context, scope api.Profile, thread, turn api.OpaqueID, why error) (*Turn, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	if err := s.Turns.Cancel(ctx, scope, thread); err != nil {
		return nil, errors.Join(why, err)
	}
	t, err := s.Turns.Wait(ctx, scope, thread, turn)
	if err == nil {
		return t, nil
	}
	if e, ok := errors.AsType[*TurnError](err); ok && e.Turn != nil {
		return nil, &TurnError{Op: "ai.Ask", ThreadID: thread, TurnID: turn, Turn: e.Turn, Err: why}
	}
	return nil, why
}
