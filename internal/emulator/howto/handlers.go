// Package howto is the questions about the platform itself.
package howto

import (
	"github.com/fastio-go/fastio/internal/emulator/system"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	system *system.Handlers

	asking map[string]bool // users with a question under way
}

// New returns the area of a world.
func New(w *world.World, system *system.Handlers) *Handlers {
	return &Handlers{World: w, system: system, asking: map[string]bool{}}
}
