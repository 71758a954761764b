package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/table"
)

// smallLog is a log of one page. It sends odd events with every page, whatever
// the time that is searched.
type smallLog struct {
	odd []api.OpaqueID

	mu   sync.Mutex
	rows map[api.OpaqueID]time.Time
}

const future = "2099-01-01 00:00:00"

func (l *smallLog) Call(_ context.Context, r *api.Request, out any) error {
	if r.Options.Response != nil {
		r.Options.Response.Header = http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	}
	var rows []string
	for _, id := range l.odd {
		rows = append(rows, fmt.Sprintf(`{"event_id":%q,"created":"%s UTC"}`, id, future))
	}
	l.mu.Lock()
	for id, at := range l.rows {
		created := at.Format(time.DateTime)
		if created >= r.Query.Get("created-min") && created <= r.Query.Get("created-max") {
			rows = append(rows, fmt.Sprintf(`{"event_id":%q,"created":"%s UTC"}`, id, created))
		}
	}
	l.mu.Unlock()
	return json.Unmarshal([]byte(`{"events":[`+strings.Join(rows, ",")+`],"pagination":{"has_more":false}}`), out)
}

// add writes an event.
func (l *smallLog) add() api.OpaqueID {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows == nil {
		l.rows = map[api.OpaqueID]time.Time{}
	}
	id := api.OpaqueID(fmt.Sprint("e", len(l.rows)))
	l.rows[id] = time.Now().UTC()
	return id
}

// An event whose creation is in the future is delivered once, however often the
// server sends it, and those created after it was met are delivered as well. It is
// reported, but does not end a Follow without a handler of gaps.
func TestFollowGoesOnAfterAnEventOfTheFuture(t *testing.T) {
	t.Parallel()
	room := events.Query{Profile: api.Workspace(roomID)}
	for name, handler := range map[string]bool{"with a handler of gaps": true, "without": false} {
		bubble(t, name, func(t *testing.T) {
			l := &smallLog{odd: []api.OpaqueID{"eodd1", "eodd2"}}
			var gaps []events.Gap
			o := &events.FollowOptions{Store: events.FileStore(t.TempDir())}
			if handler {
				o.Gap = into(&gaps)
			}
			var box inbox
			want := append([]api.OpaqueID{}, l.odd...)
			for range 3 { // a restart each
				f := followAs(events.New(l), room, box.handle, o)
				for range 20 {
					want = append(want, l.add())
					time.Sleep(3 * time.Minute)
				}
				time.Sleep(time.Hour)
				f.end(t)
			}
			sameSet(t, want, box.all())
			at, err := time.Parse(time.DateTime, future)
			if err != nil {
				t.Fatal(err)
			}
			reported := []events.Gap{{Reason: events.GapReasonClock, From: at, To: at}}
			if diff := cmp.Diff(reported, gaps); handler && diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

// A checkpoint that says to be of the future, as an older version may have saved
// it, does not silence Follow: it goes on from the latest event it remembers, or
// from its start if it remembers none.
func TestFollowTakesBackAWatermarkOfTheFuture(t *testing.T) {
	t.Parallel()
	room := events.Query{Profile: api.Workspace(roomID)}
	type row struct {
		damage func(checkpoint map[string]any)
		again  bool // all events come again
	}
	table.Bubbles(t, map[string]row{
		"the watermark": {damage: func(c map[string]any) { c["mark"] = "2099-01-01T00:00:00Z" }},
		"the newest":    {damage: func(c map[string]any) { c["newest"] = "2099-01-01T00:00:00Z" }},
		"both": {damage: func(c map[string]any) {
			c["mark"], c["newest"] = "2099-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
		}},
		"both, and it remembers nothing": {again: true, damage: func(c map[string]any) {
			c["mark"], c["newest"] = "2099-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
			c["complete"], c["recent"] = "2098-12-31T23:00:00Z", nil
		}},
	}, func(t *testing.T, tt row) {
		l, store, box := &smallLog{}, new(events.MemoryStore), new(inbox)
		o := &events.FollowOptions{Store: store, Name: "mine", Gap: noGap(t)}
		follow := func() (added []api.OpaqueID) {
			f := followAs(events.New(l), room, box.handle, o)
			for range 20 {
				added = append(added, l.add())
				time.Sleep(20 * time.Second)
			}
			f.end(t)
			return added
		}
		before := follow()
		c, err := store.Load(t.Context(), "mine")
		if err != nil {
			t.Fatal(err)
		}
		var data map[string]any
		if err := json.Unmarshal(c.Data, &data); err != nil {
			t.Fatal(err)
		}
		tt.damage(data)
		if c.Data, err = json.Marshal(data); err != nil {
			t.Fatal(err)
		}
		save(t, store, "mine", c)
		time.Sleep(time.Minute)
		want := append(append([]api.OpaqueID{}, before...), l.add())
		time.Sleep(time.Minute)
		want = append(want, follow()...)
		if tt.again {
			want = append(want, before...)
		}
		sameSet(t, want, box.all())
	})
}

// A page of changes without a cursor is an error, not the end of the feed: the
// next call would begin at the present moment.
func TestChangePagesNeedACursor(t *testing.T) {
	t.Parallel()
	row := `{"changes":[{"event_id":"e1"}],"cursor":"","has_more":true}`
	for _, odd := range []string{`{}`, `{"changes":[]}`, row} {
		s := events.New(callerFunc(func(*api.Request) string { return odd }))
		for p, err := range s.ChangePages(t.Context(), "4000000000000000002", "c1") {
			if err == nil {
				t.Errorf("%s: %+v", odd, p)
			}
		}
	}
}
