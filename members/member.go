package members

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

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
	Status       Status        `json:"status"`

	// Only returned to the member and to administrators.
	Added   api.Time `json:"member_added_at,omitzero"` // zero means unknown
	Notify  Notify   `json:"notify,omitzero"`          // "" means unknown
	Expires api.Time `json:"expires,omitzero"`         // end of the membership; zero means never or unknown

	Invite *Invite `json:"invite"` // of a pending member, else nil

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// String returns the member on one line: its ID, its name in quotes, or else its e-mail
// address, its role and its status.
func (m *Member) String() string {
	if m == nil {
		return "<nil>"
	}
	text := "member " + string(m.ID)
	if name := cmp.Or(strings.TrimSpace(m.FirstName+" "+m.LastName), m.EmailAddress); name != "" {
		text += " " + strconv.Quote(name)
	}
	return strings.TrimSpace(text + " " + string(m.Role) + " " + string(m.Status))
}

// Invite is the invitation of a pending member.
type Invite struct {
	ID      string   `json:"id"`
	Created api.Time `json:"created,omitzero"`
	Expires api.Time `json:"expires,omitzero"` // zero means never

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Role is the permission level of a member. Unknown values are kept.
type Role string

// Roles, highest first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
	RoleGuest  Role = "guest" // of a workspace or share
	RoleView   Role = "view"  // of a share
)

// Status reports whether a member has joined or is only invited. Unknown values are kept.
type Status string

// States of a member.
const (
	StatusActive  Status = "active"
	StatusPending Status = "pending" // invited by e-mail, without an account
)

// Notify is how a member is notified. Unknown values are kept.
type Notify string

// Kinds of notification.
const (
	NotifyNever    Notify = "Do not notify me"
	NotifyApp      Notify = "Notify me in app"
	NotifyAppEmail Notify = "Notify me in app and via email"
	NotifyAll      Notify = "Notify me via app, email and text message"
)
