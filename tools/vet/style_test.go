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

func TestLocks(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		"r, err := s.Lock(ctx, a); if err != nil { return }; defer r.Unlock()":        0,
		"r, err := s.x.lock(ctx); if err != nil { return }; defer r.Unlock()":         0,
		"unlock, err := f.Lock(ctx, a); if err != nil { return }; defer unlock()":     0,
		"r, err := s.Lock(ctx, a); if err == nil { defer r.Unlock() }":                0,
		"r := s.Lock(a); defer r.Unlock()":                                            0,
		"mu.Lock(); n++; mu.Unlock()":                                                 0,
		"return s.Lock(ctx, a)":                                                       0,
		"r, err := s.Lock(ctx, a); if err != nil { return }; r.Unlock()":              1,
		"r, err := s.Lock(ctx, a); if err != nil { return }; f(); defer r.Unlock()":   1,
		"r, err := s.Lock(ctx, a); if err != nil { return }; defer other.Unlock()":    1,
		"r, err := s.Lock(ctx, a); if err != nil { return }; defer r.Close()":         1,
		"_, err := s.Lock(ctx, a)":                                                    1,
		"if r, err := s.Lock(ctx, a); err == nil { r.Unlock() }":                      1,
		"go func() { r, err = s.Lock(ctx, a); if err != nil { return }; r.Save() }()": 1,
		"switch { case a: r, err := s.Lock(ctx, a); f(r, err) }":                      1,
		"select { case <-a: r, err := s.lock(ctx); f(r, err) }":                       1,
	} {
		for function, want := range map[string]int{"load": want, "lock": 0, "Lock": 0} {
			source := "package a; func (r r) " + function + "() { " + body + " }"
			f, err := parser.ParseFile(token.NewFileSet(), "a.go", source, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			checkLocks(f, func(ast.Node, string) { got++ })
			if got != want {
				t.Errorf("%s: %d locks are reported, want %d", source, got, want)
			}
		}
	}
}
