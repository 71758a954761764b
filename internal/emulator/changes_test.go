package emulator_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

func (w *platform) feed(t *testing.T, u world.User, query ...string) reply {
	t.Helper()
	return w.as(t, u, http.MethodGet, "/org/acme/events/changes/", query...)
}

func cursorOf(p reply) string {
	s, _ := p.get("cursor").(string)
	return s
}

// The feed is sorted by when rows became visible, so a late one is never behind a cursor.
func TestChangesMissNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(seed.Options{Clock: time.Now, Limits: seed.LimitOptions{Rules: []seed.Limit{}}})
		cursor := cursorOf(w.feed(t, w.ada))
		var want, got []any
		for i := range 60 {
			e := world.Event{Name: fileAdded, Workspace: w.room.ID, Created: time.Now()}
			if i%7 == 0 {
				e.VisibleAt = time.Now().Add(time.Duration(i) * time.Second)
			}
			want = append(want, w.AddEvent(e).ID)
			time.Sleep(time.Second)
			p := w.feed(t, w.ada, "cursor", cursor, "limit", "2")
			got = append(got, p.names("changes", "event_id")...)
			cursor = cursorOf(p)
		}
		time.Sleep(time.Hour)
		for more := any(true); more == true; {
			p := w.feed(t, w.ada, "cursor", cursor, "limit", "1000")
			got, cursor, more = append(got, p.names("changes", "event_id")...), cursorOf(p), p.get("has_more")
		}
		seen := map[any]int{}
		for _, id := range got {
			seen[id]++
		}
		for _, id := range want {
			if seen[id] != 1 {
				t.Errorf("%v came %d times", id, seen[id])
			}
		}
		synctest.Wait()
	})
}

func TestChangesOfAHistory(t *testing.T) {
	t.Parallel()
	w := unlimited()
	cursor := cursorOf(w.feed(t, w.ada))
	w.Generate(world.History{Workspace: w.room.ID, Events: 500})
	w.Generate(world.History{Workspace: w.attic.ID, Events: 500})
	seen := map[any]bool{}
	for more := any(true); more == true; {
		p := w.feed(t, w.ada, "cursor", cursor, "limit", "100")
		for _, id := range p.names("changes", "event_id") {
			if seen[id] {
				t.Fatal(fmt.Sprint(id, " twice"))
			}
			seen[id] = true
		}
		cursor, more = cursorOf(p), p.get("has_more")
	}
	storage := w.walk(t, w.ada, nil, "org_id", w.org.ID, "subcategory", "storage", "limit", "250")
	if len(storage) != len(seen) {
		t.Errorf("%d changes, %d storage events", len(seen), len(storage))
	}
}
