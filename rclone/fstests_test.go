package rclone_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fstest/fstests"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	fastio "github.com/fastio-go/fastio/rclone"
)

// remoteRoot is the environment variable with the root of the remote that a process tests.
const remoteRoot = "FASTIO_TEST_REMOTE_ROOT"

// skipped are the tests that rclone skips with a workspace, and why.
var skipped = map[string]string{
	"FsCheckWrap":                                   "the backend wraps no other one",
	"FsRootCannotChangeHost":                        "paths of the backend are no URLs",
	"FsMkdir/FsOpenWriterAt":                        "the platform has no writes at an offset",
	"FsMkdir/FsPutFiles/FsNewObjectCaseInsensitive": "names differ by case",
	"FsMkdir/FsPutFiles/FsCopy/Metadata":            "the platform stores no metadata of rclone",
	"FsMkdir/FsPutFiles/FsMove/Metadata":            "the platform stores no metadata of rclone",
	"FsMkdir/FsPutFiles/ObjectMetadata":             "the platform stores no metadata of rclone",
	"FsMkdir/FsPutFiles/ObjectSetMetadata":          "the platform stores no metadata of rclone",
	"FsMkdir/FsPutFiles/SetTier":                    "the platform has no tiers of storage",
	"FsMkdir/FsPutFiles/ObjectCheckWrap":            "the backend wraps no other one",
	"FsMkdir/FsPutFiles/Bucket":                     "the platform has folders and no buckets",
	"FsMkdir/FsPutFiles/Internal":                   "the tests of the backend are in this package",
	"FsMkdir/FsCopyChunked":                         "a copy is one call, whatever the size",
	"FsMkdir/FsDirSetModTime":                       "the platform has no call that sets times",
	"FsMkdir/FsMkdirMetadata":                       "the platform stores no metadata of rclone",
	"FsMkdir/FsDirectory":                           "folders have no metadata, and times that cannot be set",
}

// skippedInShares are those that it skips with a share besides.
var skippedInShares = map[string]string{
	"FsMkdir/FsPutFiles/PublicLink": "only files of workspaces have links",
}

// The tests that rclone has for every backend pass with a workspace and with a share, and
// skip what is listed here. Each remote has a process, because rclone has one
// configuration a process, and because the tests wait most of the time.
func TestBackend(t *testing.T) {
	t.Parallel()
	root := os.Getenv(remoteRoot)
	if root != "" {
		testBackend(t, root)
		return
	}
	inShares := maps.Clone(skipped)
	maps.Copy(inShares, skippedInShares)
	for root, want := range map[string]map[string]string{"design": skipped, "shares/portal": inShares} {
		t.Run(root, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestBackend$", "-test.v")
			cmd.Env, cmd.Dir = append(os.Environ(), remoteRoot+"="+root), t.TempDir()
			// The tests look there for the scripts that start servers of other backends.
			if err = os.MkdirAll(filepath.Join(cmd.Dir, "fstest", "testserver", "init.d"), 0o700); err != nil {
				t.Fatal(err)
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			wantSkipped(t, string(out), want)
		})
	}
}

var skip = regexp.MustCompile(`--- SKIP: TestBackend/(\S+)`)

// wantSkipped requires that a log of tests has skipped those, and no others.
func wantSkipped(t *testing.T, log string, want map[string]string) {
	t.Helper()
	found := map[string]bool{}
	for _, match := range skip.FindAllStringSubmatch(log, -1) {
		found[match[1]] = true
		if want[match[1]] == "" {
			t.Errorf("%s is skipped for no known reason", match[1])
		}
	}
	for name, reason := range want {
		if !found[name] {
			t.Errorf("%s is not skipped, in spite of its reason: %s", name, reason)
		}
	}
}

// testBackend runs the tests of rclone with a remote of a workspace or share.
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
