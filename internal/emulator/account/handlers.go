// Package account is users, organizations and workspaces, and what they pay.
package account

import (
	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	signin *signin.Handlers
}

// New returns the area of a world.
func New(w *world.World, signin *signin.Handlers) *Handlers {
	return &Handlers{World: w, signin: signin}
}
