package contract_test

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The tests of this file check conventions in the sources that neither the
// compiler nor a linter checks. CONTRIBUTING.md gives the reasons.

// TestMethods checks the arguments of all methods, and that each endpoint has a
// method whose comment ends with its path.
func TestMethods(t *testing.T) {
	t.Parallel()
	exempt := map[string]string{
		"events.Service.Walk":    "sends nothing: the Walk it returns takes the context, each time it is ranged over",
		"events.Service.Stepper": "sends nothing: its methods take the context",
	}
	rows, done := rows(t), map[string]bool{}
	for _, p := range load(t) {
		for _, m := range p.methods() {
			if name := p.name + "." + m.name; exempt[name] == "" {
				p.checkArguments(t, m)
			} else {
				delete(exempt, name)
			}
			if strings.Contains("\n"+m.decl.Doc.Text(), "\nIt calls ") {
				done[m.operation] = true
				p.checkCall(t, m, rows)
			}
		}
	}
	for name := range exempt {
		t.Errorf("%s is exempt but does not exist", name)
	}
	for _, r := range rows {
		if slices.ContainsFunc(r.methods(), func(operation string) bool { return !done[operation] }) {
			t.Errorf("%s must have a method", r.key())
		}
	}
}

// checkArguments requires that every method that can fail or has call options
// takes a context first and call options last. An iterator fails later.
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

// A result that stands beside the members of the envelope must not have members
// of the same names.
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
				if ok && (exprString(c.Fun) == "call.Payload" || exprString(c.Fun) == "call.Page") {
					check(c.Fun.(*ast.IndexExpr).Index)
				}
				return true
			})
		}
	}
}

// Sources hold no reminders: unfinished work is in the list of open endpoints.
func TestSourcesHaveNoTODO(t *testing.T) {
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

// Every constructor of a request is called: a method that uses that of another method would
// put the name of that one into its errors and its hooks.
func TestEveryConstructorIsCalled(t *testing.T) {
	t.Parallel()
	const dir = "internal/endpoint"
	called := map[string]bool{}
	var constructors []string
	for _, p := range load(t) {
		if p.dir == dir {
			for _, fn := range functions(p.files...) {
				if fn.Name.IsExported() {
					constructors = append(constructors, fn.Name.Name)
				}
			}
			continue
		}
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && exprString(s.X) == "endpoint" {
					called[s.Sel.Name] = true
				}
				return true
			})
		}
	}
	if constructors == nil {
		t.Fatal("no constructors in " + dir)
	}
	for _, name := range constructors {
		if !called[name] {
			t.Errorf("no method calls endpoint.%s", name)
		}
	}
}

// The arguments of a path have the names of the constructor's parameters, which errors
// show. A person and a secret are checked before, by the name of the parameter.
func TestPathArgumentsHaveTheNamesInErrors(t *testing.T) {
	t.Parallel()
	names := map[string][]param{}
	packages := load(t)
	for _, p := range packages {
		if p.dir == "internal/endpoint" {
			for _, fn := range functions(p.files...) {
				names[fn.Name.Name] = params(fn)
			}
		}
	}
	checked := 0
	for _, p := range packages {
		for _, fn := range functions(p.files...) {
			calls(fn, "endpoint", func(constructor string, args []ast.Expr) {
				for i, want := range names[constructor] {
					got := args[i]
					if c, ok := got.(*ast.CallExpr); ok && len(c.Args) == 1 { // a conversion
						got = c.Args[0]
					}
					of := slices.IndexFunc(params(fn), func(p param) bool { return p.name == exprString(got) })
					if of < 0 || params(fn)[of].kind == "api.Person" || want.kind == "api.Body" || want.kind == "url.Values" {
						continue
					}
					checked++
					if exprString(got) != want.name {
						t.Errorf("%s: %s passes %s to endpoint.%s as %s", p.dir, fn.Name.Name, exprString(got), constructor, want.name)
					}
				}
			})
		}
	}
	if checked < 200 {
		t.Errorf("only %d arguments were found", checked)
	}
}

type param struct{ name, kind string }

// params returns the parameters of a function.
func params(fn *ast.FuncDecl) (all []param) {
	for _, f := range fn.Type.Params.List {
		for _, name := range f.Names {
			all = append(all, param{name.Name, exprString(f.Type)})
		}
	}
	return all
}

// calls visits each call of a function of a package.
func calls(fn *ast.FuncDecl, pkg string, visit func(name string, args []ast.Expr)) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && exprString(s.X) == pkg {
				visit(s.Sel.Name, c.Args)
			}
		}
		return true
	})
}

const callsFile = root + "/docs/guides/calls.md"

// The guide of calls has a table of the areas: the fields of the Client, their
// comments. Every endpoint belongs to one of them. With -update the test writes
// it.
func TestAreasOfTheGuide(t *testing.T) { //nolint:paralleltest // may write the guide
	const begin, end = "<!-- areas -->\n", "<!-- end of areas -->\n"
	guide := readFile(t, callsFile)
	before, rest, opened := strings.Cut(guide, begin)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("the guide has no table of areas between %q and %q", begin, end)
	}
	want := before + begin + areasTable(t) + end + after
	if want == guide {
		return
	}
	if !*update {
		t.Fatal("docs/guides/calls.md has an old table of areas: go test ./internal/contract -run TestAreasOfTheGuide " +
			"-update")
	}
	if err := os.WriteFile(callsFile, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadmeCountsTheEndpoints(t *testing.T) {
	t.Parallel()
	if count := fmt.Sprintf("The %d endpoints ", len(rows(t))); !strings.Contains(readFile(t, root+"/README.md"), count) {
		t.Errorf("README.md does not say %q", count)
	}
}

func areasTable(t *testing.T) string {
	t.Helper()
	left := map[string]bool{} // the areas of endpoints
	for _, row := range rows(t) {
		area, _, _ := strings.Cut(row.operation, ".")
		left[area] = true
	}
	var b strings.Builder
	line := func(field, about string) { fmt.Fprintf(&b, "| %s | %s |\n", field, about) }
	b.WriteString("| Where | What |\n|---|---|\n")
	client := load(t)[0].typeSpec("Client") // of the root, which is sorted first
	for _, f := range client.Type.(*ast.StructType).Fields.List {
		if len(f.Names) == 1 && f.Names[0].IsExported() {
			area := strings.TrimSuffix(strings.TrimPrefix(exprString(f.Type), "*"), ".Service")
			line("`client."+f.Names[0].Name+"`", strings.TrimSpace(f.Comment.Text()))
			delete(left, area)
		}
	}
	if len(left) > 0 {
		t.Errorf("the Client has no field for %v", slices.Sorted(maps.Keys(left)))
	}
	return b.String()
}
