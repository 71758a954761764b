package emulator_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func (w *world) poll(t *testing.T, u emulator.User, profile string, query ...string) reply {
	t.Helper()
	path := "/activity/poll/"
	if profile != "" {
		path += profile + "/"
	}
	return w.as(t, u, http.MethodGet, path, query...)
}

func (p reply) cursor() string {
	s, _ := p.get("lastactivity").(string)
	return s
}

// activity lists the fields of a poll, in order.
func (p reply) activity() []string {
	m, _ := p.get("activity").(map[string]any)
	names := []string{}
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

const object29 = "2abcdefghijklmnopqrstuvwxyz12"

func TestPollTellsWhatChanged(t *testing.T) {
	t.Parallel()
	w := unlimited()
	baseline := w.poll(t, w.ada, w.room.ID)
	want := `{"result":true,"status":"ok","current_api_version":"1.0","results":0,"activity":[],"lastactivity":"` + baseline.cursor() + `"}`
	if baseline.Body != want {
		t.Errorf("a baseline: %s", baseline.Body)
	}
	if len(baseline.cursor()) != len("2026-03-02 10:00:00.000001 UTC") {
		t.Errorf("lastactivity %q", baseline.cursor())
	}
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Object: object29})
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.attic.ID, Object: object29})
	got := w.poll(t, w.ada, w.room.ID, "lastactivity", baseline.cursor(), "updated", "1")
	if diff := cmp.Diff([]string{"storage", "storage:" + object29}, got.activity()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	stamps := []any{got.get("activity.storage:" + object29), got.get("activity.storage")}
	if got.get("results") != 2.0 || stamps[0] == stamps[1] || stamps[1] != got.cursor() {
		t.Errorf("stamps %v: %s", stamps, got.Body)
	}
	if again := w.poll(t, w.ada, w.room.ID, "lastactivity", got.cursor(), "updated", "1"); again.get("results") != 0.0 || again.cursor() <= got.cursor() {
		t.Errorf("nothing new: %s", again.Body)
	}
	w.AddEvent(emulator.Event{Name: "workspace_updated", Workspace: w.room.ID})
	if got := w.poll(t, w.ada, w.room.ID, "lastactivity", got.cursor(), "updated", "1"); !cmp.Equal(got.activity(), []string{"settings"}) {
		t.Errorf("only what is new: %s", got.Body)
	}
	if got := w.poll(t, w.ada, w.room.ID, "lastactivity", got.cursor()); !slices.Contains(got.activity(), "storage") || !slices.Contains(got.activity(), "settings") {
		t.Errorf("without updated: %s", got.Body)
	}
}

func TestEveryMutationIsActivity(t *testing.T) {
	t.Parallel()
	in := func(event string) func(w *world) {
		return func(w *world) {
			w.AddEvent(emulator.Event{Name: event, Workspace: w.room.ID, Object: object29, User: w.ben.ID})
		}
	}
	const ben = "<ben>"
	tests := map[string]struct {
		change func(w *world)
		want   string
	}{
		"a file":               {in(fileAdded), "storage storage:" + object29},
		"a comment":            {in("comment_created"), "comments comments:" + object29},
		"a mention":            {in("comment_mentioned"), "comments comments:" + object29},
		"a member":             {in("added_member_to_workspace"), "member:" + ben + " members"},
		"a chat":               {in("ai_chat_new_message"), "ai_chat ai_chat:" + object29},
		"an index":             {in("node_ai_state_set"), "ai_state ai_state:" + object29},
		"settings":             {in("workspace_updated"), "settings"},
		"a synchronization":    {in("import_source_sync_failed"), "cloudsync"},
		"metadata":             {in("metadata_kv_update"), "metadata"},
		"a role":               {func(w *world) { w.SetMember(w.room.ID, w.ben.ID, emulator.Admin) }, "member:" + ben + " members"},
		"the workspace itself": {func(w *world) { w.AddWorkspace(w.room) }, "settings"},
		"a node":               {func(w *world) { w.AddNode(emulator.Node{ID: object29, Profile: w.room.ID}) }, "storage storage:" + object29},
		"a comment put there": {func(w *world) {
			w.AddComment(emulator.Comment{Profile: w.room.ID, User: w.ben.ID, Body: "Hello"})
		}, "comments"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := unlimited()
			cursor := w.poll(t, w.ada, w.room.ID).cursor()
			test.change(w)
			got := w.poll(t, w.ada, w.room.ID, "lastactivity", cursor, "updated", "1")
			want := strings.Fields(strings.ReplaceAll(test.want, ben, w.ben.ID))
			if diff := cmp.Diff(want, got.activity()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHistoriesAreActivity(t *testing.T) {
	t.Parallel()
	w := unlimited()
	cursor := w.poll(t, w.ada, w.room.ID).cursor()
	w.Generate(emulator.History{Workspace: w.room.ID, Events: 5000})
	got := w.poll(t, w.ada, w.room.ID, "lastactivity", cursor, "updated", "1").activity()
	if !slices.Contains(got, "storage") || len(got) < 10 || len(got) > 200 {
		t.Errorf("%d fields: %v", len(got), got)
	}
}

func TestWhatIsYetToComeIsNoActivity(t *testing.T) {
	t.Parallel()
	w := unlimited()
	cursor := w.poll(t, w.ada, w.room.ID).cursor()
	w.Generate(emulator.History{Workspace: w.room.ID, Events: 50, From: epoch.Add(time.Hour), To: epoch.Add(2 * time.Hour)})
	if got := w.poll(t, w.ada, w.room.ID, "lastactivity", cursor, "updated", "1").activity(); len(got) > 0 {
		t.Errorf("fields %v", got)
	}
}

func TestSharesAndFileSharesHaveTheirOwnActivity(t *testing.T) {
	t.Parallel()
	w := unlimited()
	n := w.AddNode(emulator.Node{Profile: w.room.ID})
	link := w.AddFileShare(emulator.FileShare{Node: n.ID, Grants: []emulator.Grant{{User: w.eve.ID}}})
	share, file := w.poll(t, w.ada, w.portal.ID).cursor(), w.poll(t, w.ben, link.ID).cursor()
	w.AddEvent(emulator.Event{Name: "share_storage_file_added", Share: w.portal.ID, Object: object29})
	w.AddEvent(emulator.Event{Name: "workspace_storage_file_updated", Workspace: w.room.ID, Object: n.ID})
	if got := w.poll(t, w.ada, w.portal.ID, "lastactivity", share); !slices.Contains(got.activity(), "storage:"+object29) {
		t.Errorf("share: %s", got.Body)
	}
	if got := w.poll(t, w.ben, link.ID, "lastactivity", file); !slices.Contains(got.activity(), "storage:"+n.ID) {
		t.Errorf("File Share: %s", got.Body)
	}
}

func TestUploadsAreTheUploadersActivity(t *testing.T) {
	t.Parallel()
	w := unlimited()
	cursor := w.poll(t, w.ben, "").cursor()
	w.AddEvent(emulator.Event{Name: "upload_finished", Workspace: w.room.ID, CallingUser: w.ben.ID, Object: object29})
	for _, profile := range []string{"", w.ben.ID} {
		if got := w.poll(t, w.ben, profile, "lastactivity", cursor, "updated", "1"); !slices.Contains(got.activity(), "upload:"+object29) {
			t.Errorf("%q: %s", profile, got.Body)
		}
	}
}

func TestPollRefuses(t *testing.T) {
	t.Parallel()
	w := unlimited()
	quiet := w.AddShare(emulator.Share{Workspace: w.room.ID, NoMultiplayer: true})
	n := w.AddNode(emulator.Node{Profile: w.room.ID})
	link := w.AddFileShare(emulator.FileShare{Node: n.ID, Grants: []emulator.Grant{{User: w.eve.ID}}})
	narrow := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"workspace:" + w.attic.ID + ":r"}}).Token
	tests := map[string]struct {
		user    emulator.User
		profile string
		query   []string
	}{
		"no profile at all":       {w.ada, "-", nil},
		"an unknown profile":      {w.ada, "4999999999999999999", nil},
		"another user":            {w.ada, w.ben.ID, nil},
		"a stranger":              {w.eve, w.room.ID, nil},
		"an org's outsider":       {w.ben, w.org.ID, nil},
		"a share without it":      {w.ada, quiet.ID, nil},
		"a recipient":             {w.eve, link.ID, nil},
		"too long a wait":         {w.ada, w.room.ID, []string{"wait", "96"}},
		"a wait that is no wait":  {w.ada, w.room.ID, []string{"wait", "soon"}},
		"no time":                 {w.ada, w.room.ID, []string{"lastactivity", "yesterday"}},
		"a field that is none":    {w.ada, w.room.ID, []string{"fields", "storage,Not A Field"}},
		"a field without its id":  {w.ada, w.room.ID, []string{"fields", "storage:"}},
		"too many fields":         {w.ada, w.room.ID, []string{"fields", strings.Repeat("storage,", 30) + "storage"}},
		"a list that ends in one": {w.ada, w.room.ID, []string{"fields", "storage,"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := w.poll(t, test.user, test.profile, test.query...); got.Status != http.StatusBadRequest || got.code() == 0 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
	if got := w.as(t, w.ada, http.MethodGet, "/activity/poll//"); got.Status != http.StatusBadRequest {
		t.Errorf("an empty id: %d %s", got.Status, got.Body)
	}
	if got := w.with(t, narrow, http.MethodGet, "/activity/poll/"+w.room.ID+"/"); got.Status != http.StatusBadRequest {
		t.Errorf("outside the scope: %d %s", got.Status, got.Body)
	}
	if got := w.with(t, narrow, http.MethodGet, "/activity/poll/"+w.attic.ID+"/"); got.Status != http.StatusOK {
		t.Errorf("within the scope: %d %s", got.Status, got.Body)
	}
	if got := w.poll(t, w.ada, w.room.ID, "fields", strings.Repeat("storage,", 29)+"member:"+w.ben.ID, "wait", "0"); got.Status != http.StatusOK {
		t.Errorf("thirty fields: %d %s", got.Status, got.Body)
	}
}

func TestPollOfSomeFields(t *testing.T) {
	t.Parallel()
	w := unlimited()
	cursor := w.poll(t, w.ada, w.room.ID).cursor()
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Object: object29})
	w.AddEvent(emulator.Event{Name: "comment_created", Workspace: w.room.ID, Object: object29})
	for fields, want := range map[string]string{
		"storage":                        "storage storage:" + object29,
		"comments:" + object29:           "comments:" + object29,
		"comments:2ABCD-" + object29[5:]: "comments:" + object29,
		"settings":                       "",
		"settings,storage:" + object29:   "storage:" + object29,
	} {
		got := w.poll(t, w.ada, w.room.ID, "lastactivity", cursor, "updated", "1", "fields", fields)
		if diff := cmp.Diff(strings.Fields(want), got.activity()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fields, diff)
		}
	}
}

// A poll is held until something changes, until the wait is over, or until the caller is gone.
func TestPollHolds(t *testing.T) {
	t.Parallel()
	roads(t, emulator.Options{}, func(t *testing.T, w *world, c doer) {
		t.Helper()
		begin := time.Now()
		held := func(ctx context.Context, query string) (string, error) {
			status, body, err := fetch(c, request(ctx, w, http.MethodGet, "/activity/poll/"+w.room.ID+"/?"+query))
			if err == nil && status != http.StatusOK {
				t.Errorf("%s: %d %s", query, status, body)
			}
			return body, err
		}
		if body, err := held(t.Context(), "wait=95"); err != nil || time.Since(begin) != 95*time.Second || !strings.Contains(body, `"activity":[]`) {
			t.Errorf("after %v: %s %v", time.Since(begin), body, err)
		}
		begin = time.Now()
		var others sync.WaitGroup
		for _, fields := range []string{"", "&fields=settings", "&fields=storage"} {
			others.Go(func() {
				body, err := held(t.Context(), "wait=60"+fields)
				want := map[string]time.Duration{"": 20 * time.Second, "&fields=settings": 40 * time.Second, "&fields=storage": 20 * time.Second}[fields]
				if err != nil || time.Since(begin) != want {
					t.Errorf("%q after %v: %s %v", fields, time.Since(begin), body, err)
				}
			})
		}
		time.Sleep(20 * time.Second)
		w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Object: object29})
		time.Sleep(20 * time.Second)
		w.AddEvent(emulator.Event{Name: "workspace_updated", Workspace: w.room.ID})
		others.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin = time.Now()
		if _, err := held(ctx, "wait=60"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestPollEndsWithTheRight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(emulator.Options{Clock: time.Now})
		time.AfterFunc(5*time.Second, func() { w.SetMember(w.room.ID, w.ben.ID, "") })
		begin := time.Now()
		if got := w.poll(t, w.ben, w.room.ID, "wait", "90"); got.Status != http.StatusBadRequest || time.Since(begin) != 5*time.Second {
			t.Errorf("after %v: %d %s", time.Since(begin), got.Status, got.Body)
		}
	})
}

// However changes and polls interleave, a follower of the cursor sees the last of every field.
func TestNoChangeIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(emulator.Options{Clock: func() time.Time { return epoch }, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
		const changes = 200
		cursor := w.poll(t, w.ada, w.room.ID).cursor()
		var others sync.WaitGroup
		others.Go(func() {
			for range changes {
				w.AddNode(emulator.Node{Profile: w.room.ID})
			}
		})
		seen := map[string]bool{}
		for len(seen) < changes+1 {
			got := w.poll(t, w.ada, w.room.ID, "wait", "30", "updated", "1", "lastactivity", cursor)
			if got.cursor() <= cursor || got.get("results") == 0.0 {
				t.Fatalf("%d seen, from %s: %s", len(seen), cursor, got.Body)
			}
			cursor = got.cursor()
			for _, field := range got.activity() {
				seen[field] = true
			}
		}
		others.Wait()
	})
}

func TestPollSwitches(t *testing.T) {
	t.Parallel()
	t.Run("inclusive", func(t *testing.T) {
		t.Parallel()
		w := newWorld(emulator.Options{Activity: seed.ActivityOptions{InclusivePolls: true}})
		cursor := w.poll(t, w.ada, w.room.ID).cursor()
		w.AddEvent(emulator.Event{Name: "workspace_updated", Workspace: w.room.ID})
		got := w.poll(t, w.ada, w.room.ID, "lastactivity", cursor)
		again := w.poll(t, w.ada, w.room.ID, "lastactivity", got.cursor())
		if !slices.Contains(again.activity(), "settings") || again.cursor() != got.cursor() {
			t.Errorf("again: %s", again.Body)
		}
	})
	t.Run("wrapped", func(t *testing.T) {
		t.Parallel()
		got := newWorld(emulator.Options{Wrapped: true})
		p := got.poll(t, got.ada, "")
		if p.get("result") != "yes" || p.get("response.results") != 0.0 || p.get("response.lastactivity") == nil {
			t.Errorf("%s", p.Body)
		}
	})
	t.Run("a server date", func(t *testing.T) {
		t.Parallel()
		w := newWorld(emulator.Options{ServerDate: true})
		date, _ := w.as(t, w.ada, http.MethodGet, "/user/me/details/").get("server_date").(string)
		w.AddEvent(emulator.Event{Name: "workspace_updated", Workspace: w.room.ID})
		if got := w.poll(t, w.ada, w.room.ID, "lastactivity", date, "updated", "1"); !slices.Contains(got.activity(), "settings") {
			t.Errorf("from %q: %s", date, got.Body)
		}
		if ping := w.with(t, "", http.MethodGet, "/ping/"); strings.Count(ping.Body, "server_date") != 1 {
			t.Errorf("ping: %s", ping.Body)
		}
	})
}

func TestProxyCutsPolls(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		roads(t, emulator.Options{Activity: seed.ActivityOptions{PollCut: 55 * time.Second, PollCutReset: reset}}, func(t *testing.T, w *world, c doer) {
			t.Helper()
			begin := time.Now()
			r := request(t.Context(), w, http.MethodGet, "/activity/poll/?wait=95")
			r.Close = true
			status, body, err := fetch(c, r)
			if time.Since(begin) != 55*time.Second {
				t.Errorf("after %v", time.Since(begin))
			}
			if reset && !errors.Is(err, io.EOF) || !reset && (status != http.StatusGatewayTimeout || !strings.HasPrefix(body, "<html>")) {
				t.Errorf("%d %s %v", status, body, err)
			}
			if status, body, err := fetch(c, request(t.Context(), w, http.MethodGet, "/activity/poll/?wait=55")); status != http.StatusOK {
				t.Errorf("a shorter one: %d %s %v", status, body, err)
			}
		})
	}
}

func TestPollLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(emulator.Options{Clock: time.Now})
		begin := time.Now()
		served := 0
		for time.Since(begin) < time.Hour {
			got := w.poll(t, w.ada, []string{"", w.room.ID}[served%2]) // one budget
			if got.Status == http.StatusOK {
				served++
				continue
			}
			if served == 200 && time.Since(begin) != 0 || got.Status != http.StatusTooManyRequests {
				t.Fatalf("%d after %v: %s", served, time.Since(begin), got.Body)
			}
			time.Sleep(time.Minute)
		}
		if served != 1000 {
			t.Errorf("%d polls served in an hour", served)
		}
	})
}
