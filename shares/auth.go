package shares

import (
	"cmp"
	"context"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// AuthPassword exchanges the password of a share for a token, which is an option of
// calls that read the share, its files or its notes. It requires no
// sign-in, and sends the client's token if there is one. Each call makes another
// token, so it is only retried if it was not sent.
//
// Errors: [api.ErrForbidden] or [api.ErrUnauthenticated] if the password is wrong;
// neither ends the caller's own session.
//
// It calls POST /current/share/{share_id}/auth/password/.
func (s *Service) AuthPassword(
	ctx context.Context, share api.ProfileID, password api.Secret, opts ...api.CallOption,
) (*api.LinkToken, error) {
	const op = "shares.AuthPassword"
	if password.IsZero() {
		return nil, &api.InputError{Op: op, Field: "password", Rule: "must not be empty"}
	}
	return s.mint(ctx, endpoint.SharesAuthPassword(share, api.Form{"password": {password.Reveal()}}), opts)
}

// AuthGuest returns a guest token of a share. It requires no sign-in, and sends
// the client's token if there is one. What a guest token permits is not published.
// Each call makes another token, so it is only retried if it was not sent.
//
// It calls POST /current/share/{share_id}/auth/guest/.
func (s *Service) AuthGuest(ctx context.Context, share api.ProfileID, opts ...api.CallOption) (*api.LinkToken, error) {
	return s.mint(ctx, endpoint.SharesAuthGuest(share), opts)
}

// mint sends a request for a token. The name of the token in the answer is not
// published, so the names that other endpoints use are tried.
func (s *Service) mint(ctx context.Context, r *api.Request, opts []api.CallOption) (*api.LinkToken, error) {
	sent := time.Now()
	a, err := call.One[struct {
		AuthToken api.Secret `json:"auth_token"` // (assumed name)
		Token     api.Secret `json:"token"`      // (assumed name)
		JWT       api.Secret `json:"jwt"`        // (assumed name)
		ExpiresIn int64      `json:"expires_in"` // seconds (assumed name)
	}](ctx, s.c, r, "", opts)
	if err != nil {
		return nil, err
	}
	token := &api.LinkToken{Secret: cmp.Or(a.AuthToken, a.Token, a.JWT), Expiry: call.Expiry(sent, a.ExpiresIn)}
	if token.Secret.IsZero() {
		token = nil
	}
	return call.Found(r.Op, "token", token)
}
