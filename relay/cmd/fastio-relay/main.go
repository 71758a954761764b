// Command fastio-relay follows the event logs of many organizations, workspaces and shares,
// and keeps their events in a NATS JetStream stream. Run it on several machines with the
// same profiles: they share the work, and take over from each other.
//
//	export FASTIO_API_KEY=...
//	fastio-relay -profiles org:4012345678901234567,workspace:4112345678901234567
//	fastio-relay -profiles ... -nats nats://nats-1:4222,nats://nats-2:4222 -replicas 3
//
// Without -nats a NATS server runs in the process and keeps the stream in the directory of
// -data, with every write synced. Then there is one replica only.
//
// The key is read from FASTIO_API_KEY or FASTIO_TOKEN, or from the file of -key-file, never
// from a flag. Every flag can also be set by an environment variable, FASTIO_RELAY_MAX_AGE
// for -max-age, or by a member of the JSON object in the file of -config: "max-age": "48h".
// A flag wins over a variable, and a variable over the file.
//
// On -listen it serves a page with the state of the profiles, the same as JSON at /status,
// /healthz, /readyz, and /metrics for Prometheus. None of them shows a credential, and none
// requires one: leave the address as it is unless others may see it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stderr, func(string) {})
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "fastio-relay:", err)
		os.Exit(1)
	}
}

const stopTimeout = 5 * time.Second // of the page, when the replica has stopped

// run runs a replica until ctx is done. Started is called with the address of the page.
func run(
	ctx context.Context, args []string, getenv func(string) string, stderr io.Writer, started func(url string),
) error {
	c, err := parse(args, getenv, stderr)
	if err != nil {
		return err
	}
	logger := c.logger(stderr)
	nc, stopNATS, err := c.connect(ctx, logger)
	if err != nil {
		return err
	}
	defer stopNATS()
	stream, err := c.stream(nc)
	if err != nil {
		return err
	}
	m := newMetrics()
	opts := []fastio.Option{fastio.WithMiddleware(m.countResponses)}
	if c.logDebug {
		opts = append(opts, fastio.WithLogger(logger))
	}
	if c.servers != "" { // a server in the process has one client only
		limits, err := relay.NewLimits(ctx, relay.LimitsOptions{
			Stream: stream, Name: c.limits, OnError: func(ctx context.Context, err error) {
				logger.WarnContext(ctx, "rate limits are not shared", slog.Any("error", err))
			},
		})
		if err != nil {
			return err
		}
		defer limits.Close()
		opts = append(opts, fastio.WithLimiter(limits))
	}
	client, err := c.client(opts...)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return c.follow(ctx, stream, client.Events, m, logger, started)
}

// follow publishes the events of the profiles until ctx is done.
func (c *config) follow(
	ctx context.Context, stream relay.Stream, logs *events.Service, m *metrics, logger *slog.Logger,
	started func(url string),
) error {
	f := &relay.Follower{
		Stream: stream, Events: logs, Profiles: c.profiles, Name: c.name, Lease: c.lease, Since: c.since,
		OnError: func(ctx context.Context, p api.Profile, err error) {
			m.errors.Inc()
			logger.WarnContext(ctx, "a profile is not followed", slog.String("profile", p.String()), slog.Any("error", err))
		},
		OnRetry: func(ctx context.Context, p api.Profile, e api.RetryEvent) {
			if e.Op == relay.OpPublish {
				m.retries.Inc()
			}
			logger.WarnContext(ctx, "retrying", slog.String("profile", p.String()), slog.String("op", e.Op),
				slog.Int("attempt", e.Attempt), slog.Duration("wait", e.Wait), slog.Any("error", e.Err))
		},
		OnGap: func(ctx context.Context, p api.Profile, g events.Gap) error {
			m.gaps.Inc()
			logger.WarnContext(ctx, "events may have been missed", slog.String("profile", p.String()),
				slog.String("reason", string(g.Reason)), slog.Time("from", g.From), slog.Time("to", g.To))
			return nil
		},
	}
	s := &site{follower: f, stream: stream, nc: stream.JetStream.Conn(), name: c.name, profiles: c.profiles, metrics: m}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: stopTimeout, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	watch, stopWatch := context.WithCancel(ctx)
	defer stopWatch()
	done := make(chan error, 2)
	go func() { done <- server.Serve(listener) }()
	go func() { s.watch(watch, logger); done <- nil }()
	page := "http://" + listener.Addr().String()
	logger.InfoContext(ctx, "following",
		slog.Int("profiles", len(c.profiles)), slog.String("replica", c.name), slog.String("page", page))
	started(page)
	err = f.Run(ctx)
	stopWatch()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if e := server.Shutdown(closing); e != nil {
		_ = server.Close()
	}
	for range 2 {
		if e := <-done; e != nil && !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	if ctx.Err() != nil { // stopped, as it should
		logger.InfoContext(ctx, "stopped")
		return nil
	}
	return err
}

// client returns a client with the key of the file or of the environment.
func (c *config) client(opts ...fastio.Option) (*fastio.Client, error) {
	if c.keyFile != "" {
		key, err := os.ReadFile(c.keyFile)
		if err != nil {
			return nil, err
		}
		opts = append(opts, fastio.WithToken(strings.TrimSpace(string(key))))
	}
	if c.plain {
		opts = append(opts, fastio.WithPlainHTTP())
	}
	return fastio.FromEnv(opts...)
}
