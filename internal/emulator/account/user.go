package account

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of the own account. Those from 199001 to 199999 are invented.
const (
	codeUserDetails = 10769
	codeFactorOn    = 199954
)

// Lifetimes of what is mailed, which are assumed.
const (
	changeLife = 24 * time.Hour
	resetLife  = time.Hour
)

// settings are those of a user that other areas do not need.
type settings struct {
	country, number string // of the phone
	change, reset   mailed // of the e-mail address, and of the password
}

// mailed is the latest token in a mail, "" if none is valid.
type mailed struct {
	token, address string
	until          time.Time
}

// isValid reports whether a token is the mailed one and is still valid.
func (m mailed) isValid(token string, now time.Time) bool {
	return m.token != "" && m.token == token && now.Before(m.until)
}

// settingsOf returns a copy of the settings of a user, by default empty ones.
func (h *Handlers) settingsOf(userID string) settings {
	if own := h.settings[userID]; own != nil {
		return *own
	}
	return settings{}
}

// ownRoutes returns the routes of the account of the caller.
func (h *Handlers) ownRoutes() []*wire.Route {
	const password = "/current/user/password/{code}/"
	return []*wire.Route{
		wire.Post("account.UpdateMe", "/current/user/update/", wire.With(h.ownSettings, h.updateUser),
			wire.Form("first_name last_name password current_password email_address phone_country phone_number")),
		wire.Post("account.ConfirmEmailChange", "/current/user/email/change/",
			wire.With(h.ownSettings, h.changeEmail), wire.Form("token")),
		wire.Post("account.PasswordReset.Request", "/current/user/email/reset/", h.requestReset, wire.NoCredential,
			wire.Form("email")),
		wire.Get("account.PasswordReset.Check", password+"details/", wire.With(h.resetOfPath, h.resetDetails),
			wire.NoCredential),
		wire.Post("account.PasswordReset.Complete", password, wire.With(h.resetOfPath, h.completeReset), wire.NoCredential,
			wire.Form("password1 password2")),
		wire.Post("account.Delete", "/current/user/close/", wire.With(h.ownSettings, h.closeAccount),
			wire.Form("email_address confirmation")),
		wire.Get("account.OrgLimits", "/current/user/me/limits/orgs/", wire.RefuseInvalid(h.orgLimits)),
		wire.Get("account.CheckPhone", "/current/user/phone/{phone}/", h.checkPhone),
		wire.Get("account.SupportPIN", "/current/user/pin/", wire.RefuseInvalid(h.supportPIN)),
		wire.Get("account.AutoSyncPhoto", "/current/user/me/autosync/{state}/", wire.With(h.ownAccount, h.autoSync)),
	}
}

// ownAccount returns the id of the caller. It refuses a credential that may not change
// account settings: one that is read-only, or has scopes without userdetails.
func (h *Handlers) ownAccount(c *wire.Call) (string, error) {
	if err := c.Key.RefuseReadOnly(); err != nil {
		return "", err
	}
	if len(c.Key.Scopes) > 0 && !slices.Contains(c.Key.Scopes, world.UserDetails) {
		return "", wire.RefuseWithReason(http.StatusForbidden, codeUserDetails, "userdetails_scope_required",
			"The credential does not reach the account settings.", wire.Member{"credential_type", c.Key.TypeName()})
	}
	return c.Key.User, nil
}

// ownSettings returns the settings of the caller, to be changed. It refuses a
// credential that may not change them.
func (h *Handlers) ownSettings(c *wire.Call) (*settings, error) {
	id, err := h.ownAccount(c)
	if err != nil {
		return nil, err
	}
	return h.settingsFor(id), nil
}

// settingsFor returns the settings of a user, to be changed. It adds empty ones if the
// user has none.
func (h *Handlers) settingsFor(userID string) *settings {
	if h.settings[userID] == nil {
		h.settings[userID] = new(settings)
	}
	return h.settings[userID]
}

// updateUser changes the given fields of the account. A new password or e-mail address
// requires the current password. A new address takes effect when it is confirmed with
// the token in a mail. The phone cannot be changed while the user has a second factor,
// which may be that phone.
func (h *Handlers) updateUser(c *wire.Call, own *settings) (wire.Object, error) {
	u := &h.w.User(c.Key.User).Value
	password, setsPassword := c.Field("password")
	c.Check.MissingIf(setsPassword && password == "", "password", "Choose a password.")
	email := ""
	if c.Form.Has("email_address") {
		email = wire.Address(c, "email_address")
	}
	if setsPassword || c.Form.Has("email_address") {
		current, given := c.Field("current_password")
		c.Check.MissingIf(!given, "current_password", "Send the current password.")
		c.Check.InvalidIf(given && current != u.Password, "current_password", "Not the password of the account.")
	}
	country, number := readPhone(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if number != "" && h.Signin.Auth.Factors[c.Key.User].Active != nil {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeFactorOn, "Disable the second factor first.")
	}
	if name, given := c.Field("first_name"); given {
		u.FirstName = name
	}
	if name, given := c.Field("last_name"); given {
		u.LastName = name
	}
	if number != "" {
		own.country, own.number = country, number
	}
	if setsPassword {
		h.setPassword(c.Key.User, password)
	}
	if email != "" && h.w.UserWithEmail(email) == "" { // the response does not reveal accounts (assumed)
		own.change = h.mailToken(email, changeLife)
	}
	h.w.MarkChanged(h.w.Now(), c.Key.User, world.FieldSettings)
	return nil, nil
}

// readPhone reads the country code and the number of a phone, both of digits. Each
// requires the other.
func readPhone(c *wire.Call) (country, number string) {
	country, hasCountry := c.Field("phone_country")
	number, hasNumber := c.Field("phone_number")
	c.Check.MissingIf(hasNumber && !hasCountry, "phone_country", "With phone_number.")
	c.Check.MissingIf(hasCountry && !hasNumber, "phone_number", "With phone_country.")
	c.Check.InvalidIf(hasCountry && !isNumber(country), "phone_country", "Digits.")
	c.Check.InvalidIf(hasNumber && !isNumber(number), "phone_number", "Digits.")
	return country, number
}

// isNumber reports whether a text consists of digits.
func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// setPassword sets a password and ends all sessions. That this includes the session of
// the caller is assumed.
func (h *Handlers) setPassword(userID, password string) {
	h.w.User(userID).Value.Password = password
	h.Signin.EndSessions(userID, wire.SessionToken, wire.LimitedToken)
}

// mailToken sends a new token of 32 characters, which is valid for a time, to an address.
func (h *Handlers) mailToken(to string, life time.Duration) mailed {
	m := mailed{token: h.w.Secret()[:32], address: to, until: h.w.Now().Add(life)}
	h.w.Mail(world.Mail{To: to, Token: m.token, At: h.w.Now()})
	return m
}

// wrongToken returns the refusal of a token from a mail that is not valid.
func wrongToken() error {
	return wire.Refuse(http.StatusNotAcceptable, signin.CodeWrongCode, "The code is wrong, or has been used or expired.")
}

// changeEmail changes the e-mail address of the caller to the one to which the token
// was mailed. The token is refused if another account has got the address meanwhile.
func (h *Handlers) changeEmail(c *wire.Call, own *settings) (wire.Object, error) {
	token, _ := c.Field("token")
	c.Check.MissingIf(token == "", "token", "Send the token of the mail.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if !own.change.isValid(token, c.Now) || h.w.UserWithEmail(own.change.address) != "" {
		return nil, wrongToken()
	}
	u := &h.w.User(c.Key.User).Value
	u.Email, u.Unverified = own.change.address, false
	own.change = mailed{}
	h.w.MarkChanged(h.w.Now(), c.Key.User, world.FieldSettings)
	return nil, nil
}

// requestReset mails a code to the account with an address. The response does not reveal
// whether there is such an account.
func (h *Handlers) requestReset(c *wire.Call) (wire.Object, error) {
	email := wire.Address(c, "email")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if id := h.w.UserWithEmail(email); h.w.Enabled(id) {
		h.settingsFor(id).reset = h.mailToken(h.w.User(id).Value.Email, resetLife)
	}
	return nil, nil
}

// resetOfPath returns the user to whom the reset code in the path was mailed.
func (h *Handlers) resetOfPath(c *wire.Call) (string, error) {
	for id, own := range h.settings {
		if own.reset.isValid(c.Segment("code"), c.Now) && h.w.Enabled(id) {
			return id, nil
		}
	}
	return "", wrongToken()
}

// resetDetails returns the address of the account. The name of the member is assumed.
func (h *Handlers) resetDetails(c *wire.Call, userID string) (wire.Object, error) {
	return wire.Object{{"email", h.w.User(userID).Value.Email}}, c.Check.Err()
}

// completeReset sets a new password for the user of a reset code.
func (h *Handlers) completeReset(c *wire.Call, userID string) (wire.Object, error) {
	password, _ := c.Field("password1")
	again, _ := c.Field("password2")
	c.Check.MissingIf(password == "", "password1", "Choose a password.")
	c.Check.InvalidIf(again != password, "password2", "Not equal to password1.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	h.settings[userID].reset = mailed{}
	h.setPassword(userID, password)
	return nil, nil
}

// closeAccount disables the account of the caller, whose credentials are refused from
// then on. The e-mail address in one of two fields must confirm that.
func (h *Handlers) closeAccount(c *wire.Call, _ *settings) (wire.Object, error) {
	u := &h.w.User(c.Key.User).Value
	c.Check.MissingIf(!c.Form.Has("email_address") && !c.Form.Has("confirmation"), "email_address", "Confirm the address.")
	for _, name := range [...]string{"email_address", "confirmation"} {
		text, given := c.Field(name)
		c.Check.InvalidIf(given && !strings.EqualFold(text, u.Email), name, "Not the address of this account.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	u.Disabled = true
	h.Signin.EndSessions(u.ID, wire.SessionToken, wire.LimitedToken)
	return nil, nil
}

// orgLimits returns how many organizations the caller owns, and whether the caller may
// have more, which an option about the country denies. The form is assumed.
func (h *Handlers) orgLimits(c *wire.Call) (wire.Object, error) {
	owned := wire.Filter(h.w.OrgIDs(), func(id string) bool { return h.w.Org(id).Value.Owner == c.Key.User })
	return wire.Object{{"limits", wire.Object{
		{"eligible", !h.w.Options.Account.CountryBlocked},
		{"owned", len(owned)},
	}}}, nil
}

// checkPhone checks the phone number in the path, which has the form country-number. The
// members of the response are assumed.
func (h *Handlers) checkPhone(c *wire.Call) (wire.Object, error) {
	country, number, _ := strings.Cut(c.Segment("phone"), "-")
	c.Check.InvalidIf(!isNumber(country) || !isNumber(number), "phone_number", "A country code, a hyphen and digits.")
	return wire.Object{{"phone_country", country}, {"phone_number", number}}, c.Check.Err()
}

// supportPIN returns the PIN by which support knows the caller: six digits, always the
// same for a user. The members of the response are assumed.
func (h *Handlers) supportPIN(c *wire.Call) (wire.Object, error) {
	proof := h.w.Sign("support " + c.Key.User)
	return wire.Object{
		{"pin", fmt.Sprintf("%03d%03d", int(proof[0]), int(proof[1]))},
		{"identity_hash", hex.EncodeToString(proof)},
	}, nil
}

// autoSync accepts the state in the path, enable or disable. It changes nothing, because
// no response shows the effect.
func (h *Handlers) autoSync(c *wire.Call, _ string) (wire.Object, error) {
	state := c.Segment("state")
	c.Check.InvalidIf(state != "enable" && state != "disable", "state", "enable or disable.")
	return nil, c.Check.Err()
}
