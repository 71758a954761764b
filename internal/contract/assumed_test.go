package contract_test

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	assumedFile = root + "/internal/facts/assumed-names.txt"

	// assumedMark marks the comment of a line whose name of a field or
	// parameter is not documented. If the line has other names as well, the
	// comment lists the assumed ones: (assumed name: filter_id).
	assumedMark = "(assumed name"
)

// Every assumed name is listed with the operations that send or decode it. With
// -update the test writes the list.
func TestAssumedNamesAreListed(t *testing.T) {
	t.Parallel()
	got := assumedNames(t)
	if *update {
		if err := os.WriteFile(assumedFile, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(readFile(t, assumedFile)), "\n"), got); diff != "" {
		t.Errorf("%s does not list what is marked %s in the code; review, then run with -update (-listed +marked):\n%s",
			assumedFile, assumedMark, diff)
	}
}

// A mark is one line of a package with assumedMark.
type mark struct {
	at        token.Position
	names     []string
	direction string // request or response
	found     bool
}

// assumedNames returns a line for each operation and direction, with its names.
func assumedNames(t *testing.T) []string {
	t.Helper()
	known := map[string]bool{}
	for _, r := range rows(t) {
		for _, operation := range r.methods() {
			known[operation] = true
		}
	}
	packages := map[string]*declarations{}
	for _, p := range load(t) {
		if p.area() != "" || p.dir == "api" {
			packages[p.name] = declare(t, p)
		}
	}
	listed := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		d := packages[name]
		for _, m := range d.pkg.methods() {
			if !known[m.operation] { // a part of other operations
				continue
			}
			reached := reach{packages: packages, seen: map[ast.Node]bool{}}
			reached.visit(d, m.decl)
			for _, k := range reached.found {
				k.found = true
				of := m.operation + " " + k.direction + ":"
				listed[of] = append(listed[of], k.names...)
			}
		}
	}
	for _, d := range packages {
		for _, k := range d.marks {
			if !k.found {
				t.Errorf("%s: no operation sends or decodes the name marked %s", k.at, assumedMark)
			}
		}
	}
	var lines []string
	for _, of := range slices.Sorted(maps.Keys(listed)) {
		names := slices.Compact(slices.Sorted(slices.Values(listed[of])))
		lines = append(lines, of+" "+strings.Join(names, " "))
	}
	return lines
}

// declarations are the top-level declarations of a package by name, types with
// their methods, and the marks.
type declarations struct {
	pkg     *pkg
	byName  map[string][]ast.Node
	methods map[string][]ast.Node // of services, by name and by receiver and name
	marks   []*mark
}

func declare(t *testing.T, p *pkg) *declarations {
	t.Helper()
	d := &declarations{pkg: p, byName: map[string][]ast.Node{}, methods: map[string][]ast.Node{}}
	services := map[string]string{"Service": "", "Client": ""}
	p.addGroups(services, "Service")
	add := func(name string, n ast.Node) { d.byName[name] = append(d.byName[name], n) }
	for _, s := range specs(p.files...) {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if _, isService := services[s.Name.Name]; !isService {
				add(s.Name.Name, s)
			}
		case *ast.ValueSpec:
			for _, id := range s.Names {
				add(id.Name, s)
			}
		}
	}
	for _, fn := range functions(p.files...) {
		name, of := fn.Name.Name, receiver(fn)
		if fn.Recv == nil {
			add(name, fn)
		} else if _, isService := services[of]; isService {
			d.methods[name] = append(d.methods[name], fn)
			d.methods[of+"."+name] = []ast.Node{fn}
		} else {
			add(of, fn)
		}
	}
	for _, f := range p.files {
		d.addMarks(t, f)
	}
	return d
}

var (
	tagName = regexp.MustCompile(`(json|also):"([^"]+)`)
	quoted  = regexp.MustCompile(`"([A-Za-z_]\w*)"`)
	reading = regexp.MustCompile(`\bdecode\.Take\(|call\.(One|List)\[`) // functions that decode members by name
)

func (d *declarations) addMarks(t *testing.T, f *ast.File) {
	t.Helper()
	text := ""
	for _, group := range f.Comments {
		for _, c := range group.List {
			if !strings.Contains(c.Text, assumedMark) {
				continue
			}
			k := &mark{at: d.pkg.position(c), direction: "request"}
			if text == "" {
				text = readFile(t, k.at.Filename)
			}
			line := strings.Split(text, "\n")[k.at.Line-1]
			k.names = tagNames(line)
			if k.names != nil || reading.MatchString(line) {
				k.direction = "response"
			}
			if k.names == nil {
				for _, m := range quoted.FindAllStringSubmatch(line, -1) {
					k.names = append(k.names, m[1])
				}
			}
			if _, names, said := strings.Cut(c.Text, assumedMark+": "); said {
				k.names = strings.Split(strings.TrimSuffix(names, ")"), ", ")
			}
			if len(k.names) == 0 {
				t.Errorf("%s: %s must stand on the line of a name", k.at, assumedMark)
			}
			d.marks = append(d.marks, k)
		}
	}
}

// tagNames returns the names that the tags of a field decode.
func tagNames(line string) (names []string) {
	for _, tag := range tagName.FindAllStringSubmatch(line, -1) {
		all := strings.Split(tag[2], ",")
		if tag[1] == "json" { // what follows the name are options
			all = all[:1]
		}
		names = append(names, all...)
	}
	return names
}

// reach collects the declarations that a method uses, directly or not.
type reach struct {
	packages map[string]*declarations
	seen     map[ast.Node]bool
	found    []*mark
}

func (r *reach) visit(d *declarations, n ast.Node) {
	if r.seen[n] {
		return
	}
	r.seen[n] = true
	from, to := d.pkg.position(n), d.pkg.fset.Position(n.End())
	for _, k := range d.marks {
		if k.at.Filename == from.Filename && k.at.Line >= from.Line && k.at.Line <= to.Line {
			r.found = append(r.found, k)
		}
	}
	self, of := "", "" // the receiver and its type
	if fn, ok := n.(*ast.FuncDecl); ok && fn.Recv != nil && len(fn.Recv.List[0].Names) == 1 {
		self, of = fn.Recv.List[0].Names[0].Name, receiver(fn)
	}
	r.walk(d, n, self, of)
}

// walk follows the names in n, except for those of fields.
func (r *reach) walk(d *declarations, n ast.Node, self, of string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			r.walk(d, n.Type, self, of)
			r.walk(d, n.Body, self, of)
			return false
		case *ast.Field:
			r.walk(d, n.Type, self, of)
			return false
		case *ast.SelectorExpr:
			if other := r.packages[exprString(n.X)]; other != nil && other != d {
				r.follow(other, other.byName[n.Sel.Name])
				return false
			}
			called := n.Sel.Name
			if !n.Sel.IsExported() {
				if exprString(n.X) == self {
					called = of + "." + called
				}
				r.follow(d, d.methods[called])
			}
			r.walk(d, n.X, self, of)
			return false
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); !ok || !id.IsExported() {
				r.walk(d, n.Key, self, of)
			}
			r.walk(d, n.Value, self, of)
			return false
		case *ast.Ident:
			if n.Name != "_" {
				r.follow(d, d.byName[n.Name])
			}
		}
		return true
	})
}

func (r *reach) follow(d *declarations, nodes []ast.Node) {
	for _, n := range nodes {
		r.visit(d, n)
	}
}
