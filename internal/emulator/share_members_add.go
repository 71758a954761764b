package emulator

import (
	"net/http"
	"net/mail"
	"time"
	"unicode/utf8"
)

const (
	messageLeast, messageMost = 10, 255
	mailPause                 = time.Minute // between two mails about one membership
)

// addShareMember makes a user a member at once, or invites an e-mail address.
func (s *Server) addShareMember(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	id, refusal := s.managedShare(c, st.inviters(st.shareNamed(c.segment("share_id"))))
	switch {
	case refusal != nil:
		return *refusal
	case !c.readForm():
		return noForm()
	}
	target := c.segment("email_or_user")
	user := st.userNamed(target)
	if user == "" && isProfile(target) {
		return *noSuch(codeNotFound, "user")
	}
	if !isProfile(target) && !isEmail(target) {
		c.check.invalid("email_or_user", "An e-mail address or the id of a user.")
	}
	if refusal := st.refuseTarget(id, c.key.User, user); refusal != nil {
		return *refusal
	}
	if user != "" && (isProfile(target) || s.o.Shares.AddByEmail || st.members[id][user] != nil) {
		return s.addDirectly(c, id, user)
	}
	return s.invite(c, id, target, user)
}

// inviters is the least role that adds members to a share.
func (st *state) inviters(id string) Role {
	if h := st.shares[id]; h != nil && h.it.Invite == inviteGuests {
		return Guest
	}
	return Admin
}

// isEmail tells whether a text is an e-mail address and nothing else.
func isEmail(text string) bool {
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text
}

// refuseTarget refuses to add the caller or the owner.
func (st *state) refuseTarget(where, caller, user string) *answer {
	var a answer
	switch {
	case user == "":
		return nil
	case user == caller:
		a = refuse(http.StatusNotAcceptable, codeSelfTarget, "You cannot add yourself.")
	case st.direct(where, user) == Owner:
		a = refuse(http.StatusNotAcceptable, codeOwnerTarget, "The owner cannot be added.")
	default:
		return nil
	}
	return &a
}

// addDirectly makes a user a member, or changes the membership there is.
func (s *Server) addDirectly(c *call, id, user string) answer {
	st := &s.state
	t := s.readTerms(c, true)
	force, _ := c.field("notification")
	if force != "" && force != "force" {
		c.check.invalid("notification", "force.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	m := st.members[id][user]
	if m == nil && t.role == "" {
		t.role = Member
	}
	if refusal := st.refuseRole(id, c.key.User, t.role, codeRoleAbove); refusal != nil {
		return *refusal
	}
	if m == nil {
		if refusal := st.refuseOutsider(id, user, t.role); refusal != nil {
			return *refusal
		}
		m = s.enroll(id, user, t.role, t.notify, st.joiner(c.key))
		m.role = t.role
		if t.expires != nil {
			s.endAt(id, user, *t.expires)
		}
		s.mailMember(id, user, m)
		return ok()
	}
	if refusal := s.change(c, id, user, t); refusal != nil {
		return *refusal
	}
	if force != "" {
		s.mailMember(id, user, m)
	}
	return ok()
}

// mailMember tells a user of a membership, though not twice in a minute.
func (s *Server) mailMember(id, user string, m *membership) {
	now := s.now()
	if !m.mailed.IsZero() && now.Sub(m.mailed) < mailPause {
		return
	}
	m.mailed = now
	s.state.mails = append(s.state.mails, Mail{To: s.state.users[user].it.Email, Profile: id, At: now})
}

// invite sends an invitation to an e-mail address, or the one that is on its way once more, on the new terms.
func (s *Server) invite(c *call, id, email, user string) answer {
	st := &s.state
	t := s.readInvite(c)
	message, _ := c.field("message")
	if n := utf8.RuneCountInString(message); message != "" && (n < messageLeast || n > messageMost) {
		c.check.invalid("message", "10 to 255 characters.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if refusal := st.refuseRole(id, c.key.User, t.role, codeRoleAbove); refusal != nil {
		return *refusal
	}
	if refusal := st.outsiderPolicy(id, user); refusal != nil {
		return *refusal
	}
	v := st.invitationNamed(id, email)
	if v == nil || !v.open() {
		if n := len(st.expected(id)); s.o.Shares.InvitationLimit > 0 && n >= s.o.Shares.InvitationLimit {
			return refuse(http.StatusPreconditionFailed, codeInvitationLimit, "Feature Limit: the plan allows no more invitations.")
		}
		v = s.keepInvitation(Invitation{
			Profile: id, Email: email, Inviter: c.key.User, Role: t.role, Message: message, Expires: *t.expires,
		}, st.actorOf(c.key))
	} else {
		v.Role, v.Message, v.Expires, v.updated = t.role, message, *t.expires, s.now()
		s.mailInvitation(v)
		s.touchInvitation(v)
	}
	return ok(member{"invitation", append(st.invitationObject(v), member{"share", s.shareObject(id, c.key.User, terse)})})
}

// readInvite reads what an invitation says. The fields of those who become members at once mean nothing here.
func (s *Server) readInvite(c *call) conditions {
	t := conditions{role: Member, expires: new(time.Time{})}
	if value, given := c.field("permissions"); given {
		t.role = c.role(value)
	}
	if value, _ := c.field("invitation_expires"); value != "" {
		*t.expires = s.ahead(c, "invitation_expires", value)
	}
	return t
}
