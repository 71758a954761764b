package world

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
	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Entry is one event. It holds numbers only: names are interned and texts rendered
// on demand, so a million events take little more than 100 MB.
type Entry struct {
	Created int64 // Unix seconds, as the wire has it
	Shown   int64 // Unix nanoseconds from which on searches find it
	Place   uint32
	User    uint32
	Caller  uint32
	Actor   uint32
	Object  uint32
	Kind    uint16
}

// Scope is where an event happened.
type Scope struct{ Org, Workspace, Share string }

// LogObject is the object of events. One without an id was generated.
type LogObject struct{ id, name string }

// naming is the name of something until an event.
type naming struct {
	until uint32 // the first event that has the next name
	name  string
}

// Detail has the fields that few events have.
type Detail struct {
	id, parent, description, Delegation string
	IP, Country                         string
	Extra, Telemetry                    map[string]any
}

// Position is a place in the order of the log.
type Position struct {
	Key uint64
	Tie uint32
}

// Compare orders positions.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Key, q.Key), cmp.Compare(p.Tie, q.Tie))
}

// Log holds the events with an index per profile, sorted in search order.
type Log struct {
	seed    uint64
	order   seed.Order
	Entries []Entry

	Kinds  table[EventKind]
	Places table[Scope]
	Names  table[string]
	Actors table[Actor]
	Things []LogObject
	byID   map[string]uint32 // given objects

	// Events are rendered on demand, with the names at the time of writing.
	called   map[string]string   // profiles, by their latest event
	formerly map[string][]naming // profiles and objects that were renamed

	details  map[uint32]*Detail
	given    map[string]uint32   // events with an id of their own
	children map[string][]uint32 // by the id of the parent
	index    map[string][]uint32 // by profile
	feed     map[string][]uint32 // storage changes by organization, in the order they became visible
	known    map[string]uint16   // unchanged kinds by event name
}

// Detail returns what few events have, nil if the event has none.
func (l *Log) Detail(n uint32) *Detail { return l.details[n] }

// SetDetail sets what few events have.
func (l *Log) SetDetail(n uint32, d *Detail) { l.details[n] = d }

// RowsOf returns the events of a profile, in search order.
func (l *Log) RowsOf(profileID string) []uint32 { return l.index[profileID] }

// ChildrenOf returns the children of an event.
func (l *Log) ChildrenOf(id string) []uint32 { return l.children[id] }

// ChangesOf returns the storage changes of an organization, in the order they became visible.
func (l *Log) ChangesOf(orgID string) []uint32 { return l.feed[orgID] }

// AddRows adds events to those of a profile.
func (l *Log) AddRows(profileID string, rows []uint32) {
	l.index[profileID] = mergeSorted(l.index[profileID], rows, l.bySearchOrder)
}

// AddChanges adds events to the storage changes of an organization.
func (l *Log) AddChanges(orgID string, rows []uint32) {
	l.feed[orgID] = mergeSorted(l.feed[orgID], rows, l.byFeedOrder)
}

// table interns values; number 0 is the zero value.
type table[T comparable] struct {
	Values  []T
	numbers map[T]uint32
}

func newTable[T comparable]() table[T] {
	var zero T
	return table[T]{Values: []T{zero}, numbers: map[T]uint32{zero: 0}}
}

// Intern returns the index of a value, which it adds if it is new.
func (t *table[T]) Intern(v T) uint32 {
	n, found := t.numbers[v]
	if !found {
		n = Number(len(t.Values))
		t.Values = append(t.Values, v)
		t.numbers[v] = n
	}
	return n
}

// Find returns the number of a value.
func (t *table[T]) Find(v T) (n uint32, found bool) {
	n, found = t.numbers[v]
	return n, found
}

// Number converts a count to the type in which a Log numbers its rows. It panics on
// overflow, which needs more memory than a machine has.
func Number(n int) uint32 {
	if n < 0 || int64(n) > math.MaxUint32 {
		panic("emulator: event log overflow")
	}
	return uint32(n)
}

// newLog returns an empty log. Number 0 of every table means none.
func newLog(seed uint64, order seed.Order) Log {
	return Log{
		seed:     seed,
		order:    order,
		Kinds:    newTable[EventKind](),
		Places:   newTable[Scope](),
		Names:    newTable[string](),
		Actors:   newTable[Actor](),
		Things:   []LogObject{{}},
		byID:     map[string]uint32{},
		called:   map[string]string{},
		formerly: map[string][]naming{},
		details:  map[uint32]*Detail{},
		given:    map[string]uint32{},
		children: map[string][]uint32{},
		index:    map[string][]uint32{},
		feed:     map[string][]uint32{},
		known:    map[string]uint16{},
	}
}

// AddEvent records an event and returns it with defaults: id, creation now, the category
// and visibility of its name, the organization of its workspace or share, and the actor
// of the calling user. An event of a share is found in the workspace of the share as
// well.
func (w *World) AddEvent(e Event) Event {
	w.Lock()
	defer w.Unlock()
	return w.WriteEvent(e)
}

// WriteEvent adds an event to the log and stamps the activity of the profiles that it
// concerns. It returns the event with its id and defaults. The caller holds the lock.
func (w *World) WriteEvent(e Event) Event {
	now := w.Now()
	w.setDefaults(&e, now)
	l := &w.Log
	n := l.add(e, now)
	w.RecordNames(n, e.CallingUser, e.User, l.ProfileID(&l.Entries[n]))
	w.MarkEventFields(now, n)
	e.ID = wire.Hyphenated(l.ID(n))
	e.Object = l.ObjectID(l.Entries[n].Object)
	return e
}

// setDefaults sets the defaults of an event: those of its name, and the time,
// organization and actor of the call. An object with a name and no id gets an id that
// is derived from the name, so that one name is one object.
func (w *World) setDefaults(e *Event, now time.Time) {
	e.Name = cmp.Or(e.Name, "workspace_updated")
	k := kindOf(e.Name)
	e.Category = cmp.Or(e.Category, k.Category)
	e.SubCategory = cmp.Or(e.SubCategory, k.Sub)
	e.Visibility = cmp.Or(e.Visibility, k.Visibility)
	e.Permission = cmp.Or(e.Permission, k.Permission)
	e.Severity = cmp.Or(e.Severity, k.Severity)
	e.Notification = cmp.Or(e.Notification, k.Notification)
	e.Org = cmp.Or(e.Org, w.OrgOf(e.Share), w.OrgOf(e.Workspace))
	e.Created = cmp.Or(e.Created, now)
	e.Created = e.Created.UTC().Truncate(time.Second)
	if e.Object == "" && e.ObjectName != "" {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(e.ObjectName))
		e.Object = Opaque('2', w.Log.seed, hash.Sum64()) // 2 begins the ids of nodes
	}
	if e.Actor == nil && !e.Unattributed {
		e.Actor = w.Actor(e.CallingUser)
	}
}

// Platform is the caller of what the platform does by itself.
const Platform = ""

// Actor returns the attribution of an event to a user, or to [Platform], of the kind
// system. A user who does not exist is of the kind unknown.
func (w *Directory) Actor(userID string) *Actor {
	u := w.users[userID]
	switch {
	case userID == Platform:
		return &Actor{Kind: "system"}
	case u == nil:
		return &Actor{User: userID, Kind: "unknown"}
	case u.Value.AccountType == "agent":
		return &Actor{
			User: userID, Kind: "agent", AgentName: u.Value.FirstName, NameSource: "declared",
			CredentialType: "api_key",
		}
	}
	return &Actor{User: userID, Kind: "human", CredentialType: "session"}
}

// add stores an event and returns its row, which is its index in the log. It adds the
// row to the events of its organization, workspace, share and user, in the order of
// searches, and to the change feed of the organization if it changes storage, in the order
// in which changes become visible. Both can differ from the order in which events are added.
func (l *Log) add(e Event, now time.Time) uint32 {
	n := Number(len(l.Entries))
	at := Scope{e.Org, e.Workspace, e.Share}
	shown := now.UnixNano()
	if e.VisibleAt.After(now) {
		shown = e.VisibleAt.UnixNano()
	}
	var actor Actor
	if e.Actor != nil {
		actor = *e.Actor
	}
	l.Entries = append(l.Entries, Entry{
		Created: e.Created.Unix(),
		Shown:   shown,
		Place:   l.Places.Intern(at),
		User:    l.Names.Intern(e.User),
		Caller:  l.Names.Intern(e.CallingUser),
		Actor:   l.Actors.Intern(actor),
		Object:  l.ObjectNumber(n, wire.Plain(e.Object), e.ObjectName),
		Kind:    l.kind(e),
	})
	l.storeDetail(n, e)
	for _, profileID := range []string{at.Org, at.Workspace, at.Share, e.User} {
		if profileID != "" {
			l.index[profileID] = insertSorted(l.index[profileID], n, l.bySearchOrder)
		}
	}
	if at.Org != "" && l.Kinds.Values[l.Entries[n].Kind].IsChange {
		l.feed[at.Org] = insertSorted(l.feed[at.Org], n, l.byFeedOrder)
	}
	return n
}

// kind returns the index of the kind of an event: its name with the fields that many
// events have in common. A new kind is added.
func (l *Log) kind(e Event) uint16 {
	k := kindOf(e.Name)
	k.Category, k.Sub, k.Visibility, k.Permission = e.Category, e.SubCategory, e.Visibility, e.Permission
	k.Severity, k.Notification = e.Severity, e.Notification
	return kindIndex(l.Kinds.Intern(k))
}

// KindNamed returns the index of the kind of events that have this name and the default
// fields. It keeps the index in a map, because generated histories ask for it often.
func (l *Log) KindNamed(event string) uint16 {
	n, found := l.known[event]
	if !found {
		n = kindIndex(l.Kinds.Intern(kindOf(event)))
		l.known[event] = n
	}
	return n
}

// kindIndex converts the index of a kind to the 16 bits that an [Entry] has for it. It
// panics if there are more kinds.
func kindIndex(n uint32) uint16 {
	if n > math.MaxUint16 {
		panic("emulator: too many kinds of events")
	}
	return uint16(n)
}

// storeDetail stores the fields that few events have: not in the entry of row n, but in
// l.details, if any of them is set. It also indexes the id and the parent of the event.
func (l *Log) storeDetail(n uint32, e Event) {
	d := Detail{
		id:          wire.Plain(e.ID),
		parent:      wire.Plain(e.Parent),
		description: e.Description,
		Delegation:  e.AgentDelegation,
		IP:          e.IP,
		Country:     e.Country,
		Extra:       maps.Clone(e.Extra),
		Telemetry:   maps.Clone(e.Telemetry),
	}
	if d.id != "" {
		l.given[d.id] = n
	}
	if d.parent != "" {
		l.children[d.parent] = insertSorted(l.children[d.parent], n, l.bySearchOrder)
	}
	texts := d.id + d.parent + d.description + d.Delegation + d.IP + d.Country
	if texts != "" || len(d.Extra) > 0 || len(d.Telemetry) > 0 {
		l.details[n] = &d
	}
}

// insertSorted inserts row n into sorted rows, by the order of compare. Most rows
// belong at the end.
func insertSorted(rows []uint32, n uint32, compare func(a, b uint32) int) []uint32 {
	if len(rows) == 0 || compare(rows[len(rows)-1], n) <= 0 {
		return append(rows, n)
	}
	at, _ := slices.BinarySearchFunc(rows, n, compare)
	return slices.Insert(rows, at, n)
}

// bySearchOrder compares rows in the order of searches.
func (l *Log) bySearchOrder(a, b uint32) int { return l.Position(a).Compare(l.Position(b)) }

// byFeedOrder compares rows in the order of the change feed.
func (l *Log) byFeedOrder(a, b uint32) int { return l.ShownAt(a).Compare(l.ShownAt(b)) }

// Position returns the place of a row in the order of a search, which is an option: by
// time; newest first, by the complement of the time; or pseudorandom.
func (l *Log) Position(n uint32) Position {
	switch l.order {
	case seed.NewestFirst:
		return Position{^TimeKey(l.Entries[n].Created), ^n}
	case seed.Unordered:
		return Position{Mix(l.seed ^ Mix(uint64(n))), n}
	case seed.OldestFirst:
	}
	return Position{TimeKey(l.Entries[n].Created), n}
}

// ShownAt returns the position of a row in the change feed.
func (l *Log) ShownAt(n uint32) Position { return Position{TimeKey(l.Entries[n].Shown), n} }

// TimeKey maps signed times to unsigned keys of the same order.
func TimeKey(t int64) uint64 { return uint64(t) ^ 1<<63 } //nolint:gosec // the wrap is the point

// Span returns the first and last possible position of an event whose time, in Unix seconds,
// is at least from and at most to. They enclose the whole log if it is not ordered by time.
func (l *Log) Span(from, to int64) (first, last Position) {
	first, last = Position{}, Position{math.MaxUint64, math.MaxUint32}
	switch l.order {
	case seed.OldestFirst:
		first.Key, last.Key = TimeKey(from), TimeKey(to)
	case seed.NewestFirst: // the complement of a key is smaller for a later time
		first.Key, last.Key = ^TimeKey(to), ^TimeKey(from)
	case seed.Unordered:
	}
	return first, last
}

// ID returns the plain id of a row: the one that was given, or else one computed from
// the row.
func (l *Log) ID(n uint32) string {
	if d := l.details[n]; d != nil && d.id != "" {
		return d.id
	}
	return Opaque('e', l.seed, uint64(n)) // e begins the ids of events
}

// FindEvent returns the row of the event with a plain id, and whether there is one. An id
// was given by the caller who added the event, or else is computed from the number of the
// row, so that the number can be computed from it.
func (l *Log) FindEvent(id string) (uint32, bool) {
	if n, found := l.given[id]; found {
		return n, true
	}
	n, found := numberOf(id, 'e', l.seed) // e begins the ids of events
	if !found || n >= uint64(len(l.Entries)) {
		return 0, false
	}
	row := uint32(n)             //nolint:gosec // below the length of the log
	isIDOfRow := l.ID(row) == id // not if the row was given another id
	return row, isIDOfRow
}

// ObjectNumber returns the number of the object of the event in a row, 0 if it has none.
// A new object is added. If a known object has another name now, that is its name from this
// row on; earlier events are shown with the former name.
func (l *Log) ObjectNumber(row uint32, id, name string) uint32 {
	if id == "" {
		return 0
	}
	if n, found := l.FindObject(id); found {
		if former := l.ObjectName(row, n); name != "" && name != former {
			l.formerly[id] = append(l.formerly[id], naming{until: row, name: former})
			l.Things[n].name = name
		}
		return n
	}
	n := Number(len(l.Things))
	l.Things = append(l.Things, LogObject{id, name})
	l.byID[id] = n
	return n
}

// RecordNames records the names that profiles have at a row of the log, so that the texts
// of events keep them after a profile is renamed.
func (w *World) RecordNames(row uint32, ids ...string) {
	l := &w.Log
	for _, id := range ids {
		name := w.ProfileName(id)
		if former, known := l.called[id]; known && former != name {
			l.formerly[id] = append(l.formerly[id], naming{until: row, name: former})
		}
		l.called[id] = name
	}
}

// formerName returns the name that an object had at the time of a row, and false if
// that is its present name. The former names of an object are in order, each with the
// first row of the next name.
func (l *Log) formerName(row uint32, id string) (name string, renamed bool) {
	for _, former := range l.formerly[id] {
		if row < former.until {
			return former.name, true
		}
	}
	return "", false
}

// nameAt returns the name that a profile had at the time of a row.
func (l *Log) nameAt(row uint32, id string) string {
	if name, renamed := l.formerName(row, id); renamed {
		return name
	}
	return l.called[id]
}

// FindObject returns the number of the object with a plain id, and whether there is such an
// object. The id of a generated object is not stored: its number is computed from the id.
func (l *Log) FindObject(id string) (uint32, bool) {
	if n, found := l.byID[id]; found {
		return n, true
	}
	n, found := numberOf(id, '2', l.seed) // 2 begins the ids of nodes
	if !found || n == 0 || n >= uint64(len(l.Things)) {
		return 0, false
	}
	isGenerated := l.Things[n].id == ""
	return uint32(n), isGenerated //nolint:gosec // below the number of things
}

// ObjectID returns the plain id of an object, "" for number 0. Objects of invented events are
// nodes without an entry: their ids are computed from the number, to keep a history small.
func (l *Log) ObjectID(n uint32) string {
	switch {
	case n == 0:
		return ""
	case l.Things[n].id != "":
		return l.Things[n].id
	}
	return Opaque('2', l.seed, uint64(n)) // 2 is the first character of the ids of nodes
}

// ObjectName returns the name that an object had at the time of the event in a row. For an
// object of an invented event, which has neither id nor name, it invents the name of a file.
// For another one without a name it returns the id.
func (l *Log) ObjectName(row, object uint32) string {
	if name, renamed := l.formerName(row, l.ObjectID(object)); renamed {
		return name
	}
	switch {
	case object == 0:
		return ""
	case l.Things[object].name != "":
		return l.Things[object].name
	case l.Things[object].id != "":
		return l.Things[object].id
	}
	return fileName(Mix(l.seed + uint64(object)))
}

// fileName returns an invented name of a file, such as "budget 412.pdf", made of the
// bits of a random word.
func fileName(word uint64) string {
	subjects := [...]string{"budget", "launch plan", "contract", "floor plan", "survey", "interview", "roadmap", "invoice"}
	kinds := [...]string{"pdf", "docx", "xlsx", "png", "mp4", "md", "csv", "pptx"}
	subject, kind := subjects[word%8], kinds[word>>3%8]
	return fmt.Sprintf("%s %d.%s", subject, word>>6%900+100, kind) // a number of three digits
}

// ProfileID returns the profile where an event happened: the share, the workspace in
// its absence, then the organization, then the user.
func (l *Log) ProfileID(e *Entry) string {
	at := l.Places.Values[e.Place]
	return cmp.Or(at.Share, at.Workspace, at.Org, l.Names.Values[e.User])
}

// TemplateOf returns the text of an event with its placeholders, their names and their
// values. A description that was given has no placeholders.
func (l *Log) TemplateOf(n uint32) (text string, names, values []string) {
	e := &l.Entries[n]
	if d := l.details[n]; d != nil && d.description != "" {
		return d.description, nil, nil
	}
	text = l.Kinds.Values[e.Kind].template
	names = placeholders(text)
	for _, name := range names {
		values = append(values, l.tokenValue(n, name))
	}
	return text, names, values
}

// tokenValue returns the text for a placeholder in the template of the event in row n:
// the caller (actor), the user (subject), the object, or else the profile.
func (l *Log) tokenValue(n uint32, token string) string {
	e := &l.Entries[n]
	switch token {
	case "actor":
		return cmp.Or(l.nameAt(n, l.Names.Values[e.Caller]), "The platform")
	case "subject":
		return cmp.Or(l.nameAt(n, l.Names.Values[e.User]), "a person")
	case "object":
		if e.Object == 0 && l.Kinds.Values[e.Kind].Sub == "comments" { // a comment on the profile itself
			return cmp.Or(l.nameAt(n, l.ProfileID(e)), "a profile")
		}
		return cmp.Or(l.ObjectName(n, e.Object), "an item")
	default:
		return cmp.Or(l.nameAt(n, l.ProfileID(e)), "a profile")
	}
}

// RenderText replaces the placeholders of a template by their values, in the order of
// the names.
func RenderText(text string, names, values []string) string {
	for i, name := range names {
		text = strings.Replace(text, "{{"+name+"}}", values[i], 1)
	}
	return text
}

// ActorOf returns the attribution of a credential: to an agent, an API key, an app, or
// else the user.
func (w *Directory) ActorOf(k *wire.Credential) *Actor {
	a := w.Actor(k.User)
	if a.Kind == "agent" {
		return a
	}
	a.CredentialType = k.TypeName()
	switch k.Kind {
	case wire.APIKey:
		a.Kind = "api_key"
	case wire.AccessToken:
		a.Kind = "app"
	case wire.SessionToken, wire.LimitedToken:
	}
	if k.AgentName != "" {
		a.Kind, a.AgentName, a.NameSource = "agent", k.AgentName, "declared"
	}
	return a
}

// ActorObject renders to whom an event or comment is attributed.
func ActorObject(a Actor) wire.Object {
	return wire.Object{
		{"user_id", wire.ProfileOrNull(a.User)},
		{"kind", a.Kind},
		{"agent_name", wire.TextOrNull(a.AgentName)},
		{"name_source", wire.TextOrNull(a.NameSource)},
		{"credential_type", wire.TextOrNull(a.CredentialType)},
		{"verified", a.Verified},
	}
}

// mergeSorted adds more, which must not be empty, to rows, which are in the order of compare,
// and returns all in this order. It does not sort if more is in order and belongs at the end.
func mergeSorted(rows, more []uint32, compare func(a, b uint32) int) []uint32 {
	sorted := len(rows) == 0 || compare(rows[len(rows)-1], more[0]) <= 0
	rows = append(rows, more...)
	if !sorted || !slices.IsSortedFunc(more, compare) {
		slices.SortFunc(rows, compare)
	}
	return rows
}
