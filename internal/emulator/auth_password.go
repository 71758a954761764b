package emulator

import (
	"net/http"
	"strings"
)

// DefaultPassword is the password of users that were added without one.
const DefaultPassword = "correct horse battery staple"

// checkPassword finds the user with an e-mail address and a password.
func (s *Server) checkPassword(email, password string) (userID string, refusal *answer) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for id, u := range s.state.users {
		if strings.EqualFold(u.it.Email, email) && u.it.Password == password {
			return id, nil
		}
	}
	return "", new(refuse(http.StatusUnauthorized, codePassword, "E-mail address or password is wrong."))
}

const (
	codePassword = 10008
	codeLimited  = 10175
	codeExceeds  = 10768
	codeLabel    = 107184
)

// checkSecondFactor tells whether a code is the second factor of a user. One without a second factor needs no code.
func (s *Server) checkSecondFactor(userID, _ string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state.users[userID] != nil
}
