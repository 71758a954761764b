package account

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/page"
)

// Workspaces lists, reads, creates, changes, archives and deletes workspaces.
type Workspaces struct {
	c api.Client

	Members     *WorkspaceMembers     // members; [Workspaces.ListMembers] lists them
	Invitations *WorkspaceInvitations // invitations of members
}

// Workspace is a shared space of files. Which fields are set depends on the
// output level.
type Workspace struct {
	ID          api.ID `json:"id"`
	Name        string `json:"name"`
	FolderName  string `json:"folder_name"` // accepted in place of ID
	Description string `json:"description"`
	Logo        string `json:"logo"`  // a URL; "" means none
	Owner       api.ID `json:"owner"` // "" means unknown (assumed name)
	OrgID       api.ID `json:"org_id"`
	OrgDomain   string `json:"org_domain"`
	UserStatus  string `json:"user_status"` // the caller's relation to it
	Archived    bool   `json:"archived"`    // see [Workspaces.Archive]

	// whether files are indexed for search and the agent; nil means unknown
	Intelligence       *bool      `json:"intelligence"`
	MetadataExtraction *bool      `json:"metadata_extraction"` // nil means unknown (assumed name)
	Join               Permission `json:"perm_join"`           // who may join without an invitation (assumed name)
	ManageMembers      Permission `json:"perm_member_manage"`  // who may manage its members (assumed name)

	Created api.Time `json:"created,omitzero"`
	Updated api.Time `json:"updated,omitzero"`

	// Keyed by the Capability constants. A missing key means unknown: a value that is not
	// a boolean is in Extra.
	Capabilities api.Map[bool] `json:"capabilities"`

	// In undocumented forms.
	AccentColor      json.RawMessage `json:"accent_color,omitzero"`      // (assumed name)
	BackgroundColor1 json.RawMessage `json:"background_color1,omitzero"` // (assumed name)
	BackgroundColor2 json.RawMessage `json:"background_color2,omitzero"` // (assumed name)
	OwnerDefined     json.RawMessage `json:"owner_defined,omitzero"`     // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// URL returns the address of the workspace in the web app, "" without its OrgDomain and
// FolderName.
func (w *Workspace) URL() string { return w.page("storage/root") }

// NodeURL returns the address of a file, note or folder of the workspace in the
// web app, "" without the OrgDomain and FolderName of the workspace.
func (w *Workspace) NodeURL(node api.OpaqueID) string {
	return w.page("preview/" + url.PathEscape(string(node)))
}

func (w *Workspace) page(path string) string {
	if w.OrgDomain == "" || w.FolderName == "" {
		return ""
	}
	return "https://" + url.PathEscape(w.OrgDomain) + ".fast.io/workspace/" + url.PathEscape(w.FolderName) + "/" + path
}

// Capabilities of an account in a workspace: keys of [Workspace].Capabilities.
const (
	CapabilityCreateShare      = "can_create_share"       // to create shares, as the sharing policies allow
	CapabilityPublishAgentChat = "can_publish_agent_chat" // to publish threads of the agent; disabled today
)

// WorkspacePage is one page of workspaces.
type WorkspacePage struct {
	Workspaces []*Workspace    `json:"workspaces"`
	Pagination *api.Pagination `json:"pagination"` // nil if not in the response
}

func (p *WorkspacePage) rows() ([]*Workspace, *api.Pagination) { return p.Workspaces, p.Pagination }

// List returns one page of the workspaces that the account has access to, in
// all organizations, including archived ones. Only [Workspaces.ListByOrg] selects by
// that.
//
// Errors: [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/workspaces/all/.
func (w *Workspaces) List(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*WorkspacePage, error) {
	return call.Page[WorkspacePage](ctx, w.c, endpoint.AccountWorkspacesList(nil), list.query, opts)
}

// ListByOrgOptions selects a page of the workspaces of an organization. Nil
// means the first of those that are not archived.
type ListByOrgOptions struct {
	Limit    int  // rows a page, 1 to 500; 0 means the default of the server, 100
	Offset   int  // rows to skip
	Archived bool // list the archived workspaces, instead of the others
}

// ListByOrg returns one page of an organization's workspaces; without options,
// of those that are not archived. The organization may be named by its domain.
//
// Errors: [api.ErrNotFound] if it does not exist; [api.ErrForbidden] without
// access to it; [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/org/{org_id}/list/workspaces/.
func (w *Workspaces) ListByOrg(
	ctx context.Context, org api.ID, list *ListByOrgOptions, opts ...api.CallOption,
) (*WorkspacePage, error) {
	if list == nil {
		list = &ListByOrgOptions{}
	}
	q, err := page.Window("account.Workspaces.ListByOrg", list.Limit, list.Offset)
	if err != nil {
		return nil, err
	}
	if list.Archived {
		q.Set("archived", "true")
	}
	return call.One[WorkspacePage](ctx, w.c, endpoint.AccountWorkspacesListByOrg(org, q), "", opts)
}

// Get returns one workspace by ID or folder name. Errors: [api.ErrNotFound] if
// it does not exist; [api.ErrForbidden] without access to it.
//
// It calls GET /current/workspace/{workspace_id}/details/.
func (w *Workspaces) Get(ctx context.Context, id api.ID, opts ...api.CallOption) (*Workspace, error) {
	return call.One[Workspace](ctx, w.c, endpoint.AccountWorkspacesGet(id, nil), "workspace", opts)
}

// ListAvailable returns workspaces that the account may join: one page, or all
// if Pagination is nil. Errors: [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/workspaces/available/.
func (w *Workspaces) ListAvailable(
	ctx context.Context, list *ListOptions, opts ...api.CallOption,
) (*WorkspacePage, error) {
	return call.Page[WorkspacePage](ctx, w.c, endpoint.AccountWorkspacesListAvailable(nil), list.query, opts)
}

// ListMembers returns one page of the members of a workspace, including invited
// ones. The workspace may be named by its folder name. Errors:
// [api.ErrNotFound] if it does not exist; [api.ErrForbidden] without access to
// it; [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/workspace/{workspace_id}/members/list/.
func (w *Workspaces) ListMembers(
	ctx context.Context, id api.ID, list *ListOptions, opts ...api.CallOption,
) (*MemberPage, error) {
	return call.Page[MemberPage](ctx, w.c, endpoint.AccountWorkspacesListMembers(id, nil), list.query, opts)
}

// All returns the workspaces of all pages of [Workspaces.List], from list.Offset on.
// Default: pages of 500.
func (w *Workspaces) All(ctx context.Context, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Workspace, error] {
	return rows(ctx, "account.Workspaces.List", list, opts, w.List, (*WorkspacePage).rows)
}

// AllByOrg returns the workspaces of all pages of [Workspaces.ListByOrg], from
// list.Offset on. Default: pages of 500.
func (w *Workspaces) AllByOrg(
	ctx context.Context, org api.ID, list *ListByOrgOptions, opts ...api.CallOption,
) iter.Seq2[*Workspace, error] {
	var o ListByOrgOptions
	if list != nil {
		o = *list
	}
	o.Limit = cmp.Or(o.Limit, page.MaxLimit)
	next := func(ctx context.Context, offset int, opts []api.CallOption) (*WorkspacePage, error) {
		at := o
		at.Offset = offset
		return w.ListByOrg(ctx, org, &at, opts...)
	}
	return page.Offsets("account.Workspaces.ListByOrg", o.Offset, next, (*WorkspacePage).rows).All(ctx, opts)
}

// AllAvailable returns the workspaces of all pages of [Workspaces.ListAvailable], from
// list.Offset on. Default: pages of 500.
func (w *Workspaces) AllAvailable(
	ctx context.Context, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Workspace, error] {
	of := func(p *WorkspacePage) ([]*Workspace, *api.Pagination) { return p.Workspaces, orLast(p.Pagination) }
	return rows(ctx, "account.Workspaces.ListAvailable", list, opts, w.ListAvailable, of)
}

// AllMembers returns the members of all pages of [Workspaces.ListMembers], from
// list.Offset on. Default: pages of 500.
func (w *Workspaces) AllMembers(
	ctx context.Context, id api.ID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Member, error] {
	fetch := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*MemberPage, error) {
		return w.ListMembers(ctx, id, list, opts...)
	}
	return rows(ctx, "account.Workspaces.ListMembers", list, opts, fetch, (*MemberPage).rows)
}
