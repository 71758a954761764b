// Package shares is shares: making, changing, listing and opening them.
package shares

import (
	"github.com/fastio-go/fastio/internal/emulator/account"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	account *account.Handlers
	storage *storage.Handlers

	shareConflicts int // creations of shares refused as concurrent so far
}

// New returns the area of a world.
func New(w *world.World, account *account.Handlers, storage *storage.Handlers) *Handlers {
	return &Handlers{World: w, account: account, storage: storage}
}
