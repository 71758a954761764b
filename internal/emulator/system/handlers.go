// Package system is what the platform says of itself.
package system

import (
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	AllRoutes func() []*wire.Route // the table of endpoints
}

// New returns the area of a world.
func New(w *world.World, routes func() []*wire.Route) *Handlers {
	return &Handlers{World: w, AllRoutes: routes}
}
