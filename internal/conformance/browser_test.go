package conformance_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// signIn opens a login URL and goes as far as the question whether to agree.
func (p page) signIn(loginURL string, s *fastiotest.Server, u seed.User) {
	p.t.Helper()
	p.do(chromedp.Navigate(loginURL))
	p.do(chromedp.SendKeys("#email", u.Email))
	p.keep("sign-in")
	p.accessible("sign-in")
	p.do(chromedp.SendKeys("#password", u.Password))
	p.press("#sign-in")
	if u.TwoFactor != "" {
		p.do(chromedp.SendKeys("#one-time-code", s.OneTimeCode(u.ID)))
		p.keep("second-factor")
		p.press("#verify")
	}
	p.text("#approve")
	p.keep("consent")
	p.accessible("consent")
}

// landed checks what the page of the login itself says in the end.
func (p page) landed(headline string) {
	p.t.Helper()
	if got := p.text("h1"); got != headline {
		p.t.Errorf("the browser ends at %q, not at %q", got, headline)
	}
}

const design = "4012345678901234567"

func TestBrowser(t *testing.T) {
	t.Parallel()
	type row struct {
		config oauth.Config
		factor string                             // the second one of the account
		before func(p page, s *fastiotest.Server) // the person signs in; may be nil
		decide func(p page, s *fastiotest.Server) // nil approves
		ends   string                             // the heading of the last page; "" is "Signed in"
		code   string                             // of the refusal
		scopes string                             // that were granted; "" is the whole account
	}
	named := oauth.Config{ClientName: "Conformance", AgentName: "Conformance's tests"}
	table.Each(t, map[string]row{
		"approves":                      {config: named},
		"approves with a second factor": {config: named, factor: "totp"},
		"denies": {
			decide: func(p page, _ *fastiotest.Server) { p.press("#deny") },
			ends:   "Access denied", code: oauth.CodeAccessDenied,
		},
		// The page shows the outcome, even if it is determined after the redirect.
		"sees a failure": {
			decide: func(p page, s *fastiotest.Server) {
				s.Fail(seed.Fault{Op: "oauth.Token", Status: http.StatusBadRequest, Body: `{"error":"invalid_grant"}`})
				p.press("#approve")
			},
			ends: "Sign-in failed", code: oauth.CodeInvalidGrant,
		},
		"narrows": {
			config: oauth.Config{Scopes: []oauth.Scope{oauth.ScopeWorkspace}, AccessMode: oauth.AccessModeWrite},
			before: func(_ page, s *fastiotest.Server) {
				s.AddWorkspace(seed.Workspace{Name: "Accounts"})
				s.AddWorkspace(seed.Workspace{ID: design, Name: "Design"})
			},
			decide: func(p page, _ *fastiotest.Server) {
				p.do(chromedp.Click(chromedp.CSS(`input[name=choice][value="` + design + `"]`)))
				p.do(chromedp.SetValue(chromedp.CSS("#access-mode"), "r"))
				p.keep("consent-narrowed")
				p.press("#approve")
			},
			scopes: "[workspace:" + design + ":r]",
		},
		// Whatever else comes to the address of the login, it waits for the right answer.
		"strays": {before: func(p page, s *fastiotest.Server) {
			callback := redirectURI(p.t, s)
			for _, stray := range []string{
				"/favicon.ico", "/", "/callback", "/callback?code=c&state=wrong", "/callback?error=access_denied&state=wrong",
				"/callback?error=access_denied",
			} {
				p.stray(strings.TrimSuffix(callback, "/callback") + stray)
			}
		}},
	}, func(t *testing.T, tc row) {
		p, s := openPage(t), fastiotest.New()
		grace := s.AddUser(seed.User{Email: "grace@example.test", FirstName: "Grace", TwoFactor: tc.factor})
		c, opened, ended := tc.config, make(chan string, 1), make(chan error, 1)
		c.BaseURL = s.Start(t)
		c.OpenBrowser = func(_ context.Context, address string) error {
			opened <- address
			return nil
		}
		var grant *oauth.Grant
		go func() {
			var err error
			grant, err = oauth.Login(t.Context(), c)
			ended <- err
		}()
		var loginURL string
		select {
		case loginURL = <-opened:
		case err := <-ended:
			t.Fatalf("no browser is opened: %v", err)
		}
		if tc.before != nil {
			tc.before(p, s)
		}
		person := grace
		if tc.config.Scopes != nil {
			person = s.User() // who has workspaces
		}
		p.signIn(loginURL, s, person)
		if tc.decide == nil {
			p.press("#approve")
		} else {
			tc.decide(p, s)
		}
		ends := cmp.Or(tc.ends, "Signed in")
		p.landed(ends)
		p.keep(strings.ToLower(strings.ReplaceAll(ends, " ", "-")))
		err := <-ended
		switch {
		case tc.code != "":
			wantRefusal(t, "the login", err, tc.code)
		case err != nil:
			t.Error(err)
		case tc.scopes != "":
			if got := fmt.Sprint(grant.Token.Scopes); got != tc.scopes {
				t.Errorf("%s was granted, want %s", got, tc.scopes)
			}
		default:
			wantToken(t, c.BaseURL, grant.Token, api.ID(person.ID))
		}
	})
}

// wantToken checks whose token it is.
func wantToken(t *testing.T, server string, token *oauth.Token, person api.ID) {
	t.Helper()
	client, err := fastio.New(fastio.WithBaseURL(server), fastio.WithTokenSource(api.StaticToken(token.AccessToken)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	if me, err := client.Account.Me(t.Context()); err != nil || me.ID != person {
		t.Errorf("the token is that of %v, not of %s: %v", me, person, err)
	}
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

func TestBrowserShowsTheCode(t *testing.T) {
	t.Parallel()
	p, s := openPage(t), fastiotest.New()
	c := oauth.Config{BaseURL: s.Start(t), ClientName: "Conformance", OpenMode: oauth.OpenModeNone}
	c.Prompt = func(_ context.Context, loginURL string) (string, error) {
		p.signIn(loginURL, s, s.User())
		p.press("#approve")
		code := p.text("#code")
		p.keep("code")
		return code, nil
	}
	grant, err := oauth.Login(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	wantToken(t, c.BaseURL, grant.Token, api.ID(s.User().ID))
}

// redirectURI is the redirect URI that the login sent to the server.
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

// page is a window of a Chromium without a screen, which knows nothing of other
// tests.
type page struct {
	t   *testing.T
	ctx context.Context
}

// patience bounds what a test waits for: on a busy machine a browser takes its
// time.
const patience = 2 * time.Minute

func openPage(t *testing.T) page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], // with an empty profile of its own
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1000, 750),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience) // a killed one leaves files behind
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("the browser does not close: %v", err)
		}
		stop()
		cancel()
	})
	p := page{t, ctx}
	p.do()
	return p
}

func chromium(t *testing.T) (path string) {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "This test needs a browser: install Chromium.")
	return ""
}

// do performs actions, each of which waits for what it acts on.
func (p page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// stray opens an address where there must be nothing good.
func (p page) stray(address string) {
	p.t.Helper()
	answer, err := chromedp.Run(p.ctx, chromedp.NavigateResponse(address))
	if err == nil && answer.Status < 400 { // without a body Chromium makes it an error of its own
		p.t.Errorf("%s answers %d", address, answer.Status)
	}
}

// press presses a button and waits for the page it leads to.
func (p page) press(element chromedp.CSS) {
	p.t.Helper()
	if _, err := chromedp.RunResponse(p.ctx, chromedp.Click(element)); err != nil {
		p.t.Fatal(err)
	}
}

// text returns what a person reads in an element.
func (p page) text(element chromedp.CSS) string {
	p.t.Helper()
	text, err := chromedp.Run(p.ctx, chromedp.Text(element))
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// keep leaves a picture of the page, by day and by night.
func (p page) keep(name string) {
	p.t.Helper()
	dir := os.Getenv("FASTIO_SCREENSHOTS")
	if dir == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		p.prefer(scheme)
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+scheme+".png"), picture, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

// prefer makes the browser ask pages for a color scheme, light or dark.
func (p page) prefer(scheme string) {
	p.t.Helper()
	feature := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{feature}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, media); err != nil {
		p.t.Fatal(err)
	}
}
