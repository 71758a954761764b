// Package quickshares is the deprecated links to single files.
package quickshares

import (
	"github.com/fastio-go/fastio/internal/emulator/fileshares"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	fileshares *fileshares.Handlers
	storage    *storage.Handlers

	quickShares quickShares
}

// New returns the area of a world.
func New(w *world.World, fileshares *fileshares.Handlers, storage *storage.Handlers) *Handlers {
	return &Handlers{
		World: w, fileshares: fileshares, storage: storage,
		quickShares: quickShares{byID: map[string]*world.QuickShare{}},
	}
}
