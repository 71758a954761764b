package comments

import (
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

const bulkMost = 100

// deleteComment deletes a comment and its replies.
func (h *Handlers) deleteComment(c *wire.Call) (wire.Object, error) {
	cm, err := h.commentOfPath(c)
	if err == nil {
		err = h.refuseDelete(c.Key, cm)
	}
	if err != nil {
		return nil, err
	}
	h.erase(c, cm)
	for _, reply := range h.Comments.List {
		if reply.Parent == cm.ID && !reply.IsDeleted() {
			h.erase(c, reply)
		}
	}
	v := h.view(c)
	v.whole = true
	o := v.comment(cm, v.inside(cm))
	o = slices.DeleteFunc(o, func(m wire.Member) bool { return m.Key == "attachments" })
	return wire.Object{{"message", "The comment was deleted."}, {"comment", o}}, nil
}

// refuseDelete refuses whoever may not delete a comment, and to delete one twice.
func (h *Handlers) refuseDelete(k *wire.Credential, cm *Comment) error {
	switch {
	case cm.IsDeleted():
		return wire.NoSuch(codeNoComment, "comment")
	case h.Covers(k, cm.venue().Reached()) < wire.Write:
		return k.RefuseWrite()
	case !h.mayDelete(k.User, cm):
		return wire.Denied("you may not delete this comment.")
	}
	return nil
}

func (h *Handlers) erase(c *wire.Call, cm *Comment) {
	cm.Deleted = h.Now().UTC().Truncate(time.Second)
	cm.Updated = cm.Deleted
	h.announceChange(cm, "comment_deleted", c.Key.User)
}

// deleteComments deletes many comments, each if the caller may, and leaves their replies alone.
func (h *Handlers) deleteComments(c *wire.Call) (wire.Object, error) {
	f := c.JSON
	ids := f.Texts(c, "comment_ids", bulkMost)
	for _, id := range ids {
		if !wire.IsOpaque(wire.Plain(id)) {
			c.Check.Mistyped("comment_ids", "array of opaque_id")
			break
		}
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	var rows, failed []wire.Object
	for _, id := range ids {
		cm, err := h.commentFor(c.Key, wire.Plain(id))
		if err == nil {
			err = h.refuseDelete(c.Key, cm)
		}
		row := wire.Object{{"comment_id", id}, {"result", err == nil}}
		if err != nil {
			failed = append(failed,
				wire.Object{{"comment_id", id}, {"code", wire.RefusalOf(err).Code}, {"message", wire.RefusalOf(err).Text}})
			row = append(row,
				wire.Member{"error", wire.Object{{"code", wire.RefusalOf(err).Code}, {"text", wire.RefusalOf(err).Text}}})
		} else {
			h.erase(c, cm)
		}
		rows = append(rows, row)
	}
	deleted := len(rows) - len(failed)
	if h.Options.Comments.BulkErrors {
		return wire.Object{{"count", deleted}, {"errors", failed}}, nil
	}
	return wire.Object{{"deleted", deleted}, {"results", rows}}, nil
}
