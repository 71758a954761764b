package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/durable"
)

func TestIsPartial(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".a.txt.abcdefghijkl.fastio-partial": true, ".x.zzzzzzzzzzzz.fastio-partial": true,
		"": false, ".fastio-partial": false, "a.txt.fastio-partial": false, ".a.txt.fastio-partial": false,
		".a.txt.abcdefghijk.fastio-partial": false, ".a.txtabcdefghijkl.fastio-partial": false,
		".a.txt.abcdefghijk1.fastio-partial": false, ".a.txt.ABCDEFGHIJKL.fastio-partial": false,
		"a.txt.abcdefghijkl.fastio-partial": false, "..abcdefghijkl.fastio-partial": false,
		".a.txt.abcdefghijkl.fastio-partial.bak": false, ".a.txt.123.partial": false, ".fastio.123.partial": false,
	} {
		if got := durable.IsPartial(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func openRoot(t *testing.T, path string) *os.Root {
	t.Helper()
	dir, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

func openPartial(t *testing.T, dir *os.Root, file, key string) *durable.Partial {
	t.Helper()
	p, err := durable.OpenPartial(dir, file, key)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// keep leaves a partial with a content.
func keep(t *testing.T, dir *os.Root, file, key, content string) (name string) {
	t.Helper()
	p := openPartial(t, dir, file, key)
	_, err := p.WriteString(content)
	if err = errors.Join(err, p.Keep()); err != nil {
		t.Fatal(err)
	}
	all, err := durable.Partials(dir)
	if err != nil || len(all) == 0 {
		t.Fatalf("%q, %v", all, err)
	}
	return all[len(all)-1]
}

func TestPartialIsContinued(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openRoot(t, path)
	if err := os.WriteFile(filepath.Join(path, "a.txt"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	name := keep(t, dir, "a.txt", "1", "half ")
	if !strings.HasPrefix(name, ".a.txt.") || !durable.IsPartial(name) {
		t.Errorf("it is called %q", name)
	}
	p := openPartial(t, dir, "a.txt", "1")
	b, err := io.ReadAll(p)
	_, e := p.WriteString("whole")
	if err = errors.Join(err, e, p.Commit()); err != nil || string(b) != "half " {
		t.Errorf("got %q, %v", b, err)
	}
	left(t, path, "a.txt")
	info, err := dir.Stat("a.txt")
	b, _ = dir.ReadFile("a.txt")
	if string(b) != "half whole" || err != nil || info.Mode() != 0o600 {
		t.Errorf("the file holds %q, mode %v, %v", b, info.Mode(), err)
	}
	if err := openPartial(t, dir, "a.txt", "1").Keep(); err != nil {
		t.Error(err)
	}
	left(t, path, "a.txt") // an empty one is not kept
}

func TestPartialIsLocked(t *testing.T) {
	t.Parallel()
	dir := openRoot(t, t.TempDir())
	first := openPartial(t, dir, "a.txt", "1")
	if _, err := durable.OpenPartial(dir, "a.txt", "1"); !errors.Is(err, durable.ErrInUse) {
		t.Errorf("got %v", err)
	}
	second := openPartial(t, dir, "a.txt", "2") // another version
	all, err := durable.Partials(dir)
	if err != nil || len(all) != 2 {
		t.Fatalf("%q, %v", all, err)
	}
	if err := second.RemoveOthers(all); !errors.Is(err, durable.ErrInUse) {
		t.Errorf("got %v", err)
	}
	if err := durable.RemovePartials(dir, "a.txt", all); !errors.Is(err, durable.ErrInUse) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(second.Remove(), first.Commit()); err != nil {
		t.Error(err)
	}
	if err := openPartial(t, dir, "a.txt", "1").Remove(); err != nil {
		t.Error(err)
	}
}

// Only what is called like a partial of the file is removed.
func TestOtherPartialsAreRemoved(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openRoot(t, path)
	own := []string{
		".a..abcdefghijkl.fastio-partial", ".a.abcdefghijk.fastio-partial", ".a.abcdefghijklm.fastio-partial",
		".a.b.abcdefghijkl.fastio-partial", ".a.txt", ".ab.abcdefghijkl.fastio-partial", "a.abcdefghijkl.fastio-partial",
	}
	for _, name := range append([]string{".a.abcdefghijkl.fastio-partial", ".a.zzzzzzzzzzzz.fastio-partial"}, own...) {
		if err := dir.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.Mkdir(".a.directoryxyz.fastio-partial", 0o700); err != nil {
		t.Fatal(err)
	}
	own = append(own, ".a.directoryxyz.fastio-partial")
	if dir.Symlink(".a.txt", ".a.linkedfilexy.fastio-partial") == nil {
		own = append(own, ".a.linkedfilexy.fastio-partial")
	}
	p := openPartial(t, dir, "a", "1")
	all, err := durable.Partials(dir)
	if err = errors.Join(err, p.RemoveOthers(all), p.Remove()); err != nil {
		t.Error(err)
	}
	slices.Sort(own)
	left(t, path, own...)
}

// What another program put in the place of a partial is neither read nor written.
func TestPartialIsNoLink(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openRoot(t, path)
	name := keep(t, dir, "a.txt", "1", "half")
	for kind, plant := range map[string]func() error{
		"a symbolic link": func() error { return dir.Symlink("own.txt", name) },
		"a hard link":     func() error { return dir.Link("own.txt", name) },
		"a directory":     func() error { return dir.Mkdir(name, 0o700) },
	} {
		if err := errors.Join(dir.Remove(name), dir.WriteFile("own.txt", []byte("own"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := plant(); err != nil {
			t.Skip("no links here:", err)
		}
		p, err := durable.OpenPartial(dir, "a.txt", "1")
		if err == nil {
			_, err = p.WriteString("half of theirs")
			err = errors.Join(err, p.Keep())
		} else if _, refused := errors.AsType[*durable.FileError](err); refused {
			err = nil
		}
		if b, _ := dir.ReadFile("own.txt"); err != nil || string(b) != "own" {
			t.Errorf("%s: own.txt holds %q, %v", kind, b, err)
		}
	}
}

// A partial whose name was taken from it does not become the file.
func TestReplacedPartialIsNotCommitted(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openRoot(t, path)
	name := keep(t, dir, "a.txt", "1", "half")
	p := openPartial(t, dir, "a.txt", "1")
	if err := errors.Join(dir.Remove(name), dir.WriteFile(name, []byte("theirs"), 0o600)); err != nil {
		t.Skip("open files are not replaced here:", err)
	}
	if err := p.Commit(); err == nil {
		t.Error("it was committed")
	}
	left(t, path)
}

// The name of a partial is a legal one for every legal name of a file.
func TestPartialsOfLongNames(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		strings.Repeat("x", 255), strings.Repeat("é", 127), strings.Repeat("x", 226), strings.Repeat("x", 227),
		"x" + strings.Repeat("𝕏", 63),
	} {
		path := t.TempDir()
		dir := openRoot(t, path)
		other := file[:len(file)-1] + "y"
		if !strings.HasSuffix(file, "x") {
			other = "y" + file[1:]
		}
		partials := []string{keep(t, dir, file, "1", "1"), keep(t, dir, file, "2", "2"), keep(t, dir, other, "1", "1")}
		for _, name := range partials {
			if len(name) > 255 || !durable.IsPartial(name) {
				t.Errorf("%d bytes: %q", len(name), name)
			}
		}
		p := openPartial(t, dir, file, "1")
		all, err := durable.Partials(dir)
		if err = errors.Join(err, p.RemoveOthers(all), p.Commit()); err != nil || len(all) != 3 {
			t.Errorf("%d partials, %v", len(all), err)
		}
		all, _ = durable.Partials(dir)
		if diff := cmp.Diff([]string{file}, slices.DeleteFunc(names(t, path), durable.IsPartial)); diff != "" ||
			len(all) != 1 {
			t.Errorf("%d partials of the other file (-want +got)\n%s", len(all), diff)
		}
	}
}
