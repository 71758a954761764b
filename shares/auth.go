package shares

import (
	"context"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Token lets into one share. Its Secret goes where a call for a share or for what is
// in it has a Password.
type Token struct {
	Secret api.Secret
	Expiry time.Time // when the server will refuse it; zero when it did not tell
}

// AuthPassword exchanges the password of a share for a [Token]. It needs no sign-in
// and sends none; each call makes another token, so it is only repeated when it was
// never sent.
//
// A wrong password is [api.ErrForbidden], or [api.ErrUnauthenticated]: the account
// of the caller has nothing to do with it.
//
// It calls POST /current/share/{share_id}/auth/password/.
func (s *Service) AuthPassword(ctx context.Context, share api.ProfileID, password api.Secret, opts ...api.CallOption) (*Token, error) {
	const op = "shares.AuthPassword"
	if password == "" {
		return nil, &api.InputError{Op: op, Field: "password", Rule: "must not be empty"}
	}
	return s.mint(ctx, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/auth/password/", string(share)),
		Body: api.Form{"password": {string(password)}}, Auth: api.AuthNone, Replay: api.ReplayOnce,
	}, opts)
}

// AuthGuest returns a [Token] for somebody who is not signed in. What it lets do is
// not published. Each call makes another, so it is only repeated when it was never
// sent.
//
// It calls POST /current/share/{share_id}/auth/guest/.
func (s *Service) AuthGuest(ctx context.Context, share api.ProfileID, opts ...api.CallOption) (*Token, error) {
	return s.mint(ctx, &api.Request{
		Op: "shares.AuthGuest", Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/auth/guest/", string(share)),
		Body: api.Form{}, Auth: api.AuthNone, Replay: api.ReplayOnce,
	}, opts)
}

// mint sends a request for a token. What the answer calls it is not published, so
// all the names are tried that such tokens have elsewhere.
func (s *Service) mint(ctx context.Context, r *api.Request, opts []api.CallOption) (*Token, error) {
	sent := time.Now()
	a, err := call.Do[struct {
		AuthToken api.Secret `json:"auth_token"`
		Token     api.Secret `json:"token"`
		JWT       api.Secret `json:"jwt"`
		ExpiresIn int64      `json:"expires_in"` // seconds
	}](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	for _, secret := range []api.Secret{a.AuthToken, a.Token, a.JWT} {
		if secret == "" {
			continue
		}
		return &Token{Secret: secret, Expiry: call.Expiry(sent, a.ExpiresIn)}, nil
	}
	return call.Found[Token](r.Op, "token", nil, opts)
}
