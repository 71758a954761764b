package account

import (
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// orgsList answers with the organizations the caller belongs to.
func (h *Handlers) orgsList(c *wire.Call) (wire.Object, error) { return h.orgs(c, true) }

// orgsExternal answers with those reached only through a workspace or a share.
func (h *Handlers) orgsExternal(c *wire.Call) (wire.Object, error) { return h.orgs(c, false) }

func (h *Handlers) orgs(c *wire.Call, member bool) (wire.Object, error) {
	return h.orgsThat(c, func(o world.Org, role world.Role) bool {
		return (role != "") == member && (member || h.guestOf(o.ID, c.Key.User))
	})
}

// orgsAll answers with the organizations the caller belongs to, and with those that asked for it.
func (h *Handlers) orgsAll(c *wire.Call) (wire.Object, error) {
	return h.orgsThat(c, func(o world.Org, role world.Role) bool {
		return role != "" || h.invited(o.ID, c.Key.User)
	})
}

// orgsAvailable answers with those that the caller may join, which are the ones that anybody may.
func (h *Handlers) orgsAvailable(c *wire.Call) (wire.Object, error) {
	return h.orgsThat(c, func(o world.Org, role world.Role) bool { return role == "" && o.Joinable })
}

func (h *Handlers) orgsThat(c *wire.Call, fits func(o world.Org, role world.Role) bool) (wire.Object, error) {
	var ids []string
	for _, id := range h.OrgList {
		if h.Touches(c.Key, id) && fits(h.Orgs[id].Value, h.Role(id, c.Key.User)) {
			ids = append(ids, id)
		}
	}
	return h.List(c, "orgs", ids, h.orgObject)
}

// guestOf reports whether a user reaches something in an organization.
func (h *Handlers) guestOf(orgID, userID string) bool {
	for _, ids := range [...][]string{h.WorkspaceList, h.ShareList} {
		for _, id := range ids {
			if h.OrgOf(id) == orgID && h.Role(id, userID) != "" {
				return true
			}
		}
	}
	return false
}

func (h *Handlers) orgObject(id, viewer string, lv wire.Level) wire.Object {
	o := h.Orgs[id]
	role := h.Role(id, viewer)
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "id", wire.ProfileID(id))
	r.Put(wire.Terse, "domain", o.Value.Domain)
	r.Put(wire.Terse, "name", o.Value.Name)
	r.Put(wire.Terse, "logo", nil)
	r.Put(wire.Standard, "description", wire.Optional(o.Value.Description))
	r.Put(wire.Standard, "owner", wire.OptionalProfile(o.Value.Owner))
	r.Put(wire.Standard, "member", role != "")
	status := userStatus(role)
	if role == "" && h.invited(id, viewer) {
		status = "invited"
	}
	r.Put(wire.Standard, "user_status", status)
	r.Put(wire.Standard, "closed", false)
	r.Put(wire.Standard, "created", wire.Stamp(o.Created))
	r.Put(wire.Standard, "updated", wire.Stamp(o.Created))
	r.Put(wire.Full, "plan", PlanNamed(o.Value.Plan).name)
	r.Put(wire.Full, "accent_color", nil)
	r.Put(wire.Full, "capabilities", wire.Object{{"can_create_workspace", world.Rank(role) >= world.Rank(world.Member)}})
	return r.Fields
}

// invited reports whether a user was asked to join a profile and has not answered.
func (h *Handlers) invited(profileID, userID string) bool {
	v := h.ExpectedAs(profileID, userID)
	return v != nil && v.State == world.InvitePending
}

// userStatus is the caller's standing on a profile.
func userStatus(role world.Role) string {
	if role == "" {
		return "none"
	}
	return string(role)
}

func (h *Handlers) orgDetails(c *wire.Call) (wire.Object, error) {
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	id, err := h.OrgOfPath(c)
	if err != nil {
		return nil, err
	}
	if err := h.mayEnter(c, id); err != nil {
		return nil, err
	}
	return wire.Object{{h.orgKey(), h.orgObject(id, c.Key.User, c.Out.Level)}}, nil
}

// orgMembers lists the members of an organization for one of them.
func (h *Handlers) orgMembers(c *wire.Call) (wire.Object, error) {
	id, err := h.OrgOfPath(c)
	if err != nil {
		return nil, err
	}
	if err := h.mayEnter(c, id); err != nil {
		return nil, err
	}
	if h.Role(id, c.Key.User) == "" {
		return nil, wire.NotMember()
	}
	return h.MemberList(c, id)
}

func (h *Handlers) orgKey() string {
	if h.Options.Account.OrganizationKey {
		return "organization"
	}
	return "org"
}

// orgPublic shows everybody what an organization shows in the open; which members that are is assumed.
func (h *Handlers) orgPublic(c *wire.Call) (wire.Object, error) {
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	id, err := h.OrgOfPath(c)
	if err != nil {
		return nil, err
	}
	o := h.Orgs[id]
	r := wire.Row{Level: c.Out.Level}
	r.Put(wire.Terse, "id", wire.ProfileID(id))
	r.Put(wire.Terse, "domain", o.Value.Domain)
	r.Put(wire.Terse, "name", o.Value.Name)
	r.Put(wire.Terse, "logo", nil)
	r.Put(wire.Standard, "description", wire.Optional(o.Value.Description))
	r.Put(wire.Full, "accent_color", nil)
	return wire.Object{{h.orgKey(), r.Fields}}, nil
}

// mayEnter refuses an organization that credential or user do not reach.
func (h *Handlers) mayEnter(c *wire.Call, orgID string) error {
	switch {
	case !h.Touches(c.Key, orgID):
		return h.OutOfScope(orgID)
	case h.Role(orgID, c.Key.User) == "" && !h.guestOf(orgID, c.Key.User):
		return wire.NotMember()
	default:
		return nil
	}
}
