package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

func TestStyle(t *testing.T) {
	t.Parallel()
	const effect, before, unread = "effect", "before", "unread"
	for source, want := range map[string]string{
		"if x := f(); x > 1 {}":                        "",
		"if x, err := f(); err != nil {}":              "",
		"if err = f(); err != nil {}":                  "",
		"if _, ok = m[k]; ok {}":                       "",
		"switch x := f(); x {}":                        "",
		"switch x := f(); { case x > 1: }":             "",
		"switch x := f(); y := x.(type) { case int: }": "",
		"if n++; n > 1 {}":                             effect,
		"if f(); n > 1 {}":                             effect,
		"switch n--; n {}":                             effect,
		"if n = f(); n > 1 {}":                         before,
		"if n += f(); n > 1 {}":                        before,
		"if n, err = f(); err != nil {}":               before,
		"if err = f(); n > 1 {}":                       before,
		"if a.ok = f(); a.ok {}":                       before,
		"switch n = f(); y := x.(type) { case int: }":  before,
		"if x := f(); y > 1 {}":                        unread,
		"if a {} else if x := f(); y > 1 {}":           unread,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a; func (r r) run() { "+source+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		checkStyle(f, func(_ ast.Node, text string) {
			got += map[string]string{
				"a statement with an effect stands in the header":     effect,
				"the header assigns to a variable of before":          before,
				"the header defines nothing that its condition reads": unread,
			}[text]
		})
		if got != want {
			t.Errorf("%s: %s, want %s", source, strconv.Quote(got), strconv.Quote(want))
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a; func run() {}; func runHook() {}", 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	checkStyle(f, func(ast.Node, string) { n++ })
	if n != 1 {
		t.Errorf("%d of two functions are reported, want the one that is called run", n)
	}
}
