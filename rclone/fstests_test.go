package rclone_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/config"
	"github.com/rclone/rclone/fstest/fstests"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	fastio "github.com/fastio-go/fastio/rclone"
)

func TestBackendOfAWorkspace(t *testing.T) { //nolint:paralleltest // rclone has one configuration
	testBackend(t, "design")
}

func TestBackendOfAShare(t *testing.T) { //nolint:paralleltest // as above
	testBackend(t, "shares/portal")
}

// testBackend runs the tests that rclone has for every backend. It skips those of
//
//   - backends that wrap others or are buckets: FsCheckWrap, ObjectCheckWrap, Bucket;
//   - what the platform has not: FsOpenWriterAt (writes at an offset), SetTier, metadata of
//     files and folders (six tests), FsDirSetModTime and FsDirectory (times of folders),
//     FsNewObjectCaseInsensitive (names differ by case), FsCopyChunked (a copy is one call);
//   - what this backend has not: FsRootCannotChangeHost (its paths are no URLs), Internal;
//   - links to files of a share: PublicLink.
func testBackend(t *testing.T, root string) {
	t.Helper()
	server := fastiotest.New(func(o *seed.Options) {
		o.Uploads.Pace, o.Storage.IndexPace = -1, -1
		o.Limits.Rules = []seed.Limit{}
	})
	room := server.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	server.AddShare(seed.Share{
		Title: "Portal", CustomName: "portal", Type: "exchange", Creator: server.User().ID, Workspace: room.ID,
	})
	dir, path := t.TempDir(), config.GetConfigPath()
	t.Chdir(dir)
	t.Cleanup(func() { _ = config.SetConfigPath(path) })
	// The tests look for the scripts that start servers of other backends.
	err := errors.Join(
		config.SetConfigPath(filepath.Join(dir, "rclone.conf")),
		os.MkdirAll(filepath.Join(dir, "fstest", "testserver", "init.d"), 0o700),
	)
	if err != nil {
		t.Fatal(err)
	}
	name := "Test" + strings.ReplaceAll(root, "/", "")
	fstests.Run(t, &fstests.Opt{
		RemoteName: name + ":" + root, NilObject: (*fastio.Object)(nil),
		ChunkedUpload: fstests.ChunkedUploadConfig{MinChunkSize: fs.Mebi},
		ExtraConfig: []fstests.ExtraConfigItem{
			{Name: name, Key: "type", Value: "fastio"},
			{Name: name, Key: "url", Value: server.Start(t)},
			{Name: name, Key: "api_key", Value: server.Token()},
		},
	})
}
