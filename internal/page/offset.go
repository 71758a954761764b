package page

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/input"
)

const largestPage = 1000 // rows; no list of the platform has a larger one

// Offsets returns an offset list, from the row at start. Of returns the rows of a page
// and its pagination.
//
// The server drops rows the caller may not see after it cut the page, so the
// offset advances by the limit, not by the rows received. If the server sends
// no pagination, the end is a page that is empty or the same as the one before.
func Offsets[P, T any](
	op string, start int,
	fetch func(ctx context.Context, offset int, opts []api.CallOption) (P, error),
	of func(P) (rows []T, pagination *api.Pagination),
) List[P, T] {
	return List[P, T]{
		Op: op,
		Fetch: func(ctx context.Context, cursor string, opts []api.CallOption) (P, string, error) {
			offset := Offset(cursor, start)
			p, err := fetch(ctx, offset, opts)
			if err != nil {
				return p, "", err
			}
			rows, pagination := of(p)
			advance, hasMore := len(rows), len(rows) > 0
			if pagination != nil {
				// Too large a limit would skip rows of the next page, too small a one would repeat rows of this one.
				advance = max(min(pagination.Limit, largestPage), len(rows))
				hasMore = pagination.HasMore
			}
			if !hasMore {
				return p, "", nil
			}
			return p, strconv.Itoa(offset + advance), nil
		},
		Rows: func(p P) []T {
			rows, _ := of(p)
			return rows
		},
		Repeated: func(p P) error { // p has the rows of the page before
			if _, pagination := of(p); pagination == nil {
				return ErrEnd
			}
			return nil // the list goes on, until too many pages have no new row
		},
	}
}

// Rows iterates over the rows of all pages of an offset list, from the row at offset.
// A limit of 0 means pages of [MaxLimit] rows.
func Rows[P, T any](
	ctx context.Context, op string, limit, offset int, opts []api.CallOption,
	fetch func(ctx context.Context, limit, offset int, opts []api.CallOption) (P, error),
	of func(P) (rows []T, pagination *api.Pagination),
) iter.Seq2[T, error] {
	next := func(ctx context.Context, at int, opts []api.CallOption) (P, error) {
		return fetch(ctx, cmp.Or(limit, MaxLimit), at, opts)
	}
	return Offsets(op, offset, next, of).All(ctx, opts)
}

// OrLast returns the pagination of a page. A page without one is the last: a server
// that ignores the offset would send it again.
func OrLast(p *api.Pagination) *api.Pagination { return cmp.Or(p, &api.Pagination{}) }

// Offset parses a cursor that is an offset; "" means start.
func Offset(cursor string, start int) int {
	if n, err := strconv.Atoi(cursor); err == nil {
		return n
	}
	return start
}

// MaxLimit is the largest page of an offset list, in rows.
const MaxLimit = 500

// Window returns the parameters that request limit rows, 1 to MaxLimit, after
// the first offset rows. Zero leaves a parameter to the server.
func Window(args input.Args, limit, offset int) (url.Values, error) {
	q := url.Values{}
	switch {
	case limit < 0 || limit > MaxLimit:
		return nil, args.Refuse("limit", "must be 1 to 500", strconv.Itoa(limit))
	case offset < 0:
		return nil, args.Refuse("offset", "must be 0 or more", strconv.Itoa(offset))
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if offset > 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	return q, nil
}
