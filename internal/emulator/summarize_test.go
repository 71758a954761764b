package emulator_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func (w *world) summary(t *testing.T, u emulator.User, query ...string) reply {
	t.Helper()
	return w.as(t, u, http.MethodGet, "/events/search/summarize/", query...)
}

func TestSummary(t *testing.T) {
	t.Parallel()
	w := unlimited()
	a := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, CallingUser: w.ben.ID, Object: "2abc", ObjectName: "plan.pdf", Created: epoch.Add(-time.Hour)})
	w.AddEvent(emulator.Event{Name: "membership_updated", Workspace: w.room.ID, CallingUser: w.ada.ID})
	b := w.AddEvent(emulator.Event{Name: "share_storage_folder_created", Share: w.portal.ID, CallingUser: w.ada.ID, Object: "2def", ObjectName: "Plans"})
	w.SetMember(w.org.ID, w.ben.ID, emulator.Member)
	got := w.summary(t, w.ben, "org_id", w.org.ID, "output", "terse", "user_context", "What's new, Ben? Go on - now!")
	want := map[string]any{
		"text": "2 events. @[user:" + w.ben.ID + ":Ben Stone] added @[file:2abc:plan.pdf] to @[workspace:" + w.room.ID + ":Design Room]." +
			" @[user:" + w.ada.ID + ":Ada Stone] created the folder @[folder:2def:Plans] in @[share:" + w.portal.ID + ":Portal]." +
			" Asked about: What's new, Ben? Go on - now!",
		"metrics": map[string]any{
			"total_events": 2.0, "unique_actors": 2.0,
			"date_range": map[string]any{"start": "2026-03-02 09:00:00 UTC", "end": "2026-03-02 10:00:00 UTC"},
			"categories": map[string]any{"workspace": 1.0, "share": 1.0},
		},
	}
	if diff := cmp.Diff(want, got.get("summary")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{a.ID, b.ID}, got.column("event_id")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, found := got.events()[0]["description"]; !found || got.get("pagination") != nil {
		t.Errorf("not the fixed shape: %s", got.Body)
	}
	if w.Credits(w.org.ID) != 2 || w.Credits(w.ben.ID) != 0 {
		t.Errorf("credits: organization %d, user %d", w.Credits(w.org.ID), w.Credits(w.ben.ID))
	}
	if got := w.summary(t, w.ben, "workspace_id", w.room.ID); got.Status != 200 || w.Credits(w.org.ID) != 3 {
		t.Errorf("the organization pays for its workspaces: %d, %d credits", got.Status, w.Credits(w.org.ID))
	}
	if got := w.summary(t, w.ben, "user_id", w.ben.ID); got.Status != 200 || w.Credits(w.ben.ID) != 1 {
		t.Errorf("the caller's own account: %d, %d credits", got.Status, w.Credits(w.ben.ID))
	}
}

func TestSummaryOfNothing(t *testing.T) {
	t.Parallel()
	w := unlimited()
	got := w.summary(t, w.ada, "workspace_id", w.attic.ID)
	want := map[string]any{
		"total_events": 0.0, "unique_actors": 0.0, "categories": []any{}, "date_range": map[string]any{"start": nil, "end": nil},
	}
	if diff := cmp.Diff(want, got.get("summary.metrics")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSummaryWindow(t *testing.T) {
	t.Parallel()
	w := unlimited()
	for i := range 2400 { // three in four are hidden from Ben
		name := "membership_updated"
		if i%4 == 0 {
			name = fileAdded
		}
		w.AddEvent(emulator.Event{Name: name, Workspace: w.room.ID})
	}
	for _, test := range []struct {
		query []string
		want  int
	}{
		{[]string{"limit", "5"}, 5},                         // visible rows, not matching ones
		{[]string{"limit", "250", "offset", "2396"}, 1},     // the offset counts hidden rows too
		{[]string{"limit", "250", "offset", "2397"}, 0},     // and ends behind the last visible one
		{[]string{"limit", "250", "event", fileAdded}, 250}, // a full window
	} {
		got := w.summary(t, w.ben, append([]string{"workspace_id", w.room.ID}, test.query...)...)
		if len(got.events()) != test.want {
			t.Errorf("%v: %d rows, want %d", test.query, len(got.events()), test.want)
		}
	}
	w.SetMember(w.room.ID, w.ben.ID, emulator.Guest) // sees nothing until the very end
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, CallingUser: w.ben.ID})
	if got := w.summary(t, w.ben, "workspace_id", w.room.ID); len(got.events()) != 0 {
		t.Error("the scan went beyond two thousand rows")
	}
	if got := w.summary(t, w.ben, "workspace_id", w.room.ID, "offset", "401"); len(got.events()) != 1 {
		t.Error("the scan ended before two thousand rows")
	}
}

func TestSummaryRefusals(t *testing.T) {
	t.Parallel()
	w := unlimited()
	tests := map[string]struct {
		user   emulator.User
		query  []string
		status int
		failed []string
		reason string
	}{
		"64 characters":         {w.ada, []string{"org_id", w.org.ID, "user_context", strings.Repeat("ä", 64)}, 200, nil, ""},
		"an id of another kind": {w.ada, []string{"org_id", w.room.ID}, 406, []string{"org_id invalid"}, ""},
		"a guest one level up":  {w.cleo, []string{"share_id", w.portal.ID}, 401, nil, ""},
		"a guest":               {w.cleo, []string{"workspace_id", w.room.ID}, 200, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.summary(t, test.user, test.query...)
			if got.Status != test.status || got.reason() != test.reason {
				t.Errorf("got %d %q: %s", got.Status, got.reason(), got.Body)
			}
			if diff := cmp.Diff(test.failed, got.failures()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummaryPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{Events: seed.EventOptions{DenySummaries: true}})
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	got := w.summary(t, w.ada, "org_id", w.org.ID)
	summary, found := got.JSON["summary"]
	if !found || summary != nil || got.get("summary_reason") != "ai_policy_denied" || len(got.events()) != 1 || w.Credits(w.org.ID) != 0 {
		t.Errorf("denied: %s", got.Body)
	}
	w = newWorld(emulator.Options{Events: seed.EventOptions{SummaryPolicyDown: true}})
	if got := w.summary(t, w.ada, "org_id", w.org.ID); got.Status != 503 || got.reason() != "access_policy_unavailable" {
		t.Errorf("down: %d %s", got.Status, got.Body)
	}
}
