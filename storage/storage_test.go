package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID = api.ProfileID("4012345678901234567")
	nodeID = api.OpaqueID("2RII2-9kqzf")
)

func TestWrongInput(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storage.New(stub.Answer(`{}`))
	room, share := api.Workspace(roomID), api.Share("5012345678901234567")
	many := make([]api.OpaqueID, 26)
	for i := range many {
		many[i] = api.OpaqueID("2" + strconv.Itoa(i))
	}
	list := func(in api.Profile, o storage.ListOptions) error { return stub.Err(s.List(ctx, in, api.Root, &o)) }
	get := func(in api.Profile, node api.OpaqueID) error { return stub.Err(s.Get(ctx, in, node)) }
	getMany := func(in api.Profile, nodes ...api.OpaqueID) error { return stub.Err(s.GetMany(ctx, in, nodes)) }
	stub.Refused(t, map[string][]error{
		"scope": {
			list(api.User("u"), storage.ListOptions{}), list(api.Workspace(" "), storage.ListOptions{}),
			get(api.FileShare("f"), nodeID), getMany(api.Org("o"), "2"),
		},
		"parent_id": {stub.Err(s.List(ctx, room, "-", nil))},
		"page_size": {
			list(room, storage.ListOptions{PageSize: 99}), list(room, storage.ListOptions{PageSize: -1}),
			stub.Err(s.Recent(ctx, roomID, &storage.RecentOptions{PageSize: 501})),
		},
		"sort_by":      {list(share, storage.ListOptions{SortBy: "size"})},
		"node_id":      {get(room, ""), getMany(room), getMany(room, many...), getMany(room, "2", " ")},
		"workspace_id": {stub.Err(s.Recent(ctx, "", nil))},
	})
}

func TestBatchNode(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"format":"multi","nodes":[{"id":"2b"},{"id":"2A"}]}`, `{"format":"single","node":{"id":"2a"}}`,
	} {
		s := storage.New(stub.Answer(answer))
		got, err := s.GetMany(t.Context(), api.Workspace(roomID), []api.OpaqueID{"2a", "2b"})
		if err != nil || got.Node("2-A") == nil || got.Node("2c") != nil {
			t.Errorf("%s: got %+v, %v", answer, got, err)
		}
	}
	s := storage.New(stub.Answer(`{"result":true}`))
	if _, err := s.Get(t.Context(), api.Workspace(roomID), nodeID); err == nil {
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
		"at the root": {&api.Error{Status: 404, Body: []byte(`{"result":false,` + errs + `}`)}, true},
		"wrapped": {
			&api.Error{Status: 404, Body: []byte(`{"result":"no","response":{` + errs + `}}`)},
			true,
		},
		"without errors":       {&api.Error{Status: 404, Body: []byte(`{"result":false,"error":{"code":1}}`)}, false},
		"no JSON":              {&api.Error{Status: 404, Body: []byte(`<html>`)}, false},
		"another status":       {&api.Error{Status: 403, Body: []byte(`{"result":false,` + errs + `}`)}, false},
		"not refused but lost": {context.DeadlineExceeded, false},
	} {
		s := storage.New(stub.Fail(tc.refusal))
		b, err := s.GetMany(t.Context(), api.Workspace(roomID), []api.OpaqueID{"2a", "2b"})
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

// shelf is a list of three pages; the cursor of a page is its number.
func shelf(sizes *[]string) *storage.Service {
	return storage.New(stub.Caller(func(_ context.Context, r *api.Request, out any) error {
		*sizes = append(*sizes, r.Query.Get("page_size"))
		n, _ := strconv.Atoi(r.Query.Get("cursor"))
		next := ""
		if n < 2 {
			next = strconv.Itoa(n + 1)
		}
		return json.Unmarshal(fmt.Appendf(nil, `{"nodes":{"count":2,"items":[{"id":"2%[1]da"},{"id":"2%[1]db"}]},`+
			`"pagination":{"has_more":%[2]t,"next_cursor":%[3]q,"page_size":100}}`, n, next != "", next), out)
	}))
}

func TestIterations(t *testing.T) {
	t.Parallel()
	var sizes []string
	s := shelf(&sizes)
	room := api.Workspace(roomID)
	check := func(what string, seq iter.Seq2[*api.Node, error], want ...string) {
		t.Helper()
		var got []string
		nodes, err := stub.All(seq)
		for _, n := range nodes {
			got = append(got, string(n.ID))
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	all := s.All(t.Context(), room, api.Root, nil)
	for range 2 {
		check("All", all, "20a", "20b", "21a", "21b", "22a", "22b")
	}
	check("AllRecent", s.AllRecent(t.Context(), roomID, nil), "20a", "20b", "21a", "21b", "22a", "22b")
	if diff := cmp.Diff([]string{"500", "500", "500", "500", "500", "500", "", "", ""}, sizes); diff != "" {
		t.Errorf("page sizes (-want +got):\n%s", diff)
	}
	recent := &storage.RecentOptions{Cursor: "2"}
	check("AllRecent from a cursor", s.AllRecent(t.Context(), roomID, recent), "22a", "22b")

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
	check("resumed", s.All(t.Context(), room, api.Root, list), "21a", "21b", "22a", "22b")
	if list.Cursor != kept {
		t.Error("the iteration wrote to the options it was given")
	}
}

func TestIterationsFail(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	s := storage.New(stub.Fail(broken))
	if err := stub.Last(s.All(t.Context(), api.Workspace(roomID), api.Root, nil)); !errors.Is(err, broken) {
		t.Errorf("All: %v", err)
	}
	if err := stub.Last(s.AllRecent(t.Context(), roomID, nil)); !errors.Is(err, broken) {
		t.Errorf("AllRecent: %v", err)
	}
}
