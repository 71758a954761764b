// Package otelfastio reports what a client does to OpenTelemetry, as spans and metrics:
//
//	client, err := fastio.FromEnv(otelfastio.New(nil).Option())
//
// # Spans
//
//	events.Search                   a call, named after its operation; with all that follows
//	GET /api/current/events/search/ an attempt, named after method and route; ends with the body
//	fastio.wait                     a wait for a rate limit or before a retry
//	fastio.refresh                  the replacement of a token that was refused
//	realtime.Subscribe              a time in which a subscription has one mode
//	relay.Search                    a search of a log by the module relay, with its calls and messages
//	relay.Publish                   an event on its way into the stream
//	relay.Consume                   a call of a handler with messages of the stream
//
// A call whose response is read as a stream, such as a download, ends with the stream.
// The span of an attempt includes its wait for a rate limit, which is a span in it.
// A retry is an event of the span of the call. Attempts carry the context of their span
// in headers, as the propagator writes it.
//
// # Metrics
//
// Durations are histograms in seconds, the others are counts.
//
//	http.client.request.duration              attempts, from the rate limit to the header
//	fastio.client.call.duration               calls, with retries and waits
//	fastio.client.stream.duration             calls whose response is read as a stream
//	fastio.client.stream.active               such calls that have not ended
//	fastio.client.wait.duration               waits, by reason
//	fastio.client.retries                     retries
//	fastio.client.refreshes                   refreshes of tokens
//	fastio.drift                              members of responses that are not known, by Telemetry.OnDrift
//	fastio.client.subscription.active         subscriptions, by mode
//	fastio.client.subscription.sockets        sockets that were opened
//	fastio.client.subscription.failures       failures of sockets and polls
//	fastio.client.subscription.discarded      messages that were invalid
//
// Messages of the module relay are reported by [Telemetry.MessageHooks], subscriptions by
// [Telemetry.OnStatus], and retries of operations that go on
// for long by [Telemetry.OnRetry].
//
// # Attributes
//
// Attributes of HTTP follow the semantic conventions 1.43.0, with one exception: there is no
// url.full, because addresses hold identifiers and may hold secrets. The others are
// fastio.operation, fastio.stream, fastio.wait.reason, fastio.rate_group,
// fastio.retry.attempt, fastio.error.code, fastio.request_id,
// fastio.subscription.mode, fastio.drift.type, fastio.drift.member and fastio.drift.kind.
// Metrics have those with few values only.
//
// An error is a status and an error.type: the HTTP status of a refusal, or one of
// "canceled", "timeout", "invalid_input", "dns", "tls", "dial", "connection", "eof", "refused"
// and "_OTHER". Texts of errors, addresses, headers and bodies are not reported.
package otelfastio

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
)

// Options are the optional parameters of [New]. Nil, and nil fields, mean the global
// providers, also if they are set later.
type Options struct {
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	Propagator     propagation.TextMapPropagator // writes the headers of attempts
}

// Telemetry reports to OpenTelemetry. It is safe for concurrent use, also by several
// clients.
type Telemetry struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator // nil means the global one
	metrics
}

// New returns a Telemetry. An error of the meter provider goes to the error handler of
// OpenTelemetry.
func New(o *Options) *Telemetry {
	if o == nil {
		o = new(Options)
	}
	tracers, meters := o.TracerProvider, o.MeterProvider
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	const scope = "github.com/fastio-go/fastio/otelfastio"
	return &Telemetry{
		tracer: tracers.Tracer(scope,
			trace.WithInstrumentationVersion(fastio.Version), trace.WithSchemaURL(semconv.SchemaURL)),
		propagator: o.Propagator,
		metrics: newMetrics(meters.Meter(scope,
			metric.WithInstrumentationVersion(fastio.Version), metric.WithSchemaURL(semconv.SchemaURL))),
	}
}

// Option returns the option that reports the calls of a client. It adds hooks and
// middleware to those of other options. The span of an attempt contains the middleware of
// the options that follow this one, and not the middleware of those before it.
func (t *Telemetry) Option() fastio.Option {
	return join(
		fastio.WithHooks(api.Hooks{OnCall: t.onCall, OnRetry: t.OnRetry, OnWait: t.onWait, OnRefresh: t.onRefresh}),
		fastio.WithMiddleware(t.Transport),
	)
}

// join returns an option that applies several. C is the parameter of [fastio.Option],
// which has no exported name.
func join[C any](opts ...func(C) error) func(C) error {
	return func(c C) error {
		for _, opt := range opts {
			if err := opt(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// metrics are the instruments.
type metrics struct {
	requests, calls, streams, waits metric.Float64Histogram
	openStreams, subscriptions      metric.Int64UpDownCounter
	retries, refreshes, drifts      metric.Int64Counter
	sockets, failures, discarded    metric.Int64Counter
}

// newMetrics creates all instruments. The buckets of durations are in seconds: brief ones
// for single requests, long ones for what may wait or last.
func newMetrics(m metric.Meter) metrics {
	brief := metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
	long := metric.WithExplicitBucketBoundaries(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600)
	duration := func(name, of string, buckets metric.HistogramOption) metric.Float64Histogram {
		return report(m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription("Duration of "+of+"."), buckets))
	}
	counter := func(name, unit, of string) metric.Int64Counter {
		return report(m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription("Number of "+of+".")))
	}
	active := func(name, unit, of string) metric.Int64UpDownCounter {
		return report(m.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription("Number of "+of+".")))
	}
	const subscription = "fastio.client.subscription."
	return metrics{
		requests: duration("http.client.request.duration", "HTTP client requests", brief),
		calls:    duration("fastio.client.call.duration", "calls with their retries and waits", long),
		streams:  duration("fastio.client.stream.duration", "calls whose response is read as a stream", long),
		waits:    duration("fastio.client.wait.duration", "waits for rate limits and before retries", long),

		openStreams:   active("fastio.client.stream.active", "{stream}", "streams that are read"),
		subscriptions: active(subscription+"active", "{subscription}", "subscriptions to changes"),

		retries:   counter("fastio.client.retries", "{retry}", "retries"),
		refreshes: counter("fastio.client.refreshes", "{refresh}", "replaced tokens"),
		drifts:    counter("fastio.drift", "{member}", "members of responses that the version does not know"),
		sockets:   counter(subscription+"sockets", "{socket}", "sockets that were opened"),
		failures:  counter(subscription+"failures", "{failure}", "failures of sockets and polls"),
		discarded: counter(subscription+"discarded", "{message}", "invalid messages"),
	}
}

// report returns the instrument, and reports an error, if there is one, to
// OpenTelemetry.
func report[T any](instrument T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return instrument
}

// Keys of attributes that are no semantic conventions.
const (
	operationKey = attribute.Key("fastio.operation")
	streamKey    = attribute.Key("fastio.stream")
	reasonKey    = attribute.Key("fastio.wait.reason")
	groupKey     = attribute.Key("fastio.rate_group")
	attemptKey   = attribute.Key("fastio.retry.attempt")
	codeKey      = attribute.Key("fastio.error.code")
	requestIDKey = attribute.Key("fastio.request_id")
	modeKey      = attribute.Key("fastio.subscription.mode")
	typeKey      = attribute.Key("fastio.drift.type")
	memberKey    = attribute.Key("fastio.drift.member")
	kindKey      = attribute.Key("fastio.drift.kind")
)

// inject writes the context of a span into the header of a request.
func (t *Telemetry) inject(ctx context.Context, h http.Header) {
	t.textPropagator().Inject(ctx, propagation.HeaderCarrier(h))
}
