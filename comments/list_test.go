package comments_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/fastiotest"
)

// last ranges to the end and returns the error that it ended with.
func last[T any](rows iter.Seq2[T, error]) error {
	var err error
	for _, err = range rows {
	}
	return err
}

// thread is a list of comments that changes while it is read.
type thread struct {
	ids     []string
	silent  bool                       // tells no totals
	stuck   bool                       // knows no offsets
	capped  int                        // the most it sends, if not 0
	turn    func(page int, th *thread) // before each page
	queries []string
	pages   int
}

func (th *thread) Call(_ context.Context, r *api.Request, out any) error {
	if th.turn != nil {
		th.turn(th.pages, th)
	}
	th.pages++
	th.queries = append(th.queries, r.Query.Encode())
	limit, _ := strconv.Atoi(r.Query.Get("limit"))
	offset, _ := strconv.Atoi(r.Query.Get("offset"))
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

func (th *thread) add(from, n int) {
	for i := range n {
		th.ids = append(th.ids, "c"+strconv.Itoa(from+i))
	}
}

func threadOf(n int) *thread {
	th := &thread{}
	th.add(0, n)
	return th
}

func (th *thread) all(t *testing.T, list *comments.ListOptions) ([]string, error) {
	t.Helper()
	var got []string
	for c, err := range comments.New(th).All(t.Context(), api.Workspace(roomID), list) {
		if err != nil {
			return got, err
		}
		got = append(got, string(c.ID))
	}
	return got, nil
}

func TestAll(t *testing.T) {
	t.Parallel()
	reversed := func(n int) []string {
		ids := threadOf(n).ids
		slices.Reverse(ids)
		return ids
	}
	const first = "include_total=true&limit=200&sort=asc"
	at := func(offset int) string {
		return fmt.Sprintf("include_total=true&limit=200&offset=%d&sort=asc", offset)
	}
	for name, tc := range map[string]struct {
		thread  *thread
		list    *comments.ListOptions
		want    []string
		queries []string
	}{
		"nothing":         {threadOf(0), nil, nil, []string{first}},
		"one page":        {threadOf(3), nil, threadOf(3).ids, []string{first}},
		"a full page":     {threadOf(200), nil, threadOf(200).ids, []string{first}},
		"several":         {threadOf(401), nil, threadOf(401).ids, []string{first, at(200), at(400)}},
		"from an offset":  {threadOf(401), &comments.ListOptions{Offset: 250}, threadOf(401).ids[250:], []string{at(250)}},
		"past the end":    {threadOf(4), &comments.ListOptions{Offset: 9}, nil, []string{at(9)}},
		"in small pages":  {threadOf(3), &comments.ListOptions{Limit: 2}, threadOf(3).ids, []string{"include_total=true&limit=2&sort=asc", "include_total=true&limit=2&offset=2&sort=asc"}},
		"newest first":    {threadOf(3), &comments.ListOptions{NewestFirst: true}, reversed(3), []string{"include_total=true&limit=200&sort=desc"}},
		"deleted as well": {threadOf(3), &comments.ListOptions{IncludeDeleted: true, ReferenceType: "image"}, threadOf(3).ids, []string{"include_deleted=true&include_total=true&limit=200&reference_type=image&sort=asc"}},
		"from a server that sends less": {
			&thread{ids: threadOf(250).ids, capped: 100}, nil, threadOf(250).ids, []string{first, at(100), at(200)},
		},
		"from a server without totals": {
			&thread{ids: threadOf(201).ids, silent: true}, nil, threadOf(201).ids, []string{first, at(200), at(201)},
		},
		"from a server that knows neither totals nor offsets": {
			&thread{ids: threadOf(2).ids, silent: true, stuck: true}, nil, threadOf(2).ids, []string{first, at(2)},
		},
		"comments made meanwhile": {
			&thread{ids: threadOf(300).ids, turn: func(page int, th *thread) {
				if page == 1 {
					th.add(300, 150)
				}
			}}, nil, threadOf(450).ids, []string{first, at(200), at(400)},
		},
		"comments made meanwhile, newest first": {
			&thread{ids: threadOf(4).ids, turn: func(page int, th *thread) {
				if page == 1 {
					th.add(4, 1)
				}
			}},
			&comments.ListOptions{NewestFirst: true, Limit: 2},
			reversed(4),
			[]string{
				"include_total=true&limit=2&sort=desc", "include_total=true&limit=2&offset=2&sort=desc",
				"include_total=true&limit=2&offset=4&sort=desc", "include_total=true&limit=2&offset=5&sort=desc",
			},
		},
		"comments deleted meanwhile": { // c200 and c201 take the places of c0 and c1
			&thread{ids: threadOf(450).ids, turn: func(page int, th *thread) {
				if page == 1 {
					th.ids = th.ids[2:]
				}
			}},
			nil,
			slices.Concat(threadOf(200).ids, threadOf(402).ids[202:], threadOf(202).ids[200:], threadOf(450).ids[402:]),
			[]string{first, at(200), at(198), at(398)},
		},
		"comments deleted before the last page": { // c200 takes the place of c0
			&thread{ids: threadOf(201).ids, turn: func(page int, th *thread) {
				if page == 1 {
					th.ids = th.ids[1:]
				}
			}},
			nil, threadOf(201).ids,
			[]string{first, at(200), at(199)},
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
			if diff := cmp.Diff(tc.queries, tc.thread.queries); diff != "" {
				t.Errorf("queries (-want +got):\n%s", diff)
			}
		})
	}
}

// Each range begins anew, and forgets what another has met.
func TestAllRangesAreIndependent(t *testing.T) {
	t.Parallel()
	seq := comments.New(threadOf(250)).All(t.Context(), api.Workspace(roomID), nil)
	for range 2 {
		n := 0
		for _, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 250 {
			t.Errorf("got %d comments", n)
		}
	}
}

// Rows that are no comments, or have no ID, neither fail nor hide each other.
func TestAllTakesOddRows(t *testing.T) {
	t.Parallel()
	c := &scripted{answer: `{"result":true,"total":3,"comments":[null,{"body":"a"},{"body":"b"},{"id":"CA-1"},{"id":"ca1"}]}`}
	var got []string
	for c, err := range comments.New(c).All(t.Context(), api.Workspace(roomID), nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(c.ID)+c.Body)
	}
	if diff := cmp.Diff([]string{"a", "b", "CA-1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A server that does not listen to offsets would be asked for ever.
func TestAllEndsOnServerWithoutOffsets(t *testing.T) {
	t.Parallel()
	th := threadOf(500)
	th.stuck = true
	got, err := th.all(t, nil)
	if err == nil || err.Error() != "fastio: comments.List: the server sends the same comments at every offset" || len(got) != 200 {
		t.Errorf("%d comments, then %v", len(got), err)
	}
}

// A total that falls with every page does not keep an iteration going.
func TestAllEndsWhenTheTotalKeepsFalling(t *testing.T) {
	t.Parallel()
	calls := 0
	s := comments.New(callerFunc(func(_ context.Context, _ *api.Request, out any) error {
		if calls++; calls > 1000 {
			return errors.New("asked on and on")
		}
		return json.Unmarshal(fmt.Appendf(nil, `{"result":true,"comments":[],"total":%d}`, 1_000_000-calls), out)
	}))
	total := 0
	for range s.All(t.Context(), api.Share(shareID), &comments.ListOptions{Offset: 7}) {
		total++
	}
	if calls > 110 || total > 1 {
		t.Errorf("%d calls, %d comments", calls, total)
	}
}

func TestAllEnds(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]func(ctx context.Context, s *comments.Service, opts ...api.CallOption) iter.Seq2[*comments.Comment, error]{
		"List": func(ctx context.Context, s *comments.Service, opts ...api.CallOption) iter.Seq2[*comments.Comment, error] {
			return s.All(ctx, api.Share(shareID), nil, opts...)
		},
		"ListOnNode": func(ctx context.Context, s *comments.Service, opts ...api.CallOption) iter.Seq2[*comments.Comment, error] {
			return s.AllOnNode(ctx, api.Workspace(roomID), nodeID, nil, opts...)
		},
		"ListOnFileShare": func(ctx context.Context, s *comments.Service, opts ...api.CallOption) iter.Seq2[*comments.Comment, error] {
			return s.AllOnFileShare(ctx, "fs", nodeID, nil, opts...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			for _, err := range all(t.Context(), comments.New(threadOf(900))) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == 201 {
					break
				}
			}
			if n != 201 {
				t.Errorf("stopped after %d comments", n)
			}

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n = 0
			var end error
			for _, err := range all(ctx, comments.New(threadOf(900))) {
				if end = err; err == nil {
					n++
					cancel()
				}
			}
			if !errors.Is(end, context.Canceled) || n < 200 || n > 400 { // a page and the one under way
				t.Errorf("a cancelled walk ends with %v after %d comments", end, n)
			}

			var text string
			if err := last(all(t.Context(), unreachable(), api.Markdown(&text))); refusedField(err) != "output" {
				t.Errorf("text has no rows: %v", err)
			}
			refused := &api.Error{Status: 403}
			calls := 0
			s := comments.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
				if calls++; calls > 1 {
					return refused
				}
				if r.Op != "comments."+name {
					t.Errorf("calls %s", r.Op)
				}
				return json.Unmarshal([]byte(`{"result":true,"comments":[{"id":"a"}],"total":2}`), out)
			}))
			if err := last(all(t.Context(), s)); !errors.Is(err, api.ErrForbidden) {
				t.Errorf("a refused page ends the walk with %v", err)
			}
		})
	}
}

// Whatever comes and goes at the end of the list, All has every comment that was
// there all the time, once.
func TestAllMissesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
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
		for c, err := range comments.New(th).All(t.Context(), api.Workspace(roomID), &comments.ListOptions{Limit: 2}) {
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
				r.Fatalf("%s never came; the pages were %q", id, th.queries)
			}
		}
	})
}

func TestPageDecoded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer string
		want   *comments.Page
	}{
		"with a total": {
			`{"result":true,"comments":[{"id":"a"}],"count":1,"allowed":true,"remaining":3,"total":0,"limit":100,"offset":7}`,
			&comments.Page{Comments: []*comments.Comment{{ID: "a"}}, Count: 1, Allowed: true, Remaining: new(3), Total: new(0), Limit: 100, Offset: 7},
		},
		"of a plan that is used up": {
			`{"result":"yes","response":{"comments":[],"count":0,"allowed":false,"remaining":0}}`,
			&comments.Page{Remaining: new(0)},
		},
		"of a plan without a limit": {
			`{"result":true,"comments":[],"count":0,"allowed":true,"remaining":null}`, &comments.Page{Allowed: true},
		},
	} {
		got, err := comments.New(&scripted{answer: tc.answer}).List(t.Context(), api.Workspace(roomID), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("a page %s (-want +got):\n%s", name, diff)
		}
	}
}

// The same walks over the platform, in all its forms.
func TestAllOnThePlatform(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]func(*fastiotest.Options){
		"at the root":    func(*fastiotest.Options) {},
		"under response": func(o *fastiotest.Options) { o.Wrapped, o.NumericIDs = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fastiotest.New(form)
			room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
			file := s.AddNode(fastiotest.Node{Profile: room.ID, Name: "plan.pdf"})
			link := s.AddFileShare(fastiotest.FileShare{Node: file.ID, Owner: s.User().ID, CommentsEnabled: true, Password: "s3cret"})
			recipient := s.AddUser(fastiotest.User{}).ID
			var all, onFile, onLink []api.OpaqueID
			for i := range 405 {
				c := fastiotest.Comment{Profile: room.ID, User: s.User().ID, Body: "Hi"}
				switch i % 3 {
				case 1:
					c.Node = file.ID
				case 2:
					c.FileShare, c.User = link.ID, recipient
				}
				id := s.AddComment(c).ID
				if i%3 < 2 {
					all = append(all, id)
				}
				if i%3 > 0 {
					onFile = append(onFile, id)
				}
				if i%3 == 2 {
					onLink = append(onLink, id)
				}
			}
			c, ctx := s.Client(t).Comments, t.Context()
			locked := &comments.ListOptions{Password: api.NewSecret("s3cret"), Limit: 50}
			for what, walk := range map[string]struct {
				rows iter.Seq2[*comments.Comment, error]
				want []api.OpaqueID
			}{
				"the workspace":  {c.All(ctx, api.Workspace(room.ID), nil), all},
				"the file":       {c.AllOnNode(ctx, api.Workspace(room.ID), file.ID, nil), onFile},
				"the File Share": {c.AllOnFileShare(ctx, api.ProfileID(link.IDAlt), file.ID, locked), onLink},
			} {
				var got []api.OpaqueID
				for c, err := range walk.rows {
					if err != nil {
						t.Fatal(what, err)
					}
					got = append(got, c.ID)
				}
				if diff := cmp.Diff(walk.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			if err := last(c.AllOnFileShare(ctx, link.ID, file.ID, nil)); !errors.Is(err, api.ErrForbidden) {
				t.Errorf("without the password: %v", err)
			}
		})
	}
}
