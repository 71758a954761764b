// Command mutants checks that the tests notice a wrong name on the wire. It
// renames one JSON tag of an answer, one path or one field of a request at a
// time, runs the tests on the changed source, and counts the changes that make
// them fail.
//
// The mutants are listed in a file that names what they change and not where
// it stands, so that one list serves before and after a restructuring:
//
//	tag account Workspace.FolderName folder_name
//	path comments.Get
//	field account perm_join
//
// Run it from the root of the repository:
//
//	go run ./tools/mutants -list tools/mutants/list.txt ./AREA . ./internal/contract
//
// AREA stands for the package that a mutant changes. The first test package
// that fails kills the mutant. With -pick it prints a new list instead.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	list := flag.String("list", "tools/mutants/list.txt", "file that lists the mutants")
	pick := flag.Uint64("pick", 0, "print a list picked with this seed, and run nothing")
	flag.Parse()
	src, err := load(".")
	if err != nil {
		log.Fatal(err)
	}
	if *pick != 0 {
		for _, m := range src.pick(*pick) {
			fmt.Println(m)
		}
		return
	}
	mutants, err := readList(*list)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), src, mutants, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// A mutant is one change, as a line of the list names it.
type mutant struct {
	kind string // tag, path or field
	pkg  string // directory of the area
	at   string // Type.Field of a tag, operation of a path
	name string // JSON name of a tag or field
}

func (m mutant) String() string {
	switch m.kind {
	case "tag":
		return "tag " + m.pkg + " " + m.at + " " + m.name
	case "path":
		return "path " + m.at
	default:
		return "field " + m.pkg + " " + m.name
	}
}

func readList(name string) ([]mutant, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	var all []mutant
	for lines := bufio.NewScanner(f); lines.Scan(); {
		switch w := strings.Fields(lines.Text()); {
		case len(w) == 4 && w[0] == "tag":
			all = append(all, mutant{w[0], w[1], w[2], w[3]})
		case len(w) == 2 && w[0] == "path":
			area, _, _ := strings.Cut(w[1], ".")
			all = append(all, mutant{w[0], area, w[1], ""})
		case len(w) == 3 && w[0] == "field":
			all = append(all, mutant{w[0], w[1], "", w[2]})
		case len(w) > 0:
			return nil, fmt.Errorf("%s: %q is no mutant", name, lines.Text())
		}
	}
	return all, nil
}

// run applies each mutant in turn and prints what became of it.
func run(ctx context.Context, src *sources, mutants []mutant, tests []string) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	killed, total := map[string]int{}, map[string]int{}
	for _, m := range mutants {
		total[m.kind]++
		overlay, err := src.apply(dir, m)
		if err != nil {
			return err
		}
		by, err := killer(ctx, overlay, m, tests)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		if by != "" {
			killed[m.kind]++
		}
		fmt.Printf("%-60s %s\n", m, cmp.Or(by, "SURVIVED"))
	}
	for _, kind := range []string{"tag", "path", "field"} {
		fmt.Printf("%s: %d of %d killed\n", kind, killed[kind], total[kind])
	}
	return nil
}

// killer returns the first test package that fails, "" if none does.
func killer(ctx context.Context, overlay string, m mutant, tests []string) (string, error) {
	for _, pkg := range tests {
		pkg = strings.ReplaceAll(pkg, "AREA", strings.Replace(m.pkg, "system", ".", 1))
		test := exec.CommandContext(ctx, "go", "test", "-failfast", "-timeout=3m", "-overlay", overlay, pkg)
		out, err := test.CombinedOutput()
		switch _, failed := errors.AsType[*exec.ExitError](err); {
		case failed && (strings.Contains(string(out), "--- FAIL") || strings.Contains(string(out), "panic: ")):
			return pkg, nil
		case err != nil:
			return "", fmt.Errorf("%w\n%s", err, out)
		}
	}
	return "", nil
}

// sources are the files of the module that mutants may change: neither tests nor
// the emulator, which must not follow a wrong name.
type sources struct {
	fset  *token.FileSet
	files map[string]*ast.File
	rows  map[string][]string // path by operation
}

func load(root string) (*sources, error) {
	s := &sources{token.NewFileSet(), map[string]*ast.File{}, map[string][]string{}}
	table, err := os.ReadFile(filepath.Join(root, "testdata", "endpoints.tsv"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(table)) {
		c := strings.Split(line, "\t")
		s.rows[c[1]] = append(s.rows[c[1]], c[3])
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		skip := []string{
			"testdata", ".git", ".bin", "examples", "tools", "emulator", "fastiotest", "cmd", "keyring",
			"conformance", "node_modules",
		}
		switch {
		case d.IsDir() && name != root && slices.Contains(skip, d.Name()):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(s.fset, name, nil, parser.SkipObjectResolution)
		s.files[filepath.ToSlash(name)] = f
		return err
	})
	return s, err
}

// A place is a literal of the source and what a mutant puts there.
type place struct {
	lit  *ast.BasicLit
	text string
}

// apply writes the changed files to dir and returns the overlay that names them.
func (s *sources) apply(dir string, m mutant) (string, error) {
	replace := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		places := s.places(m, name)
		if len(places) == 0 {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		slices.SortFunc(places, func(a, b place) int { return int(b.lit.Pos() - a.lit.Pos()) })
		for _, p := range places {
			from, to := s.fset.Position(p.lit.Pos()).Offset, s.fset.Position(p.lit.End()).Offset
			content = slices.Concat(content[:from], []byte(p.text), content[to:])
		}
		changed := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(changed, content, 0o600); err != nil {
			return "", err
		}
		full, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		replace[full] = changed
	}
	if len(replace) == 0 {
		return "", fmt.Errorf("%s: nothing in the source is called so", m)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, overlay, 0o600)
}

// places are what m changes in a file.
func (s *sources) places(m mutant, name string) []place {
	f := s.files[name]
	switch m.kind {
	case "tag": // wherever the type stands now
		var all []place
		for _, t := range tags(f) {
			if t.at == m.at && t.name == m.name {
				renamed := strings.Replace(t.lit.Value, `json:"`+m.name, `json:"`+m.name+`_renamed`, 1)
				all = append(all, place{t.lit, renamed})
			}
		}
		return all
	case "path":
		return literals(f, func(text string) string {
			if slices.Contains(s.rows[m.at], text) {
				return wrongPath(text)
			}
			return text
		})
	default:
		if filepath.ToSlash(filepath.Dir(name)) != m.pkg {
			return nil
		}
		return literals(f, func(text string) string {
			if text == m.name {
				return text + "_renamed"
			}
			return text
		})
	}
}

// wrongPath changes the last segment that is no placeholder.
func wrongPath(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range slices.Backward(segments) {
		if segment != "" && segment[0] != '{' {
			segments[i] += "x"
			break
		}
	}
	return strings.Join(segments, "/")
}

// literals are the strings of a file that change gives another text, but for
// tags and the fields that errors name.
func literals(f *ast.File, change func(string) string) []place {
	var all []place
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			return n.Tag == nil
		case *ast.CompositeLit:
			if sel, ok := n.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "InputError" {
				return false
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil {
				break
			}
			if changed := change(text); changed != text {
				all = append(all, place{n, strconv.Quote(changed)})
			}
		}
		return true
	})
	return all
}

// A tag is the JSON tag of a field of a named struct.
type tag struct {
	at, name string
	lit      *ast.BasicLit
}

func tags(f *ast.File) []tag {
	var all []tag
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			s, ok := t.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range s.Fields.List {
				if field.Tag == nil || len(field.Names) != 1 {
					continue
				}
				text, _ := strconv.Unquote(field.Tag.Value)
				name, _, _ := strings.Cut(reflect.StructTag(text).Get("json"), ",")
				if name != "" && name != "-" {
					all = append(all, tag{t.Name.Name + "." + field.Names[0].Name, name, field.Tag})
				}
			}
		}
	}
	return all
}

// Numbers of mutants of each kind.
const (
	pickedTags   = 41
	pickedPaths  = 20
	pickedFields = 20
)

// pick returns a list that depends on the seed alone.
func (s *sources) pick(seed uint64) []mutant {
	var tagged, paths, fields []mutant
	sent := regexp.MustCompile(`(?i)(request|body|options|query|form)\.`)
	setters := regexp.MustCompile(`^(Set|Flag|Text|Line|Given|Add|add|given|set)`)
	literal := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		for _, p := range literals(s.files[name], func(text string) string { return text + "x" }) {
			text, _ := strconv.Unquote(p.lit.Value)
			literal[text] = true
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		if strings.Contains(dir, "/") {
			continue
		}
		for _, t := range tags(s.files[name]) {
			if ast.IsExported(t.at) && !sent.MatchString(t.at) {
				tagged = append(tagged, mutant{"tag", dir, t.at, t.name})
			}
		}
		ast.Inspect(s.files[name], func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || len(c.Args) < 2 || !setters.MatchString(called(c.Fun)) {
				return true
			}
			if lit, ok := c.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, _ := strconv.Unquote(lit.Value); text == strings.ToLower(text) { // no header
					fields = append(fields, mutant{"field", dir, "", text})
				}
			}
			return true
		})
	}
	for _, operation := range slices.Sorted(maps.Keys(s.rows)) {
		if literal[s.rows[operation][0]] {
			area, _, _ := strings.Cut(operation, ".")
			paths = append(paths, mutant{"path", area, operation, ""})
		}
	}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a repeatable choice
	var all []mutant
	for _, of := range []struct {
		from []mutant
		n    int
	}{{tagged, pickedTags}, {paths, pickedPaths}, {fields, pickedFields}} {
		slices.SortFunc(of.from, func(a, b mutant) int { return strings.Compare(a.String(), b.String()) })
		from := slices.Compact(of.from)
		random.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		all = append(all, from[:of.n]...)
	}
	return all
}

// called is the name of a function, or of the one that returned it.
func called(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.CallExpr:
		return called(f.Fun)
	case *ast.Ident:
		return f.Name
	}
	return ""
}
