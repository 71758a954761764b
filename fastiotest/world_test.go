package fastiotest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
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
	all, err := stub.All(s.Client(t).Events.All(t.Context(), inProfile(api.Workspace(room.ID))))
	if err != nil || len(all) < 15 { // some events are internal
		t.Errorf("found %d events of 20, %v", len(all), err)
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
	const since = "/?lastactivity=2000-01-01+00:00:00"
	commented := `comments:` + string(plan.ID) + `":"`
	for path, want := range map[string]string{
		"comments/workspace/" + string(room.ID) + "/" + string(plan.ID) + "/": `"remaining":4`,
		"comments/" + string(first.ID) + "/details/":                          `"body":"Taller"`,
		"activity/poll/" + string(room.ID) + since:                            commented,
		"activity/poll/" + string(link.ID) + since:                            commented,
	} {
		if body := read(t, s, path); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
	}
}

func TestTheAgentFollowsItsScript(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New(func(o *fastiotest.Options) { o.AI.Stream.Newline = "\r" })
		room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
		s.Script(fastiotest.Script{Match: "answer", Text: "It is 42.", NoCitations: true})
		s.Fail(fastiotest.Fault{Op: "ai.Turns.Stream", Stream: &fastiotest.StreamStyle{Newline: "\r\n"}})
		agent := "workspace/" + string(room.ID) + "/ai/agent/"
		created := send(t, s, http.MethodPost, origin+agent, formType, "question=What+is+the+answer%3F", signed(s)...)
		id := func(name string) string {
			_, rest, _ := strings.Cut(created, `"`+name+`":"`)
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
		got := read(t, s, agent+id("thread_id")+"/message/"+id("turn_id")+"/read/", "Accept", "text/event-stream")
		if !strings.Contains(got, "event: delta\r\ndata: {\"delta\":\"It is 42.\"}\r\n\r\n") {
			t.Errorf("%q", got)
		}
	})
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	plan := s.AddNode(fastiotest.Node{Profile: room.ID, Name: "plan.pdf"})
	field := s.AddField(fastiotest.Field{Workspace: room.ID, Name: "pages", Type: "int"})
	if field.Origin != "ai" || field.Created.IsZero() {
		t.Errorf("what was empty was not filled in: %+v", field)
	}
	s.AddFact(t, fastiotest.Fact{Node: plan.ID, Field: "pages", Value: 12, Confidence: "high"})
	body := read(t, s, "workspace/"+string(room.ID)+"/storage/"+string(plan.ID)+"/metadata/facts/")
	const want = `"field":"pages","value":12,"declared_type":"int","stored_type":"int","source":"ai",` +
		`"confidence":"high"`
	if !strings.Contains(body, want) {
		t.Errorf("%s", body)
	}
}

// A test puts members and invitations there, and reads the mail that goes out.
func TestMembersAndInvitations(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	s := fastiotest.New(func(o *fastiotest.Options) { o.Clock = func() time.Time { return now } })
	portal := s.AddShare(fastiotest.Share{Org: s.Org().ID, Title: "Portal"})
	eve := s.AddUser(fastiotest.User{FirstName: "Eve", Email: "eve@example.test"})
	member := s.AddMembership(fastiotest.Membership{
		Profile: portal.ID, User: eve.ID, Role: fastiotest.View, Notify: "Do not notify me",
		Expires: now.Add(time.Hour),
	})
	if !member.Added.Equal(now) || member.Role != fastiotest.View {
		t.Errorf("membership %+v", member)
	}
	v := s.AddInvitation(fastiotest.Invitation{
		Profile: portal.ID, Email: "New@example.test", Inviter: eve.ID,
		Message: "Come and see.",
	})
	if v.ID == "" || v.Key == "" || v.Email != "new@example.test" || v.Role != fastiotest.Member ||
		v.State != "pending" || !v.Created.Equal(now) {
		t.Errorf("invitation %+v", v)
	}
	want := []fastiotest.Mail{{
		To: "new@example.test", Profile: portal.ID, Invitation: v.ID, Key: v.Key,
		Message: "Come and see.", At: now,
	}}
	if diff := cmp.Diff(want, s.Mails("NEW@example.test")); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
	body := read(t, s, "share/"+string(portal.ID)+"/members/list/")
	var list struct {
		Users []struct {
			Permissions string `json:"permissions"`
			Status      string `json:"status"`
		} `json:"users"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, u := range list.Users {
		rows[u.Permissions] = u.Status
	}
	if diff := cmp.Diff(map[string]string{"view": "active", "member": "pending"}, rows); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}
