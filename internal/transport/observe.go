package transport

import (
	"context"
	"log/slog"
	"time"

	"github.com/fastio-go/fastio/api"
)

func (k *call) observeRetry() {
	r := api.Retry{Op: k.request.Op, Attempt: k.attempt, Wait: k.wait, Err: k.failure}
	k.client.warn(k, "fastio retry", slog.String("op", r.Op), slog.Int("attempt", r.Attempt),
		slog.Duration("wait", r.Wait), slog.Any("err", r.Err))
	run(k, k.client.cfg.Hooks.Retry, r)
}

func (k *call) observeWait(reason api.WaitReason, wait time.Duration) {
	w := api.Wait{Op: k.request.Op, Group: k.group.name, Reason: reason, Wait: wait}
	k.client.warn(k, "fastio wait", slog.String("op", w.Op), slog.String("group", w.Group),
		slog.String("reason", string(reason)), slog.Duration("wait", wait))
	run(k, k.client.cfg.Hooks.Wait, w)
}

// observesWaits reports whether anybody would hear of a wait.
func (c *Client) observesWaits() bool { return c.cfg.Hooks.Wait != nil || c.cfg.Logger != nil }

func (k *call) observeRefresh(err error) {
	r := api.Refresh{Op: k.request.Op, Err: err}
	k.client.warn(k, "fastio refresh", slog.String("op", r.Op), slog.Any("err", err))
	run(k, k.client.cfg.Hooks.Refresh, r)
}

func (c *Client) warn(ctx context.Context, msg string, attrs ...slog.Attr) {
	if c.cfg.Logger != nil {
		c.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, msg, attrs...) //nolint:sloglint // each caller's message is constant
	}
}

// run calls a hook. A call must not fail because somebody watches it.
func run[T any](ctx context.Context, hook func(context.Context, T), v T) {
	if hook == nil {
		return
	}
	defer func() { _ = recover() }()
	hook(ctx, v)
}
