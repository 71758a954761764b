package events_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
)

// longLog is a log that lists its events in a fixed order, and refuses some cursors.
type longLog struct {
	start     time.Time
	events    []logged
	exclusive bool                         // the bounds of a search do not include themselves
	refused   func(search, depth int) bool // depth is the page of its search, from 2 on
	cycle     int                          // the page that is followed by the first one; 0 means none
	numbered  bool                         // a cursor is the number of its page, so that all searches have the same ones

	searches int
	sent     int // events of the current search, until its end or a refusal
	lost     int // the most events of a search that was refused
}

type logged struct {
	id     int
	second int // of the creation, after start
	seen   int // second in which it becomes visible
}

// newLongLog returns a log of n events, of which every second has rate.
func newLongLog(n, rate int, order func(all []logged)) *longLog {
	l := &longLog{start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	l.refused = func(int, int) bool { return false }
	for i := range n {
		l.events = append(l.events, logged{i, i / rate, i / rate})
	}
	order(l.events)
	return l
}

func (l *longLog) service() *events.Service {
	return events.New(stub.Caller(func(_ context.Context, r *api.Request, out any) error {
		if r.Op != search {
			return jsonv2.Unmarshal([]byte("{}"), out)
		}
		l.searches++
		index, page := 0, 1
		if c := r.Query.Get("cursor"); c == "" {
			l.sent = 0
		} else if _, err := fmt.Sscanf(c, "%d.%d", &index, &page); err != nil {
			return err
		} else if l.refused(l.searches, page) {
			l.lost = max(l.lost, l.sent)
			return &api.Error{Status: http.StatusNotAcceptable, Code: 190000}
		}
		return jsonv2.Unmarshal([]byte(l.page(r, index, page)), out)
	}), nil)
}

// query covers the log.
func (l *longLog) query() events.Query {
	last := slices.MaxFunc(l.events, func(a, b logged) int { return a.second - b.second })
	end := l.start.Add(time.Duration(last.second+1) * time.Second)
	return events.Query{Profile: api.Workspace("1234567890123456789"), CreatedMax: end}
}

// page returns the response to a search, from the event at an index on.
func (l *longLog) page(r *api.Request, index, page int) string {
	now := int(time.Since(l.start) / time.Second)
	bound := func(name string, unset int) int {
		at, err := time.Parse(time.DateTime, r.Query.Get(name))
		if err != nil {
			return unset
		}
		return int(at.Sub(l.start) / time.Second)
	}
	from, to := bound("created-min", math.MinInt), bound("created-max", math.MaxInt)
	if l.exclusive {
		from, to = from+1, to-1
	}
	var b strings.Builder
	b.WriteString(`{"events":[`)
	n, more, skipped := 0, false, 0
	if l.numbered {
		index, skipped = 0, 250*(page-1)
	}
	for ; index < len(l.events); index++ {
		e := l.events[index]
		if e.second < from || e.second > to || e.seen > now {
			continue
		}
		if skipped > 0 {
			skipped--
			continue
		}
		more = n == 250
		if more {
			break
		}
		n++
		if n > 1 {
			b.WriteByte(',')
		}
		created := l.start.Add(time.Duration(e.second) * time.Second).Format(time.DateTime)
		fmt.Fprintf(&b, `{"event_id":"e%d","created":%q}`, e.id, created)
	}
	l.sent += n
	if page == l.cycle {
		index, page = 0, 0
	}
	if l.numbered {
		index = 0
	}
	fmt.Fprintf(&b, `],"pagination":{"has_more":%t,"next_cursor":"%d.%d"}}`, more, index, page+1)
	return b.String()
}

var logOrders = map[string]func(all []logged){
	"oldest first": func([]logged) {},
	"newest first": slices.Reverse[[]logged],
	"in no order": func(all []logged) {
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	},
	"one shard after the other": func(all []logged) {
		slices.SortStableFunc(all, func(a, b logged) int { return a.id%2 - b.id%2 })
	},
	"the second half first": func(all []logged) {
		slices.SortStableFunc(all, func(a, b logged) int { return 2*b.id/len(all) - 2*a.id/len(all) })
	},
	"as inserted, some late": func(all []logged) {
		const late = 600
		inserted := func(e logged) int {
			if e.id%97 == 0 {
				return e.second + late
			}
			return e.second
		}
		slices.SortStableFunc(all, func(a, b logged) int { return inserted(a) - inserted(b) })
	},
}

// refusals are the cursors that a log refuses.
var refusals = map[string]func(search, depth int) bool{
	"the first":       func(search, _ int) bool { return search == 2 },
	"one":             func(search, _ int) bool { return search == 4 },
	"three in a row":  func(search, _ int) bool { return search >= 30 && search < 33 },
	"one in ten":      func(search, _ int) bool { return search*search%97 < 10 },
	"those after 40":  func(_, depth int) bool { return depth > 40 },
	"those after one": func(int, int) bool { return true },
}

// Whatever the order of a log, its length and the cursors that the server refuses, a walk
// ends and misses no event. It delivers again no more than the events of one search whose
// cursor was refused.
func TestWalkMissesNothingAfterRefusedCursors(t *testing.T) {
	t.Parallel()
	table.Large(t)
	sizes := []int{1_000, table.Rounds(15_000, 50_000)}
	for name, order := range logOrders {
		for _, n := range sizes {
			for what, refused := range refusals {
				for _, exclusive := range []bool{false, true} {
					name := fmt.Sprintf("%d events %s/%s refused/exclusive %t", n, name, what, exclusive)
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							l := newLongLog(n, 7, order)
							l.refused, l.exclusive = refused, exclusive
							time.Sleep(time.Until(l.query().CreatedMax) + time.Hour)
							l.walkAll(t)
						})
					})
				}
			}
		}
	}
}

// walkAll walks over the log and checks that no event is missing.
func (l *longLog) walkAll(t *testing.T) {
	t.Helper()
	times, total := make([]int8, len(l.events)), 0
	for e, err := range l.service().Walk(l.query(), "").Events(t.Context()) {
		if err != nil {
			t.Fatalf("after %d searches: %v", l.searches, err)
		}
		i, _ := strconv.Atoi(string(e.ID[1:]))
		times[i]++
		total++
	}
	if i := slices.Index(times, 0); i >= 0 {
		t.Errorf("event %d was missed", i)
	}
	const bounds = 20 // events of the seconds in which two slices overlap
	if again := total - len(times); again > l.lost+bounds {
		t.Errorf("%d events were delivered again; the longest refused search had %d", again, l.lost)
	}
	if most := 100 + len(times)/20; l.searches > most {
		t.Errorf("%d searches, want at most %d", l.searches, most)
	}
}

// Cursors that are refused for the events of one second end a walk with an error, and the
// walk can be continued when they are accepted.
func TestWalkEndsIfTheEventsOfASecondCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLongLog(3_000, 600, logOrders["newest first"])
		time.Sleep(time.Until(l.query().CreatedMax) + time.Hour)
		l.refused = func(int, int) bool { return true }
		w := l.service().Walk(l.query(), "")
		got, err := stub.All(w.Events(t.Context()))
		if !errors.Is(err, api.ErrInvalid) || l.searches > 50 {
			t.Errorf("got %v after %d searches", err, l.searches)
		}
		l.refused = func(int, int) bool { return false }
		rest, err := stub.All(w.Events(t.Context()))
		if err != nil || len(got)+len(rest) != len(l.events) {
			t.Errorf("%d and %d of %d events, %v", len(got), len(rest), len(l.events), err)
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
	l := newLongLog(n, 1, logOrders["newest first"])
	s := l.service()
	before, most, got := live(), int64(0), 0
	for _, err := range s.Walk(l.query(), "").Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got++
		if got%10_000 == 0 {
			most = max(most, live()-before)
		}
	}
	t.Logf("%d events, %d KiB", got, most>>10)
	if got != n || most > 2<<20 {
		t.Errorf("%d of %d events, %d KiB", got, n, most>>10)
	}
}

// A slice of one second is tried some times, however many larger slices were refused before.
func TestWalkTriesASecondAfterManyRefusals(t *testing.T) {
	t.Parallel()
	for name, order := range logOrders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLongLog(6000, 600, order)
				l.refused = func(search, depth int) bool { return search <= 10 && depth == 2 }
				time.Sleep(time.Until(l.start.Add(time.Hour)))
				found := map[api.OpaqueID]bool{}
				for e, err := range l.service().Walk(l.query(), "").Events(t.Context()) {
					if err != nil {
						t.Fatalf("after %d searches: %v", l.searches, err)
					}
					found[e.ID] = true
				}
				if len(found) != len(l.events) {
					t.Errorf("%d of %d events", len(found), len(l.events))
				}
			})
		})
	}
}
