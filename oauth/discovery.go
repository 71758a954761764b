package oauth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/transport"
)

// IssuerError reports that the issuer of a server differs from the expected one, in
// its metadata or in the redirect of the browser. If the server is the right one,
// set [Config.Issuer] to its name. One that names none may be a gateway in its place.
type IssuerError struct {
	Asked string // the issuer that was expected
	Named string // the issuer that was named; "" if none was
}

// Error contains the name that was expected and the one that the server gives itself.
func (e *IssuerError) Error() string {
	const shown = 200 // characters
	s := "fastio: oauth: the authorization server of " + strconv.Quote(e.Asked)
	if e.Named == "" {
		return s + " does not name itself"
	}
	return s + " names itself " + strconv.Quote(cut(e.Named, shown))
}

// discover returns the authorization server of the platform and its endpoints, as its
// metadata name them. Without metadata it returns an empty server, which has the
// documented paths. It returns an [*IssuerError] if only metadata of another issuer were
// found.
func (c *Config) discover(ctx context.Context, base transport.Base, pipeline *transport.Client) (server, error) {
	issuers, err := c.issuers(ctx, base, pipeline)
	if err != nil {
		return server{}, err
	}
	var mismatch error
	for _, issuer := range issuers {
		m, err := c.metadataOf(ctx, base, pipeline, issuer)
		if err != nil {
			return server{}, err
		}
		expected := cmp.Or(c.Issuer, issuer) // any metadata must name the issuer that the program has set
		switch {
		case m == nil:
		case sameIssuer(m.Issuer, expected):
			return c.serverOf(m, base)
		default:
			mismatch = &IssuerError{Asked: expected, Named: m.Issuer}
		}
	}
	return server{}, mismatch
}

const resourceTime = 10 * time.Second // timeout of a document that is not required

// issuers returns the issuers whose metadata are tried, in order. If Issuer is set, these are
// the platform and Issuer: the metadata of the platform are used if they name Issuer.
// Otherwise there is one: the platform, or the first authorization server that the platform
// names in its place.
func (c *Config) issuers(ctx context.Context, base transport.Base, pipeline *transport.Client) ([]string, error) {
	origin := base.Origin()
	if c.Issuer != "" {
		if sameIssuer(c.Issuer, origin) {
			return []string{origin}, nil
		}
		return []string{origin, c.Issuer}, nil
	}
	bounded, cancel := context.WithTimeout(ctx, resourceTime)
	defer cancel()
	r, err := New(pipeline).ProtectedResource(bounded)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil: // the document is optional
		return []string{origin}, nil
	}
	isPlatform := func(issuer string) bool { return sameIssuer(issuer, origin) }
	servers := r.AuthorizationServers
	isOfOther := !isPlatform(r.Resource) // such a document must not be used (RFC 9728, section 3.3)
	if isOfOther || len(servers) == 0 || slices.ContainsFunc(servers, isPlatform) {
		return []string{origin}, nil
	}
	return servers[:1], nil // the platform names only others
}

// metadataOf returns the metadata of an issuer, nil if it publishes none. It tries the
// addresses of OAuth and of OpenID Connect, in this order.
func (c *Config) metadataOf(
	ctx context.Context, base transport.Base, pipeline *transport.Client, issuer string,
) (*ServerMetadata, error) {
	u, err := c.parseAddress(base, issuer)
	if err != nil {
		return nil, err
	}
	host := transport.Base{Scheme: u.Scheme, Host: u.Host}
	isOther := host.Origin() != base.Origin()
	if isOther { // the pipeline only sends requests to base
		pipeline = c.pipeline(host)
		defer pipeline.CloseIdleConnections()
	}
	const oauth, openID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	paths := []string{oauth + "/", oauth, openID} // the platform documents a slash at the end, other servers have none
	if path := strings.TrimSuffix(u.Path, "/"); path != "" {
		paths = []string{oauth + path, path + openID} // RFC 8414 puts the path last, OpenID Connect first
	}
	for _, path := range paths {
		var raw api.Response
		m, err := New(otherAddress{pipeline, api.Path(path), nil}).ServerMetadata(ctx, api.WithResponse(&raw))
		if !hasNoMetadata(err, &raw) {
			return m, err
		}
	}
	return nil, nil
}

// hasNoMetadata reports whether the response to a request for metadata means that there
// are none. Servers and gateways have many responses for a path that they do not know,
// such as 403, a page for people, or a redirect to one. An outage does not mean that there
// are none.
func hasNoMetadata(err error, raw *api.Response) bool {
	if _, refused := errors.AsType[*api.Error](err); refused {
		return !outage(err)
	}
	isSuccess := raw.Status/100 == 2
	isObject := bytes.HasPrefix(bytes.TrimSpace(raw.Body), []byte("{"))
	isPage := !isObject && !errors.Is(err, api.ErrTooLarge) // of a body that is too large, nothing is known
	return isSuccess && isPage
}

// outage reports whether another try may help.
func outage(err error) bool {
	return errors.Is(err, api.ErrUnavailable) || errors.Is(err, api.ErrRateLimited) || errors.Is(err, api.ErrServer)
}

// sameIssuer compares two names byte by byte (RFC 8414), except for the slash of an
// empty path.
func sameIssuer(a, b string) bool { return a == b || withoutSlash(a) == withoutSlash(b) }

// withoutSlash returns an issuer without the slash at its end if that is all of its
// path; any other issuer is returned as it is.
func withoutSlash(issuer string) string {
	bare := strings.TrimSuffix(issuer, "/")
	if u, err := url.Parse(bare); err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" {
		return issuer
	}
	return bare
}

// serverOf returns the endpoints that metadata name. An endpoint that is left out has its
// documented path, except for the device endpoint, which has none: without it there is no
// sign-in by device. It refuses a server whose list of code challenges has no S256.
func (c *Config) serverOf(m *ServerMetadata, platform transport.Base) (server, error) {
	if len(m.CodeChallengeMethods) > 0 && !slices.Contains(m.CodeChallengeMethods, "S256") {
		return server{}, errors.New("fastio: oauth: the authorization server does not offer the code challenge S256")
	}
	issuer, err := transport.ParseBase(m.Issuer)
	if err != nil {
		return server{}, errors.New("fastio: oauth: the issuer of the authorization server is not a URL")
	}
	// An endpoint that is left out has its documented path below parent: the platform or, for
	// an issuer on another host, the root of that host, whatever the path of the issuer is.
	parent := platform
	if issuer.Origin() != platform.Origin() {
		parent, err = transport.ParseBase(issuer.Origin())
		if err != nil {
			return server{}, err
		}
	}
	s := server{Issuer: m.Issuer, NamesIssuer: m.NamesIssuer, Device: m.DeviceAuthorizationEndpoint}
	if s.Device != "" {
		if _, err := c.parseAddress(platform, s.Device); err != nil {
			return server{}, err
		}
	}
	for _, e := range []struct {
		to               *string
		advertised, path string
	}{
		{&s.Authorize, m.AuthorizationEndpoint, "/current/oauth/authorize/"},
		{&s.Token, m.TokenEndpoint, "/current/oauth/token/"},
		{&s.Revoke, m.RevocationEndpoint, "/current/oauth/revoke/"},
		{&s.Register, m.RegistrationEndpoint, "/current/oauth/register/"},
	} {
		*e.to, err = c.endpointURL(platform, parent, e.advertised, e.path)
		if err != nil {
			return server{}, err
		}
	}
	return s, nil
}

// endpointURL returns the URL of an endpoint of an authorization server. An endpoint that the
// server does not advertise has the documented path below parent: the platform or, for an
// issuer on another host, that host. If the URL is that of the documented path below the
// platform, the result is "", which a [server] has in place of that URL.
func (c *Config) endpointURL(platform, parent transport.Base, advertised, path string) (string, error) {
	address := cmp.Or(advertised, parent.String()+path)
	if _, err := c.parseAddress(platform, address); err != nil {
		return "", err
	}
	documented := platform.String() + path
	if strings.TrimSuffix(address, "/") == strings.TrimSuffix(documented, "/") {
		return "", nil
	}
	return address, nil
}

// parseAddress parses a URL from a server. One without TLS is refused if the platform has
// TLS. It is also refused if it leads from a platform on this machine to another machine,
// unless AllowPlainHTTP is set.
func (c *Config) parseAddress(platform transport.Base, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || !isPlainURL(u) {
		return nil, errors.New("fastio: oauth: the server advertises an address that is not a plain URL")
	}
	dropsTLS := u.Scheme == "http" && platform.Scheme == "https"
	isExposed := transport.Base{Scheme: u.Scheme, Host: u.Host}.Exposed() // over http to another machine
	if dropsTLS || isExposed && !platform.Exposed() && !c.AllowPlainHTTP {
		return nil, errors.New("fastio: oauth: the server advertises an address without TLS")
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// isPlainURL reports whether u is an http or https URL of a host and a path, with or
// without a query, whose path an [api.Route] can hold.
func isPlainURL(u *url.URL) bool {
	isWeb := u.Scheme == "https" || u.Scheme == "http"
	isRoute := u.RawPath == "" && !strings.ContainsAny(u.Path, "{}")
	return isWeb && u.Hostname() != "" && u.User == nil && isRoute && u.Fragment == ""
}

// otherAddress sends the requests of one endpoint to another than the documented
// address.
type otherAddress struct {
	api.Client

	path  api.Route
	query url.Values
}

// Call sends r to the path and query of e, in place of its own path.
func (e otherAddress) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	moved := *r
	moved.Path = e.path
	if len(e.query) > 0 {
		moved.Query = maps.Clone(e.query)
		maps.Copy(moved.Query, r.Query)
	}
	return e.Client.Call(ctx, &moved, out, opts...)
}

// ServerMetadata is the metadata of an authorization server (RFC 8414).
type ServerMetadata struct {
	Issuer                string `json:"issuer"` // a URL that names the server
	AuthorizationEndpoint string `json:"authorization_endpoint"`
	TokenEndpoint         string `json:"token_endpoint"`
	RevocationEndpoint    string `json:"revocation_endpoint"`   // "" if it has none
	RegistrationEndpoint  string `json:"registration_endpoint"` // "" if it has none

	// Of the device flow (RFC 8628), which no document of the platform mentions; "" if
	// it has none.
	DeviceAuthorizationEndpoint string `json:"device_authorization_endpoint"`

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

// ServerMetadata returns the metadata of the authorization server.
// Errors: [api.ErrNotFound] if a deployment has none; it then uses the documented
// paths.
//
// It calls GET /.well-known/oauth-authorization-server/.
func (s *Service) ServerMetadata(ctx context.Context, opts ...api.CallOption) (*ServerMetadata, error) {
	return call.Payload[ServerMetadata](ctx, s.c, endpoint.OAuthServerMetadata(), opts)
}

// ProtectedResource names the authorization servers of the API (RFC 9728).
type ProtectedResource struct {
	Resource             string   `json:"resource"`              // a URL that names the API
	AuthorizationServers []string `json:"authorization_servers"` // their issuers
	BearerMethods        []string `json:"bearer_methods_supported"`
	Scopes               []Scope  `json:"scopes_supported"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ProtectedResource returns the authorization servers that the API trusts.
// Errors: [api.ErrNotFound] if a deployment does not publish them.
//
// It calls GET /.well-known/oauth-protected-resource/.
func (s *Service) ProtectedResource(ctx context.Context, opts ...api.CallOption) (*ProtectedResource, error) {
	return call.Payload[ProtectedResource](ctx, s.c, endpoint.OAuthProtectedResource(), opts)
}
