package page_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/internal/table"
)

// book is a paged list. The cursor of a page is its number; "" is the first.
type book [][]int

func (b book) fetch(_ context.Context, cursor string, _ []api.CallOption) (rows []int, next string, err error) {
	n := page.Offset(cursor, 0)
	if n+1 < len(b) {
		next = strconv.Itoa(n + 1)
	}
	return b[n], next, nil
}

// bookOf returns a book with a row a page.
func bookOf(pages int) book {
	b := make(book, pages)
	for i := range b {
		b[i] = []int{i}
	}
	return b
}

func list(start string, fetch page.Fetch[[]int]) page.List[[]int, int] {
	return page.List[[]int, int]{
		Op: "things.List", Start: start, Fetch: fetch, Rows: func(p []int) []int { return p }, Empty: page.ManyEmpty,
	}
}

func collect[T any](seq iter.Seq2[T, error]) (got []T, errs []error) {
	for v, err := range seq {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		got = append(got, v)
	}
	return got, errs
}

// For every layout of pages, all rows are yielded once and in order, a second
// range yields the same, and a range that is stopped and resumed loses no row.
func TestAllRowsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		rapid.SyncTest(r, func(r *rapid.T) {
			b := book(rapid.SliceOfN(rapid.SliceOfN(rapid.Int(), 0, 5), 1, 12).Draw(r, "pages"))
			want := slices.Concat(b...)
			seq := list("", b.fetch).All(r.Context(), nil)
			for range 2 {
				got, errs := collect(seq)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || len(errs) > 0 {
					r.Fatalf("%v (-want +got)\n%s", errs, diff)
				}
			}
			leave := rapid.IntRange(0, len(b)-1).Draw(r, "leave after page")
			var got []int
			n := 0
			for p, err := range list("", b.fetch).Pages(r.Context(), nil) {
				if err != nil {
					r.Fatal(err)
				}
				got = append(got, p...)
				if n == leave {
					break
				}
				n++
			}
			if leave+1 < len(b) {
				rest, errs := collect(list(strconv.Itoa(leave+1), b.fetch).All(r.Context(), nil))
				if len(errs) > 0 {
					r.Fatal(errs)
				}
				got = append(got, rest...)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				r.Fatalf("(-want +got)\n%s", diff)
			}
		})
	})
}

// From the second page on, one page and no more is fetched ahead while the caller
// works, so a page takes the longer of the two times. Nothing is fetched before the
// range.
func TestOnePageAhead(t *testing.T) {
	t.Parallel()
	type row struct{ latency, work time.Duration }
	table.Bubbles(t, map[string]row{
		"the network is slower": {80 * time.Millisecond, 30 * time.Millisecond},
		"the work is slower":    {30 * time.Millisecond, 80 * time.Millisecond},
		"they are even":         {50 * time.Millisecond, 50 * time.Millisecond},
		"there is no work":      {50 * time.Millisecond, 0},
		"there is no network":   {0, 50 * time.Millisecond},
	}, func(t *testing.T, test row) {
		const pages = 1000
		b := bookOf(pages)
		var fetches atomic.Int64
		worked := int64(0)
		seq := list("", func(ctx context.Context, cursor string, opts []api.CallOption) ([]int, string, error) {
			fetches.Add(1)
			time.Sleep(test.latency)
			return b.fetch(ctx, cursor, opts)
		}).Pages(t.Context(), nil)
		synctest.Wait()
		if n := fetches.Load(); n > 0 {
			t.Errorf("%d pages were fetched before the range", n)
		}
		start := time.Now()
		for _, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			worked++
			time.Sleep(test.work)
			synctest.Wait()
			want := min(worked+1, pages)
			if worked == 1 {
				want = 1
			}
			if n := fetches.Load(); n != want {
				t.Errorf("%d pages were fetched while the caller worked on page %d, want %d", n, worked, want)
			}
		}
		first := test.latency + test.work
		most := first + test.latency + (pages-1)*max(test.latency, test.work)
		if took := time.Since(start); took > most || worked != pages {
			t.Errorf("%d pages took %s, want at most %s", worked, took, most)
		}
	})
}

// The second page is requested when the loop asks for its second item, and each
// further one when the page before it is delivered. Without prefetching, a page is
// requested when the loop has used up the one before.
func TestRequestsByItem(t *testing.T) {
	t.Parallel()
	type row struct {
		b                book
		alone            []api.CallOption
		rows, wholePages []int64 // requests while the caller works on each item
	}
	alone := []api.CallOption{api.WithoutPrefetch()}
	table.Bubbles(t, map[string]row{
		"pages of several rows": {book{{1, 2, 3}, {4, 5}, {6}}, nil, []int64{1, 2, 2, 3, 3, 3}, []int64{1, 3, 3}},
		"several rows without prefetch": {
			book{{1, 2, 3}, {4, 5}, {6}}, alone, []int64{1, 1, 1, 2, 2, 3}, []int64{1, 2, 3},
		},
		"pages of one row":                  {book{{1}, {2}, {3}, {4}}, nil, []int64{1, 3, 4, 4}, []int64{1, 3, 4, 4}},
		"an empty page before a row":        {book{{}, {1, 2}, {3}, {4}}, nil, []int64{2, 3, 4, 4}, []int64{1, 3, 4, 4}},
		"one between rows":                  {book{{1}, {}, {2}, {3}}, nil, []int64{1, 4, 4}, []int64{1, 3, 4, 4}},
		"one between rows without prefetch": {book{{1}, {}, {2}, {3}}, alone, []int64{1, 3, 4}, []int64{1, 2, 3, 4}},
		"one page":                          {book{{1, 2}}, nil, []int64{1, 1}, []int64{1}},
	}, func(t *testing.T, test row) {
		var fetches atomic.Int64
		l := list("", func(ctx context.Context, cursor string, opts []api.CallOption) ([]int, string, error) {
			fetches.Add(1)
			return test.b.fetch(ctx, cursor, opts)
		})
		var got [2][]int64
		count := func(of int) {
			synctest.Wait()
			got[of] = append(got[of], fetches.Load())
		}
		for range l.All(t.Context(), test.alone) {
			count(0)
		}
		fetches.Store(0)
		for range l.Pages(t.Context(), test.alone) {
			count(1)
		}
		if diff := cmp.Diff([2][]int64{test.rows, test.wholePages}, got); diff != "" {
			t.Errorf("requests by row and by page (-want +got)\n%s", diff)
		}
	})
}

func TestBreakWaitsForFetch(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(seq iter.Seq2[int, error]){
		"by break": func(seq iter.Seq2[int, error]) {
			for row := range seq {
				synctest.Wait()
				if row == 2 {
					break
				}
			}
		},
		"by a panic": func(seq iter.Seq2[int, error]) {
			defer func() { _ = recover() }()
			for row := range seq {
				synctest.Wait()
				if row == 2 {
					panic("the caller's")
				}
			}
		},
		"by stopping a pull": func(seq iter.Seq2[int, error]) {
			next, stop := iter.Pull2(seq)
			next()
			next()
			synctest.Wait()
			stop()
		},
	}, func(t *testing.T, l func(seq iter.Seq2[int, error])) {
		var begun, ended atomic.Int64
		b := book{{1, 2}, {3}}
		seq := list("", func(ctx context.Context, cursor string, opts []api.CallOption) ([]int, string, error) {
			defer ended.Add(1)
			if begun.Add(1) > 1 {
				<-ctx.Done()
				time.Sleep(time.Second) // slow to notice the cancellation
				return nil, "", ctx.Err()
			}
			return b.fetch(ctx, cursor, opts)
		}).All(t.Context(), nil)
		l(seq)
		if begun.Load() != 2 || ended.Load() != 2 {
			t.Errorf("%d fetches begun and %d ended", begun.Load(), ended.Load())
		}
	})
}

// The response for WithResponse is that of the page the loop is at, also if that page
// is an error, and not that of the page fetched ahead.
func TestResponseIsOfTheCurrentPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := book{{1, 2}, {3}, {4}, {5}}
		var got []int
		var last api.Response
		for range list("", func(ctx context.Context, cursor string, opts []api.CallOption) ([]int, string, error) {
			api.Resolve(opts).Response.Status = 200 + page.Offset(cursor, 0)
			if cursor == "3" {
				return nil, "", errors.New("broken")
			}
			return b.fetch(ctx, cursor, opts)
		}).All(t.Context(), []api.CallOption{api.WithResponse(&last)}) {
			synctest.Wait()
			got = append(got, last.Status)
		}
		if diff := cmp.Diff([]int{200, 200, 201, 202, 203}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	b := book{{1, 2}, {3}, {4, 5}, {6}}
	for at := range b {
		seq := list("", func(ctx context.Context, cursor string, opts []api.CallOption) ([]int, string, error) {
			if page.Offset(cursor, 0) == at {
				return []int{99}, "5", broken
			}
			return b.fetch(ctx, cursor, opts)
		}).All(t.Context(), nil)
		for range 2 { // each range starts over
			var got []int
			var failed []error
			for row, err := range seq {
				got = append(got, row)
				if err != nil || failed != nil {
					failed = append(failed, err)
				}
			}
			diff := cmp.Diff(append(slices.Concat(b[:at]...), 0), got)
			if diff != "" || len(failed) != 1 || !errors.Is(failed[0], broken) {
				t.Errorf("at page %d: ends with %v (-want +got)\n%s", at, failed, diff)
			}
		}
	}
}

type key struct{}

func TestEveryFetchGetsTheCallersContext(t *testing.T) {
	t.Parallel()
	b := book{{1}, {2}, {3}}
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.WithValue(t.Context(), key{}, "caller"), deadline)
	defer cancel()
	_, errs := collect(list("", func(ctx context.Context, cursor string, opts []api.CallOption) ([]int, string, error) {
		if at, _ := ctx.Deadline(); ctx.Value(key{}) != "caller" || !at.Equal(deadline) {
			t.Errorf("page %q was fetched with %v", cursor, ctx)
		}
		return b.fetch(ctx, cursor, opts)
	}).All(ctx, nil))
	if len(errs) > 0 {
		t.Error(errs)
	}
}

func TestCancelIsReported(t *testing.T) {
	t.Parallel()
	type when func(t *testing.T, cancel func()) page.Fetch[[]int]
	b := book{{1}, {2}, {3}, {4}}
	type row struct {
		fetch when
		work  func(n int, cancel func())
	}
	table.Each(t, map[string]row{
		"before the first page": {func(_ *testing.T, cancel func()) page.Fetch[[]int] { cancel(); return b.fetch }, nil},
		"in the first fetch": {func(_ *testing.T, cancel func()) page.Fetch[[]int] {
			return func(ctx context.Context, _ string, _ []api.CallOption) ([]int, string, error) {
				cancel()
				return nil, "", ctx.Err()
			}
		}, nil},
		"by a fetch that succeeds all the same": {func(_ *testing.T, cancel func()) page.Fetch[[]int] {
			return func(ctx context.Context, cursor string, opts []api.CallOption) ([]int, string, error) {
				if cursor == "1" {
					cancel()
				}
				return b.fetch(ctx, cursor, opts)
			}
		}, nil},
		"in a later fetch": {func(_ *testing.T, cancel func()) page.Fetch[[]int] {
			return func(ctx context.Context, cursor string, opts []api.CallOption) ([]int, string, error) {
				if cursor == "2" {
					time.AfterFunc(time.Second, cancel)
					<-ctx.Done()
					return nil, "", ctx.Err()
				}
				return b.fetch(ctx, cursor, opts)
			}
		}, nil},
		"while the caller works": {
			func(*testing.T, func()) page.Fetch[[]int] { return b.fetch },
			func(n int, cancel func()) {
				if n == 2 {
					cancel()
				}
				time.Sleep(time.Second)
			},
		},
	}, func(t *testing.T, test row) {
		for range 50 { // a select that finds two ways takes either
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				n := 0
				var last error
				for _, err := range list("", test.fetch(t, cancel)).Pages(ctx, nil) {
					if last != nil {
						t.Fatalf("got %v after %v", err, last)
					}
					n++
					if test.work != nil && err == nil {
						test.work(n, cancel)
					}
					last = err
				}
				if !errors.Is(last, context.Canceled) || n > len(b) {
					t.Errorf("ended with %v after %d pages", last, n)
				}
			})
		}
	})
}

// An iteration that is cancelled on its last page is complete.
func TestCancelOnTheLastPage(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range list("", book{{1}}.fetch).Pages(ctx, nil) {
		cancel()
		if err != nil {
			t.Error(err)
		}
	}
}

// Cycles of cursors of any length, after any number of pages, are detected
// within few rounds. Cursors without a cycle are followed to the end. A way of
// -1 starts inside the cycle.
func TestRepeatedCursors(t *testing.T) {
	t.Parallel()
	for way := -1; way < 20; way++ {
		for cycle := 1; cycle <= 20; cycle++ {
			first := max(way, 0) + 1 // of the cycle
			start := ""
			if way < 0 {
				start = "1"
			}
			fetches := 0
			seq := list(start, func(_ context.Context, cursor string, _ []api.CallOption) ([]int, string, error) {
				fetches++
				if fetches > 1000 {
					return nil, "", errors.New("the cycle was not detected")
				}
				n := page.Offset(cursor, 0) + 1
				if n >= first+cycle {
					n = first
				}
				return []int{n}, strconv.Itoa(n), nil
			}).Pages(t.Context(), nil)
			most := 5*(max(way, 0)+cycle)/2 + 1
			if way <= 0 && cycle <= 3+way { // detected within the first round
				most = way + cycle + 1
			}
			for range 2 {
				got, errs := collect(seq)
				if len(errs) != 1 || !errors.Is(errs[0], api.ErrNoProgress) || len(got) > most {
					t.Errorf("a cycle of %d after %d pages: %v after %d pages", cycle, way, errs, len(got))
				}
			}
		}
	}
	b := bookOf(5000)
	if got, errs := collect(list("", b.fetch).Pages(t.Context(), nil)); len(got) != len(b) || len(errs) > 0 {
		t.Errorf("%d pages of %d, %v", len(got), len(b), errs)
	}
}

type offsetPage struct {
	rows       []string
	pagination *api.Pagination
}

// offsets iterates over the pages that answer returns. It returns the requested
// offsets, the rows and the error.
func offsets(t *testing.T, start int, answer func(offset int) offsetPage) (asked []int, rows []string, err error) {
	t.Helper()
	seq := page.Offsets("things.List", start,
		func(_ context.Context, offset int, _ []api.CallOption) (offsetPage, error) {
			asked = append(asked, offset)
			if len(asked) > 100 {
				return offsetPage{}, errors.New("too many requests")
			}
			return answer(offset), nil
		}, func(p offsetPage) ([]string, *api.Pagination) { return p.rows, p.pagination }).All(t.Context(), nil)
	for row, err := range seq {
		if err != nil {
			return asked, rows, err
		}
		rows = append(rows, row)
	}
	return asked, rows, nil
}

func numbered(from, to int) []string {
	var rows []string
	for i := from; i < to; i++ {
		rows = append(rows, strconv.Itoa(i))
	}
	return rows
}

func TestOffsets(t *testing.T) {
	t.Parallel()
	type row struct {
		start  int
		answer func(offset int) offsetPage
		asked  []int
		rows   []string
	}
	table.Each(t, map[string]row{
		"steps by the limit": {200, func(offset int) offsetPage {
			return offsetPage{numbered(offset, offset+2), &api.Pagination{HasMore: offset < 400, Limit: 100}}
		}, []int{200, 300, 400}, []string{"200", "201", "300", "301", "400", "401"}},
		"steps over rows that are hidden": {0, func(offset int) offsetPage {
			if offset < 200 {
				return offsetPage{nil, &api.Pagination{HasMore: true, Limit: 100}}
			}
			return offsetPage{[]string{"a"}, &api.Pagination{Limit: 100}}
		}, []int{0, 100, 200}, []string{"a"}},
		"steps by the rows without a limit": {10, func(offset int) offsetPage {
			return offsetPage{numbered(offset, offset+7), &api.Pagination{HasMore: offset < 20}}
		}, []int{10, 17, 24}, numbered(10, 31)},
		"steps at least by the rows received": {0, func(offset int) offsetPage {
			return offsetPage{numbered(offset, offset+10), &api.Pagination{HasMore: offset == 0, Limit: 5}}
		}, []int{0, 10}, numbered(0, 20)},
		"takes no step that is larger than a page": {0, func(offset int) offsetPage {
			return offsetPage{numbered(offset, offset+1), &api.Pagination{HasMore: offset == 0, Limit: math.MaxInt}}
		}, []int{0, 1000}, []string{"0", "1000"}},
		"ends where HasMore is false": {0, func(int) offsetPage {
			return offsetPage{numbered(0, 100), &api.Pagination{Limit: 100}}
		}, []int{0}, numbered(0, 100)},
		"continues to an empty page without pagination": {20, func(offset int) offsetPage {
			return offsetPage{numbered(offset, min(offset+10, 35)), nil}
		}, []int{20, 30, 35}, numbered(20, 35)},
		"ends at a repeated page when the server reports nothing": {0, func(int) offsetPage {
			return offsetPage{numbered(0, 3), nil}
		}, []int{0, 3}, numbered(0, 3)},
		"continues after a repeated row": {0, func(offset int) offsetPage {
			return offsetPage{numbered(max(offset-1, 0), max(offset, 1)), &api.Pagination{HasMore: offset < 3, Limit: 1}}
		}, []int{0, 1, 2, 3}, []string{"0", "0", "1", "2"}},
	}, func(t *testing.T, test row) {
		asked, rows, err := offsets(t, test.start, test.answer)
		if diff := cmp.Diff([]any{test.asked, test.rows}, []any{asked, rows}); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	})
}

func TestOffsetsWithoutProgress(t *testing.T) {
	t.Parallel()
	type row struct {
		rows     []string
		limit    int
		total    int
		requests int
	}
	table.Bubbles(t, map[string]row{
		"empty pages":                       {nil, 100, 0, 3},
		"empty pages behind the total":      {nil, 100, 3, 3},
		"empty pages of no limit":           {nil, 0, 0, 2}, // the offset cannot advance
		"a page that repeats itself":        {[]string{"a", "b"}, 100, 0, 4},
		"a page of one row that does":       {[]string{"a"}, 100, 0, 4},
		"a page that does behind the total": {[]string{"a", "b"}, 100, 2, 4},
	}, func(t *testing.T, test row) {
		asked, _, err := offsets(t, 0, func(offset int) offsetPage {
			return offsetPage{test.rows, &api.Pagination{HasMore: true, Limit: test.limit, Offset: offset, Total: test.total}}
		})
		if !errors.Is(err, api.ErrNoProgress) || len(asked) != test.requests {
			t.Errorf("%d requests, %v", len(asked), err)
		}
	})
}

// An iteration over pages without a new row, each with a cursor of its own, ends. From
// the second page on it waits before each request, and delivers the rows that come after
// all.
func TestPagesWithoutANewRow(t *testing.T) {
	t.Parallel()
	type row struct {
		pages   [][]int // the last one is repeated
		empty   int
		rows    []int
		fetches int
		least   time.Duration // in all, on average
		err     error
	}
	many := func(n int, last ...int) [][]int { return append(make([][]int, n), last) }
	table.Bubbles(t, map[string]row{
		"empty":                     {[][]int{nil}, 0, nil, 3, 0, api.ErrNoProgress},
		"empty after a row":         {[][]int{{1}, nil}, 0, []int{1}, 4, 0, api.ErrNoProgress},
		"the same row":              {[][]int{{1}}, 0, []int{1, 1, 1, 1}, 4, 0, api.ErrNoProgress},
		"the same rows, and empty":  {[][]int{{1, 2}, nil, {1, 2}, nil}, 0, []int{1, 2, 1, 2}, 4, 0, api.ErrNoProgress},
		"two empty, then a row":     {[][]int{nil, nil, {1}, nil}, 0, []int{1}, 6, 0, api.ErrNoProgress},
		"empty, of a filtered list": {[][]int{nil}, page.ManyEmpty, nil, 100, 5 * time.Minute, api.ErrNoProgress},
		"a row in the hundredth":    {append(many(99, 1), nil, nil), 100, []int{1}, 200, 10 * time.Minute, api.ErrNoProgress},
	}, func(t *testing.T, test row) {
		fetches := 0
		l := list("", func(context.Context, string, []api.CallOption) ([]int, string, error) {
			fetches++
			return test.pages[min(fetches, len(test.pages))-1], "c" + strconv.Itoa(fetches), nil
		})
		l.Empty = test.empty
		start := time.Now()
		got, errs := collect(l.All(t.Context(), nil))
		if diff := cmp.Diff(test.rows, got); diff != "" || len(errs) != 1 || !errors.Is(errs[0], test.err) {
			t.Errorf("%v (-want +got)\n%s", errs, diff)
		}
		if took := time.Since(start); fetches != test.fetches || took < test.least || took > 15*time.Minute {
			t.Errorf("%d fetches in %s, want %d in at least %s", fetches, took, test.fetches, test.least)
		}
	})
}

// The bound of the wait between empty pages doubles from 0.5 to 8 seconds.
func TestWaitBetweenEmptyPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bounds := []time.Duration{
			0, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second,
		}
		longest := make([]time.Duration, len(bounds))
		for range 200 {
			n, last := 0, time.Now()
			l := list("", func(context.Context, string, []api.CallOption) ([]int, string, error) {
				if n > 0 {
					longest[n-1] = max(longest[n-1], time.Since(last))
				}
				n++
				last = time.Now()
				return nil, "c" + strconv.Itoa(n), nil
			})
			l.Empty = len(bounds) + 1
			collect(l.All(t.Context(), nil))
		}
		for i, bound := range bounds {
			if longest[i] > bound || longest[i] < bound/2 {
				t.Errorf("the longest wait after empty page %d is %s, want up to %s", i+1, longest[i], bound)
			}
		}
	})
}

func TestWaitBetweenEmptyPagesEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		var cancelled time.Time
		_, errs := collect(list("", func(context.Context, string, []api.CallOption) ([]int, string, error) {
			n++
			if n == 20 {
				time.AfterFunc(time.Nanosecond, func() { cancelled = time.Now(); cancel() })
			}
			return nil, "c" + strconv.Itoa(n), nil
		}).All(ctx, nil))
		if len(errs) != 1 || !errors.Is(errs[0], context.Canceled) || time.Since(cancelled) > 0 || n != 20 {
			t.Errorf("ended %s after the cancellation, with %v, after %d pages", time.Since(cancelled), errs, n)
		}
	})
}

func TestOffset(t *testing.T) {
	t.Parallel()
	for cursor, want := range map[string]int{"": 7, "0": 0, "250": 250, "nonsense": 7} {
		if got := page.Offset(cursor, 7); got != want {
			t.Errorf("Offset(%q) is %d, want %d", cursor, got, want)
		}
	}
}

func TestRangesAreIndependent(t *testing.T) {
	t.Parallel()
	b := make(book, 50)
	for i := range b {
		b[i] = []int{i, rand.IntN(10)}
	}
	seq := list("", b.fetch).All(t.Context(), nil)
	done := make(chan []int)
	for range 8 {
		go func() { got, _ := collect(seq); done <- got }()
	}
	for range 8 {
		if diff := cmp.Diff(slices.Concat(b...), <-done); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A program may change the rows, and what they refer to, while the next page is fetched. A
// page with the same rows is recognized all the same.
func TestRowsBelongToTheProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type row struct{ Fields map[string]int }
		pages := 0
		list := page.List[[]*row, *row]{
			Rows: func(rows []*row) []*row { return rows },
			Fetch: func(context.Context, string, []api.CallOption) ([]*row, string, error) {
				pages++
				return []*row{{map[string]int{"a": 1}}, {map[string]int{"a": 1}}}, strconv.Itoa(pages % 20), nil
			},
		}
		var last error
		for r, err := range list.All(t.Context(), nil) {
			last = err
			if err != nil {
				break
			}
			for i := range 1000 {
				r.Fields["a"] = i
			}
		}
		if !errors.Is(last, api.ErrNoProgress) || pages > 5 {
			t.Errorf("got %v after %d pages", last, pages)
		}
	})
}
