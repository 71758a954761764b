// Package transport implements the HTTP pipeline: retries, middleware, rate limits,
// signing, timeouts and decoding.
package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/fastio-go/fastio/api"
	envelope "github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/servertime"
)

// Config is how a Client reaches the platform. Base and UserAgent are required.
type Config struct {
	Base       Base
	UserAgent  string
	HTTPClient *http.Client    // nil means one of the package's own
	Tokens     api.TokenSource // nil sends no token
	Middleware []func(http.RoundTripper) http.RoundTripper
	Hooks      api.Hooks
	Limiter    api.Limiter  // nil shares no limits
	Logger     *slog.Logger // nil logs nothing
	Retry      Retry
	Timeout    time.Duration // of a call, unless it has its own; 0 means none
	MaxWait    time.Duration // longest Retry-After that is waited for; negative means any
}

// Version is the version of this module.
const Version = "0.1.0"

// DefaultAddress is the address of the platform.
const DefaultAddress = "https://api.fast.io"

// Defaults returns a Config that lacks nothing but its Base.
func Defaults() Config {
	return Config{
		UserAgent: "fastio-go/" + Version + " (" + runtime.Version() + "; " + runtime.GOOS + ")",
		Retry:     Retry{Attempts: 3, Base: 500 * time.Millisecond, Cap: 8 * time.Second},
		MaxWait:   time.Minute,
	}
}

// Retry is how often and how fast a failed request is retried.
type Retry struct {
	Attempts int           // the first included
	Base     time.Duration // the first pause is random below it, each further one below twice the last
	Cap      time.Duration // no pause is longer
}

// Client is an [api.Caller] and an [api.Opener] over HTTP.
type Client struct {
	cfg       Config
	retry     *retryablehttp.Client // begins the pipeline
	network   http.RoundTripper     // ends it
	closeIdle func()                // nil for a network of the caller's
	agent     []string
	budget    budget
	clock     servertime.Clock // by the responses that announce a time
	bearer    atomic.Pointer[bearer]
	spare     spare
	watchdogs sync.Pool

	mu     sync.RWMutex
	groups map[string]*group

	invalid error // why no call can be made
}

var (
	_ api.Caller = (*Client)(nil)
	_ api.Opener = (*Client)(nil)
)

// New returns a Client.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg, agent: []string{cfg.UserAgent}, groups: map[string]*group{}}
	c.watchdogs.New = newWatchdog
	client := new(http.Client)
	if cfg.HTTPClient != nil {
		*client = *cfg.HTTPClient
	}
	if c.network = client.Transport; c.network == nil {
		own := newNetwork()
		c.network, c.closeIdle = own, own.CloseIdleConnections
	}
	c.pipeline(client)
	return c
}

// pipeline puts the steps of a call together, in the order in which a request
// takes them. The options of the call are in the request that enters: see
// [exchange.prepare].
func (c *Client) pipeline(client *http.Client) {
	c.retry = newRetry(client) // and redirects, which client follows
	steps := slices.Concat(
		entrance(c.cfg.Middleware), // they see every attempt, and no credential
		[]func(http.RoundTripper) http.RoundTripper{
			c.limit,                      // late, so that the server counts a call when the limiter does
			c.sign,                       // after the wait, so that the token is still good
			senderWithin(client.Timeout), // timeouts
		},
	)
	client.Timeout = 0 // which would include the wait for the rate limit
	client.CheckRedirect = checkRedirect
	client.Transport = c.network
	for _, step := range slices.Backward(steps) {
		if client.Transport = step(client.Transport); client.Transport == nil {
			c.invalid = errors.New("fastio: WithMiddleware: a function returned nil")
			return
		}
	}
}

// entrance puts a step before middleware, if there is any. It hides every method of
// it but RoundTrip: retryablehttp empties the pool of idle connections after each
// failure, and cannot without a method to call.
func entrance(middleware []func(http.RoundTripper) http.RoundTripper) []func(http.RoundTripper) http.RoundTripper {
	if len(middleware) == 0 {
		return nil
	}
	return append([]func(http.RoundTripper) http.RoundTripper{func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			req.Host = req.URL.Host
			resp, err := next.RoundTrip(req)
			if err == nil && resp == nil {
				err = errNoResponse
			}
			return resp, err
		})
	}}, middleware...)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Err returns why no call can be made, or nil.
func (c *Client) Err() error { return c.invalid }

// Logger returns the logger of the configuration, without one a logger that discards.
func (c *Client) Logger() *slog.Logger {
	if c == nil || c.cfg.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.cfg.Logger
}

// CloseIdleConnections closes the connections that are not in use. Those of a
// client of the caller's are left open, because they may be shared.
func (c *Client) CloseIdleConnections() {
	if c != nil && c.closeIdle != nil {
		c.closeIdle()
	}
}

// Network returns the origin of the platform and a client that reaches it by the
// connections of the pipeline, without any other step of it.
func (c *Client) Network() (*url.URL, *http.Client) {
	if c == nil {
		return new(url.URL), &http.Client{Transport: refusing{errNotMade}}
	}
	return &url.URL{Scheme: c.cfg.Base.Scheme, Host: c.cfg.Base.Host}, &http.Client{
		Transport:     c.network,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// An exchange is the state of a call and of its attempts. [exchangeOf] finds it.
type exchange struct {
	self *exchange // a context holds its address, of which fmt prints no more than that

	client   *Client
	request  *api.Request
	group    *group
	stream   bool // the body of a success is left unread
	attempts int  // at most; the one after a refresh is not counted
	maxWait  time.Duration

	wire retryablehttp.Request
	url  url.URL

	attempt   int           // the one under way, from 1
	sent      int           // attempts that were sent
	content   io.ReadCloser // the body of the next attempt
	size      int64         // of content; -1 if it is unknown
	token     api.Token     // of the last attempt
	refreshed bool

	response *http.Response // the last
	body     []byte         // of it, unless it is a stream
	rate     api.RateLimit

	failure error         // what the last attempt that was sent ended with; nil after a success
	stopped error         // why there is no further attempt, if that is not the failure itself
	wait    time.Duration // before the next attempt
}

type exchangeKey struct{}

// exchangeOf returns the exchange that a request belongs to, nil if middleware has
// put the request into another context.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(**exchange)
	if x == nil {
		return nil
	}
	return *x
}

// Info names a call and counts its attempts.
type Info struct {
	Op, Route string
	Attempt   int
}

// InfoOf returns what is known of the call that ctx belongs to.
func InfoOf(ctx context.Context) (Info, bool) {
	x := exchangeOf(ctx)
	if x == nil {
		return Info{}, false
	}
	return Info{x.request.Op, x.request.Path.Template(), x.attempt}, true
}

// Call sends r and decodes the answer into out.
func (c *Client) Call(ctx context.Context, r *api.Request, out any) error {
	if err := c.check(ctx, r); err != nil {
		return err
	}
	if to := reflect.ValueOf(out); out != nil && (to.Kind() != reflect.Pointer || to.IsNil()) {
		return &api.InputError{Op: r.Op, Field: "out", Rule: "must be a pointer that is not nil", Got: fmt.Sprintf("%T", out)}
	}
	timeout := r.Options.Timeout
	if timeout == 0 && r.Attempt == 0 { // else its attempts have timeouts of their own
		timeout = c.cfg.Timeout
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	x := &exchange{client: c, request: r}
	if err := x.send(ctx); err != nil {
		return err
	}
	return x.decode(out)
}

const markdown api.Output = "markdown"

// Markdown sends r and returns the answer as text.
func (c *Client) Markdown(ctx context.Context, r *api.Request) (string, error) {
	if err := c.check(ctx, r); err != nil {
		return "", err
	}
	asText := *r
	asText.Options.Output = append(slices.Clip(r.Options.Output), markdown)
	var text string
	err := c.Call(ctx, &asText, &text)
	return text, err
}

// Open sends r and returns an answer that reports success, its body unread.
func (c *Client) Open(ctx context.Context, r *api.Request) (*http.Response, error) {
	if err := c.check(ctx, r); err != nil {
		return nil, err
	}
	var cancel context.CancelFunc
	if r.Options.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, r.Options.Timeout)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	x := &exchange{client: c, request: r, stream: true}
	if err := x.send(ctx); err != nil {
		cancel()
		return nil, err
	}
	x.response.Body = &stream{x.response.Body, cancel}
	x.response.Request = unsigned(x.response.Request)
	return x.response, nil
}

// check returns an error for what no call can be made of.
func (c *Client) check(ctx context.Context, r *api.Request) error {
	switch {
	case r == nil:
		return &api.InputError{Field: "request", Rule: "must not be nil"}
	case c == nil:
		return errNotMade
	case c.invalid != nil:
		return c.invalid
	case ctx == nil:
		return envelope.Check(ctx, c, r.Op)
	}
	return nil
}

var errNotMade = &api.InputError{Field: "Client", Rule: "must be made by New"}

// send sends the request through the pipeline. It returns nil for an answer that
// reports success.
func (x *exchange) send(ctx context.Context) error {
	if err := x.prepare(ctx); err != nil {
		return x.fail(err)
	}
	_, err := x.client.retry.Do(&x.wire) //nolint:bodyclose // decide closes it, but for a stream
	if x.content != nil {                // there was no next attempt
		_ = x.content.Close()
	}
	if raw := x.request.Options.Response; raw != nil {
		*raw = api.Response{Body: x.body, Rate: x.rate, Attempts: x.sent}
		if x.response != nil {
			raw.Status, raw.Header = x.response.StatusCode, x.response.Header
		}
	}
	switch {
	case x.stopped != nil:
		return x.fail(x.stopped)
	case err != nil && err == ctx.Err(): //nolint:errorlint // as retryablehttp returns it between two attempts
		return x.fail(err)
	case x.failure != nil:
		return x.failure
	case err != nil:
		return x.fail(err)
	}
	if x.client.budget.spent.Load() > 0 {
		x.client.budget.refund()
	}
	return nil
}

// prepare makes the request of the first attempt, whose context leads to x.
func (x *exchange) prepare(ctx context.Context) error {
	c, r := x.client, x.request
	if err := checkRequest(r); err != nil {
		return err
	}
	x.self = x
	x.attempt, x.attempts, x.maxWait = 1, c.cfg.Retry.Attempts, cmp.Or(r.Options.MaxWait, c.cfg.MaxWait)
	if r.Options.Attempts > 0 {
		x.attempts = r.Options.Attempts
	}
	query := r.Query
	if len(r.Options.Output) > 0 {
		var err error
		if query, err = withOutput(r); err != nil {
			return err
		}
	}
	if r.Body != nil {
		if err := x.open(); err != nil {
			return err
		}
	}
	x.group = c.group(r)
	path, rawPath := r.Path.Split()
	if path == "" {
		return r.Path.Err()
	}
	x.url = c.cfg.Base.URL(path, rawPath, query.Encode())
	req := http.Request{Method: r.Method, URL: &x.url, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	x.wire.Request = req.WithContext(context.WithValue(ctx, exchangeKey{}, &x.self))
	x.fill(x.wire.Request)
	return nil
}

// open opens the body for the next attempt.
func (x *exchange) open() error {
	content, size, err := x.request.Body.Open()
	if err == nil && size == 0 {
		content, err = nil, content.Close()
	}
	x.content, x.size = content, size
	return err
}

// fill sets the header and the body of an attempt. Each gets its own header, so that
// nothing an earlier one was sent with, such as a token, is left in it. There is no
// GetBody, with which net/http would repeat the request by itself.
func (x *exchange) fill(req *http.Request) {
	h := make(http.Header, 4)
	for key, values := range x.request.Options.Header {
		h[http.CanonicalHeaderKey(key)] = slices.Clone(values)
	}
	if x.request.Body != nil {
		h["Content-Type"] = []string{x.request.Body.ContentType()}
	}
	if h["User-Agent"] == nil {
		h["User-Agent"] = x.client.agent
		if len(x.client.cfg.Middleware) > 0 { // which may write to it
			h["User-Agent"] = slices.Clone(x.client.agent)
		}
	}
	req.Header, req.TransferEncoding = h, nil
	req.Body, req.ContentLength = x.content, x.size
	x.content = nil
}

// stream is the body of an opened answer.
type stream struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (s *stream) Close() error {
	defer s.cancel()
	return s.ReadCloser.Close()
}
