package events_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/table"
)

func TestAll(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(o *fastiotest.Options){
		"by cursor":                    func(*fastiotest.Options) {},
		"by offset on an older server": func(o *fastiotest.Options) { o.Events.NoCursor = true },
		"newest first":                 ordered(fastiotest.NewestFirst),
	}, func(t *testing.T, change func(o *fastiotest.Options)) {
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
		if sameSet(t, want, ids(t, w.log, w.query())); w.count(search) != calls+1 {
			t.Errorf("60 events took %d calls", w.count(search)-calls)
		}
	})
}

// The server cuts its page before it removes what the caller may not see.
func TestAllContinuesAfterEmptyPages(t *testing.T) {
	t.Parallel()
	for _, older := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(func(o *fastiotest.Options) { o.Events.NoCursor = older })
			ben := w.AddUser(fastiotest.User{FirstName: "Ben"})
			w.SetMember(w.room.ID, ben.ID, fastiotest.Member)
			bens := logOf(w.Server, fastio.WithToken(w.AddKey(fastiotest.Key{User: ben.ID}).Token))
			w.AddEvent(fastiotest.Event{ // a member gets no imports, whatever permission they ask for
				Name: "import_source_sync_failed", Category: "import", Permission: "member", Workspace: w.room.ID,
				Created: time.Now().Add(-time.Hour),
			})
			var want []api.OpaqueID
			for i := range 60 {
				created, permission := time.Now().Add(time.Duration(i-60)*time.Second), "admin"
				if i%29 == 0 {
					permission = "member"
				}
				e := w.AddEvent(fastiotest.Event{
					Name: fileAdded, Workspace: w.room.ID, Created: created, Permission: permission,
				})
				if permission == "member" {
					want = append(want, e.ID)
				}
			}
			empty, total := 0, 0
			for p, err := range bens.Pages(t.Context(), w.paged(5)) {
				if err != nil {
					t.Fatal(err)
				}
				if total++; len(p.Events) == 0 && p.Pagination.HasMore {
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
	var c api.Caller = callerFunc(func(r *api.Request) string {
		offsets = append(offsets, r.Query.Get("offset"))
		return []string{
			`{"events":[{"event_id":"a"},{"event_id":"b"}]}`, `{"events":[{"event_id":"c"}]}`, `{"events":[]}`,
		}[len(offsets)-1]
	})
	q := events.Query{Profile: api.Workspace(roomID), Limit: 2, Offset: 10}
	if diff := cmp.Diff([]api.OpaqueID{"a", "b", "c"}, ids(t, events.New(c), q)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10", "12", "14"}, offsets); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

func TestChildrenGoByOffset(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		parent := w.add(time.Now(), 0)
		var want []api.OpaqueID
		for range 23 {
			want = append(want, w.AddEvent(fastiotest.Event{Name: fileAdded, Workspace: w.room.ID, Parent: parent}).ID)
		}
		q := events.Query{ParentEventID: parent, Limit: 5}
		sameSet(t, want, ids(t, w.log, q))
		sameSet(t, want, collect(t, w.log.Walk(q, "")))

		walk := w.log.Walk(q, "")
		before := some(t, walk, 12)
		sameSet(t, want, append(before, collect(t, logOf(w.Server).Walk(q, walk.Cursor()))...))
		pages := 0
		for _, err := range w.log.Pages(t.Context(), q) {
			if pages++; err != nil {
				t.Fatal(err)
			}
		}
		if pages != 5 {
			t.Errorf("23 children came on %d pages of 5", pages)
		}
	})
}

// The page after is under way when the loop is left. The bubble waits for every
// goroutine of the test.
func TestLeavingALoopLeaksNothing(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(30)
		w.Fail(fastiotest.Fault{Op: search, Skip: 1, Delay: time.Hour})
		start := time.Now()
		for range w.log.All(t.Context(), w.paged(5)) {
			break
		}
		for range w.log.Pages(t.Context(), w.paged(5)) {
			break
		}
		walk := w.log.Walk(w.paged(5), "")
		for range walk.Events(t.Context()) {
			break
		}
		if waited := time.Since(start); waited > 2*time.Hour {
			t.Errorf("three loops were left after %v: only the first page of two may be waited for", waited)
		}
	})
}

// A summary costs credits each time.
func TestSummarizeIsNotRetried(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.Fail(fastiotest.Fault{Op: "events.Summarize", Reset: fastiotest.AfterHeader, Processed: true})
		if _, err := w.log.Summarize(t.Context(), w.query(), ""); err == nil || w.count("events.Summarize") != 1 {
			t.Errorf("%v after %d calls", err, w.count("events.Summarize"))
		}
	})
}

func TestChanges(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(3) // before the feed was joined
		start, err := w.log.Changes(t.Context(), w.Org().ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want []api.OpaqueID
		for range 1003 {
			want = append(want, w.add(time.Now(), 0))
		}
		var got []api.OpaqueID
		pages := 0
		for p, err := range w.log.ChangePages(t.Context(), w.Org().ID, start.Cursor) {
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for _, c := range p.Changes {
				got = append(got, c.EventID)
			}
		}
		if sameSet(t, want, got); pages != 2 {
			t.Errorf("1003 changes came on %d pages", pages)
		}
	})
}
