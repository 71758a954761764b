package oauth

import (
	"context"
	"net/url"

	"github.com/fastio-go/fastio/api"
)

// elsewhere sends the requests of one endpoint to another address than the
// documented one.
type elsewhere struct {
	api.Caller

	path  api.Route
	query url.Values
}

// Call sends r to the other address.
func (e elsewhere) Call(ctx context.Context, r *api.Request, out any) error {
	moved := *r
	moved.Path = e.path
	if len(e.query) > 0 {
		moved.Query = url.Values{}
		for _, q := range []url.Values{e.query, r.Query} {
			for name, values := range q {
				moved.Query[name] = values
			}
		}
	}
	return e.Caller.Call(ctx, &moved, out)
}
