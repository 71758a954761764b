package shares

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
)

// CreateRequest is a new share. A zero field leaves the default to the server;
// known defaults are documented.
type CreateRequest struct {
	Title       string // 2 to 80 characters; required
	Description string // 10 to 500 characters
	CustomName  string // part of the address: 4 to 80 letters and digits, unique; default: generated
	CustomURL   string // 10 to 100 characters

	Type        Type        `wire:"share_type"` // default: TypeSend; of a folder TypeExchange. A portal is always TypeSend
	StorageMode StorageMode // default: StorageModeIndependent, which is a portal

	// StorageModeWorkspaceFolder requires either of the first two. A portal has none.
	FolderNodeID api.OpaqueID // the folder to share; a folder can be shared once
	CreateFolder bool         // creates the folder
	FolderName   string       // of the created folder: 1 to 255 characters; default: "Shared Folder"

	Access Access `wire:"access_options"` // default: AccessMembers

	// Password protects the link: 4 to 128 characters. It requires AccessAnyone, and for
	// a folder also TypeSend or AnonymousUploadsEnabled, without which the server narrows
	// the access and clears the password: see [Access]. The zero Secret means none, as
	// does [api.NewSecret] of an empty text: a program that reads the password from a
	// variable must check that it is set, or the link is open.
	Password api.Secret

	AnonymousUploadsEnabled bool      // requires AccessAnyone, a type that receives files, and a plan with the feature
	Invite                  Invite    // default: InviteOwners
	Expires                 time.Time // default: never. To the second; portals only

	Notify           Notify           // default: NotifyNever
	DownloadSecurity DownloadSecurity // default: DownloadSecurityOff
	CommentsEnabled  *bool            // default: true
	GuestChatEnabled bool             // lets guests use the agent chat
	Intelligence     bool             // indexes files for retrieval, which costs credits; portals only

	DisplayType      DisplayType // default: DisplayTypeGrid
	WorkspaceStyle   string
	BackgroundImage  int             // a number from 0; the server accepts 0 to 128 (assumed)
	AccentColor      json.RawMessage // a color as JSON, in an undocumented form; as the next two
	BackgroundColor1 json.RawMessage
	BackgroundColor2 json.RawMessage
	Link1            json.RawMessage // a link as JSON, in an undocumented form; as the next two
	Link2            json.RawMessage
	Link3            json.RawMessage
	OwnerDefined     json.RawMessage // any JSON, for use by the owner
}

// Create creates a share in a workspace. The result has the ID, CustomName, StorageMode
// and FolderNodeID only; [Service.Get] returns the other fields, and the access in
// effect: see [Access]. Each call creates another share, so it is retried only if it
// was not processed.
//
// Errors: [api.ErrInvalid] if the CustomName is not available ([Service.CheckName]
// reports it), the folder is already shared, or the plan does not include Intelligence;
// [api.ErrLimit] if the plan allows no more shares; [api.ErrForbidden] with
// [ReasonSharingDisabled] if a policy denies shares, which the capability
// can_create_share of the workspace reports beforehand; [api.ErrConflict] if another
// operation is in progress.
//
// A folder can be shared once. The ID of its share is the ShareID of its storage.Node, from
// storage.Service.Get; a list of shares has the ID of the folder as FolderNodeID.
//
// It calls POST /current/workspace/{workspace_id}/create/share/.
func (s *Service) Create(
	ctx context.Context, workspace api.ID, r CreateRequest, opts ...api.CallOption,
) (*Share, error) {
	const op = "shares.Create"
	f := newFields(input.Fields[CreateRequest](op))
	r.check(f)
	r.describe(f)
	r.setPlace(f)
	r.brand(f)
	if err := f.Err(); err != nil {
		return nil, err
	}
	a, err := call.Payload[shareAnswer](ctx, s.c, endpoint.SharesCreate(workspace, f.Form), opts)
	if err != nil {
		return nil, err
	}
	return call.Found(op, "share", a.share())
}

// check refuses fields that contradict each other. Combinations that the server
// adjusts, such as comments with AccessAnyone, are sent.
func (r CreateRequest) check(f *fields) {
	if r.Title == "" {
		f.Refuse("title", "must not be empty", "")
	}
	isFolder := r.StorageMode == StorageModeWorkspaceFolder
	if isFolder {
		r.checkFolder(f)
	} else {
		r.checkPortal(f)
	}
	sendsOnly := r.Type == TypeSend || !isFolder // a portal receives nothing
	checkOpenAccess(f, r.Access, !r.Password.IsZero(), r.AnonymousUploadsEnabled, sendsOnly)
}

// checkFolder refuses fields that are invalid for a share whose content is a
// folder of a workspace.
func (r CreateRequest) checkFolder(f *fields) {
	const mode = " when StorageMode is workspace_folder"
	isOpenWithPassword := r.Access == AccessAnyone && !r.Password.IsZero()
	serverDropsPassword := isOpenWithPassword && r.Type != TypeSend && !r.AnonymousUploadsEnabled
	switch {
	case r.FolderNodeID == "" && !r.CreateFolder:
		f.Refuse("folder_node_id", "must be set, or CreateFolder be true,"+mode, "")
	case r.FolderNodeID != "" && r.CreateFolder:
		f.Refuse("folder_node_id", "must be left out with CreateFolder", strconv.Quote(string(r.FolderNodeID)))
	case r.FolderName != "" && !r.CreateFolder:
		f.Refuse("folder_name", "must be left out without CreateFolder", strconv.Quote(r.FolderName))
	case !r.Expires.IsZero():
		f.Refuse("expires", "must be left out"+mode, r.Expires.UTC().Format(form.Zone))
	case r.Intelligence:
		f.Refuse("intelligence", "must be false"+mode+": the workspace indexes the files", "true")
	case serverDropsPassword:
		const rule = "must be left out unless Type is send or AnonymousUploadsEnabled is true" + mode
		f.Refuse("password", rule+": the server would narrow Access and clear it", "")
	}
}

// checkPortal refuses fields that are invalid for a portal, a share whose
// content is not a folder of a workspace.
func (r CreateRequest) checkPortal(f *fields) {
	const mode = " unless StorageMode is workspace_folder"
	switch {
	case r.Type == TypeReceive || r.Type == TypeExchange:
		f.Refuse("share_type", "must be send"+mode, string(r.Type))
	case r.FolderNodeID != "":
		f.Refuse("folder_node_id", "must be left out"+mode, strconv.Quote(string(r.FolderNodeID)))
	case r.CreateFolder:
		f.Refuse("create_folder", "must be false"+mode, "true")
	case r.FolderName != "":
		f.Refuse("folder_name", "must be left out"+mode, strconv.Quote(r.FolderName))
	}
}

// checkOpenAccess refuses a password and anonymous uploads unless the share is open to
// anyone, and anonymous uploads to a share that only sends files.
func checkOpenAccess(f *fields, access Access, password, anonymous, sendsOnly bool) {
	rule := "must be left out unless Access is " + strconv.Quote(string(AccessAnyone))
	switch {
	case password && access != AccessAnyone:
		f.Refuse("password", rule, "")
	case anonymous && access != AccessAnyone:
		f.Refuse("anonymous_uploads_enabled", rule, "true")
	case anonymous && sendsOnly:
		f.Refuse("anonymous_uploads_enabled", "must be left out unless Type is receive or exchange", "true")
	}
}

// describe sets the form fields for the title, the texts and the features of a
// share.
func (r CreateRequest) describe(f *fields) {
	form.Given("title", r.Title, f.text(minTitle, maxTitle))
	form.Given("description", r.Description, f.text(minDescription, maxDescription))
	form.Given("custom_name", r.CustomName, f.name)
	form.Given("custom_url", r.CustomURL, f.text(minURL, maxURL))
	f.Set("intelligence", strconv.FormatBool(r.Intelligence)) // required
	f.Flag("comments_enabled", r.CommentsEnabled)
	if r.GuestChatEnabled {
		f.Set("guest_chat_enabled", "true")
	}
	word(f, "notify", r.Notify)
	word(f, "download_security", r.DownloadSecurity)
}

// setPlace sets the form fields for where the content of a share is and who has
// access.
func (r CreateRequest) setPlace(f *fields) {
	word(f, "share_type", r.Type)
	word(f, "storage_mode", r.StorageMode)
	if r.FolderNodeID != "" {
		word(f, "folder_node_id", r.FolderNodeID.Plain())
	}
	if r.CreateFolder {
		f.Set("create_folder", "true")
	}
	form.Given("folder_name", r.FolderName, f.text(minFolder, maxFolder))
	word(f, "access_options", r.Access)
	form.Given("password", r.Password, f.password)
	if r.AnonymousUploadsEnabled {
		f.Set("anonymous_uploads_enabled", "true")
	}
	word(f, "invite", r.Invite)
	form.Given("expires", r.Expires, f.Time(form.Bare))
}

// brand sets the form fields for the appearance of a share.
func (r CreateRequest) brand(f *fields) {
	word(f, "display_type", r.DisplayType)
	word(f, "workspace_style", r.WorkspaceStyle)
	form.Given("background_image", r.BackgroundImage, f.image)
	f.GivenJSON("accent_color", r.AccentColor)
	f.GivenJSON("background_color1", r.BackgroundColor1)
	f.GivenJSON("background_color2", r.BackgroundColor2)
	f.GivenJSON("link_1", r.Link1)
	f.GivenJSON("link_2", r.Link2)
	f.GivenJSON("link_3", r.Link3)
	f.GivenJSON("owner_defined", r.OwnerDefined)
}
