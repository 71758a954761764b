package ai

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/page"
)

// Threads are the conversations of the caller with the agent of a workspace or
// share: the scope of each call, [api.Workspace] or [api.Share].
type Threads struct{ c Client }

// ThreadKind says who leads a conversation. It never changes. Unknown ones pass
// through.
type ThreadKind string

// The kinds.
const (
	ThreadKindUser  ThreadKind = "user"
	ThreadKindAgent ThreadKind = "agent"
	ThreadKindAll   ThreadKind = "all" // for lists
)

// Visibility says who may read a conversation. Unknown ones pass through.
type Visibility string

// The visibilities.
const (
	VisibilityPrivate Visibility = "private" // its creator alone
	VisibilityPublic  Visibility = "public"  // which the platform refuses today
)

// ThreadStatus is the state of a thread. Unknown ones pass through.
type ThreadStatus string

// ThreadStatusActive is the one status that is documented.
const ThreadStatusActive ThreadStatus = "active"

// Party names what a thread belongs to.
type Party struct {
	Type api.ProfileKind `json:"type"`
	ID   api.ProfileID   `json:"id"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Privacy says who may read a thread.
type Privacy struct {
	Visibility Visibility `json:"visibility"`
	Owner      Party      `json:"owner"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Thread is one conversation.
type Thread struct {
	ID      api.OpaqueID `json:"thread_id"`
	Creator Party        `json:"creator"`
	Scope   Party        `json:"scope"` // the workspace or share
	Name    string       `json:"name"`
	Status  ThreadStatus `json:"status"`
	Kind    ThreadKind   `json:"kind"`
	Cost    Cost         `json:"cost"` // of all its turns
	Privacy Privacy      `json:"privacy"`
	Created api.Time     `json:"created_at"`
	Updated api.Time     `json:"updated_at"`

	MessageCount  *int  `json:"message_count"`  // turns; nil after Create and Update, as the next
	Continuable   *bool `json:"continuable"`    // false for old conversations, which can only be read
	LatestMessage *Turn `json:"latest_message"` // in lists alone, without an answer

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

type plainThread Thread

// UnmarshalJSONFrom reads the ID from thread_id, else chat_id, else id.
func (t *Thread) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	w := struct {
		Thread *plainThread `json:",embed,inline"`
		ChatID api.OpaqueID `json:"chat_id"`
		ID     api.OpaqueID `json:"id"`
	}{Thread: (*plainThread)(t)}
	err := jsonv2.UnmarshalDecode(dec, &w)
	t.ID = firstOf(t.ID, w.ChatID, w.ID)
	return err
}

// CreateThreadRequest begins a conversation. All but the text of the question may
// be left at zero.
type CreateThreadRequest struct {
	Question

	Name    string     // at most 100 characters; "" has the server make one
	Kind    ThreadKind // of a workspace's thread; "" is [ThreadKindUser]
	Privacy Visibility // likewise; "" is [VisibilityPrivate]
}

const maxThreadName = 100

// Conversation is a thread with turns of it, which have no answers.
type Conversation struct {
	Thread *Thread
	Turns  []*Turn // by Seq
}

// Create begins a conversation with its first question, and returns both. The turn
// is usually pending: [Turns.Stream] and [Turns.Wait] follow it.
//
// The question is sent with its idempotency key as often as it takes, so that it
// makes one thread however many answers are lost. An error that comes after it may
// have been sent is a [*SendError], with the key. A conflict is waited out for a
// while, as the server may still be about to begin. What the plan does not cover is
// [api.ErrPaymentRequired], what the organization's AI policy forbids
// [api.ErrForbidden] with the reason, a reference to a node that is not there
// [api.ErrNotFound].
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/.
// It calls POST /current/share/{share_id}/ai/agent/.
func (t *Threads) Create(ctx context.Context, scope api.Profile, r CreateThreadRequest, opts ...api.CallOption) (*Conversation, error) {
	const op = "ai.Threads.Create"
	path, err := route(op, scope, "/current/workspace/{workspace_id}/ai/agent/", "/current/share/{share_id}/ai/agent/")
	if err != nil {
		return nil, err
	}
	form, key, err := r.form(op, scope)
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
	thread := a.Thread
	if thread == nil {
		thread = &Thread{ID: turn.ThreadID}
	}
	turn.ThreadID = firstOf(turn.ThreadID, thread.ID)
	return &Conversation{thread, []*Turn{turn}}, nil
}

// form checks r and returns it as it is sent, with its key.
func (r CreateThreadRequest) form(op string, scope api.Profile) (form url.Values, key string, err error) {
	if err := characters(op, "name", r.Name, 0, maxThreadName, "must be at most 100 characters"); err != nil {
		return nil, "", err
	}
	if scope.Kind == api.ProfileKindShare {
		for field, value := range map[string]string{"kind": string(r.Kind), "privacy": string(r.Privacy)} {
			if value != "" {
				return nil, "", &api.InputError{Op: op, Field: field, Rule: "must be left out: a share has one kind of thread", Got: strconv.Quote(value)}
			}
		}
	}
	if r.Kind == ThreadKindAll {
		return nil, "", &api.InputError{Op: op, Field: "kind", Rule: "must be user or agent", Got: strconv.Quote(string(r.Kind))}
	}
	if form, key, err = r.Question.form(op); err != nil {
		return nil, "", err
	}
	for name, value := range map[string]string{"name": r.Name, "kind": string(r.Kind), "privacy": string(r.Privacy)} {
		if value != "" {
			form.Set(name, value)
		}
	}
	return form, key, nil
}

// ThreadListOptions asks for some of the threads. Nil asks for those of the user.
// Servers may ignore Limit and Offset.
type ThreadListOptions struct {
	Kind   ThreadKind // "" is [ThreadKindUser]
	Limit  int        // threads a page; 0 leaves it to the server
	Offset int        // threads to skip
}

// ThreadPage is one page of threads.
type ThreadPage struct {
	Threads []*Thread
	Count   int // threads on this page, as the server counts
}

// List returns the caller's threads, or the first of them, the one that changed
// last first.
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/list/.
// It calls GET /current/share/{share_id}/ai/agent/list/.
func (t *Threads) List(ctx context.Context, scope api.Profile, list *ThreadListOptions, opts ...api.CallOption) (*ThreadPage, error) {
	const op = "ai.Threads.List"
	path, err := route(op, scope, "/current/workspace/{workspace_id}/ai/agent/list/", "/current/share/{share_id}/ai/agent/list/")
	if err != nil {
		return nil, err
	}
	return t.list(ctx, get(op, path), list, opts)
}

// ListDeleted returns the threads that the caller has deleted, as [Threads.List]
// does the others.
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/list/deleted.
// It calls GET /current/share/{share_id}/ai/agent/list/deleted.
func (t *Threads) ListDeleted(ctx context.Context, scope api.Profile, list *ThreadListOptions, opts ...api.CallOption) (*ThreadPage, error) {
	const op = "ai.Threads.ListDeleted"
	path, err := route(op, scope, "/current/workspace/{workspace_id}/ai/agent/list/deleted", "/current/share/{share_id}/ai/agent/list/deleted")
	if err != nil {
		return nil, err
	}
	return t.list(ctx, get(op, path), list, opts)
}

func (t *Threads) list(ctx context.Context, r *api.Request, list *ThreadListOptions, opts []api.CallOption) (*ThreadPage, error) {
	if list != nil {
		r.Query = url.Values{}
		for name, n := range map[string]int{"limit": list.Limit, "offset": list.Offset} {
			if n < 0 {
				return nil, &api.InputError{Op: r.Op, Field: name, Rule: "must be 0 or more", Got: strconv.Itoa(n)}
			}
			if n > 0 {
				r.Query.Set(name, strconv.Itoa(n))
			}
		}
		if list.Kind != "" {
			r.Query.Set("kind", string(list.Kind))
		}
	}
	a, err := call.Do[struct {
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

// All returns the threads that [Threads.List] has pages of, each once.
func (t *Threads) All(ctx context.Context, scope api.Profile, list *ThreadListOptions, opts ...api.CallOption) iter.Seq2[*Thread, error] {
	return t.all(ctx, "ai.Threads.List", list, opts, func(ctx context.Context, list *ThreadListOptions, opts ...api.CallOption) (*ThreadPage, error) {
		return t.List(ctx, scope, list, opts...)
	})
}

// AllDeleted returns the threads that [Threads.ListDeleted] has pages of, each once.
func (t *Threads) AllDeleted(ctx context.Context, scope api.Profile, list *ThreadListOptions, opts ...api.CallOption) iter.Seq2[*Thread, error] {
	return t.all(ctx, "ai.Threads.ListDeleted", list, opts, func(ctx context.Context, list *ThreadListOptions, opts ...api.CallOption) (*ThreadPage, error) {
		return t.ListDeleted(ctx, scope, list, opts...)
	})
}

// all asks on until a page brings nothing new: servers are not known to tell
// whether there is more, nor to heed the offset.
func (t *Threads) all(
	ctx context.Context, op string, list *ThreadListOptions, opts []api.CallOption,
	pages func(ctx context.Context, list *ThreadListOptions, opts ...api.CallOption) (*ThreadPage, error),
) iter.Seq2[*Thread, error] {
	start := 0
	if list != nil {
		start = list.Offset
	}
	return func(yield func(*Thread, error) bool) {
		met := met{}
		page.Rows(page.Calls(ctx, op, "", opts, func(ctx context.Context, cursor string, opts []api.CallOption) ([]*Thread, string, error) {
			var o ThreadListOptions
			if list != nil {
				o = *list
			}
			o.Offset = page.Offset(cursor, start)
			p, err := pages(ctx, &o, opts...)
			if err != nil {
				return nil, "", err
			}
			fresh := fresh(met, p.Threads, func(t *Thread) api.OpaqueID { return t.ID })
			return fresh, further(o.Offset, len(p.Threads), len(fresh)), nil
		}), func(rows []*Thread) []*Thread { return rows })(yield)
	}
}

// Get returns a thread with its turns. One that is not there, or not the caller's,
// is [api.ErrNotFound] or [api.ErrInvalid].
//
// It calls GET /current/workspace/{workspace_id}/ai/agent/{chat_id}/details/.
// It calls GET /current/share/{share_id}/ai/agent/{chat_id}/details/.
func (t *Threads) Get(ctx context.Context, scope api.Profile, thread api.OpaqueID, opts ...api.CallOption) (*Conversation, error) {
	const op = "ai.Threads.Get"
	path, err := route(op, scope,
		"/current/workspace/{workspace_id}/ai/agent/{chat_id}/details/", "/current/share/{share_id}/ai/agent/{chat_id}/details/", thread.Plain())
	if err != nil {
		return nil, err
	}
	a, err := call.Do[struct {
		Thread *Thread `json:"thread"`
		Turns  struct {
			Items []*Turn `json:"items"`
		} `json:"turns"`
	}](ctx, t.c, get(op, path), opts)
	if err != nil {
		return nil, err
	}
	found, err := call.Found(op, "thread", a.Thread, opts)
	if err != nil {
		return nil, err
	}
	return &Conversation{found, a.Turns.Items}, nil
}

// Update gives a thread another name, of at most 100 characters, and returns it.
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/{chat_id}/update/.
// It calls POST /current/share/{share_id}/ai/agent/{chat_id}/update/.
func (t *Threads) Update(ctx context.Context, scope api.Profile, thread api.OpaqueID, name string, opts ...api.CallOption) (*Thread, error) {
	const op = "ai.Threads.Update"
	path, err := route(op, scope,
		"/current/workspace/{workspace_id}/ai/agent/{chat_id}/update/", "/current/share/{share_id}/ai/agent/{chat_id}/update/", thread.Plain())
	if err != nil {
		return nil, err
	}
	if err := characters(op, "name", name, 1, maxThreadName, "must be 1 to 100 characters"); err != nil {
		return nil, err
	}
	a, err := call.Do[struct {
		Thread *Thread `json:"thread"`
	}](ctx, t.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: path, Body: api.Form{"name": {name}}, Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	if a.Thread == nil { // servers need not answer with it
		return &Thread{ID: thread, Name: name}, nil
	}
	return a.Thread, nil
}

// Delete deletes a thread. It can still be found with [Threads.ListDeleted].
//
// When an attempt was carried out whose answer was lost, the next one no longer
// finds the thread; that is a success.
//
// It calls DELETE /current/workspace/{workspace_id}/ai/agent/{chat_id}/.
// It calls DELETE /current/share/{share_id}/ai/agent/{chat_id}/.
func (t *Threads) Delete(ctx context.Context, scope api.Profile, thread api.OpaqueID, opts ...api.CallOption) error {
	const op = "ai.Threads.Delete"
	path, err := route(op, scope, "/current/workspace/{workspace_id}/ai/agent/{chat_id}/", "/current/share/{share_id}/ai/agent/{chat_id}/", thread.Plain())
	if err != nil {
		return err
	}
	err = call.Send(ctx, t.c, &api.Request{Op: op, Method: http.MethodDelete, Path: path, Replay: api.ReplaySafe}, opts)
	if gone(err) {
		return nil
	}
	return err
}

// Publish shows a thread to everybody who can reach its scope, for good. The
// platform has this switched off and answers [api.ErrForbidden]; a thread that is
// public already is [api.ErrConflict].
//
// It calls POST /current/workspace/{workspace_id}/ai/agent/{chat_id}/publish/.
// It calls POST /current/share/{share_id}/ai/agent/{chat_id}/publish/.
func (t *Threads) Publish(ctx context.Context, scope api.Profile, thread api.OpaqueID, opts ...api.CallOption) error {
	const op = "ai.Threads.Publish"
	path, err := route(op, scope,
		"/current/workspace/{workspace_id}/ai/agent/{chat_id}/publish/", "/current/share/{share_id}/ai/agent/{chat_id}/publish/", thread.Plain())
	if err != nil {
		return err
	}
	return call.Send(ctx, t.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: path, Body: api.Form{}, Replay: api.ReplaySafe,
	}, opts)
}

// met are the IDs that have come.
type met map[string]bool

// fresh returns the rows that have not come before.
func fresh[T any](met met, rows []*T, id func(*T) api.OpaqueID) []*T {
	var all []*T
	for _, row := range rows {
		if row == nil {
			continue
		}
		key := id(row).Plain()
		if key == "" || !met[key] {
			all = append(all, row)
		}
		met[key] = true
	}
	return all
}

// further returns the cursor behind a page; "" if there is no use in going on.
func further(offset, came, fresh int) string {
	if fresh == 0 {
		return ""
	}
	return strconv.Itoa(offset + came)
}
