package world

import (
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// DeleteProfile deletes a share or a workspace with all that is in it: nodes, shares, File
// Shares, members, invitations. MarkChanged ends the polls and sockets of each deleted
// profile. The caller holds the lock.
func (w *World) DeleteProfile(id string) {
	if w.KindOf(id) == wire.KindWorkspace {
		for _, share := range slices.Clone(w.shareList) {
			if w.shares[share].Value.Workspace == id {
				w.DeleteProfile(share)
			}
		}
		for _, link := range slices.Clone(w.fileShareList) {
			if w.fileShares[link].Workspace == id {
				delete(w.fileShares, link)
				w.MarkChanged(w.Now(), link, FieldSettings)
			}
		}
	}
	w.nodeList = slices.DeleteFunc(w.nodeList, func(node string) bool {
		if w.nodes[node].Profile != id {
			return false
		}
		delete(w.nodes, node)
		return true
	})
	isDeleted := func(other string) bool { return other == id }
	w.shareList = slices.DeleteFunc(w.shareList, isDeleted)
	w.workspaceList = slices.DeleteFunc(w.workspaceList, isDeleted)
	w.fileShareList = slices.DeleteFunc(w.fileShareList, func(link string) bool { return w.fileShares[link] == nil })
	w.invitations = slices.DeleteFunc(w.invitations, func(inv *Invitation) bool { return inv.Profile == id })
	delete(w.members, id)
	delete(w.shares, id)
	delete(w.workspaces, id)
	w.MarkChanged(w.Now(), id, FieldSettings)
}

// Archived reports whether a profile is an archived workspace.
func (w *Directory) Archived(id string) bool {
	workspace := w.workspaces[id]
	return workspace != nil && workspace.Value.Archived
}

// RefuseArchived rejects a change of an archived workspace.
func (w *Directory) RefuseArchived(id string) error {
	if !w.Archived(id) {
		return nil
	}
	return accessRestricted(codeArchived, "the workspace is archived.")
}

// OwnerOf returns the owner of a profile, "" if there is none. A workspace without an
// owner has that of its organization.
func (w *Directory) OwnerOf(id string) string {
	for _, member := range w.MembersOf(id) {
		if w.DirectRole(id, member) == Owner {
			return member
		}
	}
	if w.KindOf(id) == wire.KindWorkspace {
		return w.OwnerOf(w.OrgOf(id))
	}
	return ""
}
