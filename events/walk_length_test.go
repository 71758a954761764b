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

// longLog is a log of one event a second. It rejects the cursors of some searches.
type longLog struct {
	start    time.Time
	order    []int // of the events
	rejected func(search int) bool
	wrong    int // index in order of an event with a wrong date
	searches int
}

func newLongLog(n int, order func(all []int)) *longLog {
	l := &longLog{start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), rejected: func(int) bool { return false }, wrong: -1}
	for i := range n {
		l.order = append(l.order, i)
	}
	order(l.order)
	return l
}

func (l *longLog) service() *events.Service {
	return events.New(stub.Caller(func(_ context.Context, r *api.Request, out any) error {
		l.searches++
		if r.Query.Get("cursor") != "" && l.rejected(l.searches) {
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
		if s := time.Duration(l.order[at]) * time.Second; s < from || s > to {
			continue
		}
		if n++; n > 1 {
			b.WriteByte(',')
		}
		created := l.start.Add(time.Duration(l.order[at]) * time.Second).Format(time.DateTime)
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
		l.rejected = func(search int) bool { return search == 30 || search == 120 || search == 121 }
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
	l.rejected = func(search int) bool { return search%100 == 0 }
	if err := stub.Last(l.service().Walk(l.query(), "").Events(t.Context())); !errors.Is(err, api.ErrInvalid) || l.searches > 400 {
		t.Errorf("got %v after %d searches", err, l.searches)
	}
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
