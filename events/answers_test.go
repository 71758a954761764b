package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

// The raw answer is that of the page the loop is at, though the next is under
// way.
func TestRawAnswerIsThatOfThePage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fill(4)
		var raw api.Response
		pages := 0
		for e, err := range w.log.All(t.Context(), w.paged(1), api.WithResponse(&raw)) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // the next page comes
			if pages++; !strings.Contains(string(raw.Body), string(e.ID)) {
				t.Errorf("at %s the answer is %s", e.ID, raw.Body)
			}
		}
		if pages != 4 {
			t.Errorf("%d pages", pages)
		}
	})
}

// The timeout of a call limits how long a walk retries.
func TestWalkWithATimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.Fail(fastiotest.Fault{
			Op: search, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3"}},
		})
		var last error
		for _, err := range w.log.Walk(w.query(), "", api.Timeout(time.Second)).Events(t.Context()) {
			last = err
		}
		n := w.count(search)
		if !errors.Is(last, context.DeadlineExceeded) || !errors.Is(last, api.ErrRateLimited) || n != 1 {
			t.Errorf("after %d attempts: %v", n, last)
		}
	})
}

// An event that moves to a later page while a walk is left comes once, however
// the walk is taken up.
func TestWalkResumesInsideAPage(t *testing.T) {
	t.Parallel()
	for _, byCursor := range []bool{true, false} {
		one, two := `{"event_id":"a"},{"event_id":"b"}`, `{"event_id":"c"}`
		s := events.New(callerFunc(func(r *api.Request) string {
			if r.Query.Get("cursor") == "2" {
				return `{"events":[` + two + `],"pagination":{"has_more":false}}`
			}
			return `{"events":[` + one + `],"pagination":{"has_more":true,"next_cursor":"2"}}`
		}))
		q := events.Query{Profile: api.Workspace("1")}
		w := s.Walk(q, "")
		got := some(t, w, 1)
		one, two = `{"event_id":"b"},{"event_id":"n"}`, `{"event_id":"c"},{"event_id":"a"}`
		if byCursor {
			w = s.Walk(q, w.Cursor())
		}
		got = append(got, some(t, w, 3)...)
		got = append(got, collect(t, s.Walk(q, w.Cursor()))...)
		if diff := cmp.Diff([]api.OpaqueID{"a", "b", "n", "c"}, got); diff != "" {
			t.Errorf("by cursor %t (-want +got):\n%s", byCursor, diff)
		}
	}
}

// Events without an id cannot be deduplicated.
func TestEventsWithoutAnIDAreAllDelivered(t *testing.T) {
	t.Parallel()
	c := callerFunc(func(*api.Request) string {
		return `{"events":[{"event":"x"},{"event":"y"},{"event":"z"}],"pagination":{"has_more":false}}`
	})
	if got := collect(t, events.New(c).Walk(events.Query{Profile: api.Workspace("1")}, "")); len(got) != 3 {
		t.Errorf("%d events were handed out, want 3", len(got))
	}
}

// A cursor whose page has no further one must not be repeated.
func TestCursorOfAPageWithoutOneIsNotRepeated(t *testing.T) {
	t.Parallel()
	c := callerFunc(func(r *api.Request) string {
		next := `"next_cursor":"1",`
		if r.Query.Get("cursor") == "1" {
			next = ""
		}
		return `{"events":[{"event_id":"e"}],"pagination":{` + next + `"has_more":true}}`
	})
	var last error
	n := 0
	for _, err := range events.New(c).All(t.Context(), events.Query{Profile: api.Workspace("1")}) {
		n, last = n+1, err
	}
	if last == nil || n != 2 {
		t.Errorf("%d rows, then %v", n, last)
	}
}

func TestGapAsJSON(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC)
	got, err := json.Marshal(events.Gap{Reason: events.GapReasonLate, From: from, To: from.Add(time.Hour)})
	want := `{"reason":"late","from":"2026-03-02T09:30:00Z","to":"2026-03-02T10:30:00Z"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
