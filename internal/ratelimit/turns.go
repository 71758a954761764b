package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
)

// Class says for whom a call is. Of the callers of a Group that wait, those of Program start
// first, then those of Woken, then those of Rest. A class that waits is passed by three
// starts of the classes before it at most.
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
	mostPassed  = 3           // starts of classes before it while a caller of a class waits
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

// State returns the state of the loop. While a call waits, Waited includes the time
// that it has waited so far.
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

// change calls f with the state locked; a nil Turn has none.
func (t *Turn) change(f func(t *Turn)) {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		f(t)
	}
}

// Reserve waits until a call of g may start, or until ctx is done, and keeps its place
// for the next call of the loop, which then starts at once. A nil Group has no limits.
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

// take returns the call of g that Reserve has kept, if there is one, and gives it up.
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

// await waits as long as it takes until a call may start, and fails only when ctx is
// done.
func (g *Group) await(ctx context.Context) (Call, error) {
	c, err := g.Acquire(ctx, -1, nil)
	if err != nil { // also if the wait exceeds the deadline of ctx
		<-ctx.Done()
		return c, ctx.Err()
	}
	return c, nil
}

// Of returns the rate group of that name which the calls of c use, nil if c does not
// expose its groups.
func Of(c api.Client, name string) *Group {
	if client, ok := c.(interface{ RateGroup(name string) *Group }); ok {
		return client.RateGroup(name)
	}
	return nil
}
