// Command mutants checks that the tests detect a wrong name on the wire. It renames
// one JSON tag of a response, one path or one field of a request at a time, runs the
// tests on the changed source, and counts the changes that make them fail.
//
// The mutants are listed in a file by name and not by position, so that the list
// stays valid after refactoring:
//
//	tag workspaces Workspace.FolderName folder_name
//	path comments.Get
//	field workspaces perm_join
//
// Run it from the root of the repository:
//
//	go run ./tools/mutants -list tools/mutants/list.txt ./AREA . ./internal/contract
//
// AREA stands for the package that a mutant changes. The first test package
// that fails kills the mutant.
package main

import (
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
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// main tests each mutant of a list with the packages that are the arguments.
func main() {
	log.SetFlags(0)
	list := flag.String("list", "tools/mutants/list.txt", "file that lists the mutants")
	flag.Parse()
	src, err := load(".")
	if err != nil {
		log.Fatal(err)
	}
	mutants, err := readList(*list)
	if err != nil {
		log.Fatal(err)
	}
	if err := testMutants(context.Background(), src, mutants, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// A mutant is one change, as the words of its line in the list: "tag AREA TYPE.FIELD NAME",
// "path OPERATION" or "field AREA NAME". The first word is the kind.
type mutant []string

// String returns the line of the mutant in the list.
func (m mutant) String() string { return strings.Join(m, " ") }

// area returns the directory of the area that the mutant changes.
func (m mutant) area() string {
	area, _, _ := strings.Cut(m[1], ".")
	return area
}

// readList returns the mutants of a list, one a line: the kind and then its arguments,
// whose number depends on the kind. Empty lines are left out.
func readList(name string) ([]mutant, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	wordCounts := map[string]int{"tag": 4, "path": 2, "field": 3}
	var all []mutant
	for line := range strings.Lines(string(text)) {
		m := mutant(strings.Fields(line))
		switch {
		case len(m) == 0:
		case len(m) != wordCounts[m[0]]: // 0 for an unknown kind
			return nil, fmt.Errorf("%s: %q is not a mutant", name, line)
		default:
			all = append(all, m)
		}
	}
	return all, nil
}

// testMutants runs the tests with each mutant in turn, and prints which test package
// has noticed it.
func testMutants(ctx context.Context, src *sources, mutants []mutant, tests []string) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	killed, total := map[string]int{}, map[string]int{}
	for _, m := range mutants {
		kind := m[0]
		total[kind]++
		overlay, err := src.apply(dir, m)
		if err != nil {
			return err
		}
		by, err := killer(ctx, overlay, m, tests)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		if by != "" {
			killed[kind]++
		}
		fmt.Printf("%-60s %s\n", m, cmp.Or(by, "SURVIVED"))
	}
	for _, kind := range []string{"tag", "path", "field"} {
		fmt.Printf("%s: %d of %d killed\n", kind, killed[kind], total[kind])
	}
	return nil
}

// killer returns the first test package that fails with a mutant, "" if none does. AREA
// in a package stands for that of the mutant. A package that does not compile is an
// error.
func killer(ctx context.Context, overlay string, m mutant, tests []string) (string, error) {
	for _, pkg := range tests {
		tested := strings.Replace(m.area(), "system", ".", 1) // the tests of system are in the root package
		pkg = strings.ReplaceAll(pkg, "AREA", tested)
		test := exec.CommandContext( //nolint:gosec // the user names the package
			ctx, "go", "test", "-failfast", "-timeout=3m", "-overlay", overlay, pkg,
		)
		out, err := test.CombinedOutput()
		switch _, failed := errors.AsType[*exec.ExitError](err); {
		case failed && failedTest(string(out)):
			return pkg, nil
		case err != nil:
			return "", fmt.Errorf("%w\n%s", err, out)
		}
	}
	return "", nil
}

// sources are the files of the module that mutants may change: no tests, and
// not the emulator, which must keep the right names.
type sources struct {
	fset  *token.FileSet
	names map[string][]name   // by file
	rows  map[string][]string // path by operation
}

// failedTest reports whether go test has printed that a test failed, and not that a package does not
// compile: "[build failed]" or "[setup failed]".
func failedTest(out string) bool {
	return strings.Contains(out, "\nFAIL\t") && !strings.Contains(out, " failed]")
}

// load reads the files of the module that mutants may change, and the table of
// endpoints.
func load(root string) (*sources, error) {
	s := &sources{token.NewFileSet(), map[string][]name{}, map[string][]string{}}
	table, err := os.ReadFile(filepath.Join(root, "internal", "facts", "endpoints.tsv"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(table)) {
		const operationColumn, pathColumn = 1, 3
		columns := strings.Split(line, "\t")
		operation, path := columns[operationColumn], columns[pathColumn]
		s.rows[operation] = append(s.rows[operation], path)
	}
	skip := strings.Fields("testdata .git .bin examples tools emulator fastiotest cmd keyring otelfastio rclone " +
		"conformance node_modules")
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != root && slices.Contains(skip, d.Name()):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(s.fset, file, nil, parser.SkipObjectResolution)
		s.names[filepath.ToSlash(file)] = names(f)
		return err
	})
	return s, err
}

// applyTo returns the content of a file with a mutant, nil if the mutant changes none of the
// names in it.
func (s *sources) applyTo(file string, all []name, m mutant) (content []byte, err error) {
	for _, n := range slices.Backward(all) { // from the end, so that offsets stay right
		changed := s.change(m, filepath.ToSlash(filepath.Dir(file)), n)
		if changed == "" {
			continue
		}
		if content == nil {
			content, err = os.ReadFile(file)
			if err != nil {
				return nil, err
			}
		}
		from, to := s.fset.Position(n.lit.Pos()).Offset, s.fset.Position(n.lit.End()).Offset
		content = slices.Concat(content[:from], []byte(changed), content[to:])
	}
	return content, nil
}

// apply writes the changed files to dir and returns the overlay that names them.
func (s *sources) apply(dir string, m mutant) (string, error) {
	replace := map[string]string{}
	for file, all := range s.names {
		content, err := s.applyTo(file, all, m)
		if err != nil {
			return "", err
		}
		if content == nil {
			continue
		}
		full, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replace[full] = filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(replace[full], content, 0o600); err != nil {
			return "", err
		}
	}
	if len(replace) == 0 {
		return "", fmt.Errorf("%s: no such name in the source", m)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, overlay, 0o600)
}

// change returns the literal that replaces a name of a file in dir, "" if the mutant does not
// change that name.
func (s *sources) change(m mutant, dir string, n name) string {
	isTag := n.field != ""
	switch m[0] {
	case "tag": // AREA TYPE.FIELD NAME
		field, text := m[2], m[3]
		if n.field == field && n.text == text { // in any directory: the type of an area may be in another package
			return strings.Replace(n.lit.Value, `json:"`+text, `json:"`+text+`_renamed`, 1)
		}
	case "path": // OPERATION
		operation := m[1]
		if !isTag && slices.Contains(s.rows[operation], n.text) {
			return strconv.Quote(wrongPath(n.text))
		}
	case "field": // AREA NAME
		area, text := m[1], m[2]
		if !isTag && dir == area && n.text == text {
			return strconv.Quote(text + "_renamed")
		}
	}
	return ""
}

// wrongPath returns a path whose last segment that is not a placeholder is changed.
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

// A name is the JSON tag of a field of a named struct, or another string.
type name struct {
	lit   *ast.BasicLit
	text  string
	field string // Type.Field of a tag; "" of another string
}

// names returns the names of a file in order: the JSON tags of its named structs, and all other
// strings. It leaves out what is in an InputError, since the names in an error are not sent.
func names(f *ast.File) []name {
	var all []name
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				all = append(all, tags(n.Name.Name, s)...)
			}
		case *ast.Field:
			return n.Tag == nil // the names in a tag are in the list already
		case *ast.CompositeLit:
			sel, ok := n.Type.(*ast.SelectorExpr)
			return !ok || sel.Sel.Name != "InputError"
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				all = append(all, name{lit: n, text: text})
			}
		}
		return true
	})
	return all
}

// tags returns the JSON names in the field tags of s, the struct type typeName.
func tags(typeName string, s *ast.StructType) []name {
	var all []name
	for _, field := range s.Fields.List {
		if field.Tag == nil || len(field.Names) != 1 {
			continue
		}
		text, _ := strconv.Unquote(field.Tag.Value)
		tag, _, _ := strings.Cut(reflect.StructTag(text).Get("json"), ",")
		if tag != "" && tag != "-" {
			all = append(all, name{lit: field.Tag, text: tag, field: typeName + "." + field.Names[0].Name})
		}
	}
	return all
}
