package emulator

import (
	"io"

	"github.com/fastio-go/fastio/internal/emulator/seedfile"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// labelSpace keeps the serials of objects with a label apart from those of all others.
const labelSpace = 1 << 61

// Load adds the state that a seed file describes; see package seed. It adds nothing if there is an error.
func (s *Server) Load(r io.Reader) error {
	f, err := seedfile.Read(r, objects{s})
	if err != nil {
		return err
	}
	addAll(f.Users, s.AddUser)
	addAll(f.Orgs, s.AddOrg)
	addAll(f.Workspaces, s.AddWorkspace)
	addAll(f.Shares, s.AddShare)
	addAll(f.Nodes, s.AddNode)
	addAll(f.FileShares, s.AddFileShare)
	addAll(f.QuickShares, s.AddQuickShare)
	addAll(f.Members, s.AddMembership)
	addAll(f.Invitations, s.AddInvitation)
	addAll(f.Clients, s.AddClient)
	addAll(f.Keys, s.AddKey)
	addAll(f.Events, s.AddEvent)
	for _, h := range f.Histories {
		s.Generate(h)
	}
	addAll(f.Comments, s.AddComment)
	addAll(f.Fields, s.AddField)
	for _, it := range f.Facts {
		if err := s.AddFact(it); err != nil {
			return err
		}
	}
	return nil
}

func addAll[T any](list []T, add func(T) T) {
	for _, it := range list {
		add(it)
	}
}

type objects struct{ *Server }

func (o objects) NewID(kind string) string {
	o.Lock()
	defer o.Unlock()
	next := func(first byte) string { return world.Opaque(first, o.Options.Seed, labelSpace+o.NextSerial()) }
	switch kind {
	case "node":
		return next('2')
	case "version":
		return next('3')
	case "comment":
		return "c" + next('a')
	case "event":
		return next('e')
	case "invitation":
		return next('i')
	case "quickshare":
		return next('k')
	case "fileshare_alt":
		return next('q')
	}
	return o.NewProfile("")
}

func (o objects) Exists(kind, id string) bool {
	o.RLock()
	defer o.RUnlock()
	switch kind {
	case "node":
		return o.Nodes[id] != nil
	case "comment":
		return o.comments.Has(id)
	case "event":
		_, found := o.Log.Find(id)
		return found
	}
	return o.KindOf(id) == kind
}
