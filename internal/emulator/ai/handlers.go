// Package ai is the conversations with the platform's agent.
package ai

import (
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	chats chatState
}

// New returns the area of a world.
func New(w *world.World) *Handlers {
	return &Handlers{World: w, chats: newChats()}
}
