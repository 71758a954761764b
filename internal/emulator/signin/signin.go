// Package signin emulates sign-in, second factors and API keys.
package signin

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what authenticator apps compute
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	Auth     authState
	FirstKey string // the token that was added first
}

// New returns the handlers of sign-in and API keys.
func New(w *world.World) *Handlers {
	return &Handlers{w: w, Auth: authState{
		attempts: map[string]attempts{}, Factors: map[string]factors{}, Validations: map[string]string{},
	}}
}

// Lifetimes of what a sign-in returns. That of a limited token is assumed.
const (
	sessionLife = 30 * 24 * time.Hour
	limitedLife = 10 * time.Minute
)

// StartSession issues the token of a sign-in and returns the response with it. A
// limited token is good only for the second factor, and is not yet recorded as a login.
func (h *Handlers) StartSession(userID string, kind wire.CredentialKind, now time.Time) wire.Object {
	life := sessionLife
	if kind == wire.LimitedToken {
		life = limitedLife
	}
	claims := wire.Object{ // assumed: what stands in these tokens is published nowhere
		{"v", "1.0"},
		{"jti", world.Opaque('s', h.w.Options.Seed, h.w.NextSerial())},
		{"sub", userID},
		{"iat", now.Unix()},
		{"exp", now.Add(life).Unix()},
	}
	token := h.w.JWT(claims.With(kind == wire.LimitedToken, "scope", "twofactor"))
	h.w.KeepCredential(&wire.Credential{
		Key: world.Key{Token: token, User: userID, Expires: now.Add(life)}, Kind: kind, Created: now.Unix(),
	})
	if kind == wire.SessionToken {
		h.RecordLogin(userID, "password")
	}
	return wire.Object{{"auth_token", token}, {"expires_in", int64(life / time.Second)}}
}

// RecordLogin writes a sign-in to the audit logs of the user's organizations.
func (h *Handlers) RecordLogin(userID, method string) {
	for _, id := range h.w.OrgIDs() {
		if h.w.Role(id, userID) != "" {
			h.w.WriteEvent(world.Event{
				Name: "user_login", Org: id, User: userID, CallingUser: userID,
				Telemetry: map[string]any{"method": method, "mfa": h.Auth.Factors[userID].Active != nil},
			})
		}
	}
}

// SecondFactorMissing returns the refusal of a call with a limited token: it may only
// complete the sign-in with the second factor.
func (h *Handlers) SecondFactorMissing() error {
	return wire.Refuse(cmp.Or(h.w.Options.OAuth.LimitedStatus, http.StatusForbidden), CodeLimited,
		"The token does not reach this endpoint before the second factor.")
}

// signOut revokes the session tokens of a user, but not API keys, OAuth tokens,
// and limited tokens, which only invalidateAll revokes. By the option PermanentSessions it
// revokes nothing. It refuses the key of an agent account.
func (h *Handlers) signOut(c *wire.Call) (wire.Object, error) {
	if c.Key.Kind == wire.APIKey && h.w.User(c.Key.User).Value.AccountType == "agent" {
		return nil, wire.Refuse(http.StatusUnauthorized, codeAgentSignOut, "The key of an agent account cannot sign out.")
	}
	if !h.w.Options.OAuth.PermanentSessions {
		h.EndSessions(c.Key.User, wire.SessionToken)
	}
	return nil, nil
}

// invalidateAll revokes the session tokens and limited tokens of the caller.
func (h *Handlers) invalidateAll(c *wire.Call) (wire.Object, error) {
	h.EndSessions(c.Key.User, wire.SessionToken, wire.LimitedToken)
	return nil, nil
}

// EndSessions revokes the tokens of a user that are of these kinds.
func (h *Handlers) EndSessions(userID string, kinds ...wire.CredentialKind) {
	ended := func(k *wire.Credential) bool { return k.User == userID && slices.Contains(kinds, k.Kind) }
	for k := range h.w.Credentials(ended) {
		h.w.DropCredential(k.Token)
	}
}

// Routes returns the routes of sign-in and keys.
func (h *Handlers) Routes() []*wire.Route {
	const key, twoFactor = "/current/user/auth/key/{id}/", "/current/user/auth/2factor/"
	return []*wire.Route{
		wire.Get("oauth.SignIn", "/current/user/auth/", h.signIn, wire.NoCredential, wire.ChangesState),
		wire.Get("oauth.CheckToken", "/current/user/auth/check/", h.checkToken),
		wire.Post("oauth.SignOut", "/current/user/auth/sign-out/", wire.RequireWriteAccess(h.signOut)),
		wire.Post("oauth.InvalidateAll", "/current/user/auth/invalidate-all/", wire.RequireWriteAccess(h.invalidateAll)),
		wire.Post("oauth.Keys.Create", "/current/user/auth/key/", h.createKey, wire.Form(keyFields+" token")),
		wire.Get("oauth.Keys.List", "/current/user/auth/keys/", h.listKeys),
		wire.Get("oauth.Keys.Get", key, wire.With(h.ownKey, getKey)),
		wire.Post("oauth.Keys.Update", key, wire.With(h.ownKey, h.updateKey), wire.Form(keyFields)),
		wire.Delete("oauth.Keys.Delete", key, h.deleteKey, wire.Query("token")),
		wire.Get("oauth.TwoFactor.Status", twoFactor, h.twoFactorStatus),
		wire.Post("oauth.TwoFactor.Enable", twoFactor+"{channel}/", h.enableTwoFactor, wire.Form(wire.NoFields)),
		wire.Post("oauth.TwoFactor.VerifySetup", twoFactor+"verify/{token}/", h.verifyTwoFactor, wire.Form(wire.NoFields)),
		wire.Get("oauth.TwoFactor.Send", twoFactor+"send/{channel}/", h.sendCode, wire.WithoutSecondFactor,
			wire.ChangesState),
		wire.Post("oauth.TwoFactor.Complete", twoFactor+"auth/{token}/", h.completeSignIn, wire.WithoutSecondFactor,
			wire.Form(wire.NoFields)),
		wire.Delete("oauth.TwoFactor.Disable", twoFactor+"{token}/", h.disableTwoFactor),
	}
}

const (
	attemptsMax = 5 // failed sign-ins before an account is locked
	lockTime    = 30 * time.Minute
)

// Codes of sign-in. Those from 199001 to 199999 are invented.
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

// authState is the state of sign-ins and API keys.
type authState struct {
	attempts  map[string]attempts // by e-mail address in lower case
	Factors   map[string]factors  // by user
	keys      []string            // tokens of API keys, oldest first
	keysMade  uint64
	conflicts int // rejected updates of scopes so far

	Validations map[string]string // codes that confirm an e-mail address, by user
}

// attempts counts failed sign-ins to an address since the last success.
type attempts struct {
	failed int
	locked time.Time // no sign-in until then; zero means not locked
}

// CheckPassword returns the user with an e-mail address and a password. After five
// failed sign-ins to an address, it is locked for some time. Addresses without an
// account are counted and locked as well, so that responses do not reveal accounts.
func (h *Handlers) CheckPassword(email, password string) (userID string, err error) {
	address := strings.ToLower(email)
	tried, now := h.Auth.attempts[address], h.w.Now()
	switch {
	case now.Before(tried.locked):
		return "", refuseLocked(tried.locked.Sub(now))
	case !tried.locked.IsZero(): // the lock is over
		tried = attempts{}
	}
	if id := h.w.UserWithEmail(email); h.w.Enabled(id) && h.w.User(id).Value.Password == password {
		delete(h.Auth.attempts, address)
		return id, nil
	}
	tried.failed++
	if tried.failed == attemptsMax {
		tried.locked = now.Add(lockTime)
	}
	h.Auth.attempts[address] = tried
	refusal := wire.Refuse(http.StatusUnauthorized, codePassword, "The e-mail address or the password is wrong.")
	refusal.Params = wire.Object{{"attempts_remaining", attemptsMax - tried.failed}, {"attempts_max", attemptsMax}}
	return "", refusal
}

// refuseLocked returns the refusal of a sign-in to a locked account. It gives the time
// to wait as retry_after_seconds: the emulator adds that only to refusals of the rate
// limiter, which does not know of the lock.
func refuseLocked(wait time.Duration) error {
	refusal := wire.Refuse(http.StatusTooManyRequests, codeLocked, "The account is locked after too many failed sign-ins.")
	refusal.Params = wire.Object{{"retry_after_seconds", int64((wait + time.Second - 1) / time.Second)}} // rounded up
	return refusal
}

// CheckSecondFactor returns true if a one-time code is valid, or the user has no
// second factor.
func (h *Handlers) CheckSecondFactor(userID, code string) bool {
	active := h.Auth.Factors[userID].Active
	return active == nil || active.accepts(code, h.w.Now())
}

// signIn returns a token for an e-mail address and a password. If the user has a
// second factor, that is a limited token, with which only a code can be sent and the
// sign-in completed.
func (h *Handlers) signIn(c *wire.Call) (wire.Object, error) {
	email, password, found := c.Request.BasicAuth()
	if !found { // no account is named: there are no attempts to count
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

// checkToken returns the ID of the caller, and refuses one whose e-mail address is not
// verified.
func (h *Handlers) checkToken(c *wire.Call) (wire.Object, error) {
	if h.w.User(c.Key.User).Value.Unverified {
		return nil, wire.Refuse(http.StatusForbidden, codeUnverified, "The e-mail address of the account is not verified.")
	}
	return wire.Object{{"id", wire.ProfileID(c.Key.User)}}, nil
}

const channelTOTP = "totp" // an authenticator app

const (
	totpStep   = 30 * time.Second
	totpDigits = 6
	totpSecret = 20               // bytes
	codeLife   = 10 * time.Minute // of a code in a message, assumed
)

// factors are the active second factor and the one being set up, or nil.
type factors struct{ Active, pending *factor }

type factor struct {
	channel string
	secret  []byte // shared with an authenticator app
	sent    string // code of the latest message, "" once it was used
	until   time.Time
}

// newFactor returns a second factor with a secret that depends on the seed.
func (h *Handlers) newFactor(channel string) *factor {
	secret := sha256.Sum256(fmt.Append(nil, "second factor ", h.w.Options.Seed, " ", h.w.NextSerial()))
	return &factor{channel: channel, secret: secret[:totpSecret]}
}

// SetFactor replaces the second factor of a user by a new one for the channel u.TwoFactor.
// If that is "", it only removes the factor.
func (h *Handlers) SetFactor(u world.User) {
	delete(h.Auth.Factors, u.ID)
	if u.TwoFactor != "" {
		h.Auth.Factors[u.ID] = factors{Active: h.newFactor(u.TwoFactor)}
	}
}

// sendMessage replaces the code of the latest message of a factor, which is valid for
// codeLife.
func (h *Handlers) sendMessage(f *factor, now time.Time) {
	n := world.Mix(h.w.NextSerial() ^ world.Mix(h.w.Options.Seed))
	f.sent, f.until = fmt.Sprintf("%06d", n%1_000_000), now.Add(codeLife)
}

// accepts reports whether a code is valid now. The code of the latest message can be used
// once. For an authenticator app, the codes of the current, the previous and the next
// step are valid. They may be used again, so that a test whose clock stands still can sign
// in several times.
func (f *factor) accepts(code string, now time.Time) bool {
	if code != "" && code == f.sent && now.Before(f.until) {
		f.sent = ""
		return true
	}
	return f.channel == channelTOTP &&
		(code == f.codeAt(now) || code == f.codeAt(now.Add(-totpStep)) || code == f.codeAt(now.Add(totpStep)))
}

// codeAt returns the code of an authenticator app at a time.
func (f *factor) codeAt(t time.Time) string { return TOTP(f.secret, t, totpDigits) }

// TOTP returns the time-based one-time password of RFC 6238: the last decimal digits of a
// number of 31 bits from the HMAC of the time step.
func TOTP(secret []byte, t time.Time, digits int) string {
	var counter [8]byte // the number of the time step
	binary.BigEndian.PutUint64(counter[:],
		uint64(t.Unix()/int64(totpStep/time.Second))) //nolint:gosec // times before 1970 wrap around, which does no harm
	mac := hmac.New(sha1.New, secret)
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf // the last four bits of the HMAC are the offset of the number
	value := uint64(binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff)
	modulus := uint64(1) // 10 to the power of digits
	for range digits {
		modulus *= 10
	}
	return fmt.Sprintf("%0*d", digits, value%modulus)
}

// OneTimeCode returns the current code of the second factor that a user is setting up, or
// else of the active one: that of the latest message while it is valid, or that of the
// authenticator app. It is "" if there is none.
func (h *Handlers) OneTimeCode(userID string) string {
	h.w.RLock()
	defer h.w.RUnlock()
	now := h.w.Now()
	f := h.Auth.Factors[userID].latest()
	switch {
	case f == nil:
		return ""
	case now.Before(f.until) && f.sent != "":
		return f.sent
	case f.channel == channelTOTP:
		return f.codeAt(now)
	}
	return ""
}

// latest returns the factor that is being set up, or else the active one, nil if there
// is none.
func (f factors) latest() *factor { return cmp.Or(f.pending, f.Active) }

// twoFactorStatus returns the state of the second factor. No document shows the name
// of the state "pending": it is assumed.
func (h *Handlers) twoFactorStatus(c *wire.Call) (wire.Object, error) {
	f := h.Auth.Factors[c.Key.User]
	state := "disabled"
	switch {
	case f.Active != nil:
		state = "enabled"
	case f.pending != nil:
		state = "pending"
	}
	return wire.Object{{"state", state}, {"totp", f.Active != nil && f.Active.channel == channelTOTP}}, nil
}

// enableTwoFactor starts the setup of a second factor. The active factor stays valid
// until the new one is verified.
func (h *Handlers) enableTwoFactor(c *wire.Call) (wire.Object, error) {
	channel := c.Channel(channelTOTP, "sms", "whatsapp")
	if err := c.CheckWrite(); err != nil {
		return nil, err
	}
	f := h.Auth.Factors[c.Key.User]
	f.pending = h.newFactor(channel)
	h.Auth.Factors[c.Key.User] = f
	if channel != channelTOTP {
		h.sendMessage(f.pending, c.Now)
		return nil, nil
	}
	return wire.Object{{"binding_uri", f.pending.setupURI(h.w.User(c.Key.User).Value.Email)}}, nil
}

// setupURI returns the URI with the secret, which an authenticator app reads from a QR
// code.
func (f *factor) setupURI(account string) string {
	return "otpauth://totp/" + url.PathEscape("Fast.io:"+account) + "?" + url.Values{
		"secret":    {base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(f.secret)},
		"issuer":    {"Fast.io"},
		"algorithm": {"SHA1"},
		"digits":    {"6"},
		"period":    {"30"},
	}.Encode()
}

// verifyTwoFactor makes the factor that is being set up the active one, if the code is
// right.
func (h *Handlers) verifyTwoFactor(c *wire.Call) (wire.Object, error) {
	code := c.OneTimeCode()
	if err := c.CheckWrite(); err != nil {
		return nil, err
	}
	f := h.Auth.Factors[c.Key.User]
	switch {
	case f.pending == nil:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNoFactor, "No second factor is being set up.")
	case !f.pending.accepts(code, c.Now):
		return nil, wrongCode()
	}
	h.Auth.Factors[c.Key.User] = factors{Active: f.pending}
	return nil, nil
}

// sendCode sends a code for the second factor of the caller. With a full token it is the
// factor that is being set up, if there is one; otherwise, and during a sign-in, it is the
// active factor. Every channel is accepted, even if the factor has another channel.
func (h *Handlers) sendCode(c *wire.Call) (wire.Object, error) {
	c.Channel("sms", "call", "whatsapp")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	f := h.Auth.Factors[c.Key.User].Active
	if c.Key.Kind != wire.LimitedToken {
		f = h.Auth.Factors[c.Key.User].latest()
	}
	if f == nil {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNoFactor, "The account has no second factor.")
	}
	h.sendMessage(f, c.Now)
	return nil, nil
}

// completeSignIn exchanges a limited token and a code for a session token.
func (h *Handlers) completeSignIn(c *wire.Call) (wire.Object, error) {
	if c.Key.Kind != wire.LimitedToken {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeComplete, "The token needs no second factor.")
	}
	code := c.OneTimeCode()
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	f := h.Auth.Factors[c.Key.User].Active
	switch {
	case h.w.Credential(c.Key.Token) != c.Key: // another call was quicker
		return nil, wire.BadCredential()
	case f != nil && !f.accepts(code, c.Now): // without a factor, which was disabled since, any code will do
		return nil, wrongCode()
	}
	h.w.DropCredential(c.Key.Token)
	return h.StartSession(c.Key.User, wire.SessionToken, c.Now), nil
}

// disableTwoFactor removes the second factor of the caller, and one that is being set up.
// It requires a code of the active one.
func (h *Handlers) disableTwoFactor(c *wire.Call) (wire.Object, error) {
	code := c.OneTimeCode()
	if err := c.CheckWrite(); err != nil {
		return nil, err
	}
	f := h.Auth.Factors[c.Key.User].Active
	switch {
	case f == nil:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNoFactor, "The account has no second factor.")
	case !f.accepts(code, c.Now):
		return nil, wrongCode()
	}
	delete(h.Auth.Factors, c.Key.User)
	return nil, nil
}

// wrongCode returns 401 with our own code: the published response is not known.
func wrongCode() error {
	return wire.Refuse(http.StatusUnauthorized, CodeWrongCode, "The one-time code is wrong or has ended.")
}
