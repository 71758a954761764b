package emulator

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// fileShare is a File Share as the platform keeps it.
type fileShare struct {
	FileShare
	lapsed bool // expired, and not cleaned up yet
}

// Tiers of access to a File Share.
const (
	anyoneWithLink = "anyone_with_link"
	anyRegistered  = "any_registered"
	namedPeople    = "named_people"
)

// capability is what somebody may do with a File Share.
type capability int

const (
	noCapability capability = iota
	canView
	canDownload
	canEdit
)

func capabilities() []string { return []string{"view", "download", "edit"} }

func parseCapability(s string) capability {
	return capability(slices.Index(capabilities(), s) + 1)
}

func (m capability) String() string {
	if m == noCapability {
		return "none"
	}
	return capabilities()[m-1]
}

// AddFileShare adds a File Share, or replaces the one with the same id.
func (s *Server) AddFileShare(f FileShare) FileShare {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	f.Node = plain(f.Node)
	if n := st.nodes[f.Node]; n != nil {
		f.Workspace = cmp.Or(f.Workspace, n.Profile)
		f.Title = cmp.Or(f.Title, n.Name)
	}
	kept := s.keepFileShare(f)
	st.touch(s.now(), kept.ID, fieldSettings)
	f = kept.FileShare
	f.Grants = slices.Clone(f.Grants)
	return f
}

// keepFileShare completes a File Share and puts it into the order of creation.
func (s *Server) keepFileShare(f FileShare) *fileShare {
	st := &s.state
	f.ID = s.newProfile(f.ID)
	if f.IDAlt = plain(f.IDAlt); f.IDAlt == "" {
		st.serials++
		f.IDAlt = opaque('q', s.o.Seed, st.serials)
	}
	f.Access = cmp.Or(f.Access, namedPeople)
	if f.Created.IsZero() {
		f.Created = s.now()
	}
	if f.Updated.IsZero() {
		f.Updated = f.Created
	}
	given := f.Grants
	f.Grants = nil
	kept := &fileShare{FileShare: f}
	for _, g := range given {
		s.give(kept, g)
	}
	if st.fileShares[f.ID] == nil {
		st.linkList = append(st.linkList, f.ID)
	}
	st.fileShares[f.ID] = kept
	s.watchExpiry(kept)
	return kept
}

// watchExpiry lets a File Share lapse when it expires, and go for good with the next cleanup, which comes every hour.
// Until then another expiry rescues it.
func (s *Server) watchExpiry(f *fileShare) {
	ends := f.Expires
	f.lapsed = false
	if ends.IsZero() {
		return
	}
	still := func() bool { return s.state.fileShares[f.ID] == f && f.Expires.Equal(ends) }
	s.later(ends, func() {
		if still() {
			f.lapsed = true
		}
	})
	s.later(ends.Truncate(time.Hour).Add(time.Hour), func() {
		if still() {
			s.dropFileShare(f, "")
		}
	})
}

// dropFileShare ends a link, and with it what was granted. The file stays.
func (s *Server) dropFileShare(f *fileShare, caller string) {
	st := &s.state
	s.tellFileShare(f, Event{Name: "file_share_deleted", CallingUser: caller})
	st.touch(s.now(), f.ID, fieldSettings)
	delete(st.fileShares, f.ID)
	st.linkList = slices.DeleteFunc(st.linkList, func(id string) bool { return id == f.ID })
}

// tellFileShare writes an event about a File Share. Its object is the file.
func (s *Server) tellFileShare(f *fileShare, e Event) {
	e.Workspace, e.Object = f.Workspace, f.Node
	if n := s.state.nodes[f.Node]; n != nil {
		e.ObjectName = n.Name
	}
	s.write(e)
}

// give gives a File Share to somebody, or makes something else of what was given before.
func (s *Server) give(f *fileShare, g Grant) Grant {
	g.Capability = cmp.Or(g.Capability, canDownload.String())
	if u := s.state.userOf(g.Email); g.User == "" && u != "" {
		g.User = u
	}
	if g.User != "" {
		g.Email = ""
	}
	if g.Created.IsZero() {
		g.Created = s.now()
	}
	i := slices.IndexFunc(f.Grants, func(other Grant) bool { return grantIsFor(&other, g.User, g.Email) })
	if i < 0 {
		f.Grants = append(f.Grants, g)
	} else {
		g.Created = f.Grants[i].Created
		f.Grants[i] = g
	}
	if !g.Expires.IsZero() {
		s.later(g.Expires, func() {
			f.Grants = slices.DeleteFunc(f.Grants, func(other Grant) bool {
				return grantIsFor(&other, g.User, g.Email) && other.Expires.Equal(g.Expires)
			})
		})
	}
	return g
}

// grantIsFor tells whether a grant is that of a user, or of the address of somebody without an account.
func grantIsFor(g *Grant, userID, email string) bool {
	if g.User != "" || userID != "" {
		return g.User == userID
	}
	return strings.EqualFold(g.Email, email)
}

// activateGrants hands a new user what was given to the e-mail address before there was an account.
func (st *state) activateGrants(u User) {
	for _, f := range st.fileShares {
		for i, g := range f.Grants {
			if g.User == "" && strings.EqualFold(g.Email, u.Email) {
				f.Grants[i].User, f.Grants[i].Email = u.ID, ""
			}
		}
	}
}

// fileShareNamed finds a File Share by either of its ids.
func (st *state) fileShareNamed(name string) *fileShare {
	for id, f := range st.fileShares {
		if id == name || f.IDAlt == plain(name) {
			return f
		}
	}
	return nil
}

// shared is the file behind a link, nil when it is in the trash or gone.
func (st *state) shared(f *fileShare) *node { return st.node(f.Workspace, f.Node) }

// open tells whether a link still leads somewhere.
func (f *fileShare) open(st *state) bool { return f != nil && !f.lapsed && st.shared(f) != nil }

// conferred is what a user may do with a File Share by role in the workspace or by grant, whatever its tier.
func (st *state) conferred(f *fileShare, userID string) capability {
	if userID == "" {
		return noCapability
	}
	most := noCapability
	switch role := st.role(f.Workspace, userID); {
	case rank(role) >= rank(Member), f.Owner == userID:
		most = canEdit
	case role == Guest:
		most = canView
	}
	for _, g := range f.Grants {
		if g.User == userID {
			most = max(most, parseCapability(g.Capability))
		}
	}
	return most
}

// admits tells whether a File Share is open to a user, "" being one without an account. Members of the workspace are
// let in whatever its tier.
func (st *state) admits(f *fileShare, userID string) bool {
	switch {
	case f.lapsed:
		return st.manages(f.Workspace, userID)
	case f.Access == anyoneWithLink:
		return true
	case f.Access == anyRegistered:
		return userID != ""
	}
	return st.conferred(f, userID) > noCapability
}

// capability is what somebody may do with a File Share. Its tier never lets anybody edit.
func (s *Server) capability(f *fileShare, userID string) capability {
	most := s.state.conferred(f, userID)
	if f.Access == anyoneWithLink || f.Access == anyRegistered && userID != "" {
		most = max(most, parseCapability(cmp.Or(s.o.FileShares.TierCapability, canDownload.String())))
	}
	return most
}

// takesComments tells whether the owner lets recipients comment. Links for anyone never do.
func (f *fileShare) takesComments() bool { return f.CommentsEnabled && f.Access != anyoneWithLink }
