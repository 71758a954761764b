package emulator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// cabinet is a world with files: plans in the room, in a folder and one below it, and a picture in the portal.
type cabinet struct {
	*world
	folder, inner      emulator.Node
	guide, engine, old emulator.Node
	poster             emulator.Node
	now                time.Time
}

func newCabinet(change ...func(*emulator.Options)) *cabinet {
	b := &cabinet{now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	o := emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}, Clock: func() time.Time { return b.now }}
	for _, c := range change {
		c(&o)
	}
	b.world = newWorld(o)
	b.SetMember(b.portal.ID, b.cleo.ID, emulator.Guest)
	b.folder = b.AddNode(emulator.Node{Profile: b.room.ID, Kind: "folder", Name: "Plans"})
	b.inner = b.AddNode(emulator.Node{Profile: b.room.ID, Kind: "folder", Name: "Drafts", Parent: b.folder.ID})
	b.guide = b.AddNode(emulator.Node{
		Profile: b.room.ID, Kind: "note", Name: "Guide.md", Creator: b.ada.ID,
		Content: "# Guide\n\nThe mill grinds numbers. It has two columns.\n\nTurn the handle to start.",
	})
	b.engine = b.AddNode(emulator.Node{
		Profile: b.room.ID, Name: "Engine.pdf", Parent: b.folder.ID,
		Content: "The difference engine tabulates polynomials.\fIts printer stamps plates.",
	})
	b.old = b.AddNode(emulator.Node{Profile: b.room.ID, Name: "engine draft.txt", Parent: b.inner.ID, Content: "Brass wheels and a crank."})
	b.poster = b.AddNode(emulator.Node{Profile: b.portal.ID, Name: "Poster.png"})
	return b
}

func (b *cabinet) inRoom(what string) string {
	return "/workspace/" + b.room.ID + "/storage/" + what + "/"
}

func (b *cabinet) inPortal(what string) string {
	return "/share/" + b.portal.ID + "/storage/" + what + "/"
}

func (b *cabinet) get(t *testing.T, u emulator.User, path string, query ...string) reply {
	t.Helper()
	return b.as(t, u, http.MethodGet, path, query...)
}

// names lists the names of a list of nodes.
func (p reply) nodeNames() []string {
	list, _ := p.get("nodes.items").([]any)
	names := []string{}
	for _, n := range list {
		names = append(names, n.(map[string]any)["name"].(string))
	}
	return names
}

func TestListNodes(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	for name, want := range map[string]struct {
		folder string
		query  []string
		names  []string
	}{
		"the root, by name":   {"root", nil, []string{"Guide.md", "Plans"}},
		"a folder, by name":   {b.folder.ID, nil, []string{"Drafts", "Engine.pdf"}},
		"a folder, backwards": {b.folder.ID, []string{"sort_dir", "desc"}, []string{"Engine.pdf", "Drafts"}},
		"a folder, by type":   {b.folder.ID, []string{"sort_by", "type"}, []string{"Engine.pdf", "Drafts"}},
		"an empty trash":      {"trash", nil, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := b.get(t, b.ben, b.inRoom(want.folder+"/list"), want.query...)
			if diff := cmp.Diff(want.names, p.nodeNames()); diff != "" || p.Status != 200 {
				t.Errorf("%d (-want +got)\n%s", p.Status, diff)
			}
		})
	}
	for name, query := range map[string][]string{
		"order":     {"sort_by", "size"},
		"direction": {"sort_dir", "up"},
		"page size": {"page_size", "50"},
		"cursor":    {"cursor", "AAAA"},
	} {
		t.Run("refuses another "+name, func(t *testing.T) {
			t.Parallel()
			if p := b.get(t, b.ben, b.inRoom("root/list"), query...); p.Status != 406 || !strings.HasPrefix(p.failures()[0], query[0]) {
				t.Errorf("%d %s", p.Status, p.Body)
			}
		})
	}
	expect(t, b.get(t, b.ben, b.inRoom(b.guide.ID+"/list")), 406, 10022)
	expect(t, b.get(t, b.ben, b.inRoom(b.poster.ID+"/list")), 404, 133123)
	expect(t, b.get(t, b.eve, b.inRoom("root/list")), 401, 10545)
	expect(t, b.get(t, b.cleo, b.inRoom("trash/list")), 401, 0)
}

func TestKeysetPages(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	var want []string
	for i := range 230 {
		want = append(want, fmt.Sprintf("file %03d", i))
		b.AddNode(emulator.Node{Profile: b.attic.ID, Name: want[i]})
	}
	path := "/workspace/" + b.attic.ID + "/storage/root/list/"
	b.SetMember(b.attic.ID, b.ben.ID, emulator.Member)
	var got []string
	cursor, first := "", ""
	for range 3 {
		p := b.get(t, b.ben, path, "cursor", cursor)
		got = append(got, p.nodeNames()...)
		cursor, _ = p.get("pagination.next_cursor").(string)
		if first == "" {
			first = cursor
		}
		if more := p.get("pagination.has_more"); more != (cursor != "") || p.get("pagination.page_size") != 100.0 {
			t.Errorf("%v %q", more, cursor)
		}
		b.AddNode(emulator.Node{Profile: b.attic.ID, Name: "a late one"})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	expect(t, b.get(t, b.ben, path, "cursor", first, "sort_dir", "desc"), 406, 199601)
	expect(t, b.get(t, b.ben, path, "cursor", first, "page_size", "250"), 406, 199601)
	expect(t, b.get(t, b.ada, path, "cursor", first), 406, 199601)
	b.InvalidateCursors()
	expect(t, b.get(t, b.ben, path, "cursor", first), 406, 199601)
}

func TestTrash(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	thrown := b.folder
	thrown.Trashed = true
	b.AddNode(thrown)
	if got := b.get(t, b.ben, b.inRoom("trash/list")).nodeNames(); !cmp.Equal(got, []string{"Plans"}) {
		t.Errorf("the trash holds %v", got)
	}
	expect(t, b.get(t, b.ben, b.inRoom(b.folder.ID+"/list")), 404, 133123)
	if p := b.get(t, b.ben, b.inRoom(b.folder.ID+"/details")); p.get("node.parent") != "trash" {
		t.Errorf("%s", p.Body)
	}
	expect(t, b.get(t, b.cleo, b.inRoom(b.engine.ID+"/details")), 404, 133123)
	if got := b.get(t, b.ben, b.inRoom("recent")).nodeNames(); !cmp.Equal(got, []string{"Guide.md"}) {
		t.Errorf("recent are %v", got)
	}
}

func TestNodeDetails(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	node := func(level string) map[string]bool {
		p := b.get(t, b.ben, b.inRoom(b.guide.ID+"/details"), "output", level)
		if p.get("format") != "single" {
			t.Errorf("%s", p.Body)
		}
		return keysOf(p.get("node").(map[string]any))
	}
	for level, want := range map[string]string{
		"terse":    "id name type parent size mimetype modified summary previews",
		"standard": "id name type parent size mimetype version created modified ai summary previews",
		"full":     "id name type parent size mimetype version created modified ai summary metadata_facts previews",
	} {
		if diff := cmp.Diff(set(want), node(level)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", level, diff)
		}
	}
	p := b.get(t, b.ben, b.inRoom(b.guide.ID+"/details"))
	want := map[string]any{"state": "indexed", "attach": true, "summary": true}
	if diff := cmp.Diff(want, p.get("node.ai")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = map[string]any{"title": "Guide", "short": "The mill grinds numbers.", "long": "The mill grinds numbers."}
	if diff := cmp.Diff(want, p.get("node.summary")); diff != "" || p.get("node.previews.thumbnail.state") != "ready" {
		t.Errorf("full summary and previews (-want +got)\n%s", diff)
	}
	p = b.get(t, b.ben, b.inRoom(b.guide.ID+"/details"), "output", "terse")
	if diff := cmp.Diff(map[string]any{"title": "Guide"}, p.get("node.summary")); diff != "" || p.get("node.previews.thumbnail.ready") != true {
		t.Errorf("terse summary and previews (-want +got)\n%s: %s", diff, p.Body)
	}
	p = b.get(t, b.ben, b.inRoom(b.guide.ID+"/details"))
	if got := p.get("node.version"); strings.ReplaceAll(got.(string), "-", "") != b.guide.Versions[0].ID {
		t.Errorf("the version is %v, want %s", got, b.guide.Versions[0].ID)
	}
}

func TestManyNodeDetails(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	twice := strings.ToUpper(b.guide.ID)
	p := b.get(t, b.ben, b.inRoom(b.guide.ID+","+twice+",nonsense,"+b.poster.ID+"/details"))
	nodes, _ := p.get("nodes").([]any)
	if p.Status != 200 || p.get("format") != "multi" || len(nodes) != 1 {
		t.Errorf("%d %s", p.Status, p.Body)
	}
	if p.get("errors.0.code") != 191878.0 || p.get("errors.0.node_id") != "nonsense" || p.get("errors.1.code") != 133123.0 {
		t.Errorf("%v", p.get("errors"))
	}
	none := b.get(t, b.ben, b.inRoom(b.poster.ID+","+b.poster.ID+"/details"))
	if none.Status != 404 || none.get("result") != false || none.get("errors.0.code") != 133123.0 || none.get("error") != nil {
		t.Errorf("%d %s", none.Status, none.Body)
	}
	old := newCabinet(func(o *emulator.Options) { o.Wrapped = true })
	if p := old.get(t, old.ben, old.inRoom("x,x/details")); p.Status != 404 || p.get("result") != "no" || p.get("response.errors.0.code") != 191878.0 {
		t.Errorf("%d %s", p.Status, p.Body)
	}
	expect(t, b.get(t, b.ben, b.inRoom(strings.Repeat(b.guide.ID+",", 25)+b.guide.ID+"/details")), 400, 115519)
	expect(t, b.get(t, b.ben, b.inRoom("nonsense/details")), 406, 10023)
	escaped := b.guide.ID + "%2C" + b.engine.ID
	expect(t, b.get(t, b.ben, b.inRoom(escaped+"/details")), 406, 10023)
	expect(t, b.get(t, b.ben, b.inRoom("/details")), 406, 10023)
	if p := b.get(t, b.ben, b.inRoom(b.guide.ID+","+escaped+"/details")); p.get("errors.0.code") != 191878.0 {
		t.Errorf("a comma that is escaped sets ids apart: %s", p.Body)
	}
}

func TestRecentNodes(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	b.now = b.now.Add(time.Hour)
	note := b.AddNode(emulator.Node{Profile: b.room.ID, Kind: "note", Name: "Late.md", Content: "x"})
	if got := b.get(t, b.ben, b.inRoom("recent")).nodeNames(); got[0] != note.Name || len(got) != 6 {
		t.Errorf("recent are %v", got)
	}
	if got := b.get(t, b.ben, b.inRoom("recent"), "type", "note").nodeNames(); !cmp.Equal(got, []string{"Late.md", "Guide.md"}) {
		t.Errorf("recent notes are %v", got)
	}
	expect(t, b.get(t, b.ben, b.inRoom("recent"), "type", "paper"), 406, 10022)
}

func TestShareStorage(t *testing.T) {
	t.Parallel()
	open := func(access, password string) (*cabinet, string) {
		b := newCabinet()
		b.SetMember(b.org.ID, b.dora.ID, emulator.Member)
		h := b.portal
		h.Access, h.Password = access, password
		b.AddShare(h)
		return b, b.inPortal("root/list")
	}
	look := func(t *testing.T, b *cabinet, path, token, password string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://emulator.test/api/current"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if password != "" {
			r.Header.Set("X-Ve-Password", password)
		}
		p := b.send(t, r)
		if p.Status == 200 && !cmp.Equal(p.nodeNames(), []string{"Poster.png"}) {
			t.Errorf("%s", p.Body)
		}
		return p.Status
	}
	const anyone, registered = "Anyone with the link", "Anyone with a registered account"
	for name, want := range map[string]struct {
		access, password       string
		nobody, stranger, dora int
		sent                   string
	}{
		"members only":                    {"", "", 401, 401, 401, ""},
		"the organization":                {"Members of the Share, Workspace or Org", "", 401, 401, 200, ""},
		"whoever is registered":           {registered, "", 401, 200, 200, ""},
		"anyone":                          {anyone, "", 200, 200, 200, ""},
		"anyone with the token":           {anyone, "secret", 200, 200, 200, "token"},
		"nobody with the password itself": {anyone, "secret", 401, 401, 401, "secret"},
		"nobody who sends nothing":        {anyone, "secret", 401, 401, 401, ""},
		"the registered with the token":   {registered, "secret", 401, 200, 200, "token"},
	} {
		t.Run("is open to "+name, func(t *testing.T) {
			t.Parallel()
			b, path := open(want.access, want.password)
			if want.sent == "token" {
				want.sent = b.form(t, b.ben, "/share/"+b.portal.ID+"/auth/password/", "password", want.password).token()
			}
			got := []int{look(t, b, path, "", want.sent), look(t, b, path, b.keys[b.eve.ID], want.sent), look(t, b, path, b.keys[b.dora.ID], want.sent)}
			if diff := cmp.Diff([]int{want.nobody, want.stranger, want.dora}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := look(t, b, path, b.keys[b.ben.ID], ""); got != 200 {
				t.Errorf("a member gets %d", got)
			}
			if got := look(t, b, path, "unknown", want.sent); got != 401 {
				t.Errorf("an unknown credential gets %d", got)
			}
		})
	}
}

func TestFolderShare(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	h := b.portal
	h.Folder = b.folder.ID
	b.AddShare(h)
	if got := b.get(t, b.cleo, b.inPortal("root/list")).nodeNames(); !cmp.Equal(got, []string{"Drafts", "Engine.pdf"}) {
		t.Errorf("it shows %v", got)
	}
	if p := b.get(t, b.cleo, b.inPortal(b.engine.ID+"/details")); p.get("node.parent") != "root" {
		t.Errorf("%s", p.Body)
	}
	expect(t, b.get(t, b.cleo, b.inPortal(b.guide.ID+"/details")), 404, 133123)
	expect(t, b.get(t, b.cleo, b.inPortal("search"), "search", "x"), 404, 139420)
	expect(t, b.get(t, b.cleo, "/share/"+b.portal.ID+"/search/", "search", "x"), 404, 139420)
	gone := b.folder
	gone.Trashed = true
	b.AddNode(gone)
	expect(t, b.get(t, b.cleo, b.inPortal("root/list")), 404, 179101)
	expect(t, b.get(t, b.cleo, b.inPortal("search"), "search", "x"), 404, 179101)
	expect(t, b.get(t, b.cleo, "/share/"+b.portal.ID+"/search/", "search", "x"), 404, 142794)
}

// A file goes on by the platform's clock, with news at every step.
func TestAIStates(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		file   string
		off    bool
		states []string
	}{
		"indexed":                        {"a.txt", false, []string{"pending", "in_progress", "ready", "indexed", "indexed"}},
		"failed":                         {"broken.txt", false, []string{"pending", "in_progress", "failed", "failed", "failed"}},
		"ready where nothing is indexed": {"a.txt", true, []string{"pending", "in_progress", "ready", "ready", "ready"}},
	} {
		t.Run("end "+name, func(t *testing.T) {
			t.Parallel()
			b := newCabinet(func(o *emulator.Options) { o.Storage.FailIndexing, o.Storage.IndexPace = "broken", time.Minute })
			w := b.room
			w.NoIntelligence = want.off
			b.AddWorkspace(w)
			n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: want.file, AIState: "pending", Content: "x"})
			since := b.get(t, b.ben, "/activity/poll/"+b.room.ID+"/").get("lastactivity").(string)
			var got []string
			for range want.states {
				p := b.get(t, b.ben, b.inRoom(n.ID+"/details"))
				got = append(got, p.get("node.ai.state").(string))
				b.now = b.now.Add(time.Minute)
			}
			if diff := cmp.Diff(want.states, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			p := b.get(t, b.ben, "/activity/poll/"+b.room.ID+"/", "lastactivity", since, "updated", "1")
			if !keysOf(p.get("activity").(map[string]any))["ai_state:"+n.ID] {
				t.Errorf("%s", p.Body)
			}
		})
	}
}
