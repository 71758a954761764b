package emulator_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The codes of the platform that the emulator sends: those of its documents, and those that
// were measured.
func platformCodes() map[int]bool {
	known := map[int]bool{}
	for _, code := range []int{
		9667, 9992, 10001, 10003, 10008, 10011, 10022, 10023, 10175, 10368, 10522, 10545, 10571, 10587, 10754,
		10756, 10760, 10767, 10768, 10769, 10770, 10778, 10779, 107184, 109184, 115069, 115519, 117053, 119701,
		127022, 128636, 130987, 133123, 135626, 139420, 142794, 143705, 144499, 144657, 144711, 145858, 147185,
		147196, 148135, 149351, 150183, 153548, 153795, 158008, 162417, 164797, 166910, 168116, 179101, 179390,
		179646, 180242, 183836, 187907, 191049, 191878, 196136, 196420, 205516, 207092, 207321, 261844, 274701,
	} {
		known[code] = true
	}
	return known
}

// Each code stands for one refusal. It is one of the platform or of 190000 to 199999, and
// then its comment says that it is invented. None is a label of the documents' table of
// errors, which the platform never sends as a code.
func TestCodesDifferAndAreNoLabels(t *testing.T) {
	t.Parallel()
	codes, labels, unused := map[int]string{}, []string{}, platformCodes()
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
				if v, err := strconv.Atoi(n.Value); err == nil && isLabel(v) {
					labels = append(labels, path+" "+n.Value)
				}
			case *ast.ValueSpec:
				name := n.Names[0].Name
				if value, isLiteral := literal(n); isLiteral && strings.HasPrefix(strings.ToLower(name), "code") {
					if codes[value] != "" {
						t.Errorf("%s: %s is %d, as is %s", path, name, value, codes[value])
					}
					codes[value] = name
					said := strings.Contains(doc+n.Comment.Text(), "invented")
					switch invented := value >= 190000 && value <= 199999; {
					case isLabel(value): // below
					case unused[value]:
						delete(unused, value)
					case !invented || !said:
						t.Errorf("%s: %s, %d, is no code of the platform: must be 190000 to 199999, and be said to be invented",
							path, name, value)
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
	if len(unused) > 0 {
		t.Errorf("the emulator does not send %v", slices.Sorted(maps.Keys(unused)))
	}
	// The error_code of an entry of a batch is one in the documents' sample.
	if diff := cmp.Diff([]string{"uploads/batch.go 1605"}, labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func isLabel(value int) bool { return value >= 1600 && value < 1800 }

// literal returns the integer that a constant is defined as.
func literal(v *ast.ValueSpec) (value int, isLiteral bool) {
	if len(v.Values) != 1 {
		return 0, false
	}
	l, isLiteral := v.Values[0].(*ast.BasicLit)
	if !isLiteral || l.Kind != token.INT {
		return 0, false
	}
	value, err := strconv.Atoi(l.Value)
	return value, err == nil
}
