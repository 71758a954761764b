package emulator

import (
	"cmp"
	"net/http"
	"strings"
)

// Codes of memberships and invitations: a published one, and from 199901 on the emulator's own. The label 1692 of an
// added owner is no code.
const (
	codeInviteRole        = 127022
	codeOwnerRole         = 199901
	codeOwnerTarget       = 199902
	codeSelfTarget        = 199903
	codeRoleAbove         = 199904
	codeInvitationLimit   = 199905
	codeOutsiders         = 199906
	codeOutsidersObject   = 199907
	codeNotJoinable       = 199908
	codeInvitationPast    = 199909
	codeInvitationSettled = 199910
	codeSuccessor         = 199911
	codeTransferBusy      = 199912
	codeOwnerStays        = 199913
	codeNotOwner          = 199914
	codeNoMember          = 199915
	codeNoInvitation      = 199916
	codeHalfTransfer      = 199917
)

func (s *Server) memberRoutes() []*route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	const share, members = "/current/share/{share_id}/", "/current/share/{share_id}/members/"
	const invitations = members + "invitations/list/"
	return []*route{
		{op: "shares.Members.List", method: get, pattern: members + "list/", params: listParams("share_id"), handle: s.shareMembers},
		{op: "shares.Members.Add", method: post, pattern: members + "{email_or_user}/", fields: "permissions notify_options expires notification message invitation_expires", handle: s.addShareMember},
		{op: "shares.Members.Get", method: get, pattern: share + "member/{user_id}/details/", handle: s.shareMember},
		{op: "shares.Members.Update", method: post, pattern: share + "member/{user_id}/update/", fields: "permissions notify_options expires", handle: s.updateShareMember},
		{op: "shares.Members.Remove", method: del, pattern: members + "{user_id}/", handle: s.removeShareMember},
		{op: "shares.Members.TransferOwnership", method: post, pattern: share + "member/{user_id}/transfer_ownership/", handle: s.transferShare},
		{op: "shares.Leave", method: del, pattern: share + "member/", handle: s.leaveShare},
		{op: "shares.Join", method: post, pattern: members + "join/", fields: "notify_options", handle: s.joinShare},
		{op: "shares.JoinWithKey", method: post, pattern: members + "join/{invitation_key}/{answer}/", handle: s.answerInvitation},
		{op: "shares.Invitations.List", method: get, pattern: invitations, handle: s.shareInvitations},
		{op: "shares.Invitations.List", method: get, pattern: invitations + "{state}/", handle: s.shareInvitations},
		{op: "shares.Invitations.Update", method: post, pattern: members + "invitation/{invitation_id}/", fields: "permissions notify_options expires state", handle: s.updateInvitation},
		{op: "shares.Invitations.Delete", method: del, pattern: members + "invitation/{invitation_id}/", handle: s.deleteInvitation},
		{op: "shares.Invitations.Mine", method: get, pattern: "/current/user/invitations/list/", query: "invitation_key limit offset", handle: s.myInvitations},
		{op: "shares.Invitations.GetMine", method: get, pattern: "/current/user/invitation/{invitation_id}/details/", handle: s.myInvitation},
		{op: "shares.Invitations.AcceptAll", method: post, pattern: "/current/user/invitations/acceptall/", fields: "invitation_key", handle: s.acceptInvitations},
	}
}

// memberedShare finds the share of a call by id or custom name. The caller must belong to it.
func (s *Server) memberedShare(c *call) (string, *answer) {
	id, refusal := s.reachedShare(c, read)
	if refusal != nil {
		return "", refusal
	}
	return id, s.state.mayLook(c.key, venue{profile: id})
}

// reachedShare finds the share of a call, if the credential covers it. The caller need not belong to it.
func (s *Server) reachedShare(c *call, needed mode) (string, *answer) {
	st := &s.state
	id := st.shareNamed(c.segment("share_id"))
	if id == "" {
		return "", noSuch(codeNotFound, kindShare)
	}
	switch reach := st.covers(c.key, id); {
	case reach < read:
		a := st.outOfScope(id)
		return "", &a
	case reach < needed:
		return "", c.key.refuseWrite()
	case st.shutOut(id, c.key.User):
		return "", unseen(codeNoView)
	}
	return id, nil
}

// managedShare finds the share of a call that changes who belongs to it. The caller must have the role.
func (s *Server) managedShare(c *call, least Role) (string, *answer) {
	id, refusal := s.memberedShare(c)
	if refusal != nil {
		return "", refusal
	}
	st := &s.state
	switch {
	case st.covers(c.key, id) < write:
		return "", c.key.refuseWrite()
	case rank(st.role(id, c.key.User)) < rank(least):
		return "", roleTooLow()
	}
	return id, nil
}

func roleTooLow() *answer {
	a := refuse(http.StatusUnauthorized, codeEntity, "Your role in this share does not allow this.")
	return &a
}

// shareMembers lists the members of a share.
func (s *Server) shareMembers(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.memberedShare(c)
	if refusal != nil {
		return *refusal
	}
	return s.memberList(c, id)
}

// shareMember shows one member.
func (s *Server) shareMember(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.memberedShare(c)
	if refusal != nil {
		return *refusal
	}
	user := s.state.memberNamed(id, c)
	if user == "" {
		return *noMember()
	}
	row := s.state.memberObject(id, user, c.key.User)
	switch s.o.Shares.MemberKey {
	case "":
		return ok(member{"member", row})
	case "-":
		return ok(row...)
	}
	return ok(member{s.o.Shares.MemberKey, row})
}

// memberNamed finds the member, active or pending, that a path names by user id, e-mail address or me. It returns ""
// for none.
func (st *state) memberNamed(where string, c *call) string {
	name := c.segment("user_id")
	if name == "me" {
		name = c.key.User
	}
	if id := st.userNamed(name); id != "" {
		name = id
	}
	if st.members[where][name] != nil || st.expectedAs(where, name) != nil {
		return name
	}
	for _, v := range st.expected(where) {
		if strings.EqualFold(v.Email, name) {
			return st.guestID(v)
		}
	}
	return ""
}

func noMember() *answer { return noSuch(codeNoMember, "member") }

// updateShareMember changes the terms of a membership.
func (s *Server) updateShareMember(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.managedShare(c, View)
	switch {
	case refusal != nil:
		return *refusal
	case !c.readForm():
		return noForm()
	}
	st := &s.state
	t := s.readTerms(c, true)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if t.role == Owner { // which is nobody's to give here, and no mistake either
		t.role = ""
	}
	user := st.memberNamed(id, c)
	switch v := st.expectedAs(id, user); {
	case st.members[id][user] != nil:
		refusal = s.change(c, id, user, t)
	case v == nil:
		refusal = noMember()
	case rank(st.role(id, c.key.User)) < rank(Admin):
		refusal = roleTooLow()
	default:
		t.expires = nil // a membership that has not begun has no end
		refusal = s.revise(c, v, t)
	}
	if refusal != nil {
		return *refusal
	}
	return ok()
}

// change gives a membership other terms. What members want to hear of is theirs to say, all else an admin's.
func (s *Server) change(c *call, id, user string, t conditions) *answer {
	st := &s.state
	m, caller := st.members[id][user], st.role(id, c.key.User)
	private := user == c.key.User && t.role == "" && t.expires == nil
	switch {
	case rank(caller) < rank(Admin) && !private, rank(caller) < rank(m.role):
		return roleTooLow()
	case m.role == Owner && !private:
		return ownerStays("The owner stays until the ownership is transferred.")
	}
	if refusal := st.refuseRole(id, c.key.User, t.role, codeRoleAbove); refusal != nil {
		return refusal
	}
	if t.widens(m.role, m.expires) {
		if refusal := st.outsiderPolicy(id, user); refusal != nil {
			return refusal
		}
	}
	m.role, m.notify = cmp.Or(t.role, m.role), cmp.Or(t.notify, m.notify)
	if t.expires != nil {
		s.endAt(id, user, *t.expires)
	}
	s.writeMembership("membership_updated", id, user, c.key.User, st.actorOf(c.key))
	return nil
}

func ownerStays(text string) *answer {
	a := refuse(http.StatusNotAcceptable, codeOwnerStays, text)
	return &a
}

// removeShareMember ends a membership, or revokes the invitation of a pending member.
func (s *Server) removeShareMember(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.managedShare(c, Admin)
	if refusal != nil {
		return *refusal
	}
	st := &s.state
	user := st.memberNamed(id, c)
	switch v := st.expectedAs(id, user); {
	case st.direct(id, user) == Owner:
		return *ownerStays("The owner cannot be removed.")
	case st.members[id][user] != nil:
		s.endMembership(id, user, c.key.User, st.actorOf(c.key))
	case v != nil:
		s.dropInvitation(v)
	default:
		return *noMember()
	}
	return ok()
}

// leaveShare ends the caller's own membership.
func (s *Server) leaveShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.managedShare(c, View)
	if refusal != nil {
		return *refusal
	}
	st := &s.state
	switch user := c.key.User; st.direct(id, user) {
	case "":
		return notMember() // who is here by the workspace cannot leave the share alone
	case Owner:
		return *ownerStays("Transfer the ownership before you leave.")
	default:
		s.endMembership(id, user, user, st.actorOf(c.key))
	}
	return ok()
}

// joinShare makes the caller a member where the share is open to members of the workspace, or of the organization as
// well. Somebody who is a member stays what they are.
func (s *Server) joinShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.reachedShare(c, write)
	if refusal != nil {
		return *refusal
	}
	st := &s.state
	user, h := c.key.User, &st.shares[id].it
	isForm := c.readBlankForm()
	if !isForm && len(c.body) > 0 {
		return noForm()
	}
	notify := c.notifyOptions()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	switch {
	case h.access() != accessMembers && h.access() != accessOrg:
		return refuse(http.StatusNotAcceptable, codeNotJoinable, "The share is not one to join without an invitation.")
	case !st.joinable(h, user):
		return notMember()
	}
	if m := st.members[id][user]; m != nil {
		m.notify = cmp.Or(notify, m.notify)
		return ok()
	}
	if refusal := st.refuseOutsider(id, user, Member); refusal != nil {
		return *refusal
	}
	s.enroll(id, user, Member, notify, st.joiner(c.key))
	return ok()
}
