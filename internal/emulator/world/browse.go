package world

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Users returns all users in the order of creation.
func (w *World) Users() []User {
	w.RLock()
	defer w.RUnlock()
	list := make([]User, 0, len(w.users))
	for _, u := range w.users {
		list = append(list, u.Value)
	}
	slices.SortFunc(list, func(a, b User) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Keys returns copies of the API keys that are not revoked, in the order of creation. It
// takes the lock.
func (w *World) Keys() []Key {
	w.RLock()
	defer w.RUnlock()
	valid := w.Credentials(func(k *wire.Credential) bool { return k.Kind == wire.APIKey && !k.Revoked })
	list := slices.SortedFunc(valid, func(a, b *wire.Credential) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	keys := make([]Key, 0, len(list))
	for _, k := range list {
		key := k.Key
		key.Scopes = slices.Clone(key.Scopes)
		keys = append(keys, key)
	}
	return keys
}

// Browse returns what is in an organization, workspace, share or folder, and for "" the
// organizations. Nodes of the trash are left out.
func (w *World) Browse(id string) []seed.Item {
	w.RLock()
	defer w.RUnlock()
	list := []seed.Item{}
	switch kind := w.KindOf(id); {
	case id == "":
		for _, org := range w.orgList {
			list = append(list, w.profileItem(org, w.orgs[org].Value.Domain))
		}
	case kind == wire.KindOrg:
		for _, workspace := range w.workspaceList {
			if w.workspaces[workspace].Value.Org == id {
				list = append(list, w.profileItem(workspace, w.workspaces[workspace].Value.FolderName))
			}
		}
		list = append(list, w.sharesIn(func(share *Share) bool { return share.Org == id && share.Workspace == "" })...)
		list = append(list, w.memberItems(id)...)
	case kind == wire.KindWorkspace:
		list = append(w.nodeItems(w.storageOf(id)), w.sharesIn(func(share *Share) bool { return share.Workspace == id })...)
		list = append(list, w.memberItems(id)...)
	case kind == wire.KindShare:
		list = append(w.nodeItems(w.storageOf(id)), w.memberItems(id)...)
	case w.nodes[id] != nil:
		list = w.nodeItems(w.nodes[id].Profile, id)
	}
	return list
}

// profileItem returns the item of a profile.
func (w *Directory) profileItem(id, detail string) seed.Item {
	return seed.Item{ID: id, Kind: w.KindOf(id), Name: w.ProfileName(id), Detail: detail, Parent: true}
}

// sharesIn returns the shares for which a condition holds.
func (w *Tree) sharesIn(holds func(*Share) bool) (list []seed.Item) {
	for _, id := range w.shareList {
		if share := w.shares[id]; holds(&share.Value) {
			list = append(list, w.profileItem(id, share.Value.Access))
		}
	}
	return list
}

// memberItems returns the members of a profile, with their roles as details.
func (w *Tree) memberItems(profileID string) (list []seed.Item) {
	for _, id := range w.MembersOf(profileID) {
		detail := string(w.DirectRole(profileID, id))
		list = append(list, seed.Item{ID: id, Kind: wire.KindUser, Name: w.ProfileName(id), Detail: detail})
	}
	return list
}

// nodeItems returns the nodes in a folder of a profile, folders (Parent) first; "" is the root.
func (w *Tree) nodeItems(owner, folder string) []seed.Item {
	list := []seed.Item{}
	for _, id := range w.nodeList {
		n := w.nodes[id]
		if n.Profile == owner && n.Parent == folder && !n.Trashed {
			list = append(list, seed.Item{ID: id, Kind: n.Kind, Name: n.Name, Detail: n.MimeType, Parent: n.Kind == KindFolder})
		}
	}
	slices.SortStableFunc(list, func(a, b seed.Item) int {
		switch {
		case a.Parent && !b.Parent:
			return -1
		case b.Parent && !a.Parent:
			return 1
		}
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return list
}
