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
	path     string // the beginning of paths
	settings string // the fields of the settings of a member besides its role
	offer    string // the fields of an invitation, besides those of its member
}

// kinds returns the kinds of profiles with members.
func kinds() []kind {
	return []kind{
		{"/current/share/{share_id}/", " notify_options expires", " notification message invitation_expires"},
		{"/current/workspace/{workspace_id}/", " notifications expires", " notification message invitation_expires"},
		{"/current/org/{org_id}/", "", " message"},
	}
}

// Routes returns the routes of members and invitations.
func (h *Handlers) Routes() []*wire.Route {
	const mine = "/current/user/invitation"
	routes := []*wire.Route{
		wire.Get("members.List", "/current/share/{share_id}/members/list/", wire.With(h.membered, h.w.MemberList),
			wire.Paged("share_id")),
		wire.Get("members.List", "/current/workspace/{workspace_id}/members/list/",
			wire.With(h.w.WorkspaceOfPath, h.w.MemberList), wire.Paged("workspace_id")),
		wire.Get("members.List", "/current/org/{org_id}/members/list/", wire.With(h.orgs.Entered, h.membersOfOrg),
			wire.Paged("org_id")),
		wire.Get("account.Invitations.List", mine+"s/list/", h.myInvitations, wire.Query("invitation_key limit offset")),
		wire.Get("account.Invitations.Get", mine+"/{invitation_id}/details/", wire.Checked(h.myInvitation)),
		wire.Post("account.Invitations.AcceptAll", mine+"s/acceptall/", h.acceptInvitations,
			wire.OptionalForm("invitation_key")),
	}
	for _, k := range kinds() {
		routes = append(routes, h.routesOf(k)...)
	}
	return routes
}

// routesOf returns the routes of a kind of profile.
func (h *Handlers) routesOf(k kind) []*wire.Route {
	members, member := k.path+"members/", k.path+"member/"
	list, one := members+"invitations/list/", members+"invitation/{invitation_id}/"
	self, manager, reached := h.managed(anyone), h.managed(h.managingRole), h.reached(wire.Write)
	// The fields that a call to join, the list and an update of invitations accept.
	join, query, updatable := wire.BlankForm(wire.NoFields), "", k.settings
	switch k.path {
	case "/current/share/{share_id}/":
		join = wire.OptionalForm("notify_options")
	case "/current/org/{org_id}/":
		query, updatable = "limit offset", " expires"
	}
	return []*wire.Route{
		wire.Post("members.Add", members+"{email_or_user}/", wire.With(h.managed(h.inviters), h.addMember),
			wire.Form("permissions"+k.settings+k.offer)),
		wire.Get("members.Get", member+"{user_id}/details/", wire.With(h.membered, h.member)),
		wire.Post("members.Update", member+"{user_id}/update/", wire.With(self, h.updateMember),
			wire.Form("permissions"+k.settings)),
		wire.Delete("members.Remove", members+"{user_id}/", wire.With(manager, h.removeMember), wire.Archived),
		wire.Post("members.TransferOwnership", member+"{user_id}/transfer_ownership/",
			wire.With(h.membered, h.transfer)),
		wire.Delete("members.Leave", member, wire.With(self, h.leave), wire.Archived),
		wire.Post("members.Join", members+"join/", wire.With(reached, h.join), join),
		wire.Post("members.JoinWithKey", members+"join/{invitation_key}/{answer}/",
			wire.With(reached, h.answerInvitation)),
		wire.Get("members.Invitations.List", list, wire.With(h.membered, h.invitations), wire.Query(query)),
		wire.Get("members.Invitations.List", list+"{state}/", wire.With(h.membered, h.invitations), wire.Query(query)),
		wire.Post("members.Invitations.Update", one, h.updateInvitation, wire.Form("permissions state"+updatable)),
		wire.Delete("members.Invitations.Delete", one, wire.With(h.invitationOfPath(h.managingRole), h.deleteInvitation),
			wire.Archived),
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

// membered returns the profile in the path, of which the caller must be a member.
func (h *Handlers) membered(c *wire.Call) (string, error) {
	id, err := h.reached(wire.Read)(c)
	return id, cmp.Or(err, h.w.RefuseUnreadable(c.Key, world.Venue{Profile: id}))
}

// reached returns a function that finds the profile in the path. The credential must
// grant the mode needed on it, but the caller need not be a member.
func (h *Handlers) reached(needed wire.Mode) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		id := h.profileOf(c)
		if id == "" {
			return "", wire.NoProfile()
		}
		switch reach := h.w.Covers(c.Key, id); {
		case reach < wire.Read:
			return "", h.w.OutOfScope(id)
		case reach < needed:
			return "", c.Key.RefuseWrite()
		case h.w.ShutOut(id, c.Key.User):
			return "", world.Unseen(world.CodeNoView)
		case h.w.Closed(id):
			return "", world.ClosedOrg()
		case needed == wire.Write:
			return id, h.w.RefuseArchived(id)
		}
		return id, nil
	}
}

// managed returns a function that finds the profile in the path. The caller must have
// at least the role that least returns for it.
func (h *Handlers) managed(least func(id string) world.Role) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		id, err := h.membered(c)
		if err != nil {
			return "", err
		}
		switch {
		case h.w.Covers(c.Key, id) < wire.Write:
			return "", c.Key.RefuseWrite()
		case !h.w.AtLeast(id, c.Key.User, least(id)):
			return "", roleTooLow()
		}
		return id, nil
	}
}

// anyone returns the lowest role, for calls that every member may make.
func anyone(string) world.Role { return world.View }

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

// inviters returns the lowest role that may add members to a profile.
func (h *Handlers) inviters(id string) world.Role {
	if share := h.w.Share(id); share != nil && share.Value.Invite == shares.InviteGuests {
		return world.Guest
	}
	return h.managingRole(id)
}

// roleTooLow returns the refusal of a caller whose role is too low.
func roleTooLow() error {
	return wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Your role in this profile does not allow this.")
}

// member returns a member, or a pending one. By an option, the response has no member
// around it.
func (h *Handlers) member(c *wire.Call, id string) (wire.Object, error) {
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

// memberNamed returns the id of the member or pending member in the path, "" if there
// is none. The path has an id, an e-mail address or me.
func (h *Handlers) memberNamed(where string, c *wire.Call) string {
	name := c.Segment("user_id")
	if name == "me" {
		name = c.Key.User
	}
	if id := h.w.UserNamed(name); id != "" {
		name = id
	}
	if h.w.Membership(where, name) != nil || h.w.InvitationOfGuest(where, name) != nil {
		return name
	}
	for _, v := range h.w.Expected(where) {
		if strings.EqualFold(v.Email, name) {
			return h.w.GuestID(v)
		}
	}
	return ""
}

// noMember returns the refusal of a path to a user who is not a member.
func noMember() error { return wire.NoSuch(codeNoMember, "member") }

// updateMember changes the terms of a member or of a pending one.
func (h *Handlers) updateMember(c *wire.Call, id string) (wire.Object, error) {
	t := h.readTerms(c, id, clearsExpiry)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if t.role == world.Owner { // ignored: ownership is transferred otherwise
		t.role = ""
	}
	user := h.memberNamed(id, c)
	switch v := h.w.InvitationOfGuest(id, user); {
	case h.w.Membership(id, user) != nil:
		return nil, h.changeMembership(c, id, user, t)
	case v == nil:
		return nil, noMember()
	case !h.w.AtLeast(id, c.Key.User, h.managingRole(id)):
		return nil, roleTooLow()
	default:
		t.expires = nil // a membership that has not begun has no end
		return nil, h.setTerms(c, v, t)
	}
}

// changeMembership updates a membership. Members may change their own notifications;
// everything else requires the role that manages members, and a role not below the
// member's.
func (h *Handlers) changeMembership(c *wire.Call, id, user string, t conditions) error {
	m, caller := h.w.Membership(id, user), h.w.Role(id, c.Key.User)
	ownNotify := user == c.Key.User && t.role == "" && t.expires == nil
	switch {
	case world.Rank(caller) < world.Rank(h.managingRole(id)) && !ownNotify, world.Rank(caller) < world.Rank(m.Role):
		return roleTooLow()
	case m.Role == world.Owner && !ownNotify:
		return ownerStays("The owner stays until the ownership is transferred.")
	}
	if err := h.refuseRole(id, c.Key.User, t.role, codeRoleAbove); err != nil {
		return err
	}
	if t.widens(m.Role, m.Expires) {
		if err := h.w.OutsiderPolicy(id, user); err != nil {
			return err
		}
	}
	m.Role, m.Notify = cmp.Or(t.role, m.Role), cmp.Or(t.notify, m.Notify)
	if t.expires != nil {
		h.w.EndAt(id, user, *t.expires)
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
	switch v := h.w.InvitationOfGuest(id, user); {
	case h.w.Direct(id, user) == world.Owner:
		return nil, ownerStays("The owner cannot be removed.")
	case h.w.Membership(id, user) != nil:
		h.w.EndMembership(id, user, c.Key.User, h.w.ActorOf(c.Key))
	case v != nil:
		h.w.DropInvitation(v)
	default:
		return nil, noMember()
	}
	return nil, nil
}

// leave ends the membership of the caller, who must not be the owner.
func (h *Handlers) leave(c *wire.Call, id string) (wire.Object, error) {
	switch user := c.Key.User; h.w.Direct(id, user) {
	case "":
		return nil, wire.NotMember() // who is here by the profile above cannot leave this one alone
	case world.Owner:
		return nil, ownerStays("Transfer the ownership before you leave.")
	default:
		h.w.EndMembership(id, user, user, h.w.ActorOf(c.Key))
	}
	return nil, nil
}

// join makes the caller a member of a profile that is open to the caller. Members
// keep their role.
func (h *Handlers) join(c *wire.Call, id string) (wire.Object, error) {
	notify := preference(c, "notify_options")
	if err := cmp.Or(c.Check.Refusal(), h.mayJoin(id, c.Key.User)); err != nil {
		return nil, err
	}
	if m := h.w.Membership(id, c.Key.User); m != nil {
		m.Notify = cmp.Or(notify, m.Notify)
		return nil, nil
	}
	if v := h.w.InvitationOfGuest(id, c.Key.User); v != nil && h.w.KindOf(id) == wire.KindOrg {
		return nil, h.w.Redeem(v, c.Key.User, h.w.Joiner(c.Key))
	}
	if err := cmp.Or(h.w.RefuseOutsider(id, c.Key.User, world.Member), h.refuseWithoutSeat(id, c.Key.User)); err != nil {
		return nil, err
	}
	h.w.Enroll(id, c.Key.User, world.Member, notify, h.w.Joiner(c.Key))
	return nil, nil
}

// mayJoin rejects a user who may not join a profile. Its members may. An organization
// is open by its domain or to an invitation, a workspace to a role in its organization,
// and a share by its access option.
func (h *Handlers) mayJoin(id, user string) error {
	open := h.w.Membership(id, user) != nil
	switch h.w.KindOf(id) {
	case wire.KindOrg:
		o := h.w.Org(id).Value
		open = open || h.orgs.Admits(o, user) || !o.Closed && h.w.InvitationOfGuest(id, user) != nil
	case wire.KindWorkspace:
		w := h.w.Workspace(id).Value
		open = open || h.w.AtLeast(w.Org, user, world.Joins(w.Join))
	default:
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

// refuseWithoutSeat returns an error if the plan of an organization has no seat left for a new
// member. Invitations take seats as well, so that a user who is invited needs no other.
func (h *Handlers) refuseWithoutSeat(id, user string) error {
	hasSeat := h.w.Membership(id, user) != nil || user != "" && h.w.InvitationOfGuest(id, user) != nil
	if h.w.KindOf(id) != wire.KindOrg || hasSeat {
		return nil
	}
	if err := h.orgs.Subscribed(id); err != nil {
		return err
	}
	if taken := len(h.w.MembersOf(id)) + len(h.w.Expected(id)); taken < orgs.PlanNamed(h.w.Org(id).Value.Plan).Seats {
		return nil
	}
	return wire.Refuse(http.StatusPaymentRequired, codeHigherPlan, "Upgrade Required: the plan has no seat left.")
}

// transfer makes another member the owner. The successor is promoted first,
// so that a share always has an owner; repeating the call completes an interrupted
// transfer.
func (h *Handlers) transfer(c *wire.Call, id string) (wire.Object, error) {
	owner, successor := c.Key.User, h.memberNamed(id, c)
	if err := h.mayTransfer(c, id, successor); err != nil {
		return nil, err
	}
	m := h.w.Membership(id, successor)
	m.Role = world.Owner
	h.w.EndAt(id, successor, time.Time{})
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

// mayTransfer checks the credential, caller, running transfer and successor.
func (h *Handlers) mayTransfer(c *wire.Call, id, successor string) error {
	unfit := func(reason, text string) error {
		return wire.Because(http.StatusNotAcceptable, codeSuccessor, reason, text)
	}
	halfway := h.transfers.halfway[id]
	switch {
	case h.w.Covers(c.Key, id) < wire.Admin:
		return c.Key.RefuseAdmin(h.w.KindOf(id))
	case h.w.Direct(id, c.Key.User) != world.Owner:
		return wire.Refuse(http.StatusUnauthorized, codeNotOwner, "You are not the owner, or not any more.")
	case h.transfersBusy(), halfway != "" && halfway != successor:
		return wire.Because(http.StatusConflict, codeTransferBusy, "transfer_in_progress", "Another transfer is under way.")
	case successor == c.Key.User:
		return unfit("successor_is_self", "You are the owner already.")
	case h.w.Membership(id, successor) == nil:
		return unfit("successor_not_member", "Only a member can become the owner.")
	case !h.w.Enabled(successor):
		return unfit("successor_unavailable", "The account of the successor is not enabled.")
	}
	return nil
}

// transfersBusy counts the transfers that the options fail.
func (h *Handlers) transfersBusy() bool {
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
