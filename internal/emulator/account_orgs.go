package emulator

import (
	"strings"
)

// orgsList answers with the organizations the caller belongs to.
func (s *Server) orgsList(c *call) answer { return s.orgs(c, true) }

// orgsExternal answers with those reached only through a workspace or a share.
func (s *Server) orgsExternal(c *call) answer { return s.orgs(c, false) }

func (s *Server) orgs(c *call, member bool) answer {
	return s.orgsThat(c, func(o Org, role Role) bool {
		return (role != "") == member && (member || s.state.guestOf(o.ID, c.key.User))
	})
}

// orgsAll answers with the organizations the caller belongs to, and with those that asked for it.
func (s *Server) orgsAll(c *call) answer {
	return s.orgsThat(c, func(o Org, role Role) bool {
		return role != "" || s.state.invited(o.ID, c.key.User)
	})
}

// orgsAvailable answers with those that the caller may join, which are the ones that anybody may.
func (s *Server) orgsAvailable(c *call) answer {
	return s.orgsThat(c, func(o Org, role Role) bool { return role == "" && o.Joinable })
}

func (s *Server) orgsThat(c *call, fits func(o Org, role Role) bool) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var ids []string
	for _, id := range s.state.orgList {
		if s.state.touches(c.key, id) && fits(s.state.orgs[id].it, s.state.role(id, c.key.User)) {
			ids = append(ids, id)
		}
	}
	return s.list(c, "orgs", ids, s.state.orgObject)
}

// guestOf tells whether a user reaches something in an organization.
func (st *state) guestOf(orgID, userID string) bool {
	for _, ids := range [...][]string{st.spaceList, st.shareList} {
		for _, id := range ids {
			if st.orgOf(id) == orgID && st.role(id, userID) != "" {
				return true
			}
		}
	}
	return false
}

func (st *state) orgObject(id, viewer string, lv level) object {
	o := st.orgs[id]
	role := st.role(id, viewer)
	r := row{level: lv}
	r.put(terse, "id", profileID(id))
	r.put(terse, "domain", o.it.Domain)
	r.put(terse, "name", o.it.Name)
	r.put(terse, "logo", nil)
	r.put(standard, "description", optional(o.it.Description))
	r.put(standard, "owner", optionalProfile(o.it.Owner))
	r.put(standard, "member", role != "")
	status := userStatus(role)
	if role == "" && st.invited(id, viewer) {
		status = "invited"
	}
	r.put(standard, "user_status", status)
	r.put(standard, "closed", false)
	r.put(standard, "created", stamp(o.created))
	r.put(standard, "updated", stamp(o.created))
	r.put(full, "plan", planNamed(o.it.Plan).name)
	r.put(full, "accent_color", nil)
	r.put(full, "capabilities", object{{"can_create_workspace", rank(role) >= rank(Member)}})
	return r.fields
}

// invited tells whether a user was asked to join a profile and has not answered.
func (st *state) invited(profileID, userID string) bool {
	v := st.expectedAs(profileID, userID)
	return v != nil && v.State == invitePending
}

// userStatus is the caller's standing on a profile.
func userStatus(role Role) string {
	if role == "" {
		return "none"
	}
	return string(role)
}

func (s *Server) orgDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	id, refusal := s.orgOfPath(c)
	if refusal != nil {
		return *refusal
	}
	if refusal := s.mayEnter(c, id); refusal != nil {
		return *refusal
	}
	return ok(member{s.orgKey(), s.state.orgObject(id, c.key.User, c.out.level)})
}

// orgMembers lists the members of an organization for one of them.
func (s *Server) orgMembers(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.orgOfPath(c)
	if refusal != nil {
		return *refusal
	}
	if refusal := s.mayEnter(c, id); refusal != nil {
		return *refusal
	}
	if s.state.role(id, c.key.User) == "" {
		return notMember()
	}
	return s.memberList(c, id)
}

func (s *Server) orgKey() string {
	if s.o.Account.OrganizationKey {
		return "organization"
	}
	return "org"
}

// orgPublic shows everybody what an organization shows in the open; which members that are is assumed.
func (s *Server) orgPublic(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	id, refusal := s.orgOfPath(c)
	if refusal != nil {
		return *refusal
	}
	o := s.state.orgs[id]
	r := row{level: c.out.level}
	r.put(terse, "id", profileID(id))
	r.put(terse, "domain", o.it.Domain)
	r.put(terse, "name", o.it.Name)
	r.put(terse, "logo", nil)
	r.put(standard, "description", optional(o.it.Description))
	r.put(full, "accent_color", nil)
	return ok(member{s.orgKey(), r.fields})
}

// orgOfPath finds the organization a path names by id or domain.
func (s *Server) orgOfPath(c *call) (string, *answer) {
	if id := s.state.orgNamed(c.segment("org_id")); id != "" {
		return id, nil
	}
	a := noProfile()
	return "", &a
}

// orgNamed finds an organization by id or domain, "" for none.
func (st *state) orgNamed(name string) string {
	for _, id := range st.orgList {
		if id == name || strings.EqualFold(st.orgs[id].it.Domain, name) {
			return id
		}
	}
	return ""
}

// mayEnter refuses an organization that credential or user do not reach.
func (s *Server) mayEnter(c *call, orgID string) *answer {
	st := &s.state
	var a answer
	switch {
	case !st.touches(c.key, orgID):
		a = st.outOfScope(orgID)
	case st.role(orgID, c.key.User) == "" && !st.guestOf(orgID, c.key.User):
		a = notMember()
	default:
		return nil
	}
	return &a
}
