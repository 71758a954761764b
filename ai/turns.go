package ai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/page"
)

// Turns are the questions and answers of a thread, in the scope of the thread.
type Turns struct {
	c    Client
	bell *activity.Service
}

// Send asks the next question of a thread and returns the new turn, usually
// pending: [Turns.Stream] and [Turns.Wait] follow it. A thread has one turn at a
// time: a question before the end of the last is [api.ErrInvalid] or
// [api.ErrConflict].
//
// The question is sent with its idempotency key, as by [Threads.Create], which
// tells of the errors as well. A thread that has become too long is
// [ErrConversationTooLarge].
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/{chat_id}/message/.
// It calls POST /current/share/{share_id}/ai/agent/{chat_id}/message/.
func (t *Turns) Send(ctx context.Context, scope api.Profile, thread api.OpaqueID, q Question, opts ...api.CallOption) (*Turn, error) {
	const op = "ai.Turns.Send"
	path, err := route(op, scope,
		"/current/workspace/{workspace_id}/ai/agent/{chat_id}/message/", "/current/share/{share_id}/ai/agent/{chat_id}/message/", thread.Plain())
	if err != nil {
		return nil, err
	}
	form, key, err := q.form(op)
	if err != nil {
		return nil, err
	}
	a, err := keyed(ctx, t.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: path, Body: api.Form(form), Replay: api.ReplayKeyed,
	}, key, opts)
	if err != nil {
		return nil, err
	}
	turn, err := a.turn(op, key, opts)
	if err != nil {
		return nil, err
	}
	turn.ThreadID = firstOf(turn.ThreadID, thread)
	return turn, nil
}

// TurnPage is one page of turns.
type TurnPage struct {
	Turns []*Turn // by Seq, without answers
	Count int     // turns on this page, as the server counts
}

// List returns the turns of a thread from the one at offset on, the first being 0.
// Servers are known to send all of them at once.
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/messages/list/.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/messages/list/.
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/messages/list/{offset}.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/messages/list/{offset}.
func (t *Turns) List(ctx context.Context, scope api.Profile, thread api.OpaqueID, offset int, opts ...api.CallOption) (*TurnPage, error) {
	const op = "ai.Turns.List"
	if offset < 0 {
		return nil, &api.InputError{Op: op, Field: "offset", Rule: "must be 0 or more", Got: strconv.Itoa(offset)}
	}
	path, err := route(op, scope, "/current/workspace/{workspace_id}/ai/agent/{chat_id}/messages/list/",
		"/current/share/{share_id}/ai/agent/{chat_id}/messages/list/", thread.Plain())
	if offset > 0 {
		path, err = route(op, scope, "/current/workspace/{workspace_id}/ai/agent/{chat_id}/messages/list/{offset}",
			"/current/share/{share_id}/ai/agent/{chat_id}/messages/list/{offset}", thread.Plain(), strconv.Itoa(offset))
	}
	if err != nil {
		return nil, err
	}
	type list struct {
		Count int     `json:"count"`
		Items []*Turn `json:"items"`
	}
	a, err := call.Do[struct {
		Messages list `json:"messages"`
		Turns    list `json:"turns"`
	}](ctx, t.c, get(op, path), opts)
	if err != nil {
		return nil, err
	}
	found := a.Messages
	if found.Items == nil {
		found = a.Turns
	}
	return &TurnPage{found.Items, found.Count}, nil
}

// All returns the turns of a thread, each once, the first question first.
func (t *Turns) All(ctx context.Context, scope api.Profile, thread api.OpaqueID, opts ...api.CallOption) iter.Seq2[*Turn, error] {
	return func(yield func(*Turn, error) bool) {
		met := met{}
		page.Rows(page.Calls(ctx, "ai.Turns.List", "", opts, func(ctx context.Context, cursor string, opts []api.CallOption) ([]*Turn, string, error) {
			offset := page.Offset(cursor, 0)
			p, err := t.List(ctx, scope, thread, offset, opts...)
			if err != nil {
				return nil, "", err
			}
			fresh := fresh(met, p.Turns, func(t *Turn) api.OpaqueID { return t.ID })
			return fresh, further(offset, len(p.Turns), len(fresh)), nil
		}), func(rows []*Turn) []*Turn { return rows })(yield)
	}
}

// Get returns a turn as it is now, with its answer once it is complete. One that
// is not there is [api.ErrNotFound].
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/message/{message_id}/details/.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/message/{message_id}/details/.
func (t *Turns) Get(ctx context.Context, scope api.Profile, thread, turn api.OpaqueID, opts ...api.CallOption) (*Turn, error) {
	const op = "ai.Turns.Get"
	path, err := route(op, scope, "/current/workspace/{workspace_id}/ai/agent/{chat_id}/message/{message_id}/details/",
		"/current/share/{share_id}/ai/agent/{chat_id}/message/{message_id}/details/", thread.Plain(), turn.Plain())
	if err != nil {
		return nil, err
	}
	a, err := call.Do[struct {
		Message *Turn       `json:"message"` // of a workspace
		Turn    *Turn       `json:"turn"`    // of a share
		Flat    turnMembers `json:",embed,inline"`
	}](ctx, t.c, get(op, path), opts)
	if err != nil {
		return nil, err
	}
	found := a.Message
	if found == nil {
		found = a.Turn
	}
	if flat := a.Flat.turn(); found == nil && (flat.ID != "" || flat.Status != "") {
		flat.Extra, found = nil, flat
	}
	if found, err = call.Found(op, "turn", found, opts); err != nil {
		return nil, err
	}
	found.ID, found.ThreadID = firstOf(found.ID, turn), firstOf(found.ThreadID, thread)
	return found, nil
}

// Cancel ends the turn of a thread that is under way, whichever that is. What it
// has cost so far is billed. It is a success if there is none; [Turns.Get] tells
// whether the turn was cancelled or had ended before.
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/{chat_id}/cancel/.
// It calls POST /current/share/{share_id}/ai/agent/{chat_id}/cancel/.
func (t *Turns) Cancel(ctx context.Context, scope api.Profile, thread api.OpaqueID, opts ...api.CallOption) error {
	const op = "ai.Turns.Cancel"
	path, err := route(op, scope,
		"/current/workspace/{workspace_id}/ai/agent/{chat_id}/cancel/", "/current/share/{share_id}/ai/agent/{chat_id}/cancel/", thread.Plain())
	if err != nil {
		return err
	}
	a, err := call.Do[struct {
		Success *api.Bool `json:"success"` // of the older form
	}](ctx, t.c, &api.Request{Op: op, Method: http.MethodPost, Path: path, Replay: api.ReplaySafe}, opts)
	if err == nil && a.Success != nil && !bool(*a.Success) {
		return errors.New("fastio: " + op + ": the server did not cancel the turn")
	}
	return err
}
