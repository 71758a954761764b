package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The first deployment of the guide: its command line, and a reader with the file that it
// names.
func TestGuideDeploysOneMachine(t *testing.T) {
	t.Parallel()
	s, profile := newPlatform(20)
	dir := t.TempDir()
	key, data := filepath.Join(dir, "key"), filepath.Join(dir, "data")
	if err := os.WriteFile(key, []byte(s.Token()), 0o600); err != nil {
		t.Fatal(err)
	}
	text := guide(t)
	_, line, _ := strings.Cut(text, "\n./fastio-relay -profiles org:")
	line, _, found := strings.Cut(line, "\n```")
	if !found || !strings.Contains(text, "/var/lib/fastio-relay/"+readerFile) {
		t.Fatal("the guide has no first deployment")
	}
	args := strings.Fields(strings.ReplaceAll("-profiles org:"+line, "\\\n", " "))
	mine := map[string]string{
		"-profiles": profile, "-key-file": key, "-data": data, "-nats-listen": "127.0.0.1:0",
	}
	for i := 0; i < len(args); i += 2 {
		value, ok := mine[args[i]]
		if !ok {
			t.Fatalf("the guide has the setting %s", args[i])
		}
		args[i+1] = value
		delete(mine, args[i])
	}
	if len(mine) > 0 {
		t.Errorf("the guide leaves out %v", mine)
	}
	r := startRelay(t, s, args...)
	waitFor(t, r.url, r.log, func(now status) bool { return now.Ready })
	wantEvents(t, savedURL(t, data, readerFile).String(), 20)
}

// The permissions of the guide are enough for a replica and for a reader, and those of the
// reader are those of the server in the process.
func TestGuidePermissionsSuffice(t *testing.T) {
	t.Parallel()
	_, conf, _ := strings.Cut(guide(t), "\n```conf\n")
	conf, _, _ = strings.Cut(conf, "\n```")
	conf = strings.NewReplacer("$RELAY_PASSWORD", "relay", "$READER_PASSWORD", "reader").Replace(conf)
	dir := t.TempDir()
	file := filepath.Join(dir, "nats.conf")
	conf += "\nlisten: \"127.0.0.1:-1\"\njetstream { store_dir: \"" + filepath.ToSlash(filepath.Join(dir, "nats")) + "\" }\n"
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	o.NoSigs, o.NoLog = true, true
	ns, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(natsStart) {
		t.Fatal("NATS does not start")
	}
	for _, user := range o.Users {
		if user.Username != readerUser {
			continue
		}
		want := readerPermissions("FASTIO", "fastio.events").Publish.Allow
		got := user.Permissions.Publish.Allow
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the reader of the guide differs from that of the server in the process (-process +guide):\n%s", diff)
		}
	}
	s, profile := newPlatform(20)
	args := []string{
		"-nats", "nats://relay:relay@" + ns.Addr().String(), "-profiles", profile, "-name", "first", "-lease", "10s",
	}
	first := startRelay(t, s, args...)
	waitFor(t, first.url, first.log, func(now status) bool { return now.Ready && now.Profiles[0].Messages == 20 })
	first.stop()
	_, id, _ := strings.Cut(profile, ":")
	s.AddEvent(seed.Event{ // too large for NATS
		Name: "comment_created", Workspace: id, ObjectName: strings.Repeat("x", 2<<20), Created: time.Now().Add(-time.Second),
	})
	addEvents(s, profile, 20)
	second := startRelay(t, s, args...)
	waitFor(t, second.url, second.log, func(now status) bool {
		return now.Ready && now.Profiles[0].Messages == 40 && now.Profiles[0].DeadLetters == 1
	})
	second.stop()
	accounts := startRelay(t, s, "-nats", args[1], "-accounts-key", writeKey(t), "-name", "first", "-lease", "10s")
	directory := relay.Accounts{
		Stream: relay.Stream{JetStream: connectTo(t, args[1])}, Keys: oauth.StaticKey(make([]byte, 32)),
	}
	acme := relay.Account{Name: "acme", APIKey: api.NewSecret(s.Token()), Profiles: []api.Profile{api.Workspace(api.ID(id))}}
	if err := directory.Add(t.Context(), acme); err != nil {
		t.Fatal(err)
	}
	waitForAccount(t, accounts, "acme", func(row accountRow) bool { return row.Age >= 0 && row.Profiles == 1 && row.Error == "" })
	accounts.stop()
	if log := first.log.String() + second.log.String() + accounts.log.String(); strings.Contains(log, "iolation") {
		t.Errorf("NATS has refused a permission:\n%s", log)
	}
	reader := "nats://reader:reader@" + ns.Addr().String()
	wantEvents(t, reader, 40)
	wantReadOnly(t, reader)
}

// wantMetricsOfGuide checks that the metrics that the guide names exist.
func wantMetricsOfGuide(t *testing.T, metrics string) {
	t.Helper()
	names := regexp.MustCompile(`fastio_relay(_[a-z]+)+`).FindAllString(guide(t), -1)
	if len(names) == 0 {
		t.Errorf("the guide names %d metrics", len(names))
	}
	for _, name := range names {
		if !strings.Contains(metrics, "# HELP "+name+" ") {
			t.Errorf("there is no metric %s", name)
		}
	}
}
