package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

type client struct {
	world.Client
	grants, responses any                // as they were registered
	manager           *[sha256.Size]byte // hash of the registration access token, nil without one
}

const unknownClient = "Unknown Client"

// AddClient adds or replaces a client and returns it with defaults.
func (h *Handlers) AddClient(c world.Client) world.Client {
	h.w.Lock()
	defer h.w.Unlock()
	if c.ID == "" {
		c.ID = h.w.Secret()[:32]
	}
	c.Name = cmp.Or(c.Name, unknownClient)
	c.RedirectURIs = slices.Clone(c.RedirectURIs)
	h.oauth.clients[c.ID] = &client{Client: c}
	return c
}

const (
	registrationLimit = 64 << 10
	redirectLimit     = 10
	invalidRequest    = "invalid_request"
	invalidMetadata   = "invalid_client_metadata"
	invalidRedirect   = "invalid_redirect_uri"
	invalidClient     = "invalid_client"
)

// register registers a client, and returns its ID and the token with which it can be
// changed. Clients are public: the only authentication method that it accepts is "none".
func (h *Handlers) register(c *wire.Call) (wire.Object, error) {
	fields, err := readRegistration(c)
	if err != nil {
		return nil, err
	}
	if fields["redirect_uris"] == nil {
		return nil, badRequest(invalidRequest, "redirect_uris is missing.")
	}
	if method, given := fields["token_endpoint_auth_method"]; given && method != "none" {
		return nil, badRequest(invalidMetadata, "token_endpoint_auth_method can only be none.")
	}
	bytesOf := func(name string) int { return len(name) } // the limit is in bytes here, elsewhere in characters
	name, err := clientName(fields["client_name"], bytesOf)
	if err != nil {
		return nil, err
	}
	redirects, err := redirectList(fields["redirect_uris"])
	if err != nil {
		return nil, err
	}
	made := &client{
		Client:    world.Client{Name: cmp.Or(name, unknownClient), RedirectURIs: redirects},
		grants:    orDefault(fields["grant_types"], []string{grantCode, grantRefresh}),
		responses: orDefault(fields["response_types"], []string{"code"}),
	}
	token := h.w.Secret()
	made.ID = h.w.Secret()[:32]
	made.manager = new(sha256.Sum256([]byte(token))) // who has the token may change the client
	h.oauth.clients[made.ID] = made
	return c.PlainJSON(http.StatusOK, append(made.record(),
		wire.Member{"registration_access_token", token},
		wire.Member{"registration_client_uri", wire.Issuer(c.Request) + h.w.Prefix() + "/current/oauth/register"},
	))
}

// mayUse reports whether a client has registered a grant type, or no grant types. What it
// has registered is any JSON: nothing but that list was checked.
func (cl *client) mayUse(grant string) bool {
	return cl.grants == nil || strings.Contains(fmt.Sprint(cl.grants), grant)
}

// record renders a registered client.
func (cl *client) record() wire.Object {
	return wire.Object{
		{"result", true},
		{"client_id", cl.ID},
		{"client_name", cl.Name},
		{"redirect_uris", cl.RedirectURIs},
		{"token_endpoint_auth_method", "none"},
		{"grant_types", cl.grants},
		{"response_types", cl.responses},
	}
}

// updateRegistration changes the name and redirect URIs of a registered client.
func (h *Handlers) updateRegistration(c *wire.Call) (wire.Object, error) {
	fields, err := readRegistration(c)
	if err != nil {
		return nil, err
	}
	cl, err := h.managedClient(c, fields)
	if err != nil {
		return nil, err
	}
	name, err := clientName(fields["client_name"], utf8.RuneCountInString)
	if err != nil {
		return nil, err
	}
	if name == "" && fields["redirect_uris"] == nil {
		return nil, badRequest(invalidRequest, "Neither client_name nor redirect_uris is given.")
	}
	changed := *cl
	changed.Name = cmp.Or(name, changed.Name)
	if fields["redirect_uris"] != nil {
		changed.RedirectURIs, err = redirectList(fields["redirect_uris"])
		if err != nil {
			return nil, err
		}
	}
	h.oauth.clients[cl.ID] = &changed
	return c.PlainJSON(http.StatusOK, changed.record())
}

// managedClient returns the client that a call may change: that of the field client_id,
// whose registration access token the call has. Only clients whose redirect URIs are all
// on localhost may be changed.
func (h *Handlers) managedClient(c *wire.Call, fields map[string]any) (*client, error) {
	id, _ := fields["client_id"].(string)
	if id == "" {
		return nil, badRequest(invalidRequest, "client_id is missing.")
	}
	scheme, token, _ := strings.Cut(c.Request.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, wire.RFCError(http.StatusUnauthorized, invalidRequest, "The registration access token is missing.")
	}
	cl := h.oauth.clients[id]
	if cl == nil || cl.Disabled {
		return nil, wire.RFCError(http.StatusNotFound, invalidClient, "There is no such client.")
	}
	hash := sha256.Sum256([]byte(token))
	if cl.manager == nil || subtle.ConstantTimeCompare(hash[:], cl.manager[:]) != 1 {
		return nil, wire.RFCError(http.StatusUnauthorized, invalidRequest,
			"The registration access token is not that of this client.")
	}
	for _, redirect := range cl.RedirectURIs {
		if u, err := url.Parse(redirect); err != nil || !loopback(u.Hostname()) {
			return nil, badRequest(invalidRequest,
				"Only clients whose redirect URIs are all on localhost can change themselves.")
		}
	}
	return cl, nil
}

const registrationFields = "client_name redirect_uris token_endpoint_auth_method grant_types response_types"

// readRegistration returns the fields of a client in a JSON body or a form, in which lists
// are JSON.
func readRegistration(c *wire.Call) (map[string]any, error) {
	var fields map[string]any
	switch wire.MediaType(c.Request.Header) {
	case wire.JSONType:
		if len(c.Body) > registrationLimit {
			return nil, badRequest(invalidRequest, "The body is longer than 64 KB.")
		}
		if err := json.Unmarshal(c.Body, &fields); err != nil || fields == nil {
			return nil, badRequest(invalidRequest, "The body is not a JSON object.")
		}
	case wire.FormType:
		if err := c.ReadForm(); err != nil {
			return nil, badRequest(invalidRequest, "The form cannot be read.")
		}
		fields = map[string]any{}
		for name, values := range c.Form {
			fields[name] = values[len(values)-1]
		}
		for _, name := range [...]string{"redirect_uris", "grant_types", "response_types"} {
			text, _ := fields[name].(string)
			var list any
			if json.Unmarshal([]byte(text), &list) == nil {
				fields[name] = list
			}
		}
	default:
		return nil, badRequest(invalidRequest, "The body must be JSON or a form.")
	}
	return fields, nil
}

// orDefault returns a value or, if it is nil, the fallback.
func orDefault(value, fallback any) any {
	if value == nil {
		return fallback
	}
	return value
}

// clientName returns the name of a client, "" without one. The function length counts
// its characters or its bytes, as calls differ in that.
func clientName(value any, length func(string) int) (string, error) {
	name, isText := value.(string)
	name = strings.TrimSpace(name)
	switch {
	case value == nil:
		return "", nil
	case !isText:
		return "", badRequest(invalidMetadata, "client_name is not a string.")
	case length(name) > wire.LabelLimit:
		return "", badRequest(invalidMetadata, "client_name is too long.")
	case reserved(name):
		return "", badRequest(invalidMetadata, "client_name is reserved.")
	}
	return name, nil
}

// redirectList returns the redirect URIs of a client: 1 to 10 valid ones.
func redirectList(value any) ([]string, error) {
	list, isList := value.([]any)
	if !isList {
		return nil, badRequest(invalidMetadata, "redirect_uris is not a JSON array.")
	}
	if len(list) == 0 || len(list) > redirectLimit {
		return nil, badRequest(invalidRedirect, "There must be 1 to 10 redirect URIs.")
	}
	var redirects []string
	for _, v := range list {
		redirect, _ := v.(string)
		if fault := redirectFault(redirect); fault != "" {
			return nil, badRequest(invalidRedirect, fault)
		}
		redirects = append(redirects, redirect)
	}
	return redirects, nil
}

// redirectFault returns why a text is not a valid redirect URI, "" if it is.
func redirectFault(text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return "A redirect URI must be a non-empty string."
	case err != nil, u.Scheme == "", u.Hostname() == "":
		return "A redirect URI is not a valid URL."
	case strings.Contains(text, "#"):
		return "A redirect URI must have no fragment."
	case u.Scheme == "http" && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1"):
		return ""
	case u.Scheme != "https":
		return "A redirect URI must be HTTPS, except on localhost."
	}
	return ""
}

// loopback reports whether a host is on this machine.
func loopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// hasRedirect reports whether a client has registered a redirect URI. On a loopback
// address, the port may differ, as a native application gets one when it starts (RFC
// 8252).
func (cl *client) hasRedirect(redirect string) bool {
	return slices.ContainsFunc(cl.RedirectURIs, func(own string) bool {
		return own == redirect || withoutPort(own) != "" && withoutPort(own) == withoutPort(redirect)
	})
}

// withoutPort returns a loopback http URI without its port, which may differ from the
// registered one, and "" for any other URI.
func withoutPort(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil || u.Scheme != "http" || u.User != nil || !loopback(u.Hostname()) {
		return ""
	}
	host := strings.TrimSuffix(net.JoinHostPort(u.Hostname(), ""), ":") // with brackets around IPv6
	return strings.Replace(redirect, u.Host, host, 1)
}

const (
	documentTimeout = 5 * time.Second
	documentLimit   = 10 << 10
	documentLife    = time.Hour
)

// document is a fetched client metadata document.
type document struct {
	client  *client
	expires time.Time
}

// findClient returns a client and fetches its document if necessary. It must not
// be called with the lock held, as fetching blocks.
func (h *Handlers) findClient(ctx context.Context, id string) (*client, error) {
	if cl := h.knownClient(id); cl != nil {
		return cl, nil
	}
	if !strings.Contains(id, "://") {
		return nil, errors.New("there is no such client")
	}
	cl, err := h.fetchClient(ctx, id)
	if err != nil {
		return nil, err
	}
	h.w.Lock()
	defer h.w.Unlock()
	h.oauth.documents[id] = &document{client: cl, expires: h.w.Now().Add(documentLife)}
	return cl, nil
}

// knownClient returns a client that is registered, or whose metadata document was fetched
// and has not expired, nil if there is none. It takes the lock.
func (h *Handlers) knownClient(id string) *client {
	h.w.RLock()
	defer h.w.RUnlock()
	if cl := h.oauth.clients[id]; cl != nil && !cl.Disabled {
		return cl
	}
	if d := h.oauth.documents[id]; d != nil && !wire.Past(d.expires, h.w.Now()) {
		return d.client
	}
	return nil
}

// fetchClient reads the metadata document of a client, whose id is the address of the
// document, and checks it. The document must be JSON of at most 10 KB.
func (h *Handlers) fetchClient(ctx context.Context, id string) (*client, error) {
	u, err := url.Parse(id)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("a metadata document must be at an HTTPS URL")
	}
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", wire.JSONType)
	network := h.w.Options.OAuth.Fetch // nil is the real network
	if network == nil {
		network = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	}
	p, err := (&http.Client{Transport: network, CheckRedirect: sameDomain}).Do(r)
	if err != nil {
		return nil, fmt.Errorf("the metadata document cannot be fetched: %w", err)
	}
	defer func() { _ = p.Body.Close() }()
	if p.StatusCode != http.StatusOK || wire.MediaType(p.Header) != wire.JSONType {
		return nil, fmt.Errorf("the metadata document was answered with %d %q", p.StatusCode, p.Header.Get("Content-Type"))
	}
	text, err := io.ReadAll(io.LimitReader(p.Body, documentLimit+1))
	if err != nil || len(text) > documentLimit {
		return nil, errors.New("the metadata document is longer than 10 KB or breaks off")
	}
	return parseDocument(id, text)
}

const redirectsFollowed = 5

// sameDomain is the redirect policy for metadata documents: it allows a few redirects to
// the same host by https.
func sameDomain(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Scheme != "https" || r.URL.Host != first.Host || len(via) > redirectsFollowed {
		return errors.New("it redirects to another domain or without end")
	}
	return nil
}

// parseDocument returns the client that a metadata document describes. It checks the
// document by the rules of registration, and that its client_id is its address (id).
func parseDocument(id string, text []byte) (*client, error) {
	var d struct {
		ID        string   `json:"client_id"`
		Name      string   `json:"client_name"`
		Redirects []any    `json:"redirect_uris"`
		Grants    []string `json:"grant_types"`
		Responses []string `json:"response_types"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("the metadata document cannot be read: %w", err)
	}
	redirects, refusal := redirectList(d.Redirects)
	switch {
	case d.ID != id:
		return nil, errors.New("client_id of the metadata document is not its URL")
	case refusal != nil:
		return nil, errors.New("redirect_uris of the metadata document is not acceptable")
	case !slices.Contains(d.Grants, grantCode):
		return nil, errors.New("grant_types of the metadata document lacks authorization_code")
	case !slices.Contains(d.Responses, "code"):
		return nil, errors.New("response_types of the metadata document lacks code")
	case d.Method != "none":
		return nil, errors.New("token_endpoint_auth_method of the metadata document is not none")
	case reserved(d.Name):
		return nil, errors.New("client_name of the metadata document is reserved")
	}
	name := cmp.Or(strings.TrimSpace(d.Name), id)
	return &client{Client: world.Client{ID: id, Name: name, RedirectURIs: redirects}}, nil
}

// Export adds the clients to a seed file. The caller holds the lock.
func (h *Handlers) Export(f *world.SeedFile) {
	for _, id := range slices.Sorted(maps.Keys(h.oauth.clients)) {
		f.Clients = append(f.Clients, h.oauth.clients[id].Client)
	}
}
