package ai_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
)

type (
	newThread = ai.CreateThreadRequest
	ask       = ai.Question
)

func TestDeleteIsIdempotent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  api.Error
		gone bool
	}{
		"gone":                     {api.Error{Status: 404, Attempts: 2}, true},
		"gone, in other words":     {api.Error{Status: 406, Attempts: 3}, true},
		"never there":              {api.Error{Status: 404, Attempts: 1}, false},
		"no such call":             {api.Error{Status: 404, Code: 9992, Attempts: 2}, false},
		"forbidden after a moment": {api.Error{Status: 403, Attempts: 2}, false},
	} {
		if err := ai.New(script(&tc.err)).Threads.Delete(t.Context(), room, threadID); (err == nil) != tc.gone {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func references(n int, node func(api.OpaqueID) ai.Reference) []ai.Reference {
	all := make([]ai.Reference, n)
	for i := range all {
		all[i] = node(api.OpaqueID("2" + strings.Repeat("x", i)))
	}
	return all
}

// Invalid questions are rejected locally, and the longest valid ones are sent.
func TestQuestionLimits(t *testing.T) {
	t.Parallel()
	files := func(n int) []ai.Reference { return references(n, ai.File) }
	folders := func(n int) []ai.Reference { return references(n, ai.Folder) }
	ten := slices.Repeat(files(10), 10)
	raw := func(text string) []json.RawMessage { return []json.RawMessage{json.RawMessage(text)} }
	for name, tc := range map[string]struct {
		q     ask
		field string // "" means it is sent
	}{
		"blank":                      {ask{Text: " \n"}, "question"},
		"32,000 characters":          {ask{Text: strings.Repeat("é", 32_000)}, ""},
		"32,001 characters":          {ask{Text: strings.Repeat("é", 32_001)}, "question"},
		"invalid UTF-8":              {ask{Text: "\xff"}, "question"},
		"parts alone":                {ask{ContentParts: raw(`{"type":"text"}`)}, ""},
		"parts that are not JSON":    {ask{ContentParts: raw(`{`)}, "content_parts"},
		"view that is not an object": {ask{Text: "?", View: json.RawMessage(`[]`)}, "view"},
		"null view":                  {ask{Text: "?", View: json.RawMessage(`null`)}, "view"},
		"key of 64 characters":       {ask{Text: "?", IdempotencyKey: strings.Repeat("k", 64)}, ""},
		"key of 65 characters":       {ask{Text: "?", IdempotencyKey: strings.Repeat("k", 65)}, "idempotency_key"},
		"blank key":                  {ask{Text: "?", IdempotencyKey: "  "}, "idempotency_key"},
		"unknown effort":             {ask{Text: "?", Effort: "huge"}, "effort"},
		"role of 32,001 characters":  {ask{Text: "?", RoleInOrg: strings.Repeat("é", 32_001)}, ""},
		"role that is not UTF-8":     {ask{Text: "?", RoleInOrg: "\xff"}, "role_in_org"},
		"20 files":                   {ask{Text: "?", References: files(10), Subjects: files(20)}, ""},
		"21 files":                   {ask{Text: "?", References: files(21)}, "references"},
		"21 files, one in a part": {
			ask{Text: "?", References: files(20), ContentParts: raw(`{"type":"file","id":"3z"}`)}, "references",
		},
		"100 files and folders":  {ask{Text: "?", References: folders(80), Subjects: references(20, ai.File)}, ""},
		"101 files and folders":  {ask{Text: "?", References: folders(101)}, "references"},
		"200 occurrences":        {ask{Text: "?", References: ten, Subjects: ten}, ""},
		"201 occurrences":        {ask{Text: "?", References: ten, Subjects: append(files(1), ten...)}, "references"},
		"reference without ID":   {ask{Text: "?", Subjects: []ai.Reference{ai.File(" - ")}}, "subjects.node"},
		"reference without type": {ask{Text: "?", References: []ai.Reference{{Node: nodeID}}}, "references.type"},
	} {
		err := stub.Err(unreachable().Turns.Send(t.Context(), share, threadID, tc.q))
		if got := refusedField(err); got != cmp.Or(tc.field, errReached.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := stub.Err(unreachable().Turns.Send(t.Context(), share, threadID, ask{Text: strings.Repeat("é", 32_001)}))
	want := &api.InputError{
		Op: "ai.Turns.Send", Field: "Question.Text", Wire: "question",
		Rule: "must be 1 to 32,000 characters", Got: "32001 characters",
	}
	if got, _ := errors.AsType[*api.InputError](err); got == nil || *got != *want {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestInvalidInputIsRejected(t *testing.T) {
	t.Parallel()
	ctx, room, share, long := t.Context(), room, share, strings.Repeat("n", 101)
	q, s := ai.Question{Text: "?"}, unreachable()
	read := func(token string, file int, part *api.Range) error {
		return stub.Err(s.ReadExport(ctx, api.NewSecret(token), file, part))
	}
	refused := map[string][]error{
		"in": {
			stub.Err(s.Turns.Send(ctx, api.Org("1"), threadID, q)), stub.Err(s.Threads.List(ctx, api.Share(""), nil)),
			stub.Last(s.Turns.Stream(ctx, api.User("1"), threadID, turnID, nil)),
		},
		"thread": {stub.Err(s.Threads.Get(ctx, room, "-"))},
		"turn": {
			stub.Err(s.Turns.Get(ctx, room, threadID, "")), stub.Last(s.Turns.Stream(ctx, room, threadID, "", nil)),
			stub.Err(s.Turns.Wait(ctx, room, threadID, "")),
		},
		"kind": {stub.Err(s.Threads.Create(ctx, room, newThread{Question: q, Kind: "all"}))},
		"name": {
			stub.Err(s.Threads.Create(ctx, room, newThread{Question: q, Name: long})),
			stub.Err(s.Threads.Update(ctx, room, threadID, long)), stub.Err(s.Threads.Update(ctx, room, threadID, " ")),
		},
		"limit":  {stub.Err(s.Threads.List(ctx, room, &ai.ThreadListOptions{Limit: -1}))},
		"offset": {stub.Err(s.Turns.List(ctx, room, threadID, &ai.TurnListOptions{Offset: -1}))},
		"files": {
			stub.Err(s.ExportFiles(ctx, share, nil)), stub.Err(s.ExportFiles(ctx, share, make([]api.OpaqueID, 26))),
			stub.Err(s.ExportFiles(ctx, share, make([]api.OpaqueID, 1))),
		},
		"file":  {read("t", -1, nil)},
		"token": {read("", 0, nil)},
		"part":  {read("t", 0, &api.Range{Offset: -1})},
	}
	stub.Refused(t, refused)
	for field, errs := range refused {
		for _, err := range errs {
			if _, ok := errors.AsType[*ai.TurnError](err); ok {
				t.Errorf("%s: the error is a TurnError: %v", field, err)
			}
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID   = api.ID("4012345678901234567")
	shareID  = api.ID("5012345678901234567")
	threadID = api.OpaqueID("9iacg-qx2wz-7fm3n-e5tbd-a1kcv-4h6m")
	turnID   = api.OpaqueID("9qk2t-mz4xw-1rb7c-y5nfp-d3hgs-8j0p")
	nodeID   = api.OpaqueID("2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s")
)

var room, share = api.Workspace(roomID), api.Share(shareID)

// scripted responds to calls in order, repeats the last response, and records
// the requests.
type scripted struct {
	answers []any // a string, an error, or an opening

	mu      sync.Mutex
	sent    []*api.Request
	options []api.CallOptions
}

func script(answers ...any) *scripted { return &scripted{answers: answers} }

func (s *scripted) take(r *api.Request, opts []api.CallOption) any {
	if err := r.Path.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent, s.options = append(s.sent, r), append(s.options, api.Resolve(opts))
	return s.answers[min(len(s.sent), len(s.answers))-1]
}

func (s *scripted) Call(_ context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	switch a := s.take(r, opts).(type) {
	case string:
		return json.Unmarshal([]byte(a), out)
	case error:
		return a
	default:
		return fmt.Errorf("a call of %s got a %T", r.Op, a)
	}
}

func (s *scripted) Open(_ context.Context, r *api.Request, opts ...api.CallOption) (*http.Response, error) {
	switch a := s.take(r, opts).(type) {
	case opening:
		return &http.Response{
			StatusCode: http.StatusOK, ContentLength: int64(len(a.body)), Body: io.NopCloser(strings.NewReader(a.body)),
			Header: http.Header{"Content-Type": {a.kind}},
		}, nil
	case error:
		return nil, a
	default:
		return nil, fmt.Errorf("an opening of %s got a %T", r.Op, a)
	}
}

type opening struct{ kind, body string }

var errReached = errors.New("the call was sent")

func unreachable() *ai.Service { return ai.New(script(errReached)) }

// refusedField returns the argument that an InputError names, as on the wire or else in
// Go. It returns the text of a TurnError, which means that the call was made.
func refusedField(err error) string {
	if _, ok := errors.AsType[*ai.TurnError](err); ok {
		return fmt.Sprint(err)
	}
	if e, ok := errors.AsType[*api.InputError](err); ok && errors.Is(err, api.ErrInvalid) {
		return cmp.Or(e.Wire, e.Field)
	}
	return fmt.Sprint(err)
}

func formText(t *testing.T, text string) url.Values {
	t.Helper()
	form, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// stream returns the events of a scripted stream, which must end without an error.
func (s *scripted) stream(t *testing.T, opts ...api.CallOption) (all []*ai.StreamEvent) {
	t.Helper()
	for e, err := range ai.New(s).Turns.Stream(t.Context(), room, threadID, turnID, nil, opts...) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func text(body string) opening { return opening{"text/event-stream", body} }

const (
	running  = `{"message":{"status":"running"}}`
	complete = `{"message":{"status":"complete"}}`
	activity = `{"lastactivity":"2026-09-01 10:00:00.000000 UTC"}`
)

// The forms of a turn that internal/contract does not test.
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
		t.Error("a response without a turn is not an error")
	}
}

// A response without a turn is an error with the key. A new thread and its turn
// may be sent together or apart.
func TestResponsesToQuestions(t *testing.T) {
	t.Parallel()
	q := ai.Question{Text: "?", IdempotencyKey: " k "}
	made := func(name string, seq int, status ai.TurnStatus) *ai.ThreadTurns {
		turn := &ai.Turn{ID: "y", ThreadID: "x", Seq: seq, Status: status, IdempotencyKey: "k"}
		return &ai.ThreadTurns{Thread: &ai.Thread{ID: "x", Name: name}, Turns: []*ai.Turn{turn}, Count: 1}
	}
	for answer, want := range map[string]*ai.ThreadTurns{
		`{"result":true}`: nil,
		`{"thread":{"thread_id":"x","name":"n"},"turn":{"turn_id":"y"}}`:            made("n", 0, ""),
		`{"thread":{"chat_id":"x"},"turn":{"id":"y"}}`:                              made("", 0, ""),
		`{"result":"yes","turn_id":"y","thread_id":"x","seq":1,"status":"pending"}`: made("", 1, "pending"),
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

func TestResponsesToCancel(t *testing.T) {
	t.Parallel()
	for answer, ok := range map[string]bool{`{}`: true, `{"success":"yes"}`: true, `{"success":false}`: false} {
		if err := ai.New(script(answer)).Turns.Cancel(t.Context(), share, threadID); (err == nil) != ok {
			t.Errorf("%s: got %v", answer, err)
		}
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

// Files are downloaded by their links, whole or in part.
func TestFiles(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T, o *office) {
		const lease = "The lease of Dock 4."
		file := o.AddNode(seed.Node{Profile: string(o.room.ID), Name: "lease.txt", Content: lease})
		markdown, err := o.client.AI.ExportFiles(t.Context(), o.room, []api.OpaqueID{api.OpaqueID(file.ID)})
		if err != nil {
			t.Fatal(err)
		}
		_, link, _ := strings.Cut(markdown.Reveal(), "/ai/share/")
		token, _, _ := strings.Cut(link, "?")
		parts := map[string]*api.Range{lease: nil, "lease": {Offset: 4, Length: 5}, "Dock 4.": {Offset: 13}}
		for want, part := range parts {
			d, err := o.client.AI.ReadExport(t.Context(), api.NewSecret(token), 0, part)
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

// Of several invalid fields the first is named, at every call.
func TestFirstInvalidFieldIsNamed(t *testing.T) {
	t.Parallel()
	ctx, s, bad := t.Context(), unreachable(), []ai.Reference{{Type: "note", Node: "2"}}
	for range 30 {
		stub.Refused(t, map[string][]error{
			"limit":           {stub.Err(s.Threads.List(ctx, room, &ai.ThreadListOptions{Limit: -1, Offset: -1}))},
			"references.type": {stub.Err(s.Turns.Send(ctx, room, threadID, ask{Text: "?", References: bad, Subjects: bad}))},
		})
	}
}
