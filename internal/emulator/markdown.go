package emulator

import (
	"fmt"
	"strings"
)

const markdownType = "text/markdown; charset=UTF-8"

// markdown renders an answer for a reader of text: lists of records as pipe tables, maps as bullets.
func markdown(a answer, resource string) []byte {
	var b strings.Builder
	if a.failure == nil {
		b.WriteString("**Result:** success\n")
		writeObject(&b, a.payload, "##")
	} else {
		b.WriteString("# Error\n")
		writeObject(&b, errorObject(a.failure, resource), "##")
	}
	return []byte(b.String())
}

// writeObject writes scalars as bullets and everything with members as a section below.
func writeObject(b *strings.Builder, o object, heading string) {
	var sections object
	first := true
	for _, m := range o {
		if nested(m.value) {
			sections = append(sections, m)
			continue
		}
		if first {
			b.WriteByte('\n')
			first = false
		}
		fmt.Fprintf(b, "- **%s:** %s\n", m.key, cell(m.value))
	}
	for _, m := range sections {
		fmt.Fprintf(b, "\n%s %s\n", heading, m.key)
		writeSection(b, m.value, heading+"#")
	}
}

func nested(v any) bool {
	switch v.(type) {
	case object, []object, map[string]any, []any, []string:
		return true
	}
	return false
}

func writeSection(b *strings.Builder, v any, heading string) {
	switch v := v.(type) {
	case object:
		writeObject(b, v, heading)
	case map[string]any:
		writeObject(b, fromMap(v), heading)
	case []object:
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

func writeTable(b *strings.Builder, rows []object) {
	if len(rows) == 0 {
		b.WriteString("\n(none)\n")
		return
	}
	columns := columnsOf(rows)
	fmt.Fprintf(b, "\n| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, row := range rows {
		for _, column := range columns {
			b.WriteString("| ")
			if v, found := row.get(column); found {
				b.WriteString(cell(v))
			}
			b.WriteByte(' ')
		}
		b.WriteString("|\n")
	}
}

// columnsOf is every key in order of first sight: rows may leave members out.
func columnsOf(rows []object) []string {
	var columns []string
	seen := map[string]bool{}
	for _, row := range rows {
		for _, m := range row {
			if !seen[m.key] {
				seen[m.key] = true
				columns = append(columns, m.key)
			}
		}
	}
	return columns
}

func (o object) get(key string) (any, bool) {
	for _, m := range o {
		if m.key == key {
			return m.value, true
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
	case profileID:
		return string(v)
	default:
		return escapeCell(string(appendValue(nil, v, false)))
	}
}

func escapeCell(s string) string {
	return strings.NewReplacer("|", `\|`, "\r", "", "\n", "<br>").Replace(s)
}
