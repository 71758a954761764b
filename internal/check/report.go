package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A Report is what a run has found, without a value of the platform: names that the SDK
// has, names of unknown members, words of unknown values, kinds, statuses and codes.
type Report struct {
	Header     Header                `json:"header"`
	Operations map[string]*Operation `json:"operations"` // by method and path
	Limits     Limits                `json:"limits"`
	Words      []string              `json:"words"` // of responses that this report holds
}

// A Header is what differs between two runs that have found the same.
type Header struct {
	SDK      string `json:"sdk"`
	Go       string `json:"go"`
	System   string `json:"system"`
	Platform string `json:"platform"` // "fast.io" or "another address"
	Day      string `json:"day"`
	Seconds  int    `json:"seconds"`
	Finished bool   `json:"finished"`
}

// An Outcome is what became of an operation.
type Outcome string

// Outcomes of operations.
const (
	AsBelieved Outcome = "as believed"
	Different  Outcome = "different"
	NotReached Outcome = "not reached"
)

// An Operation is what was found of an endpoint.
type Operation struct {
	Op      string  `json:"operation"`
	Area    string  `json:"area"`
	Source  string  `json:"source"` // of the SDK's knowledge: S, W or A, as in the table of endpoints
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitzero"` // why it was not reached

	Forms       map[Form]*FormResult `json:"forms,omitzero"`
	Differences []Difference         `json:"differences,omitzero"`
	Never       []string             `json:"never,omitzero"` // members with a field that no response held
	Envelope    []string             `json:"envelope,omitzero"`
	Path        string               `json:"assumed_path,omitzero"` // of source A
	Names       *Names               `json:"assumed_names,omitzero"`
}

// A FormResult is how one form of a call was answered.
type FormResult struct {
	Calls    string  `json:"calls"` // roughly
	Statuses []int   `json:"statuses"`
	Codes    []int64 `json:"codes,omitzero"` // of errors
}

// Names are what became of assumed names. Those of requests are not seen: a platform that
// ignores unknown parameters accepts them too.
type Names struct {
	Confirmed []string `json:"confirmed,omitzero"`
	Refuted   []string `json:"refuted,omitzero"`
	NotSeen   []string `json:"not_seen,omitzero"`
}

// A Difference is one between a response and what the SDK believes.
type Difference struct {
	Kind   Kind   `json:"kind"`
	Form   Form   `json:"form,omitzero"`
	Type   string `json:"type,omitzero"`
	Member string `json:"member,omitzero"`
	Want   string `json:"want,omitzero"`
	Got    string `json:"got,omitzero"`
}

// Kind is what is different.
type Kind string

// Kinds of differences, worst first.
const (
	KindPath     Kind = "path"     // the platform has no such endpoint
	KindRequest  Kind = "request"  // a field of a request is refused
	KindStatus   Kind = "status"   // another HTTP status
	KindDecode   Kind = "decode"   // the response cannot be decoded
	KindEnvelope Kind = "envelope" // another envelope
	KindError    Kind = "error"    // another form of an error, or another code
	KindShape    Kind = "shape"    // a JSON value of another kind
	KindPaging   Kind = "paging"   // a page with too many rows, or the same rows again
	KindLevel    Kind = "level"    // a lower level of output has more members
	KindValue    Kind = "value"    // a value of an enumeration without a constant
	KindUnknown  Kind = "unknown"  // a member that no field takes
)

// Kinds returns the kinds, worst first.
func Kinds() []Kind {
	return []Kind{
		KindPath, KindRequest, KindStatus, KindDecode, KindEnvelope, KindError, KindShape, KindPaging, KindLevel, KindValue,
		KindUnknown,
	}
}

// compare orders differences by kind, then by the place and what was found.
func (d Difference) compare(other Difference) int {
	rank := func(k Kind) int { return slices.Index(Kinds(), k) }
	return cmp.Or(
		cmp.Compare(rank(d.Kind), rank(other.Kind)), cmp.Compare(d.Type, other.Type),
		cmp.Compare(d.Member, other.Member), cmp.Compare(d.Form, other.Form), cmp.Compare(d.Want, other.Want),
		cmp.Compare(d.Got, other.Got),
	)
}

// Limits are what is known of rate limits.
type Limits struct {
	Headers    []string `json:"headers,omitzero"`    // their names
	Operations []string `json:"operations,omitzero"` // whose responses have them
	CountedBy  string   `json:"counted_by"`          // "credential", "address", "unclear" or "not seen"
}

// Different returns the number of operations that are.
func (r *Report) Different() int { return r.count(allAreas, Different) }

// Reached returns the number of operations that are different or as believed.
func (r *Report) Reached() int { return r.count(allAreas, anyOutcome) - r.count(allAreas, NotReached) }

// Keys returns the keys of the endpoints, sorted by area, then by key.
func (r *Report) Keys() []string {
	return slices.SortedFunc(maps.Keys(r.Operations), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Operations[a].Area, r.Operations[b].Area), cmp.Compare(a, b))
	})
}

// Areas returns the names of the areas.
func (r *Report) Areas() []string {
	areas := map[string]bool{}
	for _, o := range r.Operations {
		areas[o.Area] = true
	}
	return slices.Sorted(maps.Keys(areas))
}

const allAreas, anyOutcome = "", "" // for count

// count returns the number of operations of an area with an outcome.
func (r *Report) count(area string, of Outcome) int {
	n := 0
	for _, o := range r.Operations {
		if (area == allAreas || o.Area == area) && (of == anyOutcome || o.Outcome == of) {
			n++
		}
	}
	return n
}

// membersNeverSeen returns the members for which the SDK has a field, but which no response
// of an operation held, each with its operations.
func (r *Report) membersNeverSeen() []Finding {
	ops := map[string][]string{}
	for _, key := range r.Keys() {
		o := r.Operations[key]
		for _, member := range o.Never {
			if !slices.Contains(ops[member], o.Op) {
				ops[member] = append(ops[member], o.Op)
			}
		}
	}
	var all []Finding
	for _, member := range slices.Sorted(maps.Keys(ops)) {
		all = append(all, Finding{strings.TrimPrefix(member, "."), ops[member]}) // ".name" is a member of the envelope
	}
	return all
}
