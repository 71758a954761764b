package otelfastio

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/fastio-go/fastio/realtime"
)

// OnStatus returns a function that reports one subscription, until it ends:
//
//	sub, err := client.Realtime.Subscribe(ctx, workspace, &realtime.SubscribeOptions{OnStatus: telemetry.OnStatus()})
//
// Each subscription requires a function of its own.
func (t *Telemetry) OnStatus() func(ctx context.Context, s realtime.Status) {
	return (&subscription{Telemetry: t}).recordChange
}

// subscription is what was reported of a subscription.
type subscription struct {
	*Telemetry

	mu   sync.Mutex
	last realtime.Status // its Mode is "" before the first report and after the end
}

// recordChange records the difference between a status of a subscription and its last
// status. After the first status, the subscription is counted in its mode until ctx is done.
func (s *subscription) recordChange(ctx context.Context, now realtime.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil { // the subscription has ended: s.end records that
		return
	}
	last := s.last
	s.last = now
	isFirst := last.Mode == ""
	if isFirst {
		context.AfterFunc(ctx, func() { s.end(ctx) })
	}
	mode := metric.WithAttributes(modeKey.String(string(now.Mode)))
	if last.Mode != now.Mode {
		s.endMode(ctx, last, now.Since) // nothing if there was no mode before
		s.subscriptions.Add(ctx, 1, mode)
	}
	if n := now.Sockets - last.Sockets; n > 0 {
		s.sockets.Add(ctx, int64(n))
	}
	if n := now.Discarded - last.Discarded; n > 0 {
		s.discarded.Add(ctx, int64(n))
	}
	if now.Err != nil && now.Failures > 0 && now.Failures != last.Failures {
		s.failures.Add(ctx, 1, withError(now.Err, modeKey.String(string(now.Mode))))
	}
}

// endMode reports the time in which the subscription had the mode of its last status, such
// as a socket or polls, as a span, and decreases the number of subscriptions in that mode.
// It does nothing before the first status, when there is no mode. The caller holds s.mu.
func (s *subscription) endMode(ctx context.Context, last realtime.Status, at time.Time) {
	if last.Mode == "" {
		return
	}
	mode := modeKey.String(string(last.Mode))
	s.subscriptions.Add(ctx, -1, metric.WithAttributes(mode))
	_, span := s.tracer.Start(ctx, "realtime.Subscribe", trace.WithTimestamp(last.Since), trace.WithAttributes(mode))
	if refused, ok := errors.AsType[*realtime.RefusedError](context.Cause(ctx)); ok {
		fail(span, refused)
	}
	span.End(trace.WithTimestamp(at))
}

// end records, once ctx is done, the end of the subscription: the span of its present
// mode, such as a socket, ends, and the number of subscriptions in that mode decreases.
// recordChange ignores later statuses, as ctx is done.
func (s *subscription) end(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endMode(ctx, s.last, time.Now())
	s.last.Mode = ""
}
