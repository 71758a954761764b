package fastiotest

import (
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/emulator"
)

// Membership is a user's place in an organization, workspace or share, to put
// there without asking the rules. [Server.AddMembership] fills what is empty.
type Membership struct {
	Profile, User api.ProfileID
	Role          Role      // "" is member
	Notify        string    // "Do not notify me" or another of the notification options; "" is none chosen
	Added         time.Time // zero is now
	Expires       time.Time // when it ends by itself; zero is never
}

// Invitation asks the owner of an e-mail address to join an organization,
// workspace or share. [Server.AddInvitation] fills what is empty.
type Invitation struct {
	ID      api.OpaqueID
	Key     string // the secret in the mail, with which any account may answer
	Profile api.ProfileID
	Email   string
	Inviter api.ProfileID // "" is the platform
	Role    Role          // "" is member
	Message string
	Notify  string    // "Do not notify me" or another of the notification options; "" is none chosen
	State   string    // "pending", "accepted" or "declined"; "" is pending
	Created time.Time // zero is now
	Expires time.Time // until when it can be accepted; zero is without end
}

// Mail is an e-mail that the platform has sent about a membership or an
// invitation.
type Mail struct {
	To           string
	Profile      api.ProfileID
	Invitation   api.OpaqueID // "" for one about a membership
	Key, Message string       // of the invitation
	At           time.Time
}

// AddMembership makes a user a member, or replaces the membership there is, and
// returns it with what was empty filled in. [Server.SetMember] is the short form
// for a role alone.
func (s *Server) AddMembership(m Membership) Membership {
	added := s.platform.AddMembership(emulator.Membership{
		ProfileID: string(m.Profile), UserID: string(m.User), Role: emulator.Role(m.Role),
		Notify: m.Notify, Added: m.Added, Expires: m.Expires,
	})
	m.Role, m.Added = Role(added.Role), added.Added
	return m
}

// AddInvitation adds an invitation, as if its mail had gone out, and returns it
// with what was empty filled in.
func (s *Server) AddInvitation(v Invitation) Invitation {
	added := s.platform.AddInvitation(emulator.Invitation{
		ID: string(v.ID), Key: v.Key, ProfileID: string(v.Profile), Email: v.Email, Inviter: string(v.Inviter),
		Role: emulator.Role(v.Role), Message: v.Message, Notify: v.Notify, State: v.State,
		Created: v.Created, Expires: v.Expires,
	})
	v.ID, v.Key, v.Email = api.OpaqueID(added.ID), added.Key, added.Email
	v.Role, v.State, v.Created = Role(added.Role), added.State, added.Created
	return v
}

// Mails lists what the platform has sent to an e-mail address about memberships
// and invitations, oldest first.
func (s *Server) Mails(to string) []Mail {
	var mails []Mail
	for _, m := range s.platform.Mails(to) {
		mails = append(mails, Mail{
			To: m.To, Profile: api.ProfileID(m.ProfileID), Invitation: api.OpaqueID(m.InvitationID),
			Key: m.Key, Message: m.Message, At: m.At,
		})
	}
	return mails
}
