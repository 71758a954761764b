package emulator_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
	"github.com/fastio-go/fastio/internal/table"
)

const fileAdded = "workspace_storage_file_added"

// walk follows the cursors of a search to the end and returns how often each event came.
func (p *scripted) walk(t *testing.T, query string, between func(page int)) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for n, found := 0, p.search(t, query); ; n++ {
		for _, id := range idsOf(found.Events) {
			seen[id]++
		}
		if !found.Pagination.HasMore {
			return seen
		}
		between(n)
		found = p.search(t, query+"&cursor="+url.QueryEscape(found.Pagination.NextCursor))
	}
}

// follow reads the change feed to its end and returns how often each event came.
func (p *scripted) follow(t *testing.T, cursor string, seen map[string]int) {
	t.Helper()
	for more := true; more; {
		found := p.list(t, "ada GET /org/acme/events/changes/?limit=100&cursor="+url.QueryEscape(cursor))
		for _, id := range idsOf(found.Changes) {
			seen[id]++
		}
		cursor, more = found.Cursor, found.HasMore
	}
}

func twice(n int) bool { return n != 1 }

func TestEveryOrderYieldsEachEventOnce(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string]seed.Order{
		"oldest first": seed.OldestFirst, "newest first": seed.NewestFirst, "unordered": seed.Unordered,
	}, func(t *testing.T, order seed.Order) {
		p := newScript(t, "", func(o *seed.Options) { o.Events.Order, o.Seed = order, 3 })
		p.must(t, `history {"workspace_id":"{room}","events":700,"seed":1}`,
			`history {"workspace_id":"{attic}","events":600,"seed":2}`) // interleaves
		all := p.walk(t, "org_id={acme}&output=terse", func(int) {})
		// The same rows whatever the page size, and none lost when the log grows under the walk.
		again := p.walk(t, "org_id={acme}&output=terse&limit=90", func(page int) {
			earlier := noon.Add(-time.Duration(page*7919) * time.Second)
			p.AddEvent(world.Event{Name: fileAdded, Workspace: p.id("room"), Created: earlier})
		})
		for id, n := range all {
			if n != 1 || again[id] != 1 {
				t.Fatalf("%s came %d and %d times", id, n, again[id])
			}
		}
	})
}

// The feed is sorted by when rows became visible, so a late one is never behind a cursor.
func TestChangesMissNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "changes.txt")
		cursor := p.list(t, "ada {feed}").Cursor
		seen, added := map[string]int{}, []string{}
		for i := range 60 {
			now := noon.Add(time.Duration(i) * time.Second)
			e := world.Event{Name: fileAdded, Workspace: p.id("room"), Created: now}
			if i%7 == 0 {
				e.VisibleAt = now.Add(time.Duration(i) * time.Second)
			}
			added = append(added, p.AddEvent(e).ID)
			time.Sleep(time.Second)
			found := p.list(t, "ada {feed}?limit=2&cursor="+url.QueryEscape(cursor))
			for _, id := range idsOf(found.Changes) {
				seen[id]++
			}
			cursor = found.Cursor
		}
		time.Sleep(time.Hour)
		p.follow(t, cursor, seen)
		for _, id := range added {
			if seen[id] != 1 {
				t.Errorf("%v came %d times", id, seen[id])
			}
		}
	})
}

func TestChangesOfAHistory(t *testing.T) {
	t.Parallel()
	p := newScript(t, "")
	cursor := p.list(t, "ada GET /org/acme/events/changes/").Cursor
	p.must(t, `history {"workspace_id":"{room}","events":500}`, `history {"workspace_id":"{attic}","events":500}`)
	seen := map[string]int{}
	p.follow(t, cursor, seen)
	storage := p.walk(t, "org_id={acme}&subcategory=storage", func(int) {})
	if len(storage) != len(seen) || slices.ContainsFunc(slices.Collect(maps.Values(seen)), twice) {
		t.Errorf("%d changes, %d storage events: %v", len(seen), len(storage), seen)
	}
}

// However changes and polls interleave, a follower of the cursor sees the last of every field.
func TestNoChangeIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "")
		const changes = 200
		type poll struct {
			Results      int             `json:"results"`
			Activity     json.RawMessage `json:"activity"`
			LastActivity string          `json:"lastactivity"`
		}
		ask := func(query string) (got poll) {
			if err := json.Unmarshal(p.reply(t, "ada GET /activity/poll/{room}/"+query).json, &got); err != nil {
				t.Fatal(err)
			}
			return got
		}
		cursor := ask("").LastActivity
		var others sync.WaitGroup
		others.Go(func() {
			for range changes {
				p.AddNode(world.SeedNode{Profile: p.id("room")})
			}
		})
		seen := map[string]bool{}
		for len(seen) < changes+1 {
			got := ask("?wait=30&updated=1&lastactivity=" + url.QueryEscape(cursor))
			if got.LastActivity <= cursor || got.Results == 0 {
				t.Fatalf("%d seen, from %s: %+v", len(seen), cursor, got)
			}
			cursor = got.LastActivity
			fields, _, _ := elements(got.Activity)
			for _, field := range fields {
				seen[field] = true
			}
		}
		others.Wait()
	})
}
