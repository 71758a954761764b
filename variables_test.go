package fastio_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table of the README has every environment variable that a program of this repository
// reads, and the programs that read it.
func TestReadmeListsTheVariables(t *testing.T) {
	t.Parallel()
	read := map[string][]string{"RCLONE_FASTIO_": {"rclone-fastio"}} // which rclone reads
	keyless := []string{}
	literal := regexp.MustCompile(`"(FASTIO_[A-Z_]*)"`)
	for _, dir := range []string{".", "cmd/*", "relay/cmd/*", "examples/*", "examples/guides/*", "examples/relay/guide"} {
		for _, program := range glob(t, dir) {
			reader := filepath.Base(program)
			if program == "." {
				reader = "fastio.FromEnv"
			}
			sources := sourcesOf(t, program)
			for _, m := range literal.FindAllStringSubmatch(sources, -1) {
				read[m[1]] = append(read[m[1]], reader)
			}
			if strings.HasPrefix(program, "examples/") && sources != "" && !strings.Contains(sources, "fastio.FromEnv(") {
				keyless = append(keyless, "`"+reader+"`")
			}
		}
	}
	listed := map[string][]string{}
	row := regexp.MustCompile("(?m)^\\| (`[A-Z_]*FASTIO_.*`) \\| .* \\| (.*) \\|$")
	but := "all but " + strings.Join(keyless[:len(keyless)-1], ", ") + " and " + keyless[len(keyless)-1]
	for _, m := range row.FindAllStringSubmatch(readFile(t, "README.md"), -1) {
		for _, name := range regexp.MustCompile("[A-Z_]{3,}").FindAllString(m[1], -1) {
			if strings.Contains(m[2], "all but") && !strings.Contains(m[2], but) {
				t.Errorf("the README says %q of %s, want %q", m[2], name, but)
			}
			for _, reader := range regexp.MustCompile("`([a-z][A-Za-z.-]*)`").FindAllStringSubmatch(strings.ReplaceAll(m[2], but, ""), -1) {
				listed[name] = append(listed[name], reader[1])
			}
		}
	}
	for _, readers := range []map[string][]string{read, listed} {
		for name := range readers {
			slices.Sort(readers[name])
			readers[name] = slices.Compact(readers[name])
		}
	}
	if diff := cmp.Diff(read, listed); diff != "" {
		t.Errorf("(-read +listed)\n%s", diff)
	}
}

// glob returns the paths that match a pattern.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sourcesOf returns the Go files of a program, without its tests and what it shows on an
// emulator; "" for a directory without a program.
func sourcesOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range glob(t, filepath.Join(dir, "*.go")) {
		if !strings.HasSuffix(name, "_test.go") && filepath.Base(name) != "demo.go" {
			b.WriteString(readFile(t, name))
		}
	}
	return b.String()
}
