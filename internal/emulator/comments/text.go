package comments

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	bodyMost        = 8192 // code points as sent
	visibleTextMost = 500  // code points without mentions
)

type mention struct{ markup, kind, id string }

// mentionsIn lists the mentions in a body, such as @[user:ID:Name], outside of code.
func mentionsIn(body string) []mention {
	markup := regexp.MustCompile(`@\[(user|profile|file|folder|workspace|share):([0-9A-Za-z-]+)(?::[^\]\r\n]*)?\]`)
	var found []mention
	for _, text := range proseOf(body) {
		for _, m := range markup.FindAllStringSubmatch(text, -1) {
			found = append(found, mention{markup: m[0], kind: m[1], id: m[2]})
		}
	}
	return found
}

// visibleLength returns the number of characters of a body without its mentions.
func visibleLength(body string) int {
	n := utf8.RuneCountInString(body)
	for _, m := range mentionsIn(body) {
		n -= utf8.RuneCountInString(m.markup)
	}
	return n
}

// usersMentioned lists the users whom a comment mentions and who have access to its
// venue, each once. A mention calls a user "user" or "profile".
func (h *Handlers) usersMentioned(cm *Comment) []string {
	var users []string
	for _, m := range mentionsIn(cm.Body) {
		if (m.kind == "user" || m.kind == "profile") && h.hasAccess(m.id, cm.venue()) && !slices.Contains(users, m.id) {
			users = append(users, m.id)
		}
	}
	return users
}

// hasAccess reports whether a user has access to what comments are on: on a File Share by
// a grant or as a manager, elsewhere by a role in the profile.
func (h *Handlers) hasAccess(userID string, at world.Venue) bool {
	if f := h.w.FileShare(at.FileShare); f != nil {
		// AdmitsTo would admit all users to an open File Share: only a grant or a role counts.
		named := *f
		named.Access = world.NamedPeople
		return h.w.User(userID) != nil && h.w.AdmitsTo(&named, userID)
	}
	return h.w.Role(at.Profile, userID) != ""
}

// withoutControls removes control characters, but not tabs and line ends.
func withoutControls(body string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' {
			return -1
		}
		return r
	}, body)
}

// proseOf lists the parts of a body that are not markdown code: a fenced block up
// to its closing fence or the end, and a span of backticks in one line. A fence has at
// most three spaces before its marks. So code that is only indented, and fenced code in
// a quote (behind >), are listed as text.
func proseOf(body string) []string {
	var prose []string
	mark, length := byte(0), 0 // of the open fence
	for line := range strings.FieldsFuncSeq(body, func(r rune) bool { return r == '\n' || r == '\r' }) {
		character, n, rest := fenceMarks(line)
		isSpan := character == '`' && strings.Contains(rest, "`") // such as ```code```: it ends in its line
		switch {
		case length > 0: // in a fenced block
			if character == mark && n >= length && strings.TrimSpace(rest) == "" {
				length = 0
			}
		case n >= 3 && !isSpan: // the line begins a fenced block
			mark, length = character, n
		default:
			prose = append(prose, outsideSpans(line)...)
		}
	}
	return prose
}

// fenceMarks returns the character with which a line begins behind up to three spaces,
// if it is a backtick or tilde, how often it stands there, and the rest of the line.
func fenceMarks(line string) (mark byte, n int, rest string) {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || text == "" || text[0] != '`' && text[0] != '~' {
		return 0, 0, ""
	}
	rest = strings.TrimLeft(text, text[:1])
	return text[0], len(text) - len(rest), rest
}

// outsideSpans returns the parts of a line between its spans of code. A span begins and
// ends with the same number of backticks.
func outsideSpans(line string) []string {
	var parts []string
	begin := 0
	for i := 0; i < len(line); {
		n := ticks(line[i:]) // backticks at i
		if n == 0 {
			i++
		} else if end := spanEnd(line, i+n, n); end > 0 {
			parts = append(parts, line[begin:i])
			begin, i = end, end
		} else {
			i += n
		}
	}
	return append(parts, line[begin:])
}

// spanEnd returns where the next run of exactly n backticks ends, 0 when there is none.
func spanEnd(line string, from, n int) int {
	for i := from; i < len(line); {
		switch run := ticks(line[i:]); run {
		case 0:
			i++
		case n:
			return i + n
		default:
			i += run
		}
	}
	return 0
}

func ticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// isEmoji reports whether a text is one emoji: a picture with its modifiers, several pictures
// with joiners between them, a flag or a keycap.
func isEmoji(s string) bool {
	runes := []rune(s)
	if len(runes) == 2 && isRegional(runes[0]) && isRegional(runes[1]) || isKeycap(runes) {
		return true
	}
	needsPicture := true // at the start and behind a joiner
	for _, r := range runes {
		switch {
		case needsPicture && isPicture(r):
			needsPicture = false
		case !needsPicture && r == joiner:
			needsPicture = true
		case !needsPicture && isModifier(r):
		default:
			return false
		}
	}
	return len(runes) > 0 && !needsPicture
}

const joiner, variation, keycap = '\u200d', '\ufe0f', '\u20e3'

// isKeycap reports whether a text is a key: a digit, # or *, then perhaps the selector
// of the emoji form, then the enclosing keycap.
func isKeycap(runes []rune) bool {
	n := len(runes)
	return n >= 2 && n <= 3 && strings.ContainsRune("0123456789#*", runes[0]) &&
		runes[n-1] == keycap && (n == 2 || runes[1] == variation)
}

// isModifier reports whether a rune modifies the picture before it.
func isModifier(r rune) bool { return r == variation || isTone(r) || r >= 0xe0020 && r <= 0xe007f }

func isTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

func isRegional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// isPicture reports whether a rune is a picture by itself: a symbol, a mathematical one in
// the blocks from Arrows to Geometric Shapes, or one of three punctuation marks. A half of
// a flag and a tone of skin are not.
func isPicture(r rune) bool {
	if isRegional(r) || isTone(r) {
		return false
	}
	const firstArrow, lastShape = 0x2190, 0x25ff // the bounds of these blocks
	isMathPicture := unicode.Is(unicode.Sm, r) && r >= firstArrow && r <= lastShape
	return unicode.Is(unicode.So, r) || isMathPicture || r == '‼' || r == '⁉' || r == '〰'
}
