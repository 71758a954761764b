package shares

import (
	"encoding/json"
	"net/url"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
)

// Share is a portal, or a shared folder of a workspace.
//
// Each output level adds fields to those of the level below. A field that is not
// in the response is zero; for a flag that is nil, which does not mean false.
type Share struct {
	// At [api.Terse].
	ID      api.ID       `json:"id,omitzero"`
	Title   string       `json:"title,omitzero"`
	Type    Type         `json:"share_type,omitzero"`
	Level   Level        `json:"share_level,omitzero"`   // the caller's relation to it
	RootID  api.OpaqueID `json:"share_root_id,omitzero"` // its root folder; for members only
	Creator api.ID       `json:"creator,omitzero"`

	// From [api.Standard] up.
	Description             string           `json:"description,omitzero"`
	CustomName              string           `json:"custom_name,omitzero"` // accepted in place of ID
	CustomURL               string           `json:"custom_url,omitzero"`  // "" means none
	Category                Category         `json:"share_category,omitzero"`
	StorageMode             StorageMode      `json:"storage_mode,omitzero"`
	FolderNodeID            api.OpaqueID     `json:"folder_node_id,omitzero"` // of [StorageModeWorkspaceFolder]
	Link                    json.RawMessage  `json:"share_link,omitzero"`     // in an undocumented form
	DownloadSecurity        DownloadSecurity `json:"download_security,omitzero"`
	Expires                 api.Time         `json:"expires,omitzero"` // zero means never
	Created                 api.Time         `json:"created,omitzero"`
	Updated                 api.Time         `json:"updated,omitzero"`
	UserStatus              UserStatus       `json:"user_status,omitzero"` // in lists only
	Archived                *bool            `json:"archived,omitzero"`
	Closed                  *bool            `json:"closed,omitzero"`
	Locked                  *bool            `json:"locked,omitzero"`      // for admins only
	Orphaned                *bool            `json:"is_orphaned,omitzero"` // its folder was deleted
	Intelligence            *bool            `json:"intelligence,omitzero"`
	GuestChatEnabled        *bool            `json:"guest_chat_enabled,omitzero"`
	AnonymousUploadsEnabled *bool            `json:"anonymous_uploads_enabled,omitzero"`

	// At [api.Full].
	ParentType       ParentType         `json:"parent_type,omitzero"`
	ParentWorkspace  api.ID             `json:"parent_workspace,omitzero"`
	ParentOrg        api.ID             `json:"parent_org,omitzero"`
	Access           Access             `json:"access_options,omitzero"`
	Password         api.Secret         `json:"password,omitzero"`
	Notify           Notify             `json:"notify,omitzero"`
	Invite           *Inviting          `json:"invite,omitzero"`
	ExternalInvites  ExternalInvites    `json:"external_invites,omitzero"`
	Capabilities     *Capabilities      `json:"capabilities,omitzero"` // for members only
	ActivityTracking *ActivityTracking  `json:"activity_tracking,omitzero"`
	Comments         *CommentVisibility `json:"comments,omitzero"`
	Filesystem       *Filesystem        `json:"filesystem,omitzero"`
	EventFlow        *EventFlow         `json:"event_flow,omitzero"`
	Multiplayer      *Multiplayer       `json:"multiplayer,omitzero"`
	MemberVisibility *MemberVisibility  `json:"member_visibility,omitzero"`
	Suspended        *bool              `json:"suspended,omitzero"`
	DisplayType      DisplayType        `json:"display_type,omitzero"`
	WorkspaceStyle   string             `json:"workspace_style,omitzero"`
	BackgroundImage  *int               `json:"background_image,omitzero"`

	// At [api.Full], in undocumented forms.
	AccentColor      json.RawMessage `json:"accent_color,omitzero"`
	BackgroundColor1 json.RawMessage `json:"background_color1,omitzero"`
	BackgroundColor2 json.RawMessage `json:"background_color2,omitzero"`
	Link1            json.RawMessage `json:"link_1,omitzero"`
	Link2            json.RawMessage `json:"link_2,omitzero"`
	Link3            json.RawMessage `json:"link_3,omitzero"`
	OwnerDefined     json.RawMessage `json:"owner_defined,omitzero"`
	Storage          json.RawMessage `json:"storage,omitzero"`
	Parents          json.RawMessage `json:"parents,omitzero"`
	Platform         json.RawMessage `json:"platform,omitzero"`
	Deleted          json.RawMessage `json:"deleted,omitzero"`
	Search           json.RawMessage `json:"search,omitzero"`
	Chat             json.RawMessage `json:"chat,omitzero"`
	Assets           json.RawMessage `json:"assets,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// URL returns the address of the share in the web app, "" without its CustomName.
func (s *Share) URL() string {
	if s.CustomName == "" {
		return ""
	}
	return "https://go.fast.io/shared/" + url.PathEscape(s.CustomName)
}

// NodeURL returns the address of a file of the share in the web app, "" without the
// CustomName of the share.
func (s *Share) NodeURL(node api.OpaqueID) string {
	if s.CustomName == "" {
		return ""
	}
	return s.URL() + "/preview/" + url.PathEscape(string(node))
}

// Inviting describes the right to invite to a share.
type Inviting struct {
	Setting   Invite `json:"setting"`
	CanInvite *bool  `json:"can_invite"` // the caller may invite

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Capabilities are the caller's permissions on a share. Nil means unknown.
type Capabilities struct {
	CanInviteExternal *bool `json:"can_invite_external"` // may invite people from outside the organization

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ActivityTracking is the visibility of activity in a share.
type ActivityTracking struct {
	Enabled           *bool `json:"enabled"`
	OwnerActivity     *bool `json:"owner_activity"`
	GuestActivity     *bool `json:"guest_activity"`
	OwnActivity       *bool `json:"own_activity"`
	AllUploadActivity *bool `json:"all_upload_activity"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// CommentVisibility is the visibility of comments in a share.
type CommentVisibility struct {
	Enabled                *bool `json:"enabled"`
	OwnerCommentsVisible   *bool `json:"owner_comments_visible"`
	GuestCommentsVisible   *bool `json:"guest_comments_visible"`
	PersonalRepliesVisible *bool `json:"personal_replies_visible"`
	OwnerRepliesVisible    *bool `json:"owner_replies_visible"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Filesystem describes the permitted operations on files and folders of a share.
type Filesystem struct {
	FileCreation       *bool `json:"file_creation"`
	FileModification   *bool `json:"file_modification"`
	FileDownload       *bool `json:"file_download"`
	FileView           *bool `json:"file_view"`
	FolderCreation     *bool `json:"folder_creation"`
	FolderModification *bool `json:"folder_modification"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// EventFlow is the visibility of events in a share.
type EventFlow struct {
	Enabled           *bool `json:"enabled"`
	CanSeeOwnEvents   *bool `json:"can_see_own_events"`
	CanSeeOwnerEvents *bool `json:"can_see_owner_events"`
	CanSeeGuestEvents *bool `json:"can_see_guest_events"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Multiplayer is the visibility of presence in a share.
type Multiplayer struct {
	EnabledForUser     *bool `json:"enabled_for_user"`
	EnabledForOwners   *bool `json:"enabled_for_owners"`
	EnabledForGuests   *bool `json:"enabled_for_guests"`
	OwnersCanSeeGuests *bool `json:"owners_can_see_guests"`
	GuestsCanSeeOwners *bool `json:"guests_can_see_owners"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// MemberVisibility is the visibility of the members of a share.
type MemberVisibility struct {
	UserCanSeeMembers   *bool `json:"user_can_see_members"`
	OwnersCanSeeMembers *bool `json:"owners_can_see_members"`
	GuestsCanSeeMembers *bool `json:"guests_can_see_members"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Type is the direction of the files. Unknown values of this type and of the
// others of a [Share] are kept.
type Type string

// Types of shares.
const (
	TypeSend     Type = "send"     // to guests; all portals
	TypeReceive  Type = "receive"  // from guests
	TypeExchange Type = "exchange" // in both directions
)

// StorageMode is the place where the files of a share are stored. It is immutable.
type StorageMode string

// Storage modes of a share.
const (
	StorageModeIndependent     StorageMode = "independent"      // in its own storage: a portal
	StorageModeWorkspaceFolder StorageMode = "workspace_folder" // in a folder of the workspace
)

// Category is the name of the storage mode in responses.
type Category string

// Categories of shares.
const (
	CategoryPortal       Category = "portal"        // [StorageModeIndependent]
	CategorySharedFolder Category = "shared_folder" // [StorageModeWorkspaceFolder]
)

// Level is the caller's relation to a share.
type Level string

// Relations of the caller to a share.
const (
	LevelAdmin    Level = "admin"
	LevelMember   Level = "member"
	LevelGuest    Level = "guest"
	LevelPublic   Level = "public"
	LevelExcluded Level = "excluded"
)

// Access is the set of users who may open a share without an invitation.
type Access string

// Access options of a share. The server narrows AccessAnyone to AccessRegistered, which
// clears the password, if the request enables comments or notifications that
// require an identity, or if the share receives files without anonymous uploads.
// [Service.Get] returns the access in effect.
const (
	AccessMembers    Access = "Only members of the Share or Workspace"
	AccessOrg        Access = "Members of the Share, Workspace or Org"
	AccessRegistered Access = "Anyone with a registered account"
	AccessAnyone     Access = "Anyone with the link"
)

// Invite is the set of members who may manage the invitations of a share.
type Invite string

// Members who may manage the invitations of a share.
const (
	InviteOwners Invite = "owners"
	InviteGuests Invite = "guests"
)

// Notify is when a share sends notifications.
type Notify string

// Settings of notifications.
const (
	NotifyNever          Notify = "never"
	NotifyReceived       Notify = "notify_on_file_received"
	NotifySentOrReceived Notify = "notify_on_file_sent_or_received"
)

// DownloadSecurity is how guests may download files.
type DownloadSecurity string

// Settings of downloads.
const (
	DownloadSecurityOff    DownloadSecurity = "off"    // unrestricted
	DownloadSecurityMedium DownloadSecurity = "medium" // with short-lived links
	DownloadSecurityHigh   DownloadSecurity = "high"   // downloads are disabled
)

// DisplayType is how files are displayed.
type DisplayType string

// Display types of a share.
const (
	DisplayTypeGrid DisplayType = "grid"
	DisplayTypeList DisplayType = "list"
)

// UserStatus is the caller's membership of a share in a list.
type UserStatus string

// Statuses of the caller in a share.
const (
	UserStatusJoined    UserStatus = "joined"
	UserStatusAvailable UserStatus = "available" // the caller may join
)

// ParentType is the type of the profile that a share belongs to.
type ParentType string

// Types of the parent of a share.
const (
	ParentTypeWorkspace ParentType = "workspace"
	ParentTypeUser      ParentType = "user"
)

// ExternalInvites permits or denies invitations of people outside the
// organization; "" means unknown.
type ExternalInvites string

// Settings for external invitations.
const (
	ExternalInvitesAllowed ExternalInvites = "allowed"
	ExternalInvitesDenied  ExternalInvites = "denied"
	ExternalInvitesInherit ExternalInvites = "inherit" // that of the organization; an update cannot set it
)

// UnmarshalJSON decodes null as [ExternalInvitesInherit].
func (e *ExternalInvites) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*e = ExternalInvitesInherit
		return nil
	}
	return jsonv2.Unmarshal(b, (*string)(e))
}
