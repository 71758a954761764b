package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	natsStart = 30 * time.Second
	natsPause = 200 * time.Millisecond
	natsPing  = 5 * time.Second // of a quiet connection, which is lost after three without a response
)

// connection is a connection to NATS.
type connection struct {
	*nats.Conn

	server *embedded // nil with -nats
	stop   func()    // ends both

	mu      sync.Mutex
	why     error // the latest failure to connect again
	refusal error // the latest error of the connection, such as a denied permission
	refused time.Time
}

// connect connects to the servers, or starts one in the process.
func (c *config) connect(ctx context.Context, logger *slog.Logger) (*connection, error) {
	conn := &connection{}
	opts := conn.options(ctx, c, logger)
	if c.servers == "" {
		return conn, c.connectEmbedded(ctx, conn, opts, logger)
	}
	if c.natsListen != "" {
		return nil, errors.New("-nats-listen is the address of a server in the process: leave out -nats")
	}
	var err error
	conn.Conn, err = c.dial(ctx, append(opts, c.access()...))
	if err != nil {
		return nil, err
	}
	conn.stop = conn.Close
	return conn, nil
}

// connectEmbedded starts a server in the process and connects to it.
func (c *config) connectEmbedded(ctx context.Context, conn *connection, opts []nats.Option, logger *slog.Logger) error {
	e, err := c.startEmbedded(logger)
	if err != nil {
		return err
	}
	conn.Conn, err = nats.Connect("", append(opts, e.access()...)...)
	if err != nil {
		e.stop()
		return err
	}
	if c.natsListen != "" {
		logger.InfoContext(ctx, "NATS listens", slog.String("address", e.address()), slog.String("credentials", c.data))
	}
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { e.watch(watch) })
	conn.server, conn.stop = e, func() {
		cancel()
		wg.Wait()
		conn.Close()
		e.stop()
	}
	return nil
}

// options returns the options for a connection to any server. Their handlers log, and
// keep the latest errors in n.
func (n *connection) options(ctx context.Context, c *config, logger *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.Name("fastio-relay " + c.name), nats.MaxReconnects(-1), nats.PingInterval(natsPing),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if nc.IsClosed() { // a normal end
				return
			}
			n.setFailure(err)
			logger.LogAttrs(ctx, slog.LevelWarn, "NATS is disconnected", slog.Any("error", err))
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			n.setFailure(err)
			logger.LogAttrs(ctx, slog.LevelDebug, "NATS cannot be connected again", slog.Any("error", err))
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			n.setFailure(nil)
			logger.LogAttrs(ctx, slog.LevelInfo, "NATS is connected again",
				slog.String("server", nc.ConnectedServerName()))
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			n.setRefusal(err)
			logger.LogAttrs(ctx, slog.LevelWarn, "NATS has failed", slog.Any("error", err))
		}),
	}
}

// setFailure records why the connection cannot be established again, nil if it is.
func (n *connection) setFailure(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.why = err
}

// setRefusal records an error of the connection, such as a denied permission, and its
// time.
func (n *connection) setRefusal(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refusal, n.refused = err, time.Now()
}

// latestRefusal returns the latest error of the connection, nil if there was none in
// the last minute. A request that NATS refuses gets no response and times out: this
// error says why.
func (n *connection) latestRefusal() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.refused) > time.Minute {
		return nil
	}
	return n.refusal
}

// problem returns why there is no connection, nil if there is one.
func (n *connection) problem() error {
	if n.IsConnected() {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.why == nil {
		return errors.New("NATS is not connected")
	}
	return fmt.Errorf("NATS is not connected: %w", n.why)
}

// health returns why the server in the process cannot write, nil if it can or there is
// none.
func (n *connection) health() error {
	if n.server == nil {
		return nil
	}
	return n.server.health()
}

// dial connects to one of the servers. While nothing listens, it tries again for the
// time atStart: servers and replicas may be started together.
func (c *config) dial(ctx context.Context, opts []nats.Option) (*nats.Conn, error) {
	d := &dialer{failed: map[string]error{}}
	opts = append(slices.Clip(opts), nats.SetCustomDialer(d))
	for end := time.Now().Add(c.atStart); ; {
		nc, err := nats.Connect(c.servers, opts...)
		if err == nil {
			return nc, nil
		}
		if _, ok := errors.AsType[*url.Error](err); ok { // its text would show the URL with the password
			return nil, errors.New("-nats must be URLs; write a reserved character of a password as %XX")
		}
		_, network := errors.AsType[*net.OpError](err)
		nothingListens := network || errors.Is(err, nats.ErrNoServers)
		if !nothingListens || time.Now().After(end) {
			return nil, fmt.Errorf("-nats %s: %w", hosts(c.servers), d.reason(err))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(natsPause):
		}
	}
}

// hosts returns the addresses of servers without their users and passwords.
func hosts(servers string) string {
	all := strings.Split(servers, ",")
	for i, server := range all {
		if _, host, ok := strings.Cut(server, "://"); ok {
			server = host
		}
		all[i] = strings.TrimSpace(server[strings.LastIndexByte(server, '@')+1:])
	}
	return strings.Join(all, ",")
}

// dialer keeps why addresses cannot be connected to: nats.Connect says only that no
// server could be.
type dialer struct {
	net.Dialer

	mu     sync.Mutex
	failed map[string]error // latest error by address
}

// Dial connects to an address. It keeps the error of each address that cannot be reached. The error of
// nats.Connect does not have these errors: the method reason adds them.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), nats.DefaultTimeout)
	defer cancel()
	conn, err := d.DialContext(ctx, network, address)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.failed[address] = err
	} else {
		delete(d.failed, address)
	}
	return conn, err
}

// reason returns err, the error of nats.Connect, with what it leaves out: the errors
// of the addresses.
func (d *dialer) reason(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return fmt.Errorf("the server refuses the credentials: %w", err)
	case errors.Is(err, nats.ErrNoServers):
		for _, failed := range d.failed {
			err = fmt.Errorf("%w; %w", err, failed)
		}
	}
	return err
}

// access returns the options for credentials and TLS.
func (c *config) access() (opts []nats.Option) {
	if c.creds != "" {
		opts = append(opts, nats.UserCredentials(c.creds))
	}
	if c.ca != "" {
		opts = append(opts, nats.RootCAs(c.ca))
	}
	if c.certificate != "" || c.certificateKey != "" {
		opts = append(opts, nats.ClientCert(c.certificate, c.certificateKey))
	}
	return opts
}
