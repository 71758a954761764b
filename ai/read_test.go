package ai_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
)

// The forms of a turn that internal/contract does not have.
func TestTurnsDecoded(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	crane := &ai.Failure{Message: "The crane fell.", Code: 7, Extra: map[string]json.RawMessage{"crane": raw("1")}}
	news := ai.Turn{
		Answer:    "a",
		Citations: []*ai.Citation{{Node: "n"}, {Name: "T", Extra: map[string]json.RawMessage{"page": raw(`"x"`)}}},
		Extra:     map[string]json.RawMessage{"mood": raw(`"good"`), "result.stars": raw("5")},
	}
	gone := &ai.Failure{Message: "gone"}
	dock := &ai.Clarification{Question: "Which dock?"}
	for answer, want := range map[string]ai.Turn{
		`{"message":{"text":"Dock 4."}}`:                                        {Answer: "Dock 4."},
		`{"result":true,"turn_id":"y","seq":3}`:                                 {ID: "y", Seq: 3},
		`{"message":{"result":{"answer":""}}}`:                                  {},
		`{"message":{"result":null}}`:                                           {},
		`{"message":{"result":true}}`:                                           {},
		`{"message":{"result":{"answer":"a","truncated":"yes"}}}`:               {Answer: "a", Truncated: true},
		`{"message":{"status":3}}`:                                              {Status: "3"},
		`{"message":{"status":"running","state":"complete"}}`:                   {Status: ai.TurnStatusRunning},
		`{"message":{"status":null,"state":"lost"}}`:                            {Status: ai.TurnStatusLost},
		`{"message":{"error":{"text":"The crane fell.","code":"7","crane":1}}}`: {Failure: crane},
		`{"message":{"error":"gone"}}`:                                          {Failure: gone},
		`{"message":{"clarification":{"question":"Which dock?"}}}`:              {Clarification: dock},
		`{"message":{"status":"needs_input","question":"Which dock?","query":{"text":"Why?"}}}`: {
			Status: ai.TurnStatusNeedsInput, Question: "Why?", Clarification: dock,
		},
		`{"message":{"mood":"good","result":` +
			`{"answer":"a","stars":5,"citations":["n",{"title":"T","page":"x"}]}}}`: news,
	} {
		got, err := ai.New(script(answer)).Turns.Get(t.Context(), share, threadID, turnID)
		want.ID, want.ThreadID = cmp.Or(want.ID, turnID), threadID
		if diff := gocmp.Diff(&want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", answer, err, diff)
		}
	}
	if _, err := ai.New(script(`{"result":true}`)).Turns.Get(t.Context(), share, threadID, turnID); err == nil {
		t.Error("an answer without a turn is no error")
	}
}

// An answer without a turn is an error that holds the key. A question makes a
// thread and a turn, together or apart.
func TestAnswersToQuestions(t *testing.T) {
	t.Parallel()
	q := ai.Question{Text: "?", IdempotencyKey: "k"}
	made := func(name string, seq int) *ai.Conversation {
		turn := &ai.Turn{ID: "y", ThreadID: "x", Seq: seq, IdempotencyKey: "k"}
		return &ai.Conversation{Thread: &ai.Thread{ID: "x", Name: name}, Turns: []*ai.Turn{turn}, Count: 1}
	}
	for answer, want := range map[string]*ai.Conversation{
		`{"result":true}`: nil,
		`{"thread":{"thread_id":"x","name":"n"},"turn":{"turn_id":"y"}}`: made("n", 0),
		`{"thread":{"chat_id":"x"},"turn":{"id":"y"}}`:                   made("", 0),
		`{"result":"yes","turn_id":"y","thread_id":"x","seq":1}`:         made("", 1),
	} {
		s := ai.New(script(answer))
		got, err := s.Threads.Create(t.Context(), room, ai.CreateThreadRequest{Question: q})
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", answer, diff)
		}
		for _, err := range []error{err, stub.Err(s.Turns.Send(t.Context(), room, threadID, q))} {
			if e, ok := errors.AsType[*ai.SendError](err); ok != (want == nil) || ok && e.IdempotencyKey != "k" {
				t.Errorf("%s: got %v", answer, err)
			}
		}
	}
}

func TestCancelAnswers(t *testing.T) {
	t.Parallel()
	for answer, ok := range map[string]bool{`{}`: true, `{"success":"yes"}`: true, `{"success":false}`: false} {
		if err := ai.New(script(answer)).Turns.Cancel(t.Context(), share, threadID); (err == nil) != ok {
			t.Errorf("%s: got %v", answer, err)
		}
	}
}

// A note may be the whole answer.
func TestNotesDecoded(t *testing.T) {
	t.Parallel()
	s := ai.New(script(`{"result":true,"id":"n","name":"a.md","type":"note","version":"v"}`, `{"result":true}`))
	got, err := s.Notes.Create(t.Context(), roomID, api.Root, ai.CreateNoteRequest{Name: "a.md", Content: "a"})
	want := &api.Node{ID: "n", Name: "a.md", Type: api.NodeTypeNote, Version: "v"}
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := s.Notes.Update(t.Context(), roomID, nodeID, ai.UpdateNoteRequest{Content: "a"}); err == nil {
		t.Error("an answer without a node is no error")
	}
}

func content(t *testing.T, d *api.Download) string {
	t.Helper()
	defer func() { _ = d.Close() }()
	b, err := io.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// An update of an old version of a note is a conflict that holds the current one.
func TestNotes(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, o *office) {
		notes := o.client.AI.Notes
		plan := ai.CreateNoteRequest{Name: "Plan.md", Content: "# Plan"}
		made, err := notes.Create(t.Context(), o.room.ID, api.Root, plan)
		if err != nil {
			t.Fatal(err)
		}
		update := ai.UpdateNoteRequest{Content: "# Plan B", IfVersionID: made.Version}
		changed, err := notes.Update(t.Context(), o.room.ID, made.ID, update)
		if err != nil || changed.Version.Equal(made.Version) {
			t.Fatalf("%+v, %v", changed, err)
		}
		_, err = notes.Update(t.Context(), o.room.ID, made.ID, update)
		c, ok := errors.AsType[*ai.NoteConflictError](err)
		if !ok || !errors.Is(err, api.ErrConflict) || !c.Version.Equal(changed.Version) || c.Current == nil {
			t.Errorf("got %+v, %v", c, err)
		}
		d, err := notes.Read(t.Context(), o.room.ID, made.ID, made.Version)
		if err != nil {
			t.Fatal(err)
		}
		if got := content(t, d); got != "# Plan" || !strings.HasPrefix(d.Type, "text/markdown") {
			t.Errorf("%q of %s", got, d.Type)
		}
		file := o.AddNode(fastiotest.Node{Profile: o.room.ID, Name: "uploaded.md", Content: "# No note"})
		_, err = notes.Get(t.Context(), o.room, file.ID, "", nil)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != ai.CodeNotANote {
			t.Errorf("of a file: %v", err)
		}
	})
}

// A note may be as long as is documented, and only another version is a conflict.
func TestOnlyStatus409IsANoteConflict(t *testing.T) {
	t.Parallel()
	longest := ai.UpdateNoteRequest{Content: strings.Repeat("x", 100<<10)}
	for status, conflict := range map[int]bool{409: true, 406: false, 404: false} {
		_, err := ai.New(script(&api.Error{Status: status})).Notes.Update(t.Context(), roomID, nodeID, longest)
		_, refused := errors.AsType[*api.Error](err)
		if _, ok := errors.AsType[*ai.NoteConflictError](err); ok != conflict || !refused {
			t.Errorf("%d ends with %v", status, err)
		}
	}
}

// Update returns the thread even if the answer has none.
func TestUpdateReturnsTheThread(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]*ai.Thread{
		`{"result":true}`: {ID: threadID, Name: "n"},
		`{"result":true,"thread":{"thread_id":"x","name":"N"}}`: {ID: "x", Name: "N"},
	} {
		got, err := ai.New(script(answer)).Threads.Update(t.Context(), room, threadID, "n")
		if diff := gocmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// A walk over threads begins where it is asked to, and any ends with an error.
func TestThreadsAllBeginsAtTheOffset(t *testing.T) {
	t.Parallel()
	c := script(`{"chats":{"count":2,"items":[{"thread_id":"x"},{"thread_id":"y"}]}}`)
	if err := stub.Last(ai.New(c).Threads.All(t.Context(), room, &ai.ThreadListOptions{Offset: 5})); err != nil {
		t.Fatal(err)
	}
	var offsets []string
	for _, r := range c.sent {
		offsets = append(offsets, r.Query.Get("offset"))
	}
	if diff := gocmp.Diff([]string{"5", "7"}, offsets); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s := ai.New(script(errReached))
	threads, turns := s.Threads.All(t.Context(), room, nil), s.Turns.All(t.Context(), room, threadID)
	for _, err := range []error{stub.Last(threads), stub.Last(turns)} {
		if !errors.Is(err, errReached) {
			t.Errorf("ended with %v", err)
		}
	}
}

// Files are read by their links, whole or in part.
func TestFiles(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, o *office) {
		const lease = "The lease of Dock 4."
		file := o.AddNode(fastiotest.Node{Profile: o.room.ID, Name: "lease.txt", Content: lease})
		markdown, err := o.client.AI.Files.Share(t.Context(), o.room, []api.OpaqueID{file.ID})
		if err != nil {
			t.Fatal(err)
		}
		_, link, _ := strings.Cut(markdown, "/ai/share/")
		token, _, _ := strings.Cut(link, "?")
		parts := map[string]*api.Range{lease: nil, "lease": {Offset: 4, Length: 5}, "Dock 4.": {Offset: 13}}
		for want, part := range parts {
			d, err := o.client.AI.Files.Read(t.Context(), api.NewSecret(token), 0, part)
			if err != nil {
				t.Fatal(err)
			}
			place := []int64{int64(strings.Index(lease, want)), int64(len(want)), 20}
			got := content(t, d)
			if got != want || d.Name != "lease.txt" || !slices.Equal([]int64{d.Offset, d.Length, d.Size}, place) {
				t.Errorf("%q, %+v", got, d)
			}
		}
	})
}

// A server that does not know parts sends it all, and the part is taken from it.
func TestReadCutsTheRangeFromAWholeFile(t *testing.T) {
	t.Parallel()
	whole := opening{"text/plain", "The lease"}
	for o, want := range map[api.Range]string{
		{Offset: 4}: "lease", {Offset: 4, Length: 2}: "le", {Length: 3}: "The", {Offset: 9}: "",
	} {
		d, err := ai.New(script(whole)).Files.Read(t.Context(), api.NewSecret("t"), 0, &o)
		if err != nil {
			t.Fatal(err)
		}
		if d.Length != int64(len(want)) || d.Offset != o.Offset || d.Size != 9 {
			t.Errorf("%+v: %+v", o, d)
		}
		if got := content(t, d); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
	if _, err := ai.New(script(whole)).Files.Read(
		t.Context(), api.NewSecret("t"), 0, &api.Range{Offset: 10},
	); !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: %v", err)
	}
}
