package durable_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/internal/table"
)

// guard is the time after which a test considers a step stuck.
const guard = 30 * time.Second

func TestMain(m *testing.M) {
	if path := os.Getenv(pathEnv); path != "" {
		if err := writer(path, os.Getenv(stepEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func put(s string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(s), nil }
}

func add(s string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) { return append(old, s...), nil }
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

// left requires that a directory holds exactly the named files.
func left(t *testing.T, dir string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("left in %s (-want +got):\n%s", filepath.Base(dir), diff)
	}
}

// holds requires that a file has the given content.
func holds(t *testing.T, f *durable.File, want string) {
	t.Helper()
	if got, err := f.Read(t.Context()); err != nil || string(got) != want {
		t.Errorf("the file holds %q, %v, want %q", got, err, want)
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
	update(t, f, add(" two"))
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

func TestEditSavesSeveralTimes(t *testing.T) {
	t.Parallel()
	f := openTemp(t)
	refused := errors.New("refused")
	ctx, cancel := context.WithCancel(t.Context())
	err := f.Edit(ctx, func(old []byte, save func([]byte) error) error {
		if old != nil {
			t.Errorf("a file that was never written holds %q", old)
		}
		for _, content := range []string{"one", "", "three"} {
			if err := save([]byte(content)); err != nil {
				t.Error(err)
			}
			holds(t, f, content)
			cancel()
		}
		return refused
	})
	if err != refused { //nolint:errorlint // the error itself is promised
		t.Errorf("got %v, want fn's own error", err)
	}
	holds(t, f, "three")
}

// replacement returns the steps of one replacement in order.
func replacement() []string {
	return []string{
		durable.StepCreate, durable.StepWrite, durable.StepSync, durable.StepClose, durable.StepRename,
		durable.StepSyncDir,
	}
}

// A failed write does not undo the previous one or prevent the next.
func TestFailingDisk(t *testing.T) {
	t.Parallel()
	for _, step := range replacement() {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "new")
			f := durable.Open(filepath.Join(dir, "store"))
			var steps []string
			fails := false
			durable.Intercept(f, func(at string) error {
				steps = append(steps, at)
				if at == step && fails {
					return syscall.EIO
				}
				return nil
			})
			update(t, f, put("one"))
			want := append([]string{durable.StepSyncDir}, replacement()...) // of the parent of the new directory
			if diff := cmp.Diff(want, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			fails = true
			if err := f.Update(t.Context(), put("two")); !errors.Is(err, syscall.EIO) {
				t.Errorf("got %v", err)
			}
			content := "one"
			if step == durable.StepSyncDir { // after the rename
				content = "two"
			}
			holds(t, f, content)
			left(t, dir, "store", "store.lock")
			if err := f.Edit(t.Context(), func(old []byte, save func([]byte) error) error {
				if err := save(append(old, " three"...)); !errors.Is(err, syscall.EIO) {
					t.Errorf("got %v", err)
				}
				fails = false
				return save(append(old, " four"...))
			}); err != nil {
				t.Error(err)
			}
			holds(t, f, content+" four")
			left(t, dir, "store", "store.lock")
		})
	}
}

// All names of a file share one lock, and links are kept. Missing directories
// behind links are created.
func TestUpdateFollowsLinks(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string]map[string]string{ // links and their targets, where "/" is the root
		"a link to a file":               {"store": "missing/deeper/file"},
		"a link to a directory":          {"dir": "missing/deeper"},
		"a link to a link":               {"dir": "next", "next": "missing/deeper"},
		"an absolute link to one":        {"store": "/next", "next": "missing/deeper/file"},
		"a link in a linked one":         {"dir": "missing/deeper", "store": "dir/file"},
		"a link to a directory above it": {"dir": "missing", "missing/store": "../missing/deeper/file"},
	}, func(t *testing.T, links map[string]string) {
		root := t.TempDir()
		path := filepath.Join(root, "dir", "file")
		for from, to := range links {
			if strings.HasPrefix(to, "/") {
				to = filepath.Join(root, to)
			}
			from := filepath.Join(root, filepath.FromSlash(from))
			if strings.HasSuffix(from, "store") {
				path = from
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(from), 0o700), os.Symlink(to, from)); err != nil {
				t.Skip("no symbolic links here:", err)
			}
			defer func() {
				if kept, err := os.Readlink(from); kept != to {
					t.Errorf("%s leads to %s, %v", from, kept, err)
				}
			}()
		}
		dir := filepath.Join(root, "missing", "deeper")
		update(t, durable.Open(path), put("one"))
		update(t, durable.Open(filepath.Join(dir, "file")), add(" two"))
		update(t, durable.Open(path), add(" three"))
		holds(t, durable.Open(path), "one two three")
		left(t, dir, "file", "file.lock")
	})
}

func TestUpdateRemovesFilesOfKilledWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	others := []string{"store.tmp-", "store.tmp-1.txt", "store.tmp-2", "store2.tmp-1"}
	if err := os.Mkdir(filepath.Join(dir, "store.tmp-2"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"store.tmp-1", "store.tmp-987654321"}, others...) {
		_ = os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600)
	}
	update(t, durable.Open(filepath.Join(dir, "store")), put("whole"))
	left(t, dir, slices.Concat([]string{"store", "store.lock"}, others)...)
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
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	update(t, holder, func([]byte) ([]byte, error) {
		for name, f := range map[string]*durable.File{
			"behind a goroutine": holder, "behind another lock file": durable.Open(path),
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			if err := f.Update(ctx, put("stolen")); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want %v", name, err, context.Canceled)
			}
		}
		if _, err := durable.Open(path).Read(t.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("reading during an update: %v", err)
		}
		return []byte("held"), nil
	})
	_, err := durable.Open(path + "-missing").Read(ended)
	for _, err := range []error{err, holder.Update(ended, put("stolen"))} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v", err)
		}
	}
	holds(t, holder, "held")
}

// Readers see whole documents while goroutines replace them.
func TestGoroutinesLoseNoUpdate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	shared := durable.Open(path)
	update(t, shared, increment)
	var writers, readers sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	updates := table.Rounds(8, 25)
	for i := range 8 {
		f := shared
		if i%2 == 0 {
			f = durable.Open(path) // like another process
		}
		writers.Go(func() {
			for range updates {
				if err := f.Update(t.Context(), increment); err != nil {
					t.Error(err)
				}
			}
		})
		readers.Go(func() {
			for ctx.Err() == nil {
				doc, err := f.Read(context.WithoutCancel(ctx))
				if _, corrupt := parse(doc); err != nil || corrupt != nil {
					t.Errorf("read %v, %v", err, corrupt)
					return
				}
			}
		})
	}
	writers.Wait()
	cancel()
	readers.Wait()
	holds(t, shared, string(document(1+8*updates)))
}
