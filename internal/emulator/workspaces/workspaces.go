// Package workspaces emulates workspaces.
package workspaces

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fastio-go/fastio/internal/emulator/orgs"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of workspaces.
type Handlers struct {
	w    *world.World
	orgs *orgs.Handlers
}

// New returns the handlers of a world.
func New(w *world.World, o *orgs.Handlers) *Handlers { return &Handlers{w, o} }

// Codes of workspaces, all of them invented.
const (
	codeFolderName = 199951
	codeNoAIPlan   = 199952
	codeSpaceQuota = 199953
)

// Routes returns the routes of workspaces.
func (h *Handlers) Routes() []*wire.Route {
	const org, workspace = "/current/org/{org_id}/", "/current/workspace/{workspace_id}/"
	return append(h.lifecycleRoutes(),
		wire.Get("workspaces.List", "/current/workspaces/all/", h.workspacesAll, wire.ListParams()),
		wire.Get("workspaces.ListByOrg", org+"list/workspaces/", wire.With(h.orgs.OrgOfMember, h.workspacesOfOrg),
			wire.Query("archived"), wire.ListParams("org_id")),
		wire.Get("workspaces.ListAvailable", "/current/workspaces/available/", h.workspacesAvailable, wire.ListParams()),
		wire.Get("workspaces.CheckName", "/current/workspaces/check/name/{name}/", h.checkWorkspaceName,
			wire.Query("check_org_id")),
		wire.Post("workspaces.Create", org+"create/workspace/",
			wire.With(h.orgs.OrgForRole(world.Member, wire.Write), h.createWorkspace), wire.Form(workspaceFields)),
		wire.Get("workspaces.Get", workspace+"details/",
			wire.RefuseInvalid(wire.With(h.w.WorkspaceOfPath, h.workspaceDetails)), wire.ProfileParams("workspace_id")),
		wire.Post("workspaces.Update", workspace+"update/", wire.With(h.workspaceToAdminister, h.updateWorkspace),
			wire.Form(workspaceFields+" owner_defined")),
	)
}

// workspacesAll returns a page of the workspaces of the caller in all organizations.
func (h *Handlers) workspacesAll(c *wire.Call) (wire.Object, error) {
	return h.w.List(c, "workspaces", h.workspacesOf(c.Key, anyOrg), h.workspaceObject)
}

// workspacesOfOrg returns a page of the caller's workspaces in an organization: either
// the archived or the other ones.
func (h *Handlers) workspacesOfOrg(c *wire.Call, id string) (wire.Object, error) {
	archived := c.Boolean("archived")
	ids := slices.DeleteFunc(h.workspacesOf(c.Key, id),
		func(id string) bool { return h.w.Workspace(id).Value.Archived != archived })
	return h.w.List(c, "workspaces", ids, h.workspaceObject)
}

const anyOrg = "" // in workspacesOf

// workspacesOf returns the workspaces of an organization that a credential covers and
// its user is a member of.
func (h *Handlers) workspacesOf(k *wire.Credential, orgID string) []string {
	return wire.Filter(h.w.WorkspaceIDs(), func(id string) bool {
		inside := orgID == anyOrg || h.w.Workspace(id).Value.Org == orgID
		return inside && h.w.Role(id, k.User) != "" && h.w.AccessMode(k, id) != wire.NoAccess
	})
}

// workspaceObject renders a workspace for a user, whose role in it is user_status.
func (h *Handlers) workspaceObject(id, viewer string, lv wire.Level) wire.Object {
	w := h.w.Workspace(id)
	role := h.w.Role(id, viewer)
	domain := h.w.PlanOf(id).Domain
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "id", wire.ProfileID(id))
	r.Put(wire.Terse, "name", w.Value.Name)
	r.Put(wire.Terse, "folder_name", w.Value.FolderName)
	r.Put(wire.Terse, "org_domain", wire.TextOrNull(domain))
	r.Put(wire.Terse, "user_status", cmp.Or(string(role), "none"))
	r.Put(wire.Standard, "description", wire.TextOrNull(w.Value.Description))
	r.Put(wire.Standard, "org_id", wire.ProfileOrNull(w.Value.Org))
	r.Put(wire.Standard, "owner", wire.ProfileOrNull(h.w.OwnerOf(id)))
	r.Put(wire.Standard, "archived", w.Value.Archived)
	r.Put(wire.Standard, "created", wire.Stamp(w.Created))
	r.Put(wire.Standard, "updated", wire.Stamp(w.Created)) // the time of a change is not kept
	r.Put(wire.Full, "logo", h.w.AssetAddress(id, "logo"))
	r.Put(wire.Full, "intelligence", !w.Value.NoIntelligence)
	r.Put(wire.Full, "metadata_extraction", !w.Value.NoExtraction)
	r.Put(wire.Full, "accent_color", wire.Parsed(w.Value.AccentColor))
	r.Put(wire.Full, "background_color1", wire.Parsed(w.Value.BackgroundColor1))
	r.Put(wire.Full, "background_color2", wire.Parsed(w.Value.BackgroundColor2))
	r.Put(wire.Full, "owner_defined", wire.Parsed(w.Value.OwnerDefined))
	r.Put(wire.Full, "perm_join", cmp.Or(w.Value.Join, world.MemberOrAbove))
	r.Put(wire.Full, "perm_member_manage", cmp.Or(w.Value.ManageMembers, world.MemberOrAbove))
	r.Put(wire.Full, "capabilities", wire.Object{
		{"can_create_share", world.Rank(role) >= world.Rank(world.Member) && h.w.AllowsSharing(id)},
		{"can_publish_agent_chat", false}, // the platform lets no one publish
	})
	return r.Fields
}

// workspaceDetails returns a workspace.
func (h *Handlers) workspaceDetails(c *wire.Call, id string) (wire.Object, error) {
	return wire.Object{{"workspace", h.workspaceObject(id, c.Key.User, c.Out.Level)}}, nil
}

// workspacesAvailable returns a page of the workspaces that the caller may join by a role
// in their organization, and is not in.
func (h *Handlers) workspacesAvailable(c *wire.Call) (wire.Object, error) {
	ids := wire.Filter(h.w.WorkspaceIDs(), func(id string) bool {
		w := h.w.Workspace(id).Value
		return h.w.Role(id, c.Key.User) == "" && h.w.AccessMode(c.Key, id) != wire.NoAccess &&
			h.w.AtLeast(w.Org, c.Key.User, world.RoleToJoin(w.Join))
	})
	return h.w.List(c, "workspaces", ids, h.workspaceObject)
}

// checkWorkspaceName accepts a folder name that a new workspace could have. For an
// organization, it suggests one that begins with the ID of the organization. The form
// of the responses is assumed.
func (h *Handlers) checkWorkspaceName(c *wire.Call) (wire.Object, error) {
	name := c.Segment("name")
	h.checkFolderName(c, "name", name)
	org := c.Value("check_org_id")
	c.Check.InvalidIf(org != "" && h.w.Org(org) == nil, "check_org_id", "There is no such organization.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	var suggestion wire.Object
	taken := folderTakenRefusal()
	if org != "" {
		suggestion = wire.Object{{"suggestion", h.suggestFolder(org + "-" + name)}}
		taken.Params = suggestion
	}
	if h.isFolderTaken(name, noException) {
		return nil, taken
	}
	return c.Accepted(suggestion)
}

// suggestFolder returns a free folder name: the given one or, if that is taken, with a
// number, cut to the length that folder names may have.
func (h *Handlers) suggestFolder(name string) string {
	runes := []rune(name)
	tail := "" // the first candidate is the name itself
	for next := 2; ; next++ {
		candidate := string(runes[:min(len(runes), folderMost-len(tail))]) + tail
		if !h.isFolderTaken(candidate, noException) {
			return candidate
		}
		tail = "-" + strconv.Itoa(next)
	}
}

const noException = "" // in isFolderTaken: no workspace is excepted

// isFolderTaken reports whether another workspace than the one with the ID except has a
// folder name.
func (h *Handlers) isFolderTaken(name, except string) bool {
	return slices.ContainsFunc(h.w.WorkspaceIDs(), func(id string) bool {
		return id != except && strings.EqualFold(h.w.Workspace(id).Value.FolderName, name)
	})
}

// folderTakenRefusal returns the refusal of a folder name that is taken.
func folderTakenRefusal() *wire.Refusal {
	return wire.Refuse(http.StatusNotAcceptable, codeFolderName, "The folder name is in use.")
}

// createWorkspace creates a workspace of an organization. That the response has the
// workspace is assumed.
func (h *Handlers) createWorkspace(c *wire.Call, org string) (wire.Object, error) {
	made := world.Workspace{Org: org, NoIntelligence: h.w.LacksIntelligence()}
	h.readWorkspace(c, &made, creating)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if h.isFolderTaken(made.FolderName, noException) {
		return nil, folderTakenRefusal()
	}
	if err := h.orgs.RefuseUnsubscribed(org); err != nil {
		return nil, err
	}
	inOrg := wire.Filter(h.w.WorkspaceIDs(), func(id string) bool { return h.w.Workspace(id).Value.Org == org })
	if most := orgs.PlanNamed(h.w.Org(org).Value.Plan).Workspaces; most > 0 && len(inOrg) >= most {
		return nil, wire.Refuse(http.StatusPreconditionFailed, codeSpaceQuota,
			"Feature Limit: the plan has no room for another workspace.")
	}
	made = h.w.NewWorkspace(made)
	h.w.PutMember(made.ID, c.Key.User, world.Owner)
	h.w.WriteEvent(world.Event{Name: "workspace_created", Workspace: made.ID, CallingUser: c.Key.User})
	return wire.Object{{"workspace", h.workspaceObject(made.ID, c.Key.User, c.Out.Level)}}, nil
}

// updateWorkspace changes the given fields of a workspace. If intelligence is turned
// off, the index of its files is deleted.
func (h *Handlers) updateWorkspace(c *wire.Call, id string) (wire.Object, error) {
	w := h.w.Workspace(id)
	changed := w.Value
	h.readWorkspace(c, &changed, updating)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if h.isFolderTaken(changed.FolderName, id) {
		return nil, folderTakenRefusal()
	}
	intelligent := !changed.NoIntelligence
	changed.NoIntelligence = w.Value.NoIntelligence // SetIntelligence changes it, with the index
	w.Value = changed
	h.w.SetIntelligence(id, c.Key.User, intelligent)
	h.w.WriteEvent(world.Event{Name: "workspace_updated", Workspace: id, CallingUser: c.Key.User})
	return nil, nil
}

// Lengths in characters.
const (
	folderLeast, folderMost           = 4, 80
	nameLeast, nameMost               = 2, 100
	descriptionLeast, descriptionMost = 10, 1000
)

const workspaceFields = "folder_name name description intelligence metadata_extraction perm_join perm_member_manage " +
	"accent_color background_color1 background_color2"

// Whether the fields are those of a new workspace, which must have some of them.
const (
	creating = true
	updating = false
)

// readWorkspace reads the fields of a workspace into w. If isNew is true, some of them
// are required.
func (h *Handlers) readWorkspace(c *wire.Call, w *world.Workspace, isNew bool) {
	if name, given := c.Field("folder_name"); given || isNew {
		h.checkFolderName(c, "folder_name", name)
		c.Check.InvalidIf(name == wire.Null, "folder_name", "It cannot be cleared.")
		w.FolderName = name
	}
	if name, given := c.Field("name"); given || isNew {
		c.Check.Text("name", name, nameLeast, nameMost)
		c.Check.InvalidIf(name == wire.Null, "name", "It cannot be cleared.")
		w.Name = name
	}
	switch text, given := c.Field("description"); {
	case !given:
	case !isNew && wire.Cleared(text): // unlike the names, it can be cleared, by "" or "null"
		w.Description = ""
	default:
		c.Check.Text("description", text, descriptionLeast, descriptionMost)
		w.Description = text
	}
	h.readFeatures(c, w)
	for _, name := range [...]string{"perm_join", "perm_member_manage"} { // there is no default
		if _, given := c.Field(name); isNew && !given {
			c.Check.Missing(name, "Name the roles that may do this.")
		}
	}
	wire.OneOf(c, "perm_join", &w.Join, world.OrgOwnersOnly, world.AdminOrAbove, world.MemberOrAbove)
	wire.OneOf(c, "perm_member_manage", &w.ManageMembers, world.AdminOrAbove, world.MemberOrAbove)
	wire.JSONText(c, "accent_color", &w.AccentColor)
	wire.JSONText(c, "background_color1", &w.BackgroundColor1)
	wire.JSONText(c, "background_color2", &w.BackgroundColor2)
	if !isNew { // the platform reads it in updates only
		wire.JSONText(c, "owner_defined", &w.OwnerDefined)
	}
}

// readFeatures reads the fields that turn the index and the extraction of facts on or
// off. The index requires a plan that has one.
func (h *Handlers) readFeatures(c *wire.Call, w *world.Workspace) {
	if text, given := c.Field("intelligence"); given {
		w.NoIntelligence = !c.Check.ReadBoolean("intelligence", text)
		if !w.NoIntelligence && h.w.LacksIntelligence() {
			c.Check.Add("intelligence", "invalid",
				"The plan does not have "+world.FeatureAI+" and "+world.FeatureAgent+".",
				codeNoAIPlan)
		}
	}
	if text, given := c.Field("metadata_extraction"); given {
		w.NoExtraction = !c.Check.ReadBoolean("metadata_extraction", text)
	}
}

// checkFolderName adds an error for a folder name that is too short or long, or has other
// characters than letters, digits and hyphens.
func (h *Handlers) checkFolderName(c *wire.Call, field, name string) {
	other := func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.In(r, unicode.N) }
	if isText := c.Check.Text(field, name, folderLeast, folderMost); isText {
		c.Check.InvalidIf(strings.ContainsFunc(name, other), field, "Letters, digits and hyphens.")
	}
}
