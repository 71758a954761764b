package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/filters"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/storage"
)

// Filters manages the saved filters of a workspace.
type Filters struct{ c api.Client }

// SavedFilter is a named filter on facts. At [api.Terse] it has the ID, the name
// and the description only.
type SavedFilter struct {
	ID          api.OpaqueID `json:"id" also:"filter_id"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Predicate   []*Filter    `json:"predicate" also:"filters"` // all must match; empty matches all files and notes
	Projection  *Projection  `json:"projection"`               // nil means none
	TemplateID  api.OpaqueID `json:"template_id"`              // "" means none
	Creator     api.ID       `json:"creator"`
	Created     api.Time     `json:"created"`
	Updated     api.Time     `json:"updated"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Projection is the presentation of the files of a saved filter. The server
// stores it and does not apply it to [Filters.Nodes].
type Projection struct {
	Sort *ProjectionSort `json:"sort,omitzero"` // nil means none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ProjectionSort is the order of a [Projection].
type ProjectionSort struct {
	Field string  `json:"field"`
	Dir   SortDir `json:"dir,omitzero"` // "" means that of the server

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// SortDir is the direction of an order.
type SortDir string

// Directions of a sort.
const (
	SortDirAscending  SortDir = "asc"
	SortDirDescending SortDir = "desc"
)

// FilterRequest is a filter to save.
type FilterRequest struct {
	Name        string       `json:"name"`                 // 1 to 100 characters, not blank
	Description string       `json:"description,omitzero"` // at most 255 characters; "" means none
	Predicate   []Filter     `json:"predicate"`            // all must match; empty matches all files and notes
	Projection  *Projection  `json:"projection,omitzero"`  // nil means none
	TemplateID  api.OpaqueID `json:"template_id,omitzero"` // of [Filters.Create] only; "" means none
}

// check returns an error for a request that the platform would reject.
func (r *FilterRequest) check(args input.Args) error {
	const maxName, maxDescription = 100, 255
	characters := func(text string) string { return strconv.Itoa(utf8.RuneCountInString(text)) + " characters" }
	switch {
	case strings.TrimSpace(r.Name) == "":
		return args.Refuse("name", "must not be blank", strconv.Quote(r.Name))
	case utf8.RuneCountInString(r.Name) > maxName:
		return args.Refuse("name", "must be at most 100 characters", characters(r.Name))
	case utf8.RuneCountInString(r.Description) > maxDescription:
		return args.Refuse("description", "must be at most 255 characters", characters(r.Description))
	}
	return filters.Check(args, "predicate", r.Predicate, condition)
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

// All returns the saved filters of all pages of [Filters.List], from list.Cursor on.
func (f *Filters) All(
	ctx context.Context, workspace api.ID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*SavedFilter, error] {
	next := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*FilterPage, error) {
		return f.List(ctx, workspace, list, opts...)
	}
	more := func(p *FilterPage) (bool, string) { return p.HasMore, p.NextCursor }
	rows := func(p *FilterPage) []*SavedFilter { return p.Filters }
	return listByCursor("metadata.Filters.List", list, next, more, rows).All(ctx, opts)
}

// Create saves a filter under a name that no other filter of the workspace has.
// The server checks the structure of the predicate, not the names of its fields.
//
// It is retried only if it was not processed: if the response was lost, the name may be
// taken by the filter that the call has saved.
//
// Errors: [api.ErrNameTaken] if another filter has the name; [api.ErrForbidden]
// if the plan allows no more filters; [api.ErrInvalid], which names no field, if
// the server does not accept the filter.
//
// It calls POST /current/workspace/{workspace_id}/metadata/filters/.
func (f *Filters) Create(
	ctx context.Context, workspace api.ID, r FilterRequest, opts ...api.CallOption,
) (*SavedFilter, error) {
	if err := r.check(input.Fields[FilterRequest]("metadata.Filters.Create")); err != nil {
		return nil, err
	}
	r.TemplateID = api.OpaqueID(r.TemplateID.Plain()) // its wire format; for IDs in a path, endpoint does that
	return f.save(ctx, endpoint.MetadataFiltersCreate(workspace, api.JSON(r)), opts)
}

// Get returns a saved filter.
//
// Errors: [api.ErrNotFound] if it does not exist.
//
// It calls GET /current/workspace/{workspace_id}/metadata/filters/{filter_id}/.
func (f *Filters) Get(
	ctx context.Context, workspace api.ID, filter api.OpaqueID, opts ...api.CallOption,
) (*SavedFilter, error) {
	return f.requestFilter(ctx, endpoint.MetadataFiltersGet(workspace, filter), opts)
}

// Update replaces a saved filter, except for its template: an empty Description
// or Projection is cleared.
//
// Errors: [api.ErrNameTaken] if another filter has the name; [api.ErrNotFound]
// if the filter does not exist; [api.ErrInvalid], which names no field, if the
// server does not accept the filter.
//
// It calls PUT /current/workspace/{workspace_id}/metadata/filters/{filter_id}/.
func (f *Filters) Update(
	ctx context.Context, workspace api.ID, filter api.OpaqueID, r FilterRequest, opts ...api.CallOption,
) (*SavedFilter, error) {
	args := input.Fields[FilterRequest]("metadata.Filters.Update")
	if err := r.check(args); err != nil {
		return nil, err
	}
	if r.TemplateID != "" {
		return nil, args.Refuse("template_id", "must be empty in an update", strconv.Quote(string(r.TemplateID)))
	}
	return f.save(ctx, endpoint.MetadataFiltersUpdate(workspace, filter, api.JSON(r)), opts)
}

// Delete deletes a saved filter; files and their facts stay. It is idempotent: a filter that does not exist
// is a success.
//
// It calls DELETE /current/workspace/{workspace_id}/metadata/filters/{filter_id}/.
func (f *Filters) Delete(ctx context.Context, workspace api.ID, filter api.OpaqueID, opts ...api.CallOption) error {
	return call.Do(ctx, f.c, endpoint.MetadataFiltersDelete(workspace, filter), opts)
}

// NodesOptions selects the order of [Filters.Nodes]. Nil means that of the server.
type NodesOptions struct {
	SortBy     storage.SortBy `wire:"sort_field"`          // a property of files and notes; the server may support others
	SortByFact string         `wire:"sort_metadata_field"` // the values of a metadata field, by its name; not with SortBy
	Descending bool           `wire:"sort_dir"`            // default: ascending; requires SortBy or SortByFact
}

// query checks the options and returns them as query parameters; nil has none.
func (o *NodesOptions) query(op string) (url.Values, error) {
	args := input.Fields[NodesOptions](op)
	q := url.Values{}
	switch {
	case o == nil || *o == NodesOptions{}:
		return q, nil
	case o.SortBy == "" && o.SortByFact == "": // only Descending is set
		return nil, args.Refuse("sort_dir", "must be left out without SortBy and SortByFact", "")
	case o.SortBy != "" && o.SortByFact != "":
		return nil, args.Refuse("sort_field", "must not be combined with SortByFact", string(o.SortBy))
	case o.SortBy != "":
		q.Set("sort_field", string(o.SortBy))
	default:
		if err := checkName(args, "sort_metadata_field", o.SortByFact); err != nil {
			return nil, err
		}
		q.Set("sort_metadata_field", o.SortByFact)
	}
	dir := SortDirAscending
	if o.Descending {
		dir = SortDirDescending
	}
	q.Set("sort_dir", string(dir))
	return q, nil
}

// FilteredNodes are the files and notes that match a saved filter, with their
// facts.
type FilteredNodes struct {
	Nodes []*storage.Node `json:"items" also:"nodes"` // (assumed name)
	Scope *FilterScope    `json:"scope"`              // nil if not in the response

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// FilterScope describes how complete the result of a filter is.
type FilterScope struct {
	MatchRelation MatchRelation `json:"match_relation"` // of MatchCount
	MatchCount    *int          `json:"match_count"`    // files and notes that match; nil means unknown

	// IsTruncated reports whether the server stopped at its limit of files. The
	// others were not examined, whatever the order: it sorts afterwards.
	IsTruncated bool `json:"scope_truncated"`

	// Causes are reasons why the result may be incomplete, in an undocumented form.
	// There may be some although MatchRelation is MatchRelationExact.
	Causes []json.RawMessage `json:"causes"`

	FilesNotIndexed  *int `json:"files_not_indexed"`  // files whose content could not be searched; nil means unknown
	LimitClampedFrom *int `json:"limit_clamped_from"` // the requested limit; nil if it was not lowered

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// MatchRelation is the precision of a MatchCount. Unknown values are kept.
type MatchRelation string

// Precisions of a number of matches.
const (
	MatchRelationExact   MatchRelation = "eq"
	MatchRelationAtLeast MatchRelation = "gte"
)

// Nodes returns the files and notes that match a saved filter, in one response.
// Its Scope reports whether there are more.
//
// Errors: [api.ErrNotFound] if the filter does not exist.
//
// It calls GET /current/workspace/{workspace_id}/metadata/filters/{filter_id}/nodes/.
func (f *Filters) Nodes(
	ctx context.Context, workspace api.ID, filter api.OpaqueID, list *NodesOptions, opts ...api.CallOption,
) (*FilteredNodes, error) {
	return call.Page[FilteredNodes](ctx, f.c, endpoint.MetadataFiltersNodes(workspace, filter, nil), list.query, opts)
}

// save sends a request that saves a filter. It reports a conflict as a name
// that is taken.
func (f *Filters) save(ctx context.Context, r *api.Request, opts []api.CallOption) (*SavedFilter, error) {
	saved, err := f.requestFilter(ctx, r, opts)
	if errors.Is(err, api.ErrConflict) {
		return nil, call.NameTaken(err)
	}
	return saved, err
}

// filterAnswer is a response with a filter, as a member or at the root.
type filterAnswer struct {
	Filter *SavedFilter `json:"filter"`
	Bare   SavedFilter  `json:",embed,inline"`
}

// requestFilter sends a request and returns the filter in its response.
func (f *Filters) requestFilter(ctx context.Context, r *api.Request, opts []api.CallOption) (*SavedFilter, error) {
	a, err := call.Payload[filterAnswer](ctx, f.c, r, opts)
	if err != nil {
		return nil, err
	}
	if a.Filter == nil && a.Bare.ID != "" { // the response is the filter itself
		a.Filter = &a.Bare
	}
	return call.Found(r.Op, "filter", a.Filter)
}
