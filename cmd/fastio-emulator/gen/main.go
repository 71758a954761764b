// Command gen writes a line for each option of -set: its name, and what its comment in
// package seed says.
//
//	go run ./gen ../../fastiotest/seed/options.go options.txt
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"reflect"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	if err := writeExplanations(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// writeExplanations writes to the target file a line for each option of -set: the options are
// the fields of the struct Options in the source file, whose comments explain them.
func writeExplanations(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: gen SOURCE TARGET")
	}
	file, err := parser.ParseFile(token.NewFileSet(), args[0], nil, parser.ParseComments)
	if err != nil {
		return err
	}
	p := source{structs: map[string]*ast.StructType{}, docs: map[string]string{}}
	for _, decl := range file.Decls {
		p.collect(decl)
	}
	var lines strings.Builder
	p.write(&lines, "Options", "")
	if p.err != nil {
		return p.err
	}
	return os.WriteFile(args[1], []byte(lines.String()), 0o600)
}

// source are the types of a file.
type source struct {
	structs map[string]*ast.StructType
	docs    map[string]string
	err     error
}

// collect adds the types of a declaration: their doc comments, and the fields of structs.
func (p *source) collect(decl ast.Decl) {
	types, _ := decl.(*ast.GenDecl)
	if types == nil {
		return
	}
	for _, spec := range types.Specs {
		t, isType := spec.(*ast.TypeSpec)
		if !isType {
			continue
		}
		p.docs[t.Name.Name] = types.Doc.Text()
		if s, isStruct := t.Type.(*ast.StructType); isStruct {
			p.structs[t.Name.Name] = s
		}
	}
}

// write writes a line for each field of a struct, and of the structs in it: the path of the
// field, such as "OAuth.", with its name, a tab, and its explanation.
func (p *source) write(lines *strings.Builder, structName, path string) {
	for _, field := range p.structs[structName].Fields.List {
		kind, _ := field.Type.(*ast.Ident)
		for _, name := range field.Names {
			if kind != nil && p.structs[kind.Name] != nil {
				p.write(lines, kind.Name, path+name.Name+".")
				continue
			}
			text := p.explain(field, kind)
			if text == "" {
				p.err = errors.Join(p.err, fmt.Errorf("%s%s has no comment", path, name))
			}
			fmt.Fprintf(lines, "%s%s\t%s\n", path, name, text)
		}
	}
}

// explain returns what the comment of a field says, or else that of its type, and the
// values that the tag allows.
func (p *source) explain(field *ast.Field, kind *ast.Ident) string {
	text := strings.TrimSpace(field.Comment.Text())
	if text == "" {
		text = firstSentence(field.Doc.Text())
	}
	if text == "" && kind != nil {
		text = firstSentence(p.docs[kind.Name])
	}
	if field.Tag == nil {
		return text
	}
	tag, err := strconv.Unquote(field.Tag.Value)
	p.err = errors.Join(p.err, err)
	if enum := reflect.StructTag(tag).Get("enum"); enum != "" {
		text += " (" + strings.ReplaceAll(enum, "|", ", ") + ")"
	}
	return text
}

// firstSentence returns the first sentence of a doc comment, without the name at its
// beginning.
func firstSentence(doc string) string {
	_, text, _ := strings.Cut(strings.Join(strings.Fields(doc), " "), " ")
	text, _, _ = strings.Cut(text+" ", ". ")
	return strings.TrimSpace(text)
}
