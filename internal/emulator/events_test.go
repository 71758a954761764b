package emulator_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const fileAdded = "workspace_storage_file_added"

func TestInvalidateCursors(t *testing.T) {
	t.Parallel()
	w := unlimited()
	for range 3 {
		w.AddEvent(world.Event{Name: fileAdded, Workspace: w.room.ID})
	}
	page := func(cursor string) reply {
		return w.search(t, w.ada, "workspace_id", w.room.ID, "limit", "1", "cursor", cursor)
	}
	old := page("").get("pagination.next_cursor").(string)
	for _, changed := range []string{"_" + old[1:], old[:len(old)-4]} {
		expect(t, page(changed), 406, 10022, "cursor invalid")
	}
	w.InvalidateCursors()
	if got := page(old); got.Status != http.StatusNotAcceptable {
		t.Errorf("an invalidated cursor got %d", got.Status)
	}
	fresh := page("").get("pagination.next_cursor").(string)
	if got := page(fresh); got.Status != http.StatusOK {
		t.Errorf("a fresh cursor got %d: %s", got.Status, got.Body)
	}
}

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
