package check

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// limitsOf returns what the responses say of rate limits: the names of the headers with
// "Limit" in them, the operations that have any, and what a limit is counted by. A name that
// is long or has digits is left out, because it may hold data of a user.
func limitsOf(exchanges []Exchange) Limits {
	headers, ops := map[string]bool{}, map[string]bool{}
	for _, e := range exchanges {
		for name := range e.Header {
			name = http.CanonicalHeaderKey(name)
			if strings.Contains(name, "Limit") && headerWord.MatchString(name) {
				headers[name], ops[e.Op] = true, true
			}
		}
	}
	return Limits{slices.Sorted(maps.Keys(headers)), slices.Sorted(maps.Keys(ops)), countedBy(exchanges)}
}

// isLimitHeader reports whether a header is one of the limits of the platform, by its name.
func isLimitHeader(name string) bool {
	is := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.ContainsFunc([]string{"X-Ve-Limit-", "X-Rate-Limit-", "X-Ratelimit-"}, is)
}

// countedBy returns what a rate limit is counted by: "credential" or "address" (of the
// client), "unclear" or "not seen". A trial is three calls: one with the credential, one without
// it, and another one with it. What is left of the limit falls by 1 from the first to the last,
// or by 2 if the limit counts the call without the credential too.
func countedBy(exchanges []Exchange) string {
	votes := map[string]int{}
	for i := 2; i < len(exchanges); i++ {
		before, between, after := exchanges[i-2], exchanges[i-1], exchanges[i]
		trial := before.Form == FormLimit && between.Form == FormLimitOther && after.Form == FormLimit
		if !trial || before.Rate.Limit == 0 || after.Rate.Limit == 0 {
			continue
		}
		if before.Attempts+between.Attempts+after.Attempts > 3 { // one was sent again, which counts too
			continue
		}
		switch before.Rate.Remaining - after.Rate.Remaining {
		case 1: // the last call
			votes["credential"]++
		case 2: // the last call, and the one without the credential
			votes["address"]++
		default: // another program, or a new window
		}
	}
	switch {
	case len(votes) == 0:
		return "not seen"
	case len(votes) > 1:
		return "unclear"
	case votes["credential"] > 0:
		return "credential"
	}
	return "address"
}
