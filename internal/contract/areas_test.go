package contract_test

import (
	"fmt"
	"go/ast"
	"os"
	"strings"
	"testing"
)

const readmeFile = root + "/README.md"

// The README has a table of the areas: the fields of the Client, what their
// comments say, and how many endpoints each has by testdata/endpoints.tsv. It is
// written here, by -update.
func TestReadmeAreas(t *testing.T) { //nolint:paralleltest // may write the README
	const begin, end = "<!-- areas -->\n", "<!-- end of areas -->\n"
	readme := readFile(t, readmeFile)
	before, rest, opened := strings.Cut(readme, begin)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("README.md has no table of areas between %q and %q", begin, end)
	}
	want := before + begin + areasTable(t) + end + after
	if want == readme {
		return
	}
	if !*update {
		t.Fatal("README.md has an old table of areas: go test ./internal/contract -run TestReadmeAreas -update")
	}
	if err := os.WriteFile(readmeFile, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

func areasTable(t *testing.T) string {
	t.Helper()
	covered, total := map[string]int{}, 0
	for _, row := range rows(t, false) {
		area, _, _ := strings.Cut(row.operation, ".")
		covered[area]++
		total++
	}
	var b strings.Builder
	line := func(field, about string, n int) { fmt.Fprintf(&b, "| %s | %s | %d |\n", field, about, n) }
	b.WriteString("| Where | What | Endpoints |\n|---|---|---:|\n")
	line("`client`", "whether the platform is up, and what it says about itself", covered["system"])
	delete(covered, "system")
	client := load(t)[0].typeSpec("Client") // of the root, which is sorted first
	for _, f := range client.Type.(*ast.StructType).Fields.List {
		if len(f.Names) == 1 && f.Names[0].IsExported() {
			area := strings.TrimSuffix(strings.TrimPrefix(exprString(f.Type), "*"), ".Service")
			line("`client."+f.Names[0].Name+"`", strings.TrimSpace(f.Comment.Text()), covered[area])
			delete(covered, area)
		}
	}
	if len(covered) > 0 {
		t.Errorf("the Client has no field for %v", covered)
	}
	line("", "in all", total)
	return b.String()
}
