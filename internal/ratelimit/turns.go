package ratelimit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
)

// Class says for whom a call is. Of the callers of a Group that wait, one of a lower class
// starts first, but every fourth start is for a higher one that waits.
//
// Of the calls of the classes Woken and Rest, two run at a time, so that the program finds
// room; those of a window of half an hour or longer are spread over it instead.
type Class uint8

// The classes.
const (
	Program Class = iota // the program waits for the call
	Woken                // a loop that a change has woken
	Rest                 // a loop that looks whether anything has changed
	classes = iota
)

const (
	mostPassed  = 3           // starts of lower classes while a caller waits
	mostRunning = 2           // calls of the classes Woken and Rest
	longestRun  = time.Minute // after which a call does not delay others
)

// Turn is the side of a loop whose calls wait in a Group: see [With]. The zero Turn is of
// the class Program. It is safe for concurrent use by the loop, which makes one call at a
// time, and others. The methods of a nil Turn have no effect.
type Turn struct {
	mu       sync.Mutex
	state    State
	asked    time.Time // for the start of a call; zero if that is over
	group    *Group    // of reserved; nil without one
	reserved Call
}

// State is that of a [Turn].
type State struct {
	Class   Class         // of the next call
	Waited  time.Duration // by the latest call that has started, or by the one that waits if that is longer
	Started time.Time     // the latest call
	Running bool          // whether it has not ended
	Every   time.Duration // time between two calls of all loops at that start; 0 unless they are spread
}

type turnKey struct{}

// With returns a context in which calls belong to t.
func With(ctx context.Context, t *Turn) context.Context { return context.WithValue(ctx, turnKey{}, t) }

// TurnOf returns the Turn of ctx, nil without one.
func TurnOf(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// State returns the state of the loop.
func (t *Turn) State() (s State) {
	t.change(func(t *Turn) {
		s = t.state
		if !t.asked.IsZero() {
			s.Waited = max(s.Waited, time.Since(t.asked))
		}
	})
	return s
}

// Set sets the class of the next call.
func (t *Turn) Set(c Class) { t.change(func(t *Turn) { t.state.Class = c }) }

func (t *Turn) change(f func(t *Turn)) {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		f(t)
	}
}

// ask records that the loop asks for the start of a call, and returns its class.
func (t *Turn) ask() (c Class) {
	t.change(func(t *Turn) { t.asked, c = time.Now(), t.state.Class })
	return c
}

// start records that the call has started.
func (t *Turn) start(now time.Time, every time.Duration) {
	t.change(func(t *Turn) {
		t.state = State{t.state.Class, now.Sub(t.asked), now, true, every}
		t.asked = time.Time{}
	})
}

// Reserve waits until a call of g may start, or until ctx is done. The next call of the loop
// then starts at once. A nil Group has no limits.
func (t *Turn) Reserve(ctx context.Context, g *Group) error {
	if g == nil {
		return ctx.Err()
	}
	c, err := g.await(With(ctx, t))
	if err == nil {
		t.change(func(t *Turn) { t.group, t.reserved = g, c })
	}
	return err
}

// Cancel gives up the reservation of a call of g, if there is one.
func (t *Turn) Cancel(g *Group) {
	if c, ok := t.take(g); ok {
		g.Release(c)
	}
}

// take returns the reserved call of g, if there is one.
func (t *Turn) take(g *Group) (c Call, ok bool) {
	t.change(func(t *Turn) {
		if g != nil && t.group == g {
			c, ok, t.group = t.reserved, true, nil
		}
	})
	return c, ok
}

// Wait waits until a call may start, or until ctx is done.
func (g *Group) Wait(ctx context.Context) error {
	c, err := g.await(ctx)
	if err == nil {
		g.Release(c)
	}
	return err
}

// await is Acquire without a limit of the wait. It does not fail before ctx is done.
func (g *Group) await(ctx context.Context) (Call, error) {
	c, err := g.Acquire(ctx, -1, nil)
	if err != nil { // also if the wait exceeds the deadline of ctx
		<-ctx.Done()
		return c, ctx.Err()
	}
	return c, nil
}

// Of returns the group of that name of the calls that c makes, nil if c does not tell.
func Of(c api.Client, name string) *Group {
	if client, ok := c.(interface{ RateGroup(name string) *Group }); ok {
		return client.RateGroup(name)
	}
	return nil
}

// line orders the callers of a Group. One of them is the next to start: it waits for the
// windows.
type line struct {
	occupied bool // there is a next one
	waiting  [classes][]place
	passed   [classes]int // starts of lower classes while a caller of the class waits
	running  []time.Time  // starts of the calls of Woken and Rest that run, unless they are spread
	alarm    *time.Timer  // for a class that may not start yet
}

// place is that of a caller in a line.
type place struct {
	asked time.Time
	ready chan struct{} // closed when the caller is the next one
}

// enter queues the caller. It returns a channel that is closed when it is the next to start.
func (g *Group) enter(c Class) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := place{time.Now(), make(chan struct{})}
	g.waiting[c] = append(g.waiting[c], p)
	g.advance()
	return p.ready
}

// leave lets the next caller follow. A caller that does not wait any longer calls it with its
// place, which may have become the next one.
func (g *Group) leave(c Class, ready <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.waiting[c], func(p place) bool { return p.ready == ready })
	if i >= 0 {
		g.waiting[c] = slices.Delete(g.waiting[c], i, i+1)
		return
	}
	g.occupied = false
	g.advance()
}

// advance chooses the next caller to start, unless there is one, or sets the alarm.
func (g *Group) advance() {
	if g.occupied {
		return
	}
	now := time.Now()
	c, at := g.choose(now)
	switch {
	case len(g.waiting[c]) == 0:
		return
	case at.After(now):
		g.wakeAfter(at.Sub(now))
		return
	}
	g.occupied = true
	close(g.waiting[c][0].ready)
	g.waiting[c] = slices.Delete(g.waiting[c], 0, 1)
	g.passed[c] = 0
	for other := c + 1; other < classes; other++ {
		if len(g.waiting[other]) > 0 {
			g.passed[other]++
		}
	}
}

// wakeAfter calls advance after d.
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

// choose returns the class of the next caller, and when it may start. Without callers it
// returns a class that has none.
func (g *Group) choose(now time.Time) (next Class, at time.Time) {
	for c := range Class(classes) {
		if len(g.waiting[c]) == 0 {
			continue
		}
		due := g.due(c, now)
		overdue := !due.After(now) && (g.passed[c] >= mostPassed || c == Rest && g.impatient())
		if len(g.waiting[next]) == 0 || overdue || due.Before(at) && at.After(now) {
			next, at = c, due
		}
	}
	return next, at
}

// due returns when a call of a class may start.
func (g *Group) due(c Class, now time.Time) time.Time {
	switch last := len(g.running) - mostRunning; {
	case c == Program:
	case g.long > 0:
		return g.ready(c, &g.windows[g.long-1])
	case last >= 0:
		return g.running[last].Add(longestRun)
	}
	return now
}

// begin records the start of a call: in a long window, and with its loop.
func (g *Group) begin(c Call, class Class) {
	var every time.Duration // between two calls of Woken and Rest, if they are spread
	switch {
	case g.long > 0:
		w := &g.windows[g.long-1]
		every = g.every(w, c.Started)
		g.pay(class, w, every, c.Started)
	case c.loop:
		g.running = append(g.running, c.Started)
	}
	c.turn.start(c.Started, every)
}

// end records the end of a call.
func (g *Group) end(c Call) {
	c.turn.change(func(t *Turn) { t.state.Running = false })
	if i := slices.Index(g.running, c.Started); i >= 0 && c.loop {
		g.running = slices.Delete(g.running, i, i+1)
		g.advance()
	}
}
