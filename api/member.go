package api

import "encoding/json"

// Member is somebody who belongs to an organization, workspace or share, or was
// invited to.
type Member struct {
	ID           ProfileID    `json:"id"`
	Kind         ActorKind    `json:"account_type"` // human or agent
	EmailAddress string       `json:"email_address"`
	FirstName    string       `json:"first_name"` // of a pending member the address that was invited
	LastName     string       `json:"last_name"`
	Role         Role         `json:"permissions"`
	Status       MemberStatus `json:"status"`

	// What only the member itself and administrators are told.
	Added   Time   `json:"member_added_at,omitzero"` // zero when the answer does not tell
	Notify  string `json:"notify"`                   // what the platform tells the member; "" when the answer does not tell
	Expires Time   `json:"expires,omitzero"`         // when the membership ends by itself; zero is never, or not told

	Invite *Invite `json:"invite"` // of a pending member, else nil

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Invite is the invitation behind a pending member.
type Invite struct {
	ID      string `json:"id"`
	Created Time   `json:"created,omitzero"`
	Expires Time   `json:"expires,omitzero"` // until when it can be accepted; zero is without end

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Role is what a member may do. Unknown ones pass through.
type Role string

// Roles, highest first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
	RoleGuest  Role = "guest"
	RoleView   Role = "view"
)

// MemberStatus tells members from those who have not come yet. Unknown ones pass
// through.
type MemberStatus string

// States of a member.
const (
	MemberStatusActive  MemberStatus = "active"
	MemberStatusPending MemberStatus = "pending" // invited by e-mail, without an account so far
)
