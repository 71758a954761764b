package fastio_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every command of every module has a test, or a target of the Makefile, that runs its main job.
func TestCommandsRunTheirMainJob(t *testing.T) {
	t.Parallel()
	jobs := map[string]string{
		"cmd/fastio-check":          "TestRunWritesReports", // compares a platform with the SDK
		"cmd/fastio-emulator":       "TestGuideCurl",        // serves the platform to other programs
		"cmd/fastio-emulator/gen":   "make generate-check",  // writes the lines of -h
		"examples/admin":            "TestAdminRunsWithoutConfiguration",
		"examples/chat":             "TestChatRunsWithoutConfiguration",
		"examples/desktop":          "TestDesktopRunsWithoutConfiguration",
		"examples/guides/agent":     "Example",
		"examples/guides/files":     "Example",
		"examples/guides/nightly":   "Example",
		"examples/guides/sharing":   "Example",
		"examples/guides/signin":    "Example",
		"examples/guides/testing":   "TestReport",
		"examples/hello":            "TestHello",
		"examples/login":            "TestLogin",
		"examples/metadata":         "Example",
		"examples/nightly":          "TestNightlyRunsWithoutConfiguration",
		"examples/portal":           "TestPortalRunsWithoutConfiguration",
		"examples/quickstart":       "TestQuickstartRunsWithoutConfiguration",
		"examples/relay":            "TestReplicasTakeOver", // starts, kills and replaces replicas
		"examples/relay/guide":      "Example",
		"examples/saas":             "TestCustomersConnectAndDisconnect",
		"examples/send":             "TestSendRunsWithoutConfiguration",
		"examples/transfer":         "TestTransferContinuesAfterKill",
		"examples/watch":            "TestDemo",
		"internal/callpath":         "make callpath",       // is measured
		"internal/drift/gen":        "make generate-check", // writes the table of constants
		"internal/endpoint/gen":     "make generate-check", // writes the constructors of requests
		"internal/pages":            "make generate-check", // writes the code blocks and the reference
		"otelfastio/examples/guide": "Example",
		"rclone/cmd/rclone-fastio":  "TestSyncsWithFaultsEndClean", // copies, syncs and mounts
		"relay/cmd/fastio-relay":    "TestRelayFollowsAndShows",    // keeps events in a stream
		"tools/api":                 "make api",                    // finds removed declarations
		"tools/callpath":            "make callpath",               // lists the functions of a call
		"tools/learn":               "TestLearnRewritesTheLists",
		"tools/mutants":             "make mutants",  // renames names on the wire
		"tools/release/licences":    "make licences", // knows the licence of each module
		"tools/size":                "make size",     // counts lines
		"tools/vet":                 "make vet",      // checks the rules of this project
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(jobs)), commands(t)); diff != "" {
		t.Errorf("(-listed +found)\n%s", diff)
	}
	makefile := readFile(t, "Makefile")
	for dir, job := range jobs {
		if target, ok := strings.CutPrefix(job, "make "); ok {
			if !strings.Contains(makefile, "\n"+target+":") {
				t.Errorf("%s: the Makefile has no target %s", dir, target)
			}
			continue
		}
		hasJob := func(file string) bool { return strings.Contains(readFile(t, file), "\nfunc "+job+"(") }
		if !slices.ContainsFunc(glob(t, filepath.Join(dir, "*_test.go")), hasJob) {
			t.Errorf("%s has no %s", dir, job)
		}
	}
}

// commands returns the directories with a package main, in all modules.
func commands(t *testing.T) []string {
	t.Helper()
	main := regexp.MustCompile(`(?m)^package main$`)
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"testdata", "node_modules", ".bin", ".git"}, entry.Name()):
			return filepath.SkipDir
		case filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err == nil && main.Match(text) {
			found[filepath.ToSlash(filepath.Dir(name))] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found))
}
