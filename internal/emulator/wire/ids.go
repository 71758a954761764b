package wire

import (
	"strings"
)

// Lengths of ids.
const (
	OpaqueLen  = 29
	ProfileLen = 19
	WordLen    = 13 // digits of a 64-bit word in base 36
)

// IsProfile reports whether id has the form of the id of a profile.
func IsProfile(id string) bool {
	if len(id) != ProfileLen {
		return false
	}
	for i := range len(id) {
		if id[i] < '0' || id[i] > '9' {
			return false
		}
	}
	return true
}

// Plain is the stored form of an opaque id: no hyphens, lower case.
func Plain(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }

// IsOpaque reports whether a plain id has the form the platform accepts.
func IsOpaque(id string) bool {
	if len(id) != OpaqueLen && len(id) != OpaqueLen+1 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// Hyphenated is the display form: a hyphen after every five characters.
func Hyphenated(id string) string {
	b := make([]byte, 0, len(id)+len(id)/5)
	for i := range len(id) {
		if i > 0 && i%5 == 0 {
			b = append(b, '-')
		}
		b = append(b, id[i])
	}
	return string(b)
}
