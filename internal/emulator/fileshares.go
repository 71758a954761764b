package emulator

import (
	"cmp"
	"slices"
)

// FileShare is a durable link to one file of a workspace. [Server.AddFileShare] fills what is empty.
type FileShare struct {
	ID, IDAlt       string // 19 digits, and the opaque form in links
	WorkspaceID     string // that of the node
	NodeID          string
	Owner, Title    string
	Access          string   // one of the tiers; "" is named_people
	Grants          []string // user ids
	CommentsEnabled bool     // without effect for anyone with the link
	Password        string
}

// Tiers of access to a File Share.
const (
	anyoneWithLink = "anyone_with_link"
	namedPeople    = "named_people"
)

// AddFileShare adds a File Share, or replaces the one with the same id.
func (s *Server) AddFileShare(f FileShare) FileShare {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	f.ID = s.newProfile(f.ID)
	if f.IDAlt = plain(f.IDAlt); f.IDAlt == "" {
		st.serials++
		f.IDAlt = opaque('q', s.o.Seed, st.serials)
	}
	f.NodeID = plain(f.NodeID)
	if n := st.nodes[f.NodeID]; n != nil {
		f.WorkspaceID = cmp.Or(f.WorkspaceID, n.ProfileID)
		f.Title = cmp.Or(f.Title, n.Name)
	}
	f.Access = cmp.Or(f.Access, namedPeople)
	f.Grants = slices.Clone(f.Grants)
	st.fileShares[f.ID] = &f
	st.touch(s.now(), f.ID, fieldSettings)
	return f
}

// fileShareNamed finds a File Share by either of its ids.
func (st *state) fileShareNamed(name string) *FileShare {
	for id, f := range st.fileShares {
		if id == name || f.IDAlt == plain(name) {
			return f
		}
	}
	return nil
}

// admits tells whether a File Share is open to a user. Members of the workspace are, whatever its tier.
func (st *state) admits(f *FileShare, userID string) bool {
	return f.Access != namedPeople || f.Owner == userID || slices.Contains(f.Grants, userID) ||
		st.role(f.WorkspaceID, userID).rank() >= Member.rank()
}

// takesComments tells whether the owner lets recipients comment. Links for anyone never do.
func (f *FileShare) takesComments() bool { return f.CommentsEnabled && f.Access != anyoneWithLink }
