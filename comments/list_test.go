package comments_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

// thread is a list of comments that changes during an iteration.
type thread struct {
	stub.NotOpened

	ids    []string
	silent bool                       // sends no totals
	stuck  bool                       // ignores offsets
	capped int                        // the maximum of comments a page, if not 0
	turn   func(page int, th *thread) // called before each page
	pages  []string                   // what was requested: LIMIT@OFFSET
	other  string                     // the last other parameters
}

func (th *thread) Call(_ context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	if th.turn != nil {
		th.turn(len(th.pages), th)
	}
	limit, _ := strconv.Atoi(r.Query.Get("limit"))
	offset, _ := strconv.Atoi(r.Query.Get("offset"))
	th.pages = append(th.pages, fmt.Sprintf("%d@%d", limit, offset))
	r.Query.Del("limit")
	r.Query.Del("offset")
	th.other = r.Query.Encode()
	if th.stuck {
		offset = 0
	}
	if th.capped > 0 {
		limit = min(limit, th.capped)
	}
	ids := slices.Clone(th.ids)
	if r.Query.Get("sort") == "desc" {
		slices.Reverse(ids)
	}
	offset = min(offset, len(ids))
	rows := []map[string]string{}
	for _, id := range ids[offset:min(offset+limit, len(ids))] {
		rows = append(rows, map[string]string{"id": id})
	}
	answer := map[string]any{"result": true, "comments": rows, "count": len(rows), "allowed": true}
	if !th.silent {
		answer["total"], answer["limit"], answer["offset"] = len(ids), limit, offset
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, out)
}

func (th *thread) add(from, n int) { th.ids = append(th.ids, numbered(from, from+n)...) }

// numbered returns the IDs with these numbers.
func numbered(from, to int) []string {
	var ids []string
	for i := from; i < to; i++ {
		ids = append(ids, "c"+strconv.Itoa(i))
	}
	return ids
}

func threadOf(n int) *thread { return &thread{ids: numbered(0, n)} }

func (th *thread) all(t *testing.T, list *comments.ListOptions) ([]string, error) {
	t.Helper()
	rows, err := stub.All(comments.New(th, nil).All(t.Context(), targets()[""], list))
	var got []string
	for _, c := range rows {
		got = append(got, string(c.ID))
	}
	return got, err
}

func TestAll(t *testing.T) {
	t.Parallel()
	backwards := []string{"c3", "c2", "c1", "c0"}
	second := func(change func(th *thread)) func(page int, th *thread) { // called before the second page
		return func(page int, th *thread) {
			if page == 1 {
				change(th)
			}
		}
	}
	deleting := func(n int) func(page int, th *thread) { return second(func(th *thread) { th.ids = th.ids[n:] }) }
	type options = comments.ListOptions
	for name, tc := range map[string]struct {
		thread *thread
		list   *options
		want   []string
		pages  string
	}{
		"nothing":        {threadOf(0), nil, nil, "200@0"},
		"one page":       {threadOf(3), nil, numbered(0, 3), "200@0"},
		"a full page":    {threadOf(200), nil, numbered(0, 200), "200@0"},
		"several":        {threadOf(401), nil, numbered(0, 401), "200@0 200@200 200@400"},
		"from an offset": {threadOf(401), &options{Offset: 250}, numbered(250, 401), "200@250"},
		"past the end":   {threadOf(4), &options{Offset: 9}, nil, "200@9"},
		"in small pages": {threadOf(3), &options{Limit: 2}, numbered(0, 3), "2@0 2@2"},
		"newest first":   {threadOf(4), &options{NewestFirst: true}, backwards, "200@0"},
		"at most 100 at a time": {
			&thread{ids: numbered(0, 250), capped: 100}, nil, numbered(0, 250), "200@0 200@100 200@200",
		},
		"without totals": {&thread{ids: numbered(0, 201), silent: true}, nil, numbered(0, 201), "200@0 200@200 200@201"},
		"without totals and offsets": {
			&thread{ids: numbered(0, 2), silent: true, stuck: true}, nil, numbered(0, 2), "200@0 200@2",
		},
		"comments are added": {
			&thread{ids: numbered(0, 300), turn: second(func(th *thread) { th.add(300, 150) })}, nil,
			numbered(0, 450), "200@0 200@200 200@400",
		},
		"comments are added, newest first": {
			&thread{ids: numbered(0, 4), turn: second(func(th *thread) { th.add(4, 1) })},
			&options{NewestFirst: true, Limit: 2}, backwards, "2@0 2@2 2@4 2@5",
		},
		"comments are deleted": { // c200 and c201 replace c0 and c1
			&thread{ids: numbered(0, 450), turn: deleting(2)}, nil,
			slices.Concat(numbered(0, 200), numbered(202, 402), numbered(200, 202), numbered(402, 450)),
			"200@0 200@200 200@198 200@398",
		},
		"a comment is deleted before the last page": { // c200 replaces c0
			&thread{ids: numbered(0, 201), turn: deleting(1)}, nil, numbered(0, 201), "200@0 200@200 200@199",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.thread.all(t, tc.list)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("comments (-want +got):\n%s", diff)
			}
			if pages := strings.Join(tc.thread.pages, " "); pages != tc.pages {
				t.Errorf("requested %s, want %s", pages, tc.pages)
			}
		})
	}
	th := threadOf(1)
	_, err := th.all(t, &options{IncludeDeleted: true, ReferenceType: "image"})
	if err != nil || th.other != "include_deleted=true&include_total=true&reference_type=image&sort=asc" {
		t.Errorf("requested %s, %v", th.other, err)
	}
}

// Null rows are dropped; rows without an ID are all kept.
func TestAllWithInvalidRows(t *testing.T) {
	t.Parallel()
	s := comments.New(stub.Answer(
		`{"total":3,"comments":[null,{"body":"a"},{"body":"b"},{"id":"CA-1"},{"id":"ca1"}]}`,
	), nil)
	var got []string
	for c, err := range s.All(t.Context(), targets()[""], nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(c.ID)+c.Body)
	}
	if diff := cmp.Diff([]string{"a", "b", "CA-1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A server that ignores offsets sends the same comments again and again. One whose total
// keeps falling is asked again, but not without end.
func TestAllEndsWithoutProgress(t *testing.T) {
	t.Parallel()
	stuck := threadOf(500)
	stuck.stuck = true
	asked := 0
	type row struct {
		client api.Client
		calls  func() int
		want   [2]int // comments, calls
	}
	table.Bubbles(t, map[string]row{
		"the same comments": {stuck, func() int { return len(stuck.pages) }, [2]int{200, 4}},
		"a total that falls": {
			stub.Caller(func(_ context.Context, _ *api.Request, out any) error {
				rows := ""
				asked++
				if asked == 1 {
					rows = `{"id":"c0"}`
				}
				return json.Unmarshal(fmt.Appendf(nil, `{"result":true,"comments":[%s],"total":%d}`, rows, 1_000_000-asked), out)
			}), func() int { return asked }, [2]int{1, 101},
		},
	}, func(t *testing.T, test row) {
		all := comments.New(test.client, nil).All(t.Context(), comments.On(api.Share(shareID)), nil)
		got, err := stub.All(all)
		if !errors.Is(err, api.ErrNoProgress) || len(got) != test.want[0] || test.calls() != test.want[1] {
			t.Errorf("%d comments after %d calls, then %v", len(got), test.calls(), err)
		}
	})
}

func TestAllEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for kind, on := range targets() {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		var end error
		for _, err := range comments.New(threadOf(900), nil).All(ctx, on, nil) {
			end = err
			if err == nil {
				n++
				cancel()
			}
		}
		cancel()
		if !errors.Is(end, context.Canceled) || n < 200 || n > 400 { // a page and the one fetched ahead
			t.Errorf("List%s ends with %v after %d comments", kind, end, n)
		}
	}
}

func TestAllIsCompleteDuringChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		rapid.SyncTest(r, func(r *rapid.T) {
			th := threadOf(rapid.IntRange(0, 20).Draw(r, "comments"))
			stay := slices.Clone(th.ids)
			made := len(th.ids)
			th.turn = func(page int, th *thread) {
				switch {
				case page == 0 || page > 10:
				case rapid.Bool().Draw(r, "made"):
					n := rapid.IntRange(0, 5).Draw(r, "new")
					th.add(made, n)
					made += n
				case len(th.ids) > 0:
					i := rapid.IntRange(0, len(th.ids)-1).Draw(r, "gone")
					stay = slices.DeleteFunc(stay, func(id string) bool { return id == th.ids[i] })
					th.ids = slices.Delete(th.ids, i, i+1)
				}
			}
			got := map[string]int{}
			for c, err := range comments.New(th, nil).All(r.Context(), targets()[""], &comments.ListOptions{Limit: 2}) {
				if err != nil {
					r.Fatal(err)
				}
				got[string(c.ID)]++
			}
			for id, n := range got {
				if n != 1 {
					r.Fatalf("%s came %d times", id, n)
				}
			}
			for _, id := range stay {
				if got[id] == 0 {
					r.Fatalf("%s never came; the pages were %q", id, th.pages)
				}
			}
		})
	})
}

// Since finds the comments created since a known one, over any number of pages,
// in order of creation.
func TestSince(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		room, client := s.AddWorkspace(seed.Workspace{Name: "Design"}), s.Client(t)
		var ids []api.OpaqueID
		add := func(n int) {
			for range n {
				ids = append(ids, api.OpaqueID(s.AddComment(seed.Comment{Profile: room.ID, Body: "a"}).ID))
			}
			time.Sleep(1500 * time.Millisecond)
		}
		add(130)
		moment := time.Now()
		add(2)
		add(120)
		for want, since := range map[int]time.Time{252: {}, 122: moment, 0: time.Now()} {
			before := len(s.Requests())
			found, err := client.Comments.Since(t.Context(), comments.On(api.Workspace(api.ID(room.ID))), since)
			if n := len(s.Requests()) - before; n != want/50+1 {
				t.Errorf("since %s: %d requests for %d comments", since, n, want)
			}
			var got []api.OpaqueID
			for _, c := range found {
				got = append(got, c.ID)
			}
			if err != nil || !slices.Equal(got, ids[len(ids)-want:]) {
				t.Errorf("since %s: %d comments, %v; want %d", since, len(got), err, want)
			}
		}
		s.Fail(seed.Fault{Op: op.CommentsList, Skip: 1, Status: http.StatusForbidden})
		found, err := client.Comments.Since(t.Context(), comments.On(api.Workspace(api.ID(room.ID))), time.Time{})
		if found != nil || !errors.Is(err, api.ErrForbidden) {
			t.Errorf("a page that fails: %d comments, %v", len(found), err)
		}
	})
}
