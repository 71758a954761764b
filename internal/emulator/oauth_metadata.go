package emulator

import "net/http"

// serverMetadata is RFC 8414: a document of its own, without the envelope.
func (s *Server) serverMetadata(c *call) answer {
	origin := issuer(c.r)
	endpoint := func(name string) string { return origin + s.prefix() + "/current/oauth/" + name }
	body := object{
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
		{"service_documentation", origin + s.prefix() + "/current/llms/"},
	}
	if s.o.OAuth.AnnounceIssuer {
		body = append(body, member{"authorization_response_iss_parameter_supported", true})
	}
	return plainJSON(http.StatusOK, body)
}

func (s *Server) protectedResource(c *call) answer {
	origin := issuer(c.r)
	return plainJSON(http.StatusOK, object{
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
