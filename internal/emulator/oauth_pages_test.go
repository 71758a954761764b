package emulator_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// visitor is a browser without scripts: it keeps a cookie and fills in the form it sees.
type visitor struct {
	world  *world
	cookie string
	login  string
	page   reply
}

func (w *world) visit(t *testing.T, login string) *visitor {
	t.Helper()
	v := &visitor{world: w, login: login}
	v.open(t)
	return v
}

func (v *visitor) open(t *testing.T) {
	t.Helper()
	v.see(t, v.world.raw(t, http.MethodGet, v.login, "", "Cookie", v.cookie))
}

// see takes an answer in and follows it within the site.
func (v *visitor) see(t *testing.T, got reply) {
	t.Helper()
	for _, cookie := range (&http.Response{Header: got.Header}).Cookies() {
		v.cookie = cookie.Name + "=" + cookie.Value
	}
	v.page = got
	if target := got.Header.Get("Location"); strings.HasPrefix(target, "/") {
		v.see(t, v.world.raw(t, http.MethodGet, target, "", "Cookie", v.cookie))
	}
}

// hidden are the fields of a form that its reader does not see.
func (v *visitor) hidden() url.Values {
	values := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(v.page.Body, -1) {
		values.Set(m[1], html.UnescapeString(m[2]))
	}
	return values
}

// submit sends the form with fields filled in, and a button pressed.
func (v *visitor) submit(t *testing.T, fields ...string) reply {
	t.Helper()
	form := v.hidden()
	if slices.Contains(fields, "step") { // the hidden one is that of another form on the page
		form.Del("step")
	}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	got := v.world.raw(t, http.MethodPost, "/connect", form.Encode(), "Content-Type", formType, "Cookie", v.cookie)
	v.see(t, got)
	return got
}

func (v *visitor) signIn(t *testing.T, email, password string) reply {
	t.Helper()
	return v.submit(t, "step", "sign-in", "email", email, "password", password)
}

func (v *visitor) title(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`<h1>([^<]*)</h1>`).FindStringSubmatch(v.page.Body)
	if m == nil {
		t.Fatalf("%d %s", v.page.Status, v.page.Body)
	}
	return m[1]
}

func (v *visitor) problem() string {
	m := regexp.MustCompile(`role="alert">([^<]*)<`).FindStringSubmatch(v.page.Body)
	if m == nil {
		return ""
	}
	return m[1]
}

// atConsent is a visitor who has signed in as Ada.
func (p *platform) atConsent(t *testing.T, change ...string) *visitor {
	t.Helper()
	v := p.visit(t, p.login(t, change...))
	v.signIn(t, p.ada.Email, seed.DefaultPassword)
	if v.title(t) != "Allow access?" {
		t.Fatalf("%d %s", v.page.Status, v.page.Body)
	}
	return v
}

func TestBrowserApproves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ask    []string
		submit func(p *platform) []string
		want   func(p *platform) string
	}{
		"all": {
			nil, func(*platform) []string { return []string{"access_mode", "rw"} },
			func(*platform) string { return `["user:*:rw"]` },
		},
		"all, by a form without a mode": {
			nil, func(*platform) []string { return nil },
			func(*platform) string { return `["user:*:rw"]` },
		},
		"less": {
			[]string{"access_mode", "rwa"},
			func(*platform) []string { return []string{"access_mode", "r"} },
			func(*platform) string { return `["user:*:r"]` },
		},
		"account settings": {
			[]string{"account_settings", "1"},
			func(*platform) []string { return []string{"access_mode", "rw", "account_settings", "1"} },
			func(*platform) string { return `["user:*:rw","userdetails:*:rw"]` },
		},
		"no account settings": {
			[]string{"account_settings", "1"},
			func(*platform) []string { return []string{"access_mode", "rw"} },
			func(*platform) string { return `["user:*:rw"]` },
		},
		"one workspace": {
			[]string{"scope", "workspace"},
			func(p *platform) []string { return []string{"access_mode", "r", "choice", p.attic.ID} },
			func(p *platform) string { return `["workspace:` + p.attic.ID + `:r"]` },
		},
		"two workspaces": {
			[]string{"scope", "workspace"},
			func(p *platform) []string {
				return []string{"access_mode", "rw", "choice", p.room.ID, "choice", p.attic.ID}
			},
			func(p *platform) string {
				return `["workspace:` + p.room.ID + `:rw","workspace:` + p.attic.ID + `:rw"]`
			},
		},
		"an organization": {
			[]string{"scope", "org"},
			func(p *platform) []string { return []string{"choice", p.org.ID} },
			func(p *platform) string { return `["org:` + p.org.ID + `:rw"]` },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatform(emulator.Options{})
			v := p.atConsent(t, test.ask...)
			got := v.submit(t, append(test.submit(p), "decision", "approve")...)
			target := got.Header.Get("Location")
			if got.Status != http.StatusFound || !strings.HasPrefix(target, redirect+"?") || parameter(t, target, "state") != "st4te" {
				t.Fatalf("%d %s: %s", got.Status, target, got.Body)
			}
			if granted := p.exchange(t, parameter(t, target, "code")); granted.get("scopes") != test.want(p) {
				t.Errorf("granted %s, want %s", granted.Body, test.want(p))
			}
			if v.open(t); v.title(t) != "This request has ended" || v.page.Status != http.StatusNotFound {
				t.Errorf("again: %d %s", v.page.Status, v.page.Body)
			}
		})
	}
}

func TestBrowserDenies(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	got := p.atConsent(t, "scope", "org").submit(t, "decision", "deny", "access_mode", "rw")
	if want := redirect + "?error=access_denied&state=st4te"; got.Status != http.StatusFound || got.Header.Get("Location") != want {
		t.Errorf("%d %s", got.Status, got.Header.Get("Location"))
	}
	v := p.atConsent(t, "display_code", "true")
	if got := v.submit(t, "decision", "deny"); got.Status != http.StatusOK || v.title(t) != "Access denied" {
		t.Errorf("where the code is shown: %d %s", got.Status, got.Body)
	}
}

func TestBrowserShowsTheCode(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	v := p.atConsent(t, "display_code", "true")
	v.submit(t, "decision", "approve", "access_mode", "rw")
	m := regexp.MustCompile(`<output id="code">([0-9a-f]+)</output>`).FindStringSubmatch(v.page.Body)
	if m == nil || v.page.Status != http.StatusOK {
		t.Fatalf("%d %s", v.page.Status, v.page.Body)
	}
	tokens(t, p.exchange(t, m[1]))
}

func TestSigningInOnThePage(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	p.AddUser(emulator.User{Email: "own@example.test", Password: "hunter2"})
	v := p.visit(t, p.login(t))
	if v.title(t) != "Sign in" {
		t.Fatalf("%s", v.page.Body)
	}
	for _, test := range [][2]string{
		{"nobody@example.test", seed.DefaultPassword},
		{p.ada.Email, "wrong"},
		{p.ada.Email, ""},
		{"own@example.test", seed.DefaultPassword},
		{`"><b>`, "x"},
	} {
		if got := v.signIn(t, test[0], test[1]); got.Status != http.StatusUnauthorized || v.title(t) != "Sign in" || v.problem() == "" {
			t.Errorf("%v: %d %s", test, got.Status, got.Body)
		}
	}
	if !strings.Contains(v.page.Body, `value="&#34;&gt;&lt;b&gt;"`) {
		t.Errorf("the address is not kept, or not escaped: %s", v.page.Body)
	}
	before := v.cookie
	if got := v.signIn(t, " OWN@example.test ", "hunter2"); got.Status != http.StatusSeeOther || v.title(t) != "Allow access?" || v.cookie == before {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	old := &visitor{world: p.world, login: v.login, cookie: before}
	if old.open(t); old.title(t) != "Sign in" {
		t.Error("the cookie from before is signed in")
	}
	v.login = p.login(t)
	if v.open(t); v.title(t) != "Allow access?" {
		t.Errorf("a second login asks for the password again: %s", v.page.Body)
	}
	if v.submit(t, "step", "leave"); v.title(t) != "Sign in" {
		t.Errorf("another account: %s", v.page.Body)
	}
}

func TestConsentPage(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	p.AddClient(emulator.Client{ID: "sly", Name: `<script>alert("x")</script>`, RedirectURIs: []string{"http://127.0.0.1/callback"}})
	modes := func(page string) []string {
		var values []string
		for _, m := range regexp.MustCompile(`<option value="([rwa]+)">`).FindAllStringSubmatch(page, -1) {
			values = append(values, m[1])
		}
		return values
	}
	for name, test := range map[string]struct {
		ask   []string
		has   []string
		lacks []string
		modes []string
	}{
		"as it is by default": {nil, []string{"<strong>App</strong> asks for access to your whole account", "Ada Stone (ada@example.test)"}, []string{`name="choice"`, "account-settings", "agent"}, []string{"rw", "r"}},
		"for a reader":        {[]string{"access_mode", "r"}, nil, nil, []string{"r"}},
		"for an admin":        {[]string{"access_mode", "rwa"}, nil, nil, []string{"rwa", "rw", "r"}},
		"for an agent":        {[]string{"agent_name", "<i>Bot"}, []string{"for the agent <strong>&lt;i&gt;Bot</strong>"}, []string{"<i>"}, []string{"rw", "r"}},
		"with settings":       {[]string{"account_settings", "1"}, []string{`id="account-settings"`}, nil, []string{"rw", "r"}},
		"of organizations":    {[]string{"scope", "org"}, []string{`value="` + p.org.ID + `"`, "Acme"}, []string{p.other.ID, p.room.ID}, []string{"rw", "r"}},
		"of workspaces":       {[]string{"scope", "workspace"}, []string{`value="` + p.room.ID + `"`, "Design Room", "Attic"}, []string{p.org.ID}, []string{"rw", "r"}},
		"of all of a kind":    {[]string{"scope", "all_shares"}, []string{"all your shares"}, []string{`name="choice"`}, []string{"rw", "r"}},
		"of a sly client":     {[]string{"client_id", "sly"}, []string{"&lt;script&gt;"}, []string{"<script"}, []string{"rw", "r"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := p.atConsent(t, test.ask...).page.Body
			for _, text := range test.has {
				if !strings.Contains(page, text) {
					t.Errorf("no %s in %s", text, page)
				}
			}
			for _, text := range test.lacks {
				if strings.Contains(page[strings.Index(page, "<main>"):], text) {
					t.Errorf("%s in %s", text, page)
				}
			}
			if diff := cmp.Diff(test.modes, modes(page)); diff != "" {
				t.Errorf("modes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConsentPageRefuses(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	for name, test := range map[string]struct {
		ask, submit []string
		status      int
	}{
		"nothing chosen":             {[]string{"scope", "workspace"}, []string{"access_mode", "r"}, 406},
		"another's organization":     {[]string{"scope", "org"}, []string{"choice", p.other.ID}, 403},
		"a higher mode":              {nil, []string{"access_mode", "rwa"}, 403},
		"a higher mode of a choice":  {[]string{"scope", "org"}, []string{"access_mode", "rwa", "choice", p.org.ID}, 403},
		"account settings not asked": {nil, []string{"account_settings", "1"}, 403},
		"the retired scope":          {[]string{"scope", "all_workflows"}, []string{"access_mode", "r"}, 406},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := p.atConsent(t, test.ask...)
			got := v.submit(t, append(test.submit, "decision", "approve")...)
			if got.Status != test.status || v.title(t) != "Allow access?" || v.problem() == "" || got.Header.Get("Location") != "" {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			if denied := v.submit(t, "decision", "deny"); denied.Status != http.StatusFound {
				t.Errorf("denying afterwards: %d %s", denied.Status, denied.Body)
			}
		})
	}
}

// A page elsewhere, or one in another browser, cannot decide.
func TestFormsAreTheirBrowsers(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	v := p.atConsent(t)
	stranger := p.visit(t, v.login)
	fields := v.hidden()
	send := func(cookie string, change ...string) reply {
		form := url.Values{"auth_request_id": fields["auth_request_id"], "proof": fields["proof"], "step": {"decide"}, "decision": {"approve"}}
		for i := 0; i < len(change); i += 2 {
			form.Set(change[i], change[i+1])
		}
		return p.raw(t, http.MethodPost, "/connect", form.Encode(), "Content-Type", formType, "Cookie", cookie)
	}
	for name, test := range map[string]struct {
		got    reply
		status int
	}{
		"no cookie":               {send(""), 403},
		"an unknown cookie":       {send("connect=x"), 403},
		"another browser":         {send(stranger.cookie), 403},
		"another browser's proof": {send(v.cookie, "proof", stranger.hidden().Get("proof")), 403},
		"no proof":                {send(v.cookie, "proof", ""), 403},
		"another request":         {send(v.cookie, "auth_request_id", parameter(t, p.login(t), "auth_request_id")), 403},
		"an unknown request":      {send(v.cookie, "auth_request_id", "x"), 404},
		"an unknown step":         {send(v.cookie, "step", "x"), 400},
		"JSON":                    {p.raw(t, http.MethodPost, "/connect", "{}", "Content-Type", "application/json", "Cookie", v.cookie), 404},
		"a code nobody asked for": {send(v.cookie, "step", "code", "code", ""), 401},
	} {
		if test.got.Status != test.status || test.got.Header.Get("Location") != "" {
			t.Errorf("%s: %d %s", name, test.got.Status, test.got.Body)
		}
	}
	if got := stranger.submit(t, "step", "decide", "decision", "approve"); got.Status != http.StatusUnauthorized || stranger.title(t) != "Sign in" {
		t.Errorf("not signed in: %d %s", got.Status, got.Body)
	}
	if got := send(v.cookie); got.Status != http.StatusFound {
		t.Errorf("the browser itself: %d %s", got.Status, got.Body)
	}
}

func TestPageHeaders(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	p.AddClient(emulator.Client{ID: "six", RedirectURIs: []string{"http://[::1]/callback"}})
	want := map[string]string{
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
	}
	check := func(name string, got reply, action string) {
		for header, value := range want {
			if got.Header.Get(header) != value {
				t.Errorf("%s: %s is %q", name, header, got.Header.Get(header))
			}
		}
		policy := got.Header.Get("Content-Security-Policy")
		if action != "" && (!strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || !strings.HasSuffix(policy, "; form-action "+action+"; frame-ancestors 'none'; base-uri 'none'")) {
			t.Errorf("%s: policy %s", name, policy)
		}
	}
	login := p.login(t)
	v := p.visit(t, login)
	check("sign-in", v.page, "'self'")
	cookie := v.page.Header.Get("Set-Cookie")
	if !strings.Contains(cookie, "; HttpOnly") || !strings.Contains(cookie, "; SameSite=Lax") || strings.Contains(cookie, "Secure") {
		t.Errorf("cookie %s", cookie)
	}
	if secure := p.raw(t, http.MethodGet, strings.Replace(login, "http:", "https:", 1), "").Header.Get("Set-Cookie"); !strings.Contains(secure, "; Secure") {
		t.Errorf("cookie over TLS %s", secure)
	}
	v.signIn(t, p.ada.Email, seed.DefaultPassword)
	check("consent", v.page, "'self' http://127.0.0.1:4711")
	check("the way back", v.submit(t, "decision", "approve", "access_mode", "rw"), "")
	check("the end", p.visit(t, login).page, "'self'")
	check("consent for an app elsewhere", p.atConsent(t, "redirect_uri", "https://app.test/back?a=1").page, "'self' https://app.test")
	check("consent for IPv6", p.atConsent(t, "client_id", "six", "redirect_uri", "http://[::1]:7/callback").page, "'self' http:")
	check("over", p.raw(t, http.MethodGet, "/connect/", ""), "'self'")
}

func TestRequestsEndOnThePages(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	v := p.atConsent(t)
	p.clock.forward(10 * time.Minute)
	if got := v.submit(t, "decision", "approve"); got.Status != http.StatusNotFound || v.title(t) != "This request has ended" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
