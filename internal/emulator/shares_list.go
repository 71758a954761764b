package emulator

import (
	"net/http"
	"slices"
)

// sharesAll answers with the shares that a user has joined, was invited to or owns. Those that lost their folder are
// not among them.
func (s *Server) sharesAll(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	return s.list(c, "shares", st.sharesFor(c.key, func(h *share) bool {
		return (st.joined(h, c.key.User) || st.expectedAs(h.ID, c.key.User) != nil) && !st.orphaned(st.storeFor(h.ID, c.key.User))
	}), s.shareRow)
}

// sharesAvailable answers with the shares that a user is in or may join, without pages.
func (s *Server) sharesAvailable(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	st := &s.state
	rows := []object{}
	for _, id := range st.sharesFor(c.key, func(h *share) bool {
		return (st.joined(h, c.key.User) || st.joinable(h, c.key.User)) && !st.orphaned(st.storeFor(h.ID, c.key.User))
	}) {
		rows = append(rows, s.shareRow(id, c.key.User, c.out.level))
	}
	return ok(member{"shares", rows})
}

// sharesOfWorkspace answers with the shares of a workspace that its caller may look into.
func (s *Server) sharesOfWorkspace(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	room := st.workspaceNamed(c.segment("workspace_id"), c.key.User)
	if room == "" {
		return *noSuch(codeNotFound, kindWorkspace)
	}
	if refusal := st.mayLook(c.key, venue{profile: room}); refusal != nil {
		return *refusal
	}
	archived := c.boolean("archived") // one of two lists: the archived shares, or the others
	return s.list(c, "shares", st.sharesFor(c.key, func(h *share) bool {
		return h.Workspace == room && h.Archived == archived && st.role(h.ID, c.key.User) != ""
	}), s.shareRow)
}

// sharesOfUser answers with the shares that a user owns or has joined.
func (s *Server) sharesOfUser(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	archived := c.boolean("archived") // one of two lists: the archived shares, or the others
	return s.list(c, "shares", st.sharesFor(c.key, func(h *share) bool {
		return h.Archived == archived && st.joined(h, c.key.User)
	}), s.shareRow)
}

// sharesFor lists the shares under a credential that a condition holds for.
func (st *state) sharesFor(k *credential, holds func(*share) bool) []string {
	return slices.DeleteFunc(slices.Clone(st.shareList), func(id string) bool {
		return st.covers(k, id) < read || !holds(&st.shares[id].it)
	})
}

// joined tells whether a user is a member of a share, and not only of what is around it.
func (st *state) joined(h *share, userID string) bool { return st.direct(h.ID, userID) != "" }

// joinable tells whether a user may become a member of a share without being invited.
func (st *state) joinable(h *share, userID string) bool {
	isMember := st.role(h.ID, userID) != "" || st.role(h.Workspace, userID) != ""
	switch h.access() {
	case accessMembers:
		return isMember
	case accessOrg:
		return isMember || st.role(h.Org, userID) != ""
	}
	return false
}

// shareRow is a share in a list, which tells whether the user has joined it.
func (s *Server) shareRow(id, viewer string, lv level) object {
	r := row{level: lv, fields: s.shareObject(id, viewer, lv)}
	status := "available"
	if s.state.joined(&s.state.shares[id].it, viewer) {
		status = "joined"
	}
	r.put(standard, "user_status", status)
	return r.fields
}

// checkShareName answers 202 for a custom name that is free.
func (s *Server) checkShareName(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	name := c.segment("name")
	switch {
	case !isCustomName(name):
		c.check.invalid("name", "4 to 80 letters and digits.")
	case s.state.nameTaken(name, ""):
		c.check.add("name", "invalid", "The name is in use.", codeNameTaken)
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	return answer{status: http.StatusAccepted}
}
