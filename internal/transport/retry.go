package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/redact"
	"github.com/fastio-go/fastio/internal/wait"
)

// newRetry returns the retry loop, which calls [decide] after each attempt and
// [prepareRetry] before the next one. The pause is in prepareRetry because the
// Backoff of retryablehttp sees neither the call nor, after an attempt without a
// response, anything else: only prepareRetry has the context.
func newRetry(client *http.Client) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient:   client,
		RetryMax:     math.MaxInt, // attempts are counted for each call
		CheckRetry:   decide,
		Backoff:      func(time.Duration, time.Duration, int, *http.Response) time.Duration { return 0 },
		PrepareRetry: prepareRetry,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// decide reads the response of an attempt and decides whether there is another.
func decide(ctx context.Context, resp *http.Response, err error) (bool, error) {
	x := exchangeOf(ctx)
	x.wait = 0
	unsent, isUnsent := errors.AsType[*unsentError](err)
	if !isUnsent {
		x.sent = x.attempt
	}
	switch {
	case isUnsent:
		x.stopped = unsent.err
	case err != nil && ctx.Err() != nil:
		x.stopped = ctx.Err()
	case err != nil:
		x.failure = &callError{op: x.request.Op, err: x.secrets().Error(redact.Cause(err))}
	default:
		x.failure = x.read(ctx, resp)
	}
	if x.client.cfg.Logger != nil {
		x.logAttempt(ctx)
	}
	switch {
	case x.stopped != nil, x.failure == nil:
		return false, x.stopped
	case ctx.Err() != nil:
		x.stopped = ctx.Err()
	case x.retries(ctx):
		x.observeRetry(ctx)
		return true, nil
	}
	return false, x.stopped
}

// An outcome is what the failure of an attempt means for another one.
type outcome uint8

const (
	final       outcome = iota // another attempt would fail as well
	notSent                    // no byte of the request was sent
	rateLimited                // refused before any work was done
	ambiguous                  // it may have been carried out
)

// mayRepeat reports whether a request may be sent again.
func mayRepeat(r api.Replay, o outcome) bool {
	switch o {
	case notSent, rateLimited:
		return true
	case ambiguous:
		return r == api.ReplaySafe || r == api.ReplayKeyed
	default:
		return false
	}
}

// outcome classifies the failure of the last attempt: e, or one without a response
// if e is nil.
func (x *exchange) outcome(e *api.Error) outcome {
	if e == nil {
		_, badCertificate := errors.AsType[*tls.CertificateVerificationError](x.failure)
		switch {
		case badCertificate, errors.Is(x.failure, http.ErrSchemeMismatch), errors.Is(x.failure, api.ErrTooLarge):
			return final
		case NeverSent(x.failure):
			return notSent
		}
		return ambiguous
	}
	switch e.Status {
	case http.StatusTooManyRequests:
		if ofWindows(e.Code) {
			return rateLimited
		}
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return ambiguous
	}
	return final
}

// Codes of errors that decide on retries.
const (
	codeUnparseable = 10001  // the bearer is not a token
	codeDead        = 10011  // the bearer is missing, unknown or revoked
	codeInProgress  = 145858 // a 429 until another call of the same user has ended
	codeLocked      = 10760  // a 429 for an account after too many wrong passwords
)

// ofWindows reports whether a 429 means that the rate windows have no room.
func ofWindows(code int64) bool { return code != codeInProgress && code != codeLocked }

// NeverSent reports whether the failure proves that no byte of the request was
// sent. An HTTP/2 server may say that it did not process a request it has read
// (REFUSED_STREAM, GOAWAY); that is no proof, because a proxy may say so as well.
func NeverSent(err error) bool {
	if lost, ok := errors.AsType[*lostError](err); ok && lost.unsent {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	notTLS, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok && notTLS.Conn != nil // which is set before the handshake only
}

// retries decides whether the failed attempt is repeated, and after what pause.
func (x *exchange) retries(ctx context.Context) bool {
	e, answered := x.failure.(*api.Error) //nolint:errorlint // set by read, never wrapped
	if answered && e.Unauthenticated {
		return x.refresh(ctx)
	}
	if x.attempt >= x.attempts || !mayRepeat(x.request.Replay, x.outcome(e)) {
		return false
	}
	if lost, _ := errors.AsType[*lostError](x.failure); lost != nil && lost.stale {
		return x.reconnect()
	}
	if !x.pause(ctx, e) || !x.reopen() {
		return false
	}
	return x.client.budget.spend()
}

// pause sets the pause before the next attempt. It reports false if that exceeds
// what the call allows.
func (x *exchange) pause(ctx context.Context, e *api.Error) bool {
	r := x.client.cfg.Retry
	x.wait = wait.Backoff{Base: r.Base, Cap: r.Cap}.Pause(x.attempt)
	if e != nil && e.Rate.RetryAfter > 0 {
		ordered := e.Rate.RetryAfter
		if x.maxWait < 0 {
			ordered = min(ordered, wait.MaxOrdered)
		} else if ordered > x.maxWait {
			return false
		}
		x.wait = max(x.wait, ordered)
		if e.Status == http.StatusTooManyRequests {
			x.wait = time.Until(e.Rate.Reset) // when the group opens again
		}
	}
	if dl, ok := ctx.Deadline(); ok && time.Until(dl) < x.wait {
		x.stopped = context.DeadlineExceeded
		return false
	}
	return true
}

// reconnect repeats an attempt on a connection that the server closed while it
// was idle. That takes no pause and nothing of the budget: each such connection
// has served a request before, so that repeats cannot outnumber answers. The last
// attempt does not use another idle connection, which may be closed as well.
func (x *exchange) reconnect() bool {
	if x.attempt == x.attempts-1 {
		x.client.CloseIdleConnections()
	}
	return x.reopen()
}

// refresh replaces a token that the response proves dead, once a call.
func (x *exchange) refresh(ctx context.Context) bool {
	source, ok := x.client.cfg.Tokens.(api.Refresher)
	if !ok || x.refreshed || x.token.AccessToken.IsZero() {
		return false
	}
	x.refreshed = true
	x.attempts++ // the one after the refresh does not count
	_, x.stopped = source.Refresh(ctx, x.token)
	x.observeRefresh(ctx, x.stopped)
	return x.stopped == nil && x.reopen()
}

// reopen opens the body for another attempt. A body that can be opened only once
// is sent once.
func (x *exchange) reopen() bool {
	if x.request.Body == nil {
		return true
	}
	err := x.open()
	if err != nil && !errors.Is(err, api.ErrBodyUsed) {
		x.stopped = err
	}
	return err == nil
}

// prepareRetry waits and prepares the next attempt, which is then held by the
// limiter and signed as the first one was.
func prepareRetry(req *http.Request) error {
	x := exchangeOf(req.Context())
	x.attempt++
	if x.stopped = x.sleep(req.Context()); x.stopped != nil {
		return x.stopped
	}
	x.fill(req)
	return nil
}

// sleep waits for the next attempt, but not for the limiter, which waits itself
// until a closed group opens.
func (x *exchange) sleep(ctx context.Context) error {
	e, _ := x.failure.(*api.Error) //nolint:errorlint // set by read, never wrapped
	if x.wait <= 0 || e != nil && e.Status == http.StatusTooManyRequests && e.Rate.RetryAfter > 0 {
		return nil
	}
	reason := api.WaitReasonBackoff
	if e != nil && e.Rate.RetryAfter == x.wait {
		reason = api.WaitReasonServer
	}
	x.observeWait(ctx, reason, x.wait)
	return wait.Sleep(ctx, x.wait)
}

// budget keeps retries to a small share of all calls when everything fails, so
// that an outage does not multiply the load. A retry costs 14 of 500 tokens; a
// call that succeeds returns one.
type budget struct{ spent atomic.Int64 }

const (
	budgetTokens = 500
	retryCost    = 14
)

func (b *budget) spend() bool {
	if b.spent.Add(retryCost) > budgetTokens {
		b.spent.Add(-retryCost)
		return false
	}
	return true
}

// refund returns a token after a success, unless none is missing.
func (b *budget) refund() {
	for n := b.spent.Load(); n > 0 && !b.spent.CompareAndSwap(n, n-1); {
		n = b.spent.Load()
	}
}
