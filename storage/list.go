package storage

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// SortBy is the order of a list.
type SortBy string

// Orders of a list of nodes.
const (
	SortByName    SortBy = "name"
	SortByUpdated SortBy = "updated"
	SortByCreated SortBy = "created"
	SortByType    SortBy = "type"
)

// ListOptions selects a page of a folder and the order. Nil means the first
// page, by name.
type ListOptions struct {
	SortBy     SortBy // "" means by name
	Descending bool   // default: ascending
	PageSize   int    // nodes a page: 100, 250 or 500; 0 means the default of the server, 100
	Cursor     string // the NextCursor of the previous page, of the same order and size
}

const maxPageSize = 500

func pageSizes() []int { return []int{100, 250, maxPageSize} }

// query checks the options and returns them as query parameters.
func (o *ListOptions) query(op string) (url.Values, error) {
	args := input.Fields[ListOptions](op)
	q, err := pageQuery(args, o.PageSize, o.Cursor)
	if err != nil {
		return nil, err
	}
	sorts := []SortBy{"", SortByName, SortByUpdated, SortByCreated, SortByType}
	if !slices.Contains(sorts, o.SortBy) {
		return nil, args.Refuse("sort_by", "must be name, updated, created or type", string(o.SortBy))
	}
	if o.SortBy != "" {
		q.Set("sort_by", string(o.SortBy))
	}
	if o.Descending {
		q.Set("sort_dir", "desc")
	}
	return q, nil
}

// pageQuery returns the query parameters for a page: 0 and "" are left out. It
// rejects a size that the platform does not offer.
func pageQuery(args input.Args, size int, cursor string) (url.Values, error) {
	q := url.Values{}
	if size != 0 {
		if !slices.Contains(pageSizes(), size) {
			return nil, args.Refuse("page_size", "must be 100, 250 or 500", strconv.Itoa(size))
		}
		q.Set("page_size", strconv.Itoa(size))
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return q, nil
}

// Page is one page of nodes.
type Page struct {
	Nodes      []*Node
	PageSize   int    // the maximum of nodes a page; 0 if not in the response
	HasMore    bool   // whether there is another page
	NextCursor string // "" after the last page
}

type pageWire struct {
	Nodes      nodes `json:"nodes"`
	Pagination struct {
		HasMore    *bool  `json:"has_more"`
		NextCursor string `json:"next_cursor"`
		PageSize   int    `json:"page_size"`
	} `json:"pagination"`
}

// page returns the response to an operation as a Page. HasMore follows from the cursor if
// the response does not have it. A response with neither nodes nor a pagination is an
// error, because a caller would take the folder for empty.
func (w *pageWire) page(op string) (*Page, error) {
	isPaged := w.Pagination.HasMore != nil || w.Pagination.NextCursor != "" || w.Pagination.PageSize != 0
	if w.Nodes == nil && !isPaged {
		return nil, errors.New("fastio: " + op + ": the response has no nodes")
	}
	p := &Page{Nodes: w.Nodes, PageSize: w.Pagination.PageSize, HasMore: w.Pagination.NextCursor != ""}
	if more := w.Pagination.HasMore; more != nil {
		p.HasMore = *more
	}
	if p.HasMore {
		p.NextCursor = w.Pagination.NextCursor
	}
	return p, nil
}

// nodes are an array, or an object with one.
type nodes []*Node

type nodeItems struct {
	Count int     `json:"count"`
	Items []*Node `json:"items"`
}

// UnmarshalJSONFrom reads a list, or an object that has one.
func (n *nodes) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*n = nil
	if dec.PeekKind() != '{' {
		return jsonv2.UnmarshalDecode(dec, (*[]*Node)(n))
	}
	var w nodeItems
	err := jsonv2.UnmarshalDecode(dec, &w)
	*n = w.Items
	return err
}

// JSONType implements decode.Variant, for the report of unknown members: the list in a
// response is an array, or a member of an object (nodeItems).
func (*nodes) JSONType(kind jsontext.Kind) reflect.Type {
	if kind == '{' {
		return reflect.TypeFor[nodeItems]()
	}
	return reflect.TypeFor[[]*Node]()
}

// List returns one page of the nodes in a folder of a workspace or share, without
// those in its subfolders. [api.Root] is the top folder. Deleted nodes are only in
// [api.Trash], the trash.
//
// Errors: [api.ErrNotFound] if the folder does not exist; [api.ErrInvalid] if
// the cursor is from another query or has expired.
//
// It calls GET /current/workspace/{workspace_id}/storage/{parent_id}/list/.
// It calls GET /current/share/{share_id}/storage/{parent_id}/list/.
func (s *Service) List(
	ctx context.Context, in api.Profile, parent api.OpaqueID, list *ListOptions, opts ...api.CallOption,
) (*Page, error) {
	if list == nil {
		list = &ListOptions{}
	}
	const op = "storage.List"
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	a, err := call.Payload[pageWire](ctx, s.c, endpoint.StorageList(in, parent, q), opts)
	if err != nil {
		return nil, err
	}
	return a.page(op)
}

// Pages returns the pages of a folder from list.Cursor on. Default: pages of
// 500. A program can resume from the NextCursor of a page, with the same order
// and PageSize.
func (s *Service) Pages(
	ctx context.Context, in api.Profile, parent api.OpaqueID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Page, error] {
	return s.pages(in, parent, list).Pages(ctx, opts)
}

// pages returns the pages of a folder, of the largest size by default.
func (s *Service) pages(in api.Profile, parent api.OpaqueID, list *ListOptions) page.List[*Page, *Node] {
	var o ListOptions
	if list != nil {
		o = *list
	}
	if o.PageSize == 0 {
		o.PageSize = maxPageSize
	}
	fetch := func(ctx context.Context, cursor string, opts []api.CallOption) (*Page, error) {
		at := o
		at.Cursor = cursor
		return s.List(ctx, in, parent, &at, opts...)
	}
	return pagesFrom("storage.List", o.Cursor, fetch)
}

// All returns the nodes of the pages of [Service.Pages].
func (s *Service) All(
	ctx context.Context, in api.Profile, parent api.OpaqueID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Node, error] {
	return s.pages(in, parent, list).All(ctx, opts)
}

// RecentOptions selects a page of the nodes that changed last. Nil means the
// first.
type RecentOptions struct {
	Type     NodeType // only nodes of this type; "" means all
	PageSize int      // as in [ListOptions]
	Cursor   string   // the NextCursor of the previous page, of the same Type and size
}

// Recent returns one page of the nodes of a workspace or share by the time of their last
// change, latest first. Those in the trash are left out (assumed).
//
// It calls GET /current/workspace/{workspace_id}/storage/recent/.
// It calls GET /current/share/{share_id}/storage/recent/.
func (s *Service) Recent(
	ctx context.Context, in api.Profile, list *RecentOptions, opts ...api.CallOption,
) (*Page, error) {
	if list == nil {
		list = &RecentOptions{}
	}
	const op = "storage.Recent"
	q, err := pageQuery(input.Fields[RecentOptions](op), list.PageSize, list.Cursor)
	if err != nil {
		return nil, err
	}
	if list.Type != "" {
		q.Set("type", string(list.Type))
	}
	a, err := call.Payload[pageWire](ctx, s.c, endpoint.StorageRecent(in, q), opts)
	if err != nil {
		return nil, err
	}
	return a.page(op)
}

// AllRecent returns the nodes of all pages of [Service.Recent]. Default page size: 100,
// because most callers stop early.
func (s *Service) AllRecent(
	ctx context.Context, in api.Profile, list *RecentOptions, opts ...api.CallOption,
) iter.Seq2[*Node, error] {
	var o RecentOptions
	if list != nil {
		o = *list
	}
	fetch := func(ctx context.Context, cursor string, opts []api.CallOption) (*Page, error) {
		at := o
		at.Cursor = cursor
		return s.Recent(ctx, in, &at, opts...)
	}
	return pagesFrom("storage.Recent", o.Cursor, fetch).All(ctx, opts)
}

// pagesFrom returns the list of all nodes, read by fetch page by page from the
// cursor start on.
func pagesFrom(
	op, start string, fetch func(ctx context.Context, cursor string, opts []api.CallOption) (*Page, error),
) page.List[*Page, *Node] {
	next := func(ctx context.Context, cursor string, opts []api.CallOption) (*Page, string, error) {
		p, err := fetch(ctx, cursor, opts)
		if err != nil {
			return nil, "", err
		}
		next, err := page.Next(op, p.HasMore, p.NextCursor)
		return p, next, err
	}
	rows := func(p *Page) []*Node { return p.Nodes }
	return page.List[*Page, *Node]{Op: op, Start: start, Fetch: next, Rows: rows}
}
