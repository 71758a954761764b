package shares

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
)

// UpdateRequest is a change of a share. A zero field leaves the value unchanged,
// [api.Null] clears it, and the limits of [CreateRequest] apply. An empty text or password
// is rejected. The platform documents both that a title may be cleared and that a share
// requires one: a server that requires it returns [api.ErrInvalid].
type UpdateRequest struct {
	Title       api.Opt[string]
	Description api.Opt[string]
	CustomName  string // cannot be cleared
	CustomURL   api.Opt[string]

	Type                    Type   `wire:"share_type"`     // TypeSend disables anonymous uploads
	Access                  Access `wire:"access_options"` // a value other than AccessAnyone clears the password and disables anonymous uploads
	Password                api.Opt[api.Secret]
	AnonymousUploadsEnabled *bool
	Invite                  Invite
	ExternalInvites         ExternalInvites // allowed or denied
	Expires                 api.Opt[time.Time]
	ClearShareLink          bool // clears the share link, which cannot be set

	Notify           Notify
	DownloadSecurity DownloadSecurity
	CommentsEnabled  *bool
	GuestChatEnabled *bool
	Intelligence     *bool // false deletes the index; indexing again costs credits

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

// Update changes a share, also an archived one. It requires the owner or admin
// role. [Service.Get] returns the access in effect: see [Access].
//
// Errors: [api.ErrForbidden] if the caller lacks the role; [api.ErrInvalid] if
// the share cannot have the value: a share of a workspace folder neither
// expires nor has Intelligence, a password requires [AccessAnyone], and the CustomName must
// be available ([Service.CheckName] reports it).
//
// It calls POST /current/share/{share_id}/update/.
func (s *Service) Update(ctx context.Context, share api.ID, r UpdateRequest, opts ...api.CallOption) error {
	f := newFields(input.Fields[UpdateRequest]("shares.Update"))
	r.describe(f)
	r.setAccess(f)
	r.setAppearance(f)
	if err := f.UpdateErr(); err != nil {
		return err
	}
	return call.Do(ctx, s.c, endpoint.SharesUpdate(share, f.Form), opts)
}

// describe sets the form fields for the title, the texts and the features of a
// share, as far as they change.
func (r UpdateRequest) describe(f *fields) {
	optional(f, "title", r.Title, f.text(minTitle, maxTitle))
	optional(f, "description", r.Description, f.text(minDescription, maxDescription))
	form.Given("custom_name", r.CustomName, f.name) // by Given, because optional could clear it
	optional(f, "custom_url", r.CustomURL, f.text(minURL, maxURL))
	f.Flag("intelligence", r.Intelligence)
	f.Flag("comments_enabled", r.CommentsEnabled)
	f.Flag("guest_chat_enabled", r.GuestChatEnabled)
	word(f, "notify", r.Notify)
	word(f, "download_security", r.DownloadSecurity)
}

// setAccess sets the form fields for who may open the share. It refuses only
// contradictions within the request, because the current values are unknown.
func (r UpdateRequest) setAccess(f *fields) {
	_, hasPassword := r.Password.Get()
	allowsAnonymous := r.AnonymousUploadsEnabled != nil && *r.AnonymousUploadsEnabled
	access := r.Access
	if access == "" { // the current access is kept, which is unknown and may be the most open one
		access = AccessAnyone
	}
	sendsOnly := r.Type == TypeSend
	checkOpenAccess(f, access, hasPassword, allowsAnonymous, sendsOnly)
	word(f, "share_type", r.Type)
	word(f, "access_options", r.Access)
	optional(f, "password", r.Password, f.password)
	f.Flag("anonymous_uploads_enabled", r.AnonymousUploadsEnabled)
	word(f, "invite", r.Invite)
	if r.ExternalInvites == ExternalInvitesInherit {
		f.Refuse("external_invites", "must be allowed or denied: an update cannot restore inherit", "")
	}
	word(f, "external_invites", r.ExternalInvites)
	optional(f, "expires", r.Expires, f.Time(form.Bare))
	if r.ClearShareLink {
		f.Set("share_link_node_id", form.Null)
	}
}

// setAppearance sets the form fields for the appearance of a share, as far as it
// changes.
func (r UpdateRequest) setAppearance(f *fields) {
	word(f, "display_type", r.DisplayType)
	word(f, "workspace_style", r.WorkspaceStyle)
	if r.BackgroundImage != nil {
		f.image("background_image", *r.BackgroundImage)
	}
	optional(f, "accent_color", r.AccentColor, f.JSON)
	optional(f, "background_color1", r.BackgroundColor1, f.JSON)
	optional(f, "background_color2", r.BackgroundColor2, f.JSON)
	optional(f, "link_1", r.Link1, f.JSON)
	optional(f, "link_2", r.Link2, f.JSON)
	optional(f, "link_3", r.Link3, f.JSON)
	optional(f, "owner_defined", r.OwnerDefined, f.JSON)
}
