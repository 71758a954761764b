// Command learn reads a report of fastio-check, prints what to change in the SDK, and with
// -w rewrites the list of assumed names and the table of endpoints:
//
//	GOWORK=off go -C tools run ./learn report.json
//
// A confirmed name is no longer in the list; the mark at its line in the code is removed by
// hand, as is what the table names. An assumed path that the platform has gets the source W.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	root := flag.String("root", "..", "the `directory` of the repository")
	write := flag.Bool("w", false, "rewrite the list and the table")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: learn [-w] report.json")
		os.Exit(2)
	}
	if err := learn(os.Stdout, *root, flag.Arg(0), *write); err != nil {
		fmt.Fprintln(os.Stderr, "learn:", err)
		os.Exit(1)
	}
}

const platform = "fast.io" // whose reports the lists may be rewritten from

// A report is the part of a report of fastio-check that is learned from.
type report struct {
	Header struct {
		Platform string `json:"platform"`
	} `json:"header"`
	Operations map[string]operation `json:"operations"`
}

// operation is what the report says about an operation.
type operation struct {
	Op          string       `json:"operation"`
	Differences []difference `json:"differences"`
	Path        string       `json:"assumed_path"`
	Names       struct {
		Confirmed []string `json:"confirmed"`
		Refuted   []string `json:"refuted"`
	} `json:"assumed_names"`
}

// difference is where a response differs from the types of the SDK.
type difference struct {
	Kind   string `json:"kind"`
	Form   string `json:"form"`
	Type   string `json:"type"`
	Member string `json:"member"`
	Want   string `json:"want"`
	Got    string `json:"got"`
}

// A change is a row of the table: the kind of thing to change, where it is, and the change.
type change struct{ kind, where, what string }

// learn prints what to change after a report of fastio-check. If write is true, it
// also updates the list of assumed names and the table of endpoints.
func learn(w io.Writer, root, name string, write bool) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("%s is no report: %w", name, err)
	}
	facts := filepath.Join(root, "internal", "facts")
	table, err := os.ReadFile(filepath.Join(facts, "endpoints.tsv"))
	if err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(facts, "assumed-names.txt"))
	if err != nil {
		return err
	}
	if err := printChanges(w, r.changes()); err != nil || !write {
		return err
	}
	if r.Header.Platform != platform {
		return fmt.Errorf("the report is of %q: nothing is rewritten, since an emulator has the assumed names too",
			r.Header.Platform)
	}
	return cmp.Or(
		os.WriteFile(filepath.Join(facts, "endpoints.tsv"), []byte(r.learnPaths(string(table))), 0o600),
		os.WriteFile(filepath.Join(facts, "assumed-names.txt"), []byte(r.learnNames(string(list), string(table))), 0o600),
	)
}

// changes returns what to change after a report, without repetitions.
func (r report) changes() []change {
	found := map[change]bool{}
	for _, key := range slices.Sorted(maps.Keys(r.Operations)) {
		o := r.Operations[key]
		switch o.Path {
		case "confirmed":
			found[change{"table", key, "the path is right"}] = true
		case "refuted":
			found[change{"table, method", key, "the platform has no such path"}] = true
		}
		for _, name := range o.Names.Confirmed {
			found[change{"comment", o.Op, name + " is no longer assumed"}] = true
		}
		for _, name := range o.Names.Refuted {
			found[change{"type", o.Op, name + " has another name"}] = true
		}
		for _, d := range o.Differences {
			found[d.change(o.Op, key)] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b change) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.where, b.where), cmp.Compare(a.what, b.what))
	})
}

// change returns what to change because of a difference in the responses of an operation.
// Key is that of the operation in the table of endpoints.
func (d difference) change(op, key string) change {
	place := strings.Trim(d.Type+"."+d.Member, ".")
	switch d.Kind {
	case "unknown":
		if d.Member == "*" { // the report hides a name that may be data of a user
			return change{"type", cmp.Or(d.Type, op), "has a member whose name is not shown"}
		}
		return change{"type", cmp.Or(d.Type, op), "add a field for " + d.Member}
	case "value":
		if strings.Contains(d.Got, " ") { // the report describes a value that it does not show
			return change{"constant", place, "has " + d.Got}
		}
		return change{"constant", place, "add the value " + d.Got}
	case "shape":
		return change{"type", place, "is " + d.Got + ", not " + d.Want}
	}
	return change{"code", key, strings.TrimSpace(fmt.Sprintf("%s %s: %s, not %s", d.Kind, place, d.Got, d.Want))}
}

// printChanges prints the changes as a table.
func printChanges(w io.Writer, all []change) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "nothing to change")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	all = slices.Insert(all, 0, change{kind: "change", where: "where", what: "what"}) // the headings
	for _, c := range all {
		if _, err := fmt.Fprintf(t, "%s\t%s\t%s\n", c.kind, c.where, c.what); err != nil {
			return err
		}
	}
	return t.Flush()
}

// The columns of endpoints.tsv.
const (
	opColumn, verbColumn, pathColumn = 1, 2, 3
	sourceColumn, noteColumn         = 8, 9
)

// learnPaths returns the table of endpoints, in which the assumed paths that the
// report confirms are no longer marked as assumed.
func (r report) learnPaths(table string) string {
	lines := strings.Split(table, "\n")
	for i, line := range lines {
		f := strings.Split(line, "\t")
		if len(f) <= sourceColumn || f[sourceColumn] != "A" { // not assumed
			continue
		}
		if r.Operations[f[verbColumn]+" "+f[pathColumn]].Path == "confirmed" {
			f[sourceColumn] = "W" // seen on the wire
			lines[i] = strings.Join(f, "\t")
		}
	}
	return strings.Join(lines, "\n")
}

// learnNames returns the list of assumed names without those that responses have
// confirmed. A line of the list is "account.Invitations.Get response: entity_id org".
// The table has a row for each endpoint, with its verb (GET), its path and the Go method
// that calls it; the report has results by verb and path. A Go method may have several
// rows: a name that is refuted for one of them stays.
func (r report) learnNames(list, table string) string {
	confirmed, refuted := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(table) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) <= noteColumn {
			continue
		}
		o := r.Operations[f[verbColumn]+" "+f[pathColumn]]
		for _, name := range o.Names.Confirmed {
			confirmed[goMethodOf(f)+" "+name] = true
		}
		for _, name := range o.Names.Refuted {
			refuted[goMethodOf(f)+" "+name] = true
		}
	}
	var left strings.Builder
	for line := range strings.Lines(list) {
		of, names, _ := strings.Cut(line, ":")
		method, direction, _ := strings.Cut(of, " ")
		kept := slices.DeleteFunc(strings.Fields(names), func(name string) bool {
			key := method + " " + name
			return direction == "response" && confirmed[key] && !refuted[key]
		})
		if len(kept) > 0 {
			fmt.Fprintf(&left, "%s: %s\n", of, strings.Join(kept, " "))
		}
	}
	return left.String()
}

// goMethodOf returns the method of the SDK for a row of the table. Several rows may have
// the same one.
func goMethodOf(row []string) string {
	if _, name, isNoted := strings.Cut(row[noteColumn], "method = "); isNoted {
		name, _, _ = strings.Cut(name, ";")
		return strings.TrimSpace(name)
	}
	return row[opColumn]
}
