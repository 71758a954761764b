package durable

import "strings"

const (
	partialSuffix  = ".fastio-partial"
	partialLetters = 12 // of the key, between the name and the suffix
)

// IsPartial reports whether name, a path element, is that of the incomplete content
// of a file: ".", the name of the file, ".", 12 letters and ".fastio-partial".
func IsPartial(name string) bool {
	rest, ok := strings.CutSuffix(name, partialSuffix)
	if !ok || len(rest) < len(".x.")+partialLetters || rest[0] != '.' {
		return false
	}
	name, key := rest[:len(rest)-partialLetters], rest[len(rest)-partialLetters:]
	return strings.HasSuffix(name, ".") && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz") == ""
}
