package world

import (
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Access options of a share, as they go over the wire. Any other value is for members only.
const (
	AccessOrg        = "Members of the Share, Workspace or Org"
	AccessRegistered = "Anyone with a registered account"
	AccessAnyone     = "Anyone with the link"
)

// Store is the storage a call is about.
type Store struct {
	Profile string // the workspace or share that was named
	Owner   string // whose nodes it shows
	Folder  string // the folder it shows, "" is all
	User    string // the caller, "" without a credential
}

// StoreOf is the storage of a profile for the caller.
func (w *Directory) StoreOf(profileID string, c *wire.Call) Store {
	return w.StoreFor(profileID, c.UserID())
}

// StoreFor is the storage of a profile for a user.
func (w *Directory) StoreFor(profileID, userID string) Store {
	in := Store{Profile: profileID, User: userID}
	in.Owner, in.Folder = w.storageOf(profileID)
	return in
}

// Insider reports whether the caller is a member of what was named, or more.
func (in Store) Insider(w *World) bool { return Rank(w.Role(in.Profile, in.User)) >= Rank(Member) }

// Orphaned reports whether a share lost the folder it stands for.
func (w *World) Orphaned(in Store) bool {
	return in.Folder != "" && w.Node(in.Owner, in.Folder) == nil
}

// ShareNamed finds a share by id or custom name.
func (w *Directory) ShareNamed(name string) string {
	for _, id := range w.ShareList {
		if id == name || strings.EqualFold(w.Shares[id].Value.CustomName, name) {
			return id
		}
	}
	return ""
}
