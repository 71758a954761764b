package events

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/page"
)

// ChangePage is a part of an organization's change feed.
type ChangePage struct {
	Changes  []*Change        `json:"changes"`
	Cursor   string           `json:"cursor"` // where the feed goes on; keep it
	HasMore  bool             `json:"has_more"`
	Profiles ReadableProfiles `json:"profiles"`
}

// Change is a change to what a workspace or share stores.
type Change struct {
	EventID     api.OpaqueID    `json:"event_id"`
	Name        Name            `json:"event"`
	ProfileID   api.ProfileID   `json:"profile_id"`
	ProfileType api.ProfileKind `json:"profile_type"` // a workspace or share
	ObjectID    api.OpaqueID    `json:"object_id"`
	Created     api.Time        `json:"created"`
}

// ReadableProfiles names the workspaces and shares a feed covers.
type ReadableProfiles struct {
	Version string            `json:"version"` // another one means, as is assumed, that the set has changed
	Items   []ReadableProfile `json:"items"`   // set on the first page, may be empty later
}

// ReadableProfile is one of them.
type ReadableProfile struct {
	ID   api.ProfileID   `json:"id"`
	Kind api.ProfileKind `json:"type"`
}

// ChangeOptions asks for one part of a feed. Nil starts it.
type ChangeOptions struct {
	Cursor string // of the page before; "" starts at the present moment
	Limit  int    // changes a page, 1 to 1000; 0 leaves it to the server, which sends 250
}

const maxChanges = 1000

// Changes returns one page of what changed in the storage of every workspace and
// share of an organization that the caller can read. Without a cursor it returns
// no changes but the present end of the feed, and what it covers: list that, then
// continue from the cursor.
//
// Errors: [api.ErrUnsupported] if the server has no feed; [ReasonCursorExpired], or
// another [api.ErrInvalid] with a cursor, if changes were missed: start over and list
// everything again; [api.ErrForbidden] if nothing is readable.
//
// It calls GET /current/org/{org_id}/events/changes/.
func (s *Service) Changes(
	ctx context.Context, org api.ProfileID, list *ChangeOptions, opts ...api.CallOption,
) (*ChangePage, error) {
	q := url.Values{}
	if list != nil {
		if list.Limit < 0 || list.Limit > maxChanges {
			got := strconv.Itoa(list.Limit)
			return nil, &api.InputError{Op: "events.Changes", Field: "limit", Rule: "must be 1 to 1000", Got: got}
		}
		if list.Limit > 0 {
			q.Set("limit", strconv.Itoa(list.Limit))
		}
		if list.Cursor != "" {
			q.Set("cursor", list.Cursor)
		}
	}
	return call.One[ChangePage](ctx, s.c, endpoint.EventsChanges(org, q), "", opts)
}

// errNoPosition is not a page: who kept its cursor would start anew, and miss what
// happened in between.
var errNoPosition = errors.New("fastio: events.Changes: the response has no cursor")

// ChangePages returns what changed since cursor, page by page, up to the end of the
// feed. The Cursor of the last page resumes there.
func (s *Service) ChangePages(
	ctx context.Context, org api.ProfileID, cursor string, opts ...api.CallOption,
) iter.Seq2[*ChangePage, error] {
	fetch := func(ctx context.Context, cursor string, opts []api.CallOption) (*ChangePage, string, error) {
		p, err := s.Changes(ctx, org, &ChangeOptions{Cursor: cursor, Limit: maxChanges}, opts...)
		if err != nil {
			return nil, "", err
		}
		next, err := page.Next("events.Changes", p.HasMore, p.Cursor)
		if err == nil && p.Cursor == "" {
			return nil, "", errNoPosition
		}
		return p, next, err
	}
	return page.Calls(ctx, cursor, opts, fetch)
}
