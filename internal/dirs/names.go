package dirs

import (
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
func Allowed(name string) bool {
	switch {
	case name == "", name == ".", name == "..", !utf8.ValidString(name), utf8.RuneCountInString(name) > longest,
		strings.HasSuffix(name, " "), strings.HasSuffix(name, "."):
		return false
	}
	return !strings.ContainsFunc(name, refused)
}

// refused reports whether the platform refuses a character: a separator, a control
// character, or one without width or that changes the direction of text.
func refused(r rune) bool {
	switch {
	case r == '/', r == '\\', unicode.IsControl(r), r == '\ufeff', r >= '\u200b' && r <= '\u200f',
		r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	}
	return false
}

// Clean returns an allowed name made from name.
func Clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if refused(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if utf8.RuneCountInString(name) > longest {
		extension := []rune(path.Ext(name))
		if len(extension) > longest/2 {
			extension = nil
		}
		name = string([]rune(name)[:longest-len(extension)]) + string(extension)
	}
	trimmed := strings.TrimRight(name, " .")
	return trimmed + strings.Repeat("_", len(name)-len(trimmed)) // "..." becomes "___"
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

// Rules are those of the names in a tree of folders.
type Rules struct {
	Allowed func(name string) bool
	Clean   func(name string) string // nil: other names are reported
}

// Names holds the names of one folder, in the form of fold.
type Names map[string]bool

// Add returns the name that an entry gets in the folder: its own, or with Clean another
// one that is allowed and not taken. Errors: [api.ErrName], [api.ErrNameTaken].
func (f Names) Add(name string, rules Rules) (string, error) {
	if !rules.Allowed(name) {
		if rules.Clean == nil {
			return "", api.ErrName
		}
		name = rules.Clean(name)
	}
	extension := path.Ext(name)
	base, unique := strings.TrimSuffix(name, extension), name
	for n := 2; f[fold(unique)]; n++ {
		if rules.Clean == nil {
			return "", api.ErrNameTaken
		}
		number := " (" + strconv.Itoa(n) + ")"
		room := longest - len(number) - utf8.RuneCountInString(extension)
		if r := []rune(base); len(r) > room {
			base = string(r[:max(room, 0)])
		}
		unique = base + number + extension
	}
	f[fold(unique)] = true
	return unique, nil
}
