package ai_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// A turn is the same in every form in which servers have been known to write it.
func TestTurnsDecoded(t *testing.T) {
	t.Parallel()
	full := &ai.Turn{
		ID: "y", ThreadID: "x", Seq: 2, Status: ai.TurnStatusComplete, IdempotencyKey: "k", Question: "Which?",
		Cost: ai.Cost{Credits: 14, Tokens: 1380}, Created: moment(0), Updated: moment(4),
		Answer: "Dock 4.", Truncated: true,
		Citations: []*ai.Citation{{Node: "n", Page: 3, Snippet: "31 May"}},
		Actions:   []*ai.Action{{Seq: 1, Label: "Searched", State: ai.ActionStateDone, Started: moment(2), Ended: moment(4)}},
	}
	const result = `"result":{"answer":"Dock 4.","truncated":true,"citations":[{"node_id":"n","page":3,"snippet":"31 May"}]}`
	const rest = `"actions":[{"seq":1,"label":"Searched","state":"done","started_at":"2026-09-01 10:00:02 UTC","ended_at":"2026-09-01 10:00:04 UTC"}],"error":null,
		"cost":{"credits":14,"tokens":1380},"created_at":"2026-09-01 10:00:00 UTC","updated_at":"2026-09-01 10:00:04 UTC"`
	const turn = `{"turn_id":"y","thread_id":"x","seq":2,"status":"complete","idempotency_key":"k","query":{"text":"Which?"},` + result + `,` + rest + `}`
	bare := func(change func(*ai.Turn)) *ai.Turn {
		t := &ai.Turn{ID: turnID, ThreadID: threadID, Status: ai.TurnStatusComplete}
		change(t)
		return t
	}
	for name, tc := range map[string]struct {
		answer string
		want   *ai.Turn
	}{
		"of a workspace": {`{"result":true,"message":` + turn + `}`, full},
		"of a share":     {`{"result":"yes","turn":` + turn + `}`, full},
		"wrapped":        {`{"response":{"message":` + turn + `}}`, full},
		"with older keys": {
			`{"message":{"id":"y","chat_id":"x","seq":2,"state":"complete","idempotency_key":"k","query":"Which?",` + strings.Replace(result, "node_id", "nodeId", 1) + `,` + rest + `}}`,
			full,
		},
		"with a text":          {`{"message":{"status":"complete","text":"Dock 4."}}`, bare(func(t *ai.Turn) { t.Answer = "Dock 4." })},
		"at the root":          {`{"result":true,"turn_id":"y","status":"complete","seq":3}`, bare(func(t *ai.Turn) { t.ID, t.Seq = "y", 3 })},
		"with an empty answer": {`{"message":{"status":"complete","result":{"answer":""}}}`, bare(func(*ai.Turn) {})},
		"without a result":     {`{"message":{"status":"complete","result":null}}`, bare(func(*ai.Turn) {})},
		"with a flag for one":  {`{"message":{"status":"complete","result":true}}`, bare(func(*ai.Turn) {})},
		"that failed": {
			`{"message":{"status":"failed","error":{"text":"The crane fell.","code":"7","crane":1}}}`,
			bare(func(t *ai.Turn) {
				t.Status, t.Failure = ai.TurnStatusFailed, &ai.Failure{Message: "The crane fell.", Code: 7, Extra: map[string]json.RawMessage{"crane": json.RawMessage("1")}}
			}),
		},
		"that failed in a word": {
			`{"message":{"status":"lost","error":"gone"}}`,
			bare(func(t *ai.Turn) { t.Status, t.Failure = ai.TurnStatusLost, &ai.Failure{Message: "gone"} }),
		},
		"that asks back": {
			`{"message":{"status":"needs_input","result":{"clarification":{"type":"text","question":"Which dock?"}}}}`,
			bare(func(t *ai.Turn) {
				t.Status, t.Clarification = ai.TurnStatusNeedsInput, &ai.Clarification{Type: "text", Question: "Which dock?"}
			}),
		},
		"that asks back elsewhere": {
			`{"message":{"status":"needs_input","clarification":{"question":"Which dock?"}}}`,
			bare(func(t *ai.Turn) {
				t.Status, t.Clarification = ai.TurnStatusNeedsInput, &ai.Clarification{Question: "Which dock?"}
			}),
		},
		"that asks back at once": {
			`{"message":{"status":"needs_input","question":"Which dock?","query":{"text":"Why?"}}}`,
			bare(func(t *ai.Turn) {
				t.Status, t.Question, t.Clarification = ai.TurnStatusNeedsInput, "Why?", &ai.Clarification{Question: "Which dock?"}
			}),
		},
		"with a number for a status": {`{"message":{"status":3}}`, bare(func(t *ai.Turn) { t.Status = "3" })},
		"with an old status, too":    {`{"message":{"status":"running","state":"complete"}}`, bare(func(t *ai.Turn) { t.Status = ai.TurnStatusRunning })},
		"without a status":           {`{"message":{"status":null,"state":"lost"}}`, bare(func(t *ai.Turn) { t.Status = ai.TurnStatusLost })},
		"cut short": {
			`{"message":{"status":"complete","result":{"answer":"a","truncated":"yes"}}}`,
			bare(func(t *ai.Turn) { t.Answer, t.Truncated = "a", true }),
		},
		"with news": {
			`{"message":{"status":"complete","mood":"good","result":{"answer":"a","stars":5,"citations":["n",{"title":"T","page":"x"}]}}}`,
			bare(func(t *ai.Turn) {
				t.Answer = "a"
				t.Citations = []*ai.Citation{{Node: "n"}, {Name: "T", Extra: map[string]json.RawMessage{"page": json.RawMessage(`"x"`)}}}
				t.Extra = map[string]json.RawMessage{"mood": json.RawMessage(`"good"`), "result.stars": json.RawMessage("5")}
			}),
		},
	} {
		got, err := ai.New(script(tc.answer)).Turns.Get(t.Context(), api.Share(shareID), threadID, turnID)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := ai.New(script(`{"result":true}`)).Turns.Get(t.Context(), api.Share(shareID), threadID, turnID); err == nil {
		t.Error("nothing passes for a turn")
	}
}

// What was sent and made, as far as anybody can tell, nothing is an error, with the
// key. A question makes a thread and a turn, together or apart.
func TestAnswersToQuestions(t *testing.T) {
	t.Parallel()
	q := ai.Question{Text: "?", IdempotencyKey: "k"}
	for answer, want := range map[string]*ai.Conversation{
		`{"result":true}`: nil,
		`{"thread":{"thread_id":"x","name":"n"},"turn":{"turn_id":"y"}}`: {Thread: &ai.Thread{ID: "x", Name: "n"}, Turns: []*ai.Turn{{ID: "y", ThreadID: "x", IdempotencyKey: "k"}}, Count: 1},
		`{"thread":{"chat_id":"x"},"turn":{"id":"y"}}`:                   {Thread: &ai.Thread{ID: "x"}, Turns: []*ai.Turn{{ID: "y", ThreadID: "x", IdempotencyKey: "k"}}, Count: 1},
		`{"result":"yes","turn_id":"y","thread_id":"x","seq":1}`:         {Thread: &ai.Thread{ID: "x"}, Turns: []*ai.Turn{{ID: "y", ThreadID: "x", Seq: 1, IdempotencyKey: "k"}}, Count: 1},
	} {
		got, err := ai.New(script(answer)).Threads.Create(t.Context(), api.Workspace(roomID), ai.CreateThreadRequest{Question: q})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", answer, diff)
		}
		_, sendErr := ai.New(script(answer)).Turns.Send(t.Context(), api.Workspace(roomID), threadID, q)
		for _, err := range []error{err, sendErr} {
			if e, ok := errors.AsType[*ai.SendError](err); ok != (want == nil) || ok && e.IdempotencyKey != "k" {
				t.Errorf("%s ends with %v", answer, err)
			}
		}
	}
}

func TestThreadsGetReportsTurnCount(t *testing.T) {
	t.Parallel()
	s := ai.New(script(`{"result":true,"thread":{"thread_id":"x"},"turns":{"count":2,"items":[{"turn_id":"y"}]}}`))
	got, err := s.Threads.Get(t.Context(), api.Share(shareID), threadID)
	if err != nil || got.Count != 2 {
		t.Errorf("got %+v, %v; want a count of 2", got, err)
	}
}

// Turns are listed under one name or the other.
func TestListsOfTurns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"messages", "turns"} {
		got, err := ai.New(script(`{"result":true,"`+name+`":{"count":1,"items":[{"turn_id":"y"}]}}`)).Turns.List(t.Context(), api.Share(shareID), threadID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&ai.TurnPage{Turns: []*ai.Turn{{ID: "y"}}, Count: 1}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func moment(second int) api.Time {
	return api.Time{Time: time.Date(2026, time.September, 1, 10, 0, second, 0, time.UTC)}
}

// Cancelling has had several answers.
func TestCancelAnswers(t *testing.T) {
	t.Parallel()
	for answer, ok := range map[string]bool{
		`{"result":true}`: true, `{}`: true, `{"success":true,"message":{"id":"y"}}`: true, `{"success":true,"no_pending_message":true}`: true,
		`{"success":"yes"}`: true, `{"success":false}`: false,
	} {
		if err := ai.New(script(answer)).Turns.Cancel(t.Context(), api.Share(shareID), threadID); (err == nil) != ok {
			t.Errorf("%s ends with %v", answer, err)
		}
	}
}

// A node comes under one name or another, or alone.
func TestNotesDecoded(t *testing.T) {
	t.Parallel()
	want := &api.Node{ID: "n", Name: "a.md", Type: api.NodeTypeNote, Version: "v"}
	const node = `"id":"n","name":"a.md","type":"note","version":"v"`
	for _, answer := range []string{`{"result":true,"node":{` + node + `}}`, `{"note":{` + node + `}}`, `{"result":true,` + node + `}`, `{"response":{` + node + `}}`} {
		got, err := ai.New(script(answer)).Notes.Create(t.Context(), roomID, api.Root, ai.CreateNoteRequest{Name: "a.md", Content: "a"})
		if err != nil {
			t.Errorf("%s: %v", answer, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", answer, diff)
		}
	}
	if _, err := ai.New(script(`{"result":true}`)).Notes.Update(t.Context(), roomID, nodeID, ai.UpdateNoteRequest{Content: "a"}); err == nil {
		t.Error("nothing passes for a node")
	}
}

func text(t *testing.T, d *api.Download) string {
	t.Helper()
	defer func() { _ = d.Close() }()
	b, err := io.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A note is written, read, and not written over by whoever knows an old version.
func TestNotes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		notes := o.client.AI.Notes
		made, err := notes.Create(t.Context(), o.room.ID, api.Root, ai.CreateNoteRequest{Name: "Plan.md", Content: "# Plan"})
		if err != nil {
			t.Fatal(err)
		}
		changed, err := notes.Update(t.Context(), o.room.ID, made.ID, ai.UpdateNoteRequest{Content: "# Plan B", IfVersionID: made.Version})
		if err != nil || changed.Version.Equal(made.Version) {
			t.Fatalf("%+v, %v", changed, err)
		}
		_, err = notes.Update(t.Context(), o.room.ID, made.ID, ai.UpdateNoteRequest{Content: "# Plan C", IfVersionID: made.Version})
		c, ok := errors.AsType[*ai.NoteConflictError](err)
		if !ok || !errors.Is(err, api.ErrConflict) || !c.Version.Equal(changed.Version) || c.Current == nil {
			t.Errorf("ends with %+v, %v", c, err)
		}
		got, err := notes.Get(t.Context(), o.room, made.ID, "", nil)
		if err != nil || got.Content != "# Plan B" || !got.Node.Version.Equal(changed.Version) {
			t.Errorf("%+v, %v", got, err)
		}
		d, err := notes.Read(t.Context(), o.room.ID, made.ID, made.Version)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, d); got != "# Plan" || !strings.HasPrefix(d.Type, "text/markdown") {
			t.Errorf("%q of %s", got, d.Type)
		}
		if _, err := notes.Read(t.Context(), o.room.ID, nodeID, ""); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("of no note: %v", err)
		}
		file := o.AddNode(fastiotest.Node{Profile: o.room.ID, Name: "uploaded.md", Content: "# No note"})
		_, err = notes.Get(t.Context(), o.room, file.ID, "", nil)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != ai.CodeNotANote {
			t.Errorf("of a file: %v", err)
		}
	})
}

// A note may be as long as is documented, and only another version is a conflict.
func TestNoteRefusals(t *testing.T) {
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

// The password of a link goes with the note, not into its address.
func TestANoteBehindAPassword(t *testing.T) {
	t.Parallel()
	c := script(`{"content":"# Hi"}`)
	_, err := ai.New(c).Notes.Get(t.Context(), api.Share(shareID), nodeID, "", &ai.GetNoteOptions{Password: api.NewSecret("p")})
	if r := c.last(); err != nil || r.Password != api.NewSecret("p") || len(r.Query) > 0 {
		t.Errorf("%v, the query is %v", err, r.Query)
	}
}

// Transactions are a list, or an object that holds one.
func TestTransactions(t *testing.T) {
	t.Parallel()
	const list = `[{"thread_id":"x","turn_id":"y","cost":{"credits":2}}]`
	for _, answer := range []string{`{"transactions":` + list + `}`, `{"transactions":{"count":1,"items":` + list + `}}`} {
		got, err := ai.New(script(answer)).Transactions.List(t.Context(), roomID)
		if diff := cmp.Diff([]*ai.Transaction{{ThreadID: "x", TurnID: "y", Cost: ai.Cost{Credits: 2}}}, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", answer, err, diff)
		}
	}
}

// A thread that was renamed is told, even if the server does not.
func TestRenaming(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]*ai.Thread{
		`{"result":true}`: {ID: threadID, Name: "n"},
		`{"result":true,"thread":{"thread_id":"x","name":"N"}}`: {ID: "x", Name: "N"},
	} {
		got, err := ai.New(script(answer)).Threads.Update(t.Context(), api.Workspace(roomID), threadID, "n")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// A walk over threads begins where it is asked to.
func TestWalksFromAnOffset(t *testing.T) {
	t.Parallel()
	c := script(`{"chats":{"count":1,"items":[{"thread_id":"x"}]}}`)
	if err := lastError(ai.New(c).Threads.All(t.Context(), api.Workspace(roomID), &ai.ThreadListOptions{Offset: 5})); err != nil {
		t.Fatal(err)
	}
	var offsets []string
	for _, r := range c.sent {
		offsets = append(offsets, r.Query.Get("offset"))
	}
	if diff := cmp.Diff([]string{"5", "6"}, offsets); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Files are read by their links, in parts, without a credential, three times.
func TestFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		const content = "The lease of Dock 4."
		file := o.AddNode(fastiotest.Node{Profile: o.room.ID, Name: "lease.txt", Content: content})
		token := func() api.Secret {
			markdown, err := o.client.AI.Files.Share(t.Context(), o.room, []api.OpaqueID{file.ID})
			if err != nil {
				t.Fatal(err)
			}
			_, link, _ := strings.Cut(markdown, "/ai/share/")
			token, _, _ := strings.Cut(link, "?")
			return api.NewSecret(token)
		}
		link := token()
		for _, tc := range []struct {
			o            *api.Range
			want         string
			offset, size int64
		}{
			{nil, content, 0, 20},
			{&api.Range{Offset: 4, Length: 5}, "lease", 4, 20},
			{&api.Range{Offset: 13}, "Dock 4.", 13, 20},
		} {
			d, err := o.client.AI.Files.Read(t.Context(), link, 0, tc.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(t, d); got != tc.want || d.Offset != tc.offset || d.Size != tc.size || d.Length != int64(len(tc.want)) || d.Name != "lease.txt" {
				t.Errorf("%q, %+v", got, d)
			}
		}
		if _, err := o.client.AI.Files.Read(t.Context(), link, 0, nil); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("a fourth time: %v", err)
		}
		old := token()
		time.Sleep(6 * time.Minute)
		if _, err := o.client.AI.Files.Read(t.Context(), old, 0, nil); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("after six minutes: %v", err)
		}
		for _, r := range o.Requests() {
			if r.Op == "ai.Files.Read" && r.Header.Get("Authorization") != "" {
				t.Error("a credential was sent")
			}
		}
	})
}

// A server that does not know parts sends it all, and the part is taken from it.
func TestPartsOfAWhole(t *testing.T) {
	t.Parallel()
	for o, want := range map[api.Range]string{{Offset: 4}: "lease", {Offset: 4, Length: 2}: "le", {Length: 3}: "The", {Offset: 9}: ""} {
		d, err := ai.New(script(opening{"text/plain", "The lease"})).Files.Read(t.Context(), api.NewSecret("t"), 0, &o)
		if err != nil {
			t.Fatal(err)
		}
		if d.Length != int64(len(want)) || d.Offset != o.Offset || d.Size != 9 {
			t.Errorf("%+v: %+v", o, d)
		}
		if got := text(t, d); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
	if _, err := ai.New(script(opening{"text/plain", "The lease"})).Files.Read(t.Context(), api.NewSecret("t"), 0, &api.Range{Offset: 10}); !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: %v", err)
	}
}

// A picture comes as it is, and so does the title of a share.
func TestShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		share := o.AddShare(fastiotest.Share{Title: "Untitled", Access: "Anyone with the link"})
		o.SetMember(share.ID, o.User().ID, fastiotest.Admin)
		d, err := o.client.AI.Shares.OGImage(t.Context(), share.ID)
		if err != nil {
			t.Fatal(err)
		}
		if kind := http.DetectContentType([]byte(text(t, d))); kind != d.Type || kind != "image/png" {
			t.Errorf("a picture of %s is %s", d.Type, kind)
		}
		title, err := o.client.AI.Shares.AutoTitle(t.Context(), share.ID, &ai.AutoTitleOptions{UserContext: "Leases"})
		if err != nil || title.Title != "Leases" || title.Description == "" {
			t.Errorf("%+v, %v", title, err)
		}
	})
}
