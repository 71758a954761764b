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

// ErrNoProgress ends an iteration whose server reports further rows but does not
// send them: asking on would never end.
var ErrNoProgress = errors.New("the server reports more rows, but sends none or the same again")

const (
	maxStep = 1000 // no page of any list is larger
	maxSame = 2    // pages in a row that are the same, of one row at most
)

// Offsets walks the pages of an offset list, from the row at start to the last.
//
// Rows the caller may not see are dropped after the server has cut its page, so
// a page steps by the rows asked for, not by those that came. A server that does
// not report its pages is asked until one is empty or the same as the one before.
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

// errEnd ends an iteration at a page that the one before has brought.
var errEnd = errors.New("the page has been read")

// Progress checks that the pages of an iteration have new rows.
type Progress struct {
	MaxEmpty int // empty pages in a row; default 2

	last string // what the last page looked like
	same int    // pages like it, itself included
}

// Check returns [ErrNoProgress] for a page like the one before. For one with a
// single row, which another row may have pushed back meanwhile, it does so the
// third time, and for empty ones after MaxEmpty.
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

// fingerprint returns what a page looks like: how many rows it has, the first and
// the last; "" if they have no JSON. It is taken before the rows are handed over,
// because the program may change them.
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

// Offset reads a cursor that is an offset; start is what "" stands for.
func Offset(cursor string, start int) int {
	if n, err := strconv.Atoi(cursor); err == nil {
		return n
	}
	return start
}

// MaxLimit is how many rows a page of an offset list may have.
const MaxLimit = 500

// Window returns the parameters that ask an offset list for a part: limit rows, 1 to
// MaxLimit, behind offset of them. 0 leaves one to the server.
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
