package emulator

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// activity is state, not history: when what last changed, in microseconds.
type activity struct {
	last    int64                       // the latest moment given out
	fields  map[string]map[string]int64 // by profile
	changes map[string]chan struct{}    // closed when the profile changes next
	cut     chan struct{}               // closed to cut every poll that is held
}

// Names of activity fields; with an id behind them they say what of a kind changed.
const (
	fieldStorage  = "storage"
	fieldComments = "comments"
	fieldMembers  = "members"
	fieldSettings = "settings"
)

func newActivity() activity {
	return activity{fields: map[string]map[string]int64{}, changes: map[string]chan struct{}{}, cut: make(chan struct{})}
}

// tick returns a moment that is later than every one before. Whoever holds it as a cursor misses nothing that is
// stamped from then on.
func (a *activity) tick(now time.Time) int64 {
	a.last = max(now.UnixMicro(), a.last+1)
	return a.last
}

// next returns a channel that the next change of a profile closes.
func (a *activity) next(profileID string) <-chan struct{} {
	if a.changes[profileID] == nil {
		a.changes[profileID] = make(chan struct{})
	}
	return a.changes[profileID]
}

// touch stamps fields of a profile and tells whoever waits for it. Every mutation calls it beside the event it writes.
func (st *state) touch(now time.Time, profileID string, fields ...string) {
	st.mark(now, profileID, fields, nil)
}

// mark is [state.touch] with the event behind it, if there is one.
func (st *state) mark(now time.Time, profileID string, fields []string, row *uint32) {
	a := &st.activity
	if profileID == "" || len(fields) == 0 {
		return
	}
	if a.fields[profileID] == nil {
		a.fields[profileID] = map[string]int64{}
	}
	for _, field := range fields {
		a.fields[profileID][field] = a.tick(now)
	}
	if waiting := a.changes[profileID]; waiting != nil {
		close(waiting)
		delete(a.changes, profileID)
	}
	st.inform(profileID, fields, row)
}

// touchEvent stamps what an event of the log says has changed, in every profile that sees it.
func (st *state) touchEvent(now time.Time, n uint32) {
	l := &st.log
	e := &l.entries[n]
	k := &l.kinds.values[e.kind]
	at := l.places.values[e.place]
	object, caller, subject := l.objectID(e.object), l.names.values[e.caller], l.names.values[e.user]
	fields := fieldsOf(k, object, subject)
	switch {
	case k.category == "upload": // its progress is the uploader's own affair
		st.mark(now, cmp.Or(caller, subject), fields, &n)
		return
	case at.workspace == "" && at.share == "":
		st.mark(now, cmp.Or(at.org, subject), fields, &n)
		return
	}
	st.mark(now, at.workspace, fields, &n)
	st.mark(now, at.share, fields, &n)
	if k.sub != fieldStorage {
		return
	}
	for id, f := range st.fileShares {
		if f.Node == object && object != "" {
			st.mark(now, id, fields, &n)
		}
	}
}

// touchTail stamps what the youngest events since first changed: all of a long history would be as many fields.
func (st *state) touchTail(now time.Time, first int) {
	entries := st.log.entries
	for n := max(first, len(entries)-remembered); n < len(entries); n++ {
		if entries[n].shown <= now.UnixNano() {
			st.touchEvent(now, number(n))
		}
	}
}

// fieldsOf names the activity fields of an event. One that fits none of the documented patterns has its subcategory.
func fieldsOf(k *kind, objectID, subject string) []string {
	switch {
	case strings.HasPrefix(k.event, "node_ai_"):
		return fieldsFor("ai_state", objectID, "ai_state")
	case k.category == "ai":
		return fieldsFor("ai_chat", objectID, "ai_chat")
	case k.category == "upload":
		return fieldsFor("upload", objectID, "upload")
	case k.category == "import":
		return []string{"cloudsync"}
	}
	switch k.sub {
	case fieldStorage, fieldComments:
		return fieldsFor(k.sub, objectID, k.sub)
	case fieldMembers, "invitations":
		return fieldsFor("member", subject, fieldMembers)
	case fieldSettings, "lifecycle", "security", "assets":
		return []string{fieldSettings}
	}
	return []string{k.sub}
}

// fieldsFor is the field of one thing and the field of all of its kind.
func fieldsFor(name, id, all string) []string {
	if id == "" {
		return []string{all}
	}
	return []string{keyed(name, id), all}
}

func keyed(name, id string) string { return name + ":" + plain(id) }

// changed lists the fields of a profile that a poll asks for, by name, and the moment of the latest. Without a change
// since the cursor there are none; with one, all of them unless the poll wants only what is new.
func (a *activity) changed(profileID string, q *poll) (rows object, latest int64) {
	all := a.fields[profileID]
	for _, field := range slices.Sorted(maps.Keys(all)) {
		at := all[field]
		if !q.wants(field) {
			continue
		}
		isNew := at > q.since || at == q.since && q.inclusive
		if isNew {
			latest = max(latest, at)
		}
		if isNew || !q.updated {
			rows = append(rows, member{field, microStamp(at)})
		}
	}
	if latest == 0 {
		return nil, 0
	}
	return rows, latest
}

// microStamp is the wire form of a moment of activity.
func microStamp(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.000000 UTC")
}
