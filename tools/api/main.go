// Command api compares the exported declarations of the modules that others import with
// those in api/*.txt, one declaration a line, so that no declaration is removed or changed
// by accident. Run it from the root of the repository. With -accept it writes the files.
//
// Parameters have no names there, so that these may change.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/constant"
	"go/types"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const root = "github.com/fastio-go/fastio"

// modules are the directories of the modules that others import.
var modules = []string{".", "keyring", "otelfastio", "relay"}

// main compares the exported declarations of each module with those of its file in api,
// and fails if any were removed. With -accept it writes the files; the changelog must
// name what was removed in any case.
func main() {
	log.SetFlags(0)
	accept := flag.Bool("accept", false, "write the files")
	flag.Parse()
	files := map[string][]string{}
	var removed []string
	for _, dir := range modules {
		now, err := declarations(dir)
		if err != nil {
			log.Fatal(err)
		}
		file := filepath.Join("api", path.Base(path.Join(root, dir))+".txt")
		gone, err := compare(file, now)
		if err != nil {
			log.Fatal(err)
		}
		files[file], removed = now, append(removed, gone...)
	}
	if err := announced(removed); err != nil {
		log.Fatal(err)
	}
	if !*accept && len(removed) > 0 {
		log.Fatal("declarations were removed or changed: make api-accept, if that is intended")
	}
	if !*accept {
		return
	}
	for file, lines := range files {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			log.Fatal(err)
		}
	}
}

// compare prints how the declarations differ from those in a file, and returns those that
// were removed.
func compare(file string, now []string) (removed []string, err error) {
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	old := strings.Split(strings.TrimSuffix(string(before), "\n"), "\n")
	for _, line := range now {
		if _, found := slices.BinarySearch(old, line); !found {
			fmt.Println("+", line)
		}
	}
	for _, line := range old {
		if _, found := slices.BinarySearch(now, line); !found && line != "" {
			fmt.Println("-", line)
			removed = append(removed, line)
		}
	}
	return removed, nil
}

var (
	declared = regexp.MustCompile(`^pkg (?:.*/)?(\w+), (?:method \(\*?(\w+).*?\) )?(?:(?:const|var|func|type) )?(\w+)(?:.* struct, (?:embedded )?(\w+))?`)
	released = regexp.MustCompile(`(?m)^## \[?v?\d`)
)

// announced returns an error for a removed declaration that the changelog does not name
// above its first released version. Before there is one, nothing need be named.
func announced(removed []string) error {
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	first := released.FindIndex(changelog)
	if first == nil {
		return nil
	}
	for _, line := range removed {
		parts := declared.FindStringSubmatch(line)
		if parts == nil {
			return fmt.Errorf("%q is not a declaration", line)
		}
		// The parts are the package, the receiver, the name, and the field of a struct.
		name := strings.Join(slices.DeleteFunc(parts[1:], func(part string) bool { return part == "" }), ".")
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).Match(changelog[:first[0]]) {
			return fmt.Errorf("CHANGELOG.md does not name %s, which is removed or changed", name)
		}
	}
	return nil
}

// declarations returns the exported declarations of a module, sorted. For a module other than the
// root it uses the go.mod in .bin/alone, which replaces its sibling modules by their directories.
func declarations(dir string) ([]string, error) {
	var flags []string
	if dir != "." {
		modfile, err := filepath.Abs(filepath.Join(".bin", "alone", dir, "go.mod"))
		if err != nil {
			return nil, err
		}
		flags = []string{"-modfile=" + modfile}
	}
	cfg := &packages.Config{
		Dir:        dir,
		Env:        append(os.Environ(), "GOWORK=off"),
		BuildFlags: flags,
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps |
			packages.NeedExportFile,
	}
	all, err := packages.Load(cfg, "./...")
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, p := range all {
		for _, e := range p.Errors {
			return nil, e
		}
		if p.Name != "main" && !strings.Contains(p.PkgPath+"/", "/internal/") {
			lines = append(lines, printer{p.Types}.declarations()...)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// printer prints the declarations of a package.
type printer struct{ pkg *types.Package }

// declarations returns a line for each exported declaration of the package, unsorted.
func (p printer) declarations() (lines []string) {
	name := strings.TrimPrefix(strings.TrimPrefix(p.pkg.Path(), root), "/")
	if name == "" {
		name = path.Base(root)
	}
	add := func(format string, args ...any) {
		lines = append(lines, "pkg "+name+", "+fmt.Sprintf(format, args...))
	}
	scope := p.pkg.Scope()
	for _, name := range scope.Names() {
		switch o := scope.Lookup(name).(type) {
		case *types.Const:
			if o.Exported() {
				add("const %s %s = %s", name, p.typ(o.Type()), value(o.Val()))
			}
		case *types.Var:
			if o.Exported() {
				add("var %s %s", name, p.typ(o.Type()))
			}
		case *types.Func:
			if o.Exported() {
				add("func %s%s", name, p.signature(o.Signature()))
			}
		case *types.TypeName:
			if o.Exported() {
				p.typeName(o, add)
			}
		}
	}
	return lines
}

// value returns the value of a constant. It does not shorten a long string, as v.String does.
func value(v constant.Value) string {
	if v.Kind() == constant.String {
		return v.ExactString()
	}
	return v.String()
}

// typeName adds a line for a type, and for each of its exported fields and methods.
func (p printer) typeName(o *types.TypeName, add func(format string, args ...any)) {
	name := o.Name()
	if o.IsAlias() {
		add("type %s = %s", name, p.typ(types.Unalias(o.Type())))
		return
	}
	named, ok := o.Type().(*types.Named)
	if !ok {
		return
	}
	name += p.typeParams(named.TypeParams())
	switch u := named.Underlying().(type) {
	case *types.Struct:
		add("type %s struct", name)
		for f := range u.Fields() {
			switch {
			case !f.Exported():
			case f.Embedded():
				add("type %s struct, embedded %s", name, p.typ(f.Type()))
			default:
				add("type %s struct, %s %s", name, f.Name(), p.typ(f.Type()))
			}
		}
	case *types.Interface:
		add("type %s interface { %s }", name, p.interfaceOf(u))
		return
	default:
		add("type %s %s", name, p.typ(u))
	}
	onValue := types.NewMethodSet(named)
	for m := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		f, ok := m.Obj().(*types.Func)
		if !ok || !f.Exported() {
			continue
		}
		receiver := "*" + name
		if onValue.Lookup(p.pkg, f.Name()) != nil {
			receiver = name
		}
		signature, _ := m.Type().(*types.Signature)
		add("method (%s) %s%s", receiver, f.Name(), p.signature(signature))
	}
}

// interfaceOf returns the methods and unions of an interface, sorted. Unexported methods are
// not named: they only mean that no other package can implement it.
func (p printer) interfaceOf(i *types.Interface) string {
	var parts []string
	for m := range i.Methods() {
		if m.Exported() {
			parts = append(parts, m.Name()+p.signature(m.Signature()))
		} else {
			parts = append(parts, "unexported methods")
		}
	}
	for e := range i.EmbeddedTypes() {
		if _, union := e.(*types.Union); union {
			parts = append(parts, types.TypeString(e, p.qualifier))
		}
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "; ")
}

// typeParams returns type parameters in brackets, "" for none.
func (p printer) typeParams(all *types.TypeParamList) string {
	var parts []string
	for t := range all.TypeParams() {
		parts = append(parts, t.Obj().Name()+" "+p.typ(t.Constraint()))
	}
	if parts == nil {
		return ""
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// signature returns the parameters and results of a function, without their names.
func (p printer) signature(s *types.Signature) string {
	var params, results []string
	for v := range s.Params().Variables() {
		params = append(params, p.typ(v.Type()))
	}
	if s.Variadic() {
		last := len(params) - 1
		params[last] = "..." + strings.TrimPrefix(params[last], "[]")
	}
	for v := range s.Results().Variables() {
		results = append(results, p.typ(v.Type()))
	}
	text := p.typeParams(s.TypeParams()) + "(" + strings.Join(params, ", ") + ")"
	switch len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	}
	return text + " (" + strings.Join(results, ", ") + ")"
}

// parameterName matches the name of a parameter in a nested function type.
var parameterName = regexp.MustCompile(`([(,] ?)[a-z]\w* ([\w.*\[\]\(]|\.\.\.|func\()`)

// typ returns a type without the names of parameters, which are no part of the API.
func (p printer) typ(t types.Type) string {
	if s, ok := t.(*types.Signature); ok {
		return "func" + p.signature(s)
	}
	text := types.TypeString(t, p.qualifier)
	if strings.Contains(text, "func(") { // a function in the type, such as of a slice or map
		text = parameterName.ReplaceAllString(text, "$1$2")
	}
	return text
}

// qualifier returns the name of a package, "" for the package that is printed.
func (p printer) qualifier(other *types.Package) string {
	if other == p.pkg {
		return ""
	}
	return other.Name()
}
