package emulator_test

import (
	"bytes"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

// list is a JSON array.
func list(ids ...string) string { return `["` + strings.Join(ids, `","`) + `"]` }

// exported shares files and returns the links to them.
func (l *lounge) exported(t *testing.T, u emulator.User, place string, ids ...string) []string {
	t.Helper()
	got := l.post(t, u, place+"share/", "files", list(ids...))
	text, _ := got.get("markdown").(string)
	if got.Status != http.StatusOK || text == "" {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	var links []string
	for line := range strings.Lines(text) {
		if link, found := strings.CutPrefix(line, "- Download: "); found {
			links = append(links, strings.TrimSpace(link))
		}
	}
	return links
}

// fetch reads behind a link, without a credential.
func (l *lounge) fetch(t *testing.T, link string, header ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	p, err := l.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Body.Close()
	body, err := io.ReadAll(p.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{Status: p.StatusCode, Header: p.Header, Body: string(body)}
}

func TestExport(t *testing.T) {
	t.Parallel()
	l := newLounge(quick)
	got := l.post(t, l.ben, l.inRoom()+"share/", "files", list(l.lease.ID, l.hyphenated(l.note.ID)))
	text, _ := got.get("markdown").(string)
	links := l.exported(t, l.ben, l.inRoom(), l.lease.ID, l.note.ID)
	if len(links) != 2 || !strings.HasPrefix(text, "# Files of Design Room\n\n## lease.txt\n\n- Type: text/plain\n- Size: 90 bytes\n- Download: http://emulator.test/api/current/ai/share/") {
		t.Fatalf("%s", text)
	}
	file := l.fetch(t, links[0])
	want := map[string]string{
		"Content-Type": "text/plain", "Content-Disposition": `attachment; filename=lease.txt`, "Content-Length": "90", "Accept-Ranges": "bytes",
	}
	for name, value := range want {
		if file.Header.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, file.Header.Get(name), value)
		}
	}
	if diff := cmp.Diff(l.lease.Content, file.Body); diff != "" || file.Status != 200 {
		t.Errorf("%d (-want +got):\n%s", file.Status, diff)
	}
	part := l.fetch(t, links[1], "Range", "bytes=3-6")
	if part.Status != 206 || part.Body != "will" || part.Header.Get("Content-Range") != "bytes 3-6/31" {
		t.Errorf("%d %v %q", part.Status, part.Header, part.Body)
	}
	if out := l.fetch(t, links[1], "Range", "bytes=99-"); out.Status != 416 {
		t.Errorf("%d %s", out.Status, out.Body)
	}
	for i, want := range []int{200, 404, 404} { // the fourth read is one too many, of this file alone
		if got := l.fetch(t, links[1]); got.Status != want {
			t.Errorf("read %d: %d", i+3, got.Status)
		}
	}
	if got := l.fetch(t, links[0]); got.Status != 200 {
		t.Errorf("the other file: %d", got.Status)
	}
	for _, link := range []string{
		strings.TrimSuffix(links[0], "?file=0"), strings.Replace(links[0], "?file=0", "?file=2", 1), strings.Replace(links[0], "?file=0", "?file=-1", 1),
		strings.Replace(links[0], "?file=0", "?file=x", 1), "http://emulator.test/api/current/ai/share/nobody?file=0",
	} {
		if got := l.fetch(t, link); got.Status != 404 {
			t.Errorf("%s: %d", link, got.Status)
		}
	}
	l.lease.Trashed = true
	l.AddNode(l.lease)
	if got := l.fetch(t, links[0]); got.Status != 500 {
		t.Errorf("a file that is gone: %d", got.Status)
	}
	if names := l.search(t, l.ada, "workspace_id", l.room.ID, "event", "workspace_ai_share_created").column("event"); len(names) != 2 {
		t.Errorf("events %v", names)
	}
}

func TestExportsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLounge()
		link := l.exported(t, l.ben, l.inRoom(), l.lease.ID)[0]
		time.Sleep(5*time.Minute - time.Second)
		if got := l.fetch(t, link); got.Status != 200 {
			t.Errorf("%d", got.Status)
		}
		time.Sleep(time.Second)
		if got := l.fetch(t, link); got.Status != 404 {
			t.Errorf("%d", got.Status)
		}
	})
}

func TestExportRules(t *testing.T) {
	t.Parallel()
	l := newLounge(quick, func(o *emulator.Options) { o.Lacks = []string{"content_ai", "ai_agent"} })
	share := l.inRoom() + "share/"
	big := func(size int64) string {
		return l.AddNode(emulator.Node{Profile: l.room.ID, Name: "film.mp4", Size: size}).ID
	}
	for name, test := range map[string]struct {
		files  string
		status int
		failed []string
	}{
		"none":            {"[]", 406, []string{"files invalid"}},
		"25":              {list(slicesOf(l.lease.ID, 25)...), 200, nil},
		"26":              {list(slicesOf(l.lease.ID, 26)...), 406, []string{"files invalid"}},
		"26, one missing": {list(append(slicesOf(l.lease.ID, 25), object29)...), 406, []string{"files invalid"}},
		"no JSON":         {l.lease.ID, 406, []string{"files type_mismatch"}},
		"no id":           {`["lease"]`, 406, []string{"files type_mismatch"}},
		"a folder":        {list(l.folder.ID), 406, []string{"files invalid"}},
		"a file missing":  {list(l.lease.ID, object29), 404, nil},
		"50 MB":           {list(big(50 << 20)), 200, nil},
		"more than 50 MB": {list(big(50<<20 + 1)), 406, []string{"files invalid"}},
		"100 MB together": {list(big(50<<20), big(50<<20), l.lease.ID), 406, []string{"files invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, l.post(t, l.ben, share, "files", test.files), test.status, 0, test.failed...)
		})
	}
	expect(t, l.post(t, l.ben, share), 406, 0, "files missing")
	expect(t, l.body(t, l.ben, http.MethodPost, share, "application/json", `{"files":[]}`), 406, 0)
	expect(t, l.post(t, l.eve, share, "files", list(l.lease.ID)), 401, 0)
	titles := l.post(t, l.ben, share, "files", list(slicesOf(l.lease.ID, 6)...))
	if diff := cmp.Diff("# Files of Design Room\n"+strings.Repeat("\n- lease.txt", 6), titles.get("markdown")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	expect(t, l.post(t, l.cleo, l.inPortal()+"share/", "files", list(l.photo.ID)), 200, 0)
	strict := newLounge(quick)
	strict.portal.NoGuestDownloads = true
	strict.AddShare(strict.portal)
	expect(t, strict.post(t, strict.cleo, strict.inPortal()+"share/", "files", list(strict.photo.ID)), 401, 0)
	expect(t, strict.post(t, strict.ben, strict.inPortal()+"share/", "files", list(strict.photo.ID)), 200, 0)
	strict.org.AIPolicy.DenyAgent = true
	strict.AddOrg(strict.org)
	got := strict.post(t, strict.ben, strict.inRoom()+"share/", "files", list(strict.lease.ID))
	if got.Status != 403 || got.reason() != "ai_policy_denied" || got.get("error.params.feature") != "agent" {
		t.Errorf("%s", got.Body)
	}
}

func TestAutoTitle(t *testing.T) {
	t.Parallel()
	l := newLounge(quick)
	path := l.inPortal() + "autotitle/"
	got := l.post(t, l.ada, path)
	want := hash{"title": "tide.txt", "description": "A share with 1 items: tide.txt."}
	for name, value := range want {
		if got.get(name) != value {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	if got := l.post(t, l.ada, path, "user_context", "Tides"); got.get("title") != "Tides" || l.Credits(l.org.ID) != 2 {
		t.Errorf("%s", got.Body)
	}
	if got := l.ask(t, l.ada, l.inPortal(), "Anything new?"); l.get(t, l.ada, got.details()).get("turn.actions.0.label") != "Searched Tides" {
		t.Error("the title was not applied")
	}
	expect(t, l.post(t, l.cleo, path), 401, 0)
	expect(t, l.body(t, l.ada, http.MethodPost, path, "application/json", "{}"), 406, 0)
	poor := newLounge(func(o *emulator.Options) { o.Lacks = []string{"ai_autotitle"} })
	expect(t, poor.post(t, poor.ada, poor.inPortal()+"autotitle/"), 402, 0)
}

func TestShareImage(t *testing.T) {
	t.Parallel()
	l := newLounge(quick)
	image := func(l *lounge, header ...string) string {
		t.Helper()
		got := l.fetch(t, "http://emulator.test/api/current"+l.inPortal()+"autoog/", header...)
		picture, err := png.Decode(bytes.NewReader([]byte(got.Body)))
		if err != nil || got.Header.Get("Content-Type") != "image/png" || picture.Bounds().Dx() != 1200 || picture.Bounds().Dy() != 630 {
			t.Fatalf("%d %v: %v", got.Status, got.Header, err)
		}
		return got.Body
	}
	private := image(l)
	own := image(l, "Authorization", "Bearer "+l.keys[l.ben.ID])
	if own == private || image(l, "Authorization", "Bearer "+l.keys[l.eve.ID]) != private {
		t.Error("a private share has its own picture for its members alone")
	}
	l.portal.Access = "Anyone with the link"
	l.AddShare(l.portal)
	if image(l) != own {
		t.Error("a share for anyone has its own picture for all")
	}
	poor := newLounge(func(o *emulator.Options) { o.Lacks = []string{"ai_autoog"} })
	if image(poor, "Authorization", "Bearer "+poor.keys[poor.ben.ID]) != private {
		t.Error("the plan has no pictures for private shares")
	}
	expect(t, l.fetch(t, "http://emulator.test/api/current/share/4000000000000000000/ai/autoog/"), 404, 0)
	expect(t, l.fetch(t, "http://emulator.test/api/current/share/portal/ai/autoog/"), 200, 0)
}
