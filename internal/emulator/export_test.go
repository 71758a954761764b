package emulator

// AddSession signs a user in and returns the token.
func (s *Server) AddSession(userID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	token := s.jwt(object{{"sub", userID}, {"jti", s.secret()}})
	s.state.credentials[token] = &credential{Key: Key{Token: token, User: userID}, kind: sessionToken, created: s.now().Unix()}
	return token
}
