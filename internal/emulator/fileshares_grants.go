package emulator

import (
	"slices"
)

const grantsMost = 1000 // of one list

// listGrants answers with who was given a File Share.
func (s *Server) listGrants(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, refusal := s.fileShareToManage(c, read)
	if refusal != nil {
		return *refusal
	}
	return ok(member{"grants", s.grantRows(f, grantsMost)})
}

func (s *Server) grantRows(f *fileShare, most int) []object {
	rows := []object{}
	for i := range f.Grants[:min(most, len(f.Grants))] {
		rows = append(rows, s.grantObject(f, &f.Grants[i]))
	}
	return rows
}

// grantObject is a grant as members of the workspace see it. It ends with the File Share at the latest.
func (s *Server) grantObject(f *fileShare, g *Grant) object {
	st := &s.state
	ends := g.Expires
	if !f.Expires.IsZero() && (ends.IsZero() || ends.After(f.Expires)) {
		ends = f.Expires
	}
	email, state := g.Email, "pending"
	if u := st.users[g.User]; u != nil {
		email, state = u.it.Email, "active"
	}
	return object{
		{"user", optionalProfile(g.User)},
		{"name", optional(st.profileName(g.User))},
		{"email", email},
		{"capability", g.Capability},
		{"state", state},
		{"created", stamp(g.Created.Unix())},
		{"expires", optionalStamp(ends)},
	}
}

// setGrant gives a File Share to somebody. The answer depends on how that one was named, and known.
func (s *Server) setGrant(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, refusal := s.fileShareToManage(c, write)
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	user, _ := c.field("user")
	email, _ := c.field("email")
	s.checkGrantee(c, user, email)
	level, _ := c.field("capability")
	switch {
	case level == "":
		c.check.missing("capability", "view, download or edit.")
	case parseCapability(level) == noCapability:
		c.check.invalid("capability", "view, download or edit.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if user != "" && s.state.users[user] == nil {
		return *noSuch(codeNotFound, kindUser)
	}
	before := slices.Clone(f.Grants)
	g := s.give(f, Grant{User: user, Email: email, Capability: level})
	if !slices.Equal(before, f.Grants) {
		s.tellGrant(f, "file_share_access_granted", g.User, c)
	}
	switch {
	case user != "":
		return ok()
	case g.User != "":
		return ok(member{"user", object{{"id", profileID(g.User)}}})
	}
	return ok(member{"grant", s.grantObject(f, &g)})
}

// checkGrantee refuses who is not named, or named twice.
func (s *Server) checkGrantee(c *call, user, email string) {
	c.check.status = s.o.FileShares.InvalidStatus
	switch {
	case (user == "") == (email == ""):
		c.check.invalid("user", "Exactly one of user and email.")
	case user != "" && !isProfile(user):
		c.check.mistyped("user", "profile_id")
	case email != "" && !isEmail(email):
		c.check.invalid("email", "An e-mail address.")
	}
}

// tellGrant writes an event about what somebody was given or lost.
func (s *Server) tellGrant(f *fileShare, event, user string, c *call) {
	s.tellFileShare(f, Event{Name: event, User: user, CallingUser: c.key.User, Actor: s.state.actorOf(c.key)})
	s.state.touch(s.now(), f.ID, fieldsFor("member", user, fieldMembers)...)
}

// revokeGrant takes a File Share from somebody, named in the query alone. To take what nobody has succeeds.
func (s *Server) revokeGrant(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, refusal := s.fileShareToManage(c, write)
	if refusal != nil {
		return *refusal
	}
	user, email := c.value("user"), c.value("email")
	s.checkGrantee(c, user, email)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if user == "" {
		user = s.state.userOf(email)
	}
	had := len(f.Grants)
	f.Grants = slices.DeleteFunc(f.Grants, func(g Grant) bool { return grantIsFor(&g, user, email) })
	if len(f.Grants) < had {
		s.tellGrant(f, "file_share_access_revoked", user, c)
	}
	return ok()
}
