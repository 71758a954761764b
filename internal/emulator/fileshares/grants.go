package fileshares

import (
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const grantsMost = 1000 // of one list

// listGrants answers with who was given a File Share.
func (h *Handlers) listGrants(c *wire.Call) (wire.Object, error) {
	f, err := h.fileShareToManage(c, wire.Read)
	if err != nil {
		return nil, err
	}
	return wire.Object{{"grants", h.grantRows(f, grantsMost)}}, nil
}

func (h *Handlers) grantRows(f *world.FileShare, most int) []wire.Object {
	rows := []wire.Object{}
	for i := range f.Grants[:min(most, len(f.Grants))] {
		rows = append(rows, h.grantObject(f, &f.Grants[i]))
	}
	return rows
}

// grantObject is a grant as members of the workspace see it. It ends with the File Share at the latest.
func (h *Handlers) grantObject(f *world.FileShare, g *world.Grant) wire.Object {
	ends := g.Expires
	if !f.Expires.IsZero() && (ends.IsZero() || ends.After(f.Expires)) {
		ends = f.Expires
	}
	email, state := g.Email, "pending"
	if u := h.Users[g.User]; u != nil {
		email, state = u.Value.Email, "active"
	}
	return wire.Object{
		{"user", wire.OptionalProfile(g.User)},
		{"name", wire.Optional(h.ProfileName(g.User))},
		{"email", email},
		{"capability", g.Capability},
		{"state", state},
		{"created", wire.Stamp(g.Created.Unix())},
		{"expires", world.OptionalStamp(ends)},
	}
}

// setGrant gives a File Share to somebody. The answer depends on how that one was named, and known.
func (h *Handlers) setGrant(c *wire.Call) (wire.Object, error) {
	f, err := h.fileShareToManage(c, wire.Write)
	if err != nil {
		return nil, err
	}
	user, _ := c.Field("user")
	email, _ := c.Field("email")
	h.checkGrantee(c, user, email)
	level, _ := c.Field("capability")
	switch {
	case level == "":
		c.Check.Missing("capability", "view, download or edit.")
	case world.ParseCapability(level) == world.NoCapability:
		c.Check.Invalid("capability", "view, download or edit.")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if user != "" && h.Users[user] == nil {
		return nil, wire.NoSuch(wire.CodeNotFound, wire.KindUser)
	}
	before := slices.Clone(f.Grants)
	g := h.give(f, world.Grant{User: user, Email: email, Capability: level})
	if !slices.Equal(before, f.Grants) {
		h.tellGrant(f, "file_share_access_granted", g.User, c)
	}
	switch {
	case user != "":
		return nil, nil
	case g.User != "":
		return wire.Object{{"user", wire.Object{{"id", wire.ProfileID(g.User)}}}}, nil
	}
	return wire.Object{{"grant", h.grantObject(f, &g)}}, nil
}

// checkGrantee refuses who is not named, or named twice.
func (h *Handlers) checkGrantee(c *wire.Call, user, email string) {
	c.Check.Status = h.Options.FileShares.InvalidStatus
	switch {
	case (user == "") == (email == ""):
		c.Check.Invalid("user", "Exactly one of user and email.")
	case user != "" && !wire.IsProfile(user):
		c.Check.Mistyped("user", "profile_id")
	case email != "" && !wire.IsEmail(email):
		c.Check.Invalid("email", "An e-mail address.")
	}
}

// tellGrant writes an event about what somebody was given or lost.
func (h *Handlers) tellGrant(f *world.FileShare, event, user string, c *wire.Call) {
	h.FileShareEvent(f, world.Event{Name: event, User: user, CallingUser: c.Key.User, Actor: h.ActorOf(c.Key)})
	h.Touch(h.Now(), f.ID, world.FieldsFor("member", user, world.FieldMembers)...)
}

// revokeGrant takes a File Share from somebody, named in the query alone. To take what nobody has succeeds.
func (h *Handlers) revokeGrant(c *wire.Call) (wire.Object, error) {
	f, err := h.fileShareToManage(c, wire.Write)
	if err != nil {
		return nil, err
	}
	user, email := c.Value("user"), c.Value("email")
	h.checkGrantee(c, user, email)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if user == "" {
		user = h.UserOf(email)
	}
	had := len(f.Grants)
	f.Grants = slices.DeleteFunc(f.Grants, func(g world.Grant) bool { return world.GrantIsFor(&g, user, email) })
	if len(f.Grants) < had {
		h.tellGrant(f, "file_share_access_revoked", user, c)
	}
	return nil, nil
}
