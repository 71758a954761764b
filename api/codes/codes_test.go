package codes_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/api/codes"
)

// A code of six digits may be reassigned: only those that a document prints have a
// constant, in a group whose comment says so. No code is a label of the documents' table of
// errors, and each says what to do or what it means.
func TestCodesLastOrAreDocumented(t *testing.T) {
	t.Parallel()
	documented := "117053 121168 127022 144499 145858 147185 152339 163750 180242 183836 188243 195614"
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range group.Specs {
			spec, ok := s.(*ast.ValueSpec)
			if !ok {
				continue
			}
			name, literal := spec.Names[0].Name, spec.Values[0].(*ast.BasicLit).Value
			value, err := strconv.Atoi(literal)
			long := value >= 100_000
			switch {
			case err != nil || value < 9000:
				t.Errorf("%s: %s is no code", name, literal)
			case named[literal] != "":
				t.Errorf("%s is %s, as is %s", name, literal, named[literal])
			case long && !strings.Contains(documented, literal):
				t.Errorf("%s: no document prints %s", name, literal)
			case long != strings.Contains(group.Doc.Text(), "may reassign"):
				t.Errorf("%s: the comment of the group must say whether the code may be reassigned", name)
			case spec.Comment.Text() == "" && group.Lparen.IsValid():
				t.Errorf("%s has no comment", name)
			}
			named[literal] = name
		}
	}
	for literal := range strings.FieldsSeq(documented) {
		if named[literal] == "" {
			t.Errorf("%s is documented and has no constant", literal)
		}
	}
}

func TestOutOfScope(t *testing.T) {
	t.Parallel()
	for code, want := range map[int64]bool{
		10560: true, 10757: true, codes.NoAccess: false, codes.ScopeAdmin: false, codes.DeadToken: false, 0: false,
	} {
		if codes.OutOfScope(code) != want {
			t.Errorf("%d: got %t", code, !want)
		}
	}
}
