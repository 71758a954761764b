package world

import (
	"maps"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// exportedEvents is how many events [World.Export] returns, the latest ones.
const exportedEvents = 10_000

// Export adds what is in the world to a seed file: profiles, nodes, members, invitations,
// API keys and the latest events. It calls content for each version, to move a long
// content to a file. The caller holds the lock.
func (w *World) Export(f *SeedFile, content func(*Version)) {
	for _, id := range slices.Sorted(maps.Keys(w.users)) {
		f.Users = append(f.Users, w.users[id].Value)
	}
	for _, id := range w.orgList {
		f.Orgs = append(f.Orgs, w.orgs[id].Value)
	}
	for _, id := range w.workspaceList {
		f.Workspaces = append(f.Workspaces, w.workspaces[id].Value)
	}
	for _, id := range w.shareList {
		f.Shares = append(f.Shares, SeedShare(w.shares[id].Value))
	}
	for _, id := range w.nodeList {
		n := SeedNode(*w.nodes[id])
		n.Content, n.Size = "", 0 // the versions have them
		n.Versions = slices.Clone(n.Versions)
		for i := range n.Versions {
			content(&n.Versions[i])
		}
		f.Nodes = append(f.Nodes, n)
	}
	for _, id := range w.fileShareList {
		f.FileShares = append(f.FileShares, w.fileShares[id].SeedFileShare)
	}
	w.exportMembers(f)
	for _, inv := range w.invitations {
		f.Invitations = append(f.Invitations, inv.SeedInvitation)
	}
	for _, token := range slices.Sorted(maps.Keys(w.credentials)) {
		if k := w.credentials[token]; k.Kind == wire.APIKey {
			f.Keys = append(f.Keys, k.Key)
		}
	}
	defaults := map[string]EventKind{} // by the name of an event: exportEvent fills it, and omits fields equal to them
	for n := max(0, len(w.Log.Entries)-exportedEvents); n < len(w.Log.Entries); n++ {
		f.Events = append(f.Events, w.exportEvent(Number(n), defaults))
	}
}

// exportMembers adds the memberships of all profiles to a seed file.
func (w *World) exportMembers(f *SeedFile) {
	for _, profile := range slices.Sorted(maps.Keys(w.members)) {
		for _, user := range w.MembersOf(profile) {
			m := w.members[profile][user]
			kept := SeedMembership{Profile: profile, User: user, Role: m.Role, Notify: m.Notify, Expires: m.Expires}
			if m.added != 0 {
				kept.Added = time.Unix(m.added, 0).UTC()
			}
			f.Members = append(f.Members, kept)
		}
	}
}

// exportEvent returns an event of the log, without the fields that have the default values
// of events of its name. It keeps the defaults that it has computed in a map, by name.
func (w *World) exportEvent(n uint32, defaults map[string]EventKind) Event {
	l := &w.Log
	entry := &l.Entries[n]
	k, at, actor := l.Kinds.Values[entry.Kind], l.Places.Values[entry.Place], l.Actors.Values[entry.Actor]
	byDefault, known := defaults[k.Event]
	if !known {
		byDefault = kindOf(k.Event)
		defaults[k.Event] = byDefault
	}
	ifOther := func(value, byDefault string) string {
		if value == byDefault {
			return ""
		}
		return value
	}
	e := Event{
		ID: l.ID(n), Name: k.Event,
		Category: ifOther(k.Category, byDefault.Category), SubCategory: ifOther(k.Sub, byDefault.Sub),
		Visibility: ifOther(k.Visibility, byDefault.Visibility), Permission: ifOther(k.Permission, byDefault.Permission),
		Severity: ifOther(k.Severity, byDefault.Severity), Notification: ifOther(k.Notification, byDefault.Notification),
		Org: at.Org, Workspace: at.Workspace, Share: at.Share,
		User: l.Names.Values[entry.User], CallingUser: l.Names.Values[entry.Caller],
		Object: l.ObjectID(entry.Object), ObjectName: l.ObjectName(n, entry.Object),
		Unattributed: actor == Actor{}, Created: time.Unix(entry.Created, 0).UTC(),
	}
	if !e.Unattributed {
		e.Actor = &actor
	}
	if shown := time.Unix(0, entry.Shown).UTC(); shown.After(w.Now()) {
		e.VisibleAt = shown // an event without it is visible at once
	}
	if d := l.details[n]; d != nil {
		e.Parent, e.Description, e.AgentDelegation = d.parent, d.description, d.Delegation
		e.Extra, e.IP, e.Country, e.Telemetry = d.Extra, d.IP, d.Country, d.Telemetry
	}
	return e
}
