package otelfastio_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/otelfastio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a Telemetry and what it has reported.
type recorder struct {
	*otelfastio.Telemetry
	spans   *tracetest.SpanRecorder
	metrics *metric.ManualReader
	tracers *trace.TracerProvider
}

func newRecorder() *recorder {
	r := &recorder{spans: tracetest.NewSpanRecorder(), metrics: metric.NewManualReader()}
	r.tracers = trace.NewTracerProvider(trace.WithSpanProcessor(r.spans))
	r.Telemetry = otelfastio.New(&otelfastio.Options{
		TracerProvider: r.tracers,
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(r.metrics)),
		Propagator:     propagation.TraceContext{},
	})
	return r
}

// network is a function that answers requests.
type network func(r *http.Request) (*http.Response, error)

func (n network) RoundTrip(r *http.Request) (*http.Response, error) { return n(r) }

// client returns a client over a network that reports to r. Its retries are almost
// immediate.
func (r *recorder) client(t *testing.T, over http.RoundTripper, opts ...fastio.Option) *fastio.Client {
	t.Helper()
	c, err := fastio.New(append([]fastio.Option{
		fastio.WithBaseURL("https://api.fast.test"), fastio.WithHTTPClient(&http.Client{Transport: over}),
		fastio.WithToken("token"), fastio.WithRetry(fastio.RetryPolicy{Base: 1, Cap: 1}), r.Option(),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answer is a response. The header holds pairs of name and value.
func answer(req *http.Request, status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for pair := range slices.Chunk(header, 2) {
		h.Set(pair[0], pair[1])
	}
	return &http.Response{
		StatusCode: status, Header: h, Request: req, ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// answers returns a network that takes a second for each answer, the last one for ever.
func answers(list ...network) network {
	n := 0
	return func(req *http.Request) (*http.Response, error) {
		time.Sleep(time.Second)
		next := list[min(n, len(list)-1)]
		n++
		return next(req)
	}
}

func status(code int, body string, header ...string) network {
	return func(req *http.Request) (*http.Response, error) { return answer(req, code, body, header...), nil }
}

func ok() network { return status(200, `{"result":true}`) }

func get() *api.Request {
	return &api.Request{
		Op: "things.Get", Method: http.MethodGet, Path: api.Path("/current/things/{thing_id}/", "t1"),
		Replay: api.ReplaySafe,
	}
}

// tree returns the ended spans as text, each below its parent in order of time: name, start
// and end in seconds since the first, error, attributes and events.
func (r *recorder) tree(keys ...attribute.Key) string {
	spans := r.spans.Ended()
	slices.SortStableFunc(spans, func(a, b trace.ReadOnlySpan) int {
		return cmp.Or(a.StartTime().Compare(b.StartTime()), b.EndTime().Compare(a.EndTime()))
	})
	var out strings.Builder
	var list func(parent trace.ReadOnlySpan, indent string)
	list = func(parent trace.ReadOnlySpan, indent string) {
		for _, s := range spans {
			isChild := parent != nil && s.Parent().SpanID() == parent.SpanContext().SpanID()
			if isChild || parent == nil && !s.Parent().IsValid() {
				fmt.Fprintf(&out, "%s%s\n", indent, line(s, spans[0].StartTime(), keys))
				list(s, indent+"  ")
			}
		}
	}
	list(nil, "")
	return out.String()
}

func line(s trace.ReadOnlySpan, first time.Time, keys []attribute.Key) string {
	parts := []string{fmt.Sprintf("%s %.0f-%.0f", s.Name(), s.StartTime().Sub(first).Seconds(),
		s.EndTime().Sub(first).Seconds())}
	if s.Status().Code == codes.Error {
		parts = append(parts, "failed")
	}
	parts = append(parts, text(s.Attributes(), keys)...)
	for _, e := range s.Events() {
		parts = append(parts, "["+strings.Join(append([]string{e.Name}, text(e.Attributes, keys)...), " ")+"]")
	}
	return strings.Join(parts, " ")
}

// text returns attributes as text, those with a key in keys.
func text(attrs []attribute.KeyValue, keys []attribute.Key) []string {
	var parts []string
	for _, a := range attrs {
		if slices.Contains(keys, a.Key) {
			parts = append(parts, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
		}
	}
	slices.Sort(parts)
	return parts
}

// collect returns the metrics as lines: name, attributes, and the value or the count and
// sum.
func (r *recorder) collect(t *testing.T) []string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.metrics.Collect(context.WithoutCancel(t.Context()), &all); err != nil {
		t.Fatal(err)
	}
	var lines []string
	add := func(name string, attrs attribute.Set, value string) {
		lines = append(lines, strings.Join(append([]string{name}, append(textOf(attrs), value)...), " "))
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, fmt.Sprintf("%dx %.0fs", p.Count, p.Sum))
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, strconv.FormatInt(p.Value, 10))
				}
			default:
				t.Errorf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func textOf(set attribute.Set) []string {
	var keys []attribute.Key
	for _, a := range set.ToSlice() {
		keys = append(keys, a.Key)
	}
	return text(set.ToSlice(), keys)
}
