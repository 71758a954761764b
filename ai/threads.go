package ai

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Threads manages the threads of the caller with the agent of a workspace or
// share: each call takes it as [api.Workspace] or [api.Share].
type Threads struct{ c api.Client }

// ThreadKind says who leads a thread. It is immutable. Unknown values are
// kept.
type ThreadKind string

// Kinds of threads.
const (
	ThreadKindUser  ThreadKind = "user"
	ThreadKindAgent ThreadKind = "agent"
	ThreadKindAll   ThreadKind = "all" // in lists only
)

// Visibility says who may read a thread. Unknown values are kept.
type Visibility string

// Visibilities of a thread.
const (
	VisibilityPrivate Visibility = "private" // its creator only
	VisibilityPublic  Visibility = "public"  // refused by the platform today
)

// ThreadStatus is the state of a thread. Unknown values are kept.
type ThreadStatus string

// ThreadStatusActive is the only documented status.
const ThreadStatusActive ThreadStatus = "active"

// Party is a user, workspace or share that a thread belongs to.
type Party struct {
	Type api.ProfileKind `json:"type"`
	ID   api.ID          `json:"id"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Privacy says who may read a thread.
type Privacy struct {
	Visibility Visibility `json:"visibility"`
	Owner      Party      `json:"owner"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Thread is a conversation with the agent, in turns.
type Thread struct {
	ID      api.OpaqueID `json:"thread_id" also:"chat_id,id"`
	Creator Party        `json:"creator"`
	Scope   Party        `json:"scope"` // the workspace or share
	Name    string       `json:"name"`
	Status  ThreadStatus `json:"status"`
	Kind    ThreadKind   `json:"kind"`
	Cost    Cost         `json:"cost"` // of all its turns
	Privacy Privacy      `json:"privacy"`
	Created api.Time     `json:"created_at"`
	Updated api.Time     `json:"updated_at"`

	TurnCount   *int  `json:"message_count"`  // nil after Create and Update, as the next
	Continuable *bool `json:"continuable"`    // false for old threads, which are read-only
	LatestTurn  *Turn `json:"latest_message"` // in lists only, without its answer

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// CreateThreadRequest is a new thread and its first question. Only the text of
// the question is required.
type CreateThreadRequest struct {
	Question

	Name string // at most 100 characters; "" lets the server choose one

	// Default: [ThreadKindUser] and [VisibilityPrivate]. A share is assumed to
	// reject or ignore other values: its threads are private.
	Kind    ThreadKind
	Privacy Visibility // [VisibilityPublic] is rejected with [api.ErrForbidden]
}

const maxThreadName = 100

// ThreadTurns are a thread and its turns, without their answers.
type ThreadTurns struct {
	Thread *Thread
	Turns  []*Turn // by Seq
	Count  int     // turns, as the server counts
}

// Create begins a thread with its first question, and returns both. The turn is
// usually pending: [Turns.Stream] and [Turns.Wait] follow it.
//
// The request is idempotent: all retries carry the key of the question, so they
// make one thread. A conflict is retried for up to 10 seconds, because the server
// may still be committing the first turn. An error after the question may have
// been sent is a [*SendError], which holds the key.
//
// Errors: [api.ErrPaymentRequired] if the plan lacks [PlanFeatureContentAI] or
// [PlanFeatureAgent], or the credits are used up; [api.ErrForbidden] with
// [ReasonPolicyDenied] or [ReasonPolicyWorkspaceNotAllowed] if the AI policy of
// the organization denies the call; [api.ErrNotFound] if a file or folder that
// the question refers to is missing or not accessible.
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/.
// It calls POST /current/share/{share_id}/ai/agent/.
func (t *Threads) Create(
	ctx context.Context, in api.Profile, r CreateThreadRequest, opts ...api.CallOption,
) (*ThreadTurns, error) {
	const op = "ai.Threads.Create"
	form, key, err := r.form(input.Fields[CreateThreadRequest](op))
	if err != nil {
		return nil, err
	}
	a, err := sendWithKey(ctx, t.c, endpoint.AIThreadsCreate(in, api.Form(form)), key, opts)
	if err != nil {
		return nil, err
	}
	turn, err := a.turn(op, key)
	if err != nil {
		return nil, err
	}
	thread := a.Thread
	if thread == nil {
		thread = &Thread{ID: turn.ThreadID}
	}
	turn.ThreadID = cmp.Or(turn.ThreadID, thread.ID)
	if turn.ThreadID == "" {
		return nil, &SendError{key, call.Missing(op, "ID of a thread")}
	}
	return &ThreadTurns{Thread: thread, Turns: []*Turn{turn}, Count: 1}, nil
}

// check returns an error for a name or a kind that a thread cannot have.
func (r CreateThreadRequest) check(args input.Args) error {
	if r.Kind == ThreadKindAll {
		return args.Refuse("kind", "must be user or agent", strconv.Quote(string(r.Kind)))
	}
	return checkLength(args, "name", r.Name, 0, maxThreadName, "must be at most 100 characters")
}

// form checks the request and returns it as a form, with the idempotency key of
// its question.
func (r CreateThreadRequest) form(args input.Args) (form url.Values, key string, err error) {
	if err := r.check(args); err != nil {
		return nil, "", err
	}
	form, key, err = r.Question.form(input.Fields[Question](args.Op))
	if err != nil {
		return nil, "", err
	}
	for name, value := range map[string]string{"name": r.Name, "kind": string(r.Kind), "privacy": string(r.Privacy)} {
		if value != "" {
			form.Set(name, value)
		}
	}
	return form, key, nil
}

// ThreadListOptions selects threads. Nil means those of [ThreadKindUser]. The
// server may ignore Limit and Offset.
type ThreadListOptions struct {
	Deleted bool       // the deleted threads in place of the others
	Kind    ThreadKind // default: [ThreadKindUser]
	Limit   int        // threads a page; 0 means the default of the server
	Offset  int        // threads to skip
}

// ThreadPage is one page of threads.
type ThreadPage struct {
	Threads []*Thread
	Count   int // threads on this page, as the server counts
}

// List returns one page of the caller's threads, the last updated first. Without options,
// deleted ones and those of [ThreadKindAgent] are left out.
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/list/.
// It calls GET /current/share/{share_id}/ai/agent/list/.
// It calls GET /current/workspace/{workspace_id}/ai/agent/list/deleted.
// It calls GET /current/share/{share_id}/ai/agent/list/deleted.
func (t *Threads) List(
	ctx context.Context, in api.Profile, list *ThreadListOptions, opts ...api.CallOption,
) (*ThreadPage, error) {
	r := endpoint.AIThreadsList(in, nil)
	if list != nil {
		if list.Deleted {
			r = endpoint.AIThreadsListDeleted(in, nil)
		}
		r.Query = url.Values{}
		for _, f := range []struct {
			name  string
			value int
		}{{"limit", list.Limit}, {"offset", list.Offset}} {
			if f.value < 0 {
				return nil, input.Fields[ThreadListOptions](r.Op).Refuse(f.name, "must be 0 or more", strconv.Itoa(f.value))
			}
			if f.value > 0 {
				r.Query.Set(f.name, strconv.Itoa(f.value))
			}
		}
		if list.Kind != "" {
			r.Query.Set("kind", string(list.Kind))
		}
	}
	a, err := call.Payload[struct {
		Chats struct {
			Count int       `json:"count"`
			Items []*Thread `json:"items"`
		} `json:"chats"`
	}](ctx, t.c, r, opts)
	if err != nil {
		return nil, err
	}
	return &ThreadPage{a.Chats.Items, a.Chats.Count}, nil
}

// All returns the threads of all pages of [Threads.List], from list.Offset on, each once.
func (t *Threads) All(
	ctx context.Context, in api.Profile, list *ThreadListOptions, opts ...api.CallOption,
) iter.Seq2[*Thread, error] {
	from := *cmp.Or(list, &ThreadListOptions{})
	next := func(ctx context.Context, offset int, opts []api.CallOption) ([]*Thread, error) {
		o := from
		o.Offset = offset
		p, err := t.List(ctx, in, &o, opts...)
		if err != nil {
			return nil, err
		}
		return p.Threads, nil
	}
	return unique(ctx, from.Offset, opts, next, func(t *Thread) api.OpaqueID { return t.ID })
}

// Get returns a thread and its turns.
//
// Errors: [api.ErrNotFound] or [api.ErrInvalid] if the thread does not exist or
// belongs to another user.
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/details/.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/details/.
func (t *Threads) Get(
	ctx context.Context, in api.Profile, thread api.OpaqueID, opts ...api.CallOption,
) (*ThreadTurns, error) {
	a, err := call.Payload[struct {
		Thread *Thread `json:"thread"`
		Turns  struct {
			Count int     `json:"count"`
			Items []*Turn `json:"items"`
		} `json:"turns"`
	}](ctx, t.c, endpoint.AIThreadsGet(in, thread), opts)
	if err != nil {
		return nil, err
	}
	found, err := call.Found("ai.Threads.Get", "thread", a.Thread)
	if err != nil {
		return nil, err
	}
	return &ThreadTurns{found, a.Turns.Items, a.Turns.Count}, nil
}

// Update renames a thread, to a name of 1 to 100 characters, and returns it.
//
// Errors: [api.ErrInvalid] if the thread does not exist, or the caller may not change it.
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/{chat_id}/update/.
// It calls POST /current/share/{share_id}/ai/agent/{chat_id}/update/.
func (t *Threads) Update(
	ctx context.Context, in api.Profile, thread api.OpaqueID, name string, opts ...api.CallOption,
) (*Thread, error) {
	args := input.Parameters("ai.Threads.Update")
	if err := checkLength(args, "name", name, 1, maxThreadName, "must be 1 to 100 characters"); err != nil {
		return nil, err
	}
	a, err := call.Payload[struct {
		Thread *Thread `json:"thread"`
	}](ctx, t.c, endpoint.AIThreadsUpdate(in, thread, api.Form{"name": {name}}), opts)
	if err != nil {
		return nil, err
	}
	if a.Thread == nil { // servers need not answer with it
		return &Thread{ID: thread, Name: name}, nil
	}
	return a.Thread, nil
}

// Delete deletes a thread with its turns, which no call restores; [ThreadListOptions].Deleted
// still lists it. It is idempotent over retries: a thread that is gone after a lost response
// is a success.
//
// It calls DELETE /current/workspace/{workspace_id}/ai/agent/{chat_id}/.
// It calls DELETE /current/share/{share_id}/ai/agent/{chat_id}/.
func (t *Threads) Delete(ctx context.Context, in api.Profile, thread api.OpaqueID, opts ...api.CallOption) error {
	if err := call.Do(ctx, t.c, endpoint.AIThreadsDelete(in, thread), opts); !gone(err) {
		return err
	}
	return nil
}

// Publish makes a thread public. It cannot be undone.
//
// Errors: [api.ErrForbidden], as the platform has publishing disabled, which
// the capability can_publish_agent_chat of a workspace reports;
// [api.ErrConflict] if the thread is public already; [api.ErrInvalid] if it does not
// exist.
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/{chat_id}/publish/.
// It calls POST /current/share/{share_id}/ai/agent/{chat_id}/publish/.
func (t *Threads) Publish(ctx context.Context, in api.Profile, thread api.OpaqueID, opts ...api.CallOption) error {
	return call.Do(ctx, t.c, endpoint.AIThreadsPublish(in, thread), opts)
}
