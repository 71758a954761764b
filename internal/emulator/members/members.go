// Package members emulates members of shares, invitations and transfers.
package members

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/shares"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	*world.World

	shares *shares.Handlers

	transfers transferState
}

// New returns the handlers of a world.
func New(w *world.World, shares *shares.Handlers) *Handlers {
	return &Handlers{World: w, shares: shares, transfers: transferState{halfway: map[string]string{}}}
}

// Codes of memberships and invitations: one published, and from 199901 on our own.
// The label 1692 of an added owner is no code.
const (
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

// Routes returns the routes of members of shares and their invitations.
func (h *Handlers) Routes() []*wire.Route {
	const share, members = "/current/share/{share_id}/", "/current/share/{share_id}/members/"
	const invitations = members + "invitations/list/"
	const one, mine = members + "invitation/{invitation_id}/", "/current/user/invitation"
	self, admin, reached := h.managedShare(world.View), h.managedShare(world.Admin), h.reachedShare(wire.Write)
	return []*wire.Route{
		wire.Get("shares.Members.List", members+"list/", wire.With(h.memberedShare, h.MemberList), wire.Paged("share_id")),
		wire.Post("shares.Members.Add", members+"{email_or_user}/", wire.With(h.managedShare(""), h.addShareMember),
			wire.Form("permissions notify_options expires notification message invitation_expires")),
		wire.Get("shares.Members.Get", share+"member/{user_id}/details/", wire.With(h.memberedShare, h.shareMember)),
		wire.Post("shares.Members.Update", share+"member/{user_id}/update/", wire.With(self, h.updateShareMember),
			wire.Form("permissions notify_options expires")),
		wire.Delete("shares.Members.Remove", members+"{user_id}/", wire.With(admin, h.removeShareMember)),
		wire.Post("shares.Members.TransferOwnership", share+"member/{user_id}/transfer_ownership/",
			wire.With(h.memberedShare, h.transferShare)),
		wire.Delete("shares.Leave", share+"member/", wire.With(self, h.leaveShare)),
		wire.Post("shares.Join", members+"join/", wire.With(reached, h.joinShare), wire.OptionalForm("notify_options")),
		wire.Post("shares.JoinWithKey", members+"join/{invitation_key}/{answer}/",
			wire.With(reached, h.answerInvitation)),
		wire.Get("shares.Invitations.List", invitations, wire.With(h.memberedShare, h.shareInvitations)),
		wire.Get("shares.Invitations.List", invitations+"{state}/", wire.With(h.memberedShare, h.shareInvitations)),
		wire.Post("shares.Invitations.Update", one, wire.With(h.invitationOfPath(""), h.updateInvitation),
			wire.Form("permissions notify_options expires state")),
		wire.Delete("shares.Invitations.Delete", one, wire.With(h.invitationOfPath(world.Admin), h.deleteInvitation)),
		wire.Get("shares.Invitations.ListMine", mine+"s/list/", h.myInvitations, wire.Query("invitation_key limit offset")),
		wire.Get("shares.Invitations.GetMine", mine+"/{invitation_id}/details/", wire.Checked(h.myInvitation)),
		wire.Post("shares.Invitations.AcceptAll", mine+"s/acceptall/", h.acceptInvitations,
			wire.OptionalForm("invitation_key")),
	}
}

// memberedShare finds a share by id or custom name and requires membership.
func (h *Handlers) memberedShare(c *wire.Call) (string, error) {
	id, err := h.reachedShare(wire.Read)(c)
	return id, cmp.Or(err, h.MayLook(c.Key, world.Venue{Profile: id}))
}

// reachedShare finds a share and requires a credential for it, not membership.
func (h *Handlers) reachedShare(needed wire.Mode) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		id := h.ShareNamed(c.Segment("share_id"))
		if id == "" {
			return "", wire.NoSuch(wire.CodeNotFound, wire.KindShare)
		}
		switch reach := h.Covers(c.Key, id); {
		case reach < wire.Read:
			return "", h.OutOfScope(id)
		case reach < needed:
			return "", c.Key.RefuseWrite()
		case h.ShutOut(id, c.Key.User):
			return "", world.Unseen(world.CodeNoView)
		}
		return id, nil
	}
}

// managedShare finds the share of a path and requires a role; "" is that to invite.
func (h *Handlers) managedShare(least world.Role) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		id, err := h.memberedShare(c)
		if err != nil {
			return "", err
		}
		switch {
		case h.Covers(c.Key, id) < wire.Write:
			return "", c.Key.RefuseWrite()
		case world.Rank(h.Role(id, c.Key.User)) < world.Rank(cmp.Or(least, h.inviters(id))):
			return "", roleTooLow()
		}
		return id, nil
	}
}

func roleTooLow() error {
	return wire.Refuse(http.StatusUnauthorized, wire.CodeEntity, "Your role in this share does not allow this.")
}

func (h *Handlers) shareMember(c *wire.Call, id string) (wire.Object, error) {
	user := h.memberNamed(id, c)
	if user == "" {
		return nil, noMember()
	}
	row := h.MemberObject(id, user, c.Key.User)
	key := cmp.Or(h.Options.Shares.MemberKey, "member")
	if key == "-" {
		return row, nil
	}
	return wire.Object{{key, row}}, nil
}

// memberNamed finds an active or pending member by id, e-mail address or me, or "".
func (h *Handlers) memberNamed(where string, c *wire.Call) string {
	name := c.Segment("user_id")
	if name == "me" {
		name = c.Key.User
	}
	if id := h.UserNamed(name); id != "" {
		name = id
	}
	if h.Members[where][name] != nil || h.ExpectedAs(where, name) != nil {
		return name
	}
	for _, v := range h.Expected(where) {
		if strings.EqualFold(v.Email, name) {
			return h.GuestID(v)
		}
	}
	return ""
}

func noMember() error { return wire.NoSuch(codeNoMember, "member") }

func (h *Handlers) updateShareMember(c *wire.Call, id string) (wire.Object, error) {
	t := h.readTerms(c, true)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if t.role == world.Owner { // ignored: ownership is transferred otherwise
		t.role = ""
	}
	user := h.memberNamed(id, c)
	switch v := h.ExpectedAs(id, user); {
	case h.Members[id][user] != nil:
		return nil, h.change(c, id, user, t)
	case v == nil:
		return nil, noMember()
	case !h.AtLeast(id, c.Key.User, world.Admin):
		return nil, roleTooLow()
	default:
		t.expires = nil // a membership that has not begun has no end
		return nil, h.revise(c, v, t)
	}
}

// change updates a membership. Members set notifications, admins all else.
func (h *Handlers) change(c *wire.Call, id, user string, t conditions) error {
	m, caller := h.Members[id][user], h.Role(id, c.Key.User)
	private := user == c.Key.User && t.role == "" && t.expires == nil
	switch {
	case world.Rank(caller) < world.Rank(world.Admin) && !private, world.Rank(caller) < world.Rank(m.Role):
		return roleTooLow()
	case m.Role == world.Owner && !private:
		return ownerStays("The owner stays until the ownership is transferred.")
	}
	if err := h.refuseRole(id, c.Key.User, t.role, codeRoleAbove); err != nil {
		return err
	}
	if t.widens(m.Role, m.Expires) {
		if err := h.OutsiderPolicy(id, user); err != nil {
			return err
		}
	}
	m.Role, m.Notify = cmp.Or(t.role, m.Role), cmp.Or(t.notify, m.Notify)
	if t.expires != nil {
		h.EndAt(id, user, *t.expires)
	}
	h.WriteMembership("membership_updated", id, user, c.Key.User, h.ActorOf(c.Key))
	return nil
}

func ownerStays(text string) error {
	return wire.Refuse(http.StatusNotAcceptable, codeOwnerStays, text)
}

// removeShareMember ends a membership, or revokes the invitation of a pending member.
func (h *Handlers) removeShareMember(c *wire.Call, id string) (wire.Object, error) {
	user := h.memberNamed(id, c)
	switch v := h.ExpectedAs(id, user); {
	case h.Direct(id, user) == world.Owner:
		return nil, ownerStays("The owner cannot be removed.")
	case h.Members[id][user] != nil:
		h.EndMembership(id, user, c.Key.User, h.ActorOf(c.Key))
	case v != nil:
		h.DropInvitation(v)
	default:
		return nil, noMember()
	}
	return nil, nil
}

func (h *Handlers) leaveShare(c *wire.Call, id string) (wire.Object, error) {
	switch user := c.Key.User; h.Direct(id, user) {
	case "":
		return nil, wire.NotMember() // who is here by the workspace cannot leave the share alone
	case world.Owner:
		return nil, ownerStays("Transfer the ownership before you leave.")
	default:
		h.EndMembership(id, user, user, h.ActorOf(c.Key))
	}
	return nil, nil
}

// joinShare makes the caller a member of a share that is open to members of the
// workspace or organization. Members keep their role.
func (h *Handlers) joinShare(c *wire.Call, id string) (wire.Object, error) {
	user, share := c.Key.User, &h.Shares[id].Value
	notify := notifyOptions(c)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	switch {
	case share.AccessOption() != world.AccessMembers && share.AccessOption() != world.AccessOrg:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotJoinable,
			"The share is not one to join without an invitation.")
	case !h.shares.Joinable(share, user):
		return nil, wire.NotMember()
	}
	if m := h.Members[id][user]; m != nil {
		m.Notify = cmp.Or(notify, m.Notify)
		return nil, nil
	}
	if err := h.RefuseOutsider(id, user, world.Member); err != nil {
		return nil, err
	}
	h.Enroll(id, user, world.Member, notify, h.Joiner(c.Key))
	return nil, nil
}

// transferShare makes another member the owner. The successor is promoted first,
// so that a share always has an owner; repeating the call completes an interrupted
// transfer.
func (h *Handlers) transferShare(c *wire.Call, id string) (wire.Object, error) {
	owner, successor := c.Key.User, h.memberNamed(id, c)
	if err := h.mayTransfer(c, id, successor); err != nil {
		return nil, err
	}
	m := h.Members[id][successor]
	m.Role = world.Owner
	h.EndAt(id, successor, time.Time{})
	if h.transfers.halved < h.Options.Shares.HalfTransfers && h.transfers.halfway[id] == "" {
		h.transfers.halved++
		h.transfers.halfway[id] = successor
		return nil, wire.Refuse(http.StatusInternalServerError, codeHalfTransfer, "The transfer stopped half-way. Repeat it.")
	}
	delete(h.transfers.halfway, id)
	h.Members[id][owner].Role = world.Admin
	h.writeTransfer(c, id, successor)
	return wire.Object{{"ownership", wire.Object{
		{"profile_id", wire.ProfileID(id)},
		{"profile_type", wire.KindShare},
		{"previous_owner", wire.ProfileID(owner)},
		{"new_owner", wire.ProfileID(successor)},
		{"transferred_at", wire.Stamp(h.Now().Unix())},
	}}}, nil
}

type transferState struct {
	halved, busy int               // of the options, so far
	halfway      map[string]string // who was promoted, by share
}

// mayTransfer checks the credential, caller, running transfer and successor.
func (h *Handlers) mayTransfer(c *wire.Call, id, successor string) error {
	unfit := func(reason, text string) error {
		return wire.Because(http.StatusNotAcceptable, codeSuccessor, reason, text)
	}
	halfway := h.transfers.halfway[id]
	switch {
	case h.Covers(c.Key, id) < wire.Admin:
		return c.Key.RefuseAdmin("share")
	case h.Direct(id, c.Key.User) != world.Owner:
		return wire.Refuse(http.StatusUnauthorized, codeNotOwner, "You do not own the share, or not any more.")
	case h.transfersBusy(), halfway != "" && halfway != successor:
		return wire.Because(http.StatusConflict, codeTransferBusy, "transfer_in_progress", "Another transfer is under way.")
	case successor == c.Key.User:
		return unfit("successor_is_self", "You own the share already.")
	case h.Members[id][successor] == nil:
		return unfit("successor_not_member", "Only a member can become the owner.")
	case !h.Enabled(successor):
		return unfit("successor_unavailable", "The account of the successor is not enabled.")
	}
	return nil
}

// transfersBusy counts the transfers that the options fail.
func (h *Handlers) transfersBusy() bool {
	t := &h.transfers
	if t.busy >= h.Options.Shares.TransferConflicts {
		return false
	}
	t.busy++
	return true
}

func (h *Handlers) writeTransfer(c *wire.Call, id, successor string) {
	owner, actor := c.Key.User, h.ActorOf(c.Key)
	h.WriteEvent(world.Event{
		Name: "ownership_transferred", Category: wire.KindShare, Share: id, User: successor, CallingUser: owner,
		Actor: actor,
		Extra: map[string]any{"profile_type": wire.KindShare, "from_user": owner, "to_user": successor},
	})
	h.WriteMembership("membership_updated", id, successor, owner, actor)
	h.WriteMembership("membership_updated", id, owner, owner, actor)
}
