package ai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
)

type (
	ctx = context.Context
	svc = *ai.Service
)

// Every method sends what endpoints.tsv and the platform's documents say, to a
// workspace as to a share.
func TestRequests(t *testing.T) {
	t.Parallel()
	const (
		inRoom, inShare = "/current/workspace/4012345678901234567", "/current/share/5012345678901234567"
		thread          = `{"result":true,"thread":{"thread_id":"x"},"turn":{"turn_id":"y"},"turns":{"items":[]}}`
		turn            = `{"result":true,"message":{"turn_id":"y","status":"complete"}}`
		node            = `{"result":true,"node":{"id":"n"},"content":"# Hi","note":{"id":"n"}}`
		key             = "k"
	)
	q := ai.Question{Text: "Who?", IdempotencyKey: key}
	for name, tc := range map[string]struct {
		answer any
		call   func(ctx, svc, api.Profile) error
		op     string
		method string
		path   string // after the scope
		query  url.Values
		form   url.Values // nil for no body
		replay api.Replay
		only   api.ProfileKind // that it is for; "" is both
	}{
		"a thread is begun with all fields": {
			thread, func(ctx ctx, s svc, p api.Profile) error {
				return second(s.Threads.Create(ctx, p, ai.CreateThreadRequest{Question: q, Name: "N", Kind: ai.ThreadKindAgent, Privacy: ai.VisibilityPrivate}))
			},
			"ai.Threads.Create", "POST", "/ai/agent/", nil,
			url.Values{"question": {"Who?"}, "idempotency_key": {key}, "name": {"N"}, "kind": {"agent"}, "privacy": {"private"}},
			api.ReplayKeyed, "",
		},
		"threads are listed as asked": {
			`{"chats":{"items":[]}}`, func(ctx ctx, s svc, p api.Profile) error {
				return second(s.Threads.List(ctx, p, &ai.ThreadListOptions{Kind: ai.ThreadKindAll, Limit: 5, Offset: 10}))
			},
			"ai.Threads.List", "GET", "/ai/agent/list/",
			url.Values{"kind": {"all"}, "limit": {"5"}, "offset": {"10"}},
			nil, api.ReplaySafe, "",
		},
		"a note is renamed": {
			node, func(ctx ctx, s svc, p api.Profile) error {
				return second(s.Notes.Update(ctx, p.ID, nodeID, ai.UpdateNoteRequest{Name: "b.md"}))
			},
			"ai.Notes.Update", "POST", "/storage/" + nodePath + "/updatenote/", nil,
			url.Values{"name": {"b.md"}},
			api.ReplayOnce, api.ProfileKindWorkspace,
		},
		"a version of a note is read with its node": {
			node, func(ctx ctx, s svc, p api.Profile) error { return second(s.Notes.Get(ctx, p, nodeID, "3-V1", nil)) },
			"ai.Notes.Get", "GET", "/storage/" + nodePath + "/readnote/",
			url.Values{"version_id": {"3v1"}},
			nil, api.ReplaySafe, "",
		},
		"a note is read": {
			opening{"text/markdown", "# Hi"},
			func(ctx ctx, s svc, p api.Profile) error {
				return second(s.Notes.Read(ctx, p.ID, nodeID, "3-V1"))
			},
			"ai.Notes.Read", "GET", "/storage/" + nodePath + "/read/",
			url.Values{"version_id": {"3v1"}},
			nil, api.ReplaySafe, api.ProfileKindWorkspace,
		},
	} {
		for prefix, scope := range map[string]api.Profile{inRoom: api.Workspace(roomID), inShare: api.Share(shareID)} {
			if tc.only != "" && tc.only != scope.Kind {
				continue
			}
			c := script(tc.answer)
			if err := tc.call(t.Context(), ai.New(c), scope); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			got := c.last()
			if len(c.sent) != 1 || got.Op != tc.op || got.Method != tc.method || got.Path.String() != prefix+tc.path || got.Replay != tc.replay {
				t.Errorf("%s: %d requests, %s %s %s, replay %d", name, len(c.sent), got.Op, got.Method, got.Path, got.Replay)
			}
			if diff := cmp.Diff(tc.query, got.Query); diff != "" {
				t.Errorf("%s: the query (-want +got):\n%s", name, diff)
			}
			if diff := cmp.Diff(tc.form, formOf(t, got)); diff != "" {
				t.Errorf("%s: the form (-want +got):\n%s", name, diff)
			}
			auth := api.AuthBearer
			if tc.op == "ai.Shares.OGImage" || tc.op == "ai.Notes.Get" && scope.Kind == api.ProfileKindShare {
				auth = api.AuthOptional
			}
			if got.Auth != auth || !got.Password.IsZero() {
				t.Errorf("%s: auth %d, password %q", name, got.Auth, got.Password.Reveal())
			}
		}
	}
}

// All that a question can hold is sent as the platform reads it.
func TestTheFieldsOfAQuestion(t *testing.T) {
	t.Parallel()
	raw := func(all ...string) (list []json.RawMessage) {
		for _, text := range all {
			list = append(list, json.RawMessage(text))
		}
		return list
	}
	c := script(`{"result":true,"current_api_version":"1.0","turn_id":"y","status":"pending"}`)
	turn, err := ai.New(c).Turns.Send(t.Context(), api.Workspace(roomID), threadID, ai.Question{
		Text:         " Which lease\nends first? ",
		References:   []ai.Reference{ai.Folder("2-F1"), ai.FileVersion("2-A1", "3-V1")},
		Subjects:     []ai.Reference{ai.File(nodeID)},
		ContentParts: raw(`{"type":"text","text":"a"}`),
		Uploads:      raw(`{"id":1}`, `2`),
		View:         json.RawMessage(`{"folder":"root"}`),
		Activity:     raw(`["opened"]`),
		RoleInOrg:    "Clerk", Effort: ai.EffortHigh, IdempotencyKey: " k1 ",
	})
	if err != nil {
		t.Fatal(err)
	}
	made := &ai.Turn{ID: "y", ThreadID: threadID, Status: ai.TurnStatusPending, IdempotencyKey: "k1"} // of which the server left out some
	if diff := cmp.Diff(made, turn); diff != "" {
		t.Errorf("the turn (-want +got):\n%s", diff)
	}
	want := url.Values{
		"question":        {" Which lease\nends first? "},
		"references":      {`[{"type":"folder","id":"2f1","folder_details":{"node_id":"2f1"}},{"type":"file","id":"2a1","file_details":{"node_id":"2a1","version_id":"3v1"}}]`},
		"subjects":        {`[{"type":"file","id":"` + nodePath + `","file_details":{"node_id":"` + nodePath + `"}}]`},
		"content_parts":   {`[{"type":"text","text":"a"}]`},
		"uploads":         {`[{"id":1},2]`},
		"view":            {`{"folder":"root"}`},
		"activity":        {`[["opened"]]`},
		"role_in_org":     {"Clerk"},
		"effort":          {"high"},
		"idempotency_key": {"k1"},
	}
	if diff := cmp.Diff(want, formOf(t, c.last())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A deletion whose answer was lost is a success the second time, and no other
// refusal is.
func TestDeletions(t *testing.T) {
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
		if err := ai.New(script(&tc.err)).Threads.Delete(t.Context(), api.Workspace(roomID), threadID); (err == nil) != tc.gone {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func files(n int) []ai.Reference {
	all := make([]ai.Reference, n)
	for i := range all {
		all[i] = ai.File(api.OpaqueID("2f" + strings.Repeat("x", i)))
	}
	return all
}

func folders(n int) []ai.Reference {
	all := make([]ai.Reference, n)
	for i := range all {
		all[i] = ai.Folder(api.OpaqueID("2d" + strings.Repeat("x", i)))
	}
	return all
}

// What the platform would refuse does not leave, and what it takes does.
func TestQuestionLimits(t *testing.T) {
	t.Parallel()
	times := func(n int, list []ai.Reference) (all []ai.Reference) {
		for range n {
			all = append(all, list...)
		}
		return all
	}
	for name, tc := range map[string]struct {
		q     ai.Question
		field string // "" is taken
	}{
		"a blank one":                     {ai.Question{Text: " \n"}, "question"},
		"one of 32,000 characters":        {ai.Question{Text: strings.Repeat("é", 32_000)}, ""},
		"one of 32,001":                   {ai.Question{Text: strings.Repeat("é", 32_001)}, "question"},
		"one that is no text":             {ai.Question{Text: "\xff"}, "question"},
		"one in parts":                    {ai.Question{ContentParts: []json.RawMessage{json.RawMessage(`{"type":"text"}`)}}, ""},
		"parts that are no JSON":          {ai.Question{ContentParts: []json.RawMessage{json.RawMessage(`{`)}}, "content_parts"},
		"a view that is no object":        {ai.Question{Text: "?", View: json.RawMessage(`[]`)}, "view"},
		"a view of nothing":               {ai.Question{Text: "?", View: json.RawMessage(`null`)}, "view"},
		"a key of 64 characters":          {ai.Question{Text: "?", IdempotencyKey: strings.Repeat("k", 64)}, ""},
		"a key of 65":                     {ai.Question{Text: "?", IdempotencyKey: strings.Repeat("k", 65)}, "idempotency_key"},
		"a blank key":                     {ai.Question{Text: "?", IdempotencyKey: "  "}, "idempotency_key"},
		"another effort":                  {ai.Question{Text: "?", Effort: "huge"}, "effort"},
		"a role of 32,001 characters":     {ai.Question{Text: "?", RoleInOrg: strings.Repeat("é", 32_001)}, ""},
		"a role that is not UTF-8":        {ai.Question{Text: "?", RoleInOrg: "\xff"}, "role_in_org"},
		"20 files":                        {ai.Question{Text: "?", References: files(10), Subjects: files(20)}, ""},
		"21 files":                        {ai.Question{Text: "?", References: files(21)}, "references"},
		"21 files with those among parts": {ai.Question{Text: "?", References: files(20), ContentParts: []json.RawMessage{json.RawMessage(`{"type":"file","id":"2zz"}`)}}, "references"},
		"100 things":                      {ai.Question{Text: "?", References: folders(80), Subjects: files(20)}, ""},
		"101 things":                      {ai.Question{Text: "?", References: folders(81), Subjects: files(20)}, "references"},
		"200 occurrences":                 {ai.Question{Text: "?", References: times(10, files(10)), Subjects: times(10, files(10))}, ""},
		"201 occurrences":                 {ai.Question{Text: "?", References: times(10, files(10)), Subjects: append(times(10, files(10)), files(1)...)}, "references"},
		"a reference without ID":          {ai.Question{Text: "?", Subjects: []ai.Reference{ai.File(" - ")}}, "subjects"},
		"a reference of no type":          {ai.Question{Text: "?", References: []ai.Reference{{Node: nodeID}}}, "references"},
	} {
		err := second(unreachable().Turns.Send(t.Context(), api.Share(shareID), threadID, tc.q))
		if got := refusedField(err); tc.field != "" && got != tc.field || tc.field == "" && got != errReached.Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A refusal tells what was counted.
func TestCounts(t *testing.T) {
	t.Parallel()
	for text, got := range map[string]string{" \n": "0 characters", strings.Repeat("é", 32_001): "32001 characters"} {
		err := second(unreachable().Turns.Send(t.Context(), api.Share(shareID), threadID, ai.Question{Text: text}))
		want := &api.InputError{Op: "ai.Turns.Send", Field: "question", Rule: "must be 1 to 32,000 characters", Got: got}
		refusal, _ := errors.AsType[*api.InputError](err)
		if diff := cmp.Diff(want, refusal); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	room, share, long := api.Workspace(roomID), api.Share(shareID), strings.Repeat("n", 256)
	q := ai.Question{Text: "?"}
	for name, tc := range map[string]struct {
		call  func(ctx, svc) error
		field string
	}{
		"another scope":       {func(ctx ctx, s svc) error { return second(s.Turns.Send(ctx, api.Org("1"), threadID, q)) }, "scope"},
		"a scope without ID":  {func(ctx ctx, s svc) error { return second(s.Threads.List(ctx, api.Share(""), nil)) }, "scope"},
		"a blank thread":      {func(ctx ctx, s svc) error { return second(s.Threads.Get(ctx, room, "-")) }, "chat_id"},
		"a blank turn":        {func(ctx ctx, s svc) error { return second(s.Turns.Get(ctx, room, threadID, "")) }, "message_id"},
		"a stream of no turn": {func(ctx ctx, s svc) error { return lastError(s.Turns.Stream(ctx, room, threadID, "", nil)) }, "message_id"},
		"a stream of no scope": {func(ctx ctx, s svc) error {
			return lastError(s.Turns.Stream(ctx, api.User("1"), threadID, turnID, nil))
		}, "scope"},
		"a wait for no turn": {func(ctx ctx, s svc) error { return second(s.Turns.Wait(ctx, room, threadID, "")) }, "message_id"},
		"a thread of all kinds": {func(ctx ctx, s svc) error {
			return second(s.Threads.Create(ctx, room, ai.CreateThreadRequest{Question: q, Kind: "all"}))
		}, "kind"},
		"a long name": {func(ctx ctx, s svc) error {
			return second(s.Threads.Create(ctx, room, ai.CreateThreadRequest{Question: q, Name: long[:101]}))
		}, "name"},
		"a long new name":   {func(ctx ctx, s svc) error { return second(s.Threads.Update(ctx, room, threadID, long[:101])) }, "name"},
		"no new name":       {func(ctx ctx, s svc) error { return second(s.Threads.Update(ctx, room, threadID, " ")) }, "name"},
		"a negative limit":  {func(ctx ctx, s svc) error { return second(s.Threads.List(ctx, room, &ai.ThreadListOptions{Limit: -1})) }, "limit"},
		"a negative offset": {func(ctx ctx, s svc) error { return second(s.Turns.List(ctx, room, threadID, -1)) }, "offset"},
		"no files":          {func(ctx ctx, s svc) error { return second(s.Files.Share(ctx, share, nil)) }, "files"},
		"26 files":          {func(ctx ctx, s svc) error { return second(s.Files.Share(ctx, share, make([]api.OpaqueID, 26))) }, "files"},
		"a blank file":      {func(ctx ctx, s svc) error { return second(s.Files.Share(ctx, share, make([]api.OpaqueID, 1))) }, "files"},
		"a negative file":   {func(ctx ctx, s svc) error { return second(s.Files.Read(ctx, api.NewSecret("t"), -1, nil)) }, "file"},
		"a blank token":     {func(ctx ctx, s svc) error { return second(s.Files.Read(ctx, api.Secret{}, 0, nil)) }, "token"},
		"a negative range": {func(ctx ctx, s svc) error {
			return second(s.Files.Read(ctx, api.NewSecret("t"), 0, &api.Range{Offset: -1}))
		}, "range"},
		"a note that is no .md": {func(ctx ctx, s svc) error {
			return second(s.Notes.Create(ctx, roomID, api.Root, ai.CreateNoteRequest{Name: "a.txt", Content: "a"}))
		}, "name"},
		"a blank note": {func(ctx ctx, s svc) error {
			return second(s.Notes.Create(ctx, roomID, api.Root, ai.CreateNoteRequest{Name: "a.md"}))
		}, "content"},
		"a note that is too long": {func(ctx ctx, s svc) error {
			return second(s.Notes.Update(ctx, roomID, nodeID, ai.UpdateNoteRequest{Content: strings.Repeat("x", 100<<10+1)}))
		}, "content"},
		"a change of nothing": {func(ctx ctx, s svc) error {
			return second(s.Notes.Update(ctx, roomID, nodeID, ai.UpdateNoteRequest{IfVersionID: "v"}))
		}, "content"},
		"a change to blanks": {func(ctx ctx, s svc) error {
			return second(s.Notes.Update(ctx, roomID, nodeID, ai.UpdateNoteRequest{Content: " \n"}))
		}, "content"},
		"a change to a name that is no .md": {func(ctx ctx, s svc) error {
			return second(s.Notes.Update(ctx, roomID, nodeID, ai.UpdateNoteRequest{Name: "a"}))
		}, "name"},
		"a password of a workspace": {func(ctx ctx, s svc) error {
			return second(s.Notes.Get(ctx, room, nodeID, "", &ai.GetNoteOptions{Password: api.NewSecret("p")}))
		}, "password"},
		"a wait for markdown": {func(ctx ctx, s svc) error {
			return second(s.Turns.Wait(ctx, room, threadID, turnID, api.Markdown(new(string))))
		}, "output"},
		"a stream of markdown": {func(ctx ctx, s svc) error {
			return lastError(s.Turns.Stream(ctx, room, threadID, turnID, nil, api.Markdown(new(string))))
		}, "output"},
		"a question for markdown": {func(ctx ctx, s svc) error {
			return second(s.Ask(ctx, room, q, nil, api.Markdown(new(string))))
		}, "output"},
		"markdown in place of a file": {func(ctx ctx, s svc) error {
			return second(s.Notes.Read(ctx, roomID, nodeID, "", api.Markdown(new(string))))
		}, "output"},
	} {
		if got := refusedField(tc.call(t.Context(), unreachable())); got != tc.field {
			t.Errorf("%s: %s", name, got)
		}
	}
}
