//go:build unix

package durable_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/internal/table"
)

// A path that is not a regular file of modest size is rejected at once.
func TestReadRejectsIrregularAndLargeFiles(t *testing.T) {
	t.Parallel()
	type row struct {
		create func(path string) error
		want   string
	}
	table.Each(t, map[string]row{
		"a named pipe": {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
		"a directory":  {func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		"a device":     {func(path string) error { return os.Symlink("/dev/zero", path) }, "not a regular file"},
		"a sparse file": {func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 6<<30))
		}, "larger than 64 MiB"},
	}, func(t *testing.T, tc row) {
		path := filepath.Join(t.TempDir(), "store")
		if err := tc.create(path); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), guard)
		defer cancel()
		f := durable.Open(path)
		_, read := f.Read(ctx)
		edit := f.Update(ctx, func([]byte) ([]byte, error) { t.Error("fn was called"); return nil, nil })
		for _, err := range []error{read, edit} {
			if refused, ok := errors.AsType[*durable.FileError](err); !ok ||
				!strings.Contains(refused.Reason, tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		}
	})
}

func TestReadRequiresTheAccess(t *testing.T) {
	t.Parallel()
	const otherUser = 65534
	type row struct {
		access  durable.Access
		mode    fs.FileMode
		foreign bool
		refused string
		after   fs.FileMode // the mode
		other   bool        // the content is not ours
	}
	table.Each(t, map[string]row{
		"any, readable by all":         {durable.AnyAccess, 0o644, false, "", 0o644, false},
		"any, of another user":         {durable.AnyAccess, 0o644, true, "", 0o644, false},
		"owned, readable by all":       {durable.OwnedAccess, 0o666, false, "", 0o600, false},
		"owned, but not ours":          {durable.OwnedAccess, 0o666, false, "", 0o666, true},
		"owned, read-only":             {durable.OwnedAccess, 0o440, false, "", 0o400, false},
		"owned, of another user":       {durable.OwnedAccess, 0o600, true, "another user (uid 65534", 0o600, false},
		"private":                      {durable.PrivateAccess, 0o400, false, "", 0o400, false},
		"private, readable by all":     {durable.PrivateAccess, 0o644, false, "(mode 0644)", 0o644, false},
		"private, writable by a group": {durable.PrivateAccess, 0o620, false, "(mode 0620)", 0o620, false},
		"private, of another user":     {durable.PrivateAccess, 0o600, true, "another user (uid 65534", 0o600, false},
	}, func(t *testing.T, tc row) {
		path := filepath.Join(t.TempDir(), "store")
		content := "content"
		if tc.other {
			content = "else"
		}
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, tc.mode)); err != nil {
			t.Fatal(err)
		}
		if tc.foreign {
			if os.Geteuid() != 0 {
				t.Skip("only root gives files away")
			}
			_ = os.Chown(path, otherUser, otherUser)
		}
		ours := func(b []byte) bool { return string(b) == "content" }
		b, err := durable.Open(path).Restrict(tc.access, ours).Read(t.Context())
		refused, ok := errors.AsType[*durable.FileError](err)
		if ok != (tc.refused != "") || ok && !strings.Contains(refused.Reason, tc.refused) || !ok &&
			string(b) != content {
			t.Errorf("got %q, %v", b, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != tc.after {
			t.Errorf("the mode is %v, error %v, want %v", info.Mode(), err, tc.after)
		}
	})
}

// Another user who may create files beside ours must not choose what we read and write.
func TestLinksOfOtherUsersAreRejected(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives links away")
	}
	for _, access := range []durable.Access{durable.OwnedAccess, durable.PrivateAccess} {
		for _, below := range []string{"store", "dir/store"} { // the link is to the file, or to its directory
			root := t.TempDir()
			path, to := filepath.Join(root, below), filepath.Join(root, "planted")
			link := filepath.Join(root, strings.Split(below, "/")[0])
			if err := errors.Join(os.Symlink(to, link), os.Lchown(link, 65534, -1)); err != nil {
				t.Fatal(err)
			}
			err := durable.Open(path).Restrict(access, nil).Update(t.Context(), put("secret"))
			_, missing := os.Stat(to)
			if refused, ok := errors.AsType[*durable.FileError](err); !ok || refused.Path != link || missing == nil {
				t.Errorf("%s: got %v, and the target has the state %v", below, err, missing)
			}
			if err := os.WriteFile(to, []byte("precious"), 0o644); err != nil {
				t.Fatal(err)
			}
			if below == "store" {
				b, err := durable.Open(path).Restrict(access, nil).Read(t.Context())
				if _, ok := errors.AsType[*durable.FileError](err); !ok {
					t.Errorf("read %q, %v", b, err)
				}
			}
		}
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "private")
	path := filepath.Join(dir, "store")
	update(t, durable.Open(path), put("secret"))
	_ = os.Chmod(path, 0o644)
	update(t, durable.Open(path), put("secret")) // removes the temporary file of another program
	for name, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, path: 0o600, path + ".lock": 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v, error %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestUpdateRejectsLinkCycle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	if err := errors.Join(os.Symlink(path, path), durable.Open(path).Update(t.Context(), put("lost"))); err == nil {
		t.Error("wrote through a link to itself")
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path, link := filepath.Join(root, "store"), filepath.Join(root, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	update(t, durable.Open(path), put("content"))
	for range 2 { // the second finds nothing to remove
		if err := durable.Open(link).Remove(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := durable.Open(path).Read(t.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("reading the removed file: %v", err)
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*durable.FileError](durable.Open(path).Remove(t.Context())); !ok {
		t.Error("a directory was removed")
	}
}

func TestLocksOfOtherNamesAreIndependent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	f := durable.Open(path)
	lock := func(f *durable.File, name string) (func(), error) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		return f.Lock(ctx, name)
	}
	unlock, err := f.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	update(t, f, put("edited by the holder"))
	update(t, durable.Open(path), put("edited by another"))
	if other, err := f.Lock(t.Context(), "b"); err != nil {
		t.Errorf("another name: %v", err)
	} else {
		other()
	}
	files := map[string]*durable.File{"the same file": f, "another opening of it": durable.Open(path)}
	for name, f := range files {
		if _, err := lock(f, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for range 2 {
		unlock()
	}
	for name, f := range files {
		next, err := f.Lock(t.Context(), "a")
		if err != nil {
			t.Errorf("%s, unlocked: %v", name, err)
			continue
		}
		unlock() // which is not the lock of the next
		if _, err := lock(f, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s, unlocked twice: %v", name, err)
		}
		next()
	}
}
