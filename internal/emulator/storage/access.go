package storage

import (
	"net/http"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// StorageOfPath finds the storage of a call, and checks that the caller may look.
func (h *Handlers) StorageOfPath(c *wire.Call) (world.Store, error) {
	id, err := h.ScopeOfPath(c)
	if err != nil {
		return world.Store{}, err
	}
	in := h.StoreOf(id, c)
	if h.Orphaned(in) {
		return world.Store{}, wire.NoSuch(CodeOrphanSearch, "folder behind the share any more")
	}
	return in, nil
}

// ScopeOfPath finds the workspace or share a path names, by id or name, and checks that the caller may look.
func (h *Handlers) ScopeOfPath(c *wire.Call) (string, error) {
	if name := c.Segment("share_id"); name != "" {
		id := h.ShareNamed(name)
		if id == "" {
			return "", wire.NoSuch(wire.CodeNotFound, wire.KindShare)
		}
		return id, h.mayVisit(c, id)
	}
	id := h.WorkspaceNamed(c.Segment("workspace_id"), c.UserID())
	if id == "" {
		return "", wire.NoSuch(wire.CodeNotFound, wire.KindWorkspace)
	}
	return id, h.MayLook(c.Key, world.Venue{Profile: id})
}

// mayVisit refuses a caller who may not look into a share. Members need no password, and others no membership where
// the share is open to them. The header holds the token that the password was exchanged for, never the password.
func (h *Handlers) mayVisit(c *wire.Call, id string) error {
	share := &h.Shares[id].Value
	if c.Key != nil {
		if err := h.MayLook(c.Key, world.Venue{Profile: id}); err == nil || !h.Open(share, c.Key.User) {
			return err
		}
	} else if share.Access != world.AccessAnyone {
		return wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "The share asks for a credential.")
	}
	if h.Shut(id) {
		return world.Unseen(world.CodeNoView)
	}
	sent := c.Request.Header.Get("X-Ve-Password")
	if share.Password != "" && !h.OpensLink(share, sent) {
		return world.WrongLinkPassword()
	}
	return nil
}

// Open reports whether a share lets a user in who has no role on it.
func (h *Handlers) Open(it *world.Share, userID string) bool {
	switch it.Access {
	case world.AccessAnyone:
		return true
	case world.AccessRegistered:
		return userID != ""
	case world.AccessOrg:
		return userID != "" && h.Role(it.Org, userID) != ""
	}
	return false
}
