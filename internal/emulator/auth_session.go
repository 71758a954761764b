package emulator

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// Lifetimes of what a sign-in returns. That of a limited token is assumed.
const (
	sessionLife = 30 * 24 * time.Hour
	limitedLife = 10 * time.Minute
)

// startSession issues the token of a sign-in.
func (s *Server) startSession(userID string, kind credentialKind, now time.Time) object {
	life := sessionLife
	if kind == limitedToken {
		life = limitedLife
	}
	claims := object{ // assumed: what stands in these tokens is published nowhere
		{"v", "1.0"},
		{"jti", opaque('s', s.o.Seed, s.nextSerial())},
		{"sub", userID},
		{"iat", now.Unix()},
		{"exp", now.Add(life).Unix()},
	}
	if kind == limitedToken {
		claims = append(claims, member{"scope", "twofactor"})
	}
	token := s.jwt(claims)
	s.state.credentials[token] = &credential{
		Key: Key{Token: token, User: userID, Expires: now.Add(life)}, kind: kind, created: now.Unix(),
	}
	if kind == sessionToken {
		s.logIn(userID, "password")
	}
	return object{{"auth_token", token}, {"expires_in", int64(life / time.Second)}}
}

// logIn writes a sign-in to the audit log of every organization of the user's.
func (s *Server) logIn(userID, method string) {
	for _, id := range s.state.orgList {
		if s.state.role(id, userID) != "" {
			s.write(Event{
				Name: "user_login", Org: id, User: userID, CallingUser: userID,
				Telemetry: map[string]any{"method": method, "mfa": s.state.auth.factors[userID].active != nil},
			})
		}
	}
}

// secondFactorMissing refuses a limited token.
func (s *Server) secondFactorMissing() answer {
	status := s.o.OAuth.LimitedStatus
	if status == 0 {
		status = http.StatusForbidden
	}
	return refuse(status, codeLimited, "The token does not reach this endpoint before the second factor.")
}

// signOut ends the session tokens of a user that can be revoked: neither API keys nor what OAuth issued, and not the
// limited tokens, which only invalidateAll ends.
func (s *Server) signOut(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal := c.key.readOnly(); refusal != nil {
		return *refusal
	}
	if c.key.kind == apiKey && s.state.users[c.key.User].it.AccountType == "agent" {
		return refuse(http.StatusUnauthorized, codeAgentSignOut, "The key of an agent account cannot sign out.")
	}
	if !s.o.OAuth.PermanentSessions {
		s.state.endSessions(c.key.User, sessionToken)
	}
	return ok()
}

// invalidateAll ends every session token of a user.
func (s *Server) invalidateAll(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal := c.key.readOnly(); refusal != nil {
		return *refusal
	}
	s.state.endSessions(c.key.User, sessionToken, limitedToken)
	return ok()
}

func (st *state) endSessions(userID string, kinds ...credentialKind) {
	maps.DeleteFunc(st.credentials, func(_ string, k *credential) bool {
		return k.User == userID && slices.Contains(kinds, k.kind)
	})
}

// typeName is how refusals name the kind of a credential.
func (k *credential) typeName() string {
	switch k.kind {
	case accessToken:
		return "oauth"
	case sessionToken, limitedToken:
		return "session"
	default:
		return "api_key"
	}
}

// readOnly refuses a credential that may not change anything, nil when it may.
func (k *credential) readOnly() *answer {
	if k.writes() {
		return nil
	}
	return k.refuseWrite()
}

func (k *credential) refuseWrite() *answer {
	a := because(http.StatusForbidden, codeScopeWrite, "scope_write_required",
		"The credential may only read.", member{"credential_type", k.typeName()})
	return &a
}
