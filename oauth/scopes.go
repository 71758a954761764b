package oauth

import (
	"context"
	"encoding"
	stdjson "encoding/json"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/lenient"
)

// Scope is a scope that a program requests. The user selects the organizations or
// workspaces at consent. Unknown values are sent unchanged: the platform ignores
// the scopes of OpenID (openid, profile, email, offline_access), and a request with
// no other scope requests [ScopeUser]. It accepts the retired all_workflows, but
// never grants it: consent fails.
type Scope string

// Scopes of a request. Of several the broadest is used.
const (
	ScopeUser          Scope = "user"               // the whole account; the default
	ScopeOrg           Scope = "org"                // organizations that the user selects
	ScopeWorkspace     Scope = "workspace"          // workspaces that the user selects
	ScopeAllOrgs       Scope = "all_orgs"           // every organization, its workspaces and shares
	ScopeAllWorkspaces Scope = "all_workspaces"     // every workspace and its shares
	ScopeAllShares     Scope = "all_shares"         // every share the user is a member of
	ScopeAllEnvelopes  Scope = "all_sign_envelopes" // every sign envelope the user has access to
)

// AccessMode is the access to the objects of a scope.
type AccessMode string

// Access modes, each including the one before.
const (
	AccessModeRead  AccessMode = "r"
	AccessModeWrite AccessMode = "rw"
	AccessModeAdmin AccessMode = "rwa" // also administration: only granted if requested
)

// EntityType is the kind of object of a [GrantedScope]. Unknown values are kept.
type EntityType string

// Kinds of objects of a granted scope.
const (
	EntityTypeUser        EntityType = "user" // the account and everything it has access to
	EntityTypeOrg         EntityType = "org"
	EntityTypeWorkspace   EntityType = "workspace"
	EntityTypeShare       EntityType = "share"
	EntityTypeUserDetails EntityType = "userdetails" // the settings of the account
)

// GrantedScope is one permission of a token. An unknown form is kept unchanged in
// EntityType, with the other fields empty.
type GrantedScope struct {
	EntityType EntityType
	EntityID   api.ID // "*" means all
	AccessMode AccessMode
}

// ParseScope parses the wire format: "workspace:4012345678901234567:rw".
func ParseScope(s string) (GrantedScope, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return GrantedScope{}, &api.InputError{Field: "scopes", Rule: "must be entity:id:mode", Got: s}
	}
	return GrantedScope{EntityType(parts[0]), api.ID(parts[1]), AccessMode(parts[2])}, nil
}

var _ encoding.TextMarshaler = GrantedScope{} // for JSON encoders

// String returns the wire format.
func (g GrantedScope) String() string {
	if g.EntityID == "" && g.AccessMode == "" { // an unknown form
		return string(g.EntityType)
	}
	return g.join()
}

func (g GrantedScope) join() string {
	return string(g.EntityType) + ":" + string(g.EntityID) + ":" + string(g.AccessMode)
}

// MarshalText returns the wire format.
func (g GrantedScope) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText parses the wire format. It accepts any text.
func (g *GrantedScope) UnmarshalText(text []byte) error {
	*g = readScope(string(text))
	return nil
}

func readScope(s string) GrantedScope {
	g, err := ParseScope(s)
	if err != nil {
		return GrantedScope{EntityType: EntityType(s)}
	}
	return g
}

// TokenScopes are the permissions of a token. Unknown members are in Extra.
type TokenScopes struct {
	AuthType   string         `json:"auth_type"`   // "api_key", "oauth" or "session" (assumed name)
	Scopes     []GrantedScope `json:"scopes"`      // nil is full access, or unknown: see FullAccess (assumed name)
	Admin      bool           `json:"admin"`       // admin access; only the JSON value true is true
	Agent      bool           `json:"is_agent"`    // the token is of a software agent (assumed name)
	FullAccess bool           `json:"full_access"` // access to everything (assumed name)

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // unknown members
}

// TokenScopes returns the permissions of the client's token. Only its Admin reports
// whether [AccessModeAdmin] was granted.
//
// It calls GET /current/auth/scopes/.
func (s *Service) TokenScopes(ctx context.Context, opts ...api.CallOption) (*TokenScopes, error) {
	a, err := call.One[struct {
		TokenScopes
		Scopes grantedScopes `json:"scopes"`
		Admin  literalTrue   `json:"admin"`
	}](ctx, s.c, endpoint.OAuthTokenScopes(), "", opts)
	if err != nil {
		return nil, err
	}
	a.TokenScopes.Scopes, a.TokenScopes.Admin = a.Scopes, bool(a.Admin)
	return &a.TokenScopes, nil
}

// literalTrue decodes only the JSON value true as true.
type literalTrue bool

func (t *literalTrue) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*t = dec.PeekKind() == 't'
	return dec.SkipValue()
}

// grantedScopes decodes a list of scopes, also from a string. A missing value, null
// and a blank string are nil: the full access of old tokens. No value is an error,
// because the token is valid without its scopes.
type grantedScopes []GrantedScope

func (g *grantedScopes) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	*g = readScopes(v)
	return err
}

func readScopes(v jsontext.Value) []GrantedScope {
	switch v.Kind() {
	case 0, 'n':
		return nil
	case '[':
		scopes := []GrantedScope{} // not nil, which is full access
		for _, row := range elements(v) {
			if row.Kind() == '"' {
				scopes = append(scopes, readScope(text(row)))
			} else {
				scopes = append(scopes, GrantedScope{EntityType: EntityType(row)})
			}
		}
		return scopes
	case '"':
		packed := strings.TrimSpace(text(v))
		if inner := jsontext.Value(packed); packed == "" || inner.IsValid() {
			return readScopes(inner)
		}
		var scopes []GrantedScope
		for word := range strings.FieldsSeq(packed) {
			scopes = append(scopes, readScope(word))
		}
		return scopes
	default:
		return []GrantedScope{{EntityType: EntityType(v)}}
	}
}

// scopeWords decodes a scope member, which may be a list of words.
type scopeWords string

func (s *scopeWords) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	switch *s = ""; v.Kind() {
	case 0, 'n':
	case '[':
		rows := elements(v)
		words := make([]string, len(rows))
		for i, row := range rows {
			words[i] = text(row)
		}
		*s = scopeWords(strings.Join(words, " "))
	default:
		*s = scopeWords(text(v))
	}
	return err
}

func elements(list jsontext.Value) []jsontext.Value {
	var rows []jsontext.Value
	_ = json.Unmarshal(list, &rows, lenient.Options()) // it is valid JSON: it was decoded before
	return rows
}

// text returns a string, or the JSON of any other value.
func text(v jsontext.Value) string {
	if v.Kind() != '"' {
		return string(v)
	}
	b, _ := jsontext.AppendUnquote(nil, v) // as far as it is UTF-8
	return string(b)
}
