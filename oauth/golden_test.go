package oauth_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

// The requests of an authorization, byte for byte as they leave. The files of
// testdata/golden were written by people who read RFC 6749, 7591, 7636, 8707 and
// the platform's documents.
func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(ctx context.Context, s *oauth.Service) error{
		"authorize": func(ctx context.Context, s *oauth.Service) error {
			r := authorization()
			r.Scopes = []oauth.Scope{oauth.ScopeOrg, oauth.ScopeAllShares}
			r.AccessMode, r.AccountSettings, r.DisplayCode = oauth.AccessModeAdmin, true, true
			r.Resource, r.AgentName = "https://mcp.acme.test/v1", "Bücher & more"
			return fail(s.StartAuthorization(ctx, r))
		},
		"token_code": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.Exchange(ctx, oauth.ExchangeRequest{
				ClientID: "https://acme.test/oauth/client.json", RedirectURI: loopback, Code: api.NewSecret("c0de+/="),
				CodeVerifier: api.NewSecret(verifier), Resource: "https://mcp.acme.test/v1",
				DeviceName: "Ada's laptop", DeviceType: "cli",
			}))
		},
		"token_refresh": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.Refresh(ctx, oauth.RefreshRequest{
				ClientID: "https://acme.test/oauth/client.json", RefreshToken: api.NewSecret("rt_0123456789"),
				Resource: "https://mcp.acme.test/v1",
			}))
		},
		"revoke": func(ctx context.Context, s *oauth.Service) error {
			return s.Revoke(ctx, api.NewSecret("rt_0123456789"))
		},
		"register": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.Register(ctx, oauth.RegisterRequest{
				ClientName: "Acme <Sync>", RedirectURIs: []string{"http://127.0.0.1/callback"},
			}))
		},
		"sign_in": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.SignIn(ctx, "ada@example.test", api.NewSecret("correct horse")))
		},
		"2factor": func(ctx context.Context, s *oauth.Service) error {
			return fail(s.TwoFactor.Complete(ctx, api.NewSecret("limited-token"), api.NewSecret("123456")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := &answering{body: `{"access_token":"a","auth_token":"a","client_id":"c","login_url":"https://a.test/"}`}
			if err := call(t.Context(), over(t, network)); err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile("testdata/golden/" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), dump(network.requests[0], network.bodies[0])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// dump writes a request as it travels, its parameters in lines of their own.
func dump(r *http.Request, body string) string {
	lines := func(encoded string) string { return strings.ReplaceAll(encoded, "&", "\n&") }
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL.EscapedPath())
	if r.URL.RawQuery != "" {
		fmt.Fprintf(&b, "?%s\n", lines(r.URL.RawQuery))
	}
	fmt.Fprintf(&b, "Host: %s\n", r.Host)
	for _, key := range slices.Sorted(maps.Keys(r.Header)) {
		if key != "User-Agent" {
			fmt.Fprintf(&b, "%s: %s\n", key, strings.Join(r.Header[key], ", "))
		}
	}
	if body != "" {
		fmt.Fprintf(&b, "\n%s\n", lines(body))
	}
	return b.String()
}
