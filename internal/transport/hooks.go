package transport

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/redact"
)

// observeCall calls the OnCall of each hook, in their order. It returns the context of
// the call, with the values that hooks have added, and the function that reports the
// result to them in reverse order. A hook that panics changes nothing.
func (x *exchange) observeCall(ctx context.Context) (context.Context, func(error)) {
	r := x.request
	e := api.CallEvent{Op: r.Op, Method: r.Method, Route: r.Path.Template(), Stream: x.stream}
	var ends []func(error)
	for _, h := range x.client.cfg.Hooks {
		if h.OnCall == nil {
			continue
		}
		runHook(ctx, func(before context.Context, e api.CallEvent) {
			next, end := h.OnCall(before, e)
			ctx = cmp.Or(next, before) //nolint:fatcontext // each hook may add a value
			if end != nil {
				ends = append(ends, end)
			}
		}, e)
	}
	return ctx, func(err error) {
		for _, end := range slices.Backward(ends) {
			runHook(ctx, func(_ context.Context, err error) { end(err) }, err)
		}
	}
}

// errPanicked is the result of a call that middleware or a transport ends by a panic.
var errPanicked = errors.New("fastio: the call panicked")

// observeRetry logs and reports that an attempt is followed by another one.
func (x *exchange) observeRetry(ctx context.Context) {
	r := api.RetryEvent{Op: x.request.Op, Attempt: x.attempt, Wait: x.wait, Err: x.failure}
	x.client.Logger().LogAttrs(ctx, slog.LevelWarn, "fastio retry", slog.String("op", r.Op), slog.Int("attempt", r.Attempt),
		slog.Duration("wait", r.Wait), slog.Any("err", r.Err))
	for _, h := range x.client.cfg.Hooks {
		runHook(ctx, h.OnRetry, r)
	}
}

// reportWait returns the function that reports a wait for the rate limit, for a call
// that has been queued since began.
func (x *exchange) reportWait(ctx context.Context, began time.Time) ratelimit.Waiting {
	return func(wait time.Duration, isRetryAfter bool) {
		reason := api.WaitReasonPace
		if isRetryAfter {
			reason = api.WaitReasonServer
		}
		x.observeWait(ctx, reason, time.Since(began), wait)
	}
}

// longWait is the shortest wait that is logged at info level.
const longWait = 2 * time.Second

// observeWait reports a wait that begins now to the hooks. It logs the sum of this wait and
// the time for which the call has been queued before, at info level from longWait on.
func (x *exchange) observeWait(ctx context.Context, reason api.WaitReason, queued, wait time.Duration) {
	w := api.WaitEvent{Op: x.request.Op, Group: x.group.name, Reason: reason, Wait: wait}
	level := slog.LevelDebug
	if queued+wait >= longWait {
		level = slog.LevelInfo
	}
	x.client.Logger().LogAttrs(ctx, level, "fastio wait", slog.String("op", w.Op), slog.String("group", w.Group),
		slog.String("reason", string(reason)), slog.Duration("wait", queued+wait))
	for _, h := range x.client.cfg.Hooks {
		runHook(ctx, h.OnWait, w)
	}
}

// logLimiter returns a timer that logs that the call waits for the Limiter of [Config],
// after longWait, unless it is stopped before: how long such a wait takes is not known
// in advance.
func (x *exchange) logLimiter(ctx context.Context) *time.Timer {
	return time.AfterFunc(longWait, func() {
		x.client.Logger().LogAttrs(ctx, slog.LevelInfo, "fastio wait", slog.String("op", x.request.Op),
			slog.String("group", x.group.name), slog.String("reason", "limiter"), slog.Duration("wait", longWait))
	})
}

// observeRefresh logs and reports that the token of the call was replaced, or why not.
func (x *exchange) observeRefresh(ctx context.Context, err error) {
	r := api.RefreshEvent{Op: x.request.Op, Err: err}
	x.client.Logger().LogAttrs(ctx, slog.LevelWarn, "fastio refresh", slog.String("op", r.Op), slog.Any("err", err))
	for _, h := range x.client.cfg.Hooks {
		runHook(ctx, h.OnRefresh, r)
	}
}

// runHook calls a hook and recovers its panics.
func runHook[T any](ctx context.Context, hook func(context.Context, T), v T) {
	if hook == nil {
		return
	}
	defer func() { _ = recover() }()
	hook(ctx, v)
}

// logAttempt logs the result of an attempt at debug level: operation, method, route,
// attempt and status (0 without a response), but no query, header, body or ID of the
// path.
func (x *exchange) logAttempt(ctx context.Context, resp *http.Response) {
	log := x.client.cfg.Logger
	if !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	attrs := []slog.Attr{
		slog.String("op", x.request.Op), slog.String("method", x.request.Method),
		slog.String("route", x.request.Path.Template()), slog.Int("attempt", x.attempt), slog.Int("status", status),
	}
	if err := cmp.Or(x.fatal, x.failure); err != nil {
		attrs = append(attrs, slog.Any("err", redact.Cause(err)))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "fastio call", attrs...)
}
