package world

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Membership is what ties a user to a profile.
type Membership struct {
	Role    Role
	Notify  string
	added   int64 // Unix seconds, 0 is as long as the profile exists
	Expires time.Time
	Mailed  time.Time // when its user was last told of it
}

// NotifyOptions are what members may ask the platform to tell them.
func NotifyOptions() []string {
	return []string{
		"Do not notify me", "Notify me in app", "Notify me in app and via email",
		"Notify me via app, email and text message",
	}
}

// AddMembership makes a user a member, or replaces the membership there is, and returns it with what was filled in.
func (w *World) AddMembership(m SeedMembership) SeedMembership {
	w.Lock()
	defer w.Unlock()
	m.Role = cmp.Or(m.Role, Member)
	m.Added = cmp.Or(m.Added, w.Now())
	m.Added = m.Added.UTC().Truncate(time.Second)
	w.PutMember(m.Profile, m.User, m.Role)
	kept := w.Members[m.Profile][m.User]
	kept.Notify, kept.added = m.Notify, m.Added.Unix()
	w.Touch(w.Now(), m.Profile, Keyed("member", m.User), FieldMembers)
	w.EndAt(m.Profile, m.User, m.Expires)
	return m
}

// SetMember gives a user a role on an organization, workspace or share; the empty role removes the user.
func (w *World) SetMember(profileID, userID string, role Role) {
	w.Lock()
	defer w.Unlock()
	isNew := w.Members[profileID][userID] == nil
	w.PutMember(profileID, userID, role)
	if isNew && role != "" {
		w.Members[profileID][userID].added = w.Now().Unix()
	}
	w.Touch(w.Now(), profileID, Keyed("member", userID), FieldMembers)
}

// PutMember gives a user a role; the empty role ends the membership.
func (w *Directory) PutMember(profileID, userID string, role Role) {
	if role == "" {
		delete(w.Members[profileID], userID)
		return
	}
	if w.Members[profileID] == nil {
		w.Members[profileID] = map[string]*Membership{}
	}
	if m := w.Members[profileID][userID]; m != nil {
		m.Role = role
		return
	}
	w.Members[profileID][userID] = &Membership{Role: role}
}

// Direct is the role a user has on a profile itself, "" for none.
func (w *Directory) Direct(profileID, userID string) Role {
	if m := w.Members[profileID][userID]; m != nil {
		return m.Role
	}
	return ""
}

// MembersOf lists the users with a direct role, in the order of their ids.
func (w *Directory) MembersOf(profileID string) []string {
	return slices.Sorted(maps.Keys(w.Members[profileID]))
}

// EndAt lets a membership end by itself; the zero time lets it go on.
func (w *World) EndAt(profileID, userID string, at time.Time) {
	m := w.Members[profileID][userID]
	m.Expires = at
	if at.IsZero() {
		return
	}
	w.Later(at, func() {
		if w.Members[profileID][userID] == m && m.Expires.Equal(at) {
			w.EndMembership(profileID, userID, "", w.Actor(""))
		}
	})
}

// EndMembership takes a user out of a profile, and says so in the log.
func (w *World) EndMembership(profileID, userID, caller string, actor *Actor) {
	w.PutMember(profileID, userID, "")
	w.WriteMembership("removed_member_from_"+w.KindOf(profileID), profileID, userID, caller, actor)
}

// WriteMembership writes an event about a member.
func (w *World) WriteMembership(event, profileID, userID, caller string, actor *Actor) {
	w.EventIn(profileID,
		Event{Name: event, Category: w.KindOf(profileID), User: userID, CallingUser: caller, Actor: actor})
}

// MemberList answers with those who belong to a profile: the members in the order of their ids, then those who were
// invited and have not come yet. The caller holds the lock and has checked that whoever asks may look.
func (w *World) MemberList(c *wire.Call, where string) (wire.Object, error) {
	ids := w.MembersOf(where)
	for _, v := range w.Expected(where) {
		if !slices.Contains(ids, w.GuestID(v)) {
			ids = append(ids, w.GuestID(v))
		}
	}
	return w.List(c, "users", ids, func(id, viewer string, _ wire.Level) wire.Object {
		return w.MemberObject(where, id, viewer)
	})
}

// MemberObject renders a member of a profile, or somebody invited, as the viewer may see it: since when somebody is a
// member, and on what terms, is for the member and for admins to know.
func (w *World) MemberObject(where, id, viewer string) wire.Object {
	m, v := w.Members[where][id], w.ExpectedAs(where, id)
	var o wire.Object
	switch u := w.Users[id]; {
	case u != nil:
		o = person(id, u.Value)
	case v != nil:
		o = person(id, User{AccountType: "human", Email: v.Email, FirstName: v.Email})
	}
	confided := viewer == id || w.AtLeast(where, viewer, Admin)
	switch {
	case m != nil:
		o = append(o, wire.Member{"permissions", string(m.Role)}, wire.Member{"status", "active"})
		if confided {
			o = append(o,
				wire.Member{"member_added_at", wire.Stamp(cmp.Or(m.added, w.madeAt(where)))},
				wire.Member{"notify", wire.Optional(m.Notify)},
				wire.Member{"expires", wire.When(m.Expires)},
				wire.Member{"invite", nil},
			)
		}
	case v != nil:
		o = append(o, wire.Member{"permissions", string(v.Role)}, wire.Member{"status", "pending"})
		if confided {
			o = append(o, wire.Member{"member_added_at", nil}, wire.Member{"notify", wire.Optional(v.Notify)},
				wire.Member{"expires", nil}, wire.Member{"invite", wire.Object{
					{"id", wire.Hyphenated(v.ID)},
					{"created", zoneless(v.Created)},
					{"expires", zoneless(v.Expires)},
				}})
		}
	}
	return o
}

func person(id string, u User) wire.Object {
	return wire.Object{
		{"id", wire.ProfileID(id)},
		{"account_type", u.AccountType},
		{"email_address", u.Email},
		{"first_name", u.FirstName},
		{"last_name", u.LastName},
	}
}

func (w *Directory) madeAt(id string) int64 {
	switch w.KindOf(id) {
	case wire.KindOrg:
		return w.Orgs[id].Created
	case wire.KindWorkspace:
		return w.Workspaces[id].Created
	case wire.KindShare:
		return w.Shares[id].Created
	}
	return 0
}

// zoneless is the form of times in the invite of a member row.
func zoneless(t time.Time) any {
	text, given := wire.When(t).(string)
	if !given {
		return nil
	}
	return strings.TrimSuffix(text, " UTC")
}
