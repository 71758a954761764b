package shares

import (
	"context"
	"encoding/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Public is the public view of a share.
type Public struct {
	Share *Share
	Owner *User       // nil if not in the answer
	Nodes []*api.Node // of the root folder
	Users []*User
	Org   *Org // nil if not in the answer
}

// User is a person or agent of a share.
type User struct {
	ID           api.ProfileID `json:"id"`
	Kind         api.ActorKind `json:"account_type"`
	EmailAddress string        `json:"email_address"` // for members only
	FirstName    string        `json:"first_name"`
	LastName     string        `json:"last_name"`
	ProfilePic   string        `json:"profile_pic"` // a URL; "" means none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Org is the organization that a share belongs to.
type Org struct {
	ID     api.ProfileID `json:"id"`
	Domain string        `json:"domain"`
	Name   string        `json:"name"`
	Logo   string        `json:"logo"` // a URL; "" means none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// GetPublic returns the public view of a share. It requires no token, and
// returns more to members. A share with a password requires an [api.LinkToken].
//
// Errors: [api.ErrForbidden] with [CodeNoPublicView] if the share is not
// public, and with another code if the password token is missing or not valid,
// both [api.ErrUnauthenticated] for a caller without a token; [api.ErrServer]
// with [CodeStorageFailure] if its storage failed.
//
// It calls GET /current/share/{share_id}/public/details/.
func (s *Service) GetPublic(ctx context.Context, share api.ProfileID, opts ...api.CallOption) (*Public, error) {
	const op = "shares.GetPublic"
	a, err := call.One[struct {
		Share    *Share          `json:"share"`
		Owner    *User           `json:"owner"`
		Nodes    rows[api.Node]  `json:"nodes"`
		Users    rows[User]      `json:"users"`
		Org      *Org            `json:"org"`
		Comments json.RawMessage `json:"comments"` // always empty
	}](ctx, s.c, endpoint.SharesGetPublic(share, nil), "", opts)
	if err != nil {
		return nil, err
	}
	found, err := call.Found(op, "share", a.Share)
	if err != nil {
		return nil, err
	}
	return &Public{Share: found, Owner: a.Owner, Nodes: a.Nodes, Users: a.Users, Org: a.Org}, nil
}
