package emulator

import (
	"fmt"
	"net/http"
)

// signUp opens an account, and lets it in wherever its address was invited. For an address that has one the answer is
// the same, but for the token: who may not read the mail of the address learns nothing from it.
func (s *Server) signUp(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.readForm() {
		return noForm()
	}
	u := c.readSignUp()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if s.state.userOf(u.Email) != "" {
		return ok()
	}
	u.ID = s.addUser(u).ID
	s.write(Event{Name: "user_created", User: u.ID, CallingUser: u.ID})
	s.joinInvited(u.ID)
	if s.o.Account.NoSignUpToken {
		return ok()
	}
	return ok(s.startSession(u.ID, sessionToken, c.now)...)
}

// readSignUp reads the form of a new account.
func (c *call) readSignUp() User {
	u := User{AccountType: "human", Unverified: true}
	u.Email = c.address("email_address")
	u.Password, _ = c.field("password")
	if u.Password == "" {
		c.check.missing("password", "Choose a password.")
	}
	switch text, given := c.field("tos_agree"); {
	case !given:
		c.check.missing("tos_agree", "The terms must be agreed to.")
	case text != "true" && text != "1":
		c.check.invalid("tos_agree", "The terms must be agreed to.")
	}
	u.FirstName, _ = c.field("first_name")
	u.LastName, _ = c.field("last_name")
	if text, given := c.field("agent"); given && c.check.yes("agent", text) {
		u.AccountType = "agent"
	}
	return u
}

// address reads an e-mail address.
func (c *call) address(name string) string {
	text, _ := c.field(name)
	switch {
	case text == "":
		c.check.missing(name, "Name the e-mail address.")
	case !isEmail(text):
		c.check.invalid(name, "Not an e-mail address.")
	}
	return text
}

// validateEmail sends a code to the address of an account, or takes the code of the latest message. The credential is
// optional; with one, the address must be the caller's own (assumed). Without one the answer about an address that has
// no account is the same (assumed).
func (s *Server) validateEmail(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.readForm() {
		return noForm()
	}
	st := &s.state
	email := c.address("email")
	id := st.userOf(email)
	if c.key != nil && email != "" && id != c.key.User {
		c.check.invalid("email", "Not the address of this account.")
	}
	code, confirms := c.field("email_token")
	if confirms && code == "" {
		c.check.missing("email_token", "Send the code.")
	}
	if c.key != nil && !c.key.writes() {
		return *c.key.refuseWrite()
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if !confirms {
		if id != "" {
			st.auth.validations[id] = fmt.Sprintf("%08d", mix(s.nextSerial()^mix(s.o.Seed))%100_000_000)
		}
		return ok()
	}
	if id == "" || code != st.auth.validations[id] {
		return refuse(http.StatusNotAcceptable, codeWrongCode, "The code is wrong or has been used.")
	}
	delete(st.auth.validations, id)
	st.users[id].it.Unverified = false
	return ok()
}

// ValidationCode returns the code of the latest message that asks a user to confirm the e-mail address, "" when there is
// none that still counts.
func (s *Server) ValidationCode(userID string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state.auth.validations[userID]
}
