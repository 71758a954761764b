package emulator_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

// anonymous has no account, and so no credential.
var anonymous = emulator.User{}

// fill sends a form, pairs of names and values.
func (b *board) fill(t *testing.T, u emulator.User, path string, pairs ...string) reply {
	t.Helper()
	return b.form(t, b.keys[u.ID], http.MethodPost, path, pairs...)
}

// visit reads as a user, or as nobody, with headers.
func (b *board) visit(t *testing.T, u emulator.User, path string, header ...string) reply {
	t.Helper()
	if u == anonymous {
		header = append(header, "Authorization", "")
	}
	return b.call(t, u, http.MethodGet, path, nil, header...)
}

func fileShare(id, what string) string { return "/fileshare/" + id + "/" + what + "/" }

func (b *board) newLink() string { return "/workspace/" + b.room.ID + "/create/fileshare/" }

// shareFile makes a File Share of the plan, and returns it.
func (b *board) shareFile(f emulator.FileShare) emulator.FileShare {
	if f.Node == "" {
		f.Node = b.plan.ID
	}
	return b.AddFileShare(f)
}

// told lists the events about File Shares, oldest first.
func (b *board) told(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, e := range b.search(t, b.ada, "workspace_id", b.room.ID, "limit", "100").events() {
		if name := e["event"].(string); strings.HasPrefix(name, "file_share_") {
			names = append(names, strings.TrimPrefix(name, "file_share_"))
		}
	}
	return names
}

func TestFileSharesAreMade(t *testing.T) {
	t.Parallel()
	b := newBoard()
	p := b.fill(t, b.ben, b.newLink(), "node", b.plan.ID, "title", "Q3", "access_option", "any_registered",
		"password", "öffne dich", "expires", "3600", "comments_enabled", "true")
	got, _ := p.get("fileshare").(map[string]any)
	if p.Status != 200 || got == nil {
		t.Fatal(p.Status, p.Body)
	}
	id, alt := got["fileshare"].(string), got["id_alt"].(string)
	file, _ := got["file"].(map[string]any)
	want := hash{
		"fileshare": id, "id_alt": alt, "title": "Q3", "access_option": "any_registered", "has_password": true,
		"comments_enabled": true, "expires": "2026-06-01 13:00:00 UTC", "created": "2026-06-01 12:00:00 UTC",
		"updated": "2026-06-01 12:00:00 UTC", "effective_capability": "edit", "file": file, "can_manage": true,
		"workspace_id": b.room.ID, "creator_uid": b.ben.ID,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantFile := hash{
		"id": b.hyphenated(b.plan.ID), "name": "plan.pdf", "type": "file", "size": 0.0, "mimetype": "application/pdf",
		"version": b.hyphenated(b.plan.Versions[0].ID), "created": "2026-06-01 12:00:00 UTC",
		"modified": "2026-06-01 12:00:00 UTC", "summary": nil,
	}
	if diff := gocmp.Diff(wantFile, file); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{id, alt, strings.ReplaceAll(alt, "-", "")} {
		if p := b.visit(t, b.ben, fileShare(name, "details"), "X-Ve-Password", "öffne dich"); p.get("fileshare.fileshare") != id {
			t.Errorf("%s: %d %s", name, p.Status, p.Body)
		}
	}
	if got := b.told(t); !slices.Equal(got, []string{"created"}) {
		t.Error(got)
	}
	p = b.fill(t, b.ben, b.newLink(), "node", b.plan.ID)
	if p.get("fileshare.access_option") != "named_people" || p.get("fileshare.expires") != nil || p.get("fileshare.title") != nil ||
		p.get("fileshare.has_password") != false || p.get("fileshare.comments_enabled") != false {
		t.Error("without more: ", p.Body)
	}
}

func TestBadFileSharesAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 256)
	tests := map[string]struct {
		pairs  []string
		failed string
	}{
		"no node":                      {nil, "node missing"},
		"a node that is none":          {[]string{"node", "x"}, "node type_mismatch"},
		"a folder":                     {[]string{"node", "folder"}, "node invalid"},
		"a note":                       {[]string{"node", "note"}, "node invalid"},
		"a long title":                 {[]string{"title", long}, "title invalid"},
		"an unknown tier":              {[]string{"access_option", "public"}, "access_option invalid"},
		"an empty tier":                {[]string{"access_option", ""}, "access_option invalid"},
		"an empty password":            {[]string{"password", ""}, "password invalid"},
		"a long password":              {[]string{"password", long}, "password invalid"},
		"a password that is no text":   {[]string{"password", "\xff"}, "password invalid"},
		"comments that are no boolean": {[]string{"comments_enabled", "yes"}, "comments_enabled type_mismatch"},
		"seconds that are none":        {[]string{"expires", "soon"}, "expires type_mismatch"},
		"no seconds":                   {[]string{"expires", "0"}, "expires invalid"},
		"too many seconds":             {[]string{"expires", "3155760001"}, "expires invalid"},
		"a moment that is none":        {[]string{"expires_at", "soon"}, "expires_at invalid"},
		"a moment of ISO 8601":         {[]string{"expires_at", "2027-01-01T00:00:00Z"}, "expires_at invalid"},
		"a moment that is past":        {[]string{"expires_at", "2026-06-01 12:00:00 UTC"}, "expires_at invalid"},
		"both forms of an expiry":      {[]string{"expires", "60", "expires_at", "2027-01-01 00:00:00 UTC"}, "expires invalid"},
		"an expiry, and none":          {[]string{"expires", "60", "expires_at", ""}, "expires invalid"},
	}
	for _, status := range []int{0, 400} {
		b := newBoard(func(o *emulator.Options) { o.FileShares.InvalidStatus = status })
		nodes := map[string]string{
			"folder": b.AddNode(emulator.Node{Profile: b.room.ID, Kind: "folder"}).ID,
			"note":   b.AddNode(emulator.Node{Profile: b.room.ID, Kind: "note", Name: "a.md"}).ID,
		}
		for name, test := range tests {
			pairs := slices.Clone(test.pairs)
			if !strings.HasPrefix(test.failed, "node") {
				pairs = append(pairs, "node", b.plan.ID)
			} else if len(pairs) > 0 && nodes[pairs[1]] != "" {
				pairs[1] = nodes[pairs[1]]
			}
			p := b.fill(t, b.ben, b.newLink(), pairs...)
			if p.Status != cmp.Or(status, 406) || !slices.Equal(p.failures(), []string{test.failed}) {
				t.Errorf("%s: %d %v", name, p.Status, p.failures())
			}
		}
	}
	b := newBoard()
	for name, p := range map[string]reply{
		"a file nobody knows":  b.fill(t, b.ben, b.newLink(), "node", object29),
		"a file elsewhere":     b.fill(t, b.ben, b.newLink(), "node", b.photo.ID),
		"an unknown workspace": b.fill(t, b.ben, "/workspace/4999999999999999999/create/fileshare/", "node", b.plan.ID),
	} {
		if p.Status != 404 {
			t.Errorf("%s: %d", name, p.Status)
		}
	}
	if p := b.post(t, b.ben, b.newLink(), hash{"node": b.plan.ID}); p.Status != 406 || p.code() != 199101 {
		t.Errorf("JSON: %d %s", p.Status, p.Body)
	}
}

func TestOnlyMembersManageFileShares(t *testing.T) {
	t.Parallel()
	b := newBoard()
	id := b.link.ID
	b.keys["reads"] = b.AddKey(emulator.Key{User: b.ben.ID, Scopes: []string{"workspace:" + b.room.ID + ":r"}}).Token
	b.keys["elsewhere"] = b.AddKey(emulator.Key{User: b.ben.ID, Scopes: []string{"workspace:" + b.attic.ID + ":rwa"}}).Token
	who := map[string]emulator.User{
		"a member": b.ben, "a guest": b.cleo, "a recipient": b.eve, "a stranger": b.fay,
		"a credential that reads": {ID: "reads"}, "a credential for elsewhere": {ID: "elsewhere"}, "nobody": anonymous,
	}
	calls := map[string]struct {
		write bool
		do    func(u emulator.User, header ...string) reply
	}{
		"create": {true, func(u emulator.User, h ...string) reply {
			return b.call(t, u, "POST", b.newLink(), "node="+b.plan.ID, append(h, "Content-Type", formType)...)
		}},
		"list": {false, func(u emulator.User, h ...string) reply {
			return b.call(t, u, "GET", "/workspace/"+b.room.ID+"/list/fileshares/", nil, h...)
		}},
		"update": {true, func(u emulator.User, h ...string) reply {
			return b.call(t, u, "POST", fileShare(id, "update"), "title=x", append(h, "Content-Type", formType)...)
		}},
		"update by PATCH": {true, func(u emulator.User, h ...string) reply {
			return b.call(t, u, "PATCH", fileShare(id, "update"), "title=y", append(h, "Content-Type", formType)...)
		}},
		"grants": {false, func(u emulator.User, h ...string) reply {
			return b.call(t, u, "GET", fileShare(id, "grants"), nil, h...)
		}},
		"grant": {true, func(u emulator.User, h ...string) reply {
			return b.call(t, u, "POST", fileShare(id, "grants"), "capability=view&user="+b.fay.ID, append(h, "Content-Type", formType)...)
		}},
		"revoke": {true, func(u emulator.User, h ...string) reply {
			return b.call(t, u, "DELETE", fileShare(id, "grants")+"?user="+b.fay.ID, nil, h...)
		}},
		"delete": {true, func(u emulator.User, h ...string) reply {
			gone := b.shareFile(emulator.FileShare{})
			return b.call(t, u, "DELETE", fileShare(gone.ID, "delete"), nil, h...)
		}},
	}
	for name, call := range calls {
		for person, u := range who {
			want, code := 200, 0
			switch {
			case person == "a credential for elsewhere":
				want, code = 403, 10754
			case person == "nobody":
				want, code = 401, 10011
			case person == "a credential that reads" && call.write:
				want, code = 403, 10770
			case person != "a member" && u.ID != "reads":
				want, code = 403, 199702
			}
			var header []string
			if u == anonymous {
				header = []string{"Authorization", ""}
			}
			if p := call.do(u, header...); p.Status != want || p.code() != code {
				t.Errorf("%s by %s: %d %d, want %d %d", name, person, p.Status, p.code(), want, code)
			}
		}
	}
	for _, path := range []string{"update", "delete", "grants"} {
		method := map[string]string{"update": "POST", "delete": "DELETE", "grants": "GET"}[path]
		if p := b.call(t, b.ben, method, fileShare("6999999999999999999", path), nil, "Content-Type", formType); p.Status != 404 {
			t.Errorf("%s of an unknown one: %d", path, p.Status)
		}
	}
}

func TestFileSharesAreChanged(t *testing.T) {
	t.Parallel()
	b := newBoard()
	f := b.shareFile(emulator.FileShare{Title: "Plan", Password: "one", Access: "any_registered", CommentsEnabled: true})
	tests := []struct {
		name  string
		pairs []string
		field string
		want  any
		tells bool
	}{
		{"nothing", nil, "title", "Plan", false},
		{"the same", []string{"title", "Plan", "password", "one"}, "title", "Plan", false},
		{"a title", []string{"title", "Plans"}, "title", "Plans", true},
		{"no title", []string{"title", ""}, "title", nil, true},
		{"another password", []string{"password", "two"}, "has_password", true, true},
		{"no password", []string{"password", ""}, "has_password", false, true},
		{"a moment", []string{"expires_at", "2026-07-01 00:00:00 UTC"}, "expires", "2026-07-01 00:00:00 UTC", true},
		{"a moment without a zone", []string{"expires_at", "2026-07-02 00:00:00"}, "expires", "2026-07-02 00:00:00 UTC", true},
		{"no expiry", []string{"expires_at", ""}, "expires", nil, true},
		{"seconds", []string{"expires", "60"}, "expires", "2026-06-01 12:01:00 UTC", true},
		{"the word null", []string{"expires_at", "NULL"}, "expires", nil, true},
		{"no comments", []string{"comments_enabled", "false"}, "comments_enabled", false, true},
		{"comments", []string{"comments_enabled", "true"}, "comments_enabled", true, true},
		{"another tier", []string{"access_option", "anyone_with_link"}, "access_option", "anyone_with_link", true},
		{"comments for anyone", []string{"title", "x"}, "comments_enabled", false, true},
	}
	for _, test := range tests {
		before := len(b.told(t))
		p := b.fill(t, b.ben, fileShare(f.ID, "update"), test.pairs...)
		if got := p.get("fileshare." + test.field); p.Status != 200 || got != test.want {
			t.Errorf("%s: %d %v, want %v", test.name, p.Status, got, test.want)
		}
		if told := b.told(t)[before:]; test.tells != slices.Equal(told, []string{"updated"}) {
			t.Errorf("%s: told %v", test.name, told)
		}
	}
	if p := b.fill(t, b.ben, fileShare(f.ID, "update"), "node", b.plan.ID); !slices.Equal(p.failures(), []string{"node invalid"}) {
		t.Errorf("another file: %d %s", p.Status, p.Body)
	}
	if p := b.post(t, b.ben, fileShare(f.ID, "update"), hash{"title": "x"}); p.Status != 406 {
		t.Errorf("JSON: %d", p.Status)
	}
}

func TestDeletedFileSharesAreGone(t *testing.T) {
	t.Parallel()
	b := newBoard()
	b.SetMember(b.room.ID, b.cleo.ID, "")
	if p := b.call(t, b.ben, "DELETE", fileShare(b.link.ID, "delete"), nil); p.Status != 200 || len(p.JSON) != 3 {
		t.Fatal(p.Status, p.Body)
	}
	unknown := b.visit(t, b.eve, fileShare("6999999999999999999", "details"))
	if p := b.visit(t, b.eve, fileShare(b.link.ID, "details")); p.Status != 404 || p.code() != unknown.code() || p.get("error.text") != unknown.get("error.text") {
		t.Error("revoked and unknown differ: ", p.Body, unknown.Body)
	}
	if p := b.call(t, b.ben, "GET", fileShare(b.link.ID, "grants"), nil); p.Status != 404 {
		t.Error("the grants are there still: ", p.Body)
	}
	if p := b.as(t, b.ben, "GET", "/workspace/"+b.room.ID+"/storage/"+b.plan.ID+"/details/"); p.Status != 200 {
		t.Error("the file is gone: ", p.Body)
	}
	if got := b.told(t); !slices.Equal(got, []string{"deleted"}) {
		t.Error(got)
	}
}

func TestFileSharesAreListed(t *testing.T) {
	t.Parallel()
	b := newBoard()
	path := "/workspace/" + b.room.ID + "/list/fileshares/"
	chest := b.AddNode(emulator.Node{Profile: b.attic.ID})
	b.shareFile(emulator.FileShare{Node: chest.ID})
	var ids []string
	for range 4 {
		ids = append(ids, b.shareFile(emulator.FileShare{}).ID)
	}
	rows := func(p reply) (ids []string) {
		list, _ := p.get("fileshares").([]any)
		for _, row := range list {
			ids = append(ids, row.(map[string]any)["fileshare"].(string))
		}
		return ids
	}
	p := b.as(t, b.ben, "GET", path)
	if got := rows(p); !slices.Equal(got, append([]string{b.link.ID}, ids...)) || p.get("fileshares.0.grant_count") != 2.0 ||
		p.get("fileshares.0.grants_preview.0.user") != b.eve.ID || p.get("fileshares.1.grant_count") != 0.0 {
		t.Error(p.Body)
	}
	page := b.as(t, b.ben, "GET", path, "limit", "2", "offset", "2")
	want := hash{"total": 5.0, "limit": 2.0, "offset": 2.0, "has_more": true}
	if diff := gocmp.Diff(want, page.get("pagination")); diff != "" || !slices.Equal(rows(page), ids[1:3]) {
		t.Error(page.Body)
	}
	if page := b.as(t, b.ben, "GET", path, "offset", "9"); len(rows(page)) != 0 || page.get("pagination.has_more") != false {
		t.Error(page.Body)
	}
	for _, query := range [][]string{{"limit", "0"}, {"limit", "501"}, {"offset", "-1"}, {"limit", "x"}} {
		if p := b.as(t, b.ben, "GET", path, query...); p.Status != 406 {
			t.Errorf("%v: %d", query, p.Status)
		}
	}
	bare := newBoard(func(o *emulator.Options) { o.FileShares.Unpaged = true })
	if p := bare.as(t, bare.ben, "GET", "/workspace/"+bare.room.ID+"/list/fileshares/"); p.get("pagination") != nil || len(rows(p)) != 1 {
		t.Error(p.Body)
	}
}

func TestFileSharesExpire(t *testing.T) {
	t.Parallel()
	b := newBoard()
	b.now = b.now.Add(10 * time.Minute)
	f := b.shareFile(emulator.FileShare{Grants: []emulator.Grant{{User: b.eve.ID}}, Expires: b.now.Add(20 * time.Minute)})
	said := b.AddComment(emulator.Comment{FileShare: f.ID, User: b.eve.ID, Body: "Hello"}).ID
	status := func(u emulator.User) int { return b.visit(t, u, fileShare(f.ID, "details")).Status }
	if status(b.eve) != 200 {
		t.Error("it is not there before it expires")
	}
	b.now = f.Expires
	if got := []int{status(b.eve), status(b.fay), status(b.ben)}; !slices.Equal(got, []int{404, 404, 404}) {
		t.Error("expired: ", got)
	}
	if p := b.visit(t, b.eve, fileShare(f.ID, "storage/read")); p.Status != 404 {
		t.Error("an expired download: ", p.Status)
	}
	if p := b.as(t, b.eve, "GET", "/comments/"+said+"/details/"); p.Status != 401 {
		t.Error("a comment on what expired: ", p.Status)
	}
	if p := b.as(t, b.ben, "GET", "/comments/"+said+"/details/"); p.Status != 200 {
		t.Error("a comment on what expired, for a member: ", p.Status)
	}
	if p := b.list(t, b.eve, "/comments/fileshare/"+f.ID+"/"+b.plan.ID+"/"); p.Status != 404 {
		t.Error("expired comments: ", p.Status)
	}
	if p := b.fill(t, b.ben, fileShare(f.ID, "update"), "expires", "3600"); p.Status != 200 {
		t.Error("it cannot be rescued: ", p.Body)
	}
	b.now = b.now.Add(59 * time.Minute) // past the cleanup of the first expiry
	if status(b.eve) != 200 {
		t.Error("the rescued one is not there")
	}
	b.now = b.now.Add(time.Minute)
	if p := b.call(t, b.ben, "GET", fileShare(f.ID, "grants"), nil); status(b.eve) != 404 || p.Status != 200 {
		t.Error("expired again: ", p.Status)
	}
	b.now = time.Date(2026, 6, 1, 14, 0, 0, 0, time.UTC)
	if p := b.fill(t, b.ben, fileShare(f.ID, "update"), "expires_at", ""); p.Status != 404 {
		t.Error("it was not cleaned up: ", p.Body)
	}
	if got := b.told(t); !slices.Equal(got, []string{"updated", "deleted"}) {
		t.Error(got)
	}
}

func TestFilesInTheTrashAreNotShared(t *testing.T) {
	t.Parallel()
	b := newBoard()
	n := b.AddNode(emulator.Node{Profile: b.room.ID})
	f := b.shareFile(emulator.FileShare{Node: n.ID, Access: "anyone_with_link"})
	n.Trashed = true
	b.AddNode(n)
	for _, path := range []string{"details", "storage/read", "storage/versions", "storage/metadata/details"} {
		if p := b.visit(t, anonymous, fileShare(f.ID, path)); p.Status != 404 {
			t.Errorf("%s: %d", path, p.Status)
		}
	}
	if p := b.fill(t, b.ben, fileShare(f.ID, "update"), "title", "x"); p.Status != 200 || p.get("fileshare.file") != nil {
		t.Error("it cannot be managed: ", p.Body)
	}
}

func TestWhoMayDoWhatWithAFileShare(t *testing.T) {
	t.Parallel()
	b := newBoard()
	n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "plan.txt", Content: "The plan. More of it."})
	given := func(level string) []emulator.Grant { return []emulator.Grant{{User: b.fay.ID, Capability: level}} }
	tests := map[string]struct {
		f    emulator.FileShare
		user emulator.User
		want string // capability, "" is refused
	}{
		"anyone, anonymous":              {emulator.FileShare{Access: "anyone_with_link"}, anonymous, "download"},
		"anyone, signed in":              {emulator.FileShare{Access: "anyone_with_link"}, b.eve, "download"},
		"registered, anonymous":          {emulator.FileShare{Access: "any_registered"}, anonymous, ""},
		"registered, signed in":          {emulator.FileShare{Access: "any_registered"}, b.eve, "download"},
		"named, anonymous":               {emulator.FileShare{}, anonymous, ""},
		"named, somebody else":           {emulator.FileShare{Grants: given("edit")}, b.eve, ""},
		"named, to view":                 {emulator.FileShare{Grants: given("view")}, b.fay, "view"},
		"named, to download":             {emulator.FileShare{Grants: given("download")}, b.fay, "download"},
		"named, to edit":                 {emulator.FileShare{Grants: given("edit")}, b.fay, "edit"},
		"registered, to edit":            {emulator.FileShare{Access: "any_registered", Grants: given("edit")}, b.fay, "edit"},
		"registered, a grant below":      {emulator.FileShare{Access: "any_registered", Grants: given("view")}, b.fay, "download"},
		"a member, whatever the tier":    {emulator.FileShare{}, b.ben, "edit"},
		"an owner of the organization":   {emulator.FileShare{}, b.ada, "edit"},
		"a guest of the workspace":       {emulator.FileShare{}, b.cleo, "view"},
		"an auditor of the organization": {emulator.FileShare{}, b.dora, ""},
	}
	for name, test := range tests {
		test.f.Node = n.ID
		f := b.AddFileShare(test.f)
		p := b.visit(t, test.user, fileShare(f.ID, "details"))
		got, _ := p.get("fileshare.effective_capability").(string)
		if got != test.want || (p.Status == 200) != (test.want != "") {
			t.Errorf("%s: %d %q, want %q", name, p.Status, got, test.want)
		}
		object, _ := p.get("fileshare").(map[string]any)
		_, manages := object["can_manage"]
		if test.want != "" && manages != (test.user != anonymous) {
			t.Errorf("%s: can_manage there: %v", name, manages)
		}
		isManager := test.user.ID == b.ben.ID || test.user.ID == b.ada.ID
		if test.want != "" && (p.get("fileshare.workspace_id") != nil) != isManager {
			t.Errorf("%s: %s", name, p.Body)
		}
		file, _ := p.get("fileshare.file").(map[string]any)
		if _, reads := file["summary"]; reads != (test.want == "download" || test.want == "edit") {
			t.Errorf("%s: the summary is there: %v", name, reads)
		}
		levels := map[string]int{"": 0, "view": 1, "download": 2, "edit": 3}
		for path, needs := range map[string]int{
			"storage/read": 2, "storage/versions": 1, "storage/versions/" + n.Versions[0].ID + "/read": 2,
			"storage/preview/pdf/read": 1, "storage/metadata/details": 1,
		} {
			want, code := 200, 0
			switch have := levels[test.want]; {
			case have == 0 && test.user == anonymous:
				want, code = 401, 10011
			case have == 0:
				want, code = 401, 115069
			case have < needs:
				want, code = 403, 199703
			}
			if p := b.visit(t, test.user, fileShare(f.ID, path)); p.Status != want || p.code() != code {
				t.Errorf("%s, %s: %d %d, want %d %d", name, path, p.Status, p.code(), want, code)
			}
		}
	}
}

func TestTiersAndSilence(t *testing.T) {
	t.Parallel()
	b := newBoard(func(o *emulator.Options) {
		o.FileShares.TierCapability, o.FileShares.Hidden, o.FileShares.NoCapabilities = "view", true, true
	})
	open := b.shareFile(emulator.FileShare{Access: "anyone_with_link"})
	if p := b.visit(t, anonymous, fileShare(open.ID, "storage/read")); p.Status != 403 || p.code() != 199703 {
		t.Error("a tier for viewing: ", p.Body)
	}
	p := b.visit(t, anonymous, fileShare(open.ID, "details"))
	if _, said := p.get("fileshare").(map[string]any)["effective_capability"]; said || p.Status != 200 {
		t.Error("the capability is said: ", p.Body)
	}
	for _, u := range []emulator.User{anonymous, b.fay} {
		if p := b.visit(t, u, fileShare(b.link.ID, "details")); p.Status != 404 {
			t.Error("a File Share that is not for the caller: ", p.Body)
		}
	}
}

func TestPasswordsOfFileShares(t *testing.T) {
	t.Parallel()
	b := newBoard(func(o *emulator.Options) { o.DropUndeclared = true })
	const password = "öffne dich"
	f := b.shareFile(emulator.FileShare{Access: "anyone_with_link", Password: password})
	version := "storage/versions/" + b.plan.Versions[0].ID + "/read"
	for _, path := range []string{"details", "storage/read", "storage/versions", version, "storage/preview/pdf/read", "storage/metadata/details"} {
		for _, u := range []emulator.User{anonymous, b.eve, b.ben, b.ada} {
			for _, header := range [][]string{nil, {"X-Ve-Password", "wrong"}, {"X-Ve-Password", ""}} {
				if p := b.visit(t, u, fileShare(f.ID, path), header...); p.Status != 401 || p.code() != 199312 {
					t.Errorf("%s, %v: %d %d", path, header, p.Status, p.code())
				}
			}
			if p := b.visit(t, u, fileShare(f.ID, path)+"?x-ve-password="+url.QueryEscape(password)+"&password="+url.QueryEscape(password)); p.Status != 401 {
				t.Errorf("%s takes a password from its address: %d", path, p.Status)
			}
			if p := b.visit(t, u, fileShare(f.ID, path), "X-Ve-Password", password); p.Status != 200 {
				t.Errorf("%s with the password: %d %s", path, p.Status, p.Body)
			}
		}
	}
	if p := b.fill(t, b.ben, fileShare(f.ID, "update"), "title", "x"); p.Status != 200 {
		t.Error("managing wants the password: ", p.Status)
	}
	if p := b.visit(t, b.eve, fileShare(b.link.ID, "details"), "X-Ve-Password", "any"); p.Status != 200 {
		t.Error("a password nobody asked for: ", p.Status)
	}
	if p := b.call(t, b.eve, "GET", fileShare(f.ID, "details"), nil, "Authorization", "Bearer wrong", "X-Ve-Password", password); p.Status != 401 || p.code() != 10011 {
		t.Error("a credential that is wrong: ", p.Body)
	}
}

func TestFileSharesOfSeeds(t *testing.T) {
	t.Parallel()
	s := emulator.New(emulator.Options{Clock: func() time.Time { return epoch }})
	seed := `{"users": [{"id": "ada"}, {"id": "ben", "email": "ben@example.test"}], "orgs": [{"id": "o", "owner": "ada"}],
		"workspaces": [{"id": "w", "org_id": "o"}], "nodes": [{"id": "n", "profile_id": "w", "withheld": "infected"}],
		"file_shares": [{"id": "f", "node_id": "n", "expires": "2030-01-01T00:00:00Z", "grants": [
			"ada", {"user_id": "ben", "capability": "edit", "expires": "2029-01-01T00:00:00Z"}, {"email": "later@example.test"}]}],
		"keys": [{"user_id": "ada", "token": "secret"}]}`
	if err := s.Load(strings.NewReader(seed)); err != nil {
		t.Fatal(err)
	}
	w := &world{Server: s, keys: map[string]string{"ada": "secret"}}
	_, room := s.First()
	id, _ := w.with(t, "secret", "GET", "/workspace/"+room+"/list/fileshares/").get("fileshares.0.fileshare").(string)
	list := w.with(t, "secret", "GET", fileShare(id, "grants"))
	var got []hash
	if err := json.Unmarshal([]byte(list.Body[strings.Index(list.Body, "["):strings.LastIndex(list.Body, "]")+1]), &got); err != nil {
		t.Fatal(err, list.Body)
	}
	type row struct{ state, capability, ends any }
	var rows []row
	for _, g := range got {
		rows = append(rows, row{g["state"], g["capability"], g["expires"]})
	}
	want := []row{
		{"active", "download", "2030-01-01 00:00:00 UTC"},
		{"active", "edit", "2029-01-01 00:00:00 UTC"},
		{"pending", "download", "2030-01-01 00:00:00 UTC"},
	}
	if !slices.Equal(rows, want) {
		t.Error(rows)
	}
	if p := w.with(t, "secret", "GET", fileShare(id, "storage/read")); p.Status != 403 || p.code() != 199704 {
		t.Error("an infected file is served: ", p.Body)
	}
}
