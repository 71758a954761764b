// Package account has the account of the caller: sign-up, names, password, e-mail
// address, phone, deletion, and the invitations that it has received.
//
//	me, err := client.Account.Me(ctx)
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println("signed in as", me.EmailAddress)
//
// A program uses the API key of a person, an account of its own ([SignUpRequest] with
// Agent), or an account that was invited to an organization, workspace or share. Package
// members invites.
package account

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Service reads and changes the account of the caller. It is the Account field of a
// fastio.Client, and safe for concurrent use.
type Service struct {
	c api.Client

	Users         *Users         // other users
	Invitations   *Invitations   // received by the account
	PasswordReset *PasswordReset // a new password for one that is forgotten
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service {
	return &Service{c, &Users{c}, &Invitations{c}, &PasswordReset{c}}
}

// User is a person or a software agent. Which fields are set depends on the
// output level and on the caller.
type User struct {
	ID           api.ID   `json:"id"`
	Kind         UserKind `json:"account_type"`
	EmailAddress string   `json:"email_address"`
	FirstName    string   `json:"first_name"`
	LastName     string   `json:"last_name"`
	ProfilePic   string   `json:"profile_pic"` // a URL; "" means none
	PhoneCountry string   `json:"phone_country"`
	PhoneNumber  string   `json:"phone_number"`
	Created      api.Time `json:"created,omitzero"`
	Updated      api.Time `json:"updated,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// UserKind distinguishes persons from software. Unknown values are kept.
type UserKind string

// Kinds of users.
const (
	UserKindHuman UserKind = "human"
	UserKindAgent UserKind = "agent"
)

// Me returns the signed-in user. Errors: [api.ErrUnauthenticated] if the token
// is not valid.
//
// It calls GET /current/user/me/details/.
func (s *Service) Me(ctx context.Context, opts ...api.CallOption) (*User, error) {
	return call.One[User](ctx, s.c, endpoint.AccountMe(nil), "user", opts)
}

// AvailableProfiles lists the kinds of profiles that the account has access to. Its
// members are not documented: all of them are in Extra, including those of the
// envelope.
type AvailableProfiles struct {
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Profiles returns the kinds of profiles that the account has access to.
//
// It calls GET /current/user/available_profiles/.
func (s *Service) Profiles(ctx context.Context, opts ...api.CallOption) (*AvailableProfiles, error) {
	return call.Payload[AvailableProfiles](ctx, s.c, endpoint.AccountProfiles(), opts)
}

// Permit reports whether the platform serves the country of the caller.
type Permit struct {
	Allowed *api.Bool `json:"allowed"` // nil if not in the response (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // other members, including those of the envelope
}

// Allowed reports whether organizations and shares may be created from the location of
// the caller.
//
// It calls GET /current/user/me/allowed/.
func (s *Service) Allowed(ctx context.Context, opts ...api.CallOption) (*Permit, error) {
	return call.Payload[Permit](ctx, s.c, endpoint.AccountAllowed(), opts)
}

// Users reads other persons and agents.
type Users struct{ c api.Client }

// Get returns a user, without private fields.
//
// Errors: [*api.InputError] if person is not an ID of 19 digits, an e-mail address or me;
// [api.ErrNotFound] if the user does not exist.
//
// It calls GET /current/user/{user_id}/details/.
func (u *Users) Get(ctx context.Context, person api.Person, opts ...api.CallOption) (*User, error) {
	r := endpoint.AccountUsersGet(api.ID(person), nil)
	if err := input.Parameters(r.Op, "user_id", "person").Person("user_id", person); err != nil {
		return nil, err
	}
	return call.One[User](ctx, u.c, r, "user", opts)
}

// Search returns the names of contacts by e-mail address, for a part of a name
// or address. It returns no IDs: pass an address to [Users.Get]. A blank search
// is an [*api.InputError].
//
// It calls GET /current/users/search/.
func (u *Users) Search(ctx context.Context, search string, opts ...api.CallOption) (map[string]string, error) {
	if strings.TrimSpace(search) == "" {
		return nil, input.Parameters("account.Users.Search").Refuse("search", "must not be blank", "")
	}
	// The map is in users, or in the envelope.
	a, err := call.Payload[struct {
		Users  api.Map[string]            `json:"users"` // (assumed name)
		Beside map[string]json.RawMessage `json:",embed,unknown"`
	}](ctx, u.c, endpoint.AccountUsersSearch(url.Values{"search": {search}}), opts)
	if err != nil {
		return nil, err
	}
	found := map[string]string(a.Users)
	if found == nil {
		found = map[string]string{}
	}
	for address, text := range a.Beside {
		var name string
		if strings.Contains(address, "@") && json.Unmarshal(text, &name) == nil {
			found[address] = name
		}
	}
	return found, nil
}
