package emulator_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

const (
	host     = "http://emulator.test"
	redirect = "http://127.0.0.1:4711/callback"

	// The vector of RFC 7636, appendix B.
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

	formType = "application/x-www-form-urlencoded"
)

// hand is a clock that is set by hand.
type hand struct{ past atomic.Int64 }

func (c *hand) now() time.Time          { return epoch.Add(time.Duration(c.past.Load())) }
func (c *hand) forward(d time.Duration) { c.past.Add(int64(d)) }

// platform is a world with a clock and a client that is known as "app".
type platform struct {
	*world
	clock *hand
}

func newPlatform(o emulator.Options) *platform {
	c := &hand{}
	o.Clock, o.Limits.Rules = c.now, []emulator.Limit{}
	p := &platform{newWorld(o), c}
	p.AddClient(emulator.Client{ID: "app", Name: "App", RedirectURIs: []string{"http://127.0.0.1/callback", "https://app.test/back?a=1"}})
	return p
}

// raw sends a request to any URL. Headers come in pairs.
func (w *world) raw(t *testing.T, method, target, body string, header ...string) reply {
	t.Helper()
	if strings.HasPrefix(target, "/") {
		target = host + target
	}
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return w.send(t, r)
}

// pairs makes values of names and values; a later pair replaces an earlier one, and "-" takes it away.
func pairs(fields ...string) url.Values {
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
		if fields[i+1] == "-" {
			values.Del(fields[i])
		}
	}
	return values
}

// post sends a form to an OAuth endpoint.
func (w *world) post(t *testing.T, endpoint string, fields ...string) reply {
	t.Helper()
	return w.raw(t, http.MethodPost, "/api/current/oauth/"+endpoint+"/", pairs(fields...).Encode(), "Content-Type", formType)
}

// start asks for access, as the app with sound parameters unless they are changed.
func (p *platform) start(t *testing.T, change ...string) reply {
	t.Helper()
	query := pairs(append([]string{
		"client_id", "app", "redirect_uri", redirect, "response_type", "code", "code_challenge", challenge,
		"code_challenge_method", "S256", "state", "st4te", "response_format", "json",
	}, change...)...)
	return p.raw(t, http.MethodGet, "/api/current/oauth/authorize/?"+query.Encode(), "")
}

// login is the login URL of a request for access.
func (p *platform) login(t *testing.T, change ...string) string {
	t.Helper()
	got := p.start(t, change...)
	login, found := got.get("login_url").(string)
	if got.Status != http.StatusOK || !found {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	return login
}

// decide answers a request in the name of Ada, unless the decision names someone.
func (p *platform) decide(t *testing.T, login string, d emulator.Decision) emulator.Outcome {
	t.Helper()
	if d.User == "" {
		d.User = p.ada.ID
	}
	outcome, err := p.Decide(login, d)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func parameter(t *testing.T, target, name string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get(name)
}

// code is an authorization code that Ada gave.
func (p *platform) code(t *testing.T, change ...string) string {
	t.Helper()
	return parameter(t, p.decide(t, p.login(t, change...), emulator.Decision{}).Redirect, "code")
}

// exchange posts a code.
func (p *platform) exchange(t *testing.T, code string, change ...string) reply {
	t.Helper()
	return p.post(t, "token", append([]string{
		"grant_type", "authorization_code", "code", code, "client_id", "app", "redirect_uri", redirect, "code_verifier", verifier,
	}, change...)...)
}

func (p *platform) refresh(t *testing.T, token string, change ...string) reply {
	t.Helper()
	return p.post(t, "token", append([]string{"grant_type", "refresh_token", "refresh_token", token, "client_id", "app"}, change...)...)
}

// grant goes all the way to the tokens.
func (p *platform) grant(t *testing.T, change ...string) (access, refresh string) {
	t.Helper()
	return tokens(t, p.exchange(t, p.code(t, change...)))
}

func tokens(t *testing.T, got reply) (access, refresh string) {
	t.Helper()
	access, found := got.get("access_token").(string)
	if got.Status != http.StatusOK || !found {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	refresh, _ = got.get("refresh_token").(string)
	return access, refresh
}

// accepts tells whether a token is accepted.
func (w *world) accepts(t *testing.T, token string) bool {
	t.Helper()
	got := w.with(t, token, http.MethodGet, "/auth/scopes/")
	if got.Status != http.StatusOK && (got.Status != http.StatusUnauthorized || got.code() != 10011) {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	return got.Status == http.StatusOK
}

func TestServerMetadata(t *testing.T) {
	t.Parallel()
	want := func(origin, prefix string) map[string]any {
		oauth := origin + prefix + "/current/oauth/"
		return map[string]any{
			"issuer":                                origin,
			"authorization_endpoint":                oauth + "authorize",
			"token_endpoint":                        oauth + "token",
			"revocation_endpoint":                   oauth + "revoke",
			"registration_endpoint":                 oauth + "register",
			"response_types_supported":              []any{"code"},
			"grant_types_supported":                 []any{"authorization_code", "refresh_token"},
			"code_challenge_methods_supported":      []any{"S256"},
			"token_endpoint_auth_methods_supported": []any{"none"},
			"scopes_supported":                      []any{"user", "org", "workspace", "all_orgs", "all_workspaces", "all_shares", "all_sign_envelopes"},
			"access_modes_supported":                []any{"r", "rw", "rwa"},
			"client_id_metadata_document_supported": true,
			"resource_indicators_supported":         true,
			"service_documentation":                 origin + prefix + "/current/llms/",
		}
	}
	announced := want(host, "/api")
	announced["authorization_response_iss_parameter_supported"] = true
	for name, test := range map[string]struct {
		o      emulator.Options
		target string
		want   map[string]any
	}{
		"with a slash":           {emulator.Options{}, host + "/.well-known/oauth-authorization-server/", want(host, "/api")},
		"without a slash":        {emulator.Options{}, host + "/.well-known/oauth-authorization-server", want(host, "/api")},
		"over TLS":               {emulator.Options{}, "https://emulator.test:8443/.well-known/oauth-authorization-server", want("https://emulator.test:8443", "/api")},
		"without a prefix":       {emulator.Options{Prefix: "/"}, host + "/.well-known/oauth-authorization-server/", want(host, "")},
		"with another prefix":    {emulator.Options{Prefix: "/v1/"}, host + "/.well-known/oauth-authorization-server/", want(host, "/v1")},
		"which announces issuer": {emulator.Options{OAuth: seed.OAuthOptions{AnnounceIssuer: true}}, host + "/.well-known/oauth-authorization-server/", announced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newWorld(test.o).raw(t, http.MethodGet, test.target, "", "X-Forwarded-Proto", "https")
			if diff := cmp.Diff(test.want, got.JSON); diff != "" || got.Status != http.StatusOK {
				t.Errorf("%d (-want +got):\n%s", got.Status, diff)
			}
		})
	}
}

func TestProtectedResource(t *testing.T) {
	t.Parallel()
	want := map[string]any{
		"result": true, "resource": host, "authorization_servers": []any{host}, "bearer_methods_supported": []any{"header"},
		"scopes_supported": []any{"user", "org", "workspace", "all_orgs", "all_workspaces", "all_shares", "all_sign_envelopes"},
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/"} {
		got := unlimited().raw(t, http.MethodGet, path, "")
		if diff := cmp.Diff(want, got.JSON); diff != "" || got.Status != http.StatusOK {
			t.Errorf("%s: %d (-want +got):\n%s", path, got.Status, diff)
		}
	}
}

func TestOAuthPaths(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	for name, test := range map[string]struct {
		method, path string
		status, code int
	}{
		"metadata below the prefix":           {"GET", "/api/.well-known/oauth-authorization-server/", 404, 9992},
		"pages below the prefix":              {"GET", "/api/connect", 404, 9992},
		"another well-known document":         {"GET", "/.well-known/openid-configuration", 404, 9992},
		"a wrong method on metadata":          {"POST", "/.well-known/oauth-authorization-server", 405, 10003},
		"a wrong method on the resource":      {"DELETE", "/.well-known/oauth-protected-resource/", 405, 10003},
		"HEAD on metadata":                    {"HEAD", "/.well-known/oauth-authorization-server/", 405, 10003},
		"a wrong method on the token":         {"GET", "/api/current/oauth/token", 405, 10003},
		"an unknown endpoint":                 {"POST", "/api/current/oauth/introspect/", 404, 9992},
		"OPTIONS on the token":                {"OPTIONS", "/api/current/oauth/token/", 405, 10003},
		"OPTIONS on the token without slash":  {"OPTIONS", "/api/current/oauth/token", 405, 10003},
		"OPTIONS on metadata":                 {"OPTIONS", "/.well-known/oauth-authorization-server/", 405, 10003},
		"authorize without a slash":           {"GET", "/api/current/oauth/authorize", 406, 1605},
		"info without a slash":                {"GET", "/api/current/oauth/authorize/info", 406, 10021},
		"sessions without a slash":            {"GET", "/api/current/oauth/sessions", 401, 10011},
		"a session without a slash":           {"GET", "/api/current/oauth/sessions/x", 401, 10011},
		"scopes without a slash":              {"GET", "/api/current/auth/scopes", 401, 10011},
		"other endpoints still need a slash":  {"GET", "/api/current/ping", 404, 9992},
		"the credential comes before consent": {"POST", "/api/current/oauth/authorize/", 401, 10011},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := p.raw(t, test.method, test.path, ""); got.Status != test.status || got.code() != test.code {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
	for _, endpoint := range []string{"token", "token/", "revoke", "revoke/", "register", "register/"} {
		got := p.raw(t, http.MethodPost, "/api/current/oauth/"+endpoint, "", "Content-Type", formType)
		if got.Status != 400 || got.get("error") != "invalid_request" || got.get("result") != nil {
			t.Errorf("%s: %d %s", endpoint, got.Status, got.Body)
		}
	}
}

// The pages are for people: the documentation of the API knows nothing of them.
func TestPagesAreNotDocumented(t *testing.T) {
	t.Parallel()
	if got := unlimited().with(t, "", http.MethodGet, "/llms/"); strings.Contains(got.Body, "connect") || !strings.Contains(got.Body, "oauth") {
		t.Errorf("%s", got.Body)
	}
}

func TestAccessTokenIsAJWT(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	access, _ := p.grant(t, "agent_name", "Scout")
	parts := strings.Split(access, ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	var claims map[string]any
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"iss": host, "aud": host, "sub": p.ada.ID, "client_id": "app", "version": "2.0", "agent_name": "Scout",
		"exp": float64(epoch.Unix() + 3600), "iat": float64(epoch.Unix()), "scopes": []any{"user:*:rw"},
	} {
		if diff := cmp.Diff(want, claims[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if forged := parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])); p.accepts(t, forged) {
		t.Error("a forged token works")
	}
}

func TestConcurrentLogins(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{OAuth: seed.OAuthOptions{RotateRefreshTokens: true}})
	code := p.code(t)
	session := p.AddSession(p.ada.ID)
	var good atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := p.exchange(t, code); got.Status == http.StatusOK {
				good.Add(1)
			}
		})
		all.Go(func() {
			access, refresh := p.grant(t)
			access2, _ := tokens(t, p.refresh(t, refresh))
			for _, token := range []string{access, access2} {
				p.with(t, token, http.MethodGet, "/workspaces/all/")
			}
			p.with(t, session, http.MethodGet, "/oauth/sessions/")
			p.post(t, "revoke", "token", refresh)
		})
		all.Go(func() {
			got := p.with(t, session, http.MethodGet, "/oauth/sessions/")
			if id, found := got.get("sessions.0.session_id").(string); found {
				p.raw(t, http.MethodPatch, "/api/current/oauth/sessions/"+id+"/", pairs("scopes", `["org:*:r"]`).Encode(),
					"Content-Type", formType, "Authorization", "Bearer "+session)
			}
		})
		all.Go(func() { p.visit(t, p.login(t)).signIn(t, p.ada.Email, seed.DefaultPassword) })
	}
	all.Wait()
	if good.Load() != 1 {
		t.Errorf("a code was exchanged %d times", good.Load())
	}
}

func TestSeededClients(t *testing.T) {
	t.Parallel()
	p := &platform{world: &world{Server: emulator.New(emulator.Options{Clock: func() time.Time { return epoch }})}}
	file := `{"users": [{"id": "4000000000000000001"}], "clients": [{"id": "app", "name": "Seeded", "redirect_uris": ["http://127.0.0.1/callback"]}]}`
	if err := p.Load(strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if got := p.start(t); got.get("client_name") != "Seeded" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

func TestAddClientFillsWhatIsEmpty(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	c := p.AddClient(emulator.Client{RedirectURIs: []string{redirect}})
	if len(c.ID) != 32 || c.Name != "Unknown Client" {
		t.Errorf("%+v", c)
	}
	if got := p.start(t, "client_id", c.ID); got.Status != http.StatusOK {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
