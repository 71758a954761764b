// Command fastio-relay follows the event logs of many organizations, workspaces and shares,
// and keeps their events in a NATS JetStream stream. Run it on several machines with the
// same profiles: they share the work, and take over from each other.
//
//	export FASTIO_API_KEY=...
//	fastio-relay -profiles org:4012345678901234567,workspace:4112345678901234567
//	fastio-relay -profiles ... -nats nats://nats-1:4222,nats://nats-2:4222 -replicas 3
//	fastio-relay -accounts-key FILE -nats ...
//
// With -accounts-key instead of -profiles it follows the accounts of the directory that the
// commands "accounts add" and "accounts import" fill.
//
// Without -nats a NATS server runs in the process and keeps the stream in the directory of
// -data, with every write synced. Then there is one replica only.
//
// The key is read from FASTIO_API_KEY or FASTIO_TOKEN, or from the file of -key-file, never
// from a flag. Every flag can also be set by an environment variable, FASTIO_RELAY_MAX_AGE
// for -max-age, or by a member of the JSON object in the file of -config: "max-age": "48h".
// A flag wins over a variable, and a variable over the file.
//
// On -listen it serves a page with the state of the profiles or accounts, the same as JSON at /status,
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
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

func main() {
	if len(os.Args) == 2 && slices.Contains([]string{"-version", "--version"}, os.Args[1]) {
		_, _ = fmt.Fprintln(os.Stdout, "fastio-relay", build())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := runCommand(ctx, os.Args[1:], os.Getenv, os.Stderr, func(string) {})
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "fastio-relay:", err)
		os.Exit(1)
	}
}

// build returns the version of the module, the commit if the command was built in a clone,
// and the version of Go.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown version"
	}
	commit := ""
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			commit = ", commit " + setting.Value
		}
	}
	return info.Main.Version + commit + ", " + info.GoVersion
}

const stopTimeout = 5 * time.Second // of the page, when the replica has stopped

// runCommand runs the command in args (groups, delete-group or accounts) and returns or, if there is
// none, runs a replica until ctx is done. The replica calls started with the address of its page.
func runCommand(
	ctx context.Context, args []string, getenv func(string) string, stderr io.Writer, started func(url string),
) error {
	c, err := parse(args, getenv, stderr)
	if err != nil {
		return err
	}
	if len(c.command) > 0 {
		return c.administer(ctx, os.Stdout, stderr)
	}
	return c.run(ctx, stderr, started)
}

// run runs a replica with these settings.
func (c *config) run(ctx context.Context, stderr io.Writer, started func(url string)) (err error) {
	p := &program{config: c, logger: c.logger(stderr), metrics: newMetrics(c.profiles)}
	p.nats, err = c.connect(ctx, p.logger)
	if err != nil {
		return err
	}
	defer p.nats.stop()
	p.stream, err = c.stream(p.nats.Conn)
	if err != nil {
		return err
	}
	if len(c.profiles) == 0 {
		return p.nats.explain(p.followAccounts(ctx, started))
	}
	opts, err := p.prepare(ctx)
	if err != nil {
		return p.nats.explain(err)
	}
	if p.limits != nil {
		defer p.limits.Close()
	}
	client, err := c.newClient(opts...)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	p.logs, p.visible.get = client.Events, getProfile(client)
	return p.nats.explain(p.follow(ctx, started))
}

// program is a replica that runs.
type program struct {
	*config

	logger  *slog.Logger
	nats    *connection
	stream  relay.Stream
	limits  *relay.Limits // nil with a server in the process, which has one client only
	metrics *metrics
	logs    *events.Service
	visible visibility
}

// observed returns the options of clients whose calls are counted and logged.
func (p *program) observed() []fastio.Option {
	opts := []fastio.Option{fastio.WithMiddleware(p.metrics.countResponses), fastio.WithHooks(p.metrics.hooks())}
	if p.logDebug {
		opts = append(opts, fastio.WithLogger(p.logger))
	}
	return opts
}

// prepare returns the options of the client. With a NATS server in the process, there is usually no
// other replica: prepare deletes the heartbeats that the process before has left, so that nothing waits
// until they expire. Otherwise it starts the rate limits that replicas share.
func (p *program) prepare(ctx context.Context) ([]fastio.Option, error) {
	opts := p.observed()
	if p.nats.server != nil {
		return opts, deleteHeartbeats(ctx, p.stream)
	}
	var err error
	p.limits, err = relay.NewLimits(ctx, relay.LimitsOptions{
		Stream: p.stream, Name: p.config.limits, OnError: func(ctx context.Context, err error) {
			p.logger.WarnContext(ctx, "rate limits are not shared", slog.Any("error", err))
		},
	})
	return append(opts, fastio.WithLimiter(&countedLimits{p.limits, p.metrics})), err
}

// opFollow is the operation of a failed search in an [api.RetryEvent].
const opFollow = "events.Follow"

// follower returns the follower, whose hooks log and count.
func (p *program) follower() *relay.Follower {
	const none = "" // the account: the profiles are those of -profiles
	return &relay.Follower{
		Stream: p.stream, Events: p.logs, Profiles: p.profiles, Name: p.name, Lease: p.lease, Since: p.since,
		OnError: func(ctx context.Context, profile api.Profile, err error) {
			if profile == (api.Profile{}) {
				p.metrics.errors.WithLabelValues(ofReplica).Inc()
				p.logger.WarnContext(ctx, "the replica has failed", slog.Any("error", err))
				return
			}
			p.metrics.errors.WithLabelValues(ofProfile).Inc()
			p.logger.WarnContext(ctx, "a profile is not followed", slog.String("profile", nameOf(profile)), slog.Any("error", err))
		},
		OnRetry:      func(ctx context.Context, profile api.Profile, e api.RetryEvent) { p.logRetry(ctx, none, profile, e) },
		OnDeadLetter: func(ctx context.Context, profile api.Profile, err error) { p.logDeadLetter(ctx, none, profile, err) },
		OnGap: func(ctx context.Context, profile api.Profile, g events.Gap) error {
			return p.logGap(ctx, none, profile, g)
		},
	}
}

// profileAttrs returns the attributes of a log line about a profile, which is of an account unless
// that is "".
func profileAttrs(account string, profile api.Profile) slog.Attr {
	attrs := []any{slog.String("profile", nameOf(profile))}
	if account != "" {
		attrs = append(attrs, slog.String("account", account))
	}
	return slog.Group("", attrs...)
}

// logRetry counts a temporary failure, and logs the first of those in a row and each tenth.
func (p *program) logRetry(ctx context.Context, account string, profile api.Profile, e api.RetryEvent) {
	p.metrics.countRetry(e)
	if e.Attempt > 1 && e.Attempt%logEvery != 0 {
		return
	}
	p.logger.WarnContext(ctx, "retrying", profileAttrs(account, profile), slog.String("op", e.Op),
		slog.Int("attempt", e.Attempt), slog.Duration("wait", e.Wait), slog.Any("error", e.Err))
}

// logDeadLetter counts and logs a dead letter.
func (p *program) logDeadLetter(ctx context.Context, account string, profile api.Profile, err error) {
	p.metrics.dead.Inc()
	p.logger.WarnContext(ctx, "an event is too large for NATS", profileAttrs(account, profile), slog.Any("error", err))
}

// logGap counts and logs a gap.
func (p *program) logGap(ctx context.Context, account string, profile api.Profile, g events.Gap) error {
	p.metrics.gaps.Inc()
	p.logger.WarnContext(ctx, "events may have been missed", profileAttrs(account, profile),
		slog.String("reason", string(g.Reason)), slog.Time("from", g.From), slog.Time("to", g.To))
	return nil
}

// logEvery is the number of retries in a row of which one is logged, besides the first.
const logEvery = 10

// follow serves the page and publishes the events of the profiles until ctx is done.
// It calls started with the address of the page.
func (p *program) follow(ctx context.Context, started func(url string)) error {
	s := &site{program: p, follower: p.follower(), probe: p.newProber()}
	s.latest = s.localStatus(status{})
	return p.serve(ctx, s, started)
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
