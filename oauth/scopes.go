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

// Scope is what a program asks for. The person picks the organizations or
// workspaces at consent. Unknown ones are sent as they are: the platform ignores
// the words of OpenID (openid, profile, email, offline_access), and a request with
// no other word asks for [ScopeUser]. It accepts the retired all_workflows, but
// never grants it: consent fails.
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

// GrantedScope is one thing a token may do. A form that this version does not know
// is kept in EntityType as the server sent it, with the other fields empty.
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

var _ encoding.TextMarshaler = GrantedScope{} // so a JSON encoder takes its text

// String returns the form that travels.
func (g GrantedScope) String() string {
	if g.EntityID == "" && g.AccessMode == "" { // an unknown form
		return string(g.EntityType)
	}
	return g.join()
}

func (g GrantedScope) join() string {
	return string(g.EntityType) + ":" + string(g.EntityID) + ":" + string(g.AccessMode)
}

// MarshalText writes the form that travels.
func (g GrantedScope) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads the form that travels. It accepts any text.
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

// TokenScopes is what a token may do. Members of other names are in Extra.
type TokenScopes struct {
	AuthType   string         `json:"auth_type"`   // what the token is: "api_key", "oauth", "session" (assumed name)
	Scopes     []GrantedScope `json:"scopes"`      // nil is full access, or unknown: see FullAccess (assumed name)
	Admin      bool           `json:"admin"`       // it may administer; true only if the server says just that
	Agent      bool           `json:"is_agent"`    // it acts for a software agent (assumed name)
	FullAccess bool           `json:"full_access"` // nothing is out of its reach (assumed name)

	Extra map[string]stdjson.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// TokenScopes returns what the token may do that the client signs with. Whether a
// request for [AccessModeAdmin] was granted, its Admin tells and nothing else.
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

// literalTrue takes no word or number for true.
type literalTrue bool

func (t *literalTrue) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*t = dec.PeekKind() == 't'
	return dec.SkipValue()
}

// grantedScopes reads a list of scopes, also one that is packed into a string.
// Nothing, null and a blank string are nil: the full access of old tokens. No form
// is an error, because scopes are advisory and the token is not.
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

// scopeWords reads the value of a scope member, also one that is a list of words.
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
	_ = json.Unmarshal(list, &rows, lenient.Options()) // it is valid: a decoder read it
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
