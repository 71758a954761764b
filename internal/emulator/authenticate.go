package emulator

import (
	"net/http"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// meant reports whether a token was issued for this server: for its origin or its API, or for no resource in
// particular.
func (s *Server) meant(k *wire.Credential, r *http.Request) bool {
	here := wire.Issuer(r)
	switch strings.TrimSuffix(k.Resource, "/") {
	case "", here, here + s.Prefix(), here + s.Prefix() + "/current":
		return true
	}
	return false
}

// authenticate finds the credential of a request.
func (s *Server) authenticate(r *http.Request) (*wire.Credential, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return nil, wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "No credential was sent.")
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || !wire.IsToken(token) {
		return nil, wire.Refuse(http.StatusUnauthorized, wire.CodeMalformed, "The credential cannot be read.")
	}
	s.RLock()
	defer s.RUnlock()
	k := s.Credentials[token]
	if k == nil || k.Revoked || !s.Enabled(k.User) || expired(k, s.Now()) || !s.meant(k, r) {
		return nil, wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "The credential is unknown or has ended.")
	}
	return k, nil
}

func expired(k *wire.Credential, now time.Time) bool {
	return !k.Expires.IsZero() && !now.Before(k.Expires)
}
