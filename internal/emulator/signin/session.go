package signin

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

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
	if kind == wire.LimitedToken {
		claims = append(claims, wire.Member{"scope", "twofactor"})
	}
	token := h.JWT(claims)
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
	status := h.Options.OAuth.LimitedStatus
	if status == 0 {
		status = http.StatusForbidden
	}
	return wire.Refuse(status, CodeLimited, "The token does not reach this endpoint before the second factor.")
}

// signOut ends the session tokens of a user that can be revoked: neither API keys nor what OAuth issued, and not the
// limited tokens, which only invalidateAll ends.
func (h *Handlers) signOut(c *wire.Call) (wire.Object, error) {
	if err := c.Key.ReadOnly(); err != nil {
		return nil, err
	}
	if c.Key.Kind == wire.APIKey && h.Users[c.Key.User].Value.AccountType == "agent" {
		return nil, wire.Refuse(http.StatusUnauthorized, codeAgentSignOut, "The key of an agent account cannot sign out.")
	}
	if !h.Options.OAuth.PermanentSessions {
		h.endSessions(c.Key.User, wire.SessionToken)
	}
	return nil, nil
}

// invalidateAll ends every session token of a user.
func (h *Handlers) invalidateAll(c *wire.Call) (wire.Object, error) {
	if err := c.Key.ReadOnly(); err != nil {
		return nil, err
	}
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
		wire.Post("oauth.SignOut", "/current/user/auth/sign-out/", h.signOut),
		wire.Post("oauth.InvalidateAll", "/current/user/auth/invalidate-all/", h.invalidateAll),
		wire.Post("oauth.Keys.Create", "/current/user/auth/key/", h.createKey, wire.Form(keyFields+" token")),
		wire.Get("oauth.Keys.List", "/current/user/auth/keys/", h.listKeys),
		wire.Get("oauth.Keys.Get", key, h.getKey),
		wire.Post("oauth.Keys.Update", key, h.updateKey, wire.Form(keyFields)),
		wire.Delete("oauth.Keys.Delete", key, h.deleteKey, wire.Query("token")),
		wire.Get("oauth.TwoFactor.Status", twoFactor, h.twoFactorStatus),
		wire.Post("oauth.TwoFactor.Enable", twoFactor+"{channel}/", h.enableTwoFactor, wire.Form("")),
		wire.Post("oauth.TwoFactor.VerifySetup", twoFactor+"verify/{token}/", h.verifyTwoFactor, wire.Form("")),
		wire.Get("oauth.TwoFactor.Send", twoFactor+"send/{channel}/", h.sendCode, wire.Limited, wire.Writes),
		wire.Post("oauth.TwoFactor.Complete", twoFactor+"auth/{token}/", h.completeSignIn, wire.Limited, wire.Form("")),
		wire.Delete("oauth.TwoFactor.Disable", twoFactor+"{token}/", h.disableTwoFactor),
	}
}
