package account

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/page"
)

// Orgs lists organizations.
type Orgs struct{ c api.Caller }

// Org is an organization. Which fields are set depends on the level of output.
type Org struct {
	ID          api.ProfileID `json:"id"`
	Domain      string        `json:"domain"` // may stand for ID in a path
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Logo        string        `json:"logo"`   // a URL; "" without one
	Member      bool          `json:"member"` // false when the account only reaches one of its workspaces
	Created     api.Time      `json:"created,omitzero"`
	Updated     api.Time      `json:"updated,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// OrgPage is one page of organizations.
type OrgPage struct {
	Orgs       []*Org          `json:"orgs"`
	Pagination *api.Pagination `json:"pagination"` // nil from a server that does not tell
}

// List returns one page of the organizations the account belongs to. Those it
// only reaches through a workspace are in [Orgs.ListExternal]. Bounds out of
// range are [api.ErrInvalid].
//
// It calls GET /current/orgs/list/.
func (o *Orgs) List(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*OrgPage, error) {
	return o.list(ctx, "account.Orgs.List", "/current/orgs/list/", list, opts)
}

// ListExternal returns one page of the organizations the account does not belong
// to but has a workspace in. Bounds out of range are [api.ErrInvalid].
//
// It calls GET /current/orgs/list/external/.
func (o *Orgs) ListExternal(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*OrgPage, error) {
	return o.list(ctx, "account.Orgs.ListExternal", "/current/orgs/list/external/", list, opts)
}

func (o *Orgs) list(ctx context.Context, op, path string, list *ListOptions, opts []api.CallOption) (*OrgPage, error) {
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	return call.Do[OrgPage](ctx, o.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path(path), Query: q, Replay: api.ReplaySafe,
	}, opts)
}

// All returns every organization the account belongs to, then every other it
// has a workspace in, fetching pages as they are needed.
func (o *Orgs) All(ctx context.Context, opts ...api.CallOption) iter.Seq2[*Org, error] {
	return func(yield func(*Org, error) bool) {
		for _, list := range []lister{o.List, o.ListExternal} {
			for org, err := range list.all(ctx, opts) {
				if !yield(org, err) || err != nil {
					return
				}
			}
		}
	}
}

type lister func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*OrgPage, error)

func (list lister) all(ctx context.Context, opts []api.CallOption) iter.Seq2[*Org, error] {
	pages := page.Calls(ctx, "account.Orgs.List", "", opts, func(ctx context.Context, cursor string, opts []api.CallOption) (*OrgPage, string, error) {
		offset := page.Offset(cursor, 0)
		p, err := list(ctx, &ListOptions{Limit: maxLimit, Offset: offset}, opts...)
		if err != nil {
			return nil, "", err
		}
		return p, page.AfterOffset(p.Pagination, offset, len(p.Orgs)), nil
	})
	return page.Rows(pages, func(p *OrgPage) []*Org { return p.Orgs })
}
