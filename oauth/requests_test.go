package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

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

func TestNewPKCE(t *testing.T) {
	t.Parallel()
	verifiers := regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)
	states := regexp.MustCompile(`^[A-Za-z0-9._~-]{22,}$`)
	seen := map[string]bool{}
	if c := oauth2.S256ChallengeFromVerifier(verifier); c != challenge { // RFC 7636, appendix B
		t.Errorf("the challenge is %s, want %s", c, challenge)
	}
	for range 1000 {
		p := oauth.NewPKCE()
		sum := sha256.Sum256([]byte(p.Verifier.Reveal()))
		if want := base64.RawURLEncoding.EncodeToString(sum[:]); p.Challenge != want || len(want) != 43 {
			t.Fatalf("the challenge is %s, want %s", p.Challenge, want)
		}
		if !verifiers.MatchString(p.Verifier.Reveal()) || !states.MatchString(p.State.Reveal()) {
			t.Fatalf("the verifier is %s, the state %s", p.Verifier.Reveal(), p.State.Reveal())
		}
		for _, fresh := range []string{p.Verifier.Reveal(), p.State.Reveal()} {
			if seen[fresh] {
				t.Fatalf("%s comes twice", fresh)
			}
			seen[fresh] = true
		}
	}
}

const (
	longDevice = "device_name must be at most 128 characters long, got 129"
	longAgent  = "agent_name must be at most 128 characters long, got 129"
	badCode    = "token must consist of letters, digits and hyphens"
	badMode    = "access_mode must be r, rw or rwa, got "
	badScope   = "scope must be words without blanks, got "
	challenges = "code_challenge must be 43 characters of base64url, got "
	noBlanks   = " must hold neither blanks nor control characters"
	noScopes   = "scopes must be nil or not empty"
	redirect   = "redirect_uris must be https, or http on localhost or 127.0.0.1, got "
	resources  = "resource must be an absolute URL without a user and a fragment"
)

func fail[T any](_ T, err error) error { return err }

// rejected is an input error and its text after the operation.
type rejected struct {
	err  error
	want string
}

// checkRejected requires input errors, which are returned before anything is sent.
func checkRejected(t *testing.T, op string, all []rejected) {
	t.Helper()
	for _, tc := range all {
		e, ok := errors.AsType[*api.InputError](tc.err)
		if ok && e.Op == "" {
			e.Op = "oauth." + op // which a client adds to the error of a path
		}
		if !ok || !errors.Is(tc.err, api.ErrInvalid) || e.Error() != "fastio: oauth."+op+": "+tc.want {
			t.Errorf("got  %v\nwant fastio: oauth.%s: %s", tc.err, op, tc.want)
		}
	}
}

func TestAuthorizationInput(t *testing.T) {
	t.Parallel()
	s, ctx := oauth.New(stub.Fail(errors.New("sent"))), t.Context()
	type (
		authorize = oauth.AuthorizationRequest
		complete  = oauth.CompleteAuthorizationRequest
	)
	start := func(change func(*authorize)) error {
		r := authorization()
		change(&r)
		return fail(s.StartAuthorization(ctx, r))
	}
	checkRejected(t, "StartAuthorization", []rejected{
		{start(func(r *authorize) { r.ClientID = "" }), "client_id must be given"},
		{start(func(r *authorize) { r.RedirectURI = "" }), "redirect_uri must be given"},
		{start(func(r *authorize) { r.PKCE.State = api.Secret{} }), "state must be given"},
		{start(func(r *authorize) { r.PKCE.Challenge = "" }), challenges + `""`},
		{
			start(func(r *authorize) { r.PKCE.Challenge = challenge[:42] + "~" }),
			challenges + `"` + challenge[:42] + `~"`,
		},
		{start(func(r *authorize) { r.Scopes = []oauth.Scope{"org workspace"} }), badScope + `"org workspace"`},
		{start(func(r *authorize) { r.Scopes = []oauth.Scope{"org", ""} }), badScope + `""`},
		{start(func(r *authorize) { r.AccessMode = "w" }), badMode + `"w"`},
		{start(func(r *authorize) { r.Resource = "/api" }), resources},
		{start(func(r *authorize) { r.Resource = "https://acme.test/#" }), resources},
		{start(func(r *authorize) { r.Resource = "https://a:pw@acme.test/" }), resources},
	})
	checkRejected(t, "AuthorizationInfo", []rejected{
		{fail(s.AuthorizationInfo(ctx, "")), "auth_request_id must be given"},
	})
	decide := func(r complete) error { return fail(s.CompleteAuthorization(ctx, r)) }
	half := []oauth.GrantedScope{{EntityType: "org"}}
	checkRejected(t, "CompleteAuthorization", []rejected{
		{decide(complete{}), "auth_request_id must be given"},
		{decide(complete{ID: "a", AccessMode: "all"}), badMode + `"all"`},
		{decide(complete{ID: "a", Scopes: []oauth.GrantedScope{}}), noScopes},
		{decide(complete{ID: "a", Scopes: half}), "scopes must be entity:id:mode, got org::"},
	})
}

func TestTokenInput(t *testing.T) {
	t.Parallel()
	s, ctx, long := oauth.New(stub.Fail(errors.New("sent"))), t.Context(), strings.Repeat("ü", 129)
	type exchange = oauth.ExchangeRequest
	send := func(change func(*exchange)) error {
		r := exchange{
			ClientID: clientID, RedirectURI: loopback, Code: api.NewSecret("code"), CodeVerifier: api.NewSecret(verifier),
		}
		change(&r)
		return fail(s.Exchange(ctx, r))
	}
	verify := func(with string) error {
		return send(func(r *exchange) { r.CodeVerifier = api.NewSecret(with) })
	}
	checkRejected(t, "Exchange", []rejected{
		{send(func(r *exchange) { r.ClientID = "" }), "client_id must be given"},
		{send(func(r *exchange) { r.RedirectURI = "" }), "redirect_uri must be given"},
		{send(func(r *exchange) { r.Code = api.Secret{} }), "code must be given"},
		{verify(""), "code_verifier must be given"},
		{verify("canary-secret"), "code_verifier must be 43 to 128 characters long, got 13"},
		{verify(strings.Repeat("a", 129)), "code_verifier must be 43 to 128 characters long, got 129"},
		{verify(strings.Repeat("+", 43)), "code_verifier must consist of letters, digits and -._~"},
		{send(func(r *exchange) { r.DeviceName = long }), longDevice},
		{send(func(r *exchange) { r.DeviceType = long }), "device_type must be at most 128 characters long, got 129"},
	})
	checkRejected(t, "Refresh", []rejected{
		{fail(s.Refresh(ctx, oauth.RefreshRequest{RefreshToken: api.NewSecret("rt")})), "client_id must be given"},
		{fail(s.Refresh(ctx, oauth.RefreshRequest{ClientID: clientID})), "refresh_token must be given"},
	})
	checkRejected(t, "Revoke", []rejected{{s.Revoke(ctx, api.Secret{}), "token must be given"}})
}

func TestRegistrationInput(t *testing.T) {
	t.Parallel()
	s, ctx := oauth.New(stub.Fail(errors.New("sent"))), t.Context()
	register := func(name string, uris ...string) error {
		return fail(s.Register(ctx, oauth.RegisterRequest{ClientName: name, RedirectURIs: uris}))
	}
	checkRejected(t, "Register", []rejected{
		{register(strings.Repeat("ü", 64)+"u", loopback), "client_name must be at most 128 bytes long, got 129"},
		{register("Acme"), "redirect_uris must be 1 to 10, got 0"},
		{register("Acme", redirects(11)...), "redirect_uris must be 1 to 10, got 11"},
		{register("Acme", "https://acme.test/"+strings.Repeat("a", 64<<10)), "body must be at most 64 KB long, got 65712"},
		{register("Acme", "https:///cb"), `redirect_uris must be absolute URLs, got "https:///cb"`},
		{register("Acme", "https://acme.test/#x"), `redirect_uris must have no fragment, got "https://acme.test/#x"`},
		{register("Acme", "http://acme.test/"), redirect + `"http://acme.test/"`},
		{register("Acme", "http://[::1]/"), redirect + `"http://[::1]/"`},
		{register("Acme", "acme://cb"), redirect + `"acme://cb"`},
	})
	token := api.NewSecret("canary-secret")
	update := func(token api.Secret, name string, uris ...string) error {
		return fail(s.UpdateRegistration(ctx, token, oauth.UpdateRegistrationRequest{
			ClientID: clientID, ClientName: name, RedirectURIs: uris,
		}))
	}
	unnamed := oauth.UpdateRegistrationRequest{ClientName: "a"}
	checkRejected(t, "UpdateRegistration", []rejected{
		{fail(s.UpdateRegistration(ctx, token, unnamed)), "client_id must be given"},
		{update(api.Secret{}, "a"), "registration_access_token must be given"},
		{update(api.NewSecret("canary-secret\r\nX: y"), "a"), "registration_access_token" + noBlanks},
		{update(token, ""), "client_name or redirect_uris must be given"},
		{update(token, strings.Repeat("ü", 129)), "client_name must be at most 128 characters long, got 129"},
		{update(token, "", []string{}...), "redirect_uris must be 1 to 10, got 0"},
		{update(token, "", loopback, "http://[::2]/"), redirect + `"http://[::2]/"`},
	})
}

func redirects(n int) []string { return strings.Fields(strings.Repeat("https://acme.test/cb ", n)) }

func TestSessionAndKeyInput(t *testing.T) {
	t.Parallel()
	s, ctx, long := oauth.New(stub.Fail(errors.New("sent"))), t.Context(), strings.Repeat("ü", 129)
	none, code := []oauth.GrantedScope{}, api.NewSecret("canary-secret/..")
	four := []oauth.GrantedScope{{EntityType: "org", EntityID: "1:2", AccessMode: "r"}}
	checkRejected(t, "Sessions.Get", []rejected{
		{fail(s.Sessions.Get(ctx, " ")), `id must be neither blank nor made of dots, got " "`},
		{fail(s.Sessions.Get(ctx, "..")), `id must be neither blank nor made of dots, got ".."`},
	})
	type session = oauth.UpdateSessionRequest
	rename := func(r session) error { return fail(s.Sessions.Update(ctx, "s1", r)) }
	checkRejected(t, "Sessions.Update", []rejected{
		{rename(session{}), "device_name or agent_name or scopes must be given"},
		{rename(session{DeviceName: api.Set(long)}), longDevice},
		{rename(session{AgentName: api.Set(long)}), longAgent},
		{rename(session{Scopes: none}), noScopes},
		{rename(session{Scopes: four}), "scopes must be entity:id:mode, got org:1:2:r"},
	})
	type key = oauth.KeyRequest
	create := func(r key) error { return fail(s.Keys.Create(ctx, r)) }
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	checkRejected(t, "Keys.Create", []rejected{
		{create(key{AgentName: long}), longAgent},
		{create(key{Scopes: none}), noScopes},
		{create(key{Expires: late}), "expires must be of a year from 1 to 9999, got 10000"},
		{create(key{Code: code}), badCode},
		{create(key{Code: api.NewSecret(" ")}), "token must be given"},
	})
	type change = oauth.UpdateKeyRequest
	update := func(r change) error { return s.Keys.Update(ctx, "k_77", r) }
	early := time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)
	checkRejected(t, "Keys.Update", []rejected{
		{update(change{Code: api.NewSecret("1")}), "memo or scopes, agent_name or expires must be given"},
		{update(change{AgentName: api.Set(long)}), longAgent},
		{update(change{Scopes: none}), noScopes},
		{update(change{Expires: api.Set(early)}), "expires must be of a year from 1 to 9999, got -1"},
	})
	checkRejected(t, "Keys.Delete", []rejected{{s.Keys.Delete(ctx, "k", &oauth.DeleteKeyOptions{Code: code}), badCode}})
}

func TestSignInInput(t *testing.T) {
	t.Parallel()
	s, ctx, secret := oauth.New(stub.Fail(errors.New("sent"))), t.Context(), api.NewSecret("canary-secret")
	const email = "ada@example.test"
	checkRejected(t, "SignIn", []rejected{
		{fail(s.SignIn(ctx, "", secret)), "email must be given"},
		{fail(s.SignIn(ctx, "ada:x@example.test", secret)), "email must hold neither a colon nor control characters"},
		{fail(s.SignIn(ctx, email+"\n", secret)), "email must hold neither a colon nor control characters"},
		{fail(s.SignIn(ctx, email, api.Secret{})), "password must be given"},
		{fail(s.SignIn(ctx, email, api.NewSecret("canary\t"))), "password must not hold control characters"},
	})
	checkRejected(t, "TwoFactor.Enable", []rejected{
		{fail(s.TwoFactor.Enable(ctx, oauth.ChannelCall)), `channel must be sms, totp or whatsapp, got "call"`},
		{fail(s.TwoFactor.Enable(ctx, "verify")), `channel must be sms, totp or whatsapp, got "verify"`},
	})
	checkRejected(t, "TwoFactor.Send", []rejected{
		{s.TwoFactor.Send(ctx, secret, oauth.ChannelTOTP), `channel must be sms, call or whatsapp, got "totp"`},
		{s.TwoFactor.Send(ctx, api.NewSecret("canary x"), oauth.ChannelSMS), "limited" + noBlanks},
	})
	climbs := api.NewSecret("../canary")
	checkRejected(t, "TwoFactor.Complete", []rejected{
		{fail(s.TwoFactor.Complete(ctx, api.Secret{}, api.NewSecret("123456"))), "limited must be given"},
		{fail(s.TwoFactor.Complete(ctx, secret, api.NewSecret("\n"))), "token must be given"},
		{fail(s.TwoFactor.Complete(ctx, secret, climbs)), badCode},
	})
	checkRejected(t, "TwoFactor.VerifySetup", []rejected{
		{s.TwoFactor.VerifySetup(ctx, api.Secret{}), "token must be given"},
	})
	checkRejected(t, "TwoFactor.Disable", []rejected{{s.TwoFactor.Disable(ctx, climbs), badCode}})
}

func TestInputAtItsLimits(t *testing.T) {
	t.Parallel()
	sent := errors.New("sent")
	s, ctx, name := oauth.New(stub.Fail(sent)), t.Context(), strings.Repeat("ü", 128)
	lastYear := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for what, err := range map[string]error{
		"Keys.Create": fail(s.Keys.Create(ctx, oauth.KeyRequest{AgentName: name, Expires: lastYear})),
		"Register": fail(s.Register(ctx, oauth.RegisterRequest{
			ClientName: " " + strings.Repeat("ü", 64) + " ", RedirectURIs: redirects(10),
		})),
		"UpdateRegistration": fail(s.UpdateRegistration(ctx, api.NewSecret("t"), oauth.UpdateRegistrationRequest{
			ClientID: clientID, ClientName: name,
		})),
		"Sessions.Update": fail(s.Sessions.Update(ctx, "s", oauth.UpdateSessionRequest{
			DeviceName: api.Set(name), AgentName: api.Set(name),
		})),
		"Exchange": fail(s.Exchange(ctx, oauth.ExchangeRequest{
			ClientID: clientID, RedirectURI: loopback, Code: api.NewSecret("c"),
			CodeVerifier: api.NewSecret(strings.Repeat("~", 128)), DeviceName: name, DeviceType: name,
		})),
	} {
		if !errors.Is(err, sent) {
			t.Errorf("%s rejects: %v", what, err)
		}
	}
}

func TestClientMetadata(t *testing.T) {
	t.Parallel()
	const (
		url   = "https://acme.test/oauth/client.json"
		https = "client_id must be an https URL without a user and a fragment"
	)
	good := oauth.ClientMetadata{
		ClientID: url, ClientName: "Acme Sync", RedirectURIs: []string{"http://127.0.0.1/callback"},
		GrantTypes: []string{"refresh_token", "authorization_code"}, ResponseTypes: []string{"code"}, AuthMethod: "none",
	}
	type document = oauth.ClientMetadata
	changed := func(change func(m *document)) error {
		m := good
		change(&m)
		return m.Validate(url)
	}
	// The document with https://acme.test/ as its logo_uri is 270 bytes long.
	pad := func(size int) func(*document) {
		return func(m *document) { m.LogoURI = "https://acme.test/" + strings.Repeat("x", size-270) }
	}
	for _, err := range []error{good.Validate(url), changed(pad(10 << 10))} {
		if err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{
		"http://acme.test/client.json", url + "#x", url + "#", "https://a:b@acme.test/client.json", "https:///client.json",
		"https://:443/client.json", "https://acme.test/%",
	} {
		checkRejected(t, "ClientMetadata", []rejected{{good.Validate(address), https}})
	}
	checkRejected(t, "ClientMetadata", []rejected{
		{
			changed(func(m *document) { m.ClientID += "/" }),
			`client_id must be the URL of the document, got "` + url + `/"`,
		},
		{changed(func(m *document) { m.RedirectURIs = nil }), "redirect_uris must be 1 to 10, got 0"},
		{
			changed(func(m *document) { m.RedirectURIs = []string{"http://acme.test/"} }),
			redirect + `"http://acme.test/"`,
		},
		{
			changed(func(m *document) { m.GrantTypes = []string{"refresh_token"} }),
			"grant_types must contain authorization_code",
		},
		{changed(func(m *document) { m.ResponseTypes = []string{"token"} }), "response_types must contain code"},
		{
			changed(func(m *document) { m.AuthMethod = "client_secret_post" }),
			`token_endpoint_auth_method must be none, got "client_secret_post"`,
		},
		{changed(func(m *document) { m.AuthMethod = "" }), `token_endpoint_auth_method must be none, got ""`},
		{changed(pad(10<<10 + 1)), "document must be at most 10 KB long, got 10241"},
	})
}
