package metadata_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
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
	room = api.ProfileID("4012345678901234567")
	node = api.OpaqueID("2RII2-9kqzf")
)

// callerFunc is a Caller.
type callerFunc func(ctx context.Context, r *api.Request, out any) error

func (f callerFunc) Call(ctx context.Context, r *api.Request, out any) error { return f(ctx, r, out) }

// answering returns a Service that gets the same answer to every call, and keeps
// the last request in got, unless that is nil.
func answering(answer string, got *api.Request) *metadata.Service {
	return metadata.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
		if got != nil {
			*got = *r
		}
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

// The parameters that internal/contract does not send.
func TestParameters(t *testing.T) {
	t.Parallel()
	ctx, list := t.Context(), &metadata.ListOptions{PageSize: 250, Cursor: "c+/="}
	large := metadata.FilterRequest{
		Name: "Large", Description: "What counts", Filters: []api.Filter{api.Equals("total", int64(9007199254740993))},
		Projection: []string{"total"},
	}
	for name, tc := range map[string]struct {
		call  func(s *metadata.Service) error
		query url.Values
		body  string
	}{
		"values": {
			func(s *metadata.Service) error { return second(s.Fields.Values(ctx, room, "total", list)) },
			url.Values{"field": {"total"}, "page_size": {"250"}, "cursor": {"c+/="}},
			"",
		},
		"eligible nodes of a folder": {
			func(s *metadata.Service) error {
				return second(s.Eligible(ctx, room, &metadata.EligibleOptions{
					ListOptions: *list, MIMEType: "application/pdf", Extension: "pdf", ParentID: "2-F", Category: api.CategoryLegal,
				}))
			},
			url.Values{
				"page_size": {"250"}, "cursor": {"c+/="}, "mimetype": {"application/pdf"}, "extension": {"pdf"},
				"parent_id": {"2f"}, "category": {"Legal"},
			},
			"",
		},
		"values of every type": {
			func(s *metadata.Service) error {
				return second(s.Facts.Set(ctx, room, node, map[string]any{
					"total": 1250.5, "n": int64(math.MaxInt64), "paid": false, "note": "", "tags": []string{"a"},
				}))
			},
			nil, `{"facts":{"n":9223372036854775807,"note":"","paid":false,"tags":["a"],"total":1250.5}}`,
		},
		"update of a filter": {
			func(s *metadata.Service) error { return second(s.Filters.Update(ctx, room, "C-1", large)) },
			nil, `{"name":"Large","description":"What counts",` +
				`"filters":[{"field":"total","operator":"=","value":9007199254740993}],"projection":["total"]}`,
		},
	} {
		var got api.Request
		if err := tc.call(answering(`{"filter":{"id":"c1"},"metadata_filter":{}}`, &got)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body := ""
		if got.Body != nil {
			_, content, err := api.Encode(got.Body)
			if body = string(content); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(tc.query, got.Query); diff != "" || body != tc.body {
			t.Errorf("%s: sent %s (-want +got):\n%s", name, body, diff)
		}
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
		"too large a page of all": {second(
			s.Eligible(ctx, room, &metadata.EligibleOptions{ListOptions: metadata.ListOptions{PageSize: 500}}),
		), "page_size"},
		"details of nothing":  {second(s.Details(ctx, room, nil)), "node_id"},
		"details of too much": {second(s.Details(ctx, room, slices.Repeat([]api.OpaqueID{"2"}, 26))), "node_id"},
		"details of a blank":  {second(s.Details(ctx, room, []api.OpaqueID{"2", " "})), "node_id"},
		"too much to extract": {second(s.Extract(ctx, room, node, many(51))), "fields"},
		"a blank to extract":  {second(s.Extract(ctx, room, node, []string{" "})), "fields"},
		"no text to extract":  {second(s.Extract(ctx, room, node, []string{"\xff"})), "fields"},
		"a folder of nowhere": {second(s.ExtractAll(ctx, room, "")), "node_id"},
		"a nameless filter": {
			second(s.Filters.Create(ctx, room, metadata.FilterRequest{Name: " ", Filters: paid})), "name",
		},
		"an empty filter":    {second(s.Filters.Update(ctx, room, "c1", metadata.FilterRequest{Name: "a"})), "filters"},
		"no filter":          {second(s.Filters.Get(ctx, room, "")), "filter_id"},
		"filters of nowhere": {second(s.Filters.List(ctx, " ", nil)), "workspace_id"},
		"too many nodes a page": {
			second(s.Filters.Nodes(ctx, room, "c1", &metadata.ListOptions{PageSize: 251})), "page_size",
		},
		"too many filters a page": {second(s.Filters.List(ctx, room, &metadata.ListOptions{PageSize: 251})), "page_size"},
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
	got, err := answering(`{"count":1,"items":[{"name":"total","provisional":true,"star":1,`+
		`"constraints":{"allowed":["Legal"],"min":1,"max":2,"regex":"x"}}]}`, nil).Fields.List(t.Context(), room, nil)
	want := &metadata.FieldPage{Count: 1, Fields: []*metadata.Field{{
		Name: "total", Provisional: true, Extra: map[string]json.RawMessage{"star": raw(`1`)},
		Constraints: &metadata.Constraints{Allowed: []string{"Legal"}, Min: raw(`1`), Max: raw(`2`), Regex: "x"},
	}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := answering(`{"result":true}`, nil).Filters.Get(t.Context(), room, "c1"); err == nil {
		t.Error("an answer without a filter is no error")
	}
	if _, err := answering(
		`{"result":true,"field_created":false}`, nil,
	).Fields.Declare(t.Context(), room, "total", api.FactTypeInt); err == nil {
		t.Error("an answer without a field passes for one")
	}
}

// A refusal is neither an error nor a success, and neither is a silent answer.
func TestMergings(t *testing.T) {
	t.Parallel()
	mismatch := &metadata.Refusal{Reason: metadata.RefusalReasonTypeMismatch, Message: "No."}
	for name, tc := range map[string]struct {
		members           string
		preflight, merged metadata.Outcome
		refusal           *metadata.Refusal
	}{
		"possible": {
			`"would_refuse":null,"merged":false,"already_merged":false`, metadata.OutcomePossible, metadata.OutcomeUnknown, nil,
		},
		"merged": {`"would_refuse":null,"merged":true`, metadata.OutcomeMerged, metadata.OutcomeMerged, nil},
		"merged earlier": {
			`"merged":false,"already_merged":true`, metadata.OutcomeAlreadyMerged, metadata.OutcomeAlreadyMerged, nil,
		},
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
		s := answering("{"+tc.members+"}", nil)
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

func TestCandidatesDecoded(t *testing.T) {
	t.Parallel()
	got, err := answering(
		`{"items":[{"source_field":"Due-Date","target_field":{"name":"due_date"}}],"next_offset":10}`, nil,
	).
		Fields.MergeCandidates(t.Context(), room, 0)
	want := &metadata.CandidatePage{
		Candidates: []*metadata.Candidate{{Source: "Due-Date", Target: "due_date"}}, NextOffset: new(10),
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestFactIgnoresCase(t *testing.T) {
	t.Parallel()
	got, err := answering(`{"items":[{"field":"Total"},{"name":"paid"}]}`, nil).Facts.Get(t.Context(), room, node)
	if err != nil || got.Fact("TOTAL") != got.Facts[0] || got.Fact("due") != nil {
		t.Errorf("found %v and %v, %v", got.Fact("TOTAL"), got.Fact("due"), err)
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
		"a value is named": {
			&api.Error{Op: "metadata.Facts.Set", Status: 406, Params: []api.ParamError{{Name: "total"}}}, false,
		},
		"it was busy": {&api.Error{Op: "metadata.Facts.Set", Status: 503}, false},
		"it got lost": {context.DeadlineExceeded, false},
	} {
		_, err := failing(tc.refusal).Facts.Set(t.Context(), room, node, map[string]any{"total": 1})
		if errors.Is(err, metadata.ErrDoubtful) != tc.doubtful || !errors.Is(err, tc.refusal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNodesDecoded(t *testing.T) {
	t.Parallel()
	s := answering(`{"items":[{"id":"2a"}],"metadata_filter":{"applied":true,"matched":40,"truncated":true}}`, nil)
	want := &metadata.NodePage{
		Nodes: []*api.Node{{ID: "2a"}}, Filter: &api.FilterReport{Applied: raw(`true`), Matched: new(40), IsTruncated: true},
	}
	eligible, err1 := s.Eligible(t.Context(), room, nil)
	found, err2 := s.Filters.Nodes(t.Context(), room, "c1", nil)
	if diff := cmp.Diff([]*metadata.NodePage{want, want}, []*metadata.NodePage{eligible, found}); diff != "" {
		t.Errorf("%v, %v (-want +got):\n%s", err1, err2, diff)
	}
}

// A result that was not filtered is an error.
func TestUnfiltered(t *testing.T) {
	t.Parallel()
	for _, report := range []string{``, `,"metadata_filter":null`, `,"metadata_filter":{"applied":false}`} {
		s := answering(`{"result":true,"items":[{"id":"2a"}]`+report+`}`, nil)
		legal := &metadata.EligibleOptions{Category: api.CategoryLegal}
		got, err := s.Eligible(t.Context(), room, legal)
		if got != nil || !errors.Is(err, api.ErrUnfiltered) ||
			!strings.HasPrefix(err.Error(), "fastio: metadata.Eligible: ") {
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
			t.Errorf("without a filter: %v", err)
		}
	}
}

func TestDetailsDecoded(t *testing.T) {
	t.Parallel()
	one := &api.Facts{Count: 1}
	want := &metadata.Batch{
		Format: "multi",
		Details: []*metadata.Details{
			{Node: &api.Node{ID: "2a", Name: "Inv.pdf", Facts: one}, Facts: one, AutoExtractable: new(true)},
		},
		Errors: []*api.NodeError{{NodeID: "2b", Code: 150183, Message: "A folder."}},
	}
	const node = `{"id":"2a","name":"Inv.pdf","metadata_facts":{"count":1}}`
	const failed = `"errors":[{"node_id":"2b","code":150183,"message":"A folder."}]`
	for name, object := range map[string]string{
		"under its ID": `{"metadata_facts":{"count":1},"node_id":` + node + `,"autoextractable":true}`,
		"under node": `{"metadata_facts":{"count":1},"node_id":"2a","node":` + node +
			`,"autoextractable":true}`,
		"with facts in one of both": `{"node_id":` + node + `,"autoextractable":true}`,
	} {
		answer := "{" + `"format":"multi","objects":[` + object + `],` + failed + "}"
		got, err := answering(answer, nil).Details(t.Context(), room, []api.OpaqueID{"2a", "2b"})
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	got, err := answering(
		`{"result":true,"objects":[{"node_id":"2a"}]}`, nil,
	).Details(t.Context(), room, []api.OpaqueID{"2a"})
	if diff := cmp.Diff(
		&metadata.Batch{Details: []*metadata.Details{{Node: &api.Node{ID: "2a"}}}}, got, cmpopts.EquateEmpty(),
	); diff != "" || err != nil {
		t.Errorf("an ID alone: %v (-want +got):\n%s", err, diff)
	}
	got, err = failing(
		&api.Error{Status: 404, Body: []byte(`{"result":false,"format":"multi","objects":[],` + failed + `}`)},
	).
		Details(t.Context(), room, []api.OpaqueID{"2b"})
	if diff := cmp.Diff(&metadata.Batch{Format: "multi", Errors: want.Errors}, got, cmpopts.EquateEmpty()); diff != "" ||
		err != nil {
		t.Errorf("nothing: %v (-want +got):\n%s", err, diff)
	}
	if got, err := failing(
		&api.Error{Status: 404, Body: []byte(`{}`)},
	).Details(t.Context(), room, []api.OpaqueID{"2b"}); got != nil || !errors.Is(err, api.ErrNotFound) {
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
		answer := "{" + members + "}"
		got, err := answering(answer, nil).Versions(t.Context(), room, node)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestExtractionsDecoded(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]*metadata.Extraction{
		`"job_id":"9-a","node_id":"2a","fields":["total"],"status":"queued","status_uri":"/jobs/"`: {
			JobID: "9-a", NodeID: "2a", Fields: []string{"total"}, Status: metadata.JobStatusQueued, StatusURI: "/jobs/",
		},
		`"job_id":null,"node_id":"2a","fields":[],"status":"already_extracted"`: {
			NodeID: "2a", Status: metadata.JobStatusAlreadyExtracted,
		},
		`"status":"queued","queued":3`: {
			Status: metadata.JobStatusQueued, Extra: map[string]json.RawMessage{"queued": raw(`3`)},
		},
	} {
		s := answering("{"+members+"}", nil)
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

func TestJobsDecoded(t *testing.T) {
	t.Parallel()
	queued := &metadata.Job{Kind: "single", NodeID: "2rii29kqzf", Status: metadata.JobStatusQueued}
	done := &metadata.Job{
		ID: "9a", Kind: "batch", NodeID: "2b", Fields: []string{"total"}, Status: metadata.JobStatusCompleted,
	}
	failed := &metadata.Job{
		ID: "9b", Kind: metadata.JobKindSingle, NodeID: "2c", Status: metadata.JobStatusErrored, ErrorMessage: "No text.",
		Progress: raw(`50`),
	}
	want := &metadata.JobList{
		Extractions: []*metadata.Job{queued, done, failed}, Summarize: api.Map[json.RawMessage]{"done": raw(`1`)},
		Extra: map[string]json.RawMessage{"previews": raw(`[]`)},
	}
	const others = `"intelligence":null,"summarize":{"done":1},"upsert_file":[],"previews":[]}`
	answer := `{` +
		`"jobs":{"metadata_extract":[{"job_id":null,"kind":"single","node_id":"2rii29kqzf","status":"queued"},` +
		`{"job_id":"9a","kind":"batch","node_id":"2b","fields":["total"],"status":"completed"},` +
		`{"job_id":"9b","kind":"single","node_id":"2c","status":"errored","error_message":"No text.","progress":50}],` +
		others + `}`
	got, err := answering(answer, nil).Jobs(t.Context(), room)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	if of := got.Of(node); len(of) != 1 || of[0].Kind != "single" {
		t.Errorf("the jobs of %s are %v", node, of)
	}
	if _, err := answering(`{"result":true}`, nil).Jobs(t.Context(), room); err == nil {
		t.Error("an answer without jobs passes for none")
	}
}

func TestIterations(t *testing.T) {
	t.Parallel()
	var sizes []string
	s := metadata.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
		if r.Op == "metadata.Fields.MergeCandidates" {
			offset, _ := strconv.Atoi(r.Query.Get("offset"))
			next := map[bool]string{true: strconv.Itoa(offset + 10), false: "null"}[offset < 20]
			items := map[bool]string{
				true: "[]", false: fmt.Sprintf(`[{"source":"a%[1]d","target":"t"},{"source":"b%[1]d","target":"t"}]`, offset/10),
			}[offset == 10]
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
