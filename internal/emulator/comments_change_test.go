package emulator_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

func TestUpdate(t *testing.T) {
	t.Parallel()
	b := newBoard(func(o *emulator.Options) { o.Comments.Properties = true })
	p := b.post(t, b.ben, b.onPlan(), hash{
		"body": "first", "properties": hash{"a": 1, "b": 2}, "reference": hash{"type": "document", "page": 1}, "target_id": b.plan.ID,
	})
	id, _ := p.get("comment.id").(string)
	hash1 := p.get("comment.version_hash")
	b.now = b.now.Add(time.Minute)
	got := b.post(t, b.ben, at(id, "update"), hash{
		"body": "second", "properties": hash{"b": 3},
	})
	want := hash{
		"body": "second", "version": 2.0, "edited_at": "2026-06-01 12:01:00 UTC", "updated": "2026-06-01 12:01:00 UTC",
		"created": "2026-06-01 12:00:00 UTC", "properties": hash{"a": 1.0, "b": 3.0}, "reference": hash{"type": "document", "page": 1.0},
	}
	for name, value := range want {
		if diff := cmp.Diff(value, got.get("comment."+name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got.get("comment.version_hash") == hash1 || got.get("comment.parent_id") != nil || got.get("attachments") != nil {
		t.Errorf("%s", got.Body)
	}
	again := b.post(t, b.ben, b.onPlan(), hash{"comment_id": id, "body": "second", "reference": hash{"type": "image"}, "target_id": "?"})
	if again.get("comment.version") != 3.0 || again.get("comment.reference.type") != "image" || again.get("attachments") != nil {
		t.Errorf("by comment_id: %s", again.Body)
	}
	if got := b.post(t, b.ben, at(id, "update"), hash{"body": "x", "reference": nil}); got.get("comment.reference") != nil || got.Status != 200 {
		t.Errorf("an anchor taken off: %s", got.Body)
	}
	if list := b.list(t, b.ben, at(id, "attachments")); list.get("attachment_count") != 1.0 {
		t.Errorf("attachments stay: %s", list.Body)
	}
	expect(t, b.post(t, b.ada, at(id, "update"), hash{"body": "x"}), 401, 0)
	expect(t, b.post(t, b.ada, b.onPlan(), hash{"comment_id": id, "body": "x"}), 401, 0)
	expect(t, b.post(t, b.ben, b.onRoom(), hash{"comment_id": id, "body": "x"}), 404, 0)
	expect(t, b.post(t, b.ben, at("ca"+object29[1:], "update"), hash{"body": "x"}), 404, 0)
	expect(t, b.post(t, b.ben, at("first", "update"), hash{"body": "x"}), 406, 0, "comment_id type_mismatch")
	expect(t, b.post(t, b.ben, "/comments//update/", hash{"body": "x"}), 406, 0, "comment_id missing")
	expect(t, b.post(t, b.ben, at(id, "update"), hash{"body": "x", "properties": "p"}), 406, 0, "properties type_mismatch")
	expect(t, b.post(t, b.ben, at(id, "update"), hash{"body": "x", "properties": []any{}}), 200, 0)
	b.call(t, b.ben, http.MethodDelete, at(id, "delete"), nil)
	for path, body := range map[string]hash{at(id, "update"): {"body": "x"}, b.onPlan(): {"body": "x", "comment_id": id}} {
		got := b.post(t, b.ben, path, body)
		if text := got.get("error.text"); got.Status != 406 || text != "Comment is deleted" {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
}

func TestPropertiesStayInside(t *testing.T) {
	t.Parallel()
	b := newBoard()
	if got := b.post(t, b.ben, b.onPlan(), hash{"body": "x", "properties": hash{"a": 1}}); strings.Contains(got.Body, "properties") {
		t.Errorf("%s", got.Body)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	b := newBoard()
	top := b.say(t, b.ben, b.onPlan(), "top")
	answer := b.say(t, b.ada, b.onPlan(), "reply", "parent_id", top)
	early := b.AddComment(emulator.Comment{
		Profile: b.room.ID, Node: b.plan.ID, User: b.ben.ID, Parent: top, Body: "early", Deleted: b.now.Add(-time.Hour),
	}).ID
	photo := b.say(t, b.fay, b.onPhoto(), "photo")
	foreign := b.say(t, b.eve, b.onLink(), "foreign")
	remove := func(u emulator.User, id string) reply { return b.call(t, u, http.MethodDelete, at(id, "delete"), nil) }
	expect(t, remove(b.ben, answer), 401, 0) // not the author, no admin
	expect(t, remove(b.cleo, photo), 401, 0)
	expect(t, remove(b.ada, foreign), 401, 0) // an admin, yet not the author on a File Share
	expect(t, remove(b.dora, foreign), 401, 0)
	expect(t, remove(b.ada, photo), 200, 0)
	expect(t, remove(b.eve, foreign), 200, 0)
	got := remove(b.ben, top)
	if got.Status != 200 || got.get("message") == nil || got.get("comment.deleted") != "2026-06-01 12:00:00 UTC" || got.get("comment.can_edit") != false {
		t.Errorf("%s", got.Body)
	}
	if strings.Contains(got.Body, "null") && got.get("comment.actor") == nil || strings.Contains(got.Body, "attachments") {
		t.Errorf("more than it should: %s", got.Body)
	}
	if got := b.list(t, b.ada, at(early, "details")).get("comment.deleted"); got != "2026-06-01 11:00:00 UTC" {
		t.Errorf("a reply that was gone before is now gone since %v", got)
	}
	if got := b.list(t, b.ada, at(answer, "details")).get("comment.deleted"); got == nil {
		t.Error("the reply is still there")
	}
	expect(t, remove(b.ben, top), 404, 0)
	expect(t, remove(b.ben, "ca"+object29[1:]), 404, 0)
	expect(t, remove(b.ben, "top"), 406, 0)
}

func TestDeleteMany(t *testing.T) {
	t.Parallel()
	for _, errors := range []bool{false, true} {
		b := newBoard(func(o *emulator.Options) { o.Comments.BulkErrors = errors })
		top := b.say(t, b.ben, b.onPlan(), "top")
		reply := b.say(t, b.ben, b.onPlan(), "reply", "parent_id", top)
		theirs := b.say(t, b.ada, b.onPlan(), "theirs")
		got := b.post(t, b.ben, "/comments/bulk/delete/", hash{"comment_ids": []any{top, theirs}})
		expect(t, got, 200, 0)
		if !errors && (got.get("deleted") != 1.0 || got.get("results.0.result") != true || got.get("results.1.result") != false || got.get("results.1.error.code") == nil) {
			t.Errorf("%s", got.Body)
		}
		if errors && (got.get("count") != 1.0 || got.get("errors.0.comment_id") != theirs || got.get("errors.0.code") == nil) {
			t.Errorf("%s", got.Body)
		}
		if left := b.list(t, b.ben, b.onPlan()).bodies(); !cmp.Equal(left, []string{"reply", "theirs"}) {
			t.Errorf("left %v: replies survive", left)
		}
		if got := b.list(t, b.ben, at(reply, "details")).get("comment.parent_id"); got != top {
			t.Errorf("an orphan's parent is %v", got)
		}
		many := slices.Repeat([]any{theirs}, 101)
		expect(t, b.post(t, b.ben, "/comments/bulk/delete/", hash{"comment_ids": many[:100]}), 200, 0)
		for name, ids := range map[string]any{"too many": many, "none": []any{}, "no list": theirs, "null": nil, "numbers": []any{1}, "malformed": []any{"top"}} {
			if got := b.post(t, b.ben, "/comments/bulk/delete/", hash{"comment_ids": ids}); got.Status != 406 {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
		}
	}
}

func TestReactions(t *testing.T) {
	t.Parallel()
	b := newBoard()
	id := b.say(t, b.ben, b.onPlan(), "x")
	set := func(u emulator.User, emoji any) reply { return b.post(t, u, at(id, "reactions"), hash{"emoji": emoji}) }
	set(b.ada, "👍")
	set(b.ben, "🎉")
	got := set(b.ben, "👍")
	if diff := cmp.Diff(hash{"👍": 2.0}, got.get("comment.reactions")); diff != "" || got.get("comment.user_reaction") != "👍" {
		t.Errorf("one each (-want +got):\n%s%s", diff, got.Body)
	}
	if got.get("comment.version") != 1.0 || got.get("comment.edited_at") != nil {
		t.Errorf("a reaction is no edit: %s", got.Body)
	}
	for range 2 {
		for _, u := range []emulator.User{b.ada, b.ben} {
			got = b.call(t, u, http.MethodDelete, at(id, "reactions"), nil)
			expect(t, got, 200, 0)
		}
	}
	if diff := cmp.Diff([]any{}, got.get("comment.reactions")); diff != "" || got.get("comment.user_reaction") != nil {
		t.Errorf("none (-want +got):\n%s%s", diff, got.Body)
	}
	for _, emoji := range []string{"❤️", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪", "1️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "©", "‼️", "☺"} {
		expect(t, set(b.ben, emoji), 200, 0)
	}
	for _, wrong := range []any{"", nil, "thumbsup", "x", "👍👍", "👍 ", "1", "🇩", "\u200d", "👍\u200d", 7, "🏽"} {
		expect(t, set(b.ben, wrong), 406, 0)
	}
	expect(t, set(b.cleo, "👍"), 401, 0) // a guest of the workspace
	foreign := b.say(t, b.eve, b.onLink(), "foreign")
	expect(t, b.post(t, b.ben, at(foreign, "reactions"), hash{"emoji": "👍"}), 401, 0) // read-only there
	expect(t, b.post(t, b.dora, at(foreign, "reactions"), hash{"emoji": "👍"}), 200, 0)
	b.call(t, b.ben, http.MethodDelete, at(id, "delete"), nil)
	expect(t, set(b.ben, "👍"), 406, 0)

	bare := newBoard(func(o *emulator.Options) { o.Comments.BareReactions = true })
	id = bare.say(t, bare.ben, bare.onPlan(), "x")
	got = bare.post(t, bare.ben, at(id, "reactions"), hash{"emoji": "👍"})
	if got.get("reactions.👍") != 1.0 || got.get("user_reaction") != "👍" || got.get("comment") != nil {
		t.Errorf("bare: %s", got.Body)
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	b := newBoard()
	hidden := b.AddNode(emulator.Node{Profile: b.attic.ID, Name: "secret"})
	plan, ids := b.hyphenated(b.plan.ID), []any{}
	for range 25 {
		ids = append(ids, b.AddNode(emulator.Node{Profile: b.room.ID}).ID)
	}
	created := b.post(t, b.ada, b.onPlan(), hash{"body": "x", "target_ids": []any{plan, hidden.ID, b.room.ID, b.portal.ID, b.link.IDAlt, b.plan.ID}})
	want := []any{
		hash{"target_id": plan, "type": "node", "available": true, "name": "plan.pdf"},
		hash{"target_id": b.hyphenated(hidden.ID), "type": "node", "available": true, "name": "secret"},
		hash{"target_id": b.room.ID, "type": "workspace", "available": true, "name": "Design Room"},
		hash{"target_id": b.portal.ID, "type": "share", "available": true, "name": "Portal"},
		hash{"target_id": b.link.ID, "type": "fileshare", "available": true, "name": "plan.pdf"},
	}
	if diff := cmp.Diff(want, created.get("attachments")); diff != "" || created.get("attachment_count") != 5.0 {
		t.Errorf("(-want +got):\n%s%s", diff, created.Body)
	}
	id, _ := created.get("comment.id").(string)
	want[1] = hash{"target_id": b.hyphenated(hidden.ID), "type": "node", "available": false}
	for _, path := range []string{"attachments", "details"} {
		got := b.list(t, b.ben, at(id, path))
		rows, count := got.get("attachments"), got.get("attachment_count")
		if path == "details" {
			rows, count = got.get("comment.attachments"), got.get("comment.attachment_count")
		}
		if diff := cmp.Diff(want, rows); diff != "" || count != 5.0 {
			t.Errorf("%s, to one who may not see all (-want +got):\n%s", path, diff)
		}
	}
	for _, trashed := range []bool{true, false} {
		plan := b.plan
		plan.Trashed = trashed
		b.AddNode(plan)
		if got := b.list(t, b.ada, at(id, "attachments")).get("attachments.0.available"); got == trashed {
			t.Errorf("trashed %v, available %v", trashed, got)
		}
	}
	attach := func(u emulator.User, body any) reply { return b.post(t, u, at(id, "attachments"), body) }
	expect(t, attach(b.ben, hash{"target_id": b.plan.ID}), 401, 0) // author only
	expect(t, attach(b.ada, hash{"target_id": b.plan.ID}), 200, 0) // already there
	expect(t, attach(b.ada, hash{"target_ids": append([]any{object29}, ids[:2]...)}), 404, 0)
	expect(t, attach(b.ada, hash{"target_ids": ids[:21]}), 406, 0)
	if got := b.list(t, b.ada, at(id, "attachments")); got.get("attachment_count") != 5.0 {
		t.Errorf("a refused batch left something: %s", got.Body)
	}
	expect(t, attach(b.ada, hash{"target_ids": ids[:20]}), 200, 0)
	for name, body := range map[string]hash{
		"nothing":   {},
		"both":      {"target_id": plan, "target_ids": []any{plan}},
		"no list":   {"target_ids": plan},
		"empty":     {"target_ids": []any{}},
		"26":        {"target_ids": append(ids, plan)},
		"malformed": {"target_id": "plan"},
		"no text":   {"target_id": 7},
	} {
		if got := attach(b.ada, body); got.Status != 406 {
			t.Errorf("attach %s: %d %s", name, got.Status, got.Body)
		}
		if got := b.post(t, b.ada, b.onPlan(), hash{"body": "x", "target_id": body["target_id"], "target_ids": body["target_ids"]}); got.Status != 406 && name != "nothing" {
			t.Errorf("create with %s: %d %s", name, got.Status, got.Body)
		}
	}
	expect(t, b.post(t, b.ben, b.onPlan(), hash{"body": "x", "target_id": hidden.ID}), 404, 0)
	detach := func(u emulator.User, body any) reply { return b.post(t, u, at(id, "attachments/detach"), body) }
	for i, removed := range []bool{true, false} {
		got := detach(b.ada, hash{"target_id": b.link.IDAlt})
		if got.get("removed") != removed || got.get("attachment_count") != 24.0 {
			t.Errorf("detach %d: %s", i, got.Body)
		}
	}
	expect(t, detach(b.ben, hash{"target_id": plan}), 401, 0)
	expect(t, detach(b.ada, hash{"target_ids": []any{plan}}), 406, 0)
	b.call(t, b.ada, http.MethodDelete, at(id, "delete"), nil)
	expect(t, attach(b.ada, hash{"target_id": plan}), 406, 0)
}

func TestLegacyComments(t *testing.T) {
	t.Parallel()
	b := newBoard()
	id := b.AddComment(emulator.Comment{
		Profile: b.room.ID, Node: b.plan.ID, User: b.ben.ID, Body: "old", Unattributed: true,
		LinkedEntityType: "task", LinkedEntity: "t1", ExternalAuthorEmail: "x@example.test", ExternalAuthorName: "X", ExternalAuthorTokenID: "tok",
		Created: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), Edited: time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC),
	}).ID
	got := b.list(t, b.ben, b.onPlan()).get("comments.0")
	row, _ := got.(map[string]any)
	want := hash{
		"linked_entity_type": "task", "linked_entity_id": "t1", "external_author_email": "x@example.test", "external_author_name": "X",
		"external_author_token_id": "tok", "created": "2025-01-01 00:00:00 UTC", "edited_at": "2025-01-02 00:00:00 UTC", "version": 2.0, "version_hash": nil,
	}
	for name, value := range want {
		if row[name] != value {
			t.Errorf("%s is %v, want %v", name, row[name], value)
		}
	}
	if kind := row["actor"].(map[string]any)["kind"]; kind != "unknown" {
		t.Errorf("an actor of kind %v", kind)
	}
	expect(t, b.post(t, b.ada, at(id, "unlink"), hash{}), 401, 0)
	for range 2 {
		p := b.post(t, b.ben, at(id, "unlink"), hash{})
		m, _ := p.get("comment").(map[string]any)
		value, sent := m["linked_entity_id"]
		if value != nil || !sent || p.Status != 200 {
			t.Errorf("unlink: %s", p.Body)
		}
	}
}

// What the log says of comments, the polls say, too.
func TestCommentsAreNews(t *testing.T) {
	t.Parallel()
	b := newBoard()
	of := func(u emulator.User) string { return "@[user:" + u.ID + ":x]" }
	var top string
	steps := []struct {
		name   string
		do     func()
		events string
	}{
		{"create", func() { top = b.say(t, b.ben, b.onPlan(), "x "+of(b.ada)+of(b.ben)) }, "comment_created comment_mentioned"},
		{"reply", func() { b.say(t, b.ada, b.onPlan(), "y", "parent_id", top) }, "comment_created comment_replied"},
		{"update", func() { b.post(t, b.ben, at(top, "update"), hash{"body": of(b.ada) + of(b.cleo)}) }, "comment_updated comment_mentioned"},
		{"react", func() { b.post(t, b.ada, at(top, "reactions"), hash{"emoji": "👍"}) }, "comment_reaction"},
		{"react again", func() { b.post(t, b.ada, at(top, "reactions"), hash{"emoji": "👍"}) }, ""},
		{"unreact", func() { b.call(t, b.ada, http.MethodDelete, at(top, "reactions"), nil) }, "comment_reaction"},
		{"attach", func() { b.post(t, b.ben, at(top, "attachments"), hash{"target_id": b.plan.ID}) }, "comment_updated"},
		{"attach again", func() { b.post(t, b.ben, at(top, "attachments"), hash{"target_id": b.plan.ID}) }, ""},
		{"detach", func() { b.post(t, b.ben, at(top, "attachments/detach"), hash{"target_id": b.plan.ID}) }, "comment_updated"},
		{"a refusal", func() { b.post(t, b.ada, at(top, "update"), hash{"body": "x"}) }, ""},
		{"delete", func() { b.call(t, b.ben, http.MethodDelete, at(top, "delete"), nil) }, "comment_deleted twice"},
		{"from a link", func() { b.say(t, b.eve, b.onLink(), "z") }, "comment_created"},
	}
	cursor := b.poll(t, b.ada, b.room.ID).cursor()
	seen := 0
	for _, step := range steps {
		step.do()
		// Every event shows to somebody: the targeted ones to their targets.
		var names []string
		rows := map[string]string{}
		for _, u := range []emulator.User{b.ada, b.ben, b.cleo} {
			for _, e := range b.search(t, u, "workspace_id", b.room.ID, "subcategory", "comments").events() {
				id := e["event_id"].(string)
				if rows[id] == "" && e["object_id"] == b.plan.ID && e["workspace_id"] == b.room.ID {
					rows[id] = e["event"].(string)
					names = append(names, rows[id])
				}
			}
		}
		want := strings.Fields(step.events)
		if last := len(want) - 1; last > 0 && want[last] == "twice" {
			want[last] = want[last-1]
		}
		if got := len(names) - seen; got != len(want) {
			t.Errorf("%s: %d events more, want %v of %v", step.name, got, want, names)
		}
		seen = len(names)
		for _, name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("%s: no %s", step.name, name)
			}
		}
		got := b.poll(t, b.ada, b.room.ID, "lastactivity", cursor, "updated", "1")
		fields := []string{}
		if len(want) > 0 {
			fields = []string{"comments", "comments:" + b.plan.ID}
		}
		if diff := cmp.Diff(fields, got.activity()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		cursor = got.cursor()
	}
	if got := b.search(t, b.cleo, "workspace_id", b.room.ID, "event", "comment_mentioned").events(); len(got) != 1 || got[0]["user_id"] != b.cleo.ID {
		t.Errorf("Cleo was mentioned once: %v", got)
	}
	if got := b.poll(t, b.ben, b.link.ID, "lastactivity", "2026-01-01 00:00:00 UTC", "updated", "1"); !slices.Contains(got.activity(), "comments:"+b.plan.ID) {
		t.Errorf("the File Share: %s", got.Body)
	}
	b.say(t, b.ada, b.onPortal(), "x")
	row := b.search(t, b.ada, "share_id", b.portal.ID, "event", "comment_created")
	if row.get("events.0.category") != "share" || row.get("events.0.description") != "Ada Stone commented on Portal" {
		t.Errorf("%s", row.Body)
	}
}
