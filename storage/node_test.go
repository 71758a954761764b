package storage_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/storage"
)

type (
	raw  = json.RawMessage
	node = storage.Node
)

var moment = api.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}

const wholeNode = `{
	"id": "2rii2-9kqzf", "name": "plan.pdf", "type": "file", "parent_id": "root", "size": 1048576,
	"mimetype": "application/pdf", "version": "3abcd", "created": "2026-01-02 03:04:05 UTC", "updated": null,
	"previews": {"thumbnail": {"state": "ready", "width": 64}, "pdf": "in progress"},
	"ai": {"state": "inprogress", "attach": true, "summary": true, "model": 3},
	"summary": {"title": "Plan", "short": "A plan.", "long": "A plan of the mill.", "language": "en"},
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
	want := node{
		ID: "2rii2-9kqzf", Name: "plan.pdf", Type: storage.NodeTypeFile, ParentID: api.Root, Size: 1 << 20,
		MIMEType: "application/pdf", Version: "3abcd", Created: moment,
		Previews: api.Map[storage.Preview]{
			"thumbnail": {State: storage.PreviewStateReady, Ready: true, Extra: map[string]raw{"width": raw("64")}},
			"pdf":       {State: storage.PreviewStateInProgress},
		},
		AI: storage.NodeAI{
			State: storage.AIStateInProgress, Attach: true, Summary: true, Extra: map[string]raw{"model": raw("3")},
		},
		Summary: &storage.NodeSummary{
			Title: "Plan", Short: "A plan.", Long: "A plan of the mill.", Extra: map[string]raw{"language": raw(`"en"`)},
		},
		Facts: &storage.Facts{
			Count: 2, Total: 3, IsTruncated: true,
			Items: []storage.Fact{
				{
					Name: "total", Value: raw("12.50"), DeclaredType: storage.FactTypeFloat, StoredType: storage.FactTypeString,
					Source: storage.FactSourceAI, Confidence: storage.FactConfidenceHigh,
					Updated: api.Time{Time: moment.Add(time.Second / 2)}, Extra: map[string]raw{"unit": raw(`"EUR"`)},
				},
				{Name: "note", Value: raw(`""`), Source: storage.FactSourceUser, Rationale: "cleared"},
			},
			Extra: map[string]raw{"object_id": raw(`"2rii2"`)},
		},
		Extra: map[string]raw{"starred": raw("[1,2]")},
	}
	got, err := decode.Value[node]([]byte(wholeNode))
	if diff := cmp.Diff(&want, got); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
}

func TestNodeDecodesEveryForm(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want node
	}{
		"the parent under its other key": {`{"parent":"trash"}`, node{ParentID: api.Trash}},
		"parent_id before parent":        {`{"parent":"root","parent_id":"trash"}`, node{ParentID: api.Trash}},
		"the state under its other key":  {`{"ai_state":"indexed"}`, node{AI: storage.NodeAI{State: storage.AIStateIndexed}}},
		"the state from its block": {
			`{"ai_state":"failed","ai":{"state":"ready"}}`, node{AI: storage.NodeAI{State: storage.AIStateReady}},
		},
		"a state newer than we": {`{"ai":{"state":"dreaming"}}`, node{AI: storage.NodeAI{State: "dreaming"}}},
		"modified": {
			`{"modified":"2026-01-02 03:04:05 UTC"}`, node{Updated: moment},
		},
		"modified after null": {
			`{"updated":null,"modified":"2026-01-02 03:04:05 UTC"}`, node{Updated: moment},
		},
		"updated before modified": {
			`{"modified":"2027-01-02 03:04:05 UTC","updated":"2026-01-02 03:04:05 UTC"}`,
			node{Updated: moment},
		},
		"a summary of the AI as text":     {`{"ai":{"summary":"A plan."}}`, node{AI: storage.NodeAI{Summary: true}}},
		"no summary of the AI as text":    {`{"ai":{"summary":"no"}}`, node{}},
		"no summary of the AI":            {`{"ai":{"summary":null},"summary":null}`, node{}},
		"a summary that is a text":        {`{"summary":"A plan."}`, node{Summary: &storage.NodeSummary{Long: "A plan."}}},
		"a summary that is an empty list": {`{"summary":[]}`, node{}},
		"previews at terse output": {
			`{"previews":{"pdf":{"ready":true},"image":{"ready":false}}}`,
			node{Previews: api.Map[storage.Preview]{"pdf": {State: storage.PreviewStateReady, Ready: true}, "image": {}}},
		},
		"a preview that is not ready": {`{"previews":{"pdf":{"state":"in progress","ready":true}}}`, node{
			Previews: api.Map[storage.Preview]{"pdf": {State: storage.PreviewStateInProgress}},
		}},
		"no previews": {`{"previews":[]}`, node{}},
		"facts in one line": {
			`{"metadata_facts":{"count":1,"fields":"total: 5"}}`, node{Facts: &storage.Facts{Count: 1, Fields: "total: 5"}},
		},
		"nulls": {
			`{"id":null,"ai":null,"ai_state":null,"metadata_facts":null,"previews":null,"created":null,"size":null}`,
			node{},
		},
		"a null fact": {`{"metadata_facts":{"items":[null,{"field":"a","value":null}]}}`, node{
			Facts: &storage.Facts{Items: []storage.Fact{{Name: "a", Value: raw("null")}}},
		}},
		"null":    {`null`, node{}},
		"nothing": {`{}`, node{}},
		"a preview that is null": {
			`{"previews":{"pdf":null}}`, node{Previews: api.Map[storage.Preview]{"pdf": {}}},
		},
		"a preview with a state we know": {`{"previews":{"pdf":"not possible"}}`, node{
			Previews: api.Map[storage.Preview]{"pdf": {State: storage.PreviewStateNotPossible}},
		}},
		"the same member twice, last valid": {`{"name":"a","name":"b"}`, node{Name: "b"}},
	} {
		got, err := decode.Value[node]([]byte(tc.in))
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(&tc.want, got); diff != "" {
			t.Errorf("%s: read (-want +got):\n%s", name, diff)
		}
	}
}

func TestFactIsDecodedByEitherName(t *testing.T) {
	t.Parallel()
	got, err := decode.Value[storage.Fact]([]byte(`{"field":"due","value":{"a":1},"unit":"EUR"}`))
	want := &storage.Fact{Name: "due", Value: raw(`{"a":1}`), Extra: map[string]json.RawMessage{"unit": raw(`"EUR"`)}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestPreviewIsDecodedFromItsState(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]storage.Preview{
		`"ready"`:        {State: storage.PreviewStateReady, Ready: true},
		`{"ready":true}`: {State: storage.PreviewStateReady, Ready: true},
		`{"state":"error","width":64}`: {
			State: storage.PreviewStateError, Extra: map[string]json.RawMessage{"width": raw("64")},
		},
	} {
		got, err := decode.Value[storage.Preview]([]byte(in))
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
}

func TestAIStateHelpers(t *testing.T) {
	t.Parallel()
	type can struct{ Use, Search bool }
	got := map[storage.AIState]can{}
	for _, s := range []storage.AIState{
		"", "dreaming", storage.AIStateDisabled, storage.AIStatePending, storage.AIStateInProgress, storage.AIStateFailed,
		storage.AIStateReady, storage.AIStateIndexed,
	} {
		if c := (can{s.Usable(), s.Searchable()}); c != (can{}) {
			got[s] = c
		}
	}
	want := map[storage.AIState]can{storage.AIStateReady: {Use: true}, storage.AIStateIndexed: {Use: true, Search: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAIStateJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]storage.AIState{
		`"disabled"`: storage.AIStateDisabled, `"pending"`: storage.AIStatePending,
		`"in_progress"`: storage.AIStateInProgress, `"inprogress"`: storage.AIStateInProgress,
		`"ready"`: storage.AIStateReady, `"indexed"`: storage.AIStateIndexed,
		`"failed"`: storage.AIStateFailed, `"new\u0020one"`: "new one", `null`: "",
	} {
		for name, unmarshal := range map[string]func([]byte, any) error{
			"encoding/json": json.Unmarshal,
			"json v2":       func(b []byte, v any) error { return jsonv2.Unmarshal(b, v) },
		} {
			got := storage.AIState("left")
			if err := unmarshal([]byte(in), &got); err != nil || got != want {
				t.Errorf("%s: reading %s gives %q, %v; want %q", name, in, got, err, want)
			}
		}
	}
}

// documentedNode has every member of the node that the documents list.
const documentedNode = `{
	"id": "2rii2-9kqzf", "type": "folder", "name": "Plans", "parent": "root", "mimetype": "image/png", "size": 1,
	"modified": "2026-01-02 03:04:05 UTC", "nodes": [], "is_share_root": true, "share_id": "5012345678901234567",
	"summary": {"title": "Plan", "short": "A plan.", "long": "A plan of the mill.", "category": "plans"},
	"previews": {"image": {"ready": true}, "pdf": {"state": "ready"}},
	"version": "3abcd", "created": "2026-01-02 03:04:05 UTC", "restricted": true, "dmca": true, "locked": true,
	"mimecategory": "image", "is_imported": true, "import_state": {"status": "pending"}, "import_metadata": {"a": 1},
	"origin": {"creator": "1912345678901234567", "type": "chunked", "upload_session_id": "5abcd"},
	"ai": {"state": "ready", "attach": true, "summary": true}, "metadata": {"title": "Plan", "short": "A plan."},
	"deleted": "2026-01-02 03:04:05 UTC", "deleted_from": "root", "target_type": "share", "target_id": "5012345678901234567",
	"virus": {"status": "unscanned", "reason": "too large", "infected": true},
	"file_attributes": {"width": 4, "height": 3, "duration": 1.5, "exif": {"Make": "Mill"}},
	"hash": "00", "hash_algo": "sha256", "lock_info": {"expires": "2026-01-02 03:04:05 UTC"}
}`

func TestNodeHasFieldsForDocumentedMembers(t *testing.T) {
	t.Parallel()
	share := api.ID("5012345678901234567")
	want := node{
		ID: "2rii2-9kqzf", Name: "Plans", Type: storage.NodeTypeFolder, ParentID: api.Root, Size: 1, MIMEType: "image/png",
		Version: "3abcd", Hash: "00", HashAlgo: "sha256", Created: moment, Updated: moment,
		IsShareRoot: true, ShareID: share, Children: raw("[]"), MIMECategory: "image",
		Origin:     &storage.Origin{Type: storage.OriginTypeChunked, Creator: "1912345678901234567", UploadID: "5abcd"},
		Restricted: true, DMCA: true, Locked: true, IsImported: true,
		ImportState: &storage.ImportState{Status: storage.ImportStatusPending}, ImportMetadata: raw(`{"a": 1}`),
		Deleted: moment, DeletedFrom: api.Root, TargetType: "share", TargetID: share,
		Previews: api.Map[storage.Preview]{
			"image": {State: storage.PreviewStateReady, Ready: true}, "pdf": {State: storage.PreviewStateReady, Ready: true},
		},
		AI:       storage.NodeAI{State: storage.AIStateReady, Attach: true, Summary: true},
		Summary:  &storage.NodeSummary{Title: "Plan", Short: "A plan.", Long: "A plan of the mill.", Category: "plans"},
		Metadata: &storage.NodeMetadata{Title: "Plan", Short: "A plan."},
		LockInfo: &storage.LockInfo{Ends: api.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}},
		Virus:    &storage.Virus{Status: storage.VirusStatusUnscanned, Reason: "too large", Infected: true},
		FileAttributes: &storage.FileAttributes{
			Width: 4, Height: 3, Duration: raw("1.5"), EXIF: raw(`{"Make": "Mill"}`),
		},
	}
	got, err := decode.Value[node]([]byte(documentedNode))
	if diff := cmp.Diff(&want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestNodeToleratesOtherFormsOfItsState(t *testing.T) {
	t.Parallel()
	const odd = `{"origin":"mail","virus":false,"import_state":"synced","file_attributes":[],"dmca":{"at":1}}`
	got, err := decode.Value[node]([]byte(odd))
	want := &node{Extra: map[string]raw{
		"origin": raw(`"mail"`), "virus": raw("false"), "import_state": raw(`"synced"`),
		"dmca": raw(`{"at":1}`),
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestNodeOnOneLine(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]*storage.Node{
		"<nil>":                  nil,
		`file "a\n\"b\".pdf" 2a`: {ID: "2a", Type: "file", Name: "a\n\"b\".pdf"},
		`node "x" 2b`:            {ID: "2b", Name: "x"},
	} {
		if got := n.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFactAndVersionStrings(t *testing.T) {
	t.Parallel()
	fact := storage.Fact{
		Name: "due_date", Value: raw(`"2026-05-31"`), DeclaredType: storage.FactTypeDatetime, Source: storage.FactSourceUser,
	}
	size, current := int64(12), true
	for want, got := range map[string]any{
		`fact "due_date" = "2026-05-31" (datetime user)`:   fact,
		`[fact "due_date" = "2026-05-31" (datetime user)]`: []storage.Fact{fact},
		`fact "paid"`: &storage.Fact{Name: "paid"},
		`fact "paid" = null (ai)`: &storage.Fact{
			Name: "paid", Value: raw("null"), Source: storage.FactSourceAI, Extra: map[string]raw{"more": raw("1")},
		},
		"version 3abcd": &storage.Version{ID: "3abcd"},
		"version 3abcd of 12 bytes created 2026-01-02 03:04:05 UTC, current": &storage.Version{
			ID: "3abcd", Size: &size, Created: moment, Current: &current, Creator: "3",
		},
	} {
		if text := fmt.Sprint(got); text != want {
			t.Errorf("got %s, want %s", text, want)
		}
	}
	if got := (*storage.Version)(nil).String(); got != "<nil>" {
		t.Error(got)
	}
}
