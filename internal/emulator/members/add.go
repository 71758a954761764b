package members

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/shares"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	messageLeast, messageMost = 10, 255
	mailPause                 = time.Minute // between two mails about one membership
)

func (h *Handlers) addShareMember(c *wire.Call, id string) (wire.Object, error) {
	target := c.Segment("email_or_user")
	user := h.UserNamed(target)
	if user == "" && wire.IsProfile(target) {
		return nil, wire.NoSuch(wire.CodeNotFound, "user")
	}
	c.Check.InvalidIf(!wire.IsProfile(target) && !wire.IsEmail(target),
		"email_or_user", "An e-mail address or the id of a user.")
	if err := h.refuseTarget(id, c.Key.User, user); err != nil {
		return nil, err
	}
	if user != "" && (wire.IsProfile(target) || h.Options.Shares.AddByEmail || h.Members[id][user] != nil) {
		return h.addDirectly(c, id, user)
	}
	return h.invite(c, id, target, user)
}

func (h *Handlers) inviters(id string) world.Role {
	if share := h.Shares[id]; share != nil && share.Value.Invite == shares.InviteGuests {
		return world.Guest
	}
	return world.Admin
}

func (h *Handlers) refuseTarget(where, caller, user string) error {
	switch {
	case user == "":
		return nil
	case user == caller:
		return wire.Refuse(http.StatusNotAcceptable, codeSelfTarget, "You cannot add yourself.")
	case h.Direct(where, user) == world.Owner:
		return wire.Refuse(http.StatusNotAcceptable, codeOwnerTarget, "The owner cannot be added.")
	}
	return nil
}

func (h *Handlers) addDirectly(c *wire.Call, id, user string) (wire.Object, error) {
	t := h.readTerms(c, true)
	force, _ := c.Field("notification")
	c.Check.InvalidIf(force != "" && force != "force", "notification", "force.")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	m := h.Members[id][user]
	if m == nil && t.role == "" {
		t.role = world.Member
	}
	if err := h.refuseRole(id, c.Key.User, t.role, codeRoleAbove); err != nil {
		return nil, err
	}
	if m == nil {
		if err := h.RefuseOutsider(id, user, t.role); err != nil {
			return nil, err
		}
		m = h.Enroll(id, user, t.role, t.notify, h.Joiner(c.Key))
		m.Role = t.role
		if t.expires != nil {
			h.EndAt(id, user, *t.expires)
		}
		h.mailMember(id, user, m)
		return nil, nil
	}
	if err := h.change(c, id, user, t); err != nil {
		return nil, err
	}
	if force != "" {
		h.mailMember(id, user, m)
	}
	return nil, nil
}

// mailMember tells a user of a membership, though not twice in a minute.
func (h *Handlers) mailMember(id, user string, m *world.Membership) {
	now := h.Now()
	if !m.Mailed.IsZero() && now.Sub(m.Mailed) < mailPause {
		return
	}
	m.Mailed = now
	h.Outbox = append(h.Outbox, world.Mail{To: h.Users[user].Value.Email, Profile: id, At: now})
}

// invite sends an invitation to an e-mail address, or the one that is on its way once more, on the new terms.
func (h *Handlers) invite(c *wire.Call, id, email, user string) (wire.Object, error) {
	t := h.readInvite(c)
	message, _ := c.Field("message")
	n := utf8.RuneCountInString(message)
	c.Check.InvalidIf(n > 0 && (n < messageLeast || n > messageMost), "message", "10 to 255 characters.")
	role := h.refuseRole(id, c.Key.User, t.role, codeRoleAbove)
	if err := cmp.Or(c.Check.Refusal(), role, h.OutsiderPolicy(id, user)); err != nil {
		return nil, err
	}
	v := h.InvitationNamed(id, email)
	if v == nil || !v.Open() {
		if n := len(h.Expected(id)); h.Options.Shares.InvitationLimit > 0 && n >= h.Options.Shares.InvitationLimit {
			return nil, wire.Refuse(http.StatusPreconditionFailed, codeInvitationLimit,
				"Feature Limit: the plan allows no more invitations.")
		}
		v = h.KeepInvitation(world.SeedInvitation{
			Profile: id, Email: email, Inviter: c.Key.User, Role: t.role, Message: message, Expires: *t.expires,
		}, h.ActorOf(c.Key))
	} else {
		v.Role, v.Message, v.Expires, v.Updated = t.role, message, *t.expires, h.Now()
		h.MailInvitation(v)
		h.TouchInvitation(v)
	}
	return wire.Object{{
		"invitation",
		append(h.InvitationObject(v), wire.Member{"share", h.shares.ShareObject(id, c.Key.User, wire.Terse)}),
	}}, nil
}

// readInvite reads what an invitation says. The fields of those who become members at once mean nothing here.
func (h *Handlers) readInvite(c *wire.Call) conditions {
	t := conditions{role: world.Member, expires: new(time.Time{})}
	if value, given := c.Field("permissions"); given {
		t.role = role(c, value)
	}
	if value, _ := c.Field("invitation_expires"); value != "" {
		*t.expires = h.ahead(c, "invitation_expires", value)
	}
	return t
}

type conditions struct {
	role    world.Role // "" is not said
	notify  string
	expires *time.Time // nil is not said, zero is without end
}

// readTerms reads permissions, notify_options and expires. The literal null and the empty value take an end away where
// the call may do that.
func (h *Handlers) readTerms(c *wire.Call, clears bool) conditions {
	var t conditions
	if value, given := c.Field("permissions"); given {
		t.role = role(c, value)
	}
	t.notify = notifyOptions(c)
	value, given := c.Field("expires")
	switch {
	case given && clears && (value == "" || value == "null"):
		t.expires = new(time.Time{})
	case value != "":
		t.expires = new(h.ahead(c, "expires", value))
	}
	return t
}

// role reads a role. The owner's is one, though none to be given.
func role(c *wire.Call, name string) world.Role {
	c.Check.InvalidIf(world.Rank(world.Role(name)) == 0, "permissions", "admin, member, guest or view.")
	return world.Role(name)
}

func notifyOptions(c *wire.Call) string {
	value, _ := c.Field("notify_options")
	c.Check.InvalidIf(value != "" && !slices.Contains(world.NotifyOptions(), value),
		"notify_options", "One of: "+strings.Join(world.NotifyOptions(), "; ")+".")
	return value
}

// ahead reads a time that must be in the future.
func (h *Handlers) ahead(c *wire.Call, name, value string) time.Time {
	t := c.ReadDateTime(name, value)
	c.Check.InvalidIf(!t.IsZero() && !t.After(h.Now()), name, "It has passed.")
	return t
}

// widens reports whether conditions are more than a role until a time; the zero time is none.
func (t conditions) widens(role world.Role, expires time.Time) bool {
	return world.Rank(t.role) > world.Rank(role) ||
		t.expires != nil && !expires.IsZero() && (t.expires.IsZero() || t.expires.After(expires))
}

// refuseRole refuses a role that nobody gets by being added, and one above the caller's. An invitation to be changed
// has a code for the latter, which comes first.
func (h *Handlers) refuseRole(where, caller string, role world.Role, above int64) error {
	exceeds := world.Rank(role) > world.Rank(h.Role(where, caller))
	switch {
	case role == world.Owner && (!exceeds || above != codeInviteRole):
		return wire.Refuse(http.StatusNotAcceptable, codeOwnerRole, "Adding an owner is not allowed.")
	case exceeds:
		return wire.Refuse(http.StatusNotAcceptable, above, "The permissions are above your own.")
	}
	return nil
}
