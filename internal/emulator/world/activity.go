package world

import (
	"cmp"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Activity is the time of the latest change of each field, in microseconds.
type Activity struct {
	Last    int64                       // the latest moment given out
	fields  map[string]map[string]int64 // by profile
	changes map[string]chan struct{}    // closed when the profile changes next
	Cut     chan struct{}               // closed to cut every poll that is held
}

// Names of activity fields; with an id they identify one object.
const (
	FieldStorage  = "storage"
	FieldComments = "comments"
	FieldMembers  = "members"
	FieldSettings = "settings"
)

// Of returns the fields of a profile.
func (a *Activity) Of(profileID string) map[string]int64 { return a.fields[profileID] }

// Tick returns a time later than all earlier ones, and before all later stamps.
func (a *Activity) Tick(now time.Time) int64 {
	a.Last = max(now.UnixMicro(), a.Last+1)
	return a.Last
}

// Next returns a channel that is closed by the next change of a profile. The caller holds
// the lock.
func (a *Activity) Next(profileID string) <-chan struct{} {
	if a.changes[profileID] == nil {
		a.changes[profileID] = make(chan struct{})
	}
	return a.changes[profileID]
}

// MarkChanged stamps fields of a profile and wakes its pollers.
func (w *Core) MarkChanged(now time.Time, profileID string, fields ...string) {
	w.stampFields(now, profileID, fields, nil)
}

// stampFields gives fields of a profile a new stamp, wakes the polls of the profile and
// reports the change. Row is the event that caused the change, nil for none. The caller
// holds the lock.
func (w *Core) stampFields(now time.Time, profileID string, fields []string, row *uint32) {
	a := &w.Activity
	if profileID == "" || len(fields) == 0 {
		return
	}
	if a.fields[profileID] == nil {
		a.fields[profileID] = map[string]int64{}
	}
	for _, field := range fields {
		a.fields[profileID][field] = a.Tick(now)
	}
	if waiting := a.changes[profileID]; waiting != nil {
		close(waiting)
		delete(a.changes, profileID)
	}
	w.OnChange(profileID, fields, row)
}

// MarkEventFields gives the activity fields of the event in row n a new stamp in every
// profile that sees it, so that polls of these report the change. An upload is seen by
// its user only; an event of no workspace or share by its organization, or else by its
// user; an event on a file also by the File Shares of that file.
func (w *World) MarkEventFields(now time.Time, n uint32) {
	l := &w.Log
	e := &l.Entries[n]
	k := &l.Kinds.Values[e.Kind]
	at := l.Places.Values[e.Place]
	object, caller, subject := l.ObjectID(e.Object), l.Names.Values[e.Caller], l.Names.Values[e.User]
	fields := fieldsOf(k, object, subject)
	stamp := func(profileID string) { w.stampFields(now, profileID, fields, &n) } // nothing for an empty ID
	switch {
	case k.Category == "upload":
		stamp(cmp.Or(caller, subject))
		return
	case at.Workspace == "" && at.Share == "":
		stamp(cmp.Or(at.Org, subject))
		return
	}
	stamp(at.Workspace)
	stamp(at.Share)
	if k.Sub != FieldStorage {
		return
	}
	for id, f := range w.fileShares {
		if f.Node == object && object != "" {
			stamp(id)
		}
	}
}

// fieldsOf returns the activity fields of an event, which are what a poll reports as
// changed: with the ID of the object, as in ai_state:ID, if it is known, and for changes of
// members with that of the subject. The default is the subcategory of the event.
func fieldsOf(k *EventKind, objectID, subject string) []string {
	switch {
	case strings.HasPrefix(k.Event, "node_ai_"):
		return FieldsFor("ai_state", objectID)
	case k.Category == "ai":
		return FieldsFor("ai_chat", objectID)
	case k.Category == "upload":
		return FieldsFor("upload", objectID)
	case k.Category == "import":
		return []string{"cloudsync"}
	}
	switch k.Sub {
	case FieldStorage, FieldComments:
		return FieldsFor(k.Sub, objectID)
	case FieldMembers, "invitations":
		return FieldsFor(FieldMembers, subject)
	case FieldSettings, "lifecycle", "security", "assets":
		return []string{FieldSettings}
	}
	return []string{k.Sub}
}

// FieldsFor returns the activity fields that a change of an object concerns: field:id, for
// this object, and field, for all objects of its kind. Without an id, it is only field. The
// platform names a single member member:id, and all of them members.
func FieldsFor(field, id string) []string {
	switch {
	case id == "":
		return []string{field}
	case field == FieldMembers:
		return []string{FieldOf("member", id), field}
	}
	return []string{FieldOf(field, id), field}
}

// FieldOf returns the field of one object.
func FieldOf(name, id string) string { return name + ":" + wire.Plain(id) }

// Remembered is how many files the next history of a workspace continues with.
const Remembered = 100

// MayPoll reports whether a credential may poll the activity of a profile. Its user must
// have a role there, such as member or guest. A share must have multiplayer, and not be
// closed to the user. For a File Share, the user must be a member of its workspace: its
// recipients may not poll.
func (w *Directory) MayPoll(k *wire.Credential, profileID string) bool {
	role := w.Role(profileID, k.User)
	if w.AccessMode(k, profileID) < wire.Read {
		return false
	}
	switch w.KindOf(profileID) {
	case wire.KindShare:
		return role != "" && !w.shares[profileID].Value.NoMultiplayer && !w.ClosedTo(profileID, k.User)
	case wire.KindFileShare:
		return Rank(role) >= Rank(Member)
	}
	return role != ""
}
