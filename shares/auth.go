package shares

import (
	"context"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Token grants access to one share. Its Secret is the Password of calls that
// read the share or its files.
type Token struct {
	Secret api.Secret
	Expiry time.Time // when it expires; zero if unknown
}

// AuthPassword exchanges the password of a share for a [Token]. It requires no
// sign-in, and sends the client's token if there is one. Each call makes another
// token, so it is only retried if it was not sent.
//
// Errors: [api.ErrForbidden] or [api.ErrUnauthenticated] if the password is wrong;
// neither ends the caller's own session.
//
// It calls POST /current/share/{share_id}/auth/password/.
func (s *Service) AuthPassword(
	ctx context.Context, share api.ProfileID, password api.Secret, opts ...api.CallOption,
) (*Token, error) {
	const op = "shares.AuthPassword"
	if password.IsZero() {
		return nil, &api.InputError{Op: op, Field: "password", Rule: "must not be empty"}
	}
	return s.mint(ctx, endpoint.SharesAuthPassword(share, api.Form{"password": {password.Reveal()}}), opts)
}

// AuthGuest returns a guest [Token] of a share. It requires no sign-in, and sends
// the client's token if there is one. What a guest token permits is not published.
// Each call makes another token, so it is only retried if it was not sent.
//
// It calls POST /current/share/{share_id}/auth/guest/.
func (s *Service) AuthGuest(ctx context.Context, share api.ProfileID, opts ...api.CallOption) (*Token, error) {
	return s.mint(ctx, endpoint.SharesAuthGuest(share), opts)
}

// mint sends a request for a token. The name of the token in the answer is not
// published, so the names that other endpoints use are tried.
func (s *Service) mint(ctx context.Context, r *api.Request, opts []api.CallOption) (*Token, error) {
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
	for _, secret := range []api.Secret{a.AuthToken, a.Token, a.JWT} {
		if secret.IsZero() {
			continue
		}
		return &Token{Secret: secret, Expiry: call.Expiry(sent, a.ExpiresIn)}, nil
	}
	return call.Found[Token](r.Op, "token", nil, opts)
}
