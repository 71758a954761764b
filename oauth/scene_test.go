package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
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
func newScene(change ...func(*fastiotest.Options)) *scene {
	s := &scene{Server: fastiotest.New(change...)}
	s.config = oauth.Config{BaseURL: origin, ClientName: "Acme Sync", Store: new(oauth.MemoryStore)}
	s.again()
	return s
}

func (s *scene) again() {
	s.place = newPlace(stub.Network(s.answer))
	s.config.HTTPClient, s.pages = s.client(), make(chan page, 8)
	s.config.OpenBrowser = func(ctx context.Context, address string) error {
		s.pages <- browse(context.WithoutCancel(ctx), s.client(), address) // a browser outlives the sign-in
		return nil
	}
}

func announced(o *fastiotest.Options) { o.OAuth.AnnounceIssuer = true }

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
	outcome, err := s.Approve(s.visited, fastiotest.Decision{})
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

func (s *scene) loginIfNeeded(ctx context.Context) (*oauth.Source, error) {
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

func meets(f fastiotest.Fault) func(*scene) { return func(s *scene) { s.Fail(f) } }

func answers(op fastiotest.Op, body string) func(*scene) {
	return meets(fastiotest.Fault{Op: op, Body: body})
}

func refusal(op fastiotest.Op, status int, code string) fastiotest.Fault {
	return fastiotest.Fault{Op: op, Status: status, Body: `{"error":"` + code + `","error_description":"It is not so."}`}
}

func refuses(op fastiotest.Op, status int, code string) func(*scene) {
	return meets(refusal(op, status, code))
}

func hangs(op fastiotest.Op) func(*scene) {
	return meets(fastiotest.Fault{Op: op, Delay: 24 * time.Hour})
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
