package shares

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/storage"
)

// Public is the public view of a share.
type Public struct {
	Share *Share
	Owner *User           // nil if not in the response
	Nodes []*storage.Node // of the root folder
	Users []*User
	Org   *Org // nil if not in the response
}

// User is a person or agent of a share.
type User struct {
	ID           api.ID        `json:"id"`
	Kind         api.ActorKind `json:"account_type"`
	EmailAddress string        `json:"email_address"` // for members only
	FirstName    string        `json:"first_name"`
	LastName     string        `json:"last_name"`
	ProfilePic   string        `json:"profile_pic"` // a URL; "" means none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Org is the organization that a share belongs to.
type Org struct {
	ID     api.ID `json:"id"`
	Domain string `json:"domain"`
	Name   string `json:"name"`
	Logo   string `json:"logo"` // a URL; "" means none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// GetPublic returns the public view of a share. It requires no token, and
// returns more to members. A share with a password requires [api.WithLinkToken].
//
// Errors: [api.ErrForbidden] with codes.ShareNotPublic if the share is not
// public; [api.ErrForbidden] with another code if the password token is missing or
// not valid; [api.ErrUnauthenticated] instead of either for a caller without a
// token; [api.ErrServer] with codes.ShareStorageFailure if its storage failed.
//
// It calls GET /current/share/{share_id}/public/details/.
func (s *Service) GetPublic(ctx context.Context, share api.ID, opts ...api.CallOption) (*Public, error) {
	a, err := call.Payload[struct {
		Share    *Share             `json:"share"`
		Owner    *User              `json:"owner"`
		Nodes    rows[storage.Node] `json:"nodes"`
		Users    rows[User]         `json:"users"`
		Org      *Org               `json:"org"`
		Comments json.RawMessage    `json:"comments"` // always empty; has a field so that WithDrift does not report it as new
	}](ctx, s.c, endpoint.SharesGetPublic(share, nil), opts)
	if err != nil {
		return nil, err
	}
	found, err := call.Found("shares.GetPublic", "share", a.Share)
	if err != nil {
		return nil, err
	}
	return &Public{Share: found, Owner: a.Owner, Nodes: a.Nodes, Users: a.Users, Org: a.Org}, nil
}

// AuthPassword exchanges the password of a share for a token. Pass the token with
// [api.WithLinkToken] to the calls that read the share, its files or its notes. It requires
// no sign-in, and sends the client's token if there is one. Each call creates a token, so it
// is retried only if it was not processed.
//
// Errors: [api.ErrForbidden] if the password is wrong; a client without a credential
// gets [api.ErrUnauthenticated] instead. The status of both is 401. Neither ends the
// caller's own session.
//
// It calls POST /current/share/{share_id}/auth/password/.
func (s *Service) AuthPassword(
	ctx context.Context, share api.ID, password api.Secret, opts ...api.CallOption,
) (*api.LinkToken, error) {
	if password.IsZero() {
		return nil, input.Parameters("shares.AuthPassword").Refuse("password", "must not be empty", "")
	}
	return s.requestToken(ctx, endpoint.SharesAuthPassword(share, api.Form{"password": {password.Reveal()}}), opts)
}

// AuthGuest returns a guest token of a share. It requires no sign-in, and sends the
// client's token if there is one. The permissions of a guest token are not documented.
// Each call creates a token, so it is retried only if it was not processed.
//
// It calls POST /current/share/{share_id}/auth/guest/.
func (s *Service) AuthGuest(ctx context.Context, share api.ID, opts ...api.CallOption) (*api.LinkToken, error) {
	return s.requestToken(ctx, endpoint.SharesAuthGuest(share), opts)
}

// requestToken sends a request for a token. The member that holds the token is not
// documented, so the names that other endpoints use are tried.
func (s *Service) requestToken(ctx context.Context, r *api.Request, opts []api.CallOption) (*api.LinkToken, error) {
	sent := time.Now()
	a, err := call.Payload[struct {
		AuthToken api.Secret `json:"auth_token"` // (assumed name)
		Token     api.Secret `json:"token"`      // (assumed name)
		JWT       api.Secret `json:"jwt"`        // (assumed name)
		ExpiresIn int64      `json:"expires_in"` // seconds (assumed name)
	}](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	token := &api.LinkToken{Secret: cmp.Or(a.AuthToken, a.Token, a.JWT), Expiry: call.Expiry(sent, a.ExpiresIn)}
	if token.Secret.IsZero() {
		token = nil
	}
	return call.Found(r.Op, "token", token)
}
