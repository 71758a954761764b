package shares

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
)

// Share is a portal, or a folder of a workspace that is open to others.
//
// Each level of output adds fields to those of the level before. A field that the
// answer left out is zero; a flag is nil then, which is not false.
type Share struct {
	// At [api.Terse].
	ID      api.ProfileID `json:"id,omitzero"`
	Title   string        `json:"title,omitzero"`
	Type    Type          `json:"share_type,omitzero"`
	Level   Level         `json:"share_level,omitzero"`   // what the caller is to it
	RootID  api.OpaqueID  `json:"share_root_id,omitzero"` // its topmost folder; told to members
	Creator api.ProfileID `json:"creator,omitzero"`

	// From [api.Standard] up.
	Description             string           `json:"description,omitzero"`
	CustomName              string           `json:"custom_name,omitzero"` // may stand for ID in a path
	CustomURL               string           `json:"custom_url,omitzero"`  // "" without one
	Category                Category         `json:"share_category,omitzero"`
	StorageMode             StorageMode      `json:"storage_mode,omitzero"`
	FolderNodeID            api.OpaqueID     `json:"folder_node_id,omitzero"` // of [StorageModeWorkspaceFolder]
	Link                    json.RawMessage  `json:"share_link,omitzero"`     // its form is not published
	DownloadSecurity        DownloadSecurity `json:"download_security,omitzero"`
	Expires                 api.Time         `json:"expires,omitzero"` // zero never
	Created                 api.Time         `json:"created,omitzero"`
	Updated                 api.Time         `json:"updated,omitzero"`
	UserStatus              UserStatus       `json:"user_status,omitzero"` // in lists
	Archived                *bool            `json:"archived,omitzero"`
	Closed                  *bool            `json:"closed,omitzero"`
	Locked                  *bool            `json:"locked,omitzero"`      // told to administrators
	Orphaned                *bool            `json:"is_orphaned,omitzero"` // the folder behind it was deleted
	Intelligence            *bool            `json:"intelligence,omitzero"`
	GuestChatEnabled        *bool            `json:"guest_chat_enabled,omitzero"`
	AnonymousUploadsEnabled *bool            `json:"anonymous_uploads_enabled,omitzero"`

	// At [api.Full].
	ParentType       ParentType         `json:"parent_type,omitzero"`
	ParentWorkspace  api.ProfileID      `json:"parent_workspace,omitzero"`
	ParentOrg        api.ProfileID      `json:"parent_org,omitzero"`
	Access           Access             `json:"access_options,omitzero"`
	Password         api.Secret         `json:"password,omitzero"`
	Notify           Notify             `json:"notify,omitzero"`
	Invite           *Inviting          `json:"invite,omitzero"`
	ExternalInvites  ExternalInvites    `json:"external_invites,omitzero"`
	Capabilities     *Capabilities      `json:"capabilities,omitzero"` // told to members
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

	// At [api.Full], and in no published form.
	AccentColor      json.RawMessage `json:"accent_color,omitzero"`
	BackgroundColor1 json.RawMessage `json:"background_color1,omitzero"`
	BackgroundColor2 json.RawMessage `json:"background_color2,omitzero"`
	Link1            json.RawMessage `json:"link_1,omitzero"`
	Link2            json.RawMessage `json:"link_2,omitzero"`
	Link3            json.RawMessage `json:"link_3,omitzero"`
	OwnerDefined     json.RawMessage `json:"owner_defined,omitzero"`
	Storage          json.RawMessage `json:"storage,omitzero"`
	Parents          json.RawMessage `json:"parents,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Inviting says who may invite to a share.
type Inviting struct {
	Setting   Invite `json:"setting"`
	CanInvite *bool  `json:"can_invite"` // the caller may

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Capabilities is what the caller may do with a share. Nil is what the answer did not
// tell: try it.
type Capabilities struct {
	CanInviteExternal *bool `json:"can_invite_external"` // people from outside of the organization

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ActivityTracking says whose doings a share shows.
type ActivityTracking struct {
	Enabled           *bool `json:"enabled"`
	OwnerActivity     *bool `json:"owner_activity"`
	GuestActivity     *bool `json:"guest_activity"`
	OwnActivity       *bool `json:"own_activity"`
	AllUploadActivity *bool `json:"all_upload_activity"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// CommentVisibility says whose comments can be seen in a share.
type CommentVisibility struct {
	Enabled                *bool `json:"enabled"`
	OwnerCommentsVisible   *bool `json:"owner_comments_visible"`
	GuestCommentsVisible   *bool `json:"guest_comments_visible"`
	PersonalRepliesVisible *bool `json:"personal_replies_visible"`
	OwnerRepliesVisible    *bool `json:"owner_replies_visible"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Filesystem says what can be done with the files and folders of a share.
type Filesystem struct {
	FileCreation       *bool `json:"file_creation"`
	FileModification   *bool `json:"file_modification"`
	FileDownload       *bool `json:"file_download"`
	FileView           *bool `json:"file_view"`
	FolderCreation     *bool `json:"folder_creation"`
	FolderModification *bool `json:"folder_modification"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// EventFlow says whose events can be seen in a share.
type EventFlow struct {
	Enabled           *bool `json:"enabled"`
	CanSeeOwnEvents   *bool `json:"can_see_own_events"`
	CanSeeOwnerEvents *bool `json:"can_see_owner_events"`
	CanSeeGuestEvents *bool `json:"can_see_guest_events"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Multiplayer says who sees whom at work in a share.
type Multiplayer struct {
	EnabledForUser     *bool `json:"enabled_for_user"`
	EnabledForOwners   *bool `json:"enabled_for_owners"`
	EnabledForGuests   *bool `json:"enabled_for_guests"`
	OwnersCanSeeGuests *bool `json:"owners_can_see_guests"`
	GuestsCanSeeOwners *bool `json:"guests_can_see_owners"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// MemberVisibility says who sees the members of a share.
type MemberVisibility struct {
	UserCanSeeMembers   *bool `json:"user_can_see_members"`
	OwnersCanSeeMembers *bool `json:"owners_can_see_members"`
	GuestsCanSeeMembers *bool `json:"guests_can_see_members"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Type says which way files go.
type Type string

// The types. Another one is newer than this package, as with all values below.
const (
	TypeSend     Type = "send"     // to the guests: every portal is one
	TypeReceive  Type = "receive"  // from the guests
	TypeExchange Type = "exchange" // both ways
)

// StorageMode says where the files of a share are. It never changes.
type StorageMode string

// Where the files can be.
const (
	StorageModeIndependent     StorageMode = "independent"      // in a storage of the share's own
	StorageModeWorkspaceFolder StorageMode = "workspace_folder" // in a folder of the workspace
)

// Category is what a share is called for where its files are.
type Category string

// The categories.
const (
	CategoryPortal       Category = "portal"        // of [StorageModeIndependent]
	CategorySharedFolder Category = "shared_folder" // of [StorageModeWorkspaceFolder]
)

// Level is what the caller is to a share.
type Level string

// The levels.
const (
	LevelAdmin    Level = "admin"
	LevelMember   Level = "member"
	LevelGuest    Level = "guest"
	LevelPublic   Level = "public"
	LevelExcluded Level = "excluded"
)

// Access says who may come into a share without having been invited.
type Access string

// Who may. The server narrows AccessAnyone to AccessRegistered where it does not go
// with comments, with notifications that need to know somebody, or with files from
// guests: read the share to see what it has.
const (
	AccessMembers    Access = "Only members of the Share or Workspace"
	AccessOrg        Access = "Members of the Share, Workspace or Org"
	AccessRegistered Access = "Anyone with a registered account"
	AccessAnyone     Access = "Anyone with the link"
)

// Invite says who may invite to a share, and see to its members.
type Invite string

// Who may.
const (
	InviteOwners Invite = "owners"
	InviteGuests Invite = "guests"
)

// Notify says when a share sends notifications.
type Notify string

// When it does.
const (
	NotifyNever          Notify = "never"
	NotifyReceived       Notify = "notify_on_file_received"
	NotifySentOrReceived Notify = "notify_on_file_sent_or_received"
)

// DownloadSecurity says how guests get at files.
type DownloadSecurity string

// How they do.
const (
	DownloadSecurityOff    DownloadSecurity = "off"    // they download them
	DownloadSecurityMedium DownloadSecurity = "medium" // through links that are good for a short time
	DownloadSecurityHigh   DownloadSecurity = "high"   // they do not download them
)

// DisplayType says how files are shown.
type DisplayType string

// How they are.
const (
	DisplayTypeGrid DisplayType = "grid"
	DisplayTypeList DisplayType = "list"
)

// UserStatus is how a share came to be in a list.
type UserStatus string

// How it came there.
const (
	UserStatusJoined    UserStatus = "joined"
	UserStatusAvailable UserStatus = "available" // the caller could join
)

// ParentType says what a share belongs to.
type ParentType string

// What it can belong to.
const (
	ParentTypeWorkspace ParentType = "workspace"
	ParentTypeUser      ParentType = "user"
)

// ExternalInvites says whether people from outside of the organization may be
// invited to a share; "" when the answer did not tell.
type ExternalInvites string

// Whether they may.
const (
	ExternalInvitesAllowed ExternalInvites = "allowed"
	ExternalInvitesDenied  ExternalInvites = "denied"
	ExternalInvitesInherit ExternalInvites = "inherit" // as the organization has it: null on the wire. No update returns to it
)

// UnmarshalJSONFrom reads null as [ExternalInvitesInherit].
func (e *ExternalInvites) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == 'n' {
		*e = ExternalInvitesInherit
		return dec.SkipValue()
	}
	return jsonv2.UnmarshalDecode(dec, (*string)(e))
}
