package account

import (
	"fmt"
	"net/http"

	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// signUp opens an account, and lets it in wherever its address was invited. For an address that has one the answer is
// the same, but for the token: who may not read the mail of the address learns nothing from it.
func (h *Handlers) signUp(c *wire.Call) (wire.Object, error) {
	u := readSignUp(c)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if h.UserOf(u.Email) != "" {
		return nil, nil
	}
	u.ID = h.NewUser(u).ID
	h.WriteEvent(world.Event{Name: "user_created", User: u.ID, CallingUser: u.ID})
	h.JoinInvited(u.ID)
	if h.Options.Account.NoSignUpToken {
		return nil, nil
	}
	return h.signin.StartSession(u.ID, wire.SessionToken, c.Now), nil
}

// readSignUp reads the form of a new account.
func readSignUp(c *wire.Call) world.User {
	u := world.User{AccountType: "human", Unverified: true}
	u.Email = address(c, "email_address")
	u.Password, _ = c.Field("password")
	if u.Password == "" {
		c.Check.Missing("password", "Choose a password.")
	}
	switch text, given := c.Field("tos_agree"); {
	case !given:
		c.Check.Missing("tos_agree", "The terms must be agreed to.")
	case text != "true" && text != "1":
		c.Check.Invalid("tos_agree", "The terms must be agreed to.")
	}
	u.FirstName, _ = c.Field("first_name")
	u.LastName, _ = c.Field("last_name")
	if text, given := c.Field("agent"); given && c.Check.Yes("agent", text) {
		u.AccountType = "agent"
	}
	return u
}

// address reads an e-mail address.
func address(c *wire.Call, name string) string {
	text, _ := c.Field(name)
	switch {
	case text == "":
		c.Check.Missing(name, "Name the e-mail address.")
	case !wire.IsEmail(text):
		c.Check.Invalid(name, "Not an e-mail address.")
	}
	return text
}

// validateEmail sends a code to the address of an account, or takes the code of the latest message. The credential is
// optional; with one, the address must be the caller's own (assumed). Without one the answer about an address that has
// no account is the same (assumed).
func (h *Handlers) validateEmail(c *wire.Call) (wire.Object, error) {
	email := address(c, "email")
	id := h.UserOf(email)
	if c.Key != nil && email != "" && id != c.Key.User {
		c.Check.Invalid("email", "Not the address of this account.")
	}
	code, confirms := c.Field("email_token")
	if confirms && code == "" {
		c.Check.Missing("email_token", "Send the code.")
	}
	if c.Key != nil && !c.Key.Writes() {
		return nil, c.Key.RefuseWrite()
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if !confirms {
		if id != "" {
			h.signin.Auth.Validations[id] = fmt.Sprintf("%08d", world.Mix(h.NextSerial()^world.Mix(h.Options.Seed))%100_000_000)
		}
		return nil, nil
	}
	if id == "" || code != h.signin.Auth.Validations[id] {
		return nil, wire.Refuse(http.StatusNotAcceptable, signin.CodeWrongCode, "The code is wrong or has been used.")
	}
	delete(h.signin.Auth.Validations, id)
	h.Users[id].Value.Unverified = false
	return nil, nil
}

// ValidationCode returns the code of the latest message that asks a user to confirm the e-mail address, "" when there
// is none that still counts.
func (h *Handlers) ValidationCode(userID string) string {
	h.RLock()
	defer h.RUnlock()
	return h.signin.Auth.Validations[userID]
}
