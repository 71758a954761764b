package emulator

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// shareObject renders a share for a user, "" for a visitor. Absent is not false: what a viewer may not know is left out.
func (s *Server) shareObject(id, viewer string, lv level) object {
	st := &s.state
	held := st.shares[id]
	h := &held.it
	role := st.role(id, viewer)
	isMember := rank(role) >= rank(Member)
	r := row{level: lv}
	r.put(terse, "id", profileID(id))
	r.put(terse, "title", h.Title)
	r.put(terse, "share_type", h.kind())
	r.put(terse, "share_level", st.shareLevel(h, viewer))
	if isMember {
		r.put(terse, "share_root_id", hyphenated(s.rootOf(h)))
	}
	r.put(terse, "creator", optionalProfile(h.Creator))
	r.put(standard, "share_category", h.category())
	r.put(standard, "storage_mode", h.mode())
	r.put(standard, "folder_node_id", optional(hyphenated(h.Folder)))
	r.put(standard, "share_link", h.link())
	r.put(standard, "closed", false)
	r.put(standard, "archived", h.Archived)
	r.put(standard, "is_orphaned", st.orphaned(st.storeFor(id, viewer)))
	if rank(role) >= rank(Admin) {
		r.put(standard, "locked", h.Locked)
	}
	r.put(standard, "custom_name", h.CustomName)
	r.put(standard, "custom_url", optional(h.CustomURL))
	r.put(standard, "description", optional(h.Description))
	r.put(standard, "download_security", h.security())
	r.put(standard, "expires", when(h.Expires))
	r.put(standard, "created", stamp(held.created))
	r.put(standard, "updated", stamp(st.updatedAt(id, held.created)))
	r.put(standard, "guest_chat_enabled", !h.NoGuestChat)
	r.put(standard, "anonymous_uploads_enabled", h.AnonymousUploads)
	r.put(standard, "intelligence", !h.NoIntelligence && !h.showsFolder())
	s.rights(&r, h, viewer)
	h.look(&r, role)
	return r.fields
}

// rights are the members of the full level that say who may do what.
func (s *Server) rights(r *row, h *share, viewer string) {
	st := &s.state
	role := st.role(h.ID, viewer)
	isMember := rank(role) >= rank(Member)
	comments, owners := !h.NoComments, isMember || !h.HideTeamComments
	r.put(full, "activity_tracking", object{
		{"enabled", !h.NoMultiplayer},
		{"owner_activity", !h.NoMultiplayer},
		{"guest_activity", !h.NoMultiplayer},
		{"own_activity", true},
		{"all_upload_activity", isMember},
	})
	r.put(full, "comments", object{
		{"enabled", comments},
		{"owner_comments_visible", owners},
		{"guest_comments_visible", isMember || !h.HideGuestComments},
		{"personal_replies_visible", true},
		{"owner_replies_visible", owners},
	})
	receives := isMember || h.kind() != shareSend && role != ""
	downloads := isMember || !h.NoGuestDownloads
	r.put(full, "filesystem", object{
		{"file_creation", receives || h.AnonymousUploads},
		{"file_modification", isMember},
		{"file_download", downloads},
		{"file_view", true},
		{"folder_creation", receives},
		{"folder_modification", isMember},
	})
	r.put(full, "event_flow", object{
		{"enabled", true},
		{"can_see_own_events", true},
		{"can_see_owner_events", owners},
		{"can_see_guest_events", isMember || !h.HideGuestComments},
	})
	r.put(full, "multiplayer", object{
		{"enabled_for_user", !h.NoMultiplayer && role != ""},
		{"enabled_for_owners", !h.NoMultiplayer},
		{"enabled_for_guests", !h.NoMultiplayer},
		{"owners_can_see_guests", !h.NoMultiplayer},
		{"guests_can_see_owners", !h.NoMultiplayer},
	})
	r.put(full, "member_visibility", object{
		{"user_can_see_members", role != ""}, {"owners_can_see_members", true}, {"guests_can_see_members", true},
	})
	invites := rank(role) >= rank(Admin) || role != "" && h.Invite == inviteGuests
	r.put(full, "invite", object{{"setting", cmp.Or(h.Invite, inviteOwners)}, {"can_invite", invites}})
	if isMember {
		r.put(full, "capabilities", object{{"can_invite_external", invites && st.deniesOutsiders(h.ID) == ""}})
	}
	r.put(full, "external_invites", optional(h.ExternalInvites))
}

// look are the other members of the full level. Of those without a published shape there is the plainest.
func (h *share) look(r *row, role Role) {
	parent := kindWorkspace
	if h.Workspace == "" {
		parent = kindUser
	}
	r.put(full, "parent_type", parent)
	r.put(full, "parent_workspace", optionalProfile(h.Workspace))
	r.put(full, "parent_org", optionalProfile(h.Org))
	parents := []any{}
	for _, id := range []string{h.Org, h.Workspace} {
		if id != "" {
			parents = append(parents, profileID(id))
		}
	}
	r.put(full, "parents", parents)
	r.put(full, "access_options", h.access())
	r.put(full, "notify", cmp.Or(h.Notify, notifyNever))
	r.put(full, "display_type", cmp.Or(h.DisplayType, "grid"))
	r.put(full, "workspace_style", cmp.Or(h.WorkspaceStyle, "true"))
	r.put(full, "accent_color", parsed(h.AccentColor))
	r.put(full, "background_color1", parsed(h.BackgroundColor1))
	r.put(full, "background_color2", parsed(h.BackgroundColor2))
	r.put(full, "background_image", h.BackgroundImage)
	r.put(full, "link_1", parsed(h.Link1))
	r.put(full, "link_2", parsed(h.Link2))
	r.put(full, "link_3", parsed(h.Link3))
	r.put(full, "owner_defined", parsed(h.OwnerDefined))
	if rank(role) >= rank(Admin) {
		r.put(full, "password", optional(h.Password))
		r.put(full, "suspended", h.Suspended)
	}
	r.put(full, "deleted", false)
	r.put(full, "platform", nil)
	r.put(full, "storage", nil)
	r.put(full, "search", object{{"enabled", true}})
	r.put(full, "chat", object{{"enabled", !h.NoGuestChat || rank(role) >= rank(Member)}})
	r.put(full, "assets", object{})
}

// shareLevel is the standing of a user.
func (st *state) shareLevel(h *share, viewer string) string {
	switch role := st.role(h.ID, viewer); {
	case rank(role) >= rank(Admin):
		return "admin"
	case rank(role) >= rank(Member):
		return "member"
	case role != "":
		return "guest"
	case st.open(h, viewer):
		return "public"
	}
	return "excluded"
}

// rootOf is the id of the root of the storage of a share.
func (s *Server) rootOf(h *share) string {
	if h.showsFolder() {
		return h.Folder
	}
	n, err := strconv.ParseUint(h.ID, 10, 64)
	if err != nil {
		panic(err) // ids have nineteen digits
	}
	return opaque('2', s.o.Seed, n)
}

// link is where the share stands in the storage of its workspace.
func (h *share) link() any {
	if h.Link == "" {
		return nil
	}
	return object{{"node_id", hyphenated(h.Link)}}
}

// updatedAt is when the settings of a profile changed last.
func (st *state) updatedAt(id string, created int64) int64 {
	return max(created, st.activity.fields[id][fieldSettings]/1e6)
}

// parsed shows JSON text as what it says.
func parsed(text seed.JSON) any {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
