// Package fileshares makes, runs and follows File Shares: lasting links to a single
// file of a workspace, with tiers of access, grants to people, and perhaps a
// password and an end.
//
//	link, err := client.FileShares.Create(ctx, workspace, fileshares.CreateRequest{
//		NodeID: file, Access: fileshares.AccessNamedPeople, Password: api.Set[api.Secret]("correct horse"),
//	})
//	_, err = client.FileShares.Grants.Set(ctx, link.ID, fileshares.Grantee{Email: "bo@example.com"}, fileshares.CapabilityEdit)
//
// A recipient reads the file, signed in or not as the link has it, and with the
// capability to edit writes it back:
//
//	got, err := client.FileShares.DownloadFile(ctx, id, "q3.pdf", &fileshares.DownloadOptions{Password: password})
//	_, err = client.FileShares.ReplaceFile(ctx, id, "q3.pdf", fileshares.ReplaceRequest{IfVersion: got.Version, Password: password})
//
// The password of a link goes along in a header that no redirect takes anywhere. What
// people say about the file is in package comments, and changes of it in package
// realtime: both take the ID of a File Share, the number rather than the public one.
package fileshares

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Client is what a [Service] sends through: a fastio.Client.
type Client interface {
	api.Caller
	api.Opener
}

// Service makes, runs and follows File Shares. Get one from the FileShares field of
// a fastio.Client. It is safe for concurrent use.
type Service struct {
	c Client

	Grants   *Grants   // to people
	Versions *Versions // of the file
	Uploads  *Uploads  // of another version, step by step
}

// New returns a Service that sends its requests through c.
func New(c Client) *Service {
	return &Service{c: c, Grants: &Grants{c}, Versions: &Versions{c}, Uploads: &Uploads{c}}
}

// CodeNoPreview is the [api.Error].Code of a preview that is not there, yet or ever,
// where the File Share is.
const CodeNoPreview = 143705

// Access is the tier of a link: who may open it without a grant. No tier lets
// anybody edit. Members of the workspace are let in whatever it is.
type Access string

// The tiers. Another one is newer than this package.
const (
	AccessAnyoneWithLink Access = "anyone_with_link" // also without an account; nobody comments
	AccessAnyRegistered  Access = "any_registered"   // whoever is signed in
	AccessNamedPeople    Access = "named_people"     // those with a grant
)

// Capability is what somebody may do with a File Share, each including those before.
type Capability string

// The capabilities. "" is unknown, and another one newer than this package: an answer
// without one is not one that allows nothing, so try.
const (
	CapabilityView     Capability = "view"     // details and previews
	CapabilityDownload Capability = "download" // the bytes
	CapabilityEdit     Capability = "edit"     // to replace the file
)

func capabilities() []Capability {
	return []Capability{CapabilityView, CapabilityDownload, CapabilityEdit}
}

// MayAllow reports whether it makes sense to try what takes the capability need. It
// is false only where both are known and this one is less.
func (c Capability) MayAllow(need Capability) bool {
	have, want := slices.Index(capabilities(), c), slices.Index(capabilities(), need)
	return have < 0 || have >= want
}

// FileShare is a link to a file, as the caller sees it.
type FileShare struct {
	ID       api.ProfileID `json:"fileshare"` // the number, which package comments and realtime take
	PublicID api.OpaqueID  `json:"id_alt"`    // the ID in links; as an api.ProfileID it names the File Share to this package, too

	Title           string     `json:"title"`
	Access          Access     `json:"access_option"`
	HasPassword     bool       `json:"has_password"`
	CommentsEnabled bool       `json:"comments_enabled"`
	Capability      Capability `json:"effective_capability"` // the caller's; "" is unknown: see [Capability]
	File            *api.Node  `json:"file"`                 // with its ID, Name, Size and current Version

	Expires api.Time `json:"expires"` // zero for never, and where the answer did not tell, as the next two
	Created api.Time `json:"created"`
	Updated api.Time `json:"updated"`

	CanManage   *bool         `json:"can_manage"`   // nil for a caller without an account
	WorkspaceID api.ProfileID `json:"workspace_id"` // for who can manage it, as the next one
	Creator     api.ProfileID `json:"creator_uid"`

	GrantCount    *int            `json:"grant_count"`    // in a list; nil elsewhere
	GrantsPreview json.RawMessage `json:"grants_preview"` // likewise: some of the grants, in a form that is not published

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// answer is a File Share as it arrives.
type answer struct {
	FileShare *FileShare `json:"fileshare"`
}

// GetOptions goes along with a call of a recipient for a link that has a password. Nil
// goes with any other.
type GetOptions struct {
	Password api.Secret // of the link. It is not empty, and neither begins nor ends with a blank
}

// passwordOf returns what opens a link. That it is there but empty is a slip, such as
// a variable that nobody has set.
func passwordOf(op string, o *GetOptions) (api.Secret, error) {
	if o == nil {
		return "", nil
	}
	if o.Password == "" {
		return "", &api.InputError{Op: op, Field: "header X-Ve-Password", Rule: "must not be empty"}
	}
	return o.Password, nil
}

// opening returns what goes along with a call where "" is no password.
func opening(password api.Secret) *GetOptions {
	if password == "" {
		return nil
	}
	return &GetOptions{password}
}

// recipient is a request of whoever was given a link, signed in or not.
func recipient(op string, path api.Route, password api.Secret) *api.Request {
	return &api.Request{
		Op: op, Method: http.MethodGet, Path: path, Replay: api.ReplaySafe, Auth: api.AuthOptional, Password: password,
	}
}

// Get returns a File Share, named by its number or by the ID in links, and what the
// caller may do with it. It takes neither a token nor an account where the tier is
// [AccessAnyoneWithLink].
//
// A link that never was, that has expired and that was taken back are the same
// [api.ErrNotFound]. One whose password is missing or wrong, or that was given to
// others, is [api.ErrForbidden], without a token [api.ErrUnauthenticated]: neither
// says anything of the account.
//
// It calls GET /current/fileshare/{fileshare_id}/details/.
func (s *Service) Get(ctx context.Context, id api.ProfileID, get *GetOptions, opts ...api.CallOption) (*FileShare, error) {
	const op = "fileshares.Get"
	password, err := passwordOf(op, get)
	if err != nil {
		return nil, err
	}
	a, err := call.Do[answer](ctx, s.c, recipient(op, api.Path("/current/fileshare/{fileshare_id}/details/", string(id)), password), opts)
	if err != nil {
		return nil, err
	}
	return call.Found(op, "File Share", a.FileShare, opts)
}

// Delete takes a link back, with all grants; the file stays. Confirm is the ID once
// more: there is no way back, and an ID that was mixed up should not be enough.
//
// It takes a member of the workspace. When an attempt was carried out whose answer
// was lost, the next one finds nothing left to do, which is no error.
//
// It calls DELETE /current/fileshare/{fileshare_id}/delete/.
func (s *Service) Delete(ctx context.Context, id, confirm api.ProfileID, opts ...api.CallOption) error {
	const op = "fileshares.Delete"
	if confirm != id {
		return &api.InputError{Op: op, Field: "confirm", Rule: "must repeat the ID", Got: strconv.Quote(string(confirm))}
	}
	return call.Remove(ctx, s.c, &api.Request{
		Op: op, Method: http.MethodDelete, Path: api.Path("/current/fileshare/{fileshare_id}/delete/", string(id)), Replay: api.ReplaySafe,
	}, opts)
}

// Metadata is what a file is, and whether anything can be read out of it. It never
// holds what was.
type Metadata struct {
	File            *api.Node // nil when the answer did not tell
	AutoExtractable *bool     // whether the platform's AI can read it; likewise

	Extra map[string]json.RawMessage // members this version has no field for
}

// Metadata returns what the file is and whether the platform's AI can read it, and
// no value that it has read. Who may not see the File Share gets the errors of
// [Service.Get].
//
// It calls GET /current/fileshare/{fileshare_id}/storage/metadata/details/.
func (s *Service) Metadata(ctx context.Context, id api.ProfileID, get *GetOptions, opts ...api.CallOption) (*Metadata, error) {
	const op = "fileshares.Metadata"
	password, err := passwordOf(op, get)
	if err != nil {
		return nil, err
	}
	path := api.Path("/current/fileshare/{fileshare_id}/storage/metadata/details/", string(id))
	a, err := call.Do[struct {
		NodeID          nodeOrID                   `json:"node_id"`
		Node            *api.Node                  `json:"node"`
		File            *api.Node                  `json:"file"`
		AutoExtractable *bool                      `json:"autoextractable"`
		Extra           map[string]json.RawMessage `json:",embed,unknown"`
	}](ctx, s.c, recipient(op, path, password), opts)
	if err != nil {
		return nil, err
	}
	return &Metadata{cmp.Or(a.Node, a.File, a.NodeID.node), a.AutoExtractable, a.Extra}, nil
}

// nodeOrID is a node, or the ID of one: which of the two the platform calls node_id,
// and whether it has other names for the node here, is not published.
type nodeOrID struct{ node *api.Node }

func (n *nodeOrID) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return jsonv2.UnmarshalDecode(dec, &n.node)
	}
	n.node = new(api.Node)
	return jsonv2.UnmarshalDecode(dec, &n.node.ID)
}
