package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/redact"
	"github.com/fastio-go/fastio/internal/wait"
)

// This file is a call, in its order:
//
//	Call      options, hooks, timeout of the call
//	prepare   the request of the first attempt
//	  middleware of the program sees each attempt, without a credential
//	  RoundTrip waits for the rate limit, so that client and server count at the same time
//	  sign      adds the credential, which is valid as the wait is over
//	  send      sends the request once: see network.go
//	  read      reads the response
//	  decide    ends the loop, or prepares a retry
//	  again     waits, and prepares the request of the next attempt
//	decode    the response into the result

// An exchange is the state of a call and of its attempts. The steps pass it on, except
// through retryablehttp, http.Client and middleware, which pass on only a context: it is
// the value of [exchangeKey], unless middleware has replaced the context.
type exchange struct {
	client     *Client
	request    *api.Request
	options    api.CallOptions // with the Attempts and MaxWait of the client, if the call has none
	hasOptions bool
	group      *group
	stream     bool  // the body of a success is not read
	bodyLimit  int64 // of the body of a success

	wire retryablehttp.Request
	url  url.URL

	attempt         int           // the current one, from 1
	countedFailures int           // failed attempts, without those whose retry is free
	started         time.Time     // when it had passed the rate limits; zero until then
	sent            int           // attempts that were sent
	unsettled       atomic.Int32  // sends that the server may have processed
	content         io.ReadCloser // the body of the next attempt
	size            int64         // of content; -1 if it is unknown
	blockingBody    *reader       // the body of the current attempt, unless it is in memory
	token           api.Token     // of the last attempt
	refreshed       bool
	avoidsIdle      bool // the next attempt does not use an idle connection

	received      io.Closer      // the body of the last response
	response      *http.Response // the last
	body          []byte         // of response, unless it is a stream
	redirectTo    *url.URL       // where a hop goes
	rate          api.RateLimit
	slot          ratelimit.Call // of the attempt
	admitted      bool           // the Limiter of the program has admitted a request, and not learned of its end
	requiredWaits time.Duration  // the waits that the server required, in total
	retryAfter    time.Duration  // Retry-After of the last attempt, which the rate limit waits for

	failure  error         // error of the last attempt that was sent; nil after a success
	lost     *lostError    // of the sender, if it caused failure; nil if middleware or a response body did
	fatal    error         // ends the call in place of failure, such as the end of its context
	wait     time.Duration // before the next attempt
	returned bool          // retry.Do has returned, and not panicked
}

type exchangeKey struct{}

// Info describes a call and its attempt.
type Info struct {
	Op, Route string
	Attempt   int
	Sent      time.Time
}

// InfoOf returns the Info of the call of ctx, and false if ctx is not of a call.
func InfoOf(ctx context.Context) (Info, bool) {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return Info{}, false
	}
	return Info{x.request.Op, x.request.Path.Template(), x.attempt, x.started}, true
}

// Call sends r and decodes the response into out, a pointer or nil. Hooks are called
// with the result, or with errPanicked after a panic. The response is limited to
// maxJSON bytes, text to maxText.
func (c *Client) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) (err error) {
	x, err := c.accept(ctx, r, opts)
	if err != nil {
		return err
	}
	if target := reflect.ValueOf(out); out != nil && (target.Kind() != reflect.Pointer || target.IsNil()) {
		return &api.InputError{Op: x.request.Op, Field: "out", Rule: "must be a pointer that is not nil", Got: fmt.Sprintf("%T", out)}
	}
	if len(c.cfg.Hooks) != 0 {
		var end func(error)
		ctx, end = x.observeCall(ctx)
		err = errPanicked // unless the call returns
		defer func() { end(err) }()
	}
	timeout := x.options.Timeout
	if timeout == 0 && x.request.Attempt == 0 { // Attempt is a timeout of each attempt
		timeout = c.cfg.Timeout
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	x.bodyLimit = maxJSON
	switch out.(type) {
	case *string, *[]byte:
		x.bodyLimit = maxText
	}
	if err := x.do(ctx); err != nil {
		return err
	}
	if err := x.decode(out); err != nil {
		return err
	}
	if c.cfg.Drift != nil {
		x.observeDrift(ctx, out)
	}
	return nil
}

const markdown api.Output = "markdown"

// Markdown sends r and returns the response as text.
func (c *Client) Markdown(ctx context.Context, r *api.Request, opts ...api.CallOption) (string, error) {
	o := api.Resolve(opts)
	o.Output = append(slices.Clip(o.Output), markdown)
	var text string
	err := c.Call(ctx, r, &text, api.WithOptions(o))
	return text, err
}

// Open sends r and returns a successful response with an unread body. The call ends,
// for hooks and its timeout, when the body has been read or closed. Requests of a
// download may be redirected to another origin, which is followed without the
// credential.
func (c *Client) Open(ctx context.Context, r *api.Request, opts ...api.CallOption) (_ *http.Response, err error) {
	x, err := c.accept(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	x.stream = true
	ctx, report := x.observeCall(ctx)
	var cancel context.CancelFunc
	if x.options.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, x.options.Timeout)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	end := func(err error) {
		cancel()
		report(err)
	}
	err = errPanicked // unless do returns
	defer func() {
		if err != nil {
			end(err)
		}
	}()
	err = x.do(ctx)
	if err != nil && x.redirectTo != nil {
		err = x.followRedirect(ctx)
	}
	if err != nil {
		return nil, err
	}
	x.response.Body = &stream{ReadCloser: x.response.Body, end: end}
	x.response.Request = unsigned(x.response.Request)
	return x.response, nil
}

// accept returns the exchange of a call, with its options and its request. A request
// that was made without an operation gets that of its endpoint, and what WithQuery and
// WithReplay add. It returns an error for a nil argument, an invalid client, or these
// two options for a request that has an operation.
func (c *Client) accept(ctx context.Context, r *api.Request, opts []api.CallOption) (*exchange, error) {
	switch {
	case r == nil:
		return nil, &api.InputError{Field: "request", Rule: "must not be nil"}
	case c == nil:
		return nil, errNotMade
	case c.invalid != nil:
		return nil, c.invalid
	case ctx == nil:
		return nil, call.Check(ctx, c, r.Op) // an error for the nil context
	}
	x := &exchange{client: c, request: r, hasOptions: len(opts) != 0}
	if x.hasOptions {
		x.options = api.Resolve(opts)
	}
	changesRequest := x.options.Query != nil || x.options.Replay != nil
	if r.Op != "" && !changesRequest {
		return x, nil
	}
	var err error
	x.request, err = completeRequest(r, &x.options)
	return x, err
}

// do makes attempts until one succeeds or none may follow, and fills the api.Response
// of the options, if there is one. It returns nil for a successful response. The error
// is, in this order: why no other attempt was made, the end of the context, or the
// failure of the last attempt.
func (x *exchange) do(ctx context.Context) error {
	if err := x.prepare(ctx); err != nil {
		return x.withOp(err)
	}
	defer x.closeAll()
	_, err := x.client.retry.Do(&x.wire) //nolint:bodyclose // decide closes it, unless it is a stream
	x.returned = true
	if raw := x.options.Response; raw != nil {
		*raw = api.Response{Body: x.body, Rate: x.rate, Attempts: x.sent}
		if x.response != nil {
			raw.Status, raw.Header = x.response.StatusCode, x.response.Header
		}
	}
	switch {
	case x.fatal != nil:
		return x.withOp(x.fatal)
	case err != nil && err == ctx.Err(): //nolint:errorlint // retryablehttp does not wrap it
		return x.withOp(err)
	case x.failure != nil:
		return x.failure // which names the operation already
	}
	if spent := &x.client.retriesSpent; spent.Load() > 0 {
		spent.Add(-1) // a success returns one of retryTokens
	}
	return nil
}

// closeAll closes a body that was opened for an attempt that was not made. If the retry
// loop has not returned, code of the program has panicked. Then closeAll also closes the
// bodies of the request and the response, and reports the end of the request to the
// Limiter of the program.
func (x *exchange) closeAll() {
	if x.content != nil {
		_ = x.content.Close()
	}
	if x.returned {
		return
	}
	closeBody(x.wire.Request)
	if x.received != nil {
		_ = x.received.Close()
	}
	x.tellLimiter(api.RateLimit{})
}

// prepare creates the request of the first attempt, with x in its context, and sets the
// limits of the call and its rate group. It returns the first of the errors that a
// request and its options can have.
func (x *exchange) prepare(ctx context.Context) error {
	c, r, o := x.client, x.request, &x.options
	query, err := r.Query, error(nil)
	if x.hasOptions {
		query, err = applyOptions(r, o)
	}
	if err == nil && r.Method != http.MethodGet && !isToken(r.Method) {
		err = &api.InputError{Field: "Request.Method", Rule: "must be an HTTP method", Got: strconv.Quote(r.Method)}
	}
	path, rawPath := r.Path.Split()
	if err == nil && path == "" {
		err = r.Path.Err()
	}
	if err == nil && r.Body != nil {
		err = x.openBody()
	}
	if err != nil {
		return err
	}
	x.attempt, o.Attempts = 1, cmp.Or(max(o.Attempts, 0), c.cfg.Retry.Attempts)
	o.MaxWait = cmp.Or(o.MaxWait, c.cfg.MaxWait)
	x.group = c.rateGroup(cmp.Or(r.Group, r.Op))
	x.url = url.URL{Scheme: c.cfg.Base.Scheme, Host: c.cfg.Base.Host, Path: path, RawPath: rawPath, RawQuery: query.Encode()}
	isOfAPI := strings.HasPrefix(path, root+"/")
	if isOfAPI { // other paths, such as /.well-known, have no prefix
		x.url.Path = c.cfg.Base.Prefix + path
		if rawPath != "" {
			x.url.RawPath = (&url.URL{Path: c.cfg.Base.Prefix}).EscapedPath() + rawPath
		}
	}
	req := http.Request{Method: r.Method, URL: &x.url, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	x.wire.Request = req.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	x.fillAttempt(x.wire.Request)
	return nil
}

// openBody opens the body of the request for the next attempt: x.content, with x.size
// bytes. An empty body is closed and becomes nil.
func (x *exchange) openBody() error {
	content, size, err := x.request.Body.Open()
	switch {
	case err != nil:
	case content == nil && size != 0:
		err = &api.InputError{Field: "Request.Body", Rule: "must open content that is not nil"}
	case content != nil && size == 0:
		content, err = nil, content.Close()
	}
	x.content, x.size = content, size
	return err
}

// fillAttempt sets the header and the body of the request for its next attempt. The header
// is a new one, so that no value of an earlier attempt, such as a token, remains. The body is
// x.content, which the request now owns. If it is not in memory, a read of it may block, so
// it is wrapped in a reader that ends with the context. GetBody stays nil, so that net/http
// does not retry the request.
func (x *exchange) fillAttempt(req *http.Request) {
	h := make(http.Header, 4)
	for key, values := range x.options.Header {
		h[http.CanonicalHeaderKey(key)] = slices.Clone(values)
	}
	if x.request.Body != nil {
		h["Content-Type"] = []string{x.request.Body.ContentType()}
	}
	if h["User-Agent"] == nil {
		h["User-Agent"] = x.client.agent
		if x.client.cfg.Middleware != nil { // it may modify the header
			h["User-Agent"] = slices.Clone(x.client.agent)
		}
	}
	req.Header, req.TransferEncoding = h, nil // middleware may have set TransferEncoding
	req.Body, req.ContentLength = x.content, x.size
	if x.content != nil && !inMemory(x.content) {
		x.blockingBody = newReader(req.Context(), x.content, x.size)
		req.Body = x.blockingBody
	}
	x.content = nil // so that closeAll does not close it
}

// RoundTrip makes an attempt that has passed the middleware: it waits for the rate
// limit, adds the credential, sends the request, and records what the response
// announces about the limit.
func (s *sender) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, refuse(req, errors.New("middleware sent a request without its context"))
	}
	req.Host = req.URL.Host // empty until now, because http.Client would copy the URL
	began := time.Now()
	// MaxWait limits the total of the waits that servers require (requiredWaits). The total contains the last
	// Retry-After, which planWait has added, although Acquire waits for it only now. So that it counts once, Acquire
	// may take what MaxWait leaves after the earlier waits, and its time counts only as far as it exceeds the last
	// Retry-After. The random delay of up to jitter that the group adds to a Retry-After does not count: it is added
	// to the limit of Acquire, and subtracted from its time.
	lastRetryAfter := x.retryAfter
	x.retryAfter = 0
	maxWait := x.options.MaxWait // negative means without a limit
	if maxWait >= 0 {
		earlierWaits := x.requiredWaits - lastRetryAfter
		maxWait = max(0, maxWait-earlierWaits) + jitter
	}
	var report ratelimit.Waiting
	if len(x.client.cfg.Hooks) != 0 || x.client.cfg.Logger != nil {
		report = x.reportWait(req.Context(), began)
	}
	slot, err := x.group.Acquire(req.Context(), maxWait, report)
	if err != nil {
		return nil, refuse(req, err)
	}
	if slot.Ordered { // after a Retry-After of this call or of another one
		ordered := time.Since(began) - jitter
		x.requiredWaits += max(0, ordered-lastRetryAfter)
	}
	resp, err := s.sendInSlot(slot, x, req)
	if err != nil {
		return nil, err
	}
	x.observeRate(resp, slot)
	return resp, nil
}

// sendInSlot adds the credential to an attempt and sends it in its slot of the rate
// limit, when the Limiter of the program, if there is one, admits it too. It releases
// the slot even if the network panics.
func (s *sender) sendInSlot(slot ratelimit.Call, x *exchange, req *http.Request) (resp *http.Response, err error) {
	defer x.group.Release(slot)
	shared := x.client.cfg.Limiter
	if shared != nil {
		x.tellLimiter(x.rate) // only if middleware has sent x before: the 429 that it got was not reported yet
		timer := x.logLimiter(req.Context())
		err = shared.Acquire(req.Context(), x.group.name)
		timer.Stop()
		if err != nil {
			return nil, refuse(req, err)
		}
		x.admitted = true
	}
	x.started = time.Now()
	signed, err := x.sign(req)
	if err == nil {
		resp, err = s.sendOnce(x, signed)
	}
	if err != nil {
		x.tellLimiter(api.RateLimit{})
		return nil, err
	}
	resp.Request = req // without the credential
	if resp.StatusCode/100 == 3 {
		x.fixLocation(resp)
	}
	return resp, nil
}

// sign returns the request with the credential: that of the request itself, or a token
// of the configuration, and the password or token of a link. It refuses the request if
// middleware has changed its origin, which would reveal the credential to another server.
func (x *exchange) sign(req *http.Request) (*http.Request, error) {
	c, r, none := x.client, x.request, api.Secret{}
	if req.URL.Scheme != c.cfg.Base.Scheme || req.URL.Host != c.cfg.Base.Host {
		return nil, refuse(req, errors.New("the request was sent to another origin"))
	}
	var credential []string
	x.token = api.Token{}
	switch {
	case r.Credential != none:
		credential = []string{r.Credential.Reveal()}
	case c.cfg.Tokens != nil && r.Auth != api.AuthNone:
		token, err := c.cfg.Tokens.Token(req.Context())
		if err != nil {
			return nil, refuse(req, err)
		}
		x.token = token
		cached := c.bearer.Load()
		if cached == nil || cached.token != token.AccessToken {
			cached, err = c.keepBearer(token.AccessToken)
			if err != nil {
				return nil, refuse(req, err)
			}
		}
		credential = cached.header
	}
	signed := req
	if c.cfg.Middleware != nil { // it may keep req, which must not contain the credential
		signed = req.Clone(req.Context())
	}
	if credential != nil {
		signed.Header[headerAuthorization] = credential
	}
	if r.Link != api.LinkNone {
		if secret := linkSecret(&x.options); secret != none {
			signed.Header[headerPassword] = []string{secret.Reveal()}
		}
	}
	return signed, nil
}

// keepBearer returns a token with its Authorization header, and keeps it for the next
// attempt with the same token. An empty token has no header. It returns an error for a
// token with control characters.
func (c *Client) keepBearer(token api.Secret) (*bearer, error) {
	b := &bearer{token: token}
	if token.IsZero() {
		return b, nil
	}
	if at := controlAt(token.Reveal()); at != "" {
		return nil, &api.InputError{Field: "token", Rule: "must not hold control characters", Got: at}
	}
	b.header = []string{"Bearer " + token.Reveal()}
	c.bearer.Store(b)
	return b, nil
}

// bearer is a token and the values of its Authorization header.
type bearer struct {
	token  api.Secret
	header []string
}

// decide reads the response of an attempt, or records why there is none. It reports
// whether to make another attempt. x.failure is why the last attempt that was sent has
// failed, and nil after a success. x.fatal, which decide also returns, is set if something
// else ends the call, such as the end of its context; then it is the error of the call.
func decide(ctx context.Context, resp *http.Response, err error) (bool, error) {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	x.wait, x.lost = 0, nil
	unsent, isUnsent := errors.AsType[*unsentError](err)
	if !isUnsent {
		x.sent = x.attempt
	}
	switch {
	case isUnsent:
		x.fatal = unsent.err
	case err != nil && ctx.Err() != nil:
		x.fatal = ctx.Err()
	case err != nil:
		// The sender returns a lostError, which http.Client wraps once. One that middleware has wrapped as well does
		// not count: it may be of another request.
		x.lost, _ = errors.Unwrap(err).(*lostError) //nolint:errorlint // see above
		x.failure = x.masked(redact.Cause(err))
	default:
		x.failure = x.read(ctx, resp)
	}
	if x.admitted { // the end is not reported yet: the response was a 429, which middleware has replaced
		x.tellLimiter(x.rate)
	}
	if x.client.cfg.Logger != nil {
		x.logAttempt(ctx, resp)
	}
	if x.fatal != nil || x.failure == nil {
		return false, x.fatal
	}
	x.fatal = ctx.Err() // it may have ended during read
	if x.fatal != nil || !x.mayRetry(ctx) {
		return false, x.fatal // which mayRetry may have set
	}
	x.observeRetry(ctx)
	return true, nil
}

// read reads the response of an attempt within bodyTimeout. It returns nil for a
// success, the error that the platform reports, or why the body cannot be read. Of a
// failure, a limited rest of the body is read as well, so that the connection can be
// reused.
func (x *exchange) read(ctx context.Context, resp *http.Response) error {
	x.response, x.body = resp, nil
	success := resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices
	if success && x.stream {
		return nil
	}
	w, _ := x.client.watchdogs.Get().(*watchdog)
	w.body = resp.Body
	w.timer.Reset(bodyTimeout)
	var err error
	switch {
	case success && resp.ContentLength > x.bodyLimit:
		err = api.ErrTooLarge
	case success:
		x.body, err = x.client.readAll(resp, x.bodyLimit)
	default:
		body, _ := x.client.readAll(resp, maxError) // a partial body is kept
		x.body = bytes.TrimPrefix(body, []byte(byteOrderMark))
		w = w.forDrain()
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
		err = x.refusal()
	}
	tooLarge := errors.Is(err, api.ErrTooLarge)
	if w.timer.Stop() { // the watchdog has not fired, and can be reused
		w.body = nil
		x.client.watchdogs.Put(w)
	} else if success && err != nil && !tooLarge && ctx.Err() == nil {
		err = errStalled // the watchdog has closed the body, which has made the read fail
	}
	_ = resp.Body.Close()
	if !success || err == nil { // err is the error that the platform reports, or nil
		return err
	}
	// The body could not be read. The part that was read stays in x.body, for WithResponse, unless it is too large.
	if tooLarge {
		x.client.keepBuffer(x.body) // which is nil, and not kept, if the Content-Length was too large
		x.body = nil
	}
	return x.masked(err)
}

// mayRepeat reports whether the request may be sent again after an attempt that the
// platform has refused with e or, if e is nil, that has failed in another way. A request
// that may have been processed is sent again only if that changes nothing (ReplaySafe), or
// if its body has a key by which the platform recognizes it (ReplayKeyed).
func (x *exchange) mayRepeat(e *api.Error) bool {
	replayable := x.request.Replay == api.ReplaySafe || x.request.Replay == api.ReplayKeyed
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](x.failure)
	failsAgain := badCertificate || errors.Is(x.failure, http.ErrSchemeMismatch) || errors.Is(x.failure, api.ErrTooLarge)
	switch {
	case e == nil && failsAgain:
		return false
	case e == nil:
		provesUnsent := x.lost != nil && x.lost.unsent             // other errors do not prove that nothing was sent
		mayBeProcessed := !provesUnsent || x.unsettled.Load() != 0 // by this attempt, or by an earlier one
		return replayable || !mayBeProcessed
	case e.Is(api.ErrUnavailable), e.Status == http.StatusInternalServerError:
		return replayable
	}
	return e.Status == http.StatusTooManyRequests && wait.MeansFullWindow(e.Code) // refused before processing
}

// A retry costs retryCost of retryTokens, a successful call returns one. In an outage
// retries are a small share of all calls, and do not multiply the load.
const (
	retryTokens = 500
	retryCost   = 14
)

// mayRetry reports whether to retry the failed attempt, and sets x.wait. A retry with a
// new token does not count against the attempts of the call, nor does one after a
// refusal until a known time: with several clients on one credential, refusals are part
// of normal operation. Any other retry counts. It costs a part of the retry budget of
// the client, unless an idle connection has broken.
func (x *exchange) mayRetry(ctx context.Context) bool {
	e, answered := x.failure.(*api.Error) //nolint:errorlint // set by read, never wrapped
	if answered && e.Unauthenticated {
		return x.refresh(ctx)
	}
	byPlatform := answered && !e.Is(api.ErrUnavailable) // and not by a proxy
	if x.options.Attempts > 1 && byPlatform && wait.IsTimedRefusal(e) {
		return x.planWait(ctx, e) && x.reopen()
	}
	x.countedFailures++
	if x.countedFailures >= x.options.Attempts || !x.mayRepeat(e) { // e is nil without a response
		return false
	}
	if x.lost != nil && x.lost.reusedConn {
		return x.retryStaleConn() // at once, and without the budget
	}
	if !x.planWait(ctx, e) || !x.reopen() {
		return false // before it costs a part of the budget
	}
	if budget := &x.client.retriesSpent; budget.Add(retryCost) > retryTokens {
		budget.Add(-retryCost)
		return false
	}
	return true
}

// planWait sets x.wait, the delay of the next attempt: the longer one of the backoff
// and a Retry-After. After a 429 with a Retry-After, x.wait is instead the time until the
// closed rate group opens, and only serves the comparison with the deadline and RetryEvent:
// with x.retryAfter set, the function again does not wait, and RoundTrip waits for the group.
//
// It returns false if there can be no next attempt: because the waits that the server
// has required exceed MaxWait (the call returns e), or because the deadline of the call
// comes first (the call returns x.fatal).
func (x *exchange) planWait(ctx context.Context, e *api.Error) bool {
	r := x.client.cfg.Retry
	x.wait = wait.Backoff{Base: r.Base, Cap: r.Cap}.Pause(x.attempt)
	if e != nil && e.Rate.RetryAfter > 0 {
		ordered := e.Rate.RetryAfter
		if x.options.MaxWait < 0 { // no limit on the sum
			ordered = min(ordered, wait.MaxRetryAfter)
		} else {
			x.requiredWaits += ordered
			if x.requiredWaits > x.options.MaxWait {
				return false
			}
		}
		x.wait = max(x.wait, ordered)
		if e.Status == http.StatusTooManyRequests { // the rate group is closed until Reset
			x.wait, x.retryAfter = time.Until(e.Rate.Reset), ordered
		}
	}
	if dl, ok := ctx.Deadline(); ok && time.Until(dl) < x.wait {
		x.fatal = context.DeadlineExceeded
		return false
	}
	return true
}

// retryStaleConn prepares a retry after the server has closed an idle connection. It
// needs no delay and no retry budget: each such connection has served a request before,
// so that these retries cannot outnumber responses. The last attempt does not use an
// idle connection, which may be closed as well. It returns false if the body cannot be
// opened again.
func (x *exchange) retryStaleConn() bool {
	if x.countedFailures == x.options.Attempts-1 {
		x.client.CloseIdleConnections()
		x.avoidsIdle = true
	}
	return x.reopen()
}

// refresh replaces a token that the response proves invalid, once per call. It returns
// false if it cannot get another token, or cannot open the body again.
func (x *exchange) refresh(ctx context.Context) bool {
	source, ok := x.client.cfg.Tokens.(api.Refresher)
	if !ok || x.refreshed || x.token.AccessToken.IsZero() {
		return false
	}
	x.refreshed = true
	_, x.fatal = source.Refresh(ctx, x.token)
	x.observeRefresh(ctx, x.fatal)
	return x.fatal == nil && x.reopen()
}

// reopen opens the body for a retry. It returns false if that fails; a body that can
// be opened only once is sent only once.
func (x *exchange) reopen() bool {
	if x.request.Body == nil {
		return true
	}
	err := x.openBody()
	if err != nil && !errors.Is(err, api.ErrBodyUsed) {
		x.fatal = err
	}
	return err == nil
}

// again waits for the backoff and prepares the next attempt, which RoundTrip then sends
// like the first one. After a 429 it does not wait itself: the rate group is closed, so
// RoundTrip waits (retryAfter is set).
func again(req *http.Request) error {
	ctx := req.Context()
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	x.attempt, x.started = x.attempt+1, time.Time{}
	if x.wait > 0 && x.retryAfter == 0 {
		reason := api.WaitReasonBackoff
		if wait.RetryAfterOf(x.failure) == x.wait { // of another response than a 429, such as a 503
			reason = api.WaitReasonServer
		}
		const queued = 0 // no wait before this one
		x.observeWait(ctx, reason, queued, x.wait)
		x.fatal = wait.Sleep(ctx, x.wait)
	}
	if x.fatal == nil {
		x.fillAttempt(req)
	}
	return x.fatal
}

// decode decodes the body of a response into out, which may be nil. A body that reports
// a failure becomes the error, also if it does not match the type of out.
func (x *exchange) decode(out any) error {
	// With any other status, a record or page without a body is an error: it must not count as empty.
	mayLackBody := []int{http.StatusAccepted, http.StatusNoContent, http.StatusResetContent}
	if len(x.body) == 0 && (out == nil || slices.Contains(mayLackBody, x.response.StatusCode)) {
		return nil
	}
	switch out := out.(type) {
	case *string:
		return x.decodeText(out)
	case *[]byte:
		*out = x.body
		return nil
	}
	x.body = bytes.TrimPrefix(x.body, []byte(byteOrderMark))
	if out == nil {
		out = decode.Nothing()
	}
	envelope, ok := out.(interface { // of package decode, with its payload
		Decode(b []byte, more ...jsonv2.Options) (refused bool, err error)
	})
	if !ok {
		return x.decodePlain(out)
	}
	refused, err := envelope.Decode(x.body)
	if err != nil { // the body may report a failure, which need not match the payload
		_, refused = decode.Unwrap(x.body)
	}
	switch {
	case refused:
		return x.refusal()
	case err != nil:
		return x.undecodable(err)
	}
	return nil
}

// decodeText stores the unchanged body in *out. A response in Markdown (WithOutput) may report a
// failure in its body, which decodeText returns as an error.
func (x *exchange) decodeText(out *string) error {
	if slices.Contains(x.options.Output, markdown) {
		if _, refused := decode.Unwrap(x.body); refused || decode.FailedMarkdown(x.body) {
			return x.refusal()
		}
	}
	*out = string(x.body)
	return nil
}

// byteOrderMark may precede JSON (RFC 8259, section 8.1).
const byteOrderMark = "\ufeff"

// decodePlain decodes into a type of the caller, without an envelope. As with
// encoding/json, the names of fields are not case-sensitive.
func (x *exchange) decodePlain(out any) error {
	payload, refused := decode.Unwrap(x.body)
	if refused {
		return x.refusal()
	}
	reset := func() { reflect.ValueOf(out).Elem().SetZero() } // before a second decode, which converts values
	if err := decode.Plain(payload, out, reset, jsonv2.MatchCaseInsensitiveNames(true)); err != nil {
		return x.undecodable(err)
	}
	return nil
}

// followRedirect requests the address of a redirect, x.redirectTo, without credentials,
// and replaces x.response by its response. The address is a secret, and the response
// may contain secrets: an error has only the status. https is required, unless the
// platform itself uses http. The timeout of an attempt applies to this request as well.
func (x *exchange) followRedirect(ctx context.Context) error {
	origin, client := x.client.Network() // a new http.Client, of this call alone
	client.Timeout = x.client.timeout
	to := x.redirectTo
	schemeAllowed := to.Scheme == "https" || to.Scheme == "http" && origin.Scheme == "http"
	if to.Host == "" || to.User != nil || !schemeAllowed {
		return x.refuseRedirect(http.StatusTemporaryRedirect, "the redirect is to an address that is not allowed")
	}
	req := &http.Request{
		Method: http.MethodGet, URL: to, Host: to.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Accept-Encoding": {"identity"}},
	}
	resp, err := client.Do(req.WithContext(ctx))
	if err != nil { // err may contain the address
		text := "no response to the request after the redirect"
		if ctx.Err() != nil {
			text = ctx.Err().Error()
		}
		return &callError{op: x.request.Op, text: text, err: redact.Cause(err)}
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return x.refuseRedirect(resp.StatusCode, "the request after the redirect was refused")
	}
	// The caller gets a copy of the request to the platform, because that of resp has the secret address.
	resp.Request = unsigned(x.response.Request)
	// By this response internal/download sees that there was a redirect, whose address may be valid only once.
	resp.Request.Response = &http.Response{StatusCode: http.StatusTemporaryRedirect}
	x.response = resp
	return nil
}

// refuseRedirect returns the error of a redirect that was not followed, or was refused.
func (x *exchange) refuseRedirect(status int, text string) error {
	return &api.Error{Op: x.request.Op, Status: status, Text: text, Attempts: 1}
}
