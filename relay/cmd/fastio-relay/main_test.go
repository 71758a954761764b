package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// writer is safe for concurrent use.
type writer struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (w *writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(b)
}

func (w *writer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

// get returns the body of a page, with its status.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("%s has the policy %q", url, csp)
	}
	return resp.StatusCode, string(content)
}

// The command as a whole: events of the platform reach the stream, and the page, the
// metrics and the log show it, without the key.
func TestRelayFollowsAndShows(t *testing.T) {
	s := fastiotest.New()
	rooms := []api.ID{
		api.ID(s.AddWorkspace(seed.Workspace{Name: "Plans"}).ID), api.ID(s.AddWorkspace(seed.Workspace{Name: "Photos"}).ID),
	}
	for _, room := range rooms {
		s.Generate(seed.History{Workspace: string(room), Events: 300})
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	settings := filepath.Join(dir, "relay.json")
	text, err := json.Marshal(map[string]any{
		"profiles": []string{"workspace:" + string(rooms[0]), "workspace:" + string(rooms[1])},
		"name":     "from-the-file", "max-age": "1h", "key-file": key,
	})
	err = errors.Join(err, os.WriteFile(key, []byte(s.Token()+"\n"), 0o600), os.WriteFile(settings, text, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FASTIO_BASE_URL", s.Start(t))
	t.Setenv("FASTIO_RELAY_NAME", "first")
	t.Setenv("FASTIO_RELAY_LISTEN", "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	address, ended, log := make(chan string, 1), make(chan error, 1), &writer{}
	go func() {
		args := []string{"-config", settings, "-data", filepath.Join(dir, "nats")}
		ended <- runCommand(ctx, args, os.Getenv, log, func(url string) { address <- url })
	}()
	var url string
	select {
	case url = <-address:
	case err := <-ended:
		t.Fatalf("%v\n%s", err, log)
	}
	if status, body := get(t, url+"/healthz"); status != http.StatusOK {
		t.Errorf("healthz is %d %s", status, body)
	}
	now := waitFor(t, url, log, func(now status) bool {
		return now.Ready && now.Published >= 500 && len(now.Profiles) == 2 && now.Profiles[0].Messages > 250 &&
			now.Profiles[1].Messages > 250 && now.Profiles[0].Error == "" && now.Profiles[1].Error == "" // no wait for a limit
	})
	for _, p := range now.Profiles {
		if p.Holder != "first" || !p.Here || p.Epoch == 0 || p.Newest.IsZero() || p.Error != "" || p.Lag < 0 {
			t.Errorf("got %+v", p)
		}
	}
	if status, _ := get(t, url+"/readyz"); status != http.StatusOK || !now.Ready || now.Published < 500 {
		t.Errorf("readyz is %d, the status %+v", status, now)
	}
	var shown strings.Builder
	for path, want := range map[string]string{
		"/": "page.js", "/page.css": "prefers-color-scheme", "/page.js": "refresh", "/page.svg": "<svg",
		"/metrics": "fastio_relay_profiles_followed 2",
	} {
		status, body := get(t, url+path)
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, without %q", path, status, want)
		}
		shown.WriteString(body)
	}
	for _, want := range []string{
		`fastio_relay_api_responses_total{status="200"}`, "fastio_relay_nats_connected 1",
		"fastio_relay_lag_seconds ", `fastio_relay_search_age_seconds_bucket{le="+Inf"} 2`,
	} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	wantMetricsOfGuide(t, shown.String())
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.Contains(shown.String()+log.String(), s.Token()) {
		t.Error("the key is shown")
	}
}

// waitFor waits for a status.
func waitFor(t *testing.T, url string, log *writer, is func(status) bool) (now status) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		_, body := get(t, url+"/status")
		if err := json.Unmarshal([]byte(body), &now); err != nil {
			t.Fatal(err)
		}
		if is(now) {
			return now
		}
		if time.Now().After(end) {
			t.Fatalf("the status is %s\n%s", body, log)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Chdir(t.TempDir()) // for the default of -data
	t.Setenv("FASTIO_TOKEN", "")
	t.Setenv("FASTIO_API_KEY", "")
	const room = "workspace:4012345678901234567"
	file := filepath.Join(t.TempDir(), "relay.json")
	if err := os.WriteFile(file, []byte(`{"replica": 3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"set -profiles or":           nil,
		"and not both":               {"-profiles", room, "-accounts-key", key},
		`"user:1" is not org:ID`:     {"-profiles", "user:1"},
		`unexpected "x"`:             {"-profiles", room, "x"},
		`no setting "replica"`:       {"-profiles", room, "-config", file},
		"neither FASTIO_TOKEN nor":   {"-profiles", room, "-data", t.TempDir()},
		"Lease must be at least 10s": {"-profiles", room, "-lease", "1s", "-key-file", key, "-data", t.TempDir()},
		"-replicas requires -nats":   {"-profiles", room, "-replicas", "3", "-key-file", key},
		"set -nats-cert and -nats-key for TLS": {
			"-profiles", room, "-key-file", key, "-data", t.TempDir(), "-nats-listen", "0.0.0.0:4222",
		},
		"leave out -nats":               {"-profiles", room, "-key-file", key, "-nats-listen", "127.0.0.1:0", "-nats", "x"},
		"the port must be":              {"-profiles", room, "-key-file", key, "-data", t.TempDir(), "-nats-listen", "[::1]:x"},
		"parsing time":                  {"-profiles", room, "-since", "yesterday"},
		"flag provided but not defined": {"-key", "secret"},
	} {
		none := func(name string) string {
			if name == "FASTIO_RELAY_LISTEN" {
				return "127.0.0.1:0"
			}
			return ""
		}
		err := runCommand(t.Context(), args, none, io.Discard, func(string) {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
	}
	help := &writer{}
	if err := runCommand(t.Context(), []string{"-h"}, os.Getenv, help, func(string) {}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"FASTIO_API_KEY", "FASTIO_TOKEN", "FASTIO_BASE_URL", "FASTIO_RELAY_MAX_AGE", "-nats-listen"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("-h does not name %s", want)
		}
	}
}

// Two replicas with one key keep the rate limits of the platform together.
func TestReplicasShareRateLimits(t *testing.T) {
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	defer ns.WaitForShutdown()
	defer ns.Shutdown()
	s := fastiotest.New()
	var profiles []string
	for range 6 {
		room := s.AddWorkspace(seed.Workspace{}).ID
		s.Generate(seed.History{Workspace: room, Events: 600})
		profiles = append(profiles, "workspace:"+room)
	}
	t.Setenv("FASTIO_BASE_URL", s.Start(t))
	t.Setenv("FASTIO_TOKEN", s.Token())
	ctx, cancel := context.WithCancel(t.Context())
	log := &writer{}
	var running sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		args := []string{
			"-name", name, "-nats", ns.ClientURL(), "-listen", "127.0.0.1:0", "-profiles", strings.Join(profiles, ","),
		}
		address := make(chan string, 1)
		running.Go(func() {
			if err := runCommand(ctx, args, os.Getenv, log, func(url string) { address <- url }); err != nil {
				t.Errorf("%v\n%s", err, log)
				close(address)
			}
		})
		<-address
	}
	const searches = 8 // of two windows; without sharing, each replica makes 5 in the first
	made := func() (n int) {
		for _, r := range s.Requests() {
			if strings.HasSuffix(r.Path, "/events/search/") {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(time.Minute); made() < searches && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
	}
	if n := made(); n < searches || s.Refusals() > 0 {
		t.Errorf("%d searches were made and %d requests refused\n%s", n, s.Refusals(), log)
	}
	cancel()
	running.Wait()
}

// Servers that require TLS, a client certificate and the credentials of a user.
func TestSecureServers(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	https := httptest.NewTLSServer(nil) // for its certificate
	defer https.Close()
	key, err := x509.MarshalPKCS8PrivateKey(https.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate := file("certificate", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: https.Certificate().Raw}))
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true,
		TLS: true, TLSTimeout: 10, TLSConfig: &tls.Config{
			Certificates: https.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13,
		},
	}
	creds, secret := user(t, o)
	ns, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	defer ns.WaitForShutdown()
	defer ns.Shutdown()

	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{}).ID
	t.Setenv("FASTIO_BASE_URL", s.Start(t))
	t.Setenv("FASTIO_TOKEN", s.Token())
	ctx, cancel := context.WithCancel(t.Context())
	address, ended, log := make(chan string, 1), make(chan error, 1), &writer{}
	go func() {
		ended <- runCommand(ctx, []string{
			"-nats", "tls://" + ns.Addr().String(), "-nats-ca", certificate, "-nats-cert", certificate,
			"-nats-key", file("key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
			"-nats-creds", file("creds", creds), "-log-debug",
			"-listen", "127.0.0.1:0", "-profiles", "workspace:" + room,
		}, os.Getenv, log, func(url string) { address <- url })
	}()
	select {
	case url := <-address:
		waitFor(t, url, log, func(now status) bool { return now.Ready && now.Profiles[0].Here })
	case err := <-ended:
		t.Fatalf("%v\n%s", err, log)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), secret) {
		t.Error("the log shows the credentials")
	}
}

// user lets a server require the credentials of a user, and returns them and the secret
// in them.
func user(t *testing.T, o *server.Options) (creds []byte, seed string) {
	t.Helper()
	pair := func(create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		keys, err := create()
		if err != nil {
			t.Fatal(err)
		}
		public, err := keys.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return keys, public
	}
	operator, operatorID := pair(nkeys.CreateOperator)
	account, accountID := pair(nkeys.CreateAccount)
	_, systemID := pair(nkeys.CreateAccount)
	person, personID := pair(nkeys.CreateUser)
	claims, system := jwt.NewAccountClaims(accountID), jwt.NewAccountClaims(systemID)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
	token, err := claims.Encode(operator)
	systemToken, failed := system.Encode(operator)
	userToken, refused := jwt.NewUserClaims(personID).Encode(account)
	secret, lost := person.Seed()
	if err := errors.Join(err, failed, refused, lost); err != nil {
		t.Fatal(err)
	}
	accounts := &server.MemAccResolver{}
	if err := errors.Join(accounts.Store(accountID, token), accounts.Store(systemID, systemToken)); err != nil {
		t.Fatal(err)
	}
	o.TrustedOperators = []*jwt.OperatorClaims{jwt.NewOperatorClaims(operatorID)}
	o.AccountResolver, o.SystemAccount = accounts, systemID
	creds, err = jwt.FormatUserConfig(userToken, secret)
	if err != nil {
		t.Fatal(err)
	}
	return creds, string(secret)
}

// An address that cannot be parsed may hold a password.
func TestErrorsShowNoPassword(t *testing.T) {
	t.Parallel()
	log := &writer{}
	err := runCommand(t.Context(), []string{
		"-nats", "nats://user:hunter2@127.0.0.1:port", "-profiles", "workspace:" + strings.Repeat("4", 19),
	}, func(string) string { return "" }, log, func(string) {})
	if err == nil || strings.Contains(err.Error()+log.String(), "hunter2") {
		t.Errorf("got %v\n%s", err, log)
	}
}

// A key is sent unencrypted to another machine only with -plain-http.
func TestKeyRequiresTLS(t *testing.T) {
	t.Setenv("FASTIO_BASE_URL", "http://platform.test")
	t.Setenv("FASTIO_TOKEN", "key")
	if _, err := (&config{}).client(); err == nil || !strings.Contains(err.Error(), "unencrypted") {
		t.Errorf("got %v", err)
	}
	if _, err := (&config{plain: true}).client(); err != nil {
		t.Error(err)
	}
}
