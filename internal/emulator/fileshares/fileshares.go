package fileshares

import (
	"cmp"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// AddFileShare adds a File Share, or replaces the one with the same id.
func (h *Handlers) AddFileShare(f world.SeedFileShare) world.SeedFileShare {
	h.Lock()
	defer h.Unlock()
	f.Node = wire.Plain(f.Node)
	if n := h.Nodes[f.Node]; n != nil {
		f.Workspace = cmp.Or(f.Workspace, n.Profile)
		f.Title = cmp.Or(f.Title, n.Name)
	}
	kept := h.keepFileShare(f)
	h.Touch(h.Now(), kept.ID, world.FieldSettings)
	f = kept.SeedFileShare
	f.Grants = slices.Clone(f.Grants)
	return f
}

// keepFileShare completes a File Share and puts it into the order of creation.
func (h *Handlers) keepFileShare(f world.SeedFileShare) *world.FileShare {
	f.ID = h.NewProfile(f.ID)
	if f.IDAlt = wire.Plain(f.IDAlt); f.IDAlt == "" {
		h.Serials++
		f.IDAlt = world.Opaque('q', h.Options.Seed, h.Serials)
	}
	f.Access = cmp.Or(f.Access, world.NamedPeople)
	if f.Created.IsZero() {
		f.Created = h.Now()
	}
	if f.Updated.IsZero() {
		f.Updated = f.Created
	}
	given := f.Grants
	f.Grants = nil
	kept := &world.FileShare{SeedFileShare: f}
	for _, g := range given {
		h.give(kept, g)
	}
	if h.FileShares[f.ID] == nil {
		h.FileShareList = append(h.FileShareList, f.ID)
	}
	h.FileShares[f.ID] = kept
	h.watchExpiry(kept)
	return kept
}

// watchExpiry lets a File Share lapse when it expires, and go for good with the next cleanup, which comes every hour.
// Until then another expiry rescues it.
func (h *Handlers) watchExpiry(f *world.FileShare) {
	ends := f.Expires
	f.Lapsed = false
	if ends.IsZero() {
		return
	}
	still := func() bool { return h.FileShares[f.ID] == f && f.Expires.Equal(ends) }
	h.Later(ends, func() {
		if still() {
			f.Lapsed = true
		}
	})
	h.Later(ends.Truncate(time.Hour).Add(time.Hour), func() {
		if still() {
			h.dropFileShare(f, "")
		}
	})
}

// dropFileShare ends a link, and with it what was granted. The file stays.
func (h *Handlers) dropFileShare(f *world.FileShare, caller string) {
	h.FileShareEvent(f, world.Event{Name: "file_share_deleted", CallingUser: caller})
	h.Touch(h.Now(), f.ID, world.FieldSettings)
	delete(h.FileShares, f.ID)
	h.FileShareList = slices.DeleteFunc(h.FileShareList, func(id string) bool { return id == f.ID })
}

// give gives a File Share to somebody, or makes something else of what was given before.
func (h *Handlers) give(f *world.FileShare, g world.Grant) world.Grant {
	g.Capability = cmp.Or(g.Capability, world.CanDownload.String())
	if u := h.UserOf(g.Email); g.User == "" && u != "" {
		g.User = u
	}
	if g.User != "" {
		g.Email = ""
	}
	if g.Created.IsZero() {
		g.Created = h.Now()
	}
	i := slices.IndexFunc(f.Grants, func(other world.Grant) bool { return world.GrantIsFor(&other, g.User, g.Email) })
	if i < 0 {
		f.Grants = append(f.Grants, g)
	} else {
		g.Created = f.Grants[i].Created
		f.Grants[i] = g
	}
	if !g.Expires.IsZero() {
		h.Later(g.Expires, func() {
			f.Grants = slices.DeleteFunc(f.Grants, func(other world.Grant) bool {
				return world.GrantIsFor(&other, g.User, g.Email) && other.Expires.Equal(g.Expires)
			})
		})
	}
	return g
}
