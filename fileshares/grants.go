package fileshares

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Grants manages who has which capability of a File Share. The calls require
// membership of the workspace: [api.ErrForbidden] otherwise.
type Grants struct{ c api.Client }

// Grantee names the recipient of a grant. Exactly one field must be set.
type Grantee struct {
	User  api.ID // a user ID of 19 digits
	Email string // with or without an account
}

func (g Grantee) values(op string) (url.Values, error) {
	user, email := strings.TrimSpace(string(g.User)), strings.TrimSpace(g.Email)
	switch {
	case (user == "") == (email == ""):
		return nil, &api.InputError{Op: op, Field: "user", Rule: "must be set if and only if email is empty"}
	case user != "":
		return url.Values{"user": {user}}, nil
	default:
		return url.Values{"email": {email}}, nil
	}
}

// GrantState is the state of a grant.
type GrantState string

// The states. Unknown values pass through.
const (
	GrantStateActive  GrantState = "active"
	GrantStatePending GrantState = "pending" // until a user signs up with the address
)

// Grant is the grant of one user.
type Grant struct {
	User       api.ID     `json:"user"` // "" if the address has no account, as the next
	Name       string     `json:"name"`
	Email      string     `json:"email"`
	Capability Capability `json:"capability"`
	State      GrantState `json:"state"`
	Created    api.Time   `json:"created"`
	Expires    api.Time   `json:"expires"` // zero means with the File Share

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members without a field
}

// List returns the grants of a File Share, at most the first 1,000.
//
// It calls GET /current/fileshare/{fileshare_id}/grants/.
func (g *Grants) List(ctx context.Context, id api.ID, opts ...api.CallOption) ([]*Grant, error) {
	return call.List[*Grant](ctx, g.c, endpoint.FileSharesGrantsList(id), "grants", opts)
}

// Granted is the result of [Grants.Set]. User is "" and Pending nil only if the
// response for an email address has neither.
type Granted struct {
	User    api.ID // the user who has the grant
	Pending *Grant // the grant of an address without an account, which was sent an invitation
}

// Set grants a capability, or changes the one granted before. An address without an
// account receives an invitation by e-mail, and its grant is pending until a user signs
// up with the address; so the call is retried only if it was not processed. A grant
// ends with the File Share.
//
// Errors: [api.ErrNotFound] if the user does not exist.
//
// It calls POST /current/fileshare/{fileshare_id}/grants/.
func (g *Grants) Set(
	ctx context.Context, id api.ID, to Grantee, capability Capability, opts ...api.CallOption,
) (*Granted, error) {
	const op = "fileshares.Grants.Set"
	form, err := to.values(op)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(capabilities(), capability) {
		return nil, &api.InputError{
			Op: op, Field: "capability", Rule: "must be view, download or edit", Got: strconv.Quote(string(capability)),
		}
	}
	form.Set("capability", string(capability))
	a, err := call.One[struct {
		User  json.RawMessage            `json:"user"`
		Grant *Grant                     `json:"grant"`
		Extra map[string]json.RawMessage `json:",embed,unknown"` // the grant was made, whatever the response holds
	}](ctx, g.c, endpoint.FileSharesGrantsSet(id, api.Form(form)), "", opts)
	switch {
	case err != nil:
		return nil, err
	case a.Grant != nil && a.Grant.User == "":
		return &Granted{Pending: a.Grant}, nil
	case a.Grant != nil:
		return &Granted{User: a.Grant.User}, nil
	default: // the response for a user ID is empty
		return &Granted{User: cmp.Or(userID(a.User), api.ID(form.Get("user")))}, nil
	}
}

// userID returns the ID of a user, which a response holds itself or in a record.
func userID(user json.RawMessage) api.ID {
	u, err := call.Value[struct {
		ID api.ID `json:"id"`
	}](user)
	if err == nil {
		return u.ID
	}
	id, err := call.Value[api.ID](user)
	if err != nil {
		return ""
	}
	return *id
}

// Revoke revokes a grant, pending or not. It is idempotent: a grant that does
// not exist is a success.
//
// It calls DELETE /current/fileshare/{fileshare_id}/grants/.
func (g *Grants) Revoke(ctx context.Context, id api.ID, from Grantee, opts ...api.CallOption) error {
	q, err := from.values("fileshares.Grants.Revoke")
	if err != nil {
		return err
	}
	return call.Do(ctx, g.c, endpoint.FileSharesGrantsRevoke(id, q), opts)
}
