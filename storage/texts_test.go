package storage_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/storage"
)

func TestInvalidTextOptionsAreRejected(t *testing.T) {
	t.Parallel()
	ctx, c, room := t.Context(), storage.New(stub.Answer(`{}`)).Texts, api.Workspace(roomID)
	get := func(o storage.TextOptions) error { return stub.Err(c.Get(ctx, room, nodeID, &o)) }
	search := func(query string, nodes ...api.OpaqueID) error { return stub.Err(c.Search(ctx, roomID, nodes, query)) }
	long := strings.Repeat("ü", 513)
	stub.Refused(t, map[string][]error{
		"q": {
			get(storage.TextOptions{Query: " "}), get(storage.TextOptions{Query: long}),
			search("", "2a"), search(long, "2a"),
		},
		"TextOptions": {
			get(storage.TextOptions{Query: "x", Page: 1}), get(storage.TextOptions{Page: 1, Chunks: new(storage.ChunkRange)}),
		},
		"cursor": {get(storage.TextOptions{Query: "x", Cursor: "c"})},
		"page":   {get(storage.TextOptions{Page: -1})},
		"chunk_from": {
			get(storage.TextOptions{Chunks: &storage.ChunkRange{From: -1}}),
			get(storage.TextOptions{Chunks: &storage.ChunkRange{From: 10_000}}),
		},
		"chunk_to": {
			get(storage.TextOptions{Chunks: &storage.ChunkRange{From: 5, Count: -1}}),
			get(storage.TextOptions{Chunks: &storage.ChunkRange{From: 1, Count: 10_000}}),
			get(storage.TextOptions{Chunks: &storage.ChunkRange{From: 1, Count: math.MaxInt}}),
		},
		"limit":     {get(storage.TextOptions{Limit: 21}), get(storage.TextOptions{Limit: -1})},
		"max_bytes": {get(storage.TextOptions{MaxBytes: 1023}), get(storage.TextOptions{MaxBytes: 262_145})},
		"nodes":     {search("x"), search("x", make([]api.OpaqueID, 11)...), search("x", "2a", " ")},
	})
}

func TestTextSelections(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: "One.\n\nTwo.\fThree.\n\nFour, of brass.\n\nFive, of brass."})
	for want, o := range map[string]storage.TextOptions{
		"One. Two. Three. Four, of brass. Five, of brass.": {Limit: 2},
		"Three. Four, of brass. Five, of brass.":           {Page: 2, Limit: 1},
		"One.":                                             {Chunks: &storage.ChunkRange{Count: 1}},
		"Two. Three.":                                      {Chunks: &storage.ChunkRange{From: 1, Count: 2}},
		"Five, of brass.":                                  {Chunks: &storage.ChunkRange{From: 4}},
		"Four, of brass. Five, of brass.":                  {Query: "BRASS"},
	} {
		all, err := stub.All(s.client.Storage.Texts.All(t.Context(), s.room, s.id, &o))
		var texts []string
		for _, c := range all {
			texts = append(texts, c.Text)
		}
		if diff := cmp.Diff(want, strings.Join(texts, " ")); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got)\n%s", o, err, diff)
		}
	}
}

// A file that is replaced ends the walk: its chunks are not mixed with the old ones.
func TestReplacedTextEndsTheWalk(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: "One.\n\nTwo."})
	ctx, c := t.Context(), s.client.Storage.Texts
	first, err := c.Get(ctx, s.room, s.id, &storage.TextOptions{Limit: 1})
	if err != nil || first.NextCursor == "" {
		t.Fatal(first, err)
	}
	s.file.Versions, s.file.Content = nil, "Three.\n\nFour."
	s.AddNode(s.file)
	next, err := c.Get(ctx, s.room, s.id, &storage.TextOptions{Limit: 1, Cursor: first.NextCursor})
	if err != nil || len(next.Chunks) > 0 || next.NextCursor != "" {
		t.Errorf("%+v, %v", next, err)
	}
	found, err := c.Search(ctx, s.room.ID, []api.OpaqueID{s.id, nodeID}, "four")
	if err != nil || len(found.Of(s.id).Chunks) != 1 || found.Of(nodeID) != nil || len(found.Missing) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// Without an index a file has no text, which is not an error.
func TestFileWithoutTextIsNotIndexed(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: "One.", AIState: "pending"})
	got, err := s.client.Storage.Texts.Get(t.Context(), s.room, s.id, nil)
	if err != nil || got.Indexed || len(got.Chunks) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
