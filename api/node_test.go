package api_test

import (
	stdjson "encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
)

const wholeNode = `{
	"id": "2rii2-9kqzf", "name": "plan.pdf", "type": "file", "parent_id": "root", "size": 1048576,
	"mimetype": "application/pdf", "version": "3abcd", "created": "2026-01-02 03:04:05 UTC", "updated": null,
	"previews": {"thumbnail": {"state": "ready", "width": 64}, "pdf": "in progress"},
	"ai": {"state": "inprogress", "attach": true, "summary": true, "model": 3},
	"summary": {"title": "Plan", "short": "A plan.", "long": "A plan of the mill.", "category": "plans"},
	"metadata_facts": {
		"count": 2, "total": 3, "is_truncated": true, "object_id": "2rii2",
		"items": [
			{"name": "total", "value": 12.50, "declared_type": "float", "stored_type": "string", "source": "ai",
			 "confidence": "high", "updated": "2026-01-02 03:04:05.5 UTC", "unit": "EUR"},
			{"field": "note", "value": "", "source": "user", "confidence": null, "rationale": "cleared"}
		]
	},
	"starred": [1, 2]
}`

func TestNodeJSON(t *testing.T) {
	t.Parallel()
	want := api.Node{
		ID: "2rii2-9kqzf", Name: "plan.pdf", Type: api.NodeTypeFile, ParentID: api.Root, Size: 1 << 20,
		MIMEType: "application/pdf", Version: "3abcd", Created: utc(2026, 1, 2, 3, 4, 5, 0),
		Previews: api.Map[api.Preview]{
			"thumbnail": {State: api.PreviewStateReady, Ready: true, Extra: map[string]stdjson.RawMessage{"width": stdjson.RawMessage("64")}},
			"pdf":       {State: api.PreviewStateInProgress},
		},
		AI: api.NodeAI{
			State: api.AIStateInProgress, Attach: true, Summary: true,
			Extra: map[string]stdjson.RawMessage{"model": stdjson.RawMessage("3")},
		},
		Summary: &api.NodeSummary{
			Title: "Plan", Short: "A plan.", Long: "A plan of the mill.",
			Extra: map[string]stdjson.RawMessage{"category": stdjson.RawMessage(`"plans"`)},
		},
		Facts: &api.Facts{
			Count: 2, Total: 3, IsTruncated: true,
			Items: []api.Fact{
				{
					Name: "total", Value: stdjson.RawMessage("12.50"), DeclaredType: api.FactTypeFloat, StoredType: api.FactTypeString,
					Source: api.FactSourceAI, Confidence: api.FactConfidenceHigh, Updated: utc(2026, 1, 2, 3, 4, 5, 500000000),
					Extra: map[string]stdjson.RawMessage{"unit": stdjson.RawMessage(`"EUR"`)},
				},
				{Name: "note", Value: stdjson.RawMessage(`""`), Source: api.FactSourceUser, Rationale: "cleared"},
			},
			Extra: map[string]stdjson.RawMessage{"object_id": stdjson.RawMessage(`"2rii2"`)},
		},
		Extra: map[string]stdjson.RawMessage{"starred": stdjson.RawMessage("[1, 2]")},
	}
	for name, codec := range codecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got, again api.Node
			if err := codec.unmarshal([]byte(wholeNode), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			out, err := codec.marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if err := codec.unmarshal(out, &again); err != nil {
				t.Fatal(err)
			}
			sameText := cmp.Transformer("text", func(m stdjson.RawMessage) string {
				if string(m) == "[1,2]" {
					return "[1, 2]"
				}
				return string(m)
			})
			if diff := cmp.Diff(want, again, sameText); diff != "" {
				t.Errorf("written as %s and read again (-want +got):\n%s", out, diff)
			}
		})
	}
}

// The form of a node seen on the live service, at full output.
func TestNodeReadsTheLiveForm(t *testing.T) {
	t.Parallel()
	const live = `{
		"id": "2hz8q-4n1vk-7r5t3-wx9mc-d6bfj-0pys", "type": "file", "name": "Q4.pdf", "parent": "root", "mimetype": "application/pdf",
		"size": 2048, "modified": "2026-05-02 10:00:00 UTC", "created": "2026-05-01 10:00:00 UTC", "version": "3abc",
		"summary": {"title": "Q4", "short": "Results.", "long": "Results of the quarter."},
		"previews": {"thumbnail": {"state": "ready"}}, "ai": {"state": "ready", "attach": true, "summary": true},
		"origin": {"type": "chunked"}, "lock_info": null, "file_attributes": [], "hash": "00", "hash_algo": "sha256"
	}`
	want := api.Node{
		ID: "2hz8q-4n1vk-7r5t3-wx9mc-d6bfj-0pys", Type: api.NodeTypeFile, Name: "Q4.pdf", ParentID: api.Root, MIMEType: "application/pdf",
		Size: 2048, Updated: utc(2026, 5, 2, 10, 0, 0, 0), Created: utc(2026, 5, 1, 10, 0, 0, 0), Version: "3abc",
		Summary:  &api.NodeSummary{Title: "Q4", Short: "Results.", Long: "Results of the quarter."},
		Previews: api.Map[api.Preview]{"thumbnail": {State: api.PreviewStateReady, Ready: true}},
		AI:       api.NodeAI{State: api.AIStateReady, Attach: true, Summary: true},
	}
	for name, codec := range codecs() {
		var got api.Node
		if err := codec.unmarshal([]byte(live), &got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, member := range []string{"origin", "lock_info", "file_attributes", "hash", "hash_algo"} {
			if got.Extra[member] == nil {
				t.Errorf("%s: Extra has no %s", name, member)
			}
		}
		got.Extra = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNodeReads(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want api.Node
	}{
		"the parent under its other key":  {`{"parent":"trash"}`, api.Node{ParentID: api.Trash}},
		"parent_id before parent":         {`{"parent":"root","parent_id":"trash"}`, api.Node{ParentID: api.Trash}},
		"the state under its other key":   {`{"ai_state":"indexed"}`, api.Node{AI: api.NodeAI{State: api.AIStateIndexed}}},
		"the state from its block":        {`{"ai_state":"failed","ai":{"state":"ready"}}`, api.Node{AI: api.NodeAI{State: api.AIStateReady}}},
		"a state newer than we":           {`{"ai":{"state":"dreaming"}}`, api.Node{AI: api.NodeAI{State: "dreaming"}}},
		"modified":                        {`{"modified":"2026-01-02 03:04:05 UTC"}`, api.Node{Updated: utc(2026, 1, 2, 3, 4, 5, 0)}},
		"modified after null":             {`{"updated":null,"modified":"2026-01-02 03:04:05 UTC"}`, api.Node{Updated: utc(2026, 1, 2, 3, 4, 5, 0)}},
		"updated before modified":         {`{"modified":"2027-01-02 03:04:05 UTC","updated":"2026-01-02 03:04:05 UTC"}`, api.Node{Updated: utc(2026, 1, 2, 3, 4, 5, 0)}},
		"a summary of the AI as text":     {`{"ai":{"summary":"A plan."}}`, api.Node{AI: api.NodeAI{Summary: true}}},
		"no summary of the AI as text":    {`{"ai":{"summary":"no"}}`, api.Node{}},
		"no summary of the AI":            {`{"ai":{"summary":null},"summary":null}`, api.Node{}},
		"a summary that is a text":        {`{"summary":"A plan."}`, api.Node{Summary: &api.NodeSummary{Long: "A plan."}}},
		"a summary that is an empty list": {`{"summary":[]}`, api.Node{Summary: &api.NodeSummary{}}},
		"previews at terse output": {
			`{"previews":{"pdf":{"ready":true},"image":{"ready":false}}}`,
			api.Node{Previews: api.Map[api.Preview]{"pdf": {State: api.PreviewStateReady, Ready: true}, "image": {}}},
		},
		"a preview that is not ready":       {`{"previews":{"pdf":{"state":"in progress","ready":true}}}`, api.Node{Previews: api.Map[api.Preview]{"pdf": {State: api.PreviewStateInProgress}}}},
		"no previews":                       {`{"previews":[]}`, api.Node{}},
		"facts in one line":                 {`{"metadata_facts":{"count":1,"fields":"total: 5"}}`, api.Node{Facts: &api.Facts{Count: 1, Fields: "total: 5"}}},
		"nulls":                             {`{"id":null,"ai":null,"ai_state":null,"metadata_facts":null,"previews":null,"created":null,"size":null}`, api.Node{}},
		"a null fact":                       {`{"metadata_facts":{"items":[null,{"field":"a","value":null}]}}`, api.Node{Facts: &api.Facts{Items: []api.Fact{{}, {Name: "a", Value: stdjson.RawMessage("null")}}}}},
		"null":                              {`null`, api.Node{}},
		"nothing":                           {`{}`, api.Node{}},
		"a preview that is null":            {`{"previews":{"pdf":null}}`, api.Node{Previews: api.Map[api.Preview]{"pdf": {}}}},
		"a preview with a state we know":    {`{"previews":{"pdf":"not possible"}}`, api.Node{Previews: api.Map[api.Preview]{"pdf": {State: api.PreviewStateNotPossible}}}},
		"the same member twice, last valid": {`{"name":"a","name":"b"}`, api.Node{Name: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got api.Node
			if err := got.UnmarshalJSON([]byte(tc.in)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodeRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"a list":                 `[]`,
		"a number for a state":   `{"ai":{"state":{}}}`,
		"a list of facts":        `{"metadata_facts":{"items":[7]}}`,
		"a word for a timestamp": `{"created":"soon"}`,
		"JSON cut short":         `{"id":"2`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, codec := range codecs() {
				if err := codec.unmarshal([]byte(in), new(api.Node)); err == nil {
					t.Errorf("%s reads %s", name, in)
				}
			}
		})
	}
}

func TestFactJSON(t *testing.T) {
	t.Parallel()
	for name, codec := range codecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got api.Fact
			if err := codec.unmarshal([]byte(`{"field":"due","value":{"a":1},"unit":"EUR"}`), &got); err != nil {
				t.Fatal(err)
			}
			out, err := codec.marshal(got)
			if want := `{"name":"due","value":{"a":1},"unit":"EUR"}`; err != nil || string(out) != want {
				t.Errorf("written as %s, %v; want %s", out, err, want)
			}
		})
	}
}

func TestPreviewJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"ready"`:                      `{"state":"ready","ready":true}`,
		`{"state":"error","width":64}`: `{"state":"error","width":64}`,
		`null`:                         `{}`,
	} {
		for name, codec := range codecs() {
			p := api.Preview{State: "left"}
			if err := codec.unmarshal([]byte(in), &p); err != nil {
				t.Errorf("%s reads %s: %v", name, in, err)
			}
			if out, err := codec.marshal(p); err != nil || string(out) != want {
				t.Errorf("%s writes %s as %s, %v; want %s", name, in, out, err, want)
			}
		}
		p := api.Preview{State: "left"}
		if err := p.UnmarshalJSON([]byte(in)); err != nil {
			t.Errorf("reading %s: %v", in, err)
		}
		if out, err := p.MarshalJSON(); err != nil || string(out) != want {
			t.Errorf("%s is written as %s, %v; want %s", in, out, err, want)
		}
	}
}

func TestActorJSON(t *testing.T) {
	t.Parallel()
	const in = `{"user_id":"4012345678901234567","kind":"agent","agent_name":"Scribe","name_source":"self",` +
		`"credential_type":"api_key","verified":true,"region":"eu"}`
	want := api.Actor{
		UserID: "4012345678901234567", Kind: api.ActorKindAgent, AgentName: "Scribe", NameSource: "self",
		CredentialType: "api_key", Verified: true, Extra: map[string]stdjson.RawMessage{"region": stdjson.RawMessage(`"eu"`)},
	}
	codec := codecs()["json v2"]
	var got api.Actor
	if err := codec.unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if out, err := codec.marshal(got); err != nil || string(out) != in {
		t.Errorf("written as %s, %v; want %s", out, err, in)
	}
}

func TestAIStateHelpers(t *testing.T) {
	t.Parallel()
	type can struct{ Use, Search bool }
	got := map[api.AIState]can{}
	for _, s := range []api.AIState{
		"", "dreaming", api.AIStateDisabled, api.AIStatePending, api.AIStateInProgress, api.AIStateFailed, api.AIStateReady, api.AIStateIndexed,
	} {
		if c := (can{s.Usable(), s.Searchable()}); c != (can{}) {
			got[s] = c
		}
	}
	want := map[api.AIState]can{api.AIStateReady: {Use: true}, api.AIStateIndexed: {Use: true, Search: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAIStateJSON(t *testing.T) {
	t.Parallel()
	for name, codec := range codecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for in, want := range map[string]api.AIState{
				`"disabled"`: api.AIStateDisabled, `"pending"`: api.AIStatePending, `"in_progress"`: api.AIStateInProgress,
				`"inprogress"`: api.AIStateInProgress, `"ready"`: api.AIStateReady, `"indexed"`: api.AIStateIndexed,
				`"failed"`: api.AIStateFailed, `"new\u0020one"`: "new one", `null`: "",
			} {
				got := api.AIState("left")
				if err := codec.unmarshal([]byte(in), &got); err != nil || got != want {
					t.Errorf("reading %s gives %q, %v; want %q", in, got, err, want)
				}
			}
		})
	}
}

func TestDecoderOptionsReachTheMembers(t *testing.T) {
	t.Parallel()
	numbersInText := json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, n *int64) error {
		b, err := dec.ReadValue()
		if err != nil {
			return err
		}
		*n, err = strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
		return err
	}))
	var got struct {
		Node  api.Node       `json:"node"`
		Map   api.Map[int64] `json:"map"`
		Limit api.Opt[int64] `json:"limit"`
	}
	const in = `{"node":{"size":"7","metadata_facts":{"count":"8"}},"map":{"a":"9"},"limit":"10"}`
	if err := json.Unmarshal([]byte(in), &got, numbersInText); err != nil {
		t.Fatal(err)
	}
	limit, _ := got.Limit.Get()
	if diff := cmp.Diff([]int64{7, 8, 9, 10}, []int64{got.Node.Size, got.Node.Facts.Count, got.Map["a"], limit}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
