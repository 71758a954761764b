package account

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// SignUpRequest describes a new account.
type SignUpRequest struct {
	EmailAddress string
	Password     api.Secret
	AgreeToTerms bool   `wire:"tos_agree"` // to the platform's terms of service; required
	FirstName    string // "" means none
	LastName     string // "" means none
	Agent        bool   // the account is a software agent's, permanently
}

// SignedUp is the result of a sign-up.
type SignedUp struct {
	// Token is the token of the new account. It is nil if the server does not
	// return one: an older server, or an address that already has an account,
	// which the platform does not disclose. The owner of the address gets a
	// mail, or can sign in.
	Token *api.Token
}

// SignUp creates an account and accepts pending invitations of the address. If
// the address already has an account it returns no error: see [SignedUp]. The
// new account must confirm its address, see [Service.ValidateEmail].
//
// The request carries no token. It is sent once, whatever opts say; after an error the
// account may exist.
//
// Errors: [*api.InputError] for an invalid address, without a password, and unless
// AgreeToTerms is true; [api.ErrInvalid] if the server rejects a field.
//
// It calls POST /current/user/.
func (s *Service) SignUp(ctx context.Context, r SignUpRequest, opts ...api.CallOption) (*SignedUp, error) {
	args := input.Fields[SignUpRequest]("account.SignUp")
	if err := checkAddress(args, "email_address", r.EmailAddress); err != nil {
		return nil, err
	}
	switch {
	case r.Password.IsZero():
		return nil, args.Refuse("password", "must be given", "")
	case !r.AgreeToTerms:
		return nil, args.Refuse("tos_agree", "must be true", "")
	}
	body := api.Form{"email_address": {r.EmailAddress}, "password": {r.Password.Reveal()}, "tos_agree": {"true"}}
	if r.FirstName != "" {
		body["first_name"] = []string{r.FirstName}
	}
	if r.LastName != "" {
		body["last_name"] = []string{r.LastName}
	}
	if r.Agent {
		body["agent"] = []string{"true"}
	}
	sent := time.Now()
	a, err := call.Payload[struct {
		AuthToken api.Secret `json:"auth_token"`
		ExpiresIn int64      `json:"expires_in"` // seconds
	}](ctx, s.c, endpoint.AccountSignUp(body), append(slices.Clip(opts), api.WithAttempts(1)))
	if err != nil {
		return nil, err
	}
	if a.AuthToken.IsZero() {
		return &SignedUp{}, nil
	}
	return &SignedUp{&api.Token{AccessToken: a.AuthToken, Expiry: call.Expiry(sent, a.ExpiresIn)}}, nil
}

// ValidateEmail sends a mail with a code for [Service.ConfirmEmail] to the
// address of an account. Each call sends another. It requires no sign-in, and
// sends the client's token if there is one.
//
// It calls POST /current/user/email/validate/.
func (s *Service) ValidateEmail(ctx context.Context, email string, opts ...api.CallOption) error {
	if err := checkAddress(input.Parameters("account.ValidateEmail"), "email", email); err != nil {
		return err
	}
	return call.Do(ctx, s.c, endpoint.AccountValidateEmail(api.Form{"email": {email}}), opts)
}

// ConfirmEmail confirms the e-mail address of an account with the code that
// [Service.ValidateEmail] has sent there. It calls the endpoint of that method,
// requires no sign-in, and sends the client's token if there is one.
//
// Errors: [api.ErrInvalid] if the code is wrong.
func (s *Service) ConfirmEmail(ctx context.Context, email string, code api.Secret, opts ...api.CallOption) error {
	args := input.Parameters("account.ValidateEmail", "email_token", "code")
	if err := checkAddress(args, "email", email); err != nil {
		return err
	}
	plain := strings.TrimSpace(code.Reveal())
	if plain == "" { // without a code the server sends another mail
		return args.Refuse("email_token", "must be given", "")
	}
	return call.Do(ctx, s.c, endpoint.AccountValidateEmail(api.Form{"email": {email}, "email_token": {plain}}), opts)
}

// checkAddress returns an error unless a text is an e-mail address.
func checkAddress(args input.Args, field, address string) error {
	if input.IsAddress(address) {
		return nil
	}
	return args.Refuse(field, "must be an e-mail address", "")
}
