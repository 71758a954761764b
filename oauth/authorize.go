package oauth

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// AuthorizationRequest asks for a person's consent.
type AuthorizationRequest struct {
	ClientID    string // of [Service.Register], or the https URL of a [ClientMetadata]
	RedirectURI string // a registered one; on 127.0.0.1 any port will do
	PKCE        PKCE   // of [NewPKCE]; the Verifier stays here

	Scopes          []Scope    // none is [ScopeUser]; of several the server takes the broadest
	AccessMode      AccessMode // the most that may be granted; "" leaves it to consent, up to [AccessModeWrite]
	AccountSettings bool       // ask for the settings of the account too
	Resource        string     // an absolute URL that names who will read the token (RFC 8707); "" for no one in particular
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
// [api.ErrInvalid].
//
// It calls GET /current/oauth/authorize/.
func (s *Service) StartAuthorization(ctx context.Context, r AuthorizationRequest, opts ...api.CallOption) (*Authorization, error) {
	const op = "oauth.StartAuthorization"
	q, err := r.query(op)
	if err != nil {
		return nil, err
	}
	q.Set("response_format", "json")
	a, err := call.Do[Authorization](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/oauth/authorize/"), Query: q,
		Auth: api.AuthNone, Replay: api.ReplayOnce,
	}, opts)
	return a, asError(err)
}

// query returns the parameters, or which of them the server would refuse.
func (r *AuthorizationRequest) query(op string) (url.Values, error) {
	q := url.Values{"response_type": {"code"}, "code_challenge_method": {"S256"}}
	for _, p := range []struct{ name, value string }{
		{"client_id", r.ClientID}, {"redirect_uri", r.RedirectURI}, {"state", string(r.PKCE.State)},
	} {
		if p.value == "" {
			return nil, &api.InputError{Op: op, Field: p.name, Rule: "must be given"}
		}
		q.Set(p.name, p.value)
	}
	if err := checkChallenge(op, r.PKCE.Challenge); err != nil {
		return nil, err
	}
	q.Set("code_challenge", r.PKCE.Challenge)
	scope, err := joinScopes(op, r.Scopes)
	if err != nil {
		return nil, err
	}
	if err := checkAccessMode(op, r.AccessMode); err != nil {
		return nil, err
	}
	if err := checkResource(op, r.Resource); err != nil {
		return nil, err
	}
	for _, p := range []struct{ name, value string }{
		{"scope", scope},
		{"access_mode", string(r.AccessMode)},
		{"resource", r.Resource},
		{"agent_name", strings.TrimSpace(r.AgentName)},
	} {
		if p.value != "" {
			q.Set(p.name, p.value)
		}
	}
	if r.AccountSettings {
		q.Set("account_settings", "1")
	}
	if r.DisplayCode {
		q.Set("display_code", "true")
	}
	return q, nil
}
