package otelfastio

import (
	"context"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/fastio-go/fastio/api"
)

// MessageHooks returns hooks for the module relay, which make one trace of an event, from the
// search that finds it to its handler in another program:
//
//	follower := relay.Follower{Events: client.Events, Hooks: telemetry.MessageHooks(), ...}
//	...
//	err := relay.Consume(ctx, relay.ConsumeOptions{Hooks: telemetry.MessageHooks(), ...}, handle)
//
// The headers of a message have the context of its span, as the propagator writes it. The span
// of a handler is a child of that of its message; of several messages, it is linked to theirs.
func (t *Telemetry) MessageHooks() api.MessageHooks {
	return api.MessageHooks{OnSearch: t.onSearch, OnPublish: t.onPublish, OnHandle: t.onHandle}
}

// onSearch starts the span of a search.
func (t *Telemetry) onSearch(ctx context.Context, e api.MessageEvent) (context.Context, func(error)) {
	ctx, span := t.tracer.Start(ctx, e.Op, trace.WithAttributes(operationKey.String(e.Op)))
	return ctx, endSpan(span)
}

// onPublish starts the span of a message, and writes its context into the header.
func (t *Telemetry) onPublish(ctx context.Context, e api.MessageEvent) func(error) {
	ctx, span := t.tracer.Start(ctx, e.Op, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(messaging(e, semconv.MessagingOperationTypeSend)...))
	for _, header := range e.Headers {
		t.textPropagator().Inject(ctx, messageCarrier(header))
	}
	return endSpan(span)
}

// onHandle starts the span of a call of a handler. The span of a single message is its
// parent. A span has one parent at most, so it is linked to those of several messages.
func (t *Telemetry) onHandle(ctx context.Context, e api.MessageEvent) (context.Context, func(error)) {
	attributes := append(messaging(e, semconv.MessagingOperationTypeProcess), semconv.MessagingConsumerGroupName(e.Group))
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	if len(e.Headers) == 1 {
		ctx = t.textPropagator().Extract(ctx, messageCarrier(e.Headers[0]))
	} else {
		attributes = append(attributes, semconv.MessagingBatchMessageCount(len(e.Headers)))
		for _, header := range e.Headers {
			message := trace.SpanContextFromContext(t.textPropagator().Extract(context.Background(), messageCarrier(header)))
			if message.IsValid() {
				options = append(options, trace.WithLinks(trace.Link{SpanContext: message}))
			}
		}
	}
	ctx, span := t.tracer.Start(ctx, e.Op, append(options, trace.WithAttributes(attributes...))...)
	return ctx, endSpan(span)
}

// messaging returns the attributes of a span of messages. The subject of the messages is
// left out, because it contains names of accounts and profiles.
func messaging(e api.MessageEvent, kind attribute.KeyValue) []attribute.KeyValue {
	return []attribute.KeyValue{
		operationKey.String(e.Op), semconv.MessagingSystemKey.String("nats"), kind,
		semconv.MessagingOperationName(e.Op), semconv.MessagingDestinationName(e.Stream),
	}
}

// endSpan returns a function that ends a span with a result.
func endSpan(span trace.Span) func(error) {
	return func(err error) {
		fail(span, err)
		span.End()
	}
}

// textPropagator returns the propagator of the options, or else the global one.
func (t *Telemetry) textPropagator() propagation.TextMapPropagator {
	if t.propagator == nil {
		return otel.GetTextMapPropagator()
	}
	return t.propagator
}

// messageCarrier is the header of a message. Its names are those of the propagator, in lower case
// for W3C, as other libraries for NATS write and read them: NATS does not change their case.
type messageCarrier http.Header

// Get returns the first value of a name.
func (c messageCarrier) Get(key string) string {
	for name, values := range c {
		if http.CanonicalHeaderKey(name) == http.CanonicalHeaderKey(key) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// Set sets the value of a name.
func (c messageCarrier) Set(key, value string) { c[key] = []string{value} }

// Keys returns the names.
func (c messageCarrier) Keys() []string {
	var keys []string
	for key := range c {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
