package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"golang.org/x/oauth2"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// AuthorizationRequest asks for a person's consent.
type AuthorizationRequest struct {
	ClientID    string // of [Service.Register], or the https URL of a [ClientMetadata]
	RedirectURI string // a registered one; on 127.0.0.1 any port will do
	PKCE        PKCE   // of [NewPKCE]; the Verifier stays here

	Scopes          []Scope    // none is [ScopeUser]; of several the server takes the broadest
	AccessMode      AccessMode // the most that may be granted; "" leaves it to consent, up to [AccessModeWrite]
	AccountSettings bool       // ask for the settings of the account too
	Resource        string     // an absolute URL that names the reader of the token (RFC 8707); "" for none
	AgentName       string     // shown at consent and in the event log; cut to 128 characters, "" for none
	DisplayCode     bool       // show the code to the person instead of redirecting
}

// Authorization is a request for consent under way. It lasts ten minutes.
type Authorization struct {
	ID         string `json:"auth_request_id"`
	ClientName string `json:"client_name"`
	Scope      Scope  `json:"scope"`      // the one the server goes by
	AgentName  string `json:"agent_name"` // "" if none was sent
	LoginURL   string `json:"login_url"`  // to be opened in the person's browser as it is
}

// StartAuthorization begins an authorization. The person's answer goes to the
// redirect URI with the State of the [PKCE]. Each call begins another, so it is
// only repeated when it was never sent. What the server does not accept is
// [api.ErrInvalid], such as an AgentName that the platform reserves for itself
// (status 406).
//
// It calls GET /current/oauth/authorize/.
func (s *Service) StartAuthorization(
	ctx context.Context, r AuthorizationRequest, opts ...api.CallOption,
) (*Authorization, error) {
	const op = "oauth.StartAuthorization"
	q, err := r.query(op)
	if err != nil {
		return nil, err
	}
	q.Set("response_format", "json")
	a, err := call.One[Authorization](ctx, s.c, endpoint.OAuthStartAuthorization(q), "", opts)
	if err != nil {
		return nil, asError(err)
	}
	if a.LoginURL == "" { // of a server without a browser sign-in; nobody may make one up
		return nil, errors.New("fastio: " + op + ": the answer holds no login URL")
	}
	return a, nil
}

// query returns the parameters, or which of them the server would refuse.
func (r AuthorizationRequest) query(op string) (url.Values, error) {
	q := url.Values{"response_type": {"code"}, "code_challenge_method": {"S256"}}
	if err := require(
		op, q, param{"client_id", r.ClientID}, param{"redirect_uri", r.RedirectURI}, param{"state", r.PKCE.State.Reveal()},
	); err != nil {
		return nil, err
	}
	scope, err := joinScopes(op, r.Scopes)
	if err := cmp.Or(
		checkChallenge(op, r.PKCE.Challenge), err, checkAccessMode(op, r.AccessMode), checkResource(op, r.Resource),
	); err != nil {
		return nil, err
	}
	offer(
		q, param{"code_challenge", r.PKCE.Challenge}, param{"scope", scope}, param{"access_mode", string(r.AccessMode)},
		param{"resource", r.Resource}, param{"agent_name", strings.TrimSpace(r.AgentName)},
	)
	if r.AccountSettings {
		q.Set("account_settings", "1")
	}
	if r.DisplayCode {
		q.Set("display_code", "true")
	}
	return q, nil
}

// AuthorizationInfo is what a consent screen shows of an authorization. Members of
// other names are in Extra.
type AuthorizationInfo struct {
	ID              string     `json:"auth_request_id"`  // (assumed name)
	ClientID        string     `json:"client_id"`        // (assumed name)
	ClientName      string     `json:"client_name"`      // (assumed name)
	Scope           Scope      `json:"scope"`            // (assumed name)
	AccessMode      AccessMode `json:"access_mode"`      // "" if the program named none (assumed name)
	AccountSettings bool       `json:"account_settings"` // (assumed name)
	AgentName       string     `json:"agent_name"`       // "" if the program gave none (assumed name)
	Resource        string     `json:"resource"`         // "" if the program named none (assumed name)
	RedirectMode    string     `json:"redirect_mode"`    // "display_code" when the code is shown to the person
	ExpiresIn       int64      `json:"expires_in"`       // seconds; 0 when the server does not tell (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// AuthorizationInfo returns what an authorization asks for, by the ID of
// [Service.StartAuthorization]. It serves those who build a consent screen. One
// that has been decided or is older than ten minutes is [api.ErrNotFound].
//
// It calls GET /current/oauth/authorize/info/.
func (s *Service) AuthorizationInfo(
	ctx context.Context, id string, opts ...api.CallOption,
) (*AuthorizationInfo, error) {
	query := url.Values{}
	if err := require("oauth.AuthorizationInfo", query, param{"auth_request_id", id}); err != nil { // (assumed name)
		return nil, err
	}
	return call.One[AuthorizationInfo](ctx, s.c, endpoint.OAuthAuthorizationInfo(query), "", opts)
}

// CompleteAuthorizationRequest is a person's answer to an authorization.
type CompleteAuthorizationRequest struct {
	ID   string // of [Service.StartAuthorization]
	Deny bool   // grant nothing; the fields below are then ignored

	Scopes          []GrantedScope // what to grant; nil is all that was asked for
	AccessMode      AccessMode     // the most to grant; "" is what was asked for
	AccountSettings bool           // grant the settings of the account, if they were asked for
}

// CompletedAuthorization is where the person's answer goes: one of the two, both
// of them secrets because they hold the code.
type CompletedAuthorization struct {
	RedirectURI api.Secret `json:"redirect_uri"` // where to send the browser (assumed name)
	Code        api.Secret `json:"code"`         // what to show, when the program asked for that (assumed name)
}

// CompleteAuthorization gives the answer of the person whose token the client
// signs with. The token must be of a sign-in with a password, not of OAuth and no
// API key. It is only repeated when it was never sent.
//
// It calls POST /current/oauth/authorize/.
func (s *Service) CompleteAuthorization(
	ctx context.Context, r CompleteAuthorizationRequest, opts ...api.CallOption,
) (*CompletedAuthorization, error) {
	const op = "oauth.CompleteAuthorization"
	form, err := r.form(op)
	if err != nil {
		return nil, err
	}
	a, err := call.One[CompletedAuthorization](ctx, s.c, endpoint.OAuthCompleteAuthorization(form), "", opts)
	if err != nil {
		return nil, asError(err)
	}
	if a.RedirectURI.IsZero() && a.Code.IsZero() && !r.Deny { // a denial that is only shown leads nowhere
		return nil, errors.New("fastio: " + op + ": the answer holds neither a redirect URI nor a code")
	}
	return a, nil
}

func (r *CompleteAuthorizationRequest) form(op string) (api.Form, error) {
	decision := "approve"
	if r.Deny {
		decision = "deny"
	}
	form := api.Form{"decision": {decision}}                                  // (assumed name)
	if err := require(op, form, param{"auth_request_id", r.ID}); err != nil { // (assumed name)
		return nil, err
	}
	if r.Deny {
		return form, nil
	}
	if err := checkAccessMode(op, r.AccessMode); err != nil {
		return nil, err
	}
	offer(form, param{"access_mode", string(r.AccessMode)}) // (assumed name)
	if r.AccountSettings {
		form["account_settings"] = []string{"1"} // (assumed name)
	}
	return form, setScopes(op, form, r.Scopes) // as "scopes" (assumed name)
}

// PKCE is what ties an authorization to the program that asked for it (RFC 7636).
// One serves one authorization.
type PKCE struct {
	Verifier  api.Secret // stays with the program until the code is exchanged
	Challenge string     // goes along with the request
	State     api.Secret // comes back with the code
}

// NewPKCE returns fresh random values: 256 bits of verifier, 128 of state.
func NewPKCE() PKCE {
	verifier := oauth2.GenerateVerifier()
	return PKCE{
		Verifier:  api.NewSecret(verifier),
		Challenge: oauth2.S256ChallengeFromVerifier(verifier),
		State:     api.NewSecret(rand.Text()),
	}
}
