// Guide lists the workspaces of the user, and prints the spans and metrics of that.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/otelfastio"
)

func main() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter() // in a service, use the exporter of OTLP
	reader := metric.NewManualReader()       // in a service, use the reader of Prometheus or OTLP
	telemetry := otelfastio.New(&otelfastio.Options{
		TracerProvider: trace.NewTracerProvider(trace.WithSyncer(spans)),
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(reader)),
	})
	client, err := fastio.FromEnv(telemetry.Option(), fastio.WithLogger(slog.Default())) // FASTIO_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	for _, err := range client.Workspaces.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
	}
	for _, span := range spans.GetSpans() {
		fmt.Println(span.SpanKind, span.Name)
	}
	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &metrics); err != nil {
		log.Fatal(err)
	}
	for _, scope := range metrics.ScopeMetrics {
		for _, m := range scope.Metrics {
			fmt.Println(m.Name, m.Unit)
		}
	}
}
