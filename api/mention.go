package api

import "strings"

// MentionKind is the kind of object of a [Mention].
type MentionKind string

// Kinds of mentions. Unknown values are kept.
const (
	MentionKindUser      MentionKind = "user"
	MentionKindProfile   MentionKind = "profile"
	MentionKindFile      MentionKind = "file"
	MentionKindFolder    MentionKind = "folder"
	MentionKindWorkspace MentionKind = "workspace"
	MentionKindShare     MentionKind = "share"
)

// Mention is a link in a text to a user or an object. A user who is mentioned in the
// body of a comment is notified.
type Mention struct {
	Kind MentionKind
	ID   string // an [ID] or an [OpaqueID], by the kind
	Name string // for display; may be ""
}

// String returns the markup: "@[user:4012345678901234567:Ada Lovelace]".
//
// A "]" or a line break would end the markup, so they are replaced by ")" and a
// blank.
func (m Mention) String() string {
	name := strings.NewReplacer("]", ")", "\n", " ", "\r", " ").Replace(m.Name)
	s := "@[" + string(m.Kind) + ":" + m.ID
	mustHaveName := m.Kind == MentionKindUser // only the form with a name notifies for sure; it may be empty
	if name != "" || mustHaveName {
		s += ":" + name
	}
	return s + "]"
}

// Mentions returns the mentions in a text in their order, with duplicates; nil if
// there are none.
//
// It parses @[kind:id] and @[kind:id:name], of any kind. A name ends at the first
// "]" of its line. Other text is ignored, and so is markdown code, where the
// platform notifies no user: a block fenced by three or more backticks or tildes, up
// to its closing fence or the end of the text, and a span of backticks within one
// line.
func Mentions(text string) []Mention {
	var found []Mention
	eachMention(text, func(_, _ int, m Mention) { found = append(found, m) })
	return found
}

// ReplaceMentions returns a text in which replace has replaced each of its [Mentions].
func ReplaceMentions(text string, replace func(m Mention) string) string {
	var b strings.Builder
	last := 0
	eachMention(text, func(start, end int, m Mention) {
		b.WriteString(text[last:start])
		b.WriteString(replace(m))
		last = end
	})
	return b.String() + text[last:]
}

// eachMention calls visit with each mention of a text and the place of its markup. It
// skips fenced blocks and spans of code, where the platform notifies no user. It reads the
// text line by line, because neither a mention nor a span extends over several lines.
func eachMention(text string, visit func(start, end int, m Mention)) {
	if !strings.Contains(text, "@[") {
		return
	}
	var block fence
	for begin := 0; begin < len(text); {
		end, next := len(text), len(text)
		if i := strings.IndexAny(text[begin:], "\r\n"); i >= 0 {
			end, next = begin+i, begin+i+1
		}
		line := text[begin:end]
		if !block.open() {
			block = fenceOf(line)
			if !block.open() {
				lineMentions(line, begin, visit)
			}
		} else if block.closedBy(line) {
			block = fence{}
		}
		begin = next
	}
}

// fence is the opening line of a code block; the zero value means none.
type fence struct {
	mark   byte
	length int
}

const (
	fenceIndent = 3 // the most blanks before a fence
	fenceLength = 3 // the fewest marks in one
)

// fenceOf returns the fence of a code block that the line opens, a zero one if
// it opens none. After the marks there may be a language; with a backtick in
// it, the marks begin a code span instead.
func fenceOf(line string) fence {
	mark, length, rest := fenceMarks(line)
	if length < fenceLength || mark == '`' && strings.Contains(rest, "`") {
		return fence{}
	}
	return fence{mark, length}
}

func (f fence) open() bool { return f.length > 0 }

// closedBy reports whether the line is a closing fence.
func (f fence) closedBy(line string) bool {
	mark, length, rest := fenceMarks(line)
	return mark == f.mark && length >= f.length && strings.Trim(rest, " \t") == ""
}

// fenceMarks returns the mark, a backtick or a tilde, with which the line
// starts, how often it is repeated, and the rest of the line. The length is 0
// if the line is indented too far or starts otherwise.
func fenceMarks(line string) (mark byte, length int, rest string) {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > fenceIndent || s == "" || s[0] != '`' && s[0] != '~' {
		return 0, 0, line
	}
	length = runLength(s)
	return s[0], length, s[length:]
}

// runLength returns how many bytes at the start of s, which is not empty, are
// equal.
func runLength(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// lineMentions calls visit with the mentions of a line outside its code spans.
// The line begins at offset in the text.
func lineMentions(line string, offset int, visit func(start, end int, m Mention)) {
	afterSpan := 0 // the end of the last code span, where the text to search begins
	for i := 0; i < len(line); {
		if line[i] != '`' {
			i++
			continue
		}
		n := runLength(line[i:])
		end := spanEnd(line, i+n, n)
		if end < 0 { // the backticks are not closed, and begin no span
			i += n
			continue
		}
		textMentions(line[afterSpan:i], offset+afterSpan, visit)
		afterSpan, i = end, end
	}
	textMentions(line[afterSpan:], offset+afterSpan, visit)
}

// spanEnd returns the end of the next run of exactly n backticks in
// line[from:], which ends a code span; -1 if there is none.
func spanEnd(line string, from, n int) int {
	for from < len(line) {
		i := strings.IndexByte(line[from:], '`')
		if i < 0 {
			return -1
		}
		from += i
		length := runLength(line[from:])
		from += length
		if length == n {
			return from
		}
	}
	return -1
}

// textMentions calls visit with the mentions in a part of a line without code.
// The part begins at offset in the text.
func textMentions(s string, offset int, visit func(start, end int, m Mention)) {
	const begin = "@["
	at := 0 // where in s the search goes on
	for {
		i := strings.Index(s[at:], begin)
		if i < 0 {
			return
		}
		start := at + i
		at = start + len(begin)
		length := strings.IndexByte(s[at:], ']')
		if length < 0 {
			return
		}
		kind, rest, _ := strings.Cut(s[at:at+length], ":")
		id, name, _ := strings.Cut(rest, ":")
		if mentionWord(kind) && mentionWord(id) {
			at += length + 1
			visit(offset+start, offset+at, Mention{MentionKind(kind), id, name})
		}
	}
}

// mentionWord reports whether s can be the kind or the ID of a mention.
func mentionWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && (lowerASCII(c) < 'a' || lowerASCII(c) > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}
