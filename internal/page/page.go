// Package page turns a paged endpoint into iterators, which request one page
// ahead of the loop.
package page

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/fastio-go/fastio/api"
)

// ErrRepeated ends an iteration if the server sends a cursor twice, as it would
// never end.
var ErrRepeated = errors.New("fastio: the server sent the same cursor twice")

// ErrNoCursor ends an iteration if the server reports another page without a
// cursor.
var ErrNoCursor = errors.New("the server reports another page without a cursor")

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

// Fetch returns the page at cursor, "" being the first, and the cursor of the
// next page, "" after the last. The cursor may be a number.
type Fetch[P any] func(ctx context.Context, cursor string) (page P, next string, err error)

// Pages iterates over the pages from start to the last. It fetches the next
// page while the caller works on one.
//
// Nothing is fetched before the first range, and each range starts over. An
// error is yielded once, last. Leaving the loop cancels the fetch in progress
// and waits for it.
func Pages[P any](ctx context.Context, start string, fetch Fetch[P]) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		if ctx == nil { // the call returns the error
			p, _, err := fetch(ctx, start)
			yield(p, err)
			return
		}
		inner, cancel := context.WithCancel(ctx)
		pages := make(chan result[P])
		defer func() {
			cancel()
			for range pages { // until the producer has ended
			}
		}()
		go produce(inner, start, fetch, pages)
		for p := range pages {
			if p.err != nil {
				yield(p.page, p.err)
				return
			}
			if !yield(p.page, nil) || p.last {
				return
			}
		}
		yield(*new(P), ctx.Err()) // the caller's context was cancelled
	}
}

type result[P any] struct {
	page P
	last bool
	err  error
}

// produce sends pages until the last, an error, or the end of ctx.
func produce[P any](ctx context.Context, cursor string, fetch Fetch[P], pages chan<- result[P]) {
	defer close(pages)
	guard := guard{}
	for ctx.Err() == nil {
		page, next, err := fetch(ctx, cursor)
		select {
		case pages <- result[P]{page, next == "", err}:
		case <-ctx.Done():
			return
		}
		if err != nil || next == "" {
			return
		}
		if guard.met(cursor, next) {
			select {
			case pages <- result[P]{err: ErrRepeated}:
			case <-ctx.Done():
			}
			return
		}
		cursor = next
	}
}

// guard detects cycles of any length without storing every cursor: it compares
// with the last one and with one stored at growing intervals.
type guard struct {
	anchor      string
	steps, turn int
}

func (g *guard) met(cursor, next string) bool {
	if next == cursor || next == g.anchor && g.turn > 0 {
		return true
	}
	if g.steps++; g.steps >= g.turn {
		g.anchor, g.steps, g.turn = cursor, 0, 2*g.turn+1
	}
	return false
}

// Rows iterates over the rows of pages.
func Rows[P, T any](pages iter.Seq2[P, error], rows func(P) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for p, err := range pages {
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range rows(p) {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// Calls is Pages for a fetch that passes on call options.
//
// The response for [api.WithResponse] is that of the page the loop is at, not
// of the page fetched ahead.
func Calls[P any](
	ctx context.Context, start string, opts []api.CallOption,
	fetch func(ctx context.Context, cursor string, opts []api.CallOption) (page P, next string, err error),
) iter.Seq2[P, error] {
	o := api.Resolve(opts)
	if o.Response == nil {
		return Pages(ctx, start, func(ctx context.Context, cursor string) (P, string, error) {
			return fetch(ctx, cursor, opts)
		})
	}
	type answered struct {
		page P
		raw  *api.Response
	}
	pages := Pages(ctx, start, func(ctx context.Context, cursor string) (answered, string, error) {
		raw := new(api.Response)
		p, next, err := fetch(ctx, cursor, append(slices.Clip(opts), api.WithResponse(raw)))
		return answered{p, raw}, next, err
	})
	return func(yield func(P, error) bool) {
		for a, err := range pages {
			if a.raw != nil {
				*o.Response = *a.raw
			}
			if !yield(a.page, err) {
				return
			}
		}
	}
}
