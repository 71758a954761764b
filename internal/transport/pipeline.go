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
	"github.com/fastio-go/fastio/internal/ratelimit"
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

// Client is an [api.Caller] and an [api.Opener] over HTTP.
type Client struct {
	cfg       Config
	retry     *retryablehttp.Client // first step of the pipeline
	network   http.RoundTripper     // last step
	closeIdle func()                // nil for a client of the caller
	agent     []string
	budget    budget
	clock     servertime.Clock // from the Date of responses
	bearer    atomic.Pointer[bearer]
	spare     spare
	watchdogs sync.Pool

	mu     sync.RWMutex
	groups map[string]*group

	invalid error // invalid configuration
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
	c.network = client.Transport
	if c.network == nil {
		own := newNetwork()
		c.network, c.closeIdle = own, own.CloseIdleConnections
	}
	c.pipeline(client)
	return c
}

// pipeline builds the steps of a call, in the order in which they handle a request.
// The options of the call are in the context of the request: see
// [exchange.prepare].
func (c *Client) pipeline(client *http.Client) {
	c.retry = newRetry(client) // and redirects, by client
	steps := slices.Concat(
		entrance(c.cfg.Middleware), // they see every attempt, and no credential
		[]func(http.RoundTripper) http.RoundTripper{
			c.limit,                      // late, so that server and limiter count at the same time
			c.sign,                       // after the wait, so that the token is still valid
			senderWithin(client.Timeout), // timeouts
		},
	)
	client.Timeout = 0 // it would include the wait for the rate limit
	client.CheckRedirect = checkRedirect
	client.Transport = c.network
	for _, step := range slices.Backward(steps) {
		client.Transport = step(client.Transport)
		if client.Transport == nil {
			c.invalid = errors.New("fastio: WithMiddleware: a function returned nil")
			return
		}
	}
}

// entrance puts a step before middleware, if there is any. It hides all methods
// except RoundTrip, because retryablehttp would call CloseIdleConnections after each
// failure.
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

// Err returns the error of the configuration, or nil.
func (c *Client) Err() error { return c.invalid }

// Logger returns the logger of the configuration, by default one that discards.
func (c *Client) Logger() *slog.Logger {
	if c == nil || c.cfg.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.cfg.Logger
}

// CloseIdleConnections closes idle connections. Those of a client of the caller stay
// open, because they may be shared.
func (c *Client) CloseIdleConnections() {
	if c != nil && c.closeIdle != nil {
		c.closeIdle()
	}
}

// Network returns the origin of the platform and a client that uses the connections
// of the pipeline without its steps.
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
	self *exchange // the value in a context, of which fmt prints only the address

	client   *Client
	request  *api.Request
	options  api.CallOptions
	group    *group
	stream   bool  // the body of a success is not read
	limit    int64 // of the body of a success
	attempts int   // maximum, without the one after a refresh
	maxWait  time.Duration
	ordered  time.Duration // the waits that the server required, in total

	wire retryablehttp.Request
	url  url.URL

	attempt   int           // the current one, from 1
	started   time.Time     // when it had passed the rate limits; zero until then
	sent      int           // attempts that were sent
	unsettled atomic.Int32  // sends that the server may have processed
	content   io.ReadCloser // the body of the next attempt
	size      int64         // of content; -1 if it is unknown
	memory    io.ReadCloser // the body of the current attempt, if it is in memory,
	reader    *reader       // or is read from elsewhere
	token     api.Token     // of the last attempt
	refreshed bool
	unpooled  bool // the next attempt does not use an idle connection

	received io.Closer      // the body of the last response
	response *http.Response // the last
	away     *url.URL       // where a hop goes
	body     []byte         // of it, unless it is a stream
	rate     api.RateLimit
	slot     ratelimit.Call // of the attempt
	own      time.Duration  // Retry-After of the last attempt, which the limiter waits for

	failure error         // error of the last attempt that was sent; nil after a success
	lost    *lostError    // of the sender, if that is its cause
	stopped error         // why there is no further attempt, if not because of failure
	wait    time.Duration // before the next attempt
}

type exchangeKey struct{}

// exchangeOf returns the exchange of a request, nil if middleware has replaced its
// context.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(**exchange)
	if x == nil {
		return nil
	}
	return *x
}

// Info describes a call and its attempt.
type Info struct {
	Op, Route string
	Attempt   int
	Sent      time.Time
}

// InfoOf returns the Info of the call of ctx.
func InfoOf(ctx context.Context) (Info, bool) {
	x := exchangeOf(ctx)
	if x == nil {
		return Info{}, false
	}
	return Info{x.request.Op, x.request.Path.Template(), x.attempt, x.started}, true
}

// Call sends r and decodes the response into out.
func (c *Client) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	r, o, err := c.accept(ctx, r, opts)
	if err != nil {
		return err
	}
	return c.call(ctx, r, out, o)
}

func (c *Client) call(ctx context.Context, r *api.Request, out any, o api.CallOptions) (err error) {
	if to := reflect.ValueOf(out); out != nil && (to.Kind() != reflect.Pointer || to.IsNil()) {
		return &api.InputError{Op: r.Op, Field: "out", Rule: "must be a pointer that is not nil", Got: fmt.Sprintf("%T", out)}
	}
	if len(c.cfg.Hooks) > 0 {
		var end func(error)
		ctx, end = c.observeCall(ctx, r, false)
		err = errPanicked
		defer func() { end(err) }()
	}
	timeout := o.Timeout
	if timeout == 0 && r.Attempt == 0 { // else its attempts have their own timeouts
		timeout = c.cfg.Timeout
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	x := &exchange{client: c, request: r, options: o, limit: maxJSON}
	switch out.(type) {
	case *string, *[]byte:
		x.limit = maxText
	}
	if err := x.send(ctx); err != nil {
		return err
	}
	return x.decode(out)
}

const markdown api.Output = "markdown"

// Markdown sends r and returns the response as text.
func (c *Client) Markdown(ctx context.Context, r *api.Request, opts ...api.CallOption) (string, error) {
	r, o, err := c.accept(ctx, r, opts)
	if err != nil {
		return "", err
	}
	o.Output = append(slices.Clip(o.Output), markdown)
	var text string
	err = c.call(ctx, r, &text, o)
	return text, err
}

// Open sends r and returns a successful response with an unread body.
func (c *Client) Open(
	ctx context.Context, r *api.Request, opts ...api.CallOption,
) (resp *http.Response, err error) {
	r, o, err := c.accept(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	if len(c.cfg.Hooks) == 0 {
		return c.open(ctx, r, o)
	}
	ctx, end := c.observeCall(ctx, r, true)
	err = errPanicked
	defer func() {
		if err != nil {
			end(err)
		}
	}()
	resp, err = c.open(ctx, r, o)
	if err == nil {
		resp.Body = &observedBody{ReadCloser: resp.Body, end: end}
	}
	return resp, err
}

func (c *Client) open(ctx context.Context, r *api.Request, o api.CallOptions) (*http.Response, error) {
	var cancel context.CancelFunc
	if o.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	opened := false
	defer func() {
		if !opened {
			cancel()
		}
	}()
	x := &exchange{client: c, request: r, options: o, stream: true}
	err := x.send(ctx)
	if err != nil && x.away != nil {
		err = x.hop(ctx)
	}
	if err != nil {
		return nil, err
	}
	opened = true
	x.response.Body = &stream{x.response.Body, cancel}
	x.response.Request = unsigned(x.response.Request)
	return x.response, nil
}

// accept returns the options of a call, and its request with the operation. It returns an
// error if there can be no call.
func (c *Client) accept(
	ctx context.Context, r *api.Request, opts []api.CallOption,
) (_ *api.Request, o api.CallOptions, err error) {
	switch {
	case r == nil:
		err = &api.InputError{Field: "request", Rule: "must not be nil"}
	case c == nil:
		err = errNotMade
	case c.invalid != nil:
		err = c.invalid
	case ctx == nil:
		err = envelope.Check(ctx, c, r.Op)
	}
	if err != nil {
		return nil, o, err
	}
	o = api.Resolve(opts)
	if r.Op == "" || o.Query != nil || o.Replay != nil {
		r, err = named(r, &o)
	}
	return r, o, err
}

var errNotMade = &api.InputError{Field: "Client", Rule: "must be made by New"}

// send sends the request through the pipeline. It returns nil for a successful
// response.
func (x *exchange) send(ctx context.Context) error {
	if err := x.prepare(ctx); err != nil {
		return x.fail(err)
	}
	ended := false
	defer func() { x.closeAll(ended) }()
	_, err := x.client.retry.Do(&x.wire) //nolint:bodyclose // decide closes it, unless it is a stream
	ended = true
	if raw := x.options.Response; raw != nil {
		*raw = api.Response{Body: x.body, Rate: x.rate, Attempts: x.sent}
		if x.response != nil {
			raw.Status, raw.Header = x.response.StatusCode, x.response.Header
		}
	}
	switch {
	case x.stopped != nil:
		return x.fail(x.stopped)
	case err != nil && err == ctx.Err(): //nolint:errorlint // retryablehttp does not wrap it
		return x.fail(err)
	case x.failure != nil:
		return x.failure
	case err != nil:
		return x.fail(err)
	}
	x.client.budget.refund()
	return nil
}

// closeAll closes the body of the attempt that there was not, and after a panic of the
// program's code all bodies.
func (x *exchange) closeAll(ended bool) {
	if x.content != nil {
		_ = x.content.Close()
	}
	if ended {
		return
	}
	closeBody(x.wire.Request)
	if x.received != nil {
		_ = x.received.Close()
	}
}

// prepare creates the request of the first attempt, with x in its context.
func (x *exchange) prepare(ctx context.Context) error {
	c, r, o := x.client, x.request, &x.options
	if err := checkRequest(r, o); err != nil {
		return err
	}
	x.self = x
	x.attempt, x.attempts, x.maxWait = 1, c.cfg.Retry.Attempts, cmp.Or(o.MaxWait, c.cfg.MaxWait)
	if o.Attempts > 0 {
		x.attempts = o.Attempts
	}
	query := r.Query
	if len(o.Output) > 0 {
		var err error
		query, err = withOutput(r, o.Output)
		if err != nil {
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

// fill sets the header and the body of an attempt. Each attempt has a new header,
// without values of an earlier one, such as a token. There is no GetBody, so that
// net/http does not retry the request.
func (x *exchange) fill(req *http.Request) {
	h := make(http.Header, 4)
	for key, values := range x.options.Header {
		h[http.CanonicalHeaderKey(key)] = slices.Clone(values)
	}
	if x.request.Body != nil {
		h["Content-Type"] = []string{x.request.Body.ContentType()}
	}
	if h["User-Agent"] == nil {
		h["User-Agent"] = x.client.agent
		if x.client.cfg.Middleware != nil { // which may modify it
			h["User-Agent"] = slices.Clone(x.client.agent)
		}
	}
	req.Header, req.TransferEncoding = h, nil
	req.Body, req.ContentLength = x.content, x.size
	switch {
	case x.content == nil:
	case api.InMemory(x.request.Body):
		x.memory = x.content
	default:
		x.reader = newReader(req.Context(), x.content)
		req.Body = x.reader
	}
	x.content = nil
}

// stream is the body of an opened response.
type stream struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (s *stream) Close() error {
	defer s.cancel()
	return s.ReadCloser.Close()
}
