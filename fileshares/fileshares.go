// Package fileshares creates, manages and reads File Shares: durable links to a
// single file of a workspace, with access tiers, grants to people, and
// optionally a password and an expiry.
//
//	link, err := owner.FileShares.Create(ctx, design, fileshares.CreateRequest{
//		NodeID: file, Access: fileshares.AccessNamedPeople, Password: password,
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	_, err = owner.FileShares.Grants.Set(ctx, link.ID, "bo@example.com", fileshares.CapabilityEdit)
//
// A recipient reads the file with [Service.DownloadFile], without a sign-in if the tier
// allows it, and replaces it with [Service.ReplaceFile], which requires the edit
// capability. Both take the password of a link by [api.WithLinkPassword]. It is sent in a
// header that is never forwarded by a redirect. Comments on the file are in package
// comments, and its changes in package realtime: both take the numeric ID of a File
// Share, not the public one.
//
// The platform does not document the address of the web page of a File Share, so that a
// [FileShare] has no URL method. A program passes on the PublicID. If anyone with the link may
// open the file, without a password, its content is at
// https://api.fast.io/current/fileshare/PUBLICID/storage/read/ for browsers, too.
package fileshares

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// Service creates, manages and reads File Shares. It is the FileShares field of
// a fastio.Client, and safe for concurrent use.
type Service struct {
	c       api.Client
	uploads *uploads.Service

	Grants   *Grants   // who has which capability
	Versions *Versions // the versions of the file of a link
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service {
	return &Service{c: c, Grants: &Grants{c}, Versions: &Versions{c}, uploads: uploads.New(c)}
}

// Access is the tier of a link: who may open it without a grant. No tier grants
// [CapabilityEdit]. Signed-in members of the workspace may open it whatever the
// tier, with the capability of their role. The password applies to them as well.
type Access string

// Tiers of access. Unknown values are kept.
const (
	AccessAnyoneWithLink Access = "anyone_with_link" // no account required; comments are always disabled
	AccessAnyRegistered  Access = "any_registered"   // any signed-in user
	AccessNamedPeople    Access = "named_people"     // users with a grant
)

// Capability is a permission on a File Share. Each includes those before it.
type Capability string

// Capabilities of the caller. "" means unknown, not that nothing is allowed. Unknown values
// are kept.
const (
	CapabilityView     Capability = "view"     // details and previews
	CapabilityDownload Capability = "download" // the content, and the metadata extracted from it
	CapabilityEdit     Capability = "edit"     // to replace the file
)

func capabilities() []Capability {
	return []Capability{CapabilityView, CapabilityDownload, CapabilityEdit}
}

// MayAllow reports whether a call that requires need may succeed. It is false
// only if both capabilities are known and c is the lesser one.
func (c Capability) MayAllow(need Capability) bool {
	have, want := slices.Index(capabilities(), c), slices.Index(capabilities(), need)
	return have < 0 || have >= want
}

// FileShare is a link to a file, as the caller sees it.
type FileShare struct {
	ID       api.ID       `json:"fileshare"` // numeric; packages comments and realtime require it
	PublicID api.OpaqueID `json:"id_alt"`    // the ID in links; this package accepts it too, as an api.ID

	Title           string        `json:"title"`
	Access          Access        `json:"access_option"`
	HasPassword     bool          `json:"has_password"`
	CommentsEnabled bool          `json:"comments_enabled"`
	Capability      Capability    `json:"effective_capability"` // of the caller; "" means unknown
	File            *storage.Node `json:"file"`                 // with its ID, Name, Size and current Version

	Expires api.Time `json:"expires"` // zero means never; as the next two, also zero if not in the response
	Created api.Time `json:"created"`
	Updated api.Time `json:"updated"`

	CanManage   *bool  `json:"can_manage"`   // nil for a caller without a token
	WorkspaceID api.ID `json:"workspace_id"` // only if CanManage, as the next
	Creator     api.ID `json:"creator_uid"`

	GrantCount    *int            `json:"grant_count"`    // in lists only
	GrantsPreview json.RawMessage `json:"grants_preview"` // in lists only, in an undocumented form

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Get returns a File Share, named by its numeric ID or by the ID in links. It
// requires no token if the tier is [AccessAnyoneWithLink].
//
// Errors: [api.ErrNotFound] if the link does not exist, has expired or was
// revoked, which the server does not distinguish; [api.ErrForbidden] if the
// password is missing or wrong, or the tier does not admit the caller, which is
// [api.ErrUnauthenticated] for a caller without a token. Neither ends the
// session of the account.
//
// It calls GET /current/fileshare/{fileshare_id}/details/.
func (s *Service) Get(ctx context.Context, fileshare api.ID, opts ...api.CallOption) (*FileShare, error) {
	return call.One[FileShare](ctx, s.c, endpoint.FileSharesGet(fileshare), "fileshare", opts)
}

// Delete revokes a link and its grants; the file is kept. It cannot be undone.
// It requires membership of the workspace. It is idempotent over retries: a
// link that is gone after a lost response is a success.
//
// Errors: [api.ErrForbidden] if the caller is not a member; [api.ErrNotFound] if the link
// does not exist.
//
// It calls DELETE /current/fileshare/{fileshare_id}/delete/.
func (s *Service) Delete(ctx context.Context, fileshare api.ID, opts ...api.CallOption) error {
	return call.Remove(ctx, s.c, endpoint.FileSharesDelete(fileshare), opts)
}

// Metadata identifies a file and reports whether metadata can be extracted from
// it. It never holds extracted values.
type Metadata struct {
	File            *storage.Node // nil if not in the response
	AutoExtractable *bool         // whether the AI can extract metadata from it; nil means unknown

	Extra map[string]json.RawMessage // members this version has no field for
}

// Metadata returns the identity of the file and whether metadata can be extracted
// from it, without extracted values. It has the errors of [Service.Get].
//
// It calls GET /current/fileshare/{fileshare_id}/storage/metadata/details/.
func (s *Service) Metadata(ctx context.Context, fileshare api.ID, opts ...api.CallOption) (*Metadata, error) {
	a, err := call.Payload[struct {
		Node            *storage.Node              `json:"node" also:"file,node_id"` // (assumed name)
		AutoExtractable *bool                      `json:"autoextractable"`          // (assumed name)
		Extra           map[string]json.RawMessage `json:",embed,unknown"`
	}](ctx, s.c, endpoint.FileSharesMetadata(fileshare), opts)
	if err != nil {
		return nil, err
	}
	return &Metadata{a.Node, a.AutoExtractable, a.Extra}, nil
}
