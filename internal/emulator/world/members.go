package world

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Membership is the membership of a user in a profile.
type Membership struct {
	Role    Role
	Notify  string
	added   int64 // Unix seconds, 0 is as long as the profile exists
	Expires time.Time
	Mailed  time.Time // time of the last mail to its user
}

// NotifyOptions returns the notification settings of a member.
func NotifyOptions() []string {
	return []string{
		"Do not notify me", "Notify me in app", "Notify me in app and via email",
		"Notify me via app, email and text message",
	}
}

// AddMembership adds or replaces a membership and returns it with defaults: the role
// member, added now. It takes the lock.
func (w *World) AddMembership(m SeedMembership) SeedMembership {
	w.Lock()
	defer w.Unlock()
	m.Role = cmp.Or(m.Role, Member)
	m.Added = cmp.Or(m.Added, w.Now())
	m.Added = m.Added.UTC().Truncate(time.Second)
	w.PutMember(m.Profile, m.User, m.Role)
	kept := w.members[m.Profile][m.User]
	kept.Notify, kept.added = m.Notify, m.Added.Unix()
	w.MarkChanged(w.Now(), m.Profile, FieldOf("member", m.User), FieldMembers)
	w.EndMembershipAt(m.Profile, m.User, m.Expires)
	return m
}

// SetMember sets the role of a user on an organization, workspace or share; the
// empty role removes the user.
func (w *World) SetMember(profileID, userID string, role Role) {
	w.Lock()
	defer w.Unlock()
	isNew := w.members[profileID][userID] == nil
	w.PutMember(profileID, userID, role)
	if isNew && role != "" {
		w.members[profileID][userID].added = w.Now().Unix()
	}
	w.MarkChanged(w.Now(), profileID, FieldOf("member", userID), FieldMembers)
}

// PutMember sets the role of a user on a profile, without an event; the empty role ends
// the membership.
func (w *Directory) PutMember(profileID, userID string, role Role) {
	if role == "" {
		delete(w.members[profileID], userID)
		return
	}
	if w.members[profileID] == nil {
		w.members[profileID] = map[string]*Membership{}
	}
	if m := w.members[profileID][userID]; m != nil {
		m.Role = role
		return
	}
	w.members[profileID][userID] = &Membership{Role: role}
}

// DirectRole returns the role that a user was given on a profile, without roles from other
// profiles; "" if there is none.
func (w *Directory) DirectRole(profileID, userID string) Role {
	if m := w.members[profileID][userID]; m != nil {
		return m.Role
	}
	return ""
}

// MembersOf returns the users with a role of their own on a profile, in the order of
// their ids.
func (w *Directory) MembersOf(profileID string) []string {
	return slices.Sorted(maps.Keys(w.members[profileID]))
}

// EndMembershipAt sets when a membership ends; the zero time means never.
func (w *World) EndMembershipAt(profileID, userID string, at time.Time) {
	m := w.members[profileID][userID]
	m.Expires = at
	if at.IsZero() {
		return
	}
	w.Schedule(at, endMembership{w: w, profile: profileID, user: userID, m: m, at: at})
}

// endMembership ends a membership, unless its end was changed.
type endMembership struct {
	w             *World
	profile, user string
	m             *Membership
	at            time.Time
}

// Do ends the membership, unless its end was changed or it ended since.
func (t endMembership) Do() {
	if t.w.members[t.profile][t.user] == t.m && t.m.Expires.Equal(t.at) {
		t.w.EndMembership(t.profile, t.user, Platform, t.w.Actor(Platform))
	}
}

// EndMembership removes a user from a profile and writes the event.
func (w *World) EndMembership(profileID, userID, caller string, actor *Actor) {
	const noRole = ""
	w.PutMember(profileID, userID, noRole)
	w.WriteMembership("removed_member_from_"+w.KindOf(profileID), profileID, userID, caller, actor)
}

// WriteMembership writes an event about a member.
func (w *World) WriteMembership(event, profileID, userID, caller string, actor *Actor) {
	w.EventIn(profileID,
		Event{Name: event, Category: w.KindOf(profileID), User: userID, CallingUser: caller, Actor: actor})
}

// MemberList returns the members of a profile in order of id, then the users of its pending
// invitations, each user once. The caller holds the lock and has checked access.
func (w *World) MemberList(c *wire.Call, profileID string) (wire.Object, error) {
	ids := w.MembersOf(profileID)
	for _, inv := range w.OpenInvitations(profileID) {
		if !slices.Contains(ids, w.GuestID(inv)) {
			ids = append(ids, w.GuestID(inv))
		}
	}
	return w.List(c, "users", ids, func(id, viewer string, _ wire.Level) wire.Object {
		return w.MemberObject(profileID, id, viewer)
	})
}

// MemberObject renders a member, or an invited user, for the viewer. Only the member
// itself and admins see dates and settings.
func (w *World) MemberObject(profileID, id, viewer string) wire.Object {
	m, inv := w.members[profileID][id], w.InvitationOfGuest(profileID, id)
	var o wire.Object
	switch u := w.users[id]; {
	case u != nil:
		o = person(id, u.Value)
	case inv != nil:
		o = person(id, User{AccountType: "human", Email: inv.Email, FirstName: inv.Email})
	}
	seesDetails := viewer == id || w.AtLeast(profileID, viewer, Admin)
	switch {
	case m != nil:
		o = append(o, wire.Member{"permissions", string(m.Role)}, wire.Member{"status", "active"})
		if seesDetails {
			o = append(o,
				wire.Member{"member_added_at", wire.Stamp(cmp.Or(m.added, w.createdAt(profileID)))},
				wire.Member{"notify", wire.TextOrNull(m.Notify)},
				wire.Member{"expires", wire.StampOrNull(m.Expires)},
				wire.Member{"invite", nil},
			)
		}
	case inv != nil:
		o = append(o, wire.Member{"permissions", string(inv.Role)}, wire.Member{"status", "pending"})
		if seesDetails {
			o = append(o, wire.Member{"member_added_at", nil}, wire.Member{"notify", wire.TextOrNull(inv.Notify)},
				wire.Member{"expires", nil}, wire.Member{"invite", wire.Object{
					{"id", wire.Hyphenated(inv.ID)},
					{"created", zoneless(inv.Created)},
					{"expires", zoneless(inv.Expires)},
				}})
		}
	}
	return o
}

// person renders what members see of a user, or of an invited address with its stand-in id.
func person(id string, u User) wire.Object {
	return wire.Object{
		{"id", wire.ProfileID(id)},
		{"account_type", u.AccountType},
		{"email_address", u.Email},
		{"first_name", u.FirstName},
		{"last_name", u.LastName},
	}
}

// createdAt returns the creation of an organization, workspace or share in Unix seconds,
// 0 for any other profile.
func (w *Directory) createdAt(id string) int64 {
	switch w.KindOf(id) {
	case wire.KindOrg:
		return w.orgs[id].Created
	case wire.KindWorkspace:
		return w.workspaces[id].Created
	case wire.KindShare:
		return w.shares[id].Created
	}
	return 0
}

// zoneless returns a time in the form that only the invitation of a member has:
// without a zone.
func zoneless(t time.Time) any {
	text, given := wire.StampOrNull(t).(string)
	if !given {
		return nil
	}
	return strings.TrimSuffix(text, " UTC")
}

// States of an invitation.
const (
	InvitePending  = "pending"
	InviteAccepted = "accepted"
	InviteDeclined = "declined"
)

// InviteStates returns the states of an invitation.
func InviteStates() []string { return []string{InvitePending, InviteAccepted, InviteDeclined} }

// Invitation is a stored invitation.
type Invitation struct {
	SeedInvitation
	standInID  string // the id of the pending member as long as the address has no account
	AcceptedBy string // the account that became a member, "" as long as none did
	actor      *Actor
	Updated    time.Time
}

// AddInvitation adds an invitation and its mail, and returns the invitation with defaults.
func (w *World) AddInvitation(it SeedInvitation) SeedInvitation {
	w.Lock()
	defer w.Unlock()
	return w.KeepInvitation(it, w.Actor(it.Inviter)).SeedInvitation
}

// Mails returns the mails to an e-mail address, oldest first; "" means to any.
func (w *World) Mails(to string) []Mail {
	w.RLock()
	defer w.RUnlock()
	return wire.Filter(w.outbox, func(m Mail) bool { return to == "" || strings.EqualFold(m.To, to) })
}

// KeepInvitation fills in the defaults of an invitation, adds it and sends its mail. An
// address without an account is shown as a user with a new id (standInID). The caller holds
// the lock.
func (w *World) KeepInvitation(it SeedInvitation, actor *Actor) *Invitation {
	it.ID = wire.Plain(it.ID)
	if it.ID == "" {
		it.ID = Opaque('i', w.Options.Seed, w.NextSerial()) // the documents show no id: i and j are assumed
	}
	it.Key = cmp.Or(it.Key, Opaque('j', w.Options.Seed, w.NextSerial()))
	it.Role = cmp.Or(it.Role, Member)
	it.State = cmp.Or(it.State, InvitePending)
	it.Created = cmp.Or(it.Created, w.Now())
	it.Created = it.Created.UTC().Truncate(time.Second)
	it.Email = strings.ToLower(it.Email)
	inv := &Invitation{SeedInvitation: it, standInID: w.NewProfileID(""), actor: actor, Updated: it.Created}
	w.invitations = append(w.invitations, inv)
	w.MailInvitation(inv)
	w.MarkInvitationChanged(inv)
	return inv
}

// MailInvitation adds the mail of an invitation to the outbox, which tests read.
func (w *World) MailInvitation(inv *Invitation) {
	w.outbox = append(w.outbox, Mail{
		To: inv.Email, Profile: inv.Profile, Invitation: inv.ID, Key: inv.Key, Message: inv.Message, At: w.Now(),
	})
}

// MarkInvitationChanged reports a change of the members of a profile to those who poll.
func (w *World) MarkInvitationChanged(inv *Invitation) {
	w.MarkChanged(w.Now(), inv.Profile, FieldOf("member", w.GuestID(inv)), FieldMembers)
}

// IsOpen reports whether an invitation can still be accepted. An invitation that an
// admin has accepted for an address without an account is open until there is one.
func (inv *Invitation) IsOpen() bool {
	return inv.State == InvitePending || inv.State == InviteAccepted && inv.AcceptedBy == ""
}

// GuestID returns the id of the invited user: that of the account with the address, or
// else one that stands for it.
func (w *Directory) GuestID(inv *Invitation) string {
	return cmp.Or(w.UserNamed(inv.Email), inv.standInID)
}

// OpenInvitations returns the pending invitations to a profile.
func (w *World) OpenInvitations(profileID string) []*Invitation {
	return wire.Filter(w.invitations, func(inv *Invitation) bool { return inv.Profile == profileID && inv.IsOpen() })
}

// InvitationOfGuest returns the open invitation to a profile whose [World.GuestID] is
// guest, nil if there is none.
func (w *World) InvitationOfGuest(profileID, guest string) *Invitation {
	for _, inv := range w.OpenInvitations(profileID) {
		if w.GuestID(inv) == guest {
			return inv
		}
	}
	return nil
}

// InvitationNamed returns the latest invitation to a profile with an id or an e-mail
// address, nil if there is none.
func (w *World) InvitationNamed(profileID, name string) *Invitation {
	for _, inv := range slices.Backward(w.invitations) {
		if inv.Profile == profileID && (inv.ID == wire.Plain(name) || strings.EqualFold(inv.Email, name)) {
			return inv
		}
	}
	return nil
}

// DropInvitation removes an invitation and its pending member.
func (w *World) DropInvitation(inv *Invitation) {
	w.MarkInvitationChanged(inv)
	w.invitations = slices.DeleteFunc(w.invitations, func(other *Invitation) bool { return other == inv })
}

// UserNamed returns the id of a user by id or e-mail address, "" if there is none.
func (w *Directory) UserNamed(name string) string {
	if w.users[name] != nil {
		return name
	}
	return w.UserWithEmail(name)
}

// InvitationObject renders an invitation, without its key, which only the mail has.
func (w *World) InvitationObject(inv *Invitation) wire.Object {
	return wire.Object{
		{"id", wire.Hyphenated(inv.ID)},
		{"inviter", wire.ProfileOrNull(inv.Inviter)},
		{"inviter_actor", ActorObject(*inv.actor)},
		{"invitee_email", inv.Email},
		{"invitee_uid", wire.ProfileOrNull(w.UserNamed(inv.Email))},
		{"accepted_uid", wire.ProfileOrNull(inv.AcceptedBy)},
		{"entity_type", w.KindOf(inv.Profile)},
		{"state", inv.State},
		{"consumed", inv.AcceptedBy != ""},
		{"created", wire.Stamp(inv.Created.Unix())},
		{"updated", wire.Stamp(inv.Updated.Unix())},
		{"expires", wire.StampOrNull(inv.Expires)},
	}
}

// Joiner is who makes a user a member.
type Joiner struct {
	caller string
	actor  *Actor
}

// Joiner returns the user and the actor of a credential.
func (w *Directory) Joiner(k *wire.Credential) Joiner { return Joiner{k.User, w.ActorOf(k)} }

// Redeem accepts an invitation for an account, which becomes a member. It returns a
// refusal if the invitation is not open, or a policy forbids it. An invitation that an
// admin has already accepted, before there was an account, writes no event again.
func (w *World) Redeem(inv *Invitation, userID string, by Joiner) error {
	if err := w.RefuseRedeem(inv, userID); err != nil {
		return err
	}
	acceptedBefore := inv.State != InvitePending
	inv.State, inv.AcceptedBy, inv.Updated = InviteAccepted, userID, w.Now()
	if !acceptedBefore {
		w.WriteInvitation("invitation_accepted", inv, by)
	}
	w.Enroll(inv.Profile, userID, inv.Role, inv.Notify, by)
	return nil
}

// WriteInvitation writes an event about an invitation.
func (w *World) WriteInvitation(event string, inv *Invitation, by Joiner) {
	guest := cmp.Or(inv.AcceptedBy, w.UserNamed(inv.Email))
	w.EventIn(inv.Profile, Event{Name: event, User: guest, CallingUser: by.caller, Actor: by.actor})
}

// NoUser is the user of [World.RefuseRedeem] for an address without an account.
const NoUser = ""

// RefuseRedeem returns a refusal if an invitation was answered, has expired, or a policy
// forbids it for the user. An invitation that an admin has accepted for an address without
// an account does not expire.
func (w *World) RefuseRedeem(inv *Invitation, userID string) error {
	mayExpire := inv.State == InvitePending && !inv.Expires.IsZero()
	switch {
	case !inv.IsOpen():
		return AlreadyAnswered()
	case mayExpire && !w.Now().Before(inv.Expires):
		return wire.Refuse(http.StatusNotAcceptable, codeInvitationPast,
			"The invitation could be accepted until "+wire.Stamp(inv.Expires.Unix())+".")
	}
	return w.RefuseOutsider(inv.Profile, userID, inv.Role)
}

// AlreadyAnswered returns the refusal of a second answer to an invitation.
func AlreadyAnswered() error {
	return wire.Refuse(http.StatusNotAcceptable, codeInvitationSettled, "The invitation has been answered.")
}

// JoinInvited accepts all invitations to the e-mail address of a new account. Those
// that a policy forbids stay open.
func (w *World) JoinInvited(userID string) {
	email := w.users[userID].Value.Email
	for _, inv := range w.invitations {
		if inv.IsOpen() && strings.EqualFold(inv.Email, email) && w.KindOf(inv.Profile) != "" {
			_ = w.Redeem(inv, userID, Joiner{userID, w.Actor(userID)})
		}
	}
}

// Enroll makes a user a member of a profile, and writes the event. A user who is a member
// already gets the higher one of both roles. An open invitation of the user to the profile
// counts as accepted.
func (w *World) Enroll(profileID, userID string, role Role, notify string, by Joiner) *Membership {
	before := w.DirectRole(profileID, userID)
	w.PutMember(profileID, userID, higher(before, role))
	m := w.members[profileID][userID]
	m.Notify = cmp.Or(notify, m.Notify)
	switch {
	case before == "":
		m.added = w.Now().Unix()
		w.WriteMembership("added_member_to_"+w.KindOf(profileID), profileID, userID, by.caller, by.actor)
	case before != m.Role:
		w.WriteMembership("membership_updated", profileID, userID, by.caller, by.actor)
	}
	if inv := w.InvitationOfGuest(profileID, userID); inv != nil {
		inv.State, inv.AcceptedBy, inv.Updated = InviteAccepted, userID, w.Now()
	}
	return m
}

// RefuseOutsider returns a refusal if a user from outside the organization would get a
// higher role on a profile, and a policy forbids it. The userID is "" for an address
// without an account. A policy of the organization takes precedence over that of a
// share.
func (w *Directory) RefuseOutsider(profileID, userID string, role Role) error {
	if w.AtLeast(profileID, userID, role) {
		return nil
	}
	return w.RefuseByOutsiderPolicy(profileID, userID)
}

// RefuseByOutsiderPolicy returns a refusal if the user is not in the organization of a
// profile, and a policy of the organization or of the share excludes such users.
func (w *Directory) RefuseByOutsiderPolicy(profileID, userID string) error {
	org := w.OrgOf(profileID)
	if w.Role(org, userID) != "" {
		return nil
	}
	reason := w.DeniesOutsiders(profileID)
	if reason == "" {
		return nil
	}
	code := int64(codeOrgDeniesOutsiders)
	if reason == reasonShareDeniesOutsiders {
		code = codeShareDeniesOutsiders
	}
	return wire.RefuseWithReason(http.StatusForbidden, code, reason,
		"Users outside the organization may not be given access.")
}

// Reasons of refusals of external users.
const (
	reasonOrgDeniesOutsiders   = "external_invites_denied"
	reasonShareDeniesOutsiders = "external_invites_object_denied"
)

// DeniesOutsiders returns the reason why users from outside the organization cannot
// become members of a profile, "" if they can.
func (w *Directory) DeniesOutsiders(profileID string) string {
	if o := w.orgs[w.OrgOf(profileID)]; o != nil && o.Value.ExternalInvites == policyDenied {
		return reasonOrgDeniesOutsiders
	}
	if share := w.shares[profileID]; share != nil && share.Value.ExternalInvites == policyDenied {
		return reasonShareDeniesOutsiders
	}
	return ""
}

const policyDenied = "denied" // the other values are "allowed" and, for what is inherited, ""

// Wire values of permissions in workspaces.
const (
	OrgOwnersOnly = "Only Org Owners"
	AdminOrAbove  = "Admin or above"
	MemberOrAbove = "Member or above"
)

// RoleToJoin returns the organization role required to join a workspace.
func RoleToJoin(who string) Role {
	return cmp.Or(map[string]Role{OrgOwnersOnly: Owner, AdminOrAbove: Admin}[who], Member)
}
