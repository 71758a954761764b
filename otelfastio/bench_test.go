package otelfastio_test

import (
	"context"
	"net/http"
	"testing"

	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/otelfastio"
)

// discard is a span processor that drops spans, so that no exporter is measured.
type discard struct{}

func (discard) OnStart(context.Context, trace.ReadWriteSpan) {}
func (discard) OnEnd(trace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error               { return nil }
func (discard) ForceFlush(context.Context) error             { return nil }

// BenchmarkCall compares a call without instrumentation with a call that is reported: to
// providers that do nothing, to those of the SDK, and to those with spans that are not
// sampled or metrics alone. The network is in memory.
func BenchmarkCall(b *testing.B) {
	meters := func() *metric.MeterProvider {
		return metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	}
	context := propagation.TraceContext{}
	for _, test := range []struct {
		name    string
		options *otelfastio.Options // nil does not report
	}{
		{"none", nil},
		{"noop", &otelfastio.Options{
			TracerProvider: nooptrace.NewTracerProvider(), MeterProvider: noopmetric.NewMeterProvider(),
		}},
		{"metrics", &otelfastio.Options{TracerProvider: nooptrace.NewTracerProvider(), MeterProvider: meters()}},
		{"unsampled", &otelfastio.Options{
			TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(discard{}), trace.WithSampler(trace.NeverSample())),
			MeterProvider:  meters(), Propagator: context,
		}},
		{"sdk", &otelfastio.Options{
			TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(discard{})),
			MeterProvider:  meters(), Propagator: context,
		}},
	} {
		b.Run("by="+test.name, func(b *testing.B) {
			opts := []fastio.Option{
				fastio.WithHTTPClient(&http.Client{Transport: network(func(req *http.Request) (*http.Response, error) {
					return answer(req, 200, `{"result":true}`), nil
				})}), fastio.WithToken("token"),
			}
			if test.options != nil {
				opts = append(opts, otelfastio.New(test.options).Option())
			}
			c, err := fastio.New(opts...)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.System.Ping(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
