package emulator_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

func TestDashboard(t *testing.T) {
	t.Parallel()
	b := newBoard()
	path := "/workspace/" + b.room.ID + "/dashboard/"
	b.AddEvent(emulator.Event{Name: fileAdded, Workspace: b.room.ID, Object: b.plan.ID, Created: b.now.Add(-40 * 24 * time.Hour)})
	b.AddEvent(emulator.Event{Name: fileAdded, Workspace: b.room.ID, Object: b.plan.ID})
	b.AddEvent(emulator.Event{Name: "workspace_updated", Workspace: b.room.ID})
	b.say(t, b.ada, b.onPlan(), "See @[user:"+b.ben.ID+":Ben]")
	cards := func(u emulator.User, query ...string) []any {
		return b.list(t, u, path, query...).names("cards", "type")
	}
	if diff := cmp.Diff([]any{"mention", "file_added"}, cards(b.ben)); diff != "" {
		t.Errorf("to the one who is mentioned (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"file_added"}, cards(b.ada)); diff != "" {
		t.Errorf("to another (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"file_added"}, cards(b.ben, "limit", "1", "offset", "1")); diff != "" {
		t.Errorf("a page (-want +got):\n%s", diff)
	}
	first := b.list(t, b.ben, "/workspace/"+b.room.FolderName+"/dashboard/")
	key, _ := first.get("cards.0.card_key").(string)
	want := set("card_key type source blocking due_at ai_summary urgency suggested_action ripley_seed dismissible primary_action")
	if diff := cmp.Diff(want, keysOf(first.get("cards.0").(map[string]any))); diff != "" || !strings.HasPrefix(key, "mention:") {
		t.Errorf("%q (-want +got):\n%s", key, diff)
	}
	card := path + "cards/" + strings.ReplaceAll(url.PathEscape(key), ":", "%3A") + "/dismiss/"

	for name, body := range map[string]any{"the past": hash{"snooze_until": "2026-06-01 11:00:00 UTC"}, "no time": hash{"snooze_until": "soon"}, "nothing": hash{}} {
		if got := b.post(t, b.ben, card, body); got.Status != 406 {
			t.Errorf("until %s: %s", name, got.Body)
		}
	}
	expect(t, b.post(t, b.ben, card, "snooze"), 406, 149351)
	expect(t, b.post(t, b.ada, card, nil), 406, 128636) // not a card of hers
	expect(t, b.post(t, b.ben, path+"cards/mention/dismiss/", nil), 406, 128636)
	expect(t, b.list(t, b.eve, path), 401, 10545)
	expect(t, b.list(t, b.ben, "/workspace/nowhere/dashboard/"), 404, 0)
	expect(t, b.list(t, b.ben, path, "limit", "201"), 406, 0, "limit invalid")

	got := b.post(t, b.ben, card, hash{"snooze_until": "2026-06-01 13:00:00 UTC"})
	if got.get("card_dismiss.card_key") != key || got.get("card_dismiss.snooze_until") != "2026-06-01 13:00:00 UTC" {
		t.Errorf("snoozed: %s", got.Body)
	}
	if got := b.list(t, b.ben, path); got.get("dismissed_recent_count") != 1.0 || got.get("pagination.total") != 1.0 {
		t.Errorf("while it sleeps: %s", got.Body)
	}
	b.now = b.now.Add(time.Hour)
	if got := cards(b.ben); len(got) != 2 {
		t.Errorf("awake again: %v", got)
	}
	expect(t, b.post(t, b.ben, card, nil), 200, 0)
	b.now = b.now.Add(48 * time.Hour)
	if got := cards(b.ben); len(got) != 1 {
		t.Errorf("dismissed for good: %v", got)
	}
	for range 2 {
		expect(t, b.call(t, b.ben, http.MethodDelete, card, nil), 200, 0)
	}
	if got := cards(b.ben); len(got) != 2 {
		t.Errorf("restored: %v", got)
	}
}
