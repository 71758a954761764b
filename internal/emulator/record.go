package emulator

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// record keeps the latest requests, for tests and for the control API.
type record struct {
	mu       sync.Mutex
	requests []*world.Request // by arrival

	answered   [ResponsesKept]*world.Request // by their number, of the latest responses
	lastNumber uint64                        // of a response
	changed    chan struct{}                 // closed with the next response, nil if no goroutine waits

	patternsOnce   sync.Once
	secretPatterns map[string][]string // patterns of paths with credentials, by operation
}

// ResponsesKept is how many requests are kept with their responses, and listed by the
// control API.
const ResponsesKept = 1000

const (
	requestsKept = 1 << 15
	recordedBody = 64 << 10 // bytes
	answeredBody = 16 << 10 // bytes
)

// addRequest adds a request, without a status. When the record is full, it first drops the
// older half.
func (l *record) addRequest(op string, r *http.Request, body []byte, at time.Time) *world.Request {
	q := &world.Request{
		Op:     op,
		Method: r.Method,
		Path:   r.URL.EscapedPath(),
		Query:  r.URL.RawQuery,
		Header: r.Header.Clone(),
		Body:   clipBody(body, recordedBody),
		At:     at,
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.requests) == requestsKept {
		l.requests = slices.Delete(l.requests, 0, requestsKept/2) // half, so that the list is moved seldom
	}
	l.requests = append(l.requests, q)
	return q
}

// clipBody returns the first limit bytes of a body for the record. It copies them if
// the body is longer, so that the record does not keep the whole body in memory.
func clipBody(body []byte, limit int) []byte {
	if len(body) > limit {
		return slices.Clone(body[:limit])
	}
	return body
}

// outcome is what the record keeps of a response.
type outcome struct {
	status        int // 0 if the response was not sent in full
	took          time.Duration
	rule, message string
	fault         string
	header        http.Header
	body          []byte
}

// describe sets what is known of a response before it is delivered: header, beginning of
// the body and, of a failure, the rule that has refused the call and a message.
func (o *outcome) describe(c *wire.Call, f *fault, out wire.Reply) {
	o.header, o.body = out.Header, clipBody(out.Body, answeredBody)
	switch {
	case f.Status >= http.StatusBadRequest:
		o.rule, o.message = wire.RuleFault, cmp.Or(f.Text, http.StatusText(f.Status))
	case c.Refused != nil:
		o.rule, o.message = c.Refused.RuleName(), c.Refused.Explain()
	case out.Status >= http.StatusBadRequest:
		o.rule, o.message = wire.RuleOfStatus(out.Status), http.StatusText(out.Status)
	}
}

// setOutcome sets the outcome of a recorded request. The first time, it gives the
// request a number, and stores it in the ring of the last ones: the request whose slot
// it takes loses its response. A later call only corrects the status.
func (l *record) setOutcome(q *world.Request, o *outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q.Status = o.status
	if q.Number > 0 {
		return
	}
	q.Took, q.Rule, q.Message, q.Fault = o.took, o.rule, o.message, o.fault
	q.ResponseHeader, q.ResponseBody = o.header, o.body
	l.lastNumber++
	q.Number = l.lastNumber
	slot := &l.answered[q.Number%ResponsesKept]
	if old := *slot; old != nil {
		old.ResponseHeader, old.ResponseBody = nil, nil
	}
	*slot = q
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Requests returns the latest requests, at least ten thousand if so many were made, in
// order of arrival.
func (s *Server) Requests() []world.Request {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	list := make([]world.Request, 0, len(s.record.requests))
	for _, q := range s.record.requests {
		list = append(list, *q)
	}
	return list
}

// ForgetRequests clears the record of requests. The numbers of requests go on.
func (s *Server) ForgetRequests() {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	s.record.requests = nil
	clear(s.record.answered[:])
}

// Answered returns the requests that were answered after the one with a number, in
// order of their numbers, and how many of them are no longer kept. The channel is
// closed with the next response.
func (s *Server) Answered(after uint64) (list []world.Request, lost uint64, next <-chan struct{}) {
	l := &s.record
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	first := after + 1
	if l.lastNumber > ResponsesKept {
		first = max(first, l.lastNumber-ResponsesKept+1)
	}
	list = []world.Request{}
	for n := first; n <= l.lastNumber; n++ {
		if q := l.answered[n%ResponsesKept]; q != nil { // nil after ForgetRequests
			list = append(list, *q)
		}
	}
	return list, first - after - 1, l.changed
}

// LastAnswered returns the number of the latest response, 0 if there is none.
func (s *Server) LastAnswered() uint64 {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return s.record.lastNumber
}

// WaitRequest returns the earliest of the latest 1,000 answered requests that matches. If
// none of them does, it waits for a request that does. It returns the error of ctx when
// ctx is done.
func (s *Server) WaitRequest(ctx context.Context, matches func(world.Request) bool) (world.Request, error) {
	after := uint64(0) // number of the latest request that was looked at
	for {
		list, _, next := s.Answered(after)
		for _, q := range list {
			if matches(q) {
				return q, nil
			}
			after = q.Number
		}
		select {
		case <-next:
		case <-ctx.Done():
			return world.Request{}, ctx.Err()
		}
	}
}

// secretWildcards are the parameters of paths that are credentials.
const secretWildcards = "{code} {download_token} {invitation_key} {token}"

// hasSecret reports whether the path of a route has a credential.
func hasSecret(r *wire.Route) bool {
	within := func(wildcard string) bool { return strings.Contains(r.Pattern, wildcard) }
	return slices.ContainsFunc(strings.Fields(secretWildcards), within)
}

// MaskedPath returns the path of a recorded request with a mask in place of each
// credential.
func (s *Server) MaskedPath(q *world.Request, mask string) string {
	s.record.patternsOnce.Do(func() {
		s.record.secretPatterns = map[string][]string{}
		for _, r := range s.routes {
			if hasSecret(r) {
				s.record.secretPatterns[r.Op] = append(s.record.secretPatterns[r.Op], r.Pattern)
			}
		}
	})
	below, found := strings.CutPrefix(q.Path, s.Prefix())
	if !found {
		return q.Path
	}
	for _, pattern := range s.record.secretPatterns[q.Op] {
		masked := maskSegments(below, pattern, mask)
		hasSecrets := masked != below
		if hasSecrets {
			return s.Prefix() + masked
		}
	}
	return q.Path
}

// maskSegments returns a path with a mask in place of the credentials of a pattern, which are
// in secretWildcards. A path that does not match the pattern is returned unchanged.
func maskSegments(path, pattern, mask string) string {
	segments, wanted := strings.Split(path, "/"), strings.Split(pattern, "/")
	for i := range min(len(segments), len(wanted)) {
		switch {
		case isWildcard(wanted[i]) && strings.Contains(secretWildcards, wanted[i]):
			segments[i] = mask
		case !isWildcard(wanted[i]) && wanted[i] != segments[i]:
			return path
		}
	}
	return strings.Join(segments, "/")
}
