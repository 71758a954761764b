package oauth_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// web answers documents by their address; what it does not know is 404.
type web map[string]string

// A document may begin with a status, and with the address of a redirect.
func (w web) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := w[r.URL.String()]
	status, to := http.StatusOK, ""
	switch {
	case !ok:
		status, body = http.StatusNotFound, `{"result":false,"error":{"code":9992}}`
	case body == "hang":
		<-r.Context().Done()
		return nil, r.Context().Err()
	case body == "long":
		resp := response(r, status, "{")
		resp.ContentLength = 80 << 20
		return resp, nil
	case body == "broken":
		return nil, errors.New("the network is broken")
	case strings.HasPrefix(body, "to "):
		status, to = http.StatusMovedPermanently, strings.TrimPrefix(body, "to ")
	case strings.HasPrefix(body, "status "):
		status, _ = strconv.Atoi(body[7:10])
		body = body[10:]
	}
	resp := response(r, status, body)
	resp.Header.Set("Location", to)
	return resp, nil
}

const (
	host        = "https://go.fast.test"
	auth        = "https://auth.test"
	documented  = host + "/api/current/oauth/"
	bareDoc     = host + "/.well-known/oauth-authorization-server"
	resourceDoc = host + "/.well-known/oauth-protected-resource/"
	serverDoc   = host + "/.well-known/oauth-authorization-server/"
	openIDDoc   = host + "/.well-known/openid-configuration"
	authDoc     = auth + "/.well-known/oauth-authorization-server/"
	failing     = `{"result":false,"error":{"code":1,"text":"No."}}`
)

func named(issuer string, members ...string) string {
	return `{"` + strings.Join(append([]string{`issuer":"` + issuer + `"`}, members...), `,"`) + `}`
}

func resource(name string, servers ...string) string {
	return `{"result":true,"resource":"` + name + `","authorization_servers":["` + strings.Join(servers, `","`) + `"]}`
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	at := func(issuer, host string) oauth.Endpoints { // everything the server has, at the documented paths of a host
		base := "https://" + host + "/api/current/oauth/"
		return oauth.Endpoints{
			Issuer: issuer, Authorize: base + "authorize/", Token: base + "token/", Revoke: base + "revoke/",
			Register: base + "register/",
		}
	}
	none, platform := oauth.Endpoints{}, oauth.Endpoints{Issuer: host}
	type row struct {
		web    web
		issuer string // of the Config
		want   oauth.Endpoints
	}
	table.Each(t, map[string]row{
		"no documents":                       {web{}, "", none},
		"pages instead of documents":         {web{resourceDoc: "<!doctype>", serverDoc: " \n<html>", bareDoc: ""}, "", none},
		"documents that are not for reading": {web{resourceDoc: "status 405{}", serverDoc: "status 405{}"}, "", none},
		"documents that are gone":            {web{resourceDoc: "status 410", serverDoc: "status 501"}, "", none},
		"documents that no one may read":     {web{resourceDoc: "status 403", serverDoc: "status 401", bareDoc: "status 403"}, "", none},
		"documents that are not acceptable":  {web{resourceDoc: "status 406", serverDoc: "status 400" + failing}, "", none},
		"failures instead of documents":      {web{resourceDoc: failing, serverDoc: failing}, "", none},
		"redirects to another origin":        {web{resourceDoc: "to " + auth + "/", serverDoc: "to " + auth + "/", auth + "/": named(host)}, "", none},
		"a resource in an outage":            {web{resourceDoc: "status 503{}", serverDoc: named(host)}, "", platform},
		"a resource under a rate limit":      {web{resourceDoc: "status 429{}", serverDoc: named(host)}, "", platform},
		"a resource that breaks down":        {web{resourceDoc: "status 500{}", serverDoc: named(host)}, "", platform},
		"a resource that is cut off":         {web{resourceDoc: `{"resource":"`, serverDoc: named(host)}, "", platform},
		"a resource that is out of reach":    {web{resourceDoc: "broken", serverDoc: named(host)}, "", platform},
		"a resource that never answers":      {web{resourceDoc: "hang", serverDoc: named(host)}, "", platform},
		"OpenID Connect":                     {web{openIDDoc: named(host)}, "", platform},
		"OpenID Connect of a tenant": {
			web{resourceDoc: resource(host, auth+"/tenant"), auth + "/tenant/.well-known/openid-configuration": named(auth + "/tenant")},
			"", at(auth+"/tenant", "auth.test"),
		},
		"documented endpoints": {web{serverDoc: named(
			host, `authorization_endpoint":"`+documented+`authorize"`, `token_endpoint":"`+documented+`token"`,
			`revocation_endpoint":"`+documented+`revoke/"`, `code_challenge_methods_supported":["plain","S256"]`,
			`authorization_response_iss_parameter_supported":true`,
		)}, "", oauth.Endpoints{Issuer: host, NamesIssuer: true}},
		"endpoints of the server's own": {web{serverDoc: named(
			host, `authorization_endpoint":"https://login.test/go?a=1"`, `token_endpoint":"`+host+`/current/oauth/token"`,
			`registration_endpoint":"`+documented+`register//"`,
		)}, "", oauth.Endpoints{
			Issuer: host, Authorize: "https://login.test/go?a=1", Token: host + "/current/oauth/token",
			Register: documented + "register//",
		}},
		"a device flow": {
			web{serverDoc: named(host, `device_authorization_endpoint":"`+auth+`/device?a=1"`)},
			"",
			oauth.Endpoints{Issuer: host, Device: auth + "/device?a=1"},
		},
		"the form of RFC 8414":         {web{bareDoc: named(host)}, "", platform},
		"a redirect within the origin": {web{serverDoc: "to /else", host + "/else": named(host)}, "", platform},
		"an issuer with a slash":       {web{serverDoc: named(host + "/")}, "", oauth.Endpoints{Issuer: host + "/"}},
		"a resource that names itself": {
			web{resourceDoc: resource(host+"/", auth, host+"/"), serverDoc: named(host)}, "", platform,
		},
		"a resource that names another": {
			web{resourceDoc: resource(host, auth, "https://other.test"), serverDoc: named(host), authDoc: named(auth)},
			"", at(auth, "auth.test"),
		},
		"a resource that names another without documents": {web{resourceDoc: resource(host, auth)}, "", none},
		"a resource that names no server": {
			web{resourceDoc: `{"resource":"` + host + `"}`, serverDoc: named(host)}, "", platform,
		},
		"a document of another resource": {
			web{resourceDoc: resource("https://evil.test", "https://evil.test"), serverDoc: named(host)},
			"", platform,
		},
		"an issuer with a path": {
			web{resourceDoc: resource(host, auth+"/tenant/"), authDoc + "tenant": named(auth + "/tenant/")},
			"", at(auth+"/tenant/", "auth.test"),
		},
		"the issuer that the caller expects": {
			web{serverDoc: named("https://fast.test")}, "https://fast.test/", at("https://fast.test", "fast.test"),
		},
		"another that the caller expects": {web{serverDoc: named(host), authDoc: named(auth)}, auth, at(auth, "auth.test")},
		"the platform by its name":        {web{serverDoc: named(host)}, host, platform},
		"no document of the caller's":     {web{}, auth, none},
	}, func(t *testing.T, tc row) {
		got, err := discover(t, tc.web, host, tc.issuer)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func discover(t *testing.T, w web, address, issuer string) (got oauth.Endpoints, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { // failures are tried again
		c := oauth.Config{BaseURL: address, Issuer: issuer, HTTPClient: &http.Client{Transport: w}}
		got, err = oauth.Discover(t.Context(), c)
	})
	return got, err
}

func TestDiscoveryFails(t *testing.T) {
	t.Parallel()
	const noPlain = "oauth: the server advertises an address that is not a plain URL"
	const noTLS = "oauth: the server advertises an address without TLS"
	const unnamed = `oauth: the authorization server of "` + host + `" does not name itself`
	names := func(asked, named string) string {
		return fmt.Sprintf("oauth: the authorization server of %q names itself %q", asked, named)
	}
	type row struct {
		web  web
		want string
	}
	table.Each(t, map[string]row{
		"another issuer":                  {web{serverDoc: named("https://evil.test")}, names(host, "https://evil.test")},
		"no issuer":                       {web{serverDoc: `{}`}, unnamed},
		"an issuer with a path":           {web{serverDoc: named(host + "/x")}, names(host, host+"/x")},
		"an issuer in capitals":           {web{serverDoc: named("https://GO.x.test")}, names(host, "https://GO.x.test")},
		"an issuer with two slashes":      {web{serverDoc: named(host + "//")}, names(host, host+"//")},
		"a chosen server of another name": {web{resourceDoc: resource(host, auth), authDoc: named(host)}, names(auth, host)},
		"a weak challenge": {
			web{serverDoc: named(host, `code_challenge_methods_supported":["plain"]`)},
			"oauth: the authorization server does not offer the code challenge S256",
		},
		"an endpoint without TLS": {web{serverDoc: named(host, `token_endpoint":"http://go.fast.test/token/"`)}, noTLS},
		"a device flow without TLS": {
			web{serverDoc: named(host, `device_authorization_endpoint":"http://a.test/"`)}, noTLS,
		},
		"a server without TLS":         {web{resourceDoc: resource(host, "http://auth.test")}, noTLS},
		"an endpoint of this machine":  {web{serverDoc: named(host, `token_endpoint":"http://127.0.0.1:8080/token"`)}, noTLS},
		"a server that is no URL":      {web{resourceDoc: resource(host, "auth.test")}, noPlain},
		"an endpoint that is a script": {web{serverDoc: named(host, `token_endpoint":"javascript:alert(1)"`)}, noPlain},
		"an endpoint with a user":      {web{serverDoc: named(host, `token_endpoint":"https://u@go.fast.test/"`)}, noPlain},
		"an endpoint with braces":      {web{serverDoc: named(host, `token_endpoint":"`+host+`/%7Btenant%7D/"`)}, noPlain},
		"an endpoint with a fragment":  {web{serverDoc: named(host, `revocation_endpoint":"`+host+`/#x"`)}, noPlain},
		"a broken network":             {web{serverDoc: "broken"}, "oauth.ServerMetadata: the network is broken"},
		"a server that breaks down":    {web{serverDoc: "status 500{}"}, "oauth.ServerMetadata: Internal Server Error"},
		"a rate limit":                 {web{serverDoc: "status 429{}"}, "oauth.ServerMetadata: Too Many Requests"},
		"a document that is too long":  {web{serverDoc: "long"}, "oauth.ServerMetadata: "},
		"a server that is down":        {web{serverDoc: "status 503{}"}, "oauth.ServerMetadata: Service Unavailable"},
		"a document that is cut off":   {web{serverDoc: `{"issuer":"https://go.fa`}, "oauth.ServerMetadata: "},
	}, func(t *testing.T, tc row) {
		got, err := discover(t, tc.web, host, "")
		if err == nil || !strings.HasPrefix(err.Error(), "fastio: "+tc.want) || got != (oauth.Endpoints{}) {
			t.Errorf("got %+v, %v, want %s", got, err, tc.want)
		}
		e, ok := errors.AsType[*oauth.IssuerError](err)
		if ok != strings.Contains(tc.want, "itself") || ok && e.Asked == "" {
			t.Errorf("the error is a %T", err)
		}
	})
}

// A platform without TLS, as on this machine or in a test, may have servers
// without.
func TestDiscoveryWithoutTLS(t *testing.T) {
	t.Parallel()
	got, err := discover(t, web{
		"http://h.test/.well-known/oauth-authorization-server/": named("http://h.test", `token_endpoint":"http://i.test/t"`),
	}, "http://h.test", "")
	if want := (oauth.Endpoints{Issuer: "http://h.test", Token: "http://i.test/t"}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	const local = "http://127.0.0.1:8080"
	for endpoint, wantsError := range map[string]bool{"http://localhost:9090/t": false, "https://i.test/t": false, "http://i.test/t": true} {
		got, err := discover(t, web{
			local + "/.well-known/oauth-authorization-server/": named(local, `token_endpoint":"`+endpoint+`"`),
		}, local, "")
		if (err != nil) != wantsError || err == nil && got.Token != endpoint {
			t.Errorf("%s, advertised by a platform on this machine: got %+v, %v", endpoint, got, err)
		}
	}
}

// AllowPlainHTTP also allows the endpoints that a platform on this machine has on another.
func TestDiscoveryAllowsPlainHTTP(t *testing.T) {
	t.Parallel()
	const local, endpoint = "http://127.0.0.1:8080", "http://i.test/t"
	documents := web{
		local + "/.well-known/oauth-authorization-server/": named(local, `token_endpoint":"`+endpoint+`"`),
	}
	c := oauth.Config{BaseURL: local, AllowPlainHTTP: true, HTTPClient: &http.Client{Transport: documents}}
	got, err := oauth.Discover(t.Context(), c)
	if want := (oauth.Endpoints{Issuer: local, Token: endpoint}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The well-known documents stand at the root of the host, whatever the prefix.
func TestDiscoveryAndPrefix(t *testing.T) {
	t.Parallel()
	type row struct {
		prefix, token string
		want          string
	}
	table.Each(t, map[string]row{
		"the prefix of the host": {"", "/api/current/oauth/token", ""},
		"no prefix":              {"/", "/current/oauth/token", ""},
		"a prefix as written":    {"team/api/", "/team/api/current/oauth/token", ""},
		"another prefix":         {"team", "/api/current/oauth/token", host + "/api/current/oauth/token"},
	}, func(t *testing.T, tc row) {
		c := oauth.Config{BaseURL: host, HTTPClient: &http.Client{Transport: web{
			serverDoc: named(host, `token_endpoint":"`+host+tc.token+`"`),
		}}}
		if tc.prefix != "" {
			c.APIPrefix = &tc.prefix
		}
		got, err := oauth.Discover(t.Context(), c)
		if want := (oauth.Endpoints{Issuer: host, Token: tc.want}); err != nil || got != want {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	if _, err := oauth.Login(t.Context(), oauth.Config{APIPrefix: new("/a?b")}); err == nil ||
		err.Error() != "fastio: oauth: APIPrefix: the prefix must be a plain path" {
		t.Errorf("a prefix with a query: %v", err)
	}
}
