package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID  = api.ID("4012345678901234567")
	shareID = api.ID("5012345678901234567")
)

func TestInvalidInputIsRejected(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := search.New(stub.Answer(`{"buckets":{}}`))
	room, share := api.Workspace(roomID), api.Share(shareID)
	in := func(in api.Profile, q search.Query) error {
		if q.Text == "" {
			q.Text = "x"
		}
		return stub.Err(s.Files(ctx, in, q))
	}
	within := func(scopes ...search.Scope) error { return in(room, search.Query{Within: scopes}) }
	unified := func(in api.Profile, q search.UnifiedQuery) error { return stub.Err(s.Unified(ctx, in, q)) }
	compound := func(q search.CompoundQuery) error { return stub.Err(s.Compound(ctx, roomID, q)) }
	values := func(text string, list search.ValuesOptions) error {
		return stub.Err(s.Metadata(ctx, roomID, text, &list))
	}
	many := slices.Repeat([]search.Scope{search.InFile("2", "3")}, 101)
	paid := []metadata.Filter{metadata.Exists("paid")}
	text := func(n int) string { return strings.Repeat("ü", n) }
	aMetadata := search.UnifiedQuery{Text: "x", Metadata: search.Window{Limit: 1}}
	stub.Refused(t, map[string][]error{
		"search": {
			in(room, search.Query{Text: " \n"}),
			stub.Last(s.All(ctx, room, search.Query{})),
			in(room, search.Query{Text: text(257), NameMatch: search.NameMatchExact}),
			in(room, search.Query{Text: "*?*", NameMatch: search.NameMatchGlob}),
			unified(room, search.UnifiedQuery{}),
			unified(room, search.UnifiedQuery{Text: text(1025)}),
			unified(room, search.UnifiedQuery{Text: text(257), NameMatch: search.NameMatchContains}),
		},
		"limit": {
			in(room, search.Query{Limit: 501}),
			in(room, search.Query{Limit: -1}),
			values("x", search.ValuesOptions{Limit: 101}),
			compound(search.CompoundQuery{Filters: paid, Limit: -1}),
		},
		"offset": {
			in(room, search.Query{Offset: -1}),
			values("x", search.ValuesOptions{Offset: -1}),
			values("x", search.ValuesOptions{Offset: 9901, Limit: 100}),
		},
		"files_scope": {
			within(many...),
			within(search.InFile("2", "-")),
			within(search.InFile("", "3")),
			within(search.Scope{}),
		},
		"folders_scope": {
			within(search.InFolder(api.Root, 1)),
			within(search.InFolder(api.Trash, 1)),
			within(search.InFolder("", 1)),
			within(search.InFolder("2", 0)),
			within(search.InFolder("2", 11)),
		},
		"filters": {
			in(room, search.Query{Filters: make([]metadata.Filter, 6)}),
			in(share, search.Query{Filters: paid}),
			in(room, search.Query{Filters: []metadata.Filter{metadata.Exists("")}}),
			compound(search.CompoundQuery{Text: "x"}),
		},
		"category":              {in(share, search.Query{Category: "Legal"})},
		"in":                    {in(api.Org("1"), search.Query{}), unified(api.Org("1"), search.UnifiedQuery{Text: "x"})},
		"comments_offset":       {unified(room, search.UnifiedQuery{Text: "x", Comments: search.Window{Offset: -1}})},
		"files_limit":           {unified(room, search.UnifiedQuery{Text: "x", Files: search.Window{Limit: -1}})},
		"UnifiedQuery.Metadata": {unified(share, aMetadata), stub.Last(s.AllMetadata(ctx, share, aMetadata))},
		"q":                     {values(" ", search.ValuesOptions{}), values(text(1025), search.ValuesOptions{})},
		"workspace":             {stub.Err(s.Metadata(ctx, "", "x", nil))},
		"content_query":         {compound(search.CompoundQuery{Filters: paid, Text: text(1025)})},
	})
	for name, err := range map[string]error{
		"a long pattern that has no use": in(room, search.Query{
			Text: text(257), NameMatch: search.NameMatchExact, Target: search.TargetContent,
		}),
		"a pattern as long as may be": in(room, search.Query{Text: text(256), NameMatch: search.NameMatchExact}),
		"a scope as wide as may be":   within(many[:100]...),
		"a search of all":             unified(room, search.UnifiedQuery{Text: text(1024)}),
		"values":                      values(text(1024), search.ValuesOptions{}),
		"a content":                   compound(search.CompoundQuery{Filters: paid, Text: text(1024)}),
	} {
		if err != nil {
			t.Errorf("%s is rejected: %v", name, err)
		}
	}
}

func TestRankIsKept(t *testing.T) {
	t.Parallel()
	var files strings.Builder
	var want, got []api.OpaqueID
	for i := range 300 {
		id := strconv.Itoa(i * 7919 % 1000)
		want = append(want, api.OpaqueID("2"+id))
		fmt.Fprintf(&files, `,"2%s":{"name":"a"}`, id)
	}
	s := search.New(stub.Answer(`{"result":true,"files":{` + files.String()[1:] + `}}`))
	found, err := s.Files(t.Context(), api.Workspace(roomID), search.Query{Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range found.Hits {
		got = append(got, h.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGapsDependOnTheQuery(t *testing.T) {
	t.Parallel()
	const metadata = `"search_metadata":{"semantic_available":false,"content_search_available":false,"scoped":false}`
	s := search.New(stub.Answer(`{"files":[],` + metadata + `,"buckets":{"files":{"items":[],` + metadata + `}}}`))
	scope := []search.Scope{search.InFile("2", "3")}
	for name, tc := range map[string]struct {
		q    search.Query
		want []search.Gap
	}{
		"names have no meaning": {search.Query{Target: search.TargetFilename}, nil},
		"a scope had no effect": {
			search.Query{Target: search.TargetFilename, Within: scope}, []search.Gap{search.GapUnscoped},
		},
		"everything that was lost": {
			search.Query{Within: scope}, []search.Gap{search.GapSemantic, search.GapContent, search.GapUnscoped},
		},
	} {
		tc.q.Text = "x"
		got, err := s.Files(t.Context(), api.Workspace(roomID), tc.q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got.Gaps); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	names := search.UnifiedQuery{Text: "x", Target: search.TargetFilename}
	if got, err := s.Unified(t.Context(), api.Workspace(roomID), names); err != nil || len(got.Files.Gaps) > 0 {
		t.Errorf("the names of all have no meaning: %v, %v", got, err)
	}
}

func TestUnfiltered(t *testing.T) {
	t.Parallel()
	ctx, room := t.Context(), api.Workspace(roomID)
	for _, report := range []string{``, `,"metadata_filter":{"applied":false}`} {
		s := search.New(stub.Answer(`{"result":true,"files":{"2a":{}}` + report + `}`))
		for _, q := range []search.Query{
			{Text: "x", Filters: []metadata.Filter{metadata.Exists("paid")}}, {Text: "x", Category: metadata.CategoryLegal},
		} {
			got, err := s.Files(ctx, room, q)
			if got != nil || !errors.Is(err, metadata.ErrUnfiltered) ||
				!strings.HasPrefix(err.Error(), "fastio: search.Files: ") {
				t.Errorf("got %v, %v", got, err)
			}
			if err := stub.Last(s.All(ctx, room, q)); !errors.Is(err, metadata.ErrUnfiltered) {
				t.Errorf("All: %v", err)
			}
		}
	}
}

type index struct {
	stub.NotOpened

	hits  int
	asked []url.Values
}

func (x *index) Call(_ context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	x.asked = append(x.asked, r.Query)
	from, _ := strconv.Atoi(r.Query.Get("offset"))
	most, _ := strconv.Atoi(r.Query.Get("limit"))
	var rows []string
	for i := from; i < min(from+most, x.hits); i++ {
		rows = append(rows, strconv.Itoa(i))
	}
	answer := `"files":{"2` + strings.Join(rows, `":{},"2`) + `":{}}`
	if r.Op == "search.Metadata" {
		answer = `"results":[{"id":"2` + strings.Join(rows, `"},{"id":"2`) + `"}]`
	}
	if len(rows) == 0 {
		answer = `"files":[]`
	}
	return json.Unmarshal(fmt.Appendf(nil, `{"result":true,%s,"pagination":{"limit":%d,"offset":%d,"has_more":%t}}`,
		answer, most, from, from+most < x.hits), out)
}

// internal/contract tests the requests of other iterations.
func TestIterations(t *testing.T) {
	t.Parallel()
	ctx, room := t.Context(), api.Workspace(roomID)
	for name, tc := range map[string]struct {
		hits, first, pages int
		hitsOf             func(s *search.Service) iter.Seq2[*search.Hit, error]
		limit, offset      string // of the last request
	}{
		"files with details": {250, 0, 3, func(s *search.Service) iter.Seq2[*search.Hit, error] {
			return s.All(ctx, room, search.Query{Text: "x", Details: true})
		}, "100", "200"},
		"values to the very last": {10_000, 9_930, 2, func(s *search.Service) iter.Seq2[*search.Hit, error] {
			return s.AllValues(ctx, roomID, "x", &search.ValuesOptions{Limit: 60, Offset: 9_930})
		}, "10", "9990"},
	} {
		x := &index{hits: tc.hits}
		var want, got []api.OpaqueID
		hits, err := stub.All(tc.hitsOf(search.New(x)))
		for _, h := range hits {
			got = append(got, h.ID)
		}
		for i := tc.first; i < tc.hits; i++ {
			want = append(want, api.OpaqueID("2"+strconv.Itoa(i)))
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if len(x.asked) != tc.pages {
			t.Fatalf("%s: %d pages requested, want %d", name, len(x.asked), tc.pages)
		}
		if q := x.asked[tc.pages-1]; q.Get("limit") != tc.limit || q.Get("offset") != tc.offset {
			t.Errorf("%s: the last request has %v", name, q)
		}
	}
}

func TestIterationsReturnErrors(t *testing.T) {
	t.Parallel()
	ctx, room, q := t.Context(), api.Workspace(roomID), search.UnifiedQuery{Text: "x"}
	const degraded = `{"items":[],"status":"degraded"}`
	s := search.New(stub.Answer(
		`{"buckets":{"files":` + degraded + `,"metadata":` + degraded + `,"comments":` + degraded + `}}`,
	))
	for name, err := range map[string]error{
		"files": stub.Last(s.AllFiles(ctx, room, q)), "metadata": stub.Last(s.AllMetadata(ctx, room, q)),
		"comments": stub.Last(s.AllComments(ctx, room, q)),
	} {
		if !errors.Is(err, search.ErrDegraded) ||
			err.Error() != "fastio: search.Unified: the bucket could not be searched" {
			t.Errorf("%s: %v", name, err)
		}
	}
	s = search.New(stub.Answer(`{"result":true,"buckets":{}}`))
	for _, in := range []api.Profile{room, api.Share(shareID)} { // a search of a share requests no metadata
		if n, err := stub.All(s.AllComments(ctx, in, q)); len(n) > 0 || err != nil {
			t.Errorf("a bucket that is left out: %v, %v", n, err)
		}
	}
	s = search.New(&index{hits: 10_500})
	if n, err := stub.All(s.AllValues(ctx, roomID, "x", nil)); len(n) != 10_000 || err == nil {
		t.Errorf("%d values and %v", len(n), err)
	}
}

// A total is an upper bound, and a page may be empty before the end.
func TestValuesContinueAfterEmptyPages(t *testing.T) {
	t.Parallel()
	const limit = 2
	type row struct {
		pages []int // their hits
		total int
		more  bool // of the last page
		calls int
		err   error
	}
	table.Bubbles(t, map[string]row{
		"an empty page before the end": {pages: []int{2, 0, 1}, total: 6, calls: 3},
		"many of them":                 {pages: append(make([]int, 99), 1), total: 200, calls: 100},
		"empty pages without end": {
			pages: make([]int, 300), total: 1000, more: true, calls: 100, err: api.ErrNoProgress,
		},
		"a total above the number of hits": {pages: []int{0}, total: 1, more: true, calls: 1},
		"more reported after the total":    {pages: []int{2, 0}, total: 3, more: true, calls: 2},
	}, func(t *testing.T, tc row) {
		calls, want := 0, 0
		c := stub.Caller(func(_ context.Context, r *api.Request, out any) error {
			calls++
			offset, _ := strconv.Atoi(r.Query.Get("offset"))
			var rows []string
			for i := range tc.pages[offset/limit] {
				rows = append(rows, `{"node_id":"2`+strconv.Itoa(offset+i)+`"}`)
				want++
			}
			more := tc.more || offset/limit < len(tc.pages)-1
			const answer = `{"results":[%s],"pagination":{"total":%d,"limit":%d,"offset":%d,"has_more":%t}}`
			return json.Unmarshal(fmt.Appendf(nil, answer, strings.Join(rows, ","), tc.total, limit, offset, more), out)
		})
		got, err := stub.All(search.New(c).AllValues(t.Context(), roomID, "x", &search.ValuesOptions{Limit: limit}))
		if len(got) != want || calls != tc.calls || !errors.Is(err, tc.err) {
			t.Errorf("%d hits of %d and %v after %d calls", len(got), want, err, calls)
		}
	})
	c := stub.Answer(`{"results":[]}`)
	if got, err := stub.All(search.New(c).AllValues(t.Context(), roomID, "x", nil)); len(got) > 0 || err != nil ||
		len(c.Got) != 1 {
		t.Errorf("without a pagination: %v, %v after %d calls", got, err, len(c.Got))
	}
}

// The ID of a hit is a key with or without hyphens.
func TestHitForms(t *testing.T) {
	t.Parallel()
	const id = "2f11e0fdr4w1ngs0fth3m111b3ta1"
	for text, want := range map[string]search.Hit{
		`{"2f11e-0fdr4-w1ngs-0fth3-m111b-3ta1":{"best_chunk":{"position":3,"indexed_version_id":"3v","same_as_snippet":true,
			"text":null}}}`: {
			ID:        "2f11e-0fdr4-w1ngs-0fth3-m111b-3ta1",
			BestChunk: &search.Chunk{Position: new(3), Version: "3v", IsSnippet: true},
		},
		`{"` + id + `":{"best_chunk":{"position":0,"same_as_snippet":false,"text":"Brass.","score":1}}}`: {
			ID: id,
			BestChunk: &search.Chunk{
				Position: new(0), Text: "Brass.", Extra: map[string]json.RawMessage{"score": json.RawMessage(`1`)},
			},
		},
		`[{"node_id":"` + id + `","best_chunk":{"position":null}}]`: {ID: id, BestChunk: &search.Chunk{}},
		`{"` + id + `":{"best_chunk":null}}`:                        {ID: id},
	} {
		got, err := search.New(stub.Answer(`{"files":`+text+`}`)).Files(
			t.Context(), api.Workspace(roomID), search.Query{Text: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]*search.Hit{&want}, got.Hits); diff != "" || !got.Hits[0].ID.Equal(id) {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// Of several invalid fields the first is named, at every call.
func TestFirstInvalidFieldIsNamed(t *testing.T) {
	t.Parallel()
	s, bad := search.New(stub.Fail(errors.New("sent"))), search.Window{Limit: -1}
	for range 30 {
		err := stub.Err(s.Unified(t.Context(), api.Workspace(roomID), search.UnifiedQuery{
			Text: "x", Files: bad, Comments: bad, Metadata: bad,
		}))
		stub.Refused(t, map[string][]error{"files_limit": {err}})
	}
}
