package members

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

func (h *Handlers) shareInvitations(c *wire.Call, id string) (wire.Object, error) {
	if !h.AtLeast(id, c.Key.User, h.inviters(id)) {
		return nil, roleTooLow()
	}
	state := c.Segment("state")
	c.Check.InvalidIf(c.Request.PathValue("state") != "" && !slices.Contains(world.InviteStates(), state),
		"state", strings.Join(world.InviteStates(), ", ")+".")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	list := wire.Filter(h.Invitations,
		func(v *world.Invitation) bool { return v.Profile == id && (state == "" || v.State == state) })
	return wire.Object{{"invitations", wire.Rows(list, h.InvitationObject)}}, nil
}

// invitationOfPath finds the invitation of a call, by id or e-mail address. The caller must have the role, and no less
// of one than the invitation gives.
func (h *Handlers) invitationOfPath(least world.Role) func(*wire.Call) (*world.Invitation, error) {
	return func(c *wire.Call) (*world.Invitation, error) {
		id, err := h.managedShare(least)(c)
		if err != nil {
			return nil, err
		}
		v := h.InvitationNamed(id, c.Segment("invitation_id"))
		switch {
		case v == nil:
			return nil, noInvitation()
		case !h.AtLeast(id, c.Key.User, v.Role):
			return nil, roleTooLow()
		}
		return v, nil
	}
}

func noInvitation() error { return wire.NoSuch(codeNoInvitation, "invitation") }

// updateInvitation answers an invitation for its guest, which takes an admin, sends it again or gives it other terms:
// all of what the call says, or nothing.
func (h *Handlers) updateInvitation(c *wire.Call, v *world.Invitation) (wire.Object, error) {
	t := h.readTerms(c, false)
	state, _ := c.Field("state")
	c.Check.InvalidIf(state != "" && !slices.Contains(world.InviteStates(), state),
		"state", strings.Join(world.InviteStates(), ", ")+".")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	answers := state == world.InviteAccepted || state == world.InviteDeclined
	switch {
	case answers && !h.AtLeast(v.Profile, c.Key.User, world.Admin):
		return nil, roleTooLow()
	case v.AcceptedBy != "", v.State == world.InviteDeclined && state == "":
		return nil, world.Settled()
	}
	before := *v
	if err := h.revise(c, v, t); err != nil {
		return nil, err
	}
	if err := h.settleInvitation(c, v, state); err != nil {
		*v = before
		return nil, err
	}
	h.TouchInvitation(v)
	return wire.Object{{"invitation", h.InvitationObject(v)}}, nil
}

func (h *Handlers) revise(c *wire.Call, v *world.Invitation, t conditions) error {
	if err := h.refuseRole(v.Profile, c.Key.User, t.role, codeInviteRole); err != nil {
		return err
	}
	if t.widens(v.Role, v.Expires) {
		if err := h.OutsiderPolicy(v.Profile, h.UserNamed(v.Email)); err != nil {
			return err
		}
	}
	v.Role, v.Notify = cmp.Or(t.role, v.Role), cmp.Or(t.notify, v.Notify)
	if t.expires != nil {
		v.Expires = *t.expires
	}
	v.Updated = h.Now()
	h.TouchInvitation(v)
	return nil
}

// settleInvitation moves an invitation to a state. Pending is what sends it again [A].
func (h *Handlers) settleInvitation(c *wire.Call, v *world.Invitation, state string) error {
	user := h.UserNamed(v.Email)
	switch state {
	case world.InviteDeclined:
		v.State = world.InviteDeclined
	case world.InvitePending:
		if err := h.OutsiderPolicy(v.Profile, user); err != nil {
			return err
		}
		v.State = world.InvitePending
		h.MailInvitation(v)
	case world.InviteAccepted:
		if user != "" {
			return h.Redeem(v, user, h.Joiner(c.Key))
		}
		if err := h.Redeemable(v, ""); err != nil {
			return err
		}
		v.State = world.InviteAccepted // the account that is still to come is a member at once
	}
	return nil
}

func (h *Handlers) deleteInvitation(c *wire.Call, v *world.Invitation) (wire.Object, error) {
	h.DropInvitation(v)
	return nil, nil
}

// answerInvitation accepts or declines an invitation for whoever has its key.
func (h *Handlers) answerInvitation(c *wire.Call, id string) (wire.Object, error) {
	reply := c.Segment("answer")
	c.Check.InvalidIf(reply != "accept" && reply != "decline", "answer", "accept or decline.")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	key := c.Segment("invitation_key")
	i := slices.IndexFunc(h.Invitations, func(v *world.Invitation) bool { return v.Key == key })
	if i < 0 || h.Invitations[i].Profile != id {
		return nil, noInvitation()
	}
	switch v := h.Invitations[i]; {
	case reply == "accept":
		return nil, h.Redeem(v, c.Key.User, h.Joiner(c.Key))
	case !v.Open():
		return nil, world.Settled()
	default:
		v.State, v.Updated = world.InviteDeclined, h.Now()
		h.TouchInvitation(v)
		return nil, nil
	}
}

func (h *Handlers) invitationsOf(userID, key string) []*world.Invitation {
	return wire.Filter(h.Invitations, func(v *world.Invitation) bool {
		isMine := strings.EqualFold(v.Email, h.Users[userID].Value.Email) || key != "" && v.Key == key
		return isMine && v.State == world.InvitePending && h.KindOf(v.Profile) != ""
	})
}

// myInvitations lists what the caller was asked to join and has not answered.
func (h *Handlers) myInvitations(c *wire.Call) (wire.Object, error) {
	byID := map[string]*world.Invitation{}
	var ids []string
	for _, v := range h.invitationsOf(c.Key.User, c.Value("invitation_key")) {
		byID[v.ID] = v
		ids = append(ids, v.ID)
	}
	return h.List(c, "invitations", ids,
		func(id, _ string, _ wire.Level) wire.Object { return h.InvitationObject(byID[id]) })
}

// myInvitation shows one invitation to whoever it is for, or has its key.
func (h *Handlers) myInvitation(c *wire.Call) (wire.Object, error) {
	name := c.Segment("invitation_id")
	for _, v := range h.Invitations {
		isMine := v.ID == wire.Plain(name) && strings.EqualFold(v.Email, h.Users[c.Key.User].Value.Email)
		if (isMine || v.Key == name) && h.KindOf(v.Profile) != "" {
			return wire.Object{{"invitation", h.InvitationObject(v)}}, nil
		}
	}
	return nil, noInvitation()
}

// acceptInvitations accepts all that the caller was asked to join. What cannot be accepted stays pending; it is the
// answer where nothing else could be [A].
func (h *Handlers) acceptInvitations(c *wire.Call) (wire.Object, error) {
	if err := c.MayWrite(); err != nil {
		return nil, err
	}
	key, _ := c.Field("invitation_key")
	accepted := 0
	var err error
	for _, v := range h.invitationsOf(c.Key.User, key) {
		if h.Covers(c.Key, v.Profile) < wire.Write {
			continue
		}
		if refusal := h.Redeem(v, c.Key.User, h.Joiner(c.Key)); refusal != nil {
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
