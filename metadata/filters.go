package metadata

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/storage"
)

// Filters manages the saved filters of a workspace.
type Filters struct{ c api.Client }

// SavedFilter is a named filter on facts.
type SavedFilter struct {
	ID          api.OpaqueID `json:"id" also:"filter_id"` // (assumed name: filter_id)
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Filters     []*Filter    `json:"filters"`    // all must match
	Projection  []string     `json:"projection"` // the fields to show; nil means all
	Creator     api.ID       `json:"creator"`
	Created     api.Time     `json:"created"`
	Updated     api.Time     `json:"updated"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// FilterRequest is a filter to save.
type FilterRequest struct {
	Name        string   `json:"name"`                 // not blank
	Description string   `json:"description,omitzero"` // "" means none
	Filters     []Filter `json:"filters"`              // 1 to 5, all must match
	Projection  []string `json:"projection,omitzero"`  // the fields to show; nil means all
}

func (r *FilterRequest) check(op string) error {
	if strings.TrimSpace(r.Name) == "" {
		return &api.InputError{Op: op, Field: "name", Rule: "must not be blank", Got: strconv.Quote(r.Name)}
	}
	return CheckFilters(op, r.Filters)
}

// FilterPage is one page of saved filters.
type FilterPage struct {
	Filters    []*SavedFilter
	PageSize   int    // 0 if not in the response
	HasMore    bool   // whether there is another page
	NextCursor string // "" after the last page
}

// List returns one page of the saved filters of a workspace.
//
// It calls GET /current/workspace/{workspace_id}/metadata/filters/.
func (f *Filters) List(
	ctx context.Context, workspace api.ID, list *ListOptions, opts ...api.CallOption,
) (*FilterPage, error) {
	a, err := call.Page[rows[*SavedFilter]](ctx, f.c, endpoint.MetadataFiltersList(workspace, nil), list.query, opts)
	if err != nil {
		return nil, err
	}
	return &FilterPage{a.Items, a.PageSize, a.more(), a.next()}, nil
}

// All returns the saved filters of a workspace.
func (f *Filters) All(ctx context.Context, workspace api.ID, opts ...api.CallOption) iter.Seq2[*SavedFilter, error] {
	next := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*FilterPage, error) {
		return f.List(ctx, workspace, list, opts...)
	}
	pages := walk(ctx, "metadata.Filters.List", nil, opts, next, func(p *FilterPage) (bool, string) {
		return p.HasMore, p.NextCursor
	})
	return page.Rows(pages, func(p *FilterPage) []*SavedFilter { return p.Filters })
}

// Create saves a filter. Each call creates another, so it is retried only if it
// was not sent.
//
// Errors: [api.ErrForbidden] if the plan allows no more filters.
//
// It calls POST /current/workspace/{workspace_id}/metadata/filters/.
func (f *Filters) Create(
	ctx context.Context, workspace api.ID, r FilterRequest, opts ...api.CallOption,
) (*SavedFilter, error) {
	if err := r.check("metadata.Filters.Create"); err != nil {
		return nil, err
	}
	return f.one(ctx, endpoint.MetadataFiltersCreate(workspace, api.JSON(r)), opts)
}

// Get returns a saved filter.
//
// Errors: [api.ErrNotFound] if it does not exist.
//
// It calls GET /current/workspace/{workspace_id}/metadata/filters/{filter_id}/.
func (f *Filters) Get(
	ctx context.Context, workspace api.ID, filter api.OpaqueID, opts ...api.CallOption,
) (*SavedFilter, error) {
	return f.one(ctx, endpoint.MetadataFiltersGet(workspace, filter), opts)
}

// Update replaces a saved filter; fields that r leaves out are cleared.
//
// It calls PUT /current/workspace/{workspace_id}/metadata/filters/{filter_id}/.
func (f *Filters) Update(
	ctx context.Context, workspace api.ID, filter api.OpaqueID, r FilterRequest, opts ...api.CallOption,
) (*SavedFilter, error) {
	if err := r.check("metadata.Filters.Update"); err != nil {
		return nil, err
	}
	return f.one(ctx, endpoint.MetadataFiltersUpdate(workspace, filter, api.JSON(r)), opts)
}

// Delete deletes a saved filter. It is idempotent: a filter that does not exist
// is a success.
//
// It calls DELETE /current/workspace/{workspace_id}/metadata/filters/{filter_id}/.
func (f *Filters) Delete(ctx context.Context, workspace api.ID, filter api.OpaqueID, opts ...api.CallOption) error {
	return call.Do(ctx, f.c, endpoint.MetadataFiltersDelete(workspace, filter), opts)
}

// Nodes returns one page of the files and notes that match a saved filter.
//
// It calls GET /current/workspace/{workspace_id}/metadata/filters/{filter_id}/nodes/.
func (f *Filters) Nodes(
	ctx context.Context, workspace api.ID, filter api.OpaqueID, list *ListOptions, opts ...api.CallOption,
) (*NodePage, error) {
	a, err := call.Page[nodesWire](ctx, f.c, endpoint.MetadataFiltersNodes(workspace, filter, nil), list.query, opts)
	if err != nil {
		return nil, err
	}
	return a.page(), nil
}

// AllNodes returns the files and notes that match a saved filter.
func (f *Filters) AllNodes(
	ctx context.Context, workspace api.ID, filter api.OpaqueID, opts ...api.CallOption,
) iter.Seq2[*storage.Node, error] {
	next := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*NodePage, error) {
		return f.Nodes(ctx, workspace, filter, list, opts...)
	}
	pages := walk(ctx, "metadata.Filters.Nodes", nil, opts, next, nextNodes)
	return page.Rows(pages, nodesOf)
}

// filterAnswer is a response with a filter, as a member or at the root.
type filterAnswer struct {
	Filter   *SavedFilter `json:"filter"`
	Bare     SavedFilter  `json:",embed,inline"`
	FilterID api.OpaqueID `json:"filter_id"` // (assumed name)
}

// one sends a request for one filter.
func (f *Filters) one(ctx context.Context, r *api.Request, opts []api.CallOption) (*SavedFilter, error) {
	a, err := call.One[filterAnswer](ctx, f.c, r, "", opts)
	if err != nil {
		return nil, err
	}
	if a.Filter == nil && a.Bare.ID != "" {
		a.Filter = &a.Bare
	}
	return call.Found(r.Op, "filter", a.Filter)
}
