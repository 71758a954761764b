package emulator_test

import (
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

func TestHistoryIsRepeatable(t *testing.T) {
	t.Parallel()
	read := func(from int) (body string) {
		synctest.Test(t, func(t *testing.T) {
			p := newScript(t, "", func(o *seed.Options) { o.Seed = 9 })
			p.must(t, fmt.Sprintf(`history {"workspace_id":"{attic}","events":200,"seed":%d}`, from))
			body = string(p.reply(t, "ada GET /events/search/?workspace_id={attic}&limit=250").body)
		})
		return body
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
	p := newScript(t, "")
	from, to := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)
	p.must(t, `history {"workspace_id":"{attic}","events":5000,"from":"2026-01-05T00:00:00Z","to":"2026-02-02T00:00:00Z"}`)
	var last string
	actors, categories, agents, night, weekend, total := map[any]int{}, map[any]int{}, 0, 0, 0, 0
	for cursor, more := "", true; more; {
		found := p.search(t, "org_id={acme}&cursor="+cursor)
		for _, e := range found.Events {
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
		cursor, more = url.QueryEscape(found.Pagination.NextCursor), found.Pagination.HasMore
	}
	if total < 5000 || total > 5400 { // those of the organization are more
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
	p := newScript(t, "")
	p.must(t, `history {"workspace_id":"{room}","events":100}`)
	for _, e := range p.search(t, "workspace_id={room}").Events {
		if who := e["calling_user"]; !slices.Contains([]any{nil, p.id("ben"), p.id("cleo")}, who) {
			t.Errorf("%v is no member", who)
		}
	}
	p.must(t, `history {"workspace_id":"nowhere","events":100}`, `history {"workspace_id":"{room}"}`)
}

// A history goes on with the files of the one before it.
func TestHistoriesFollowEachOther(t *testing.T) {
	t.Parallel()
	p := newScript(t, "")
	objects := func(from string) map[any]bool {
		seen := map[any]bool{}
		for _, e := range p.search(t, "workspace_id={attic}&subcategory=comments&created-min="+from).Events {
			if e["object_id"] == nil {
				t.Errorf("a comment on nothing: %v", e["description"])
			}
			seen[e["object_id"]] = true
		}
		return seen
	}
	p.must(t, `history {"workspace_id":"{attic}","events":200,"to":"2026-05-31T12:00:00Z"}`)
	before := objects("")
	p.must(t, `history {"workspace_id":"{attic}","events":40,"from":"2026-05-31T13:00:00Z"}`)
	shared := 0
	for id := range objects("2026-05-31+13:00:00") {
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
		p := newScript(t, "")
		p.must(t, `history {"workspace_id":"{room}","events":100,"from":"2026-06-01T12:00:00Z","to":"2026-06-01T13:00:00Z"}`)
		seen := 0
		for i := range 4 {
			time.Sleep(15 * time.Minute)
			now := noon.Add(time.Duration(i+1) * 15 * time.Minute)
			for _, e := range p.search(t, "workspace_id={room}").Events {
				if at, err := time.Parse("2006-01-02 15:04:05 UTC", e["created"].(string)); err != nil || at.After(now) {
					t.Errorf("%s shows at %s", at, now)
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
	const events = 200_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := newScript(t, "")
	begin := time.Now()
	p.must(t, fmt.Sprintf(`history {"workspace_id":"{room}","events":%d}`, events))
	made := time.Since(begin)
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / events
	begin = time.Now()
	cursor := ""
	for range 51 {
		found := p.search(t, "workspace_id={room}&created-min=2026-04-17+12:00:00&output=terse&cursor="+cursor)
		cursor = url.QueryEscape(found.Pagination.NextCursor)
	}
	t.Logf("%d events in %v, %d bytes each; 51 pages in %v", events, made, each, time.Since(begin))
	// Generous guards: they catch another order of magnitude, not a busy machine.
	if made > 20*time.Second || each > 400 {
		t.Errorf("%d events in %v, %d bytes each", events, made, each)
	}
}

func BenchmarkSearch(b *testing.B) {
	p := newScript(b, "")
	p.must(b, `history {"workspace_id":"{room}","events":100000}`)
	r := p.raw(b.Context(), b, "ada GET /events/search/?limit=250&workspace_id={room}")
	for b.Loop() {
		got, err := p.RoundTrip(r)
		if err != nil {
			b.Fatal(err)
		}
		got.Body.Close()
	}
}

func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		newScript(b, "").must(b, `history {"workspace_id":"{room}","events":100000}`)
	}
}
