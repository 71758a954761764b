package shares

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/page"
)

// ListOptions selects a page of a list. Nil means the first.
type ListOptions struct {
	Limit    int   // rows a page, 1 to 500; default: 100
	Offset   int   // rows to skip
	Archived *bool // [Service.ListByWorkspace] and [Service.ListMine] only: nil means the server's default
}

func (o *ListOptions) query(op string) (url.Values, error) {
	if o == nil {
		return url.Values{}, nil
	}
	q, err := page.Window(op, o.Limit, o.Offset)
	if err != nil {
		return nil, err
	}
	if o.Archived != nil {
		q.Set("archived", strconv.FormatBool(*o.Archived))
	}
	return q, nil
}

// unfiltered is query for lists that cannot filter by Archived.
func (o *ListOptions) unfiltered(op string) (url.Values, error) {
	if o != nil && o.Archived != nil {
		return nil, &api.InputError{Op: op, Field: "archived", Rule: "must be left out: this list has no such filter"}
	}
	return o.query(op)
}

// Page is one page of shares.
type Page struct {
	Shares     []*Share        `json:"shares"`
	Pagination *api.Pagination `json:"pagination"` // nil if not in the response
}

// List returns one page of the shares that the caller owns, has joined or is
// invited to, without orphaned ones.
//
// It calls GET /current/shares/all/.
func (s *Service) List(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*Page, error) {
	return call.Page[Page](ctx, s.c, endpoint.SharesList(nil), list.unfiltered, opts)
}

// All returns the shares of all pages of [Service.List], from list.Offset on. Default:
// pages of 500.
func (s *Service) All(ctx context.Context, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Share, error] {
	return all(ctx, "shares.List", list, opts, s.List, sharesOf)
}

// ListAvailable returns the shares that the caller has joined or could join, in
// one page. Its Pagination is nil unless the server sends one.
//
// It calls GET /current/shares/available/.
func (s *Service) ListAvailable(ctx context.Context, opts ...api.CallOption) (*Page, error) {
	return call.One[Page](ctx, s.c, endpoint.SharesListAvailable(nil), "", opts)
}

// ListByWorkspace returns one page of the shares of a workspace.
//
// It calls GET /current/workspace/{workspace_id}/list/shares/.
func (s *Service) ListByWorkspace(
	ctx context.Context, workspace api.ID, list *ListOptions, opts ...api.CallOption,
) (*Page, error) {
	return call.Page[Page](ctx, s.c, endpoint.SharesListByWorkspace(workspace, nil), list.query, opts)
}

// AllByWorkspace returns the shares of all pages of [Service.ListByWorkspace],
// from list.Offset on, with 500 shares a page by default.
func (s *Service) AllByWorkspace(
	ctx context.Context, workspace api.ID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Share, error] {
	fetch := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*Page, error) {
		return s.ListByWorkspace(ctx, workspace, list, opts...)
	}
	return all(ctx, "shares.ListByWorkspace", list, opts, fetch, sharesOf)
}

// ListMine returns one page of the shares that the caller owns.
//
// It calls GET /current/user/me/list/shares/.
func (s *Service) ListMine(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*Page, error) {
	return call.Page[Page](ctx, s.c, endpoint.SharesListMine(nil), list.query, opts)
}

// AllMine returns the shares of all pages of [Service.ListMine], from
// list.Offset on, with 500 shares a page by default.
func (s *Service) AllMine(ctx context.Context, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Share, error] {
	return all(ctx, "shares.ListMine", list, opts, s.ListMine, sharesOf)
}

func sharesOf(p *Page) ([]*Share, *api.Pagination) { return p.Shares, p.Pagination }

// all iterates over the rows of an offset list.
func all[P, T any](
	ctx context.Context, op string, list *ListOptions, opts []api.CallOption,
	fetch func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*P, error),
	of func(*P) ([]T, *api.Pagination),
) iter.Seq2[T, error] {
	var o ListOptions
	if list != nil {
		o = *list
	}
	if o.Limit == 0 {
		o.Limit = page.MaxLimit
	}
	next := func(ctx context.Context, offset int, opts []api.CallOption) (*P, error) {
		at := o
		at.Offset = offset
		return fetch(ctx, &at, opts...)
	}
	return page.Offsets(op, o.Offset, next, of).All(ctx, opts)
}

// CheckName reports whether a custom name is available: false if it is in use
// or not valid for the server, which no code distinguishes.
//
// Errors: [*api.InputError] if the name is not 4 to 80 letters and digits.
//
// It calls GET /current/shares/check/name/{name}/.
func (s *Service) CheckName(ctx context.Context, name string, opts ...api.CallOption) (bool, error) {
	f := newFields("shares.CheckName")
	f.name("name", name)
	if f.Err() != nil {
		return false, f.Err()
	}
	err := call.Do(ctx, s.c, endpoint.SharesCheckName(name), opts)
	if e, refused := errors.AsType[*api.Error](err); refused && e.Is(api.ErrInvalid) {
		return false, nil
	}
	return err == nil, err
}

// rows are an array, or an object with an array of items. Any other value is
// undocumented and has no rows.
type rows[T any] []*T

func (r *rows[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*r = nil
	switch dec.PeekKind() {
	case '[':
		return jsonv2.UnmarshalDecode(dec, (*[]*T)(r))
	case '{':
		var w struct {
			Items []*T `json:"items"`
		}
		err := jsonv2.UnmarshalDecode(dec, &w)
		*r = w.Items
		return err
	default:
		return dec.SkipValue()
	}
}
