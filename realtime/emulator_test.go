package realtime_test

import (
	"errors"
	"net/http/httptest"
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

// estate is one profile of each kind.
type estate struct {
	*fastiotest.Server
	workspace        fastiotest.Workspace
	share, closed    fastiotest.Share
	file             fastiotest.Node
	fileShare        fastiotest.FileShare
	charles          fastiotest.User // a member of the workspace
	asAda, asCharles *fastio.Client
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	s := fastiotest.New()
	e := &estate{Server: s, workspace: s.AddWorkspace(fastiotest.Workspace{Name: "Design"})}
	e.share = s.AddShare(fastiotest.Share{Workspace: e.workspace.ID, Title: "Portal"})
	e.closed = s.AddShare(fastiotest.Share{Workspace: e.workspace.ID, Title: "Vault", NoMultiplayer: true})
	e.file = s.AddNode(fastiotest.Node{Profile: e.workspace.ID, Name: "Mill.pdf"})
	e.fileShare = s.AddFileShare(fastiotest.FileShare{
		Workspace: e.workspace.ID, Node: e.file.ID, Owner: s.User().ID, CommentsEnabled: true,
	})
	e.charles = s.AddUser(fastiotest.User{FirstName: "Charles"})
	s.SetMember(e.workspace.ID, e.charles.ID, fastiotest.Member)
	network := s.StartInMemory(t)
	e.asAda = s.Client(t, fastio.WithHTTPClient(network))
	key := s.AddKey(fastiotest.Key{User: e.charles.ID}).Token
	e.asCharles = s.Client(t, fastio.WithHTTPClient(network), fastio.WithToken(key))
	return e
}

// comment adds a comment on the file.
func (e *estate) comment(c fastiotest.Comment) {
	c.Node, c.User, c.Body = e.file.ID, e.User().ID, "Brass?"
	e.AddComment(c)
}

// Every kind of profile has a stream, over a socket and by polls.
func TestEveryKindOfProfile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		profile func(e *estate) api.Profile
		change  func(e *estate)
		field   func(e *estate) activity.Field
	}{
		"the caller": {
			func(*estate) api.Profile { return api.User(api.Me) },
			func(e *estate) {
				e.AddEvent(fastiotest.Event{Name: "user_updated", User: e.User().ID, CallingUser: e.User().ID})
			},
			func(*estate) activity.Field { return "settings" },
		},
		"an organization": {
			func(e *estate) api.Profile { return api.Org(e.Org().ID) },
			func(e *estate) { e.AddEvent(fastiotest.Event{Name: "org_updated", Org: e.Org().ID}) },
			func(*estate) activity.Field { return "settings" },
		},
		"a workspace": {
			func(e *estate) api.Profile { return api.Workspace(e.workspace.ID) },
			func(e *estate) { e.comment(fastiotest.Comment{Profile: e.workspace.ID}) },
			func(e *estate) activity.Field { return activity.FieldOf(activity.NameComments, e.file.ID.Plain()) },
		},
		"a workspace by its folder name": {
			func(e *estate) api.Profile { return api.Workspace(api.ProfileID(e.workspace.FolderName)) },
			func(e *estate) { e.AddNode(fastiotest.Node{Profile: e.workspace.ID}) },
			func(*estate) activity.Field { return "storage" },
		},
		"a share": {
			func(e *estate) api.Profile { return api.Share(e.share.ID) },
			func(e *estate) { e.AddEvent(fastiotest.Event{Name: "share_updated", Share: e.share.ID}) },
			func(*estate) activity.Field { return "settings" },
		},
		"a File Share": {
			func(e *estate) api.Profile { return api.FileShare(e.fileShare.ID) },
			func(e *estate) { e.comment(fastiotest.Comment{FileShare: e.fileShare.ID}) },
			func(e *estate) activity.Field { return activity.FieldOf(activity.NameComments, e.file.ID.Plain()) },
		},
	}
	for name, test := range tests {
		for _, m := range []realtime.Mode{realtime.ModeSocket, realtime.ModePoll} {
			bubble(t, name+" by "+string(m), func(t *testing.T) {
				e := newEstate(t)
				o := &realtime.Options{PollOnly: m == realtime.ModePoll}
				c := subscribed(t, e.asAda.Realtime, test.profile(e), o)
				time.Sleep(10 * time.Second)
				if mode(c) != m || len(c.told()) > 0 {
					t.Fatalf("the status is %+v", c.sub.Status())
				}
				test.change(e)
				time.Sleep(2 * time.Second)
				found := false
				for _, change := range c.all() {
					found = found || change.Field.Plain() == test.field(e).Plain()
				}
				if !found {
					t.Errorf("reported %v, want %s", c.told(), test.field(e))
				}
			})
		}
	}
}

// A subscription without permission is refused, and ends when permission is revoked.
func TestPermission(t *testing.T) {
	t.Parallel()
	bubble(t, "of a share without multiplayer", func(t *testing.T) {
		e := newEstate(t)
		_, err := e.asAda.Realtime.Subscribe(t.Context(), api.Share(e.closed.ID), nil)
		refused, ok := errors.AsType[*realtime.RefusedError](err)
		if !ok || refused.Profile != api.Share(e.closed.ID) || !errors.Is(err, api.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
	for _, m := range []realtime.Mode{realtime.ModeSocket, realtime.ModePoll} {
		bubble(t, "that is lost by "+string(m), func(t *testing.T) {
			e := newEstate(t)
			o := &realtime.Options{PollOnly: m == realtime.ModePoll}
			c := subscribed(t, e.asCharles.Realtime, api.Workspace(e.workspace.ID), o)
			time.Sleep(10 * time.Second)
			lost := time.Now()
			e.SetMember(e.workspace.ID, e.charles.ID, "")
			e.SetMember(e.Org().ID, e.charles.ID, "")
			<-c.done
			if _, ok := errors.AsType[*realtime.RefusedError](c.err); !ok || time.Since(lost) > 2*time.Minute {
				t.Errorf("got %v after %s", c.err, time.Since(lost))
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
