//go:build unix

package uploads_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/uploads"
)

// Links lead to files of the folder only, and nothing else than files is opened.
func TestDirFollowsNoLinksOutOfTheFolder(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	local := t.TempDir()
	for name, content := range map[string]string{
		filepath.Join(outside, "secret"): "secret", filepath.Join(local, "a.txt"): "a",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Mkdir(filepath.Join(local, "sub"), 0o700),
		os.Symlink("../a.txt", filepath.Join(local, "sub", "inside")),
		os.Symlink(filepath.Join(outside, "secret"), filepath.Join(local, "absolute")),
		os.Symlink("../"+filepath.Base(outside)+"/secret", filepath.Join(local, "relative")),
		os.Symlink(outside, filepath.Join(local, "folder")),
		os.Symlink("sub", filepath.Join(local, "cycle")),
		os.Symlink("loop", filepath.Join(local, "loop")),
		os.Symlink("missing", filepath.Join(local, "dangling")),
		syscall.Mkfifo(filepath.Join(local, "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	server := fastiotest.New()
	client := server.Client(t)
	to := uploads.Target{Profile: api.Workspace(api.ID(server.AddWorkspace(seed.Workspace{Name: "Design"}).ID))}
	result, err := client.Uploads.Dir(t.Context(), to, local, nil)
	skipped := "skipped: neither a file nor a folder"
	want := map[string]string{
		"a.txt": "done", "sub/inside": "done", "absolute": skipped, "relative": skipped, "folder": skipped, "cycle": skipped,
		"loop": skipped, "dangling": skipped, "pipe": skipped,
	}
	if diff := cmp.Diff(want, stub.States(result)); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}
