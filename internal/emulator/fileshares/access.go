package fileshares

import (
	"net/http"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of File Shares. The first is known, the others are the emulator's own.
const (
	codeNoPreview  = 143705
	codeNotManager = 199702
	codePreviewHop = 199705
)

// fileShareToManage finds the File Share of a call by a member of its workspace. Those can still rescue one that has
// expired.
func (h *Handlers) fileShareToManage(c *wire.Call, need wire.Mode) (*world.FileShare, error) {
	f := h.FileShareNamed(c.Segment("fileshare_id"))
	if f == nil {
		return nil, wire.NoSuch(wire.CodeNotFound, "File Share")
	}
	return f, h.mayManage(c, f.Workspace, need)
}

// mayManage refuses who may not manage the File Shares of a workspace.
func (h *Handlers) mayManage(c *wire.Call, workspaceID string, need wire.Mode) error {
	switch covered := h.Covers(c.Key, workspaceID); {
	case covered < wire.Read:
		return h.OutOfScope(workspaceID)
	case !h.Manages(workspaceID, c.Key.User):
		return wire.Refuse(http.StatusForbidden, codeNotManager, "Only members of the workspace manage its File Shares.")
	case covered < need:
		return c.Key.RefuseWrite()
	default:
		return nil
	}
}

// workspaceToManage finds the workspace of a call by one who may manage its File Shares.
func (h *Handlers) workspaceToManage(c *wire.Call, need wire.Mode) (string, error) {
	id := h.WorkspaceNamed(c.Segment("workspace_id"), c.UserID())
	if id == "" {
		return "", wire.NoSuch(wire.CodeNotFound, wire.KindWorkspace)
	}
	return id, h.mayManage(c, id, need)
}
