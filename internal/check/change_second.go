package check

import (
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/shares"
)

// secondChanges returns the calls with a second person, for the workspace and for the
// share. That person becomes a guest, an admin and the owner, transfers the place back,
// leaves, joins again, and is removed. A row is an operation, the form of its call, and the
// call.
func secondChanges() []callRow[place] {
	second := func(c call) api.Person { return api.Person(c.things["second"]) }
	return []callRow[place]{
		{"members.Add", plainForm, func(c call, p place) error {
			return onlyError(c.Members.Add(c, p.Profile, second(c), members.AddRequest{Role: members.RoleGuest}))
		}},
		{"members.Update", plainForm, func(c call, p place) error {
			return c.Members.Update(c, p.Profile, second(c), members.UpdateRequest{Role: members.RoleAdmin})
		}},
		{"members.TransferOwnership", plainForm, func(c call, p place) error {
			return onlyError(c.Members.TransferOwnership(c, p.Profile, api.ID(second(c))))
		}},
		{"members.TransferOwnership", plainForm, func(c call, p place) error {
			return c.asSecond(func() error {
				return onlyError(c.Members.TransferOwnership(c, p.Profile, c.me))
			})
		}},
		{"members.Leave", plainForm, func(c call, p place) error {
			return c.asSecond(func() error { return c.Members.Leave(c, p.Profile) })
		}},
		{"shares.Update", plainForm, func(c call, p place) error {
			if p.Kind != api.ProfileKindShare {
				return nil
			}
			return c.Shares.Update(c, p.ID, shares.UpdateRequest{Access: shares.AccessOrg}) // so that it can be joined
		}},
		{"members.Join", plainForm, func(c call, p place) error {
			return c.asSecond(func() error { return c.Members.Join(c, p.Profile, nil) })
		}},
		// This adds the person if Join was refused, so that the next call has a member to remove.
		{"members.Add", plainForm, func(c call, p place) error {
			return onlyError(c.Members.Add(c, p.Profile, second(c), members.AddRequest{Role: members.RoleGuest}))
		}},
		{"members.Remove", plainForm, func(c call, p place) error { return c.Members.Remove(c, p.Profile, second(c)) }},
	}
}

// asSecond makes a call with the credential of the second person, and then gives the
// recorder the client of the first one back.
func (c call) asSecond(do func() error) error {
	first := c.rec.next
	defer func() { c.rec.next = first }()
	c.rec.next = c.changes.Second
	return do()
}

// grantChanges returns the calls for the access of the second person to the File Share. A
// row is an operation, the form of its call, and the call: c.id returns the ID of a name.
func grantChanges() []callRow[place] {
	return []callRow[place]{
		{"fileshares.Grants.Set", plainForm, func(c call, _ place) error {
			return onlyError(c.FileShares.Grants.Set(
				c, api.ID(c.id("fileshare")), api.Person(c.things["second"]), fileshares.CapabilityView))
		}},
		{"fileshares.Grants.Revoke", plainForm, func(c call, _ place) error {
			return c.FileShares.Grants.Revoke(c, api.ID(c.id("fileshare")), api.Person(c.things["second"]))
		}},
	}
}
