// Package page turns a paged endpoint into iterators.
//
// A loop that is left at its first item costs one request: the second page is
// requested when the loop asks for its second item. From then on one page is
// requested ahead of the loop, unless [api.WithoutPrefetch] is among the options.
package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/wait"
)

// The [api.ErrNoProgress] of a cursor that the server sends twice, or does not send.
var (
	ErrRepeated = fmt.Errorf("%w: it sent a cursor twice", api.ErrNoProgress)
	ErrNoCursor = fmt.Errorf("%w: it sent no cursor", api.ErrNoProgress)
)

// ErrEnd is returned by Repeated of a [List] if a page repeats the one before because that was
// the last. Read then ends the list without an error.
var ErrEnd = errors.New("the page has been read")

// Next returns the cursor of the next page, "" after the last.
func Next(op string, more bool, cursor string) (string, error) {
	switch {
	case !more:
		return "", nil
	case cursor == "":
		return "", fmt.Errorf("fastio: %s: %w", op, ErrNoCursor)
	}
	return cursor, nil
}

// Pages in a row without a new row that end an iteration.
const (
	fewEmpty  = 3
	ManyEmpty = 100 // of a list whose pages may be without one for a while
)

// List is a list in pages P of rows T.
type List[P, T any] struct {
	Op    string // of the errors of the iterators, other than those of Fetch
	Start string // cursor of the first page
	Fetch Fetch[P]
	Rows  func(P) []T
	Empty int // pages in a row without a new row that end an iteration; default 3

	// Progress is kept from one loop over Read to the next, which starts at the page
	// where the one before was left. Nil means that no loop continues another.
	Progress *Progress

	// Repeated says what a page with the rows of the page before means: ErrEnd ends the
	// list, any other error ends the iteration with that error, and nil counts the page as
	// a page without a new row. Default: nil.
	Repeated func(P) error
}

// Fetch returns the page at cursor, "" being the first, and the cursor of the
// next page, "" after the last. The cursor may be a number.
type Fetch[P any] func(ctx context.Context, cursor string, opts []api.CallOption) (page P, next string, err error)

// All iterates over the rows from the page at Start to the last. Nothing is fetched
// before the first range, and each range starts over. An error is yielded once, last.
// Leaving the loop cancels the fetch in progress and waits for it.
//
// The response for [api.WithResponse] is that of the page the loop is at, not
// of the page fetched ahead.
func (l List[P, T]) All(ctx context.Context, opts []api.CallOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		begun := false
		for at, err := range l.Read(ctx, opts) {
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range l.Rows(at.Page) {
				if begun { // the loop goes on after its first row
					at.Prefetch()
				}
				begun = true
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// Pages returns the pages of the list. The next page is fetched ahead once the loop has
// asked for a second one.
func (l List[P, T]) Pages(ctx context.Context, opts []api.CallOption) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		begun := false
		for at, err := range l.Read(ctx, opts) {
			if begun && err == nil {
				at.Prefetch()
			}
			begun = true
			if !yield(at.Page, err) {
				return
			}
		}
	}
}

// Current is the page that a loop over [List.Read] is at.
type Current[P any] struct {
	Page     P
	Prefetch func() // requests the next page in the background, if that has not been done
}

// Read returns the pages of the list for a loop that decides when the next page is
// requested: when it calls Prefetch, else when it is done with the page.
func (l List[P, T]) Read(ctx context.Context, opts []api.CallOption) iter.Seq2[Current[P], error] {
	return func(yield func(Current[P], error) bool) {
		if ctx == nil { // the call returns the error
			_, _, err := l.Fetch(ctx, l.Start, opts)
			yield(Current[P]{}, err)
			return
		}
		o := api.Resolve(opts)
		inner, cancel := context.WithCancel(ctx)
		r := &reader[P, T]{
			ctx: inner, list: l, opts: opts, wantsResponse: o.Response != nil, cursor: l.Start,
			Progress: cmp.Or(l.Progress, new(Progress)),
		}
		defer r.wait() // after cancel, so that it does not take long
		defer cancel()
		prefetch := r.prefetch
		if o.NoPrefetch {
			prefetch = func() {}
		}
		for !r.last {
			got := r.next()
			if got.response != nil {
				*o.Response = *got.response
			}
			switch {
			case errors.Is(got.err, ErrEnd):
				return
			case got.err != nil:
				yield(Current[P]{}, got.err)
				return
			case !yield(Current[P]{got.page, prefetch}, nil):
				return
			}
		}
	}
}

// reader fetches the pages of one range, one at a time.
type reader[P, T any] struct {
	ctx     context.Context
	list    List[P, T]
	opts    []api.CallOption
	pending chan result[P] // has the page that is fetched in the background; nil if there is none
	last    bool           // next has returned the last page

	wantsResponse bool // for [api.WithResponse]

	// Only fetchNext uses the following.
	cursor string // of the next page
	*Progress
}

// Progress is what the pages of a list have shown so far.
type Progress struct {
	nextErr    error // returned in place of the next page; nil if that is fetched
	cycles     cycleDetector
	latest     string // fingerprint of the last page with rows
	withoutNew int    // pages in a row without a new row
}

type result[P any] struct {
	page     P
	response *api.Response // nil if nothing was requested
	last     bool
	err      error
}

// prefetch starts to fetch the next page in the background.
func (r *reader[P, T]) prefetch() {
	if r.pending != nil || r.last {
		return
	}
	pending := make(chan result[P], 1)
	r.pending = pending
	go func() { pending <- r.fetchNext() }()
}

// next returns the next page, also if it was fetched in the background.
func (r *reader[P, T]) next() (got result[P]) {
	if r.pending == nil {
		got = r.fetchNext()
	} else {
		got, r.pending = <-r.pending, nil
	}
	r.last = got.last
	return got
}

// wait waits until the page that is fetched in the background is there.
func (r *reader[P, T]) wait() {
	if r.pending != nil {
		<-r.pending
	}
}

// fetchNext fetches the next page. An error of the page itself is in the result. If the page has
// the rows of the one before, Repeated decides what that means: its error, or ErrEnd, is in the
// result too. If the page is valid, but the cursors repeat (ErrRepeated), or too many pages had
// no new row, that is the error of the next call (nextErr).
func (r *reader[P, T]) fetchNext() (got result[P]) {
	if r.nextErr != nil {
		return result[P]{err: r.nextErr}
	}
	if err := wait.Sleep(r.ctx, r.pause()); err != nil {
		return result[P]{err: err}
	}
	opts := r.opts
	if r.wantsResponse {
		got.response = new(api.Response)
		opts = append(slices.Clip(opts), api.WithResponse(got.response))
	}
	var next string
	got.page, next, got.err = r.list.Fetch(r.ctx, r.cursor, opts)
	if got.err != nil {
		return got
	}
	got.last = next == ""
	isRepetition := r.noteRows(r.list.Rows(got.page))
	if isRepetition && r.list.Repeated != nil {
		got.err = r.list.Repeated(got.page)
		if got.err != nil && !errors.Is(got.err, ErrEnd) {
			got.err = fmt.Errorf("fastio: %s: %w", r.list.Op, got.err)
		}
	}
	switch {
	case got.err != nil, got.last: // there is no next page
	case r.withoutNew >= cmp.Or(r.list.Empty, fewEmpty):
		r.nextErr = fmt.Errorf("fastio: %s: %w", r.list.Op, api.ErrNoProgress)
	case r.cycles.isRepeated(r.cursor, next):
		r.nextErr = fmt.Errorf("fastio: %s: %w", r.list.Op, ErrRepeated)
	}
	r.cursor = next
	return got
}

// pause returns the time before the next request: pages without new rows are read more
// and more slowly.
func (r *reader[P, T]) pause() time.Duration {
	if r.withoutNew < 2 { // a single page without new rows is usual
		return 0
	}
	return wait.Backoff{Base: 500 * time.Millisecond, Cap: 8 * time.Second}.Pause(r.withoutNew - 1)
}

// noteRows counts a page that has no new row, and reports whether its rows are those of
// the last page that had any.
func (r *reader[P, T]) noteRows(rows []T) (isRepetition bool) {
	if len(rows) == 0 {
		r.withoutNew++
		return false
	}
	got := fingerprint(rows)
	isRepetition = got != "" && got == r.latest
	if isRepetition {
		r.withoutNew++
	} else {
		r.withoutNew = 0
	}
	r.latest = got
	return isRepetition
}

// fingerprint returns a text that identifies the rows of a page, at least one, by their
// number, the first and the last one, or "" if they cannot be encoded. It shares no memory
// with the rows: the caller may change them while the next page is fetched.
func fingerprint[T any](rows []T) string {
	b, err := json.Marshal([]any{len(rows), rows[0], rows[len(rows)-1]})
	if err != nil {
		return ""
	}
	return string(b)
}

// cycleDetector detects cycles of any length without storing every cursor: it compares
// with the last one and with one stored at growing intervals.
type cycleDetector struct {
	anchor      string
	steps, span int
}

// isRepeated reports whether a cursor was met before, so that the pages repeat without
// end. It keeps only one earlier cursor, the anchor, and replaces it after ever longer
// spans (the algorithm of Brent), so that any cycle is found.
func (d *cycleDetector) isRepeated(cursor, next string) bool {
	hasAnchor := d.span > 0 // from the second call on
	if next == cursor || hasAnchor && next == d.anchor {
		return true
	}
	d.steps++
	if d.steps >= d.span {
		d.anchor, d.steps, d.span = cursor, 0, 2*d.span+1 // 1, 3, 7 and so on
	}
	return false
}
