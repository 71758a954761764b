package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/relay"
)

// running is a relay in this process.
type running struct {
	url  string
	log  *writer
	stop func() // and wait
	done <-chan error
}

// end waits for the error with which a relay ends.
func (r *running) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("it does not end:\n%s", r.log)
		return nil
	}
}

// startRelay starts the command for an emulated platform, with a page on a free port. What
// takes 30 seconds takes 3.
func startRelay(t *testing.T, s *fastiotest.Server, args ...string) *running {
	t.Helper()
	r, err := tryStart(t, s, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tryStart returns the error of a command that does not start.
func tryStart(t *testing.T, s *fastiotest.Server, change func(c *config), args ...string) (*running, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	address, ended, r := make(chan string, 1), make(chan error, 1), &running{log: &writer{}}
	none := func(string) string { return "" }
	c, err := parse(append([]string{"-listen", "127.0.0.1:0"}, args...), none, r.log)
	if err != nil {
		t.Fatal(err)
	}
	c.patience, c.atStart = 3*time.Second, natsPause
	url := s.Start(t)
	c.baseURL = url
	c.newClient = func(opts ...fastio.Option) (*fastio.Client, error) {
		return fastio.New(append([]fastio.Option{fastio.WithBaseURL(url), fastio.WithToken(s.Token())}, opts...)...)
	}
	if change != nil {
		change(c)
	}
	go func() {
		ended <- c.run(ctx, r.log, func(url string) { address <- url })
		close(ended)
	}()
	r.done = ended
	r.stop = sync.OnceFunc(func() {
		cancel()
		err := <-ended // nil if the test has received the error
		if err != nil {
			t.Errorf("%v\n%s", err, r.log)
		}
	})
	select {
	case r.url = <-address:
		t.Cleanup(r.stop)
		return r, nil
	case err := <-ended:
		cancel()
		return nil, err
	}
}

// newPlatform returns an emulated platform with a workspace.
func newPlatform(added int) (s *fastiotest.Server, profile string) {
	s = fastiotest.New(func(o *seed.Options) {
		o.Limits.Rules = []seed.Limit{}
		o.Limits.NoHeaders = true
	})
	profile = "workspace:" + s.AddWorkspace(seed.Workspace{}).ID
	addEvents(s, profile, added)
	return s, profile
}

func addEvents(s *fastiotest.Server, profile string, n int) {
	_, id, _ := strings.Cut(profile, ":")
	for range n {
		s.AddEvent(seed.Event{Name: "comment_created", Workspace: id, Created: time.Now().Add(-time.Second)})
	}
}

// waitForPage waits for a response with a status and a text.
func waitForPage(t *testing.T, r *running, path string, want int, text string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		status, body := get(t, r.url+path)
		if status == want && strings.Contains(body, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is %d %s\n%s", path, status, body, r.log)
		}
	}
}

func TestDataDirectoryIsUsedByOneProcess(t *testing.T) {
	t.Parallel()
	s, profile := newPlatform(30)
	dir, self := t.TempDir(), strconv.Itoa(os.Getpid())
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := startRelay(t, s, "-data", dir, "-profiles", profile, "-name", "first")
	for range 3 {
		second := exec.CommandContext(t.Context(), exe, "-data", dir, "-profiles", profile, "-name", "second")
		second.Env = append(os.Environ(), programEnv+"=replica")
		stdin, err := second.StdinPipe() // whose end ends the process
		if err != nil {
			t.Fatal(err)
		}
		out, err := second.CombinedOutput()
		stdin.Close()
		if _, exited := errors.AsType[*exec.ExitError](err); !exited || !strings.Contains(string(out), dir+" is in use by process "+self) ||
			!strings.Contains(string(out), "replica first") {
			t.Errorf("the second process: %v, %s", err, out)
		}
	}
	waitFor(t, r.url, r.log, func(now status) bool { return now.Profiles[0].Messages >= 30 })
	r.stop()
	again := startRelay(t, s, "-data", dir, "-profiles", profile)
	waitFor(t, again.url, again.log, func(now status) bool { return now.Profiles[0].Messages >= 30 && now.Profiles[0].Here })
}

// A process that was killed leaves leases that are not renewed.
func TestProcessInTheDirectoryOfAKilledOneNeedsNotWait(t *testing.T) {
	t.Parallel()
	s, profile := newPlatform(1)
	dir := t.TempDir()
	conf := &config{
		data: dir, replicas: 1, streamName: "FASTIO", prefix: "fastio.events", bucket: "fastio-relay", name: "before",
		maxAge: 7 * 24 * time.Hour, duplicates: 2 * time.Minute,
	}
	nc, err := conf.connect(t.Context(), conf.logger(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := conf.stream(nc.Conn)
	if err == nil {
		err = stream.Create(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	kv, err := stream.JetStream.KeyValue(t.Context(), stream.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range lostReplica(profile) {
		if _, err := kv.Create(t.Context(), name, []byte(value), jetstream.KeyTTL(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	nc.stop()
	r := startRelay(t, s, "-data", dir, "-profiles", profile, "-lease", "1h")
	waitFor(t, r.url, r.log, func(now status) bool { return now.Profiles[0].Here && now.Profiles[0].Messages > 0 })
}

// lostReplica returns what a replica leaves in the bucket that was killed.
func lostReplica(profile string) map[string]string {
	list := sha256.Sum256([]byte(strings.Replace(profile, ":", ".", 1) + "\n"))
	id := hex.EncodeToString(list[:8])
	return map[string]string{
		"replica.profiles.lost": `{"v":1,"t":"x","n":7,"l":"` + id + `"}`,
		"view.profiles":         `{"v":1,"m":[{"r":"lost","t":"x","s":1,"l":"` + id + `"}]}`,
	}
}

func TestFirstConnectionErrorsNameTheReason(t *testing.T) {
	t.Parallel()
	s, profile := newPlatform(0)
	https := httptest.NewTLSServer(nil) // for its certificate
	defer https.Close()
	listen := func(change func(o *server.Options)) string {
		o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, StoreDir: t.TempDir()}
		change(o)
		ns, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		ns.Start()
		t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
		if !ns.ReadyForConnections(natsStart) {
			t.Fatal("NATS does not start")
		}
		return ns.Addr().String()
	}
	secure := listen(func(o *server.Options) { o.TLS, o.TLSTimeout, o.TLSConfig = true, 10, https.TLS.Clone() })
	private := listen(func(o *server.Options) { o.Username, o.Password = "owner", "correct horse" })
	open := listen(func(*server.Options) {})
	const unused = "127.0.0.1:2" // a port that no test beside this one is given
	for _, test := range []struct {
		servers string
		want    []string
	}{
		{"tls://" + secure, []string{secure, "x509"}},
		{"nats://" + private, []string{private, "refuses the credentials"}},
		{"nats://somebody:hunter2@" + private, []string{private, "refuses the credentials"}},
		{"tls://" + open, []string{open, "secure connection not available"}},
		{unused, []string{unused, "refused"}},
		{"nats://127.0.0.1:1,nats://user:hunter2@" + unused, []string{"127.0.0.1:1", unused, "refused"}},
		{open, []string{"bucket", "JetStream"}},
	} {
		_, err := tryStart(t, s, nil, "-nats", test.servers, "-profiles", profile)
		if err == nil {
			t.Errorf("%s: no error", test.servers)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, without %q", test.servers, err, want)
			}
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestServerInTheProcessListensWithCredentials(t *testing.T) {
	t.Parallel()
	s, profile := newPlatform(20)
	dir := t.TempDir()
	args := []string{"-data", dir, "-profiles", profile, "-nats-listen", "127.0.0.1:0"}
	r := startRelay(t, s, args...)
	writer, reader := savedURL(t, dir, relayFile), savedURL(t, dir, readerFile)
	if nc, err := nats.Connect(reader.Host); !errors.Is(err, nats.ErrAuthorization) {
		nc.Close()
		t.Errorf("without credentials: %v", err)
	}
	waitFor(t, r.url, r.log, func(now status) bool { return now.Ready })
	wantEvents(t, reader.String(), 20)
	wantReadOnly(t, reader.String())
	js := connectTo(t, writer.String())
	if _, err := js.KeyValue(t.Context(), "fastio-relay"); err != nil {
		t.Error(err)
	}
	wantGroupDeleted(t, writer.String(), "search", "false +1")
	wantGroupDeleted(t, writer.String(), "states", "true +16")
	_, page := get(t, r.url+"/status")
	for _, user := range []*url.Userinfo{writer.User, reader.User} {
		if password, _ := user.Password(); strings.Contains(page+r.log.String(), password) {
			t.Error("a password is shown")
		}
	}
	r.stop()
	startRelay(t, s, args...)
	if again := savedURL(t, dir, readerFile); again.User.String() != reader.User.String() {
		t.Errorf("after a restart the reader is %s", again)
	}
}

func TestServerInTheProcessListensWithTLS(t *testing.T) {
	t.Parallel()
	https := httptest.NewTLSServer(nil) // for its certificate
	defer https.Close()
	key, err := x509.MarshalPKCS8PrivateKey(https.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string][]byte{
		"cert": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: https.Certificate().Raw}),
		"key":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, profile := newPlatform(1)
	r := startRelay(t, s, "-data", dir, "-profiles", profile, "-nats-listen", "127.0.0.1:0",
		"-nats-cert", filepath.Join(dir, "cert"), "-nats-key", filepath.Join(dir, "key"))
	waitFor(t, r.url, r.log, func(now status) bool { return now.Ready })
	reader := savedURL(t, dir, readerFile)
	if reader.Scheme != "tls" {
		t.Errorf("the reader has the URL %s", reader.Redacted())
	}
	if nc, err := nats.Connect(reader.String()); err == nil { // the certificate is of no known authority
		nc.Close()
		t.Error("the server has no TLS")
	}
	nc, err := nats.Connect(reader.String(), nats.RootCAs(filepath.Join(dir, "cert")))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if !nc.TLSRequired() {
		t.Error("the server does not require TLS")
	}
}

// wantGroupDeleted lists the groups, and deletes one that has read everything.
func wantGroupDeleted(t *testing.T, address, name, kind string) {
	t.Helper()
	administer := func(command ...string) string {
		c, err := parse(append([]string{"-nats", address}, command...), func(string) string { return "" }, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := c.administer(t.Context(), &out, io.Discard); err != nil {
			t.Error(err)
		}
		return out.String()
	}
	if list := administer("groups"); !regexp.MustCompile(`(?m)^` + name + ` +` + kind + ` +0 +0 `).MatchString(list) {
		t.Errorf("the groups are\n%s", list)
	}
	administer("delete-group", name)
	if list := administer("groups"); strings.Contains(list, name) {
		t.Errorf("the groups are\n%s", list)
	}
}

// savedURL returns the URL in a file that only its owner can read.
func savedURL(t *testing.T, dir, name string) *url.URL {
	t.Helper()
	path := filepath.Join(dir, name)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
	}
	address, err := url.Parse(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func connectTo(t *testing.T, address string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// wantEvents consumes a number of events with the credentials of a reader, in a group that is
// ordered and in one that is not.
func wantEvents(t *testing.T, address string, n int) {
	t.Helper()
	for name, ordered := range map[string]bool{"search": false, "states": true} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		got := map[string]bool{}
		o := relay.ConsumeOptions{
			Stream: relay.Stream{JetStream: connectTo(t, address)}, Name: name, Ordered: ordered,
		}
		err := relay.Consume(ctx, o, func(_ context.Context, m relay.Message[events.Event]) error {
			got[m.ID] = true
			if len(got) == n {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) || len(got) != n {
			t.Errorf("the reader gets %d events, %v", len(got), err)
		}
	}
}

// wantReadOnly tries to change the stream, its state and the consumers of others.
func wantReadOnly(t *testing.T, address string) {
	t.Helper()
	denied := make(chan error, 100)
	nc, err := nats.Connect(address, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, subject := range []string{
		"fastio.events.workspace.1.comment", "fastio.events.epoch.workspace-1", "$KV.fastio-relay.replica.profiles.first",
		"$JS.API.STREAM.PURGE.FASTIO", "$JS.API.STREAM.DELETE.FASTIO", "$JS.API.STREAM.UPDATE.FASTIO",
		"$JS.API.STREAM.MSG.DELETE.FASTIO", "$JS.API.CONSUMER.DELETE.FASTIO.search", "$JS.API.STREAM.INFO.KV_fastio-relay",
		"$JS.API.DIRECT.GET.KV_fastio-relay.>", "$JS.API.CONSUMER.CREATE.KV_fastio-relay",
		"$JS.API.STREAM.DELETE.FASTIO-DEAD", "$JS.API.ACCOUNT.PURGE.x", "$SYS.REQ.SERVER.PING",
	} {
		if err := errors.Join(nc.Publish(subject, nil), nc.Flush()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-denied:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", subject, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("the reader may publish to %s", subject)
		}
	}
	for _, subject := range []string{">", "_INBOX_RELAY.>", "$KV.>"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if err := cmp.Or(nc.Flush(), <-denied); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("the reader may subscribe to %s: %v", subject, err)
		}
	}
}
