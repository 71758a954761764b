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
	"net/url"
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
	traced  *http.Transport // network, if it is of net/http, with httptrace
	h2c     bool            // network uses HTTP/2 without TLS
	timeout time.Duration   // of an attempt, including its body; 0 means none

	emptyBody io.ReadCloser
	identity  []string
}

// newSender returns the step for attempts with a timeout.
func newSender(network http.RoundTripper, timeout time.Duration) *sender {
	s := &sender{network: network, timeout: timeout, emptyBody: io.NopCloser(http.NoBody), identity: []string{"identity"}}
	s.traced, _ = network.(*http.Transport)
	s.h2c = s.traced != nil && s.traced.Protocols != nil && s.traced.Protocols.UnencryptedHTTP2()
	return s
}

var (
	errNoResponse = errors.New("the transport returned neither a response nor an error")
	errSentBefore = errors.New("middleware sent a request again that must be sent once")
)

// sendOnce sends a request, and counts it as unsettled as long as the server may have
// processed it. It refuses a second one if the request must be sent once.
func (s *sender) sendOnce(x *exchange, req *http.Request) (*http.Response, error) {
	if x.unsettled.Add(1) > 1 && x.request.Replay == api.ReplayOnce && req.Response == nil { // it follows no redirect
		x.unsettled.Add(-1)
		closeBody(req)
		return nil, errSentBefore
	}
	req, w, cancel := s.guard(x, req)
	if x.reader != nil {
		defer x.reader.endWith(req.Context())()
	}
	network := s.network
	if x.unpooled && s.traced != nil { // uses and keeps no idle connections
		t := s.traced.Clone()
		t.DisableKeepAlives = true
		network = t
	}
	resp, err := network.RoundTrip(req)
	unsent := false
	switch {
	case err != nil:
		lost := w.explain(err)
		resp, err, unsent = nil, lost, lost.unsent
	case resp == nil:
		err = errNoResponse
	default:
		unsent = resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusTooManyRequests
	}
	if unsent { // or refused without being processed
		x.unsettled.Add(-1)
	}
	if err == nil && resp.Body != nil {
		if cancel != nil {
			resp.Body = &stream{ReadCloser: resp.Body, end: func(error) { cancel() }}
		}
		x.received = resp.Body
	} else if cancel != nil {
		cancel()
	}
	return resp, err
}

// guard returns the request in a form that net/http cannot retry: it has a body that
// cannot be read again, if need be an empty one, or a watcher that stops a second
// connection. The context has the timeout of an attempt, and cancel ends it (nil
// without a timeout and a watcher that stops). w is nil for another transport than that
// of net/http.
func (s *sender) guard(x *exchange, req *http.Request) (_ *http.Request, w *watcher, cancel context.CancelFunc) {
	timeout := cmp.Or(x.request.Attempt, s.timeout)
	empty := req.Body == nil || req.Body == http.NoBody
	mayBeHTTP2 := s.h2c || req.URL.Scheme == "https"
	stops := empty && x.request.Replay != api.ReplayOnce && s.traced != nil && mayBeHTTP2
	ctx := req.Context()
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	} else if stops {
		ctx, cancel = context.WithCancel(ctx)
	}
	if s.traced != nil {
		w = &watcher{cancel: cancel, h2c: s.h2c, harmless: empty || req.Body == x.memory}
		w.trace.GetConn, w.trace.GotConn = w.getConn, w.gotConn
		if stops {
			w.trace.WroteHeaders = w.wroteHeaders
		}
		ctx = httptrace.WithClientTrace(ctx, &w.trace)
	}
	req = req.WithContext(ctx) // net/http uses the original to follow a redirect
	req.GetBody = nil
	if empty && !stops { // the header is the same as without a body
		req.Body, req.TransferEncoding = s.emptyBody, s.identity // instead of chunks
		switch req.Method {
		case http.MethodPost, http.MethodPut, http.MethodPatch:
			// HTTP/1 sends it; net/http would drop the canonical name. HTTP/2 drops both.
			req.Header["content-length"] = []string{"0"}
		}
	}
	return req, w, cancel
}

// watcher records the connection of a request, and cancels the attempt if net/http
// uses a second one: TestHTTP2FaultsAreNotRepeatedByTheTransport counts them.
type watcher struct {
	trace    httptrace.ClientTrace
	cancel   context.CancelFunc // of the attempt
	h2c      bool
	harmless bool // reading the body cannot fail

	asked   bool                  // for a connection; a protocol of RegisterProtocol does not
	conn    httptrace.GotConnInfo // the first; without a Conn until then
	wrote   atomic.Bool           // a header was written
	stopped bool
}

func (w *watcher) getConn(string) { w.asked = true }

// gotConn is called with each connection of the request. HTTP/2 checks the context
// before it writes a request. HTTP/1 does not, but there the connection is not
// shared, and closing it prevents the request.
func (w *watcher) gotConn(info httptrace.GotConnInfo) {
	if !w.wrote.Load() {
		w.conn = info
		return
	}
	w.stopped = true
	w.cancel()
	if w.isHTTP1(info.Conn) {
		_ = info.Conn.Close()
	}
}

func (w *watcher) wroteHeaders() { w.wrote.Store(true) }

// isHTTP1 reports whether a connection speaks HTTP/1: with TLS, both sides have agreed
// on the protocol, and without TLS it is HTTP/1 unless the transport uses HTTP/2 there.
func (w *watcher) isHTTP1(conn net.Conn) bool {
	if secure, ok := conn.(*tls.Conn); ok {
		return secure.ConnectionState().NegotiatedProtocol != "h2"
	}
	return conn != nil && !w.h2c
}

// explain classifies an error of the transport. Some of net/http's have no exported
// type or are not wrapped. That of a body looks like one of the connection, unless the
// body cannot fail. Of another transport than net/http's (w is nil) nothing is known.
//
// An HTTP/2 server can report an unprocessed request (REFUSED_STREAM, GOAWAY). That is
// no proof, because a proxy can report it as well.
func (w *watcher) explain(err error) *lostError {
	lost := &lostError{err: causeOf(err)}
	if w == nil {
		return lost
	}
	http1 := w.isHTTP1(w.conn.Conn)
	reused := http1 && w.conn.Reused
	op, isOp := errors.AsType[*net.OpError](err)
	text := err.Error()
	switch {
	case w.conn.Conn == nil:
		lost.unsent = w.asked
	case w.stopped && http1:
		lost.err, lost.stale = errClosed, reused
	case w.stopped:
		lost.err = errEnded
	case text == "http: server closed idle connection": // before anything was written
		lost.unsent, lost.stale = w.harmless, true
	case isOp && op.Op == "write" && http1:
		partly := strings.HasPrefix(text, "net/http: ")
		lost.unsent, lost.stale = w.harmless && !partly, reused
	case isOp && !op.Timeout(), err == io.EOF: //nolint:errorlint // net/http does not wrap it
		lost.stale = reused
	}
	return lost
}

// causeOf returns the reason for which net/http did not send a request again, or reports
// that the server speaks no TLS, as http.Client does. It returns another error unchanged.
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

const (
	idleConns     = 512 // 100 are too few for 256 goroutines
	headerTimeout = 125 * time.Second
)

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
		ResponseHeaderTimeout: headerTimeout, // the longest poll takes 95 s
	}
}

// fixLocation deletes an invalid Location, so that the error does not contain it, as
// that of net/http would. That of a hop is a secret: it is only in x.away.
func (x *exchange) fixLocation(resp *http.Response, base *url.URL) {
	location := resp.Header.Get("Location")
	to, err := base.Parse(location)
	x.away = nil
	mayFollow := x.request.Hop && x.request.Method == http.MethodGet && resp.StatusCode == http.StatusTemporaryRedirect
	if err == nil && location != "" && mayFollow {
		x.away = to
	}
	if err != nil || x.request.Hop {
		resp.Header.Del("Location")
	}
}

// checkRedirect follows redirects within one origin, and only for requests without
// data and without a secret in the path. Any other redirect becomes an error.
func checkRedirect(req *http.Request, via []*http.Request) error {
	const most = 10
	first := via[0]
	x, _ := first.Context().Value(exchangeKey{}).(*exchange)
	path, _ := x.request.Path.Split()
	hasSecret := x.request.Hop || !linkSecret(&x.options).IsZero() || redact.Path(path) != path
	leaves := req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || req.URL.User != nil
	if len(via) >= most || first.Method != http.MethodGet || hasSecret || leaves {
		return http.ErrUseLastResponse
	}
	return nil
}
