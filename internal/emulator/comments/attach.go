package comments

import (
	"net/http"
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

const attachmentsMost = 25

// targets reads the ids of what to attach: one, or a list of them.
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

// listAttachments answers with what a comment refers to.
func (h *Handlers) listAttachments(c *wire.Call) (wire.Object, error) {
	cm, err := h.commentOfPath(c)
	if err != nil {
		return nil, err
	}
	return h.attachments(c, cm)
}

func (h *Handlers) attachments(c *wire.Call, cm *Comment, more ...wire.Member) (wire.Object, error) {
	list := wire.Object{{"attachments", h.view(c).attachments(cm)}, {"attachment_count", len(cm.Targets)}}
	return append(list, more...), nil
}

// attach adds objects to a comment. What is attached already is skipped.
func (h *Handlers) attach(c *wire.Call) (wire.Object, error) {
	cm, err := h.ownComment(c)
	if err != nil {
		return nil, err
	}
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

// detach takes one object off a comment. What is not attached is no failure.
func (h *Handlers) detach(c *wire.Call) (wire.Object, error) {
	cm, err := h.ownComment(c)
	if err != nil {
		return nil, err
	}
	delete(c.JSON, "target_ids") // there is no batch
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
func (h *Handlers) unlinkComment(c *wire.Call) (wire.Object, error) {
	cm, err := h.ownComment(c)
	if err != nil {
		return nil, err
	}
	if cm.LinkedEntityType != "" || cm.LinkedEntity != "" {
		cm.LinkedEntityType, cm.LinkedEntity = "", ""
		h.announceChange(cm, "comment_updated", cm.User)
	}
	v := h.view(c)
	v.nulls = true
	return wire.Object{{"comment", v.comment(cm, true)}}, nil
}
