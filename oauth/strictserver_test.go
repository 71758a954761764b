package oauth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// strictServer is an authorization server that is as strict as the RFCs let it be. Its
// person decides at once: a browser that opens the login address is sent back
// with the answer.
type strictServer struct {
	origin string // where it is and, unless changed, what it calls itself

	// Switches, set before the first request.
	foreign       bool           // it knows RFC 6749 and nothing of the platform
	metadata      map[string]any // other members of them; nil removes one
	deny          string         // the error the person answers with
	withoutState  bool           // the answer leaves the state out
	scopes        any            // of the token's answer; nil leaves them out
	administers   any            // what the scopes of a token say of admin; nil answers 404
	refuseClients int            // so many authorizations know the client no more
	intercept     func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	serial   int
	clients  map[string]string     // id -> redirect URI
	requests map[string]url.Values // under way
	codes    map[string]url.Values // not exchanged
	seen     []string              // "GET /path"
	forms    []url.Values          // that reached the token endpoint
	started  []url.Values          // authorizations
}

func newStrictServer(origin string) *strictServer {
	return &strictServer{
		origin: origin, clients: map[string]string{}, requests: map[string]url.Values{}, codes: map[string]url.Values{},
		scopes: `["user:*:rw"]`,
	}
}

// id makes up an id that tells its kind. The caller holds the mutex.
func (s *strictServer) id(kind string) string {
	s.serial++
	return kind + "-" + strconv.Itoa(s.serial)
}

func (s *strictServer) endpoint(name string) string {
	if s.foreign {
		return s.origin + "/as/" + name
	}
	return s.origin + "/api/current/oauth/" + name
}

func (s *strictServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if s.intercept != nil && s.intercept(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := "/api/current/oauth/"
	if s.foreign {
		prefix = "/as/"
	}
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case path == "/.well-known/oauth-authorization-server":
		s.describe(w)
	case path == prefix+"register" && r.Method == http.MethodPost:
		s.register(w, r)
	case path == prefix+"authorize" && r.Method == http.MethodGet:
		s.authorize(w, r)
	case path == "/connect":
		s.decide(w, r, r.URL.Query().Get("id"))
	case path == prefix+"token" && r.Method == http.MethodPost:
		s.token(w, r)
	case path == "/api/current/auth/scopes" && s.administers != nil:
		reply(w, 200, map[string]any{"result": true, "admin": s.administers})
	default:
		reply(w, 404, map[string]any{"result": false, "error": map[string]any{"code": 9992}})
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	reply(w, status, map[string]any{"error": code, "error_description": "It is not so."})
}

func (s *strictServer) describe(w http.ResponseWriter) {
	m := map[string]any{
		"issuer":                           s.origin,
		"authorization_endpoint":           s.endpoint("authorize"),
		"token_endpoint":                   s.endpoint("token"),
		"registration_endpoint":            s.endpoint("register"),
		"revocation_endpoint":              s.endpoint("revoke"),
		"code_challenge_methods_supported": []string{"S256"},
	}
	maps.Copy(m, s.metadata)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	reply(w, 200, m)
}

func (s *strictServer) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Name      string   `json:"client_name"`
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || len(asked.Redirects) != 1 || asked.Method != "none" {
		refuse(w, 400, "invalid_client_metadata")
		return
	}
	id := s.id("client")
	s.clients[id] = asked.Redirects[0]
	reply(w, 200, map[string]any{
		"client_id": id, "client_name": asked.Name, "redirect_uris": asked.Redirects,
		"registration_access_token": s.id("registration"),
	})
}

var loopbackPort = regexp.MustCompile(`^(http://(?:127\.0\.0\.1|\[::1\])):\d+/`)

func (s *strictServer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for name, values := range q {
		if len(values) != 1 {
			refuse(w, 400, "invalid_request: "+name)
			return
		}
	}
	registered, known := s.clients[q.Get("client_id")]
	if s.refuseClients > 0 {
		s.refuseClients--
		known = false
	}
	input := map[string]any{"code": 1605, "text": "Invalid input."}
	if !known {
		input["params"] = []any{map[string]any{"name": "client_id", "kind": "invalid"}}
	}
	if !known || loopbackPort.ReplaceAllString(q.Get("redirect_uri"), "$1/") != registered ||
		q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		len(q.Get("code_challenge")) != 43 || len(q.Get("state")) < 20 {
		reply(w, 406, map[string]any{"result": false, "error": input})
		return
	}
	s.started = append(s.started, q)
	id := s.id("request")
	s.requests[id] = q
	switch {
	case s.foreign:
		s.decide(w, r, id)
	case q.Get("response_format") == "json":
		reply(w, 200, map[string]any{"auth_request_id": id, "login_url": s.origin + "/connect?id=" + id + "&x=a%20b"})
	default:
		http.Redirect(w, r, s.origin+"/connect?id="+id, http.StatusFound)
	}
}

// decide is what the person does at once.
func (s *strictServer) decide(w http.ResponseWriter, r *http.Request, id string) {
	q, ok := s.requests[id]
	if !ok {
		http.Error(w, "this request has been decided", http.StatusGone)
		return
	}
	delete(s.requests, id)
	back := url.Values{}
	if !s.withoutState {
		back.Set("state", q.Get("state"))
	}
	if s.metadata["authorization_response_iss_parameter_supported"] == true {
		back.Set("iss", s.origin)
	}
	if s.deny != "" {
		back.Set("error", s.deny)
		back.Set("error_description", "<b>No</b> & no")
	} else {
		code := s.id("authcode")
		s.codes[code] = q
		back.Set("code", code)
		if q.Get("display_code") == "true" {
			io.WriteString(w, code)
			return
		}
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *strictServer) token(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil || r.URL.RawQuery != "" {
		refuse(w, 400, "invalid_request")
		return
	}
	f := r.PostForm
	s.forms = append(s.forms, f)
	q, ok := s.codes[f.Get("code")]
	delete(s.codes, f.Get("code"))
	digest := sha256.Sum256([]byte(f.Get("code_verifier")))
	switch {
	case f.Get("grant_type") != "authorization_code" || r.Header.Get("Authorization") != "":
		refuse(w, 400, "invalid_request")
	case !ok, q.Get("client_id") != f.Get("client_id"), q.Get("redirect_uri") != f.Get("redirect_uri"),
		q.Get("resource") != f.Get("resource"),
		base64.RawURLEncoding.EncodeToString(digest[:]) != q.Get("code_challenge"):
		refuse(w, 400, "invalid_grant")
	default:
		a := map[string]any{
			"access_token": s.id("access"), "token_type": "bearer", "expires_in": 3600, "refresh_token": s.id("refresh"),
		}
		if s.scopes != nil {
			a["scopes"] = s.scopes
		}
		reply(w, 200, a)
	}
}

func (s *strictServer) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// tokenForms are the requests that reached the token endpoint.
func (s *strictServer) tokenForms() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.forms)
}

// place is a network without sockets, so that time can be virtual: requests to
// the authorization server go straight to its handler, and those to the loopback
// address through pipes.
type place struct {
	server    http.Handler
	addr      net.TCPAddr // of the receiver
	conns     chan net.Conn
	listening atomic.Bool
	closed    chan struct{}
	once      sync.Once
}

const receiverHost = "127.0.0.1:49152"

func newPlace(server http.Handler) *place {
	return &place{
		server: server, addr: net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 49152},
		conns: make(chan net.Conn), closed: make(chan struct{}),
	}
}

func (p *place) listen(context.Context) (net.Listener, error) {
	p.listening.Store(true)
	return p, nil
}

func (p *place) Addr() net.Addr { return &p.addr }

// here reports whether an address is that of the receiver.
func (p *place) here(address string) bool {
	return address == p.addr.String() || address == "localhost:49152"
}

func (p *place) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *place) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

var errRefused = errors.New("connection refused")

func (p *place) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if !p.here(address) {
		return nil, errors.New("no route to " + address)
	}
	if !p.listening.Load() {
		return nil, errRefused
	}
	select {
	case <-p.closed:
		return nil, errRefused
	default:
	}
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *place) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.here(r.URL.Host) {
		return (&http.Transport{DialContext: p.dial, DisableKeepAlives: true}).RoundTrip(r)
	}
	answered := make(chan *http.Response, 1)
	go func() {
		answered <- served(p.server, r) //nolint:bodyclose // the client closes it
	}()
	select {
	case resp := <-answered:
		return resp, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func (p *place) client() *http.Client { return &http.Client{Transport: p} }

// page is what a browser shows in the end.
type page struct {
	status int
	header http.Header
	body   string
	err    error
}

// shows requires a status and a heading.
func (p page) shows(t *testing.T, status int, heading string) {
	t.Helper()
	if p.err != nil || p.status != status || !strings.Contains(p.body, "<h1>"+heading+"</h1>") {
		t.Errorf("the person sees %d, %v, want %d and %q:\n%s", p.status, p.err, status, heading, p.body)
	}
}

// browse opens an address as a browser does: it follows where it is sent.
func browse(ctx context.Context, client *http.Client, address string) page {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return page{err: err}
	}
	resp, err := client.Do(r)
	if err != nil {
		return page{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return page{resp.StatusCode, resp.Header, string(body), err}
}

// browser is the OpenBrowser of a Config: it tells what the person sees.
func browser(client *http.Client) (open func(context.Context, string) error, pages chan page) {
	pages = make(chan page, 8)
	return func(ctx context.Context, address string) error {
		pages <- browse(context.WithoutCancel(ctx), client, address) // a browser outlives the sign-in
		return nil
	}, pages
}
