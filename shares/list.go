package shares

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/page"
)

// ListOptions asks for one part of a list. Nil asks for the first.
type ListOptions struct {
	Limit    int   // rows a page, 1 to 500; 0 leaves it to the server, which sends 100
	Offset   int   // rows to skip
	Archived *bool // of [Service.ListByWorkspace] and [Service.ListMine]: shares that are archived, or those that are not; nil leaves it to the server
}

const maxLimit = 500

// query checks o and returns it as parameters.
func (o *ListOptions) query(op string) (url.Values, error) {
	q := url.Values{}
	if o == nil {
		return q, nil
	}
	if o.Limit < 0 || o.Limit > maxLimit {
		return nil, &api.InputError{Op: op, Field: "limit", Rule: "must be 1 to 500", Got: strconv.Itoa(o.Limit)}
	}
	if o.Offset < 0 {
		return nil, &api.InputError{Op: op, Field: "offset", Rule: "must be 0 or more", Got: strconv.Itoa(o.Offset)}
	}
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	if o.Offset > 0 {
		q.Set("offset", strconv.Itoa(o.Offset))
	}
	if o.Archived != nil {
		q.Set("archived", strconv.FormatBool(*o.Archived))
	}
	return q, nil
}

// unfiltered is query for a list that knows nothing of archived shares.
func (o *ListOptions) unfiltered(op string) (url.Values, error) {
	if o != nil && o.Archived != nil {
		return nil, &api.InputError{Op: op, Field: "archived", Rule: "must be left out: this list has no such filter"}
	}
	return o.query(op)
}

// Page is one page of shares.
type Page struct {
	Shares     []*Share        `json:"shares"`
	Pagination *api.Pagination `json:"pagination"` // nil from a server that does not tell
}

// List returns one page of the shares that the caller owns, has joined or is invited
// to. Those whose folder was deleted are left out.
//
// It calls GET /current/shares/all/.
func (s *Service) List(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*Page, error) {
	const op = "shares.List"
	q, err := list.unfiltered(op)
	if err != nil {
		return nil, err
	}
	return call.Do[Page](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/shares/all/"), Query: q, Replay: api.ReplaySafe,
	}, opts)
}

// All returns the shares that [Service.List] has pages of, fetching pages as they are
// needed.
func (s *Service) All(ctx context.Context, opts ...api.CallOption) iter.Seq2[*Share, error] {
	return all(ctx, "shares.List", nil, opts, s.List, sharesOf)
}

// ListAvailable returns the shares that the caller could join or has joined, in one
// answer. Its Pagination is nil unless the server has more to say.
//
// It calls GET /current/shares/available/.
func (s *Service) ListAvailable(ctx context.Context, opts ...api.CallOption) (*Page, error) {
	return call.Do[Page](ctx, s.c, &api.Request{
		Op: "shares.ListAvailable", Method: http.MethodGet, Path: api.Path("/current/shares/available/"), Replay: api.ReplaySafe,
	}, opts)
}

// ListByWorkspace returns one page of the shares of a workspace.
//
// It calls GET /current/workspace/{workspace_id}/list/shares/.
func (s *Service) ListByWorkspace(ctx context.Context, workspace api.ProfileID, list *ListOptions, opts ...api.CallOption) (*Page, error) {
	const op = "shares.ListByWorkspace"
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	return call.Do[Page](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/workspace/{workspace_id}/list/shares/", string(workspace)),
		Query: q, Replay: api.ReplaySafe,
	}, opts)
}

// AllByWorkspace returns the shares that [Service.ListByWorkspace] has pages of, from
// list.Offset to the last, of 500 shares unless list says otherwise.
func (s *Service) AllByWorkspace(ctx context.Context, workspace api.ProfileID, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Share, error] {
	fetch := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*Page, error) {
		return s.ListByWorkspace(ctx, workspace, list, opts...)
	}
	return all(ctx, "shares.ListByWorkspace", list, opts, fetch, sharesOf)
}

// ListMine returns one page of the shares that are the caller's.
//
// It calls GET /current/user/me/list/shares/.
func (s *Service) ListMine(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*Page, error) {
	const op = "shares.ListMine"
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	return call.Do[Page](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/user/me/list/shares/"), Query: q, Replay: api.ReplaySafe,
	}, opts)
}

// AllMine returns the shares that [Service.ListMine] has pages of, from list.Offset to
// the last, of 500 shares unless list says otherwise.
func (s *Service) AllMine(ctx context.Context, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Share, error] {
	return all(ctx, "shares.ListMine", list, opts, s.ListMine, sharesOf)
}

func sharesOf(p *Page) ([]*Share, *api.Pagination) { return p.Shares, p.Pagination }

// all goes from page to page of an offset list.
func all[P, T any](
	ctx context.Context, op string, list *ListOptions, opts []api.CallOption,
	fetch func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*P, error), of func(*P) ([]T, *api.Pagination),
) iter.Seq2[T, error] {
	var o ListOptions
	if list != nil {
		o = *list
	}
	if o.Limit == 0 {
		o.Limit = maxLimit
	}
	pages := page.Calls(ctx, op, "", opts, func(ctx context.Context, cursor string, opts []api.CallOption) (*P, string, error) {
		at := o
		at.Offset = page.Offset(cursor, o.Offset)
		p, err := fetch(ctx, &at, opts...)
		if err != nil {
			return nil, "", err
		}
		rows, told := of(p)
		return p, page.AfterOffset(told, at.Offset, len(rows)), nil
	})
	return page.Rows(pages, func(p *P) []T {
		rows, _ := of(p)
		return rows
	})
}

// CheckName reports whether a share could have a custom name: false for one that
// another share has, or that the server does not like. Its words why not are in
// [api.Raw]: no code tells the two apart. A name that is not made of 4 to 80 letters
// and digits is an [*api.InputError].
//
// It calls GET /current/shares/check/name/{name}/.
func (s *Service) CheckName(ctx context.Context, name string, opts ...api.CallOption) (bool, error) {
	const op = "shares.CheckName"
	f := newFields(op)
	if f.name("name", name); f.err != nil {
		return false, f.err
	}
	err := call.Send(ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/shares/check/name/{name}/", name), Replay: api.ReplaySafe,
	}, opts)
	if e, refused := errors.AsType[*api.Error](err); refused && e.Is(api.ErrInvalid) {
		return false, nil
	}
	return err == nil, err
}

// rows are a list, or an object that holds one as its items. In any other form there
// are none: some of these are not published.
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
