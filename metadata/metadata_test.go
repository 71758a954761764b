package metadata_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	room = api.ID("4012345678901234567")
	node = api.OpaqueID("2RII2-9kqzf")
)

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func TestInvalidInputIsRejected(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := metadata.New(stub.Answer(`{"field":{},"filter":{}}`))
	text := func(n int) string { return strings.Repeat("ü", n) }
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
	set := func(values map[string]any) error { return stub.Err(s.Facts.Set(ctx, room, node, values)) }
	value := func(v any) error { return set(map[string]any{"a": v}) }
	declare := func(name string, of storage.FactType) error { return stub.Err(s.Fields.Declare(ctx, room, name, of)) }
	merge := func(source, target string) error { return stub.Err(s.Fields.Merge(ctx, room, source, target)) }
	remove := func(fields ...string) error { return s.Facts.Delete(ctx, room, node, fields) }
	details := func(nodes ...api.OpaqueID) error { return stub.Err(s.Details(ctx, room, nodes)) }
	extract := func(fields ...string) error { return stub.Err(s.Extract(ctx, room, node, fields)) }
	eligible := func(o metadata.EligibleOptions) error { return stub.Err(s.Eligible(ctx, room, &o)) }
	page := func(size int) *metadata.ListOptions { return &metadata.ListOptions{PageSize: size} }
	save := func(r metadata.FilterRequest) error { return stub.Err(s.Filters.Create(ctx, room, r)) }
	sorted := func(o metadata.NodesOptions) error { return stub.Err(s.Filters.Nodes(ctx, room, "c1", &o)) }
	stub.Refused(t, map[string][]error{
		"page_size": {
			stub.Err(s.Fields.List(ctx, room, page(251))),
			stub.Last(s.Fields.Pages(ctx, room, page(-1))),
			eligible(metadata.EligibleOptions{ListOptions: *page(500)}),
			stub.Err(s.Filters.List(ctx, room, page(251))),
		},
		"field": {stub.Err(s.Fields.Values(ctx, room, " ", nil))},
		"name": {
			declare(" \t", storage.FactTypeInt),
			declare(text(65), storage.FactTypeInt),
			save(metadata.FilterRequest{Name: " "}),
			save(metadata.FilterRequest{Name: text(101)}),
		},
		"declared_type": {declare("n", "number")},
		"source":        {merge("", "b")},
		"target":        {stub.Err(s.Fields.Preflight(ctx, room, "a", " ")), merge("a", "b"+strings.Repeat(" ", 64))},
		"offset":        {stub.Err(s.Fields.MergeCandidates(ctx, room, &metadata.CandidateListOptions{Offset: -1}))},
		"facts": {
			set(nil),
			set(values(many(101)...)),
			set(values("")),
			set(values("a ")),
			set(values(text(65))),
			value(nil),
			value((*int)(nil)),
			value(math.NaN()),
			value(text(4097)),
		},
		"node":        {stub.Err(s.Facts.Set(ctx, room, "-", values("a"))), stub.Err(s.ExtractAll(ctx, room, ""))},
		"node_id":     {details(), details(slices.Repeat([]api.OpaqueID{"2"}, 26)...)},
		"nodes[1]":    {details("2", " ")},
		"keys":        {remove(), remove("a", ""), remove("\xff")},
		"parent_id":   {eligible(metadata.EligibleOptions{ParentID: "--"})},
		"fields":      {extract(many(51)...), extract(" "), extract("\xff")},
		"description": {save(metadata.FilterRequest{Name: "a", Description: text(256)})},
		"predicate":   {save(metadata.FilterRequest{Name: "a", Predicate: []metadata.Filter{metadata.Exists(" ")}})},
		"template_id": {
			stub.Err(s.Filters.Update(ctx, room, "c1", metadata.FilterRequest{Name: "a", TemplateID: "m1"})),
		},
		"sort_field":          {sorted(metadata.NodesOptions{SortBy: storage.SortByName, SortByFact: "total"})},
		"sort_metadata_field": {sorted(metadata.NodesOptions{SortByFact: text(65)})},
		"sort_dir":            {sorted(metadata.NodesOptions{Descending: true})},
		"filter":              {stub.Err(s.Filters.Get(ctx, room, ""))},
		"workspace":           {stub.Err(s.Filters.List(ctx, " ", nil))},
	})
	for name, err := range map[string]error{
		"a name":     declare(" "+text(64)+" ", storage.FactTypeInt),
		"a source":   merge(text(64), "b"),
		"facts":      set(values(many(100)...)),
		"texts":      set(map[string]any{"a": strings.Repeat("\n", 4096), "b": []string{text(4097)}}),
		"details":    details(slices.Repeat([]api.OpaqueID{"2"}, 25)...),
		"extraction": extract(many(50)...),
		"a filter":   save(metadata.FilterRequest{Name: text(100), Description: text(255)}),
	} {
		if err != nil {
			t.Errorf("%s at the limit: %v", name, err)
		}
	}
}

// A refused merge is neither an error nor a success, nor is a response without
// outcome.
func TestMergeOutcomes(t *testing.T) {
	t.Parallel()
	mismatch := &metadata.Refusal{Reason: metadata.RefusalReasonTypeMismatch, Message: "No."}
	for name, tc := range map[string]struct {
		members           string
		preflight, merged metadata.Outcome
		refusal           *metadata.Refusal
	}{
		"possible": {
			`"would_refuse":null,"merged":false,"already_merged":false`, metadata.OutcomePossible,
			metadata.OutcomeUnknown, nil,
		},
		"merged": {`"would_refuse":null,"merged":true`, metadata.OutcomeMerged, metadata.OutcomeMerged, nil},
		"merged earlier": {
			`"merged":false,"already_merged":true`, metadata.OutcomeAlreadyMerged, metadata.OutcomeAlreadyMerged, nil,
		},
		"refused": {
			`"would_refuse":{"reason":"merge_refused_type_mismatch","message":"No."},"merged":false`,
			metadata.OutcomeRefused, metadata.OutcomeRefused, mismatch,
		},
		"refused, with contradicting members": {
			`"merged":true,"already_merged":true,` +
				`"would_refuse":{"reason":"merge_refused_type_mismatch","message":"No."}`,
			metadata.OutcomeRefused, metadata.OutcomeRefused, mismatch,
		},
		"refused for another target": {
			`"would_refuse":{"reason":"merge_source_already_merged","message":"Gone.",` +
				`"source_resolves_to":"total","since":1}`,
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
		"unknown by a word": {
			`"would_refuse":"maybe","merged":true`, metadata.OutcomeUnknown, metadata.OutcomeUnknown, nil,
		},
		"unknown by silence": {`"source":"a"`, metadata.OutcomeUnknown, metadata.OutcomeUnknown, nil},
	} {
		s := metadata.New(stub.Answer("{" + tc.members + "}"))
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

func TestFactIgnoresCase(t *testing.T) {
	t.Parallel()
	set := metadata.FactSet{Facts: []*storage.Fact{{Name: "Total"}, {Name: "paid"}}}
	if set.Fact("TOTAL") != set.Facts[0] || set.Fact("due") != nil {
		t.Errorf("found %v and %v", set.Fact("TOTAL"), set.Fact("due"))
	}
}

// After a rejection that names no value, the result of the write is unknown.
func TestAmbiguousWrite(t *testing.T) {
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
		_, err := metadata.New(stub.Fail(tc.refusal)).Facts.Set(t.Context(), room, node, map[string]any{"total": 1})
		if errors.Is(err, metadata.ErrAmbiguous) != tc.doubtful || !errors.Is(err, tc.refusal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnfiltered(t *testing.T) {
	t.Parallel()
	for _, report := range []string{``, `,"metadata_filter":null`, `,"metadata_filter":{"applied":false}`} {
		s := metadata.New(stub.Answer(`{"result":true,"items":[{"id":"2a"}]` + report + `}`))
		legal := &metadata.EligibleOptions{Category: metadata.CategoryLegal}
		got, err := s.Eligible(t.Context(), room, legal)
		if got != nil || !errors.Is(err, metadata.ErrUnfiltered) ||
			!strings.HasPrefix(err.Error(), "fastio: metadata.Eligible: ") {
			t.Errorf("%s: %v, %v", report, got, err)
		}
		if err := stub.Last(s.AllEligible(t.Context(), room, legal)); !errors.Is(err, metadata.ErrUnfiltered) {
			t.Errorf("AllEligible%s: %v", report, err)
		}
		if _, err := s.Eligible(t.Context(), room, nil); err != nil {
			t.Errorf("without a filter: %v", err)
		}
	}
}

func TestDetailsOfMissingNodes(t *testing.T) {
	t.Parallel()
	for body, found := range map[string]bool{
		`{"result":false,"objects":[],"errors":[{"node_id":"2b","code":150183,"message":"A folder."}]}`: true,
		`{}`: false,
	} {
		s := metadata.New(stub.Fail(&api.Error{Status: 404, Body: []byte(body)}))
		got, err := s.Details(t.Context(), room, []api.OpaqueID{"2b"})
		if found && (err != nil || len(got.Errors) != 1) || !found && (got != nil || !errors.Is(err, api.ErrNotFound)) {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

func TestJobsOfANode(t *testing.T) {
	t.Parallel()
	all := metadata.JobList{Extractions: []*metadata.Job{{NodeID: "2rii29kqzf", Kind: "single"}, {NodeID: "2b"}}}
	if of := all.Of(node); len(of) != 1 || of[0].Kind != "single" {
		t.Errorf("the jobs of %s are %v", node, of)
	}
}

// A page without candidates is not the last one.
func TestEmptyPagesOfCandidates(t *testing.T) {
	t.Parallel()
	s := metadata.New(stub.Caller(func(_ context.Context, r *api.Request, out any) error {
		answer := map[string]string{
			"":   `"items":[{"source":"a","target":"t"}],"next_offset":10`,
			"10": `"items":[],"next_offset":20`,
			"20": `"items":[{"source":"b","target":"t"}],"next_offset":null`,
		}[r.Query.Get("offset")]
		return json.Unmarshal([]byte("{"+answer+"}"), out)
	}))
	all, err := stub.All(s.Fields.AllMergeCandidates(t.Context(), room, nil))
	if err != nil || len(all) != 2 || all[0].Source != "a" || all[1].Source != "b" {
		t.Errorf("got %v, %v", all, err)
	}
}

func TestFieldAndDeclarationStrings(t *testing.T) {
	t.Parallel()
	field := &metadata.Field{Name: "due_date", DeclaredType: storage.FactTypeDatetime, Aliases: []string{"due"}}
	for want, got := range map[string]fmt.Stringer{
		`field "due_date" datetime`:              field,
		`field "due"`:                            &metadata.Field{Name: "due"},
		`field "due_date" datetime, created`:     &metadata.Declaration{Field: field, Created: true},
		`field "due_date" datetime, not created`: &metadata.Declaration{Field: field},
		"<nil>":                                  (*metadata.Field)(nil),
	} {
		if got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := (*metadata.Declaration)(nil).String(); got != "<nil>" {
		t.Error(got)
	}
}
