package emulator

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

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
	stand      string // the id of the pending member as long as the address has no account
	acceptedBy string // the account that became a member, "" as long as none did
	actor      *Actor
	updated    time.Time
}

// AddInvitation puts an invitation there, as if its mail had gone out, and returns it with what was filled in.
func (s *Server) AddInvitation(it Invitation) Invitation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keepInvitation(it, s.state.actor(it.Inviter)).Invitation
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
	if it.ID = plain(it.ID); it.ID == "" {
		it.ID = opaque('i', s.o.Seed, s.nextSerial())
	}
	it.Key = cmp.Or(it.Key, opaque('j', s.o.Seed, s.nextSerial()))
	it.Role = cmp.Or(it.Role, Member)
	it.State = cmp.Or(it.State, invitePending)
	if it.Created.IsZero() {
		it.Created = s.now()
	}
	it.Created = it.Created.UTC().Truncate(time.Second)
	it.Email = strings.ToLower(it.Email)
	v := &invitation{Invitation: it, stand: s.newProfile(""), actor: actor, updated: it.Created}
	s.state.invitations = append(s.state.invitations, v)
	s.mailInvitation(v)
	s.touchInvitation(v)
	return v
}

func (s *Server) mailInvitation(v *invitation) {
	s.state.mails = append(s.state.mails, Mail{
		To: v.Email, Profile: v.Profile, Invitation: v.ID, Key: v.Key, Message: v.Message, At: s.now(),
	})
}

// touchInvitation stamps that the members of a profile look different now.
func (s *Server) touchInvitation(v *invitation) {
	s.state.touch(s.now(), v.Profile, keyed("member", s.state.guestID(v)), fieldMembers)
}

// open tells whether an invitation can still make somebody a member. One that an admin accepted for an address without
// an account waits for it.
func (v *invitation) open() bool {
	return v.State == invitePending || v.State == inviteAccepted && v.acceptedBy == ""
}

// guestID is who is shown as the pending member: the account of the address, as soon as there is one.
func (st *state) guestID(v *invitation) string { return cmp.Or(st.userNamed(v.Email), v.stand) }

// expected lists the invitations to a profile whose guests have not come yet.
func (st *state) expected(profileID string) []*invitation {
	var list []*invitation
	for _, v := range st.invitations {
		if v.Profile == profileID && v.open() {
			list = append(list, v)
		}
	}
	return list
}

// expectedAs finds the open invitation behind a pending member, nil when there is none.
func (st *state) expectedAs(profileID, guest string) *invitation {
	for _, v := range st.expected(profileID) {
		if st.guestID(v) == guest {
			return v
		}
	}
	return nil
}

// invitationNamed finds an invitation to a profile by id or e-mail address; of several to one address the latest.
func (st *state) invitationNamed(profileID, name string) *invitation {
	for _, v := range slices.Backward(st.invitations) {
		if v.Profile == profileID && (v.ID == plain(name) || strings.EqualFold(v.Email, name)) {
			return v
		}
	}
	return nil
}

// dropInvitation revokes an invitation, and with it the pending member.
func (s *Server) dropInvitation(v *invitation) {
	s.touchInvitation(v)
	s.state.invitations = slices.DeleteFunc(s.state.invitations, func(other *invitation) bool { return other == v })
}

// userNamed finds a user by id or e-mail address, "" for none.
func (st *state) userNamed(name string) string {
	if st.users[name] != nil {
		return name
	}
	return st.userOf(name)
}

// invitationObject renders an invitation. Its key is in the mail alone.
func (st *state) invitationObject(v *invitation) object {
	return object{
		{"id", hyphenated(v.ID)},
		{"inviter", optionalProfile(v.Inviter)},
		{"inviter_actor", actorObject(*v.actor)},
		{"invitee_email", v.Email},
		{"invitee_uid", optionalProfile(st.userNamed(v.Email))},
		{"accepted_uid", optionalProfile(v.acceptedBy)},
		{"entity_type", st.kind(v.Profile)},
		{"state", v.State},
		{"consumed", v.acceptedBy != ""},
		{"created", stamp(v.Created.Unix())},
		{"updated", stamp(v.updated.Unix())},
		{"expires", optionalStamp(v.Expires)},
	}
}

// joiner is who acts where somebody becomes a member.
type joiner struct {
	caller string
	actor  *Actor
}

func (st *state) joiner(k *credential) joiner { return joiner{k.User, st.actorOf(k)} }

// redeem makes an account a member as an invitation says. What the policy refuses stays as it is.
func (s *Server) redeem(v *invitation, userID string, by joiner) *answer {
	if refusal := s.redeemable(v, userID); refusal != nil {
		return refusal
	}
	v.State, v.acceptedBy, v.updated = inviteAccepted, userID, s.now()
	s.enroll(v.Profile, userID, v.Role, v.Notify, by)
	return nil
}

// redeemable refuses to accept an invitation that was answered, is past its time or stands against the policy.
func (s *Server) redeemable(v *invitation, userID string) *answer {
	switch {
	case !v.open():
		return settled()
	case v.State == invitePending && !v.Expires.IsZero() && !s.now().Before(v.Expires):
		a := refuse(http.StatusNotAcceptable, codeInvitationPast, "The invitation could be accepted until "+stamp(v.Expires.Unix())+".")
		return &a
	}
	return s.state.refuseOutsider(v.Profile, userID, v.Role)
}

func settled() *answer {
	a := refuse(http.StatusNotAcceptable, codeInvitationSettled, "The invitation has been answered.")
	return &a
}

// joinInvited makes a new account a member wherever its e-mail address was invited. Where the policy is against it, the
// invitation stays pending.
func (s *Server) joinInvited(userID string) {
	st := &s.state
	email := st.users[userID].it.Email
	for _, v := range st.invitations {
		if v.open() && strings.EqualFold(v.Email, email) && st.kind(v.Profile) != "" {
			_ = s.redeem(v, userID, joiner{userID, st.actor(userID)})
		}
	}
}

// enroll makes a user a member. Who is one already keeps the higher role. Other invitations of the user to the same
// place have served their purpose.
func (s *Server) enroll(where, userID string, role Role, notify string, by joiner) *membership {
	st := &s.state
	before := st.direct(where, userID)
	st.setMember(where, userID, higher(before, role))
	m := st.members[where][userID]
	m.notify = cmp.Or(notify, m.notify)
	switch {
	case before == "":
		m.added = s.now().Unix()
		s.writeMembership("added_member_to_"+st.kind(where), where, userID, by.caller, by.actor)
	case before != m.role:
		s.writeMembership("membership_updated", where, userID, by.caller, by.actor)
	}
	if v := st.expectedAs(where, userID); v != nil {
		v.State, v.acceptedBy, v.updated = inviteAccepted, userID, s.now()
	}
	return m
}

// refuseOutsider refuses to widen what somebody outside the organization may do, where a policy forbids it. The role is
// the one to be had; userID is "" for an address without an account. The organization has the first word: a share that
// allows outsiders does not overrule it [A].
func (st *state) refuseOutsider(where, userID string, role Role) *answer {
	if rank(st.role(where, userID)) >= rank(role) {
		return nil
	}
	return st.outsiderPolicy(where, userID)
}

// outsiderPolicy is [state.refuseOutsider] for what widens in another way.
func (st *state) outsiderPolicy(where, userID string) *answer {
	org := st.orgOf(where)
	if st.role(org, userID) != "" {
		return nil
	}
	reason := st.deniesOutsiders(where)
	if reason == "" {
		return nil
	}
	code := int64(codeOutsiders)
	if reason == reasonOutsidersObject {
		code = codeOutsidersObject
	}
	a := because(http.StatusForbidden, code, reason, "Nobody outside the organization may be given access.")
	return &a
}

// Reasons against people outside the organization.
const (
	reasonOutsiders       = "external_invites_denied"
	reasonOutsidersObject = "external_invites_object_denied"
)

// deniesOutsiders is the reason why nobody outside the organization may be let in to a profile, "" when they may.
func (st *state) deniesOutsiders(where string) string {
	if o := st.orgs[st.orgOf(where)]; o != nil && o.it.ExternalInvites == policyDenied {
		return reasonOutsiders
	}
	if h := st.shares[where]; h != nil && h.it.ExternalInvites == policyDenied {
		return reasonOutsidersObject
	}
	return ""
}

const policyDenied = "denied" // the other values are "allowed" and, for what is inherited, ""
