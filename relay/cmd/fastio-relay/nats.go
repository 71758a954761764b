package main

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	natsStart = 30 * time.Second
	natsPing  = 5 * time.Second // of a quiet connection, which is lost after three without a response
)

// connect connects to the servers, or starts one in the process. Stop ends both.
func (c *config) connect(ctx context.Context, logger *slog.Logger) (nc *nats.Conn, stop func(), err error) {
	opts := []nats.Option{
		nats.Name("fastio-relay " + c.name), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true),
		nats.PingInterval(natsPing),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			logger.LogAttrs(ctx, slog.LevelWarn, "NATS is disconnected", slog.Any("error", err))
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			logger.LogAttrs(ctx, slog.LevelInfo, "NATS is connected again",
				slog.String("server", nc.ConnectedServerName()))
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			logger.LogAttrs(ctx, slog.LevelWarn, "NATS has failed", slog.Any("error", err))
		}),
	}
	if c.servers != "" {
		nc, err = nats.Connect(c.servers, append(opts, c.access()...)...)
		if _, ok := errors.AsType[*url.Error](err); ok { // which shows the URL, with a password
			return nil, nil, errors.New("-nats must be URLs; write a reserved character of a password as %XX")
		}
		if err != nil {
			return nil, nil, err
		}
		return nc, nc.Close, nil
	}
	if c.replicas != 1 {
		return nil, nil, errors.New("-replicas requires -nats: a server in the process has one copy of the stream")
	}
	ns, err := server.NewServer(&server.Options{
		ServerName: c.name, DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: c.data,
		SyncAlways: true,
	})
	if err != nil {
		return nil, nil, err
	}
	ns.Start()
	shutdown := func() {
		ns.Shutdown()
		ns.WaitForShutdown()
	}
	if !ns.ReadyForConnections(natsStart) {
		shutdown()
		return nil, nil, errors.New("the NATS server in the process does not start: is its directory in use?")
	}
	nc, err = nats.Connect("", append(opts, nats.InProcessServer(ns))...)
	if err != nil {
		shutdown()
		return nil, nil, err
	}
	return nc, func() {
		nc.Close()
		shutdown()
	}, nil
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
