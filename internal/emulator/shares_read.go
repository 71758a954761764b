package emulator

// shareDetails answers for an id or a custom name.
func (s *Server) shareDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.readableShare(c, codeNoView)
	if refusal != nil {
		return *refusal
	}
	return ok(member{"share", s.shareObject(id, c.userID(), c.out.level)})
}

func (s *Server) readableShare(c *call, code int64) (string, *answer) {
	if refusal := c.check.refusal(); refusal != nil {
		return "", refusal
	}
	id := s.state.shareNamed(c.segment("share_id"))
	if id == "" {
		return "", noSuch(codeNotFound, kindShare)
	}
	return id, s.mayRead(c, id, code)
}

// publicDetails answers with what a visitor meets: the share, whose it is, and what lies in its root.
func (s *Server) publicDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	id, refusal := s.readableShare(c, codeNoPublicView)
	if refusal != nil {
		return *refusal
	}
	h := &st.shares[id].it
	in := st.storeOf(id, c)
	nodes, users := []object{}, []object{}
	for _, n := range st.childrenOf(in.owner, in.folder) {
		nodes = append(nodes, s.nodeObject(in, n, c.out.level))
	}
	if in.insider(st) {
		for _, user := range st.membersOf(id) {
			users = append(users, st.userObject(user, in.user, terse))
		}
	}
	return ok(
		member{"share", s.shareObject(id, in.user, c.out.level)},
		member{"owner", st.shareOwner(in, h)},
		member{"nodes", nodes},
		member{"users", users},
		member{"comments", []object{}},
		member{"org", st.shareOrg(h)},
	)
}

// shareOwner is who a share belongs to; the e-mail address is for members.
func (st *state) shareOwner(in store, h *share) any {
	id := h.Creator
	if owners := st.ownersOf(h.ID); len(owners) > 0 {
		id = owners[0]
	}
	if st.users[id] == nil {
		return nil
	}
	o := st.userObject(id, in.user, terse)
	if in.insider(st) {
		o = append(o, member{"email_address", st.users[id].it.Email})
	}
	return o
}

// shareOrg is the organization around a share, as anyone may see it.
func (st *state) shareOrg(h *share) any {
	o := st.orgs[h.Org]
	if o == nil {
		return nil
	}
	return object{{"id", profileID(h.Org)}, {"domain", o.it.Domain}, {"name", o.it.Name}, {"logo", nil}}
}
