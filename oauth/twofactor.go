package oauth

import (
	"context"
	stdjson "encoding/json"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Channel is how a one-time code reaches a person.
type Channel string

// Channels of one-time codes.
const (
	ChannelSMS      Channel = "sms"
	ChannelCall     Channel = "call" // for [TwoFactor.Send] only
	ChannelWhatsApp Channel = "whatsapp"
	ChannelTOTP     Channel = "totp" // an authenticator app; for [TwoFactor.Enable] only
)

// TwoFactorStatus tells whether sign-ins ask for a second factor.
type TwoFactorStatus struct {
	State TwoFactorState `json:"state"`
	TOTP  bool           `json:"totp"` // an authenticator app shows the codes

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// TwoFactorState is how far a second factor is set up. Unknown ones pass through.
type TwoFactorState string

// States of a second factor.
const (
	TwoFactorStateEnabled  TwoFactorState = "enabled"
	TwoFactorStateDisabled TwoFactorState = "disabled"
)

// Status tells whether the account has a second factor.
//
// It calls GET /current/user/auth/2factor/.
func (f *TwoFactor) Status(ctx context.Context, opts ...api.CallOption) (*TwoFactorStatus, error) {
	return call.One[TwoFactorStatus](ctx, f.c, endpoint.OAuthTwoFactorStatus(), "", opts)
}

// TwoFactorSetup is what a person needs to finish setting up a second factor.
type TwoFactorSetup struct {
	BindingURI api.Secret `json:"binding_uri"` // otpauth://..., mostly shown as a QR code; "" without an authenticator app
}

// Enable begins to set up a second factor by [ChannelSMS], [ChannelWhatsApp] or
// [ChannelTOTP]. [TwoFactor.VerifySetup] ends it. A second call may undo the
// first, so it is only repeated when it was never sent.
//
// It calls POST /current/user/auth/2factor/{channel}/.
func (f *TwoFactor) Enable(ctx context.Context, channel Channel, opts ...api.CallOption) (*TwoFactorSetup, error) {
	const op = "oauth.TwoFactor.Enable"
	const rule = "must be sms, totp or whatsapp" // in the path, where another word is another endpoint
	if err := checkOneOf(op, "channel", rule, channel, ChannelSMS, ChannelTOTP, ChannelWhatsApp); err != nil {
		return nil, err
	}
	return call.One[TwoFactorSetup](ctx, f.c, endpoint.OAuthTwoFactorEnable(string(channel)), "", opts)
}

// VerifySetup shows that the person gets the codes, which sets the second factor
// up. Blanks in the code are no matter.
//
// It calls POST /current/user/auth/2factor/verify/{token}/.
func (f *TwoFactor) VerifySetup(ctx context.Context, code api.Secret, opts ...api.CallOption) error {
	const op = "oauth.TwoFactor.VerifySetup"
	plain, err := plainCode(op, code)
	if err != nil {
		return err
	}
	return call.Do(ctx, f.c, endpoint.OAuthTwoFactorVerifySetup(plain), opts)
}

// Send has a code sent by [ChannelSMS], [ChannelCall] or [ChannelWhatsApp]. The
// limited token is the AccessToken of [Service.SignIn]; "" is the client's own.
// Each call sends a message, so it is only repeated when it was never sent.
//
// It calls GET /current/user/auth/2factor/send/{channel}/.
func (f *TwoFactor) Send(ctx context.Context, limited api.Secret, channel Channel, opts ...api.CallOption) error {
	const op = "oauth.TwoFactor.Send"
	const rule = "must be sms, call or whatsapp"
	if err := checkOneOf(op, "channel", rule, channel, ChannelSMS, ChannelCall, ChannelWhatsApp); err != nil {
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
// token. Blanks in the code are no matter. It is only repeated when it was never
// sent.
//
// It calls POST /current/user/auth/2factor/auth/{token}/.
func (f *TwoFactor) Complete(ctx context.Context, limited, code api.Secret, opts ...api.CallOption) (*Token, error) {
	const op = "oauth.TwoFactor.Complete"
	plain, err := plainCode(op, code)
	if err != nil {
		return nil, err
	}
	credential, err := credentialOf(op, "limited", limited)
	if err != nil {
		return nil, err
	}
	return signedIn(ctx, f.c, endpoint.OAuthTwoFactorComplete(plain, credential), opts)
}

// Disable takes the second factor away. It asks for a code of it. Blanks in the
// code are no matter.
//
// It calls DELETE /current/user/auth/2factor/{token}/.
func (f *TwoFactor) Disable(ctx context.Context, code api.Secret, opts ...api.CallOption) error {
	const op = "oauth.TwoFactor.Disable"
	plain, err := plainCode(op, code)
	if err != nil {
		return err
	}
	return call.Do(ctx, f.c, endpoint.OAuthTwoFactorDisable(plain), opts)
}

// plainCode returns a one-time code without the blanks that people type.
func plainCode(op string, code api.Secret) (string, error) {
	plain := strings.Join(strings.Fields(code.Reveal()), "")
	if plain == "" {
		return "", &api.InputError{Op: op, Field: "token", Rule: "must be given"}
	}
	if strings.ContainsFunc(plain, func(r rune) bool { return !unreserved(r) || strings.ContainsRune("._~", r) }) {
		return "", &api.InputError{Op: op, Field: "token", Rule: "must consist of letters, digits and hyphens"}
	}
	return plain, nil
}

// credentialOf returns the Authorization header for a token that a call brings.
func credentialOf(op, field string, token api.Secret) (api.Secret, error) {
	switch {
	case token.IsZero():
		return token, &api.InputError{Op: op, Field: field, Rule: "must be given"}
	case strings.ContainsFunc(token.Reveal(), func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return token, &api.InputError{Op: op, Field: field, Rule: "must hold neither blanks nor control characters"}
	}
	return api.NewSecret("Bearer " + token.Reveal()), nil
}
