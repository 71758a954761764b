package oauth_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

// stubCaller is an api.Caller without HTTP.
type stubCaller func(ctx context.Context, r *api.Request, out any) error

func (f stubCaller) Call(ctx context.Context, r *api.Request, out any) error { return f(ctx, r, out) }

const (
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	loopback  = "http://127.0.0.1:49152/callback"
	clientID  = "0123456789abcdef0123456789abcdef"
)

func authorization() oauth.AuthorizationRequest {
	return oauth.AuthorizationRequest{
		ClientID: clientID, RedirectURI: loopback, PKCE: oauth.PKCE{
			Verifier: api.NewSecret(verifier), Challenge: challenge, State: api.NewSecret("state-0123456789"),
		},
	}
}

var inBerlin = time.Date(2027, time.January, 2, 4, 4, 5, 999_999_999, time.FixedZone("CET", 3600)) // 03:04:05 UTC

// What the requests of an authorization send, by RFC 6749, 7591, 7636 and 8707, and
// what zero, empty and null values do. The contract test holds the rest.
func TestRequests(t *testing.T) {
	t.Parallel()
	var sent *api.Request
	stop := errors.New("stop")
	s := oauth.New(stubCaller(func(_ context.Context, r *api.Request, _ any) error { sent = r; return stop }))
	check := func(err error, query, body string) {
		t.Helper()
		if !errors.Is(err, stop) {
			t.Fatalf("got %v", err)
		}
		var content []byte
		err = nil
		if sent.Body != nil {
			_, content, err = api.Encode(sent.Body)
		}
		if err != nil || sent.Query.Encode() != query || string(content) != body {
			t.Errorf("%s sends query %q and body %q, %v", sent.Op, sent.Query.Encode(), content, err)
		}
	}
	ctx := t.Context()
	code := api.NewSecret(" 123 456\n")
	const orgScope = "%5B%22org%3A4012345678901234567%3Arw%22%5D"
	const app, mcp = "https://acme.test/oauth/client.json", "https://mcp.acme.test/v1"

	full := authorization()
	full.Scopes = []oauth.Scope{oauth.ScopeOrg, oauth.ScopeAllShares}
	full.AccessMode, full.AccountSettings, full.DisplayCode = oauth.AccessModeAdmin, true, true
	full.Resource, full.AgentName = mcp, "Bücher & more"
	check(fail(s.StartAuthorization(ctx, full)), "access_mode=rwa&account_settings=1&agent_name=B%C3%BCcher+%26+more"+
		"&client_id="+clientID+"&code_challenge="+challenge+"&code_challenge_method=S256&display_code=true"+
		"&redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcallback&resource=https%3A%2F%2Fmcp.acme.test%2Fv1"+
		"&response_format=json&response_type=code&scope=org+all_shares&state=state-0123456789", "")
	check(fail(s.Exchange(ctx, oauth.ExchangeRequest{
		ClientID: app, RedirectURI: loopback, Code: api.NewSecret("c0de+/="), CodeVerifier: api.NewSecret(verifier),
		Resource: mcp, DeviceName: "Ada's laptop", DeviceType: "cli",
	})), "", "client_id=https%3A%2F%2Facme.test%2Foauth%2Fclient.json&code=c0de%2B%2F%3D&code_verifier="+verifier+
		"&device_name=Ada%27s+laptop&device_type=cli&grant_type=authorization_code"+
		"&redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcallback&resource=https%3A%2F%2Fmcp.acme.test%2Fv1")
	refresh := oauth.RefreshRequest{ClientID: app, RefreshToken: api.NewSecret("rt_0"), Resource: mcp}
	check(fail(s.Refresh(ctx, refresh)), "", "client_id=https%3A%2F%2Facme.test%2Foauth%2Fclient.json"+
		"&grant_type=refresh_token&refresh_token=rt_0&resource=https%3A%2F%2Fmcp.acme.test%2Fv1")
	check(fail(s.Register(ctx, oauth.RegisterRequest{ClientName: "Acme <Sync>", RedirectURIs: []string{loopback}})), "",
		`{"client_name":"Acme <Sync>","redirect_uris":["`+loopback+`"],`+
			`"grant_types":["authorization_code","refresh_token"],"response_types":["code"],`+
			`"token_endpoint_auth_method":"none"}`)
	check(fail(s.Register(ctx, oauth.RegisterRequest{
		RedirectURIs: []string{"https://acme.test/cb"}, GrantTypes: []string{"authorization_code"}, ResponseTypes: []string{},
	})), "", `{"redirect_uris":["https://acme.test/cb"],"grant_types":["authorization_code"],`+
		`"response_types":[],"token_endpoint_auth_method":"none"}`)
	complete := func(r oauth.CompleteAuthorizationRequest) error { return fail(s.CompleteAuthorization(ctx, r)) }
	check(complete(oauth.CompleteAuthorizationRequest{
		ID: "request", Scopes: orgWrite, AccessMode: oauth.AccessModeRead, AccountSettings: true,
	}), "", "access_mode=r&account_settings=1&auth_request_id=request&decision=approve&scopes="+orgScope)
	check(complete(oauth.CompleteAuthorizationRequest{
		ID: "request", Deny: true, Scopes: orgWrite, AccountSettings: true,
	}), "", "auth_request_id=request&decision=deny")

	session := func(r oauth.UpdateSessionRequest) error { return fail(s.Sessions.Update(ctx, "s1", r)) }
	check(session(oauth.UpdateSessionRequest{DeviceName: api.Set("Mill"), AgentName: api.Null[string]()}),
		"", "agent_name=&device_name=Mill")
	check(session(oauth.UpdateSessionRequest{AgentName: api.Set(""), Scopes: orgWrite}),
		"", "agent_name=&scopes="+orgScope)
	check(s.Sessions.RevokeAll(ctx, nil), "", "")
	check(s.Sessions.RevokeAll(ctx, &oauth.RevokeAllOptions{}), "", "")

	check(fail(s.Keys.Create(ctx, oauth.KeyRequest{})), "", "")
	check(fail(s.Keys.Create(ctx, oauth.KeyRequest{Expires: inBerlin, Code: code})),
		"", "expires=2027-01-02+03%3A04%3A05+UTC&token=123456")
	key := func(r oauth.UpdateKeyRequest) error { return s.Keys.Update(ctx, "k_77", r) }
	check(key(oauth.UpdateKeyRequest{Memo: api.Set("CI"), Code: code}), "", "memo=CI&token=123456")
	check(key(oauth.UpdateKeyRequest{
		Memo: api.Null[string](), AgentName: api.Null[string](), Expires: api.Null[time.Time](),
	}), "", "agent_name=&expires=&memo=")
	check(key(oauth.UpdateKeyRequest{AgentName: api.Set(""), Expires: api.Set(time.Time{})}), "", "agent_name=&expires=")
	check(s.Keys.Delete(ctx, "k_77", &oauth.DeleteKeyOptions{}), "", "")
	check(s.Keys.Delete(ctx, "k_77", &oauth.DeleteKeyOptions{Code: code}), "token=123456", "")

	check(s.TwoFactor.VerifySetup(ctx, code), "", "")
	if path := sent.Path.String(); path != "/current/user/auth/2factor/verify/123456/" {
		t.Errorf("the path is %s", path)
	}
	check(s.TwoFactor.Send(ctx, api.Secret{}, oauth.ChannelCall), "", "") // with the token of the client
	if sent.Auth != api.AuthBearer || !sent.Credential.IsZero() {
		t.Errorf("the request is signed as %v", sent.Auth)
	}
	for _, err := range []error{ // whose retries the caller cannot enable
		fail(s.Refresh(ctx, oauth.RefreshRequest{ClientID: "c", RefreshToken: code}, api.Attempts(5))),
		fail(s.Exchange(ctx, oauth.ExchangeRequest{
			ClientID: "c", RedirectURI: loopback, Code: code, CodeVerifier: api.NewSecret(verifier),
		}, api.Attempts(5))),
	} {
		if !errors.Is(err, stop) || sent.Options.Attempts != 1 {
			t.Errorf("got %v and %d attempts", err, sent.Options.Attempts)
		}
	}
}
