// Package events emulates the event log: search, summaries, feed and histories.
package events

import (
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	acked     map[string]map[uint32]bool // by user
	blocked   map[string]bool            // organizations that refuse the caller's location
	retention uint64                     // raised to expire the cursors of the change feed
	generated uint64                     // histories so far, part of their seed
	recent    map[string][]uint32        // files of a workspace that histories touched last
	readsOnly map[string]bool            // workspaces whose events follow from what is in them
}

// New returns the handlers of the event log.
func New(w *world.World) *Handlers {
	return &Handlers{
		w: w, acked: map[string]map[uint32]bool{}, blocked: map[string]bool{}, recent: map[string][]uint32{},
		readsOnly: map[string]bool{},
	}
}

// Codes of events. Those from 199001 to 199999 are invented.
const (
	codeFeedEmpty   = 135626
	codeFeedCursor  = 158008
	codeFeedExpired = 187907
	codeFeedLimit   = 207321
	codeAuditAnchor = 199003
	codeCompliance  = 199004
	codeEventAccess = 199006
)

const (
	searchLimit   = 250
	searchDefault = 100
	nameLimit     = 100
)

// Query is a parsed search.
type Query struct {
	profile, kind string // the filter that applies, and what it names
	parent        string
	event         string
	category, sub string
	caller        string
	object        string
	visibility    string
	acked         string
	from, to      int64 // created, Unix seconds, inclusive
	limit, offset int
	cursor        string
}

// fingerprint returns a text of the filters of a query: a cursor is valid only for the
// same ones.
func (q *Query) fingerprint() string {
	return fmt.Sprintf("%q", []string{
		q.profile, q.event, q.category, q.sub, q.caller, q.object, q.visibility, q.acked, fmt.Sprint(q.from, q.to),
	})
}

// audit reports whether a query searches the audit log.
func (q *Query) audit() bool { return q.visibility == world.AuditLog }

// parseSearch reads the parameters that search and summarize share. Errors in them are
// added to the checks of the call. By an option, bounds of time are exclusive. The caller
// holds the lock.
func (h *Handlers) parseSearch(c *wire.Call) Query {
	q := Query{
		parent:     wire.Plain(c.Value("parent_event_id")),
		event:      c.Value("event"),
		category:   c.Value("category"),
		sub:        c.Value("subcategory"),
		caller:     c.Value("calling_user_id"),
		object:     wire.Plain(c.Value("object_id")),
		visibility: c.Value("visibility"),
		acked:      c.Value("acknowledged"),
		cursor:     c.Value("cursor"),
	}
	q.limit = c.Integer("limit", searchDefault, 1, searchLimit)
	q.offset = c.Integer("offset", 0, 0, math.MaxInt32)
	c.Check.InvalidIf(utf8.RuneCountInString(q.event) > nameLimit, "event", "At most 100 characters.")
	c.Check.MistypedIf(q.caller != "" && !wire.IsProfile(q.caller), "calling_user_id", "profile_id")
	c.Check.MistypedIf(q.acked != "" && q.acked != "true" && q.acked != "false", "acknowledged", "boolean")
	c.Check.InvalidIf(q.visibility != "" && q.visibility != world.AuditLog && q.visibility != world.External,
		"visibility", "external_audit_log or external.")
	q.readTimes(c, h.w.Options.Events.ExclusiveBounds)
	h.readProfiles(c, &q)
	q.checkParent(c)
	return q
}

// readTimes reads the bounds of the creation of events, and rounds them to whole
// seconds, as events have them. If exclusive, events at the bounds are left out.
func (q *Query) readTimes(c *wire.Call, exclusive bool) {
	roundedDown := time.Time.Unix
	roundedUp := func(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }
	q.from, q.to = math.MinInt64, math.MaxInt64
	from, to := c.Moment("created-min"), c.Moment("created-max")
	switch {
	case from.IsZero():
	case exclusive:
		q.from = roundedDown(from) + 1
	default:
		q.from = roundedUp(from)
	}
	switch {
	case to.IsZero():
	case exclusive:
		q.to = roundedUp(to) - 1
	default:
		q.to = roundedDown(to)
	}
	c.Check.InvalidIf(!from.IsZero() && !to.IsZero() && to.Before(from), "created-max", "Not earlier than created-min.")
}

// readProfiles reads the profile of a search. Of several ones, the highest counts:
// user, organization, workspace, share.
func (h *Handlers) readProfiles(c *wire.Call, q *Query) {
	for _, kind := range [...]string{wire.KindUser, wire.KindOrg, wire.KindWorkspace, wire.KindShare} {
		name := kind + "_id"
		id := c.Value(name)
		if id == "" {
			continue
		}
		if kind == wire.KindUser && id == "me" {
			id = c.Key.User
		}
		found := h.w.KindOf(id)
		switch {
		case !wire.IsProfile(id):
			c.Check.Mistyped(name, "profile_id")
		case found != "" && found != kind:
			c.Check.Invalid(name, "This id names another kind of profile.")
		}
		if q.profile == "" {
			q.profile, q.kind = id, kind
		}
	}
	c.Check.MissingIf(q.profile == "" && q.parent == "", "org_id", "Name a profile or a parent event.")
}

// checkParent checks that a search for the events of a batch, whose parent is named,
// has no other filters, and that any other search has not both a cursor and an offset.
func (q *Query) checkParent(c *wire.Call) {
	if q.parent == "" {
		c.Check.InvalidIf(q.cursor != "" && q.offset > 0, "offset", "Not with a cursor.")
		return
	}
	c.Check.InvalidIf(!wire.IsOpaque(q.parent), "parent_event_id", "Not an event id.")
	for _, name := range [...]string{
		"user_id", "org_id", "workspace_id", "share_id", "event", "category", "subcategory",
		"calling_user_id", "object_id", "created-min", "created-max", "cursor",
	} {
		c.Check.InvalidIf(c.Value(name) != "", name, "Not with parent_event_id.")
	}
}

// search returns a page of the events that match the filters of a call. Events that
// the caller may not see are left out of the page, which may then be short. By the option
// NoCursor, it responds like older servers, whose pages have an offset only.
func (h *Handlers) search(c *wire.Call) (wire.Object, error) {
	if h.w.Options.Events.NoCursor {
		c.Query.Del("cursor")
	}
	q := h.parseSearch(c)
	start, valid := h.startOfPage(c, &q)
	if !valid && q.parent == "" { // parseSearch has rejected a cursor beside a parent
		c.Check.Invalid("cursor", "The cursor is not valid for this search.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	v := h.Viewer(c, &q)
	if err := v.refuseSearch(&q); err != nil {
		return nil, err
	}
	page, more := h.searchPage(v, &q, start)
	visible := wire.Filter(page, v.Sees) // the cursor still follows the last event of the page
	events := wire.Rows(visible, func(n uint32) wire.Object { return v.row(n, c.Out.Level) })
	pagination := wire.Object{{"has_more", more}}
	pagination = pagination.With(!h.w.Options.Events.NoCursor, "next_cursor", h.nextCursor(c, &q, page, more))
	pagination = append(pagination, wire.Member{"page_size", q.limit})
	return wire.Object{{"events", events}, {"pagination", pagination}}, nil
}

// startOfPage returns the position in the log after which the requested page begins,
// nil for the first page. It returns false for a cursor that is not valid for the
// query.
func (h *Handlers) startOfPage(c *wire.Call, q *Query) (*world.Position, bool) {
	if q.cursor == "" {
		return nil, true
	}
	p, valid := h.w.OpenCursor(q.cursor, h.searchBinding(c, q))
	return &p, valid
}

// nextCursor returns the cursor of the next page, nil after the last one.
func (h *Handlers) nextCursor(c *wire.Call, q *Query, page []uint32, more bool) any {
	if !more || q.parent != "" || len(page) == 0 {
		return nil // pages of the children of a parent event have an offset only
	}
	return h.w.Cursor(h.w.Log.Position(page[len(page)-1]), h.searchBinding(c, q))
}

// searchBinding returns the text that a cursor is bound to: the caller and the
// filters.
func (h *Handlers) searchBinding(c *wire.Call, q *Query) string {
	return fmt.Sprint("search ", h.w.Cursors, " ", c.Key.User, " ", q.fingerprint())
}

// searchPage returns the matching rows behind start and the offset, up to the limit, in
// the order of the log. They include rows that the caller may not see. It reports
// whether there are more.
func (h *Handlers) searchPage(v *Viewer, q *Query, start *world.Position) (rows []uint32, more bool) {
	m := v.matcher(q)
	skip := q.offset
	for n := range candidates(&h.w.Log, q, start) {
		if !m.matches(n) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if len(rows) == q.limit {
			return rows, true
		}
		rows = append(rows, n)
	}
	return rows, false
}

// matcher is a query with the numbers that the log has for names.
type matcher struct {
	log            *world.Log
	kinds          []bool // for each kind of event of the log: whether it matches
	caller, object uint32 // 0: any
	from, to, now  int64
	acked          map[uint32]bool // the rows that the user has acknowledged
	wantAcked      string          // "true", "false" or "" for both
	none           bool            // a filter names what the log has never seen: nothing matches
}

// matcher returns the filters of a query, in the form that [matcher.matches] applies
// to a row.
func (v *Viewer) matcher(q *Query) *matcher {
	l := &v.h.w.Log
	m := &matcher{
		log: l, from: q.from, to: q.to, now: v.now.UnixNano(),
		acked: v.h.acked[v.key.User], wantAcked: q.acked,
		kinds: make([]bool, len(l.Kinds.Values)),
	}
	for i, k := range l.Kinds.Values {
		m.kinds[i] = k.Visibility != world.InternalOnly &&
			(q.visibility == "" || q.visibility == k.Visibility) &&
			(q.event == "" || q.event == k.Event) &&
			(q.category == "" || q.category == k.Category) &&
			(q.sub == "" || q.sub == k.Sub)
	}
	if q.caller != "" {
		n, found := l.Names.Find(q.caller)
		m.caller, m.none = n, !found // no event has a name that the log does not know
	}
	if q.object != "" {
		n, found := l.FindObject(q.object)
		m.object, m.none = n, m.none || !found
	}
	return m
}

// matches reports whether row n of the log meets the filters and is visible by now.
func (m *matcher) matches(n uint32) bool {
	e := &m.log.Entries[n]
	return !m.none && m.kinds[e.Kind] && e.Shown <= m.now &&
		e.Created >= m.from && e.Created <= m.to &&
		(m.caller == 0 || m.caller == e.Caller) &&
		(m.object == 0 || m.object == e.Object) &&
		(m.wantAcked == "" || m.acked[n] == (m.wantAcked == "true"))
}

// Viewer decides which events a caller sees. It keeps the roles of the caller, so that
// they are computed once for each profile.
type Viewer struct {
	h     *Handlers
	key   *wire.Credential
	now   time.Time
	audit bool
	roles map[string]world.Role
	modes map[string]wire.Mode
}

// Viewer returns what decides which events the caller of a query may see.
func (h *Handlers) Viewer(c *wire.Call, q *Query) *Viewer {
	return &Viewer{
		h: h, key: c.Key, now: c.Now, audit: q.audit(),
		roles: map[string]world.Role{}, modes: map[string]wire.Mode{},
	}
}

// role returns the role of the caller on a profile.
func (v *Viewer) role(profileID string) world.Role {
	r, found := v.roles[profileID]
	if !found {
		r = v.h.w.Role(profileID, v.key.User)
		v.roles[profileID] = r
	}
	return r
}

// accessMode returns what the credential of the caller grants on a profile.
func (v *Viewer) accessMode(profileID string) wire.Mode {
	m, found := v.modes[profileID]
	if !found {
		m = v.h.w.AccessMode(v.key, profileID)
		v.modes[profileID] = m
	}
	return m
}

// refuseSearch returns a refusal of a search if the credential does not cover the profile.
// A search of the audit log is also refused if it is for a user or for the children of a
// parent event, if the user is neither admin nor auditor, or if the credential is below admin
// mode.
func (v *Viewer) refuseSearch(q *Query) error {
	if q.audit() && (q.kind == wire.KindUser || q.parent != "") {
		return wire.Refuse(http.StatusUnauthorized, codeAuditAnchor,
			"Access Denied: audit searches need an organization, a workspace or a share.")
	}
	if q.profile == "" { // a search for the children of a parent event
		return nil
	}
	h := v.h
	if v.accessMode(q.profile) == wire.NoAccess {
		return h.w.OutOfScopeRefusal(q.profile)
	}
	if !q.audit() {
		return nil
	}
	entitled := world.Rank(v.role(q.profile)) >= world.Rank(world.Admin) || h.w.Auditor(q.profile, v.key.User)
	if !entitled {
		return wire.RefuseWithReason(http.StatusForbidden, codeCompliance, "compliance_access_required",
			"Audit searches are for administrators and compliance auditors.")
	}
	if v.accessMode(q.profile) < wire.Admin {
		return v.key.NoAdminRefusal("profile")
	}
	return nil
}

// Sees reports whether the caller may see row n of the log. Internal rows are never
// seen, and rows about legal holds only by owners and auditors. In an audit,
// administrators and auditors see all other rows. Otherwise a row of an event for one
// target is seen by the target only, and any other row by the users whom it names and by
// users with the role that it requires.
func (v *Viewer) Sees(n uint32) bool {
	l := &v.h.w.Log
	e := &l.Entries[n]
	k := &l.Kinds.Values[e.Kind]
	profileID := l.ProfileID(e)
	orgID := l.Places.Values[e.Place].Org
	me := v.key.User
	if k.Visibility == world.InternalOnly || v.accessMode(profileID) == wire.NoAccess {
		return false
	}
	if strings.HasPrefix(k.Event, "legal_hold") && v.role(orgID) != world.Owner && !v.h.w.Auditor(orgID, me) {
		return false
	}
	if v.audit && (world.Rank(v.role(profileID)) >= world.Rank(world.Admin) || v.h.w.Auditor(orgID, me)) {
		return true
	}
	if k.Permission == world.ForTarget {
		return l.Names.Values[e.User] == me
	}
	if l.Names.Values[e.User] == me || l.Names.Values[e.Caller] == me {
		return true
	}
	least := world.Member
	if k.Permission == world.ForAdmin || k.Category == "import" { // members never see imports, whatever the row says
		least = world.Admin
	}
	return world.Rank(v.role(profileID)) >= world.Rank(least)
}

// row renders row n of the log at a level of detail.
func (v *Viewer) row(n uint32, lv wire.Level) wire.Object {
	l := &v.h.w.Log
	e := &l.Entries[n]
	k := &l.Kinds.Values[e.Kind]
	at := l.Places.Values[e.Place]
	d := l.Detail(n)
	if d == nil {
		d = &world.Detail{}
	}
	r := wire.Row{Level: lv, Fields: make(wire.Object, 0, 32)}
	r.Put(wire.Terse, "event_id", wire.Hyphenated(l.ID(n)))
	r.Put(wire.Terse, "event", k.Event)
	r.Put(wire.Terse, "category", k.Category)
	r.Put(wire.Terse, "object_id", wire.TextOrNull(l.ObjectID(e.Object)))
	r.Put(wire.Terse, "created", wire.Stamp(e.Created))
	if lv == wire.Terse {
		return r.Fields
	}
	r.Put(wire.Standard, "sub_category", k.Sub)
	r.PutIf(e.Caller != 0, wire.Standard, "calling_user", wire.ProfileID(l.Names.Values[e.Caller]))
	r.PutIf(e.Actor != 0, wire.Standard, "actor", world.ActorObject(l.Actors.Values[e.Actor]))
	r.Put(wire.Standard, "org_id", wire.ProfileOrNull(at.Org))
	r.Put(wire.Standard, "workspace_id", wire.ProfileOrNull(at.Workspace))
	r.Put(wire.Standard, "share_id", wire.ProfileOrNull(at.Share))
	r.PutIf(e.User != 0, wire.Standard, "user_id", wire.ProfileID(l.Names.Values[e.User]))
	r.Put(wire.Standard, "acknowledged", v.h.acked[v.key.User][n])
	text, names, values := v.h.w.Log.TemplateOf(n)
	r.Put(wire.Standard, "template", wire.Object{{"description", text}, {"params", values}})
	r.Put(wire.Standard, "severity", k.Severity)
	r.Put(wire.Standard, "visibility", k.Visibility)
	r.Put(wire.Standard, "notification", k.Notification)
	if v.audit {
		r.Put(wire.Standard, "ip", wire.TextOrNull(d.IP))
		r.Put(wire.Standard, "country", wire.TextOrNull(d.Country))
	}
	if lv == wire.Full {
		r.Put(wire.Full, "permission", k.Permission)
		r.Put(wire.Full, "description", world.RenderText(text, names, values))
		r.Put(wire.Full, "required_params", names)
		v.putFullMembers(&r, e, k, d)
	}
	return r.Fields
}

// putFullMembers adds the profile of an event, and the members of the level full that only
// some events have: about nodes, about a delegation of an agent, and extra members.
// Telemetry is for audits only.
func (v *Viewer) putFullMembers(r *wire.Row, e *world.Entry, k *world.EventKind, d *world.Detail) {
	r.Put(wire.Full, "event_profile", wire.ProfileOrNull(v.h.w.Log.ProfileID(e)))
	if k.NodeType != "" {
		r.Put(wire.Full, "node_type", k.NodeType)
		r.Put(wire.Full, "operation_type", k.Operation)
		r.Put(wire.Full, "requires_parent_node", k.RequiresParent)
	}
	r.PutIf(d.Delegation != "", wire.Full, "agent_delegation", d.Delegation)
	for _, m := range wire.FromMap(d.Extra) {
		r.Put(wire.Full, m.Key, m.Value)
	}
	if v.audit {
		for _, m := range wire.FromMap(d.Telemetry) {
			r.Put(wire.Full, m.Key, m.Value)
		}
	}
}

// eventDetails returns the event in the path, if the caller may see it.
func (h *Handlers) eventDetails(c *wire.Call) (wire.Object, error) {
	v := h.Viewer(c, &Query{})
	n, err := v.eventOfPath(c, v.Sees)
	if err != nil {
		return nil, err
	}
	return wire.Object{{"event", v.row(n, c.Out.Level)}}, nil
}

// eventAck marks an event as acknowledged by the caller.
func (h *Handlers) eventAck(c *wire.Call) (wire.Object, error) {
	v := h.Viewer(c, &Query{})
	n, err := v.eventOfPath(c, v.mayAck)
	if err != nil {
		return nil, err
	}
	if err := c.Key.RefuseReadOnly(); err != nil {
		return nil, err
	}
	if h.acked[c.Key.User] == nil {
		h.acked[c.Key.User] = map[uint32]bool{}
	}
	h.acked[c.Key.User][n] = true
	return nil, nil
}

// mayAck reports whether the caller may acknowledge row n of the log: an event that
// the caller sees or, for a compliance auditor, a security alert.
func (v *Viewer) mayAck(n uint32) bool {
	l := &v.h.w.Log
	e := &l.Entries[n]
	k := &l.Kinds.Values[e.Kind]
	orgID := l.Places.Values[e.Place].Org
	if k.Event == "org_security_alert" && v.accessMode(orgID) != wire.NoAccess && v.h.w.Auditor(orgID, v.key.User) {
		return true
	}
	return v.Sees(n)
}

// eventOfPath returns the row of the event in the path. It refuses an event that is not
// visible yet, one for whose row allowed returns false, and one whose organization blocks the
// location of the caller.
func (v *Viewer) eventOfPath(c *wire.Call, allowed func(row uint32) bool) (uint32, error) {
	id := wire.Plain(c.Segment("event_id"))
	switch {
	case id == "":
		c.Check.Missing("event_id", "Name an event.")
	case !wire.IsOpaque(id):
		c.Check.Invalid("event_id", "Not an event id.")
	}
	if err := c.Check.Err(); err != nil {
		return 0, err
	}
	h := v.h
	l := &h.w.Log
	n, found := l.FindEvent(id)
	if !found || l.Entries[n].Shown > v.now.UnixNano() {
		return 0, wire.Refuse(http.StatusNotFound, wire.CodeNotFound, "There is no such event.")
	}
	profileID := l.ProfileID(&l.Entries[n])
	switch {
	case v.accessMode(profileID) == wire.NoAccess:
		return 0, h.w.OutOfScopeRefusal(profileID)
	case !allowed(n):
		return 0, wire.Refuse(http.StatusNotAcceptable, codeEventAccess, "You may not access this event.")
	case h.blocked[l.Places.Values[l.Entries[n].Place].Org]:
		return 0, wire.RefuseWithReason(http.StatusForbidden, wire.CodeGeo, "geo_restricted",
			"The organization blocks your location.")
	default:
		return n, nil
	}
}

// searchParams returns the parameters that search and summarize describe, as
// name:type:constraint.
func searchParams() []string {
	return []string{
		"user_id:profile_id:the highest of user, org, workspace and share applies",
		"org_id:profile_id:", "workspace_id:profile_id:", "share_id:profile_id:",
		"parent_event_id:opaque_id:only with acknowledged, visibility, limit and offset",
		"event:string:at most 100 characters", "category:string:", "subcategory:string:",
		"calling_user_id:profile_id:", "object_id:string:", "acknowledged:boolean:true or false",
		"visibility:string:external_audit_log or external",
		"created-min:datetime:inclusive", "created-max:datetime:inclusive, not earlier than created-min",
		"limit:integer:1 to 250, default 100", "offset:integer:default 0; not with cursor",
	}
}

// rowsOfQuery returns the rows of the profile or of the parent event of a query, in the
// order of the log.
func rowsOfQuery(l *world.Log, q *Query) []uint32 {
	if q.parent != "" {
		return l.ChildrenOf(q.parent)
	}
	return l.RowsOf(q.profile)
}

// Routes returns the routes of the log of events.
func (h *Handlers) Routes() []*wire.Route {
	const event = "/current/event/{event_id}/"
	const id = "/event_id:opaque_id:with or without hyphens" // for wire.Params: a slash begins a parameter of the path
	return []*wire.Route{
		wire.Get("events.Search", "/current/events/search/", h.search,
			wire.Params(append(searchParams(), "cursor:string:the previous next_cursor", wire.OutputParam)...)),
		wire.Get(OpSummarize, "/current/events/search/summarize/", h.summarize, wire.ChangesState,
			wire.Params(append(searchParams(), wire.OutputParam,
				"user_context:string:at most 64 letters, digits, spaces and . , ! ? ' -")...)),
		wire.Get("events.Get", event+"details/", h.eventDetails, wire.Params(id, wire.OutputParam)),
		wire.Post("events.Ack", event+"ack/", h.eventAck, wire.Fields("event_id"), wire.Params(id)),
		wire.Get("events.Changes", "/current/org/{org_id}/events/changes/", h.changes,
			wire.Params("/org_id:string:id or domain", "cursor:string:omitted to begin",
				"limit:integer:1 to 1000, default 250")),
	}
}

// BlockLocation sets whether reads of single events of an organization fail, as if it blocked
// the location of the caller. It takes the lock.
func (h *Handlers) BlockLocation(orgID string, blocked bool) {
	h.w.Lock()
	defer h.w.Unlock()
	h.blocked[orgID] = blocked
}

// InvalidateCursors invalidates all cursors issued so far, which are bound to the number
// h.w.Cursors. It takes the lock.
func (h *Handlers) InvalidateCursors() {
	h.w.Lock()
	defer h.w.Unlock()
	h.w.Cursors++
}

// ExpireChanges makes all cursors of the change feed that were issued so far expire: they
// are refused with cursor_expired. It takes the lock.
func (h *Handlers) ExpireChanges() {
	h.w.Lock()
	defer h.w.Unlock()
	h.retention++
}

// candidates yields the rows of the profile or parent of a query that come after start
// (nil: all) and were created between the times of the query, in the order of the log. The
// caller applies the other filters.
func candidates(l *world.Log, q *Query, start *world.Position) iter.Seq[uint32] {
	rows := rowsOfQuery(l, q)
	first, last := l.Span(q.from, q.to)
	at := func(n uint32, p world.Position) int { return l.Position(n).Compare(p) }
	from, _ := slices.BinarySearchFunc(rows, first, at)
	if start != nil {
		behind, found := slices.BinarySearchFunc(rows, *start, at)
		if found {
			behind++
		}
		from = max(from, behind)
	}
	return func(yield func(uint32) bool) {
		for _, n := range rows[from:] {
			if l.Position(n).Compare(last) > 0 || !yield(n) {
				return
			}
		}
	}
}
