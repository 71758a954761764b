package main

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

// way is one in which nothing moves, and what shows it.
type way struct {
	name string

	options func(o *server.Options) // of the NATS server
	args    []string                // of the replica
	client  []fastio.Option         // of the replica
	before  func(w *world)          // the replica starts
	then    func(w *world)          // it is ready

	ends    string             // the error with which the command ends
	reason  string             // why it is not ready; "" means that it stays ready
	problem string             // of the replica
	profile string             // error of the profile
	holder  string             // of the profile, "" for any
	metrics map[string]float64 // least values, or exact ones if 0
}

// world is what a replica lives in.
type world struct {
	*testing.T

	platform *fastiotest.Server
	profile  string
	ns       *server.Server
	options  *server.Options
	js       jetstream.JetStream
	line     *line
	dir      string
}

// add adds events.
func (w *world) add(n int) { addEvents(w.platform, w.profile, n) }

func (w *world) fail(f seed.Fault) {
	f.Op = op.EventsSearch
	w.platform.Fail(f)
	w.add(1) // which is searched for at once
}

var ways = []way{
	{
		name: "the platform closes connections", then: func(w *world) { w.fail(seed.Fault{Reset: "before"}) },
		problem: "the platform does not respond", profile: "events.Search",
		metrics: map[string]float64{"platform_up": 0, "ready": 1, `search_failures_total{reason="network"}`: 1, "lag_seconds": 1},
	},
	{
		name: "the platform sends 503", then: func(w *world) { w.fail(seed.Fault{Status: 503}) },
		problem: "the platform does not respond", profile: "503", metrics: map[string]float64{"platform_up": 0},
	},
	{
		name: "the platform does not respond", then: func(w *world) { w.fail(seed.Fault{Delay: time.Hour}) },
		problem: "the platform does not respond", metrics: map[string]float64{"platform_up": 0},
	},
	{
		name: "nothing listens at the address of the platform", client: []fastio.Option{fastio.WithBaseURL("http://127.0.0.1:1")},
		problem: "the platform does not respond", profile: "refused", metrics: map[string]float64{"platform_up": 0},
	},
	{
		name: "the address is that of another server", then: func(w *world) {
			w.fail(seed.Fault{Status: 200, Body: "<html>Welcome</html>", ContentType: "text/html"})
		},
		problem: "the platform does not respond", profile: "events.Search", metrics: map[string]float64{"platform_up": 0},
	},
	{
		name: "the key is unknown", client: []fastio.Option{fastio.WithToken("unknown")},
		reason: "refuses the credential", metrics: map[string]float64{"credential_refused": 1, `errors_total{of="profile"}`: 1, "platform_up": 1},
	},
	{
		name: "the key is revoked", then: func(w *world) { w.fail(seed.Fault{Status: 401}) },
		problem: "status 401", profile: "401", metrics: map[string]float64{"credential_refused": 1, `errors_total{of="profile"}`: 1, "ready": 1},
	},
	{
		name: "the key cannot see the profile", before: func(w *world) { w.profile = "workspace:" + strings.Repeat("4", 19) },
		profile: "does not show it to the credential", metrics: map[string]float64{"profiles_hidden": 1},
	},
	{
		name: "a rate limit", then: func(w *world) {
			w.fail(seed.Fault{Count: 1, Status: 429, Header: http.Header{"Retry-After": {"300"}}})
		},
		problem: "searches wait for a rate limit", metrics: map[string]float64{"rate_limit_wait_seconds": 200, `rate_limit_waits_total{group="events.search"}`: 1},
	},
	{
		name: "the clock is wrong", then: func(w *world) {
			w.fail(seed.Fault{Header: http.Header{"Date": {time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)}}})
		},
		problem: "the clock differs by 1h0m", metrics: map[string]float64{"clock_offset_seconds": 3500},
	},
	{
		name: "NATS ends", then: func(w *world) { w.ns.Shutdown() },
		reason: "NATS is not connected", metrics: map[string]float64{"nats_connected": 0, "ready": 0},
	},
	{
		name: "NATS does not respond", then: func(w *world) { w.line.held.Store(true) },
		reason: "nothing was written to NATS since", metrics: map[string]float64{"ready": 0},
	},
	{
		name: "NATS turns JetStream off", then: func(w *world) { w.ns.ShutdownJetStream() },
		reason: "no response from stream", metrics: map[string]float64{"ready": 0},
	},
	{
		name: "no permission to publish", options: denied("fastio.events.>"),
		reason: "nothing is stored", problem: `"fastio.events.`, metrics: map[string]float64{"profiles_followed": 1},
	},
	{
		name: "no permission to write the bucket", options: denied("$KV.>"),
		reason: "the replica is not registered", problem: `"$KV.`, metrics: map[string]float64{`errors_total{of="replica"}`: 1},
	},
	{name: "no permission to create a consumer", options: denied("$JS.API.CONSUMER.>"), ends: `"$JS.API.CONSUMER.`},
	{
		name: "the credentials are revoked", options: func(o *server.Options) { o.Username, o.Password = "relay", "relay" },
		then: func(w *world) {
			o := w.options.Clone()
			o.Password = "another"
			if err := w.ns.ReloadOptions(o); err != nil {
				w.Fatal(err)
			}
		},
		ends: "uthori",
	},
	{
		name: "the stream is full", args: []string{"-max-bytes", "20000"}, then: func(w *world) { w.add(300) },
		reason: "maximum bytes exceeded", metrics: map[string]float64{"publish_retries_total": 1, "events_pending": 1, "stream_full_ratio": 0.5},
	},
	{
		name: "NATS has no room", options: func(o *server.Options) { o.JetStreamMaxStore = 100_000 },
		then: func(w *world) { w.add(1000) }, reason: "insufficient", metrics: map[string]float64{"ready": 0},
	},
	{
		name: "an event is too large", options: func(o *server.Options) { o.MaxPayload = 4000 },
		then: func(w *world) {
			_, id, _ := strings.Cut(w.profile, ":")
			w.platform.AddEvent(seed.Event{Name: "comment_created", Workspace: id, ObjectName: strings.Repeat("x", 5000)})
		},
		metrics: map[string]float64{"dead_letters_total": 1, "dead_letter_messages": 1, "ready": 1},
	},
	{
		name: "the stream is deleted", then: func(w *world) { // and created again by the replica
			if err := w.js.DeleteStream(w.Context(), "FASTIO"); err != nil {
				w.Error(err)
			}
			w.add(1)
		},
		metrics: map[string]float64{"publish_retries_total": 1, "ready": 1},
	},
	{
		name: "the bucket is deleted", then: func(w *world) { // and created again by the replica
			if err := w.js.DeleteKeyValue(w.Context(), "fastio-relay"); err != nil {
				w.Error(err)
			}
		},
		metrics: map[string]float64{`errors_total{of="replica"}`: 1, "ready": 1},
	},
	{
		name: "the stream has another prefix", args: []string{"-prefix", "other.events"}, before: func(w *world) {
			w.put("unused", "") // creates the stream
		},
		ends: "other.events",
	},
	{
		name: "two replicas have one name", before: func(w *world) {
			r, err := w.try(&way{})
			if err != nil {
				w.Fatal(err)
			}
			waitFor(w.T, r.url, r.log, func(now status) bool { return now.Ready })
		},
		reason: "another replica has the same name", problem: "replica first", metrics: map[string]float64{`errors_total{of="replica"}`: 1},
	},
	{
		name: "a replica is lost", before: func(w *world) {
			for key, value := range lostReplica(w.profile) {
				w.put(key, value)
			}
		},
		metrics: map[string]float64{"profiles_followed": 0},
	},
	{
		name: "the checkpoint cannot be read", before: func(w *world) {
			w.put("checkpoint."+strings.NewReplacer(":", "=2E").Replace(w.profile), "garbage")
		},
		profile: "checkpoint", reason: "nothing is stored", metrics: map[string]float64{`errors_total{of="profile"}`: 1},
	},
	{
		name: "many consumers", then: func(w *world) {
			for i := range 3 {
				_, err := w.js.CreateConsumer(w.Context(), "FASTIO", jetstream.ConsumerConfig{Durable: "group-" + strconv.Itoa(i)})
				if err != nil {
					w.Fatal(err)
				}
			}
		},
		metrics: map[string]float64{"stream_consumers": 3},
	},
}

// denied are the options of a server that denies publishing to a subject.
func denied(subject string) func(o *server.Options) {
	return func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "admin", Password: "admin"},
			{Username: "relay", Password: "relay", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Deny: []string{subject}},
			}},
		}
	}
}

// What stops the events changes readiness, a metric or the page, with its reason.
func TestOperatorSeesWhyNothingMoves(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, way.options)
			if way.before != nil {
				way.before(w)
			}
			r, err := w.try(&way)
			if err != nil {
				if way.ends == "" || !strings.Contains(err.Error(), way.ends) {
					t.Fatalf("it ends with %v, want %q", err, way.ends)
				}
				return
			}
			if way.then != nil {
				waitFor(t, r.url, r.log, func(now status) bool { return now.Ready && now.Profiles[0].Messages > 0 })
				way.then(w)
			}
			if way.ends != "" {
				if err := r.end(t); err == nil || !strings.Contains(err.Error(), way.ends) {
					t.Errorf("it ends with %v, want %q", err, way.ends)
				}
				return
			}
			way.wantShown(t, r)
		})
	}
}

// wantShown waits until a replica shows what it should.
func (way *way) wantShown(t *testing.T, r *running) {
	t.Helper()
	has := func(texts []string, want string) bool {
		return want == "" || slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, want) })
	}
	waitFor(t, r.url, r.log, func(now status) bool {
		return now.Ready == (way.reason == "") && has(now.Reasons, way.reason) && has(now.Problems, way.problem) &&
			has([]string{now.Profiles[0].Error}, way.profile) && has([]string{now.Profiles[0].Holder}, way.holder) && way.counted(t, r)
	})
	if way.reason != "" {
		waitForPage(t, r, "/readyz", http.StatusServiceUnavailable, way.reason)
	}
}

// counted reports whether the metrics have their values.
func (way *way) counted(t *testing.T, r *running) bool {
	t.Helper()
	_, text := get(t, r.url+"/metrics")
	got := map[string]float64{}
	for sample := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(sample), "fastio_relay_"), " ")
		got[series], _ = strconv.ParseFloat(value, 64)
	}
	for series, want := range way.metrics {
		value, ok := got[series]
		if !ok || value < want || want == 0 && value != 0 {
			return false
		}
	}
	return true
}

func newWorld(t *testing.T, change func(o *server.Options)) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir()}
	w.platform, w.profile = newPlatform(1)
	w.options = &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: w.dir, NoSigs: true, NoLog: true,
	}
	if change != nil {
		change(w.options)
	}
	var err error
	w.ns, err = server.NewServer(w.options)
	if err != nil {
		t.Fatal(err)
	}
	w.ns.Start()
	t.Cleanup(func() { w.ns.Shutdown(); w.ns.WaitForShutdown() })
	if !w.ns.ReadyForConnections(natsStart) {
		t.Fatal("NATS does not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(w.ns), nats.UserInfo(w.admin()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	w.js, err = jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	w.line = newLine(t, w.ns.Addr().String())
	return w
}

// admin returns a user with all permissions.
func (w *world) admin() (user, password string) {
	if len(w.options.Users) > 0 {
		return w.options.Users[0].Username, w.options.Users[0].Password
	}
	return w.options.Username, w.options.Password
}

// put writes a key of the bucket.
func (w *world) put(key, value string) {
	w.Helper()
	err := relay.Stream{JetStream: w.js}.Create(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	kv, err := w.js.KeyValue(w.Context(), "fastio-relay")
	if err == nil {
		_, err = kv.PutString(w.Context(), key, value)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// try starts a replica that is called first.
func (w *world) try(way *way) (*running, error) {
	w.Helper()
	args := []string{
		"-name", "first", "-profiles", w.profile, "-nats", "nats://relay:relay@" + w.line.Addr().String(), "-lease", "10s",
	}
	return tryStart(w.T, w.platform, func(c *config) {
		client := c.newClient
		c.newClient = func(opts ...fastio.Option) (*fastio.Client, error) { return client(append(opts, way.client...)...) }
	}, append(args, way.args...)...)
}

// line is a connection to a server that can stall.
type line struct {
	net.Listener

	held atomic.Bool
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{Listener: listener}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", to)
			if err != nil {
				from.Close()
				continue
			}
			context.AfterFunc(ctx, func() { from.Close(); conn.Close() })
			go l.copy(from, conn)
			go l.copy(conn, from)
		}
	}()
	return l
}

// copy copies until a side is closed. What arrives while the line is held is lost.
func (l *line) copy(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if l.held.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
