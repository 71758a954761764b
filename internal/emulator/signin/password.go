package signin

import (
	"net/http"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

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

func newAuthState() authState {
	return authState{attempts: map[string]attempts{}, Factors: map[string]factors{}, Validations: map[string]string{}}
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

// signIn answers with a session token, or with one that still needs the second factor.
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

// checkToken answers with the user of a live credential.
func (h *Handlers) checkToken(c *wire.Call) (wire.Object, error) {
	if h.Users[c.Key.User].Value.Unverified {
		return nil, wire.Refuse(http.StatusForbidden, codeUnverified, "The e-mail address of the account is not verified.")
	}
	return wire.Object{{"id", wire.ProfileID(c.Key.User)}}, nil
}
