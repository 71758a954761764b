// Package metadata is the facts about files, the vocabulary of their fields, filters and extraction.
package metadata

import (
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	metadata metadataState
}

// New returns the area of a world.
func New(w *world.World) *Handlers {
	return &Handlers{World: w, metadata: newMetadataState()}
}
