package emulator

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/world"
)

// record remembers the latest calls.
type record struct {
	mu       sync.Mutex
	requests []*world.Request
}

const (
	recorded     = 1 << 15 // calls kept
	recordedBody = 64 << 10
)

// begin notes a call when it arrives, so that the record keeps the order of arrival.
func (l *record) begin(op string, r *http.Request, body []byte, at time.Time) *world.Request {
	q := &world.Request{
		Op:     op,
		Method: r.Method,
		Path:   r.URL.EscapedPath(),
		Query:  r.URL.RawQuery,
		Header: r.Header.Clone(),
		Body:   recordable(body),
		At:     at,
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.requests) == recorded {
		l.requests = slices.Delete(l.requests, 0, recorded/2) // seldom, so that a call costs no move of the list
	}
	l.requests = append(l.requests, q)
	return q
}

// recordable is what is kept of a body: of a long one a copy of how it begins, not the whole behind it.
func recordable(body []byte) []byte {
	if len(body) > recordedBody {
		return slices.Clone(body[:recordedBody])
	}
	return body
}

func (l *record) end(q *world.Request, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q.Status = status
}

// Requests returns the recorded calls in the order of arrival. Only the latest are kept, some ten thousand at least.
func (s *Server) Requests() []world.Request {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	list := make([]world.Request, 0, len(s.record.requests))
	for _, q := range s.record.requests {
		list = append(list, *q)
	}
	return list
}

// Forget clears the record of calls.
func (s *Server) Forget() {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	s.record.requests = nil
}
