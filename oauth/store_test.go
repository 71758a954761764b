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
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/oauth"
)

func put(record string) func([]byte, func([]byte) error) error {
	return func(_ []byte, save func([]byte) error) error { return save([]byte(record)) }
}

func update(t *testing.T, store oauth.Store, profile string, edit func([]byte, func([]byte) error) error) {
	t.Helper()
	if err := store.Update(t.Context(), profile, edit); err != nil {
		t.Fatal(err)
	}
}

// holds compares what the store has for a profile; "" is nothing.
func holds(t *testing.T, store oauth.Store, profile, want string) {
	t.Helper()
	got, err := store.Load(t.Context(), profile)
	if err != nil || string(got) != want || (got == nil) != (want == "") {
		t.Errorf("profile %q holds %q, error %v; want %q", profile, got, err, want)
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
	for name, store := range map[string]oauth.Store{"memory": new(oauth.MemoryStore), "file": fileStore(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := []string{
				"default", "a b", "../../etc/passwd", "CON", "ünï 日本", "\u2028<&>\x00\"",
				strings.Repeat("é", 128),
			}
			for _, name := range names {
				holds(t, store, name, "")
				update(t, store, name, put("record of "+name))
			}
			for _, name := range names {
				holds(t, store, name, "record of "+name)
			}
			for _, name := range []string{"", "  ", "\t\n", strings.Repeat("é", 129), "\xff"} {
				if _, err := store.Load(t.Context(), name); !isInput(err) {
					t.Errorf("loading %q: %v", name, err)
				}
				if err := store.Update(t.Context(), name, put("x")); !isInput(err) {
					t.Errorf("updating %q: %v", name, err)
				}
			}

			refused := errors.New("refused")
			err := store.Update(t.Context(), "default", func(record []byte, save func([]byte) error) error {
				if string(record) != "record of default" {
					t.Errorf("the record is %q", record)
				}
				for _, next := range []string{"one", "two"} {
					buffer := []byte(next)
					if err := save(buffer); err != nil {
						t.Error(err)
					}
					clear(buffer)
					holds(t, store, "default", next)
				}
				clear(record)
				return refused
			})
			if err != refused { //nolint:errorlint // the error itself is promised
				t.Errorf("got %v, want edit's own error", err)
			}
			holds(t, store, "default", "two")
			b, _ := store.Load(t.Context(), "default")
			clear(b)
			holds(t, store, "default", "two")

			update(t, store, "default", func(record []byte, save func([]byte) error) error {
				return errors.Join(save(nil), save(nil))
			})
			holds(t, store, "default", "")
			holds(t, store, "a b", "record of a b")
			ended, cancel := context.WithCancel(t.Context())
			update(t, store, "default", put(""))
			if b, err := store.Load(ended, "default"); b == nil || len(b) != 0 || err != nil {
				t.Errorf("an empty record is %v, %v", b, err)
			}
			if err := store.Update(ended, "default", func(_ []byte, save func([]byte) error) error {
				cancel()
				return save([]byte("saved late"))
			}); err != nil {
				t.Error(err)
			}
			holds(t, store, "default", "saved late")
			if _, err := store.Load(ended, "default"); !errors.Is(err, context.Canceled) {
				t.Errorf("loading with an ended context: %v", err)
			}
			if err := store.Update(ended, "default", put("stolen")); !errors.Is(err, context.Canceled) {
				t.Errorf("updating with an ended context: %v", err)
			}
			holds(t, store, "default", "saved late")
		})
	}
}

func TestStoresLoseNoUpdate(t *testing.T) {
	t.Parallel()
	for _, store := range []oauth.Store{new(oauth.MemoryStore), fileStore(t)} {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 10 {
					update(t, store, "profile "+strconv.Itoa(i%2), func(record []byte, save func([]byte) error) error {
						n, _ := strconv.Atoi(string(record))
						return save([]byte(strconv.Itoa(n + 1)))
					})
				}
			})
		}
		wg.Wait()
		holds(t, store, "profile 0", "40")
		holds(t, store, "profile 1", "40")
	}
}

func TestStoreWaitsEndWithTheContext(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, store oauth.Store, wait time.Duration) {
		t.Helper()
		update(t, store, "default", func(_ []byte, save func([]byte) error) error {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			if err := store.Update(ctx, "default", put("stolen")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			update(t, store, "other", put("free"))
			holds(t, store, "default", "") // reading does not wait
			return save([]byte("mine"))
		})
		holds(t, store, "default", "mine")
		holds(t, store, "other", "free")
	}
	inBubble(t, "memory", func(t *testing.T) { check(t, new(oauth.MemoryStore), time.Second) })
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		check(t, fileStore(t), 20*time.Millisecond)
	})
}

func TestFileStoreFiles(t *testing.T) {
	t.Parallel()
	store := fileStore(t)
	contents := map[string]bool{}
	for range 3 {
		update(t, store, "canary-profile", put("canary-refresh-token"))
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
		"deeper": fs.ModeDir | 0o700, "tokens": 0o600, "tokens.lock": 0o600, "tokens.d29a4a5f58d0e240.lock": 0o600,
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
	err = store.Update(t.Context(), "default", func(_ []byte, save func([]byte) error) error {
		t.Errorf("%s: edited", what)
		return save([]byte("new"))
	})
	if _, ok := errors.AsType[*oauth.StoreError](err); !ok {
		t.Errorf("%s: updated, error %v", what, err)
	}
	after, err := os.ReadFile(store.Path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s: the file was written over, error %v", what, err)
	}
}

func TestFileStoreRefusesEveryDamage(t *testing.T) {
	t.Parallel()
	store := fileStore(t)
	update(t, store, "default", put("a record"))
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
	update(t, store, "default", put("a record"))
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
		if err := wrong.Update(t.Context(), "default", put("new")); !isInput(err) {
			t.Errorf("%s: updating: %v", what, err)
		}
	}
	holds(t, store, "default", "a record")
}

// A program that changes its KeyStore keeps its tokens: they move with the next save.
func TestFileStoreMovesToAnotherKey(t *testing.T) {
	t.Parallel()
	locked := errors.New("fastio: keyring: locked")
	store, ring := fileStore(t), new(vault)
	update(t, store, "default", put("a record"))
	update(t, store, "other", put("another"))
	moved := oauth.FileStore{Path: store.Path, Keys: ring, Former: store.Keys}
	holds(t, moved, "default", "a record")
	if ring.key != nil {
		t.Error("a key was made to read")
	}
	moved.Former = &vault{unavailable: locked}
	for _, err := range []error{
		stub.Err(moved.Load(t.Context(), "default")), moved.Update(t.Context(), "default", put("lost")),
	} {
		if !errors.Is(err, locked) || !strings.Contains(err.Error(), "FileStore.Former fails: keyring: locked") {
			t.Errorf("with a former key that is locked: %v", err)
		}
	}
	moved.Former = store.Keys
	if err := moved.Update(t.Context(), "default", func([]byte, func([]byte) error) error {
		return store.Update(t.Context(), "other", put("of the program before")) // which still runs
	}); err != nil {
		t.Error(err)
	}
	if err := moved.Update(t.Context(), "default", func(_ []byte, save func([]byte) error) error {
		return errors.Join(save([]byte("moving")), save([]byte("moved")))
	}); err != nil {
		t.Error(err)
	}
	moved.Former = &vault{unavailable: locked} // which is not used any more
	holds(t, moved, "default", "moved")
	holds(t, moved, "other", "of the program before")
	rejects(t, store, "the key of before")
	update(t, oauth.FileStore{Path: store.Path, Keys: store.Keys, Former: ring}, "default", put("back"))
	holds(t, store, "default", "back")
	rejects(t, oauth.FileStore{Path: store.Path, Keys: ring, Former: oauth.StaticKey(make([]byte, 32))}, "two other keys")
	if _, err := (oauth.FileStore{Path: store.Path, Keys: ring, Former: oauth.KeyFile(store.Path)}).Load(
		t.Context(), "default",
	); !isInput(err) {
		t.Errorf("a former key in the file it is for: %v", err)
	}
}

// What was reset during an update does not come back.
func TestFileStoreResetDuringAnUpdate(t *testing.T) {
	t.Parallel()
	store := fileStore(t)
	update(t, store, "default", put("a record"))
	err := store.Update(t.Context(), "default", func(_ []byte, save func([]byte) error) error {
		return errors.Join(save([]byte("noted")), store.Reset(t.Context()), save([]byte("renewed")))
	})
	if e, ok := errors.AsType[*oauth.StoreError](err); !ok || !strings.Contains(e.Reason, "was removed while it was edited") {
		t.Errorf("got %v", err)
	}
	holds(t, store, "default", "")
}

// Errors of the system say whose they are.
func TestFileStoreNamesItsErrors(t *testing.T) {
	t.Parallel()
	store := fileStore(t)
	update(t, store, "default", func([]byte, func([]byte) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := store.Update(ctx, "default", put("locked"))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "fastio: oauth: no lock on "+store.Path) {
			t.Errorf("got %v", err)
		}
		return nil
	})
	if err := os.WriteFile(filepath.Dir(store.Path)+"-not", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	store.Path = filepath.Join(filepath.Dir(store.Path)+"-not", "tokens")
	for _, err := range []error{stub.Err(store.Load(t.Context(), "default")), store.Update(t.Context(), "default", put("x"))} {
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
	update(t, store, "default", put("a record"))
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
			update(t, store, "default", put("lost"))
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
			update(t, store, "default", put("new"))
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
	err := store.Update(t.Context(), "default", func([]byte, func([]byte) error) error { t.Error("edited"); return nil })
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
	update(t, store, "default", put("a record"))
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
	unseal := func(keys oauth.KeyStore, profile string, sealed []byte) error {
		_, err := oauth.Unseal(ctx, keys, profile, sealed)
		return err
	}
	damaged := bytes.Clone(sealed)
	damaged[len(damaged)-1] ^= 1
	for name, err := range map[string]error{
		"another profile":  unseal(keys, "eve", sealed),
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
		"a blank profile": unseal(keys, " ", sealed),
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
	update(t, oauth.UserStore("acme-sync"), profile, put("a record"))
	holds(t, oauth.UserStore("acme-sync"), profile, "a record")
	for _, pattern := range []string{"tokens", "key"} {
		found, _ := filepath.Glob(filepath.Join(dir, "*", pattern)) // on macOS it is deeper
		deeper, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*", pattern))
		found = append(found, deeper...)
		if len(found) != 1 {
			t.Errorf("found %q", found)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "/a", "../a", "a/"} {
		_, err := oauth.UserStore(name).Load(t.Context(), profile)
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "program" {
			t.Errorf("%q: got %v", name, err)
		}
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		os.Unsetenv(name)
	}
	store := oauth.UserStore("acme-sync")
	_, err := store.Load(t.Context(), profile)
	for _, err := range []error{err, store.Update(t.Context(), profile, put("x")), store.Reset(t.Context())} {
		if err == nil || !strings.HasPrefix(err.Error(), "fastio: oauth.UserStore: ") {
			t.Errorf("without a home: %v", err)
		}
	}
}
