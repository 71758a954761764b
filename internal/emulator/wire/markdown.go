package wire

import (
	"fmt"
	"strings"
)

// MarkdownType is the media type of Markdown.
const MarkdownType = "text/markdown; charset=UTF-8"

// WriteObject writes scalars as bullets and everything with members as a section below.
func WriteObject(b *strings.Builder, o Object, heading string) {
	var sections Object
	first := true
	for _, m := range o {
		if nested(m.Value) {
			sections = append(sections, m)
			continue
		}
		if first {
			b.WriteByte('\n')
			first = false
		}
		fmt.Fprintf(b, "- **%s:** %s\n", m.Key, cell(m.Value))
	}
	for _, m := range sections {
		fmt.Fprintf(b, "\n%s %s\n", heading, m.Key)
		writeSection(b, m.Value, heading+"#")
	}
}

func nested(v any) bool {
	switch v.(type) {
	case Object, []Object, map[string]any, []any, []string:
		return true
	}
	return false
}

func writeSection(b *strings.Builder, v any, heading string) {
	switch v := v.(type) {
	case Object:
		WriteObject(b, v, heading)
	case map[string]any:
		WriteObject(b, FromMap(v), heading)
	case []Object:
		writeTable(b, v)
	case []any:
		writeBullets(b, v)
	case []string:
		writeBullets(b, v)
	}
}

func writeBullets[T any](b *strings.Builder, list []T) {
	b.WriteByte('\n')
	for _, v := range list {
		fmt.Fprintf(b, "- %s\n", cell(v))
	}
}

func writeTable(b *strings.Builder, rows []Object) {
	if len(rows) == 0 {
		b.WriteString("\n(none)\n")
		return
	}
	columns := columnsOf(rows)
	fmt.Fprintf(b, "\n| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, row := range rows {
		for _, column := range columns {
			b.WriteString("| ")
			if v, found := row.Get(column); found {
				b.WriteString(cell(v))
			}
			b.WriteByte(' ')
		}
		b.WriteString("|\n")
	}
}

// columnsOf is every key in order of first sight: rows may leave members out.
func columnsOf(rows []Object) []string {
	var columns []string
	seen := map[string]bool{}
	for _, row := range rows {
		for _, m := range row {
			if !seen[m.Key] {
				seen[m.Key] = true
				columns = append(columns, m.Key)
			}
		}
	}
	return columns
}

// Get returns the first member with a key.
func (o Object) Get(key string) (any, bool) {
	for _, m := range o {
		if m.Key == key {
			return m.Value, true
		}
	}
	return nil, false
}

// cell is a value on one line that cannot end a table cell.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return escapeCell(v)
	case ProfileID:
		return string(v)
	default:
		return escapeCell(string(AppendValue(nil, v, false)))
	}
}

func escapeCell(s string) string {
	return strings.NewReplacer("|", `\|`, "\r", "", "\n", "<br>").Replace(s)
}
