package realtime_test

import (
	"errors"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/realtime"
)

// Every kind of profile has a stream, over a socket and by polls.
func TestEveryKindOfProfile(t *testing.T) {
	t.Parallel()
	for _, m := range []realtime.Mode{realtime.ModeSocket, realtime.ModePoll} {
		synctest.Test(t, func(t *testing.T) {
			s := fastiotest.New()
			w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
			share := s.AddShare(fastiotest.Share{Workspace: w.ID, Title: "Portal"})
			file := s.AddNode(fastiotest.Node{Profile: w.ID, Name: "Mill.pdf"})
			fileShare := s.AddFileShare(fastiotest.FileShare{
				Workspace: w.ID, Node: file.ID, Owner: s.User().ID, CommentsEnabled: true,
			})
			client := s.Client(t, fastio.WithHTTPClient(s.StartInMemory(t)))
			event := func(e fastiotest.Event) func() { return func() { s.AddEvent(e) } }
			comment := func(c fastiotest.Comment) func() {
				c.Node, c.User, c.Body = file.ID, s.User().ID, "Brass?"
				return func() { s.AddComment(c) }
			}
			me, onFile := s.User().ID, activity.FieldOf(activity.NameComments, file.ID.Plain())
			for _, test := range []struct {
				profile api.Profile
				change  func()
				field   activity.Field
			}{
				{
					api.User(api.Me), event(fastiotest.Event{Name: "user_updated", User: me, CallingUser: me}),
					"settings",
				},
				{api.Org(s.Org().ID), event(fastiotest.Event{Name: "org_updated", Org: s.Org().ID}), "settings"},
				{api.Workspace(w.ID), comment(fastiotest.Comment{Profile: w.ID}), onFile},
				{
					api.Workspace(api.ProfileID(w.FolderName)),
					func() { s.AddNode(fastiotest.Node{Profile: w.ID}) }, "storage",
				},
				{api.Share(share.ID), event(fastiotest.Event{Name: "share_updated", Share: share.ID}), "settings"},
				{api.FileShare(fileShare.ID), comment(fastiotest.Comment{FileShare: fileShare.ID}), onFile},
			} {
				o := &realtime.Options{PollOnly: m == realtime.ModePoll}
				c := subscribed(t, client.Realtime, test.profile, o)
				time.Sleep(10 * time.Second)
				if mode(c) != m || len(c.told()) > 0 {
					t.Fatalf("%v: the status is %+v", test.profile, c.sub.Status())
				}
				test.change()
				time.Sleep(2 * time.Second)
				if !slices.ContainsFunc(c.all(), func(change *realtime.Change) bool {
					return change.Field.Plain() == test.field.Plain()
				}) {
					t.Errorf("%v by %s: reported %v, want %s", test.profile, m, c.told(), test.field)
				}
				_ = c.stop(t)
			}
		})
	}
}

// Without a network there are no sockets, and polls are enough.
func TestRoundTripper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
		c := subscribed(t, s.Client(t).Realtime, api.Workspace(w.ID), nil)
		time.Sleep(time.Minute)
		s.AddEvent(fastiotest.Event{Name: "workspace_updated", Workspace: w.ID})
		time.Sleep(2 * time.Second)
		c.want(t, "by polls", "settings")
		if e, ok := errors.AsType[*realtime.HandshakeError](c.sub.Status().Err); !ok || e.Status != 501 {
			t.Errorf("the status is %+v", c.sub.Status())
		}
	})
}

// A server that speaks HTTP/2 and TLS opens sockets too.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(func() { _ = s.Close() })
	network := server.Client()
	network.Timeout = time.Second // which a socket outlives
	client, err := fastio.New(
		fastio.WithBaseURL(server.URL), fastio.WithToken(s.Token()), fastio.WithHTTPClient(network),
	)
	if err != nil {
		t.Fatal(err)
	}
	live := make(chan struct{})
	var once sync.Once
	o := &realtime.Options{Observe: func(st realtime.Status) {
		if st.Mode == realtime.ModeSocket {
			once.Do(func() { close(live) })
		}
	}}
	sub, err := client.Realtime.Subscribe(t.Context(), api.Workspace(w.ID), o)
	if err != nil {
		t.Fatal(err)
	}
	<-live
	time.Sleep(1500 * time.Millisecond)
	s.AddEvent(fastiotest.Event{Name: "workspace_updated", Workspace: w.ID})
	for change, err := range sub.Changes() {
		if err != nil || change.Field != "settings" {
			t.Errorf("got %+v, %v", change, err)
		}
		break
	}
	if st := sub.Status(); st.Mode != realtime.ModeSocket || st.Sockets != 1 {
		t.Errorf("the status is %+v", st)
	}
	if err := sub.Close(); err != nil {
		t.Error(err)
	}
}
