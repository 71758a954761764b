package oauth

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// SignIn exchanges an e-mail address and a password for a token without a refresh
// token. Most programs want [Login] instead, which never sees the password.
//
// If the account has a second factor, the token's TwoFactor is set and nothing
// but [TwoFactor.Send] and [TwoFactor.Complete] takes it.
//
// A wrong address or password is an [*api.Error] of status 401 and code 10008.
// Five of them lock the account for about half an hour: [api.ErrRateLimited] with
// code 10760, whose Rate.RetryAfter tells how long. So the call is never
// repeated, whatever opts say.
//
// It calls GET /current/user/auth/.
func (s *Service) SignIn(
	ctx context.Context, email string, password api.Secret, opts ...api.CallOption,
) (*Token, error) {
	const op = "oauth.SignIn"
	switch {
	case email == "":
		return nil, &api.InputError{Op: op, Field: "email", Rule: "must be given"}
	case strings.Contains(email, ":") || strings.ContainsFunc(email, unicode.IsControl): // it ends at the first colon
		return nil, &api.InputError{Op: op, Field: "email", Rule: "must hold neither a colon nor control characters"}
	case password.IsZero():
		return nil, &api.InputError{Op: op, Field: "password", Rule: "must be given"}
	case strings.ContainsFunc(password.Reveal(), unicode.IsControl):
		return nil, &api.InputError{Op: op, Field: "password", Rule: "must not hold control characters"}
	}
	pair := base64.StdEncoding.EncodeToString([]byte(email + ":" + password.Reveal()))
	opts = append(slices.Clip(opts), api.Attempts(1))
	return signedIn(ctx, s.c, endpoint.OAuthSignIn(api.NewSecret("Basic "+pair)), opts)
}

// signedIn sends a request that yields the token of an account.
func signedIn(ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) (*Token, error) {
	sent := time.Now()
	a, err := call.One[struct {
		AuthToken api.Secret `json:"auth_token"`
		ExpiresIn lifetime   `json:"expires_in"`
		TwoFactor bool       `json:"2factor"`
	}](ctx, c, r, "", opts)
	switch {
	case err != nil:
		return nil, err
	case a.AuthToken.IsZero():
		return call.Found[Token](r.Op, "token", nil, opts)
	case !sendable(a.AuthToken):
		return nil, errors.New("fastio: " + r.Op + ": the token holds a character that no header can carry")
	}
	return &Token{
		AccessToken: a.AuthToken, TokenType: bearer, Expiry: call.Expiry(sent, int64(a.ExpiresIn)), TwoFactor: a.TwoFactor,
	}, nil
}

// CheckToken returns whose token the client signs with. One that is dead or has
// expired is [api.ErrUnauthenticated]. [api.ErrForbidden] means a living token
// all the same: of code 10587 its account has not confirmed its e-mail address,
// of code 10175 it waits for its second factor.
//
// It calls GET /current/user/auth/check/.
func (s *Service) CheckToken(ctx context.Context, opts ...api.CallOption) (api.ProfileID, error) {
	const op = "oauth.CheckToken"
	a, err := call.One[struct {
		ID *api.ProfileID `json:"id"`
	}](ctx, s.c, endpoint.OAuthCheckToken(), "", opts)
	if err != nil {
		return "", err
	}
	id, err := call.Found(op, "id", a.ID, opts)
	if err != nil {
		return "", err
	}
	return *id, nil
}

// SignOut ends the tokens that sign-ins with a password yielded, on every
// device, as far as they can be revoked. API keys and what OAuth issued stay:
// those end by [Keys.Delete], [Service.Revoke] and [Sessions.Revoke]. A credential
// that may only read is refused with [ReasonScopeWrite].
//
// It calls POST /current/user/auth/sign-out/.
func (s *Service) SignOut(ctx context.Context, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.OAuthSignOut(), opts)
}

// InvalidateAll is [Service.SignOut] for every such token, whether or not it can
// be revoked, those that wait for a second factor too.
//
// It calls POST /current/user/auth/invalidate-all/.
func (s *Service) InvalidateAll(ctx context.Context, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.OAuthInvalidateAll(), opts)
}
