package emulator_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

const (
	forMembers    = "Only members of the Share or Workspace"
	forOrg        = "Members of the Share, Workspace or Org"
	forRegistered = "Anyone with a registered account"
	forAnyone     = "Anyone with the link"
)

// gallery is a board with two more shares: Ada's portal for anyone, under a password, and one for a folder of the room.
type gallery struct {
	*board
	open, shelf emulator.Share
	folder      emulator.Node
}

func newGallery(change ...func(*emulator.Options)) *gallery {
	g := &gallery{board: newBoard(change...)}
	g.folder = g.AddNode(emulator.Node{Profile: g.room.ID, Name: "shelf", Kind: "folder"})
	g.AddNode(emulator.Node{Profile: g.room.ID, Parent: g.folder.ID, Name: "book.pdf"})
	g.open = g.AddShare(emulator.Share{
		Workspace: g.room.ID, Title: "Open", CustomName: "open2026", Creator: g.ada.ID, Access: forAnyone, Password: "lovelace",
	})
	g.AddNode(emulator.Node{Profile: g.open.ID, Name: "map.png", Content: "a map"})
	g.shelf = g.AddShare(emulator.Share{Workspace: g.room.ID, Title: "Shelf", Creator: g.ada.ID, Folder: g.folder.ID})
	return g
}

// form sends pairs as a form.
func (g *gallery) form(t *testing.T, u emulator.User, method, path string, pairs ...string) reply {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return g.call(t, u, method, path, values.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// visit reads as somebody without an account.
func (g *gallery) visit(t *testing.T, path, password string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://emulator.test/api/current"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if password != "" {
		r.Header.Set("X-Ve-Password", password)
	}
	return g.send(t, r)
}

func (g *gallery) creating() string             { return "/workspace/" + g.room.ID + "/create/share/" }
func on(h emulator.Share, action string) string { return "/share/" + h.ID + "/" + action + "/" }

// details are those that Ada reads.
func (g *gallery) details(t *testing.T, id string) hash {
	t.Helper()
	p := g.as(t, g.ada, http.MethodGet, "/share/"+id+"/details/")
	share, _ := p.get("share").(hash)
	if share == nil {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	return share
}

func (g *gallery) create(t *testing.T, pairs ...string) (string, reply) {
	t.Helper()
	p := g.form(t, g.ben, http.MethodPost, g.creating(), append([]string{"intelligence", "false"}, pairs...)...)
	id, _ := p.get("share.id").(string)
	return id, p
}

func TestShareObject(t *testing.T) {
	t.Parallel()
	g := newGallery()
	expires := g.now.Add(24 * time.Hour)
	made := g.AddShare(emulator.Share{
		Workspace: g.room.ID, Title: "Fair", CustomName: "fair2026", Creator: g.ada.ID, Description: "All that is fair.",
		CustomURL: "https://fair.test/all", Access: forAnyone, Password: "lovelace", Expires: expires, AccentColor: `{"r":1}`,
		BackgroundImage: 7, Link1: `{"url":"https://a.test"}`, OwnerDefined: `{"a":[1]}`, ExternalInvites: "denied",
	})
	moment := "2026-06-01 12:00:00 UTC"
	terse := hash{
		"id": made.ID, "title": "Fair", "share_type": "send", "share_level": "admin", "creator": g.ada.ID,
		"share_root_id": g.details(t, made.ID)["share_root_id"],
	}
	standard := maps.Clone(terse)
	maps.Copy(standard, hash{
		"share_category": "portal", "storage_mode": "independent", "folder_node_id": nil, "share_link": nil, "closed": false,
		"archived": false, "is_orphaned": false, "locked": false, "custom_name": "fair2026", "custom_url": "https://fair.test/all",
		"description": "All that is fair.", "download_security": "off", "expires": "2026-06-02 12:00:00 UTC", "created": moment,
		"updated": moment, "guest_chat_enabled": true, "anonymous_uploads_enabled": false, "intelligence": true,
	})
	full := maps.Clone(standard)
	all := func(names string) hash {
		h := hash{}
		for name := range strings.FieldsSeq(names) {
			h[name] = true
		}
		return h
	}
	maps.Copy(full, hash{
		"activity_tracking": all("enabled owner_activity guest_activity own_activity all_upload_activity"),
		"comments":          all("enabled owner_comments_visible guest_comments_visible personal_replies_visible owner_replies_visible"),
		"filesystem":        all("file_creation file_modification file_download file_view folder_creation folder_modification"),
		"event_flow":        all("enabled can_see_own_events can_see_owner_events can_see_guest_events"),
		"multiplayer":       all("enabled_for_user enabled_for_owners enabled_for_guests owners_can_see_guests guests_can_see_owners"),
		"member_visibility": all("user_can_see_members owners_can_see_members guests_can_see_members"),
		"invite":            hash{"setting": "owners", "can_invite": true},
		"capabilities":      hash{"can_invite_external": false}, "external_invites": "denied",
		"parent_type": "workspace", "parent_workspace": g.room.ID, "parent_org": g.org.ID, "parents": []any{g.org.ID, g.room.ID}, "access_options": forAnyone,
		"notify": "never", "display_type": "grid", "workspace_style": "true", "accent_color": hash{"r": 1.0},
		"background_color1": nil, "background_color2": nil, "background_image": 7.0, "link_1": hash{"url": "https://a.test"},
		"link_2": nil, "link_3": nil, "owner_defined": hash{"a": []any{1.0}}, "password": "lovelace", "suspended": false,
		"deleted": false, "platform": nil, "storage": nil, "search": hash{"enabled": true}, "chat": hash{"enabled": true}, "assets": []any{},
	})
	for level, want := range map[string]hash{"terse": terse, "standard": standard, "full": full} {
		got := g.as(t, g.ada, http.MethodGet, on(made, "details"), "output", level).get("share")
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", level, diff)
		}
	}
}

func TestShareObjectByViewer(t *testing.T) {
	t.Parallel()
	g := newGallery()
	g.SetMember(g.open.ID, g.cleo.ID, emulator.Guest)
	for _, test := range []struct {
		name   string
		viewer emulator.User
		level  string
		hidden string
	}{
		{"an admin sees all", g.ada, "admin", ""},
		{"a member of the workspace sees no secrets", g.ben, "member", "password locked suspended"},
		{"a guest sees no root either", g.cleo, "guest", "password locked suspended share_root_id capabilities"},
	} {
		got, _ := g.as(t, test.viewer, http.MethodGet, on(g.open, "details")).get("share").(hash)
		if got["share_level"] != test.level {
			t.Errorf("%s: %v", test.name, got["share_level"])
		}
		for name := range strings.FieldsSeq("password locked suspended share_root_id capabilities") {
			if _, shown := got[name]; shown == set(test.hidden)[name] {
				t.Errorf("%s: %s is shown: %t", test.name, name, shown)
			}
		}
	}
}

func TestCreateShare(t *testing.T) {
	t.Parallel()
	g := newGallery()
	id, p := g.create(t, "title", "Fair", "custom_name", "Fair2026")
	want := hash{"id": id, "custom_name": "Fair2026", "storage_mode": "independent"}
	if diff := cmp.Diff(any(want), p.get("share")); diff != "" || len(id) != 19 {
		t.Errorf("(-want +got):\n%s %s", diff, p.Body)
	}
	if got := g.details(t, id); got["share_type"] != "send" || got["creator"] != g.ben.ID || got["access_options"] != forMembers || got["guest_chat_enabled"] != false {
		t.Errorf("%v", got)
	}
	if p := g.as(t, g.ben, http.MethodGet, "/share/fair2026/details/"); p.get("share.share_level") != "admin" {
		t.Errorf("the creator is no owner: %s", p.Body)
	}
	names := g.search(t, g.ada, "share_id", id).column("event")
	if !cmp.Equal(names, []any{"share_created"}) {
		t.Errorf("events %v", names)
	}
	if names := g.search(t, g.ada, "workspace_id", g.room.ID, "event", "share_created").column("share_id"); !cmp.Equal(names, []any{id}) {
		t.Errorf("the workspace knows of %v", names)
	}
	id, p = g.create(t, "storage_mode", "workspace_folder", "create_folder", "true", "folder_name", "Fruit")
	if got := g.details(t, id); got["share_type"] != "exchange" || got["share_category"] != "shared_folder" || p.get("share.folder_node_id") != got["folder_node_id"] {
		t.Errorf("%v %s", got, p.Body)
	}
	if list := g.as(t, g.ben, http.MethodGet, "/workspace/"+g.room.ID+"/storage/root/list/"); !strings.Contains(list.Body, `"Fruit"`) {
		t.Errorf("no folder: %s", list.Body)
	}
}

func TestCreateShareRules(t *testing.T) {
	t.Parallel()
	g := newGallery(func(o *emulator.Options) { o.Lacks = []string{"ai_agent", "anonymous_uploads"} })
	inFolder := []string{"storage_mode", "workspace_folder", "create_folder", "true"}
	for _, test := range []struct {
		name   string
		pairs  []string
		failed string // name and kind, "" is none
	}{
		{"a title of one letter", []string{"title", "a"}, "title invalid"},
		{"a title of two", []string{"title", "ab"}, ""},
		{"a title of eighty letters", []string{"title", strings.Repeat("ä", 80)}, ""},
		{"a title of eighty-one", []string{"title", strings.Repeat("a", 81)}, "title invalid"},
		{"a title of two lines", []string{"title", "ab\ncd"}, "title invalid"},
		{"a description of nine letters", []string{"description", "123456789"}, "description invalid"},
		{"a description of five hundred", []string{"description", strings.Repeat("a", 500)}, ""},
		{"a description of one more", []string{"description", strings.Repeat("a", 501)}, "description invalid"},
		{"a custom name of three letters", []string{"custom_name", "abc"}, "custom_name invalid"},
		{"a custom name of eighty-one", []string{"custom_name", strings.Repeat("a", 81)}, "custom_name invalid"},
		{"a custom name with a hyphen", []string{"custom_name", "fair-2026"}, "custom_name invalid"},
		{"a custom name in use", []string{"custom_name", "OPEN2026"}, "custom_name invalid"},
		{"a custom name that is an id", []string{"custom_name", g.open.ID}, "custom_name invalid"},
		{"a custom URL of nine letters", []string{"custom_url", "123456789"}, "custom_url invalid"},
		{"a custom URL of a hundred", []string{"custom_url", strings.Repeat("a", 100)}, ""},
		{"a custom URL of one more", []string{"custom_url", strings.Repeat("a", 101)}, "custom_url invalid"},
		{"no custom URL", []string{"custom_url", "null"}, ""},
		{"a password of three letters", []string{"access_options", forAnyone, "password", "abc"}, "password invalid"},
		{"a password of 129", []string{"access_options", forAnyone, "password", strings.Repeat("a", 129)}, "password invalid"},
		{"a password of 128", []string{"access_options", forAnyone, "password", strings.Repeat("a", 128)}, ""},
		{"a password where accounts are asked for", []string{"access_options", forRegistered, "password", "lovelace"}, "password invalid"},
		{"a password without access options", []string{"password", "lovelace"}, "password invalid"},
		{"an unknown access option", []string{"access_options", "everyone"}, "access_options invalid"},
		{"an unknown type", []string{"share_type", "lend"}, "share_type invalid"},
		{"a portal that receives", []string{"share_type", "receive"}, "share_type invalid"},
		{"a portal that exchanges", []string{"share_type", "exchange"}, "share_type invalid"},
		{"a folder that receives", slices.Concat(inFolder, []string{"share_type", "receive"}), ""},
		{"an unknown storage mode", []string{"storage_mode", "room"}, "storage_mode invalid"},
		{"a folder share without folder", []string{"storage_mode", "workspace_folder"}, "folder_node_id missing"},
		{"a folder that is shared", []string{"storage_mode", "workspace_folder", "folder_node_id", g.folder.ID}, "folder_node_id invalid"},
		{"a folder that is a file", []string{"storage_mode", "workspace_folder", "folder_node_id", g.plan.ID}, "folder_node_id invalid"},
		{"a folder of elsewhere", []string{"storage_mode", "workspace_folder", "folder_node_id", g.chest.ID}, "folder_node_id invalid"},
		{"a folder without name", slices.Concat(inFolder, []string{"folder_name", ""}), "folder_name missing"},
		{"a folder name too long", slices.Concat(inFolder, []string{"folder_name", strings.Repeat("a", 256)}), "folder_name invalid"},
		{"an expiry", []string{"expires", "2026-07-01 00:00:00"}, ""},
		{"an expiry with its zone", []string{"expires", "2026-07-01 00:00:00 UTC"}, ""},
		{"an expiry of ISO 8601", []string{"expires", "2026-07-01T00:00:00Z"}, "expires invalid"},
		{"an expiry that is over", []string{"expires", "2026-05-01 00:00:00"}, "expires invalid"},
		{"an expiry that is none", []string{"expires", "tomorrow"}, "expires invalid"},
		{"a folder share that expires", slices.Concat(inFolder, []string{"expires", "2026-07-01 00:00:00"}), "expires invalid"},
		{"unknown inviters", []string{"invite", "all"}, "invite invalid"},
		{"unknown notifications", []string{"notify", "always"}, "notify invalid"},
		{"unknown download security", []string{"download_security", "low"}, "download_security invalid"},
		{"an unknown display", []string{"display_type", ""}, "display_type invalid"},
		{"a blank style", []string{"workspace_style", " "}, "workspace_style invalid"},
		{"a flag that is none", []string{"comments_enabled", "maybe"}, "comments_enabled type_mismatch"},
		{"a color that is no JSON", []string{"accent_color", "red"}, "accent_color invalid"},
		{"a link that is no JSON", []string{"link_3", "{"}, "link_3 invalid"},
		{"owner's own that is no JSON", []string{"owner_defined", "{"}, "owner_defined invalid"},
		{"owner's own that is null", []string{"owner_defined", "null"}, ""},
		{"a picture too many", []string{"background_image", "129"}, "background_image invalid"},
		{"a picture that is no number", []string{"background_image", "one"}, "background_image type_mismatch"},
		{"anonymous uploads to a portal", []string{"access_options", forAnyone, "anonymous_uploads_enabled", "true"}, "anonymous_uploads_enabled invalid"},
		{
			"anonymous uploads that the plan lacks",
			slices.Concat(inFolder, []string{"access_options", forAnyone, "anonymous_uploads_enabled", "true"}),
			"anonymous_uploads_enabled invalid",
		},
		{"intelligence that the plan lacks", []string{"intelligence", "true"}, "intelligence invalid"},
		{"intelligence in a folder", slices.Concat(inFolder, []string{"intelligence", "true"}), ""},
		{"intelligence that is nothing", []string{"intelligence", "perhaps"}, "intelligence type_mismatch"},
	} {
		_, p := g.create(t, test.pairs...)
		switch failed := p.failures(); {
		case test.failed == "" && p.Status != http.StatusOK:
			t.Errorf("%s: %d %s", test.name, p.Status, p.Body)
		case test.failed != "" && (p.Status != http.StatusNotAcceptable || !slices.Contains(failed, test.failed)):
			t.Errorf("%s: %d %v, want 406 %s", test.name, p.Status, failed, test.failed)
		}
	}
}

func TestCreateShareRefusals(t *testing.T) {
	t.Parallel()
	g := newGallery()
	expect(t, g.form(t, g.ben, http.MethodPost, g.creating(), "title", "Fair"), 406, 10021, "intelligence missing")
	expect(t, g.post(t, g.ben, g.creating(), hash{"intelligence": "false"}), 406, 199101)
	expect(t, g.form(t, g.cleo, http.MethodPost, g.creating(), "intelligence", "false"), 401, 199311)
	expect(t, g.form(t, g.eve, http.MethodPost, g.creating(), "intelligence", "false"), 401, 10545)
	expect(t, g.form(t, g.ada, http.MethodPost, "/workspace/nowhere/create/share/", "intelligence", "false"), 404, 0)
	reader := g.AddKey(emulator.Key{User: g.ben.ID, Scopes: []string{"workspace:" + g.room.ID + ":r"}})
	g.keys["reader"] = reader.Token
	expect(t, g.form(t, emulator.User{ID: "reader"}, http.MethodPost, g.creating(), "intelligence", "false"), 403, 10770)

	older := newGallery(func(o *emulator.Options) { o.Shares.IntelligenceStatus = 400 })
	expect(t, older.form(t, older.ben, http.MethodPost, older.creating(), "title", "Fair"), 400, 10021, "intelligence missing")
	expect(t, older.form(t, older.ben, http.MethodPost, older.creating(), "title", ""), 406, 0)

	full := newGallery(func(o *emulator.Options) { o.Shares.Limit = 4 })
	full.AddShare(emulator.Share{Org: full.org.ID, Title: "In no workspace", Creator: full.ada.ID})
	if _, p := full.create(t); p.Status != http.StatusOK {
		t.Errorf("the fourth share: %s", p.Body)
	}
	if _, p := full.create(t); p.Status != http.StatusPreconditionFailed {
		t.Errorf("the fifth share: %d", p.Status)
	}
	busy := newGallery(func(o *emulator.Options) { o.Shares.Conflicts = 1 })
	if _, p := busy.create(t); p.Status != http.StatusConflict {
		t.Errorf("a concurrent creation: %d", p.Status)
	}
	if _, p := busy.create(t); p.Status != http.StatusOK {
		t.Errorf("the one after it: %s", p.Body)
	}
}

func TestSharingPolicy(t *testing.T) {
	t.Parallel()
	for name, forbid := range map[string]func(*gallery){
		"of the organization": func(g *gallery) { g.org.NoSharing = true; g.AddOrg(g.org) },
		"of the workspace":    func(g *gallery) { g.room.NoSharing = true; g.AddWorkspace(g.room) },
	} {
		g := newGallery()
		forbid(g)
		_, p := g.create(t, "storage_mode", "workspace_folder", "create_folder", "true", "folder_name", "Fruit")
		if p.Status != http.StatusForbidden || p.reason() != "policy_sharing_disabled" {
			t.Errorf("%s: %d %s", name, p.Status, p.Body)
		}
		if list := g.as(t, g.ben, http.MethodGet, "/workspace/"+g.room.ID+"/storage/root/list/"); strings.Contains(list.Body, `"Fruit"`) {
			t.Errorf("%s: the folder was made", name)
		}
		w := g.as(t, g.ben, http.MethodGet, "/workspace/"+g.room.ID+"/details/")
		if w.get("workspace.capabilities.can_create_share") != false {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}

// The access of a link for anyone gives way to what needs to know people.
func TestAccessUpgrades(t *testing.T) {
	t.Parallel()
	g := newGallery()
	folder := func(name string) []string {
		return []string{"storage_mode", "workspace_folder", "create_folder", "true", "folder_name", name, "access_options", forAnyone}
	}
	for _, test := range []struct {
		name                string
		made, changed       []string
		access              string
		password, anonymous bool
	}{
		{"nothing needs people", []string{"access_options", forAnyone, "password", "lovelace"}, nil, forAnyone, true, false},
		{"comments do", []string{"access_options", forAnyone, "password", "lovelace", "comments_enabled", "true"}, nil, forRegistered, false, false},
		{"comments do later", []string{"access_options", forAnyone, "password", "lovelace"}, []string{"comments_enabled", "true"}, forRegistered, false, false},
		{"no comments do not", []string{"access_options", forAnyone, "comments_enabled", "false"}, nil, forAnyone, false, false},
		{"notifications do", []string{"access_options", forAnyone}, []string{"notify", "notify_on_file_received"}, forRegistered, false, false},
		{"a receiving share does", append(folder("A"), "share_type", "receive"), nil, forRegistered, false, false},
		{
			"not with anonymous uploads", append(folder("B"), "share_type", "receive", "anonymous_uploads_enabled", "true", "password", "lovelace"),
			nil, forAnyone, true, true,
		},
		{
			"as soon as those end", append(folder("C"), "share_type", "receive", "anonymous_uploads_enabled", "true", "password", "lovelace"),
			[]string{"anonymous_uploads_enabled", "false"},
			forRegistered, false, false,
		},
		{"a type that becomes receiving does", append(folder("D"), "share_type", "send"), []string{"share_type", "receive"}, forRegistered, false, false},
		{
			"a type that sends ends anonymous uploads", append(folder("E"), "share_type", "receive", "anonymous_uploads_enabled", "true"),
			[]string{"share_type", "send"},
			forAnyone, false, false,
		},
		{
			"leaving anyone ends password and uploads", append(folder("F"), "share_type", "receive", "anonymous_uploads_enabled", "true", "password", "lovelace"),
			[]string{"access_options", forMembers},
			forMembers, false, false,
		},
	} {
		id, p := g.create(t, test.made...)
		if id == "" {
			t.Errorf("%s: %s", test.name, p.Body)
			continue
		}
		if test.changed != nil {
			if p := g.form(t, g.ada, http.MethodPost, "/share/"+id+"/update/", test.changed...); p.Status != http.StatusOK {
				t.Errorf("%s: %s", test.name, p.Body)
			}
		}
		got := g.details(t, id)
		if got["access_options"] != test.access || (got["password"] != nil) != test.password || got["anonymous_uploads_enabled"] != test.anonymous {
			t.Errorf("%s: %v %v %v", test.name, got["access_options"], got["password"], got["anonymous_uploads_enabled"])
		}
	}
}

func TestUpdateShare(t *testing.T) {
	t.Parallel()
	g := newGallery()
	path := on(g.open, "update")
	before := g.details(t, g.open.ID)
	p := g.form(t, g.ada, http.MethodPost, path,
		"title", "Closed", "description", "Nothing to see here.", "custom_name", "closed26", "custom_url", "https://a.test/b",
		"expires", "2026-07-01 00:00:00", "accent_color", `{"r":1}`, "link_2", `{"url":"x"}`, "owner_defined", "[1]",
		"background_image", "128", "external_invites", "denied", "download_security", "high", "display_type", "list",
		"workspace_style", "false", "guest_chat_enabled", "false", "invite", "guests", "comments_enabled", "false")
	if p.Status != http.StatusOK || p.get("share") != nil {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	want := maps.Clone(before)
	maps.Copy(want, hash{
		"title": "Closed", "description": "Nothing to see here.", "custom_name": "closed26", "custom_url": "https://a.test/b",
		"expires": "2026-07-01 00:00:00 UTC", "accent_color": hash{"r": 1.0}, "link_2": hash{"url": "x"}, "owner_defined": []any{1.0},
		"background_image": 128.0, "external_invites": "denied", "download_security": "high", "display_type": "list",
		"workspace_style": "false", "guest_chat_enabled": false, "invite": hash{"setting": "guests", "can_invite": true},
		"capabilities": hash{"can_invite_external": false},
		"comments": hash{
			"enabled": false, "owner_comments_visible": true, "guest_comments_visible": true, "personal_replies_visible": true,
			"owner_replies_visible": true,
		},
	})
	if diff := cmp.Diff(want, g.details(t, g.open.ID)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, nothing := range []string{"null", ""} {
		p := g.form(t, g.ada, http.MethodPost, path, "description", nothing, "custom_url", nothing, "password", nothing,
			"expires", nothing, "accent_color", nothing, "link_2", nothing, "owner_defined", nothing)
		if p.Status != http.StatusOK {
			t.Errorf("%q: %s", nothing, p.Body)
		}
		got := g.details(t, g.open.ID)
		for name := range strings.FieldsSeq("description custom_url password expires accent_color link_2 owner_defined") {
			if got[name] != nil {
				t.Errorf("%q leaves %s at %v", nothing, name, got[name])
			}
		}
	}
	if names := g.search(t, g.ada, "share_id", g.open.ID).column("event"); !cmp.Equal(names, []any{"share_updated", "share_updated"}) {
		t.Errorf("events %v: one that changes nothing writes none", names)
	}
}

func TestUpdateShareRules(t *testing.T) {
	t.Parallel()
	g := newGallery(func(o *emulator.Options) { o.Lacks = []string{"content_ai"} })
	plain := g.AddShare(emulator.Share{Workspace: g.room.ID, Title: "Plain", Creator: g.ada.ID, NoIntelligence: true})
	for _, test := range []struct {
		name   string
		share  emulator.Share
		pairs  []string
		failed string
	}{
		{"a title cannot be cleared", plain, []string{"title", "null"}, "title invalid"},
		{"a title cannot be empty", plain, []string{"title", ""}, "title missing"},
		{"a custom name cannot be cleared", plain, []string{"custom_name", "null"}, "custom_name invalid"},
		{"a custom name is in use", plain, []string{"custom_name", "open2026"}, "custom_name invalid"},
		{"a custom name stays", g.open, []string{"custom_name", "open2026"}, ""},
		{"a password needs a link for anyone", plain, []string{"password", "lovelace"}, "password invalid"},
		{"a password comes with the link", plain, []string{"password", "lovelace", "access_options", forAnyone}, ""},
		{"a portal only sends", plain, []string{"share_type", "exchange"}, "share_type invalid"},
		{"a folder does not expire", g.shelf, []string{"expires", "2026-07-01 00:00:00"}, "expires invalid"},
		{"a folder need not expire", g.shelf, []string{"expires", "null"}, ""},
		{"a folder has no intelligence", g.shelf, []string{"intelligence", "true"}, "intelligence invalid"},
		{"the plan has no intelligence", plain, []string{"intelligence", "true"}, "intelligence invalid"},
		{"external invites are not inherited again", plain, []string{"external_invites", "null"}, "external_invites invalid"},
		{"a link of the share can only go", plain, []string{"share_link_node_id", g.plan.ID}, "share_link_node_id invalid"},
		{"a link of the share goes", plain, []string{"share_link_node_id", "null"}, ""},
	} {
		p := g.form(t, g.ada, http.MethodPost, on(test.share, "update"), test.pairs...)
		switch {
		case test.failed == "" && p.Status != http.StatusOK:
			t.Errorf("%s: %d %s", test.name, p.Status, p.Body)
		case test.failed != "":
			expect(t, p, 406, 0, test.failed)
		}
	}
	expect(t, g.post(t, g.ada, on(g.open, "update"), hash{"title": "Fair"}), 406, 199101)
	expect(t, g.form(t, g.ben, http.MethodPost, on(g.open, "update"), "title", "Fair"), 401, 199311)
	expect(t, g.form(t, g.eve, http.MethodPost, on(g.open, "update"), "title", "Fair"), 401, 10545)
	expect(t, g.form(t, g.ada, http.MethodPost, "/share/nothing/update/", "title", "Fair"), 404, 0)
}

func TestIntelligenceOfShares(t *testing.T) {
	t.Parallel()
	g := newGallery(func(o *emulator.Options) { o.Storage.IndexPace = -1 })
	n := g.AddNode(emulator.Node{Profile: g.open.ID, Name: "note.txt", Content: "Text."})
	state := func() any {
		return g.as(t, g.ada, http.MethodGet, on(g.open, "storage/"+n.ID+"/details")).get("node.ai.state")
	}
	for _, test := range []struct{ on, want string }{{"false", "ready"}, {"true", "indexed"}} {
		g.form(t, g.ada, http.MethodPost, on(g.open, "update"), "intelligence", test.on)
		if got := state(); got != test.want {
			t.Errorf("with intelligence %s the file is %v", test.on, got)
		}
	}
}

func TestDeleteShare(t *testing.T) {
	t.Parallel()
	g := newGallery(func(o *emulator.Options) { o.DropUndeclared = true })
	path := on(g.open, "delete")
	expect(t, g.as(t, g.ada, http.MethodDelete, path), 406, 130987)
	expect(t, g.as(t, g.ada, http.MethodDelete, path, "confirm", "Open"), 406, 10022, "confirm invalid")
	expect(t, g.form(t, g.ada, http.MethodDelete, path, "confirm", g.open.ID), 406, 130987) // a body is not read
	expect(t, g.as(t, g.ben, http.MethodDelete, path, "confirm", g.open.ID), 401, 199311)
	for i, say := range []func(h emulator.Share) reply{
		func(h emulator.Share) reply {
			return g.as(t, g.ada, http.MethodDelete, on(h, "delete"), "confirm", h.ID)
		},
		func(h emulator.Share) reply {
			return g.as(t, g.ada, http.MethodDelete, on(h, "delete"), "confirm", h.CustomName)
		},
	} {
		h := g.AddShare(emulator.Share{Workspace: g.room.ID, Title: fmt.Sprint("Fair", i), Creator: g.ada.ID})
		if p := say(h); p.Status != http.StatusOK {
			t.Errorf("%d: %s", i, p.Body)
		}
		expect(t, g.as(t, g.ada, http.MethodGet, on(h, "details")), 404, 0)
		expect(t, say(h), 404, 0)
		if got := g.search(t, g.ada, "workspace_id", g.room.ID, "event", "share_deleted").column("share_id"); !slices.Contains(got, any(h.ID)) {
			t.Errorf("%d: events of %v", i, got)
		}
		if got := g.as(t, g.ada, http.MethodGet, "/shares/check/name/"+h.CustomName+"/"); got.Status != http.StatusAccepted {
			t.Errorf("%d: the name is not free: %d", i, got.Status)
		}
	}
}

func TestArchiveShare(t *testing.T) {
	t.Parallel()
	g := newGallery()
	g.SetMember(g.open.ID, g.cleo.ID, emulator.Guest)
	for _, action := range []string{"archive", "unarchive"} {
		expect(t, g.form(t, g.ada, http.MethodPost, on(g.shelf, action)), 406, 0, "share_id invalid")
		expect(t, g.form(t, g.ben, http.MethodPost, on(g.open, action)), 401, 199311)
		expect(t, g.post(t, g.ada, on(g.open, action), hash{"now": true}), 406, 0)
		for range 2 {
			expect(t, g.form(t, g.ada, http.MethodPost, on(g.open, action)), 200, 0)
		}
		archived := action == "archive"
		if got := g.details(t, g.open.ID)["archived"]; got != archived {
			t.Errorf("%s: archived %v", action, got)
		}
		status := map[bool]int{true: 401, false: 200}[archived]
		for _, path := range []string{"details", "public/details", "storage/root/list"} {
			if got := g.as(t, g.cleo, http.MethodGet, on(g.open, path)); got.Status != status {
				t.Errorf("%s: a guest gets %d for %s", action, got.Status, path)
			}
		}
		for way, fields := range map[string][]string{"auth/password": {"password", "lovelace"}, "auth/guest": nil} {
			if got := g.form(t, emulator.User{}, http.MethodPost, on(g.open, way), fields...); got.Status != status {
				t.Errorf("%s: a visitor gets %d for %s", action, got.Status, way)
			}
		}
		if got := g.as(t, g.cleo, http.MethodGet, "/activity/poll/"+g.open.ID+"/"); (got.Status == http.StatusOK) == archived {
			t.Errorf("%s: a guest polls with %d", action, got.Status)
		}
		if got := g.as(t, g.ben, http.MethodGet, on(g.open, "details")); got.Status != http.StatusOK {
			t.Errorf("%s: a member gets %d", action, got.Status)
		}
	}
	expect(t, g.form(t, g.ada, http.MethodPost, on(g.open, "archive")), 200, 0)
	expect(t, g.form(t, g.ada, http.MethodPost, on(g.open, "update"), "title", "Fair"), 200, 0)
	names := g.search(t, g.ada, "share_id", g.open.ID).column("event")
	if want := []any{"share_archived", "share_unarchived", "share_archived", "share_updated"}; !cmp.Equal(names, want) {
		t.Errorf("events %v, want %v", names, want)
	}
}

func TestExpiryOfShares(t *testing.T) {
	t.Parallel()
	g := newGallery()
	g.SetMember(g.open.ID, g.cleo.ID, emulator.Guest)
	g.form(t, g.ada, http.MethodPost, on(g.open, "update"), "expires", "2026-06-01 12:00:10", "password", "")
	for _, test := range []struct {
		after         time.Duration
		guest, member int
	}{{9 * time.Second, 200, 200}, {10 * time.Second, 401, 200}} {
		g.now = epochOfBoards.Add(test.after)
		for _, path := range []string{"details", "public/details", "storage/root/list"} {
			if got := g.as(t, g.cleo, http.MethodGet, on(g.open, path)); got.Status != test.guest {
				t.Errorf("after %v a guest gets %d for %s", test.after, got.Status, path)
			}
			if got := g.visit(t, on(g.open, path), ""); got.Status != test.guest {
				t.Errorf("after %v a visitor gets %d for %s", test.after, got.Status, path)
			}
			if got := g.as(t, g.ben, http.MethodGet, on(g.open, path)); got.Status != test.member {
				t.Errorf("after %v a member gets %d for %s", test.after, got.Status, path)
			}
		}
	}
}

var epochOfBoards = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestOrphanedShares(t *testing.T) {
	t.Parallel()
	g := newGallery()
	listed := func() []any { return titlesOf(g.as(t, g.ada, http.MethodGet, "/shares/all/")) }
	if got := listed(); !slices.Contains(got, any("Shelf")) {
		t.Fatalf("%v", got)
	}
	g.folder.Trashed = true
	g.AddNode(g.folder)
	if got := g.details(t, g.shelf.ID)["is_orphaned"]; got != true {
		t.Errorf("is_orphaned %v", got)
	}
	if got := listed(); slices.Contains(got, any("Shelf")) || len(got) == 0 {
		t.Errorf("the orphan is among %v", got)
	}
	if got := titlesOf(g.as(t, g.ada, http.MethodGet, "/workspace/"+g.room.ID+"/list/shares/")); !slices.Contains(got, any("Shelf")) {
		t.Errorf("the workspace lists %v", got)
	}
}

func titlesOf(p reply) []any {
	list, _ := p.get("shares").([]any)
	titles := []any{}
	for _, h := range list {
		titles = append(titles, h.(hash)["title"])
	}
	return titles
}

func TestSharePasswords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key     string
		expires bool
	}{{"auth_token", true}, {"token", false}, {"jwt", true}} {
		g := newGallery(func(o *emulator.Options) {
			o.Shares.NoLinkExpiry = !test.expires
			if test.key != "auth_token" {
				o.Shares.LinkTokenKey = test.key
			}
		})
		nobody := emulator.User{}
		auth := on(g.open, "auth/password")
		expect(t, g.form(t, nobody, http.MethodPost, auth, "password", "byron"), 401, 199807)
		expect(t, g.form(t, nobody, http.MethodPost, auth), 406, 0, "password missing")
		expect(t, g.form(t, nobody, http.MethodPost, auth, "password", ""), 406, 0, "password missing")
		expect(t, g.call(t, nobody, http.MethodPost, auth, hash{"password": "lovelace"}), 406, 199101)
		expect(t, g.form(t, nobody, http.MethodPost, on(g.shelf, "auth/password"), "password", "lovelace"), 401, 199807)
		p := g.form(t, nobody, http.MethodPost, auth, "password", "lovelace")
		token, _ := p.get(test.key).(string)
		if p.Status != http.StatusOK || token == "" || (p.get("expires_in") == 3600.0) != test.expires {
			t.Fatalf("%d %s", p.Status, p.Body)
		}
		for _, path := range []string{"details", "public/details", "storage/root/list"} {
			if got := g.visit(t, on(g.open, path), token); got.Status != http.StatusOK {
				t.Errorf("%s with the token: %d", path, got.Status)
			}
			for _, sent := range []string{"", "byron", "lovelace", token + "x"} {
				if got := g.visit(t, on(g.open, path), sent); got.Status != http.StatusUnauthorized {
					t.Errorf("%s with %q: %d", path, sent, got.Status)
				}
			}
		}
		other := g.AddShare(emulator.Share{Workspace: g.room.ID, Title: "Other", Access: forAnyone, Password: "lovelace"})
		expect(t, g.visit(t, on(other, "public/details"), token), 401, 0)
		g.form(t, g.ada, http.MethodPost, on(g.open, "update"), "password", "byron")
		expect(t, g.visit(t, on(g.open, "public/details"), token), 401, 0)
		g.form(t, g.ada, http.MethodPost, on(g.open, "update"), "password", "lovelace")
		expect(t, g.visit(t, on(g.open, "public/details"), token), 200, 0)
		g.now = g.now.Add(time.Hour + time.Second)
		expect(t, g.visit(t, on(g.open, "public/details"), token), 401, 0)
	}
}

func TestGuestTokens(t *testing.T) {
	t.Parallel()
	g := newGallery()
	nobody := emulator.User{}
	p := g.form(t, nobody, http.MethodPost, on(g.open, "auth/guest"))
	token, _ := p.get("auth_token").(string)
	if token == "" || p.get("expires_in") != 3600.0 {
		t.Errorf("%d %s", p.Status, p.Body)
	}
	expect(t, g.visit(t, on(g.open, "public/details"), token), 401, 0)
	expect(t, g.form(t, nobody, http.MethodPost, on(g.shelf, "auth/guest")), 401, 183836)
	expect(t, g.form(t, nobody, http.MethodPost, "/share/nothing/auth/guest/"), 404, 0)
}

func TestWhoMayReadShares(t *testing.T) {
	t.Parallel()
	g := newGallery()
	nobody := emulator.User{}
	all := []emulator.User{g.ada, g.ben, g.cleo, g.dora, g.eve, nobody}
	g.SetMember(g.org.ID, g.dora.ID, emulator.Member)
	for _, test := range []struct {
		access  string
		details []int // by user, in the order of all
	}{
		{forMembers, []int{200, 200, 401, 401, 401, 401}},
		{forOrg, []int{200, 200, 401, 200, 401, 401}},
		{forRegistered, []int{200, 200, 200, 200, 200, 401}},
		{forAnyone, []int{200, 200, 200, 200, 200, 200}},
	} {
		h := g.AddShare(emulator.Share{Workspace: g.room.ID, Title: "Fair", CustomName: "fair2026", Access: test.access})
		for i, u := range all {
			for path, code := range map[string]int{"details": 144499, "public/details": 183836} {
				p := g.visit(t, on(h, path), "")
				if u.ID != "" {
					p = g.as(t, u, http.MethodGet, on(h, path))
				} else if path == "details" {
					code = 10011
				}
				if test.details[i] == 200 {
					code = 0
				}
				if p.Status != test.details[i] || p.code() != code {
					t.Errorf("%s: %s gets %d %d for %s", test.access, u.FirstName, p.Status, p.code(), path)
				}
			}
		}
		g.as(t, g.ada, http.MethodDelete, on(h, "delete"), "confirm", h.ID)
	}
}

func TestPublicDetails(t *testing.T) {
	t.Parallel()
	g := newGallery()
	h := g.AddShare(emulator.Share{Workspace: g.room.ID, Title: "Fair", Creator: g.ada.ID, Access: forAnyone})
	n := g.AddNode(emulator.Node{Profile: h.ID, Name: "stall", Kind: "folder"})
	g.AddNode(emulator.Node{Profile: h.ID, Parent: n.ID, Name: "apple.png"})
	p := g.visit(t, on(h, "public/details"), "")
	want := hash{"id": g.ada.ID, "account_type": "human", "first_name": "Ada", "last_name": "Stone", "profile_pic": nil}
	if diff := cmp.Diff(any(want), p.get("owner")); diff != "" {
		t.Errorf("owner (-want +got):\n%s", diff)
	}
	if nodes, _ := p.get("nodes").([]any); len(nodes) != 1 || p.get("nodes.0.name") != "stall" || p.get("share.share_level") != "public" {
		t.Errorf("%s", p.Body)
	}
	if diff := cmp.Diff(any(hash{"id": g.org.ID, "domain": "acme", "name": "Acme", "logo": nil}), p.get("org")); diff != "" {
		t.Errorf("org (-want +got):\n%s", diff)
	}
	if !cmp.Equal(p.get("comments"), any([]any{})) || !cmp.Equal(p.get("users"), any([]any{})) {
		t.Errorf("%s", p.Body)
	}
	p = g.as(t, g.ben, http.MethodGet, on(h, "public/details"))
	if p.get("owner.email_address") != "ada@example.test" || p.get("users.0.first_name") != "Ada" {
		t.Errorf("to a member: %s", p.Body)
	}
}

func TestShareLists(t *testing.T) {
	t.Parallel()
	g := newGallery()
	g.SetMember(g.open.ID, g.eve.ID, emulator.Guest)
	old := g.AddShare(emulator.Share{Workspace: g.room.ID, Title: "Old", Creator: g.ada.ID, Archived: true})
	g.AddInvitation(emulator.Invitation{Profile: g.shelf.ID, Email: g.eve.Email, Inviter: g.ada.ID})
	room := "/workspace/" + g.room.ID + "/list/shares/"
	for _, test := range []struct {
		name  string
		user  emulator.User
		path  string
		query []string
		want  []any
	}{
		{"what one owns", g.ada, "/shares/all/", nil, []any{"Open", "Shelf", "Old"}},
		{"what one has joined or was invited to", g.eve, "/shares/all/", nil, []any{"Open", "Shelf"}},
		{"what one may join through the workspace", g.ben, "/shares/available/", nil, []any{"Portal", "Shelf", "Old"}},
		{"what one is in, without invitations", g.eve, "/shares/available/", nil, []any{"Open"}},
		{"those of a workspace", g.ben, room, nil, []any{"Portal", "Open", "Shelf"}},
		{"the archived ones of a workspace", g.ben, room, []string{"archived", "true"}, []any{"Old"}},
		{"a page of them", g.ben, room, []string{"limit", "1", "offset", "1"}, []any{"Open"}},
		{"those of a workspace that a guest is in", g.cleo, room, nil, []any{"Portal"}},
		{"one's own", g.ada, "/user/me/list/shares/", nil, []any{"Open", "Shelf"}},
		{"one's own that are archived", g.ada, "/user/me/list/shares/", []string{"archived", "true"}, []any{"Old"}},
	} {
		p := g.as(t, test.user, http.MethodGet, test.path, test.query...)
		if got := titlesOf(p); !cmp.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if paged := p.get("pagination") != nil; paged == (test.path == "/shares/available/") {
			t.Errorf("%s: pages are told: %t", test.name, paged)
		}
	}
	if p := g.as(t, g.ben, http.MethodGet, "/shares/available/"); p.get("shares.0.user_status") != "available" {
		t.Errorf("%s", p.Body)
	}
	if p := g.as(t, g.ada, http.MethodGet, "/shares/all/", "output", "standard"); p.get("shares.0.user_status") != "joined" {
		t.Errorf("%s", p.Body)
	}
	expect(t, g.as(t, g.ben, http.MethodGet, room, "archived", "often"), 406, 10023, "archived type_mismatch")
	expect(t, g.as(t, g.ben, http.MethodGet, room, "limit", "501"), 406, 10022, "limit invalid")
	expect(t, g.as(t, g.eve, http.MethodGet, room), 401, 10545)
	_ = old
}

func TestCheckShareName(t *testing.T) {
	t.Parallel()
	g := newGallery()
	for name, status := range map[string]int{"fair2026": 202, "日本語名": 202, "abc": 406, "a-name": 406, "open2026": 406, "OPEN2026": 406} {
		if p := g.as(t, g.eve, http.MethodGet, "/shares/check/name/"+url.PathEscape(name)+"/"); p.Status != status || (status == 202) != (p.get("result") == true) {
			t.Errorf("%s: %d %s", name, p.Status, p.Body)
		}
	}
}

func TestImportShare(t *testing.T) {
	t.Parallel()
	g := newGallery(func(o *emulator.Options) { o.Shares.Limit = 4 })
	into := func(h emulator.Share) string { return "/workspace/" + g.room.ID + "/import/share/" + h.ID + "/" }
	own := func(title string) emulator.Share {
		return g.AddShare(emulator.Share{Title: title, Creator: g.ben.ID, Archived: true})
	}
	h := own("Mine")
	if got := g.as(t, g.ben, http.MethodGet, on(h, "details")); got.get("share.parent_type") != "user" || got.get("share.parent_workspace") != nil {
		t.Errorf("%s", got.Body)
	}
	expect(t, g.form(t, g.ben, http.MethodPost, into(g.portal)), 406, 199805)
	g.SetMember(h.ID, g.ada.ID, emulator.Member)
	expect(t, g.form(t, g.ada, http.MethodPost, into(h)), 406, 199805)
	shared := own("Ours")
	g.SetMember(shared.ID, g.ada.ID, emulator.Owner)
	expect(t, g.form(t, g.ben, http.MethodPost, into(shared)), 406, 199806)
	expect(t, g.form(t, g.ben, http.MethodPost, into(h)), 200, 0)
	got := g.details(t, h.ID)
	if got["parent_workspace"] != g.room.ID || got["parent_org"] != g.org.ID || got["parent_type"] != "workspace" || got["archived"] != false {
		t.Errorf("%v", got)
	}
	expect(t, g.form(t, g.ben, http.MethodPost, into(h)), 406, 199805)
	expect(t, g.form(t, g.ben, http.MethodPost, into(own("Late"))), 412, 0)
	if names := g.search(t, g.ada, "workspace_id", g.room.ID, "event", "share_imported_to_workspace").column("share_id"); !cmp.Equal(names, []any{h.ID}) {
		t.Errorf("events of %v", names)
	}
}

// The root of a share has an id of its own, or that of the folder it shows.
func TestShareRoots(t *testing.T) {
	t.Parallel()
	g := newGallery()
	for _, h := range []emulator.Share{g.open, g.shelf} {
		root, _ := g.details(t, h.ID)["share_root_id"].(string)
		byID := g.as(t, g.ada, http.MethodGet, on(h, "storage/"+root+"/list")).get("nodes")
		byName := g.as(t, g.ada, http.MethodGet, on(h, "storage/root/list")).get("nodes")
		if diff := cmp.Diff(byName, byID); diff != "" || byID == nil {
			t.Errorf("%s (-root +%s):\n%s", h.Title, root, diff)
		}
	}
}

func TestLoadShares(t *testing.T) {
	t.Parallel()
	g := newGallery()
	err := g.Load(strings.NewReader(`{
	  "users":  [{"id": "mary", "email": "mary@example.test"}],
	  "keys":   [{"token": "marys", "user_id": "mary"}],
	  "shares": [{"id": "fair", "workspace_id": "` + g.room.ID + `", "title": "Fair", "creator": "mary", "folder_id": "stall", "link_id": "sign",
	              "share_type": "receive", "access": "Anyone with the link", "password": "lovelace", "anonymous_uploads": true,
	              "accent_color": {"r": 1}, "owner_defined": [1], "background_image": 3, "no_guest_downloads": true},
	             {"id": "mine", "title": "Mine", "creator": "mary", "expires": "2026-07-01T00:00:00Z", "archived": true}],
	  "nodes":  [{"id": "stall", "profile_id": "` + g.room.ID + `", "kind": "folder", "name": "stall"},
	             {"id": "sign", "profile_id": "` + g.room.ID + `", "kind": "link", "name": "sign"},
	             {"id": "apple", "profile_id": "` + g.room.ID + `", "parent_id": "stall", "name": "apple.txt", "content": "An apple."}],
	  "quick_shares": [{"id": "quick", "node_id": "apple", "creator": "mary", "transferred": 900, "limit_exceeded": true}]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	got := g.with(t, "marys", http.MethodGet, "/share/fair/details/")
	for path, want := range map[string]any{
		"share_level": "admin", "share_type": "receive", "storage_mode": "workspace_folder", "anonymous_uploads_enabled": true, "password": "lovelace",
		"accent_color.r": 1.0, "owner_defined.0": 1.0, "background_image": 3.0, "download_security": "high", "is_orphaned": false,
	} {
		if got := got.get("share." + path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if link, _ := got.get("share.share_link.node_id").(string); link == "" {
		t.Errorf("no link: %s", got.Body)
	}
	if mine := g.with(t, "marys", http.MethodGet, "/share/mine/details/"); mine.get("share.archived") != true || mine.get("share.expires") != "2026-07-01 00:00:00 UTC" {
		t.Errorf("%s", mine.Body)
	}
	list := g.as(t, g.ben, http.MethodGet, "/workspace/"+g.room.ID+"/quickshares/")
	if list.get("quickshares.0.limit_exceeded") != true || list.get("quickshares.0.node.name") != "apple.txt" {
		t.Errorf("%s", list.Body)
	}
}

// The platform documents an empty form; the vendor's client sends {}.
func TestCallsWithoutFieldsTakeAnEmptyFormAndEmptyJSON(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(g *gallery) string{
		"archive":    func(g *gallery) string { return on(g.open, "archive") },
		"unarchive":  func(g *gallery) string { return on(g.open, "unarchive") },
		"guest auth": func(g *gallery) string { return on(g.open, "auth/guest") },
		"join":       func(g *gallery) string { return on(g.portal, "members/join") },
		"join by key": func(g *gallery) string {
			v := g.AddInvitation(emulator.Invitation{Profile: g.portal.ID, Email: g.ben.Email, Inviter: g.ada.ID, Role: emulator.Guest})
			return on(g.portal, "members/join/"+v.Key+"/decline")
		},
		"import": func(g *gallery) string {
			return "/workspace/" + g.room.ID + "/import/share/" + g.AddShare(emulator.Share{Title: "Mine", Creator: g.ada.ID}).ID + "/"
		},
		"accept all": func(*gallery) string { return "/user/invitations/acceptall/" },
	} {
		for kind, send := range map[string]func(g *gallery, u emulator.User, path string) reply{
			"form": func(g *gallery, u emulator.User, path string) reply { return g.form(t, u, http.MethodPost, path) },
			"json": func(g *gallery, u emulator.User, path string) reply { return g.post(t, u, path, hash{}) },
		} {
			g := newGallery()
			u := map[bool]emulator.User{true: g.ben, false: g.ada}[strings.HasPrefix(name, "join")]
			if p := send(g, u, path(g)); p.Status != http.StatusOK {
				t.Errorf("%s as %s: %d %s", name, kind, p.Status, p.Body)
			}
		}
	}
	g := newGallery()
	expect(t, g.call(t, g.ada, http.MethodPost, on(g.open, "archive"), "[]", "Content-Type", "application/json"), 406, 199101)
}
