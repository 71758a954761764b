package ratelimit

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// line is the callers of a Group that wait.
type line struct {
	waiting [classes][]*caller
	passed  [classes]int // starts of the classes before it while a caller of the class waits
	running []Call       // of Woken and Rest, unless they are spread
	alarm   *time.Timer  // for the next start
}

// caller is a call that waits for its start.
type caller struct {
	turn     *Turn
	class    Class
	maxWait  time.Duration
	deadline time.Time // zero means none
	asked    time.Time
	next     time.Time    // since then it is the next one that starts; zero before
	reported bool         // the opening that is expected
	ordered  bool         // one of its openings was the end of a Retry-After
	expected chan opening // closed when the wait has ended: call or err is set
	call     Call
	err      error
}

// leave ends a wait with an error, unless it has ended.
func (g *Group) leave(w *caller, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.waiting[w.class], w) {
		g.finish(w, Call{}, err)
		g.advance()
	}
}

// finish ends a wait: the caller leaves the line and gets its call, or the error why it
// cannot start.
func (g *Group) finish(w *caller, c Call, err error) {
	i := slices.Index(g.waiting[w.class], w)
	g.waiting[w.class] = slices.Delete(g.waiting[w.class], i, i+1)
	c.Ordered = w.ordered
	w.call, w.err = c, err
	if err != nil {
		w.turn.change(func(t *Turn) { t.asked = time.Time{} })
	}
	close(w.expected)
}

// endLongWait ends a wait with an error if the call cannot start before its deadline,
// or if the server requires a longer wait than the caller allows (maxWait). It reports
// whether it did. While a call holds the slot, only the wait that the server requires counts.
func (g *Group) endLongWait(w *caller, o opening, now time.Time) bool {
	if !o.at.Before(busy) { // a slot whose end is not known
		o.at = o.ordered
	}
	late := !w.deadline.IsZero() && w.deadline.Before(o.at)
	switch {
	case late && o.ordered.After(now):
		g.finish(w, Call{}, errLate)
	case late:
		g.finish(w, Call{}, context.DeadlineExceeded)
	case w.maxWait >= 0 && o.ordered.Sub(now) > w.maxWait:
		g.finish(w, Call{}, ErrClosed)
	default:
		return false
	}
	return true
}

// endLongWaits ends the waits that have become too long by what the server requires,
// and starts the callers that may start then.
func (g *Group) endLongWaits() {
	now := time.Now()
	o := g.ordered(now)
	for _, all := range g.waiting {
		for _, w := range slices.Clone(all) {
			g.endLongWait(w, o, now)
		}
	}
	g.advance()
}

// advance starts the callers that may start now, one after the other, and ends waits
// that are too long. The first caller that must wait is informed, and an alarm is set
// for its start.
func (g *Group) advance() {
	for {
		now := time.Now()
		w, at := g.choose(now)
		if w == nil {
			return
		}
		if !at.After(now) {
			w.next = cmp.Or(w.next, now)
			c, o := g.admit(w.turn, w.class, now, w.next, w.maxWait)
			if !o.at.After(now) {
				g.pass(w.class)
				g.finish(w, c, nil)
				continue
			}
			if g.endLongWait(w, o, now) {
				continue
			}
			w.expect(o)
			at = o.at
		}
		if at.Before(busy) {
			g.wakeAfter(at.Sub(now))
		}
		return
	}
}

// expect reports to a caller when its call is expected to start, once. A slot whose
// call runs has no known end: then it reports nothing.
func (w *caller) expect(o opening) {
	w.ordered = w.ordered || o.refused
	if !w.reported && o.at.Before(busy) {
		w.reported = true
		w.expected <- o
	}
}

// overdue reports whether the first caller of a class starts before those of the
// classes before it: they have passed it mostPassed times, or it is of Rest and came
// Patience before the first one of Woken.
func (g *Group) overdue(c Class) bool {
	woken := g.waiting[Woken]
	patient := c == Rest && len(woken) > 0 && g.waiting[c][0].asked.Add(Patience).Before(woken[0].asked)
	return patient || g.passed[c] >= mostPassed
}

// pass counts the start of a call of a class: it has passed those that wait in the
// classes behind. If loops are spread, calls of the program start beside them, and pass
// none.
func (g *Group) pass(c Class) {
	g.passed[c] = 0
	if c == Program && g.long != nil {
		return
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

// choose returns the next caller, nil if none waits, and when it may start: the first
// one of the first class, unless a later class is overdue, or may start while that must
// wait.
func (g *Group) choose(now time.Time) (next *caller, at time.Time) {
	for c := range Class(classes) {
		if len(g.waiting[c]) == 0 {
			continue
		}
		due := g.due(c, now)
		first := next == nil
		goesBefore := g.overdue(c) && !due.After(now)
		isEarlier := at.After(now) && due.Before(at) // than those of the classes before it
		if first || goesBefore || isEarlier {
			next, at = g.waiting[c][0], due
		}
	}
	return next, at
}

// due returns when a call of a class may start, apart from the windows. The program may
// start calls at once. Loops are spread over a long window, and after a quiet time a
// burst of their calls starts at once; without a long window two of them run at a time,
// of which one that runs long does not count.
func (g *Group) due(c Class, now time.Time) time.Time {
	switch last := len(g.running) - mostRunning; {
	case c == Program:
	case g.long != nil: // burst calls start before they are paid for
		return g.paid.Add((1 - burst) * g.long.shortest())
	case last >= 0:
		return g.running[last].Started.Add(longestRun)
	}
	return now
}

// begin records the start of a call: in the spread over a long window, or among the
// running calls of loops, and in the state of its loop.
func (g *Group) begin(c Call, class Class) {
	var every time.Duration // between two calls of Woken and Rest, if they are spread
	switch {
	case g.long != nil:
		every = g.pay(class, c.Started)
	case class != Program:
		g.running = append(g.running, c)
	}
	c.turn.change(func(t *Turn) {
		t.state = State{t.state.Class, c.Started.Sub(t.asked), c.Started, true, every}
		t.asked = time.Time{}
	})
}

// end records the end of a call of a loop.
func (g *Group) end(c Call) {
	c.turn.change(func(t *Turn) { t.state.Running = false })
	g.running = slices.DeleteFunc(g.running, func(other Call) bool { return other.number == c.number })
}
