package transport_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
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

const (
	canary  = "canary-0123456789-secret"
	forever = -time.Second // a MaxWait that never gives up
)

type config = transport.Config

// newClient returns a client over network with the defaults that users get.
func newClient(tb testing.TB, network http.RoundTripper, change ...func(*config)) *transport.Client {
	tb.Helper()
	cfg := transport.Defaults()
	cfg.UserAgent = "test"
	base("http://fastio.test")(&cfg)
	if network != nil {
		cfg.HTTPClient = &http.Client{Transport: network}
	}
	for _, c := range change {
		c(&cfg)
	}
	return transport.New(cfg)
}

// clientOf returns a client that sends each request once, signed with canary.
func clientOf(tb testing.TB, network http.RoundTripper, change ...func(*config)) *transport.Client {
	tb.Helper()
	return newClient(tb, network,
		append([]func(*config){base(home), attempts(1), maxWait(-1), signedBy("token-" + canary)}, change...)...)
}

func base(address string) func(*config) {
	b, err := transport.ParseBase(address)
	if err != nil {
		panic(err)
	}
	return func(c *config) { c.Base = b }
}

func hooks(h api.Hooks) func(*config)        { return func(c *config) { c.Hooks = append(c.Hooks, h) } }
func tokens(s api.TokenSource) func(*config) { return func(c *config) { c.Tokens = s } }
func attempts(n int) func(*config)           { return func(c *config) { c.Retry.Attempts = n } }
func maxWait(d time.Duration) func(*config)  { return func(c *config) { c.MaxWait = d } }
func retry(r transport.Retry) func(*config)  { return func(c *config) { c.Retry = r } }
func timeout(d time.Duration) func(*config)  { return func(c *config) { c.HTTPClient.Timeout = d } }

func signedBy(token string) func(*config) { return tokens(api.StaticToken(api.NewSecret(token))) }

func middleware(m ...func(http.RoundTripper) http.RoundTripper) func(*config) {
	return func(c *config) { c.Middleware = append(c.Middleware, m...) }
}

// hasty repeats without a pause worth mentioning, for tests on a real clock.
func hasty(n int) func(*config) { return retry(transport.Retry{Attempts: n, Base: 1, Cap: 1}) }

// request returns a call without a body.
func request(method string, replay api.Replay) *api.Request {
	return &api.Request{
		Op: "things.Get", Method: method, Path: api.Path("/current/things/{thing_id}/", "t1"),
		Replay: replay,
	}
}

// get is a call that may be repeated.
func get() *api.Request {
	return request(http.MethodGet, api.ReplaySafe)
}

// of is get in a rate group of its own.
func of(group string) *api.Request {
	r := get()
	r.Group = group
	return r
}

// post is a call that must not be carried out twice.
func post() *api.Request {
	r := request(http.MethodPost, api.ReplayOnce)
	r.Op, r.Body = "things.Create", api.JSON(map[string]string{"name": "thing"})
	return r
}

// with returns the options of a call.
func with(opts ...api.CallOption) []api.CallOption { return opts }

// optioned is a request with the options of its call.
type optioned struct {
	*api.Request

	opts []api.CallOption
}

// withPassword gives r the password of a link.
func (r *optioned) withPassword(password string) {
	r.Link, r.opts = api.LinkTakesPassword, append(r.opts, api.WithLinkPassword(api.NewSecret(password)))
}

// succeed makes a call that must succeed.
func succeed(t *testing.T, client *transport.Client, r *api.Request, opts ...api.CallOption) {
	t.Helper()
	if err := client.Call(t.Context(), r, nil, opts...); err != nil {
		t.Fatal(err)
	}
}

// refused returns the *api.Error of a chain, or one of no status.
func refused(err error) *api.Error {
	e, _ := errors.AsType[*api.Error](err)
	return cmp.Or(e, &api.Error{})
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

// answering returns a network that gives one answer.
func answering(code int, body string, header ...string) *script {
	return answers(reply(code, body, header...))
}

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
		return a.response(r)
	}).RoundTrip(r)
}

func (s *script) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reqs)
}

// sent returns how many requests there were.
func (s *script) sent() int { return len(s.requests()) }

// visited returns where requests arrived.
func (s *script) visited() []string {
	var all []string
	for _, r := range s.requests() {
		all = append(all, r.Method+" "+r.URL.String())
	}
	return all
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

func ok() *answer                               { return reply(200, `{"result":true}`) }
func status(code int, header ...string) *answer { return reply(code, "", header...) }
func broken(err error) *answer                  { return &answer{err: err} }

func dialError() error { return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED} }

func reply(code int, body string, header ...string) *answer {
	return &answer{status: code, body: body, header: header}
}

// failed is an answer that refuses with a code of the platform.
func failed(status, code int, header ...string) *answer {
	return reply(status, `{"result":false,"error":{"code":`+strconv.Itoa(code)+`,"text":"No."}}`, header...)
}

func (a *answer) response(r *http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{"Content-Type": {"application/json"}, "Date": {date(time.Now())}}
	for pair := range slices.Chunk(a.header, 2) {
		h.Del(pair[0])
		if pair[1] != "" {
			h.Set(pair[0], pair[1])
		}
	}
	return &http.Response{
		StatusCode: a.status, Status: strconv.Itoa(a.status) + " as the server says", Header: h, Request: r,
		Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)), ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// listen runs a server behind connections in memory until the test ends, and returns
// how to connect.
func listen(t *testing.T, server *http.Server) dialer {
	t.Helper()
	listener, dial := fastiotest.New().Listen()
	var serving sync.WaitGroup // also of a connection, which may outlive server.Close
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			serving.Add(1)
		case http.StateHijacked, http.StateClosed:
			serving.Done()
		case http.StateActive, http.StateIdle:
		}
	}
	serving.Go(func() {
		if server.TLSConfig != nil {
			server.ServeTLS(listener, "", "")
		} else {
			server.Serve(listener)
		}
	})
	t.Cleanup(func() {
		server.Close()
		serving.Wait()
	})
	return dial
}

// serve is listen for a handler, and returns a network that reaches it.
func serve(t *testing.T, handler http.HandlerFunc) *http.Transport {
	t.Helper()
	network := &http.Transport{DialContext: listen(t, &http.Server{Handler: handler})}
	t.Cleanup(network.CloseIdleConnections)
	return network
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// accept runs serve for every connection until the test ends, and returns how to
// connect.
func accept(t *testing.T, serve func(c net.Conn)) dialer {
	t.Helper()
	listener, dial := fastiotest.New().Listen()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(t.Context(), func() { c.Close() })
			serving.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return dial
}

func say(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for pair := range slices.Chunk(header, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func cutAfter(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, strings.Repeat(" ", n))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func stall(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // only then does a server notice that its client has gone
	<-r.Context().Done()
}

// drip sends a byte a second, of a body that net/http does not read on after it was closed.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "300000")
	for r.Context().Err() == nil {
		io.WriteString(w, " ")
		http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(time.Second):
		}
	}
}

// source is a token source made of functions.
type source struct {
	token   func(ctx context.Context) (api.Token, error)
	refresh func(ctx context.Context, refused api.Token) (api.Token, error)
}

func (s *source) Token(ctx context.Context) (api.Token, error) {
	if s.token == nil {
		return token("first-token"), nil
	}
	return s.token(ctx)
}

func (s *source) Refresh(ctx context.Context, refused api.Token) (api.Token, error) {
	return s.refresh(ctx, refused)
}

func token(s string) api.Token { return api.Token{AccessToken: api.NewSecret(s)} }

// noToken is a source that has none.
func noToken() *source {
	return &source{token: func(context.Context) (api.Token, error) { return api.Token{}, errors.New("no token") }}
}

// renewed is a source whose token can be exchanged for one that works.
func renewed() *source {
	var current atomic.Value
	current.Store(token("first-token"))
	return &source{
		token: func(context.Context) (api.Token, error) { return current.Load().(api.Token), nil },
		refresh: func(context.Context, api.Token) (api.Token, error) {
			current.Store(token("second-token"))
			return token("second-token"), nil
		},
	}
}

// allHooks makes one function all hooks, which learns the name of each.
func allHooks(f func(ctx context.Context, hook string, v any)) func(*config) {
	return hooks(api.Hooks{
		OnRetry:   func(ctx context.Context, v api.RetryEvent) { f(ctx, "Retry", v) },
		OnWait:    func(ctx context.Context, v api.WaitEvent) { f(ctx, "Wait", v) },
		OnRefresh: func(ctx context.Context, v api.RefreshEvent) { f(ctx, "Refresh", v) },
	})
}

// record keeps what hooks report.
type record struct {
	mu        sync.Mutex
	retries   []api.RetryEvent
	waits     []api.WaitEvent
	refreshes []api.RefreshEvent
}

func (r *record) hooks() func(*config) {
	return allHooks(func(_ context.Context, _ string, v any) {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch v := v.(type) {
		case api.RetryEvent:
			r.retries = append(r.retries, v)
		case api.WaitEvent:
			r.waits = append(r.waits, v)
		case api.RefreshEvent:
			r.refreshes = append(r.refreshes, v)
		}
	})
}
