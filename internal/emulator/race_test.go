package emulator_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	limit := seed.Limit{Ops: []seed.Op{"events.Search"}, Max: 50, Size: time.Hour}
	w := newWorld(seed.Options{Limits: seed.LimitOptions{Rules: []seed.Limit{limit}}})
	event := w.AddEvent(world.Event{Name: fileAdded, Workspace: w.room.ID})
	w.Fail(seed.Fault{Op: "events.Get", Probability: 0.5, Status: 500})
	node := w.AddNode(world.SeedNode{Profile: w.room.ID})
	comment := w.AddComment(world.Comment{Profile: w.room.ID, Node: node.ID, User: w.ada.ID, Body: "x"})
	var all sync.WaitGroup
	for range 4 {
		for _, work := range []func(){
			func() { w.search(t, w.ada, "org_id", w.org.ID) },
			func() { w.as(t, w.ada, http.MethodGet, "/events/search/summarize/", "org_id", w.org.ID) },
			func() { w.as(t, w.ada, http.MethodGet, "/event/"+event.ID+"/details/") },
			func() { w.as(t, w.ada, http.MethodPost, "/event/"+event.ID+"/ack/") },
			func() { w.feed(t, w.ada) },
			func() { w.as(t, w.ada, http.MethodGet, "/workspaces/all/") },
			func() { w.AddEvent(world.Event{Name: fileAdded, Workspace: w.room.ID}) },
			func() { w.Generate(world.History{Workspace: w.attic.ID, Events: 20}) },
			func() { w.AddUser(world.User{}) },
			func() { w.SetMember(w.attic.ID, w.ben.ID, seed.Admin) },
			func() { w.InvalidateCursors() },
			func() { w.poll(t, w.ada, w.room.ID, "lastactivity", "2026-01-01") },
			func() { w.as(t, w.ada, http.MethodGet, "/comments/workspace/"+w.room.ID+"/") },
			func() { w.as(t, w.ada, http.MethodDelete, "/comments/"+comment.ID+"/reactions/") },
			func() {
				w.AddComment(world.Comment{Profile: w.room.ID, Node: node.ID, User: w.ben.ID, Body: "x"})
			},
			func() { w.AddFileShare(world.SeedFileShare{Node: w.AddNode(world.SeedNode{Profile: w.room.ID}).ID}) },
			func() { w.as(t, w.ada, http.MethodGet, "/share/"+w.portal.ID+"/members/list/") },
			func() { w.as(t, w.ada, http.MethodPost, "/share/"+w.portal.ID+"/members/join/") },
			func() {
				v := w.AddInvitation(world.SeedInvitation{Profile: w.portal.ID, Email: "eve@example.test"})
				w.as(t, w.eve, http.MethodPost, "/share/"+w.portal.ID+"/members/join/"+v.Key+"/accept/")
			},
			func() { w.Mails("eve@example.test") },
			func() { w.Requests() },
			func() { w.Credits(w.org.ID) },
		} {
			all.Go(func() {
				for range 20 {
					work()
				}
			})
		}
	}
	all.Wait()
	if w.Refusals() != 30 {
		t.Errorf("%d of 80 searches refused, 50 were allowed", w.Refusals())
	}
}

// Nothing a client sends in a query breaks the server, and no cursor but its own is taken.
func FuzzSearch(f *testing.F) {
	w := unlimited()
	w.Generate(world.History{Workspace: w.room.ID, Events: 300})
	f.Add("created-min", "2026-01-01T00:00:00Z")
	f.Add("created-max", "0000-00-00 00:00:00")
	f.Add("limit", "99999999999999999999")
	f.Add("offset", "2147483648")
	f.Add("cursor", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==")
	f.Add("output", "terse,,markdown,full")
	f.Add("parent_event_id", "-----")
	f.Add("object_id", "2ZZZZ-\x00")
	f.Fuzz(func(t *testing.T, name, value string) {
		got := w.search(t, w.ada, "workspace_id", w.room.ID, name, value)
		if got.Status != http.StatusOK && got.Status != http.StatusNotAcceptable && got.Status != http.StatusUnauthorized {
			t.Errorf("%s=%q: %d %s", name, value, got.Status, got.Body)
		}
		if name == "cursor" && value != "" && got.Status == http.StatusOK {
			t.Errorf("a forged cursor: %q", value)
		}
	})
}

// Nothing a client puts into a comment breaks the server.
func FuzzComment(f *testing.F) {
	w := unlimited()
	plan := w.AddNode(world.SeedNode{Profile: w.room.ID})
	f.Add(`{"body":"x"}`)
	f.Add(`{"body":"` + "```" + `\n@[user:4000000000000000001:x]"}`)
	f.Add(`{"body":"@[user:` + w.ada.ID + `:Ada]","reference":{"type":"image","region":{"x":1e400}}}`)
	f.Add(`{"body":"x","reference":{"type":"text","exact":1},"properties":[],"target_ids":[null]}`)
	f.Add(`{"body":{},"parent_id":[],"comment_id":false}`)
	f.Fuzz(func(t *testing.T, body string) {
		path := "/comments/workspace/" + w.room.ID + "/" + plan.ID + "/"
		got := w.body(t, w.keys[w.ben.ID], http.MethodPost, path, "application/json", body)
		switch got.Status {
		case http.StatusOK:
			if text, _ := got.get("comment.body").(string); text == "" {
				t.Errorf("%s: %s", body, got.Body)
			}
		case http.StatusNotAcceptable, http.StatusNotFound:
		default:
			t.Errorf("%s: %d %s", body, got.Status, got.Body)
		}
	})
}
