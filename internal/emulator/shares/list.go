package shares

import (
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// sharesAll answers with the shares that a user has joined, was invited to or owns. Those that lost their folder are
// not among them.
func (h *Handlers) sharesAll(c *wire.Call) (wire.Object, error) {
	return h.List(c, "shares", h.sharesFor(c.Key, func(it *world.Share) bool {
		return (h.joined(it, c.Key.User) || h.ExpectedAs(it.ID, c.Key.User) != nil) &&
			!h.Orphaned(h.StoreFor(it.ID, c.Key.User))
	}), h.shareRow)
}

// sharesAvailable answers with the shares that a user is in or may join, without pages.
func (h *Handlers) sharesAvailable(c *wire.Call) (wire.Object, error) {
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	rows := []wire.Object{}
	for _, id := range h.sharesFor(c.Key, func(it *world.Share) bool {
		return (h.joined(it, c.Key.User) || h.Joinable(it, c.Key.User)) && !h.Orphaned(h.StoreFor(it.ID, c.Key.User))
	}) {
		rows = append(rows, h.shareRow(id, c.Key.User, c.Out.Level))
	}
	return wire.Object{{"shares", rows}}, nil
}

// sharesOfWorkspace answers with the shares of a workspace that its caller may look into.
func (h *Handlers) sharesOfWorkspace(c *wire.Call) (wire.Object, error) {
	room := h.WorkspaceNamed(c.Segment("workspace_id"), c.Key.User)
	if room == "" {
		return nil, wire.NoSuch(wire.CodeNotFound, wire.KindWorkspace)
	}
	if err := h.MayLook(c.Key, world.Venue{Profile: room}); err != nil {
		return nil, err
	}
	archived := c.Boolean("archived") // one of two lists: the archived shares, or the others
	return h.List(c, "shares", h.sharesFor(c.Key, func(it *world.Share) bool {
		return it.Workspace == room && it.Archived == archived && h.Role(it.ID, c.Key.User) != ""
	}), h.shareRow)
}

// sharesOfUser answers with the shares that a user owns or has joined.
func (h *Handlers) sharesOfUser(c *wire.Call) (wire.Object, error) {
	archived := c.Boolean("archived") // one of two lists: the archived shares, or the others
	return h.List(c, "shares", h.sharesFor(c.Key, func(it *world.Share) bool {
		return it.Archived == archived && h.joined(it, c.Key.User)
	}), h.shareRow)
}

// sharesFor lists the shares under a credential that a condition holds for.
func (h *Handlers) sharesFor(k *wire.Credential, holds func(*world.Share) bool) []string {
	return slices.DeleteFunc(slices.Clone(h.ShareList), func(id string) bool {
		return h.Covers(k, id) < wire.Read || !holds(&h.Shares[id].Value)
	})
}

// joined reports whether a user is a member of a share, and not only of what is around it.
func (h *Handlers) joined(it *world.Share, userID string) bool { return h.Direct(it.ID, userID) != "" }

// Joinable reports whether a user may become a member of a share without being invited.
func (h *Handlers) Joinable(it *world.Share, userID string) bool {
	isMember := h.Role(it.ID, userID) != "" || h.Role(it.Workspace, userID) != ""
	switch it.AccessOption() {
	case world.AccessMembers:
		return isMember
	case world.AccessOrg:
		return isMember || h.Role(it.Org, userID) != ""
	}
	return false
}

// shareRow is a share in a list, which reports whether the user has joined it.
func (h *Handlers) shareRow(id, viewer string, lv wire.Level) wire.Object {
	r := wire.Row{Level: lv, Fields: h.ShareObject(id, viewer, lv)}
	status := "available"
	if h.joined(&h.Shares[id].Value, viewer) {
		status = "joined"
	}
	r.Put(wire.Standard, "user_status", status)
	return r.Fields
}

// checkShareName answers 202 for a custom name that is free.
func (h *Handlers) checkShareName(c *wire.Call) (wire.Object, error) {
	name := c.Segment("name")
	switch {
	case !isCustomName(name):
		c.Check.Invalid("name", "4 to 80 letters and digits.")
	case h.nameTaken(name, ""):
		c.Check.Add("name", "invalid", "The name is in use.", codeNameTaken)
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	return c.Accepted(nil)
}
