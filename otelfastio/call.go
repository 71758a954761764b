package otelfastio

import (
	"cmp"
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/fastio-go/fastio/api"
)

// call is a call that has begun. It is in the context of its attempts.
type call struct {
	*Telemetry
	ctx   context.Context
	span  trace.Span
	event api.CallEvent
	begin time.Time

	mu      sync.Mutex // middleware of the program may be concurrent
	wait    *wait      // the current one, or nil
	lastEnd time.Time  // of an attempt; a refresh begins then
}

// wait is a wait that has begun.
type wait struct {
	ctx   context.Context
	event api.WaitEvent
	begin time.Time
}

type callKey struct{}

// callOf returns the call of ctx, or nil.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// onCall starts the span of a call. It returns the context for the call and a
// function that ends the span.
func (t *Telemetry) onCall(ctx context.Context, e api.CallEvent) (context.Context, func(error)) {
	c := &call{Telemetry: t, event: e, begin: time.Now()}
	ctx, c.span = t.tracer.Start(ctx, cmp.Or(e.Op, "fastio.call"), trace.WithAttributes(
		operationKey.String(e.Op), streamKey.Bool(e.Stream),
	))
	if e.Stream {
		t.openStreams.Add(ctx, 1, metric.WithAttributes(operationKey.String(e.Op)))
	}
	c.ctx = context.WithValue(ctx, callKey{}, c)
	return c.ctx, c.finish
}

// finish records the result and the duration of the call, and ends its span. A streamed
// call is counted as open until then.
func (c *call) finish(err error) {
	now := time.Now()
	c.endWait(now)
	operation, duration := operationKey.String(c.event.Op), c.calls
	if c.event.Stream {
		c.openStreams.Add(c.ctx, -1, metric.WithAttributes(operation))
		duration = c.streams
	}
	if duration.Enabled(c.ctx) {
		duration.Record(c.ctx, now.Sub(c.begin).Seconds(), withError(err, operation))
	}
	fail(c.span, err)
	c.span.End()
}

// onWait begins the measurement of a wait of the call in ctx, and ends the
// measurement of the wait before.
func (t *Telemetry) onWait(ctx context.Context, e api.WaitEvent) {
	if c := callOf(ctx); c != nil {
		now := time.Now()
		c.endWait(now)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wait = &wait{ctx, e, now}
	}
}

// endWait reports the current wait, if there is any, which ends at the given time. The
// client does not report the end of a wait, only its begin (onWait). Whatever comes next is
// its end: another wait, another attempt, the request of the attempt, or the end of the call.
func (c *call) endWait(at time.Time) {
	c.mu.Lock()
	w := c.wait
	c.wait = nil
	c.mu.Unlock()
	if w == nil {
		return
	}
	operation, reason := operationKey.String(w.event.Op), reasonKey.String(string(w.event.Reason))
	_, span := c.tracer.Start(w.ctx, "fastio.wait", trace.WithTimestamp(w.begin),
		trace.WithAttributes(operation, reason, groupKey.String(w.event.Group)))
	span.End(trace.WithTimestamp(at))
	c.waits.Record(w.ctx, at.Sub(w.begin).Seconds(), metric.WithAttributes(operation, reason))
}

// OnRetry counts a retry, and adds an event to the span of ctx. The calls of a client with
// [Telemetry.Option] report their retries themselves. OnRetry is for operations with an
// OnRetry of their own:
//
//	err := client.Events.Follow(ctx, query, handle, &events.FollowOptions{OnRetry: telemetry.OnRetry})
func (t *Telemetry) OnRetry(ctx context.Context, e api.RetryEvent) {
	operation := operationKey.String(e.Op)
	t.retries.Add(ctx, 1, withError(e.Err, operation))
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent("fastio.retry",
			trace.WithAttributes(operation, attemptKey.Int(e.Attempt), semconv.ErrorTypeKey.String(errorType(e.Err))))
	}
}

// onRefresh reports a refresh that has ended. In a call, its span begins at the end of the
// last attempt, whose token was refused.
func (t *Telemetry) onRefresh(ctx context.Context, e api.RefreshEvent) {
	now := time.Now()
	begin := now
	if c := callOf(ctx); c != nil {
		c.mu.Lock()
		begin = c.lastEnd
		c.mu.Unlock()
	}
	operation := operationKey.String(e.Op)
	_, span := t.tracer.Start(ctx, "fastio.refresh", trace.WithTimestamp(begin), trace.WithAttributes(operation))
	fail(span, e.Err)
	span.End(trace.WithTimestamp(now))
	t.refreshes.Add(ctx, 1, withError(e.Err, operation))
}

// OnDrift counts a member of responses that this version of the SDK does not know. It is
// not part of [Telemetry.Option], because each response is then read a second time:
//
//	client, err := fastio.New(telemetry.Option(), fastio.WithDrift(telemetry.OnDrift))
//
// There are at most 1,000 members of a client, so that the attributes are bounded.
func (t *Telemetry) OnDrift(e api.DriftEvent) {
	t.drifts.Add(context.Background(), 1, metric.WithAttributes(operationKey.String(e.Op),
		typeKey.String(e.Type), memberKey.String(e.Member), kindKey.String(string(e.Kind))))
}
