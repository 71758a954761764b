package api

import (
	"strings"
	"unicode/utf8"
)

// OpaqueID names what the platform stores: a file, folder, note, version,
// event, comment, chat, upload and more.
//
// Its length and its first letters tell nothing reliable. The same ID is
// written with hyphens in one answer and without in the next, so two of them
// are compared with [OpaqueID.Equal] and used as a map key in the form that
// [OpaqueID.Plain] returns.
type OpaqueID string

// Two names stand for folders that every storage has.
const (
	Root  OpaqueID = "root"  // the folder that holds all others
	Trash OpaqueID = "trash" // the folder of what was deleted
)

// idPadding is what may surround an ID without being part of it.
const idPadding = " \t\r\n-"

// Equal reports whether both name the same thing, whatever hyphens, letter
// case and surrounding blanks they are written with.
func (id OpaqueID) Equal(other OpaqueID) bool {
	if id == other {
		return true
	}
	a, b := strings.Trim(string(id), idPadding), strings.Trim(string(other), idPadding)
	for {
		a, b = strings.TrimLeft(a, "-"), strings.TrimLeft(b, "-")
		if a == "" || b == "" {
			return a == b
		}
		if lowerASCII(a[0]) != lowerASCII(b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// Plain returns the ID as it is sent: in lower case, without hyphens and
// surrounding blanks.
func (id OpaqueID) Plain() string {
	s := strings.Trim(string(id), idPadding)
	i := 0
	for i < len(s) && s[i] != '-' && (s[i] < 'A' || s[i] > 'Z') {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	for ; i < len(s); i++ {
		if s[i] != '-' {
			b.WriteByte(lowerASCII(s[i]))
		}
	}
	return b.String()
}

// Hyphenated returns the ID as it is shown to people: its plain form with a
// hyphen after every five characters. [Root] and [Trash] stay as they are.
func (id OpaqueID) Hyphenated() string {
	const group = 5
	s := id.Plain()
	if len(s) <= group {
		return s
	}
	b := make([]byte, 0, len(s)+(len(s)-1)/group)
	n := 0
	for i := range len(s) {
		if utf8.RuneStart(s[i]) {
			if n > 0 && n%group == 0 {
				b = append(b, '-')
			}
			n++
		}
		b = append(b, s[i])
	}
	return string(b)
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// ProfileID names a user, an organization, a workspace, a share or a File
// Share: 19 digits, too many for a float64.
//
// An argument that names a profile in the path of a request accepts its custom
// name as well, unless its method says otherwise: the folder name of a workspace,
// the URL name of a share, the domain of an organization, the e-mail address of a
// user. [Me] stands for the ID of the caller. Filters of a search, comments and
// room tokens accept the ID alone.
//
// A File Share has no custom name. Its own calls and those on its comments accept
// its public ID (29 or 30 characters) as well as the ID.
type ProfileID string

// Me stands for the signed-in user's own ID.
const Me ProfileID = "me"
