package account

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
)

// UpdateMeRequest changes the names of the signed-in user. An empty field keeps the
// name; at least one is required.
type UpdateMeRequest struct {
	FirstName string
	LastName  string
}

// UpdateMe changes the names of the signed-in user. A token with scopes needs the scope
// of the account settings. The call is retried only if it was not processed.
//
// Errors: [*api.InputError] for an empty request; [api.ErrForbidden] if the token may
// not change the account.
//
// It calls POST /current/user/update/.
func (s *Service) UpdateMe(ctx context.Context, r UpdateMeRequest, opts ...api.CallOption) error {
	f := form.New(input.Fields[UpdateMeRequest]("account.UpdateMe"))
	form.Given("first_name", r.FirstName, f.Set)
	form.Given("last_name", r.LastName, f.Set)
	if err := f.UpdateErr(); err != nil {
		return err
	}
	return call.Do(ctx, s.c, endpoint.AccountUpdateMe(f.Form), opts)
}

// ChangePassword changes the password of the signed-in user. Current is the one to
// replace, empty for an account without a password. The server may end all sessions,
// including that of this client. The call is retried only if it was not processed, and
// follows no redirect.
//
// Errors: [api.ErrInvalid] if the current password is wrong or the new one is not
// accepted; [api.ErrForbidden] if the token may not change the account.
//
// It calls POST /current/user/update/.
func (s *Service) ChangePassword(
	ctx context.Context, current, password api.Secret, opts ...api.CallOption,
) error {
	f := form.New(input.Parameters("account.ChangePassword"))
	form.Given("current_password", current.Reveal(), f.Set)
	setSecret(&f, "password", password.Reveal())
	if err := f.Err(); err != nil {
		return err
	}
	return call.Do(ctx, s.c, endpoint.AccountChangePassword(f.Form), opts)
}

// RequestEmailChange sends a mail with a token for [Service.ConfirmEmailChange] to a
// new e-mail address of the signed-in user. Until it is confirmed the address does not
// change. Password is the password of the account, empty if the account has none. Each
// call sends a mail; it is retried only if it was not processed, and follows no redirect.
//
// Errors: [api.ErrInvalid] if the password is wrong or the address is not accepted;
// [api.ErrForbidden] if the token may not change the account.
//
// It calls POST /current/user/update/.
func (s *Service) RequestEmailChange(
	ctx context.Context, email string, password api.Secret, opts ...api.CallOption,
) error {
	const field = "email_address"
	args := input.Parameters("account.RequestEmailChange", field, "email")
	if err := checkAddress(args, field, email); err != nil {
		return err
	}
	f := form.New(args)
	f.Set(field, email)
	form.Given("current_password", password.Reveal(), f.Set)
	return call.Do(ctx, s.c, endpoint.AccountRequestEmailChange(f.Form), opts)
}

// ConfirmEmailChange changes the e-mail address of the signed-in user to the one that
// received the token, in a mail of [Service.RequestEmailChange]. The token is valid
// once. The call is retried only if it was not processed, and follows no redirect.
//
// Errors: [api.ErrInvalid] if the token is wrong, used or expired.
//
// It calls POST /current/user/email/change/.
func (s *Service) ConfirmEmailChange(ctx context.Context, token api.Secret, opts ...api.CallOption) error {
	f := form.New(input.Parameters("account.ConfirmEmailChange"))
	setSecret(&f, "token", strings.TrimSpace(token.Reveal()))
	if err := f.Err(); err != nil {
		return err
	}
	return call.Do(ctx, s.c, endpoint.AccountConfirmEmailChange(f.Form), opts)
}

// SetPhone changes the phone number of the signed-in user. CountryCode is, for example,
// "44"; both arguments consist of digits only. The second factor of the account must be
// disabled. The call is retried only if it was not processed.
//
// Errors: [*api.InputError] for an argument that does not consist of digits;
// [api.ErrInvalid] if the number is not accepted or a second factor is enabled;
// [api.ErrForbidden] if the token may not change the account.
//
// It calls POST /current/user/update/.
func (s *Service) SetPhone(
	ctx context.Context, countryCode, phoneNumber string, opts ...api.CallOption,
) error {
	f, err := phone("account.SetPhone", countryCode, phoneNumber)
	if err != nil {
		return err
	}
	return call.Do(ctx, s.c, endpoint.AccountSetPhone(f), opts)
}

// PhoneCheck is the result of [Service.CheckPhone]. The members of the response are not
// documented: all of them are in Extra, including those of the envelope.
type PhoneCheck struct {
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// CheckPhone returns what the platform reports about a phone number, before
// [Service.SetPhone]. Both arguments consist of digits only.
//
// Errors: [*api.InputError] if they do not; [api.ErrInvalid] if the server rejects the number.
//
// It calls GET /current/user/phone/{country_code}-{phone_number}/.
func (s *Service) CheckPhone(
	ctx context.Context, countryCode, phoneNumber string, opts ...api.CallOption,
) (*PhoneCheck, error) {
	if _, err := phone("account.CheckPhone", countryCode, phoneNumber); err != nil {
		return nil, err
	}
	return call.Payload[PhoneCheck](ctx, s.c, endpoint.AccountCheckPhone(countryCode, phoneNumber), opts)
}

// phone returns the form of a phone number. Its errors do not contain the number.
func phone(op, country, number string) (api.Form, error) {
	f := form.New(input.Parameters(op, "phone_country", "countryCode"))
	digits := func(field, value string) {
		if value == "" || strings.Trim(value, "0123456789") != "" {
			f.Refuse(field, "must consist of digits", "")
		}
		f.Set(field, value)
	}
	digits("phone_country", country)
	digits("phone_number", number)
	return f.Form, f.Err()
}

// setSecret sets a form field that must have a value. Its error does not
// contain the value.
func setSecret(f *form.Fields, field, value string) {
	if value == "" {
		f.Refuse(field, "must be given", "")
	}
	f.Set(field, value)
}

// PasswordReset replaces a forgotten password, with a code that the platform sends by
// mail. Its calls send no token.
type PasswordReset struct{ c api.Client }

// Request sends a mail with a code to the address of an account. It succeeds for any
// address: the platform does not disclose which ones have an account. Each call sends a
// mail; it is retried only if it was not processed.
//
// It calls POST /current/user/email/reset/.
func (p *PasswordReset) Request(ctx context.Context, email string, opts ...api.CallOption) error {
	if err := checkAddress(input.Parameters("account.PasswordReset.Request"), "email", email); err != nil {
		return err
	}
	return call.Do(ctx, p.c, endpoint.AccountPasswordResetRequest(api.Form{"email": {email}}), opts)
}

// ResetTarget is the account of a reset code.
type ResetTarget struct {
	EmailAddress string `json:"email" also:"email_address"` // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // other members, including those of the envelope
}

// Check returns the account whose password a code can replace. The code stays valid. It
// follows no redirect.
//
// Errors: [api.ErrInvalid] or [api.ErrNotFound] if the code is wrong, used or expired.
//
// It calls GET /current/user/password/{code}/details/.
func (p *PasswordReset) Check(ctx context.Context, code api.Secret, opts ...api.CallOption) (*ResetTarget, error) {
	return call.Payload[ResetTarget](ctx, p.c, endpoint.AccountPasswordResetCheck(pasted(code)), opts)
}

// Complete replaces the password of the account of a code, which is valid once. The
// server may end all sessions of the account. The call is retried only if it was not
// processed, and follows no redirect.
//
// Errors: [api.ErrInvalid] or [api.ErrNotFound] if the code is wrong, used or expired;
// [api.ErrInvalid] if the password is not accepted.
//
// It calls POST /current/user/password/{code}/.
func (p *PasswordReset) Complete(ctx context.Context, code, password api.Secret, opts ...api.CallOption) error {
	f := form.New(input.Parameters("account.PasswordReset.Complete", "password1", "password"))
	setSecret(&f, "password1", password.Reveal()) // an error if it is empty
	f.Set("password2", password.Reveal())         // the platform requires it twice
	if err := f.Err(); err != nil {
		return err
	}
	return call.Do(ctx, p.c, endpoint.AccountPasswordResetComplete(pasted(code), f.Form), opts)
}

// pasted returns a code without the blanks of a paste.
func pasted(code api.Secret) string { return strings.TrimSpace(code.Reveal()) }

// Delete closes the account of the signed-in user: sign-ins, tokens and keys of the account
// are no longer accepted. It cannot be undone. Email is the address of the account, to
// confirm that this account is meant. The call is retried only if it was not processed.
//
// Errors: [api.ErrInvalid] if the address is not that of the account, or the account
// cannot be closed; [api.ErrForbidden] if the token may not change the account.
//
// It calls POST /current/user/close/.
func (s *Service) Delete(ctx context.Context, email string, opts ...api.CallOption) error {
	const field = "email_address"
	if err := checkAddress(input.Parameters("account.Delete", field, "email"), field, email); err != nil {
		return err
	}
	f := api.Form{field: {email}, "confirmation": {email}} // servers read one of them
	return call.Do(ctx, s.c, endpoint.AccountDelete(f), opts)
}

// OrgLimits are the limits of organizations of a user. The members of the response are
// not documented: all of them are in Extra, including those of the envelope.
type OrgLimits struct {
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// OrgLimits returns how many organizations the signed-in user may create, and when.
//
// It calls GET /current/user/me/limits/orgs/.
func (s *Service) OrgLimits(ctx context.Context, opts ...api.CallOption) (*OrgLimits, error) {
	return call.Payload[OrgLimits](ctx, s.c, endpoint.AccountOrgLimits(), opts)
}

// SupportPIN identifies the signed-in user to the support of the platform. All of it is
// secret.
type SupportPIN struct {
	PIN          api.Secret `json:"pin"`           // (assumed name)
	IdentityHash api.Secret `json:"identity_hash"` // (assumed name)

	// Members this version has no field for: texts and numbers. The value of any other member is empty.
	Extra map[string]api.Secret `json:",embed,unknown"`
}

// SupportPIN returns the PIN of the signed-in user for the support of the platform. The
// members of the response are not documented.
//
// It calls GET /current/user/pin/.
func (s *Service) SupportPIN(ctx context.Context, opts ...api.CallOption) (*SupportPIN, error) {
	return call.Payload[SupportPIN](ctx, s.c, endpoint.AccountSupportPIN(), opts)
}

// AutoSyncPhoto sets whether the picture of the signed-in user follows that of the
// service used to sign in. It is idempotent.
//
// It calls GET /current/user/me/autosync/{state}/.
func (s *Service) AutoSyncPhoto(ctx context.Context, enable bool, opts ...api.CallOption) error {
	state := "disable"
	if enable {
		state = "enable"
	}
	return call.Do(ctx, s.c, endpoint.AccountAutoSyncPhoto(state), opts)
}
