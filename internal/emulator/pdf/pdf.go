// Package pdf writes documents of text in the Portable Document Format, and reads
// the text of documents whose fonts have a standard encoding.
package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The page is A4. Sizes are in points.
const (
	width, height = 595, 842
	margin        = 64
	leading       = 16
	lineMost      = 84 // characters
	linesMost     = (height - 2*margin) / leading
)

// Write returns a PDF document of a text. A form feed in the text ends a page, and a line
// that begins with "# " is a heading. Characters outside of ASCII become question marks.
// Objects 1 to 4 are the catalog, the list of pages and two fonts; then each page has an
// object (5, 7, ...) and one for its content (6, 8, ...).
func Write(text string) []byte {
	var pages [][]string
	for page := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\f") {
		lines := wrapLines(page)
		for len(lines) > linesMost {
			pages, lines = append(pages, lines[:linesMost]), lines[linesMost:]
		}
		pages = append(pages, lines)
	}
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 5+2*i)
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.TrimSpace(kids.String()), len(pages)),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
	}
	for i, lines := range pages {
		content := contentOf(lines)
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R "+
				"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>", width, height, 6+2*i),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content))
	}
	return assemble(objects)
}

// wrapLines returns the lines of a page. A line that is wider than the page is broken at
// its last blank that fits, or else where the width ends.
func wrapLines(page string) (lines []string) {
	for line := range strings.SplitSeq(strings.Trim(page, "\n"), "\n") {
		for len(line) > lineMost {
			at := strings.LastIndexByte(line[:lineMost], ' ')
			if at <= 0 {
				at = lineMost
			}
			lines, line = append(lines, line[:at]), strings.TrimLeft(line[at:], " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// contentOf returns the operators that show the lines of a page from its top: Tf sets
// the font, TL and Td the distance and the start of lines, Tj shows a text, T* begins a
// line. Headings are in bold (F2).
func contentOf(lines []string) string {
	var b strings.Builder
	special := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`)
	fmt.Fprintf(&b, "BT /F1 11 Tf %d TL %d %d Td", leading, margin, height-margin)
	for _, line := range lines {
		heading, isHeading := strings.CutPrefix(line, "# ")
		switch {
		case isHeading:
			fmt.Fprintf(&b, "\n/F2 15 Tf (%s) Tj /F1 11 Tf T*", escapeLine(special, heading))
		case line == "":
			b.WriteString("\nT*")
		default:
			fmt.Fprintf(&b, "\n(%s) Tj T*", escapeLine(special, line))
		}
	}
	b.WriteString("\nET")
	return b.String()
}

// escapeLine returns a line as the content of a PDF string, in which only printable ASCII
// is allowed.
func escapeLine(special *strings.Replacer, line string) string {
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, line)
	return special.Replace(line)
}

// assemble returns the file: objects, numbered from 1, and a table of the offsets at
// which they begin.
func assemble(objects []string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n") // the second line marks the file as binary
	offsets := make([]int, 0, len(objects))
	for i, object := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table)
	return b.Bytes()
}

var (
	streams = regexp.MustCompile(`(?s)(<<[^\n]*?>>)\s*stream\r?\n(.*?)\r?\nendstream`)
	tokens  = regexp.MustCompile(`(?s)\((?:[^()\\]|\\.)*\)|<[0-9A-Fa-f\s]*>|[A-Za-z*'"]+`)
	escapes = regexp.MustCompile(`(?s)\\(\r?\n|[0-7]{1,3}|.)`)
)

// streamMost is how much of a stream is read, in bytes.
const streamMost = 4 << 20

// Is reports whether a content is a document.
func Is(content string) bool {
	return strings.HasPrefix(content, "%PDF-") && strings.Contains(content, "endobj")
}

// Text returns the text of a PDF document, with a form feed between pages. Text that is
// stored as numbers of glyphs, as many programs do it, is left out.
func Text(content string) string {
	var pages []string
	for _, match := range streams.FindAllStringSubmatch(content, -1) {
		dictionary, body := match[1], match[2]
		if strings.Contains(dictionary, "/FlateDecode") {
			body = inflate(body)
		}
		// A page begins text with BT, and shows it with Tj or TJ. Other streams are fonts and pictures.
		showsText := strings.Contains(body, "Tj") || strings.Contains(body, "TJ")
		if isPage := showsText && strings.Contains(body, "BT"); isPage {
			pages = append(pages, shownText(body))
		}
	}
	return strings.Join(pages, "\f")
}

// inflate returns a decompressed stream, "" if it is damaged.
func inflate(body string) string {
	r, err := zlib.NewReader(strings.NewReader(body))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(r, streamMost))
	if err != nil {
		return ""
	}
	return string(text)
}

// shownText returns the text that the operators of a page show. The operands of an
// operator stand before it: strings in parentheses are collected until Tj, TJ or a
// quote shows them.
func shownText(body string) string {
	var b strings.Builder
	var operands strings.Builder
	for _, token := range tokens.FindAllString(body, -1) {
		switch {
		case token[0] == '(':
			operands.WriteString(unescape(token[1 : len(token)-1]))
			continue
		case token[0] == '<':
			continue // numbers of glyphs
		case token == "Tj", token == "TJ":
			b.WriteString(operands.String())
		case token == "'", token == `"`:
			b.WriteString("\n" + operands.String())
		case token == "T*", token == "Td", token == "TD", token == "ET":
			b.WriteByte('\n')
		}
		operands.Reset()
	}
	return strings.Trim(b.String(), "\n")
}

// unescape returns the text of a PDF string: a backslash begins an escape, which is the
// octal code of a character, a letter for a control character, a line break that is left
// out, or a character that stands for itself.
func unescape(text string) string {
	text = escapes.ReplaceAllStringFunc(text, func(escape string) string {
		afterBackslash := escape[1:]
		if code, err := strconv.ParseUint(afterBackslash, 8, 8); err == nil {
			return string(rune(code))
		}
		switch afterBackslash[0] {
		case 'n', 'r':
			return "\n"
		case 't':
			return "\t"
		case '\r', '\n':
			return ""
		}
		return afterBackslash
	})
	if !utf8.ValidString(text) {
		return strings.ToValidUTF8(text, "?")
	}
	return text
}
