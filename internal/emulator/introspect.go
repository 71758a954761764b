package emulator

import (
	"net/http"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// introspect answers OPTIONS with what an endpoint accepts.
func (s *Server) introspect(c *wire.Call) (wire.Object, error) {
	if c.Route.Params == nil {
		a := wire.Refuse(http.StatusMethodNotAllowed, wire.CodeMethod, "This endpoint does not describe itself.")
		a.Header = http.Header{"Allow": {c.Route.Method}}
		return nil, a
	}
	rows := make([]wire.Object, 0, len(c.Route.Params))
	for _, p := range c.Route.Params {
		rows = append(rows, wire.Object{
			{"name", p.Name},
			{"source", p.Source},
			{"required", p.Required},
			{"type", p.Kind},
			{"constraint", p.Constraint},
		})
	}
	return wire.Object{
		{"endpoint", wire.Object{{"method", c.Route.Method}, {"path", c.Route.Pattern}}},
		{"parameters", rows},
	}, nil
}
