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
// is over. While both need them, Woken has three quarters of the calls and Rest a quarter.
// Within a class callers are served in order, so that loops which always wait get equal
// parts. A caller of Rest that has waited for long comes before callers of Woken that have
// asked later.
type spread struct {
	long   int                // 1 + the index of the window over which calls are spread; 0 means none
	paid   [classes]time.Time // until then the starts so far have used up the part of the class
	latest [classes]time.Time // start
	debt   time.Duration      // of Woken, for calls of Rest
	steady float64            // calls of Program in a nanosecond; those of a burst count as one
}

const (
	longWindow  = 30 * time.Minute // and longer: calls are spread over it
	burst       = 30               // calls of a class that start at once after a quiet time
	reserved    = 200              // 1/reserved of the window is left
	quarter     = 4                // 1/quarter of the calls is for Rest
	mostStretch = 16               // times the shortest time between two calls
	memory      = 20 * time.Minute // of the calls of Program
	arrival     = 10 * time.Second // after its start a call has reached the server

	// Patience is how long a caller of Rest gives way to those of Woken that ask later.
	Patience = 200 * time.Second
)

// ready returns when the first caller of Woken or Rest may start.
func (g *Group) ready(c Class, w *window) time.Time {
	before := (1 - burst) * w.shortest()
	if c == Rest && g.impatient() {
		return times.Earlier(g.paid[Rest], g.paid[Woken]).Add(before)
	}
	return g.paid[c].Add(before)
}

// impatient reports whether the first caller of Rest comes before the first of Woken.
func (l *line) impatient() bool {
	resting, woken := l.waiting[Rest], l.waiting[Woken]
	return len(resting) > 0 && len(woken) > 0 && resting[0].asked.Add(Patience).Before(woken[0].asked)
}

// pay records the start of a call, where every is the time between two of Woken and Rest.
func (g *Group) pay(c Class, w *window, every time.Duration, now time.Time) {
	cost, other := every, Woken+Rest-c
	switch {
	case c == Program:
		share := min(1, float64(now.Sub(g.latest[c]))/float64(w.shortest()))
		g.steady, g.latest[c] = g.rate(now)+share/float64(memory), now
		return
	case len(g.waiting[other]) == 0 && now.Sub(g.latest[other]) >= quarter*every:
	case c == Rest:
		cost = every * quarter
	default:
		cost = every * quarter / (quarter - 1)
	}
	g.latest[c] = now
	if c == Rest && g.paid[c].Add((1-burst)*w.shortest()).After(now) { // it was impatient
		g.debt += every
		return
	}
	if c == Woken {
		part := min(g.debt, max(every, g.debt/2)/4)
		g.debt, cost = g.debt-part, cost+part
	}
	g.paid[c] = times.Later(g.paid[c], now).Add(cost)
}

// rate returns the calls of Program in a nanosecond.
func (s *spread) rate(now time.Time) float64 {
	return s.steady * math.Exp(-float64(now.Sub(s.latest[Program]))/float64(memory))
}

// every returns the time between two calls of Woken and Rest with which none waits long for a
// slot of w, if the program goes on as before.
func (g *Group) every(w *window, now time.Time) time.Duration {
	rate, every := g.rate(now), w.shortest()
	for i := range w.slots {
		at := *w.slot(g.next + uint64(i))
		if at.IsZero() {
			continue
		}
		left := float64(times.Earlier(at, now).Add(w.Size).Sub(now)) // until the slot is free
		calls := float64(max(i+1-w.Max/reserved, (i+1)/2)) - rate*left
		every = max(every, time.Duration(left/max(1, calls)))
	}
	return min(every, mostStretch*w.shortest())
}

// shortest returns the time between two calls that use all of the window.
func (w *window) shortest() time.Duration {
	return time.Duration(float64(w.Size) / min(w.share, float64(w.Max)))
}
