// Package events is the log of events: search, summaries, the change feed, and invented histories.
package events

import (
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	acked     map[string]map[uint32]bool // by user
	blocked   map[string]bool            // organizations that refuse the caller's location
	retention uint64                     // raised to expire the cursors of the change feed
	generated uint64                     // histories so far, part of their seed
	recent    map[string][]uint32        // files of a workspace that histories touched last
}

// New returns the area of a world.
func New(w *world.World) *Handlers {
	return &Handlers{
		World: w, acked: map[string]map[uint32]bool{}, blocked: map[string]bool{}, recent: map[string][]uint32{},
	}
}
