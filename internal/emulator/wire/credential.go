package wire

import (
	"net/http"
	"slices"
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

// RefuseAdmin is the refusal of a credential that may not administer something.
func (k *Credential) RefuseAdmin(what string) error {
	return Because(http.StatusForbidden, CodeScopeAdmin, "scope_admin_required",
		"The credential must be able to administer this "+what+".", Member{"credential_type", k.TypeName()})
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

func modes() []string { return []string{"", "r", "rw", "rwa"} }

func (m Mode) String() string { return modes()[m] }

// ParseMode reads a mode, NoAccess for what is none.
func ParseMode(s string) Mode { return Mode(max(0, slices.Index(modes(), s))) }

// SplitScope takes entity:id:mode apart.
func SplitScope(scope string) (entity, id, access string) {
	entity, rest, _ := strings.Cut(scope, ":")
	id, access, _ = strings.Cut(rest, ":")
	return entity, id, access
}

// Writes reports whether a credential may change anything at all.
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

// Plain is the stored form of an opaque id: no hyphens, lower case.
func Plain(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }

// IsOpaque reports whether a plain id has the form the platform accepts.
func IsOpaque(id string) bool {
	return (len(id) == OpaqueLen || len(id) == OpaqueLen+1) && strings.Trim(id, digits+letters) == ""
}

// Hyphenated is the display form: a hyphen after every five characters.
func Hyphenated(id string) string {
	var parts []string
	for part := range slices.Chunk([]byte(id), 5) {
		parts = append(parts, string(part))
	}
	return strings.Join(parts, "-")
}
