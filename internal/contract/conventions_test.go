package contract_test

import (
	"go/ast"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The tests of this file read the sources and check the conventions that neither
// the compiler nor a linter knows. CONTRIBUTING.md gives the reasons.

// TestMethods checks the arguments of all methods, and that each endpoint has a
// method whose comment ends with its path.
func TestMethods(t *testing.T) {
	t.Parallel()
	exempt := map[string]string{
		"fastio.Client.Call":     "takes a whole request, options included",
		"fastio.Client.Open":     "takes a whole request, options included",
		"fastio.Client.Markdown": "takes a whole request, options included",
		"events.Service.Walk":    "sends nothing: the Walk it returns takes the context, each time it is ranged over",
	}
	rows, done := rows(t, false), map[string]bool{}
	for _, p := range load(t) {
		for _, m := range p.methods() {
			if name := p.name + "." + m.name; exempt[name] == "" {
				p.checkArguments(t, m)
			} else {
				delete(exempt, name)
			}
			if strings.Contains(m.decl.Doc.Text(), "It calls ") {
				done[m.operation] = true
				p.checkCall(t, m, rows)
			}
		}
	}
	for name := range exempt {
		t.Errorf("%s is exempt, and does not exist", name)
	}
	for _, r := range rows {
		if slices.ContainsFunc(r.methods(), func(operation string) bool { return !done[operation] }) {
			t.Errorf("%s must either have a method, or be in testdata/endpoints-open.txt", r.key())
		}
	}
}

// checkArguments requires a context first and call options last of every method
// that can fail or takes call options. One that returns an iterator fails later.
func (p *pkg) checkArguments(t *testing.T, m method) {
	t.Helper()
	const options = "...api.CallOption"
	params, results := types(m.decl.Type.Params), types(m.decl.Type.Results)
	fails := slices.ContainsFunc(results, func(r string) bool { return r == "error" || strings.HasPrefix(r, "iter.") })
	if !fails && !slices.Contains(params, options) {
		return
	}
	if len(params) < 2 || params[0] != "context.Context" || params[len(params)-1] != options {
		t.Errorf("%s: %s must take ctx context.Context first, opts %s last", p.position(m.decl), m.name, options)
	}
}

func (p *pkg) checkCall(t *testing.T, m method, rows []row) {
	t.Helper()
	var want []string
	for _, r := range rows {
		if slices.Contains(r.methods(), m.operation) {
			want = append(want, "It calls "+r.method+" "+r.path+".")
		}
	}
	doc := strings.Split(strings.TrimSpace(m.decl.Doc.Text()), "\n")
	first := slices.IndexFunc(doc, func(line string) bool { return strings.HasPrefix(line, "It calls ") })
	if !slices.Equal(slices.Sorted(slices.Values(doc[first:])), slices.Sorted(slices.Values(want))) {
		t.Errorf("%s: the comment of %s must end with\n\t%s", p.position(m.decl), m.name, strings.Join(want, "\n\t"))
	}
}

func TestEveryAreaHasAnExample(t *testing.T) {
	t.Parallel()
	example := func(fn *ast.FuncDecl) bool { return fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example") }
	for _, p := range load(t) {
		if p.area() != "" && !slices.ContainsFunc(functions(p.tests...), example) {
			t.Errorf("%s has no Example", p.dir)
		}
	}
}

func TestNamesDoNotRepeatThePackage(t *testing.T) {
	t.Parallel()
	for _, p := range load(t) {
		for _, id := range p.exported() {
			n := len(p.name)
			if len(id.Name) > n && strings.EqualFold(id.Name[:n], p.name) && !unicode.IsLower(rune(id.Name[n])) {
				t.Errorf("%s: %s.%s repeats %s", p.position(id), p.name, id.Name, p.name)
			}
		}
	}
}

// A result beside the members of the envelope must not have members that hide them.
func TestResultsFitTheEnvelope(t *testing.T) {
	t.Parallel()
	for _, p := range load(t) {
		var check func(result ast.Expr)
		check = func(result ast.Expr) {
			if id, ok := result.(*ast.Ident); ok {
				if spec := p.typeSpec(id.Name); spec != nil {
					check(spec.Type)
				}
			}
			s, ok := result.(*ast.StructType)
			for i := 0; ok && i < len(s.Fields.List); i++ {
				tag := "``"
				if s.Fields.List[i].Tag != nil {
					tag = s.Fields.List[i].Tag.Value
				}
				switch tag := reflect.StructTag(strings.Trim(tag, "`")).Get("json"); {
				case tag == "result", tag == "response":
					t.Errorf("%s: the member %q is the envelope's", p.position(s.Fields.List[i]), tag)
				case tag == "", strings.Contains(tag, ",embed"):
					check(s.Fields.List[i].Type)
				}
			}
		}
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				c, ok := n.(*ast.CallExpr)
				if ok && (exprString(c.Fun) == "call.One" && exprString(c.Args[3]) == `""` ||
					exprString(c.Fun) == "call.Page") {
					check(c.Fun.(*ast.IndexExpr).Index)
				}
				return true
			})
		}
	}
}

// What is not done is not started, or is in the list of open endpoints.
func TestNothingIsLeftForLater(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	for _, name := range sources(t) {
		for i, line := range strings.Split(readFile(t, name), "\n") {
			if word := words.FindString(line); word != "" {
				t.Errorf("%s:%d: %s", name, i+1, word)
			}
		}
	}
}
