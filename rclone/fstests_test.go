package rclone_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/config"
	"github.com/rclone/rclone/fstest/fstests"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	fastio "github.com/fastio-go/fastio/rclone"
)

// TestBackend runs the tests that rclone has for every backend.
func TestBackend(t *testing.T) {
	server := fastiotest.New(func(o *seed.Options) {
		o.Uploads.Pace, o.Storage.IndexPace = -1, -1
		o.Limits.Rules = []seed.Limit{}
	})
	server.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	dir := t.TempDir()
	t.Chdir(dir)
	// The tests look for the scripts that start servers of other backends.
	err := errors.Join(
		config.SetConfigPath(filepath.Join(dir, "rclone.conf")),
		os.MkdirAll(filepath.Join(dir, "fstest", "testserver", "init.d"), 0o700),
	)
	if err != nil {
		t.Fatal(err)
	}
	const name = "TestFastio"
	fstests.Run(t, &fstests.Opt{
		RemoteName: name + ":design", NilObject: (*fastio.Object)(nil),
		ChunkedUpload: fstests.ChunkedUploadConfig{MinChunkSize: fs.Mebi},
		ExtraConfig: []fstests.ExtraConfigItem{
			{Name: name, Key: "type", Value: "fastio"},
			{Name: name, Key: "url", Value: server.Start(t)},
			{Name: name, Key: "api_key", Value: server.Token()},
		},
	})
}
