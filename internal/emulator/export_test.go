package emulator

import (
	"time"

	"github.com/fastio-go/fastio/internal/emulator/signin"
)

// TOTP computes the one-time password of a moment.
func TOTP(secret []byte, t time.Time, digits int) string { return signin.TOTP(secret, t, digits) }

// CheckSecondFactor is a question of the sign-in page.
func (s *Server) CheckSecondFactor(userID, code string) bool {
	s.Lock()
	defer s.Unlock()
	return s.signinArea.CheckSecondFactor(userID, code)
}

// CheckState returns what no snapshot can hold.
func CheckState() []string { return codec().Check() }
