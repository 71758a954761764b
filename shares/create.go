package shares

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// CreateRequest is a new share. What is zero is left to the server, which then takes
// the default that is given.
type CreateRequest struct {
	Title       string // 2 to 80 characters; required
	Description string // 10 to 500 characters
	CustomName  string // of its address: 4 to 80 letters and digits that no other share has; "" has one made up
	CustomURL   string // 10 to 100 characters

	Type        Type        // TypeSend; in a folder TypeExchange. A portal is always a TypeSend
	StorageMode StorageMode // StorageModeIndependent, a portal; a folder takes one of the next two

	FolderNodeID api.OpaqueID // the folder to share, which no other share may have
	CreateFolder bool         // or one is made for the share
	FolderName   string       // of the folder that is made: 1 to 255 characters; "Shared Folder"

	Access Access // AccessMembers

	// Password asks for one: 4 to 128 characters; it takes AccessAnyone. One that is
	// set and empty is refused, for a setting that somebody forgot must not leave the
	// link open.
	Password api.Opt[api.Secret]

	AnonymousUploadsEnabled bool      // guests need not tell who they are; takes AccessAnyone, a folder and a plan with it
	Invite                  Invite    // InviteOwners
	Expires                 time.Time // by the second; never. Of portals only

	Notify           Notify           // NotifyNever
	DownloadSecurity DownloadSecurity // DownloadSecurityOff
	CommentsEnabled  *bool            // true
	GuestChatEnabled bool             // guests may talk to the agent
	Intelligence     bool             // files are indexed for what they mean, which costs credits; without effect in a folder, whose workspace does it

	DisplayType      DisplayType // DisplayTypeGrid
	WorkspaceStyle   string
	BackgroundImage  int             // 0 to 128
	AccentColor      json.RawMessage // a color as a JSON object, whose form is not published
	BackgroundColor1 json.RawMessage // likewise
	BackgroundColor2 json.RawMessage // likewise
	Link1            json.RawMessage // a link as a JSON object, whose form is not published
	Link2            json.RawMessage // likewise
	Link3            json.RawMessage // likewise
	OwnerDefined     json.RawMessage // any JSON, kept for the owner
}

// Create makes a share in a workspace. What it returns has an ID, a CustomName, a
// StorageMode and, if there is one, a FolderNodeID; [Service.Get] tells the rest, and
// what the server made of the request: see [Access]. Each call makes another, so it
// is only repeated when it was never sent.
//
// [api.ErrInvalid] is a name or a folder that another share has, or a request that
// contradicts itself; [api.ErrLimit] a plan that allows no more shares;
// [api.ErrForbidden] with [ReasonSharingDisabled] a policy against them;
// [api.ErrConflict] another change under way.
//
// It calls POST /current/workspace/{workspace_id}/create/share/.
func (s *Service) Create(ctx context.Context, workspace api.ProfileID, r CreateRequest, opts ...api.CallOption) (*Share, error) {
	const op = "shares.Create"
	f := newFields(op)
	r.check(f)
	r.describe(f)
	r.place(f)
	r.brand(f)
	if f.err != nil {
		return nil, f.err
	}
	a, err := call.Do[shareAnswer](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/workspace/{workspace_id}/create/share/", string(workspace)),
		Body: f.form, Replay: api.ReplayOnce,
	}, opts)
	if err != nil {
		return nil, err
	}
	return call.Found(op, "share", a.share(), opts)
}

// check refuses what does not go together. What the server makes fit, such as an
// access that is too wide for comments, is left to it.
func (r CreateRequest) check(f *fields) {
	folder := r.StorageMode == StorageModeWorkspaceFolder
	switch {
	case r.Title == "":
		f.refuse("title", "must not be empty", "")
	case !folder && (r.Type == TypeReceive || r.Type == TypeExchange):
		f.refuse("share_type", "must be send unless storage_mode is workspace_folder", string(r.Type))
	case folder && r.FolderNodeID == "" && !r.CreateFolder:
		f.refuse("folder_node_id", "must be set, or create_folder be true, when storage_mode is workspace_folder", "")
	case folder && !r.Expires.IsZero():
		f.refuse("expires", "must be left out when storage_mode is workspace_folder", "")
	}
	if r.Password.IsNull() {
		f.refuse("password", "must be left out or have a value: there is none to clear", "")
	}
	checkOpen(f, r.Access, !r.Password.IsZero(), r.AnonymousUploadsEnabled, r.Type == TypeSend || !folder)
}

// checkOpen refuses what only a share that is open to anyone can have.
func checkOpen(f *fields, access Access, password, anonymous, send bool) {
	rule := "must be left out unless access_options is " + strconv.Quote(string(AccessAnyone))
	switch {
	case password && access != AccessAnyone:
		f.refuse("password", rule, "")
	case anonymous && access != AccessAnyone:
		f.refuse("anonymous_uploads_enabled", rule, "true")
	case anonymous && send:
		f.refuse("anonymous_uploads_enabled", "must be left out unless share_type is receive or exchange", "true")
	}
}

func (r CreateRequest) describe(f *fields) {
	given("title", r.Title, f.text(minTitle, maxTitle))
	given("description", r.Description, f.text(minDescription, maxDescription))
	given("custom_name", r.CustomName, f.name)
	given("custom_url", r.CustomURL, f.text(minURL, maxURL))
	f.set("intelligence", strconv.FormatBool(r.Intelligence)) // which the server insists on
	f.flag("comments_enabled", r.CommentsEnabled)
	if r.GuestChatEnabled {
		f.set("guest_chat_enabled", "true")
	}
	word(f, "notify", r.Notify)
	word(f, "download_security", r.DownloadSecurity)
}

func (r CreateRequest) place(f *fields) {
	word(f, "share_type", r.Type)
	word(f, "storage_mode", r.StorageMode)
	if r.FolderNodeID != "" {
		word(f, "folder_node_id", r.FolderNodeID.Plain())
	}
	if r.CreateFolder {
		f.set("create_folder", "true")
	}
	given("folder_name", r.FolderName, f.text(minFolder, maxFolder))
	word(f, "access_options", r.Access)
	optional(f, "password", r.Password, f.password)
	if r.AnonymousUploadsEnabled {
		f.set("anonymous_uploads_enabled", "true")
	}
	word(f, "invite", r.Invite)
	given("expires", r.Expires, f.moment(layoutBare))
}

func (r CreateRequest) brand(f *fields) {
	word(f, "display_type", r.DisplayType)
	word(f, "workspace_style", r.WorkspaceStyle)
	given("background_image", r.BackgroundImage, f.image)
	for field, value := range map[string]json.RawMessage{
		"accent_color": r.AccentColor, "background_color1": r.BackgroundColor1, "background_color2": r.BackgroundColor2,
		"link_1": r.Link1, "link_2": r.Link2, "link_3": r.Link3, "owner_defined": r.OwnerDefined,
	} {
		if value != nil {
			f.json(field, value)
		}
	}
}
