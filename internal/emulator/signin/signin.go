// Package signin is signing in with a password and a second factor, and API keys.
package signin

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	Auth     authState
	FirstKey string // the token that was added first
}

// New returns the area of a world.
func New(w *world.World) *Handlers {
	return &Handlers{World: w, Auth: authState{
		attempts: map[string]attempts{}, Factors: map[string]factors{}, Validations: map[string]string{},
	}}
}

// Lifetimes of what a sign-in returns. That of a limited token is assumed.
const (
	sessionLife = 30 * 24 * time.Hour
	limitedLife = 10 * time.Minute
)

// StartSession issues the token of a sign-in.
func (h *Handlers) StartSession(userID string, kind wire.CredentialKind, now time.Time) wire.Object {
	life := sessionLife
	if kind == wire.LimitedToken {
		life = limitedLife
	}
	claims := wire.Object{ // assumed: what stands in these tokens is published nowhere
		{"v", "1.0"},
		{"jti", world.Opaque('s', h.Options.Seed, h.NextSerial())},
		{"sub", userID},
		{"iat", now.Unix()},
		{"exp", now.Add(life).Unix()},
	}
	token := h.JWT(claims.With(kind == wire.LimitedToken, "scope", "twofactor"))
	h.Credentials[token] = &wire.Credential{
		Key: world.Key{Token: token, User: userID, Expires: now.Add(life)}, Kind: kind, Created: now.Unix(),
	}
	if kind == wire.SessionToken {
		h.LogIn(userID, "password")
	}
	return wire.Object{{"auth_token", token}, {"expires_in", int64(life / time.Second)}}
}

// LogIn writes a sign-in to the audit log of every organization of the user's.
func (h *Handlers) LogIn(userID, method string) {
	for _, id := range h.OrgList {
		if h.Role(id, userID) != "" {
			h.WriteEvent(world.Event{
				Name: "user_login", Org: id, User: userID, CallingUser: userID,
				Telemetry: map[string]any{"method": method, "mfa": h.Auth.Factors[userID].Active != nil},
			})
		}
	}
}

// SecondFactorMissing refuses a limited token.
func (h *Handlers) SecondFactorMissing() error {
	return wire.Refuse(cmp.Or(h.Options.OAuth.LimitedStatus, http.StatusForbidden), CodeLimited,
		"The token does not reach this endpoint before the second factor.")
}

// signOut ends the session tokens of a user that can be revoked: neither API keys nor what OAuth issued, and not the
// limited tokens, which only invalidateAll ends.
func (h *Handlers) signOut(c *wire.Call) (wire.Object, error) {
	if c.Key.Kind == wire.APIKey && h.Users[c.Key.User].Value.AccountType == "agent" {
		return nil, wire.Refuse(http.StatusUnauthorized, codeAgentSignOut, "The key of an agent account cannot sign out.")
	}
	if !h.Options.OAuth.PermanentSessions {
		h.endSessions(c.Key.User, wire.SessionToken)
	}
	return nil, nil
}

func (h *Handlers) invalidateAll(c *wire.Call) (wire.Object, error) {
	h.endSessions(c.Key.User, wire.SessionToken, wire.LimitedToken)
	return nil, nil
}

func (h *Handlers) endSessions(userID string, kinds ...wire.CredentialKind) {
	maps.DeleteFunc(h.Credentials, func(_ string, k *wire.Credential) bool {
		return k.User == userID && slices.Contains(kinds, k.Kind)
	})
}

// Routes is the part of the table that is about signing in with a password, and about keys.
func (h *Handlers) Routes() []*wire.Route {
	const key, twoFactor = "/current/user/auth/key/{id}/", "/current/user/auth/2factor/"
	return []*wire.Route{
		wire.Get("oauth.SignIn", "/current/user/auth/", h.signIn, wire.Open, wire.Writes),
		wire.Get("oauth.CheckToken", "/current/user/auth/check/", h.checkToken),
		wire.Post("oauth.SignOut", "/current/user/auth/sign-out/", wire.Writing(h.signOut)),
		wire.Post("oauth.InvalidateAll", "/current/user/auth/invalidate-all/", wire.Writing(h.invalidateAll)),
		wire.Post("oauth.Keys.Create", "/current/user/auth/key/", h.createKey, wire.Form(keyFields+" token")),
		wire.Get("oauth.Keys.List", "/current/user/auth/keys/", h.listKeys),
		wire.Get("oauth.Keys.Get", key, wire.With(h.ownKey, getKey)),
		wire.Post("oauth.Keys.Update", key, wire.With(h.ownKey, h.updateKey), wire.Form(keyFields)),
		wire.Delete("oauth.Keys.Delete", key, h.deleteKey, wire.Query("token")),
		wire.Get("oauth.TwoFactor.Status", twoFactor, h.twoFactorStatus),
		wire.Post("oauth.TwoFactor.Enable", twoFactor+"{channel}/", h.enableTwoFactor, wire.Form("")),
		wire.Post("oauth.TwoFactor.VerifySetup", twoFactor+"verify/{token}/", h.verifyTwoFactor, wire.Form("")),
		wire.Get("oauth.TwoFactor.Send", twoFactor+"send/{channel}/", h.sendCode, wire.Limited, wire.Writes),
		wire.Post("oauth.TwoFactor.Complete", twoFactor+"auth/{token}/", h.completeSignIn, wire.Limited, wire.Form("")),
		wire.Delete("oauth.TwoFactor.Disable", twoFactor+"{token}/", h.disableTwoFactor),
	}
}

const (
	attemptsMax = 5 // failed sign-ins before an account is locked
	lockTime    = 30 * time.Minute
)

// Codes around signing in: published ones, and from 199101 on the emulator's own.
const (
	codePassword     = 10008
	CodeLimited      = 10175
	codeUnverified   = 10587
	codeLocked       = 10760
	CodeExceeds      = 10768
	CodeLabel        = 107184
	codeAgentSignOut = 261844
	CodeWrongCode    = 199102
	codeNoFactor     = 199103
	codeComplete     = 199104
	codeOvertaken    = 199105
)

// authState is what signing in and API keys leave behind.
type authState struct {
	attempts  map[string]attempts // by e-mail address in lower case
	Factors   map[string]factors  // by user
	keys      []string            // tokens of API keys, oldest first
	keysMade  uint64
	conflicts int // refused updates of scopes so far

	Validations map[string]string // codes that confirm an e-mail address, by user
}

// attempts are the failed sign-ins to an address since the last one that succeeded.
type attempts struct {
	failed int
	locked time.Time // until then; zero is open
}

// CheckPassword finds the user of an e-mail address and a password. Addresses of nobody are counted and locked as
// accounts are, and so tell nothing.
func (h *Handlers) CheckPassword(email, password string) (userID string, err error) {
	address := strings.ToLower(email)
	tried, now := h.Auth.attempts[address], h.Now()
	switch {
	case now.Before(tried.locked):
		return "", locked(tried.locked.Sub(now))
	case !tried.locked.IsZero():
		tried = attempts{}
	}
	if id := h.UserOf(email); id != "" && h.Users[id].Value.Password == password {
		delete(h.Auth.attempts, address)
		return id, nil
	}
	if tried.failed++; tried.failed == attemptsMax {
		tried.locked = now.Add(lockTime)
	}
	h.Auth.attempts[address] = tried
	a := wire.Refuse(http.StatusUnauthorized, codePassword, "The e-mail address or the password is wrong.")
	a.Params = wire.Object{{"attempts_remaining", attemptsMax - tried.failed}, {"attempts_max", attemptsMax}}
	return "", a
}

// locked sets the wait itself: it is not that of a rate window, which the options switch.
func locked(wait time.Duration) error {
	a := wire.Refuse(http.StatusTooManyRequests, codeLocked, "The account is locked after too many failed sign-ins.")
	a.Params = wire.Object{{"retry_after_seconds", int64((wait + time.Second - 1) / time.Second)}}
	return a
}

// CheckSecondFactor reports whether a one-time code completes the sign-in of a user. Without a second factor every code
// does, "" included.
func (h *Handlers) CheckSecondFactor(userID, code string) bool {
	active := h.Auth.Factors[userID].Active
	return active == nil || active.accepts(code, h.Now())
}

func (h *Handlers) signIn(c *wire.Call) (wire.Object, error) {
	email, password, found := c.Request.BasicAuth()
	if !found { // no account, and so no attempts to count
		return nil, wire.Refuse(http.StatusUnauthorized, codePassword,
			"Send the e-mail address and the password by HTTP Basic.")
	}
	userID, err := h.CheckPassword(email, password)
	if err != nil {
		return nil, err
	}
	kind := wire.SessionToken
	if h.Auth.Factors[userID].Active != nil {
		kind = wire.LimitedToken
	}
	return append(h.StartSession(userID, kind, c.Now), wire.Member{"2factor", kind == wire.LimitedToken}), nil
}

func (h *Handlers) checkToken(c *wire.Call) (wire.Object, error) {
	if h.Users[c.Key.User].Value.Unverified {
		return nil, wire.Refuse(http.StatusForbidden, codeUnverified, "The e-mail address of the account is not verified.")
	}
	return wire.Object{{"id", wire.ProfileID(c.Key.User)}}, nil
}
