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
	guide, err := os.ReadFile("../../docs/emulator.md")
	if err != nil {
		t.Fatal(err)
	}
	const name = "workspaces.test.ts"
	_, rest, found := strings.Cut(string(guide), "```ts "+name+"\n")
	tests, _, ends := strings.Cut(rest, "```\n")
	if !found || !ends {
		t.Fatalf("docs/emulator.md has no block %s", name)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(tests), 0o600); err != nil {
		t.Fatal(err)
	}
	modules := filepath.Dir(filepath.Dir(program))
	if err := os.Symlink(modules, filepath.Join(dir, filepath.Base(modules))); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "github.com/fastio-go/fastio/cmd/fastio-emulator")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := exec.CommandContext(t.Context(), node(t), program, "run")
	run.Dir = dir
	run.Env = append(os.Environ(), "NO_COLOR=1", "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 passed") {
		t.Errorf("%v\n%s", err, out)
	}
}
