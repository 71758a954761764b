package emulator

// react sets the caller's one reaction to a comment.
func (s *Server) react(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	cm, refusal := s.commentOfPath(c)
	if refusal != nil {
		return *refusal
	}
	f, refusal := c.readJSON()
	if refusal != nil {
		return *refusal
	}
	emoji := f.text(c, "emoji")
	switch {
	case !f.has("emoji"):
		c.check.missing("emoji", "One emoji.")
	case !isEmoji(emoji):
		c.check.invalid("emoji", "One emoji.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	return s.setReaction(c, cm, emoji)
}

// unreact takes the caller's reaction back, if there is one.
func (s *Server) unreact(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	cm, refusal := s.commentOfPath(c)
	if refusal != nil {
		return *refusal
	}
	return s.setReaction(c, cm, "")
}

// setReaction is silent when nothing changes.
func (s *Server) setReaction(c *call, cm *comment, emoji string) answer {
	user := c.key.User
	switch refusal := s.state.mayPost(c.key, cm.venue()); {
	case refusal != nil:
		return *refusal
	case !s.state.inside(user, cm):
		return *denied("comments on a File Share are read-only here.")
	case cm.deleted():
		return *isDeleted()
	}
	before := cm.reactions[user]
	if emoji == "" {
		delete(cm.reactions, user)
	} else {
		cm.reactions[user] = emoji
	}
	if before != emoji {
		s.announceChange(cm, "comment_reaction", user)
	}
	if s.o.Comments.BareReactions {
		return ok(member{"reactions", cm.tally()}, member{"user_reaction", optional(emoji)})
	}
	return ok(member{"comment", s.view(c).comment(cm, true)})
}
