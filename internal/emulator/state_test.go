package emulator_test

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// eventNames are the documented names: the first word of a line goes before each of the others.
const eventNames = `
workspace_storage _file_added _file_deleted _file_moved _file_copied _file_updated _file_restored _file_version_restored
workspace_storage _folder_created _folder_deleted _folder_moved _download_token_created _zip_downloaded _link_added
share_storage _file_added _file_deleted _file_moved _file_copied _file_updated _file_restored
share_storage _folder_created _folder_deleted _folder_moved _download_token_created _zip_downloaded
comment _created _updated _deleted _mentioned _replied _reaction
added_member _to_org _to_workspace _to_share
removed_member _from_org _from_workspace _from_share
membership _updated
ownership _transferred
workspace _created _updated _deleted _archived _unarchived _ai_share_created
share _created _updated _deleted _archived _unarchived _imported_to_workspace
ai_chat _created _updated _deleted _new_message _published
node_ai _summary_created
metadata_kv _update _delete _extract
metadata_template _update _delete _select
metadata_view _update _delete
workspace_quickshare _created _updated _deleted _file_downloaded _file_previewed
invitation _email_sent _accepted _declined
user _created _updated _deleted _email_reset _asset_updated _login
org _created _updated _closed _transfer_token_created _transfer_completed _security_alert
subscription _created _cancelled
billing _free_trial_ended
task_list _created _updated _deleted
task _created _updated _deleted _status_changed _assigned _completed
worklog _entry_created _interjection_created _interjection_acknowledged
approval _requested _approved _rejected
todo _created _toggled _deleted _updated
sign_envelope _sent
file_share _created
email _bounced
domain _verified
upload _finished
share_storage _lock_overridden
`

func TestEveryDocumentedEventIsClassified(t *testing.T) {
	t.Parallel()
	categories := strings.Fields(`upload user org workspace share ai invitation email billing metadata domain apps
		workflow node import`)
	subs := strings.Fields(`storage comments members lifecycle settings security authentication ai invitations billing
		assets upload transfer import_export quickshare metadata workflow fileshare cloud_import`)
	p := newScript(t, "")
	for line := range strings.Lines(eventNames) {
		words := strings.Fields(line)
		for i := 1; i < len(words); i++ {
			e := p.AddEvent(world.Event{Name: words[0] + words[i], Workspace: p.id("room")})
			if !slices.Contains(categories, e.Category) || !slices.Contains(subs, e.SubCategory) {
				t.Errorf("%s: category %q, subcategory %q", e.Name, e.Category, e.SubCategory)
			}
			if e.Permission != "targeted" {
				p.must(t, "ada GET /event/"+e.ID+`/details/ -> 200 event.description~"."`)
			}
		}
	}
}

func TestAddFillsWhatIsEmpty(t *testing.T) {
	t.Parallel()
	s := emulator.New(seed.Options{})
	o := s.AddOrg(world.Org{})
	w := s.AddWorkspace(world.Workspace{Org: o.ID, Name: "A & B"})
	short := s.AddWorkspace(world.Workspace{Org: o.ID, Name: "X"})
	share := s.AddShare(world.SeedShare{Workspace: w.ID})
	got := []string{o.Domain, o.Name, w.FolderName, short.FolderName, share.Org, share.Title, share.CustomName}
	if diff := cmp.Diff([]string{"org1", "org1", "a---b", "x-room", o.ID, "Share 1", "share1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := s.AddOrg(world.Org{ID: o.ID, Domain: "renamed"})
	if again.ID != o.ID || again.Domain != "renamed" {
		t.Errorf("%+v", again)
	}
	if token, workspace := s.First(); token != "" || workspace != w.ID {
		t.Errorf("first: %q %q", token, workspace)
	}
}

func TestCallerMayNotChangeStateFromOutside(t *testing.T) {
	t.Parallel()
	p := newScript(t, "")
	extra, scopes := map[string]any{"a": 1}, []string{"user:*:r"}
	p.AddEvent(world.Event{Name: fileAdded, Workspace: p.id("room"), Extra: extra})
	p.keys["reader"] = p.AddKey(world.Key{User: p.id("ada"), Scopes: scopes}).Token
	extra["b"], scopes[0] = 2, "share:*:r"
	p.must(t, "reader GET /events/search/?workspace_id={room} -> 200 !events.0.b events.0.a=1")
}

func TestListenerAddressAndDial(t *testing.T) {
	t.Parallel()
	l := emulator.New(seed.Options{}).Listen()
	defer l.Close()
	if a := l.Addr(); a.Network() != "memory" || a.String() != "memory" {
		t.Errorf("%v %v", a.Network(), a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	for i := range 1000 { // until the backlog is full
		if i == 500 {
			cancel()
		}
		if i < 128 || i >= 500 {
			if _, err = l.DialContext(ctx, "tcp", "x"); err != nil {
				break
			}
		}
	}
	cancel()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a full backlog: %v", err)
	}
}

// A seed file may have the address of a user that the world has already.
func TestAddressIsThatOfTheUserAddedLast(t *testing.T) {
	t.Parallel()
	s := emulator.New(seed.Options{})
	for range 20 {
		u := s.AddUser(world.User{Email: "ada@example.test"})
		if got := s.UserWithEmail("ADA@example.test"); got != u.ID {
			t.Errorf("the address is that of %s, want %s", got, u.ID)
		}
	}
}

// The sample of the format has every member.
func TestLoadFullSample(t *testing.T) {
	t.Parallel()
	p := newScript(t, "")
	if err := p.LoadFile(filepath.Join("seedfile", "testdata", "full.json")); err != nil {
		t.Fatal(err)
	}
	p.keys["all"] = "all"
	p.must(t, `all GET /workspace/design/storage/2abcdefghijklmnopqrstuvwxyz12/details/ -> 200 node.name="plan.pdf"`)
}

func TestLoadRefers(t *testing.T) {
	t.Parallel()
	s := emulator.New(seed.Options{})
	ada := s.AddUser(world.User{})
	org := s.AddOrg(world.Org{Owner: ada.ID})
	room := s.AddWorkspace(world.Workspace{Org: org.ID})
	plan := s.AddNode(world.SeedNode{Profile: room.ID})
	note := s.AddComment(world.Comment{Profile: room.ID, Node: plan.ID, User: ada.ID})
	event := s.AddEvent(world.Event{Workspace: room.ID})
	file := `{"comments": [{"profile_id": "` + room.ID + `", "node_id": "` + plan.ID + `",
			"user_id": "` + ada.ID + `", "parent_id": "` + note.ID + `"}],
		"events": [{"workspace_id": "` + room.ID + `", "parent_id": "` + event.ID + `"}]}`
	if err := s.Load(strings.NewReader(file)); err != nil {
		t.Errorf("objects of the server: %v", err)
	}
	err := emulator.New(seed.Options{}).Load(strings.NewReader(file))
	if err == nil || strings.Count(err.Error(), "there is no") != 6 {
		t.Errorf("objects of another server: %v", err)
	}
}

var eventID = regexp.MustCompile(`^([a-z0-9]{5}-){5}[a-z0-9]{4}$`)

func TestIDs(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, from := range []uint64{0, 0, 1} {
		s := emulator.New(seed.Options{Seed: from})
		u := s.AddUser(world.User{})
		o := s.AddOrg(world.Org{Owner: u.ID})
		e := s.AddEvent(world.Event{Org: o.ID})
		k := s.AddKey(world.Key{User: u.ID})
		if len(u.ID) != 19 || strings.Trim(u.ID, "0123456789") != "" {
			t.Errorf("profile id %q", u.ID)
		}
		if !eventID.MatchString(e.ID) {
			t.Errorf("event id %q", e.ID)
		}
		ids[u.ID+o.ID+e.ID+k.Token] = true
	}
	if len(ids) != 2 {
		t.Errorf("two seeds made %d sets of ids", len(ids))
	}
}

func TestFactsNeedAFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "")
		const load = `load {"users":[{"id":"eli"}],"orgs":[{"id":"org","domain":"mill","owner":"eli"}],` +
			`"workspaces":[{"id":"mill","org_id":"org"}],"nodes":[{"id":"plans","profile_id":"mill","kind":"folder"}],` +
			`"facts":[{"node_id":`
		for _, step := range []string{
			load + `"plans","field":"pages","value":"twelve"}]}`, load + `"unknown","field":"pages","value":"twelve"}]}`,
			`fact {"node_id":"{chest}","field":"a","value":1}`,
			`fact {"node_id":"unknown","field":"a","value":1}`,
		} {
			if p.do(step) == nil {
				t.Errorf("%s succeeds", step)
			}
		}
	})
}

// A folder of worlds saves a world only if its number of changes is another one.
func TestListingOfEligibleFilesChangesNothing(t *testing.T) {
	t.Parallel()
	p := newScript(t, "")
	before := p.Changes()
	p.must(t, "ada GET /workspace/{room}/metadata/eligible/ -> 200")
	if got := p.Changes(); got != before {
		t.Errorf("%d changes after the call, %d before", got, before)
	}
}
