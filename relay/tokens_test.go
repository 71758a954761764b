package relay_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/oauth/storetest"
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

func TestTokens(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Fixture {
		t.Helper()
		ns, keys := startServer(t), newKeys()
		store, l := tokens(t, ns, keys)
		return storetest.Fixture{
			Store: store,
			Other: func() oauth.Store {
				other, _ := tokens(t, ns, keys)
				return other
			},
			Lose: func() func() {
				l.Cut()
				return func() {
					l.Restore()
					eventually(t, "the connection", store.Stream.JetStream.Conn().IsConnected)
				}
			},
			Kill: func(account string) {
				killed, l := tokens(t, ns, keys)
				_, err := killed.Lock(t.Context(), account)
				if err != nil {
					t.Fatal(err)
				}
				l.Cut()
			},
		}
	})
}

func TestTokensRejectNamesAndKeys(t *testing.T) {
	t.Parallel()
	ns := startServer(t)
	store, _ := tokens(t, ns, newKeys())
	for _, name := range []string{"", "  ", strings.Repeat("é", 129), "\xff"} {
		_, err := store.Load(t.Context(), name)
		_, loading := errors.AsType[*api.InputError](err)
		_, err = store.Lock(t.Context(), name)
		_, locking := errors.AsType[*api.InputError](err)
		if !loading || !locking {
			t.Errorf("the account %q is accepted", name)
		}
	}
	r, err := store.Lock(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Unlock()
	if err := r.Save(t.Context(), []byte("a record")); err != nil {
		t.Fatal(err)
	}
	r.Unlock()
	wrong, _ := tokens(t, ns, newKeys())
	for range 2 { // a lock that cannot be used is released
		_, loading := wrong.Load(t.Context(), "default")
		_, locking := wrong.Lock(t.Context(), "default")
		for _, err := range []error{loading, locking} {
			if _, ok := errors.AsType[*oauth.StoreError](err); !ok {
				t.Errorf("another key: %v", err)
			}
		}
	}
}

// signIn returns a sign-in at an emulated platform that rotates refresh tokens.
func signIn(t *testing.T) (oauth.Config, *oauth.Token, func() (refreshes int)) {
	t.Helper()
	return signInAt(t, fastiotest.New(func(o *seed.Options) { o.OAuth.RotateRefreshTokens = true }))
}

// signInAt returns a sign-in of the initial user of a platform.
func signInAt(t *testing.T, p *fastiotest.Server) (oauth.Config, *oauth.Token, func() (refreshes int)) {
	t.Helper()
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
	outcome, err := p.SignIns.Approve(consent.LoginURL, seed.Decision{})
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
