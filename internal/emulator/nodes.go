package emulator

import (
	"cmp"
	"strconv"
	"time"
)

// Node is something in the storage of a workspace or a share. [Server.AddNode] fills what is empty.
type Node struct {
	ID, ProfileID    string
	ParentID         string // the folder it is in, "" is the root
	Kind             string // file, folder, note or link; "" is file
	Name             string
	Creator          string
	Created, Updated time.Time
	Trashed          bool
}

// nodeSpace keeps the serials of nodes apart from those of the things that histories invent.
const nodeSpace = 1 << 62

// AddNode adds a node, or replaces the one with the same id. Its id is plain.
func (s *Server) AddNode(n Node) Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	n.ID = plain(n.ID)
	if n.ID == "" {
		st.serials++
		n.ID = opaque('2', s.o.Seed, nodeSpace+st.serials)
	}
	now := s.now()
	n.Kind = cmp.Or(n.Kind, "file")
	n.Name = cmp.Or(n.Name, n.Kind+" "+strconv.Itoa(len(st.nodes)+1))
	n.ParentID = plain(n.ParentID)
	if n.Created.IsZero() {
		n.Created = now
	}
	if n.Updated.IsZero() {
		n.Updated = n.Created
	}
	st.nodes[n.ID] = &n
	st.touch(now, n.ProfileID, keyed(fieldStorage, n.ID), fieldStorage)
	return n
}

// node finds what is in the storage of a profile and not in its trash.
func (st *state) node(profileID, id string) *Node {
	n := st.nodes[id]
	if n == nil || n.ProfileID != profileID || n.Trashed {
		return nil
	}
	return n
}
