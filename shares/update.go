package shares

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/form"
)

// UpdateRequest is what becomes of a share. A field that is zero stays as it is, one
// that is [api.Null] is cleared, and the limits of a [CreateRequest] hold for all
// others. An empty text clears nothing: it is refused. What a share must have, such as
// a title, the server does not clear: that is [api.ErrInvalid].
type UpdateRequest struct {
	Title       api.Opt[string]
	Description api.Opt[string]
	CustomName  api.Opt[string]
	CustomURL   api.Opt[string]

	Type                    Type   // a share that no longer receives takes no anonymous uploads
	Access                  Access // one other than AccessAnyone clears the password and ends anonymous uploads
	Password                api.Opt[api.Secret]
	AnonymousUploadsEnabled *bool
	Invite                  Invite
	ExternalInvites         ExternalInvites // allowed or denied; takes an administrator of the share
	Expires                 api.Opt[time.Time]
	ClearShareLink          bool // which can be cleared, not set

	Notify           Notify
	DownloadSecurity DownloadSecurity
	CommentsEnabled  *bool
	GuestChatEnabled *bool
	Intelligence     *bool // false throws away what was indexed; to index it again costs credits

	DisplayType      DisplayType
	WorkspaceStyle   string
	BackgroundImage  *int
	AccentColor      api.Opt[json.RawMessage]
	BackgroundColor1 api.Opt[json.RawMessage]
	BackgroundColor2 api.Opt[json.RawMessage]
	Link1            api.Opt[json.RawMessage]
	Link2            api.Opt[json.RawMessage]
	Link3            api.Opt[json.RawMessage]
	OwnerDefined     api.Opt[json.RawMessage]
}

// Update changes a share, also one that is archived. It takes its owner or an
// administrator; others are [api.ErrForbidden].
//
// What the share cannot be is [api.ErrInvalid]: one of a folder neither expires nor
// is indexed, and a password takes [AccessAnyone]. What the server makes of the
// access is in [Service.Get].
//
// It calls POST /current/share/{share_id}/update/.
func (s *Service) Update(ctx context.Context, share api.ProfileID, r UpdateRequest, opts ...api.CallOption) error {
	const op = "shares.Update"
	f := newFields(op)
	r.describe(f)
	r.open(f)
	r.brand(f)
	if err := f.Changed(); err != nil {
		return err
	}
	return call.Send(ctx, s.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/update/", string(share)),
		Body: f.Form, Replay: api.ReplaySafe,
	}, opts)
}

func (r UpdateRequest) describe(f *fields) {
	optional(f, "title", r.Title, f.text(minTitle, maxTitle))
	optional(f, "description", r.Description, f.text(minDescription, maxDescription))
	optional(f, "custom_name", r.CustomName, f.name)
	optional(f, "custom_url", r.CustomURL, f.text(minURL, maxURL))
	f.Flag("intelligence", r.Intelligence)
	f.Flag("comments_enabled", r.CommentsEnabled)
	f.Flag("guest_chat_enabled", r.GuestChatEnabled)
	word(f, "notify", r.Notify)
	word(f, "download_security", r.DownloadSecurity)
}

// open says who comes in. What the share has already is not known here, so only what
// contradicts itself is refused.
func (r UpdateRequest) open(f *fields) {
	_, password := r.Password.Get()
	anonymous := r.AnonymousUploadsEnabled != nil && *r.AnonymousUploadsEnabled
	access := r.Access
	if access == "" {
		access = AccessAnyone
	}
	checkOpen(f, access, password, anonymous, r.Type == TypeSend)
	word(f, "share_type", r.Type)
	word(f, "access_options", r.Access)
	optional(f, "password", r.Password, f.password)
	f.Flag("anonymous_uploads_enabled", r.AnonymousUploadsEnabled)
	word(f, "invite", r.Invite)
	if r.ExternalInvites == ExternalInvitesInherit {
		f.Refuse("external_invites", "must be allowed or denied: no update returns to what the organization has", "")
	}
	word(f, "external_invites", r.ExternalInvites)
	optional(f, "expires", r.Expires, f.Time(form.Bare))
	if r.ClearShareLink {
		f.Set("share_link_node_id", null)
	}
}

func (r UpdateRequest) brand(f *fields) {
	word(f, "display_type", r.DisplayType)
	word(f, "workspace_style", r.WorkspaceStyle)
	if r.BackgroundImage != nil {
		f.image("background_image", *r.BackgroundImage)
	}
	for field, value := range map[string]api.Opt[json.RawMessage]{
		"accent_color": r.AccentColor, "background_color1": r.BackgroundColor1, "background_color2": r.BackgroundColor2,
		"link_1": r.Link1, "link_2": r.Link2, "link_3": r.Link3, "owner_defined": r.OwnerDefined,
	} {
		optional(f, field, value, f.json)
	}
}
