package emulator

import (
	"math"
	"net/http"
	"strings"
)

const (
	listLimit   = 500
	listDefault = 100
)

func noProfile() answer {
	return refuse(http.StatusNotFound, codeNotFound, "There is no such profile.")
}

func (s *Server) me(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	return ok(member{"user", s.state.userObject(c.key.UserID, c.key.UserID, c.out.level)})
}

// userDetails answers for an id, an e-mail address or me.
func (s *Server) userDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	name := c.segment("user_id")
	for id, u := range s.state.users {
		if id == name || strings.EqualFold(u.it.Email, name) {
			return ok(member{"user", s.state.userObject(id, c.key.UserID, c.out.level)})
		}
	}
	return refuse(http.StatusNotFound, codeNotFound, "There is no such user.")
}

// userObject renders a user; what is private shows to the user alone.
func (st *state) userObject(id, viewer string, lv level) object {
	u := st.users[id]
	r := row{level: lv}
	r.put(terse, "id", profileID(id))
	r.put(terse, "account_type", u.it.AccountType)
	r.put(terse, "first_name", u.it.FirstName)
	r.put(terse, "last_name", u.it.LastName)
	r.put(terse, "profile_pic", nil)
	r.put(standard, "email_address", u.it.Email)
	r.put(standard, "status", "active")
	r.put(standard, "created", stamp(u.created))
	r.put(standard, "updated", stamp(u.created))
	if id == viewer {
		r.put(full, "phone_country", nil)
		r.put(full, "phone_number", nil)
		r.put(full, "two_factor", st.auth.factors[id].active != nil)
	}
	return r.fields
}

// orgsList answers with the organizations the caller belongs to.
func (s *Server) orgsList(c *call) answer { return s.orgs(c, true) }

// orgsExternal answers with those reached only through a workspace or a share.
func (s *Server) orgsExternal(c *call) answer { return s.orgs(c, false) }

func (s *Server) orgs(c *call, member bool) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var ids []string
	for _, id := range s.state.orgList {
		belongs := s.state.role(id, c.key.UserID) != ""
		if belongs == member && (belongs || s.state.guestOf(id, c.key.UserID)) && s.state.touches(c.key, id) {
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

// list pages through profiles.
func (s *Server) list(c *call, key string, ids []string, render func(id, viewer string, lv level) object) answer {
	limit := c.integer("limit", listDefault, 1, listLimit)
	offset := c.integer("offset", 0, 0, math.MaxInt32)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	first := min(offset, len(ids))
	last := min(first+limit, len(ids))
	rows := make([]object, 0, last-first)
	for _, id := range ids[first:last] {
		rows = append(rows, render(id, c.key.UserID, c.out.level))
	}
	return ok(member{key, rows}, member{"pagination", object{
		{"total", len(ids)},
		{"limit", limit},
		{"offset", offset},
		{"has_more", last < len(ids)},
	}})
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
	r.put(standard, "user_status", userStatus(role))
	r.put(standard, "closed", false)
	r.put(standard, "created", stamp(o.created))
	r.put(standard, "updated", stamp(o.created))
	r.put(full, "plan", "business")
	r.put(full, "accent_color", nil)
	r.put(full, "capabilities", object{{"can_create_workspace", role.rank() >= Member.rank()}})
	return r.fields
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
	return ok(member{"org", s.state.orgObject(id, c.key.UserID, c.out.level)})
}

// orgOfPath finds the organization a path names by id or domain.
func (s *Server) orgOfPath(c *call) (string, *answer) {
	name := c.segment("org_id")
	for _, id := range s.state.orgList {
		if id == name || strings.EqualFold(s.state.orgs[id].it.Domain, name) {
			return id, nil
		}
	}
	a := noProfile()
	return "", &a
}

// mayEnter refuses an organization that credential or user do not reach.
func (s *Server) mayEnter(c *call, orgID string) *answer {
	st := &s.state
	var a answer
	switch {
	case !st.touches(c.key, orgID):
		a = st.outOfScope(orgID)
	case st.role(orgID, c.key.UserID) == "" && !st.guestOf(orgID, c.key.UserID):
		a = notMember()
	default:
		return nil
	}
	return &a
}

func (s *Server) workspacesAll(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.list(c, "workspaces", s.state.spacesOf(c.key, ""), s.state.workspaceObject)
}

func (s *Server) workspacesOfOrg(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.orgOfPath(c)
	if refusal != nil {
		return *refusal
	}
	if refusal := s.mayEnter(c, id); refusal != nil {
		return *refusal
	}
	return s.list(c, "workspaces", s.state.spacesOf(c.key, id), s.state.workspaceObject)
}

// spacesOf lists the workspaces a credential reaches, of one organization or of all.
func (st *state) spacesOf(k *credential, orgID string) []string {
	var ids []string
	for _, id := range st.spaceList {
		inside := orgID == "" || st.workspaces[id].it.OrgID == orgID
		if inside && st.role(id, k.UserID) != "" && st.covers(k, id) != noAccess {
			ids = append(ids, id)
		}
	}
	return ids
}

func (st *state) workspaceObject(id, viewer string, lv level) object {
	w := st.workspaces[id]
	role := st.role(id, viewer)
	var domain, owner string
	if o := st.orgs[w.it.OrgID]; o != nil {
		domain, owner = o.it.Domain, o.it.Owner
	}
	r := row{level: lv}
	r.put(terse, "id", profileID(id))
	r.put(terse, "name", w.it.Name)
	r.put(terse, "folder_name", w.it.FolderName)
	r.put(terse, "org_domain", optional(domain))
	r.put(terse, "user_status", userStatus(role))
	r.put(standard, "description", optional(w.it.Description))
	r.put(standard, "org_id", optionalProfile(w.it.OrgID))
	r.put(standard, "owner", optionalProfile(owner))
	r.put(standard, "archived", false)
	r.put(standard, "created", stamp(w.created))
	r.put(standard, "updated", stamp(w.created))
	r.put(full, "logo", nil)
	r.put(full, "intelligence", !w.it.NoIntelligence)
	r.put(full, "capabilities", object{{"can_create_share", role.rank() >= Member.rank() && st.sharing(id)}})
	return r.fields
}

// workspaceDetails answers for an id or a folder name.
func (s *Server) workspaceDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	st := &s.state
	id := st.workspaceNamed(c.segment("workspace_id"), c.key.UserID)
	switch {
	case id == "":
		return noProfile()
	case st.covers(c.key, id) == noAccess:
		return st.outOfScope(id)
	case st.role(id, c.key.UserID) == "":
		return notMember()
	}
	return ok(member{"workspace", st.workspaceObject(id, c.key.UserID, c.out.level)})
}

// workspaceNamed finds a workspace by id or folder name, one of the caller's own first.
func (st *state) workspaceNamed(name, userID string) string {
	found := ""
	for _, id := range st.spaceList {
		if id != name && !strings.EqualFold(st.workspaces[id].it.FolderName, name) {
			continue
		}
		if st.role(id, userID) != "" {
			return id
		}
		found = id
	}
	return found
}
