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

// Loop is the side of a loop whose calls wait in a Group: see [With]. The zero Loop is of
// the class Program. It is safe for concurrent use by the loop, which makes one call at a
// time, and others. The methods of a nil Loop have no effect.
type Loop struct {
	mu       sync.Mutex
	state    State
	asked    time.Time // for the start of a call; zero if that is over
	group    *Group    // of reserved; nil without one
	reserved Call
}

// State is the state of a [Loop].
type State struct {
	Class   Class         // of the next call
	Waited  time.Duration // by the latest call that has started, or by the one that waits if that is longer
	Started time.Time     // the latest call
	Running bool          // whether it has not ended
	Every   time.Duration // time between two calls of all loops at that start; 0 unless they are spread
}

type loopKey struct{}

// With returns a context in which calls belong to t.
func With(ctx context.Context, l *Loop) context.Context { return context.WithValue(ctx, loopKey{}, l) }

// LoopOf returns the Loop of ctx, nil without one.
func LoopOf(ctx context.Context) *Loop {
	l, _ := ctx.Value(loopKey{}).(*Loop)
	return l
}

// State returns the state of the loop. While a call waits, Waited is the time that it
// has waited so far, if that is longer than the wait of the call before it.
func (l *Loop) State() (s State) {
	l.locked(func(l *Loop) {
		s = l.state
		if !l.asked.IsZero() {
			s.Waited = max(s.Waited, time.Since(l.asked))
		}
	})
	return s
}

// SetClass sets the class of the next call.
func (l *Loop) SetClass(c Class) { l.locked(func(l *Loop) { l.state.Class = c }) }

// locked calls f while the Loop is locked. Of a nil Loop it does nothing.
func (l *Loop) locked(f func(l *Loop)) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		f(l)
	}
}

// Reserve waits until a call of g may start, or until ctx is done, and keeps its place
// for the next call of the loop, which then starts at once. A nil Group has no limits.
func (l *Loop) Reserve(ctx context.Context, g *Group) error {
	if g == nil {
		return ctx.Err()
	}
	c, err := g.await(With(ctx, l))
	if err == nil {
		l.locked(func(l *Loop) { l.group, l.reserved = g, c })
	}
	return err
}

// Cancel gives up the start that Reserve has kept for a call of g, if there is one.
func (l *Loop) Cancel(g *Group) {
	if c, ok := l.take(g); ok {
		g.Release(c)
	}
}

// take returns the call of g that Reserve has kept, which is then kept no longer. It returns
// false if there is none.
func (l *Loop) take(g *Group) (c Call, ok bool) {
	l.locked(func(l *Loop) {
		if g != nil && l.group == g {
			c, ok, l.group = l.reserved, true, nil
		}
	})
	return c, ok
}

// Wait waits until a call may start, or until ctx is done. What the caller then does,
// such as to dial, counts as a call that ended at once.
func (g *Group) Wait(ctx context.Context) error {
	c, err := g.await(ctx)
	if err == nil {
		g.Release(c)
	}
	return err
}

// await waits until a call may start, however long that takes. It fails only when ctx
// is done, as [wait.Sleep] does.
func (g *Group) await(ctx context.Context) (Call, error) {
	c, err := g.Acquire(ctx, anyWait, nil) // without a report
	if err != nil {                        // ctx is done, or its deadline is before the start of the call
		<-ctx.Done()
		return c, ctx.Err()
	}
	return c, nil
}

// Of returns the rate group of a name for the calls of c, or nil, which has no limits,
// if c is not a client of this SDK, such as one of a test.
func Of(c api.Client, name string) *Group {
	if client, ok := c.(interface{ RateGroup(name string) *Group }); ok {
		return client.RateGroup(name)
	}
	return nil
}
