// Command size prints how large the repository is: lines by kind and by endpoint of
// internal/facts/endpoints.tsv, the largest packages, and the types with the most
// methods. Run it from the root of the repository.
package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const columns = 120 // the longest line allowed

// engines are the files that interpret the notations of the tests.
var engines = strings.Fields(`
	internal/contract/assumed_test.go internal/contract/contract_test.go internal/contract/golden_test.go
	internal/contract/rows_test.go internal/contract/shapes_test.go internal/contract/sources_test.go
	internal/contract/world_test.go
	internal/emulator/answer_test.go internal/emulator/kit_test.go internal/emulator/request_test.go
	internal/emulator/scripted_test.go internal/emulator/scripts_test.go
`)

// main counts the files that git has or would add, and prints the counts.
func main() {
	log.SetFlags(0)
	out, err := exec.CommandContext(context.Background(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		log.Fatal(err)
	}
	r := report{fset: token.NewFileSet(), lines: map[string]int{}, packages: map[string]*pkg{}, types: map[string]int{}}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if err := r.add(name); err != nil {
			log.Fatal(err)
		}
	}
	for _, name := range engines { // each must exist: of a file that was renamed, add would not count the lines
		if _, err := os.Stat(name); err != nil {
			log.Fatal(err)
		}
	}
	r.print()
}

type pkg struct{ lines, files int }

type report struct {
	fset                   *token.FileSet
	lines                  map[string]int // by kind
	long                   []string       // hand-written lines over columns
	packages               map[string]*pkg
	types                  map[string]int // methods, by package and receiver
	rootSources, rootTests int
	endpoints              int // the rows of the table
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// add counts the lines of a file as those of one kind: the table of endpoints, test data,
// generated code, tests or source. Of tests and source it also counts the long lines, and
// the lines of the engines, which interpret the notations of the tests. It counts the files
// of each package and of the root directory.
func (r *report) add(name string) error {
	content, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil // deleted but not committed
	}
	if err != nil {
		return err
	}
	n := bytes.Count(content, []byte("\n"))
	switch {
	case name == "internal/facts/endpoints.tsv":
		r.endpoints = n - 1 // without the header
		return nil
	case strings.HasPrefix(name, "testdata/") || strings.Contains(name, "/testdata/"):
		r.lines["testdata"] += n
		return nil
	case path.Ext(name) != ".go":
		return nil
	case generated.Match(content):
		r.lines["generated"] += n
		return nil
	}
	r.addLong(name, content)
	if slices.Contains(engines, name) {
		r.lines["engines"] += n
	}
	dir := path.Dir(name)
	if strings.HasSuffix(name, "_test.go") {
		r.lines["tests"] += n
		if dir == "." {
			r.rootTests++
		}
		return nil
	}
	r.lines["source"] += n
	if dir == "." {
		r.rootSources++
	}
	p := r.packages[dir]
	if p == nil {
		p = new(pkg)
		r.packages[dir] = p
	}
	p.lines += n
	p.files++
	return r.methods(dir, name, content)
}

// addLong adds the lines of a file that are longer than the allowed number of columns.
func (r *report) addLong(name string, content []byte) {
	for i, line := range bytes.Split(content, []byte("\n")) {
		if utf8.RuneCount(line) > columns {
			r.long = append(r.long, fmt.Sprintf("%s:%d", name, i+1))
		}
	}
}

// methods counts the methods of a file by their receivers.
func (r *report) methods(dir, name string, content []byte) error {
	f, err := parser.ParseFile(r.fset, name, content, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil {
			continue
		}
		receiver := fn.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		if index, ok := receiver.(*ast.IndexExpr); ok {
			receiver = index.X
		}
		if id, ok := receiver.(*ast.Ident); ok {
			r.types[dir+"."+id.Name]++
		}
	}
	return nil
}

// print prints the counts, the largest five packages and the three types with the most
// methods. With LONG in the environment it also lists the lines that are too long.
func (r *report) print() {
	total := r.lines["source"] + r.lines["tests"] + r.lines["testdata"]
	fmt.Printf("lines of source, tests, testdata     %d + %d + %d = %d\n", r.lines["source"], r.lines["tests"],
		r.lines["testdata"], total)
	fmt.Printf("lines of the test engines            %d\n", r.lines["engines"])
	fmt.Printf("generated lines                      %d\n", r.lines["generated"])
	fmt.Printf("lines over %d columns               %d\n", columns, len(r.long))
	fmt.Printf("endpoints; lines for each            %d; %d\n", r.endpoints, total/max(r.endpoints, 1))
	title := "largest packages" // only before the first
	for _, dir := range largest(r.packages, func(p *pkg) int { return p.lines })[:5] {
		p := r.packages[dir]
		fmt.Printf("%-36s %s: %d lines, %d files\n", title, dir, p.lines, p.files)
		title = ""
	}
	title = "most methods"
	for _, name := range largest(r.types, func(n int) int { return n })[:3] {
		fmt.Printf("%-36s %s: %d\n", title, name, r.types[name])
		title = ""
	}
	fmt.Printf("files in the root directory          %d source, %d test\n", r.rootSources, r.rootTests)
	if os.Getenv("LONG") != "" {
		fmt.Println(strings.Join(r.long, "\n"))
	}
}

// largest returns the keys of m in descending order of size.
func largest[V any](m map[string]V, size func(V) int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(size(m[b])-size(m[a]), strings.Compare(a, b))
	})
}
