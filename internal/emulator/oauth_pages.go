package emulator

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed" // the pages
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// connectPath is where people sign in and decide. It stands at the root of the host, outside the API.
const connectPath = "/connect"

//go:embed oauth_pages.html
var pagesHTML string

//go:embed oauth_pages.css
var pagesCSS string

func parsePages() *template.Template { return template.Must(template.New("page").Parse(pagesHTML)) }

// browser is one that has been here before.
type browser struct {
	userID string // signed in
	halfID string // signed in but for the second factor
}

const browserCookie = "connect"

// page is what the template shows.
type page struct {
	Style   template.CSS
	Body    string // which of the bodies
	Title   string
	Text    string // of a notice
	Problem string // with what was just sent
	Path    string
	Request string // id
	Proof   string // that a form comes from a page of ours, in the same browser
	Email   string
	Client  string
	Agent   string
	User    string
	Scope   string
	Account bool
	Code    string
	Modes   []option
	Choices []option
}

type option struct{ Value, Label string }

// pageHeader keeps pages out of caches and frames and leaves nothing to scripts.
func pageHeader() http.Header {
	h := http.Header{}
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	return h
}

// show renders a page. Browsers hold a form's redirect to the policy of the page it stood on, so the client's address is
// part of it.
func (s *Server) show(status int, p page, leadsTo string) answer {
	p.Style, p.Path = template.CSS(pagesCSS), connectPath //nolint:gosec // our own style sheet
	var body bytes.Buffer
	if err := s.pages().Execute(&body, p); err != nil {
		panic(err) // the template is ours and writes to memory
	}
	hash := sha256.Sum256([]byte(pagesCSS))
	header := pageHeader()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+
		"'; form-action 'self'"+source(leadsTo)+"; frame-ancestors 'none'; base-uri 'none'")
	return answer{raw: &reply{status: status, header: header, body: body.Bytes()}}
}

// source is the origin of a redirect URI in the words of a policy, which has none for IPv6 addresses.
func source(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil || u.Host == "":
		return ""
	case strings.ContainsAny(u.Host, "[]"):
		return " " + u.Scheme + ":"
	}
	return " " + u.Scheme + "://" + u.Host
}

func (s *Server) notice(status int, title, text string) answer {
	return s.show(status, page{Body: "notice", Title: title, Text: text}, "")
}

// over is the page of a request that no longer waits.
func (s *Server) over() answer {
	return s.notice(http.StatusNotFound, "This request has ended", "Go back to the application and start again.")
}

// connect shows the next step of a request: signing in, the one-time code, or the decision.
func (s *Server) connect(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, refusal := s.pending(c.value("auth_request_id"))
	if refusal != nil {
		return s.over()
	}
	if cookie, b := s.visitor(c.r); b != nil {
		return s.step(http.StatusOK, q, cookie, b, page{})
	}
	b := &browser{}
	cookie := s.remember(b)
	a := s.step(http.StatusOK, q, cookie, b, page{})
	a.raw.header.Set("Set-Cookie", setCookie(c.r, cookie))
	return a
}

// visitor finds the browser of a request by its cookie.
func (s *Server) visitor(r *http.Request) (string, *browser) {
	cookie, err := r.Cookie(browserCookie)
	if err != nil {
		return "", nil
	}
	return cookie.Value, s.state.oauth.browsers[cookie.Value]
}

func (s *Server) remember(b *browser) (cookie string) {
	cookie = s.secret()
	s.state.oauth.browsers[cookie] = b
	return cookie
}

// setCookie writes a cookie. Lax lets it come along when the application opens the page.
func setCookie(r *http.Request, value string) string {
	return (&http.Cookie{ //nolint:gosec // Secure where the connection is: a test server has no TLS
		Name: browserCookie, Value: value, Path: connectPath, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode,
	}).String()
}

// proof ties a form to the browser and the request it was made for.
func (s *Server) proof(cookie, request string) string {
	return hex.EncodeToString(s.sign("form " + cookie + " " + request))
}

// step shows where a browser stands with a request.
func (s *Server) step(status int, q *authorization, cookie string, b *browser, p page) answer {
	p.Request, p.Proof, p.Client, p.Agent = q.id, s.proof(cookie, q.id), q.clientName, q.agent
	switch {
	case b.halfID != "":
		p.Body, p.Title = "code", "One-time code"
		return s.show(status, p, "")
	case s.state.users[b.userID] == nil:
		p.Body, p.Title = "sign-in", "Sign in"
		return s.show(status, p, "")
	}
	u := s.state.users[b.userID].it
	p.Body, p.Title, p.User = "consent", "Allow access?", s.state.profileName(u.ID)+" ("+u.Email+")"
	p.Scope, p.Account = scopeText(q.scope), q.account
	for _, m := range [...]mode{admin, write, read} {
		if m <= q.ceiling() {
			p.Modes = append(p.Modes, option{m.String(), modeText(m)})
		}
	}
	for _, id := range s.state.choices(q.scope, u.ID) {
		p.Choices = append(p.Choices, option{id, s.state.profileName(id)})
	}
	return s.show(status, p, q.redirect)
}

func scopeText(scope string) string {
	switch scope {
	case scopeUser:
		return "your whole account"
	case scopeAllOrgs:
		return "all your organizations"
	case scopeAllWorkspaces:
		return "all your workspaces"
	case scopeAllShares:
		return "all your shares"
	case scopeAllEnvelopes:
		return "all your sign envelopes"
	case scopeOrg:
		return "the organizations you choose"
	case scopeWorkspace:
		return "the workspaces you choose"
	}
	return "nothing that can be granted any more (" + scope + ")"
}

func modeText(m mode) string {
	switch m {
	case read:
		return "Read only"
	case write:
		return "Read and change"
	default:
		return "Read, change and administer"
	}
}

// connectSubmit takes a form of one of the pages.
func (s *Server) connectSubmit(c *call) answer {
	c.readForm()
	form := c.form
	s.mu.Lock()
	q, refusal := s.pending(form.Get("auth_request_id"))
	cookie, b := s.visitor(c.r)
	trusted := b != nil && refusal == nil && hmac.Equal([]byte(form.Get("proof")), []byte(s.proof(cookie, q.id)))
	var half string
	if b != nil {
		half = b.halfID
	}
	s.mu.Unlock()
	switch {
	case refusal != nil:
		return s.over()
	case !trusted:
		return s.notice(http.StatusForbidden, "This form is not yours", "Cookies are needed here. Go back to the application and start again.")
	}
	switch form.Get("step") {
	case "sign-in":
		return s.signInPage(c, q, cookie, form)
	case "code":
		if half == "" || !s.checkSecondFactor(half, strings.TrimSpace(form.Get("code"))) {
			return s.again(http.StatusUnauthorized, q, cookie, page{Problem: "The code is wrong."})
		}
		return s.enter(c, q, cookie, &browser{userID: half})
	case "leave":
		return s.enter(c, q, cookie, &browser{})
	case "decide":
		return s.decidePage(q, cookie, form)
	}
	return s.notice(http.StatusBadRequest, "This form is unknown", "Go back to the application and start again.")
}

// again shows a step once more, with what was wrong.
func (s *Server) again(status int, q *authorization, cookie string, p page) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.state.oauth.browsers[cookie]
	if b == nil { // it went on in another tab
		return s.over()
	}
	return s.step(status, q, cookie, b, p)
}

func (s *Server) signInPage(c *call, q *authorization, cookie string, form url.Values) answer {
	userID, refusal := s.checkPassword(strings.TrimSpace(form.Get("email")), form.Get("password"))
	if refusal != nil {
		return s.again(refusal.failure.status, q, cookie, page{Problem: refusal.failure.text, Email: form.Get("email")})
	}
	if !s.checkSecondFactor(userID, "") { // whoever has none passes without a code
		return s.enter(c, q, cookie, &browser{halfID: userID})
	}
	return s.enter(c, q, cookie, &browser{userID: userID})
}

// enter gives a browser its new standing and a new cookie with it, so that one known to others is worth nothing.
func (s *Server) enter(c *call, q *authorization, old string, b *browser) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.state.oauth.browsers, old)
	a := redirectTo(http.StatusSeeOther, connectPath+"?auth_request_id="+q.id)
	a.raw.header.Set("Set-Cookie", setCookie(c.r, s.remember(b)))
	return a
}

// decidePage takes the decision and sends the browser to the client or shows the code.
func (s *Server) decidePage(q *authorization, cookie string, form url.Values) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.state.oauth.browsers[cookie]
	if b == nil || s.state.oauth.requests[q.id] == nil {
		return s.over()
	}
	if s.state.users[b.userID] == nil {
		return s.step(http.StatusUnauthorized, q, cookie, b, page{Problem: "Sign in first."})
	}
	d := Decision{
		User: b.userID, Deny: form.Get("decision") != "approve",
		Mode: form.Get("access_mode"), AccountSettings: form.Get("account_settings") == "1",
	}
	if d.Mode == "" {
		d.Mode = q.ceiling().String()
	}
	if !d.Deny && (q.scope == scopeOrg || q.scope == scopeWorkspace) {
		d.Scopes = []string{}
		for _, id := range form["choice"] {
			d.Scopes = append(d.Scopes, q.scope+":"+id+":"+d.Mode)
		}
		if len(d.Scopes) == 0 {
			return s.step(http.StatusNotAcceptable, q, cookie, b, page{Problem: "Choose at least one."})
		}
	}
	outcome, refusal := s.decide(q, d)
	switch {
	case refusal != nil:
		return s.step(refusal.failure.status, q, cookie, b, page{Problem: refusal.failure.text})
	case outcome.Redirect != "":
		return redirectTo(http.StatusFound, outcome.Redirect)
	case d.Deny:
		return s.notice(http.StatusOK, "Access denied", "You can close this window. The application gets no access.")
	}
	return s.show(http.StatusOK, page{Body: "shown", Title: "Your code", Client: q.clientName, Code: outcome.Code}, "")
}
