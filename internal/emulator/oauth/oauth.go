// Package oauth emulates the authorization server and its pages.
package oauth

import (
	"html/template"
	"net/http"
	"strings"
	"sync"

	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	signin *signin.Handlers

	oauth oauthState
	pages func() *template.Template
}

// New returns the handlers of a world.
func New(w *world.World, signin *signin.Handlers) *Handlers {
	return &Handlers{w: w, signin: signin, oauth: newOAuthState(w.Options), pages: sync.OnceValue(parsePages)}
}

// Routes returns the endpoints of the authorization server and its pages.
func (h *Handlers) Routes() []*wire.Route {
	const oauth = "/current/oauth/"
	return append([]*wire.Route{
		wire.Get("oauth.ServerMetadata", "/.well-known/oauth-authorization-server/", h.serverMetadata, wire.NoCredential,
			wire.SlashOptional),
		wire.Get("oauth.ProtectedResource", "/.well-known/oauth-protected-resource/", h.protectedResource, wire.NoCredential,
			wire.SlashOptional),
		wire.Post("oauth.Register", oauth+"register/", h.register, wire.NoCredential, wire.SlashOptional,
			wire.Fields(registrationFields)),
		wire.Put("oauth.UpdateRegistration", oauth+"register/", h.updateRegistration, wire.NoCredential, wire.SlashOptional,
			wire.Fields(registrationFields+" client_id")),
		wire.Get("oauth.StartAuthorization", oauth+"authorize/", h.startAuthorization, wire.NoCredential,
			wire.SlashOptional, wire.TakesLock,
			wire.Query("response_type response_format client_id redirect_uri state code_challenge code_challenge_method scope "+
				"access_mode account_settings display_code agent_name resource")),
		wire.Post("oauth.CompleteAuthorization", oauth+"authorize/", h.completeAuthorization, wire.SlashOptional,
			wire.Fields("auth_request_id decision scopes access_mode account_settings")),
		wire.Get("oauth.AuthorizationInfo", oauth+"authorize/info/", h.authorizationInfo, wire.NoCredential,
			wire.SlashOptional,
			wire.Query("auth_request_id")),
		wire.Post("oauth.Token", oauth+"token/", h.answerToken, wire.NoCredential, wire.SlashOptional,
			wire.Fields("grant_type code client_id redirect_uri code_verifier refresh_token resource "+
				"device_code device_name device_type client_secret")),
		wire.Post("oauth.Revoke", oauth+"revoke/", h.revokeToken, wire.NoCredential, wire.SlashOptional,
			wire.Fields("token")),
		wire.Get("oauth.Sessions.List", oauth+"sessions/", wire.RefuseInvalid(h.sessionsList), wire.SlashOptional),
		wire.Delete("oauth.Sessions.RevokeAll", oauth+"sessions/", wire.RequireWriteAccess(h.sessionsRevoke),
			wire.SlashOptional,
			wire.Query("exclude_current current_session_id")),
		wire.Get("oauth.Sessions.Get", oauth+"sessions/{id}/", wire.With(h.ownSession, h.sessionDetails), wire.SlashOptional),
		wire.Patch("oauth.Sessions.Update", oauth+"sessions/{id}/",
			wire.RequireWriteAccess(wire.With(h.ownSession,
				h.sessionUpdate)), wire.SlashOptional, wire.Fields("device_name agent_name scopes")),
		wire.Delete("oauth.Sessions.Revoke", oauth+"sessions/{id}/",
			wire.RequireWriteAccess(wire.With(h.ownSession, h.sessionRevoke)), wire.SlashOptional),
		wire.Get("oauth.TokenScopes", "/current/auth/scopes/", wire.RefuseInvalid(h.tokenScopes), wire.SlashOptional),

		wire.Get(wire.PageArea+".Page", ConnectPath+"/", h.connect, wire.NoCredential, wire.SlashOptional, wire.ChangesState,
			wire.Query("auth_request_id display_code")),
		wire.Post(wire.PageArea+".Submit", ConnectPath+"/", h.connectSubmit, wire.NoCredential, wire.SlashOptional,
			wire.Fields("step proof auth_request_id email password code decision access_mode account_settings choice")),
	}, h.deviceRoutes()...)
}

type oauthState struct {
	clients     map[string]*client        // by client id
	documents   map[string]*document      // fetched metadata, by client id
	requests    map[string]*authorization // that wait for the user, by id
	devices     map[string]*device        // by device code
	codes       map[string]*code          // those used up too: using one again must be seen
	sessions    map[string]*session
	sessionList []string
	refresh     map[string]*refreshToken // those consumed too, for the same reason
	browsers    map[string]*browser      // by cookie
	conflicts   int                      // writes of session scopes still to be lost
}

// newOAuthState returns the state of OAuth without clients and tokens.
func newOAuthState(o world.Options) oauthState {
	return oauthState{
		clients:   map[string]*client{},
		documents: map[string]*document{},
		requests:  map[string]*authorization{},
		devices:   map[string]*device{},
		codes:     map[string]*code{},
		sessions:  map[string]*session{},
		refresh:   map[string]*refreshToken{},
		browsers:  map[string]*browser{},
		conflicts: o.OAuth.ScopeConflicts,
	}
}

// Codes of OAuth. Those from 199001 to 199999 are invented.
const (
	codeClient          = 10571 // measured for invalid input; that it is sent here is assumed
	codeAccountSettings = 117053
	codeAccessMode      = 180242
	codeDisplayCode     = 199201
	codeReservedName    = 199202
	codeScopeWords      = 199203
	codeResource        = 199204
	codeNothingGranted  = 199205
	codeScopeConflict   = 199206
	codeTokenRefused    = 199207
)

// reserved reports whether a client name is reserved. The rule is not published.
func reserved(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return name == "fastio" || name == "fast.io"
}

// serverMetadata returns the metadata of the authorization server (RFC 8414), without the
// envelope of other responses. The device flow and the issuer in responses are options.
func (h *Handlers) serverMetadata(c *wire.Call) (wire.Object, error) {
	origin := wire.Issuer(c.Request)
	endpoint := func(name string) string { return origin + h.w.Prefix() + "/current/oauth/" + name }
	grants := []string{grantCode, grantRefresh}
	if h.w.Options.OAuth.DeviceFlow {
		grants = append(grants, grantDevice)
	}
	body := wire.Object{
		{"issuer", origin},
		{"authorization_endpoint", endpoint("authorize")},
		{"token_endpoint", endpoint("token")},
		{"revocation_endpoint", endpoint("revoke")},
		{"registration_endpoint", endpoint("register")},
		{"response_types_supported", []string{"code"}},
		{"grant_types_supported", grants},
		{"code_challenge_methods_supported", []string{"S256"}},
		{"token_endpoint_auth_methods_supported", []string{"none"}},
		{"scopes_supported", scopeWords()},
		{"access_modes_supported", []string{"r", "rw", "rwa"}},
		{"client_id_metadata_document_supported", true},
		{"resource_indicators_supported", true},
		{"service_documentation", origin + h.w.Prefix() + "/current/llms/"},
	}
	body = body.With(h.w.Options.OAuth.DeviceFlow, "device_authorization_endpoint", endpoint("device_authorization"))
	return c.PlainJSON(http.StatusOK,
		body.With(h.w.Options.OAuth.AnnounceIssuer, "authorization_response_iss_parameter_supported", true))
}

// protectedResource returns the metadata of the platform as a resource (RFC 9728): the
// server is its own authorization server.
func (h *Handlers) protectedResource(c *wire.Call) (wire.Object, error) {
	origin := wire.Issuer(c.Request)
	return c.PlainJSON(http.StatusOK, wire.Object{
		{"result", true},
		{"resource", origin},
		{"authorization_servers", []string{origin}},
		{"bearer_methods_supported", []string{"header"}},
		{"scopes_supported", scopeWords()},
	})
}

func scopeWords() []string {
	return []string{"user", "org", "workspace", "all_orgs", "all_workspaces", "all_shares", "all_sign_envelopes"}
}
