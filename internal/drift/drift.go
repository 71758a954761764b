// Package drift compares responses with what the SDK believes of them.
package drift

import "cmp"

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
	KindValue   Kind = "value"   // a value without a constant
	KindShape   Kind = "shape"   // a JSON value of another kind
)

// A Difference is what a response has and the SDK does not know.
type Difference struct {
	Place
	Kind Kind

	// Want and Got are JSON kinds, of a [KindShape]: "string", "number", "integer", "bool",
	// "list", "object", "null" or "time". Of a [KindValue], Got is the value.
	Want, Got string
}

// Sight is what a response holds.
type Sight struct {
	Seen        []Place // typed members that it holds
	Missing     []Place // typed members of its objects that none of these objects holds
	Differences []Difference
}

// Look compares a response with the type of out, the argument of api.Caller. It does
// not change out.
func Look(out any, body []byte) Sight {
	_, _ = out, body
	return Sight{}
}
