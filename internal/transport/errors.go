package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/redact"
	"github.com/fastio-go/fastio/internal/wait"
)

// callError adds the operation to an error and wraps it.
type callError struct {
	op   string
	text string // in place of the text of err, which may contain a secret; "" if that may be shown
	err  error
	last error // failure of the last attempt, or the refusal that closed the rate group; may be nil
}

// Error returns the operation, the text of the error, and that of the failure before it
// (last). If e.text is set, it replaces the text of e.err, which may contain a secret.
func (e *callError) Error() string {
	s := "fastio: " + e.op + ": " + cmp.Or(e.text, call.Within(e.op, e.err))
	if e.last != nil {
		s += " (after " + call.Within(e.op, e.last) + ")"
	}
	return s
}

// Unwrap returns the error, and the failure before it (last) if there was one.
func (e *callError) Unwrap() []error {
	if e.last == nil {
		return []error{e.err}
	}
	return []error{e.err, e.last}
}

// unsentError is a failure of the pipeline itself: nothing was sent, and a retry
// would fail as well.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// refuse ends a request with err before it is sent.
func refuse(req *http.Request, err error) error {
	closeBody(req)
	return &unsentError{err}
}

// closeBody closes the body of a request, if it has one.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// lostError is an error of the transport, with what the sender knows of the request.
type lostError struct {
	err        error
	unsent     bool // no byte of it was sent
	reusedConn bool // the connection was reused
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

var (
	errClosed = errors.New("the connection was closed before a response arrived")
	errEnded  = errors.New("the server ended the stream without a response")
)

// refusal returns the response as an error, with the secrets of the call masked. It
// also records a 429 in the rate group.
func (x *exchange) refusal() *api.Error {
	secrets := x.secretsInResponse()
	secrets.Cut = len(x.body) >= maxError // the last secret may be incomplete
	body := secrets.JSON(x.body[:min(len(x.body), maxError)])
	e := decode.Error(x.response.Header.Get("Content-Type"), body)
	e.Op, e.Status, e.Attempts = x.request.Op, x.response.StatusCode, x.attempt
	e.RequestID = secrets.Text(x.response.Header.Get("X-Request-Id"))
	e.Body = bytes.Clone(body[:min(len(body), maxError)])                       // masks may be longer than the secrets
	delay := cmp.Or(e.Rate.RetryAfter, retryAfter(x.response, &x.client.clock)) // the body has precedence
	e.Rate = x.rate
	e.Rate.RetryAfter = delay
	hasStatusOfSuccess := e.Status < http.StatusMultipleChoices // then the body reports a failure
	if hasStatusOfSuccess && e.Text == "" && e.Name == "" {
		e.Text = decode.FailedResult(body)
	}
	isRedirect := e.Status/100 == 3 && e.Status != http.StatusNotModified // which answers an If-None-Match
	if isRedirect && e.Text == "" {
		e.Text = "a redirect that is not followed, as of a wrong address or a proxy"
	}
	// The code of an unavailable service, with any status, does not concern the credential.
	if e.Status == http.StatusUnauthorized && !e.Is(api.ErrUnavailable) {
		noCredential := x.token.AccessToken.IsZero() && x.request.Credential.IsZero()
		e.Unauthenticated = noCredential || provesInvalidToken(e) || x.token.Expired() // else it lacks a permission
	}
	if e.Status == http.StatusTooManyRequests {
		x.recordRefusal(e)
	}
	return e
}

// recordRefusal records a 429 in the rate group, which closes for the Retry-After if a
// rate window is full, and in the Limiter of the program, if there is one.
func (x *exchange) recordRefusal(e *api.Error) {
	limit, shared := x.rate, x.client.cfg.Limiter
	if wait.MeansFullWindow(e.Code) && e.Rate.RetryAfter > 0 {
		limit.RetryAfter = e.Rate.RetryAfter
		if shared == nil { // else the Limiter divides the window in place of the group
			x.group.Refused(x.slot, x.rate.Limit, x.rate.Reset)
		}
		x.group.closeFor(e) // with a Limiter too: the Retry-After holds for this client in any case
	}
	x.tellLimiter(limit)
}

// withOp adds the operation to an error, and the failure of the last attempt if there
// was one. If the call did not start because its rate group is closed, it returns the
// refusal that closed the group. If the group opens only after the deadline of the call,
// it returns context.DeadlineExceeded with that refusal.
func (x *exchange) withOp(err error) error {
	err = redact.Cause(err)
	if e, ok := errors.AsType[*api.InputError](err); ok && e.Op == "" {
		named := *e
		named.Op = x.request.Op
		return &named
	}
	last := x.failure
	if errors.Is(err, ratelimit.ErrClosed) {
		refusal := x.group.refusalFor(x.request.Op, x.sent)
		waitExceedsDeadline := errors.Is(err, context.DeadlineExceeded)
		if !waitExceedsDeadline {
			return refusal
		}
		err, last = context.DeadlineExceeded, refusal
	}
	if errors.Is(last, err) { // the attempt has failed with err itself, such as the end of the context
		last = nil
	}
	return &callError{op: x.request.Op, err: err, last: last}
}

// secretsInResponse returns the secrets that are masked in the response: the credentials, and
// the values of secret fields in the request.
func (x *exchange) secretsInResponse() *redact.Words {
	r := x.request
	w := new(redact.Words)
	w.AddHeader(http.Header{headerAuthorization: {r.Credential.Reveal()}, headerPassword: {linkSecret(&x.options).Reveal()}})
	w.Add(x.token.AccessToken.Reveal())
	w.AddValues(r.Query)
	path, _ := r.Path.Split()
	w.AddPath(path)
	if r.Body != nil && redact.Searches(r.Body.ContentType()) {
		if contentType, content, err := call.Encode(r.Body); err == nil {
			w.AddBody(contentType, content)
		}
	}
	return w
}

// provesInvalidToken reports whether a 401 proves that the token is invalid.
func provesInvalidToken(e *api.Error) bool {
	return e.Code == codes.BadToken || e.Code == codes.DeadToken
}

// TokenInvalid reports whether the body of a 401 proves that the token is invalid.
func TokenInvalid(contentType string, body []byte) bool {
	return provesInvalidToken(decode.Error(contentType, body))
}

// masked adds the operation to an error, whose text may contain secrets.
func (x *exchange) masked(err error) error {
	return &callError{op: x.request.Op, err: x.secretsInResponse().Error(err)}
}

// undecodable returns the error of a body that could not be decoded, without its content.
func (x *exchange) undecodable(err error) error {
	err = decode.Masked(err)
	if isPage := bytes.HasPrefix(bytes.TrimSpace(x.body), []byte("<")); isPage {
		err = fmt.Errorf("the response is a web page, as of a wrong address or a proxy: %w", err)
	}
	return x.masked(err)
}
