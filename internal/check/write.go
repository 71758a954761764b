package check

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
)

// WriteJSON writes a report as JSON, in the form that is attached to an issue.
func WriteJSON(w io.Writer, r *Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

//go:embed report.html
var page string

// WriteHTML writes a report as one page for reading.
func WriteHTML(w io.Writer, r *Report) error {
	t, err := template.New("report").Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, pageOf(r))
}

// A pageData is what the page shows.
type pageData struct {
	*Report

	Rows      []areaRow
	Kinds     []kindRow
	Sorted    []*operationRow
	NeverSeen []Finding // members that no response held
}

type areaRow struct {
	Area                                      string
	All, Reached, AsBelieved, Different, Lost int
}

type kindRow struct {
	Title    string
	Findings []Finding
}

type operationRow struct {
	*Operation

	Key string
}

// pageOf returns the data of the HTML report: rows of the table, differences by
// kind, members that no response held, and the operations in order.
func pageOf(r *Report) pageData {
	p := pageData{Report: r}
	row := func(name, area string) areaRow {
		all, lost := r.count(area, anyOutcome), r.count(area, NotReached)
		return areaRow{
			Area: name, All: all, Reached: all - lost, Lost: lost,
			AsBelieved: r.count(area, AsBelieved), Different: r.count(area, Different),
		}
	}
	for _, area := range r.Areas() {
		p.Rows = append(p.Rows, row(area, area))
	}
	p.Rows = append(p.Rows, row("all", allAreas))
	found := r.Found()
	for _, k := range Kinds() {
		if len(found[k]) > 0 {
			p.Kinds = append(p.Kinds, kindRow{k.title(), found[k]})
		}
	}
	p.NeverSeen = r.membersNeverSeen()
	for _, key := range r.Keys() {
		p.Sorted = append(p.Sorted, &operationRow{r.Operations[key], key})
	}
	return p
}
