package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID  = api.ProfileID("4012345678901234567")
	shareID = api.ProfileID("5012345678901234567")
	nodeID  = api.OpaqueID("2RII2-9kqzf")
)

var secret = api.NewSecret("d1ff")

// callerFunc is a Caller.
type callerFunc func(ctx context.Context, r *api.Request, out any) error

func (f callerFunc) Call(ctx context.Context, r *api.Request, out any) error { return f(ctx, r, out) }

// answering returns a Service that gets the same answer to every call, and keeps
// the last request in got, unless that is nil.
func answering(answer string, got *api.Request) *storage.Service {
	return storage.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
		if got != nil {
			*got = *r
		}
		if err := r.Path.Err(); err != nil {
			return err
		}
		return json.Unmarshal([]byte(answer), out)
	}))
}

// second drops what came with an error.
func second[T any](_ T, err error) error { return err }

func TestPathOfSeveralNodes(t *testing.T) {
	t.Parallel()
	var got api.Request
	s := answering(`{"result":true,"node":{"id":"2"}}`, &got)
	if err := second(s.GetMany(t.Context(), api.Workspace(roomID), []api.OpaqueID{nodeID, "a,b", "c"}, nil)); err != nil {
		t.Fatal(err)
	}
	if path := got.Path.String(); !strings.HasSuffix(path, "/storage/2rii29kqzf,a%2Cb,c/details/") {
		t.Errorf("got %s", path)
	}
}

func TestWrongInput(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := answering(`{}`, nil)
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

func TestBatchNode(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"format":"multi","nodes":[{"id":"2b"},{"id":"2A"}]}`, `{"format":"single","node":{"id":"2a"}}`,
	} {
		got, err := answering(answer, nil).GetMany(t.Context(), api.Workspace(roomID), []api.OpaqueID{"2a", "2b"}, nil)
		if err != nil || got.Node("2-A") == nil || got.Node("2c") != nil {
			t.Errorf("%s: got %+v, %v", answer, got, err)
		}
	}
	if _, err := answering(`{"result":true}`, nil).Get(t.Context(), api.Workspace(roomID), nodeID, nil); err == nil {
		t.Error("an answer without a node is no error")
	}
}

// If nothing was found, each node has its error, in any form of the refusal.
func TestNothingOfABatch(t *testing.T) {
	t.Parallel()
	const errs = `"format":"multi","nodes":[],"errors":[{"node_id":"2a","code":133123,"message":"Gone."},` +
		`{"node_id":"2b","code":146256}]`
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
		s := storage.New(callerFunc(func(context.Context, *api.Request, any) error { return tc.refusal }))
		b, err := s.GetMany(t.Context(), api.Workspace(roomID), []api.OpaqueID{"2a", "2b"}, nil)
		switch {
		case !tc.found:
			if b != nil || !errors.Is(err, tc.refusal) {
				t.Errorf("%s: got %v, %v", name, b, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case len(b.Nodes) > 0, !errors.Is(b.Err("2A"), api.ErrNotFound), !errors.Is(b.Err("2b"), api.ErrUnavailable),
			b.Err("2c") != nil:
			t.Errorf("%s: got %+v", name, b)
		}
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
		return json.Unmarshal(fmt.Appendf(nil, `{"result":true,"nodes":{"count":2,"items":[{"id":"2%[1]da"},`+
			`{"id":"2%[1]db"}]},`+
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
	if diff := cmp.Diff(
		want[4:], ids(t, s.AllRecent(t.Context(), roomID, &storage.RecentOptions{Cursor: "2"})),
	); diff != "" {
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
