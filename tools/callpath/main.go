// Command callpath reads a coverage profile and prints the functions that ran,
// callbacks and closures included, with their length in lines.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/fastio-go/fastio/"

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: callpath PROFILE, from the root of the repository")
	}
	if err := printPath(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// A function is a declaration or a literal.
type function struct {
	file  string
	line  int
	name  string
	lines int
}

// printPath prints the functions that a coverage profile shows as called, with their
// lengths.
func printPath(profile string) error {
	f, err := os.Open(profile)
	if err != nil {
		return err
	}
	defer f.Close()            //nolint:errcheck // read only
	ran := map[function]bool{} //nolint:prealloc // a set
	files := map[string]*source{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, line, column, isCovered := covered(lines.Text())
		isCaller := strings.HasPrefix(name, "internal/callpath/") // the program that makes the call
		if !isCovered || isCaller {
			continue
		}
		if files[name] == nil {
			files[name], err = parse(name)
			if err != nil {
				return err
			}
		}
		ran[files[name].at(line, column)] = true
	}
	if err := lines.Err(); err != nil {
		return err
	}
	all := slices.SortedFunc(maps.Keys(ran), func(a, b function) int {
		return cmp.Or(strings.Compare(a.file, b.file), a.line-b.line)
	})
	longest := 0
	for _, fn := range all {
		fmt.Printf("%s:%d\t%s\t%d\n", fn.file, fn.line, fn.name, fn.lines)
		longest = max(longest, fn.lines)
	}
	fmt.Printf("%d functions in %d files, the longest of %d lines\n", len(all), len(files), longest)
	return nil
}

// covered parses a line of a coverage profile, "file:line.column,line.column statements
// count". It returns the start of the block, and false if the block did not run or is not
// of the module.
func covered(text string) (name string, line, column int, ok bool) {
	place, counts, _ := strings.Cut(text, " ")
	name, span, found := strings.Cut(place, ":")
	if !found || strings.HasSuffix(counts, " 0") || !strings.HasPrefix(name, module) {
		return "", 0, 0, false
	}
	start, _, _ := strings.Cut(span, ",")
	lineText, columnText, _ := strings.Cut(start, ".")
	line, badLine := strconv.Atoi(lineText)
	column, badColumn := strconv.Atoi(columnText)
	return strings.TrimPrefix(name, module), line, column, badLine == nil && badColumn == nil
}

// source is a parsed Go file.
type source struct {
	name string
	fset *token.FileSet
	file *ast.File
}

// parse parses a Go file.
func parse(name string) (*source, error) {
	s := &source{name: name, fset: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.fset, name, nil, parser.SkipObjectResolution)
	return s, err
}

// at returns the innermost function that contains a position. The name of a literal is that
// of the function around it, and "literal".
func (s *source) at(line, column int) function {
	var found function
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n == nil || !s.holds(n, line, column) {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			found = s.function(n, n.Name.Name)
		case *ast.FuncLit:
			found = s.function(n, found.name+" literal")
		}
		return true
	})
	return found
}

// holds reports whether a node contains a position.
func (s *source) holds(n ast.Node, line, column int) bool {
	from, to := s.fset.Position(n.Pos()), s.fset.Position(n.End())
	after := line > from.Line || line == from.Line && column >= from.Column
	before := line < to.Line || line == to.Line && column < to.Column
	return after && before
}

// function returns the function of a node, with the name.
func (s *source) function(n ast.Node, name string) function {
	from, to := s.fset.Position(n.Pos()).Line, s.fset.Position(n.End()).Line
	return function{s.name, from, name, to - from + 1}
}
