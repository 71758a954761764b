package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
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
	attempts := func() int { return client.Options[len(client.Options)-1].Attempts }
	check := func(err error, query, body string) {
		t.Helper()
		if !errors.Is(err, stop) {
			t.Fatalf("got %v", err)
		}
		sent = client.Got[len(client.Got)-1]
		var content []byte
		err = nil
		if sent.Body != nil {
			_, content, err = call.Encode(sent.Body)
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

	check(fail(s.Keys.Create(ctx, oauth.CreateKeyRequest{})), "", "")
	check(fail(s.Keys.Create(ctx, oauth.CreateKeyRequest{Expires: inBerlin, Code: code})),
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
	check(fail(s.Refresh(ctx, oauth.RefreshRequest{ClientID: "c", RefreshToken: code}, api.WithAttempts(5))),
		"", "client_id=c&grant_type=refresh_token&refresh_token=+123+456%0A")
	once := attempts() // whose retries the caller cannot enable
	check(fail(s.Exchange(ctx, oauth.ExchangeRequest{
		ClientID: "c", RedirectURI: loopback, Code: code, CodeVerifier: api.NewSecret(verifier),
	}, api.WithAttempts(5))), "", "client_id=c&code=+123+456%0A&code_verifier="+verifier+"&grant_type=authorization_code"+
		"&redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcallback")
	if once != 1 || attempts() != 1 {
		t.Errorf("got %d and %d attempts", once, attempts())
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
	badScope   = "scope must be a word without blanks, got "
	challenges = "code_challenge must be 43 characters of base64url, got "
	noBlanks   = " must not contain blanks or control characters"
	noScopes   = "scopes must be nil or not empty"
	redirect   = "redirect_uris must be https, or http on localhost or 127.0.0.1, got "
	resources  = "resource must be an absolute URL without a user and a fragment"
)

func fail[T any](_ T, err error) error { return err }

// rejected is an input error and its text after the operation, with the name of the
// argument on the wire if it has one.
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
		if ok && e.Wire != "" {
			e.Field, e.Wire = e.Wire, ""
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
	with := func(name string, values ...string) error {
		return start(func(r *authorize) { r.Parameters = url.Values{name: values} })
	}
	checkRejected(t, "StartAuthorization", []rejected{
		{start(func(r *authorize) { r.ClientID = "" }), "client_id must be given"},
		{start(func(r *authorize) { r.RedirectURI = "" }), "redirect_uri must be given"},
		{start(func(r *authorize) { r.PKCE.State = api.Secret{} }), "state must be given"},
		{start(func(r *authorize) { r.PKCE.Challenge = "" }), challenges + `""`},
		{
			start(func(r *authorize) { r.PKCE.Challenge = challenge[:42] + "~" }), challenges + `"` + challenge[:42] + `~"`,
		},
		{start(func(r *authorize) { r.Scopes = []oauth.Scope{"org workspace"} }), badScope + `"org workspace"`},
		{start(func(r *authorize) { r.Scopes = []oauth.Scope{"org", ""} }), badScope + `""`},
		{start(func(r *authorize) { r.AccessMode = "w" }), badMode + `"w"`},
		{start(func(r *authorize) { r.Resource = "/api" }), resources},
		{start(func(r *authorize) { r.Resource = "https://acme.test/#" }), resources},
		{start(func(r *authorize) { r.Resource = "https://a:pw@acme.test/" }), resources},
		{with("request_uri", "x"), `AuthorizationRequest.Parameters must not be one of the protocol, got "request_uri"`},
		{with("", "x"), `AuthorizationRequest.Parameters must have names without blanks, got ""`},
		{with("a b", "x"), `AuthorizationRequest.Parameters must have names without blanks, got "a b"`},
		{with("prompt"), `AuthorizationRequest.Parameters must have one value each, got "prompt"`},
		{with("prompt", "login", "none"), `AuthorizationRequest.Parameters must have one value each, got "prompt"`},
	})
	client := stub.Fail(errors.New("sent"))
	whole := authorization()
	whole.Scopes, whole.AccessMode, whole.AccountSettings = []oauth.Scope{"org"}, oauth.AccessModeRead, true
	whole.Resource, whole.AgentName, whole.DisplayCode = "https://reader.test/", "builder", true
	whole.Parameters = url.Values{"login_hint": {"a&b"}}
	_ = fail(oauth.New(client).StartAuthorization(ctx, whole))
	q := client.Got[0].Query
	if got := q["login_hint"]; !slices.Equal(got, []string{"a&b"}) || len(q) != 14 {
		t.Errorf("the query is %v", q)
	}
	delete(q, "login_hint")
	for name := range q {
		if err := with(name, "x"); !errors.Is(err, api.ErrInvalid) {
			t.Errorf("%s can be replaced: %v", name, err)
		}
	}
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
		{register("Acme", "https://acme.test/"+strings.Repeat("a", 64<<10)), "RegisterRequest must be at most 64 KB long, got 65712"},
		{register("Acme", "https:///cb"), `redirect_uris must be an absolute URL, got "https:///cb"`},
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
		{update(api.Secret{}, "a"), "token must be given"},
		{update(api.NewSecret("canary-secret\r\nX: y"), "a"), "token" + noBlanks},
		{update(token, ""), "UpdateRegistrationRequest must have ClientName or RedirectURIs"},
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
	type session = oauth.UpdateSessionRequest
	rename := func(r session) error { return fail(s.Sessions.Update(ctx, "s1", r)) }
	checkRejected(t, "Sessions.Update", []rejected{
		{rename(session{}), "UpdateSessionRequest must have a field"},
		{rename(session{DeviceName: api.Set(long)}), longDevice},
		{rename(session{AgentName: api.Set(long)}), longAgent},
		{rename(session{Scopes: none}), noScopes},
		{rename(session{Scopes: four}), "scopes must be entity:id:mode, got org:1:2:r"},
	})
	type key = oauth.CreateKeyRequest
	create := func(r key) error { return fail(s.Keys.Create(ctx, r)) }
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	checkRejected(t, "Keys.Create", []rejected{
		{create(key{AgentName: long}), longAgent},
		{create(key{Scopes: none}), noScopes},
		{create(key{Expires: late}), "expires must have a year from 1 to 9999, got 10000"},
		{create(key{Code: code}), badCode},
		{create(key{Code: api.NewSecret(" ")}), "token must be given"},
	})
	type change = oauth.UpdateKeyRequest
	update := func(r change) error { return s.Keys.Update(ctx, "k_77", r) }
	early := time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)
	checkRejected(t, "Keys.Update", []rejected{
		{update(change{Code: api.NewSecret("1")}), "UpdateKeyRequest must have Memo, Scopes, AgentName or Expires"},
		{update(change{AgentName: api.Set(long)}), longAgent},
		{update(change{Scopes: none}), noScopes},
		{update(change{Expires: api.Set(early)}), "expires must have a year from 1 to 9999, got -1"},
	})
	checkRejected(t, "Keys.Delete", []rejected{{s.Keys.Delete(ctx, "k", &oauth.DeleteKeyOptions{Code: code}), badCode}})
}

func TestSignInInput(t *testing.T) {
	t.Parallel()
	s, ctx, secret := oauth.New(stub.Fail(errors.New("sent"))), t.Context(), api.NewSecret("canary-secret")
	const email = "ada@example.test"
	checkRejected(t, "SignIn", []rejected{
		{fail(s.SignIn(ctx, "", secret)), "email must be given"},
		{fail(s.SignIn(ctx, "ada:x@example.test", secret)), "email must not contain a colon or control characters"},
		{fail(s.SignIn(ctx, email+"\n", secret)), "email must not contain a colon or control characters"},
		{fail(s.SignIn(ctx, email, api.Secret{})), "password must be given"},
		{fail(s.SignIn(ctx, email, api.NewSecret("canary\t"))), "password must not contain control characters"},
	})
	checkRejected(t, "TwoFactor.Enable", []rejected{
		{fail(s.TwoFactor.Enable(ctx, oauth.ChannelCall)), `channel must be sms, totp or whatsapp, got "call"`},
		{fail(s.TwoFactor.Enable(ctx, "verify")), `channel must be sms, totp or whatsapp, got "verify"`},
	})
	checkRejected(t, "TwoFactor.Send", []rejected{
		{s.TwoFactor.Send(ctx, secret, oauth.ChannelTOTP), `channel must be sms, call or whatsapp, got "totp"`},
		{s.TwoFactor.Send(ctx, api.NewSecret("canary x"), oauth.ChannelSMS), "limited" + noBlanks},
	})
	code, climbs := api.Secret{}, api.NewSecret("../canary")
	checkRejected(t, "TwoFactor.Complete", []rejected{
		{fail(s.TwoFactor.Complete(ctx, api.Secret{}, api.NewSecret("123456"))), "limited must be given"},
		{fail(s.TwoFactor.Complete(ctx, secret, api.NewSecret("\n"))), "token must be given"},
		{fail(s.TwoFactor.Complete(ctx, secret, climbs)), badCode},
	})
	checkRejected(t, "TwoFactor.VerifySetup", []rejected{{s.TwoFactor.VerifySetup(ctx, code), "token must be given"}})
	checkRejected(t, "TwoFactor.Disable", []rejected{{s.TwoFactor.Disable(ctx, climbs), badCode}})
}

func TestInputAtItsLimits(t *testing.T) {
	t.Parallel()
	sent := errors.New("sent")
	s, ctx, name := oauth.New(stub.Fail(sent)), t.Context(), strings.Repeat("ü", 128)
	lastYear := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for what, err := range map[string]error{
		"Keys.Create": fail(s.Keys.Create(ctx, oauth.CreateKeyRequest{AgentName: name, Expires: lastYear})),
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
			changed(func(m *document) { m.ClientID += "/" }), `client_id must be the URL of the document, got "` + url + `/"`,
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
		{changed(pad(10<<10 + 1)), "ClientMetadata must be at most 10 KB long, got 10241"},
	})
}

// answering is a network that gives one answer to everything.
type answering struct {
	status int // 0 is 200
	body   string

	requests []*http.Request
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	bodyOf(r)
	a.requests = append(a.requests, r)
	return response(r, max(a.status, http.StatusOK), a.body), nil
}

// response is an answer in JSON, or a redirect.
func response(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status,
		Header:     http.Header{"Content-Type": {"application/json"}, "Location": {"https://elsewhere.test/"}},
		Body:       io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

func bodyOf(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// rewriting changes the bodies of what comes from a network.
func rewriting(next http.RoundTripper, change func(body string) string) http.RoundTripper {
	return stub.Network(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(change(string(body)))), -1
		resp.Header.Del("Content-Length")
		return resp, err
	})
}

// over returns a client whose user is signed in.
func over(t *testing.T, network http.RoundTripper, opts ...fastio.Option) *oauth.Service {
	t.Helper()
	c, err := fastio.New(append(
		opts, fastio.WithHTTPClient(&http.Client{Transport: network}), fastio.WithToken("own-token"),
	)...)
	if err != nil {
		t.Fatal(err)
	}
	return c.OAuth
}

func answered(t *testing.T, body string) *oauth.Service {
	t.Helper()
	return over(t, &answering{body: body})
}

func refreshed(t *testing.T, body string) (*oauth.Token, error) {
	t.Helper()
	return answered(t, body).Refresh(t.Context(), oauth.RefreshRequest{
		ClientID: clientID, RefreshToken: api.NewSecret("old"),
	})
}

var orgWrite = []oauth.GrantedScope{
	{EntityType: oauth.EntityTypeOrg, EntityID: "4012345678901234567", AccessMode: oauth.AccessModeWrite},
}

// An unknown form is neither an error nor full access, which nil is.
func TestGrantedScopesInEveryForm(t *testing.T) {
	t.Parallel()
	for member, want := range map[string][]oauth.GrantedScope{
		`"scopes":"[\"org:4012345678901234567:rw\"]"`:     orgWrite,
		`"scopes":["org:4012345678901234567:rw"]`:         orgWrite,
		`"scopes":" [ \"org:4012345678901234567:rw\" ] "`: orgWrite,
		`"scopes":[]`:                          {},
		`"scopes":"[]"`:                        {},
		`"scopes":null`:                        nil,
		`"scopes":" "`:                         nil,
		`"x_unknown":1`:                        nil,
		`"scopes":"null"`:                      nil,
		`"scopes":["user:*:rwa","planet:7:x"]`: {{"user", "*", "rwa"}, {"planet", "7", "x"}},
		`"scopes":"org:4012345678901234567:rw esign"`:   {orgWrite[0], {EntityType: "esign"}},
		`"scopes":["esign","org:1","",7,{"b":1,"b":2}]`: unknownScopes("esign", "org:1", "", "7", `{"b":1,"b":2}`),
		`"scopes":{"org":"1"}`:                          unknownScopes(`{"org":"1"}`),
		`"scopes":true`:                                 unknownScopes("true"),
		`"scopes":"7"`:                                  unknownScopes("7"),
	} {
		token, err := refreshed(t, `{"access_token":"at",`+member+`}`)
		if err != nil {
			t.Errorf("%s: %v", member, err)
		} else if diff := cmp.Diff(want, token.Scopes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", member, diff)
		}
	}
	for _, s := range []string{"esign", "org:1", "org:1:r:x", "", ":", `{"a":1}`} {
		var g oauth.GrantedScope
		if err := g.UnmarshalText([]byte(s)); err != nil || g.String() != s {
			t.Errorf("%q is read as %#v, %v", s, g, err)
		}
	}
}

func unknownScopes(texts ...oauth.EntityType) (all []oauth.GrantedScope) {
	for _, text := range texts {
		all = append(all, oauth.GrantedScope{EntityType: text})
	}
	return all
}

func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	old := oauth.Token{
		AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old"), Scopes: orgWrite,
	}
	full, list, object := old, old, old
	full.RefreshToken, full.Scope = api.NewSecret("new"), "org"
	list.Scope, object.Scope = "org all_shares", `{"a":1}`
	for members, tc := range map[string]struct {
		want oauth.Token
		life time.Duration
	}{
		`"token_type":"bearer","expires_in":3600,"refresh_token":"new","scope":"org"`: {full, time.Hour},
		`"token_type":null,"expires_in":null,"refresh_token":null,"scope":null`:       {old, 0},
		`"scope":["org","all_shares"]`:                                                {list, 0},
		`"scope":{"a":1}`:                                                             {object, 0},
		`"error":false,"token_type":" Bearer "`:                                       {old, 0},
		`"expires_in":"60"`:                                                           {old, time.Minute},
		`"expires_in":60.5`:                                                           {old, time.Minute},
		`"expires_in":" 60.5 "`:                                                       {old, time.Minute},
		`"expires_in":3.6e3`:                                                          {old, time.Hour},
		`"expires_in":9223372036854775807`:                                            {old, 0},
		`"expires_in":-1`:                                                             {old, 0},
		`"expires_in":1e20`:                                                           {old, 0},
		`"expires_in":true`:                                                           {old, 0},
		`"expires_in":{}`:                                                             {old, 0},
		`"expires_in":"NaN"`:                                                          {old, 0},
	} {
		members = `"access_token":"at","scopes":["org:4012345678901234567:rw"],` + members
		for _, body := range []string{
			`{` + members + `}`, `{"result":true,` + members + `}`, `{"result":"yes","response":{` + members + `}}`,
		} {
			synctest.Test(t, func(t *testing.T) {
				want := tc.want
				if tc.life > 0 {
					want.Expiry = time.Now().Add(tc.life).Round(0)
				}
				got, err := refreshed(t, body)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", body, diff)
				}
			})
		}
	}
}

func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	const uri = "https://acme.test/e"
	for body, tc := range map[string]struct {
		status int
		want   string
		kind   error
	}{
		`{"error":"invalid_grant","error_description":"Used.","error_uri":"` + uri + `"}`: {
			400, "invalid_grant: Used. (status 400)", api.ErrInvalid,
		},
		`{"error":"invalid_client"}`: {401, "invalid_client (status 401)", api.ErrUnauthenticated},
		`<html>`:                     {502, "Bad Gateway (status 502)", api.ErrUnavailable},
		`{"error":"slow_down"}`:      {200, "slow_down (status 200)", nil},
		`{"result":true}`:            {200, "the response holds no access token", nil},
		`{"error":false}`:            {200, "the response holds no access token", nil},
		`{"access_token":"at\r\nX-Header: 1"}`: {
			200, "the access token cannot be used: it holds a character that no header can carry", nil,
		},
		`{"access_token":"at","token_type":"DPoP"}`: {
			200, "the access token cannot be used: it is of another type than Bearer", nil,
		},
	} {
		network := &answering{status: tc.status, body: body}
		token, err := over(t, network).Refresh(t.Context(), oauth.RefreshRequest{
			ClientID: clientID, RefreshToken: api.NewSecret("rt"),
		})
		if token != nil || len(network.requests) != 1 || err == nil || err.Error() != "fastio: oauth.Refresh: "+tc.want ||
			tc.kind != nil && !errors.Is(err, tc.kind) {
			t.Errorf("%s: got %+v, %v after %d requests, want %s", body, token, err, len(network.requests), tc.want)
		}
		e, refusal := errors.AsType[*oauth.Error](err)
		if refusal != strings.Contains(body, `"error":"`) || refusal && (e.URI == uri) != strings.Contains(body, uri) {
			t.Errorf("%s: got %#v", body, e)
		}
	}
}

// RFC 7009, section 2.2: any body of a status of success is a success. One that is
// an error counts as an error all the same.
func TestRevokeSucceedsWithAnyBody(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "OK", "<html>", "true", "[]", "{}", `{"result":true}`, `{"result":`} {
		if err := answered(t, body).Revoke(t.Context(), api.NewSecret("rt")); err != nil {
			t.Errorf("%q: %v", body, err)
		}
		var raw api.Response
		err := answered(t, body).Revoke(t.Context(), api.NewSecret("rt"), api.WithResponse(&raw))
		if err != nil || string(raw.Body) != body {
			t.Errorf("%q, wanted as raw: %q, %v", body, raw.Body, err)
		}
	}
	for _, body := range []string{
		`{"result":false,"error":{"code":10022}}`, `{"error":"server_error","error_description":"canary-rt is stuck"}`,
	} {
		err := answered(t, body).Revoke(t.Context(), api.NewSecret("canary-rt"))
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestCompletedAuthorizations(t *testing.T) {
	t.Parallel()
	for payload, tc := range map[string]struct {
		deny bool
		want *oauth.CompletedAuthorization
	}{
		`"redirect_uri":"http://127.0.0.1/?code=c"`: {
			false, &oauth.CompletedAuthorization{RedirectURI: api.NewSecret("http://127.0.0.1/?code=c")},
		},
		`"code":123456`:       {false, &oauth.CompletedAuthorization{Code: api.NewSecret("123456")}},
		`"redirect_uri":null`: {false, nil},
		`"code":null`:         {true, &oauth.CompletedAuthorization{}}, // a denial that the page shows
	} {
		got, err := answered(t, `{"result":true,`+payload+`}`).CompleteAuthorization(
			t.Context(), oauth.CompleteAuthorizationRequest{ID: "r1", Deny: tc.deny},
		)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != (tc.want != nil) {
			t.Errorf("%s: error %v (-want +got):\n%s", payload, err, diff)
		}
	}
}

func TestOnlyTrueIsAdmin(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`true`, `"true"`, `"yes"`, `1`, `{"admin":true}`, `[true]`, `false`, `null`} {
		got, err := answered(t, `{"admin":`+value+`,"is_agent":1}`).TokenScopes(t.Context())
		if err != nil || got.Admin != (value == "true") || !got.Agent {
			t.Errorf("%s is %+v, %v", value, got, err)
		}
	}
}

func TestTokenScopesAsJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(oauth.TokenScopes{AuthType: "oauth", Scopes: orgWrite})
	if want := `"scopes":["org:4012345678901234567:rw"]`; err != nil || !strings.Contains(string(got), want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// Only the answer to Create holds the secret of a key. What later answers show in
// its place is none.
func TestKeySecretIsReturnedOnce(t *testing.T) {
	t.Parallel()
	s := answered(t, `{"id":"k_77","api_key":"the-key","api_keys":[{"id":"k_77","api_key":"the-..."},null]}`)
	if made, err := s.Keys.Create(t.Context(), oauth.CreateKeyRequest{}); err != nil || made.Secret.Reveal() != "the-key" {
		t.Errorf("created: %+v, %v", made, err)
	}
	if found, err := s.Keys.Get(t.Context(), "k_77"); err != nil || !found.Secret.IsZero() || found.ID != "k_77" {
		t.Errorf("read: %+v, %v", found, err)
	}
	if keys, err := s.Keys.List(t.Context()); err != nil || len(keys) != 1 || !keys[0].Secret.IsZero() {
		t.Errorf("listed: %+v, %v", keys, err)
	}
}

// An answer without what it should hold is no success.
func TestAnswersWithoutTheirRecord(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"result":true}`,
		`{"result":true,"session":null,"results":3,"api_key":null,"auth_token":null,"id":null,"client_id":null}`,
	} {
		s := answered(t, body)
		device := oauth.UpdateSessionRequest{DeviceName: api.Set("")}
		limited, code := api.NewSecret("limited"), api.NewSecret("123456")
		start := authorization()
		register := oauth.RegisterRequest{RedirectURIs: []string{loopback}}
		for want, err := range map[string]error{
			"oauth.Sessions.List: the response holds no sessions":       fail(s.Sessions.List(t.Context())),
			"oauth.Sessions.Get: the response holds no session":         fail(s.Sessions.Get(t.Context(), "s1")),
			"oauth.Sessions.Update: the response holds no session":      fail(s.Sessions.Update(t.Context(), "s1", device)),
			"oauth.Keys.Create: the response holds no key":              fail(s.Keys.Create(t.Context(), oauth.CreateKeyRequest{})),
			"oauth.Keys.Get: the response holds no key":                 fail(s.Keys.Get(t.Context(), "k_77")),
			"oauth.SignIn: the response holds no token":                 fail(s.SignIn(t.Context(), "ada@x.test", code)),
			"oauth.TwoFactor.Complete: the response holds no token":     fail(s.TwoFactor.Complete(t.Context(), limited, code)),
			"oauth.CheckToken: the response holds no id":                fail(s.CheckToken(t.Context())),
			"oauth.Register: the response holds no client id":           fail(s.Register(t.Context(), register)),
			"oauth.StartAuthorization: the response holds no login URL": fail(s.StartAuthorization(t.Context(), start)),
		} {
			if err == nil || err.Error() != "fastio: "+want {
				t.Errorf("%s: %v, want %s", body, err, want)
			}
		}
	}
	for body, want := range map[string]string{
		`{"result":false,"error":{"code":1,"text":"No."}}`: "No.", `{"result":true,"sessions":["s1"]}`: "",
	} {
		_, err := answered(t, body).Sessions.List(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, body := range []string{`{"result":true,"sessions":null}`, `[]`, `{"result":"yes","response":[]}`} {
		if got, err := answered(t, body).Sessions.List(t.Context()); err != nil || got == nil || len(got) > 0 {
			t.Errorf("%s is %v, %v", body, got, err)
		}
	}
}

func TestUpdateRegistrationIsForLocalPrograms(t *testing.T) {
	t.Parallel()
	const local = "only programs whose redirect URIs are all local may update themselves"
	for status, hint := range map[int]bool{http.StatusBadRequest: true, http.StatusUnauthorized: false} {
		s := over(t, &answering{status: status, body: `{"error":"invalid_request"}`})
		_, err := s.UpdateRegistration(t.Context(), api.NewSecret("rat"), oauth.UpdateRegistrationRequest{
			ClientID: clientID, ClientName: "a",
		})
		if codeOf(err) != oauth.CodeInvalidRequest || strings.HasSuffix(err.Error(), local) != hint {
			t.Errorf("status %d: %v", status, err)
		}
		if _, ok := errors.AsType[*api.Error](err); !ok {
			t.Errorf("status %d: the answer is lost: %v", status, err)
		}
	}
}

const (
	lockedAccount = `{"result":false,"error":{"code":10760,"text":"No.","params":{"retry_after_seconds":"1790"}}}`
	shortLock     = `{"result":false,"error":{"code":10760,"text":"No.","params":{"retry_after_seconds":1}}}`
	tooManyCalls  = `{"result":false,"error":{"code":10368,"text":"No.","params":{"retry_after_seconds":1}}}`
)

// A sign-in is sent once, whatever comes back: each one counts towards the lock. The
// lock of one account does not delay another.
func TestSignInIsNotRetried(t *testing.T) {
	t.Parallel()
	for body, tc := range map[string]struct {
		status int
		want   error
		wait   time.Duration
	}{
		`{"result":false,"error":{"code":10008,"text":"No."}}`: {401, api.ErrForbidden, 0},
		lockedAccount: {429, api.ErrRateLimited, 1790 * time.Second},
		shortLock:     {429, api.ErrRateLimited, time.Second},
		tooManyCalls:  {429, api.ErrRateLimited, time.Second},
		"":            {503, api.ErrUnavailable, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := &answering{status: tc.status, body: body}
			start := time.Now()
			s := over(t, network)
			_, err := s.SignIn(t.Context(), "ada@example.test", api.NewSecret("pw"), api.WithAttempts(9))
			e, refused := errors.AsType[*api.Error](err)
			n, took := len(network.requests), time.Since(start)
			if !refused || !errors.Is(err, tc.want) || e.Rate.RetryAfter != tc.wait || n != 1 || took > 0 {
				t.Errorf("%s: got %v after %d requests and %s", body, err, n, took)
			}
			if body == tooManyCalls { // which holds for all accounts
				return
			}
			network.status, network.body = 200, `{"result":true,"auth_token":"jwt","expires_in":"600"}`
			token, err := s.SignIn(t.Context(), "ben@example.test", api.NewSecret("pw"))
			if err != nil || time.Since(start) > 0 || time.Until(token.Expiry) != 10*time.Minute {
				t.Errorf("%s: then got %+v, %v after %s", body, token, err, time.Since(start))
			}
		})
	}
}
