// Package workspaces creates, reads, changes, archives and deletes workspaces: the shared
// spaces of files of an organization.
//
//	for workspace, err := range client.Workspaces.All(ctx, nil) {
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(workspace.Name, "of", workspace.OrgDomain)
//	}
//
// A workspace may be named by its folder name in place of its ID. Its members are in
// package members, its files in package storage.
package workspaces

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Service reads and changes workspaces. It is the Workspaces field of a fastio.Client, and
// safe for concurrent use. Their members are in package members.
type Service struct{ c api.Client }

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service { return &Service{c} }

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
	Archived    bool   `json:"archived"`    // see [Service.Archive]

	// Intelligence is whether files are indexed for search and the agent; nil means
	// unknown.
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

// page returns the address of a page of the workspace on the website, "" if the
// names in it are not known.
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

// Page is one page of workspaces.
type Page struct {
	Workspaces []*Workspace    `json:"workspaces"`
	Pagination *api.Pagination `json:"pagination"` // nil if not in the response
}

func (p *Page) rows() ([]*Workspace, *api.Pagination) { return p.Workspaces, p.Pagination }

// Scope selects workspaces by their relation to the caller.
type Scope string

// Scopes of a list of workspaces.
const (
	ScopeMember    Scope = ""          // the caller has access to them
	ScopeAvailable Scope = "available" // the caller may join them
)

// ListOptions selects workspaces, and a page of them. Nil means the first page of those
// that the caller has access to.
type ListOptions struct {
	Scope  Scope
	Limit  int // rows a page, 1 to 500; 0 means the default of the server, 100
	Offset int // rows to skip
}

// List returns one page of the workspaces of all organizations, including archived ones:
// only [Service.ListByOrg] selects by that. For [ScopeAvailable] the server may return all
// workspaces at once: then Pagination is nil.
//
// Errors: [*api.InputError] for another scope; [api.ErrInvalid] if a bound is out of
// range.
//
// It calls GET /current/workspaces/all/.
// It calls GET /current/workspaces/available/.
func (s *Service) List(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*Page, error) {
	o := *cmp.Or(list, &ListOptions{})
	r := endpoint.WorkspacesList(nil)
	switch o.Scope {
	case ScopeMember:
	case ScopeAvailable:
		r = endpoint.WorkspacesListAvailable(nil)
	default:
		const rule = "must be available or empty"
		return nil, input.Fields[ListOptions](r.Op).Refuse("Scope", rule, string(o.Scope))
	}
	window := func(op string) (url.Values, error) {
		return page.Window(input.Fields[ListOptions](op), o.Limit, o.Offset)
	}
	return call.Page[Page](ctx, s.c, r, window, opts)
}

// All returns the workspaces of all pages of [Service.List], from list.Offset on.
// Default: pages of 500.
func (s *Service) All(ctx context.Context, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Workspace, error] {
	o := *cmp.Or(list, &ListOptions{})
	rows := (*Page).rows
	if o.Scope == ScopeAvailable { // the server may send all of them, without pagination
		rows = func(p *Page) ([]*Workspace, *api.Pagination) { return p.Workspaces, page.OrLast(p.Pagination) }
	}
	fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*Page, error) {
		return s.List(ctx, &ListOptions{o.Scope, limit, offset}, opts...)
	}
	return page.Rows(ctx, "workspaces.List", o.Limit, o.Offset, opts, fetch, rows)
}

// Archived selects workspaces by whether they are archived.
type Archived string

// Selections by archiving.
const (
	ArchivedNone Archived = ""     // those that are not archived
	ArchivedOnly Archived = "only" // those that are archived
	ArchivedAlso Archived = "also" // both; for [Service.AllByOrg]
)

// ByOrgOptions selects workspaces of an organization, and a page of them. Nil means the
// first page of those that are not archived.
type ByOrgOptions struct {
	Archived Archived
	Limit    int // rows a page, 1 to 500; 0 means the default of the server, 100
	Offset   int // rows to skip; not with [ArchivedAlso]
}

// ListByOrg returns one page of the workspaces of an organization, which may be named by
// its domain. Without options, archived ones are left out.
//
// Errors: [*api.InputError] for [ArchivedAlso], because the platform has no list of both;
// [api.ErrNotFound] if the organization does not exist; [api.ErrForbidden] without access
// to it; [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/org/{org_id}/list/workspaces/.
func (s *Service) ListByOrg(
	ctx context.Context, org api.ID, list *ByOrgOptions, opts ...api.CallOption,
) (*Page, error) {
	o := *cmp.Or(list, &ByOrgOptions{})
	r := endpoint.WorkspacesListByOrg(org, nil)
	q, err := page.Window(input.Fields[ByOrgOptions](r.Op), o.Limit, o.Offset)
	if err != nil {
		return nil, err
	}
	switch o.Archived {
	case ArchivedNone:
	case ArchivedOnly:
		q.Set("archived", "true")
	default:
		const rule = "must be only or empty: there is no page of both"
		return nil, input.Fields[ByOrgOptions](r.Op).Refuse("archived", rule, string(o.Archived))
	}
	r.Query = q
	return call.Payload[Page](ctx, s.c, r, opts)
}

// AllByOrg returns the workspaces of all pages of [Service.ListByOrg], from list.Offset
// on. Default: pages of 500. With [ArchivedAlso], which requires an Offset of 0, the
// archived ones follow the others, from lists of their own: a workspace that is archived
// during the iteration may appear twice, and one that is unarchived not at all.
func (s *Service) AllByOrg(
	ctx context.Context, org api.ID, list *ByOrgOptions, opts ...api.CallOption,
) iter.Seq2[*Workspace, error] {
	o := *cmp.Or(list, &ByOrgOptions{})
	if o.Archived == ArchivedAlso && o.Offset == 0 { // with an Offset, ListByOrg refuses ArchivedAlso
		return s.archivedLast(ctx, org, o, opts)
	}
	fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*Page, error) {
		return s.ListByOrg(ctx, org, &ByOrgOptions{o.Archived, limit, offset}, opts...)
	}
	return page.Rows(ctx, "workspaces.ListByOrg", o.Limit, o.Offset, opts, fetch, (*Page).rows)
}

// archivedLast iterates over the workspaces that are not archived, and then over those
// that are.
func (s *Service) archivedLast(
	ctx context.Context, org api.ID, o ByOrgOptions, opts []api.CallOption,
) iter.Seq2[*Workspace, error] {
	return func(yield func(*Workspace, error) bool) {
		for _, archived := range []Archived{ArchivedNone, ArchivedOnly} {
			for w, err := range s.AllByOrg(ctx, org, &ByOrgOptions{Archived: archived, Limit: o.Limit}, opts...) {
				if !yield(w, err) || err != nil {
					return
				}
			}
		}
	}
}

// Get returns one workspace by ID or folder name. Errors: [api.ErrNotFound] if
// it does not exist; [api.ErrForbidden] without access to it.
//
// It calls GET /current/workspace/{workspace_id}/details/.
func (s *Service) Get(ctx context.Context, workspace api.ID, opts ...api.CallOption) (*Workspace, error) {
	return call.One[Workspace](ctx, s.c, endpoint.WorkspacesGet(workspace, nil), "workspace", opts)
}
