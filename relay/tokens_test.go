package relay_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// newKeys returns a new key of 32 bytes.
func newKeys() oauth.KeyStore {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return oauth.StaticKey(key)
}

// tokens returns the store of a process.
func tokens(t *testing.T, ns *server.Server, keys oauth.KeyStore) (relay.Tokens, *link) {
	t.Helper()
	js, l := connect(t, ns)
	return relay.Tokens{Stream: relay.Stream{JetStream: js}, Keys: keys}, l
}

func put(record string) func([]byte, func([]byte) error) error {
	return func(_ []byte, save func([]byte) error) error { return save([]byte(record)) }
}

func update(t *testing.T, store oauth.Store, profile string, edit func([]byte, func([]byte) error) error) {
	t.Helper()
	if err := store.Update(t.Context(), profile, edit); err != nil {
		t.Fatal(err)
	}
}

// holds compares the record of a profile; "" is none.
func holds(t *testing.T, store oauth.Store, profile, want string) {
	t.Helper()
	got, err := store.Load(t.Context(), profile)
	if err != nil || string(got) != want || (got == nil) != (want == "") {
		t.Errorf("profile %q holds %q, error %v; want %q", profile, got, err, want)
	}
}

func TestTokensKeepRecords(t *testing.T) {
	t.Parallel()
	ns, keys := startServer(t), newKeys()
	store, _ := tokens(t, ns, keys)
	other, _ := tokens(t, ns, keys)
	names := []string{"default", "a b", "../../etc/passwd", "ünï 日本", "\u2028<&>\x00\"", strings.Repeat("é", 128)}
	for _, name := range names {
		holds(t, store, name, "")
		update(t, store, name, put("record of "+name))
	}
	for _, name := range names {
		holds(t, other, name, "record of "+name)
	}
	for _, name := range []string{"", "  ", strings.Repeat("é", 129), "\xff"} {
		_, err := store.Load(t.Context(), name)
		_, loading := errors.AsType[*api.InputError](err)
		_, updating := errors.AsType[*api.InputError](store.Update(t.Context(), name, put("x")))
		if !loading || !updating {
			t.Errorf("the profile %q is accepted", name)
		}
	}
	refused := errors.New("refused")
	err := store.Update(t.Context(), "default", func(record []byte, save func([]byte) error) error {
		if string(record) != "record of default" {
			t.Errorf("the record is %q", record)
		}
		for _, next := range []string{"one", "two"} {
			if err := save([]byte(next)); err != nil {
				t.Error(err)
			}
			holds(t, other, "default", next)
		}
		return refused
	})
	if err != refused { //nolint:errorlint // the error itself is promised
		t.Errorf("got %v, want the error of edit", err)
	}
	update(t, other, "default", func(_ []byte, save func([]byte) error) error { return errors.Join(save(nil), save(nil)) })
	holds(t, store, "default", "")
	ended, cancel := context.WithCancel(t.Context())
	update(t, store, "default", put(""))
	if b, err := other.Load(t.Context(), "default"); b == nil || len(b) != 0 || err != nil {
		t.Errorf("an empty record is %v, %v", b, err)
	}
	if err := store.Update(ended, "default", func(_ []byte, save func([]byte) error) error {
		cancel()
		return save([]byte("saved late"))
	}); err != nil {
		t.Error(err)
	}
	holds(t, other, "default", "saved late")
	if _, err := store.Load(ended, "default"); !errors.Is(err, context.Canceled) {
		t.Errorf("loading with an ended context: %v", err)
	}
	if err := store.Update(ended, "default", put("stolen")); !errors.Is(err, context.Canceled) {
		t.Errorf("updating with an ended context: %v", err)
	}
	holds(t, store, "default", "saved late")
	wrong, _ := tokens(t, ns, newKeys())
	_, err = wrong.Load(t.Context(), "default")
	if _, ok := errors.AsType[*oauth.StoreError](err); !ok {
		t.Errorf("another key: %v", err)
	}
}

func TestTokensLoseNoUpdate(t *testing.T) {
	t.Parallel()
	ns, keys := startServer(t), newKeys()
	var wg sync.WaitGroup
	for i := range 8 {
		store, _ := tokens(t, ns, keys)
		wg.Go(func() {
			for range 5 {
				err := store.Update(t.Context(), strconv.Itoa(i%2), func(record []byte, save func([]byte) error) error {
					n, _ := strconv.Atoi(string(record)) // none is 0
					return save([]byte(strconv.Itoa(n + 1)))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	store, _ := tokens(t, ns, keys)
	holds(t, store, "0", "20")
	holds(t, store, "1", "20")
}

// A wait for the lock of a profile ends with the context. Loads and other profiles do not wait.
func TestTokensWaitForTheLock(t *testing.T) {
	t.Parallel()
	ns, keys := startServer(t), newKeys()
	store, _ := tokens(t, ns, keys)
	other, _ := tokens(t, ns, keys)
	var wg sync.WaitGroup
	update(t, store, "default", func(_ []byte, save func([]byte) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := other.Update(ctx, "default", put("stolen")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		wg.Go(func() {
			err := other.Update(t.Context(), "default", func(record []byte, save func([]byte) error) error {
				return save(append(record, ", then theirs"...))
			})
			if err != nil {
				t.Error(err)
			}
		})
		update(t, other, "other", put("free"))
		holds(t, other, "default", "")
		return save([]byte("mine"))
	})
	wg.Wait()
	holds(t, store, "default", "mine, then theirs")
}

// A process that loses the connection while it edits loses the lock, and can no longer
// save, not even when the connection is back.
func TestTokensOfLostProcess(t *testing.T) {
	t.Parallel()
	ns, keys := startServer(t), newKeys()
	lost, link := tokens(t, ns, keys)
	other, _ := tokens(t, ns, keys)
	update(t, lost, "default", put("before"))
	err := lost.Update(t.Context(), "default", func(record []byte, save func([]byte) error) error {
		link.Cut()
		update(t, other, "default", put("theirs"))
		link.Restore()
		eventually(t, "the connection", lost.Stream.JetStream.Conn().IsConnected)
		return save(append(record, " and after"...))
	})
	if err == nil {
		t.Error("the lost process could save")
	}
	holds(t, other, "default", "theirs")
}

// signIn returns a sign-in at an emulated platform that rotates refresh tokens.
func signIn(t *testing.T) (oauth.Config, *oauth.Token, func() (refreshes int)) {
	t.Helper()
	p := fastiotest.New(func(o *seed.Options) { o.OAuth.RotateRefreshTokens = true })
	service := p.Client(t).OAuth
	const home = "https://loom.test/signed-in"
	app, err := service.Register(t.Context(), oauth.RegisterRequest{ClientName: "Loom", RedirectURIs: []string{home}})
	if err != nil {
		t.Fatal(err)
	}
	pkce := oauth.NewPKCE()
	consent, err := service.StartAuthorization(t.Context(), oauth.AuthorizationRequest{
		ClientID: app.ClientID, RedirectURI: home, PKCE: pkce, Scopes: []oauth.Scope{oauth.ScopeUser},
	})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := p.Approve(consent.LoginURL, seed.Decision{})
	if err != nil {
		t.Fatal(err)
	}
	back, err := url.Parse(outcome.Redirect)
	if err != nil {
		t.Fatal(err)
	}
	token, err := service.Exchange(t.Context(), oauth.ExchangeRequest{
		ClientID: app.ClientID, RedirectURI: home,
		Code: api.NewSecret(back.Query().Get("code")), CodeVerifier: pkce.Verifier,
	})
	if err != nil {
		t.Fatal(err)
	}
	config := oauth.Config{BaseURL: "http://fastio.localhost", HTTPClient: &http.Client{Transport: p}, ClientID: app.ClientID}
	return config, token, func() (n int) {
		for _, r := range p.Requests() {
			if bytes.Contains(r.Body, []byte("grant_type=refresh_token")) {
				n++
			}
		}
		return n
	}
}

// The sources of several processes refresh a token once each time that it has expired. The
// server would end the session if a refresh token was used twice.
func TestTokensAreRefreshedOnce(t *testing.T) {
	t.Parallel()
	ns, keys := startServer(t), newKeys()
	config, token, refreshes := signIn(t)
	var sources []*oauth.Source
	for range 6 {
		c := config
		c.Store, _ = tokens(t, ns, keys)
		sources = append(sources, oauth.TokenSource(c))
	}
	config.Store, _ = tokens(t, ns, keys)
	if err := oauth.Save(t.Context(), config, token); err != nil {
		t.Fatal(err)
	}
	current := api.Token{AccessToken: token.AccessToken}
	for round := 1; round <= 4; round++ {
		got := make([]api.Token, len(sources))
		var wg sync.WaitGroup
		for i, source := range sources {
			wg.Go(func() {
				var err error
				got[i], err = source.Refresh(t.Context(), current)
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := refreshes(); n != round {
			t.Fatalf("%d refreshes after %d expiries", n, round)
		}
		for _, next := range got {
			if next.AccessToken != got[0].AccessToken || next.AccessToken == current.AccessToken {
				t.Fatal("the sources return different tokens, or the old one")
			}
		}
		current = got[0]
	}
	js, _ := connect(t, ns)
	stream, err := js.Stream(t.Context(), "KV_fastio-relay")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for sequence := range stream.CachedInfo().State.LastSeq {
		msg, err := stream.GetMsg(t.Context(), sequence+1)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		found++
		for _, secret := range []api.Secret{current.AccessToken, token.AccessToken, token.RefreshToken} {
			if bytes.Contains(msg.Data, []byte(secret.Reveal())) {
				t.Errorf("a token is readable in %s", msg.Subject)
			}
		}
		if bytes.Contains(msg.Data, []byte("access_token")) {
			t.Errorf("a record is readable in %s", msg.Subject)
		}
	}
	if found == 0 {
		t.Error("the bucket is empty")
	}
}
