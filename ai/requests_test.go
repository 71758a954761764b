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
	"github.com/fastio-go/fastio/internal/stub"
)

type (
	svc       = *ai.Service
	newThread = ai.CreateThreadRequest
	ask       = ai.Question
)

// What internal/contract does not send: options that are left out, a rename, IDs
// with hyphens.
func TestForms(t *testing.T) {
	t.Parallel()
	const answer = `{"node":{"id":"n"},"content":"# Hi","turn":{"id":"y"}}`
	plain := ask{Text: "?", IdempotencyKey: "k", Uploads: []json.RawMessage{}}
	for name, tc := range map[string]struct {
		call        func(svc) error
		query, form url.Values
	}{
		"note renamed": {
			func(s svc) error {
				return stub.Err(s.Notes.Update(t.Context(), roomID, nodeID, ai.UpdateNoteRequest{Name: "b.md"}))
			},
			nil,
			url.Values{"name": {"b.md"}},
		},
		"note changed if it has a version": {
			func(s svc) error {
				update := ai.UpdateNoteRequest{Content: "a", IfVersionID: "3-V1"}
				return stub.Err(s.Notes.Update(t.Context(), roomID, nodeID, update))
			},
			nil,
			url.Values{"content": {"a"}, "if_version_id": {"3v1"}},
		},
		"version of a note": {
			func(s svc) error { return stub.Err(s.Notes.Get(t.Context(), share, nodeID, "3-V1")) },
			url.Values{"version_id": {"3v1"}},
			nil,
		},
		"question without files": {
			func(s svc) error { return stub.Err(s.Turns.Send(t.Context(), share, threadID, plain)) },
			nil,
			url.Values{"question": {"?"}, "idempotency_key": {"k"}},
		},
		"title without a context": {
			func(s svc) error { return stub.Err(s.Shares.AutoTitle(t.Context(), shareID, nil)) }, nil, url.Values{},
		},
	} {
		c := script(answer)
		if err := tc.call(ai.New(c)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := gocmp.Diff(
			[]url.Values{tc.query, tc.form}, []url.Values{c.last().Query, formOf(t, c.last())},
		); diff != "" {
			t.Errorf("%s: query and form (-want +got):\n%s", name, diff)
		}
	}
}

// All that a question can hold is sent as the platform reads it.
func TestQuestionFields(t *testing.T) {
	t.Parallel()
	raw := func(all ...string) (list []json.RawMessage) {
		for _, text := range all {
			list = append(list, json.RawMessage(text))
		}
		return list
	}
	c := script(`{"result":true,"current_api_version":"1.0","turn_id":"y","status":"pending"}`)
	turn, err := ai.New(c).Turns.Send(t.Context(), room, threadID, ai.Question{
		Text:         " Which lease\nends first? ",
		References:   []ai.Reference{ai.Folder("2-F1"), ai.FileVersion("2-A1", "3-V1")},
		Subjects:     []ai.Reference{ai.File("2-A2")},
		ContentParts: raw(`{"type":"text","text":"a"}`),
		Uploads:      raw(`{"id":1}`, `2`),
		View:         json.RawMessage(`{"folder":"root"}`),
		Activity:     raw(`["opened"]`),
		RoleInOrg:    "Clerk", Effort: ai.EffortHigh, IdempotencyKey: " k1 ",
	})
	if err != nil {
		t.Fatal(err)
	}
	made := &ai.Turn{ID: "y", ThreadID: threadID, Status: ai.TurnStatusPending, IdempotencyKey: "k1"}
	if diff := gocmp.Diff(made, turn); diff != "" {
		t.Errorf("the turn (-want +got):\n%s", diff)
	}
	want := url.Values{
		"question": {" Which lease\nends first? "},
		"references": {`[{"type":"folder","id":"2f1","folder_details":{"node_id":"2f1"}},` +
			`{"type":"file","id":"2a1","file_details":{"node_id":"2a1","version_id":"3v1"}}]`},
		"subjects":        {`[{"type":"file","id":"2a2","file_details":{"node_id":"2a2"}}]`},
		"content_parts":   {`[{"type":"text","text":"a"}]`},
		"uploads":         {`[{"id":1},2]`},
		"view":            {`{"folder":"root"}`},
		"activity":        {`[["opened"]]`},
		"role_in_org":     {"Clerk"},
		"effort":          {"high"},
		"idempotency_key": {"k1"},
	}
	if diff := gocmp.Diff(want, formOf(t, c.last())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A deletion whose answer was lost is a success the second time, and no other
// refusal is.
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

// Questions that the platform would refuse are not sent, and longest ones are.
func TestQuestionLimits(t *testing.T) {
	t.Parallel()
	files := func(n int) []ai.Reference { return references(n, ai.File) }
	folders := func(n int) []ai.Reference { return references(n, ai.Folder) }
	ten := slices.Repeat(files(10), 10)
	raw := func(text string) []json.RawMessage { return []json.RawMessage{json.RawMessage(text)} }
	for name, tc := range map[string]struct {
		q     ask
		field string // "" is sent
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
		"reference without ID":   {ask{Text: "?", Subjects: []ai.Reference{ai.File(" - ")}}, "subjects"},
		"reference without type": {ask{Text: "?", References: []ai.Reference{{Node: nodeID}}}, "references"},
	} {
		err := stub.Err(unreachable().Turns.Send(t.Context(), share, threadID, tc.q))
		if got := refusedField(err); got != cmp.Or(tc.field, errReached.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := stub.Err(unreachable().Turns.Send(t.Context(), share, threadID, ask{Text: strings.Repeat("é", 32_001)}))
	want := &api.InputError{
		Op: "ai.Turns.Send", Field: "question", Rule: "must be 1 to 32,000 characters", Got: "32001 characters",
	}
	if got, _ := errors.AsType[*api.InputError](err); got == nil || *got != *want {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	ctx, room, share, long := t.Context(), room, share, strings.Repeat("n", 101)
	q, s := ai.Question{Text: "?"}, unreachable()
	created := func(n ai.CreateNoteRequest) error { return stub.Err(s.Notes.Create(ctx, roomID, api.Root, n)) }
	updated := func(n ai.UpdateNoteRequest) error { return stub.Err(s.Notes.Update(ctx, roomID, nodeID, n)) }
	read := func(token string, file int, part *api.Range) error {
		return stub.Err(s.Files.Read(ctx, api.NewSecret(token), file, part))
	}
	refused := map[string][]error{
		"scope": {
			stub.Err(s.Turns.Send(ctx, api.Org("1"), threadID, q)), stub.Err(s.Threads.List(ctx, api.Share(""), nil)),
			stub.Last(s.Turns.Stream(ctx, api.User("1"), threadID, turnID, nil)),
		},
		"chat_id": {stub.Err(s.Threads.Get(ctx, room, "-"))},
		"message_id": {
			stub.Err(s.Turns.Get(ctx, room, threadID, "")), stub.Last(s.Turns.Stream(ctx, room, threadID, "", nil)),
			stub.Err(s.Turns.Wait(ctx, room, threadID, "")),
		},
		"kind": {stub.Err(s.Threads.Create(ctx, room, newThread{Question: q, Kind: "all"}))},
		"name": {
			stub.Err(s.Threads.Create(ctx, room, newThread{Question: q, Name: long})),
			stub.Err(s.Threads.Update(ctx, room, threadID, long)), stub.Err(s.Threads.Update(ctx, room, threadID, " ")),
			created(ai.CreateNoteRequest{Name: "a.txt", Content: "a"}), updated(ai.UpdateNoteRequest{Name: "a"}),
		},
		"limit":  {stub.Err(s.Threads.List(ctx, room, &ai.ThreadListOptions{Limit: -1}))},
		"offset": {stub.Err(s.Turns.List(ctx, room, threadID, -1))},
		"files": {
			stub.Err(s.Files.Share(ctx, share, nil)), stub.Err(s.Files.Share(ctx, share, make([]api.OpaqueID, 26))),
			stub.Err(s.Files.Share(ctx, share, make([]api.OpaqueID, 1))),
		},
		"file":  {read("t", -1, nil)},
		"token": {read("", 0, nil)},
		"range": {read("t", 0, &api.Range{Offset: -1})},
		"content": {
			created(ai.CreateNoteRequest{Name: "a.md"}), updated(ai.UpdateNoteRequest{IfVersionID: "v"}),
			updated(ai.UpdateNoteRequest{Content: strings.Repeat("x", 100<<10+1)}),
			updated(ai.UpdateNoteRequest{Content: " \n"}),
		},
	}
	stub.Refused(t, refused)
	for field, errs := range refused {
		for _, err := range errs {
			if _, ok := errors.AsType[*ai.TurnError](err); ok {
				t.Errorf("%s: a turn is to blame for %v", field, err)
			}
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID   = api.ProfileID("4012345678901234567")
	shareID  = api.ProfileID("5012345678901234567")
	threadID = api.OpaqueID("9iacg-qx2wz-7fm3n-e5tbd-a1kcv-4h6m")
	turnID   = api.OpaqueID("9qk2t-mz4xw-1rb7c-y5nfp-d3hgs-8j0p")
	nodeID   = api.OpaqueID("2rii2-9kqzf-b0x4v-7mwpd-c3hty-8n1s")
)

var room, share = api.Workspace(roomID), api.Share(shareID)

// scripted answers calls one after the other, the last answer again and again,
// and keeps the requests.
type scripted struct {
	answers []any // a string, an error, or an opening

	mu   sync.Mutex
	sent []*api.Request
}

func script(answers ...any) *scripted { return &scripted{answers: answers} }

func (s *scripted) take(r *api.Request) any {
	if err := r.Path.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, r)
	return s.answers[min(len(s.sent), len(s.answers))-1]
}

func (s *scripted) Call(_ context.Context, r *api.Request, out any) error {
	switch a := s.take(r).(type) {
	case string:
		return json.Unmarshal([]byte(a), out)
	case error:
		return a
	default:
		return fmt.Errorf("a call of %s got a %T", r.Op, a)
	}
}

func (s *scripted) Open(_ context.Context, r *api.Request) (*http.Response, error) {
	switch a := s.take(r).(type) {
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

// opening is an answer with a body of some kind.
type opening struct{ kind, body string }

// last returns the request that was sent last.
func (s *scripted) last() *api.Request { return s.sent[len(s.sent)-1] }

var errReached = errors.New("the call was sent")

// unreachable is where nothing may arrive.
func unreachable() *ai.Service { return ai.New(script(errReached)) }

// refusedField returns the field an error blames, or the error, which no turn is
// to blame for.
func refusedField(err error) string {
	if _, ok := errors.AsType[*ai.TurnError](err); ok {
		return fmt.Sprint(err)
	}
	if e, ok := errors.AsType[*api.InputError](err); ok && errors.Is(err, api.ErrInvalid) {
		return e.Field
	}
	return fmt.Sprint(err)
}

// formOf returns the body of a request.
func formOf(t *testing.T, r *api.Request) url.Values {
	t.Helper()
	if r.Body == nil {
		return nil
	}
	kind, content, err := api.Encode(r.Body)
	if err != nil || kind != "application/x-www-form-urlencoded" {
		t.Fatalf("the body of %s is %q, %v", r.Op, kind, err)
	}
	return formText(t, string(content))
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

// text is an opening of an event stream.
func text(body string) opening { return opening{"text/event-stream", body} }

const (
	running  = `{"message":{"status":"running"}}`
	complete = `{"message":{"status":"complete"}}`
	activity = `{"lastactivity":"2026-09-01 10:00:00.000000 UTC"}`
)
