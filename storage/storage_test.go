package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID   = api.ProfileID("4012345678901234567")
	shareID  = api.ProfileID("5012345678901234567")
	nodeID   = api.OpaqueID("2RII2-9kqzf")
	nodePath = "2rii29kqzf"
)

var secret = api.NewSecret("d1ff")

// callerFunc is a Caller.
type callerFunc func(ctx context.Context, r *api.Request, out any) error

func (f callerFunc) Call(ctx context.Context, r *api.Request, out any) error { return f(ctx, r, out) }

// answering returns a Service that gets the same answer to every call, and keeps
// the last request in got.
func answering(answer string, got *api.Request) *storage.Service {
	return storage.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
		*got = *r
		if err := r.Path.Err(); err != nil {
			return err
		}
		return json.Unmarshal([]byte(answer), out)
	}))
}

// second drops what came with an error.
func second[T any](_ T, err error) error { return err }

func sameRoute(a, b api.Route) bool { return a.Template() == b.Template() && a.String() == b.String() }

func TestRequests(t *testing.T) {
	t.Parallel()
	type (
		ctx = context.Context
		svc = *storage.Service
	)
	room := api.Workspace(roomID)
	const (
		listRoom   = "/current/workspace/{workspace_id}/storage/{parent_id}/list/"
		listShare  = "/current/share/{share_id}/storage/{parent_id}/list/"
		getRoom    = "/current/workspace/{workspace_id}/storage/{node_id}/details/"
		getShare   = "/current/share/{share_id}/storage/{node_id}/details/"
		recentRoom = "/current/workspace/{workspace_id}/storage/recent/"
	)
	for name, tc := range map[string]struct {
		call func(ctx, svc) error
		want api.Request
		path string
	}{
		"several nodes": {
			func(ctx ctx, s svc) error {
				return second(s.GetMany(ctx, room, []api.OpaqueID{nodeID, "a,b", "c"}, nil))
			},
			api.Request{Op: "storage.GetMany", Path: api.PathList(getRoom, []string{string(roomID)}, nodePath, "a,b", "c")},
			"/current/workspace/" + string(roomID) + "/storage/" + nodePath + ",a%2Cb,c/details/",
		},
		"which notes changed last": {
			func(ctx ctx, s svc) error {
				return second(s.Recent(ctx, roomID, &storage.RecentOptions{Type: api.NodeTypeNote, PageSize: 100, Cursor: "x"}))
			},
			api.Request{
				Op: "storage.Recent", Path: api.Path(recentRoom, string(roomID)),
				Query: url.Values{"type": {"note"}, "page_size": {"100"}, "cursor": {"x"}},
			},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got api.Request
			if err := tc.call(t.Context(), answering(`{"result":true,"node":{"id":"2"}}`, &got)); err != nil {
				t.Fatal(err)
			}
			tc.want.Method, tc.want.Replay = http.MethodGet, api.ReplaySafe
			if diff := cmp.Diff(tc.want, got, cmp.Comparer(sameRoute), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if tc.path != "" && got.Path.String() != tc.path {
				t.Errorf("the path is %s, want %s", got.Path, tc.path)
			}
		})
	}
}

func TestWrongInput(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var got api.Request
	s := answering(`{}`, &got)
	room, share := api.Workspace(roomID), api.Share(shareID)
	many := make([]api.OpaqueID, 26)
	for i := range many {
		many[i] = api.OpaqueID("2" + strconv.Itoa(i))
	}
	locked := &storage.ListOptions{Password: secret}
	for _, tc := range []struct {
		err   error
		field string
	}{
		{second(s.List(ctx, api.User("u"), api.Root, nil)), "scope"},
		{second(s.List(ctx, api.Workspace(" "), api.Root, nil)), "scope"},
		{second(s.List(ctx, room, "-", nil)), "parent_id"},
		{second(s.List(ctx, room, api.Root, locked)), "password"},
		{second(s.List(ctx, room, api.Root, &storage.ListOptions{PageSize: 99})), "page_size"},
		{second(s.List(ctx, room, api.Root, &storage.ListOptions{PageSize: -1})), "page_size"},
		{second(s.List(ctx, share, api.Root, &storage.ListOptions{SortBy: "size"})), "sort_by"},
		{second(s.Get(ctx, api.FileShare("f"), nodeID, nil)), "scope"},
		{second(s.Get(ctx, room, "", nil)), "node_id"},
		{second(s.Get(ctx, room, nodeID, &storage.GetOptions{Password: secret})), "password"},
		{second(s.GetMany(ctx, room, nil, nil)), "node_id"},
		{second(s.GetMany(ctx, room, many, nil)), "node_id"},
		{second(s.GetMany(ctx, room, []api.OpaqueID{"2", " "}, nil)), "node_id"},
		{second(s.GetMany(ctx, api.Org("o"), many[:1], nil)), "scope"},
		{second(s.Recent(ctx, "", nil)), "workspace_id"},
		{second(s.Recent(ctx, roomID, &storage.RecentOptions{PageSize: 501})), "page_size"},
	} {
		e, ok := errors.AsType[*api.InputError](tc.err)
		if !ok || e.Field != tc.field || !errors.Is(tc.err, api.ErrInvalid) {
			t.Errorf("got %v, want %s refused", tc.err, tc.field)
		}
	}
}

func TestNodesDecoded(t *testing.T) {
	t.Parallel()
	want := []*api.Node{{ID: "2a", Name: "Mill.pdf", Type: api.NodeTypeFile, ParentID: api.Root, AI: api.NodeAI{State: api.AIStateInProgress}}}
	const node = `{"id":"2a","name":"Mill.pdf","type":"file","parent_id":"root","ai":{"state":"in_progress"}}`
	for name, tc := range map[string]struct {
		answer string
		want   *storage.Page
	}{
		"counted": {
			`{"result":true,"nodes":{"count":1,"items":[` + node + `]},"pagination":{"has_more":true,"next_cursor":"c","page_size":100}}`,
			&storage.Page{Nodes: want, PageSize: 100, HasMore: true, NextCursor: "c"},
		},
		"wrapped": {
			`{"result":"yes","response":{"nodes":{"count":1,"items":[` + node + `]},"pagination":{"next_cursor":"c"}}}`,
			&storage.Page{Nodes: want, HasMore: true, NextCursor: "c"},
		},
		"bare, with older keys": {
			`{"result":true,"nodes":[{"id":"2a","name":"Mill.pdf","type":"file","parent":"root","ai_state":"inprogress"}],"pagination":{"has_more":true}}`,
			&storage.Page{Nodes: want, HasMore: true},
		},
		"the last, whose cursor is no matter": {
			`{"result":true,"nodes":[],"pagination":{"has_more":false,"next_cursor":"c"}}`, &storage.Page{},
		},
		"null": {`{"result":true,"nodes":null}`, &storage.Page{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got api.Request
			s := answering(tc.answer, &got)
			list, err := s.List(t.Context(), api.Workspace(roomID), api.Root, nil)
			if diff := cmp.Diff(tc.want, list, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("List: %v (-want +got):\n%s", err, diff)
			}
			recent, err := s.Recent(t.Context(), roomID, nil)
			if diff := cmp.Diff(tc.want, recent, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("Recent: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestNodeDecoded(t *testing.T) {
	t.Parallel()
	want := &api.Node{ID: "2a", Extra: map[string]json.RawMessage{"star": json.RawMessage(`true`)}}
	for _, answer := range []string{
		`{"result":true,"format":"single","node":{"id":"2a","star":true}}`,
		`{"result":"yes","response":{"format":"single","node":{"id":"2a","star":true}}}`,
	} {
		var r api.Request
		got, err := answering(answer, &r).Get(t.Context(), api.Workspace(roomID), nodeID, nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	var r api.Request
	if _, err := answering(`{"result":true}`, &r).Get(t.Context(), api.Workspace(roomID), nodeID, nil); err == nil {
		t.Error("an answer without a node passes for one")
	}
}

func TestBatchDecoded(t *testing.T) {
	t.Parallel()
	missing := &api.NodeError{NodeID: "2b", Code: 133123, Message: "Not found."}
	for name, tc := range map[string]struct {
		answer string
		want   *storage.Batch
	}{
		"all found": {
			`{"result":true,"format":"multi","nodes":[{"id":"2b"},{"id":"2A"}],"errors":[]}`,
			&storage.Batch{Nodes: []*api.Node{{ID: "2b"}, {ID: "2A"}}},
		},
		"one found": {
			`{"result":"yes","response":{"format":"multi","nodes":[{"id":"2a"}],"errors":[{"node_id":"2b","code":133123,"message":"Not found."}]}}`,
			&storage.Batch{Nodes: []*api.Node{{ID: "2a"}}, Errors: []*api.NodeError{missing}},
		},
		"answered as one": {`{"result":true,"format":"single","node":{"id":"2a"}}`, &storage.Batch{Nodes: []*api.Node{{ID: "2a"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r api.Request
			got, err := answering(tc.answer, &r).GetMany(t.Context(), api.Workspace(roomID), []api.OpaqueID{"2a", "2b"}, nil)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Fatalf("%v (-want +got):\n%s", err, diff)
			}
			if n := got.Node("2-A"); n == nil {
				t.Error("the node that was found is not")
			}
			if n := got.Node("2c"); n != nil {
				t.Errorf("found %v", n)
			}
		})
	}
}

// That nothing was found is told of each, by whatever form of refusal.
func TestNothingOfABatch(t *testing.T) {
	t.Parallel()
	const errs = `"format":"multi","nodes":[],"errors":[{"node_id":"2a","code":133123,"message":"Gone."},{"node_id":"2b","code":146256}]`
	for name, tc := range map[string]struct {
		refusal error
		found   bool
	}{
		"at the root":          {&api.Error{Status: 404, Body: []byte(`{"result":false,` + errs + `}`)}, true},
		"wrapped":              {&api.Error{Status: 404, Body: []byte(`{"result":"no","response":{` + errs + `}}`)}, true},
		"without errors":       {&api.Error{Status: 404, Body: []byte(`{"result":false,"error":{"code":1}}`)}, false},
		"no JSON":              {&api.Error{Status: 404, Body: []byte(`<html>`)}, false},
		"another status":       {&api.Error{Status: 403, Body: []byte(`{"result":false,` + errs + `}`)}, false},
		"not refused but lost": {context.DeadlineExceeded, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storage.New(callerFunc(func(context.Context, *api.Request, any) error { return tc.refusal }))
			b, err := s.GetMany(t.Context(), api.Workspace(roomID), []api.OpaqueID{"2a", "2b"}, nil)
			if !tc.found {
				if b != nil || !errors.Is(err, tc.refusal) {
					t.Errorf("got %v, %v", b, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Nodes) > 0 || !errors.Is(b.Err("2A"), api.ErrNotFound) || !errors.Is(b.Err("2b"), api.ErrUnavailable) || b.Err("2c") != nil {
				t.Errorf("got %+v", b)
			}
		})
	}
}

// shelf is a list of pages; the cursor of a page is its number.
func shelf(pages int, sizes *[]string) *storage.Service {
	return storage.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
		*sizes = append(*sizes, r.Query.Get("page_size"))
		n, _ := strconv.Atoi(r.Query.Get("cursor"))
		more, next := n+1 < pages, ""
		if more {
			next = strconv.Itoa(n + 1)
		}
		return json.Unmarshal(fmt.Appendf(nil, `{"result":true,"nodes":{"count":2,"items":[{"id":"2%[1]da"},{"id":"2%[1]db"}]},`+
			`"pagination":{"has_more":%[2]t,"next_cursor":%[3]q,"page_size":100}}`, n, more, next), out)
	}))
}

func TestIterations(t *testing.T) {
	t.Parallel()
	ids := func(t *testing.T, seq func(yield func(*api.Node, error) bool)) []api.OpaqueID {
		t.Helper()
		var all []api.OpaqueID
		for n, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, n.ID)
		}
		return all
	}
	var sizes []string
	s := shelf(3, &sizes)
	room := api.Workspace(roomID)
	want := []api.OpaqueID{"20a", "20b", "21a", "21b", "22a", "22b"}
	all := s.All(t.Context(), room, api.Root, nil)
	for range 2 {
		if diff := cmp.Diff(want, ids(t, all)); diff != "" {
			t.Errorf("All (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(want, ids(t, s.AllRecent(t.Context(), roomID, nil))); diff != "" {
		t.Errorf("AllRecent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"500", "500", "500", "500", "500", "500", "", "", ""}, sizes); diff != "" {
		t.Errorf("page sizes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[4:], ids(t, s.AllRecent(t.Context(), roomID, &storage.RecentOptions{Cursor: "2"}))); diff != "" {
		t.Errorf("AllRecent from a cursor (-want +got):\n%s", diff)
	}

	// What was done before a restart does not come again.
	var kept string
	for p, err := range s.Pages(t.Context(), room, api.Root, &storage.ListOptions{PageSize: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		kept = p.NextCursor
		break
	}
	list := &storage.ListOptions{PageSize: 100, Cursor: kept}
	if diff := cmp.Diff(want[2:], ids(t, s.All(t.Context(), room, api.Root, list))); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
	if list.Cursor != kept {
		t.Error("the iteration wrote to the options it was given")
	}
}

func TestIterationsFail(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	s := storage.New(callerFunc(func(context.Context, *api.Request, any) error { return broken }))
	for _, err := range s.All(t.Context(), api.Workspace(roomID), api.Root, nil) {
		if !errors.Is(err, broken) {
			t.Errorf("All: %v", err)
		}
	}
	for _, err := range s.AllRecent(t.Context(), roomID, nil) {
		if !errors.Is(err, broken) {
			t.Errorf("AllRecent: %v", err)
		}
	}
	var text string
	for _, err := range s.All(t.Context(), api.Workspace(roomID), api.Root, nil, api.Markdown(&text)) {
		if !errors.Is(err, api.ErrInvalid) {
			t.Errorf("All as text: %v", err)
		}
	}
}
