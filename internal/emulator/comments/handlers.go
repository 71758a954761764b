// Package comments is the comments on workspaces, shares, File Shares and their files.
package comments

import (
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	Comments commentState
}

// New returns the area of a world.
func New(w *world.World) *Handlers {
	return &Handlers{World: w, Comments: commentState{byID: map[string]*Comment{}}}
}
