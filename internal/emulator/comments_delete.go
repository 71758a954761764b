package emulator

import (
	"slices"
	"time"
)

const bulkMost = 100

// deleteComment deletes a comment and its replies.
func (s *Server) deleteComment(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	cm, refusal := s.commentOfPath(c)
	if refusal == nil {
		refusal = s.refuseDelete(c.key, cm)
	}
	if refusal != nil {
		return *refusal
	}
	s.erase(c, cm)
	for _, reply := range s.state.comments.list {
		if reply.Parent == cm.ID && !reply.deleted() {
			s.erase(c, reply)
		}
	}
	v := s.view(c)
	v.whole = true
	o := v.comment(cm, v.inside(cm))
	o = slices.DeleteFunc(o, func(m member) bool { return m.key == "attachments" })
	return ok(member{"message", "The comment was deleted."}, member{"comment", o})
}

// refuseDelete refuses whoever may not delete a comment, and to delete one twice.
func (s *Server) refuseDelete(k *credential, cm *comment) *answer {
	st := &s.state
	switch {
	case cm.deleted():
		return noSuch(codeNoComment, "comment")
	case st.covers(k, cm.venue().reached()) < write:
		return k.refuseWrite()
	case !st.mayDelete(k.User, cm):
		return denied("you may not delete this comment.")
	}
	return nil
}

func (s *Server) erase(c *call, cm *comment) {
	cm.Deleted = s.now().UTC().Truncate(time.Second)
	cm.updated = cm.Deleted
	s.announceChange(cm, "comment_deleted", c.key.User)
}

// deleteComments deletes many comments, each if the caller may, and leaves their replies alone.
func (s *Server) deleteComments(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, refusal := c.readJSON()
	if refusal != nil {
		return *refusal
	}
	ids := f.texts(c, "comment_ids", bulkMost)
	for _, id := range ids {
		if !isOpaque(plain(id)) {
			c.check.mistyped("comment_ids", "array of opaque_id")
			break
		}
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	var rows, failed []object
	for _, id := range ids {
		cm, refusal := s.commentFor(c.key, plain(id))
		if refusal == nil {
			refusal = s.refuseDelete(c.key, cm)
		}
		row := object{{"comment_id", id}, {"result", refusal == nil}}
		if refusal != nil {
			failed = append(failed, object{{"comment_id", id}, {"code", refusal.failure.code}, {"message", refusal.failure.text}})
			row = append(row, member{"error", object{{"code", refusal.failure.code}, {"text", refusal.failure.text}}})
		} else {
			s.erase(c, cm)
		}
		rows = append(rows, row)
	}
	deleted := len(rows) - len(failed)
	if s.o.Comments.BulkErrors {
		return ok(member{"count", deleted}, member{"errors", failed})
	}
	return ok(member{"deleted", deleted}, member{"results", rows})
}
