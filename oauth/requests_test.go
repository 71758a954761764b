package oauth_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

// stubCaller is an api.Caller without HTTP.
type stubCaller func(ctx context.Context, r *api.Request, out any) error

func (f stubCaller) Call(ctx context.Context, r *api.Request, out any) error { return f(ctx, r, out) }

// shape is what a request asks of those who send it.
type shape struct {
	Line       string // method, path and query
	Body       string // "form a=b", "json {}"; "" for none at all
	Auth       api.Auth
	Credential string
	Replay     api.Replay
	Attempts   int
}

func shapeOf(t *testing.T, r *api.Request) shape {
	t.Helper()
	if err := r.Path.Err(); err != nil {
		t.Fatal(err)
	}
	s := shape{
		Line: r.Method + " " + r.Path.String(), Auth: r.Auth, Credential: r.Credential.Reveal(), Replay: r.Replay,
		Attempts: r.Options.Attempts,
	}
	if len(r.Query) > 0 {
		s.Line += "?" + r.Query.Encode()
	}
	if r.Body != nil {
		contentType, content, err := api.Encode(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		kind := map[string]string{"application/x-www-form-urlencoded": "form", "application/json": "json"}[contentType]
		s.Body = kind + " " + string(content)
	}
	return s
}

const (
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	loopback  = "http://127.0.0.1:49152/callback"
	clientID  = "0123456789abcdef0123456789abcdef"
)

func authorization() oauth.AuthorizationRequest {
	return oauth.AuthorizationRequest{
		ClientID: clientID, RedirectURI: loopback,
		PKCE: oauth.PKCE{Verifier: api.NewSecret(verifier), Challenge: challenge, State: api.NewSecret("state-0123456789")},
	}
}

var inBerlin = time.Date(2027, time.January, 2, 4, 4, 5, 999_999_999, time.FixedZone("CET", 3600)) // 03:04:05 UTC

// What each call sends: nothing else, and to nobody else.
func TestRequests(t *testing.T) {
	t.Parallel()
	org := []oauth.GrantedScope{{EntityType: oauth.EntityTypeOrg, EntityID: "4012345678901234567", AccessMode: oauth.AccessModeWrite}}
	for name, tc := range map[string]struct {
		op   string
		call func(ctx context.Context, s *oauth.Service) error
		want shape
	}{
		"a registration": {
			"oauth.Register", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.Register(ctx, oauth.RegisterRequest{ClientName: "Acme Sync", RedirectURIs: []string{"http://127.0.0.1/callback", "https://acme.test/cb?a=b&c"}})
			}),
			shape{
				Line: "POST /current/oauth/register/", Auth: api.AuthNone,
				Body: `json {"client_name":"Acme Sync","redirect_uris":["http://127.0.0.1/callback","https://acme.test/cb?a=b&c"],` +
					`"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],"response_types":["code"]}`,
			},
		},
		"an update of a name": {
			"oauth.UpdateRegistration", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.UpdateRegistration(ctx, api.NewSecret("management-token"), oauth.UpdateRegistrationRequest{ClientID: clientID, ClientName: "Acme Sync 2"})
			}),
			shape{
				Line: "PUT /current/oauth/register/", Auth: api.AuthNone, Credential: "Bearer management-token", Replay: api.ReplaySafe,
				Body: `json {"client_id":"` + clientID + `","client_name":"Acme Sync 2"}`,
			},
		},
		"an update of redirect URIs": {
			"oauth.UpdateRegistration", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.UpdateRegistration(ctx, api.NewSecret("management-token"), oauth.UpdateRegistrationRequest{
					ClientID: clientID, RedirectURIs: []string{"http://[::1]/callback", "http://LOCALHOST:1/"},
				})
			}),
			shape{
				Line: "PUT /current/oauth/register/", Auth: api.AuthNone, Credential: "Bearer management-token", Replay: api.ReplaySafe,
				Body: `json {"client_id":"` + clientID + `","redirect_uris":["http://[::1]/callback","http://LOCALHOST:1/"]}`,
			},
		},
		"an authorization": {
			"oauth.StartAuthorization", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.StartAuthorization(ctx, authorization())
			}),
			shape{
				Line: "GET /current/oauth/authorize/?client_id=" + clientID + "&code_challenge=" + challenge +
					"&code_challenge_method=S256&redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcallback&response_format=json" +
					"&response_type=code&state=state-0123456789",
				Auth: api.AuthNone,
			},
		},
		"an authorization with all there is": {
			"oauth.StartAuthorization", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				r := authorization()
				r.Scopes = []oauth.Scope{oauth.ScopeAllOrgs, oauth.ScopeAllShares}
				r.AccessMode, r.AccountSettings, r.DisplayCode = oauth.AccessModeAdmin, true, true
				r.Resource, r.AgentName = "https://acme.test/api", "  Builder 1 "
				return s.StartAuthorization(ctx, r)
			}),
			shape{
				Line: "GET /current/oauth/authorize/?access_mode=rwa&account_settings=1&agent_name=Builder+1&client_id=" + clientID +
					"&code_challenge=" + challenge + "&code_challenge_method=S256&display_code=true" +
					"&redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcallback&resource=https%3A%2F%2Facme.test%2Fapi&response_format=json" +
					"&response_type=code&scope=all_orgs+all_shares&state=state-0123456789",
				Auth: api.AuthNone,
			},
		},
		"what a consent screen shows": {
			"oauth.AuthorizationInfo", second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.AuthorizationInfo(ctx, "a&b") }),
			shape{Line: "GET /current/oauth/authorize/info/?auth_request_id=a%26b", Auth: api.AuthNone, Replay: api.ReplaySafe},
		},
		"a consent to a part": {
			"oauth.CompleteAuthorization", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.CompleteAuthorization(ctx, oauth.CompleteAuthorizationRequest{
					ID: "request", Scopes: org, AccessMode: oauth.AccessModeRead, AccountSettings: true,
				})
			}),
			shape{
				Line: "POST /current/oauth/authorize/",
				Body: "form access_mode=r&account_settings=1&auth_request_id=request&decision=approve&scopes=%5B%22org%3A4012345678901234567%3Arw%22%5D",
			},
		},
		"a code": {
			"oauth.Exchange", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.Exchange(ctx, oauth.ExchangeRequest{
					ClientID: clientID, RedirectURI: loopback, Code: api.NewSecret("c/1"), CodeVerifier: api.NewSecret(verifier),
					Resource: "https://acme.test/api", DeviceName: "Mühle", DeviceType: "cli",
				}, api.Attempts(5))
			}),
			shape{
				Line: "POST /current/oauth/token/", Auth: api.AuthNone, Attempts: 1,
				Body: "form client_id=" + clientID + "&code=c%2F1&code_verifier=" + verifier + "&device_name=M%C3%BChle&device_type=cli" +
					"&grant_type=authorization_code&redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcallback&resource=https%3A%2F%2Facme.test%2Fapi",
			},
		},
		"a refresh": {
			"oauth.Refresh", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.Refresh(ctx, oauth.RefreshRequest{ClientID: clientID, RefreshToken: api.NewSecret("rt_1"), Resource: "https://acme.test/api"}, api.Attempts(5))
			}),
			shape{
				Line: "POST /current/oauth/token/", Auth: api.AuthNone, Attempts: 1,
				Body: "form client_id=" + clientID + "&grant_type=refresh_token&refresh_token=rt_1&resource=https%3A%2F%2Facme.test%2Fapi",
			},
		},
		"a session": {
			"oauth.Sessions.Get", second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.Sessions.Get(ctx, "s/1") }),
			shape{Line: "GET /current/oauth/sessions/s%2F1/", Replay: api.ReplaySafe},
		},
		"a session renamed": {
			"oauth.Sessions.Update", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.Sessions.Update(ctx, "s1", oauth.UpdateSessionRequest{DeviceName: api.Set("Mill"), AgentName: api.Null[string]()})
			}),
			shape{Line: "PATCH /current/oauth/sessions/s1/", Body: "form agent_name=&device_name=Mill"},
		},
		"a session narrowed": {
			"oauth.Sessions.Update", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.Sessions.Update(ctx, "s1", oauth.UpdateSessionRequest{AgentName: api.Set(""), Scopes: org})
			}),
			shape{Line: "PATCH /current/oauth/sessions/s1/", Body: "form agent_name=&scopes=%5B%22org%3A4012345678901234567%3Arw%22%5D"},
		},
		"a sign-in": {
			"oauth.SignIn", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.SignIn(ctx, "ada@example.test", api.NewSecret("päss:word"), api.Attempts(5))
			}),
			shape{Line: "GET /current/user/auth/", Auth: api.AuthNone, Credential: "Basic YWRhQGV4YW1wbGUudGVzdDpww6Rzczp3b3Jk", Attempts: 1},
		},
		"a key with all there is": {
			"oauth.Keys.Create", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.Keys.Create(ctx, oauth.KeyRequest{
					Memo: "CI & more", Scopes: append(org[:1:1], oauth.GrantedScope{EntityType: "userdetails", EntityID: "*", AccessMode: "rw"}),
					AgentName: "ci-bot", Expires: inBerlin, Code: api.NewSecret(" 123 456\n"),
				})
			}),
			shape{
				Line: "POST /current/user/auth/key/",
				Body: "form agent_name=ci-bot&expires=2027-01-02+03%3A04%3A05+UTC&memo=CI+%26+more" +
					"&scopes=%5B%22org%3A4012345678901234567%3Arw%22%2C%22userdetails%3A%2A%3Arw%22%5D&token=123456",
			},
		},
		"a key changed": {
			"oauth.Keys.Update", func(ctx context.Context, s *oauth.Service) error {
				return s.Keys.Update(ctx, "k_77", oauth.UpdateKeyRequest{
					Memo: api.Set("CI"), Scopes: org, AgentName: api.Set("ci-bot"), Expires: api.Set(inBerlin), Code: api.NewSecret("123456"),
				})
			},
			shape{
				Line: "POST /current/user/auth/key/k_77/",
				Body: "form agent_name=ci-bot&expires=2027-01-02+03%3A04%3A05+UTC&memo=CI&scopes=%5B%22org%3A4012345678901234567%3Arw%22%5D&token=123456",
			},
		},
		"a key cleared by null": {
			"oauth.Keys.Update", func(ctx context.Context, s *oauth.Service) error {
				return s.Keys.Update(ctx, "k_77", oauth.UpdateKeyRequest{
					Memo: api.Null[string](), AgentName: api.Null[string](), Expires: api.Null[time.Time](),
				})
			},
			shape{Line: "POST /current/user/auth/key/k_77/", Body: "form agent_name=&expires=&memo="},
		},
		"a key cleared by zeros": {
			"oauth.Keys.Update", func(ctx context.Context, s *oauth.Service) error {
				return s.Keys.Update(ctx, "k_77", oauth.UpdateKeyRequest{AgentName: api.Set(""), Expires: api.Set(time.Time{})})
			},
			shape{Line: "POST /current/user/auth/key/k_77/", Body: "form agent_name=&expires="},
		},
		"a code sent": {
			"oauth.TwoFactor.Send", func(ctx context.Context, s *oauth.Service) error {
				return s.TwoFactor.Send(ctx, api.NewSecret("limited-token"), oauth.ChannelCall)
			},
			shape{Line: "GET /current/user/auth/2factor/send/call/", Auth: api.AuthNone, Credential: "Bearer limited-token"},
		},
		"a sign-in completed": {
			"oauth.TwoFactor.Complete", second(func(ctx context.Context, s *oauth.Service) (any, error) {
				return s.TwoFactor.Complete(ctx, api.NewSecret("limited-token"), api.NewSecret("ab-12"))
			}),
			shape{
				Line: "POST /current/user/auth/2factor/auth/ab-12/", Body: "form ",
				Auth: api.AuthNone, Credential: "Bearer limited-token",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent []*api.Request
			stop := errors.New("stop")
			s := oauth.New(stubCaller(func(_ context.Context, r *api.Request, _ any) error { sent = append(sent, r); return stop }))
			if err := tc.call(t.Context(), s); !errors.Is(err, stop) {
				t.Fatalf("the call ends with %v", err)
			}
			if len(sent) != 1 || sent[0].Op != tc.op || sent[0].Group != "" || !sent[0].Password.IsZero() {
				t.Fatalf("the requests are %+v", sent)
			}
			if diff := cmp.Diff(tc.want, shapeOf(t, sent[0])); diff != "" {
				t.Errorf("the request (-want +got):\n%s", diff)
			}
			if strings.Contains(sent[0].Path.Template(), "123") {
				t.Errorf("the route is %s", sent[0].Path.Template())
			}
		})
	}
}

// second leaves a call its error alone.
func second(call func(ctx context.Context, s *oauth.Service) (any, error)) func(ctx context.Context, s *oauth.Service) error {
	return func(ctx context.Context, s *oauth.Service) error { _, err := call(ctx, s); return err }
}
