package world

import (
	"iter"
	"maps"
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// User returns a user by its id, nil for none.
func (w *Records) User(id string) *Record[User] { return w.users[id] }

// Org returns an organization by its id, nil for none.
func (w *Records) Org(id string) *Record[Org] { return w.orgs[id] }

// Workspace returns a workspace by its id, nil for none.
func (w *Records) Workspace(id string) *Record[Workspace] { return w.workspaces[id] }

// Share returns a share by its id, nil for none.
func (w *Records) Share(id string) *Record[Share] { return w.shares[id] }

// FileShare returns a File Share by its id, nil for none.
func (w *Records) FileShare(id string) *FileShare { return w.fileShares[id] }

// Membership returns the membership of a user, nil for none.
func (w *Records) Membership(profileID, userID string) *Membership {
	return w.members[profileID][userID]
}

// Credential returns what a token stands for, nil for nothing.
func (w *Records) Credential(token string) *wire.Credential { return w.credentials[token] }

// AnyNode returns a node of any profile, in the trash or not.
func (w *Tree) AnyNode(id string) *Node { return w.nodes[id] }

// Asset returns a picture of a profile, nil for none.
func (w *Tree) Asset(at AssetKey) *Asset { return w.assets[at] }

// OrgIDs returns the organizations in the order of creation. The list must not be changed.
func (w *Records) OrgIDs() []string { return w.orgList }

// WorkspaceIDs returns the workspaces in the order of creation. The list must not be changed.
func (w *Records) WorkspaceIDs() []string { return w.workspaceList }

// ShareIDs returns the shares in the order of creation. The list must not be changed.
func (w *Records) ShareIDs() []string { return w.shareList }

// FileShareIDs returns the File Shares in the order of creation. The list must not be
// changed.
func (w *Records) FileShareIDs() []string { return w.fileShareList }

// NodeIDs returns the nodes in the order of creation. The list must not be changed.
func (w *Tree) NodeIDs() []string { return w.nodeList }

// AllInvitations returns the invitations in the order of creation. The list must not be
// changed.
func (w *World) AllInvitations() []*Invitation { return w.invitations }

// AllUsers returns the users in no order.
func (w *Records) AllUsers() iter.Seq2[string, *Record[User]] { return maps.All(w.users) }

// AllShares returns the shares in no order.
func (w *Records) AllShares() iter.Seq2[string, *Record[Share]] { return maps.All(w.shares) }

// AllNodes returns the nodes in no order.
func (w *Tree) AllNodes() iter.Seq[*Node] { return maps.Values(w.nodes) }

// KeepUser adds a user without an event.
func (w *Records) KeepUser(u User) {
	w.users[u.ID] = &Record[User]{Value: u, Created: w.Now().Unix()}
}

// KeepShare adds a share without an event.
func (w *Records) KeepShare(share Share) {
	w.shares[share.ID] = &Record[Share]{Value: share, Created: w.Now().Unix()}
	w.shareList = append(w.shareList, share.ID)
}

// KeepFileShare adds a File Share, or replaces the one with its id.
func (w *Records) KeepFileShare(f *FileShare) {
	if w.fileShares[f.ID] == nil {
		w.fileShareList = append(w.fileShareList, f.ID)
	}
	w.fileShares[f.ID] = f
}

// DropFileShare removes a File Share.
func (w *Records) DropFileShare(id string) {
	delete(w.fileShares, id)
	w.fileShareList = slices.DeleteFunc(w.fileShareList, func(other string) bool { return other == id })
}

// KeepCredential makes a token valid, or changes what it stands for.
func (w *Records) KeepCredential(k *wire.Credential) { w.credentials[k.Token] = k }

// DropCredential ends a token.
func (w *Records) DropCredential(token string) { delete(w.credentials, token) }

// Credentials returns the stored credentials for which matches returns true. The loop over
// them may drop or replace credentials.
func (w *Records) Credentials(matches func(*wire.Credential) bool) iter.Seq[*wire.Credential] {
	return func(yield func(*wire.Credential) bool) {
		for _, k := range w.credentials {
			if matches(k) && !yield(k) {
				return
			}
		}
	}
}

// Charge adds credits to what a profile has spent.
func (w *Records) Charge(profileID string, credits int) { w.credits[profileID] += credits }

// Charged returns the credits that a profile has spent.
func (w *Records) Charged(profileID string) int { return w.credits[profileID] }

// KeepAsset stores a picture of a profile.
func (w *Tree) KeepAsset(at AssetKey, a *Asset) { w.assets[at] = a }

// DropAsset removes a picture of a profile.
func (w *Tree) DropAsset(at AssetKey) { delete(w.assets, at) }

// RemoveNode removes a node for good, and everything in it if it is a folder. It returns the
// ids of all removed nodes. It writes no event.
func (w *Tree) RemoveNode(n *Node) (gone []string) {
	inside := func(id string) bool {
		return id == n.ID || n.Kind == KindFolder && w.InFolder(w.nodes[id], n.ID)
	}
	for _, id := range w.nodeList {
		if inside(id) {
			gone = append(gone, id)
		}
	}
	for _, id := range gone {
		delete(w.nodes, id)
	}
	w.nodeList = slices.DeleteFunc(w.nodeList, func(id string) bool { return w.nodes[id] == nil })
	return gone
}

// Mail keeps a mail for [World.Mails].
func (w *World) Mail(m Mail) { w.outbox = append(w.outbox, m) }
