package workspaces

import (
	"net/http"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/orgs"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// roomRoutes returns the routes of the life of workspaces.
func (h *Handlers) roomRoutes() []*wire.Route {
	const workspace = "/current/workspace/{workspace_id}/"
	return []*wire.Route{
		wire.Delete("workspaces.Delete", workspace+"delete/", wire.With(h.ownRoom, h.deleteRoom),
			wire.Query("confirm"), wire.Archived),
		wire.Post("workspaces.Archive", workspace+"archive/", h.setArchived(true), wire.BlankForm(wire.NoFields),
			wire.Archived),
		wire.Post("workspaces.Unarchive", workspace+"unarchive/", h.setArchived(false), wire.BlankForm(wire.NoFields),
			wire.Archived),
		wire.Get("workspaces.Limits", workspace+"limits/", wire.With(h.w.WorkspaceOfPath, h.roomLimits)),
	}
}

// adminRoom finds the workspace of a call and requires an administrator, with a
// credential that can administer it.
func (h *Handlers) adminRoom(c *wire.Call) (string, error) {
	id, err := h.w.WorkspaceOfPath(c)
	switch {
	case err != nil:
		return "", err
	case !h.w.AtLeast(id, c.Key.User, world.Admin):
		return "", wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Only administrators change a workspace.")
	case h.w.Covers(c.Key, id) < wire.Write:
		return "", c.Key.RefuseWrite()
	case h.w.Covers(c.Key, id) < wire.Admin:
		return "", c.Key.RefuseAdmin(wire.KindWorkspace)
	}
	return id, nil
}

// ownRoom finds the workspace of a call, which the caller must own.
func (h *Handlers) ownRoom(c *wire.Call) (string, error) {
	id, err := h.adminRoom(c)
	if err == nil && h.w.OwnerOf(id) != c.Key.User {
		err = wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Only its owner deletes a workspace.")
	}
	return id, err
}

// deleteRoom deletes a workspace. The query must repeat its id or folder name.
func (h *Handlers) deleteRoom(c *wire.Call, id string) (wire.Object, error) {
	confirm := c.Value("confirm")
	c.Check.MissingIf(confirm == "", "confirm", "The id or the folder name.")
	isIt := confirm == id || strings.EqualFold(confirm, h.w.Workspace(id).Value.FolderName)
	c.Check.InvalidIf(confirm != "" && !isIt, "confirm", "Not the id or the folder name.")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	h.roomEvent(c, id, "workspace_deleted")
	h.w.Forget(id)
	return nil, nil
}

func (h *Handlers) roomEvent(c *wire.Call, id, event string) {
	h.w.WriteEvent(world.Event{Name: event, Workspace: id, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)})
}

// setArchived makes a workspace read-only, or ends that. A repetition changes nothing.
func (h *Handlers) setArchived(archived bool) func(*wire.Call) (wire.Object, error) {
	event := map[bool]string{true: "workspace_archived", false: "workspace_unarchived"}[archived]
	return wire.With(h.adminRoom, func(c *wire.Call, id string) (wire.Object, error) {
		if w := &h.w.Workspace(id).Value; w.Archived != archived {
			w.Archived = archived
			h.roomEvent(c, id, event)
		}
		return nil, nil
	})
}

// roomLimits returns what a workspace uses. Its members are assumed.
func (h *Handlers) roomLimits(_ *wire.Call, id string) (wire.Object, error) {
	shares := wire.Filter(h.w.ShareIDs(), func(share string) bool { return h.w.Share(share).Value.Workspace == id })
	plan := orgs.PlanNamed(h.w.PlanOf(id).Plan)
	return wire.Object{{"limits", wire.Object{
		{"shares", wire.Object{{"used", len(shares)}, {"limit", plan.Shares}}},
		{"members", wire.Object{{"used", len(h.w.MembersOf(id))}, {"limit", nil}}},
	}}}, nil
}
