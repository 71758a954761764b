// Package signin is signing in with a password and a second factor, and API keys.
package signin

import (
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	Auth     authState
	FirstKey string // the token that was added first
}

// New returns the area of a world.
func New(w *world.World) *Handlers {
	return &Handlers{World: w, Auth: newAuthState()}
}
