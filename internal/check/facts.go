package check

import (
	"net/http"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/internal/drift"
	"github.com/fastio-go/fastio/internal/facts"
)

// rowOf returns the row of an endpoint.
func rowOf(r Read) facts.Endpoint {
	for _, e := range facts.Endpoints() {
		if e.Method == r.Method && e.Path == r.Path {
			return e
		}
	}
	return facts.Endpoint{Op: r.Op}
}

const (
	confirmed = "confirmed"
	refuted   = "refuted"
	notSeen   = "not seen"
)

// assumedPath says whether the platform has the endpoint of a row of source A.
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

// assumedNames says which assumed names of an operation its responses hold. One is refuted
// if its object came without it, and with a member that no field takes and whose name has a
// word of the assumed one.
func (c *comparison) assumedNames(row facts.Endpoint, calls []*seen) *Names {
	request, response := facts.Assumed(row.MethodName())
	if len(request)+len(response) == 0 {
		return nil
	}
	held, without := map[string]bool{}, map[string]bool{}
	strange := map[string][]string{} // members without a field, by type
	name := func(member string) string { return strings.TrimRight(member, "[]{}") }
	for _, s := range calls {
		for _, p := range s.sight.Seen {
			held[name(p.Member)] = true
		}
		for _, d := range s.sight.Differences {
			if d.Kind == drift.KindUnknown {
				strange[d.Type] = append(strange[d.Type], d.Member)
			}
		}
	}
	for _, s := range calls {
		for _, p := range s.sight.Missing {
			alike := func(other string) bool { return shareWord(name(p.Member), other) }
			without[name(p.Member)] = without[name(p.Member)] || slices.ContainsFunc(strange[p.Type], alike)
		}
	}
	n := &Names{NotSeen: request}
	for _, assumed := range response {
		switch {
		case held[assumed]:
			n.Confirmed = append(n.Confirmed, assumed)
		case without[assumed]:
			n.Refuted = append(n.Refuted, assumed)
		default:
			n.NotSeen = append(n.NotSeen, assumed)
		}
	}
	return n
}

// shareWord reports whether two names have a word in common.
func shareWord(a, b string) bool {
	const least = 4 // letters; shorter ones, such as id, are in too many names
	words := strings.Split(b, "_")
	return slices.ContainsFunc(strings.Split(a, "_"), func(word string) bool {
		return len(word) >= least && slices.Contains(words, word)
	})
}

// vocabulary are the words of the table of endpoints: no person has chosen them.
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
