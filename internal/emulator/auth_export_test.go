package emulator

import "time"

// TOTP computes the one-time password of a moment.
func TOTP(secret []byte, t time.Time, digits int) string { return totp(secret, t, digits) }

// The two questions of a sign-in page.
func (s *Server) CheckPassword(email, password string) (userID string, refused bool) {
	userID, refusal := s.checkPassword(email, password)
	return userID, refusal != nil
}

func (s *Server) CheckSecondFactor(userID, code string) bool {
	return s.checkSecondFactor(userID, code)
}
