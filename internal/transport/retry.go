package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/redact"
	"github.com/fastio-go/fastio/internal/wait"
)

const (
	codeUnparseable = 10001  // the bearer is not a token
	codeDead        = 10011  // the bearer is missing, unknown or revoked
	codeInProgress  = 145858 // a 429 that asks to wait for one's own other call
	codeLocked      = 10760  // a 429 to whoever names an account after too many wrong passwords
)

// checkRetry is where an attempt ends: it reads the answer and decides whether
// there is another.
func checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	k := callOf(ctx)
	k.wait = 0
	unsent, stayed := errors.AsType[*unsentError](err)
	if !stayed {
		k.sent = k.attempt
	}
	switch {
	case stayed:
		k.stopped = unsent.err
	case err != nil && k.Err() != nil:
		k.stopped = k.Err()
	case err != nil:
		k.failure = &callError{op: k.request.Op, err: k.secrets().Error(redact.Cause(err))}
	default:
		k.failure = k.read(resp)
	}
	k.logAttempt()
	switch {
	case k.stopped != nil:
	case k.failure == nil:
		return false, nil
	case k.Err() != nil:
		k.stopped = k.Err()
	case k.again():
		k.observeRetry()
		return true, nil
	}
	return false, k.stopped
}

// again decides whether the failed attempt is repeated, and after what pause.
func (k *call) again() bool {
	e, answered := k.failure.(*api.Error) //nolint:errorlint // set by read, never wrapped
	if answered && e.Unauthenticated {
		return k.refresh()
	}
	if k.attempt >= k.attempts() || !k.repeatable(e) {
		return false
	}
	if lost, _ := errors.AsType[*lostError](k.failure); lost != nil && lost.stale {
		return k.reconnect()
	}
	k.wait = k.backoff()
	if answered && e.Rate.RetryAfter > 0 {
		most, ordered := k.maxWait(), e.Rate.RetryAfter
		if most < 0 {
			ordered = min(ordered, wait.MaxOrdered)
		} else if ordered > most {
			return false
		}
		k.wait = max(k.wait, ordered)
		if e.Status == http.StatusTooManyRequests {
			k.wait = time.Until(e.Rate.Reset) // when the group opens again
		}
	}
	if dl, ok := k.Deadline(); ok && time.Until(dl) < k.wait {
		k.stopped = context.DeadlineExceeded
		return false
	}
	return k.client.budget.spend()
}

// reconnect repeats an attempt on a connection that the server closed while it
// was idle. That takes no pause and nothing of the budget: each such connection
// has served a request before, so that repeats cannot outnumber answers. The last
// attempt does not use another idle connection, which may be closed as well.
func (k *call) reconnect() bool {
	if k.attempt == k.attempts()-1 {
		k.client.CloseIdleConnections()
	}
	return true
}

// repeatable reports whether sending the request again is allowed by what the
// last attempt ended with: e, or a failure without an answer when e is nil.
func (k *call) repeatable(e *api.Error) bool {
	once := k.request.Replay == api.ReplayOnce
	if e == nil {
		return !hopeless(k.failure) && (!once || NeverSent(k.failure))
	}
	switch e.Status {
	case http.StatusTooManyRequests: // refused before any work was done
		return ofWindows(e.Code)
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return !once
	}
	return false
}

// ofWindows reports whether a 429 says that the rate windows have no room.
func ofWindows(code int64) bool { return code != codeInProgress && code != codeLocked }

// hopeless failures end the same way each time.
func hopeless(err error) bool {
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	return badCertificate || errors.Is(err, http.ErrSchemeMismatch) || errors.Is(err, api.ErrTooLarge)
}

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

// refresh replaces a token that the answer proves dead, once a call.
func (k *call) refresh() bool {
	source, ok := k.client.cfg.Tokens.(api.Refresher)
	if !ok || k.refreshed || k.token.AccessToken.IsZero() {
		return false
	}
	k.refreshed = true
	_, k.stopped = source.Refresh(k, k.token)
	k.observeRefresh(k.stopped)
	return k.stopped == nil
}

// attempts returns how often the request may be sent. The repeat after a
// refresh is not one of them.
func (k *call) attempts() int {
	n := k.client.cfg.Retry.Attempts
	if k.request.Options.Attempts > 0 {
		n = k.request.Options.Attempts
	}
	if k.refreshed {
		n++
	}
	return n
}

func (k *call) maxWait() time.Duration {
	if k.request.Options.MaxWait != 0 {
		return k.request.Options.MaxWait
	}
	return k.client.cfg.MaxWait
}

// backoff is a pause with full jitter: many clients that fail together do not
// come back together.
func (k *call) backoff() time.Duration {
	r := k.client.cfg.Retry
	return wait.Backoff{Base: r.Base, Cap: r.Cap}.Pause(k.attempt)
}

// prepareRetry waits before an attempt is repeated, unless the group is closed
// for that long anyway.
func prepareRetry(req *http.Request) error {
	k := callOf(req.Context())
	k.attempt++
	var err error
	if req.Header, err = k.requestHeader(); err != nil { // it was good for the first attempt
		return err
	}
	e, _ := k.failure.(*api.Error) //nolint:errorlint // set by read, never wrapped
	if k.wait <= 0 || e != nil && e.Status == http.StatusTooManyRequests && e.Rate.RetryAfter > 0 {
		return nil
	}
	reason := api.WaitReasonBackoff
	if e != nil && e.Rate.RetryAfter == k.wait {
		reason = api.WaitReasonServer
	}
	k.observeWait(reason, k.wait)
	t := time.NewTimer(k.wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-k.Done():
		k.stopped = k.Err()
		return k.stopped
	}
}

// budget keeps retries to a small share of all calls when everything fails, so
// that an outage does not multiply the load. A retry costs 14 of 500 tokens; a
// call that succeeds returns one.
type budget struct{ spent *atomic.Int64 }

const (
	budgetTokens = 500
	retryCost    = 14
)

func newBudget() budget { return budget{new(atomic.Int64)} }

func (b budget) spend() bool {
	if b.spent.Add(retryCost) > budgetTokens {
		b.spent.Add(-retryCost)
		return false
	}
	return true
}

func (b budget) succeed() {
	for n := b.spent.Load(); n > 0 && !b.spent.CompareAndSwap(n, n-1); {
		n = b.spent.Load()
	}
}

// logAttempt tells the logger how an attempt ended: never a query, a header, a
// body or the path with its ids.
func (k *call) logAttempt() {
	log := k.client.cfg.Logger
	if log == nil || !log.Enabled(k, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("op", k.request.Op), slog.String("method", k.request.Method),
		slog.String("route", k.request.Path.Template()), slog.Int("attempt", k.attempt), slog.Int("status", k.status),
	}
	if err := cmp.Or(k.stopped, k.failure); err != nil {
		attrs = append(attrs, slog.Any("err", redact.Cause(err)))
	}
	log.LogAttrs(k, slog.LevelDebug, "fastio call", attrs...)
}
