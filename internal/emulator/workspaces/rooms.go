package workspaces

import (
	"net/http"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/orgs"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// lifecycleRoutes returns the routes of the life of workspaces.
func (h *Handlers) lifecycleRoutes() []*wire.Route {
	const workspace = "/current/workspace/{workspace_id}/"
	return []*wire.Route{
		wire.Delete("workspaces.Delete", workspace+"delete/", wire.With(h.ownedWorkspace, h.deleteWorkspace),
			wire.Query("confirm"), wire.AllowArchived),
		wire.Post("workspaces.Archive", workspace+"archive/", h.setArchived(true), wire.BlankForm(wire.NoFields),
			wire.AllowArchived),
		wire.Post("workspaces.Unarchive", workspace+"unarchive/", h.setArchived(false), wire.BlankForm(wire.NoFields),
			wire.AllowArchived),
		wire.Get("workspaces.Limits", workspace+"limits/", wire.With(h.w.WorkspaceOfPath, h.workspaceLimits)),
	}
}

// workspaceToAdminister returns the workspace in the path. The caller must be an
// administrator there, with a credential that grants admin mode.
func (h *Handlers) workspaceToAdminister(c *wire.Call) (string, error) {
	id, err := h.w.WorkspaceOfPath(c)
	switch {
	case err != nil:
		return "", err
	case !h.w.AtLeast(id, c.Key.User, world.Admin):
		return "", wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Only administrators change a workspace.")
	case h.w.AccessMode(c.Key, id) < wire.Write:
		return "", c.Key.ReadOnlyRefusal()
	case h.w.AccessMode(c.Key, id) < wire.Admin:
		return "", c.Key.NoAdminRefusal(wire.KindWorkspace)
	}
	return id, nil
}

// ownedWorkspace finds the workspace of a call, which the caller must own.
func (h *Handlers) ownedWorkspace(c *wire.Call) (string, error) {
	id, err := h.workspaceToAdminister(c)
	if err == nil && h.w.OwnerOf(id) != c.Key.User {
		err = wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Only its owner deletes a workspace.")
	}
	return id, err
}

// deleteWorkspace deletes a workspace. The query must repeat its id or folder name.
func (h *Handlers) deleteWorkspace(c *wire.Call, id string) (wire.Object, error) {
	confirm := c.Value("confirm")
	c.Check.MissingIf(confirm == "", "confirm", "The id or the folder name.")
	isIt := confirm == id || strings.EqualFold(confirm, h.w.Workspace(id).Value.FolderName)
	c.Check.InvalidIf(confirm != "" && !isIt, "confirm", "Not the id or the folder name.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	h.writeWorkspaceEvent(c, id, "workspace_deleted")
	h.w.DeleteProfile(id)
	return nil, nil
}

func (h *Handlers) writeWorkspaceEvent(c *wire.Call, id, event string) {
	h.w.WriteEvent(world.Event{Name: event, Workspace: id, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)})
}

// setArchived makes a workspace read-only, or writable again. A repetition changes nothing.
func (h *Handlers) setArchived(archived bool) func(*wire.Call) (wire.Object, error) {
	event := "workspace_unarchived"
	if archived {
		event = "workspace_archived"
	}
	return wire.With(h.workspaceToAdminister, func(c *wire.Call, id string) (wire.Object, error) {
		if w := &h.w.Workspace(id).Value; w.Archived != archived {
			w.Archived = archived
			h.writeWorkspaceEvent(c, id, event)
		}
		return nil, nil
	})
}

// workspaceLimits returns how many shares and members a workspace has, and how many the
// plan allows. The form of the response is assumed.
func (h *Handlers) workspaceLimits(_ *wire.Call, id string) (wire.Object, error) {
	shares := wire.Filter(h.w.ShareIDs(), func(share string) bool { return h.w.Share(share).Value.Workspace == id })
	plan := orgs.PlanNamed(h.w.PlanOf(id).Plan)
	return wire.Object{{"limits", wire.Object{
		{"shares", wire.Object{{"used", len(shares)}, {"limit", plan.Shares}}},
		{"members", wire.Object{{"used", len(h.w.MembersOf(id))}, {"limit", nil}}},
	}}}, nil
}
