package conformance_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// vitest returns the program that runs the tests of the guide in TypeScript.
func vitest(t *testing.T) (path string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("peer", "node_modules", "vitest", "vitest.mjs"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err == nil {
		return path
	}
	const sentence = "This test needs vitest: run make conformance on a machine with npm."
	if _, err := exec.LookPath("npm"); err == nil {
		t.Fatal(sentence)
	}
	missing(t, sentence)
	return ""
}

// The tests in TypeScript of docs/emulator.md pass as they are there, with the command that
// they start.
func TestGuideTypeScript(t *testing.T) {
	t.Parallel()
	program := vitest(t)
	modules := filepath.Dir(filepath.Dir(program))
	dir := guide(t, "ts workspaces.test.ts")
	if err := os.Symlink(modules, filepath.Join(dir, filepath.Base(modules))); err != nil {
		t.Fatal(err)
	}
	runGuide(t, dir, node(t), program, "run")
}

// Those in Python pass, too.
func TestGuidePython(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("pytest")
	if err != nil {
		missing(t, "This test needs pytest.")
	}
	runGuide(t, guide(t, "python conftest.py", "python test_workspaces.py"), program, "-q", "-p", "no:cacheprovider")
}

// guide returns a directory with blocks of docs/emulator.md, and with the command of the
// emulator.
func guide(t *testing.T, blocks ...string) (dir string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/emulator.md")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, block := range blocks {
		_, rest, found := strings.Cut(string(page), "```"+block+"\n")
		text, _, ends := strings.Cut(rest, "```\n")
		if !found || !ends {
			t.Fatalf("docs/emulator.md has no block %s", block)
		}
		_, name, _ := strings.Cut(block, " ")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "github.com/fastio-go/fastio/cmd/fastio-emulator")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// runGuide runs the two tests in a directory.
func runGuide(t *testing.T, dir, program string, arguments ...string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), program, arguments...)
	run.Dir = dir
	run.Env = append(os.Environ(), "NO_COLOR=1", "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 passed") {
		t.Errorf("%v\n%s", err, out)
	}
}
