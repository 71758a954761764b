package emulator_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// lounge is a world with something to ask about: a lease and a note in the room, and a picture in the portal.
type lounge struct {
	*world
	lease, note, folder, inside, photo emulator.Node
}

func newLounge(change ...func(*emulator.Options)) *lounge {
	o := emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}, Clock: time.Now, Storage: seed.StorageOptions{IndexPace: -1}}
	for _, c := range change {
		c(&o)
	}
	l := &lounge{world: newWorld(o)}
	l.SetMember(l.portal.ID, l.cleo.ID, emulator.Guest)
	add := func(n emulator.Node) emulator.Node { return l.AddNode(n) }
	l.lease = add(emulator.Node{Profile: l.room.ID, Name: "lease.txt", Content: "# Dock 4\n\nThe rent is due monthly.\f\nThe lease of dock 4 ends on 31 May. Keys are with Ben."})
	l.note = add(emulator.Node{Profile: l.room.ID, Name: "meeting.md", Kind: "note", Content: "We will paint the dock in June."})
	l.folder = add(emulator.Node{Profile: l.room.ID, Name: "plans", Kind: "folder"})
	l.inside = add(emulator.Node{Profile: l.room.ID, Parent: l.folder.ID, Name: "crane.txt", Content: "The crane lifts 4 tons."})
	l.photo = add(emulator.Node{Profile: l.portal.ID, Name: "tide.txt", Content: "High tide is at noon."})
	return l
}

// quick is a world whose turns end at once.
func quick(o *emulator.Options) { o.AI.TurnPace = -1 }

// still is a world whose turns never go on.
func still(o *emulator.Options) { o.Clock = func() time.Time { return epoch } }

func (l *lounge) inRoom() string   { return "/workspace/" + l.room.ID + "/ai/" }
func (l *lounge) inPortal() string { return "/share/" + l.portal.ID + "/ai/" }

// form sends a form.
func (l *lounge) form(t *testing.T, u emulator.User, method, path string, fields ...string) reply {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return l.body(t, u, method, path, "application/x-www-form-urlencoded", values.Encode())
}

func (l *lounge) body(t *testing.T, u emulator.User, method, path, contentType, body string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://emulator.test/api/current"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+l.keys[u.ID])
	r.Header.Set("Content-Type", contentType)
	return l.send(t, r)
}

func (l *lounge) post(t *testing.T, u emulator.User, path string, fields ...string) reply {
	t.Helper()
	return l.form(t, u, http.MethodPost, path, fields...)
}

func (l *lounge) get(t *testing.T, u emulator.User, path string, query ...string) reply {
	t.Helper()
	return l.as(t, u, http.MethodGet, path, query...)
}

// chat is a conversation, and one turn of it.
type chat struct{ thread, turn, path string }

// ask begins a conversation that must be taken.
func (l *lounge) ask(t *testing.T, u emulator.User, place, text string, more ...string) chat {
	t.Helper()
	p := l.post(t, u, place+"agent/", append([]string{"question", text}, more...)...)
	thread, _ := p.get("thread.thread_id").(string)
	turn, _ := p.get("turn.turn_id").(string)
	if p.Status != http.StatusOK || thread == "" || turn == "" {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	return chat{thread, turn, place + "agent/" + thread + "/"}
}

func (c chat) details() string { return c.path + "message/" + c.turn + "/details/" }
func (c chat) stream() string  { return c.path + "message/" + c.turn + "/read/" }

func TestConversation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLounge()
		cursor := l.poll(t, l.ben, l.room.ID).cursor()
		created := l.post(t, l.ben, l.inRoom()+"agent/", "question", "When does the lease of dock 4 end?", "idempotency_key", "k1")
		now := time.Now().UTC().Format("2006-01-02 15:04:05 UTC")
		owner := hash{"type": "user", "id": l.ben.ID}
		id, _ := created.get("thread.thread_id").(string)
		turnID, _ := created.get("turn.turn_id").(string)
		thread := hash{
			"thread_id": id, "creator": owner, "scope": hash{"type": "workspace", "id": l.room.ID},
			"name": "When does the lease of dock 4 end?", "status": "active", "kind": "user", "cost": hash{"credits": 0.0, "tokens": 0.0},
			"privacy": hash{"visibility": "private", "owner": owner}, "created_at": now, "updated_at": now,
		}
		turn := hash{
			"turn_id": turnID, "thread_id": id, "seq": 1.0, "status": "pending", "idempotency_key": "k1",
			"query": hash{"text": "When does the lease of dock 4 end?"}, "error": nil, "cost": hash{"credits": 0.0, "tokens": 0.0},
			"created_at": now, "updated_at": now,
		}
		if diff := cmp.Diff([]any{thread, turn}, []any{created.get("thread"), created.get("turn")}); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		c := chat{id, turnID, l.inRoom() + "agent/" + id + "/"}
		time.Sleep(30 * time.Millisecond)
		if got := l.get(t, l.ben, c.details()).get("message.status"); got != "running" {
			t.Errorf("after a while %v", got)
		}
		time.Sleep(time.Minute)
		got := l.get(t, l.ben, c.details())
		answer := "From the files of Design Room:\n\nThe lease of dock 4 ends on 31 May. [1]\n\nWe will paint the dock in June. [2]"
		want := hash{"answer": answer, "references": []any{}, "truncated": false, "citations": []any{
			hash{"node_id": l.hyphenated(l.lease.ID), "version_id": l.hyphenated(l.lease.Versions[0].ID), "name": "lease.txt", "page": 2.0, "snippet": "The lease of dock 4 ends on 31 May."},
			hash{"node_id": l.hyphenated(l.note.ID), "version_id": l.hyphenated(l.note.Versions[0].ID), "name": "meeting.md", "page": 1.0, "snippet": "We will paint the dock in June."},
		}}
		if diff := cmp.Diff(want, got.get("message.result")); diff != "" || got.get("message.status") != "complete" {
			t.Errorf("(-want +got):\n%s%s", diff, got.Body)
		}
		acts := []any{hash{
			"seq": 1.0, "label": "Searched Design Room", "state": "done", "started_at": now, "ended_at": now,
			"affected_refs": []any{l.hyphenated(l.lease.ID), l.hyphenated(l.note.ID)},
		}}
		if diff := cmp.Diff(acts, got.get("message.actions")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if cost := got.get("message.cost.credits"); cost != float64(l.Credits(l.org.ID)) || cost == 0.0 {
			t.Errorf("the turn cost %v, %d were billed", cost, l.Credits(l.org.ID))
		}
		activity := l.poll(t, l.ben, l.room.ID, "lastactivity", cursor, "updated", "1").activity()
		if diff := cmp.Diff([]string{"ai_chat", "ai_chat:" + strings.ReplaceAll(id, "-", "")}, activity); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		second := l.post(t, l.ben, c.path+"message/", "question", "And what of the crane?")
		if second.Status != 200 || second.get("seq") != 2.0 || second.get("thread_id") != id || second.get("turn") != nil || second.get("idempotency_key") == "" {
			t.Errorf("the next: %s", second.Body)
		}
		time.Sleep(time.Minute)
		all := l.get(t, l.ben, c.path+"details/")
		if all.get("thread.message_count") != 2.0 || all.get("thread.continuable") != true || all.get("turns.count") != 2.0 ||
			all.get("turns.items.1.status") != "complete" || strings.Contains(all.Body, "answer") {
			t.Errorf("the thread: %s", all.Body)
		}
		names := l.search(t, l.ada, "workspace_id", l.room.ID, "category", "ai").column("event")
		if diff := cmp.Diff([]any{"ai_chat_created", "ai_chat_new_message"}, names); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		costs := l.get(t, l.ben, l.inRoom()+"transactions/")
		if costs.get("transactions.count") != 2.0 || costs.get("transactions.items.0.turn_id") != second.get("turn_id") || costs.get("transactions.items.1.cost.credits") != got.get("message.cost.credits") {
			t.Errorf("transactions: %s", costs.Body)
		}
	})
}

// hyphenated is how the platform shows an id.
func (w *world) hyphenated(id string) string {
	var parts []string
	for chunk := range slices.Chunk([]byte(id), 5) {
		parts = append(parts, string(chunk))
	}
	return strings.Join(parts, "-")
}

func TestEndsOfTurns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script emulator.Script
		status string
		look   string
		want   any
	}{
		"an answer given":   {emulator.Script{Text: "Never."}, "complete", "result.answer", "Never."},
		"a clipped answer":  {emulator.Script{Truncated: true}, "complete", "result.truncated", true},
		"no sources":        {emulator.Script{NoCitations: true}, "complete", "result.citations", []any{}},
		"nothing found":     {emulator.Script{Match: "another question"}, "complete", "result.answer", "From the files of Design Room:\n\nThe crane lifts 4 tons. [1]"},
		"a failure":         {emulator.Script{Status: "failed", Error: "no model"}, "failed", "error.message", "no model"},
		"no result":         {emulator.Script{Status: "failed"}, "failed", "result", nil},
		"a lost worker":     {emulator.Script{Status: "lost"}, "lost", "error.message", "The worker was lost."},
		"a question back":   {emulator.Script{Status: "needs_input", Question: "Which?"}, "needs_input", "result.clarification.question", "Which?"},
		"an undocumented":   {emulator.Script{Status: "errored"}, "errored", "result", nil},
		"a status unknown":  {emulator.Script{Status: "post_processing"}, "post_processing", "result", nil},
		"another way there": {emulator.Script{Steps: []string{"queued", "in_progress"}, Text: "Yes."}, "complete", "result.answer", "Yes."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLounge()
				l.Script(test.script)
				c := l.ask(t, l.ben, l.inRoom(), "What does the crane lift?")
				time.Sleep(time.Minute)
				got := l.get(t, l.ben, c.details())
				if diff := cmp.Diff([]any{test.status, test.want}, []any{got.get("message.status"), got.get("message." + test.look)}); diff != "" {
					t.Errorf("(-want +got):\n%s%s", diff, got.Body)
				}
			})
		})
	}
	t.Run("every status on the way", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLounge()
			l.Script(emulator.Script{Count: 1, Steps: []string{"queued", "in_progress"}})
			c := l.ask(t, l.ben, l.inRoom(), "What does the crane lift?")
			var seen []any
			for range 3 {
				seen = append(seen, l.get(t, l.ben, c.details()).get("message.status"))
				time.Sleep(20 * time.Millisecond)
			}
			if diff := cmp.Diff([]any{"pending", "queued", "in_progress"}, seen); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			time.Sleep(time.Minute)
			next := l.post(t, l.ben, c.path+"message/", "question", "And now?")
			c.turn, _ = next.get("turn_id").(string)
			time.Sleep(20 * time.Millisecond)
			if got := l.get(t, l.ben, c.details()).get("message.status"); got != "running" {
				t.Errorf("a script used up still counts: %v", got)
			}
		})
	})
}

func TestWhatTheAgentReads(t *testing.T) {
	t.Parallel()
	item := func(kind, id, version string) string {
		return fmt.Sprintf(`[{"type":%q,"id":%q,%q:{"node_id":%q%s}}]`, kind, id, kind+"_details", id, version)
	}
	cited := func(l *lounge, c chat) []string {
		names := []string{}
		list, _ := l.get(t, l.ben, c.details()).get("message.result.citations").([]any)
		for _, v := range list {
			names = append(names, v.(map[string]any)["snippet"].(string))
		}
		return names
	}
	t.Run("a file it was shown", func(t *testing.T) {
		t.Parallel()
		l := newLounge(quick)
		c := l.ask(t, l.ben, l.inRoom(), "What is this?", "references", item("file", l.note.ID, `,"version_id":""`))
		if diff := cmp.Diff([]string{"We will paint the dock in June."}, cited(l, c)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("an older version", func(t *testing.T) {
		t.Parallel()
		l := newLounge(quick)
		n := l.AddNode(emulator.Node{Profile: l.room.ID, Name: "v.txt", Versions: []emulator.Version{{Content: "Once."}, {Content: "Now."}}})
		c := l.ask(t, l.ben, l.inRoom(), "What is this?", "subjects", item("file", n.ID, fmt.Sprintf(`,"version_id":%q`, n.Versions[0].ID)))
		if diff := cmp.Diff([]string{"Once."}, cited(l, c)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a folder", func(t *testing.T) {
		t.Parallel()
		l := newLounge(quick)
		c := l.ask(t, l.ben, l.inRoom(), "What of 4 tons or the dock, crane?", "references", item("folder", l.folder.ID, ""))
		if diff := cmp.Diff([]string{"The crane lifts 4 tons."}, cited(l, c)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("parts of a question", func(t *testing.T) {
		t.Parallel()
		l := newLounge(quick)
		part := strings.Trim(item("file", l.lease.ID, ""), "[]")
		c := l.ask(t, l.ben, l.inRoom(), "", "content_parts", `[{"type":"text","text":"Who has the keys of "},`+part+`,{"type":"text","text":"?"}]`)
		if diff := cmp.Diff([]string{"Keys are with Ben."}, cited(l, c)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := l.get(t, l.ben, c.details()).get("message.query.text"); got != "Who has the keys of ?" {
			t.Errorf("asked %v", got)
		}
	})
	t.Run("nothing without an index", func(t *testing.T) {
		t.Parallel()
		l := newLounge(quick)
		l.room.NoIntelligence = true
		l.AddWorkspace(l.room)
		if got := cited(l, l.ask(t, l.ben, l.inRoom(), "What does the crane lift?")); len(got) > 0 {
			t.Errorf("cites %v", got)
		}
	})
	t.Run("only what is indexed", func(t *testing.T) {
		t.Parallel()
		l := newLounge(quick, func(o *emulator.Options) { o.Storage.IndexPace = time.Hour })
		for _, state := range []string{"pending", "in_progress", "ready", "failed"} {
			l.AddNode(emulator.Node{Profile: l.room.ID, Name: state + ".txt", Content: "The crane lifts nothing today.", AIState: state})
		}
		l.AddNode(emulator.Node{Profile: l.room.ID, Name: "bin.txt", Content: "The crane lifts bins.", Trashed: true})
		if diff := cmp.Diff([]string{"The crane lifts 4 tons."}, cited(l, l.ask(t, l.ben, l.inRoom(), "What does the crane lift?"))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("nothing of other places", func(t *testing.T) {
		t.Parallel()
		l := newLounge(quick)
		c := l.ask(t, l.ben, l.inPortal(), "When is high tide, and what does the crane lift?")
		got := l.get(t, l.ben, c.details())
		if got.get("turn.result.citations.0.name") != "tide.txt" || got.get("turn.result.citations.1") != nil || got.get("message") != nil {
			t.Errorf("%s", got.Body)
		}
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLounge()
		c := l.ask(t, l.ben, l.inRoom(), "When does the lease of dock 4 end?")
		time.Sleep(90 * time.Millisecond)
		expect(t, l.post(t, l.ben, c.path+"cancel/", "a", "b"), 406, 0)
		got := l.as(t, l.ben, http.MethodPost, c.path+"cancel/")
		if got.Status != 200 || got.get("result") != true {
			t.Errorf("%s", got.Body)
		}
		after := l.get(t, l.ben, c.details())
		if after.get("message.status") != "cancelled" || after.get("message.result") != nil || after.get("message.cost.tokens") == 0.0 {
			t.Errorf("%s", after.Body)
		}
		expect(t, l.as(t, l.ben, http.MethodPost, c.path+"cancel/"), 200, 0)
		time.Sleep(time.Minute)
		if again := l.get(t, l.ben, c.details()); again.Body != after.Body {
			t.Errorf("it went on: %s", again.Body)
		}
		expect(t, l.post(t, l.ben, c.path+"message/", "question", "Again?"), 200, 0)
	})
	t.Run("its older forms", func(t *testing.T) {
		t.Parallel()
		l := newLounge(still, func(o *emulator.Options) { o.AI.LegacyCancel = true })
		c := l.ask(t, l.ben, l.inRoom(), "When?")
		for _, want := range []hash{{"success": true, "message": hash{"id": c.turn}}, {"success": true, "no_pending_message": true}} {
			if diff := cmp.Diff(want, l.as(t, l.ben, http.MethodPost, c.path+"cancel/").JSON); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		expect(t, l.as(t, l.eve, http.MethodPost, c.path+"cancel/"), 401, 0)
		got := l.as(t, l.ada, http.MethodPost, c.path+"cancel/")
		if got.Status != 406 || got.get("result") != false || got.get("error_id") == nil || got.get("error_message") == nil {
			t.Errorf("%s", got.Body)
		}
	})
}
