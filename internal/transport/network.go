package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/redact"
)

// sender is the last step of the pipeline: it sends a request once, and keeps count of
// the sends that the server may have processed. Nothing else proves that a request was
// not sent: errors of middleware, of bodies and of other transports prove nothing.
//
// net/http retries a request when a connection fails or an HTTP/2 server refuses it,
// for some servers without limit. Only the retry loop may decide that, and it counts
// attempts. So net/http gets requests that it cannot retry: their body cannot be read
// again. A request without a body gets an empty one. Over HTTP/2 that costs a frame
// and half the time of a small call, so a safe request is sent without a body, and a
// [watcher] prevents the retry.
type sender struct {
	network http.RoundTripper
	netHTTP *http.Transport // network, if it is that of net/http, which supports httptrace; else nil
	h2c     bool            // network uses HTTP/2 without TLS

	emptyBody io.ReadCloser // of requests without a body: see unrepeatable
	identity  []string      // their TransferEncoding
}

// newSender returns the last step of the pipeline. Only an [http.Transport] (netHTTP) reports
// the steps of a request to httptrace; h2c reports whether it uses HTTP/2 without TLS.
func newSender(network http.RoundTripper) *sender {
	s := &sender{network: network}
	s.emptyBody, s.identity = io.NopCloser(http.NoBody), []string{"identity"} // made once for all requests
	s.netHTTP, _ = network.(*http.Transport)
	s.h2c = s.netHTTP != nil && s.netHTTP.Protocols != nil && s.netHTTP.Protocols.UnencryptedHTTP2()
	return s
}

var (
	errNoResponse = errors.New("the transport returned neither a response nor an error")
	errSentBefore = errors.New("middleware sent a request again that must be sent once")
)

// sendOnce sends a request. It counts the request as unsettled, unless it becomes certain
// that the server has not processed it. It refuses a second send if the request must be
// sent once, except to follow a redirect.
func (s *sender) sendOnce(x *exchange, req *http.Request) (*http.Response, error) {
	sends := x.unsettled.Add(1)
	followsRedirect := req.Response != nil // which net/http sets to the redirect
	if sends > 1 && x.request.Replay == api.ReplayOnce && !followsRedirect {
		x.unsettled.Add(-1)
		closeBody(req)
		return nil, errSentBefore
	}
	req, w, cancel := s.unrepeatable(x, req) // w observes the connection; cancel ends the attempt, and may be nil
	if body := x.blockingBody; body != nil { // until sendOnce returns, the body ends with the context of this attempt
		defer context.AfterFunc(req.Context(), func() { body.end(req.Context().Err()) })()
	}
	network := s.network
	if x.avoidsIdle && s.netHTTP != nil { // the server has closed idle connections: see retryStaleConn
		network = withoutIdle(s.netHTTP)
	}
	resp, err := network.RoundTrip(req)
	unprocessed := false // whether the server has certainly not processed the request
	switch {
	case err != nil:
		lost := w.classify(err)
		resp, err, unprocessed = nil, lost, lost.unsent
	case resp == nil:
		err = errNoResponse
	default:
		unprocessed = resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusTooManyRequests
	}
	if unprocessed {
		x.unsettled.Add(-1)
	}
	if err == nil && resp.Body != nil { // the attempt ends when this body has been read or closed
		if cancel != nil {
			resp.Body = &stream{ReadCloser: resp.Body, end: func(error) { cancel() }}
		}
		x.received = resp.Body
	} else if cancel != nil { // the attempt has ended
		cancel()
	}
	return resp, err
}

// withoutIdle returns a copy of a transport that has no idle connections and keeps none.
func withoutIdle(t *http.Transport) *http.Transport {
	fresh := t.Clone()
	fresh.DisableKeepAlives = true
	return fresh
}

// unrepeatable returns the request in a form that net/http cannot retry: with a body
// that cannot be read again. A request without a body gets an empty one, with one
// exception: in HTTP/2 the empty body costs a frame. So where HTTP/2 is possible, an
// idempotent request (not ReplayOnce) stays without a body, and w cancels the attempt when
// net/http retries. In any case w records the connection. w is nil unless the transport is
// that of net/http.
//
// The context of the request has the timeout of an attempt. cancel ends it, and is nil if
// there is nothing to end.
func (s *sender) unrepeatable(x *exchange, req *http.Request) (_ *http.Request, w *watcher, cancel context.CancelFunc) {
	timeout := cmp.Or(x.request.Attempt, x.client.timeout)
	hasNoBody := req.Body == nil || req.Body == http.NoBody
	mayBeHTTP2 := s.h2c || req.URL.Scheme == "https"
	watcherStops := hasNoBody && mayBeHTTP2 && s.netHTTP != nil && x.request.Replay != api.ReplayOnce
	ctx := req.Context()
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	} else if watcherStops || closeWaitsForRead { // cancel ends a retry, or a Read that Close would wait for
		ctx, cancel = context.WithCancel(ctx)
	}
	if s.netHTTP != nil {
		w = &watcher{cancel: cancel, h2c: s.h2c, bodyCannotFail: hasNoBody || inMemory(req.Body)}
		w.trace.GetConn, w.trace.GotConn = w.getConn, w.gotConn
		if watcherStops {
			w.trace.WroteHeaders = w.wroteHeaders
		}
		ctx = httptrace.WithClientTrace(ctx, &w.trace)
	}
	req = req.WithContext(ctx) // net/http uses the original to follow a redirect
	req.GetBody = nil
	if hasNoBody && !watcherStops { // the header that is sent must be the same as without a body
		req.Body, req.TransferEncoding = s.emptyBody, s.identity // else it would be sent in chunks
		switch req.Method {
		case http.MethodPost, http.MethodPut, http.MethodPatch: // HTTP/1 requires a length of 0
			// net/http drops the name Content-Length, but not this spelling. HTTP/2 drops both.
			req.Header["content-length"] = []string{"0"}
		}
	}
	return req, w, cancel
}

// watcher records the connection of a request, and cancels the attempt if net/http
// uses a second one: TestHTTP2FaultsAreNotRepeatedByTheTransport counts them.
type watcher struct {
	trace          httptrace.ClientTrace
	cancel         context.CancelFunc // of the attempt
	h2c            bool
	bodyCannotFail bool // reading the body cannot fail

	askedForConn bool                  // for a connection; a protocol of RegisterProtocol does not
	conn         httptrace.GotConnInfo // the first; without a Conn until then
	wroteHeader  atomic.Bool           // a header was written
	stoppedRetry bool
}

func (w *watcher) getConn(string) { w.askedForConn = true }

// gotConn is called with each connection of the request. A second one after a header was
// written means that net/http retries, which must not happen: gotConn cancels the
// attempt. HTTP/2 then writes no request, because it checks the context before. HTTP/1
// does not check it, so gotConn closes the connection, which no other request uses.
func (w *watcher) gotConn(info httptrace.GotConnInfo) {
	if !w.wroteHeader.Load() {
		w.conn = info
		return
	}
	w.stoppedRetry = true
	w.cancel()
	if w.isHTTP1(info.Conn) {
		_ = info.Conn.Close()
	}
}

func (w *watcher) wroteHeaders() { w.wroteHeader.Store(true) }

// isHTTP1 reports whether a connection speaks HTTP/1: with TLS, both sides have agreed
// on the protocol, and without TLS it is HTTP/1 unless the transport uses HTTP/2 there.
func (w *watcher) isHTTP1(conn net.Conn) bool {
	if secure, ok := conn.(*tls.Conn); ok {
		return secure.ConnectionState().NegotiatedProtocol != "h2"
	}
	return conn != nil && !w.h2c
}

// classify returns an error of the network with what it proves about the request: that no byte
// of it was sent (unsent), and that the connection had been used before (reusedConn), so that
// the server may have closed it as an idle one. If net/http has looked for a connection and
// found none, nothing was sent. After it has found one, an error of reading the request body
// looks like an error of the connection. So then an error proves that nothing was sent only if
// the body cannot fail. A nil w, for a transport that is not of net/http, proves nothing.
//
// An HTTP/2 server can report an unprocessed request (REFUSED_STREAM, GOAWAY). That is
// no proof, because a proxy can report it as well.
func (w *watcher) classify(err error) *lostError {
	lost := &lostError{err: causeOf(err)}
	if w == nil {
		return lost
	}
	http1 := w.isHTTP1(w.conn.Conn)
	reused := http1 && w.conn.Reused
	op, isOp := errors.AsType[*net.OpError](err)
	text := err.Error()
	wasClosedIdle := text == "http: server closed idle connection" // net/http does not export this error
	switch {
	case w.conn.Conn == nil: // no connection was found; a protocol of RegisterProtocol sends without asking for one
		lost.unsent = w.askedForConn
	case w.stoppedRetry && http1: // the connection was closed; err is only that of the retry, which gotConn has stopped
		lost.err, lost.reusedConn = errClosed, reused
	case w.stoppedRetry: // the same over HTTP/2: the server has ended the stream, and not an idle connection
		lost.err = errEnded
	case wasClosedIdle: // before anything was written
		lost.unsent, lost.reusedConn = w.bodyCannotFail, true
	case isOp && op.Op == "write" && http1:
		partly := strings.HasPrefix(text, "net/http: ") // which net/http adds if bytes were written before
		lost.unsent, lost.reusedConn = w.bodyCannotFail && !partly, reused
	case isOp && !op.Timeout(), err == io.EOF: //nolint:errorlint // the connection broke; net/http does not wrap EOF
		lost.reusedConn = reused
	}
	return lost
}

// causeOf replaces two errors of net/http, and returns any other unchanged. For a reply
// without TLS it returns http.ErrSchemeMismatch, as http.Client does. For an error that
// only says that a request cannot be sent again, it returns the cause from its text.
func causeOf(err error) error {
	if notTLS, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(notTLS.RecordHeader[:]) == "HTTP/" {
		return http.ErrSchemeMismatch
	}
	cause, unrepeated := strings.CutPrefix(err.Error(), "http2: Transport: cannot retry err [")
	if !unrepeated {
		return err
	}
	cause, _, _ = strings.Cut(cause, "] after Request.Body was written")
	return errors.New(cause)
}

const idleConns = 512 // 100 are too few for 256 goroutines

// newNetwork returns the default transport of a client. [http.DefaultTransport] keeps
// two idle connections per host and is shared with the program. A broken connection
// is detected within 30 seconds, even during a long poll.
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
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence},
		MaxIdleConns:          idleConns,
		MaxIdleConnsPerHost:   idleConns,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		ResponseHeaderTimeout: 125 * time.Second, // the longest poll takes 95 s
	}
}

// fixLocation keeps the address of a redirect that may be followed to another origin in
// x.redirectTo. It deletes the Location of a request with Hop, because the address is a
// secret, and an invalid Location, because the error of net/http would contain it.
func (x *exchange) fixLocation(resp *http.Response) {
	to, err := resp.Location()
	x.redirectTo = nil
	mayFollow := x.request.Hop && x.request.Method == http.MethodGet && resp.StatusCode == http.StatusTemporaryRedirect
	if err == nil && mayFollow {
		x.redirectTo = to
	}
	if err != nil || x.request.Hop {
		resp.Header.Del("Location")
	}
}

// checkRedirect follows up to 10 redirects within one origin, and only for requests
// without a body and without a secret in the header or path. If a request with Hop, such as a
// download, is redirected, the new address is a secret: checkRedirect does not follow, and
// followRedirect requests that address. The response of any other redirect becomes an error.
func checkRedirect(req *http.Request, via []*http.Request) error {
	const most = 10
	first := via[0]
	x, _ := first.Context().Value(exchangeKey{}).(*exchange)
	path, _ := x.request.Path.Split()
	hasSecret := !linkSecret(&x.options).IsZero() || redact.Path(path) != path
	leaves := req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || req.URL.User != nil
	if len(via) >= most || first.Method != http.MethodGet || x.request.Hop || hasSecret || leaves {
		return http.ErrUseLastResponse
	}
	return nil
}
