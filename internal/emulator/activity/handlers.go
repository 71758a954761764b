// Package activity is the polls for what changed last, and the dashboard.
package activity

import (
	"github.com/fastio-go/fastio/internal/emulator/events"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	events *events.Handlers

	dismissals dismissals
}

// New returns the area of a world.
func New(w *world.World, events *events.Handlers) *Handlers {
	return &Handlers{World: w, events: events, dismissals: dismissals{}}
}
