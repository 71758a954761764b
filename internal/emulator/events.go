package emulator

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	searchLimit   = 250
	searchDefault = 100
	nameLimit     = 100
)

// query is a search with every parameter read.
type query struct {
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

// fingerprint identifies what a cursor is bound to besides the user.
func (q *query) fingerprint() string {
	return fmt.Sprintf("%q", []string{
		q.profile, q.event, q.category, q.sub, q.caller, q.object, q.visibility, q.acked, fmt.Sprint(q.from, q.to),
	})
}

func (q *query) audit() bool { return q.visibility == auditLog }

// parseSearch reads the parameters that search and summarize share. It takes the lock on state.
func (s *Server) parseSearch(c *call) query {
	q := query{
		parent:     plain(c.value("parent_event_id")),
		event:      c.value("event"),
		category:   c.value("category"),
		sub:        c.value("subcategory"),
		caller:     c.value("calling_user_id"),
		object:     plain(c.value("object_id")),
		visibility: c.value("visibility"),
		acked:      c.value("acknowledged"),
		cursor:     c.value("cursor"),
	}
	q.limit = c.integer("limit", searchDefault, 1, searchLimit)
	q.offset = c.integer("offset", 0, 0, math.MaxInt32)
	if utf8.RuneCountInString(q.event) > nameLimit {
		c.check.invalid("event", "At most 100 characters.")
	}
	if q.caller != "" && !isProfile(q.caller) {
		c.check.mistyped("calling_user_id", "profile_id")
	}
	if q.acked != "" && q.acked != "true" && q.acked != "false" {
		c.check.mistyped("acknowledged", "boolean")
	}
	if q.visibility != "" && q.visibility != auditLog && q.visibility != external {
		c.check.invalid("visibility", "external_audit_log or external.")
	}
	q.readTimes(c, s.o.Events.ExclusiveBounds)
	s.readProfiles(c, &q)
	q.readParent(c)
	return q
}

// readTimes turns the bounds into whole seconds, which is what rows carry.
func (q *query) readTimes(c *call, exclusive bool) {
	q.from, q.to = math.MinInt64, math.MaxInt64
	from, to := c.moment("created-min"), c.moment("created-max")
	if !from.IsZero() {
		q.from = from.Add(time.Second - 1).Unix()
	}
	if !to.IsZero() {
		q.to = to.Unix()
	}
	if exclusive && !from.IsZero() {
		q.from = from.Unix() + 1
	}
	if exclusive && !to.IsZero() {
		q.to = to.Add(time.Second-1).Unix() - 1
	}
	if !from.IsZero() && !to.IsZero() && to.Before(from) {
		c.check.invalid("created-max", "Not earlier than created-min.")
	}
}

// readProfiles checks every profile filter and keeps the one of the highest priority.
func (s *Server) readProfiles(c *call, q *query) {
	for _, kind := range [...]string{kindUser, kindOrg, kindWorkspace, kindShare} {
		name := kind + "_id"
		id := c.value(name)
		if id == "" {
			continue
		}
		if kind == kindUser && id == "me" {
			id = c.key.User
		}
		found := s.state.kind(id)
		switch {
		case !isProfile(id):
			c.check.mistyped(name, "profile_id")
		case found != "" && found != kind:
			c.check.invalid(name, "This id names another kind of profile.")
		}
		if q.profile == "" {
			q.profile, q.kind = id, kind
		}
	}
	if q.profile == "" && q.parent == "" {
		c.check.missing("org_id", "Name a profile or a parent event.")
	}
}

// readParent refuses what cannot stand next to parent_event_id.
func (q *query) readParent(c *call) {
	if q.parent == "" {
		if q.cursor != "" && q.offset > 0 {
			c.check.invalid("offset", "Not with a cursor.")
		}
		return
	}
	if !isOpaque(q.parent) {
		c.check.invalid("parent_event_id", "Not an event id.")
	}
	for _, name := range [...]string{
		"user_id", "org_id", "workspace_id", "share_id", "event", "category", "subcategory",
		"calling_user_id", "object_id", "created-min", "created-max", "cursor",
	} {
		if c.value(name) != "" {
			c.check.invalid(name, "Not with parent_event_id.")
		}
	}
}

// search answers the event search.
func (s *Server) search(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.o.Events.NoCursor {
		c.query.Del("cursor") // an older server does not know the parameter
	}
	q := s.parseSearch(c)
	start, valid := s.start(c, &q)
	if !valid && q.parent == "" { // beside a parent it was refused already
		c.check.invalid("cursor", "The cursor is not valid for this search.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	v := s.viewer(c, &q)
	if refusal := v.gate(&q); refusal != nil {
		return *refusal
	}
	page, more := s.page(v, &q, start)
	events := make([]object, 0, len(page))
	for _, n := range page {
		if v.sees(n) {
			events = append(events, v.row(n, c.out.level))
		}
	}
	pagination := object{{"has_more", more}}
	if !s.o.Events.NoCursor {
		pagination = append(pagination, member{"next_cursor", s.next(c, &q, page, more)})
	}
	pagination = append(pagination, member{"page_size", q.limit})
	return ok(member{"events", events}, member{"pagination", pagination})
}

// start is the position a search begins behind.
func (s *Server) start(c *call, q *query) (*position, bool) {
	if q.cursor == "" {
		return nil, true
	}
	p, valid := s.openCursor(q.cursor, s.searchBinding(c, q))
	return &p, valid
}

func (s *Server) next(c *call, q *query, page []uint32, more bool) any {
	if !more || q.parent != "" || len(page) == 0 {
		return nil
	}
	return s.cursor(s.state.log.position(page[len(page)-1]), s.searchBinding(c, q))
}

func (s *Server) searchBinding(c *call, q *query) string {
	return fmt.Sprint("search ", s.state.cursors, " ", c.key.User, " ", q.fingerprint())
}

// page collects the rows that match, in the order of the log and before anybody asks who may see them.
func (s *Server) page(v *viewer, q *query, start *position) (rows []uint32, more bool) {
	m := v.matcher(q)
	skip := q.offset
	for n := range s.state.log.candidates(q, start) {
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

// matcher holds a query in the numbers of the log.
type matcher struct {
	log            *eventLog
	kinds          []bool
	caller, object uint32
	from, to, now  int64
	acked          map[uint32]bool
	want           string // acknowledged
	never          bool   // a filter names what the log has never seen
}

func (v *viewer) matcher(q *query) *matcher {
	l := &v.s.state.log
	m := &matcher{
		log: l, from: q.from, to: q.to, now: v.now.UnixNano(),
		acked: v.s.state.acked[v.key.User], want: q.acked,
		kinds: make([]bool, len(l.kinds.values)),
	}
	for i, k := range l.kinds.values {
		m.kinds[i] = k.visibility != internalOnly &&
			(q.visibility == "" || q.visibility == k.visibility) &&
			(q.event == "" || q.event == k.event) &&
			(q.category == "" || q.category == k.category) &&
			(q.sub == "" || q.sub == k.sub)
	}
	if n, found := l.names.numbers[q.caller]; q.caller != "" {
		m.caller, m.never = n, !found
	}
	if n, found := l.findThing(q.object); q.object != "" {
		m.object, m.never = n, m.never || !found
	}
	return m
}

func (m *matcher) matches(n uint32) bool {
	e := &m.log.entries[n]
	return !m.never && m.kinds[e.kind] && e.shown <= m.now &&
		e.created >= m.from && e.created <= m.to &&
		(m.caller == 0 || m.caller == e.caller) &&
		(m.object == 0 || m.object == e.object) &&
		(m.want == "" || m.want == "true" == m.acked[n])
}

// viewer decides what one caller sees.
type viewer struct {
	s     *Server
	key   *credential
	now   time.Time
	audit bool
	roles map[string]Role
	modes map[string]mode
}

func (s *Server) viewer(c *call, q *query) *viewer {
	return &viewer{
		s: s, key: c.key, now: c.now, audit: q.audit(),
		roles: map[string]Role{}, modes: map[string]mode{},
	}
}

func (v *viewer) role(profileID string) Role {
	r, found := v.roles[profileID]
	if !found {
		r = v.s.state.role(profileID, v.key.User)
		v.roles[profileID] = r
	}
	return r
}

func (v *viewer) covers(profileID string) mode {
	m, found := v.modes[profileID]
	if !found {
		m = v.s.state.covers(v.key, profileID)
		v.modes[profileID] = m
	}
	return m
}

// gate refuses a search as a whole: credentials that do not reach the profile, and audit searches without the right.
func (v *viewer) gate(q *query) *answer {
	if q.audit() && (q.kind == kindUser || q.parent != "") {
		a := refuse(http.StatusUnauthorized, codeAuditAnchor, "Access Denied: audit searches need an organization, a workspace or a share.")
		return &a
	}
	if q.profile == "" {
		return nil
	}
	st := &v.s.state
	if v.covers(q.profile) == noAccess {
		a := st.outOfScope(q.profile)
		return &a
	}
	if !q.audit() {
		return nil
	}
	entitled := rank(v.role(q.profile)) >= rank(Admin) || st.auditor(q.profile, v.key.User)
	if !entitled {
		a := because(http.StatusForbidden, codeCompliance, "compliance_access_required", "Audit searches are for administrators and compliance auditors.")
		return &a
	}
	if v.covers(q.profile) < admin {
		a := because(http.StatusForbidden, codeScopeAdmin, "scope_admin_required",
			"The credential must be able to administer this profile.", member{"credential_type", v.key.typeName()})
		return &a
	}
	return nil
}

// sees tells whether the caller may see a row.
func (v *viewer) sees(n uint32) bool {
	l := &v.s.state.log
	e := &l.entries[n]
	k := &l.kinds.values[e.kind]
	profileID := l.profileID(e)
	orgID := l.places.values[e.place].org
	me := v.key.User
	if k.visibility == internalOnly || v.covers(profileID) == noAccess {
		return false
	}
	if strings.HasPrefix(k.event, "legal_hold") && v.role(orgID) != Owner && !v.s.state.auditor(orgID, me) {
		return false
	}
	if v.audit && (rank(v.role(profileID)) >= rank(Admin) || v.s.state.auditor(orgID, me)) {
		return true
	}
	if k.permission == forTarget {
		return l.names.values[e.user] == me
	}
	if l.names.values[e.user] == me || l.names.values[e.caller] == me {
		return true
	}
	least := Member
	if k.permission == forAdmin || k.category == "import" { // which members never see, whatever the row says
		least = Admin
	}
	return rank(v.role(profileID)) >= rank(least)
}

// row renders an event at a level of detail.
func (v *viewer) row(n uint32, lv level) object {
	l := &v.s.state.log
	e := &l.entries[n]
	k := &l.kinds.values[e.kind]
	at := l.places.values[e.place]
	d := l.details[n]
	if d == nil {
		d = &detail{}
	}
	r := row{level: lv, fields: make(object, 0, 32)}
	r.put(terse, "event_id", hyphenated(l.id(n)))
	r.put(terse, "event", k.event)
	r.put(terse, "category", k.category)
	r.put(terse, "object_id", optional(l.objectID(e.object)))
	r.put(terse, "created", stamp(e.created))
	if lv == terse {
		return r.fields
	}
	r.put(standard, "sub_category", k.sub)
	if caller := l.names.values[e.caller]; caller != "" {
		r.put(standard, "calling_user", profileID(caller))
	}
	if a := l.actors.values[e.actor]; a != (Actor{}) {
		r.put(standard, "actor", actorObject(a))
	}
	r.put(standard, "org_id", optionalProfile(at.org))
	r.put(standard, "workspace_id", optionalProfile(at.workspace))
	r.put(standard, "share_id", optionalProfile(at.share))
	if user := l.names.values[e.user]; user != "" {
		r.put(standard, "user_id", profileID(user))
	}
	r.put(standard, "acknowledged", v.s.state.acked[v.key.User][n])
	text, names, values := v.s.state.templateOf(n)
	r.put(standard, "template", object{{"description", text}, {"params", values}})
	r.put(standard, "severity", k.severity)
	r.put(standard, "visibility", k.visibility)
	r.put(standard, "notification", k.notification)
	if v.audit {
		r.put(standard, "ip", optional(d.ip))
		r.put(standard, "country", optional(d.country))
	}
	if lv == full {
		r.put(full, "permission", k.permission)
		r.put(full, "description", renderText(text, names, values))
		r.put(full, "required_params", names)
		v.putRest(&r, e, k, d)
	}
	return r.fields
}

// putRest adds what only the full level has and few events carry.
func (v *viewer) putRest(r *row, e *entry, k *kind, d *detail) {
	r.put(full, "event_profile", optionalProfile(v.s.state.log.profileID(e)))
	if k.nodeType != "" {
		r.put(full, "node_type", k.nodeType)
		r.put(full, "operation_type", k.operation)
		r.put(full, "requires_parent_node", k.requiresParent)
	}
	if d.delegation != "" {
		r.put(full, "agent_delegation", d.delegation)
	}
	for _, m := range fromMap(d.extra) {
		r.put(full, m.key, m.value)
	}
	if v.audit {
		for _, m := range fromMap(d.telemetry) {
			r.put(full, m.key, m.value)
		}
	}
}

func actorObject(a Actor) object {
	return object{
		{"user_id", optionalProfile(a.User)},
		{"kind", a.Kind},
		{"agent_name", optional(a.AgentName)},
		{"name_source", optional(a.NameSource)},
		{"credential_type", optional(a.CredentialType)},
		{"verified", a.Verified},
	}
}

// eventDetails answers with one event.
func (s *Server) eventDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v := s.viewer(c, &query{})
	n, refusal := v.event(c, v.sees)
	if refusal != nil {
		return *refusal
	}
	return ok(member{"event", v.row(n, c.out.level)})
}

// eventAck marks an event as seen by the caller.
func (s *Server) eventAck(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.viewer(c, &query{})
	n, refusal := v.event(c, v.mayAck)
	if refusal != nil {
		return *refusal
	}
	if refusal := c.key.readOnly(); refusal != nil {
		return *refusal
	}
	if s.state.acked[c.key.User] == nil {
		s.state.acked[c.key.User] = map[uint32]bool{}
	}
	s.state.acked[c.key.User][n] = true
	return ok()
}

// mayAck also lets a compliance auditor acknowledge security alerts.
func (v *viewer) mayAck(n uint32) bool {
	l := &v.s.state.log
	e := &l.entries[n]
	k := &l.kinds.values[e.kind]
	orgID := l.places.values[e.place].org
	if k.event == "org_security_alert" && v.covers(orgID) != noAccess && v.s.state.auditor(orgID, v.key.User) {
		return true
	}
	return v.sees(n)
}

// event finds the row a path names and checks that the caller may have it.
func (v *viewer) event(c *call, may func(uint32) bool) (uint32, *answer) {
	id := plain(c.segment("event_id"))
	switch {
	case id == "":
		c.check.missing("event_id", "Name an event.")
	case !isOpaque(id):
		c.check.invalid("event_id", "Not an event id.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return 0, refusal
	}
	st := &v.s.state
	l := &st.log
	n, found := l.find(id)
	if !found || l.entries[n].shown > v.now.UnixNano() {
		a := refuse(http.StatusNotFound, codeNotFound, "There is no such event.")
		return 0, &a
	}
	profileID := l.profileID(&l.entries[n])
	var a answer
	switch {
	case v.covers(profileID) == noAccess:
		a = st.outOfScope(profileID)
	case !may(n):
		a = refuse(http.StatusNotAcceptable, codeEventAccess, "You may not access this event.")
	case st.blocked[l.places.values[l.entries[n].place].org]:
		a = because(http.StatusForbidden, codeGeo, "geo_restricted", "The organization blocks your location.")
	default:
		return n, nil
	}
	return 0, &a
}

func searchParams() []parameter {
	params := []parameter{}
	for _, name := range [...]string{
		"user_id:profile_id:the highest of user, org, workspace and share applies",
		"org_id:profile_id:", "workspace_id:profile_id:", "share_id:profile_id:",
		"parent_event_id:opaque_id:only with acknowledged, visibility, limit and offset",
		"event:string:at most 100 characters", "category:string:", "subcategory:string:",
		"calling_user_id:profile_id:", "object_id:string:", "acknowledged:boolean:true or false",
		"visibility:string:external_audit_log or external",
		"created-min:datetime:inclusive", "created-max:datetime:inclusive, not earlier than created-min",
		"limit:integer:1 to 250, default 100", "offset:integer:default 0; not with cursor",
	} {
		name, rest, _ := strings.Cut(name, ":")
		kind, constraint, _ := strings.Cut(rest, ":")
		params = append(params, parameter{name: name, source: "query", kind: kind, constraint: constraint})
	}
	params = append(params, parameter{name: "cursor", source: "query", kind: "string", constraint: "the previous next_cursor"})
	return append(params, outputParams()...)
}

func eventParams(levels bool) []parameter {
	params := []parameter{{name: "event_id", source: "path", kind: "opaque_id", constraint: "with or without hyphens", required: true}}
	if levels {
		params = append(params, outputParams()...)
	}
	return params
}

// rows lists what a search has to look at.
func (l *eventLog) rows(q *query) []uint32 {
	if q.parent != "" {
		return l.children[q.parent]
	}
	return l.index[q.profile]
}
