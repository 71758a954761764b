package conformance_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/oauth"
)

// begin starts a login and returns what the browser is to open, and how to wait
// for the end.
func begin(t *testing.T, c oauth.Config) (loginURL string, end func() (*oauth.Grant, error)) {
	t.Helper()
	type outcome struct {
		grant *oauth.Grant
		err   error
	}
	opened, ended := make(chan string, 1), make(chan outcome, 1)
	c.OpenBrowser = func(_ context.Context, address string) error {
		opened <- address
		return nil
	}
	go func() {
		grant, err := oauth.Login(t.Context(), c)
		ended <- outcome{grant, err}
	}()
	select {
	case loginURL = <-opened:
	case o := <-ended:
		t.Fatalf("no browser is opened: %v", o.err)
	}
	return loginURL, func() (*oauth.Grant, error) {
		o := <-ended
		return o.grant, o.err
	}
}

// signIn opens a login URL and goes as far as the question whether to agree.
func (p page) signIn(loginURL string, s *fastiotest.Server, u fastiotest.User) {
	p.t.Helper()
	p.visit(loginURL)
	p.fill("#email", u.Email)
	p.keep("sign-in")
	p.fill("#password", u.Password)
	p.press("#sign-in")
	if u.TwoFactor != "" {
		p.fill("#one-time-code", s.OneTimeCode(u.ID))
		p.keep("second-factor")
		p.press("#verify")
	}
	p.text("#approve")
	p.keep("consent")
}

// landed checks what the page of the login itself says in the end.
func (p page) landed(headline string) {
	p.t.Helper()
	if got := p.text("h1"); got != headline {
		p.t.Errorf("the browser ends at %q, not at %q", got, headline)
	}
}

func TestBrowserApproves(t *testing.T) {
	t.Parallel()
	for name, factor := range map[string]string{"with a password": "", "with a second factor": "totp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := openPage(t), fastiotest.New()
			grace := s.AddUser(fastiotest.User{Email: "grace@example.test", FirstName: "Grace", TwoFactor: factor})
			c := oauth.Config{BaseURL: s.Start(t), ClientName: "Conformance", AgentName: "Conformance's tests"}
			loginURL, end := begin(t, c)
			p.signIn(loginURL, s, grace)
			p.press("#approve")
			p.landed("Signed in")
			p.keep("success")
			grant, err := end()
			if err != nil {
				t.Fatal(err)
			}
			if me := whoIs(t, c.BaseURL, grant.Token); me != grace.ID {
				t.Errorf("the token is that of %s, not of %s", me, grace.ID)
			}
		})
	}
}

// whoIs returns whose token it is.
func whoIs(t *testing.T, server string, token *oauth.Token) api.ProfileID {
	t.Helper()
	client, err := fastio.New(fastio.WithBaseURL(server), fastio.WithTokenSource(api.StaticToken(token.AccessToken)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	me, err := client.Account.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return me.ID
}

// The system's browser is started with a page of its own, which leads to the login.
func TestBrowserStartsFromAPage(t *testing.T) {
	dir := t.TempDir()
	program, started := filepath.Join(dir, "browser"), filepath.Join(dir, "started")
	script := "#!/bin/sh\nprintf %s \"$1\" > " + started + ".new && mv " + started + ".new " + started + "\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", program)
	p, s := openPage(t), fastiotest.New()
	ended := make(chan error, 1)
	go func() {
		_, err := oauth.Login(t.Context(), oauth.Config{BaseURL: s.Start(t), OpenMode: oauth.OpenModePage})
		ended <- err
	}()
	var page []byte
	for len(page) == 0 && t.Context().Err() == nil {
		page, _ = os.ReadFile(started)
	}
	if !strings.HasPrefix(string(page), "file:///") {
		t.Errorf("the browser is started with %s", page)
	}
	p.signIn(string(page), s, s.User())
	p.press("#approve")
	p.landed("Signed in")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestBrowserDenies(t *testing.T) {
	t.Parallel()
	p, s := openPage(t), fastiotest.New()
	loginURL, end := begin(t, oauth.Config{BaseURL: s.Start(t)})
	p.signIn(loginURL, s, s.User())
	p.press("#deny")
	p.landed("Access denied")
	p.keep("denied")
	_, err := end()
	wantRefusal(t, "the login", err, oauth.CodeAccessDenied)
}

// The page tells how it ended, even when it ends after the browser's part.
func TestBrowserSeesAFailure(t *testing.T) {
	t.Parallel()
	p, s := openPage(t), fastiotest.New()
	loginURL, end := begin(t, oauth.Config{BaseURL: s.Start(t)})
	p.signIn(loginURL, s, s.User())
	s.Fail(fastiotest.Fault{Op: "oauth.Token", Status: http.StatusBadRequest, Body: `{"error":"invalid_grant"}`})
	p.press("#approve")
	p.landed("Sign-in failed")
	p.keep("failed")
	_, err := end()
	wantRefusal(t, "the login", err, oauth.CodeInvalidGrant)
}

func TestBrowserNarrows(t *testing.T) {
	t.Parallel()
	p, s := openPage(t), fastiotest.New()
	s.AddWorkspace(fastiotest.Workspace{Name: "Accounts"})
	design := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	loginURL, end := begin(t, oauth.Config{
		BaseURL: s.Start(t), Scopes: []oauth.Scope{oauth.ScopeWorkspace}, AccessMode: oauth.AccessModeWrite,
	})
	p.signIn(loginURL, s, s.User())
	p.tick(chromedp.CSS(`input[name=choice][value="` + string(design.ID) + `"]`))
	p.choose("#access-mode", "r")
	p.keep("consent-narrowed")
	p.press("#approve")
	p.landed("Signed in")
	grant, err := end()
	if err != nil {
		t.Fatal(err)
	}
	want := []oauth.GrantedScope{{
		EntityType: oauth.EntityTypeWorkspace, EntityID: design.ID, AccessMode: oauth.AccessModeRead,
	}}
	if diff := cmp.Diff(want, grant.Token.Scopes); diff != "" {
		t.Errorf("what was granted (-want +got):\n%s", diff)
	}
}

func TestBrowserShowsTheCode(t *testing.T) {
	t.Parallel()
	p, s := openPage(t), fastiotest.New()
	c := oauth.Config{BaseURL: s.Start(t), ClientName: "Conformance"}
	grant, err := oauth.LoginWithCode(t.Context(), c, func(_ context.Context, loginURL string) (string, error) {
		p.signIn(loginURL, s, s.User())
		p.press("#approve")
		code := p.text("#code")
		p.keep("code")
		return code, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if me := whoIs(t, c.BaseURL, grant.Token); me != s.User().ID {
		t.Errorf("the token is that of %s", me)
	}
}

// Whatever else comes to the address of the login, it waits for the right answer.
func TestBrowserStrays(t *testing.T) {
	t.Parallel()
	p, s := openPage(t), fastiotest.New()
	loginURL, end := begin(t, oauth.Config{BaseURL: s.Start(t)})
	callback := redirectURI(t, s)
	for _, stray := range []string{
		"/favicon.ico", "/", "/callback", "/callback?code=c&state=wrong", "/callback?error=access_denied&state=wrong",
		"/callback?error=access_denied",
	} {
		p.stray(strings.TrimSuffix(callback, "/callback") + stray)
	}
	p.signIn(loginURL, s, s.User())
	p.press("#approve")
	p.landed("Signed in")
	if _, err := end(); err != nil {
		t.Error(err)
	}
}

// redirectURI is where the login waits, as it told the server.
func redirectURI(t *testing.T, s *fastiotest.Server) string {
	t.Helper()
	for _, r := range s.Requests() {
		q, err := url.ParseQuery(r.Query)
		if err != nil {
			t.Fatal(err)
		}
		if redirect := q.Get("redirect_uri"); redirect != "" {
			return redirect
		}
	}
	t.Fatal("no redirect URI was sent")
	return ""
}
