package comments

import (
	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// react sets the caller's one reaction to a comment.
func (h *Handlers) react(c *wire.Call) (wire.Object, error) {
	cm, err := h.commentOfPath(c)
	if err != nil {
		return nil, err
	}
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

// unreact takes the caller's reaction back, if there is one.
func (h *Handlers) unreact(c *wire.Call) (wire.Object, error) {
	cm, err := h.commentOfPath(c)
	if err != nil {
		return nil, err
	}
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
