package fileshares

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Grants gives File Shares to people, and takes them back. It takes a member of the
// workspace; others are [api.ErrForbidden].
type Grants struct{ c api.Caller }

// Grantee is who is given something: exactly one of the two.
type Grantee struct {
	User  api.ProfileID // 19 digits
	Email string        // with or without an account
}

// values checks the grantee and returns it as fields.
func (g Grantee) values(op string) (url.Values, error) {
	user, email := strings.TrimSpace(string(g.User)), strings.TrimSpace(g.Email)
	switch {
	case (user == "") == (email == ""):
		return nil, &api.InputError{Op: op, Field: "user", Rule: "must be given, or else email, and not both"}
	case user != "":
		return url.Values{"user": {user}}, nil
	default:
		return url.Values{"email": {email}}, nil
	}
}

// GrantState says whether a grant is of use already.
type GrantState string

// The states. Another one is newer than this package.
const (
	GrantStateActive  GrantState = "active"
	GrantStatePending GrantState = "pending" // until somebody signs up with the address
)

// Grant is what one person was given.
type Grant struct {
	User       api.ProfileID `json:"user"` // "" while nobody has the address
	Name       string        `json:"name"` // likewise
	Email      string        `json:"email"`
	Capability Capability    `json:"capability"`
	State      GrantState    `json:"state"`
	Created    api.Time      `json:"created"`
	Expires    api.Time      `json:"expires"` // zero for with the File Share

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// List returns who was given a File Share: the first 1,000 of them.
//
// It calls GET /current/fileshare/{fileshare_id}/grants/.
func (g *Grants) List(ctx context.Context, id api.ProfileID, opts ...api.CallOption) ([]*Grant, error) {
	a, err := call.Do[struct {
		Grants []*Grant `json:"grants"`
	}](ctx, g.c, &api.Request{
		Op: "fileshares.Grants.List", Method: http.MethodGet, Path: api.Path("/current/fileshare/{fileshare_id}/grants/", string(id)),
		Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	return a.Grants, nil
}

// Granted is what became of a grant. Exactly one of the two is set, unless the answer
// told nothing of an address.
type Granted struct {
	User    api.ProfileID // who has the grant from now on
	Pending *Grant        // waits for somebody to sign up with the address, who was sent an invitation; nil if there is an account
}

// Set gives a File Share to somebody, or makes another capability of what was given
// before. To an address without an account it sends an invitation, so the call is
// only repeated when it was never sent. Such a grant is pending until somebody signs
// up with the address, and ends with the File Share.
//
// A user who does not exist is [api.ErrNotFound].
//
// It calls POST /current/fileshare/{fileshare_id}/grants/.
func (g *Grants) Set(ctx context.Context, id api.ProfileID, to Grantee, capability Capability, opts ...api.CallOption) (*Granted, error) {
	const op = "fileshares.Grants.Set"
	form, err := to.values(op)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(capabilities(), capability) {
		return nil, &api.InputError{Op: op, Field: "capability", Rule: "must be view, download or edit", Got: strconv.Quote(string(capability))}
	}
	form.Set("capability", string(capability))
	a, err := call.Do[struct {
		User *struct {
			ID api.ProfileID `json:"id"`
		} `json:"user"`
		Grant *Grant `json:"grant"`
	}](ctx, g.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/fileshare/{fileshare_id}/grants/", string(id)),
		Body: api.Form(form), Replay: api.ReplayOnce,
	}, opts)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Grant != nil:
		return &Granted{Pending: a.Grant}, nil
	case a.User != nil:
		return &Granted{User: a.User.ID}, nil
	default: // as for a user, who is known already
		return &Granted{User: api.ProfileID(form.Get("user"))}, nil
	}
}

// Revoke takes back what was given to somebody, pending or not. It is no error if
// that is nothing. Who is to lose it must be named in full, so that the call needs no
// other confirmation.
//
// It calls DELETE /current/fileshare/{fileshare_id}/grants/.
func (g *Grants) Revoke(ctx context.Context, id api.ProfileID, from Grantee, opts ...api.CallOption) error {
	const op = "fileshares.Grants.Revoke"
	q, err := from.values(op)
	if err != nil {
		return err
	}
	return call.Send(ctx, g.c, &api.Request{
		Op: op, Method: http.MethodDelete, Path: api.Path("/current/fileshare/{fileshare_id}/grants/", string(id)),
		Query: q, Replay: api.ReplaySafe,
	}, opts)
}
