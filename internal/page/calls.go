package page

import (
	"context"
	"iter"
	"slices"

	"github.com/fastio-go/fastio/api"
)

// Calls is Pages for a fetch that makes a call with the options it is given.
//
// What [api.WithResponse] asks for is there when the loop is at the page it belongs to,
// while the fetch of the next one keeps its own.
func Calls[P any](
	ctx context.Context, start string, opts []api.CallOption,
	fetch func(ctx context.Context, cursor string, opts []api.CallOption) (page P, next string, err error),
) iter.Seq2[P, error] {
	o := api.Resolve(opts)
	if o.Response == nil {
		return Pages(ctx, start, func(ctx context.Context, cursor string) (P, string, error) {
			return fetch(ctx, cursor, opts)
		})
	}
	type answered struct {
		page P
		raw  *api.Response
	}
	pages := Pages(ctx, start, func(ctx context.Context, cursor string) (answered, string, error) {
		raw := new(api.Response)
		p, next, err := fetch(ctx, cursor, append(slices.Clip(opts), api.WithResponse(raw)))
		return answered{p, raw}, next, err
	})
	return func(yield func(P, error) bool) {
		for a, err := range pages {
			if a.raw != nil {
				*o.Response = *a.raw
			}
			if !yield(a.page, err) {
				return
			}
		}
	}
}
