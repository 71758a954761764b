// Package members emulates the members of organizations, workspaces and shares,
// invitations and transfers.
package members

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/orgs"
	"github.com/fastio-go/fastio/internal/emulator/shares"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	orgs   *orgs.Handlers
	shares *shares.Handlers

	transfers transferState
}

// New returns the handlers of a world.
func New(w *world.World, orgs *orgs.Handlers, shares *shares.Handlers) *Handlers {
	return &Handlers{w: w, orgs: orgs, shares: shares, transfers: transferState{halfway: map[string]string{}}}
}

// Codes of memberships and invitations. Those from 199001 to 199999 are invented.
const (
	codeHigherPlan      = 274701 // measured for a higher plan; that it is sent here is assumed
	codeInviteRole      = 127022
	codeOwnerRole       = 199901
	codeOwnerTarget     = 199902
	codeSelfTarget      = 199903
	codeRoleAbove       = 199904
	codeInvitationLimit = 199905
	codeNotJoinable     = 199908
	codeSuccessor       = 199911
	codeTransferBusy    = 199912
	codeOwnerStays      = 199913
	codeNotOwner        = 199914
	codeNoMember        = 199915
	codeNoInvitation    = 199916
	codeHalfTransfer    = 199917
)

// A kind is a kind of profile with members.
type kind struct {
	path         string // the beginning of paths
	memberFields string // the form fields of a member besides the role
	inviteFields string // the form fields that only an invitation has
}

// Paths of kinds.
const (
	sharePath = "/current/share/{share_id}/"
	orgPath   = "/current/org/{org_id}/"
)

// kinds returns the kinds of profiles with members: the path, and the form fields that
// memberships and invitations have there, besides the role.
func kinds() []kind {
	return []kind{
		{
			path:         sharePath,
			memberFields: "notify_options expires",
			inviteFields: "notification message invitation_expires",
		},
		{
			path:         "/current/workspace/{workspace_id}/",
			memberFields: "notifications expires",
			inviteFields: "notification message invitation_expires",
		},
		{path: orgPath, inviteFields: "message"},
	}
}

// Routes returns the routes of members and invitations.
func (h *Handlers) Routes() []*wire.Route {
	const mine = "/current/user/invitation"
	routes := []*wire.Route{
		wire.Get("members.List", "/current/share/{share_id}/members/list/", wire.With(h.profileOfMember, h.w.MemberList),
			wire.ListParams("share_id")),
		wire.Get("members.List", "/current/workspace/{workspace_id}/members/list/",
			wire.With(h.w.WorkspaceOfPath, h.w.MemberList), wire.ListParams("workspace_id")),
		wire.Get("members.List", "/current/org/{org_id}/members/list/", wire.With(h.orgs.OrgOfMember, h.membersOfOrg),
			wire.ListParams("org_id")),
		wire.Get("account.Invitations.List", mine+"s/list/", h.myInvitations, wire.Query("invitation_key limit offset")),
		wire.Get("account.Invitations.Get", mine+"/{invitation_id}/details/", wire.RefuseInvalid(h.myInvitation)),
		wire.Post("account.Invitations.AcceptAll", mine+"s/acceptall/", h.acceptInvitations,
			wire.OptionalForm("invitation_key")),
	}
	for _, k := range kinds() {
		routes = append(routes, h.routesOf(k)...)
	}
	return routes
}

// routesOf returns the routes of members and invitations of a kind of profile.
func (h *Handlers) routesOf(k kind) []*wire.Route {
	members, member := k.path+"members/", k.path+"member/"
	list, one := members+"invitations/list/", members+"invitation/{invitation_id}/"
	asMember, asManager := h.profileForRole(anyMember), h.profileForRole(h.managingRole)
	asUser := h.profileOfPath(wire.Write)
	joinForm, listParams := wire.BlankForm(wire.NoFields), ""
	updatable := k.memberFields // fields of an invitation that an update may change
	switch k.path {
	case sharePath:
		joinForm = wire.OptionalForm("notify_options")
	case orgPath:
		listParams, updatable = "limit offset", "expires"
	}
	return []*wire.Route{
		wire.Post("members.Add", members+"{email_or_user}/", wire.With(h.profileForRole(h.roleToInvite), h.addMember),
			wire.Form("permissions "+k.memberFields+" "+k.inviteFields)),
		wire.Get("members.Get", member+"{user_id}/details/", wire.With(h.profileOfMember, h.memberDetails)),
		wire.Post("members.Update", member+"{user_id}/update/", wire.With(asMember, h.updateMember),
			wire.Form("permissions "+k.memberFields)),
		wire.Delete("members.Remove", members+"{user_id}/", wire.With(asManager, h.removeMember), wire.AllowArchived),
		wire.Post("members.TransferOwnership", member+"{user_id}/transfer_ownership/",
			wire.With(h.profileOfMember, h.transfer)),
		wire.Delete("members.Leave", member, wire.With(asMember, h.leave), wire.AllowArchived),
		wire.Post("members.Join", members+"join/", wire.With(asUser, h.join), joinForm),
		wire.Post("members.JoinWithKey", members+"join/{invitation_key}/{answer}/",
			wire.With(asUser, h.answerInvitation)),
		wire.Post("members.JoinWithKey", members+"join/{invitation_key}/", wire.With(asUser, h.acceptInvitation)),
		wire.Get("members.Invitations.List", list, wire.With(h.profileOfMember, h.invitations), wire.Query(listParams)),
		wire.Get("members.Invitations.List", list+"{state}/", wire.With(h.profileOfMember, h.invitations),
			wire.Query(listParams)),
		wire.Post("members.Invitations.Update", one, h.updateInvitation, wire.Form("permissions state "+updatable)),
		wire.Delete("members.Invitations.Delete", one, wire.With(h.invitationOfPath(h.managingRole), h.deleteInvitation),
			wire.AllowArchived),
	}
}

// membersOfOrg returns a page of the members of an organization, for its members.
func (h *Handlers) membersOfOrg(c *wire.Call, id string) (wire.Object, error) {
	if h.w.Role(id, c.Key.User) == "" {
		return nil, wire.NotMember()
	}
	return h.w.MemberList(c, id)
}

// profileOf returns the profile in the path, "" if there is none.
func (h *Handlers) profileOf(c *wire.Call) string {
	switch {
	case strings.HasPrefix(c.Route.Pattern, "/current/share/"):
		return h.w.ShareNamed(c.Segment("share_id"))
	case strings.HasPrefix(c.Route.Pattern, "/current/workspace/"):
		return h.w.WorkspaceNamed(c.Segment("workspace_id"), c.Key.User)
	}
	id, _ := h.w.OrgOfPath(c)
	return id
}

// profileOfMember returns the profile in the path, of which the caller must be a member.
func (h *Handlers) profileOfMember(c *wire.Call) (string, error) {
	id, err := h.profileOfPath(wire.Read)(c)
	return id, cmp.Or(err, h.w.RefuseUnreadable(c.Key, world.Venue{Profile: id}))
}

// profileOfPath returns a function that finds the profile in the path. The credential must
// grant the needed mode on it, but the caller need not be a member. It refuses what is
// closed to the caller and, to a call that writes, an archived workspace.
func (h *Handlers) profileOfPath(needed wire.Mode) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		id := h.profileOf(c)
		if id == "" {
			return "", wire.NoProfile()
		}
		switch reach := h.w.AccessMode(c.Key, id); {
		case reach < wire.Read:
			return "", h.w.OutOfScopeRefusal(id)
		case reach < needed:
			return "", c.Key.ReadOnlyRefusal()
		case h.w.ClosedTo(id, c.Key.User):
			return "", world.NoShareAccess(world.CodeNoView)
		case h.w.OrgClosed(id):
			return "", world.ClosedOrgRefusal()
		case needed == wire.Write:
			return id, h.w.RefuseArchived(id)
		}
		return id, nil
	}
}

// profileForRole returns a function that finds the profile in the path. The caller must
// have at least the role that least returns for it.
func (h *Handlers) profileForRole(least func(id string) world.Role) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		id, err := h.profileOfMember(c)
		if err != nil {
			return "", err
		}
		switch {
		case h.w.AccessMode(c.Key, id) < wire.Write:
			return "", c.Key.ReadOnlyRefusal()
		case !h.w.AtLeast(id, c.Key.User, least(id)):
			return "", roleTooLow()
		}
		return id, nil
	}
}

// anyMember returns the lowest role, for calls that every member may make.
func anyMember(string) world.Role { return world.View }

// managingRole returns the lowest role that may manage the members of a profile.
func (h *Handlers) managingRole(id string) world.Role {
	setting := "Admin or above"
	switch h.w.KindOf(id) {
	case wire.KindOrg:
		setting = h.w.Org(id).Value.ManageMembers
	case wire.KindWorkspace:
		setting = h.w.Workspace(id).Value.ManageMembers
	}
	switch setting {
	case "Owner only":
		return world.Owner
	case "Admin or above":
		return world.Admin
	}
	return world.Member
}

// roleToInvite returns the lowest role that may add members to a profile.
func (h *Handlers) roleToInvite(id string) world.Role {
	if share := h.w.Share(id); share != nil && share.Value.Invite == shares.InviteGuests {
		return world.Guest
	}
	return h.managingRole(id)
}

// roleTooLow returns the refusal of a caller whose role is too low.
func roleTooLow() error {
	return wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Your role in this profile does not allow this.")
}

// memberDetails returns a member of a profile, or one who is invited. The name of the
// JSON member around it is an option; "-" means none.
func (h *Handlers) memberDetails(c *wire.Call, id string) (wire.Object, error) {
	user := h.memberNamed(id, c)
	if user == "" {
		return nil, noMember()
	}
	row := h.w.MemberObject(id, user, c.Key.User)
	key := cmp.Or(h.w.Options.Shares.MemberKey, "member")
	if key == "-" {
		return row, nil
	}
	return wire.Object{{key, row}}, nil
}

// memberNamed returns the id of the member or invited user whom the path names, "" if
// there is none. The path has an id, an e-mail address or me.
func (h *Handlers) memberNamed(profileID string, c *wire.Call) string {
	name := c.Segment("user_id")
	if name == "me" {
		name = c.Key.User
	}
	if id := h.w.UserNamed(name); id != "" {
		name = id
	}
	if h.w.Membership(profileID, name) != nil || h.w.InvitationOfGuest(profileID, name) != nil {
		return name
	}
	for _, inv := range h.w.OpenInvitations(profileID) {
		if strings.EqualFold(inv.Email, name) {
			return h.w.GuestID(inv)
		}
	}
	return ""
}

// noMember returns the refusal of a path to a user who is not a member.
func noMember() error { return wire.NoSuch(codeNoMember, "member") }

// updateMember changes the role, notifications and expiry of a member or, apart from the
// expiry, of one who is invited.
func (h *Handlers) updateMember(c *wire.Call, id string) (wire.Object, error) {
	terms := h.readTerms(c, id, clearsExpiry)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if terms.role == world.Owner { // ignored: ownership is transferred otherwise
		terms.role = ""
	}
	user := h.memberNamed(id, c)
	switch inv := h.w.InvitationOfGuest(id, user); {
	case h.w.Membership(id, user) != nil:
		return nil, h.changeMembership(c, id, user, terms)
	case inv == nil:
		return nil, noMember()
	case !h.w.AtLeast(id, c.Key.User, h.managingRole(id)):
		return nil, roleTooLow()
	default:
		terms.expires = nil // a membership that has not begun has no end
		return nil, h.setTerms(c, inv, terms)
	}
}

// changeMembership updates a membership. Members may change their own notifications;
// everything else requires the role that manages members, and a role not below the
// member's.
func (h *Handlers) changeMembership(c *wire.Call, id, user string, terms conditions) error {
	m, rank := h.w.Membership(id, user), world.Rank(h.w.Role(id, c.Key.User))
	mayManage := rank >= world.Rank(h.managingRole(id))
	onlyOwnNotify := user == c.Key.User && terms.role == "" && terms.expires == nil
	switch {
	case !mayManage && !onlyOwnNotify, rank < world.Rank(m.Role):
		return roleTooLow()
	case m.Role == world.Owner && !onlyOwnNotify:
		return ownerStays("The owner stays until the ownership is transferred.")
	}
	if err := h.refuseRole(id, c.Key.User, terms.role); err != nil {
		return err
	}
	if terms.widens(m.Role, m.Expires) {
		if err := h.w.RefuseByOutsiderPolicy(id, user); err != nil {
			return err
		}
	}
	m.Role, m.Notify = cmp.Or(terms.role, m.Role), cmp.Or(terms.notify, m.Notify)
	if terms.expires != nil {
		h.w.EndMembershipAt(id, user, *terms.expires)
	}
	h.w.WriteMembership("membership_updated", id, user, c.Key.User, h.w.ActorOf(c.Key))
	return nil
}

func ownerStays(text string) error {
	return wire.Refuse(http.StatusNotAcceptable, codeOwnerStays, text)
}

// removeMember ends a membership, or revokes the invitation of a pending member.
func (h *Handlers) removeMember(c *wire.Call, id string) (wire.Object, error) {
	user := h.memberNamed(id, c)
	switch inv := h.w.InvitationOfGuest(id, user); {
	case h.w.DirectRole(id, user) == world.Owner:
		return nil, ownerStays("The owner cannot be removed.")
	case h.w.Membership(id, user) != nil:
		h.w.EndMembership(id, user, c.Key.User, h.w.ActorOf(c.Key))
	case inv != nil:
		h.w.DropInvitation(inv)
	default:
		return nil, noMember()
	}
	return nil, nil
}

// leave ends the membership of the caller, who must not be the owner.
func (h *Handlers) leave(c *wire.Call, id string) (wire.Object, error) {
	switch user := c.Key.User; h.w.DirectRole(id, user) {
	case "":
		return nil, wire.NotMember() // a role that comes from the organization cannot be left here
	case world.Owner:
		return nil, ownerStays("Transfer the ownership before you leave.")
	default:
		h.w.EndMembership(id, user, user, h.w.ActorOf(c.Key))
	}
	return nil, nil
}

// join makes the caller a member of a profile that is open to the caller. Members
// keep their role. An invitation to an organization is accepted with its role. An
// invitation to a workspace or share does not count: the caller gets the role Member.
func (h *Handlers) join(c *wire.Call, id string) (wire.Object, error) {
	notify := readNotification(c, "notify_options")
	if err := cmp.Or(c.Check.Err(), h.refuseJoin(id, c.Key.User)); err != nil {
		return nil, err
	}
	if m := h.w.Membership(id, c.Key.User); m != nil {
		m.Notify = cmp.Or(notify, m.Notify)
		return nil, nil
	}
	if inv := h.w.InvitationOfGuest(id, c.Key.User); inv != nil && h.w.KindOf(id) == wire.KindOrg {
		return nil, h.w.Redeem(inv, c.Key.User, h.w.Joiner(c.Key))
	}
	if err := cmp.Or(h.w.RefuseOutsider(id, c.Key.User, world.Member), h.refuseWithoutSeat(id, c.Key.User)); err != nil {
		return nil, err
	}
	h.w.Enroll(id, c.Key.User, world.Member, notify, h.w.Joiner(c.Key))
	return nil, nil
}

// refuseJoin returns a refusal if a user may not join a profile. Members of an organization
// or workspace may call join again.
func (h *Handlers) refuseJoin(id, user string) error {
	var open bool
	isMember := h.w.Membership(id, user) != nil
	switch h.w.KindOf(id) {
	case wire.KindOrg:
		o := h.w.Org(id).Value
		mayAccept := !o.Closed && h.w.InvitationOfGuest(id, user) != nil
		open = isMember || h.orgs.IsOpenTo(o, user) || mayAccept
	case wire.KindWorkspace: // open to a role in its organization
		w := h.w.Workspace(id).Value
		open = isMember || h.w.AtLeast(w.Org, user, world.RoleToJoin(w.Join))
	default: // a share, open by its access option
		share := &h.w.Share(id).Value
		if access := share.AccessOption(); access != world.AccessMembers && access != world.AccessOrg {
			return wire.Refuse(http.StatusNotAcceptable, codeNotJoinable,
				"The share is not one to join without an invitation.")
		}
		open = h.shares.Joinable(share, user)
	}
	if !open {
		return wire.NotMember()
	}
	return nil
}

// refuseWithoutSeat returns an error if the plan of an organization has no seat left
// for a new member. Invitations take seats as well, so that a user who is invited needs
// no other.
func (h *Handlers) refuseWithoutSeat(id, user string) error {
	hasSeat := h.w.Membership(id, user) != nil || user != "" && h.w.InvitationOfGuest(id, user) != nil
	if h.w.KindOf(id) != wire.KindOrg || hasSeat {
		return nil
	}
	if err := h.orgs.RefuseUnsubscribed(id); err != nil {
		return err
	}
	taken := len(h.w.MembersOf(id)) + len(h.w.OpenInvitations(id))
	if most := orgs.PlanNamed(h.w.Org(id).Value.Plan).Seats; most == 0 || taken < most {
		return nil
	}
	return wire.Refuse(http.StatusPaymentRequired, codeHigherPlan, "Upgrade Required: the plan has no seat left.")
}

// transfer makes another member the owner. The successor is promoted first, so that a
// share always has an owner. By the option HalfTransfers, the first transfers stop after
// the promotion; repeating the call completes them.
func (h *Handlers) transfer(c *wire.Call, id string) (wire.Object, error) {
	owner, successor := c.Key.User, h.memberNamed(id, c)
	if err := h.refuseTransfer(c, id, successor); err != nil {
		return nil, err
	}
	m := h.w.Membership(id, successor)
	m.Role = world.Owner
	never := time.Time{} // an owner stays
	h.w.EndMembershipAt(id, successor, never)
	if h.transfers.halved < h.w.Options.Shares.HalfTransfers && h.transfers.halfway[id] == "" {
		h.transfers.halved++
		h.transfers.halfway[id] = successor
		return nil, wire.Refuse(http.StatusInternalServerError, codeHalfTransfer, "The transfer stopped half-way. Repeat it.")
	}
	delete(h.transfers.halfway, id)
	h.w.Membership(id, owner).Role = world.Admin
	if o := h.w.Org(id); o != nil {
		o.Value.Owner = successor
	}
	h.writeTransfer(c, id, successor)
	return wire.Object{{"ownership", wire.Object{
		{"profile_id", wire.ProfileID(id)},
		{"profile_type", h.w.KindOf(id)},
		{"previous_owner", wire.ProfileID(owner)},
		{"new_owner", wire.ProfileID(successor)},
		{"transferred_at", wire.Stamp(h.w.Now().Unix())},
	}}}, nil
}

type transferState struct {
	halved, busy int               // of the options, so far
	halfway      map[string]string // who was promoted, by profile
}

// refuseTransfer returns a refusal of a transfer to a successor: if the credential lacks
// admin mode, the caller is not the owner, another transfer is under way, or the
// successor is the caller, no member or disabled.
func (h *Handlers) refuseTransfer(c *wire.Call, id, successor string) error {
	unfit := func(reason, text string) error {
		return wire.RefuseWithReason(http.StatusNotAcceptable, codeSuccessor, reason, text)
	}
	promoted := h.transfers.halfway[id] // by a transfer that stopped half-way: only its repetition completes it
	otherIsHalfway := promoted != "" && promoted != successor
	switch {
	case h.w.AccessMode(c.Key, id) < wire.Admin:
		return c.Key.NoAdminRefusal(h.w.KindOf(id))
	case h.w.DirectRole(id, c.Key.User) != world.Owner:
		return wire.Refuse(http.StatusUnauthorized, codeNotOwner, "You are not the owner, or not any more.")
	case h.simulatesConflict(), otherIsHalfway:
		return wire.RefuseWithReason(http.StatusConflict, codeTransferBusy, "transfer_in_progress",
			"Another transfer is under way.")
	case successor == c.Key.User:
		return unfit("successor_is_self", "You are the owner already.")
	case h.w.Membership(id, successor) == nil:
		return unfit("successor_not_member", "Only a member can become the owner.")
	case !h.w.Enabled(successor):
		return unfit("successor_unavailable", "The account of the successor is not enabled.")
	}
	return nil
}

// simulatesConflict reports whether a transfer must fail as if another one were under way.
// The option TransferConflicts is how many of the first transfers fail so; busy counts them.
func (h *Handlers) simulatesConflict() bool {
	t := &h.transfers
	if t.busy >= h.w.Options.Shares.TransferConflicts {
		return false
	}
	t.busy++
	return true
}

// writeTransfer writes the events of a transfer of the ownership from the caller to the
// successor.
func (h *Handlers) writeTransfer(c *wire.Call, id, successor string) {
	owner, actor := c.Key.User, h.w.ActorOf(c.Key)
	h.w.EventIn(id, world.Event{
		Name: "ownership_transferred", Category: h.w.KindOf(id), User: successor, CallingUser: owner, Actor: actor,
		Extra: map[string]any{"profile_type": h.w.KindOf(id), "from_user": owner, "to_user": successor},
	})
	h.w.WriteMembership("membership_updated", id, successor, owner, actor)
	h.w.WriteMembership("membership_updated", id, owner, owner, actor)
}
