package comments

import (
	"net/http"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of comments. The first three are published.
const (
	codeBodyOnCreate  = 162417
	codeBodyOnUpdate  = 164797
	codeVisibleText   = 166910
	codeSpam          = 199314
	codeCommentLimit  = 199315
	codeIsDeleted     = 199316
	codeNoComment     = 199317
	codeNoTarget      = 199318
	codeAttachedLimit = 199319
)

// venueOfPath finds where the comments of a call are, and checks that the caller may look.
func (h *Handlers) venueOfPath(c *wire.Call) (world.Venue, error) {
	kind, id, node := c.Segment("entity_type"), c.Segment("parent_id"), wire.Plain(c.Segment("node_id"))
	switch kind {
	case wire.KindWorkspace, wire.KindShare, wire.KindFileShare:
	case "":
		c.Check.Missing("entity_type", "workspace, share or fileshare.")
	default:
		c.Check.Invalid("entity_type", "workspace, share or fileshare.")
	}
	switch {
	case id == "":
		c.Check.Missing("parent_id", "Name what the comments are on.")
	case !wire.IsProfile(id) && (kind != wire.KindFileShare || !wire.IsOpaque(wire.Plain(id))):
		c.Check.Mistyped("parent_id", "profile_id")
	}
	switch {
	case node == "" && kind == wire.KindFileShare:
		c.Check.Missing("node_id", "A File Share has comments on its file only.")
	case node != "" && !wire.IsOpaque(node):
		c.Check.Mistyped("node_id", "opaque_id")
	}
	if err := c.Check.Refusal(); err != nil {
		return world.Venue{}, err
	}
	if kind == wire.KindFileShare {
		return h.venueOfFileShare(c, id, node)
	}
	if h.KindOf(id) != kind {
		return world.Venue{}, wire.NoSuch(wire.CodeNotFound, kind)
	}
	at := world.Venue{Profile: id, Node: node}
	if err := h.MayLook(c.Key, at); err != nil {
		return world.Venue{}, err
	}
	if node != "" && h.Node(id, node) == nil {
		return world.Venue{}, wire.NoSuch(wire.CodeNotFound, "node")
	}
	return at, nil
}

func (h *Handlers) venueOfFileShare(c *wire.Call, id, node string) (world.Venue, error) {
	f := h.FileShareNamed(id)
	if !f.Open(h.World) {
		return world.Venue{}, wire.NoSuch(wire.CodeNotFound, "File Share")
	}
	at := world.Venue{Profile: f.Workspace, FileShare: f.ID, Node: node}
	if err := h.MayLook(c.Key, at); err != nil {
		return world.Venue{}, err
	}
	if err := f.Locked(c); err != nil {
		return world.Venue{}, err
	}
	if node != f.Node {
		return world.Venue{}, wire.NoSuch(wire.CodeNotFound, "node")
	}
	if !f.TakesComments() {
		return world.Venue{}, wire.Denied("comments are off.")
	}
	return at, nil
}

// mayPost refuses a caller who may look at a venue and not write there.
func (h *Handlers) mayPost(k *wire.Credential, at world.Venue) error {
	if h.Covers(k, at.Reached()) < wire.Write {
		return k.RefuseWrite()
	}
	if !h.posts(k.User, at) {
		return wire.Denied("you may not comment here.")
	}
	return nil
}

// posts reports whether a user may comment in a venue: guests where their share lets them, recipients where the owner
// of the File Share does.
func (h *Handlers) posts(userID string, at world.Venue) bool {
	if f := h.FileShares[at.FileShare]; at.FileShare != "" {
		return f != nil && f.TakesComments() && h.Admits(f, userID)
	}
	role := h.Role(at.Profile, userID)
	if share := h.Shares[at.Profile]; share != nil && role == world.Guest {
		return !share.Value.NoComments
	}
	return world.Rank(role) >= world.Rank(world.Member)
}

// Sees reports whether a user who may look at the venue of a comment sees the comment: members see all, guests their
// own and what the share shows them, recipients those of other recipients.
func (h *Handlers) Sees(userID string, cm *Comment) bool {
	if cm.FileShare != "" || cm.User == userID || world.Rank(h.Role(cm.Profile, userID)) >= world.Rank(world.Member) {
		return true
	}
	share := h.Shares[cm.Profile]
	if share == nil {
		return false
	}
	if world.Rank(h.Role(cm.Profile, cm.User)) >= world.Rank(world.Member) {
		return !share.Value.HideTeamComments
	}
	return !share.Value.HideGuestComments
}

// commentOfPath finds the comment of a call, if the caller may look at it.
func (h *Handlers) commentOfPath(c *wire.Call) (*Comment, error) {
	id := wire.Plain(c.Segment("comment_id"))
	switch {
	case id == "":
		c.Check.Missing("comment_id", "Name a comment.")
	case !wire.IsOpaque(id):
		c.Check.Mistyped("comment_id", "opaque_id")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	return h.commentFor(c.Key, id)
}

func (h *Handlers) commentFor(k *wire.Credential, id string) (*Comment, error) {
	cm := h.Comments.byID[id]
	if cm == nil {
		return nil, wire.NoSuch(codeNoComment, "comment")
	}
	if err := h.MayLook(k, cm.venue()); err != nil {
		return nil, err
	}
	if !h.Sees(k.User, cm) {
		return nil, wire.Denied("you may not see this comment.")
	}
	return cm, nil
}

// ownComment finds the comment of a call that only its author may change.
func (h *Handlers) ownComment(c *wire.Call) (*Comment, error) {
	cm, err := h.commentOfPath(c)
	if err == nil {
		err = h.mayChange(c.Key, cm)
	}
	return cm, err
}

// mayChange refuses whoever is not the author, and changes of what is deleted.
func (h *Handlers) mayChange(k *wire.Credential, cm *Comment) error {
	switch {
	case cm.User != k.User:
		return wire.Denied("only the author may change a comment.")
	case cm.IsDeleted():
		return isDeleted()
	}
	return h.mayPost(k, cm.venue())
}

func isDeleted() error {
	return wire.Refuse(http.StatusNotAcceptable, codeIsDeleted, "Comment is deleted")
}

// inside reports whether a user meets a comment where it was written. To the members of a workspace the comments of
// File Share recipients are there to read.
func (h *Handlers) inside(userID string, cm *Comment) bool {
	return cm.FileShare == "" || cm.User == userID || world.Rank(h.Role(cm.Profile, userID)) < world.Rank(world.Member)
}

// mayDelete reports whether a user may delete a comment: the author, and an admin of the workspace or share, but not of
// what was written on a File Share.
func (h *Handlers) mayDelete(userID string, cm *Comment) bool {
	return cm.User == userID || cm.FileShare == "" && world.Rank(h.Role(cm.Profile, userID)) >= world.Rank(world.Admin)
}
