package fileshares

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Grants manages who has which capability of a File Share. The calls require
// membership of the workspace: [api.ErrForbidden] otherwise.
type Grants struct{ c api.Client }

// recipient returns the parameter that names the person of a grant: the e-mail
// address or the user. Parameter is the name of the argument in errors.
func recipient(op, parameter string, who api.Person) (url.Values, error) {
	if input.IsAddress(string(who)) {
		return url.Values{"email": {string(who)}}, nil
	}
	args := input.Parameters(op, "user", parameter)
	if err := args.NumericID("user", api.ID(who)); err != nil {
		const rule = "must be an ID of 19 digits or an e-mail address"
		return nil, args.Refuse("user", rule, strconv.Quote(string(who)))
	}
	return url.Values{"user": {string(who)}}, nil
}

// GrantState is the state of a grant.
type GrantState string

// States of a grant. Unknown values are kept.
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

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// List returns the grants of a File Share, at most the first 1,000.
//
// It calls GET /current/fileshare/{fileshare_id}/grants/.
func (g *Grants) List(ctx context.Context, fileshare api.ID, opts ...api.CallOption) ([]*Grant, error) {
	return call.List[*Grant](ctx, g.c, endpoint.FileSharesGrantsList(fileshare), "grants", opts)
}

// Granted is the result of [Grants.Set]. User is "" and Pending nil only if the
// response for an email address has neither.
type Granted struct {
	User    api.ID // the user who has the grant
	Pending *Grant // the grant of an address without an account, which was sent an invitation
}

// Set grants a capability to a person, named by the ID of a user or an e-mail address, or
// changes the one granted before. An address without an account receives an invitation by
// e-mail, and its grant is pending until a user signs up with the address; so the call is
// retried only if it was not processed. A grant ends with the File Share.
//
// Errors: [*api.InputError] for a person who is named by neither, such as [api.Me];
// [api.ErrNotFound] if the user does not exist.
//
// It calls POST /current/fileshare/{fileshare_id}/grants/.
func (g *Grants) Set(
	ctx context.Context, fileshare api.ID, person api.Person, capability Capability, opts ...api.CallOption,
) (*Granted, error) {
	const op = "fileshares.Grants.Set"
	body, err := recipient(op, "person", person)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(capabilities(), capability) {
		const rule = "must be view, download or edit"
		return nil, input.Parameters(op).Refuse("capability", rule, strconv.Quote(string(capability)))
	}
	body.Set("capability", string(capability))
	a, err := call.Payload[struct {
		User  json.RawMessage            `json:"user"`
		Grant *Grant                     `json:"grant"`
		Extra map[string]json.RawMessage `json:",embed,unknown"` // accepts a response of any members: the grant was made
	}](ctx, g.c, endpoint.FileSharesGrantsSet(fileshare, api.Form(body)), opts)
	switch {
	case err != nil:
		return nil, err
	case a.Grant != nil && a.Grant.User == "":
		return &Granted{Pending: a.Grant}, nil
	case a.Grant != nil:
		return &Granted{User: a.Grant.User}, nil
	default: // the response names the user or, for a user ID, is empty
		return &Granted{User: cmp.Or(userID(a.User), api.ID(body.Get("user")))}, nil
	}
}

// userID returns the ID of a user, which is the value itself or a member of it.
func userID(user json.RawMessage) api.ID {
	u, err := decode.Value[struct {
		ID api.ID `json:"id"`
	}](user)
	if err == nil {
		return u.ID
	}
	id, err := decode.Value[api.ID](user)
	if err != nil {
		return ""
	}
	return *id
}

// Revoke revokes the grant of a person, as named in [Grants.Set], pending or not. It is
// idempotent: a grant that does not exist is a success.
//
// It calls DELETE /current/fileshare/{fileshare_id}/grants/.
func (g *Grants) Revoke(ctx context.Context, fileshare api.ID, person api.Person, opts ...api.CallOption) error {
	q, err := recipient("fileshares.Grants.Revoke", "person", person)
	if err != nil {
		return err
	}
	return call.Do(ctx, g.c, endpoint.FileSharesGrantsRevoke(fileshare, q), opts)
}
