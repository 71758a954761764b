package storage_test

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
)

// A disk without room for a file fails that file alone, and leaves nothing of it.
func TestDownloadDirWithoutRoom(t *testing.T) { //nolint:paralleltest // it limits the files of the process
	const most = 1 << 20
	large := strings.Repeat("0123456789abcdef", 2*most/16)
	s := newShelf(t, seed.Node{Content: content})
	s.fill(map[string]string{"a/large.bin": large, "b.txt": "b"})
	local, want := t.TempDir(), map[string]string{"sketch.txt": content, "b.txt": "b"}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	limitFiles(t, most)
	result, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, nil)
	if !errors.Is(err, syscall.EFBIG) || result == nil || result.Done != 2 || result.Failed != 1 {
		t.Fatalf("got %+v, %v", result, err)
	}
	has := contents(t, local)
	delete(has, "a/")
	if diff := cmp.Diff(want, has); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	limitFiles(t, -1)
	want["a/large.bin"] = large
	result, err = s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, nil)
	if diff := cmp.Diff(want, contents(t, local)); err != nil || diff != "" || result.Done != 1 {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// limitFiles sets how large files of the process may become, in bytes; -1 removes the limit.
func limitFiles(t *testing.T, most int64) {
	t.Helper()
	var l syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l)
	l.Cur = uint64(most)
	if most < 0 {
		l.Cur = l.Max
	}
	if err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)); err != nil {
		t.Fatal(err)
	}
}

func TestDownloadDirToReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	s := newShelf(t, seed.Node{Content: content})
	s.fill(map[string]string{"a/b.txt": "b"})
	local := t.TempDir()
	if err := os.Chmod(local, 0o500); err != nil {
		t.Fatal(err)
	}
	result, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, nil)
	if !errors.Is(err, fs.ErrPermission) || len(contents(t, local)) > 0 {
		t.Errorf("got %v, %v", stub.States(result), err)
	}
}
