package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/internal/facts"
)

// reference has the generated pages by their names.
var reference = map[string]func(root string) (string, error){ //nolint:gochecknoglobals // never written
	"endpoints": endpoints, "errors": errorsPage, "options": options, "commands": commands, "assumptions": assumptions,
}

// evidence is what a source of a row of endpoints.tsv means.
var evidence = map[string]string{"S": "documents", "W": "client", "A": "assumed"} //nolint:gochecknoglobals // never written

// endpoints returns the page with the table of endpoints, without those that the platform
// has removed: their row has a note that begins with "removed".
func endpoints(root string) (string, error) {
	var b strings.Builder
	ops, err := operations(root)
	if err != nil {
		return "", err
	}
	rows := slices.DeleteFunc(facts.Endpoints(), func(e facts.Endpoint) bool {
		return slices.ContainsFunc(strings.Split(e.Note, "; "), func(n string) bool { return strings.HasPrefix(n, "removed") })
	})
	fmt.Fprintf(&b, `# Endpoints

The SDK has a method for %d endpoints of the platform. The column *Evidence* says what
shows the endpoint: the *documents* of the platform, its own *client*, or nothing yet
(*assumed*). An endpoint that is not here is reached by `+"`client.Call`"+`. The credential and
what a repetition does are in the documentation of each method. *Op* is the constant of
package `+"`fastiotest/op`"+` that a fault of the emulator names;
`+"`go doc -all github.com/fastio-go/fastio/fastiotest/op`"+` lists all.
`, len(rows))
	slices.SortStableFunc(rows, func(a, b facts.Endpoint) int { return cmp.Compare(a.Area, b.Area) })
	area := ""
	for _, e := range rows {
		if e.Area != area {
			area = e.Area
			fmt.Fprintf(&b, "\n## %s\n\n| Method | Endpoint | Op | Evidence |\n|---|---|---|---|\n", area)
		}
		fmt.Fprintf(&b, "| `%s` | `%s %s` | %s | %s |\n", e.MethodName(), e.Method, e.Path, ops[e.Op], evidence[e.Source])
	}
	return b.String(), nil
}

// operations returns the names of the constants of package op, as code, by their values.
func operations(root string) (map[string]string, error) {
	p, err := parse(filepath.Join(root, "fastiotest/op"))
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, t := range p.Consts {
		for _, s := range t.Decl.Specs {
			v := s.(*ast.ValueSpec)                                          //nolint:forcetypeassert // of a group of constants
			value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value) //nolint:forcetypeassert // a string
			if err != nil {
				return nil, err
			}
			names[value] = "`" + v.Names[0].Name + "`"
		}
	}
	return names, nil
}

// errorsPage returns the page with the exported errors of the packages, and the codes of
// the platform, from their comments.
func errorsPage(root string) (string, error) {
	var b strings.Builder
	b.WriteString("# Errors\n\nDecide by the kind first, with `errors.Is`. Then, for a few cases, by the code of an\n" +
		"`*api.Error`, which package `api/codes` names.\n\n## Kinds\n\n| Kind | When |\n|---|---|\n")
	for _, dir := range []string{
		"api", "ai", "audit", "events", "events/journal", "howto", "keyring", "metadata", "oauth", "search", "storage",
	} {
		kinds, err := errorVariables(filepath.Join(root, dir))
		if err != nil {
			return "", err
		}
		for _, k := range kinds {
			text := strings.TrimPrefix(strings.TrimPrefix(k.text, k.name+" "), "is ")
			fmt.Fprintf(&b, "| `%s.%s` | %s |\n", filepath.Base(dir), k.name, cell(text))
		}
	}
	b.WriteString("\n## Codes\n\n")
	codes, err := parse(filepath.Join(root, "api/codes"))
	if err != nil {
		return "", err
	}
	advice := strings.Index(codes.Doc, "Decide by") // the text before says what the package is
	b.WriteString(paragraphs(codes.Doc[advice:]))
	for _, group := range codes.Consts {
		if group.Doc != "" {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(paragraphs(group.Doc)))
		}
		b.WriteString("\n| Code | Name | Meaning, and what to do |\n|---:|---|---|\n")
		for _, s := range group.Decl.Specs {
			v := s.(*ast.ValueSpec) //nolint:forcetypeassert // of a group of constants
			text := cmp.Or(v.Comment.Text(), group.Doc)
			fmt.Fprintf(&b, "| %s | `codes.%s` | %s |\n", v.Values[0].(*ast.BasicLit).Value, v.Names[0].Name, cell(text)) //nolint:forcetypeassert // a number
		}
	}
	return b.String(), nil
}

// options returns the page with the options of a client and of a call, from their
// comments, and the defaults, from the comment of the package.
func options(root string) (string, error) {
	var b strings.Builder
	b.WriteString("# Options and defaults\n")
	client, err := parse(root)
	if err != nil {
		return "", err
	}
	call, err := parse(filepath.Join(root, "api"))
	if err != nil {
		return "", err
	}
	table := func(title, prefix string, p *doc.Package, result string) {
		fmt.Fprintf(&b, "\n## %s\n\n| Option | Effect |\n|---|---|\n", title)
		for _, t := range p.Types {
			if t.Name != result {
				continue
			}
			for _, f := range t.Funcs {
				fmt.Fprintf(&b, "| `%s.%s` | %s |\n", prefix, f.Name, cell(strings.TrimPrefix(f.Doc, f.Name+" ")))
			}
		}
	}
	table("Of a client", "fastio", client, "Option")
	table("Of one call", "api", call, "CallOption")
	_, defaults, _ := strings.Cut(client.Doc, "# Defaults\n")
	b.WriteString("\n## Defaults\n\n")
	b.WriteString(paragraphs(defaults))
	return b.String(), nil
}

// commands returns the page with the comments of the commands.
func commands(root string) (string, error) {
	var b strings.Builder
	readme, err := os.ReadFile(filepath.Join(root, "README.md")) //nolint:gosec // of the repository
	if err != nil {
		return "", err
	}
	_, variables, _ := strings.Cut(string(readme), "| Variable |")
	variables, _, _ = strings.Cut(variables, "\n\n")
	b.WriteString("# Commands\n\n`-h` of each lists its flags.\n\n## Variables\n\n| Variable |" + variables + "\n")
	for _, dir := range []string{"cmd/fastio-check", "cmd/fastio-emulator", "relay/cmd/fastio-relay", "rclone/cmd/rclone-fastio"} {
		p, err := parse(filepath.Join(root, dir))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s", filepath.Base(dir), paragraphs(p.Doc))
	}
	return b.String(), nil
}

// assumptions returns the page with the endpoints and the names that the SDK assumes.
func assumptions(string) (string, error) {
	var b strings.Builder
	b.WriteString(`# Open assumptions

The platform publishes no description of some requests and responses. What the SDK
assumes there is listed here; comments of fields say "(assumed name)". If a value of these
is missing, look in ` + "`Extra`" + ` of the result, run [` + "`fastio-check`" + `](commands.md#fastio-check) and report what it
finds.

## Endpoints

`)
	for _, e := range facts.Endpoints() {
		if e.Source == "A" { // assumed
			fmt.Fprintf(&b, "- `%s`: `%s %s`\n", e.MethodName(), e.Method, e.Path)
		}
	}
	b.WriteString("\n## Names\n\n| Method | In the request | In the response |\n|---|---|---|\n")
	seen := map[string]bool{}
	for _, e := range facts.Endpoints() {
		name := e.MethodName()
		request, response := facts.Assumed(name)
		if seen[name] || len(request)+len(response) == 0 {
			continue
		}
		seen[name] = true // a method may have several endpoints
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, names(request), names(response))
	}
	return b.String(), nil
}

// names returns names of the wire as a cell of a Markdown table, "" for none.
func names(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return "`" + strings.Join(all, "` `") + "`"
}

// A variable is a documented variable of a package.
type variable struct{ name, text string }

// errorVariables returns the exported errors of a package.
func errorVariables(dir string) (all []variable, err error) {
	p, err := parse(dir)
	if err != nil {
		return nil, err
	}
	for _, group := range p.Vars {
		for _, s := range group.Decl.Specs {
			v := s.(*ast.ValueSpec) //nolint:forcetypeassert // of a group of variables
			if name := v.Names[0].Name; strings.HasPrefix(name, "Err") {
				all = append(all, variable{name, cmp.Or(v.Doc.Text(), v.Comment.Text(), group.Doc)})
			}
		}
	}
	return all, nil
}

// parse returns the documentation of the package in a directory.
func parse(dir string) (*doc.Package, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	set := token.NewFileSet()
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return doc.NewFromFiles(set, files, "github.com/fastio-go/fastio")
}

// cell returns the first paragraph of a comment as a cell of a table.
func cell(comment string) string {
	first, _, _ := strings.Cut(comment, "\n\n")
	return strings.ReplaceAll(plain(strings.Join(strings.Fields(first), " ")), "|", "\\|")
}

// paragraphs returns a comment as Markdown, with headings of the third level.
func paragraphs(text string) string {
	p := comment.Printer{HeadingLevel: 3, HeadingID: func(*comment.Heading) string { return "" }}
	return plain(string(p.Markdown(new(comment.Parser).Parse(text))))
}

// link is a link to a symbol in a comment, with the address that a Printer adds to some.
var link = regexp.MustCompile(`\\?\[([*\w./]+)\](\(/[\w./#]+\))?`)

// plain writes links to symbols as code, without the path of their package.
func plain(text string) string {
	return link.ReplaceAllStringFunc(text, func(l string) string {
		name := link.FindStringSubmatch(l)[1]
		return "`" + name[strings.LastIndex(name, "/")+1:] + "`"
	})
}
