// Package transport implements the HTTP pipeline: retries, middleware, rate limits,
// signing, timeouts and decoding.
package transport

import (
	"cmp"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/drift"
	"github.com/fastio-go/fastio/internal/servertime"
)

// Config configures a Client. Base and UserAgent are required.
type Config struct {
	Base       Base
	UserAgent  string
	HTTPClient *http.Client    // nil means a new one
	Tokens     api.TokenSource // nil sends no token
	Middleware []func(http.RoundTripper) http.RoundTripper
	Hooks      []api.Hooks
	Drift      []func(api.DriftEvent)
	Limiter    api.Limiter  // nil shares no limits
	Logger     *slog.Logger // nil logs nothing
	Retry      Retry
	Timeout    time.Duration // of a call, unless it has its own; 0 means none
	MaxWait    time.Duration // limit of the Retry-Afters of a call in total; negative means none
}

// Version is fastio.Version.
const Version = "0.1.0"

// DefaultAddress is fastio.DefaultBaseURL.
const DefaultAddress = "https://api.fast.io"

// Defaults returns a Config that is complete except for Base.
func Defaults() Config {
	return Config{
		UserAgent: "fastio-go/" + Version + " (" + runtime.Version() + "; " + runtime.GOOS + ")",
		Retry:     Retry{Attempts: 3, Base: 500 * time.Millisecond, Cap: 8 * time.Second},
		MaxWait:   time.Minute,
	}
}

// Retry is how often and how fast a failed request is retried.
type Retry struct {
	Attempts int           // including the first
	Base     time.Duration // upper bound of the first random delay; doubles with each attempt
	Cap      time.Duration // limit of a delay
}

// Client is an [api.Client] over HTTP.
type Client struct {
	cfg          Config
	retry        *retryablehttp.Client // first step of the pipeline
	network      http.RoundTripper     // last step
	closeIdle    func()                // nil for a client of the caller
	agent        []string
	timeout      time.Duration    // of an attempt, including its body; 0 means none
	retriesSpent atomic.Int64     // by retries: see retryCost
	clock        servertime.Clock // from the Date of responses
	bearer       atomic.Pointer[bearer]
	watchdogs    sync.Pool
	keptBuffer   atomic.Pointer[weak.Pointer[textBuffer]] // for the next text that is as long
	invalid      error                                    // invalid configuration

	mu     sync.Mutex // guards the rest
	groups map[string]*group
	drifts map[drift.Place][]drift.Kind // that were reported
}

var _ api.Client = (*Client)(nil)

// New returns a Client. An invalid configuration is an error of each call.
func New(cfg Config) *Client {
	c := &Client{
		cfg: cfg, agent: []string{cfg.UserAgent}, groups: map[string]*group{}, drifts: map[drift.Place][]drift.Kind{},
	}
	c.watchdogs.New = func() any { return newWatchdog() }
	client := *cmp.Or(cfg.HTTPClient, new(http.Client)) // a copy
	c.network = client.Transport
	if c.network == nil {
		own := newNetwork()
		c.network, c.closeIdle = own, own.CloseIdleConnections
	}
	client.CheckRedirect = checkRedirect
	// An attempt passes the middleware, which sees every attempt and no credential, and
	// then the sender. call.go shows the order of all steps.
	c.timeout = client.Timeout
	client.Transport = newSender(c.network)
	client.Timeout = 0 // it would include the wait for the rate limit
	for _, step := range slices.Backward(cfg.Middleware) {
		client.Transport = step(client.Transport)
		if client.Transport == nil {
			c.invalid = errors.New("fastio: WithMiddleware: a function returned nil")
			return c
		}
	}
	if len(cfg.Middleware) != 0 {
		client.Transport = onlyRoundTrip(client.Transport) // retryablehttp would call CloseIdleConnections
	}
	c.retry = &retryablehttp.Client{ // the loop over the attempts of a call
		HTTPClient:   &client,     // follows redirects within an attempt
		RetryMax:     math.MaxInt, // attempts are counted per call
		CheckRetry:   decide,      // after each attempt
		PrepareRetry: again,       // before the next one; waits, because only it has the context of the call
		Backoff:      func(time.Duration, time.Duration, int, *http.Response) time.Duration { return 0 },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	return c
}

// onlyRoundTrip hides all methods of middleware except RoundTrip, because retryablehttp
// would call CloseIdleConnections after each failure. It sets the Host that http.Client
// leaves empty, and the Request of a response that middleware has made itself, and refuses
// a result of neither a response nor an error.
func onlyRoundTrip(next http.RoundTripper) roundTripper {
	return func(req *http.Request) (*http.Response, error) {
		req.Host = req.URL.Host
		resp, err := next.RoundTrip(req)
		switch {
		case err == nil && resp == nil:
			err = errNoResponse
		case err == nil && resp.Request == nil: // a response of middleware's own
			resp.Request = req
		}
		return resp, err
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

var errNotMade = &api.InputError{Field: "Client", Rule: "must be made by New"}

// Err returns the error of the configuration, or nil.
func (c *Client) Err() error { return c.invalid }

// Logger returns the logger of the configuration, by default one that discards.
func (c *Client) Logger() *slog.Logger {
	if c == nil || c.cfg.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.cfg.Logger
}

// CloseIdleConnections closes the idle connections of the client's own network. Those
// of an http.Client that the program has configured stay open, because it may use them
// elsewhere.
func (c *Client) CloseIdleConnections() {
	if c != nil && c.closeIdle != nil {
		c.closeIdle()
	}
}

// Network returns the origin of the platform and an http.Client that uses the same
// connections, without middleware, rate limits, credentials, retries and redirects.
// That of a nil Client refuses all requests.
func (c *Client) Network() (*url.URL, *http.Client) {
	if c == nil {
		refuse := func(*http.Request) (*http.Response, error) { return nil, errNotMade }
		return new(url.URL), &http.Client{Transport: roundTripper(refuse)}
	}
	return &url.URL{Scheme: c.cfg.Base.Scheme, Host: c.cfg.Base.Host}, &http.Client{
		Transport:     c.network,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
