// Package assets reads and replaces the pictures of organizations, workspaces,
// shares and users, such as logos and banners.
//
//	org := api.Org(acme)
//	if err := client.Assets.Upload(ctx, org, assets.NameLogo, "logo.png", logo); err != nil {
//		log.Fatal(err)
//	}
package assets

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Service reads and replaces pictures. It is the Assets field of a
// fastio.Client, and safe for concurrent use.
type Service struct{ c api.Client }

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service { return &Service{c} }

// Name is the name of a picture. [Service.Types] returns those of a kind of
// profile.
type Name string

// Names of pictures. Unknown values are kept.
const (
	NameLogo       Name = "logo"
	NameBanner     Name = "banner"
	NameProfilePic Name = "profile_pic" // of a user
)

// Asset is a picture, or one that a profile can have.
type Asset struct {
	Name Name `json:"name" scalar:"true"` // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Types returns the pictures that profiles of a kind can have: a user, an
// organization, a workspace or a share.
//
// The form of the response is not documented: names and objects with a name are
// decoded. [api.WithResponse] returns the whole response.
//
// It calls GET /current/org/assets/.
// It calls GET /current/workspace/assets/.
// It calls GET /current/share/assets/.
// It calls GET /current/user/assets/.
func (s *Service) Types(ctx context.Context, kind api.ProfileKind, opts ...api.CallOption) ([]*Asset, error) {
	r := endpoint.AssetsTypes(api.Profile{Kind: kind})
	if e, ok := errors.AsType[*api.InputError](r.Path.Err()); ok {
		e.Op, e.Field = r.Op, "kind"
		return nil, e
	}
	return call.List[*Asset](ctx, s.c, r, "assets", opts) // (assumed name)
}

// List returns all pictures of a user, organization, workspace or share. The
// response has the form of [Service.Types].
//
// Errors: [api.ErrNotFound] if the profile does not exist; [api.ErrForbidden]
// without access to it.
//
// It calls GET /current/org/{org_id}/assets/.
// It calls GET /current/workspace/{workspace_id}/assets/.
// It calls GET /current/share/{share_id}/assets/.
// It calls GET /current/user/{user_id}/assets/.
func (s *Service) List(ctx context.Context, in api.Profile, opts ...api.CallOption) ([]*Asset, error) {
	return call.List[*Asset](ctx, s.c, endpoint.AssetsList(in), "assets", opts) // (assumed name)
}

const uploadTimeout = 2 * time.Minute // of an attempt

// Upload sets a picture of a user, organization, workspace or share, and
// replaces the one of the same name. It sends content, the picture in a format
// for the web, as a file called file. The accepted formats and sizes are not
// documented. An attempt may take 2 minutes.
//
// Content is read once, so the call is not retried, even after status 429. It is
// closed if it is an [io.Closer], and must not be used before a Read that was under
// way has returned.
//
// Errors: [api.ErrForbidden] if the caller may not change the profile;
// [api.ErrInvalid] if the platform does not accept the picture or its name.
//
// It calls POST /current/org/{org_id}/assets/{asset_name}/.
// It calls POST /current/workspace/{workspace_id}/assets/{asset_name}/.
// It calls POST /current/share/{share_id}/assets/{asset_name}/.
// It calls POST /current/user/{user_id}/assets/{asset_name}/.
func (s *Service) Upload(
	ctx context.Context, in api.Profile, name Name, file string, content io.Reader, opts ...api.CallOption,
) error {
	const op = "assets.Upload"
	switch {
	case file == "":
		return input.Parameters(op).Refuse("file", "must not be empty", "")
	case content == nil:
		return &api.InputError{Op: op, Field: "content", Rule: "must not be nil"}
	}
	size := int64(-1)
	if sized, ok := content.(interface{ Len() int }); ok { // a buffer or a reader of one
		size = int64(sized.Len())
	}
	part := &api.FilePart{Field: "file", Name: file, Content: api.Stream("", content, size)}
	r := endpoint.AssetsUpload(in, string(name), api.Multipart(nil, part))
	r.Attempt = uploadTimeout
	return call.Do(ctx, s.c, r, opts)
}

// Delete deletes a picture of a user, organization, workspace or share. It is
// idempotent over retries: a picture that is gone after a lost response is a success.
//
// Errors: [api.ErrNotFound] if there is none; [api.ErrForbidden] if the caller
// may not change the profile.
//
// It calls DELETE /current/org/{org_id}/assets/{asset_name}/.
// It calls DELETE /current/workspace/{workspace_id}/assets/{asset_name}/.
// It calls DELETE /current/share/{share_id}/assets/{asset_name}/.
// It calls DELETE /current/user/{user_id}/assets/{asset_name}/.
func (s *Service) Delete(ctx context.Context, in api.Profile, name Name, opts ...api.CallOption) error {
	return call.Remove(ctx, s.c, endpoint.AssetsDelete(in, string(name)), opts)
}

// Read returns a picture of a user, organization, workspace or share. That of a
// user requires a token. A broken connection is resumed if the server names the
// version that it sends. The caller must close the result.
//
// Errors: [api.ErrNotFound] if there is none; [api.ErrForbidden] without access
// to the profile.
//
// It calls GET /current/org/{org_id}/assets/{asset_name}/read/.
// It calls GET /current/workspace/{workspace_id}/assets/{asset_name}/read/.
// It calls GET /current/share/{share_id}/assets/{asset_name}/read/.
// It calls GET /current/user/{user_id}/assets/{asset_name}/read/.
func (s *Service) Read(
	ctx context.Context, in api.Profile, name Name, opts ...api.CallOption,
) (*api.Download, error) {
	return download.Open(ctx, s.c, endpoint.AssetsRead(in, string(name)), download.Options{}, opts)
}
