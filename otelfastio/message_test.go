package otelfastio_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/fastio-go/fastio/api"
)

// publish publishes a message within a search, and returns its header.
func (r *recorder) publish(t *testing.T, result error) http.Header {
	t.Helper()
	hooks := r.MessageHooks()
	ctx, searched := hooks.OnSearch(t.Context(), api.MessageEvent{Op: "relay.Search", Stream: "FASTIO"})
	header := http.Header{"Nats-Msg-Id": {"1"}}
	hooks.OnPublish(ctx, api.MessageEvent{Op: "relay.Publish", Stream: "FASTIO", Headers: []http.Header{header}})(result)
	searched(nil)
	return header
}

// handle handles messages with these headers.
func (r *recorder) handle(t *testing.T, result error, headers ...http.Header) {
	t.Helper()
	e := api.MessageEvent{Op: "relay.Consume", Stream: "FASTIO", Group: "indexer", Headers: headers}
	ctx, handled := r.MessageHooks().OnHandle(t.Context(), e)
	if !oteltrace.SpanFromContext(ctx).IsRecording() {
		t.Error("the handler has no span")
	}
	handled(result)
}

// contextOf returns the values of the header of W3C, in the lower case that it has in NATS.
func contextOf(header map[string][]string) []string { return header["traceparent"] }

// ended returns the spans of a name.
func (r *recorder) ended(name string) (all []trace.ReadOnlySpan) {
	for _, s := range r.spans.Ended() {
		if s.Name() == name {
			all = append(all, s)
		}
	}
	return all
}

// The header of a message connects the spans of its search, its publication and its handler.
func TestMessageHooksMakeOneTrace(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	header := r.publish(t, nil)
	if len(contextOf(header)) != 1 || header.Get("Nats-Msg-Id") != "1" {
		t.Errorf("the header is %v", header)
	}
	r.handle(t, errors.New("a text with secrets"), header)
	search, published, handled := r.ended("relay.Search")[0], r.ended("relay.Publish")[0], r.ended("relay.Consume")[0]
	if published.Parent().SpanID() != search.SpanContext().SpanID() || published.SpanKind() != oteltrace.SpanKindProducer {
		t.Errorf("the publication is a %s, its parent %s", published.SpanKind(), published.Parent().SpanID())
	}
	if handled.Parent().SpanID() != published.SpanContext().SpanID() || !handled.Parent().IsRemote() ||
		handled.SpanKind() != oteltrace.SpanKindConsumer || handled.SpanContext().TraceID() != search.SpanContext().TraceID() {
		t.Errorf("the handler is a %s, its parent %s", handled.SpanKind(), handled.Parent().SpanID())
	}
	if handled.Status().Code != codes.Error || strings.Contains(handled.Status().Description, "secrets") {
		t.Errorf("the status is %+v", handled.Status())
	}
	for _, a := range handled.Attributes() {
		if want, ok := map[string]string{
			"messaging.system": "nats", "messaging.destination.name": "FASTIO", "messaging.consumer.group.name": "indexer",
			"messaging.operation.type": "process",
		}[string(a.Key)]; ok && a.Value.AsString() != want {
			t.Errorf("%s is %s, want %s", a.Key, a.Value.AsString(), want)
		}
	}
}

// A call of a handler with several messages is linked to the span of each.
func TestMessageHooksLinkBatches(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	first, second := r.publish(t, nil), r.publish(t, errors.New("refused"))
	other := http.Header{"Traceparent": contextOf(second)} // of a library that writes it so
	r.handle(t, nil, first, other, http.Header{"Nats-Msg-Id": {"of a program without traces"}})
	published, handled := r.ended("relay.Publish"), r.ended("relay.Consume")[0]
	if len(handled.Links()) != 2 || handled.Parent().IsValid() {
		t.Fatalf("the handler has %d links and the parent %s", len(handled.Links()), handled.Parent().SpanID())
	}
	for i, link := range handled.Links() {
		if link.SpanContext.SpanID() != published[i].SpanContext().SpanID() {
			t.Errorf("link %d is %s", i, link.SpanContext.SpanID())
		}
	}
	if published[1].Status().Code != codes.Error {
		t.Errorf("the status is %+v", published[1].Status())
	}
}
