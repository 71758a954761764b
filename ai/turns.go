package ai

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/page"
)

// Turns asks the questions of a thread and reads their answers, in the scope of
// the thread.
type Turns struct {
	c    Client
	bell *activity.Service
}

// Send asks the next question of a thread and returns the new turn, which is
// usually pending: [Turns.Stream] and [Turns.Wait] follow it. It is retried with
// the idempotency key of the question, as [Threads.Create] is.
//
// Errors: those of [Threads.Create]; [api.ErrInvalid] or [api.ErrConflict] if the
// last turn of the thread has not ended; [ErrConversationTooLarge] if the thread
// has no room for the question.
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/{chat_id}/message/.
// It calls POST /current/share/{share_id}/ai/agent/{chat_id}/message/.
func (t *Turns) Send(
	ctx context.Context, scope api.Profile, thread api.OpaqueID, q Question, opts ...api.CallOption,
) (*Turn, error) {
	const op = "ai.Turns.Send"
	form, key, err := q.form(op)
	if err != nil {
		return nil, err
	}
	a, err := keyed(ctx, t.c, endpoint.AITurnsSend(scope, thread, api.Form(form)), key, opts)
	if err != nil {
		return nil, err
	}
	turn, err := a.turn(op, key)
	if err != nil {
		return nil, err
	}
	turn.ThreadID = cmp.Or(turn.ThreadID, thread)
	return turn, nil
}

// TurnPage is one page of turns.
type TurnPage struct {
	Turns []*Turn // by Seq, without answers
	Count int     // turns on this page, as the server counts
}

// List returns the turns of a thread from offset on, which starts at 0. The
// server may send all of them at once.
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/messages/list/.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/messages/list/.
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/messages/list/{offset}.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/messages/list/{offset}.
func (t *Turns) List(
	ctx context.Context, scope api.Profile, thread api.OpaqueID, offset int, opts ...api.CallOption,
) (*TurnPage, error) {
	const op = "ai.Turns.List"
	if offset < 0 {
		return nil, refuse(op, "offset", "must be 0 or more", strconv.Itoa(offset))
	}
	r := endpoint.AITurnsList(scope, thread)
	if offset > 0 {
		r = endpoint.AITurnsListByOffset(scope, thread, strconv.Itoa(offset))
	}
	type list struct {
		Count int     `json:"count"`
		Items []*Turn `json:"items"`
	}
	a, err := call.One[struct {
		Messages list `json:"messages"`
		Turns    list `json:"turns"`
	}](ctx, t.c, r, "", opts)
	if err != nil {
		return nil, err
	}
	found := a.Messages
	if found.Items == nil {
		found = a.Turns
	}
	return &TurnPage{found.Items, found.Count}, nil
}

// All returns the turns of a thread, each once, in order.
func (t *Turns) All(
	ctx context.Context, scope api.Profile, thread api.OpaqueID, opts ...api.CallOption,
) iter.Seq2[*Turn, error] {
	list := func(ctx context.Context, offset int, opts []api.CallOption) ([]*Turn, error) {
		p, err := t.List(ctx, scope, thread, offset, opts...)
		if err != nil {
			return nil, err
		}
		return p.Turns, nil
	}
	return unique(ctx, 0, opts, list, func(t *Turn) api.OpaqueID { return t.ID })
}

// unique returns the rows of all pages from an offset on, each once, and those
// without an ID. It continues until a page has no new row: the server may not say
// whether there are more, and may ignore the offset.
func unique[T any](
	ctx context.Context, from int, opts []api.CallOption,
	list func(ctx context.Context, offset int, opts []api.CallOption) ([]*T, error), id func(*T) api.OpaqueID,
) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		seen := map[string]bool{}
		next := func(ctx context.Context, cursor string, opts []api.CallOption) (fresh []*T, after string, err error) {
			offset := page.Offset(cursor, from)
			rows, err := list(ctx, offset, opts)
			for _, row := range rows {
				key := id(row).Plain()
				if key == "" || !seen[key] {
					fresh = append(fresh, row)
				}
				seen[key] = true
			}
			if len(fresh) > 0 {
				after = strconv.Itoa(offset + len(rows))
			}
			return fresh, after, err
		}
		page.Rows(page.Calls(ctx, "", opts, next), func(rows []*T) []*T { return rows })(yield)
	}
}

// Get returns the current state of a turn, with its answer if it is complete.
//
// Errors: [api.ErrNotFound] if it does not exist.
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/message/{message_id}/details/.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/message/{message_id}/details/.
func (t *Turns) Get(
	ctx context.Context, scope api.Profile, thread, turn api.OpaqueID, opts ...api.CallOption,
) (*Turn, error) {
	const op = "ai.Turns.Get"
	a, err := call.One[struct {
		Message *Turn `json:"message"` // of a workspace
		Turn    *Turn `json:"turn"`    // of a share
		Flat    Turn  `json:",embed,inline"`
	}](ctx, t.c, endpoint.AITurnsGet(scope, thread, turn), "", opts)
	if err != nil {
		return nil, err
	}
	found := cmp.Or(a.Message, a.Turn)
	if found == nil && (a.Flat.ID != "" || a.Flat.Status != "") {
		found, a.Flat.Extra = &a.Flat, nil
	}
	if found, err = call.Found(op, "turn", found); err != nil {
		return nil, err
	}
	found.ID, found.ThreadID = cmp.Or(found.ID, turn), cmp.Or(found.ThreadID, thread)
	return found, nil
}

// Cancel cancels the current turn of a thread. Its cost so far is billed. It is
// a success if there is none; [Turns.Get] reports whether the turn was
// cancelled or had ended before.
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/{chat_id}/cancel/.
// It calls POST /current/share/{share_id}/ai/agent/{chat_id}/cancel/.
func (t *Turns) Cancel(ctx context.Context, scope api.Profile, thread api.OpaqueID, opts ...api.CallOption) error {
	const op = "ai.Turns.Cancel"
	a, err := call.One[struct {
		Success *api.Bool `json:"success"` // of the older form
	}](ctx, t.c, endpoint.AITurnsCancel(scope, thread), "", opts)
	if err == nil && a.Success != nil && !bool(*a.Success) {
		return errors.New("fastio: " + op + ": the server did not cancel the turn")
	}
	return err
}
