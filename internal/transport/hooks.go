package transport

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/redact"
)

// observeCall reports the begin of a call. It returns the context of the call, and the
// function that reports its result, to the last hook first.
func (c *Client) observeCall(ctx context.Context, r *api.Request, stream bool) (context.Context, func(error)) {
	e := api.CallEvent{Op: r.Op, Method: r.Method, Route: r.Path.Template(), Stream: stream}
	end := func(error) {}
	for _, h := range c.cfg.Hooks {
		if h.OnCall == nil {
			continue
		}
		inner, own := ctx, (func(error))(nil)
		runHook(ctx, func(ctx context.Context, e api.CallEvent) {
			inner, own = h.OnCall(ctx, e) //nolint:fatcontext // each hook may add a value
		}, e)
		if inner != nil {
			ctx = inner //nolint:fatcontext // as above
		}
		if own != nil {
			outer := end
			end = func(err error) {
				runHook(ctx, func(_ context.Context, err error) { own(err) }, err)
				outer(err)
			}
		}
	}
	return ctx, end
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

// waiting returns the function that reports the wait for the rate limit, which began at
// a time.
func (x *exchange) waiting(ctx context.Context, began time.Time) ratelimit.Waiting {
	return func(wait time.Duration, ordered bool) {
		reason := api.WaitReasonPace
		if ordered {
			reason = api.WaitReasonServer
		}
		x.observeWait(ctx, reason, time.Since(began), wait)
	}
}

// longWait is the shortest wait that is logged at info level.
const longWait = 2 * time.Second

// observeWait reports a wait that begins. The call was queued before it.
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

// logLimiter logs a wait for the Limiter of [Config], whose length is not known before,
// when it has become long, unless the timer that it returns is stopped.
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

// logAttempt logs the result of an attempt without query, headers, body and the IDs in
// the path.
func (x *exchange) logAttempt(ctx context.Context) {
	log := x.client.cfg.Logger
	if !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	status := 0
	if x.response != nil {
		status = x.response.StatusCode
	}
	attrs := []slog.Attr{
		slog.String("op", x.request.Op), slog.String("method", x.request.Method),
		slog.String("route", x.request.Path.Template()), slog.Int("attempt", x.attempt), slog.Int("status", status),
	}
	if err := cmp.Or(x.stopped, x.failure); err != nil {
		attrs = append(attrs, slog.Any("err", redact.Cause(err)))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "fastio call", attrs...)
}
