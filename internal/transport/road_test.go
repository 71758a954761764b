package transport_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/transport"
)

const forever = -time.Second // a MaxWait that never gives up

// newRoad returns a client with the defaults users get.
func newRoad(t *testing.T, network *http.Client, change ...func(*transport.Config)) *transport.Client {
	t.Helper()
	base, err := transport.ParseBase("http://fastio.test")
	if err != nil {
		t.Fatal(err)
	}
	cfg := transport.Config{
		Base: base, UserAgent: "test", HTTPClient: network,
		Retry:   transport.Retry{Attempts: 3, Base: 500 * time.Millisecond, Cap: 8 * time.Second},
		MaxWait: time.Minute,
	}
	for _, c := range change {
		c(&cfg)
	}
	return transport.New(cfg)
}

func hooks(h api.Hooks) func(*transport.Config) { return func(c *transport.Config) { c.Hooks = h } }

func tokens(s api.TokenSource) func(*transport.Config) {
	return func(c *transport.Config) { c.Tokens = s }
}

func attempts(n int) func(*transport.Config) {
	return func(c *transport.Config) { c.Retry.Attempts = n }
}

func maxWait(d time.Duration) func(*transport.Config) {
	return func(c *transport.Config) { c.MaxWait = d }
}

func base(b transport.Base) func(*transport.Config) { return func(c *transport.Config) { c.Base = b } }

func retry(r transport.Retry) func(*transport.Config) {
	return func(c *transport.Config) { c.Retry = r }
}
func through(rt http.RoundTripper) *http.Client { return &http.Client{Transport: rt} }
func middleware(m func(http.RoundTripper) http.RoundTripper) func(*transport.Config) {
	return func(c *transport.Config) { c.Middleware = append(c.Middleware, m) }
}

// get is a call that may be repeated.
func get(opts ...api.CallOption) *api.Request {
	return &api.Request{
		Op: "things.Get", Method: http.MethodGet, Path: api.Path("/current/things/"),
		Replay: api.ReplaySafe, Options: api.Resolve(opts),
	}
}

// of is get in a rate group of its own.
func of(group string, opts ...api.CallOption) *api.Request {
	r := get(opts...)
	r.Group = group
	return r
}

// post is a call that must not be carried out twice.
func post(opts ...api.CallOption) *api.Request {
	return &api.Request{
		Op: "things.Create", Method: http.MethodPost, Path: api.Path("/current/things/"),
		Body: api.JSON(map[string]string{"name": "thing"}), Replay: api.ReplayOnce, Options: api.Resolve(opts),
	}
}

// roundTrip is a network made of a function.
type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return f(r)
}

// answers returns a network that gives one answer after the other, the last one
// for ever.
func answers(list ...*answer) *script { return &script{list: list} }

type script struct {
	mu   sync.Mutex
	list []*answer
	at   []time.Time // of every request
	reqs []*http.Request
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		s.mu.Lock()
		a := s.list[min(len(s.at), len(s.list)-1)]
		s.at = append(s.at, time.Now())
		s.reqs = append(s.reqs, r)
		s.mu.Unlock()
		if a.err != nil {
			return nil, a.err
		}
		return a.response(r), nil
	}).RoundTrip(r)
}

func (s *script) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reqs)
}

// times returns when the requests came, counted from the first.
func (s *script) times() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d []time.Duration
	for _, t := range s.at {
		d = append(d, t.Sub(s.at[0]))
	}
	return d
}

// answer is what a server says. Its header holds pairs of name and value.
type answer struct {
	status int
	body   string
	header []string
	err    error
}

func ok() *answer                               { return &answer{status: 200, body: `{"result":true}`} }
func status(code int, header ...string) *answer { return &answer{status: code, header: header} }
func broken(err error) *answer                  { return &answer{err: err} }
func refusal(code int, body string) *answer     { return &answer{status: code, body: body} }
func dialError() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

func (a *answer) response(r *http.Request) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}
	for pair := range slices.Chunk(a.header, 2) {
		if h.Del(pair[0]); pair[1] != "" {
			h.Set(pair[0], pair[1])
		}
	}
	return &http.Response{
		StatusCode: a.status, Header: h, Request: r, ContentLength: int64(len(a.body)),
		Body: io.NopCloser(strings.NewReader(a.body)), ProtoMajor: 1, ProtoMinor: 1,
	}
}

// serve runs handler behind connections in memory until the test ends, and
// returns a client of net/http that reaches it. It is for tests in a bubble:
// everything but the wire and the time is real.
func serve(t *testing.T, handler http.HandlerFunc) *http.Client {
	t.Helper()
	listener, dial := fastiotest.New().Listen()
	server := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener)
	}()
	network := &http.Transport{DialContext: dial}
	t.Cleanup(func() {
		network.CloseIdleConnections()
		server.Close()
		<-done
		time.Sleep(time.Minute) // in which handlers notice
	})
	return &http.Client{Transport: network}
}

// dialing replaces how a client of serve connects.
func dialing(c *http.Client, dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	c.Transport.(*http.Transport).DialContext = dial
	return c
}

// counted counts the bodies that pass through a transport, and those closed.
type counted struct {
	next           http.RoundTripper
	opened, closed atomic.Int64
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		c.opened.Add(1)
		r = r.Clone(r.Context())
		r.Body = c.body(r.Body)
	}
	resp, err := c.next.RoundTrip(r)
	if err == nil {
		c.opened.Add(1)
		resp.Body = c.body(resp.Body)
	}
	return resp, err
}

func (c *counted) body(b io.ReadCloser) io.ReadCloser {
	return &countedBody{b, sync.OnceFunc(func() { c.closed.Add(1) })}
}

type countedBody struct {
	io.ReadCloser
	once func()
}

func (b *countedBody) Close() error {
	b.once()
	return b.ReadCloser.Close()
}

// record keeps what hooks tell.
type record struct {
	mu        sync.Mutex
	retries   []api.Retry
	waits     []api.Wait
	refreshes []api.Refresh
}

func (r *record) hooks() api.Hooks {
	return api.Hooks{
		Retry:   func(_ context.Context, v api.Retry) { keep(r, &r.retries, v) },
		Wait:    func(_ context.Context, v api.Wait) { keep(r, &r.waits, v) },
		Refresh: func(_ context.Context, v api.Refresh) { keep(r, &r.refreshes, v) },
	}
}

func keep[T any](r *record, list *[]T, v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, v)
}
