package events

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// ChangePage is a part of an organization's change feed.
type ChangePage struct {
	Changes  []*Change        `json:"changes"`
	Cursor   string           `json:"cursor"` // position behind this page; save it to resume
	HasMore  bool             `json:"has_more"`
	Profiles ReadableProfiles `json:"profiles"`
}

// Change is a change to what a workspace or share stores.
type Change struct {
	EventID     api.OpaqueID    `json:"event_id"`
	Name        Name            `json:"event"`
	ProfileID   api.ID          `json:"profile_id"`
	ProfileType api.ProfileKind `json:"profile_type"` // a workspace or share
	ObjectID    api.OpaqueID    `json:"object_id"`
	Created     api.Time        `json:"created"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ReadableProfiles lists the workspaces and shares that a feed covers.
type ReadableProfiles struct {
	Version string            `json:"version"` // assumed to change with the set
	Items   []ReadableProfile `json:"items"`   // set on the first page, may be empty later

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ReadableProfile is a workspace or share covered by the feed.
type ReadableProfile struct {
	ID   api.ID          `json:"id"`
	Kind api.ProfileKind `json:"type"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ChangeOptions selects a page of a feed. Nil starts the feed.
type ChangeOptions struct {
	Cursor string // of the previous page; default: the current end of the feed
	Limit  int    // changes a page, 1 to 1000; 0 means the default of the server, 250
}

const maxChanges = 1000

// Changes returns one page of the storage changes in the workspaces and shares of an
// organization that the caller can read. Without a cursor it returns no changes but
// the current end of the feed and the profiles it covers: list their content, then
// continue from the cursor.
//
// Errors: [api.ErrUnsupported] if the server has no feed; [ReasonCursorExpired], or
// another [api.ErrInvalid] with a cursor, if changes were lost: start over and list
// everything again; [api.ErrForbidden] if nothing is readable.
//
// It calls GET /current/org/{org_id}/events/changes/.
func (s *Service) Changes(
	ctx context.Context, org api.ID, list *ChangeOptions, opts ...api.CallOption,
) (*ChangePage, error) {
	q := url.Values{}
	if list != nil {
		if list.Limit < 0 || list.Limit > maxChanges {
			args := input.Fields[ChangeOptions]("events.Changes")
			return nil, args.Refuse("limit", "must be 1 to 1000", strconv.Itoa(list.Limit))
		}
		if list.Limit > 0 {
			q.Set("limit", strconv.Itoa(list.Limit))
		}
		if list.Cursor != "" {
			q.Set("cursor", list.Cursor)
		}
	}
	return call.Payload[ChangePage](ctx, s.c, endpoint.EventsChanges(org, q), opts)
}

// errNoPosition rejects a page without a cursor: to resume from it would start a new
// feed and miss the changes in between.
var errNoPosition = errors.New("fastio: events.Changes: the response has no cursor")

// ChangePages returns the pages of [Service.Changes] from list.Cursor to the end of the feed,
// with 1000 changes each unless list.Limit is set. To continue later, pass the Cursor of the
// last page. Its requirements and errors are those of [Service.Changes].
func (s *Service) ChangePages(
	ctx context.Context, org api.ID, list *ChangeOptions, opts ...api.CallOption,
) iter.Seq2[*ChangePage, error] {
	const op = "events.Changes"
	var from ChangeOptions
	if list != nil {
		from = *list
	}
	fetch := func(ctx context.Context, cursor string, opts []api.CallOption) (*ChangePage, string, error) {
		p, err := s.Changes(ctx, org, &ChangeOptions{Cursor: cursor, Limit: cmp.Or(from.Limit, maxChanges)}, opts...)
		if err != nil {
			return nil, "", err
		}
		next, err := page.Next(op, p.HasMore, p.Cursor)
		if err == nil && p.Cursor == "" { // a caller could not continue later
			return nil, "", errNoPosition
		}
		return p, next, err
	}
	rows := func(p *ChangePage) []*Change { return p.Changes }
	pages := page.List[*ChangePage, *Change]{Op: op, Start: from.Cursor, Fetch: fetch, Rows: rows, Empty: page.ManyEmpty}
	return pages.Pages(ctx, opts)
}
