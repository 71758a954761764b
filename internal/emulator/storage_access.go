package emulator

import (
	"net/http"
	"strings"
)

// Access options of a share, as they go over the wire. Any other value is for members only.
const (
	accessOrg        = "Members of the Share, Workspace or Org"
	accessRegistered = "Anyone with a registered account"
	accessAnyone     = "Anyone with the link"
)

// store is the storage a call is about.
type store struct {
	profile string // the workspace or share that was named
	owner   string // whose nodes it shows
	folder  string // the folder it shows, "" is all
	user    string // the caller, "" without a credential
}

// userID is the caller, "" for one without a credential.
func (c *call) userID() string {
	if c.key == nil {
		return ""
	}
	return c.key.User
}

// storageOfPath finds the storage of a call, and checks that the caller may look.
func (s *Server) storageOfPath(c *call) (store, *answer) {
	st := &s.state
	id, refusal := s.scopeOfPath(c)
	if refusal != nil {
		return store{}, refusal
	}
	in := st.storeOf(id, c)
	if st.orphaned(in) {
		return store{}, noSuch(codeOrphanSearch, "folder behind the share any more")
	}
	return in, nil
}

func (st *state) storeOf(profileID string, c *call) store { return st.storeFor(profileID, c.userID()) }

func (st *state) storeFor(profileID, userID string) store {
	in := store{profile: profileID, user: userID}
	in.owner, in.folder = st.storageOf(profileID)
	return in
}

// insider tells whether the caller is a member of what was named, or more.
func (in store) insider(st *state) bool { return rank(st.role(in.profile, in.user)) >= rank(Member) }

// orphaned tells whether a share lost the folder it stands for.
func (st *state) orphaned(in store) bool {
	return in.folder != "" && st.node(in.owner, in.folder) == nil
}

// scopeOfPath finds the workspace or share a path names, by id or name, and checks that the caller may look.
func (s *Server) scopeOfPath(c *call) (string, *answer) {
	st := &s.state
	if name := c.segment("share_id"); name != "" {
		id := st.shareNamed(name)
		if id == "" {
			return "", noSuch(codeNotFound, kindShare)
		}
		return id, s.mayVisit(c, id)
	}
	id := st.workspaceNamed(c.segment("workspace_id"), c.userID())
	if id == "" {
		return "", noSuch(codeNotFound, kindWorkspace)
	}
	return id, st.mayLook(c.key, venue{profile: id})
}

// shareNamed finds a share by id or custom name.
func (st *state) shareNamed(name string) string {
	for _, id := range st.shareList {
		if id == name || strings.EqualFold(st.shares[id].it.CustomName, name) {
			return id
		}
	}
	return ""
}

// mayVisit refuses a caller who may not look into a share. Members need no password, and others no membership where
// the share is open to them. The header holds the token that the password was exchanged for, never the password.
func (s *Server) mayVisit(c *call, id string) *answer {
	st := &s.state
	h := &st.shares[id].it
	if c.key != nil {
		if refusal := st.mayLook(c.key, venue{profile: id}); refusal == nil || !st.open(h, c.key.User) {
			return refusal
		}
	} else if h.Access != accessAnyone {
		a := refuse(http.StatusUnauthorized, codeCredential, "The share asks for a credential.")
		return &a
	}
	if st.shut(id) {
		return unseen(codeNoView)
	}
	sent := c.r.Header.Get("X-Ve-Password")
	if h.Password != "" && !s.opensLink(h, sent) {
		return wrongLinkPassword()
	}
	return nil
}

// open tells whether a share lets a user in who has no role on it.
func (st *state) open(h *share, userID string) bool {
	switch h.Access {
	case accessAnyone:
		return true
	case accessRegistered:
		return userID != ""
	case accessOrg:
		return userID != "" && st.role(h.Org, userID) != ""
	}
	return false
}
