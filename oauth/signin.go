package oauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// SignIn exchanges an e-mail address and a password for a token without a refresh
// token. Most programs should use [Login], which does not handle the password.
//
// If the account has a second factor, the token's TwoFactor is set and only
// [TwoFactor.Send] and [TwoFactor.Complete] accept it.
//
// A wrong address or password is an [*api.Error] of status 401 and code
// codes.WrongPassword. Five of them lock the account for about half an hour:
// [api.ErrRateLimited] with code codes.AccountLocked and the delay in Rate.RetryAfter. So the call is never retried,
// regardless of opts.
//
// It calls GET /current/user/auth/.
func (s *Service) SignIn(
	ctx context.Context, email string, password api.Secret, opts ...api.CallOption,
) (*Token, error) {
	const op = "oauth.SignIn" // the arguments have no names on the wire
	switch {
	case email == "":
		return nil, &api.InputError{Op: op, Field: "email", Rule: "must be given"}
	case strings.Contains(email, ":") || strings.ContainsFunc(email, unicode.IsControl): // as RFC 7617 requires: a colon ends the address
		return nil, &api.InputError{Op: op, Field: "email", Rule: "must not contain a colon or control characters"}
	case password.IsZero():
		return nil, &api.InputError{Op: op, Field: "password", Rule: "must be given"}
	case strings.ContainsFunc(password.Reveal(), unicode.IsControl):
		return nil, &api.InputError{Op: op, Field: "password", Rule: "must not contain control characters"}
	}
	pair := base64.StdEncoding.EncodeToString([]byte(email + ":" + password.Reveal()))
	opts = append(slices.Clip(opts), api.WithAttempts(1))
	return requestAuthToken(ctx, s.c, endpoint.OAuthSignIn(api.NewSecret("Basic "+pair)), opts)
}

// requestAuthToken sends a request whose response holds a token of an account, and
// returns that.
func requestAuthToken(ctx context.Context, c api.Client, r *api.Request, opts []api.CallOption) (*Token, error) {
	sent := time.Now()
	a, err := call.Payload[struct {
		AuthToken api.Secret `json:"auth_token"`
		ExpiresIn lifetime   `json:"expires_in"`
		TwoFactor bool       `json:"2factor"`
	}](ctx, c, r, opts)
	switch {
	case err != nil:
		return nil, err
	case a.AuthToken.IsZero():
		return nil, call.Missing(r.Op, "token")
	case !sendable(a.AuthToken):
		return nil, errors.New("fastio: " + r.Op + ": the token contains a character that is invalid in a header")
	}
	return &Token{
		AccessToken: a.AuthToken, TokenType: bearer, Expiry: call.Expiry(sent, int64(a.ExpiresIn)), TwoFactor: a.TwoFactor,
	}, nil
}

// CheckToken returns the user of the client's token.
// Errors: [api.ErrUnauthenticated] if it is invalid or expired. [api.ErrForbidden]
// if it is valid, but the account has not confirmed its e-mail address
// (codes.EmailUnverified) or the token requires a second factor (codes.SecondFactor).
//
// It calls GET /current/user/auth/check/.
func (s *Service) CheckToken(ctx context.Context, opts ...api.CallOption) (api.ID, error) {
	a, err := call.Payload[struct {
		ID *api.ID `json:"id"`
	}](ctx, s.c, endpoint.OAuthCheckToken(), opts)
	if err != nil {
		return "", err
	}
	id, err := call.Found("oauth.CheckToken", "id", a.ID)
	if err != nil {
		return "", err
	}
	return *id, nil
}

// SignOut revokes the tokens of sign-ins with a password, on every device, as far as
// they can be revoked. API keys and OAuth tokens stay valid: see [Keys.Delete],
// [Service.Revoke] and [Sessions.Revoke]. Errors: [api.ErrForbidden] with
// [ReasonScopeWrite] for a read-only credential.
//
// It calls POST /current/user/auth/sign-out/.
func (s *Service) SignOut(ctx context.Context, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.OAuthSignOut(), opts)
}

// InvalidateAll is [Service.SignOut] for every such token, even if it cannot be
// revoked or requires a second factor.
//
// It calls POST /current/user/auth/invalidate-all/.
func (s *Service) InvalidateAll(ctx context.Context, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.OAuthInvalidateAll(), opts)
}

// Channel is how a one-time code is sent.
type Channel string

// Channels of one-time codes.
const (
	ChannelSMS      Channel = "sms"
	ChannelCall     Channel = "call" // for [TwoFactor.Send] only
	ChannelWhatsApp Channel = "whatsapp"
	ChannelTOTP     Channel = "totp" // an authenticator app; for [TwoFactor.Enable] only
)

// TwoFactorStatus reports whether sign-ins require a second factor.
type TwoFactorStatus struct {
	State TwoFactorState `json:"state"`
	TOTP  bool           `json:"totp"` // the codes are of an authenticator app

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// TwoFactorState is the state of a second factor. Unknown values are kept.
type TwoFactorState string

// States of a second factor.
const (
	TwoFactorStateEnabled  TwoFactorState = "enabled"
	TwoFactorStateDisabled TwoFactorState = "disabled"
)

// Status reports whether the account has a second factor.
//
// It calls GET /current/user/auth/2factor/.
func (f *TwoFactor) Status(ctx context.Context, opts ...api.CallOption) (*TwoFactorStatus, error) {
	return call.Payload[TwoFactorStatus](ctx, f.c, endpoint.OAuthTwoFactorStatus(), opts)
}

// TwoFactorSetup holds what a user needs to complete the setup.
type TwoFactorSetup struct {
	BindingURI api.Secret `json:"binding_uri"` // otpauth://..., usually shown as a QR code; "" for other channels
}

// Enable starts the setup of a second factor by [ChannelSMS], [ChannelWhatsApp] or
// [ChannelTOTP]. [TwoFactor.VerifySetup] completes it. It is not idempotent, so it is
// retried only if it was not processed.
//
// It calls POST /current/user/auth/2factor/{channel}/.
func (f *TwoFactor) Enable(ctx context.Context, channel Channel, opts ...api.CallOption) (*TwoFactorSetup, error) {
	const op = "oauth.TwoFactor.Enable"
	const rule = "must be sms, totp or whatsapp" // part of the path: other values are other endpoints
	if err := checkOneOf(input.Parameters(op), "channel", rule, channel, ChannelSMS, ChannelTOTP, ChannelWhatsApp); err != nil {
		return nil, err
	}
	return call.Payload[TwoFactorSetup](ctx, f.c, endpoint.OAuthTwoFactorEnable(string(channel)), opts)
}

// VerifySetup completes the setup with a code of the second factor. Blanks in the
// code are ignored.
//
// It calls POST /current/user/auth/2factor/verify/{token}/.
func (f *TwoFactor) VerifySetup(ctx context.Context, code api.Secret, opts ...api.CallOption) error {
	plain, err := plainCode(input.Parameters("oauth.TwoFactor.VerifySetup", "token", "code"), code)
	if err != nil {
		return err
	}
	return call.Do(ctx, f.c, endpoint.OAuthTwoFactorVerifySetup(plain), opts)
}

// Send sends a code by [ChannelSMS], [ChannelCall] or [ChannelWhatsApp]. The limited
// token is the AccessToken of [Service.SignIn]; "" means the client's token. Each call
// sends a message, so it is retried only if it was not processed.
//
// It calls GET /current/user/auth/2factor/send/{channel}/.
func (f *TwoFactor) Send(ctx context.Context, limited api.Secret, channel Channel, opts ...api.CallOption) error {
	const op = "oauth.TwoFactor.Send"
	const rule = "must be sms, call or whatsapp"
	if err := checkOneOf(input.Parameters(op), "channel", rule, channel, ChannelSMS, ChannelCall, ChannelWhatsApp); err != nil {
		return err
	}
	if limited.IsZero() {
		r := endpoint.OAuthTwoFactorSend(string(channel), api.Secret{})
		r.Auth = api.AuthBearer
		return call.Do(ctx, f.c, r, opts)
	}
	credential, err := credentialOf(op, "limited", limited)
	if err != nil {
		return err
	}
	return call.Do(ctx, f.c, endpoint.OAuthTwoFactorSend(string(channel), credential), opts)
}

// Complete exchanges the limited token of [Service.SignIn] and a code for a full
// token. Blanks in the code are ignored. It is retried only if it was not processed.
//
// It calls POST /current/user/auth/2factor/auth/{token}/.
func (f *TwoFactor) Complete(ctx context.Context, limited, code api.Secret, opts ...api.CallOption) (*Token, error) {
	const op = "oauth.TwoFactor.Complete"
	plain, err := plainCode(input.Parameters(op, "token", "code"), code)
	if err != nil {
		return nil, err
	}
	credential, err := credentialOf(op, "limited", limited)
	if err != nil {
		return nil, err
	}
	return requestAuthToken(ctx, f.c, endpoint.OAuthTwoFactorComplete(plain, credential), opts)
}

// Disable removes the second factor. It requires one of its codes. Blanks in the
// code are ignored.
//
// It calls DELETE /current/user/auth/2factor/{token}/.
func (f *TwoFactor) Disable(ctx context.Context, code api.Secret, opts ...api.CallOption) error {
	plain, err := plainCode(input.Parameters("oauth.TwoFactor.Disable", "token", "code"), code)
	if err != nil {
		return err
	}
	return call.Do(ctx, f.c, endpoint.OAuthTwoFactorDisable(plain), opts)
}

// plainCode returns a one-time code without the blanks in it, or an error if the
// rest is not one.
func plainCode(args input.Args, code api.Secret) (string, error) {
	plain := strings.Join(strings.Fields(code.Reveal()), "")
	if plain == "" {
		return "", args.Refuse("token", "must be given", "")
	}
	if strings.ContainsFunc(plain, func(r rune) bool { return !unreserved(r) || strings.ContainsRune("._~", r) }) {
		return "", args.Refuse("token", "must consist of letters, digits and hyphens", "")
	}
	return plain, nil
}

// credentialOf returns the value of the Authorization header for a token, or an
// error if the token cannot be in a header.
func credentialOf(op, field string, token api.Secret) (api.Secret, error) {
	switch {
	case token.IsZero():
		return token, &api.InputError{Op: op, Field: field, Rule: "must be given"}
	case strings.ContainsFunc(token.Reveal(), func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return token, &api.InputError{Op: op, Field: field, Rule: "must not contain blanks or control characters"}
	}
	return api.NewSecret("Bearer " + token.Reveal()), nil
}
