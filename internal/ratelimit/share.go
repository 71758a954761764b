package ratelimit

import (
	"math/rand/v2"
	"time"

	"github.com/fastio-go/fastio/internal/times"
)

// Responses tell about other clients that use a window with the same credential. Nothing
// else connects these clients.
//
// While no other client is noticed, share is Max and only the slots delay calls. A
// refusal, or a claim that the window is full, multiplies share by decrease. Each
// accepted call increases it again. In the longest of several windows share is only
// decreased if that slides: the shorter windows divide the calls before it is full.
const (
	decrease = 0.75
	increase = 0.1 // for as many calls as share
	minShare = 0.5
	recovery = 1.3 // sizes without a report that the window is full, after which share doubles in a Size

	longestDecrease = 0.8      // decrease of the longest window, if it slides
	slidingShare    = 1. / 20. // of Max, left to a client when its window proves to slide

	rounding  = 2 * time.Second // times are announced in whole seconds: a reset may be late by two of them
	maxSpread = time.Minute     // of a random delay
)

// Refused records that the server rejected c because the window of the given limit is
// full until reset. c has been released: the slot that it has in each window holds the time
// of its end. The slots become free, as servers do not count rejected calls (but see below).
func (g *Group) Refused(c Call, limit int, reset time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	refused := g.window(limit)
	if refused == nil {
		return
	}
	now := time.Now()
	for _, w := range g.windows { // before recordFull, which counts the calls in slots as accepted
		slot := w.slot(c.number)
		usedByLaterCall := slot.Equal(busy) // a call runs in it, and c has ended
		if !usedByLaterCall {
			*slot = time.Time{}
		}
	}
	g.recordFull(refused, c, reset, now)
	if refused.sliding { // here c takes its slot again, as some servers count rejected calls in a sliding window
		slot := refused.slot(c.number)
		*slot = times.Later(*slot, now)
	}
	g.advance()
}

// recordFull records that w is full until reset, as the response to c reports, and
// reduces the share of this client: to a part of the calls that the server has accepted
// in the window. Of calls that run at the same time, only the first reduces it. Of several
// windows, the longest is an exception, because the shares of the shorter ones limit its calls
// too: if it slides, its share is reduced less; if not, its share stays as it is.
func (g *Group) recordFull(w *window, c Call, reset, now time.Time) {
	if w.learned { // its size is a guess
		return
	}
	accepted := float64(w.ownCalls(c.Started)) // own calls that the server has accepted in the window
	w.observeEnd(reset)
	isNewWindow := now.Sub(w.lastFull) > w.Size/2 // else it is another report of the same window
	if isNewWindow || accepted > w.ownWhenFull {  // of several reports in a window the highest number counts
		w.ownWhenFull = accepted
	}
	w.lastFull = now
	alreadyReduced := c.number < w.decidedBefore // since c started
	switch {
	case w == g.longest && w.sliding:
		w.share = min(w.share, max(1, w.share*longestDecrease, accepted))
	case w == g.longest: // its share stays
	case !alreadyReduced:
		if accepted > 0 {
			w.share = min(w.share, accepted)
		}
		w.share = max(minShare, w.share*decrease)
		w.decidedBefore = g.nextCall
	}
}

// observeEnd records an announced end of a window that others have filled. An end less
// than a Size after the previous one proves that the window slides: its calls have no
// common end. Then the share of this client falls at once to the largest of three numbers:
// the own calls that the server had accepted when the window was full, the part slidingShare
// of Max, and one. Before this proof, recordFull does not reduce the share of the longest
// of several windows at all.
func (w *window) observeEnd(reset time.Time) {
	sincePrevious := reset.Sub(w.announcedEnd)
	if sincePrevious <= rounding { // the same end, or a response that arrived late
		return
	}
	if sincePrevious < w.Size-rounding && !w.sliding {
		w.sliding = true
		leftShare := max(w.ownWhenFull, float64(w.Max)*slidingShare, 1)
		w.share = min(w.share, leftShare)
	}
	w.announcedEnd = reset
}

// growShares increases the share of each window after an accepted call: slowly while
// the window becomes full again and again, and by a whole call once it has not been full
// for a while, since the other clients may be gone.
func (g *Group) growShares(now time.Time) {
	for _, w := range g.windows {
		most := float64(w.Max)
		switch {
		case w.share >= most:
		case now.Sub(w.lastFull) > time.Duration(recovery*float64(w.Size)):
			w.share = min(most, w.share+1)
		default:
			w.share = min(most, w.share+increase/max(1, w.share))
		}
	}
}

// randomDelay returns a random delay after the end of a full window, so that the clients
// that share it do not start at the same time. It is at most the interval of this
// client's calls if they are spread evenly over the window, and at most maxSpread. A
// client whose share is all calls of the window has noticed no other: it has no delay.
func (w *window) randomDelay() time.Duration {
	isAlone := w.share >= float64(w.Max)
	if isAlone {
		return 0
	}
	betweenCalls := time.Duration(float64(w.Size) / w.share)
	return rand.N(min(betweenCalls, maxSpread)) //nolint:gosec // needs no secrecy
}

// shareAllows returns when call n may start so that no more than share own calls are in
// a window. Share may have a fraction: with a share of 2.5, a call starts 2/2.5 of a
// window after the end of the second call before it, and with a share of 0.5 two windows
// after the end of the call before it. It returns the zero time if fewer calls were made.
// If the call from whose end it counts still runs, its slot has the time busy, which stands
// for an unknown end, and the result is even later.
func (w *window) shareAllows(n uint64) time.Time {
	callsBack, counted := max(1, int(w.share)), 0 // callsBack is 2 for a share of 2.5
	for i := range min(n, uint64(len(w.slots))) {
		ended := *w.slot(n - 1 - i)
		if !ended.IsZero() { // else the slot is free: the server does not count the call, as after a rejection
			counted++
		}
		if counted >= callsBack {
			size := w.Size + w.Size/1000 // the server's clock may run slower
			return ended.Add(time.Duration(float64(size) * float64(callsBack) / w.share))
		}
	}
	return time.Time{}
}
