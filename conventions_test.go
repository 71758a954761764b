package fastio_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// The tests of this file read our own sources and hold the conventions that no
// linter knows. CONTRIBUTING.md gives the reasons.

// exempt lists exported methods that may break the rule about their arguments:
// context first, call options last.
var exempt = map[string]string{
	"fastio.Client.Call":  "takes a whole request, options included",
	"fastio.Client.Open":  "takes a whole request, options included",
	"events.Service.Walk": "sends nothing: the Walk it returns takes the context, each time it is ranged over",
}

func TestMethods(t *testing.T) {
	t.Parallel()
	open := openEndpoints(t)
	rows := endpoints(t)
	implemented := slices.DeleteFunc(slices.Clone(rows), func(r endpoint) bool { return open[r.key()] })
	checked := map[string]bool{}
	exempted := 0
	for _, p := range load(t) {
		area := p.area()
		if area == "" {
			continue
		}
		done := map[string]bool{}
		for _, m := range p.methods() {
			p.checkArguments(t, m)
			if exempt[p.name+"."+m.name] != "" {
				exempted++
			}
			if !m.isCall() {
				continue
			}
			done[m.operation] = true
			p.checkCall(t, m, implemented)
		}
		for _, r := range rows {
			called := !slices.ContainsFunc(r.calls(), func(operation string) bool { return !done[operation] })
			if r.area == area && !r.removed() && !called && !open[r.key()] {
				t.Errorf("%s: %s must either have a method or stand in testdata/endpoints-open.txt", p.dir, r.key())
			}
		}
		maps.Copy(checked, done)
	}
	if _, err := os.Stat("events"); err == nil && len(checked) == 0 {
		t.Error("no method was checked")
	}
	if exempted != len(exempt) {
		t.Errorf("%d methods are exempt, and %d of them exist", len(exempt), exempted)
	}
	t.Logf("%d methods checked", len(checked))
}

func TestOpenEndpointsAreRows(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, r := range endpoints(t) {
		known[r.key()] = !r.removed()
	}
	for key := range openEndpoints(t) {
		if !known[key] {
			t.Errorf("testdata/endpoints-open.txt: %s is not in endpoints.tsv", key)
		}
	}
}

func TestEveryAreaHasAnExample(t *testing.T) {
	t.Parallel()
	for _, p := range load(t) {
		if p.area() == "" {
			continue
		}
		found := false
		for _, f := range p.tests {
			for _, fn := range functions(f) {
				found = found || fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example")
			}
		}
		if !found {
			t.Errorf("%s has no Example", p.dir)
		}
	}
}

func TestNamesDoNotRepeatThePackage(t *testing.T) {
	t.Parallel()
	for _, p := range load(t) {
		for _, f := range p.files {
			for _, id := range exported(f) {
				rest, ok := cutPrefixFold(id.Name, p.name)
				if ok && rest != "" && !unicode.IsLower(rune(rest[0])) {
					t.Errorf("%s: %s.%s says %s twice", p.position(id), p.name, id.Name, p.name)
				}
			}
		}
	}
}

// A result lies inside the envelope, whose members it must not hide, and is
// decoded by its fields alone.
func TestResultsFitTheEnvelope(t *testing.T) {
	t.Parallel()
	packages := load(t)
	for _, p := range packages {
		for _, f := range p.files {
			for result := range results(f) {
				checkResult(t, packages, p, result)
			}
		}
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, p := range load(t) {
		if inPrograms(p.dir) {
			continue
		}
		for _, f := range slices.Concat(p.files, p.tests) {
			for _, imp := range f.Imports {
				if imp.Path.Value == `"log"` {
					t.Errorf("%s: only programs print: take a *slog.Logger", p.position(imp))
				}
			}
		}
	}
}

// The platform reads no body of a DELETE.
func TestDeletionsSendNoBody(t *testing.T) {
	t.Parallel()
	found := 0
	for _, p := range load(t) {
		if p.area() == "" {
			continue
		}
		for _, f := range p.files {
			for _, fn := range functions(f) {
				if !slices.Contains(selected("http", "Method", fn), "MethodDelete") {
					continue
				}
				found++
				inspect([]ast.Node{fn}, func(n ast.Node) {
					id, ok := n.(*ast.Ident)
					if ok && id.Name == "Body" {
						t.Errorf("%s: %s sends a DELETE with a body", p.position(n), fn.Name.Name)
					}
				})
			}
		}
	}
	if found == 0 {
		t.Error("no function sends a DELETE")
	}
}

// What is not done is not started, or stands where everybody looks for it.
func TestNothingIsLeftForLater(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	for _, name := range sources(t) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(b), "\n") {
			if word := words.FindString(line); word != "" {
				t.Errorf("%s:%d: %s", name, i+1, word)
			}
		}
	}
}

// checkArguments holds every method that can fail, or that takes call options, to
// a context first and call options last. What returns an iterator fails later.
func (p *pkg) checkArguments(t *testing.T, m method) {
	t.Helper()
	const options = "...api.CallOption"
	params, results := types(m.decl.Type.Params), types(m.decl.Type.Results)
	fails := slices.ContainsFunc(results, func(r string) bool { return r == "error" || strings.HasPrefix(r, "iter.") })
	if !fails && !slices.Contains(params, options) && !m.isCall() {
		return
	}
	if _, ok := exempt[p.name+"."+m.name]; ok {
		return
	}
	if len(params) == 0 || params[0] != "context.Context" || !slices.Contains(names(m.decl.Type.Params), "ctx") {
		t.Errorf("%s: %s must take ctx context.Context first", p.position(m.decl), m.name)
	}
	if len(params) == 0 || params[len(params)-1] != options {
		t.Errorf("%s: %s must take opts %s last", p.position(m.decl), m.name, options)
	}
}

// checkCall holds a method to what endpoints.tsv says of its operation.
func (p *pkg) checkCall(t *testing.T, m method, rows []endpoint) {
	t.Helper()
	found := m.operations(p.area(), m.decl)
	if len(found) == 0 {
		found = m.operations(p.area(), m.helpers...)
	}
	if !slices.Equal(found, []string{m.operation}) {
		t.Errorf("%s: %s names the operation %q, want %q", p.position(m.decl), m.name, found, m.operation)
	}
	var lines, methods, paths, replays []string
	for _, r := range rowsOf(m.operation, rows) {
		lines = append(lines, "It calls "+r.method+" "+r.path+".")
		methods = append(methods, "Method"+r.method[:1]+strings.ToLower(r.method[1:]))
		paths = append(paths, r.path)
		replays = append(replays, "Replay"+strings.ToUpper(r.replay[:1])+r.replay[1:])
	}
	if len(lines) == 0 {
		t.Errorf("%s: testdata/endpoints.tsv has no operation %s", p.position(m.decl), m.operation)
		return
	}

	doc := strings.Split(strings.TrimSpace(m.decl.Doc.Text()), "\n")
	got := doc[max(0, len(doc)-len(lines)):]
	if !sameSet(got, lines) || len(doc) > len(lines) && strings.HasPrefix(doc[len(doc)-len(lines)-1], "It calls ") {
		t.Errorf("%s: the comment of %s must end with\n\t%s", p.position(m.decl), m.name, strings.Join(lines, "\n\t"))
	}
	for _, s := range literals(m.all()...) {
		if strings.HasPrefix(s, "/current/") && s != "/current/" && !slices.Contains(paths, s) {
			t.Errorf("%s: %s sends %s, want %s", p.position(m.decl), m.name, s, paths)
		}
	}
	for _, s := range selected("http", "Method", m.all()...) {
		if !slices.Contains(methods, s) {
			t.Errorf("%s: %s sends http.%s, want %s", p.position(m.decl), m.name, s, methods)
		}
	}
	replayed := selected("api", "Replay", m.all()...)
	if len(replayed) == 0 && buildsRequest(m.all()...) {
		replayed = []string{"ReplayOnce"} // the zero value
	}
	for _, s := range replayed {
		if !slices.Contains(replays, s) {
			t.Errorf("%s: %s is marked api.%s, want %s", p.position(m.decl), m.name, s, replays)
		}
	}
}

// checkResult holds the type that a call decodes into: in p, an expression.
func checkResult(t *testing.T, packages []*pkg, p *pkg, result ast.Expr) {
	t.Helper()
	name := ""
	switch e := result.(type) {
	case *ast.StarExpr:
		checkResult(t, packages, p, e.X)
		return
	case *ast.IndexExpr:
		checkResult(t, packages, p, e.X)
		return
	case *ast.SelectorExpr: // a type of another package of ours, or of nobody we can read
		at := slices.IndexFunc(packages, func(q *pkg) bool { return q.name == exprString(e.X) })
		if at >= 0 {
			checkResult(t, packages, packages[at], e.Sel)
		}
		return
	case *ast.Ident:
		name = e.Name
		spec := p.typeSpec(name)
		if spec == nil {
			return // a type parameter, or predeclared
		}
		result = spec.Type
	}
	for _, f := range p.files {
		for _, fn := range functions(f) {
			if fn.Recv != nil && receiver(fn) == name && regexp.MustCompile(`^(Unm|M)arshalJSON(To|From)?$`).MatchString(fn.Name.Name) {
				t.Errorf("%s: %s decodes itself, so the envelope around it is not seen", p.position(fn), name)
			}
		}
	}
	s, ok := result.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range s.Fields.List {
		tag := ""
		if field.Tag != nil {
			unquoted, _ := strconv.Unquote(field.Tag.Value)
			tag = reflect.StructTag(unquoted).Get("json")
		}
		member, options, _ := strings.Cut(tag, ",")
		if len(field.Names) == 0 && member == "" || slices.Contains(strings.Split(options, ","), "embed") {
			checkResult(t, packages, p, field.Type) // its members are ours
			continue
		}
		for _, id := range field.Names {
			if member == "" {
				member = id.Name
			}
		}
		if slices.Contains([]string{"result", "response"}, strings.ToLower(member)) {
			t.Errorf("%s: the member %q belongs to the envelope", p.position(field), member)
		}
	}
}

// results are the T of every call.Do[T], and its kin, in a file.
func results(f *ast.File) map[ast.Expr]bool {
	found := map[ast.Expr]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if e, ok := n.(*ast.IndexExpr); ok && strings.HasPrefix(exprString(e.X), "call.Do") {
			found[e.Index] = true
		}
		return true
	})
	return found
}

// An endpoint is one row of testdata/endpoints.tsv.
type endpoint struct{ area, operation, method, path, auth, encoding, replay, note string }

// key identifies the row in testdata/endpoints-open.txt.
func (e endpoint) key() string { return e.operation + " " + e.method + " " + e.path }

func (e endpoint) removed() bool {
	return slices.ContainsFunc(strings.Split(e.note, "; "), func(s string) bool {
		return s == "removed" || strings.HasPrefix(s, "removed:")
	})
}

// calls are the operations of the methods that call an endpoint: its own, unless
// its note names two, and those that the note says are the same call.
func (e endpoint) calls() []string {
	if named, several := strings.CutPrefix(e.note, "two grants: "); several {
		named, _, _ = strings.Cut(named, ",")
		return strings.Split(named, " and ")
	}
	all := []string{e.operation}
	for _, named := range regexp.MustCompile(`\b([a-z]+(?:\.[A-Z]\w*)+)(?: =| likewise)`).FindAllStringSubmatch(e.note, -1) {
		all = append(all, named[1])
	}
	return all
}

func endpoints(t *testing.T) []endpoint {
	t.Helper()
	var all []endpoint
	for i, line := range lines(t, "testdata/endpoints.tsv") {
		c := strings.Split(line, "\t")
		if len(c) != 9 && len(c) != 10 {
			t.Fatalf("testdata/endpoints.tsv:%d: %d columns", i+1, len(c))
		}
		if i > 0 {
			all = append(all, endpoint{
				area: c[0], operation: c[1], method: c[2], path: c[3], auth: c[4], encoding: c[5], replay: c[6],
				note: strings.Join(c[9:], "\t"), // c[8] names the source
			})
		}
	}
	return all
}

// rowsOf are the rows of an operation or, if it has none of its own, those whose
// notes name it. A note may also name an operation to warn of it.
func rowsOf(operation string, rows []endpoint) []endpoint {
	var own, named []endpoint
	for _, r := range rows {
		switch {
		case r.operation == operation:
			own = append(own, r)
		case r.operation != "" && strings.Contains(r.note, operation):
			named = append(named, r)
		}
	}
	if len(own) > 0 {
		return own
	}
	return named
}

// openEndpoints are the keys of the rows that have no method yet.
func openEndpoints(t *testing.T) map[string]bool {
	t.Helper()
	all := lines(t, "testdata/endpoints-open.txt")
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("testdata/endpoints-open.txt: the lines must be sorted and unique")
	}
	open := map[string]bool{}
	for _, key := range all {
		open[key] = true
	}
	return open
}

func lines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// A pkg is one directory of our sources.
type pkg struct {
	fset  *token.FileSet
	dir   string // slash-separated, "." for the root
	name  string
	files []*ast.File // of the package itself
	tests []*ast.File
}

// load parses every package of this module.
func load(t *testing.T) []*pkg {
	t.Helper()
	fset := token.NewFileSet()
	byDir := map[string]*pkg{}
	for _, name := range sources(t) {
		if path.Ext(name) != ".go" || strings.HasPrefix(name, "examples/") {
			continue
		}
		f, err := parser.ParseFile(fset, filepath.FromSlash(name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &pkg{fset: fset, dir: dir}
		}
		if p := byDir[dir]; strings.HasSuffix(name, "_test.go") {
			p.tests = append(p.tests, f)
		} else {
			p.name, p.files = f.Name.Name, append(p.files, f)
		}
	}
	return slices.SortedFunc(maps.Values(byDir), func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
}

// sources lists the files that somebody wrote, slash-separated.
func sources(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(name)
		if d.IsDir() {
			if slices.Contains([]string{"testdata", "node_modules", ".git", ".bin"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if slices.Contains([]string{".go", ".md", ".sh", ".yml", ".html"}, path.Ext(slash)) || slash == "Makefile" || slash == ".ci/run" {
			all = append(all, slash)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// area is the first word of the package's operations, "" when it has none: the
// areas are the directories that testdata/endpoints.tsv names.
func (p *pkg) area() string {
	if p.dir == "." {
		return "system" // its calls live on the client
	}
	if p.typeSpec("Service") != nil && !strings.Contains(p.dir, "/") {
		return p.name
	}
	return ""
}

func (p *pkg) position(n ast.Node) token.Position { return p.fset.Position(n.Pos()) }

func (p *pkg) typeSpec(name string) *ast.TypeSpec {
	for _, f := range p.files {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				for _, s := range g.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.Name == name {
						return ts
					}
				}
			}
		}
	}
	return nil
}

// A method is an exported method of a service.
type method struct {
	name      string // "Orgs.List"
	operation string // "account.Orgs.List"
	decl      *ast.FuncDecl
	helpers   []ast.Node // the unexported functions that it calls
}

func (m method) all() []ast.Node { return append([]ast.Node{m.decl}, m.helpers...) }

// methods returns the exported methods of the Client, or of the area's Service
// and of the groups that are its fields.
func (p *pkg) methods() []method {
	services := map[string]string{"Service": ""} // type -> what stands between area and method
	if p.dir == "." {
		services = map[string]string{"Client": ""}
	} else {
		p.addGroups(services, "Service")
	}
	var all []method
	for _, f := range p.files {
		for _, fn := range functions(f) {
			group, ok := services[receiver(fn)]
			if fn.Recv != nil && ok && fn.Name.IsExported() {
				all = append(all, method{
					name:      receiver(fn) + "." + fn.Name.Name,
					operation: p.area() + "." + group + fn.Name.Name,
					decl:      fn,
					helpers:   p.helpers(fn),
				})
			}
		}
	}
	return all
}

func (p *pkg) addGroups(services map[string]string, service string) {
	spec := p.typeSpec(service)
	if spec == nil {
		return
	}
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range s.Fields.List {
		group := strings.TrimPrefix(exprString(field.Type), "*")
		for _, id := range field.Names {
			if _, known := services[group]; id.IsExported() && !known && p.typeSpec(group) != nil {
				services[group] = services[service] + id.Name + "."
				p.addGroups(services, group)
			}
		}
	}
}

// helpers are the unexported functions and methods of the package that fn calls
// by name. A method may leave the request to one of them.
func (p *pkg) helpers(fn *ast.FuncDecl) []ast.Node {
	called := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			switch f := c.Fun.(type) {
			case *ast.Ident:
				called["."+f.Name] = true
			case *ast.SelectorExpr:
				if len(fn.Recv.List[0].Names) == 1 && exprString(f.X) == fn.Recv.List[0].Names[0].Name {
					called[receiver(fn)+"."+f.Sel.Name] = true
				}
			}
		}
		return true
	})
	var all []ast.Node
	for _, f := range p.files {
		for _, other := range functions(f) {
			if !other.Name.IsExported() && called[receiver(other)+"."+other.Name.Name] {
				all = append(all, other)
			}
		}
	}
	return all
}

// isCall reports whether the method is an endpoint's, rather than made of others.
func (m method) isCall() bool {
	return strings.Contains(m.decl.Doc.Text(), "It calls ") || buildsRequest(m.decl)
}

// operations are the strings in nodes that look like an operation of area.
func (m method) operations(area string, nodes ...ast.Node) []string {
	shape := regexp.MustCompile(`^` + area + `(\.[A-Z]\w*)+$`)
	var found []string
	for _, s := range literals(nodes...) {
		if shape.MatchString(s) && !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found
}

func buildsRequest(nodes ...ast.Node) bool {
	found := false
	inspect(nodes, func(n ast.Node) {
		lit, ok := n.(*ast.CompositeLit)
		found = found || ok && exprString(lit.Type) == "api.Request"
	})
	return found
}

func literals(nodes ...ast.Node) []string {
	var found []string
	inspect(nodes, func(n ast.Node) {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				found = append(found, s)
			}
		}
	})
	return found
}

// selected are the names that nodes use of a package and that begin with prefix.
func selected(from, prefix string, nodes ...ast.Node) []string {
	var found []string
	inspect(nodes, func(n ast.Node) {
		if s, ok := n.(*ast.SelectorExpr); ok && exprString(s.X) == from && strings.HasPrefix(s.Sel.Name, prefix) {
			found = append(found, s.Sel.Name)
		}
	})
	return found
}

func inspect(nodes []ast.Node, visit func(ast.Node)) {
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if n != nil {
				visit(n)
			}
			return true
		})
	}
}

func functions(f *ast.File) []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			all = append(all, fn)
		}
	}
	return all
}

// receiver is the name of the type that fn is a method of, "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	e := fn.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if generic, ok := e.(*ast.IndexExpr); ok {
		e = generic.X
	}
	return exprString(e)
}

// exported returns what a file adds to the names of its package, and the names
// of the methods of its services.
func exported(f *ast.File) []*ast.Ident {
	var all []*ast.Ident
	add := func(id *ast.Ident) {
		if id.IsExported() {
			all = append(all, id)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || receiver(d) == "Service" {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add(id)
					}
				}
			}
		}
	}
	return all
}

// types spells the types of a parameter list, one for each parameter.
func types(list *ast.FieldList) []string {
	var all []string
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		for range max(1, len(field.Names)) {
			all = append(all, exprString(field.Type))
		}
	}
	return all
}

func names(list *ast.FieldList) []string {
	var all []string
	for _, field := range list.List {
		for _, id := range field.Names {
			all = append(all, id.Name)
		}
	}
	return all
}

// exprString spells a type as far as these tests compare it.
func exprString(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return exprString(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return "*" + exprString(e.X)
	case *ast.Ellipsis:
		return "..." + exprString(e.Elt)
	case *ast.IndexExpr:
		return exprString(e.X)
	case *ast.IndexListExpr:
		return exprString(e.X)
	}
	return ""
}

func cutPrefixFold(s, prefix string) (rest string, found bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

func inPrograms(dir string) bool {
	return slices.ContainsFunc([]string{"cmd/", "examples/", "tools/"}, func(at string) bool { return strings.HasPrefix(dir, at) })
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
