package oauth

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// session is a grant to a client and all its tokens.
type session struct {
	id, userID             string
	clientID, clientName   string
	deviceName, deviceType string
	agent                  string
	scopes                 []string
	scope                  string // the one word of the requested scope that is in effect
	resource               string
	created, used          int64
}

// endSession removes a session, and revokes its access and refresh tokens.
func (h *Handlers) endSession(id string) {
	delete(h.oauth.sessions, id)
	h.oauth.sessionList = slices.DeleteFunc(h.oauth.sessionList, func(other string) bool { return other == id })
	maps.DeleteFunc(h.oauth.refresh, func(_ string, k *refreshToken) bool { return k.session == id })
	for k := range h.w.Credentials(ofSession(id)) {
		h.w.DropCredential(k.Token)
	}
}

// ofSession returns a function that reports whether a credential is an access token of
// a session.
func ofSession(id string) func(k *wire.Credential) bool {
	return func(k *wire.Credential) bool { return k.Kind == wire.AccessToken && k.Session == id }
}

// sessionObject renders a session. The documents of the platform show session_id, scopes
// and the members whose names end in _name; the other members are assumed.
func (h *Handlers) sessionObject(sess *session) wire.Object {
	return wire.Object{
		{"session_id", sess.id},
		{"client_id", sess.clientID},
		{"client_name", sess.clientName},
		{"device_name", wire.TextOrNull(sess.deviceName)},
		{"device_type", wire.TextOrNull(sess.deviceType)},
		{"agent_name", wire.TextOrNull(sess.agent)},
		{"scopes", scopesValue(&h.w.Options, sess.scopes)},
		{"created", wire.Stamp(sess.created)},
		{"last_used", wire.Stamp(sess.used)},
	}
}

// sessionsList returns the sessions of the caller.
func (h *Handlers) sessionsList(c *wire.Call) (wire.Object, error) {
	return wire.Object{{"sessions", wire.Rows(h.sessionsOf(c.Key.User), func(id string) wire.Object {
		return h.sessionObject(h.oauth.sessions[id])
	})}}, nil
}

// sessionsOf returns the IDs of the sessions of a user.
func (h *Handlers) sessionsOf(userID string) []string {
	return slices.DeleteFunc(slices.Clone(h.oauth.sessionList), func(id string) bool {
		return h.oauth.sessions[id].userID != userID
	})
}

// ownSession returns the session in the path. A session of another user is refused as
// missing.
func (h *Handlers) ownSession(c *wire.Call) (*session, error) {
	sess := h.oauth.sessions[c.Segment("id")]
	if sess == nil || sess.userID != c.Key.User {
		return nil, wire.Refuse(http.StatusNotFound, wire.CodeNotFound, "There is no such session.")
	}
	return sess, nil
}

// sessionDetails returns a session.
func (h *Handlers) sessionDetails(c *wire.Call, sess *session) (wire.Object, error) {
	return wire.Object{{"session", h.sessionObject(sess)}}, nil
}

// sessionUpdate changes the names or narrows the scopes of a session. If one of them is
// not valid, it changes nothing.
func (h *Handlers) sessionUpdate(c *wire.Call, sess *session) (wire.Object, error) {
	_ = c.ReadForm() // a body of another type has no fields
	changed := *sess
	renameSession(c, &changed, c.Form)
	if c.Form.Has("scopes") {
		changed.scopes = signin.ReadScopes(c, "scopes", c.Form.Get("scopes"))
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if c.Form.Has("scopes") {
		if err := h.narrowScopes(c, sess, changed.scopes); err != nil {
			return nil, err
		}
	}
	*sess = changed
	return h.sessionDetails(c, sess)
}

// renameSession sets the names of a session to those that the form has. An empty
// value clears a name. A form with none of the names, and no scopes, is refused.
func renameSession(c *wire.Call, sess *session, form url.Values) {
	set := func(name string, field *string) {
		if !form.Has(name) {
			return
		}
		*field = strings.TrimSpace(form.Get(name))
		if utf8.RuneCountInString(*field) > wire.LabelLimit || reserved(*field) {
			c.Check.Add(name, "invalid", "At most 128 characters, and no reserved name.", signin.CodeLabel)
		}
	}
	set("device_name", &sess.deviceName)
	set("agent_name", &sess.agent)
	c.Check.MissingIf(!form.Has("device_name") && !form.Has("agent_name") && !form.Has("scopes"),
		"device_name", "Send device_name, agent_name or scopes.")
}

// narrowScopes replaces the scopes of all access tokens of a session at once. It refuses
// scopes that exceed those of the session and, by an option, the first calls, as if the
// scopes had changed meanwhile.
func (h *Handlers) narrowScopes(c *wire.Call, sess *session, scopes []string) error {
	if h.signin.Exceeds(&wire.Credential{Key: world.Key{User: sess.userID, Scopes: sess.scopes}}, scopes) {
		return wire.RefuseWithReason(http.StatusForbidden, signin.CodeExceeds, "scope_exceeds_issuer",
			"A session can only be narrowed.",
			wire.Member{"credential_type", c.Key.TypeName()})
	}
	if h.oauth.conflicts > 0 {
		h.oauth.conflicts--
		return wire.Refuse(http.StatusConflict, codeScopeConflict, "The scopes have changed. Read them again.")
	}
	for k := range h.w.Credentials(ofSession(sess.id)) {
		narrowed := *k
		narrowed.Scopes = scopes
		h.w.KeepCredential(&narrowed)
	}
	return nil
}

// sessionRevoke ends a session.
func (h *Handlers) sessionRevoke(_ *wire.Call, sess *session) (wire.Object, error) {
	h.endSession(sess.id)
	return nil, nil
}

// sessionsRevoke ends all sessions of the caller or, with exclude_current, all but one:
// the session that the query names, or that of the credential. It refuses the name of a
// session that the caller does not have.
func (h *Handlers) sessionsRevoke(c *wire.Call) (wire.Object, error) {
	keep := ""
	if c.Boolean("exclude_current") {
		keep = cmp.Or(c.Value("current_session_id"), c.Key.Session)
		sess := h.oauth.sessions[keep]
		switch {
		case keep == "":
			c.Check.Missing("current_session_id", "Name the session to keep.")
		case sess == nil || sess.userID != c.Key.User:
			c.Check.Invalid("current_session_id", "Not a session of yours.")
		}
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	for _, id := range h.sessionsOf(c.Key.User) {
		if id != keep {
			h.endSession(id)
		}
	}
	return nil, nil
}

// tokenScopes returns what the credential of the call grants: without scopes, it is the
// whole account. Of the values of access_mode in scopes_detail, only rwa (admin) is
// documented; r and rw are assumed.
func (h *Handlers) tokenScopes(c *wire.Call) (wire.Object, error) {
	scopes := c.Key.Scopes
	if len(scopes) == 0 {
		scopes = []string{wire.KindUser + ":*:" + wire.Admin.String()}
	}
	highest, isWholeAccount := wire.NoAccess, false
	rows := []wire.Object{}
	for _, scope := range scopes {
		entity, id, access := wire.SplitScope(scope)
		highest = max(highest, wire.ParseMode(access))
		isWholeAccount = isWholeAccount || entity == wire.KindUser && id == "*"
		rows = append(rows, wire.Object{{"entity_type", entity}, {"entity_id", entityID(id)}, {"access_mode", access}})
	}
	return wire.Object{
		{"auth_type", c.Key.TypeName()},
		{"scopes", scopes},
		{"scopes_detail", rows},
		{"admin", highest == wire.Admin},
		{"is_agent", h.w.User(c.Key.User).Value.AccountType == "agent" || c.Key.AgentName != ""},
		{"full_access", isWholeAccount},
	}, nil
}

// entityID returns an ID as a number if it is one, and otherwise, such as "*", as a text.
func entityID(id string) any {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return id
	}
	return n
}

const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"

	invalidGrant     = "invalid_grant"
	invalidTarget    = "invalid_target"
	unsupportedGrant = "unsupported_grant_type"

	accessLife = time.Hour
)

// badRequest returns a refusal of the token endpoint, with a code of RFC 6749 or, for
// resources, of RFC 8707.
func badRequest(code, description string) error {
	return wire.RFCError(http.StatusBadRequest, code, description)
}

// answerToken responds to a token request, with the headers that OAuth requires. Errors
// have the form of the OAuth RFCs or, by an option, that of the platform.
func (h *Handlers) answerToken(c *wire.Call) (wire.Object, error) {
	body, err := h.tokensForGrant(c)
	out := wire.PlainJSON(http.StatusOK, body)
	if err != nil {
		refusal := wire.RefusalOf(err)
		if h.w.Options.OAuth.EnvelopedTokenErrors {
			return nil, wire.Refuse(refusal.Status, codeTokenRefused, refusal.Text)
		}
		out = refusal.Reply
	}
	if out.Status == http.StatusUnauthorized { // RFC 6749 requires the scheme that the client has used
		scheme, _, _ := strings.Cut(c.Request.Header.Get("Authorization"), " ")
		out.Header.Set("WWW-Authenticate", scheme)
	}
	out.Header.Set("Cache-Control", "no-store")
	out.Header.Set("Pragma", "no-cache")
	return c.Send(out)
}

// tokensForGrant returns the tokens for a request, which names the type of its grant: a
// code, a refresh token or a device.
func (h *Handlers) tokensForGrant(c *wire.Call) (wire.Object, error) {
	form, err := tokenForm(c)
	if err != nil {
		return nil, err
	}
	switch form.Get("grant_type") {
	case "":
		return nil, badRequest(invalidRequest, "grant_type is missing.")
	case grantCode:
		return h.exchangeCode(c, form)
	case grantRefresh:
		return h.refreshToken(c, form)
	case grantDevice:
		if h.w.Options.OAuth.DeviceFlow { // otherwise the grant is not known
			return h.pollDevice(c, form)
		}
	}
	return nil, badRequest(unsupportedGrant, "The grant types are authorization_code and refresh_token.")
}

// tokenForm returns the parameters of a token request. It refuses a client that
// authenticates, because all clients are public.
func tokenForm(c *wire.Call) (url.Values, error) {
	if c.Request.Header.Get("Authorization") != "" {
		return nil, wire.RFCError(http.StatusUnauthorized, invalidClient,
			"Clients are public and name themselves by client_id alone.")
	}
	if err := c.ReadForm(); err != nil {
		return nil, badRequest(invalidRequest, "The body must be a form.")
	}
	for name, values := range c.Form {
		if len(values) > 1 {
			return nil, badRequest(invalidRequest, name+" is repeated.")
		}
	}
	if c.Form.Has("client_secret") {
		return nil, badRequest(invalidClient, "Clients are public and have no secret.")
	}
	return c.Form, nil
}

// requireFields returns a refusal if a form lacks one of the fields.
func requireFields(form url.Values, names ...string) error {
	for _, name := range names {
		if form.Get(name) == "" {
			return badRequest(invalidRequest, name+" is missing.")
		}
	}
	return nil
}

// exchangeCode exchanges a code for tokens. A rejected attempt does not use up the code.
func (h *Handlers) exchangeCode(c *wire.Call, form url.Values) (wire.Object, error) {
	if err := requireFields(form, "code", "client_id", "redirect_uri", "code_verifier"); err != nil {
		return nil, err
	}
	k := h.oauth.codes[form.Get("code")]
	if err := h.refuseExchange(k, form); err != nil {
		return nil, err
	}
	sess := h.openSession(form, k)
	return h.issueTokens(c, sess, h.newRefreshToken(sess)), nil
}

// openSession starts the session of an authorization code, which is then used up.
func (h *Handlers) openSession(form url.Values, k *code) *session {
	q := k.request
	k.used = true
	sess := &session{ // the letter s of its id is assumed
		id: world.Opaque('s', h.w.Options.Seed, h.w.NextSerial()), userID: k.userID, clientID: q.clientID,
		clientName: q.clientName,
		deviceName: form.Get("device_name"), deviceType: form.Get("device_type"), agent: q.agent,
		scopes: k.scopes, scope: q.scope, resource: q.resource, created: h.w.Now().Unix(),
	}
	k.session = sess.id
	h.oauth.sessions[sess.id] = sess
	h.oauth.sessionList = append(h.oauth.sessionList, sess.id)
	h.signin.RecordLogin(sess.userID, "oauth")
	return sess
}

// refuseExchange returns a refusal if a code cannot be exchanged. If the code was used
// before, and the verifier is right, it ends the session of the code, because the code was
// stolen. A closed account has no codes.
func (h *Handlers) refuseExchange(k *code, form url.Values) error {
	verifier := form.Get("code_verifier")
	switch {
	case k == nil, !h.w.Enabled(k.userID):
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
		h.endSession(k.session)
		return badRequest(invalidGrant, "The code was used before.")
	case wire.Past(k.expires, h.w.Now()):
		return badRequest(invalidGrant, "The code has expired.")
	case utf8.RuneCountInString(form.Get("device_name")) > wire.LabelLimit,
		utf8.RuneCountInString(form.Get("device_type")) > wire.LabelLimit:
		return badRequest(invalidRequest, "device_name or device_type is longer than 128 characters.")
	}
	return checkResource(form, k.request.resource)
}

// checkResource returns a refusal if a token request names another resource than the one
// that was authorized. A request may leave it out.
func checkResource(form url.Values, resource string) error {
	if asked := form.Get("resource"); asked != "" && asked != resource {
		return badRequest(invalidTarget, "resource is not the one that was authorized.")
	}
	return nil
}

// isVerifier reports whether a text has the form of a PKCE verifier.
func isVerifier(s string) bool {
	return len(s) >= 43 && len(s) <= 128 && wire.IsToken(s) && !strings.ContainsAny(s, "+/=")
}

// challengeOf returns the PKCE challenge of a verifier.
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// refreshToken is a refresh token of a session, which has several if they rotate.
type refreshToken struct {
	session  string
	consumed bool
}

// newRefreshToken adds a refresh token to a session.
func (h *Handlers) newRefreshToken(sess *session) string {
	token := "rt_" + h.w.Secret()
	h.oauth.refresh[token] = &refreshToken{session: sess.id}
	return token
}

// refreshToken issues an access token for a refresh token, which stays valid. If
// refresh tokens rotate, by an option, it issues a new one as well, and a second use of
// the old one ends the session: it could be that of a thief. A closed account has no tokens.
func (h *Handlers) refreshToken(c *wire.Call, form url.Values) (wire.Object, error) {
	if err := requireFields(form, "refresh_token", "client_id"); err != nil {
		return nil, err
	}
	token := form.Get("refresh_token")
	old := h.oauth.refresh[token]
	if old == nil || !h.w.Enabled(h.oauth.sessions[old.session].userID) {
		return nil, badRequest(invalidGrant, "The refresh token is unknown or has ended.")
	}
	session := h.oauth.sessions[old.session]
	if form.Get("client_id") != session.clientID {
		return nil, badRequest(invalidGrant, "The refresh token is another client's.")
	}
	if old.consumed {
		h.endSession(session.id)
		return nil, badRequest(invalidGrant, "The refresh token was used before.")
	}
	if err := checkResource(form, session.resource); err != nil {
		return nil, err
	}
	switch {
	case h.w.Options.OAuth.RotateRefreshTokens:
		old.consumed = true
		token = h.newRefreshToken(session)
	case h.w.Options.OAuth.OmitRefreshToken:
		token = "" // the response has none: the client keeps the one that it has
	}
	return h.issueTokens(c, session, token), nil
}

// issueTokens returns the response with a new access token of a session and the refresh
// token, which is left out if it is "". The access token is for the resource of the
// session, by default this server.
func (h *Handlers) issueTokens(c *wire.Call, sess *session, refresh string) wire.Object {
	now := h.w.Now()
	sess.used = now.Unix()
	audience := cmp.Or(sess.resource, wire.Issuer(c.Request))
	access := h.w.JWT(wire.Object{
		{"iss", wire.Issuer(c.Request)},
		{"sub", sess.userID},
		{"aud", audience},
		{"client_id", sess.clientID},
		{"sid", sess.id},
		{"jti", h.w.Secret()[:32]},
		{"iat", now.Unix()},
		{"exp", now.Add(accessLife).Unix()},
		{"version", "2.0"},
		{"scopes", sess.scopes},
		{"agent_name", wire.TextOrNull(sess.agent)},
	})
	h.w.KeepCredential(&wire.Credential{
		Key: world.Key{
			Token: access, User: sess.userID, AgentName: sess.agent, Scopes: sess.scopes,
			Expires: now.Add(accessLife),
		},
		Kind: wire.AccessToken, Created: now.Unix(), Session: sess.id, Resource: sess.resource,
	})
	body := wire.Object{
		{"access_token", access}, {"token_type", "Bearer"}, {"expires_in", int64(accessLife / time.Second)},
	}
	return append(body.With(refresh != "", "refresh_token", refresh),
		wire.Member{"scope", sess.scope}, wire.Member{"scopes", scopesValue(&h.w.Options, sess.scopes)})
}

// scopesValue returns granted scopes as JSON text or, by the option ScopesAsArray, as a
// list. By the option LegacyScopes, it returns nil for the whole account, as older servers do.
func scopesValue(o *world.Options, scopes []string) any {
	switch {
	case o.OAuth.LegacyScopes && len(scopes) == 1 && strings.HasPrefix(scopes[0], wire.KindUser+":*:rw"):
		return nil
	case o.OAuth.ScopesAsArray:
		return scopes
	}
	text, err := json.Marshal(scopes)
	if err != nil {
		return nil
	}
	return string(text)
}

// revokeToken ends the session of a refresh token, or revokes an access token. It also
// succeeds if the token is unknown.
func (h *Handlers) revokeToken(c *wire.Call) (wire.Object, error) {
	_ = c.ReadForm() // a body of another type has no fields
	token := c.Form.Get("token")
	if token == "" {
		return nil, wire.RFCError(http.StatusBadRequest, invalidRequest, "token is missing.")
	}
	if k := h.oauth.refresh[token]; k != nil {
		h.endSession(k.session)
	}
	if k := h.w.Credential(token); k != nil && k.Kind == wire.AccessToken {
		h.w.DropCredential(token)
	}
	return nil, nil
}
