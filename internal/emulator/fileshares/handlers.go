// Package fileshares is the links to single files.
package fileshares

import (
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	storage *storage.Handlers
}

// New returns the area of a world.
func New(w *world.World, storage *storage.Handlers) *Handlers {
	return &Handlers{World: w, storage: storage}
}
