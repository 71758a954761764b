package emulator

import (
	"net/http"
)

// Codes of comments. The first three are published.
const (
	codeBodyOnCreate  = 162417
	codeBodyOnUpdate  = 164797
	codeVisibleText   = 166910
	codeNotGranted    = 115069
	codeDenied        = 199311
	codeLinkPassword  = 199312
	codeNotJSON       = 199313
	codeSpam          = 199314
	codeCommentLimit  = 199315
	codeIsDeleted     = 199316
	codeNoComment     = 199317
	codeNoTarget      = 199318
	codeAttachedLimit = 199319
)

func denied(text string) *answer {
	a := refuse(http.StatusUnauthorized, codeDenied, "Access Denied: "+text)
	return &a
}

func noSuch(code int64, what string) *answer {
	a := refuse(http.StatusNotFound, code, "There is no such "+what+".")
	return &a
}

// venueOfPath finds where the comments of a call are, and checks that the caller may look.
func (s *Server) venueOfPath(c *call) (venue, *answer) {
	kind, id, node := c.segment("entity_type"), c.segment("parent_id"), plain(c.segment("node_id"))
	switch kind {
	case kindWorkspace, kindShare, kindFileShare:
	case "":
		c.check.missing("entity_type", "workspace, share or fileshare.")
	default:
		c.check.invalid("entity_type", "workspace, share or fileshare.")
	}
	switch {
	case id == "":
		c.check.missing("parent_id", "Name what the comments are on.")
	case !isProfile(id) && (kind != kindFileShare || !isOpaque(plain(id))):
		c.check.mistyped("parent_id", "profile_id")
	}
	switch {
	case node == "" && kind == kindFileShare:
		c.check.missing("node_id", "A File Share has comments on its file only.")
	case node != "" && !isOpaque(node):
		c.check.mistyped("node_id", "opaque_id")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return venue{}, refusal
	}
	if kind == kindFileShare {
		return s.venueOfFileShare(c, id, node)
	}
	st := &s.state
	if st.kind(id) != kind {
		return venue{}, noSuch(codeNotFound, kind)
	}
	at := venue{profile: id, node: node}
	if refusal := st.mayLook(c.key, at); refusal != nil {
		return venue{}, refusal
	}
	if node != "" && st.node(id, node) == nil {
		return venue{}, noSuch(codeNotFound, "node")
	}
	return at, nil
}

func (s *Server) venueOfFileShare(c *call, id, node string) (venue, *answer) {
	st := &s.state
	f := st.fileShareNamed(id)
	if !f.open(st) {
		return venue{}, noSuch(codeNotFound, "File Share")
	}
	at := venue{profile: f.Workspace, fileShare: f.ID, node: node}
	if refusal := st.mayLook(c.key, at); refusal != nil {
		return venue{}, refusal
	}
	if refusal := f.locked(c); refusal != nil {
		return venue{}, refusal
	}
	if node != f.Node {
		return venue{}, noSuch(codeNotFound, "node")
	}
	if !f.takesComments() {
		return venue{}, denied("comments are off.")
	}
	return at, nil
}

// mayLook refuses a credential that does not reach a venue.
func (st *state) mayLook(k *credential, at venue) *answer {
	var a answer
	switch f := st.fileShares[at.fileShare]; {
	case st.covers(k, at.reached()) < read:
		a = st.outOfScope(at.reached())
	case f != nil && !st.admits(f, k.User):
		a = refuse(http.StatusUnauthorized, codeNotGranted, "The File Share was not given to you.")
	case f == nil && st.role(at.profile, k.User) == "":
		a = notMember()
	case f == nil && st.shutOut(at.profile, k.User):
		return unseen(codeNoView)
	default:
		return nil
	}
	return &a
}

// mayPost refuses a caller who may look at a venue and not write there.
func (st *state) mayPost(k *credential, at venue) *answer {
	if st.covers(k, at.reached()) < write {
		return k.refuseWrite()
	}
	if !st.posts(k.User, at) {
		return denied("you may not comment here.")
	}
	return nil
}

// posts tells whether a user may comment in a venue: guests where their share lets them, recipients where the owner of
// the File Share does.
func (st *state) posts(userID string, at venue) bool {
	if f := st.fileShares[at.fileShare]; at.fileShare != "" {
		return f != nil && f.takesComments() && st.admits(f, userID)
	}
	role := st.role(at.profile, userID)
	if share := st.shares[at.profile]; share != nil && role == Guest {
		return !share.it.NoComments
	}
	return rank(role) >= rank(Member)
}

// sees tells whether a user who may look at the venue of a comment sees the comment: members see all, guests their own
// and what the share shows them, recipients those of other recipients.
func (st *state) sees(userID string, cm *comment) bool {
	if cm.FileShare != "" || cm.User == userID || rank(st.role(cm.Profile, userID)) >= rank(Member) {
		return true
	}
	share := st.shares[cm.Profile]
	if share == nil {
		return false
	}
	if rank(st.role(cm.Profile, cm.User)) >= rank(Member) {
		return !share.it.HideTeamComments
	}
	return !share.it.HideGuestComments
}

// commentOfPath finds the comment of a call, if the caller may look at it.
func (s *Server) commentOfPath(c *call) (*comment, *answer) {
	id := plain(c.segment("comment_id"))
	switch {
	case id == "":
		c.check.missing("comment_id", "Name a comment.")
	case !isOpaque(id):
		c.check.mistyped("comment_id", "opaque_id")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return nil, refusal
	}
	return s.commentFor(c.key, id)
}

func (s *Server) commentFor(k *credential, id string) (*comment, *answer) {
	st := &s.state
	cm := st.comments.byID[id]
	if cm == nil {
		return nil, noSuch(codeNoComment, "comment")
	}
	if refusal := st.mayLook(k, cm.venue()); refusal != nil {
		return nil, refusal
	}
	if !st.sees(k.User, cm) {
		return nil, denied("you may not see this comment.")
	}
	return cm, nil
}

// ownComment finds the comment of a call that only its author may change.
func (s *Server) ownComment(c *call) (*comment, *answer) {
	cm, refusal := s.commentOfPath(c)
	if refusal == nil {
		refusal = s.mayChange(c.key, cm)
	}
	return cm, refusal
}

// mayChange refuses whoever is not the author, and changes of what is deleted.
func (s *Server) mayChange(k *credential, cm *comment) *answer {
	st := &s.state
	switch {
	case cm.User != k.User:
		return denied("only the author may change a comment.")
	case cm.deleted():
		return isDeleted()
	}
	return st.mayPost(k, cm.venue())
}

func isDeleted() *answer {
	a := refuse(http.StatusNotAcceptable, codeIsDeleted, "Comment is deleted")
	return &a
}

// inside tells whether a user meets a comment where it was written. To the members of a workspace the comments of
// File Share recipients are there to read.
func (st *state) inside(userID string, cm *comment) bool {
	return cm.FileShare == "" || cm.User == userID || rank(st.role(cm.Profile, userID)) < rank(Member)
}

// mayDelete tells whether a user may delete a comment: the author, and an admin of the workspace or share, but not of
// what was written on a File Share.
func (st *state) mayDelete(userID string, cm *comment) bool {
	return cm.User == userID || cm.FileShare == "" && rank(st.role(cm.Profile, userID)) >= rank(Admin)
}
