package emulator

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Codes of shares. The first four are published; those that begin with 1010 are the emulator's own.
const (
	codeNoView        = 144499
	codeNoPublicView  = 183836
	codeNoConfirm     = 130987
	codeNoQuickShares = 10756

	codeNameTaken     = 199801
	codeShareLimit    = 199802
	codeShareBusy     = 199803
	codeFolderShared  = 199804
	codeNotOwned      = 199805
	codeManyOwners    = 199806
	codeWrongPassword = 199807
)

// Values of share fields, as they go over the wire.
const (
	shareSend     = "send"
	shareReceive  = "receive"
	shareExchange = "exchange"

	modeIndependent = "independent"
	modeFolder      = "workspace_folder"

	accessMembers = "Only members of the Share or Workspace"

	notifyNever = "never"

	securityHigh   = "high"
	securityMedium = "medium"
	securityOff    = "off"

	null = "null" // clears a field
)

// shareRoutes is the part of the table that is about shares.
func (s *Server) shareRoutes() []*route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	const share, workspace = "/current/share/{share_id}/", "/current/workspace/{workspace_id}/"
	return []*route{
		{op: "shares.Create", method: post, pattern: workspace + "create/share/", fields: shareFields + " storage_mode create_folder folder_node_id folder_name", handle: s.createShare},
		{op: "shares.Get", method: get, pattern: share + "details/", visit: true, params: detailParams("share_id"), handle: s.shareDetails},
		{op: "shares.GetPublic", method: get, pattern: share + "public/details/", visit: true, params: detailParams("share_id"), handle: s.publicDetails},
		{op: "shares.Update", method: post, pattern: share + "update/", fields: shareFields + " external_invites share_link_node_id", handle: s.updateShare},
		{op: "shares.Delete", method: del, pattern: share + "delete/", query: "confirm", handle: s.deleteShare},
		{op: "shares.Archive", method: post, pattern: share + "archive/", handle: s.archiveShare},
		{op: "shares.Unarchive", method: post, pattern: share + "unarchive/", handle: s.unarchiveShare},
		{op: "shares.AuthPassword", method: post, pattern: share + "auth/password/", open: true, fields: "password", handle: s.authPassword},
		{op: "shares.AuthGuest", method: post, pattern: share + "auth/guest/", open: true, handle: s.authGuest},
		{op: "shares.List", method: get, pattern: "/current/shares/all/", params: listParams(), handle: s.sharesAll},
		{op: "shares.ListAvailable", method: get, pattern: "/current/shares/available/", params: outputParams(), handle: s.sharesAvailable},
		{op: "shares.ListByWorkspace", method: get, pattern: workspace + "list/shares/", params: listParams("workspace_id"), query: "archived", handle: s.sharesOfWorkspace},
		{op: "shares.ListMine", method: get, pattern: "/current/user/me/list/shares/", params: listParams(), query: "archived", handle: s.sharesOfUser},
		{op: "shares.CheckName", method: get, pattern: "/current/shares/check/name/{name}/", handle: s.checkShareName},
		{op: "shares.Import", method: post, pattern: workspace + "import/share/{share_id}/", handle: s.importShare},
	}
}

// share is a share as the platform keeps it.
type share Share

// showsFolder tells whether the storage of a share is a folder of its workspace.
func (h *share) showsFolder() bool { return h.Folder != "" }

func (h *share) mode() string {
	if h.showsFolder() {
		return modeFolder
	}
	return modeIndependent
}

func (h *share) category() string {
	if h.showsFolder() {
		return "shared_folder"
	}
	return "portal"
}

func (h *share) kind() string {
	switch {
	case h.Type != "":
		return h.Type
	case h.showsFolder():
		return shareExchange
	}
	return shareSend
}

func (h *share) access() string { return cmp.Or(h.Access, accessMembers) }

func (h *share) security() string {
	if h.NoGuestDownloads {
		return securityHigh
	}
	return cmp.Or(h.DownloadSecurity, securityOff)
}

// shut tells whether a share keeps its guests out: it is archived or its time is over.
func (st *state) shut(id string) bool {
	h := st.shares[id]
	return h != nil && (h.it.Archived || !h.it.Expires.IsZero() && past(h.it.Expires, st.clock()))
}

// shutOut tells whether a share is shut and the user no more than a guest.
func (st *state) shutOut(id, userID string) bool {
	return st.shut(id) && rank(st.role(id, userID)) < rank(Member)
}

// lapse ends the sockets of guests when the time of a share is over.
func (s *Server) lapse(h *share) {
	if expires := h.Expires; expires.After(s.now()) {
		s.later(expires, func() {
			if now := s.state.shares[h.ID]; now != nil && now.it.Expires.Equal(expires) {
				s.state.touch(s.now(), h.ID, fieldSettings)
			}
		})
	}
}

// shareOfPath finds the share of a call whose caller has a role and a credential that go far enough.
func (s *Server) shareOfPath(c *call, least Role) (*share, *answer) {
	st := &s.state
	if refusal := c.check.refusal(); refusal != nil {
		return nil, refusal
	}
	id := st.shareNamed(c.segment("share_id"))
	if id == "" {
		return nil, noSuch(codeNotFound, kindShare)
	}
	if refusal := st.mayAct(c.key, id, least); refusal != nil {
		return nil, refusal
	}
	return &st.shares[id].it, nil
}

// mayAct refuses a caller whose role on a profile is lower, or whose credential may not change it.
func (st *state) mayAct(k *credential, id string, least Role) *answer {
	if refusal := st.mayLook(k, venue{profile: id}); refusal != nil {
		return refusal
	}
	switch {
	case st.covers(k, id) < write:
		return k.refuseWrite()
	case rank(st.role(id, k.User)) < rank(least):
		return denied("your role is not enough.")
	}
	return nil
}

// roomOfPath finds the workspace of a call whose caller has a role and a credential that go far enough.
func (s *Server) roomOfPath(c *call, least Role) (string, *answer) {
	id := s.state.workspaceNamed(c.segment("workspace_id"), c.key.User)
	if id == "" {
		return "", noSuch(codeNotFound, kindWorkspace)
	}
	return id, s.state.mayAct(c.key, id, least)
}

// tellShare writes an event about a share, to its workspace as well.
func (s *Server) tellShare(c *call, h *share, event string) {
	s.write(Event{
		Name: event, Share: h.ID, Workspace: h.Workspace, CallingUser: c.key.User, Actor: s.state.actorOf(c.key),
	})
}

// deleteShare deletes a share. The query confirms it with its id or its custom name; a body is not read.
func (s *Server) deleteShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, refusal := s.shareOfPath(c, Admin)
	if refusal != nil {
		return *refusal
	}
	switch confirm := c.value("confirm"); {
	case confirm == "":
		return refuse(http.StatusNotAcceptable, codeNoConfirm, "The query parameter confirm must be the id or the custom name of the share.")
	case confirm != h.ID && !strings.EqualFold(confirm, h.CustomName):
		c.check.invalid("confirm", "The id or the custom name of the share.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	s.tellShare(c, h, "share_deleted")
	s.state.forgetShare(h.ID, s.now())
	return ok()
}

// forgetShare removes a share with what is in it. Its folder stays.
func (st *state) forgetShare(id string, now time.Time) {
	st.nodeList = slices.DeleteFunc(st.nodeList, func(node string) bool {
		if st.nodes[node].Profile != id {
			return false
		}
		delete(st.nodes, node)
		return true
	})
	st.shareList = slices.DeleteFunc(st.shareList, func(share string) bool { return share == id })
	st.invitations = slices.DeleteFunc(st.invitations, func(v *invitation) bool { return v.Profile == id })
	delete(st.members, id)
	delete(st.shares, id)
	st.touch(now, id, fieldSettings) // the sockets on it end
}

func (s *Server) archiveShare(c *call) answer   { return s.setArchived(c, true, "share_archived") }
func (s *Server) unarchiveShare(c *call) answer { return s.setArchived(c, false, "share_unarchived") }

// setArchived takes a share out of use or back into it.
func (s *Server) setArchived(c *call, archived bool, event string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, refusal := s.shareOfPath(c, Admin)
	switch {
	case refusal != nil:
		return *refusal
	case !c.readBlankForm():
		return noForm()
	case h.showsFolder():
		c.check.invalid("share_id", "A share of a folder of its workspace cannot be archived.")
		return *c.check.refusal()
	}
	if h.Archived != archived {
		h.Archived = archived
		s.tellShare(c, h, event)
	}
	return ok()
}

// importShare moves a share that a user owns alone into a workspace.
func (s *Server) importShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	room, refusal := s.roomOfPath(c, Member)
	if refusal != nil {
		return *refusal
	}
	h, refusal := s.shareOfPath(c, "")
	if refusal != nil {
		return *refusal
	}
	if !c.readBlankForm() {
		return noForm()
	}
	owners := st.ownersOf(h.ID)
	switch {
	case h.Workspace != "" || !slices.Contains(owners, c.key.User):
		return refuse(http.StatusNotAcceptable, codeNotOwned, "The share is not yours alone.")
	case len(owners) > 1:
		return refuse(http.StatusNotAcceptable, codeManyOwners, "The share has several owners.")
	case !st.sharing(room):
		return sharingDisabled()
	}
	if refusal := s.shareQuota(room); refusal != nil {
		return *refusal
	}
	h.Workspace, h.Org, h.Archived = room, st.orgOf(room), false
	s.tellShare(c, h, "share_imported_to_workspace")
	return ok()
}

// ownersOf lists the users who own a profile themselves.
func (st *state) ownersOf(profileID string) []string {
	return slices.DeleteFunc(st.membersOf(profileID), func(user string) bool { return st.direct(profileID, user) != Owner })
}

// sharing tells whether the policies of a workspace and of its organization allow new shares.
func (st *state) sharing(workspaceID string) bool {
	w := st.workspaces[workspaceID].it
	o := st.orgs[w.Org]
	return !w.NoSharing && (o == nil || !o.it.NoSharing)
}

func sharingDisabled() answer {
	return because(http.StatusForbidden, codePolicy, "policy_sharing_disabled", "The policy allows no new shares.")
}

// shareQuota refuses a workspace whose organization has all the shares it may have.
func (s *Server) shareQuota(workspaceID string) *answer {
	st := &s.state
	org, n := st.orgOf(workspaceID), 0
	for _, h := range st.shares {
		if h.it.Workspace != "" && h.it.Org == org {
			n++
		}
	}
	var most int
	if o := st.orgs[org]; o != nil {
		most = planNamed(o.it.Plan).shares
	}
	if n < cmp.Or(s.o.Shares.Limit, most, n+1) {
		return nil
	}
	a := refuse(http.StatusPreconditionFailed, codeShareLimit, "Feature Limit: the plan has no more shares.")
	return &a
}
