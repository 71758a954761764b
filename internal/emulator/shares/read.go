package shares

import (
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// shareDetails answers for an id or a custom name.
func (h *Handlers) shareDetails(c *wire.Call) (wire.Object, error) {
	id, err := h.readableShare(c, world.CodeNoView)
	if err != nil {
		return nil, err
	}
	return wire.Object{{"share", h.ShareObject(id, c.UserID(), c.Out.Level)}}, nil
}

func (h *Handlers) readableShare(c *wire.Call, code int64) (string, error) {
	if err := c.Check.Refusal(); err != nil {
		return "", err
	}
	id := h.ShareNamed(c.Segment("share_id"))
	if id == "" {
		return "", wire.NoSuch(wire.CodeNotFound, wire.KindShare)
	}
	return id, h.mayRead(c, id, code)
}

// publicDetails answers with what a visitor meets: the share, whose it is, and what lies in its root.
func (h *Handlers) publicDetails(c *wire.Call) (wire.Object, error) {
	id, err := h.readableShare(c, codeNoPublicView)
	if err != nil {
		return nil, err
	}
	share := &h.Shares[id].Value
	in := h.StoreOf(id, c)
	nodes, users := []wire.Object{}, []wire.Object{}
	for _, n := range h.storage.ChildrenOf(in.Owner, in.Folder) {
		nodes = append(nodes, h.storage.NodeObject(in, n, c.Out.Level))
	}
	if in.Insider(h.World) {
		for _, user := range h.MembersOf(id) {
			users = append(users, h.account.UserObject(user, in.User, wire.Terse))
		}
	}
	return wire.Object{
		{"share", h.ShareObject(id, in.User, c.Out.Level)},
		{"owner", h.shareOwner(in, share)},
		{"nodes", nodes},
		{"users", users},
		{"comments", []wire.Object{}},
		{"org", h.shareOrg(share)},
	}, nil
}

// shareOwner is who a share belongs to; the e-mail address is for members.
func (h *Handlers) shareOwner(in world.Store, portal *world.Share) any {
	id := portal.Creator
	if owners := h.ownersOf(portal.ID); len(owners) > 0 {
		id = owners[0]
	}
	if h.Users[id] == nil {
		return nil
	}
	o := h.account.UserObject(id, in.User, wire.Terse)
	if in.Insider(h.World) {
		o = append(o, wire.Member{"email_address", h.Users[id].Value.Email})
	}
	return o
}

// shareOrg is the organization around a share, as anyone may see it.
func (h *Handlers) shareOrg(portal *world.Share) any {
	o := h.Orgs[portal.Org]
	if o == nil {
		return nil
	}
	return wire.Object{
		{"id", wire.ProfileID(portal.Org)}, {"domain", o.Value.Domain}, {"name", o.Value.Name}, {"logo", nil},
	}
}
