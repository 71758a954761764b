package emulator_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/internal/emulator"
)

// desk is a board with a draft that was given to Eve to edit, and to Fay to download.
type desk struct {
	*board
	draft emulator.Node
	open  emulator.FileShare
}

func newDesk(change ...func(*emulator.Options)) *desk {
	d := &desk{board: newBoard(change...)}
	d.draft = d.AddNode(emulator.Node{Profile: d.room.ID, Name: "draft.txt", Content: "First.", Summary: "Once."})
	d.open = d.AddFileShare(emulator.FileShare{Node: d.draft.ID, Grants: []emulator.Grant{
		{User: d.eve.ID, Capability: "edit"}, {User: d.fay.ID, Capability: "download"},
	}})
	return d
}

// about are the fields of an upload. A pair that is named again replaces the first, and "-" leaves it out.
func (d *desk) about(size int, change ...string) []string {
	pairs := []string{
		"name", "draft.txt", "size", strconv.Itoa(size), "action", "update", "instance_id", d.open.ID, "file_id", d.draft.ID,
	}
	for i := 0; i < len(change); i += 2 {
		at := slices.Index(pairs, change[i])
		switch {
		case at < 0:
			pairs = append(pairs, change[i], change[i+1])
		case change[i+1] == "-":
			pairs = slices.Delete(pairs, at, at+2)
		default:
			pairs[at+1] = change[i+1]
		}
	}
	return pairs
}

// multi is a multipart body with fields and a chunk, nil for none.
func multi(chunk []byte, pairs ...string) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		_ = w.WriteField(pairs[i], pairs[i+1])
	}
	if chunk != nil {
		part, err := w.CreateFormFile("chunk", "blob")
		if err != nil {
			panic(err)
		}
		_, _ = part.Write(chunk)
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

// once uploads in a single call.
func (d *desk) once(t *testing.T, u emulator.User, content string, change ...string) reply {
	t.Helper()
	body, kind := multi([]byte(content), d.about(len(content), change...)...)
	return d.call(t, u, http.MethodPost, "/upload/", body, "Content-Type", kind)
}

func (d *desk) chunk(t *testing.T, u emulator.User, id string, order int, content string, header ...string) reply {
	t.Helper()
	return d.part(t, u, id, "?order="+strconv.Itoa(order)+"&size="+strconv.Itoa(len(content)), content, header...)
}

func (d *desk) part(t *testing.T, u emulator.User, id, query, content string, header ...string) reply {
	t.Helper()
	body, kind := multi([]byte(content))
	return d.call(t, u, http.MethodPost, "/upload/"+id+"/chunk/"+query, body, append(header, "Content-Type", kind)...)
}

// session begins an upload in chunks.
func (d *desk) session(t *testing.T, size int, change ...string) string {
	t.Helper()
	p := d.fill(t, d.eve, "/upload/", d.about(size, change...)...)
	id, _ := p.get("session.id").(string)
	if p.Status != 200 || p.get("session.status") != "uploading" || id == "" {
		t.Fatal(p.Status, p.Body)
	}
	return id
}

func (d *desk) status(t *testing.T, id string) string {
	t.Helper()
	p := d.as(t, d.eve, http.MethodGet, "/upload/"+id+"/details/")
	status, _ := p.get("session.status").(string)
	if message, _ := p.get("session.status_message").(string); message != "" {
		status += " " + message
	}
	return status
}

// wait lets the clock go on until an upload has come to its next state.
func (d *desk) wait() { d.now = d.now.Add(2 * time.Second) }

func (d *desk) content(t *testing.T) string {
	t.Helper()
	return d.visit(t, d.eve, fileShare(d.open.ID, "storage/read")).Body
}

func (d *desk) current(t *testing.T) string {
	t.Helper()
	v, _ := d.visit(t, d.eve, fileShare(d.open.ID, "details")).get("fileshare.file.version").(string)
	return v
}

func TestSmallFilesAreWrittenBackAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk()
	before := d.current(t)
	p := d.once(t, d.eve, "Second.", "if_version_id", before)
	id, _ := p.get("session.id").(string)
	if p.Status != 200 || p.get("session.status") != "assembling" || d.content(t) != "First." {
		t.Fatal(p.Status, p.Body)
	}
	d.wait()
	if got := d.status(t, id); got != "complete" || d.content(t) != "Second." {
		t.Error(got, d.content(t))
	}
	d.wait()
	if got := d.status(t, id); got != "stored" || d.current(t) == before {
		t.Error(got)
	}
	if got := d.told(t); !slices.Equal(got, []string{"content_updated"}) {
		t.Error(got)
	}
	var written []any
	for _, e := range d.search(t, d.ada, "workspace_id", d.room.ID).events() {
		if e["event"] == "workspace_storage_file_updated" {
			written = append(written, e["object_id"])
		}
	}
	if len(written) != 1 {
		t.Error(written)
	}
	p = d.visit(t, d.eve, fileShare(d.open.ID, "storage/versions"))
	if list, _ := p.get("versions").([]any); len(list) != 2 || p.get("versions.1.id") != before {
		t.Error(p.Body)
	}
	if p := d.once(t, d.ben, "By a member."); p.Status != 200 {
		t.Error("a member without a grant: ", p.Body)
	}
	if p := d.once(t, d.eve, ""); p.Status != 200 {
		t.Error("an empty file: ", p.Body)
	}
}

func TestLargeFilesAreWrittenBackInChunks(t *testing.T) {
	t.Parallel()
	d := newDesk()
	first, second, third := strings.Repeat("a", 5<<20), strings.Repeat("b", 1<<20), "c"
	id := d.session(t, len(first)+len(second)+len(third))
	for _, c := range []struct {
		order   int
		content string
	}{{3, third}, {1, strings.Repeat("x", len(first))}, {2, second}, {1, first}} {
		if p := d.chunk(t, d.eve, id, c.order, c.content); p.Status != 200 {
			t.Fatal(c.order, p.Body)
		}
	}
	p := d.fill(t, d.eve, "/upload/"+id+"/complete/")
	if p.Status != 200 || p.get("session.status") != "assembling" {
		t.Fatal(p.Status, p.Body)
	}
	d.wait()
	if d.status(t, id) != "complete" || d.content(t) != first+second+third {
		t.Error(d.status(t, id), len(d.content(t)))
	}
	for name, p := range map[string]reply{
		"complete":  d.fill(t, d.eve, "/upload/"+id+"/complete/"),
		"one chunk": d.chunk(t, d.eve, id, 3, third),
	} {
		if p.Status != 409 {
			t.Errorf("%s again: %d", name, p.Status)
		}
	}
}

func TestIncompleteUploads(t *testing.T) {
	t.Parallel()
	d := newDesk()
	id := d.session(t, 10)
	complete := "/upload/" + id + "/complete/"
	if p := d.post(t, d.eve, complete, hash{}); p.Status != 406 {
		t.Error("JSON: ", p.Status)
	}
	if p := d.fill(t, d.eve, complete); p.Status != 406 || p.code() != 199716 {
		t.Error("nothing: ", p.Body)
	}
	d.chunk(t, d.eve, id, 1, "12345")
	if p := d.fill(t, d.eve, complete); p.Status != 406 || p.code() != 199716 {
		t.Error("a part: ", p.Body)
	}
	d.chunk(t, d.eve, id, 3, "67890")
	if p := d.fill(t, d.eve, complete); p.Status != 406 || p.code() != 199716 {
		t.Error("a gap: ", p.Body)
	}
	for query, failed := range map[string]string{
		"":                 "order missing,size missing",
		"?order=0&size=4":  "order invalid",
		"?order=x&size=4":  "order type_mismatch",
		"?order=2&size=3":  "size invalid",
		"?order=2&size=x":  "size type_mismatch,size invalid",
		"?order=2&size=4":  "chunk invalid", // more than announced
		"?order=-1&size=4": "order invalid",
	} {
		p := d.part(t, d.eve, id, query, "1234")
		if got := p.failures(); p.Status != 406 || !strings.HasPrefix(strings.Join(got, ","), failed) {
			t.Errorf("%q: %d %v", query, p.Status, got)
		}
	}
	if p := d.fill(t, d.eve, "/upload/"+id+"/chunk/?order=2&size=1", "chunk", "x"); !slices.Equal(p.failures(), []string{"chunk missing"}) {
		t.Error("a form: ", p.Body)
	}
	body, kind := multi([]byte("12345"))
	if p := d.call(t, d.eve, "POST", "/upload/"+id+"/chunk/?order=1&size=5", body[:len(body)/2], "Content-Type", kind); p.Status != 406 || p.code() != 199714 {
		t.Error("a body that broke off: ", p.Body)
	}
	for _, u := range []emulator.User{d.ben, d.fay} {
		if p := d.as(t, u, "GET", "/upload/"+id+"/details/"); p.Status != 404 || p.code() != 199711 {
			t.Error("somebody else's: ", p.Body)
		}
	}
}

func TestBadUploadsAreRefused(t *testing.T) {
	t.Parallel()
	d := newDesk()
	big := strings.Repeat("x", 4<<20+1)
	tests := map[string]struct {
		content string
		change  []string
		status  int
		failed  string
		code    int
	}{
		"no name":                     {"x", []string{"name", "-"}, 406, "name missing", 0},
		"a long name":                 {"x", []string{"name", strings.Repeat("n", 256)}, 406, "name invalid", 0},
		"no size":                     {"x", []string{"size", "-"}, 406, "size missing", 0},
		"a size that is none":         {"x", []string{"size", "big"}, 406, "size type_mismatch", 0},
		"a negative size":             {"x", []string{"size", "-1"}, 406, "size invalid", 0},
		"another size":                {"x", []string{"size", "2"}, 406, "size invalid", 0},
		"too much at once":            {big, nil, 406, "chunk invalid", 0},
		"no action":                   {"x", []string{"action", "-"}, 406, "action invalid", 0},
		"another action":              {"x", []string{"action", "create"}, 406, "action invalid", 0},
		"no target":                   {"x", []string{"instance_id", "-"}, 406, "instance_id missing", 0},
		"a target that is none":       {"x", []string{"instance_id", "draft"}, 406, "instance_id type_mismatch", 0},
		"a workspace":                 {"x", []string{"instance_id", d.room.ID}, 406, "instance_id invalid", 0},
		"a workspace with comparison": {"x", []string{"instance_id", d.room.ID, "if_version_id", d.draft.Versions[0].ID}, 400, "", 199712},
		"an unknown target":           {"x", []string{"instance_id", "6999999999999999999"}, 404, "", 199002},
		"no file":                     {"x", []string{"file_id", "-"}, 406, "file_id missing", 0},
		"another file":                {"x", []string{"file_id", d.plan.ID}, 404, "", 199715},
		"a version that is none":      {"x", []string{"if_version_id", "first"}, 406, "if_version_id type_mismatch", 0},
		"a kind of profile":           {"x", []string{"profile_type", "workspace"}, 406, "profile_type invalid", 0},
		"a folder":                    {"x", []string{"folder_id", "root"}, 406, "folder_id invalid", 0},
	}
	for name, test := range tests {
		p := d.once(t, d.eve, test.content, test.change...)
		got := strings.Join(p.failures(), ",")
		if p.Status != test.status || !strings.Contains(got, test.failed) || test.code != 0 && p.code() != test.code {
			t.Errorf("%s: %d %d %s", name, p.Status, p.code(), got)
		}
	}
	body, kind := multi(nil, d.about(1)...)
	if p := d.call(t, d.eve, "POST", "/upload/", body, "Content-Type", kind); !slices.Equal(p.failures(), []string{"chunk missing"}) {
		t.Error("multipart without bytes: ", p.Body)
	}
	if p := d.post(t, d.eve, "/upload/", hash{"name": "x"}); p.Status != 406 || p.code() != 199714 {
		t.Error("JSON: ", p.Body)
	}
	d.wait()
	if d.content(t) != "First." {
		t.Error("something was written")
	}
}

func TestWhoMayWriteBack(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.keys["reads"] = d.AddKey(emulator.Key{User: d.eve.ID, Scopes: []string{"org:" + d.org.ID + ":r"}}).Token
	public := d.shareFile(emulator.FileShare{Node: d.draft.ID, Access: "anyone_with_link"})
	for name, test := range map[string]struct {
		user   emulator.User
		target string
		status int
		code   int
	}{
		"a grant to download":     {d.fay, d.open.ID, 403, 199703},
		"no grant":                {d.dora, d.open.ID, 401, 115069},
		"a guest":                 {d.cleo, d.open.ID, 403, 199703},
		"a tier":                  {d.fay, public.ID, 403, 199703},
		"a credential that reads": {emulator.User{ID: "reads"}, d.open.ID, 403, 10770},
	} {
		if p := d.once(t, test.user, "x", "instance_id", test.target); p.Status != test.status || p.code() != test.code {
			t.Errorf("%s: %d %d", name, p.Status, p.code())
		}
	}
	body, kind := multi([]byte("x"), d.about(1, "instance_id", public.ID)...)
	if p := d.call(t, anonymous, "POST", "/upload/", body, "Content-Type", kind, "Authorization", ""); p.Status != 401 || p.code() != 10011 {
		t.Error("nobody: ", p.Body)
	}
	id := d.session(t, 1)
	d.call(t, d.ben, "DELETE", fileShare(d.open.ID, "grants")+"?user="+d.eve.ID, nil)
	if p := d.chunk(t, d.eve, id, 1, "x"); p.Status != 401 {
		t.Error("after the grant was revoked: ", p.Body)
	}
	locked := d.draft
	locked.Withheld = "locked"
	d.AddNode(locked)
	if p := d.once(t, d.ben, "x"); p.Status != 403 || p.code() != 199704 {
		t.Error("a locked file: ", p.Body)
	}
}

func TestWriteBackWantsThePasswordAtEveryStep(t *testing.T) {
	t.Parallel()
	d := newDesk()
	f := d.open
	f.Password = "sesame"
	d.AddFileShare(f)
	whole, kind := multi([]byte("x"), d.about(1)...)
	form := []string{"Content-Type", formType}
	var id string
	steps := []struct {
		name string
		do   func(header ...string) reply
	}{
		{"at once", func(h ...string) reply {
			return d.call(t, d.eve, "POST", "/upload/", whole, append(h, "Content-Type", kind)...)
		}},
		{"a session", func(h ...string) reply {
			return d.call(t, d.eve, "POST", "/upload/", "name=x&size=1&action=update&instance_id="+f.ID+"&file_id="+d.draft.ID, append(h, form...)...)
		}},
		{"a chunk", func(h ...string) reply { return d.chunk(t, d.eve, id, 1, "x", h...) }},
		{"the end", func(h ...string) reply {
			return d.call(t, d.eve, "POST", "/upload/"+id+"/complete/", "", append(h, form...)...)
		}},
		{"the state", func(h ...string) reply { return d.call(t, d.eve, "GET", "/upload/"+id+"/details/", nil, h...) }},
	}
	for _, step := range steps {
		for _, header := range [][]string{nil, {"X-Ve-Password", "wrong"}} {
			if p := step.do(header...); p.Status != 401 || p.code() != 199312 {
				t.Errorf("%s with %v: %d %s", step.name, header, p.Status, p.Body)
			}
		}
		p := step.do("X-Ve-Password", "sesame")
		if p.Status != 200 {
			t.Errorf("%s: %d %s", step.name, p.Status, p.Body)
		}
		if made, _ := p.get("session.id").(string); made != "" {
			id = made
		}
	}
}

func TestWriteBackComparesVersions(t *testing.T) {
	t.Parallel()
	d := newDesk()
	read := d.current(t)
	first, _ := d.once(t, d.eve, "One.", "if_version_id", read).get("session.id").(string)
	second, _ := d.once(t, d.eve, "Two.", "if_version_id", read).get("session.id").(string)
	d.wait()
	now := d.current(t)
	if a, b := d.status(t, first), d.status(t, second); a != "complete" || b != "assembly_failed CONFLICT_VERSION_MISMATCH:"+now || now == read {
		t.Error(a, b, now)
	}
	if d.content(t) != "One." {
		t.Error(d.content(t))
	}
	third, _ := d.once(t, d.eve, "Three.").get("session.id").(string)
	d.wait()
	if d.status(t, third) != "complete" || d.content(t) != "Three." {
		t.Error("without a comparison: ", d.status(t, third))
	}
	if got := d.told(t); !slices.Equal(got, []string{"content_updated", "content_updated"}) {
		t.Error(got)
	}
}

func TestWriteBackAtOnceIsAssembledInItsAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(func(o *emulator.Options) { o.Uploads.AssembleAtOnce = true })
	read := d.current(t)
	if p := d.once(t, d.eve, "One.", "if_version_id", read); p.Status != 200 || p.get("session.status") != "complete" || d.content(t) != "One." {
		t.Errorf("the first: %d %s", p.Status, p.Body)
	}
	p := d.once(t, d.eve, "Two.", "if_version_id", read)
	if p.Status != 200 || p.get("session.status") != "assembly_failed" || p.get("session.status_message") != "CONFLICT_VERSION_MISMATCH:"+d.current(t) {
		t.Errorf("the second: %d %s", p.Status, p.Body)
	}
	id, _ := p.get("session.id").(string)
	if d.wait(); d.content(t) != "One." || !strings.HasPrefix(d.status(t, id), "assembly_failed") {
		t.Error(d.content(t), d.status(t, id))
	}
}

func TestWriteBackFails(t *testing.T) {
	t.Parallel()
	d := newDesk(func(o *emulator.Options) { o.Uploads.FailStoring, o.Uploads.Pace = "doomed", -1 })
	id, _ := d.once(t, d.eve, "x", "name", "Doomed.txt").get("session.id").(string)
	if got := d.status(t, id); got != "store_failed The file could not be stored." || d.content(t) != "First." {
		t.Error(got)
	}
	id, _ = d.once(t, d.eve, "x").get("session.id").(string)
	if got := d.status(t, id); got != "stored" || d.content(t) != "x" {
		t.Error(got)
	}
	slow := newDesk()
	id, _ = slow.once(t, slow.eve, "x").get("session.id").(string)
	gone := slow.draft
	gone.Trashed = true
	slow.AddNode(gone)
	slow.wait()
	if got := slow.as(t, slow.eve, "GET", "/upload/"+id+"/details/"); got.Status != 404 {
		t.Error("an upload without its file: ", got.Body)
	}
	gone.Trashed = false
	slow.AddNode(gone)
	if got := slow.status(t, id); !strings.HasPrefix(got, "assembly_failed ") || strings.Contains(got, "CONFLICT") {
		t.Error("a file that went: ", got)
	}
}

func TestSessionsComeBare(t *testing.T) {
	t.Parallel()
	d := newDesk(func(o *emulator.Options) { o.Uploads.BareSessions = true })
	p := d.once(t, d.eve, "x")
	if id, _ := p.JSON["id"].(string); id == "" || p.JSON["status"] != "assembling" || p.JSON["session"] != nil {
		t.Error(p.Body)
	}
}

func TestUploadsShowInTheActivityOfTheirUser(t *testing.T) {
	t.Parallel()
	d := newDesk()
	id := strings.ReplaceAll(d.session(t, 1), "-", "")
	p := d.as(t, d.eve, "GET", "/activity/poll/", "lastactivity", "2026-01-01 00:00:00")
	if p.get("activity.upload:"+id) == nil {
		t.Error(p.Body)
	}
	id2, _ := d.once(t, d.eve, "x").get("session.id").(string)
	d.wait()
	d.status(t, id2)
	p = d.as(t, d.ben, "GET", "/activity/poll/"+d.open.ID+"/", "lastactivity", "2026-01-01 00:00:00")
	if p.get("activity.storage:"+d.draft.ID) == nil {
		t.Error("the File Share does not know: ", p.Body)
	}
	if p := d.as(t, d.eve, "GET", "/activity/poll/"+d.open.ID+"/", "lastactivity", "2026-01-01 00:00:00"); p.Status != 400 {
		t.Error("recipients have a feed: ", p.Body)
	}
}
