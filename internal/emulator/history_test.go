package emulator_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

func TestHistoryIsRepeatable(t *testing.T) {
	t.Parallel()
	read := func(from uint64) string {
		w := newWorld(seed.Options{Seed: 9})
		w.Generate(world.History{Workspace: w.attic.ID, Events: 200, Seed: from})
		return w.search(t, w.ada, "workspace_id", w.attic.ID, "limit", "250").Body
	}
	if diff := cmp.Diff(read(1), read(1)); diff != "" {
		t.Errorf("the same seed twice:\n%s", diff)
	}
	if read(1) == read(2) {
		t.Error("two seeds, one past")
	}
}

func TestHistoryIsBelievable(t *testing.T) {
	t.Parallel()
	w := unlimited()
	from, to := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)
	w.Generate(world.History{Workspace: w.attic.ID, Events: 5000, From: from, To: to})
	var last string
	actors, categories, agents, night, weekend, total := map[any]int{}, map[any]int{}, 0, 0, 0, 0
	cursor := ""
	for {
		p := w.search(t, w.ada, "org_id", w.org.ID, "limit", "250", "cursor", cursor)
		for _, e := range p.events() {
			total++
			created := e["created"].(string)
			at, err := time.Parse("2006-01-02 15:04:05 UTC", created)
			if err != nil || at.Before(from) || at.After(to) || created < last {
				t.Fatalf("%s after %s", created, last)
			}
			last = created
			text := e["description"].(string)
			if text == "" || strings.Contains(text, "{{") || strings.HasSuffix(text, " ") {
				t.Fatalf("%s reads %q", e["event"], text)
			}
			categories[e["category"]]++
			actors[e["calling_user"]]++
			if e["actor"].(map[string]any)["kind"] == "agent" {
				agents++
			}
			if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
				weekend++
			}
			if at.Hour() < 5 {
				night++
			}
		}
		if p.get("pagination.has_more") == false {
			break
		}
		cursor = p.get("pagination.next_cursor").(string)
	}
	if total < 4600 || total > 5000 { // internal events stay hidden
		t.Errorf("%d events", total)
	}
	for _, category := range []string{"workspace", "ai", "metadata", "user", "org", "invitation"} {
		if categories[category] == 0 {
			t.Errorf("no %s events: %v", category, categories)
		}
	}
	if len(actors) < 6 || agents == 0 || agents > total/2 || weekend > total/10 || night > total/5 {
		t.Errorf("%d actors, %d by agents, %d at weekends, %d at night of %d",
			len(actors), agents, weekend, night, total)
	}
}

func TestHistoryUsesTheMembers(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.Generate(world.History{Workspace: w.room.ID, Events: 100})
	for _, e := range w.search(t, w.ada, "workspace_id", w.room.ID).events() {
		if who := e["calling_user"]; who != nil && who != w.ben.ID && who != w.cleo.ID {
			t.Errorf("%v is no member", who)
		}
	}
	w.Generate(world.History{Workspace: "nowhere", Events: 100})
	w.Generate(world.History{Workspace: w.room.ID})
}

// A history goes on with the files of the one before it.
func TestHistoriesFollowEachOther(t *testing.T) {
	t.Parallel()
	w := unlimited()
	objects := func(from string) map[any]bool {
		seen := map[any]bool{}
		found := w.search(t, w.ada,
			"workspace_id", w.attic.ID, "subcategory", "comments", "limit", "250", "created-min", from)
		for _, e := range found.events() {
			if e["object_id"] == nil {
				t.Errorf("a comment on nothing: %v", e["description"])
			}
			seen[e["object_id"]] = true
		}
		return seen
	}
	w.Generate(world.History{Workspace: w.attic.ID, Events: 200, To: epoch.Add(-24 * time.Hour)})
	before := objects("")
	w.Generate(world.History{Workspace: w.attic.ID, Events: 40, From: epoch.Add(-23 * time.Hour)})
	shared := 0
	for id := range objects("2026-03-01 11:00:00") {
		if before[id] {
			shared++
		}
	}
	if shared == 0 {
		t.Error("no event is about yesterday's files")
	}
}

func TestFutureHistoryArrivesInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(seed.Options{Clock: time.Now, Limits: seed.LimitOptions{Rules: []seed.Limit{}}})
		begin := time.Now()
		w.Generate(world.History{Workspace: w.room.ID, Events: 100, From: begin, To: begin.Add(time.Hour)})
		seen := 0
		for range 4 {
			time.Sleep(15 * time.Minute)
			for _, e := range w.search(t, w.ada, "workspace_id", w.room.ID).column("created") {
				if at, _ := time.Parse("2006-01-02 15:04:05 UTC", e.(string)); at.After(time.Now()) {
					t.Errorf("%s shows at %s", at, time.Now())
				}
				seen++
			}
		}
		if seen < 110 || seen > 290 { // about 25, 50, 75 and 100
			t.Errorf("%d rows in four searches", seen)
		}
	})
}

// A long log is made quickly, stays small, and is paged without reading it all.
func TestLongHistory(t *testing.T) { //nolint:paralleltest // it measures the heap
	if testing.Short() {
		t.Skip("long history under -short")
	}
	const events = 200_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := unlimited()
	begin := time.Now()
	w.Generate(world.History{Workspace: w.room.ID, Events: events})
	made := time.Since(begin)
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / events
	begin = time.Now()
	middle := epoch.Add(-45 * 24 * time.Hour).Format(time.DateTime)
	query := []string{"workspace_id", w.room.ID, "created-min", middle, "limit", "250", "output", "terse", "cursor"}
	cursor := ""
	for range 51 {
		p := w.search(t, w.ada, append(query, cursor)...)
		cursor = p.get("pagination.next_cursor").(string)
	}
	t.Logf("%d events in %v, %d bytes each; 51 pages in %v", events, made, each, time.Since(begin))
	// Generous guards: they catch another order of magnitude, not a busy machine.
	if made > 20*time.Second || each > 400 {
		t.Errorf("%d events in %v, %d bytes each", events, made, each)
	}
}

func BenchmarkSearch(b *testing.B) {
	w := unlimited()
	w.Generate(world.History{Workspace: w.room.ID, Events: 100_000})
	r := request(b.Context(), w, http.MethodGet, "/events/search/?limit=250&workspace_id="+w.room.ID)
	for b.Loop() {
		p, err := w.RoundTrip(r)
		if err != nil {
			b.Fatal(err)
		}
		p.Body.Close()
	}
}

func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		w := unlimited()
		w.Generate(world.History{Workspace: w.room.ID, Events: 100_000})
	}
}
