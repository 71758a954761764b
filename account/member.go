package account

import (
	"encoding/json"

	"github.com/fastio-go/fastio/api"
)

// Member is a user who is a member of an organization, workspace or share, or is
// invited to it.
type Member struct {
	ID           api.ID        `json:"id"`
	Kind         api.ActorKind `json:"account_type"` // human or agent
	EmailAddress string        `json:"email_address"`
	FirstName    string        `json:"first_name"` // the invited address of a pending member
	LastName     string        `json:"last_name"`
	Role         Role          `json:"permissions"`
	Status       MemberStatus  `json:"status"`

	// Only returned to the member and to administrators.
	Added   api.Time     `json:"member_added_at,omitzero"` // zero means unknown
	Notify  MemberNotify `json:"notify,omitzero"`          // "" means unknown
	Expires api.Time     `json:"expires,omitzero"`         // end of the membership; zero means never or unknown

	Invite *MemberInvite `json:"invite"` // of a pending member, else nil

	Extra map[string]json.RawMessage `json:",embed,unknown"` // unknown members
}

// MemberInvite is the invitation of a pending member.
type MemberInvite struct {
	ID      string   `json:"id"`
	Created api.Time `json:"created,omitzero"`
	Expires api.Time `json:"expires,omitzero"` // zero means never

	Extra map[string]json.RawMessage `json:",embed,unknown"` // unknown members
}

// Role is the permission level of a member. Unknown values are kept.
type Role string

// Roles, highest first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
	RoleGuest  Role = "guest"
	RoleView   Role = "view"
)

// Invitee is a person to add or invite. Exactly one field must be set.
type Invitee struct {
	User  api.ID // the ID of a user with an account
	Email string
}

// MemberStatus reports whether a member has joined or is only invited. Unknown
// values are kept.
type MemberStatus string

// States of a member.
const (
	MemberStatusActive  MemberStatus = "active"
	MemberStatusPending MemberStatus = "pending" // invited by e-mail, without an account
)

// MemberNotify is how a member is notified. Unknown values are kept.
type MemberNotify string

// Kinds of notification.
const (
	MemberNotifyNever    MemberNotify = "Do not notify me"
	MemberNotifyApp      MemberNotify = "Notify me in app"
	MemberNotifyAppEmail MemberNotify = "Notify me in app and via email"
	MemberNotifyAll      MemberNotify = "Notify me via app, email and text message"
)
