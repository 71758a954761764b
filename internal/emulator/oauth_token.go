package emulator

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"

	invalidGrant     = "invalid_grant"
	invalidTarget    = "invalid_target"
	unsupportedGrant = "unsupported_grant_type"

	accessLife = time.Hour
)

// oauthFailure is a refusal of the token endpoint. The platform publishes neither codes nor statuses: they are those of
// RFC 6749, and of RFC 8707 for resources.
type oauthFailure struct {
	status            int
	code, description string
}

func badRequest(code, description string) *oauthFailure {
	return &oauthFailure{http.StatusBadRequest, code, description}
}

// token answers both grants.
func (s *Server) token(c *call) answer {
	body, f := s.grant(c)
	var a answer
	switch {
	case f == nil:
		a = plainJSON(http.StatusOK, body)
	case s.o.OAuth.EnvelopedTokenErrors:
		return refuse(f.status, codeTokenRefused, f.code+": "+f.description)
	default:
		a = *rfcError(f.status, f.code, f.description)
	}
	if f != nil && f.status == http.StatusUnauthorized {
		scheme, _, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
		a.raw.header.Set("WWW-Authenticate", scheme)
	}
	a.raw.header.Set("Cache-Control", "no-store")
	a.raw.header.Set("Pragma", "no-cache")
	return a
}

func (s *Server) grant(c *call) (object, *oauthFailure) {
	form, f := c.tokenForm()
	if f != nil {
		return nil, f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch form.Get("grant_type") {
	case "":
		return nil, badRequest(invalidRequest, "grant_type is missing.")
	case grantCode:
		return s.exchange(c, form)
	case grantRefresh:
		return s.renew(c, form)
	}
	return nil, badRequest(unsupportedGrant, "The grant types are authorization_code and refresh_token.")
}

// tokenForm reads the parameters. Clients are public: one that proves who it is by a header or a secret is not known.
func (c *call) tokenForm() (url.Values, *oauthFailure) {
	if c.r.Header.Get("Authorization") != "" {
		return nil, &oauthFailure{http.StatusUnauthorized, invalidClient, "Clients are public and name themselves by client_id alone."}
	}
	if !c.readForm() {
		return nil, badRequest(invalidRequest, "The body must be a form.")
	}
	for name, values := range c.form {
		if len(values) > 1 {
			return nil, badRequest(invalidRequest, name+" is repeated.")
		}
	}
	if c.form.Has("client_secret") {
		return nil, badRequest(invalidClient, "Clients are public and have no secret.")
	}
	return c.form, nil
}

func lacks(form url.Values, names ...string) *oauthFailure {
	for _, name := range names {
		if form.Get(name) == "" {
			return badRequest(invalidRequest, name+" is missing.")
		}
	}
	return nil
}

// exchange turns a code into tokens. A refused attempt leaves the code as it is; a second good one ends what the first
// one began, for one of the two was a thief.
func (s *Server) exchange(c *call, form url.Values) (object, *oauthFailure) {
	if f := lacks(form, "code", "client_id", "redirect_uri", "code_verifier"); f != nil {
		return nil, f
	}
	k := s.state.oauth.codes[form.Get("code")]
	if f := s.mayExchange(k, form); f != nil {
		return nil, f
	}
	q := k.request
	k.used = true
	at := &session{
		id: opaque('s', s.o.Seed, s.nextSerial()), userID: k.userID, clientID: q.clientID, clientName: q.clientName,
		deviceName: form.Get("device_name"), deviceType: form.Get("device_type"), agent: q.agent,
		scopes: k.scopes, word: q.scope, resource: q.resource, created: s.now().Unix(),
	}
	k.session = at.id
	s.state.oauth.sessions[at.id] = at
	s.state.oauth.sessionList = append(s.state.oauth.sessionList, at.id)
	s.logIn(at.userID, "oauth")
	return s.issue(c, at, s.newRefreshToken(at)), nil
}

// mayExchange checks a code against what its request said.
func (s *Server) mayExchange(k *code, form url.Values) *oauthFailure {
	verifier := form.Get("code_verifier")
	switch {
	case k == nil:
		return badRequest(invalidGrant, "The code is unknown.")
	case form.Get("client_id") != k.request.clientID:
		return badRequest(invalidGrant, "The code is another client's.")
	case form.Get("redirect_uri") != k.request.redirect:
		return badRequest(invalidGrant, "redirect_uri is not that of the authorization request.")
	case !isVerifier(verifier):
		return badRequest(invalidRequest, "code_verifier is not 43 to 128 unreserved characters.")
	case challengeOf(verifier) != k.request.challenge:
		return badRequest(invalidGrant, "code_verifier does not fit the challenge.")
	case k.used:
		s.state.endSession(k.session)
		return badRequest(invalidGrant, "The code was used before.")
	case past(k.expires, s.now()):
		return badRequest(invalidGrant, "The code has expired.")
	case utf8.RuneCountInString(form.Get("device_name")) > labelLimit, utf8.RuneCountInString(form.Get("device_type")) > labelLimit:
		return badRequest(invalidRequest, "device_name or device_type is longer than 128 characters.")
	}
	return fits(form, k.request.resource)
}

// fits checks the resource of a token request: it names the one that was authorized or none.
func fits(form url.Values, resource string) *oauthFailure {
	if asked := form.Get("resource"); asked != "" && asked != resource {
		return badRequest(invalidTarget, "resource is not the one that was authorized.")
	}
	return nil
}

func isVerifier(s string) bool {
	return len(s) >= 43 && len(s) <= 128 && isToken(s) && !strings.ContainsAny(s, "+/=")
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// refreshToken is one of a session's refresh tokens. Where they rotate a session has had several.
type refreshToken struct {
	session  string
	consumed bool
}

func (s *Server) newRefreshToken(at *session) string {
	token := "rt_" + s.secret()
	s.state.oauth.refresh[token] = &refreshToken{session: at.id}
	return token
}

// renew issues another access token. A refresh token that was consumed before betrays a copy: its session ends.
func (s *Server) renew(c *call, form url.Values) (object, *oauthFailure) {
	if f := lacks(form, "refresh_token", "client_id"); f != nil {
		return nil, f
	}
	token := form.Get("refresh_token")
	k := s.state.oauth.refresh[token]
	if k == nil {
		return nil, badRequest(invalidGrant, "The refresh token is unknown or has ended.")
	}
	at := s.state.oauth.sessions[k.session]
	if form.Get("client_id") != at.clientID {
		return nil, badRequest(invalidGrant, "The refresh token is another client's.")
	}
	if k.consumed {
		s.state.endSession(at.id)
		return nil, badRequest(invalidGrant, "The refresh token was used before.")
	}
	if f := fits(form, at.resource); f != nil {
		return nil, f
	}
	switch {
	case s.o.OAuth.RotateRefreshTokens:
		k.consumed = true
		token = s.newRefreshToken(at)
	case s.o.OAuth.OmitRefreshToken:
		token = ""
	}
	return s.issue(c, at, token), nil
}

// issue makes an access token of a session and the answer that carries it.
func (s *Server) issue(c *call, at *session, refresh string) object {
	now := s.now()
	at.used = now.Unix()
	audience := at.resource
	if audience == "" {
		audience = issuer(c.r)
	}
	access := s.jwt(object{
		{"iss", issuer(c.r)},
		{"sub", at.userID},
		{"aud", audience},
		{"client_id", at.clientID},
		{"sid", at.id},
		{"jti", s.secret()[:32]},
		{"iat", now.Unix()},
		{"exp", now.Add(accessLife).Unix()},
		{"version", "2.0"},
		{"scopes", at.scopes},
		{"agent_name", optional(at.agent)},
	})
	s.state.credentials[access] = &credential{
		Key:  Key{Token: access, User: at.userID, AgentName: at.agent, Scopes: at.scopes, Expires: now.Add(accessLife)},
		kind: accessToken, created: now.Unix(), session: at.id, resource: at.resource,
	}
	body := object{{"access_token", access}, {"token_type", "Bearer"}, {"expires_in", int64(accessLife / time.Second)}}
	if refresh != "" {
		body = append(body, member{"refresh_token", refresh})
	}
	return append(body, member{"scope", at.word}, member{"scopes", s.scopesValue(at.scopes)})
}

// scopesValue is the wire form of granted scopes: a list written as JSON text.
func (s *Server) scopesValue(scopes []string) any {
	switch {
	case s.o.OAuth.LegacyScopes && len(scopes) == 1 && strings.HasPrefix(scopes[0], kindUser+":*:rw"):
		return nil
	case s.o.OAuth.ScopesAsArray:
		return scopes
	}
	text, err := json.Marshal(scopes)
	if err != nil {
		return nil
	}
	return string(text)
}

// revoke ends the session of a refresh token, or a single access token. What it does not know is as good as revoked.
func (s *Server) revoke(c *call) answer {
	c.readForm()
	token := c.form.Get("token")
	if token == "" {
		return *rfcError(http.StatusBadRequest, invalidRequest, "token is missing.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.state.oauth.refresh[token]; k != nil {
		s.state.endSession(k.session)
	}
	if k := s.state.credentials[token]; k != nil && k.kind == accessToken {
		delete(s.state.credentials, token)
	}
	return ok()
}
