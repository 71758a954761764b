package redact

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxEscapes is the supported depth of escapes: JSON in an HTML page in JSON.
const maxEscapes = 3

// mask replaces the words in s, and the values of secret names, by the mask. They may be
// escaped as in JSON, Go, HTML, PHP or URLs, and these escapes may be nested. So each
// round searches a view of s, which knows where its bytes are in s, and then removes a
// level of escapes from the view. With cut, s is the beginning of a longer text: it may
// end with the beginning of a word, which is masked too.
func mask(s string, words []string, cut bool) string {
	var spans [][2]int
	v := view{text: withPlainBlanks(s)}
	for range maxEscapes + 1 {
		spans = append(spans, v.spansOfWords(words, cut)...)
		mayHaveNames := strings.ContainsAny(v.text, ":=") // fifty times faster than the search for them
		if mayHaveNames {
			for _, match := range namedValue.FindAllStringSubmatchIndex(v.text, -1) {
				spans = append(spans, v.valuesOfSecretNames(match)...)
			}
		}
		mayHaveEscapes := strings.ContainsAny(v.text, `\%&~`)
		if !mayHaveEscapes {
			break
		}
		v = v.unescape()
	}
	if len(spans) == 0 {
		return s
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return a[0] - b[0] })
	var out strings.Builder
	end := 0
	for _, span := range spans {
		if span[0] >= end { // a span that overlaps the one before shares its mask
			out.WriteString(s[end:span[0]] + Mask)
		}
		end = max(end, span[1])
	}
	return out.String() + s[end:]
}

// spansOfWords returns the spans of the original text that are one of the words. With
// cut they include the end of the text if it is the beginning of a word.
func (v view) spansOfWords(words []string, cut bool) (spans [][2]int) {
	for _, w := range words {
		w = withPlainBlanks(w)
		for from := 0; ; from++ {
			i := strings.Index(v.text[from:], w)
			if i < 0 {
				break
			}
			from += i
			spans = append(spans, [2]int{v.source(from), v.source(from + len(w))})
		}
		if n := cutBeginning(v.text, w); cut && n > 0 {
			spans = append(spans, [2]int{v.source(len(v.text) - n), v.source(len(v.text))})
		}
	}
	return spans
}

// cutBeginning returns how much of the word w is left at the end of a text s that was cut
// within it: the length of the longest beginning of w, shorter than w, with which s ends. A
// beginning of less than least bytes does not count, because other text may end with the same.
func cutBeginning(s, w string) int {
	const least = 4
	for n := min(len(w)-1, len(s)); n >= least; n-- {
		if s[len(s)-n:] == w[:n] {
			return n
		}
	}
	return 0
}

// namedValue is a member of a JSON object or a field of a form.
var namedValue = regexp.MustCompile(`"([\w-]+)"\s*:\s*(?:"((?:[^"\\]|\\.)*)|([^\s",{}\[\]]+))|` +
	`\b([\w-]+)=([^\s&"'<>;,]+)`)

// Groups of namedValue. A match has one name and one value.
const (
	memberName = iota + 1
	quotedValue
	bareValue
	formName
	formValue
)

// valuesOfSecretNames returns the spans of the original text that are values of secret names,
// for one match of namedValue. Match has the begin and the end of each of its groups, as
// [regexp.Regexp.FindStringSubmatchIndex] returns them.
func (v view) valuesOfSecretNames(match []int) (spans [][2]int) {
	spanOf := func(group int) []int { return match[2*group:][:2] }
	for _, pair := range [][2]int{{memberName, quotedValue}, {memberName, bareValue}, {formName, formValue}} {
		nameSpan, valueSpan := spanOf(pair[0]), spanOf(pair[1])
		if nameSpan[0] < 0 || valueSpan[0] < 0 { // the match has other groups
			continue
		}
		name, value := v.text[nameSpan[0]:nameSpan[1]], v.text[valueSpan[0]:valueSpan[1]]
		isErrorCode := strings.EqualFold(name, "code") && isNumber(value)
		if !isSecretMember(name) || isErrorCode {
			continue
		}
		switch value {
		case "", "null", Mask, url.QueryEscape(Mask):
			continue
		}
		spans = append(spans, [2]int{v.source(valueSpan[0]), v.source(valueSpan[1])})
	}
	return spans
}

// view is a text without its escapes.
type view struct {
	text string
	at   []int // where each byte of text, and its end, is in the source; nil for the same place
}

// source returns the index in the original text of byte i of the view.
func (v view) source(i int) int {
	if v.at == nil { // the text is the original one, with blanks for its plus signs
		return i
	}
	return v.at[i]
}

// unescape returns the view with one level of escapes removed.
func (v view) unescape() view {
	var text []byte
	var at []int // the place of each byte in the original text
	for i := 0; i < len(v.text); {
		n, s := unescape(v.text[i:])
		for range len(s) {
			at = append(at, v.source(i))
		}
		text = append(text, s...)
		i += n
	}
	at = append(at, v.source(len(v.text)))         // the end of the text, for a span that ends there
	return view{withPlainBlanks(string(text)), at} // an escape may have stood for a plus
}

// withPlainBlanks replaces plus by blank: a form sends a blank as a plus.
func withPlainBlanks(s string) string { return strings.ReplaceAll(s, "+", " ") }

// unescape reads the escape sequence of a URL, HTML, a JSON pointer or a
// backslash at the start of s, which is not empty. It returns its length and
// the text that it stands for. If there is none, it returns 1 and the first byte.
func unescape(s string) (n int, meaning string) {
	switch {
	case len(s) < 2:
	case s[0] == '%': // %41
		if c, ok := hex(s, 1, 2); ok {
			return 3, oneByte(c)
		}
	case s[0] == '&':
		const longest = 10 // bytes of an entity that stands for a character of ASCII
		if end := strings.IndexByte(s[:min(len(s), longest)], ';'); end > 0 {
			if u := html.UnescapeString(s[:end+1]); u != s[:end+1] {
				return end + 1, u
			}
		}
	case strings.HasPrefix(s, "~0"): // of a JSON pointer
		return 2, "~"
	case strings.HasPrefix(s, "~1"):
		return 2, "/"
	case s[0] == '\\':
		return unescapeBackslash(s)
	}
	return 1, s[:1]
}

// unescapeBackslash reads the escape sequence at the start of s. It returns its
// length and the text that it stands for, or 1 and the backslash for an unknown
// sequence.
func unescapeBackslash(s string) (n int, meaning string) {
	switch s[1] {
	case 'x': // \x41
		if c, ok := hex(s, 2, 2); ok {
			return 4, oneByte(c)
		}
	case 'u': // \u0041, or two of these for a character beyond 16 bits
		c, ok := hex(s, 2, 4)
		if !ok {
			break
		}
		if strings.HasPrefix(s[6:], `\u`) && utf16.IsSurrogate(c) {
			if low, ok := hex(s, 8, 4); ok && utf16.DecodeRune(c, low) != utf8.RuneError {
				return 12, string(utf16.DecodeRune(c, low))
			}
		}
		return 6, string(c)
	case 'n', 'r', 't', 'b', 'f':
		return 2, string("\n\r\t\b\f"[strings.IndexByte("nrtbf", s[1])])
	case '"', '\'', '\\', '/':
		return 2, s[1:2]
	}
	return 1, s[:1]
}

// oneByte returns the byte of two hexadecimal digits, which need not be UTF-8.
func oneByte(c rune) string { return string([]byte{byte(c & 0xff)}) } // the mask is for the linter: c is not larger

// hex parses the hexadecimal digits s[from:from+digits]. It returns false if s has fewer
// there.
func hex(s string, from, digits int) (rune, bool) {
	if len(s) < from+digits {
		return 0, false
	}
	n, err := strconv.ParseUint(s[from:from+digits], 16, 16)
	return rune(n), err == nil
}
