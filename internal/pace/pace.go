// Package pace says when the next call of a rate group may leave.
package pace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Window admits Max calls in any Size.
type Window struct {
	Max  int
	Size time.Duration
}

// Known returns the windows the platform publishes for a group, or nil.
func Known(group string) []Window {
	switch group {
	case "events.search":
		return []Window{{5, 3 * time.Second}, {15, 30 * time.Second}, {120, 10 * time.Minute}}
	case "activity.poll":
		return []Window{{200, time.Minute}, {1000, time.Hour}}
	}
	return nil
}

// ErrClosed ends an Acquire that would wait longer for the server than its
// caller is ready to.
var ErrClosed = errors.New("the server asked to be left alone for longer")

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
	refused  time.Time     // nobody leaves before: the server has said so
	full     time.Time     // nobody leaves before: others have used up a window
	refusal  chan struct{} // closed at the next refusal; nil unless somebody stands in line
	answer   chan struct{} // closed at the next change; nil unless somebody waits for one
}

type window struct {
	Window
	learned bool
	places  []time.Time // when the last call in a place was answered; busy until it is
}

// busy is later than any answer, so that a place in use is never free.
var busy = time.Unix(1<<40, 0) //nolint:gochecknoglobals // a constant in all but type

// New returns a Group with the given windows. It learns more from Observe.
func New(windows ...Window) *Group {
	g := &Group{turn: make(chan struct{}, 1)}
	for _, w := range windows {
		g.windows = append(g.windows, window{Window: w, places: make([]time.Time, w.Max)})
	}
	return g
}

// Acquire waits until a call may leave and returns its number, for Release.
//
// It calls waiting, unless nil, once it knows how long. It returns at once when
// the wait would outlast ctx, or when it is the server's wish and exceeds
// maxWait, unless that is negative. The error says both when both hold.
func (g *Group) Acquire(ctx context.Context, maxWait time.Duration, waiting func(wait time.Duration, ordered bool)) (uint64, error) {
	if err := g.queue(ctx, maxWait); err != nil {
		return 0, err
	}
	defer func() { <-g.turn }()
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, at, refused, changed := g.leave()
		if changed == nil {
			return n, nil
		}
		if at.Before(busy) {
			if err := worthwhile(ctx, maxWait, at, refused); err != nil {
				return 0, err
			}
			if waiting != nil {
				waiting(time.Until(at), at.Equal(refused))
				waiting = nil
			}
		}
		if err := pause(ctx, time.Until(at), changed); err != nil {
			return 0, err
		}
	}
}

// queue returns when the caller is the next to leave. A refusal by the server
// stirs those in line: some will not wait for so long, whoever is before them.
func (g *Group) queue(ctx context.Context, maxWait time.Duration) error {
	select {
	case g.turn <- struct{}{}:
		return nil
	default:
	}
	for {
		until, refusal := g.closure()
		if time.Now().Before(until) {
			if err := worthwhile(ctx, maxWait, until, until); err != nil {
				return err
			}
		}
		select {
		case g.turn <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-refusal:
		}
	}
}

// closure returns until when the server has closed the group, and a channel
// that is closed when it does so again.
func (g *Group) closure() (until time.Time, refusal <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	until = g.refused
	if g.refusal == nil {
		g.refusal = make(chan struct{})
	}
	return until, g.refusal
}

// worthwhile refuses a wait until at that ctx cannot outlast, or that the server
// orders and maxWait forbids.
func worthwhile(ctx context.Context, maxWait time.Duration, at, refused time.Time) error {
	dl, bounded := ctx.Deadline()
	late := bounded && dl.Before(at)
	switch {
	case late && refused.After(time.Now()):
		return errLate
	case late:
		return context.DeadlineExceeded
	case maxWait >= 0 && time.Until(refused) > maxWait:
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

// leave takes a place in every window. When there is none, it returns the time
// at which there will be and a channel that is closed if that changes.
func (g *Group) leave() (n uint64, at, refused time.Time, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at = later(g.refused, g.full)
	for i := range g.windows {
		at = later(at, g.windows[i].free(g.next))
	}
	if !at.IsZero() && at.After(time.Now()) {
		if g.answer == nil {
			g.answer = make(chan struct{})
		}
		return 0, at, g.refused, g.answer
	}
	n = g.next
	g.next++
	g.underway++
	for i := range g.windows {
		*g.windows[i].place(n) = busy
	}
	return n, at, g.refused, nil
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
	if len(g.windows) > 0 {
		now := time.Now()
		for i := range g.windows {
			*g.windows[i].place(n) = now
		}
	}
	g.wake()
}

// Close lets no call leave before until: the server has refused one.
func (g *Group) Close(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused = later(g.refused, until)
	g.wake()
	if g.refusal != nil {
		close(g.refusal)
		g.refusal = nil
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (g *Group) wake() {
	if g.answer != nil {
		close(g.answer)
		g.answer = nil
	}
}

// maxLearned bounds the memory an announced window may take.
const maxLearned = 4096

// Observe takes in what an answer told: the cap of a window, the calls left in
// it, and when it starts anew.
//
// Own calls are counted here, so the announcement matters in two cases: it
// tells of a window that is not known yet, or of others who use the same one.
func (g *Group) Observe(limit, remaining int, reset time.Time) {
	if limit <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	w := g.announced(limit, reset.Sub(now))
	if remaining > g.underway {
		return
	}
	own := 0
	if w != nil {
		own = w.used(now)
	}
	if limit-remaining > own {
		g.full = later(g.full, reset)
		g.wake()
	}
}

// announced returns the window of the given cap, learned from left, the time
// its current turn still has, unless it is known. It is nil for a cap too large
// to keep places for.
func (g *Group) announced(limit int, left time.Duration) *window {
	for i := range g.windows {
		w := &g.windows[i]
		if w.Max == limit {
			if w.learned && left > w.Size {
				w.Size = left
			}
			return w
		}
	}
	if limit > maxLearned || left <= 0 {
		return nil
	}
	learned := window{Window{limit, left}, true, make([]time.Time, limit)}
	for i := range g.windows {
		if g.windows[i].learned { // the cap has changed
			g.windows[i] = learned
			return &g.windows[i]
		}
	}
	g.windows = append(g.windows, learned)
	return &g.windows[len(g.windows)-1]
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
