package emulator_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func (w *world) feed(t *testing.T, u emulator.User, query ...string) reply {
	t.Helper()
	return w.as(t, u, http.MethodGet, "/org/acme/events/changes/", query...)
}

func cursorOf(p reply) string {
	s, _ := p.get("cursor").(string)
	return s
}

func TestChangesBootstrapAndFollow(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	head := w.feed(t, w.ben)
	version := head.get("profiles.version")
	if len(head.names("changes", "event")) != 0 || head.get("has_more") != false || cursorOf(head) == "" || version == "" {
		t.Errorf("bootstrap: %s", head.Body)
	}
	types := map[any]any{}
	for _, item := range head.get("profiles.items").([]any) {
		item := item.(map[string]any)
		types[item["id"]] = item["type"]
	}
	if diff := cmp.Diff(map[any]any{w.room.ID: "workspace", w.portal.ID: "share"}, types); diff != "" {
		t.Errorf("the readable set (-want +got):\n%s", diff)
	}
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.attic.ID}) // not Ben's
	w.AddEvent(emulator.Event{Name: "comment_created", Workspace: w.room.ID})
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Visibility: "internal"})
	w.AddEvent(emulator.Event{Name: "workspace_storage_download_token_created", Workspace: w.room.ID})
	a := w.AddEvent(emulator.Event{Name: "workspace_storage_file_moved", Workspace: w.room.ID, Object: "2abc"})
	b := w.AddEvent(emulator.Event{Name: "share_storage_file_added", Share: w.portal.ID, Created: epoch.Add(-time.Hour)})
	first := w.feed(t, w.ben, "cursor", cursorOf(head), "limit", "1")
	want := map[string]any{
		"result": true, "status": "ok", "current_api_version": "1.0", "cursor": cursorOf(first), "has_more": true,
		"profiles": map[string]any{"version": version, "items": []any{}},
		"changes": []any{map[string]any{
			"event_id": a.ID, "event": "workspace_storage_file_moved", "profile_id": w.room.ID, "profile_type": "workspace",
			"object_id": "2abc", "created": "2026-03-02 10:00:00 UTC",
		}},
	}
	if diff := cmp.Diff(want, first.JSON); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	second := w.feed(t, w.ben, "cursor", cursorOf(first))
	if diff := cmp.Diff([]any{b.ID}, second.names("changes", "event_id")); diff != "" || second.get("has_more") != false {
		t.Errorf("has_more %v (-want +got):\n%s", second.get("has_more"), diff)
	}
	if idle := w.feed(t, w.ben, "cursor", cursorOf(second)); len(idle.names("changes", "event")) != 0 {
		t.Errorf("idle: %s", idle.Body)
	}
	w.SetMember(w.attic.ID, w.ben.ID, emulator.Member)
	if got := w.feed(t, w.ben, "cursor", cursorOf(second)); got.get("profiles.version") == version {
		t.Error("a larger readable set has the same version")
	}
}

// The feed is sorted by when rows became visible, so a late one is never behind a cursor.
func TestChangesMissNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(emulator.Options{Clock: time.Now, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
		cursor := cursorOf(w.feed(t, w.ada))
		var want, got []any
		for i := range 60 {
			e := emulator.Event{Name: fileAdded, Workspace: w.room.ID, Created: time.Now()}
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

func TestChangesRefusals(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	cursor := cursorOf(w.feed(t, w.ada))
	altered := "A" + cursor[1:]
	if altered == cursor {
		altered = "B" + cursor[1:]
	}
	again := w.AddKey(emulator.Key{User: w.ada.ID}).Token
	attic := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"workspace:" + w.attic.ID + ":r"}}).Token
	other := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"org:" + w.other.ID + ":r"}}).Token
	tests := map[string]struct {
		token  string
		query  []string
		status int
		code   int
	}{
		"limit zero":             {w.keys[w.ada.ID], []string{"limit", "0"}, 406, 207321},
		"limit too high":         {w.keys[w.ada.ID], []string{"limit", "1001"}, 406, 207321},
		"limit at its most":      {w.keys[w.ada.ID], []string{"limit", "1000"}, 200, 0},
		"altered":                {w.keys[w.ada.ID], []string{"cursor", altered}, 406, 158008},
		"made up":                {w.keys[w.ada.ID], []string{"cursor", "x"}, 406, 158008},
		"another credential":     {again, []string{"cursor", cursor}, 406, 158008},
		"nothing readable":       {w.keys[w.eve.ID], nil, 403, 135626},
		"a guest":                {w.keys[w.cleo.ID], nil, 403, 135626},
		"outside the credential": {other, nil, 403, 10545},
		"a narrow credential":    {attic, nil, 200, 0},
		"no credential":          {"", nil, 401, 10011},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.with(t, test.token, http.MethodGet, "/org/"+w.org.ID+"/events/changes/", test.query...)
			if got.Status != test.status || got.code() != test.code {
				t.Errorf("got %d %d: %s", got.Status, got.code(), got.Body)
			}
		})
	}
	if got := w.as(t, w.ada, http.MethodGet, "/org/nowhere/events/changes/"); got.Status != 404 || got.code() == 9992 {
		t.Errorf("unknown organization: %d %d", got.Status, got.code())
	}
}

func TestChangesCursorsEnd(t *testing.T) {
	t.Parallel()
	w := unlimited()
	cursor := cursorOf(w.feed(t, w.ada))
	w.ExpireChanges()
	if got := w.feed(t, w.ada, "cursor", cursor); got.Status != 406 || got.code() != 187907 || got.reason() != "cursor_expired" {
		t.Errorf("expired: %s", got.Body)
	}
	cursor = cursorOf(w.feed(t, w.ada))
	w.InvalidateCursors()
	if got := w.feed(t, w.ada, "cursor", cursor); got.Status != 406 || got.code() != 158008 {
		t.Errorf("invalidated: %s", got.Body)
	}
}

func TestNoChangeFeed(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{Events: seed.EventOptions{NoChanges: true}})
	if got := w.feed(t, w.ada); got.Status != 404 || got.code() != 9992 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

func TestChangesOfAHistory(t *testing.T) {
	t.Parallel()
	w := unlimited()
	cursor := cursorOf(w.feed(t, w.ada))
	w.Generate(emulator.History{Workspace: w.room.ID, Events: 500})
	w.Generate(emulator.History{Workspace: w.attic.ID, Events: 500})
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
