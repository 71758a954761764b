package oauth

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// ConnectPath is the sign-in and consent page, at the root of the host.
const ConnectPath = "/connect"

//go:embed pages.html
var pagesHTML string

//go:embed pages.css
var pagesCSS string

// parsePages parses the template of all pages.
func parsePages() *template.Template { return template.Must(template.New("page").Parse(pagesHTML)) }

// browser is the state of a browser with our cookie.
type browser struct {
	userID string // signed in
	halfID string // signed in but for the second factor
}

const browserCookie = "connect"

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

// pageHeader returns a header that forbids to cache a page, to show it in a frame, and to
// send its address, which has the id of a request, to other sites.
func pageHeader() http.Header {
	return http.Header{
		"Cache-Control":              {"no-store"},
		"Referrer-Policy":            {"no-referrer"},
		"X-Content-Type-Options":     {"nosniff"},
		"X-Frame-Options":            {"DENY"},
		"Cross-Origin-Opener-Policy": {"same-origin"},
	}
}

const formStaysHere = "" // for renderPage: the form leads to no other site

// renderPage renders a page. Its content security policy allows only the style sheet. Its
// form can be sent only to this server, which may redirect to the origin of leadsTo, a URL
// or "".
func (h *Handlers) renderPage(status int, p page, leadsTo string) *wire.Reply {
	p.Style, p.Path = template.CSS(pagesCSS), ConnectPath //nolint:gosec // our own style sheet
	var body bytes.Buffer
	if err := h.pages().Execute(&body, p); err != nil {
		panic(err) // the template is ours and writes to memory
	}
	hash := sha256.Sum256([]byte(pagesCSS))
	header := pageHeader()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+
			"'; form-action 'self'"+cspSource(leadsTo)+"; frame-ancestors 'none'; base-uri 'none'")
	return &wire.Reply{Status: status, Header: header, Body: body.Bytes()}
}

// cspSource returns the origin of a redirect URI as a source in a
// Content-Security-Policy, after a blank. For an IPv6 address, which a policy cannot
// have, it is only the scheme.
func cspSource(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil || u.Host == "":
		return ""
	case strings.ContainsAny(u.Host, "[]"):
		return " " + u.Scheme + ":"
	}
	return " " + u.Scheme + "://" + u.Host
}

// renderNotice renders a page with a text.
func (h *Handlers) renderNotice(status int, title, text string) *wire.Reply {
	return h.renderPage(status, page{Body: "notice", Title: title, Text: text}, formStaysHere)
}

// requestEndedPage renders the page for an authorization request that has ended.
func (h *Handlers) requestEndedPage() *wire.Reply {
	return h.renderNotice(http.StatusNotFound, "This request has ended", "Go back to the application and start again.")
}

// connect shows the next step of an authorization request: to sign in, to send a
// one-time code, or to decide. A browser without a cookie of this server gets a new
// one, so that its next call is recognized.
func (h *Handlers) connect(c *wire.Call) (wire.Object, error) {
	q, err := h.pendingRequest(c.Value("auth_request_id"))
	if err != nil {
		return c.Send(h.requestEndedPage())
	}
	if cookie, b := h.browserOf(c.Request); b != nil {
		return c.Send(h.renderStep(http.StatusOK, q, cookie, b, page{}))
	}
	b := &browser{}
	cookie := h.storeBrowser(b)
	out := h.renderStep(http.StatusOK, q, cookie, b, page{})
	out.Header.Set("Set-Cookie", setCookie(c.Request, cookie))
	return c.Send(out)
}

// browserOf returns the cookie and the state of the browser that has sent a request, nil
// for an unknown one.
func (h *Handlers) browserOf(r *http.Request) (string, *browser) {
	cookie, err := r.Cookie(browserCookie)
	if err != nil {
		return "", nil
	}
	return cookie.Value, h.oauth.browsers[cookie.Value]
}

// storeBrowser stores the state of a browser under a new cookie.
func (h *Handlers) storeBrowser(b *browser) (cookie string) {
	cookie = h.w.Secret()
	h.oauth.browsers[cookie] = b
	return cookie
}

// setCookie returns the header that sets the cookie of a browser. Browsers send a Lax
// cookie also when the application opens the page.
func setCookie(r *http.Request, value string) string {
	return (&http.Cookie{ //nolint:gosec // Secure where the connection is: a test server has no TLS
		Name: browserCookie, Value: value, Path: ConnectPath, HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteLaxMode,
	}).String()
}

// proof returns the value of a field that proves that a form comes from a page of
// ours, in the browser with the cookie.
func (h *Handlers) proof(cookie, request string) string {
	return hex.EncodeToString(h.w.Sign("form " + cookie + " " + request))
}

// renderStep renders the page for the next step of an authorization request in a
// browser: the one-time code if a user is half signed in, the sign-in if none is,
// otherwise consent.
func (h *Handlers) renderStep(status int, q *authorization, cookie string, b *browser, p page) *wire.Reply {
	p.Request, p.Proof, p.Client, p.Agent = q.id, h.proof(cookie, q.id), q.clientName, q.agent
	switch {
	case b.halfID != "":
		p.Body, p.Title = "code", "One-time code"
		return h.renderPage(status, p, formStaysHere)
	case h.w.User(b.userID) == nil:
		p.Body, p.Title = "sign-in", "Sign in"
		return h.renderPage(status, p, formStaysHere)
	}
	u := h.w.User(b.userID).Value
	p.Body, p.Title, p.User = "consent", "Allow access?", h.w.ProfileName(u.ID)+" ("+u.Email+")"
	p.Scope, p.Account = scopeText(q.scope), q.accountSettings
	for _, m := range [...]wire.Mode{wire.Admin, wire.Write, wire.Read} {
		if m <= q.maxMode() {
			p.Modes = append(p.Modes, option{m.String(), modeText(m)})
		}
	}
	for _, id := range h.profileChoices(q.scope, u.ID) {
		p.Choices = append(p.Choices, option{id, h.w.ProfileName(id)})
	}
	return h.renderPage(status, p, q.redirect)
}

// scopeText describes a scope to the user.
func scopeText(scope string) string {
	text := map[string]string{
		scopeUser:          "your whole account",
		scopeAllOrgs:       "all your organizations",
		scopeAllWorkspaces: "all your workspaces",
		scopeAllShares:     "all your shares",
		scopeAllEnvelopes:  "all your sign envelopes",
		scopeOrg:           "the organizations you choose",
		scopeWorkspace:     "the workspaces you choose",
	}[scope]
	return cmp.Or(text, "nothing that can be granted any more ("+scope+")")
}

// modeText describes a mode of access to the user.
func modeText(m wire.Mode) string {
	return map[wire.Mode]string{
		wire.Read: "Read only", wire.Write: "Read and change", wire.Admin: "Read, change and administer",
	}[m]
}

// connectSubmit handles a form of a page. It refuses a form that another site has sent:
// that site cannot know the proof, which is bound to the cookie of the browser.
func (h *Handlers) connectSubmit(c *wire.Call) (wire.Object, error) {
	_ = c.ReadForm() // a body of another type has no fields
	q, err := h.pendingRequest(c.Form.Get("auth_request_id"))
	if err != nil {
		return c.Send(h.requestEndedPage())
	}
	cookie, b := h.browserOf(c.Request)
	if b == nil || !hmac.Equal([]byte(c.Form.Get("proof")), []byte(h.proof(cookie, q.id))) {
		return c.Send(h.renderNotice(http.StatusForbidden, "This form is not yours",
			"Cookies are needed here. Go back to the application and start again."))
	}
	return c.Send(h.submit(c, q, cookie, b))
}

// submit handles the form of a step: the sign-in, its second factor, the change to
// another user, or the decision.
func (h *Handlers) submit(c *wire.Call, q *authorization, cookie string, b *browser) *wire.Reply {
	switch c.Form.Get("step") {
	case "sign-in":
		return h.signInPage(c, q, cookie, b)
	case "code":
		half := b.halfID
		if half == "" || !h.signin.CheckSecondFactor(half, strings.TrimSpace(c.Form.Get("code"))) {
			return h.renderStep(http.StatusUnauthorized, q, cookie, b, page{Problem: "The code is wrong."})
		}
		return h.replaceBrowser(c, q, cookie, &browser{userID: half})
	case "leave":
		return h.replaceBrowser(c, q, cookie, &browser{})
	case "decide":
		return h.decidePage(q, cookie, b, c.Form)
	}
	return h.renderNotice(http.StatusBadRequest, "This form is unknown", "Go back to the application and start again.")
}

// signInPage handles the form with an e-mail address and a password. The browser is
// then signed in, or half signed in until it sends the code of the user's second
// factor.
func (h *Handlers) signInPage(c *wire.Call, q *authorization, cookie string, b *browser) *wire.Reply {
	userID, err := h.signin.CheckPassword(strings.TrimSpace(c.Form.Get("email")), c.Form.Get("password"))
	if err != nil {
		refusal := wire.RefusalOf(err)
		return h.renderStep(refusal.Status, q, cookie, b, page{Problem: refusal.Text, Email: c.Form.Get("email")})
	}
	if !h.signin.CheckSecondFactor(userID, "") { // an empty code is wrong, unless the user needs none
		return h.replaceBrowser(c, q, cookie, &browser{halfID: userID})
	}
	return h.replaceBrowser(c, q, cookie, &browser{userID: userID})
}

// replaceBrowser gives a browser a new state and a new cookie, and redirects it to the
// next step. An attacker could have planted the old cookie before the sign-in.
func (h *Handlers) replaceBrowser(c *wire.Call, q *authorization, old string, b *browser) *wire.Reply {
	delete(h.oauth.browsers, old)
	out := redirectTo(http.StatusSeeOther, ConnectPath+"?auth_request_id="+q.id)
	out.Header.Set("Set-Cookie", setCookie(c.Request, h.storeBrowser(b)))
	return out
}

// decidePage handles the form with the decision of the user. After it, the browser goes
// to the redirect URI; without one, a page says that the device is connected or that
// access is denied, or shows the code to copy.
func (h *Handlers) decidePage(q *authorization, cookie string, b *browser, form url.Values) *wire.Reply {
	if h.w.User(b.userID) == nil {
		return h.renderStep(http.StatusUnauthorized, q, cookie, b, page{Problem: "Sign in first."})
	}
	d := world.Decision{
		User: b.userID, Deny: form.Get("decision") != "approve",
		Mode: cmp.Or(form.Get("access_mode"), q.maxMode().String()), AccountSettings: form.Get("account_settings") == "1",
	}
	if !d.Deny && (q.scope == scopeOrg || q.scope == scopeWorkspace) {
		d.Scopes = []string{}
		for _, id := range form["choice"] {
			d.Scopes = append(d.Scopes, q.scope+":"+id+":"+d.Mode)
		}
		if len(d.Scopes) == 0 {
			return h.renderStep(http.StatusNotAcceptable, q, cookie, b, page{Problem: "Choose at least one."})
		}
	}
	outcome, err := h.decide(q, d)
	switch {
	case err != nil:
		refusal := wire.RefusalOf(err)
		return h.renderStep(refusal.Status, q, cookie, b, page{Problem: refusal.Text})
	case outcome.Redirect != "":
		return redirectTo(http.StatusFound, outcome.Redirect)
	case q.device != nil && !d.Deny:
		return h.renderNotice(http.StatusOK, "Device connected", "You can close this window and go back to your device.")
	case d.Deny:
		return h.renderNotice(http.StatusOK, "Access denied", "You can close this window. The application gets no access.")
	}
	shown := page{Body: "shown", Title: "Your code", Client: q.clientName, Code: outcome.Code}
	return h.renderPage(http.StatusOK, shown, formStaysHere)
}
