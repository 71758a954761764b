// Package realtime is the WebSockets that tell of changes, and the tokens that open them.
package realtime

import (
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	messageFaults messageFaults

	sockets map[string]map[*socket]bool // by profile
	closed  bool                        // no more sockets
}

// New returns the area of a world.
func New(w *world.World, faults messageFaults) *Handlers {
	return &Handlers{World: w, messageFaults: faults, sockets: map[string]map[*socket]bool{}}
}
