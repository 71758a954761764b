package ratelimit

import (
	"math"
	"time"

	"github.com/fastio-go/fastio/internal/times"
)

// A long window, that of an hour, is divided.
//
// Calls of the class Program start at once. Those of Woken and Rest are spread over what
// these leave, so that no loop uses up the window, after which all would stop until the hour
// is over. Loops of a class that always wait get equal parts.
const (
	longWindow  = 30 * time.Minute // and longer: calls are spread over it
	burst       = 30               // calls of loops, about, that start at once after a quiet time
	reservePart = 200              // 1/reservePart of the window is left
	mostStretch = 16               // times the shortest time between two calls
	memory      = 20 * time.Minute // of the calls of Program
	arrival     = 10 * time.Second // after its start a call has reached the server

	// Patience is how long a caller of Rest gives way to those of Woken that ask later.
	Patience = 200 * time.Second
)

// spreadStart records the start of a call of class c in the spread, and returns the
// time between two calls of loops (Woken and Rest). A call of a loop moves paidUntil ahead
// by that time, which delays the next calls of loops. But a call of Rest must not delay a
// call of Woken that already waits: then paidUntil stays, and the time is added to the debt.
// Each later call of a loop moves paidUntil further ahead by a part of the debt, until it is
// paid. A call of Program is added to programRate, the average over the last time (memory),
// from which loopInterval computes what the program leaves.
func (g *Group) spreadStart(c Class, now time.Time) (every time.Duration) {
	every = g.loopInterval(now)
	switch {
	case c == Program:
		sinceLast := float64(now.Sub(g.lastProgram))
		calls := min(1, sinceLast/float64(g.spreadOver.leastInterval())) // a call soon after another one counts less
		g.programRate = g.currentRate(now) + calls/float64(memory)
		g.lastProgram = now
	case c == Rest && len(g.waiting[Woken]) > 0:
		g.debt += every
	default:
		leastPayment := every / 4 // else each payment is smaller than the last, and the debt never ends
		payment := min(g.debt, max(g.debt/8, leastPayment))
		g.debt -= payment
		g.paidUntil = times.Later(g.paidUntil, now).Add(every + payment)
	}
	return every
}

// currentRate returns the calls of Program in a nanosecond: an average in which a call
// counts less the longer ago it was, by a factor of e after memory.
func (g *Group) currentRate(now time.Time) float64 {
	return g.programRate * math.Exp(-float64(now.Sub(g.lastProgram))/float64(memory))
}

// loopInterval returns the time between two calls of loops (Woken and Rest) with which
// none waits long for a slot, if the program goes on as before. The next calls take the
// slots in turn. For each slot in use, loopInterval divides the time until the slot is
// free by the calls that loops can make until then, and the longest result counts.
//
// For instance, the 100th call from now needs a slot that is free in 30 minutes. Of these
// 100 calls, 5 are a reserve and the program makes 20, so that 75 remain for loops: one in
// 24 seconds. The result is at most mostStretch times the interval that uses all of the
// window.
func (g *Group) loopInterval(now time.Time) time.Duration {
	w, programRate, interval := g.spreadOver, g.currentRate(now), g.spreadOver.leastInterval()
	for i := range w.slots {
		ended := *w.slot(g.nextCall + uint64(i)) // the slot of the call after i others
		if ended.IsZero() {
			continue
		}
		ended = times.Earlier(ended, now) // a call that still runs (busy, in the future) is taken as one that ends now
		untilFree := float64(ended.Add(w.Size).Sub(now))
		calls := i + 1                                 // up to the one that needs the slot
		reserve := min(w.Max/reservePart, (calls+1)/2) // at most half of the calls, rounded up
		ofLoops := float64(calls-reserve) - programRate*untilFree
		interval = max(interval, time.Duration(untilFree/max(1, ofLoops)))
	}
	return min(interval, mostStretch*w.leastInterval())
}

// leastInterval returns the time between two calls that use all of the window.
func (w *window) leastInterval() time.Duration {
	return time.Duration(float64(w.Size) / min(w.share, float64(w.Max)))
}
