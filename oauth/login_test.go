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
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

const origin = "https://platform.test"

// scene is a platform, a browser and a program that signs in.
type scene struct {
	*strictServer
	*place
	config oauth.Config
	pages  chan page
	cancel func() // ends the sign-in
}

// newScene must be called inside a bubble.
func newScene() *scene {
	s := &scene{strictServer: newStrictServer(origin)}
	s.config = oauth.Config{BaseURL: origin, ClientName: "Acme Sync", Store: new(oauth.MemoryStore)}
	s.again()
	return s
}

// again prepares for another sign-in.
func (s *scene) again() {
	s.place = newPlace(s.strictServer)
	s.config.HTTPClient = s.client()
	s.config.OpenBrowser, s.pages = browser(s.client())
}

func inScene(t *testing.T, test func(t *testing.T, s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newScene()) })
}

func (s *scene) login(ctx context.Context) (*oauth.Grant, error) {
	return oauth.LoginOn(ctx, s.config, s.listen)
}

func (s *scene) mustLogin(t *testing.T) *oauth.Grant {
	t.Helper()
	g, err := s.login(t.Context())
	if err != nil || g.Token.AccessToken.IsZero() {
		t.Fatalf("got %v, %v", g, err)
	}
	return g
}

// closed requires that the port is closed in time after a sign-in.
func (s *scene) closed(t *testing.T, in time.Duration) {
	t.Helper()
	time.Sleep(in)
	if _, err := s.dial(t.Context(), "tcp", receiverHost); !errors.Is(err, errRefused) {
		t.Errorf("the port is still open: %v", err)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	inScene(t, func(t *testing.T, s *scene) {
		s.config.Scopes = []oauth.Scope{oauth.ScopeOrg, oauth.ScopeAllShares}
		s.config.AccessMode, s.config.AccountSettings = oauth.AccessModeRead, true
		s.config.AgentName, s.config.Resource = "builder-1", "https://reader.test/x"
		s.config.DeviceName, s.config.DeviceType = "My laptop", "cli"
		var shown []string
		s.config.ShowURL = func(address string) { shown = append(shown, address) }
		var g *oauth.Grant
		if d := took(func() { g = s.mustLogin(t) }); d > 0 {
			t.Errorf("the sign-in waited %s for nobody", d)
		}

		want := &oauth.Grant{ClientID: "client-1", AccountSettingsWithheld: true, Token: &oauth.Token{
			AccessToken: api.NewSecret("access-5"), TokenType: "Bearer", RefreshToken: api.NewSecret("refresh-6"),
			Expiry: g.Token.Expiry, Scopes: []oauth.GrantedScope{{EntityType: "user", EntityID: "*", AccessMode: "rw"}},
		}}
		if diff := cmp.Diff(want, g); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if want := []string{origin + "/connect?id=request-3&x=a%20b"}; !slices.Equal(shown, want) {
			t.Errorf("the person is shown %q, want %q", shown, want)
		}
		q := s.started[0]
		state, challenge := q.Get("state"), q.Get("code_challenge")
		if diff := cmp.Diff(url.Values{
			"response_type": {"code"}, "response_format": {"json"}, "client_id": {"client-1"},
			"redirect_uri": {"http://" + receiverHost + "/callback"}, "state": {state},
			"code_challenge": {challenge}, "code_challenge_method": {"S256"},
			"scope": {"org all_shares"}, "access_mode": {"r"}, "account_settings": {"1"},
			"agent_name": {"builder-1"}, "resource": {"https://reader.test/x"},
		}, q); diff != "" {
			t.Errorf("the authorization (-want +got):\n%s", diff)
		}
		forms := s.tokenForms()
		if diff := cmp.Diff([]url.Values{{
			"grant_type": {"authorization_code"}, "client_id": {"client-1"}, "code": {"authcode-4"},
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
	delete(token, "issued")
	delete(token, "expiry")
	if diff := cmp.Diff(map[string]any{
		"version": 1.0, "address": origin + "/api",
		"client": map[string]any{
			"id": "client-1", "issuer": origin, "name": "Acme Sync", "redirect_uri": "http://127.0.0.1/callback",
			"registration_token": "registration-2",
		},
		"server": map[string]any{"issuer": origin},
		"token": map[string]any{
			"access_token": g.Token.AccessToken.Reveal(), "refresh_token": g.Token.RefreshToken.Reveal(),
			"scopes": []any{"user:*:rw"}, "client_id": "client-1", "resource": "https://reader.test/x",
		},
	}, record); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	want(t, oauth.TokenSource(s.config.Store, s.config), g.Token.AccessToken.Reveal())
}

func TestLoginFails(t *testing.T) {
	t.Parallel()
	const denied, failed, noURL = "Access denied", "Sign-in failed", "oauth.Login: the login address is no URL of the web"
	refuses := func(endpoint string, status int, code string) func(*scene) {
		return meets(endpoint, func(w http.ResponseWriter, _ *http.Request) { refuse(w, status, code) })
	}
	answers := func(endpoint, body string) func(*scene) {
		return meets(endpoint, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
	}
	address := func(url string) func(*scene) { return answers("authorize", `{"login_url":"`+url+`"}`) }
	type row struct {
		change func(s *scene)
		want   string // of the error
		page   string // what the person reads; "" if the browser is not sent back
		code   string // of an oauth.Error
		is     error
	}
	table.Bubbles(t, map[string]row{
		"the person denies": {
			denies("access_denied"),
			"oauth.Login: access_denied: <b>No</b> & no", denied, oauth.CodeAccessDenied, nil,
		},
		"the server refuses in the browser": {
			denies("invalid_scope"),
			"oauth.Login: invalid_scope: <b>No</b> & no", failed, oauth.CodeInvalidScope, nil,
		},
		"the exchange is refused": {
			refuses("token", 400, "invalid_grant"),
			"oauth.Exchange: invalid_grant: It is not so. (status 400)", failed, oauth.CodeInvalidGrant, nil,
		},
		"the exchange is redirected": {
			meets("token", http.RedirectHandler(origin+"/elsewhere", http.StatusTemporaryRedirect).ServeHTTP),
			"oauth.Exchange: Temporary Redirect (status 307)", failed, "", nil,
		},
		"the exchange fails": {
			meets("token", func(w http.ResponseWriter, _ *http.Request) { reply(w, 503, nil) }),
			"oauth.Exchange: Service Unavailable (status 503)", failed, "", api.ErrUnavailable,
		},
		"the login address is left out": {
			answers("authorize", `{"result":true,"auth_request_id":"1"}`),
			"oauth.StartAuthorization: the answer holds no login URL", "", "", nil,
		},
		"the login address is no page":      {address("file:///etc/passwd"), noURL, "", "", nil},
		"the login address is a script":     {address("javascript:alert(1)"), noURL, "", "", nil},
		"the login address breaks the line": {address("https://h.test/\\u001b[2J"), noURL, "", "", nil},
		"the program is registered without an id": {
			answers("register", `{"result":true}`), "oauth.Register: the answer holds no client id", "", "", nil,
		},
		"the name is refused": {
			refuses("register", 400, "invalid_client_metadata"),
			"oauth.Register: invalid_client_metadata: It is not so. (status 400)", "", "invalid_client_metadata", nil,
		},
		"no browser opens": {
			opens(nil),
			"oauth.Login: the browser could not be opened: no browser could be started", "", "", oauth.ErrNoBrowser,
		},
		"the caller's browser does not open": {
			opens(func(context.Context, string) error { return io.ErrClosedPipe }),
			"oauth.Login: the browser could not be opened: io: read/write on closed pipe", "", "", io.ErrClosedPipe,
		},
	}, func(t *testing.T, tc row) {
		s := newScene()
		tc.change(s)
		g, err := s.login(t.Context())
		if g != nil || err == nil || err.Error() != "fastio: "+tc.want || codeOf(err) != tc.code {
			t.Errorf("got %v, %v\nwant %s of code %q", g, err, tc.want, tc.code)
		}
		if tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("got %v, want %v", err, tc.is)
		}
		sent := slices.DeleteFunc(s.paths(), func(path string) bool {
			return !strings.HasSuffix(path, "/token/") && !strings.HasSuffix(path, "/elsewhere")
		})
		if len(sent) > 1 {
			t.Errorf("the code was sent to %q", sent)
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

// on answers the requests of one endpoint.
func on(endpoint string, h http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/"+endpoint) {
			h(w, r)
			return true
		}
		return false
	}
}

// meets changes the answers of one endpoint.
func meets(endpoint string, h http.HandlerFunc) func(*scene) {
	return func(s *scene) { s.intercept = on(endpoint, h) }
}

// grants answers an exchange after a while.
func grants(after time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(after)
		reply(w, 200, map[string]any{"access_token": "a", "token_type": "Bearer"})
	}
}

// never answers.
func never(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func codeOf(err error) string {
	if e, ok := errors.AsType[*oauth.Error](err); ok {
		return e.Code
	}
	return ""
}

// registrations counts the requests to register a program.
func (s *scene) registrations() int {
	return len(slices.DeleteFunc(s.paths(), func(path string) bool {
		return path != "POST /api/current/oauth/register/" && path != "POST /as/register"
	}))
}

// A wrong Config is rejected before anything is sent.
func TestLoginRejectsAWrongConfig(t *testing.T) {
	t.Parallel()
	type row struct {
		change func(c *oauth.Config)
		field  string
	}
	table.Each(t, map[string]row{
		"an issuer without a host":  {func(c *oauth.Config) { c.Issuer = "fast.io" }, "issuer"},
		"a document without TLS":    {func(c *oauth.Config) { c.ClientID = "http://acme.test/client.json" }, "client_id"},
		"a document with a user":    {func(c *oauth.Config) { c.ClientID = "https://u@acme.test/client.json" }, "client_id"},
		"a document with fragment":  {func(c *oauth.Config) { c.ClientID = "https://acme.test/client.json#x" }, "client_id"},
		"a long name":               {func(c *oauth.Config) { c.ClientName = strings.Repeat("é", 65) }, "client_name"},
		"a scope of two words":      {func(c *oauth.Config) { c.Scopes = []oauth.Scope{"a b"} }, "scope"},
		"an unknown access mode":    {func(c *oauth.Config) { c.AccessMode = "x" }, "access_mode"},
		"a resource that is no URL": {func(c *oauth.Config) { c.Resource = "x" }, "resource"},
		"a long device name":        {func(c *oauth.Config) { c.DeviceName = strings.Repeat("x", 129) }, "device_name"},
		"a path without a slash":    {func(c *oauth.Config) { c.RedirectPath = "callback" }, "redirect_uri"},
		"a path with a query":       {func(c *oauth.Config) { c.RedirectPath = "/callback?x=1" }, "redirect_uri"},
		"a path with dots":          {func(c *oauth.Config) { c.RedirectPath = "/a/../callback" }, "redirect_uri"},
	}, func(t *testing.T, tc row) {
		s := newScene()
		tc.change(&s.config)
		for op, sign := range map[string]func() (*oauth.Grant, error){
			"oauth.Login": func() (*oauth.Grant, error) { return s.login(t.Context()) },
			"oauth.LoginWithCode": func() (*oauth.Grant, error) {
				return oauth.LoginWithCode(t.Context(), s.config, s.prompt)
			},
		} {
			g, err := sign()
			e, ok := errors.AsType[*api.InputError](err)
			if g != nil || !ok || e.Op != op || e.Field != tc.field || len(s.paths()) > 0 {
				t.Errorf("got %v after %q, want an input error about %s", err, s.paths(), tc.field)
			}
		}
	})
	if _, err := oauth.LoginWithCode(t.Context(), oauth.Config{}, nil); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("without a prompt: %v", err)
	}
}

// A program is registered once for each name, redirect and profile, and anew if the
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
	forgets := func(times int) func(*scene) { return func(s *scene) { s.refuseClients = times } }
	refuses := func(code string) func(*scene) {
		return meets("token", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 401, code) })
	}
	same, own := func(*scene) {}, func(s *scene) { s.foreign = true }
	unanswered := opens(opensNothing)
	cancelled := func(s *scene) {
		s.config.OpenBrowser = func(context.Context, string) error { s.cancel(); return nil }
	}
	table.Bubbles(t, map[string][]login{
		"once for each name, redirect and profile": {
			{same, false, 1},
			{same, false, 1},
			{config(func(c *oauth.Config) { c.ClientName = "Acme Backup" }), false, 2},
			{config(func(c *oauth.Config) { c.RedirectPath = "/done" }), false, 3},
			{config(func(c *oauth.Config) { c.Profile = "work" }), false, 4},
			{config(func(c *oauth.Config) { c.ClientID = "client-1"; c.RedirectPath = "" }), false, 4},
		},
		"anew if the server has forgotten it":  {{same, false, 1}, {forgets(1), false, 2}},
		"anew no more than once":               {{same, false, 1}, {forgets(2), true, 2}},
		"not with an id of the caller's":       {{config(func(c *oauth.Config) { c.ClientID = "gone" }), true, 0}},
		"anew after no answer at its own page": {{own, false, 1}, {unanswered, true, 1}, {same, false, 2}},
		"anew after a cancellation there":      {{own, false, 1}, {cancelled, true, 1}, {same, false, 2}},
		"once if the platform does not answer": {{same, false, 1}, {unanswered, true, 1}, {same, false, 1}},
		"anew after invalid_client":            {{refuses(oauth.CodeInvalidClient), true, 1}, {same, false, 2}},
		"anew after unauthorized_client":       {{refuses(oauth.CodeUnauthorizedClient), true, 1}, {same, false, 2}},
		"once with invalid_grant":              {{refuses(oauth.CodeInvalidGrant), true, 1}, {same, false, 1}},
		"once with access_denied":              {{denies(oauth.CodeAccessDenied), true, 1}, {same, false, 1}},
	}, func(t *testing.T, logins []login) {
		s := newScene()
		for i, l := range logins {
			s.again()
			s.intercept, s.deny = nil, ""
			l.change(s)
			var ctx context.Context
			ctx, s.cancel = context.WithCancel(t.Context())
			_, err := s.login(ctx)
			s.cancel()
			if n := s.registrations(); (err != nil) != l.fails || n != l.registrations {
				t.Errorf("login %d: got %v after %d registrations, want %d", i+1, err, n, l.registrations)
			}
		}
	})
}

func denies(code string) func(*scene) { return func(s *scene) { s.deny = code } }

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
		update(t, s.config.Store, profile, put(`{"version":1,"address":"`+tc.address+`","client":{},
				"server":{"issuer":"`+tc.issuer+`"},"token":{"access_token":"old","client_id":"old"},
				"refresh":{"keeps":true,"pending":true,"dead":true}}`))
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
func TestLoginTriesTheStore(t *testing.T) {
	t.Parallel()
	type row struct {
		change func(c *oauth.Config)
		record string
	}
	table.Bubbles(t, map[string]row{
		"whose profile is nameless": {func(c *oauth.Config) { c.Profile = " " }, `{"version":1}`},
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
		s.clients["client"] = "http://127.0.0.1/callback"
		s.config.ClientID = "client"
		memory := s.config.Store
		update(t, s.config.Store, profile, put(tc.record))
		tc.change(&s.config)
		if g, err := s.login(t.Context()); g != nil || err == nil || len(s.paths()) > 0 {
			t.Errorf("got %v, %v after %q", g, err, s.paths())
		}
		holds(t, memory, profile, tc.record)
	})
}

// A store that fails last loses nothing: the program gets the tokens.
func TestTokensThatCannotBeStored(t *testing.T) {
	t.Parallel()
	inScene(t, func(t *testing.T, s *scene) {
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
	inScene(t, func(t *testing.T, s *scene) {
		s.foreign, s.scopes = true, nil
		s.metadata = map[string]any{
			"authorization_endpoint":                         origin + "/as/authorize?tenant=7",
			"authorization_response_iss_parameter_supported": true,
		}
		s.config.Resource = "https://reader.test/"
		var opened string
		s.config.ShowURL = func(address string) { opened = address }
		g := s.mustLogin(t)
		u, _ := url.Parse(opened)
		q := u.Query()
		if diff := cmp.Diff(url.Values{
			"tenant": {"7"}, "response_type": {"code"}, "client_id": {g.ClientID},
			"redirect_uri": {"http://" + receiverHost + "/callback"}, "state": q["state"],
			"code_challenge": q["code_challenge"], "code_challenge_method": {"S256"}, "resource": {"https://reader.test/"},
		}, q); diff != "" || u.Path != "/as/authorize" {
			t.Errorf("the browser is sent to %s (-want +got):\n%s", u.Path, diff)
		}
		if g.Token.Scopes != nil || g.AdminWithheld || g.AccountSettingsWithheld {
			t.Errorf("got %+v", g)
		}
		for _, path := range s.paths() {
			if strings.HasPrefix(path, "POST /api/") || path == "GET /api/current/oauth/authorize/" {
				t.Errorf("the platform was asked: %s", path)
			}
		}
		if diff := cmp.Diff(map[string]any{
			"issuer": origin, "names_issuer": true, "authorize": origin + "/as/authorize?tenant=7",
			"token": origin + "/as/token", "register": origin + "/as/register", "revoke": origin + "/as/revoke",
		}, stored[members](t, s.config.Store)["server"]); diff != "" {
			t.Errorf("the record (-want +got):\n%s", diff)
		}
	})
}

func TestWithheld(t *testing.T) {
	t.Parallel()
	type row struct {
		mode           oauth.AccessMode
		settings       bool
		scopes         any // of the token
		administers    any // what the platform says of it
		admin, settled bool
	}
	table.Bubbles(t, map[string]row{
		"nothing that was asked for":        {oauth.AccessModeWrite, false, `["org:1:r"]`, nil, false, false},
		"admin of which nothing is said":    {oauth.AccessModeAdmin, true, nil, nil, true, false},
		"nothing when the platform says so": {oauth.AccessModeAdmin, false, `["user:*:rw"]`, true, false, false},
		"admin, as the platform says":       {oauth.AccessModeAdmin, false, `["user:*:rwa"]`, false, true, false},
		"admin, when a word is all":         {oauth.AccessModeAdmin, false, `["user:*:rwa"]`, "true", true, false},
		"admin, when a number is all":       {oauth.AccessModeAdmin, false, `["user:*:rwa"]`, 1, true, false},
		"nothing, by the token alone":       {oauth.AccessModeAdmin, false, `["org:1:r","org:2:rwa"]`, nil, false, false},
		"admin, by the token alone":         {oauth.AccessModeAdmin, false, []string{"org:1:rw"}, nil, true, false},
		"the settings":                      {"", true, `["user:*:rw"]`, nil, false, true},
		"no settings that were granted":     {"", true, `["user:*:rw","userdetails:*:rw"]`, nil, false, false},
		"both":                              {oauth.AccessModeAdmin, true, `["user:*:rw"]`, false, true, true},
	}, func(t *testing.T, tc row) {
		s := newScene()
		s.scopes, s.administers = tc.scopes, tc.administers
		s.config.AccessMode, s.config.AccountSettings = tc.mode, tc.settings
		g, err := s.login(t.Context())
		if err != nil || g.AdminWithheld != tc.admin || g.AccountSettingsWithheld != tc.settled {
			t.Errorf("got %+v, %v", g, err)
		}
	})
}

// writes is a browser that writes to the receiver, and does not read.
func writes(request string) func(*scene) {
	return func(s *scene) {
		meets("token", never)(s)
		s.config.OpenBrowser = func(ctx context.Context, _ string) error {
			conn, err := s.dial(ctx, "tcp", receiverHost)
			if err == nil {
				_, err = io.WriteString(conn, strings.Replace(request, "%s", s.started[0].Get("state"), 1))
			}
			return err
		}
	}
}

func opensNothing(context.Context, string) error { return nil }

func opens(open func(context.Context, string) error) func(*scene) {
	return func(s *scene) { s.config.OpenBrowser = open }
}

// Every wait ends with the context. A server that does not answer fails the sign-in
// soon, with what it was asked. A person who does not answer is waited for as long as
// the request lasts. A prompt that blocks does not block the program.
func TestLoginWaits(t *testing.T) {
	t.Parallel()
	const none, late = ": no answer came from the browser", " took longer than 30s"
	const metadata, consent = ": asking for the metadata of the authorization server" + late, 10 * time.Minute
	const stateless = none + " but one that did not know the state"
	const denied = " (fastio: oauth.Login: access_denied: <b>No</b> & no)"
	const step = 30 * time.Second
	hangs := func(endpoint string) func(*scene) { return meets(endpoint, never) }
	answers := func(deny string) func(s *scene) {
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
		"for the resource":                    {hangs("oauth-protected-resource"), step, metadata, "", false},
		"for the server":                      {hangs("oauth-authorization-server"), step, metadata, "", false},
		"for the registration":                {hangs("register"), step, ": registering the program" + late, "", false},
		"for the authorization":               {hangs("authorize"), step, ": asking for the login URL" + late, "", false},
		"for the person":                      {opens(opensNothing), consent, none, "", false},
		"after a denial without a state":      {answers("access_denied"), consent, stateless, denied, false},
		"after another error without a state": {answers("server_error"), consent, none, "", false},
		"after a code without a state":        {answers(""), consent, none, "", false},
		"for a prompt": {func(s *scene) {
			s.config.OpenBrowser = nil
			s.config.Prompt = func(context.Context, string) (string, error) { time.Sleep(time.Hour); return "x", nil }
		}, consent, "WithCode", "", false},
		"for a locked store": {func(s *scene) {
			hold(s.config.Store, func(record string) string { time.Sleep(time.Minute); return record })
		}, 0, "", "", false},
		"for a browser that runs": {
			opens(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }), consent, none, "", false,
		},
		"for the exchange":                 {hangs("token"), 0, "", "", false},
		"for a browser that reads no page": {writes(get("code=x&state=%%s")(receiverHost, "")), 0, "", "", false},
		"for the scopes": {func(s *scene) {
			s.config.AccessMode = oauth.AccessModeAdmin
			hangs("scopes")(s)
		}, 0, "", "", true},
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
			if !cancelled && !text || (codeOf(err) == "access_denied") != (tc.after != "") {
				t.Errorf("got %v, want %s ... %s", err, tc.want, tc.after)
			}
			time.Sleep(time.Hour) // until the prompt returns, and those who hold the store
		}
	})
}

// The page waits for the exchange, but not for long.
func TestPageShowsTheOutcome(t *testing.T) {
	t.Parallel()
	type row struct {
		exchange, page time.Duration
		refused        bool
		want           string
	}
	table.Bubbles(t, map[string]row{
		"after a while":        {2 * time.Second, 2 * time.Second, false, "Signed in"},
		"after a failure":      {2 * time.Second, 2 * time.Second, true, "Sign-in failed"},
		"before the end":       {20 * time.Second, 3 * time.Second, false, "Almost there"},
		"before a failure too": {20 * time.Second, 3 * time.Second, true, "Almost there"},
	}, func(t *testing.T, tc row) {
		s := newScene()
		s.intercept = on("token", grants(tc.exchange))
		if tc.refused {
			s.intercept = on("token", func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(tc.exchange)
				refuse(w, 400, "invalid_grant")
			})
		}
		start := time.Now()
		done := make(chan error)
		go func() {
			_, err := s.login(t.Context())
			done <- err
		}()
		p := <-s.pages
		p.shows(t, 200, tc.want)
		if took := time.Since(start); took != tc.page {
			t.Errorf("the person sees the page after %s", took)
		}
		if err := <-done; (err != nil) != tc.refused || time.Since(start) != tc.exchange {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		s.closed(t, time.Second)
	})
}

// Where no browser opens, the person may carry the address or the code, and where no
// port can be opened, the code. A login that cannot ask the person does not register
// the program. On a machine whose only loopback address is ::1, the redirect goes
// there; the platform registers it by the name of the machine alone.
//
//nolint:thelper // its rows are tests
func TestLoginOnOtherMachines(t *testing.T) {
	t.Parallel()
	noPort := func(context.Context) (net.Listener, error) { return nil, syscall.EADDRNOTAVAIL }
	rows := map[string]func(t *testing.T, s *scene){
		"without a port": func(t *testing.T, s *scene) {
			_, err := oauth.LoginOn(t.Context(), s.config, noPort)
			if !errors.Is(err, syscall.EADDRNOTAVAIL) || len(s.paths()) > 0 {
				t.Errorf("got %v after %q", err, s.paths())
			}
		},
		"without a port, with a prompt": func(t *testing.T, s *scene) {
			s.config.Prompt = s.prompt
			if g, err := oauth.LoginOn(t.Context(), s.config, noPort); err != nil || g.Token.AccessToken.IsZero() {
				t.Errorf("got %v, %v", g, err)
			}
		},
		"without a browser": func(t *testing.T, s *scene) {
			s.config.OpenBrowser = nil
			if _, err := s.login(t.Context()); !errors.Is(err, oauth.ErrNoBrowser) || len(s.paths()) > 0 {
				t.Errorf("got %v after %q", err, s.paths())
			}
		},
		"with ::1 alone, to the platform": func(t *testing.T, _ *scene) {
			e := newEmulated(platformAddress)
			e.addr.IP = net.IPv6loopback
			if g, err := e.login(t.Context()); err != nil || g.Token.AccessToken.IsZero() {
				t.Fatalf("got %v, %v", g, err)
			}
			if client := clientOf(t, e.config.Store); client["redirect_uri"] != "http://localhost/callback" {
				t.Errorf("the store remembers %v", client)
			}
			(<-e.pages).shows(t, 200, "Signed in")
		},
		"with ::1 alone, to another server": func(t *testing.T, s *scene) {
			s.addr.IP, s.foreign = net.IPv6loopback, true
			g := s.mustLogin(t)
			got := []string{s.started[0].Get("redirect_uri"), s.clients[g.ClientID]}
			if diff := cmp.Diff([]string{"http://[::1]:49152/callback", "http://[::1]/callback"}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		},
	}
	fails := func(context.Context, string) error { return io.ErrClosedPipe }
	for name, open := range map[string]func(context.Context, string) error{
		"without a browser": nil, "with a browser that fails": fails,
	} {
		rows[name+", the person carries the code"] = func(t *testing.T, s *scene) {
			s.config.OpenBrowser, s.config.Prompt = open, s.prompt
			s.mustLogin(t)
			s.displaysCode(t)
		}
		rows[name+", the person opens the address"] = func(t *testing.T, s *scene) {
			s.config.OpenBrowser = open
			s.config.ShowURL = func(address string) {
				time.AfterFunc(time.Minute, func() { s.pages <- browse(t.Context(), s.client(), address) })
			}
			s.mustLogin(t)
		}
	}
	table.Bubbles(t, rows, func(t *testing.T, test func(*testing.T, *scene)) { test(t, newScene()) })
}

// Tokens are not sent through the network in plain text, unless the program says so.
func TestLoginRequiresTLS(t *testing.T) {
	t.Parallel()
	for address, refused := range map[string]bool{
		"http://platform.test": true, "http://192.168.0.7:8080": true, "http://[fd00::1]": true,
		"http://localhost.test": true, "https://platform.test": false,
		"http://localhost:8080": false, "http://127.0.0.1:8080": false, "http://127.0.0.2": false, "http://[::1]:8080": false,
	} {
		for _, allowed := range []bool{false, true} {
			inBubble(t, fmt.Sprint(address, " ", allowed), func(t *testing.T) {
				s := newScene()
				s.origin = address
				s.config.BaseURL, s.config.AllowPlainHTTP = address, allowed
				_, err := s.login(t.Context())
				e, _ := errors.AsType[*api.InputError](err)
				if refused && !allowed && (e == nil || e.Field != "base_url" || len(s.paths()) > 0) {
					t.Errorf("got %v after %q", err, s.paths())
				}
				if (!refused || allowed) && err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// displaysCode requires that the last authorization shows its code to the person.
func (s *scene) displaysCode(t *testing.T) {
	t.Helper()
	q := s.started[len(s.started)-1]
	if q.Get("display_code") != "true" || q.Get("redirect_uri") != "http://127.0.0.1/callback" {
		t.Errorf("the authorization is %v", q)
	}
}

// prompt is a person who opens the login address elsewhere and types the code.
func (s *scene) prompt(ctx context.Context, address string) (string, error) {
	return browse(ctx, s.client(), address).body, nil
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
		g, err := oauth.LoginWithCode(t.Context(), s.config, func(ctx context.Context, url string) (string, error) {
			code, err := s.prompt(ctx, url)
			return paste(code, s.started[0].Get("state")), err
		})
		if err != nil {
			t.Fatal(err)
		}
		forms := s.tokenForms()
		if diff := cmp.Diff([]url.Values{{
			"grant_type": {"authorization_code"}, "client_id": {g.ClientID}, "code": {"authcode-4"},
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
	const page, another = "http://127.0.0.1/callback?", "code must be the one of this sign-in"
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
		"a code that is wrong": {"mistyped", nil, "invalid_grant: It is not so. (status 400)"},
	}, func(t *testing.T, tc row) {
		s := newScene()
		prompt := func(context.Context, string) (string, error) { return tc.pasted, tc.err }
		g, err := oauth.LoginWithCode(t.Context(), s.config, prompt)
		op, exchanges := "oauth.LoginWithCode", 0
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
