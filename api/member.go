package api

import "encoding/json"

// Member is a user who is a member of an organization, workspace or share, or is
// invited to it.
type Member struct {
	ID           ProfileID    `json:"id"`
	Kind         ActorKind    `json:"account_type"` // human or agent
	EmailAddress string       `json:"email_address"`
	FirstName    string       `json:"first_name"` // of a pending member the address that was invited
	LastName     string       `json:"last_name"`
	Role         Role         `json:"permissions"`
	Status       MemberStatus `json:"status"`

	// These are returned to the member itself and to administrators only.
	Added   Time         `json:"member_added_at,omitzero"` // zero means unknown
	Notify  MemberNotify `json:"notify,omitzero"`          // how the member is notified; "" means unknown
	Expires Time         `json:"expires,omitzero"`         // when the membership ends; zero means never or unknown

	Invite *MemberInvite `json:"invite"` // of a pending member, else nil

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// MemberInvite is the invitation behind a pending member.
type MemberInvite struct {
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

// Invitee is a person to add or to invite, by one of the fields.
type Invitee struct {
	User  ProfileID // the ID of a user with an account
	Email string
}

// MemberStatus is whether a member has joined or is only invited. Unknown values are
// kept.
type MemberStatus string

// States of a member.
const (
	MemberStatusActive  MemberStatus = "active"
	MemberStatusPending MemberStatus = "pending" // invited by e-mail, without an account so far
)

// MemberNotify says how a member hears of what happens. Unknown ones pass through.
type MemberNotify string

// How they do.
const (
	MemberNotifyNever    MemberNotify = "Do not notify me"
	MemberNotifyApp      MemberNotify = "Notify me in app"
	MemberNotifyAppEmail MemberNotify = "Notify me in app and via email"
	MemberNotifyAll      MemberNotify = "Notify me via app, email and text message"
)

// ActorKind says what acted.
type ActorKind string

// The kinds of actor. Another value is one that is newer than this package.
const (
	ActorKindHuman   ActorKind = "human"
	ActorKindAgent   ActorKind = "agent"
	ActorKindAPIKey  ActorKind = "api_key"
	ActorKindApp     ActorKind = "app"
	ActorKindSystem  ActorKind = "system"
	ActorKindUnknown ActorKind = "unknown" // from before actions were attributed
)

// Actor is who did something, and by what means.
type Actor struct {
	UserID         ProfileID `json:"user_id,omitzero"` // whose account was used
	Kind           ActorKind `json:"kind,omitzero"`
	AgentName      string    `json:"agent_name,omitzero"`      // "" if no agent is known
	NameSource     string    `json:"name_source,omitzero"`     // where AgentName comes from
	CredentialType string    `json:"credential_type,omitzero"` // what the call was signed with

	// Verified is true only for the platform's built-in agent. Any other
	// AgentName is what the agent calls itself.
	Verified bool `json:"verified,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members newer than this package
}
