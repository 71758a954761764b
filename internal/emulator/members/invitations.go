package members

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	messageLeast, messageMost = 10, 255
	mailPause                 = time.Minute // between two mails about one membership
)

// addMember adds a user who is named by an id, and sends an invitation to an e-mail
// address. If a user has the address, an organization adds this user at once, and with the
// option AddByEmail a workspace and a share do so, too. A membership that exists is
// changed.
func (h *Handlers) addMember(c *wire.Call, id string) (wire.Object, error) {
	target := c.Segment("email_or_user")
	user := h.w.UserNamed(target)
	if user == "" && wire.IsProfile(target) {
		return nil, wire.NoSuch(wire.CodeNotFound, "user")
	}
	c.Check.InvalidIf(!wire.IsProfile(target) && !wire.IsEmail(target),
		"email_or_user", "An e-mail address or the id of a user.")
	if err := h.refuseTarget(id, c.Key.User, user); err != nil {
		return nil, err
	}
	atOnce := wire.IsProfile(target) || h.w.Options.Shares.AddByEmail || h.w.KindOf(id) == wire.KindOrg
	if user != "" && (atOnce || h.w.Membership(id, user) != nil) {
		return h.addDirectly(c, id, user)
	}
	return h.invite(c, id, target, user)
}

// refuseTarget returns a refusal if the user to add is the caller or the owner. The
// user is "" for an address without an account.
func (h *Handlers) refuseTarget(profileID, caller, user string) error {
	switch {
	case user == "":
		return nil
	case user == caller:
		return wire.Refuse(http.StatusNotAcceptable, codeSelfTarget, "You cannot add yourself.")
	case h.w.DirectRole(profileID, user) == world.Owner:
		return wire.Refuse(http.StatusNotAcceptable, codeOwnerTarget, "The owner cannot be added.")
	}
	return nil
}

// addDirectly makes a user a member without an invitation, or changes the role and
// settings of a member. A new member gets a mail, others with notification=force only.
func (h *Handlers) addDirectly(c *wire.Call, id, user string) (wire.Object, error) {
	terms := h.readTerms(c, id, clearsExpiry)
	force, _ := c.Field("notification")
	c.Check.InvalidIf(force != "" && force != "force", "notification", "force.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	m := h.w.Membership(id, user)
	if m == nil && terms.role == "" {
		terms.role = world.Member
	}
	if err := h.refuseRole(id, c.Key.User, terms.role); err != nil {
		return nil, err
	}
	if m == nil {
		if err := cmp.Or(h.w.RefuseOutsider(id, user, terms.role), h.refuseWithoutSeat(id, user)); err != nil {
			return nil, err
		}
		m = h.w.Enroll(id, user, terms.role, terms.notify, h.w.Joiner(c.Key))
		if terms.expires != nil {
			h.w.EndMembershipAt(id, user, *terms.expires)
		}
		h.mailAboutMembership(id, user, m)
		return nil, nil
	}
	if err := h.changeMembership(c, id, user, terms); err != nil {
		return nil, err
	}
	if force != "" {
		h.mailAboutMembership(id, user, m)
	}
	return nil, nil
}

// mailAboutMembership mails a user about a membership, unless it did so within the last
// minute.
func (h *Handlers) mailAboutMembership(id, user string, m *world.Membership) {
	now := h.w.Now()
	if !m.Mailed.IsZero() && now.Sub(m.Mailed) < mailPause {
		return
	}
	m.Mailed = now
	h.w.Mail(world.Mail{To: h.w.User(user).Value.Email, Profile: id, At: now})
}

// invite sends an invitation to an address, whose account is user, "" without one. If there
// is an open invitation, it is changed and sent again. The option InvitationLimit is how many
// open invitations a profile can have.
func (h *Handlers) invite(c *wire.Call, id, email, user string) (wire.Object, error) {
	terms := h.readInvite(c, id)
	message, _ := c.Field("message")
	n := utf8.RuneCountInString(message)
	c.Check.InvalidIf(n > 0 && (n < messageLeast || n > messageMost), "message", "10 to 255 characters.")
	roleRefusal := h.refuseRole(id, c.Key.User, terms.role)
	if err := cmp.Or(c.Check.Err(), roleRefusal, h.w.RefuseByOutsiderPolicy(id, user)); err != nil {
		return nil, err
	}
	inv := h.w.InvitationNamed(id, email)
	if inv == nil || !inv.IsOpen() {
		most := h.w.Options.Shares.InvitationLimit
		if most > 0 && len(h.w.OpenInvitations(id)) >= most {
			return nil, wire.Refuse(http.StatusPreconditionFailed, codeInvitationLimit,
				"Feature Limit: the plan allows no more invitations.")
		}
		if err := h.refuseWithoutSeat(id, user); err != nil {
			return nil, err
		}
		inv = h.w.KeepInvitation(world.SeedInvitation{
			Profile: id, Email: email, Inviter: c.Key.User, Role: terms.role, Message: message, Expires: *terms.expires,
		}, h.w.ActorOf(c.Key))
	} else {
		inv.Role, inv.Message, inv.Expires, inv.Updated = terms.role, message, *terms.expires, h.w.Now()
		h.w.MailInvitation(inv)
		h.w.MarkInvitationChanged(inv)
	}
	inviter := h.w.Joiner(c.Key) // a Joiner is who makes a user a member
	h.w.WriteInvitation("invitation_email_sent", inv, inviter)
	made := h.w.InvitationObject(inv)
	if h.w.Share(id) != nil {
		made = append(made, wire.Member{"share", h.shares.ShareObject(id, c.Key.User, wire.Terse)})
	}
	return wire.Object{{"invitation", made}}, nil
}

// readInvite reads the role of an invitation, by default member, and its expiry, by
// default never.
func (h *Handlers) readInvite(c *wire.Call, id string) conditions {
	terms := conditions{role: world.Member, expires: new(time.Time{})}
	if value, given := c.Field("permissions"); given {
		terms.role = h.readRole(c, id, value)
	}
	if value, _ := c.Field("invitation_expires"); value != "" {
		*terms.expires = h.readFutureTime(c, "invitation_expires", value)
	}
	return terms
}

// conditions are the role and settings that a call gives to a member.
type conditions struct {
	role    world.Role // "" is not said
	notify  string
	expires *time.Time // nil is not said, zero is without end
}

// What null and "" do to the expiry.
const (
	clearsExpiry = true
	keepsExpiry  = false
)

// readTerms reads the role, notifications and expiry of a member, as far as the call has
// them. If clears is true, null and "" remove the expiry; otherwise "" is ignored.
func (h *Handlers) readTerms(c *wire.Call, id string, clears bool) conditions {
	var terms conditions
	if value, given := c.Field("permissions"); given {
		terms.role = h.readRole(c, id, value)
	}
	name := "notify_options"
	if h.w.KindOf(id) == wire.KindWorkspace {
		name = "notifications"
	}
	terms.notify = readNotification(c, name)
	value, given := c.Field("expires")
	switch {
	case given && clears && (value == "" || value == "null"):
		terms.expires = new(time.Time{})
	case value != "":
		terms.expires = new(h.readFutureTime(c, "expires", value))
	}
	return terms
}

// readRole returns the role with a name, which must be one of this kind of profile: at
// least member in an organization, guest in a workspace. The owner is valid, but
// refuseRole refuses it.
func (h *Handlers) readRole(c *wire.Call, id, name string) world.Role {
	role := world.Role(name)
	least := map[string]world.Role{wire.KindOrg: world.Member, wire.KindWorkspace: world.Guest}[h.w.KindOf(id)]
	switch {
	case world.Rank(role) == 0:
		c.Check.Invalid("permissions", "admin, member, guest or view.")
	case world.Rank(role) < world.Rank(least):
		c.Check.Invalid("permissions", "Not a role of this kind of profile.")
	}
	return role
}

// readNotification returns the value of a field that says of what a member is notified,
// "" if the call does not have it.
func readNotification(c *wire.Call, name string) string {
	value, _ := c.Field(name)
	c.Check.InvalidIf(value != "" && !slices.Contains(world.NotifyOptions(), value),
		name, "One of: "+strings.Join(world.NotifyOptions(), "; ")+".")
	return value
}

// readFutureTime returns the time that is the value of a field, zero for "". A time
// that has passed is an error of the call.
func (h *Handlers) readFutureTime(c *wire.Call, name, value string) time.Time {
	t := c.ReadDateTime(name, value)
	c.Check.InvalidIf(!t.IsZero() && !t.After(h.w.Now()), name, "It has passed.")
	return t
}

// widens reports whether the conditions give more than a role with an expiry, zero for
// none.
func (terms conditions) widens(role world.Role, expires time.Time) bool {
	return world.Rank(terms.role) > world.Rank(role) ||
		terms.expires != nil && !expires.IsZero() && (terms.expires.IsZero() || terms.expires.After(expires))
}

// refuseRole returns a refusal if a role is that of the owner, which cannot be granted, or
// higher than that of the caller.
func (h *Handlers) refuseRole(profileID, caller string, role world.Role) error {
	return cmp.Or(refuseOwnerRole(role), h.refuseHigherRole(profileID, caller, role, codeRoleAbove))
}

// refuseOwnerRole returns a refusal of the role of the owner.
func refuseOwnerRole(role world.Role) error {
	if role != world.Owner {
		return nil
	}
	return wire.Refuse(http.StatusNotAcceptable, codeOwnerRole, "Adding an owner is not allowed.")
}

// refuseHigherRole returns a refusal with the given code if a role is higher than that of the
// caller.
func (h *Handlers) refuseHigherRole(profileID, caller string, role world.Role, code int64) error {
	if world.Rank(role) <= world.Rank(h.w.Role(profileID, caller)) {
		return nil
	}
	return wire.Refuse(http.StatusNotAcceptable, code, "The permissions are above your own.")
}

// roleToListInvitations returns the lowest role that may list the invitations to a
// profile: for a share, the lowest role that may invite.
func (h *Handlers) roleToListInvitations(id string) world.Role {
	switch h.w.KindOf(id) {
	case wire.KindOrg:
		return world.Member
	case wire.KindWorkspace:
		return world.Admin
	}
	return h.roleToInvite(id)
}

// invitations returns the invitations to a profile, of one state if the path names it.
// The list of an organization has pages, and the other lists are whole.
func (h *Handlers) invitations(c *wire.Call, id string) (wire.Object, error) {
	if !h.w.AtLeast(id, c.Key.User, h.roleToListInvitations(id)) {
		return nil, roleTooLow()
	}
	state := c.Segment("state")
	// PathValue returns "" only if the route has no state. For an empty segment of the path it returns a zero byte, which
	// the emulator has put there. Segment returns "" in both cases.
	routeHasState := c.Request.PathValue("state") != ""
	c.Check.InvalidIf(routeHasState && !slices.Contains(world.InviteStates(), state),
		"state", strings.Join(world.InviteStates(), ", ")+".")
	list := wire.Filter(h.w.AllInvitations(),
		func(inv *world.Invitation) bool { return inv.Profile == id && (state == "" || inv.State == state) })
	if h.w.KindOf(id) == wire.KindOrg {
		return h.pageOfInvitations(c, list, h.w.InvitationObject)
	}
	return wire.Object{{"invitations", wire.Rows(list, h.w.InvitationObject)}}, c.Check.Err()
}

// pageOfInvitations returns the requested page of a list of invitations.
func (h *Handlers) pageOfInvitations(
	c *wire.Call, list []*world.Invitation, render func(*world.Invitation) wire.Object,
) (wire.Object, error) {
	page := c.Page(wire.ListDefault, wire.ListLimit)
	return wire.Object{
		{"invitations", wire.Rows(wire.PageOf(list, page), render)}, {"pagination", page.Pagination(len(list))},
	}, c.Check.Err()
}

// invitationOfPath returns a function that finds the invitation in the path, by id or
// e-mail address. The caller needs the role that least returns for the profile, and at
// least the one that the invitation grants.
func (h *Handlers) invitationOfPath(least func(id string) world.Role) func(*wire.Call) (*world.Invitation, error) {
	return func(c *wire.Call) (*world.Invitation, error) {
		id, err := h.profileForRole(least)(c)
		if err != nil {
			return nil, err
		}
		inv := h.w.InvitationNamed(id, c.Segment("invitation_id"))
		switch {
		case inv == nil:
			return nil, noInvitation()
		case !h.w.AtLeast(id, c.Key.User, inv.Role):
			return nil, roleTooLow()
		}
		return inv, nil
	}
}

func noInvitation() error { return wire.NoSuch(codeNoInvitation, "invitation") }

// updateInvitation accepts or declines an invitation to the caller, or else changes the
// invitation in the path, which requires the role that may invite.
func (h *Handlers) updateInvitation(c *wire.Call) (wire.Object, error) {
	inv, accept := h.answeredInvitation(c)
	if inv == nil {
		return wire.With(h.invitationOfPath(h.roleToInvite), h.changeInvitation)(c)
	}
	_, err := h.profileOfPath(wire.Write)(c) // checks that the caller may write there
	if err := cmp.Or(err, c.Check.Err()); err != nil {
		return nil, err
	}
	if err := h.acceptOrDecline(c, inv, accept); err != nil {
		return nil, err
	}
	return wire.Object{{"invitation", h.w.InvitationObject(inv)}}, nil
}

// answeredInvitation returns the invitation to the caller that an update accepts or
// declines. It returns nil if the update does neither, or also changes terms. It also
// returns nil for an invitation to another user, and for an invitation to an organization,
// which is answered by its key instead.
func (h *Handlers) answeredInvitation(c *wire.Call) (inv *world.Invitation, accept bool) {
	state, _ := c.Field("state")
	answers := state == world.InviteAccepted || state == world.InviteDeclined
	terms := []string{"permissions", "expires", "notify_options", "notifications"}
	if !answers || slices.ContainsFunc(terms, c.Form.Has) {
		return nil, false
	}
	id := h.profileOf(c)
	inv = h.w.InvitationNamed(id, c.Segment("invitation_id"))
	if inv == nil || !h.isFor(inv, c.Key.User) || h.w.KindOf(id) == wire.KindOrg {
		return nil, false
	}
	return inv, state == world.InviteAccepted
}

// isFor reports whether an invitation is to the address of a user.
func (h *Handlers) isFor(inv *world.Invitation, userID string) bool {
	return strings.EqualFold(inv.Email, h.w.User(userID).Value.Email)
}

// acceptOrDecline accepts or declines an invitation for the caller. One that was
// answered already is refused.
func (h *Handlers) acceptOrDecline(c *wire.Call, inv *world.Invitation, accept bool) error {
	by := h.w.Joiner(c.Key) // the caller as the events name it
	switch {
	case accept:
		return h.w.Redeem(inv, c.Key.User, by)
	case !inv.IsOpen():
		return world.AlreadyAnswered()
	default:
		h.decline(inv, by)
		return nil
	}
}

// decline marks an invitation as declined by a user, and writes the event.
func (h *Handlers) decline(inv *world.Invitation, by world.Joiner) {
	inv.State, inv.Updated = world.InviteDeclined, h.w.Now()
	h.w.MarkInvitationChanged(inv)
	h.w.WriteInvitation("invitation_declined", inv, by)
}

// changeInvitation changes the terms of an invitation and its state. The state pending
// sends it again. To accept or decline it for the guest requires a role that manages
// members. If the state cannot be set, the terms stay as they were.
func (h *Handlers) changeInvitation(c *wire.Call, inv *world.Invitation) (wire.Object, error) {
	terms := h.readTerms(c, inv.Profile, keepsExpiry)
	state, _ := c.Field("state")
	c.Check.InvalidIf(state != "" && !slices.Contains(world.InviteStates(), state),
		"state", strings.Join(world.InviteStates(), ", ")+".")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	answers := state == world.InviteAccepted || state == world.InviteDeclined
	isAccepted := inv.AcceptedBy != ""
	staysDeclined := inv.State == world.InviteDeclined && state == "" // its terms have no use
	switch {
	case answers && !h.w.AtLeast(inv.Profile, c.Key.User, h.managingRole(inv.Profile)):
		return nil, roleTooLow()
	case isAccepted, staysDeclined:
		return nil, world.AlreadyAnswered()
	}
	before := *inv
	if err := h.setTerms(c, inv, terms); err != nil {
		return nil, err
	}
	if err := h.settleInvitation(c, inv, state); err != nil {
		*inv = before
		return nil, err
	}
	h.w.MarkInvitationChanged(inv)
	return wire.Object{{"invitation", h.w.InvitationObject(inv)}}, nil
}

// setTerms changes the given terms of an invitation. It refuses a role that is higher than
// the caller's, then the role of the owner (the platform checks them in this order here),
// and then a wider access that the policy on outsiders denies.
func (h *Handlers) setTerms(c *wire.Call, inv *world.Invitation, terms conditions) error {
	tooHigh := h.refuseHigherRole(inv.Profile, c.Key.User, terms.role, codeInviteRole)
	if err := cmp.Or(tooHigh, refuseOwnerRole(terms.role)); err != nil {
		return err
	}
	if terms.widens(inv.Role, inv.Expires) {
		if err := h.w.RefuseByOutsiderPolicy(inv.Profile, h.w.UserNamed(inv.Email)); err != nil {
			return err
		}
	}
	inv.Role, inv.Notify = cmp.Or(terms.role, inv.Role), cmp.Or(terms.notify, inv.Notify)
	if terms.expires != nil {
		inv.Expires = *terms.expires
	}
	inv.Updated = h.w.Now()
	h.w.MarkInvitationChanged(inv)
	return nil
}

// settleInvitation sets the state of an invitation, as if its guest did so; "" keeps the
// state. The state pending sends the invitation again (assumed). The caller sets
// inv.Updated before the call, and calls MarkInvitationChanged after it.
func (h *Handlers) settleInvitation(c *wire.Call, inv *world.Invitation, state string) error {
	guest, by := h.w.UserNamed(inv.Email), h.w.Joiner(c.Key)
	switch state {
	case world.InviteDeclined:
		h.decline(inv, by)
	case world.InvitePending:
		if err := h.w.RefuseByOutsiderPolicy(inv.Profile, guest); err != nil {
			return err
		}
		inv.State = world.InvitePending
		h.w.MailInvitation(inv)
		h.w.WriteInvitation("invitation_email_sent", inv, by)
	case world.InviteAccepted:
		hasAccount := guest != ""
		if hasAccount {
			return h.w.Redeem(inv, guest, by)
		}
		return h.acceptWithoutAccount(inv, by)
	}
	return nil
}

// acceptWithoutAccount accepts an invitation to an address without an account. It makes no
// member: a new account with the address becomes one (see [world.World.JoinInvited]). It
// refuses an invitation that was answered or has expired, or that the policy on outsiders
// forbids.
func (h *Handlers) acceptWithoutAccount(inv *world.Invitation, by world.Joiner) error {
	if err := h.w.RefuseRedeem(inv, world.NoUser); err != nil {
		return err
	}
	inv.State = world.InviteAccepted
	h.w.WriteInvitation("invitation_accepted", inv, by)
	return nil
}

func (h *Handlers) deleteInvitation(c *wire.Call, inv *world.Invitation) (wire.Object, error) {
	h.w.DropInvitation(inv)
	return nil, nil
}

// answerInvitation accepts or declines an invitation by its key.
func (h *Handlers) answerInvitation(c *wire.Call, id string) (wire.Object, error) {
	reply := c.Segment("answer")
	c.Check.InvalidIf(reply != "accept" && reply != "decline", "answer", "accept or decline.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	return nil, h.answerByKey(c, id, reply == "accept")
}

// acceptInvitation accepts the invitation of a key, as answerInvitation does: it is for a path
// without the answer.
func (h *Handlers) acceptInvitation(c *wire.Call, id string) (wire.Object, error) {
	const accept = true
	return nil, h.answerByKey(c, id, accept)
}

// answerByKey accepts or declines the invitation of the key in the path, which must be an
// invitation to the profile.
func (h *Handlers) answerByKey(c *wire.Call, id string, accept bool) error {
	key := c.Segment("invitation_key")
	i := slices.IndexFunc(h.w.AllInvitations(), func(inv *world.Invitation) bool { return inv.Key == key })
	if i < 0 || h.w.AllInvitations()[i].Profile != id {
		return noInvitation()
	}
	return h.acceptOrDecline(c, h.w.AllInvitations()[i], accept)
}

// invitationsOf returns the pending invitations of a user, and the one with the key, if
// that is not "".
func (h *Handlers) invitationsOf(userID, key string) []*world.Invitation {
	return wire.Filter(h.w.AllInvitations(), func(inv *world.Invitation) bool {
		isMine := h.isFor(inv, userID) || key != "" && inv.Key == key
		profileExists := h.w.KindOf(inv.Profile) != ""
		return isMine && inv.State == world.InvitePending && profileExists
	})
}

func (h *Handlers) myInvitations(c *wire.Call) (wire.Object, error) {
	return h.pageOfInvitations(c, h.invitationsOf(c.Key.User, c.Value("invitation_key")), h.receivedInvitation)
}

// receivedInvitation renders an invitation for its addressee, with the profile that it
// leads to. The form of that profile is assumed; by an option, it is only the id.
func (h *Handlers) receivedInvitation(inv *world.Invitation) wire.Object {
	o, id := h.w.InvitationObject(inv), wire.ProfileID(inv.Profile)
	if h.w.Options.Account.FlatInvitations {
		return append(o, wire.Member{"entity_id", id})
	}
	kind, name := h.w.KindOf(inv.Profile), "name"
	if kind == wire.KindShare {
		name = "title"
	}
	return append(o, wire.Member{kind, wire.Object{{"id", id}, {name, h.w.ProfileName(inv.Profile)}}})
}

// myInvitation returns the invitation in the path: by its id to the addressee, by its key
// to anyone. An invitation to a deleted profile does not count.
func (h *Handlers) myInvitation(c *wire.Call) (wire.Object, error) {
	name := c.Segment("invitation_id")
	for _, inv := range h.w.AllInvitations() {
		isMine := inv.ID == wire.Plain(name) && h.isFor(inv, c.Key.User)
		if (isMine || inv.Key == name) && h.w.KindOf(inv.Profile) != "" {
			return wire.Object{{"invitation", h.receivedInvitation(inv)}}, nil
		}
	}
	return nil, noInvitation()
}

// acceptInvitations accepts all invitations of the caller, and the invitation with the key
// in the form. It skips, without an error, those to profiles in which the credential may not
// write. If it accepts none, it returns the error of the last one that failed (assumed).
func (h *Handlers) acceptInvitations(c *wire.Call) (wire.Object, error) {
	if err := c.CheckWrite(); err != nil {
		return nil, err
	}
	key, _ := c.Field("invitation_key")
	accepted := 0
	var err error
	for _, inv := range h.invitationsOf(c.Key.User, key) {
		if mayWrite := h.w.AccessMode(c.Key, inv.Profile) >= wire.Write; !mayWrite {
			continue
		}
		if refusal := h.w.Redeem(inv, c.Key.User, h.w.Joiner(c.Key)); refusal != nil {
			err = refusal
			continue
		}
		accepted++
	}
	if accepted == 0 {
		return nil, err
	}
	return nil, nil
}
