package comments

import (
	"net/http"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

const bulkMost = 100

func (h *Handlers) deleteComment(c *wire.Call, cm *Comment) (wire.Object, error) {
	if err := h.refuseDelete(c.Key, cm); err != nil {
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
				wire.Object{
					{"comment_id", id},
					{"code", wire.RefusalOf(err).Code},
					{"message", wire.RefusalOf(err).Text},
				})
			row = append(row,
				wire.Member{
					"error",
					wire.Object{{"code", wire.RefusalOf(err).Code}, {"text", wire.RefusalOf(err).Text}},
				})
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

func (h *Handlers) react(c *wire.Call, cm *Comment) (wire.Object, error) {
	f := c.JSON
	emoji := f.Text(c, "emoji")
	switch {
	case !f.Has("emoji"):
		c.Check.Missing("emoji", "One emoji.")
	case !isEmoji(emoji):
		c.Check.Invalid("emoji", "One emoji.")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	return h.setReaction(c, cm, emoji)
}

func (h *Handlers) unreact(c *wire.Call, cm *Comment) (wire.Object, error) {
	return h.setReaction(c, cm, "")
}

// setReaction is silent when nothing changes.
func (h *Handlers) setReaction(c *wire.Call, cm *Comment, emoji string) (wire.Object, error) {
	user := c.Key.User
	switch err := h.mayPost(c.Key, cm.venue()); {
	case err != nil:
		return nil, err
	case !h.inside(user, cm):
		return nil, wire.Denied("comments on a File Share are read-only here.")
	case cm.IsDeleted():
		return nil, isDeleted()
	}
	before := cm.reactions[user]
	if emoji == "" {
		delete(cm.reactions, user)
	} else {
		cm.reactions[user] = emoji
	}
	if before != emoji {
		h.announceChange(cm, "comment_reaction", user)
	}
	if h.Options.Comments.BareReactions {
		return wire.Object{{"reactions", cm.tally()}, {"user_reaction", wire.Optional(emoji)}}, nil
	}
	return wire.Object{{"comment", h.view(c).comment(cm, true)}}, nil
}

const attachmentsMost = 25

func targets(f wire.Members, c *wire.Call, required bool) []string {
	var ids []string
	one, many := f.Has("target_id"), c.JSON.Has("target_ids")
	switch {
	case one && many:
		c.Check.Invalid("target_ids", "Not with target_id.")
	case one:
		ids = []string{f.Text(c, "target_id")}
	case many:
		ids = f.Texts(c, "target_ids", attachmentsMost)
	case required:
		c.Check.Missing("target_id", "Name what to attach.")
	}
	name := "target_ids"
	if one {
		name = "target_id"
	}
	for i, id := range ids {
		if !wire.IsProfile(id) {
			ids[i] = wire.Plain(id)
		}
		if !wire.IsProfile(id) && !wire.IsOpaque(ids[i]) {
			c.Check.Mistyped(name, "opaque_id")
			break
		}
	}
	return ids
}

// attachable adds targets to those a comment has. One that the author cannot see, and one too many, refuse all.
func (h *Handlers) attachable(userID string, has, more []string) ([]string, error) {
	all := slices.Clone(has)
	for _, id := range more {
		if f := h.FileShareNamed(id); f != nil {
			id = f.ID
		}
		if !h.target(id, userID).available {
			return nil, wire.NoSuch(codeNoTarget, "object to attach")
		}
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	if len(all) > attachmentsMost {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeAttachedLimit, "A comment has at most 25 attachments.")
	}
	return all, nil
}

func (h *Handlers) listAttachments(c *wire.Call, cm *Comment) (wire.Object, error) {
	return h.attachments(c, cm)
}

func (h *Handlers) attachments(c *wire.Call, cm *Comment, more ...wire.Member) (wire.Object, error) {
	list := wire.Object{{"attachments", h.view(c).attachments(cm)}, {"attachment_count", len(cm.Targets)}}
	return append(list, more...), nil
}

// attach adds objects to a comment. What is attached already is skipped.
func (h *Handlers) attach(c *wire.Call, cm *Comment) (wire.Object, error) {
	ids := targets(c.JSON, c, true)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	all, err := h.attachable(c.Key.User, cm.Targets, ids)
	if err != nil {
		return nil, err
	}
	if len(all) > len(cm.Targets) {
		cm.Targets = all
		h.announceChange(cm, "comment_updated", cm.User)
	}
	return h.attachments(c, cm)
}

// detach removes one object from a comment. Removing one that is not attached succeeds.
func (h *Handlers) detach(c *wire.Call, cm *Comment) (wire.Object, error) {
	delete(c.JSON, "target_ids") // only one object at a time
	ids := targets(c.JSON, c, true)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	id := ids[0]
	if share := h.FileShareNamed(id); share != nil {
		id = share.ID
	}
	removed := slices.Contains(cm.Targets, id)
	if removed {
		cm.Targets = slices.DeleteFunc(slices.Clone(cm.Targets), func(t string) bool { return t == id })
		h.announceChange(cm, "comment_updated", cm.User)
	}
	return h.attachments(c, cm, wire.Member{"removed", removed})
}

// unlinkComment frees a comment of what the workflows of old linked it to.
func (h *Handlers) unlinkComment(c *wire.Call, cm *Comment) (wire.Object, error) {
	if cm.LinkedEntityType != "" || cm.LinkedEntity != "" {
		cm.LinkedEntityType, cm.LinkedEntity = "", ""
		h.announceChange(cm, "comment_updated", cm.User)
	}
	v := h.view(c)
	v.nulls = true
	return wire.Object{{"comment", v.comment(cm, true)}}, nil
}
