// Package ratelimit delays the calls of a rate group until its limits have room.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
)

// ErrClosed ends an Acquire that would wait for the server for longer than its
// caller allows.
var ErrClosed = errors.New("the server orders a longer wait")

// errLate is an ErrClosed for want of time.
var errLate = fmt.Errorf("%w: %w", ErrClosed, context.DeadlineExceeded)

// Group keeps calls inside windows, however the server aligns them.
//
// Call n uses place n mod Max of each window, and leaves once the call that had
// the place before was answered a whole Size ago. Of any Max+1 calls two share a
// place, so no Max+1 reach the server within one Size. Callers leave in the
// order they came, unless the server refuses one. It is safe for concurrent use.
type Group struct {
	turn chan struct{} // full while the next to leave waits; a channel queues the others in order

	mu       sync.Mutex
	next     uint64
	underway int
	windows  []window
	refused  time.Time     // no call leaves before: the server has refused one
	full     claim         // of a window that others have used up
	closed   chan struct{} // closed at the next refusal or claim; nil unless a caller is in the queue
	answer   chan struct{} // closed at the next change; nil unless a caller waits for one
}

type window struct {
	api.RateWindow
	places []time.Time // when the last call in a place was answered; busy until it is

	learned bool
	until   time.Time // the announced end that Size was learned from
	denied  time.Time // an earlier end that was announced since; zero for none
}

// A claim is an announcement that a window has no room. It may be wrong, and is
// believed for a while: then a call is sent to see.
type claim struct {
	limit    int
	until    time.Time // when the window starts anew, as announced
	believed time.Time
}

// believed is how long a claim closes a group.
const believed = time.Minute

// busy is later than any answer, so that a place in use is never free.
var busy = time.Unix(1<<40, 0) //nolint:gochecknoglobals // a constant in all but type

// New returns a Group with the given windows. It learns more from Observe.
func New(windows ...api.RateWindow) *Group {
	g := &Group{turn: make(chan struct{}, 1)}
	for _, w := range windows {
		g.windows = append(g.windows, newWindow(w))
	}
	return g
}

func newWindow(w api.RateWindow) window {
	return window{RateWindow: w, places: make([]time.Time, w.Max)}
}

// Waiting is called with the length of a wait, and whether the server orders it.
type Waiting func(wait time.Duration, ordered bool)

// Acquire waits until a call may leave and returns its number, for Release.
//
// It calls waiting, unless nil, once it knows how long. It returns at once when
// the wait would outlast ctx, or when the server orders it and it exceeds maxWait,
// unless that is negative. The error says both when both hold. A window that was
// learned from announcements delays the next call by maxWait at most: that
// call shows whether the window is as announced.
func (g *Group) Acquire(ctx context.Context, maxWait time.Duration, waiting Waiting) (uint64, error) {
	select {
	case g.turn <- struct{}{}:
	default:
		if err := g.queue(ctx, maxWait); err != nil {
			return 0, err
		}
	}
	err := ctx.Err()
	var n uint64
	if err == nil {
		var o opening
		var changed <-chan struct{}
		if n, o, changed = g.admit(time.Time{}, maxWait); changed != nil {
			return g.wait(ctx, maxWait, waiting, o, changed)
		}
	}
	<-g.turn
	return n, err
}

// wait is the rest of an Acquire whose call may not leave at once.
func (g *Group) wait(
	ctx context.Context, maxWait time.Duration, waiting Waiting, o opening, changed <-chan struct{},
) (n uint64, err error) {
	defer func() { <-g.turn }()
	for since := time.Now(); changed != nil; n, o, changed = g.admit(since, maxWait) {
		if o.at.Before(busy) {
			if err := worthwhile(ctx, maxWait, o); err != nil {
				return 0, err
			}
			if waiting != nil {
				waiting(time.Until(o.at), o.refused)
				waiting = nil
			}
		}
		if err := pause(ctx, time.Until(o.at), changed); err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// opening is when the next call may leave.
type opening struct {
	at      time.Time
	ordered time.Time // what the server asks for, which maxWait bounds
	refused bool      // at is the end of a refusal
}

// queue returns when the caller is the next to leave. A Retry-After reaches those in
// the queue at once: some will not wait for so long, whatever those before them do.
func (g *Group) queue(ctx context.Context, maxWait time.Duration) error {
	for {
		o, closed := g.closure()
		if o.at.After(time.Now()) {
			if err := worthwhile(ctx, maxWait, o); err != nil {
				return err
			}
		}
		select {
		case g.turn <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-closed:
		}
	}
}

// closure returns until when the server has closed the group, and a channel that
// is closed when it does so again.
func (g *Group) closure() (o opening, closed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
	return g.ordered(time.Now()), g.closed
}

// ordered returns when the group opens by what the server said of it.
func (g *Group) ordered(now time.Time) opening {
	o := opening{g.refused, g.refused, true}
	if !now.Before(g.full.believed) {
		return o
	}
	if until := earlier(g.full.until, g.full.believed); until.After(o.at) {
		o.at, o.refused = until, false
	}
	o.ordered = later(o.ordered, g.full.until)
	return o
}

// worthwhile refuses a wait that ctx cannot outlast, or that the server orders and
// maxWait forbids.
func worthwhile(ctx context.Context, maxWait time.Duration, o opening) error {
	dl, bounded := ctx.Deadline()
	late := bounded && dl.Before(o.at)
	switch {
	case late && o.ordered.After(time.Now()):
		return errLate
	case late:
		return context.DeadlineExceeded
	case maxWait >= 0 && time.Until(o.ordered) > maxWait:
		return ErrClosed
	}
	return nil
}

// pause returns after wait, at a change, or with the error of ctx.
func pause(ctx context.Context, wait time.Duration, changed <-chan struct{}) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-t.C:
	}
	return nil
}

// admit lets the next call leave, if every window has room, and returns its number.
// Otherwise it returns when there will be room and a channel that is closed if
// that changes. The caller waits since then, the zero time means now.
func (g *Group) admit(since time.Time, maxWait time.Duration) (n uint64, o opening, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if since.IsZero() {
		since = now
	}
	if now.Before(g.refused) || now.Before(g.full.believed) {
		o = g.ordered(now)
	}
	for i := range g.windows {
		w := &g.windows[i]
		free := w.free(g.next)
		if w.learned && maxWait >= 0 && free.Before(busy) {
			free = earlier(free, since.Add(maxWait))
		}
		if free.After(o.at) {
			o.at, o.refused = free, false
		}
	}
	if o.at.After(now) {
		if g.answer == nil {
			g.answer = make(chan struct{})
		}
		return 0, o, g.answer
	}
	n = g.next
	g.next++
	g.underway++
	for i := range g.windows {
		*g.windows[i].place(n) = busy
	}
	return n, o, nil
}

// place returns where call n notes its answer.
func (w *window) place(n uint64) *time.Time { return &w.places[n%uint64(len(w.places))] }

// free returns when call n finds its place free. A thousandth is added because
// the server's clock need not run as fast as ours.
func (w *window) free(n uint64) time.Time {
	last := *w.place(n)
	if last.IsZero() || last.Equal(busy) {
		return last
	}
	return last.Add(w.Size + w.Size/1000)
}

// Release notes that call n was answered, or will not be.
func (g *Group) Release(n uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.underway--
	now := time.Now()
	for i := range g.windows {
		*g.windows[i].place(n) = now
	}
	g.wake()
}

// Close lets no call leave before until: the server has refused one.
func (g *Group) Close(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused = later(g.refused, until)
	g.close()
}

// close makes callers look again at when the group opens.
func (g *Group) close() {
	g.wake()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// Full returns the limit of a window that is announced to have no room, and when
// it starts anew.
func (g *Group) Full() (limit int, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.full.limit, g.full.until
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (g *Group) wake() {
	if g.answer != nil {
		close(g.answer)
		g.answer = nil
	}
}

// maxLearned bounds the memory an announced window may take.
const maxLearned = 4096

// Observe takes in what an answer announces: the limit of a window, the calls left
// in it, and when it starts anew.
//
// Own calls are counted here, so an announcement matters in two cases: it is of a
// window that is not known yet, or of one that others use as well.
func (g *Group) Observe(limit, remaining int, reset time.Time) {
	if limit <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	w := g.announced(limit, reset, now)
	if remaining > g.underway {
		return
	}
	own := 0
	if w != nil {
		own = w.used(now)
	}
	if limit-remaining > own && (limit == g.full.limit || reset.After(g.full.until)) {
		g.full = claim{limit, reset, now.Add(believed)}
		g.close()
	}
}

// announced returns the window of the given limit, learned from its reset unless
// it is known. It is nil for a limit that is too large to keep places for.
func (g *Group) announced(limit int, reset, now time.Time) *window {
	for i := range g.windows {
		w := &g.windows[i]
		if w.Max != limit {
			continue
		}
		if w.learned && w.learn(reset, now) {
			g.wake()
		}
		return w
	}
	left := reset.Sub(now)
	if limit > maxLearned || left <= 0 {
		return nil
	}
	learned := newWindow(api.RateWindow{Max: limit, Size: left})
	learned.learned, learned.until = true, reset
	for i := range min(g.next, uint64(len(learned.places))) { // the calls before are in it, for all that is known
		*learned.place(g.next - 1 - i) = now
	}
	for i := range g.windows {
		if g.windows[i].learned { // the limit has changed
			g.windows[i] = learned
			return &g.windows[i]
		}
	}
	g.windows = append(g.windows, learned)
	return &g.windows[len(g.windows)-1]
}

// learn corrects the size of a window by the announced reset, and reports whether
// it did.
//
// The size is the longest time until a reset. A Date or an expiry that is wrong
// makes it too long. Then other answers announce an earlier reset, which no window
// does. Answers may arrive out of order, so that this counts only if no answer
// announces the later reset again; or at once if calls would be delayed for long.
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

// used counts the calls the server may still hold against the window.
func (w *window) used(now time.Time) int {
	n := 0
	for _, answered := range w.places {
		if now.Sub(answered) < w.Size {
			n++
		}
	}
	return n
}
