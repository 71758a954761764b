// Package account emulates users.
package account

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	Signin *signin.Handlers

	settings map[string]*settings // by user
}

// New returns the handlers of a world.
func New(w *world.World, signin *signin.Handlers) *Handlers {
	return &Handlers{w: w, Signin: signin, settings: map[string]*settings{}}
}

// Routes returns the routes of users.
func (h *Handlers) Routes() []*wire.Route {
	return append(h.ownRoutes(),
		wire.Post("account.SignUp", "/current/user/", h.signUp, wire.NoCredential,
			wire.Form("email_address password tos_agree first_name last_name agent")),
		wire.Post("account.ValidateEmail", "/current/user/email/validate/", h.validateEmail, wire.OptionalCredential,
			wire.Form("email email_token")),
		wire.Get("account.Me", "/current/user/me/details/", wire.RefuseInvalid(h.me), wire.Params(wire.OutputParam)),
		wire.Get("account.Me", "/current/user/details/", wire.RefuseInvalid(h.me), wire.Params(wire.OutputParam)),
		wire.Get("account.Users.Get", "/current/user/{user_id}/details/", wire.RefuseInvalid(h.userDetails),
			wire.ProfileParams("user_id")),
		wire.Get("account.Users.Search", "/current/users/search/", wire.RefuseInvalid(h.searchUsers), wire.Query("search")),
		wire.Get("account.Profiles", "/current/user/available_profiles/", wire.RefuseInvalid(h.availableProfiles)),
		wire.Get("account.Allowed", "/current/user/me/allowed/", wire.RefuseInvalid(h.allowed)),
	)
}

func (h *Handlers) me(c *wire.Call) (wire.Object, error) {
	return wire.Object{{"user", h.UserObject(c.Key.User, c.Key.User, c.Out.Level)}}, nil
}

// userDetails returns the user of an id or e-mail address. For the caller,
// as "me", there is another route.
func (h *Handlers) userDetails(c *wire.Call) (wire.Object, error) {
	name := c.Segment("user_id")
	for id, u := range h.w.AllUsers() {
		if id == name || strings.EqualFold(u.Value.Email, name) {
			return wire.Object{{"user", h.UserObject(id, c.Key.User, c.Out.Level)}}, nil
		}
	}
	return nil, wire.Refuse(http.StatusNotFound, wire.CodeNotFound, "There is no such user.")
}

// UserObject renders a user. The phone is shown to this user only.
func (h *Handlers) UserObject(id, viewer string, lv wire.Level) wire.Object {
	u := h.w.User(id)
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "id", wire.ProfileID(id))
	r.Put(wire.Terse, "account_type", u.Value.AccountType)
	r.Put(wire.Terse, "first_name", u.Value.FirstName)
	r.Put(wire.Terse, "last_name", u.Value.LastName)
	r.Put(wire.Terse, "profile_pic", h.w.AssetAddress(id, "profile_pic"))
	r.Put(wire.Standard, "email_address", u.Value.Email)
	r.Put(wire.Standard, "created", wire.Stamp(u.Created))
	r.Put(wire.Standard, "updated", wire.Stamp(u.Created)) // the time of a change is not kept
	if id == viewer {
		own := h.settingsOf(id)
		r.Put(wire.Full, "phone_country", wire.TextOrNull(own.country))
		r.Put(wire.Full, "phone_number", wire.TextOrNull(own.number))
	}
	return r.Fields
}

// searchUsers finds users who share an organization, workspace or share with the
// caller, by a part of the name or address. Without the parameter search, it returns all
// of them. The shape of the response, which an option changes, is assumed.
func (h *Handlers) searchUsers(c *wire.Call) (wire.Object, error) {
	words := strings.ToLower(strings.TrimSpace(c.Value("search")))
	found := map[string]any{}
	for id := range h.contactsOf(c.Key) {
		u := h.w.User(id).Value
		if name := h.w.ProfileName(id); strings.Contains(strings.ToLower(name+" "+u.Email), words) {
			found[u.Email] = name
		}
	}
	if h.w.Options.Account.FlatContacts {
		return wire.FromMap(found), nil
	}
	return wire.Object{{"users", found}}, nil
}

// contactsOf returns the ids of the users, besides the caller, who are members of a
// profile that the credential reaches.
func (h *Handlers) contactsOf(k *wire.Credential) map[string]bool {
	met := map[string]bool{}
	for _, id := range h.profilesOf(k) {
		for _, other := range h.w.MembersOf(id) {
			if other != k.User && h.w.User(other) != nil {
				met[other] = true
			}
		}
	}
	return met
}

// availableProfiles returns which kinds of profiles (organization, workspace, share) the
// caller can reach. The shape of the response is assumed.
func (h *Handlers) availableProfiles(c *wire.Call) (wire.Object, error) {
	ids := h.profilesOf(c.Key)
	kinds := wire.Filter([]string{wire.KindOrg, wire.KindWorkspace, wire.KindShare}, func(kind string) bool {
		return slices.ContainsFunc(ids, func(id string) bool { return h.w.KindOf(id) == kind })
	})
	return wire.Object{{"profiles", kinds}}, nil
}

// profilesOf lists the profiles that a credential covers and its user is a member of.
func (h *Handlers) profilesOf(k *wire.Credential) []string {
	return wire.Filter(slices.Concat(h.w.OrgIDs(), h.w.WorkspaceIDs(), h.w.ShareIDs()),
		func(id string) bool { return h.w.Role(id, k.User) != "" && h.w.AccessMode(k, id) != wire.NoAccess })
}

// allowed reports whether the caller's country may open organizations and shares. The
// member is assumed.
func (h *Handlers) allowed(c *wire.Call) (wire.Object, error) {
	return wire.Object{{"allowed", !h.w.Options.Account.CountryBlocked}}, nil
}

// signUp creates an account, accepts the invitations that wait for its address, and
// returns a session token. For an existing address it does nothing and succeeds without
// a token, so as not to reveal accounts.
func (h *Handlers) signUp(c *wire.Call) (wire.Object, error) {
	u := readSignUp(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if h.w.UserWithEmail(u.Email) != "" {
		return nil, nil
	}
	u.ID = h.w.NewUser(u).ID
	h.w.WriteEvent(world.Event{Name: "user_created", User: u.ID, CallingUser: u.ID})
	h.w.JoinInvited(u.ID)
	if h.w.Options.Account.NoSignUpToken { // as older servers
		return nil, nil
	}
	return h.Signin.StartSession(u.ID, wire.SessionToken, c.Now), nil
}

// readSignUp reads the fields of a new user, whose e-mail address is not verified yet.
// It adds what is missing or invalid to c.Check.
func readSignUp(c *wire.Call) world.User {
	u := world.User{AccountType: "human", Unverified: true}
	u.Email = wire.Address(c, "email_address")
	u.Password, _ = c.Field("password")
	c.Check.MissingIf(u.Password == "", "password", "Choose a password.")
	switch text, given := c.Field("tos_agree"); {
	case !given:
		c.Check.Missing("tos_agree", "The terms must be agreed to.")
	case text != "true" && text != "1":
		c.Check.Invalid("tos_agree", "The terms must be agreed to.")
	}
	u.FirstName, _ = c.Field("first_name")
	u.LastName, _ = c.Field("last_name")
	if text, given := c.Field("agent"); given && c.Check.ReadBoolean("agent", text) {
		u.AccountType = "agent"
	}
	return u
}

// validateEmail sends an eight-digit code to the address of an account or, if the call
// has a code, verifies the address with it. A code can be used once, and a new one
// replaces it. The credential is optional; with one, the address must be the caller's
// own (assumed). Without one, a request for a code succeeds for unknown addresses too,
// so as not to reveal accounts (assumed).
func (h *Handlers) validateEmail(c *wire.Call) (wire.Object, error) {
	email := wire.Address(c, "email")
	id := h.w.UserWithEmail(email)
	c.Check.InvalidIf(c.Key != nil && email != "" && id != c.Key.User, "email", "Not the address of this account.")
	code, confirms := c.Field("email_token")
	c.Check.MissingIf(confirms && code == "", "email_token", "Send the code.")
	if c.Key != nil && !c.Key.Writes() {
		return nil, c.Key.ReadOnlyRefusal()
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if !confirms {
		if id != "" {
			h.sendValidationCode(id)
		}
		return nil, nil
	}
	if id == "" || code != h.Signin.Auth.Validations[id] {
		return nil, wire.Refuse(http.StatusNotAcceptable, signin.CodeWrongCode, "The code is wrong or has been used.")
	}
	delete(h.Signin.Auth.Validations, id)
	h.w.User(id).Value.Unverified = false
	return nil, nil
}

// sendValidationCode sends a user a new code of eight digits, which replaces the one
// before. It is drawn from the seed, so that tests can be repeated.
func (h *Handlers) sendValidationCode(userID string) {
	random := world.Mix(h.w.NextSerial() ^ world.Mix(h.w.Options.Seed))
	h.Signin.Auth.Validations[userID] = fmt.Sprintf("%08d", random%100_000_000)
}

// ValidationCode returns the code of the latest message that confirms the e-mail
// address of a user, "" if none is valid.
func (h *Handlers) ValidationCode(userID string) string {
	h.w.RLock()
	defer h.w.RUnlock()
	return h.Signin.Auth.Validations[userID]
}
