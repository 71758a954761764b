package fastio_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"regexp"
	"testing"
)

// Whole programs of common tasks stay short, and need no type of their own. Lines are those
// of gofmt, without comments, blank lines and flags.
func TestProgramsOfTasksAreShort(t *testing.T) {
	t.Parallel()
	for file, most := range map[string]int{
		"examples/nightly/main.go":             45,  // the events of a workspace in a file, over kills
		"oauth/example_live_test.go":           70,  // a desktop login, live changes, a mention
		"examples/guides/testing/main.go":      38,  // a program to test
		"examples/guides/testing/main_test.go": 74,  // its tests: a failure, a rate limit, a replay, a fake
		"shares/example_folder_test.go":        63,  // a shared folder with a password and a guest
		"ai/example_agent_test.go":             51,  // ask the agent, stop it, list the conversations
		"search/example_facts_test.go":         63,  // search, metadata, a conflict
		"examples/transfer/main.go":            56,  // a large file up and down, over kills
		"audit/example_team_test.go":           100, // an organization with a team, an audit, a removal
		"relay/example_replicas_test.go":       111, // three replicas of 30 logs, and the loss of one
		"storage/example_edit_test.go":         64,  // read the text of a file, lock it, replace it
		"system/example_call_test.go":          36,  // an endpoint without a method
	} {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := printer.Fprint(&text, fset, parsed); err != nil {
			t.Fatal(err)
		}
		lines := len(regexp.MustCompile(`(?m)^.*\S.*$`).FindAll(text.Bytes(), -1))
		flags := len(regexp.MustCompile(`(?m)^.*(\bflag\.|"flag").*$`).FindAll(text.Bytes(), -1))
		if lines-flags > most {
			t.Errorf("%s has %d lines, want at most %d", file, lines-flags, most)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				t.Errorf("%s has a type of its own: %s", file, spec.Name)
			}
			return true
		})
		t.Logf("%3d of %3d  %s", lines-flags, most, file)
	}
}
