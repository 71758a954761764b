package transport

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/redact"
)

func (x *exchange) observeRetry(ctx context.Context) {
	r := api.RetryEvent{Op: x.request.Op, Attempt: x.attempt, Wait: x.wait, Err: x.failure}
	x.client.warn(ctx, "fastio retry", slog.String("op", r.Op), slog.Int("attempt", r.Attempt),
		slog.Duration("wait", r.Wait), slog.Any("err", r.Err))
	run(ctx, x.client.cfg.Hooks.OnRetry, r)
}

func (x *exchange) observeWait(ctx context.Context, reason api.WaitReason, wait time.Duration) {
	w := api.WaitEvent{Op: x.request.Op, Group: x.group.name, Reason: reason, Wait: wait}
	x.client.warn(ctx, "fastio wait", slog.String("op", w.Op), slog.String("group", w.Group),
		slog.String("reason", string(reason)), slog.Duration("wait", wait))
	run(ctx, x.client.cfg.Hooks.OnWait, w)
}

func (x *exchange) observeRefresh(ctx context.Context, err error) {
	r := api.RefreshEvent{Op: x.request.Op, Err: err}
	x.client.warn(ctx, "fastio refresh", slog.String("op", r.Op), slog.Any("err", err))
	run(ctx, x.client.cfg.Hooks.OnRefresh, r)
}

func (c *Client) warn(ctx context.Context, msg string, attrs ...slog.Attr) {
	if c.cfg.Logger != nil {
		c.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, msg, attrs...) //nolint:sloglint // each caller's message is constant
	}
}

// run calls a hook and recovers its panics.
func run[T any](ctx context.Context, hook func(context.Context, T), v T) {
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
