package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// style returns what breaks the project's own rules in the Go files below a directory, whatever system they are for.
func style(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		report := func(at ast.Node, text string) {
			found = append(found, fmt.Sprintf("%s: %s", set.Position(at.Pos()), text))
		}
		checkStyle(f, report)
		if !strings.HasSuffix(path, "_test.go") {
			checkLocks(f, report)
		}
		return nil
	})
	return found, err
}

// bareVerbs say nothing about what a function works on. A method may have one as its name: its receiver is the object.
var bareVerbs = []string{"run", "read", "open", "start", "end", "check", "take", "do"}

// checkStyle reports functions whose name is a verb alone, such as run, and headers of if and switch statements with an
// effect. Their first statement may only set what the condition then reads: see checkHeader. For a switch, the
// condition is its tag and the expressions of all its cases.
func checkStyle(f *ast.File, report func(at ast.Node, text string)) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && slices.Contains(bareVerbs, n.Name.Name) {
				report(n.Name, "the name of the function "+n.Name.Name+" does not say what it works on")
			}
		case *ast.IfStmt:
			checkHeader(n.Init, report, n.Cond)
		case *ast.SwitchStmt:
			condition := []ast.Node{n.Tag}
			for _, c := range n.Body.List {
				clause, _ := c.(*ast.CaseClause) // a switch has no other statements
				for _, e := range clause.List {
					condition = append(condition, e)
				}
			}
			checkHeader(n.Init, report, condition...)
		case *ast.TypeSwitchStmt:
			checkHeader(n.Init, report, n.Assign)
		}
		return true
	})
}

// checkHeader reports the first statement in the header of an if or switch, unless the condition reads the variable
// that the statement sets. The statement must define the variable, or assign to err or ok and to nothing else.
func checkHeader(first ast.Stmt, report func(at ast.Node, text string), condition ...ast.Node) {
	if first == nil {
		return
	}
	assign, ok := first.(*ast.AssignStmt)
	if !ok {
		report(first, "a statement with an effect stands in the header")
		return
	}
	isRead, onlyErrOrOK := assignsTo(assign, namesIn(condition))
	defines := assign.Tok == token.DEFINE
	isAllowedAssignment := assign.Tok == token.ASSIGN && isRead && onlyErrOrOK
	switch {
	case defines && !isRead:
		report(first, "the header defines nothing that its condition reads")
	case !defines && !isAllowedAssignment:
		report(first, "the header assigns to a variable of before")
	}
}

// assignsTo reports whether a statement assigns to one of the names, and whether it assigns to nothing but err and ok.
// The blank identifier does not count.
func assignsTo(assign *ast.AssignStmt, names map[string]bool) (oneOfNames, onlyErrOrOK bool) {
	onlyErrOrOK = true
	for _, left := range assign.Lhs {
		id, isVariable := left.(*ast.Ident)
		if isVariable && id.Name == "_" {
			continue
		}
		oneOfNames = oneOfNames || isVariable && names[id.Name]
		onlyErrOrOK = onlyErrOrOK && isVariable && (id.Name == "err" || id.Name == "ok")
	}
	return oneOfNames, onlyErrOrOK
}

// namesIn returns the identifiers in some nodes, of which any may be nil.
func namesIn(nodes []ast.Node) map[string]bool {
	names := map[string]bool{}
	for _, n := range nodes {
		if n == nil {
			continue
		}
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				names[id.Name] = true
			}
			return true
		})
	}
	return names
}

// checkLocks reports each call of a method Lock with arguments, such as that of oauth.Store, whose result no defer
// unlocks. The defer must be one of the next two statements: the first may be the check of the error. A call in the
// header of an if or switch is always reported, because no defer can follow it there. Functions called Lock are
// skipped: they return the lock.
func checkLocks(f *ast.File, report func(at ast.Node, text string)) {
	ast.Inspect(f, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.FuncDecl:
			return !isLock(n.Name)
		case *ast.IfStmt:
			list = []ast.Stmt{n.Init} // the header
		case *ast.SwitchStmt:
			list = []ast.Stmt{n.Init} // the header
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		for i, s := range list {
			held, nextTwo := heldBy(s), list[i+1:min(i+3, len(list))]
			if held != nil && !unlocks(nextTwo, held.Name) {
				report(s, "no defer unlocks "+held.Name+" in the next statement")
			}
		}
		return true
	})
}

func isLock(name *ast.Ident) bool { return strings.EqualFold(name.Name, "lock") }

// heldBy returns the variable to which a statement assigns the result of a method Lock with arguments, nil for any
// other statement.
func heldBy(s ast.Stmt) *ast.Ident {
	assign, ok := s.(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 {
		return nil
	}
	call, ok := assign.Rhs[0].(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !isLock(method.Sel) {
		return nil
	}
	held, _ := assign.Lhs[0].(*ast.Ident)
	return held
}

// unlocks reports whether a defer in some statements releases the lock that a variable holds. If
// the variable is an object, the defer calls its method Unlock; if it is the function that
// releases the lock, the defer calls it.
func unlocks(list []ast.Stmt, held string) bool {
	found := false
	for _, s := range list {
		ast.Inspect(s, func(n ast.Node) bool {
			d, ok := n.(*ast.DeferStmt)
			if !ok {
				return true
			}
			released := d.Call.Fun
			if method, ok := d.Call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Unlock" {
				released = method.X
			}
			id, ok := released.(*ast.Ident)
			found = found || ok && id.Name == held
			return true
		})
	}
	return found
}
