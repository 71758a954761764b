package oauth

import (
	"context"
	"encoding/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// ServerMetadata is what an authorization server tells of itself (RFC 8414).
type ServerMetadata struct {
	Issuer                string `json:"issuer"` // a URL that names the server
	AuthorizationEndpoint string `json:"authorization_endpoint"`
	TokenEndpoint         string `json:"token_endpoint"`
	RevocationEndpoint    string `json:"revocation_endpoint"`   // "" if it has none
	RegistrationEndpoint  string `json:"registration_endpoint"` // "" if it has none

	ResponseTypes            []string     `json:"response_types_supported"`
	GrantTypes               []string     `json:"grant_types_supported"`
	CodeChallengeMethods     []string     `json:"code_challenge_methods_supported"`
	TokenEndpointAuthMethods []string     `json:"token_endpoint_auth_methods_supported"`
	Scopes                   []Scope      `json:"scopes_supported"`
	AccessModes              []AccessMode `json:"access_modes_supported"`

	ClientMetadataDocuments bool   `json:"client_id_metadata_document_supported"`          // see [ClientMetadata]
	ResourceIndicators      bool   `json:"resource_indicators_supported"`                  // RFC 8707
	NamesIssuer             bool   `json:"authorization_response_iss_parameter_supported"` // RFC 9207
	ServiceDocumentation    string `json:"service_documentation"`                          // a URL; "" if it has none

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ServerMetadata returns what the authorization server tells of itself. A
// deployment without it answers [api.ErrNotFound]; the documented paths hold
// there.
//
// It calls GET /.well-known/oauth-authorization-server/.
func (s *Service) ServerMetadata(ctx context.Context, opts ...api.CallOption) (*ServerMetadata, error) {
	return call.One[ServerMetadata](ctx, s.c, endpoint.OAuthServerMetadata(), "", opts)
}

// ProtectedResource is what the API tells of those who may let a program in (RFC
// 9728).
type ProtectedResource struct {
	Resource             string   `json:"resource"`              // a URL that names the API
	AuthorizationServers []string `json:"authorization_servers"` // their issuers
	BearerMethods        []string `json:"bearer_methods_supported"`
	Scopes               []Scope  `json:"scopes_supported"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ProtectedResource returns whom the API trusts to let programs in. A deployment
// that does not tell answers [api.ErrNotFound].
//
// It calls GET /.well-known/oauth-protected-resource/.
func (s *Service) ProtectedResource(ctx context.Context, opts ...api.CallOption) (*ProtectedResource, error) {
	return call.One[ProtectedResource](ctx, s.c, endpoint.OAuthProtectedResource(), "", opts)
}
