package metadata

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/page"
)

// Filters are the conditions on facts that a workspace keeps under a name.
type Filters struct{ c api.Caller }

// SavedFilter is a named filter.
type SavedFilter struct {
	ID          api.OpaqueID  `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Filters     []*api.Filter `json:"filters"`    // all of which must hold
	Projection  []string      `json:"projection"` // the fields to show; nil for all
	Creator     api.ProfileID `json:"creator"`
	Created     api.Time      `json:"created"`
	Updated     api.Time      `json:"updated"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

type plainSavedFilter SavedFilter

// UnmarshalJSONFrom reads the ID from id, else filter_id.
func (f *SavedFilter) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*f = SavedFilter{}
	w := struct {
		Filter   *plainSavedFilter `json:",embed,inline"`
		FilterID api.OpaqueID      `json:"filter_id"`
	}{Filter: (*plainSavedFilter)(f)}
	err := jsonv2.UnmarshalDecode(dec, &w)
	if f.ID == "" {
		f.ID = w.FilterID
	}
	return err
}

// FilterRequest is a filter to be kept.
type FilterRequest struct {
	Name        string       `json:"name"`                 // not blank
	Description string       `json:"description,omitzero"` // "" for none
	Filters     []api.Filter `json:"filters"`              // 1 to 5, all of which must hold
	Projection  []string     `json:"projection,omitzero"`  // the fields to show; nil for all
}

func (r *FilterRequest) check(op string) error {
	if strings.TrimSpace(r.Name) == "" {
		return &api.InputError{Op: op, Field: "name", Rule: "must not be blank", Got: strconv.Quote(r.Name)}
	}
	return api.CheckFilters(op, r.Filters)
}

// FilterPage is one page of saved filters.
type FilterPage struct {
	Filters    []*SavedFilter
	PageSize   int    // 0 when the answer did not tell
	NextCursor string // where the next page begins; "" after the last
}

// List returns one page of the filters that a workspace keeps.
//
// It calls GET /current/workspace/{workspace_id}/metadata/filters/.
func (f *Filters) List(ctx context.Context, workspace api.ProfileID, list *ListOptions, opts ...api.CallOption) (*FilterPage, error) {
	const op = "metadata.Filters.List"
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	a, err := call.Do[rows[*SavedFilter]](ctx, f.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/workspace/{workspace_id}/metadata/filters/", string(workspace)),
		Query: q, Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	return &FilterPage{a.Items, a.PageSize, a.next()}, nil
}

// All returns the filters that a workspace keeps.
func (f *Filters) All(ctx context.Context, workspace api.ProfileID, opts ...api.CallOption) iter.Seq2[*SavedFilter, error] {
	pages := walk(ctx, "metadata.Filters.List", nil, opts, func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*FilterPage, error) {
		return f.List(ctx, workspace, list, opts...)
	}, func(p *FilterPage) string { return p.NextCursor })
	return page.Rows(pages, func(p *FilterPage) []*SavedFilter { return p.Filters })
}

// Create keeps a filter. Each call makes another, so it is only repeated when it
// was never sent. One more than the plan allows is [api.ErrForbidden].
//
// It calls POST /current/workspace/{workspace_id}/metadata/filters/.
func (f *Filters) Create(ctx context.Context, workspace api.ProfileID, r FilterRequest, opts ...api.CallOption) (*SavedFilter, error) {
	const op = "metadata.Filters.Create"
	if err := r.check(op); err != nil {
		return nil, err
	}
	return f.one(ctx, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/workspace/{workspace_id}/metadata/filters/", string(workspace)),
		Body: api.JSON(r), Replay: api.ReplayOnce,
	}, opts)
}

// Get returns a filter. One that does not exist is [api.ErrNotFound].
//
// It calls GET /current/workspace/{workspace_id}/metadata/filters/{filter_id}/.
func (f *Filters) Get(ctx context.Context, workspace api.ProfileID, filter api.OpaqueID, opts ...api.CallOption) (*SavedFilter, error) {
	return f.one(ctx, &api.Request{
		Op: "metadata.Filters.Get", Method: http.MethodGet, Replay: api.ReplaySafe,
		Path: api.Path("/current/workspace/{workspace_id}/metadata/filters/{filter_id}/", string(workspace), filter.Plain()),
	}, opts)
}

// Update replaces a filter as a whole: what r leaves out is cleared.
//
// It calls PUT /current/workspace/{workspace_id}/metadata/filters/{filter_id}/.
func (f *Filters) Update(ctx context.Context, workspace api.ProfileID, filter api.OpaqueID, r FilterRequest, opts ...api.CallOption) (*SavedFilter, error) {
	const op = "metadata.Filters.Update"
	if err := r.check(op); err != nil {
		return nil, err
	}
	return f.one(ctx, &api.Request{
		Op: op, Method: http.MethodPut, Body: api.JSON(r), Replay: api.ReplaySafe,
		Path: api.Path("/current/workspace/{workspace_id}/metadata/filters/{filter_id}/", string(workspace), filter.Plain()),
	}, opts)
}

// Delete deletes a filter. One that does not exist is no error.
//
// It calls DELETE /current/workspace/{workspace_id}/metadata/filters/{filter_id}/.
func (f *Filters) Delete(ctx context.Context, workspace api.ProfileID, filter api.OpaqueID, opts ...api.CallOption) error {
	return call.Send(ctx, f.c, &api.Request{
		Op: "metadata.Filters.Delete", Method: http.MethodDelete, Replay: api.ReplaySafe,
		Path: api.Path("/current/workspace/{workspace_id}/metadata/filters/{filter_id}/", string(workspace), filter.Plain()),
	}, opts)
}

// Nodes returns one page of the files and notes that a filter finds.
//
// It calls GET /current/workspace/{workspace_id}/metadata/filters/{filter_id}/nodes/.
func (f *Filters) Nodes(
	ctx context.Context, workspace api.ProfileID, filter api.OpaqueID, list *ListOptions, opts ...api.CallOption,
) (*NodePage, error) {
	const op = "metadata.Filters.Nodes"
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	a, err := call.Do[nodesWire](ctx, f.c, &api.Request{
		Op: op, Method: http.MethodGet, Query: q, Replay: api.ReplaySafe,
		Path: api.Path("/current/workspace/{workspace_id}/metadata/filters/{filter_id}/nodes/", string(workspace), filter.Plain()),
	}, opts)
	if err != nil {
		return nil, err
	}
	return a.page(), nil
}

// AllNodes returns the files and notes that a filter finds.
func (f *Filters) AllNodes(ctx context.Context, workspace api.ProfileID, filter api.OpaqueID, opts ...api.CallOption) iter.Seq2[*api.Node, error] {
	pages := walk(ctx, "metadata.Filters.Nodes", nil, opts, func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*NodePage, error) {
		return f.Nodes(ctx, workspace, filter, list, opts...)
	}, nextNodes)
	return page.Rows(pages, nodesOf)
}

// filterAnswer is a filter under its name, or bare.
type filterAnswer struct {
	Filter   *SavedFilter     `json:"filter"`
	Bare     plainSavedFilter `json:",embed,inline"`
	FilterID api.OpaqueID     `json:"filter_id"`
}

// one sends a request whose answer is a filter.
func (f *Filters) one(ctx context.Context, r *api.Request, opts []api.CallOption) (*SavedFilter, error) {
	a, err := call.Do[filterAnswer](ctx, f.c, r, opts)
	if err != nil {
		return nil, err
	}
	if a.Filter == nil {
		bare := SavedFilter(a.Bare)
		if bare.ID == "" {
			bare.ID = a.FilterID
		}
		if bare.ID != "" {
			a.Filter = &bare
		}
	}
	return call.Found(r.Op, "filter", a.Filter, opts)
}
