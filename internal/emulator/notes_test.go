package emulator_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

// form sends a form.
func (b *cabinet) form(t *testing.T, u emulator.User, path string, fields ...string) reply {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return b.body(t, b.keys[u.ID], path, "application/x-www-form-urlencoded", values.Encode())
}

func (b *cabinet) body(t *testing.T, token, path, kind, body string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://emulator.test/api/current"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", kind)
	return b.send(t, r)
}

// write makes a note that must be taken, and returns its id and version.
func (b *cabinet) write(t *testing.T, name, content string) (id, version string) {
	t.Helper()
	p := b.form(t, b.ben, b.inRoom("root/createnote"), "name", name, "content", content)
	id, _ = p.get("node.id").(string)
	version, _ = p.get("node.version").(string)
	if p.Status != 200 || id == "" || version == "" {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	return id, version
}

func TestCreateNote(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	p := b.form(t, b.ben, b.inRoom(b.folder.ID+"/createnote"), "name", "Log.md", "content", "Day\x001:\tbrass\x7f.")
	node, _ := p.get("node").(map[string]any)
	if p.Status != 200 || node["type"] != "note" || node["mimetype"] != "text/markdown" || p.get("node.ai.state") != "pending" {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	if got := strings.ReplaceAll(node["parent"].(string), "-", ""); got != b.folder.ID {
		t.Errorf("it is in %s, want %s", got, b.folder.ID)
	}
	read := b.get(t, b.cleo, b.inRoom(node["id"].(string)+"/readnote"))
	if read.get("content") != "Day1:\tbrass." || read.get("note.name") != "Log.md" {
		t.Errorf("%s", read.Body)
	}
	row := b.search(t, b.ben, "workspace_id", b.room.ID, "event", "workspace_storage_file_added").events()[0]
	if row["object_id"] != strings.ReplaceAll(node["id"].(string), "-", "") || row["calling_user"] != b.ben.ID {
		t.Errorf("the event is %v", row)
	}
	if got := b.get(t, b.ben, b.inRoom(b.folder.ID+"/list")).nodeNames(); !cmp.Equal(got, []string{"Drafts", "Engine.pdf", "Log.md"}) {
		t.Errorf("the folder holds %v", got)
	}
}

func TestNoteRules(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	create, update := b.inRoom("root/createnote"), b.inRoom(b.guide.ID+"/updatenote")
	long := strings.Repeat("é", 50<<10) + "x"
	for name, want := range map[string]struct {
		path    string
		fields  []string
		failure string
	}{
		"a note without name":            {create, []string{"content", "x"}, "name missing"},
		"another ending":                 {create, []string{"name", "a.txt", "content", "x"}, "name invalid"},
		"an ending alone":                {create, []string{"name", ".md", "content", "x"}, "name invalid"},
		"a path":                         {create, []string{"name", "a/b.md", "content", "x"}, "name invalid"},
		"too long a name":                {create, []string{"name", strings.Repeat("ä", 253) + ".md", "content", "x"}, "name invalid"},
		"a note without content":         {create, []string{"name", "a.md"}, "content missing"},
		"blank content":                  {create, []string{"name", "a.md", "content", " \n"}, "content invalid"},
		"more than 100 KB":               {create, []string{"name", "a.md", "content", long}, "content invalid"},
		"what is not UTF-8":              {create, []string{"name", "a.md", "content", "a\xff"}, "content invalid"},
		"a parent that is no id":         {b.inRoom("trash/createnote"), []string{"name", "a.md", "content", "x"}, "parent_id type_mismatch"},
		"a parent that is no folder":     {b.inRoom(b.guide.ID + "/createnote"), []string{"name", "a.md", "content", "x"}, "parent_id invalid"},
		"an update of nothing":           {update, nil, "content missing"},
		"an update to blank":             {update, []string{"content", " "}, "content invalid"},
		"an update to another ending":    {update, []string{"name", "a"}, "name invalid"},
		"a version that is no id":        {update, []string{"content", "x", "if_version_id", "1"}, "if_version_id type_mismatch"},
		"a read of what is no version":   {b.inRoom(b.guide.ID + "/read"), []string{"version_id", "1"}, "version_id type_mismatch"},
		"a read of what is no node":      {b.inRoom("x/readnote"), nil, "node_id type_mismatch"},
		"an update of what is no node":   {b.inRoom("x/updatenote"), []string{"content", "x"}, "node_id type_mismatch"},
		"a read of a note in no version": {b.inRoom(b.guide.ID + "/readnote"), []string{"version_id", "x"}, "version_id type_mismatch"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			send := b.form
			if strings.Contains(want.path, "/read") {
				send = b.get
			}
			p := send(t, b.ben, want.path, want.fields...)
			if p.Status != 406 || !cmp.Equal(p.failures(), []string{want.failure}) {
				t.Errorf("%d %s", p.Status, p.Body)
			}
		})
	}
	full := strings.Repeat("é", 50<<10)
	expect(t, b.form(t, b.ben, create, "name", "full.md", "content", full), 200, 0)
	expect(t, b.form(t, b.ben, b.inRoom(b.poster.ID+"/createnote"), "name", "a.md", "content", "x"), 404, 133123)
	expect(t, b.form(t, b.ben, b.inRoom(b.engine.ID+"/updatenote"), "content", "x"), 406, 153548)
	expect(t, b.get(t, b.ben, b.inRoom(b.engine.ID+"/readnote")), 406, 153548)
	expect(t, b.get(t, b.ben, b.inRoom(b.folder.ID+"/read")), 406, 199602)
	expect(t, b.get(t, b.ben, b.inRoom(b.guide.ID+"/read"), "version_id", b.engine.Versions[0].ID), 404, 199603)
	expect(t, b.form(t, b.cleo, create, "name", "a.md", "content", "x"), 401, 0)
	expect(t, b.form(t, b.eve, create, "name", "a.md", "content", "x"), 401, 10545)
	expect(t, b.body(t, b.keys[b.ben.ID], create, "application/json", `{"name":"a.md","content":"x"}`), 406, 0)
	reader := b.AddKey(emulator.Key{User: b.ben.ID, Scopes: []string{"workspace:" + b.room.ID + ":r"}}).Token
	expect(t, b.body(t, reader, create, "application/x-www-form-urlencoded", "name=a.md&content=x"), 403, 10770)
	elsewhere := b.AddKey(emulator.Key{User: b.ben.ID, Scopes: []string{"workspace:" + b.attic.ID + ":rw"}}).Token
	expect(t, b.body(t, elsewhere, create, "application/x-www-form-urlencoded", "name=a.md&content=x"), 403, 10754)
}

func TestUpdateNote(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	id, first := b.write(t, "Log.md", "one")
	path := b.inRoom(id + "/updatenote")
	renamed := b.form(t, b.ben, path, "name", "Diary.md", "if_version_id", first)
	if renamed.get("node.name") != "Diary.md" || renamed.get("node.version") != first {
		t.Errorf("a name alone makes no version: %s", renamed.Body)
	}
	second, _ := b.form(t, b.ben, path, "content", "two", "if_version_id", first).get("node.version").(string)
	if second == "" || second == first {
		t.Errorf("the version is %q after %q", second, first)
	}
	late := b.form(t, b.ben, path, "content", "three", "if_version_id", first)
	if late.Status != 409 || late.get("error.params.current.version_id") != second || late.get("error.params.current.hash") == nil {
		t.Errorf("%d %s", late.Status, late.Body)
	}
	for version, want := range map[string]string{first: "one", second: "two", "": "two"} {
		raw := b.get(t, b.ben, b.inRoom(id+"/read"), "version_id", version)
		if raw.Body != want || raw.Header.Get("Content-Type") != "text/markdown" {
			t.Errorf("version %q is %q", version, raw.Body)
		}
		if got := b.get(t, b.ben, b.inRoom(id+"/readnote"), "version_id", version).get("content"); got != want {
			t.Errorf("version %q reads %q", version, got)
		}
	}
	if got := len(b.search(t, b.ben, "workspace_id", b.room.ID, "event", "workspace_storage_file_updated").events()); got != 2 {
		t.Errorf("%d events, want 2", got)
	}
}

func TestReadsShareNote(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	note := b.AddNode(emulator.Node{Profile: b.portal.ID, Kind: "note", Name: "Welcome.md", Content: "Hello."})
	expect(t, b.get(t, b.eve, b.inPortal(note.ID+"/readnote")), 401, 10545)
	if p := b.get(t, b.cleo, b.inPortal(note.ID+"/readnote")); p.get("content") != "Hello." {
		t.Errorf("%d %s", p.Status, p.Body)
	}
}

// A note that is written again on its way into the index begins anew.
func TestNoteBeginsAnew(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	state := func() any { return b.get(t, b.ben, b.inRoom(b.guide.ID+"/details")).get("node.ai.state") }
	var got []any
	for _, text := range []string{"one", "two", "", "", "", "", "", ""} {
		if text != "" {
			expect(t, b.form(t, b.ben, b.inRoom(b.guide.ID+"/updatenote"), "content", text), 200, 0)
		}
		got = append(got, state())
		b.now = b.now.Add(time.Second)
	}
	want := []any{"pending", "pending", "pending", "in_progress", "in_progress", "ready", "ready", "indexed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Who waits for a note to be indexed is woken by the platform's own clock.
func TestIndexWakesPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newCabinet(func(o *emulator.Options) { o.Clock = time.Now })
		id, _ := b.write(t, "Log.md", "one")
		field := "ai_state:" + strings.ReplaceAll(id, "-", "")
		start, since := time.Now(), ""
		state := "pending"
		for state != "indexed" {
			p := b.get(t, b.ben, "/activity/poll/"+b.room.ID+"/", "wait", "95", "fields", field, "lastactivity", since)
			since, _ = p.get("lastactivity").(string)
			state, _ = b.get(t, b.ben, b.inRoom(id+"/details")).get("node.ai.state").(string)
		}
		if got := time.Since(start); got != 6*time.Second {
			t.Errorf("it took %v, want 6s", got)
		}
	})
}
