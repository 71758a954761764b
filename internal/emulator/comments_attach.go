package emulator

import (
	"net/http"
	"slices"
)

const attachmentsMost = 25

// targets reads the ids of what to attach: one, or a list of them.
func (f fields) targets(c *call, required bool) []string {
	var ids []string
	one, many := f.has("target_id"), f.has("target_ids")
	switch {
	case one && many:
		c.check.invalid("target_ids", "Not with target_id.")
	case one:
		ids = []string{f.text(c, "target_id")}
	case many:
		ids = f.texts(c, "target_ids", attachmentsMost)
	case required:
		c.check.missing("target_id", "Name what to attach.")
	}
	name := "target_ids"
	if one {
		name = "target_id"
	}
	for i, id := range ids {
		if !isProfile(id) {
			ids[i] = plain(id)
		}
		if !isProfile(id) && !isOpaque(ids[i]) {
			c.check.mistyped(name, "opaque_id")
			break
		}
	}
	return ids
}

// attachable adds targets to those a comment has. One that the author cannot see, and one too many, refuse all.
func (st *state) attachable(userID string, has, more []string) ([]string, *answer) {
	all := slices.Clone(has)
	for _, id := range more {
		if f := st.fileShareNamed(id); f != nil {
			id = f.ID
		}
		if !st.target(id, userID).available {
			return nil, noSuch(codeNoTarget, "object to attach")
		}
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	if len(all) > attachmentsMost {
		a := refuse(http.StatusNotAcceptable, codeAttachedLimit, "A comment has at most 25 attachments.")
		return nil, &a
	}
	return all, nil
}

// listAttachments answers with what a comment refers to.
func (s *Server) listAttachments(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	cm, refusal := s.commentOfPath(c)
	if refusal != nil {
		return *refusal
	}
	return s.attachments(c, cm)
}

func (s *Server) attachments(c *call, cm *comment, more ...member) answer {
	list := object{{"attachments", s.view(c).attachments(cm)}, {"attachment_count", len(cm.Targets)}}
	return ok(append(list, more...)...)
}

// attach adds objects to a comment. What is attached already is skipped.
func (s *Server) attach(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	cm, f, refusal := s.ownWithBody(c)
	if refusal != nil {
		return *refusal
	}
	ids := f.targets(c, true)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	all, refusal := s.state.attachable(c.key.User, cm.Targets, ids)
	if refusal != nil {
		return *refusal
	}
	if len(all) > len(cm.Targets) {
		cm.Targets = all
		s.announceChange(cm, "comment_updated", cm.User)
	}
	return s.attachments(c, cm)
}

// detach takes one object off a comment. What is not attached is no failure.
func (s *Server) detach(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	cm, f, refusal := s.ownWithBody(c)
	if refusal != nil {
		return *refusal
	}
	delete(f, "target_ids") // there is no batch
	ids := f.targets(c, true)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	id := ids[0]
	if share := s.state.fileShareNamed(id); share != nil {
		id = share.ID
	}
	removed := slices.Contains(cm.Targets, id)
	if removed {
		cm.Targets = slices.DeleteFunc(slices.Clone(cm.Targets), func(t string) bool { return t == id })
		s.announceChange(cm, "comment_updated", cm.User)
	}
	return s.attachments(c, cm, member{"removed", removed})
}

// ownWithBody finds the comment that only its author may change, and reads the body of the call.
func (s *Server) ownWithBody(c *call) (*comment, fields, *answer) {
	cm, refusal := s.ownComment(c)
	if refusal != nil {
		return nil, nil, refusal
	}
	f, refusal := c.readJSON()
	return cm, f, refusal
}

// unlinkComment frees a comment of what the workflows of old linked it to.
func (s *Server) unlinkComment(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	cm, _, refusal := s.ownWithBody(c)
	if refusal != nil {
		return *refusal
	}
	if cm.LinkedEntityType != "" || cm.LinkedEntity != "" {
		cm.LinkedEntityType, cm.LinkedEntity = "", ""
		s.announceChange(cm, "comment_updated", cm.User)
	}
	v := s.view(c)
	v.nulls = true
	return ok(member{"comment", v.comment(cm, true)})
}
