package durable_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/internal/durable"
)

// guard is how long a test waits before it calls a step stuck. Nothing is
// expected to come near it.
const guard = 30 * time.Second

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m)
}

func put(s string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(s), nil }
}

func increment(old []byte) ([]byte, error) {
	if old == nil {
		return []byte("1"), nil
	}
	n, err := strconv.Atoi(string(old))
	return []byte(strconv.Itoa(n + 1)), err
}

func read(t *testing.T, f *durable.File) string {
	t.Helper()
	b, err := f.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func update(t *testing.T, f *durable.File, fn func([]byte) ([]byte, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	if err := f.Update(ctx, fn); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// left requires the names of the files in a directory.
func left(t *testing.T, dir string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("left in %s (-want +got):\n%s", filepath.Base(dir), diff)
	}
}

// holds requires the content of a file.
func holds(t *testing.T, f *durable.File, want string) {
	t.Helper()
	if got := read(t, f); got != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}
}

func openTemp(t *testing.T) *durable.File {
	t.Helper()
	return durable.Open(filepath.Join(t.TempDir(), "store"))
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "deeper")
	path := filepath.Join(dir, "store")
	f := durable.Open(path)

	if _, err := f.Read(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a file that was never written: %v", err)
	}
	update(t, f, func(old []byte) ([]byte, error) {
		if old != nil {
			t.Errorf("a file that was never written holds %q", old)
		}
		return []byte("one"), nil
	})
	update(t, f, func(old []byte) ([]byte, error) { return append(old, " two"...), nil })
	holds(t, f, "one two")

	refused := errors.New("refused")
	err := f.Update(t.Context(), func([]byte) ([]byte, error) { return []byte("bad"), refused })
	if err != refused { //nolint:errorlint // the error itself is promised
		t.Errorf("got %v, want fn's own error", err)
	}
	before, _ := os.Stat(path)
	update(t, f, func([]byte) ([]byte, error) { return nil, nil })
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("an update without content replaced the file: %v", err)
	}
	holds(t, f, "one two")

	update(t, f, func([]byte) ([]byte, error) { return []byte{}, nil })
	update(t, f, func(old []byte) ([]byte, error) {
		if old == nil {
			t.Error("an empty file looks like a missing one")
		}
		return nil, nil
	})
	left(t, dir, "store", "store.lock")
}

func TestEditWritesAsOftenAsItLikes(t *testing.T) {
	t.Parallel()
	f := openTemp(t)
	refused := errors.New("refused")
	err := f.Edit(t.Context(), func(old []byte, save func([]byte) error) error {
		if old != nil {
			t.Errorf("a file that was never written holds %q", old)
		}
		for _, content := range []string{"one", "", "three"} {
			if err := save([]byte(content)); err != nil {
				t.Error(err)
			}
			holds(t, f, content)
		}
		return refused
	})
	if err != refused { //nolint:errorlint // the error itself is promised
		t.Errorf("got %v, want fn's own error", err)
	}
	holds(t, f, "three")

	ctx, cancel := context.WithCancel(t.Context())
	if err := f.Edit(ctx, func(_ []byte, save func([]byte) error) error {
		cancel()
		return errors.Join(save([]byte("four")), save([]byte("five")))
	}); err != nil {
		t.Error(err)
	}
	holds(t, f, "five")
}

// A write that fails does not undo the one before it, nor forbid the next.
func TestEditOnAFailingDisk(t *testing.T) {
	t.Parallel()
	f := openTemp(t)
	renames := 0
	durable.Intercept(f, func(step string) error {
		if step == durable.StepRename {
			if renames++; renames == 2 {
				return syscall.EIO
			}
		}
		return nil
	})
	if err := f.Edit(t.Context(), func(_ []byte, save func([]byte) error) error {
		if err := save([]byte("one")); err != nil {
			t.Error(err)
		}
		if err := save([]byte("two")); !errors.Is(err, syscall.EIO) {
			t.Errorf("got error %v, want %v", err, syscall.EIO)
		}
		holds(t, f, "one")
		return save([]byte("three"))
	}); err != nil {
		t.Error(err)
	}
	holds(t, f, "three")
}

func TestModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := filepath.Join(t.TempDir(), "private")
	path := filepath.Join(dir, "store")
	update(t, durable.Open(path), put("secret"))
	_ = os.Chmod(path, 0o644)
	update(t, durable.Open(path), put("secret")) // closes what another program opened
	for name, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, path: 0o600, path + ".lock": 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v, error %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestUpdateFollowsLinks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"links", "real"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link, second := filepath.Join(root, "links", "store"), filepath.Join(root, "links", "second")
	if err := os.Symlink(filepath.Join("..", "real", "store"), link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := os.Symlink(link, second); err != nil {
		t.Fatal(err)
	}
	update(t, durable.Open(second), put("through links to nothing"))
	update(t, durable.Open(link), func(old []byte) ([]byte, error) { return append(old, ", then to a file"...), nil })

	holds(t, durable.Open(second), "through links to nothing, then to a file")
	// One lock for all names, and the links are still links.
	left(t, filepath.Join(root, "real"), "store", "store.lock")
	left(t, filepath.Join(root, "links"), "second", "store")
}

func TestUpdateSweepsWhatKilledWritersLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The last two belong to somebody else.
	for _, name := range []string{
		"store.tmp-1", "store.tmp-987654321", "store.tmp-", "store.tmp-1.txt",
		"store2.tmp-1",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "store.tmp-2"), 0o700); err != nil {
		t.Fatal(err)
	}
	update(t, durable.Open(filepath.Join(dir, "store")), put("whole"))

	left(t, dir, "store", "store.lock", "store.tmp-", "store.tmp-1.txt", "store.tmp-2", "store2.tmp-1")
}

func TestUpdateOnAFailingDisk(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		durable.StepCreate, durable.StepWrite, durable.StepSync, durable.StepClose, durable.StepRename,
		durable.StepSyncDir,
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "store")
			update(t, durable.Open(path), put("old"))

			f := durable.Open(path)
			reached := false
			durable.Intercept(f, func(at string) error {
				if at == step {
					reached = true
					return syscall.EIO
				}
				return nil
			})
			if err := f.Update(t.Context(), put("new")); !errors.Is(err, syscall.EIO) || !reached {
				t.Errorf("got %v, reached %t", err, reached)
			}
			want := "old"
			if step == durable.StepSyncDir { // after the rename
				want = "new"
			}
			holds(t, f, want)
			left(t, dir, "store", "store.lock")
			update(t, durable.Open(path), put("next")) // the lock is free
			holds(t, f, "next")
		})
	}
}

func TestUpdateTakesEveryStepInOrder(t *testing.T) {
	t.Parallel()
	f := durable.Open(filepath.Join(t.TempDir(), "new", "store"))
	var got []string
	durable.Intercept(f, func(step string) error { got = append(got, step); return nil })
	update(t, f, put("x"))
	want := []string{
		durable.StepSyncDir, // of the parent, which has a new directory
		durable.StepCreate, durable.StepWrite, durable.StepSync, durable.StepClose, durable.StepRename,
		durable.StepSyncDir,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestUpdateFreesTheLockWhenFnPanics(t *testing.T) {
	t.Parallel()
	f := openTemp(t)
	func() {
		defer func() { _ = recover() }()
		_ = f.Update(t.Context(), func([]byte) ([]byte, error) { panic("fn") })
		t.Error("the panic was swallowed")
	}()
	update(t, f, put("x"))
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	holder := durable.Open(path)
	held, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(release)
	wg.Go(func() {
		if err := holder.Update(t.Context(), func([]byte) ([]byte, error) {
			close(held)
			<-release
			return []byte("held"), nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-held

	for name, f := range map[string]*durable.File{
		"behind a goroutine":       holder,
		"behind another lock file": durable.Open(path),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Update(ctx, put("stolen")) }()
		select {
		case err := <-done:
			t.Errorf("%s: did not wait: %v", name, err)
		case <-time.After(20 * time.Millisecond): // it has had time to begin to wait
		}
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want %v", name, err, context.Canceled)
			}
		case <-time.After(guard):
			t.Fatalf("%s: the wait outlived its context", name)
		}
	}

	// A reader waits for nobody, unless it is late itself.
	if _, err := durable.Open(path).Read(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading during an update: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := holder.Read(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("reading with an ended context: %v", err)
	}
	if err := holder.Update(ended, put("stolen")); !errors.Is(err, context.Canceled) {
		t.Errorf("updating with an ended context: %v", err)
	}
}

func TestReadersNeverSeeAMixture(t *testing.T) {
	t.Parallel()
	f := openTemp(t)
	contents := []string{string(bytes.Repeat([]byte("a"), 1<<16)), string(bytes.Repeat([]byte("b"), 1<<10))}
	update(t, f, put(contents[0]))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				b, err := f.Read(t.Context())
				if err != nil || string(b) != contents[0] && string(b) != contents[1] {
					t.Errorf("read %d bytes, error %v", len(b), err)
					return
				}
			}
		})
	}
	for i := range 50 {
		update(t, f, put(contents[i%2]))
	}
	close(done)
	wg.Wait()
}

func TestGoroutinesLoseNoUpdate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	shared := durable.Open(path)
	var wg sync.WaitGroup
	for i := range 8 {
		f := shared
		if i%2 == 0 {
			f = durable.Open(path) // as good as another process
		}
		wg.Go(func() {
			for range 25 {
				if err := f.Update(t.Context(), increment); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	holds(t, shared, "200")
}
