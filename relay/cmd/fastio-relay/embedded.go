package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/relay"
)

// Users of a NATS server in the process that listens, and the files with their URLs.
const (
	relayUser  = "relay" // may do everything
	readerUser = "reader"
	relayFile  = "nats.creds"
	readerFile = "nats-reader.creds"
	relayInbox = "_INBOX_RELAY" // which the reader cannot subscribe to
)

const (
	healthInterval = 2 * time.Second
	diskProbe      = 1 << 20 // bytes that must fit before a server is started again
)

// embedded is a NATS server in the process. A server that cannot write any more, because
// its disk is full, stays so until it is started again: watch does that when the disk has
// room.
type embedded struct {
	options  *server.Options
	lock     *flock.Flock
	logger   *slog.Logger
	password string // of relayUser; "" without a listener

	mu      sync.Mutex
	ns      *server.Server
	problem error // why it cannot write; nil if it can
}

// startEmbedded starts the server of a configuration.
func (c *config) startEmbedded(logger *slog.Logger) (*embedded, error) {
	if c.replicas != 1 {
		return nil, errors.New("-replicas requires -nats: a server in the process has one copy of the stream")
	}
	lock, err := lockDir(c.data, c.name)
	if err != nil {
		return nil, err
	}
	e := &embedded{lock: lock, logger: logger, options: &server.Options{
		ServerName: c.name, DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: c.data, SyncAlways: true,
	}}
	err = c.listenNATS(e)
	if err == nil {
		err = e.start()
	}
	if err == nil && c.natsListen != "" {
		err = e.saveURLs(c.data)
	}
	if err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

// splitListen returns the host and the port of -nats-listen. Port 0 picks a free one.
func splitListen(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("-nats-listen: %w", err)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("-nats-listen %s: the port must be 0 to 65535", address)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// listenNATS sets the options with which the server listens at -nats-listen: with two users,
// the relay and a reader, and with TLS if there is a certificate. An address that other
// machines can reach requires a certificate.
func (c *config) listenNATS(e *embedded) error {
	if c.natsListen == "" {
		return nil
	}
	host, port, err := splitListen(c.natsListen)
	if err != nil {
		return err
	}
	o := e.options
	o.DontListen, o.Host, o.Port = false, host, port
	if c.certificate != "" || c.certificateKey != "" {
		pair, err := tls.LoadX509KeyPair(c.certificate, c.certificateKey)
		if err != nil {
			return fmt.Errorf("-nats-cert and -nats-key: %w", err)
		}
		o.TLS, o.TLSTimeout = true, natsStart.Seconds()
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	} else if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("-nats-listen %s is not a loopback address: set -nats-cert and -nats-key for TLS", c.natsListen)
	}
	e.password, err = savedPassword(filepath.Join(c.data, relayFile))
	if err != nil {
		return err
	}
	reader, err := savedPassword(filepath.Join(c.data, readerFile))
	if err != nil {
		return err
	}
	o.Users = []*server.User{
		{Username: relayUser, Password: e.password},
		{Username: readerUser, Password: reader, Permissions: readerPermissions(c.streamName, c.prefix)},
	}
	return nil
}

// readerPermissions are those of programs that call relay.Consume, or read the stream
// with a client of NATS. Such programs also create a stream for dead letters and one for
// ordered groups. The guide has the same permissions for a NATS server outside of the process.
func readerPermissions(stream, prefix string) *server.Permissions {
	ordered := stream + "-ORDERED"
	allow := []string{
		"$JS.API.INFO",
		"$JS.API.STREAM.NAMES",
		"$JS.API.STREAM.MSG.GET." + stream,
		"$JS.API.DIRECT.GET." + stream + ".>",
		"$JS.API.STREAM.INFO." + stream + "-DEAD",
		"$JS.API.STREAM.CREATE." + stream + "-DEAD",
		"$JS.API.STREAM.CREATE." + ordered,
		prefix + "-dead.*",
	}
	for _, name := range []string{stream, ordered} {
		allow = append(allow,
			"$JS.API.STREAM.INFO."+name,
			"$JS.API.CONSUMER.CREATE."+name+".>",
			"$JS.API.CONSUMER.INFO."+name+".*",
			"$JS.API.CONSUMER.MSG.NEXT."+name+".*",
			"$JS.ACK."+name+".>",
			"$JS.FC."+name+".>")
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: allow},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}
}

// savedPassword returns the password in the URL of a file, or a new one if there is no file.
func savedPassword(path string) (string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // in the directory that the user names
	if errors.Is(err, os.ErrNotExist) {
		return rand.Text(), nil
	}
	if err != nil {
		return "", err
	}
	address, err := url.Parse(strings.TrimSpace(string(content)))
	if err == nil {
		if password, ok := address.User.Password(); ok && password != "" {
			return password, nil
		}
	}
	return "", fmt.Errorf("%s has no URL with a password: delete it for new credentials", path)
}

// address returns the one on which the server listens.
func (e *embedded) address() string {
	return net.JoinHostPort(e.options.Host, strconv.Itoa(e.options.Port))
}

// saveURLs writes the files with the URLs of the users, which only their owner can read.
func (e *embedded) saveURLs(dir string) error {
	scheme, host := "nats", e.options.Host
	if e.options.TLS {
		scheme = "tls"
	}
	ip := net.ParseIP(host)
	listensOnAll := host == "" || ip != nil && ip.IsUnspecified() // on all addresses of the machine: the URL has its name
	if listensOnAll {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		host = name
	}
	for i, name := range []string{relayFile, readerFile} {
		user := e.options.Users[i]
		address := url.URL{
			Scheme: scheme, User: url.UserPassword(user.Username, user.Password), Host: net.JoinHostPort(host, strconv.Itoa(e.options.Port)),
		}
		if err := replaceFile(filepath.Join(dir, name), address.String()+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile writes a file that only its owner can read. A reader sees the old
// content or the new one, never a part.
func replaceFile(path, content string) error {
	tmp := path + ".new"
	_ = os.Remove(tmp)                                                   // left by a process that was killed
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // in the directory that the user names
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}

// start starts the server.
func (e *embedded) start() error {
	ns, err := server.NewServer(e.options)
	if err != nil {
		return err
	}
	log := &serverLog{Logger: e.logger, fatal: make(chan error, 1)}
	const debug, trace, systemTrace = false, false, false
	ns.SetLoggerV2(log, debug, trace, systemTrace)
	ns.Start()
	if err := log.ready(ns); err != nil {
		ns.Shutdown()
		ns.WaitForShutdown()
		return fmt.Errorf("the NATS server in the process, with -data %s: %w", e.options.StoreDir, err)
	}
	if addr, ok := ns.Addr().(*net.TCPAddr); ok {
		e.options.Port = addr.Port // a server that is started again listens on the same port
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ns = ns
	return nil
}

// serverLog is the log of a NATS server.
type serverLog struct {
	*slog.Logger

	fatal chan error
}

// ready waits until the server accepts connections. It returns the error of a server that
// does not start.
func (l *serverLog) ready(ns *server.Server) error {
	const look = 100 * time.Millisecond
	for end := time.Now().Add(natsStart); time.Now().Before(end); {
		select {
		case err := <-l.fatal:
			return err
		default:
		}
		if ns.ReadyForConnections(look) && ns.JetStreamEnabled() {
			return nil
		}
	}
	return errors.New("it does not start in time")
}

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

// Warnf logs what needs no attention.
func (l *serverLog) Warnf(format string, v ...any) {
	l.write(slog.LevelDebug, format, v)
}

// Errorf logs a failure.
func (l *serverLog) Errorf(format string, v ...any) { l.write(slog.LevelWarn, format, v) }

// write logs a message of the server.
func (l *serverLog) write(level slog.Level, format string, v []any) {
	l.Log(context.Background(), level, "NATS server", slog.String("message", fmt.Sprintf(format, v...)))
}

// Fatalf keeps the reason why the server does not start.
func (l *serverLog) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- fmt.Errorf(format, v...):
	default:
	}
}

// stop stops the server and unlocks its directory.
func (e *embedded) stop() {
	e.shutdown()
	_ = e.lock.Unlock() // if it fails, the lock ends with the process
}

// shutdown stops the server, and waits until it has stopped.
func (e *embedded) shutdown() {
	e.mu.Lock()
	ns := e.ns
	e.mu.Unlock()
	if ns != nil {
		ns.Shutdown()
		ns.WaitForShutdown()
	}
}

// InProcessConn returns a connection to the server that runs.
func (e *embedded) InProcessConn() (net.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ns.InProcessConn()
}

// access returns the options of the connection in the process.
func (e *embedded) access() []nats.Option {
	opts := []nats.Option{nats.InProcessServer(e)}
	if e.password != "" {
		opts = append(opts, nats.UserInfo(relayUser, e.password), nats.CustomInboxPrefix(relayInbox))
	}
	return opts
}

// deleteHeartbeats deletes the heartbeats of the process that has used the directory before. That
// process has ended, because this one has the lock. Without the deletion, nothing would follow its
// profiles until its heartbeats expire. The heartbeat of a replica on another machine that uses
// this server is deleted too, and written again by that replica.
func deleteHeartbeats(ctx context.Context, s relay.Stream) error {
	bucket, err := s.JetStream.Stream(ctx, "KV_"+s.Bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err == nil {
		err = purgeKeys(ctx, bucket, "$KV."+s.Bucket+".replica.>")
	}
	if err != nil {
		return fmt.Errorf("the heartbeats in bucket %s: %w", s.Bucket, err)
	}
	return nil
}

const purges = 3 // at most: after a kill, one was seen to leave a key

// purgeKeys deletes the messages of subjects, again if some are left.
func purgeKeys(ctx context.Context, bucket jetstream.Stream, subjects string) error {
	for range purges {
		if err := bucket.Purge(ctx, jetstream.WithPurgeSubject(subjects)); err != nil {
			return err
		}
		info, err := bucket.Info(ctx, jetstream.WithSubjectFilter(subjects))
		if err != nil || len(info.State.Subjects) == 0 {
			return err
		}
	}
	return nil // what is left expires
}

// health returns why the server cannot write, nil if it can.
func (e *embedded) health() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.problem
}

// watch checks the server until ctx is done.
func (e *embedded) watch(ctx context.Context) {
	tick := time.NewTicker(healthInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			e.check(ctx)
		}
	}
}

// check records whether the server can write. If it could not at the check before
// either, and the disk has room, it stops the server and starts another one.
func (e *embedded) check(ctx context.Context) {
	e.mu.Lock()
	ns, before := e.ns, e.problem
	e.mu.Unlock()
	var problem error
	if h := ns.Healthz(&server.HealthzOptions{}); h.Error != "" {
		problem = errors.New(h.Error)
	}
	if problem != nil && before == nil {
		e.logger.ErrorContext(ctx, "the NATS server in the process cannot write", slog.Any("error", problem))
	}
	e.setProblem(problem)
	if problem == nil || before == nil { // a first failure may pass until the next check
		return
	}
	if err := probeDisk(e.options.StoreDir); err != nil {
		e.setProblem(err)
		return
	}
	e.shutdown()
	if err := e.start(); err != nil {
		e.setProblem(err)
		return
	}
	e.setProblem(nil)
	e.logger.InfoContext(ctx, "the NATS server in the process was started again")
}

// setProblem records why the server cannot write, nil if it can.
func (e *embedded) setProblem(problem error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.problem = problem
}

// probeDisk returns an error if a file of diskProbe bytes cannot be written in a
// directory.
func probeDisk(dir string) error {
	path := filepath.Join(dir, "fastio-relay.probe")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // in the directory that the user names
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, diskProbe))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(path))
}
