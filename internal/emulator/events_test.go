package emulator_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const fileAdded = "workspace_storage_file_added"

// walk follows cursors to the end and returns the ids in order.
func (w *platform) walk(t *testing.T, u world.User, between func(page int), query ...string) []string {
	t.Helper()
	var ids []string
	cursor := ""
	for page := range 10_000 {
		p := w.search(t, u, append([]string{"cursor", cursor}, query...)...)
		if p.Status != http.StatusOK {
			t.Fatalf("page %d: %s", page, p.Body)
		}
		for _, id := range p.column("event_id") {
			ids = append(ids, id.(string))
		}
		if p.get("pagination.has_more") == false {
			return ids
		}
		cursor = p.get("pagination.next_cursor").(string)
		if between != nil {
			between(page)
		}
	}
	t.Fatal("the walk does not end")
	return nil
}

func TestEveryOrderYieldsEachEventOnce(t *testing.T) {
	t.Parallel()
	for order, name := range map[seed.Order]string{
		seed.OldestFirst: "oldest first", seed.NewestFirst: "newest first", seed.Unordered: "unordered",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(seed.Options{
				Events: seed.EventOptions{Order: order}, Seed: 3, Limits: seed.LimitOptions{Rules: []seed.Limit{}},
			})
			w.Generate(world.History{Workspace: w.room.ID, Events: 700, Seed: 1})
			w.Generate(world.History{Workspace: w.attic.ID, Events: 600, Seed: 2}) // interleaves
			all := w.walk(t, w.ada, nil, "org_id", w.org.ID, "limit", "250", "output", "terse")
			seen := map[string]bool{}
			for _, id := range all {
				if seen[id] {
					t.Fatalf("%s twice", id)
				}
				seen[id] = true
			}
			// The same rows whatever the page size, and none lost when the log grows under the walk.
			again := w.walk(t, w.ada, func(page int) {
				earlier := epoch.Add(-time.Duration(page*7919) * time.Second)
				w.AddEvent(world.Event{Name: fileAdded, Workspace: w.room.ID, Created: earlier})
			}, "org_id", w.org.ID, "limit", "90", "output", "terse")
			found := map[string]int{}
			for _, id := range again {
				found[id]++
			}
			for id := range seen {
				if found[id] != 1 {
					t.Fatalf("%s came %d times", id, found[id])
				}
			}
		})
	}
}

// A caller who stops waiting has not stopped the work.
func TestHowToGoesOnWithoutItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOAuth(t, func(o *seed.Options) { o.HowTo.Time = 10 * time.Second })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		q := p.fork()
		q.ctx = ctx
		if err := q.do("eve POST /how-to/ question=merge -> 200"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		p.must(t, "eve POST /how-to/ question=merge -> 429 145858", "wait 9s")
		synctest.Wait()
		p.must(t, "eve POST /how-to/ question=merge -> 200")
	})
}

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
