package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

func TestMain(m *testing.M) {
	// A server of NATS that is shut down while it sets up a mirror waits half a minute for the response.
	const ofNATS = "github.com/nats-io/nats-server/v2/server.(*stream).setupMirrorConsumer.func3"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(ofNATS))
}

// startServer starts a NATS server that opens no socket.
func startServer(tb testing.TB) *server.Server {
	tb.Helper()
	ns, err := server.NewServer(&server.Options{
		ServerName: "test", JetStream: true, StoreDir: tb.TempDir(), DontListen: true, NoSigs: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	ns.Start()
	tb.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		tb.Fatal("the server is not ready")
	}
	return ns
}

// link is a connection to a server that a test can cut and delay.
type link struct {
	ns    *server.Server
	delay atomic.Int64 // from a write to its arrival, in nanoseconds

	mu    sync.Mutex
	cut   bool
	hold  bool
	conns []*linkConn
}

func (l *link) InProcessConn() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, errors.New("the link is cut")
	}
	c, err := l.ns.InProcessConn()
	if err != nil {
		return nil, err
	}
	conn := &linkConn{Conn: c, l: l, arrived: make(chan struct{})}
	close(conn.arrived)
	l.conns = append(l.conns, conn)
	return conn, nil
}

// Cut closes the connections and refuses others.
func (l *link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for _, c := range l.conns {
		c.Close()
	}
}

// Restore accepts connections again.
func (l *link) Restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// Hold keeps what is written until the returned function is called, which sends it.
func (l *link) Hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.hold = false
		for _, c := range l.conns {
			c.Conn.Write(c.held)
			c.held = nil
		}
	}
}

// Holds reports whether a text is in what is kept.
func (l *link) Holds(text string) bool { return l.HoldsMatch(regexp.QuoteMeta(text)) }

// HoldsMatch reports whether a text in what is kept matches a pattern.
func (l *link) HoldsMatch(pattern string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	search := regexp.MustCompile(pattern)
	return slices.ContainsFunc(l.conns, func(c *linkConn) bool { return search.Match(c.held) })
}

type linkConn struct {
	net.Conn
	l       *link
	held    []byte
	arrived chan struct{} // closed when the last delayed write has arrived
}

func (c *linkConn) Write(b []byte) (int, error) {
	if delay := c.l.delay.Load(); delay > 0 {
		before, done, data := c.arrived, make(chan struct{}), bytes.Clone(b)
		c.arrived = done
		time.AfterFunc(time.Duration(delay), func() {
			defer close(done)
			<-before
			c.Conn.Write(data)
		})
		return len(b), nil
	}
	<-c.arrived
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.l.hold {
		c.held = append(c.held, b...)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func connect(tb testing.TB, ns *server.Server) (jetstream.JetStream, *link) {
	tb.Helper()
	l := &link{ns: ns}
	nc, err := nats.Connect("", nats.InProcessServer(l), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	return js, l
}

// platform is an emulated platform with workspaces.
type platform struct {
	*fastiotest.Server
	profiles []api.Profile

	mu      sync.Mutex
	changed map[api.Profile][]func(bool)
	added   int
}

func newPlatform(workspaces int) *platform {
	p := &platform{
		Server: fastiotest.New(func(o *seed.Options) {
			o.Limits.Rules = []seed.Limit{}
			o.Limits.NoHeaders = true
		}),
		changed: map[api.Profile][]func(bool){},
	}
	for range workspaces {
		p.profiles = append(p.profiles, api.Workspace(api.ID(p.AddWorkspace(seed.Workspace{}).ID)))
	}
	return p
}

// add adds events to a log and reports the change.
func (p *platform) add(in api.Profile, n int) {
	for range n {
		p.mu.Lock()
		p.added++
		name := fmt.Sprintf("event%07d", p.added)
		p.mu.Unlock()
		p.AddEvent(seed.Event{
			Name: "workspace_storage_file_added", Workspace: string(in.ID), ObjectName: name,
			Created: time.Now().Add(-time.Second),
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, changed := range p.changed[in] {
		changed(true)
	}
}

// Wake reports the changes of add.
func (p *platform) Wake(
	ctx context.Context, profile api.Profile, changed func(bool), _ ...api.CallOption,
) error {
	changed(true)
	p.mu.Lock()
	p.changed[profile] = append(p.changed[profile], changed)
	p.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

// unlimited is a client whose searches have no rate limits.
type unlimited struct{ api.Client }

func (c unlimited) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	free := *r
	free.Group = "test"
	return c.Client.Call(ctx, &free, out, opts...)
}

func (p *platform) events(tb testing.TB) *events.Service {
	tb.Helper()
	return events.New(unlimited{p.Client(tb)}, &events.Options{Waker: p})
}

// follower is a replica that runs.
type follower struct {
	*relay.Follower
	js   jetstream.JetStream
	link *link
	stop func() // and wait
}

func (p *platform) start(t *testing.T, ns *server.Server, change func(f *relay.Follower)) *follower {
	t.Helper()
	js, l := connect(t, ns)
	f := &relay.Follower{
		Stream: relay.Stream{JetStream: js}, Events: p.events(t), Profiles: p.profiles, Lease: time.Minute,
		Follow: events.FollowOptions{Interval: 100 * time.Millisecond},
		OnError: func(_ context.Context, profile api.Profile, err error) {
			t.Log(profile, err)
			if errors.Is(err, context.Canceled) {
				t.Error("an orderly stop is reported")
			}
		},
	}
	f.ShortLease()
	if change != nil {
		change(f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
	t.Cleanup(stop)
	return &follower{f, js, l, stop}
}

// eventually waits until ok is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute) // two leases, and time for a machine that is busy
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// stored returns the events of a stream, in order.
func stored(t *testing.T, js jetstream.JetStream) (all []*jetstream.RawStreamMsg) {
	t.Helper()
	stream, err := js.Stream(t.Context(), "FASTIO")
	if err != nil {
		t.Fatal(err)
	}
	info := stream.CachedInfo()
	for sequence := info.State.FirstSeq; sequence <= info.State.LastSeq; sequence++ {
		msg, err := stream.GetMsg(t.Context(), sequence)
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && strings.HasPrefix(msg.Subject, "fastio.events.epoch.") {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, msg)
	}
	return all
}

// count returns the number of stored events.
func count(t *testing.T, js jetstream.JetStream) int {
	t.Helper()
	stream, err := js.Stream(t.Context(), "FASTIO")
	if err != nil {
		return 0
	}
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter("fastio.events.*.*.*"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, messages := range info.State.Subjects {
		n += int(messages)
	}
	return n
}
