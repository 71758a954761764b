package emulator

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Invitation asks the owner of an e-mail address to join an organization, workspace or share.
// [Server.AddInvitation] puts one there without asking the rules, and fills what is empty.
type Invitation struct {
	ID        string
	Key       string // the secret in the mail, with which any account may answer
	ProfileID string
	Email     string
	Inviter   string // user id, "" is the platform
	Role      Role   // "" is member
	Message   string
	Notify    string    // one of the notification options, "" is none chosen
	State     string    // "pending", "accepted" or "declined"; "" is pending
	Created   time.Time // zero is now
	Expires   time.Time // until when it can be accepted, zero is without end
}

// States of an invitation.
const (
	invitePending  = "pending"
	inviteAccepted = "accepted"
	inviteDeclined = "declined"
)

func inviteStates() []string { return []string{invitePending, inviteAccepted, inviteDeclined} }

// invitation is an invitation as the platform keeps it.
type invitation struct {
	Invitation
	member     string // who is shown as the pending member: the account of the address, or an id of its own
	acceptedBy string // the account that became a member, "" as long as none did
	actor      *Actor
	updated    time.Time
}

// Mail is an e-mail that the platform has sent about a membership or an invitation.
type Mail struct {
	To, ProfileID string
	InvitationID  string // "" for one about a membership
	Key, Message  string // of the invitation
	At            time.Time
}

// AddInvitation puts an invitation there, as if its mail had gone out, and returns it with what was filled in.
func (s *Server) AddInvitation(it Invitation) Invitation {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.keepInvitation(it, s.state.actor(it.Inviter))
	return v.Invitation
}

// Mails lists what was sent to an e-mail address, oldest first.
func (s *Server) Mails(to string) []Mail {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []Mail
	for _, m := range s.state.mails {
		if strings.EqualFold(m.To, to) {
			found = append(found, m)
		}
	}
	return found
}

// keepInvitation adds an invitation and sends it.
func (s *Server) keepInvitation(it Invitation, actor *Actor) *invitation {
	st := &s.state
	now := s.now()
	if it.ID = plain(it.ID); it.ID == "" {
		it.ID = opaque('i', s.o.Seed, s.nextSerial())
	}
	it.Key = cmp.Or(it.Key, opaque('j', s.o.Seed, s.nextSerial()))
	it.Role = cmp.Or(it.Role, Member)
	it.State = cmp.Or(it.State, invitePending)
	if it.Created.IsZero() {
		it.Created = now
	}
	it.Created = it.Created.UTC().Truncate(time.Second)
	it.Email = strings.ToLower(it.Email)
	v := &invitation{Invitation: it, member: st.userNamed(it.Email), actor: actor, updated: it.Created}
	if v.member == "" {
		v.member = s.newProfile("")
	}
	st.invitations = append(st.invitations, v)
	s.mailInvitation(v)
	st.touch(now, it.ProfileID, keyed("member", v.member), fieldMembers)
	return v
}

func (s *Server) mailInvitation(v *invitation) {
	s.state.mails = append(s.state.mails, Mail{
		To: v.Email, ProfileID: v.ProfileID, InvitationID: hyphenated(v.ID), Key: v.Key, Message: v.Message, At: s.now(),
	})
}

// expected lists the invitations to a profile whose guests have not come yet. One that an admin accepted for an address
// without an account is among them.
func (st *state) expected(profileID string) []*invitation {
	var list []*invitation
	for _, v := range st.invitations {
		if v.ProfileID == profileID && v.open() {
			list = append(list, v)
		}
	}
	return list
}

// open tells whether an invitation can still make somebody a member.
func (v *invitation) open() bool {
	return v.State == invitePending || v.State == inviteAccepted && v.acceptedBy == ""
}

// expectedAs finds the open invitation behind a pending member.
func (st *state) expectedAs(profileID, member string) *invitation {
	i := slices.IndexFunc(st.invitations, func(v *invitation) bool {
		return v.ProfileID == profileID && v.member == member && v.open()
	})
	if i < 0 {
		return nil
	}
	return st.invitations[i]
}

// userNamed finds a user by id or e-mail address, "" for none.
func (st *state) userNamed(name string) string {
	if st.users[name] != nil {
		return name
	}
	for id, u := range st.users {
		if strings.EqualFold(u.it.Email, name) {
			return id
		}
	}
	return ""
}
