package ratelimit

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/times"
)

// caller is a call that waits for its start.
type caller struct {
	loop       *Loop
	class      Class
	maxWait    time.Duration
	deadline   time.Time // zero means none
	asked      time.Time
	firstSince time.Time    // since then it is the next one that starts; zero before
	expected   time.Time    // start, as sent in openings; zero before
	ordered    bool         // one of its openings was the end of a Retry-After
	openings   chan opening // closed when the wait has ended: call or err is set
	call       Call
	err        error
}

// abandon ends the wait of a caller with an error, unless it has ended, and starts the
// callers that may start without it.
func (g *Group) abandon(w *caller, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.waiting[w.class], w) {
		g.endWait(w, Call{}, err)
		g.advance()
	}
}

// endWait ends a wait, with g.mu held: the caller leaves the queue and gets its call, or
// the error why it cannot start.
func (g *Group) endWait(w *caller, c Call, err error) {
	i := slices.Index(g.waiting[w.class], w)
	g.waiting[w.class] = slices.Delete(g.waiting[w.class], i, i+1)
	g.waits--
	c.Ordered = w.ordered
	w.call, w.err = c, err
	if err != nil { // else recordStart has recorded the end of the wait
		w.loop.locked(func(l *Loop) { l.asked = time.Time{} })
	}
	close(w.openings) // by which the caller, in Group.wait, notices the end
}

// endLongWait ends the wait of a caller whose call cannot start before its deadline, or
// for which the server requires a longer wait than the caller allows (maxWait; negative
// allows any). It reports whether it did. The opening is when the call could start;
// g.mu is held.
func (g *Group) endLongWait(w *caller, o opening, now time.Time) (ended bool) {
	earliest := o.at
	if !o.at.Before(busy) { // a call that runs holds the slot: its end is not known
		earliest = o.closedUntil
	}
	tooLate := !w.deadline.IsZero() && w.deadline.Before(earliest)
	switch closedFor := o.closedUntil.Sub(now); {
	case tooLate && closedFor > 0: // because of the server
		g.endWait(w, Call{}, errLate)
	case tooLate: // only because of the windows
		g.endWait(w, Call{}, context.DeadlineExceeded)
	case w.maxWait >= 0 && closedFor > w.maxWait:
		g.endWait(w, Call{}, ErrClosed)
	default:
		return false
	}
	return true
}

// endLongWaits ends all waits that have become too long because the server requires a
// longer one than before, and starts the callers that may start then. g.mu is held.
func (g *Group) endLongWaits() {
	now := time.Now()
	required := g.requiredWait(now)
	for _, all := range g.waiting {
		for _, w := range slices.Clone(all) {
			g.endLongWait(w, required, now)
		}
	}
	g.advance()
}

// advance starts the callers that may start now, one after the other, and ends waits
// that are too long. The callers that must wait are informed of their expected starts. At
// the start of the first caller an alarm calls advance again. g.mu is held.
func (g *Group) advance() {
	for g.waits > 0 {
		now := time.Now()
		w, start := g.nextCaller(now)
		classMayStart := !start.After(now)
		if classMayStart { // tryStart asks the windows too
			w.firstSince = cmp.Or(w.firstSince, now) // a learned window delays w until firstSince+maxWait at most
			c, o := g.tryStart(w.loop, w.class, now, w.firstSince, w.maxWait)
			started := !o.at.After(now)
			if started {
				g.countPassed(w.class)
				g.endWait(w, c, nil)
				continue
			}
			if g.endLongWait(w, o, now) {
				continue
			}
			w.ordered = w.ordered || o.refused // refused: o.at is the end of a Retry-After
			w.send(o)
			g.expectBehind(o, now)
			start = o.at
		}
		startIsKnown := start.Before(busy) // else a running call holds the slot: its Release calls advance
		if startIsKnown {
			g.wakeAfter(start.Sub(now))
		}
		return
	}
}

// send sends a caller the expected start of its call, once. While a running call holds the
// slot, the start is not known and nothing is sent.
func (w *caller) send(o opening) {
	if w.expected.IsZero() && o.at.Before(busy) {
		w.expected = o.at
		w.openings <- o
	}
}

// expectBehind sends each caller behind the first one the expected start of its call, once.
// It does not wait until a caller becomes the first: a call that starts together with the one
// before it never waits as the first. O is the opening of the first caller. If that waits for a
// Retry-After (refused), so do the callers that start at the same time; later callers wait for
// a window. Callers of loops whose starts are spread over a window get no expected start.
func (g *Group) expectBehind(o opening, now time.Time) {
	if !o.at.Before(busy) { // the first caller needs the slot of a call that still runs: its start is not known
		return
	}
	before := 0 // callers of more urgent classes, which start earlier
	for class, callers := range g.waiting {
		if Class(class) != Program && g.spreadOver != nil {
			return
		}
		informed := len(callers) // callers that have their expected start; those behind them have asked since then
		for informed > 0 && callers[informed-1].expected.IsZero() {
			informed--
		}
		for i := informed; i < len(callers); i++ {
			inFront := before + i // callers in front of this one, in all classes
			at := g.expectedStart(inFront, o.at, now)
			callers[i].send(opening{at: at, refused: o.refused && at.Equal(o.at)})
		}
		before += len(callers)
	}
}

// expectedStart returns when the windows are expected to have room for a caller. Before is the
// number of callers in front of it, and first the start of the first caller in the queue. It is
// not known how long calls take. So the calls of the callers in front count as ended at their
// start, and a call that runs counts as ended now. If other clients use a window, this client
// starts its calls size/share apart.
func (g *Group) expectedStart(before int, first, now time.Time) time.Time {
	startOf := func(place int) time.Time { // of the caller at that place in the queue
		for _, callers := range g.waiting {
			if place < len(callers) {
				return times.Later(first, callers[place].expected)
			}
			place -= len(callers)
		}
		return first
	}
	at := first
	if before > 0 {
		at = startOf(before - 1)
	}
	previous := at // the start of the caller just before
	for _, w := range g.windows {
		size := w.Size + w.Size/1000 // the server's clock may run slower
		if before >= w.Max {         // the caller Max places before has the slot
			at = times.Later(at, startOf(before-w.Max).Add(size))
		} else if room := w.mayStart(g.nextCall+uint64(before), now, anyWait); room.Before(busy) { //nolint:gosec // >= 0
			at = times.Later(at, room)
		} else {
			at = times.Later(at, now.Add(size)) // a running call holds the slot
		}
		if w.share < float64(w.Max) { // other clients use the window
			at = times.Later(at, previous.Add(time.Duration(float64(size)/w.share)))
		}
	}
	return at
}

// overdue reports whether the first caller of a class must start before those of more urgent
// classes, so that they do not keep it waiting forever: mostPassed calls of these have started
// while it waited, or it is of Rest and asked more than Patience before the first one of Woken.
// The times of asking count, not the present: two that wait for a full window keep their order.
func (g *Group) overdue(c Class) bool {
	woken := g.waiting[Woken]
	outOfPatience := c == Rest && len(woken) > 0 && g.waiting[c][0].asked.Add(Patience).Before(woken[0].asked)
	return outOfPatience || g.passed[c] >= mostPassed
}

// countPassed records that a call of class c has started. For each less urgent class with a
// waiting caller it counts one that has passed it: see overdue.
func (g *Group) countPassed(c Class) {
	g.passed[c] = 0 // no call has passed the next caller of class c
	if c == Program && g.spreadOver != nil {
		return // the other classes are those of loops: if spread, they wait for a time (classDue), not for the program
	}
	for other := c + 1; other < classes; other++ {
		if len(g.waiting[other]) > 0 {
			g.passed[other]++
		}
	}
}

// wakeAfter sets the one alarm of the group, which calls advance after d.
func (g *Group) wakeAfter(d time.Duration) {
	if g.alarm != nil {
		g.alarm.Reset(d)
		return
	}
	g.alarm = time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.advance()
	})
}

// nextCaller returns the caller that starts next, and when its class may start a call.
// It is the first caller of the first class that has one. A later class goes before if it
// is overdue, and may start a call now.
func (g *Group) nextCaller(now time.Time) (next *caller, at time.Time) {
	for c := range Class(classes) {
		if len(g.waiting[c]) == 0 {
			continue
		}
		due := g.classDue(c, now)
		first := next == nil
		mustGoBefore := g.overdue(c) && !due.After(now)
		if first || mustGoBefore {
			next, at = g.waiting[c][0], due
		}
	}
	return next, at
}

// classDue returns when a call of class c may start, before the windows are asked. Calls of
// the program may start at once. Calls of loops are spread over a long window (spreadOver):
// each start moves paidUntil ahead, from now if it has passed (spreadStart). The next call
// may start burst-1 times leastInterval before paidUntil. So about burst calls start at once
// after a quiet time, in which paidUntil has passed. Without a long window, at most
// mostRunning calls of loops run at a time; a call that runs for longer than longestRun no
// longer counts.
func (g *Group) classDue(c Class, now time.Time) time.Time {
	switch running := len(g.loopCalls); {
	case c == Program:
		return now
	case g.spreadOver != nil:
		mayPrecede := (burst - 1) * g.spreadOver.leastInterval()
		return g.paidUntil.Add(-mayPrecede)
	case running >= mostRunning:
		oldestThatCounts := g.loopCalls[running-mostRunning]
		return oldestThatCounts.Started.Add(longestRun)
	default:
		return now
	}
}

// recordStart records the start of a call. With a long window (spreadOver), calls of loops (of
// the classes Woken and Rest) are spread over what the calls of Program leave of it: so
// spreadStart records calls of all classes. Without a long window, calls of loops are counted
// while they run (loopCalls). A call of a loop also changes the State of the loop.
func (g *Group) recordStart(c Call, class Class) {
	var every time.Duration // between two calls of loops that are spread
	switch {
	case g.spreadOver != nil:
		every = g.spreadStart(class, c.Started)
	case class != Program:
		g.loopCalls = append(g.loopCalls, c)
	}
	c.loop.locked(func(l *Loop) { // nothing without a loop
		next := l.state.Class // SetClass may have changed it while the call waited
		l.state = State{Class: next, Waited: c.Started.Sub(l.asked), Started: c.Started, Running: true, Every: every}
		l.asked = time.Time{}
	})
}

// end records the end of a call of a loop, which may make room for the next one.
func (g *Group) end(c Call) {
	c.loop.locked(func(l *Loop) { l.state.Running = false })
	g.loopCalls = slices.DeleteFunc(g.loopCalls, func(other Call) bool { return other.number == c.number })
}
