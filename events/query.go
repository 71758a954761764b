package events

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Query selects events. Zero fields do not filter. Either Profile or ParentEventID
// is required.
type Query struct {
	// Profile is whose log is read: the events that name it as their organization,
	// workspace, share or user, so that the log of an organization has the events of its
	// workspaces. It needs an ID of 19 digits, or is api.User(api.Me). It is no File Share.
	Profile api.Profile

	ParentEventID api.OpaqueID // a batch; only with Acknowledged, Visibility, Limit and Offset
	Event         Name         // at most 100 characters
	Category      Category     // "" means all
	SubCategory   SubCategory  // "" means all
	CallingUserID api.ID       // the actor, an ID; excludes events without one, as of AI pipelines
	ObjectID      api.OpaqueID // the affected file, comment, share...
	Acknowledged  *bool        // default: both
	Visibility    Visibility   // default: all the caller may see; VisibilityAudit not for a user
	CreatedMin    time.Time    // to the second; whether it is inclusive is not published
	CreatedMax    time.Time    // likewise; not before CreatedMin

	Limit  int    // events per page, 1 to 250; default 100, set by the server
	Offset int    // events to skip; not with Cursor
	Cursor string // Pagination.NextCursor of the previous page, with otherwise equal fields
}

const (
	maxLimit     = 250
	maxEventName = 100
)

// values checks the query and returns it as query parameters.
func (q Query) values(op string) (url.Values, error) {
	if err := q.check(op); err != nil {
		return nil, err
	}
	v := make(url.Values, 8)
	set := func(name, value string) {
		if value != "" {
			v[name] = []string{value}
		}
	}
	switch q.Profile.Kind {
	case api.ProfileKindUser:
		set("user_id", string(q.Profile.ID))
	case api.ProfileKindOrg:
		set("org_id", string(q.Profile.ID))
	case api.ProfileKindWorkspace:
		set("workspace_id", string(q.Profile.ID))
	case api.ProfileKindShare:
		set("share_id", string(q.Profile.ID))
	default: // check requires a parent event
	}
	set("parent_event_id", q.ParentEventID.Plain())
	set("event", string(q.Event))
	set("category", string(q.Category))
	set("subcategory", string(q.SubCategory))
	set("calling_user_id", string(q.CallingUserID))
	set("object_id", q.ObjectID.Plain())
	set("visibility", string(q.Visibility))
	set("created-min", stamp(q.CreatedMin))
	set("created-max", stamp(q.CreatedMax))
	set("cursor", q.Cursor)
	if q.Acknowledged != nil {
		set("acknowledged", strconv.FormatBool(*q.Acknowledged))
	}
	if q.Limit > 0 {
		set("limit", strconv.Itoa(q.Limit))
	}
	if q.Offset > 0 {
		set("offset", strconv.Itoa(q.Offset))
	}
	return v, nil
}

// stamp returns a time in the format of the platform, "" for the zero time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}

// check returns an error for a query that the platform is documented to reject.
func (q Query) check(op string) error {
	args := input.Fields[Query](op)
	switch nameLength := utf8.RuneCountInString(string(q.Event)); {
	case q.Limit < 0 || q.Limit > maxLimit:
		return args.Refuse("limit", "must be 1 to 250", strconv.Itoa(q.Limit))
	case q.Offset < 0:
		return args.Refuse("offset", "must be 0 or more", strconv.Itoa(q.Offset))
	case q.Offset > 0 && q.Cursor != "":
		return args.Refuse("offset", "must be 0 with Cursor", strconv.Itoa(q.Offset))
	case nameLength > maxEventName:
		return args.Refuse("event", "must be at most 100 characters", strconv.Itoa(nameLength)+" characters")
	case q.Visibility == VisibilityInternal:
		return args.Refuse("visibility", "must be external or external_audit_log", string(q.Visibility))
	case !q.CreatedMin.IsZero() && !q.CreatedMax.IsZero() && q.CreatedMax.Before(q.CreatedMin):
		return args.Refuse("created-max", "must not be before CreatedMin", stamp(q.CreatedMax))
	}
	if q.ParentEventID != "" {
		if q.ParentEventID.Plain() == "" {
			return args.Refuse("parent_event_id", "must hold more than hyphens", string(q.ParentEventID))
		}
		return q.checkChildren(args)
	}
	return q.checkProfile(args)
}

// checkProfile returns an error for a profile, or a CallingUserID, that a
// search cannot have.
func (q Query) checkProfile(args input.Args) error {
	switch {
	case q.Profile == api.Profile{}:
		return args.Refuse("Profile", "must be set unless ParentEventID is", "")
	case q.Visibility == VisibilityAudit && q.Profile.Kind == api.ProfileKindUser:
		return args.Refuse("Profile", "must be an organization, workspace or share to read the audit log", string(q.Profile.Kind))
	}
	if err := args.OneOf(
		"Profile", q.Profile, api.ProfileKindUser, api.ProfileKindOrg, api.ProfileKindWorkspace, api.ProfileKindShare,
	); err != nil {
		return err
	}
	if q.Profile != api.User(api.Me) {
		if err := args.NumericID("Profile", q.Profile.ID); err != nil {
			return err
		}
	}
	if q.CallingUserID != "" {
		return args.NumericID("calling_user_id", q.CallingUserID)
	}
	return nil
}

// checkChildren returns an error for a filter that cannot be combined with
// ParentEventID, with which a search returns the events of a batch.
func (q Query) checkChildren(args input.Args) error {
	for _, f := range []struct{ name, got string }{
		{"Profile", string(q.Profile.Kind)},
		{"event", string(q.Event)},
		{"category", string(q.Category)},
		{"subcategory", string(q.SubCategory)},
		{"calling_user_id", string(q.CallingUserID)},
		{"object_id", string(q.ObjectID)},
		{"cursor", q.Cursor},
		{"created-min", stamp(q.CreatedMin)},
		{"created-max", stamp(q.CreatedMax)},
	} {
		if f.got != "" {
			return args.Refuse(f.name, "must be left out with ParentEventID", f.got)
		}
	}
	if q.Visibility == VisibilityAudit {
		return args.Refuse("visibility", "must not be external_audit_log with ParentEventID", string(q.Visibility))
	}
	return nil
}

// errIgnoredOffset is the error of a full page that the server sends again at the next
// offset, without pagination.
var errIgnoredOffset = fmt.Errorf("%w: it ignores the offset and sends no pagination", api.ErrNoProgress)

// onRepeatedPage is called for a page with the same events as the previous one. With
// pagination it returns nil: the iteration goes on. Without pagination the server ignores
// the offset, and always sends its first page: that has all events ([page.ErrEnd]) or, if it is
// full, there may be more, which cannot be read (errIgnoredOffset).
func (q Query) onRepeatedPage(p *Page) error {
	isFull := len(p.Events) >= q.Limit
	switch {
	case p.Pagination != nil:
		return nil
	case isFull:
		return errIgnoredOffset
	}
	return page.ErrEnd
}

var errNoPage = errors.New("fastio: events.Search: the response has no events")

// offsetPrefix distinguishes an offset from a server cursor in a position. No cursor
// starts with it: it is not text.
const offsetPrefix = "\x00"

// atPosition returns the query for the page at a position that positionAfter has
// returned; "" is the first page.
func (q Query) atPosition(position string) Query {
	if offset, ok := strings.CutPrefix(position, offsetPrefix); ok {
		q.Offset, _ = strconv.Atoi(offset)
		q.Cursor = ""
	} else if position != "" {
		q.Cursor, q.Offset = position, 0
	}
	return q
}

// endsEmpty reports whether p, the page behind another one, is the last one and has no events.
func (q Query) endsEmpty(p *Page) bool {
	return q.Cursor != "" && len(p.Events) == 0 && p.Pagination != nil && !p.Pagination.HasMore
}

// positionAfter returns the position of the page after p, "" if p is the last page.
//
// A search pages by cursor if the server sends one. With a parent event, and on older
// servers, it pages by offset. Offsets include events that the caller may not see, so the
// step to the next page is the page size, and not the number of events. If the requested
// size and the one that the server names differ, the larger one counts.
func (q Query) positionAfter(p *Page) (string, error) {
	step := max(q.Limit, len(p.Events)) // a Limit of 0 leaves the size to the server
	if p.Pagination == nil {
		switch {
		case p.Events == nil, q.Cursor != "": // with a cursor, a page always has pagination
			return "", errNoPage
		case len(p.Events) == 0:
			return "", nil
		}
		return offsetPrefix + strconv.Itoa(q.Offset+step), nil
	}
	switch {
	case !p.Pagination.HasMore:
		return "", nil
	case p.Pagination.NextCursor != "":
		return p.Pagination.NextCursor, nil
	case q.Cursor != "":
		return "", fmt.Errorf("fastio: events.Search: %w", page.ErrNoCursor)
	}
	return offsetPrefix + strconv.Itoa(q.Offset+max(p.Pagination.PageSize, step)), nil
}
