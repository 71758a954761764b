package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"strings"

	"golang.org/x/oauth2"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// AuthorizationRequest requests the consent of a user.
type AuthorizationRequest struct {
	ClientID    string // of [Service.Register], or the https URL of a [ClientMetadata]
	RedirectURI string // a registered one; on 127.0.0.1 with any port
	PKCE        PKCE   // of [NewPKCE]; the Verifier is not sent

	Scopes          []Scope    `wire:"scope"` // default [ScopeUser]; of several the server uses the broadest
	AccessMode      AccessMode // maximum to grant; "" leaves it to consent, up to [AccessModeWrite]
	AccountSettings bool       // also request the settings of the account
	Resource        string     // absolute URL of the audience of the token (RFC 8707); "" for none
	AgentName       string     // shown at consent and in the event log; cut to 128 characters, "" for none
	DisplayCode     bool       // display the code instead of redirecting

	// Parameters are others: each once and none of the protocol. No document of the platform
	// names one; other servers know those of OpenID Connect, such as login_hint and prompt.
	Parameters url.Values
}

// Authorization is a pending request for consent. It is valid for ten minutes.
type Authorization struct {
	ID         string `json:"auth_request_id"`
	ClientName string `json:"client_name"`
	Scope      Scope  `json:"scope"`      // the effective one
	AgentName  string `json:"agent_name"` // "" if none was sent
	LoginURL   string `json:"login_url"`  // to be opened unchanged in the browser of the user
}

// StartAuthorization starts an authorization. The answer of the user is sent to the
// redirect URI with the State of the [PKCE]. It is not idempotent, so it is retried
// only if it was not processed.
//
// Errors: [api.ErrInvalid], also for a reserved AgentName (status 406).
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
	a, err := call.Payload[Authorization](ctx, s.c, endpoint.OAuthStartAuthorization(q), opts)
	if err != nil {
		return nil, asError(err)
	}
	if a.LoginURL == "" { // of a server without a browser sign-in
		return nil, errors.New("fastio: " + op + ": the response holds no login URL")
	}
	return a, nil
}

// query returns the request as query parameters, or an error for one that the
// server would refuse.
func (r AuthorizationRequest) query(op string) (url.Values, error) {
	q := url.Values{"response_type": {"code"}, "code_challenge_method": {"S256"}}
	args := input.Fields[AuthorizationRequest](op)
	err := setRequired(args, q, param{"client_id", r.ClientID}, param{"redirect_uri", r.RedirectURI})
	if err == nil && r.PKCE.State.IsZero() {
		err = args.Refuse("PKCE.state", "must be given", "")
	}
	if err := cmp.Or(err, checkChallenge(args, r.PKCE.Challenge), r.addAccess(args, q)); err != nil {
		return nil, err
	}
	q.Set("state", r.PKCE.State.Reveal())
	q.Set("code_challenge", r.PKCE.Challenge)
	if r.DisplayCode {
		q.Set("display_code", "true")
	}
	return q, nil
}

// addAccess checks the requested scopes, access mode, resource and further parameters,
// and adds them to the parameters q.
func (r AuthorizationRequest) addAccess(args input.Args, q url.Values) error {
	scope, err := joinScopes(args, r.Scopes)
	if err := cmp.Or(
		err, checkAccessMode(args, r.AccessMode), checkResource(args, r.Resource), checkParameters(args, r.Parameters),
	); err != nil {
		return err
	}
	maps.Copy(q, r.Parameters)
	setGiven(
		q, param{"scope", scope}, param{"access_mode", string(r.AccessMode)},
		param{"resource", r.Resource}, param{"agent_name", strings.TrimSpace(r.AgentName)},
	)
	if r.AccountSettings {
		q.Set("account_settings", "1")
	}
	return nil
}

// AuthorizationInfo describes an authorization for a consent screen.
type AuthorizationInfo struct {
	ID              string     `json:"auth_request_id"`  // (assumed name)
	ClientID        string     `json:"client_id"`        // (assumed name)
	ClientName      string     `json:"client_name"`      // (assumed name)
	Scope           Scope      `json:"scope"`            // (assumed name)
	AccessMode      AccessMode `json:"access_mode"`      // "" if the program named none (assumed name)
	AccountSettings bool       `json:"account_settings"` // (assumed name)
	AgentName       string     `json:"agent_name"`       // "" if the program sent none (assumed name)
	Resource        string     `json:"resource"`         // "" if the program named none (assumed name)
	RedirectMode    string     `json:"redirect_mode"`    // "display_code" if the code is displayed to the user
	ExpiresIn       int64      `json:"expires_in"`       // seconds; 0 if the server does not say (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// AuthorizationInfo returns what an authorization requests, by the ID of
// [Service.StartAuthorization]. It is for consent screens.
// Errors: [api.ErrNotFound] after ten minutes or if it was already answered.
//
// It calls GET /current/oauth/authorize/info/.
func (s *Service) AuthorizationInfo(
	ctx context.Context, id string, opts ...api.CallOption,
) (*AuthorizationInfo, error) {
	query, args := url.Values{}, input.Parameters("oauth.AuthorizationInfo", "auth_request_id", "id")
	// No document of the platform shows the name of the parameter.
	if err := setRequired(args, query, param{"auth_request_id", id}); err != nil { // (assumed name)
		return nil, err
	}
	return call.Payload[AuthorizationInfo](ctx, s.c, endpoint.OAuthAuthorizationInfo(query), opts)
}

// CompleteAuthorizationRequest is the answer of a user to an authorization.
type CompleteAuthorizationRequest struct {
	ID   string `wire:"auth_request_id"` // of [Service.StartAuthorization]
	Deny bool   // deny access; the fields below are then ignored

	Scopes          []GrantedScope // scopes to grant; nil means all that were requested
	AccessMode      AccessMode     // maximum to grant; "" means the requested one
	AccountSettings bool           // grant the settings of the account, if requested
}

// CompletedAuthorization holds the authorization code: either in a redirect URI or
// as a code to display. Both are secrets.
type CompletedAuthorization struct {
	RedirectURI api.Secret `json:"redirect_uri"` // where to send the browser (assumed name)
	Code        api.Secret `json:"code"`         // to display, if the program requested that (assumed name)
}

// CompleteAuthorization sends the answer of the user to the question for consent. The
// client must have a token of that user from a sign-in with a password: neither one of
// OAuth nor an API key. The call is retried only if it was not processed.
//
// It calls POST /current/oauth/authorize/.
func (s *Service) CompleteAuthorization(
	ctx context.Context, r CompleteAuthorizationRequest, opts ...api.CallOption,
) (*CompletedAuthorization, error) {
	args := input.Fields[CompleteAuthorizationRequest]("oauth.CompleteAuthorization")
	decision := "approve"
	if r.Deny {
		decision = "deny"
	}
	// No document of the platform shows the names of these fields.
	form := api.Form{"decision": {decision}}                       // (assumed name)
	err := setRequired(args, form, param{"auth_request_id", r.ID}) // (assumed name)
	if !r.Deny {
		setGiven(form, param{"access_mode", string(r.AccessMode)}) // (assumed name)
		if r.AccountSettings {
			form["account_settings"] = []string{"1"} // (assumed name)
		}
		err = cmp.Or(err, checkAccessMode(args, r.AccessMode), setScopes(args, form, r.Scopes)) // sets "scopes" (assumed name)
	}
	if err != nil {
		return nil, err
	}
	a, err := call.Payload[CompletedAuthorization](ctx, s.c, endpoint.OAuthCompleteAuthorization(form), opts)
	if err != nil {
		return nil, asError(err)
	}
	if a.RedirectURI.IsZero() && a.Code.IsZero() && !r.Deny { // a displayed denial has no redirect
		return nil, errors.New("fastio: " + args.Op + ": the response holds neither a redirect URI nor a code")
	}
	return a, nil
}

// PKCE binds an authorization to the program that requested it (RFC 7636). Use a
// new one for each authorization.
type PKCE struct {
	Verifier  api.Secret // sent only with the exchange of the code
	Challenge string     `wire:"code_challenge"` // sent with the authorization request
	State     api.Secret // returned with the code
}

// NewPKCE returns random values: 256 bits for the verifier, 128 for the state.
func NewPKCE() PKCE {
	verifier := oauth2.GenerateVerifier()
	return PKCE{
		Verifier:  api.NewSecret(verifier),
		Challenge: oauth2.S256ChallengeFromVerifier(verifier),
		State:     api.NewSecret(rand.Text()),
	}
}
