package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/redact"
	"github.com/fastio-go/fastio/internal/wait"
)

// newRetry returns the retry loop, which calls [decide] after each attempt and
// [prepareRetry] before the next one. The backoff is in prepareRetry because only that
// has the context of the call, unlike the Backoff of retryablehttp.
func newRetry(client *http.Client) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient:   client,
		RetryMax:     math.MaxInt, // attempts are counted per call
		CheckRetry:   decide,
		Backoff:      func(time.Duration, time.Duration, int, *http.Response) time.Duration { return 0 },
		PrepareRetry: prepareRetry,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// decide reads the response of an attempt and decides whether to retry.
func decide(ctx context.Context, resp *http.Response, err error) (bool, error) {
	x := exchangeOf(ctx)
	x.wait, x.lost = 0, nil
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
		x.lost = lostBy(err)
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

// lostBy returns the error of the sender that http.Client returns as err, nil if
// middleware has returned another one.
func lostBy(err error) *lostError {
	if wrapped, ok := err.(*url.Error); ok { //nolint:errorlint // http.Client does not wrap it
		err = wrapped.Err
	}
	lost, _ := err.(*lostError) //nolint:errorlint // as above
	return lost
}

// An outcome classifies the failure of an attempt for retries.
type outcome uint8

const (
	final       outcome = iota // a retry would fail as well
	notSent                    // no byte of the request was sent
	rateLimited                // refused before processing
	ambiguous                  // the request may have been processed
)

// mayRepeat reports whether a request may be retried.
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
		case x.lost != nil && x.lost.unsent && x.unsettled.Load() == 0:
			return notSent
		}
		return ambiguous
	}
	switch {
	case e.Is(api.ErrUnavailable), e.Status == http.StatusInternalServerError:
		return ambiguous
	case e.Status == http.StatusTooManyRequests && wait.Windowed(e.Code):
		return rateLimited
	}
	return final
}

// retries decides whether to retry the failed attempt, and sets the delay.
func (x *exchange) retries(ctx context.Context) bool {
	e, answered := x.failure.(*api.Error) //nolint:errorlint // set by read, never wrapped
	if answered && e.Unauthenticated {
		return x.refresh(ctx)
	}
	if x.waitsForWindow(e) {
		x.attempts++
		return x.pause(ctx, e) && x.reopen()
	}
	if x.attempt >= x.attempts || !mayRepeat(x.request.Replay, x.outcome(e)) {
		return false
	}
	if x.lost != nil && x.lost.stale {
		return x.reconnect()
	}
	if !x.pause(ctx, e) || !x.reopen() {
		return false
	}
	return x.client.budget.spend()
}

// waitsForWindow reports whether the failed attempt was refused until a known time. To
// wait for that costs no attempt and no retry budget, unlike a retry after a failure:
// with several clients on one credential refusals are part of normal operation.
func (x *exchange) waitsForWindow(e *api.Error) bool {
	return x.attempts > 1 && e != nil && x.outcome(e) == rateLimited && wait.OnWindow(e)
}

// pause sets the delay of the next attempt. It returns false if the waits that the
// server requires exceed the limit of the call.
func (x *exchange) pause(ctx context.Context, e *api.Error) bool {
	r := x.client.cfg.Retry
	x.wait = wait.Backoff{Base: r.Base, Cap: r.Cap}.Pause(x.attempt)
	if e != nil && e.Rate.RetryAfter > 0 {
		ordered := e.Rate.RetryAfter
		if x.maxWait < 0 {
			ordered = min(ordered, wait.MaxOrdered)
		} else {
			x.ordered += ordered
			if x.ordered > x.maxWait {
				return false
			}
		}
		x.wait = max(x.wait, ordered)
		if e.Status == http.StatusTooManyRequests {
			x.wait, x.own = time.Until(e.Rate.Reset), ordered // when the group reopens
		}
	}
	if dl, ok := ctx.Deadline(); ok && time.Until(dl) < x.wait {
		x.stopped = context.DeadlineExceeded
		return false
	}
	return true
}

// reconnect retries an attempt on a connection that the server closed while it was
// idle. It needs no delay and no retry budget: each such connection has served a
// request before, so that these retries cannot outnumber responses. The last attempt
// does not use an idle connection, which may be closed as well.
func (x *exchange) reconnect() bool {
	if x.attempt == x.attempts-1 {
		x.client.CloseIdleConnections()
		x.unpooled = true
	}
	return x.reopen()
}

// refresh replaces a token that the response proves invalid, once per call.
func (x *exchange) refresh(ctx context.Context) bool {
	source, ok := x.client.cfg.Tokens.(api.Refresher)
	if !ok || x.refreshed || x.token.AccessToken.IsZero() {
		return false
	}
	x.refreshed = true
	x.attempts++ // the retry after the refresh does not count
	_, x.stopped = source.Refresh(ctx, x.token)
	x.observeRefresh(ctx, x.stopped)
	return x.stopped == nil && x.reopen()
}

// reopen opens the body for a retry. A body that can be opened only once is sent
// once.
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

// prepareRetry waits and prepares the next attempt, which then passes the limiter and
// the signer like the first one.
func prepareRetry(req *http.Request) error {
	x := exchangeOf(req.Context())
	x.attempt, x.started = x.attempt+1, time.Time{}
	x.stopped = x.sleep(req.Context())
	if x.stopped != nil {
		return x.stopped
	}
	x.fill(req)
	return nil
}

// sleep waits for the backoff. It does not wait for a closed group, because the
// limiter does.
func (x *exchange) sleep(ctx context.Context) error {
	e, _ := x.failure.(*api.Error) //nolint:errorlint // set by read, never wrapped
	if x.wait <= 0 || e != nil && e.Status == http.StatusTooManyRequests && e.Rate.RetryAfter > 0 {
		return nil
	}
	reason := api.WaitReasonBackoff
	if e != nil && e.Rate.RetryAfter == x.wait {
		reason = api.WaitReasonServer
	}
	x.observeWait(ctx, reason, 0, x.wait)
	return wait.Sleep(ctx, x.wait)
}

// budget limits retries to a small share of all calls during an outage, so that they
// do not multiply the load. A retry costs 14 of 500 tokens; a successful call
// returns one.
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

// refund returns a token after a success, up to the maximum.
func (b *budget) refund() {
	for n := b.spent.Load(); n > 0 && !b.spent.CompareAndSwap(n, n-1); {
		n = b.spent.Load()
	}
}
