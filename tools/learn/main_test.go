package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	table = "area\toperation\tmethod\tpath\tauth\tencoding\treplay\tpaging\tsource\tnote\n" +
		"a\ta.Get\tGET\t/a/\tnone\t-\tsafe\t-\tA\t\n" +
		"a\ta.List\tGET\t/b/\tnone\t-\tsafe\t-\tA\t\n" +
		"a\ta.ListMore\tGET\t/c/\tnone\t-\tsafe\t-\tS\tbeyond; method = a.List\n"
	list  = "a.Get response: id name\na.List request: q\na.List response: kind owner\n"
	found = `{"header": {"platform": "fast.io"}, "operations": {
		"GET /a/": {"operation": "a.Get", "assumed_path": "confirmed", "assumed_names": {"confirmed": ["id", "name"]}},
		"GET /b/": {"operation": "a.List", "assumed_path": "refuted", "assumed_names": {"refuted": ["owner"]}},
		"GET /c/": {"operation": "a.ListMore", "assumed_names": {"confirmed": ["kind", "owner"]}, "differences": [
			{"kind": "unknown", "type": "a.Row", "member": "owner_id"},
			{"kind": "unknown", "type": "a.Row", "member": "*"},
			{"kind": "value", "type": "a.Row", "member": "kind", "got": "new_kind"},
			{"kind": "value", "type": "a.Row", "member": "kind", "got": "a value of 7 characters, which is not shown"},
			{"kind": "shape", "type": "a.Row", "member": "size", "want": "number", "got": "string"},
			{"kind": "status", "form": "unknown ID", "want": "404", "got": "410"}]}}}`
)

// repository writes the lists and a report.
func repository(t *testing.T) (root, report string) {
	t.Helper()
	root = t.TempDir()
	facts := filepath.Join(root, "internal", "facts")
	if err := os.MkdirAll(facts, 0o700); err != nil {
		t.Fatal(err)
	}
	report = filepath.Join(root, "report.json")
	for name, text := range map[string]string{
		filepath.Join(facts, "endpoints.tsv"): table, filepath.Join(facts, "assumed-names.txt"): list, report: found,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root, report
}

func readFact(t *testing.T, root, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "internal", "facts", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLearnPrintsWhatToChange(t *testing.T) {
	t.Parallel()
	root, report := repository(t)
	var out strings.Builder
	if err := learn(&out, root, report, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"the path is right", "the platform has no such path", "id is no longer assumed", "owner has another name",
		"add a field for owner_id", "add the value new_kind", "has a member whose name is not shown",
		"has a value of 7 characters",
		"is string, not number", "410, not 404",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, out.String())
		}
	}
	if readFact(t, root, "endpoints.tsv") != table || readFact(t, root, "assumed-names.txt") != list {
		t.Error("without -w it has written")
	}
}

func TestLearnRewritesTheLists(t *testing.T) {
	t.Parallel()
	root, report := repository(t)
	if err := learn(new(strings.Builder), root, report, true); err != nil {
		t.Fatal(err)
	}
	if got, want := readFact(t, root, "endpoints.tsv"), strings.Replace(table, "\tA\t", "\tW\t", 1); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
	// owner is confirmed by one path and refuted by another
	if got, want := readFact(t, root, "assumed-names.txt"), "a.List request: q\na.List response: owner\n"; got != want {
		t.Errorf("the list is\n%s\nwant\n%s", got, want)
	}
}

// An emulator confirms what the SDK assumes, and proves nothing.
func TestLearnRewritesNothingForOtherPlatforms(t *testing.T) {
	t.Parallel()
	root, report := repository(t)
	text := strings.Replace(found, "fast.io", "another address", 1)
	if err := os.WriteFile(report, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := learn(new(strings.Builder), root, report, true); err == nil {
		t.Error("the report is accepted")
	}
	if readFact(t, root, "endpoints.tsv") != table || readFact(t, root, "assumed-names.txt") != list {
		t.Error("the lists are rewritten")
	}
}

func TestLearnRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	root, _ := repository(t)
	other := filepath.Join(root, "internal", "facts", "endpoints.tsv")
	if err := learn(new(strings.Builder), root, other, true); err == nil {
		t.Error("a table is no report")
	}
}
