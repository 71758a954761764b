package contract_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/shares"
)

// An iteration ends even if the server always reports another page, and sends the same
// page or empty ones: without a cursor, or with a new one each time.
func TestIteratorsEnd(t *testing.T) {
	t.Parallel()
	pages := pagesOf(live(t))
	type row struct{ rows, cursors bool }
	table.Bubbles(t, map[string]row{
		"the same page": {rows: true}, "empty pages": {},
		"the same page, new cursors": {rows: true, cursors: true}, "empty pages, new cursors": {cursors: true},
	}, func(t *testing.T, test row) {
		requests := 0
		again := each(func(name string, v any) any {
			_, isList := v.([]any)
			switch {
			case name == "has_more":
				return true
			case (name == "next_cursor" || name == "cursor") && test.cursors:
				return "c" + strconv.Itoa(requests)
			case name == "next_cursor" || name == "cursor":
				return nil
			case name == "next_offset" && test.cursors:
				return 3 * requests
			case name == "next_offset":
				return 3
			case isList && !test.rows:
				return []any{}
			}
			return v
		})
		s := stub.Caller(func(_ context.Context, r *api.Request, out any) error {
			requests++
			if requests > 120 {
				return errEndless
			}
			return jsonv2.Unmarshal([]byte(encode(again(decode(pages[r.Op]).(map[string]any)))), out)
		})
		found := 0
		for method, seq := range iterators(overCaller(s), false) {
			found++
			requests = 0
			var err error
			for _, e := range seq {
				if !e.IsNil() {
					err, _ = reflect.TypeAssert[error](e)
				}
			}
			exempt := slices.Contains([]string{ // their pages do not report whether there is another
				"Activity.Intents.All", "AI.Threads.All", "AI.Turns.All", "Comments.All",
				"Shares.QuickShares.All", "Account.Invitations.All", "Search.AllValues", "Storage.Texts.All",
			}, method)
			most := 4
			if strings.HasPrefix(method, "Events.") || slices.Contains([]string{
				"Comments.All", "Metadata.Fields.AllMergeCandidates", "Search.AllValues",
			}, method) {
				most = 101
			}
			ended := errors.Is(err, api.ErrNoProgress) || err != nil && !test.cursors || err == nil && exempt
			if requests == 0 || requests > most || !ended || errors.Is(err, errEndless) {
				t.Errorf("%s: %d requests, %v", method, requests, err)
			}
		}
		if found < 30 {
			t.Errorf("%d iterators were found", found)
		}
	})
}

var errEndless = errors.New("the iteration does not end")

// iterators returns the iterators of a client as pairs of a value and an error,
// with options if given is set.
func iterators(
	client *fastio.Client, given bool, opts ...api.CallOption,
) map[string]iter.Seq2[reflect.Value, reflect.Value] {
	all := map[string]iter.Seq2[reflect.Value, reflect.Value]{}
	groups(client, func(name string, group reflect.Value) {
		for m, call := range group.Methods() {
			// They wait for changes, or list several folders.
			other := slices.Contains([]string{"Watch", "Changes", "Stream", "Walk"}, m.Name)
			if m.Type.NumOut() == 1 && m.Type.Out(0).CanSeq2() && !other {
				args := arguments(m.Type, reflect.ValueOf(context.Background()), someID)
				fields := map[string]any{"Limit": 2, "Offset": 1, "PageSize": 100, "Cursor": "c0", "Archived": "only"}
				switch name + "." + m.Name {
				case "Shares.All":
					fields["Scope"] = shares.ScopeOwned // the others do not select by Archived
				case "Members.Invitations.All":
					args[1].Set(reflect.ValueOf(api.Org(someID))) // those to others have no pages
				}
				optional := slices.IndexFunc(args, func(v reflect.Value) bool { return given && window(v, fields) })
				for _, o := range opts {
					args = append(args, reflect.ValueOf(o))
				}
				if !given || optional >= 0 {
					all[name+"."+m.Name] = call.Call(args)[0].Seq2()
				}
			}
		}
	})
	return all
}

// An iterator takes the parameters of its list: All those of List, AllRecent those of
// Recent or ListRecent.
func TestIteratorsTakeTheParametersOfTheirList(t *testing.T) {
	t.Parallel()
	lists := map[string]string{ // that are called otherwise
		"Events.All": "Search", "Search.All": "Files", "Search.AllValues": "Metadata", "Storage.Texts.All": "Get",
		"Search.AllFiles": "Unified", "Search.AllComments": "Unified", "Search.AllMetadata": "Unified",
	}
	found := 0
	groups(overCaller(stub.Answer("")), func(name string, group reflect.Value) {
		for m, iterator := range group.Methods() {
			of, iterates := strings.CutPrefix(m.Name, "All")
			if !iterates || m.Type.NumOut() != 1 || !m.Type.Out(0).CanSeq2() {
				continue
			}
			found++
			called := lists[name+"."+m.Name]
			if called == "" {
				called = "List" + of
			}
			list := group.MethodByName(called)
			if !list.IsValid() {
				list = group.MethodByName(of)
			}
			params := func(v reflect.Value) []reflect.Type { return slices.Collect(v.Type().Ins()) }
			if !list.IsValid() || !slices.Equal(params(list), params(iterator)) {
				t.Errorf("%s.%s does not take the parameters of its list", name, m.Name)
			}
		}
	})
	if found < 25 {
		t.Errorf("%d iterators were found", found)
	}
}

// window sets the options of an iteration. It reports whether there are any.
func window(v reflect.Value, fields map[string]any) bool {
	if v.Kind() == reflect.Pointer {
		if !v.IsNil() || v.Type().Elem().Kind() != reflect.Struct {
			return false
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	found := false
	for field, value := range fields {
		if v.Kind() != reflect.Struct || field == "Offset" && v.FieldByName("Cursor").IsValid() {
			continue
		}
		if f := v.FieldByName(field); f.IsValid() {
			if f.Kind() == reflect.Pointer {
				f.Set(reflect.New(f.Type().Elem()))
				f = f.Elem()
			}
			f.Set(reflect.ValueOf(value).Convert(f.Type()))
			found = true
		}
	}
	for _, inner := range []string{"Files", "Comments", "Metadata"} {
		if v.Kind() == reflect.Struct && v.FieldByName(inner).IsValid() {
			found = window(v.FieldByName(inner), fields) || found
		}
	}
	return found
}

// Every iterator yields the rows of three pages. Its requests, without and with
// options, are in testdata/iterators.golden: the first request, and the changes
// in the others. Each range starts over, leaves the options unchanged, and ends
// with the error of a page after the rows of the pages before.
func TestIterators(t *testing.T) {
	t.Parallel()
	pages := pagesOf(live(t))
	var text strings.Builder
	synctest.Test(t, func(t *testing.T) {
		for _, given := range []bool{false, true} {
			s := &threePages{pages: pages}
			all := iterators(overCaller(s), given)
			for _, method := range slices.Sorted(maps.Keys(all)) {
				asked, rows, err := s.run(all[method])
				want := slices.Repeat([]string{"page0-0", "page0-1", "page1-0", "page1-1", "page2-0", "page2-1"}, len(s.calls))
				if method == "Search.AllMetadata" { // the script finds none
					want = nil
				}
				again, _, _ := s.run(all[method])
				if diff := cmp.Diff(asked, again) + cmp.Diff(want, rows); err != nil || diff != "" {
					t.Errorf("%s: %v (-want +got in each range):\n%s", method, err, diff)
				}
				s.fails = true
				_, before, err := s.run(all[method])
				s.fails = false
				if !errors.Is(err, errEndless) && len(asked) > 1 || !slices.Equal(before, rows[:len(before)]) {
					t.Errorf("%s: a page that fails comes after %v, and the iteration ends with %v", method, before, err)
				}
				text.WriteString(fill("", append([]string{method}, asked...)))
			}
		}
	})
	compareGolden(t, "iterators", text.String())
}

// A loop that is left at its first item costs one request. At its second item, the next
// page has been requested, unless the loop does without that.
func TestIteratorsRequestNoPageForTheFirstItem(t *testing.T) {
	t.Parallel()
	pages := pagesOf(live(t))
	synctest.Test(t, func(t *testing.T) {
		s := &threePages{pages: pages}
		for _, opts := range [][]api.CallOption{nil, {api.WithoutPrefetch()}} {
			for method, seq := range iterators(overCaller(s), false, opts...) {
				want := []int{1, 2} // requests at each item
				if strings.HasSuffix(method, "Pages") {
					want = []int{1, 3}
				}
				if opts != nil {
					want[1]--
				}
				if method == "Search.AllMetadata" { // the script finds none
					continue
				}
				for last := range want {
					s.calls = map[string]int{}
					var got []int
					for range seq {
						time.Sleep(time.Second) // more than the wait after two empty pages
						got = append(got, s.requests())
						if len(got) > last {
							break
						}
					}
					s.asked = nil
					if !slices.Equal(want[:last+1], got) {
						t.Errorf("%s: %d requests at the items, want %d; the options are %v", method, got, want[:last+1], opts)
					}
				}
			}
		}
	})
}

// pagesOf returns the first response to each operation, of the scripts by name.
func pagesOf(all map[string][]*exchange) map[string][]byte {
	pages := map[string][]byte{}
	for _, area := range slices.Sorted(maps.Keys(all)) {
		for _, e := range all[area] {
			if pages[e.op] == nil {
				pages[e.op] = e.answer.body
			}
		}
	}
	return pages
}

// threePages is a Caller that responds to each operation with three pages of
// two rows, made from the responses of the scripts.
type threePages struct {
	stub.NotOpened
	pages map[string][]byte // by operation
	fails bool              // the second page fails

	mu    sync.Mutex
	calls map[string]int
	asked []string   // the requests
	last  url.Values // of the previous request
}

// requests returns how many requests there were, also while a page is fetched ahead.
func (s *threePages) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// run returns the requests of an iteration, the marks of its rows, and its error.
func (s *threePages) run(seq iter.Seq2[reflect.Value, reflect.Value]) (asked, rows []string, err error) {
	s.calls, s.asked = map[string]int{}, nil
	for row, e := range seq {
		if err, _ = reflect.TypeAssert[error](e); err != nil {
			break
		}
		text, _ := jsonv2.Marshal(row.Interface())
		rows = append(rows, regexp.MustCompile(`page\d-\d`).FindAllString(string(text), -1)...)
	}
	return s.asked, slices.Compact(rows), err
}

func (s *threePages) Call(_ context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.calls[r.Op]
	s.calls[r.Op]++
	query := r.Query
	if n == 0 {
		s.asked, s.last = append(s.asked, strings.TrimSuffix(r.Op+"?"+query.Encode(), "?")), url.Values{}
	} else {
		changed := maps.Clone(query)
		maps.DeleteFunc(changed, func(name string, v []string) bool { return slices.Equal(v, s.last[name]) })
		for name := range s.last {
			if query[name] == nil {
				changed.Set("without", name)
			}
		}
		s.asked = append(s.asked, strings.TrimSpace("then "+changed.Encode()))
	}
	s.last = query
	if n > 5 || s.fails && n == 1 {
		return errEndless
	}
	body := decode(s.pages[r.Op])
	s.turn(body, n, query)
	return jsonv2.Unmarshal([]byte(encode(body)), out)
}

// turn changes a response to the n-th page.
func (s *threePages) turn(v any, n int, query url.Values) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	offset, _ := strconv.Atoi(query.Get("offset"))
	for name, member := range object {
		switch list, isList := member.([]any); {
		case name == "has_more":
			object[name] = n < 2
		case name == "cursor":
			object[name] = fmt.Sprint("c", n+1)
		case name == "next_cursor":
			object[name] = map[bool]any{true: fmt.Sprint("c", n+1)}[n < 2]
		case name == "next_offset":
			object[name] = map[bool]any{true: offset + 2}[n < 2]
		case name == "total":
			object[name] = 6
		case name == "limit" && limit > 0:
			object[name] = limit
		case name == "offset":
			object[name] = offset
		case isList && len(list) > 0:
			object[name] = marked(list[0], n)
		default:
			s.turn(member, n, query)
		}
	}
	if files, ok := object["files"].(map[string]any); ok && files["items"] == nil && len(files) > 0 { // keyed by ID
		object["files"] = map[string]any{}
		for i, row := range marked(map[string]any{}, n) {
			object["files"].(map[string]any)[fmt.Sprintf("page%d-%d", n, i)] = row
		}
	}
}

// marked returns the rows of the n-th page, made from one row.
func marked(row any, n int) []any {
	rows := []any{}
	for i := range 2 {
		copied, ok := decode([]byte(encode(row))).(map[string]any)
		if !ok || n > 2 {
			return rows
		}
		for _, name := range []string{
			"id", "event_id", "comment_id", "node_id", "thread_id", "turn_id", "fileshare", "source", "name", "text",
		} {
			if _, has := copied[name]; has {
				copied[name] = fmt.Sprintf("page%d-%d", n, i)
			}
		}
		rows = append(rows, copied)
	}
	return rows
}
