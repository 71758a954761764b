// Package events reads the event log: every action in an organization, its
// workspaces and shares, searchable and acknowledged per user.
//
// [Service.All] ranges over what a query finds, [Service.Walk] can also be resumed
// after a restart, and [Service.Follow] delivers every event, past and to come:
//
//	err := client.Events.Follow(ctx, events.Query{Profile: api.Workspace(id)},
//		func(ctx context.Context, e *events.Event) error {
//			return index.Add(ctx, e)
//		}, &events.FollowOptions{Store: events.FileStore("state")})
//
// The rate limits are 5 searches in 3 seconds, 15 in 30 seconds and 120 in 10
// minutes, summaries included. Calls wait for them: a long walk reads 250 events in 5
// seconds.
package events

import (
	"context"
	"iter"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/internal/servertime"
)

// Service reads the event log. Get one from the Events field of a fastio.Client.
// It is safe for concurrent use.
type Service struct {
	c     api.Caller
	clock servertime.Clock
}

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service { return &Service{c: c} }

// Page is one page of a search.
type Page struct {
	Events     []*Event    `json:"events"`     // may be fewer than asked for, or none, with more to come
	Pagination *Pagination `json:"pagination"` // nil from an older server: go on by offset until a page is empty
}

// Pagination tells how a search goes on.
type Pagination struct {
	HasMore    bool   `json:"has_more"`    // the one sign that there is another page
	NextCursor string `json:"next_cursor"` // "" when there is none, and always with a ParentEventID: go on by offset
	PageSize   int    `json:"page_size"`   // the limit that was asked for
}

// Search returns one page of the events that q finds. Most programs want
// [Service.All] instead.
//
// Events the caller may not see are left out after the page is cut, so a short
// or empty page does not mean the end: Pagination.HasMore does. Results may lag
// a little behind what happened, and their order is not published.
//
// The audit log ([VisibilityAudit]) of an organization, workspace or share is open to
// its admins; that of an organization also to its compliance auditors. Events of a
// legal hold are shown to owners and auditors only. The logins of a user are the
// events [NameUserLogin] with that CallingUserID in the audit log of an organization;
// a search of the audit log by user is refused.
//
// A refused query is [api.ErrInvalid]. A profile outside the token's scope is
// [api.ErrForbidden]; for the audit log the error's Reason tells what is missing:
// [ReasonScopeAdmin] or [ReasonComplianceAccess].
//
// It calls GET /current/events/search/.
func (s *Service) Search(ctx context.Context, q Query, opts ...api.CallOption) (*Page, error) {
	const op = "events.Search"
	values, err := q.values(op)
	if err != nil {
		return nil, err
	}
	return call.One[Page](ctx, s.c, endpoint.EventsSearch(values), "", opts)
}

// Reasons of refusals, found in [api.Error].Reason.
const (
	ReasonScopeAdmin        = "scope_admin_required"       // the token must be capable of rwa on the profile
	ReasonComplianceAccess  = "compliance_access_required" // the caller must be admin of the profile or its auditor
	ReasonGeoRestricted     = "geo_restricted"             // the organization blocks the caller's place or network
	ReasonPolicyUnavailable = "access_policy_unavailable"  // try again: the policy could not be read
	ReasonCursorExpired     = "cursor_expired"             // of the change feed: too much happened since
)

// All returns every event that q finds, fetching pages of 250 as they are needed
// unless q.Limit says otherwise.
func (s *Service) All(ctx context.Context, q Query, opts ...api.CallOption) iter.Seq2[*Event, error] {
	return page.Rows(s.Pages(ctx, q, opts...), func(p *Page) []*Event { return p.Events })
}

// Pages is All, page by page: for programs that keep cursors.
func (s *Service) Pages(ctx context.Context, q Query, opts ...api.CallOption) iter.Seq2[*Page, error] {
	if q.Limit == 0 {
		q.Limit = maxLimit
	}
	return func(yield func(*Page, error) bool) {
		progress := page.Progress{MaxEmpty: maxEmpty}
		fetch := func(ctx context.Context, cursor string, opts []api.CallOption) (*Page, string, error) {
			at := q.from(cursor)
			p, err := s.Search(ctx, at, opts...)
			if err != nil {
				return nil, "", err
			}
			next, err := at.after(p, &progress)
			return p, next, err
		}
		page.Calls(ctx, "", opts, fetch)(yield)
	}
}

// Get returns one event.
//
// One that does not exist is [api.ErrNotFound]; one the caller may not see is
// [api.ErrInvalid], or [api.ErrForbidden] with [ReasonGeoRestricted].
//
// It calls GET /current/event/{event_id}/details/.
func (s *Service) Get(ctx context.Context, id api.OpaqueID, opts ...api.CallOption) (*Event, error) {
	return call.One[Event](ctx, s.c, endpoint.EventsGet(id, nil), "event", opts)
}

// Ack marks an event as seen by the caller. It is idempotent. It requires what
// [Service.Get] requires, and fails as it does; a compliance auditor of the
// organization may acknowledge [NameOrgSecurityAlert] too.
//
// It calls POST /current/event/{event_id}/ack/.
func (s *Service) Ack(ctx context.Context, id api.OpaqueID, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.EventsAck(id, api.Form(url.Values{"event_id": {id.Plain()}})), opts)
}
