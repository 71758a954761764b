// Package drift compares responses with the types that they are decoded into: what they
// have and the types have not.
package drift

import "cmp"

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

// Sight is what a response has.
type Sight struct {
	Seen        []Place // typed members that it holds, under any of their names
	Missing     []Place // typed members that none of its objects of their type holds
	Differences []Difference
}

// maxDifferences is the most that is found in one response. A map that is believed to be an
// object has a difference for each of its keys.
const maxDifferences = 1000

// Look compares a response with the type of out, the argument of a call, which is not
// changed. Only envelopes are compared: a text has no members, and a type of the program need
// not have all of them.
//
// The response is read once, whatever its size; of a list with more than 100 elements the
// first 100, and then one of 100.
//
// A value that the strict decoding accepts is no difference, since that is how types document
// their other forms: an [api.Time] of any layout, an [api.Bool] that is "yes", an empty list
// for an [api.Map]. Nor is null, a text in place of an object whose type has a field for it,
// or a member under another of its names. What only the lenient decoding accepts is one.
func Look(out any, body []byte) Sight {
	l := newLooker(body)
	l.response(out)
	return l.sight()
}

// Differences returns those of [Look].
func Differences(out any, body []byte) []Difference {
	l := newLooker(body)
	l.response(out)
	return l.differences
}
