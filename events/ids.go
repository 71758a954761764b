package events

import (
	"hash/maphash"

	"github.com/fastio-go/fastio/api"
)

// ids is a set of event ids. It keeps 16 bytes of each, whatever their length.
type ids struct {
	seeds [2]maphash.Seed
	set   map[[2]uint64]struct{}
}

func newIDs() ids {
	return ids{[2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, map[[2]uint64]struct{}{}}
}

// add reports whether id is new to the set.
func (s *ids) add(id api.OpaqueID) bool {
	key := s.key(id)
	if _, ok := s.set[key]; ok {
		return false
	}
	s.set[key] = struct{}{}
	return true
}

func (s *ids) key(id api.OpaqueID) [2]uint64 {
	plain := id.Plain()
	return [2]uint64{maphash.String(s.seeds[0], plain), maphash.String(s.seeds[1], plain)}
}
