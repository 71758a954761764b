package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// RegisterRequest describes a program to the authorization server.
type RegisterRequest struct {
	ClientName    string   `json:"client_name,omitempty"` // shown at consent; at most 128 bytes, "" is "Unknown Client"
	RedirectURIs  []string `json:"redirect_uris"`         // 1 to 10; https, or http on localhost and 127.0.0.1
	GrantTypes    []string `json:"grant_types"`           // default "authorization_code" and "refresh_token"
	ResponseTypes []string `json:"response_types"`        // default "code"
}

// Registration is a program registered with the authorization server.
type Registration struct {
	ClientID        string     `json:"client_id"`
	ClientName      string     `json:"client_name"`
	RedirectURIs    []string   `json:"redirect_uris"`
	AuthMethod      string     `json:"token_endpoint_auth_method"` // "none"
	GrantTypes      []string   `json:"grant_types"`
	ResponseTypes   []string   `json:"response_types"`
	AccessToken     api.Secret `json:"registration_access_token"` // for [Service.UpdateRegistration]; "" in its result
	RegistrationURI string     `json:"registration_client_uri"`   // "" in the result of an update
}

// Register registers a program as a new client. It is not idempotent, so it is retried
// only if it was not processed.
//
// Errors: [*Error] with [CodeInvalidClientMetadata] for a reserved name.
//
// It calls POST /current/oauth/register/.
func (s *Service) Register(ctx context.Context, r RegisterRequest, opts ...api.CallOption) (*Registration, error) {
	return s.register(ctx, r, loopbackHost, opts...)
}

// register registers a program, as [Service.Register] does. Local reports whether
// redirects to a host may be used without TLS.
func (s *Service) register(
	ctx context.Context, r RegisterRequest, local func(host string) bool, opts ...api.CallOption,
) (*Registration, error) {
	const op = "oauth.Register"
	args := input.Fields[RegisterRequest](op)
	if err := cmp.Or(checkClientName(args, r.ClientName), checkRedirects(args, r.RedirectURIs, local)); err != nil {
		return nil, err
	}
	if r.GrantTypes == nil {
		r.GrantTypes = []string{"authorization_code", "refresh_token"}
	}
	if r.ResponseTypes == nil {
		r.ResponseTypes = []string{"code"}
	}
	body, err := registrationBody(args, struct {
		RegisterRequest
		AuthMethod string `json:"token_endpoint_auth_method"`
	}{r, "none"})
	if err != nil {
		return nil, err
	}
	a, err := call.Payload[Registration](ctx, s.c, endpoint.OAuthRegister(body), opts)
	if err != nil {
		return nil, asError(err)
	}
	if a.ClientID == "" {
		return nil, errors.New("fastio: " + op + ": the response holds no client id")
	}
	return a, nil
}

// UpdateRegistrationRequest changes the registration of a program. At least one
// field must be set.
type UpdateRegistrationRequest struct {
	ClientID     string   `json:"client_id"`               // of the [Registration]
	ClientName   string   `json:"client_name,omitempty"`   // at most 128 characters; "" leaves it
	RedirectURIs []string `json:"redirect_uris,omitempty"` // as of [RegisterRequest], also on [::1]; nil leaves them
}

// UpdateRegistration changes a registration of [Service.Register]. The token is the
// AccessToken of the [Registration], which the result does not repeat.
//
// Errors: [*Error] with [CodeInvalidRequest] unless all redirect URIs of the program
// are on this machine; with [CodeInvalidRequest] and status 401 for the token of
// another program, with [CodeInvalidClient] for an unknown program.
//
// It calls PUT /current/oauth/register/.
func (s *Service) UpdateRegistration(
	ctx context.Context, token api.Secret, r UpdateRegistrationRequest, opts ...api.CallOption,
) (*Registration, error) {
	const op = "oauth.UpdateRegistration"
	args := input.Fields[UpdateRegistrationRequest](op)
	switch {
	case r.ClientID == "":
		return nil, args.Refuse("client_id", "must be given", "")
	case r.ClientName == "" && r.RedirectURIs == nil:
		return nil, args.Refuse("", "must have ClientName or RedirectURIs", "")
	}
	err := checkName(args, "client_name", r.ClientName)
	if r.RedirectURIs != nil {
		err = cmp.Or(err, checkRedirects(args, r.RedirectURIs, anyLoopbackHost))
	}
	body, bodyErr := registrationBody(args, r)
	if err := cmp.Or(err, bodyErr); err != nil {
		return nil, err
	}
	credential, err := credentialOf(op, "token", token)
	if err != nil {
		return nil, err
	}
	a, err := call.Payload[Registration](ctx, s.c, endpoint.OAuthUpdateRegistration(credential, body), opts)
	err = asError(err)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusBadRequest && e.Code == CodeInvalidRequest {
		// The other causes of this code were checked before.
		err = fmt.Errorf("%w: only programs whose redirect URIs are all local may update themselves", err)
	}
	return a, err
}

const registrationMax = 64 << 10 // bytes of JSON

// registrationBody returns the body of a registration, or an error if it is too
// long for the platform.
func registrationBody(args input.Args, v any) (api.Body, error) {
	body := api.JSON(v)
	_, content, err := call.Encode(body)
	return body, cmp.Or(err, checkLength(args, "", len(content), registrationMax, "64 KB"))
}

// ClientMetadata is a document that describes a program. Its https URL is the client
// id, so registration is not required. Serve it as application/json. The platform
// reads it with a timeout of 5 seconds, follows no redirect to another domain, and
// reads it again after an hour.
type ClientMetadata struct {
	ClientID      string   `json:"client_id"`                  // the URL of the document
	ClientName    string   `json:"client_name,omitempty"`      // shown at consent; "" leaves it out
	RedirectURIs  []string `json:"redirect_uris"`              // 1 to 10; https, or http on localhost and 127.0.0.1
	GrantTypes    []string `json:"grant_types"`                // with "authorization_code" among them
	ResponseTypes []string `json:"response_types"`             // with "code" among them
	AuthMethod    string   `json:"token_endpoint_auth_method"` // "none"
	ClientURI     string   `json:"client_uri,omitempty"`       // the program's home page; "" leaves it out
	LogoURI       string   `json:"logo_uri,omitempty"`         // "" leaves it out
}

const metadataMax = 10 << 10 // bytes

// Validate returns an [*api.InputError] if the platform would not accept the
// document at url.
func (m *ClientMetadata) Validate(url string) error {
	const op = "oauth.ClientMetadata"
	args := input.Fields[ClientMetadata](op)
	if err := cmp.Or(checkMetadataURL(input.Parameters(op, "client_id", "url"), url), checkRedirects(args, m.RedirectURIs, loopbackHost)); err != nil {
		return err
	}
	switch {
	case m.ClientID != url:
		return invalid(args, "client_id", "must be the URL of the document", m.ClientID)
	case !slices.Contains(m.GrantTypes, "authorization_code"):
		return args.Refuse("grant_types", "must contain authorization_code", "")
	case !slices.Contains(m.ResponseTypes, "code"):
		return args.Refuse("response_types", "must contain code", "")
	case m.AuthMethod != "none":
		return invalid(args, "token_endpoint_auth_method", "must be none", m.AuthMethod)
	}
	document, err := json.Marshal(m)
	return cmp.Or(err, checkLength(args, "", len(document), metadataMax, "10 KB"))
}

// checkMetadataURL returns an error for a URL that cannot be that of a
// [ClientMetadata].
func checkMetadataURL(args input.Args, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Contains(address, "#") {
		return args.Refuse("client_id", "must be an https URL without a user and a fragment", "")
	}
	return nil
}

const redirectsMax = 10

// checkRedirects returns an error for redirect URIs that the server would refuse. Local
// reports whether a host may be used without TLS.
func checkRedirects(args input.Args, uris []string, local func(host string) bool) error {
	if n := len(uris); n < 1 || n > redirectsMax {
		return args.Refuse("redirect_uris", "must be 1 to 10", strconv.Itoa(n))
	}
	for i, uri := range uris {
		u, err := url.Parse(uri)
		switch {
		case err != nil || u.Host == "":
			return invalid(args, input.At("redirect_uris", i), "must be an absolute URL", uri)
		case u.Fragment != "" || strings.HasSuffix(uri, "#"):
			return invalid(args, input.At("redirect_uris", i), "must have no fragment", uri)
		case u.Scheme != "https" && (u.Scheme != "http" || !local(u.Hostname())):
			return invalid(args, input.At("redirect_uris", i), "must be https, or http on localhost or 127.0.0.1", uri)
		}
	}
	return nil
}

// loopbackHost reports whether the server considers a host local.
func loopbackHost(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).Equal(net.IPv4(127, 0, 0, 1))
}

// anyLoopbackHost reports whether a host is this machine, by any of its names:
// unlike the platform, some servers accept ::1.
func anyLoopbackHost(host string) bool { return host == "::1" || loopbackHost(host) }

// loopbackURI returns the redirect URI that is registered. Servers accept any
// port for it, so it has none, except for a program with a fixed port: its
// servers may compare the port.
func (s *signIn) loopbackURI() string {
	port := ""
	if s.RedirectPort != 0 {
		port = ":" + strconv.Itoa(s.RedirectPort)
	}
	return "http://" + s.host + port + s.redirectPath()
}

// redirectHost returns the host of the redirect URI: 127.0.0.1, also without a listener. If the
// listener listens on ::1, because the machine has no 127.0.0.1, it is ::1, or localhost for the
// platform, which refuses ::1 in a redirect URI.
func redirectHost(ln net.Listener, s server) string {
	const v4, v6, name = "127.0.0.1", "[::1]", "localhost"
	if ln == nil {
		return v4
	}
	a, ok := ln.Addr().(*net.TCPAddr)
	isV6 := ok && a.IP.To4() == nil
	isPlatform := s.Register == "" // Register is the endpoint for registrations of another server
	switch {
	case isV6 && isPlatform:
		return name
	case isV6:
		return v6
	}
	return v4
}

// findClientID sets the client id: the stored one, unless that is the refused one (""
// if none was refused), or that of a new registration. The account is locked while it
// registers, so that only one of several processes does.
func (s *signIn) findClientID(ctx context.Context, refused string) error {
	if s.Store == nil {
		client, err := s.register(ctx)
		if err != nil {
			return err
		}
		s.clientID = client.ID
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	return runUntilAbandoned(ctx, func() error {
		b, err := s.Store.Load(ctx, s.account()) // does not wait for the refresh of another process, unlike Lock
		if err != nil {
			return err
		}
		r, err := readRecord(b)
		if err != nil || s.useStoredClient(r, refused) {
			return err
		}
		return s.registerLocked(ctx, refused)
	})
}

// registerLocked locks the record of the account, registers the program and
// stores the client, unless another process has done so before. Refused is the client id
// that the server has refused, "" for none.
func (s *signIn) registerLocked(ctx context.Context, refused string) error {
	r, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer r.Unlock()
	if s.useStoredClient(r.record, refused) {
		return nil
	}
	r.Client, err = s.register(ctx)
	if err != nil {
		return err
	}
	s.clientID, s.clientFromStore = r.Client.ID, false
	return r.save(ctx)
}

// useStoredClient uses the client id of a stored record, and reports whether it could:
// it must not be the refused one, and its registration must be one that this sign-in
// would make, with the same issuer, name and redirect URI.
func (s *signIn) useStoredClient(r *record, refused string) bool {
	usable := s.client(r.Client.ID, r.Client.RegistrationToken.Secret)
	if r.Client.ID == refused || r.Client != usable {
		return false
	}
	s.clientID, s.clientFromStore = r.Client.ID, true
	return true
}

// register registers the program with the server.
func (s *signIn) register(ctx context.Context) (clientRecord, error) {
	service, done, err := s.serviceAt(s.server.Register)
	if err != nil {
		return clientRecord{}, err
	}
	defer done()
	request := RegisterRequest{ClientName: strings.TrimSpace(s.ClientName), RedirectURIs: []string{s.loopbackURI()}}
	if s.server.Device != "" {
		request.GrantTypes = []string{"authorization_code", "refresh_token", deviceGrant}
	}
	var r *Registration
	err = s.requestWithin(ctx, "registering the program", func(ctx context.Context) error {
		r, err = service.register(ctx, request, anyLoopbackHost)
		return err
	})
	if err != nil {
		return clientRecord{}, err
	}
	return s.client(r.ClientID, r.AccessToken), nil
}

// forgetRefused removes the registration from the store if err means that the server
// does not know the program. The next sign-in registers it again.
func (s *signIn) forgetRefused(ctx context.Context, err error) {
	if unknownClient(err) {
		s.forgetClient(ctx)
	}
}

// forgetClientIfSuspect is called after a sign-in without a redirect. The reason may be that
// the server does not know the program any more. A server with an authorization endpoint of
// its own reports that only in the browser. So the registration at such a server is removed
// from the store.
func (s *signIn) forgetClientIfSuspect(ctx context.Context) {
	reportsInBrowser := s.server.Authorize != ""
	if s.clientFromStore && reportsInBrowser {
		s.forgetClient(ctx)
	}
}

// forgetClient removes the registration from the store, so that the next sign-in
// registers the program again. If the store fails, a later sign-in removes it. A client
// id of the configuration is not in the store.
func (s *signIn) forgetClient(ctx context.Context) {
	if s.Store == nil || s.ClientID != "" {
		return
	}
	id := s.clientID
	s.changeRecord(ctx, func(r *record) bool {
		known := r.Client.ID == id
		if known {
			r.Client = clientRecord{}
		}
		return known
	})
}

const amendTime = time.Second // timeout after the context of a sign-in is done

// changeRecord changes the stored record in a detail that a sign-in can do without:
// failures are ignored. It saves nothing if change returns false.
func (s *signIn) changeRecord(ctx context.Context, change func(r *record) bool) {
	editing, cancel := context.WithTimeout(context.WithoutCancel(ctx), amendTime)
	_ = runUntilAbandoned(ctx, func() error {
		defer cancel() // here, because this function may outlive changeRecord
		r, err := s.lock(editing)
		if err != nil {
			return err
		}
		defer r.Unlock()
		if !change(r.record) {
			return nil
		}
		return r.save(editing)
	})
}

// client returns the record for the registration of this program with a client
// id.
func (s *signIn) client(id string, token api.Secret) clientRecord {
	return clientRecord{
		ID: id, Issuer: cmp.Or(s.server.Issuer, s.base.Origin()), Name: strings.TrimSpace(s.ClientName),
		RedirectURI: s.loopbackURI(), RegistrationToken: stored{token},
	}
}

// unknownClient reports whether a server refused the client id or its registration: by
// the OAuth code of the refusal or, without one, by its field or its text.
func unknownClient(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code == CodeInvalidClient || e.Code == CodeUnauthorizedClient
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok || !errors.Is(e, api.ErrInvalid) && !errors.Is(e, api.ErrNotFound) {
		return false
	}
	named := func(p api.ParamError) bool { return p.Name == "client_id" || p.Name == "redirect_uri" }
	return slices.ContainsFunc(e.Params, named) || strings.Contains(strings.ToLower(e.Text), "client")
}
