package oauth

import (
	"net/http"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// serverMetadata is RFC 8414: a document of its own, without the envelope.
func (h *Handlers) serverMetadata(c *wire.Call) (wire.Object, error) {
	origin := wire.Issuer(c.Request)
	endpoint := func(name string) string { return origin + h.Prefix() + "/current/oauth/" + name }
	body := wire.Object{
		{"issuer", origin},
		{"authorization_endpoint", endpoint("authorize")},
		{"token_endpoint", endpoint("token")},
		{"revocation_endpoint", endpoint("revoke")},
		{"registration_endpoint", endpoint("register")},
		{"response_types_supported", []string{"code"}},
		{"grant_types_supported", []string{grantCode, grantRefresh}},
		{"code_challenge_methods_supported", []string{"S256"}},
		{"token_endpoint_auth_methods_supported", []string{"none"}},
		{"scopes_supported", scopeWords()},
		{"access_modes_supported", []string{"r", "rw", "rwa"}},
		{"client_id_metadata_document_supported", true},
		{"resource_indicators_supported", true},
		{"service_documentation", origin + h.Prefix() + "/current/llms/"},
	}
	if h.Options.OAuth.AnnounceIssuer {
		body = append(body, wire.Member{"authorization_response_iss_parameter_supported", true})
	}
	return c.PlainJSON(http.StatusOK, body)
}

func (h *Handlers) protectedResource(c *wire.Call) (wire.Object, error) {
	origin := wire.Issuer(c.Request)
	return c.PlainJSON(http.StatusOK, wire.Object{
		{"result", true},
		{"resource", origin},
		{"authorization_servers", []string{origin}},
		{"bearer_methods_supported", []string{"header"}},
		{"scopes_supported", scopeWords()},
	})
}

func scopeWords() []string {
	return []string{"user", "org", "workspace", "all_orgs", "all_workspaces", "all_shares", "all_sign_envelopes"}
}
