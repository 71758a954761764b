package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/signin"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	requestLife  = 10 * time.Minute
	exchangeLife = 5 * time.Minute
)

// authorization is a pending authorization request of a client.
type authorization struct {
	id              string
	clientID        string
	clientName      string
	redirect        string
	state           string
	challenge       string
	reportedScope   string    // of responses
	scope           string    // the one word of it that is in effect
	mode            wire.Mode // ceiling; noAccess when none was named
	accountSettings bool      // account settings may be granted
	resource        string
	agent           string
	display         bool // shows the code instead of redirecting
	issuer          string
	expires         time.Time
	device          *device // that waits for the answer, nil without one
}

// maxMode returns the greatest access mode that the user may grant: the one that the
// client has requested, by default rw.
func (q *authorization) maxMode() wire.Mode {
	if q.mode == wire.NoAccess {
		return wire.Write
	}
	return q.mode
}

// startAuthorization stores the authorization request of a client and redirects to the
// sign-in page or, with response_format=json, returns the URL of that page. It takes the
// lock.
func (h *Handlers) startAuthorization(c *wire.Call) (wire.Object, error) {
	q := readAuthorization(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	client, err := h.findClient(c.Request.Context(), q.clientID)
	switch {
	case err != nil:
		c.Check.Add("client_id", "invalid", err.Error(), codeClient)
	case !client.hasRedirect(q.redirect):
		c.Check.Add("redirect_uri", "invalid", "Not one of the client's redirect URIs.", codeClient)
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	q.clientName, q.issuer = client.Name, wire.Issuer(c.Request)
	h.w.Lock()
	defer h.w.Unlock()
	q.id, q.expires = h.w.Secret(), h.w.Now().Add(requestLife)
	h.oauth.requests[q.id] = q
	if c.Value("response_format") != "json" {
		return c.Send(redirectTo(http.StatusFound, q.loginURL()))
	}
	payload := wire.Object{{"auth_request_id", q.id}, {"client_name", q.clientName}, {"scope", q.reportedScope}}
	return append(payload.With(q.agent != "", "agent_name", q.agent), wire.Member{"login_url", q.loginURL()}), nil
}

// redirectTo returns a response that redirects to a URL.
func redirectTo(status int, target string) *wire.Reply {
	header := pageHeader()
	header.Set("Location", target)
	return &wire.Reply{Status: status, Header: header}
}

// loginURL returns the URL of the sign-in page for an authorization request.
func (q *authorization) loginURL() string {
	login := q.issuer + ConnectPath + "?auth_request_id=" + q.id
	if q.display {
		login += "&display_code=true"
	}
	return login
}

// readAuthorization returns the authorization request of a call.
func readAuthorization(c *wire.Call) *authorization {
	q := &authorization{
		clientID: c.Value("client_id"), redirect: c.Value("redirect_uri"), state: c.Value("state"),
		challenge: c.Value("code_challenge"),
	}
	if q.clientID == "" {
		c.Check.Add("client_id", "missing", "Name the client.", codeClient)
	}
	c.Check.MissingIf(q.redirect == "", "redirect_uri", "Name a redirect URI of the client.")
	c.Check.MissingIf(q.state == "", "state", "Send a state.")
	checkChallenge(c, q.challenge)
	q.readAccess(c, c.Value)
	switch c.Value("display_code") {
	case "", "0", "false":
	case "1", "true":
		q.display = true
	default:
		c.Check.Add("display_code", "invalid", "true or false.", codeDisplayCode)
	}
	return q
}

// readAccess reads what access a client requests. Value returns a parameter by its
// name: of the query or of a form.
func (q *authorization) readAccess(c *wire.Call, value func(name string) string) {
	q.resource = value("resource")
	q.reportedScope, q.scope = resolveScope(value("scope"))
	if q.scope == "" {
		c.Check.Add("scope", "invalid", "invalid_scope: none of the scopes is known.", codeScopeWords)
	}
	if text := value("access_mode"); text != "" {
		q.mode = wire.ParseMode(text)
		if q.mode == wire.NoAccess {
			c.Check.Add("access_mode", "invalid", "One of r, rw and rwa.", codeAccessMode)
		}
	}
	switch value("account_settings") {
	case "", "0":
	case "1":
		q.accountSettings = true
	default:
		c.Check.Add("account_settings", "invalid", "0 or 1.", codeAccountSettings)
	}
	q.agent = truncated(strings.TrimSpace(value("agent_name")))
	if reserved(q.agent) {
		c.Check.Add("agent_name", "invalid", "This name is reserved.", codeReservedName)
	}
	if u, err := url.Parse(q.resource); q.resource != "" &&
		(err != nil || !u.IsAbs() || u.Host == "" || strings.Contains(q.resource, "#")) {
		c.Check.Add("resource", "invalid", "An absolute URI without a fragment.", codeResource)
	}
}

// checkChallenge checks the PKCE challenge of a request, which must be S256.
func checkChallenge(c *wire.Call, challenge string) {
	const hashLength = 43 // of a SHA-256 in base64url
	// The alphabet of tokens has these characters besides those of base64url.
	isBase64URL := wire.IsToken(challenge) && !strings.ContainsAny(challenge, ".~+/=")
	switch {
	case challenge == "":
		c.Check.Missing("code_challenge", "PKCE is required.")
	case len(challenge) != hashLength || !isBase64URL:
		c.Check.Invalid("code_challenge", "43 characters of base64url.")
	}
	switch c.Value("code_challenge_method") {
	case "S256":
	case "":
		c.Check.Missing("code_challenge_method", "S256 is required.")
	default:
		c.Check.Invalid("code_challenge_method", "Only S256.")
	}
}

// truncated returns a name without the characters beyond the limit.
func truncated(name string) string {
	if runes := []rune(name); len(runes) > wire.LabelLimit {
		return string(runes[:wire.LabelLimit])
	}
	return name
}

// resolveScope returns, for the parameter scope, the scope that responses report, and
// the one word of it that is in effect, "" if no word is known. The words of OpenID are
// accepted without an effect; without any other word, the word user is in effect.
func resolveScope(sent string) (reported, word string) {
	openID := []string{"openid", "profile", "email", "offline_access"}
	words := strings.Fields(sent)
	access := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(openID, word) })
	switch {
	case len(words) == 0:
		return scopeUser, scopeUser
	case len(access) == 0:
		return sent, scopeUser
	}
	// Broadest first. The order of organizations and all workspaces is not published.
	for _, word := range [...]string{
		scopeUser, scopeAllOrgs, scopeAllWorkspaces, scopeOrg, scopeWorkspace, scopeAllShares, scopeAllEnvelopes,
		scopeAllWorkflows,
	} {
		if slices.Contains(access, word) {
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

// pendingRequest returns an authorization request that is not decided, by its ID.
func (h *Handlers) pendingRequest(id string) (*authorization, error) {
	q := h.oauth.requests[id]
	if q == nil || wire.Past(q.expires, h.w.Now()) {
		return nil, wire.Refuse(http.StatusNotFound, wire.CodeNotFound,
			"There is no such authorization request, or it has ended.")
	}
	return q, nil
}

// authorizationInfo describes an authorization request, for a consent screen. The
// names of its parameters and members are assumed.
func (h *Handlers) authorizationInfo(c *wire.Call) (wire.Object, error) {
	id := c.Value("auth_request_id")
	c.Check.MissingIf(id == "", "auth_request_id", "Name an authorization request.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	q, err := h.pendingRequest(id)
	if err != nil {
		return nil, err
	}
	payload := wire.Object{
		{"auth_request_id", q.id},
		{"client_id", q.clientID},
		{"client_name", q.clientName},
		{"scope", q.reportedScope},
		{"access_mode", wire.TextOrNull(q.mode.String())},
		{"account_settings", q.accountSettings},
		{"agent_name", wire.TextOrNull(q.agent)},
		{"resource", wire.TextOrNull(q.resource)},
		{"expires_in", wire.Seconds(q.expires, h.w.Now())},
	}
	showsCode := q.display // instead of a redirect
	return payload.With(showsCode, "redirect_mode", "display_code"), nil
}

// completeAuthorization takes the consent of a signed-in user. Names are assumed:
//
//	auth_request_id   the request
//	decision          approve (default) or deny
//	scopes            JSON array of what to grant, all that was asked for when left out
//	access_mode       r, rw or rwa, the most that may be granted when left out
//	account_settings  1 grants them
func (h *Handlers) completeAuthorization(c *wire.Call) (wire.Object, error) {
	if c.Key.Kind != wire.SessionToken {
		return nil, wire.Refuse(http.StatusForbidden, signin.CodeLimited, "Only a signed-in user can consent.")
	}
	if err := c.ReadForm(); err != nil {
		c.Check.Missing("auth_request_id", "The body must be a form.")
		return nil, c.Check.Err()
	}
	form := c.Form
	d := world.Decision{
		User: c.Key.User, Mode: form.Get("access_mode"), AccountSettings: form.Get("account_settings") == "1",
	}
	switch form.Get("decision") {
	case "", "approve":
	case "deny":
		d.Deny = true
	default:
		c.Check.Invalid("decision", "approve or deny.")
	}
	if text := form.Get("scopes"); text != "" {
		d.Scopes = signin.ReadScopes(c, "scopes", text)
	}
	c.Check.MissingIf(form.Get("auth_request_id") == "", "auth_request_id", "Name an authorization request.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	q, err := h.pendingRequest(form.Get("auth_request_id"))
	if err != nil {
		return nil, err
	}
	outcome, err := h.decide(q, d)
	switch {
	case err != nil:
		return nil, err
	case q.display:
		return wire.Object{{"code", wire.TextOrNull(outcome.Code)}, {"redirect_mode", "display_code"}}, nil
	}
	return wire.Object{{"redirect_uri", outcome.Redirect}}, nil
}

// Decide decides the request of a login URL, or of a URL with the user code of a device,
// in place of a user and a browser. It takes the lock.
func (h *Handlers) Decide(loginURL string, d world.Decision) (world.Outcome, error) {
	u, err := url.Parse(loginURL)
	if err != nil {
		return world.Outcome{}, errors.New("emulator: the login URL cannot be read")
	}
	h.w.Lock()
	defer h.w.Unlock()
	id := u.Query().Get("auth_request_id")
	if q := h.deviceOf(u.Query().Get("user_code")); q != nil {
		id = q.id
	}
	withText := func(refusal error) error { return errors.New("emulator: " + wire.RefusalOf(refusal).Text) }
	q, refusal := h.pendingRequest(id)
	if refusal != nil {
		return world.Outcome{}, withText(refusal)
	}
	if h.w.User(d.User) == nil {
		return world.Outcome{}, fmt.Errorf("emulator: there is no user %q", d.User)
	}
	outcome, refusal := h.decide(q, d)
	if refusal != nil {
		return world.Outcome{}, withText(refusal)
	}
	return outcome, nil
}

// SignIns returns the authorization requests that wait for the decision of a user, the
// oldest first.
func (h *Handlers) SignIns() []seed.SignIn {
	h.w.RLock()
	defer h.w.RUnlock()
	list := []seed.SignIn{}
	for _, q := range h.oauth.requests {
		if wire.Past(q.expires, h.w.Now()) {
			continue
		}
		waiting := seed.SignIn{
			LoginURL: q.loginURL(), Client: q.clientName, Agent: q.agent, Scope: q.reportedScope, Expires: q.expires,
		}
		if q.device != nil {
			waiting.UserCode = q.device.userCode
		}
		list = append(list, waiting)
	}
	slices.SortFunc(list, func(a, b seed.SignIn) int { return a.Expires.Compare(b.Expires) })
	return list
}

// code is an authorization code.
type code struct {
	request *authorization
	userID  string
	scopes  []string
	expires time.Time
	used    bool
	session string // that it was exchanged for
}

// decide ends an authorization request by the decision of a user, and returns what the
// client receives: a redirect, a code to display or, for a device, which polls, nothing.
// If the decision is not valid, the request stays undecided.
func (h *Handlers) decide(q *authorization, d world.Decision) (world.Outcome, error) {
	if d.Deny {
		delete(h.oauth.requests, q.id)
		if q.device != nil {
			q.device.denied = true
		}
		return h.outcome(q, url.Values{"error": {"access_denied"}}), nil
	}
	scopes, err := h.grantedScopes(q, d)
	if err != nil {
		return world.Outcome{}, err
	}
	delete(h.oauth.requests, q.id)
	k := &code{request: q, userID: d.User, scopes: scopes, expires: h.w.Now().Add(exchangeLife)}
	if q.device != nil {
		q.device.approval = k
		return world.Outcome{}, nil
	}
	text := h.w.Secret()
	h.oauth.codes[text] = k
	if q.display {
		return world.Outcome{Code: text}, nil
	}
	return h.outcome(q, url.Values{"code": {text}}), nil
}

// outcome returns the redirect with the result of a request, with the state of the
// client and, by an option, the issuer (RFC 9207); another option leaves the state out
// of a denial. There is no redirect if the code is displayed, or if the client is a
// device, which polls.
func (h *Handlers) outcome(q *authorization, result url.Values) world.Outcome {
	if q.display || q.device != nil {
		return world.Outcome{}
	}
	if !h.w.Options.OAuth.DenialWithoutState || !result.Has("error") {
		result.Set("state", q.state)
	}
	if h.w.Options.OAuth.AnnounceIssuer {
		result.Set("iss", q.issuer)
	}
	between := "?"
	if strings.Contains(q.redirect, "?") {
		between = "&"
	}
	return world.Outcome{Redirect: q.redirect + between + result.Encode()}
}

// grantedScopes returns the scopes that a decision grants, and a refusal if they are more
// than the client has requested.
func (h *Handlers) grantedScopes(q *authorization, d world.Decision) ([]string, error) {
	mode := q.maxMode()
	if d.Mode != "" {
		mode = wire.ParseMode(d.Mode)
	}
	tooMuch := func(reason string) error {
		return wire.RefuseWithReason(http.StatusForbidden, signin.CodeExceeds, reason,
			"The client did not ask for as much.", wire.Member{"credential_type", "session"})
	}
	asked := h.requestedScopes(q, d.User)
	var scopes []string
	switch {
	case mode == wire.NoAccess:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeAccessMode, "The mode is one of r, rw and rwa.")
	case mode > q.maxMode(), d.AccountSettings && !q.accountSettings:
		return nil, tooMuch("access_mode_exceeds_initiate")
	case d.Scopes != nil:
		scopes = slices.Clone(d.Scopes)
	default: // all that the client has requested
		for _, scope := range asked {
			entity, id, _ := wire.SplitScope(scope)
			if scope != world.UserDetails { // which the decision grants by AccountSettings
				scopes = append(scopes, entity+":"+id+":"+mode.String())
			}
		}
	}
	if d.AccountSettings && !slices.Contains(scopes, world.UserDetails) {
		scopes = append(scopes, world.UserDetails)
	}
	if len(asked) == 0 || len(scopes) == 0 {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNothingGranted,
			"There is nothing to grant. Choose at least one.")
	}
	if h.signin.Exceeds(&wire.Credential{Key: world.Key{User: d.User, Scopes: asked}}, scopes) {
		return nil, tooMuch("scope_exceeds_issuer")
	}
	return scopes, nil
}

// requestedScopes returns the scopes that a user can grant to a request, as kind:id:mode.
// There is one with the id * for all profiles of a kind, or one for each organization or
// workspace that the user may choose.
func (h *Handlers) requestedScopes(q *authorization, userID string) []string {
	kind, ids := q.scope, h.profileChoices(q.scope, userID)
	kindOfAll := map[string]string{
		scopeUser: wire.KindUser, scopeAllOrgs: wire.KindOrg, scopeAllWorkspaces: wire.KindWorkspace,
		scopeAllShares: wire.KindShare, scopeAllEnvelopes: wire.KindEnvelope,
	}[q.scope]
	if kindOfAll != "" {
		kind, ids = kindOfAll, []string{"*"}
	}
	var scopes []string
	for _, id := range ids {
		scopes = append(scopes, kind+":"+id+":"+q.maxMode().String())
	}
	if q.accountSettings && len(scopes) > 0 {
		scopes = append(scopes, world.UserDetails)
	}
	return scopes
}

// profileChoices returns the organizations or workspaces of a user, if the scope lets the
// user choose among them.
func (h *Handlers) profileChoices(scope, userID string) []string {
	ids := map[string][]string{scopeOrg: h.w.OrgIDs(), scopeWorkspace: h.w.WorkspaceIDs()}[scope]
	return wire.Filter(ids, func(id string) bool { return h.w.Role(id, userID) != "" })
}
