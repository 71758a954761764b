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

// rows returns the rows of all pages of list; of returns those of a page, and its
// position.
func rows[P, T any](
	ctx context.Context, op string, opts []api.CallOption,
	list func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*P, error),
	of func(*P) ([]*T, *api.Pagination),
) iter.Seq2[*T, error] {
	pages := page.Offsets(ctx, op, 0, opts, func(ctx context.Context, offset int, opts []api.CallOption) (*P, error) {
		return list(ctx, &ListOptions{Limit: page.MaxLimit, Offset: offset}, opts...)
	}, of)
	return page.Rows(pages, func(p *P) []*T {
		found, _ := of(p)
		return found
	})
}

// orLast returns the position of a page. Without one, it is the last page: a server
// that ignores the offset would send it again.
func orLast(p *api.Pagination) *api.Pagination {
	if p == nil {
		return &api.Pagination{}
	}
	return p
}
