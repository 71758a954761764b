package shares

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/account"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const titleLeast = 2 // characters

// createShare makes a share of a workspace.
func (h *Handlers) createShare(c *wire.Call) (wire.Object, error) {
	room, err := h.roomOfPath(c, world.Member)
	if err != nil {
		return nil, err
	}
	if !h.Sharing(room) {
		return nil, sharingDisabled()
	}
	d := &draft{h: h, c: c, creating: true}
	d.Workspace, d.Org, d.Creator = room, h.OrgOf(room), c.Key.User
	makesFolder := d.readStorage()
	d.NoGuestChat = true
	d.readShare()
	d.exclusions()
	if _, given := c.Field("intelligence"); !given {
		c.Check.Missing("intelligence", "true or false.")
	}
	if err := h.createRefusal(c); err != nil {
		return nil, err
	}
	if err := h.shareQuota(room); err != nil {
		return nil, err
	}
	if h.shareConflicts < h.Options.Shares.Conflicts {
		h.shareConflicts++
		return nil, wire.Refuse(http.StatusConflict, codeShareBusy, "Another operation is under way.")
	}
	d.follow()
	return h.makeShare(c, d, makesFolder)
}

// createRefusal is the answer to failed fields. Older servers had a status of their own for a missing intelligence.
func (h *Handlers) createRefusal(c *wire.Call) error {
	err := c.Check.Refusal()
	if err == nil || h.Options.Shares.IntelligenceStatus == 0 || len(c.Check.Failed) != 1 {
		return err
	}
	name, _ := c.Check.Failed[0].Get("name")
	if kind, _ := c.Check.Failed[0].Get("kind"); name == "intelligence" && kind == "missing" {
		wire.RefusalOf(err).Status = h.Options.Shares.IntelligenceStatus
	}
	return err
}

func (h *Handlers) makeShare(c *wire.Call, d *draft, makesFolder bool) (wire.Object, error) {
	if makesFolder {
		folder, _ := c.Field("folder_name")
		n := h.KeepNode(world.Node{
			Profile: d.Workspace, Kind: world.KindFolder, Name: cmp.Or(folder, sharedFolder), Creator: c.Key.User,
		})
		h.NodeEvent(n,
			world.Event{Name: "workspace_storage_folder_created", CallingUser: c.Key.User, Actor: h.ActorOf(c.Key)})
		d.Folder = n.ID
	}
	portal := d.Share
	portal.ID = h.NewProfile("")
	portal.Title = cmp.Or(portal.Title, "Share "+strconv.Itoa(len(h.Shares)+1))
	for portal.CustomName == "" || h.nameTaken(portal.CustomName, portal.ID) {
		portal.CustomName = string(world.AppendWord(nil, world.Mix(h.NextSerial())))[:8]
	}
	h.Shares[portal.ID] = &world.Record[world.Share]{Value: portal, Created: h.Now().Unix()}
	h.ShareList = append(h.ShareList, portal.ID)
	h.PutMember(portal.ID, portal.Creator, world.Owner)
	h.Lapse(&portal)
	h.tellShare(c, &portal, "share_created")
	o := wire.Object{
		{"id", wire.ProfileID(portal.ID)}, {"custom_name", portal.CustomName}, {"storage_mode", portal.Mode()},
	}
	if portal.ShowsFolder() {
		o = append(o, wire.Member{"folder_node_id", wire.Hyphenated(portal.Folder)})
	}
	return wire.Object{{"share", o}}, nil
}

const sharedFolder = "Shared Folder"

// readStorage reads where a new share keeps its files, and reports whether it asks for a new folder.
func (d *draft) readStorage() (makesFolder bool) {
	c := d.c
	mode := world.ModeIndependent
	account.Permission(c, "storage_mode", &mode, world.ModeIndependent, world.ModeFolder)
	if mode != world.ModeFolder {
		return false
	}
	d.Folder = newFolder
	makesFolder, _ = d.flag("create_folder")
	folder, _ := c.Field("folder_node_id")
	switch {
	case !wire.Cleared(folder):
		d.Folder, makesFolder = wire.Plain(folder), false
		d.folder()
	case !makesFolder:
		c.Check.Missing("folder_node_id", "A folder, or create_folder=true.")
	}
	if name, given := c.Field("folder_name"); given && makesFolder {
		d.text("folder_name", &name, 1, folderNameMost, false)
		if strings.Contains(name, "/") {
			c.Check.Invalid("folder_name", "No slashes.")
		}
	}
	return makesFolder
}

// newFolder stands for a folder that is yet to be made.
const newFolder = "new"

// folder checks the folder that a new share is to show. It can be shared once.
func (d *draft) folder() {
	n := d.h.Node(d.Workspace, d.Folder)
	if n == nil || n.Kind != world.KindFolder {
		d.c.Check.Invalid("folder_node_id", "The id of a folder of the workspace.")
		return
	}
	for _, h := range d.h.Shares {
		if h.Value.Folder == n.ID {
			d.c.Check.Add("folder_node_id", "invalid", "The folder is shared already.", codeFolderShared)
			return
		}
	}
}

// updateShare changes what the form names and leaves the rest.
func (h *Handlers) updateShare(c *wire.Call) (wire.Object, error) {
	it, err := h.shareOfPath(c, world.Admin)
	if err != nil {
		return nil, err
	}
	d := &draft{h: h, c: c, Share: *it}
	d.readShare()
	account.Permission(c, "external_invites", &d.ExternalInvites, "allowed", "denied")
	if link, given := c.Field("share_link_node_id"); given {
		if d.Link = ""; link != wire.Null {
			c.Check.Invalid("share_link_node_id", "null.")
		}
	}
	d.exclusions()
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	d.follow()
	if d.Share == *it {
		return nil, nil
	}
	intelligent := !d.NoIntelligence
	d.NoIntelligence = it.NoIntelligence
	*it = d.Share
	h.Lapse(it)
	h.SetIntelligence(it.ID, c.Key.User, intelligent)
	h.tellShare(c, it, "share_updated")
	return nil, nil
}
