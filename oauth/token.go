package oauth

import (
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/jsonopt"
)

// Token is the result of a sign-in. Its secrets are not printed.
type Token struct {
	AccessToken  api.Secret
	TokenType    string     // "Bearer"
	RefreshToken api.Secret // "" if the server gave none
	Expiry       time.Time  // of the access token, by the local clock; zero if unknown

	Scopes []GrantedScope // granted scopes; nil means full access
	Scope  Scope          // the requested scope, not the granted one

	TwoFactor bool // the token is valid for [TwoFactor.Complete] and [TwoFactor.Send] only
}

// API returns the token for use by a client.
func (t Token) API() api.Token { return api.Token{AccessToken: t.AccessToken, Expiry: t.Expiry} }

// ExchangeRequest exchanges an authorization code for a [Token].
type ExchangeRequest struct {
	ClientID     string // as given to [Service.StartAuthorization]
	RedirectURI  string // as given to [Service.StartAuthorization], byte for byte
	Code         api.Secret
	CodeVerifier api.Secret // the Verifier of the [PKCE]
	Resource     string     // as given to [Service.StartAuthorization]; "" for none
	DeviceName   string     // name of the session; at most 128 characters, "" for none
	DeviceType   string     // such as "cli"; at most 128 characters, "" for none
}

// Exchange exchanges an authorization code for a token. A code is valid for five
// minutes and for one call, so the call is never retried.
// Errors: [*Error] for a refusal, with [CodeInvalidGrant] for a used code.
//
// It calls POST /current/oauth/token/.
func (s *Service) Exchange(ctx context.Context, r ExchangeRequest, opts ...api.CallOption) (*Token, error) {
	args := input.Fields[ExchangeRequest]("oauth.Exchange")
	form := api.Form{"grant_type": {"authorization_code"}}
	if err := cmp.Or(
		setRequired(
			args, form, param{"client_id", r.ClientID}, param{"redirect_uri", r.RedirectURI},
			param{"code", r.Code.Reveal()}, param{"code_verifier", r.CodeVerifier.Reveal()},
		),
		checkVerifier(args, r.CodeVerifier), checkDevice(args, r.DeviceName, r.DeviceType),
	); err != nil {
		return nil, err
	}
	setGiven(form, param{"resource", r.Resource}, param{"device_name", r.DeviceName}, param{"device_type", r.DeviceType})
	return s.token(ctx, endpoint.OAuthExchange(form), form, opts)
}

// RefreshRequest requests a new access token.
type RefreshRequest struct {
	ClientID     string // as given to [Service.Exchange]
	RefreshToken api.Secret
	Resource     string // as given to [Service.Exchange]; "" for none
}

// Refresh exchanges a refresh token for a new access token. Use the RefreshToken of
// the result from then on; it is the given one unless the server replaced it.
//
// The call is never retried, because a server that rotates refresh tokens treats a
// second use as theft and ends the session. [TokenSource] has the rules for a caller
// that sends a refresh token again.
//
// Errors: [*Error] for a refusal. [CodeInvalidGrant], [CodeInvalidClient] and
// [CodeUnauthorizedClient] mean that the user must sign in again.
//
// It calls POST /current/oauth/token/.
func (s *Service) Refresh(ctx context.Context, r RefreshRequest, opts ...api.CallOption) (*Token, error) {
	form := api.Form{"grant_type": {"refresh_token"}}
	if err := setRequired(
		input.Fields[RefreshRequest]("oauth.Refresh"), form,
		param{"client_id", r.ClientID}, param{"refresh_token", r.RefreshToken.Reveal()},
	); err != nil {
		return nil, err
	}
	setGiven(form, param{"resource", r.Resource})
	t, err := s.token(ctx, endpoint.OAuthRefresh(form), form, opts)
	if err != nil {
		return nil, err
	}
	if t.RefreshToken.IsZero() {
		t.RefreshToken = r.RefreshToken
	}
	return t, nil
}

// token sends r, a request to the token endpoint, once, and returns the token. The texts of
// an OAuth error may repeat the secrets of form, the body of r: they are masked. A token that
// no header can hold is an [*unusableError] with the refresh token, which may be new.
func (s *Service) token(ctx context.Context, r *api.Request, form api.Form, opts []api.CallOption) (*Token, error) {
	op := r.Op
	opts = append(slices.Clip(opts), api.WithAttempts(1))
	requested := time.Now()
	a, err := call.Payload[struct {
		AccessToken  api.Secret    `json:"access_token"`
		TokenType    string        `json:"token_type"`
		ExpiresIn    lifetime      `json:"expires_in"`
		RefreshToken api.Secret    `json:"refresh_token"`
		Scope        scopeWords    `json:"scope"`
		Scopes       grantedScopes `json:"scopes"`

		rawError
	}](ctx, s.c, r, opts)
	switch {
	case err != nil:
		return nil, asError(err)
	case a.Name != "":
		return nil, a.failure(op, form)
	case a.AccessToken.IsZero():
		return nil, fmt.Errorf("fastio: %s: the response holds no access token", op)
	case !sendable(a.AccessToken):
		return nil, &unusableError{op, "it holds a character that no header can carry", a.RefreshToken}
	}
	kind := strings.TrimSpace(a.TokenType)
	if kind != "" && !strings.EqualFold(kind, bearer) {
		return nil, &unusableError{op, "it is of another type than Bearer", a.RefreshToken}
	}
	return &Token{
		AccessToken: a.AccessToken, TokenType: bearer, RefreshToken: a.RefreshToken,
		Expiry: call.Expiry(requested, int64(a.ExpiresIn)), Scope: Scope(a.Scope), Scopes: a.Scopes,
	}, nil
}

// unusableError reports a 2xx response with an access token that cannot be used.
type unusableError struct {
	op, reason string
	refresh    api.Secret // the refresh token of the response, "" if it holds none
}

func (e *unusableError) Error() string {
	return "fastio: " + e.op + ": the access token cannot be used: " + e.reason
}

const bearer = "Bearer"

// sendable reports whether an Authorization header can hold a token.
func sendable(token api.Secret) bool {
	return !strings.ContainsFunc(token.Reveal(), func(r rune) bool { return r < ' ' || r == 0x7f })
}

// lifetime is a number of seconds, which may be a fraction or text. Other values
// decode as 0, an unknown lifetime.
type lifetime int64

// UnmarshalJSONFrom reads a number of seconds, also in a string. Anything else, such as
// NaN, is 0.
func (l *lifetime) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	n, e := strconv.ParseFloat(strings.TrimSpace(strings.Trim(string(v), `"`)), 64)
	if e != nil || !(n > 0 && n < 1<<62) {
		n = 0
	}
	*l = lifetime(n)
	return err
}

// JSONType implements decode.Variant, for the report of values of another kind. A number and
// a string are never reported (nil), because UnmarshalJSONFrom reads them. Any other value is
// reported: a number was expected.
func (*lifetime) JSONType(kind jsontext.Kind) reflect.Type {
	if kind == '"' || kind == '0' {
		return nil
	}
	return reflect.TypeFor[int64]()
}

// Revoke revokes a refresh token. Its access tokens may stay valid until they
// expire, an hour at most. It is idempotent: it succeeds for an unknown or revoked
// token.
//
// It calls POST /current/oauth/revoke/.
func (s *Service) Revoke(ctx context.Context, refreshToken api.Secret, opts ...api.CallOption) error {
	const noClientID = ""
	return s.revoke(ctx, refreshToken, noClientID, opts)
}

// revoke revokes a refresh token. It also sends the client id, unless it is empty: the
// platform does not require it; other servers do (RFC 7009, section 2.1). A 2xx status
// is success with any body (section 2.2), unless the body is an error.
func (s *Service) revoke(ctx context.Context, refreshToken api.Secret, clientID string, opts []api.CallOption) error {
	const op = "oauth.Revoke"
	form := api.Form{}
	if err := setRequired(input.Parameters(op, "token", "refreshToken"), form, param{"token", refreshToken.Reveal()}); err != nil {
		return err
	}
	setGiven(form, param{"client_id", clientID})
	answer := api.Resolve(opts).Response
	if answer == nil {
		answer = new(api.Response)
		opts = append(slices.Clip(opts), api.WithResponse(answer))
	}
	a, err := call.Payload[rawError](ctx, s.c, endpoint.OAuthRevoke(form), opts)
	_, isRefusal := errors.AsType[*api.Error](err)
	isSuccess := answer.Status/100 == 2 && !isRefusal // also if the body cannot be decoded
	switch {
	case err == nil && a.Name != "":
		return a.failure(op, form)
	case err != nil && !isSuccess:
		return asError(err)
	}
	return nil
}

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

// ParseGrantedScope parses the wire format: "workspace:4012345678901234567:rw". It
// returns an [*api.InputError] for any other text.
func ParseGrantedScope(s string) (GrantedScope, error) {
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

// join returns the scope as "TYPE:ID:MODE".
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

// readScope parses a granted scope. A text in another format becomes its
// EntityType.
func readScope(s string) GrantedScope {
	g, err := ParseGrantedScope(s)
	if err != nil {
		return GrantedScope{EntityType: EntityType(s)}
	}
	return g
}

// TokenScopes are the permissions of a token.
type TokenScopes struct {
	AuthType   string         `json:"auth_type"`   // "api_key", "oauth" or "session" (assumed name)
	Scopes     []GrantedScope `json:"scopes"`      // nil means full access, or unknown: see FullAccess (assumed name)
	Admin      bool           `json:"admin"`       // admin access; only the JSON value true is true
	Agent      bool           `json:"is_agent"`    // the token is of a software agent (assumed name)
	FullAccess bool           `json:"full_access"` // access to everything (assumed name)

	ScopesDetail []json.RawMessage `json:"scopes_detail"` // a record of each scope, in an undocumented form

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// TokenScopes returns the permissions of the client's token. Its Admin reports whether
// [AccessModeAdmin] was granted; its Scopes do not.
//
// It calls GET /current/auth/scopes/.
func (s *Service) TokenScopes(ctx context.Context, opts ...api.CallOption) (*TokenScopes, error) {
	a, err := call.Payload[struct {
		TokenScopes

		// These two are decoded in place of the fields of TokenScopes.
		Scopes grantedScopes `json:"scopes"`
		Admin  literalTrue   `json:"admin"`
	}](ctx, s.c, endpoint.OAuthTokenScopes(), opts)
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

// JSONType returns bool: no other value is documented.
func (*literalTrue) JSONType(jsontext.Kind) reflect.Type { return reflect.TypeFor[bool]() }

// grantedScopes decodes a list of scopes, also from a string. A missing value, null
// and a blank string are nil: the full access of old tokens. No value is an error,
// because the token is valid without its scopes.
type grantedScopes []GrantedScope

// UnmarshalJSONFrom reads scopes in any form. Only invalid JSON is an error.
func (g *grantedScopes) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	*g = readScopes(v)
	return err
}

// JSONType implements decode.Variant, for the report of values of another kind. A string is
// never reported (nil), because UnmarshalJSONFrom reads it as a list. Any other value is
// reported unless it is a list of strings.
func (*grantedScopes) JSONType(kind jsontext.Kind) reflect.Type {
	if kind == '"' {
		return nil
	}
	return reflect.TypeFor[[]string]()
}

// readScopes reads the scopes of a token: a list, a text that is the JSON of a list, or a
// text of words. It returns nil, which means full access, only if the response has none,
// null or a blank text: not for an empty list. What cannot be parsed as a scope becomes the
// EntityType of one.
func readScopes(v jsontext.Value) []GrantedScope {
	switch v.Kind() {
	case 0, 'n': // nothing, or null
		return nil
	case '[':
		scopes := []GrantedScope{} // not nil, also for an empty list
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
		inner := jsontext.Value(packed)
		if packed == "" || inner.IsValid() { // nothing, or the JSON of a list
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

// UnmarshalJSONFrom reads a text, or a list of texts, which it joins with
// blanks.
func (s *scopeWords) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	*s = ""
	switch v.Kind() {
	case 0, 'n': // nothing, or null
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

// JSONType implements decode.Variant: a list is decoded as texts, anything else as one
// text. A value that is neither a list nor a text is reported.
func (*scopeWords) JSONType(kind jsontext.Kind) reflect.Type {
	if kind == '[' {
		return reflect.TypeFor[[]string]()
	}
	return reflect.TypeFor[string]()
}

// elements returns the elements of a JSON list.
func elements(list jsontext.Value) []jsontext.Value {
	var rows []jsontext.Value
	_ = jsonv2.Unmarshal(list, &rows, jsonopt.Lenient()) // it is valid JSON: it was decoded before
	return rows
}

// text returns a string, or the JSON of any other value.
func text(v jsontext.Value) string {
	if v.Kind() != '"' {
		return string(v)
	}
	b, _ := jsontext.AppendUnquote(nil, v) // its only error is for invalid UTF-8, which it replaces
	return string(b)
}
