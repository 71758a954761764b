package emulator_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each code stands for one refusal, and its comment says if it is invented. None is a
// label of the documents' table of errors, which the platform never sends as a code.
func TestCodesDifferAndAreNoLabels(t *testing.T) {
	t.Parallel()
	codes, labels := map[string]string{}, []string{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		doc := "" // of the declaration
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GenDecl:
				doc = n.Doc.Text()
			case *ast.BasicLit:
				if v, err := strconv.Atoi(n.Value); err == nil && v >= 1600 && v < 1800 {
					labels = append(labels, path+" "+n.Value)
				}
			case *ast.ValueSpec:
				name := n.Names[0].Name
				if value, isLiteral := literal(n); isLiteral && strings.HasPrefix(strings.ToLower(name), "code") {
					if codes[value] != "" {
						t.Errorf("%s: %s is %s, as is %s", path, name, value, codes[value])
					}
					codes[value] = name
					said := strings.Contains(doc+n.Comment.Text(), "invented")
					if strings.HasPrefix(value, "199") && !said {
						t.Errorf("%s: the comment of %s does not say that it is invented", path, name)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil || len(codes) < 150 {
		t.Errorf("%d codes, %v", len(codes), err)
	}
	// The error_code of an entry of a batch is one in the documents' sample.
	if diff := cmp.Diff([]string{"uploads/batch.go 1605"}, labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// literal returns the integer that a constant is defined as.
func literal(v *ast.ValueSpec) (value string, isLiteral bool) {
	if len(v.Values) != 1 {
		return "", false
	}
	l, isLiteral := v.Values[0].(*ast.BasicLit)
	if !isLiteral || l.Kind != token.INT {
		return "", false
	}
	return l.Value, true
}
