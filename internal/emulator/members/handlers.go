// Package members is the members of shares, their invitations and the transfer of ownership.
package members

import (
	"github.com/fastio-go/fastio/internal/emulator/shares"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	shares *shares.Handlers

	transfers transferState
}

// New returns the area of a world.
func New(w *world.World, shares *shares.Handlers) *Handlers {
	return &Handlers{World: w, shares: shares, transfers: transferState{halfway: map[string]string{}}}
}
