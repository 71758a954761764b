package emulator_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

func TestFileSharesAreDownloaded(t *testing.T) {
	t.Parallel()
	b := newBoard()
	n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "plan.txt", Versions: []emulator.Version{
		{Content: "draft", Created: epoch}, {Content: "The plan.", Creator: b.ben.ID, Created: epoch.Add(time.Hour)},
	}})
	f := b.shareFile(emulator.FileShare{Node: n.ID, Access: "anyone_with_link"})
	p := b.visit(t, anonymous, fileShare(f.ID, "storage/read"), "Range", "bytes=4-")
	if p.Status != 206 || p.Body != "plan." || p.Header.Get("Content-Disposition") != "attachment; filename=plan.txt" {
		t.Error(p.Status, p.Header, p.Body)
	}
	if p := b.visit(t, anonymous, fileShare(f.ID, "storage/versions/"+b.hyphenated(n.Versions[0].ID)+"/read")); p.Body != "draft" || p.Header.Get("Etag") != `"`+n.Versions[0].ID+`"` {
		t.Error(p.Status, p.Header, p.Body)
	}
	for _, id := range []string{object29, "draft"} {
		if p := b.visit(t, anonymous, fileShare(f.ID, "storage/versions/"+id+"/read")); p.Status != 404 {
			t.Errorf("version %s: %d", id, p.Status)
		}
	}
	rows := []any{
		hash{"id": b.hyphenated(n.Versions[1].ID), "size": 9.0, "current": true, "created": "2026-03-02 11:00:00 UTC"},
		hash{"id": b.hyphenated(n.Versions[0].ID), "size": 5.0, "current": false, "created": "2026-03-02 10:00:00 UTC"},
	}
	if diff := cmp.Diff(any(rows), b.visit(t, anonymous, fileShare(f.ID, "storage/versions")).get("versions")); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	p = b.visit(t, anonymous, fileShare(f.ID, "storage/metadata/details"))
	if _, facts := p.JSON["metadata_facts"]; facts || p.get("autoextractable") != true || p.get("node_id.name") != "plan.txt" || p.get("node_id.metadata_facts") != nil {
		t.Error("metadata: ", p.Body)
	}
}

func TestVersionsHaveTheirIDElsewhere(t *testing.T) {
	t.Parallel()
	b := newBoard(func(o *emulator.Options) { o.FileShares.VersionIDKey = true })
	p := b.visit(t, b.eve, fileShare(b.link.ID, "storage/versions"))
	if p.get("versions.0.id") != nil || p.get("versions.0.version_id") != b.hyphenated(b.plan.Versions[0].ID) {
		t.Error(p.Body)
	}
}

func TestWithheldFilesAreNotServed(t *testing.T) {
	t.Parallel()
	b := newBoard()
	for _, why := range []string{"locked", "taken down", "infected"} {
		n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "plan.pdf", Withheld: why})
		f := b.shareFile(emulator.FileShare{Node: n.ID, Access: "anyone_with_link"})
		for _, path := range []string{"storage/read", "storage/versions/" + n.Versions[0].ID + "/read", "storage/preview/pdf/read"} {
			if p := b.visit(t, b.ben, fileShare(f.ID, path)); p.Status != 403 || p.code() != 199704 || !strings.Contains(p.Body, why) {
				t.Errorf("%s, %s: %d %s", why, path, p.Status, p.Body)
			}
		}
		if p := b.visit(t, anonymous, fileShare(f.ID, "details")); p.Status != 200 {
			t.Errorf("%s: %d", why, p.Status)
		}
	}
}

func TestPreviewsOfFileShares(t *testing.T) {
	t.Parallel()
	b := newBoard()
	kinds := "bin thumbnail image hlsstream pdf spreadsheet audio mp4"
	tests := map[string]struct{ name, whole, redirected string }{
		"a picture":  {"a.png", "bin thumbnail image", ""},
		"a film":     {"a.mp4", "bin thumbnail mp4", "hlsstream"},
		"a song":     {"a.mp3", "bin audio", "hlsstream"},
		"a document": {"a.pdf", "bin thumbnail image pdf", ""},
		"a table":    {"a.csv", "bin pdf", "spreadsheet"},
		"other":      {"a.bin", "bin", ""},
	}
	for name, test := range tests {
		n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: test.name, Size: 5000})
		f := b.shareFile(emulator.FileShare{Node: n.ID, Grants: []emulator.Grant{{User: b.eve.ID, Capability: "view"}}})
		for kind := range strings.FieldsSeq(kinds) {
			want, code := 404, 143705
			if set(test.whole)[kind] {
				want, code = 200, 0
			} else if set(test.redirected)[kind] {
				want, code = 307, 0
			}
			p := b.visit(t, b.eve, fileShare(f.ID, "storage/preview/"+kind+"/read"))
			if p.Status != want || p.code() != code || (p.Header.Get("Location") != "") != (want == 307) {
				t.Errorf("%s, %s: %d %v", name, kind, p.Status, p.Header)
			}
			if want == 200 && len(p.Body) < 100 {
				t.Errorf("%s, %s: %d bytes", name, kind, len(p.Body))
			}
		}
	}
	pending := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "a.pdf", AIState: "pending"})
	f := b.shareFile(emulator.FileShare{Node: pending.ID, Grants: []emulator.Grant{{User: b.eve.ID}}})
	path := fileShare(f.ID, "storage/preview/pdf/read")
	if p := b.visit(t, b.eve, path); p.Status != 404 || p.code() != 143705 {
		t.Error("a preview that is being made: ", p.Body)
	}
	b.now = b.now.Add(time.Minute)
	if p := b.visit(t, b.eve, path); p.Status != 404 {
		t.Error("a preview in progress: ", p.Body)
	}
	b.now = b.now.Add(time.Minute)
	if p := b.visit(t, b.eve, path); p.Status != 200 {
		t.Error("a preview that was made: ", p.Body)
	}
	if p := b.visit(t, b.eve, fileShare(f.ID, "storage/preview/hologram/read")); p.Status != 406 {
		t.Error("a kind nobody knows: ", p.Body)
	}
}

func TestRedirectsOfPreviews(t *testing.T) {
	t.Parallel()
	for _, absolute := range []bool{false, true} {
		b := newBoard(func(o *emulator.Options) { o.FileShares.AbsoluteRedirects = absolute })
		n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "film.mp4", Size: 5000})
		f := b.shareFile(emulator.FileShare{Node: n.ID, Access: "anyone_with_link", Password: "sesame"})
		p := b.visit(t, anonymous, fileShare(f.ID, "storage/preview/hlsstream/read"), "X-Ve-Password", "sesame")
		where := p.Header.Get("Location")
		target, err := url.Parse(where)
		if p.Status != 307 || err != nil || target.IsAbs() != absolute {
			t.Fatal(p.Status, where, err)
		}
		_, path, _ := strings.Cut(where, "/current")
		if p := b.visit(t, anonymous, path); p.Status != 200 || !strings.HasPrefix(p.Body, "#EXTM3U") {
			t.Error("with the token alone: ", p.Status, p.Body)
		}
		for name, header := range map[string][]string{
			"Authorization": {"Authorization", "Bearer " + b.keys[b.eve.ID]},
			"the password":  {"Authorization", "", "X-Ve-Password", "sesame"},
		} {
			if p := b.call(t, b.eve, "GET", path, nil, header...); p.Status != 400 || p.code() != 199705 {
				t.Errorf("with %s: %d", name, p.Status)
			}
		}
		bare, _, _ := strings.Cut(path, "?")
		other := strings.Replace(path, f.ID, b.shareFile(emulator.FileShare{Node: n.ID}).ID, 1)
		for name, path := range map[string]string{"no token": bare, "a forged one": path + "x", "another's": other} {
			if p := b.visit(t, anonymous, path); p.Status != 401 {
				t.Errorf("%s: %d", name, p.Status)
			}
		}
		b.now = b.now.Add(2 * time.Minute)
		if p := b.visit(t, anonymous, path); p.Status != 401 {
			t.Error("with an old token: ", p.Status)
		}
	}
}
