package emulator_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// board is a world with things to comment on: a plan in the room, a photo in the portal, a chest in the attic, and a
// link to the plan that was given to Eve and Dora. Cleo is a guest of the portal, too, and Fay another.
type board struct {
	*world
	fay                emulator.User
	plan, photo, chest emulator.Node
	link               emulator.FileShare
	now                time.Time
}

type hash = map[string]any

func newBoard(change ...func(*emulator.Options)) *board {
	b := &board{now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	o := emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}, Clock: func() time.Time { return b.now }}
	for _, c := range change {
		c(&o)
	}
	b.world = newWorld(o)
	b.fay = b.AddUser(emulator.User{FirstName: "Fay"})
	b.keys[b.fay.ID] = b.AddKey(emulator.Key{User: b.fay.ID}).Token
	b.SetMember(b.portal.ID, b.cleo.ID, emulator.Guest)
	b.SetMember(b.portal.ID, b.fay.ID, emulator.Guest)
	b.plan = b.AddNode(emulator.Node{Profile: b.room.ID, Name: "plan.pdf"})
	b.photo = b.AddNode(emulator.Node{Profile: b.portal.ID, Name: "photo.jpg"})
	b.chest = b.AddNode(emulator.Node{Profile: b.attic.ID, Name: "chest", Kind: "folder"})
	b.link = b.AddFileShare(emulator.FileShare{
		Node: b.plan.ID, Owner: b.ada.ID, Grants: []emulator.Grant{{User: b.eve.ID}, {User: b.dora.ID}}, CommentsEnabled: true,
	})
	return b
}

// Paths of what is commented on.
func (b *board) onRoom() string   { return "/comments/workspace/" + b.room.ID + "/" }
func (b *board) onPlan() string   { return b.onRoom() + b.plan.ID + "/" }
func (b *board) onPortal() string { return "/comments/share/" + b.portal.ID + "/" }
func (b *board) onPhoto() string  { return b.onPortal() + b.photo.ID + "/" }
func (b *board) onLink() string   { return "/comments/fileshare/" + b.link.ID + "/" + b.plan.ID + "/" }

func at(id, what string) string { return "/comments/" + id + "/" + what + "/" }

// call sends a JSON body, or a raw one.
func (b *board) call(t *testing.T, u emulator.User, method, path string, body any, header ...string) reply {
	t.Helper()
	text, raw := body.(string)
	if !raw {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	if body == nil {
		text = ""
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://emulator.test/api/current"+path, bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.keys[u.ID])
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return b.send(t, r)
}

func (b *board) post(t *testing.T, u emulator.User, path string, body any, header ...string) reply {
	t.Helper()
	return b.call(t, u, http.MethodPost, path, body, header...)
}

// say posts a comment that must be taken, and returns its id.
func (b *board) say(t *testing.T, u emulator.User, path, text string, more ...string) string {
	t.Helper()
	body := hash{"body": text}
	for i := 0; i < len(more); i += 2 {
		body[more[i]] = more[i+1]
	}
	p := b.post(t, u, path, body)
	id, _ := p.get("comment.id").(string)
	if p.Status != http.StatusOK || id == "" {
		t.Fatalf("%s: %d %s", path, p.Status, p.Body)
	}
	return id
}

func (b *board) list(t *testing.T, u emulator.User, path string, query ...string) reply {
	t.Helper()
	return b.as(t, u, http.MethodGet, path, query...)
}

// bodies lists the texts of a list of comments.
func (p reply) bodies() []string {
	list, _ := p.get("comments").([]any)
	texts := []string{}
	for _, c := range list {
		texts = append(texts, c.(map[string]any)["body"].(string))
	}
	return texts
}

// expect compares status, code and, when it matters, the failed parameters.
func expect(t *testing.T, got reply, status, code int, failures ...string) {
	t.Helper()
	if got.Status != status || code != 0 && got.code() != code || len(failures) > 0 && !cmp.Equal(got.failures(), failures) {
		t.Errorf("%d %d %v, want %d %d %v: %s", got.Status, got.code(), got.failures(), status, code, failures, got.Body)
	}
}

func TestCommentObject(t *testing.T) {
	t.Parallel()
	b := newBoard()
	created := b.post(t, b.ben, b.onPlan(), hash{"body": "Hello @[user:" + b.ada.ID + ":Ada]", "properties": hash{"a": 1}})
	id, _ := created.get("comment.id").(string)
	if len(id) != 35 || !strings.HasPrefix(id, "ca") || id[5] != '-' {
		t.Errorf("id %q", id)
	}
	plan := b.hyphenated(b.plan.ID)
	want := hash{
		"id": id, "entity": plan, "user_id": b.ben.ID, "body": "Hello @[user:" + b.ada.ID + ":Ada]",
		"actor": hash{
			"user_id": b.ben.ID, "kind": "api_key", "agent_name": nil, "name_source": nil, "credential_type": "api_key", "verified": false,
		},
		"profile_type": "workspace", "profile_id": b.room.ID,
		"mentions": []any{b.ada.ID}, "reactions": []any{}, "version_hash": created.get("comment.version_hash"), "version": 1.0,
		"can_edit": true, "can_delete": true, "can_reply": true,
		"created": "2026-06-01 12:00:00 UTC", "updated": "2026-06-01 12:00:00 UTC",
	}
	if diff := cmp.Diff(want, created.get("comment")); diff != "" {
		t.Errorf("create (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(set("result status current_api_version comment attachments attachment_count"), keysOf(created.JSON)); diff != "" {
		t.Errorf("create's keys (-want +got):\n%s", diff)
	}
	want["attachment_count"] = 0.0
	if diff := cmp.Diff([]any{want}, b.list(t, b.ben, b.onPlan()).get("comments")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for name := range strings.FieldsSeq("parent_id scope_id linked_entity_type linked_entity_id external_author_email external_author_name " +
		"external_author_token_id reference user_reaction edited_at deleted") {
		want[name] = nil
	}
	want["attachments"] = []any{}
	if diff := cmp.Diff(want, b.list(t, b.ben, at(id, "details")).get("comment")); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	if got := b.list(t, b.ada, at(id, "details")); got.get("comment.can_edit") != false || got.get("comment.can_delete") != true {
		t.Errorf("to an admin: %s", got.Body)
	}
}

// hyphenated is an id as answers show it.
func (*board) hyphenated(id string) string {
	var groups []string
	for group := range slices.Chunk([]byte(id), 5) {
		groups = append(groups, string(group))
	}
	return strings.Join(groups, "-")
}

func TestCommentOnTheWholeProfile(t *testing.T) {
	t.Parallel()
	b := newBoard()
	id := b.say(t, b.fay, b.onPortal(), "Nice portal")
	got := b.list(t, b.fay, at(id, "details"))
	if got.get("comment.entity") != b.portal.ID || got.get("comment.profile_type") != "share" || got.get("comment.profile_id") != b.portal.ID {
		t.Errorf("%s", got.Body)
	}
}

func TestCommentLists(t *testing.T) {
	t.Parallel()
	b := newBoard()
	for i := range 5 {
		b.now = b.now.Add(time.Second)
		body := hash{"body": strconv.Itoa(i)}
		if i == 2 {
			body["reference"] = hash{"type": "image"}
		}
		b.post(t, b.ben, b.onPlan(), body)
	}
	b.AddComment(emulator.Comment{Profile: b.room.ID, Node: b.plan.ID, User: b.ben.ID, Body: "old", Created: b.now.Add(-150 * 24 * time.Hour)})
	b.AddComment(emulator.Comment{Profile: b.room.ID, Node: b.plan.ID, User: b.ben.ID, Body: "gone", Deleted: b.now})
	b.say(t, b.ben, b.onRoom(), "room")
	tests := map[string]struct {
		path  string
		query string
		want  string
	}{
		"a node":                 {b.onPlan(), "", "old 0 1 2 3 4"},
		"the whole profile":      {b.onRoom(), "", "0 1 2 3 4 room"},
		"ascending":              {b.onPlan(), "sort=asc", "old 0 1 2 3 4"},
		"descending":             {b.onPlan(), "sort=desc", "4 3 2 1 0 old"},
		"a limit":                {b.onPlan(), "limit=2", "old 0"},
		"an offset":              {b.onPlan(), "limit=2&offset=3", "2 3"},
		"a page":                 {b.onPlan(), "limit=4&page=2", "3 4"},
		"the first page":         {b.onPlan(), "limit=2&page=1", "old 0"},
		"behind the end":         {b.onPlan(), "offset=100", ""},
		"with what is deleted":   {b.onPlan(), "include_deleted=true", "old 0 1 2 3 4 gone"},
		"without what is":        {b.onPlan(), "include_deleted=false", "old 0 1 2 3 4"},
		"of a type of reference": {b.onPlan(), "reference_type=image", "2"},
		"of another":             {b.onPlan(), "reference_type=audio", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.list(t, b.ben, test.path+"?"+test.query)
			if diff := cmp.Diff(strings.Fields(test.want), got.bodies()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.get("count") != float64(len(got.bodies())) || got.get("allowed") != true || got.get("total") != nil || got.get("remaining") != nil {
				t.Errorf("%s", got.Body)
			}
			if strings.Contains(got.Body, `"deleted":`) {
				t.Errorf("a row tells when it was deleted: %s", got.Body)
			}
		})
	}
	got := b.list(t, b.ben, b.onPlan()+"?include_total=true&limit=2&offset=1")
	if got.get("total") != 6.0 || got.get("limit") != 2.0 || got.get("offset") != 1.0 || got.get("count") != 2.0 {
		t.Errorf("totals: %s", got.Body)
	}
	for _, query := range []string{
		"limit=1", "limit=201", "limit=x", "offset=-1", "page=0", "page=2&offset=2", "sort=created", "include_deleted=maybe", "reference_type=text", "include_total=2",
	} {
		expect(t, b.list(t, b.ben, b.onPlan()+"?"+query), 406, 0)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	b := newBoard()
	top := b.say(t, b.ben, b.onPlan(), "top")
	reply := b.say(t, b.ada, b.onPlan(), "reply", "parent_id", top)
	deep := b.say(t, b.ben, b.onPlan(), "deep", "parent_id", strings.ReplaceAll(reply, "-", ""))
	for _, id := range []string{reply, deep} {
		got := b.list(t, b.ada, at(id, "details"))
		if got.get("comment.parent_id") != top || got.get("comment.can_reply") != false {
			t.Errorf("%s", got.Body)
		}
	}
	elsewhere := b.say(t, b.ben, b.onRoom(), "elsewhere")
	foreign := b.say(t, b.eve, b.onLink(), "foreign")
	gone := b.say(t, b.ben, b.onPlan(), "gone")
	b.call(t, b.ben, http.MethodDelete, at(gone, "delete"), nil)
	for name, test := range map[string]struct {
		parent any
		status int
	}{
		"on another entity": {elsewhere, 404},
		"on another scope":  {foreign, 404},
		"deleted":           {gone, 404},
		"unknown":           {"ca" + object29[1:], 404},
		"malformed":         {"top", 406},
		"no text":           {7, 406},
		"null":              {nil, 200},
	} {
		got := b.post(t, b.ben, b.onPlan(), hash{"body": "x", "parent_id": test.parent})
		if got.Status != test.status {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}

func TestActors(t *testing.T) {
	t.Parallel()
	b := newBoard()
	agent := b.AddKey(emulator.Key{User: b.ben.ID, AgentName: "Scout"}).Token
	got := b.post(t, b.ben, b.onPlan(), hash{"body": "x"}, "Authorization", "Bearer "+agent)
	if got.get("comment.actor.kind") != "agent" || got.get("comment.actor.agent_name") != "Scout" || got.get("comment.actor.verified") != false {
		t.Errorf("%s", got.Body)
	}
}

// A comment that is put into the past is news of then in the log, and of now in polls.
func TestAddedCommentsAreDated(t *testing.T) {
	t.Parallel()
	b := newBoard()
	cursor := b.poll(t, b.ada, b.room.ID).cursor()
	old := time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC)
	actor := &emulator.Actor{User: b.ben.ID, Kind: "app", AgentName: "Mill"}
	first := b.AddComment(emulator.Comment{
		Profile: b.room.ID, Node: b.plan.ID, User: b.ben.ID, Body: "@[user:" + b.ada.ID + ":Ada]", Created: old, Actor: actor, Targets: []string{b.hyphenated(b.plan.ID)},
	})
	b.AddComment(emulator.Comment{FileShare: b.link.ID, User: b.eve.ID, Body: "x", Created: old})
	b.AddComment(emulator.Comment{Profile: b.room.ID, Node: b.plan.ID, User: b.ada.ID, Parent: first.ID, Body: "x", Created: old})
	rows := b.search(t, b.ada, "workspace_id", b.room.ID, "subcategory", "comments")
	if diff := cmp.Diff(slices.Repeat([]any{"2026-04-01 08:00:00 UTC"}, 5), rows.column("created")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := rows.get("events.0.actor.agent_name"); got != "Mill" {
		t.Errorf("the actor is %v", got)
	}
	if got := b.poll(t, b.ada, b.room.ID, "lastactivity", cursor, "updated", "1"); !cmp.Equal(got.activity(), []string{"comments", "comments:" + b.plan.ID}) {
		t.Errorf("%s", got.Body)
	}
	got := b.list(t, b.ben, b.onRoom())
	if diff := cmp.Diff([]string{first.Body, "x"}, got.bodies()); diff != "" || got.get("comments.0.attachment_count") != 1.0 || got.get("comments.0.actor.kind") != "app" {
		t.Errorf("(-want +got):\n%s%s", diff, got.Body)
	}
}
