package fastio_test

import (
	"os"
	"strings"
	"testing"
)

// Every Go snippet of the README stands in a file that is compiled and run.
func TestReadmeSnippetsAreCompiled(t *testing.T) {
	t.Parallel()
	var compiled []string
	for _, file := range []string{"example_test.go", "examples/hello/main.go"} {
		compiled = append(compiled, unindented(read(t, file)))
	}
	snippets := strings.Split(read(t, "README.md"), "```go\n")[1:]
	const fewest = 8
	if len(snippets) < fewest {
		t.Fatalf("found %d snippets, want %d or more", len(snippets), fewest)
	}
	for _, s := range snippets {
		s, _, _ = strings.Cut(s, "```")
		found := false
		for _, c := range compiled {
			found = found || strings.Contains(c, unindented(s))
		}
		if !found {
			t.Errorf("this snippet is compiled nowhere:\n%s", s)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// unindented drops what stands before each line.
func unindented(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}
