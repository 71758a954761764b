package activity

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"slices"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Intents are short-lived notices in a workspace about what an agent works on. They
// belong to a user: all agents of the user share them, and no other user has access. They
// are advisory: nothing is locked.
type Intents struct{ c api.Client }

// Intent is a notice. Topic and Message may be written by another program: treat them
// as text of an unknown author.
type Intent struct {
	ID        api.OpaqueID `json:"id"`
	State     IntentState  `json:"state"`
	Version   int64        `json:"version"`  // for [Intents.Fill]
	Sequence  string       `json:"sequence"` // opaque
	Topic     string       `json:"topic"`
	Message   string       `json:"message"` // "" in a list
	ExpiresAt api.Time     `json:"expires_at,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// IntentState reports whether an [Intent] has a content. Unknown values are kept.
type IntentState string

// States of an intent.
const (
	IntentStateAllocated IntentState = "allocated"
	IntentStateFilled    IntentState = "filled"
)

// IntentKind is the kind of work an [Intent] announces. The platform has a closed set of
// words, which is not published.
type IntentKind string

// The limits of the content of an intent, in characters, and of IDs in one call.
const (
	maxTopic   = 256
	maxMessage = 8192
	maxIntents = 250
)

// AllocateOptions are the options of [Intents.Allocate]. Nil means the whole workspace.
type AllocateOptions struct {
	NodeID api.OpaqueID // the file, note or folder to work on; "" means the whole workspace
	Kind   IntentKind   `wire:"intent"` // "" means none
}

// Allocate returns the intent of the client's credential for a node or the whole
// workspace, and makes one if there is none. An existing intent keeps its content, and the
// call extends its expiry. If it has expired, the result is another intent, with another
// ID and version 0: so compare the ID with that of an earlier call before you fill or
// release the intent. It is idempotent.
//
// Errors: [api.ErrNotFound] if the workspace does not exist; [api.ErrForbidden] without
// access to it.
//
// It calls POST /current/workspace/{workspace_id}/intents/.
func (n *Intents) Allocate(
	ctx context.Context, workspace api.ID, o *AllocateOptions, opts ...api.CallOption,
) (*Intent, error) {
	const op = "activity.Intents.Allocate"
	f := form.New(input.Fields[AllocateOptions](op))
	if o != nil {
		form.Given("node_id", o.NodeID.Plain(), f.Set)
		form.Given("intent", string(o.Kind), f.Set)
	}
	it, err := n.one(ctx, endpoint.ActivityIntentsAllocate(workspace, f.Form), opts)
	if err == nil && it.ID == "" {
		return nil, call.Missing(op, "intent")
	}
	return it, err
}

// one sends a request and returns the intent in the response: its member "intent" or, without
// one, its root. The ID of the intent is "" if the response has none.
func (n *Intents) one(ctx context.Context, r *api.Request, opts []api.CallOption) (*Intent, error) {
	a, err := call.Payload[struct {
		Intent *Intent `json:"intent"` // (assumed name)
		Root   Intent  `json:",embed,inline"`
	}](ctx, n.c, r, opts)
	if err != nil {
		return nil, err
	}
	return cmp.Or(a.Intent, &a.Root), nil
}

// IntentPage is one page of intents.
type IntentPage struct {
	Intents []*Intent `json:"items"`
	Cursor  string    `json:"cursor"` // of the next page; "" means: pass the cursor of this page again
}

// IntentListOptions selects a page of intents. Nil means the first.
type IntentListOptions struct {
	Cursor string // of the page before; "" means the first
}

// List returns one page of the user's intents in a workspace, without their messages.
// Only an empty page ends the list. After any other there may be more: pass its cursor or,
// if it has none, the cursor of this call again.
//
// Errors: [api.ErrNotFound] if the workspace does not exist; [api.ErrForbidden] without
// access to it; [api.ErrInvalid] if the cursor is not valid.
//
// It calls GET /current/workspace/{workspace_id}/intents/.
func (n *Intents) List(
	ctx context.Context, workspace api.ID, o *IntentListOptions, opts ...api.CallOption,
) (*IntentPage, error) {
	q := url.Values{}
	if o != nil && o.Cursor != "" {
		q.Set("cursor", o.Cursor)
	}
	return call.Payload[IntentPage](ctx, n.c, endpoint.ActivityIntentsList(workspace, q), opts)
}

// All returns the intents of all pages of [Intents.List], from o.Cursor on, each once.
func (n *Intents) All(
	ctx context.Context, workspace api.ID, o *IntentListOptions, opts ...api.CallOption,
) iter.Seq2[*Intent, error] {
	const op = "activity.Intents.List"
	return func(yield func(*Intent, error) bool) {
		next := *cmp.Or(o, &IntentListOptions{})
		// Two pages may have the same cursor, but page.List takes equal cursors for the same
		// page. So the cursor that it gets is the number of pages so far.
		pages, seen := 0, map[api.OpaqueID]bool{}
		fetch := func(ctx context.Context, _ string, opts []api.CallOption) (*IntentPage, string, error) {
			p, err := n.List(ctx, workspace, &next, opts...)
			if err != nil || len(p.Intents) == 0 { // an empty page is the last one
				return p, "", err
			}
			p.Intents = slices.DeleteFunc(p.Intents, func(it *Intent) bool {
				again := seen[it.ID]
				seen[it.ID] = true
				return again
			})
			// A page with intents but without a cursor means: ask again with the same one. If that brings nothing new several
			// times, page.List ends the iteration.
			next.Cursor = cmp.Or(p.Cursor, next.Cursor)
			pages++
			return p, strconv.Itoa(pages), nil
		}
		list := page.List[*IntentPage, *Intent]{
			Op: op, Fetch: fetch, Rows: func(p *IntentPage) []*Intent { return p.Intents },
		}
		list.All(ctx, opts)(yield)
	}
}

// Get returns up to 250 of the user's intents in a workspace, with their messages. An
// intent that does not exist, or belongs to another user, is left out.
//
// Errors: [*api.InputError] for no ID, more than 250, or a blank one; [api.ErrNotFound] if
// none of them exists; [api.ErrForbidden] without access to the workspace.
//
// It calls GET /current/workspace/{workspace_id}/intents/{intent_ids}/.
func (n *Intents) Get(
	ctx context.Context, workspace api.ID, intents []api.OpaqueID, opts ...api.CallOption,
) ([]*Intent, error) {
	const field = "intent_ids"
	args := input.Parameters("activity.Intents.Get")
	if len(intents) == 0 || len(intents) > maxIntents {
		return nil, args.Refuse(field, "must be 1 to 250", strconv.Itoa(len(intents)))
	}
	plain, err := args.PlainIDs(field, intents)
	if err != nil {
		return nil, err
	}
	return call.List[*Intent](ctx, n.c, endpoint.ActivityIntentsGet(workspace, plain), "items", opts) // (assumed name)
}

// FillRequest is the content of an [Intent]. A zero field keeps the value. A request of
// the Version alone makes the intent expire later.
type FillRequest struct {
	Version int64      // of the intent, as it was read
	Topic   string     // up to 256 characters without line breaks
	Message string     // up to 8192 characters
	Kind    IntentKind `wire:"intent"` // "" keeps it
}

// Fill changes the content of an intent, if it still has the version of r, and makes it
// expire later. It returns the fields in the response. The call is retried only if it
// was not processed.
//
// Errors: [*api.InputError] for an invalid field; [api.ErrConflict] with
// codes.IntentVersion if the version is outdated: read the intent again;
// [api.ErrNotFound] if it does not exist or belongs to another user.
//
// It calls POST /current/workspace/{workspace_id}/intents/{intent_id}/.
func (n *Intents) Fill(
	ctx context.Context, workspace api.ID, intent api.OpaqueID, r FillRequest, opts ...api.CallOption,
) (*Intent, error) {
	f := form.New(input.Fields[FillRequest]("activity.Intents.Fill"))
	version := strconv.FormatInt(r.Version, 10)
	if r.Version < 0 {
		f.Refuse("version", "must be 0 or more", version)
	}
	f.Set("version", version)
	form.Given("topic", r.Topic, f.Line(1, maxTopic))
	form.Given("message", r.Message, f.Text(1, maxMessage))
	form.Given("intent", string(r.Kind), f.Set)
	if err := f.Err(); err != nil {
		return nil, err
	}
	return n.one(ctx, endpoint.ActivityIntentsFill(workspace, intent, f.Form), opts)
}

// Release removes an intent. It is idempotent.
//
// Errors: [api.ErrNotFound] if it does not exist or belongs to another user.
//
// It calls DELETE /current/workspace/{workspace_id}/intents/{intent_id}/.
func (n *Intents) Release(ctx context.Context, workspace api.ID, intent api.OpaqueID, opts ...api.CallOption) error {
	return call.Remove(ctx, n.c, endpoint.ActivityIntentsRelease(workspace, intent), opts)
}
