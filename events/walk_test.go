package events_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

// tester is the common interface of *testing.T and *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkOnce requires that got holds every required event, only allowed ones,
// and none twice.
func checkOnce(t tester, what string, must, may, got []api.OpaqueID) {
	t.Helper()
	seen := map[api.OpaqueID]int{}
	for _, id := range got {
		seen[id]++
	}
	for _, id := range must {
		if seen[id] == 0 {
			t.Fatalf("%s: %s is missing", what, id)
		}
	}
	for id, n := range seen {
		if n > 1 {
			t.Fatalf("%s: %s was delivered %d times", what, id, n)
		}
		if !slices.Contains(may, id) {
			t.Fatalf("%s: %s was not written", what, id)
		}
	}
}

// However a walk is interrupted, it yields the events that existed when it began, and
// none created later. It yields none twice in one process, even if the server rejects
// its cursors, nor across processes while the server accepts them. If no event becomes
// visible meanwhile, the order is that of a walk in one range.
func TestWalkProperty(t *testing.T) {
	t.Parallel()
	table.Each(t, orders, func(t *testing.T, order seed.Order) {
		rapid.Check(t, func(t *rapid.T) {
			rapid.SyncTest(t, func(t *rapid.T) { newStroll(t, order).run() })
		})
	})
}

type stroll struct {
	*rapid.T
	*world

	query              events.Query
	walk               *events.Walk
	written            map[api.OpaqueID]seed.Event
	got                []api.OpaqueID
	restarted, refused bool // at least once after the walk had begun
	late               bool // an event becomes visible after it was created
	kinds              []interruption
	faults             int
}

// interruption is an action between two ranges.
type interruption int

const (
	restart interruption = iota // another process resumes from the cursor
	reject                      // the server rejects its cursors
	write                       // an event is created
	fault                       // the next search fails
)

func newStroll(t *rapid.T, order seed.Order) *stroll {
	seeded := func(o *seed.Options) { o.Seed = rapid.Uint64().Draw(t, "seed") }
	s := &stroll{T: t, world: newWorld(ordered(order), seeded), written: map[api.OpaqueID]seed.Event{}}
	s.late = rapid.Bool().Draw(t, "late events")
	s.kinds = rapid.SampledFrom([][]interruption{
		{restart, restart, write, fault},
		{reject, reject, reject, write, fault},
		{restart, reject, write, fault},
	}).Draw(t, "kinds")
	for range rapid.IntRange(0, 40).Draw(t, "events") {
		s.write(rapid.IntRange(0, 20).Draw(t, "age"))
	}
	s.query = s.paged(rapid.IntRange(1, 12).Draw(t, "limit"))
	s.walk = s.log.Walk(s.query, "")
	return s
}

func (s *stroll) write(age int) {
	late := 0
	if s.late {
		late = rapid.SampledFrom([]int{0, 0, 5, 25, 60, 300}).Draw(s.T, "late")
	}
	created := time.Now().Add(-time.Duration(age) * time.Second)
	visible := created.Add(time.Duration(late) * time.Second)
	id := s.add(created, time.Duration(late)*time.Second)
	s.written[id] = seed.Event{Created: created.Truncate(time.Second), VisibleAt: visible}
}

// run walks to the end, with an interruption before every range but the first.
func (s *stroll) run() {
	for range rapid.IntRange(0, 2).Draw(s.T, "interruptions at the start") {
		s.interrupt(false)
	}
	pass, err := stub.All(logOf(s.Server).All(s.Context(), s.query))
	if err != nil {
		s.Fatalf("a walk in one range: %v", err)
	}
	begun := time.Now()
	for !s.stretch(rapid.IntRange(1, 15).Draw(s.T, "leave after")) {
		s.interrupt(true)
	}
	var must, may []api.OpaqueID
	for id, e := range s.written {
		if !e.Created.After(begun) {
			may = append(may, id)
			if !e.VisibleAt.After(begun) {
				must = append(must, id)
			}
		}
	}
	if s.restarted && s.refused {
		slices.Sort(s.got)
		s.got = slices.Compact(s.got)
	}
	checkOnce(s.T, "in the end", must, may, s.got)
	same := func(e *events.Event, id api.OpaqueID) bool { return e.ID == id }
	if !s.late && !s.refused && !slices.EqualFunc(pass, s.got, same) {
		s.Fatalf("the order is %v, in one range %v", s.got, pass)
	}
	s.Heal()
	calls := len(s.Requests())
	rest, err := stub.All(s.walk.Events(s.Context()))
	if len(rest) > 0 || err != nil || len(s.Requests()) > calls {
		s.Fatalf("a finished walk goes on with %d events, %v", len(rest), err)
	}
	s.nextNight(begun)
}

// nextNight continues from the cursor of the finished walk.
func (s *stroll) nextNight(begun time.Time) {
	for range rapid.IntRange(0, 9).Draw(s.T, "later events") {
		time.Sleep(time.Duration(rapid.IntRange(0, 100).Draw(s.T, "seconds")) * time.Second)
		s.write(0)
	}
	time.Sleep(time.Second)
	now, old := time.Now(), slices.Clone(s.got)
	s.got, s.walk = nil, logOf(s.Server).Walk(s.query, s.walk.Cursor())
	for !s.stretch(rapid.IntRange(1, 5).Draw(s.T, "leave after")) {
		s.walk = logOf(s.Server).Walk(s.query, s.walk.Cursor())
	}
	var must, may []api.OpaqueID
	for id, e := range s.written {
		if slices.Contains(old, id) {
			continue
		}
		const tail, slack = 2 * time.Minute, 2 * time.Second
		if e.Created.After(begun.Add(-tail - slack)) {
			may = append(may, id)
		}
		if e.Created.After(begun.Add(-tail+slack)) && !e.VisibleAt.After(now) {
			must = append(must, id)
		}
	}
	checkOnce(s.T, "the next night", must, may, s.got)
}

// stretch reads n more events and reports whether the walk has ended.
func (s *stroll) stretch(n int) (over bool) {
	for e, err := range s.walk.Events(s.Context()) {
		if err != nil {
			if s.faults == 0 || errors.Is(err, api.ErrRateLimited) {
				s.Fatalf("after %d events: %v", len(s.got), err)
			}
			s.faults--
			return false
		}
		s.got = append(s.got, e.ID)
		n--
		if n == 0 {
			return false
		}
	}
	return true
}

func (s *stroll) interrupt(begun bool) {
	switch rapid.SampledFrom(s.kinds).Draw(s.T, "interruption") {
	case restart:
		cursor := s.walk.Cursor()
		time.Sleep(time.Duration(rapid.SampledFrom([]int{0, 1, 10, 600}).Draw(s.T, "pause")) * time.Second)
		s.walk, s.restarted = logOf(s.Server).Walk(s.query, cursor), s.restarted || begun
	case reject:
		s.InvalidateCursors()
		s.refused = s.refused || begun
	case write:
		time.Sleep(time.Second)
		s.write(0)
	case fault:
		if !begun {
			return
		}
		s.faults++
		f := rapid.SampledFrom([]seed.Fault{
			{Status: http.StatusServiceUnavailable},
			{Status: http.StatusInternalServerError},
			{Cut: 40},
			{Reset: seed.BeforeHeader},
			{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"600"}}}, // over MaxWait
			{Truncate: 30},
			{Delay: time.Minute},
		}).Draw(s.T, "fault")
		f.Op, f.Count = search, 1
		s.world.Fail(f)
	}
}

// If the server rejects its cursor after a restart, the events of an earlier process
// are delivered again, but none is missed.
func TestWalkRestartsWhenItsCursorIsRejected(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		all := w.fill(30)
		walk := w.log.Walk(w.paged(5), "")
		first := some(t, walk, 13)
		w.InvalidateCursors()
		second := collect(t, logOf(w.Server).Walk(w.paged(5), walk.Cursor()))
		checkOnce(t, "the second process", nil, all, second)
		checkOnce(t, "both", all, all, slices.Compact(slices.Sorted(slices.Values(slices.Concat(first, second)))))
		// The cursor lists the three delivered events of the current page.
		if len(second) != 30-3 {
			t.Errorf("the second process has %d events", len(second))
		}

		// Also if the next process fails after its restart.
		w.Fail(seed.Fault{Op: search, Skip: 1, Count: 1, Status: http.StatusForbidden})
		failing := logOf(w.Server).Walk(w.paged(5), walk.Cursor())
		if err := stub.Last(failing.Events(t.Context())); !errors.Is(err, api.ErrForbidden) {
			t.Fatal(err)
		}
		if rest := collect(t, logOf(w.Server).Walk(w.paged(5), failing.Cursor())); len(rest) != 30-3 {
			t.Errorf("the process after it has %d events", len(rest))
		}

		sameSet(t, all, slices.Concat(first, collect(t, walk))) // no duplicates in the first process
	})
}

// through sends every request with do.
func through(do func(next http.RoundTripper, r *http.Request) (*http.Response, error)) fastio.Option {
	return fastio.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.Network(func(r *http.Request) (*http.Response, error) { return do(next, r) })
	})
}

func TestWalkRejectsInvalidCursor(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(10)
		walk := w.log.Walk(w.paged(3), "")
		some(t, walk, 4)
		cursor := walk.Cursor()
		text, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			t.Fatal(err)
		}
		rewritten := func(old, with string) string {
			if !strings.Contains(string(text), old) {
				t.Fatalf("no %s in %s", old, text)
			}
			return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), old, with, 1)))
		}
		other := w.paged(3)
		other.Category = events.CategoryAI
		elsewhere := w.paged(3)
		elsewhere.Profile = api.Org(api.ID(w.Org().ID))
		for _, tt := range []struct {
			name, cursor string
			query        events.Query
		}{
			{"of another query", cursor, other},
			{"in the query", "", with(w.query(), func(q *query) { q.Cursor = "c" })},
			{"of another profile", cursor, elsewhere},
			{"cut short", cursor[:len(cursor)-5], w.paged(3)},
			{"of the server's", "o+p/a=", w.paged(3)},
			{"of a version to come", rewritten(`"v":2`, `"v":3`), w.paged(3)},
			{"that is no object", base64.RawURLEncoding.EncodeToString([]byte(`7`)), w.paged(3)},
		} {
			calls := len(w.Requests())
			got, err := stub.All(w.log.Walk(tt.query, tt.cursor).Events(t.Context()))
			if refusedField(err) != "cursor" || len(got) > 0 || len(w.Requests()) != calls {
				t.Errorf("a cursor %s: %d calls, %d events, %v", tt.name, len(w.Requests())-calls, len(got), err)
			}
		}
	})
}

// The events that a cursor excludes were delivered before Cursor was called.
func TestWalkCursorFromAnotherGoroutine(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		all := w.fill(60)
		walk := w.log.Walk(w.paged(4), "")
		type taken struct {
			cursor string
			before []api.OpaqueID // delivered by then
		}
		var mu sync.Mutex
		var got []api.OpaqueID
		var cursors []taken
		ctx, stop := context.WithCancel(t.Context())
		var watcher sync.WaitGroup
		watcher.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				before := slices.Clone(got)
				mu.Unlock()
				cursors = append(cursors, taken{walk.Cursor(), before})
				time.Sleep(700 * time.Millisecond)
			}
		})
		for e, err := range walk.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			got = append(got, e.ID)
			mu.Unlock()
			if len(got)%20 == 0 {
				w.InvalidateCursors()
			}
			time.Sleep(100 * time.Millisecond)
		}
		stop()
		watcher.Wait()
		sameSet(t, all, got)
		for _, c := range cursors[len(cursors)-min(20, len(cursors)):] {
			rest := collect(t, logOf(w.Server).Walk(w.paged(4), c.cursor))
			for _, id := range all { // the event delivered meanwhile may be on either side
				if !slices.Contains(rest, id) && slices.Index(got, id) > len(c.before) {
					t.Errorf("%s was not delivered when the cursor was taken, and is not behind it", id)
				}
			}
		}
	})
}

// A pass covers events created before it began, by the server's clock.
func TestWalkEndsAtTheServerTimeOfItsStart(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, orders, func(t *testing.T, order seed.Order) {
		for _, off := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} {
			clock := func() time.Time { return time.Now().Add(off) }
			w := newWorld(ordered(order), func(o *seed.Options) { o.Clock = clock })
			begun := clock().UTC()
			write := func(created time.Time) api.OpaqueID {
				return api.OpaqueID(w.AddEvent(seed.Event{Name: fileAdded, Workspace: w.room.ID, Created: created}).ID)
			}
			want := []api.OpaqueID{write(begun.Add(-time.Hour)), write(begun)}
			write(begun.Add(time.Second))
			sameSet(t, want, collect(t, w.log.Walk(w.paged(1), "")))
			for _, r := range w.Requests() {
				query, err := url.ParseQuery(r.Query)
				if err != nil {
					t.Fatal(err)
				}
				got, want := query.Get("created-max"), begun.Format(time.DateTime)
				if r.Op == search && got != want {
					t.Errorf("with a server's clock off by %v, the end was %s, want %s", off, got, want)
				}
			}
			time.Sleep(time.Second)
		}
	})
}

// A CreatedMin of now is later than the server's clock, which counts whole seconds.
func TestWalkFromNowOn(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		time.Sleep(700 * time.Millisecond)
		w.fill(3)
		q := w.query()
		for _, start := range []time.Time{time.Now(), time.Now().Add(time.Hour)} {
			q.CreatedMin = start
			for e, err := range w.log.Walk(q, "").Events(t.Context()) {
				if err != nil || e.Created.Before(start.Truncate(time.Second)) {
					t.Errorf("from %v on: %v, %v", start, e, err)
				}
			}
		}
	})
}

// Without a Date header the local clock is used.
func TestWalkWithoutAServerClock(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		want := w.fill(5)
		w.add(time.Now().Add(time.Second), -time.Hour)
		silent := through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			p, err := next.RoundTrip(r)
			if err == nil {
				p.Header.Del("Date")
			}
			return p, err
		})
		sameSet(t, want, collect(t, logOf(w.Server, silent).Walk(w.query(), "")))
		w.Fail(seed.Fault{Op: "system.Ping", Status: http.StatusNotFound})
		time.Sleep(2 * time.Second)
		before := w.query()
		before.CreatedMax = time.Now().Add(-2 * time.Second)
		sameSet(t, want, collect(t, w.log.Walk(before, "")))
		if got := collect(t, w.log.Walk(w.query(), "")); len(got) != 6 {
			t.Errorf("with a ping that is refused, %d events", len(got))
		}
	})
}

func TestWalkRemembersIDsAsHashes(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(1000)
		walk := w.log.Walk(w.query(), "")
		collect(t, walk)
		if n := len(walk.Cursor()); n > 300 {
			t.Errorf("the cursor of a finished walk has %d bytes", n)
		}
	})
}

func FuzzWalkCursor(f *testing.F) {
	var cursors []string
	walk := events.New(callerFunc(func(*api.Request) string {
		return `{"events":[{"event_id":"a"},{"event_id":"b"}],"pagination":{"has_more":true,"next_cursor":"c"}}`
	}), nil).Walk(events.Query{Profile: api.Workspace(roomID), CreatedMax: noon}, "")
	for range walk.Events(f.Context()) {
		cursors = append(cursors, walk.Cursor())
		if len(cursors) == 3 {
			break
		}
	}
	for _, c := range cursors {
		f.Add(c)
		text, err := base64.RawURLEncoding.DecodeString(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(`{"v":2,"max":"9999-12-31T23:59:59+23:59"}`)
	f.Fuzz(func(t *testing.T, cursor string) {
		for _, c := range []string{cursor, base64.RawURLEncoding.EncodeToString([]byte(cursor))} {
			s := events.New(callerFunc(func(*api.Request) string {
				return `{"events":[{"event_id":"a"}],"pagination":{"has_more":false}}`
			}), nil)
			walk := s.Walk(events.Query{Profile: api.Workspace(roomID), CreatedMax: noon}, c)
			turns := 0
			for _, err := range walk.Events(t.Context()) {
				turns++
				if err != nil && !errors.Is(err, api.ErrInvalid) || turns > 1 {
					t.Errorf("%d: %v", turns, err)
				}
			}
			again := s.Walk(events.Query{Profile: api.Workspace(roomID), CreatedMax: noon}, walk.Cursor())
			for e, err := range again.Events(t.Context()) {
				if turns > 0 && err == nil {
					t.Errorf("%v was delivered again", e)
				}
			}
		}
	})
}

func TestWithResponseHoldsTheCurrentPage(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.fill(4)
		var raw api.Response
		pages := 0
		for e, err := range w.log.All(t.Context(), w.paged(1), api.WithResponse(&raw)) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // until the next page is fetched
			pages++
			if !strings.Contains(string(raw.Body), string(e.ID)) {
				t.Errorf("at %s the response is %s", e.ID, raw.Body)
			}
		}
		if pages != 4 {
			t.Errorf("%d pages", pages)
		}
	})
}

func TestWalkWithATimeout(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, w *world) {
		w.Fail(seed.Fault{Op: search, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3"}}})
		last := stub.Last(w.log.Walk(w.query(), "", api.WithTimeout(time.Second)).Events(t.Context()))
		n := w.count(search)
		if !errors.Is(last, context.DeadlineExceeded) || !errors.Is(last, api.ErrRateLimited) || n != 1 {
			t.Errorf("after %d attempts: %v", n, last)
		}
	})
}

// An event that moves to a later page while a walk is interrupted is delivered once,
// however the walk resumes.
func TestWalkResumesInsideAPage(t *testing.T) {
	t.Parallel()
	for _, byCursor := range []bool{true, false} {
		one, two := `{"event_id":"a"},{"event_id":"b"}`, `{"event_id":"c"}`
		s := events.New(callerFunc(func(r *api.Request) string {
			if r.Query.Get("cursor") == "2" {
				return `{"events":[` + two + `],"pagination":{"has_more":false}}`
			}
			return `{"events":[` + one + `],"pagination":{"has_more":true,"next_cursor":"2"}}`
		}), nil)
		q := events.Query{Profile: api.Workspace(roomID)}
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
	if got := collect(t, events.New(c, nil).Walk(events.Query{Profile: api.Workspace(roomID)}, "")); len(got) != 3 {
		t.Errorf("%d events were delivered, want 3", len(got))
	}
}

func TestCursorOfAPageWithoutOneIsNotRepeated(t *testing.T) {
	t.Parallel()
	c := callerFunc(func(r *api.Request) string {
		next := `"next_cursor":"1",`
		if r.Query.Get("cursor") == "1" {
			next = ""
		}
		return `{"events":[{"event_id":"e"}],"pagination":{` + next + `"has_more":true}}`
	})
	got, err := stub.All(events.New(c, nil).All(t.Context(), events.Query{Profile: api.Workspace(roomID)}))
	if err == nil || len(got) != 1 {
		t.Errorf("%d rows, then %v", len(got), err)
	}
}

func TestGapAsJSON(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC)
	gap := events.Gap{Reason: events.GapReasonLate, From: from, To: from.Add(time.Hour), Value: "files"}
	got, err := json.Marshal(gap)
	want := `{"reason":"late","from":"2026-03-02T09:30:00Z","to":"2026-03-02T10:30:00Z","value":"files"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// The Date of a response that is wrong once, ahead or behind, makes no later pass skip an
// event or fail.
func TestWrongDateDoesNotSpoilACursor(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{time.Hour, -5 * time.Minute} {
		alone(t, func(t *testing.T, w *world) {
			all := w.fill(10)
			pass := func(cursor string, opts ...fastio.Option) *events.Walk {
				return logOf(w.Server, opts...).Walk(w.paged(2), cursor)
			}
			pings := 0
			wrong := through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				p, err := next.RoundTrip(r)
				pings++
				if err == nil && pings == 1 {
					p.Header.Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
				}
				return p, err
			})
			walk := pass("")
			if off > 0 {
				walk = pass("", wrong)
			}
			got := collect(t, walk)
			time.Sleep(10 * time.Minute)
			if off < 0 {
				walk = pass(walk.Cursor(), wrong)
				got = append(got, collect(t, walk)...)
			}
			all = append(all, w.fill(3)...)
			time.Sleep(24 * time.Hour)
			got = append(got, collect(t, pass(walk.Cursor()))...)
			sameSet(t, all, got)
		})
	}
}

// While the Dates of the server are ahead, a pass seems to end in the future. The next one
// begins at the newest event in spite of that, and no event is missed.
func TestWalkContinuesAfterWrongDates(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 10} { // events
		alone(t, func(t *testing.T, w *world) {
			all := w.fill(before)
			wrong := through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				p, err := next.RoundTrip(r)
				if err == nil {
					p.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
				}
				return p, err
			})
			walk := logOf(w.Server, wrong).Walk(w.query(), "")
			got := collect(t, walk)
			for range 3 {
				time.Sleep(10 * time.Minute)
				all = append(all, w.fill(3)...)
				walk = logOf(w.Server).Walk(w.query(), walk.Cursor())
				got = append(got, collect(t, walk)...)
			}
			if again := len(got) - len(all); again > before {
				t.Errorf("%d events are delivered again", again)
			}
			slices.Sort(got)
			sameSet(t, all, slices.Compact(got))
		})
	}
}
