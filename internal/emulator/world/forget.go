package world

import (
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Forget deletes a share or a workspace with what is in it. The sockets on it end.
func (w *World) Forget(id string) {
	if w.KindOf(id) == wire.KindWorkspace {
		for _, share := range slices.Clone(w.ShareList) {
			if w.Shares[share].Value.Workspace == id {
				w.Forget(share)
			}
		}
		for _, link := range slices.Clone(w.FileShareList) {
			if w.FileShares[link].Workspace == id {
				delete(w.FileShares, link)
				w.Touch(w.Now(), link, FieldSettings)
			}
		}
	}
	w.NodeList = slices.DeleteFunc(w.NodeList, func(node string) bool {
		if w.Nodes[node].Profile != id {
			return false
		}
		delete(w.Nodes, node)
		return true
	})
	isIt := func(other string) bool { return other == id }
	w.ShareList = slices.DeleteFunc(w.ShareList, isIt)
	w.WorkspaceList = slices.DeleteFunc(w.WorkspaceList, isIt)
	w.FileShareList = slices.DeleteFunc(w.FileShareList, func(link string) bool { return w.FileShares[link] == nil })
	w.Invitations = slices.DeleteFunc(w.Invitations, func(v *Invitation) bool { return v.Profile == id })
	delete(w.Members, id)
	delete(w.Shares, id)
	delete(w.Workspaces, id)
	w.Touch(w.Now(), id, FieldSettings)
}

// Archived reports whether a profile is an archived workspace.
func (w *Directory) Archived(id string) bool {
	workspace := w.Workspaces[id]
	return workspace != nil && workspace.Value.Archived
}

// RefuseArchived rejects a change of an archived workspace.
func (w *Directory) RefuseArchived(id string) error {
	if !w.Archived(id) {
		return nil
	}
	return restricted(codeArchived, "the workspace is archived.")
}

// OwnerOf returns the owner of a profile, "" if there is none. A workspace without one
// is the organization's.
func (w *Directory) OwnerOf(id string) string {
	for _, member := range w.MembersOf(id) {
		if w.Direct(id, member) == Owner {
			return member
		}
	}
	if w.KindOf(id) == wire.KindWorkspace {
		return w.OwnerOf(w.OrgOf(id))
	}
	return ""
}
