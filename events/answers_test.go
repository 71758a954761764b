package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// scriptedServer answers what its function returns.
type scriptedServer func(r *http.Request) (status int, header http.Header, body string)

func (f scriptedServer) RoundTrip(r *http.Request) (*http.Response, error) {
	status, header, body := f(r)
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func (f scriptedServer) client(t *testing.T, opts ...fastio.Option) *fastio.Client {
	t.Helper()
	c, err := fastio.New(append([]fastio.Option{
		fastio.WithBaseURL("http://fastio.test"), fastio.WithToken("a-token-of-some-length"),
		fastio.WithHTTPClient(&http.Client{Transport: f}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// isPing answers the question for the server's time.
func isPing(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/ping/") }

// The raw answer is that of the page the loop is at, though the next is under
// way.
func TestRawAnswerIsThatOfThePage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := scriptedServer(func(*http.Request) (int, http.Header, string) {
			n++
			return http.StatusOK, nil, fmt.Sprintf(
				`{"events":[{"event_id":"e%d"}],"pagination":{"has_more":%t,"next_cursor":"c%d"}}`, n, n < 4,
				n,
			)
		}).client(t)
		var raw api.Answer
		pages := 0
		for e, err := range c.Events.All(t.Context(), events.Query{Profile: api.Workspace("1")}, api.Raw(&raw)) {
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
		attempts := 0
		c := scriptedServer(func(r *http.Request) (int, http.Header, string) {
			if isPing(r) {
				return http.StatusOK, nil, `{"result":true}`
			}
			attempts++
			return http.StatusTooManyRequests, http.Header{"Retry-After": {"3"}}, `{"result":false}`
		}).client(t)
		var last error
		for _, err := range c.Events.Walk(
			events.Query{Profile: api.Workspace("1")}, "",
			api.Timeout(time.Second),
		).Events(t.Context()) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) || !errors.Is(last, api.ErrRateLimited) || attempts != 1 {
			t.Errorf("after %d attempts: %v", attempts, last)
		}
	})
}

// An event that moves to a later page while a walk is left comes once, however
// the walk is taken up.
func TestWalkResumesInsideAPage(t *testing.T) {
	t.Parallel()
	for _, byCursor := range []bool{true, false} {
		one, two := `{"event_id":"a"},{"event_id":"b"}`, `{"event_id":"c"}`
		c := scriptedServer(func(r *http.Request) (int, http.Header, string) {
			switch {
			case isPing(r):
				return http.StatusOK, nil, `{"result":true}`
			case r.URL.Query().Get("cursor") == "2":
				return http.StatusOK, nil, `{"events":[` + two + `],"pagination":{"has_more":false}}`
			}
			return http.StatusOK, nil, `{"events":[` + one + `],"pagination":{"has_more":true,"next_cursor":"2"}}`
		}).client(t)
		q := events.Query{Profile: api.Workspace("1")}
		var got []string
		take := func(w *events.Walk, n int) {
			for e, err := range w.Events(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, string(e.ID)); len(got) == n {
					break
				}
			}
		}
		w := c.Events.Walk(q, "")
		take(w, 1)
		one, two = `{"event_id":"b"},{"event_id":"n"}`, `{"event_id":"c"},{"event_id":"a"}`
		if byCursor {
			w = c.Events.Walk(q, w.Cursor())
		}
		take(w, 4)
		take(c.Events.Walk(q, w.Cursor()), math.MaxInt)
		if diff := cmp.Diff([]string{"a", "b", "n", "c"}, got); diff != "" {
			t.Errorf("by cursor %t (-want +got):\n%s", byCursor, diff)
		}
	}
}

// Events without an id cannot be deduplicated.
func TestEventsWithoutAnIDAreAllDelivered(t *testing.T) {
	t.Parallel()
	c := scriptedServer(func(*http.Request) (int, http.Header, string) {
		return http.StatusOK, nil, `{"events":[{"event":"x"},{"event":"y"},{"event":"z"}],"pagination":{"has_more":false}}`
	}).client(t)
	n := 0
	for range c.Events.Walk(events.Query{Profile: api.Workspace("1")}, "").Events(t.Context()) {
		n++
	}
	if n != 3 {
		t.Errorf("%d events were handed out, want 3", n)
	}
}

// A cursor whose page has no further one must not be repeated.
func TestCursorOfAPageWithoutOneIsNotRepeated(t *testing.T) {
	t.Parallel()
	c := scriptedServer(func(r *http.Request) (int, http.Header, string) {
		next := `"next_cursor":"1",`
		if r.URL.Query().Get("cursor") == "1" {
			next = ""
		}
		return http.StatusOK, nil, `{"events":[{"event_id":"e"}],"pagination":{` + next + `"has_more":true}}`
	}).client(t)
	var last error
	n := 0
	for _, err := range c.Events.All(t.Context(), events.Query{Profile: api.Workspace("1")}) {
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
