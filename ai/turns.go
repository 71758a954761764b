package ai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"strconv"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Turns asks the questions of a thread and reads their answers, in the scope of
// the thread.
type Turns struct {
	c       api.Client
	changes *activity.Service
}

// Send asks the next question of a thread and returns the new turn, which is
// usually pending: [Turns.Stream] and [Turns.Wait] follow it. It is retried with
// the idempotency key of the question, as [Threads.Create] is.
//
// Errors: those of [Threads.Create]; [api.ErrInvalid] or [api.ErrConflict] if the
// last turn of the thread has not ended; [ErrThreadTooLarge] if the thread
// has no room for the question.
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/{chat_id}/message/.
// It calls POST /current/share/{share_id}/ai/agent/{chat_id}/message/.
func (t *Turns) Send(
	ctx context.Context, in api.Profile, thread api.OpaqueID, q Question, opts ...api.CallOption,
) (*Turn, error) {
	const op = "ai.Turns.Send"
	form, key, err := q.form(input.Fields[Question](op))
	if err != nil {
		return nil, err
	}
	a, err := sendWithKey(ctx, t.c, endpoint.AITurnsSend(in, thread, api.Form(form)), key, opts)
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

// TurnListOptions selects turns of a thread. Nil means all of them.
type TurnListOptions struct {
	Offset int // turns to skip
}

// TurnPage is one page of turns.
type TurnPage struct {
	Turns []*Turn // by Seq, without answers
	Count int     // turns on this page, as the server counts
}

// List returns one page of the turns of a thread, from an offset on. The server does not
// limit the page: it may have all turns. The end is reached when Turns is empty.
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/messages/list/.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/messages/list/.
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/messages/list/{offset}.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/messages/list/{offset}.
func (t *Turns) List(
	ctx context.Context, in api.Profile, thread api.OpaqueID, list *TurnListOptions, opts ...api.CallOption,
) (*TurnPage, error) {
	offset := cmp.Or(list, &TurnListOptions{}).Offset
	if offset < 0 {
		return nil, input.Fields[TurnListOptions]("ai.Turns.List").Refuse("offset", "must be 0 or more", strconv.Itoa(offset))
	}
	r := endpoint.AITurnsList(in, thread)
	if offset > 0 {
		r = endpoint.AITurnsListByOffset(in, thread, strconv.Itoa(offset))
	}
	type rows struct {
		Count int     `json:"count"`
		Items []*Turn `json:"items"`
	}
	a, err := call.Payload[struct {
		Messages rows `json:"messages"`
		Turns    rows `json:"turns"` // the name in the details of a thread
	}](ctx, t.c, r, opts)
	if err != nil {
		return nil, err
	}
	found := a.Messages
	if found.Items == nil {
		found = a.Turns
	}
	return &TurnPage{found.Items, found.Count}, nil
}

// All returns the turns of a thread from list.Offset on, each once, in order, without the
// answers: [Turns.Get] returns a turn with its answer.
func (t *Turns) All(
	ctx context.Context, in api.Profile, thread api.OpaqueID, list *TurnListOptions, opts ...api.CallOption,
) iter.Seq2[*Turn, error] {
	next := func(ctx context.Context, offset int, opts []api.CallOption) ([]*Turn, error) {
		p, err := t.List(ctx, in, thread, &TurnListOptions{offset}, opts...)
		if err != nil {
			return nil, err
		}
		return p.Turns, nil
	}
	from := cmp.Or(list, &TurnListOptions{}).Offset
	return unique(ctx, from, opts, next, func(t *Turn) api.OpaqueID { return t.ID })
}

// unique returns the rows of all pages from an offset on. It leaves out a row whose ID came
// before; a row without an ID is always returned. It continues until a page has no new row:
// the server may not say whether there are more, and may ignore the offset.
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
		rows := func(rows []*T) []*T { return rows }
		page.List[[]*T, *T]{Fetch: next, Rows: rows}.All(ctx, opts)(yield)
	}
}

// Get returns the current state of a turn, with its answer if it is complete.
//
// Errors: [api.ErrNotFound] if it does not exist.
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/message/{message_id}/details/.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/message/{message_id}/details/.
func (t *Turns) Get(
	ctx context.Context, in api.Profile, thread, turn api.OpaqueID, opts ...api.CallOption,
) (*Turn, error) {
	a, err := call.Payload[struct {
		Message *Turn `json:"message"`       // of a workspace
		Turn    *Turn `json:"turn"`          // of a share
		Root    Turn  `json:",embed,inline"` // the response itself, if it is the turn
	}](ctx, t.c, endpoint.AITurnsGet(in, thread, turn), opts)
	if err != nil {
		return nil, err
	}
	found := cmp.Or(a.Message, a.Turn)
	rootIsTurn := a.Root.ID != "" || a.Root.Status != ""
	if found == nil && rootIsTurn {
		a.Root.Extra = nil // it holds the members of the envelope
		found = &a.Root
	}
	found, err = call.Found("ai.Turns.Get", "turn", found)
	if err != nil {
		return nil, err
	}
	found.ID, found.ThreadID = cmp.Or(found.ID, turn), cmp.Or(found.ThreadID, thread)
	return found, nil
}

// Cancel cancels the current turn of a thread. The cost of the turn so far is billed.
// Without a current turn, Cancel returns nil; [Turns.Get] reports whether the turn
// was canceled or had ended before.
//
// Errors: [api.ErrInvalid] if the thread does not exist; [api.ErrPaymentRequired] if the
// plan lacks [PlanFeatureContentAI].
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/{chat_id}/cancel/.
// It calls POST /current/share/{share_id}/ai/agent/{chat_id}/cancel/.
func (t *Turns) Cancel(ctx context.Context, in api.Profile, thread api.OpaqueID, opts ...api.CallOption) error {
	a, err := call.Payload[struct {
		Success *api.Bool `json:"success"` // of the older form
	}](ctx, t.c, endpoint.AITurnsCancel(in, thread), opts)
	if err == nil && a.Success != nil && !bool(*a.Success) {
		return errors.New("fastio: ai.Turns.Cancel: the server did not cancel the turn")
	}
	return err
}

// TurnStatus is the state of a turn. Unknown values are kept, and mean that
// the turn has not ended.
type TurnStatus string

// Statuses of a turn.
const (
	TurnStatusPending    TurnStatus = "pending"
	TurnStatusRunning    TurnStatus = "running"
	TurnStatusComplete   TurnStatus = "complete"    // with an answer
	TurnStatusNeedsInput TurnStatus = "needs_input" // with a Clarification: answer it with another turn of the thread
	TurnStatusCanceled   TurnStatus = "cancelled"
	TurnStatusFailed     TurnStatus = "failed"
	TurnStatusLost       TurnStatus = "lost"    // lost by the server: ask again
	TurnStatusErrored    TurnStatus = "errored" // not documented
)

// Ended reports whether the status is final.
func (s TurnStatus) Ended() bool {
	return s == TurnStatusComplete || s == TurnStatusNeedsInput || s.Failed()
}

// Failed reports whether the turn ended without an answer or a clarification.
func (s TurnStatus) Failed() bool {
	switch s {
	case TurnStatusCanceled, TurnStatusFailed, TurnStatusLost, TurnStatusErrored:
		return true
	default:
		return false
	}
}

// Turn is a question and its answer. Only [Turns.Get], and the calls based on
// it, return the answer and the fields after it.
type Turn struct {
	ID             api.OpaqueID `json:"turn_id" also:"id,message_id"`
	ThreadID       api.OpaqueID `json:"thread_id" also:"chat_id"`
	Seq            int          `json:"seq"` // its position in the thread, from 1
	Status         TurnStatus   `json:"status" also:"state"`
	IdempotencyKey string       `json:"idempotency_key"`
	Question       string
	Failure        *Failure `json:"error"` // nil unless it failed
	Cost           Cost     `json:"cost"`
	Created        api.Time `json:"created_at"`
	Updated        api.Time `json:"updated_at"`

	Answer        string            // markdown; may be "" for a complete turn
	Truncated     bool              // the answer was cut short; show that to the user
	Citations     []*Citation       `json:"citations"` // the sources of the answer
	References    []json.RawMessage // in a form that is not published
	Clarification *Clarification    `json:"clarification"` // the question of the agent, with TurnStatusNeedsInput
	Actions       []*Action         `json:"actions"`       // what the agent did, in order

	// Members this version has no field for; those of the result have the prefix
	// "result.".
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Failure says why a turn failed.
type Failure struct {
	Message string `json:"message" also:"text" scalar:"true"` // for display
	Code    int64  `json:"code"`                              // 0 means none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Cost is the cost of a turn or thread.
type Cost struct {
	Credits float64 `json:"credits"`
	Tokens  int64   `json:"tokens"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Clarification is a question of the agent.
type Clarification struct {
	Type     string `json:"type"`
	Question string `json:"question"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Citation is a source of an answer. Its form is not published: unknown members
// are in Extra.
type Citation struct {
	Node    api.OpaqueID `json:"node_id" also:"nodeId,file_id,id" scalar:"true"` // the file or note (assumed name)
	Version api.OpaqueID `json:"version_id" also:"versionId"`                    // (assumed name)
	Name    string       `json:"name" also:"title,filename,file_name"`           // (assumed name)
	Page    int          `json:"page" also:"page_number,start_page"`             // from 1; 0 means none (assumed name)
	Snippet string       `json:"snippet" also:"content_snippet,text"`            // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// ActionState is the state of an [Action]. Unknown values are kept.
type ActionState string

// States of an action.
const (
	ActionStateRunning  ActionState = "running"
	ActionStateDone     ActionState = "done"
	ActionStateFailed   ActionState = "failed"
	ActionStateCanceled ActionState = "cancelled"
)

// Action is one step of the agent.
type Action struct {
	Seq          int               `json:"seq"`
	Label        string            `json:"label"` // for display
	State        ActionState       `json:"state"`
	AffectedRefs []json.RawMessage `json:"affected_refs"` // in a form that is not published
	Started      api.Time          `json:"started_at"`
	Ended        api.Time          `json:"ended_at"` // zero while running

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// turnResult is the result of an ended turn. A value that is not an object is
// that of the envelope.
type turnResult struct {
	Answer        string            `json:"answer"`
	References    []json.RawMessage `json:"references"`
	Citations     []*Citation       `json:"citations"`
	Truncated     api.Bool          `json:"truncated"`
	Clarification *Clarification    `json:"clarification"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// turnQuery is a question, which may be a text.
type turnQuery struct {
	Text string `json:"text" scalar:"true"`
}

// The result of a turn is an object of its own; its question may be one.
var _ = decode.Fix(func(t *Turn) {
	var query turnQuery
	if !decode.Take(t.Extra, &t.Question, "query") && decode.Take(t.Extra, &query, "query") {
		t.Question = query.Text
	}
	if raw, found := t.Extra["result"]; found {
		delete(t.Extra, "result")
		if r, err := decode.Value[turnResult](raw); err == nil {
			t.setResult(r)
		}
	}
	if t.Failure != nil && reflect.ValueOf(*t.Failure).IsZero() { // an empty list stands for none
		t.Failure = nil
	}
	if t.Answer == "" {
		decode.Take(t.Extra, &t.Answer, "text")
	}
	if t.Clarification == nil && t.Status == TurnStatusNeedsInput {
		var c Clarification
		if decode.Take(t.Extra, &c.Question, "question") {
			t.Clarification = &c
		}
	}
}, decode.Takes[turnQuery]("query"), decode.Takes[turnResult]("result"))

// setResult copies the result of a turn into the fields of t. Citations and
// Clarification may also be members of the turn itself: these stay if the result has
// none. Members without a field go into Extra, as "result.NAME". Extra is not nil,
// because the result was in it.
func (t *Turn) setResult(r *turnResult) {
	t.Answer, t.Truncated, t.References = r.Answer, bool(r.Truncated), r.References
	if r.Citations != nil {
		t.Citations = r.Citations
	}
	if r.Clarification != nil {
		t.Clarification = r.Clarification
	}
	for name, value := range r.Extra {
		t.Extra["result."+name] = value
	}
}
