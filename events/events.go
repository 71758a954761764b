// Package events reads the event log: every action in an organization, its
// workspaces and shares, searchable and acknowledged per user.
//
//	query := events.Query{Profile: api.Workspace(room), Category: events.CategoryWorkspace}
//	for event, err := range client.Events.All(ctx, query) {
//		if err != nil {
//			log.Fatal(err)
//		}
//		kinds[event.SubCategory]++
//	}
//
// [Service.All] iterates over the events of a query, [Service.Walk] can be resumed
// after a restart, and [Service.Follow] delivers every past and future event.
//
// The rate limits are 5 searches in 3 seconds, 15 in 30 seconds and 120 in 10
// minutes, summaries included. Calls wait for them: a long walk reads 250 events
// every 5 seconds.
package events

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/servertime"
)

// Service reads the event log. It is the Events field of a fastio.Client, and safe for
// concurrent use.
type Service struct {
	c     api.Client
	o     Options
	clock *servertime.Clock
	idle  *idlePace
	group *ratelimit.Group // of the searches
}

// Options are the options of [New]. Nil, and zero fields, mean the defaults.
type Options struct {
	Waker  api.Waker    // reports changes to [Service.Follow]; default: Follow searches at intervals only
	Logger *slog.Logger // of Follow, for a [Gap] without OnGap and for a profile that it may not see; default: none
}

// New returns a Service that sends its requests through c.
func New(c api.Client, o *Options) *Service {
	s := &Service{c: c, clock: new(servertime.Clock), idle: &idlePace{every: idleEvery()}, group: ratelimit.Of(c, searchGroup)}
	if o != nil {
		s.o = *o
	}
	return s
}

// Page is one page of a search.
type Page struct {
	Events     []*Event    `json:"events"`     // may be short or empty although HasMore is set
	Pagination *Pagination `json:"pagination"` // nil from an older server: page by offset until one is empty or the same
}

// Pagination is the position of a page, and whether there are more.
type Pagination struct {
	HasMore    bool   `json:"has_more"`    // whether there is another page
	NextCursor string `json:"next_cursor"` // "" if there is none, and always with a ParentEventID: page by offset
	PageSize   int    `json:"page_size"`   // the requested limit

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Search returns one page of the events that q finds. Most programs want
// [Service.All] instead.
//
// Events the caller may not see are removed after the page is cut, so a short or
// empty page is not the end unless Pagination.HasMore is false. Events become
// visible with some delay, and their order is not published.
//
// A search in a profile that does not exist, or that the caller is not a member of, finds
// nothing, without an error. Get of packages orgs, workspaces and shares returns one.
//
// The audit log ([VisibilityAudit]) of an organization, workspace or share requires
// an admin; that of an organization admits its compliance auditors as well. Events
// of a legal hold require an owner or auditor. The logins of a user are the events
// [NameUserLogin] with that CallingUserID in the audit log of an organization; the
// audit log of a user cannot be searched.
//
// Errors: [api.ErrInvalid] if the query is invalid; [api.ErrForbidden] if the profile
// is outside the token's scope, and for the audit log with the Reason
// [api.ReasonScopeAdmin] or [ReasonComplianceAccess].
//
// It calls GET /current/events/search/.
func (s *Service) Search(ctx context.Context, q Query, opts ...api.CallOption) (*Page, error) {
	values, err := q.values("events.Search")
	if err != nil {
		return nil, err
	}
	return call.Payload[Page](ctx, s.c, endpoint.EventsSearch(values), opts)
}

// Values of [api.Error].Reason.
const (
	ReasonComplianceAccess  = "compliance_access_required" // the caller must be admin of the profile or its auditor
	ReasonGeoRestricted     = "geo_restricted"             // the organization blocks the caller's place or network
	ReasonPolicyUnavailable = "access_policy_unavailable"  // try again: the policy could not be read
	ReasonCursorExpired     = "cursor_expired"             // of the change feed: too much happened since
)

// All returns every event that q finds. It fetches pages as needed, of 250 events
// unless q.Limit is set.
func (s *Service) All(ctx context.Context, q Query, opts ...api.CallOption) iter.Seq2[*Event, error] {
	return s.pages(q).All(ctx, opts)
}

// Pages returns the pages of [Service.All], for programs that save cursors.
func (s *Service) Pages(ctx context.Context, q Query, opts ...api.CallOption) iter.Seq2[*Page, error] {
	return s.pages(q).Pages(ctx, opts)
}

// pages returns the pages of a query, of the largest size by default. An iteration ends after
// [page.ManyEmpty] pages in a row without a new event. A page with the same events as the
// previous one is passed to onRepeatedPage, which decides what it means.
func (s *Service) pages(q Query) page.List[*Page, *Event] {
	if q.Limit == 0 {
		q.Limit = maxLimit
	}
	fetch := func(ctx context.Context, cursor string, opts []api.CallOption) (*Page, string, error) {
		pageQuery := q.atPosition(cursor)
		p, err := s.Search(ctx, pageQuery, opts...)
		if err != nil {
			return nil, "", err
		}
		next, err := pageQuery.positionAfter(p)
		return p, next, err
	}
	return page.List[*Page, *Event]{
		Op: "events.Search", Fetch: fetch, Rows: (*Page).rows, Empty: page.ManyEmpty, Repeated: q.onRepeatedPage,
	}
}

func (p *Page) rows() []*Event { return p.Events }

// Get returns one event.
//
// Errors: [api.ErrNotFound] if it does not exist; [api.ErrInvalid], or
// [api.ErrForbidden] with [ReasonGeoRestricted], if the caller may not see it.
//
// It calls GET /current/event/{event_id}/details/.
func (s *Service) Get(ctx context.Context, event api.OpaqueID, opts ...api.CallOption) (*Event, error) {
	return call.One[Event](ctx, s.c, endpoint.EventsGet(event, nil), "event", opts)
}

// Ack marks an event as seen by the caller. It is idempotent. Its requirements and
// errors are those of [Service.Get]; a compliance auditor of the organization may
// acknowledge [NameOrgSecurityAlert] too.
//
// It calls POST /current/event/{event_id}/ack/.
func (s *Service) Ack(ctx context.Context, event api.OpaqueID, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.EventsAck(event, api.Form(url.Values{"event_id": {event.Plain()}})), opts)
}

// Summary is a summary of events as text.
type Summary struct {
	Summary *Digest       `json:"summary"`        // nil if there is none; Events is set all the same
	Reason  SummaryReason `json:"summary_reason"` // why Summary is nil; "" if the server gives no reason
	Events  []*Event      `json:"events"`         // the summarized events
}

// Digest is the text of a summary and its metrics.
type Digest struct {
	Text    string  `json:"text"` // with mentions: see [api.Mentions]
	Metrics Metrics `json:"metrics"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Metrics are the figures of a summary.
type Metrics struct {
	TotalEvents  int          `json:"total_events"`
	UniqueActors int          `json:"unique_actors"`
	DateRange    DateRange    `json:"date_range"`
	Categories   api.Map[int] `json:"categories"` // events by category

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// DateRange is the time the summarized events span.
type DateRange struct {
	Start api.Time `json:"start"`
	End   api.Time `json:"end"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// SummaryReason is the reason of a missing summary. Unknown values are kept.
type SummaryReason string

// SummaryReasonPolicyDenied means that no organization allows the built-in agent to
// read the caller's events.
const SummaryReasonPolicyDenied SummaryReason = "ai_policy_denied"

const maxUserContext = 64

// Summarize returns an AI summary of up to q.Limit events from q.Offset on, at most
// 2,000; q.Cursor must be "". It covers only the events that the caller may see.
// About is the reader's interest, "" for none: at most 64 letters, digits, spaces and
// . , ! ? ' -
//
// Each call costs AI credits: of the organization that owns the profile or, if the profile
// is a user or a parent event is given, of the caller. So it is not retried after a lost
// response. It counts against the rate limits of a search.
//
// Errors: those of [Service.Search]; [api.ErrForbidden] if the caller is not a member
// of the profile; [api.ErrNotFound] if that does not exist; [api.ErrUnavailable] with
// [ReasonPolicyUnavailable].
//
// It calls GET /current/events/search/summarize/.
func (s *Service) Summarize(ctx context.Context, q Query, about string, opts ...api.CallOption) (*Summary, error) {
	const op = "events.Summarize"
	args := input.Parameters(op, "user_context", "about")
	if q.Cursor != "" {
		return nil, input.Fields[Query](op).Refuse("cursor", "must be left out: a summary has no pages", "")
	}
	if n := utf8.RuneCountInString(about); n > maxUserContext {
		return nil, args.Refuse("user_context", "must be at most 64 characters", strconv.Itoa(n))
	}
	if i := strings.IndexFunc(about, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .,!?'-", r)
	}); i >= 0 {
		r, _ := utf8.DecodeRuneInString(about[i:])
		const rule = "must hold letters, digits, spaces and . , ! ? ' - only"
		return nil, args.Refuse("user_context", rule, strconv.QuoteRune(r))
	}
	values, err := q.values(op)
	if err != nil {
		return nil, err
	}
	if about != "" {
		values.Set("user_context", about)
	}
	return call.Payload[Summary](ctx, s.c, endpoint.EventsSummarize(values), opts)
}

// Event is an entry of the log. Which fields are set depends on the output level,
// see [api.Output], and on the event; missing ones are zero.
type Event struct {
	ID          api.OpaqueID `json:"event_id"`
	Name        Name         `json:"event"`
	Category    Category     `json:"category"`
	SubCategory SubCategory  `json:"sub_category"`
	Visibility  Visibility   `json:"visibility"`
	Permission  Permission   `json:"permission"`
	Created     api.Time     `json:"created"` // to the second

	ObjectID      api.OpaqueID `json:"object_id"`    // the affected object
	CallingUserID api.ID       `json:"calling_user"` // the acting user; "" if not recorded
	Actor         *api.Actor   `json:"actor"`        // the actor in detail; nil on events older than attribution
	UserID        api.ID       `json:"user_id"`      // the subject, if any; do not rely on it for identification
	OrgID         api.ID       `json:"org_id"`
	WorkspaceID   api.ID       `json:"workspace_id"`
	ShareID       api.ID       `json:"share_id"`
	ProfileID     api.ID       `json:"event_profile"` // the profile whose log it is in

	Description  string   `json:"description"` // rendered text; the only field with names of files
	Template     Template `json:"template"`
	Severity     string   `json:"severity"`     // a hint for display
	Notification string   `json:"notification"` // a hint for display
	Acknowledged bool     `json:"acknowledged"` // by the caller

	RequiresParentNode bool              `json:"requires_parent_node"`
	NodeType           string            `json:"node_type"`      // of events on files and folders
	OperationType      string            `json:"operation_type"` // of events on files and folders
	RequiredParams     []json.RawMessage `json:"required_params"`
	AgentDelegation    json.RawMessage   `json:"agent_delegation"` // replaced by Actor on newer events

	Audit *Audit `json:",embed,inline"` // nil unless found with VisibilityAudit

	PolicyChanges json.RawMessage `json:"policy_changes"` // of org_updated, in an undocumented form
	ProfileType   api.ProfileKind `json:"profile_type"`   // of ownership_transferred: the kind of the profile
	FromUserID    api.ID          `json:"from_user"`      // of ownership_transferred: the owner before
	ToUserID      api.ID          `json:"to_user"`        // of ownership_transferred: the new owner

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// String returns the event on one line: when and what, its ID, the object and who acted.
// It has no text that persons wrote.
func (e *Event) String() string {
	if e == nil {
		return "<nil>"
	}
	text := e.Created.UTC().Format(time.DateTime) + " " + string(e.Name) + " " + string(e.ID)
	if e.ObjectID != "" {
		text += " object " + string(e.ObjectID)
	}
	if e.CallingUserID != "" {
		text += " by " + string(e.CallingUserID)
	}
	return text
}

// Audit holds the fields that only the audit log has. The types of the sign-in
// fields are not published: numbers and booleans are read as text, objects and lists are
// in the Extra of the event.
type Audit struct {
	IP         string `json:"ip"`      // "" when not recorded
	Country    string `json:"country"` // ISO 3166 alpha-2, XX for unknown, T1 for Tor; "" when not recorded
	Method     string `json:"method"`  // of a sign-in, as all below
	MFA        string `json:"mfa"`
	NewCountry string `json:"new_country"`
	ClientID   string `json:"client_id"`
	SessionID  string `json:"session_id"`
	TokenID    string `json:"token_id"`
	AgentName  string `json:"agent_name"`
	DeviceName string `json:"device_name"`
	UserAgent  string `json:"user_agent"`
}

// Template is a description to render: its text holds {{...}} placeholders for
// Params, in order.
type Template struct {
	Description string            `json:"description"`
	Params      []json.RawMessage `json:"params"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}
