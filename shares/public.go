package shares

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Public is what anyone may see of a share that is open to the public.
type Public struct {
	Share *Share
	Owner *User       // nil if the answer left it out
	Nodes []*api.Node // in the topmost folder
	Users []*User
	Org   *Org // nil if the answer left it out
}

// User is somebody who has to do with a share.
type User struct {
	ID           api.ProfileID `json:"id"`
	Kind         api.ActorKind `json:"account_type"`
	EmailAddress string        `json:"email_address"` // told to members
	FirstName    string        `json:"first_name"`
	LastName     string        `json:"last_name"`
	ProfilePic   string        `json:"profile_pic"` // a URL; "" without a picture

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Org is the organization that a share belongs to.
type Org struct {
	ID     api.ProfileID `json:"id"`
	Domain string        `json:"domain"`
	Name   string        `json:"name"`
	Logo   string        `json:"logo"` // a URL; "" without one

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// GetPublic returns what the public may see of a share. It takes no token, and tells
// more to members. A share with a password takes the Secret of a [Token].
//
// A share that is not public is [api.ErrForbidden] with [CodeNoPublicView], and so is,
// with another code, a token that is missing or not good for it; to those who are not
// signed in both are [api.ErrUnauthenticated]. A failure of its storage is
// [api.ErrServer] with [CodeStorageFailure].
//
// It calls GET /current/share/{share_id}/public/details/.
func (s *Service) GetPublic(ctx context.Context, share api.ProfileID, get *GetOptions, opts ...api.CallOption) (*Public, error) {
	const op = "shares.GetPublic"
	password, err := passwordOf(op, get)
	if err != nil {
		return nil, err
	}
	a, err := call.Do[struct {
		Share    *Share          `json:"share"`
		Owner    *User           `json:"owner"`
		Nodes    rows[api.Node]  `json:"nodes"`
		Users    rows[User]      `json:"users"`
		Org      *Org            `json:"org"`
		Comments json.RawMessage `json:"comments"` // there for old clients, and always empty
	}](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/share/{share_id}/public/details/", string(share)),
		Auth: api.AuthOptional, Password: password, Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	found, err := call.Found(op, "share", a.Share, opts)
	if err != nil {
		return nil, err
	}
	return &Public{Share: found, Owner: a.Owner, Nodes: a.Nodes, Users: a.Users, Org: a.Org}, nil
}
