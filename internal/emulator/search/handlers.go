// Package search is the search for files, facts and comments.
package search

import (
	"github.com/fastio-go/fastio/internal/emulator/comments"
	"github.com/fastio-go/fastio/internal/emulator/metadata"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	comments *comments.Handlers
	metadata *metadata.Handlers
	storage  *storage.Handlers
}

// New returns the area of a world.
func New(
	w *world.World, comments *comments.Handlers, metadata *metadata.Handlers, storage *storage.Handlers,
) *Handlers {
	return &Handlers{World: w, comments: comments, metadata: metadata, storage: storage}
}
