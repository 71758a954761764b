package check

import (
	"net/http"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/internal/drift"
	"github.com/fastio-go/fastio/internal/facts"
)

// rowsByKey returns the rows of the table of endpoints, by method and path.
func rowsByKey() map[string]facts.Endpoint {
	all := map[string]facts.Endpoint{}
	for _, e := range facts.Endpoints() {
		all[e.Method+" "+e.Path] = e
	}
	return all
}

const (
	confirmed = "confirmed"
	refuted   = "refuted"
	notSeen   = "not seen"
)

// assumedPath returns whether an assumed path was confirmed, refuted or not seen; "" for
// a path of a documented endpoint. The source of a row is "A" if its path is assumed.
func assumedPath(source string, calls []*seen) string {
	if source != "A" {
		return ""
	}
	for _, s := range calls {
		if s.fault != nil && s.Status == http.StatusNotFound && s.fault.code == codes.NoEndpoint {
			return refuted
		}
	}
	known := func(s *seen) bool { return s.succeeded() || s.fault != nil && s.fault.code != 0 }
	if slices.ContainsFunc(calls, known) {
		return confirmed
	}
	return notSeen
}

// assumedNames returns what the responses of an operation say of its assumed names, which
// no document of the platform shows: which of them they confirm and which they refute.
func assumedNames(row facts.Endpoint, calls []*seen) *Names {
	request, response := facts.Assumed(row.MethodName())
	if len(request)+len(response) == 0 {
		return nil
	}
	isRefuted, isSeen := refutedNames(calls), map[string]bool{}
	for _, s := range calls {
		for _, p := range s.sight.Seen {
			isSeen[bare(p.Member)] = true
		}
	}
	n := &Names{NotSeen: request} // no response has the names of requests
	for _, assumed := range response {
		switch {
		case isRefuted[assumed]:
			n.Refuted = append(n.Refuted, assumed)
		case isSeen[assumed]:
			n.Confirmed = append(n.Confirmed, assumed)
		default:
			n.NotSeen = append(n.NotSeen, assumed)
		}
	}
	return n
}

// refutedNames returns the names of members that are likely to be wrong: no response of an
// operation held the member, but an object of its type had an unknown member with a similar
// name. With a field for "size", a response with "size_bytes" refutes "size".
func refutedNames(calls []*seen) map[string]bool {
	isSeen := map[drift.Place]bool{}
	unknown := map[string][]string{} // members without a field, by type
	for _, s := range calls {
		for _, p := range s.sight.Seen {
			isSeen[p] = true
		}
		for _, d := range s.sight.Differences {
			if d.Kind == drift.KindUnknown {
				unknown[d.Type] = append(unknown[d.Type], d.Member)
			}
		}
	}
	refuted := map[string]bool{}
	for _, s := range calls {
		for _, p := range s.sight.Missing {
			name := bare(p.Member)
			isSimilar := func(other string) bool { return mayStandFor(name, other) }
			if !isSeen[p] && slices.ContainsFunc(unknown[p.Type], isSimilar) {
				refuted[name] = true
			}
		}
	}
	return refuted
}

// bare returns the name of a member without the marks of elements.
func bare(member string) string { return strings.TrimRight(member, "[]{}") }

// mayStandFor reports whether an unknown name may stand for an assumed one: the unknown name
// begins with the assumed one, or has a word in common with it.
func mayStandFor(assumed, unknown string) bool {
	const least = 4 // letters; shorter ones, such as id, are in too many names
	words := strings.Split(unknown, "_")
	return strings.HasPrefix(unknown, assumed) ||
		slices.ContainsFunc(strings.Split(assumed, "_"), func(word string) bool {
			return len(word) >= least && slices.Contains(words, word)
		})
}

// vocabulary returns the words in the paths and operations of the endpoints. They are
// words of the API, not of a user, so a report may show them.
func vocabulary() map[string]bool {
	all := map[string]bool{}
	for _, e := range facts.Endpoints() {
		for _, word := range strings.FieldsFunc(e.Path+" "+strings.ToLower(e.Op), func(r rune) bool {
			return strings.ContainsRune("/{}.- ", r)
		}) {
			all[word] = true
		}
	}
	return all
}
