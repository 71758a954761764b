package emulator

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// membership is what ties a user to a profile.
type membership struct {
	role    Role
	notify  string
	added   int64 // Unix seconds, 0 is as long as the profile exists
	expires time.Time
	mailed  time.Time // when its user was last told of it
}

// notifyOptions are what members may ask the platform to tell them.
func notifyOptions() []string {
	return []string{
		"Do not notify me", "Notify me in app", "Notify me in app and via email",
		"Notify me via app, email and text message",
	}
}

// AddMembership makes a user a member, or replaces the membership there is, and returns it with what was filled in.
func (s *Server) AddMembership(m Membership) Membership {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Role = cmp.Or(m.Role, Member)
	if m.Added.IsZero() {
		m.Added = s.now()
	}
	m.Added = m.Added.UTC().Truncate(time.Second)
	s.state.setMember(m.Profile, m.User, m.Role)
	kept := s.state.members[m.Profile][m.User]
	kept.notify, kept.added = m.Notify, m.Added.Unix()
	s.state.touch(s.now(), m.Profile, keyed("member", m.User), fieldMembers)
	s.endAt(m.Profile, m.User, m.Expires)
	return m
}

// SetMember gives a user a role on an organization, workspace or share; the empty role removes the user.
func (s *Server) SetMember(profileID, userID string, role Role) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	isNew := st.members[profileID][userID] == nil
	st.setMember(profileID, userID, role)
	if isNew && role != "" {
		st.members[profileID][userID].added = s.now().Unix()
	}
	st.touch(s.now(), profileID, keyed("member", userID), fieldMembers)
}

// setMember gives a user a role; the empty role ends the membership.
func (st *state) setMember(profileID, userID string, role Role) {
	if role == "" {
		delete(st.members[profileID], userID)
		return
	}
	if st.members[profileID] == nil {
		st.members[profileID] = map[string]*membership{}
	}
	if m := st.members[profileID][userID]; m != nil {
		m.role = role
		return
	}
	st.members[profileID][userID] = &membership{role: role}
}

// direct is the role a user has on a profile itself, "" for none.
func (st *state) direct(profileID, userID string) Role {
	if m := st.members[profileID][userID]; m != nil {
		return m.role
	}
	return ""
}

// membersOf lists the users with a direct role, in the order of their ids.
func (st *state) membersOf(profileID string) []string {
	return slices.Sorted(maps.Keys(st.members[profileID]))
}

// endAt lets a membership end by itself; the zero time lets it go on.
func (s *Server) endAt(profileID, userID string, at time.Time) {
	m := s.state.members[profileID][userID]
	m.expires = at
	if at.IsZero() {
		return
	}
	s.later(at, func() {
		if s.state.members[profileID][userID] == m && m.expires.Equal(at) {
			s.endMembership(profileID, userID, "", s.state.actor(""))
		}
	})
}

// endMembership takes a user out of a profile, and says so in the log.
func (s *Server) endMembership(profileID, userID, caller string, actor *Actor) {
	s.state.setMember(profileID, userID, "")
	s.writeMembership("removed_member_from_"+s.state.kind(profileID), profileID, userID, caller, actor)
}

// writeMembership writes an event about a member.
func (s *Server) writeMembership(event, profileID, userID, caller string, actor *Actor) {
	e := Event{Name: event, User: userID, CallingUser: caller, Actor: actor}
	switch kind := s.state.kind(profileID); kind {
	case kindOrg:
		e.Category, e.Org = kind, profileID
	case kindWorkspace:
		e.Category, e.Workspace = kind, profileID
	case kindShare:
		e.Category, e.Share = kind, profileID
	}
	s.write(e)
}

// memberList answers with those who belong to a profile: the members in the order of their ids, then those who were
// invited and have not come yet. The caller holds the lock and has checked that whoever asks may look.
func (s *Server) memberList(c *call, where string) answer {
	ids := s.state.membersOf(where)
	for _, v := range s.state.expected(where) {
		if !slices.Contains(ids, s.state.guestID(v)) {
			ids = append(ids, s.state.guestID(v))
		}
	}
	return s.list(c, "users", ids, func(id, viewer string, _ level) object {
		return s.state.memberObject(where, id, viewer)
	})
}

// memberObject renders a member of a profile, or somebody invited, as the viewer may see it: since when somebody is a
// member, and on what terms, is for the member and for admins to know.
func (st *state) memberObject(where, id, viewer string) object {
	m, v := st.members[where][id], st.expectedAs(where, id)
	var o object
	switch u := st.users[id]; {
	case u != nil:
		o = object{
			{"id", profileID(id)},
			{"account_type", u.it.AccountType},
			{"email_address", u.it.Email},
			{"first_name", u.it.FirstName},
			{"last_name", u.it.LastName},
		}
	case v != nil:
		o = object{
			{"id", profileID(id)}, {"account_type", "human"}, {"email_address", v.Email}, {"first_name", v.Email}, {"last_name", ""},
		}
	}
	confided := viewer == id || rank(st.role(where, viewer)) >= rank(Admin)
	switch {
	case m != nil:
		o = append(o, member{"permissions", string(m.role)}, member{"status", "active"})
		if confided {
			o = append(o,
				member{"member_added_at", stamp(cmp.Or(m.added, st.madeAt(where)))},
				member{"notify", optional(m.notify)},
				member{"expires", optionalStamp(m.expires)},
				member{"invite", nil},
			)
		}
	case v != nil:
		o = append(o, member{"permissions", string(v.Role)}, member{"status", "pending"})
		if confided {
			o = append(o, member{"member_added_at", nil}, member{"notify", optional(v.Notify)}, member{"expires", nil}, member{"invite", object{
				{"id", hyphenated(v.ID)},
				{"created", zoneless(v.Created)},
				{"expires", zoneless(v.Expires)},
			}})
		}
	}
	return o
}

// madeAt is when a profile was made, in Unix seconds.
func (st *state) madeAt(id string) int64 {
	switch st.kind(id) {
	case kindOrg:
		return st.orgs[id].created
	case kindWorkspace:
		return st.workspaces[id].created
	case kindShare:
		return st.shares[id].created
	}
	return 0
}

// optionalStamp turns the zero time into null.
func optionalStamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return stamp(t.Unix())
}

// zoneless is the form of times in the invite of a member row.
func zoneless(t time.Time) any {
	text, given := optionalStamp(t).(string)
	if !given {
		return nil
	}
	return strings.TrimSuffix(text, " UTC")
}
