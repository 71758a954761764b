package oauth_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

const (
	origin = "https://platform.test"
	// foreign is a server that is not the platform: it advertises other endpoints than
	// those that are documented for such a host.
	foreign      = "https://api.platform.test"
	receiverHost = "127.0.0.1:49152"
)

// scene is a platform, a browser and a program that signs in. The person decides at
// once: a browser that opens the login URL is sent back with the answer.
type scene struct {
	*fastiotest.Server
	*place
	config oauth.Config
	pages  chan page // what the person sees
	cancel func()    // ends the sign-in

	deny         string // the error the person answers with
	withoutState bool   // the answer leaves the state out
	visited      string // the login URL, as the browser opened it
}

// newScene must be called inside a bubble.
func newScene(change ...func(*seed.Options)) *scene {
	s := &scene{Server: fastiotest.New(change...)}
	s.config = oauth.Config{BaseURL: origin, ClientName: "Acme Sync", Store: new(oauth.MemoryStore)}
	s.again()
	return s
}

func (s *scene) again() {
	s.place = newPlace(stub.Network(s.answer))
	s.config.HTTPClient, s.pages = s.client(), make(chan page, 8)
	s.config.OpenBrowser = func(ctx context.Context, address string) error {
		ctx = context.WithoutCancel(ctx) // a browser outlives the sign-in
		for address != "" {
			p := browse(ctx, s.client(), address)
			s.pages <- p
			path, _ := strings.CutPrefix(p.header.Get("Refresh"), "0; url=")
			address = ""
			if path != "" {
				address = "http://" + receiverHost + path
			}
		}
		return nil
	}
}

func announced(o *seed.Options) { o.OAuth.AnnounceIssuer = true }

// answer is the network of the platform, whose login page has the person decide. The
// login URL has a query that must be left as it is, and so has the authorization
// endpoint of a foreign server.
func (s *scene) answer(r *http.Request) (*http.Response, error) {
	const authorize = "/api/current/oauth/authorize"
	next := http.RoundTripper(s.Server)
	switch path := r.URL.Path; {
	case path == "/connect":
		return s.decide(r), nil
	case strings.HasSuffix(path, "/authorize/"):
		next = rewriting(next, strings.NewReplacer("/connect?", "/connect?x=a%20b&").Replace)
	case path == authorize && strings.Contains(r.URL.RawQuery, "tenant=7"):
		q := r.URL.Query()
		q.Del("tenant")
		q.Del("login_hint") // which is not a parameter of the platform
		r = r.Clone(r.Context())
		r.URL.RawQuery = q.Encode()
	case strings.HasPrefix(r.URL.String(), foreign+"/.well-known/"):
		next = rewriting(next, strings.NewReplacer(authorize, authorize+"?tenant=7").Replace)
	}
	return next.RoundTrip(r)
}

func (s *scene) decide(r *http.Request) *http.Response {
	s.visited = r.URL.String()
	outcome, err := s.SignIns.Approve(s.visited, seed.Decision{})
	if err != nil || outcome.Redirect == "" {
		return response(r, http.StatusOK, outcome.Code)
	}
	back, q, _ := splitQuery(outcome.Redirect)
	if s.deny != "" {
		q.Del("code")
		q.Set("error", s.deny)
		q.Set("error_description", "<b>No</b> & no")
	}
	if s.withoutState {
		q.Del("state")
	}
	resp := response(r, http.StatusFound, "")
	resp.Header.Set("Location", back+"?"+q.Encode())
	return resp
}

func splitQuery(address string) (path string, q url.Values, err error) {
	path, query, _ := strings.Cut(address, "?")
	q, err = url.ParseQuery(query)
	return path, q, err
}

func (s *scene) login(ctx context.Context) (*oauth.Grant, error) {
	return oauth.LoginOn(ctx, s.config, s.listen)
}

func (s *scene) loginIfNeeded(ctx context.Context) (*oauth.Source, *oauth.Grant, error) {
	return oauth.LoginIfNeededOn(ctx, s.config, s.listen)
}

// ends runs a sign-in in a goroutine and returns where its error arrives.
func ends(login func() (*oauth.Grant, error)) <-chan error {
	done := make(chan error, 1)
	go func() { done <- fail(login()) }()
	return done
}

// loginWithCode is login without a browser.
func (s *scene) loginWithCode(ctx context.Context, prompt oauth.Prompt) (*oauth.Grant, error) {
	s.config.OpenMode, s.config.Prompt = oauth.OpenModeNone, prompt
	return s.login(ctx)
}

func (s *scene) mustLogin(t *testing.T) *oauth.Grant {
	t.Helper()
	g, err := s.login(t.Context())
	if err != nil || g.Token.AccessToken.IsZero() {
		t.Fatalf("got %v, %v", g, err)
	}
	return g
}

// closed requires that the port is closed in time after a sign-in.
func (s *scene) closed(t *testing.T, in time.Duration) {
	t.Helper()
	time.Sleep(in)
	if _, err := s.dial(t.Context(), "tcp", receiverHost); !errors.Is(err, errRefused) {
		t.Errorf("the port is still open: %v", err)
	}
}

// sent returns the parameters of the requests to an endpoint that were answered.
func sent(s *fastiotest.Server, op string) (all []url.Values) {
	for _, r := range s.Requests() {
		if r.Op != op || r.Status == 0 {
			continue
		}
		q, _ := url.ParseQuery(r.Query + string(r.Body)) // which are never both there; a registration is no form
		all = append(all, q)
	}
	return all
}

func (s *scene) started() []url.Values    { return sent(s.Server, "oauth.StartAuthorization") }
func (s *scene) tokenForms() []url.Values { return sent(s.Server, "oauth.Token") }

// state is that of the first sign-in.
func (s *scene) state() string { return s.started()[0].Get("state") }

func meets(f seed.Fault) func(*scene) { return func(s *scene) { s.Fail(f) } }

func answers(op seed.Op, body string) func(*scene) {
	return meets(seed.Fault{Op: op, Body: body})
}

func refusal(op seed.Op, status int, code string) seed.Fault {
	return seed.Fault{Op: op, Status: status, Body: `{"error":"` + code + `","error_description":"It is not so."}`}
}

func refuses(op seed.Op, status int, code string) func(*scene) {
	return meets(refusal(op, status, code))
}

func hangs(op seed.Op) func(*scene) {
	return meets(seed.Fault{Op: op, Delay: 24 * time.Hour})
}

func denies(code string) func(*scene) { return func(s *scene) { s.deny = code } }

func opens(open func(context.Context, string) error) func(*scene) {
	return func(s *scene) { s.config.OpenBrowser = open }
}

func opensNothing(context.Context, string) error { return nil }

// writes is a browser that writes to the receiver, and does not read. The exchange
// that may follow hangs.
func writes(request string) func(*scene) {
	return func(s *scene) {
		hangs("oauth.Token")(s)
		s.config.OpenBrowser = func(ctx context.Context, _ string) error {
			conn, err := s.dial(ctx, "tcp", receiverHost)
			if err == nil {
				_, err = io.WriteString(conn, fill(request, receiverHost, s.state()))
			}
			return err
		}
	}
}

// prompt is a person who opens the login URL elsewhere and types the code.
func (s *scene) prompt(ctx context.Context, address string) (string, error) {
	return browse(ctx, s.client(), address).body, nil
}

func (s *scene) displaysCode(t *testing.T) {
	t.Helper()
	all := s.started()
	q := all[len(all)-1]
	if q.Get("display_code") != "true" || q.Get("redirect_uri") != "http://127.0.0.1/callback" {
		t.Errorf("the authorization is %v", q)
	}
}

type underway struct {
	*scene
	address chan string // to be opened
	done    <-chan error
}

func startLogin(t *testing.T, s *scene) *underway {
	t.Helper()
	u := &underway{scene: s, address: make(chan string, 1)}
	u.config.OpenBrowser = func(_ context.Context, address string) error {
		u.address <- address
		return nil
	}
	u.done = ends(func() (*oauth.Grant, error) { return u.login(t.Context()) })
	synctest.Wait()
	return u
}

func (u *underway) send(t *testing.T, request string) page {
	t.Helper()
	p := send(u.connect(t, ""), fill(request, receiverHost, u.state()))
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p
}

func (u *underway) connect(t *testing.T, part string) net.Conn {
	t.Helper()
	conn, err := u.dial(t.Context(), "tcp", receiverHost)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, fill(part, receiverHost, u.state())); err != nil {
		t.Fatal(err)
	}
	return conn
}

// finish lets the person answer and requires that nothing has come in between.
func (u *underway) finish(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-u.done:
		t.Fatalf("the sign-in has ended: %v", err)
	default:
	}
	browse(t.Context(), u.client(), <-u.address).shows(t, 200, "Signed in")
	if err := <-u.done; err != nil || len(u.tokenForms()) != 1 {
		t.Errorf("the sign-in ended with %v after %d exchanges", err, len(u.tokenForms()))
	}
}

// place is a network without sockets, so that time can be virtual: requests to
// the loopback address go through pipes, and all others straight to the server.
type place struct {
	server    http.RoundTripper
	addr      net.TCPAddr // of the receiver
	conns     chan net.Conn
	listening atomic.Bool
	closed    chan struct{}
	once      sync.Once
}

func newPlace(server http.RoundTripper) *place {
	return &place{
		server: server, addr: net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 49152},
		conns: make(chan net.Conn), closed: make(chan struct{}),
	}
}

func (p *place) listen(context.Context, int) (net.Listener, error) {
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
	if !p.here(address) || !p.listening.Load() {
		return nil, fmt.Errorf("%w by %s", errRefused, address)
	}
	here, there := net.Pipe()
	select {
	case <-p.closed:
		return nil, errRefused
	default:
	}
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
	return p.server.RoundTrip(r)
}

func (p *place) client() *http.Client { return &http.Client{Transport: p} }

// page is what a browser shows in the end.
type page struct {
	status int
	header http.Header
	body   string
	err    error
}

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

// authServer is an authorization server of one session. It replaces the refresh
// token each time, and ends the session when one is used twice. It can be reached
// as a RoundTripper or through a socket.
type authServer struct {
	keeps    bool // gives the refresh token back instead
	silent   bool // leaves out what it need not say: refresh token, scope and scopes
	lifetime int  // of access tokens, in seconds; 0 is an hour

	mu     sync.Mutex
	n      int  // of the access token that was issued last
	valid  int  // number of the refresh token that holds
	ended  bool // the session
	faults []string
	posts  []url.Values // to the token endpoint, those that a fault kept from arriving too
	times  []time.Time  // of the posts
	calls  []string     // all other requests
	reused int          // how often a used refresh token came in
	newest int          // number of the newest access token that was used
}

// What can befall a request, each once and in order. A number is a status, with the
// body that follows it, or else an OAuth error.
const (
	faultDial    = "no connection"
	faultLost    = "the answer is lost"
	faultCut     = "the answer is cut short"
	faultHang    = "no answer comes"
	faultNoToken = "an answer without a token"
	faultOdd     = "a token that no header can carry"

	faultGateway = "502 <html>"
)

const tokenPath = "/oauth/token/"

// record notes a request and returns what befalls it, "" for nothing.
func (s *authServer) record(req *http.Request, form url.Values) (fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasSuffix(req.URL.Path, tokenPath) {
		s.posts, s.times = append(s.posts, form), append(s.times, time.Now())
	} else {
		bearer := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
		call := req.Method + " " + req.URL.Host + req.URL.Path + " " + bearer + form.Encode()
		s.calls = append(s.calls, strings.TrimSpace(call))
		if n, err := strconv.Atoi(strings.TrimPrefix(bearer, "at-")); err == nil {
			s.newest = max(s.newest, n)
		}
	}
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	return fault
}

// RoundTrip answers without a socket.
func (s *authServer) RoundTrip(req *http.Request) (*http.Response, error) {
	form, err := url.ParseQuery(bodyOf(req))
	if err != nil {
		return nil, err
	}
	fault, tokens := s.record(req, form), strings.HasSuffix(req.URL.Path, tokenPath)
	number, body, _ := strings.Cut(fault, " ")
	status, err := strconv.Atoi(number)
	switch {
	case err == nil && tokens:
		return response(req, status, cmp.Or(body, `{"error":"temporarily_unavailable"}`)), nil
	case err == nil:
		code := map[int]int{http.StatusUnauthorized: 10011, http.StatusForbidden: 10770}[status]
		return response(req, status, fmt.Sprintf(`{"result":false,"error":{"code":%d}}`, code)), nil
	case !tokens:
		return response(req, http.StatusOK, `{"result":true}`), nil
	}
	switch fault {
	case faultDial: // as net/http reports it
		httptrace.ContextClientTrace(req.Context()).GetConn(req.URL.Host)
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	case faultHang:
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	status, body = s.token(form)
	switch fault {
	case faultLost:
		return nil, io.ErrUnexpectedEOF
	case faultCut:
		body = body[:10]
	case faultNoToken:
		body = "{}"
	case faultOdd:
		body = strings.Replace(body, "at-", `at\r\n-`, 1)
	}
	return response(req, status, body), nil
}

func (s *authServer) token(form url.Values) (status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if given := form.Get("refresh_token"); s.ended || given != refreshToken(s.valid) {
		s.ended = true
		if n, err := strconv.Atoi(strings.TrimPrefix(given, "rt-")); err == nil && n < s.valid {
			s.reused++
		}
		return http.StatusBadRequest, `{"error":"invalid_grant","error_description":"the session has ended"}`
	}
	s.n++
	if !s.keeps {
		s.valid = s.n
	}
	lifetime := cmp.Or(s.lifetime, 3600)
	body = fmt.Sprintf(`{"access_token":%q,"token_type":"bearer","expires_in":%d`, accessToken(s.n), lifetime)
	if !s.silent {
		body += fmt.Sprintf(`,"refresh_token":%q,"scope":"org","scopes":["org:1234567890123456789:r"]`, refreshToken(s.valid))
	}
	return http.StatusOK, body + "}"
}

func accessToken(n int) string  { return "at-" + strconv.Itoa(n) }
func refreshToken(n int) string { return "rt-" + strconv.Itoa(n) }

func (s *authServer) count() (posts, reused int) {
	s.set(func() { posts, reused = len(s.posts), s.reused })
	return posts, reused
}

func (s *authServer) wantPosts(t *testing.T, want int) {
	t.Helper()
	if posts, reused := s.count(); posts != want || reused != 0 {
		t.Errorf("%d requests came to the token endpoint, %d with a used token; want %d and 0", posts, reused, want)
	}
}

func (s *authServer) fail(faults ...string) { s.set(func() { s.faults = append(s.faults, faults...) }) }

// set changes the server while others talk to it.
func (s *authServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

const authAddress = "https://api.fast.test"

func (s *authServer) config() oauth.Config {
	return oauth.Config{
		BaseURL: authAddress, HTTPClient: &http.Client{Transport: s}, ClientID: "client", Resource: "https://reader.test/",
	}
}

func (s *authServer) login(t *testing.T, store oauth.Store, c oauth.Config) {
	t.Helper()
	n := 0
	s.set(func() {
		s.n++
		n, s.valid, s.ended = s.n, s.n, false
	})
	save(t, store, c, &oauth.Token{
		AccessToken: api.NewSecret(accessToken(n)), RefreshToken: api.NewSecret(refreshToken(n)),
		Expiry: time.Now().Add(time.Hour), Scope: oauth.ScopeUser,
		Scopes: []oauth.GrantedScope{{EntityType: oauth.EntityTypeUser, EntityID: "*", AccessMode: oauth.AccessModeWrite}},
	})
}

// storing returns c with another store.
func storing(store oauth.Store, c oauth.Config) oauth.Config {
	c.Store = store
	return c
}

func save(tb testing.TB, store oauth.Store, c oauth.Config, token *oauth.Token) {
	tb.Helper()
	if err := oauth.Save(tb.Context(), storing(store, c), token); err != nil {
		tb.Fatal(err)
	}
}

// kept is a record, as far as tests look at it.
type kept struct {
	Address string     `json:"address"`
	Token   *keptToken `json:"token,omitempty"`
	Refresh struct {
		Keeps   bool `json:"keeps"`
		Rotates bool `json:"rotates"`
		Pending bool `json:"pending"`
		Dead    bool `json:"dead"`
	} `json:"refresh"`
	Client struct {
		ID string `json:"id"`
	} `json:"client"`
}

type members = map[string]any

type keptToken struct {
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token"`
	Scope        string    `json:"scope"`
	Scopes       []string  `json:"scopes"`
	Expiry       time.Time `json:"expiry"`
	ClientID     string    `json:"client_id"`
	Resource     string    `json:"resource"`
}

const defaultAccount = "default"

// stored decodes what a store holds for the default account.
func stored[T any](t *testing.T, store oauth.Store) (decoded T) {
	t.Helper()
	b, err := store.Load(t.Context(), defaultAccount)
	if err == nil && b != nil {
		err = json.Unmarshal(b, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// poke lets a test write what no method would, members such as "refresh".
func poke(t *testing.T, store oauth.Store, change func(record map[string]any)) {
	t.Helper()
	all := stored[members](t, store)
	change(all)
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	put(t, store, defaultAccount, string(b))
}

func expire(t *testing.T, store oauth.Store) {
	t.Helper()
	poke(t, store, func(record map[string]any) {
		record["token"].(map[string]any)["expiry"] = time.Now().Add(-time.Second)
	})
}

// hookedStore counts what goes through it, and may fail.
type hookedStore struct {
	oauth.Store

	loads, waiting atomic.Int64 // waiting are the locks that are wanted or held
	onLoad         func() error // before a Load
	onLock         func() error // before a Lock
	onLocked       func()       // after it

	// onSave is called in the place of a save, the first, second ... of a lock.
	onSave func(save int, write func() error) error
}

func newHookedStore() *hookedStore { return &hookedStore{Store: new(oauth.MemoryStore)} }

func (s *hookedStore) Load(ctx context.Context, account string) ([]byte, error) {
	s.loads.Add(1)
	if s.onLoad != nil {
		if err := s.onLoad(); err != nil {
			return nil, err
		}
	}
	return s.Store.Load(ctx, account)
}

func (s *hookedStore) Lock(ctx context.Context, account string) (oauth.Record, error) {
	s.waiting.Add(1)
	var r oauth.Record
	var err error
	if s.onLock != nil {
		err = s.onLock()
	}
	if err == nil {
		r, err = s.Store.Lock(ctx, account)
	}
	if err != nil {
		s.waiting.Add(-1)
		return nil, err
	}
	if s.onLocked != nil {
		s.onLocked()
	}
	return &hookedRecord{Record: r, store: s}, nil
}

// hookedRecord is a locked record of a hookedStore.
type hookedRecord struct {
	oauth.Record

	store *hookedStore
	saves int
}

func (r *hookedRecord) Save(ctx context.Context, data []byte) error {
	write := func() error { return r.Record.Save(ctx, data) }
	r.saves++
	if r.store.onSave != nil {
		return r.store.onSave(r.saves, write)
	}
	return write()
}

func (r *hookedRecord) Unlock() {
	r.Record.Unlock()
	r.store.waiting.Add(-1)
}

// failAfter fails every Lock but the first ones.
func (s *hookedStore) failAfter(locks int, err error) *hookedStore {
	s.onLock = func() error {
		locks--
		if locks < 0 {
			return err
		}
		return nil
	}
	return s
}

// inBubble runs a parallel subtest with virtual time.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}

// session is a server, a store with its first token, and a source of both.
type session struct {
	authServer

	store  oauth.Store
	source *oauth.Source
}

func newSession(t *testing.T, store oauth.Store) *session {
	t.Helper()
	s := &session{store: store}
	s.source = s.another()
	s.signIn(t)
	return s
}

type sessionTests = map[string]func(t *testing.T, s *session)

// inSessions runs each test with virtual time and a session of its own.
func inSessions(t *testing.T, tests sessionTests) {
	t.Helper()
	table.Bubbles(t, tests, func(t *testing.T, test func(*testing.T, *session)) {
		test(t, newSession(t, new(oauth.MemoryStore)))
	})
}

// hook has the session and its source use a store of another package.
func (s *session) hook() *hookedStore {
	hooked := &hookedStore{Store: s.store}
	s.store = hooked
	s.source = s.another()
	return hooked
}

func (s *session) signIn(t *testing.T) {
	t.Helper()
	s.login(t, s.store, s.config())
}

// another returns the source of another process.
func (s *session) another() *oauth.Source { return oauth.TokenSource(storing(s.store, s.config())) }

func (s *session) via(network http.RoundTripper) oauth.Config {
	c := s.config()
	c.HTTPClient = &http.Client{Transport: network}
	s.source = oauth.TokenSource(storing(s.store, c))
	return c
}

// fails requires an error of the next call, and returns it.
func (s *session) fails(t *testing.T, want error) error {
	t.Helper()
	token, err := s.source.Token(t.Context())
	if !errors.Is(err, want) {
		t.Errorf("got %q, %v, want %v", token.AccessToken.Reveal(), err, want)
	}
	return err
}

// wantAfter waits and requires a token, or [oauth.ErrSignInAgain] if token is "".
func (s *session) wantAfter(t *testing.T, wait time.Duration, token string) {
	t.Helper()
	time.Sleep(wait)
	want(t, s.source, token)
}
