package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// block is a code block with a title that names its source: a Go file, or a file and a
// function.
var block = regexp.MustCompile("(?ms)^```(go|output) title=\"([^\" ]+)(?: (\\w+))?\"\n.*?^```$")

// outputComment begins the output of an example.
var outputComment = regexp.MustCompile(`(?m)^// (Output|Unordered output):[ \n]`)

// fill replaces the content of the code blocks of a page that name a source in their first
// line: a kind, a file and perhaps a function. The source of an example ends with a comment
// that says its output. A block of the kind "output" gets what that comment says, a block of
// the kind "go" gets the source before it.
func fill(root, page string) (string, error) {
	var failed error
	page = block.ReplaceAllStringFunc(page, func(old string) string {
		m := block.FindStringSubmatch(old)
		kind, file, function := m[1], m[2], m[3]
		code, err := source(filepath.Join(root, filepath.FromSlash(file)), function)
		if err != nil {
			failed = err
		}
		if at := outputComment.FindStringIndex(code); at != nil {
			beforeComment, said := code[:at[0]], code[at[1]:]
			code = beforeComment
			if kind == "output" {
				code = strings.ReplaceAll(strings.ReplaceAll(said, "// ", ""), "//\n", "\n")
			}
		}
		opening, _, _ := strings.Cut(old, "\n")
		return opening + "\n" + strings.TrimRight(code, "\n") + "\n```"
	})
	return page, failed
}

// source returns a file without what stands before its package clause, or the body of one
// of its functions without the indentation.
func source(name, function string) (string, error) {
	text, err := os.ReadFile(name) //nolint:gosec // of the repository
	if err != nil {
		return "", err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		return "", err
	}
	if function == "" {
		return string(text[files.Position(file.Package).Offset:]), nil
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Name.Name == function {
			body := text[files.Position(f.Body.Lbrace).Offset+len("{\n") : files.Position(f.Body.Rbrace).Offset]
			return unindent(string(body)), nil
		}
	}
	return "", fmt.Errorf("%s has no function %s", name, function)
}

// unindent removes one tab from each line.
func unindent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return b.String()
}
