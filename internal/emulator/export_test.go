package emulator

import (
	"time"

	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// AddSession signs a user in and returns the token.
func (s *Server) AddSession(userID string) string {
	s.Lock()
	defer s.Unlock()
	token := s.JWT(wire.Object{{"sub", userID}, {"jti", s.Secret()}})
	s.Credentials[token] = &wire.Credential{
		Key: world.Key{Token: token, User: userID}, Kind: wire.SessionToken, Created: s.Now().Unix(),
	}
	return token
}

// TOTP computes the one-time password of a moment.
func TOTP(secret []byte, t time.Time, digits int) string { return signin.TOTP(secret, t, digits) }

// The two questions of a sign-in page.
func (s *Server) CheckPassword(email, password string) (userID string, refused bool) {
	s.Lock()
	defer s.Unlock()
	userID, err := s.signinArea.CheckPassword(email, password)
	return userID, err != nil
}

func (s *Server) CheckSecondFactor(userID, code string) bool {
	s.Lock()
	defer s.Unlock()
	return s.signinArea.CheckSecondFactor(userID, code)
}
