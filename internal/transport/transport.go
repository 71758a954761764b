// Package transport is the road every request takes: it builds, paces, signs,
// sends and repeats it, and reads what comes back.
package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/fastio-go/fastio/api"
	envelope "github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/pace"
	"github.com/fastio-go/fastio/internal/servertime"
)

// Config says how to reach the platform. Base and UserAgent are required.
type Config struct {
	Base       Base
	UserAgent  string
	HTTPClient *http.Client    // nil uses one of the package's own
	Tokens     api.TokenSource // nil sends no token
	Middleware []func(http.RoundTripper) http.RoundTripper
	Hooks      api.Hooks
	Logger     *slog.Logger // nil logs nothing
	Retry      Retry
	MaxWait    time.Duration // longest wait the server may order
}

// Version is the version of this module.
const Version = "0.1.0"

// DefaultAddress is where the platform answers.
const DefaultAddress = "https://api.fast.io"

// Defaults returns a Config that lacks nothing but its Base.
func Defaults() Config {
	return Config{
		UserAgent: "fastio-go/" + Version + " (" + runtime.Version() + "; " + runtime.GOOS + ")",
		Retry:     Retry{Attempts: 3, Base: 500 * time.Millisecond, Cap: 8 * time.Second},
		MaxWait:   time.Minute,
	}
}

// Retry says how often and how fast a failed request is repeated.
type Retry struct {
	Attempts int           // at most
	Base     time.Duration // the first pause is random below it, each further one below twice the last
	Cap      time.Duration // no pause is longer
}

// Client is an [api.Caller] and an [api.Opener] over HTTP.
type Client struct {
	cfg     Config
	http    *http.Client
	retry   *retryablehttp.Client
	network http.RoundTripper // under all of the road
	idle    func()            // closes idle connections; nil for the caller's
	agent   []string
	budget  budget
	clock   servertime.Clock // by the answers that announce a time

	spare      spare
	lastBearer atomic.Pointer[bearer]
	watch      watch

	mu     sync.RWMutex
	groups map[string]*group

	invalid error // why no call can be made
}

var (
	_ api.Caller = (*Client)(nil)
	_ api.Opener = (*Client)(nil)
)

// New returns a Client. This is the one place that knows the order of the road.
//
// From the outside in: a failed attempt is repeated; middleware sees each
// attempt; a call waits for its turn as late as possible, so that the server
// counts it when the pacer does; the credential is added last, so that an
// attempt made after a long wait carries a token that is still good, and no
// middleware sees it.
func New(cfg Config) *Client {
	c := &Client{
		cfg:    cfg,
		agent:  []string{cfg.UserAgent},
		budget: newBudget(),
		groups: map[string]*group{},
	}
	c.http = new(http.Client)
	if cfg.HTTPClient != nil {
		*c.http = *cfg.HTTPClient
	}
	network := c.http.Transport
	if network == nil {
		own := newNetwork()
		network, c.idle = own, own.CloseIdleConnections
	}
	c.network = network
	var road http.RoundTripper = &signer{c, newSender(network, c.http.Timeout)}
	c.http.Timeout = 0
	road = &pacer{c, road}
	for _, wrap := range slices.Backward(cfg.Middleware) {
		if road = wrap(road); road == nil {
			c.invalid = errors.New("fastio: WithMiddleware: a function returned nil")
			break
		}
	}
	c.http.Transport = sealed{road}
	c.http.CheckRedirect = stayHome
	c.retry = &retryablehttp.Client{
		HTTPClient:   c.http,
		RetryMax:     math.MaxInt, // attempts are counted per call
		CheckRetry:   checkRetry,
		Backoff:      func(time.Duration, time.Duration, int, *http.Response) time.Duration { return 0 },
		PrepareRetry: prepareRetry, // waits instead of Backoff, because it knows the context
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	return c
}

// Err returns why no call can be made, or nil.
func (c *Client) Err() error { return c.invalid }

// CloseIdleConnections closes connections that nobody is using. A client of the
// caller's keeps its own: they may be shared.
func (c *Client) CloseIdleConnections() {
	if c != nil && c.idle != nil {
		c.idle()
	}
}

// sealed hides every method but RoundTrip. The retrying client empties the idle
// pool after each failure; without a method to call it cannot.
type sealed struct{ next http.RoundTripper }

// RoundTrip also takes away a Location that is no URL: the answer then becomes an
// error like any other, where net/http makes one that repeats the Location. One
// that the call looks at by itself is made absolute: only here is it known what it
// is relative to.
func (s sealed) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(req)
	switch {
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNoResponse
	case resp.StatusCode/100 != http.StatusMultipleChoices/100:
		return resp, nil
	}
	location := resp.Header.Get("Location")
	to, bad := req.URL.Parse(location)
	switch k := callOf(req.Context()); {
	case bad != nil:
		resp.Header.Del("Location")
	case location != "" && k != nil && k.request.NoRedirect:
		resp.Header.Set("Location", to.String())
	}
	return resp, nil
}

// Network returns where the platform answers and a client that reaches it by the
// same connections as the road, without anything of the road: no credential, no
// turn, no bound on time, no redirect.
func (c *Client) Network() (Base, *http.Client) {
	if c == nil {
		return Base{}, &http.Client{Transport: refusing{errNotMade}}
	}
	return c.cfg.Base, &http.Client{
		Transport:     c.network,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// stayHome follows redirects within one origin, and only for requests that
// carry nothing: all others come back as they are and become an error.
func stayHome(req *http.Request, via []*http.Request) error {
	const most = 10
	first := via[0]
	r := callOf(first.Context()).request
	if len(via) >= most || first.Method != http.MethodGet || r.NoRedirect || !r.Password.IsZero() ||
		req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || req.URL.User != nil {
		return http.ErrUseLastResponse
	}
	return nil
}

const (
	idleConns     = 512 // 100 are too few for 256 goroutines
	headerTimeout = 125 * time.Second
)

// newNetwork returns a transport of the client's own: the default one keeps two
// idle connections a host and is shared with the rest of the program. A lost
// connection is detected within 30 seconds, also while a long poll is held.
func newNetwork() *http.Transport {
	const silence, interval, probes = 15 * time.Second, 5 * time.Second, 3
	dialer := &net.Dialer{
		Timeout:         30 * time.Second,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence, Interval: interval, Count: probes},
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: probes * interval},
		MaxIdleConns:          idleConns,
		MaxIdleConnsPerHost:   idleConns,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		ResponseHeaderTimeout: headerTimeout, // the longest poll is held for 95 s
	}
}

var errNotMade = &api.InputError{Field: "Client", Rule: "must be made by New"}

// refusing is a transport that sends nothing.
type refusing struct{ err error }

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// check refuses what no call can be made of.
func (c *Client) check(ctx context.Context, r *api.Request) error {
	switch {
	case r == nil:
		return &api.InputError{Field: "request", Rule: "must not be nil"}
	case c == nil:
		return errNotMade
	case c.invalid != nil:
		return c.invalid
	}
	return envelope.Check(ctx, c, r.Op)
}

// Call sends r and decodes the answer into out.
func (c *Client) Call(ctx context.Context, r *api.Request, out any) error {
	if err := c.check(ctx, r); err != nil {
		return err
	}
	if to := reflect.ValueOf(out); out != nil && (to.Kind() != reflect.Pointer || to.IsNil()) {
		return &api.InputError{Op: r.Op, Field: "out", Rule: "must be a pointer that is not nil", Got: fmt.Sprintf("%T", out)}
	}
	k := &call{Context: ctx, client: c, request: r}
	if r.Options.Timeout > 0 {
		var cancel context.CancelFunc
		k.Context, cancel = context.WithTimeout(ctx, r.Options.Timeout)
		defer cancel()
	}
	if err := k.send(); err != nil {
		return err
	}
	return k.decode(out)
}

// Open sends r and returns an answer that reports success, its body unread.
func (c *Client) Open(ctx context.Context, r *api.Request) (*http.Response, error) {
	if err := c.check(ctx, r); err != nil {
		return nil, err
	}
	k := &call{Context: ctx, client: c, request: r, stream: true}
	var cancel context.CancelFunc
	if r.Options.Timeout > 0 {
		k.Context, cancel = context.WithTimeout(ctx, r.Options.Timeout)
	} else {
		k.Context, cancel = context.WithCancel(ctx)
	}
	if err := k.send(); err != nil {
		cancel()
		return nil, err
	}
	k.response.Body = &stream{k.response.Body, cancel}
	k.response.Request = unsigned(k.response.Request)
	return k.response, nil
}

// group is a rate group and the refusal that closed it last.
type group struct {
	*pace.Group
	name string

	mu      sync.Mutex
	refusal *api.Error
}

// group returns the rate group r counts against.
func (c *Client) group(r *api.Request) *group {
	name := r.Group
	if name == "" {
		name = r.Op
	}
	c.mu.RLock()
	g := c.groups[name]
	c.mu.RUnlock()
	if g != nil {
		return g
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g = c.groups[name]; g == nil {
		g = &group{Group: pace.New(pace.Known(name)...), name: name}
		c.groups[name] = g
	}
	return g
}
