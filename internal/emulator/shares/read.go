package shares

import (
	"cmp"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

func (h *Handlers) shareDetails(c *wire.Call, id string) (wire.Object, error) {
	return wire.Object{{"share", h.ShareObject(id, c.UserID(), c.Out.Level)}}, nil
}

// readableShare returns a function that finds the id of the share in the path of a call.
// It refuses a caller who may not read the share, with the given code.
func (h *Handlers) readableShare(code int64) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		if err := c.Check.Err(); err != nil {
			return "", err
		}
		id := h.w.ShareNamed(c.Segment("share_id"))
		if id == "" {
			return "", wire.NoSuch(wire.CodeNotFound, wire.KindShare)
		}
		return id, h.refuseRead(c, id, code)
	}
}

// publicDetails returns what a visitor sees of a share: the share, its owner, its
// organization and the nodes in its root folder. Insiders also see its members.
func (h *Handlers) publicDetails(c *wire.Call, id string) (wire.Object, error) {
	share := &h.w.Share(id).Value
	store := h.w.StoreOf(id, c)
	var users []string
	if store.Insider(h.w) {
		users = h.w.MembersOf(id)
	}
	return wire.Object{
		{"share", h.ShareObject(id, store.User, c.Out.Level)},
		{"owner", h.shareOwner(store, share)},
		{"nodes", wire.Rows(h.storage.ChildrenOf(store.Owner, store.Folder),
			func(n *world.Node) wire.Object { return h.storage.NodeObject(store, n, c.Out.Level) })},
		{"users", wire.Rows(users, func(user string) wire.Object {
			return h.Account.UserObject(user, store.User,
				wire.Terse)
		})},
		{"comments", []wire.Object{}}, // always empty: no document shows its rows
		{"org", h.shareOrg(share)},
	}, nil
}

// shareOwner renders the first owner of a share or, without one, its creator, nil if there
// is no such user. Only insiders see the e-mail address.
func (h *Handlers) shareOwner(store world.Store, share *world.Share) any {
	id := share.Creator
	if owners := h.ownersOf(share.ID); len(owners) > 0 {
		id = owners[0]
	}
	if h.w.User(id) == nil {
		return nil
	}
	o := h.Account.UserObject(id, store.User, wire.Terse)
	o = o.With(store.Insider(h.w), "email_address", h.w.User(id).Value.Email)
	return o
}

// shareOrg renders the organization of a share, nil if it has none.
func (h *Handlers) shareOrg(share *world.Share) any {
	o := h.w.Org(share.Org)
	if o == nil {
		return nil
	}
	return wire.Object{
		{"id", wire.ProfileID(share.Org)}, {"domain", o.Value.Domain}, {"name", o.Value.Name}, {"logo", nil},
	}
}

// sharesAll returns the shares in which the caller is, or to which the caller is
// invited, except for those whose folder is deleted.
func (h *Handlers) sharesAll(c *wire.Call) (wire.Object, error) {
	return h.w.List(c, "shares", h.sharesFor(c.Key, func(share *world.Share) bool {
		return (h.joined(share, c.Key.User) || h.w.InvitationOfGuest(share.ID, c.Key.User) != nil) &&
			!h.w.Orphaned(h.w.StoreFor(share.ID, c.Key.User))
	}), h.shareRow)
}

// sharesAvailable returns all shares that the caller is in or may join, in one
// response, without those whose folder is deleted (Orphaned).
func (h *Handlers) sharesAvailable(c *wire.Call) (wire.Object, error) {
	ids := h.sharesFor(c.Key, func(share *world.Share) bool {
		return (h.joined(share, c.Key.User) || h.Joinable(share, c.Key.User)) &&
			!h.w.Orphaned(h.w.StoreFor(share.ID, c.Key.User))
	})
	return wire.Object{{"shares", wire.Rows(ids,
		func(id string) wire.Object { return h.shareRow(id, c.Key.User, c.Out.Level) })}}, nil
}

// sharesOfWorkspace returns a page of the shares of a workspace: either the archived
// or the other ones.
func (h *Handlers) sharesOfWorkspace(c *wire.Call, workspaceID string) (wire.Object, error) {
	archived := c.Boolean("archived")
	return h.w.List(c, "shares", h.sharesFor(c.Key, func(share *world.Share) bool {
		return share.Workspace == workspaceID && share.Archived == archived && h.w.Role(share.ID, c.Key.User) != ""
	}), h.shareRow)
}

// sharesOfUser returns a page of the shares that the caller is in: either the archived
// or the other ones.
func (h *Handlers) sharesOfUser(c *wire.Call) (wire.Object, error) {
	archived := c.Boolean("archived")
	return h.w.List(c, "shares", h.sharesFor(c.Key, func(share *world.Share) bool {
		return share.Archived == archived && h.joined(share, c.Key.User)
	}), h.shareRow)
}

// sharesFor returns the shares that a credential may read and for which a condition
// holds.
func (h *Handlers) sharesFor(k *wire.Credential, holds func(*world.Share) bool) []string {
	return wire.Filter(h.w.ShareIDs(),
		func(id string) bool { return h.w.AccessMode(k, id) >= wire.Read && holds(&h.w.Share(id).Value) })
}

// joined reports whether a user has a role of their own on a share.
func (h *Handlers) joined(share *world.Share, userID string) bool {
	return h.w.DirectRole(share.ID, userID) != ""
}

// Joinable reports whether a user may join a share without an invitation. It depends on the
// access option of the share: its members and those of its workspace may, or the members
// of its organization too, or no one.
func (h *Handlers) Joinable(share *world.Share, userID string) bool {
	isMember := h.w.Role(share.ID, userID) != "" || h.w.Role(share.Workspace, userID) != ""
	switch share.AccessOption() {
	case world.AccessMembers:
		return isMember
	case world.AccessOrg:
		return isMember || h.w.Role(share.Org, userID) != ""
	}
	return false
}

// shareRow renders a share in a list, with whether the viewer has joined it.
func (h *Handlers) shareRow(id, viewer string, lv wire.Level) wire.Object {
	r := wire.Row{Level: lv, Fields: h.ShareObject(id, viewer, lv)}
	status := "available"
	if h.joined(&h.w.Share(id).Value, viewer) {
		status = "joined"
	}
	r.Put(wire.Standard, "user_status", status)
	return r.Fields
}

// checkShareName returns 202 if the custom name in the path is valid and free, and an
// error otherwise.
func (h *Handlers) checkShareName(c *wire.Call) (wire.Object, error) {
	name := c.Segment("name")
	switch {
	case !isCustomName(name):
		c.Check.Invalid("name", "4 to 80 letters and digits.")
	case h.nameTaken(name, noException):
		c.Check.Add("name", "invalid", "The name is in use.", codeNameTaken)
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	return c.Accepted(nil)
}

// ShareObject renders a share for a user, "" for a visitor without an account. Members
// that the user may not see are left out.
func (h *Handlers) ShareObject(id, viewer string, lv wire.Level) wire.Object {
	held := h.w.Share(id)
	share := &held.Value
	role := h.w.Role(id, viewer)
	isMember := world.Rank(role) >= world.Rank(world.Member)
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "id", wire.ProfileID(id))
	r.Put(wire.Terse, "title", wire.TextOrNull(share.Title))
	r.Put(wire.Terse, "share_type", share.Kind())
	r.Put(wire.Terse, "share_level", h.shareLevel(share, viewer))
	r.PutIf(isMember, wire.Terse, "share_root_id", wire.Hyphenated(h.w.RootOf(share)))
	r.Put(wire.Terse, "creator", wire.ProfileOrNull(share.Creator))
	r.Put(wire.Standard, "share_category", share.Category())
	r.Put(wire.Standard, "storage_mode", share.Mode())
	r.Put(wire.Standard, "folder_node_id", wire.TextOrNull(wire.Hyphenated(share.Folder)))
	r.Put(wire.Standard, "share_link", linkNode(share))
	r.Put(wire.Standard, "closed", false)
	r.Put(wire.Standard, "archived", share.Archived)
	r.Put(wire.Standard, "is_orphaned", h.w.Orphaned(h.w.StoreFor(id, viewer)))
	r.PutIf(world.Rank(role) >= world.Rank(world.Admin), wire.Standard, "locked", share.Locked)
	r.Put(wire.Standard, "custom_name", share.CustomName)
	r.Put(wire.Standard, "custom_url", wire.TextOrNull(share.CustomURL))
	r.Put(wire.Standard, "description", wire.TextOrNull(share.Description))
	r.Put(wire.Standard, "download_security", share.Security())
	r.Put(wire.Standard, "expires", wire.StampOrNull(share.Expires))
	r.Put(wire.Standard, "created", wire.Stamp(held.Created))
	settingsChanged := h.w.Activity.Of(id)[world.FieldSettings] / 1e6 // microseconds
	r.Put(wire.Standard, "updated", wire.Stamp(max(held.Created, settingsChanged)))
	r.Put(wire.Standard, "guest_chat_enabled", !share.NoGuestChat)
	r.Put(wire.Standard, "anonymous_uploads_enabled", share.AnonymousUploads)
	r.Put(wire.Standard, "intelligence", !share.NoIntelligence && !share.ShowsFolder())
	h.putRights(&r, share, viewer)
	putSettings(share, &r, role)
	return r.Fields
}

// putRights adds the members of the level full that say what a user may do and see. A
// share of the kind send does not receive files from guests.
func (h *Handlers) putRights(r *wire.Row, share *world.Share, viewer string) {
	role := h.w.Role(share.ID, viewer)
	isMember := world.Rank(role) >= world.Rank(world.Member)
	hasComments := !share.NoComments
	// The settings of comments also decide which events a guest sees.
	seesOwners, seesGuests := isMember || !share.HideTeamComments, isMember || !share.HideGuestComments
	r.Put(wire.Full, "activity_tracking", wire.Object{
		{"enabled", !share.NoMultiplayer},
		{"owner_activity", !share.NoMultiplayer},
		{"guest_activity", !share.NoMultiplayer},
		{"own_activity", true},
		{"all_upload_activity", isMember},
	})
	r.Put(wire.Full, "comments", wire.Object{
		{"enabled", hasComments},
		{"owner_comments_visible", seesOwners},
		{"guest_comments_visible", seesGuests},
		{"personal_replies_visible", true},
		{"owner_replies_visible", seesOwners},
	})
	receives := isMember || share.Kind() != world.ShareSend && role != ""
	downloads := isMember || !share.NoGuestDownloads
	r.Put(wire.Full, "filesystem", wire.Object{
		{"file_creation", receives || share.AnonymousUploads},
		{"file_modification", isMember},
		{"file_download", downloads},
		{"file_view", true},
		{"folder_creation", receives},
		{"folder_modification", isMember},
	})
	r.Put(wire.Full, "event_flow", wire.Object{
		{"enabled", true},
		{"can_see_own_events", true},
		{"can_see_owner_events", seesOwners},
		{"can_see_guest_events", seesGuests},
	})
	r.Put(wire.Full, "multiplayer", wire.Object{
		{"enabled_for_user", !share.NoMultiplayer && role != ""},
		{"enabled_for_owners", !share.NoMultiplayer},
		{"enabled_for_guests", !share.NoMultiplayer},
		{"owners_can_see_guests", !share.NoMultiplayer},
		{"guests_can_see_owners", !share.NoMultiplayer},
	})
	r.Put(wire.Full, "member_visibility", wire.Object{
		{"user_can_see_members", role != ""}, {"owners_can_see_members", true}, {"guests_can_see_members", true},
	})
	invites := world.Rank(role) >= world.Rank(world.Admin) || role != "" && share.Invite == InviteGuests
	r.Put(wire.Full, "invite", wire.Object{{"setting", cmp.Or(share.Invite, inviteOwners)}, {"can_invite", invites}})
	r.PutIf(isMember, wire.Full, "capabilities",
		wire.Object{{"can_invite_external", invites && h.w.DeniesOutsiders(share.ID) == ""}})
	r.Put(wire.Full, "external_invites", wire.TextOrNull(share.ExternalInvites))
}

// putSettings adds the settings of a share, at the level full. Its password and whether it
// is suspended are for admins.
func putSettings(share *world.Share, r *wire.Row, role world.Role) {
	parent := wire.KindWorkspace
	if share.Workspace == "" {
		parent = wire.KindUser
	}
	r.Put(wire.Full, "parent_type", parent)
	r.Put(wire.Full, "parent_workspace", wire.ProfileOrNull(share.Workspace))
	r.Put(wire.Full, "parent_org", wire.ProfileOrNull(share.Org))
	r.Put(wire.Full, "access_options", share.AccessOption())
	r.Put(wire.Full, "notify", cmp.Or(share.Notify, notifyNever))
	r.Put(wire.Full, "display_type", cmp.Or(share.DisplayType, "grid"))
	r.Put(wire.Full, "workspace_style", cmp.Or(share.WorkspaceStyle, "true"))
	r.Put(wire.Full, "accent_color", wire.Parsed(share.AccentColor))
	r.Put(wire.Full, "background_color1", wire.Parsed(share.BackgroundColor1))
	r.Put(wire.Full, "background_color2", wire.Parsed(share.BackgroundColor2))
	r.Put(wire.Full, "background_image", share.BackgroundImage)
	r.Put(wire.Full, "link_1", wire.Parsed(share.Link1))
	r.Put(wire.Full, "link_2", wire.Parsed(share.Link2))
	r.Put(wire.Full, "link_3", wire.Parsed(share.Link3))
	r.Put(wire.Full, "owner_defined", wire.Parsed(share.OwnerDefined))
	if world.Rank(role) >= world.Rank(world.Admin) {
		r.Put(wire.Full, "password", wire.TextOrNull(share.Password))
		r.Put(wire.Full, "suspended", share.Suspended)
	}
	for _, name := range [...]string{"parents", "deleted", "platform", "storage", "search", "chat", "assets"} {
		r.Put(wire.Full, name, nil) // its form is not documented
	}
}

// shareLevel returns what a user is to a share: admin, member, guest, public for a user
// who only may open it, and excluded for all others.
func (h *Handlers) shareLevel(share *world.Share, viewer string) string {
	switch role := h.w.Role(share.ID, viewer); {
	case world.Rank(role) >= world.Rank(world.Admin):
		return "admin"
	case world.Rank(role) >= world.Rank(world.Member):
		return "member"
	case role != "":
		return "guest"
	case h.storage.AdmitsWithoutRole(share, viewer):
		return "public"
	}
	return "excluded"
}

// linkNode renders the node that links to a share in its workspace, nil without one.
func linkNode(share *world.Share) any {
	if share.Link == "" {
		return nil
	}
	return wire.Object{{"node_id", wire.Hyphenated(share.Link)}}
}
