package emulator_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

func quickPath(q emulator.QuickShare, what string) string {
	return "/quickshare/" + q.ID + "/" + what + "/"
}

func TestQuickShares(t *testing.T) {
	t.Parallel()
	g := newGallery()
	n := g.AddNode(emulator.Node{Profile: g.room.ID, Name: "a.txt", Content: "0123456789", Creator: g.ada.ID})
	q := g.AddQuickShare(emulator.QuickShare{Node: n.ID, Expires: g.now.Add(time.Minute)})
	want := hash{
		"id": g.hyphenated(q.ID), "creator_uid": g.ada.ID, "limit_exceeded": false, "expires": "2026-06-01 12:01:00 UTC",
		"created": "2026-06-01 12:00:00 UTC",
	}
	for name, p := range map[string]reply{
		"anyone":   g.visit(t, quickPath(q, "details"), ""),
		"a member": g.as(t, g.ben, http.MethodGet, "/workspace/"+g.room.ID+"/storage/"+n.ID+"/quickshare/"),
	} {
		got, _ := p.get("quickshare").(hash)
		if p.get("quickshare.node.name") != "a.txt" || p.get("quickshare.node.ai.summary") != nil {
			t.Errorf("%s: %s", name, p.Body)
		}
		delete(got, "node")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	p := g.as(t, g.ben, http.MethodGet, "/workspace/"+g.room.ID+"/quickshares/")
	if p.get("quickshares.0.id") != want["id"] || p.get("pagination.total") != 1.0 {
		t.Errorf("list: %s", p.Body)
	}
	if p := g.visit(t, quickPath(q, "storage/read"), ""); p.Status != http.StatusOK || p.Body != "0123456789" {
		t.Errorf("download: %d %s", p.Status, p.Body)
	}
	g.now = g.now.Add(time.Minute)
	for _, path := range []string{"details", "storage/read", "storage/readnote"} {
		expect(t, g.visit(t, quickPath(q, path), ""), 404, 199851)
	}
}

func TestQuickShareRefusals(t *testing.T) {
	t.Parallel()
	g := newGallery(func(o *emulator.Options) { o.Shares.CorruptSource = "bad" })
	bad := g.AddQuickShare(emulator.QuickShare{Node: g.AddNode(emulator.Node{Profile: g.room.ID, Name: "bad.txt", Content: "x"}).ID})
	folder := g.AddQuickShare(emulator.QuickShare{Node: g.folder.ID})
	plan := g.AddQuickShare(emulator.QuickShare{Node: g.plan.ID})
	node := "/workspace/" + g.room.ID + "/storage/" + g.plan.ID + "/quickshare/"
	expect(t, g.visit(t, "/quickshare/short/details/", ""), 406, 10023, "quickshare_id type_mismatch")
	expect(t, g.visit(t, "/quickshare/"+g.plan.ID+"/details/", ""), 404, 199851)
	expect(t, g.visit(t, quickPath(bad, "storage/read"), ""), 422, 199854)
	expect(t, g.visit(t, quickPath(bad, "storage/readnote"), ""), 422, 199854)
	expect(t, g.visit(t, quickPath(folder, "storage/read"), ""), 406, 0)
	expect(t, g.visit(t, quickPath(plan, "storage/readnote"), ""), 406, 153548)
	expect(t, g.form(t, g.ada, http.MethodPost, node), 403, 10756)
	expect(t, g.as(t, g.cleo, http.MethodGet, node), 401, 199311)
	expect(t, g.as(t, g.cleo, http.MethodDelete, node), 401, 199311)
	expect(t, g.as(t, g.cleo, http.MethodGet, "/workspace/"+g.room.ID+"/quickshares/"), 401, 199311)
	expect(t, g.as(t, g.ben, http.MethodDelete, node), 200, 0)
	expect(t, g.visit(t, quickPath(plan, "details"), ""), 404, 199851)
	expect(t, g.as(t, g.ben, http.MethodDelete, node), 404, 199851)
	g.folder.Trashed = true
	g.AddNode(g.folder)
	expect(t, g.visit(t, quickPath(folder, "details"), ""), 404, 199851)
}

func TestQuickShareNotes(t *testing.T) {
	t.Parallel()
	g := newGallery()
	note := g.AddNode(emulator.Node{Profile: g.room.ID, Name: "Log.md", Kind: "note", Content: "# Log"})
	q := g.AddQuickShare(emulator.QuickShare{Node: note.ID})
	if p := g.visit(t, quickPath(q, "storage/readnote"), ""); p.get("content") != "# Log" || p.get("note.name") != "Log.md" {
		t.Errorf("%d %s", p.Status, p.Body)
	}
}

// The bytes of a link end at a hundred times the size of its file, and at ten gigabytes, for good.
func TestQuickShareTransfer(t *testing.T) {
	t.Parallel()
	g := newGallery()
	n := g.AddNode(emulator.Node{Profile: g.room.ID, Name: "a.txt", Content: "0123456789"})
	big := g.AddNode(emulator.Node{Profile: g.room.ID, Name: "b.bin", Size: 1 << 30})
	for _, test := range []struct {
		name  string
		node  emulator.Node
		spent int64
		ok    bool // after one more download of ten bytes
	}{
		{"the bytes before the last", n, 980, true},
		{"the last bytes", n, 990, false},
		{"ten gigabytes", big, 10<<30 - 10, false},
		{"almost", big, 10<<30 - 11, true},
	} {
		q := g.AddQuickShare(emulator.QuickShare{Node: test.node.ID, Transferred: test.spent})
		read := func() reply {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://emulator.test/api/current"+quickPath(q, "storage/read"), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Range", "bytes=0-9")
			return g.send(t, r)
		}
		if p := read(); p.Status != http.StatusPartialContent || len(p.Body) != 10 {
			t.Errorf("%s: %d, %d bytes", test.name, p.Status, len(p.Body))
		}
		if got := g.visit(t, quickPath(q, "details"), "").get("quickshare.limit_exceeded"); got == test.ok {
			t.Errorf("%s: limit_exceeded is %v", test.name, got)
		}
		if p := read(); (p.Status == 450) == test.ok {
			t.Errorf("%s: %d", test.name, p.Status)
		}
	}
	names := g.search(t, g.ada, "workspace_id", g.room.ID, "subcategory", "quickshare").column("event")
	if len(names) == 0 || !strings.HasSuffix(names[0].(string), "_file_downloaded") {
		t.Errorf("events %v", names)
	}
}

// A preview is one file, or a redirect to the first of several, which wants no credential but its token. Their bytes
// end at twenty times the size of the file.
func TestQuickSharePreviews(t *testing.T) {
	t.Parallel()
	for _, absolute := range []bool{false, true} {
		g := newGallery(func(o *emulator.Options) { o.FileShares.AbsoluteRedirects, o.Shares.CorruptSource = absolute, "bad" })
		film := g.AddQuickShare(emulator.QuickShare{Node: g.AddNode(emulator.Node{Profile: g.room.ID, Name: "a.mp4", Size: 1000}).ID})
		bad := g.AddQuickShare(emulator.QuickShare{Node: g.AddNode(emulator.Node{Profile: g.room.ID, Name: "bad.mp4", Size: 10}).ID})
		preview := func(q emulator.QuickShare, kind string) reply {
			return g.visit(t, quickPath(q, "storage/preview/"+kind+"/read"), "")
		}
		expect(t, preview(film, "poster"), 406, 10022, "type invalid")
		expect(t, preview(film, "pdf"), 404, 143705)
		expect(t, preview(bad, "mp4"), 422, 199854)
		if p := preview(film, "mp4"); p.Status != http.StatusOK || len(p.Body) != 1000 {
			t.Errorf("%d, %d bytes", p.Status, len(p.Body))
		}
		p := preview(film, "hlsstream")
		location, isAbsolute := strings.CutPrefix(p.Header.Get("Location"), "http://emulator.test")
		path, below := strings.CutPrefix(location, "/api/current")
		if p.Status != http.StatusTemporaryRedirect || isAbsolute != absolute || !below {
			t.Fatalf("%d %q", p.Status, p.Header.Get("Location"))
		}
		if p := g.visit(t, path, ""); p.Status != http.StatusOK || !strings.HasPrefix(p.Body, "#EXTM3U") {
			t.Errorf("%d %s", p.Status, p.Body)
		}
		expect(t, g.visit(t, path+"x", ""), 401, 0)
		expect(t, g.as(t, g.ada, http.MethodGet, path), 400, 199705)
		expect(t, g.visit(t, path, "lovelace"), 400, 199705)
		for range 20 {
			p = preview(film, "mp4")
		}
		expect(t, p, 401, 199853)
		expect(t, preview(film, "hlsstream"), 401, 199853)
		if names := g.search(t, g.ada, "workspace_id", g.room.ID, "event", "workspace_quickshare_file_previewed").events(); len(names) != 21 {
			t.Errorf("%d events, want 20 files and one of a stream", len(names))
		}
	}
}
