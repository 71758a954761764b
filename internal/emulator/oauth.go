package emulator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
)

// pageArea is the area of the pages a browser sees; they are no part of the API.
const pageArea = "connect"

// oauthRoutes are the endpoints of the authorization server and its pages.
func (s *Server) oauthRoutes() []*route {
	const get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	const oauth = "/current/oauth/"
	return []*route{
		{op: "oauth.ServerMetadata", method: get, pattern: "/.well-known/oauth-authorization-server/", open: true, bare: true, handle: s.serverMetadata},
		{op: "oauth.ProtectedResource", method: get, pattern: "/.well-known/oauth-protected-resource/", open: true, bare: true, handle: s.protectedResource},
		{op: "oauth.Register", method: post, pattern: oauth + "register/", open: true, bare: true, fields: registrationFields, handle: s.register},
		{op: "oauth.UpdateRegistration", method: put, pattern: oauth + "register/", open: true, bare: true, fields: registrationFields + " client_id", handle: s.updateRegistration},
		{op: "oauth.StartAuthorization", method: get, pattern: oauth + "authorize/", open: true, bare: true, query: "response_type response_format client_id redirect_uri state code_challenge code_challenge_method scope access_mode account_settings display_code agent_name resource", handle: s.startAuthorization},
		{op: "oauth.CompleteAuthorization", method: post, pattern: oauth + "authorize/", bare: true, fields: "auth_request_id decision scopes access_mode account_settings", handle: s.completeAuthorization},
		{op: "oauth.AuthorizationInfo", method: get, pattern: oauth + "authorize/info/", open: true, bare: true, query: "auth_request_id", handle: s.authorizationInfo},
		{op: "oauth.Token", method: post, pattern: oauth + "token/", open: true, bare: true, fields: "grant_type code client_id redirect_uri code_verifier refresh_token resource device_name device_type client_secret", handle: s.token},
		{op: "oauth.Revoke", method: post, pattern: oauth + "revoke/", open: true, bare: true, fields: "token", handle: s.revoke},
		{op: "oauth.Sessions.List", method: get, pattern: oauth + "sessions/", bare: true, handle: s.sessionsList},
		{op: "oauth.Sessions.RevokeAll", method: del, pattern: oauth + "sessions/", bare: true, query: "exclude_current current_session_id", handle: s.sessionsRevoke},
		{op: "oauth.Sessions.Get", method: get, pattern: oauth + "sessions/{id}/", bare: true, handle: s.sessionDetails},
		{op: "oauth.Sessions.Update", method: patch, pattern: oauth + "sessions/{id}/", bare: true, fields: "device_name agent_name scopes", handle: s.sessionUpdate},
		{op: "oauth.Sessions.Revoke", method: del, pattern: oauth + "sessions/{id}/", bare: true, handle: s.sessionRevoke},
		{op: "oauth.TokenScopes", method: get, pattern: "/current/auth/scopes/", bare: true, handle: s.tokenScopes},

		{op: pageArea + ".Page", method: get, pattern: connectPath + "/", open: true, bare: true, query: "auth_request_id display_code", handle: s.connect},
		{op: pageArea + ".Submit", method: post, pattern: connectPath + "/", open: true, bare: true, fields: "step proof auth_request_id email password code decision access_mode account_settings choice", handle: s.connectSubmit},
	}
}

// oauthState is what the authorization server remembers.
type oauthState struct {
	clients     map[string]*client        // by client id
	documents   map[string]*document      // fetched metadata, by client id
	requests    map[string]*authorization // that wait for the user, by id
	codes       map[string]*code          // those used up too: using one again must be seen
	sessions    map[string]*session
	sessionList []string
	refresh     map[string]*refreshToken // those consumed too, for the same reason
	browsers    map[string]*browser      // by cookie
	conflicts   int                      // writes of session scopes still to be lost
}

func newOAuthState(o Options) oauthState {
	return oauthState{
		clients:   map[string]*client{},
		documents: map[string]*document{},
		requests:  map[string]*authorization{},
		codes:     map[string]*code{},
		sessions:  map[string]*session{},
		refresh:   map[string]*refreshToken{},
		browsers:  map[string]*browser{},
		conflicts: o.OAuth.ScopeConflicts,
	}
}

// Codes that the platform publishes for OAuth, and, from 199201 on, the emulator's own where it is silent.
const (
	codeInput           = 1605
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

// reserved tells the names that only the platform itself goes by. The published rules do not list them.
func reserved(name string) bool {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "fastio", "fast.io":
		return true
	}
	return false
}

// issuer is the origin a request was sent to. What a proxy says about its own side is not asked.
func issuer(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// meant tells whether a token was issued for this server: for its origin or its API, or for no resource in particular.
func (s *Server) meant(k *credential, r *http.Request) bool {
	here := issuer(r)
	switch strings.TrimSuffix(k.resource, "/") {
	case "", here, here + s.prefix(), here + s.prefix() + "/current":
		return true
	}
	return false
}

// secret makes a value of 64 hex digits that no one guesses from the ones before. It wants the lock.
func (s *Server) secret() string {
	return hex.EncodeToString(s.sign(fmt.Sprintf("secret %d", s.nextSerial())))
}

// nextSerial counts the things made so far. It wants the lock.
func (s *Server) nextSerial() uint64 {
	s.state.serials++
	return s.state.serials
}

// sign authenticates a text with a key of this server's own.
func (s *Server) sign(text string) []byte {
	mac := hmac.New(sha256.New, fmt.Appendf(nil, "emulator %d", s.o.Seed))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// jwt is a signed token in the compact form.
func (s *Server) jwt(claims object) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(appendValue(nil, claims, false))
	return text + "." + encode(s.sign(text))
}

const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

func mediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// plainJSON is an answer without the envelope.
func plainJSON(status int, body object) answer {
	header := http.Header{}
	header.Set("Content-Type", jsonType)
	return answer{raw: &reply{status: status, header: header, body: appendValue(nil, body, false)}}
}

// rfcError is a failure in the bare form of the OAuth standards.
func rfcError(status int, code, description string) *answer {
	return new(plainJSON(status, object{{"error", code}, {"error_description", description}}))
}

// past tells whether a moment has come.
func past(moment, now time.Time) bool { return !now.Before(moment) }

// seconds is the time left until a moment.
func seconds(moment, now time.Time) int64 { return int64(moment.Sub(now) / time.Second) }
