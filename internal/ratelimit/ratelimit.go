// Package ratelimit delays the calls of a rate group to keep them within its
// limits.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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
	HasLearned atomic.Bool // a window from announcements, which Unannounced may forget

	mu           sync.Mutex
	nextCall     uint64
	underway     int
	windows      []*window
	longest      *window   // of several known windows; nil if there are fewer
	refusedUntil time.Time // the end of the last Retry-After: no call starts before
	opensAt      time.Time // refused with a random delay
	usedUp       claim     // that others have used up a window

	// The queue: see advance.
	waiting   [classes][]*caller
	waits     int          // callers in waiting
	passed    [classes]int // starts of the classes before it while a caller of the class waits
	loopCalls []Call       // of Woken and Rest, unless they are spread
	alarm     *time.Timer  // for the next start

	// The division of a long window: see spreadStart.
	spreadOver  *window       // over which calls are spread; nil means none
	paidUntil   time.Time     // until then the starts of Woken and Rest have used up their part
	debt        time.Duration // for starts of Rest before one of Woken, which later ones pay
	lastProgram time.Time     // start of Program
	programRate float64       // calls of Program in a nanosecond; those of a burst count as one
}

type window struct {
	api.RateWindow
	slots      []time.Time // when the last call in a slot ended; busy while it runs; zero if free
	learned    bool
	announced  time.Time // when a response has announced it last, if it is learned
	learnedEnd time.Time // the announced end from which Size was computed
	earlierEnd time.Time // an end before it that was announced since; zero means none

	// What responses tell about other clients: see recordFull.
	share         float64   // own calls in a Size
	decidedBefore uint64    // a response to an earlier call does not decrease share again
	lastFull      time.Time // when the window was last reported full
	ownWhenFull   float64   // own calls in the window when it became full
	announcedEnd  time.Time // an announced end; calls before it do not count after it
	sliding       bool      // calls count for a Size each, and announcedEnd is not used
}

// Call is a call that may start. Release must be called when it has ended.
type Call struct {
	number  uint64
	loop    *Loop // may be nil
	Started time.Time
	Ordered bool // after a wait that the server ordered
}

// A claim is an announcement that a window is used up. It may be wrong, so it
// is trusted for a limited time, after which a call is sent to check.
type claim struct {
	limit int
	until time.Time // the announced start of the next window
	opens time.Time // when calls start again: at until with a random delay, or once the claim is not trusted
}

// trustTime is how long a claim is trusted.
const trustTime = time.Minute

// anyWait is a maxWait that allows any wait.
const anyWait = -1

// busy marks a slot in use: it is later than any time.
var busy = time.Unix(1<<40, 0) //nolint:gochecknoglobals // a constant

// New returns a Group with the given windows, the longest last. Calls of loops are
// spread over the longest window if that is long. Observe adds other windows.
func New(windows ...api.RateWindow) *Group {
	g := new(Group)
	for _, known := range windows {
		w := newWindow(known)
		g.windows = append(g.windows, w)
		if w.Size >= longWindow {
			g.spreadOver = w
		}
		if len(windows) > 1 { // else no shorter window limits its calls, and recordFull must reduce its share
			g.longest = w
		}
	}
	return g
}

// newWindow returns a window with a free slot for each of its calls.
func newWindow(w api.RateWindow) *window {
	return &window{RateWindow: w, slots: make([]time.Time, w.Max), share: float64(w.Max)}
}

// window returns the window with the given limit, nil if there is none.
func (g *Group) window(limit int) *window {
	i := slices.IndexFunc(g.windows, func(w *window) bool { return w.Max == limit })
	if i < 0 {
		return nil
	}
	return g.windows[i]
}

// Waiting is called with the length of a wait and whether it is a Retry-After.
type Waiting func(wait time.Duration, isRetryAfter bool)

// Acquire waits until a call may start. Its class is that of the [Loop] of ctx.
//
// It calls report, unless nil, once the length of the wait is known, which for a caller
// behind others is an estimate. It fails at once if the wait exceeds the deadline of ctx, or
// if the server requires a longer wait than maxWait; a negative maxWait allows any. If both
// hold, the error wraps both.
//
// A window that is known only from the headers of responses (learned) may be wrong. It
// delays a call by maxWait at most; the response to that call shows whether it is right.
func (g *Group) Acquire(ctx context.Context, maxWait time.Duration, report Waiting) (Call, error) {
	if err := ctx.Err(); err != nil {
		return Call{}, err
	}
	class := Program
	loop, _ := ctx.Value(loopKey{}).(*Loop)
	if loop != nil {
		if c, ok := loop.take(g); ok { // reserved before
			return c, nil
		}
		loop.locked(func(l *Loop) { l.asked, class = time.Now(), l.state.Class })
	}
	g.mu.Lock()
	now := time.Now()
	if class == Program && g.waits == 0 { // it needs no queue: nothing waits, and classDue delays only other classes
		firstSince := now
		c, o := g.tryStart(loop, class, now, firstSince, maxWait)
		started := !o.at.After(now)
		if started {
			g.mu.Unlock()
			return c, nil
		}
	}
	w := &caller{loop: loop, class: class, maxWait: maxWait, asked: now, openings: make(chan opening, 1)}
	w.deadline, _ = ctx.Deadline()
	g.waiting[class] = append(g.waiting[class], w)
	g.waits++
	g.endLongWait(w, g.requiredWait(now), now) // at once: advance checks only the caller that is next
	g.advance()
	g.mu.Unlock()
	return g.wait(ctx, w, report)
}

// wait returns the call of w once it has started, or why it cannot start. When the
// expected start becomes known, it calls report, unless nil.
func (g *Group) wait(ctx context.Context, w *caller, report Waiting) (Call, error) {
	defer context.AfterFunc(ctx, func() { g.abandon(w, ctx.Err()) })()
	returned := false
	defer func() {
		if !returned { // report has panicked
			g.abandon(w, context.Canceled)
			hadStarted := w.err == nil // then abandon has no effect
			if hadStarted {
				g.Release(w.call)
			}
		}
	}()
	for o := range w.openings { // until endWait closes it
		if report != nil {
			report(time.Until(o.at), o.refused)
		}
	}
	returned = true
	w.call.Started = time.Now() // report may have taken long
	return w.call, w.err
}

// opening describes when the next call may start.
type opening struct {
	at          time.Time // busy while a call that runs holds the slot
	closedUntil time.Time // until when the server allows no call; maxWait limits the wait for that
	refused     bool      // at is the end of a Retry-After
}

// requiredWait returns when the server allows calls of the group again. Two things may
// close the group: a Retry-After, until refusedUntil, and the claim of a response that
// others have used up a window (usedUp), until usedUp.until. The later time is closedUntil.
//
// Calls start again at the later one of opensAt, a random delay after refusedUntil, and
// usedUp.opens, a random delay after usedUp.until. As a claim may be wrong, usedUp.opens is
// at most trustTime after the response. refused is false if the later one is usedUp.opens.
func (g *Group) requiredWait(now time.Time) opening {
	o := opening{at: g.opensAt, closedUntil: g.refusedUntil, refused: true}
	hasClaim := now.Before(g.usedUp.opens)
	if hasClaim {
		o.closedUntil = times.Later(o.closedUntil, g.usedUp.until)
		if g.usedUp.opens.After(o.at) { // the claim is the reason, not the Retry-After
			o.at, o.refused = g.usedUp.opens, false
		}
	}
	return o
}

// tryStart starts the next call if every window has room for it. Else it returns an
// opening later than now: when there will be room, as far as is known, and whether a
// Retry-After is the reason. A window that is known only from responses (learned) delays the
// call by maxWait at most, from firstSince on, when its caller became the first. g.mu is held.
func (g *Group) tryStart(loop *Loop, class Class, now, firstSince time.Time, maxWait time.Duration) (c Call, o opening) {
	if now.Before(g.opensAt) || now.Before(g.usedUp.opens) {
		o = g.requiredWait(now)
	}
	for _, w := range g.windows {
		if free := w.mayStart(g.nextCall, firstSince, maxWait); free.After(o.at) {
			o.at, o.refused = free, false // the window is the reason, not a Retry-After
		}
	}
	if o.at.After(now) {
		return Call{}, o
	}
	c = Call{number: g.nextCall, loop: loop, Started: now}
	g.nextCall++
	g.underway++
	for _, w := range g.windows {
		*w.slot(c.number) = busy // until Release
	}
	if loop != nil || g.spreadOver != nil { // a call without a loop is recorded for spreadOver only
		g.recordStart(c, class)
	}
	return c, o
}

// slot returns the slot that call n occupies: the calls of a window use its slots in
// turn.
func (w *window) slot(n uint64) *time.Time { return &w.slots[n%uint64(len(w.slots))] }

// mayStart returns when this window has room for call n, or busy while the last call in
// the slot of n still runs. A window that is known only from responses (learned) delays the
// call by maxWait at most, from firstSince on, when its caller became the first in the queue.
// With a negative maxWait (anyWait), the delay is unlimited.
//
// A window that does not slide ends at announcedEnd for all calls that have ended before that
// time. But whether a window slides is known only if it is longer than 2*rounding: the ends
// that responses announce are not exact enough for observeEnd to notice it in a shorter one.
func (w *window) mayStart(n uint64, firstSince time.Time, maxWait time.Duration) time.Time {
	lastEnd := *w.slot(n)
	if lastEnd.Equal(busy) {
		return busy
	}
	var at time.Time
	if !lastEnd.IsZero() {
		at = lastEnd.Add(w.Size + w.Size/1000) // the server's clock may run slower
		hasCommonEnd := !w.sliding && w.Size > 2*rounding
		countsUntilThen := hasCommonEnd && !lastEnd.After(w.announcedEnd)
		if countsUntilThen {
			at = times.Earlier(at, w.announcedEnd)
		}
	}
	if w.share < float64(w.Max) { // other clients use the window
		at = times.Later(at, w.shareAllows(n))
	}
	if w.learned && maxWait >= 0 { // the window may be wrong
		at = times.Earlier(at, firstSince.Add(maxWait))
	}
	return at
}

// Release records that c has ended or was not made, which may make room for a caller
// that waits.
func (g *Group) Release(c Call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.underway--
	now := time.Now()
	for _, w := range g.windows { // c counts from its end, as it may have reached the server as late as that
		*w.slot(c.number) = now
	}
	if g.spreadOver != nil {
		// In the long one of g.windows, c counts from when it has reached the server: a long poll ends much later.
		*g.spreadOver.slot(c.number) = times.Earlier(now, c.Started.Add(arrival))
	}
	if c.loop != nil {
		g.end(c)
	}
	if g.waits > 0 {
		g.advance()
	}
}

// Close keeps calls from starting before until, the end of a Retry-After. Waits that are now
// longer than their callers allow end at once. If the window with the given limit is shared
// with other clients, a random delay is added, so that they do not start together.
func (g *Group) Close(until time.Time, limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refusedUntil = times.Later(g.refusedUntil, until)
	if w := g.window(limit); w != nil {
		until = until.Add(w.randomDelay())
	}
	g.opensAt = times.Later(g.opensAt, until)
	g.endLongWaits()
}

// Full is for the error of a call that a closed group does not start. If a response has
// announced that a window is used up, Full returns the limit of the window and the start
// of the next window. It returns zero values if a Retry-After closes the group and the
// announcement is too old to be trusted.
func (g *Group) Full() (limit int, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	isTrusted := now.Before(g.usedUp.opens)
	if !isTrusted && now.Before(g.refusedUntil) {
		return 0, time.Time{}
	}
	return g.usedUp.limit, g.usedUp.until
}

// maxLearned limits the memory of an announced window.
const maxLearned = 4096

// Observe records what the response to c announces: the limit of a window, the calls
// remaining in it, and when the next one starts. c has been released.
//
// As the group counts its own calls, an announcement matters only if its window is not
// known yet, or if other clients use the window too.
func (g *Group) Observe(c Call, limit, remaining int, reset time.Time) {
	if limit <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	w := g.learn(limit, remaining, reset, now)
	if remaining > g.underway { // there is room for all calls that run
		return
	}
	// If the server counts more calls than our own, other clients use the window. If not, its slots, in which our own
	// calls are, delay the next call long enough.
	usedByOthers := limit-remaining > w.ownCalls(c.Started)
	// g.usedUp holds only one claim that a window is full. The new one replaces it if it is of the same window, which
	// has the same limit, or if its window ends later.
	replacesClaim := limit == g.usedUp.limit || reset.After(g.usedUp.until)
	if usedByOthers && replacesClaim {
		g.recordFull(w, c, reset, now)
		opens := reset.Add(w.randomDelay())
		trustedUntil := now.Add(trustTime) // the claim may be wrong: from then on a call may start, and its response shows it
		g.usedUp = claim{limit, reset, times.Earlier(opens, trustedUntil)}
		g.endLongWaits() // of callers that would now wait for too long
	}
}

// Learn records the window that a response announces, as Observe does, but not that other
// clients have used it up. It is for a client whose windows are shared by a Limiter, which
// knows the calls of the others.
func (g *Group) Learn(limit, remaining int, reset time.Time) {
	if limit <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.learn(limit, remaining, reset, time.Now())
}

// learn records that the server has accepted a call, and the window that its response
// announces. It returns the window: see findOrLearn. The caller holds g.mu.
func (g *Group) learn(limit, remaining int, reset, now time.Time) *window {
	g.growShares(now)
	w := g.findOrLearn(limit, remaining, reset, now)
	wasFull := !w.announcedEnd.IsZero()
	if wasFull { // then recordFull has set announcedEnd: an end that differs may prove that the window slides
		w.observeEnd(reset)
	}
	return w
}

// findOrLearn returns the window of the given limit. If there is none, it adds a window
// that ends at the announced reset, in place of other learned windows. If the limit is too
// large to track, or the window is over, it returns an empty window, which does not become
// one of the group. The caller holds g.mu.
func (g *Group) findOrLearn(limit, remaining int, reset, now time.Time) *window {
	if w := g.window(limit); w != nil {
		w.announced = now
		if w.learned && w.correctsSize(reset, now) {
			w.Size = max(reset.Sub(now), 0) // the window is at least as long as what is left of it
			w.learnedEnd, w.earlierEnd = reset, time.Time{}
			g.advance() // the calls that wait may start at another time
		}
		return w
	}
	left := reset.Sub(now)
	if limit > maxLearned || left <= 0 {
		return &window{learned: true}
	}
	w := newWindow(api.RateWindow{Max: limit, Size: left})
	w.learned, w.announced, w.learnedEnd = true, now, reset
	g.HasLearned.Store(true)
	// The new window has no record of earlier calls. So the latest calls are recorded as ended now: as many as the
	// server counts in the window (at least the one that was answered), and as many as run, which it may not count
	// yet. If remaining is invalid, the window counts as used up.
	used := limit
	if remaining <= limit {
		used = max(1, limit-remaining) + g.underway
	}
	for i := range min(g.nextCall, uint64(len(w.slots)), uint64(used)) { //nolint:gosec // used is positive
		earlierCall := g.nextCall - 1 - i
		*w.slot(earlierCall) = now
	}
	g.windows = slices.DeleteFunc(g.windows, func(w *window) bool { return w.learned }) // the limit has changed
	g.windows = append(g.windows, w)
	return w
}

// Unannounced records that the response to an accepted call announces no window. A window
// that is known only from responses (learned) is removed when none has announced it for
// trustTime: the announcement may have been wrong, and nothing would correct it.
func (g *Group) Unannounced() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.windows = slices.DeleteFunc(g.windows, func(w *window) bool {
		isForgotten := w.learned && now.Sub(w.announced) >= trustTime
		if isForgotten {
			g.HasLearned.Store(false) // at most one is learned
		}
		return isForgotten
	})
	g.advance() // the calls that wait for the removed window may start
}

// correctsSize reports whether the time until reset, the end that a response announces, must
// become the size of w, a learned window.
//
// The size is the longest time that was left until an announced end (learnedEnd). If that end
// was wrong, the size is too long. For example, at 12:00:00 a response has announced 12:00:50,
// but the window ends at 12:00:10, as the next response announces. That response may also be
// an old one, which arrives late. So its end only makes the size doubtful (earlierEnd). If
// 12:00:50 is announced again, the size was right. If not, the first response from 12:00:12
// on (slack later), or the first that announces an end after 12:00:50, replaces the size. A
// size of more than trustTime is replaced at once, by the first response with another end.
func (w *window) correctsSize(reset, now time.Time) bool {
	const slack = 2 * time.Second // times are announced in whole seconds
	left, later := reset.Sub(now), reset.Sub(w.learnedEnd)
	delaysTooLong := w.Size > trustTime
	switch {
	case left > w.Size: // the size was too small
		return true
	case later.Abs() <= slack: // the same end again: the size was right
		w.earlierEnd = time.Time{}
		return false
	case delaysTooLong:
		return true
	case later > 0: // the end of a later window: learnedEnd is over, so a doubtful size was too long
		return !w.earlierEnd.IsZero()
	case w.earlierEnd.IsZero(): // an earlier end: the size becomes doubtful
		w.earlierEnd = reset
		return false
	default: // doubtful: until then another response may still announce learnedEnd
		return !now.Before(w.earlierEnd.Add(slack))
	}
}

// ownCalls returns how many own calls the server counts at most in a window at the given
// time: those that ended less than a Size before, and those that still run.
func (w *window) ownCalls(at time.Time) int {
	n := 0
	for _, ended := range w.slots {
		isFree := ended.IsZero()
		if !isFree && at.Sub(ended) < w.Size { // also true of busy, which is later than any time
			n++
		}
	}
	return n
}
