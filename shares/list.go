package shares

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"reflect"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Scope selects shares by their relation to the caller.
type Scope string

// Scopes of a list of shares.
const (
	ScopeMember    Scope = ""          // the caller owns them, has joined them or is invited
	ScopeOwned     Scope = "owned"     // those of the caller
	ScopeAvailable Scope = "available" // the caller has joined them or may join them
)

// Archived selects shares by whether they are archived.
type Archived string

// Selections by archiving.
const (
	ArchivedNone Archived = ""     // those that are not archived
	ArchivedOnly Archived = "only" // those that are archived
	ArchivedAlso Archived = "also" // both; for [Service.All] and [Service.AllByWorkspace]
)

// ListOptions selects shares, and a page of them. Nil means the first page of
// [ScopeMember].
type ListOptions struct {
	Scope    Scope
	Archived Archived // with [ScopeOwned] only: the other lists do not select by that
	Limit    int      // rows a page, 1 to 500; 0 means the default of the server, 100; not with [ScopeAvailable]
	Offset   int      // rows to skip; not with [ArchivedAlso] and [ScopeAvailable]
}

// request checks the options and returns the request for their scope, which has
// an endpoint of its own.
func (o *ListOptions) request() (*api.Request, error) {
	args := input.Fields[ListOptions]("shares.List")
	var r *api.Request
	switch o.Scope {
	case ScopeMember:
		r = endpoint.SharesList(nil)
	case ScopeOwned:
		r = endpoint.SharesListOwned(nil)
	case ScopeAvailable:
		if o.Limit != 0 || o.Offset != 0 {
			return nil, args.Refuse("limit", "must be left out with available: this list has no pages", strconv.Itoa(o.Limit))
		}
		r = endpoint.SharesListAvailable(nil)
	default:
		return nil, args.Refuse("Scope", "must be owned, available or empty", string(o.Scope))
	}
	if o.Archived != ArchivedNone && o.Scope != ScopeOwned {
		return nil, args.Refuse("archived", "must be left out, except with owned: this list does not select by that", string(o.Archived))
	}
	return r, window(args, r, o.Archived, o.Limit, o.Offset)
}

// window checks the options of a list and sets them as the query of r.
func window(args input.Args, r *api.Request, archived Archived, limit, offset int) error {
	q, err := page.Window(args, limit, offset)
	if err != nil {
		return err
	}
	switch archived {
	case ArchivedNone:
	case ArchivedOnly:
		q.Set("archived", "true")
	default:
		const rule = "must be only or empty: there is no page of both"
		return args.Refuse("archived", rule, string(archived))
	}
	r.Query = q
	return nil
}

// Page is one page of shares.
type Page struct {
	Shares     []*Share        `json:"shares"`
	Pagination *api.Pagination `json:"pagination"` // nil if not in the response
}

// List returns one page of the shares of a scope:
//   - [ScopeMember] leaves out orphaned shares, whose folder was deleted;
//   - [ScopeOwned] leaves out archived shares, unless list.Archived says otherwise;
//   - [ScopeAvailable] has no pages: all its shares are returned, and Pagination is nil.
//
// ScopeMember and ScopeAvailable do not leave out archived shares (assumed).
//
// Errors: [*api.InputError] for an unknown scope, or an option that the scope does not have.
//
// It calls GET /current/shares/all/.
// It calls GET /current/user/me/list/shares/.
// It calls GET /current/shares/available/.
func (s *Service) List(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*Page, error) {
	r, err := cmp.Or(list, &ListOptions{}).request()
	if err != nil {
		return nil, err
	}
	return call.Payload[Page](ctx, s.c, r, opts)
}

// All returns the shares of all pages of [Service.List], from list.Offset on. Default:
// pages of 500. With [ArchivedAlso], which requires [ScopeOwned] and an Offset of 0, the
// archived ones follow the others, from lists of their own: a share that is archived during
// the iteration may appear twice, and one that is unarchived not at all.
func (s *Service) All(ctx context.Context, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Share, error] {
	o := *cmp.Or(list, &ListOptions{})
	listOf := func(archived Archived) iter.Seq2[*Share, error] {
		fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*Page, error) {
			if o.Scope == ScopeAvailable { // this list has no pages, so that Rows must not set a limit
				limit, offset = o.Limit, o.Offset // List refuses any but 0
			}
			return s.List(ctx, &ListOptions{o.Scope, archived, limit, offset}, opts...)
		}
		rows := sharesOf
		if o.Scope == ScopeAvailable {
			rows = func(p *Page) ([]*Share, *api.Pagination) { return p.Shares, page.OrLast(p.Pagination) }
		}
		return page.Rows(ctx, "shares.List", o.Limit, o.Offset, opts, fetch, rows)
	}
	if o.Archived == ArchivedAlso && o.Scope == ScopeOwned && o.Offset == 0 {
		return archivedLast(listOf)
	}
	return listOf(o.Archived) // List refuses the other cases of ArchivedAlso
}

// ByWorkspaceOptions selects shares of a workspace, and a page of them. Nil means the
// first page of those that are not archived.
type ByWorkspaceOptions struct {
	Archived Archived
	Limit    int // rows a page, 1 to 500; 0 means the default of the server, 100
	Offset   int // rows to skip; not with [ArchivedAlso]
}

// ListByWorkspace returns one page of the shares of a workspace that the caller has access
// to. Without options, archived ones are left out.
//
// Errors: [*api.InputError] for [ArchivedAlso], because the platform has no page of both;
// [api.ErrNotFound] if the workspace does not exist; [api.ErrForbidden] without access to
// it.
//
// It calls GET /current/workspace/{workspace_id}/list/shares/.
func (s *Service) ListByWorkspace(
	ctx context.Context, workspace api.ID, list *ByWorkspaceOptions, opts ...api.CallOption,
) (*Page, error) {
	o := *cmp.Or(list, &ByWorkspaceOptions{})
	r := endpoint.SharesListByWorkspace(workspace, nil)
	if err := window(input.Fields[ByWorkspaceOptions](r.Op), r, o.Archived, o.Limit, o.Offset); err != nil {
		return nil, err
	}
	return call.Payload[Page](ctx, s.c, r, opts)
}

// AllByWorkspace returns the shares of all pages of [Service.ListByWorkspace], from
// list.Offset on. Default: pages of 500. With [ArchivedAlso], which requires an Offset of
// 0, the archived ones follow the others, as in [Service.All].
func (s *Service) AllByWorkspace(
	ctx context.Context, workspace api.ID, list *ByWorkspaceOptions, opts ...api.CallOption,
) iter.Seq2[*Share, error] {
	o := *cmp.Or(list, &ByWorkspaceOptions{})
	listOf := func(archived Archived) iter.Seq2[*Share, error] {
		fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*Page, error) {
			return s.ListByWorkspace(ctx, workspace, &ByWorkspaceOptions{archived, limit, offset}, opts...)
		}
		return page.Rows(ctx, "shares.ListByWorkspace", o.Limit, o.Offset, opts, fetch, sharesOf)
	}
	if o.Archived == ArchivedAlso && o.Offset == 0 {
		return archivedLast(listOf)
	}
	return listOf(o.Archived) // ListByWorkspace refuses ArchivedAlso with an Offset
}

func sharesOf(p *Page) ([]*Share, *api.Pagination) { return p.Shares, p.Pagination }

// archivedLast iterates over the list of shares that are not archived, and then over that
// of those that are.
func archivedLast(list func(Archived) iter.Seq2[*Share, error]) iter.Seq2[*Share, error] {
	return func(yield func(*Share, error) bool) {
		for _, archived := range []Archived{ArchivedNone, ArchivedOnly} {
			for share, err := range list(archived) {
				if !yield(share, err) || err != nil {
					return
				}
			}
		}
	}
}

// CheckName reports whether a custom name is available: false if it is in use
// or not valid for the server; the response does not say which.
//
// Errors: [*api.InputError] if the name is not 4 to 80 letters and digits.
//
// It calls GET /current/shares/check/name/{name}/.
func (s *Service) CheckName(ctx context.Context, name string, opts ...api.CallOption) (bool, error) {
	f := newFields(input.Parameters("shares.CheckName"))
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

type rowItems[T any] struct {
	Items []*T `json:"items"`
}

// UnmarshalJSONFrom reads a list, or an object that has one; anything else is
// nil.
func (r *rows[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*r = nil
	switch dec.PeekKind() {
	case '[':
		return jsonv2.UnmarshalDecode(dec, (*[]*T)(r))
	case '{':
		var w rowItems[T]
		err := jsonv2.UnmarshalDecode(dec, &w)
		*r = w.Items
		return err
	default:
		return dec.SkipValue()
	}
}

// JSONType implements decode.Variant, for the report of unknown members: an object
// holds the list in a member, anything else is decoded as the list itself.
func (*rows[T]) JSONType(kind jsontext.Kind) reflect.Type {
	if kind == '{' {
		return reflect.TypeFor[rowItems[T]]()
	}
	return reflect.TypeFor[[]*T]()
}
