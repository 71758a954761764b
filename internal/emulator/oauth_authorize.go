package emulator

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	requestLife  = 10 * time.Minute
	exchangeLife = 5 * time.Minute
)

// authorization is a client's request that waits for the user.
type authorization struct {
	id         string
	clientID   string
	clientName string
	redirect   string
	state      string
	challenge  string
	sent       string // scope as it is reported
	scope      string // the one word that counts
	mode       mode   // ceiling; noAccess when none was named
	account    bool   // account settings may be granted
	resource   string
	agent      string
	display    bool // shows the code instead of redirecting
	issuer     string
	expires    time.Time
}

// ceiling is the most that consent may grant.
func (q *authorization) ceiling() mode {
	if q.mode == noAccess {
		return write
	}
	return q.mode
}

// startAuthorization keeps a client's request and sends the browser to the sign-in page.
func (s *Server) startAuthorization(c *call) answer {
	q := c.authorization()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	client, err := s.findClient(c.r.Context(), q.clientID)
	switch {
	case err != nil:
		c.check.add("client_id", "invalid", err.Error(), codeInput)
	case !client.allows(q.redirect):
		c.check.add("redirect_uri", "invalid", "Not one of the client's redirect URIs.", codeInput)
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	q.clientName, q.issuer = client.Name, issuer(c.r)
	s.mu.Lock()
	defer s.mu.Unlock()
	q.id, q.expires = s.secret(), s.now().Add(requestLife)
	s.state.oauth.requests[q.id] = q
	if c.value("response_format") != "json" {
		return redirectTo(http.StatusFound, q.loginURL())
	}
	payload := object{{"auth_request_id", q.id}, {"client_name", q.clientName}, {"scope", q.sent}}
	if q.agent != "" {
		payload = append(payload, member{"agent_name", q.agent})
	}
	return ok(append(payload, member{"login_url", q.loginURL()})...)
}

// redirectTo sends a browser elsewhere.
func redirectTo(status int, target string) answer {
	header := pageHeader()
	header.Set("Location", target)
	return answer{raw: &reply{status: status, header: header}}
}

func (q *authorization) loginURL() string {
	login := q.issuer + connectPath + "?auth_request_id=" + q.id
	if q.display {
		login += "&display_code=true"
	}
	return login
}

// authorization reads the parameters of a request.
func (c *call) authorization() *authorization {
	q := &authorization{
		clientID: c.value("client_id"), redirect: c.value("redirect_uri"), state: c.value("state"),
		challenge: c.value("code_challenge"), resource: c.value("resource"),
	}
	if q.clientID == "" {
		c.check.add("client_id", "missing", "Name the client.", codeInput)
	}
	if q.redirect == "" {
		c.check.missing("redirect_uri", "Name a redirect URI of the client.")
	}
	if q.state == "" {
		c.check.missing("state", "Send a state.")
	}
	c.checkChallenge(q.challenge)
	q.sent, q.scope = resolveScope(c.value("scope"))
	if q.scope == "" {
		c.check.add("scope", "invalid", "invalid_scope: none of the scopes is known.", codeScopeWords)
	}
	if text := c.value("access_mode"); text != "" {
		if q.mode = parseMode(text); q.mode == noAccess {
			c.check.add("access_mode", "invalid", "One of r, rw and rwa.", codeAccessMode)
		}
	}
	switch c.value("account_settings") {
	case "", "0":
	case "1":
		q.account = true
	default:
		c.check.add("account_settings", "invalid", "0 or 1.", codeAccountSettings)
	}
	switch c.value("display_code") {
	case "", "0", "false":
	case "1", "true":
		q.display = true
	default:
		c.check.add("display_code", "invalid", "true or false.", codeDisplayCode)
	}
	if q.agent = truncated(strings.TrimSpace(c.value("agent_name"))); reserved(q.agent) {
		c.check.add("agent_name", "invalid", "This name is reserved.", codeReservedName)
	}
	if u, err := url.Parse(q.resource); q.resource != "" && (err != nil || !u.IsAbs() || u.Host == "" || strings.Contains(q.resource, "#")) {
		c.check.add("resource", "invalid", "An absolute URI without a fragment.", codeResource)
	}
	return q
}

func (c *call) checkChallenge(challenge string) {
	switch {
	case challenge == "":
		c.check.missing("code_challenge", "PKCE is required.")
	case len(challenge) != 43 || !isBase64URL(challenge):
		c.check.invalid("code_challenge", "43 characters of base64url.")
	}
	switch c.value("code_challenge_method") {
	case "S256":
	case "":
		c.check.missing("code_challenge_method", "S256 is required.")
	default:
		c.check.invalid("code_challenge_method", "Only S256.")
	}
}

func isBase64URL(s string) bool { return isToken(s) && !strings.ContainsAny(s, ".~+/=") }

// truncated keeps what fits into a name.
func truncated(name string) string {
	if runes := []rune(name); len(runes) > labelLimit {
		return string(runes[:labelLimit])
	}
	return name
}

// resolveScope returns the scope as it is reported and the word that counts, "" when there is none.
func resolveScope(sent string) (reported, word string) {
	openID := []string{"openid", "profile", "email", "offline_access"}
	words := strings.Fields(sent)
	rest := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(openID, word) })
	switch {
	case len(words) == 0:
		return scopeUser, scopeUser
	case len(rest) == 0:
		return sent, scopeUser
	}
	// Broadest first. Between a choice of organizations and all workspaces the published rules decide nothing.
	for _, word := range [...]string{
		scopeUser, scopeAllOrgs, scopeAllWorkspaces, scopeOrg, scopeWorkspace, scopeAllShares, scopeAllEnvelopes, scopeAllWorkflows,
	} {
		if slices.Contains(rest, word) {
			return word, word
		}
	}
	return sent, ""
}

// Words of the scope parameter.
const (
	scopeUser          = "user"
	scopeOrg           = "org"
	scopeWorkspace     = "workspace"
	scopeAllOrgs       = "all_orgs"
	scopeAllWorkspaces = "all_workspaces"
	scopeAllShares     = "all_shares"
	scopeAllEnvelopes  = "all_sign_envelopes"
	scopeAllWorkflows  = "all_workflows" // retired: it may be asked for and is never granted
)

// pending finds a request that still waits for the user.
func (s *Server) pending(id string) (*authorization, *answer) {
	q := s.state.oauth.requests[id]
	if q == nil || past(q.expires, s.now()) {
		return nil, new(refuse(http.StatusNotFound, codeNotFound, "There is no such authorization request, or it has ended."))
	}
	return q, nil
}

// authorizationInfo describes a request to a consent screen. Query and members are assumed.
func (s *Server) authorizationInfo(c *call) answer {
	id := c.value("auth_request_id")
	if id == "" {
		c.check.missing("auth_request_id", "Name an authorization request.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	q, refusal := s.pending(id)
	if refusal != nil {
		return *refusal
	}
	payload := object{
		{"auth_request_id", q.id},
		{"client_id", q.clientID},
		{"client_name", q.clientName},
		{"scope", q.sent},
		{"access_mode", optional(q.mode.String())},
		{"account_settings", q.account},
		{"agent_name", optional(q.agent)},
		{"resource", optional(q.resource)},
		{"expires_in", seconds(q.expires, s.now())},
	}
	if q.display {
		payload = append(payload, member{"redirect_mode", "display_code"})
	}
	return ok(payload...)
}

// completeAuthorization is the consent of a signed-in user. Fields and members are assumed:
//
//	auth_request_id   the request
//	decision          approve (default) or deny
//	scopes            JSON array of what to grant, all that was asked for when left out
//	access_mode       r, rw or rwa, the most that may be granted when left out
//	account_settings  1 grants them
func (s *Server) completeAuthorization(c *call) answer {
	if c.key.kind != sessionToken {
		return refuse(http.StatusForbidden, codeLimited, "Only a signed-in user can consent.")
	}
	if !c.readForm() {
		c.check.missing("auth_request_id", "The body must be a form.")
		return *c.check.refusal()
	}
	form := c.form
	d := Decision{User: c.key.User, Mode: form.Get("access_mode"), AccountSettings: form.Get("account_settings") == "1"}
	switch form.Get("decision") {
	case "", "approve":
	case "deny":
		d.Deny = true
	default:
		c.check.invalid("decision", "approve or deny.")
	}
	if text := form.Get("scopes"); text != "" {
		d.Scopes = c.readScopes("scopes", text)
	}
	if form.Get("auth_request_id") == "" {
		c.check.missing("auth_request_id", "Name an authorization request.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, refusal := s.pending(form.Get("auth_request_id"))
	if refusal != nil {
		return *refusal
	}
	outcome, refusal := s.decide(q, d)
	switch {
	case refusal != nil:
		return *refusal
	case q.display:
		return ok(member{"code", optional(outcome.Code)}, member{"redirect_mode", "display_code"})
	}
	return ok(member{"redirect_uri", outcome.Redirect})
}
