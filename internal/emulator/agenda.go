package emulator

import (
	"slices"
	"time"
)

// appointment is something that happens by itself when its time has come.
type appointment struct {
	at time.Time
	do func()
}

// later lets do happen at a moment of the platform's clock, with the lock on state in hand, which the caller has as
// well. Whatever the clock is, every call finds done what was due before it.
func (s *Server) later(at time.Time, do func()) {
	wait := at.Sub(s.now())
	if wait <= 0 {
		do()
		return
	}
	due := &s.state.due
	i, _ := slices.BinarySearchFunc(*due, at, func(a appointment, at time.Time) int {
		if a.at.After(at) {
			return 1
		}
		return -1 // behind those of the same moment
	})
	*due = slices.Insert(*due, i, appointment{at, do})
	time.AfterFunc(wait, s.settle)
}

// settle does what is due.
func (s *Server) settle() {
	now := s.now()
	s.mu.RLock()
	idle := len(s.state.due) == 0 || s.state.due[0].at.After(now)
	s.mu.RUnlock()
	if idle {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.state.due) > 0 && !s.state.due[0].at.After(now) {
		next := s.state.due[0]
		s.state.due = s.state.due[1:]
		next.do()
	}
}
