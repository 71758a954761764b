package keyring_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	zalando "github.com/zalando/go-keyring"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/keyring"
	"github.com/fastio-go/fastio/oauth"
)

func TestMain(m *testing.M) {
	zalando.MockInit() // tests must not access the real keyring
	goleak.VerifyTestMain(m)
}

func TestKeyring(t *testing.T) {
	t.Parallel()
	keys := keyring.Open("fastio-test", "account")
	if key, err := keys.LoadKey(t.Context()); key != nil || err != nil {
		t.Errorf("an entry that is missing holds %d bytes, error %v", len(key), err)
	}
	key := []byte("canary-key-of-32-bytes-012345678")
	if err := keys.SaveKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if got, err := keyring.Open("fastio-test", "account").LoadKey(t.Context()); !bytes.Equal(got, key) || err != nil {
		t.Errorf("got %d bytes, error %v", len(got), err)
	}
	if text, err := zalando.Get("fastio-test", "account"); text != base64.StdEncoding.EncodeToString(key) || err != nil {
		t.Errorf("the entry holds %d characters, error %v", len(text), err)
	}
	if err := keys.SaveKey(t.Context(), make([]byte, 32)); err == nil {
		t.Error("a key was replaced")
	}
	if got, err := keys.LoadKey(t.Context()); !bytes.Equal(got, key) || err != nil {
		t.Errorf("after a rejected replacement: %d bytes, error %v", len(got), err)
	}
	store := oauth.FileStore{Path: "tokens", Keys: keys}
	out := fmt.Sprintf("%v %+v %#v %x %+v %#v %x", keys, keys, keys, keys, store, store, store)
	for _, form := range []string{string(key), base64.StdEncoding.EncodeToString(key), hex.EncodeToString(key)} {
		if strings.Contains(out, form) {
			t.Errorf("the key is printed in %s", out)
		}
	}
}

// ring is a keyring in memory whose calls can fail or block.
type ring struct {
	err  error
	hold chan struct{} // a call waits for it; nil means no wait

	mu      sync.Mutex
	entries map[string]string
	calls   int
}

func (r *ring) enter() error {
	r.mu.Lock()
	r.calls++
	r.mu.Unlock()
	if r.hold != nil {
		<-r.hold
	}
	return r.err
}

func (r *ring) Get(service, account string) (string, error) {
	if err := r.enter(); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if text, ok := r.entries[service+"/"+account]; ok {
		return text, nil
	}
	return "", zalando.ErrNotFound
}

func (r *ring) Set(service, account, secret string) error {
	if err := r.enter(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = map[string]string{}
	}
	r.entries[service+"/"+account] = secret
	return nil
}

// saveToken saves a token in a file with a key in the keyring.
func saveToken(t *testing.T, store oauth.Store) error {
	t.Helper()
	return oauth.Save(t.Context(), oauth.Config{Store: store}, &oauth.Token{AccessToken: api.NewSecret("access")})
}

func TestFileStoreWithAKeyring(t *testing.T) {
	t.Parallel()
	r := new(ring)
	store := oauth.FileStore{Path: filepath.Join(t.TempDir(), "tokens"), Keys: keyring.OpenOn("acme", "tokens", r)}
	if err := saveToken(t, store); err != nil {
		t.Fatal(err)
	}
	store.Keys = keyring.OpenOn("acme", "tokens", r)
	token, err := oauth.TokenSource(oauth.Config{Store: store}).Token(t.Context())
	if token.AccessToken != api.NewSecret("access") || err != nil {
		t.Errorf("got %q, error %v", token.AccessToken.Reveal(), err)
	}
	store.Keys = keyring.OpenOn("acme", "tokens", new(ring))
	_, err = oauth.TokenSource(oauth.Config{Store: store}).Token(t.Context())
	if _, ok := errors.AsType[*oauth.StoreError](err); !ok {
		t.Errorf("without its key: %v", err)
	}
}

// A program that takes the keyring if there is one finds its tokens after each change: the
// key is in a file first, then in the keyring, and again in a file.
func TestTokensMoveWithTheChoice(t *testing.T) { //nolint:paralleltest // it replaces the keyring of the process
	dir := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	t.Cleanup(zalando.MockInit)
	read := func() (string, error) {
		token, err := oauth.TokenSource(oauth.Config{Store: tokenStore(t.Context())}).Token(t.Context())
		return token.AccessToken.Reveal(), err
	}
	save := func() {
		t.Helper()
		if err := saveToken(t, tokenStore(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	broken := errors.New("no bus")
	zalando.MockInitWithError(broken)
	save()
	zalando.MockInit()
	if token, err := read(); token != "access" || err != nil {
		t.Errorf("with a keyring: %q, %v", token, err)
	}
	save() // as the next refresh does
	file, err := os.ReadFile(tokenStore(t.Context()).Path)
	if err != nil {
		t.Fatal(err)
	}
	key, err := zalando.Get("acme-sync", "tokens")
	if err != nil {
		t.Fatal(err)
	}
	zalando.MockInitWithError(broken)
	if _, err := read(); !errors.Is(err, keyring.ErrUnavailable) || !errors.Is(err, broken) {
		t.Errorf("with a keyring that is locked: %v", err)
	}
	if err := saveToken(t, tokenStore(t.Context())); !errors.Is(err, keyring.ErrUnavailable) {
		t.Errorf("a sign-in with a keyring that is locked: %v", err)
	}
	if after, err := os.ReadFile(tokenStore(t.Context()).Path); !bytes.Equal(after, file) {
		t.Errorf("the file was changed, %v", err)
	}
	zalando.MockInit()
	if err := zalando.Set("acme-sync", "tokens", key); err != nil {
		t.Fatal(err)
	}
	if token, err := read(); token != "access" || err != nil {
		t.Errorf("with a keyring that was unlocked: %q, %v", token, err)
	}
	zalando.MockInitWithError(broken)
	if err := tokenStore(t.Context()).Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	save()
	if token, err := read(); token != "access" || err != nil {
		t.Errorf("without a keyring, after a Reset: %q, %v", token, err)
	}
}

// There is no fallback: neither a key nor a file is written.
func TestUnavailableKeyring(t *testing.T) {
	t.Parallel()
	cause := errors.New("no bus")
	keys := keyring.OpenOn("acme", "tokens", &ring{err: cause})
	path := filepath.Join(t.TempDir(), "tokens")
	_, loading := keys.LoadKey(t.Context())
	for what, err := range map[string]error{
		"loading": loading, "saving": keys.SaveKey(t.Context(), make([]byte, 32)),
		"saving a token": saveToken(t, oauth.FileStore{Path: path, Keys: keys}),
	} {
		if !errors.Is(err, keyring.ErrUnavailable) || !errors.Is(err, cause) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was written: %v", err)
	}
}

func TestForeignEntryIsNotReplaced(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hunter2", "not base64!", base64.StdEncoding.EncodeToString(make([]byte, 31))} {
		r := &ring{entries: map[string]string{"acme/tokens": text}}
		keys := keyring.OpenOn("acme", "tokens", r)
		key, err := keys.LoadKey(t.Context())
		if key != nil || !errors.Is(err, keyring.ErrForeign) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: loading gave %d bytes, error %v", text, len(key), err)
		}
		if err := keys.SaveKey(t.Context(), make([]byte, 32)); !errors.Is(err, keyring.ErrForeign) {
			t.Errorf("%q: saving: %v", text, err)
		}
		if r.entries["acme/tokens"] != text {
			t.Errorf("%q was replaced", text)
		}
	}
}

func TestCallsEndWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &ring{hold: make(chan struct{})}
		keys := keyring.OpenOn("acme", "tokens", r)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := keys.LoadKey(ended); !errors.Is(err, context.Canceled) || r.calls != 0 {
			t.Errorf("with an ended context: %d calls, error %v", r.calls, err)
		}
		for range 3 { // one call runs, the others wait
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			_, err := keys.LoadKey(ctx)
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
				t.Errorf("loading: %v after %v", err, took)
			}
			const text = "fastio: keyring: the system keyring is unavailable: it has not answered, and may wait for the user " +
				"to unlock it: context deadline exceeded"
			if !errors.Is(err, keyring.ErrUnavailable) || err.Error() != text {
				t.Errorf("got %v, want %s", err, text)
			}
			cancel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := keys.SaveKey(ctx, make([]byte, 32)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("saving: %v", err)
		}
		r.mu.Lock()
		calls := r.calls
		r.mu.Unlock()
		if calls != 1 {
			t.Errorf("%d concurrent calls", calls)
		}
		close(r.hold)
		if err := keys.SaveKey(t.Context(), make([]byte, 32)); err != nil {
			t.Errorf("saving afterwards: %v", err)
		}
		if key, err := keys.LoadKey(t.Context()); len(key) != 32 || err != nil {
			t.Errorf("loading afterwards: %d bytes, error %v", len(key), err)
		}
	})
}
