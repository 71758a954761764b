package wire

import (
	"net/http"
	"strings"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// CredentialKind tells what issued a bearer token, and so what ends it.
type CredentialKind int

// Kinds of credentials.
const (
	APIKey       CredentialKind = iota
	SessionToken                // of a sign-in with a password
	LimitedToken                // of such a sign-in before its second factor
	AccessToken                 // of OAuth
)

// Credential is what a bearer token stands for. Calls read it without a lock: what changes is replaced by a copy, what
// ends leaves the map.
type Credential struct {
	seed.Key[string]
	Kind    CredentialKind
	ID      string // of an API key
	Created int64

	Session  string // of OAuth, of an access token
	Resource string // of OAuth; a token for another resource is none here
}

// TypeName is how refusals name the kind of a credential.
func (k *Credential) TypeName() string {
	switch k.Kind {
	case AccessToken:
		return "oauth"
	case SessionToken, LimitedToken:
		return "session"
	default:
		return "api_key"
	}
}

// ReadOnly refuses a credential that may not change anything, nil when it may.
func (k *Credential) ReadOnly() error {
	if k.Writes() {
		return nil
	}
	return k.RefuseWrite()
}

// RefuseWrite is the refusal of a credential that may only read.
func (k *Credential) RefuseWrite() error {
	return Because(http.StatusForbidden, codeScopeWrite, "scope_write_required",
		"The credential may only read.", Member{"credential_type", k.TypeName()})
}

// KindEnvelope is the entity of a scope that no endpoint here has.
const KindEnvelope = "sign_envelope" // assumed: no published name

// Mode is what a credential may do with an entity.
type Mode int

// Modes, the least first.
const (
	NoAccess Mode = iota
	Read
	Write
	Admin
)

func (m Mode) String() string {
	switch m {
	case Read:
		return "r"
	case Write:
		return "rw"
	case Admin:
		return "rwa"
	default:
		return ""
	}
}

// ParseMode reads a mode, NoAccess for what is none.
func ParseMode(s string) Mode {
	switch s {
	case "r":
		return Read
	case "rw":
		return Write
	case "rwa":
		return Admin
	}
	return NoAccess
}

// SplitScope takes entity:id:mode apart.
func SplitScope(scope string) (entity, id, access string) {
	entity, rest, _ := strings.Cut(scope, ":")
	id, access, _ = strings.Cut(rest, ":")
	return entity, id, access
}

// Writes reports whether a credential may change anything at all.
func (k *Credential) Writes() bool {
	if len(k.Scopes) == 0 {
		return true
	}
	for _, scope := range k.Scopes {
		if _, _, access := SplitScope(scope); ParseMode(access) >= Write {
			return true
		}
	}
	return false
}

// IsToken reports whether s has the form of a bearer token.
func IsToken(s string) bool {
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

// Lengths of ids.
const (
	OpaqueLen  = 29
	ProfileLen = 19
	WordLen    = 13 // digits of a 64-bit word in base 36
)

// IsProfile reports whether id has the form of the id of a profile.
func IsProfile(id string) bool {
	if len(id) != ProfileLen {
		return false
	}
	for i := range len(id) {
		if id[i] < '0' || id[i] > '9' {
			return false
		}
	}
	return true
}

// Plain is the stored form of an opaque id: no hyphens, lower case.
func Plain(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }

// IsOpaque reports whether a plain id has the form the platform accepts.
func IsOpaque(id string) bool {
	if len(id) != OpaqueLen && len(id) != OpaqueLen+1 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// Hyphenated is the display form: a hyphen after every five characters.
func Hyphenated(id string) string {
	b := make([]byte, 0, len(id)+len(id)/5)
	for i := range len(id) {
		if i > 0 && i%5 == 0 {
			b = append(b, '-')
		}
		b = append(b, id[i])
	}
	return string(b)
}
