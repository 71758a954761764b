package metadata_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/metadata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	room     = api.ProfileID("4012345678901234567")
	node     = api.OpaqueID("2RII2-9kqzf")
	nodePath = "2rii29kqzf"
)

// callerFunc is a Caller.
type callerFunc func(ctx context.Context, r *api.Request, out any) error

func (f callerFunc) Call(ctx context.Context, r *api.Request, out any) error { return f(ctx, r, out) }

// answering returns a Service that gets the same answer to every call, and keeps
// the last request in got.
func answering(answer string, got *api.Request) *metadata.Service {
	return metadata.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
		*got = *r
		if err := r.Path.Err(); err != nil {
			return err
		}
		return json.Unmarshal([]byte(answer), out)
	}))
}

// failing returns a Service whose calls end with err.
func failing(err error) *metadata.Service {
	return metadata.New(callerFunc(func(context.Context, *api.Request, any) error { return err }))
}

// second drops what came with an error.
func second[T any](_ T, err error) error { return err }

// last returns the error an iteration ends with.
func last[T any](seq iter.Seq2[T, error]) error {
	var last error
	for _, err := range seq {
		last = err
	}
	return last
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// both returns an answer in its two envelopes.
func both(members string) []string {
	return []string{`{"result":true,` + members + `}`, `{"result":"yes","response":{` + members + `}}`}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	type (
		ctx = context.Context
		svc = *metadata.Service
	)
	const (
		fields     = "/current/workspace/{workspace_id}/metadata/fields/"
		ofNode     = "/current/workspace/{workspace_id}/storage/{node_id}/metadata/"
		filters    = "/current/workspace/{workspace_id}/metadata/filters/"
		filter     = filters + "{filter_id}/"
		form, text = "application/x-www-form-urlencoded", "application/json"
	)
	inRoom := func(template string, segments ...string) api.Route {
		return api.Path(template, append([]string{string(room)}, segments...)...)
	}
	list := &metadata.ListOptions{PageSize: 250, Cursor: "c+/="}
	listed := url.Values{"page_size": {"250"}, "cursor": {"c+/="}}
	unpaid := metadata.FilterRequest{Name: "Unpaid", Filters: []api.Filter{api.NotExists("paid")}}
	large := metadata.FilterRequest{
		Name: "Large", Description: "What counts", Filters: []api.Filter{api.Equals("total", int64(9007199254740993))}, Projection: []string{"total"},
	}
	for name, tc := range map[string]struct {
		call        func(ctx, svc) error
		want        api.Request
		contentType string
		body        string
	}{
		"further fields": {
			func(ctx ctx, s svc) error { return second(s.Fields.List(ctx, room, list)) },
			api.Request{Op: "metadata.Fields.List", Path: inRoom(fields), Query: listed},
			"", "",
		},
		"further values": {
			func(ctx ctx, s svc) error { return second(s.Fields.Values(ctx, room, "total", list)) },
			api.Request{
				Op: "metadata.Fields.Values", Path: inRoom(fields),
				Query: url.Values{"field": {"total"}, "page_size": {"250"}, "cursor": {"c+/="}},
			},
			"", "",
		},
		"a pre-flight": {
			func(ctx ctx, s svc) error { return second(s.Fields.Preflight(ctx, room, " a", "b ")) },
			api.Request{Op: "metadata.Fields.Merge", Method: http.MethodPost, Path: inRoom(fields + "merge/")},
			text, `{"source":" a","target":"b ","confirm":false}`,
		},
		"candidates": {
			func(ctx ctx, s svc) error { return second(s.Fields.MergeCandidates(ctx, room, 0)) },
			api.Request{Op: "metadata.Fields.MergeCandidates", Path: inRoom(fields + "merge-candidates/")},
			"", "",
		},
		"further candidates": {
			func(ctx ctx, s svc) error { return second(s.Fields.MergeCandidates(ctx, room, 10)) },
			api.Request{
				Op: "metadata.Fields.MergeCandidates", Path: inRoom(fields + "merge-candidates/"), Query: url.Values{"offset": {"10"}},
			},
			"", "",
		},
		"facts": {
			func(ctx ctx, s svc) error { return second(s.Facts.Get(ctx, room, node)) },
			api.Request{
				Op: "metadata.Facts.Get", Path: inRoom(ofNode+"facts/", nodePath), Options: api.CallOptions{Output: []api.Output{api.Full}},
			},
			"", "",
		},
		"a write": {
			func(ctx ctx, s svc) error {
				return second(s.Facts.Set(ctx, room, node, map[string]any{
					"total": 1250.5, "n": int64(math.MaxInt64), "paid": false, "note": "", "tags": []string{"a"},
				}))
			},
			api.Request{Op: "metadata.Facts.Set", Method: http.MethodPost, Path: inRoom(ofNode+"facts/", nodePath), Replay: api.ReplayOnce},
			text, `{"facts":{"n":9223372036854775807,"note":"","paid":false,"tags":["a"],"total":1250.5}}`,
		},
		"a deletion of everything": {
			func(ctx ctx, s svc) error { return s.Facts.DeleteAll(ctx, room, node) },
			api.Request{Op: "metadata.Facts.Delete", Method: http.MethodDelete, Path: inRoom(ofNode, nodePath)},
			"", "",
		},
		"what of it there is in a folder": {
			func(ctx ctx, s svc) error {
				return second(s.Eligible(ctx, room, &metadata.EligibleOptions{
					ListOptions: *list, MIMEType: "application/pdf", Extension: "pdf", ParentID: "2-F", Category: api.CategoryLegal,
				}))
			},
			api.Request{Op: "metadata.Eligible", Path: inRoom("/current/workspace/{workspace_id}/metadata/eligible/"), Query: url.Values{
				"page_size": {"250"}, "cursor": {"c+/="}, "mimetype": {"application/pdf"}, "extension": {"pdf"}, "parent_id": {"2f"}, "category": {"Legal"},
			}},
			"", "",
		},
		"versions": {
			func(ctx ctx, s svc) error { return second(s.Versions(ctx, room, node)) },
			api.Request{Op: "metadata.Versions", Path: inRoom(ofNode+"versions/", nodePath)},
			"", "",
		},
		"filters": {
			func(ctx ctx, s svc) error { return second(s.Filters.List(ctx, room, list)) },
			api.Request{Op: "metadata.Filters.List", Path: inRoom(filters), Query: listed},
			"", "",
		},
		"a filter": {
			func(ctx ctx, s svc) error { return second(s.Filters.Create(ctx, room, unpaid)) },
			api.Request{Op: "metadata.Filters.Create", Method: http.MethodPost, Path: inRoom(filters), Replay: api.ReplayOnce},
			text, `{"name":"Unpaid","filters":[{"field":"paid","operator":"not_exists"}]}`,
		},
		"another filter in its place": {
			func(ctx ctx, s svc) error { return second(s.Filters.Update(ctx, room, "C-1", large)) },
			api.Request{Op: "metadata.Filters.Update", Method: http.MethodPut, Path: inRoom(filter, "c1")},
			text, `{"name":"Large","description":"What counts","filters":[{"field":"total","operator":"=","value":9007199254740993}],"projection":["total"]}`,
		},
		"what a filter finds": {
			func(ctx ctx, s svc) error { return second(s.Filters.Nodes(ctx, room, "C-1", list)) },
			api.Request{Op: "metadata.Filters.Nodes", Path: inRoom(filter+"nodes/", "c1"), Query: listed},
			"", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got api.Request
			if err := tc.call(t.Context(), answering(`{"result":true,"field":{},"jobs":{},"filter":{"id":"c1"},"metadata_filter":{}}`, &got)); err != nil {
				t.Fatal(err)
			}
			if tc.want.Method == "" {
				tc.want.Method = http.MethodGet
			}
			once := map[string]bool{
				"a merge": true, "a write": true, "an extraction": true, "an extraction of everything": true,
				"an extraction of a folder": true, "a filter": true,
			}
			if !once[name] {
				tc.want.Replay = api.ReplaySafe
			}
			var contentType, body string
			if got.Body != nil {
				typed, content, err := api.Encode(got.Body)
				if err != nil {
					t.Fatal(err)
				}
				contentType, body, got.Body = typed, string(content), nil
			}
			if contentType != tc.contentType || body != tc.body {
				t.Errorf("sent %s %s, want %s %s", contentType, body, tc.contentType, tc.body)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b api.Route) bool {
				return a.Template() == b.Template() && a.String() == b.String()
			})); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrongInput(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var got api.Request
	s := answering(`{}`, &got)
	long := strings.Repeat("ü", 65)
	many := func(n int) []string {
		names := make([]string, n)
		for i := range names {
			names[i] = "f" + strconv.Itoa(i)
		}
		return names
	}
	values := func(names ...string) map[string]any {
		m := map[string]any{}
		for _, name := range names {
			m[name] = 1
		}
		return m
	}
	set := func(values map[string]any) error { return second(s.Facts.Set(ctx, room, node, values)) }
	paid := []api.Filter{api.Exists("paid")}
	for name, tc := range map[string]struct {
		err   error
		field string
	}{
		"too large a page":         {second(s.Fields.List(ctx, room, &metadata.ListOptions{PageSize: 251})), "page_size"},
		"a negative page":          {last(s.Fields.Pages(ctx, room, &metadata.ListOptions{PageSize: -1})), "page_size"},
		"the values of nothing":    {second(s.Fields.Values(ctx, room, " ", nil)), "field"},
		"a blank name":             {second(s.Fields.Declare(ctx, room, " \t", api.FactTypeInt)), "name"},
		"a long name":              {second(s.Fields.Declare(ctx, room, long, api.FactTypeInt)), "name"},
		"a type that is none":      {second(s.Fields.Declare(ctx, room, "n", "number")), "declared_type"},
		"a merge of nothing":       {second(s.Fields.Merge(ctx, room, "", "b")), "source"},
		"a merge into nothing":     {second(s.Fields.Preflight(ctx, room, "a", " ")), "target"},
		"a merge with padding":     {second(s.Fields.Merge(ctx, room, "a", "b"+strings.Repeat(" ", 64))), "target"},
		"candidates before any":    {second(s.Fields.MergeCandidates(ctx, room, -1)), "offset"},
		"no facts":                 {set(nil), "facts"},
		"too many facts":           {set(values(many(101)...)), "facts"},
		"a fact without a name":    {set(values("")), "facts"},
		"a padded fact":            {set(values("a ")), "facts"},
		"a fact with a long name":  {set(values(long)), "facts"},
		"a fact that is null":      {set(map[string]any{"a": nil}), "facts"},
		"a fact that points at no": {set(map[string]any{"a": (*int)(nil)}), "facts"},
		"a fact out of JSON":       {set(map[string]any{"a": math.NaN()}), "facts"},
		"a long fact":              {set(map[string]any{"a": strings.Repeat("ü", 4097)}), "facts"},
		"a fact of no node":        {second(s.Facts.Set(ctx, room, "-", values("a"))), "node_id"},
		"a deletion of nothing":    {s.Facts.Delete(ctx, room, node, nil), "keys"},
		"a deletion of a blank":    {s.Facts.Delete(ctx, room, node, []string{"a", ""}), "keys"},
		"a deletion of no text":    {s.Facts.Delete(ctx, room, node, []string{"\xff"}), "keys"},
		"a folder of hyphens":      {second(s.Eligible(ctx, room, &metadata.EligibleOptions{ParentID: "--"})), "parent_id"},
		"too large a page of all":  {second(s.Eligible(ctx, room, &metadata.EligibleOptions{ListOptions: metadata.ListOptions{PageSize: 500}})), "page_size"},
		"details of nothing":       {second(s.Details(ctx, room, nil)), "node_id"},
		"details of too much":      {second(s.Details(ctx, room, slices.Repeat([]api.OpaqueID{"2"}, 26))), "node_id"},
		"details of a blank":       {second(s.Details(ctx, room, []api.OpaqueID{"2", " "})), "node_id"},
		"too much to extract":      {second(s.Extract(ctx, room, node, many(51))), "fields"},
		"a blank to extract":       {second(s.Extract(ctx, room, node, []string{" "})), "fields"},
		"no text to extract":       {second(s.Extract(ctx, room, node, []string{"\xff"})), "fields"},
		"a folder of nowhere":      {second(s.ExtractAll(ctx, room, "")), "node_id"},
		"a nameless filter":        {second(s.Filters.Create(ctx, room, metadata.FilterRequest{Name: " ", Filters: paid})), "name"},
		"an empty filter":          {second(s.Filters.Update(ctx, room, "c1", metadata.FilterRequest{Name: "a"})), "filters"},
		"no filter":                {second(s.Filters.Get(ctx, room, "")), "filter_id"},
		"filters of nowhere":       {second(s.Filters.List(ctx, " ", nil)), "workspace_id"},
		"too many nodes a page":    {second(s.Filters.Nodes(ctx, room, "c1", &metadata.ListOptions{PageSize: 251})), "page_size"},
		"too many filters a page":  {second(s.Filters.List(ctx, room, &metadata.ListOptions{PageSize: 251})), "page_size"},
	} {
		e, ok := errors.AsType[*api.InputError](tc.err)
		if !ok || e.Field != tc.field {
			t.Errorf("%s: got %v, want %s refused", name, tc.err, tc.field)
		}
	}
	s, most := answering(`{"field":{}}`, &got), strings.Repeat("ü", 64)
	for name, err := range map[string]error{
		"a name":     second(s.Fields.Declare(ctx, room, " "+most+" ", api.FactTypeInt)),
		"a source":   second(s.Fields.Merge(ctx, room, most, "b")),
		"facts":      set(values(many(100)...)),
		"texts":      set(map[string]any{"a": strings.Repeat("\n", 4096), "b": []string{strings.Repeat("ü", 4097)}}),
		"details":    second(s.Details(ctx, room, slices.Repeat([]api.OpaqueID{"2"}, 25))),
		"extraction": second(s.Extract(ctx, room, node, many(50))),
	} {
		if err != nil {
			t.Errorf("%s as large as may be: %v", name, err)
		}
	}
}

func TestFieldsDecoded(t *testing.T) {
	t.Parallel()
	want := &metadata.FieldPage{
		Fields: []*metadata.Field{
			{
				Name: "category", DeclaredType: api.FactTypeString, Constraints: &metadata.Constraints{Allowed: []string{"Legal"}, Min: raw(`1`)},
				Aliases: []string{"Kind"}, Provisional: true, Origin: metadata.OriginAI, Revision: 3, FileCount: new(0),
				Extra: map[string]json.RawMessage{"star": raw(`1`)},
			},
			{Name: "total"},
		},
		Count: 2, PageSize: 100, HasMore: true, NextCursor: "c",
	}
	for _, answer := range both(`"count":2,"page_size":100,"cursor":"c","has_more":true,"items":[{"name":"category","declared_type":"string",` +
		`"constraints":{"allowed":["Legal"],"min":1},"aliases":["Kind"],"provisional":true,"origin":"ai","revision":3,"file_count":0,"star":1},` +
		`{"name":"total","constraints":null}]`) {
		var r api.Request
		got, err := answering(answer, &r).Fields.List(t.Context(), room, nil)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	var r api.Request
	values, err := answering(`{"result":true,"count":2,"cursor":"c","has_more":false,"items":[{"value":1,"count":2},"x"]}`, &r).Fields.Values(t.Context(), room, "a", nil)
	if diff := cmp.Diff(&metadata.ValuePage{Values: []json.RawMessage{raw(`{"value":1,"count":2}`), raw(`"x"`)}}, values); diff != "" || err != nil {
		t.Errorf("Values: %v (-want +got):\n%s", err, diff)
	}
	for _, answer := range both(`"field":{"name":"Total","created":"2026-03-02 09:30:00 UTC"},"field_created":true`) {
		got, err := answering(answer, &r).Fields.Declare(t.Context(), room, "total", api.FactTypeInt)
		if err != nil || !got.Created || got.Field.Name != "Total" || got.Field.Created.IsZero() {
			t.Errorf("Declare: %+v, %v", got, err)
		}
	}
	if _, err := answering(`{"result":true,"field_created":false}`, &r).Fields.Declare(t.Context(), room, "total", api.FactTypeInt); err == nil {
		t.Error("an answer without a field passes for one")
	}
}

// A refusal is neither an error nor a success, and what is not told is neither.
func TestMergings(t *testing.T) {
	t.Parallel()
	mismatch := &metadata.Refusal{Reason: metadata.RefusalReasonTypeMismatch, Message: "No."}
	for name, tc := range map[string]struct {
		members           string
		preflight, merged metadata.Outcome
		refusal           *metadata.Refusal
	}{
		"possible":       {`"would_refuse":null,"merged":false,"already_merged":false`, metadata.OutcomePossible, metadata.OutcomeUnknown, nil},
		"merged":         {`"would_refuse":null,"merged":true`, metadata.OutcomeMerged, metadata.OutcomeMerged, nil},
		"merged earlier": {`"merged":false,"already_merged":true`, metadata.OutcomeAlreadyMerged, metadata.OutcomeAlreadyMerged, nil},
		"refused": {
			`"would_refuse":{"reason":"merge_refused_type_mismatch","message":"No."},"merged":false`,
			metadata.OutcomeRefused, metadata.OutcomeRefused, mismatch,
		},
		"refused, whatever else is said": {
			`"merged":true,"would_refuse":{"reason":"merge_refused_type_mismatch","message":"No."},"already_merged":true`,
			metadata.OutcomeRefused, metadata.OutcomeRefused, mismatch,
		},
		"refused for another target": {
			`"would_refuse":{"reason":"merge_source_already_merged","message":"Gone.","source_resolves_to":"total","since":1}`,
			metadata.OutcomeRefused, metadata.OutcomeRefused,
			&metadata.Refusal{
				Reason: metadata.RefusalReasonSourceAlreadyMerged, Message: "Gone.", ResolvesTo: "total",
				Extra: map[string]json.RawMessage{"since": raw(`1`)},
			},
		},
		"refused in another form": {
			`"would_refuse":{"reason":7}`, metadata.OutcomeRefused, metadata.OutcomeRefused,
			&metadata.Refusal{Extra: map[string]json.RawMessage{"would_refuse": raw(`{"reason":7}`)}},
		},
		"unknown by a word":  {`"would_refuse":"maybe","merged":true`, metadata.OutcomeUnknown, metadata.OutcomeUnknown, nil},
		"unknown by silence": {`"source":"a"`, metadata.OutcomeUnknown, metadata.OutcomeUnknown, nil},
	} {
		for _, answer := range both(tc.members) {
			var r api.Request
			s := answering(answer, &r)
			before, err := s.Fields.Preflight(t.Context(), room, "a", "b")
			if err != nil {
				t.Fatal(err)
			}
			after, err := s.Fields.Merge(t.Context(), room, "a", "b")
			if err != nil {
				t.Fatal(err)
			}
			if before.Outcome != tc.preflight || after.Outcome != tc.merged {
				t.Errorf("%s: %q and %q, want %q and %q", name, before.Outcome, after.Outcome, tc.preflight, tc.merged)
			}
			for _, m := range []*metadata.Merging{before, after} {
				if diff := cmp.Diff(tc.refusal, m.Refusal, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		}
	}
	want := &metadata.Merging{
		Outcome: metadata.OutcomePossible, Source: "A", Target: "B", FilesAffected: new(0), TargetFilesBefore: new(4),
		Snapshot: &metadata.Snapshot{SourceRevision: 1, TargetRevision: 2, GroupSize: 3},
	}
	var r api.Request
	got, err := answering(`{"result":true,"source":"A","target":"B","files_affected":0,"target_files_before":4,"merged":false,`+
		`"snapshot":{"source_revision":1,"target_revision":2,"group_size":3}}`, &r).Fields.Preflight(t.Context(), room, "a", "b")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestCandidatesDecoded(t *testing.T) {
	t.Parallel()
	spelling := &metadata.Candidate{Source: "Due-Date", Target: "due_date", Reason: metadata.CandidateReasonSpelling}
	for name, item := range map[string]string{
		"names":         `{"source":"Due-Date","target":"due_date","reason":"separator_or_case_variant"}`,
		"fields":        `{"source":{"name":"Due-Date","file_count":1},"target":{"name":"due_date"},"reason":"separator_or_case_variant"}`,
		"another place": `{"source_field":"Due-Date","target_field":{"name":"due_date"},"reason":"separator_or_case_variant"}`,
	} {
		for _, answer := range both(`"items":[` + item + `],"next_offset":10,"vocabulary_scanned":true,"proposals_examined":10,"proposals_total":12`) {
			var r api.Request
			got, err := answering(answer, &r).Fields.MergeCandidates(t.Context(), room, 0)
			want := &metadata.CandidatePage{Candidates: []*metadata.Candidate{spelling}, NextOffset: new(10), Scanned: true, Examined: 10, Total: 12}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
	}
}

func TestFactsDecoded(t *testing.T) {
	t.Parallel()
	want := &metadata.FactSet{NodeID: "2a", Count: 2, Facts: []*api.Fact{
		{
			Name: "Total", Value: raw(`9007199254740993`), DeclaredType: api.FactTypeInt, StoredType: api.FactTypeFloat,
			Source: api.FactSourceUser, Confidence: api.FactConfidenceCertain, Rationale: "Said so.",
		},
		{Name: "paid", Value: raw(`""`)},
	}}
	for _, answer := range both(`"object_id":"2a","count":2,"items":[{"field":"Total","value":9007199254740993,"declared_type":"int","stored_type":"float",` +
		`"source":"user","confidence":"certain","rationale":"Said so."},{"name":"paid","value":"","confidence":null}]`) {
		var r api.Request
		s := answering(answer, &r)
		got, err := s.Facts.Get(t.Context(), room, node)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("Get: %v (-want +got):\n%s", err, diff)
		}
		written, err := s.Facts.Set(t.Context(), room, node, map[string]any{"total": 1})
		if diff := cmp.Diff(want, written, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("Set: %v (-want +got):\n%s", err, diff)
		}
		if got.Fact("TOTAL") != got.Facts[0] || got.Fact("due") != nil {
			t.Errorf("found %v and %v", got.Fact("TOTAL"), got.Fact("due"))
		}
	}
}

// A refusal that names no value leaves open what was written.
func TestDoubt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		refusal  error
		doubtful bool
	}{
		"no value is named": {&api.Error{Op: "metadata.Facts.Set", Status: 406, Text: "Refused."}, true},
		"a value is named":  {&api.Error{Op: "metadata.Facts.Set", Status: 406, Params: []api.ParamError{{Name: "total"}}}, false},
		"it was busy":       {&api.Error{Op: "metadata.Facts.Set", Status: 503}, false},
		"it got lost":       {context.DeadlineExceeded, false},
	} {
		_, err := failing(tc.refusal).Facts.Set(t.Context(), room, node, map[string]any{"total": 1})
		if errors.Is(err, metadata.ErrDoubtful) != tc.doubtful || !errors.Is(err, tc.refusal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNodesDecoded(t *testing.T) {
	t.Parallel()
	want := &metadata.NodePage{
		Nodes:    []*api.Node{{ID: "2a", ParentID: api.Trash, Facts: &api.Facts{Count: 1, Total: 1, Items: []api.Fact{{Name: "total"}}}}},
		PageSize: 25, HasMore: true, NextCursor: "c", Filter: &api.FilterReport{Applied: raw(`true`), Matched: new(40), IsTruncated: true},
	}
	for _, answer := range both(`"count":1,"page_size":25,"cursor":"c","has_more":true,"items":[{"id":"2a","parent_id":"trash",` +
		`"metadata_facts":{"count":1,"total":1,"is_truncated":false,"items":[{"name":"total"}]}}],"metadata_filter":{"applied":true,"matched":40,"truncated":true}`) {
		var r api.Request
		s := answering(answer, &r)
		got, err := s.Eligible(t.Context(), room, nil)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("Eligible: %v (-want +got):\n%s", err, diff)
		}
		got, err = s.Filters.Nodes(t.Context(), room, "c1", nil)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("Nodes: %v (-want +got):\n%s", err, diff)
		}
	}
}

// What was not filtered does not pass for what was.
func TestUnfiltered(t *testing.T) {
	t.Parallel()
	for _, report := range []string{``, `,"metadata_filter":null`, `,"metadata_filter":{"applied":false}`} {
		var r api.Request
		s := answering(`{"result":true,"items":[{"id":"2a"}]`+report+`}`, &r)
		legal := &metadata.EligibleOptions{Category: api.CategoryLegal}
		got, err := s.Eligible(t.Context(), room, legal)
		if got != nil || !errors.Is(err, api.ErrUnfiltered) || !strings.HasPrefix(err.Error(), "fastio: metadata.Eligible: ") {
			t.Errorf("%s: %v, %v", report, got, err)
		}
		if err := last(s.AllEligible(t.Context(), room, legal)); !errors.Is(err, api.ErrUnfiltered) {
			t.Errorf("AllEligible%s: %v", report, err)
		}
		var text string
		if _, err := s.Eligible(t.Context(), room, legal, api.Markdown(&text)); err != nil {
			t.Errorf("as text: %v", err)
		}
		if _, err := s.Eligible(t.Context(), room, nil); err != nil {
			t.Errorf("unasked: %v", err)
		}
	}
}

func TestDetailsDecoded(t *testing.T) {
	t.Parallel()
	one := &api.Facts{Count: 1}
	want := &metadata.Batch{
		Format:  "multi",
		Details: []*metadata.Details{{Node: &api.Node{ID: "2a", Name: "Inv.pdf", Facts: one}, Facts: one, AutoExtractable: new(true)}},
		Errors:  []*api.NodeError{{NodeID: "2b", Code: 150183, Message: "A folder."}},
	}
	const node = `{"id":"2a","name":"Inv.pdf","metadata_facts":{"count":1}}`
	const failed = `"errors":[{"node_id":"2b","code":150183,"message":"A folder."}]`
	for name, object := range map[string]string{
		"under its ID":              `{"metadata_facts":{"count":1},"node_id":` + node + `,"autoextractable":true}`,
		"under node":                `{"metadata_facts":{"count":1},"node_id":"2a","node":` + node + `,"autoextractable":true}`,
		"with facts in one of both": `{"node_id":` + node + `,"autoextractable":true}`,
	} {
		for _, answer := range both(`"format":"multi","objects":[` + object + `],` + failed) {
			var r api.Request
			got, err := answering(answer, &r).Details(t.Context(), room, []api.OpaqueID{"2a", "2b"})
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
	}
	var r api.Request
	got, err := answering(`{"result":true,"objects":[{"node_id":"2a"}]}`, &r).Details(t.Context(), room, []api.OpaqueID{"2a"})
	if diff := cmp.Diff(&metadata.Batch{Details: []*metadata.Details{{Node: &api.Node{ID: "2a"}}}}, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("an ID alone: %v (-want +got):\n%s", err, diff)
	}
	got, err = failing(&api.Error{Status: 404, Body: []byte(`{"result":false,"format":"multi","objects":[],` + failed + `}`)}).
		Details(t.Context(), room, []api.OpaqueID{"2b"})
	if diff := cmp.Diff(&metadata.Batch{Format: "multi", Errors: want.Errors}, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("nothing: %v (-want +got):\n%s", err, diff)
	}
	if got, err := failing(&api.Error{Status: 404, Body: []byte(`{}`)}).Details(t.Context(), room, []api.OpaqueID{"2b"}); got != nil || !errors.Is(err, api.ErrNotFound) {
		t.Errorf("another 404: %v, %v", got, err)
	}
}

func TestVersionsDecoded(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]*metadata.VersionList{
		`"object_id":"2a","versions":[{"version":1}]`: {
			Versions: []json.RawMessage{raw(`{"version":1}`)}, Extra: map[string]json.RawMessage{"object_id": raw(`"2a"`)},
		},
		`"items":[1,2]`:      {Versions: []json.RawMessage{raw(`1`), raw(`2`)}},
		`"versions":{"a":1}`: {Extra: map[string]json.RawMessage{"versions": raw(`{"a":1}`)}},
	} {
		for _, answer := range both(members) {
			var r api.Request
			got, err := answering(answer, &r).Versions(t.Context(), room, node)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
	}
}

func TestExtractionsDecoded(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]*metadata.Extraction{
		`"job_id":"9-a","node_id":"2a","fields":["total"],"status":"queued","status_uri":"/jobs/"`: {
			JobID: "9-a", NodeID: "2a", Fields: []string{"total"}, Status: metadata.JobStatusQueued, StatusURI: "/jobs/",
		},
		`"job_id":null,"node_id":"2a","fields":[],"status":"already_extracted"`: {NodeID: "2a", Status: metadata.JobStatusAlreadyExtracted},
		`"status":"queued","queued":3`:                                          {Status: metadata.JobStatusQueued, Extra: map[string]json.RawMessage{"queued": raw(`3`)}},
	} {
		for _, answer := range both(members) {
			var r api.Request
			s := answering(answer, &r)
			got, err := s.Extract(t.Context(), room, node, nil)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("Extract: %v (-want +got):\n%s", err, diff)
			}
			got, err = s.ExtractAll(t.Context(), room, api.Root)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("ExtractAll: %v (-want +got):\n%s", err, diff)
			}
		}
	}
}

func TestJobsDecoded(t *testing.T) {
	t.Parallel()
	queued := &metadata.Job{Kind: "single", NodeID: "2rii29kqzf", Status: metadata.JobStatusQueued}
	done := &metadata.Job{ID: "9a", Kind: "batch", NodeID: "2b", Fields: []string{"total"}, Status: metadata.JobStatusCompleted}
	failed := &metadata.Job{
		ID: "9b", Kind: metadata.JobKindSingle, NodeID: "2c", Status: metadata.JobStatusErrored, ErrorMessage: "No text.", Progress: raw(`50`),
	}
	want := &metadata.JobList{
		Extractions: []*metadata.Job{queued, done, failed}, Summarize: api.Map[json.RawMessage]{"done": raw(`1`)},
		Extra: map[string]json.RawMessage{"previews": raw(`[]`)},
	}
	const others = `"intelligence":null,"summarize":{"done":1},"upsert_file":[],"previews":[]}`
	for _, answer := range both(`"jobs":{"metadata_extract":[{"job_id":null,"kind":"single","node_id":"2rii29kqzf","status":"queued"},` +
		`{"job_id":"9a","kind":"batch","node_id":"2b","fields":["total"],"status":"completed"},` +
		`{"job_id":"9b","kind":"single","node_id":"2c","status":"errored","error_message":"No text.","progress":50}],` + others) {
		var r api.Request
		got, err := answering(answer, &r).Jobs(t.Context(), room)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		if of := got.Of(node); len(of) != 1 || of[0].Kind != "single" {
			t.Errorf("the jobs of %s are %v", node, of)
		}
	}
	var r api.Request
	if _, err := answering(`{"result":true}`, &r).Jobs(t.Context(), room); err == nil {
		t.Error("an answer without jobs passes for none")
	}
}

func TestFiltersDecoded(t *testing.T) {
	t.Parallel()
	want := &metadata.SavedFilter{
		ID: "c1", Name: "Large", Description: "What counts", Projection: []string{"total"}, Creator: "1",
		Filters: []*api.Filter{{Field: "total", Operator: api.OperatorEqual, Value: raw(`9007199254740993`)}},
		Extra:   map[string]json.RawMessage{"star": raw(`1`)},
	}
	const members = `"name":"Large","description":"What counts","filters":[{"field":"total","operator":"=","value":9007199254740993}],` +
		`"projection":["total"],"creator":"1","star":1`
	request := metadata.FilterRequest{Name: "a", Filters: []api.Filter{api.Exists("a")}}
	for _, filter := range []string{`"id":"c1",` + members, `"filter_id":"c1",` + members} {
		for _, answer := range append(both(`"filter":{`+filter+`}`), both(filter)...) {
			var r api.Request
			s := answering(answer, &r)
			for name, call := range map[string]func() (*metadata.SavedFilter, error){
				"Get":    func() (*metadata.SavedFilter, error) { return s.Filters.Get(t.Context(), room, "c1") },
				"Create": func() (*metadata.SavedFilter, error) { return s.Filters.Create(t.Context(), room, request) },
				"Update": func() (*metadata.SavedFilter, error) { return s.Filters.Update(t.Context(), room, "c1", request) },
			} {
				got, err := call()
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
					t.Errorf("%s of %s: %v (-want +got):\n%s", name, answer, err, diff)
				}
			}
		}
		var r api.Request
		page, err := answering(`{"result":true,"count":1,"items":[{`+filter+`}],"cursor":null,"has_more":false}`, &r).Filters.List(t.Context(), room, nil)
		if diff := cmp.Diff(&metadata.FilterPage{Filters: []*metadata.SavedFilter{want}}, page, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("List: %v (-want +got):\n%s", err, diff)
		}
	}
	var r api.Request
	if _, err := answering(`{"result":true,"message":"Done."}`, &r).Filters.Get(t.Context(), room, "c1"); err == nil {
		t.Error("an answer without a filter passes for one")
	}
}

func TestIterations(t *testing.T) {
	t.Parallel()
	var sizes []string
	s := metadata.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
		if r.Op == "metadata.Fields.MergeCandidates" {
			offset, _ := strconv.Atoi(r.Query.Get("offset"))
			next := map[bool]string{true: strconv.Itoa(offset + 10), false: "null"}[offset < 20]
			items := map[bool]string{true: "[]", false: fmt.Sprintf(`[{"source":"a%[1]d","target":"t"},{"source":"b%[1]d","target":"t"}]`, offset/10)}[offset == 10]
			return json.Unmarshal(fmt.Appendf(nil, `{"result":true,"items":%s,"next_offset":%s}`, items, next), out)
		}
		sizes = append(sizes, r.Query.Get("page_size"))
		n, _ := strconv.Atoi(r.Query.Get("cursor"))
		return json.Unmarshal(fmt.Appendf(nil, `{"result":true,"count":2,"page_size":2,"cursor":"%[2]d","has_more":%[3]t,`+
			`"items":[{"id":"a%[1]d","name":"a%[1]d"},{"id":"b%[1]d","name":"b%[1]d"}]}`, n, n+1, n < 2), out)
	}))
	ctx := t.Context()
	names := []string{"a0", "b0", "a1", "b1", "a2", "b2"}
	for name, tc := range map[string]struct {
		got  func() ([]string, error)
		want []string
	}{
		"fields": {func() ([]string, error) {
			return collect(s.Fields.All(ctx, room), func(f *metadata.Field) string { return f.Name })
		}, names},
		"eligible": {func() ([]string, error) {
			return collect(s.AllEligible(ctx, room, nil), func(n *api.Node) string { return n.Name })
		}, names},
		"eligible from a cursor": {func() ([]string, error) {
			list := &metadata.EligibleOptions{ListOptions: metadata.ListOptions{Cursor: "1"}}
			return collect(s.AllEligible(ctx, room, list), func(n *api.Node) string { return n.Name })
		}, names[2:]},
		"filters": {func() ([]string, error) {
			return collect(s.Filters.All(ctx, room), func(f *metadata.SavedFilter) string { return f.Name })
		}, names},
		"nodes of a filter": {func() ([]string, error) {
			return collect(s.Filters.AllNodes(ctx, room, "c1"), func(n *api.Node) string { return n.Name })
		}, names},
		"candidates, of which a page is empty": {func() ([]string, error) {
			return collect(s.Fields.AllMergeCandidates(ctx, room), func(c *metadata.Candidate) string { return c.Source })
		}, []string{"a0", "b0", "a2", "b2"}},
	} {
		for range 2 {
			got, err := tc.got()
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
	}
	for _, size := range sizes {
		if size != "250" {
			t.Errorf("asked for pages of %q", size)
		}
	}
	var kept string
	for p, err := range s.Fields.Pages(ctx, room, &metadata.ListOptions{PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		kept = p.NextCursor
		break
	}
	count := 0
	for _, err := range s.Fields.Pages(ctx, room, &metadata.ListOptions{PageSize: 2, Cursor: kept}) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if count != 2 {
		t.Errorf("%d pages were left", count)
	}
}

func collect[T any](seq iter.Seq2[*T, error], name func(*T) string) ([]string, error) {
	var all []string
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, name(v))
	}
	return all, nil
}

// Whatever call fails, its error arrives.
func TestFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	s, ctx := failing(broken), t.Context()
	request := metadata.FilterRequest{Name: "a", Filters: []api.Filter{api.Exists("a")}}
	for name, err := range map[string]error{
		"Fields.List": second(s.Fields.List(ctx, room, nil)), "Fields.All": last(s.Fields.All(ctx, room)),
		"Fields.Values": second(s.Fields.Values(ctx, room, "a", nil)), "Fields.Declare": second(s.Fields.Declare(ctx, room, "a", api.FactTypeURL)),
		"Fields.Preflight": second(s.Fields.Preflight(ctx, room, "a", "b")), "Fields.Merge": second(s.Fields.Merge(ctx, room, "a", "b")),
		"Fields.MergeCandidates": second(s.Fields.MergeCandidates(ctx, room, 0)), "Fields.AllMergeCandidates": last(s.Fields.AllMergeCandidates(ctx, room)),
		"Facts.Get": second(s.Facts.Get(ctx, room, node)), "Facts.Set": second(s.Facts.Set(ctx, room, node, map[string]any{"a": 1})),
		"Facts.Delete": s.Facts.Delete(ctx, room, node, []string{"a"}), "Facts.DeleteAll": s.Facts.DeleteAll(ctx, room, node),
		"Eligible": second(s.Eligible(ctx, room, nil)), "AllEligible": last(s.AllEligible(ctx, room, nil)),
		"Details": second(s.Details(ctx, room, []api.OpaqueID{node})), "Versions": second(s.Versions(ctx, room, node)),
		"Extract": second(s.Extract(ctx, room, node, nil)), "ExtractAll": second(s.ExtractAll(ctx, room, node)), "Jobs": second(s.Jobs(ctx, room)),
		"Filters.List": second(s.Filters.List(ctx, room, nil)), "Filters.All": last(s.Filters.All(ctx, room)),
		"Filters.Create": second(s.Filters.Create(ctx, room, request)), "Filters.Get": second(s.Filters.Get(ctx, room, "c1")),
		"Filters.Update": second(s.Filters.Update(ctx, room, "c1", request)), "Filters.Delete": s.Filters.Delete(ctx, room, "c1"),
		"Filters.Nodes": second(s.Filters.Nodes(ctx, room, "c1", nil)), "Filters.AllNodes": last(s.Filters.AllNodes(ctx, room, "c1")),
	} {
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
