package otelfastio

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/fastio-go/fastio"
)

// Transport returns a round tripper that reports each request. It is the middleware of
// [Telemetry.Option], and for requests that no client sends, such as those of a login
// and of its refreshes:
//
//	config.HTTPClient = &http.Client{Transport: telemetry.Transport(http.DefaultTransport)}
func (t *Telemetry) Transport(next http.RoundTripper) http.RoundTripper { return &transport{t, next} }

type transport struct {
	*Telemetry
	next http.RoundTripper
}

// RoundTrip sends a request in a span of its own, which ends when the body of
// the response was read or closed, or with a response that switches protocols.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a := &attempt{transport: t, call: callOf(req.Context()), begin: time.Now()}
	if a.call != nil { // nil for a request outside of a call of the client
		a.call.endWait(a.begin)
	}
	ctx := a.start(req.Context(), req)
	sent := req.WithContext(ctx)
	sent.Header = maps.Clone(req.Header)
	t.inject(ctx, sent.Header)
	failure := errNoResponse // if next panics, or returns neither a response nor an error
	defer func() {
		if failure != nil {
			a.end(failure)
		}
	}()
	resp, err := t.next.RoundTrip(sent)
	if resp != nil || err != nil {
		failure = err
		a.record(ctx, resp, err)
	}
	switch {
	case resp == nil || err != nil:
	case resp.StatusCode == http.StatusSwitchingProtocols: // the body is the connection, and is written too
		a.end(nil)
	default:
		resp.Body = &body{ReadCloser: cmp.Or[io.ReadCloser](resp.Body, http.NoBody), attempt: a}
	}
	return resp, err
}

var errNoResponse = errors.New("the transport returned neither a response nor an error")

// attempt is a request that was sent, or waits to be.
type attempt struct {
	*transport
	call *call // or nil

	span  trace.Span
	begin time.Time
	attrs []attribute.KeyValue // of the metric
	once  sync.Once            // a body may be closed while it is read
}

// start begins the span of a request, and returns a context with it. It sets a.attrs, the
// attributes of the metrics of the request: only those with few different values.
func (a *attempt) start(ctx context.Context, req *http.Request) context.Context {
	info, _ := fastio.CallFromContext(ctx)
	method, name := semconv.HTTPRequestMethodKey.String(req.Method), req.Method
	if !known(req.Method) {
		method, name = semconv.HTTPRequestMethodOther, "HTTP"
	}
	attrs := make([]attribute.KeyValue, 0, 7)
	attrs = append(attrs, method, semconv.ServerAddress(req.URL.Hostname()), semconv.ServerPort(port(req.URL)),
		semconv.URLScheme(req.URL.Scheme))
	if info.Route != "" {
		template := semconv.URLTemplate(basePath(req.URL.EscapedPath(), info.Route) + info.Route)
		name += " " + template.Value.AsString()
		attrs = append(attrs, template)
		if a.call != nil {
			a.call.span.SetAttributes(template)
		}
	}
	a.attrs = slices.Clip(attrs) // the attributes appended below are for the span alone
	if method == semconv.HTTPRequestMethodOther {
		attrs = append(attrs, semconv.HTTPRequestMethodOriginal(req.Method))
	}
	if info.Op != "" {
		attrs = append(attrs, operationKey.String(info.Op))
	}
	if info.Attempt > 1 {
		attrs = append(attrs, semconv.HTTPRequestResendCount(info.Attempt-1))
	}
	ctx, a.span = a.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	return ctx
}

// basePath returns the part of a path before that of a route, such as a prefix
// of all paths. It returns "" if the path does not end with the route, as after
// a redirect. A placeholder of the route, as in /nodes/{node_id}/, stands for
// any one segment.
func basePath(path, route string) string {
	base := len(path)
	for range strings.Count(route, "/") { // as many segments from the end as the route has
		base = strings.LastIndexByte(path[:base], '/')
		if base < 0 {
			return ""
		}
	}
	rest := path[base:]
	for route != "" { // segment by segment: two slices of all segments would cost memory for each request
		var part, want string
		part, rest, _ = strings.Cut(rest, "/")
		want, route, _ = strings.Cut(route, "/")
		isPlaceholder := strings.HasPrefix(want, "{")
		if part != want && !isPlaceholder {
			return ""
		}
	}
	return path[:base]
}

// record measures the duration of a request, when its response header has arrived or it has
// failed. The duration begins when the request was sent, after the waits for rate limits. A
// request that was not sent is not measured. record also sets the status of the span from the
// response; after an error, end sets it.
func (a *attempt) record(ctx context.Context, resp *http.Response, err error) {
	now := time.Now()
	info, ofClient := fastio.CallFromContext(ctx)
	wasSent := !ofClient || !info.Sent.IsZero() // requests outside of the client have no time of sending
	sent := a.begin
	if info.Sent.After(sent) { // an earlier info.Sent is that of another request, which was redirected to this one
		sent = info.Sent
	}
	if a.call != nil && wasSent {
		a.call.endWait(sent)
	}
	measures := a.requests.Enabled(ctx) && wasSent
	switch {
	case !measures && !a.span.IsRecording():
		return
	case err == nil:
		result := status(resp)
		a.span.SetAttributes(result...)
		if resp.StatusCode >= http.StatusBadRequest {
			a.span.SetStatus(codes.Error, "")
		}
		a.attrs = append(a.attrs, result...)
	default:
		a.attrs = append(a.attrs, semconv.ErrorTypeKey.String(errorType(err)))
	}
	if measures {
		a.requests.Record(ctx, now.Sub(sent).Seconds(), metric.WithAttributes(a.attrs...))
	}
}

// status returns the attributes for the status of a response.
func status(resp *http.Response) []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		semconv.HTTPResponseStatusCode(resp.StatusCode), semconv.NetworkProtocolVersion(version(resp)),
	}
	if resp.StatusCode >= http.StatusBadRequest {
		attrs = append(attrs, semconv.ErrorTypeKey.String(strconv.Itoa(resp.StatusCode)))
	}
	return attrs
}

// version returns the HTTP version of a response, such as "1.1" or "2".
func version(resp *http.Response) string {
	if resp.ProtoMajor > 1 {
		return strconv.Itoa(resp.ProtoMajor)
	}
	return strconv.Itoa(resp.ProtoMajor) + "." + strconv.Itoa(resp.ProtoMinor)
}

// end ends the span of the attempt with an error or nil; a further use does nothing. It sets
// the lastEnd of the call: if the token was refused, the refresh of the token begins then.
func (a *attempt) end(err error) {
	a.once.Do(func() {
		fail(a.span, err)
		a.span.End()
		if a.call != nil {
			a.call.mu.Lock()
			a.call.lastEnd = time.Now()
			a.call.mu.Unlock()
		}
	})
}

// body ends the attempt when it has ended or is closed.
type body struct {
	io.ReadCloser
	attempt *attempt
}

// Read ends the span of the attempt at the end of the body, or with an error.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch err {
	case nil:
	case io.EOF:
		b.attempt.end(nil)
	default:
		b.attempt.end(err)
	}
	return n, err
}

func (b *body) Close() error {
	defer b.attempt.end(nil)
	return b.ReadCloser.Close()
}

// known reports whether an HTTP method is a standard one. Other methods must not become
// values of an attribute of metrics, because each value makes a new time series.
func known(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// port returns the port of a URL, by default that of its scheme, 0 if it is
// invalid.
func port(u *url.URL) int {
	text := u.Port()
	switch {
	case text != "":
	case strings.EqualFold(u.Scheme, "http"):
		return 80
	default:
		return 443
	}
	n, _ := strconv.Atoi(text)
	return n
}
