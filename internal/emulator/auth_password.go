package emulator

import (
	"net/http"
	"strings"
	"time"
)

const (
	attemptsMax = 5 // failed sign-ins before an account is locked
	lockTime    = 30 * time.Minute
)

// Codes around signing in: published ones, and from 199101 on the emulator's own.
const (
	codePassword     = 10008
	codeLimited      = 10175
	codeUnverified   = 10587
	codeLocked       = 10760
	codeExceeds      = 10768
	codeLabel        = 107184
	codeAgentSignOut = 261844
	codeNoForm       = 199101
	codeWrongCode    = 199102
	codeNoFactor     = 199103
	codeComplete     = 199104
	codeOvertaken    = 199105
)

// authState is what signing in and API keys leave behind.
type authState struct {
	attempts  map[string]attempts // by e-mail address in lower case
	factors   map[string]factors  // by user
	keys      []string            // tokens of API keys, oldest first
	keysMade  uint64
	conflicts int // refused updates of scopes so far

	validations map[string]string // codes that confirm an e-mail address, by user
}

func newAuthState() authState {
	return authState{attempts: map[string]attempts{}, factors: map[string]factors{}, validations: map[string]string{}}
}

// attempts are the failed sign-ins to an address since the last one that succeeded.
type attempts struct {
	failed int
	locked time.Time // until then; zero is open
}

// checkPassword finds the user of an e-mail address and a password. Addresses of nobody are counted and locked as
// accounts are, and so tell nothing.
func (s *Server) checkPassword(email, password string) (userID string, refusal *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	address := strings.ToLower(email)
	tried, now := s.state.auth.attempts[address], s.now()
	switch {
	case now.Before(tried.locked):
		return "", locked(tried.locked.Sub(now))
	case !tried.locked.IsZero():
		tried = attempts{}
	}
	if id := s.state.userOf(email); id != "" && s.state.users[id].it.Password == password {
		delete(s.state.auth.attempts, address)
		return id, nil
	}
	if tried.failed++; tried.failed == attemptsMax {
		tried.locked = now.Add(lockTime)
	}
	s.state.auth.attempts[address] = tried
	a := refuse(http.StatusUnauthorized, codePassword, "The e-mail address or the password is wrong.")
	a.failure.params = object{{"attempts_remaining", attemptsMax - tried.failed}, {"attempts_max", attemptsMax}}
	return "", &a
}

// locked sets the wait itself: it is not that of a rate window, which the options switch.
func locked(wait time.Duration) *answer {
	a := refuse(http.StatusTooManyRequests, codeLocked, "The account is locked after too many failed sign-ins.")
	a.failure.params = object{{"retry_after_seconds", int64((wait + time.Second - 1) / time.Second)}}
	return &a
}

func (st *state) userOf(email string) string {
	for id, u := range st.users {
		if strings.EqualFold(u.it.Email, email) {
			return id
		}
	}
	return ""
}

// checkSecondFactor tells whether a one-time code completes the sign-in of a user. Without a second factor every code
// does, "" included.
func (s *Server) checkSecondFactor(userID, code string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	active := s.state.auth.factors[userID].active
	return active == nil || active.accepts(code, s.now())
}

// signIn answers with a session token, or with one that still needs the second factor.
func (s *Server) signIn(c *call) answer {
	email, password, found := c.r.BasicAuth()
	if !found { // no account, and so no attempts to count
		return refuse(http.StatusUnauthorized, codePassword, "Send the e-mail address and the password by HTTP Basic.")
	}
	userID, refusal := s.checkPassword(email, password)
	if refusal != nil {
		return *refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := sessionToken
	if s.state.auth.factors[userID].active != nil {
		kind = limitedToken
	}
	return ok(append(s.startSession(userID, kind, c.now), member{"2factor", kind == limitedToken})...)
}

// checkToken answers with the user of a live credential.
func (s *Server) checkToken(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.state.users[c.key.User].it.Unverified {
		return refuse(http.StatusForbidden, codeUnverified, "The e-mail address of the account is not verified.")
	}
	return ok(member{"id", profileID(c.key.User)})
}
