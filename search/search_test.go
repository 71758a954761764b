package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID  = api.ProfileID("4012345678901234567")
	shareID = api.ProfileID("5012345678901234567")
)

// callerFunc is a Caller.
type callerFunc func(ctx context.Context, r *api.Request, out any) error

func (f callerFunc) Call(ctx context.Context, r *api.Request, out any) error { return f(ctx, r, out) }

// answering returns a Service that gets the same answer to every call, and keeps
// the last request in got, unless that is nil.
func answering(answer string, got *api.Request) *search.Service {
	return search.New(callerFunc(func(_ context.Context, r *api.Request, out any) error {
		if got != nil {
			*got = *r
		}
		if err := r.Path.Err(); err != nil {
			return err
		}
		return json.Unmarshal([]byte(answer), out)
	}))
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

// The parameters that internal/contract does not send.
func TestParameters(t *testing.T) {
	t.Parallel()
	ctx, room := t.Context(), api.Workspace(roomID)
	for name, tc := range map[string]struct {
		call func(s *search.Service) error
		want url.Values
	}{
		"all of Storage": {
			func(s *search.Service) error {
				return second(s.Storage(ctx, room, search.Query{
					Text: "Q?-*.PDF", Target: search.TargetFilename, NameMatch: search.NameMatchGlob, CaseSensitive: true,
					Within: []search.Scope{
						search.InFile("2-A", "3-B"), search.InFolder("2-F", 10), search.InFile("2c", "3d"), search.InFolder("2e", 1),
					},
					Filters:  []api.Filter{api.Equals("total", int64(math.MaxInt64)), api.NotExists("paid")},
					Category: api.CategoryFinance, Details: true, Limit: 500, Offset: 20,
				}))
			},
			url.Values{
				"search": {"Q?-*.PDF"}, "search_in": {"filename"}, "name_match": {"glob"}, "case_sensitive": {"true"},
				"files_scope": {"2a:3b,2c:3d"}, "folders_scope": {"2f:10,2e:1"}, "category": {"Finance"}, "details": {"true"},
				"limit": {"500"}, "offset": {"20"},
				"filters": {
					`[{"field":"total","operator":"=","value":9223372036854775807},{"field":"paid","operator":"not_exists"}]`,
				},
			},
		},
		"all of Unified": {
			func(s *search.Service) error {
				return second(s.Unified(ctx, room, search.UnifiedQuery{
					Text: "x", Target: search.TargetFilename, NameMatch: search.NameMatchPrefix, CaseSensitive: true, Facts: true,
					Files: search.Window{Offset: 1, Limit: 2}, Comments: search.Window{Offset: 3, Limit: 4},
					Metadata: search.Window{Offset: 5, Limit: 6},
				}))
			},
			url.Values{
				"search": {"x"}, "search_in": {"filename"}, "name_match": {"prefix"}, "case_sensitive": {"true"},
				"details":      {"true"},
				"files_offset": {"1"}, "files_limit": {"2"}, "comments_offset": {"3"}, "comments_limit": {"4"},
				"metadata_offset": {"5"}, "metadata_limit": {"6"},
			},
		},
		"the last values": {
			func(s *search.Service) error {
				return second(s.Metadata(ctx, roomID, "dock", &search.ValuesOptions{Limit: 100, Offset: 9900}))
			},
			url.Values{"q": {"dock"}, "limit": {"100"}, "offset": {"9900"}},
		},
	} {
		var got api.Request
		if err := tc.call(answering(`{"files":[],"buckets":{},"metadata_filter":{}}`, &got)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, got.Query); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWrongInput(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := answering(`{"buckets":{}}`, nil)
	room, share := api.Workspace(roomID), api.Share(shareID)
	storage := func(change func(q *search.Query)) error {
		q := search.Query{Text: "x"}
		change(&q)
		return second(s.Storage(ctx, room, q))
	}
	within := func(scopes ...search.Scope) error {
		return storage(func(q *search.Query) { q.Within = scopes })
	}
	unified := func(in api.Profile, change func(q *search.UnifiedQuery)) error {
		q := search.UnifiedQuery{Text: "x"}
		change(&q)
		return second(s.Unified(ctx, in, q))
	}
	compound := func(q search.CompoundQuery) error { return second(s.Compound(ctx, roomID, q)) }
	values := func(text string, list search.ValuesOptions) error {
		return second(s.Metadata(ctx, roomID, text, &list))
	}
	many := make([]search.Scope, 101)
	for i := range many {
		many[i] = search.InFile("2", "3")
	}
	paid := []api.Filter{api.Exists("paid")}
	long := strings.Repeat("ü", 257)
	for name, tc := range map[string]struct {
		err   error
		field string
	}{
		"a blank search": {storage(func(q *search.Query) { q.Text = " \n" }), "search"},
		"a long pattern": {storage(func(q *search.Query) {
			q.Text, q.NameMatch = long, search.NameMatchExact
		}), "search"},
		"a glob of nothing": {storage(func(q *search.Query) {
			q.Text, q.NameMatch = "*?*", search.NameMatchGlob
		}), "search"},
		"a limit too many":         {storage(func(q *search.Query) { q.Limit = 501 }), "limit"},
		"a limit too few":          {storage(func(q *search.Query) { q.Limit = -1 }), "limit"},
		"a negative offset":        {storage(func(q *search.Query) { q.Offset = -1 }), "offset"},
		"too wide a scope":         {within(many...), "files_scope"},
		"a file without a version": {within(search.InFile("2", "-")), "files_scope"},
		"a file without an ID":     {within(search.InFile("", "3")), "files_scope"},
		"the root":                 {within(search.InFolder(api.Root, 1)), "folders_scope"},
		"the trash":                {within(search.InFolder(api.Trash, 1)), "folders_scope"},
		"no folder":                {within(search.InFolder("", 1)), "folders_scope"},
		"no depth":                 {within(search.InFolder("2", 0)), "folders_scope"},
		"too deep":                 {within(search.InFolder("2", 11)), "folders_scope"},
		"an empty scope":           {within(search.Scope{}), "files_scope"},
		"too many filters":         {storage(func(q *search.Query) { q.Filters = make([]api.Filter, 6) }), "filters"},
		"an unnamed filter": {storage(func(q *search.Query) {
			q.Filters = []api.Filter{api.Exists("")}
		}), "filters"},
		"a filter of a share":     {second(s.Storage(ctx, share, search.Query{Text: "x", Filters: paid})), "filters"},
		"a category of a share":   {second(s.Storage(ctx, share, search.Query{Text: "x", Category: "Legal"})), "category"},
		"an organization":         {second(s.Storage(ctx, api.Org("1"), search.Query{Text: "x"})), "scope"},
		"an iteration of nothing": {last(s.All(ctx, room, search.Query{})), "search"},
		"all of an organization":  {unified(api.Org("1"), func(*search.UnifiedQuery) {}), "scope"},
		"a blank search of all":   {unified(room, func(q *search.UnifiedQuery) { q.Text = "" }), "search"},
		"a long search of all": {unified(room, func(q *search.UnifiedQuery) {
			q.Text = strings.Repeat("ü", 1025)
		}), "search"},
		"a long pattern for all": {unified(room, func(q *search.UnifiedQuery) {
			q.Text, q.NameMatch = long, search.NameMatchContains
		}), "search"},
		"a negative window": {unified(room, func(q *search.UnifiedQuery) {
			q.Comments.Offset = -1
		}), "comments_offset"},
		"a window of nothing": {unified(room, func(q *search.UnifiedQuery) { q.Files.Limit = -1 }), "files_limit"},
		"metadata of a share": {unified(share, func(q *search.UnifiedQuery) {
			q.Metadata.Limit = 1
		}), "metadata_limit"},
		"metadata of a share, again": {
			last(s.AllMetadata(ctx, share, search.UnifiedQuery{Text: "x", Metadata: search.Window{Limit: 1}})), "metadata_limit",
		},
		"blank values":        {values(" ", search.ValuesOptions{}), "q"},
		"long values":         {values(strings.Repeat("ü", 1025), search.ValuesOptions{}), "q"},
		"a limit of values":   {values("x", search.ValuesOptions{Limit: 101}), "limit"},
		"an offset of values": {values("x", search.ValuesOptions{Offset: -1}), "offset"},
		"values out of reach": {values("x", search.ValuesOptions{Offset: 9901, Limit: 100}), "offset"},
		"values of nowhere":   {second(s.Metadata(ctx, "", "x", nil)), "workspace_id"},
		"no filter":           {compound(search.CompoundQuery{Text: "x"}), "filters"},
		"a long content": {
			compound(search.CompoundQuery{Filters: paid, Text: strings.Repeat("ü", 1025)}), "content_query",
		},
		"a negative limit": {compound(search.CompoundQuery{Filters: paid, Limit: -1}), "limit"},
	} {
		e, ok := errors.AsType[*api.InputError](tc.err)
		if !ok || e.Field != tc.field {
			t.Errorf("%s: got %v, want %s refused", name, tc.err, tc.field)
		}
	}
	most := strings.Repeat("ü", 1024)
	for name, err := range map[string]error{
		"a long pattern that has no use": storage(func(q *search.Query) {
			q.Text, q.NameMatch, q.Target = long, search.NameMatchExact, search.TargetContent
		}),
		"a pattern as long as may be": storage(func(q *search.Query) {
			q.Text, q.NameMatch = strings.Repeat("ü", 256), search.NameMatchExact
		}),
		"a scope as wide as may be": within(many[:100]...),
		"a search of all":           unified(room, func(q *search.UnifiedQuery) { q.Text = most }),
		"values":                    values(most, search.ValuesOptions{}),
		"a content":                 compound(search.CompoundQuery{Filters: paid, Text: most}),
	} {
		if err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

// Hits come in the order of the wire, whatever their IDs.
func TestRankIsKept(t *testing.T) {
	t.Parallel()
	var files strings.Builder
	var want []api.OpaqueID
	for i := range 300 {
		id := strconv.Itoa(i * 7919 % 1000)
		want = append(want, api.OpaqueID("2"+id))
		fmt.Fprintf(&files, `,"2%s":{"name":"a"}`, id)
	}
	got, err := answering(`{"result":true,"files":{`+files.String()[1:]+`}}`, nil).Storage(
		t.Context(), api.Workspace(roomID), search.Query{Text: "x"},
	)
	if err != nil {
		t.Fatal(err)
	}
	var ids []api.OpaqueID
	for _, h := range got.Hits {
		ids = append(ids, h.ID)
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResultsDecoded(t *testing.T) {
	t.Parallel()
	segment := &search.Hit{
		ID: "2b", Page: &search.PageRange{Start: 3, End: 4}, MediaSegment: &search.MediaSegment{Start: 1.5, End: 9},
	}
	for name, tc := range map[string]struct {
		answer string
		want   *search.Result
	}{
		"a place in a file": {
			`{"files":{"2b":{"page":{"start_page":3,"end_page":4},"media_segment":{"start_seconds":1.5,"end_seconds":9}}}}`,
			&search.Result{Hits: []*search.Hit{segment}},
		},
		"null": {`{"result":true,"files":null,"search_metadata":null}`, &search.Result{}},
		"words alone": {
			`{"result":true,"files":{},"search_metadata":{"semantic_available":false,"scope_incomplete":true}}`,
			&search.Result{
				Metadata: &search.Metadata{SemanticAvailable: new(false), ScopeIncomplete: true},
				Gaps:     []search.Gap{search.GapSemantic, search.GapScope},
			},
		},
		"nothing that could be searched": {
			`{"result":true,"files":[],"search_metadata":{"content_search_available":false,"reason":"content_not_indexed"},` +
				`"metadata_filter":{"applied":true,"matched":1200,"truncated":true}}`,
			&search.Result{
				Metadata: &search.Metadata{ContentSearchAvailable: new(false), Reason: search.ReasonContentNotIndexed},
				Filter:   &api.FilterReport{Applied: json.RawMessage(`true`), Matched: new(1200), IsTruncated: true},
				Gaps:     []search.Gap{search.GapContent, search.GapFilter},
			},
		},
	} {
		got, err := answering(tc.answer, nil).Storage(t.Context(), api.Workspace(roomID), search.Query{Text: "x"})
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestGapsDependOnTheQuestion(t *testing.T) {
	t.Parallel()
	s := answering(
		`{"result":true,"files":[],"search_metadata":{"semantic_available":false,"content_search_available":false,`+
			`"scoped":false}}`,
		nil,
	)
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
		got, err := s.Storage(t.Context(), api.Workspace(roomID), tc.q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got.Gaps); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A result that was not filtered is an error.
func TestUnfiltered(t *testing.T) {
	t.Parallel()
	s := answering(`{"result":true,"files":{"2a":{}}}`, nil)
	denied := answering(`{"result":true,"files":{"2a":{}},"metadata_filter":{"applied":false}}`, nil)
	for _, q := range []search.Query{
		{Text: "x", Filters: []api.Filter{api.Exists("paid")}}, {Text: "x", Category: api.CategoryLegal},
	} {
		if got, err := denied.Storage(t.Context(), api.Workspace(roomID), q); got != nil ||
			!errors.Is(err, api.ErrUnfiltered) {
			t.Errorf("the filter was not applied: %v, %v", got, err)
		}
		got, err := s.Storage(t.Context(), api.Workspace(roomID), q)
		if got != nil || !errors.Is(err, api.ErrUnfiltered) || !strings.HasPrefix(err.Error(), "fastio: search.Storage: ") {
			t.Errorf("got %v, %v", got, err)
		}
		if err := last(s.All(t.Context(), api.Workspace(roomID), q)); !errors.Is(err, api.ErrUnfiltered) {
			t.Errorf("All: %v", err)
		}
		var text string
		if _, err := s.Storage(t.Context(), api.Workspace(roomID), q, api.Markdown(&text)); err != nil {
			t.Errorf("as text: %v", err)
		}
	}
}

func TestBucketsDecoded(t *testing.T) {
	t.Parallel()
	const body = `{"buckets":{"files":{"items":[{"node_id":"2b"}],"offset":2,"total":40,"total_relation":"gte",` +
		`"has_more":true,` +
		`"status":"ok","search_metadata":{"semantic_available":false}},"metadata":{"items":[],"total":0,` +
		`"status":"degraded"}}}`
	want := &search.Buckets{
		Files: &search.Bucket[search.Hit]{
			Items: []*search.Hit{{ID: "2b"}}, Offset: 2, Total: 40, TotalRelation: search.TotalRelationAtLeast, HasMore: true,
			Status: search.StatusOK, Metadata: &search.Metadata{SemanticAvailable: new(false)},
			Gaps: []search.Gap{search.GapSemantic},
		},
		Metadata: &search.Bucket[search.Hit]{Status: search.StatusDegraded},
	}
	q := search.UnifiedQuery{Text: "x"}
	got, err := answering(body, nil).Unified(t.Context(), api.Workspace(roomID), q)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	q.Target = search.TargetFilename
	if names, err := answering(body, nil).Unified(t.Context(), api.Workspace(roomID), q); err != nil ||
		len(names.Files.Gaps) > 0 {
		t.Errorf("names have no meaning: %v, %v", names, err)
	}
	if _, err := answering(`{"result":true}`, nil).Unified(t.Context(), api.Workspace(roomID), q); err == nil {
		t.Error("an answer without buckets is no error")
	}
}

// index is a search of so many hits, of whatever kind is asked for.
type index struct {
	hits     int
	degraded bool
	asked    []url.Values
}

func (x *index) Call(_ context.Context, r *api.Request, out any) error {
	x.asked = append(x.asked, r.Query)
	window := func(limit, offset string) (rows []string, from, most int) {
		from, _ = strconv.Atoi(r.Query.Get(offset))
		most, _ = strconv.Atoi(r.Query.Get(limit))
		for i := from; i < min(from+most, x.hits); i++ {
			rows = append(rows, strconv.Itoa(i))
		}
		return rows, from, most
	}
	switch r.Op {
	case "search.Storage", "search.Metadata":
		rows, from, most := window("limit", "offset")
		answer := `"files":{"2` + strings.Join(rows, `":{},"2`) + `":{}}`
		if r.Op == "search.Metadata" {
			answer = `"results":[{"id":"2` + strings.Join(rows, `"},{"id":"2`) + `"}]`
		}
		if len(rows) == 0 {
			answer = `"files":[]`
		}
		return json.Unmarshal(fmt.Appendf(nil, `{"result":true,%s,"pagination":{"limit":%d,"offset":%d,"has_more":%t}}`,
			answer, most, from, from+most < x.hits), out)
	default:
		var buckets []string
		for name, id := range map[string]string{"files": "node_id", "metadata": "node_id", "comments": "comment_id"} {
			rows, from, most := window(name+"_limit", name+"_offset")
			items := "[]"
			if len(rows) > 0 {
				items = `[{"` + id + `":"2` + strings.Join(rows, `"},{"`+id+`":"2`) + `"}]`
			}
			status := "ok"
			if x.degraded {
				status, items = "degraded", "[]"
			}
			buckets = append(buckets, fmt.Sprintf(`%q:{"items":%s,"limit":%d,"offset":%d,"has_more":%t,"status":%q}`,
				name, items, most, from, from+most < x.hits, status))
		}
		return json.Unmarshal([]byte(`{"result":true,"buckets":{`+strings.Join(buckets, ",")+`}}`), out)
	}
}

func TestIterations(t *testing.T) {
	t.Parallel()
	ctx, room := t.Context(), api.Workspace(roomID)
	for name, tc := range map[string]struct {
		hits   int
		ids    func(s *search.Service) ([]api.OpaqueID, error)
		pages  int
		first  int
		checks url.Values // of the last request
	}{
		"files": {1001, func(s *search.Service) ([]api.OpaqueID, error) {
			return collect(s.All(ctx, room, search.Query{Text: "x"}), hitID)
		}, 3, 0, url.Values{"limit": {"500"}, "offset": {"1000"}}},
		"files with details": {250, func(s *search.Service) ([]api.OpaqueID, error) {
			return collect(s.All(ctx, room, search.Query{Text: "x", Details: true}), hitID)
		}, 3, 0, url.Values{"limit": {"100"}, "offset": {"200"}}},
		"files from an offset": {25, func(s *search.Service) ([]api.OpaqueID, error) {
			return collect(s.All(ctx, room, search.Query{Text: "x", Limit: 10, Offset: 5}), hitID)
		}, 2, 5, url.Values{"limit": {"10"}, "offset": {"15"}}},
		"the bucket of files": {5, func(s *search.Service) ([]api.OpaqueID, error) {
			return collect(
				s.AllFiles(ctx, room, search.UnifiedQuery{Text: "x", Files: search.Window{Limit: 2, Offset: 1}}), hitID,
			)
		}, 2, 1, url.Values{"files_limit": {"2"}, "files_offset": {"3"}, "comments_limit": {"1"}, "metadata_limit": {"1"}}},
		"the bucket of metadata": {5, func(s *search.Service) ([]api.OpaqueID, error) {
			return collect(s.AllMetadata(ctx, room, search.UnifiedQuery{Text: "x", Metadata: search.Window{Limit: 2}}), hitID)
		}, 3, 0, url.Values{"metadata_limit": {"2"}, "metadata_offset": {"4"}, "comments_limit": {"1"}}},
		"the bucket of comments in a share": {5, func(s *search.Service) ([]api.OpaqueID, error) {
			q := search.UnifiedQuery{Text: "x", Comments: search.Window{Limit: 4}}
			return collect(s.AllComments(ctx, api.Share(shareID), q), func(h *search.CommentHit) api.OpaqueID { return h.ID })
		}, 2, 0, url.Values{"comments_limit": {"4"}, "comments_offset": {"4"}, "files_limit": {"1"}, "metadata_limit": nil}},
		"values": {250, func(s *search.Service) ([]api.OpaqueID, error) {
			return collect(s.AllValues(ctx, roomID, "x", nil), hitID)
		}, 3, 0, url.Values{"limit": {"100"}, "offset": {"200"}}},
		"values to the very last": {10_000, func(s *search.Service) ([]api.OpaqueID, error) {
			return collect(s.AllValues(ctx, roomID, "x", &search.ValuesOptions{Limit: 60, Offset: 9_930}), hitID)
		}, 2, 9_930, url.Values{"limit": {"10"}, "offset": {"9990"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &index{hits: tc.hits}
			got, err := tc.ids(search.New(x))
			var want []api.OpaqueID
			for i := tc.first; i < tc.hits; i++ {
				want = append(want, api.OpaqueID("2"+strconv.Itoa(i)))
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if len(x.asked) != tc.pages {
				t.Fatalf("asked for %d pages, want %d", len(x.asked), tc.pages)
			}
			for name, want := range tc.checks {
				if diff := cmp.Diff(want, x.asked[tc.pages-1][name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func hitID(h *search.Hit) api.OpaqueID { return h.ID }

func collect[T any](seq iter.Seq2[*T, error], id func(*T) api.OpaqueID) ([]api.OpaqueID, error) {
	var all []api.OpaqueID
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, id(v))
	}
	return all, nil
}

func TestIterationsFail(t *testing.T) {
	t.Parallel()
	ctx, room, q := t.Context(), api.Workspace(roomID), search.UnifiedQuery{Text: "x"}
	s := search.New(&index{hits: 5, degraded: true})
	for name, err := range map[string]error{
		"files": last(s.AllFiles(ctx, room, q)), "metadata": last(s.AllMetadata(ctx, room, q)),
		"comments": last(s.AllComments(ctx, room, q)),
	} {
		if !errors.Is(err, search.ErrDegraded) || err.Error() != "fastio: search.Unified: the bucket could not be searched" {
			t.Errorf("%s: %v", name, err)
		}
	}
	s = answering(`{"result":true,"buckets":{}}`, nil)
	if n, err := collect(s.AllComments(ctx, room, q), func(h *search.CommentHit) api.OpaqueID {
		return h.ID
	}); len(n) > 0 || err != nil {
		t.Errorf("a bucket that is left out: %v, %v", n, err)
	}
	s = search.New(&index{hits: 10_500})
	if n, err := collect(s.AllValues(ctx, roomID, "x", nil), hitID); len(n) != 10_000 || err == nil {
		t.Errorf("%d values and %v", len(n), err)
	}
	broken := errors.New("broken")
	s = search.New(callerFunc(func(context.Context, *api.Request, any) error { return broken }))
	for name, err := range map[string]error{
		"All": last(s.All(ctx, room, search.Query{Text: "x"})), "AllFiles": last(s.AllFiles(ctx, room, q)),
		"AllMetadata": last(s.AllMetadata(ctx, room, q)), "AllComments": last(s.AllComments(ctx, room, q)),
		"AllValues": last(s.AllValues(ctx, roomID, "x", nil)),
		"Compound":  second(s.Compound(ctx, roomID, search.CompoundQuery{Filters: []api.Filter{api.Exists("a")}})),
	} {
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A total may promise more than there is.
func TestValuesEndAtAnEmptyPage(t *testing.T) {
	t.Parallel()
	calls := 0
	s := search.New(callerFunc(func(_ context.Context, _ *api.Request, out any) error {
		calls++
		return json.Unmarshal(
			[]byte(`{"result":true,"results":[],"pagination":{"total":1,"limit":100,"offset":0,"has_more":true}}`), out,
		)
	}))
	if n, err := collect(s.AllValues(t.Context(), roomID, "x", nil), hitID); len(n) > 0 || err != nil || calls != 1 {
		t.Errorf("%v, %v after %d calls", n, err, calls)
	}
}
