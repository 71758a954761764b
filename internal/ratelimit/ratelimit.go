// Package ratelimit delays the calls of a rate group to keep them within its
// limits.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/times"
)

// ErrClosed is returned by Acquire if the server requires a longer wait than
// the caller allows.
var ErrClosed = errors.New("the server requires a longer wait")

// errLate is an ErrClosed because of the deadline of the context.
var errLate = fmt.Errorf("%w: %w", ErrClosed, context.DeadlineExceeded)

// Group keeps calls within rate windows, however the server aligns them.
//
// Call n uses slot n mod Max of each window. It starts a whole Size after the call
// that used the slot before has ended. Of any Max+1 calls two share a slot, so no
// Max+1 calls reach the server within one Size. Callers of a [Class] are served in order,
// except for those that return an error. A Group is safe for concurrent use.
type Group struct {
	mu sync.Mutex
	line
	spread
	next     uint64
	underway int
	windows  []*window
	refused  time.Time // the end of the last Retry-After: no call starts before
	opens    time.Time // refused with a random delay
	full     claim     // that others have used up a window
}

type window struct {
	api.RateWindow
	slots []time.Time // when the last call in a slot ended; busy while it runs; zero if free

	sharing
	learned bool
	until   time.Time // the announced end that Size was learned from
	denied  time.Time // an earlier end that was announced since; zero means none
}

// Call is a call that may start. Release must be called when it has ended.
type Call struct {
	number  uint64
	turn    *Turn // may be nil
	Started time.Time
	Ordered bool // after a wait that the server ordered
}

// A claim is an announcement that a window is used up. It may be wrong, so it
// is trusted for a limited time, after which a call is sent to check.
type claim struct {
	limit int
	until time.Time // the announced start of the next window
	opens time.Time // until with a random delay, or when it is not trusted any longer
}

// believed is how long a claim is trusted.
const believed = time.Minute

// busy marks a slot in use: it is later than any time.
var busy = time.Unix(1<<40, 0) //nolint:gochecknoglobals // a constant

// New returns a Group with the given windows. Observe adds others.
func New(windows ...api.RateWindow) *Group {
	g := new(Group)
	for _, known := range windows {
		w := newWindow(known)
		g.windows = append(g.windows, w)
		if w.Size >= longWindow {
			g.long = w
		}
	}
	return g
}

// newWindow returns a window with a free slot for each of its calls.
func newWindow(w api.RateWindow) *window {
	return &window{RateWindow: w, slots: make([]time.Time, w.Max), sharing: sharing{share: float64(w.Max)}}
}

// window returns the window with a limit of so many calls, nil if there is none.
func (g *Group) window(limit int) *window {
	for _, w := range g.windows {
		if w.Max == limit {
			return w
		}
	}
	return nil
}

// Waiting is called with the length of a wait and whether it is a Retry-After.
type Waiting func(wait time.Duration, ordered bool)

// Acquire waits until a call may start. Its class is that of the [Turn] of ctx.
//
// It calls waiting, unless nil, once the length of the wait is known. It fails
// at once if the wait exceeds the deadline of ctx, or if the server requires it
// and it exceeds maxWait, unless maxWait is negative. If both hold, the error
// wraps both. A window learned from announcements delays a call by maxWait at
// most: that call verifies the window.
func (g *Group) Acquire(ctx context.Context, maxWait time.Duration, waiting Waiting) (Call, error) {
	if err := ctx.Err(); err != nil {
		return Call{}, err
	}
	class := Program
	turn, _ := ctx.Value(turnKey{}).(*Turn)
	if turn != nil {
		if c, ok := turn.take(g); ok {
			return c, nil
		}
		turn.change(func(t *Turn) { t.asked, class = time.Now(), t.state.Class })
	}
	g.mu.Lock()
	now := time.Now()
	if class == Program && len(g.waiting[Program])+len(g.waiting[Woken])+len(g.waiting[Rest]) == 0 {
		c, o := g.admit(turn, class, now, now, maxWait)
		if !o.at.After(now) {
			g.mu.Unlock()
			return c, nil
		}
	}
	w := &caller{turn: turn, class: class, maxWait: maxWait, asked: now, expected: make(chan opening, 1)}
	w.deadline, _ = ctx.Deadline()
	g.waiting[class] = append(g.waiting[class], w)
	g.endLongWait(w, g.ordered(now), now)
	g.advance()
	g.mu.Unlock()
	return g.wait(ctx, w, waiting)
}

// wait waits until the call of w has started and returns it, or returns why it cannot
// start. It calls waiting whenever the expected start is known anew.
func (g *Group) wait(ctx context.Context, w *caller, waiting Waiting) (Call, error) {
	ended := false
	defer func() {
		if !ended { // waiting has panicked
			g.leave(w, context.Canceled)
			if w.err == nil {
				g.Release(w.call)
			}
		}
	}()
	for done := ctx.Done(); ; {
		select {
		case o, waits := <-w.expected:
			if !waits {
				ended = true
				w.call.Started = time.Now() // waiting may have taken long
				return w.call, w.err
			}
			if waiting != nil {
				waiting(time.Until(o.at), o.refused)
			}
		case <-done:
			done = nil
			g.leave(w, ctx.Err())
		}
	}
}

// opening describes when the next call may start.
type opening struct {
	at      time.Time // busy while a call that runs holds the slot
	ordered time.Time // the wait the server requires, limited by maxWait
	refused bool      // at is the end of a Retry-After
}

// ordered returns the time before which the server allows no call of the group: the
// end of a Retry-After, or of a window that others have used up.
func (g *Group) ordered(now time.Time) opening {
	o := opening{g.opens, g.refused, true}
	if now.Before(g.full.opens) {
		o.ordered = times.Later(o.ordered, g.full.until)
		if g.full.opens.After(o.at) {
			o.at, o.refused = g.full.opens, false
		}
	}
	return o
}

// admit starts the next call if every window has room for it. Otherwise it returns
// when there will be room. Since is the time from which on the caller has been the
// first that waits.
func (g *Group) admit(turn *Turn, class Class, now, since time.Time, maxWait time.Duration) (c Call, o opening) {
	if now.Before(g.opens) || now.Before(g.full.opens) {
		o = g.ordered(now)
	}
	for _, w := range g.windows {
		if free := w.free(g.next, since, maxWait); free.After(o.at) {
			o.at, o.refused = free, false
		}
	}
	if o.at.After(now) {
		return Call{}, o
	}
	c = Call{number: g.next, turn: turn, Started: now}
	g.next++
	g.underway++
	for _, w := range g.windows {
		*w.slot(c.number) = busy
	}
	if turn != nil || g.long != nil { // otherwise there is nothing to record
		g.begin(c, class)
	}
	return c, o
}

// slot returns the slot that call n occupies: the calls of a window use its slots in
// turn.
func (w *window) slot(n uint64) *time.Time { return &w.slots[n%uint64(len(w.slots))] }

// free returns when call n may start. Its caller has been the first that waits since a
// time. A thousandth is added to the size because the server's clock may run slower.
func (w *window) free(n uint64, since time.Time, maxWait time.Duration) time.Time {
	at := *w.slot(n)
	if at.Equal(busy) {
		return busy
	}
	if !at.IsZero() {
		expiry := at.Add(w.Size + w.Size/1000)
		ends := !w.sliding && w.Size > 2*rounding // a shorter one may slide unnoticed
		if ends && !at.After(w.end) {
			expiry = times.Earlier(expiry, w.end)
		}
		at = expiry
	}
	if w.share < float64(w.Max) {
		at = times.Later(at, w.turn(n))
	}
	if w.learned && maxWait >= 0 {
		at = times.Earlier(at, since.Add(maxWait))
	}
	return at
}

// Release records that c has ended or was not made.
func (g *Group) Release(c Call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.underway--
	now := time.Now()
	for _, w := range g.windows {
		*w.slot(c.number) = now
	}
	if g.long != nil {
		*g.long.slot(c.number) = times.Earlier(now, c.Started.Add(arrival))
	}
	if c.turn != nil {
		g.end(c)
	}
	if len(g.waiting[Program])+len(g.waiting[Woken])+len(g.waiting[Rest]) > 0 {
		g.advance()
	}
}

// Close starts no call before until, the end of a Retry-After. If the window of the
// given limit is shared with other clients, a random delay follows.
func (g *Group) Close(until time.Time, limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused = times.Later(g.refused, until)
	if w := g.window(limit); w != nil {
		until = until.Add(w.spread())
	}
	g.opens = times.Later(g.opens, until)
	g.endLongWaits()
}

// Full returns the limit of a window announced as used up, and the start of the
// next one.
func (g *Group) Full() (limit int, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.full.limit, g.full.until
}

// maxLearned limits the memory of an announced window.
const maxLearned = 4096

// Observe records the announcement of the response to c, which has been released: the
// limit of a window, the calls left in it, and the start of the next one.
//
// The group counts its own calls. So an announcement matters only if its window is not
// known yet, or if others use the window too.
func (g *Group) Observe(c Call, limit, remaining int, reset time.Time) {
	if limit <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.grow(now)
	w := g.announced(limit, reset, now)
	if w != nil && !w.end.IsZero() {
		w.ends(reset)
	}
	if remaining > g.underway {
		return
	}
	own := 0
	if w != nil {
		own = w.used(c.Started)
	}
	if limit-remaining > own && (limit == g.full.limit || reset.After(g.full.until)) {
		opens := reset
		if w != nil {
			g.fill(w, c, reset, now)
			opens = reset.Add(w.spread())
		}
		g.full = claim{limit, reset, times.Earlier(opens, now.Add(believed))}
		g.endLongWaits()
	}
}

// Learn is Observe for a client that learns of the calls of others in another way.
func (g *Group) Learn(limit int, reset time.Time) { g.Observe(Call{}, limit, math.MaxInt, reset) }

// announced returns the window of the given limit. If the limit is not known, it
// learns the window from the announced reset. It returns nil if the limit is too large
// to track.
func (g *Group) announced(limit int, reset, now time.Time) *window {
	if w := g.window(limit); w != nil {
		if w.learned && w.learn(reset, now) {
			g.advance()
		}
		return w
	}
	left := reset.Sub(now)
	if limit > maxLearned || left <= 0 {
		return nil
	}
	w := newWindow(api.RateWindow{Max: limit, Size: left})
	w.learned, w.until = true, reset
	for i := range min(g.next, uint64(len(w.slots))) { // assume that the calls before count against it
		*w.slot(g.next - 1 - i) = now
	}
	g.windows = slices.DeleteFunc(g.windows, func(w *window) bool { return w.learned }) // the limit has changed
	g.windows = append(g.windows, w)
	return w
}

// learn corrects the size of a learned window by the announced reset. It returns true
// if the size has changed.
//
// The size is the longest time until a reset. A wrong Date or reset can make it too
// long; other responses then announce an earlier reset. As responses may arrive out of
// order, the earlier reset counts only if no response announces the later one again,
// or at once if calls would be delayed for long.
func (w *window) learn(reset, now time.Time) bool {
	const slack = 2 * time.Second // times are announced in whole seconds
	left, later := reset.Sub(now), reset.Sub(w.until)
	switch {
	case left > w.Size:
	case later.Abs() <= slack:
		w.denied = time.Time{}
		return false
	case later > 0: // the next window
		if w.denied.IsZero() && w.Size <= believed {
			return false
		}
	case w.Size > believed:
	case w.denied.IsZero():
		w.denied = reset
		return false
	case now.Before(w.denied.Add(slack)):
		return false
	}
	w.Size, w.until, w.denied = max(left, 0), reset, time.Time{}
	return true
}

// used returns the largest number of own calls that the server may count in the
// window at a time.
func (w *window) used(at time.Time) int {
	n := 0
	for _, ended := range w.slots {
		if at.Sub(ended) < w.Size && !ended.IsZero() {
			n++
		}
	}
	return n
}
