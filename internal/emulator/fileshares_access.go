package emulator

import (
	"crypto/subtle"
	"net/http"
)

// Codes of File Shares. The first is known, the others are the emulator's own.
const (
	codeNoPreview  = 143705
	codeNotManager = 199702
	codeTooLittle  = 199703
	codeWithheld   = 199704
	codePreviewHop = 199705
)

// recipient finds a File Share for a caller who may do with it what is needed, and the file behind it. What never was,
// what has ended and what was taken back look the same.
func (s *Server) recipient(c *call, name string, need capability) (*fileShare, *node, *answer) {
	st := &s.state
	f := st.fileShareNamed(name)
	if !f.open(st) {
		return nil, nil, noSuch(codeNotFound, "File Share")
	}
	if refusal := s.mayReceive(c, f); refusal != nil {
		return nil, nil, refusal
	}
	if s.capability(f, c.userID()) < need {
		a := refuse(http.StatusForbidden, codeTooLittle, "The File Share does not let you "+need.String()+".")
		return nil, nil, &a
	}
	return f, st.shared(f), nil
}

// mayReceive refuses whoever a File Share is not open to, or who does not have its password.
func (s *Server) mayReceive(c *call, f *fileShare) *answer {
	st := &s.state
	var a answer
	switch {
	case c.key != nil && st.covers(c.key, f.ID) < read:
		a = st.outOfScope(f.ID)
	case st.admits(f, c.userID()):
		return f.locked(c)
	case s.o.FileShares.Hidden:
		return noSuch(codeNotFound, "File Share")
	case c.key == nil:
		a = refuse(http.StatusUnauthorized, codeCredential, "The File Share asks for a credential.")
	default:
		a = refuse(http.StatusUnauthorized, codeNotGranted, "The File Share was not given to you.")
	}
	return &a
}

// locked refuses a call without the password of the link. Nobody is spared, and only the header counts.
func (f *fileShare) locked(c *call) *answer {
	if f.Password == "" || subtle.ConstantTimeCompare([]byte(f.Password), []byte(c.r.Header.Get("X-Ve-Password"))) == 1 {
		return nil
	}
	a := refuse(http.StatusUnauthorized, codeLinkPassword, "The password of the link is missing or wrong.")
	return &a
}

// withheld refuses the bytes of a file that nobody may have.
func (n *node) withheld() *answer {
	if n.Withheld == "" {
		return nil
	}
	a := refuse(http.StatusForbidden, codeWithheld, "The file is not served: "+n.Withheld+".")
	return &a
}

// fileShareToManage finds the File Share of a call by a member of its workspace. Those can still rescue one that has expired.
func (s *Server) fileShareToManage(c *call, need mode) (*fileShare, *answer) {
	f := s.state.fileShareNamed(c.segment("fileshare_id"))
	if f == nil {
		return nil, noSuch(codeNotFound, "File Share")
	}
	return f, s.mayManage(c, f.Workspace, need)
}

// mayManage refuses who may not manage the File Shares of a workspace.
func (s *Server) mayManage(c *call, workspaceID string, need mode) *answer {
	st := &s.state
	var a answer
	switch covered := st.covers(c.key, workspaceID); {
	case covered < read:
		a = st.outOfScope(workspaceID)
	case !st.manages(workspaceID, c.key.User):
		a = refuse(http.StatusForbidden, codeNotManager, "Only members of the workspace manage its File Shares.")
	case covered < need:
		return c.key.refuseWrite()
	default:
		return nil
	}
	return &a
}

func (st *state) manages(workspaceID, userID string) bool {
	return rank(st.role(workspaceID, userID)) >= rank(Member)
}

// workspaceToManage finds the workspace of a call by one who may manage its File Shares.
func (s *Server) workspaceToManage(c *call, need mode) (string, *answer) {
	id := s.state.workspaceNamed(c.segment("workspace_id"), c.userID())
	if id == "" {
		return "", noSuch(codeNotFound, kindWorkspace)
	}
	return id, s.mayManage(c, id, need)
}
