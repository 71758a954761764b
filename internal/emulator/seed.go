package emulator

import (
	"io"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// labelSpace keeps the serials of objects with a label apart from those of all others.
const labelSpace = 1 << 61

// Load adds the state that a seed file describes; see [seed.File].
func (s *Server) Load(r io.Reader) error {
	f, err := seed.Read(r, s.newID)
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

// newID makes the id of an object that has a label.
func (s *Server) newID(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := func(first byte) string { return opaque(first, s.o.Seed, labelSpace+s.nextSerial()) }
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
	case "quick_share":
		return next('k')
	case "file_share_alt":
		return next('q')
	}
	return s.newProfile("")
}
