package emulator_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

const seedFile = `{
  "users":      [{"id": "ada", "email": "ada@example.test", "first_name": "Ada", "account_type": "human"},
                 {"id": "4000000000000000001", "first_name": "Scout", "account_type": "agent"}],
  "orgs":       [{"id": "acme", "domain": "acme", "name": "Acme", "owner": "ada", "auditors": ["4000000000000000001"]}],
  "workspaces": [{"id": "design", "org_id": "acme", "name": "Design", "folder_name": "design"}],
  "shares":     [{"id": "portal", "workspace_id": "design", "title": "Portal"}],
  "members":    [{"profile_id": "design", "user_id": "4000000000000000001", "role": "member"}],
  "keys":       [{"token": "all", "user_id": "ada"},
                 {"token": "narrow", "user_id": "ada", "scopes": ["workspace:design:rw", "org:*:r"], "expires": "2030-01-01T00:00:00Z"}],
  "events":     [{"event": "workspace_storage_file_added", "workspace_id": "design", "calling_user": "4000000000000000001",
                  "object_id": "2abcdefghijklmnopqrstuvwxyz12", "object_name": "plan.pdf", "created": "2026-01-01T00:00:00Z"},
                 {"event": "share_created", "share_id": "portal", "calling_user": "ada", "created": "2026-01-02T00:00:00Z"}],
  "histories":  [{"workspace_id": "design", "events": 50, "from": "2026-02-01T00:00:00Z", "to": "2026-02-03T00:00:00Z", "seed": 7}]
}`

func TestLoad(t *testing.T) {
	t.Parallel()
	w := &world{Server: emulator.New(emulator.Options{Clock: func() time.Time { return epoch }, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})}
	if err := w.Load(strings.NewReader(seedFile)); err != nil {
		t.Fatal(err)
	}
	me := w.with(t, "all", http.MethodGet, "/user/me/details/").get("user.id").(string)
	org := w.with(t, "narrow", http.MethodGet, "/org/acme/details/")
	if org.get("org.owner") != me || org.get("org.member") != true {
		t.Errorf("organization: %s", org.Body)
	}
	id := org.get("org.id").(string)
	got := w.with(t, "all", http.MethodGet, "/events/search/", "org_id", id, "limit", "2")
	if diff := cmp.Diff([]any{"Scout added plan.pdf to Design", "Ada created Portal"}, got.column("description")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if kind := got.get("events.0.actor.kind"); kind != "agent" {
		t.Errorf("kind %v", kind)
	}
	if rest := w.with(t, "all", http.MethodGet, "/events/search/", "org_id", id, "created-min", "2026-02-01"); len(rest.events()) < 40 {
		t.Errorf("%d events of the history", len(rest.events()))
	}
}

const commentedSeed = `{
  "users":      [{"id": "ada", "first_name": "Ada"}, {"id": "eve", "first_name": "Eve"}],
  "orgs":       [{"id": "acme", "domain": "acme", "owner": "ada"}],
  "workspaces": [{"id": "design", "org_id": "acme"}],
  "shares":     [{"id": "portal", "workspace_id": "design", "no_multiplayer": true, "no_comments": true,
                  "hide_team_comments": true, "hide_guest_comments": true}],
  "nodes":      [{"id": "folder", "profile_id": "design", "kind": "folder", "name": "Plans"},
                 {"id": "plan", "profile_id": "design", "parent_id": "folder", "name": "plan.pdf", "creator": "ada"},
                 {"id": "2abcdefghijklmnopqrstuvwxyz12", "profile_id": "portal"}],
  "file_shares": [{"id": "link", "node_id": "plan", "owner": "ada", "grants": ["eve"], "comments_enabled": true}],
  "keys":       [{"token": "all", "user_id": "ada"}, {"token": "hers", "user_id": "eve"}],
  "events":     [{"event": "workspace_storage_file_added", "workspace_id": "design", "object_id": "plan", "object_name": "plan.pdf"}],
  "comments":   [{"id": "first", "profile_id": "design", "node_id": "plan", "user_id": "ada", "body": "Looks good.",
                  "reference": {"type": "document", "page": 2}, "properties": {"a": 1}, "targets": ["plan", "design"]},
                 {"profile_id": "design", "node_id": "plan", "user_id": "ada", "parent_id": "first", "body": "To me."},
                 {"file_share_id": "link", "user_id": "eve", "body": "Thanks."}]
}`

func TestLoadComments(t *testing.T) {
	t.Parallel()
	w := &world{Server: emulator.New(emulator.Options{Clock: func() time.Time { return epoch }, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})}
	if err := w.Load(strings.NewReader(commentedSeed)); err != nil {
		t.Fatal(err)
	}
	room := w.with(t, "all", http.MethodGet, "/workspaces/all/").get("workspaces.0.id").(string)
	plan := w.with(t, "all", http.MethodGet, "/events/search/", "workspace_id", room).get("events.0.object_id").(string)
	got := w.with(t, "all", http.MethodGet, "/comments/workspace/"+room+"/"+plan+"/")
	if diff := cmp.Diff([]string{"Looks good.", "To me.", "Thanks."}, got.bodies()); diff != "" {
		t.Fatalf("(-want +got):\n%s%s", diff, got.Body)
	}
	if got.get("comments.1.parent_id") != got.get("comments.0.id") || got.get("comments.0.attachment_count") != 2.0 || got.get("comments.0.reference.page") != 2.0 {
		t.Errorf("%s", got.Body)
	}
	link := got.get("comments.2.scope_id").(string)
	if theirs := w.with(t, "hers", http.MethodGet, "/comments/fileshare/"+link+"/"+plan+"/").bodies(); !cmp.Equal(theirs, []string{"Thanks."}) {
		t.Errorf("the recipient sees %v", theirs)
	}
}

func TestLoadStorage(t *testing.T) {
	t.Parallel()
	w := unlimited()
	err := w.Load(strings.NewReader(`{
  "users":      [{"id": "kay"}],
  "orgs":       [{"id": "acme", "owner": "kay"}],
  "workspaces": [{"id": "design", "org_id": "acme", "folder_name": "design", "no_intelligence": true}],
  "shares":     [{"workspace_id": "design", "custom_name": "own"},
                 {"workspace_id": "design", "custom_name": "plans", "folder_id": "folder",
                  "access": "Anyone with the link", "password": "open sesame", "no_summaries": true}],
  "nodes":      [{"id": "folder", "profile_id": "design", "kind": "folder", "name": "Plans"},
                 {"profile_id": "design", "parent_id": "folder", "kind": "note", "name": "Log.md", "ai_state": "failed",
                  "versions": [{"content": "one", "creator": "kay", "created": "2026-01-01T00:00:00Z"}, {"content": "two"}]},
                 {"profile_id": "design", "parent_id": "folder", "name": "film", "mime_type": "video/mp4", "size": 5000000000,
                  "content": "Steam.", "summary": "A film."}],
  "keys":       [{"token": "hers", "user_id": "kay"}]
}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.with(t, "hers", http.MethodGet, "/share/own/storage/root/list/").nodeNames(); len(got) != 0 {
		t.Errorf("its own storage holds %v", got)
	}
	p := w.with(t, "hers", http.MethodGet, "/share/plans/storage/root/list/")
	if diff := cmp.Diff([]string{"film", "Log.md"}, p.nodeNames()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	film := map[string]any{"state": "ready", "attach": true, "summary": true}
	if diff := cmp.Diff(film, p.get("nodes.items.0.ai")); diff != "" || p.get("nodes.items.0.size") != 5e9 {
		t.Errorf("(-want +got):\n%s%s", diff, p.Body)
	}
	note := p.get("nodes.items.1.id").(string)
	if got := w.with(t, "hers", http.MethodGet, "/workspace/design/storage/"+note+"/read/"); got.Body != "two" {
		t.Errorf("the note reads %q", got.Body)
	}
	if state := p.get("nodes.items.1.ai.state"); state != "failed" {
		t.Errorf("the note is %v", state)
	}
	if got := w.with(t, "", http.MethodGet, "/share/plans/storage/root/list/"); got.code() != 199312 {
		t.Errorf("without the password: %s", got.Body)
	}
}

// The sample of the format has every member.
func TestLoadFullSample(t *testing.T) {
	t.Parallel()
	file, err := os.Open(filepath.Join("seedfile", "testdata", "full.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := &world{Server: emulator.New(emulator.Options{Clock: func() time.Time { return epoch }})}
	if err := w.Load(file); err != nil {
		t.Fatal(err)
	}
	node := w.with(t, "all", http.MethodGet, "/workspace/design/storage/2abcdefghijklmnopqrstuvwxyz12/details/")
	if node.get("node.name") != "plan.pdf" {
		t.Errorf("%s", node.Body)
	}
}

func TestLoadRefers(t *testing.T) {
	t.Parallel()
	s := emulator.New(emulator.Options{})
	ada := s.AddUser(emulator.User{})
	org := s.AddOrg(emulator.Org{Owner: ada.ID})
	room := s.AddWorkspace(emulator.Workspace{Org: org.ID})
	plan := s.AddNode(emulator.Node{Profile: room.ID})
	note := s.AddComment(emulator.Comment{Profile: room.ID, Node: plan.ID, User: ada.ID})
	event := s.AddEvent(emulator.Event{Workspace: room.ID})
	file := `{"comments": [{"profile_id": "` + room.ID + `", "node_id": "` + plan.ID + `", "user_id": "` + ada.ID + `", "parent_id": "` + note.ID + `"}],
		"events": [{"workspace_id": "` + room.ID + `", "parent_id": "` + event.ID + `"}]}`
	if err := s.Load(strings.NewReader(file)); err != nil {
		t.Errorf("objects of the server: %v", err)
	}
	err := emulator.New(emulator.Options{}).Load(strings.NewReader(file))
	if err == nil || strings.Count(err.Error(), "there is no") != 6 {
		t.Errorf("objects of another server: %v", err)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, seed := range []uint64{0, 0, 1} {
		s := emulator.New(emulator.Options{Seed: seed})
		u := s.AddUser(emulator.User{})
		o := s.AddOrg(emulator.Org{Owner: u.ID})
		e := s.AddEvent(emulator.Event{Org: o.ID})
		k := s.AddKey(emulator.Key{User: u.ID})
		if len(u.ID) != 19 || strings.Trim(u.ID, "0123456789") != "" {
			t.Errorf("profile id %q", u.ID)
		}
		groups := strings.Split(e.ID, "-")
		if len(e.ID) != 34 || len(groups) != 6 || len(groups[0]) != 5 || len(groups[5]) != 4 || e.ID != strings.ToLower(e.ID) {
			t.Errorf("event id %q", e.ID)
		}
		ids[u.ID+o.ID+e.ID+k.Token] = true
	}
	if len(ids) != 2 {
		t.Errorf("two seeds made %d sets of ids", len(ids))
	}
}
