// Package storage is nodes, notes and uploads.
package storage

import (
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	NodeFacts func(*world.Node, wire.Level) wire.Object // the metadata of a node

	uploads map[string]*upload
}

// New returns the area of a world.
func New(w *world.World) *Handlers {
	return &Handlers{World: w, uploads: map[string]*upload{}}
}
