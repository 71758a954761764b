package api_test

import (
	stdjson "encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

type raw = stdjson.RawMessage

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
	"starred": [1,2]
}`

func TestNodeJSON(t *testing.T) {
	t.Parallel()
	want := api.Node{
		ID: "2rii2-9kqzf", Name: "plan.pdf", Type: api.NodeTypeFile, ParentID: api.Root, Size: 1 << 20,
		MIMEType: "application/pdf", Version: "3abcd", Created: utc(2026, 1, 2, 3, 4, 5, 0),
		Previews: api.Map[api.Preview]{
			"thumbnail": {State: api.PreviewStateReady, Ready: true, Extra: map[string]raw{"width": raw("64")}},
			"pdf":       {State: api.PreviewStateInProgress},
		},
		AI: api.NodeAI{
			State: api.AIStateInProgress, Attach: true, Summary: true,
			Extra: map[string]raw{"model": raw("3")},
		},
		Summary: &api.NodeSummary{
			Title: "Plan", Short: "A plan.", Long: "A plan of the mill.",
			Extra: map[string]raw{"category": raw(`"plans"`)},
		},
		Facts: &api.Facts{
			Count: 2, Total: 3, IsTruncated: true,
			Items: []api.Fact{
				{
					Name: "total", Value: raw("12.50"), DeclaredType: api.FactTypeFloat, StoredType: api.FactTypeString,
					Source: api.FactSourceAI, Confidence: api.FactConfidenceHigh, Updated: utc(2026, 1, 2, 3, 4, 5, 500000000),
					Extra: map[string]raw{"unit": raw(`"EUR"`)},
				},
				{Name: "note", Value: raw(`""`), Source: api.FactSourceUser, Rationale: "cleared"},
			},
			Extra: map[string]raw{"object_id": raw(`"2rii2"`)},
		},
		Extra: map[string]raw{"starred": raw("[1,2]")},
	}
	got, err := call.Value[api.Node]([]byte(wholeNode))
	if diff := cmp.Diff(&want, got); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	for name, codec := range codecs() {
		var again api.Node
		out, err := codec.marshal(got)
		if err == nil {
			err = codec.unmarshal(out, &again)
		}
		if diff := cmp.Diff(want, again); err != nil || diff != "" {
			t.Errorf("%s: %v, after %s (-want +got):\n%s", name, err, out, diff)
		}
	}
}

func TestNodeReads(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want api.Node
	}{
		"the parent under its other key": {`{"parent":"trash"}`, api.Node{ParentID: api.Trash}},
		"parent_id before parent":        {`{"parent":"root","parent_id":"trash"}`, api.Node{ParentID: api.Trash}},
		"the state under its other key":  {`{"ai_state":"indexed"}`, api.Node{AI: api.NodeAI{State: api.AIStateIndexed}}},
		"the state from its block": {
			`{"ai_state":"failed","ai":{"state":"ready"}}`, api.Node{AI: api.NodeAI{State: api.AIStateReady}},
		},
		"a state newer than we": {`{"ai":{"state":"dreaming"}}`, api.Node{AI: api.NodeAI{State: "dreaming"}}},
		"modified": {
			`{"modified":"2026-01-02 03:04:05 UTC"}`, api.Node{Updated: utc(2026, 1, 2, 3, 4, 5, 0)},
		},
		"modified after null": {
			`{"updated":null,"modified":"2026-01-02 03:04:05 UTC"}`, api.Node{Updated: utc(2026, 1, 2, 3, 4, 5, 0)},
		},
		"updated before modified": {
			`{"modified":"2027-01-02 03:04:05 UTC","updated":"2026-01-02 03:04:05 UTC"}`,
			api.Node{Updated: utc(2026, 1, 2, 3, 4, 5, 0)},
		},
		"a summary of the AI as text":     {`{"ai":{"summary":"A plan."}}`, api.Node{AI: api.NodeAI{Summary: true}}},
		"no summary of the AI as text":    {`{"ai":{"summary":"no"}}`, api.Node{}},
		"no summary of the AI":            {`{"ai":{"summary":null},"summary":null}`, api.Node{}},
		"a summary that is a text":        {`{"summary":"A plan."}`, api.Node{Summary: &api.NodeSummary{Long: "A plan."}}},
		"a summary that is an empty list": {`{"summary":[]}`, api.Node{Summary: &api.NodeSummary{}}},
		"previews at terse output": {
			`{"previews":{"pdf":{"ready":true},"image":{"ready":false}}}`,
			api.Node{Previews: api.Map[api.Preview]{"pdf": {State: api.PreviewStateReady, Ready: true}, "image": {}}},
		},
		"a preview that is not ready": {`{"previews":{"pdf":{"state":"in progress","ready":true}}}`, api.Node{
			Previews: api.Map[api.Preview]{"pdf": {State: api.PreviewStateInProgress}},
		}},
		"no previews": {`{"previews":[]}`, api.Node{}},
		"facts in one line": {
			`{"metadata_facts":{"count":1,"fields":"total: 5"}}`, api.Node{Facts: &api.Facts{Count: 1, Fields: "total: 5"}},
		},
		"nulls": {
			`{"id":null,"ai":null,"ai_state":null,"metadata_facts":null,"previews":null,"created":null,"size":null}`, api.Node{},
		},
		"a null fact": {`{"metadata_facts":{"items":[null,{"field":"a","value":null}]}}`, api.Node{
			Facts: &api.Facts{Items: []api.Fact{{Name: "a", Value: raw("null")}}},
		}},
		"null":    {`null`, api.Node{}},
		"nothing": {`{}`, api.Node{}},
		"a preview that is null": {
			`{"previews":{"pdf":null}}`, api.Node{Previews: api.Map[api.Preview]{"pdf": {}}},
		},
		"a preview with a state we know": {`{"previews":{"pdf":"not possible"}}`, api.Node{
			Previews: api.Map[api.Preview]{"pdf": {State: api.PreviewStateNotPossible}},
		}},
		"the same member twice, last valid": {`{"name":"a","name":"b"}`, api.Node{Name: "b"}},
	} {
		got, err := call.Value[api.Node]([]byte(tc.in))
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(&tc.want, got); diff != "" {
			t.Errorf("%s: read (-want +got):\n%s", name, diff)
		}
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

func TestFactIsReadByEitherName(t *testing.T) {
	t.Parallel()
	got, err := call.Value[api.Fact]([]byte(`{"field":"due","value":{"a":1},"unit":"EUR"}`))
	want := &api.Fact{Name: "due", Value: raw(`{"a":1}`), Extra: map[string]stdjson.RawMessage{"unit": raw(`"EUR"`)}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestPreviewIsReadFromItsStateAlone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]api.Preview{
		`"ready"`:        {State: api.PreviewStateReady, Ready: true},
		`{"ready":true}`: {State: api.PreviewStateReady, Ready: true},
		`{"state":"error","width":64}`: {
			State: api.PreviewStateError, Extra: map[string]stdjson.RawMessage{"width": raw("64")},
		},
	} {
		got, err := call.Value[api.Preview]([]byte(in))
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
}

func TestAIStateHelpers(t *testing.T) {
	t.Parallel()
	type can struct{ Use, Search bool }
	got := map[api.AIState]can{}
	for _, s := range []api.AIState{
		"", "dreaming", api.AIStateDisabled, api.AIStatePending, api.AIStateInProgress, api.AIStateFailed, api.AIStateReady,
		api.AIStateIndexed,
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
		for in, want := range map[string]api.AIState{
			`"disabled"`: api.AIStateDisabled, `"pending"`: api.AIStatePending, `"in_progress"`: api.AIStateInProgress,
			`"inprogress"`: api.AIStateInProgress, `"ready"`: api.AIStateReady, `"indexed"`: api.AIStateIndexed,
			`"failed"`: api.AIStateFailed, `"new\u0020one"`: "new one", `null`: "",
		} {
			got := api.AIState("left")
			if err := codec.unmarshal([]byte(in), &got); err != nil || got != want {
				t.Errorf("%s: reading %s gives %q, %v; want %q", name, in, got, err, want)
			}
		}
	}
}
