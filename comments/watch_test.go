package comments_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
)

// watched is an emulator with a workspace whose comments are watched.
type watched struct {
	*fastiotest.Server
	room     string
	node     string
	on       comments.Target
	comments *comments.Service
	got      []string // bodies
	retries  int
	err      error // of the Watch that has ended
	stop     context.CancelFunc
}

// newWatched begins to watch a workspace with a comment.
func newWatched(t *testing.T, s *fastiotest.Server, o comments.WatchOptions, opts ...fastio.Option) *watched {
	t.Helper()
	w := &watched{Server: s, room: s.AddWorkspace(seed.Workspace{Name: "Design"}).ID}
	w.node = s.AddNode(seed.Node{Profile: w.room, Name: "plan.pdf"}).ID
	w.on = comments.OnNode(api.Workspace(api.ID(w.room)), api.OpaqueID(w.node))
	w.comments = s.Client(t, opts...).Comments
	w.say("before", "")
	time.Sleep(time.Hour)
	o.OnRetry = func(context.Context, api.RetryEvent) { w.retries++ }
	var ctx context.Context
	ctx, w.stop = context.WithCancel(t.Context())
	go func() {
		for c, err := range w.comments.Watch(ctx, w.on, &o) {
			if err != nil {
				w.err = err
				return
			}
			w.got = append(w.got, c.Body)
		}
	}()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	return w
}

// say adds a comment and returns its ID.
func (w *watched) say(body, parent string) string { return w.sayAt(time.Now(), body, parent) }

func (w *watched) sayAt(created time.Time, body, parent string) string {
	return w.AddComment(seed.Comment{
		Profile: w.room, Node: w.node, User: w.User().ID, Body: body, Parent: parent, Created: created,
	}).ID
}

// wantWithin requires that the comments with these bodies have come, in this order, at the
// latest after d.
func (w *watched) wantWithin(t *testing.T, d time.Duration, bodies ...string) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	if diff := cmp.Diff(bodies, w.got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// way is how changes are reported.
type way struct {
	sockets, polls bool
	longest        time.Duration // from a comment to its report
}

var ways = map[string]way{
	"socket": {sockets: true, longest: 4 * time.Second},
	"polls":  {polls: true, longest: 8 * time.Second},
	"none":   {longest: 16 * time.Second},
}

func (w way) start(t *testing.T, o comments.WatchOptions) *watched {
	t.Helper()
	s := fastiotest.New()
	var opts []fastio.Option
	if w.sockets {
		opts = append(opts, fastio.WithHTTPClient(s.StartInMemory(t)))
	} else if !w.polls {
		s.Fail(seed.Fault{Op: op.ActivityPoll, Status: http.StatusServiceUnavailable})
	}
	return newWatched(t, s, o, opts...)
}

func TestWatchYieldsEachNewCommentOnce(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, ways, func(t *testing.T, way way) {
		longest := way.longest
		w := way.start(t, comments.WatchOptions{})
		first := w.say("first", "")
		w.wantWithin(t, longest, "first")
		w.say("a reply", first)
		edited := "first, edited"
		on := comments.UpdateRequest{Body: edited}
		if _, err := w.comments.Update(t.Context(), api.OpaqueID(first), on); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.sayAt(time.Now().Add(-90*time.Second), "late", "")
		w.say("second", "")
		w.wantWithin(t, 2*longest, "first", "late", "second")
		if _, err := w.comments.Delete(t.Context(), api.OpaqueID(first)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(table.Rounds(24, 24)) * time.Hour)
		for range 120 {
			w.say("more", "")
		}
		w.wantWithin(t, longest, append([]string{"first", "late", "second"}, slices.Repeat([]string{"more"}, 120)...)...)
		w.stop()
		synctest.Wait()
		if !errors.Is(w.err, context.Canceled) || w.retries > 0 {
			t.Errorf("ended with %v, after %d retries", w.err, w.retries)
		}
	})
}

func TestWatchWithReplies(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, ways, func(t *testing.T, way way) {
		longest := way.longest
		w := way.start(t, comments.WatchOptions{Replies: true})
		defer w.stop()
		w.say("reply", w.say("first", ""))
		w.wantWithin(t, longest, "first", "reply")
	})
}

func TestWatchSince(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		w := newWatched(t, fastiotest.New(), comments.WatchOptions{Since: begin})
		defer w.stop()
		w.sayAt(begin.Add(-time.Second), "older", "")
		w.say("new", "")
		w.wantWithin(t, time.Minute, "before", "new")
	})
}

// Failures and odd responses delay comments and lose none.
func TestWatchSurvivesOddResponses(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]seed.Fault{
		"unavailable":       {Status: http.StatusServiceUnavailable},
		"a page of a proxy": {Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<p>Blocked"},
		"cut":               {Cut: 50},
		"not JSON":          {Status: http.StatusOK, Body: "<p>Sign in to the network"},
		"reset":             {Reset: seed.AfterHeader},
		"no rows":           {Status: http.StatusOK, Body: `{"result":true,"comments":[null,null],"total":2}`},
		"empty":             {Status: http.StatusOK, Body: `{"result":true,"comments":[],"total":0}`},
		"a row of 2099": {
			Status: http.StatusOK,
			Body:   `{"result":true,"comments":[{"id":"ca1","parent_id":"x","created":"2099-01-01 00:00:00 UTC"}],"total":1}`,
		},
		"a row of 1970": {
			Status: http.StatusOK,
			Body:   `{"result":true,"comments":[{"id":"ca1","parent_id":"x","created":"1970-01-01 00:00:00 UTC"}],"total":1}`,
		},
		"no creation": {
			Status: http.StatusOK,
			Body:   `{"result":true,"comments":[{"id":"ca1","parent_id":"x"}],"total":1}`,
		},
	}, func(t *testing.T, fault seed.Fault) {
		w := newWatched(t, fastiotest.New(), comments.WatchOptions{})
		defer w.stop()
		fault.Op, fault.Count = op.CommentsListOnNode, 2
		want := []string{}
		for _, body := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			w.Fail(fault)
			w.say(body, "")
			want = append(want, body)
			time.Sleep(30 * time.Second)
		}
		w.wantWithin(t, 20*time.Minute, want...)
	})
}

func TestWatchEndsIfRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t, fastiotest.New(), comments.WatchOptions{})
		w.Fail(seed.Fault{
			Op: op.CommentsListOnNode, Status: http.StatusForbidden,
			Body: `{"result":false,"error":{"code":10560,"text":"You are not a member."}}`,
		})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !errors.Is(w.err, api.ErrForbidden) {
			t.Errorf("ended with %v", w.err)
		}
	})
}

// A loop that is left ends all that Watch has started.
func TestWatchEndsWithItsLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		room := s.AddWorkspace(seed.Workspace{Name: "Design"}).ID
		node := s.AddNode(seed.Node{Profile: room, Name: "plan.pdf"}).ID
		s.AddComment(seed.Comment{Profile: room, Node: node, User: s.User().ID, Body: "first"})
		on := comments.OnNode(api.Workspace(api.ID(room)), api.OpaqueID(node))
		c := s.Client(t, fastio.WithHTTPClient(s.StartInMemory(t)))
		since := &comments.WatchOptions{Since: time.Now().Add(-time.Hour)}
		for _, err := range c.Comments.Watch(t.Context(), on, since) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		synctest.Wait()
		if n := s.Sockets(); n != 0 {
			t.Errorf("%d sockets are open", n)
		}
	})
}

// At rest a watch lists the comments once a minute, and in a workspace with other changes
// every eight seconds.
func TestWatchSendsFewRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		w := newWatched(t, s, comments.WatchOptions{}, fastio.WithHTTPClient(s.StartInMemory(t)))
		defer w.stop()
		lists := func(d time.Duration, busy bool) (n int) {
			s.Forget()
			for range int(d / time.Second) {
				time.Sleep(time.Second)
				if busy {
					s.AddNode(seed.Node{Profile: w.room, Name: "x"})
				}
			}
			for _, r := range s.Requests() {
				if r.Op == string(op.CommentsListOnNode) {
					n++
				}
			}
			return n
		}
		if n := lists(time.Hour, false); n > 62 {
			t.Errorf("%d lists in an hour at rest", n)
		}
		if n := lists(10*time.Minute, true); n > 80 {
			t.Errorf("%d lists in ten busy minutes", n)
		}
	})
}

// A server whose clock is a day ahead, for one response, hides no later comment.
func TestWatchSurvivesAFastClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t, fastiotest.New(), comments.WatchOptions{})
		defer w.stop()
		time.Sleep(5 * time.Minute)
		tomorrow := time.Now().UTC().Add(24 * time.Hour)
		row := `{"parent_id":"x","id":"ca%d","created":"` + tomorrow.Format(time.DateTime) + ` UTC"}`
		w.Fail(seed.Fault{
			Op: op.CommentsListOnNode, Count: 1, Status: http.StatusOK,
			Header: http.Header{"Date": {tomorrow.Format(http.TimeFormat)}},
			Body:   fmt.Sprintf(`{"result":true,"comments":[`+row+`,`+row+`],"total":2}`, 1, 2),
		})
		time.Sleep(2 * time.Minute)
		want := []string{"a", "b", "c", "d", "e", "f"}
		for _, body := range want {
			w.say(body, "")
			time.Sleep(10 * time.Minute)
		}
		w.wantWithin(t, 2*time.Hour, want...)
	})
}

// A comment is new if it was created after Watch began, although the first list failed.
func TestWatchBeginsDuringAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		s.Fail(seed.Fault{Op: op.CommentsListOnNode, Count: 30, Status: http.StatusServiceUnavailable})
		w := newWatched(t, s, comments.WatchOptions{})
		defer w.stop()
		w.say("during", "")
		time.Sleep(time.Hour)
		w.say("after", "")
		w.wantWithin(t, time.Hour, "during", "after")
	})
}

// What is written after OnBegin is new, also if the first list takes long.
func TestWatchOnBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		s.Fail(seed.Fault{Op: op.CommentsListOnNode, Count: 1, Delay: 3 * time.Second})
		s.Fail(seed.Fault{Op: op.CommentsListOnNode, Skip: 1, Count: 4, Status: http.StatusServiceUnavailable})
		begun := make(chan time.Time, 2)
		w := newWatched(t, s, comments.WatchOptions{OnBegin: func(context.Context) { begun <- time.Now() }})
		defer w.stop()
		if len(begun) != 1 || time.Since(<-begun) != 7*time.Second {
			t.Fatalf("it has begun %d times", len(begun))
		}
		w.say("new", "")
		w.wantWithin(t, time.Hour, "new")
		if len(begun) > 0 {
			t.Error("it has begun again")
		}
	})
}

// After a failed list the next one comes after the backoff.
func TestWatchRetriesSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		w := newWatched(t, s, comments.WatchOptions{})
		defer w.stop()
		time.Sleep(5 * time.Minute)
		s.Fail(seed.Fault{Op: op.CommentsListOnNode, Count: 3, Status: http.StatusServiceUnavailable})
		w.say("x", "")
		w.wantWithin(t, 20*time.Second, "x")
	})
}
