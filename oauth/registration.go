package oauth

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// RegisterRequest describes a program to the authorization server.
type RegisterRequest struct {
	ClientName   string   `json:"client_name,omitempty"` // shown at consent; at most 128 bytes, "" is "Unknown Client"
	RedirectURIs []string `json:"redirect_uris"`         // 1 to 10; https, or http on localhost and 127.0.0.1
}

// Registration is a program as the authorization server knows it.
type Registration struct {
	ClientID        string     `json:"client_id"`
	ClientName      string     `json:"client_name"`
	RedirectURIs    []string   `json:"redirect_uris"`
	AuthMethod      string     `json:"token_endpoint_auth_method"` // "none"
	GrantTypes      []string   `json:"grant_types"`
	ResponseTypes   []string   `json:"response_types"`
	AccessToken     api.Secret `json:"registration_access_token"` // for [Service.UpdateRegistration]; told once, by [Service.Register]
	RegistrationURI string     `json:"registration_client_uri"`   // "" in the answer to an update
}

// Register makes a program known. Each call makes another client, so it is only
// repeated when it was never sent. Names the platform keeps for itself are
// refused with an [*Error] of [CodeInvalidClientMeta].
//
// It calls POST /current/oauth/register/.
func (s *Service) Register(ctx context.Context, r RegisterRequest, opts ...api.CallOption) (*Registration, error) {
	const op = "oauth.Register"
	if err := checkClientName(op, r.ClientName); err != nil {
		return nil, err
	}
	if err := checkRedirects(op, r.RedirectURIs); err != nil {
		return nil, err
	}
	a, err := call.Do[Registration](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/oauth/register/"),
		Body: api.JSON(struct {
			RegisterRequest
			AuthMethod    string   `json:"token_endpoint_auth_method"`
			GrantTypes    []string `json:"grant_types"`
			ResponseTypes []string `json:"response_types"`
		}{r, "none", []string{"authorization_code", "refresh_token"}, []string{"code"}}),
		Auth: api.AuthNone, Replay: api.ReplayOnce,
	}, opts)
	return a, asError(err)
}

const redirectsMax = 10

// checkRedirects refuses what the server would not register.
func checkRedirects(op string, uris []string) error {
	if n := len(uris); n < 1 || n > redirectsMax {
		return &api.InputError{Op: op, Field: "redirect_uris", Rule: "must be 1 to 10", Got: strconv.Itoa(n)}
	}
	for _, uri := range uris {
		u, err := url.Parse(uri)
		switch {
		case err != nil || u.Host == "":
			return &api.InputError{Op: op, Field: "redirect_uris", Rule: "must be absolute URLs", Got: strconv.Quote(uri)}
		case u.Fragment != "" || strings.HasSuffix(uri, "#"):
			return &api.InputError{Op: op, Field: "redirect_uris", Rule: "must have no fragment", Got: strconv.Quote(uri)}
		case u.Scheme != "https" && (u.Scheme != "http" || !loopbackHost(u.Hostname())):
			return &api.InputError{
				Op: op, Field: "redirect_uris", Rule: "must be https, or http on localhost or 127.0.0.1", Got: strconv.Quote(uri),
			}
		}
	}
	return nil
}

// loopbackHost reports whether a host is one the server takes for this machine.
func loopbackHost(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).Equal(net.IPv4(127, 0, 0, 1))
}
