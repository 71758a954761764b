package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
)

// ErrNoProgress ends an iteration if the server reports more rows but does not
// send them, as it would never end.
var ErrNoProgress = errors.New("the server reports more rows, but sends none or the same again")

const (
	maxStep = 1000 // no page of any list is larger
	maxSame = 2    // identical pages in a row, of one row at most
)

// Offsets iterates over the pages of an offset list, from the row at start.
//
// The server drops rows the caller may not see after it cut the page, so the
// offset advances by the limit, not by the rows received. If the server sends
// no pagination, the end is a page that is empty or the same as the one before.
func Offsets[P, T any](
	ctx context.Context, op string, start int, opts []api.CallOption,
	fetch func(ctx context.Context, offset int, opts []api.CallOption) (P, error),
	of func(P) (rows []T, pagination *api.Pagination),
) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		var progress Progress
		pages := Calls(ctx, "", opts, func(ctx context.Context, cursor string, opts []api.CallOption) (P, string, error) {
			offset := Offset(cursor, start)
			p, err := fetch(ctx, offset, opts)
			if err != nil {
				return p, "", err
			}
			rows, pagination := of(p)
			stalled := Check(&progress, op, rows)
			step := len(rows)
			switch {
			case pagination == nil && progress.same > 1:
				return p, "", errEnd
			case pagination == nil:
			case !pagination.HasMore:
				return p, "", nil
			case stalled != nil:
				return p, "", stalled
			case step == 0 && pagination.Total > 0 && offset >= pagination.Total:
				return p, "", errNoProgress(op)
			default:
				step = max(min(pagination.Limit, maxStep), step)
			}
			if step == 0 {
				return p, "", nil
			}
			return p, strconv.Itoa(offset + step), nil
		})
		for p, err := range pages {
			if errors.Is(err, errEnd) || !yield(p, err) {
				return
			}
		}
	}
}

// errEnd ends an iteration at a page that repeats the one before.
var errEnd = errors.New("the page has been read")

// Progress checks that the pages of an iteration have new rows.
type Progress struct {
	MaxEmpty int // empty pages allowed in a row; default 2

	last string // fingerprint of the last page
	same int    // pages in a row with that fingerprint
}

// Check returns [ErrNoProgress] for a page like the one before. A page of one
// row may come twice, as a new row may have shifted it, and an empty one
// MaxEmpty times.
func Check[T any](s *Progress, op string, rows []T) error {
	looks := fingerprint(rows)
	if s.same++; looks == "" || looks != s.last {
		s.last, s.same = looks, 1
	}
	most := maxSame
	switch len(rows) {
	case 0:
		most = cmp.Or(s.MaxEmpty, maxSame)
	case 1:
	default:
		most = 1
	}
	if s.same > most {
		return errNoProgress(op)
	}
	return nil
}

func errNoProgress(op string) error { return fmt.Errorf("fastio: %s: %w", op, ErrNoProgress) }

// fingerprint returns the number of rows and the first and the last row, or ""
// if they cannot be encoded. It is taken before the caller gets the rows,
// because the caller may change them.
func fingerprint[T any](rows []T) string {
	if len(rows) == 0 {
		return "[]"
	}
	b, err := json.Marshal([]any{len(rows), rows[0], rows[len(rows)-1]})
	if err != nil {
		return ""
	}
	return string(b)
}

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
func Window(op string, limit, offset int) (url.Values, error) {
	q := url.Values{}
	switch {
	case limit < 0 || limit > MaxLimit:
		return nil, &api.InputError{Op: op, Field: "limit", Rule: "must be 1 to 500", Got: strconv.Itoa(limit)}
	case offset < 0:
		return nil, &api.InputError{Op: op, Field: "offset", Rule: "must be 0 or more", Got: strconv.Itoa(offset)}
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if offset > 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	return q, nil
}
