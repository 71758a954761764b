package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MarkdownType is the media type of Markdown.
const MarkdownType = "text/markdown; charset=UTF-8"

const (
	dash         = "\u2014" // in place of null and of an empty list
	topLevel     = 1        // of what is not nested
	deepestLevel = 6        // of a map; one below it is JSON
)

// Markdown renders a JSON response: its result, its error, then a section for each
// other member, in order.
func Markdown(response []byte) []byte {
	var blocks []string
	whole, _ := readOrdered(json.NewDecoder(bytes.NewReader(response))).(Object)
	for _, m := range whole {
		var w markdown
		content, isObject := m.Value.(Object)
		switch {
		case m.Key == "result":
			word := "failure"
			if m.Value == true || m.Value == "yes" {
				word = "success"
			}
			w.WriteString("**Result:** " + word)
		case m.Key == "error" && isObject:
			w.WriteString("# Error\n")
			w.bullets(content, topLevel)
		default:
			w.WriteString("# " + keyText(m.Key) + "\n")
			w.section(m.Value)
		}
		blocks = append(blocks, strings.TrimRight(w.String(), "\n"))
	}
	return []byte(strings.Join(blocks, "\n\n") + "\n")
}

// readOrdered reads a JSON value. Objects keep the order of their members.
func readOrdered(d *json.Decoder) any {
	d.UseNumber()
	token, _ := d.Token() // what the emulator writes is valid
	switch token {
	case json.Delim('{'):
		o := Object{}
		for d.More() {
			key, _ := d.Token()
			o = append(o, Member{fmt.Sprint(key), readOrdered(d)})
		}
		_, _ = d.Token()
		return o
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, readOrdered(d))
		}
		_, _ = d.Token()
		return list
	}
	return token
}

type markdown struct{ strings.Builder }

// section writes the value below the heading of a section.
func (w *markdown) section(v any) {
	switch v := v.(type) {
	case Object:
		w.bullets(v, topLevel)
	case []any:
		w.list(v, topLevel)
	case string:
		if needsCode(v) {
			v = "```\n" + strings.TrimSuffix(v, "\n") + "\n```"
		}
		w.WriteString(v + "\n")
	default:
		w.WriteString(inlineText(v) + "\n")
	}
}

// bullets writes an object as a list of its members, nested ones with an indent. Below
// deepestLevel it writes JSON instead.
func (w *markdown) bullets(o Object, level int) {
	if level > deepestLevel {
		w.fencedJSON(o)
		return
	}
	for _, m := range o {
		w.WriteString(indent(level) + "- **" + keyText(m.Key) + ":**")
		switch v := m.Value.(type) {
		case Object:
			w.WriteByte('\n')
			w.bullets(v, level+1)
		case []any:
			separator := "\n"
			if len(v) == 0 { // list writes a dash, which stays on this line
				separator = " "
			}
			w.WriteString(separator)
			w.list(v, level+1)
		default:
			w.WriteString(" " + inlineText(v) + "\n")
		}
	}
}

// list writes a list of objects as a table, any other list as bullets, and an empty one as
// a dash.
func (w *markdown) list(list []any, level int) {
	if len(list) == 0 {
		w.WriteString(dash + "\n")
		return
	}
	if rows := asObjects(list); rows != nil {
		w.table(rows)
		return
	}
	for _, v := range list {
		text := inlineText(v)
		if o, isObject := v.(Object); isObject {
			text = inlineMap(o)
		}
		w.WriteString(indent(level) + "- " + text + "\n")
	}
}

// asObjects returns the elements of a list as objects, nil if an element is not an object.
func asObjects(list []any) []Object {
	rows := make([]Object, 0, len(list))
	for _, v := range list {
		o, isObject := v.(Object)
		if !isObject {
			return nil
		}
		rows = append(rows, o)
	}
	return rows
}

// table writes records. Its columns are the keys of all of them in order of appearance.
func (w *markdown) table(rows []Object) {
	var columns []string
	for _, row := range rows {
		for _, m := range row {
			if !slices.Contains(columns, m.Key) {
				columns = append(columns, m.Key)
			}
		}
	}
	w.row(columns, func(column string) string { return escapeCell(keyText(column)) })
	w.row(columns, func(string) string { return "---" })
	for _, row := range rows {
		w.row(columns, func(column string) string {
			v, _ := row.Get(column)
			return cellText(v)
		})
	}
}

// row writes a row of a table: the text of each column.
func (w *markdown) row(columns []string, text func(column string) string) {
	for _, column := range columns {
		w.WriteString("| " + text(column) + " ")
	}
	w.WriteString("|\n")
}

// fencedJSON writes a value as a code block of JSON. No document shows its indent: two
// spaces are assumed.
func (w *markdown) fencedJSON(v any) {
	var text bytes.Buffer
	_ = json.Indent(&text, Encode(v), "", "  ")
	w.WriteString("```json\n" + text.String() + "\n```\n")
}

func indent(level int) string { return strings.Repeat("  ", level-topLevel) }

var numbered = regexp.MustCompile(`^(\d+)\.`)

// keyText returns a key that does not begin like an element of a numbered list.
func keyText(key string) string { return numbered.ReplaceAllString(key, `$1\.`) }

// inlineMap returns an object on one line, for an element of a list that holds other
// values too.
func inlineMap(o Object) string {
	var parts []string
	for _, m := range o {
		parts = append(parts, "**"+keyText(m.Key)+":** "+inlineText(m.Value))
	}
	return strings.Join(parts, "; ")
}

// inlineText returns a value as the text of a line of its own or of an element of a
// list. Text is not escaped; text that Markdown would change is code.
func inlineText(v any) string {
	switch v := v.(type) {
	case nil:
		return dash
	case string:
		if needsCode(v) {
			return inCode(v)
		}
		return v
	case Object, []any:
		return inCode(string(Encode(v)))
	}
	return fmt.Sprint(v)
}

// cellText returns a value as the text of a cell in a table, in which a bar must be
// escaped.
func cellText(v any) string {
	switch v := v.(type) {
	case string:
		if needsCode(v) {
			return strings.ReplaceAll(inCode(v), "|", `\|`)
		}
		return escapeCell(v)
	case Object, []any:
		return escapeCell(string(Encode(v)))
	}
	return inlineText(v)
}

func escapeCell(s string) string {
	return strings.NewReplacer("|", `\|`, `\`, `\\`, "`", "\\`", "\n", " ").Replace(s)
}

var codeLike = regexp.MustCompile(`\n|<[A-Za-z!/]`)

// needsCode reports whether a text has several lines or looks like HTML.
func needsCode(s string) bool { return codeLike.MatchString(s) }

var backticks = regexp.MustCompile("`+")

// inCode returns a text as a code span: on one line, between more backticks than it has in a
// row, and with spaces if it begins or ends with a backtick.
func inCode(s string) string {
	longest := 0
	for _, run := range backticks.FindAllString(s, -1) {
		longest = max(longest, len(run))
	}
	fence, pad := strings.Repeat("`", longest+1), ""
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		pad = " "
	}
	return fence + pad + strings.ReplaceAll(s, "\n", " ") + pad + fence
}
