package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// programEnv makes the test binary run as one of the programs.
const programEnv = "FASTIO_RELAY_TEST_PROGRAM"

func TestMain(m *testing.M) {
	program := os.Getenv(programEnv)
	if program == "" {
		_ = flag.Set("test.parallel", "32") // they wait most of the time
		goleak.VerifyTestMain(m)
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
		os.Exit(1)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var err error
	switch program {
	case "nats":
		err = runNATS(ctx, os.Args[1])
	case "replica":
		err = runReplica(ctx, os.Args[1:])
	case "consumer":
		err = runConsumer(ctx, os.Args[1], os.Args[2], os.Args[3])
	case "accounts":
		err = runAccounts(ctx, os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(1)
	}
}

// runNATS runs a server with a configuration file.
func runNATS(ctx context.Context, file string) error {
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		return err
	}
	o.NoSigs = true
	ns, err := server.NewServer(o)
	if err != nil {
		return err
	}
	ns.ConfigureLogger()
	ns.Start()
	<-ctx.Done()
	ns.Shutdown()
	ns.WaitForShutdown()
	return nil
}

// unlimited is a client whose searches have no rate limits.
type unlimited struct{ api.Client }

func (c unlimited) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	free := *r
	free.Group = "test"
	return c.Client.Call(ctx, &free, out, opts...)
}

// runReplica is runCommand with an unlimited client.
func runReplica(ctx context.Context, args []string) error {
	c, err := parse(args, os.Getenv, os.Stderr)
	if err != nil {
		return err
	}
	p := &program{config: c, logger: c.logger(os.Stderr), metrics: newMetrics(c.profiles)}
	p.nats, err = c.connect(ctx, p.logger)
	if err != nil {
		return err
	}
	defer p.nats.stop()
	p.stream, err = c.stream(p.nats.Conn)
	if err != nil {
		return err
	}
	client, err := c.client(fastio.WithMiddleware(p.metrics.countResponses))
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	p.logs = events.New(unlimited{client}, &events.Options{Waker: client.Realtime})
	return p.follow(ctx, func(string) {})
}

// accountsKey encrypts the credentials of accounts.
var accountsKey = []byte("0123456789abcdef0123456789abcdef")

// runAccounts runs a replica that follows accounts, with sockets for all profiles.
func runAccounts(ctx context.Context, name, servers, copies, platform string) error {
	n, err := strconv.Atoi(copies)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	nc, err := nats.Connect(servers, append(new(connection).options(ctx, &config{name: name}, logger),
		nats.RetryOnFailedConnect(true), nats.IgnoreDiscoveredServers())...)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	f := &relay.AccountFollower{
		Accounts: relay.Accounts{Stream: relay.Stream{JetStream: js, Replicas: n}, Keys: oauth.StaticKey(accountsKey)},
		Name:     name, Lease: testLease, Sockets: 10_000, Follow: events.FollowOptions{Interval: 3 * time.Second},
		Options: []fastio.Option{fastio.WithBaseURL(platform)},
		OnError: func(ctx context.Context, account string, profile api.Profile, err error) {
			logger.WarnContext(ctx, "failed", slog.String("account", account), slog.String("profile", nameOf(profile)),
				slog.Any("error", err))
		},
		OnRetry: func(ctx context.Context, account string, profile api.Profile, e api.RetryEvent) {
			logger.WarnContext(ctx, "retrying", slog.String("account", account), slog.String("profile", nameOf(profile)),
				slog.String("op", e.Op), slog.Int("attempt", e.Attempt), slog.Duration("wait", e.Wait), slog.Any("error", e.Err))
		},
	}
	return f.Run(ctx)
}

// Before the IDs of messages that the ordered consumer handles, and of those that it handles
// after a later one of the same workspace.
const (
	ordered   = "ordered "
	backwards = "backwards "
)

// runConsumer prints the ID of each message, and runs an ordered consumer of some workspaces.
// Without workspaces it reads the events of all accounts.
func runConsumer(ctx context.Context, servers, copies, workspaces string) error {
	n, err := strconv.Atoi(copies)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(servers, nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	o := relay.ConsumeOptions{
		Stream: relay.Stream{JetStream: js, Replicas: n}, Name: "check", Concurrency: 50, AckWait: 5 * time.Second,
		OnError: func(_ context.Context, subject string, err error, _ bool) { fmt.Fprintln(os.Stderr, subject, err) },
	}
	all := func(_ context.Context, m relay.Message[events.Event]) error {
		_, err := os.Stdout.WriteString(plainID(m.ID) + "\n")
		return err
	}
	if workspaces == "" {
		o.Account = relay.AllAccounts
		return relay.Consume(ctx, o, all)
	}
	inOrder := o
	inOrder.Name, inOrder.Ordered = "ordered", true
	for id := range strings.SplitSeq(workspaces, ",") {
		inOrder.Profiles = append(inOrder.Profiles, api.Workspace(api.ID(id)))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var both sync.WaitGroup
	both.Go(func() { cancel(relay.Consume(ctx, o, all)) })
	both.Go(func() { cancel(relay.Consume(ctx, inOrder, printOrder())) })
	both.Wait()
	return context.Cause(ctx)
}

// printOrder returns a handler that prints the ID of each message.
func printOrder() func(context.Context, relay.Message[events.Event]) error {
	var mu sync.Mutex
	last := map[string]uint64{}
	return func(_ context.Context, m relay.Message[events.Event]) error {
		mu.Lock()
		defer mu.Unlock()
		prefix := ordered
		if m.Sequence < last[m.Subject] {
			prefix = backwards
		}
		last[m.Subject] = m.Sequence
		_, err := os.Stdout.WriteString(prefix + m.ID + "\n")
		return err
	}
}

// process is a program that is started again whenever it ends, as by a service manager.
type process struct {
	name    string
	program string
	exe     string
	args    []string
	env     []string
	out     io.Writer // stdout
	log     string    // file with stderr

	mu      sync.Mutex
	running *os.Process
	pause   time.Duration // until the next start
	starts  int
	failed  int // ends without a kill
	killed  bool
}

func (p *process) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.runOnce(ctx)
		p.mu.Lock()
		pause := p.pause
		p.running = nil
		if !p.killed && ctx.Err() == nil {
			p.failed++
			pause = time.Second
			p.note(fmt.Sprintf("ended: %v", err))
		}
		p.killed = false
		p.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (p *process) runOnce(ctx context.Context) error {
	stderr, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer stderr.Close()
	cmd := exec.CommandContext(ctx, p.exe, p.args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(append(os.Environ(), programEnv+"="+p.program), p.env...)
	cmd.Stdout, cmd.Stderr = p.out, stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		return err
	}
	p.mu.Lock()
	p.running = cmd.Process
	p.starts++
	p.mu.Unlock()
	return cmd.Wait()
}

// kill kills the process, which is started again after a pause. It reports whether the
// process ran.
func (p *process) kill(pause time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil || p.killed {
		return false
	}
	p.pause, p.killed = pause, true
	p.note("killed")
	return p.running.Kill() == nil
}

// note adds a line to the log of the process.
func (p *process) note(text string) {
	if f, err := os.OpenFile(p.log, os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		_, _ = fmt.Fprintf(f, "--- %s %s\n", time.Now().Format(time.TimeOnly), text)
		_ = f.Close()
	}
}

// lines collects lines. A line may be written by a process that is killed meanwhile.
type lines struct {
	mu    sync.Mutex
	rest  []byte
	got   map[string]int
	first map[string]time.Time // when a line came first
}

// newLines returns a collection without lines.
func newLines() lines { return lines{got: map[string]int{}, first: map[string]time.Time{}} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, b...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.got[string(line)]++
		if l.got[string(line)] == 1 {
			l.first[string(line)] = time.Now()
		}
		l.rest = rest
	}
}

// cluster is an emulated platform, NATS nodes, replicas and consumers as processes.
type cluster struct {
	dir      string
	exe      string // what the processes run
	platform *fastiotest.Server
	url      string
	accounts bool // the replicas follow accounts, with the profiles

	mu       sync.Mutex
	profiles []api.Profile
	added    map[string][]string // ids of messages by profile, in the order of the log; without those of accounts
	addedAt  map[string]time.Time
	idle     map[string]bool // profiles that are not followed now
	gone     map[string]bool // those of accounts that were removed

	nodes    []*process
	ports    []int // of nodes, for clients
	replicas []*process
	pages    []int // ports of replicas
	consumer *process
	handled  lines
	js       jetstream.JetStream
	running  sync.WaitGroup
	starting context.Context //nolint:containedctx // of the processes
}

const testLease = 10 * time.Second

// newCluster returns a cluster without processes.
func newCluster(t *testing.T, profiles int) *cluster {
	t.Helper()
	c := &cluster{
		dir: t.TempDir(), added: map[string][]string{}, addedAt: map[string]time.Time{}, idle: map[string]bool{},
		gone: map[string]bool{}, handled: newLines(),
	}
	c.platform = fastiotest.New(func(o *seed.Options) {
		o.Limits.Rules = []seed.Limit{}
		o.Limits.NoHeaders = true
	})
	for range profiles {
		c.profiles = append(c.profiles, api.Workspace(api.ID(c.platform.AddWorkspace(seed.Workspace{}).ID)))
	}
	c.url = c.platform.Start(t)
	var err error
	c.exe, err = os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stop context.CancelFunc
	c.starting, stop = context.WithCancel(context.Background()) //nolint:usetesting // until the cleanup
	t.Cleanup(func() {
		stop()
		c.running.Wait()
		c.requireNoPanic(t)
	})
	return c
}

func (c *cluster) start(p *process) {
	p.exe, p.log = c.exe, filepath.Join(c.dir, p.name+".log")
	c.running.Go(func() { p.run(c.starting) })
}

// all returns the processes.
func (c *cluster) all() []*process {
	return append(slices.Concat(c.nodes, c.replicas), c.consumer)
}

// requireNoPanic requires that the processes have ended without a panic.
func (c *cluster) requireNoPanic(t *testing.T) {
	t.Helper()
	for _, p := range c.all() {
		if p == nil {
			continue
		}
		log, err := os.ReadFile(p.log)
		if err != nil {
			t.Error(err)
		}
		for _, bad := range []string{"panic: ", "fatal error: ", "goroutine "} {
			if at := bytes.Index(log, []byte(bad)); at >= 0 {
				t.Errorf("%s: %s", p.name, log[at:min(at+4000, len(log))])
				break
			}
		}
		if t.Failed() {
			t.Logf("%s: %d starts, %d failures\n%s", p.name, p.starts, p.failed, log[max(0, len(log)-3000):])
		}
	}
}

// freePort returns a port that no program uses.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startNode starts a NATS server with further lines of configuration.
func (c *cluster) startNode(t *testing.T, store, more string, env ...string) {
	t.Helper()
	name, port := fmt.Sprintf("nats-%d", len(c.nodes)+1), freePort(t)
	file := filepath.Join(c.dir, name+".conf")
	text := fmt.Sprintf("server_name: %s\nlisten: 127.0.0.1:%d\njetstream {store_dir: %q, sync_interval: always}\n%s\n",
		name, port, store, more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{name: name, program: "nats", args: []string{file}, env: env}
	c.nodes, c.ports = append(c.nodes, p), append(c.ports, port)
	c.start(p)
}

// addresses returns the URLs of NATS servers.
func addresses(ports []int) string {
	all := make([]string, len(ports))
	for i, port := range ports {
		all[i] = fmt.Sprintf("nats://127.0.0.1:%d", port)
	}
	return strings.Join(all, ",")
}

// startReplica starts a replica that uses some servers.
func (c *cluster) startReplica(t *testing.T, servers string, env ...string) {
	t.Helper()
	names := make([]string, len(c.profiles))
	for i, p := range c.profiles {
		names[i] = string(p.Kind) + ":" + string(p.ID)
	}
	name, port := fmt.Sprintf("replica-%d", len(c.replicas)+1), freePort(t)
	p := &process{
		name: name, program: "replica",
		args: []string{
			"-profiles", strings.Join(names, ","), "-name", name, "-nats", servers,
			"-replicas", strconv.Itoa(len(c.nodes)), "-lease", testLease.String(), "-duplicates", "2h",
			"-listen", fmt.Sprintf("127.0.0.1:%d", port),
		},
		env: append([]string{"FASTIO_BASE_URL=" + c.url, "FASTIO_API_KEY=" + c.platform.Token()}, env...),
	}
	c.replicas, c.pages = append(c.replicas, p), append(c.pages, port)
	c.start(p)
}

func (c *cluster) startConsumer(servers string) {
	var workspaces []string
	for _, p := range c.inOrder() {
		workspaces = append(workspaces, string(p.ID))
	}
	c.consumer = &process{
		name: "consumer", program: "consumer", out: &c.handled,
		args: []string{servers, strconv.Itoa(len(c.nodes)), strings.Join(workspaces, ",")},
	}
	c.start(c.consumer)
}

// inOrder returns the profiles of the ordered consumer. With accounts, there is none.
func (c *cluster) inOrder() []api.Profile {
	if c.accounts {
		return nil
	}
	return c.profiles[:min(5, len(c.profiles))]
}

// connect connects the test to the nodes and creates the stream.
func (c *cluster) connect(t *testing.T) {
	t.Helper()
	nc, err := nats.Connect(addresses(c.ports), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(200*time.Millisecond), nats.IgnoreDiscoveredServers())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	c.js, err = jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s := relay.Stream{JetStream: c.js, Replicas: len(c.nodes), Duplicates: 2 * time.Hour}
	if c.accounts {
		s.Duplicates = 0 // the shortest: what is stored once is not due to it
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if err = s.Create(t.Context()); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// add adds events to all logs, in two categories.
func (c *cluster) add(n int, created time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		for _, p := range c.profiles {
			c.addTo(string(p.ID), i, created)
		}
	}
}

// addTo adds an event to the log of a workspace. The caller holds c.mu.
func (c *cluster) addTo(workspace string, i int, created time.Time) {
	names := []string{"workspace_storage_file_added", "comment_created"}
	e := c.platform.AddEvent(seed.Event{Name: names[i%2], Workspace: workspace, ObjectName: "plan.txt", Created: created})
	id := "workspace-" + workspace + "-" + api.OpaqueID(e.ID).Plain()
	c.added[workspace] = append(c.added[workspace], id)
	c.addedAt[id] = time.Now()
}

// plainID returns the ID of a message without what is before that of the profile: the life of
// an account.
func plainID(id string) string { return id[max(0, strings.Index(id, "workspace-")):] }

// count returns the numbers of stored events by profile.
func (c *cluster) count(ctx context.Context) (stored map[string]int, total int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.pause()*4)
	defer cancel()
	stream, err := c.js.Stream(ctx, "FASTIO")
	if err != nil {
		return nil, 0, err
	}
	filter := "fastio.events.workspace.>"
	if c.accounts {
		filter = "fastio.events.*.workspace.*.*"
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, 0, err
	}
	stored = map[string]int{}
	for subject, n := range info.State.Subjects {
		parts := strings.Split(subject, ".")
		stored[parts[len(parts)-2]] += int(n)
		total += int(n)
	}
	return stored, total, nil
}

// pause is the time between two counts, which take the servers much with many profiles.
func (c *cluster) pause() time.Duration {
	if c.accounts {
		return time.Second
	}
	return 250 * time.Millisecond
}

// burst adds events to all logs and returns while they are published.
func (c *cluster) burst(t *testing.T, n int) {
	t.Helper()
	before := 0
	for _, ids := range c.added {
		before += len(ids)
	}
	c.add(n, time.Now())
	at := before + rand.IntN(n*len(c.profiles))
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		_, stored, err := c.count(t.Context())
		if err == nil && stored > at {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d events are stored, want more than %d: %v", stored, before+n*len(c.profiles), at, err)
		}
	}
}

// drain waits until all events are stored, and returns how long it took for each profile
// with events since a time. It returns false after the limit.
func (c *cluster) drain(ctx context.Context, since time.Time, limit time.Duration) (took []time.Duration, ok bool) {
	done := map[string]bool{}
	for {
		stored, _, err := c.count(ctx)
		now, missing := time.Since(since), 0
		c.mu.Lock()
		for id, added := range c.added {
			switch {
			case done[id] || c.idle[id]:
			case err == nil && stored[id] >= len(added):
				done[id] = true
				if c.addedAt[added[len(added)-1]].After(since) {
					took = append(took, now)
				}
			default:
				missing++
			}
		}
		c.mu.Unlock()
		if missing == 0 {
			return took, true
		}
		if now > limit {
			return took, false
		}
		select {
		case <-time.After(c.pause()):
		case <-ctx.Done():
			return took, false
		}
	}
}

// verify requires that the stream has each event once, the events of each profile by
// growing epochs and in the order of its log, and that the consumer has handled them all.
func (c *cluster) verify(t *testing.T) {
	t.Helper()
	ids, position, highest, disorder := map[string]int{}, map[string]int{}, map[string]uint64{}, 0
	place := map[string]int{}
	for _, all := range c.added {
		for i, id := range all {
			place[id] = i
		}
	}
	for msg := range c.stored(t) {
		parts := strings.Split(msg.Subject(), ".")
		if len(parts) < 5 || parts[2] == "epoch" {
			continue
		}
		profile, id := parts[len(parts)-2], plainID(msg.Headers().Get(jetstream.MsgIDHeader))
		ids[id]++
		if ids[id] > 1 {
			t.Errorf("%s is stored %d times", id, ids[id])
		}
		if c.gone[profile] {
			continue
		}
		epoch, err := strconv.ParseUint(msg.Headers().Get(relay.HeaderEpoch), 10, 64)
		if err != nil || epoch < highest[profile] {
			t.Errorf("%s: epoch %d follows %d: %v", id, epoch, highest[profile], err)
		}
		highest[profile] = max(highest[profile], epoch)
		if at, ok := place[id]; !ok {
			t.Errorf("%s is of no event", id)
		} else if at < position[profile] {
			disorder++
		} else {
			position[profile] = at
		}
	}
	for id := range place {
		if ids[id] == 0 {
			t.Errorf("%s is lost", id)
		}
	}
	if disorder > 0 {
		t.Errorf("%d events are stored after a later one", disorder)
	}
	c.requireHandled(t)
	epochs := slices.Sorted(maps.Values(highest))
	t.Logf("%d events, %d stored, %d disordered, epochs of %d to %d", len(place), len(ids), disorder, epochs[0],
		epochs[len(epochs)-1])
}

// stored returns the messages of the stream in order.
func (c *cluster) stored(t *testing.T) func(yield func(jetstream.Msg) bool) {
	t.Helper()
	return func(yield func(jetstream.Msg) bool) {
		stream, err := c.js.Stream(t.Context(), "FASTIO")
		if err != nil {
			t.Fatal(err)
		}
		consumer, err := stream.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		messages, err := consumer.Messages(jetstream.PullMaxMessages(5000))
		if err != nil {
			t.Fatal(err)
		}
		defer messages.Stop()
		for last := stream.CachedInfo().State.LastSeq; ; {
			msg, err := messages.Next(jetstream.NextMaxWait(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			meta, err := msg.Metadata()
			if err != nil {
				t.Fatal(err)
			}
			if !yield(msg) || meta.Sequence.Stream >= last {
				return
			}
		}
	}
}

// requireHandled waits until the consumer has acknowledged all messages.
func (c *cluster) requireHandled(t *testing.T) {
	t.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		var groups []relay.Group
		groups, err = relay.Stream{JetStream: c.js}.Groups(t.Context())
		for _, g := range groups {
			if g.Pending+uint64(g.Handling) > 0 {
				err = fmt.Errorf("%s: %d messages are pending, %d not acknowledged", g.Name, g.Pending, g.Handling)
			}
		}
		if err == nil && (len(groups) == 2 || c.accounts && len(groups) == 1) {
			break
		}
	}
	repeated := 0
	c.handled.mu.Lock()
	defer c.handled.mu.Unlock()
	for _, ids := range c.added {
		for _, id := range ids {
			if c.handled.got[id] == 0 {
				err = errors.Join(err, fmt.Errorf("%s was not handled", id))
			}
			if c.handled.got[id] > 1 {
				repeated++
			}
		}
	}
	for _, p := range c.inOrder() {
		for _, id := range c.added[string(p.ID)] {
			if c.handled.got[ordered+id] == 0 {
				err = errors.Join(err, fmt.Errorf("%s was not handled in order", id))
			}
		}
	}
	back := 0
	for line := range c.handled.got {
		if strings.HasPrefix(line, backwards) {
			back++
			err = errors.Join(err, errors.New(line))
		}
	}
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d lines of handled events, %d events repeatedly, %d of the ordered consumer backwards", len(c.handled.got), repeated, back)
}
