package contract_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The functions of this file parse the sources for other tests.

// A pkg is one directory of sources.
type pkg struct {
	fset  *token.FileSet
	dir   string // slash-separated, below the root; "." for the root
	name  string
	files []*ast.File // without tests
	tests []*ast.File
}

// load parses every package of this module.
func load(t *testing.T) []*pkg {
	t.Helper()
	fset, byDir := token.NewFileSet(), map[string]*pkg{}
	for _, name := range sources(t) {
		dir := strings.TrimPrefix(path.Dir(name), root+"/")
		if path.Dir(name) == root {
			dir = "."
		}
		if path.Ext(name) != ".go" || strings.HasPrefix(dir, "examples") {
			continue
		}
		const parse = parser.ParseComments | parser.SkipObjectResolution
		f, err := parser.ParseFile(fset, filepath.FromSlash(name), nil, parse)
		if err != nil {
			t.Fatal(err)
		}
		if byDir[dir] == nil {
			byDir[dir] = &pkg{fset: fset, dir: dir}
		}
		p := byDir[dir]
		if strings.HasSuffix(name, "_test.go") {
			p.tests = append(p.tests, f)
		} else {
			p.name, p.files = f.Name.Name, append(p.files, f)
		}
	}
	return slices.SortedFunc(maps.Values(byDir), func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
}

const root = "../.." // of the repository

// sources lists the hand-written files, slash-separated.
func sources(t *testing.T) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"testdata", "node_modules", ".git", ".bin"}, d.Name()):
			return fs.SkipDir
		case slices.Contains([]string{".go", ".md", ".sh", ".yml", ".html"}, path.Ext(name)),
			name == "Makefile", name == ".ci/run":
			all = append(all, path.Join(root, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// area returns the first word of the package's operations, "" if it has none.
// The areas are the directories in internal/facts/endpoints.tsv.
func (p *pkg) area() string {
	if p.typeSpec("Service") == nil || strings.Contains(p.dir, "/") {
		return ""
	}
	return p.name
}

func (p *pkg) position(n ast.Node) token.Position { return p.fset.Position(n.Pos()) }

func (p *pkg) typeSpec(name string) *ast.TypeSpec {
	for _, s := range specs(p.files...) {
		if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.Name == name {
			return ts
		}
	}
	return nil
}

// A method is an exported method of a service.
type method struct {
	name      string // "Orgs.List"
	operation string // "orgs.List"
	decl      *ast.FuncDecl
}

// methods returns the exported methods of the area's Service and its groups.
func (p *pkg) methods() []method {
	if p.area() == "" {
		return nil
	}
	services := map[string]string{"Service": ""} // by type: the words between area and method
	p.addGroups(services, "Service")
	var all []method
	for _, fn := range functions(p.files...) {
		if group, ok := services[receiver(fn)]; ok && fn.Name.IsExported() {
			all = append(all, method{receiver(fn) + "." + fn.Name.Name, p.area() + "." + group + fn.Name.Name, fn})
		}
	}
	return all
}

func (p *pkg) addGroups(services map[string]string, service string) {
	spec := p.typeSpec(service)
	if spec == nil {
		return
	}
	for _, field := range spec.Type.(*ast.StructType).Fields.List {
		group := strings.TrimPrefix(exprString(field.Type), "*")
		for _, id := range field.Names {
			if _, known := services[group]; id.IsExported() && !known && p.typeSpec(group) != nil {
				services[group] = services[service] + id.Name + "."
				p.addGroups(services, group)
			}
		}
	}
}

func functions(files ...*ast.File) []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				all = append(all, fn)
			}
		}
	}
	return all
}

// specs returns the top-level declarations of types, constants and variables.
func specs(files ...*ast.File) []ast.Spec {
	var all []ast.Spec
	for _, f := range files {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				all = append(all, g.Specs...)
			}
		}
	}
	return all
}

// exported returns the exported names of a package, including the methods of
// its Service.
func (p *pkg) exported() []*ast.Ident {
	var all []*ast.Ident
	for _, fn := range functions(p.files...) {
		if fn.Recv == nil || receiver(fn) == "Service" {
			all = append(all, fn.Name)
		}
	}
	for _, s := range specs(p.files...) {
		switch s := s.(type) {
		case *ast.TypeSpec:
			all = append(all, s.Name)
		case *ast.ValueSpec:
			all = append(all, s.Names...)
		}
	}
	return slices.DeleteFunc(all, func(id *ast.Ident) bool { return !id.IsExported() })
}

// receiver returns the name of the receiver type of fn, "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	return strings.TrimPrefix(exprString(fn.Recv.List[0].Type), "*")
}

// types returns the types of a parameter list, one for each parameter.
func types(list *ast.FieldList) []string {
	var all []string
	for i := 0; list != nil && i < len(list.List); i++ {
		name := exprString(list.List[i].Type)
		all = append(all, slices.Repeat([]string{name}, max(1, len(list.List[i].Names)))...)
	}
	return all
}

// exprString formats an expression as far as the tests compare it.
func exprString(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.BasicLit:
		return e.Value
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
