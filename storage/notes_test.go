package storage_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/storage"
)

func TestInvalidNotesAreRejected(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), storage.New(stub.Answer(`{}`)).Notes
	created := func(parent api.OpaqueID, r storage.CreateNoteRequest) error {
		return stub.Err(s.Create(ctx, roomID, parent, r))
	}
	updated := func(r storage.UpdateNoteRequest) error { return stub.Err(s.Update(ctx, roomID, nodeID, r)) }
	long := strings.Repeat("x", 100<<10+1)
	stub.Refused(t, map[string][]error{
		"parent_id": {created(api.Trash, storage.CreateNoteRequest{Name: "a.md", Content: "a"})},
		"node":      {stub.Err(s.Update(ctx, roomID, api.Root, storage.UpdateNoteRequest{Content: "a"}))},
		"name": {
			created(api.Root, storage.CreateNoteRequest{Name: "a.txt", Content: "a"}),
			created(api.Root, storage.CreateNoteRequest{Name: "a/b.md", Content: "a"}),
			created(api.Root, storage.CreateNoteRequest{Content: "a"}),
			updated(storage.UpdateNoteRequest{Name: "a"}),
			updated(storage.UpdateNoteRequest{Name: "a", Content: " "}),
		},
		"content": {
			created(api.Root, storage.CreateNoteRequest{Name: "a.md"}),
			updated(storage.UpdateNoteRequest{IfVersion: "v"}),
			updated(storage.UpdateNoteRequest{Content: long}),
			updated(storage.UpdateNoteRequest{Content: " \n"}),
			updated(storage.UpdateNoteRequest{Content: "a\xff"}),
		},
	})
}

// A note may be the whole response.
func TestNoteResponses(t *testing.T) {
	t.Parallel()
	s := storage.New(stub.Answer(`{"result":true,"id":"n","name":"a.md","type":"note","version":"v"}`))
	got, err := s.Notes.Create(t.Context(), roomID, api.Root, storage.CreateNoteRequest{Name: "a.md", Content: "a"})
	want := &storage.Node{ID: "n", Name: "a.md", Type: storage.NodeTypeNote, Version: "v"}
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	s = storage.New(stub.Answer(`{"result":true}`))
	if _, err := s.Notes.Update(t.Context(), roomID, nodeID, storage.UpdateNoteRequest{Content: "a"}); err == nil {
		t.Error("a response without a node is not an error")
	}
}

// An update of an old version of a note is a conflict with the current version.
func TestNoteUpdateConflict(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Kind: "note", Name: "Plan.md", Versions: []seed.Version{{Content: "# Plan"}, {Content: "# B"}}})
	ctx, notes, versions := t.Context(), s.client.Storage.Notes, s.file.Versions
	old := storage.UpdateNoteRequest{Content: "# C", IfVersion: api.OpaqueID(versions[0].ID)}
	_, err := notes.Update(ctx, s.room.ID, s.id, old)
	conflict, ok := errors.AsType[*api.VersionConflictError](err)
	if !ok || !errors.Is(err, api.ErrConflict) || !conflict.Current.Equal(api.OpaqueID(versions[1].ID)) {
		t.Fatalf("got %+v, %v", conflict, err)
	}
	read, err := notes.Get(ctx, s.room, s.id, old.IfVersion)
	if err != nil || read.Content != "# Plan" {
		t.Errorf("got %+v, %v", read, err)
	}
	file := s.AddNode(seed.Node{Profile: string(s.room.ID), Name: "uploaded.md", Content: "# No note"})
	_, err = notes.Get(ctx, s.room, api.OpaqueID(file.ID), "")
	if e, ok := errors.AsType[*api.Error](err); !ok || !errors.Is(err, api.ErrInvalid) || e.Code != 153548 {
		t.Errorf("of a file: %v", err)
	}
}

// A 409 that does not say which version the note has may be of another cause, such as a
// lock.
func TestConflictsOfNotes(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]*api.VersionConflictError{
		`{"current":{"version_id":"v-2"}}`:                        {Current: "v-2"},
		`{"current":{"version":"v-2"}}`:                           {Current: "v-2"},
		`{"current":{"content":"a"}}`:                             {},
		`{"current":"v-2"}`:                                       {Current: "v-2"},
		`[{"reason":"conflict_version_mismatch","current":null}]`: {},
		`{"current":null}`:                                        nil,
		`{"reason":"locked"}`:                                     nil,
		`null`:                                                    nil,
	} {
		refused := &api.Error{
			Status: http.StatusConflict, Details: json.RawMessage(params), Body: []byte(`{"error":{"params":` + params + `}}`),
		}
		notes := storage.New(stub.Fail(refused)).Notes
		_, err := notes.Update(t.Context(), roomID, nodeID, storage.UpdateNoteRequest{Content: "a", IfVersion: "v1"})
		got, found := errors.AsType[*api.VersionConflictError](err)
		if found != (want != nil) || found && got.Current != want.Current || !errors.Is(err, api.ErrConflict) {
			t.Errorf("%s: %v", params, err)
		}
	}
}
