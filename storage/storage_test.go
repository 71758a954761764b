package storage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/storage"
)

func TestMain(m *testing.M) {
	if arguments := os.Getenv(receiverEnv); arguments != "" {
		if err := receiver(arguments); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const (
	roomID = api.ID("4012345678901234567")
	nodeID = api.OpaqueID("2RII2-9kqzf")
)

func TestInvalidInputIsRejected(t *testing.T) {
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
		"in": {
			list(api.User("u"), storage.ListOptions{}),
			list(api.Workspace(" "), storage.ListOptions{}),
			get(api.FileShare("f"), nodeID),
			getMany(api.Org("o"), "2"),
			stub.Err(s.Recent(ctx, api.FileShare("f"), nil)),
		},
		"parent": {stub.Err(s.List(ctx, room, "-", nil))},
		"page_size": {
			list(room, storage.ListOptions{PageSize: 99}),
			list(room, storage.ListOptions{PageSize: -1}),
			stub.Err(s.Recent(ctx, room, &storage.RecentOptions{PageSize: 501})),
		},
		"sort_by": {list(share, storage.ListOptions{SortBy: "size"})},
		"node":    {get(room, "")},
		"node_id": {getMany(room), getMany(room, many...), getMany(room, "2", " ")},
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
		t.Error("a response without a node is not an error")
	}
}

// If no node was found, each has its error, in any form of the response.
func TestGetManyOfMissingNodes(t *testing.T) {
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

// A response without a list is none of an empty folder: a caller that compares folders
// would delete or send all that the other side has.
func TestListRequiresNodes(t *testing.T) {
	t.Parallel()
	for body, isList := range map[string]bool{
		`{"result":true}`: false, `{"result":true,"response":{}}`: false, `{"result":true,"nodes":null}`: false, `{}`: false,
		`{"result":true,"nodes":[]}`: true, `{"result":true,"nodes":{"count":0,"items":[]}}`: true, `{"response":[]}`: true,
		`{"result":true,"nodes":{"count":0,"items":null},"pagination":{"has_more":false}}`: true,
		`{"result":true,"pagination":{"has_more":null,"page_size":100}}`:                   true,
	} {
		s, in := storage.New(stub.Answer(body)), api.Workspace(roomID)
		p, err := s.List(t.Context(), in, api.Root, nil)
		if (err == nil) != isList || isList && (len(p.Nodes) > 0 || p.HasMore) {
			t.Errorf("List of %s returned %+v, %v", body, p, err)
		}
		if p, err := s.Recent(t.Context(), in, nil); (err == nil) != isList {
			t.Errorf("Recent of %s returned %+v, %v", body, p, err)
		}
	}
}
