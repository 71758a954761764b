package emulator

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// entry is one event. It holds numbers only: names are interned and texts are rendered when they are asked for, so a
// million events take little more than a hundred megabytes.
type entry struct {
	created int64 // Unix seconds, as the wire has it
	shown   int64 // Unix nanoseconds from which on searches find it
	place   uint32
	user    uint32
	caller  uint32
	actor   uint32
	object  uint32
	kind    uint16
}

// place is where an event happened.
type place struct{ org, workspace, share string }

// thing is an object events are about. One without id was invented and gets id and name from its number.
type thing struct{ id, name string }

// naming is what something was called up to an event.
type naming struct {
	until uint32 // the first event that has the next name
	name  string
}

// detail is what few events have.
type detail struct {
	id, parent, description, delegation string
	ip, country                         string
	extra, telemetry                    map[string]any
}

// position is a place in the order of the log.
type position struct {
	key uint64
	tie uint32
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.tie, q.tie))
}

// eventLog holds the events with an index per profile, sorted in the order of search.
type eventLog struct {
	seed    uint64
	order   seed.Order
	entries []entry

	kinds  table[kind]
	places table[place]
	names  table[string]
	actors table[Actor]
	things []thing
	byID   map[string]uint32 // given objects

	// Events are rendered when they are asked for, with the names of the moment they were written.
	called   map[string]string   // profiles, by their latest event
	formerly map[string][]naming // profiles and objects that were renamed

	details  map[uint32]*detail
	given    map[string]uint32   // events with an id of their own
	children map[string][]uint32 // by the id of the parent
	index    map[string][]uint32 // by profile
	feed     map[string][]uint32 // storage changes by organization, in the order they became visible
	known    map[string]uint16   // unchanged kinds by event name
}

// table interns values; number 0 is the zero value.
type table[T comparable] struct {
	values  []T
	numbers map[T]uint32
}

func newTable[T comparable]() table[T] {
	var zero T
	return table[T]{values: []T{zero}, numbers: map[T]uint32{zero: 0}}
}

func (t *table[T]) intern(v T) uint32 {
	n, found := t.numbers[v]
	if !found {
		n = number(len(t.values))
		t.values = append(t.values, v)
		t.numbers[v] = n
	}
	return n
}

// number narrows a count; the log would fill the memory of any machine long before it overflowed.
func number(n int) uint32 {
	if n < 0 || int64(n) > math.MaxUint32 {
		panic("emulator: event log overflow")
	}
	return uint32(n)
}

func newLog(seed uint64, order seed.Order) eventLog {
	return eventLog{
		seed:     seed,
		order:    order,
		kinds:    newTable[kind](),
		places:   newTable[place](),
		names:    newTable[string](),
		actors:   newTable[Actor](),
		things:   []thing{{}},
		byID:     map[string]uint32{},
		called:   map[string]string{},
		formerly: map[string][]naming{},
		details:  map[uint32]*detail{},
		given:    map[string]uint32{},
		children: map[string][]uint32{},
		index:    map[string][]uint32{},
		feed:     map[string][]uint32{},
		known:    map[string]uint16{},
	}
}

// AddEvent records an event and returns it with what was filled in: id, category and rights from the name, creation
// now, the organization of its workspace or share, and the actor from the calling user. A share's event belongs to the
// share and the organization; one that names a workspace as well is found there, too.
func (s *Server) AddEvent(e Event) Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(e)
}

// write is [Server.AddEvent] for whoever holds the lock on state. What it records is activity, too.
func (s *Server) write(e Event) Event {
	now := s.now()
	s.state.fill(&e, now)
	l := &s.state.log
	n := l.add(e, now)
	s.state.recordNames(n, e.CallingUser, e.User, l.profileID(&l.entries[n]))
	s.state.touchEvent(now, n)
	e.ID = hyphenated(l.id(n))
	e.Object = l.objectID(l.entries[n].object)
	return e
}

// fill completes an event from its name and its surroundings.
func (st *state) fill(e *Event, now time.Time) {
	if e.Name == "" {
		e.Name = "workspace_updated"
	}
	k := kindOf(e.Name)
	e.Category = cmp.Or(e.Category, k.category)
	e.SubCategory = cmp.Or(e.SubCategory, k.sub)
	e.Visibility = cmp.Or(e.Visibility, k.visibility)
	e.Permission = cmp.Or(e.Permission, k.permission)
	e.Severity = cmp.Or(e.Severity, k.severity)
	e.Notification = cmp.Or(e.Notification, k.notification)
	e.Org = cmp.Or(e.Org, st.orgOf(e.Share), st.orgOf(e.Workspace))
	if e.Created.IsZero() {
		e.Created = now
	}
	e.Created = e.Created.UTC().Truncate(time.Second)
	if e.Object == "" && e.ObjectName != "" { // one name is one thing
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(e.ObjectName))
		e.Object = opaque('2', st.log.seed, hash.Sum64())
	}
	if e.Actor == nil && !e.Unattributed {
		e.Actor = st.actor(e.CallingUser)
	}
}

// actor is the attribution of a signed-in user, or of the platform itself.
func (st *state) actor(userID string) *Actor {
	u := st.users[userID]
	switch {
	case userID == "":
		return &Actor{Kind: "system"}
	case u == nil:
		return &Actor{User: userID, Kind: "unknown"}
	case u.it.AccountType == "agent":
		return &Actor{
			User: userID, Kind: "agent", AgentName: u.it.FirstName, NameSource: "declared", CredentialType: "api_key",
		}
	}
	return &Actor{User: userID, Kind: "human", CredentialType: "session"}
}

// add appends a complete event and indexes it.
func (l *eventLog) add(e Event, now time.Time) uint32 {
	n := number(len(l.entries))
	at := place{e.Org, e.Workspace, e.Share}
	shown := now.UnixNano()
	if e.VisibleAt.After(now) {
		shown = e.VisibleAt.UnixNano()
	}
	var actor Actor
	if e.Actor != nil {
		actor = *e.Actor
	}
	l.entries = append(l.entries, entry{
		created: e.Created.Unix(),
		shown:   shown,
		place:   l.places.intern(at),
		user:    l.names.intern(e.User),
		caller:  l.names.intern(e.CallingUser),
		actor:   l.actors.intern(actor),
		object:  l.thing(n, plain(e.Object), e.ObjectName),
		kind:    l.kind(e),
	})
	l.keep(n, e)
	for _, profileID := range []string{at.org, at.workspace, at.share, e.User} {
		l.insert(profileID, n)
	}
	if at.org != "" && l.kinds.values[l.entries[n].kind].isChange {
		l.feed[at.org] = insertSorted(l.feed[at.org], n, l.byShown)
	}
	return n
}

// kind interns the shape of an event.
func (l *eventLog) kind(e Event) uint16 {
	k := kindOf(e.Name)
	k.category, k.sub, k.visibility, k.permission = e.Category, e.SubCategory, e.Visibility, e.Permission
	k.severity, k.notification = e.Severity, e.Notification
	return narrow(l.kinds.intern(k))
}

// named interns the unchanged kind of a name; histories use it for every event.
func (l *eventLog) named(event string) uint16 {
	n, found := l.known[event]
	if !found {
		n = narrow(l.kinds.intern(kindOf(event)))
		l.known[event] = n
	}
	return n
}

func narrow(n uint32) uint16 {
	if n > math.MaxUint16 {
		panic("emulator: too many kinds of events")
	}
	return uint16(n)
}

// keep stores the parts of an event that few events have.
func (l *eventLog) keep(n uint32, e Event) {
	d := detail{
		id:          plain(e.ID),
		parent:      plain(e.Parent),
		description: e.Description,
		delegation:  e.AgentDelegation,
		ip:          e.IP,
		country:     e.Country,
		extra:       maps.Clone(e.Extra),
		telemetry:   maps.Clone(e.Telemetry),
	}
	if d.id != "" {
		l.given[d.id] = n
	}
	if d.parent != "" {
		l.children[d.parent] = insertSorted(l.children[d.parent], n, l.byPosition)
	}
	texts := d.id + d.parent + d.description + d.delegation + d.ip + d.country
	if texts != "" || len(d.extra) > 0 || len(d.telemetry) > 0 {
		l.details[n] = &d
	}
}

func (l *eventLog) insert(profileID string, n uint32) {
	if profileID != "" {
		l.index[profileID] = insertSorted(l.index[profileID], n, l.byPosition)
	}
}

func insertSorted(rows []uint32, n uint32, compare func(a, b uint32) int) []uint32 {
	if len(rows) == 0 || compare(rows[len(rows)-1], n) <= 0 {
		return append(rows, n)
	}
	at, _ := slices.BinarySearchFunc(rows, n, compare)
	return slices.Insert(rows, at, n)
}

func (l *eventLog) byPosition(a, b uint32) int { return l.position(a).compare(l.position(b)) }

func (l *eventLog) byShown(a, b uint32) int { return l.shownAt(a).compare(l.shownAt(b)) }

// position is where search meets a row.
func (l *eventLog) position(n uint32) position {
	switch l.order {
	case seed.NewestFirst:
		return position{^timeKey(l.entries[n].created), ^n}
	case seed.Unordered:
		return position{mix(l.seed ^ mix(uint64(n))), n}
	case seed.OldestFirst:
	}
	return position{timeKey(l.entries[n].created), n}
}

// shownAt is where the change feed meets a row.
func (l *eventLog) shownAt(n uint32) position { return position{timeKey(l.entries[n].shown), n} }

// timeKey maps signed times to unsigned keys of the same order.
func timeKey(t int64) uint64 { return uint64(t) ^ 1<<63 } //nolint:gosec // the wrap is the point

// span is the range of positions that a range of times can occupy.
func (l *eventLog) span(from, to int64) (first, last position) {
	first, last = position{}, position{math.MaxUint64, math.MaxUint32}
	switch l.order {
	case seed.OldestFirst:
		first.key, last.key = timeKey(from), timeKey(to)
	case seed.NewestFirst:
		first.key, last.key = ^timeKey(to), ^timeKey(from)
	case seed.Unordered:
	}
	return first, last
}

// id is the plain id of a row.
func (l *eventLog) id(n uint32) string {
	if d := l.details[n]; d != nil && d.id != "" {
		return d.id
	}
	return opaque('e', l.seed, uint64(n))
}

// find returns the row of a plain id.
func (l *eventLog) find(id string) (uint32, bool) {
	if n, found := l.given[id]; found {
		return n, true
	}
	n, found := serial(id, 'e', l.seed)
	if !found || n >= uint64(len(l.entries)) {
		return 0, false
	}
	row := uint32(n) //nolint:gosec // below the length of the log
	return row, l.id(row) == id
}

// thing numbers the object of an event, which may give it another name.
func (l *eventLog) thing(row uint32, id, name string) uint32 {
	if id == "" {
		return 0
	}
	if n, found := l.findThing(id); found {
		if was := l.objectName(row, n); name != "" && name != was {
			l.formerly[id] = append(l.formerly[id], naming{row, was})
			l.things[n].name = name
		}
		return n
	}
	n := number(len(l.things))
	l.things = append(l.things, thing{id, name})
	l.byID[id] = n
	return n
}

// recordNames keeps what profiles are called at an event.
func (st *state) recordNames(row uint32, ids ...string) {
	l := &st.log
	for _, id := range ids {
		name := st.profileName(id)
		if was, known := l.called[id]; known && was != name {
			l.formerly[id] = append(l.formerly[id], naming{row, was})
		}
		l.called[id] = name
	}
}

// formerName is what something was called at an event, if it was renamed since.
func (l *eventLog) formerName(row uint32, id string) (name string, renamed bool) {
	for _, was := range l.formerly[id] {
		if row < was.until {
			return was.name, true
		}
	}
	return "", false
}

// nameAt is what a profile was called at an event.
func (st *state) nameAt(row uint32, id string) string {
	if name, renamed := st.log.formerName(row, id); renamed {
		return name
	}
	return st.log.called[id]
}

// findThing returns the number of a plain object id.
func (l *eventLog) findThing(id string) (uint32, bool) {
	if n, found := l.byID[id]; found {
		return n, true
	}
	n, found := serial(id, '2', l.seed)
	if !found || n == 0 || n >= uint64(len(l.things)) || l.things[n].id != "" {
		return 0, false
	}
	return uint32(n), true //nolint:gosec // below the number of things
}

func (l *eventLog) objectID(n uint32) string {
	switch {
	case n == 0:
		return ""
	case l.things[n].id != "":
		return l.things[n].id
	}
	return opaque('2', l.seed, uint64(n))
}

// objectName is what an object was called at an event.
func (l *eventLog) objectName(row, n uint32) string {
	if name, renamed := l.formerName(row, l.objectID(n)); renamed {
		return name
	}
	switch {
	case n == 0:
		return ""
	case l.things[n].name != "":
		return l.things[n].name
	case l.things[n].id != "":
		return l.things[n].id
	}
	return fileName(mix(l.seed + uint64(n)))
}

// fileName invents the name of a file.
func fileName(word uint64) string {
	subjects := [...]string{"budget", "launch plan", "contract", "floor plan", "survey", "interview", "roadmap", "invoice"}
	kinds := [...]string{"pdf", "docx", "xlsx", "png", "mp4", "md", "csv", "pptx"}
	subject, kind := subjects[word%8], kinds[word>>3%8]
	return fmt.Sprintf("%s %d.%s", subject, word>>6%900+100, kind)
}

// profileID is the profile an event was recorded against: the narrowest there is.
func (l *eventLog) profileID(e *entry) string {
	at := l.places.values[e.place]
	return cmp.Or(at.share, at.workspace, at.org, l.names.values[e.user])
}

// templateOf returns the text of an event with its placeholders and their values.
func (st *state) templateOf(n uint32) (text string, names, values []string) {
	l := &st.log
	e := &l.entries[n]
	if d := l.details[n]; d != nil && d.description != "" {
		return d.description, nil, nil
	}
	text = l.kinds.values[e.kind].template
	names = tokens(text)
	for _, name := range names {
		values = append(values, st.tokenValue(n, name))
	}
	return text, names, values
}

func (st *state) tokenValue(n uint32, token string) string {
	l := &st.log
	e := &l.entries[n]
	switch token {
	case "actor":
		return cmp.Or(st.nameAt(n, l.names.values[e.caller]), "The platform")
	case "subject":
		return cmp.Or(st.nameAt(n, l.names.values[e.user]), "a person")
	case "object":
		if e.object == 0 && l.kinds.values[e.kind].sub == "comments" { // one on the profile as a whole
			return cmp.Or(st.nameAt(n, l.profileID(e)), "a profile")
		}
		return cmp.Or(l.objectName(n, e.object), "an item")
	default:
		return cmp.Or(st.nameAt(n, l.profileID(e)), "a profile")
	}
}

// renderText puts the values in the place of the placeholders.
func renderText(text string, names, values []string) string {
	for i, name := range names {
		text = strings.Replace(text, "{{"+name+"}}", values[i], 1)
	}
	return text
}
