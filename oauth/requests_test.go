package oauth_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/oauth"
)

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

// What registrations send by RFC 7591, and what zero, empty and null values do. The
// contract test, TestLogin and TestTokenSource hold the rest.
func TestRequests(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	client := stub.Fail(stop)
	s := oauth.New(client)
	var sent *api.Request
	check := func(err error, query, body string) {
		t.Helper()
		if !errors.Is(err, stop) {
			t.Fatalf("got %v", err)
		}
		sent = client.Got[len(client.Got)-1]
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
	check(fail(s.Refresh(ctx, oauth.RefreshRequest{ClientID: "c", RefreshToken: code}, api.Attempts(5))),
		"", "client_id=c&grant_type=refresh_token&refresh_token=+123+456%0A")
	once := sent.Options.Attempts // whose retries the caller cannot enable
	check(fail(s.Exchange(ctx, oauth.ExchangeRequest{
		ClientID: "c", RedirectURI: loopback, Code: code, CodeVerifier: api.NewSecret(verifier),
	}, api.Attempts(5))), "", "client_id=c&code=+123+456%0A&code_verifier="+verifier+"&grant_type=authorization_code"+
		"&redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcallback")
	if once != 1 || sent.Options.Attempts != 1 {
		t.Errorf("got %d and %d attempts", once, sent.Options.Attempts)
	}
}
