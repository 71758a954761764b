package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene()
		s.config.Scopes = []oauth.Scope{oauth.ScopeOrg, oauth.ScopeAllShares}
		s.config.AccessMode, s.config.AccountSettings = oauth.AccessModeRead, true
		s.config.AgentName, s.config.Resource = "builder-1", "https://reader.test/x"
		s.config.DeviceName, s.config.DeviceType = "My laptop", "cli"
		var shown []string
		s.config.ShowURL = func(_ context.Context, address string) { shown = append(shown, address) }
		var g *oauth.Grant
		if d := took(func() { g = s.mustLogin(t) }); d > 0 {
			t.Errorf("the sign-in took %s, want no wait", d)
		}

		want := &oauth.Grant{ClientID: g.ClientID, AccountSettingsWithheld: true, Token: &oauth.Token{
			AccessToken: g.Token.AccessToken, TokenType: "Bearer", RefreshToken: g.Token.RefreshToken,
			Expiry: time.Now().Add(time.Hour).Round(0), Scope: oauth.ScopeOrg, Scopes: []oauth.GrantedScope{
				{EntityType: oauth.EntityTypeOrg, EntityID: api.ID(s.Org().ID), AccessMode: oauth.AccessModeRead},
			},
		}}
		if diff := cmp.Diff(want, g); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !slices.Equal(shown, []string{s.visited}) || !strings.HasPrefix(s.visited, origin+"/connect?x=a%20b&") {
			t.Errorf("the person is shown %q, want %q", shown, s.visited)
		}
		q := s.started()[0]
		state, challenge := q.Get("state"), q.Get("code_challenge")
		if diff := cmp.Diff(url.Values{
			"response_type": {"code"}, "response_format": {"json"}, "client_id": {g.ClientID},
			"redirect_uri": {"http://" + receiverHost + "/callback"}, "state": {state},
			"code_challenge": {challenge}, "code_challenge_method": {"S256"},
			"scope": {"org all_shares"}, "access_mode": {"r"}, "account_settings": {"1"},
			"agent_name": {"builder-1"}, "resource": {"https://reader.test/x"},
		}, q); diff != "" {
			t.Errorf("the authorization (-want +got):\n%s", diff)
		}
		forms := s.tokenForms()
		if diff := cmp.Diff([]url.Values{{
			"grant_type": {"authorization_code"}, "client_id": {g.ClientID}, "code": forms[0]["code"],
			"redirect_uri": {"http://" + receiverHost + "/callback"}, "code_verifier": forms[0]["code_verifier"],
			"resource": {"https://reader.test/x"}, "device_name": {"My laptop"}, "device_type": {"cli"},
		}}, forms); diff != "" {
			t.Errorf("the exchange (-want +got):\n%s", diff)
		}
		(<-s.pages).shows(t, 200, "Signed in")
		s.closed(t, time.Second)
		checkRecord(t, s, g)
	})
}

func checkRecord(t *testing.T, s *scene, g *oauth.Grant) {
	t.Helper()
	record := stored[members](t, s.config.Store)
	token := record["token"].(map[string]any)
	if token["issued"] == nil || token["expiry"] == nil {
		t.Errorf("the record lacks the times of the token: %v", token)
	}
	registered := clientOf(t, s.config.Store)
	if registered["registration_token"] == "" {
		t.Error("the registration token is lost")
	}
	delete(token, "issued")
	delete(token, "expiry")
	if diff := cmp.Diff(map[string]any{
		"version": 1.0, "address": origin + "/api",
		"client": map[string]any{
			"id": g.ClientID, "issuer": origin, "name": "Acme Sync", "redirect_uri": "http://127.0.0.1/callback",
			"registration_token": registered["registration_token"],
		},
		"server": map[string]any{"issuer": origin},
		"token": map[string]any{
			"access_token": g.Token.AccessToken.Reveal(), "refresh_token": g.Token.RefreshToken.Reveal(),
			"scope": "org", "scopes": []any{"org:" + s.Org().ID + ":r"}, "client_id": g.ClientID,
			"resource": "https://reader.test/x",
		},
	}, record); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	want(t, oauth.TokenSource(s.config), g.Token.AccessToken.Reveal())
}

func TestLoginFails(t *testing.T) {
	t.Parallel()
	const denied, failed = "Access denied", "Sign-in failed"
	const noURL = "oauth.Login: the login address is not an http or https URL"
	address := func(url string) func(*scene) {
		return answers("oauth.StartAuthorization", `{"login_url":"`+url+`"}`)
	}
	redirects := seed.Fault{
		Op: "oauth.Token", Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {origin + "/elsewhere"}},
	}
	type row struct {
		change func(s *scene)
		want   string // of the error
		page   string // what the person reads; "" if the browser is not sent back
		code   string // of an oauth.Error
		is     error
	}
	table.Bubbles(t, map[string]row{
		"the person denies": {
			denies("access_denied"), "oauth.Login: access_denied: <b>No</b> & no", denied, oauth.CodeAccessDenied, nil,
		},
		"the server refuses in the browser": {
			denies("invalid_scope"), "oauth.Login: invalid_scope: <b>No</b> & no", failed, oauth.CodeInvalidScope, nil,
		},
		"the exchange is refused": {
			refuses("oauth.Token", 400, "invalid_grant"),
			"oauth.Exchange: invalid_grant: It is not so. (status 400)", failed, oauth.CodeInvalidGrant, nil,
		},
		"the exchange is redirected": {
			meets(redirects),
			"oauth.Exchange: a redirect that is not followed, as of a wrong address or a proxy (status 307)", failed, "", nil,
		},
		"the exchange fails": {
			meets(seed.Fault{Op: "oauth.Token", Status: 503, Body: "{}"}),
			"oauth.Exchange: Service Unavailable (status 503)", failed, "", api.ErrUnavailable,
		},
		"the login address is left out": {
			answers("oauth.StartAuthorization", `{"result":true,"auth_request_id":"1"}`),
			"oauth.StartAuthorization: the response holds no login URL", "", "", nil,
		},
		"the login address is no page": {address("file:///etc/passwd"), noURL, "", "", nil},
		"the program is registered without an id": {
			answers("oauth.Register", `{"result":true}`), "oauth.Register: the response holds no client id", "", "", nil,
		},
		"the name is refused": {
			refuses("oauth.Register", 400, "invalid_client_metadata"),
			"oauth.Register: invalid_client_metadata: It is not so. (status 400)", "", "invalid_client_metadata", nil,
		},
		"the server has neither metadata nor the documented paths": {
			func(s *scene) {
				for _, op := range []seed.Op{"oauth.ServerMetadata", "oauth.Register"} {
					s.Fail(seed.Fault{Op: op, Status: 404, Body: "{}"})
				}
			},
			"oauth.Login: https://platform.test publishes no metadata of an authorization server: " +
				"oauth.Register: Not Found (status 404)", "", "", api.ErrNotFound,
		},
		"no browser opens": {
			opens(nil),
			"oauth.Login: no browser could be started: set Config.Prompt, with which the user signs in on any machine",
			"", "", oauth.ErrNoBrowser,
		},
		"the caller's browser does not open": {
			opens(func(context.Context, string) error { return io.ErrClosedPipe }),
			"oauth.Login: the browser could not be opened: io: read/write on closed pipe", "", "", io.ErrClosedPipe,
		},
	}, func(t *testing.T, tc row) {
		s := newScene()
		tc.change(s)
		g, err := s.login(t.Context())
		if g != nil || err == nil || err.Error() != "fastio: "+tc.want || codeOf(err) != tc.code ||
			errors.Is(err, oauth.ErrDenied) != (tc.page == denied) {
			t.Errorf("got %v, %v\nwant %s of code %q", g, err, tc.want, tc.code)
		}
		if tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("got %v, want %v", err, tc.is)
		}
		if n := len(s.tokenForms()); n > 1 || slices.ContainsFunc(s.Requests(), func(r seed.Request) bool {
			return r.Path == "/elsewhere"
		}) {
			t.Errorf("the code was sent %d times", n)
		}
		if record := stored[members](t, s.config.Store); record["token"] != nil {
			t.Errorf("a token was stored: %v", record)
		}
		if tc.page == "" {
			s.closed(t, 0)
			return
		}
		s.closed(t, time.Second)
		(<-s.pages).shows(t, 200, tc.page)
	})
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*oauth.Error](err); ok {
		return e.Code
	}
	return ""
}

// Whether another try may help shows in the kind of the error, and in its text.
func TestLoginWithoutMetadata(t *testing.T) {
	t.Parallel()
	const later = "the server does not return its metadata now, so try again later"
	type row struct {
		status int
		want   string
		is     error
	}
	table.Bubbles(t, map[string]row{
		"a rate limit":              {429, later + ": oauth.ServerMetadata: Too Many Requests (status 429)", api.ErrRateLimited},
		"a server that breaks down": {500, later + ": oauth.ServerMetadata: Internal Server Error (status 500)", api.ErrServer},
		"a server that is down":     {503, later + ": oauth.ServerMetadata: Service Unavailable (status 503)", api.ErrUnavailable},
		"a document of something else": {
			200, `the metadata cannot be used: oauth: the authorization server of "` + origin + `" does not name itself`, nil,
		},
	}, func(t *testing.T, tc row) {
		s := newScene()
		s.Fail(seed.Fault{Op: "oauth.ServerMetadata", Status: tc.status, Body: "{}"})
		_, err := s.login(t.Context())
		if err == nil || err.Error() != "fastio: oauth.Login: "+tc.want || tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("got %v", err)
		}
		e, ok := errors.AsType[*oauth.IssuerError](err)
		if ok != (tc.is == nil) || ok && *e != (oauth.IssuerError{Asked: origin}) {
			t.Errorf("the error is %#v", err)
		}
	})
}

// A denial is the same error in whatever way the user was asked.
func TestDenial(t *testing.T) {
	t.Parallel()
	pastes := func(pasted string, err error) func(*scene) {
		return func(s *scene) {
			s.config.OpenMode = oauth.OpenModeNone
			s.config.Prompt = func(context.Context, string) (string, error) { return pasted, err }
		}
	}
	table.Bubbles(t, map[string]func(*scene){
		"in the browser":       denies("access_denied"),
		"in a pasted address":  pastes("http://127.0.0.1/callback?error=access_denied", nil),
		"of the Prompt itself": pastes("", oauth.ErrDenied),
		"at another device": func(s *scene) {
			s.config.OpenMode = oauth.OpenModeNone
			s.config.ShowDeviceCode = func(_ context.Context, d oauth.DeviceCode) error {
				_, err := s.SignIns.Approve(d.VerificationURIComplete, seed.Decision{Deny: true})
				return err
			}
		},
	}, func(t *testing.T, asked func(*scene)) {
		s := newScene(func(o *seed.Options) { o.OAuth.DeviceFlow = true })
		asked(s)
		g, err := s.login(t.Context())
		if g != nil || !errors.Is(err, oauth.ErrDenied) || !strings.HasPrefix(err.Error(), "fastio: oauth.Login: ") {
			t.Errorf("got %v, %v", g, err)
		}
	})
}

// A wrong Config is rejected before anything is sent.
func TestLoginRejectsAWrongConfig(t *testing.T) {
	t.Parallel()
	type row struct {
		change func(c *oauth.Config)
		field  string
	}
	longPage := strings.Repeat("x", 256<<10+1)
	table.Each(t, map[string]row{
		"an issuer without a host":  {func(c *oauth.Config) { c.Issuer = "fast.io" }, "Config.Issuer"},
		"a document without TLS":    {func(c *oauth.Config) { c.ClientID = "http://acme.test/client.json" }, "client_id"},
		"a document with a user":    {func(c *oauth.Config) { c.ClientID = "https://u@acme.test/client.json" }, "client_id"},
		"a document with fragment":  {func(c *oauth.Config) { c.ClientID = "https://acme.test/client.json#x" }, "client_id"},
		"a long name":               {func(c *oauth.Config) { c.ClientName = strings.Repeat("é", 65) }, "client_name"},
		"a scope of two words":      {func(c *oauth.Config) { c.Scopes = []oauth.Scope{"a b"} }, "scope"},
		"an unknown access mode":    {func(c *oauth.Config) { c.AccessMode = "x" }, "access_mode"},
		"a resource that is no URL": {func(c *oauth.Config) { c.Resource = "x" }, "resource"},
		"a long device name":        {func(c *oauth.Config) { c.DeviceName = strings.Repeat("x", 129) }, "device_name"},
		"a path without a slash":    {func(c *oauth.Config) { c.RedirectPath = "callback" }, "Config.RedirectPath"},
		"a path with a query":       {func(c *oauth.Config) { c.RedirectPath = "/callback?x=1" }, "Config.RedirectPath"},
		"a path with dots":          {func(c *oauth.Config) { c.RedirectPath = "/a/../callback" }, "Config.RedirectPath"},
		"a negative port":           {func(c *oauth.Config) { c.RedirectPort = -1 }, "Config.RedirectPort"},
		"a port that is too high":   {func(c *oauth.Config) { c.RedirectPort = 65536 }, "Config.RedirectPort"},
		"an unknown open mode":      {func(c *oauth.Config) { c.OpenMode = "x" }, "Config.OpenMode"},
		"a long page":               {func(c *oauth.Config) { c.SuccessPage = longPage }, "Config.SuccessPage"},
		"a page that is not UTF-8":  {func(c *oauth.Config) { c.FailurePage = "\xff" }, "Config.FailurePage"},
		"a page that is broken":     {func(c *oauth.Config) { c.DeniedPage = "{{.Program" }, "Config.DeniedPage"},
		"a page that has an error":  {func(c *oauth.Config) { c.PendingPage = "{{.Programm}}" }, "Config.PendingPage"},
		"a page that does not end":  {func(c *oauth.Config) { c.OtherPage = `<p title="{{.Program}}` }, "Config.OtherPage"},
		"a parameter of the protocol": {
			func(c *oauth.Config) { c.Parameters = url.Values{"state": {"x"}} }, "Config.Parameters",
		},
	}, func(t *testing.T, tc row) {
		s := newScene()
		tc.change(&s.config)
		for op, sign := range map[string]func() error{
			"oauth.Login":         func() error { return fail(s.login(t.Context())) },
			"oauth.LoginIfNeeded": func() error { _, _, err := s.loginIfNeeded(t.Context()); return err },
		} {
			err := sign()
			e, ok := errors.AsType[*api.InputError](err)
			if !ok || e.Op != op || !stub.Named(err, tc.field) || len(s.Requests()) > 0 {
				t.Errorf("got %v after %v, want an input error about %s", err, s.Requests(), tc.field)
			}
		}
	})
}

// A program is registered once for each name, redirect and account, and anew if the
// server does not know it any more. One that says so in the browser alone is asked
// after a login without an answer.
func TestRegistrations(t *testing.T) {
	t.Parallel()
	type login struct {
		change        func(s *scene)
		fails         bool
		registrations int // up to then
	}
	config := func(change func(c *oauth.Config)) func(*scene) { return func(s *scene) { change(&s.config) } }
	forgets := func(times int) func(*scene) {
		return meets(seed.Fault{
			Op: "oauth.StartAuthorization", Count: times, Status: 406,
			Body: `{"result":false,"error":{"code":10571,"params":[{"name":"client_id","kind":"invalid"}]}}`,
		})
	}
	refused := func(code string) func(*scene) { return refuses("oauth.Token", 401, code) }
	same, own := func(*scene) {}, func(s *scene) { s.config.BaseURL = foreign }
	unanswered := opens(opensNothing)
	cancelled := func(s *scene) {
		s.config.OpenBrowser = func(context.Context, string) error { s.cancel(); return nil }
	}
	table.Bubbles(t, map[string][]login{
		"once for each name, redirect and account": {
			{same, false, 1},
			{same, false, 1},
			{config(func(c *oauth.Config) { c.ClientName = "Acme Backup" }), false, 2},
			{config(func(c *oauth.Config) { c.RedirectPath = "/done" }), false, 3},
			{config(func(c *oauth.Config) { c.Account = "work" }), false, 4},
			{func(s *scene) {
				s.AddOAuthClient(seed.OAuthClient{ID: "own", RedirectURIs: []string{"http://127.0.0.1/callback"}})
				s.config.ClientID, s.config.RedirectPath = "own", ""
			}, false, 4},
		},
		"anew if the server has forgotten it":  {{same, false, 1}, {forgets(1), false, 2}},
		"anew no more than once":               {{same, false, 1}, {forgets(2), true, 2}},
		"not with an id of the caller's":       {{config(func(c *oauth.Config) { c.ClientID = "gone" }), true, 0}},
		"anew after no answer at its own page": {{own, false, 1}, {unanswered, true, 1}, {same, false, 2}},
		"anew after a cancellation there":      {{own, false, 1}, {cancelled, true, 1}, {same, false, 2}},
		"once if the platform does not answer": {{same, false, 1}, {unanswered, true, 1}, {same, false, 1}},
		"anew after invalid_client":            {{refused(oauth.CodeInvalidClient), true, 1}, {same, false, 2}},
		"anew after unauthorized_client":       {{refused(oauth.CodeUnauthorizedClient), true, 1}, {same, false, 2}},
		"once with invalid_grant":              {{refused(oauth.CodeInvalidGrant), true, 1}, {same, false, 1}},
		"once with access_denied":              {{denies(oauth.CodeAccessDenied), true, 1}, {same, false, 1}},
	}, func(t *testing.T, logins []login) {
		s := newScene()
		for i, l := range logins {
			synctest.Wait() // for the browser of the sign-in before
			s.again()
			s.Heal()
			s.deny = ""
			l.change(s)
			var ctx context.Context
			ctx, s.cancel = context.WithCancel(t.Context())
			_, err := s.login(ctx)
			s.cancel()
			if n := len(sent(s.Server, "oauth.Register")); (err != nil) != l.fails || n != l.registrations {
				t.Errorf("login %d: got %v after %d registrations, want %d", i+1, err, n, l.registrations)
			}
		}
	})
}

// clientOf returns the registration that a store remembers.
func clientOf(t *testing.T, store oauth.Store) map[string]any {
	t.Helper()
	client, _ := stored[members](t, store)["client"].(map[string]any)
	return client
}

// A new sign-in ends what was known of the last refresh token, but not of the
// server.
func TestLoginReplacesTheToken(t *testing.T) {
	t.Parallel()
	type row struct {
		address, issuer string
		keeps           bool
	}
	table.Bubbles(t, map[string]row{
		"of the same server":              {origin + "/api", origin, true},
		"of another server":               {origin + "/api", "https://other.test", false},
		"of a server at another platform": {"https://other.test", origin, false},
	}, func(t *testing.T, tc row) {
		s := newScene()
		put(t, s.config.Store, defaultAccount, `{"version":1,"address":"`+tc.address+`","client":{},
				"server":{"issuer":"`+tc.issuer+`"},"token":{"access_token":"old","client_id":"old"},
				"refresh":{"keeps":true,"pending":true,"dead":true}}`)
		s.mustLogin(t)
		want := map[string]any(nil)
		if tc.keeps {
			want = map[string]any{"keeps": true}
		}
		got, _ := stored[members](t, s.config.Store)["refresh"].(map[string]any)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A store that cannot keep the tokens is found out before the person is asked,
// also for a program that has nothing else to keep.
func TestLoginChecksTheStoreFirst(t *testing.T) {
	t.Parallel()
	type row struct {
		change func(c *oauth.Config)
		record string
	}
	table.Bubbles(t, map[string]row{
		"whose account is nameless": {func(c *oauth.Config) { c.Account = " " }, `{"version":1}`},
		"that cannot be written": {
			func(c *oauth.Config) {
				c.Store = (&hookedStore{Store: c.Store}).failAfter(0, io.ErrClosedPipe)
			}, `{"version":1}`,
		},
		"that only fails when it is written": {
			func(c *oauth.Config) {
				c.Store = &hookedStore{Store: c.Store, onSave: func(int, func() error) error { return syscall.ENOSPC }}
			}, `{"version":1}`,
		},
		"of a later version": {func(*oauth.Config) {}, `{"version":99}`},
	}, func(t *testing.T, tc row) {
		s := newScene()
		s.AddOAuthClient(seed.OAuthClient{ID: "client", RedirectURIs: []string{"http://127.0.0.1/callback"}})
		s.config.ClientID = "client"
		memory := s.config.Store
		put(t, s.config.Store, defaultAccount, tc.record)
		tc.change(&s.config)
		if g, err := s.login(t.Context()); g != nil || err == nil || len(s.Requests()) > 0 {
			t.Errorf("got %v, %v after %v", g, err, s.Requests())
		}
		holds(t, memory, defaultAccount, tc.record)
	})
}

// A store that fails last loses nothing: the program gets the tokens.
func TestTokensThatCannotBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene()
		full := errors.New("the disk is full")
		s.config.Store = newHookedStore().failAfter(2, full)
		g, err := s.login(t.Context())
		if !errors.Is(err, full) || g == nil || g.Token.AccessToken.IsZero() {
			t.Errorf("got %v, %v", g, err)
		}
		(<-s.pages).shows(t, 200, "Sign-in failed")
	})
}

// A server that is not the platform gets the request from the browser itself.
func TestForeignServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(announced)
		s.config.BaseURL, s.config.Resource, s.config.AccessMode = foreign, "https://reader.test/", oauth.AccessModeRead
		s.config.Parameters = url.Values{"login_hint": {"ada@example.test"}}
		s.config.SuccessPage = "<h1>Welcome</h1>"
		var opened string
		s.config.ShowURL = func(_ context.Context, address string) { opened = address }
		g := s.mustLogin(t)
		(<-s.pages).shows(t, 200, "Welcome")
		const endpoints = foreign + "/api/current/oauth/"
		address, q, _ := splitQuery(opened)
		if diff := cmp.Diff(url.Values{
			"tenant": {"7"}, "login_hint": {"ada@example.test"}, "access_mode": {"r"}, "response_type": {"code"},
			"client_id":    {g.ClientID},
			"redirect_uri": {"http://" + receiverHost + "/callback"}, "state": q["state"],
			"code_challenge": q["code_challenge"], "code_challenge_method": {"S256"}, "resource": {"https://reader.test/"},
		}, q); diff != "" || address != endpoints+"authorize" {
			t.Errorf("the browser is sent to %s (-want +got):\n%s", address, diff)
		}
		if scopes := fmt.Sprint(g.Token.Scopes); scopes != "[user:*:r]" || g.AdminWithheld || g.AccountSettingsWithheld {
			t.Errorf("got %+v", g)
		}
		for _, r := range s.Requests() {
			if strings.HasPrefix(r.Path, "/current/") {
				t.Errorf("the documented path was asked: %s", r.Path)
			}
		}
		if diff := cmp.Diff(map[string]any{
			"issuer": foreign, "names_issuer": true, "authorize": endpoints + "authorize?tenant=7",
			"token": endpoints + "token", "register": endpoints + "register", "revoke": endpoints + "revoke",
		}, stored[members](t, s.config.Store)["server"]); diff != "" {
			t.Errorf("the record (-want +got):\n%s", diff)
		}
	})
}

// A run that needs no sign-in returns the grant as it was stored.
func TestWithheld(t *testing.T) {
	t.Parallel()
	type row struct {
		mode           oauth.AccessMode
		settings       bool
		scopes         string // of the token
		administers    string // what the platform says of it
		admin, settled bool
	}
	table.Bubbles(t, map[string]row{
		"nothing of nothing":                {"", true, `[]`, "", false, true},
		"nothing that was asked for":        {oauth.AccessModeWrite, false, `["org:1:r"]`, "", false, false},
		"admin of which nothing is said":    {oauth.AccessModeAdmin, true, "null", "", true, false},
		"nothing when the platform says so": {oauth.AccessModeAdmin, false, `["user:*:rw"]`, "true", false, false},
		"admin, as the platform says":       {oauth.AccessModeAdmin, false, `["user:*:rwa"]`, "false", true, false},
		"nothing, by the token alone":       {oauth.AccessModeAdmin, false, `["org:1:r","org:2:rwa"]`, "", false, false},
		"admin, by the token alone":         {oauth.AccessModeAdmin, false, `["org:1:rw"]`, "", true, false},
		"the settings":                      {"", true, `["user:*:rw"]`, "", false, true},
		"no settings that were granted":     {"", true, `["user:*:rw","userdetails:*:rw"]`, "", false, false},
		"both":                              {oauth.AccessModeAdmin, true, `["user:*:rw"]`, "false", true, true},
	}, func(t *testing.T, tc row) {
		s := newScene()
		answers("oauth.Token", `{"access_token":"a","refresh_token":"r","expires_in":3600,"scopes":`+tc.scopes+`}`)(s)
		if tc.administers == "" {
			meets(seed.Fault{Op: "oauth.TokenScopes", Status: 404})(s)
		} else {
			answers("oauth.TokenScopes", `{"result":true,"admin":`+tc.administers+`}`)(s)
		}
		s.config.AccessMode, s.config.AccountSettings = tc.mode, tc.settings
		want := s.mustLogin(t)
		if want.AdminWithheld != tc.admin || want.AccountSettingsWithheld != tc.settled {
			t.Errorf("got %+v", want)
		}
		before := len(s.Requests())
		_, g, err := s.loginIfNeeded(t.Context())
		if diff := cmp.Diff(want, g); diff != "" || err != nil || len(s.Requests()) > before {
			t.Errorf("the next run: %v (-want +got):\n%s", err, diff)
		}
		time.Sleep(2 * time.Hour) // until the token is refreshed
		s.config.AccessMode, s.config.AccountSettings = oauth.AccessModeAdmin, true
		_, g, err = s.loginIfNeeded(t.Context())
		if asked := tc.mode == oauth.AccessModeAdmin; err != nil || g.AdminWithheld != (!asked || tc.admin) {
			t.Errorf("a version that wants more gets %+v, %v", g, err)
		}
	})
}

// Every wait ends with the context. A server that does not answer fails the sign-in
// soon, with what it was asked. A person who does not answer is waited for as long as
// the request lasts. A prompt that blocks does not block the program.
func TestLoginWaits(t *testing.T) {
	t.Parallel()
	const none, late = ": no response came from the browser", " took longer than 30s"
	const metadata, consent = ": asking for the metadata of the authorization server" + late, 10 * time.Minute
	const login, stateless = ": asking for the login URL", none + " but one without the state of the sign-in"
	const denied = " (access_denied: <b>No</b> & no)"
	const step = 30 * time.Second
	answered := func(deny string) func(s *scene) {
		return func(s *scene) { s.deny, s.withoutState = deny, true }
	}
	type row struct {
		change func(s *scene)
		end    time.Duration // 0 if only the caller ends it
		want   string        // the error, before the one of the context
		after  string        // and after it

		granted bool // nothing of the sign-in was left to do
	}
	table.Bubbles(t, map[string]row{
		"for the resource": {func(s *scene) {
			hangs("oauth.ProtectedResource")(s)
			opens(opensNothing)(s)
		}, 10*time.Second + consent, none, "", false},
		"for the server":                      {hangs("oauth.ServerMetadata"), step, metadata, "", false},
		"for the registration":                {hangs("oauth.Register"), step, ": registering the program" + late, "", false},
		"for the authorization":               {hangs("oauth.StartAuthorization"), step, login + late, "", false},
		"for the person":                      {opens(opensNothing), consent, none, "", false},
		"after a denial without a state":      {answered("access_denied"), consent, stateless, denied, false},
		"after another error without a state": {answered("server_error"), consent, none, "", false},
		"after a code without a state":        {answered(""), consent, none, "", false},
		"for a prompt": {func(s *scene) {
			s.config.OpenBrowser = nil
			s.config.Prompt = func(context.Context, string) (string, error) { time.Sleep(time.Hour); return "x", nil }
		}, consent, "", "", false},
		"for a locked store": {func(s *scene) {
			hold(s.config.Store, func(record string) string { time.Sleep(time.Minute); return record })
		}, 0, "", "", false},
		"for a browser that runs": {
			opens(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }), consent, none, "", false,
		},
		"for a store that ignores its context": {func(s *scene) {
			s.config.Store = &hookedStore{Store: s.config.Store, onLock: func() error { time.Sleep(time.Minute); return nil }}
		}, 0, "", "", false},
		"for a key that ignores its context": {func(s *scene) {
			s.config.Store = &hookedStore{Store: s.config.Store, onLoad: func() error { time.Sleep(time.Minute); return nil }}
		}, 0, "", "", false},
		"for a program that shows the address": {func(s *scene) {
			s.config.ShowURL = func(context.Context, string) { time.Sleep(time.Hour) }
		}, consent, none, "", false},
		"for the exchange":                 {hangs("oauth.Token"), step, ": exchanging the code for tokens" + late, "", false},
		"for a browser that reads no page": {writes(get("code=x&state={state}")), 0, "", "", false},
		"for the scopes": {func(s *scene) {
			s.config.AccessMode = oauth.AccessModeAdmin
			hangs("oauth.TokenScopes")(s)
		}, step, "", "", true},
		"for a request that is slow": {writes("GET /callback HTTP/1.1\r\n"), consent, none, "", false},
	}, func(t *testing.T, tc row) {
		rounds := []bool{true} // cancelled by the caller
		if tc.end > 0 {
			rounds = append(rounds, false)
		}
		for _, cancelled := range rounds {
			s, end, is := newScene(), tc.end, context.DeadlineExceeded
			tc.change(s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if cancelled {
				end, is = time.Second, context.Canceled
				time.AfterFunc(end, cancel)
			}
			var g *oauth.Grant
			var err error
			if d := took(func() { g, err = s.login(ctx) }) - end; d < 0 || d > 50*time.Millisecond {
				t.Errorf("it took %s more than %s", d, end)
			}
			if tc.granted != (g != nil) || tc.granted == errors.Is(err, is) || !tc.granted && len(s.tokenForms()) > 0 {
				t.Errorf("got %v, %v after %d exchanges", g, err, len(s.tokenForms()))
			}
			text := err != nil && strings.HasPrefix(err.Error(), "fastio: oauth.Login"+tc.want) &&
				strings.HasSuffix(err.Error(), tc.after)
			if !cancelled && !text && !tc.granted || (codeOf(err) == "access_denied") != (tc.after != "") {
				t.Errorf("got %v, want %s ... %s", err, tc.want, tc.after)
			}
			time.Sleep(time.Hour) // until the prompt returns, and those who hold the store
		}
	})
}

// Another process that refreshes, or hangs, delays neither the check of the store nor the
// use of the registration in it.
func TestLoginWhileAnotherProcessRefreshes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene()
		s.mustLogin(t)
		synctest.Wait() // for the browser
		s.again()
		start, open := time.Now(), s.config.OpenBrowser
		hold(s.config.Store, func(record string) string { time.Sleep(time.Minute); return record })
		s.config.OpenBrowser = func(ctx context.Context, address string) error {
			if waited := time.Since(start); waited > time.Second {
				t.Errorf("the browser opens after %v", waited)
			}
			return open(ctx, address)
		}
		g := s.mustLogin(t)
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("the tokens were stored after %v", waited)
		}
		want(t, oauth.TokenSource(s.config), g.Token.AccessToken.Reveal())
	})
}

// The page waits for the exchange, but not for long: then another one waits, unless a
// program that has pages of its own has none for it.
func TestPageShowsTheOutcome(t *testing.T) {
	t.Parallel()
	type row struct {
		exchange time.Duration
		refused  bool
		change   func(c *oauth.Config)
		want     map[time.Duration]string // the headings, and when they are shown
	}
	pages := func(c *oauth.Config) {
		c.SuccessPage, c.FailurePage = "<h1>Fertig</h1>", "<h1>Nein: {{.Reason}}</h1>"
	}
	allPages := func(c *oauth.Config) {
		pages(c)
		c.PendingPage = "<h1>Gleich</h1>"
	}
	const soon, late, s = 2 * time.Second, 20 * time.Second, time.Second
	table.Bubbles(t, map[string]row{
		"after a while":         {soon, false, nil, map[time.Duration]string{2 * s: "Signed in"}},
		"after a failure":       {soon, true, nil, map[time.Duration]string{2 * s: "Sign-in failed"}},
		"after a long time":     {late, false, nil, map[time.Duration]string{3 * s: "Almost there", 20 * s: "Signed in"}},
		"after a late failure":  {late, true, nil, map[time.Duration]string{3 * s: "Almost there", 20 * s: "Sign-in failed"}},
		"on a page of its own":  {late, false, pages, map[time.Duration]string{20 * s: "Fertig"}},
		"on its own, a failure": {late, true, pages, map[time.Duration]string{20 * s: "Nein: It is not so."}},
		"on pages of its own":   {late, false, allPages, map[time.Duration]string{3 * s: "Gleich", 20 * s: "Fertig"}},
		"on all, a failure":     {late, true, allPages, map[time.Duration]string{3 * s: "Gleich", 20 * s: "Nein: It is not so."}},
	}, func(t *testing.T, tc row) {
		s := newScene()
		if tc.change != nil {
			tc.change(&s.config)
		}
		fault := seed.Fault{Op: "oauth.Token"}
		if tc.refused {
			fault = refusal("oauth.Token", 400, "invalid_grant")
		}
		fault.Delay = tc.exchange
		s.Fail(fault)
		start := time.Now()
		done := ends(func() (*oauth.Grant, error) { return s.login(t.Context()) })
		got := map[time.Duration]string{}
		for range tc.want {
			p := <-s.pages
			_, heading, _ := strings.Cut(p.body, "<h1>")
			heading, _, _ = strings.Cut(heading, "</h1>")
			got[time.Since(start)] = heading
			if policy := p.header.Get("Content-Security-Policy"); p.status != 200 || !strings.HasPrefix(policy, "default-src 'none'") {
				t.Errorf("the person sees %d with the policy %s", p.status, policy)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("the person sees (-want +got):\n%s", diff)
		}
		if err := <-done; (err != nil) != tc.refused || time.Since(start) != tc.exchange {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		s.closed(t, time.Second)
	})
}

// A page shows why the tokens were refused, but no secret of the request.
func TestPageShowsTheRefusalOfTheExchange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene()
		echo := `{"error":"invalid_grant","error_description":"<b>You sent ` + canary + `"}`
		s.Fail(seed.Fault{Op: "oauth.Token", Status: http.StatusBadRequest, Body: echo})
		u := startLogin(t, s)
		p := u.send(t, get("code="+canary+"&state={state}"))
		if !strings.Contains(p.body, "invalid_grant") || !strings.Contains(p.body, "&lt;b&gt;You sent ") ||
			strings.Contains(p.body, canary) {
			t.Errorf("the person sees\n%s", p.body)
		}
		<-u.done
	})
}

// The page that waits is known to the browser alone, and does not outlive the sign-in.
func TestPageThatWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, "in the browser", func(t *testing.T) {
		s := newScene()
		s.Fail(seed.Fault{Op: "oauth.Token", Delay: 20 * time.Second})
		u := startLogin(t, s)
		p := u.send(t, get("code=x&state={state}"))
		p.shows(t, 200, "Almost there")
		path, found := strings.CutPrefix(p.header.Get("Refresh"), "0; url=/")
		if !found || len(path) < 26 || strings.Contains(path, u.state()) {
			t.Fatalf("the page leads to %q", p.header.Get("Refresh"))
		}
		ask := func(verb, path string) page { return u.send(t, request(verb, "/"+path, "{host}")) }
		ask("POST", path).shows(t, 405, "Nothing here")
		ask("GET", path[1:]).shows(t, 404, "Nothing here")
		u.connect(t, request("GET", "/"+path, "{host}")).Close() // a browser that is closed
		ask("GET", path).shows(t, 200, "Sign-in failed")
		if err := <-u.done; codeOf(err) != oauth.CodeInvalidGrant {
			t.Errorf("got %v", err)
		}
		ask("GET", path).shows(t, 200, "Sign-in failed")
		u.closed(t, time.Second)
	})
	inBubble(t, "that is not looked at", func(t *testing.T) {
		s := newScene()
		s.Fail(seed.Fault{Op: "oauth.Token", Delay: 20 * time.Second})
		u := startLogin(t, s)
		u.send(t, get("code=x&state={state}")).shows(t, 200, "Almost there")
		if d := took(func() { <-u.done }); d > 18*time.Second {
			t.Errorf("the sign-in waits %s for the browser", d)
		}
		u.closed(t, time.Second)
	})
}

// Where no browser opens, the person may carry the address or the code, and where no
// port can be opened, the code. A login that cannot ask the person does not register
// the program.
func TestLoginOnOtherMachines(t *testing.T) {
	t.Parallel()
	fails := func(context.Context, string) error { return io.ErrClosedPipe }
	never := func(context.Context, string) error { panic("a browser opens") }
	type row struct {
		noPort bool
		mode   oauth.OpenMode
		open   func(context.Context, string) error
		prompt bool // the person carries the code
		show   bool // the person opens the address
		want   error
	}
	const auto, none = oauth.OpenModeAuto, oauth.OpenModeNone
	table.Bubbles(t, map[string]row{
		"without a port":                         {true, auto, never, false, false, syscall.EADDRNOTAVAIL},
		"without a port, the code":               {true, auto, never, true, false, nil},
		"without a browser":                      {false, auto, nil, false, false, oauth.ErrNoBrowser},
		"without a browser, the code":            {false, auto, nil, true, false, nil},
		"without a browser, the address":         {false, auto, nil, false, true, nil},
		"with a browser that fails, the code":    {false, auto, fails, true, false, nil},
		"with a browser that fails, the address": {false, auto, fails, false, true, nil},
		"without opening the browser":            {false, none, never, false, true, nil},
	}, func(t *testing.T, tc row) {
		s := newScene()
		listen := s.listen
		if tc.noPort {
			listen = func(context.Context, int) (net.Listener, error) { return nil, syscall.EADDRNOTAVAIL }
		}
		s.config.OpenMode, s.config.OpenBrowser = tc.mode, tc.open
		if tc.prompt {
			s.config.Prompt = s.prompt
		}
		if tc.show {
			s.config.ShowURL = func(ctx context.Context, address string) {
				ctx = context.WithoutCancel(ctx) // a browser outlives the sign-in
				time.AfterFunc(time.Minute, func() { s.pages <- browse(ctx, s.client(), address) })
			}
		}
		g, err := oauth.LoginOn(t.Context(), s.config, listen)
		if !errors.Is(err, tc.want) || tc.want != nil && len(s.Requests()) > 0 ||
			tc.want == nil && (err != nil || g.Token.AccessToken.IsZero()) {
			t.Fatalf("got %v, %v after %v", g, err, s.Requests())
		}
		if tc.prompt {
			s.displaysCode(t)
		}
	})
}

// On a machine whose only loopback address is ::1, the redirect goes there; the
// platform registers it by the name of the machine alone.
func TestLoginWithIPv6Alone(t *testing.T) {
	t.Parallel()
	for address, host := range map[string]string{origin: "localhost", foreign: "[::1]"} {
		inBubble(t, address, func(t *testing.T) {
			s := newScene()
			s.addr.IP, s.config.BaseURL = net.IPv6loopback, address
			if address == foreign {
				s.AddOAuthClient(seed.OAuthClient{ID: "it", RedirectURIs: []string{"http://[::1]/callback"}})
				answers("oauth.Register", `{"client_id":"it"}`)(s)
			}
			s.mustLogin(t)
			if redirect := s.started()[0].Get("redirect_uri"); redirect != "http://"+host+":49152/callback" {
				t.Errorf("the answer goes to %s", redirect)
			}
			if client := clientOf(t, s.config.Store); client["redirect_uri"] != "http://"+host+"/callback" {
				t.Errorf("the store remembers %v", client)
			}
			(<-s.pages).shows(t, 200, "Signed in")
		})
	}
}

// Tokens are not sent through the network in plain text, unless the program says so.
func TestLoginRequiresTLS(t *testing.T) {
	t.Parallel()
	for address, refused := range map[string]bool{
		"http://platform.test": true, "http://192.168.0.7:8080": true, "http://[fd00::1]": true,
		"http://localhost.test": true, "https://platform.test": false,
		"http://localhost:8080": false, "http://127.0.0.1:8080": false, "http://127.0.0.2": false, "http://[::1]:8080": false,
		"http://platform.localhost": false,
	} {
		for _, allowed := range []bool{false, true} {
			inBubble(t, fmt.Sprint(address, " ", allowed), func(t *testing.T) {
				s := newScene()
				s.config.BaseURL, s.config.AllowPlainHTTP = address, allowed
				_, err := s.login(t.Context())
				e, _ := errors.AsType[*api.InputError](err)
				if refused && !allowed && (e == nil || e.Field != "Config.BaseURL" || len(s.Requests()) > 0) {
					t.Errorf("got %v after %v", err, s.Requests())
				}
				if (!refused || allowed) && err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestLoginWithCode(t *testing.T) {
	t.Parallel()
	const address = "http://127.0.0.1/callback?code="
	table.Bubbles(t, map[string]func(code, state string) string{
		"as it is":                      func(code, _ string) string { return code },
		"with blanks around":            func(code, _ string) string { return " \t" + code + "\r\n\n" },
		"broken by a terminal":          func(code, _ string) string { return code[:3] + "\r\n  " + code[3:] },
		"with invisible characters":     func(code, _ string) string { return "\ufeff\u200b" + code + "\u00a0\x00" },
		"as the address of the page":    func(code, state string) string { return address + code + "&state=" + state + "#x" },
		"as an address without a state": func(code, _ string) string { return address + code },
		"as the query alone":            func(code, state string) string { return "state=" + state + "&code=" + code },
		"with its label":                func(code, _ string) string { return "Code: " + code },
		"in quotes":                     func(code, _ string) string { return `"` + code + `"` },
		"in typographic quotes":         func(code, _ string) string { return "\u201c" + code + "\u201d" },
		"with its label and in quotes":  func(code, _ string) string { return "code: '" + code + "'" },
		"in angle brackets":             func(code, _ string) string { return "<" + address + code + ">" },
	}, func(t *testing.T, paste func(code, state string) string) {
		s := newScene()
		s.config.Resource = "https://reader.test/"
		g, err := s.loginWithCode(t.Context(), func(ctx context.Context, url string) (string, error) {
			code, err := s.prompt(ctx, url)
			return paste(code, s.started()[0].Get("state")), err
		})
		if err != nil {
			t.Fatal(err)
		}
		forms := s.tokenForms()
		if diff := cmp.Diff([]url.Values{{
			"grant_type": {"authorization_code"}, "client_id": {g.ClientID}, "code": forms[0]["code"],
			"redirect_uri": {"http://127.0.0.1/callback"}, "code_verifier": forms[0]["code_verifier"],
			"resource": {"https://reader.test/"},
		}}, forms); diff != "" {
			t.Errorf("the exchange (-want +got):\n%s", diff)
		}
		s.displaysCode(t)
		if token := stored[kept](t, s.config.Store).Token; token.AccessToken != g.Token.AccessToken.Reveal() {
			t.Errorf("the store holds %v", token)
		}
	})
}

func TestLoginWithCodeFails(t *testing.T) {
	t.Parallel()
	const page, another = "http://127.0.0.1/callback?", "code must be the code of this sign-in"
	type row struct {
		pasted string
		err    error
		want   string
	}
	table.Bubbles(t, map[string]row{
		"nothing":              {"", nil, "code must be given"},
		"blanks":               {" \r\n\t\u200b", nil, "code must be given"},
		"only quotes":          {`""`, nil, "code must be given"},
		"only a label":         {"Code:", nil, "code must be given"},
		"the end of input":     {"", io.EOF, "EOF"},
		"another's code":       {page + "code=x&state=other", nil, another},
		"two codes":            {page + "code=x&code=y", nil, another},
		"an empty code":        {page + "code=", nil, another},
		"a denial":             {page + "error=access_denied", nil, "access_denied"},
		"another's denial":     {page + "error=access_denied&state=x", nil, another},
		"only an address":      {origin + "/done", nil, "code must be the code itself, or an address that contains it"},
		"a code that is wrong": {"mistyped", nil, "invalid_grant: The code is unknown. (status 400)"},
	}, func(t *testing.T, tc row) {
		s := newScene()
		prompt := func(context.Context, string) (string, error) { return tc.pasted, tc.err }
		g, err := s.loginWithCode(t.Context(), prompt)
		op, exchanges := "oauth.Login", 0
		if tc.pasted == "mistyped" {
			op, exchanges = "oauth.Exchange", 1
		}
		if g != nil || err == nil || err.Error() != "fastio: "+op+": "+tc.want || tc.err != nil && !errors.Is(err, tc.err) {
			t.Errorf("got %v, %v, want %s", g, err, tc.want)
		}
		if n := len(s.tokenForms()); n != exchanges {
			t.Errorf("%d exchanges", n)
		}
	})
}

// A program may be known by the document that describes it.
func TestDocumentOfTheProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const id = "https://acme.test/sync.json"
		s := newScene(func(o *seed.Options) {
			o.OAuth.Fetch = &answering{body: `{"client_id":"` + id + `","client_name":"Acme Sync",
				"redirect_uris":["http://127.0.0.1/callback"],"grant_types":["authorization_code","refresh_token"],
				"response_types":["code"],"token_endpoint_auth_method":"none"}`}
		})
		s.config.ClientID = id
		if g := s.mustLogin(t); g.ClientID != id {
			t.Errorf("got %v", g)
		}
		if k := stored[kept](t, s.config.Store); k.Client.ID != "" || k.Token.ClientID != id {
			t.Errorf("the store holds the registration %q and a token of %q", k.Client.ID, k.Token.ClientID)
		}
	})
}

// A session that was ended elsewhere shows at the next call, whatever is left of the
// access token's hour.
func TestClientsStaySignedInUntilTheSessionEnds(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(*seed.Options){
		"while refresh tokens stay":         func(*seed.Options) {},
		"while refresh tokens are replaced": func(o *seed.Options) { o.OAuth.RotateRefreshTokens = true },
		"while refresh tokens are left out": func(o *seed.Options) { o.OAuth.OmitRefreshToken = true },
	}, func(t *testing.T, change func(*seed.Options)) {
		s := newScene(change)
		s.mustLogin(t)
		s.Forget()
		var clients []*fastio.Client
		for range 3 { // processes
			source := oauth.TokenSource(s.config)
			client, err := fastio.New(fastio.WithHTTPClient(s.config.HTTPClient), fastio.WithTokenSource(source))
			if err != nil {
				t.Fatal(err)
			}
			clients = append(clients, client)
		}
		for hour := range 12 {
			if hour > 0 {
				time.Sleep(time.Hour)
			}
			var wg sync.WaitGroup
			for _, c := range clients {
				for range 10 {
					wg.Go(func() {
						if me, err := c.Account.Me(t.Context()); err != nil || me.ID != api.ID(s.User().ID) {
							t.Errorf("after %d hours: %v", hour, err)
						}
					})
				}
			}
			wg.Wait()
			if n := len(s.tokenForms()); n != hour {
				t.Errorf("%d refreshes in %d hours", n, hour)
			}
		}
		refreshToken := api.NewSecret(stored[kept](t, s.config.Store).Token.RefreshToken)
		if err := clients[0].OAuth.Revoke(t.Context(), refreshToken); err != nil {
			t.Error(err)
		}
		for range 2 {
			if _, err := clients[0].Account.Me(t.Context()); !errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %v, want %v", err, oauth.ErrSignInAgain)
			}
		}
		if n := len(s.tokenForms()); n != 12 || stored[kept](t, s.config.Store).Token == nil {
			t.Errorf("%d refreshes; the store holds %+v", n, stored[kept](t, s.config.Store))
		}
	})
}

// run is a run of a program. It requires the number of logins, and the token in the store
// with its client if wanted is nil.
func (s *scene) run(t *testing.T, logins int, wanted error) *oauth.Source {
	t.Helper()
	synctest.Wait() // for the browser of the run before
	s.again()
	before := len(s.started())
	source, g, err := s.loginIfNeeded(t.Context())
	if n := len(s.started()) - before; n != logins || !errors.Is(err, wanted) || (source == nil) != (err != nil) || (g == nil) != (err != nil) {
		t.Errorf("got %v, %v, %v after %d logins, want %v and %d", source, g, err, n, wanted, logins)
	}
	if wanted == nil && err == nil {
		token, err := source.Token(t.Context())
		k := stored[kept](t, s.config.Store)
		if s.config.Account == "" && (err != nil || g.Token.AccessToken != token.AccessToken || g.ClientID != k.Token.ClientID) {
			t.Errorf("got %+v for the token %v, %v", g, token, err)
		}
	}
	return source
}

//nolint:thelper // its rows are tests
func TestLoginIfNeeded(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	table.Bubbles(t, map[string]func(t *testing.T, s *scene){
		"in every run but the first": func(t *testing.T, s *scene) {
			s.run(t, 0, nil)
			time.Sleep(24 * time.Hour)
			s.run(t, 0, nil)
			if n := len(s.tokenForms()); n != 2 {
				t.Errorf("%d requests for tokens, want the exchange and a refresh", n)
			}
		},
		"after a sign-out": func(t *testing.T, s *scene) {
			if err := oauth.SignOut(t.Context(), s.config); err != nil {
				t.Error(err)
			}
			s.run(t, 1, nil)
		},
		"for another account": func(t *testing.T, s *scene) {
			s.config.Account = "work"
			s.run(t, 1, nil)
		},
		"for another platform": func(t *testing.T, s *scene) {
			s.config.BaseURL = foreign
			s.run(t, 1, nil)
			if address := stored[kept](t, s.config.Store).Address; address != foreign {
				t.Errorf("the store holds a token for %s", address)
			}
		},
		"after the end of the session": func(t *testing.T, s *scene) {
			source := s.run(t, 0, nil)
			old := stored[kept](t, s.config.Store).Token
			client := s.Client(t)
			if err := client.OAuth.Revoke(t.Context(), api.NewSecret(old.RefreshToken)); err != nil {
				t.Error(err)
			}
			s.run(t, 0, nil) // which has not heard of it
			if _, err := source.Refresh(t.Context(), apiToken(old.AccessToken)); !errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %v", err)
			}
			s.run(t, 1, nil)
			if token, err := source.Token(t.Context()); err != nil || token == apiToken(old.AccessToken) {
				t.Errorf("the source of the run before has %v, %v", token, err)
			}
		},
		"after the refusal of a token that cannot be refreshed": func(t *testing.T, s *scene) {
			save(t, s.config.Store, s.config, &oauth.Token{AccessToken: api.NewSecret("at")})
			source := s.run(t, 0, nil)
			for range 2 {
				if _, err := source.Refresh(t.Context(), apiToken("at")); !errors.Is(err, oauth.ErrSignInAgain) {
					t.Errorf("got %v", err)
				}
			}
			s.run(t, 1, nil)
		},
		"not in an outage": func(t *testing.T, s *scene) {
			time.Sleep(2 * time.Hour)
			meets(seed.Fault{Op: "oauth.Token", Status: http.StatusBadGateway})(s)
			s.run(t, 0, api.ErrUnavailable)
		},
		"not with a store that fails": func(t *testing.T, s *scene) {
			s.config.Store = &hookedStore{Store: s.config.Store, onLoad: func() error { return broken }}
			s.run(t, 0, broken)
		},
		"not without a store": func(t *testing.T, s *scene) {
			s.config.Store = nil
			s.run(t, 0, api.ErrInvalid)
		},
	}, func(t *testing.T, test func(*testing.T, *scene)) {
		s := newScene()
		s.run(t, 1, nil)
		test(t, s)
	})
}
