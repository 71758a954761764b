package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

// longLog is a log of one event a second, unless second says otherwise. It rejects some
// searches with a cursor.
type longLog struct {
	start    time.Time
	order    []int // of the events
	second   func(event int) int
	rejected func(search int, cursor string) bool
	wrong    int // index in order of an event with a wrong date
	searches int
}

func newLongLog(n int, order func(all []int)) *longLog {
	l := &longLog{start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), wrong: -1}
	l.rejected = func(int, string) bool { return false }
	l.second = func(event int) int { return event }
	for i := range n {
		l.order = append(l.order, i)
	}
	order(l.order)
	return l
}

func (l *longLog) service() *events.Service {
	return events.New(stub.Caller(func(_ context.Context, r *api.Request, out any) error {
		l.searches++
		if c := r.Query.Get("cursor"); c != "" && l.rejected(l.searches, c) {
			return &api.Error{Status: http.StatusNotAcceptable, Code: 1605}
		}
		return json.Unmarshal([]byte(l.page(r)), out)
	}), nil)
}

// query covers the log.
func (l *longLog) query() events.Query {
	end := l.start.Add(time.Duration(len(l.order)) * time.Second)
	return events.Query{Profile: api.Workspace("1234567890123456789"), CreatedMax: end}
}

// page returns the response to a search; the cursor is the number of events before it.
func (l *longLog) page(r *api.Request) string {
	bound := func(name string) time.Duration {
		at, err := time.Parse(time.DateTime, r.Query.Get(name))
		if err != nil {
			return 0
		}
		return at.Sub(l.start)
	}
	from, to := bound("created-min"), bound("created-max")
	at, _ := strconv.Atoi(r.Query.Get("cursor"))
	var b strings.Builder
	b.WriteString(`{"events":[`)
	for n := 0; n < 250 && at < len(l.order); at++ {
		if s := time.Duration(l.second(l.order[at])) * time.Second; s < from || s > to {
			continue
		}
		if n++; n > 1 {
			b.WriteByte(',')
		}
		created := l.start.Add(time.Duration(l.second(l.order[at])) * time.Second).Format(time.DateTime)
		if at == l.wrong {
			created = "2000-01-01 00:00:00"
		}
		fmt.Fprintf(&b, `{"event_id":"e%d","created":%q}`, l.order[at], created)
	}
	fmt.Fprintf(&b, `],"pagination":{"has_more":%t,"next_cursor":"%d"}}`, at < len(l.order), at)
	return b.String()
}

func oldestFirst([]int)     {}
func newestFirst(all []int) { slices.Reverse(all) }
func shuffledLog(all []int) {
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
}

// A walk over a log of any length remembers a limited number of events. After a
// rejected cursor it misses none, and in a sorted log it delivers each once.
func TestWalkOverALongLog(t *testing.T) {
	t.Parallel()
	const n = 60_000
	type row struct {
		order func([]int)
		again int // events delivered again, at most
		wrong int // index of an event with a wrong date; -1 means none
	}
	const last = (119-30)*250 - 1 // before the second rejected cursor
	table.Each(t, map[string]row{
		"oldest first": {oldestFirst, 0, -1}, "newest first": {newestFirst, 0, -1}, "in no order": {shuffledLog, n, -1},
		"with a wrong date": {newestFirst, n, last},
	}, func(t *testing.T, test row) {
		l := newLongLog(n, test.order)
		l.wrong = test.wrong
		l.rejected = func(search int, _ string) bool { return search == 30 || search == 120 || search == 121 }
		times, total := make([]int8, n), 0
		for e, err := range l.service().Walk(l.query(), "").Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			i, _ := strconv.Atoi(string(e.ID[1:]))
			times[i]++
			total++
		}
		if i := slices.Index(times, 0); i >= 0 {
			t.Errorf("event %d was missed", i)
		}
		if total-n > test.again {
			t.Errorf("%d events were delivered again", total-n)
		}
	})
}

func TestLongWalkEndsIfCursorsAreRejectedAgainAndAgain(t *testing.T) {
	t.Parallel()
	l := newLongLog(60_000, shuffledLog)
	l.rejected = func(search int, _ string) bool { return search%100 == 0 }
	if err := stub.Last(l.service().Walk(l.query(), "").Events(t.Context())); !errors.Is(err, api.ErrInvalid) ||
		l.searches > 400 {
		t.Errorf("got %v after %d searches", err, l.searches)
	}
}

// Of more events than a walk remembers within two minutes, in a log of any order, none is
// missed, and a cursor that is always rejected ends the walk.
func TestWalkOverManyEventsOfTheSameTime(t *testing.T) {
	t.Parallel()
	const n, burst = 20_000, 15_000
	type row struct {
		order    func([]int)
		second   func(event int) int
		rejected func(search int, cursor string) bool
		ends     bool
	}
	once := func(search int, _ string) bool { return search == 50 }
	always := func(_ int, cursor string) bool { return cursor == "14250" }
	table.Each(t, map[string]row{
		"at the end of a log, newest first": {newestFirst, func(i int) int {
			return max(i-(n-burst), 0)/150 + min(i, n-burst)
		}, once, false},
		"and a cursor that is never accepted": {oldestFirst, func(int) int { return 5 }, always, true},
		"after others in order":               {oldestFirst, func(i int) int { return min(i, 3000) }, always, false},
	}, func(t *testing.T, test row) {
		l := newLongLog(n, test.order)
		l.second, l.rejected = test.second, test.rejected
		seen, total := map[api.OpaqueID]bool{}, 0
		var last error
		for e, err := range l.service().Walk(l.query(), "").Events(t.Context()) {
			if last = err; err == nil {
				seen[e.ID] = true
				total++
			}
			if total > 5*n {
				t.Fatalf("%d events were delivered", total)
			}
		}
		if test.ends != errors.Is(last, api.ErrInvalid) || last == nil && len(seen) != n {
			t.Errorf("%d of %d events, %v", len(seen), n, last)
		}
	})
}

// The memory of a walk does not grow with the log.
func TestMemoryOfALongWalk(t *testing.T) { //nolint:paralleltest // it measures the heap
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	n := table.Rounds(200_000, 944_724)
	l := newLongLog(n, newestFirst)
	s := l.service()
	before, most, got := live(), int64(0), 0
	for _, err := range s.Walk(l.query(), "").Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got++; got%10_000 == 0 {
			most = max(most, live()-before)
		}
	}
	t.Logf("%d events, %d KiB", got, most>>10)
	if got != n || most > 2<<20 {
		t.Errorf("%d of %d events, %d KiB", got, n, most>>10)
	}
}
