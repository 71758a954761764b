package events_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

const roomID = "4012345678901234567"

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// attempts makes every call that takes a query and returns their errors. With a
// cursor, it skips the calls that accept none.
func attempts(ctx context.Context, q events.Query) map[string]error {
	s := unreachable()
	errs := map[string]error{
		"Search": stub.Err(s.Search(ctx, q)), "All": stub.Last(s.All(ctx, q)), "Pages": stub.Last(s.Pages(ctx, q)),
	}
	if q.Cursor == "" {
		errs["Summarize"] = stub.Err(s.Summarize(ctx, q, ""))
		errs["Walk"] = stub.Last(s.Walk(q, "").Events(ctx))
	}
	return errs
}

type query = events.Query

func with(q query, change func(q *query)) query {
	change(&q)
	return q
}

func TestInvalidQueryIsRejected(t *testing.T) {
	t.Parallel()
	room := events.Query{Profile: api.Workspace(roomID)}
	children, long := query{ParentEventID: "e1"}, strings.Repeat("é", 101)
	const audit = events.VisibilityAudit
	for _, tt := range []struct {
		name, field string
		query       events.Query
	}{
		{"no profile", "Query.Profile", events.Query{}},
		{"a profile without an ID", "Query.Profile", events.Query{Profile: api.Workspace(" ")}},
		{"an ID without a kind", "Query.Profile", events.Query{Profile: api.Profile{ID: roomID}}},
		{"a custom name", "Query.Profile", events.Query{Profile: api.Workspace("marketing")}},
		{"an address of an actor", "calling_user_id", with(room, func(q *query) { q.CallingUserID = "a@example.test" })},
		{"a File Share", "Query.Profile", events.Query{Profile: api.FileShare(roomID)}},
		{"a limit below 0", "limit", with(room, func(q *query) { q.Limit = -1 })},
		{"a limit of 251", "limit", with(room, func(q *query) { q.Limit = 251 })},
		{"an offset below 0", "offset", with(room, func(q *query) { q.Offset = -1 })},
		{"an offset beside a cursor", "offset", with(room, func(q *query) { q.Offset, q.Cursor = 1, "c" })},
		{"a name of 101 letters", "event", with(room, func(q *query) { q.Event = events.Name(long) })},
		{"internal events", "visibility", with(room, func(q *query) { q.Visibility = events.VisibilityInternal })},
		{"a time that ends before it starts", "created-max", with(room, func(q *query) {
			q.CreatedMin, q.CreatedMax = noon, noon.Add(-time.Second)
		})},
		{"the audit log of a user", "Query.Profile", query{Profile: api.User(api.Me), Visibility: audit}},

		{"children and a profile", "Query.Profile", with(children, func(q *query) { q.Profile = api.Org(roomID) })},
		{"children and a name", "event", with(children, func(q *query) { q.Event = events.NameUserLogin })},
		{"children and a category", "category", with(children, func(q *query) { q.Category = events.CategoryAI })},
		{"children and a subcategory", "subcategory", with(children, func(q *query) { q.SubCategory = "ai" })},
		{"children and an actor", "calling_user_id", with(children, func(q *query) { q.CallingUserID = roomID })},
		{"children and an object", "object_id", with(children, func(q *query) { q.ObjectID = "f1" })},
		{"children and a cursor", "cursor", with(children, func(q *query) { q.Cursor = "c" })},
		{"children and a start", "created-min", with(children, func(q *query) { q.CreatedMin = noon })},
		{"children and an end", "created-max", with(children, func(q *query) { q.CreatedMax = noon })},
		{"children in the audit log", "visibility", with(children, func(q *query) { q.Visibility = audit })},
	} {
		for call, err := range attempts(t.Context(), tt.query) {
			if got := refusedField(err); got != tt.field {
				t.Errorf("%s: %s reports field %q, want %q", tt.name, call, got, tt.field)
			}
		}
	}
}

func TestValidQueryIsSent(t *testing.T) {
	t.Parallel()
	room := api.Workspace(roomID)
	for name, q := range map[string]events.Query{
		"a user":                     {Profile: api.User(api.Me)},
		"an organization":            {Profile: api.Org("3012345678901234567")},
		"a workspace":                {Profile: room},
		"a share":                    {Profile: api.Share(roomID)},
		"the audit log of a share":   {Profile: api.Share(roomID), Visibility: events.VisibilityAudit},
		"children":                   {ParentEventID: "e1", Limit: 250, Offset: 7, Visibility: "external"},
		"the smallest page":          {Profile: room, Limit: 1},
		"the largest page":           {Profile: room, Limit: 250},
		"a name of 100 letters":      {Profile: room, Event: events.Name(strings.Repeat("é", 100))},
		"one moment":                 {Profile: room, CreatedMin: noon, CreatedMax: noon},
		"a name that is newer":       {Profile: room, Event: "moved", Category: "physics", SubCategory: "teleport"},
		"a visibility that is newer": {Profile: room, Visibility: "external_secret"},
	} {
		for call, err := range attempts(t.Context(), q) {
			if !errors.Is(err, errReached) {
				t.Errorf("%s: %s: %v", name, call, err)
			}
		}
	}
}

func TestSummarizeRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	s, room := unreachable(), events.Query{Profile: api.Workspace(roomID)}
	_, err := s.Summarize(t.Context(), events.Query{Profile: room.Profile, Cursor: "c"}, "")
	if refusedField(err) != "cursor" {
		t.Errorf("with a cursor: %v", err)
	}
	for _, about := range []string{strings.Repeat("é", 65), "what <now>", "what\nnow", "what \xff"} {
		if _, err := s.Summarize(t.Context(), room, about); refusedField(err) != "user_context" {
			t.Errorf("%q: %v", about, err)
		}
	}
	for _, about := range []string{"", strings.Repeat("ж", 64), "What, then? It's 5-0! Über 100."} {
		if _, err := s.Summarize(t.Context(), room, about); !errors.Is(err, errReached) {
			t.Errorf("%q: %v", about, err)
		}
	}
}

func TestChangesLimit(t *testing.T) {
	t.Parallel()
	for limit, sent := range map[int]bool{-1: false, 0: true, 1: true, 1000: true, 1001: false} {
		_, err := unreachable().Changes(t.Context(), "acme", &events.ChangeOptions{Limit: limit})
		if sent != errors.Is(err, errReached) || !sent && refusedField(err) != "limit" {
			t.Errorf("a limit of %d: %v", limit, err)
		}
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(o *seed.Options){
		"by cursor":                    func(*seed.Options) {},
		"by offset on an older server": func(o *seed.Options) { o.Events.NoCursor = true },
		"newest first":                 ordered(seed.NewestFirst),
	}, func(t *testing.T, change func(o *seed.Options)) {
		w := newWorld(change)
		want := w.fill(60)
		for _, limit := range []int{1, 7, 30, 59, 60, 61} {
			got := ids(t, w.log, w.paged(limit))
			sameSet(t, want, got)
			if diff := cmp.Diff(got, ids(t, w.log, w.paged(limit))); diff != "" {
				t.Errorf("pages of %d: a second range differs (-first +second):\n%s", limit, diff)
			}
		}
		calls := w.count(search)
		sameSet(t, want, ids(t, w.log, w.query()))
		if w.count(search) != calls+1 {
			t.Errorf("60 events took %d calls", w.count(search)-calls)
		}
	})
}

// The server removes events that the caller may not see after it cuts the page.
func TestAllContinuesAfterEmptyPages(t *testing.T) {
	t.Parallel()
	for _, older := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(func(o *seed.Options) { o.Events.NoCursor = older })
			ben := w.AddUser(seed.User{FirstName: "Ben"})
			w.SetMember(w.room.ID, ben.ID, seed.Member)
			bens := logOf(w.Server, fastio.WithToken(w.AddKey(seed.Key{User: ben.ID}).Token))
			w.AddEvent(seed.Event{ // members get no imports
				Name: "import_source_sync_failed", Category: "import", Permission: "member", Workspace: w.room.ID,
				Created: time.Now().Add(-time.Hour),
			})
			var want []api.OpaqueID
			for i := range 60 {
				created, permission := time.Now().Add(time.Duration(i-60)*time.Second), "admin"
				if i%29 == 0 {
					permission = "member"
				}
				e := w.AddEvent(seed.Event{Name: fileAdded, Workspace: w.room.ID, Created: created, Permission: permission})
				if permission == "member" {
					want = append(want, api.OpaqueID(e.ID))
				}
			}
			empty, total := 0, 0
			for p, err := range bens.Pages(t.Context(), w.paged(5)) {
				if err != nil {
					t.Fatal(err)
				}
				total++
				if len(p.Events) == 0 && p.Pagination.HasMore {
					empty++
				}
			}
			if empty == 0 || total != 13 || len(ids(t, w.log, w.query())) != 61 {
				t.Errorf("%d of %d pages were empty with more to come", empty, total)
			}
			if diff := cmp.Diff(want, ids(t, bens, w.paged(5))); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			sameSet(t, want, collect(t, bens.Walk(w.paged(5), "")))
		})
	}
}

// Without pagination, pages are requested until one is empty.
func TestAllWithoutPagination(t *testing.T) {
	t.Parallel()
	offsets := []string{}
	c := callerFunc(func(r *api.Request) string {
		offsets = append(offsets, r.Query.Get("offset"))
		return []string{
			`{"events":[{"event_id":"a"},{"event_id":"b"}]}`, `{"events":[{"event_id":"c"}]}`, `{"events":[]}`,
		}[len(offsets)-1]
	})
	q := events.Query{Profile: api.Workspace(roomID), Limit: 2, Offset: 10}
	if diff := cmp.Diff([]api.OpaqueID{"a", "b", "c"}, ids(t, events.New(c, nil), q)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10", "12", "14"}, offsets); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

// A fake may send all its events without pagination, whatever the offset. A full page may
// have others behind it, so that it is an error.
func TestOffsetThatIsIgnored(t *testing.T) {
	t.Parallel()
	searches := 0
	s := events.New(callerFunc(func(r *api.Request) string {
		if r.Op != search {
			return `{}`
		}
		searches++
		return `{"events":[{"event_id":"a"},{"event_id":"b"}]}`
	}), nil)
	q := events.Query{Profile: api.Workspace(roomID)}
	synctest.Test(t, func(t *testing.T) {
		if got, err := stub.All(s.All(t.Context(), q)); len(got) != 2 || err != nil || searches != 2 {
			t.Errorf("All: %d events after %d searches, %v", len(got), searches, err)
		}
		if got, err := stub.All(s.Walk(q, "").Events(t.Context())); len(got) != 2 || err != nil || searches != 4 {
			t.Errorf("Walk: %d events after %d searches in all, %v", len(got), searches, err)
		}
		var box inbox
		err := s.Follow(t.Context(), q, box.handle, &events.FollowOptions{Until: time.Now().Add(-time.Minute)})
		if err != nil || len(box.all()) != 2 || searches != 6 {
			t.Errorf("Follow: %d events after %d searches in all, %v", len(box.all()), searches, err)
		}
		q.Limit = 2
		got, err := stub.All(s.All(t.Context(), q))
		if len(got) != 2 || !errors.Is(err, api.ErrNoProgress) || searches != 8 {
			t.Errorf("a full page: %d events after %d searches in all, %v", len(got), searches, err)
		}
		got, err = stub.All(s.Walk(q, "").Events(t.Context()))
		if len(got) != 2 || !errors.Is(err, api.ErrNoProgress) || searches != 10 {
			t.Errorf("a full page: Walk: %d events after %d searches in all, %v", len(got), searches, err)
		}
	})
}

func TestChildrenPageByOffset(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		parent := w.add(time.Now(), 0)
		var want []api.OpaqueID
		for range 23 {
			child := w.AddEvent(seed.Event{Name: fileAdded, Workspace: w.room.ID, Parent: string(parent)})
			want = append(want, api.OpaqueID(child.ID))
		}
		q := events.Query{ParentEventID: parent, Limit: 5}
		sameSet(t, want, ids(t, w.log, q))
		sameSet(t, want, collect(t, w.log.Walk(q, "")))

		walk := w.log.Walk(q, "")
		before := some(t, walk, 12)
		sameSet(t, want, append(before, collect(t, logOf(w.Server).Walk(q, walk.Cursor()))...))
		pages := 0
		for _, err := range w.log.Pages(t.Context(), q) {
			pages++
			if err != nil {
				t.Fatal(err)
			}
		}
		if pages != 5 {
			t.Errorf("23 children came on %d pages of 5", pages)
		}
	})
}

// A loop that is left at its first event costs one of the five searches that are allowed
// in three seconds.
func TestFirstEventCostsOneSearch(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(10)
		ids(t, w.log, w.query()) // gets the time of the server, which Walk needs
		for name, loop := range map[string]iter.Seq2[*events.Event, error]{
			"All": w.log.All(t.Context(), w.paged(2)), "Walk": w.log.Walk(w.paged(2), "").Events(t.Context()),
		} {
			time.Sleep(time.Minute)
			before, began := w.count(search), time.Now()
			var got []int
			for range loop {
				synctest.Wait()
				got = append(got, w.count(search)-before)
				if len(got) == 2 {
					break
				}
			}
			if !slices.Equal(got, []int{1, 2}) || time.Since(began) > 0 {
				t.Errorf("%s: %d searches at the first two events, after %s", name, got, time.Since(began))
			}
		}
	})
}

// The next page is being fetched when the loop ends. The bubble waits for every
// goroutine of the test.
func TestEndingALoopLeaksNoGoroutine(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(30)
		w.Fail(seed.Fault{Op: search, Skip: 1, Delay: time.Hour})
		start := time.Now()
		for _, loop := range []iter.Seq2[*events.Event, error]{
			w.log.All(t.Context(), w.paged(5)), w.log.Walk(w.paged(5), "").Events(t.Context()),
		} {
			n := 0
			for range loop {
				synctest.Wait()
				n++
				if n == 2 {
					break
				}
			}
		}
		if waited := time.Since(start); waited > time.Hour {
			t.Errorf("two loops ended after %v: only the first page of one may be waited for", waited)
		}
	})
}

// Each summary costs credits.
func TestSummarizeIsNotRetried(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.Fail(seed.Fault{Op: "events.Summarize", Reset: seed.AfterHeader, Processed: true})
		if _, err := w.log.Summarize(t.Context(), w.query(), ""); err == nil || w.count("events.Summarize") != 1 {
			t.Errorf("%v after %d calls", err, w.count("events.Summarize"))
		}
	})
}

func TestEventOnOneLine(t *testing.T) {
	t.Parallel()
	created := api.Time{Time: time.Date(2026, 5, 1, 10, 30, 0, 0, time.UTC)}
	for want, e := range map[string]*events.Event{
		"<nil>": nil,
		"2026-05-01 10:30:00 comment_created e1 object ca1 by 4": {
			ID: "e1", Name: "comment_created", Created: created, ObjectID: "ca1", CallingUserID: "4", Description: "Ada wrote",
		},
	} {
		if got := e.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
