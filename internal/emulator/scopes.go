package emulator

import (
	"net/http"
	"strings"
	"time"
)

// mode is what a credential may do with an entity.
type mode int

const (
	noAccess mode = iota
	read
	write
	admin
)

func (m mode) String() string {
	switch m {
	case read:
		return "r"
	case write:
		return "rw"
	case admin:
		return "rwa"
	default:
		return ""
	}
}

func parseMode(s string) mode {
	switch s {
	case "r":
		return read
	case "rw":
		return write
	case "rwa":
		return admin
	}
	return noAccess
}

// covers is the best a credential may do on a profile: a scope reaches down from an organization to its workspaces
// and shares. A credential without scopes is the whole account.
func (st *state) covers(k *credential, profileID string) mode {
	if len(k.Scopes) == 0 {
		return admin
	}
	best := noAccess
	for _, scope := range k.Scopes {
		entity, id, access := splitScope(scope)
		if st.within(k, profileID, entity, id) {
			best = max(best, parseMode(access))
		}
	}
	return best
}

// splitScope takes entity:id:mode apart.
func splitScope(scope string) (entity, id, access string) {
	entity, rest, _ := strings.Cut(scope, ":")
	id, access, _ = strings.Cut(rest, ":")
	return entity, id, access
}

// within tells whether a profile lies under the entity of a scope.
func (st *state) within(k *credential, profileID, entity, id string) bool {
	named := func(profile string) bool { return profile != "" && (id == "*" || id == profile) }
	kind := st.kind(profileID)
	switch entity {
	case kindUser:
		return id == "*" || id == k.User
	case kindOrg:
		return named(st.orgOf(profileID))
	case kindWorkspace:
		if kind == kindShare {
			return named(st.shares[profileID].it.Workspace)
		}
		if kind == kindFileShare {
			return named(st.fileShares[profileID].Workspace)
		}
		return kind == kindWorkspace && named(profileID)
	case kindShare:
		return kind == kindShare && named(profileID)
	}
	return false
}

// writes tells whether a credential may change anything at all.
func (k *credential) writes() bool {
	if len(k.Scopes) == 0 {
		return true
	}
	for _, scope := range k.Scopes {
		if _, _, access := splitScope(scope); parseMode(access) >= write {
			return true
		}
	}
	return false
}

// Codes that are published. Where the platform publishes none, the emulator has its own: 199001 to 199999, six digits as
// the codes of the platform and none of those it is known to use.
const (
	codeMalformed   = 10001
	codeMethod      = 10003
	codeCredential  = 10011
	codeMissing     = 10021
	codeInvalid     = 10022
	codeType        = 10023
	codeThrottled   = 10368
	codeEntity      = 10545 // 401: not a member; 403: outside the credential
	codeScope       = 10754
	codeScopeAdmin  = 10767
	codeScopeWrite  = 10770
	codeRoute       = 9992
	codeFeedCursor  = 158008
	codeFeedExpired = 187907
	codeFeedLimit   = 207321
	codeFeedEmpty   = 135626
	codeNotFound    = 199002
	codeAuditAnchor = 199003
	codeCompliance  = 199004
	codeGeo         = 199005
	codeEventAccess = 199006
	codePolicy      = 199007
)

// authenticate finds the credential of a request.
func (s *Server) authenticate(r *http.Request) (*credential, *answer) {
	header := r.Header.Get("Authorization")
	if header == "" {
		a := refuse(http.StatusUnauthorized, codeCredential, "No credential was sent.")
		return nil, &a
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || !isToken(token) {
		a := refuse(http.StatusUnauthorized, codeMalformed, "The credential cannot be read.")
		return nil, &a
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	k := s.state.credentials[token]
	if k == nil || k.Revoked || !s.state.enabled(k.User) || expired(k, s.now()) || !s.meant(k, r) {
		a := refuse(http.StatusUnauthorized, codeCredential, "The credential is unknown or has ended.")
		return nil, &a
	}
	return k, nil
}

// enabled tells whether a user has an account that is not switched off.
func (st *state) enabled(userID string) bool {
	u := st.users[userID]
	return u != nil && !u.it.Disabled
}

func expired(k *credential, now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

// isToken tells whether s has the form of a bearer token.
func isToken(s string) bool {
	const others = "-._~+/="
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return s != ""
}

// outOfScope refuses a credential that does not reach a profile.
func (st *state) outOfScope(profileID string) answer {
	code := int64(codeScope)
	if kind := st.kind(profileID); kind == kindOrg || kind == kindUser {
		code = codeEntity
	}
	return refuse(http.StatusForbidden, code, "The credential does not cover this profile.")
}

func notMember() answer {
	return refuse(http.StatusUnauthorized, codeEntity, "You are not a member of this profile.")
}
