package world

import (
	"math"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// OrgOfPath finds the organization a path names by id or domain.
func (w *Directory) OrgOfPath(c *wire.Call) (string, error) {
	if id := w.orgNamed(c.Segment("org_id")); id != "" {
		return id, nil
	}
	return "", wire.NoProfile()
}

// orgNamed finds an organization by id or domain, "" for none.
func (w *Directory) orgNamed(name string) string {
	for _, id := range w.OrgList {
		if id == name || strings.EqualFold(w.Orgs[id].Value.Domain, name) {
			return id
		}
	}
	return ""
}

// WorkspaceNamed finds a workspace by id or folder name, one of the caller's own first.
func (w *Directory) WorkspaceNamed(name, userID string) string {
	found := ""
	for _, id := range w.WorkspaceList {
		if id != name && !strings.EqualFold(w.Workspaces[id].Value.FolderName, name) {
			continue
		}
		if w.Role(id, userID) != "" {
			return id
		}
		found = id
	}
	return found
}

// UserOf finds a user by e-mail address, "" for none.
func (w *Directory) UserOf(email string) string {
	for id, u := range w.Users {
		if strings.EqualFold(u.Value.Email, email) {
			return id
		}
	}
	return ""
}

// WorkspaceOfPath finds the workspace that a path names, if the caller may look at it.
func (w *Directory) WorkspaceOfPath(c *wire.Call) (string, error) {
	id := w.WorkspaceNamed(c.Segment("workspace_id"), c.Key.User)
	if id == "" {
		return "", wire.NoProfile()
	}
	return id, w.MayLook(c.Key, Venue{Profile: id})
}

// ProfileOfPath reads a profile from the path: its id, its custom name or me.
func (w *Directory) ProfileOfPath(c *wire.Call) string {
	if id := w.profileNamed(c.Segment("profile_id"), c.Key.User); id != "" {
		return id
	}
	return c.ProfileSegment("profile_id")
}

// List pages through profiles.
func (w *Directory) List(
	c *wire.Call, key string, ids []string, render func(id, viewer string, lv wire.Level) wire.Object,
) (wire.Object, error) {
	limit := c.Integer("limit", wire.ListDefault, 1, wire.ListLimit)
	offset := c.Integer("offset", 0, 0, math.MaxInt32)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	first := min(offset, len(ids))
	last := min(first+limit, len(ids))
	rows := make([]wire.Object, 0, last-first)
	for _, id := range ids[first:last] {
		rows = append(rows, render(id, c.Key.User, c.Out.Level))
	}
	return wire.Object{{key, rows}, {"pagination", wire.Object{
		{"total", len(ids)},
		{"limit", limit},
		{"offset", offset},
		{"has_more", last < len(ids)},
	}}}, nil
}
