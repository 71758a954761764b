package fastiotest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// What a Server fills in is what its clients read.
func TestTheWorldIsWhatClientsRead(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	share := s.AddShare(fastiotest.Share{Workspace: room.ID, Title: "Portal"})
	e := s.AddEvent(fastiotest.Event{Name: "workspace_storage_file_added", Workspace: room.ID, ObjectName: "Mill.pdf"})
	if room.Org != s.Org().ID || share.Org != s.Org().ID {
		t.Errorf("the workspace is in %q and the share in %q, want %q", room.Org, share.Org, s.Org().ID)
	}
	elsewhere := s.AddWorkspace(fastiotest.Workspace{Org: s.AddOrg(fastiotest.Org{}).ID})
	if got := s.AddShare(fastiotest.Share{Workspace: elsewhere.ID}).Org; got != elsewhere.Org {
		t.Errorf("a share is in %q, its workspace in %q", got, elsewhere.Org)
	}
	if got := s.AddShare(fastiotest.Share{}).Org; got != s.Org().ID {
		t.Errorf("a share that stands alone is in %q, want %q", got, s.Org().ID)
	}
	guest := s.AddUser(fastiotest.User{FirstName: "Guest"})
	s.SetMember(room.ID, guest.ID, fastiotest.Member)
	key := s.AddKey(fastiotest.Key{User: guest.ID})

	client := s.Client(t, fastioToken(key.Token))
	me, err := client.Account.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if me.ID != guest.ID || me.FirstName != "Guest" || me.EmailAddress != guest.Email {
		t.Errorf("got %+v, want %+v", me, guest)
	}
	got, err := client.Events.Get(t.Context(), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !got.ID.Equal(e.ID) || got.WorkspaceID != room.ID || got.OrgID != e.Org || string(got.Category) != e.Category {
		t.Errorf("got %+v, want %+v", got, e)
	}
	s.SetMember(room.ID, guest.ID, "")
	if _, err := client.Account.Workspaces.Get(t.Context(), room.ID); err == nil {
		t.Error("who was taken out of a workspace can still read it")
	}
	s.Generate(fastiotest.History{Workspace: room.ID, Events: 20})
	n := 0
	for _, err := range s.Client(t).Events.All(t.Context(), inProfile(api.Workspace(room.ID))) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n < 15 { // some are nobody's to read
		t.Errorf("found %d events of 20", n)
	}
}

// What is added for comments and polls is what answers hold.
func TestCommentsAndActivity(t *testing.T) {
	t.Parallel()
	s := fastiotest.New(func(o *fastiotest.Options) { o.Comments.Limit = 5 })
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	plan := s.AddNode(fastiotest.Node{Profile: room.ID, Name: "Mill.pdf"})
	link := s.AddFileShare(fastiotest.FileShare{Node: plan.ID, CommentsEnabled: true})
	first := s.AddComment(fastiotest.Comment{Profile: room.ID, Node: plan.ID, User: s.User().ID, Body: "Taller"})
	s.AddComment(fastiotest.Comment{FileShare: link.ID, User: s.User().ID, Body: "Wider"})
	if link.Workspace != room.ID || link.Access != "named_people" || plan.Kind != "file" || first.Created.IsZero() {
		t.Errorf("filled in %+v, %+v, %+v", link, plan, first)
	}
	for path, want := range map[string]string{
		"comments/workspace/" + string(room.ID) + "/" + string(plan.ID): `"remaining":4`,
		"comments/" + string(first.ID) + "/details":                     `"body":"Taller"`,
		"activity/poll/" + string(room.ID) + "/?lastactivity=2000-01-01+00:00:00": `"comments:` + string(plan.ID) +
			`":"`,
		"activity/poll/" + string(link.ID) + "/?lastactivity=2000-01-01+00:00:00": `"comments:` + string(plan.ID) +
			`":"`,
	} {
		target := "http://fastio.test" + "/api/current/" + path
		if !strings.Contains(path, "?") {
			target += "/"
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.Token())
		p, err := s.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(p.Body)
		if _ = p.Body.Close(); err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %v, want %s", path, body, err, want)
		}
	}
}
