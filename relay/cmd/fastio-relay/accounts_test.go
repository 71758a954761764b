package main

import (
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startNATS starts a NATS server with JetStream.
func startNATS(t *testing.T) *server.Server {
	t.Helper()
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(natsStart) {
		t.Fatal("NATS does not start")
	}
	return ns
}

// writeKey writes a file with the key that encrypts credentials, 32 zeros, and returns its name.
func writeKey(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(make([]byte, 32))+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The command adds, lists, pauses, resumes, removes and imports accounts.
func TestAccountsCommand(t *testing.T) {
	t.Parallel()
	ns, key := startNATS(t), writeKey(t)
	run := func(input string, command ...string) (string, error) {
		flags := []string{"-nats", ns.Addr().String(), "-accounts-key", key, "accounts"}
		c, err := parse(append(flags, command...), func(string) string { return "" }, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		c.stdin = strings.NewReader(input)
		err = c.administer(t.Context(), &out, io.Discard)
		return out.String(), err
	}
	const secret = "the-secret-key-of-acme"
	want := func(lines ...string) {
		t.Helper()
		list, err := run("", "list")
		if err != nil || strings.Count(list, "\n") != 1+len(lines) || strings.Contains(list, secret) {
			t.Errorf("the accounts are\n%s%v", list, err)
		}
		for _, line := range lines {
			if !regexp.MustCompile(`(?m)^` + line).MatchString(list) {
				t.Errorf("%s is not in\n%s", line, list)
			}
		}
	}
	do := func(input string, command ...string) {
		t.Helper()
		if out, err := run(input, command...); err != nil || strings.Contains(out, secret) {
			t.Errorf("%v: %s%v", command, out, err)
		}
	}
	do(secret+"\n", "add", "acme", "workspace:4012345678901234567", "org:4012345678901234568")
	do("", "add", "by sign-in")
	want("acme +new ", "by sign-in +new ")
	do("", "pause", "acme")
	want("acme +paused ", "by sign-in +new ")
	do("", "resume", "acme")
	do("", "remove", "by sign-in", "purge")
	lines := `{"name": "acme", "api_key": "` + secret + `", "profiles": ["share:4012345678901234567"]}
		{"name": "other", "api_key": "x", "paused": true, "since": "2026-01-31T12:00:00Z"}`
	if out, err := run(lines, "import"); err != nil || out != "1 added, 1 updated\n" {
		t.Errorf("the import has %q, %v", out, err)
	}
	want("acme +new ", "other +paused ")
	do(`{"name": "acme", "paused": true} {"name": "other", "paused": false}`, "import")
	want("acme +paused ", "other +new ")
	do(`{"name": "acme"} {"name": "other", "paused": true}`, "import")
	want("acme +paused ", "other +paused ")
	if out, err := run(`{"name": "typo", "apikey": "x"}`, "import"); err == nil {
		t.Errorf("a member with another name is accepted: %s", out)
	}
	nc, err := nats.Connect(ns.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, key := range []string{"account.torn", "account-status.other"} {
		if _, err := nc.Request("$KV.fastio-relay."+key, []byte("{"), natsStart); err != nil {
			t.Fatal(err)
		}
	}
	out, err := run("", "list")
	if err == nil || !strings.Contains(err.Error(), "torn") || !strings.Contains(err.Error(), `the status of account "other"`) ||
		!strings.Contains(out, "acme") {
		t.Errorf("the accounts beside two that cannot be read are\n%s%v", out, err)
	}
	if _, err := nc.Request("$KV.fastio-relay.account-status.other", []byte("{}"), natsStart); err != nil {
		t.Fatal(err)
	}
	do("", "remove", "torn")
	do("", "remove", "acme")
	want("other +paused ")
	for text, command := range map[string][]string{
		"not found":        {"pause", "acme"},
		"a command of":     {"sell", "acme"},
		"19 digits":        {"add", "bad", "workspace:1"},
		"conflict":         {"add", "other"},
		"after 0 accounts": {"import"},
	} {
		if out, err := run("{", command...); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %s%v, want %q", command, out, err, text)
		}
	}
}
