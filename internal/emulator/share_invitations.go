package emulator

import (
	"cmp"
	"slices"
	"strings"
)

// shareInvitations lists the invitations to a share, of all states or of one.
func (s *Server) shareInvitations(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.memberedShare(c)
	if refusal != nil {
		return *refusal
	}
	st := &s.state
	if rank(st.role(id, c.key.User)) < rank(st.inviters(id)) {
		return *roleTooLow()
	}
	state := c.segment("state")
	if c.r.PathValue("state") != "" && !slices.Contains(inviteStates(), state) {
		c.check.invalid("state", strings.Join(inviteStates(), ", ")+".")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	rows := []object{}
	for _, v := range st.invitations {
		if v.Profile == id && (state == "" || v.State == state) {
			rows = append(rows, st.invitationObject(v))
		}
	}
	return ok(member{"invitations", rows})
}

// invitationOfPath finds the invitation of a call, by id or e-mail address. The caller must have the role, and no less
// of one than the invitation gives.
func (s *Server) invitationOfPath(c *call, least Role) (*invitation, *answer) {
	id, refusal := s.managedShare(c, least)
	if refusal != nil {
		return nil, refusal
	}
	v := s.state.invitationNamed(id, c.segment("invitation_id"))
	switch {
	case v == nil:
		return nil, noInvitation()
	case rank(s.state.role(id, c.key.User)) < rank(v.Role):
		return nil, roleTooLow()
	}
	return v, nil
}

func noInvitation() *answer { return noSuch(codeNoInvitation, "invitation") }

// updateInvitation answers an invitation for its guest, which takes an admin, sends it again or gives it other terms:
// all of what the call says, or nothing.
func (s *Server) updateInvitation(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, refusal := s.invitationOfPath(c, s.state.inviters(s.state.shareNamed(c.segment("share_id"))))
	switch {
	case refusal != nil:
		return *refusal
	case !c.readForm():
		return noForm()
	}
	t := s.readTerms(c, false)
	state, _ := c.field("state")
	if state != "" && !slices.Contains(inviteStates(), state) {
		c.check.invalid("state", strings.Join(inviteStates(), ", ")+".")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	answers := state == inviteAccepted || state == inviteDeclined
	switch {
	case answers && rank(s.state.role(v.Profile, c.key.User)) < rank(Admin):
		return *roleTooLow()
	case v.acceptedBy != "", v.State == inviteDeclined && state == "":
		return *settled()
	}
	before := *v
	if refusal := s.revise(c, v, t); refusal != nil {
		return *refusal
	}
	if refusal := s.settleInvitation(c, v, state); refusal != nil {
		*v = before
		return *refusal
	}
	s.touchInvitation(v)
	return ok(member{"invitation", s.state.invitationObject(v)})
}

// revise gives an invitation other terms.
func (s *Server) revise(c *call, v *invitation, t conditions) *answer {
	st := &s.state
	if refusal := st.refuseRole(v.Profile, c.key.User, t.role, codeInviteRole); refusal != nil {
		return refusal
	}
	if t.widens(v.Role, v.Expires) {
		if refusal := st.outsiderPolicy(v.Profile, st.userNamed(v.Email)); refusal != nil {
			return refusal
		}
	}
	v.Role, v.Notify = cmp.Or(t.role, v.Role), cmp.Or(t.notify, v.Notify)
	if t.expires != nil {
		v.Expires = *t.expires
	}
	v.updated = s.now()
	s.touchInvitation(v)
	return nil
}

// settleInvitation moves an invitation to a state. Pending is what sends it again [A].
func (s *Server) settleInvitation(c *call, v *invitation, state string) *answer {
	st := &s.state
	user := st.userNamed(v.Email)
	switch state {
	case inviteDeclined:
		v.State = inviteDeclined
	case invitePending:
		if refusal := st.outsiderPolicy(v.Profile, user); refusal != nil {
			return refusal
		}
		v.State = invitePending
		s.mailInvitation(v)
	case inviteAccepted:
		if user != "" {
			return s.redeem(v, user, st.joiner(c.key))
		}
		if refusal := s.redeemable(v, ""); refusal != nil {
			return refusal
		}
		v.State = inviteAccepted // the account that is still to come is a member at once
	}
	return nil
}

// deleteInvitation revokes an invitation.
func (s *Server) deleteInvitation(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, refusal := s.invitationOfPath(c, Admin)
	if refusal != nil {
		return *refusal
	}
	s.dropInvitation(v)
	return ok()
}

// answerInvitation accepts or declines an invitation for whoever has its key.
func (s *Server) answerInvitation(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.reachedShare(c, write)
	if refusal != nil {
		return *refusal
	}
	reply := c.segment("answer")
	if reply != "accept" && reply != "decline" {
		c.check.invalid("answer", "accept or decline.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	st := &s.state
	v := st.invitationKeyed(c.segment("invitation_key"))
	switch {
	case v == nil || v.Profile != id:
		return *noInvitation()
	case reply == "accept":
		refusal = s.redeem(v, c.key.User, st.joiner(c.key))
	case !v.open():
		refusal = settled()
	default:
		v.State, v.updated = inviteDeclined, s.now()
		s.touchInvitation(v)
	}
	if refusal != nil {
		return *refusal
	}
	return ok()
}

// invitationKeyed finds an invitation by the secret of its mail.
func (st *state) invitationKeyed(key string) *invitation {
	i := slices.IndexFunc(st.invitations, func(v *invitation) bool { return v.Key == key })
	if i < 0 {
		return nil
	}
	return st.invitations[i]
}

// invitationsOf lists the pending invitations to a user's address, and the one with a key.
func (st *state) invitationsOf(userID, key string) []*invitation {
	var list []*invitation
	for _, v := range st.invitations {
		isMine := strings.EqualFold(v.Email, st.users[userID].it.Email) || key != "" && v.Key == key
		if isMine && v.State == invitePending && st.kind(v.Profile) != "" {
			list = append(list, v)
		}
	}
	return list
}

// myInvitations lists what the caller was asked to join and has not answered.
func (s *Server) myInvitations(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	byID := map[string]*invitation{}
	var ids []string
	for _, v := range st.invitationsOf(c.key.User, c.value("invitation_key")) {
		byID[v.ID] = v
		ids = append(ids, v.ID)
	}
	return s.list(c, "invitations", ids, func(id, _ string, _ level) object { return st.invitationObject(byID[id]) })
}

// myInvitation shows one invitation to whoever it is for, or has its key.
func (s *Server) myInvitation(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	st := &s.state
	name := c.segment("invitation_id")
	for _, v := range st.invitations {
		isMine := v.ID == plain(name) && strings.EqualFold(v.Email, st.users[c.key.User].it.Email)
		if (isMine || v.Key == name) && st.kind(v.Profile) != "" {
			return ok(member{"invitation", st.invitationObject(v)})
		}
	}
	return *noInvitation()
}

// acceptInvitations accepts all that the caller was asked to join. What cannot be accepted stays pending; it is the
// answer where nothing else could be [A].
func (s *Server) acceptInvitations(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal := c.mayWrite(); refusal != nil {
		return *refusal
	}
	if !c.readBlankForm() && len(c.body) > 0 {
		return noForm()
	}
	st := &s.state
	key, _ := c.field("invitation_key")
	accepted := 0
	var refused *answer
	for _, v := range st.invitationsOf(c.key.User, key) {
		if st.covers(c.key, v.Profile) < write {
			continue
		}
		if refusal := s.redeem(v, c.key.User, st.joiner(c.key)); refusal != nil {
			refused = refusal
			continue
		}
		accepted++
	}
	if accepted == 0 && refused != nil {
		return *refused
	}
	return ok()
}
