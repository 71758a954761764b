package comments

import (
	"strings"
	"unicode"

	"github.com/fastio-go/fastio/api"
)

// Mention returns the markup that mentions a user in the body of a comment, with the
// name to show: "@[user:4012345678901234567:Ada Lovelace]". In the name, brackets
// become parentheses, a backtick an apostrophe, and control characters blanks, so that
// [api.Mentions] finds the mention. With an ID that is not one it returns the name.
func Mention(user api.ProfileID, name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			return '('
		case r == ']':
			return ')'
		case r == '`': // two of them would make code of what is between
			return '\''
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, string(unicode.ReplacementChar)))
	if user == "" || strings.ContainsFunc(string(user), func(r rune) bool {
		return r != '-' && r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	}) {
		return name
	}
	return api.Mention{Kind: api.MentionKindUser, ID: string(user), Name: name}.String()
}
