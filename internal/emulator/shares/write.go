package shares

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const titleLeast = 2 // characters

// createShare creates a share of a workspace. The draft collects the fields of the
// form, which are all checked before anything changes. The first calls fail with a
// conflict: their number is the option Conflicts.
func (h *Handlers) createShare(c *wire.Call, workspaceID string) (wire.Object, error) {
	if !h.w.AllowsSharing(workspaceID) {
		return nil, sharingDisabled()
	}
	d := &draft{h: h, c: c, creating: true}
	d.Workspace, d.Org, d.Creator = workspaceID, h.w.OrgOf(workspaceID), c.Key.User
	makesFolder := d.readStorage()
	d.NoGuestChat = true // unless a field says otherwise
	d.readShare()
	d.checkExclusions()
	if _, given := c.Field("intelligence"); !given {
		c.Check.Missing("intelligence", "true or false.")
	}
	if err := cmp.Or(h.createRefusal(c), h.refuseBeyondQuota(workspaceID)); err != nil {
		return nil, err
	}
	if h.shareConflicts < h.w.Options.Shares.Conflicts {
		h.shareConflicts++
		return nil, wire.Refuse(http.StatusConflict, codeShareBusy, "Another operation is under way.")
	}
	d.adjustAccess()
	return h.makeShare(c, d, makesFolder)
}

// createRefusal returns a refusal if fields of a new share are not valid. On some
// versions of the server, it has another status if only the field intelligence is
// missing: Options.Shares.IntelligenceStatus.
func (h *Handlers) createRefusal(c *wire.Call) error {
	err := c.Check.Err()
	if err == nil || h.w.Options.Shares.IntelligenceStatus == 0 || len(c.Check.Failed) != 1 {
		return err
	}
	name, _ := c.Check.Failed[0].Get("name")
	if kind, _ := c.Check.Failed[0].Get("kind"); name == "intelligence" && kind == "missing" {
		wire.RefusalOf(err).Status = h.w.Options.Shares.IntelligenceStatus
	}
	return err
}

// makeShare stores a share whose fields were checked and, if makesFolder is true, a new
// folder that it shows. Without a custom name, it gets a random one of eight characters.
func (h *Handlers) makeShare(c *wire.Call, d *draft, makesFolder bool) (wire.Object, error) {
	if makesFolder {
		folder, _ := c.Field("folder_name")
		n := h.w.KeepNode(world.Node{
			Profile: d.Workspace, Kind: world.KindFolder, Name: cmp.Or(folder, sharedFolder), Creator: c.Key.User,
		})
		h.w.NodeEvent(n,
			world.Event{Name: "workspace_storage_folder_created", CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)})
		d.Folder = n.ID
	}
	share := d.Share
	share.ID = h.w.NewProfileID("")
	share.Title = cmp.Or(share.Title, "Share "+strconv.Itoa(len(h.w.ShareIDs())+1))
	for share.CustomName == "" || h.nameTaken(share.CustomName, share.ID) {
		share.CustomName = string(world.AppendWord(nil, world.Mix(h.w.NextSerial())))[:8]
	}
	h.w.KeepShare(share)
	h.w.PutMember(share.ID, share.Creator, world.Owner)
	h.w.ScheduleExpiry(&share)
	h.writeShareEvent(c, &share, "share_created")
	o := wire.Object{
		{"id", wire.ProfileID(share.ID)}, {"custom_name", share.CustomName}, {"storage_mode", share.Mode()},
	}
	o = o.With(share.ShowsFolder(), "folder_node_id", wire.Hyphenated(share.Folder))
	return wire.Object{{"share", o}}, nil
}

const sharedFolder = "Shared Folder"

// readStorage reads what a new share shows: files of its own, or a folder of its
// workspace. It returns true if the caller must create that folder; its id is newFolder
// until then. If the form has both folder_node_id and create_folder, the former counts.
func (d *draft) readStorage() (makesFolder bool) {
	c := d.c
	mode := world.ModeIndependent
	wire.OneOf(c, "storage_mode", &mode, world.ModeIndependent, world.ModeFolder)
	if mode != world.ModeFolder {
		return false
	}
	d.Folder = newFolder // even if the form names none: other fields are then checked as those of a share of a folder
	makesFolder, _ = d.readFlag("create_folder")
	folder, _ := c.Field("folder_node_id")
	switch {
	case !wire.Cleared(folder):
		d.Folder, makesFolder = wire.Plain(folder), false
		d.checkFolder()
	case !makesFolder:
		c.Check.Missing("folder_node_id", "A folder, or create_folder=true.")
	}
	if name, given := c.Field("folder_name"); given && makesFolder { // makeShare reads it again
		d.readText("folder_name", &name, 1, folderNameMost, notClearable)
		c.Check.InvalidIf(strings.Contains(name, "/"), "folder_name", "No slashes.")
	}
	return makesFolder
}

const newFolder = "new"

// checkFolder checks the folder that a new share shows. A folder can be shared once.
func (d *draft) checkFolder() {
	n := d.h.w.Node(d.Workspace, d.Folder)
	if n == nil || n.Kind != world.KindFolder {
		d.c.Check.Invalid("folder_node_id", "The id of a folder of the workspace.")
		return
	}
	for _, share := range d.h.w.AllShares() {
		if share.Value.Folder == n.ID {
			d.c.Check.Add("folder_node_id", "invalid", "The folder is shared already.", codeFolderShared)
			return
		}
	}
}

// updateShare changes the fields of a share that the form has. The draft is a copy with
// these changes, and replaces the share only if all of them are valid. The link of a
// share in its workspace (share_link_node_id) can only be removed.
func (h *Handlers) updateShare(c *wire.Call, share *world.Share) (wire.Object, error) {
	d := &draft{h: h, c: c, Share: *share}
	d.readShare()
	wire.OneOf(c, "external_invites", &d.ExternalInvites, "allowed", "denied")
	if link, given := c.Field("share_link_node_id"); given {
		d.Link = ""
		if link != wire.Null {
			c.Check.Invalid("share_link_node_id", "null.")
		}
	}
	d.checkExclusions()
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	d.adjustAccess()
	if d.Share == *share {
		return nil, nil
	}
	intelligent := !d.NoIntelligence
	d.NoIntelligence = share.NoIntelligence // SetIntelligence changes it, with what follows from it
	*share = d.Share
	h.w.ScheduleExpiry(share)
	h.w.SetIntelligence(share.ID, c.Key.User, intelligent)
	h.writeShareEvent(c, share, "share_updated")
	return nil, nil
}

// Wire values of invite permissions.
const (
	inviteOwners = "owners"
	InviteGuests = "guests"
)

// Limits of share fields, in characters.
const (
	descriptionLeast                = 10
	customURLLeast, customURLMost   = 10, 100
	customNameLeast, customNameMost = 4, 80
	linkPasswordLeast               = 4
	linkPasswordMost                = 128
	folderNameMost                  = 255
	pictureMost                     = 128 // pictures there are
)

// draft is a share with the changes of a form, applied after all checks.
type draft struct {
	h *Handlers
	c *wire.Call
	world.Share

	turnsOnComments bool // the form has comments_enabled=true
	turnsOnUploads  bool // and this one anonymous_uploads_enabled=true
	creating        bool
}

const shareFields = "title description custom_url custom_name password share_type access_options invite notify " +
	"download_security display_type workspace_style expires comments_enabled guest_chat_enabled " +
	"anonymous_uploads_enabled intelligence accent_color background_color1 background_color2 " +
	"link_1 link_2 link_3 owner_defined background_image"

// readShare reads the fields that a new share and a changed one have in common.
func (d *draft) readShare() {
	c := d.c
	mayClear := !d.creating && !d.h.w.Options.Shares.TitleRequired // null and "" clear the title
	d.readText("title", &d.Title, titleLeast, world.TitleMost, mayClear)
	d.readText("description", &d.Description, descriptionLeast, world.DescriptionMost, clearable)
	d.readText("custom_url", &d.CustomURL, customURLLeast, customURLMost, clearable)
	d.readText("password", &d.Password, linkPasswordLeast, linkPasswordMost, clearable)
	d.readCustomName()
	wire.OneOf(c, "share_type", &d.Type, world.ShareSend, world.ShareReceive, world.ShareExchange)
	wire.OneOf(c, "access_options", &d.Access, world.AccessMembers, world.AccessOrg, world.AccessRegistered,
		world.AccessAnyone)
	wire.OneOf(c, "invite", &d.Invite, inviteOwners, InviteGuests)
	wire.OneOf(c, "notify", &d.Notify, notifyNever, "notify_on_file_received", "notify_on_file_sent_or_received")
	wire.OneOf(c, "download_security", &d.DownloadSecurity, world.SecurityHigh, world.SecurityMedium,
		world.SecurityOff)
	wire.OneOf(c, "display_type", &d.DisplayType, "grid", "list")
	if style, given := c.Field("workspace_style"); given {
		c.Check.InvalidIf(strings.TrimSpace(style) == "", "workspace_style", "Not blank.")
		d.WorkspaceStyle = style
	}
	d.readExpiry()
	d.readFlags()
	for name, into := range map[string]*seed.JSON{
		"accent_color": &d.AccentColor, "background_color1": &d.BackgroundColor1,
		"background_color2": &d.BackgroundColor2,
		"link_1":            &d.Link1, "link_2": &d.Link2, "link_3": &d.Link3, "owner_defined": &d.OwnerDefined,
	} {
		wire.JSONText(d.c, name, into)
	}
	d.readBackground()
}

// readFlags reads the switches of a share. The draft also notes which of comments and
// anonymous uploads the call turns on, as other fields depend on that.
func (d *draft) readFlags() {
	if on, given := d.readFlag("comments_enabled"); given {
		d.NoComments, d.turnsOnComments = !on, on
	}
	if on, given := d.readFlag("guest_chat_enabled"); given {
		d.NoGuestChat = !on
	}
	if on, given := d.readFlag("anonymous_uploads_enabled"); given {
		d.AnonymousUploads, d.turnsOnUploads = on, on
	}
	if on, given := d.readFlag("intelligence"); given {
		d.setIntelligence(on)
	}
	if _, given := d.c.Field("download_security"); given { // high means no downloads by guests
		d.NoGuestDownloads = d.DownloadSecurity == world.SecurityHigh
	}
}

// setIntelligence turns the index of a share on or off, if the plan has one. A share that
// shows a folder uses the index of its workspace, and never has its own: turning it on is
// refused or, when the share is created, ignored.
func (d *draft) setIntelligence(on bool) {
	switch {
	case on && d.ShowsFolder() && !d.creating:
		d.c.Check.Invalid("intelligence", "The workspace indexes the files of its folders.")
	case on && !d.ShowsFolder() && d.h.w.LacksIntelligence():
		d.c.Check.Invalid("intelligence", "The plan does not include it.")
	}
	d.NoIntelligence = !on || d.ShowsFolder()
}

// Whether null and "" clear a text.
const (
	clearable    = true
	notClearable = false
)

// readText reads a text of least to most characters into a field, if it is given. If
// clears is true, null and "" clear the field.
func (d *draft) readText(name string, into *string, least, most int, clears bool) {
	value, given := d.c.Field(name)
	switch {
	case !given:
		return
	case clears && wire.Cleared(value):
		value = ""
	case value == wire.Null:
		d.c.Check.Invalid(name, "It cannot be cleared.")
	default:
		d.c.Check.Text(name, value, least, most)
	}
	*into = value
}

// readCustomName reads the name of the share in links, which no other share may have.
func (d *draft) readCustomName() {
	value, given := d.c.Field("custom_name")
	switch {
	case !given:
	case value == wire.Null || !isCustomName(value):
		d.c.Check.Invalid("custom_name", "4 to 80 letters and digits.")
	case d.h.nameTaken(value, d.ID):
		d.c.Check.Add("custom_name", "invalid", "The name is in use.", codeNameTaken)
	default:
		d.CustomName = value
	}
}

// isCustomName reports whether a text has the form of a custom name: 4 to 80 letters
// and digits.
func isCustomName(name string) bool {
	length := utf8.RuneCountInString(name)
	return length >= customNameLeast && length <= customNameMost && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

const noException = "" // in nameTaken: no share is excepted

// nameTaken reports whether another share than the one with the ID except has a custom
// name.
func (h *Handlers) nameTaken(name, except string) bool {
	id := h.w.ShareNamed(name)
	return id != "" && id != except
}

// readFlag returns a boolean field, and whether it is given.
func (d *draft) readFlag(name string) (on, given bool) {
	value, given := d.c.Field(name)
	return given && d.c.Check.ReadBoolean(name, value), given
}

// readExpiry reads when the share expires; null and "" mean never.
func (d *draft) readExpiry() {
	value, given := d.c.Field("expires")
	switch {
	case !given:
		return
	case wire.Cleared(value):
		value = ""
	case d.ShowsFolder():
		d.c.Check.Invalid("expires", "A share of a folder of its workspace does not expire.")
	}
	at := d.c.ReadDateTime("expires", value)
	d.c.Check.InvalidIf(!at.IsZero() && wire.Past(at, d.h.w.Now()), "expires", "A moment to come.")
	d.Expires = at
}

// readBackground reads the number of the background image.
func (d *draft) readBackground() {
	value, given := d.c.Field("background_image")
	if !given {
		return
	}
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		d.c.Check.Mistyped("background_image", "integer")
	case n < 0 || n > pictureMost:
		d.c.Check.Invalid("background_image", "Between 0 and "+strconv.Itoa(pictureMost)+".")
	}
	d.BackgroundImage = n
}

// checkExclusions checks fields that exclude each other: a password and uploads by anyone
// require a link that is open to anyone, and only a share that shows a folder may have
// another type than send.
func (d *draft) checkExclusions() {
	password, _ := d.c.Field("password")
	_, typed := d.c.Field("share_type")
	d.c.Check.InvalidIf(!wire.Cleared(password) && d.Access != world.AccessAnyone,
		"password", "With the access option "+world.AccessAnyone+" only.")
	switch {
	case typed && !d.ShowsFolder() && d.Kind() != world.ShareSend:
		d.c.Check.Invalid("share_type", "Independent shares are of type send.")
	case d.turnsOnUploads && (d.Kind() == world.ShareSend || d.Access != world.AccessAnyone):
		d.c.Check.Invalid("anonymous_uploads_enabled",
			"For receive and exchange with the access option "+world.AccessAnyone+" only.")
	case d.turnsOnUploads && d.h.w.RefuseWithout(featureAnonymousUploads) != nil:
		d.c.Check.Invalid("anonymous_uploads_enabled", "The plan does not include it.")
	}
}

// featureAnonymousUploads is ours: the name is not published.
const featureAnonymousUploads = "anonymous_uploads"

// adjustAccess changes the fields of access that other fields limit: a link for anyone is
// restricted to registered users if another setting requires to know the user, and
// only a link for anyone keeps a password and anonymous uploads.
func (d *draft) adjustAccess() {
	notify, notified := d.c.Field("notify")
	receives := d.Kind() != world.ShareSend
	anonymousUploads := receives && d.AnonymousUploads
	uploadsNeedAUser := receives && !d.AnonymousUploads
	needsIdentity := d.turnsOnComments || notified && notify != notifyNever || uploadsNeedAUser
	if d.Access == world.AccessAnyone && needsIdentity {
		d.Access = world.AccessRegistered
	}
	if d.Access != world.AccessAnyone {
		d.Password, anonymousUploads = "", false
	}
	d.AnonymousUploads = anonymousUploads
}
