package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	documentTimeout = 5 * time.Second
	documentLimit   = 10 << 10
	documentLife    = time.Hour
)

// document is a client that describes itself at its own URL, as it was fetched.
type document struct {
	client  *client
	expires time.Time
}

// findClient returns the client with an id, fetching its document if need be. It must not be called with the lock held:
// a slow document would stop the platform.
func (h *Handlers) findClient(ctx context.Context, id string) (*client, error) {
	if k := h.knownClient(id); k != nil {
		return k, nil
	}
	if !strings.Contains(id, "://") {
		return nil, errors.New("there is no such client")
	}
	k, err := h.fetch(ctx, id)
	if err != nil {
		return nil, err
	}
	h.Lock()
	defer h.Unlock()
	h.oauth.documents[id] = &document{client: k, expires: h.Now().Add(documentLife)}
	return k, nil
}

func (h *Handlers) knownClient(id string) *client {
	h.RLock()
	defer h.RUnlock()
	if k := h.oauth.clients[id]; k != nil && !k.Disabled {
		return k
	}
	if d := h.oauth.documents[id]; d != nil && !wire.Past(d.expires, h.Now()) {
		return d.client
	}
	return nil
}

// fetch reads a metadata document.
func (h *Handlers) fetch(ctx context.Context, id string) (*client, error) {
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
	network := h.Options.OAuth.Fetch
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

func sameDomain(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Scheme != "https" || r.URL.Host != first.Host || len(via) > redirectsFollowed {
		return errors.New("it redirects to another domain or without end")
	}
	return nil
}

// parseDocument holds a document to the rules of registration.
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
	name := strings.TrimSpace(d.Name)
	if name == "" {
		name = id
	}
	return &client{Client: world.Client{ID: id, Name: name, RedirectURIs: redirects}}, nil
}
