package check

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Plan writes what a run calls, without calling anything: each endpoint that it reads, with the
// forms of its calls besides the plain one, and the given writes, which the run is allowed.
func Plan(w io.Writer, writes ...Write) error {
	otherForms := plannedForms()
	area, text := "", &strings.Builder{}
	for _, r := range Reads() {
		if r.Area() != area {
			area = r.Area()
			fmt.Fprintf(text, "\n%s\n", area)
		}
		fmt.Fprintf(text, "  %-4s %s\n", r.Method, r.Path)
		if forms := otherForms[r.Op]; len(forms) > 0 {
			fmt.Fprintf(text, "       also %s\n", strings.Join(forms, ", "))
		}
	}
	fmt.Fprintf(text, "\n%d endpoints, for a sample of at most %d organizations, %d workspaces, %d shares and %d files,\n",
		len(Reads()), maxOrgs, maxOrgs*maxWorkspaces, maxAllShares, maxAllNodes)
	fmt.Fprintf(text, "and %d calls without a token.", len(probes()))
	if len(writes) == 0 {
		fmt.Fprintf(text, " Nothing is created, changed or deleted.\n")
	} else {
		fmt.Fprintf(text, "\n\nIn a workspace of its own, and with nothing that the run has not created:\n")
	}
	allowed := map[string]bool{}
	for _, w := range writes { // below the heading
		allowed[w.Op] = true
		fmt.Fprintf(text, "  %-6s %s\n", w.Method, w.Path)
	}
	refused := Refused()
	fmt.Fprintf(text, "\nNever called, although they are GETs:\n")
	for _, op := range sortedKeys(refused) {
		if !allowed[op] {
			fmt.Fprintf(text, "  %-28s %s\n", op, refused[op])
		}
	}
	_, err := io.WriteString(w, strings.TrimPrefix(text.String(), "\n"))
	return err
}

// plannedForms returns, by operation, the forms in which it is called besides the plain one.
// Tables that are not added here, among them the other kinds of partReads, have only calls in
// the plain form.
func plannedForms() map[string][]string {
	all := map[string][]string{}
	add := func(op string, f forms) {
		for _, form := range f.inOrder() {
			if form != FormPlain && !slices.Contains(all[op], string(form)) {
				all[op] = append(all[op], string(form))
			}
		}
	}
	addAll(add, callerReads())
	addAll(add, orgReads())
	addAll(add, memberReads())
	addAll(add, workspaceReads())
	addAll(add, shareReads())
	addAll(add, storageReads())
	addAll(add, nodeReads())
	addAll(add, fileReads())
	addAll(add, noteReads())
	addAll(add, factReads())
	addAll(add, quickShareReads())
	addAll(add, eventReads())
	addAll(add, threadReads())
	addAll(add, partReads()["field"])
	return all
}

// addAll calls add for each of the reads.
func addAll[S any](add func(op string, f forms), reads []callRow[S]) {
	for _, r := range reads {
		add(r.op, r.forms)
	}
}
