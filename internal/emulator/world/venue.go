package world

import (
	"cmp"
	"net/http"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Venue is where comments are exchanged: people in one cannot reply to those in another.
type Venue struct {
	Profile   string
	FileShare string
	Node      string // "" for the profile as a whole
}

// Reached is the profile whose scopes decide about a venue.
func (at Venue) Reached() string { return cmp.Or(at.FileShare, at.Profile) }

// MayLook refuses a credential that does not reach a venue.
func (w *Directory) MayLook(k *wire.Credential, at Venue) error {
	switch f := w.FileShares[at.FileShare]; {
	case w.Covers(k, at.Reached()) < wire.Read:
		return w.OutOfScope(at.Reached())
	case f != nil && !w.Admits(f, k.User):
		return wire.Refuse(http.StatusUnauthorized, CodeNotGranted, "The File Share was not given to you.")
	case f == nil && w.Role(at.Profile, k.User) == "":
		return wire.NotMember()
	case f == nil && w.ShutOut(at.Profile, k.User):
		return Unseen(CodeNoView)
	default:
		return nil
	}
}
