package account

import (
	"context"
	"iter"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/page"
)

// ListOptions asks for one part of a list. Nil asks for the first.
type ListOptions struct {
	Limit  int // rows a page, 1 to 500; 0 leaves it to the server, which sends 100
	Offset int // rows to skip
}

// query checks o and returns it as parameters.
func (o *ListOptions) query(op string) (url.Values, error) {
	if o == nil {
		return url.Values{}, nil
	}
	return page.Window(op, o.Limit, o.Offset)
}

// rows walks a list that is asked for page by page with list; of tells the rows of a
// page and where it stands.
func rows[P, T any](
	ctx context.Context, op string, opts []api.CallOption,
	list func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*P, error), of func(*P) ([]*T, *api.Pagination),
) iter.Seq2[*T, error] {
	pages := page.Offsets(ctx, op, 0, opts, func(ctx context.Context, offset int, opts []api.CallOption) (*P, error) {
		return list(ctx, &ListOptions{Limit: page.MaxLimit, Offset: offset}, opts...)
	}, of)
	return page.Rows(pages, func(p *P) []*T {
		found, _ := of(p)
		return found
	})
}

// told is where a page stands of a list that may not have any: without a word it is
// the last one, because a server that does not know of pages would send it again.
func told(p *api.Pagination) *api.Pagination {
	if p == nil {
		return &api.Pagination{}
	}
	return p
}
