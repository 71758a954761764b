package ratelimit_test

import (
	"time"

	"github.com/fastio-go/fastio/internal/ratelimit"
)

// kind says how a server aligns its windows. The platform does not tell.
type kind string

const (
	fromFirst kind = "from the first call"
	toClock   kind = "to the clock"
	sliding   kind = "sliding"
)

func kinds() []kind { return []kind{fromFirst, toClock, sliding} }

// server counts calls in windows, written independently of what is tested.
type server struct {
	kind    kind
	windows []ratelimit.Window
	calls   [][]time.Time // per window, those that still count
	starts  []time.Time   // per window, of the current turn
	refused int
	served  int
}

func newServer(k kind, windows ...ratelimit.Window) *server {
	return &server{
		kind: k, windows: windows, calls: make([][]time.Time, len(windows)),
		starts: make([]time.Time, len(windows)),
	}
}

// take counts a call that arrives now, unless a window is full.
func (s *server) take() bool {
	now := time.Now()
	full := false
	for i := range s.windows {
		s.advance(i, now)
		full = full || len(s.calls[i]) >= s.windows[i].Max
	}
	if full {
		s.refused++
		return false
	}
	for i := range s.windows {
		s.calls[i] = append(s.calls[i], now)
	}
	s.served++
	return true
}

// advance forgets the calls that no longer count against window i.
func (s *server) advance(i int, now time.Time) {
	size := s.windows[i].Size
	switch s.kind {
	case sliding:
		for len(s.calls[i]) > 0 && now.Sub(s.calls[i][0]) >= size {
			s.calls[i] = s.calls[i][1:]
		}
	case toClock:
		if start := now.Truncate(size); !start.Equal(s.starts[i]) {
			s.starts[i], s.calls[i] = start, nil
		}
	case fromFirst:
		if len(s.calls[i]) == 0 || now.Sub(s.starts[i]) >= size {
			s.starts[i], s.calls[i] = now, nil
		}
	}
}

// announce is what the headers of an answer tell of window i.
func (s *server) announce(i int) (limit, remaining int, reset time.Time) {
	w := s.windows[i]
	reset = s.starts[i].Add(w.Size)
	if s.kind == sliding && len(s.calls[i]) > 0 {
		reset = s.calls[i][0].Add(w.Size)
	}
	return w.Max, w.Max - len(s.calls[i]), reset
}
