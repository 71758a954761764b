package oauth_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/oauth/storetest"
)

// replace saves a record in a lock of its own.
func replace(ctx context.Context, store oauth.Store, account, record string) error {
	r, err := store.Lock(ctx, account)
	if err != nil {
		return err
	}
	defer r.Unlock()
	return r.Save(ctx, []byte(record))
}

func put(t *testing.T, store oauth.Store, account, record string) {
	t.Helper()
	if err := replace(t.Context(), store, account, record); err != nil {
		t.Fatal(err)
	}
}

func lock(t *testing.T, store oauth.Store, account string) oauth.Record {
	t.Helper()
	r, err := store.Lock(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Unlock)
	return r
}

// holds compares what the store has for an account; "" is nothing.
func holds(t *testing.T, store oauth.Store, account, want string) {
	t.Helper()
	got, err := store.Load(t.Context(), account)
	if err != nil || string(got) != want || (got == nil) != (want == "") {
		t.Errorf("account %q holds %q, error %v; want %q", account, got, err, want)
	}
}

func fileStore(tb testing.TB) oauth.FileStore {
	tb.Helper()
	return storeIn(filepath.Join(tb.TempDir(), "new", "deeper"))
}

func storeIn(dir string) oauth.FileStore {
	return oauth.FileStore{Path: filepath.Join(dir, "tokens"), Keys: oauth.KeyFile(filepath.Join(dir, "key"))}
}

func TestStores(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(*testing.T) storetest.Fixture { return storetest.Fixture{Store: new(oauth.MemoryStore)} })
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) storetest.Fixture {
			t.Helper()
			dir := filepath.Join(t.TempDir(), "new", "deeper")
			f := storetest.Fixture{Store: storeIn(dir), Other: func() oauth.Store { return storeIn(dir) }}
			f.Kill = func(account string) { killHolder(t, dir, account) }
			if runtime.GOOS != "windows" { // where an open file cannot be removed
				f.Lose = func() func() { return loseLocks(t, dir) }
			}
			return f
		})
	})
}

// killHolder has a process lock a record, and kills it.
func killHolder(t *testing.T, dir, account string) {
	t.Helper()
	p := startProcess(t, roleHolder, dir, "", account)
	p.says(t, halted)
	_ = p.Process.Kill()
	_ = p.Wait() // it was killed
}

// loseLocks removes the lock files of a store, as a cleaner of temporary files does.
func loseLocks(t *testing.T, dir string) (restore func()) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "tokens.*.lock"))
	if err != nil || len(files) == 0 {
		t.Fatalf("lock files: %q, %v", files, err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	return func() {}
}

// No store accepts an account whose name is blank, too long or not UTF-8.
func TestStoresRejectNames(t *testing.T) {
	t.Parallel()
	for _, store := range []oauth.Store{new(oauth.MemoryStore), fileStore(t)} {
		for _, name := range []string{"", "  ", "\t\n", strings.Repeat("é", 129), "\xff"} {
			if _, err := store.Load(t.Context(), name); !isInput(err) {
				t.Errorf("loading %q: %v", name, err)
			}
			if err := replace(t.Context(), store, name, "x"); !isInput(err) {
				t.Errorf("locking %q: %v", name, err)
			}
		}
	}
}

func TestFileStoreFiles(t *testing.T) {
	t.Parallel()
	store := fileStore(t)
	contents := map[string]bool{}
	for range 3 {
		put(t, store, "canary-account", "canary-refresh-token")
		b, err := os.ReadFile(store.Path)
		if err != nil {
			t.Fatal(err)
		}
		contents[string(b)] = true
		if bytes.Contains(b, []byte("canary")) || !bytes.HasPrefix(b, []byte("fastio tokens 1\n")) {
			t.Errorf("the file holds %q", b)
		}
	}
	if len(contents) != 3 {
		t.Error("the same record was sealed twice in the same way")
	}
	dir := filepath.Dir(store.Path)
	got := map[string]fs.FileMode{}
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		info, _ := e.Info()
		got[filepath.Base(path)] = info.Mode()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{
		"deeper": fs.ModeDir | 0o700, "tokens": 0o600, "tokens.lock": 0o600, "tokens.a50e9df4b870fcde.lock": 0o600,
		"key": 0o600, "key.lock": 0o600,
	}
	if runtime.GOOS == "windows" { // which has no such modes
		for name := range want {
			want[name] = got[name]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}

// rejects requires that a store returns a StoreError and does not change its file.
func rejects(t *testing.T, store oauth.FileStore, what string) {
	t.Helper()
	before, _ := os.ReadFile(store.Path)
	record, err := store.Load(t.Context(), "default")
	if _, ok := errors.AsType[*oauth.StoreError](err); !ok || record != nil {
		t.Errorf("%s: loaded %q, error %v", what, record, err)
	}
	err = replace(t.Context(), store, "default", "new")
	if _, ok := errors.AsType[*oauth.StoreError](err); !ok {
		t.Errorf("%s: locked, error %v", what, err)
	}
	after, err := os.ReadFile(store.Path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s: the file was written over, error %v", what, err)
	}
}

func TestFileStoreRefusesEveryDamage(t *testing.T) {
	t.Parallel()
	store := fileStore(t)
	put(t, store, "default", "a record")
	sound, err := os.ReadFile(store.Path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		if err := os.WriteFile(store.Path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range sound {
		damaged := bytes.Clone(sound)
		damaged[i] ^= 1 << (i % 8)
		write(damaged)
		rejects(t, store, "byte "+strconv.Itoa(i)+" flipped")
		write(sound[:i])
		rejects(t, store, "cut to "+strconv.Itoa(i)+" bytes")
	}
	write(append(bytes.Clone(sound), 0))
	rejects(t, store, "a byte appended")
	write([]byte(`{"default":"a record"}`))
	rejects(t, store, "plain text")
	write(sound)
	holds(t, store, "default", "a record")
}

func TestFileStoreKeys(t *testing.T) {
	t.Parallel()
	store := fileStore(t)
	put(t, store, "default", "a record")
	key, err := store.Keys.LoadKey(t.Context())
	if err != nil || len(key) != 32 {
		t.Fatalf("the key has %d bytes, error %v", len(key), err)
	}
	if err := store.Keys.SaveKey(t.Context(), make([]byte, 32)); err == nil || strings.Count(err.Error(), "fastio") != 1 {
		t.Errorf("a key was replaced: %v", err)
	}
	same := oauth.FileStore{Path: store.Path, Keys: oauth.StaticKey(key)}
	clear(key)
	holds(t, same, "default", "a record")
	if err := same.Keys.SaveKey(t.Context(), key); err == nil {
		t.Error("a static key was replaced")
	}
	rejects(t, oauth.FileStore{Path: store.Path, Keys: oauth.StaticKey(key)}, "another key")
	elsewhere := filepath.Join(t.TempDir(), "key")
	rejects(t, oauth.FileStore{Path: store.Path, Keys: oauth.KeyFile(elsewhere)}, "no key")
	if _, err := os.Stat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key was made for a file that has one: %v", err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, store.Path)
	if err != nil {
		t.Fatal(err)
	}
	for what, wrong := range map[string]oauth.FileStore{
		"a short key":                       {Path: store.Path, Keys: oauth.StaticKey(make([]byte, 16))},
		"a long key":                        {Path: store.Path, Keys: oauth.StaticKey(make([]byte, 33))},
		"an empty key":                      {Path: store.Path, Keys: oauth.StaticKey(nil)},
		"no key store":                      {Path: store.Path},
		"no path":                           {Keys: oauth.StaticKey(make([]byte, 32))},
		"the key in the file it is for":     {Path: store.Path, Keys: oauth.KeyFile(store.Path)},
		"the key there by another spelling": {Path: store.Path, Keys: oauth.KeyFile(filepath.Dir(store.Path) + "/./tokens")},
		"the key there by a relative path":  {Path: store.Path, Keys: oauth.KeyFile(relative)},
	} {
		if _, err := wrong.Load(t.Context(), "default"); !isInput(err) {
			t.Errorf("%s: loading: %v", what, err)
		}
		if err := replace(t.Context(), wrong, "default", "new"); !isInput(err) {
			t.Errorf("%s: locking: %v", what, err)
		}
	}
	holds(t, store, "default", "a record")
}

// A program that changes its KeyStore keeps its tokens: they move with the next save.
func TestFileStoreMovesToAnotherKey(t *testing.T) {
	t.Parallel()
	locked := errors.New("fastio: keyring: locked")
	store, ring := fileStore(t), new(vault)
	put(t, store, "default", "a record")
	put(t, store, "other", "another")
	moved := oauth.FileStore{Path: store.Path, Keys: ring, Former: store.Keys}
	holds(t, moved, "default", "a record")
	if ring.key != nil {
		t.Error("a key was made to read")
	}
	moved.Former = &vault{unavailable: locked}
	for _, err := range []error{
		stub.Err(moved.Load(t.Context(), "default")), replace(t.Context(), moved, "default", "lost"),
	} {
		if !errors.Is(err, locked) || !strings.Contains(err.Error(), "FileStore.Former fails: keyring: locked") {
			t.Errorf("with a former key that is locked: %v", err)
		}
	}
	moved.Former = store.Keys
	r := lock(t, moved, "default")
	put(t, store, "other", "of the program before") // which still runs
	for _, record := range []string{"moving", "moved"} {
		if err := r.Save(t.Context(), []byte(record)); err != nil {
			t.Error(err)
		}
	}
	r.Unlock()
	moved.Former = &vault{unavailable: locked} // which is not used any more
	holds(t, moved, "default", "moved")
	holds(t, moved, "other", "of the program before")
	rejects(t, store, "the key of before")
	put(t, oauth.FileStore{Path: store.Path, Keys: store.Keys, Former: ring}, "default", "back")
	holds(t, store, "default", "back")
	rejects(t, oauth.FileStore{Path: store.Path, Keys: ring, Former: oauth.StaticKey(make([]byte, 32))}, "two other keys")
	if _, err := (oauth.FileStore{Path: store.Path, Keys: ring, Former: oauth.KeyFile(store.Path)}).Load(
		t.Context(), "default",
	); !isInput(err) {
		t.Errorf("a former key in the file it is for: %v", err)
	}
}

// What was reset while it was locked does not come back.
func TestFileStoreResetDuringALock(t *testing.T) {
	t.Parallel()
	store := fileStore(t)
	put(t, store, "default", "a record")
	r := lock(t, store, "default")
	err := errors.Join(
		r.Save(t.Context(), []byte("noted")), store.Reset(t.Context()), r.Save(t.Context(), []byte("renewed")),
	)
	if e, ok := errors.AsType[*oauth.StoreError](err); !ok || !strings.Contains(e.Reason, "was removed or replaced") {
		t.Errorf("got %v", err)
	}
	holds(t, store, "default", "")
}

// Errors of the system say whose they are.
func TestFileStoreNamesItsErrors(t *testing.T) {
	t.Parallel()
	store := fileStore(t)
	lock(t, store, "default")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := replace(ctx, store, "default", "locked")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "fastio: oauth: no lock on "+store.Path) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Dir(store.Path)+"-not", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	store.Path = filepath.Join(filepath.Dir(store.Path)+"-not", "tokens")
	for _, err := range []error{stub.Err(store.Load(t.Context(), "default")), replace(t.Context(), store, "default", "x")} {
		if err == nil || !strings.HasPrefix(err.Error(), "fastio: oauth: ") {
			t.Errorf("got %v", err)
		}
	}
}

// A key that other users may know is not used, and a file that they may have
// written is refused or closed to them.
func TestFileStoreRequiresPrivateFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	store := fileStore(t)
	put(t, store, "default", "a record")
	key := filepath.Join(filepath.Dir(store.Path), "key")
	set := func(path string, mode fs.FileMode, uid int) {
		if err := errors.Join(os.Chmod(path, mode), os.Chown(path, uid, -1)); err != nil {
			t.Fatal(err)
		}
	}
	set(key, 0o644, -1)
	rejects(t, store, "a key that all can read")
	set(key, 0o600, -1)
	set(store.Path, 0o664, -1)
	holds(t, store, "default", "a record")
	if info, err := os.Stat(store.Path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has mode %v, error %v", info.Mode(), err)
	}
	if err := os.WriteFile(store.Path, []byte("of another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	set(store.Path, 0o644, -1)
	rejects(t, store, "a file of another program")
	if info, err := os.Stat(store.Path); err != nil || info.Mode() != 0o644 {
		t.Errorf("the file of another program has mode %v, error %v", info.Mode(), err)
	}
	if os.Geteuid() != 0 {
		return // only root gives files away
	}
	set(key, 0o600, 65534)
	rejects(t, store, "a key of another user")
	set(key, 0o600, 0)
	set(store.Path, 0o600, 65534)
	rejects(t, store, "a file of another user")
}

// What cannot be read any more can be discarded, by the call that the error names.
func TestFileStoreReset(t *testing.T) {
	t.Parallel()
	overwrite := func(path string) error { return os.WriteFile(path, []byte("damaged"), 0o600) }
	for name, damage := range map[string]func(file, key string) error{
		"a damaged file":           func(file, _ string) error { return overwrite(file) },
		"a file that is cut short": func(file, _ string) error { return os.Truncate(file, 20) },
		"a file of another version": func(file, _ string) error {
			return os.WriteFile(file, []byte("fastio tokens 2\n"), 0o600)
		},
		"a lost key":    func(_, key string) error { return os.Remove(key) },
		"a damaged key": func(_, key string) error { return overwrite(key) },
		"another key": func(_, key string) error {
			return os.WriteFile(key, []byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := fileStore(t)
			put(t, store, "default", "lost")
			if err := damage(store.Path, filepath.Join(filepath.Dir(store.Path), "key")); err != nil {
				t.Fatal(err)
			}
			before, _ := store.Keys.LoadKey(t.Context())
			if _, err := store.Load(t.Context(), "default"); err == nil || !strings.Contains(err.Error(), "FileStore.Reset") {
				t.Errorf("the error does not name the call: %v", err)
			}
			if err := store.Reset(t.Context()); err != nil {
				t.Fatal(err)
			}
			holds(t, store, "default", "")
			put(t, store, "default", "new")
			holds(t, store, "default", "new")
			if after, _ := store.Keys.LoadKey(t.Context()); before != nil && !bytes.Equal(before, after) {
				t.Error("a good key has changed")
			}
		})
	}
	directory := oauth.FileStore{Path: t.TempDir(), Keys: oauth.StaticKey(make([]byte, 32))}
	if _, ok := errors.AsType[*oauth.StoreError](directory.Reset(t.Context())); !ok {
		t.Error("a directory was reset")
	}
}

func isInput(err error) bool {
	_, ok := errors.AsType[*api.InputError](err)
	return ok
}

// vault is a KeyStore of a program: it keeps the first key, unless it fails.
type vault struct {
	key         []byte
	fail        error // of SaveKey
	unavailable error // of LoadKey
}

func (v *vault) LoadKey(context.Context) ([]byte, error) { return v.key, v.unavailable }

func (v *vault) SaveKey(_ context.Context, key []byte) error {
	if v.fail == nil && v.key == nil {
		v.key = key
	}
	return v.fail
}

// A key that cannot be kept is found out before it is used. One that a crash has
// left without a file is used by the next process.
func TestFileStoreSavesItsKeyFirst(t *testing.T) {
	t.Parallel()
	store := oauth.FileStore{Path: filepath.Join(t.TempDir(), "tokens"), Keys: &vault{fail: errors.New("no room")}}
	_, err := store.Lock(t.Context(), "default")
	if err == nil || err.Error() != "no room" {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(store.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was written: %v", err)
	}
	store, key := fileStore(t), make([]byte, 32)
	_, _ = rand.Read(key)
	if err := store.Keys.SaveKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	put(t, store, "default", "a record")
	holds(t, oauth.FileStore{Path: store.Path, Keys: oauth.StaticKey(key)}, "default", "a record")
}

func TestSealedRecords(t *testing.T) {
	t.Parallel()
	ctx, keys, record := t.Context(), new(vault), []byte(`{"token":"canary"}`)
	sealed, err := oauth.Seal(ctx, keys, "ada", record)
	if err != nil || bytes.Contains(sealed, []byte("canary")) {
		t.Fatalf("%q, %v", sealed, err)
	}
	again, err := oauth.Seal(ctx, keys, "ada", record)
	if err != nil || bytes.Equal(sealed, again) {
		t.Errorf("sealed twice it is %q and %q, %v", sealed, again, err)
	}
	for _, s := range [][]byte{sealed, again} {
		if got, err := oauth.Unseal(ctx, keys, "ada", s); err != nil || !bytes.Equal(got, record) {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got, err := oauth.Unseal(ctx, keys, "ada", nil); got != nil || err != nil {
		t.Errorf("without a record: %q, %v", got, err)
	}
	unseal := func(keys oauth.KeyStore, account string, sealed []byte) error {
		_, err := oauth.Unseal(ctx, keys, account, sealed)
		return err
	}
	damaged := bytes.Clone(sealed)
	damaged[len(damaged)-1] ^= 1
	for name, err := range map[string]error{
		"another account":  unseal(keys, "eve", sealed),
		"another key":      unseal(oauth.StaticKey(make([]byte, 32)), "ada", sealed),
		"no key":           unseal(new(vault), "ada", sealed),
		"damaged":          unseal(keys, "ada", damaged),
		"cut":              unseal(keys, "ada", sealed[:20]),
		"not sealed":       unseal(keys, "ada", record),
		"an unwritten key": stub.Err(oauth.Seal(ctx, &vault{fail: errors.New("disk full")}, "ada", record)),
	} {
		if e, ok := errors.AsType[*oauth.StoreError](err); !ok || bytes.Contains([]byte(e.Error()), []byte("canary")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"no keys":         unseal(nil, "ada", sealed),
		"a short key":     unseal(oauth.StaticKey([]byte("short")), "ada", sealed),
		"a blank account": unseal(keys, " ", sealed),
	} {
		if !errors.Is(err, api.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUserStore(t *testing.T) { //nolint:paralleltest // it changes the environment
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	put(t, oauth.UserStore("acme-sync"), defaultAccount, "a record")
	holds(t, oauth.UserStore("acme-sync"), defaultAccount, "a record")
	for _, pattern := range []string{"tokens", "key"} {
		found, _ := filepath.Glob(filepath.Join(dir, "*", pattern)) // on macOS it is deeper
		deeper, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*", pattern))
		found = append(found, deeper...)
		if len(found) != 1 {
			t.Errorf("found %q", found)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "/a", "../a", "a/"} {
		_, err := oauth.UserStore(name).Load(t.Context(), defaultAccount)
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "program" {
			t.Errorf("%q: got %v", name, err)
		}
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		os.Unsetenv(name)
	}
	store := oauth.UserStore("acme-sync")
	_, err := store.Load(t.Context(), defaultAccount)
	for _, err := range []error{err, replace(t.Context(), store, defaultAccount, "x"), store.Reset(t.Context())} {
		if err == nil || !strings.HasPrefix(err.Error(), "fastio: oauth.UserStore: ") {
			t.Errorf("without a home: %v", err)
		}
	}
}
