package oauth_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

// What the server would refuse is refused before anything is sent, in words that
// hold no secret.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	const secret = "canary-secret"
	long := strings.Repeat("ü", 129)
	tooMany := strings.Split(strings.Repeat("https://acme.test/cb ", 11), " ")[:11]
	authorize := func(change func(*oauth.AuthorizationRequest)) func(context.Context, *oauth.Service) error {
		r := authorization()
		change(&r)
		return second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.StartAuthorization(ctx, r) })
	}
	exchange := func(change func(*oauth.ExchangeRequest)) func(context.Context, *oauth.Service) error {
		r := oauth.ExchangeRequest{ClientID: clientID, RedirectURI: loopback, Code: api.NewSecret("code"), CodeVerifier: api.NewSecret(verifier)}
		change(&r)
		return second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.Exchange(ctx, r) })
	}
	refresh := func(r oauth.RefreshRequest) func(context.Context, *oauth.Service) error {
		return second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.Refresh(ctx, r) })
	}
	register := func(name string, uris ...string) func(context.Context, *oauth.Service) error {
		return second(func(ctx context.Context, s *oauth.Service) (any, error) {
			return s.Register(ctx, oauth.RegisterRequest{ClientName: name, RedirectURIs: uris})
		})
	}
	update := func(token api.Secret, r oauth.UpdateRegistrationRequest) func(context.Context, *oauth.Service) error {
		return second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.UpdateRegistration(ctx, token, r) })
	}
	complete := func(r oauth.CompleteAuthorizationRequest) func(context.Context, *oauth.Service) error {
		return second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.CompleteAuthorization(ctx, r) })
	}
	session := func(r oauth.UpdateSessionRequest) func(context.Context, *oauth.Service) error {
		return second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.Sessions.Update(ctx, "s1", r) })
	}
	key := func(r oauth.KeyRequest) func(context.Context, *oauth.Service) error {
		return second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.Keys.Create(ctx, r) })
	}
	rekey := func(r oauth.UpdateKeyRequest) func(context.Context, *oauth.Service) error {
		return func(ctx context.Context, s *oauth.Service) error { return s.Keys.Update(ctx, "k_77", r) }
	}
	signIn := func(email string, password api.Secret) func(context.Context, *oauth.Service) error {
		return second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.SignIn(ctx, email, password) })
	}
	enable := func(c oauth.Channel) func(context.Context, *oauth.Service) error {
		return second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.TwoFactor.Enable(ctx, c) })
	}
	send := func(limited api.Secret, c oauth.Channel) func(context.Context, *oauth.Service) error {
		return func(ctx context.Context, s *oauth.Service) error { return s.TwoFactor.Send(ctx, limited, c) }
	}
	finish := func(limited, code api.Secret) func(context.Context, *oauth.Service) error {
		return second(func(ctx context.Context, s *oauth.Service) (any, error) {
			return s.TwoFactor.Complete(ctx, limited, code)
		})
	}
	get := func(id string) func(context.Context, *oauth.Service) error {
		return second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.Sessions.Get(ctx, id) })
	}
	for name, tc := range map[string]struct {
		call func(ctx context.Context, s *oauth.Service) error
		want string
	}{
		"an authorization of nobody":     {authorize(func(r *oauth.AuthorizationRequest) { r.ClientID = "" }), "oauth.StartAuthorization: client_id must be given"},
		"an authorization to nowhere":    {authorize(func(r *oauth.AuthorizationRequest) { r.RedirectURI = "" }), "oauth.StartAuthorization: redirect_uri must be given"},
		"an authorization without state": {authorize(func(r *oauth.AuthorizationRequest) { r.PKCE.State = api.Secret{} }), "oauth.StartAuthorization: state must be given"},
		"an authorization without a challenge": {
			authorize(func(r *oauth.AuthorizationRequest) { r.PKCE.Challenge = "" }),
			`oauth.StartAuthorization: code_challenge must be 43 characters of base64url, got ""`,
		},
		"a challenge of other letters": {
			authorize(func(r *oauth.AuthorizationRequest) { r.PKCE.Challenge = challenge[:42] + "~" }),
			`oauth.StartAuthorization: code_challenge must be 43 characters of base64url, got "` + challenge[:42] + `~"`,
		},
		"a scope of two words": {
			authorize(func(r *oauth.AuthorizationRequest) { r.Scopes = []oauth.Scope{"org workspace"} }),
			`oauth.StartAuthorization: scope must be words without blanks, got "org workspace"`,
		},
		"a blank scope": {
			authorize(func(r *oauth.AuthorizationRequest) { r.Scopes = []oauth.Scope{"org", ""} }),
			`oauth.StartAuthorization: scope must be words without blanks, got ""`,
		},
		"an access mode": {
			authorize(func(r *oauth.AuthorizationRequest) { r.AccessMode = "w" }),
			`oauth.StartAuthorization: access_mode must be r, rw or rwa, got "w"`,
		},
		"a relative resource": {
			authorize(func(r *oauth.AuthorizationRequest) { r.Resource = "/api" }),
			"oauth.StartAuthorization: resource must be an absolute URL without a user and a fragment",
		},
		"a resource with a fragment": {
			authorize(func(r *oauth.AuthorizationRequest) { r.Resource = "https://acme.test/#" }),
			"oauth.StartAuthorization: resource must be an absolute URL without a user and a fragment",
		},
		"a resource with a password": {
			authorize(func(r *oauth.AuthorizationRequest) { r.Resource = "https://a:" + secret + "@acme.test/" }),
			"oauth.StartAuthorization: resource must be an absolute URL without a user and a fragment",
		},
		"information on nothing":  {second(func(ctx context.Context, s *oauth.Service) (any, error) { return s.AuthorizationInfo(ctx, "") }), "oauth.AuthorizationInfo: auth_request_id must be given"},
		"a consent to nothing":    {complete(oauth.CompleteAuthorizationRequest{}), "oauth.CompleteAuthorization: auth_request_id must be given"},
		"a consent to a mode":     {complete(oauth.CompleteAuthorizationRequest{ID: "a", AccessMode: "all"}), `oauth.CompleteAuthorization: access_mode must be r, rw or rwa, got "all"`},
		"a consent to no scope":   {complete(oauth.CompleteAuthorizationRequest{ID: "a", Scopes: []oauth.GrantedScope{}}), "oauth.CompleteAuthorization: scopes must be nil or not empty"},
		"a consent to half of it": {complete(oauth.CompleteAuthorizationRequest{ID: "a", Scopes: []oauth.GrantedScope{{EntityType: "org"}}}), "oauth.CompleteAuthorization: scopes must be entity:id:mode, got org::"},

		"a code of nobody":          {exchange(func(r *oauth.ExchangeRequest) { r.ClientID = "" }), "oauth.Exchange: client_id must be given"},
		"a code for nowhere":        {exchange(func(r *oauth.ExchangeRequest) { r.RedirectURI = "" }), "oauth.Exchange: redirect_uri must be given"},
		"no code":                   {exchange(func(r *oauth.ExchangeRequest) { r.Code = api.Secret{} }), "oauth.Exchange: code must be given"},
		"no verifier":               {exchange(func(r *oauth.ExchangeRequest) { r.CodeVerifier = api.Secret{} }), "oauth.Exchange: code_verifier must be given"},
		"a short verifier":          {exchange(func(r *oauth.ExchangeRequest) { r.CodeVerifier = api.NewSecret(secret) }), "oauth.Exchange: code_verifier must be 43 to 128 characters long, got 13"},
		"a long verifier":           {exchange(func(r *oauth.ExchangeRequest) { r.CodeVerifier = api.NewSecret(strings.Repeat("a", 129)) }), "oauth.Exchange: code_verifier must be 43 to 128 characters long, got 129"},
		"a verifier with a plus":    {exchange(func(r *oauth.ExchangeRequest) { r.CodeVerifier = api.NewSecret(strings.Repeat("+", 43)) }), "oauth.Exchange: code_verifier must consist of letters, digits and -._~"},
		"a long name of a device":   {exchange(func(r *oauth.ExchangeRequest) { r.DeviceName = long }), "oauth.Exchange: device_name must be at most 128 characters long, got 129"},
		"a long type of a device":   {exchange(func(r *oauth.ExchangeRequest) { r.DeviceType = long }), "oauth.Exchange: device_type must be at most 128 characters long, got 129"},
		"a refresh of nobody":       {refresh(oauth.RefreshRequest{RefreshToken: api.NewSecret(secret)}), "oauth.Refresh: client_id must be given"},
		"a refresh of nothing":      {refresh(oauth.RefreshRequest{ClientID: clientID}), "oauth.Refresh: refresh_token must be given"},
		"a revocation of nothing":   {func(ctx context.Context, s *oauth.Service) error { return s.Revoke(ctx, api.Secret{}) }, "oauth.Revoke: token must be given"},
		"a long name of a program":  {register(strings.Repeat("ü", 64)+"u", loopback), "oauth.Register: client_name must be at most 128 bytes long, got 129"},
		"a program without a place": {register("Acme"), "oauth.Register: redirect_uris must be 1 to 10, got 0"},
		"a program of many places":  {register("Acme", tooMany...), "oauth.Register: redirect_uris must be 1 to 10, got 11"},
		"a program of long places":  {register("Acme", "https://acme.test/"+strings.Repeat("a", 64<<10)), "oauth.Register: body must be at most 64 KB long, got 65712"},
		"a place without a host":    {register("Acme", "https:///cb"), `oauth.Register: redirect_uris must be absolute URLs, got "https:///cb"`},
		"a place with a fragment":   {register("Acme", "https://acme.test/#x"), `oauth.Register: redirect_uris must have no fragment, got "https://acme.test/#x"`},
		"a place without TLS":       {register("Acme", "http://acme.test/"), `oauth.Register: redirect_uris must be https, or http on localhost or 127.0.0.1, got "http://acme.test/"`},
		"a place of the new IP":     {register("Acme", "http://[::1]/"), `oauth.Register: redirect_uris must be https, or http on localhost or 127.0.0.1, got "http://[::1]/"`},
		"an app's own scheme":       {register("Acme", "acme://cb"), `oauth.Register: redirect_uris must be https, or http on localhost or 127.0.0.1, got "acme://cb"`},

		"an update of nobody": {update(api.NewSecret(secret), oauth.UpdateRegistrationRequest{ClientName: "a"}), "oauth.UpdateRegistration: client_id must be given"},
		"an update by nobody": {update(api.Secret{}, oauth.UpdateRegistrationRequest{ClientID: clientID, ClientName: "a"}), "oauth.UpdateRegistration: registration_access_token must be given"},
		"an update by a torn token": {
			update(api.NewSecret(secret+"\r\nX: y"), oauth.UpdateRegistrationRequest{ClientID: clientID, ClientName: "a"}),
			"oauth.UpdateRegistration: registration_access_token must hold neither blanks nor control characters",
		},
		"an update of nothing": {update(api.NewSecret(secret), oauth.UpdateRegistrationRequest{ClientID: clientID}), "oauth.UpdateRegistration: client_name or redirect_uris must be given"},
		"an update to a long name": {
			update(api.NewSecret(secret), oauth.UpdateRegistrationRequest{ClientID: clientID, ClientName: long}),
			"oauth.UpdateRegistration: client_name must be at most 128 characters long, got 129",
		},
		"an update to no place": {
			update(api.NewSecret(secret), oauth.UpdateRegistrationRequest{ClientID: clientID, RedirectURIs: []string{}}),
			"oauth.UpdateRegistration: redirect_uris must be 1 to 10, got 0",
		},
		"an update to a place without TLS": {
			update(api.NewSecret(secret), oauth.UpdateRegistrationRequest{ClientID: clientID, RedirectURIs: []string{loopback, "http://[::2]/"}}),
			`oauth.UpdateRegistration: redirect_uris must be https, or http on localhost or 127.0.0.1, got "http://[::2]/"`,
		},

		"a session without a name": {get(" "), `oauth.Sessions.Get: id must be neither blank nor made of dots, got " "`},
		"a session one up":         {get(".."), `oauth.Sessions.Get: id must be neither blank nor made of dots, got ".."`},
		"a session left as it is":  {session(oauth.UpdateSessionRequest{}), "oauth.Sessions.Update: device_name or agent_name or scopes must be given"},
		"a session's long device":  {session(oauth.UpdateSessionRequest{DeviceName: api.Set(long)}), "oauth.Sessions.Update: device_name must be at most 128 characters long, got 129"},
		"a session's long agent":   {session(oauth.UpdateSessionRequest{AgentName: api.Set(long)}), "oauth.Sessions.Update: agent_name must be at most 128 characters long, got 129"},
		"a session of no scope":    {session(oauth.UpdateSessionRequest{Scopes: []oauth.GrantedScope{}}), "oauth.Sessions.Update: scopes must be nil or not empty"},
		"a session of four parts": {
			session(oauth.UpdateSessionRequest{Scopes: []oauth.GrantedScope{{EntityType: "org", EntityID: "1:2", AccessMode: "r"}}}),
			"oauth.Sessions.Update: scopes must be entity:id:mode, got org:1:2:r",
		},

		"an address without a name":     {signIn("", api.NewSecret(secret)), "oauth.SignIn: email must be given"},
		"an address with a colon":       {signIn("ada:x@example.test", api.NewSecret(secret)), "oauth.SignIn: email must hold neither a colon nor control characters"},
		"an address of two lines":       {signIn("ada@example.test\n", api.NewSecret(secret)), "oauth.SignIn: email must hold neither a colon nor control characters"},
		"no password":                   {signIn("ada@example.test", api.Secret{}), "oauth.SignIn: password must be given"},
		"a password with a tab":         {signIn("ada@example.test", api.NewSecret(secret+"\t")), "oauth.SignIn: password must not hold control characters"},
		"a key's long agent":            {key(oauth.KeyRequest{AgentName: long}), "oauth.Keys.Create: agent_name must be at most 128 characters long, got 129"},
		"a key of no scope":             {key(oauth.KeyRequest{Scopes: []oauth.GrantedScope{}}), "oauth.Keys.Create: scopes must be nil or not empty"},
		"a key for ever and a day":      {key(oauth.KeyRequest{Expires: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}), "oauth.Keys.Create: expires must be of a year from 1 to 9999, got 10000"},
		"a key by a torn code":          {key(oauth.KeyRequest{Code: api.NewSecret(secret + "/..")}), "oauth.Keys.Create: token must consist of letters, digits and hyphens"},
		"a key by a blank code":         {key(oauth.KeyRequest{Code: api.NewSecret(" ")}), "oauth.Keys.Create: token must be given"},
		"a key left as it is":           {rekey(oauth.UpdateKeyRequest{Code: api.NewSecret("123456")}), "oauth.Keys.Update: memo or scopes, agent_name or expires must be given"},
		"a key renamed at length":       {rekey(oauth.UpdateKeyRequest{AgentName: api.Set(long)}), "oauth.Keys.Update: agent_name must be at most 128 characters long, got 129"},
		"a key emptied of scopes":       {rekey(oauth.UpdateKeyRequest{Scopes: []oauth.GrantedScope{}}), "oauth.Keys.Update: scopes must be nil or not empty"},
		"a key prolonged beyond reason": {rekey(oauth.UpdateKeyRequest{Expires: api.Set(time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC))}), "oauth.Keys.Update: expires must be of a year from 1 to 9999, got -1"},
		"a key deleted by a torn code": {
			func(ctx context.Context, s *oauth.Service) error {
				return s.Keys.Delete(ctx, "k", &oauth.DeleteKeyOptions{Code: api.NewSecret(secret + "?")})
			},
			"oauth.Keys.Delete: token must consist of letters, digits and hyphens",
		},

		"a call to set up":            {enable(oauth.ChannelCall), `oauth.TwoFactor.Enable: channel must be sms, totp or whatsapp, got "call"`},
		"another endpoint":            {enable("verify"), `oauth.TwoFactor.Enable: channel must be sms, totp or whatsapp, got "verify"`},
		"an app to send to":           {send(api.NewSecret(secret), oauth.ChannelTOTP), `oauth.TwoFactor.Send: channel must be sms, call or whatsapp, got "totp"`},
		"a torn token to send by":     {send(api.NewSecret(secret+" x"), oauth.ChannelSMS), "oauth.TwoFactor.Send: limited must hold neither blanks nor control characters"},
		"a completion of nothing":     {finish(api.Secret{}, api.NewSecret("123456")), "oauth.TwoFactor.Complete: limited must be given"},
		"a completion by nothing":     {finish(api.NewSecret(secret), api.NewSecret("\n")), "oauth.TwoFactor.Complete: token must be given"},
		"a completion that climbs":    {finish(api.NewSecret(secret), api.NewSecret("../"+secret)), "oauth.TwoFactor.Complete: token must consist of letters, digits and hyphens"},
		"a setup verified by nothing": {func(ctx context.Context, s *oauth.Service) error { return s.TwoFactor.VerifySetup(ctx, api.Secret{}) }, "oauth.TwoFactor.VerifySetup: token must be given"},
		"a factor lost for nothing": {func(ctx context.Context, s *oauth.Service) error {
			return s.TwoFactor.Disable(ctx, api.NewSecret(".."))
		}, "oauth.TwoFactor.Disable: token must consist of letters, digits and hyphens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := 0
			err := tc.call(t.Context(), oauth.New(stubCaller(func(_ context.Context, r *api.Request, _ any) error {
				err := r.Path.Err()
				if e, ok := errors.AsType[*api.InputError](err); ok { // as a client does
					e.Op = r.Op
				} else {
					sent++
				}
				return err
			})))
			e, refused := errors.AsType[*api.InputError](err)
			if !refused || !errors.Is(err, api.ErrInvalid) || sent > 0 {
				t.Fatalf("ends with %v after %d requests", err, sent)
			}
			if got := strings.TrimPrefix(e.Error(), "fastio: "); got != tc.want {
				t.Errorf("ends with\n\t%s, want\n\t%s", got, tc.want)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("tells the secret: %v", err)
			}
		})
	}
}

// Limits that are kept to the letter.
func TestInputAtItsLimits(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	s := oauth.New(stubCaller(func(context.Context, *api.Request, any) error { return stop }))
	name := strings.Repeat("ü", 128)
	ten := strings.Split(strings.TrimSpace(strings.Repeat("https://acme.test/cb ", 10)), " ")
	for what, err := range map[string]error{
		"an agent's name": fail(s.Keys.Create(t.Context(), oauth.KeyRequest{AgentName: name})),
		"the last year":   fail(s.Keys.Create(t.Context(), oauth.KeyRequest{Expires: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)})),
		"a program's name": fail(s.Register(t.Context(), oauth.RegisterRequest{
			ClientName: " " + strings.Repeat("ü", 64) + " ", RedirectURIs: ten,
		})),
		"a program's new name": fail(s.UpdateRegistration(t.Context(), api.NewSecret("t"), oauth.UpdateRegistrationRequest{ClientID: clientID, ClientName: name})),
		"a session's names": fail(s.Sessions.Update(t.Context(), "s", oauth.UpdateSessionRequest{
			DeviceName: api.Set(name), AgentName: api.Set(name),
		})),
		"a long verifier": fail(s.Exchange(t.Context(), oauth.ExchangeRequest{
			ClientID: clientID, RedirectURI: loopback, Code: api.NewSecret("c"), CodeVerifier: api.NewSecret(strings.Repeat("~", 128)), DeviceName: name, DeviceType: name,
		})),
	} {
		if !errors.Is(err, stop) {
			t.Errorf("%s is refused: %v", what, err)
		}
	}
}

func fail[T any](_ T, err error) error { return err }

func TestClientMetadata(t *testing.T) {
	t.Parallel()
	const url = "https://acme.test/oauth/client.json"
	good := func() *oauth.ClientMetadata {
		return &oauth.ClientMetadata{
			ClientID: url, ClientName: "Acme Sync", RedirectURIs: []string{"http://127.0.0.1/callback"},
			GrantTypes: []string{"refresh_token", "authorization_code"}, ResponseTypes: []string{"code"}, AuthMethod: "none",
		}
	}
	if err := good().Validate(url); err != nil {
		t.Fatal(err)
	}
	const size = 10 << 10
	full := good()
	full.LogoURI = "https://acme.test/" + strings.Repeat("x", size-len(`{"client_id":"","client_name":"Acme Sync","redirect_uris":["http://127.0.0.1/callback"],"grant_types":["refresh_token","authorization_code"],"response_types":["code"],"token_endpoint_auth_method":"none","logo_uri":"https://acme.test/"}`)-len(url))
	if err := full.Validate(url); err != nil {
		t.Errorf("a document of 10 KB: %v", err)
	}
	for name, tc := range map[string]struct {
		url    string
		change func(m *oauth.ClientMetadata)
		want   string
	}{
		"plain text":        {"http://acme.test/client.json", nil, "client_id must be an https URL without a user and a fragment"},
		"a fragment":        {url + "#x", nil, "client_id must be an https URL without a user and a fragment"},
		"a blank fragment":  {url + "#", nil, "client_id must be an https URL without a user and a fragment"},
		"a password":        {"https://a:b@acme.test/client.json", nil, "client_id must be an https URL without a user and a fragment"},
		"no host":           {"https:///client.json", nil, "client_id must be an https URL without a user and a fragment"},
		"a port alone":      {"https://:443/client.json", nil, "client_id must be an https URL without a user and a fragment"},
		"no URL":            {"https://acme.test/%", nil, "client_id must be an https URL without a user and a fragment"},
		"another id":        {url, func(m *oauth.ClientMetadata) { m.ClientID += "/" }, `client_id must be the URL of the document, got "` + url + `/"`},
		"no place":          {url, func(m *oauth.ClientMetadata) { m.RedirectURIs = nil }, "redirect_uris must be 1 to 10, got 0"},
		"a place of others": {url, func(m *oauth.ClientMetadata) { m.RedirectURIs = []string{"http://acme.test/"} }, `redirect_uris must be https, or http on localhost or 127.0.0.1, got "http://acme.test/"`},
		"no grant":          {url, func(m *oauth.ClientMetadata) { m.GrantTypes = []string{"refresh_token"} }, "grant_types must contain authorization_code"},
		"no answer":         {url, func(m *oauth.ClientMetadata) { m.ResponseTypes = []string{"token"} }, "response_types must contain code"},
		"a secret":          {url, func(m *oauth.ClientMetadata) { m.AuthMethod = "client_secret_post" }, `token_endpoint_auth_method must be none, got "client_secret_post"`},
		"no method":         {url, func(m *oauth.ClientMetadata) { m.AuthMethod = "" }, `token_endpoint_auth_method must be none, got ""`},
		"a byte too many":   {url, func(m *oauth.ClientMetadata) { *m = *full; m.LogoURI += "x" }, "document must be at most 10 KB long, got 10241"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := good()
			if tc.change != nil {
				tc.change(m)
			}
			err := m.Validate(tc.url)
			if err == nil || err.Error() != "fastio: oauth.ClientMetadata: "+tc.want || !errors.Is(err, api.ErrInvalid) {
				t.Errorf("ends with %v, want %s", err, tc.want)
			}
		})
	}
}
