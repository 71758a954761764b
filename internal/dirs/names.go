package dirs

import (
	"cmp"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/fastio-go/fastio/api"
)

const longest = 255 // characters

// Allowed reports whether the platform accepts a name.
func Allowed(name string) bool { return Rule(name) == "" }

// Rule returns the rule of the platform that a name breaks, "" if there is none.
func Rule(name string) string {
	last, _ := utf8.DecodeLastRuneInString(name)
	switch n := utf8.RuneCountInString(name); {
	case !utf8.ValidString(name):
		return "must be UTF-8"
	case n < 1 || n > longest:
		return "must have 1 to 255 characters"
	case strings.ContainsAny(name, `/\`):
		return "must have no slash or backslash"
	case strings.ContainsFunc(name, invisible):
		return "must have no control characters or invisible ones"
	case trailing(last):
		return "must not end in a blank or a dot"
	}
	return ""
}

// invisible reports whether a character is a control, has no width, or changes the
// direction of text.
func invisible(r rune) bool {
	return unicode.IsControl(r) || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e ||
		r >= 0x2066 && r <= 0x2069 || r == 0xfeff
}

// trailing reports whether a character must not be the last one.
func trailing(r rune) bool { return r == '.' || unicode.IsSpace(r) }

// Clean returns an allowed name made from name. Separators, invisible characters and
// dots or blanks at the end become underscores; a name that is too long is cut before
// its extension.
func Clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || invisible(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = Shorten(name, longest)
	trimmed := strings.TrimRightFunc(name, trailing)
	return trimmed + strings.Repeat("_", utf8.RuneCountInString(name[len(trimmed):])) // "..." becomes "___"
}

// Shorten cuts a name before its extension if it has more than most characters.
func Shorten(name string, most int) string {
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	base, extension := split(name, most)
	return string(base[:most-len(extension)]) + string(extension)
}

// split returns the base and the extension of a name that is to be shortened to most
// characters. An extension of more than most/2 characters counts as part of the base.
func split(name string, most int) (base, extension []rune) {
	extension = []rune(path.Ext(name))
	if len(extension) > most/2 {
		extension = nil
	}
	all := []rune(name)
	return all[:len(all)-len(extension)], extension
}

// fold returns the form of a name that is the same for all names that differ only by case
// or Unicode form.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, norm.NFC.String(name))
}

// Rules are the rules for the names in a tree of folders.
type Rules struct {
	Longest int // characters of an allowed name; 0 means 255
	Allowed func(name string) bool
	Clean   func(name string) string // nil: other names are reported
}

// Names holds the names of one folder, in the form of fold.
type Names map[string]bool

// Add returns the name that an entry gets in the folder: its own, or with Clean another
// one that is allowed and not taken. Errors: [api.ErrName], [api.ErrNameTaken].
func (f Names) Add(name string, rules Rules) (string, error) {
	most := cmp.Or(rules.Longest, longest)
	isTooLong := rules.Longest > 0 && utf8.RuneCountInString(name) > most // else Allowed checks the length
	if isTooLong || !rules.Allowed(name) {
		if rules.Clean == nil {
			return "", api.ErrName
		}
		name = rules.Clean(Shorten(name, most))
	}
	base, extension := split(name, most)
	unique := name
	for n := 2; f[fold(unique)]; n++ {
		if rules.Clean == nil {
			return "", api.ErrNameTaken
		}
		number := " (" + strconv.Itoa(n) + ")"
		base = base[:min(len(base), most-len(number)-len(extension))]
		unique = string(base) + number + string(extension)
	}
	f[fold(unique)] = true
	return unique, nil
}
