package ratelimit

import (
	"math"
	"time"

	"github.com/fastio-go/fastio/internal/times"
)

// spread is the division of a long window, that of an hour.
//
// Calls of the class Program start at once. Those of Woken and Rest are spread over what
// these leave, so that no loop uses up the window, after which all would stop until the hour
// is over. Loops of a class that always wait get equal parts.
type spread struct {
	long   *window       // over which calls are spread; nil means none
	paid   time.Time     // until then the starts of Woken and Rest have used up their part
	debt   time.Duration // for starts of Rest before one of Woken, which later ones pay
	latest time.Time     // start of Program
	steady float64       // calls of Program in a nanosecond; those of a burst count as one
}

const (
	longWindow  = 30 * time.Minute // and longer: calls are spread over it
	burst       = 30               // calls of loops, about, that start at once after a quiet time
	reserved    = 200              // 1/reserved of the window is left
	mostStretch = 16               // times the shortest time between two calls
	memory      = 20 * time.Minute // of the calls of Program
	arrival     = 10 * time.Second // after its start a call has reached the server

	// Patience is how long a caller of Rest gives way to those of Woken that ask later.
	Patience = 200 * time.Second
)

// pay records the start of a call in the spread, and returns the time between two calls
// of Woken and Rest. A call of Program raises its rate; those of a burst count as one.
// A call of a loop uses up the time until paid, and pays a part of the debt: that is
// made by calls of Rest that start before one of Woken and use up nothing.
func (g *Group) pay(c Class, now time.Time) (every time.Duration) {
	every = g.every(now)
	switch {
	case c == Program:
		part := min(1, float64(now.Sub(g.latest))/float64(g.long.shortest()))
		g.steady, g.latest = g.rate(now)+part/float64(memory), now
	case c == Rest && len(g.waiting[Woken]) > 0: // one of Woken follows at once
		g.debt += every
	default: // an eighth of the debt, or a quarter of the time if that is more
		part := min(g.debt, max(every, g.debt/2)/4)
		g.debt -= part
		g.paid = times.Later(g.paid, now).Add(every + part)
	}
	return every
}

// rate returns the calls of Program in a nanosecond.
func (s *spread) rate(now time.Time) float64 {
	return s.steady * math.Exp(-float64(now.Sub(s.latest))/float64(memory))
}

// every returns the time between two calls of Woken and Rest with which none waits long
// for a slot, if the program goes on as before. For each slot in use it divides the
// time until the slot is free by the calls that loops may start until then.
func (g *Group) every(now time.Time) time.Duration {
	w, rate, every := g.long, g.rate(now), g.long.shortest()
	for i := range w.slots {
		at := *w.slot(g.next + uint64(i))
		if at.IsZero() {
			continue
		}
		left := float64(times.Earlier(at, now).Add(w.Size).Sub(now)) // until the slot is free
		mayStart := max(i+1-w.Max/reserved, (i+1)/2)                 // calls until then, without a reserve
		calls := float64(mayStart) - rate*left                       // of loops
		every = max(every, time.Duration(left/max(1, calls)))
	}
	return min(every, mostStretch*w.shortest())
}

// shortest returns the time between two calls that use all of the window.
func (w *window) shortest() time.Duration {
	return time.Duration(float64(w.Size) / min(w.share, float64(w.Max)))
}
