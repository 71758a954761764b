// Package account tells who is signed in, which organizations and workspaces are
// within reach and who belongs to them, makes and changes workspaces, and opens
// accounts.
//
// A program works with the API key of a person, with an account of its own
// ([SignUpRequest] with Agent), or as a collaborator in an organization or workspace
// of others, to which their members invite its account. This package has no call yet
// that sends such an invitation; package shares invites to a share.
//
//	for workspace, err := range client.Account.Workspaces.All(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(workspace.Name)
//	}
package account

import (
	"context"
	"encoding/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Service reads the account and changes what belongs to it. Get one from the
// Account field of a fastio.Client. It is safe for concurrent use.
type Service struct {
	c api.Caller

	Users      *Users      // other people and agents
	Orgs       *Orgs       // organizations
	Billing    *Billing    // what organizations pay for
	Workspaces *Workspaces // workspaces
}

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service {
	return &Service{c: c, Users: &Users{c}, Orgs: &Orgs{c}, Billing: &Billing{c}, Workspaces: &Workspaces{c}}
}

// User is a person or a software agent. Which fields are set depends on the
// level of output and on who asks.
type User struct {
	ID           api.ProfileID `json:"id"`
	Kind         UserKind      `json:"account_type"`
	EmailAddress string        `json:"email_address"`
	FirstName    string        `json:"first_name"`
	LastName     string        `json:"last_name"`
	ProfilePic   string        `json:"profile_pic"` // a URL; "" without a picture
	PhoneCountry string        `json:"phone_country"`
	PhoneNumber  string        `json:"phone_number"`
	Created      api.Time      `json:"created,omitzero"`
	Updated      api.Time      `json:"updated,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// UserKind tells people from software. Unknown ones pass through.
type UserKind string

// Kinds of users.
const (
	UserKindHuman UserKind = "human"
	UserKindAgent UserKind = "agent"
)

// Me returns the signed-in user. Without a token that is still good it fails with
// [api.ErrUnauthenticated].
//
// It calls GET /current/user/me/details/.
func (s *Service) Me(ctx context.Context, opts ...api.CallOption) (*User, error) {
	return call.One[User](ctx, s.c, endpoint.AccountMe(nil), "user", opts)
}

// Available is which kinds of profiles the account reaches. The platform's documents
// describe none of its members, so all of them are in Extra, those of the envelope
// too.
type Available struct {
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Profiles tells which kinds of profiles the account reaches.
//
// It calls GET /current/user/available_profiles/.
func (s *Service) Profiles(ctx context.Context, opts ...api.CallOption) (*Available, error) {
	return call.One[Available](ctx, s.c, endpoint.AccountProfiles(), "", opts)
}

// Permit is whether the platform serves the country that a call comes from.
type Permit struct {
	Allowed *api.Bool `json:"allowed"` // nil if the answer does not say (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // other members, those of the envelope too
}

// Allowed tells whether organizations and shares may be made from where the call
// comes from.
//
// It calls GET /current/user/me/allowed/.
func (s *Service) Allowed(ctx context.Context, opts ...api.CallOption) (*Permit, error) {
	return call.One[Permit](ctx, s.c, endpoint.AccountAllowed(), "", opts)
}
