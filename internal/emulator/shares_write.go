package emulator

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
)

const titleLeast = 2 // characters

// createShare makes a share of a workspace.
func (s *Server) createShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	room, refusal := s.roomOfPath(c, Member)
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	if !st.sharing(room) {
		return sharingDisabled()
	}
	d := &draft{s: s, c: c, creating: true}
	d.Workspace, d.Org, d.Creator = room, st.orgOf(room), c.key.User
	makesFolder := d.readStorage()
	d.NoGuestChat = true
	d.readShare()
	d.exclusions()
	if _, given := c.field("intelligence"); !given {
		c.check.missing("intelligence", "true or false.")
	}
	if refusal := s.createRefusal(c); refusal != nil {
		return *refusal
	}
	if refusal := s.shareQuota(room); refusal != nil {
		return *refusal
	}
	if st.shareConflicts < s.o.Shares.Conflicts {
		st.shareConflicts++
		return refuse(http.StatusConflict, codeShareBusy, "Another operation is under way.")
	}
	d.follow()
	return s.makeShare(c, d, makesFolder)
}

// createRefusal is the answer to failed fields. Older servers had a status of their own for a missing intelligence.
func (s *Server) createRefusal(c *call) *answer {
	refusal := c.check.refusal()
	if refusal == nil || s.o.Shares.IntelligenceStatus == 0 || len(c.check.failed) != 1 {
		return refusal
	}
	name, _ := c.check.failed[0].get("name")
	if kind, _ := c.check.failed[0].get("kind"); name == "intelligence" && kind == "missing" {
		refusal.failure.status = s.o.Shares.IntelligenceStatus
	}
	return refusal
}

func (s *Server) makeShare(c *call, d *draft, makesFolder bool) answer {
	st := &s.state
	if makesFolder {
		folder, _ := c.field("folder_name")
		n := s.keepNode(node{
			Profile: d.Workspace, Kind: kindFolder, Name: cmp.Or(folder, sharedFolder), Creator: c.key.User,
		})
		s.tellNode(n, Event{Name: "workspace_storage_folder_created", CallingUser: c.key.User, Actor: st.actorOf(c.key)})
		d.Folder = n.ID
	}
	h := d.share
	h.ID = s.newProfile("")
	h.Title = cmp.Or(h.Title, "Share "+strconv.Itoa(len(st.shares)+1))
	for h.CustomName == "" || st.nameTaken(h.CustomName, h.ID) {
		h.CustomName = string(appendWord(nil, mix(s.nextSerial())))[:8]
	}
	st.shares[h.ID] = &held[share]{h, s.now().Unix()}
	st.shareList = append(st.shareList, h.ID)
	st.setMember(h.ID, h.Creator, Owner)
	s.lapse(&h)
	s.tellShare(c, &h, "share_created")
	o := object{{"id", profileID(h.ID)}, {"custom_name", h.CustomName}, {"storage_mode", h.mode()}}
	if h.showsFolder() {
		o = append(o, member{"folder_node_id", hyphenated(h.Folder)})
	}
	return ok(member{"share", o})
}

const sharedFolder = "Shared Folder"

// readStorage reads where a new share keeps its files, and tells whether it asks for a new folder.
func (d *draft) readStorage() (makesFolder bool) {
	c := d.c
	mode := modeIndependent
	c.permission("storage_mode", &mode, modeIndependent, modeFolder)
	if mode != modeFolder {
		return false
	}
	d.Folder = newFolder
	makesFolder, _ = d.flag("create_folder")
	folder, _ := c.field("folder_node_id")
	switch {
	case !cleared(folder):
		d.Folder, makesFolder = plain(folder), false
		d.folder()
	case !makesFolder:
		c.check.missing("folder_node_id", "A folder, or create_folder=true.")
	}
	if name, given := c.field("folder_name"); given && makesFolder {
		d.text("folder_name", &name, 1, folderNameMost, false)
		if strings.Contains(name, "/") {
			c.check.invalid("folder_name", "No slashes.")
		}
	}
	return makesFolder
}

// newFolder stands for a folder that is yet to be made.
const newFolder = "new"

// folder checks the folder that a new share is to show. It can be shared once.
func (d *draft) folder() {
	n := d.s.state.node(d.Workspace, d.Folder)
	if n == nil || n.Kind != kindFolder {
		d.c.check.invalid("folder_node_id", "The id of a folder of the workspace.")
		return
	}
	for _, h := range d.s.state.shares {
		if h.it.Folder == n.ID {
			d.c.check.add("folder_node_id", "invalid", "The folder is shared already.", codeFolderShared)
			return
		}
	}
}

// updateShare changes what the form names and leaves the rest.
func (s *Server) updateShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, refusal := s.shareOfPath(c, Admin)
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	d := &draft{s: s, c: c, share: *h}
	d.readShare()
	c.permission("external_invites", &d.ExternalInvites, "allowed", "denied")
	if link, given := c.field("share_link_node_id"); given {
		if d.Link = ""; link != null {
			c.check.invalid("share_link_node_id", "null.")
		}
	}
	d.exclusions()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	d.follow()
	if d.share == *h {
		return ok()
	}
	intelligent := !d.NoIntelligence
	d.NoIntelligence = h.NoIntelligence
	*h = d.share
	s.lapse(h)
	s.setIntelligence(h.ID, c.key.User, intelligent)
	s.tellShare(c, h, "share_updated")
	return ok()
}
