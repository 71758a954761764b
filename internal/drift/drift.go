// Package drift compares responses with the types that they are decoded into: what they
// have and the types have not.
package drift

import (
	"cmp"
	"strings"
)

//go:generate go run ./gen

// A Place is a member of responses.
type Place struct {
	Type   string // the Go type that has the member, such as "comments.Comment"; "" is the envelope
	Member string // its name on the wire; "links[]" and "options{}" are the elements of a list and of a map
}

// Compare orders places by type and member.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Type, other.Type), cmp.Compare(p.Member, other.Member))
}

// Kind is what is different.
type Kind string

// Kinds of differences.
const (
	KindUnknown Kind = "unknown" // a member that no field takes
	KindValue   Kind = "value"   // a text without a constant
	KindShape   Kind = "shape"   // a JSON value of another kind
)

// A Difference is what a response has and the SDK does not know.
type Difference struct {
	Place
	Kind Kind

	// Of a [KindShape], the documented and the received JSON kind: "string", "number",
	// "integer", "bool", "list", "object", or "time" for a text that is one. Of a
	// [KindValue], Got is the value.
	Want, Got string
}

// Named returns d without what may be data of a user, so that it can be reported. It keeps only
// names: at most 64 letters, digits and "_.:-", without five digits in a row. An unknown
// member with another text, which may be the key of a map, is called "*". The value of a
// [KindValue] is kept only if it has the form of a constant as well, 2 to 32 bytes in lower case
// that begin with a letter; else it is "".
func (d Difference) Named() Difference {
	switch d.Kind {
	case KindValue:
		beginsWithLetter := d.Got != "" && 'a' <= d.Got[0] && d.Got[0] <= 'z'
		isLower := d.Got == strings.ToLower(d.Got)
		if !beginsWithLetter || !isLower || len(d.Got) < 2 || !isName(d.Got, 32) {
			d.Got = ""
		}
	case KindUnknown:
		if !isName(d.Member, 64) {
			d.Member = "*"
		}
	default:
	}
	return d
}

// isName reports whether a text can be the name of a member, and not the data of a user: it
// consists of at most maxBytes letters, digits and some signs, and has at most four digits in a
// row.
func isName(text string, maxBytes int) bool {
	digits := 0
	for _, c := range text {
		switch {
		case '0' <= c && c <= '9':
			digits++
			if digits == 5 {
				return false
			}
			continue
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', strings.ContainsRune("_.:-", c):
		default:
			return false
		}
		digits = 0
	}
	return text != "" && len(text) <= maxBytes
}

// Sight is what a response has.
type Sight struct {
	Seen        []Place // typed members that it holds, under any of their names
	Missing     []Place // typed members that none of its objects of their type holds
	Differences []Difference
}

// maxDifferences is the most that is found in one response. A map that is believed to be an
// object has a difference for each of its keys.
const maxDifferences = 1000

// Look compares a response with the type of out, the value that a call decodes the response
// into. Look does not change out. It compares only if out is a type of the SDK
// ([decode.Envelope]): a program that passes a type of its own need not declare all members.
//
// The response is read once, whatever its size. Of a list the first 100 elements are
// compared, and of the others one in 100.
//
// A value that the strict decoding accepts is not reported. A type that is documented to have
// several forms has a JSON method that reads them all: an [api.Time] of any layout, an
// [api.Bool] that is "yes", an empty list for an [api.Map]. A value that only the lenient
// decoding accepts is a difference, except for
//
//   - null
//   - a text in place of an object, if the type of the object has a field for the text
//   - a member under another of its names
//   - a member of a type without fields but Extra, whose shape is documented as unknown
func Look(out any, body []byte) Sight {
	l := newLooker(body)
	l.response(out)
	return l.result()
}

// Differences returns only the differences that [Look] finds between a response and the type of
// out.
func Differences(out any, body []byte) []Difference {
	l := newLooker(body)
	l.response(out)
	return l.differences
}
