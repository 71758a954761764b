package conformance_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/otelfastio"
	"github.com/fastio-go/fastio/relay"
)

// handleTraced follows profiles and handles their events, with one trace for each event.
func handleTraced(
	ctx context.Context, js jetstream.JetStream, client *fastio.Client, telemetry *otelfastio.Telemetry,
	profiles []api.Profile, handle func(context.Context, relay.Message[events.Event]) error,
) error {
	stream, hooks := relay.Stream{JetStream: js}, telemetry.MessageHooks()
	follower := relay.Follower{Stream: stream, Events: client.Events, Profiles: profiles, Hooks: hooks}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return follower.Run(ctx) })
	group.Go(func() error { // or in another program
		return relay.Consume(ctx, relay.ConsumeOptions{Stream: stream, Name: "indexer", Hooks: hooks}, handle)
	})
	return group.Wait()
}

// A search, the publication of the event that it has found, and its handler are one trace, whose
// context NATS carries in headers.
func TestTraceFromSearchToHandler(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter))
	telemetry := otelfastio.New(&otelfastio.Options{TracerProvider: provider, Propagator: propagation.TraceContext{}})
	platform := fastiotest.New()
	room := platform.AddWorkspace(seed.Workspace{})
	platform.AddEvent(seed.Event{Name: "workspace_updated", Workspace: room.ID, Created: time.Now().Add(-time.Second)})
	client, err := fastio.New(append(platform.ClientOptions(), telemetry.Option())...)
	if err != nil {
		t.Fatal(err)
	}
	js := startJetStream(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var inside oteltrace.SpanContext
	_ = handleTraced(ctx, js, client, telemetry, []api.Profile{api.Workspace(api.ID(room.ID))},
		func(ctx context.Context, _ relay.Message[events.Event]) error {
			inside = oteltrace.SpanContextFromContext(ctx)
			cancel()
			return nil
		})
	spans := map[oteltrace.SpanID]tracetest.SpanStub{}
	for _, s := range exporter.GetSpans() {
		spans[s.SpanContext.SpanID()] = s
	}
	handled := spans[inside.SpanID()]
	published := spans[handled.Parent.SpanID()]
	search := spans[published.Parent.SpanID()]
	if handled.Name != "relay.Consume" || published.Name != "relay.Publish" || search.Name != "relay.Search" || !handled.Parent.IsRemote() {
		t.Errorf("the handler %q is a child of %q, and that of %q", handled.Name, published.Name, search.Name)
	}
	calls := 0
	for _, s := range spans {
		if s.Name == "events.Search" && s.Parent.SpanID() == search.SpanContext.SpanID() {
			calls++
		}
	}
	if calls == 0 || search.SpanContext.TraceID() != inside.TraceID() {
		t.Errorf("the search has %d calls and the trace %s, the handler %s", calls, search.SpanContext.TraceID(), inside.TraceID())
	}
}

// startJetStream starts a NATS server and connects to it.
func startJetStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	ns, err := server.NewServer(&server.Options{JetStream: true, StoreDir: t.TempDir(), DontListen: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
