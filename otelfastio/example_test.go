package otelfastio_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/otelfastio"
	"github.com/fastio-go/fastio/realtime"
)

func Example() {
	ctx := context.Background()
	exporter := tracetest.NewInMemoryExporter() // in a program, use the exporter of OTLP
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter))
	server := fastiotest.New()
	client, err := fastio.New(append(server.ClientOptions(),
		otelfastio.New(&otelfastio.Options{TracerProvider: provider}).Option(),
	)...)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.System.Ping(ctx); err != nil {
		log.Fatal(err)
	}
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.SpanKind, span.Name)
	}
	// Output:
	// client GET /api/current/ping/
	// internal system.Ping
}

//nolint:testableexamples // it requires a token
func ExampleNew() {
	client, err := fastio.FromEnv(otelfastio.New(nil).Option())
	if err != nil {
		log.Fatal(err)
	}
	me, err := client.Account.Me(context.Background())
	fmt.Println(me, err)
}

//nolint:testableexamples // it watches until the program ends
func ExampleTelemetry_OnStatus() {
	ctx, telemetry := context.Background(), otelfastio.New(nil)
	client, err := fastio.FromEnv(telemetry.Option())
	if err != nil {
		log.Fatal(err)
	}
	sub, err := client.Realtime.Subscribe(ctx, api.User(api.Me), &realtime.SubscribeOptions{OnStatus: telemetry.OnStatus()})
	if err != nil {
		log.Fatal(err)
	}
	for change, err := range sub.Changes() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(change.Field)
	}
}
