package wire

import (
	"net/http"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// CredentialKind is the issuer of a bearer token, which decides what revokes it.
type CredentialKind int

// Kinds of credentials.
const (
	APIKey       CredentialKind = iota
	SessionToken                // of a sign-in with a password
	LimitedToken                // of such a sign-in before its second factor
	AccessToken                 // of OAuth
)

// Credential is the meaning of a bearer token. Calls read it without a lock:
// changes replace it with a copy, and revocation removes it from the map.
type Credential struct {
	seed.Key
	Kind    CredentialKind
	ID      string // of an API key
	Created int64

	Session  string // of OAuth, of an access token
	Resource string // of OAuth; a token for another resource is none here
}

// TypeName returns the kind of a credential as used in errors.
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

// RefuseReadOnly returns a refusal if a credential has no write access to anything.
func (k *Credential) RefuseReadOnly() error {
	if k.Writes() {
		return nil
	}
	return k.ReadOnlyRefusal()
}

// NoAdminRefusal returns the error of a credential without admin mode.
func (k *Credential) NoAdminRefusal(what string) error {
	return RefuseWithReason(http.StatusForbidden, CodeScopeAdmin, "scope_admin_required",
		"The credential must be able to administer this "+what+".", Member{"credential_type", k.TypeName()})
}

// ReadOnlyRefusal returns the error of a read-only credential.
func (k *Credential) ReadOnlyRefusal() error {
	return RefuseWithReason(http.StatusForbidden, codeScopeWrite, "scope_write_required",
		"The credential may only read.", Member{"credential_type", k.TypeName()})
}

// KindEnvelope is a scope entity for which the emulator has no endpoints.
const KindEnvelope = "sign_envelope" // assumed: no published name

// Mode is the access mode of a credential to an entity.
type Mode int

// Modes, the least first.
const (
	NoAccess Mode = iota
	Read
	Write
	Admin
)

func modes() []string { return []string{"", "r", "rw", "rwa"} }

func (m Mode) String() string { return modes()[m] }

// ParseMode parses a mode and returns NoAccess if it is invalid.
func ParseMode(s string) Mode { return Mode(max(0, slices.Index(modes(), s))) }

// SplitScope splits a scope entity:id:mode, such as "workspace:*:rw", into its parts.
func SplitScope(scope string) (entity, id, access string) {
	entity, idAndMode, _ := strings.Cut(scope, ":")
	id, access, _ = strings.Cut(idAndMode, ":")
	return entity, id, access
}

// Writes reports whether a credential has any write access: a scope with the mode rw or
// more, or no scopes, which means the whole account.
func (k *Credential) Writes() bool {
	return len(k.Scopes) == 0 || slices.ContainsFunc(k.Scopes, func(scope string) bool {
		_, _, access := SplitScope(scope)
		return ParseMode(access) >= Write
	})
}

// IsToken reports whether s has the form of a bearer token.
func IsToken(s string) bool {
	return s != "" && strings.Trim(s, digits+letters+strings.ToUpper(letters)+"-._~+/=") == ""
}

// Lengths of ids.
const (
	OpaqueLen  = 29
	ProfileLen = 19
	WordLen    = 13 // digits of a 64-bit word in base 36
)

// IsProfile reports whether id has the form of the id of a profile.
func IsProfile(id string) bool { return len(id) == ProfileLen && strings.Trim(id, digits) == "" }

const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyz"

// Plain returns the stored form of an opaque id: lower case, no hyphens.
func Plain(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }

// IsOpaque reports whether a plain id has the form the platform accepts.
func IsOpaque(id string) bool {
	return (len(id) == OpaqueLen || len(id) == OpaqueLen+1) && strings.Trim(id, digits+letters) == ""
}

// Hyphenated returns the display form: a hyphen after every five characters.
func Hyphenated(id string) string {
	var b strings.Builder
	b.Grow(len(id) + len(id)/5)
	for i := range len(id) {
		if i > 0 && i%5 == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(id[i])
	}
	return b.String()
}
