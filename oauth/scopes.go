package oauth

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
)

// Scope is what a program asks for. The person picks the organizations or
// workspaces at consent. Unknown ones pass through.
type Scope string

// Scopes to ask for. Of several the broadest holds.
const (
	ScopeUser          Scope = "user"               // the whole account; what a request without a scope means
	ScopeOrg           Scope = "org"                // organizations the person picks
	ScopeWorkspace     Scope = "workspace"          // workspaces the person picks
	ScopeAllOrgs       Scope = "all_orgs"           // every organization, its workspaces and shares
	ScopeAllWorkspaces Scope = "all_workspaces"     // every workspace and its shares
	ScopeAllShares     Scope = "all_shares"         // every share the person is a member of
	ScopeAllEnvelopes  Scope = "all_sign_envelopes" // every sign envelope within the person's reach
)

// AccessMode bounds what may be done with what a scope names.
type AccessMode string

// Access modes, each including the one before.
const (
	AccessModeRead  AccessMode = "r"
	AccessModeWrite AccessMode = "rw"
	AccessModeAdmin AccessMode = "rwa" // also to administer: only granted if it was asked for
)

// EntityType is what a [GrantedScope] reaches. Unknown ones pass through.
type EntityType string

// What a granted scope reaches.
const (
	EntityTypeUser        EntityType = "user" // the account and everything in its reach
	EntityTypeOrg         EntityType = "org"
	EntityTypeWorkspace   EntityType = "workspace"
	EntityTypeShare       EntityType = "share"
	EntityTypeUserDetails EntityType = "userdetails" // the settings of the account
)

// GrantedScope is one thing a token may do.
type GrantedScope struct {
	EntityType EntityType
	EntityID   api.ProfileID // "*" is all of them
	AccessMode AccessMode
}

// ParseScope reads the form that travels: "workspace:4012345678901234567:rw".
func ParseScope(s string) (GrantedScope, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return GrantedScope{}, &api.InputError{Field: "scopes", Rule: "must be entity:id:mode", Got: s}
	}
	return GrantedScope{EntityType(parts[0]), api.ProfileID(parts[1]), AccessMode(parts[2])}, nil
}

// String returns the form that travels.
func (g GrantedScope) String() string {
	return string(g.EntityType) + ":" + string(g.EntityID) + ":" + string(g.AccessMode)
}

// MarshalText writes the form that travels.
func (g GrantedScope) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads the form that travels.
func (g *GrantedScope) UnmarshalText(text []byte) (err error) {
	*g, err = ParseScope(string(text))
	return err
}

// grantedScopes reads a list of scopes, also one that is packed into a string.
// Nothing, null and a blank string are nil: the full access of old tokens.
type grantedScopes []GrantedScope

func (g *grantedScopes) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	list, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*g = nil
	if list.Kind() == '"' {
		var packed string
		if err := json.Unmarshal(list, &packed); err != nil {
			return err
		}
		if list = jsontext.Value(strings.TrimSpace(packed)); len(list) == 0 {
			return nil
		}
	}
	return json.Unmarshal(list, (*[]GrantedScope)(g))
}

// packScopes writes scopes as the JSON text that forms carry.
func packScopes(scopes []GrantedScope) (string, error) {
	b, err := json.Marshal(scopes)
	return string(b), err
}
