package emulator

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Who may invite.
const (
	inviteOwners = "owners"
	inviteGuests = "guests"
)

// Limits of share fields, in characters.
const (
	descriptionLeast, descriptionMost = 10, 500
	customURLLeast, customURLMost     = 10, 100
	customNameLeast, customNameMost   = 4, 80
	linkPasswordLeast                 = 4
	linkPasswordMost                  = 128
	folderNameMost                    = 255
	pictureMost                       = 128 // pictures there are
)

// draft is a share as a form changes it. Nothing of it holds before every field was read and every rule asked.
type draft struct {
	s *Server
	c *call
	share

	comments, uploads bool // the form turns them on
	creating          bool
}

// shareFields are the fields that creating and updating have in common.
const shareFields = "title description custom_url custom_name password share_type access_options invite notify " +
	"download_security display_type workspace_style expires comments_enabled guest_chat_enabled anonymous_uploads_enabled " +
	"intelligence accent_color background_color1 background_color2 link_1 link_2 link_3 owner_defined background_image"

// readShare reads the fields that creating and updating have in common.
func (d *draft) readShare() {
	c := d.c
	d.text("title", &d.Title, titleLeast, titleMost, false)
	d.text("description", &d.Description, descriptionLeast, descriptionMost, true)
	d.text("custom_url", &d.CustomURL, customURLLeast, customURLMost, true)
	d.text("password", &d.Password, linkPasswordLeast, linkPasswordMost, true)
	d.customName()
	c.permission("share_type", &d.Type, shareSend, shareReceive, shareExchange)
	c.permission("access_options", &d.Access, accessMembers, accessOrg, accessRegistered, accessAnyone)
	c.permission("invite", &d.Invite, inviteOwners, inviteGuests)
	c.permission("notify", &d.Notify, notifyNever, "notify_on_file_received", "notify_on_file_sent_or_received")
	c.permission("download_security", &d.DownloadSecurity, securityHigh, securityMedium, securityOff)
	c.permission("display_type", &d.DisplayType, "grid", "list")
	if style, given := c.field("workspace_style"); given {
		if strings.TrimSpace(style) == "" {
			c.check.invalid("workspace_style", "Not blank.")
		}
		d.WorkspaceStyle = style
	}
	d.expiry()
	d.flags()
	for name, into := range map[string]*seed.JSON{
		"accent_color": &d.AccentColor, "background_color1": &d.BackgroundColor1, "background_color2": &d.BackgroundColor2,
		"link_1": &d.Link1, "link_2": &d.Link2, "link_3": &d.Link3, "owner_defined": &d.OwnerDefined,
	} {
		d.c.json(name, into)
	}
	d.background()
}

func (d *draft) flags() {
	if on, given := d.flag("comments_enabled"); given {
		d.NoComments, d.comments = !on, on
	}
	if on, given := d.flag("guest_chat_enabled"); given {
		d.NoGuestChat = !on
	}
	if on, given := d.flag("anonymous_uploads_enabled"); given {
		d.AnonymousUploads, d.uploads = on, on
	}
	if on, given := d.flag("intelligence"); given {
		d.intelligence(on)
	}
	if _, given := d.c.field("download_security"); given {
		d.NoGuestDownloads = d.DownloadSecurity == securityHigh
	}
}

// intelligence is for portals, where the plan has it. A new share of a folder goes without it, whatever was sent.
func (d *draft) intelligence(on bool) {
	switch {
	case on && d.showsFolder() && !d.creating:
		d.c.check.invalid("intelligence", "The workspace indexes the files of its folders.")
	case on && !d.showsFolder() && d.s.noIntelligence():
		d.c.check.invalid("intelligence", "The plan does not include it.")
	}
	d.NoIntelligence = !on || d.showsFolder()
}

// cleared tells the values that stand for nothing.
func cleared(value string) bool { return value == "" || value == null }

// text reads a line of so many characters.
func (d *draft) text(name string, into *string, least, most int, clears bool) {
	value, given := d.c.field(name)
	switch {
	case !given:
		return
	case clears && cleared(value):
		value = ""
	case value == null:
		d.c.check.invalid(name, "It cannot be cleared.")
	default:
		d.c.check.text(name, value, least, most)
	}
	*into = value
}

func (d *draft) customName() {
	value, given := d.c.field("custom_name")
	switch {
	case !given:
	case value == null || !isCustomName(value):
		d.c.check.invalid("custom_name", "4 to 80 letters and digits.")
	case d.s.state.nameTaken(value, d.ID):
		d.c.check.add("custom_name", "invalid", "The name is in use.", codeNameTaken)
	default:
		d.CustomName = value
	}
}

func isCustomName(name string) bool {
	length := utf8.RuneCountInString(name)
	return length >= customNameLeast && length <= customNameMost && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// nameTaken tells whether another share has a custom name, or would be mistaken for its id.
func (st *state) nameTaken(name, shareID string) bool {
	id := st.shareNamed(name)
	return id != "" && id != shareID
}

func (d *draft) flag(name string) (on, given bool) {
	value, given := d.c.field(name)
	return given && d.c.check.yes(name, value), given
}

func (d *draft) expiry() {
	value, given := d.c.field("expires")
	switch {
	case !given:
		return
	case cleared(value):
		value = ""
	case d.showsFolder():
		d.c.check.invalid("expires", "A share of a folder of its workspace does not expire.")
	}
	at := d.c.readDateTime("expires", value)
	if !at.IsZero() && past(at, d.s.now()) {
		d.c.check.invalid("expires", "A moment to come.")
	}
	d.Expires = at
}

// json reads JSON text. The platform does not show the members of colors and links, so any text that is JSON will do.
func (d *draft) background() {
	value, given := d.c.field("background_image")
	if !given {
		return
	}
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		d.c.check.mistyped("background_image", "integer")
	case n < 0 || n > pictureMost:
		d.c.check.invalid("background_image", "Between 0 and "+strconv.Itoa(pictureMost)+".")
	}
	d.BackgroundImage = n
}

// exclusions are the rules between fields.
func (d *draft) exclusions() {
	password, _ := d.c.field("password")
	_, typed := d.c.field("share_type")
	if !cleared(password) && d.Access != accessAnyone {
		d.c.check.invalid("password", "With the access option "+accessAnyone+" only.")
	}
	switch {
	case typed && !d.showsFolder() && d.kind() != shareSend:
		d.c.check.invalid("share_type", "Independent shares are of type send.")
	case d.uploads && (d.kind() == shareSend || d.Access != accessAnyone):
		d.c.check.invalid("anonymous_uploads_enabled", "For receive and exchange with the access option "+accessAnyone+" only.")
	case d.uploads && d.s.lacks(featureAnonymousUploads) != nil:
		d.c.check.invalid("anonymous_uploads_enabled", "The plan does not include it.")
	}
}

// featureAnonymousUploads has no published name: this one is ours.
const featureAnonymousUploads = "anonymous_uploads"

// follow does what follows from the new values: what needs to know people upgrades a link for anyone to one for
// accounts, and what such a link alone may have goes with it.
func (d *draft) follow() {
	notify, notified := d.c.field("notify")
	needsIdentity := d.comments || notified && notify != notifyNever
	uploads := d.AnonymousUploads && d.kind() != shareSend
	if d.Access == accessAnyone && (needsIdentity || d.kind() != shareSend && !uploads) {
		d.Access = accessRegistered
	}
	if d.Access != accessAnyone {
		d.Password, uploads = "", false
	}
	d.AnonymousUploads = uploads
}
