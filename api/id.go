package api

import (
	"strings"
	"unicode/utf8"
)

// OpaqueID identifies a file, folder, note, version, event, comment, thread, turn,
// upload or other object.
//
// Its length and first letters have no reliable meaning. The platform returns the
// same ID with and without hyphens: compare IDs with [OpaqueID.Equal], and use the
// form of [OpaqueID.Plain] as a map key.
type OpaqueID string

// Aliases of folders in every storage, in place of the ID of a folder whose content is
// listed or changed. A method for one node accepts an alias only if its comment says so.
const (
	Root  OpaqueID = "root"  // the top folder
	Trash OpaqueID = "trash" // the folder of deleted nodes
)

// idPadding are characters around an ID that are ignored.
const idPadding = " \t\r\n-"

// Equal reports whether two IDs are equal, without hyphens, letter case and
// surrounding blanks.
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

// Plain returns the ID in its wire format: in lower case, without hyphens and
// surrounding blanks.
func (id OpaqueID) Plain() string {
	s := strings.Trim(string(id), idPadding)
	i := 0 // the first byte to change: most IDs have none, and are returned without a copy
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

// Hyphenated returns the ID for display: its plain form with a hyphen after every
// five characters. [Root] and [Trash] are unchanged.
func (id OpaqueID) Hyphenated() string {
	const group = 5
	s := id.Plain()
	if len(s) <= group { // as that of Root and Trash
		return s
	}
	b := make([]byte, 0, len(s)+(len(s)-1)/group)
	characters := 0 // before s[i]
	for i := range len(s) {
		if utf8.RuneStart(s[i]) {
			if characters > 0 && characters%group == 0 {
				b = append(b, '-')
			}
			characters++
		}
		b = append(b, s[i])
	}
	return string(b)
}

// lowerASCII returns the lower-case letter of an upper-case one, and any other
// byte as it is.
func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// ID identifies a user, an organization, a workspace, a share or a File Share: 19
// digits, too many for a float64.
//
// An argument in the path of a request may also be a custom name, unless its method
// says otherwise: the folder name of a workspace, the URL name of a share, the
// domain of an organization. [Me] means the ID of the caller. Filters of a search,
// comments, room tokens and a transfer of ownership require the ID. Where a user may also
// be named by an e-mail address, the argument is a [Person].
//
// A File Share has no custom name. Its own calls and those on its comments accept
// its public ID (29 or 30 characters) as well as the ID.
type ID string

// Me means the ID of the signed-in user.
const Me ID = "me"

// Person is a user, named by an ID of 19 digits or an e-mail address, or [Me]:
//
//	err := client.Members.Remove(ctx, api.Workspace(id), "bo@example.com")
//	err = client.Members.Remove(ctx, api.Workspace(id), api.Person(member.ID))
//
// It is checked before a request is sent: any other text, and none, is an
// [*InputError].
type Person string
